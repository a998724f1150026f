#!/usr/bin/env python3
"""`troupe logs` of pods that are there: of each container, as they go on; words for the rest."""

import json
import re
import signal
import unittest

from kubernetes import KubernetesTest
from program import wait_until

FLOW = """
troupe: 1
tasks:
  work:
    run: [/bin/sh, -c, 'echo one; until [ -e "$GATE" ]; do sleep 0.05; done; echo two; exit $CODE']
    env: {GATE: GATE_PATH, CODE: "0"}
    CONFIG
workflows:
  main:
    nodes: {work: {task: work}}
"""


class LogsTest(KubernetesTest):
    double_options = ("--execute",)

    def setUp(self):
        super().setUp()
        self.gate = self.folder / "gate"
        self.settle(share=None)

    def flow(self, config="retries: 0", code="0"):
        text = FLOW.replace("CONFIG", config).replace("GATE_PATH", str(self.gate))
        self.write("flow.yaml", text.replace('CODE: "0"', f'CODE: "{code}"'))
        self.write("inputs.json", "{}")

    def begin_work(self):
        running = self.begin()
        self.double.wait(running=1)
        wait_until(lambda: "one" in self.troupe("logs", "it")[0], "it has printed")
        return running

    def test_what_is_there_and_what_comes(self):
        self.flow()
        running = self.begin_work()
        self.assertEqual(self.troupe("logs", "it")[0], "one\n")
        followed = self.start("logs", "it", "-f")
        wait_until(lambda: self.double.calls("log pods") > 2, "it is followed")
        self.gate.touch()
        self.assertEqual(followed.end(60)[:2], (0, "one\ntwo"))
        self.finish(running)
        _, stderr = self.troupe("logs", "it")
        self.assertRegex(stderr, r"pod it-work-\S+: it is gone, and its log with it")

    def test_container_by_container(self):
        self.flow('config: {pod: {initContainers: [{name: first, image: "i:1", command: '
                  '[/bin/echo, zero]}], containers: [{}, {name: aside, image: "i:1", command: '
                  '[/bin/sh, -c, "echo beside; sleep 1000"]}]}}')
        running = self.begin_work()
        heads = self.troupe("logs", "it")[0]
        self.assertEqual(re.findall(r"==> it/work@0 container (\w+) <==\n(\w+)", heads),
                         [("first", "zero"), ("task", "one"), ("aside", "beside")])
        self.gate.touch()
        self.finish(running)

    def test_the_last_lines_alone(self):
        self.flow()
        self.gate.touch()
        self.settle(share=None, keep={"succeeded": "1h"})
        self.run_all()
        self.assertEqual(self.troupe("logs", "it", "--tail", "1")[0], "two\n")
        self.assertEqual(self.troupe("logs", "it")[0], "one\ntwo\n")

    def test_a_server_that_refuses_or_is_not_there(self):
        self.flow()
        running = self.begin_work()
        self.double.fault("refused", times=1, code=403, method="get pods",
                          text='pods "x" is forbidden: no')
        stdout, stderr = self.troupe("logs", "it")
        self.assertEqual(stdout, "")
        self.assertIn('the answer is 403, pods "x" is forbidden: no', stderr)
        self.double.fault("nonsense", times=1, method="get pods")
        self.assertIn("what the server answers is no pod", self.troupe("logs", "it")[1])
        self.gate.touch()
        self.finish(running)
        self.double.stop()
        _, stderr = self.troupe("logs", "it")
        self.assertRegex(stderr, "pod it-work-.*: connect")

    def test_an_endpoint_that_is_gone_from_the_settings(self):
        self.flow()
        self.gate.touch()
        self.run_all()
        (self.store / "settings.yaml").write_text(json.dumps(
            {"plugins": {"kubernetes": {"endpoints": {"other": {
                "url": self.double.endpoint, "image": "i"}}}}}))
        self.assertIn("its endpoint is not in the settings any more",
                      self.troupe("logs", "it")[1])

    def test_links_as_the_settings_say(self):
        self.flow()
        self.settle(share=None, logs="https://logs/{{.namespace}}/{{.podName}}/{{.containerName}}"
                                     "?uid={{.podUID}}&node={{.hostname}}")
        self.gate.touch()
        self.run_all()
        logs = self.query("SELECT logs FROM record_attempt")[0][0]
        self.assertRegex(logs, r"https://logs/default/it-work-\S+-0-\w{13}/task\?uid=[0-9a-f-]{36}"
                               r"&node=node-1")
        self.settle(share=None, logs="https://logs/{{.podname}}")
        self.assertIn("plugins.kubernetes.logs has {{.podname}}, which is none of namespace, "
                      "podName, podUID, containerName and hostname",
                      self.troupe("plugins", status=2)[1])

    def test_an_element_whose_engine_was_killed(self):
        self.write("flow.yaml", FLOW.replace("CONFIG", "inputs: {a: int}").replace(
            "GATE_PATH", str(self.gate)).replace("nodes:", "inputs: {items: [int]}\n    nodes:")
            .replace("{task: work}", "{map: work, with: {a: $items}}"))
        self.write("inputs.json", json.dumps({"items": [1, 2, 3]}))
        running = self.begin()
        self.double.wait(running=3)
        running.signal(signal.SIGKILL)
        running.end(60)
        wait_until(lambda: "one" in self.troupe("logs", "it/work[1]")[0], "it has printed")
        self.gate.touch()
        self.finish(self.start("resume", "it", "-q", "-o", "json"))

    def test_pods_that_an_operator_has_made(self):
        """By their label, since nobody knows their names; helpers where there is nobody else."""
        self.double.control("kinds", kind="example.com/v1/trains/Train")
        self.double.control("operator", kind="trains", steps=[
            {"pods": [{"template": "spec.pods.*"}]}, {"status": {"state": "Moving"}},
            {"ended": {"Succeeded": {"state": "Arrived"}, "Failed": {"state": "Derailed"}}}])
        card = {"resource": {"group": "example.com", "version": "v1", "plural": "trains",
                             "kind": "Train"},
                "make": {"spec": {"pods": [{"$pod": {"role": role}} for role in
                                           ("worker", "driver", "worker")]}},
                "status": [{"when": {"state": "Arrived"}, "phase": "succeeded"},
                           {"when": {"state": "Derailed"}, "phase": "failed"}]}
        self.settle(share=None, cards={"train": card}, keep={"succeeded": "1h"})
        self.flow(config="type: kubernetes\n    config: {card: train}")
        running = self.begin_work()
        self.double.wait(running=3)
        followed = self.start("logs", "it", "-f")
        self.gate.touch()
        self.finish(running)
        status, stdout, stderr = followed.end(60)
        self.assertEqual(status, 0, stderr)
        self.assertEqual(re.findall("one|two", stdout), ["one", "two"], stdout)
        self.assertIn("driver, container task", stdout)


if __name__ == "__main__":
    unittest.main()
