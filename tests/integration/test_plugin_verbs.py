#!/usr/bin/env python3
"""A plugin whose verbs crash or do not return, beside work that needs none of it.

Verbs run in the refresh actor of an endpoint, for all tasks that have jobs there. What plugins do
wrong in the functions of a task is test_plugins.py's.
"""

import json
import signal
import sys
import threading
import unittest

from program import LIMIT_S, PROGRAM, ROOT, ProgramTest, ended_by_faults

sys.path.insert(0, str(ROOT / "examples/plugins"))
sys.path.insert(0, str(ROOT / "tests/doubles/armada"))

import job_server  # noqa: E402
from armada_client import until  # noqa: E402

PLUGIN = "naughty_verbs"

MIXED = """
troupe: 1
tasks:
  process: {inputs: {a: int}, outputs: {a: int}, run: [cat], stdin: inputs, stdout: outputs}
  echo: {inputs: {a: int}, outputs: {a: int}, type: echo}
  job: {inputs: {a: int}, outputs: {sum: int}, type: naughty_verbs}
workflows:
  main:
    policy: finish_runnable
    nodes:
      jobs: {map: job, with: {a: [1, 2, 3]}}
      processes: {map: process, with: {a: [1, 2, 3]}}
      echoes: {map: echo, with: {a: $processes.a}}
      last: {task: echo, with: {a: 9}, after: [echoes]}
    outputs: {sums: $jobs.sum}
"""


class VerbsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.jobs = job_server.Jobs()
        self.server = job_server.Server(0, self.jobs)
        self.server.handle_error = lambda *_: None  # clients that end are part of the play
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.store.mkdir()
        self.write("mixed.yaml", MIXED)

    def environment(self):
        return ended_by_faults(super().environment())

    def settle(self, **keys):
        path = PROGRAM.parent / f"tests/plugins/{PLUGIN}.so"
        plugin = {"path": str(path), "endpoint": self.server.url, "interval": "1s", **keys}
        (self.store / "settings.yaml").write_text(json.dumps({"plugins": {PLUGIN: plugin}}))

    def go_on(self):
        """Runs the mixed workflow until the engine stays: the ends on the way, and the last."""
        ends = []
        while len(ends) < 4:
            running = self.start("run", "mixed.yaml", "--name", "it", "--if-new")
            status, _, stderr = running.end()
            if status >= 0:
                return ends, status, stderr
            ends.append(-status)
        self.fail(f"the engine never stays: {ends}")

    def standing(self):
        return next(row for row in self.document("plugins") if row["plugin"] == PLUGIN)

    def phases(self, execution="it"):
        return {node["node"]: node["phase"] for node in self.document("get", execution)["nodes"]}

    def assert_ended_by(self, within, does, number, words, made):
        """It ends the engine twice, is not called a third time, and all else completes."""
        self.settle(within=within, does=does)
        ends, status, stderr = self.go_on()
        self.assertEqual((ends, status), ([number, number], 1), stderr)
        quarantine = (f"the plugin '{PLUGIN}' is in quarantine: it has ended the engine 2 times "
                      f"(the last time: {words})")
        self.assertIn(quarantine, stderr)
        phases = self.phases()
        self.assertEqual([phases[node] for node in ("jobs", "processes", "echoes", "last")],
                         ["failed", "succeeded", "succeeded", "succeeded"])
        self.assertIn(quarantine, self.troupe("explain", "it")[0])
        self.assertEqual([self.standing()[key] for key in ("is_quarantined", "ends", "how")],
                         [True, 2, words])
        self.assertEqual(len(self.jobs.jobs), made)

    def assert_release_lets_it_go_on(self):
        """Its tasks run again, and what nobody waits for any more is ended."""
        forgotten = set(self.jobs.jobs)
        self.settle()
        self.troupe("plugins", "--release", PLUGIN)
        self.assertFalse(self.standing()["is_quarantined"])
        self.jobs.seconds = float("inf")
        again = self.start("recover", "it", "--name", "again", "-q", "-o", "json")
        until(lambda: len(self.jobs.jobs) == len(forgotten) + 3, LIMIT_S)
        until(lambda: self.states(forgotten) <= {"cancelled"}, LIMIT_S)
        self.jobs.seconds = 0.0
        status, stdout, stderr = again.end()
        self.assertEqual(status, 0, stderr)
        self.assertEqual(json.loads(stdout)["outputs"], {"sums": [1, 2, 3]})
        self.assertEqual(len(self.jobs.jobs), len(forgotten) + 3)

    def states(self, names):
        return {self.jobs.look(name)["state"] for name in names}

    def test_one_that_crashes_as_it_writes(self):
        self.assert_ended_by("create.write", "crash", signal.SIGSEGV, "SIGSEGV in `create.write`",
                             made=0)
        self.assert_release_lets_it_go_on()

    def test_one_that_crashes_as_it_reads(self):
        """Its jobs are there, and nobody knows what becomes of them."""
        self.jobs.seconds = float("inf")
        self.assert_ended_by("status.read", "crash", signal.SIGSEGV, "SIGSEGV in `status.read`",
                             made=3)
        attempt, = self.document("get", "it/jobs[1]")["attempts"]
        self.assertTrue(attempt["is_unknown"])
        self.assert_release_lets_it_go_on()

    def test_one_that_crashes_as_it_asks(self):
        self.jobs.seconds = float("inf")
        self.assert_ended_by("status.write", "crash", signal.SIGSEGV, "SIGSEGV in `status.write`",
                             made=3)
        self.assert_release_lets_it_go_on()

    def test_one_that_does_not_return(self):
        self.jobs.seconds = float("inf")
        self.assert_ended_by("status.read", "loop", signal.SIGABRT, "`status.read` did not return",
                             made=3)
        self.assert_release_lets_it_go_on()

    def test_one_that_behaves(self):
        self.settle()
        self.assertEqual(self.go_on()[:2], ([], 0))


if __name__ == "__main__":
    unittest.main()
