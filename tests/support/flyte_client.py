"""What integration/flyte_clients.py asks with flytekit's own clients, in a Python that has it:

    python flyte_client.py                              requests and answers, a JSON line each
    python flyte_client.py ADDRESS FUNCTION [JSON]      prints what one function gives as JSON

A request has the address, the function, its arguments, and the token that calls show, or none; an
answer has the result, or the error.
"""

import json
import os
import sys
import threading
import time
import traceback
from datetime import timedelta

import grpc
from flyteidl.admin import event_pb2, execution_pb2
from flyteidl.core import identifier_pb2, literals_pb2
from flyteidl.service import admin_pb2, admin_pb2_grpc, auth_pb2, dataproxy_pb2, identity_pb2
from flyteidl.service import signal_pb2
from flytekit.clients.friendly import SynchronousFlyteClient
from flytekit.configuration import Config, PlatformConfig
from flytekit.models.admin.common import Sort
from flytekit.models.common import Annotations, Envs, Labels, RawOutputDataConfig
from flytekit.models.core.identifier import Identifier, WorkflowExecutionIdentifier
from flytekit.models.execution import ExecutionMetadata, ExecutionSpec
from flytekit.models.literals import Literal, LiteralMap, Primitive, Scalar
from flytekit.remote import FlyteRemote
from google.api import annotations_pb2
from google.protobuf import json_format, message_factory
from google.rpc import status_pb2

PROJECT, DOMAIN, VERSION = "default", "development", "v1"
TASK, LAUNCH_PLAN = 1, 3
ENDS = {4: "SUCCEEDED", 6: "FAILED", 7: "ABORTED", 8: "TIMED_OUT"}
MANUAL = ExecutionMetadata.ExecutionMode.MANUAL


def client_of(address):
    return SynchronousFlyteClient(PlatformConfig(endpoint=address, insecure=True))


def remote_of(address):
    return FlyteRemote(Config(platform=PlatformConfig(endpoint=address, insecure=True)),
                       default_project=PROJECT, default_domain=DOMAIN)


def literal(value):
    kind = ("boolean" if isinstance(value, bool) else
            "string_value" if isinstance(value, str) else "integer")
    return Literal(Scalar(Primitive(**{kind: value})))


def plain(literals):
    """Literals of numbers, texts and lists of them as JSON would have them."""
    def one(value):
        if value.collection is not None:
            return [one(each) for each in value.collection.literals]
        return value.scalar.primitive.value if value.scalar.primitive is not None else "?"
    return {name: one(value) for name, value in literals.literals.items()}


def create(client, plan, inputs=(), name=None, kind=LAUNCH_PLAN, version=VERSION, labels=None,
           **spec):
    return client.create_execution(
        PROJECT, DOMAIN, name,
        ExecutionSpec(Identifier(kind, PROJECT, DOMAIN, plan, version),
                      ExecutionMetadata(MANUAL, "placeholder", 0), labels=Labels(labels or {}),
                      **spec),
        LiteralMap({key: literal(value) for key, value in dict(inputs).items()}))


def wait(client, id, phases=ENDS):
    end = time.monotonic() + 60
    while True:
        execution = client.get_execution(id)
        if execution.closure.phase in phases:
            return execution
        assert time.monotonic() < end, execution
        time.sleep(0.02)


def id_of(name):
    return WorkflowExecutionIdentifier(PROJECT, DOMAIN, name)


def workflow_of(client, id):
    """What flytekit's own message of an execution leaves out."""
    request = execution_pb2.WorkflowExecutionGetRequest(id=id.to_flyte_idl())
    return client._stub.GetExecution(request).closure.workflow_id.name


def told(client, id):
    """All that is said of an execution."""
    execution = wait(client, id)
    data = client.get_execution_data(id)
    error = execution.closure.error
    return {"name": id.name, "phase": ENDS[execution.closure.phase],
            "plan": execution.spec.launch_plan.name, "mode": execution.spec.metadata.mode,
            "version": execution.spec.launch_plan.version,
            "workflow": workflow_of(client, id),
            "labels": execution.spec.labels.values if execution.spec.labels else {},
            "error": [error.code, error.message, error.kind] if error else None,
            "aborted": execution.closure.abort_metadata.cause
            if execution.closure.abort_metadata else None,
            "inputs": plain(data.full_inputs), "outputs": plain(data.full_outputs)}


