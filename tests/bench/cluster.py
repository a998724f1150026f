#!/usr/bin/env python3
"""What several hosts on one store in PostgreSQL take. Prints a JSON line per figure; README.md says
what each is, and FLOORS below what it has to be at most.

    cluster.py --size N [--milliseconds M] [--troupe PROGRAM]

Three hosts (release) work beside each other on this machine, with a server that syncs. N executions
are begun by one, spread over all, and sleep. One host is killed, or begun anew at once, a moment
before their time is over: the figure is how long the last of them then takes.
"""

import argparse
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

import postgres  # noqa: E402

TROUPE = ROOT / "build/release/troupe"
HOSTS = "abc"
LEASE_S = 10
LIMIT_S = 600
IDLE_S = 10

# What is said when hosts come is over, and its streams have ended.
SETTLE_S = 30

# Seconds behind the lease; round trips of an idle host a second.
FLOORS = {"cluster_takeover_s": 3, "cluster_restart_s": 6, "cluster_leave_s": 10,
          "cluster_idle_transactions": 3, "cluster_drain_s": 10, "cluster_move_ms": 200}

FLOW = """
troupe: 1
tasks: {{}}
workflows:
  one: {{inputs: {{item: int}}, nodes: {{slept: {{sleep: {span}s}}}}}}
  main:
    inputs: {{items: [int]}}
    nodes: {{all: {{map: one_plan, with: {{item: $items}}}}}}
  wide:
    inputs: {{items: [int]}}
    nodes: {{all: {{map: one, with: {{item: $items}}}}}}
launch_plans: {{one_plan: {{workflow: one}}}}
"""


def until(condition, what, limit_s=LIMIT_S):
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


