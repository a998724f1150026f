#!/usr/bin/env python3
"""Operators' tasks as flytekit's own plugin packages serialise them: the resources that are made of
them, as the Kubernetes double has them."""

import json
import os
import subprocess
import sys
import unittest

from cluster import PATH, Cluster
from kubernetes import KubernetesTest
from program import LIBRARIES, ROOT
from pypi import KIT, KIT_PYTHON, have_library
from test_flyte_packages import SUPPORT
from test_kubernetes_cards import ENDS, KINDS

# Apart: flytekit imports all plugins that it finds, and these lack what they run with.
APART = LIBRARIES / "flytekit-operators"
PLUGINS = [f"flytekitplugins-{name}==1.16.*" for name in
           ("spark", "ray", "kfpytorch", "kfmpi", "kftensorflow", "dask")]


def serialised():
    """What the packages say, by the names of support/flytekit_plugins.py."""
    have_library(KIT_PYTHON, KIT, "kubernetes")
    have_library(KIT_PYTHON, *PLUGINS, options=["--no-deps", "--target", APART])
    done = subprocess.run([KIT_PYTHON, SUPPORT / "flytekit_plugins.py"], check=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(APART)},
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)


class FlyteCardsTest(KubernetesTest):
    def setUp(self):
        super().setUp()
        self.cluster = Cluster() if PATH else None
        if self.cluster:
            sys.stderr.write(f"[and a dry run by {self.cluster.begin()}] ")
            self.addCleanup(self.cluster.end)

    def check_strictly(self, card, item):
        """A real server takes what was made, where it is given and knows the kind."""
        group, version, plural, kind = KINDS[card].split("/")
        if self.cluster is None:
            return
        if not self.cluster.knows(group, version, plural):
            sys.stderr.write(f"[skipped: it does not know {plural}.{group}] ")
            return
        done = self.cluster.dry_run(group, version, plural, {**item, "kind": kind})
        self.assertEqual(done, (201, None))

    def made(self, card, custom, words):
        """The resource of a task with a card, which has succeeded."""
        group, version, plural, _ = KINDS[card].split("/")
        self.double.control("kinds", kind=KINDS[card])
        self.double.control("operator", kind=plural, steps=ENDS[card][0])
        self.settle(keep={"succeeded": "1h"})
        self.write("flow.yaml", json.dumps({
            "troupe": 1,
            "tasks": {"t": {"type": "kubernetes", "config": {"card": card, "custom": custom},
                            "run": [word.replace("{{", "(").replace("}}", ")") for word in words]}},
            "workflows": {"main": {"nodes": {"n": {"task": "t"}}}}}))
        self.write("inputs.json", "{}")
        self.count = getattr(self, "count", 0) + 1
        self.run_all(f"{card}-{self.count}")
        items = self.double.ask(
            "GET", f"/apis/{group}/{version}/namespaces/default/{plural}").document["items"]
        self.check_strictly(card, items[-1])
        return items[-1]["spec"]

    def test_what_plugin_packages_serialise(self):
        made = {}
        for name, task in serialised().items():
            with self.subTest(name):
                made[name] = self.made(task["type"], task["custom"], task["words"] or ["train"])
        self.assertEqual(made["spark"]["mainApplicationFile"],
                         "local:///opt/venv/bin/entrypoint.py")
        self.assertEqual(made["spark"]["arguments"][0], "pyflyte-execute")
        self.assertEqual(made["spark"]["executor"]["instances"], 2)
        ray = made["ray"]["rayClusterSpec"]
        self.assertEqual(made["ray"]["runtimeEnvYAML"], "pip:\n- numpy\n")
        self.assertEqual(ray["headGroupSpec"]["rayStartParams"]["log-color"], "True")
        head = ray["headGroupSpec"]["template"]["spec"]["containers"][0]
        self.assertEqual(head["resources"]["requests"], {"cpu": "2", "memory": "4Gi"})
        self.assertEqual([(group["replicas"], group["maxReplicas"])
                          for group in ray["workerGroupSpecs"]], [(3, 5)])
        replicas = made["pytorch"]["pytorchReplicaSpecs"]
        self.assertEqual(replicas["Worker"]["restartPolicy"], "OnFailure")
        worker = replicas["Worker"]["template"]["spec"]["containers"][0]
        self.assertEqual((worker["image"], worker["resources"]["limits"]),
                         ("worker:1", {"cpu": "4", "nvidia.com/gpu": "1"}))
        self.assertEqual(made["pytorch"]["runPolicy"]["cleanPodPolicy"], "All")
        elastic = made["pytorch-elastic"]
        self.assertEqual(elastic["elasticPolicy"]["nProcPerNode"], 8)
        self.assertNotIn("Master", elastic["pytorchReplicaSpecs"])
        self.assertEqual({name: spec["replicas"] for name, spec in
                          made["tensorflow"]["tfReplicaSpecs"].items()},
                         {"Chief": 1, "PS": 1, "Worker": 2})
        self.assertEqual(made["mpi"]["slotsPerWorker"], 4)
        launcher = made["mpi"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
        self.assertIn("mpirun", launcher["args"])
        cluster = made["dask"]["cluster"]["spec"]
        self.assertEqual(cluster["worker"]["replicas"], 5)
        self.assertEqual(cluster["worker"]["spec"]["containers"][0]["resources"]["limits"],
                         {"cpu": "2", "memory": "4Gi"})


if __name__ == "__main__":
    unittest.main()
