#!/usr/bin/env python3
"""Tasks of flytekit's in pods: the words and the documents that they would have in Flyte's.

flytekit itself writes the package, and runs in the pods of the double (`--execute`), which have no
images: PATH stands for the one that the image would have. Documents are reached by s3://, as in
Flyte, or lie on a share.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from program import LIBRARIES, ROOT

sys.path.insert(0, str(ROOT / "tests/doubles/s3"))

from kubernetes import KubernetesTest  # noqa: E402
from s3_client import ACCESS, BUCKET, REGION, SECRET, ObjectStore  # noqa: E402
from test_flyte import KIT, KIT_PYTHON, PYTHON, have_library  # noqa: E402
from test_kubernetes_cards import ENDS, KINDS  # noqa: E402

IMAGE = "example.org/flows:1"
FLOWS = (ROOT / "tests/support/flytekit_pods.py").read_text()


class FlytePodsTest(KubernetesTest):
    """What the cluster's Secret and the engine's have is one key, ACCESS:SECRET[:TOKEN]."""
    key = f"{ACCESS}:{SECRET}"
    fast = ()

    @property
    def double_options(self):
        return ("--execute", "--secret", f"store/key={self.key}", "--share", str(LIBRARIES))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        have_library(KIT_PYTHON, KIT)
        cls.packaged = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.packaged)
        (cls.packaged / "flows.py").write_text(FLOWS)
        (cls.packaged / "pyflyte.cfg").write_text("")
        subprocess.run(
            [KIT_PYTHON.parent / "pyflyte", "--pkgs", "flows", "package", "--image", IMAGE,
             "--output", "flows.tgz", "--force", *cls.fast],
            cwd=cls.packaged, env=os.environ | {"PYTHONPATH": str(cls.packaged)},
            stdout=subprocess.DEVNULL, check=True)

    def setUp(self):
        super().setUp()
        (self.folder / "source").mkdir()
        (self.folder / "source/flows.py").write_text(FLOWS)
        shutil.copy(self.packaged / "flows.tgz", self.folder)

    def environment(self):
        return super().environment() | {"TROUPE_SECRET_STORE_KEY": self.key}

    def settle(self, **keys):
        """PATH and PYTHONPATH are what the image would have."""
        variables = {"PATH": f"{KIT_PYTHON.parent}:/usr/bin:/bin",
                     "PYTHONPATH": str(self.folder / "source"),
                     "HOME": "/tmp"}
        pod = {"containers": [{"name": "primary", "env": [
            {"name": name, "value": value} for name, value in variables.items()]}]}
        super().settle(image=None, pod=pod, **keys)

    def run_flow(self, name, *words, status=0):
        return self.document("run", "flows.tgz", f"flows.{name}", "--name", "it", *words,
                             status=status)


class Cases:
    """The same in both places."""

    def test_a_map_and_what_its_pods_are_made_of(self):
        done = self.run_flow("squares", "-i", "size=3")
        self.assertEqual(done["outputs"], {"o0": 5})
        self.assertEqual(self.all_gone()["pods_created"], 5)
        for spec in self.double.specs():
            container, = spec["containers"]
            self.assertEqual(container["image"], IMAGE)
            words = container.get("command", []) + container["args"]
            self.assertIn("pyflyte-execute", words)

    def test_files(self):
        done = self.run_flow("files", "-i", "text=one")
        self.assertEqual(done["outputs"]["o1"], "one!")
        self.seen(done["outputs"]["o0"])

    def test_a_checkpoint(self):
        self.assertEqual(self.run_flow("checkpoints")["outputs"], {"o0": "half"})
        self.assertEqual(len(self.failures()), 1)

    def test_a_dynamic_workflow_decides_more_pods(self):
        self.assertEqual(self.run_flow("decides", "-i", "size=3")["outputs"], {"o0": 5})
        self.assertEqual(self.all_gone()["pods_created"], 5)

    def test_an_error_is_flytekits(self):
        self.run_flow("errors", "-i", "a=4", status=1)
        *_, message = self.failures()[0]
        self.assertIn("4 is not for me", message)

    def test_who_it_is_and_where(self):
        name, task, path = self.run_flow("tells")["outputs"]["o0"].split(" ")
        self.assertEqual((name, task), ("it", "flows.about"))
        self.assertEqual(path, f"{KIT_PYTHON.parent}:/usr/bin:/bin")


class StoredTest(FlytePodsTest):
    def settle(self, **keys):
        if not hasattr(self, "objects"):
            self.objects = ObjectStore(key=self.key)
            self.addCleanup(self.objects.stop)
        where = {"share": None, "outputs": f"s3://{BUCKET}/runs",
                 "object_store": {"endpoint": self.objects.endpoint, "region": REGION,
                                  "secret": "store/key"}}
        super().settle(**{**where, **keys})

    def seen(self, file):
        self.assertRegex(file, rf"^s3://{BUCKET}/runs/it-n0-[a-z2-7]{{13}}/[a-z0-9-]+/work/")
        self.assertIn(file.removeprefix("s3://"), self.objects.objects())


class SessionTest(StoredTest):
    """A key for a while: without its token nobody is let in, neither the engine nor a pod."""
    key = f"{ACCESS}:{SECRET}:a+token/for=now"

    def test_the_token_goes_along(self):
        done = self.run_flow("files", "-i", "text=one")
        self.assertEqual(done["outputs"]["o1"], "one!")
        self.seen(done["outputs"]["o0"])


class ObjectsTest(Cases, StoredTest):
    def test_what_lies_where(self):
        self.run_flow("squares", "-i", "size=2")
        names = sorted(name.rsplit("/", 1)[1] for name in self.objects.objects())
        self.assertEqual(names, ["inputs.pb"] * 4 + ["outputs.pb"] * 4)

    def test_a_busy_store_and_lost_answers(self):
        for fault in ("busy", "lost"):
            self.objects.fault(fault, times=1, method="PUT", name="*/inputs.pb")
        self.assertEqual(self.run_flow("squares", "-i", "size=2")["outputs"], {"o0": 1})
        self.assertEqual(self.all_gone()["pods_created"], 4)

    def test_a_store_that_refuses_and_one_that_is_none(self):
        self.settle(outputs="s3://none/runs")
        self.run_flow("tells", status=1)
        *_, code, message = self.failures()[0]
        self.assertEqual(code, "StorageError")
        self.assertIn("its inputs cannot be put: 404 NoSuchBucket is the answer to PUT ", message)

    def test_a_place_that_no_flytekit_reaches(self):
        self.settle(outputs=f"{self.objects.endpoint}/{BUCKET}", object_store=None)
        self.run_flow("tells", status=1)
        self.assertIn("Flyte's documents are reached by s3://: write plugins.kubernetes.outputs: "
                      "s3://BUCKET/PREFIX", self.failures()[0][4])


class ShareTest(Cases, FlytePodsTest):
    def seen(self, file):
        self.assertTrue(os.path.exists(file.removeprefix("file://")), file)

    def test_no_place_at_all(self):
        self.settle(share=None)
        self.run_flow("tells", status=1)
        self.assertIn("its pod cannot reach Flyte's documents: write plugins.kubernetes.outputs: "
                      "s3://BUCKET/PREFIX into the settings, or keep the store (",
                      self.failures()[0][4])


class FastTest(FlytePodsTest):
    """The code of a fast package lies in the store, which pods find on the share."""
    fast = ("--fast",)

    def test_its_code_is_read_from_the_share(self):
        (self.folder / "source/flows.py").write_text("raise ImportError('the code of the image')")
        self.assertEqual(self.run_flow("squares", "-i", "size=2")["outputs"], {"o0": 1})

    def test_it_is_told_where_nobody_reaches_it(self):
        self.settle(share=None, outputs="s3://results/runs")
        self.run_flow("tells", status=1)
        self.assertRegex(self.failures()[0][4], "its code is that of a fast package and lies in "
                         r"the store \(.*\): keep the store below plugins.kubernetes.share")


TRAIN = """
spec = task("t.train", "1", {"a": INTEGER}, args=["train", "{{.input}}", "{{.outputPrefix}}"])
spec.template.type = "pytorch"
spec.template.container.image = "train:1"
spec.template.custom.update({"workers": 2})
spec.template.interface.ClearField("outputs")
again(spec)
write()
"""


RAW = """
spec = task("t.raw", "1", {"a": INTEGER}, args=["cat", "/in/a"])
spec.template.container.data_config.enabled = True
spec.template.container.data_config.input_path = "/in"
again(spec)
write()
"""

LONG = """
task("t.long", "1", {"a": STRING}, args=["cat", "{{.input}}"])
write()
"""


class WrittenTest(KubernetesTest):
    """Packages that Flyte's own library writes, without flytekit."""

    def setUp(self):
        super().setUp()
        have_library(PYTHON, "flyteidl")
        self.objects = ObjectStore(key=None)
        self.addCleanup(self.objects.stop)
        self.settle(image=None, share=None, outputs=f"s3://{BUCKET}/runs", keep={"succeeded": "1h"},
                    object_store={"endpoint": self.objects.endpoint})

    def package(self, script):
        self.write("package.py", (ROOT / "tests/support/flyte_package.py").read_text() + script)
        subprocess.run([PYTHON, "package.py"], cwd=self.folder, check=True)

    def test_folders_of_data_are_refused(self):
        self.package(RAW)
        self.document("run", "flows.tgz", "t.raw", "-i", "a=1", status=1)
        self.assertEqual(self.failures()[0][3:], (
            "BadTaskSpecification",
            "its container has folders of data, which are filled on the engine's machine alone: "
            "let it run there, or read its inputs by itself"))

    def test_more_inputs_than_are_put(self):
        self.package(LONG)
        self.write("inputs.json", json.dumps({"a": "x" * (600 << 10)}))
        self.document("run", "flows.tgz", "t.long", "--inputs", "inputs.json", status=1)
        self.assertEqual(self.failures()[0][3], "InputSizeExceeded")
        self.assertEqual(self.objects.objects(), {})

    def test_a_plugins_task_goes_where_its_own_type_is_sent(self):
        self.package(TRAIN)
        settings = self.store / "settings.yaml"
        settings.write_text(settings.read_text().replace('"process"', '"pytorch"'))
        self.double.control("kinds", kind=KINDS["pytorch"])
        self.double.control("operator", kind="pytorchjobs", steps=ENDS["pytorch"][0])
        self.document("run", "flows.tgz", "t.train", "-i", "a=1")
        job, = self.double.ask("GET", "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
                               ).document["items"]
        worker = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
        self.assertEqual(worker["image"], "train:1")
        name, = self.objects.objects()
        place = f"s3://{name.removesuffix('/inputs.pb')}"
        self.assertEqual(worker["command"], ["train", f"{place}/inputs.pb", place])


if __name__ == "__main__":
    unittest.main()
