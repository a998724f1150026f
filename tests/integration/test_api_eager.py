#!/usr/bin/env python3
"""Tasks that call back: eager ones of the unmodified flytekit, which begin executions of their own
at the engine that runs them, whose address they are told.
"""

import subprocess
import unittest

from program import LIMIT_S, free_port
from test_api import ServedTest
from test_flyte import KIT, KIT_PYTHON, have_library
from test_flyte_packages import PackageTest

FLOWS = """
import os
from flytekit import eager, task

@task
def double(a: int) -> int:
    if a > 100:
        raise ValueError('that is too much')
    return 2 * a

@eager
async def main(a: int) -> int:
    return double(a=double(a=a))

@task
def told() -> str:
    names = ['FLYTE_PLATFORM_URL', 'FLYTE_PLATFORM_INSECURE']
    return ' '.join(os.environ.get(name, '') for name in names)
"""


class EagerTest(ServedTest, PackageTest):
    """As people run them, with nothing else in their environment."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        have_library(KIT_PYTHON, KIT)

    def environment(self):
        environment = {**super().environment()}
        environment["PATH"] = f"{KIT_PYTHON.parent}:{environment['PATH']}"
        return environment

    def run_remote(self, *words, status=0):
        done = subprocess.run(
            [KIT_PYTHON.parent / "pyflyte", "-c", "../config.yaml", "run", "--remote", "--wait",
             "--poll-interval", "1", "-p", "flytesnacks", "-d", "development", "flows.py", *words],
            cwd=self.folder / "project", env=self.environment(), capture_output=True, text=True,
            timeout=6 * LIMIT_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def serve_project(self, port):
        self.serve("--http", port)
        self.troupe("config", "flyte", "--file", "config.yaml", "--force")
        (self.folder / "project").mkdir(exist_ok=True)
        self.write("project/flows.py", FLOWS)

    def test_an_eager_task_begins_executions(self):
        port = free_port()
        self.serve_project(port)
        self.assertIn("has succeeded", self.run_remote("main", "--a", "3"))
        listed = self.document("list")
        self.assertEqual(sorted((each["workflow"], each["phase"]) for each in listed),
                         2 * [("flows.double", "succeeded")] + [("flows.main", "succeeded")])
        first, = [each["execution"] for each in listed if each["workflow"] == "flows.main"]
        self.assertEqual(self.document("get", first)["outputs"], {"o0": 12})
        self.run_remote("told")
        self.assertEqual(self.document("get", "@last")["outputs"],
                         {"o0": f"127.0.0.1:{port} true"})

    def test_what_it_began_and_failed_fails_it(self):
        self.serve_project(free_port())
        self.assertIn("that is too much", self.run_remote("main", "--a", "99", status=255))
        phases = sorted((each["workflow"], each["phase"]) for each in self.document("list"))
        self.assertEqual(phases, [("flows.double", "failed"), ("flows.double", "succeeded"),
                                  ("flows.main", "failed")])

    def test_a_port_that_is_drawn_is_not_told(self):
        self.serve_project("0")
        self.run_remote("told")
        self.assertEqual(self.document("get", "@last")["outputs"], {"o0": " "})


if __name__ == "__main__":
    unittest.main()
