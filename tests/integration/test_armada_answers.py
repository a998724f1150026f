#!/usr/bin/env python3
"""Answers of Armada that are lost, broken or nonsense, and a server that hangs or is not there.

AT9 of the acceptance tests of the plugin. An unknown outcome costs the lag, which is short here.
"""

import json
import subprocess
import unittest

from armada import SIZE, ArmadaTest, until
from program import LIMIT_S, PROGRAM

MIXED = """
troupe: 1
tasks:
  away: {inputs: {a: int}, run: ["true"]}
  here: {type: echo, inputs: {a: int}, outputs: {a: int}}
workflows:
  main:
    policy: finish_runnable
    nodes:
      away: {task: away, with: {a: 1}}
      first: {task: here, with: {a: 1}}
      second: {map: here, with: {a: [1, 2, 3]}, after: [first]}
"""


class AnswersTest(ArmadaTest):
    own_settings = {"lag": "2s"}

    def assert_all_went_well(self, size, failures=0):
        self.assert_each_once(size)
        self.assertEqual(len(self.attempts_failed()), failures)

    def test_answers_that_are_lost(self):
        """AT9: before the work, after it, and in the middle of an answer."""
        self.double.fault("refused", rate=0.05, seed=1, method="SubmitJobs")
        self.double.fault("lost_answer", rate=0.05, seed=2, how="half", method="SubmitJobs")
        self.double.fault("reset_request", rate=0.05, seed=3, method="SubmitJobs")
        self.write_array()
        self.run_all()
        faults = self.double.control("faults", "GET")
        for name in ("refused", "lost_answer", "reset_request"):
            self.assertGreater(faults[name]["strikes"], 0, name)
        self.assert_all_went_well(SIZE)

    def test_nonsense_is_no_answer(self):
        for what in ("text", "types", "empty", "huge"):
            self.double.fault("nonsense", what=what, times=2, method="SubmitJobs")
            self.write_array(200)
            with self.subTest(what):
                before = self.double.counters()["jobs_created"]
                self.finish(self.start("run", "flow.yaml", "--inputs", "inputs.json", "-q", "-o",
                                       "json"))
                counters = self.double.counters()
                self.assertEqual(counters["jobs_created"] - before, 200)
                self.assertEqual(counters["duplicates"], 0)

    def test_a_submission_that_was_half_done(self):
        self.double.fault("partial_submit", times=1, share=0.5)
        self.write_array(1000)
        self.run_all()
        self.assert_all_went_well(1000)

    def test_a_back_end_that_hangs_hurts_its_own_tasks_alone(self):
        self.settle(timeout="2s", lag="2s")
        self.double.fault("hang")
        self.write("flow.yaml", MIXED)
        self.write("inputs.json", "{}")
        engine = self.begin()
        self.await_phase("second", "succeeded")
        self.assertIn("armada", self.troupe("explain", "it")[0])
        self.double.clear()
        self.finish(engine)
        self.assert_all_went_well(1)

    def test_a_back_end_that_is_not_there_is_named(self):
        self.write("flow.yaml", MIXED)
        self.write("inputs.json", "{}")
        self.settle(endpoint="http://127.0.0.1:9")
        engine = self.begin()
        self.await_phase("second", "succeeded")
        until(lambda: "does not answer" in self.ask("explain", "it"), LIMIT_S)
        self.troupe("abort", "it", "--yes")
        self.finish(engine, 3)

    def test_a_server_that_is_late_for_good(self):
        """Each answer comes a little too late: words name the setting, and with more of it all
        goes on."""
        self.settle(timeout="500ms", lag="2s")
        self.double.fault("latency", ms=1000)
        self.write_array(40)
        engine = self.begin()
        words = "endpoint default of 'armada' does not answer within its `timeout` of 0.5 s"
        until(lambda: words in self.ask("explain", "it"), LIMIT_S)
        self.kill(engine, 9)
        self.settle(timeout="20s", lag="2s")
        self.troupe("resume", "it")
        self.assert_all_went_well(40)

    def await_phase(self, node, phase):
        """Waits for the phase of a node of an execution that may not be there yet."""
        def is_so():
            entries = json.loads(self.ask("get", "it", "-o", "json") or '{"nodes": []}')["nodes"]
            return any((entry["node"], entry["phase"]) == (node, phase) for entry in entries)
        until(is_so, LIMIT_S)

    def ask(self, *words):
        """What a command prints; nothing while there is nothing to print about."""
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, text=True, capture_output=True,
                              env=self.environment(), timeout=LIMIT_S)
        return done.stdout

    def test_a_queue_that_is_not_there_is_told(self):
        self.settle(queue="unheard-of")
        self.write_array(3)
        error = self.run_all(status=1)["error"]
        self.assertIn('could not find queue "unheard-of"', error["message"])
        self.assertEqual(self.double.counters()["jobs_created"], 0)


if __name__ == "__main__":
    unittest.main()
