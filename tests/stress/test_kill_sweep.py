#!/usr/bin/env python3
"""kill -9 at every change that an engine, or its keeper, makes to its disk, and then `resume`.

The program is `troupe_mortal` (mortal.c), which counts its writes, syncs, renames and the like and
kills itself before the n-th. A run of all kinds of nodes is killed at each n; what it had said to
have begun must be there, and the end must be that of a run that nobody disturbed: outputs, phases,
and no process more than that one had. So must a schedule that fires each second: one execution for
each, and none twice. A part of the points by default, all with TROUPE_TEST_LONG.
"""

import collections
import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import unittest

from kills import IS_LONG, LIMIT_S, PROGRAM, KillTest, bound, wait_until

MORTAL = bound(os.environ.get(
    "TROUPE_MORTAL", pathlib.Path(__file__).resolve().parents[2] / "build/dev/tests/troupe_mortal"))

# The long form takes every point, the short one each n-th.
STEP = 1 if IS_LONG else 10
STEP_KEEPER = 1 if IS_LONG else 2
STEP_SCHEDULE = 1 if IS_LONG else 10

# Runs at once: most of a run is waiting.
AT_ONCE = 4

FLOW = """
troupe: 1
tasks:
  split: {inputs: {text: string}, outputs: {parts: [file]}, run: [/bin/sh, ./task.sh, split]}
  upper: {inputs: {part: file}, outputs: {part: file}, run: [/bin/sh, ./task.sh, upper]}
  flaky:
    outputs: {n: int}
    run: [/bin/sh, ./task.sh, flaky]
    retries: 2
    backoff: {first: 20ms, factor: 2, max: 1s}
  cached: {inputs: {n: int}, outputs: {n: int}, run: [/bin/sh, ./task.sh, cached],
    cache: {version: v1, serialize: true}}
  broken: {run: [/bin/sh, ./task.sh, broken]}
  note: {inputs: {text: string}, run: [/bin/sh, ./task.sh, note]}
  say: {type: echo, inputs: {n: int}, outputs: {n: int}}
  wait: {type: core-sleep, inputs: {time: duration}}
  decide: {inputs: {n: int}, outputs: {n: int}, run: [/bin/sh, ./task.sh, decide]}
launch_plans:
  plan: {workflow: launched}
workflows:
  launched:
    inputs: {n: int}
    nodes: {said: {task: say, with: {n: $n}}}
    outputs: {n: $said.n}
  inner:
    inputs: {n: int}
    nodes:
      one: {task: say, with: {n: $n}}
      two: {task: cached, with: {n: $one.n}}
    outputs: {n: $two.n}
  outer:
    inputs: {numbers: [int]}
    nodes:
      all: {map: inner, with: {n: $numbers}}
      plain: {map: say, with: {n: $all.n}}
    outputs: {n: $plain.n}
  fails:
    nodes: {broken: {task: broken}}
    on_failure: {task: note, with: {text: failure}}
    finally: {task: note, with: {text: over}}
  main:
    inputs: {numbers: [int], text: string}
    nodes:
      split: {task: split, with: {text: $text}}
      upper: {map: upper, with: {part: $split.parts}}
      flaky: {task: flaky}
      wait: {task: wait, with: {time: 30ms}}
      nested: {workflow: outer, with: {numbers: $numbers}, after: [wait]}
      choice:
        switch:
          - {when: $flaky.n > 5, task: say, with: {n: 0}}
          - else: {task: say, with: {n: $flaky.n}}
      optional: {workflow: fails, optional: true}
      launch: {launch: plan, with: {n: $flaky.n}}
      plans: {map: plan, with: {n: $numbers}}
      decided: {dynamic: decide, with: {n: 7}}
      rest: {sleep: 30ms}
      release: {approve: release, after: [rest]}
      price: {signal: price, type: int}
      priced: {task: say, with: {n: $price.value}, after: [release]}
    outputs: {n: $nested.n, chosen: $choice.n, parts: $upper.part, launched: $launch.n,
      plans: $plans.n, decided: $decided.n, priced: $priced.n}
    finally: {task: note, with: {text: main}}
"""

# Each process writes a line when it begins, with all that names it.
TASK = r"""
echo "$1 $TROUPE_NODE $TROUPE_ELEMENT $TROUPE_ATTEMPT" >>"$TROUPE_FOLDER/begun"
case $1 in
split)
    echo one >a.txt
    echo two >b.txt
    echo '{"parts": ["a.txt", "b.txt"]}' >"$TROUPE_OUTPUTS"
    ;;
upper)
    echo "$TROUPE_ELEMENT" >upper.txt
    echo '{"part": "upper.txt"}' >"$TROUPE_OUTPUTS"
    ;;
flaky)
    [ "$TROUPE_ATTEMPT" -ge 2 ] || exit 1
    echo '{"n": 2}' >"$TROUPE_OUTPUTS"
    ;;
cached)
    cat "$TROUPE_INPUTS" >"$TROUPE_OUTPUTS"
    ;;
decide)
    echo '{"nodes": {"s": {"task": "say", "with": {"n": "$n"}}}, "outputs": {"n": "$s.n"}}' \
        >"$TROUPE_OUTPUTS"
    ;;
broken)
    exit 7
    ;;
esac
"""

