#!/usr/bin/env python3
"""Every switch, and that one seed does the same twice."""

import concurrent.futures
import http.client
import json
import socket
import time
import unittest

from armada_client import JOB_SET, QUEUE, Double, item, until

DAY_S = 24 * 3600
UNKNOWN, SUCCEEDED = 5, 3
LOST = (http.client.HTTPException, ConnectionError, socket.timeout)
PATH = f"/v1/job-set/{QUEUE}/{JOB_SET}"


class FaultTest(unittest.TestCase):
    options = ("--ingest-ms", "0")

    def setUp(self):
        self.double = Double(*self.options)
        self.addCleanup(self.double.stop)

    def created(self):
        return self.double.counters()["jobs_created"]

    def assert_lost(self, *items, timeout_s=10):
        with self.assertRaises(LOST):
            self.double.submit(list(items), timeout_s=timeout_s)


class CallFaultTest(FaultTest):
    def test_latency(self):
        self.double.fault("latency", ms=200)
        began = time.monotonic()
        self.double.submit_ids(item("a"))
        self.assertGreater(time.monotonic() - began, 0.2)

    def test_refused_before_the_work(self):
        self.double.fault("refused", times=1)
        answer = self.double.submit([item("a")])
        self.assertEqual((answer.status, answer.document["code"], self.created()), (503, 14, 0))
        self.double.submit_ids(item("a"))
        self.double.fault("refused", code="Internal")
        self.assertEqual(self.double.submit([item("a")]).status, 500)
        self.assertEqual(self.double.counters()["calls"]["SubmitJobs"],
                         {"calls": 3, "ids": 1, "ids_max": 1, "per_second_max":
                          self.double.counters()["calls"]["SubmitJobs"]["per_second_max"],
                          "statuses": {"200": 1, "500": 1, "503": 1}})

    def test_too_many_with_and_without_an_hour(self):
        self.double.fault("too_many", times=1, retry_after_s=7)
        answer = self.double.submit([item("a")])
        self.assertEqual((answer.status, answer.headers["Retry-After"]), (429, "7"))
        self.double.fault("too_many", times=1)
        answer = self.double.submit([item("a")])
        self.assertEqual((answer.status, answer.headers["Retry-After"]), (429, None))
        self.assertEqual(self.created(), 0)

    def test_a_request_that_is_reset(self):
        self.double.fault("reset_request", times=1)
        self.assert_lost(item("a"))
        self.assertEqual(self.created(), 0)

    def test_answers_that_are_lost_after_the_work(self):
        for number, how in enumerate(("close", "half", "hang")):
            self.double.fault("lost_answer", times=1, how=how)
            self.assert_lost(item(f"c{number}"), timeout_s=0.5)
            until(lambda: self.created() == number + 1)
        self.double.submit_ids(*[item(f"c{number}") for number in range(3)])
        self.assertEqual(self.created(), 3)

    def test_hanging(self):
        self.double.fault("hang", times=1, method="GetJobStatus")
        self.double.submit_ids(item("a"))
        with self.assertRaises(socket.timeout):
            self.double.ask("/v1/job/status", {}, timeout_s=0.3)

    def test_nonsense(self):
        self.double.fault("nonsense", times=1)
        self.assertIn(b"<html>", self.double.submit([item("a")]).body)
        self.double.fault("nonsense", what="types", times=1)
        self.assertEqual(self.double.submit([item("b")]).document["jobResponseItems"], {"jobId": 7})
        self.double.fault("nonsense", what="empty", times=1)
        self.assertEqual(self.double.submit([item("c")]).body, b"")
        self.double.fault("nonsense", what="huge", times=1)
        self.assertGreater(len(self.double.submit([item("d")]).body), 64 << 20)
        self.assertEqual(self.created(), 4)

    def test_the_state_of_a_job_may_be_strange(self):
        self.double.fault("strange_state", times=1, state="lost")
        odd, even = self.double.submit_ids(item("a"), item("b"))
        until(lambda: self.double.states(odd, even) == {odd: "lost", even: SUCCEEDED})
        self.double.clear("strange_state")
        self.assertEqual(self.double.states(odd, even), {odd: SUCCEEDED, even: SUCCEEDED})


