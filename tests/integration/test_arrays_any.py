#!/usr/bin/env python3
"""One suite of arrays for every kind of back end: an element is done once, whatever happens to the
engine, and no kind's elements know more of their array than another's.

The table of kinds is in kinds.py. The numbers AT1 to AT5, AT8 and AT11 are those of the acceptance
tests of arrays; AT17 is that they hold for all kinds.
"""

import json
import math
import os
import random
import signal
import sqlite3
import threading
import time
import unittest

from kinds import BAD, GOOD, KINDS, WORK, ArmadaShare, Seeded
from program import EXAMPLES, LIMIT_S, ProgramTest, slowness, wait_until

IS_LONG = bool(os.environ.get("TROUPE_TEST_LONG"))

SIZE = 5000 if IS_LONG else 500

# The width where the machine is the bound, since every element is a process of it.
COMMAND_SIZE = 1000 if IS_LONG else 64

LONG_S = 10 * LIMIT_S

# On a busy machine an array may come in parts that are not full.
CALLS_MORE = 3

RESTARTS = 10 if IS_LONG else 3
WAKINGS = 100 if IS_LONG else 10
KILLS = 20 if IS_LONG else 4

# A wide array takes longer to come back; a message at work in two kills would be taken for poison.
KILL_SPREAD_S = 2 if IS_LONG else 0.5
COLD_START_S = 10

# A few elements stand for all.
SAMPLE = (0, 17, 63)


class ArraysTest(ProgramTest):
    """A back end of one kind, and an array of its tasks."""

    kind_class = None

    def make_kind(self):
        return self.kind_class()

    def setUp(self):
        super().setUp()
        self.kind = self.make_kind()
        self.kind.start(self.folder)
        self.addCleanup(self.kind.stop)
        self.size = COMMAND_SIZE if self.kind.is_command else SIZE
        self.room = self.kind.room(self.size)
        self.store.mkdir()
        (self.store / "settings.yaml").write_text(json.dumps(self.kind.settings()))

    # What happens.

    def write_array(self, bad=None, where=None):
        """An array whose elements give their inputs back; `bad` is one that nobody takes."""
        outputs = {"outputs": {"sum": "int"}} if self.kind.has_outputs else {}
        node = {"map": "work", "with": {"a": "$items", "class": "$classes"}, **self.kind.node,
                **(where or {})}
        document = {
            "troupe": 1,
            "tasks": {"work": {"inputs": {"a": "int", "class": "string"}, **outputs,
                               **self.kind.task}},
            "workflows": {"main": {
                "inputs": {"items": ["int"], "classes": ["string"]},
                "nodes": {"work": node},
                **({"outputs": {"sum": "$work.sum"}} if outputs else {}),
            }},
        }
        classes = [BAD if element == bad else GOOD for element in range(self.size)]
        self.write("flow.yaml", json.dumps(document))
        self.write("work.sh", WORK)
        self.write("inputs.json", json.dumps({"items": list(range(self.size)),
                                              "classes": classes}))

    def begin(self):
        return self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it", "-q",
                          "-o", "json", *self.kind.words())

    def resume(self):
        return self.start("resume", "it", "-q", "-o", "json", *self.kind.words())

    def begin_and_hold(self):
        """An array of which as much is live as can be, and stays so."""
        self.kind.hold(True)
        self.write_array(where=self.where_kills())
        engine = self.begin()
        wait_until(lambda: self.kind.figures().live >= self.room, "what is live", LONG_S)
        return engine

    def where_kills(self):
        """What is lost may be so where it is told; other kinds lose nothing."""
        return {"min_successes": 1} if self.kind.forgets else None

    def kill(self, engine, number=signal.SIGKILL):
        engine.signal(number)
        return engine.end(LONG_S)[0]

    def finish(self, engine, status=0):
        ended, stdout, stderr = engine.end(LONG_S)
        self.assertEqual(ended, status, f"{stdout}\n{stderr}")
        return json.loads(stdout)

    # What has to be so.

    def assert_each_once(self, but=()):
        """Every element was made, none of them twice or in two attempts; nothing is left."""
        figures = self.kind.figures()
        self.assertEqual(figures.doubled(), {}, "made more than once")
        wanted = {(element, 0) for element in range(self.size) if element not in but}
        self.assertEqual(set(figures.made), wanted)
        self.assertEqual(figures.live, 0)
        return figures

    def assert_outputs(self, document, lost=()):
        if self.kind.has_outputs:
            wanted = [None if element in lost else element for element in range(self.size)]
            self.assertEqual(document["outputs"]["sum"], wanted)

    def lost(self):
        """The elements of which the history says that nobody knows what became of them."""
        failed = self.failed()
        self.assertTrue(all(is_unknown for _, _, is_unknown in failed), failed)
        return {element for element, _, _ in failed}

    def failed(self):
        """(element, attempt, is unknown) of every attempt that failed."""
        return self.query("SELECT element, attempt, is_unknown FROM record_attempt "
                          "WHERE failure != 0 ORDER BY element, attempt")

    def assert_finished(self, document):
        """The end of an array whose engine was killed: complete, but for what its kind forgets."""
        lost = self.lost()
        if not self.kind.forgets:
            self.assertEqual(lost, set())
        self.assert_outputs(document, lost)
        figures = self.kind.figures()
        self.assertEqual(figures.doubled(), {}, "made more than once")
        self.assertLessEqual({(element, 0) for element in range(self.size) if element not in lost},
                             set(figures.made))
        wait_until(lambda: self.kind.figures().live == 0, "the end of all jobs", LONG_S)

    def assert_handles(self, elements=SAMPLE):
        for element in elements:
            handle = self.kind.handle_of(element)
            if handle is not None:
                place = f"it/work[{element}]"
                wait_until(lambda: handle in self.troupe("explain", "-v", place)[0], handle, LONG_S)


