#!/usr/bin/env python3
"""The stream of events, what a job goes through, and jobs that really run."""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import unittest

from armada_client import JOB_SET, QUEUE, Double, item, pod, until

PATH = f"/v1/job-set/{QUEUE}/{JOB_SET}"


class EventsTest(unittest.TestCase):
    options = ()

    def setUp(self):
        self.double = Double(*self.options)
        self.addCleanup(self.double.stop)

    def open(self, **fields):
        stream = self.double.stream(watch=True, **fields)
        self.addCleanup(stream.close)
        return stream

    def finish(self, *items):
        """Submits jobs and waits until all they do is in the stream."""
        before = self.double.counters()["events_published"]
        ids = self.double.submit_ids(*items)
        self.double.wait(live=[0, 0], events_published=before + 6 * len(items))
        until(lambda: len(self.double.events()) >= 6 * len(items))
        return ids

    def kinds(self, job):
        return [kind for _, kind, event in self.double.events() if event["jobId"] == job]


class StreamTest(EventsTest):
    def test_a_job_that_succeeds(self):
        job, = self.finish(item("a"))
        events = self.double.events()
        self.assertEqual([kind for _, kind, _ in events],
                         ["submitted", "queued", "leased", "pending", "running", "succeeded"])
        for _, _, event in events:
            self.assertEqual((event["jobId"], event["jobSetId"], event["queue"]),
                             (job, JOB_SET, QUEUE))
            self.assertEqual(event["created"].keys() | {"nanos"}, {"seconds", "nanos"})
        self.assertEqual(events[3][2]["podName"], f"armada-{job}-0")
        self.assertNotIn("podNumber", events[3][2])
        self.assertIn("nodeName", events[4][2])
        self.assertEqual(events[5][2].keys(), {"jobId", "jobSetId", "queue", "created"})

    def test_submitted_carries_the_job_as_it_is_run(self):
        notes = {"armadaproject.io/externalJobUri": "x://1"}
        job, = self.finish(item("a", labels={"l": "1"}, annotations=notes,
                                externalJobUri="x://1"))
        made = self.double.events()[0][2]["job"]
        self.assertEqual((made["id"], made["clientId"], made["namespace"]), (job, "a", "default"))
        self.assertEqual((made["labels"], made["annotations"]), ({"l": "1"}, notes))
        self.assertNotIn("podSpecs", made)
        self.assertNotIn("externalJobUri", made)
        self.assertEqual(made["podSpec"]["containers"], pod("true")["containers"])
        self.assertEqual(made["podSpec"]["priorityClassName"], "armada-default")
        self.assertEqual(made["podSpec"]["activeDeadlineSeconds"], 72 * 3600)

    def test_frames_are_lines_and_ids_ascend(self):
        self.finish(item("a"), item("b"))
        answer = self.double.ask(PATH)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        lines = answer.body.split(b"\n")
        self.assertEqual(lines.pop(), b"")
        ids = []
        for line in lines:
            result, = json.loads(line).values()
            self.assertEqual(result.keys(), {"id", "message"})
            self.assertEqual(list(result["message"].values())[0]["jobSetId"], JOB_SET)
            ids.append(tuple(map(int, result["id"].split(":"))))
        self.assertEqual(ids, sorted(ids))
        self.assertEqual(len(set(ids)), len(ids))
        self.assertEqual([last for _, _, _, last in ids[:4]], [0, 0, 0, 1])

    def test_resume_is_exclusive(self):
        self.finish(item("a"))
        events = self.double.events()
        for number, (message_id, _, _) in enumerate(events):
            self.assertEqual(self.double.events(after=message_id), events[number + 1:])
        entry = events[0][0].split(":")
        after = [event for event in events if event[0].split(":")[:2] > entry[:2]]
        self.assertEqual(self.double.events(after="-".join(entry[:2])), after)
        answer = self.double.ask(PATH, {"fromMessageId": "nonsense"})
        self.assertEqual((answer.status, answer.document["error"]["grpc_code"]), (500, 2))

    def test_an_empty_set(self):
        answer = self.double.ask(PATH)
        self.assertEqual((answer.status, answer.body), (200, b""))
        answer = self.double.ask(PATH, {"errorIfMissing": True})
        self.assertEqual((answer.status, answer.document), (404, {"error": {
            "grpc_code": 5, "http_code": 404, "http_status": "Not Found",
            "message": f"[GetJobSetEvents] Jobset {JOB_SET} for queue {QUEUE} does not exist"}}))
        self.assertFalse(answer.body.endswith(b"\n"))
        self.assertEqual(self.double.ask("/v1/job-set/none/set").status, 404)

    def test_watching_sends_no_header_before_the_first_event(self):
        connection = self.double.connect(timeout_s=0.3)
        self.addCleanup(connection.close)
        connection.request("POST", PATH, b'{"watch":true}')
        with self.assertRaises(socket.timeout):
            connection.getresponse()
        stream = self.open()
        self.double.wait(streams_open=1)
        self.double.submit_ids(item("a"))
        self.assertEqual(len(stream.until("succeeded")), 6)

    def test_names_that_the_gateway_does_not_find(self):
        for name in ("a:b", "a%3Ab", ":a", "a%2Fb", "a/b"):
            self.assertEqual(self.double.ask(f"/v1/job-set/{QUEUE}/{name}").status, 404, name)
        for name in ("a:", "a%20b", "a.b_c-d"):
            self.assertEqual(self.double.ask(f"/v1/job-set/{QUEUE}/{name}").status, 200, name)
        self.assertEqual(self.double.submit([item()], job_set="a:b/c").status, 200)

    def test_open_streams_are_counted(self):
        streams = [self.open() for _ in range(3)]
        self.double.wait(streams_open=3)
        for stream in streams:
            stream.close()
        self.double.wait(streams_open=[0, 0])
        counters = self.double.counters()
        self.assertEqual((counters["streams_opened"], counters["streams_peak"]), (3, 3))


