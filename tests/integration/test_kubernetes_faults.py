#!/usr/bin/env python3
"""Whatever befalls the API server, the way to it or the engine: a pod for each attempt, none left.

The long form has maps of 5,000, 20 kills, and what takes minutes: a server that hangs, and a
cluster that was restored from a backup.
"""

import json
import random
import signal
import time
import unittest

from kubernetes import IS_LONG, LONG_S, KubernetesTest
from program import slowness, wait_until

SIZE = 5000 if IS_LONG else 120
KILLS = 20 if IS_LONG else 3
SPAN_S = 20 if IS_LONG else 2  # in which the engine is killed

# Each switch of the double alone: what it does, and to what.
FAULTS = [
    ("latency", {"ms": 20, "rate": 0.2, "seed": 1}),
    ("refused", {"code": 500, "rate": 0.1, "seed": 2, "method": "create pods"}),
    ("refused", {"code": 503, "times": 2, "method": "list pods"}),
    ("refused", {"code": 500, "times": 2, "method": "deletecollection pods"}),
    ("too_many", {"times": 3, "retry_after_s": 1, "method": "create pods"}),
    ("reset_request", {"rate": 0.1, "seed": 3, "method": "create pods"}),
    ("reset_request", {"times": 2, "method": "watch pods"}),
    ("lost_answer", {"rate": 0.1, "seed": 4, "method": "create pods"}),
    ("lost_answer", {"how": "half", "rate": 0.1, "seed": 5, "method": "create pods"}),
    ("lost_answer", {"times": 1, "method": "list pods"}),
    ("lost_answer", {"how": "half", "times": 1, "method": "deletecollection pods"}),
    ("nonsense", {"rate": 0.1, "seed": 6, "method": "create pods"}),
    ("nonsense", {"times": 1, "method": "list pods"}),
    ("watch_expired", {"times": 2}),
    ("watch_gone", {"times": 2}),
    ("watch_cut", {"events": 20, "times": 3}),
    ("watch_cut", {"events": 20, "how": "reset", "times": 3}),
    ("watch_cut", {"events": 20, "how": "middle", "times": 3}),
    ("watch_cut", {"events": 20, "how": "garbage", "times": 3}),
    ("watch_slow", {"ms": 1, "rate": 0.3, "seed": 7}),
    ("events_doubled", {"rate": 0.5, "seed": 8}),
    ("bad_event", {"what": "deep", "times": 1}),
    ("bad_event", {"what": "huge", "times": 1}),
    ("bad_event", {"what": "utf8", "times": 1}),
    ("bad_event", {"what": "twice", "times": 1}),
]

# Where watches begin with what there is.
BEGIN_FAULTS = [
    ("watch_gone", {"times": 2}),
    ("watch_cut", {"events": 20, "how": "reset", "times": 3}),
    ("events_doubled", {"rate": 0.5, "seed": 8}),
    ("refused", {"code": 503, "times": 2, "method": "watch pods"}),
]

# Of the long form: they take a time-out each.
SLOW_FAULTS = [
    ("hang", {"times": 2, "method": "create pods"}),
    ("lost_answer", {"how": "hang", "times": 2, "method": "create pods"}),
    ("watch_silent", {"events": 20, "times": 1}),
]