class Suite:
    """The tests. This is no test case, so that they are run with kinds alone."""

    def test_each_element_is_made_once(self):
        """AT1."""
        self.write_array()
        self.assert_outputs(self.finish(self.begin()))
        figures = self.assert_each_once()
        self.assertEqual(figures.asked, self.size)
        if self.kind.takes is not None:
            calls = math.ceil(self.size / self.kind.takes) + CALLS_MORE
            self.assertLessEqual(figures.calls["make"], calls, figures.calls)

    def test_every_element_keeps_its_own_job(self):
        """AT2: whatever wakes it, each element knows the job that is its own."""
        engine = self.begin_and_hold()
        for number in range(RESTARTS):
            self.assert_handles()
            asked = self.kind.figures().asked
            self.kill(engine, signal.SIGTERM if number % 2 else signal.SIGKILL)
            engine = self.resume()
            self.assert_handles()
            if not self.kind.forgets:
                self.assertEqual(self.kind.figures().asked, asked, "made more than once")
        self.kind.hold(False)
        self.assert_finished(self.finish(engine))

    def test_a_storm_of_wakings(self):
        """AT3: pauses, resumptions and questions make nothing."""
        engine = self.begin_and_hold()
        asked = self.kind.figures().asked
        for _ in range(WAKINGS):
            self.troupe("pause", "it")
            self.start("resume", "it", "-q")
            self.troupe("explain", "it")
        self.assertEqual(self.kind.figures().asked, asked)
        self.kind.hold(False)
        self.start("resume", "it", "-q")
        self.assert_outputs(self.finish(engine))
        self.assert_each_once()

    def test_kills_at_any_moment(self):
        """AT4: kill -9 while elements begin, run and end."""
        seed = int(os.environ.get("TROUPE_TEST_SEED", random.SystemRandom().randrange(1 << 31)))
        draw = random.Random(seed)
        self.write_array(where=self.where_kills())
        engine = self.begin()
        with self.subTest(TROUPE_TEST_SEED=seed):
            wait_until(lambda: self.is_known(engine), "an execution", LONG_S)
            for _ in range(KILLS):
                threading.Event().wait(draw.random() * KILL_SPREAD_S)
                self.assertIn(self.kill(engine), (0, -signal.SIGKILL))
                engine = self.resume()
            self.assert_finished(self.finish(engine))

    def is_known(self, engine):
        return engine.process.poll() is not None or self.count_executions() > 0

    def count_executions(self):
        try:
            return self.query("SELECT count(*) FROM record_execution")[0][0]
        except sqlite3.Error:  # there is no store or no table yet
            return 0

    def test_a_cold_start_costs_little(self):
        """AT5: what runs is found again with as few questions as there can be, soon."""
        engine = self.begin_and_hold()
        self.assert_handles((self.room - 1,))  # what is not heard of yet is asked for once more
        for _ in range(2):
            self.kill(engine)
            before = self.kind.figures()
            begin = time.monotonic()
            engine = self.resume()
            self.assert_handles()
            after = self.kind.figures()
            took_s = time.monotonic() - begin
            self.assertLess(took_s, COLD_START_S * slowness())
            if not self.kind.forgets:
                self.assertEqual(after.asked, before.asked)
            if self.kind.looks is not None:
                rounds = 1 + math.ceil(took_s)  # each second once, as the settings say
                looks = after.calls["look"] - before.calls["look"]
                self.assertLessEqual(looks, rounds * (math.ceil(self.size / self.kind.looks) + 1))
                self.assertEqual(after.calls["make"], before.calls["make"])
        self.kind.hold(False)
        self.assert_finished(self.finish(engine))

    def test_one_bad_element_costs_itself_alone(self):
        """AT8: what a back end refuses takes nobody with it."""
        self.write_array(bad=17, where={"min_successes": self.size - 1})
        self.assert_outputs(self.finish(self.begin()), lost=(17,))
        self.assertEqual(self.failed(), [(17, 0, 0)])
        self.assert_each_once(but=(17,))

    def test_an_abort_leaves_nothing(self):
        """AT11."""
        engine = self.begin_and_hold()
        self.troupe("abort", "it", "--yes")
        self.finish(engine, 3)
        self.assert_over()

    def test_an_abort_that_is_killed_on_the_way(self):
        """AT11."""
        engine = self.begin_and_hold()
        self.troupe("abort", "it", "--yes")
        self.kill(engine)
        self.troupe("resume", "it", status=3)
        self.assert_over(engines=2)

    def assert_over(self, engines=1):
        """Nothing is live; each engine has asked for the end of everything once, many at a time."""
        wait_until(lambda: self.kind.figures().live == 0, "the end of all jobs", LONG_S)
        figures = self.kind.figures()
        self.assertEqual(figures.doubled(), {})
        if self.kind.takes is not None:
            calls = engines * math.ceil(self.size / self.kind.takes) + CALLS_MORE
            self.assertLessEqual(figures.calls["end"], calls, figures.calls)


