#!/usr/bin/env python3
"""What a job of a plugin's costs the engine. Prints a JSON line per figure; README.md says what
each is.

    plugins.py --size N [--milliseconds M] [--way streams|polled]

N elements of one map are jobs of the Armada plugin, in a `troupe serve` (release) that is measured
from outside. The server is the double of tests/doubles/armada in a process of its own: it counts
the calls, holds all N jobs while the engine's memory and store are looked at, and its events say
when each job changed. First jobs are heard of by a stream, then by questions alone (`_polled`).
"""

import argparse
import json
import math
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/doubles/armada"))

from armada_client import QUEUE, Double  # noqa: E402

TROUPE = ROOT / "build/release/troupe"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

# What one call takes.
SUBMIT_ITEMS = 200
STATUS_ITEMS = 500

INTERVAL_S = 1
SINGLE_ENDS = 100
SINGLE_END_S = 0.1
HELD_S_MIN = 10
LOOK_S = 0.05
REST_S = 3  # an engine gives memory back after two seconds without work (TR_RELEASE_AFTER_MS)
LIMIT_S = 500

SUCCEEDED = 5  # of an element: schemas/engine/phase.h

# Behaviours by the ids with which their states are stored, and the figure of each.
STATES = {102: "plugin_task_state_bytes", 103: "plugin_array_state_bytes",
          110: "plugin_refresh_state_bytes"}

FLOW = """
troupe: 1
tasks:
  work: {type: armada, inputs: {a: int}, run: ["true"]}
workflows:
  main:
    inputs: {items: [int]}
    nodes: {work: {map: work, with: {a: $items}}}
"""


def until(is_so):
    end = time.monotonic() + LIMIT_S
    while not is_so():
        if time.monotonic() > end:
            sys.exit(f"plugins.py: not within {LIMIT_S} s: {is_so.__name__}")
        time.sleep(LOOK_S)


class Engine:
    """A `troupe serve`, and what /proc says of it."""

    def __init__(self, store):
        self.store = store
        path = store.parent / "ready"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(path))
            ready.settimeout(LIMIT_S)
            begin = time.monotonic()
            self.process = subprocess.Popen(
                [TROUPE, "serve", "-q", "--store", store],
                env=dict(os.environ, NOTIFY_SOCKET=str(path)))
            ready.recv(4096)
            self.start_s = time.monotonic() - begin

    def kill(self):
        self.process.kill()
        self.process.wait()

    def cpu_s(self):
        """Of all its threads, in the program and in the kernel."""
        text = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / TICKS_PER_S

    def bytes_of(self, label):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split(label + ":")[1].split()[0]) * 1024

    def rest(self):
        """Waits until what was begun is done: it takes a tenth of a processor at most."""
        def is_at_rest():
            before = self.cpu_s()
            time.sleep(1)
            return self.cpu_s() - before <= 0.1
        until(is_at_rest)


class Stage:
    """The double, a store beside it, and an engine whose process tasks are the double's jobs."""

    def __init__(self, n, way):
        self.n = n
        self.way = way
        self.double = Double("--ingest-ms", "0")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-bench-"))
        self.store = self.folder / "store"
        self.store.mkdir()
        self.write_files()
        self.engine = Engine(self.store)
        self.empty = self.engine.bytes_of("VmRSS")
        self.cpu_s = 0.0  # of engines that are gone
        self.peak = 0

    def write_files(self):
        armada = {"endpoint": self.double.endpoint, "queue": QUEUE, "image": "debian:12",
                  "share": str(self.folder), "interval": f"{INTERVAL_S}s"}
        if self.way == "polled":
            armada["streams"] = 0
        (self.store / "settings.yaml").write_text(json.dumps({"plugins": {"armada": armada}}))
        (self.folder / "flow.yaml").write_text(FLOW)
        (self.folder / "inputs.json").write_text(json.dumps({"items": list(range(self.n))}))

    def close(self):
        self.engine.kill()
        self.double.stop()
        shutil.rmtree(self.folder)

    def submit(self):
        subprocess.run([TROUPE, "submit", "-q", "flow.yaml", "--inputs", "inputs.json", "--name",
                        "it", "--store", self.store], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL)

    def query(self, sql):
        store = sqlite3.connect(f"file:{self.store}/troupe.db?mode=ro", uri=True, timeout=60)
        try:
            return store.execute(sql).fetchall()
        finally:
            store.close()

    def progress(self, column):
        rows = self.query(f"SELECT {column} FROM record_progress")
        return rows[0][0] if rows else 0

    def calls(self, method):
        return self.double.counters()["calls"].get(method, {"calls": 0, "ids": 0})

    def print(self, figure, value, unit):
        """A line, as tests/bench/README.md has it."""
        name = figure if self.way == "streams" else figure + "_polled"
        self.peak = max(self.peak, self.engine.bytes_of("VmHWM"))
        print(json.dumps({"figure": name, "n": self.n, "value": value, "unit": unit, "workers": 2,
                          "durability": "full", "rss_bytes": self.peak}), flush=True)


