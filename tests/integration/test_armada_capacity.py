#!/usr/bin/env python3
"""Maps that are wider than their endpoint has room for: what is too many waits, in order.

Nothing of them fails, however long the server is away or slow, and only so many of their elements
are there at once.
"""

import json
import pathlib
import re
import signal
import threading
import unittest

from armada import IS_LONG, LONG_S, ArmadaTest, Double, slow, until
from program import free_port
from stored import TASK_BEHAVIOUR

# Elements that wait outside the window of a map (TR_ARRAY_WINDOW) are not spawned.
WINDOW = 4096
WIDE = 110000 if IS_LONG else 12000

WIDEST = 1000000
WIDEST_PEAK_KIB = 512 << 10


class RoomTest(ArmadaTest):
    own_settings = {"lag": "2s"}

    def plugin(self):
        plugins = json.loads(self.troupe("plugins", "-o", "json")[0])
        return next(one["endpoints"][0] for one in plugins if one["plugin"] == "armada")

    def tasks(self):
        """How many of them the store has at the moment."""
        (count,), = self.query(f"SELECT count(*) FROM actors WHERE behaviour = {TASK_BEHAVIOUR}")
        return count

    def assert_all_went_well(self, size, counters=None):
        self.assert_each_once(size, counters)
        self.assertEqual(self.attempts_failed(), [])

    def test_a_map_waits_for_room(self):
        """As many jobs as the settings say, the others behind them, and words about that."""
        self.settle(jobs_at_once=300, lag="2s")
        self.double.control("hold", is_held=True)
        self.write_array(1000)
        engine = self.begin()
        self.double.wait(running=300, timeout_s=LONG_S)
        until(lambda: self.plugin()["waiting"] == 700)
        self.assertEqual(self.plugin()["jobs"], 300)
        self.assertIn("endpoint default of 'armada' has 300 jobs, and takes no more at once "
                      "(jobs_at_once): it waits for room",
                      self.troupe("explain", "it/work[999]")[0])
        self.assertEqual(self.double.counters()["jobs_created"], 300)
        self.kill(engine, 9)
        self.double.control("hold", is_held=False)
        self.troupe("resume", "it")
        self.assert_all_went_well(1000)
        self.assertLessEqual(self.double.counters()["live_peak"], 300)

    def test_an_abort_while_they_wait(self):
        self.settle(jobs_at_once=300, lag="2s")
        self.double.control("hold", is_held=True)
        self.write_array(1000)
        engine = self.begin()
        self.double.wait(running=300, timeout_s=LONG_S)
        until(lambda: self.plugin()["waiting"] == 700)
        self.troupe("abort", "it", "--yes")
        self.finish(engine, 3)
        counters = self.double.wait(live=[0, 0])
        self.assertEqual(counters["jobs_created"], 300)

    def test_a_server_that_is_away_fails_nothing(self):
        """However long that lasts: a window of elements waits, and all are made later."""
        port = free_port()
        self.double.stop()
        self.settle(endpoint=f"http://127.0.0.1:{port}", **self.own_settings)
        self.write_array(WIDE)
        engine = self.begin()
        until(lambda: self.plugin()["circuit"] == "open" and self.tasks() >= WINDOW, LONG_S)
        self.assertRegex(self.troupe("explain", "it/work[0]")[0],
                         re.compile("does not answer .*tried again", re.DOTALL))
        waited = self.plugin()["at"]
        until(lambda: self.plugin()["at"] > waited, LONG_S)  # nothing more was spawned meanwhile
        self.assertLessEqual(self.tasks(), WINDOW + 1)
        self.double = Double("--port", str(port))
        self.addCleanup(self.double.stop)
        self.finish(engine)
        self.assert_all_went_well(WIDE)

    @slow
    def test_ten_maps_at_a_slow_server(self):
        """More bodies than there is room for, at two calls a second."""
        self.settle(calls_per_second=2, lag="2s")
        self.write_array(5000)
        engine = self.start("serve")
        engine.wait_for("serves")
        followers = [self.start("submit", "flow.yaml", "--inputs", "inputs.json", "--wait", "-q")
                     for _ in range(10)]
        for follower in followers:
            status, _, stderr = follower.end(LONG_S)
            self.assertEqual(status, 0, stderr)
        self.kill(engine, signal.SIGTERM)
        self.assert_all_went_well(50000)

    def peak_kib(self, engine):
        """How much memory it had at most, when it ends."""
        peak = 0
        while engine.process.poll() is None:
            status = pathlib.Path(f"/proc/{engine.process.pid}/status").read_text(encoding="ascii")
            found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
            peak = int(found[1]) if found else peak
            threading.Event().wait(1)
        return peak

    @slow
    def test_a_million_at_a_slow_server(self):
        """It takes four calls a second: all are made in bounded memory, and none fails."""
        self.settle(calls_per_second=4, lag="2s")
        self.write_array(WIDEST)
        engine = self.begin()
        peak = self.peak_kib(engine)
        self.finish(engine)
        self.assertTrue(0 < peak < WIDEST_PEAK_KIB, peak)
        self.assert_all_went_well(WIDEST)


if __name__ == "__main__":
    unittest.main()
