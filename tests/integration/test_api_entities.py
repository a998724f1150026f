#!/usr/bin/env python3
"""Flyte's entities at `troupe serve --http`: registered, read and listed by gRPC's own library, by
curl and, with TROUPE_TEST_LONG, by the unmodified flytekit; files that are uploaded; and what
`troupe` itself sees of all that.
"""

import base64
import concurrent.futures
import hashlib
import json
import os
import re
import socket
import subprocess
import unittest
from pathlib import Path

from program import LIMIT_S, ROOT, free_port, wait_until
from pypi import KIT, KIT_PYTHON, PYTHON, have_library
from test_api import ServedTest
from test_flyte_apply import REFERENCE
from test_flyte_packages import PackageTest

CALLS = ROOT / "tests/support/grpc_entities.py"

LOOK = {
    "task": ["double", ["sh", "-c", "true"], "Doubles."],
    "nodes": ["start-node", "end-node", "n0", "n1", "n2"],
    "tasks": ["double"],
    "main": [["a"], 0],
    "nightly": [[], 0],
    "required": True,
    "outputs": ["o0"],
}
SAME = "with identical structure already exists"
OTHER = "with different structure already exists. (Please register a new version of the"
AGAIN = [
    ["ALREADY_EXISTS", f"task {SAME}"],
    ["ALREADY_EXISTS", f"workflow {SAME}"],
    ["ALREADY_EXISTS", f"launch plan {SAME}"],
    ["INVALID_ARGUMENT", f"double task {OTHER} task):\n\t- container.args[2]: 'true' -> 'false'"],
    ["INVALID_ARGUMENT", f"main workflow {OTHER} workflow):\n"
     "\t- nodes[2].upstream_node_ids[1]: 'n1' -> nothing"],
    ["INVALID_ARGUMENT", f"nightly launch plan {OTHER} launch plan):\n"
     "\t- spec.entity_metadata.schedule.cron_schedule.schedule: '0 3 * * *' -> '0 4 * * *'\n"
     "\t- spec.fixed_inputs.literals[a].scalar.primitive.integer: 5 -> 6"],
]
MISSING = ('missing entity of type {} with identifier project:"flytesnacks" '
           'domain:"development" name:"{}" version:"{}"')
INVALID = "INVALID_ARGUMENT"
WRONG = {
    "no id": [INVALID, "missing id"],
    "no name": [INVALID, "missing name"],
    "no spec": [INVALID, "missing spec"],
    "long name": [INVALID, "name has more than 1024 bytes (TR_ENTITY_ID_BYTES_MAX)"],
    "no task": [INVALID, "w: w.n0: there is no task 'gone'; put it into the package, too "
                "[TaskReferenceNotFound]"],
    "no workflow": [INVALID, "p: p: there is no workflow 'gone'; name a workflow of this "
                    "definition [WorkflowReferenceNotFound]"],
    "type": [INVALID, "w: w.n0: '$start-node[\"a\"]' is int, and string is expected here; use a "
             "value of that type, or a task that makes one [MismatchingTypes]"],
    "cycle": [INVALID, "w: w.n0: the nodes wait for each other in a circle: n0 waits for n1 waits "
              "for n0; remove one of these references or after [CycleDetected]"],
    "no input": [INVALID, "p: p: the workflow 'main:v1' has no input 'b'; name one of its inputs "
                 "[VariableNameNotFound]"],
    "code": [INVALID, "its code '/etc/passwd' is no upload of this store; register it with a "
             "client that uploads the code here, such as pyflyte register"],
    "get": ["NOT_FOUND", MISSING.format("task", "double", "v9")],
    "get none": [INVALID, "missing id"],
    "active": ["NOT_FOUND",
               "No active launch plan could be found: flytesnacks:development:main"],
    "activate": ["NOT_FOUND", MISSING.format("launch plan", "gone", "v1")],
    "state": [INVALID, "unrecognized launch plan state 7"],
    "filter": [INVALID, "unrecognized filter key 'color': there are project, domain, name, "
               "version, created_at, updated_at and state"],
    "filters": [INVALID, "the filter 'eq(name)' is not written as eq(FIELD,VALUE)"],
    "sort": [INVALID, "invalid sort key 'color': there are name, version, created_at and "
             "updated_at"],
    "token": [INVALID, "the token 'x' is none of a list's; leave it empty for the first page"],
    "project": ["NOT_FOUND", "project [none] not found"],
    "digest": [INVALID, "content_md5 has 1 bytes, and an MD5 has 16"],
    "upload": [INVALID, "content_md5 or filename_root must be specified"],
}
ACTIVE, INACTIVE = 1, 0

