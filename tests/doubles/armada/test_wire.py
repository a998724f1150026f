#!/usr/bin/env python3
"""The wire as it is, quirk by quirk: facts about armada 207cc9e behind grpc-gateway v1.16.0."""

import base64
import json
import pathlib
import ssl
import time
import unittest

from armada_client import JOB_SET, QUEUE, Double, item, pod, until

TLS = pathlib.Path(__file__).resolve().parents[2] / "support/tls"
UNKNOWN, QUEUED, RUNNING, SUCCEEDED = 5, 0, 2, 3


class WireTest(unittest.TestCase):
    options = ("--queue-cache-ms", "150")

    def setUp(self):
        self.double = Double(*self.options)
        self.addCleanup(self.double.stop)

    def refused(self, answer, status, code, part):
        """An error of the gateway: error and message are the same, and the code is gRPC's."""
        self.assertEqual(answer.status, status, answer.body)
        document = answer.document
        self.assertEqual(document["code"], code)
        self.assertEqual(document["error"], document["message"])
        self.assertIn(part, document["message"])

    def ask(self, path, body=None, **options):
        return self.double.ask(path, body, **options)


class EncodingTest(WireTest):
    def test_states_are_integers_and_queued_is_missing_from_details(self):
        self.double.control("settings", slots=1, run_ms=60000)
        first, second = self.double.submit_ids(item("a"), item("b"))
        self.double.wait(running=1)
        until(lambda: self.double.states(first) == {first: RUNNING})
        self.assertEqual(self.double.states(second), {second: QUEUED})
        details = self.ask("/v1/job/details", {"jobIds": [first, second]}).document["jobDetails"]
        self.assertEqual(details[first]["state"], RUNNING)
        self.assertNotIn("state", details[second])
        self.assertNotIn("latestRunId", details[second])
        self.assertNotIn("jobRuns", details[first])
        self.assertEqual(details[first]["submittedTs"].keys() - {"nanos"}, {"seconds"})

    def test_details_with_runs_and_spec(self):
        job, = self.double.submit_ids(item("a", annotations={"k": "v"}))
        until(lambda: self.double.states(job) == {job: SUCCEEDED})
        body = {"jobIds": [job], "expandJobRun": True, "expandJobSpec": True}
        details = self.ask("/v1/job/details", body).document["jobDetails"][job]
        self.assertEqual(details["jobSpec"]["annotations"], {"k": "v"})
        run, = details["jobRuns"]
        self.assertEqual(run["runId"], details["latestRunId"])
        self.assertEqual(run["state"], 4)  # JobRunState counts otherwise.
        found = self.ask("/v1/run/details", {"runIds": [run["runId"], "none"]}).document
        self.assertEqual(found, {"jobRunDetails": {run["runId"]: run}})

    def test_empty_maps_are_left_out(self):
        self.assertEqual(self.ask("/v1/job/status", {"jobIds": []}).body, b"{}")
        self.assertEqual(self.ask("/v1/job/details", {"jobIds": ["none"]}).body, b"{}")
        self.assertEqual(self.ask("/v1/job/errors", {"jobIds": ["none"]}).body, b"{}")

    def test_unknown_and_snake_case_fields_are_ignored(self):
        job, = self.double.submit_ids(item("a"))
        answer = self.ask("/v1/job/status", {"job_ids": [job], "unknown": 1})
        self.assertEqual((answer.status, answer.body), (200, b"{}"))

    def test_wrong_types_and_no_json(self):
        for body, part in (({"queue": 1}, "JobSubmitRequest.queue of type string"),
                           (b"{", "unexpected EOF"), (b"x", "invalid character"),
                           ([], "cannot unmarshal array")):
            self.refused(self.ask("/v1/job/submit", body or b"[]"), 400, 3, part)
        self.refused(self.double.submit([{**item(), "clientId": 7}]), 400, 3, "clientId")

    def test_paths(self):
        answer = self.ask("//v1/job/status")
        self.assertEqual((answer.status, answer.headers["Location"]), (307, "/v1/job/status"))
        self.assertEqual(self.ask("/v1/nothing").status, 404)
        self.assertEqual(self.ask("/v1/job/status", verb="GET").status, 405)
        self.assertEqual(self.ask("/health", verb="GET").status, 204)


