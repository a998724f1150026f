"""What the tests share in which PostgreSQL fails under an engine at work: the work, an engine that
can be killed, and commands that are asked meanwhile.

The work is an array of processes, a chain of them and a nested workflow. Each process appends a
line when it begins and one when its outputs are written, so the tasks themselves say how often they
ran.
"""

import collections
import json
import os
import re
import signal
import subprocess
import threading

from kills import IS_LONG, LIMIT_S, PROGRAM, KillTest, seed_of, wait_until  # noqa: F401

import postgres  # noqa: E402, F401: kills has said where it is

# How often each fault comes.
ROUNDS = 200 if IS_LONG else 3

# The faults that are tried, all of them unless somebody looks for one.
CHOSEN = os.environ.get("TROUPE_TEST_FAULTS", "")

WIDTH = 16
CHAIN = 4
TASKS = WIDTH + CHAIN + 1
LINES = 2 * TASKS

STEP = r"""
read -r line <"$TROUPE_INPUTS"
n=${line##*:}
n=${n%\}}
me="$TROUPE_EXECUTION $TROUPE_NODE/$TROUPE_ELEMENT $TROUPE_ATTEMPT"
echo "begun $me" >>"$TROUPE_FOLDER/counts"
sleep 0.0$((n % 4 + 1))
echo "{\"n\": $((2 * n + 1))}" >"$TROUPE_OUTPUTS"
echo "done $me" >>"$TROUPE_FOLDER/counts"
"""

FLOW = """
troupe: 1
tasks:
  step: {inputs: {n: int}, outputs: {n: int}, run: [/bin/sh, ./step.sh]}
workflows:
  nested: {inputs: {n: int}, nodes: {s: {task: step, with: {n: $n}}}, outputs: {n: $s.n}}
  main:
    inputs: {items: [int], n: int}
    nodes:
      wide: {map: step, with: {n: $items}, parallelism: 4}
      c1: {task: step, with: {n: $n}}
CHAIN
      below: {workflow: nested, with: {n: $cLAST.n}}
    outputs: {wide: $wide.n, last: $below.n}
"""

# What a command may say while the database is away: whose fault it is, and what it found.
AWAY = re.compile(r"the database \"\w+\" at \S+ cannot be opened: .+; .+|"
                  r"the connection to the database \"\w+\" at \S+ was lost: .+")


def flow():
    chain = "\n".join(f"      c{i}: {{task: step, with: {{n: $c{i - 1}.n}}}}"
                      for i in range(2, CHAIN + 1))
    return FLOW.replace("CHAIN", chain).replace("LAST", str(CHAIN))


def expected(number):
    """What an execution gives."""
    last = number
    for _ in range(CHAIN + 1):
        last = 2 * last + 1
    return {"wide": [2 * n + 1 for n in range(WIDTH)], "last": last}


class FaultTest(KillTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", flow())
        self.write("step.sh", STEP)
        self.number = 0
        self.faults = collections.Counter()
        self.asked = collections.Counter()

    def bind(self, locator):
        self.store.mkdir(0o700)
        self.bound = self.store / "database"
        self.bound.write_text(f"{locator}&options=-csearch_path%3Dfaults\n")
        self.bound.chmod(0o600)
        self.troupe("store", "init")

    # The engine.

    def start_engine(self):
        self.engine = self.start("serve", "-j", "8")
        self.engine.wait_for("serves")

    def kill_engine(self):
        self.engine.signal(signal.SIGKILL)
        status, _, stderr = self.engine.end()
        self.started.remove(self.engine)
        self.assertEqual(status, -signal.SIGKILL, stderr)

    # The work.

    def next_work(self):
        """The name of the next execution, and the command that begins it."""
        self.number += 1
        name = f"x{self.number}"
        items = ", ".join(map(str, range(WIDTH)))
        return name, ("submit", "flow.yaml", "main", "-i", f"items=[{items}]", "-i",
                      f"n={self.number}", "--name", name)

    def submit(self):
        """Begins an execution, and gives its name."""
        name, words = self.next_work()
        self.troupe(*words)
        return name

    def count_of(self, name):
        """How many lines the tasks of an execution have written."""
        path = self.folder / "counts"
        return path.read_text().count(f" {name} ") if path.exists() else 0

    def submit_and_wait(self, draw):
        """Begins an execution, and waits until a random part of its work is done."""
        name = self.submit()
        goal = draw.randrange(LINES + 1)
        wait_until(lambda: self.count_of(name) >= goal, f"{goal} lines of {name}")
        return name

    def pause(self, draw, most_s):
        threading.Event().wait(draw.random() * most_s)

    def finish(self, name):
        """Waits until an execution has ended by itself, and holds it to what it has to give."""
        def has_ended():
            threading.Event().wait(0.03)
            status, stdout, _ = self.ask("get", name, "-o", "json")
            return status == 0 and json.loads(stdout)["phase"] == "succeeded"
        wait_until(has_ended, f"{name} succeeds by itself: {self.engine.lines['stderr'][-5:]}",
                   3 * LIMIT_S)
        document = self.document("get", name)
        self.assertEqual(document["outputs"], expected(int(name[1:])))

    # Who asks meanwhile.

    def ask(self, *words):
        """(status, stdout, stderr) of a command, which has to answer soon in any case."""
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, text=True,
                              env=self.environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT_S)
        return done.returncode, done.stdout, done.stderr

    def ask_while_away(self, fault, name):
        """While the database is away, commands say so, and that is an engine's failure (4)."""
        for words in (("list",), ("explain", name)):
            status, _, stderr = self.ask(*words)
            self.assertEqual(status, 4, f"{fault}: {words}: {stderr}")
            self.assertRegex(stderr, AWAY, f"{fault}: {words}")
            self.asked[fault] += 1

    # What is held at the end.

    def assert_all_ran_once(self):
        """Each task of each execution ran once and in its first attempt."""
        counts = collections.Counter((self.folder / "counts").read_text().split("\n")[:-1])
        again = {line: count for line, count in counts.items() if count != 1}
        self.assertEqual(again, {}, "lines that were written more than once")
        executions = range(1, self.number + 1)
        self.assertEqual(len(counts), LINES * len(executions))
        self.assertEqual({line for line in counts if not line.endswith(" 0")}, set(),
                         "attempts for which there was no reason")
        self.assertEqual(self.failures(), [])

    def end(self):
        """Ends the engine, says what was done, and looks at what is left."""
        self.engine.signal(signal.SIGTERM)
        status, _, stderr = self.engine.end()
        self.assertEqual(status, 0, stderr)
        print(f"{self.id()}: {self.number} executions of {TASKS} processes; faults "
              f"{dict(sorted(self.faults.items()))}; commands that met an outage "
              f"{dict(sorted(self.asked.items()))}", flush=True)
        wait_until(lambda: self.tasks() == [], "the end of all tasks")
        self.end_keeper()
