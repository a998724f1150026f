#!/usr/bin/env python3
"""All calls of Flyte's services at `troupe serve --http`, as Flyte's own definitions name them; and
those that are about neither entities nor one execution alone: attributes, events, metrics, signals
before they wait.
"""

import json
import re
import unittest
import urllib.parse

from flyte_calls import CHANGES, READS
from flyte_clients import ClientTest
from program import ROOT
from test_api_executions import DECIDES, FLOWS, WHERE, bare, plan_id

PAGE = (ROOT / "deploy/FLYTE_CLIENTS.md").read_text()

# What attributes may be, each kind with a value.
ATTRIBUTES = {
    "TASK_RESOURCE": {"task_resource_attributes": {"defaults": {"cpu": "1", "memory": "1Gi"}}},
    "CLUSTER_RESOURCE": {"cluster_resource_attributes": {"attributes": {"quota": "10"}}},
    "EXECUTION_QUEUE": {"execution_queue_attributes": {"tags": ["critical"]}},
    "EXECUTION_CLUSTER_LABEL": {"execution_cluster_label": {"value": "gpu"}},
    "QUALITY_OF_SERVICE_SPECIFICATION": {"quality_of_service": {"tier": "HIGH"}},
    "PLUGIN_OVERRIDE": {"plugin_overrides": {"overrides": [
        {"task_type": "python", "plugin_id": ["a"], "missing_plugin_behavior": "USE_DEFAULT"}]}},
    "WORKFLOW_EXECUTION_CONFIG": {"workflow_execution_config": {
        "max_parallelism": 5, "labels": {"values": {"team": "data"}}}},
    "CLUSTER_ASSIGNMENT": {"cluster_assignment": {"cluster_pool_name": "east"}},
}
PLACES = {"Project": {"project": "p"}, "ProjectDomain": {"project": "p", "domain": "d"},
          "Workflow": {"project": "p", "domain": "d", "workflow": "w"}}


# What is compared in test_api_executions.py, and what gives a new URL each time.
ELSEWHERE = {"GetDynamicNodeWorkflow", "ListNodeExecutionsForTask", "CreateDownloadLocation"}


