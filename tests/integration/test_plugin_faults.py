#!/usr/bin/env python3
"""A back end at its worst beside work that needs none: a workflow of processes, echo and jobs of
Armada's double. Whatever the double does wrong the rest completes, `explain` of what waits names
the plugin, its endpoint, what is wrong and when it is tried again, and once the double is well all
completes, with each job made once.

What plugins do wrong that are shared objects is test_plugins.py's.
"""

import json
import sys
import unittest

from program import LIMIT_S, ROOT, ProgramTest

sys.path.insert(0, str(ROOT / "tests/doubles/armada"))

from armada_client import QUEUE, Double, until  # noqa: E402

ELEMENTS = 20

MIXED = """
troupe: 1
tasks:
  process: {inputs: {a: int}, outputs: {a: int}, run: [cat], stdin: inputs, stdout: outputs}
  echo: {inputs: {a: int}, outputs: {a: int}, type: echo}
  job: {inputs: {a: int}, run: ["true"], type: armada}
workflows:
  main:
    policy: finish_runnable
    inputs: {items: [int]}
    nodes:
      jobs: {map: job, with: {a: $items}}
      processes: {map: process, with: {a: [1, 2, 3]}}
      echoes: {map: echo, with: {a: $processes.a}}
      last: {task: process, with: {a: 9}, after: [echoes]}
"""

# Everything that is asked of the double, its streams too: one that hangs is opened anew.
CALLS = ["SubmitJobs", "GetJobStatus", "GetJobStatusUsingExternalJobUri", "GetJobErrors",
         "GetJobSetEvents"]


class PluginFaultsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.double = Double()
        self.addCleanup(self.double.stop)
        self.store.mkdir()
        self.settle()
        self.write("mixed.yaml", MIXED)
        self.write("inputs.json", json.dumps({"items": list(range(ELEMENTS))}))

    def settle(self, **keys):
        armada = {"endpoint": self.double.endpoint, "queue": QUEUE, "image": "debian:12",
                  "share": str(self.folder), "interval": "1s", "timeout": "1s", "lag": "2s",
                  **keys}
        (self.store / "settings.yaml").write_text(json.dumps({"plugins": {"armada": armada}}))

    def begin(self):
        """Runs until all is done that needs no jobs, which is soon."""
        engine = self.start("run", "mixed.yaml", "--inputs", "inputs.json", "--name", "it")
        engine.wait_for("last: succeeded")
        self.assertEqual(self.phases()["jobs"], "running")
        return engine

    def phases(self):
        return {node["node"]: node["phase"] for node in self.document("get", "it")["nodes"]}

    def wait_for_words(self, *words):
        """Waits until `explain` of an element that waits says all of this of its endpoint."""
        said = ""

        def all_are_said():
            nonlocal said
            said = self.troupe("explain", "it/jobs[3]")[0]
            return all(word in said for word in words)
        try:
            until(all_are_said, LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{words} are not all in: {said}") from error
        self.assertNotIn("STUCK", said)

    def end_well(self, engine):
        self.double.clear()
        status, _, stderr = engine.end(2 * LIMIT_S)
        self.assertEqual(status, 0, stderr)
        self.assertEqual(set(self.phases().values()), {"succeeded"})
        counters = self.double.counters()
        self.assertEqual((counters["jobs_created"], counters["duplicates"]), (ELEMENTS, 0))

    def assert_hurts_only_its_own(self, fault, options, words):
        self.double.fault(fault, method=CALLS, **options)
        engine = self.begin()
        self.wait_for_words("'armada'", *words)
        self.end_well(engine)

    def test_one_that_hangs(self):
        self.assert_hurts_only_its_own(
            "hang", {}, ["its job may have been submitted, and is looked for", "endpoint default",
                         "does not answer within its `timeout` of", "tried again at 20"])

    def test_one_that_fails_for_ever(self):
        self.assert_hurts_only_its_own(
            "refused", {"code": "Internal"},
            ["nobody knows whether it was made (500)", "endpoint default", "does not answer (500",
             "tried again at 20"])

    def test_one_that_lets_nobody_in(self):
        self.assert_hurts_only_its_own(
            "refused", {"code": "Unauthenticated"},
            ["its job waits to be submitted", "endpoint default", "refuses us; look at its secret "
             "and permissions (401", "tried again at 20"])

    def test_one_that_wants_fewer_calls(self):
        self.assert_hurts_only_its_own(
            "too_many", {"retry_after_s": 5},
            ["its job waits to be submitted", "endpoint default", "wants fewer calls (429): the "
             "next one at 20"])

    def test_one_that_answers_nonsense(self):
        """The submission has done its work: nobody knows, and nothing is done twice."""
        self.settle(streams=0)
        for what in ("text", "types", "empty", "huge"):
            with self.subTest(what):
                self.double.fault("nonsense", method=CALLS, what=what)
                before = self.double.counters()["jobs_created"]
                engine = self.start("run", "mixed.yaml", "--inputs", "inputs.json", "--name", what)
                engine.wait_for("last: succeeded")
                until(lambda: self.double.calls("GetJobStatusUsingExternalJobUri") > 0, LIMIT_S)
                self.double.clear()
                status, _, stderr = engine.end(2 * LIMIT_S)
                self.assertEqual(status, 0, stderr)
                counters = self.double.counters()
                self.assertEqual((counters["jobs_created"] - before, counters["duplicates"]),
                                 (ELEMENTS, 0))
                self.double.control("reset")

    def test_one_that_refuses_all(self):
        """It has said so: the jobs fail for good, in its words, and the rest is done."""
        self.double.fault("item_error", text="no such luck")
        engine = self.start("run", "mixed.yaml", "--inputs", "inputs.json", "--name", "it")
        self.assertEqual(engine.end()[0], 1)
        phases = self.phases()
        self.assertEqual([phases[node] for node in ("jobs", "processes", "echoes", "last")],
                         ["failed", "succeeded", "succeeded", "succeeded"])
        self.assertIn("jobs[3] failed: no such luck [Refused]",
                      self.troupe("explain", "it/jobs[3]")[0])
        self.assertEqual(self.double.counters()["jobs_created"], 0)

    def test_one_that_floods(self):
        """Events of no interest, more than it has jobs by far, hold up neither."""
        self.double.control("hold", is_held=True)
        engine = self.begin()
        self.double.wait(running=ELEMENTS)
        job, = self.double.jobs(limit=1)
        self.double.control("streams/flood", queue=job["queue"], job_set=job["job_set"],
                            count=100000)
        other = self.start("run", "mixed.yaml", "--inputs", "inputs.json", "--name", "other")
        other.wait_for("last: succeeded")
        self.double.control("hold", is_held=False)
        self.assertEqual(other.end(2 * LIMIT_S)[0], 0)
        self.assertEqual(engine.end(2 * LIMIT_S)[0], 0)
        counters = self.double.counters()
        self.assertEqual((counters["jobs_created"], counters["duplicates"]), (2 * ELEMENTS, 0))


if __name__ == "__main__":
    unittest.main()
