#!/usr/bin/env python3
"""Many small workflows of flytekit's: what comes out is what its own local execution gives.

They are in flyte/flows/, each with what it covers, alone and together. flytekit packages all of
them once, and one engine with warm workers runs them; some of them once more, with a task that
fails for a reason outside of it, and are recovered. With TROUPE_TEST_LONG all are recovered, and an
ordinary package, cold starts, an engine that is killed meanwhile, and flytekit 1.13 are tried as
well.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from program import LIBRARIES, PROGRAM, ROOT, ProgramTest, wait_until
from pypi import KIT, KIT_PYTHON, have_library

SUPPORT = ROOT / "tests/support"
FLOWS = ROOT / "tests/integration/flyte"
LONG = os.environ.get("TROUPE_TEST_LONG")
KEYS_LEAST = {"flows": 200, "tables": 10}  # literals that are hashed
FEW = 6  # cases that fail and are recovered where not all do
OLD_PYTHON = LIBRARIES / "python-flytekit-1.13/bin/python"


class KitFlows(ProgramTest):
    """A folder `src` with the packages, and a flytekit for them."""

    python = KIT_PYTHON
    packages = [KIT]
    name = "flows"

    @classmethod
    def setUpClass(cls):
        have_library(cls.python, *cls.packages)

    def setUp(self):
        super().setUp()
        shutil.copytree(FLOWS, self.folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(SUPPORT / "flytekit_packages.py", self.folder / "src/flows/all.py")
        outside = (FLOWS / "outside.py").read_text().replace("@FOLDER@", str(self.folder))
        for package in ("flows", "others", "tables"):
            (self.folder / "src" / package / "__init__.py").write_text(outside)

    def environment(self):
        environment = super().environment()
        environment["PATH"] = f"{self.python.parent}:{environment['PATH']}"
        environment["VIRTUAL_ENV"] = str(self.python.parent.parent)
        return environment


class FlowsTest(KitFlows):
    def package(self, name, *words):
        """Starts packaging; local executions go on beside it."""
        return subprocess.Popen(
            [self.python.parent / "pyflyte", "--pkgs", name, "package", "--image", "none:1",
             "--source", ".", "-o", f"../{name}.tgz", "-f", *words],
            cwd=self.folder / "src", env=self.environment(), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

    def cases(self):
        environment = self.environment() | {"FLYTE_LOCAL_CACHE_ENABLED": "false"}
        done = subprocess.run([self.python, "-m", "flows.cases", self.name], env=environment,
                              cwd=self.folder / "src", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def begin(self, *words):
        packagings = [self.package(name, *words) for name in (self.name, "others")]
        cases = self.cases()
        for packaging in packagings:
            self.assertEqual(packaging.wait(), 0, packaging.stdout.read())
            packaging.stdout.close()
        return cases

    def submit(self, cases, *words):
        self.troupe("apply", "others.tgz", "--version", "v1", *words)
        for number, case in enumerate(cases):
            (self.folder / "inputs.json").write_text(json.dumps(case["inputs"]))
            self.troupe("submit", f"{self.name}.tgz", case["workflow"], "--inputs", "inputs.json",
                        "--name", f"c{number}", "-q", *words)

    def judge(self, cases):
        """Compares all that have ended with what was expected."""
        for number, case in enumerate(cases):
            with self.subTest(case["workflow"], inputs=case["inputs"], covers=case["covers"]):
                found = self.document("get", f"c{number}")
                if "fails" in case:
                    self.assertEqual(found["phase"], "failed")
                    self.assertIn(case["fails"], found["error"]["message"])
                    if self.python == KIT_PYTHON:  # an older one writes tracebacks otherwise
                        self.assertNotIn("-packages/flytekit/", found["error"]["message"])
                else:
                    self.assertEqual((found["phase"], found.get("error")), ("succeeded", None))
                    self.assertEqual(found["outputs"], case["outputs"])

    def wait_for_all(self, cases):
        ended = {"succeeded", "failed"}

        def have_ended():
            rows = self.document("list", "--limit", "0")
            return sum(row["phase"] in ended for row in rows) >= len(cases)

        wait_until(have_ended, "all have ended", 3600 if LONG else 900)

    def run_all(self, *words, serve=(), options=()):
        cases = self.begin(*words)
        self.start("serve", *serve).wait_for("serves")
        self.submit(cases, *options)
        self.wait_for_all(cases)
        self.judge(cases)
        self.compare_keys()
        complaints = self.store / "keeper.err"
        self.assertNotIn("without a warm worker",
                         complaints.read_text() if complaints.exists() else "")

        return cases

    def compare_keys(self):
        """Of every literal that a task was given or gave: its hash in keys of cached results."""
        if self.python != KIT_PYTHON:
            return  # an older one makes none
        done = subprocess.run(
            [self.python, SUPPORT / "flytekit_hashes.py", self.store / "attempts",
             PROGRAM.parent / "tests/flyteidl_again"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(found["differ"], [])
        self.assertGreater(found["count"], KEYS_LEAST[self.name])

    def test_all(self):
        cases = list(enumerate(self.run_all("--fast")))
        draw = random.Random(18)
        names = [name for name, _, _ in self.runs()]
        for number, case in cases if LONG else draw.sample(cases, FEW):
            count = sum(names.count(name) for name in self.places(f"c{number}"))
            with self.subTest(case["workflow"], inputs=case["inputs"], covers=case["covers"]):
                if count > 0:
                    self.fail_and_recover(case, count, f"f{number}", draw)

    @unittest.skipUnless(LONG, "takes minutes")
    def test_an_ordinary_package(self):
        self.run_all(options=["--code", "src"])

    @unittest.skipUnless(LONG, "takes minutes")
    def test_cold(self):
        self.run_all("--fast", serve=["--no-warm"])

    def kill_again_and_again(self, *serve):
        """While they run: what was begun goes on, and gives the same."""
        cases = self.begin("--fast")
        engine = self.start("serve", *serve)
        engine.wait_for("serves")
        self.submit(cases)
        draw = random.Random(18)
        for _ in range(5):
            time.sleep(draw.uniform(0.2, 2))
            engine.signal(signal.SIGKILL)
            engine.end()
            engine = self.start("serve", *serve)
            engine.wait_for("serves")
        self.wait_for_all(cases)
        self.judge(cases)

    @unittest.skipUnless(LONG, "takes a minute")
    def test_an_engine_that_is_killed(self):
        self.kill_again_and_again()

    @unittest.skipUnless(LONG, "takes minutes")
    def test_a_cold_engine_that_is_killed(self):
        self.kill_again_and_again("--no-warm")

    # ---- A failure, and what goes on behind it.

    def runs(self):
        """The tasks that have run: execution, node, and element of a map or `-`."""
        return [line.split(" ") for line in (self.folder / "runs").read_text().splitlines()]

    def places(self, name, place=""):
        """An execution and those that it has launched, by name: which nodes have launched them."""
        found = {name: place}
        for row in self.document("list", "--parent", name):
            node = row["cause"].removeprefix(f"launched by {name}/")
            found |= self.places(row["execution"], f"{place}{node}: ")
        return found

    def succeeded(self, name):
        """The tasks that have, in an execution and in those that it has launched."""
        found = set()
        for execution, place in self.places(name).items():
            for row in self.document("get", execution)["nodes"]:
                node = row["node"]
                rows = [row] if row["kind"] != "map" else self.document(
                    "get", f"{execution}/{node}").get("elements", [])
                found |= {(f"{place}{node}", str(each.get("element", "-"))) for each in rows
                          if each["phase"] == "succeeded"}
        return found

    def run_one(self, fails, name, *words):
        """Runs one while nothing else does: what it gives, and its tasks."""
        (self.folder / "runs").write_text("")
        (self.folder / "fails").write_text(str(fails))
        done = subprocess.run([PROGRAM, *words, "--name", name, "-q", "-o", "json"],
                              cwd=self.folder, env=self.environment(), capture_output=True,
                              text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        places = self.places(name)
        return json.loads(done.stdout), [(f"{places[execution]}{node}", element)
                                         for execution, node, element in self.runs()]

    def fail_and_recover(self, case, count, name, draw):
        """Which of the tasks fails is drawn; one whose failure a map bears with is not enough."""
        (self.folder / "inputs.json").write_text(json.dumps(case["inputs"]))
        for fails in draw.sample(range(1, count + 1), count):
            failed, _ = self.run_one(
                fails, f"{name}-{fails}", "submit", f"{self.name}.tgz", case["workflow"],
                "--inputs", "inputs.json", "--cache", "refresh", "--wait")
            if failed["phase"] == "failed":
                break
        self.assertEqual(failed["phase"], "failed")
        kept = {row for row in self.succeeded(failed["execution"]) if "on_failure" not in row[0]}
        done, runs = self.run_one(0, f"{name}-again", "recover", failed["execution"], "--cache",
                                  "refresh")
        self.assertEqual(kept.intersection(runs), set())
        if "fails" in case:
            self.assertEqual(done["phase"], "failed")
            self.assertIn(case["fails"], done["error"]["message"])
        else:
            self.assertGreater(len(runs), 0)
            self.assertEqual((done["phase"], done["outputs"]), ("succeeded", case["outputs"]))


class TablesTest(FlowsTest):
    """Tables and models, with the libraries that flytekit writes them by."""

    packages = [KIT, "pandas", "pyarrow", "pydantic"]
    name = "tables"


@unittest.skipUnless(LONG, "needs another flytekit, which is large")
class OlderFlytekitTest(FlowsTest):
    """The same with flytekit 1.13."""

    python = OLD_PYTHON
    packages = ["flytekit==1.13.*"]
    test_an_ordinary_package = test_cold = test_an_engine_that_is_killed = None
    test_a_cold_engine_that_is_killed = None


if __name__ == "__main__":
    unittest.main()
