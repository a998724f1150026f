#!/usr/bin/env python3
"""What the API server answers, where that surprises: names, sizes, versions, lists, deletions."""

import unittest

from kubernetes_client import MERGE, METADATA, PODS, TABLE, Double, pod


class ApiTest(unittest.TestCase):
    options = ("--run-ms", "3600000")

    def setUp(self):
        self.double = Double(*self.options)
        self.addCleanup(self.double.stop)

    def assert_refused(self, answer, code, reason, words):
        document = answer.document
        self.assertEqual((answer.status, document["reason"], document["kind"]),
                         (code, reason, "Status"))
        self.assertIn(words, document["message"])


class CreateTest(ApiTest):
    def test_a_name_is_there_once_and_while_it_goes(self):
        first = self.double.made("a")
        self.assertEqual(first["status"]["phase"], "Pending")
        self.assert_refused(self.double.create(pod("a", "other")), 409, "AlreadyExists",
                            'pods "a" already exists')
        self.double.control("settings", grace_ms=1000)
        self.double.wait(running=1)
        self.double.delete("a")
        self.assert_refused(self.double.create(pod("a")), 409, "AlreadyExists",
                            'object is being deleted: pods "a" already exists')
        self.assertEqual(self.double.counters()["duplicates"], 0)

    def test_what_is_no_pod_is_refused(self):
        for item, code, reason, words in (
                (pod("A"), 422, "Invalid", "lowercase RFC 1123 subdomain"),
                (pod("a" * 254), 422, "Invalid", "metadata.name"),
                (pod("a", labels={"x": "y" * 64}), 422, "Invalid", "metadata.labels"),
                (pod("a", annotations={"x": "y" * (256 << 10)}), 422, "Invalid", "Too long"),
                (pod("a", containers=[]), 422, "Invalid", "spec.containers: Required value"),
                (pod("a", resources={"requests": {"cpu": 2}, "limits": {"cpu": 1}}), 422,
                 "Invalid", "must be less than or equal to cpu limit"),
                (pod("a", annotations={"x": "y" * (2 << 20)}), 500, "InternalError",
                 "etcdserver: request is too large"),
                (pod("a", annotations={"x": "y" * (4 << 20)}), 413, "RequestEntityTooLarge",
                 "limit is 3145728"),
                (b"{", 400, "BadRequest", "unrecognized")):
            self.assert_refused(self.double.create(item), code, reason, words)
        self.assert_refused(self.double.create(pod("a"), "/api/v1/namespaces/none/pods"), 404,
                            "NotFound", 'namespaces "none" not found')
        self.assertEqual(self.double.counters()["pods_created"], 0)

    def test_unknown_fields_are_found_where_that_is_asked_for(self):
        item = pod("a", nodeSelectr={})
        self.assert_refused(self.double.create(item, fieldValidation="Strict"), 400, "BadRequest",
                            'unknown field "spec.nodeSelectr"')
        self.assertEqual(self.double.create(item).status, 201)

    def test_an_answer_may_be_metadata_alone_and_a_dry_run_makes_nothing(self):
        answer = self.double.create(pod("a"), accept=METADATA)
        self.assertEqual(answer.document["kind"], "PartialObjectMetadata")
        self.assertNotIn("spec", answer.document)
        self.assertEqual(self.double.create(pod("b"), dryRun="All").status, 201)
        self.assertEqual(self.double.get("b").status, 404)

    def test_other_kinds_are_data(self):
        path = "/apis/ray.io/v1/namespaces/default/rayjobs"
        self.assertEqual(self.double.ask("GET", path).status, 404)
        self.double.control("kinds", kind="ray.io/v1/rayjobs/RayJob")
        self.assertEqual(self.double.create({"metadata": {"name": "a"}, "spec": {}}, path).status,
                         201)
        self.double.control("status", kind="rayjobs", namespace="default", name="a",
                            status={"jobStatus": "SUCCEEDED"})
        item = self.double.ask("GET", path + "/a").document
        self.assertEqual((item["kind"], item["status"]), ("RayJob", {"jobStatus": "SUCCEEDED"}))
        answer = self.double.ask("DELETE", path + "/a")
        self.assertEqual(answer.document["status"], "Success")


