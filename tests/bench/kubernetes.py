#!/usr/bin/env python3
"""What a pod costs the engine and its cluster. Prints a JSON line per figure; README.md says what
each is, and FLOORS below what it has to be.

    kubernetes.py --size N [--milliseconds M] [--troupe PROGRAM]

N elements of one map are pods, in a `troupe serve` (release) that is measured from outside. The
server is the double of tests/doubles/kubernetes in a process of its own, which counts the calls and
holds all pods while the engine's memory is looked at. N pods of others, a quota and an abort come
in stages of their own.
"""

import argparse
import importlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/doubles/kubernetes"))

from kubernetes_client import Double  # noqa: E402

plugins = importlib.import_module("plugins")

MIB = 1 << 20
KIB = 1 << 10
SINGLE_ENDS = 100
SINGLE_END_S = 0.05
QUOTA = 10
QUOTA_PODS = 1000
REST_S = 3

# Figure: what it has to be at most. Those of calls are for a map of 5,000.
FLOORS = {
    "kubernetes_creates": 1.0,
    "kubernetes_deletes": 10,
    "kubernetes_gets": 0,
    "kubernetes_watches": 1,
    "kubernetes_cpu_ms": 1.0,
    "kubernetes_event_ms": 10,
    "kubernetes_event_p99_ms": 50,
    "kubernetes_bytes": 4 * KIB,
    "kubernetes_relist_bytes": 16 * MIB,
    "kubernetes_relist_cpu_s": 3,
    "kubernetes_quota_creates": 1.1,
    "kubernetes_abort_calls": 12,
}

FLOW = """
troupe: 1
tasks:
  work: {type: kubernetes, inputs: {a: int}, run: ["true"]}
workflows:
  main:
    inputs: {items: [int]}
    nodes: {work: {map: work, with: {a: $items}}}
"""


class Stage:
    """The double, a store beside it, and an engine."""

    def __init__(self, n):
        self.n = n
        self.double = Double()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-bench-"))
        self.store = self.folder / "store"
        self.store.mkdir()
        settings = {"endpoint": self.double.endpoint, "image": "debian:12"}
        (self.store / "settings.yaml").write_text(json.dumps({"plugins": {"kubernetes": settings}}))
        (self.folder / "flow.yaml").write_text(FLOW)
        (self.folder / "inputs.json").write_text(json.dumps({"items": list(range(n))}))
        self.engine = plugins.Engine(self.store)
        self.empty = self.engine.bytes_of("VmRSS")

    submit = plugins.Stage.submit
    query = plugins.Stage.query
    progress = plugins.Stage.progress

    def close(self):
        self.engine.kill()
        self.double.stop()
        shutil.rmtree(self.folder)

    def calls(self, *methods):
        calls = self.double.counters()["calls"]
        return sum(calls.get(f"{method} pods", 0) for method in methods)

    def begin(self, **figures):
        self.submit()
        self.double.wait(timeout_s=plugins.LIMIT_S, **figures)

    def wait_ended(self):
        plugins.until(lambda: self.query("SELECT ended_ms FROM record_execution")[0][0] != 0)

    def print(self, figure, value, unit):
        name = f"kubernetes_{figure}"
        print(json.dumps({"figure": name, "n": self.n, "value": value, "unit": unit, "workers": 2,
                          "durability": "full", "rss_bytes": self.engine.bytes_of("VmHWM"),
                          "floor": FLOORS.get(name)}), flush=True)


