#!/usr/bin/env python3
"""Libraries that are opened when they are needed: who needs one that is not there is told so, and
nobody else."""

import base64
import hashlib
import json
import pathlib
import re
import signal
import subprocess
import unittest
import urllib.request

from program import LIMIT_S, PROGRAM, ProgramTest, wait_until

FLOW = """
troupe: 1
tasks: {show: {inputs: {f: file}, run: [cat, "{{.inputs.f}}"]}}
workflows: {main: {inputs: {f: file}, nodes: {show: {task: show, with: {f: $f}}}}}
"""

CURL, PQ, ZSTD, ARCHIVE = OTHERS = (
    "libcurl.so.4", "libpq.so.5", "libzstd.so.1", "libarchive.so.13")
NGHTTP2, MICROHTTPD, SSL = HTTP = ("libnghttp2.so.14", "libmicrohttpd.so.12", "libssl.so.3")
CRYPTO = "libcrypto.so.3"
LIBRARIES = (*OTHERS, *HTTP, CRYPTO)


class LibrariesTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)
        self.libraries = self.folder / "libraries"
        self.libraries.mkdir()

    def environment(self):
        return super().environment() | {"LD_LIBRARY_PATH": str(self.libraries)}

    def hide(self, *names):
        for name in names:
            self.write(f"libraries/{name}", "no library")

    def test_without_libcurl(self):
        self.hide(CURL)
        self.start("run", "flow.yaml", "-q", "-i", "f=http://127.0.0.1:1/x", "--name", "it")
        words = ("http is not available: libcurl.so.4 is not there, or too old; install the "
                 "package libcurl4")
        wait_until(lambda: words in self.explained(), "it says what is not there")

    def explained(self):
        done = subprocess.run([PROGRAM, "explain", "it"], cwd=self.folder, text=True,
                              env=self.environment(), capture_output=True, timeout=LIMIT_S)
        return done.stdout  # nothing until there is an execution

    def test_without_libpq(self):
        self.hide(PQ)
        self.assertIn("PostgreSQL's library libpq.so.5 is not there, or older than version 14: "
                      "install the package libpq5",
                      self.troupe("list", "--store", "postgresql://nowhere/x", status=4)[1])

    def test_without_libzstd(self):
        self.hide(ZSTD)
        self.assertIn("the library libzstd.so.1, by which a store in PostgreSQL compresses its "
                      "log, is not there: install the package libzstd1",
                      self.troupe("list", "--store", "postgresql://nowhere/x", status=4)[1])

    def test_without_libarchive(self):
        self.hide(ARCHIVE)
        self.write("flows.tgz", "")
        self.assertIn("flows.tgz: the archive cannot be read: libarchive.so.13 is not there, or "
                      "too old; install the package libarchive13",
                      self.troupe("run", "flows.tgz", "main", status=2)[1])

    def test_without_those_of_http(self):
        for name, package in ((NGHTTP2, "libnghttp2-14"), (MICROHTTPD, "libmicrohttpd12"),
                              (SSL, "libssl3")):
            with self.subTest(name):
                self.hide(name)
                words = ("serve", "--http", "0") + (("--tls", "a,b") if name == SSL else ())
                self.assertIn(f"Flyte's clients cannot be answered: {name} is not there, or too "
                              f"old; install the package {package}",
                              self.troupe(*words, status=4)[1])
                (self.libraries / name).unlink()

    def test_uploads_without_libcrypto(self):
        """It takes another digest for them."""
        self.hide(CRYPTO)
        serving = self.start("serve", "--http", "0")
        serving.wait_for("answers")
        address = re.search("clients at (.*)", "\n".join(serving.lines["stderr"]))[1]
        for number, (said, sent, status) in enumerate(((b"it", b"it", 200), (b"it", b"no", 400))):
            with self.subTest(sent):
                asked = urllib.request.Request(
                    f"http://{address}/api/v1/dataproxy/artifact_urn", method="POST",
                    data=json.dumps({
                        "project": "p", "domain": "d", "filename": f"f{number}", "content_md5":
                        base64.b64encode(hashlib.md5(said).digest()).decode()}).encode())
                with urllib.request.urlopen(asked) as answer:
                    url = json.load(answer)["signed_url"]
                done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}",
                                       "-X", "PUT", "--data-binary", "@-", url], input=sent,
                                      capture_output=True, check=True, timeout=LIMIT_S)
                self.assertEqual(int(done.stdout), status)
        serving.signal(signal.SIGTERM)
        self.assertEqual(serving.end()[0], 0)

    def test_a_service_without_a_port_has_none_of_it(self):
        """No library, no thread; with a port there are both, and what HTTP/1.1 needs is loaded
        when the first client of it comes."""
        for words, is_there in (((), False), (("--http", "0"), True)):
            with self.subTest(words):
                serving = self.start("serve", *words)
                serving.wait_for("answers" if is_there else "serves")
                pid = serving.process.pid
                maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
                names = [(thread / "comm").read_text().strip()
                         for thread in pathlib.Path(f"/proc/{pid}/task").iterdir()]
                self.assertEqual(NGHTTP2 in maps, is_there)
                for name in (MICROHTTPD, "libgnutls", "libp11-kit"):
                    self.assertNotIn(name, maps)
                self.assertEqual("troupe-door" in names, is_there)
                if is_there:
                    text = "\n".join(serving.lines["stderr"])
                    address = re.search("clients at (.*)", text)[1]
                    urllib.request.urlopen(f"http://{address}/healthcheck").close()
                    self.assertIn(MICROHTTPD, pathlib.Path(f"/proc/{pid}/maps").read_text())
                serving.signal(signal.SIGTERM)
                self.assertEqual(serving.end()[0], 0)

    def test_who_needs_none_is_not_told(self):
        self.hide(*LIBRARIES)
        self.write("f.txt", "text\n")
        self.troupe("run", "flow.yaml", "-q", "-i", "f=f.txt")
        self.assertEqual(len(self.document("list")), 1)

    def test_none_is_linked(self):
        """Every start would load it, and what it brings along."""
        lines = subprocess.run(["ldd", PROGRAM], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        linked = {line.split()[0] for line in lines}
        self.assertIn("libsqlite3.so.0", linked)
        self.assertEqual(linked & {*LIBRARIES, "libxml2.so.2", "libz.so.1"}, set())


if __name__ == "__main__":
    unittest.main()
