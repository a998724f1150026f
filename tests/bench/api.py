#!/usr/bin/env python3
"""What Flyte's clients get from a `troupe serve --http` (release). Prints a JSON line per figure;
README.md says what each is, and FLOORS below what it has to be.

    api.py --size N [--milliseconds M] [--only FIGURE,...]

Lists are of N executions, nodes of N / 100, transfers of N / 1,000,000 GiB. The client is `load`,
of the same build, so that a client is not what is measured; yardsticks are called by it, too.
"""

import argparse
import importlib
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build/release"
TROUPE = RELEASE / "troupe"
LOAD = RELEASE / "bench_api_load"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "api"))

import wire  # noqa: E402
from transfer import ROUNDS, digest_of, size_of, transfer  # noqa: E402

listing = importlib.import_module("list")

MIB = 1 << 20
LIMIT_S = 300
IDLE_CONNECTIONS = 1000
SUCCEEDED, FAILED, ABORTED = 4, 6, 7  # of an execution, here and in flyteidl
REGISTERED = 100  # of each kind
POLLING_CLIENTS = 8
ELEMENTS_DIVISOR = 2

# Figure: its floor and its goal. Times and bytes are at most these, rates and shares at least.
FLOORS = {
    "api_get_per_s": (20000, 60000),
    "api_create_per_s": (2000, 8000),
    "api_create_alone_ms": (1.5, 0.6),
    "api_succeeded_ms": (10, 3),
    "api_register_s": (0.3, 0.1),
    "api_list_ms": (20, 5),
    "api_list_nodes_ms": (5, 1),
    "api_upload_bytes": (4 * MIB, MIB),
    "api_download_bytes": (4 * MIB, MIB),
    "api_idle_bytes": (30e6, 10e6),
    "api_open_bytes": (1e6, 0.5e6),
    "api_transitions_percent": (80, 95),
}

# What a page of executions is asked for by: filters, the key to sort by, whether it ascends.
LISTS = [
    ("", "created_at", 0),
    ("", "created_at", 1),
    ("value_in(phase,ABORTED;RUNNING)", "created_at", 0),
    ("eq(phase,FAILED)+eq(workflow.name,flow_7)", "created_at", 0),
    ("eq(workflow.name,flow_17)", "started_at", 0),
    ("eq(launch_plan.name,plan_17)", "created_at", 0),
    ("gte(created_at,2020-01-01T00:00:00Z)+eq(phase,SUCCEEDED)", "created_at", 1),
    ("ne(phase,SUCCEEDED)", "created_at", 0),
    ("ne(state,1)+lt(started_at,2100-01-01T00:00:00Z)", "updated_at", 0),
]

# The same where each name has to be looked at, as it is in Flyte's own database.
CONTAINS = ("contains(name,run_77)", "name", 1)

FLOW = """
troupe: 1
tasks:
  same: {type: echo, inputs: {a: int}, outputs: {o0: int}}
workflows:
  mapped:
    inputs: {items: [int]}
    nodes: {same: {map: same, with: {a: $items}}}
"""


def until(is_so, what):
    end = time.monotonic() + LIMIT_S
    while not is_so():
        if time.monotonic() > end:
            sys.exit(f"api.py: not within {LIMIT_S} s: {what}")
        time.sleep(0.02)


class Service:
    """A `troupe serve` with a store of its own, and a client of it."""

    def __init__(self, folder, http=True):
        self.store = folder / "store"
        self.log = folder / "serve.log"
        words = ["--http", "127.0.0.1:0"] if http else []
        with self.log.open("w") as log:
            self.process = subprocess.Popen([TROUPE, "serve", "--store", self.store, *words],
                                            stderr=log)
        end = "insecure: " if http else "serves "
        until(lambda: end in self.log.read_text(), "the service answers")
        self.address = http and re.search("clients at (.*)", self.log.read_text())[1]
        self.client = wire.Client(LOAD, self.address) if http else None

    def call(self, method, request=b"", **more):
        return self.client.call(wire.ADMIN + method, request, **more)

    def bytes_of(self, label):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split(label + ":")[1].split()[0]) * 1024

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def stop(self):
        if self.client is not None:
            self.client.stop()
        self.process.terminate()
        self.process.wait()


class Stage:
    """One call of this program: its size, its folder, and the lines that it prints."""

    def __init__(self, n, milliseconds):
        self.n = n
        self.milliseconds = milliseconds
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-bench-"))
        self.services = []

    def service(self, **more):
        folder = self.folder / str(len(self.services))
        folder.mkdir()
        self.services.append(Service(folder, **more))
        return self.services[-1]

    def close(self):
        for service in self.services:
            service.stop()
        shutil.rmtree(self.folder)

    def print(self, figure, value, unit, rss_bytes=0):
        line = {"figure": figure, "n": self.n, "value": value, "unit": unit, "workers": 2,
                "durability": "full", "rss_bytes": rss_bytes}
        if figure in FLOORS:
            line["floor"], line["goal"] = FLOORS[figure]
        print(json.dumps(line), flush=True)


# ------------------------------------------------------------------------------ single calls


