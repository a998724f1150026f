#!/usr/bin/env python3
"""The double of docker by itself: what README.md says of it."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from docker_daemon import Docker

BEHIND = ("--workdir", "/tmp", "--mount", "type=bind,source=/tmp,target=/tmp", "--entrypoint", "sh",
          "own")


class DockerTest(unittest.TestCase):
    options = ("--image", "own", "--remote", "far")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="troupe-docker-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.docker = Docker(self.folder, *self.options)
        self.addCleanup(self.docker.stop)

    def start(self, *words):
        return subprocess.Popen([self.docker.bin / "docker", "run", *words],
                                env={**os.environ, "DOCKER_HOST": self.docker.host})

    def until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end)
            threading.Event().wait(0.005)

    def is_running(self, name):
        return any(one["name"] == name and one["is_running"] for one in self.docker.containers())

    def test_a_status_and_what_it_says(self):
        status, out, err = self.docker.run("run", "--name", "a", "--env", "A=b", *BEHIND, "-c",
                                           "echo $A $HOME; echo no >&2; exit 3")
        self.assertEqual((status, out, err), (3, "b\n", "no\n"))
        self.assertEqual(self.docker.run("run", "--name", "a", *BEHIND)[0], 125)
        self.assertEqual(self.docker.run("rm", "--force", "--volumes", "a")[0], 0)
        self.assertEqual(self.docker.run("container", "inspect", "a")[0], 1)

    def test_it_outlives_its_client(self):
        client = self.start("--name", "a", *BEHIND, "-c", "sleep 600")
        self.until(lambda: self.is_running("a"))
        client.kill()
        client.wait()
        self.assertTrue(self.is_running("a"))
        self.docker.run("rm", "--force", "a")
        self.assertEqual(self.docker.containers(), [])

    def test_signals_are_handed_on_to_an_init(self):
        client = self.start("--name", "a", "--init", *BEHIND, "-c", "sleep 600")
        self.until(lambda: self.is_running("a"))
        client.send_signal(signal.SIGTERM)
        self.assertEqual(client.wait(), 143)
        client = self.start("--name", "b", *BEHIND, "-c", "sleep 600")
        self.until(lambda: self.is_running("b"))
        self.assertEqual(self.docker.run("kill", "--signal", "TERM", "b")[0], 0)
        self.assertTrue(self.is_running("b"))
        self.docker.run("rm", "--force", "b")
        self.assertEqual(client.wait(), 137)

    def test_what_is_not_mounted_is_not_there(self):
        status, _, err = self.docker.run("run", "--name", "a", "--workdir", "/etc", "--entrypoint",
                                         "sh", "own", "-c", "true")
        self.assertEqual(status, 127)
        self.assertIn("chdir to cwd (\"/etc\") failed", err)
        form = "{{.State.OOMKilled}} {{.State.StartedAt}}"
        self.assertEqual(self.docker.run("container", "inspect", "--format", form, "a")[1],
                         "false 0001-01-01T00:00:00Z\n")

    def test_memory_is_bounded(self):
        status, _, _ = self.docker.run("run", "--name", "a", "--memory", str(64 << 20), *BEHIND,
                                       "-c", "python3 -c 'x = bytearray(400 << 20); import time; "
                                       "time.sleep(600)'")
        self.assertEqual(status, 137)
        self.assertIn("true", self.docker.run("container", "inspect", "--format",
                                              "{{.State.OOMKilled}} {{.State.StartedAt}}", "a")[1])

    def test_images(self):
        self.assertEqual(self.docker.run("image", "inspect", "own")[0], 0)
        self.assertEqual(self.docker.run("image", "inspect", "far")[0], 1)
        self.assertEqual(self.docker.run("pull", "far")[0], 0)
        self.assertEqual(self.docker.run("image", "inspect", "far")[0], 0)
        self.assertEqual(self.docker.run("pull", "nowhere")[0], 1)

    def test_what_is_unknown_is_refused(self):
        self.assertEqual(self.docker.run("run", "--privilege", "own")[0], 125)
        self.assertEqual(self.docker.run("info", "--format", "{{.Other}}")[0], 1)
        self.assertEqual(self.docker.run("dance")[0], 1)


if __name__ == "__main__":
    unittest.main()
