#!/usr/bin/env python3
"""What a trivial task of flytekit's costs. Prints a JSON line per figure, as README.md says.

    flyte.py --size N [--milliseconds M]

Packages that flytekit has made run in a `troupe serve` (release), with warm workers and without.
Beside them are the bare command of one task, and flytekit's own local execution. flytekit is
installed into build/yardsticks/flyte the first time.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

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
def many(size: int) -> typing.List[int]:
    return map_task(double)(a=numbers(size=size))
"""

LOCAL = """
import sys, time
import flows
begin = time.monotonic(), time.process_time()
flows.many(size=int(sys.argv[1]))
print(time.monotonic() - begin[0], time.process_time() - begin[1])
"""

CHAIN = 20  # tasks one after the other
COLD_MAX = 20  # elements of a map where each imports for itself


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
        self.environment = os.environ | {
            "PATH": f"{KIT}/bin:{os.environ['PATH']}", "VIRTUAL_ENV": str(KIT),
            "TROUPE_STORE": str(self.folder / "store"), "PYTHONPATH": str(self.folder)}
        (self.folder / "flows.py").write_text(FLOWS.format(chain=CHAIN))
        self.run([KIT / "bin/pyflyte", "--pkgs", "flows", "package", "--image", "none:1",
                  "--source", ".", "-o", "flows.tgz", "-f", "--fast"])

    def run(self, words):
        return subprocess.run(list(map(str, words)), cwd=self.folder, env=self.environment,
                              check=True, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE).stdout

    def print(self, figure, value, unit, n=None):
        print(json.dumps({"figure": f"flyte_{figure}", "n": n or self.n, "value": value,
                          "unit": unit, "workers": 2, "durability": "full"}), flush=True)


class Engine:
    """A `troupe serve`; all that it starts is found by the store in its environment."""

    def __init__(self, stage, *words):
        self.stage = stage
        shutil.rmtree(stage.folder / "store", ignore_errors=True)
        self.process = subprocess.Popen([TROUPE, "serve", *words], cwd=stage.folder,
                                        env=stage.environment, text=True, stderr=subprocess.PIPE)
        while " serves " not in self.process.stderr.readline():
            continue

    def cpu_s(self):
        """Of the engine, the keeper, its workers, and of what those have waited for."""
        ticks = 0
        mark = os.fsencode(str(self.stage.folder))
        for path in pathlib.Path("/proc").iterdir():
            try:
                if path.name.isdigit() and mark in (path / "environ").read_bytes():
                    fields = (path / "stat").read_text().rpartition(")")[2].split()
                    ticks += sum(map(int, fields[11:15]))
            except OSError:
                continue
        return ticks / TICKS_PER_S

    def measure(self, name, *inputs):
        """Wall and CPU seconds of one execution."""
        begin = time.monotonic(), self.cpu_s()
        self.stage.run([TROUPE, "submit", "-q", "flows.tgz", name, *inputs, "--wait", "-o", "json"])
        return time.monotonic() - begin[0], self.cpu_s() - begin[1]

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()


def bare(stage):
    """The command of one task without an engine."""
    execute = [KIT / "bin/pyflyte-execute", "--inputs", "inputs.pb", "--output-prefix", "out",
               "--raw-output-data-prefix", "out/raw", "--resolver",
               "flytekit.core.python_auto_container.default_task_resolver", "--", "task-module",
               "flows", "task-name", "double"]
    stage.run([KIT / "bin/python", "-c", "from flyteidl.core import literals_pb2 as l\n"
               "m = l.LiteralMap()\nm.literals['a'].scalar.primitive.integer = 4\n"
               "open('inputs.pb', 'wb').write(m.SerializeToString())"])
    begin = time.monotonic(), children_cpu_s()
    stage.run(execute)
    stage.print("bare_ms", 1000 * (time.monotonic() - begin[0]), "ms", 1)
    stage.print("bare_cpu_ms", 1000 * (children_cpu_s() - begin[1]), "ms", 1)


def local(stage):
    """flytekit's own execution of the map, in one process."""
    wall_s, cpu_s = map(float, stage.run([KIT / "bin/python", "-c", LOCAL, stage.n]).split()[-2:])
    stage.print("local_map_element_ms", 1000 * wall_s / stage.n, "ms")
    stage.print("local_map_element_cpu_ms", 1000 * cpu_s / stage.n, "ms")


def engine(stage, way, elements, *words):
    serving = Engine(stage, *words)
    try:
        serving.measure("flows.double", "-i", "a=1")  # the worker imports
        wall_s, cpu_s = serving.measure("chain", "-i", "a=1")
        stage.print(f"{way}_ms", 1000 * wall_s / CHAIN, "ms", CHAIN)
        stage.print(f"{way}_cpu_ms", 1000 * cpu_s / CHAIN, "ms", CHAIN)
        wall_s, cpu_s = serving.measure("many", "-i", f"size={elements}")
        stage.print(f"{way}_map_element_ms", 1000 * wall_s / elements, "ms")
        stage.print(f"{way}_map_element_cpu_ms", 1000 * cpu_s / elements, "ms")
    finally:
        serving.end()
    return wall_s / elements


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--milliseconds", type=int)
    arguments = parser.parse_args()
    have_flytekit()
    stage = Stage(arguments.size)
    try:
        bare(stage)
        local(stage)
        warm_s = engine(stage, "warm", stage.n)
        cold_s = engine(stage, "cold", min(stage.n, COLD_MAX), "--no-warm")
        stage.print("map_times_faster", cold_s / warm_s, "times")
    finally:
        shutil.rmtree(stage.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