class EndingsTest(EventsTest):
    def ended(self, how, **rule):
        """The kinds of events behind `submitted` and `queued`, the last event, the state."""
        self.double.control("rules", rules=[{"how": how, **rule}])
        job, = self.double.submit_ids(item(how))
        self.double.wait(live=[0, 0])
        until(lambda: self.double.states(job)[job] not in (0, 1, 2, 5, 7))
        until(lambda: len(self.double.events()) == self.double.counters()["events_published"])
        events = self.double.events()
        return ([kind for _, kind, _ in events][2:], events[-1][2], self.double.states(job)[job])

    RAN = ["leased", "pending", "running"]

    def test_a_container_that_fails(self):
        kinds, event, state = self.ended("failed", exit_code=3, reason="bad luck")
        self.assertEqual((kinds, state), (self.RAN + ["failed"], 4))
        self.assertEqual(event["containerStatuses"],
                         [{"name": "main", "exitCode": 3, "reason": "Error"}])
        self.assertEqual(event["reason"], "bad luck")
        self.assertNotIn("cause", event)
        self.assertNotIn("retryable", event)

    def test_causes(self):
        for how, cause in (("oom", 2), ("evicted", 1), ("deadline", 3)):
            kinds, event, state = self.ended(how)
            self.assertEqual((kinds[-1], event["cause"], state), ("failed", cause, 4), how)

    def test_rejected_never_ran(self):
        kinds, event, state = self.ended("rejected", at="queued")
        self.assertEqual((kinds, event["cause"], state), (["failed"], 4, 10))
        self.assertNotIn("containerStatuses", event)

    def test_lease_expired_and_cancelled_by_others(self):
        self.assertEqual(self.ended("lease_expired")[0], self.RAN + ["leaseExpired", "failed"])
        kinds, event, state = self.ended("cancelled")
        self.assertEqual((kinds[-2:], event["requestor"], state),
                         (["cancelling", "cancelled"], "somebody", 9))

    def test_retryable_is_not_the_end(self):
        for how, event in (("retried", "failed"), ("lease_returned", "leaseReturned")):
            kinds, _, state = self.ended(how)
            self.assertEqual(kinds[-8:], self.RAN + [event] + self.RAN + ["succeeded"])
            self.assertEqual(state, 3)
        failed = [event for _, kind, event in self.double.events() if kind == "failed"]
        self.assertEqual([event["retryable"] for event in failed], [True])

    def test_chosen_jobs_end_now(self):
        self.double.control("hold", is_held=True)
        ids = self.double.submit_ids(*[item(f"c{number}") for number in range(10)])
        self.double.wait(running=10)
        ended = self.double.control("jobs/end", how="oom", match={"client_ids": ["c3", "c4"]})
        self.assertEqual(ended, {"ended": 2})
        self.assertEqual({job["job_id"] for job in self.double.jobs(states=["FAILED"])},
                         set(ids[3:5]))
        self.assertEqual(self.double.control("jobs/end", how="preempted", limit=1), {"ended": 1})
        self.double.control("hold", is_held=False)
        counters = self.double.wait(live=[0, 0])
        self.assertEqual(counters["ended"], {"oom": 2, "preempted": 1, "succeeded": 7})

    def test_rules_choose_by_number_share_and_text(self):
        self.double.control("rules", rules=[{"how": "failed", "times": 2},
                                            {"how": "evicted", "match": {"text": "special"}}])
        self.double.submit_ids(*[item() for _ in range(5)])
        self.double.submit_ids(item(podSpecs=[pod("special")]))
        counters = self.double.wait(live=[0, 0])
        self.assertEqual(counters["ended"], {"failed": 2, "evicted": 1, "succeeded": 3})

    def test_a_mistake_is_told(self):
        with self.assertRaisesRegex(AssertionError, "how is one of succeeded, failed"):
            self.double.control("rules", rules=[{"how": "gone"}])
        with self.assertRaisesRegex(AssertionError, "fault latency has no s; it has"):
            self.double.fault("latency", s=1)
        with self.assertRaisesRegex(AssertionError, "no fault unknown; there are latency"):
            self.double.fault("unknown")

    def test_slots_bound_who_has_a_node(self):
        self.double.control("settings", slots=3)
        self.double.control("hold", is_held=True)
        self.double.submit_ids(*[item() for _ in range(9)])
        for live in (9, 6, 3):
            self.double.wait(running=3)
            self.assertEqual(self.double.counters()["running"], 3)
            self.assertEqual(self.double.counters()["live"], live)
            self.double.control("jobs/end", how="succeeded", match={"states": ["RUNNING"]})
        self.double.wait(live=[0, 0])


