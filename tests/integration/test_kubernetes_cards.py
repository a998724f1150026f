#!/usr/bin/env python3
"""Operators' resources by cards, against the Kubernetes double: each of ours to both ends,
operators that are missing, silent or odd, pods that cannot begin, and plugins/CARDS.md as it
stands."""

import json
import re
import signal
import unittest

from kubernetes import LONG_S, KubernetesTest
from program import ROOT, wait_until

PAGE = (ROOT / "plugins/CARDS.md").read_text()
SETTINGS, FLOW, RESOURCE = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
TYPED = re.search(r"```sh\n(.*?)\n```", PAGE, re.S).group(1)
SHOWN = re.search(r"```text\n\.\.\.\n(.*?)```", PAGE, re.S).group(1)
VERBS = {"create", "get", "list", "watch", "delete", "deletecollection"}

KINDS = {
    "spark": "sparkoperator.k8s.io/v1beta2/sparkapplications/SparkApplication",
    "ray": "ray.io/v1/rayjobs/RayJob",
    "pytorch": "kubeflow.org/v1/pytorchjobs/PyTorchJob",
    "tensorflow": "kubeflow.org/v1/tfjobs/TFJob",
    "mpi": "kubeflow.org/v1/mpijobs/MPIJob",
    "mpi-v2beta1": "kubeflow.org/v2beta1/mpijobs/MPIJob",
    "dask": "kubernetes.dask.org/v1/daskjobs/DaskJob",
    "job": "batch/v1/jobs/Job",
}
CUSTOMS = {
    "spark": {"mainApplicationFile": "local:///main.py"},
    "ray": {"rayCluster": {"workerGroupSpec": [{"groupName": "g", "replicas": 2}]}},
    "pytorch": {"workers": 2},
    "tensorflow": {"workers": 2, "psReplicas": 1},
    "mpi": {"numWorkers": 2, "slots": 2},
    "mpi-v2beta1": {"workerReplicas": {"replicas": 2}},
    "dask": {"workers": {"numberOfWorkers": 2}},
    "job": {},
}


