#!/usr/bin/env python3
"""The calls that flytectl makes, by grpc-go: each ends with the code that it expects, and what is
read has the same answer as by gRPC's library in Python. A flytectl on the path is asked itself.
"""

import base64
import hashlib
import shutil
import subprocess
import unittest
import urllib.request

from flyte_clients import ClientTest
from go_client import Client, build
from program import wait_until
from test_api_executions import DECIDES, FLOWS, WHERE, bare, plan_id

FLYTECTL = shutil.which("flytectl")
PAGE = {"limit": 100, "sort_by": {"key": "created_at"}}
CONTENT = b"what a package holds"


def id_of(kind, name):
    return dict(WHERE, resource_type=kind, name=name, version="v1")


def run_id(name):
    return {"id": dict(WHERE, name=name)}


def created(name, plan):
    """As flytectl begins one: the principal is always the same."""
    return dict(WHERE, name=name, spec={
        "launch_plan": plan_id(plan), "metadata": {"principal": "sdk", "mode": "MANUAL"}})


def attributes(**place):
    return dict(place, matching_attributes={
        "cluster_resource_attributes": {"attributes": {"a": "b"}}})


TEMPLATE = {"type": "python-task", "container": {"image": "none", "args": ["true"]},
            "interface": {"inputs": {}, "outputs": {}}}
FLOW = {"interface": {"inputs": {}, "outputs": {}}, "nodes": [
    {"id": "n0", "metadata": {"name": "n0"},
     "task_node": {"reference_id": id_of("TASK", "go.task")}}]}
LISTED = {"Task": "TASK", "Workflow": "WORKFLOW", "LaunchPlan": "LAUNCH_PLAN"}
OF_PROJECT = {"project": "p", "resource_type": "CLUSTER_RESOURCE"}
OF_DOMAIN = dict(OF_PROJECT, domain="development")
OF_WORKFLOW = dict(OF_DOMAIN, workflow="w")

# What changes something, in its order: the call, its request, and its code.
CHANGES = [
    ("CreateTask", {"id": id_of("TASK", "go.task"), "spec": {"template": TEMPLATE}}, "OK"),
    ("CreateTask", {"id": id_of("TASK", "go.task"), "spec": {"template": TEMPLATE}},
     "AlreadyExists"),
    ("CreateWorkflow", {"id": id_of("WORKFLOW", "go.flow"), "spec": {"template": FLOW}}, "OK"),
    ("CreateLaunchPlan", {"id": id_of("LAUNCH_PLAN", "go.flow"), "spec": {
        "workflow_id": id_of("WORKFLOW", "go.flow")}}, "OK"),
    ("UpdateLaunchPlan", {"id": id_of("LAUNCH_PLAN", "go.flow"), "state": "ACTIVE"}, "OK"),
    ("UpdateNamedEntity", {"resource_type": "WORKFLOW", "id": dict(WHERE, name="go.flow"),
                           "metadata": {"description": "By Go."}}, "OK"),
    ("RegisterProject", {"project": {"id": "gone", "name": "By Go"}}, "OK"),
    ("UpdateProject", {"id": "gone", "name": "By Go", "state": "ARCHIVED"}, "OK"),
    ("CreateExecution", created("first", "flows.twice"), "OK"),
    ("CreateExecution", created("first", "flows.twice"), "AlreadyExists"),
    ("CreateExecution", created("gates", "flows.gates"), "OK"),
    ("CreateExecution", created("bad name", "flows.gates"), "InvalidArgument"),
    ("CreateExecution", created("none", "flows.gone"), "NotFound"),
    ("TerminateExecution", run_id("gates"), "OK"),
    ("RelaunchExecution", dict(run_id("first"), name="again"), "OK"),
    ("RecoverExecution", dict(run_id("gates"), name="recovered"), "OK"),
    ("TerminateExecution", run_id("recovered"), "OK"),
    ("UpdateExecution", dict(run_id("first"), state="EXECUTION_ARCHIVED"), "OK"),
    ("GetExecution", run_id("gone"), "NotFound"),
    ("UpdateProjectAttributes", {"attributes": attributes(project="p")}, "OK"),
    ("UpdateProjectDomainAttributes",
     {"attributes": attributes(project="p", domain="development")}, "OK"),
    ("UpdateWorkflowAttributes",
     {"attributes": attributes(project="p", domain="development", workflow="w")}, "OK"),
]

