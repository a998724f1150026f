#!/usr/bin/env python3
"""Streams of events that are late, doubled, cut, silent or gone: the sweep of states goes behind.

AT14 of the acceptance tests of the plugin.
"""

import pathlib
import unittest

from armada import IS_LONG, LONG_S, NARROW, QUEUE, ArmadaTest, slow
from program import IS_SANITIZED, without_quarantine

# Sanitizers keep books of their own.
MEMORY_MAX_BYTES = (128 if IS_SANITIZED else 32) << 20


class StreamTest(ArmadaTest):
    size = NARROW

    def environment(self):
        return without_quarantine(super().environment())

    def run_through(self, **faults):
        for name, options in faults.items():
            self.double.fault(name, **options)
        self.write_array(self.size)
        self.run_all()
        self.assert_each_once(self.size)
        self.assertEqual(self.attempts_failed(), [])

    def test_doubled_and_reordered_events_come_to_the_same(self):
        self.run_through(events_doubled={"rate": 0.2, "seed": 1},
                         events_reordered={"rate": 0.2, "seed": 2, "ms": 300})

    def test_streams_that_are_cut(self):
        for how in ("end", "error", "reset", "middle", "garbage"):
            with self.subTest(how):
                before = self.double.counters()["jobs_created"]
                self.double.fault("stream_cut", times=5 if IS_LONG else 3, lines=400, how=how)
                self.write_array(self.size)
                self.finish(self.start("run", "flow.yaml", "--inputs", "inputs.json", "-q", "-o",
                                       "json"))
                counters = self.double.counters()
                self.assertEqual(counters["jobs_created"] - before, self.size)
                self.assertEqual(counters["duplicates"], 0)

    @slow
    def test_events_that_never_come_are_swept_up(self):
        self.run_through(events_lost={"rate": 0.05, "seed": 3})

    @slow
    def test_a_stream_that_is_silent_is_swept(self):
        self.run_through(stream_silent={})

    def test_a_stream_that_is_not_there(self):
        self.run_through(stream_missing={"times": 5 if IS_LONG else 3})

    def test_a_flood_of_utilisation_costs_no_memory(self):
        count = 1000000 if IS_LONG else 100000
        self.double.control("hold", is_held=True)
        self.write_array(10)
        engine = self.begin()
        self.double.wait(running=10)
        job_set = self.double.jobs(limit=1)[0]["job_set"]
        status = pathlib.Path(f"/proc/{engine.process.pid}/status")
        before = self.resident(status)
        sent = self.double.counters()["events_sent"]
        self.double.control("streams/flood", queue=QUEUE, job_set=job_set, count=count)
        self.double.wait(events_sent=sent + count, timeout_s=LONG_S)
        self.assertLess(self.resident(status) - before, MEMORY_MAX_BYTES)
        self.double.control("hold", is_held=False)
        self.finish(engine)

    @staticmethod
    def resident(status):
        return int(status.read_text().split("VmRSS:")[1].split()[0]) * 1024


if __name__ == "__main__":
    unittest.main()
