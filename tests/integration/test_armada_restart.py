#!/usr/bin/env python3
"""Engines that come and go while jobs run on Armada: what was made is found again, never made
again.

The numbers AT5, AT13, AT14, AT15 and AT18 are those of the acceptance tests of the plugin.
"""

import json
import math
import signal
import time
import unittest

from armada import IS_LONG, LONG_S, NARROW, SIZE, STATUS_MAX, ArmadaTest, slow, until
from program import IS_SANITIZED, LIMIT_S, slowness

DAY_S = 24 * 3600

# All is recovered within it: of 5,000 elements, or ten times as many; sanitizers are as slow.
RECOVERY_S = 60 if IS_LONG or IS_SANITIZED else 10  # of a machine that is not busy

# Of what the store keeps of a job while it lives, the refresh actor's included, and of any one
# value. Sanitizers let jobs pile up before they are submitted, and the pages they filled then stay.
JOB_STATE_BYTES_MAX = 2048 if IS_SANITIZED else 1024
VALUE_BYTES_MAX = 256 << 10

# Of the array itself, for each element: 2 MB of 5,000. Workflow, task and array, by the ids of
# their behaviours.
ELEMENT_STATE_BYTES_MAX = 2 * 1024 * 1024 // 5000  # 2 MiB for 5,000
ARRAY_BEHAVIOURS = (101, 102, 103)


class HeldTest(ArmadaTest):
    """An array of which all jobs run, until they are let go."""

    size = NARROW

    def begin_and_hold(self):
        self.double.control("hold", is_held=True)
        self.write_array(self.size)
        engine = self.begin()
        self.double.wait(running=self.size, timeout_s=LONG_S)
        return engine

    def resume(self):
        return self.start("resume", "it", "-q", "-o", "json")

    def assert_recovered(self, engine):
        """By one stream, or as few questions as there can be, and nothing else."""
        counters = self.double.counters()
        calls = self.calls()
        self.assertNotIn("SubmitJobs", calls)
        self.assertLessEqual(counters["streams_opened"], 1)
        self.assertLessEqual(calls.get("GetJobStatus", 0), math.ceil(self.size / STATUS_MAX))
        self.assertLessEqual(set(calls), {"GetJobSetEvents", "GetJobStatus"})
        self.assertIsNone(engine.process.poll())

    def end_well(self, engine):
        self.double.control("hold", is_held=False)
        self.finish(engine)
        self.assert_each_once(self.size)
        self.assertEqual(self.attempts_failed(), [])


class WideTest(HeldTest):
    size = SIZE

    def test_restarts_submit_nothing(self):
        """AT5: the handles come back with the states, and news by one stream."""
        engine = self.begin_and_hold()
        for number in range(10 if IS_LONG else 2):
            self.kill(engine, signal.SIGKILL if number % 2 else signal.SIGTERM)
            self.double.wait(streams_open=[0, 0])
            self.double.control("reset")
            engine = self.resume()
            self.double.wait(streams_open=1, timeout_s=RECOVERY_S * slowness())
            self.assert_recovered(engine)
        self.end_well(engine)

    def test_a_restart_in_the_middle_of_a_recovery(self):
        """AT5: the second one costs what the first would have."""
        engine = self.begin_and_hold()
        self.kill(engine, signal.SIGKILL)
        self.double.wait(streams_open=[0, 0])
        self.double.control("reset")
        self.double.fault("latency", ms=60000, method=["GetJobSetEvents", "GetJobStatus"])
        engine = self.resume()
        until(lambda: self.double.calls("GetJobSetEvents") > 0, LONG_S)
        self.kill(engine, signal.SIGKILL)
        self.assertNotIn("SubmitJobs", self.calls())
        self.double.control("reset")
        begin = time.monotonic()
        engine = self.resume()
        self.double.control("jobs/end", how="succeeded", limit=1)
        until(lambda: self.succeeded() == 1, LONG_S)
        self.assertLess(time.monotonic() - begin, RECOVERY_S * slowness())
        self.assert_recovered(engine)
        self.end_well(engine)

    def test_what_a_live_array_takes(self):
        """AT15: an array's share of the store grows with its width, in small pieces."""
        engine = self.begin_and_hold()
        until(lambda: self.running() == self.size, LONG_S)  # what is under way takes more
        self.kill(engine, signal.SIGTERM)
        states = self.query("SELECT behaviour, length(image) FROM actors UNION ALL "
                            "SELECT behaviour, length(data) FROM pages "
                            "JOIN actors USING (key_group, key_serial)")
        total, largest = sum(size for _, size in states), max(size for _, size in states)
        array = sum(size for behaviour, size in states if behaviour in ARRAY_BEHAVIOURS)
        print(f"{self.size} live jobs: {total / self.size:.0f} bytes of states each, "
              f"{array / self.size:.0f} of these the array's, the largest has {largest} bytes",
              flush=True)
        self.assertLess(array, self.size * ELEMENT_STATE_BYTES_MAX)
        self.assertLess(total, self.size * JOB_STATE_BYTES_MAX)
        self.assertLessEqual(largest, VALUE_BYTES_MAX)
        self.double.control("hold", is_held=False)
        self.finish(self.resume())
        self.assert_each_once(self.size)


