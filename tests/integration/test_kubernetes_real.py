#!/usr/bin/env python3
"""The Kubernetes plugin against a real API server, where one is given (cluster.py)."""

import json
import signal
import sys
import time
import unittest

from cluster import HOW, IS_PLAYED, PATH, PODS, REASON, Cluster
from program import LIMIT_S, ProgramTest, wait_until
from test_kubernetes_cards import CUSTOMS, KINDS

LONG_S = 10 * LIMIT_S

FLOW = """
troupe: 1
tasks:
  work: {type: kubernetes, inputs: {a: int}, run: WORDS, timeout: 1h, CONFIG}
workflows:
  main:
    inputs: {items: [int]}
    nodes: {work: {map: work, with: {a: $items}}}
"""


@unittest.skipUnless(PATH, "TROUPE_TEST_KUBERNETES names no kubeconfig")
class RealTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.cluster = Cluster()
        sys.stderr.write(f"[{self.cluster.begin()}] ")
        self.addCleanup(self.cluster.end)
        self.store.mkdir()
        self.settle()

    def settle(self, **keys):
        kubernetes = {"kubeconfig": self.cluster.path, "namespace": self.cluster.namespace,
                      "image": "busybox:1", "keep": {"failed": "0s"}, **keys}
        (self.store / "settings.yaml").write_text(json.dumps({"plugins": {
            "kubernetes": kubernetes}}))

    def write_map(self, size, annotations=None, config=None, retries=0):
        config = {**(config or {}), "annotations": annotations or {}}
        words = ["sleep", "600"] if HOW in (annotations or {}) else ["true"]
        self.write("flow.yaml", FLOW.replace("WORDS", json.dumps(words)).replace(
            "CONFIG", f"retries: {retries}, config: {json.dumps(config)}"))
        self.write("inputs.json", json.dumps({"items": list(range(size))}))

    def begin(self):
        return self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it", "-q",
                          "-o", "json")

    def finish(self, running, status=0):
        ended, stdout, stderr = running.end(LONG_S)
        self.assertEqual(ended, status, f"{stdout}\n{stderr}")

    def run_map(self, size, status=0, **said):
        self.write_map(size, **said)
        self.finish(self.begin(), status)

    def failures(self):
        return self.query("SELECT element, attempt, failure, code, message FROM record_attempt "
                          "WHERE failure != 0 ORDER BY element, attempt")

    def all_gone(self):
        self.cluster.wait(lambda: not self.cluster.pods(), "no pod is left", LONG_S)


