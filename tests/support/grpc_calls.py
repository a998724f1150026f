"""What integration/test_api.py asks with gRPC's own library, in a Python that has it:

    python grpc_calls.py ADDRESS FUNCTION [JSON]

prints what the function gives as JSON. With GRPC_CA in the environment the channel has TLS, with
that file as its root.
"""

import itertools
import json
import os
import queue
import sys
import threading
import time

import grpc
from flyteidl.admin import version_pb2
from flyteidl.service import admin_pb2_grpc, auth_pb2, auth_pb2_grpc, identity_pb2
from flyteidl.service import identity_pb2_grpc
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2 as v1alpha_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase)

# As flytekit opens its channels.
OPTIONS = [("grpc.keepalive_permit_without_calls", 1), ("grpc.keepalive_time_ms", 30000),
           ("grpc.keepalive_timeout_ms", 10000), ("grpc.http2.max_pings_without_data", 0),
           ("grpc.max_metadata_size", 32 * 1024), ("grpc.max_receive_message_length", 20 << 20),
           ("grpc.max_send_message_length", -1)]
LIMIT_S = 60


def open_channel(address, **options):
    if "GRPC_CA" in os.environ:
        with open(os.environ["GRPC_CA"], "rb") as file:
            credentials = grpc.ssl_channel_credentials(file.read())
        return grpc.secure_channel(address, credentials, options=OPTIONS, **options)
    return grpc.insecure_channel(address, options=OPTIONS, **options)


def version_of(channel, **options):
    stub = admin_pb2_grpc.AdminServiceStub(channel)
    return stub.GetVersion(version_pb2.GetVersionRequest(), **options).control_plane_version.Version


def outcome_of(call):
    """The code and the words that a call ends with."""
    try:
        call()
        return ["OK", ""]
    except grpc.RpcError as error:
        return [error.code().name, error.details()]


def all_calls(address):
    """What each call gives, as JSON in the names of the definitions."""
    with open_channel(address) as channel:
        auth = auth_pb2_grpc.AuthMetadataServiceStub(channel)
        messages = {
            "/api/v1/version": admin_pb2_grpc.AdminServiceStub(channel).GetVersion(
                version_pb2.GetVersionRequest()),
            "/.well-known/oauth-authorization-server": auth.GetOAuth2Metadata(
                auth_pb2.OAuth2MetadataRequest()),
            "/config/v1/flyte_client": auth.GetPublicClientConfig(
                auth_pb2.PublicClientAuthConfigRequest()),
            "/me": identity_pb2_grpc.IdentityServiceStub(channel).UserInfo(
                identity_pb2.UserInfoRequest()),
        }
        return {path: [json_format.MessageToDict(message, preserving_proto_field_name=True,
                                                 always_print_fields_with_no_presence=True),
                       message.SerializeToString().hex()]
                for path, message in messages.items()}


def gzip(address):
    with open_channel(address, compression=grpc.Compression.Gzip) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        asked = health_pb2.HealthCheckRequest(service="grpc.health.v1.Health")
        unknown = health_pb2.HealthCheckRequest(service="x" * 100000)
        return [health.Check(asked).status, *outcome_of(lambda: health.Check(unknown))]


def health(address):
    with open_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        found = {}
        for service in ("", "grpc.health.v1.Health", "flyteidl.service.AdminService"):
            found[service] = stub.Check(health_pb2.HealthCheckRequest(service=service)).status
            watch = stub.Watch(health_pb2.HealthCheckRequest(service=service), timeout=LIMIT_S)
            found[f"watch {service}"] = next(watch).status
            watch.cancel()
        watch = stub.Watch(health_pb2.HealthCheckRequest(service="none"), timeout=0.2)
        found["watch none"] = next(watch).status
        found["end of watch none"] = outcome_of(lambda: next(watch))[0]
        found["none"] = outcome_of(
            lambda: stub.Check(health_pb2.HealthCheckRequest(service="none")))
        return found


def reflection(address):
    """What a client learns that has no definitions: services, their calls and types, and an answer
    of a call that is made of these alone."""
    with open_channel(address) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        pool = DescriptorPool(database)
        services = {}
        names = list(database.get_services())
        for name in names:
            services[name] = [[method.name, method.input_type.full_name,
                               method.output_type.full_name, method.client_streaming,
                               method.server_streaming]
                              for method in pool.FindServiceByName(name).methods]
        method = pool.FindServiceByName("flyteidl.service.AdminService").methods_by_name[
            "GetVersion"]
        call = channel.unary_unary(
            "/flyteidl.service.AdminService/GetVersion",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_factory.GetMessageClass(method.output_type).FromString)
        version = call(message_factory.GetMessageClass(method.input_type)())
        return names, services, version.control_plane_version.Version