class SubmitTest(WireTest):
    def test_the_answer_has_ids_in_order(self):
        ids = self.double.submit_ids(*[item(f"c{number}") for number in range(200)])
        self.assertEqual(len(set(ids)), 200)
        self.assertTrue(all(len(job) == 26 and job == job.lower() for job in ids))
        jobs = {job["job_id"]: job["client_id"] for job in self.double.jobs()}
        self.assertEqual([jobs[job] for job in ids], [f"c{number}" for number in range(200)])

    def test_an_unknown_queue_is_403_and_an_empty_one_too(self):
        for queue in ("none", ""):
            self.refused(self.double.submit([item()], queue=queue), 403, 7, "could not find queue")

    def test_one_bad_item_fails_the_whole_request(self):
        self.refused(self.double.submit([item("a"), {**item("b"), "namespace": ""}]), 400, 3,
                     "namespace is a required field")
        self.assertEqual(self.double.counters()["jobs_created"], 0)

    def test_a_large_request_is_429(self):
        answer = self.ask("/v1/job/submit", b" " * (4 << 20) + b"{}")
        self.refused(answer, 429, 8, "received message larger than max")

    def test_a_client_id_gives_the_first_job_for_its_queue_alone(self):
        self.ask("/v1/queue", {"name": "other", "priorityFactor": 1})
        first, = self.double.submit_ids(item("a"))
        self.assertEqual(self.double.submit_ids(item("a"), job_set="another"), [first])
        until(lambda: self.double.submit([item("a")], queue="other").status == 200)
        counters = self.double.counters()
        self.assertEqual((counters["jobs_created"], counters["deduplicated"]), (2, 1))
        self.assertEqual((counters["duplicates"], counters["submits_per_client_id_max"]), (0, 3))

    def test_one_request_may_have_a_client_id_twice(self):
        """The hole that is always open: (d)."""
        first, second = self.double.submit_ids(item("a"), item("a"))
        self.assertNotEqual(first, second)
        self.assertEqual(self.double.counters()["duplicate_client_ids"], ["a"])
        self.assertIn(self.double.submit_ids(item("a"))[0], (first, second))

    def test_a_submission_is_unknown_until_it_is_ingested(self):
        self.double.control("settings", ingest_ms=60000)
        job, = self.double.submit_ids(item("a", externalJobUri="x://1"))
        self.assertEqual(self.double.states(job, "none"), {job: UNKNOWN, "none": UNKNOWN})
        self.assertEqual(self.double.events(), [])
        self.double.control("settings", ingest_ms=0)
        until(lambda: self.double.states(job) == {job: SUCCEEDED})

    def test_the_external_uri_comes_from_the_field_or_the_annotation(self):
        field, = self.double.submit_ids(item("a", externalJobUri="x://1"))
        note, = self.double.submit_ids(
            item("b", annotations={"armadaproject.io/externalJobUri": "x://1"}))
        body = {"queue": QUEUE, "jobset": JOB_SET, "externalJobUri": "x://1"}
        path = "/v1/job/statusUsingExternalJobUri"
        until(lambda: self.ask(path, body).document.get("jobStates") ==
              {field: SUCCEEDED, note: SUCCEEDED})
        self.assertEqual(self.ask(path, {**body, "jobset": "other"}).body, b"{}")
        self.refused(self.ask(path, {"queue": QUEUE}), 500, 2, "must contain external job uri")


