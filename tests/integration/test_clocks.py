#!/usr/bin/env python3
"""The wall clock is set under a live engine: what is measured within a life goes on as if it had
not been. libfaketime answers for the wall clock alone, by a file that the test writes; it is the
clock of the program under test, not of this machine."""

import pathlib
import threading
import unittest

from armada import ArmadaTest
from program import IS_SANITIZED, ProgramTest

LIBRARIES = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
HOUR_S = 3600


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


if __name__ == "__main__":
    unittest.main()
