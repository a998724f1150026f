#!/usr/bin/env python3
"""Engines that come and go while jobs run on Armada: what was made is found again, never made
again.

The numbers AT2, AT3, AT5, AT13, AT14, AT15 and AT18 are those of the acceptance tests of the
plugin.
"""

import math
import signal
import time
import unittest

from armada import IS_LONG, LONG_S, QUEUE, SIZE, STATUS_MAX, ArmadaTest

DAY_S = 24 * 3600

# Of what the store keeps of a job while it lives, and of any one value.
JOB_STATE_BYTES_MAX = 1024
VALUE_BYTES_MAX = 256 << 10


class RestartTest(ArmadaTest):
    size = SIZE

    def begin_and_hold(self):
        self.double.control("hold", is_held=True)
        self.write_array(self.size)
        engine = self.begin()
        self.double.wait(running=self.size, timeout_s=LONG_S)
        return engine

    def resume(self):
        return self.start("resume", "it", "-q", "-o", "json")

    def test_restarts_submit_nothing(self):
        """AT2 and AT5: the handles come back with the states, and news by one stream."""
        engine = self.begin_and_hold()
        for number in range(10 if IS_LONG else 4):
            self.kill(engine, signal.SIGKILL if number % 2 else signal.SIGTERM)
            self.double.wait(streams_open=[0, 0])
            self.double.control("reset")
            engine = self.resume()
            self.double.wait(streams_open=1, timeout_s=10)
            calls = self.calls()
            self.assertNotIn("SubmitJobs", calls)
            self.assertLessEqual(calls["GetJobSetEvents"], 2)
            self.assertLessEqual(calls.get("GetJobStatus", 0), math.ceil(self.size / STATUS_MAX))
        self.double.control("hold", is_held=False)
        self.finish(engine)
        self.assert_each_once(self.size)
        self.assertEqual(self.attempts_failed(), [])

    def test_what_ended_meanwhile_is_heard(self):
        """AT14: the stream goes on behind the last event that counted."""
        engine = self.begin_and_hold()
        self.kill(engine, signal.SIGKILL)
        self.double.control("hold", is_held=False)
        self.double.wait(live=[0, 0], timeout_s=LONG_S)
        self.double.control("reset")
        self.finish(self.resume())
        self.assertNotIn("SubmitJobs", self.calls())
        self.assert_each_once(self.size)

    def test_a_storm_of_wakings(self):
        """AT3: whatever wakes the array, nothing is submitted again."""
        engine = self.begin_and_hold()
        self.double.control("reset")
        job_set = self.double.jobs(limit=1)[0]["job_set"]
        self.double.control("streams/flood", queue=QUEUE, job_set=job_set, count=1000)
        for _ in range(20):
            self.troupe("pause", "it")
            self.start("resume", "it", "-q")
            self.troupe("explain", "it")
        self.assertNotIn("SubmitJobs", self.calls())
        self.double.control("hold", is_held=False)
        self.finish(engine)
        self.assert_each_once(self.size)

    def test_a_pool_bounds_the_live_jobs(self):
        """AT13: its slots survive a kill, are not lost with it, and all elements get one."""
        size, slots = 1000, 100
        self.double.control("settings", run_ms=100)
        self.write_array(size, "pool: cluster")
        flow = (self.folder / "flow.yaml").read_text()
        self.write("flow.yaml", f"{flow}\npools: {{cluster: {{at_once: {slots}}}}}\n")
        engine = self.begin()
        for share in (0.2, 0.5):
            self.double.wait(jobs_created=int(size * share))
            self.kill(engine, signal.SIGKILL)
            engine = self.resume()
        self.finish(engine)
        counters = self.double.counters()
        self.assert_each_once(size, counters)
        self.assertLessEqual(counters["live_peak"], slots)
        self.assertGreater(counters["live_peak"], slots // 2)

    def test_weeks_without_an_engine(self):
        """AT18: rows and streams are pruned, and what has succeeded stays so."""
        engine = self.begin_and_hold()
        half = self.size // 2
        self.double.control("jobs/end", how="succeeded", limit=half)
        end = time.monotonic() + LONG_S
        while self.succeeded() < half:
            self.assertLess(time.monotonic(), end, "half of the elements")
        self.kill(engine, signal.SIGKILL)
        self.double.control("clock", offset_s=43 * DAY_S)
        self.double.control("reset")
        engine = self.resume()
        self.double.control("hold", is_held=False)
        self.finish(engine)
        self.assertNotIn("SubmitJobs", self.calls())
        self.assert_each_once(self.size)

    def succeeded(self):
        document = self.document("get", "it")
        return sum(node["array"]["succeeded"] for node in document["nodes"] if node["array"])

    def test_what_a_live_array_takes(self):
        """AT15: an array's share of the store grows with its width, in small pieces."""
        engine = self.begin_and_hold()
        self.kill(engine, signal.SIGTERM)
        states = self.query("SELECT length(image) FROM actors UNION ALL "
                            "SELECT length(data) FROM pages")
        total, largest = sum(size for size, in states), max(size for size, in states)
        print(f"{self.size} live jobs: {total / self.size:.0f} bytes of states each, the largest "
              f"has {largest} bytes", flush=True)
        self.assertLess(total, self.size * JOB_STATE_BYTES_MAX)
        self.assertLessEqual(largest, VALUE_BYTES_MAX)
        self.double.control("hold", is_held=False)
        self.finish(self.resume())
        self.assert_each_once(self.size)


class DeadlineTest(ArmadaTest):
    """A task's timeout is the deadline of its pod, whether an engine lives or not."""

    double_options = ("--execute",)

    def begin_sleeping(self, timeout):
        self.write("flow.yaml", f"""
troupe: 1
tasks: {{work: {{run: [sleep, "60"], timeout: {timeout}, retries: 0}}}}
workflows: {{main: {{nodes: {{work: {{task: work}}}}}}}}
""")
        engine = self.start("run", "flow.yaml", "--name", "it", "-q", "-o", "json")
        self.double.wait(running=1)
        return engine

    def test_a_dead_engine_leaves_no_job_running_for_ever(self):
        engine = self.begin_sleeping("2500ms")
        self.kill(engine, signal.SIGKILL)
        job, = self.double.jobs()
        self.assertEqual(job["pod"]["activeDeadlineSeconds"], 3)
        self.assertEqual(self.double.wait(live=[0, 0])["ended"], {"deadline": 1})
        error = self.finish(self.start("resume", "it", "-q", "-o", "json"), 1)["error"]
        self.assertEqual(error["code"], "RetriesExhausted|TimeoutExpired")
        self.assertEqual(self.double.counters()["jobs_created"], 1)

    def test_a_live_engine_is_quicker(self):
        error = self.finish(self.begin_sleeping("1s"), 1)["error"]
        self.assertIn("task execution timeout [1s] expired", error["message"])
        self.assertEqual(self.double.counters()["ended"], {"cancelled": 1})


if __name__ == "__main__":
    unittest.main()