def run(address, **wanted):
    client = client_of(address)
    return told(client, create(client, **wanted))


def get(address, name):
    return told(client_of(address), id_of(name))


def nodes_below(client, id, parent=None):
    """Nodes and what lies in them, in the order of their pages of two."""
    found, token = [], ""
    while True:
        page, token = client.list_node_executions(id, limit=2, token=token,
                                                  sort_by=Sort("created_at", 1),
                                                  unique_parent_id=parent)
        found += page
        if not token:
            break
    nodes = []
    for node in found:
        data = client.get_node_execution_data(node.id)
        again = client.get_node_execution(node.id)
        assert again.closure.phase >= node.closure.phase
        tasks = client.list_task_executions_paginated(node.id)[0]
        metadata, launched = node.metadata, node.closure.workflow_node_metadata
        for task in tasks:
            assert client.get_task_execution(task.id).id.task_id.name == task.id.task_id.name
        nodes.append({
            "id": node.id.node_id, "spec": metadata.spec_node_id, "phase": node.closure.phase,
            "kind": [word for word in ("is_parent_node", "is_dynamic", "is_array")
                     if getattr(metadata, word)],
            "launched": launched.execution_id.name if launched else None,
            "error": node.closure.error.code if node.closure.error else None,
            "cache": node.closure.task_node_metadata.cache_status
            if node.closure.task_node_metadata else None,
            "inputs": plain(data.full_inputs), "outputs": plain(data.full_outputs),
            "decides": [each.id for each in
                        data.dynamic_workflow.compiled_workflow.primary.template.nodes]
            if data.dynamic_workflow else None,
            "tasks": [[task.id.task_id.name, task.id.task_id.version, task.id.retry_attempt,
                       task.closure.phase] for task in tasks],
            "outputs_of_tasks": [plain(client.get_task_execution_data(task.id).full_outputs)
                                 for task in tasks],
            "inside": nodes_below(client, id, node.id.node_id) if metadata.is_parent_node else []})
    return nodes


def nodes(address, name):
    return nodes_below(client_of(address), id_of(name))


def outcome_of(call):
    try:
        call()
        return ["OK", ""]
    except grpc.RpcError as error:
        return [error.code().name, error.details()]


def reasons(address, calls):
    """Of failed events why they are not heard, as the detail says it."""
    found = []
    for method, fields in calls:
        try:
            call_of(address, method)(request_of(method, fields))
        except grpc.RpcError as error:
            details = dict(error.trailing_metadata()).get("grpc-status-details-bin", b"")
            reason = event_pb2.EventFailureReason()
            for each in status_pb2.Status.FromString(details).details:
                each.Unpack(reason)
            found.append(reason.already_in_terminal_state.current_phase)
    return found


def stub_of(address):
    return admin_pb2_grpc.AdminServiceStub(grpc.insecure_channel(address))


SERVICES = [service for module in (admin_pb2, signal_pb2, dataproxy_pb2, identity_pb2, auth_pb2)
            for service in module.DESCRIPTOR.services_by_name.values()]


def method_of(name):
    """The definition of a call by its name."""
    found, = [service.methods_by_name[name] for service in SERVICES
              if name in service.methods_by_name]
    return found


def request_of(name, fields):
    """A request by the name of a method and its fields as JSON."""
    message = message_factory.GetMessageClass(method_of(name).input_type)()
    return json_format.ParseDict(fields, message)