class FaultsTest(KubernetesTest):
    def check_once(self, size):
        counters = self.all_gone()
        self.assertEqual((counters["duplicates"], counters["doubled"]), (0, []))
        self.assertGreaterEqual(counters["pods_created"], size)

    def try_fault(self, fault, fields):
        self.double.fault(fault, **fields)
        self.write_array(SIZE)
        self.run_all(name=f"{fault}-{random.getrandbits(32):x}")
        self.double.clear()
        self.check_once(SIZE)

    def test_each_fault_alone(self):
        for fault, fields in FAULTS + (SLOW_FAULTS if IS_LONG else []):
            with self.subTest(fault=fault, **fields):
                self.try_fault(fault, fields)

    def test_a_slow_reader_is_hung_up_on(self):
        self.double.control("settings", slow_events=5)
        self.write_array(SIZE)
        self.run_all()
        self.check_once(SIZE)
        self.assertGreater(self.double.counters()["hung_up"], 0)

    def test_a_watch_goes_on_from_its_bookmark(self):
        """All before it is forgotten, so a watch from an earlier version would be refused."""
        self.double.control("settings", bookmark_ms=50)
        self.double.control("hold", is_held=True)
        self.write_array(1)
        running = self.begin()
        self.double.wait(running=1)
        self.double.control("strangers", namespace="default", count=10, labels={})
        self.double.fault("watch_marked", times=1)
        wait_until(lambda: self.double.calls("watch pods") >= 2, "the watch has ended once")
        self.double.control("compact")
        self.double.fault("watch_marked", times=1)
        wait_until(lambda: self.double.calls("watch pods") >= 3, "and once more")
        lists = self.double.calls("list pods")
        self.double.control("hold", is_held=False)
        self.finish(running)
        self.assertEqual(self.double.calls("list pods"), lists)
        self.all_gone(others=10)

    def test_the_history_is_forgotten_in_the_middle(self):
        self.double.control("settings", run_ms=300)
        self.write_array(SIZE)
        running = self.begin()
        self.double.fault("watch_cut", events=30, how="reset", times=2)
        self.double.wait(pods_created=SIZE // 2)
        self.double.control("compact")
        self.finish(running)
        self.check_once(SIZE)

    def test_kills_at_random_moments(self):
        seed = random.getrandbits(32)
        moments = random.Random(seed)
        self.double.control("settings", run_ms=400)
        self.write_array(SIZE)
        running = self.begin()
        self.double.wait(pods_created=1)
        for _ in range(KILLS):
            time.sleep(moments.uniform(0, SPAN_S))
            running.signal(signal.SIGKILL)
            running.end(LONG_S)
            running = self.start("resume", "it", "-q", "-o", "json")
        with self.subTest(seed=seed):
            ended, stdout, stderr = running.end(LONG_S)
            is_over = "has ended" in stderr  # before the last kill
            self.assertTrue(ended == 0 or is_over, f"{stdout}\n{stderr}")
            self.serve_until(objects=[0, 0])
            self.check_once(SIZE)

    @unittest.skipUnless(IS_LONG, "takes minutes")
    def test_a_cluster_that_was_restored(self):
        self.double.control("hold", is_held=True)
        self.write_array(100)
        running = self.begin()
        self.double.wait(running=100)
        lists = self.double.calls("list pods")
        self.double.control("restore", versions=50)
        wait_until(lambda: self.double.calls("list pods") > lists, "it is found out",
                   90 * slowness())
        self.double.control("hold", is_held=False)
        self.finish(running)
        self.check_once(100)

    def test_a_token_that_has_expired(self):
        token = self.folder / "token"
        token.write_text("old")
        self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": self.double.endpoint}}],
            "users": [{"name": "u", "user": {"tokenFile": str(token)}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        self.settle(endpoint=None, kubeconfig=str(self.folder / "kubeconfig"))
        self.double.control("tokens", tokens=["old"])
        self.double.control("settings", run_ms=300)
        self.write_array(SIZE)
        running = self.begin()
        self.double.wait(pods_created=SIZE // 4)
        token.write_text("new")
        self.double.control("tokens", tokens=["new"])
        self.finish(running)
        self.double.control("tokens", tokens=[])
        self.check_once(SIZE)


class BeginTest(FaultsTest):
    """Watches that begin with what there is, in the place of lists."""
    double_options = ("--watch-list",)

    def test_each_fault_alone(self):
        for fault, fields in BEGIN_FAULTS:
            with self.subTest(fault=fault, **fields):
                self.try_fault(fault, fields)
        self.assertNotIn("list pods", self.double.counters()["calls"])

    def test_an_etcd_that_is_too_old(self):
        """One ERROR 500: lists come from then on."""
        self.double.fault("old_etcd")
        self.write_array(SIZE)
        self.run_all()
        self.check_once(SIZE)
        calls = self.double.counters()["calls"]
        self.assertEqual((calls["list pods"], calls["watch pods"]), (1, 2))


if __name__ == "__main__":
    unittest.main()