class MapTest(RealTest):
    def test_three_kills_make_no_pod_twice(self):
        """All pods stay until they are counted."""
        self.settle(keep={"succeeded": "1h"})
        began = time.monotonic()
        self.write_map(PODS)
        running = self.begin()
        for part in (5, 3, 2):
            wait_until(lambda: len(self.cluster.pods()) >= PODS // part, "some are made", LONG_S)
            running.signal(signal.SIGKILL)
            running.end(LONG_S)
            running = self.start("resume", "it", "-q", "-o", "json")
        ended, _, stderr = running.end(LONG_S)
        self.assertTrue(ended == 0 or "has ended" in stderr, stderr)
        sys.stderr.write(f"[{PODS} pods in {time.monotonic() - began:.0f} s] ")
        pods = self.cluster.pods()
        attempts = {pod["metadata"]["labels"]["troupe.dev/attempt"] for pod in pods}
        self.assertEqual((len(pods), len(attempts)), (PODS, PODS))
        # What was meant and had not left is in no list: its attempt is over, and has no pod.
        for element, attempt, _, code, _ in self.failures():
            self.assertEqual(code, "ResourceDeletedExternally")
            self.assertFalse([name for name in attempts
                              if name.startswith(f"it-work-{element}-")
                              and name.endswith(f"-{attempt}")])

    def test_nothing_is_left(self):
        self.run_map(PODS)
        self.all_gone()

    def test_finalizers_are_taken_away(self):
        self.settle(finalizer=True)
        self.run_map(10)
        self.all_gone()

    def abort(self):
        self.write_map(10, annotations={HOW: "lives"})
        running = self.begin()
        wait_until(lambda: len(self.cluster.pods()) == 10, "they are made", LONG_S)
        self.troupe("abort", "it")
        running.end(LONG_S)
        self.all_gone()

    def test_an_abort_leaves_none(self):
        self.abort()

    def test_an_abort_lets_finalizers_go(self):
        self.settle(finalizer=True)
        self.abort()

    def test_one_that_is_deleted_is_made_again(self):
        self.write_map(1, annotations={HOW: "lives"})
        running = self.begin()
        wait_until(lambda: any(pod["status"]["phase"] == "Running" for pod in self.cluster.pods()),
                   "it runs", LONG_S)
        name = self.cluster.pods()[0]["metadata"]["name"]
        self.cluster.ask("DELETE", self.cluster.below() + f"/{name}")
        wait_until(lambda: [pod for pod in self.cluster.pods()
                            if pod["metadata"]["name"] not in (name,)], "another one", LONG_S)
        self.troupe("abort", "it")
        running.end(LONG_S)
        self.assertEqual(self.failures()[0][3], "ResourceDeletedExternally")


class RefusedTest(RealTest):
    def refused(self, **said):
        self.run_map(1, 1, **said)
        return self.failures()[-1][3:]

    def test_a_quota_is_waited_for(self):
        self.cluster.quota(pods="10")
        self.write_map(100)
        running = self.begin()
        wait_until(lambda: any("exceeded quota: quota, requested: pods=1" in
                               self.troupe("explain", f"it/work[{i}]")[0]
                               for i in range(0, 100, 9)) or running.process.poll() is not None,
                   "it is said", LONG_S)
        self.finish(running)
        self.all_gone()
        self.assertEqual(self.failures(), [])

    def test_more_than_a_quota_could_ever_grant(self):
        self.cluster.quota(pods="0")
        code, words = self.refused()
        self.assertEqual(code, "ResourceRequestsExceedLimits")
        self.assertIn("limited: pods=0", words)

    def test_a_quota_that_wants_what_is_not_said(self):
        self.cluster.quota(**{"requests.ephemeral-storage": "1Gi"})
        code, words = self.refused()
        self.assertEqual(code, "BadTaskSpecification")
        self.assertIn("failed quota: quota: must specify requests.ephemeral-storage", words)

    def test_what_the_server_does_not_know(self):
        code, words = self.refused(config={"pod": {"colour": "red"}})
        self.assertEqual(code, "BadTaskSpecification")
        self.assertIn('unknown field "spec.colour"', words)

    def test_what_it_takes_for_wrong(self):
        code, words = self.refused(config={"pod": {"dnsPolicy": "Somewhere"}})
        self.assertEqual(code, "BadTaskSpecification")
        self.assertIn('spec.dnsPolicy: Unsupported value: "Somewhere"', words)

    def test_a_namespace_that_is_not_there_is_waited_for(self):
        other = Cluster()
        self.settle(namespace=other.namespace)
        self.write_map(1)
        running = self.begin()
        words = f'namespaces "{other.namespace}" not found'
        wait_until(lambda: words in self.start("explain", "it/work[0]").end()[1], words, LONG_S)
        other.begin()
        self.addCleanup(other.end)
        self.finish(running)


@unittest.skipUnless(IS_PLAYED, "TROUPE_TEST_KUBERNETES_PLAYED is not set: nodes run what they get")
class EndTest(RealTest):
    def fail(self, how, code, failure, **annotations):
        self.run_map(1, 1, annotations={HOW: how, **annotations})
        self.assertEqual(self.failures()[-1][2:4], (failure, code))
        self.all_gone()

    def test_memory(self):
        self.fail("oom", "OOMKilled", 1)

    def test_an_exit_status(self):
        self.fail("exit", "ProcessFailed", 1)
        self.assertIn("exit status 3, Error: the end of its log", self.failures()[-1][4])

    def test_an_eviction(self):
        self.fail("evicted", "Interrupted", 2)

    def test_a_preemption(self):
        self.fail("preempted", "Interrupted", 2)

    def test_an_image_that_is_none(self):
        self.fail("waiting", "InvalidImageName", 1, **{REASON: "InvalidImageName"})


class OperatorTest(RealTest):
    """By operators that are there."""

    def run_card(self, card, how=None, status=0):
        group, version, plural, _ = KINDS[card].split("/")
        if not self.cluster.knows(group, version, plural):
            self.skipTest(f"the cluster does not know {plural}.{group}")
        self.write("flow.yaml", json.dumps({
            "troupe": 1,
            "tasks": {"t": {"type": "kubernetes", "run": ["true"], "config": {
                "card": card, "custom": CUSTOMS[card],
                "annotations": {HOW: how} if how else {}}}},
            "workflows": {"main": {"nodes": {"n": {"task": "t"}}}}}))
        self.write("inputs.json", "{}")
        self.finish(self.start("run", "flow.yaml", "--name", f"{card}-{status}", "-q", "-o",
                               "json"), status)

    def check(self, card):
        self.run_card(card)
        if IS_PLAYED:
            self.run_card(card, "exit", 1)
            self.assertEqual(self.failures()[-1][3], "JobFailed")
        self.all_gone()

    def test_pytorch(self):
        self.check("pytorch")

    def test_tensorflow(self):
        self.check("tensorflow")

    def test_mpi(self):
        self.check("mpi")

    def test_job(self):
        self.check("job")

    def test_one_that_is_not_installed(self):
        self.settle(operator_timeout="3s", cards={"train": {
            "resource": {"group": "example.com", "version": "v1", "plural": "trains",
                         "kind": "Train"},
            "make": {"spec": {}}, "status": [{"when": {}, "phase": "succeeded"}]}})
        self.write("flow.yaml", json.dumps({
            "troupe": 1, "tasks": {"t": {"type": "kubernetes", "config": {"card": "train"}}},
            "workflows": {"main": {"nodes": {"n": {"task": "t"}}}}}))
        self.finish(self.start("run", "flow.yaml", "--name", "it", "-q", "-o", "json"), 1)
        self.assertEqual(self.failures()[0][3], "OperatorNotInstalled")


if __name__ == "__main__":
    unittest.main()
