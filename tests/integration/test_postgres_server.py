#!/usr/bin/env python3
"""The server that other tests use: it is there, asks for passwords, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import unittest

import postgres
from program import LIMIT_S, ROOT, wait_until


class ServerTest(postgres.PostgresTest):
    def test_a_database_of_its_own(self):
        self.run_sql("CREATE TABLE t(a int, b text); INSERT INTO t VALUES(1, 'x|y'), (2, 'z')")
        self.assertEqual(self.run_sql("SELECT * FROM t ORDER BY a"), [("1", "x|y"), ("2", "z")])
        with self.assertRaisesRegex(AssertionError, 'relation "t" does not exist'):
            self.server.run("SELECT * FROM t", self.server.locator(
                database=self.server.make_database()))

    def test_the_port_asks_for_a_password(self):
        self.run_sql("CREATE ROLE guest LOGIN PASSWORD 'right'")
        self.assertEqual(self.server.run("SELECT current_user",
                                         self.locator("guest", password="right")), [("guest",)])
        with self.assertRaisesRegex(AssertionError, "password authentication failed"):
            self.server.run("SELECT 1", self.locator("guest", password="wrong"))

    def test_what_is_committed_outlives_a_crash(self):
        self.run_sql("CREATE TABLE kept(a int)")
        self.server.restart(is_crash=True)
        self.assertEqual(self.run_sql("SELECT count(*) FROM kept"), [("0",)])


class EndTest(unittest.TestCase):
    def test_a_killed_test_leaves_no_server(self):
        script = ("import sys, time, postgres\nserver = postgres.Server()\n"
                  "print(server.folder, server.process.pid, flush=True)\ntime.sleep(600)")
        child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                                 cwd=ROOT / "tests/integration")
        folder, pid = child.stdout.readline().split()
        self.assertTrue(os.path.exists(f"{folder}/data"))
        child.send_signal(signal.SIGKILL)
        child.wait(LIMIT_S)
        child.stdout.close()
        wait_until(lambda: not os.path.exists(folder), "its folder is gone")
        # A zombie of a killed parent is init's to reap.
        wait_until(lambda: not os.path.exists(f"/proc/{pid}") or " Z " in
                   open(f"/proc/{pid}/stat").read(), "the server has ended")


if __name__ == "__main__":
    unittest.main()