class DeduplicationFaultTest(FaultTest):
    def twice(self):
        return self.double.submit_ids(item("a"))[0], self.double.submit_ids(item("a"))[0]

    def duplicates(self):
        return self.double.counters()["duplicates"]

    def test_without_any_fault_a_client_id_is_one_job(self):
        first, second = self.twice()
        self.assertEqual((first, self.duplicates()), (second, 0))

    def test_off(self):
        self.double.fault("dedup_off")
        first, second = self.twice()
        self.assertNotEqual(first, second)
        self.double.clear("dedup_off")
        self.assertNotIn(self.double.submit_ids(item("a"))[0], (first, second))
        self.assertEqual(self.duplicates(), 1)

    def test_hole_a_published_and_not_kept(self):
        self.double.fault("dedup_hole_a", times=1)
        first, second = self.twice()
        self.assertNotEqual(first, second)
        self.assertEqual(self.double.submit_ids(item("a")), [second])

    def at_once(self):
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            calls = [threads.submit(self.double.submit_ids, item("a")) for _ in range(2)]
            return [call.result()[0] for call in calls]

    def test_hole_b_two_at_once(self):
        self.double.fault("dedup_hole_b", ms=200)
        first, second = self.at_once()
        self.assertNotEqual(first, second)
        self.double.clear()
        self.assertIn(self.double.submit_ids(item("a"))[0], (first, second))
        self.assertEqual(len(set(self.at_once())), 1)

    def test_hole_c_the_look_fails(self):
        self.double.fault("dedup_hole_c", skip=1, times=1)
        first, second = self.twice()
        self.assertNotEqual(first, second)
        self.assertEqual(self.double.submit_ids(item("a")), [first])

    def test_a_publication_that_is_partial(self):
        self.double.fault("partial_submit", times=1, share=0.5)
        items = [item(f"c{number}") for number in range(10)]
        answer = self.double.submit(items)
        self.assertEqual((answer.status, answer.document["code"], self.created()), (500, 13, 5))
        self.double.submit_ids(*items)
        self.assertEqual((self.created(), self.duplicates()), (15, 5))

    def test_an_error_in_the_place_of_a_job(self):
        self.double.fault("item_error", skip=1, times=1, text="no room")
        answer = self.double.submit([item("a"), item("b"), item("c")]).document
        self.assertEqual([sorted(entry) for entry in answer["jobResponseItems"]],
                         [["jobId"], ["error"], ["jobId"]])
        self.assertEqual(self.created(), 2)

    def test_rows_are_pruned_after_seven_days(self):
        first, = self.double.submit_ids(item("a"))
        self.double.control("clock", offset_s=7 * DAY_S - 60)
        self.assertEqual(self.double.submit_ids(item("a")), [first])
        self.double.control("clock", offset_s=7 * DAY_S + 60)
        second, = self.double.submit_ids(item("a"))
        self.assertNotEqual(first, second)
        self.assertEqual(self.double.submit_ids(item("a")), [second])


class ViewFaultTest(FaultTest):
    def test_status_lags_and_is_unknown_at_first(self):
        self.double.fault("lookout_lag", s=3600)
        job, = self.double.submit_ids(item("a"))
        self.double.wait(live=[0, 0])
        self.assertEqual(self.double.states(job), {job: UNKNOWN})
        self.assertEqual(self.double.ask("/v1/job/details", {"jobIds": [job]}).body, b"{}")
        self.double.fault("lookout_lag", s=0.1)
        until(lambda: self.double.states(job) == {job: SUCCEEDED})

    def test_rows_of_lookout_are_pruned_after_42_days(self):
        job, = self.double.submit_ids(item("a"))
        self.double.wait(live=[0, 0])
        self.double.control("clock", offset_s=43 * DAY_S)
        self.assertEqual(self.double.states(job), {job: UNKNOWN})