# What people answer, whenever the engine lets them.
ANSWERS = (("approve", "it", "release"), ("signal", "it", "price", "12"))

TICK = """
troupe: 1
tasks: {stamp: {inputs: {at: datetime}, run: [/bin/sh, -c,
  'cat "$TROUPE_INPUTS" >>"$TROUPE_FOLDER/stamps"; echo >>"$TROUPE_FOLDER/stamps"']}}
workflows: {w: {inputs: {at: datetime}, nodes: {s: {task: stamp, with: {at: $at}}}}}
launch_plans:
  tick:
    workflow: w
    schedule: {every: 1s, kickoff_input: at, catch_up: all, overlap: allow}
"""

# The schedule is swept from the start of its engine until it has fired so often.
FIRINGS = 2

INPUTS = {"numbers": [3, 4, 3], "text": "x"}

# Phases by the numbers of schemas/engine/phase.h, and what became of each attempt.
WHAT_THERE_IS = {
    "execution": "SELECT name, phase, code FROM record_execution",
    "nodes": "SELECT path, kind, phase, code FROM record_node_status ORDER BY path",
    "attempts": "SELECT path, element, attempt, phase, code FROM record_attempt "
                "ORDER BY path, element, attempt",
}

# What differs when a keeper died: attempts more than before.
WITHOUT_ATTEMPTS = ("execution", "nodes")


def twin(text):
    """What may differ: the elements 0 and 2 have the same inputs, so either may make what the other
    takes; names of launched executions hold letters that are made of their parent's number."""
    text = text.replace("nested/all[2]/two", "nested/all[0]/two")
    return re.sub(r"^plan-\w{12}$", "plan", text)


class Run(KillTest):
    """One run in a folder of its own; several at once, so no test by itself."""

    def setUp(self):
        # A killed process leaves its writes with the system, so memory is as good as a disk.
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-sweep-", dir=place))
        self.store = self.folder / "store"
        self.started = []
        self.write("flow.yaml", FLOW)
        self.write("task.sh", TASK)
        self.write("inputs.json", json.dumps(INPUTS))
        self.to_answer = list(ANSWERS)

    @contextlib.contextmanager
    def answering(self):
        """People who answer the gates meanwhile; what was acknowledged is not said again."""
        is_over = threading.Event()

        def answer():
            while self.to_answer and not is_over.wait(0.05):
                done = subprocess.run([PROGRAM, *self.to_answer[0]], cwd=self.folder,
                                      env=self.environment(), capture_output=True)
                if done.returncode == 0:
                    self.to_answer.pop(0)

        people = threading.Thread(target=answer)
        people.start()
        try:
            yield
        finally:
            is_over.set()
            people.join()

    def call(self, *words, **variables):
        """(exit status, stdout, stderr) of the program, killed or not."""
        with self.answering():
            done = subprocess.run([MORTAL, *words], cwd=self.folder, text=True,
                                  capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S,
                                  env=dict(self.environment(), **variables))
        return done.returncode, done.stdout, done.stderr

    def run_it(self, **variables):
        return self.call("run", "flow.yaml", "main", "--inputs", "inputs.json", "--name", "it",
                         "-o", "json", "-j", "4", **variables)

    def begun(self):
        path = self.folder / "begun"
        lines = path.read_text().splitlines() if path.exists() else []
        return collections.Counter(twin(line) for line in lines)

    def outputs(self, stdout):
        """The document, with what the files hold in place of where they are."""
        document = json.loads(stdout)
        outputs = document.get("outputs") or {}
        outputs["parts"] = [pathlib.Path(part.removeprefix("file://")).read_text()
                            for part in outputs.get("parts", [])]
        return document

    def rows(self, names=tuple(WHAT_THERE_IS)):
        rows = {name: self.query(WHAT_THERE_IS[name]) for name in names}
        return {name: sorted((twin(row[0]), *row[1:]) for row in rows[name]) for name in names}


class Ticking(Run):
    """A schedule that fires each second, in an engine that stays."""

    def setUp(self):
        super().setUp()
        self.write("tick.yaml", TICK)
        self.troupe("apply", "tick.yaml")

    def serve(self, **variables):
        """Serves until it is killed, or has fired; whether it was killed."""
        begun = len(self.stamps())
        engine = subprocess.Popen([MORTAL, "serve", "-q"], cwd=self.folder,
                                  env=dict(self.environment(), **variables))
        try:
            wait_until(lambda: len(self.stamps()) >= begun + FIRINGS or engine.poll() is not None,
                       "firings")
        finally:
            engine.terminate()
        return engine.wait(LIMIT_S) == -signal.SIGKILL

    def stamps(self):
        path = self.folder / "stamps"
        return path.read_text().splitlines() if path.exists() else []

    def seconds(self):
        """The times of all executions, in order."""
        names = [name for name, in self.query("SELECT name FROM record_execution ORDER BY name")]
        return [datetime.datetime.strptime(name, "tick-%Y%m%dt%H%M%Sz") for name in names]


