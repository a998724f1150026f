#!/usr/bin/env python3
"""kill -9 at random moments, of the engine and of its keeper: the result is that of a run that
nobody disturbed, and no work that was finished is done again. TROUPE_TEST_SEED repeats a run."""

import collections
import json
import os
import random
import signal
import threading
import unittest

from kills import IS_LONG, KillTest, seed_of, wait_until

SIZE = 10000 if IS_LONG else 200
KILLS = 40 if IS_LONG else 6
ECHOES = 1000000 if IS_LONG else 20000
LONG_S = 3600

# Keepers that die cost their attempts a system retry each, of which there are three.
KEEPER_KILLS = 3


class RandomKillTest(KillTest):
    def begin(self, *words):
        return self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it", "-q",
                          "-o", "json", *words)

    def kill_at_random(self, running, draw, kills, wait, and_keeper=lambda number: False):
        """Kills and resumes; gives the last one, which goes on to the end."""
        for number in range(kills):
            wait(running, number)
            keeper_first = draw.random() < 0.5
            if and_keeper(number) and keeper_first:
                self.kill_keeper()
            running.signal(signal.SIGKILL)
            status, _, stderr = running.end()
            if and_keeper(number) and not keeper_first:
                self.kill_keeper()
            if status == 0:
                print(f"ended before kill {number + 1} of {kills}")
            self.assertIn(status, (0, -signal.SIGKILL), stderr)
            running = self.start("resume", "it", "-q", "-o", "json", *self.words)
        status, stdout, stderr = running.end(LONG_S)
        self.assertEqual(status, 0, stderr)
        return json.loads(stdout)

    def wait_for_progress(self, draw, lines):
        """Waits until so many lines were counted, and a little; now and then only the little."""
        goals = sorted(draw.randrange(lines) for _ in range(KILLS))

        def wait(running, number):
            if draw.random() < 0.75:
                wait_until(lambda: self.count_lines() >= goals[number]
                           or running.process.poll() is not None, "progress")
            threading.Event().wait(draw.random() * 0.05)
        return wait

    def run_and_kill(self, and_keeper):
        draw = random.Random(seed_of(self))
        self.words = ("-j", "8")
        self.write_fan_out(SIZE)
        running = self.begin(*self.words)
        wait_until(lambda: self.query_phase() is not None, "an execution")
        document = self.kill_at_random(running, draw, KILLS,
                                       self.wait_for_progress(draw, 2 * SIZE), and_keeper)
        self.assertEqual(document["outputs"], {"b": [a * a for a in range(SIZE)]})

    def query_phase(self):
        """What the history says of the execution; None while there is none."""
        try:
            rows = self.query("SELECT phase FROM record_execution")
        except Exception:  # noqa: BLE001: there is no store or no table yet
            return None
        return rows[0][0] if rows else None

    def test_engines_killed(self):
        self.run_and_kill(lambda number: False)
        self.assert_done_once(SIZE, may_be_unknown=False)
        self.assert_clean(KILLS)

    def test_engines_and_keepers_killed(self):
        self.run_and_kill(lambda number: number % (KILLS // KEEPER_KILLS) == 1)
        self.assert_done_once(SIZE, may_be_unknown=True)
        self.assert_clean(KILLS)

    def test_echoes(self):
        """A map that is as wide as the engine takes, without a process: complete and in order."""
        draw = random.Random(seed_of(self))
        self.words = ()
        rows = 16
        row = list(range(ECHOES // rows))
        self.write("flow.yaml", """
troupe: 1
tasks:
  say: {type: echo, inputs: {a: int}, outputs: {a: int}}
workflows:
  row:
    inputs: {number: int, items: [int]}
    nodes: {all: {map: say, with: {a: $items}}}
    outputs: {a: $all.a}
  main:
    inputs: {rows: [int], items: [int]}
    nodes: {all: {map: row, over: [number], with: {number: $rows, items: $items}}}
    outputs: {a: $all.a}
""")
        self.write("inputs.json", json.dumps({"rows": list(range(rows)), "items": row}))
        running = self.start("run", "flow.yaml", "main", "--inputs", "inputs.json", "--name", "it",
                             "-q", "-o", "json")
        wait_until(lambda: self.query_phase() is not None, "an execution")

        def wait(running, number):
            threading.Event().wait(draw.random() * (5 if IS_LONG else 0.3))
        document = self.kill_at_random(running, draw, KILLS, wait)
        self.assertEqual(document["outputs"], {"a": [row] * rows})


class ImportLiveTest(KillTest):
    def test_results_of_the_time_without_an_engine(self):
        """The engine is killed, its processes end without it, and their results are taken."""
        size = 8
        self.write_fan_out(size, 'while [ ! -e "$TROUPE_FOLDER/go" ]; do /bin/sleep 0.02; done')
        running = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it", "-q",
                             "-j", str(size))
        wait_until(lambda: len(self.counts()) == size, "all elements")
        running.signal(signal.SIGKILL)
        running.end()
        self.write("go", "")
        wait_until(lambda: len(self.counts()) == 2 * size and self.tasks() == [], "their ends")
        document = self.document("resume", "it", "-q", "-j", str(size))
        self.assertEqual(document["outputs"], {"b": [a * a for a in range(size)]})
        self.assert_done_once(size, may_be_unknown=False)
        self.assert_clean()


    def test_what_waits_for_its_turn_when_the_keeper_dies(self):
        """No fault of its own: it costs no retry of a task, and what ran is marked."""
        size = 4
        self.write_fan_out(size, 'while [ ! -e "$TROUPE_FOLDER/go" ]; do /bin/sleep 0.02; done')
        running = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it", "-q",
                             "-j", "1")
        wait_until(lambda: len(self.counts()) == 1 and self.keeper_knows(size), "all elements")
        self.kill_keeper()
        wait_until(lambda: len(self.failures()) >= size - 1, "what became of them")
        self.write("go", "")
        status, _, stderr = running.end()
        self.assertEqual(status, 0, stderr)
        codes = collections.Counter((code, is_unknown) for *_, code, is_unknown in self.failures())
        self.assertEqual(codes.pop(("OutcomeUnknown", 1)), 1)
        # One of which it had not heard yet is no failure at all.
        self.assertIn(codes, ({("ProcessNotStarted", 0): size - 1},
                              {("ProcessNotStarted", 0): size - 2}))
        self.assert_done_once(size, may_be_unknown=True)
        self.assert_clean()

    def keeper_knows(self, size):
        """Whether the keeper has heard of so many elements: their folders are made before."""
        return len(self.attempt_folders()) == size


class DescriptorTest(KillTest):
    def test_descriptors_do_not_grow(self):
        """One engine and one keeper run many processes and are asked by many guests."""
        self.write_fan_out(20)
        self.write("hold.yaml", """
troupe: 1
tasks: {hold: {run: [/bin/sh, -c, 'while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.05; done']}}
workflows: {main: {nodes: {hold: {task: hold}}}}
""")
        engine = self.start("run", "hold.yaml", "--name", "hold", "-q", "-j", "4")
        wait_until(lambda: self.tasks() != [], "the task that holds the engine")
        seen = []
        for _ in range(9):
            self.troupe("run", "flow.yaml", "--inputs", "inputs.json", "-q")
            seen.append(self.descriptors(engine.process.pid))
        self.write("go", "")
        status, _, stderr = engine.end()
        self.assertEqual(status, 0, stderr)
        print(f"descriptors of engine and keeper: {seen}")
        for column in zip(*seen):
            # What a guest had open is closed in the engine's own time, so no number is exact.
            self.assertLessEqual(min(column[-3:]), max(column[:3]) + 1, seen)
        self.assert_clean()

    def descriptors(self, engine):
        return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (engine, self.keeper())]


if __name__ == "__main__":
    unittest.main()
