#!/usr/bin/env python3
"""`troupe resources` and `troupe entities`: what executions share and who waits for it, what is
registered; at the command line and by HTTP.
"""

import json
import re
import signal
import unittest

from asking import BASE, AskingTest
from program import wait_until
from test_flyte_apply import APPLIED
from test_flyte_packages import PackageTest

SHARED = """
troupe: 1
pools: {crm: {at_once: 1, per_second: 500}}
tasks:
  list: {outputs: {x: '[int]'}, run: [echo, '{"x": [0, 1, 2]}'], stdout: outputs}
  slow: {inputs: {x: int}, run: [sh, -c, 'until [ -e GO ]; do sleep 0.1; done'], POOL}
workflows:
  main: {nodes: {list: {task: list}, each: {map: slow, with: {x: $list.x}}}}
"""
SETTINGS = "jobs: 8\nquotas: {processes: {slots: 8, per_project: 2, per_domain: 2}}\n"


class OverviewTest(AskingTest):
    def resources(self, *words):
        document = json.loads(self.troupe("resources", *words, "-o", "json")[0])
        self.suits("resources", document)
        return document

    def place(self, kind, name=None):
        return next((place for place in self.resources()["places"] if place["kind"] == kind and
                     name in (None, place["name"])), None)

    def begin_array(self, pool):
        self.go = self.folder / "go"
        text = SHARED.replace("GO", str(self.go)).replace("POOL", pool)
        self.write("shared.yaml", text)
        self.store.mkdir(exist_ok=True)
        (self.store / "settings.yaml").write_text(SETTINGS)
        self.address, = self.serve("--http", "0")
        self.troupe("submit", "shared.yaml", "--name", "it")

    def test_who_waits_for_a_pool(self):
        self.begin_array("pool: crm")
        wait_until(lambda: self.resources()["waiting"] == 2, "two wait for the pool")
        place = self.place("pool")
        self.assertEqual((place["slots"], place["used"], place["per_second"], place["waiting"]),
                         (1, 1, 500, 2))
        found = self.resources()
        self.assertEqual([row["is_waiting"] for row in found["attempts"]], [True, True, False])
        row = found["attempts"][0]
        self.assertEqual((row["execution"], row["is_dormant"]), ("/default/development/it", False))
        self.assertRegex(row["attempt"], r"^it-each-\d-\w+-0$")
        self.assertIn("crm", " ".join(row["places"]))
        self.assertEqual(len(self.resources("--limit", "1")["attempts"]), 1)
        self.assertEqual([row["is_waiting"] for row in
                          self.resources("--offset", "2", "--limit", "0")["attempts"]], [False])
        text, _ = self.troupe("resources")
        self.assertRegex(text, r"(?m)^pool +\S*crm\S* +1 +1 +500 +2$")
        self.assertRegex(text, r"(?m)^it-each-\S+ +/default/development/it +waits +\S+ +.*crm")
        self.assertEqual(self.gives("resources", "resources"), found)
        status, headers, rows = self.ask("resources?limit=2")
        self.assertEqual((len(rows["attempts"]), "offset" in headers["link"]), (2, False))
        self.refuses(400, "invalid", "is nothing that", "resources?x=1")
        # It is told from the store, without an engine and on the next one.
        self.serving.signal(signal.SIGKILL)
        self.serving.end()
        self.assertEqual(self.resources()["waiting"], 2)
        self.address, = self.serve("--http", "0")
        self.assertEqual(self.gives("resources", "resources")["waiting"], 2)
        self.go.touch()
        self.wait_for_phase("it", "succeeded")
        wait_until(lambda: not self.resources()["attempts"], "nobody has anything")
        self.assertEqual(self.place("pool")["used"], 0)

    def test_who_waits_for_a_share(self):
        """Of a quota what a project may have, and a domain of it."""
        self.begin_array("retries: 0")
        wait_until(lambda: self.resources()["waiting"] == 1, "one waits for its project")
        self.assertEqual(self.place("quota", "processes")["slots"], 8)
        for kind in ("project", "domain"):
            place = self.place(kind)
            self.assertEqual((place["slots"], place["used"], place["waiting"]), (2, 2, 1))
        self.go.touch()
        self.wait_for_phase("it", "succeeded")

    def test_what_is_wrong_is_said(self):
        for command in ("resources", "entities"):
            self.assertIn("there is no store", self.troupe(command, status=2)[1])
        self.store.mkdir()
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {run: [date]}}\n")
        self.troupe("run", "flow.yaml", "t", "-q")
        for command, option in (("resources", "--limit"), ("resources", "--offset"),
                                ("entities", "--limit"), ("entities", "--offset")):
            self.assertIn(f"{option}: 'x' is no number",
                          self.troupe(command, option, "x", status=2)[1])
        self.assertIn("--kind", self.troupe("entities", "--kind", "x", status=2)[1])


class EntitiesTest(AskingTest, PackageTest):
    def test_entities(self):
        self.package(APPLIED)
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()
        rows = json.loads(self.troupe("entities", "-o", "json")[0])
        self.suits("entities", rows)
        self.assertEqual(len(rows), 6)
        self.assertEqual(self.gives("entities", "entities"), rows)
        seen, path = [], f"{BASE}/entities?limit=4"
        while path:
            _, headers, page = self.ask(path)
            seen.append(len(page))
            link = re.fullmatch(r'<(.*)>; rel="next"', headers.get("link", ""))
            path = link and link[1]
        self.assertEqual(seen, [4, 2])
        for query, names in [("kind=task", {"flows.more.double", "flows.more.add"}),
                             ("name=flows.t**", {"flows.twice"}), ("version=v2", set()),
                             ("kind=plan&name=flows.five", {"flows.five"}),
                             ("project=none", set()), ("domain=production", set())]:
            with self.subTest(query):
                found = self.gives("entities", f"entities?{query}")
                self.assertEqual({row["name"] for row in found}, names)
        self.assertIn("flows.twice", self.troupe("entities", "--kind", "workflow")[0])
        self.refuses(400, "invalid", "kind", "entities?kind=x")


if __name__ == "__main__":
    unittest.main()