class StreamFaultTest(FaultTest):
    def published(self, count=10):
        self.double.submit_ids(*[item(f"c{number}") for number in range(count)])
        self.double.wait(live=[0, 0])

    def kinds(self):
        return [kind for _, kind, _ in self.double.events()]

    def test_lag(self):
        self.double.fault("event_lag", s=3600)
        stream = self.double.stream(watch=True)
        self.addCleanup(stream.close)
        began = time.monotonic()
        self.published(1)
        self.assertEqual(self.kinds(), [])
        self.double.fault("event_lag", s=0.5)
        stream.until("succeeded")
        self.assertGreater(time.monotonic() - began, 0.5)

    def test_lost(self):
        self.double.fault("events_lost", times=3)
        self.published()
        until(lambda: len(self.kinds()) == 57)
        self.assertEqual(self.kinds().count("submitted"), 8)

    def test_doubled(self):
        self.double.fault("events_doubled", times=3)
        self.published()
        until(lambda: len(self.kinds()) == 63)
        ids = [message_id for message_id, _, _ in self.double.events()]
        self.assertEqual(len(set(ids)), 63)

    def test_reordered(self):
        self.double.fault("events_reordered", times=1, ms=1000)
        self.published(1)
        until(lambda: len(self.kinds()) == 6)
        self.assertEqual(self.kinds()[-1], "submitted")

    def test_expired_after_14_days(self):
        self.published()
        self.double.control("clock", offset_s=15 * DAY_S)
        self.assertEqual(self.kinds(), [])
        self.assertEqual(self.double.ask(PATH, {"errorIfMissing": True}).status, 404)

    def test_trimmed_without_a_word(self):
        self.published()
        until(lambda: len(self.kinds()) == 60)
        events = self.double.events()
        self.double.control("streams/trim", queue=QUEUE, job_set=JOB_SET, keep=5)
        self.assertEqual(self.double.events(after=events[0][0]), events[-5:])
        self.double.control("streams/trim", queue=QUEUE, job_set=JOB_SET)
        self.assertEqual(self.double.ask(PATH, {"errorIfMissing": True}).status, 404)

    def test_missing(self):
        self.published()
        self.double.fault("stream_missing", times=1)
        self.assertEqual(self.double.ask(PATH).document["error"]["grpc_code"], 5)
        self.assertEqual(self.double.ask(PATH).status, 200)

    def cut(self, how):
        self.double.fault("stream_cut", times=1, lines=7, how=how)
        connection = self.double.connect()
        self.addCleanup(connection.close)
        connection.request("POST", PATH, b'{"watch":true}')
        response = connection.getresponse()
        data, lines = b"", b""
        try:
            while data := response.read1():
                lines += data
        except LOST as error:
            return lines, type(error)
        return lines, None

    def test_cut(self):
        self.published()
        until(lambda: len(self.kinds()) == 60)
        lines, error = self.cut("end")
        self.assertEqual((lines.count(b"\n"), lines[-1:], error), (7, b"\n", None))
        lines, error = self.cut("error")
        last = json.loads(lines.split(b"\n")[-1])["error"]
        self.assertEqual((lines.count(b"\n"), last["grpc_code"], error), (7, 14, None))
        lines, error = self.cut("garbage")
        self.assertEqual(lines.split(b"\n")[7:], [b"upstream request timeout", b""])
        self.assertIsNone(error)
        lines, error = self.cut("reset")
        self.assertIsNotNone(error)
        lines, error = self.cut("middle")
        self.assertIsNotNone(error)

    def test_silent(self):
        self.published()
        self.double.fault("stream_silent", times=1, lines=3)
        stream = self.double.stream(watch=True)
        self.addCleanup(stream.close)
        events = iter(stream)
        for _ in range(3):
            next(events)
        stream.response.fp.raw._sock.settimeout(0.3)
        with self.assertRaises(socket.timeout):
            next(events)
        self.assertEqual(self.double.counters()["streams_open"], 1)

    def test_the_other_form_of_a_oneof(self):
        self.double.fault("events_wrapped")
        self.published(1)
        until(lambda: len(self.kinds()) == 6)
        message = json.loads(self.double.ask(PATH).body.splitlines()[0])["result"]["message"]
        self.assertEqual((list(message), list(message["Events"])), (["Events"], ["submitted"]))

    def test_a_flood_of_utilisation(self):
        self.published(1)
        self.double.control("streams/flood", queue=QUEUE, job_set=JOB_SET, count=5000)
        kinds = self.kinds()
        self.assertEqual((len(kinds), kinds.count("utilisation")), (5006, 5000))


class SwitchTest(FaultTest):
    def test_reset_forgets_faults_and_calls_but_not_jobs(self):
        self.double.fault("refused")
        self.double.submit([item("a")])
        self.double.control("reset")
        self.double.submit_ids(item("a"))
        self.assertEqual(self.double.calls("SubmitJobs"), 1)

    def test_a_method_alone(self):
        self.double.fault("refused", method=["GetJobStatus"])
        self.assertEqual(self.double.submit([item("a")]).status, 200)
        self.assertEqual(self.double.ask("/v1/job/status").status, 503)

    def test_the_table_says_what_there_is(self):
        self.double.fault("refused", times=1)
        self.double.submit([item("a")])
        table = self.double.control("faults", "GET")
        self.assertEqual((table["refused"]["is_on"], table["refused"]["strikes"]), (True, 1))
        self.assertEqual(table["latency"]["fields"], {"ms": 100})

    @staticmethod
    def story(seed):
        """What a run of calls comes to: the statuses, and the random half of each id."""
        double = Double("--ingest-ms", "0", "--seed", str(seed))
        try:
            double.fault("refused", rate=0.3, seed=seed)
            double.fault("events_lost", rate=0.2, seed=seed)
            told = []
            for number in range(60):
                answer = double.submit([item(f"c{number}")])
                told.append((answer.status, answer.status == 200 and
                             answer.document["jobResponseItems"][0]["jobId"][10:]))
            double.wait(live=[0, 0])
            return told, double.counters()["jobs_created"]
        finally:
            double.stop()

    def test_one_seed_does_the_same_twice(self):
        first = self.story(1)
        self.assertEqual(first, self.story(1))
        self.assertNotEqual(first, self.story(2))
        statuses = [status for status, _ in first[0]]
        self.assertIn(503, statuses)
        self.assertIn(200, statuses)


if __name__ == "__main__":
    unittest.main()
