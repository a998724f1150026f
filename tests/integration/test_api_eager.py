#!/usr/bin/env python3
"""Tasks that call back: eager ones of the unmodified flytekit, which begin executions of their own
at the engine that runs them, whose address they are told.
"""

import hashlib
import json
import subprocess
import sys
import unittest

from program import LIMIT_S, ROOT, free_port
from pypi import KIT, KIT_PYTHON, have_library
from test_api import ServedTest
from test_flyte_packages import PackageTest

sys.path.insert(0, str(ROOT / "tests/doubles/oidc"))

from oidc_client import Provider  # noqa: E402: it lies elsewhere

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
def whom() -> list[str]:
    # What the task's own token may do, and the token, for who tries it later.
    from flytekit.configuration import Config, PlatformConfig
    from flytekit.clients.friendly import SynchronousFlyteClient
    client = SynchronousFlyteClient(PlatformConfig.auto())
    found = []
    for project in ('flytesnacks', 'other'):
        try:
            client.list_task_ids_paginated(project, 'development')
            found.append('fine')
        except Exception as error:
            found.append(str(error.__cause__ or error))
    return found + [os.environ['TROUPE_TOKEN']]

@task
def told() -> str:
    names = ['FLYTE_PLATFORM_URL', 'FLYTE_PLATFORM_INSECURE']
    return ' '.join(os.environ.get(name, '') for name in names)
"""


SECRET = "s3cret"
CLIENTS = f"""
http:
  clients:
    - id: ci
      secret_sha256: {hashlib.sha256(SECRET.encode()).hexdigest()}
      roles: [{{role: register}}]
"""


OIDC = """
http:
  oidc:
    issuer: {issuer}
    audience: flyte
    client_id: flytectl
    roles: [{{role: register}}]
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

    def serve_project(self, port, clients=""):
        self.store.mkdir(exist_ok=True)
        (self.store / "settings.yaml").write_text(clients)
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

    def test_a_task_has_a_token_as_long_as_its_execution_runs(self):
        """Where clients need tokens, eager tasks need none of their own."""
        port = free_port()
        self.serve_project(port, CLIENTS)
        with open(self.folder / "config.yaml", "a") as config:
            config.write(self.credentials())
        self.assertIn("has succeeded", self.run_remote("main", "--a", "3"))
        causes = {each["workflow"]: self.document("get", each["execution"])["cause"]
                  for each in self.document("list")}
        self.assertIn("CreateExecution by flytesnacks/development/", causes["flows.double"])
        self.assertEqual(causes["flows.main"], "CreateExecution by ci")
        self.run_remote("whom")
        own, other, token = self.document("get", "@last")["outputs"]["o0"]
        id, _ = token.rsplit(".", 1)
        self.assertEqual(own, "fine")
        self.assertIn("may not call ListTaskIds: that takes the role 'view' in other/development",
                      other)
        self.assertRegex(id, r"^flytesnacks/development/[\w-]+$")
        _, _, body = self.curl(f"127.0.0.1:{port}",
                               "/api/v1/task_ids/flytesnacks/development",
                               "-H", f"Authorization: Bearer {token}")
        self.assertEqual(json.loads(body), {"code": 16, "details": [], "message": (
            f"the execution {id} does not run any more, and its token has ended with it")})

    def test_a_provider_outside_knows_nothing_of_tasks(self):
        """Whoever runs it has a token of the provider's, and the task one of the engine's."""
        provider = Provider("--client", f"ci:{SECRET}")
        self.addCleanup(provider.stop)
        self.serve_project(free_port(), OIDC.format(issuer=provider.issuer))
        with open(self.folder / "config.yaml", "a") as config:
            config.write(self.credentials())
        self.assertIn("has succeeded", self.run_remote("main", "--a", "3"))
        self.assertEqual(provider.counters()["/token"], 1)  # of pyflyte
        causes = {each["workflow"]: self.document("get", each["execution"])["cause"]
                  for each in self.document("list")}
        self.assertIn("CreateExecution by flytesnacks/development/", causes["flows.double"])
        self.assertEqual(causes["flows.main"], "CreateExecution by ci")

    def credentials(self):
        return ("  authType: ClientSecret\n  clientId: ci\n"
                f"  clientSecretLocation: {self.write('secret', SECRET)}\n")

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
