"""What the tests that kill engines share: moments, what runs outside, and what is left."""

import collections
import json
import os
import pathlib
import random
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

from program import (  # noqa: E402, F401
    LIMIT_S, PROGRAM, ProgramTest, process_folders, wait_until)
from stores import bound  # noqa: E402, F401

# How many elements a map has outside at once.
PARALLELISM = 64

IS_LONG = bool(os.environ.get("TROUPE_TEST_LONG"))

# Each element appends a line when it begins, and one when its outputs are written: lines of
# O_APPEND do not tear. `read` and `echo` belong to the shell, so an element is one process.
SQUARE = r"""
read -r line <"$TROUPE_INPUTS"
a=${line##*:}
a=${a%\}}
echo "begun $TROUPE_ELEMENT $TROUPE_ATTEMPT" >>"$TROUPE_FOLDER/counts"
WAITING
echo "{\"b\": $((a * a))}" >"$TROUPE_OUTPUTS"
echo "done $TROUPE_ELEMENT $TROUPE_ATTEMPT" >>"$TROUPE_FOLDER/counts"
"""

FAN_OUT = """
troupe: 1
tasks:
  to_list: {type: echo, inputs: {items: [int]}, outputs: {items: [int]}}
  square: {inputs: {a: int}, outputs: {b: int}, run: [/bin/sh, ./square.sh]}
  all: {type: echo, inputs: {b: [int]}, outputs: {b: [int]}}
workflows:
  main:
    inputs: {items: [int]}
    nodes:
      list: {task: to_list, with: {items: $items}}
      squares: {map: square, with: {a: $list.items}, parallelism: PARALLELISM}
      sum: {task: all, with: {b: $squares.b}}
    outputs: {b: $sum.b}
"""


def seed_of(test):
    """The seed of this run, printed so that TROUPE_TEST_SEED can repeat it."""
    seed = int(os.environ.get("TROUPE_TEST_SEED", random.SystemRandom().randrange(1 << 31)))
    print(f"{test.id()}: TROUPE_TEST_SEED={seed}", flush=True)
    return seed


class KillTest(ProgramTest):
    def write_fan_out(self, size, waiting=":"):
        self.write("flow.yaml", FAN_OUT.replace("PARALLELISM", str(PARALLELISM)))
        self.write("square.sh", SQUARE.replace("WAITING", waiting))
        self.write("inputs.json", json.dumps({"items": list(range(size))}))

    def counts(self):
        """How often each (word, element, attempt) was written."""
        path = self.folder / "counts"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return collections.Counter(tuple(line.split()) for line in lines)

    def count_lines(self):
        path = self.folder / "counts"
        return path.stat().st_size // 9 if path.exists() else 0  # at least "done 1 0\n"

    # What lives outside.

    def processes(self):
        """(pid, state, words) of all processes of this test's folder: tasks, engines, keepers."""
        found = []
        mark = os.fsencode(str(self.folder))
        for entry in process_folders():
            try:
                words = (entry / "cmdline").read_bytes()
                if mark in words or mark in (entry / "environ").read_bytes():
                    state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                    found.append((int(entry.name), state, words.split(b"\0")[:-1]))
            except OSError:
                pass
        return found

    def tasks(self):
        """The processes of tasks: whoever has a task's environment."""
        found = []
        mark = b"TROUPE_FOLDER=" + os.fsencode(str(self.folder))
        for pid, _, _ in self.processes():
            try:
                if mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found.append(pid)
            except OSError:
                pass
        return found

    def keeper(self):
        """The keeper's pid, or None."""
        for pid, state, words in self.processes():
            if b"keeper" in words[1:2] and state != "Z":
                return pid
        return None

    def kill_keeper(self, number=signal.SIGKILL):
        pid = self.keeper()
        if pid is not None:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        return pid is not None

    def zombies_of(self, pid):
        """The children of a process that nobody has reaped."""
        found = []
        for path in process_folders():
            try:
                state, parent = (path / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            except OSError:
                continue
            if state == "Z" and int(parent) == pid:
                found.append(int(path.name))
        return found

    # What is left inside.

    def failures(self):
        """(node, element, attempt, code, is_unknown) of every attempt that failed."""
        return self.query("SELECT path, element, attempt, code, is_unknown FROM record_attempt "
                          "WHERE failure != 0 ORDER BY path, element, attempt")

    def assert_clean(self, kills=0):
        """Nothing of any task runs, is unreaped, or lies about, but for what failed.

        What a killed engine had just asked to be removed stays, too: at most what its map had
        outside.
        """
        wait_until(lambda: self.tasks() == [], "the end of all tasks")
        keeper = self.keeper()
        if keeper is not None:
            self.assertEqual(self.zombies_of(keeper), [])
        kept = {row[0] for row in
                self.query("SELECT generated_name FROM record_attempt WHERE failure != 0")}
        left = set(self.attempt_folders()) - kept
        self.assertLessEqual(len(left), kills * PARALLELISM, left)

    def attempt_folders(self):
        """Names of the folders of attempts: PROJECT/DOMAIN/EXECUTION/ATTEMPT."""
        return sorted(path.name for path in (self.store / "attempts").glob("*/*/*/*"))

    def assert_done_once(self, size, may_be_unknown):
        """Each attempt began once, no element was finished twice, and none was left out."""
        counts = self.counts()
        again = {key: number for key, number in counts.items() if number != 1}
        self.assertEqual(again, {}, "attempts that began more than once")
        done = collections.Counter(element for word, element, _ in counts if word == "done")
        self.assertEqual({element for element in done if done[element] > 1}, set(),
                         "elements that were finished more than once")
        begun = {element for word, element, _ in counts if word == "begun"}
        self.assertEqual(begun, {str(element) for element in range(size)})
        retried = {(word, element, attempt) for word, element, attempt in counts if attempt != "0"}
        if not may_be_unknown:
            self.assertEqual(retried, set(), "attempts for which there was no reason")
        codes = {code for _, _, _, code, _ in self.failures()}
        self.assertLessEqual(codes, {"OutcomeUnknown", "ProcessNotStarted"})
