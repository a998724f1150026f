#!/usr/bin/env python3
"""Watches: history, bookmarks, what is expired, who is too slow; and every other switch."""

import http.client
import json
import time
import unittest

from kubernetes_client import PODS, Double, pod

LOST = (http.client.HTTPException, ConnectionError, TimeoutError)
LIVE = {"allowWatchBookmarks": "true"}


class DoubleTest(unittest.TestCase):
    options = ("--run-ms", "3600000")

    def setUp(self):
        self.double = Double(*self.options)
        self.addCleanup(self.double.stop)

    def touch(self, count):
        """So many events."""
        for number in range(count):
            self.double.control("strangers", namespace="default", count=1,
                                labels={"x": str(number)})


class WatchTest(DoubleTest):
    def test_a_life_is_told_from_a_version_on(self):
        version = self.double.version()
        self.double.made("a")
        self.double.wait(running=1)
        self.double.delete("a")
        events = self.double.watch(version).until("DELETED")
        self.assertEqual([what for what, _ in events],
                         ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"])
        self.assertIn("deletionTimestamp", events[3][1]["metadata"])
        versions = [int(item["metadata"]["resourceVersion"]) for _, item in events]
        self.assertEqual(versions, sorted(set(versions)))
        self.assertEqual(events[0][1]["kind"], "Pod")
        middle = self.double.watch(versions[3]).until("DELETED")
        self.assertEqual([what for what, _ in middle], ["MODIFIED", "DELETED"])

    def test_what_there_is_comes_first_with_a_bookmark_at_its_end(self):
        self.double.made("a")
        self.double.wait(running=1)
        refused = self.double.list(watch=1, sendInitialEvents="true",
                                   resourceVersionMatch="NotOlderThan")
        self.assertEqual(refused.status, 422)
        self.assertIn("unless the WatchList feature gate", refused.document["message"])
        self.double.control("settings", watch_list=True)
        for query in ({"resourceVersion": "0", **LIVE},
                      {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan",
                       **LIVE}):
            (first, _), (second, mark) = self.double.watch(**query).until("BOOKMARK")
            self.assertEqual((first, second), ("ADDED", "BOOKMARK"))
            self.assertEqual(mark["metadata"]["annotations"], {"k8s.io/initial-events-end": "true"})
        self.double.fault("old_etcd")
        (what, status), = self.double.watch(0, **LIVE)
        self.assertEqual((what, status["code"]), ("ERROR", 500))
        self.assertIn("RequestWatchProgress is disabled", status["message"])

    def test_bookmarks_move_the_version_on(self):
        self.double.control("settings", bookmark_ms=50)
        watch = self.double.watch(self.double.version(), labelSelector="x=none", **LIVE)
        self.double.made("a")
        version = int(self.double.version())
        for what, item in watch:
            self.assertEqual(what, "BOOKMARK")
            if int(item["metadata"]["resourceVersion"]) >= version:
                return
        self.fail("the watch ended")

    def test_it_ends_behind_a_bookmark(self):
        self.double.control("settings", bookmark_ms=50)
        self.double.fault("watch_marked", times=1)
        watch = self.double.watch(self.double.version(), labelSelector="x=none", **LIVE)
        self.assertEqual([what for what, _ in watch], ["BOOKMARK"])

    def test_versions_that_are_not_known(self):
        version = int(self.double.version())
        self.double.made("a")
        self.double.control("compact")
        (what, status), = self.double.watch(version)
        self.assertEqual((what, status["code"], status["reason"]), ("ERROR", 410, "Expired"))
        self.double.fault("watch_gone", times=1)
        self.assertEqual(self.double.ask("GET", PODS, watch=1, resourceVersion=1).status, 410)
        self.double.fault("watch_expired", times=1)
        (what, status), = self.double.watch(self.double.version())
        self.assertEqual((what, status["code"]), ("ERROR", 410))

    def test_a_restored_cluster_says_nothing_of_the_future(self):
        self.double.made("a")
        self.double.wait(running=1)
        before = self.double.version()
        open_watch = self.double.watch(before)
        self.double.control("restore", versions=100)
        self.assertEqual(list(open_watch), [])  # the server was stopped meanwhile
        self.assertEqual(self.double.counters()["objects"], 0)
        self.double.control("settings", bookmark_ms=10)
        silent = self.double.watch(before, timeoutSeconds=1, **LIVE)
        self.double.made("b")
        self.assertEqual(list(silent), [])
        self.assertEqual(len(self.double.watch(self.double.version(), timeoutSeconds=1, **LIVE)
                             .until("BOOKMARK")), 1)

    def test_its_time_is_over(self):
        began = time.monotonic()
        self.assertEqual(list(self.double.watch(self.double.version(), timeoutSeconds=1)), [])
        self.assertLess(time.monotonic() - began, 30)

    def test_who_is_too_slow_is_hung_up_on(self):
        version = self.double.version()
        self.double.control("settings", slow_events=10)
        self.touch(20)
        told = iter(self.double.watch(version))
        for _ in range(20):  # what was there before is given to anybody
            next(told)
        self.double.control("strangers", namespace="default", count=20, labels={})
        with self.assertRaises(LOST):
            list(told)
        self.assertEqual(self.double.counters()["hung_up"], 1)
        self.assertEqual(self.double.counters()["watches_open"], 0)

    def test_how_it_ends(self):
        for how, is_lost in (("end", False), ("reset", True), ("middle", True)):
            version = self.double.version()
            self.double.fault("watch_cut", events=2, how=how, times=1)
            self.touch(4)
            if is_lost:
                with self.assertRaises((*LOST, ValueError)):
                    list(self.double.watch(version))
            else:
                self.assertEqual(len(list(self.double.watch(version))), 2)
        version = self.double.version()
        self.double.fault("watch_cut", events=0, how="garbage", times=1)
        self.touch(1)
        with self.assertRaises(json.JSONDecodeError):
            list(self.double.watch(version))

    def test_events_are_doubled_late_or_bad(self):
        version = self.double.version()
        self.double.fault("events_doubled", times=1)
        self.touch(2)
        names = [item["metadata"]["labels"]["x"]
                 for _, item in self.double.watch(version).until("MODIFIED", 1)]
        self.assertEqual(names, ["0", "0", "1"])
        for what in ("deep", "utf8", "twice", "huge"):
            version = self.double.version()
            self.double.fault("bad_event", what=what, times=1)
            self.touch(1)
            watch = self.double.watch(version)
            line = next(iter(watch.response))
            watch.close()
            self.assertGreater(len(line), 50, what)

    def test_it_says_nothing_more(self):
        self.double.control("settings", bookmark_ms=10)
        version = self.double.version()
        self.double.fault("watch_silent", events=1)
        self.touch(3)
        events = list(self.double.watch(version, timeoutSeconds=1, **LIVE))
        self.assertEqual(len(events), 1)


class CallTest(DoubleTest):
    def test_who_has_no_token_is_not_let_in(self):
        self.double.control("tokens", tokens=["secret"])
        answer = self.double.list()
        self.assertEqual((answer.status, answer.document["reason"]), (401, "Unauthorized"))
        self.double.token = "secret"
        self.assertEqual(self.double.list().status, 200)

    def test_calls_are_refused_lost_or_late(self):
        self.double.fault("too_many", times=1, retry_after_s=3, method="create pods")
        answer = self.double.create(pod("a"))
        self.assertEqual((answer.status, answer.headers["Retry-After"]), (429, "3"))
        self.double.fault("refused", times=1, code=503)
        self.assertEqual(self.double.create(pod("a")).status, 503)
        self.double.fault("reset_request", times=1)
        with self.assertRaises(LOST):
            self.double.create(pod("a"))
        self.assertEqual(self.double.counters()["pods_created"], 0)
        for number, how in enumerate(("close", "half")):
            self.double.fault("lost_answer", times=1, how=how)
            with self.assertRaises(LOST):
                self.double.create(pod(f"b{number}"))
        self.double.fault("hang", times=1)
        with self.assertRaises(LOST):
            self.double.create(pod("c"), timeout_s=0.2)
        self.double.fault("nonsense", times=1)
        self.assertEqual(self.double.create(pod("d")).body, b"<html>502</html>")
        self.double.fault("latency", times=1, ms=200)
        began = time.monotonic()
        self.double.list()
        self.assertGreater(time.monotonic() - began, 0.2)
        self.assertEqual(self.double.counters()["pods_created"], 3)
        self.assertEqual(self.double.calls("create pods"), 7)

    def test_a_page_or_a_finalizer(self):
        self.double.made("a")
        self.double.made("b")
        token = self.double.list(limit=1).document["metadata"]["continue"]
        self.double.fault("continue_expired", times=1)
        self.assertEqual(self.double.list(limit=1, **{"continue": token}).status, 410)
        self.double.fault("finalizer_kept", times=1)
        self.assertEqual(self.double.made("c")["metadata"]["finalizers"], ["example.com/kept"])


if __name__ == "__main__":
    unittest.main()