class Cluster:
    """A server, a store in it, and a folder for each host."""

    def __init__(self, span):
        self.server = postgres.Server(is_synced=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-bench-"))
        self.locator = self.server.locator(database=self.server.make_database())
        self.running = {}
        (self.folder / "blobs").mkdir()
        (self.folder / "flow.yaml").write_text(FLOW.format(span=span))
        self.troupe("store", "init", self.locator)
        for name in HOSTS:
            self.make(name)

    def make(self, name):
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        (folder / "database").write_text(self.locator + "\n")
        (folder / "database").chmod(0o600)
        (folder / "settings.yaml").write_text(json.dumps(
            {"host_name": name, "host_address": f"127.0.0.1:{free_port()}", "lease": f"{LEASE_S}s",
             "blobs": str(self.folder / "blobs")}))

    def close(self):
        for process in self.running.values():
            process.kill()
            process.wait()
        self.server.stop()
        shutil.rmtree(self.folder)

    def troupe(self, *words):
        done = subprocess.run([TROUPE, *map(str, words)], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"troupe {words}: {done.stderr}")
        return done.stdout

    def ask(self, sql):
        return self.server.run(f"SET search_path TO troupe; {sql}", self.locator)[-1][0]

    def count(self, phase):
        return int(self.ask(f"SELECT count(*) FROM executions WHERE phase = '{phase}'"))

    def begin(self, *names):
        for name in names:
            self.running[name] = subprocess.Popen(
                [TROUPE, "serve", "-q", "--store", self.folder / name])
        until(lambda: self.shares() == len(self.running), "each host has a share")

    def shares(self):
        return int(self.ask("SELECT count(DISTINCT host) FROM partitions"))

    def launch(self, n):
        """N executions that sleep, spread over all hosts; how long that takes."""
        inputs = json.dumps({"items": list(range(n))})
        (self.folder / "inputs.json").write_text(inputs)
        began = time.monotonic()
        self.troupe("submit", self.folder / "flow.yaml", "main", "--name", f"all{n}", "--inputs",
                    self.folder / "inputs.json", "--store", self.folder / "a")
        until(lambda: self.count("running") >= n + 1, "all run")
        return time.monotonic() - began

    def end(self, name, number):
        process = self.running.pop(name)
        process.send_signal(number)
        return process


def show(figure, n, value, unit):
    print(json.dumps({"bench": "cluster", "figure": figure, "n": n, "value": round(value, 3),
                      "unit": unit, "floor": FLOORS.get(figure)}), flush=True)


def idle(cluster):
    """Transactions a second that each further host costs the server while nothing happens."""
    def rate():
        sql = ("SELECT pg_stat_clear_snapshot(), xact_commit FROM pg_stat_database"
               " WHERE datname = current_database()")
        before = int(cluster.server.run(sql, cluster.locator)[-1][1])
        time.sleep(IDLE_S)
        return (int(cluster.server.run(sql, cluster.locator)[-1][1]) - before) / IDLE_S
    cluster.begin("a")
    time.sleep(SETTLE_S)
    alone = rate()
    cluster.begin("b", "c")
    time.sleep(SETTLE_S)
    show("cluster_idle_transactions", 3, (rate() - alone) / 2, "1/s")


def last_of(cluster, n, figure, act, lease_s):
    """How long the last execution takes from `act` on, beyond the lease."""
    took = cluster.launch(n)
    show(figure.replace("_s", "_births"), n, n / took, "1/s")
    time.sleep(max(0.0, cluster.span - took - lease_s / 2))
    began = time.monotonic()
    act(cluster)
    until(lambda: cluster.count("running") == 0, "all have ended")
    show(figure, n, time.monotonic() - began - lease_s, "s")


def kill(cluster):
    cluster.end("b", signal.SIGKILL).wait()


def restart(cluster):
    kill(cluster)
    cluster.begin("b")


def leave(cluster):
    cluster.end("b", signal.SIGTERM).wait()


def drain(cluster, n):
    """How long a host with its share of N executions takes to give all, and their longest stand."""
    cluster.launch(n)
    drained = json.loads(cluster.troupe("drain", "b", "--wait", "-o", "json", "--store",
                                        cluster.folder / "a"))
    show("cluster_drain_s", n, drained["took_ms"] / 1000, "s")
    until(lambda: cluster.ask("SELECT count(*) FROM partitions WHERE moved_us > 0") == "0", "open")
    frozen_us = cluster.ask("SELECT max(frozen_us) FROM partitions")
    show("cluster_drain_frozen_ms", n, int(frozen_us) / 1000, "ms")


def move(cluster, n):
    """How long one execution with N actors stands still when it moves."""
    (cluster.folder / "inputs.json").write_text(json.dumps({"items": list(range(n))}))
    cluster.troupe("submit", cluster.folder / "flow.yaml", "wide", "--name", "wide", "--inputs",
                   cluster.folder / "inputs.json", "--store", cluster.folder / "a")
    until(lambda: int(cluster.ask("SELECT count(*) FROM actors")) > n, "all elements are there")
    told = json.loads(cluster.troupe("explain", "wide", "-o", "json", "--store",
                                     cluster.folder / "a"))
    to = next(name for name in HOSTS if name != told["host"])
    moved = json.loads(cluster.troupe("move", "wide", "--to", to, "-o", "json", "--store",
                                      cluster.folder / "a"))
    show("cluster_move_ms", n, moved["frozen_us"] / 1000, "ms")


def main():
    global TROUPE
    parser = argparse.ArgumentParser(description="Called by tests/bench/run.")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--milliseconds", type=int, default=200, help="not used: all take longer")
    parser.add_argument("--troupe", type=pathlib.Path, help="another program of ours")
    parser.add_argument("--only", default="takeover,restart,leave,drain,move")
    arguments = parser.parse_args()
    TROUPE = arguments.troupe or TROUPE
    span = 15 + arguments.size // 200
    for name, act, lease_s in (("takeover", kill, LEASE_S), ("restart", restart, 0),
                               ("leave", leave, 0)):
        if name not in arguments.only.split(","):
            continue
        cluster = Cluster(span)
        cluster.span = span
        try:
            if name == "takeover":
                idle(cluster)
            else:
                cluster.begin(*HOSTS)
            last_of(cluster, arguments.size, f"cluster_{name}_s", act, lease_s)
        finally:
            cluster.close()
    for name, measure in (("drain", drain), ("move", move)):
        if name not in arguments.only.split(","):
            continue
        cluster = Cluster(span)
        try:
            cluster.begin(*HOSTS)
            measure(cluster, arguments.size)
        finally:
            cluster.close()


if __name__ == "__main__":
    main()