def print_delays(stage):
    """Pods that end one by one, while all others live: from that until the engine has heard."""
    ends = []
    for _ in range(min(SINGLE_ENDS, stage.n // 5)):
        ends.append(stage.double.control("end", how="succeeded", limit=1)["at_ms"])
        time.sleep(SINGLE_END_S)
    plugins.until(lambda: len(plugins.phase_times(stage, plugins.SUCCEEDED)) == len(ends))
    heard = sorted(plugins.phase_times(stage, plugins.SUCCEEDED).values())
    delays = sorted(max(0, at - end) for at, end in zip(heard, ends))
    stage.print("event_ms", statistics.median(delays), "ms")
    stage.print("event_p99_ms", delays[len(delays) * 99 // 100], "ms")


def list_anew(stage, figure):
    """All pods are listed anew, as when a version is not known any more."""
    lists = stage.calls("list")
    stage.engine.rest()
    before_cpu_s, before = stage.engine.cpu_s(), stage.engine.bytes_of("VmRSS")
    pathlib.Path(f"/proc/{stage.engine.process.pid}/clear_refs").write_text("5")
    stage.double.fault("watch_cut", events=1, how="end", times=1)
    stage.double.fault("watch_expired", times=1)
    watches = stage.calls("watch")
    stage.double.control("end", how="succeeded", limit=1)
    plugins.until(lambda: stage.calls("list") > lists and stage.calls("watch") > watches + 1)
    stage.engine.rest()
    grown = max(0, stage.engine.bytes_of("VmHWM") - before)
    stage.print(f"{figure}_bytes", grown, "bytes")
    stage.print(f"{figure}_cpu_s", round(stage.engine.cpu_s() - before_cpu_s, 2), "s")


def live_and_end(n):
    stage = Stage(n)
    try:
        stage.double.control("hold", is_held=True)
        stage.begin(running=n)
        stage.engine.rest()
        time.sleep(REST_S)
        stage.print("bytes", (stage.engine.bytes_of("VmRSS") - stage.empty) / n, "bytes")
        print_delays(stage)
        list_anew(stage, "relist")
        stage.double.control("strangers", namespace="default", count=n)
        list_anew(stage, "strangers")
    finally:
        stage.close()


def life(n):
    """Nothing but a map, from its submission until all pods are gone."""
    stage = Stage(n)
    try:
        stage.begin(pods_created=n)
        stage.wait_ended()
        stage.double.wait(timeout_s=plugins.LIMIT_S, objects=[0, 0])
        stage.engine.rest()
        stage.print("creates", stage.calls("create") / n, "per pod")
        stage.print("deletes", stage.calls("delete", "deletecollection"), "calls")
        stage.print("gets", stage.calls("get"), "calls")
        stage.print("watches", stage.calls("watch"), "calls")
        stage.print("cpu_ms", 1000 * stage.engine.cpu_s() / n, "ms per pod")
        counters = stage.double.counters()
        if counters["pods_created"] != n or counters["duplicates"] != 0:
            sys.exit(f"kubernetes.py: not each pod once: {counters}")
    finally:
        stage.close()


def quota(n):
    stage = Stage(n)
    try:
        stage.double.control("quota", namespace="default", hard={"pods": str(QUOTA)})
        stage.begin(pods_created=n)
        stage.wait_ended()
        stage.print("quota_creates", stage.calls("create") / n, "per pod")
    finally:
        stage.close()


def abort(n):
    stage = Stage(n)
    try:
        stage.double.control("hold", is_held=True)
        stage.begin(running=n)
        before = stage.calls("delete", "deletecollection", "get", "list")
        subprocess.run([plugins.TROUPE, "abort", "-q", "it", "--store", stage.store], check=True,
                       stdout=subprocess.DEVNULL)
        stage.double.wait(timeout_s=plugins.LIMIT_S, objects=[0, 0])
        stage.print("abort_calls",
                    stage.calls("delete", "deletecollection", "get", "list") - before, "calls")
    finally:
        stage.close()


def main():
    parser = argparse.ArgumentParser(description="Called by tests/bench/run.")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--milliseconds", type=int, default=200, help="not used: all take longer")
    parser.add_argument("--troupe", type=pathlib.Path, help="another program of ours")
    arguments = parser.parse_args()
    plugins.TROUPE = arguments.troupe or plugins.TROUPE
    life(arguments.size)
    live_and_end(arguments.size)
    quota(min(arguments.size, QUOTA_PODS))
    abort(arguments.size)


if __name__ == "__main__":
    main()