def register_one(service):
    service.call("CreateTask", wire.task("same"))
    service.call("CreateWorkflow", wire.workflow("flow", "same"))
    service.call("CreateLaunchPlan", wire.plan("flow", "flow"))


def follow(service, request):
    """From the call that begins an execution until a call shows that it has succeeded."""
    begin = time.monotonic()
    answer = service.call("CreateExecution", request).answer
    look = wire.message((1, wire.field(answer, 1)))
    while wire.field(service.call("GetExecution", look).answer, 3, 4) != SUCCEEDED:
        if time.monotonic() - begin > LIMIT_S:
            sys.exit("api.py: an execution does not succeed")
    return 1000 * (time.monotonic() - begin)


def calls(stage):
    service = stage.service()
    register_one(service)
    request = wire.execution_of("flow")
    look = wire.message((1, wire.field(service.call("CreateExecution", request).answer, 1)))
    times = {"milliseconds": stage.milliseconds}
    service.call("GetVersion", **times)
    stage.print("api_version_us", service.call("GetVersion", **times).median_us, "us")
    got = service.call("GetExecution", look, connections=8, streams=10, **times)
    stage.print("api_get_per_s", got.count / got.seconds, "1/s", service.bytes_of("VmHWM"))
    stage.print("api_get_us", service.call("GetExecution", look, **times).median_us, "us")
    alone = service.call("CreateExecution", request, **times)
    stage.print("api_create_alone_ms", alone.median_us / 1000, "ms")
    many = service.call("CreateExecution", request, connections=8, streams=8, **times)
    stage.print("api_create_per_s", many.count / many.seconds, "1/s", service.bytes_of("VmHWM"))
    rest(service)
    ends = [follow(service, request) for _ in range(50)]
    stage.print("api_succeeded_ms", statistics.median(ends), "ms")
    service.stop()


def rest(service):
    """Waits until all that began has ended."""
    look = wire.execution_list(1, "value_in(phase,RUNNING;QUEUED;UNDEFINED)", "created_at")
    until(lambda: not wire.repeated(service.call("ListExecutions", look).answer, 1),
          "executions end")


def register(stage):
    """What flytekit does with 300 entities: tasks eight at once, all else one by one."""
    service = stage.service()
    requests = [("CreateTask", wire.task(f"task_{i}")) for i in range(REGISTERED)]
    for i in range(REGISTERED):
        requests.append(("CreateWorkflow", wire.workflow(f"flow_{i}", f"task_{i}")))
        requests.append(("CreateLaunchPlan", wire.plan(f"flow_{i}", f"flow_{i}")))
    service.call("GetVersion")
    seconds = sum(service.call(method, request).seconds for method, request in requests)
    stage.print("api_register_s", seconds, "s")
    service.stop()


# ------------------------------------------------------------------------------------- lists


def fill(stage, service):
    """Copies the one execution that there is, with the engine away. All have ended: of one that
    runs the engine misses its actors. A tenth of a percent was aborted."""
    service.stop()
    store = listing.Sqlite(service.store.parent)
    store.open()
    listing.MADE_UP["record_execution"].update(
        labels="r.labels", plan="'plan_' || (i % 100)", ended_ms="r.ended_ms - 1000 * i",
        phase=f"CASE WHEN i % 1000 = 0 THEN {ABORTED} WHEN i % 100 = 7 THEN {FAILED} "
              f"ELSE {SUCCEEDED} END")
    listing.fill(store, "record_execution", stage.n)
    store.close()
    again = Service(service.store.parent)
    stage.services.append(again)
    return again


def lists(stage):
    service = stage.service()
    register_one(service)
    service.call("CreateExecution", wire.execution_of("flow"))
    rest(service)
    service = fill(stage, service)
    times = [page_ms(stage, service, *each) for each in LISTS]
    stage.print("api_list_ms", max(times), "ms", service.bytes_of("VmHWM"))
    stage.print("api_list_newest_ms", times[0], "ms")
    stage.print("api_list_contains_ms", page_ms(stage, service, *CONTAINS), "ms")
    service.stop()


