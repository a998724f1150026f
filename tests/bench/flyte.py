#!/usr/bin/env python3
"""What a trivial task of flytekit's costs. Prints a JSON line per figure, as README.md says.

    flyte.py --size N [--milliseconds M]

Packages that flytekit has made run in a `troupe serve` (release), with warm workers and without.
Beside them are the bare command of one task, and flytekit's own local execution. Then there are
packages that are only checked, the memory of a worker, and what 1,000 tasks leave that are killed
at random. flytekit is installed into build/yardsticks/flyte the first time.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime

ROOT = pathlib.Path(__file__).resolve().parents[2]
TROUPE = ROOT / "build/release/troupe"
KIT = ROOT / "build/yardsticks/flyte"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

FLOWS = """
import typing
from flytekit import map_task, task, workflow

@task
def double(a: int) -> int:
    return 2 * a

@task
def numbers(size: int) -> typing.List[int]:
    return list(range(size))

@workflow
def chain(a: int) -> int:
    for _ in range({chain}):
        a = double(a=a)
    return a

@workflow
def few(a: int) -> int:
    for _ in range({few}):
        a = double(a=a)
    return a

@workflow
def many(size: int) -> typing.List[int]:
    return map_task(double)(a=numbers(size=size))

@task(environment={{"TMPDIR": "{folder}"}})
def killed(a: int) -> int:
    return a

@workflow
def bearing(a: typing.List[int]) -> typing.List[typing.Optional[int]]:
    return map_task(killed, min_success_ratio=0.0)(a=a)
