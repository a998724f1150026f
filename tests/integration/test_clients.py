#!/usr/bin/env python3
"""More clients than descriptors: an engine closes those that are too many, says so to commands, and
goes on; when some have left, others come in."""

import re
import resource
import signal
import socket
import subprocess
import unittest

from program import PROGRAM, ProgramTest, Running

DESCRIPTORS = 200

FLOW = """
troupe: 1
tasks: {hello: {outputs: {n: int}, run: [sh, -c, 'echo "{\\"n\\": 3}" > "$TROUPE_OUTPUTS"']}}
workflows: {w: {nodes: {n: {task: hello}}, outputs: {n: $n.n}}}
"""


class ClientsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)
        self.sockets = []

    def tearDown(self):
        self.leave()
        super().tearDown()

    def leave(self):
        for client in self.sockets:
            client.close()
        self.sockets.clear()

    def serve(self, **options):
        """An engine with few descriptors."""
        process = subprocess.Popen(
            [PROGRAM, "serve"], cwd=self.folder, text=True, env=self.environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                  (DESCRIPTORS, DESCRIPTORS)), **options)
        running = Running(process)
        self.started.append(running)
        running.wait_for("serves")
        return running

    def knock(self):
        """Whether a connection is kept: then ZeroMQ greets."""
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(30)
        client.connect(str(self.store / "engine.sock"))
        try:
            is_kept = client.recv(1) != b""
        except ConnectionError:
            is_kept = False
        if is_kept:
            self.sockets.append(client)
        else:
            client.close()
        return is_kept

    def test_those_too_many_are_refused_in_words(self):
        engine = self.serve()
        while self.knock():
            self.assertLess(len(self.sockets), DESCRIPTORS)
        self.assertGreater(len(self.sockets), DESCRIPTORS // 4)
        for _ in range(3 * DESCRIPTORS):
            self.assertFalse(self.knock())
        for command in (["submit", "flow.yaml"], ["run", "flow.yaml"], ["actors"],
                        ["abort", "nobody"]):
            with self.subTest(command[0]):
                stderr = self.troupe(*command, status=4)[1]
                self.assertIn("takes no more clients", stderr)
                self.assertIn("ulimit -n", stderr)
        self.assertIsNone(engine.process.poll())
        self.leave()
        self.troupe("submit", "flow.yaml", "--wait")
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)

    def test_inherited_descriptors_count(self):
        """What its starter has left open is not there for it."""
        files = [open("/dev/null", "rb") for _ in range(100)]
        try:
            done = subprocess.run(
                [PROGRAM, "serve"], cwd=self.folder, text=True, env=self.environment(),
                capture_output=True, timeout=60, pass_fds=[file.fileno() for file in files],
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                      (DESCRIPTORS, DESCRIPTORS)))
        finally:
            for file in files:
                file.close()
        self.assertEqual(done.returncode, 4)
        self.assertTrue(re.search("beside 10[0-9] that it has inherited", done.stderr), done.stderr)


if __name__ == "__main__":
    unittest.main()