def call_of(address, name):
    """With TOKEN in the environment the call shows that."""
    method = method_of(name)
    call = grpc.insecure_channel(address).unary_unary(
        f"/{method.containing_service.full_name}/{name}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=message_factory.GetMessageClass(method.output_type).FromString)
    metadata = [("authorization", f"Bearer {os.environ['TOKEN']}")] if "TOKEN" in os.environ else []
    return lambda request: call(request, metadata=metadata)


def all_calls(address):
    """How each call of Flyte's services ends that asks for nothing, and its paths of REST."""
    found = {}
    for service in SERVICES:
        for method in service.methods:
            outcome = outcome_of(lambda: call_of(address, method.name)(request_of(method.name, {})))
            http = method.GetOptions().Extensions[annotations_pb2.http]
            paths = [[rule.WhichOneof("pattern").upper(), getattr(rule, rule.WhichOneof("pattern"))]
                     for rule in (http, *http.additional_bindings) if rule.WhichOneof("pattern")]
            found[method.name] = [outcome[0], paths]
    return found


def types(address, methods):
    """Of each call its service, and the types of its request and its response."""
    return {name: [method.containing_service.full_name, method.input_type.full_name,
                   method.output_type.full_name]
            for name, method in ((name, method_of(name)) for name in methods)}


def outcomes(address, calls):
    """The code and the words of each call."""
    return [outcome_of(lambda: call_of(address, method)(request_of(method, fields)))
            for method, fields in calls]


def answers(address, calls):
    """What each call gives, as REST would say it."""
    return [json_format.MessageToDict(
        call_of(address, method)(request_of(method, fields)),
        preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
        for method, fields in calls]


def pages(address, limit, **query):
    """The names of executions, page by page; one begins between any two pages."""
    client, names, token = client_of(address), [], None
    while True:
        page, token = client.list_executions_paginated(PROJECT, DOMAIN, limit=limit, token=token,
                                                       sort_by=Sort(query.get("key", "created_at"),
                                                                    query.get("direction", 0)))
        names.append([each.id.name for each in page])
        if not token:
            return names
        if "plan" in query:
            create(client, query["plan"])


def same_name(address, plan, name, count):
    """Who of many that want one name at once gets it."""
    codes, lock = [], threading.Lock()
    request = execution_pb2.ExecutionCreateRequest(
        project=PROJECT, domain=DOMAIN, name=name,
        spec={"launch_plan": {"resource_type": LAUNCH_PLAN, "project": PROJECT, "domain": DOMAIN,
                              "name": plan, "version": VERSION}})

    def want():
        code = outcome_of(lambda: stub_of(address).CreateExecution(request))[0]
        with lock:
            codes.append(code)
    threads = [threading.Thread(target=want) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(codes)


def create_until_lost(address, plan):
    """Begins executions from several threads and prints the name of each that was acknowledged."""
    request = execution_pb2.ExecutionCreateRequest(
        project=PROJECT, domain=DOMAIN,
        spec={"launch_plan": {"resource_type": LAUNCH_PLAN, "project": PROJECT, "domain": DOMAIN,
                              "name": plan, "version": VERSION}})
    stub, lock = stub_of(address), threading.Lock()

    def begin():
        try:
            while True:
                name = stub.CreateExecution(request).id.name
                with lock:
                    print(name, flush=True)
        except grpc.RpcError:
            pass
    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit()


def given_up(address, plan):
    """Asks for executions and does not wait for the answer, by a deadline and by cancelling, until
    one of either kind has begun all the same; their names, by what the client was told."""
    stub, found = stub_of(address), {}
    for number in range(2000):
        request = execution_pb2.ExecutionCreateRequest(
            project=PROJECT, domain=DOMAIN, name=f"given-up-{number}",
            spec={"launch_plan": {"resource_type": LAUNCH_PLAN, "project": PROJECT,
                                  "domain": DOMAIN, "name": plan, "version": VERSION}})
        patience_s = 0.0002 * (1 + number // 2 % 20)
        if number % 2:
            call = stub.CreateExecution.future(request, timeout=patience_s)
        else:
            call = stub.CreateExecution.future(request)
            time.sleep(patience_s)
            call.cancel()
        code = call.code().name
        if code != "OK" and outcome_of(lambda: stub.CreateExecution(request))[0] != "OK":
            found[code] = request.name
        if len(found) == 2:
            break
    return found


class Asked(timedelta):
    """A pause until somebody says that it is over."""

    def total_seconds(self):
        print("looked", flush=True)
        sys.stdin.readline()
        return 0


def wait_and_say(address, name):
    """Waits as FlyteRemote does, and says each time that it has looked."""
    remote = remote_of(address)
    execution = remote.wait(remote.fetch_execution(name=name), poll_interval=Asked(seconds=1))
    return [ENDS[execution.closure.phase], plain_of(execution._outputs)]


def with_spec(address, plan):
    """What a spec may say beside the inputs, and what of it is given back."""
    client = client_of(address)
    id = create(client, plan, labels={"team": "data"}, max_parallelism=3, overwrite_cache=True,
                annotations=Annotations({"why": "test it"}), envs=Envs({"GIVEN": "here"}),
                interruptible=True,
                raw_output_data_config=RawOutputDataConfig("s3://results/prefix"))
    spec = wait(client, id).spec
    return {"told": told(client, id), "annotations": spec.annotations.values,
            "envs": spec.envs.envs, "max_parallelism": spec.max_parallelism,
            "overwrite_cache": spec.overwrite_cache, "interruptible": spec.interruptible,
            "raw": spec.raw_output_data_config.output_location_prefix,
            "principal": spec.metadata.principal}


def life(address, plan):
    """Gates, an abort and what comes after it, with FlyteRemote."""
    remote, client = remote_of(address), client_of(address)
    first, second = create(client, plan, name="first"), create(client, plan, name="second")
    for id in (first, second):
        end = time.monotonic() + 30
        while len(remote.list_signals(id.name)) < 2 and time.monotonic() < end:
            time.sleep(0.05)
    signals = sorted(each.id.signal_id for each in remote.list_signals("first"))
    remote.set_signal("limit", "first", 5)
    remote.approve("ship", "first")
    done = told(client, first)
    client.terminate_execution(second, "not needed")
    aborted = told(client, second)
    again = client.relaunch_execution(second, "third")
    end = time.monotonic() + 30
    while len(remote.list_signals("third")) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    client.terminate_execution(id_of("third"), "")
    return {"signals": signals, "done": done, "aborted": aborted, "again": again.name,
            "third": told(client, id_of("third")),
            "recent": [each.id.name for each in remote.recent_executions(PROJECT, DOMAIN, 3)]}


def synced(nodes):
    """What FlyteRemote has read of nodes, by their ids."""
    return {key: {"phase": node.closure.phase,
                  "inputs": plain_of(node._inputs), "outputs": plain_of(node._outputs),
                  "tasks": [task.closure.phase for task in node.task_executions or []
                            if hasattr(task, "closure")],
                  "launched": [each.id.name for each in node.workflow_executions or []],
                  "inside": synced({each.id.node_id: each
                                    for each in node._underlying_node_executions or []})}
            for key, node in nodes.items() if key not in ("start-node", "end-node")}


def plain_of(resolver):
    return plain(LiteralMap(resolver.literals)) if resolver is not None else None


def remote_run(address, plan, inputs, name):
    """Executed, waited for and read by FlyteRemote, with all its nodes, also on the way."""
    remote = remote_of(address)
    execution = remote.execute(remote.fetch_launch_plan(name=plan, version=VERSION),
                               inputs=inputs, execution_name=name)
    end, looks = time.monotonic() + 60, 0
    while not execution.is_done and time.monotonic() < end:
        execution = remote.sync(execution, sync_nodes=True)
        looks += 1
    execution = remote.wait(execution, poll_interval=1)
    return {"phase": ENDS[execution.closure.phase], "inputs": plain_of(execution._inputs),
            "outputs": plain_of(execution._outputs), "looks": looks,
            "error": execution.error.message if execution.error else None,
            "nodes": synced(execution.node_executions)}


def answer(request):
    os.environ.pop("TOKEN", None)
    if request["token"] is not None:
        os.environ["TOKEN"] = request["token"]
    try:
        return {"result": globals()[request["function"]](request["address"],
                                                         **request["arguments"])}
    except Exception:
        return {"error": traceback.format_exc()}


def main():
    if len(sys.argv) == 1:
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line))), flush=True)
        return
    address, function = sys.argv[1:3]
    arguments = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    print(json.dumps(globals()[function](address, **arguments)))


if __name__ == "__main__":
    main()
