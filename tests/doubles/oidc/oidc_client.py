"""A plain client of the double, for tests: starts it, has tokens made, turns its switches."""

import json
import pathlib
import subprocess
import urllib.request

FOLDER = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"  # Debian's, which has python3-aiohttp and python3-cryptography
LIMIT_S = 60


class Provider:
    """A double of one's own, which ends with `stop` or with this process."""

    def __init__(self, *options):
        words = [PYTHON, str(FOLDER), "--until-stdin-closes", *options]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the double did not start: {' '.join(words)}")
        addresses = json.loads(line)
        self.issuer, self.address = addresses["issuer"], addresses["control"]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(LIMIT_S)
        self.process.stdout.close()

    def control(self, name, wish=None):
        data = None if wish is None else json.dumps(wish).encode()
        request = urllib.request.Request(f"{self.address}/control/{name}", data,
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return json.load(answer)

    def token(self, sub="ada", **wish):
        return self.control("mint", {"sub": sub, **wish})["token"]

    def faults(self, **switches):
        self.control("faults", switches)

    def rotate(self, **wish):
        self.control("rotate", wish)

    def counters(self):
        return self.control("counters")
