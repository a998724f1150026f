#!/usr/bin/env python3
"""The wall clock is set under a live engine: what is measured within a life goes on as if it had
not been. libfaketime answers for the wall clock alone, by a file that the test writes; it is the
clock of the program under test, not of this machine."""

import datetime
import pathlib
import re
import signal
import threading
import time
import unittest

from armada import ArmadaTest
from program import IS_SANITIZED, ProgramTest

LIBRARIES = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
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


@unittest.skipIf(IS_SANITIZED, "sanitizers want to be the first library")
@unittest.skipUnless(LIBRARIES, "there is no libfaketime")
class Clock:
    def setUp(self):
        super().setUp()
        self.set_clock(0)

    def environment(self):
        return super().environment() | {
            "LD_PRELOAD": str(LIBRARIES[-1]), "FAKETIME_TIMESTAMP_FILE": str(self.folder / "clock"),
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def set_clock(self, ahead_s):
        """From now on the wall clock is so many seconds ahead of the machine's."""
        self.write("clock.new", f"{ahead_s:+d}\n").rename(self.folder / "clock")


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
        self.set_clock(3 * HOUR_S)
        threading.Event().wait(0.3)
        self.set_clock(-3 * HOUR_S)
        threading.Event().wait(0.3)
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
        while "try: attempt 1 waits until" not in self.troupe("explain", name)[0]:
            threading.Event().wait(0.05)
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
        self.assertLess(time.monotonic() - begin_s, 30)
        for of in (name, f"quick-{ahead_s}"):
            ended = datetime.datetime.fromisoformat(self.document("get", of)["ended_at"])
            self.assertLess(ended, datetime.datetime.now(UTC))
        engine.signal(signal.SIGTERM)
        engine.end()
        self.assertNotIn("the clock was put back", self.troupe("resume")[1])


if __name__ == "__main__":
    unittest.main()