class RulesTest(WireTest):
    def refusal(self, changed, part):
        self.refused(self.double.submit([changed]), 400, 3, part)

    def container(self, **fields):
        spec = pod("true")
        spec["containers"][0].update(fields)
        return item(podSpecs=[spec])

    def resources(self, requests, limits):
        return self.container(resources={"requests": requests, "limits": limits})

    def test_job_sets(self):
        self.refused(self.double.submit([item()], job_set=""), 400, 3, "job set id is a required")
        self.refused(self.double.submit([item()], job_set="s" * 1024), 400, 3, "length 1024")
        self.assertEqual(self.double.submit([item()], job_set="s" * 1023).status, 200)

    def test_pods(self):
        self.refusal({"namespace": "default"}, "at least one PodSpec")
        self.refusal(item(podSpec=pod("true")), "these are exclusive")
        self.refusal(item(podSpecs=[pod("a"), pod("b")]), "multiple pods are not supported")
        self.refusal(self.container(args=["x" * 65535]), "greater than the maximum allowed size")
        one = {"namespace": "default", "podSpec": pod("true")}
        self.assertEqual(self.double.submit([one]).status, 200)

    def test_resources(self):
        for requests, limits, part in (
                ({}, {}, "has no resources specified"),
                ({"cpu": "1"}, {}, "different resources for requests and limits"),
                ({"cpu": "1"}, {"memory": "1Gi"}, "defines cpu for requests but not limits"),
                ({"cpu": "2"}, {"cpu": "1"}, "limits smaller than requests"),
                ({"cpu": "1"}, {"cpu": "2"}, "limits great than 1.00*requests"),
                ({"cpu": "-1"}, {"cpu": "-1"}, "negative"),
                ({"cpu": "one"}, {"cpu": "one"}, "quantities must match"),
                ({"memory": "1Ki"}, {"memory": "1Ki"}, "below server minimum (1Mi)")):
            self.refusal(self.resources(requests, limits), part)
        same = self.resources({"cpu": "1000m", "memory": "1Gi"}, {"cpu": "1", "memory": "1024Mi"})
        self.assertEqual(self.double.submit([same]).status, 200)

    def test_init_containers_want_fractions_of_a_core(self):
        spec = pod("true")
        spec["initContainers"] = [dict(spec["containers"][0], name="init")]
        self.refusal(item(podSpecs=[spec]), "fractional cpu e.g. 900m")
        part = {"cpu": "900m", "memory": "64Mi"}
        spec["initContainers"][0]["resources"] = {"requests": part, "limits": part}
        self.assertEqual(self.double.submit([item(podSpecs=[spec])]).status, 200)

    def test_what_a_pod_may_ask_for(self):
        def of_pod(**fields):
            return item(podSpecs=[{**pod("true"), **fields}])
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
        for changed, part in (
                (of_pod(affinity={"nodeAffinity": preferred}), "not supported by Armada"),
                (of_pod(priorityClassName="mine"), "priority class mine is not supported"),
                (of_pod(terminationGracePeriodSeconds=301), "must be [1000000000, 300000000000]"),
                (self.container(ports=[{"containerPort": 80}] * 2), "exposed multiple times"),
                (item("c" * 101), "client id of length 101"),
                (item(ingress=[{}]), "ingress contains zero ports"),
                (item(annotations={"armadaproject.io/priceBand": "Z"}), "price band Z")):
            self.refusal(changed, part)
        self.assertEqual(self.double.submit([item("c" * 100)]).status, 200)

    def test_gangs_agree(self):
        def member(gang, cardinality, **more):
            return item(annotations={"armadaproject.io/gangId": gang,
                                     "armadaproject.io/gangCardinality": cardinality, **more})
        self.refused(self.double.submit([member("g", "2"), member("g", "3")]), 400, 3,
                     "inconsistent gang cardinality in gang g: expected 2 but got 3")
        self.refused(self.double.submit([member("g", "two")]), 400, 3, "invalid gang information")
        self.refused(self.double.submit([member("g", "2", **{"armadaproject.io/failFast": "no"})]),
                     400, 3, "anything but true")
        self.assertEqual(self.double.submit([member("g", "2")] * 2).status, 200)


