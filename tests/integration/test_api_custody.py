#!/usr/bin/env python3
"""What Flyte's clients were told is kept: the engine is killed while five clients register, upload,
begin, terminate and signal, and they go on where they were. And thousands at once have each the
right answer, while one client follows all of them.

By default 10 kills and 240 executions; with TROUPE_TEST_LONG 200 and 2,000.
"""

import json
import os
import random
import signal
import subprocess
import unittest

from program import LIMIT_S, ROOT, free_port
from pypi import PYTHON, have_library
from test_api import ServedTest

CALLS = ROOT / "tests/support/grpc_custody.py"
LONG = os.environ.get("TROUPE_TEST_LONG")
KILLS = 200 if LONG else 10
CLIENTS, EACH = 8, 250 if LONG else 30
KINDS = {"register", "upload", "begin", "terminate", "signal"}


class CustodyTest(ServedTest):
    @classmethod
    def setUpClass(cls):
        have_library(PYTHON)

    def words(self, address, function, *arguments):
        return [PYTHON, "-W", "ignore", CALLS, address, function, json.dumps(arguments)]

    def call(self, address, function, *arguments):
        done = subprocess.run(self.words(address, function, *arguments), capture_output=True,
                              text=True, timeout=10 * LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def test_what_was_acknowledged_is_there_and_nothing_twice(self):
        port, draw = free_port(), random.Random(19)
        address, = self.serve("--http", port)
        self.call(address, "prepare")
        clients = subprocess.Popen(self.words(address, "go_on"), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(clients.kill)
        changes = []

        def read(line):
            if line.split()[0] in KINDS:
                kind, number, found = line.split()
                changes.append([kind, int(number), found])
            return line.split()[0] not in ("wrong", "end")
        for _ in range(KILLS):
            for _ in range(draw.randrange(1, 30)):
                self.assertTrue(read(clients.stdout.readline()), changes[-5:])
            self.serving.signal(signal.SIGKILL)
            self.serving.end()
            self.serve("--http", port)
        clients.stdin.close()
        while read(clients.stdout.readline()):
            pass
        wrong = json.loads(clients.stdout.readline())
        clients.stdout.close()
        clients.wait(LIMIT_S)
        self.assertEqual(wrong, [])
        self.assertEqual({kind for kind, _, _ in changes}, KINDS)
        path = self.write("changes.json", json.dumps(changes))
        self.assertEqual(self.call(address, "look_at", str(path)), [])
        self.check_nothing_is_twice(changes)

    def check_nothing_is_twice(self, changes):
        begun = {found for kind, _, found in changes if kind not in ("register", "upload")}
        names = [row["execution"] for row in self.document("list", "--limit", "0")]
        self.assertEqual(len(set(names)), len(names))
        self.assertLessEqual(begun, set(names))
        # Of each kind the last one may have been on its way when the clients were told to end.
        self.assertLessEqual(len(names), len(begun) + 3)

    def test_many_at_once_and_one_follows(self):
        address, = self.serve()
        count, looks, wrong = self.call(address, "many", CLIENTS, EACH)
        self.assertEqual((count, wrong), (CLIENTS * EACH, []))
        self.assertGreater(looks, 1)
        self.assertEqual(len(self.document("list", "--limit", "0")), CLIENTS * EACH)


if __name__ == "__main__":
    unittest.main()