TASKS = ["t0:v0", "t1:v1", "t2:v2", "t3:v0", "t4:v1", "t5:v2", "t6:v0"]
BY_VERSION = ["t5:v2", "t2:v2", "t4:v1", "t1:v1", "t6:v0", "t3:v0", "t0:v0"]

# A project of flytekit's; what is registered of it twice, and then with another body and input.
FLOWS = '''
from flytekit import CronSchedule, LaunchPlan, conditional, map_task, task, workflow

@task
def double(a: int) -> int:
    """Doubles a number."""
    return 2 * a

@task(retries=2)
def add(a: int, b: int = 3) -> int:
    return a + b

@task
def total(values: list[int]) -> int:
    return sum(values)

@workflow
def inner(a: int) -> int:
    return double(a=a)

@workflow
def main(a: int = 4) -> int:
    """The whole."""
    x = inner(a=a)
    y = double(a=x)
    first, second, third = double(a=x), double(a=x), add(a=x, b=y)
    first >> third
    second >> third
    return conditional("big").if_(third > 10).then(double(a=third)).else_().then(
        add(a=third, b=1))

@workflow
def mapped(values: list[int]) -> int:
    return total(values=map_task(double)(a=values))

nightly = LaunchPlan.get_or_create(main, "flows.graphs.nightly", default_inputs={"a": 9},
                                   schedule=CronSchedule(schedule="0 3 * * *"))
fixed = LaunchPlan.get_or_create(main, "flows.graphs.fixed", fixed_inputs={"a": 5})

@workflow
def launching() -> int:
    return fixed()
'''
REGISTERED = 14  # of it, the map task and the default launch plans included

REMOTE = '''
import json, sys
from flytekit.configuration import Config
from flytekit.models.common import NamedEntityIdentifier
from flytekit.remote import FlyteRemote
remote = FlyteRemote(Config.for_endpoint(sys.argv[1], insecure=True),
                     default_project="flytesnacks", default_domain="development")
client, place = remote.client, ("flytesnacks", "development")

def page_through(call, *arguments):
    found, token = [], ""
    while True:
        page, token = call(*arguments, limit=3, token=token)
        found += page
        if not token:
            return found

main = remote.fetch_workflow(name="flows.graphs.main", version="v1")
fixed = remote.fetch_launch_plan(name="flows.graphs.fixed", version="v1")
plan = remote.fetch_launch_plan(name="flows.graphs.main", version="v1")
remote.activate_launchplan(remote.fetch_launch_plan(name="flows.graphs.nightly").id)
print(json.dumps({
    "task": sorted(remote.fetch_task(name="flows.graphs.add", version="v1").interface.inputs),
    "nodes": [node.id for node in main.flyte_nodes],
    "inputs": sorted(main.interface.inputs),
    "plan": sorted(client.get_launch_plan(plan.id).closure.expected_inputs.parameters),
    "fixed": sorted(client.get_launch_plan(fixed.id).closure.expected_inputs.parameters),
    "launches": [node.id for node in remote.fetch_workflow(name="flows.graphs.launching",
                                                           version="v1").flyte_nodes],
    "latest": [remote.fetch_task(name="flows.graphs.double").id.version,
               remote.fetch_workflow(name="flows.graphs.main").id.version,
               remote.fetch_launch_plan(name="flows.graphs.main").id.version],
    "active": remote.fetch_active_launchplan(name="flows.graphs.nightly").id.version,
    "tasks": sorted(each.id.name for each in remote.list_tasks_by_version("v1")),
    "task ids": [each.name for each in page_through(client.list_task_ids_paginated, *place)],
    "workflows": sorted(f"{each.id.name}:{each.id.version}" for each in page_through(
        client.list_workflows_paginated, NamedEntityIdentifier(*place))),
    "plans": len(page_through(client.list_launch_plans_paginated, NamedEntityIdentifier(*place))),
    "projects": [each.id for each in client.list_projects_paginated()[0]],
}))
'''


