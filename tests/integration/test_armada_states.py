#!/usr/bin/env python3
"""What the store holds of each element's job on Armada: read out of it, wherever an engine may be
with its array, and damaged, as no engine leaves it.

The numbers AT2, AT3 and AT16 are those of the acceptance tests of the plugin. That these tests see
made-up states is shown by a `troupe` that makes them up (seeds.c).
"""

import os
import signal
import unittest
from unittest import mock

import program
import stores
import test_armada
from program import LIMIT_S
from armada import IS_LONG, LONG_S, NARROW, ArmadaTest, until
from stored import Stored, fields, named, pack, sum_of, unpack, version_of

FIELDS = fields("state_plugin.h", "TR_ARMADA_ATTEMPT_FIELDS")
VERSION = version_of("state_plugin.h", "armada_attempt")

# How often elements are made to look at where they are, and each how often an engine is killed.
EVALUATIONS = 50 if IS_LONG else 20
KILLS = 10

# Pauses and resumptions, each of which wakes the array and all that lives of it.
WAKINGS = 1000 if IS_LONG else 200


class States(ArmadaTest):
    """An array of which all jobs run, and what the store says of them."""

    size = NARROW
    wait_s = LONG_S

    def begin_and_hold(self):
        self.double.control("hold", is_held=True)
        self.write_array(self.size)
        engine = self.begin()
        self.double.wait(running=self.size, timeout_s=LONG_S)
        return engine

    def resume(self):
        return self.start("resume", "it", "-q", "-o", "json")

    def wake(self):
        """Twice: by a pause, and by its end. Whoever resumes two does not stay to follow them."""
        self.troupe("pause", "it")
        self.troupe("resume", "it", "it")

    def jobs(self):
        """{element: id} as the server has them; the element is in the name that the job bears."""
        return {int(job["client_id"].split("-")[2]): job["job_id"] for job in self.double.jobs()}

    def assert_states(self, jobs):
        """Each element's state is Armada's own, of the version there is, and knows its own job."""
        stored = Stored(self.store)
        wrappers, elements = stored.wrappers(), stored.elements()
        self.assertEqual({(wrapper["plugin"], wrapper["version"])
                          for wrapper in wrappers.values()}, {("armada", VERSION)})
        handles = {elements[key]: named(unpack(wrapper["state"]), FIELDS)["handle"]
                   for key, wrapper in wrappers.items()}
        self.assertEqual(handles, jobs)
        self.assertEqual(len(set(handles.values())), self.size)

    def wait_for_states(self, jobs):
        """What the server has said is on its way to the store for a moment."""
        def are_there():
            wrappers = Stored(self.store).wrappers()
            return sum(named(unpack(wrapper["state"]), FIELDS)["handle"] != ""
                       for wrapper in wrappers.values()) == self.size
        until(are_there, self.wait_s)
        self.assert_states(jobs)


