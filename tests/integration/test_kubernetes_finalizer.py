#!/usr/bin/env python3
"""Pods with a finalizer: their end is heard whoever deletes them, and none is left behind."""

import signal
import subprocess
import unittest

from kubernetes import LONG_S, KubernetesTest
from program import PROGRAM, wait_until

SIZE = 20


class FinalizerTest(KubernetesTest):
    def setUp(self):
        super().setUp()
        self.settle(finalizer=True, share=None)
        self.write_array(SIZE)

    def kill(self, running):
        running.signal(signal.SIGKILL)
        running.end(LONG_S)

    def begin_held(self):
        self.double.control("hold", is_held=True)
        running = self.begin()
        self.double.wait(running=SIZE)
        return running

    def resume(self):
        return self.start("resume", "it", "-q", "-o", "json")

    def answers(self):
        return subprocess.run([PROGRAM, "ping"], cwd=self.folder, env=self.environment(),
                              capture_output=True, check=False).returncode == 0

    def assert_each_once(self):
        counters = self.all_gone()
        self.assertEqual((counters["pods_created"], counters["duplicates"]), (SIZE, 0))
        return counters

    def test_each_is_let_go_once(self):
        self.run_all()
        counters = self.assert_each_once()
        self.assertEqual(counters["calls"]["patch pods"], SIZE)
        self.assertEqual(self.failures(), [])

    def test_without_a_word_in_the_settings_there_is_none(self):
        self.settle(share=None)
        self.run_all()
        self.assertNotIn("patch pods", self.assert_each_once()["calls"])

    def test_an_end_is_heard_though_somebody_has_deleted_it(self):
        """Without an engine, and nobody knows what happened meanwhile but the pods."""
        self.kill(self.begin_held())
        self.double.control("hold", is_held=False)
        self.double.wait(live=[0, 0])
        self.double.ask("DELETE", "/api/v1/namespaces/default/pods")
        self.double.control("compact")
        self.finish(self.resume())
        self.assert_each_once()
        self.assertEqual(self.failures(), [])

    def test_settings_that_have_changed_strand_none(self):
        self.kill(self.begin_held())
        self.settle(share=None)
        running = self.resume()
        self.double.control("hold", is_held=False)
        self.finish(running)
        self.assertEqual(self.assert_each_once()["calls"]["patch pods"], SIZE)

    def test_an_abort_lets_them_go(self):
        self.double.rules({"how": "unschedulable", "times": SIZE // 2})
        self.double.control("hold", is_held=True)
        running = self.begin()
        self.double.wait(running=SIZE - SIZE // 2)
        self.kill(running)
        running = self.resume()
        wait_until(self.answers, "the engine answers")
        self.troupe("abort", "it")
        running.end(LONG_S)
        self.assert_each_once()

    def test_one_that_is_deleted_is_made_again(self):
        self.write_array(2)
        self.double.rules({"how": "unschedulable", "times": 1})
        self.double.control("hold", is_held=True)
        running = self.begin()
        self.double.wait(running=1)
        self.double.control("end", how="deleted")
        self.double.control("hold", is_held=False)
        self.finish(running)
        self.assertEqual(self.all_gone()["duplicates"], 0)
        self.assertEqual({row[3] for row in self.failures()}, {"ResourceDeletedExternally"})

    def test_a_server_that_refuses_is_asked_again(self):
        self.write_array(1)
        self.double.fault("refused", times=3, code=403, method="patch pods",
                          text='pods "x" is forbidden: User "u" cannot patch resource "pods"')
        running = self.begin()
        self.double.wait(pods_created=1)
        words = "the finalizer of its pod could not be taken away, which is tried again: pods"
        wait_until(lambda: words in self.troupe("explain", "it/work[0]", "-v")[0], words)
        self.finish(running)
        self.assertEqual(self.all_gone()["calls"]["patch pods"], 4)


if __name__ == "__main__":
    unittest.main()
