#!/usr/bin/env python3
"""Pods that no task claims go, and those of tasks that have gone on elsewhere stay."""

import json
import shutil
import signal
import threading
import unittest

from kubernetes import KubernetesTest
from program import LIMIT_S

# For what a store might do to pods that are not its own: beyond `orphaned` of these tests.
MOMENT_S = 6
SIZE = 10


class OrphanTest(KubernetesTest):
    def setUp(self):
        super().setUp()
        self.settle()
        self.double.control("hold", is_held=True)
        self.write_array(SIZE)

    def settle(self, **keys):
        super().settle(keep={"failed": "0s", "orphaned": "2s"}, interval="1s", **keys)

    def begin_held(self, name, count, *words):
        """A run whose pods live until they are let go."""
        running = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", name, "-q",
                             *words)
        self.double.wait(running=count)
        return running

    def kill(self, running):
        running.signal(signal.SIGKILL)
        running.end()

    def let_go(self, running):
        self.double.control("hold", is_held=False)
        self.assertEqual(running.end(LIMIT_S)[0], 0)
        self.all_gone()

    def test_pods_that_a_restored_store_knows_nothing_of_go(self):
        self.troupe("run", "flow.yaml", "--name", "first", "-q", "--inputs",
                    self.write("none.json", json.dumps({"items": []})))
        self.troupe("backup", "before.tar")
        self.kill(self.begin_held("lost", SIZE))
        shutil.rmtree(self.store)
        self.troupe("restore", "before.tar", "--store", self.store)
        self.settle()
        running = self.begin_held("it", 2 * SIZE)
        counters = self.double.wait(objects=[SIZE, SIZE], timeout_s=LIMIT_S)
        self.assertEqual((counters["pods_created"], counters["duplicates"]), (2 * SIZE, 0))
        self.let_go(running)

    def test_pods_of_strangers_and_copies_stay(self):
        self.double.control("strangers", namespace="default", count=3, labels={"a": "b"})
        running = self.begin_held("it", SIZE)
        threading.Event().wait(MOMENT_S)
        self.assertEqual(self.double.counters()["objects"], SIZE + 3)
        self.double.control("hold", is_held=False)
        self.assertEqual(running.end(LIMIT_S)[0], 0)
        self.assertEqual(self.double.counters()["objects"], 3)

    def test_pods_of_another_endpoint_of_this_store_stay(self):
        self.kill(self.begin_held("it", SIZE))
        settings = json.loads((self.store / "settings.yaml").read_text())
        kubernetes = settings["plugins"]["kubernetes"]
        url = kubernetes.pop("endpoint")
        kubernetes["endpoints"] = {"other": {"url": url}, "default": {"url": url}}
        (self.store / "settings.yaml").write_text(json.dumps(settings))
        running = self.begin_held("second", 2 * SIZE)
        self.troupe("abort", "second")
        running.end(LIMIT_S)
        threading.Event().wait(MOMENT_S)
        self.assertEqual(self.double.counters()["objects"], SIZE)

    def move(self):
        """An execution whose pods live goes to another store, whose settings are the same."""
        other = self.folder / "other"
        other.mkdir()
        shutil.copy(self.store / "settings.yaml", other)
        self.kill(self.begin_held("it", SIZE))
        path = self.troupe("export", "it")[0].strip()
        self.troupe("import", path, "--store", other)
        return other

    def test_the_store_that_pods_have_left_lets_them_be(self):
        other = self.move()
        running = self.begin_held("second", 2 * SIZE)
        threading.Event().wait(MOMENT_S)
        self.assertEqual(self.double.counters()["objects"], 2 * SIZE)
        resumed = self.start("resume", "it", "-q", "--store", other)
        self.double.control("hold", is_held=False)
        self.assertEqual(running.end(LIMIT_S)[0], 0)
        self.assertEqual(resumed.end(LIMIT_S)[0], 0)
        counters = self.all_gone()
        self.assertEqual((counters["pods_created"], counters["duplicates"]), (2 * SIZE, 0))

    def test_the_store_that_pods_go_on_in_ends_none_of_the_others(self):
        self.begin_held("stays", SIZE).signal(signal.SIGKILL)
        other = self.folder / "other"
        other.mkdir()
        shutil.copy(self.store / "settings.yaml", other)
        self.kill(self.begin_held("it", 2 * SIZE))
        path = self.troupe("export", "it")[0].strip()
        self.troupe("import", path, "--store", other)
        resumed = self.start("resume", "it", "-q", "--store", other)
        threading.Event().wait(MOMENT_S)
        self.assertEqual(self.double.counters()["objects"], 2 * SIZE)
        self.troupe("abort", "it", "--store", other)
        resumed.end(LIMIT_S)
        self.assertEqual(self.double.counters()["objects"], SIZE)


if __name__ == "__main__":
    unittest.main()