def page_ms(stage, service, filters, key, direction):
    look = wire.execution_list(100, filters, key, direction)
    rows = wire.repeated(service.call("ListExecutions", look).answer, 1)
    if rows < min(100, stage.n // 2000):
        sys.exit(f"api.py: {filters} by {key} gave {rows} executions")
    return service.call("ListExecutions", look, milliseconds=stage.milliseconds).median_us / 1000


def wide(count):
    """A workflow of so many nodes, in the language."""
    nodes = "".join(f"      n{i}: {{task: same, with: {{a: {i}}}}}\n" for i in range(count))
    return FLOW + f"  wide:\n    nodes:\n{nodes}"


def submit(service, workflow, inputs, name, text):
    folder = service.store.parent
    (folder / "flow.yaml").write_text(text)
    (folder / "inputs.json").write_text(json.dumps(inputs))
    subprocess.run([TROUPE, "submit", "-q", "flow.yaml", workflow, "--inputs", "inputs.json",
                    "--name", name, "--store", service.store], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)


def execution_seen(service, name):
    with urllib.request.urlopen(
            f"http://{service.address}/api/v1/executions/default/development/{name}") as answer:
        return json.load(answer)["closure"]


def nodes(stage):
    count = max(100, stage.n // 100)
    service = stage.service()
    submit(service, "wide", {}, "wide", wide(count))
    until(lambda: execution_seen(service, "wide")["phase"] == "SUCCEEDED", "all nodes end")
    name = wire.message((1, "default"), (2, "development"), (4, "wide"))
    look = wire.message((1, name), (2, 100), (5, wire.message((1, "created_at"), (2, 1))))
    first = service.call("ListNodeExecutions", look).answer
    if wire.repeated(first, 1) != 100:
        sys.exit(f"api.py: a page of {wire.repeated(first, 1)} nodes")
    page = service.call("ListNodeExecutions", look, milliseconds=stage.milliseconds)
    stage.print("api_list_nodes_ms", page.median_us / 1000, "ms", service.bytes_of("VmHWM"))
    service.stop()


# --------------------------------------------------------------------------- files and memory


def signed(service, path, method, **body):
    request = urllib.request.Request(
        f"http://{service.address}/api/v1/dataproxy/{path}", method=method,
        data=json.dumps(body).encode() if body else None,
        headers={"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def files(stage):
    service = stage.service()
    size = size_of(stage.n)
    urllib.request.urlopen(f"http://{service.address}/healthcheck").close()
    before = service.bytes_of("VmRSS")  # with what HTTP/1.1 needs

    def with_peak(figure, urls, **more):
        service.forget_peak()
        speeds = [transfer(url, size, stage.folder, **more) for url in urls]
        stage.print(f"api_{figure}_mb_per_s", statistics.median(speeds), "MB/s")
        stage.print(f"api_{figure}_bytes", service.bytes_of("VmHWM") - before, "bytes")

    # With a digest, as flytekit has it; nothing is put twice, which would be compared.
    digest = digest_of(size)
    places = [signed(service, "artifact_urn", "POST", project=wire.PROJECT, domain=wire.DOMAIN,
                     filename="large", filename_root=f"root{number}", content_md5=digest)
              for number in range(ROUNDS)]
    with_peak("upload", [place["signed_url"] for place in places], is_upload=True)
    place = signed(service, "artifact_urn?native_url=" + places[-1]["native_url"], "GET")
    with_peak("download", ROUNDS * [place["signed_url"]], is_upload=False)
    service.stop()


def memory(stage):
    without = stage.service(http=False)
    service = stage.service()
    for each in (without, service):
        each.forget_peak()
    time.sleep(3)  # an engine gives memory back after two seconds without work
    empty = service.bytes_of("VmRSS")
    stage.print("api_open_bytes", max(0, empty - without.bytes_of("VmRSS")), "bytes", empty)
    host, port = service.address.rsplit(":", 1)
    opened = []
    for _ in range(IDLE_CONNECTIONS):
        connection = socket.create_connection((host, int(port)))
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        opened.append(connection)
    for connection in opened:  # its settings have come: it is one of HTTP/2 at the server
        connection.recv(9)
    time.sleep(3)
    held = service.bytes_of("VmRSS")
    stage.print("api_idle_bytes", held - empty, "bytes", held)
    for connection in opened:
        connection.close()
    for each in (without, service):
        each.stop()


# ------------------------------------------------------------------------------- transitions


def run_elements(service, name, count):
    """How long the engine takes for a map, as its history has it."""
    submit(service, "mapped", {"items": list(range(count))}, name, FLOW)
    until(lambda: execution_seen(service, name)["phase"] == "SUCCEEDED", "all elements end")
    duration = execution_seen(service, name)["duration"]
    return float(duration.rstrip("s"))


def transitions(stage):
    service = stage.service()
    count = max(1000, stage.n // ELEMENTS_DIVISOR)
    register_one(service)
    look = wire.message((1, wire.field(
        service.call("CreateExecution", wire.execution_of("flow")).answer, 1)))
    run_elements(service, "warm", count)
    shares = []
    for number in range(3):
        alone = run_elements(service, f"alone{number}", count)
        clients = [wire.Client(LOAD, service.address) for _ in range(POLLING_CLIENTS)]
        for client in clients:
            client.begin(wire.ADMIN + "GetExecution", look, milliseconds=LIMIT_S * 1000)
        polled = run_elements(service, f"polled{number}", count)
        for client in clients:
            client.stop()
        shares.append(100 * alone / polled)
    stage.print("api_transitions_percent", statistics.median(shares), "%",
                service.bytes_of("VmHWM"))
    service.stop()


MEASURED = {"calls": calls, "register": register, "lists": lists, "nodes": nodes, "files": files,
            "memory": memory, "transitions": transitions}


def main():
    parser = argparse.ArgumentParser(description="Called by tests/bench/run.")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--milliseconds", type=int, default=200)
    parser.add_argument("--only", choices=MEASURED, action="append")
    arguments = parser.parse_args()
    for name in arguments.only or MEASURED:
        stage = Stage(arguments.size, arguments.milliseconds)
        try:
            MEASURED[name](stage)
        finally:
            stage.close()


if __name__ == "__main__":
    main()