class CancelTest(WireTest):
    options = ("--run-ms", "60000")

    def cancel(self, **body):
        return self.ask("/v1/job/cancel", {"queue": QUEUE, "jobSetId": JOB_SET, **body})

    def test_it_answers_what_was_asked_for_and_cancels_later(self):
        self.double.control("settings", cancel_ms=300)
        job, = self.double.submit_ids(item("a"))
        answer = self.cancel(jobIds=[job, "none"], reason="enough")
        self.assertEqual(answer.document, {"cancelledIds": [job, "none"]})
        self.assertEqual(self.double.counters()["live"], 1)
        self.double.wait(live=[0, 0])
        until(lambda: self.double.states(job) == {job: 9})
        events = [(kind, event["jobId"]) for _, kind, event in self.double.events()
                  if kind.startswith("cancel")]
        self.assertEqual(events, [("cancelling", job), ("cancelling", "none"), ("cancelled", job)])
        details = self.ask("/v1/job/details", {"jobIds": [job]}).document["jobDetails"][job]
        self.assertEqual((details["cancelReason"], details["cancelUser"]), ("enough", "anonymous"))
        self.assertIn("cancelTs", details)

    def test_cancel_events_never_carry_the_reason(self):
        job, = self.double.submit_ids(item("a"))
        self.cancel(jobIds=[job], reason="enough")
        stream = self.double.stream(watch=True)
        self.addCleanup(stream.close)
        events = [event for _, kind, event in stream.until("cancelled") if "cancel" in kind]
        self.assertEqual([event["requestor"] for event in events], ["anonymous"] * 2)
        self.assertFalse(any("reason" in event for event in events))

    def test_no_ids_cancel_the_whole_set(self):
        self.double.submit_ids(item("a"), item("b"))
        other, = self.double.submit_ids(item("c"), job_set="other")
        self.assertEqual(self.cancel(jobIds=[]).document, {"cancelledIds": [""]})
        self.double.wait(live=[1, 1], running=[1, 1])
        counters = self.double.counters()
        self.assertEqual(counters["cancels_without_ids"], 1)
        self.assertEqual([job["job_id"] for job in self.double.jobs(states=["RUNNING"])], [other])

    def test_ids_of_another_set_stay(self):
        other, = self.double.submit_ids(item("c"), job_set="other")
        self.cancel(jobIds=[other])
        stream = self.double.stream(watch=True)
        self.addCleanup(stream.close)
        self.assertEqual(next(iter(stream))[1], "cancelling")
        self.assertEqual(self.double.counters()["live"], 1)

    def test_refusals(self):
        job, = self.double.submit_ids(item("a"))
        answer = self.ask("/v1/job/cancel", {"queue": "none", "jobSetId": JOB_SET,
                                             "jobIds": [job]})
        self.refused(answer, 500, 2, "could not find queue")
        self.assertTrue(answer.document["message"].startswith('[x-request-id: "'))
        self.refused(self.cancel(jobIds=[job], reason="r" * 51), 400, 3, "longer than 50 bytes")
        self.refused(self.cancel(jobIds=[job], jobSetId=""), 400, 3, "jobset cannot be empty")
        self.assertEqual(self.cancel(jobIds=[job], reason="r" * 50).status, 200)

    def test_a_set_by_states(self):
        path, body = "/v1/jobset/cancel", {"queue": QUEUE, "jobSetId": JOB_SET}
        self.double.control("settings", slots=1)
        running, queued = self.double.submit_ids(item("a"), item("b"))
        self.double.wait(running=1)
        self.refused(self.ask(path, {**body, "filter": {"states": ["RUNNING"]}}), 500, 2,
                     "must always be used together")
        self.assertEqual(self.ask(path, {**body, "filter": {"states": ["QUEUED"]}}).body, b"{}")
        self.double.wait(live=[1, 1])
        self.assertEqual(self.double.jobs(states=["CANCELLED"])[0]["job_id"], queued)
        self.ask(path, {**body, "filter": {"states": [1, 2]}})
        self.double.wait(live=[0, 0])

    def test_preempted_is_followed_by_failed(self):
        job, = self.double.submit_ids(item("a"))
        self.double.wait(running=1)
        answer = self.ask("/v1/job/preempt", {"queue": QUEUE, "jobSetId": JOB_SET,
                                              "jobIds": [job], "reason": "room"})
        self.assertEqual(answer.document, {"preemptionResults": {job: ""}})
        stream = self.double.stream(watch=True)
        self.addCleanup(stream.close)
        last = stream.until("failed")[-3:]
        self.assertEqual([kind for _, kind, _ in last], ["preempting", "preempted", "failed"])
        self.assertNotIn("cause", last[2][2])
        self.assertNotIn("retryable", last[2][2])
        until(lambda: self.double.states(job) == {job: 8})

    def test_reprioritize_is_200(self):
        job, = self.double.submit_ids(item("a"))
        body = {"queue": QUEUE, "jobSetId": JOB_SET, "jobIds": [job], "newPriority": 3}
        answer = self.ask("/v1/job/reprioritize", body)
        self.assertEqual((answer.status, answer.document),
                         (200, {"reprioritizationResults": {job: ""}}))


class QueryTest(WireTest):
    def test_more_than_500_ids_are_500(self):
        ids = [f"id{number}" for number in range(501)]
        for path, name, what in (("status", "jobIds", "jobIds"), ("details", "jobIds", "jobIds"),
                                 ("errors", "jobIds", "JobIds")):
            self.assertEqual(self.ask("/v1/job/" + path, {name: ids[:500]}).status, 200)
            self.refused(self.ask("/v1/job/" + path, {name: ids}), 500, 2,
                         f"request contained more than 500 {what}")
        self.assertEqual(self.double.counters()["calls"]["GetJobStatus"]["ids_max"], 501)

    def test_errors_are_empty_for_the_healthy(self):
        self.double.control("rules", rules=[{"how": "oom", "match": {"client_ids": ["bad"]}}])
        good, bad = self.double.submit_ids(item("good"), item("bad"))
        until(lambda: self.double.states(bad) == {bad: 4})
        errors = self.ask("/v1/job/errors", {"jobIds": [good, bad, "none"]}).document["jobErrors"]
        words = "Container main failed with exit code 137 because OOMKilled: \n"
        self.assertEqual(errors, {good: "", bad: words})

    def test_active_queues(self):
        self.double.control("hold", is_held=True)
        self.double.submit_ids(item("a"))
        self.double.wait(running=1)
        self.assertEqual(self.ask("/v1/queues/active").document,
                         {"activeQueuesByPool": {"default": {"queues": [QUEUE]}}})