class CallsTest(ClientTest):
    def serve_flows(self):
        self.write("decide.py", DECIDES)
        self.package(FLOWS.replace("@DECIDE@", str(self.folder / "decide.py")))
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()

    def rest(self, method, path, body=None):
        given = [] if body is None else ["-d", json.dumps(body), "-H",
                                         "content-type: application/json"]
        status, _, text = self.curl(self.address, path, "-g", "-X", method, *given)
        return status, json.loads(text.encode("latin-1"))

    def test_every_call_of_flytes_is_served(self):
        """Also with nothing in it, which has an answer; each of its paths leads to it, and the
        page has it."""
        self.address, = self.serve()
        for name, (code, paths) in self.ask("all_calls").items():
            with self.subTest(name):
                self.assertTrue(re.search(rf"\b{name}\b", PAGE))
                self.assertNotIn(code, ("UNIMPLEMENTED", "UNKNOWN", "INTERNAL"))
                for method, path in paths:
                    filled = re.sub(r"{[a-z_.]*resource_type}", "TASK", path)
                    filled = re.sub(r"{[a-z_.]*retry_attempt}", "0", filled)
                    status, told = self.rest(method, re.sub("{[^}]*}", "x", filled),
                                             {} if method in ("POST", "PUT") else None)
                    self.assertNotEqual(told.get("message"), "there is nothing here", path)
                    self.assertNotEqual(status, 405, path)

    def path_of(self, path, request):
        """A path of REST with what a request has: in its places, and behind it as a query."""
        def flat(value, begin=""):
            for key, each in value.items():
                if isinstance(each, dict):
                    yield from flat(each, f"{begin}{key}.")
                else:
                    yield begin + key, str(each)
        fields = dict(flat(request))
        filled = re.sub("{([^}]*)}", lambda place: urllib.parse.quote(fields.pop(place[1]), ""),
                        path)
        return filled + ("?" + urllib.parse.urlencode(fields) if fields else "")

    def test_each_path_says_what_the_call_says(self):
        self.package(FLOWS.replace("@DECIDE@", "none"))
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()
        for method, request, code in CHANGES:
            outcome, = self.ask("outcomes", calls=[[method, request]])
            self.assertEqual(outcome[0].replace("_", "").lower(), code.lower(), (method, outcome))
            if method == "CreateExecution" and code == "OK" and request["name"] != "gates":
                self.ask("get", name=request["name"])
        self.ask("get", name="again")
        paths = {name: [path for method, path in found if method == "GET"]
                 for name, (_, found) in self.ask("all_calls").items()}
        seen = set()
        for (method, request), answer in zip(READS, self.ask("answers", calls=READS)):
            for path in paths[method]:
                if "{id.name}" in path and "name" not in request.get("id", {"name": ""}):
                    continue
                status, found = self.rest("GET", self.path_of(path, request))
                self.assertEqual(status, 200, (path, found))
                self.assertEqual(bare(found), bare(answer), path)
                seen.add(method)
        self.assertEqual({name for name, found in paths.items() if found} - seen, ELSEWHERE)

    def test_attributes_are_kept(self):
        self.address, = self.serve()
        calls, expected = [], []
        for kind, place in PLACES.items():
            for resource, value in ATTRIBUTES.items():
                given = dict(place, matching_attributes=value)
                asked = dict(place, resource_type=resource)
                calls += [[f"Update{kind}Attributes", {"attributes": given}],
                          [f"Get{kind}Attributes", asked]]
                expected += [{}, {"attributes": given}]
        answers = self.ask("answers", calls=calls)
        self.assertEqual([bare(answer) for answer in answers], [bare(each) for each in expected])
        listed, = self.ask("answers", calls=[
            ["ListMatchableAttributes", {"resource_type": "WORKFLOW_EXECUTION_CONFIG"}]])
        value = ATTRIBUTES["WORKFLOW_EXECUTION_CONFIG"]
        self.assertEqual(bare(listed), {"configurations": [
            dict(place, attributes=value) for place in PLACES.values()]})
        self.check_attributes_by_rest(listed, value)
        self.stop()
        self.address, = self.serve()
        got, = self.ask("answers", calls=[["GetWorkflowAttributes", dict(
            PLACES["Workflow"], resource_type="EXECUTION_QUEUE")]])
        self.assertEqual(got["attributes"]["matching_attributes"]["execution_queue_attributes"],
                         {"tags": ["critical"]})
        asked = dict(PLACES["Workflow"], resource_type="EXECUTION_QUEUE")
        gone = ["NOT_FOUND", "p/d/w has no attributes EXECUTION_QUEUE"]
        self.assertEqual(self.ask("outcomes", calls=[
            ["DeleteWorkflowAttributes", asked], ["GetWorkflowAttributes", asked],
            ["DeleteWorkflowAttributes", asked],
            ["GetProjectAttributes", {"project": "q", "resource_type": "EXECUTION_QUEUE"}],
            ["GetProjectDomainAttributes", {"project": "q", "domain": "d"}]]),
            [["OK", ""], gone, gone, ["NOT_FOUND", "q has no attributes EXECUTION_QUEUE"],
             ["NOT_FOUND", "q/d has no attributes TASK_RESOURCE"]])

    def check_attributes_by_rest(self, listed, value):
        self.assertEqual(bare(self.rest(
            "GET", "/api/v1/matchable_attributes?resource_type=WORKFLOW_EXECUTION_CONFIG")[1]),
            bare(listed))
        for kind, path in (("Project", "project_attributes/p"),
                           ("ProjectDomain", "project_domain_attributes/p/d"),
                           ("Workflow", "workflow_attributes/p/d/w")):
            status, got = self.rest(
                "GET", f"/api/v1/{path}?resource_type=WORKFLOW_EXECUTION_CONFIG")
            self.assertEqual((status, bare(got)), (200, {"attributes": dict(
                PLACES[kind], matching_attributes=value)}))
        body = {"attributes": {"matching_attributes": {"execution_cluster_label": {"value": "x"}}}}
        self.assertEqual(self.rest("PUT", "/api/v1/project_domain_attributes/p/d", body), (200, {}))
        self.assertEqual(self.rest("DELETE", "/api/v1/project_domain_attributes/p/d",
                                   {"resource_type": "EXECUTION_CLUSTER_LABEL"}), (200, {}))
        self.assertEqual(self.rest("GET", "/api/v1/project_domain_attributes/p/d"
                                   "?resource_type=EXECUTION_CLUSTER_LABEL")[0], 404)

    def test_attributes_that_are_none(self):
        self.address, = self.serve()
        value = {"execution_queue_attributes": {"tags": ["a"]}}
        wrong = [
            ("UpdateProjectAttributes", {}, "missing matching_attributes"),
            ("UpdateProjectAttributes", {"attributes": {"project": "p"}},
             "missing matching_attributes"),
            ("UpdateProjectAttributes", {"attributes": {"matching_attributes": value}},
             "missing project"),
            ("UpdateProjectDomainAttributes",
             {"attributes": {"project": "p", "matching_attributes": value}}, "missing domain"),
            ("UpdateWorkflowAttributes", {"attributes": {
                "project": "p", "domain": "d", "matching_attributes": value}}, "missing workflow"),
            ("GetProjectAttributes", {}, "missing project"),
            ("GetProjectAttributes", {"project": "p", "resource_type": 9},
             "resource_type 9 is none"),
            ("DeleteWorkflowAttributes", {"project": "p", "domain": "d"}, "missing workflow"),
        ]
        self.assertEqual(self.ask("outcomes", calls=[row[:2] for row in wrong]),
                         [["INVALID_ARGUMENT", words] for _, _, words in wrong])

    def test_metrics_say_what_took_how_long(self):
        self.serve_flows()
        self.ask("run", plan="flows.main", inputs={"x": 3}, name="all")
        asked = {"id": dict(WHERE, name="all")}
        answers = self.ask("answers", calls=[
            ["GetExecutionMetrics", dict(asked, depth=depth)] for depth in (0, 1, -1)])
        self.assertEqual(bare(answers[0]["span"]).get("spans"), None)
        self.assertEqual(answers[0]["span"]["workflow_id"]["name"], "all")
        nodes = [each for each in answers[1]["span"]["spans"] if "node_id" in each]
        self.assertEqual(sorted(each["node_id"]["node_id"] for each in nodes),
                         ["n0", "n1", "n2", "n3", "n4", "n5"])
        self.assertEqual({each["node_id"]["node_id"]: each["spans"] for each in nodes},
                         {f"n{i}": [] for i in range(6)})
        span = answers[2]["span"]
        self.check_span(span)
        names = [each.get("operation_id") for each in span["spans"]]
        self.assertLessEqual({name for name in names if name},
                             {"WORKFLOW_SETUP", "WORKFLOW_TEARDOWN"})
        found = {each["node_id"]["node_id"]: each for each in self.all_of(span, "node_id")}
        self.assertLessEqual({"n0", "n1", "n1-0-n0", "n4-0-d0", "n5-n0"}, set(found))
        tasks = [each["task_id"]["task_id"]["name"] for each in self.all_of(found["n0"], "task_id")]
        self.assertEqual(tasks, ["flows.add"])
        operations = {each["operation_id"] for each in self.all_of(span, "operation_id")}
        self.assertIn("TASK_RUNTIME", operations)
        launched, = self.all_of(found["n2"], "workflow_id")
        self.assertEqual(self.ask("get", name=launched["workflow_id"]["name"])["plan"],
                         "flows.five")
        status, told = self.rest("GET", "/api/v1/metrics/executions/default/development/all"
                                 "?depth=-1")
        self.assertEqual((status, bare(told)), (200, bare(answers[2])))
        self.assertEqual(self.ask("outcomes", calls=[
            ["GetExecutionMetrics", {"id": dict(WHERE, name="gone")}]])[0][0], "NOT_FOUND")

    def all_of(self, span, kind):
        """The spans with such an id that lie in one."""
        inside = [each for part in span.get("spans", []) for each in self.all_of(part, kind)]
        return ([span] if kind in span else []) + inside

    def check_span(self, span):
        """Each has an end behind its beginning, and lies in its own."""
        self.assertLessEqual(span["start_time"], span["end_time"], span)
        for part in span["spans"]:
            self.assertLessEqual(span["start_time"], part["start_time"])
            self.assertLessEqual(part["end_time"], span["end_time"])
            self.check_span(part)

    def test_signals_are_there_before_they_wait(self):
        self.serve_flows()
        begun, = self.ask("answers", calls=[["CreateExecution", dict(
            WHERE, name="g", spec={"launch_plan": plan_id("flows.gates")})]])
        execution = begun["id"]

        def signal(name, **more):
            return ["GetOrCreateSignal", dict(more, id={"signal_id": name,
                                                        "execution_id": execution})]
        limit, ship = self.ask("answers", calls=[
            signal("limit", type={"simple": "INTEGER"}), signal("ship")])
        self.assertEqual(bare(limit), {
            "id": {"signal_id": "limit", "execution_id": bare(execution)},
            "type": {"simple": "INTEGER"}})
        self.assertEqual(bare(ship["type"]), {"simple": "BOOLEAN"})
        value = {"scalar": {"primitive": {"integer": "5"}}}
        set_it = ["SetSignal", {"id": limit["id"], "value": value}]
        yes = {"scalar": {"primitive": {"boolean": True}}}
        self.ask("answers", calls=[set_it, ["SetSignal", {"id": ship["id"], "value": yes}]])
        self.ask("get", name="g")
        limit, ship = self.ask("answers", calls=[signal("limit"), signal("ship")])
        self.assertEqual([bare(limit["value"]), bare(ship["value"])], [value, yes])
        self.assertEqual(self.ask("outcomes", calls=[
            signal("none"), signal("limit", type={"collection_type": {"simple": "INTEGER"}}),
            ["GetOrCreateSignal", {}]]),
            [["NOT_FOUND", "the execution has no signal 'none'"],
             ["INVALID_ARGUMENT", "the signal 'limit' has another type"],
             ["INVALID_ARGUMENT", "the request names no signal: id is empty"]])

    def test_events_change_nothing(self):
        self.serve_flows()
        self.ask("run", plan="flows.twice", name="done")
        self.ask("answers", calls=[["CreateExecution", dict(
            WHERE, name="waits", spec={"launch_plan": plan_id("flows.gates")})]])
        done, waits = dict(WHERE, name="done"), dict(WHERE, name="waits")
        node = {"node_id": "n0", "execution_id": done}
        task = {"parent_node_execution_id": node, "retry_attempt": 0}

        def events(kind, **event):
            return [f"Create{kind}Event", {"event": event}]
        over = ["FAILED_PRECONDITION", "'done' is over: it is succeeded"]
        none = ["INVALID_ARGUMENT", "the request has no event, or nothing it is of"]
        calls = [
            (events("Workflow", execution_id=done, phase="SUCCEEDED"),
             ["ALREADY_EXISTS", "it is SUCCEEDED already"]),
            (events("Workflow", execution_id=done, phase="FAILED"), over),
            (events("Workflow", execution_id=waits, phase="FAILED"),
             ["FAILED_PRECONDITION", "'waits' is run by this engine, which takes no events about "
              "it; this is RUNNING"]),
            (events("Node", id=node, phase="SUCCEEDED"),
             ["ALREADY_EXISTS", "it is SUCCEEDED already"]),
            (events("Node", id=node, phase="RUNNING"), over),
            (events("Task", phase="SUCCEEDED", **task),
             ["ALREADY_EXISTS", "it is SUCCEEDED already"]),
            (events("Task", phase="ABORTED", **task), over),
            (events("Task", phase="ABORTED", **dict(task, retry_attempt=7)),
             ["NOT_FOUND", "the node 'n0' has no attempt 7"]),
            (events("Workflow", execution_id=done, phase=99),
             ["INVALID_ARGUMENT", "phase 99 is none"]),
            (events("Workflow", execution_id=dict(WHERE, name="gone")),
             ["NOT_FOUND", "there is no execution 'gone' in project 'default', domain "
              "'development'"]),
            (["CreateWorkflowEvent", {}], none), (["CreateNodeEvent", {}], none),
            (["CreateTaskEvent", {}], none),
        ]
        self.assertEqual(self.ask("outcomes", calls=[call for call, _ in calls]),
                         [outcome for _, outcome in calls])
        self.assertEqual(self.ask("reasons", calls=[calls[1][0], calls[2][0]]), ["succeeded", ""])
        self.assertEqual(self.ask("get", name="done")["phase"], "SUCCEEDED")


if __name__ == "__main__":
    unittest.main()
