#!/usr/bin/env python3
"""kill -9 of engines while their jobs are made, watched, gathered and cancelled on Armada.

AT4 of the acceptance tests of the plugin: a place in the life of an array, and a moment there that
a seed draws; many stores, each with an engine and an array, and a double of Armada in common. What
is left has exactly one job for each element, and every element's result. TROUPE_TEST_SEED repeats
a run.
"""

import json
import pathlib
import random
import signal
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

from armada import ARRAY, LONG_S, ArmadaTest, until  # noqa: E402
from kills import IS_LONG, seed_of  # noqa: E402

SIZE = 40
STORES = 50 if IS_LONG else 3
SPREAD_S = 0.3

# What the server does while engines die: the switches, and whether jobs go on running.
ON_THE_WAY = {"latency": {"ms": 400, "method": "SubmitJobs"}}
UNANSWERED = {"lost_answer": {"how": "hang", "method": "SubmitJobs"}}
WITHOUT_KEYS = {"dedup_off": {}}


class Story:
    """One store and what happens on it."""

    def __init__(self, test, number):
        self.test = test
        self.name = f"n{number}"
        self.folder = test.folder / self.name
        self.folder.mkdir()
        self.store = self.folder / "store"
        self.store.mkdir()
        settings = (test.store / "settings.yaml").read_text()
        (self.store / "settings.yaml").write_text(settings)
        self.running = None
        self.submits = 0  # calls to submit before its first engine

    def begin(self):
        """Runs the array, or goes on with it where an engine before has kept anything."""
        self.running = self.test.start(
            "run", "flow.yaml", "--inputs", "inputs.json", "--name", self.name, "--if-new",
            "--store", self.store, "-q", "-o", "json")

    def kill(self):
        self.running.signal(signal.SIGKILL)
        self.running.end()

    def jobs(self):
        return self.test.double.jobs(job_set=f"troupe-{self.name}-*")


class Places(ArmadaTest):
    def setUp(self):
        super().setUp()
        self.draw = random.Random(seed_of(self))
        self.write("flow.yaml", ARRAY.replace(", TASK", "").replace(", MAP", ""))
        self.write("inputs.json", json.dumps({"items": list(range(SIZE))}))

    def stories(self, **faults):
        for name, options in faults.items():
            self.double.fault(name, **options)
        return [Story(self, number) for number in range(STORES)]

    def pause(self):
        threading.Event().wait(self.draw.random() * SPREAD_S)

    def kill_each(self, stories, is_there):
        """Kills one engine after the other, some time after it has come to the place."""
        for story in stories:
            story.submits = self.double.calls("SubmitJobs")
            story.begin()
            until(lambda: is_there(story), LONG_S)
            self.pause()
            story.kill()

    def finish_all(self, stories):
        self.double.clear("latency", "lost_answer")
        self.double.control("hold", is_held=False)
        for story in stories:
            story.begin()
        for story in stories:
            self.check(self.finish(story.running))

    def check(self, document):
        self.assertEqual(document["phase"], "succeeded")

    def play(self, is_there, is_held=False, **faults):
        self.double.control("hold", is_held=is_held)
        stories = self.stories(**faults)
        self.kill_each(stories, is_there)
        self.finish_all(stories)
        self.assert_each_once(SIZE * STORES)
        for story in stories:
            self.assertEqual(len(story.jobs()), SIZE, story.name)


class KillsTest(Places):
    def test_before_anything_is_meant(self):
        self.play(lambda story: True)

    def test_on_the_way_to_the_server(self):
        self.play(lambda story: self.double.calls("SubmitJobs") > story.submits, **ON_THE_WAY)

    def test_between_the_work_and_its_answer(self):
        self.play(lambda story: len(story.jobs()) == SIZE, **UNANSWERED)

    def test_the_same_on_a_server_that_knows_no_client_ids(self):
        self.play(lambda story: len(story.jobs()) == SIZE, **UNANSWERED, **WITHOUT_KEYS)

    def test_between_the_answer_and_its_keeping(self):
        self.play(lambda story: len(story.jobs()) > 0)

    def test_while_it_watches(self):
        self.play(lambda story: len(story.jobs()) == SIZE, is_held=True)

    def test_while_results_come_in(self):
        self.play(lambda story: any(job["state"] == "SUCCEEDED" for job in story.jobs()))

    def test_while_it_cancels(self):
        self.double.control("hold", is_held=True)
        stories = self.stories(latency={"ms": 200, "method": ["CancelJobs", "CancelJobSet"]})
        for story in stories:
            story.begin()
            until(lambda: len(story.jobs()) == SIZE, LONG_S)
            self.troupe("abort", story.name, "--yes", "--store", story.store)
            self.pause()
            story.kill()
        for story in stories:
            story.begin()
        for story in stories:
            self.finish(story.running, 3)
        counters = self.double.wait(live=[0, 0])
        self.assertEqual((counters["jobs_created"], counters["duplicates"]), (SIZE * STORES, 0))
        self.assertEqual(counters["cancels_without_ids"], 0)


class OutputKillsTest(Places):
    """The same with commands that are run, whose outputs come back by the shared folder."""

    double_options = ("--execute", "--slots", "4")

    def setUp(self):
        super().setUp()
        self.write_squares(SIZE)

    def check(self, document):
        self.assertEqual(document["outputs"], {"b": [a * a for a in range(SIZE)]})

    def test_while_outputs_are_gathered(self):
        self.play(lambda story: any(job["state"] == "SUCCEEDED" for job in story.jobs()))

    def test_while_commands_run(self):
        self.play(lambda story: any(job["state"] == "RUNNING" for job in story.jobs()))


if __name__ == "__main__":
    unittest.main()