"""

LOCAL = """
import sys, time
import flows
begin = time.monotonic(), time.process_time()
flows.many(size=int(sys.argv[1]))
print(time.monotonic() - begin[0], time.process_time() - begin[1])
"""

# A Python that has imported what a worker has, and does nothing.
IDLE = """
import gc, sys
import flytekit.bin.entrypoint, flows
gc.collect()
print(next(line for line in open("/proc/self/status") if line.startswith("RssAnon")))
"""

# Behind support/flyte_package.py: nine tasks, and a workflow of these, again and again.
ENTITIES = """
for i in range(SIZE // 10):
    for j in range(9):
        task(f"m.t{i}.t{j}", "i['a']", {"a": INTEGER})
    workflow(f"m.w{i}", {"a": INTEGER}, [
        node(f"n{j}", f"m.t{i}.t{j}", a=promise(f"n{j - 1}") if j else promise("", "a"))
        for j in range(9)], {"o0": promise("n8")})
write()
"""

CHAIN = 20  # tasks one after the other
FEW = 4  # the same of a cold one, in turn with the bare command
ROUNDS = 8
COLD_MAX = 20  # elements of a map where each imports for itself
ENTITY_COUNTS = (300, 5000)
CHECKS = 5
KILLED_MAX = 1000
KILL_S = 0.05


def have_flytekit():
    if not (KIT / "complete").exists():
        shutil.rmtree(KIT, ignore_errors=True)
        KIT.parent.mkdir(parents=True, exist_ok=True)
        for words in ([sys.executable, "-m", "venv", KIT],
                      [KIT / "bin/pip", "install", "--quiet", "flytekit"]):
            subprocess.run(words, check=True, stdout=sys.stderr)
        (KIT / "complete").touch()


def children_cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Stage:
    def __init__(self, n):
        self.n = n
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-bench-"))
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()
        self.environment = os.environ | {
            "PATH": f"{KIT}/bin:{os.environ['PATH']}", "VIRTUAL_ENV": str(KIT),
            "TROUPE_STORE": str(self.folder / "store"), "PYTHONPATH": str(self.folder)}
        (self.folder / "flows.py").write_text(FLOWS.format(
            chain=CHAIN, few=FEW, folder=self.temporary))
        self.run([KIT / "bin/pyflyte", "--pkgs", "flows", "package", "--image", "none:1",
                  "--source", ".", "-o", "flows.tgz", "-f", "--fast"])

    def run(self, words):
        return subprocess.run(list(map(str, words)), cwd=self.folder, env=self.environment,
                              check=True, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE).stdout

    def print(self, figure, value, unit, n=None):
        print(json.dumps({"figure": f"flyte_{figure}", "n": n or self.n, "value": value,
                          "unit": unit, "workers": 2, "durability": "full",
                          "rss_bytes": 0}), flush=True)


def is_marked_a_workers(path):
    """The keeper's mark is TROUPE_KEEPER_KEY=STORE/KEY; no attempt's key begins with a slash."""
    try:
        return b"//" in (path / "environ").read_bytes().split(b"\0")[0]
    except OSError:
        return True


class Engine:
    """A `troupe serve`; all that it starts is found by the store in its environment."""

    def __init__(self, stage, *words):
        self.stage = stage
        shutil.rmtree(stage.folder / "store", ignore_errors=True)
        self.process = subprocess.Popen([TROUPE, "serve", *words], cwd=stage.folder,
                                        env=stage.environment, text=True, stderr=subprocess.PIPE)
        while " serves " not in self.process.stderr.readline():
            continue

    def processes(self):
        """The engine, the keeper, its workers and attempts: folders of /proc and command lines."""
        mark = os.fsencode(str(self.stage.folder))
        found = {}
        for path in pathlib.Path("/proc").iterdir():
            try:
                if path.name.isdigit() and mark in (path / "environ").read_bytes():
                    found[path] = (path / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
        return found

    def workers(self):
        """The worker and what it has forked."""
        return [path for path, words in self.processes().items() if b"-c" in words[1:2]]

    def attempts(self):
        """What the worker has forked, and is an attempt by now."""
        return [path for path in self.workers() if not is_marked_a_workers(path)]

    def cpu_s(self):
        """Of all of them, and of what those have waited for."""
        ticks = 0
        for path in self.processes():
            try:
                fields = (path / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += sum(map(int, fields[11:15]))
        return ticks / TICKS_PER_S

    def measure(self, name, *inputs):
        """Wall and CPU seconds of one execution."""
        begin = time.monotonic(), self.cpu_s()
        self.stage.run([TROUPE, "submit", "-q", "flows.tgz", name, *inputs, "--wait", "-o", "json"])
        return time.monotonic() - begin[0], self.cpu_s() - begin[1]

    def lasted_s(self, name):
        """How long an execution took, without the command that has submitted it."""
        row = json.loads(self.stage.run([TROUPE, "get", name, "-o", "json"]))
        begin, end = (datetime.fromisoformat(row[key].replace("Z", "+00:00"))
                      for key in ("started_at", "ended_at"))
        return (end - begin).total_seconds()

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()


def prepare_bare(stage):
    """The command of one task, as an engine gives it; its inputs are written here."""
    stage.run([KIT / "bin/python", "-c", "from flyteidl.core import literals_pb2 as l\n"
               "m = l.LiteralMap()\nm.literals['a'].scalar.primitive.integer = 4\n"
               "open('inputs.pb', 'wb').write(m.SerializeToString())"])
    return [KIT / "bin/pyflyte-execute", "--inputs", "inputs.pb", "--output-prefix", "out",
            "--raw-output-data-prefix", "out/raw", "--checkpoint-path", "out/checkpoint",
            "--prev-checkpoint", '""', "--resolver",
            "flytekit.core.python_auto_container.default_task_resolver", "--", "task-module",
            "flows", "task-name", "double"]


def cold_beside_bare(stage, serving):
    """In turn, since a machine changes its speed from second to second."""
    execute = prepare_bare(stage)
    readings = []
    for turn in range(ROUNDS):
        begin = time.monotonic(), children_cpu_s()
        stage.run(execute)
        bare = time.monotonic() - begin[0], children_cpu_s() - begin[1]
        _, cpu_s = serving.measure("few", "-i", "a=1", "--name", f"turn-{turn}")
        cold = serving.lasted_s(f"turn-{turn}") / FEW, cpu_s / FEW
        readings.append((*bare, *cold, cold[0] - bare[0], cold[1] - bare[1]))
    names = ("bare", "bare_cpu", "cold", "cold_cpu", "cold_beyond_bare", "cold_beyond_bare_cpu")
    for name, values in zip(names, zip(*readings)):
        stage.print(f"{name}_ms", 1000 * statistics.median(values), "ms", ROUNDS)


def local(stage):
    """flytekit's own execution of the map, in one process."""
    wall_s, cpu_s = map(float, stage.run([KIT / "bin/python", "-c", LOCAL, stage.n]).split()[-2:])
    stage.print("local_map_element_ms", 1000 * wall_s / stage.n, "ms")
    stage.print("local_map_element_cpu_ms", 1000 * cpu_s / stage.n, "ms")


def map_element(stage, serving, way, elements):
    wall_s, cpu_s = serving.measure("many", "-i", f"size={elements}")
    stage.print(f"{way}_map_element_ms", 1000 * wall_s / elements, "ms")
    stage.print(f"{way}_map_element_cpu_ms", 1000 * cpu_s / elements, "ms")
    return wall_s / elements


def warm(stage):
    serving = Engine(stage)
    try:
        serving.measure("flows.double", "-i", "a=1")  # the worker imports
        idle(stage, serving)
        wall_s, cpu_s = serving.measure("chain", "-i", "a=1")
        stage.print("warm_ms", 1000 * wall_s / CHAIN, "ms", CHAIN)
        stage.print("warm_cpu_ms", 1000 * cpu_s / CHAIN, "ms", CHAIN)
        return map_element(stage, serving, "warm", stage.n)
    finally:
        serving.end()


def cold(stage):
    serving = Engine(stage, "--no-warm")
    try:
        cold_beside_bare(stage, serving)
        serving.measure("bearing", "-i", f"a={[*range(FEW)]}")
        stage.print("cold_left_folders", len(list(stage.temporary.iterdir())), "folders", FEW)
        return map_element(stage, serving, "cold", min(stage.n, COLD_MAX))
    finally:
        serving.end()


def anonymous_bytes(line):
    return 1024 * int(line.split()[1])


def idle(stage, serving):
    """A worker's memory of its own beyond that of a Python with the same imports."""
    worker, = serving.workers()
    status = (worker / "status").read_text().splitlines()
    used = anonymous_bytes(next(line for line in status if line.startswith("RssAnon")))
    own = anonymous_bytes(stage.run([KIT / "bin/python", "-c", IDLE]))
    stage.print("idle_bytes", used, "bytes", 1)
    stage.print("idle_beyond_python_bytes", used - own, "bytes", 1)


def check(stage, count):
    script = (ROOT / "tests/support/flyte_package.py").read_text()
    (stage.folder / "entities.py").write_text(script + ENTITIES.replace("SIZE", str(count)))
    (stage.folder / "entities").mkdir(exist_ok=True)
    subprocess.run([KIT / "bin/python", "../entities.py"], cwd=stage.folder / "entities",
                   check=True)
    seconds = []
    for _ in range(CHECKS):
        begin = time.monotonic()
        stage.run([TROUPE, "check", "entities/flows.tgz"])
        seconds.append(time.monotonic() - begin)
    stage.print("check_seconds", statistics.median(seconds), "s", count)


def leftovers(stage):
    """Of a map whose elements are killed at random."""
    count = min(stage.n, KILLED_MAX)
    serving = Engine(stage)
    try:
        serving.measure("flows.killed", "-i", "a=1")
        keeper, = (path for path, words in serving.processes().items() if words[1] == b"keeper")
        files = len(list((keeper / "fd").iterdir()))
        running = subprocess.Popen(
            [TROUPE, "submit", "-q", "flows.tgz", "bearing", "-i", f"a={[*range(count)]}",
             "--wait"],
            cwd=stage.folder, env=stage.environment, stdout=subprocess.DEVNULL)
        draw, kills = random.Random(18), 0
        while running.poll() is None:
            attempts = serving.attempts()
            for path in draw.sample(attempts, min(1, len(attempts))):
                try:
                    os.kill(int(path.name), signal.SIGKILL)
                    kills += 1
                except ProcessLookupError:
                    pass
            time.sleep(draw.uniform(0, KILL_S))
        left = len(list((keeper / "fd").iterdir())) - files
    finally:
        serving.end()
    end = time.monotonic() + 10
    while serving.processes() and time.monotonic() < end:
        time.sleep(KILL_S)
    folders = [path for path in stage.temporary.iterdir() if "warm" not in path.name]
    stage.print("killed", kills, "processes", count)
    stage.print("left_processes", len(serving.processes()), "processes", count)
    stage.print("left_descriptors", left, "descriptors", count)
    stage.print("left_folders", len(folders), "folders", count)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--milliseconds", type=int)
    arguments = parser.parse_args()
    have_flytekit()
    stage = Stage(arguments.size)
    try:
        local(stage)
        warm_s = warm(stage)
        cold_s = cold(stage)
        stage.print("map_times_faster", cold_s / warm_s, "times")
        for count in ENTITY_COUNTS:
            check(stage, count)
        leftovers(stage)
    finally:
        shutil.rmtree(stage.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