# ------------------------------------------------------------------------------ while all live


def begin_all(stage):
    """From the submission until all run and the engine has heard so; the calls that this took."""
    begin = time.monotonic()
    stage.submit()

    def all_run():
        return stage.double.counters()["running"] == stage.n
    until(all_run)
    stage.print("plugin_begin_seconds", time.monotonic() - begin, "s")
    submits = stage.calls("SubmitJobs")["calls"]
    stage.print("plugin_submit_calls", submits / math.ceil(stage.n / SUBMIT_ITEMS), "per 200 jobs")
    stage.engine.rest()


def print_memory(stage, figure):
    time.sleep(REST_S)
    stage.print(figure, (stage.engine.bytes_of("VmRSS") - stage.empty) / stage.n, "bytes")


def look_at_state(stage):
    """Bytes of the rows that hold actors, their pages and what they were told."""
    sums = dict.fromkeys(STATES, 0)
    for behaviour, size in stage.query(
            "SELECT behaviour, sum(length(image)) FROM actors GROUP BY behaviour UNION ALL "
            "SELECT behaviour, sum(length(data)) FROM pages JOIN actors "
            "USING (key_group, key_serial) GROUP BY behaviour UNION ALL "
            "SELECT behaviour, sum(length(envelope)) FROM messages JOIN actors "
            "USING (key_group, key_serial) GROUP BY behaviour"):
        if behaviour in sums:
            sums[behaviour] += size
    for behaviour, figure in STATES.items():
        stage.print(figure, sums[behaviour] / stage.n, "bytes")
    size = sum(path.stat().st_size for path in stage.store.rglob("*") if path.is_file())
    stage.print("plugin_store_bytes", size / stage.n, "bytes")


def hold_all(stage):
    """What N jobs cost in which nothing happens; the longest of adaptive intervals is a minute."""
    before_s = stage.engine.cpu_s()
    stage.double.control("reset")
    begin = time.monotonic()
    time.sleep(HELD_S_MIN)
    elapsed_s = time.monotonic() - begin
    status = stage.calls("GetJobStatus")["calls"]
    batches = math.ceil(stage.n / STATUS_ITEMS)
    stage.print("plugin_status_calls", status / batches / (elapsed_s / INTERVAL_S),
                "per 500 jobs and interval")
    cpu_s = stage.engine.cpu_s() - before_s
    stage.print("plugin_held_cpu_percent", 100 * cpu_s / elapsed_s, "%")


# ---------------------------------------------------------------------- from events to phases


def event_times(stage, kind):
    """When jobs changed at the server: element to milliseconds, from a whole stream."""
    job, = stage.double.jobs(limit=1)
    elements, times = {}, {}
    for _, event_kind, event in stage.double.events(job["queue"], job["job_set"]):
        if event_kind == "submitted":
            name = event["job"]["clientId"].rpartition(".")[0]
            elements[event["jobId"]] = int(re.search(r"-(\d+)-[a-z0-9]+-\d+$", name)[1])
        elif event_kind == kind:
            at = event["created"]
            times[elements[event["jobId"]]] = at["seconds"] * 1000 + at.get("nanos", 0) // 10**6
    return times


