#!/usr/bin/env python3
"""Arrays on Armada: each element is one job, whatever becomes of it; and what its ends mean.

The numbers AT1, AT8, AT10, AT11 and AT12 are those of the acceptance tests of the plugin.
"""

import collections
import json
import math
import signal
import time
import unittest

from armada import (LONG_S, NARROW, QUEUE, SIZE, STATUS_MAX, SUBMIT_MAX, ArmadaTest, slow,
                    submits_more, until)
from armada_client import item
from program import IS_SANITIZED


class ArrayTest(ArmadaTest):
    size = SIZE

    def test_each_element_is_one_job(self):
        """AT1."""
        self.write_array(self.size)
        self.assertEqual(self.run_all()["phase"], "succeeded")
        counters = self.double.counters()
        self.assert_each_once(self.size, counters)
        self.assert_batched(self.size, counters)
        self.assertEqual(counters["submits_per_client_id_max"], 1)
        self.assertLessEqual(counters["streams_opened"], 2)
        elements = sorted(int(self.variable(job, "TROUPE_ELEMENT")) for job in self.double.jobs())
        self.assertEqual(elements, list(range(self.size)))

    @staticmethod
    def variable(job, name):
        return next(entry["value"] for entry in job["pod"]["containers"][0]["env"]
                    if entry["name"] == name)

    def test_calls_are_bounded(self):
        """AT10: no burst at any time, and status is asked for many at once."""
        self.settle(calls_per_second=20)
        self.double.control("settings", run_ms=3000)
        self.write_array(2000)
        self.run_all()
        self.assert_each_once(2000)
        calls = self.double.counters()["calls"]
        for method, figures in calls.items():
            self.assertLessEqual(figures["per_second_max"], 40, method)
            self.assertLessEqual(figures["ids_max"], STATUS_MAX, method)
        self.assertNotIn("GetJobErrors", calls)

    def test_ten_arrays_at_once_share_the_calls(self):
        """AT10: one stream for each, and no more calls than one may make."""
        size, arrays, per_second = SIZE // 10, 10, 20
        self.settle(calls_per_second=per_second)
        self.write_array(size)
        engine = self.start("serve")
        engine.wait_for("serves")
        engines = [self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", f"n{number}",
                              "-q", "-o", "json") for number in range(arrays)]
        for running in engines:
            self.finish(running)
        counters = self.double.counters()
        self.assert_each_once(size * arrays, counters)
        calls = counters["calls"]
        self.assertLessEqual(calls["SubmitJobs"]["calls"],
                             arrays * (size // SUBMIT_MAX + 1 + submits_more()))
        for method, figures in calls.items():
            self.assertLessEqual(figures["per_second_max"], 2 * per_second, method)
        if not IS_SANITIZED:  # so slow that streams end by time, and the next one overlaps
            self.assertLessEqual(counters["streams_peak"], arrays)
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)

    def test_too_many_calls_make_it_slower(self):
        """AT10: after 429 the rate halves, and nothing is lost or done twice."""
        self.double.fault("too_many", times=3, method="SubmitJobs")
        self.write_array(2000)
        self.run_all()
        self.assert_each_once(2000)
        self.assertEqual(self.double.counters()["calls"]["SubmitJobs"]["statuses"]["429"], 3)

    def test_polls_are_few_and_full(self):
        """AT10: where there are no streams, and how those that fail are asked about."""
        bad, begin = 30, time.monotonic()
        self.settle(streams=0)
        self.double.control("hold", is_held=True)
        self.write_array(self.size, where=f"min_successes: {self.size - bad}")
        engine = self.begin()
        self.double.wait(running=self.size, timeout_s=LONG_S)
        per_round = math.ceil(self.size / STATUS_MAX)
        until(lambda: self.double.calls("GetJobStatus") >= 3 * per_round, LONG_S)
        self.double.control("jobs/end", how="failed", limit=bad)
        until(lambda: len(self.attempts_failed()) == bad, LONG_S)
        self.double.control("hold", is_held=False)
        self.finish(engine)
        rounds = 1 + math.ceil(time.monotonic() - begin)  # one a second, as the settings say
        self.assert_each_once(self.size)
        calls = self.double.counters()["calls"]
        self.assertLessEqual(set(calls), {"SubmitJobs", "GetJobStatus", "GetJobErrors"})
        self.assertLessEqual(calls["GetJobStatus"]["calls"], rounds * per_round, calls)
        self.assertLessEqual(calls["GetJobStatus"]["ids_max"], STATUS_MAX)
        self.assertEqual(calls["GetJobErrors"]["ids"], bad)
        self.assertLessEqual(calls["GetJobErrors"]["calls"], 3)

    @slow
    def test_sweeps_are_few_and_full(self):
        """AT10: beside a stream each job is asked about once a minute."""
        self.double.control("hold", is_held=True)
        self.write_array(self.size)
        engine = self.begin()
        begin = time.monotonic()
        self.double.wait(running=self.size, timeout_s=LONG_S)
        per_round = math.ceil(self.size / STATUS_MAX)
        until(lambda: self.double.calls("GetJobStatus") >= 2 * per_round, LONG_S)
        minutes = 1 + math.ceil((time.monotonic() - begin) / 60)
        self.assertLessEqual(self.double.calls("GetJobStatus"), minutes * per_round)
        self.double.control("hold", is_held=False)
        self.finish(engine)
        self.assert_each_once(self.size)

    def test_one_bad_element_costs_itself_alone(self):
        """AT8: Armada refuses the whole of its batch, and the others are made all the same."""
        size = NARROW
        self.write("flow.yaml", """
troupe: 1
tasks:
  work:
    inputs: {class: string}
    run: ["true"]
    type: armada
    retries: 3
    config: {priority_class: "{{.inputs.class}}"}
workflows:
  main:
    inputs: {classes: [string]}
    nodes: {work: {map: work, with: {class: $classes}, min_successes: LEAST}}
""".replace("LEAST", str(size - 1)))
        classes = ["armada-default"] * size
        classes[17] = "unheard-of"
        self.write("inputs.json", json.dumps({"classes": classes}))
        self.run_all()
        self.assert_each_once(size - 1)
        bisections = 2 * math.ceil(math.log2(200)) + 2
        self.assertLessEqual(self.calls()["SubmitJobs"],
                             math.ceil(size / SUBMIT_MAX) + submits_more() + bisections)
        (element, attempt, _, code), = self.attempts_failed()
        self.assertEqual((element, attempt), (17, 0))
        document = self.document("get", "it/work[17]")
        self.assertIn("priority class unheard-of is not supported", document["error"]["message"])

    def test_an_answer_that_refuses_one_item(self):
        self.double.fault("item_error", skip=17, times=1, text="no room for this one")
        self.write_array(400, where="min_successes: 399")
        self.run_all()
        self.assert_each_once(399)
        (element, _, _, _), = self.attempts_failed()
        error = self.document("get", f"it/work[{element}]")["error"]
        self.assertIn("no room for this one", error["message"])

    def test_a_state_that_nobody_knows_keeps_a_job_where_it_is(self):
        """AT8: its own job; what the same answers say of the others counts."""
        self.settle(streams=0)
        self.double.control("hold", is_held=True)
        self.double.fault("strange_state", times=1, state=99)
        self.write_array(NARROW)
        engine = self.begin()
        self.double.wait(running=NARROW, timeout_s=LONG_S)
        self.double.control("hold", is_held=False)
        self.double.wait(live=[0, 0], timeout_s=LONG_S)
        until(lambda: self.succeeded() == NARROW - 1, LONG_S)
        self.assertEqual(self.attempts_failed(), [])
        self.double.clear("strange_state")
        self.finish(engine)
        self.assert_each_once(NARROW)


class SquaresTest(ArmadaTest):
    double_options = ("--execute", "--slots", "4")

    def test_armada_and_processes_give_the_same(self):
        self.write_squares()
        here = self.run_all()
        self.assert_each_once(len(here["outputs"]["b"]))
        (self.store / "settings.yaml").unlink()
        there = self.finish(self.start("run", "flow.yaml", "--inputs", "inputs.json", "-q", "-o",
                                       "json"))
        self.assertEqual(here["outputs"], there["outputs"])
        self.assertEqual(here["outputs"]["b"], [a * a for a in range(len(here["outputs"]["b"]))])

    def test_an_error_document_says_why(self):
        self.write_squares(3)
        self.write("square.sh", 'echo \'{"code": "NoLuck", "message": "not today", '
                   '"recoverable": false}\' >"$TROUPE_ERROR"\n')
        document = self.run_all(status=1)
        self.assertEqual(document["error"]["code"], "NoLuck")
        self.assertIn("not today", document["error"]["message"])

    def test_missing_outputs_are_named(self):
        self.write_squares(2)
        self.write("square.sh", "exit 0\n")
        document = self.run_all(status=1)
        self.assertEqual(document["error"]["code"], "RetriesExhausted|OutputsNotFound")

    def test_an_exit_status(self):
        self.write_squares(2)
        self.write("square.sh", "exit 7\n")
        error = self.run_all(status=1)["error"]
        self.assertIn("exit status 7", error["message"])


class EndingsTest(ArmadaTest):
    """AT12: what each end costs."""

    size = 50

    def ended(self, *rules, retries=0, status=0):
        """Runs an array under rules: the attempts that failed, and the jobs there were."""
        self.double.control("rules", rules=rules)
        self.write_array(self.size, f"retries: {retries}")
        document = self.run_all(status=status)
        counters = self.double.counters()
        self.assertEqual(counters["duplicates"], 0)
        return self.attempts_failed(), counters["jobs_created"], document

    def test_a_failure_is_retried_with_a_client_id_of_its_own(self):
        failed, jobs, _ = self.ended({"how": "failed", "times": 3, "exit_code": 5}, retries=1)
        self.assertEqual((len(failed), jobs), (3, self.size + 3))
        self.assertEqual({attempt for _, attempt, _, _ in failed}, {0})
        self.assertEqual(self.double.counters()["client_ids"], self.size + 3)

    def test_failures_use_retries_up(self):
        failed, jobs, document = self.ended({"how": "failed", "match": {
            "text": '"name": "TROUPE_ELEMENT", "value": "7"'}}, retries=2, status=1)
        self.assertEqual([row[:2] for row in failed if row[0] == 7], [(7, 0), (7, 1), (7, 2)])
        self.assertEqual(document["error"]["element"], 7)

    def test_out_of_memory_is_the_users(self):
        _, _, document = self.ended({"how": "oom", "times": 1}, status=1)
        self.assertEqual(document["error"]["code"], "RetriesExhausted|OOMKilled")

    def test_what_befell_a_job_from_outside_costs_no_retry_of_the_user(self):
        for how in ("preempted", "evicted", "deadline", "lease_expired"):
            with self.subTest(how):
                before = self.double.counters()["jobs_created"]
                self.double.control("rules", rules=[{"how": how, "times": 2}])
                self.write_array(self.size, "retries: 0")
                self.finish(self.start("run", "flow.yaml", "--inputs", "inputs.json", "-q", "-o",
                                       "json"))
                created = self.double.counters()["jobs_created"] - before
                self.assertEqual(created, self.size + 2)

    def test_a_rejection_is_for_good(self):
        failed, jobs, document = self.ended({"how": "rejected", "at": "queued", "times": 1},
                                            retries=5, status=1)
        self.assertEqual((len(failed), document["error"]["code"]), (1, "Rejected"))

    def test_who_cancelled_it_is_told(self):
        failed, _, document = self.ended(
            {"how": "cancelled", "times": 1, "requestor": "mallory"}, retries=5, status=1)
        self.assertEqual(len(failed), 1)
        self.assertIn("mallory", document["error"]["message"])

    def test_what_armada_runs_again_itself_is_no_end(self):
        failed, jobs, _ = self.ended({"how": "retried", "times": 5},
                                     {"how": "lease_returned", "times": 5})
        self.assertEqual((failed, jobs), ([], self.size))

    def test_each_attempt_is_a_gang_of_its_own(self):
        """AT12: and one that is run again is a gang of one, which waits for nobody."""
        self.double.control("rules", rules=[{"how": "failed", "times": 4}])
        self.write("flow.yaml", """
troupe: 1
tasks:
  work: {type: armada, run: ["true"], retries: 1, inputs: {a: int},
         config: {gang: {cardinality: 2}}}
workflows: {main: {nodes: {work: {map: work, with: {a: [1, 2, 3, 4]}}}}}
""")
        self.finish(self.start("run", "flow.yaml", "-q", "-o", "json"))
        gangs = collections.Counter(
            (job["annotations"]["armadaproject.io/gangId"],
             job["annotations"]["armadaproject.io/gangCardinality"]) for job in self.double.jobs())
        self.assertEqual(sorted((size, cardinality) for (_, cardinality), size in gangs.items()),
                         [(1, "1")] * 4 + [(2, "2")] * 2)


class AbortTest(ArmadaTest):
    """AT11."""

    size = NARROW

    def begin_and_hold(self, running=None):
        """Starts an array of which so many jobs get to run, and wait there."""
        self.double.control("hold", is_held=True)
        self.double.control("settings", slots=running or 0)
        self.write_array(self.size)
        engine = self.begin()
        self.double.wait(jobs_created=self.size, running=running or self.size, timeout_s=LONG_S)
        return engine

    def assert_all_over(self):
        counters = self.double.wait(live=[0, 0])
        self.assertEqual(counters["cancels_without_ids"], 0)
        self.assertEqual(counters["jobs_created"], self.size)

    def test_an_abort_ends_the_whole_set(self):
        engine = self.begin_and_hold(self.size * 3 // 10)
        self.troupe("abort", "it", "--yes")
        self.finish(engine, 3)
        self.assert_all_over()
        calls = self.calls()
        self.assertLessEqual(calls.get("CancelJobSet", 0) + calls.get("CancelJobs", 0),
                             self.size // 200 + 1)

    def test_an_engine_that_is_killed_on_the_way_goes_on(self):
        engine = self.begin_and_hold()
        self.double.fault("latency", ms=300, method=["CancelJobs", "CancelJobSet"])
        self.troupe("abort", "it", "--yes")
        self.kill(engine, 9)
        self.troupe("resume", "it", status=3)
        self.assert_all_over()

    def test_a_cancel_without_permission_is_told(self):
        """By a call or two for the set, with the server's words; what runs is heard of as ever."""
        for code in ("Unknown", "PermissionDenied"):
            words = f"you may not cancel jobs: {code}"
            with self.subTest(code):
                self.double.control("reset")
                self.double.fault("refused", code=code, text=words,
                                  method=["CancelJobs", "CancelJobSet"])
                self.size = 200
                before = self.double.counters()["jobs_created"]
                self.double.control("hold", is_held=True)
                self.write_array(self.size)
                engine = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name",
                                    code.lower(), "-q", "-o", "json")
                self.double.wait(running=self.size, timeout_s=LONG_S)
                self.assertEqual(self.double.counters()["jobs_created"] - before, self.size)
                self.troupe("abort", code.lower(), "--yes")
                until(lambda: "was not ended" in self.troupe("explain", code.lower())[0])
                self.assertIn(words, self.troupe("explain", code.lower())[0])
                until(lambda: words in self.plugin()["refusal"])
                self.assertEqual(self.plugin()["unended"], self.size)
                self.assertEqual(self.plugin()["circuit"], "closed")
                self.assertIn(words, self.troupe("plugins")[1])
                calls = self.calls()
                self.assertLessEqual(calls.get("CancelJobSet", 0) + calls.get("CancelJobs", 0), 2)
                self.double.control("hold", is_held=False)
                self.finish(engine, 3)

    def plugin(self):
        """How the endpoint of the double stands, as `troupe plugins` says."""
        plugins = json.loads(self.troupe("plugins", "-o", "json")[0])
        return next(one["endpoints"][0] for one in plugins if one["plugin"] == "armada")

    def test_jobs_that_turn_up_late_are_ended_too(self):
        """Aborted while nobody knows whether the jobs are there."""
        self.double.control("hold", is_held=True)
        self.double.fault("event_lag", s=3)
        self.double.fault("lookout_lag", s=3)
        self.double.fault("lost_answer", method="SubmitJobs")
        self.write_array(200)
        engine = self.begin()
        self.double.wait(jobs_created=200)
        self.troupe("abort", "it", "--yes")
        self.finish(engine, 3)
        self.double.wait(live=[0, 0])
        self.assertEqual(self.double.counters()["cancels_without_ids"], 0)

    def test_others_in_the_queue_stay(self):
        other = self.double.submit_ids(item("mine"), job_set="of-others")
        self.double.wait(live=[0, 0])
        self.double.control("hold", is_held=True)
        stays = self.double.submit_ids(item("stays"), job_set="of-others")
        self.write_array(200)
        engine = self.begin()
        self.double.wait(running=201)
        self.troupe("abort", "it", "--yes")
        self.finish(engine, 3)
        until(lambda: self.double.counters()["live"] == 1)
        states = {job["job_id"]: job["state"] for job in self.double.jobs(queue=QUEUE,
                                                                          job_set="of-others")}
        self.assertEqual(states, {other[0]: "SUCCEEDED", stays[0]: "RUNNING"})


if __name__ == "__main__":
    unittest.main()