for kind in KINDS:
    globals()[f"{kind.__name__}Test"] = type(f"{kind.__name__}Test", (Suite, ArraysTest),
                                             {"kind_class": kind})


class OneLineTest(ArraysTest):
    """Where the work of processes is done is a line of the settings."""

    kind_class = ArmadaShare

    def test_the_fan_out_example_gives_the_same(self):
        """Two files of settings that differ in one line, and the same of everything else."""
        size = 20
        path = self.store / "settings.yaml"
        armada = json.dumps(json.loads(path.read_text())["plugins"]["armada"])
        printed, lines = {}, {}
        for kind in ("process", "armada"):
            path.write_text(f"task_types:\n  process: {kind}\nplugins:\n  armada: {armada}\n")
            lines[kind] = path.read_text().splitlines()
            printed[kind], _ = self.troupe("run", EXAMPLES / "fan_out.yaml", "-q", "-i",
                                           f"size={size}", "--name", kind)
            plugins = {row[0] for row in self.query(
                f"SELECT plugin FROM record_attempt WHERE generated_name LIKE '{kind}-%'")}
            self.assertEqual(plugins, {kind})
        changed = [pair for pair in zip(*lines.values(), strict=True) if pair[0] != pair[1]]
        self.assertEqual(changed, [("  process: process", "  process: armada")])
        self.assertEqual(printed["process"], printed["armada"])
        self.assertEqual(printed["armada"], f"sum: {sum(a * a for a in range(size))}\n")
        counters = self.kind.double.counters()
        self.assertEqual((counters["jobs_created"], counters["duplicates"]), (size + 2, 0))


class SeededTest(ArraysTest):
    """That the suite can fail: plugin states that an array makes up double jobs, as in Flyte."""

    def make_kind(self):
        return Seeded(seeds=1)

    def test_the_first_test_sees_it(self):
        with self.assertRaisesRegex(AssertionError, "made more than once"):
            Suite.test_each_element_is_made_once(self)

    def test_the_test_of_states_sees_it(self):
        with self.assertRaisesRegex(AssertionError, "made more than once"):
            Suite.test_every_element_keeps_its_own_job(self)


class UnseededTest(ArraysTest):
    """The same plugin, whose state is kept: so it is the state that the tests see."""

    def make_kind(self):
        return Seeded(seeds=0)

    def test_the_first_test_finds_no_fault(self):
        Suite.test_each_element_is_made_once(self)


if __name__ == "__main__":
    unittest.main()
