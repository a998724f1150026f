"""Tasks of type http: what is sent, what an answer gives, and what becomes of a request of which
nobody knows whether it was done. The server counts on its own side."""

import collections
import http.server
import json
import socketserver
import threading
import unittest

from program import LIMIT_S, ProgramTest, wait_until

FLOW = """\
troupe: 1
tasks:
  ask:
    type: http
    inputs: {{id: int}}
    outputs: {outputs}
    {more}
    config: {config}
workflows:
  main:
    inputs: {{id: {{type: int, default: 7}}}}
    nodes: {{ask: {{task: ask, with: {{id: $id}}}}}}
    outputs: {results}
"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_any(self):
        server = self.server
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size).decode()
        with server.lock:
            server.calls[f"{self.command} {self.path}"] += 1
            server.seen.append((self.command, self.path, dict(self.headers), body))
            count = server.calls[f"{self.command} {self.path}"]
        if self.path == "/slow":
            server.is_waited_for.wait(LIMIT_S)
        if self.path == "/drop" and count == 1:
            self.close_connection = True
            return
        status = {"/gone": 404, "/busy": 429 if count == 1 else 200,
                  "/broken": 500 if count == 1 else 200, "/made": 201}.get(self.path, 200)
        is_text = self.path == "/text"
        answer = b"plain words" if is_text else json.dumps(
            {"name": "x", "size": 3, "tags": ["a", "b"], "nested": {"q": "}\\\""}}).encode()
        if self.path == "/huge":
            answer = b" " * 300000
        is_cut = self.path == "/half" and count == 1
        self.close_connection |= is_cut
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if is_text else "application/json")
        self.send_header("X-Count", str(count))
        self.send_header("Content-Length", str(len(answer) + (1 if is_cut else 0)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PUT = do_any

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.calls, self.seen, self.lock = collections.Counter(), [], threading.Lock()
        self.is_waited_for = threading.Event()

    def handle_error(self, *_):
        """Clients that were killed are part of the play."""


class HttpTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.server = Server()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def tearDown(self):
        self.server.is_waited_for.set()
        self.server.shutdown()
        self.server.server_close()
        super().tearDown()

    def flow(self, config, outputs="{}", results="{}", more=""):
        config = {"url": f"{self.url}/", **config}
        return self.write("flow.yaml", FLOW.format(config=json.dumps(config), outputs=outputs,
                                                   results=results, more=more))

    def run_it(self, config, status=0, **flow):
        self.flow(config, **flow)
        return self.document("run", "flow.yaml", status=status)

    def error(self, config, **flow):
        return self.run_it(config, status=1, **flow)["error"]

    def test_fields_of_the_answer_are_outputs(self):
        document = self.run_it(
            {"url": self.url + "/jobs/{{.inputs.id}}"},
            outputs="{name: string, size: int, tags: [string], nested: struct, status: int}",
            results="{name: $ask.name, size: $ask.size, tags: $ask.tags, nested: $ask.nested, "
                    "status: $ask.status}")
        self.assertEqual(document["outputs"], {"name": "x", "size": 3, "tags": ["a", "b"],
                                               "nested": {"q": "}\\\""}, "status": 200})
        self.assertEqual(self.server.calls["GET /jobs/7"], 1)

    def test_body_and_headers_are_outputs(self):
        document = self.run_it({"url": self.url + "/text"},
                               outputs="{body: string, headers: {string: string}}",
                               results="{body: $ask.body, headers: $ask.headers}")["outputs"]
        self.assertEqual(document["body"], "plain words")
        self.assertEqual(document["headers"]["x-count"], "1")
        document = self.run_it({}, outputs="{body: struct}", results="{body: $ask.body}")
        self.assertEqual(document["outputs"]["body"]["size"], 3)

    def test_what_is_sent_is_what_was_said(self):
        self.run_it({"method": "POST", "headers": {"X-Id": "{{.inputs.id}}"},
                     "body": {"id": "{{.inputs.id}}", "list": [1, 2.5, None, True]},
                     "idempotency_key": "Idempotency-Key"})
        self.run_it({"method": "PUT", "body": "as it is"})
        command, _, headers, body = self.server.seen[0]
        self.assertEqual((command, json.loads(body)),
                         ("POST", {"id": "7", "list": [1, 2.5, None, True]}))
        self.assertEqual(headers["X-Id"], "7")
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertRegex(headers["Idempotency-Key"], r"^[a-z0-9-]+$")
        self.assertEqual(self.server.seen[1][3], "as it is")

    def test_secrets_go_to_the_server_alone(self):
        self.store.mkdir()
        folder = self.folder / "secrets/api"
        folder.mkdir(parents=True)
        (folder / "token").write_text("hush-hush")
        (self.store / "settings.yaml").write_text("secrets: [{folder: ../secrets}]\n")
        self.run_it({"authorization": {"bearer": "api/token"}, "secrets": {"X-Key": "api/token"}})
        headers = self.server.seen[0][2]
        self.assertEqual((headers["Authorization"], headers["X-Key"]),
                         ("Bearer hush-hush", "hush-hush"))
        for path in self.store.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"hush-hush", path.read_bytes(), path)
        error = self.error({"secrets": {"X-Key": "api/nothing"}})
        self.assertEqual(error["code"], "BadTaskSpecification")
        self.assertIn("api/nothing", error["message"])

    def test_statuses(self):
        error = self.error({"url": self.url + "/gone"})
        self.assertIn("HttpStatus", error["code"])
        self.assertIn("/gone was answered with 404: {", error["message"])
        self.run_it({"url": self.url + "/gone", "expect": [200, 404]})
        self.assertIn("HttpStatus", self.error({"expect": [201]})["code"])

    def test_what_is_busy_is_asked_again(self):
        self.run_it({"url": self.url + "/busy", "method": "POST"})
        self.assertEqual(self.server.calls["POST /busy"], 2)

    def test_a_request_of_unknown_outcome_is_repeated_where_that_is_safe(self):
        keys = {"idempotency_key": "Idempotency-Key"}
        for path in ("/drop", "/broken"):
            for config in ({"method": "PUT"}, {"method": "POST", **keys}):
                self.server.calls.clear()
                self.run_it({"url": self.url + path, **config})
                self.assertEqual(sum(self.server.calls.values()), 2, (path, config))
        names = {seen[2]["Idempotency-Key"] for seen in self.server.seen[-2:]}
        self.assertEqual(len(names), 1)  # the same for both, so that it is done once

    def test_else_the_policy_decides(self):
        error = self.error({"url": self.url + "/drop", "method": "POST"})
        self.assertEqual(error["code"], "OutcomeUnknown")
        self.assertEqual(self.server.calls["POST /drop"], 1)
        self.server.calls.clear()
        self.run_it({"url": self.url + "/drop", "method": "POST", "in_doubt": "repeat"})
        self.assertEqual(self.server.calls["POST /drop"], 2)

    def test_history_says_what_nobody_knows(self):
        """Law 5: where the policy decides, the attempt is marked, whatever came of it."""
        for policy, status, words in (("fail", 1, "nobody can say whether it was done"),
                                      ("repeat", 0, "it may have been done more than once")):
            self.server.calls.clear()
            self.flow({"url": self.url + "/drop", "method": "POST", "in_doubt": policy})
            self.troupe("run", "flow.yaml", "--name", policy, status=status)
            self.assertIn(f"outcome    unknown: {words}", self.troupe("get", f"{policy}/ask")[0])
            attempt, = self.document("get", f"{policy}/ask")["attempts"]
            self.assertTrue(attempt["is_unknown"])
        self.assertIn("outcome unknown", self.troupe("explain", "fail")[0])
        self.assertIn("outcome unknown", self.troupe("get", "fail")[0])

    def test_history_marks_elements_too(self):
        text = FLOW.format(config=json.dumps({"url": self.url + "/drop", "method": "POST",
                                              "in_doubt": "repeat"}),
                           outputs="{}", results="{}", more="")
        self.write("flow.yaml", text.replace("{task: ask, with: {id: $id}}",
                                             "{map: ask, with: {id: [1, 2]}}"))
        self.troupe("run", "flow.yaml", "--name", "it")
        marks = [attempt["is_unknown"] for element in (0, 1)
                 for attempt in self.document("get", f"it/ask[{element}]")["attempts"]]
        self.assertEqual(sorted(marks), [False, True])

    def test_a_safe_repetition_marks_no_unknown_outcome(self):
        self.flow({"url": self.url + "/drop", "method": "PUT"})
        self.troupe("run", "flow.yaml", "--name", "it")
        self.assertFalse(self.document("get", "it/ask")["attempts"][0]["is_unknown"])

    def test_half_an_answer_is_none(self):
        self.run_it({"url": self.url + "/half"}, outputs="{body: struct}")
        self.assertEqual(self.server.calls["GET /half"], 2)
        self.server.calls.clear()
        self.assertEqual(self.error({"url": self.url + "/half", "method": "POST"})["code"],
                         "OutcomeUnknown")

    def test_an_answer_that_is_too_large_is_refused(self):
        error = self.error({"url": self.url + "/huge"}, outputs="{body: string}")
        self.assertEqual(error["code"], "ResponseTooLarge")
        self.assertIn("the response is larger than 262144 bytes", error["message"])

    def kill_and_go_on(self, config, status):
        self.flow({"url": self.url + "/slow", **config})
        running = self.start("run", "flow.yaml", "--name", "it")
        wait_until(lambda: self.server.seen or running.process.poll() is not None, "the request")
        self.assertIsNone(running.process.poll())
        running.process.kill()
        running.end()
        self.server.is_waited_for.set()
        self.troupe("run", "flow.yaml", "--name", "it", "--if-new", status=status)

    def test_after_a_crash_nothing_is_done_twice_that_may_not_be(self):
        self.kill_and_go_on({"method": "POST"}, status=1)
        self.assertEqual(self.server.calls["POST /slow"], 1)
        self.assertIn("OutcomeUnknown", self.troupe("explain", "it")[0])

    def test_after_a_crash_what_is_safe_is_done(self):
        self.kill_and_go_on({"method": "PUT"}, status=0)
        self.assertEqual(self.server.calls["PUT /slow"], 2)

    def test_outputs_that_are_not_there_are_told(self):
        error = self.error({}, outputs="{missing: int}")
        self.assertEqual(error["code"], "MismatchingTypes")
        self.assertIn("missing", error["message"])

    def test_nobody_there(self):
        error = self.error({"url": "http://127.0.0.1:1/"})
        self.assertIn("HttpUnavailable", error["code"])
        self.assertIn("http://127.0.0.1:1/: ", error["message"])

    def test_what_is_wrong_with_a_config_is_told_before_anything_runs(self):
        rows = [
            ({"urll": "x"}, "config has no key 'urll'"),
            ({"url": 3}, "config.url has to be text, not a whole number, 0 or more"),
            ({"in_doubt": "maybe"}, "config.in_doubt has to be fail or repeat, not 'maybe'"),
            ({"secrets": {"X-Key": "token"}}, "config names a secret that is none; write secrets: "
             "{HEADER: GROUP/KEY}, authorization: {bearer: GROUP/KEY} or {basic: GROUP/KEY}, 7 at "
             "most"),
            ({"authorization": {"digest": "a/b"}}, "config names a secret that is none; "),
            ({"method": 3}, "config.method has to be text"),
            ({"headers": "X: y"}, "config.headers has to be a mapping"),
            ({"expect": 200}, "config.expect has to be a list"),
            ({"timeout_ms": "1s"}, "config.timeout_ms has to be a whole number, 0 or more"),
            ({"idempotency_key": True}, "config.idempotency_key has to be text"),
            ({"ca_file": 1}, "config.ca_file has to be text"),
            ({"insecure": "yes"}, "config.insecure has to be true or false"),
        ]
        for config, words in rows:
            with self.subTest(config):
                self.flow(config)
                self.assertIn(words, self.troupe("run", "flow.yaml", status=2)[1])
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {type: http, outputs: {}}}\n"
                   "workflows: {main: {nodes: {t: {task: t}}}}\n")
        self.assertIn("config.url is missing; write config: {url: URL}",
                      self.troupe("run", "flow.yaml", status=2)[1])


if __name__ == "__main__":
    unittest.main()
