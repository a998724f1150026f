#!/usr/bin/env python3
"""Each route of the API, once: what it answers is held against the schema that the page of the API
names for it. A route that is not in the table here fails this program.
"""

import re
import unittest

from asking import FLOW, AskingTest

HOW = {"project": "default", "domain": "development", "plan": "nightly"}
ONE = {**HOW, "name": "first"}

# In this order: what is asked of an operation, its variables and query, and the body of a POST.
TOUR = [
    ("healthz", {}, None), ("readyz", {}, None), ("prometheus", {}, None), ("openapi", {}, None),
    ("inspectDefinition", {}, {"definition": FLOW, "name": "main"}),
    ("apply", {}, {"definition": FLOW}),
    ("submit", {}, {"definition": FLOW, "workflow": "main", "input": {"logs": ["a", "b"]},
                    "name": "first", "label": {"team": "data"}}),
    ("listExecutions", {"label": "team=data", "sort": "name"}, None),
    ("getExecution", ONE, None), ("getNode", {**ONE, "node": "count[1]"}, None),
    ("listElements", {**ONE, "node": "count", "limit": "1"}, None),
    ("summarizeElements", {**ONE, "node": "count", "ranges": "2"}, None),
    ("explainExecution", {**ONE, "node": "ok"}, None), ("getLogs", {**ONE, "node": "count"}, None),
    ("compareExecutions", {**ONE, "other": "first"}, None),
    ("listFiles", {**ONE, "node": "count[1]"}, None),
    ("getFile", {"file": "bm9uZQ", "expires": "1", "signature": "00"}, None),
    ("followChanges", ONE, None), ("tap", {"filter": "limit=1"}, None), ("listGates", {}, None),
    ("listPlans", {}, None), ("listChanges", {"project": "default"}, None),
    ("explainPlan", HOW, None), ("inspectPlan", HOW, None), ("listPlugins", {}, None),
    ("listResources", {"limit": "5"}, None), ("listEntities", {"kind": "task"}, None),
    ("listHosts", {}, None), ("listActors", {"pattern": "/sys/*"}, None),
    ("getActor", {"address": "/sys/resources"}, None),
    ("followActor", {"address": "/sys/resources"}, None), ("listMetrics", {}, None),
    ("getEngine", {}, None),
    ("pauseExecution", ONE, {"message": "m"}), ("resumeExecution", ONE, {}),
    ("rejectExecution", ONE, {"id": "go", "message": "no"}),
    ("recoverExecution", ONE, {}), ("rerunExecution", ONE, {"from": ["count"]}),
    ("triggerPlan", HOW, {"input": {"logs": ["c"]}}), ("pausePlan", HOW, {"message": "m"}),
    ("backfillPlan", HOW, {"from": "2026-08-01", "to": "2026-08-02T12:00:00Z"}),
    ("resumePlan", HOW, {}),
    ("signalExecution", {**HOW, "name": "asks"}, {"id": "limit", "value": 3}),
    ("approveExecution", {**HOW, "name": "other"}, {"id": "go"}),
    ("abortExecution", {**HOW, "name": "third"}, {"message": "m"}),
]

# What is answered with a problem here: there is one host; nobody gave that URL of a file; and three
# are streams of events alone.
PROBLEMS = {"listHosts": 404, "getFile": 403, "followChanges": 400, "tap": 400, "followActor": 400}


def unchecked(page, tour):
    """The operations of a page that a tour does not come to, and what it names beside them."""
    served = {operation["operationId"] for methods in page["paths"].values()
              for operation in methods.values()}
    return served ^ {name for name, _, _ in tour}


class RoutesTest(AskingTest):
    def ask_for(self, page, name, given, body):
        """What an operation answers, and the operation."""
        path, method, operation = next(
            (path, method, operation) for path, methods in page["paths"].items()
            for method, operation in methods.items() if operation["operationId"] == name)
        rest = {key: value for key, value in given.items() if f"{{{key}}}" not in path
                and key not in HOW}
        asked = re.sub(r"{(\w+)}", lambda each: given[each[1]], path)
        query = "&".join(f"{key}={value}" for key, value in rest.items() if key != "name")
        query = query.replace("[", "%5B").replace("]", "%5D")
        return self.ask(asked + ("?" + query if query else ""), body, method.upper()), operation

    def check(self, page, name, given, body):
        (status, headers, answer), operation = self.ask_for(page, name, given, body)
        kind = headers["content-type"].split(";")[0]
        if name in PROBLEMS and status == PROBLEMS[name]:
            self.assertEqual(kind, "application/problem+json")
            self.suits_page(page, "http_problem", answer)
            return
        self.assertIn(status, (200, 201, 202), answer)
        content = operation["responses"]["2XX"]["content"]
        self.assertIn(kind, content)
        if "schema" in content[kind]:
            self.suits_page(page, content[kind]["schema"]["$ref"].rsplit("/", 1)[1], answer)
        self.assertEqual(headers["x-content-type-options"], "nosniff")

    def suits_page(self, page, name, answer):
        """By the schemas of the page, which are those of the repository."""
        if name in self.schema["definitions"]:
            self.suits(name, answer)
        else:
            self.assertLessEqual(set(answer),
                                 set(page["components"]["schemas"][name]["properties"]))

    def test_each_route_is_held_against_its_schema(self):
        self.address, = self.serve()
        page = self.ask("openapi.json")[2]
        self.assertEqual(unchecked(page, TOUR), set())
        for name, given, body in TOUR:
            with self.subTest(name):
                self.check(page, name, given, body)
            if name == "submit":
                self.prepare()
            if name == "rejectExecution":
                self.wait_for_phase("first", "failed")

    def prepare(self):
        """What else is acted upon, and the first one at its gate."""
        for workflow, name in (("asks", "asks"), ("main", "other"), ("main", "third")):
            self.gives("handed", "executions", {
                "definition": FLOW, "workflow": workflow, "name": name,
                **({"input": {"logs": ["a"]}} if workflow == "main" else {})}, 201)
        for name in ("first", "other", "third", "asks"):
            self.wait_for_gate(name)

    def test_a_route_that_nobody_checks_is_found(self):
        self.address, = self.serve()
        page = self.ask("openapi.json")[2]
        self.assertEqual(unchecked(page, TOUR[1:]), {TOUR[0][0]})
        self.assertEqual(unchecked(page, [*TOUR, ("more", {}, None)]), {"more"})

    def test_a_role_stands_with_each_route(self):
        """And nobody without a token comes to one, but for the probes and the page itself."""
        self.store.mkdir(exist_ok=True)
        (self.store / "settings.yaml").write_text(
            f"http:\n  listen: ['0']\n  clients:\n    - id: a\n      secret_sha256: {64 * '0'}\n"
            "      roles: [{role: view}]\n")
        self.address, = self.serve("--no-warm")
        page = self.ask("openapi.json")[2]
        for name, given, body in TOUR:
            with self.subTest(name):
                (status, _, answer), operation = self.ask_for(page, name, given, body)
                is_open = operation["x-role"] == "anybody"
                self.assertEqual(is_open, name in ("healthz", "readyz", "openapi", "getFile"))
                self.assertEqual(status == 401, not is_open, answer)


if __name__ == "__main__":
    unittest.main()