def condition(*types):
    return {"conditions": [{"type": name, "status": "True", "reason": f"It{name}",
                            "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                           for name in types]}


def steps_of(*statuses):
    return [{"status": status} for status in statuses]


KUBEFLOW = (steps_of(condition("Created"), condition("Created", "Running"),
                     condition("Created", "Succeeded")),
            steps_of(condition("Created", "Failed")))
ENDS = {
    "spark": (steps_of({"applicationState": {"state": "SUBMITTED"}},
                       {"applicationState": {"state": "COMPLETED"}}),
              steps_of({"applicationState": {"state": "FAILED", "errorMessage": "m"}})),
    "ray": (steps_of({"jobDeploymentStatus": "Running", "jobStatus": "RUNNING"},
                     {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}),
            steps_of({"jobDeploymentStatus": "Complete", "jobStatus": "FAILED", "message": "m"})),
    "pytorch": KUBEFLOW, "tensorflow": KUBEFLOW, "mpi": KUBEFLOW, "mpi-v2beta1": KUBEFLOW,
    "dask": (steps_of({"jobStatus": "JobCreated"}, {"jobStatus": "Successful"}),
             steps_of({"jobStatus": "Failed"})),
    "job": (steps_of({"startTime": "x", "ready": 1}, condition("Complete")),
            steps_of(condition("Failed"))),
}
TRAIN = "example.com/v1/trains/Train"
ARRIVES = [{"status": {"state": "Boarding"}}, {"pods": [{"template": "spec.template",
                                                         "count": "spec.wagons"}]},
           {"status": {"state": "Moving"}},
           {"ended": {"Succeeded": {"state": "Arrived"},
                      "Failed": {"state": "Derailed", "why": "a wagon"}}}]


class CardsTest(KubernetesTest):
    def add_kinds(self, *kinds):
        for kind in kinds:
            self.double.control("kinds", kind=kind)

    def write_task(self, card, custom, retries=0):
        self.write("flow.yaml", json.dumps({
            "troupe": 1,
            "tasks": {"t": {"type": "kubernetes", "config": {"card": card, "custom": custom},
                            "run": ["echo", "it's"], "retries": retries}},
            "workflows": {"main": {"nodes": {"n": {"task": "t"}}}}}))
        self.write("inputs.json", "{}")

    def write_trains(self):
        """The settings of the page, for the double."""
        self.add_kinds(TRAIN)
        text = SETTINGS.replace("http://127.0.0.1:8001", self.double.endpoint)
        image = "    image: debian:12\n"
        (self.store / "settings.yaml").write_text(
            text.replace(image, image + "    keep: {failed: 0s}\n"))
        self.write("flow.yaml", FLOW)
        self.write("inputs.json", "{}")

    def explained(self, name, words):
        """Waits until explain says so."""
        wait_until(lambda: words in self.said("explain", name), words)

    def said(self, *words):
        """What a command says, however it ends."""
        running = self.start(*words)
        _, stdout, stderr = running.end()
        return stdout + stderr

    def wait_objects(self, count):
        wait_until(lambda: self.double.counters()["objects"] == count, f"{count} objects")


class OursTest(CardsTest):
    def test_each_to_both_ends(self):
        self.add_kinds(*(kind for card, kind in KINDS.items() if card != "job"))
        for card, kind in KINDS.items():
            plural = kind.split("/")[2]
            for number, steps in enumerate(ENDS[card]):
                with self.subTest(card=card, fails=number):
                    self.double.control("operator", kind=plural, steps=steps)
                    self.write_task(card, CUSTOMS[card])
                    self.run_all(f"{card}-{number}", number)
        codes = {code for _, _, _, code, _ in self.failures()}
        self.assertEqual(codes, {"JobFailed"})
        counters = self.all_gone()
        self.assertEqual(counters["duplicates"], 0)
        self.assertLessEqual({call.split()[0] for call in counters["calls"]}, VERBS)

    def test_a_kill_makes_no_resource_twice(self):
        self.add_kinds(KINDS["ray"])
        self.write_task("ray", CUSTOMS["ray"])
        running = self.begin()
        self.wait_objects(1)
        running.signal(signal.SIGKILL)
        running.end(60)
        self.double.control("operator", kind="rayjobs", steps=[])
        made = self.double.calls("create rayjobs")
        items = self.double.ask("GET", "/apis/ray.io/v1/namespaces/default/rayjobs").document
        name = items["items"][0]["metadata"]["name"]
        self.assertLessEqual(len(name), 47)
        engine = self.start("serve")
        self.double.control("status", kind="rayjobs", namespace="default", name=name,
                            status={"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"})
        self.wait_objects(0)
        engine.signal(signal.SIGTERM)
        engine.end(LONG_S)
        self.assertEqual((made, self.double.calls("create rayjobs")), (1, 1))


class OperatorTest(CardsTest):
    def test_one_that_is_not_installed(self):
        self.settle(operator_timeout="1s")
        self.write_task("ray", CUSTOMS["ray"])
        running = self.begin()
        self.explained("it", "the cluster does not know rayjobs.ray.io of version v1: install its "
                             "operator")
        running.end(LONG_S)
        codes = {code for _, _, _, code, _ in self.failures()}
        self.assertEqual(codes, {"OperatorNotInstalled"})

    def test_one_that_comes_later(self):
        self.write_task("ray", CUSTOMS["ray"])
        running = self.begin()
        self.explained("it", "the cluster does not know rayjobs.ray.io")
        self.double.control("operator", kind="rayjobs", steps=ENDS["ray"][0])
        self.add_kinds(KINDS["ray"])
        self.finish(running)

    def test_one_that_does_not_look(self):
        self.settle(operator_timeout="2s")
        self.add_kinds(KINDS["pytorch"])
        self.write_task("pytorch", CUSTOMS["pytorch"])
        running = self.begin()
        self.explained("it", "waits for the operator of pytorchjobs.kubeflow.org to look at it")
        running.end(LONG_S)
        rows = self.failures()
        self.assertEqual({row[3] for row in rows}, {"OperatorTimeout"})
        self.assertIn("no operator of pytorchjobs.kubeflow.org has looked at it within 2 s",
                      rows[0][4])
        self.wait_objects(0)


class TrainTest(CardsTest):
    def test_the_page(self):
        self.write_trains()
        self.double.control("operator", kind="trains", steps=ARRIVES)
        stdout, stderr = self.troupe(*TYPED.split()[1:])
        for line in SHOWN.splitlines():
            pattern = r"\s+".join(re.escape(word).replace(r"\.\.\.", ".*") for word in line.split())
            self.assertRegex(stdout + stderr, pattern)
        self.assertEqual(self.double.counters()["pods_created"], 2)
        self.all_gone()

    def test_a_task_brings_its_own(self):
        self.write_trains()
        self.write("flow.yaml", RESOURCE)
        self.double.control("operator", kind="trains",
                            steps=steps_of({"state": "Moving"}, {"state": "Arrived"}))
        self.run_all()
        self.double.control("operator", kind="trains",
                            steps=steps_of({"state": "Derailed", "why": "leaves"}))
        self.run_all("second", 1)
        self.assertEqual([row[3:] for row in self.failures()], [("JobFailed", "leaves")])
        self.all_gone()

    def test_a_status_that_nobody_knows(self):
        self.write_trains()
        self.double.control("operator", kind="trains", steps=[
            {"status": {"state": "Moving"}}, {"status": {"state": "Dreaming"}},
            {"wait_ms": 3000}, {"status": {"state": "Arrived"}}])
        running = self.begin()
        self.explained("it", "no rule of its card fits its status: state = Dreaming")
        self.finish(running)

    def test_a_pod_that_cannot_begin_fails_the_job(self):
        self.write_trains()
        self.double.rules({"how": "waiting", "reason": "InvalidImageName", "message": "no image"})
        self.double.control("operator", kind="trains", steps=ARRIVES)
        self.run_all(status=1)
        (row,) = self.failures()
        self.assertEqual(row[3], "InvalidImageName")
        self.assertRegex(row[4], "^pod travel-.*: InvalidImageName: no image|^pod .*no image")
        self.all_gone()

    def test_a_pod_that_fails_is_the_operators_affair(self):
        self.write_trains()
        self.double.rules({"how": "failed"})
        self.double.control("operator", kind="trains", steps=ARRIVES)
        self.run_all(status=1)
        self.assertEqual([row[3:] for row in self.failures()], [("Derailed", "a wagon")])

    def test_what_the_card_needs(self):
        self.write_trains()
        self.write("flow.yaml", FLOW.replace("destination: Ulm, ", ""))
        self.run_all(status=1)
        (row,) = self.failures()
        self.assertEqual(row[3:], ("BadTaskSpecification",
                                   "card 'train': make.spec.destination: custom.destination is "
                                   "missing, which the card 'train' needs: say it in the task"))

    def test_a_card_that_is_not_there(self):
        self.write_trains()
        self.write("flow.yaml", FLOW.replace("card: train", "card: tram"))
        self.run_all(status=1)
        self.assertIn("there is no card 'tram': write it below plugins.kubernetes.cards",
                      self.failures()[0][4])

    def test_it_goes_when_it_is_aborted(self):
        self.write_trains()
        self.double.control("operator", kind="trains", steps=ARRIVES[:3])
        self.double.control("hold", is_held=True)
        running = self.begin()
        self.wait_objects(3)
        self.troupe("abort", "it")
        running.end(LONG_S)
        self.wait_objects(0)


BAD = [
    ("cards: {train: {make: {}}}", "resource"),
    ("cards: {train: 1}", "plugins.kubernetes.cards.train has to be a mapping"),
    ("operator_timeout: soon", "operator_timeout has to be a time such as 30s or 1h30m"),
]


class BadTest(CardsTest):
    def test_settings(self):
        for line, words in BAD:
            with self.subTest(line=line):
                (self.store / "settings.yaml").write_text(
                    f"plugins:\n  kubernetes:\n    endpoint: http://127.0.0.1:9\n    {line}\n")
                self.assertIn(words, self.said("plugins"))

    def test_tasks(self):
        for config, words in (
                ({"plural": "trains"}, "config.manifest is missing"),
                ({"manifest": {"kind": "A"}}, "config.manifest has to say its apiVersion"),
                ({"manifest": {"kind": "A", "apiVersion": "v1"}}, "config.plural is missing"),
                ({"manifest": {"kind": "A", "apiVersion": "a/../v1"}, "plural": "as"},
                 "config.manifest.apiVersion has to be GROUP/VERSION, as ray.io/v1"),
                ({"manifest": {"kind": "A", "apiVersion": "v1"}, "plural": "a/b"},
                 "config.plural has to be of small letters, digits and -"),
                ({"manifest": {"kind": "A", "apiVersion": "v1"}, "plural": "as", "status": []},
                 "config.status has no rule with `phase: succeeded`"),
                ({"manifest": {"kind": "A", "apiVersion": "v1", "a": "${x}"}, "plural": "as",
                  "status": [{"when": {}, "phase": "succeeded"}]},
                 "config.make.a: nothing is called x")):
            with self.subTest(words=words):
                self.write("flow.yaml", json.dumps({
                    "troupe": 1, "tasks": {"t": {"type": "resource", "config": config}},
                    "workflows": {"main": {"nodes": {"n": {"task": "t"}}}}}))
                self.assertIn(words, self.said("check", "flow.yaml"))


if __name__ == "__main__":
    unittest.main()
