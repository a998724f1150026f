#!/usr/bin/env python3
"""The page about tokens: all of it is typed, and its provider is tests/doubles/oidc/."""

import re
import shlex
import signal
import subprocess
import sys
import unittest

from pages import PageTest, parts
from program import LIMIT_S, ROOT, free_port
from pypi import KIT, KIT_PYTHON, have_library

sys.path.insert(0, str(ROOT / "tests/doubles/oidc"))

from oidc_client import Provider  # noqa: E402: it lies elsewhere

PAGE = ROOT / "examples/flyte/TOKENS.md"
# What is typed elsewhere, or beside something else.
BLOCK = re.compile(r"^```sh (?:second|device|approve)\n(.*?)^```\n", re.M | re.S)


class TokensPageTest(PageTest):
    @classmethod
    def setUpClass(cls):
        have_library(KIT_PYTHON, KIT)

    def environment(self):
        environment = super().environment()
        return environment | {"PATH": f"{KIT_PYTHON.parent}:{environment['PATH']}",
                              "VIRTUAL_ENV": str(KIT_PYTHON.parent.parent)}

    def serve(self, words):
        serving = self.start(*shlex.split(words)[1:])
        serving.wait_for("insecure: ")
        return serving

    def end(self, serving):
        serving.signal(signal.SIGTERM)
        self.assertEqual(serving.end()[0], 0)

    def test_all_of_it(self):
        text = PAGE.read_text().replace("30080", str(free_port()))
        text, provider = text.split("## A provider\n")
        before, serve, secret, device, told, approve, behind = BLOCK.split(text)
        self.assertEqual(self.read(before), 1)
        serving = self.serve(serve)
        self.assertEqual(self.read(secret), 2)
        asking = subprocess.Popen(["bash", "-c", device], cwd=self.folder, text=True,
                                  env=self.environment() | {"PYTHONUNBUFFERED": "1"},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        self.addCleanup(asking.stdout.close)
        self.addCleanup(asking.kill)
        code = self.code_of(asking)
        self.assertEqual(self.read(told), 0)
        says, behind = behind.split("\nIt runs", 1)
        [printed] = [part.text for part in parts(says)]
        self.assertEqual(self.type(approve.replace("CODE", code)), printed)
        shown, _ = asking.communicate(timeout=6 * LIMIT_S)
        self.assertEqual(asking.returncode, 0, shown)
        self.assertEqual(self.read(behind), 1)
        self.end(serving)
        self.check_provider(serve, provider)

    def code_of(self, asking):
        shown = ""
        for line in asking.stdout:
            shown += line
            if found := re.search(r"user_code=([A-Z-]+)", line):
                return found[1]
        self.fail(shown)

    def check_provider(self, serve, text):
        """Its settings, with the provider that there is; and each of its roles."""
        provider = Provider()
        self.addCleanup(provider.stop)
        self.read(text.replace("https://id.example.org/realms/flyte", provider.issuer))
        serving = self.serve(serve)
        port = shlex.split(serve)[-1]
        task = """-d '{"id": {"project": "flytesnacks"}}' -H content-type:application/json"""
        for groups, create in ((["data"], 400), ([], 403)):
            token = provider.token("ada", claims={"groups": groups})
            for path, words, status in (("executions/flytesnacks/development", "", 200),
                                        ("tasks", task, create)):
                found = self.type(
                    f"curl -s -o answer -w '%{{http_code}}' {words} -H 'authorization: Bearer "
                    f"{token}' 127.0.0.1:{port}/api/v1/{path}")
                self.assertEqual(found, str(status), (self.folder / "answer").read_text())
        self.end(serving)


if __name__ == "__main__":
    unittest.main()
