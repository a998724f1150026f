#!/usr/bin/env python3
"""Troupe's own API at `troupe serve --http`: each answer against its schema, what is wrong in
words, pages, events, and what acts, with keys, roles and kills of the engine between.
"""

import concurrent.futures
import ctypes
import gzip
import hashlib
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import unittest

from asking import BASE, FLOW, LIMITS, AskingTest
from program import LIMIT_S, ROOT, wait_until
from pypi import PYTHON, have_library

PAGE = (ROOT / "deploy/HTTP_API.md").read_text()
CLIENTS = ROOT / "examples/http"
SECRETS = {"viewer": "views", "runner": "runs", "boss": "rules"}
ROLES = {"viewer": "[{role: view}]", "boss": "[{role: admin}]",
         "runner": "[{role: run, project: default, domain: development}]"}


class WebTest(AskingTest):
    # ----------------------------------------------------------------- as the page says

    def test_the_page_names_each_route(self):
        """And no other: deploy/HTTP_API.md against what is served."""
        self.begin()
        served = {(method.upper(), path) for path, methods in
                  self.ask("openapi.json")[2]["paths"].items() for method in methods}
        shown = set()
        for span in re.findall(r"`((?:GET|POST) [^`]*)`(?=[^|]*\|)|`((?:EXEC|PLAN)/\w+)`", PAGE):
            method, _, path = span[0].partition(" ") if span[0] else ("POST", "", span[1])
            path = path.split("?")[0].replace("EXEC", "/executions/{project}/{domain}/{name}")
            path = path.replace("PLAN", "/plans/{project}/{domain}/{plan}")
            is_probe = (method, path) in served and path != "/metrics"
            shown.add((method, path if is_probe else BASE + path))
        shown |= {("GET", "/metrics"), ("GET", f"{BASE}/openapi.json")}
        self.assertEqual(shown, served)

    def test_the_clients_of_the_examples(self):
        self.address, = self.serve()
        url = f"http://{self.address}"
        self.write("broken.yaml", "troupe: 1\ntasks:\n  t: {run: ['true']}\nworkflows:\n  main: "
                   "{nodes: {it: {task: t}}}\nlaunch_plans:\n  nightly: {workflow: main, "
                   "schedule: '0 3 * * *'}\n")
        for _ in range(2):
            done = subprocess.run([sys.executable, CLIENTS / "client.py", url, "broken.yaml", "{}"],
                                  cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"key-\w+ succeeded\n$")
        self.assertEqual(len(self.ask("executions")[2]), 1)
        self.troupe("apply", "broken.yaml")
        done = [subprocess.run([CLIENTS / "client.sh", url, "nightly"], capture_output=True,
                               text=True, timeout=LIMIT_S) for _ in range(2)]
        self.assertEqual([each.returncode for each in done], [0, 0], done)
        first, second = ([json.loads(line) for line in each.stdout.splitlines()] for each in done)
        self.assertEqual(first[0], second[0])
        self.assertEqual([row["execution"] for row in second[1]], [first[0]["execution"]])

    # ------------------------------------------------------------------- looking

    def test_each_route_answers_by_its_schema(self):
        self.begin()
        self.troupe("apply", "flow.yaml")
        rows = self.gives("list", "executions")
        self.assertEqual([row["execution"] for row in rows], ["first"])
        self.assertEqual(rows, json.loads(self.troupe("list", "-o", "json")[0]))
        whole = self.gives("get", self.one)
        self.assertEqual(whole, json.loads(self.troupe("get", "first", "-o", "json")[0]))
        self.assertEqual(whole["inputs"], {"logs": ["a", "b", "c"]})
        node = self.gives("get_node", f"{self.one}/node?node=count")
        self.assertEqual(node["outputs"], {"n": [3, 3, 3]})
        element = self.gives("get_node", f"{self.one}/node?node=count%5B1%5D")
        self.assertEqual(element["inputs"], {"log": "b"})
        self.gives("get_node", f"{self.one}/node?node=count%5B1%5D@0")
        waiting = self.gives("explain", f"{self.one}/explain")["waiting"]
        self.assertIn("approval", waiting[1]["text"])
        self.gives("explain", f"{self.one}/explain?node=ok")
        gate, = self.gives("gates", "gates")
        self.assertEqual((gate["execution"], gate["id"]), ("first", "go"))
        self.assertEqual(self.gives("gates", "gates?workflow=none"), [])
        plan, = self.gives("schedules", "plans")
        self.assertEqual(plan["plan"], "nightly")
        self.gives("explain_schedule", "plans/default/development/nightly/explain")
        self.gives("plugins", "plugins")
        self.gives("actors", "actors")
        found = self.gives("actors", "actors?pattern=/default/development/first")
        self.assertEqual([actor["address"] for actor in found], ["/default/development/first"])
        self.gives("metrics", "metrics")
        self.assertEqual(self.gives("ping", "engine")["state"], "healthy")
        status, headers, text = self.ask(f"{self.one}/logs?node=count%5B1%5D")
        self.assertEqual((status, headers["content-type"], text),
                         (200, "text/plain; charset=utf-8", "of b\n"))
        self.assertIn("of c", self.ask(f"{self.one}/logs?tail=1")[2])

    def test_a_store_without_hosts_says_so(self):
        self.begin()
        self.refuses(404, "not-found", "has one host", "hosts")

    def test_probes_and_metrics(self):
        self.begin()
        self.assertEqual(self.ask("/healthz")[::2], (200, "ok\n"))
        self.assertEqual(self.ask("/readyz")[::2], (200, "ok\n"))
        status, headers, text = self.ask("/metrics")
        self.assertEqual((status, headers["content-type"]),
                         (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertIn("\ntroupe_build_info{", f"\n{text}")
        mine = {line.split("{")[0].split(" ")[0] for line in text.splitlines()}
        printed, _ = self.troupe("metrics", "--prometheus")
        self.assertEqual(mine, {line.split("{")[0].split(" ")[0] for line in printed.splitlines()})

    def test_the_page_of_the_api_is_valid(self):
        """By a library that knows OpenAPI; and each path in it answers something of its own."""
        have_library(PYTHON)
        self.begin()
        status, _, page = self.ask("openapi.json")
        self.assertEqual((status, page["openapi"]), (200, "3.1.0"))
        path = self.folder / "openapi.json"
        path.write_text(json.dumps(page))
        self.completed(str(PYTHON), "-c", "import json, sys, openapi_spec_validator as known; "
                       "known.validate(json.load(open(sys.argv[1])))", str(path))
        values = {"project": "default", "domain": "development", "name": "first", "plan": "none",
                  "other": "first", "file": "bm9uZQ"}
        for path, methods in page["paths"].items():
            for method, operation in methods.items():
                with self.subTest(operation=operation["operationId"]):
                    asked = re.sub(r"{(\w+)}", lambda each: values[each[1]], path)
                    got, headers, document = self.ask(
                        asked, b"[]" if method == "post" else None)
                    if got == 200:
                        kinds = operation["responses"]["2XX"]["content"]
                        self.assertIn(headers["content-type"].split(";")[0], kinds)
                    else:
                        self.assertIn(document["code"],
                                      page["components"]["schemas"]["http_problem"]["properties"]
                                      ["code"]["enum"])

    def test_pages_hold_together(self):
        self.address, = self.serve()
        for i in range(7):
            self.troupe("submit", "flow.yaml", "broken", "--name", f"e{i}")
        seen, path = [], f"{BASE}/executions?limit=3&workflow=broken"
        while path:
            status, headers, rows = self.ask(path)
            self.assertEqual(status, 200)
            self.suits("list", rows)
            seen.append([row["execution"] for row in rows])
            if len(seen) == 1:  # one that begins meanwhile is on no later page
                self.troupe("submit", "flow.yaml", "broken", "--name", "late")
            link = re.fullmatch(r'<(.*)>; rel="next"', headers.get("link", ""))
            path = link and link[1]
        self.assertEqual(seen, [["e6", "e5", "e4"], ["e3", "e2", "e1"], ["e0"]])
        rows = self.gives("list", "executions?sort=name&reverse=true&limit=2")
        self.assertEqual([row["execution"] for row in rows], ["late", "e6"])
        self.assertEqual(len(self.gives("list", "executions?since=2100-01-01")), 0)

    def test_an_etag_saves_an_answer(self):
        self.begin()
        _, headers, _ = self.ask(self.one)
        status, again, body = self.ask(self.one, if_none_match=headers["etag"])
        self.assertEqual((status, again["etag"], body), (304, headers["etag"], ""))
        self.troupe("approve", "first")
        self.wait_for_phase("first", "succeeded")
        status, again, _ = self.ask(self.one, if_none_match=headers["etag"])
        self.assertEqual(status, 200)
        self.assertNotEqual(again["etag"], headers["etag"])

    def test_answers_are_compressed_where_it_pays(self):
        """For who takes gzip: the same bytes in it, a tag of its own, and either tag is known."""
        self.begin()
        def get(path, **headers):
            host, port = self.address.rsplit(":", 1)
            connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
            connection.request("GET", path if path[0] == "/" else f"{BASE}/{path}", headers={
                name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            body = response.read()
            connection.close()
            return response, body
        plain, whole = get("openapi.json")
        self.assertIsNone(plain.getheader("content-encoding"))
        packed, body = get("openapi.json", accept_encoding="br, gzip")
        self.assertEqual((packed.getheader("content-encoding"), packed.getheader("vary"),
                          packed.getheader("content-type")),
                         ("gzip", "accept-encoding", "application/json"))
        self.assertEqual(gzip.decompress(body), whole)
        self.assertLess(len(body), len(whole) / 4)
        tags = plain.getheader("etag"), packed.getheader("etag")
        self.assertEqual(tags[1], tags[0][:-1] + '-gzip"')
        for tag in tags:
            for words in ({}, {"accept_encoding": "gzip"}):
                known, body = get("openapi.json", if_none_match=tag, **words)
                self.assertEqual((known.status, body, known.getheader("content-encoding")),
                                 (304, b"", None))
        self.assertEqual(get("openapi.json", if_none_match=tags[1][:-2] + 'x"')[0].status, 200)
        for path, words in (("openapi.json", "gzip;q=0"), ("openapi.json", "identity"),
                            ("/healthz", "gzip"), ("nothing", "gzip")):
            self.assertIsNone(get(path, accept_encoding=words)[0].getheader("content-encoding"))
        stream = self.events(f"{BASE}/{self.one}", **{"accept-encoding": "gzip"})
        self.assertIsNone(stream.response.getheader("content-encoding"))
        _, tag, _ = stream.next()
        _, body = get(self.one)
        again = self.events(f"{BASE}/{self.one}", **{"last-event-id": tag[:-1] + '-gzip"'})
        self.troupe("approve", "first")
        self.assertNotEqual(again.next()[1], tag)

    def test_what_is_wrong_is_a_problem(self):
        self.begin()
        many = "&".join(f"label=a{i}" for i in range(LIMITS["GIVEN_MAX"] + 1))
        for status, code, words, path, *rest in [
                (404, "not-found", "there is nothing here", "nothing"),
                (404, "not-found", "there is nothing here", "/api/troupe/v2/executions"),
                (404, "not-found", "there is nothing here", "/healthz/"),
                (404, "not-found", "there is no execution", "executions/default/development/no"),
                (404, "not-found", "there is no execution", "executions/default/development/firs"),
                (404, "not-found", "{name} is no name", "executions/default/development/@last"),
                (404, "not-found", "{name} is no name", "executions/default/development/%2A"),
                (404, "not-found", "{name} is no name", "executions/default/development/a%2Fb"),
                (404, "not-found", "{domain} is no name", "executions/default/%ff/a"),
                (404, "not-found", "has no node 'none'", f"{self.one}/node?node=none"),
                (400, "invalid", "'x' is nothing that listExecutions takes", "executions?x=1"),
                (400, "invalid", "'store' is nothing that", "executions?store=/tmp"),
                (400, "invalid", "'output' is nothing that", "executions?output=text"),
                (400, "invalid", "'follow' is nothing that", f"{self.one}/logs?follow=true"),
                (400, "invalid", "'x' is no phase", "executions?phase=x"),
                (400, "invalid", "limit: '0' is no number from 1 to", "executions?limit=0"),
                (400, "invalid", "limit: '1001' is no", "executions?limit=1001"),
                (400, "invalid", "cursor: 'x' is none that was given", "executions?cursor=x"),
                (400, "invalid", "cursor: '1' is none", "executions?cursor=1"),
                (400, "invalid", "sort is given twice", "executions?sort=name&sort=name"),
                (400, "invalid", "all: 'x' is neither true nor false", "executions?all=x"),
                (400, "invalid", "the query has an escape that is none", "executions?sort=%zz"),
                (400, "invalid", "these are more than 256 values", f"executions?{many}"),
                (400, "invalid", "the body is no object of JSON", f"{self.one}/pause", b"[]"),
                (400, "invalid", "the body is no object of JSON", f"{self.one}/pause", b"{"),
                (400, "invalid", "'x' is nothing that pauseExecution", f"{self.one}/pause",
                 {"x": 1}),
                (400, "invalid", "input: write an object", "executions",
                 {"definition": FLOW, "input": ["logs=@/etc/passwd"]}),
                (400, "invalid", "definition: the text of one is missing", "executions", {}),
                (400, "invalid", "definition:1:1: 'x' is no key", "executions",
                 {"definition": "x: 1"}),
                (400, "invalid", "an argument is missing", f"{self.one}/signal", {}),
                (413, "too-large", "is larger than 1048576 bytes", "apply",
                 {"definition": (1 << 20) * "x"})]:
            with self.subTest(path=path):
                self.refuses(status, code, words, path, *rest)
        got, _, problem = self.ask("executions", method="DELETE")
        self.assertEqual((got, problem["code"]), (405, "method"))

    def test_no_foreign_page_and_no_form_gets_in(self):
        self.begin()
        self.refuses(403, "forbidden", "a page of another site may not ask this", self.one,
                     origin="https://evil.example")
        self.refuses(403, "forbidden", "a page of another site", f"{self.one}/abort", {},
                     origin="https://evil.example")
        self.refuses(400, "invalid", "this host is not served here", self.one, host="evil.example")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                     "application/jsonx"):
            self.refuses(415, "type", "content-type: application/json", f"{self.one}/abort", "{}",
                         content_type=kind)
        self.assertEqual(self.phase("first"), "running")
        _, headers, _ = self.ask(self.one)
        self.assertEqual(headers["x-content-type-options"], "nosniff")
        self.assertIn("default-src 'none'", headers["content-security-policy"])
        self.assertNotIn("access-control-allow-origin", headers)
        self.assertNotIn("set-cookie", headers)

    # -------------------------------------------------------------------- acting

    def test_what_commands_do_is_done(self):
        self.begin()
        self.suits("pause", self.ask(f"{self.one}/pause", {"message": "a reason"})[2])
        self.assertTrue(self.ask(self.one)[2]["is_paused"])
        self.assertFalse(self.gives("paused", f"{self.one}/resume", {})["is_paused"])
        self.assertFalse(self.ask(self.one)[2]["is_paused"])
        self.refuses(400, "invalid", "has no gate for 'no'", f"{self.one}/approve", {"id": "no"})
        answer = self.gives("answer", f"{self.one}/approve", {"id": "go", "message": "fine"})
        self.assertEqual(answer["gates"], 1)
        self.wait_for_phase("first", "succeeded")
        self.refuses(409, "conflict", "it has ended already", f"{self.one}/resume", {})
        again = self.gives("handed", f"{self.one}/rerun", {"from": ["count"]}, 201)["execution"]
        self.wait_for_gate(again)
        where = f"executions/default/development/{again}"
        self.assertEqual(self.ask(where)[2]["cause"], "reruns first from count by http")
        self.gives("answer", f"{where}/reject", {})
        self.wait_for_phase(again, "failed")
        third = self.gives("handed", f"{where}/recover", {}, 201)["execution"]
        self.wait_for_gate(third)
        self.gives("handed", f"executions/default/development/{third}/abort",
                   {"message": "enough", "now": True}, 202)
        self.wait_for_phase(third, "aborted")
        self.assertIn("aborted by http: enough",
                      json.dumps(self.ask(f"executions/default/development/{third}")[2]))

    def test_a_value_is_never_a_file(self):
        """Text that begins with @ names a file at the command line, and is text here."""
        self.address, = self.serve()
        name = self.gives("handed", "executions", {
            "definition": FLOW, "workflow": "main", "input": {"logs": ["@/etc/passwd"]},
            "label": {"team": "data"}}, 201)["execution"]
        whole = self.ask(f"executions/default/development/{name}")[2]
        self.assertEqual(whole["inputs"], {"logs": ["@/etc/passwd"]})
        self.assertEqual((whole["labels"], whole["cause"]),
                         ({"team": "data"}, "troupe submit by http"))
        texts = FLOW.replace("logs: [string]}", "logs: [string], text: {type: string, default: x}}")
        for text in ("plain", "@/etc/passwd", "@@", "\"quoted\"", "1", ""):
            name = self.gives("handed", "executions", {
                "definition": texts, "workflow": "main", "input": {"logs": [], "text": text}},
                201)["execution"]
            whole = self.ask(f"executions/default/development/{name}")[2]
            self.assertEqual(whole["inputs"]["text"], text)
        asks = self.gives("handed", "executions", {"definition": FLOW, "workflow": "asks"},
                          201)["execution"]
        where = f"executions/default/development/{asks}"
        self.wait_for_gate(asks)
        self.refuses(400, "invalid", "'@/etc/passwd' is no value of type int", f"{where}/signal",
                     {"id": "limit", "value": "@/etc/passwd"})
        self.gives("answer", f"{where}/signal", {"id": "limit", "value": 3})
        self.wait_for_phase(asks, "succeeded")
        self.assertEqual([path.name for path in self.store.glob("request-*")], [])

    def test_a_definition_is_looked_into(self):
        """What a form is made of, as at the command line; nothing of it stays."""
        self.address, = self.serve()
        self.assertEqual(self.gives("inspect", "inspect", {"definition": FLOW}),
                         json.loads(self.troupe("inspect", "flow.yaml", "-o", "json")[0]))
        main, = self.gives("inspect", "inspect", {"definition": FLOW, "name": "main"})
        self.assertEqual([given["name"] for given in main["inputs"]], ["logs"])
        self.refuses(400, "invalid", "definition:2:", "inspect",
                     {"definition": "troupe: 1\ntasks: {t: {rum: [date]}}\n"})
        self.refuses(400, "invalid", "there is no workflow, launch plan or task 'x'", "inspect",
                     {"definition": FLOW, "name": "x"})
        self.assertEqual([path.name for path in self.store.glob("request-*")], [])

    def test_plans_are_registered_and_triggered(self):
        self.address, = self.serve()
        applied, = self.gives("apply", "apply", {"definition": FLOW})
        self.assertEqual((applied["plan"], applied["change"]), ("nightly", "created"))
        plan = "plans/default/development/nightly"
        self.gives("change_schedules", f"{plan}/pause", {"message": "disk"})
        shown, = self.ask("plans")[2]
        self.assertEqual((shown["is_paused"], shown["paused_by"], shown["pause_message"]),
                         (True, "http", "disk"))
        self.gives("change_schedules", f"{plan}/resume", {})
        name = self.gives("handed", f"{plan}/trigger", {"message": "now"}, 201)["execution"]
        self.assertEqual(self.ask(f"executions/default/development/{name}")[2]["cause"],
                         "plan nightly triggered by http: now")
        name = self.gives("handed", f"{plan}/trigger", {"input": {"logs": ["b", "@/etc/passwd"]}},
                          201)["execution"]
        whole = self.ask(f"executions/default/development/{name}")[2]
        self.assertEqual((whole["plan"], whole["inputs"]),
                         ("nightly", {"logs": ["b", "@/etc/passwd"]}))
        self.refuses(400, "invalid", "'7' is no value", f"{plan}/trigger", {"input": {"logs": 7}})
        self.refuses(404, "not-found", "there is no plan",
                     "plans/default/development/none/trigger", {})

    def test_a_key_begins_once(self):
        """However often it comes, at once, and on the next engine after a kill."""
        port = self.begin_at_port()
        self.gives("apply", "apply", {"definition": FLOW})
        body = {"definition": FLOW, "workflow": "main", "input": {"logs": ["a"]}}
        paths = [("executions", body), ("plans/default/development/nightly/trigger", {})]
        names = []
        for path, given in paths:
            with concurrent.futures.ThreadPoolExecutor(8) as several:
                answers = list(several.map(
                    lambda _: self.ask(path, given, idempotency_key="one of 8"), range(8)))
            self.assertLessEqual({status for status, _, _ in answers}, {200, 201})
            name, = {answer["execution"] for _, _, answer in answers}
            names.append(name)
        self.serving.signal(signal.SIGKILL)
        self.serving.end()
        self.address, = self.serve("--http", str(port))
        for (path, given), name in zip(paths, names):
            self.assertEqual(self.gives("handed", path, given, idempotency_key="one of 8"),
                             {"execution": name})
        self.assertEqual(len(self.ask("executions")[2]), 2)
        self.refuses(422, "reused-key", "with another request",
                     "plans/default/development/nightly/trigger", {"input": {"logs": ["c"]}},
                     idempotency_key="one of 8")
        self.refuses(422, "reused-key", "with another request", "executions",
                     {**body, "input": {"logs": ["b"]}}, idempotency_key="one of 8")
        other = self.gives("handed", "executions", body, 201, idempotency_key="another")
        self.assertNotIn(other["execution"], names)
        self.refuses(400, "invalid", "leave it or the idempotency-key out", "executions",
                     {**body, "name": "mine"}, idempotency_key="x")
        self.refuses(400, "invalid", "longer than 255 bytes", "executions", body,
                     idempotency_key="x" * 256)

    def begin_at_port(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address, = self.serve("--http", str(port))
        return port

    # ---------------------------------------------------------------------- roles

    def test_roles_are_asked_for_where_a_request_acts(self):
        self.store.mkdir(exist_ok=True)
        rows = "".join(f"    - id: {id}\n      secret_sha256: "
                       f"{hashlib.sha256(secret.encode()).hexdigest()}\n      roles: {ROLES[id]}\n"
                       for id, secret in SECRETS.items())
        (self.store / "settings.yaml").write_text(f"http:\n  listen: ['0']\n  clients:\n{rows}")
        self.address, = self.serve("--no-warm")
        self.troupe("submit", "flow.yaml", "main", "-i", "logs=[a]", "--name", "first")
        one = "executions/default/development/first"
        self.assertEqual(self.ask("/healthz")[0], 200)
        self.assertEqual(self.ask("openapi.json")[0], 200)
        seen = self.refuses(401, "unauthenticated", "this needs a token", one)
        self.assertEqual(seen["www-authenticate"], "Bearer")
        self.refuses(401, "unauthenticated", "the token is none", one, authorization="Bearer x")
        self.refuses(401, "unauthenticated", "this needs a token", "/metrics")
        for client, path, body, status in [
                ("viewer", one, None, 200), ("viewer", "executions", None, 200),
                ("viewer", "/metrics", None, 200), ("viewer", f"{one}/pause", {}, 403),
                ("viewer", "actors", None, 403), ("viewer", "apply", {"definition": FLOW}, 403),
                ("runner", one, None, 200), ("runner", "executions", None, 403),
                ("runner", "executions?project=default&domain=development", None, 200),
                ("runner", "executions?project=p&domain=development", None, 403),
                ("runner", "executions/p/development/first", None, 403),
                ("runner", f"{one}/pause", {"message": "m"}, 200),
                ("runner", "executions", {"definition": FLOW}, 403),
                ("runner", "/metrics", None, 403), ("boss", "actors", None, 200),
                ("boss", "apply", {"definition": FLOW}, 200)]:
            with self.subTest(client=client, path=path, body=body):
                got, _, said = self.ask(path, body, authorization=f"Bearer {SECRETS[client]}")
                self.assertEqual(got, status, said)
                if status == 403:
                    self.assertIn(f"'{client}' may not do", said["detail"])
        self.ask(f"{one}/abort", {"message": "m"}, authorization=f"Bearer {SECRETS['runner']}")
        wait_until(lambda: "aborted by runner: m" in self.troupe("get", "first", "-o", "json")[0],
                   "the history says who it was")

    # --------------------------------------------------------------------- events

    def test_a_document_comes_again_when_it_changes(self):
        self.begin()
        status, _, now = self.ask("executions")
        stream = self.events(f"{BASE}/executions")
        self.assertEqual(stream.response.getheader("content-type"), "text/event-stream")
        name, tag, document = stream.next()
        self.assertEqual((name, document), ("document", now))
        one = self.events(f"{BASE}/{self.one}")
        self.suits("get", one.next()[2])
        self.troupe("approve", "first")
        _, last, rows = stream.until(lambda rows: rows[0]["phase"] == "succeeded")
        self.suits("list", rows)
        self.assertEqual(one.until(lambda whole: whole["phase"] == "succeeded")[2]["execution"],
                         "first")
        self.assertNotEqual(tag, last)
        stream.close()
        one.close()
        # Who comes back with the last id hears of what is new alone, from the next engine, too.
        self.stop()
        self.address, = self.serve()
        stream = self.events(f"{BASE}/executions", **{"last-event-id": last})
        self.troupe("submit", "flow.yaml", "broken", "--name", "second")
        _, _, rows = stream.next()
        self.assertEqual(rows[0]["execution"], "second")
        stream.close()

    def test_a_stream_of_what_is_not_there_is_a_problem(self):
        self.begin()
        self.refuses(404, "not-found", "there is no execution", "executions/default/development/no",
                     accept="text/event-stream")
        stream = self.events(f"{BASE}/{self.one}")
        stream.next()
        self.troupe("abort", "first")
        self.wait_for_phase("first", "aborted")
        self.troupe("prune", "first", "--yes")
        while (event := stream.next())[0] == "document":
            pass
        self.assertEqual((event[0], event[2]["code"]), ("problem", "not-found"))
        stream.close()

    def test_a_slow_reader_misses_events(self):
        """It is told how many, and has the newest then; nobody waits for it."""
        self.begin()
        labels = {f"a{i}": 60 * "x" for i in range(60)}
        for _ in range(40):
            self.gives("handed", "executions", {"definition": FLOW, "workflow": "asks",
                                                "label": labels}, 201)
        host, port = self.address.rsplit(":", 1)
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect((host, int(port)))
        slow.sendall(f"GET {BASE}/executions HTTP/1.1\r\nhost: {self.address}\r\n"
                     "accept: text/event-stream\r\n\r\n".encode())
        quick = self.events(f"{BASE}/executions")
        quick.next()
        for i in range(60):
            is_paused = i % 2 == 0
            self.ask(f"{self.one}/{'pause' if is_paused else 'resume'}", {})
            quick.until(lambda rows: rows[-1]["is_paused"] == is_paused)
        self.assertEqual(self.ask("/readyz")[0], 200)
        self.ask(f"{self.one}/abort", {})
        slow.settimeout(LIMIT_S)
        read = b""
        while b'"phase":"abort' not in read[-400000:]:
            read += slow.recv(1 << 20)
        missed = re.findall(rb'event: missed\ndata: {"count":(\d+)}', read)
        self.assertGreater(int(missed[0]), 0)
        slow.close()
        quick.close()

    def test_many_have_all_events_in_few_pieces(self):
        """Each document once and in its order; who comes late begins with the newest."""
        self.begin()
        host, port = self.address.rsplit(":", 1)
        request = (f"GET {BASE}/{self.one} HTTP/1.1\r\nhost: {self.address}\r\n"
                   "accept: text/event-stream\r\n\r\n").encode()

        def watch():
            stream = socket.create_connection((host, int(port)), timeout=LIMIT_S)
            stream.sendall(request)
            self.addCleanup(stream.close)
            read = b""
            while b"event: document" not in read:
                read += stream.recv(1 << 20)
            return stream, read
        streams = [watch() for _ in range(400)]
        for i in range(30):
            self.ask(f"{self.one}/{'resume' if i % 2 else 'pause'}", {})
            if i == 20:
                late = watch()
        self.ask(f"{self.one}/abort", {})
        self.wait_for_phase("first", "aborted")
        tag = self.ask(self.one)[1]["etag"]
        tags, most = [], 0
        for stream, read in [*streams, late]:
            while tag.encode() not in read:
                piece = stream.recv(1 << 20)
                most = max(most, piece.count(b"event: document"))
                read += piece
            tags.append(re.findall(r"id: (.*)\n", read.decode()))
        self.assertGreater(most, 1)
        self.assertEqual(tags[1:-1], tags[:-2])
        self.assertEqual(tags[-1], tags[0][len(tags[0]) - len(tags[-1]):])

    def test_a_socket_that_somebody_else_has_wakes_nobody(self):
        """As a process that is being started has it for a moment: it is in epoll until then."""
        self.begin()
        process = pathlib.Path(f"/proc/{self.serving.process.pid}")

        def sockets():
            links = {path.name: os.readlink(path) for path in (process / "fd").iterdir()}
            return {int(name): link[8:-1] for name, link in links.items()
                    if link.startswith("socket:[")}
        before = sockets()
        host, port = self.address.rsplit(":", 1)
        client = http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
        client.request("GET", "/healthz")
        client.getresponse().read()
        (number, inode), = [item for item in sockets().items() if item not in before.items()]
        held = ctypes.CDLL(None, use_errno=True).syscall(438, os.pidfd_open(int(process.name)),
                                                         number, 0)
        if held < 0:
            self.skipTest("nobody may have this process's descriptors")
        client.close()
        wait_until(lambda: inode not in sockets().values(), "the connection is closed")
        watched = "".join(path.read_text() for path in (process / "fdinfo").iterdir())
        self.assertNotIn(f"ino:{int(inode):x} ", watched)
        self.assertIn("ino:", watched)
        os.close(held)

    def test_what_happens_is_followed(self):
        """Changes, logs and messages, each as it comes, to the end; and from where one left."""
        self.begin()
        gate = self.write("gate", "")
        self.write("slow.yaml", "troupe: 1\ntasks:\n  t: {run: [sh, -c, 'echo one; until [ -e "
                   f"{gate}.open ]; do sleep 0.1; done; echo two']}}\nworkflows:\n  main: "
                   "{nodes: {t: {task: t}}}\n")
        self.troupe("submit", "slow.yaml", "--name", "slow")
        where = f"{BASE}/executions/default/development/slow"
        logs = self.events(f"{where}/logs")
        changes = self.events(f"{where}/changes")
        tap = self.events(f"{BASE}/tap?filter=limit=5")
        self.assertEqual(logs.next(), ("line", "4", "one"))
        open(f"{gate}.open", "w").close()
        self.assertEqual(logs.next(), ("line", "8", "two"))
        self.assertEqual(logs.next()[0], "end")
        seen = []
        while (event := changes.next())[0] == "change":
            self.suits("change", event[2])
            seen.append((event[2]["subject"], event[2]["phase"]))
        self.assertEqual(event[0], "end")
        self.assertEqual((seen[0], seen[-1]),
                         (("execution", "queued"), ("execution", "succeeded")))
        self.assertEqual(len(seen), len(set(seen)))
        rows = [tap.next() for _ in range(6)]
        self.assertEqual([row[0] for row in rows], 5 * ["message"] + ["end"])
        again = self.events(f"{where}/logs", **{"last-event-id": "4"})
        self.assertEqual(again.next(), ("line", "8", "two"))
        again = self.events(f"{where}/changes", **{"last-event-id": "99999999999999"})
        self.assertEqual(again.next()[0], "end")
        back = self.events(f"{BASE}/tap?filter=limit=1", **{"last-event-id": rows[0][1]})
        self.troupe("submit", "slow.yaml")
        self.assertEqual(back.next(), ("missed", None, {"count": None, "since": rows[0][1]}))
        self.assertEqual(back.next()[0], "message")
        self.refuses(404, "not-found", "there is no such execution",
                     "executions/default/development/no/changes", accept="text/event-stream")
        self.refuses(404, "not-found", "there is no execution",
                     "executions/default/development/no/logs", accept="text/event-stream")
        self.refuses(400, "invalid", "write NAME=VALUE", "tap?filter=x", accept="text/event-stream")
        self.refuses(400, "invalid", "ask with accept: text/event-stream", f"{where}/changes")

    def test_an_actor_is_looked_into(self):
        """What it is, and what it does with each message; what is secret stays so."""
        self.begin()
        where = "address=/default/development/first"
        state = self.gives("actor_state", f"actor?{where}")
        self.assertEqual(state["behaviour"], "workflow")
        effects = self.events(f"{BASE}/actor/effects?{where}")
        self.assertEqual(effects.next()[2]["recording"]["actor"], state["actor"])
        self.ask(f"{self.one}/approve", {"id": "go"})
        handled = effects.next()[2]
        self.assertEqual((handled["message"]["name"], handled["as_recorded"]),
                         ("send_signal", True))
        self.assertEqual(handled["message"]["body"]["value"], {"redacted": 1})
        while (event := effects.next())[0] == "message":
            self.assertTrue(event[2]["as_recorded"])
        self.assertEqual(event[0], "end")
        for path in ("actor", "actor/effects"):
            self.refuses(404, "not-found", "there is no actor /none", f"{path}?address=/none",
                         accept="text/event-stream")

    def test_who_follows_holds_up_nobody(self):
        """There are few of them, each has a thread; an engine that leaves ends them."""
        self.begin()
        path = f"{BASE}/{self.one}/logs?node=ok"
        count = LIMITS["FOLLOWERS_MAX"]
        with concurrent.futures.ThreadPoolExecutor(count) as several:
            many = list(several.map(lambda _: self.events(path), range(count)))
        self.refuses(429, "busy", "too many streams follow something", path,
                     accept="text/event-stream")
        self.assertEqual(self.ask("executions")[0], 200)
        for one in many[1:]:
            one.close()
        def is_taken():
            one = self.events(path)
            one.close()
            return one.response.status == 200
        wait_until(is_taken, "there is room again")
        taps = [self.events(f"{BASE}/tap?filter=limit=100000") for _ in range(3)]
        begin = time.monotonic()
        self.stop()
        self.assertLess(time.monotonic() - begin, LIMIT_S / 4)
        del taps

    def test_streams_are_bounded(self):
        self.begin()
        limit = LIMITS["STREAMS_MAX"]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < limit + 200:
            self.skipTest("this process may not open so many files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        host, port = self.address.rsplit(":", 1)
        many = []
        request = (f"GET {BASE}/executions HTTP/1.1\r\nhost: {self.address}\r\n"
                   "accept: text/event-stream\r\n\r\n").encode()
        for _ in range(limit):
            one = socket.create_connection((host, int(port)))
            one.sendall(request)
            many.append(one)
        for one in many:
            one.settimeout(LIMIT_S)
            self.assertIn(b"200 OK", one.recv(4096))
        self.refuses(429, "busy", "there are 1000 streams of events already", "executions",
                     accept="text/event-stream")
        self.assertEqual(self.ask("executions")[0], 200)
        for one in many:
            one.close()
        def is_taken():
            one = self.events(f"{BASE}/executions")
            one.close()
            return one.response.status == 200
        wait_until(is_taken, "there is room again")


if __name__ == "__main__":
    unittest.main()