class QueueTest(WireTest):
    def test_queues_are_made_changed_and_deleted(self):
        queue = {"name": "mine", "priorityFactor": 2, "labels": {"a": "b"}}
        self.assertEqual(self.ask("/v1/queue", queue).body, b"{}")
        self.assertEqual(self.ask("/v1/queue", {**queue, "priorityFactor": 3}).status, 200)
        read = self.ask("/v1/queue/mine", verb="GET").document
        self.assertEqual((read["priorityFactor"], "cordoned" in read), (3, False))
        self.assertEqual(self.ask("/v1/queue/mine", queue, verb="PUT").status, 200)
        self.refused(self.ask("/v1/queue/none", queue, verb="PUT"), 404, 5, "could not find queue")
        self.assertEqual(self.ask("/v1/queue/mine", verb="DELETE").status, 200)
        self.refused(self.ask("/v1/queue/mine", verb="GET"), 404, 5, "could not find queue")
        self.refused(self.ask("/v1/queue", {"name": "x"}), 400, 3, "larger than 0")

    def test_a_fresh_queue_is_refused_for_a_while(self):
        self.double.control("settings", queue_cache_ms=300)
        self.ask("/v1/queue", {"name": "fresh", "priorityFactor": 1})
        began = time.monotonic()
        self.refused(self.double.submit([item()], queue="fresh"), 403, 7, "could not find queue")
        until(lambda: self.double.submit([item()], queue="fresh").status == 200)
        self.assertGreater(time.monotonic() - began, 0.25)

    def test_many_at_once(self):
        body = {"queues": [{"name": "a", "priorityFactor": 1}, {"name": "b"}]}
        failed = self.ask("/v1/batched/create_queues", body).document["failedQueues"]
        self.assertEqual([entry["queue"]["name"] for entry in failed], ["b"])
        lines = self.ask("/v1/batched/queues", verb="GET").body.splitlines()
        frames = [json.loads(line)["result"]["Event"] for line in lines]
        self.assertEqual([frame["queue"]["name"] for frame in frames[:-1]], ["a", QUEUE])
        self.assertEqual(frames[-1], {"end": {}})


class AuthTest(unittest.TestCase):
    def statuses(self, mode, *headers):
        double = Double("--auth", mode)
        self.addCleanup(double.stop)
        return [double.submit([item()], headers={} if header is None else
                              {"Authorization": header}).status for header in headers], double

    def test_basic(self):
        good = "Basic " + base64.b64encode(b"ada:secret").decode()
        bad = "Basic " + base64.b64encode(b"ada:wrong").decode()
        statuses, double = self.statuses("basic:ada:secret", good, bad, None, "Bearer secret")
        self.assertEqual(statuses, [200, 401, 401, 401])
        until(lambda: double.ask(f"/v1/job-set/{QUEUE}/{JOB_SET}",
                                 headers={"Authorization": good}).body != b"")
        stream = double.ask(f"/v1/job-set/{QUEUE}/{JOB_SET}", headers={"Authorization": good})
        submitted = json.loads(stream.body.splitlines()[0])["result"]["message"]
        self.assertEqual(submitted["submitted"]["job"]["owner"], "ada")

    def test_bearer(self):
        self.assertEqual(self.statuses("bearer:t0ken", "Bearer t0ken", "Bearer other", None)[0],
                         [200, 401, 401])

    def test_a_stream_is_refused_in_its_own_shape(self):
        double = Double("--auth", "bearer:t0ken")
        self.addCleanup(double.stop)
        answer = double.ask(f"/v1/job-set/{QUEUE}/{JOB_SET}")
        self.assertEqual(answer.status, 401)
        self.assertEqual(answer.document["error"]["grpc_code"], 16)

    def test_tls(self):
        double = Double("--tls", str(TLS / "server.pem"),
                        context=ssl.create_default_context(cafile=str(TLS / "ca.pem")))
        self.addCleanup(double.stop)
        self.assertTrue(double.endpoint.startswith("https://"))
        self.assertEqual(double.submit([item()]).status, 200)


if __name__ == "__main__":
    unittest.main()