class SweepTest(unittest.TestCase):
    maxDiff = None  # the points and what is wrong there are all that there is to go by

    def setUp(self):
        if not MORTAL.exists():
            self.skipTest(f"{MORTAL} is not built")

    def reference(self, who):
        """A run that nobody kills: (changes, document, rows, processes)."""
        run = Run()
        run.setUp()
        try:
            count = run.folder / "changes"
            status, stdout, stderr = run.run_it(TROUPE_DIE_AS=who, TROUPE_DIE_COUNT=str(count))
            self.assertEqual(status, 0, stderr)
            return count.stat().st_size, run.outputs(stdout), run.rows(), run.begun()
        finally:
            run.tearDown()

    def kill_and_resume(self, who, at, reference):
        """Kills at one point and goes on; (whether it was killed, what is wrong or None)."""
        _, document, rows, begun = reference
        run = Run()
        run.setUp()
        try:
            once = run.folder / "died"
            status, stdout, stderr = run.run_it(TROUPE_DIE_AS=who, TROUPE_DIE_AT=str(at),
                                                TROUPE_DIE_ONCE=str(once))
            was_killed = once.exists()
            if status == -signal.SIGKILL:
                said = stderr
                status, stdout, stderr = run.call("resume", "it", "-o", "json", "-j", "4")
                if status == 2 and "it begins" not in said:
                    # Nobody was told of it, and so there may be nothing.
                    status, stdout, stderr = run.run_it()
            if status != 0:
                return was_killed, f"exit status {status}: {stderr}"
            self.compare(run, who, run.outputs(stdout), document, rows, begun)
        except (AssertionError, subprocess.TimeoutExpired, OSError) as problem:
            return False, str(problem)
        finally:
            run.tearDown()
        return was_killed, None

    def compare(self, run, who, found, document, rows, begun):
        self.assertEqual(found, document)
        names = tuple(rows) if who == "engine" else WITHOUT_ATTEMPTS
        self.assertEqual(run.rows(names), {name: rows[name] for name in names})
        if who == "engine":
            self.assertEqual(run.begun(), begun)
        else:
            again = {line: count for line, count in run.begun().items() if count > 1}
            self.assertEqual(again, {}, "attempts that began more than once")

    def sweep(self, who, step):
        reference = self.reference(who)
        changes = reference[0]
        self.assertGreater(changes, 20)
        return self.visit(who, range(1, changes + 1, step),
                          lambda at: self.kill_and_resume(who, at, reference))

    def visit(self, what, points, kill):
        """Kills at each of these points; (how often somebody was killed, how many points)."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(pool.map(kill, points))
        killed = sum(was_killed for was_killed, _ in done)
        print(f"{what}: {len(points)} of {points.stop - 1} points, killed {killed} times",
              flush=True)
        wrong = {at: problem for at, (_, problem) in zip(points, done) if problem is not None}
        self.assertEqual(wrong, {}, f"{len(wrong)} points")
        return killed, len(points)

    def test_engine(self):
        killed, points = self.sweep("engine", STEP)
        self.assertGreater(killed, points // 2)

    def test_keeper(self):
        """The engine lives on: a keeper that dies is followed by another one."""
        killed, points = self.sweep("keeper", STEP_KEEPER)
        self.assertGreater(killed, points // 2)

    def kill_ticking(self, at):
        """Kills a schedule's engine at one point and goes on; as kill_and_resume."""
        run = Ticking()
        run.setUp()
        try:
            was_killed = run.serve(TROUPE_DIE_AS="engine", TROUPE_DIE_AT=str(at),
                                   TROUPE_DIE_ONCE=str(run.folder / "died"))
            run.serve()
            seconds = run.seconds()
            wanted = [seconds[0] + datetime.timedelta(seconds=i) for i in range(len(seconds))]
            self.assertEqual(seconds, wanted)
            again = {line: count for line, count in collections.Counter(run.stamps()).items()
                     if count > 1}
            self.assertEqual(again, {}, "seconds that were run more than once")
        except (AssertionError, subprocess.TimeoutExpired, OSError, IndexError) as problem:
            return False, str(problem)
        finally:
            run.tearDown()
        return was_killed, None

    def count_ticking(self):
        run = Ticking()
        run.setUp()
        try:
            count = run.folder / "changes"
            run.serve(TROUPE_DIE_AS="engine", TROUPE_DIE_COUNT=str(count))
            return count.stat().st_size
        finally:
            run.tearDown()

    def test_schedule(self):
        """Whatever the engine was at, each second has its execution, and none has two."""
        killed, points = self.visit("schedule", range(1, self.count_ticking(), STEP_SCHEDULE),
                                    self.kill_ticking)
        self.assertGreater(killed, points // 2)


if __name__ == "__main__":
    unittest.main()