class NarrowTest(HeldTest):
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

    @slow
    def test_what_was_trimmed_meanwhile_is_asked_for(self):
        """AT14: a stream that says nothing of what was missed is no news; the sweep has it."""
        engine = self.begin_and_hold()
        job = self.double.jobs(limit=1)[0]
        self.kill(engine, signal.SIGKILL)
        self.double.control("hold", is_held=False)
        self.double.wait(live=[0, 0], timeout_s=LONG_S)
        self.double.control("streams/trim", queue=job["queue"], job_set=job["job_set"], keep=0)
        self.double.control("reset")
        self.finish(self.resume())
        calls = self.double.counters()["calls"]
        self.assertNotIn("SubmitJobs", calls)
        self.assertLessEqual(calls["GetJobStatus"]["calls"], 2 * math.ceil(self.size / STATUS_MAX))
        self.assert_each_once(self.size)

    def test_a_quota_bounds_the_live_jobs(self):
        """AT13: its tokens survive kills, and each comes back; all elements get one."""
        tokens = self.size // 5
        self.limit(armada=tokens)
        self.double.control("settings", run_ms=500)
        self.double.control("hold", is_held=True)
        self.write_array(self.size)
        engine = self.begin()
        self.double.wait(running=tokens, timeout_s=LONG_S)
        self.double.control("hold", is_held=False)
        for share in (0.3, 0.6):
            self.double.wait(jobs_created=int(self.size * share), timeout_s=LONG_S)
            self.kill(engine, signal.SIGKILL)
            engine = self.resume()
        self.finish(engine)
        counters = self.double.counters()
        self.assert_each_once(self.size, counters)
        self.assertEqual(counters["live_peak"], tokens)
        self.assertEqual(self.attempts_failed(), [])
        self.assert_none_is_held(tokens)

    def limit(self, **quotas):
        path = self.store / "settings.yaml"
        path.write_text(json.dumps({**json.loads(path.read_text()), "quotas": quotas}))

    def assert_none_is_held(self, tokens):
        """Others get all of them, and the one that is too many waits."""
        self.double.control("hold", is_held=True)
        self.write_array(tokens + 1)
        engine = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "after", "-q",
                            "-o", "json")
        self.double.wait(running=tokens, timeout_s=LONG_S)
        until(lambda: f"a slot in 'armada' ({tokens} of {tokens} in use" in
              self.troupe("explain", "-v", "after")[0], LIMIT_S)
        self.assertEqual(self.double.counters()["live"], tokens)
        self.double.control("hold", is_held=False)
        self.finish(engine)

    def test_weeks_without_an_engine(self):
        """AT18: rows and streams are pruned, and what has succeeded stays so."""
        engine = self.begin_and_hold()
        half = self.size // 2
        self.double.control("jobs/end", how="succeeded", limit=half)
        until(lambda: self.succeeded() == half, LONG_S)
        self.kill(engine, signal.SIGKILL)
        self.double.wait(streams_open=[0, 0])
        self.double.control("clock", offset_s=43 * DAY_S)
        self.double.control("reset")
        engine = self.resume()
        self.double.wait(streams_open=1)
        self.double.control("jobs/end", how="failed", limit=1)
        self.double.control("hold", is_held=False)
        self.finish(engine, 1)
        self.assertNotIn("SubmitJobs", self.calls())
        self.assertEqual(self.double.counters()["jobs_created"], self.size)
        self.assert_recovery_makes_what_failed()

    def assert_recovery_makes_what_failed(self):
        """And what the failure had aborted; nothing that has succeeded."""
        succeeded = self.succeeded()
        self.assertGreaterEqual(succeeded, self.size // 2)
        self.finish(self.start("recover", "it", "-q", "-o", "json"))
        counters = self.double.counters()
        self.assertEqual(counters["jobs_created"], self.size + self.size - succeeded)
        self.assertEqual((counters["duplicates"], counters["live"]), (0, 0))


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
        engine = self.begin_sleeping("4500ms")
        self.kill(engine, signal.SIGKILL)
        job, = self.double.jobs()
        self.assertEqual(job["pod"]["activeDeadlineSeconds"], 5)
        self.assertEqual(self.double.wait(live=[0, 0])["ended"], {"deadline": 1})
        error = self.finish(self.start("resume", "it", "-q", "-o", "json"), 1)["error"]
        self.assertEqual(error["code"], "RetriesExhausted|TimeoutExpired")
        self.assertEqual(self.double.counters()["jobs_created"], 1)

    def test_a_live_engine_ends_it_before_its_deadline(self):
        """However busy the machine is: the pod's own deadline is held off."""
        self.double.control("settings", deadline_slack_ms=1000000)
        error = self.finish(self.begin_sleeping("1100ms"), 1)["error"]
        self.assertIn("task execution timeout [1.1s] expired", error["message"])
        self.assertEqual(self.double.jobs()[0]["pod"]["activeDeadlineSeconds"], 2)
        self.assertEqual(self.double.counters()["ended"], {"cancelled": 1})


if __name__ == "__main__":
    unittest.main()
