"""What integration/test_api_custody.py asks with gRPC's own library, in a Python that has it:
clients that go on whatever happens to the engine, and what they were told.

    python grpc_custody.py ADDRESS FUNCTION [JSON]

Every change has a name that tells what it was, so that it can be looked for, and asked for again
where no answer came.
"""

import hashlib
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request

import grpc
from flyteidl.admin import common_pb2, execution_pb2, signal_pb2, task_execution_pb2, task_pb2
from flyteidl.core import identifier_pb2, workflow_pb2 as core_workflow
from flyteidl.service import admin_pb2_grpc, dataproxy_pb2, dataproxy_pb2_grpc, signal_pb2_grpc
from google.protobuf import duration_pb2

from grpc_calls import open_channel
from grpc_entities import (DOMAIN, INTEGER, PROJECT, Client, id_of, literal, node, plan_spec,
                           task_spec, workflow_spec)

AGAIN_S = 0.02
LIMIT_S = 120
UPLOAD_BYTES = 300000
SUCCEEDED, ABORTED = 4, 7
ENDS = (SUCCEEDED, 6, ABORTED, 8)
# What a client tries again, as it does not know what came of it.
LOST = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED)


def execution_id(name):
    return identifier_pb2.WorkflowExecutionIdentifier(project=PROJECT, domain=DOMAIN, name=name)


def echo_spec():
    """A task of the plugin that does nothing."""
    spec = task_spec()
    spec.template.type = "echo"
    spec.template.ClearField("container")
    return spec


def gate(id):
    made = core_workflow.Node(id=id, metadata=core_workflow.NodeMetadata(name=id))
    made.gate_node.signal.signal_id = id
    made.gate_node.signal.type.CopyFrom(INTEGER)
    made.gate_node.signal.output_variable_name = "o0"
    return made


class Customer(Client):
    """One client with a channel of its own, which asks until it knows what came of it."""

    def __init__(self, address):
        self.channel = open_channel(address)
        super().__init__(self.channel)
        self.signals = signal_pb2_grpc.SignalServiceStub(self.channel)

    def insist(self, call, done=()):
        """Calls until there is an answer. One of the codes in `done` is one when it comes to a
        repetition: then an earlier call did what was asked, and its answer was lost."""
        end, is_again = time.monotonic() + LIMIT_S, False
        while True:
            try:
                return call()
            except grpc.RpcError as error:
                if is_again and error.code().name in done:
                    return None
                if error.code() not in LOST or time.monotonic() > end:
                    raise
            is_again = True
            time.sleep(AGAIN_S)

    def create(self, plan, name="", **inputs):
        request = execution_pb2.ExecutionCreateRequest(
            project=PROJECT, domain=DOMAIN, name=name, spec={"launch_plan": id_of("plan", plan)})
        for key, value in inputs.items():
            request.inputs.literals[key].CopyFrom(literal(value))
        return self.admin.CreateExecution(request)

    def execution(self, name):
        return self.admin.GetExecution(
            execution_pb2.WorkflowExecutionGetRequest(id=execution_id(name)))

    def outputs(self, name):
        data = self.admin.GetExecutionData(
            execution_pb2.WorkflowExecutionGetDataRequest(id=execution_id(name)))
        return {key: value.scalar.primitive.integer
                for key, value in data.full_outputs.literals.items()}

    def prepare(self):
        self.admin.CreateTask(task_pb2.TaskCreateRequest(id=id_of("task", "same"),
                                                         spec=echo_spec()))
        self.workflow("echo", workflow_spec([node("n0", "same")], "n0"))
        self.plan("echo", plan_spec("echo"))
        gated = workflow_spec([gate("answer")], "answer")
        gated.template.interface.inputs.Clear()
        self.workflow("gated", gated)
        self.plan("gated", plan_spec("gated"))

    # ---- What is changed: a function for each kind, and the number that makes its name.

    def register(self, number):
        """A task, a workflow of it, and its plan: what pyflyte does with a file."""
        name, done = f"r{number}", ("ALREADY_EXISTS",)
        self.insist(lambda: self.task(f"{name}.task"), done)
        self.insist(lambda: self.workflow(name, workflow_spec([node("n0", f"{name}.task")], "n0")),
                    done)
        self.insist(lambda: self.plan(name, plan_spec(name)), done)
        return name

    def upload(self, number):
        content = content_of(number)
        request = dataproxy_pb2.CreateUploadLocationRequest(
            project=PROJECT, domain=DOMAIN, filename=f"u{number}",
            content_md5=hashlib.md5(content).digest(),
            expires_in=duration_pb2.Duration(seconds=600))
        end = time.monotonic() + LIMIT_S
        while True:
            location = self.insist(lambda: self.proxy.CreateUploadLocation(request))
            try:
                with urllib.request.urlopen(urllib.request.Request(
                        location.signed_url, data=content, method="PUT")) as answer:
                    assert answer.status == 200, answer.status
                return location.native_url
            except (urllib.error.URLError, ConnectionError) as error:
                if isinstance(error, urllib.error.HTTPError) and error.code != 503:
                    raise
                assert time.monotonic() < end, error
            time.sleep(AGAIN_S)

    def begin(self, number):
        self.insist(lambda: self.create("echo", f"e{number}", a=number), ("ALREADY_EXISTS",))
        return f"e{number}"

    def terminate(self, number):
        name = f"t{number}"
        self.insist(lambda: self.create("gated", name), ("ALREADY_EXISTS",))
        self.insist(lambda: self.admin.TerminateExecution(
            execution_pb2.ExecutionTerminateRequest(id=execution_id(name), cause=f"by {name}")),
            ("FAILED_PRECONDITION",))
        return name

    def signal(self, number):
        name = f"s{number}"
        self.insist(lambda: self.create("gated", name), ("ALREADY_EXISTS",))
        request = signal_pb2.SignalSetRequest(
            id={"signal_id": "answer", "execution_id": execution_id(name)}, value=literal(number))
        end = time.monotonic() + LIMIT_S
        while True:
            try:
                self.insist(lambda: self.signals.SetSignal(request),
                            ("FAILED_PRECONDITION", "ALREADY_EXISTS"))
                return name
            except grpc.RpcError as error:  # the gate has not begun yet
                assert error.code().name == "NOT_FOUND" and time.monotonic() < end, error
            time.sleep(AGAIN_S)