class ExecuteTest(EventsTest):
    options = ("--execute", "--slots", "2")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="armada-double-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.options = (*self.options, "--share", folder.name)
        super().setUp()

    def run_shell(self, script, *, count=1, **fields):
        spec = pod("/bin/sh", "-c", script, **fields)
        return self.double.submit_ids(*[item(podSpecs=[spec]) for _ in range(count)])

    def test_the_exit_status_decides(self):
        good, = self.run_shell("true")
        bad, = self.run_shell("exit 7")
        absent, = self.double.submit_ids(item(podSpecs=[pod("/none")]))
        self.double.wait(live=[0, 0])
        until(lambda: self.double.states(good, bad, absent) == {good: 3, bad: 4, absent: 4})
        codes = {event["jobId"]: event["containerStatuses"][0]["exitCode"]
                 for _, kind, event in self.double.events() if kind == "failed"}
        self.assertEqual(codes, {bad: 7, absent: 127})

    def test_arguments_and_environment(self):
        words = dict(args=["$0", "x y"], env=[{"name": "OWN", "value": "1 2"}])
        spec = pod("/bin/sh", "-c", 'printf "%s|" "$1" "$OWN" "$ARMADA_QUEUE" '
                   f'"$ARMADA_JOB_SET_ID" "$ARMADA_JOB_ID" >{self.folder}/out', **words)
        job, = self.double.submit_ids(item(podSpecs=[spec]))
        self.double.wait(live=[0, 0])
        self.assertEqual((self.folder / "out").read_text(),
                         f"x y|1 2|{QUEUE}|{JOB_SET}|{job}|")

    def test_so_many_at_once(self):
        """The first two wait for each other, so that they are seen together."""
        live = self.folder / "live"
        live.mkdir()
        self.run_shell(f"mkdir {live}/$$; echo >>{self.folder}/begun; "
                       f"until [ $(wc -l <{self.folder}/begun) -ge 2 ]; do sleep 0.01; done; "
                       f"ls {live} | wc -l; sleep 0.05; rmdir {live}/$$", count=8)
        self.double.wait(live=[0, 0])
        seen = [int(self.log(job["job_id"])[0]["line"]) for job in self.double.jobs()]
        self.assertEqual(max(seen), 2)

    def log(self, job):
        answer = self.double.ask("/v1/binoculars/log", {"jobId": job}, part="binoculars")
        return answer.document["log"]

    def test_each_has_a_tmp_of_its_own(self):
        """What others or this machine have there is not in the way, and nothing is left of it."""
        own = f"/tmp/{self.folder.name}-own"
        pathlib.Path(own).touch()
        self.addCleanup(pathlib.Path(own).unlink)
        job, other = self.run_shell(f"mkdir {own} && ls {own}/.. && pwd && ls -A", count=2)
        self.double.wait(live=[0, 0])
        if self.double.states(job) != {job: 3} and not self.can_mount():
            self.skipTest("nothing can be mounted here")
        until(lambda: self.double.states(job, other) == {job: 3, other: 3})
        for each in (job, other):
            lines = [line["line"] for line in self.log(each)]
            self.assertIn(pathlib.Path(own).name, lines[:3])
            self.assertIn(self.folder.name, lines[:3])
        self.assertTrue(pathlib.Path(own).is_file())

    @staticmethod
    def can_mount():
        """Whether this user gets mounts of its own, as root or in a namespace of users."""
        words = ["unshare", "--mount"]
        if os.geteuid() != 0:
            words += ["--user", "--map-current-user", "--keep-caps"]
        return subprocess.run([*words, "mount", "-t", "tmpfs", "none", "/tmp"],
                              capture_output=True).returncode == 0

    def test_logs(self):
        job, = self.run_shell("echo out; echo err >&2")
        self.double.wait(live=[0, 0])
        self.assertEqual([line["line"] for line in self.log(job)], ["out", "err"])
        answer = self.double.ask("/v1/binoculars/log", {"jobId": "none"}, part="binoculars")
        self.assertEqual((answer.status, answer.document["code"]), (404, 5))

    def test_a_deadline_ends_the_process(self):
        """It counts from when the pod is there; where none is given it is days away."""
        limited = dict(pod("/bin/sh", "-c", "sleep 60"), activeDeadlineSeconds=1)
        job, = self.double.submit_ids(item(podSpecs=[limited]))
        other, = self.run_shell("sleep 1.5")
        self.assertEqual(self.double.wait(live=[0, 0])["ended"], {"deadline": 1, "succeeded": 1})
        failed, = [event for _, kind, event in self.double.events() if kind == "failed"]
        self.assertEqual((failed["jobId"], failed["cause"]), (job, 3))
        until(lambda: self.double.states(job, other) == {job: 4, other: 3})

    def test_cancelling_ends_the_process(self):
        job, = self.run_shell(f"trap 'echo over >{self.folder}/over; exit 0' TERM; "
                              f"echo begun >{self.folder}/begun; sleep 60 & wait")
        until(lambda: (self.folder / "begun").exists())
        self.double.ask("/v1/job/cancel", {"queue": QUEUE, "jobSetId": JOB_SET, "jobIds": [job]})
        until(lambda: (self.folder / "over").exists())
        self.assertEqual(self.double.wait(live=[0, 0])["ended"], {"cancelled_as_asked": 1})


if __name__ == "__main__":
    unittest.main()