class QuotaTest(ApiTest):
    def test_words_say_what_was_asked_for_what_is_used_and_what_there_is(self):
        self.double.control("quota", namespace="default", hard={"requests.cpu": "1", "pods": "9"})
        self.assert_refused(self.double.create(pod("a")), 403, "Forbidden",
                            "failed quota: quota: must specify requests.cpu for: main")
        asks = {"resources": {"requests": {"cpu": "600m"}}}
        self.double.made("a", **asks)
        self.assert_refused(
            self.double.create(pod("b", **asks)), 403, "Forbidden",
            'pods "b" is forbidden: exceeded quota: quota, requested: requests.cpu=600m, used: '
            "requests.cpu=600m, limited: requests.cpu=1")
        self.assertEqual(self.double.counters()["quota_refusals"], 2)
        self.double.control("end", how="succeeded")
        self.double.made("b", **asks)


class ListTest(ApiTest):
    def test_pages_are_of_one_moment_and_are_forgotten(self):
        for number in range(5):
            self.double.made(f"a{number}")
        first = self.double.list(limit=2).document
        self.assertEqual([item["metadata"]["name"] for item in first["items"]], ["a0", "a1"])
        self.assertNotIn("kind", first["items"][0])
        self.assertEqual(first["metadata"]["remainingItemCount"], 3)
        self.double.made("a9")
        token = first["metadata"]["continue"]
        second = self.double.list(limit=3, **{"continue": token}).document
        self.assertEqual([item["metadata"]["name"] for item in second["items"]],
                         ["a2", "a3", "a4"])
        self.assertNotIn("continue", second["metadata"])
        self.assertEqual(first["metadata"]["resourceVersion"],
                         second["metadata"]["resourceVersion"])
        token = self.double.list(limit=2).document["metadata"]["continue"]
        self.double.control("compact")
        self.assert_refused(self.double.list(limit=2, **{"continue": token}), 410, "Expired",
                            "continue parameter is too old")

    def test_selectors(self):
        for name, labels in (("a", {"x": "1"}), ("b", {"x": "2", "y": "1"}), ("c", {})):
            self.double.made(name, labels=labels)
        for text, names in (("x=1", "a"), ("x!=1", "bc"), ("x in (1, 2)", "ab"), ("!x", "c"),
                            ("x notin (1)", "bc"), ("x", "ab"), ("x in (1,2),y==1", "b")):
            found = self.double.list(labelSelector=text).document["items"]
            self.assertEqual("".join(item["metadata"]["name"] for item in found), names, text)
        self.assertEqual(self.double.list(labelSelector="x in 1").status, 400)


class DeleteTest(ApiTest):
    def test_another_uid_is_another_pod(self):
        item = self.double.made("a")
        answer = self.double.delete("a", preconditions={"uid": "x"})
        self.assert_refused(answer, 409, "Conflict", "Precondition failed: UID in precondition: x")
        uid = item["metadata"]["uid"]
        self.assertEqual(self.double.delete("a", preconditions={"uid": uid}).status, 200)
        self.double.wait(live=[0, 0], objects=[0, 0])
        self.assert_refused(self.double.delete("a"), 404, "NotFound", 'pods "a" not found')

    def test_a_collection_goes_by_label_as_a_table(self):
        for number in range(4):
            self.double.made(f"a{number}", labels={"x": str(number % 2)})
        answer = self.double.ask("DELETE", PODS, accept=TABLE, labelSelector="x=1")
        self.assertEqual((answer.document["kind"], len(answer.document["rows"])), ("Table", 2))
        self.assertLess(len(answer.body), 1000)
        self.double.wait(objects=[2, 2])
        first = self.double.ask("DELETE", PODS, accept=TABLE, limit=1).document
        self.assertTrue(first["metadata"]["continue"])

    def test_a_finalizer_keeps_it_until_it_is_taken_away(self):
        item = pod("a")
        item["metadata"]["finalizers"] = ["example.com/x"]
        self.double.create(item)
        self.double.wait(running=1)
        self.double.delete("a")
        self.double.wait(live=[0, 0])
        self.assertIn("deletionTimestamp", self.double.get("a").document["metadata"])
        self.double.ask("PATCH", f"{PODS}/a", {"metadata": {"finalizers": None}},
                        content_type=MERGE)
        self.assertEqual(self.double.get("a").status, 404)


