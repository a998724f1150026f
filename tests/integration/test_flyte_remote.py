#!/usr/bin/env python3
"""The workflows of flyte/flows/, registered by `pyflyte` and begun by FlyteRemote: what it reads is
what flytekit's own local execution gives. By default a handful, with TROUPE_TEST_LONG all.
"""

import json
import os
import random
import re
import subprocess
import unittest

from test_flyte_flows import KitFlows

LONG = os.environ.get("TROUPE_TEST_LONG")
FEW = 4


class RemoteTest(KitFlows):
    maxDiff = None

    def serve(self):
        self.serving = self.start("serve", "--http", "0")
        self.serving.wait_for("insecure: ")
        text = "\n".join(self.serving.lines["stderr"])
        return re.search("clients at (.*)", text)[1]

    def register(self, address):
        """What others are referred to comes first."""
        self.write("config.yaml", f"admin: {{endpoint: 'dns:///{address}', insecure: true}}\n")
        for package in ("others", "flows"):
            done = subprocess.run(
                [self.python.parent / "pyflyte", "-c", "../config.yaml", "register", "-p",
                 "default", "-d", "development", "--version", "v1", "--image", "none:1", package],
                cwd=self.folder / "src", env=self.environment(), capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def by_remote(self, address, *words):
        environment = self.environment() | {"FLYTE_LOCAL_CACHE_ENABLED": "false"}
        done = subprocess.run([self.python, "by_remote.py", address, *words], env=environment,
                              cwd=self.folder / "src", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def test_they_give_the_same(self):
        address = self.serve()
        self.register(address)
        numbers = range(len(self.by_remote(address, "list")))
        self.assertGreater(len(numbers), 120)
        chosen = numbers if LONG else random.Random(19).sample(numbers, FEW)
        self.assertEqual(self.by_remote(address, "run", *map(str, chosen)), [])


if __name__ == "__main__":
    unittest.main()
