#!/usr/bin/env python3
"""What goes wrong around `troupe serve --http`: clocks that jump over an expiry, full disks, and
clients that vanish without a word. Each is told in words, or costs itself alone.
"""

import base64
import ctypes
import hashlib
import json
import os
import pathlib
import socket
import unittest

from clock import Clock
from flyte_clients import ClientTest
from program import LIMIT_S, wait_until
from test_api import ServedTest
from test_api_executions import FLOWS, WHERE, plan_id

HOUR_S = 3600
TCP_REPAIR = 19  # a socket that is closed so says nothing to the other end


class ExpiryTest(Clock, ClientTest):
    """The wall clock says until when tokens and URLs are good, whichever way it is set."""

    def serve_clients(self):
        self.store.mkdir()
        digits = hashlib.sha256(b"secret").hexdigest()
        (self.store / "settings.yaml").write_text(
            "http:\n  listen: ['0']\n  clients:\n"
            f"    - {{id: ci, secret_sha256: {digits}, roles: [{{role: admin}}]}}\n")
        self.address, = self.serve("--no-warm")

    def put(self, url, path):
        status, _, body = self.curl("", url, "-T", str(path))
        return status, json.loads(body)["message"] if body else ""

    def test_a_clock_that_jumps_over_an_expiry(self):
        self.serve_clients()
        path = pathlib.Path(self.write("file", "content"))
        digest = base64.b64encode(hashlib.md5(b"content").digest()).decode()
        status, _, body = self.curl(self.address, "/oauth2/token", "-d", "client_id=ci&"
                                    "client_secret=secret&grant_type=client_credentials")
        self.assertEqual(status, 200, body)
        token = json.loads(body)["access_token"]
        location, = self.ask("answers", token, calls=[["CreateUploadLocation", dict(
            WHERE, filename="f", content_md5=digest)]])
        self.assertEqual(self.put(location["signed_url"], path), (200, ""))
        download, = self.ask("answers", token, calls=[["CreateDownloadLocation", {
            "native_url": location["native_url"]}]])
        who = [["UserInfo", {}]]
        for ahead_s in (2 * HOUR_S, 0, 400 * 24 * HOUR_S, 0):
            with self.subTest(ahead_s=ahead_s):
                self.set_clock(ahead_s)
                is_over = ahead_s > 0
                self.assertEqual(self.ask("outcomes", token, calls=who), [
                    ["UNAUTHENTICATED", "the token is none that this engine has given, or has "
                     "expired"] if is_over else ["OK", ""]])
                self.assertEqual(self.ask("outcomes", "secret", calls=who), [["OK", ""]])
                self.assertEqual(self.put(location["signed_url"], path), (
                    403, "this URL has expired; ask for a new one by CreateUploadLocation")
                    if is_over else (200, ""))
                self.assertEqual(self.curl("", download["signed_url"])[0], 403 if is_over else 200)


class VanishingTest(ServedTest):
    def sockets(self):
        folder = pathlib.Path(f"/proc/{self.serving.process.pid}/fd")
        return sum(os.readlink(path).startswith("socket:") for path in folder.iterdir()
                   if path.exists() or path.is_symlink())

    def connected(self, address):
        host, _, port = address.rpartition(":")
        made = socket.create_connection((host, int(port)), LIMIT_S)
        self.addCleanup(made.close)
        return made

    def test_half_open_connections_are_closed(self):
        """Their clients have gone without a word: the engine cannot know, and waits in vain."""
        address, = self.serve()
        before = self.sockets()
        self.assertEqual(self.curl(address, "/healthcheck")[0], 200)
        wait_until(lambda: self.sockets() <= before, "the first connection is closed")
        half = [self.connected(address) for _ in range(50)]
        for number, each in enumerate(half):
            if number % 2:
                each.sendall(b"GET /healthcheck HTTP/1.1\r\nHost: loc")
        wait_until(lambda: self.sockets() >= before + 50, "all are there")
        for each in half:
            try:
                each.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
            except PermissionError:
                self.skipTest("only an administrator can let a connection vanish")
            each.close()
        self.assertEqual(self.curl(address, "/api/v1/version")[0], 200)
        wait_until(lambda: self.sockets() <= before, "they are closed", 2 * LIMIT_S)
        self.assertEqual(self.curl(address, "/healthcheck")[0], 200)

    def test_who_says_no_more_still_hears(self):
        """A client may close its own direction behind its request."""
        address, = self.serve()
        client = self.connected(address)
        client.sendall(b"GET /healthcheck HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := client.recv(65536):
            answer += piece
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)