def content_of(number):
    return hashlib.sha256(str(number).encode()).digest() * (UPLOAD_BYTES // 32)


KINDS = ("register", "upload", "begin", "terminate", "signal")


def prepare(address):
    Customer(address).prepare()


def go_on(address):
    """Changes of every kind, each by a client of its own, until stdin ends; a line for each that
    was acknowledged: its kind, its number, and where it is."""
    ended, lock, wrong = threading.Event(), threading.Lock(), []
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()

    def change(kind):
        customer, number = Customer(address), 0
        try:
            while not ended.is_set():
                found = getattr(customer, kind)(number)
                with lock:
                    print(kind, number, found, flush=True)
                number += 1
        except Exception as error:
            wrong.append(f"{kind} {number}: {error!r}")
            print("wrong", kind, number, flush=True)
    changing = [threading.Thread(target=change, args=(kind,)) for kind in KINDS]
    for thread in changing:
        thread.start()
    for thread in changing:
        thread.join()
    print("end", flush=True)
    return wrong


# ------------------------------------------------------------------------------ what is there


def wait_for_end(customer, name):
    end = time.monotonic() + LIMIT_S
    while True:
        closure = customer.execution(name).closure
        if closure.phase in ENDS:
            return closure
        assert time.monotonic() < end, f"{name} does not end"
        time.sleep(AGAIN_S)


def look(customer, kind, number, found):
    """None, or what is wrong with something that was acknowledged."""
    if kind == "register":
        for each, name in (("task", f"{found}.task"), ("workflow", found), ("plan", found)):
            assert customer.get(each, name).id.name == name
    elif kind == "upload":
        with open(found, "rb") as file:
            assert file.read() == content_of(number), "other content"
    elif kind == "begin":
        closure = wait_for_end(customer, found)
        assert (closure.phase, customer.outputs(found)) == (SUCCEEDED, {"o0": number}), closure
        tasks = customer.admin.ListTaskExecutions(task_execution_pb2.TaskExecutionListRequest(
            node_execution_id={"node_id": "n0", "execution_id": execution_id(found)}, limit=10))
        assert len(tasks.task_executions) == 1, "more than one attempt"
    elif kind == "terminate":
        closure = wait_for_end(customer, found)
        assert (closure.phase, closure.abort_metadata.cause) == (ABORTED, f"by {found}"), closure
    else:
        closure = wait_for_end(customer, found)
        assert (closure.phase, customer.outputs(found)) == (SUCCEEDED, {"o0": number}), closure


def look_at(address, path):
    """What is wrong with what was acknowledged, of which there is a file."""
    customer, wrong = Customer(address), []
    with open(path, encoding="utf-8") as file:
        changes = json.load(file)
    for kind, number, found in changes:
        try:
            look(customer, kind, number, found)
        except (AssertionError, OSError, grpc.RpcError) as error:
            wrong.append(f"{kind} {number} {found}: {error!r}")
    return wrong


# ------------------------------------------------------------------------------ many at once


def pages(customer, **more):
    """All executions, page by page."""
    token, rows = "", []
    while True:
        page = customer.admin.ListExecutions(common_pb2.ResourceListRequest(
            id={"project": PROJECT, "domain": DOMAIN}, limit=100, token=token,
            sort_by={"key": "created_at", "direction": "ASCENDING"}, **more))
        rows += page.executions
        token = page.token
        if not token:
            return rows


class Follower(threading.Thread):
    """Follows all executions until it has seen so many succeed; what it sees has to make sense."""

    def __init__(self, address, count):
        super().__init__()
        self.customer, self.count = Customer(address), count
        self.phases, self.wrong, self.looks = {}, [], 0

    def run(self):
        end = time.monotonic() + LIMIT_S
        while sum(phase == SUCCEEDED for phase in self.phases.values()) < self.count:
            if time.monotonic() > end:
                self.wrong.append("not all succeed")
                return
            self.note([(row.id.name, row.closure.phase) for row in pages(self.customer)])

    def note(self, rows):
        self.looks += 1
        names = [name for name, _ in rows]
        if len(set(names)) != len(names):
            self.wrong.append("a name stands twice in the pages of a list")
        if not set(self.phases) <= set(names):
            self.wrong.append("what was there is missing")
        for name, phase in rows:
            if phase < self.phases.get(name, 0) or phase > SUCCEEDED:
                self.wrong.append(f"{name}: {phase} comes behind {self.phases.get(name)}")
            self.phases[name] = phase


def many(address, clients, each):
    """So many clients begin so many executions each, at once, while one follows all of them. How
    many there are in the end, how many looks that one took, and what was wrong."""
    Customer(address).prepare()
    follower, begun, lock = Follower(address, clients * each), {}, threading.Lock()

    def begin(client):
        customer = Customer(address)
        for number in range(client * each, (client + 1) * each):
            name = customer.create("echo", "" if number % 2 else f"m{number}", a=number).id.name
            phase = customer.execution(name).closure.phase
            with lock:
                begun[name] = number
                if phase > SUCCEEDED:
                    follower.wrong.append(f"{name} is {phase}")
    beginning = [threading.Thread(target=begin, args=(client,)) for client in range(clients)]
    for thread in (follower, *beginning):
        thread.start()
    for thread in (*beginning, follower):
        thread.join()
    outputs = {name: follower.customer.outputs(name) for name in begun}
    wrong = follower.wrong + [f"{name}: {outputs[name]}" for name, number in begun.items()
                              if outputs[name] != {"o0": number}]
    if set(begun) != set(follower.phases):
        wrong.append("what was begun and what was seen differ")
    return [len(begun), follower.looks, wrong]


if __name__ == "__main__":
    function = globals()[sys.argv[2]]
    print(json.dumps(function(sys.argv[1], *json.loads(sys.argv[3] if sys.argv[3:] else "[]"))))
    sys.stdout.flush()
    os._exit(0)  # threads of channels may wait for what is gone
