#!/usr/bin/env python3
"""The wall clock is set under a live engine: what is measured within a life goes on as if it had
not been."""

import datetime
import re
import signal
import time
import unittest

from armada import ArmadaTest
from clock import Clock
from program import ProgramTest, wait_until

HOUR_S = 3600
UTC = datetime.timezone.utc

PUT_BACK = """
troupe: 1
pools: {door: {per_second: 5}}
tasks:
  try:
    type: http
    retries: 2
    backoff: {first: 3s}
    outputs: {status: int}
    config: {url: "http://127.0.0.1:1/", method: GET}
  nap: {type: core-sleep, inputs: {d: duration}}
  pass: {type: echo, pool: door, inputs: {n: int}, outputs: {n: int}}
workflows:
  main:
    policy: finish_runnable
    nodes:
      wait: {sleep: 6s}
      nap: {task: nap, with: {d: 6s}}
      try: {task: try}
  quick: {nodes: {p: {task: pass, with: {n: 1}}}}
"""


class BackEndClockTest(Clock, ArmadaTest):
    def test_jobs_are_made_when_the_clock_is_set(self):
        self.write_array(50)
        serve = self.start("serve", "-v")
        serve.wait_for(" serves ")
        for number, ahead_s in enumerate((0, 2 * HOUR_S, 0, -2 * HOUR_S, 48 * HOUR_S)):
            self.set_clock(ahead_s)
            self.troupe("submit", "flow.yaml", "--inputs", "inputs.json", "--name", f"x{number}",
                        "--wait")
        self.assert_each_once(250)


class ClockTest(Clock, ProgramTest):
    def test_timeouts_of_processes_are_as_long_as_they_were(self):
        self.write("flow.yaml", """
troupe: 1
tasks:
  nap: {timeout: 40s, run: [sh, -c, "touch $TROUPE_FOLDER/begun; \
while ! [ -e $TROUPE_FOLDER/go ]; do sleep 0.05; done"]}
workflows: {main: {nodes: {n: {task: nap, timeout: 50s}}, timeout: 60s}}
""")
        running = self.start("run", "flow.yaml", "--name", "x")
        self.await_file("begun")
        for ahead_s in (3 * HOUR_S, -3 * HOUR_S):
            self.set_clock(ahead_s)
            self.troupe("metrics")  # it has seen that clock when it answers
        self.write("go", "")
        self.assertEqual(running.end()[0], 0)

    def test_a_clock_put_back_between_two_engines(self):
        """What waits for a time goes on as if nobody had set the clock: sleeps, retries, and what
        a pool lets begin; and the history goes by the clock on the wall."""
        self.write("flow.yaml", PUT_BACK)
        for ahead_s in (HOUR_S, 60):
            with self.subTest(ahead_s):
                self.put_back_by(ahead_s)

    def serve(self):
        engine = self.start("serve")
        engine.wait_for(" serves ")
        return engine

    def put_back_by(self, ahead_s):
        name = f"it-{ahead_s}"
        self.set_clock(ahead_s)
        engine = self.serve()
        self.troupe("submit", "flow.yaml", "quick", "--wait")
        self.troupe("submit", "flow.yaml", "main", "--name", name)
        wait_until(lambda: re.search("try: attempt [12] waits until",
                                     self.troupe("explain", name)[0]), "a retry is waited for")
        self.set_clock(0)
        engine.signal(signal.SIGKILL)
        engine.end()
        begin_s = time.monotonic()
        engine = self.serve()
        self.assertIn("the clock was put back by ", "\n".join(engine.lines["stderr"]))
        for line in self.document("explain", name)["waiting"]:
            for at in re.findall(r"\d{4}-\S+Z", line["text"]):
                left = datetime.datetime.fromisoformat(at) - datetime.datetime.now(UTC)
                self.assertLess(left.total_seconds(), 10, line)
        self.troupe("submit", "flow.yaml", "quick", "--name", f"quick-{ahead_s}", "--wait")
        self.troupe("watch", name, status=1)
        self.assertLess(time.monotonic() - begin_s, 55)  # by the wall's time it were a minute more
        for of in (name, f"quick-{ahead_s}"):
            ended = datetime.datetime.fromisoformat(self.document("get", of)["ended_at"])
            self.assertLess(ended, datetime.datetime.now(UTC))
        engine.signal(signal.SIGTERM)
        engine.end()
        self.assertNotIn("the clock was put back", self.troupe("resume")[1])


if __name__ == "__main__":
    unittest.main()
