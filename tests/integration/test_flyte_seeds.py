#!/usr/bin/env python3
"""The workflow that everybody begins with: a list, a map over its elements, their sum.

With elements that are a plugin's, which keeps a typed state of each: 10 and 1,000, and with
TROUPE_TEST_LONG 100,000. As flytekit writes it (examples/flyte/map_reduce.py), by its own tasks:
with TROUPE_TEST_LONG all three; so many take 20 minutes of both of two cores, and an hour beside
other work.
"""

import collections
import http.server
import json
import os
import shutil
import subprocess
import threading
import unittest

from program import PROGRAM, ROOT, ProgramTest
from pypi import KIT, KIT_PYTHON, have_library
from test_flyte_packages import PackageTest

LONG = os.environ.get("TROUPE_TEST_LONG")
PLUGINS = PROGRAM.parent / "examples/plugins"

# The elements ask a server until it says yes; each gives how often it has asked.
ASKING = """
LIST = types_pb2.LiteralType(collection_type=INTEGER)
task("f.to_list", "list(range(i['size']))", {"size": INTEGER}, output=LIST)
task("f.reduce", "[len(i['xs']), sum(i['xs'])]", {"xs": LIST}, output=LIST)
spec = task("f.up", "", {"a": INTEGER})
spec.template.type = "wait-for"
spec.template.ClearField("container")
spec.template.interface.outputs.CopyFrom(variables({"tries": INTEGER}))
spec.template.custom.update({"url": "http://127.0.0.1:@PORT@/{{.inputs.a}}", "every_ms": 1})
again(spec)
workflow("f.flow", {"size": INTEGER}, [
    node("n0", "f.to_list", size=promise("", "size")),
    array("n1", "f.up", a=promise("n0")),
    node("n2", "f.reduce", xs=promise("n1", "tries"))], {"o0": promise("n2")}, types={"o0": LIST})
"""


def run_long(test, *words):
    """What it gives, however long it takes."""
    done = subprocess.run([PROGRAM, "run", "flows.tgz", *words, "-q", "-o", "json"],
                          cwd=test.folder, env=test.environment(), text=True, capture_output=True)
    test.assertEqual(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)["outputs"]


class Server(http.server.ThreadingHTTPServer):
    """Refuses each path as often as its number says, and then does not."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked = collections.Counter()
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()


def refusals(number):
    return number % 3


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with self.server.lock:
            self.server.asked[self.path] += 1
            times = self.server.asked[self.path]
        self.send_response(503 if times <= refusals(int(self.path[1:])) else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class PluginsElementsTest(PackageTest):
    def run_of(self, size):
        server = Server()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.store.mkdir(exist_ok=True)
        (self.store / "settings.yaml").write_text(
            f"plugins:\n  wait: {{path: {PLUGINS}/wait.so}}\n")
        self.package(ASKING.replace("@PORT@", str(server.server_port)))
        count, tries = run_long(self, "f.flow", "-i", f"size={size}")["o0"]
        self.assertEqual(count, size)
        self.assertEqual(server.asked, {f"/{i}": 1 + refusals(i) for i in range(size)})
        if size <= 1000:
            self.assertEqual(tries, sum(server.asked.values()))
        else:  # of so many at once the server turns some away, which then ask once more
            self.assertGreaterEqual(tries, sum(server.asked.values()))

    def test_ten(self):
        self.run_of(10)

    def test_a_thousand(self):
        self.run_of(1000)

    @unittest.skipUnless(LONG, "takes minutes")
    def test_a_hundred_thousand(self):
        self.run_of(100000)


@unittest.skipUnless(LONG, "needs flytekit, which is large")
class FlytekitsElementsTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        have_library(KIT_PYTHON, KIT)

    def environment(self):
        environment = super().environment()
        environment["PATH"] = f"{KIT_PYTHON.parent}:{environment['PATH']}"
        environment["VIRTUAL_ENV"] = str(KIT_PYTHON.parent.parent)
        return environment

    def run_of(self, size):
        shutil.copy(ROOT / "examples/flyte/map_reduce.py", self.folder)
        subprocess.run(
            [KIT_PYTHON.parent / "pyflyte", "--pkgs", "map_reduce", "package", "--image", "none:1",
             "--source", ".", "-o", "flows.tgz", "-f", "--fast"],
            cwd=self.folder, env=self.environment(), check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(run_long(self, "map_reduce", "-i", f"size={size}"),
                         {"o0": sum(i * i for i in range(size))})

    def test_ten(self):
        self.run_of(10)

    def test_a_thousand(self):
        self.run_of(1000)

    def test_a_hundred_thousand(self):
        self.run_of(100000)


if __name__ == "__main__":
    unittest.main()
