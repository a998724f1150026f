#!/usr/bin/env python3
"""The calls that flytectl makes, by grpc-go: each ends with the code that it expects, and what is
read has the same answer as by gRPC's library in Python. A flytectl on the path is asked itself.
"""

import base64
import hashlib
import shutil
import subprocess
import unittest
import urllib.request

from flyte_calls import CHANGES, ENDS, READS, run_id
from flyte_clients import ClientTest
from go_client import Client, build
from program import wait_until
from test_api_executions import DECIDES, FLOWS, bare

FLYTECTL = shutil.which("flytectl")
CONTENT = b"what a package holds"


class GoTest(ClientTest):
    def setUp(self):
        super().setUp()
        build()
        self.write("decide.py", DECIDES)
        self.package(FLOWS.replace("@DECIDE@", str(self.folder / "decide.py")))
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()
        self.client = Client(self.address)
        self.addCleanup(self.client.stop)
        names = {name for name, *_ in CHANGES + READS + ENDS} | {"CreateUploadLocation"}
        self.types = self.ask("types", methods=sorted(names))

    def go(self, method, request):
        return self.client.call(method, self.types[method], request)

    def test_what_flytectl_calls(self):
        for method, request, code in CHANGES:
            found = self.go(method, request)
            self.assertEqual(found["code"], code, (method, request, found))
            if method == "CreateExecution" and code == "OK":
                wait_until(lambda: self.is_settled(request["name"]), "it ends or waits")
        self.check_upload()
        expected = self.ask("answers", calls=READS)
        for (method, request), answer in zip(READS, expected):
            found = self.go(method, request)
            self.assertEqual((found["code"], found["words"]), ("OK", ""), (method, request))
            self.assertEqual(bare(found["response"]), bare(answer), (method, request))
        for method, request in ENDS:
            self.assertEqual(self.go(method, request)["code"], "OK", method)
            self.assertEqual(self.go(method.replace("Delete", "Get"), request)["code"],
                             "NotFound", method)

    def is_settled(self, name):
        phase = self.go("GetExecution", run_id(name))["response"]["closure"]["phase"]
        return phase == "SUCCEEDED" or name == "gates" and phase == "RUNNING"

    def check_upload(self):
        """flytectl does not send back the headers that it is told."""
        digest = hashlib.md5(CONTENT).digest()
        found = self.go("CreateUploadLocation", {
            "project": "default", "domain": "development", "filename": "package.tgz",
            "content_md5": base64.b64encode(digest).decode()})
        url = found["response"]["signed_url"]
        with urllib.request.urlopen(urllib.request.Request(url, CONTENT, method="PUT")) as answer:
            self.assertEqual(answer.status, 200)
        with open(found["response"]["native_url"], "rb") as file:
            self.assertEqual(file.read(), CONTENT)

    @unittest.skipUnless(FLYTECTL, "there is no flytectl on the path")
    def test_flytectl(self):
        self.write("config.yaml",
                   f"admin: {{endpoint: 'dns:///{self.address}', insecure: true}}\n")
        self.ask("run", plan="flows.twice", name="first")
        for words in (("get", "execution", "first", "--details"), ("get", "workflow"),
                      ("get", "launchplan"), ("get", "project")):
            done = subprocess.run([FLYTECTL, "--config", "config.yaml", "-p", "default", "-d",
                                   "development", *words], cwd=self.folder, text=True,
                                  capture_output=True)
            self.assertEqual(done.returncode, 0, (words, done.stderr))


if __name__ == "__main__":
    unittest.main()