# What is read: the call and its request.
READS = [
    ("GetVersion", {}), ("GetDomains", {}), ("ListProjects", {"limit": 100}),
    ("GetProject", {"id": "gone"}),
    ("GetOAuth2Metadata", {}), ("GetPublicClientConfig", {}), ("UserInfo", {}),
    ("GetTask", {"id": id_of("TASK", "go.task")}),
    ("GetWorkflow", {"id": id_of("WORKFLOW", "flows.main")}),
    ("GetLaunchPlan", {"id": id_of("LAUNCH_PLAN", "flows.five")}),
    ("GetActiveLaunchPlan", {"id": dict(WHERE, name="go.flow")}),
    ("ListActiveLaunchPlans", dict(WHERE, **PAGE)),
    *((f"List{kind}s", dict(PAGE, id=WHERE)) for kind in LISTED),
    *((f"List{kind}s", dict(PAGE, id=dict(WHERE, name="flows.main"))) for kind in LISTED),
    *((f"List{kind}Ids", dict(WHERE, limit=100)) for kind in LISTED),
    ("ListNamedEntities", dict(WHERE, resource_type="WORKFLOW", limit=100)),
    ("GetNamedEntity", {"resource_type": "WORKFLOW", "id": dict(WHERE, name="go.flow")}),
    ("ListExecutions", dict(PAGE, id=WHERE)),
    ("ListExecutions", dict(PAGE, id=WHERE, filters="value_in(phase,SUCCEEDED;ABORTED)+"
                                                    "ne(state,1)")),
    ("GetExecution", run_id("first")), ("GetExecutionData", run_id("first")),
    ("ListNodeExecutions", dict(PAGE, workflow_execution_id=dict(WHERE, name="first"))),
    *((call, request) for node in ("start-node", "n0", "end-node") for call, request in (
        ("GetNodeExecutionData", {"id": {"node_id": node,
                                         "execution_id": dict(WHERE, name="first")}}),
        ("ListTaskExecutions", dict(PAGE, node_execution_id={
            "node_id": node, "execution_id": dict(WHERE, name="first")})))),
    ("GetProjectAttributes", OF_PROJECT), ("GetProjectDomainAttributes", OF_DOMAIN),
    ("GetWorkflowAttributes", OF_WORKFLOW),
    ("ListMatchableAttributes", {"resource_type": "CLUSTER_RESOURCE"}),
]

ENDS = [("DeleteProjectAttributes", OF_PROJECT), ("DeleteProjectDomainAttributes", OF_DOMAIN),
        ("DeleteWorkflowAttributes", OF_WORKFLOW)]


class GoTest(ClientTest):
    def setUp(self):
        super().setUp()
        build()
        self.write("decide.py", DECIDES)
        self.package(FLOWS.replace("@DECIDE@", str(self.folder / "decide.py")))
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()
        self.client = Client(self.address)
        self.addCleanup(self.client.stop)
        names = {name for name, *_ in CHANGES + READS + ENDS} | {"CreateUploadLocation"}
        self.types = self.ask("types", methods=sorted(names))

    def go(self, method, request):
        return self.client.call(method, self.types[method], request)

    def test_what_flytectl_calls(self):
        for method, request, code in CHANGES:
            found = self.go(method, request)
            self.assertEqual(found["code"], code, (method, request, found))
            if request.get("name") in ("first", "again", "recovered"):
                wait_until(lambda: self.is_settled(request["name"]), "it ends or waits")
        self.check_upload()
        expected = self.ask("answers", calls=READS)
        for (method, request), answer in zip(READS, expected):
            found = self.go(method, request)
            self.assertEqual((found["code"], found["words"]), ("OK", ""), (method, request))
            self.assertEqual(bare(found["response"]), bare(answer), (method, request))
        for method, request in ENDS:
            self.assertEqual(self.go(method, request)["code"], "OK", method)
            self.assertEqual(self.go(method.replace("Delete", "Get"), request)["code"],
                             "NotFound", method)

    def is_settled(self, name):
        phase = self.go("GetExecution", run_id(name))["response"]["closure"]["phase"]
        return phase == "SUCCEEDED" or name == "recovered"

    def check_upload(self):
        """flytectl does not send back the headers that it is told."""
        digest = hashlib.md5(CONTENT).digest()
        found = self.go("CreateUploadLocation", {
            "project": "default", "domain": "development", "filename": "package.tgz",
            "content_md5": base64.b64encode(digest).decode()})
        url = found["response"]["signed_url"]
        with urllib.request.urlopen(urllib.request.Request(url, CONTENT, method="PUT")) as answer:
            self.assertEqual(answer.status, 200)
        with open(found["response"]["native_url"], "rb") as file:
            self.assertEqual(file.read(), CONTENT)

    @unittest.skipUnless(FLYTECTL, "there is no flytectl on the path")
    def test_flytectl(self):
        self.write("config.yaml",
                   f"admin: {{endpoint: 'dns:///{self.address}', insecure: true}}\n")
        self.ask("run", plan="flows.twice", name="first")
        for words in (("get", "execution", "first", "--details"), ("get", "workflow"),
                      ("get", "launchplan"), ("get", "project")):
            done = subprocess.run([FLYTECTL, "--config", "config.yaml", "-p", "default", "-d",
                                   "development", *words], cwd=self.folder, text=True,
                                  capture_output=True)
            self.assertEqual(done.returncode, 0, (words, done.stderr))


if __name__ == "__main__":
    unittest.main()