class FullDiskTest(ClientTest):
    """A disk of its own, of a few megabytes."""

    def mount(self, folder, size):
        libc = ctypes.CDLL(None, use_errno=True)
        folder.mkdir(parents=True)
        if libc.mount(b"troupe", os.fsencode(folder), b"tmpfs", 0, f"size={size}".encode()) != 0:
            self.skipTest("only an administrator can make a small disk")
        self.addCleanup(libc.umount2, os.fsencode(folder), 2)

    def location(self, content):
        digest = base64.b64encode(hashlib.md5(content).digest()).decode()
        return self.ask("answers", calls=[["CreateUploadLocation", dict(
            WHERE, filename="f", content_md5=digest)]])[0]["signed_url"]

    def put(self, content):
        path = self.folder / "content"
        path.write_bytes(content)
        status, _, body = self.curl("", self.location(content), "-T", str(path))
        return status, json.loads(body)["message"] if body else ""

    def test_an_upload_onto_a_full_disk(self):
        uploads = self.store / "uploads"
        self.mount(uploads, "4m")
        self.address, = self.serve()
        self.assertEqual(self.put(b"a" * 1000), (200, ""))
        self.assertEqual(self.put(b"b" * (8 << 20)),
                         (429, "the store cannot take it: No space left on device"))
        wait_until(lambda: not [each for each in uploads.iterdir() if each.name.startswith(".")],
                   "nothing is left of it")
        self.assertEqual(self.put(b"c" * (1 << 20)), (200, ""))

    def test_a_store_that_cannot_be_written(self):
        """Who changes something is told so in time, and reading goes on."""
        self.mount(self.store, "24m")
        self.package(FLOWS)
        self.troupe("apply", "flows.tgz", "--version", "v1")
        self.address, = self.serve()
        create = [["CreateExecution", dict(WHERE, name="one", spec={
            "launch_plan": plan_id("flows.empty")})]]
        self.assertEqual(self.ask("outcomes", calls=create), [["OK", ""]])
        wait_until(lambda: self.document("get", "one")["phase"] == "succeeded", "it has ended")
        filling = self.store / "filling"
        with open(filling, "wb", buffering=0) as file:  # down to the last byte
            size = 1 << 16
            while size > 0:
                try:
                    file.write(bytes(size))
                except OSError:
                    size //= 2
        create[0][1]["name"] = "two"
        # The log has some room of its own before it needs the disk's, which this one takes.
        self.ask("outcomes", calls=[["UpdateNamedEntity", {
            "resource_type": "TASK", "id": dict(WHERE, name="flows.add"),
            "metadata": {"description": "x" * 200000}}]])
        (code, words), = self.ask("outcomes", calls=create)
        self.assertEqual(code, "UNAVAILABLE", words)
        self.assertIn("the engine has not answered within 30000 ms", words)
        self.assertEqual(self.ask("outcomes", calls=[["GetExecution", {
            "id": dict(WHERE, name="one")}]]), [["OK", ""]])
        filling.unlink()
        create[0][1]["name"] = "three"
        wait_until(lambda: self.ask("outcomes", calls=create)[0][0] in ("OK", "ALREADY_EXISTS"),
                   "it goes on", 2 * LIMIT_S)


if __name__ == "__main__":
    unittest.main()
