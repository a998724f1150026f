"""The double of docker for tests: a daemon, and a `docker` in a folder for the PATH."""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Docker:
    def __init__(self, folder, *options):
        self.folder = pathlib.Path(folder)
        self.bin = self.folder / "docker-bin"
        self.bin.mkdir(exist_ok=True)
        self.socket = self.folder / "docker.sock"
        self.host = f"unix://{self.socket}"
        client = self.bin / "docker"
        client.write_text(f"#!/bin/sh\nexec {sys.executable} {HERE} \"$@\"\n")
        client.chmod(0o755)
        self.daemon = subprocess.Popen([sys.executable, HERE, "serve", self.socket, *options],
                                       stdout=subprocess.PIPE, text=True, start_new_session=True)
        if self.daemon.stdout.readline() != "ready\n":
            raise AssertionError("the daemon does not begin")

    def run(self, *words, **options):
        """A command of the client: (status, stdout, stderr)."""
        done = subprocess.run([self.bin / "docker", *words], text=True, capture_output=True,
                              env={**os.environ, "DOCKER_HOST": self.host}, **options)
        return done.returncode, done.stdout, done.stderr

    def listed(self):
        return json.loads(self.run("ps")[1])

    def containers(self):
        return self.listed()["containers"]

    def stop(self):
        """Ends it with all its containers; twice is as good as once."""
        self.daemon.terminate()
        self.daemon.wait()
        self.daemon.stdout.close()
