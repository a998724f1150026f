#!/usr/bin/env python3
"""Several hosts that work beside each other, as those see them who ask: where executions live, what
is kept once for all hosts, and hosts that nobody sees any more."""

import json
import os
import pathlib
import signal
import time
import unittest
import urllib.request

from program import LIMIT_S, free_port, wait_until
from test_hosts_beside import BesideTest

PATIENT = """
troupe: 1
tasks:
  long: {run: [sh, -c, 'if mkdir FIRST 2>/dev/null; then sleep 600; fi']}
workflows: {main: {nodes: {long: {task: long}}}}
"""


class LooksTest(BesideTest):
    def listed(self, *words, store="a"):
        return self.document("list", *words, "--store", self.folders[store])

    def test_executions_are_shown_with_their_hosts(self):
        self.serve_beside("a", "b")
        executions = self.submit_many("gate", 12, "a", "b")
        self.wait_for_all(executions, "running")
        hosts = {row["execution"]: row["host"] for row in self.listed()}
        self.assertEqual(set(hosts), set(executions))
        self.assertEqual(set(hosts.values()), {"a", "b"})
        for name in ("a", "b"):
            here = {execution for execution in executions if hosts[execution] == name}
            self.assertEqual({row["execution"] for row in self.listed("--host", name)}, here)
            shown, _ = self.troupe("list", "--host", name, "-o", "wide", "--limit", "1",
                                   "--store", self.folders["b"])
            self.assertIn(f"  {name}  ", shown.splitlines()[1])
            self.assertEqual(len(shown.splitlines()), 2)
            page = self.listed("--host", name, "--offset", "1", "--limit", "1", store="b")
            self.assertEqual(len(page), 1)
            gates, _ = self.troupe("list", "--waiting", "--host", name, "-o", "json",
                                   "--store", self.folders["a"])
            self.assertEqual({gate["execution"] for gate in json.loads(gates)}, here)
        first = executions[0]
        self.assertEqual(self.document("get", first, "--store", self.folders["b"])["host"],
                         hosts[first])
        shown, _ = self.troupe("get", first, "--store", self.folders["a"])
        self.assertRegex(shown, rf"\n  host +{hosts[first]}\n")
        self.troupe("abort", first, "--yes", "--store", self.folders["a"])
        self.wait_for_all([first], "aborted")
        self.assertIsNone(self.document("get", first, "--store", self.folders["a"])["host"])
        _, stderr = self.troupe("list", "--host", "c", "--store", self.folders["a"], status=2)
        self.assertIn("--host: the store has no host called c; `troupe hosts` shows them", stderr)

    def test_the_http_api_filters_by_host(self):
        port = free_port()
        self.serve("a")
        self.served["a"].wait_for("serves")
        self.served["b"] = self.start("serve", "--store", self.host(
            "b", host_address=self.addresses["b"], lease="6s"), "--http", str(port))
        self.served["b"].wait_for("serves")
        self.wait_for_shares("a", "b")
        executions = self.submit_many("gate", 8, "a", "b")
        self.wait_for_all(executions, "running")
        url = f"http://127.0.0.1:{port}/api/troupe/v1/executions?host=a"
        with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
            shown = json.load(answer)
        self.assertEqual({row["host"] for row in shown}, {"a"})
        self.assertEqual(shown, [row for row in self.listed() if row["host"] == "a"])


class KeepingTest(BesideTest):
    def test_a_retention_is_kept_once(self):
        self.serve_beside("a", "b")
        executions = self.submit_many("short", 12, "a", "b")
        self.wait_for_all(executions)
        ran = {name: self.attempts_of(name) for name in ("a", "b")}
        self.assertTrue(ran["a"] and ran["b"])
        for name in ("a", "b"):
            self.served[name].signal(signal.SIGTERM)
            self.assertEqual(self.served[name].end()[0], 0)
        self.run_sql("UPDATE troupe.record_execution SET ended_ms = ended_ms - 7200000")
        self.make_older("a", "b")
        self.serve("a", retention={"executions": "1h"})
        self.served["a"].wait_for("forgot 12 executions")
        self.assertEqual(self.attempts_of("a"), set())
        self.serve("b", retention={"executions": "1h"})
        wait_until(lambda: self.attempts_of("b") == set(), "b has removed what a has forgotten")
        self.assertEqual(self.document("list", "--store", self.folders["b"]), [])
        self.assertNotIn("forgot 12", "\n".join(self.served["b"].lines["stderr"]))

    def make_older(self, *names):
        before = time.time() - 7200
        for name in names:
            for path in pathlib.Path(self.folders[name] / "attempts").rglob("*"):
                os.utime(path, (before, before), follow_symlinks=False)


class ForgettingTest(BesideTest):
    def test_one_that_is_forgotten_while_all_are_down(self):
        self.write("patient.yaml", PATIENT.replace("FIRST", str(self.folder / "first")))
        self.serve("a", process_lease="24h")
        self.served["a"].wait_for("serves")
        self.troupe("submit", "patient.yaml", "main", "--name", "patient", "--store",
                    self.folders["a"])
        wait_until((self.folder / "first").exists, "it has begun")
        self.serve("b", process_lease="24h")
        self.served["b"].wait_for("serves")
        self.served["a"].signal(signal.SIGKILL)
        wait_until(lambda: self.owned("b").get("a") == 0, "b has all")
        wait_until(lambda: "or after troupe hosts forget a" in self.troupe(
            "explain", "patient", "--store", self.folders["b"])[0], "it waits for a")
        self.served["b"].signal(signal.SIGKILL)
        self.served["b"].process.wait(LIMIT_S)
        self.troupe("hosts", "forget", "a", "--store", self.folders["b"])
        self.serve("b", process_lease="24h")
        self.wait_for_all(["patient"])


if __name__ == "__main__":
    unittest.main()