class LifeTest(ApiTest):
    options = ("--run-ms", "10")

    def life_of(self, how, **fields):
        self.double.rules({"how": how, **fields})
        name = f"a-{how}"
        watch = self.double.watch(self.double.version())
        self.double.made(name)
        return watch, name

    def status_of(self, how, **fields):
        watch, name = self.life_of(how, **fields)
        for _, item in watch:
            if item["status"]["phase"] in ("Succeeded", "Failed"):
                watch.close()
                return item["status"]
        return None

    def test_ends(self):
        self.assertEqual(self.status_of("succeeded")["phase"], "Succeeded")
        status = self.status_of("failed", exit_code=3, message="why")
        self.assertEqual(status["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3)
        status = self.status_of("oom")
        self.assertEqual(status["containerStatuses"][0]["state"]["terminated"]["reason"],
                         "OOMKilled")
        status = self.status_of("evicted")
        self.assertEqual((status["reason"], status["conditions"][0]["type"]),
                         ("Evicted", "DisruptionTarget"))
        self.double.rules()
        watch = self.double.watch(self.double.version())
        self.double.control("settings", run_ms=60000)
        self.double.made("late", activeDeadlineSeconds=1)
        status = [item for _, item in watch.until("MODIFIED", 3)][-1]["status"]
        self.assertEqual(status["reason"], "DeadlineExceeded")

    def test_stays(self):
        watch, _ = self.life_of("waiting", reason="ErrImagePull")
        status = watch.until("MODIFIED")[-1][1]["status"]
        self.assertEqual(status["containerStatuses"][0]["state"]["waiting"]["reason"],
                         "ErrImagePull")
        watch, _ = self.life_of("unschedulable")
        status = watch.until("MODIFIED")[-1][1]["status"]
        self.assertEqual(status["conditions"][0]["reason"], "Unschedulable")

    def test_one_that_somebody_deletes_is_told_with_its_last_state(self):
        watch, _ = self.life_of("deleted")
        what, item = watch.until("DELETED")[-1]
        self.assertEqual(item["status"]["phase"], "Running")


class ExecuteTest(ApiTest):
    options = ("--execute", "--secret", "box/key=value")

    def test_a_command_runs_and_its_exit_status_decides(self):
        watch = self.double.watch(self.double.version())
        item = pod("a", "/bin/sh", "-c", 'echo "$X $Y"; exit 7')
        item["spec"]["containers"][0]["env"] = [
            {"name": "X", "value": "x"},
            {"name": "Y", "valueFrom": {"secretKeyRef": {"name": "box", "key": "key"}}}]
        self.double.create(item)
        ended = [item for _, item in watch.until("MODIFIED", 3)][-1]["status"]
        state = ended["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((ended["phase"], state["exitCode"]), ("Failed", 7))
        self.assertEqual(self.double.ask("GET", f"{PODS}/a/log").body, b"x value\n")
        self.double.made("b", "/bin/sh", "-c", "exit 0")
        self.double.wait(live=[0, 0])
        self.assertEqual(self.double.counters()["ended"], {"failed": 1, "succeeded": 1})

    def test_one_that_is_deleted_is_told_to_end(self):
        self.double.control("settings", grace_ms=60000)
        self.double.made("a", "/bin/sh", "-c", "trap 'exit 0' TERM; sleep 1000 & wait")
        self.double.wait(running=1)
        self.double.delete("a")
        self.double.wait(objects=[0, 0])


class AdmissionTest(ApiTest):
    options = ("--priority-class", "low", "--execute", "--pending-ms", "0")

    def test_priority_classes_are_known(self):
        self.double.made("a", "/bin/true", priorityClassName="low")
        self.assert_refused(self.double.create(pod("b", priorityClassName="none")), 403,
                            "Forbidden", "no PriorityClass with name none was found")
        self.assertEqual(self.double.control("names", "GET"), {"names": {"a": 1}})
        self.assertEqual(self.double.specs()[-1]["priorityClassName"], "low")

    def test_a_log_is_followed_until_its_container_has_ended(self):
        self.double.made("a", "/bin/sh", "-c", "echo one; sleep 0.3; echo two")
        self.double.wait(running=1)
        answer = self.double.ask("GET", f"{PODS}/a/log", follow="true")
        self.assertEqual(answer.body, b"one\ntwo\n")


if __name__ == "__main__":
    unittest.main()