def phase_times(stage, phase):
    """When elements came to a phase in the engine: element to milliseconds, from its history."""
    times = {}
    for base, entries in stage.query("SELECT base_ms, entries FROM record_element_block"):
        for element, _, after, *phases in json.loads(entries):
            if phase in phases:
                times[element] = base + after
    return times


def print_delays(stage, figure, kind, phase, first=None):
    """Median and p99 of the delay of events, all or those of the first few elements."""
    heard = phase_times(stage, phase)
    delays = sorted(max(0, heard[element] - at)
                    for element, at in event_times(stage, kind).items()
                    if element in heard and (first is None or element in first))
    stage.print(f"plugin_{figure}_ms", statistics.median(delays), "ms")
    stage.print(f"plugin_{figure}_p99_ms", delays[len(delays) * 99 // 100], "ms")


def end_some(stage):
    """Ends jobs one by one, while all others live; says how many."""
    count = min(SINGLE_ENDS, stage.n // 5)
    for _ in range(count):
        stage.double.control("jobs/end", how="succeeded", limit=1)
        time.sleep(SINGLE_END_S)

    def all_are_written():
        """Counts come soon after each change, the rows of elements at most a second later."""
        return stage.progress("succeeded") == count == len(phase_times(stage, SUCCEEDED))
    until(all_are_written)
    return count


# ------------------------------------------------------------------------------ restart and end


def restart(stage):
    """Kills the engine, and starts another one: until it has heard of all jobs again."""
    stage.cpu_s += stage.engine.cpu_s()
    stage.engine.kill()
    until(lambda: stage.double.counters()["streams_open"] == 0)
    live = stage.double.control("reset") or stage.double.counters()["live"]
    begin = time.monotonic()
    stage.engine = Engine(stage.store)

    def all_are_known():
        counters = stage.double.counters()
        asked = counters["calls"].get("GetJobStatus", {"ids": 0})["ids"]
        return counters["streams_open"] > 0 or asked >= live
    until(all_are_known)
    stage.print("plugin_restart_seconds", time.monotonic() - begin, "s")
    stage.print("plugin_restart_door_seconds", stage.engine.start_s, "s")
    counters = stage.double.counters()
    stage.print("plugin_restart_calls",
                sum(method["calls"] for method in counters["calls"].values()), "calls")
    stage.print("plugin_restart_submits", stage.calls("SubmitJobs")["calls"], "calls")
    stage.engine.rest()
    print_memory(stage, "plugin_bytes_restarted")
    stage.print("plugin_restart_cpu_ms", 1000 * stage.engine.cpu_s() / stage.n, "ms per job")
    stage.cpu_s -= stage.engine.cpu_s()  # a restart is no part of a job's life


def end_all(stage):
    begin = time.monotonic()
    stage.double.control("hold", is_held=False)

    def it_has_ended():
        return stage.query("SELECT ended_ms FROM record_execution")[0][0] != 0
    until(it_has_ended)
    stage.print("plugin_end_seconds", time.monotonic() - begin, "s")
    stage.engine.rest()
    stage.cpu_s += stage.engine.cpu_s()
    stage.print("plugin_cpu_ms", 1000 * stage.cpu_s / stage.n, "ms per job")
    counters = stage.double.counters()
    if counters["jobs_created"] != stage.n or counters["duplicates"] != 0:
        sys.exit(f"plugins.py: not each job once: {counters}")


def measure(n, way):
    stage = Stage(n, way)
    try:
        stage.double.control("hold", is_held=True)
        begin_all(stage)
        look_at_state(stage)
        hold_all(stage)
        print_memory(stage, "plugin_bytes")
        single = end_some(stage)
        print_delays(stage, "event", "succeeded", SUCCEEDED)
        restart(stage)
        end_all(stage)
        print_delays(stage, "burst", "succeeded", SUCCEEDED, range(single, n))
    finally:
        stage.close()


def main():
    parser = argparse.ArgumentParser(description="Called by tests/bench/run.")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--milliseconds", type=int, default=200, help="not used: all take longer")
    parser.add_argument("--way", choices=("streams", "polled"), action="append")
    arguments = parser.parse_args()
    for way in arguments.way or ("streams", "polled"):
        measure(arguments.size, way)


if __name__ == "__main__":
    main()