def reflection_stream(address, version, count):
    """Questions on one stream, each asked when the one before is answered, then many that nobody
    waits for: the kinds of the answers, what the errors are, and how many of the many came."""
    ask = v1alpha_pb2.ServerReflectionRequest
    questions = [
        ask(list_services="*"),
        ask(file_by_filename="flyteidl/admin_version.proto"),
        ask(file_containing_symbol="flyteidl.core.Literal"),
        ask(file_containing_symbol="flyteidl.core.TaskExecution.Phase"),
        ask(file_containing_symbol="flyteidl.service.AdminService.GetTask"),
        ask(all_extension_numbers_of_type="flyteidl.core.Literal"),
        ask(file_by_filename="none.proto"),
        ask(file_containing_symbol="flyteidl.core.Liter"),
        ask(file_containing_symbol="flyteidl.core"),
        ask(file_containing_extension={"containing_type": "flyteidl.core.Literal"}),
        ask(all_extension_numbers_of_type="flyteidl.core.TaskExecution.Phase"),
        ask(host="here"),
    ]
    waiting = queue.Queue()
    with open_channel(address) as channel:
        answers = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=ask.SerializeToString,
            response_deserializer=v1alpha_pb2.ServerReflectionResponse.FromString)(
                iter(waiting.get, None), timeout=LIMIT_S)
        kinds, errors = [], []
        for question in questions:
            waiting.put(question)
            answer = next(answers)
            assert answer.original_request == question and answer.valid_host == question.host
            kinds.append(answer.WhichOneof("message_response"))
            if answer.HasField("error_response"):
                errors.append([answer.error_response.error_code,
                               answer.error_response.error_message])
        for _ in range(count):
            waiting.put(ask(file_containing_symbol="flyteidl.service.AdminService"))
        waiting.put(None)
        sizes = {len(answer.file_descriptor_response.file_descriptor_proto) for answer in
                 itertools.islice(answers, count)}
        ended = [each for each in answers]
        return kinds, errors, len(sizes), len(ended), answers.code().name


def raw(address, calls):
    """Calls by path with bytes in hexadecimal digits, and what each ends with."""
    with open_channel(address) as channel:
        found = []
        for path, digits, options in calls:
            options = dict(options, metadata=[tuple(each) for each in options.get("metadata", ())])
            call = channel.unary_unary(path)
            found.append(outcome_of(lambda: call(bytes.fromhex(digits), **options)))
        return found


def large(address, size):
    """A message with a text of so many bytes."""
    with open_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        return outcome_of(lambda: stub.Check(health_pb2.HealthCheckRequest(service="x" * size)))


def many(address, channels, threads, each):
    """Calls from many threads at once; how many had the right answer."""
    right = []
    with open_channel(address) as first:
        expected = version_of(first)

    def ask(channel):
        right.extend(version_of(channel) == expected for _ in range(each))
    opened = [open_channel(address, compression=None) for _ in range(channels)]
    asking = [threading.Thread(target=ask, args=(channel,))
              for channel in opened for _ in range(threads)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    return sum(right)


def idle(address, seconds):
    """States of a channel that rests, with pings, and is used again."""
    states = []
    with open_channel(address) as channel:
        version_of(channel)
        channel.subscribe(lambda state: states.append(state.name))
        threading.Event().wait(seconds)
        version_of(channel)
    return [state for state in states if state not in ("READY", "SHUTDOWN")]


def follow(address):
    """Asks until stdin ends, and says what it has seen, each line when it changes."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    last = None
    with open_channel(address) as channel:
        while not ended.is_set():
            code = outcome_of(lambda: version_of(channel, timeout=LIMIT_S))[0]
            if code != last:
                print(code, flush=True)
                last = code
            time.sleep(0.01)
    return last


if __name__ == "__main__":
    function = globals()[sys.argv[2]]
    print(json.dumps(function(sys.argv[1], *json.loads(sys.argv[3] if sys.argv[3:] else "[]"))))
