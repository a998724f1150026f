#!/usr/bin/env python3
"""What nobody can know at once: jobs that show late, and client ids that mean nothing.

AT4 and AT7 of the acceptance tests of the plugin, and the proof that they can fail. What is
unknown costs half a minute, since Armada may show a job so late.
"""

import unittest

from armada import IS_LONG, LONG_S, NARROW, ArmadaTest, slow


class UnknownOutcomeTest(ArmadaTest):
    def test_status_that_lags(self):
        """AT7: UNKNOWN is neither lost nor failed, a minute long in the long form."""
        self.settle(streams=0)
        self.double.fault("lookout_lag", s=60 if IS_LONG else 6)
        self.write_array(NARROW)
        self.run_all()
        self.assert_each_once(NARROW)
        self.assertEqual(self.double.counters()["submits_per_client_id_max"], 1)
        self.assertEqual(self.attempts_failed(), [])

    def holes(self, size, **faults):
        for name, options in faults.items():
            self.double.fault(name, **options)
        self.write_array(size)
        self.run_all()

    def test_without_any_deduplication_events_alone_decide(self):
        """Answers are lost, client ids mean nothing to the server, and no job is doubled."""
        self.holes(1000, dedup_off={}, lost_answer={"rate": 0.4, "seed": 5,
                                                    "method": "SubmitJobs"})
        self.assert_each_once(1000)

    def test_questions_about_unknown_outcomes_are_few(self):
        """AT10: with lost answers and cut streams, too, each one costs a question or two, also
        while others of its map go on."""
        self.settle(lag="2s")
        self.double.control("settings", slots=20 if IS_LONG else 60, run_ms=500)
        size = 5000 if IS_LONG else 1000
        self.holes(size, lost_answer={"times": size // 400, "method": "SubmitJobs"},
                   stream_cut={"lines": 300, "how": "garbage", "times": 8})
        self.assert_each_once(size)
        calls = self.double.counters()["calls"]
        (count,), = self.query("SELECT unknown_outcomes FROM record_backend")
        self.assertGreater(count, 0)
        asked = calls.get("GetJobStatusUsingExternalJobUri", {"calls": 0})["calls"]
        self.assertLessEqual(asked, 2 * count)

    def test_each_hole(self):
        for hole in ("dedup_hole_a", "dedup_hole_b", "dedup_hole_c"):
            with self.subTest(hole):
                before = self.double.counters()["jobs_created"]
                self.double.clear()
                self.double.fault(hole)
                self.double.fault("lost_answer", times=1, method="SubmitJobs")
                self.write_array(200)
                self.finish(self.start("run", "flow.yaml", "--inputs", "inputs.json", "-q", "-o",
                                       "json"))
                counters = self.double.counters()
                self.assertEqual(counters["jobs_created"] - before, 200)
                self.assertEqual(counters["duplicates"], 0)

    @slow
    def test_what_shows_too_late_is_cancelled_and_told(self):
        """AT4: events come when the time to wait for them is over."""
        self.double.control("settings", run_ms=60000)
        self.double.fault("dedup_off")
        self.double.fault("event_lag", s=45)
        self.double.fault("lookout_lag", s=45)
        self.double.fault("lost_answer", times=1, method="SubmitJobs")
        self.write_array(50)
        engine = self.begin()
        self.double.wait(jobs_created=100, timeout_s=LONG_S)
        self.double.wait(live=[50, 50], timeout_s=LONG_S)
        self.double.control("settings", run_ms=0)
        self.double.control("jobs/end", how="succeeded")
        self.finish(engine)
        self.assertEqual(self.double.counters()["ended"].get("cancelled_as_asked"), 50)
        self.assertEqual(self.query("SELECT duplicates FROM record_backend"), [(50,)])

    def test_a_server_without_any_memory_doubles_jobs(self):
        """That these tests can fail: where nothing can be found out, nobody can be exact."""
        self.settle(lag="2s")
        self.double.fault("dedup_off")
        self.double.fault("events_lost")
        self.double.fault("lookout_lag", s=3600)
        self.double.fault("lost_answer", times=1, method="SubmitJobs")
        self.write_array(50)
        engine = self.begin()
        self.double.wait(duplicates=1, timeout_s=LONG_S)
        with self.assertRaises(AssertionError):
            self.assert_each_once(50)
        self.kill(engine, 9)


if __name__ == "__main__":
    unittest.main()
