#!/usr/bin/env python3
"""The Kubernetes plugin against its double: tasks and maps as pods, to success and to failure."""

import json
import re
import signal
import unittest

from kubernetes import LONG_S, RUN_SIZE, SIZE, KubernetesTest
from program import wait_until

CALLS_AT_ONCE = 64  # which a quota that is used up refuses before the others wait

SQUARES = """
troupe: 1
tasks:
  square:
    inputs: {a: int}
    outputs: {b: int}
    run: [/bin/sh, ./square.sh]
    retries: 1
workflows:
  main:
    inputs: {items: [int]}
    nodes: {squares: {map: square, with: {a: $items}}}
    outputs: {b: $squares.b}
"""

SQUARE = r"""
read -r line <"$TROUPE_INPUTS"
a=${line##*:}
a=$((${a%\}}))
if [ "$a" = 3 ] && [ "$TROUPE_ATTEMPT" = 0 ]; then echo "three is not ready" >&2; exit 5; fi
echo "{\"b\": $((a * a))}" >"$TROUPE_OUTPUTS"
"""


class ArrayTest(KubernetesTest):
    def test_a_map_is_a_pod_each_and_nothing_is_left(self):
        self.write_array()
        self.run_all()
        counters = self.double.counters()
        self.assertEqual(counters["live"], 0)
        self.all_gone()
        calls = counters["calls"]
        self.assertEqual((counters["pods_created"], counters["duplicates"]), (SIZE, 0))
        self.assertEqual(calls["create pods"], SIZE, calls)
        self.assertNotIn("get pods", calls)
        self.assertLessEqual(calls["list pods"], 2, calls)
        self.assertLessEqual(calls["watch pods"], 3, calls)
        deletes = calls.get("delete pods", 0) + calls.get("deletecollection pods", 0)
        self.assertLessEqual(deletes, SIZE / 500 + 2, calls)

    def test_a_kill_makes_no_pod_twice(self):
        self.double.control("settings", run_ms=300)
        self.write_array()
        running = self.begin()
        for made in (SIZE // 10, SIZE // 2):
            self.double.wait(pods_created=made)
            running.signal(signal.SIGKILL)
            running.end(60)
            running = self.start("resume", "it", "-q", "-o", "json")
        self.finish(running)
        counters = self.all_gone()
        self.assertEqual(counters["duplicates"], 0, counters["doubled"])
        self.assertGreaterEqual(counters["pods_created"], SIZE)

    def test_an_abort_deletes_by_label(self):
        self.double.control("hold", is_held=True)
        self.write_array()
        running = self.begin()
        self.double.wait(running=SIZE)
        self.troupe("abort", "it")
        running.end(60)
        counters = self.all_gone()
        self.assertLessEqual(counters["calls"]["deletecollection pods"], SIZE / 500 + 4,
                             counters["calls"])

    def test_histories_are_forgotten_and_answers_are_lost(self):
        self.double.fault("lost_answer", rate=0.05, seed=1, method="create pods")
        self.double.fault("refused", rate=0.05, seed=2, code=503, method="create pods")
        self.double.fault("watch_cut", events=50, how="reset", times=5)
        self.double.fault("watch_expired", times=2)
        self.write_array()
        self.run_all()
        counters = self.all_gone()
        self.assertEqual((counters["pods_created"], counters["duplicates"]), (SIZE, 0))

    def test_a_quota_is_waited_for(self):
        self.double.control("quota", namespace="default", hard={"pods": "20"})
        self.write_array(100)
        self.run_all()
        counters = self.all_gone()
        self.assertEqual((counters["pods_created"], counters["duplicates"]), (100, 0))


    def test_too_many_requests_are_made_later(self):
        self.double.fault("too_many", times=3, retry_after_s=1, method="create pods")
        self.write_array(20)
        self.run_all()
        counters = self.all_gone()
        self.assertEqual((counters["pods_created"], counters["duplicates"]), (20, 0))
        self.assertEqual(counters["calls"]["create pods"], 23)


class ExplainTest(KubernetesTest):
    def test_what_a_quota_and_the_watch_are_at(self):
        self.double.control("hold", is_held=True)
        self.double.control("quota", namespace="default", hard={"pods": "2"})
        self.write_array(4)
        running = self.begin()
        self.double.wait(running=2, quota_refusals=2)
        words = "waits for room at the back end, one of "
        wait_until(lambda: self.explained(words), "it is held up")
        told = self.explained(words)
        self.assertIn("exceeded quota: quota, requested: pods=1, used: pods=2, limited: pods=2",
                      told)
        self.assertRegex(told, "; another one is tried at |; watched since ")
        self.assertRegex(told, r"; watched since \S+, by now from version [0-9]+")
        row = re.compile(r" 4 +0, 2 for a quota +1 watched from [0-9]+ ")
        wait_until(lambda: row.search(self.troupe("plugins")[0]), "it is on record")
        row, = (row for row in self.document("plugins") if row["plugin"] == "kubernetes")
        endpoint, = row["endpoints"]
        self.assertEqual([endpoint[key] for key in ("watches", "lists", "gates", "gated")],
                         [1, 0, 1, 2])
        self.assertRegex(endpoint["watched_from"], "^[0-9]+$")
        self.double.control("quota", namespace="default")
        self.double.control("hold", is_held=False)
        self.finish(running)

    def explained(self, words):
        """What is said of an element that these words are of; else nothing."""
        told = [self.troupe("explain", f"it/work[{i}]")[0] for i in range(4)]
        return next((each for each in told if words in each), "")


class EndTest(KubernetesTest):
    def fail(self, *rules):
        self.double.rules(*rules)
        self.write_array(1)
        self.run_all(status=1)
        return self.failures()[-1]

    def test_memory_and_exit_statuses_are_the_users(self):
        self.assertEqual(self.fail({"how": "oom"})[3], "OOMKilled")

    def test_what_befell_it_from_outside_is_tried_again(self):
        self.double.rules({"how": "evicted", "times": 1}, {"how": "deleted", "times": 1})
        self.write_array(2)
        self.run_all()
        self.assertEqual(sorted(row[3] for row in self.failures()),
                         ["Interrupted", "ResourceDeletedExternally"])

    def test_one_that_is_gone_before_the_first_list_is_tried_again(self):
        self.double.rules({"how": "deleted", "times": 1})
        self.double.control("settings", watch_list=True)
        self.double.fault("latency", ms=1000, times=1, method="watch pods")
        self.write_array(1)
        self.run_all()
        self.assertEqual([row[3] for row in self.failures()], ["ResourceDeletedExternally"])
        self.assertLessEqual(self.double.counters()["calls"]["get pods"], 2)

    def test_an_image_that_is_none_fails_and_its_pod_goes(self):
        _, _, _, code, message = self.fail({"how": "waiting", "reason": "InvalidImageName",
                                            "message": "couldn't parse image"})
        self.assertEqual((code, message), ("InvalidImageName",
                                           "InvalidImageName: couldn't parse image"))
        self.all_gone()

    def test_what_is_refused_is_told_in_the_servers_words(self):
        self.double.control("quota", namespace="default", hard={"requests.nvidia.com/gpu": "1"})
        self.write_array(1)
        self.run_all(status=1)
        self.assertIn("failed quota: quota: must specify", self.failures()[-1][4])


    def test_who_has_no_right_is_told_so(self):
        self.double.fault("refused", times=1, code=403, method="create pods",
                          text='pods is forbidden: User "u" cannot create resource "pods"')
        self.write_array(1)
        self.run_all(status=1)
        self.assertEqual(self.failures()[-1][2:],
                         (2, "PermissionDenied",
                          'pods is forbidden: User "u" cannot create resource "pods"'))

    def test_more_than_a_quota_could_ever_grant_is_refused(self):
        self.double.control("quota", namespace="default", hard={"pods": "0"})
        self.write_array(1)
        self.run_all(status=1)
        self.assertEqual(self.failures()[-1][3], "ResourceRequestsExceedLimits")
        self.assertIn("limited: pods=0", self.failures()[-1][4])


class KeepTest(KubernetesTest):
    def test_what_has_failed_stays_for_people_to_look_at(self):
        self.settle(keep={"succeeded": "0s"})
        self.double.rules({"how": "failed", "times": 1})
        self.write_array(2, "retries: 1")
        self.run_all()
        engine = self.start("serve")
        self.double.wait(objects=[1, 1])
        engine.signal(signal.SIGTERM)
        engine.end(LONG_S)

    def test_a_time_that_is_none_is_refused(self):
        for keep, words in (
                ({"failed": "1 hour"}, "plugins.kubernetes.keep.failed has to be a time such as "
                 "30s or 1h30m, of a year at most, not '1 hour'"),
                ({"failed": "400d"}, "plugins.kubernetes.keep.failed has to be a time such as 30s "
                 "or 1h30m, of a year at most, not '400d'"),
                ({"failed": 5}, "plugins.kubernetes.keep.failed has to be text, not a whole "
                 "number, 0 or more"),
                ({"fail": "1h"}, "plugins.kubernetes.keep has no key 'fail'; "
                 "did you mean 'failed'?")):
            self.settle(keep=keep)
            self.assertIn(words, self.troupe("plugins", status=2)[1])


class ExecuteTest(KubernetesTest):
    double_options = ("--execute",)

    def test_one_that_is_deleted_behind_its_work_has_succeeded(self):
        self.write("flow.yaml", SQUARES)
        self.write("square.sh", SQUARE + "touch done; sleep 60\n")
        self.write("inputs.json", json.dumps({"items": [5]}))
        running = self.begin()
        self.double.wait(running=1)
        wait_until(lambda: list(self.folder.rglob("done")), "its work is done")
        self.double.control("end", how="deleted")
        self.assertEqual(self.finish(running)["outputs"]["b"], [25])
        self.assertEqual(self.failures(), [])

    def test_commands_run_fail_and_give_outputs(self):
        self.write("flow.yaml", SQUARES)
        self.write("square.sh", SQUARE)
        self.write("inputs.json", json.dumps({"items": list(range(RUN_SIZE))}))
        document = self.run_all()
        self.assertEqual(document["outputs"]["b"], [a * a for a in range(RUN_SIZE)])
        (element, attempt, _, code, message), = self.failures()
        self.assertEqual((element, attempt, code), (3, 0, "ProcessFailed"))
        self.assertIn("exit status 5", message)
        self.assertIn("three is not ready", message)


if __name__ == "__main__":
    unittest.main()