class EntitiesTest(ServedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        have_library(PYTHON)

    def call(self, address, function, *arguments):
        done = subprocess.run([PYTHON, "-W", "ignore", CALLS, address, function,
                               json.dumps(arguments)], capture_output=True, text=True,
                              timeout=3 * LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def get(self, address, path):
        status, _, body = self.curl(address, f"/api/v1/{path}")
        return status, json.loads(body)


class RegistrationTest(EntitiesTest):
    def test_entities_are_registered_once(self):
        address, = self.serve()
        self.call(address, "register")
        self.assertEqual(self.call(address, "look"), LOOK)
        self.assertEqual(self.call(address, "again"), AGAIN)
        self.assertEqual(self.call(address, "look"), LOOK)
        self.assertEqual(self.call(address, "reasons"), [
            [6, True, True, "exists_identical_structure", "main"],
            [3, True, True, "exists_different_structure", "main"]])

    def test_what_is_wrong_is_told(self):
        address, = self.serve()
        self.call(address, "register")
        found = self.call(address, "wrong")
        self.assertEqual(set(found), set(WRONG))
        for name, outcome in found.items():
            with self.subTest(name=name):
                self.assertEqual(outcome, WRONG[name])

    def test_rest_gives_the_same(self):
        """Each path of the table is there, with a body and without one."""
        address, = self.serve()
        self.call(address, "register")
        place = "flytesnacks/development"
        status, task = self.get(address, f"tasks/{place}/double/v1")
        self.assertEqual((status, task["id"]["name"], task["short_description"]),
                         (200, "double", "Doubles."))
        template = task["closure"]["compiled_task"]["template"]
        template["container"]["args"][2] = "false"
        body = self.write("body", json.dumps({
            "id": {"project": "flytesnacks", "domain": "development", "name": "other",
                   "version": "v1"}, "spec": {"template": template}}))
        status, _, answer = self.curl(address, "/api/v1/tasks", "-d", f"@{body}")
        self.assertEqual((status, json.loads(answer)), (200, {}))
        status, _, answer = self.curl(address, "/api/v1/tasks", "-d", f"@{body}")
        self.assertEqual((status, json.loads(answer)["code"]), (409, 6))
        id = {"project": "flytesnacks", "domain": "development", "version": "v1"}
        flow = self.write("flow", json.dumps({
            "id": {**id, "name": "flow"}, "spec": {"template": {
                "interface": {"inputs": {"variables": {"a": {"type": {"simple": "INTEGER"}}}}},
                "nodes": [{"id": "n0", "metadata": {"name": "n0"},
                           "taskNode": {"referenceId": {**id, "name": "double"}},
                           "inputs": [{"var": "a", "binding": {"promise": {"var": "a"}}}]}]}}}))
        for expected in (200, 409):
            status, _, answer = self.curl(address, "/api/v1/workflows", "-d", f"@{flow}")
            self.assertEqual(status, expected, answer)
        detail, = json.loads(answer)["details"]
        self.assertEqual(detail["@type"],
                         "type.googleapis.com/flyteidl.admin.CreateWorkflowFailureReason")
        self.assertEqual(detail["exists_identical_structure"]["id"]["name"], "flow")
        lists = [(f"tasks/{place}?limit=1", "tasks", 1), (f"tasks/{place}/double", "tasks", 1),
                 (f"task_ids/{place}", "entities", 2), (f"workflows/{place}", "workflows", 2),
                 (f"workflows/{place}/main", "workflows", 1),
                 (f"workflow_ids/{place}", "entities", 2),
                 (f"launch_plans/{place}", "launch_plans", 2),
                 (f"launch_plans/{place}/nightly", "launch_plans", 1),
                 (f"launch_plan_ids/{place}", "entities", 2),
                 (f"active_launch_plans/{place}", "launch_plans", 0),
                 (f"named_entities/TASK/{place}", "entities", 2),
                 (f"description_entities/TASK/{place}", "descriptionEntities", 2),
                 (f"description_entities/TASK/{place}/double", "descriptionEntities", 1),
                 ("projects", "projects", 2), ("domains", "domains", 3)]
        for path, field, count in lists:
            with self.subTest(path=path):
                status, found = self.get(address, path)
                self.assertEqual((status, len(found[field])), (200, count), found)
        for path in (f"workflows/{place}/main/v1", f"launch_plans/{place}/nightly/v1",
                     f"named_entities/WORKFLOW/{place}/main", "projects/flytesnacks",
                     f"description_entities/TASK/{place}/double/v1"):
            with self.subTest(path=path):
                self.assertEqual(self.get(address, path)[0], 200)
        status, _, answer = self.curl(
            address, f"/api/v1/launch_plans/{place}/nightly/v1", "-X", "PUT", "-d",
            '{"state": "ACTIVE"}')
        self.assertEqual((status, json.loads(answer)), (200, {}))
        status, plan = self.get(address, f"active_launch_plans/{place}/nightly")
        self.assertEqual((status, plan["closure"]["state"]), (200, "ACTIVE"))
        self.assertEqual(self.get(address, f"tasks/{place}/gone/v1")[0], 404)

    def test_pages_hold_while_rows_are_added(self):
        address, = self.serve()
        found = self.call(address, "pages")
        self.assertEqual(found["created_at 0"], TASKS[::-1])
        self.assertEqual(found["created_at 1"], TASKS)
        self.assertEqual(found["name 1"], TASKS)
        self.assertEqual(found["version 0"], BY_VERSION)
        self.assertEqual(found["second"], TASKS[3:6])
        self.assertEqual(found["version"], ["t1:v1", "t4:v1"])
        self.assertEqual(found["among"], ["t1:v1"])
        self.assertEqual(len(found["latest"]), 1)
        self.assertTrue(found["latest"][0].startswith("new:version-0-"), found["latest"])
        names, said, active = self.call(address, "ids")
        self.assertEqual(names, ["new", *(f"t{number}" for number in range(7))])
        self.assertEqual(said, ["old", 1])
        self.assertEqual(active, ["t6", "t5", "t4", "t3", "t2", "t0", "new"])

    def test_a_task_is_a_workflow_of_its_own(self):
        address, = self.serve()
        nodes, tasks, outputs, workflow, inputs, gone, launches = self.call(address, "single")
        self.assertEqual(nodes, ["start-node", "end-node", "task-one"])
        self.assertEqual((tasks, outputs, inputs), (["some.module.task_one"], ["o0"], ["a"]))
        self.assertEqual(workflow, ".flytegen.some.module.task_one")
        self.assertEqual(gone, ["NOT_FOUND", MISSING.format("launch plan", ".flytegen.gone",
                                                            "v1")])
        self.assertEqual(launches, ["OK", ""])

    def test_projects(self):
        address, = self.serve()
        self.call(address, "named_task", "one")
        before, outcomes, after, archived, domains = self.call(address, "projects")
        self.assertEqual(before, ["default", "flytesnacks"])
        self.assertEqual(outcomes, [["OK", ""],
                                    ["ALREADY_EXISTS", "project [made] already exists"]])
        self.assertEqual(after, before)
        self.assertEqual(archived, ["Made"])
        self.assertEqual(domains, ["development", "staging", "production"])

    def schedules(self):
        return {row["plan"]: row["schedule"] for row in self.document("schedules")}

    def test_an_active_plan_is_armed(self):
        address, = self.serve()
        self.call(address, "register")
        self.call(address, "second_nightly")
        self.assertEqual(self.schedules(), {})
        self.assertEqual(self.call(address, "schedule", "nightly", "v1", ACTIVE),
                         ["v1", ["nightly"]])
        self.assertEqual(self.schedules(), {"nightly": "0 3 * * *"})
        self.assertEqual(self.call(address, "schedule", "nightly", "v2", ACTIVE),
                         ["v2", ["nightly"]])
        self.assertEqual(self.schedules(), {"nightly": "0 5 * * *"})
        # What is not active is not turned off by turning it off once more.
        self.assertEqual(self.call(address, "schedule", "nightly", "v1", INACTIVE),
                         ["v2", ["nightly"]])
        self.assertEqual(self.schedules(), {"nightly": "0 5 * * *"})
        self.assertEqual(self.call(address, "schedule", "main", "v1", ACTIVE),
                         ["v1", ["nightly", "main"]])
        self.assertEqual(self.call(address, "schedule", "nightly", "v2", INACTIVE),
                         [False, ["main"]])
        self.assertEqual(self.schedules(), {})

    def test_what_was_acknowledged_is_there(self):
        """The engine is killed while eight clients register, at any moment."""
        port, kept = free_port(), []
        for number in range(100 if os.environ.get("TROUPE_TEST_LONG") else 4):
            address, = self.serve("--http", port)
            client = subprocess.Popen(
                [PYTHON, "-W", "ignore", CALLS, address, "until_killed",
                 json.dumps([f"round{number}"])],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(client.stderr.readline(), "begun\n")
            self.serving.process.kill()
            self.serving.end()
            stdout, stderr = client.communicate(timeout=LIMIT_S)
            self.assertEqual(client.returncode, 0, stderr)
            codes, names = json.loads(stdout)
            self.assertEqual(codes, ["UNAVAILABLE"])
            kept += names
        address, = self.serve("--http", port)
        self.assertGreater(len(kept), 4)
        self.assertEqual(self.call(address, "are_there", kept), [])

    def put(self, url, path, *words):
        status, _, body = self.curl("", url, "-T", str(path), *words)
        return status, json.loads(body)["message"] if body else ""

    def test_uploads_are_what_their_urls_say(self):
        address, = self.serve()
        content = os.urandom(3 << 20)
        path = self.folder / "file"
        path.write_bytes(content)
        other = self.write("other", "other")
        digest = hashlib.md5(content).digest()
        begin = self.call(address, "location", digest.hex(), {"filename": "a b/../c.tar.gz"})
        url, native, expires = begin
        self.assertTrue(url.startswith(f"http://{address}/uploads/flytesnacks/development/"))
        folder = hashlib.sha256(b"flytesnacks\ndevelopment\n\n" + digest).hexdigest()
        self.assertEqual(native, f"{self.store.resolve()}/uploads/flytesnacks/development/"
                         f"{folder}/a_b_.._c.tar.gz")
        self.assertEqual(self.put(url, other),
                         (400, "what came is not what the URL is for: its MD5 is another"))
        self.assertEqual(self.put(url, path, "-H", "content-md5: AAAAAAAAAAAAAAAAAAAAAA=="),
                         (400, "Content-MD5 is not that of the URL's upload"))
        refused = (403, "this URL was not signed by this store, or was changed; ask for one by "
                   "CreateUploadLocation")
        for changed in (url.replace("c.tar.gz", "d.tar.gz"), url[:-1] + "x",
                        re.sub(r"md5=\w+&", "", url),
                        url.replace(f"expires={expires}", f"expires={expires + 1}")):
            self.assertEqual(self.put(changed, path), refused)
        self.assertFalse(os.path.exists(native))
        header = base64.b64encode(digest).decode()
        for version in ("--http1.1", "--http2-prior-knowledge", "--http1.1"):
            self.assertEqual(self.put(url, path, version, "-H", f"content-md5: {header}"),
                             (200, ""))
            self.assertEqual(Path(native).read_bytes(), content)
        # Without a digest the first one who comes is the one.
        url, native, _ = self.call(address, "location", "", {"filename_root": "r",
                                                             "filename": "f"})
        self.assertEqual(self.put(url, path), (200, ""))
        self.assertEqual(self.put(url, other), (409, "something else was uploaded there already; "
                                                "ask for a new URL"))
        self.assertEqual(Path(native).read_bytes(), content)
        # What was refused goes behind its answer.
        wait_until(lambda: not [name for name in os.listdir(self.store / "uploads")
                                if name.startswith(".")], "nothing is left of refused uploads")
        self.stop()
        # The key is the store's, and outlives the engine.
        address, = self.serve("--http", address.rpartition(":")[2])
        self.assertEqual(self.put(begin[0], path), (200, ""))

    def test_many_uploads_and_some_that_break_off(self):
        """Each is what it should be, and nothing is left of those whose client has gone."""
        address, = self.serve()
        host, port = address.split(":")
        contents = [os.urandom(1 << 20) for _ in range(8)]
        places = [self.call(address, "location", hashlib.md5(content).hexdigest(),
                            {"filename": f"f{number}"})
                  for number, content in enumerate(contents)]

        def break_off(number):
            url = places[number][0]
            with socket.create_connection((host, int(port))) as client:
                client.sendall(f"PUT {url[url.index('/uploads/'):]} HTTP/1.1\r\nHost: localhost\r\n"
                               f"Content-Length: {1 << 20}\r\n\r\n".encode() +
                               contents[number][:(number + 1) * 100000])

        def put(number):
            path = self.folder / f"content{number}"
            path.write_bytes(contents[number])
            break_off(number)
            return self.put(places[number][0], path)
        with concurrent.futures.ThreadPoolExecutor(len(contents)) as pool:
            done = list(pool.map(put, range(len(contents))))
        self.assertEqual(done, len(contents) * [(200, "")])
        for content, (_, native, _) in zip(contents, places):
            self.assertEqual(Path(native).read_bytes(), content)
        wait_until(lambda: not [name for name in os.listdir(self.store / "uploads")
                                if name.startswith(".")], "nothing is left of what broke off")

    def test_a_url_expires(self):
        address, = self.serve()
        path = self.write("file", "x")
        url, _, _ = self.call(address, "location", hashlib.md5(b"x").hexdigest(),
                                         {"expires_in": {"nanos": 1}})
        words = "this URL has expired; ask for a new one by CreateUploadLocation"
        wait_until(lambda: self.put(url, path) == (403, words), "the URL expires")


class SharedTest(EntitiesTest, PackageTest):
    """What `troupe` itself sees."""

    @classmethod
    def setUpClass(cls):
        EntitiesTest.setUpClass()
        PackageTest.setUpClass()

    def test_packages_and_clients_share_entities(self):
        self.package("""
task("applied.double", "i['a'] * 2", {"a": INTEGER})
workflow("applied.twice", {"a": INTEGER}, [node("n0", "applied.double", a=promise("", "a"))],
         {"o0": promise("n0")})
""")
        address, = self.serve()
        self.troupe("apply", "flows.tgz", "--version", "v1", "--project", "flytesnacks")
        self.assertEqual(self.call(address, "has_task", "applied.double"), ["OK", ""])
        status, found = self.get(address, "workflows/flytesnacks/development/applied.twice/v1")
        self.assertEqual((status, len(found["closure"]["compiled_workflow"]["tasks"])), (200, 1))
        # And the other way round: a package refers to what was registered.
        self.call(address, "register")
        self.package(REFERENCE.replace('"default"', '"flytesnacks"') + """
workflow("user.main", {"a": INTEGER}, [
    reference("n0", "main", identifier_pb2.WORKFLOW, a=promise("", "a")),
    reference("n1", "applied.double", a=promise("", "a"))], {"o0": promise("n1")})
""")
        stdout, _ = self.troupe("inspect", "flows.tgz", "user.main", "--project", "flytesnacks")
        self.assertIn("main:v1", stdout)
        self.assertIn("applied.double:v1", stdout)


RUNS = """
from flytekit import map_task, task, workflow


@task
def to_list(size: int) -> list[int]:
    return list(range(size))


@task
def square(number: int) -> int:
    return number * number


@task
def total(values: list[int]) -> int:
    if not values:
        raise ValueError("nothing is to be added")
    return sum(values)


@workflow
def map_reduce(size: int = 10) -> int:
    return total(values=map_task(square)(number=to_list(size=size)))
"""


# Local files as inputs, and somebody who is asked.
MORE = """
import os
from datetime import timedelta

import pandas
from flytekit import approve, task, wait_for_input, workflow
from flytekit.types.file import FlyteFile


@task
def count(file: FlyteFile, table: pandas.DataFrame) -> str:
    return f"{open(file).read()} {table['a'].sum()} {os.environ.get('GIVEN', '')}"


@workflow
def reading(file: FlyteFile, table: pandas.DataFrame) -> str:
    return count(file=file, table=table)


@task
def double(a: int) -> int:
    return 2 * a


@workflow
def asking() -> int:
    more = wait_for_input("more", timeout=timedelta(hours=1), expected_type=int)
    return double(a=approve(more, "fine", timeout=timedelta(hours=1)))
"""

# What FlyteRemote does with a script that it registers itself.
MORE_REMOTE = """
import json, pathlib, sys, time
from flytekit.configuration import Config
from flytekit.remote import FlyteRemote
from flows.more import asking
remote = FlyteRemote(Config.for_endpoint(sys.argv[1], insecure=True),
                     default_project="flytesnacks", default_domain="development")
flow = remote.register_script(asking, version="script", source_path=str(pathlib.Path.cwd()),
                              module_name="flows.more")

def ask(answer):
    execution = remote.execute(flow, inputs={})
    name = execution.id.name
    for signal, say in (("more", lambda: remote.set_input("more", name, 5, python_type=int)),
                        ("fine", lambda: answer("fine", name))):
        while signal not in [each.id.signal_id for each in remote.list_signals(name)]:
            time.sleep(0.1)
        say()
    return remote.wait(execution, poll_interval=1)

done, refused, stopped = ask(remote.approve), ask(remote.reject), remote.execute(flow, inputs={})
remote.terminate(stopped, "not needed")
uri = f"flyte://v1/flytesnacks/development/{done.id.name}/n2/o"
path = pathlib.Path("uploaded")
path.write_text("it")
print(json.dumps({
    "version": flow.id.version, "done": done.outputs["o0"], "refused": refused.error.message,
    "stopped": remote.wait(stopped, poll_interval=1).closure.abort_metadata.cause,
    "all": remote.get(uri).get("o0", int), "one": remote.get(uri + "/o0").scalar.primitive.integer,
    "uploaded": pathlib.Path(remote.upload_file(path)[1]).read_text()}))
"""


@unittest.skipUnless(os.environ.get("TROUPE_TEST_LONG"), "installs flytekit")
class KitTest(EntitiesTest, PackageTest):
    """The unmodified flytekit."""

    @classmethod
    def setUpClass(cls):
        EntitiesTest.setUpClass()
        PackageTest.setUpClass()
        have_library(KIT_PYTHON, KIT, "pandas", "pyarrow")

    def environment(self):
        return {**super().environment(), "PATH": f"{KIT_PYTHON.parent}:{os.environ['PATH']}"}

    def pyflyte(self, *words, status=0):
        done = subprocess.run(
            [KIT_PYTHON.parent / "pyflyte", "-c", "../config.yaml", *words],
            cwd=self.folder / "project", capture_output=True, text=True, timeout=6 * LIMIT_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def register(self, version, status=0):
        return self.pyflyte("register", "-p", "flytesnacks", "-d", "development", "--version",
                            version, "flows", status=status)

    def test_flytekit_registers_a_project(self):
        address, = self.serve()
        self.write("config.yaml", f"admin:\n  endpoint: dns:///{address}\n  insecure: true\n")
        (self.folder / "project/flows").mkdir(parents=True)
        self.write("project/flows/__init__.py", "")
        self.write("project/flows/graphs.py", FLOWS)
        for _ in range(2):
            self.assertIn(f"Successfully registered {REGISTERED} entities", self.register("v1"))
        self.assertEqual(len(list((self.store / "code").glob("[0-9a-f]*"))), 1)
        self.write("project/flows/graphs.py", FLOWS.replace("b: int = 3", "b: int = 3, c: int = 1"))
        refused = self.register("v1", status=1)
        self.assertIn("task with different structure already exists. (Please register a new "
                      "version of the task)", refused)
        self.assertIn("container.args[2]: '", refused)
        self.register("v2")
        script = self.write("remote.py", REMOTE)
        done = subprocess.run([KIT_PYTHON, "-W", "ignore", script, address], capture_output=True,
                              text=True, timeout=6 * LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(found["task"], ["a", "b"])
        self.assertEqual(found["nodes"], ["n0", "n1", "n2", "n3", "n4", "n5", "n5-n0", "n5-n1"])
        self.assertEqual((found["inputs"], found["plan"], found["fixed"]), (["a"], ["a"], []))
        self.assertEqual(found["launches"], ["n0"])
        self.assertEqual(found["latest"], ["v2", "v2", "v2"])
        self.assertEqual(found["active"], "v2")
        self.assertEqual([name for name in found["tasks"] if "map_" not in name],
                         ["flows.graphs.add", "flows.graphs.double", "flows.graphs.total"])
        self.assertEqual(len(found["tasks"]), 4)
        self.assertEqual(found["task ids"], sorted(set(found["task ids"])))
        self.assertEqual(found["workflows"], [f"flows.graphs.{name}:v{number}" for name in (
            "inner", "launching", "main", "mapped") for number in (1, 2)])
        self.assertEqual(found["plans"], 12)
        self.assertEqual(found["projects"], ["default", "flytesnacks"])
        self.assertEqual([row["plan"] for row in self.document("schedules")],
                         ["flows.graphs.nightly"])
        # And they run, with the code that was uploaded.
        self.package(REFERENCE.replace('"default"', '"flytesnacks"') + """
workflow("user.main", {"a": INTEGER}, [
    reference("n0", "flows.graphs.double", a=promise("", "a")),
    reference("n1", "flows.graphs.main", identifier_pb2.WORKFLOW, "v2", a=promise("n0"))],
         {"o0": promise("n0"), "o1": promise("n1")})
""")
        done = self.document("run", "flows.tgz", "user.main", "-i", "a=2", "--project",
                             "flytesnacks")
        self.assertEqual(done["outputs"], {"o0": 4, "o1": 48})

    def test_flytekit_runs_and_waits(self):
        """As the page has it: one command registers, begins, and stays until the end."""
        address, = self.serve()
        self.write("config.yaml", f"admin:\n  endpoint: dns:///{address}\n  insecure: true\n")
        (self.folder / "project/flows").mkdir(parents=True)
        self.write("project/flows/__init__.py", "")
        self.write("project/flows/graphs.py", RUNS)
        words = ("run", "--remote", "--wait", "--poll-interval", "1", "-p", "flytesnacks", "-d",
                 "development", "flows/graphs.py", "map_reduce", "--size")
        self.assertIn("has succeeded", self.pyflyte(*words, "5"))
        done = self.document("get", "@last")
        self.assertEqual((done["phase"], done["inputs"]["size"], done["outputs"]["o0"]),
                         ("succeeded", 5, 30))
        self.assertIn("nothing is to be added", self.pyflyte(*words, "0", status=255))
        self.assertEqual(self.document("get", "@last")["phase"], "failed")

    def test_flytekit_gives_files_and_answers(self):
        """Files and tables of this machine as inputs, labels and variables; and by FlyteRemote a
        script that asks somebody."""
        address, = self.serve()
        self.write("config.yaml", f"admin:\n  endpoint: dns:///{address}\n  insecure: true\n")
        (self.folder / "project/flows").mkdir(parents=True)
        self.write("project/flows/__init__.py", "")
        self.write("project/flows/more.py", MORE)
        self.write("project/words.txt", "said")
        subprocess.run([KIT_PYTHON, "-c", "import pandas; pandas.DataFrame({'a': [1, 2, 39]})"
                        ".to_parquet('table.parquet')"], cwd=self.folder / "project", check=True)
        said = self.pyflyte(
            "run", "--remote", "--wait", "--poll-interval", "1", "-p", "flytesnacks", "-d",
            "development", "--labels", "team=data", "--env", "GIVEN=here", "flows/more.py",
            "reading", "--file", "words.txt", "--table", "table.parquet")
        self.assertIn("has succeeded", said)
        done = self.document("get", "@last")
        self.assertEqual(done["outputs"], {"o0": "said 42 here"})
        self.assertEqual(done["labels"], {"team": "data"})
        script = self.write("project/remote.py", MORE_REMOTE)
        asked = subprocess.run([KIT_PYTHON, "-W", "ignore", script, address], capture_output=True,
                               cwd=self.folder / "project", text=True, timeout=6 * LIMIT_S,
                               env=self.environment() | {"PYTHONPATH": "."})
        self.assertEqual(asked.returncode, 0, asked.stderr)
        found = json.loads(asked.stdout.splitlines()[-1])
        self.assertIn("rejected", found.pop("refused"))
        self.assertEqual(found, {"version": "script", "done": 10, "stopped": "not needed",
                                 "all": 10, "one": 10, "uploaded": "it"})


if __name__ == "__main__":
    unittest.main()