class StatesTest(States):
    def test_every_element_keeps_its_own_job(self):
        """AT2: whatever makes it look again, each element's stored state names its own job."""
        engine = self.begin_and_hold()
        jobs = self.jobs()
        self.assertEqual(len(set(jobs.values())), self.size)
        self.wait_for_states(jobs)
        self.double.control("reset")
        for number in range(EVALUATIONS):
            if number % KILLS == KILLS - 1:
                self.kill(engine, signal.SIGKILL)
                self.double.wait(streams_open=[0, 0])
                engine = self.resume()
                self.double.wait(streams_open=1)
            else:
                self.wake()
            self.assert_states(jobs)
        self.assertNotIn("SubmitJobs", self.calls())
        self.double.control("hold", is_held=False)
        self.finish(engine)
        self.assert_each_once(self.size)

    def test_a_storm_of_wakings(self):
        """AT3: whatever wakes the array while its jobs run, nothing is submitted again."""
        engine = self.begin_and_hold()
        self.double.control("reset")
        for _ in range(WAKINGS // 2):
            self.wake()
        self.assertNotIn("SubmitJobs", self.calls())
        self.double.control("hold", is_held=False)
        self.finish(engine)
        self.assert_each_once(self.size)


# What may have become of a state while no engine had the store, by what its plugin finds.
def older(wrapper):
    """Version 1 had no count of reads, which is the last field."""
    state = pack(unpack(wrapper["state"])[:sum(since <= 1 for _, since in FIELDS)])
    return summed({**wrapper, "version": 1, "state": state})


def later(wrapper):
    return summed({**wrapper, "version": VERSION + 1})


def damaged(wrapper):
    return {**wrapper, "sum": wrapper["sum"] ^ 1}


def of_another(wrapper):
    return {**wrapper, "plugin": "process"}


def of_another_with_its_sum(wrapper):
    return summed({**wrapper, "plugin": "process"})


def of_a_stranger(wrapper):
    return summed({**wrapper, "plugin": "unheard-of"})


def summed(wrapper):
    return {**wrapper, "sum": sum_of(wrapper)}


# Which elements have what, in turn; and of which of these nothing can be read.
LOSSES = (later, damaged, of_another, of_another_with_its_sum, of_a_stranger)
DAMAGES = (None, older, *LOSSES)


class DamageTest(States):
    def test_states_that_cannot_be_read_submit_nothing(self):
        """AT16: an older state is read; of any other the job is looked for, never made again."""
        engine = self.begin_and_hold()
        self.wait_for_states(self.jobs())
        self.kill(engine, signal.SIGKILL)
        self.troupe("list")  # who reads brings what the log has into the tables first
        stored = Stored(self.store)
        damages = {key: DAMAGES[element % len(DAMAGES)]
                   for key, element in stored.elements().items()}
        stored.write({key: damages[key](wrapper) for key, wrapper in stored.wrappers().items()
                      if damages[key] is not None})
        self.double.wait(streams_open=[0, 0])
        self.double.control("reset")
        engine = self.resume()
        self.double.wait(streams_open=1)
        # News for all that stay so: the jobs wait for a node, but for the one that was made first,
        # which has it, and goes on.
        self.double.control("settings", slots=1)
        self.double.control("jobs/end", how="lease_returned")
        lost = {element for element in range(self.size)
                if DAMAGES[element % len(DAMAGES)] in LOSSES}
        until(lambda: self.lost() <= lost and len(lost - self.lost()) <= 1, LIMIT_S)
        renamed = DAMAGES.index(of_another_with_its_sum)
        told = self.query("SELECT message FROM attempts WHERE code = 'PluginStateLost' "
                          f"AND element % {len(DAMAGES)} = {renamed}")
        for words, in told:
            self.assertIn("it names the plugin 'process'", words)
        self.assertGreater(len(told), 1)
        self.double.control("settings", slots=0)
        self.double.control("hold", is_held=False)
        self.finish(engine)
        self.assertNotIn("SubmitJobs", self.calls())
        self.assert_each_once(self.size)
        self.assertEqual(self.attempts_failed(), [])

    def lost(self):
        """The elements of which the history says that their state was lost."""
        return {element for element, in self.query(
            "SELECT element FROM attempts WHERE code = 'PluginStateLost'")}


class SeededTest(States):
    """That these tests can fail: with states that are made up for each element, as in Flyte."""

    size = 200
    wait_s = 5
    variable = staticmethod(test_armada.ArrayTest.variable)

    def seed(self, how):
        patch = mock.patch.object(program, "PROGRAM", stores.bound(os.environ["TROUPE_SEEDS"]))
        patch.start()
        self.addCleanup(patch.stop)
        self.seeds = how

    def environment(self):
        return dict(super().environment(), TROUPE_SEEDS_AS=self.seeds)

    def test_the_test_of_states_sees_states_that_know_no_job(self):
        self.seed("blobs")
        with self.assertRaisesRegex(AssertionError, f"not within {self.wait_s} s"):
            StatesTest.test_every_element_keeps_its_own_job(self)

    def test_the_first_test_sees_jobs_that_are_launched_again(self):
        self.seed("launches")
        with self.assertRaisesRegex(AssertionError, f"!= {self.size}"):
            test_armada.ArrayTest.test_each_element_is_one_job(self)

    def test_without_seeds_nothing_is_wrong(self):
        self.seed("")
        test_armada.ArrayTest.test_each_element_is_one_job(self)


if __name__ == "__main__":
    unittest.main()
