#!/usr/bin/env python3
"""Flyte's API at `troupe serve --http`, asked by gRPC's own library and by curl: every call of
deploy/FLYTE_CLIENTS.md in both forms, errors with their codes, TLS, and each flag and setting.

The library lies in a folder of the build's, where it is installed once from PyPI.
"""

import json
import os
import re
import signal
import socket
import subprocess
import unittest

from program import LIMIT_S, PROGRAM, ROOT, ProgramTest, free_port
from pypi import KIT, KIT_PYTHON, PYTHON, have_library

CALLS = ROOT / "tests/support/grpc_calls.py"
PAGE = (ROOT / "deploy/FLYTE_CLIENTS.md").read_text()
VERSION = "0.1.0"
SERVING, SERVICE_UNKNOWN = 1, 3

# A call that is none: its path, its bytes, what goes with it, the code and the words.
WRONG = [
    ("/flyteidl.service.AdminService/GetVersion", "", {}, "OK", ""),
    ("/flyteidl.service.AdminService/Nothing", "", {}, "UNIMPLEMENTED",
     "there is no method /flyteidl.service.AdminService/Nothing here"),
    ("/flyteidl.service.Nothing/GetVersion", "", {}, "UNIMPLEMENTED",
     "there is no service /flyteidl.service.Nothing/GetVersion here"),
    ("/GetVersion", "", {}, "UNIMPLEMENTED", "there is no service /GetVersion here"),
    ("/flyteidl.service.AdminService/GetVersion", "0aff", {}, "INVALID_ARGUMENT",
     "these bytes are no flyteidl.admin.GetVersionRequest, or nest too deeply, or have text that "
     "is no UTF-8 or holds a zero byte"),
    ("/grpc.health.v1.Health/Check", "0a02c328", {}, "INVALID_ARGUMENT",
     "these bytes are no grpc.health.v1.HealthCheckRequest, or nest too deeply, or have text that "
     "is no UTF-8 or holds a zero byte"),
    ("/grpc.health.v1.Health/Check", "0a0100", {}, "INVALID_ARGUMENT",
     "these bytes are no grpc.health.v1.HealthCheckRequest, or nest too deeply, or have text that "
     "is no UTF-8 or holds a zero byte"),
    # Fields of a newer client are passed over.
    ("/grpc.health.v1.Health/Check", "9a060161", {}, "OK", ""),
    ("/grpc.health.v1.Health/Check", "0a04c3a4250a", {}, "NOT_FOUND",
     "there is no service '\u00e4%\n' here"),
    ("/grpc.health.v1.Health/Check", "0aca01" + "c3a4" * 101, {}, "NOT_FOUND",
     "there is no service '" + 100 * "\u00e4" + "' here"),
    ("/grpc.health.v1.Health/Check", "0acb01" + "61" + "c3a4" * 101, {}, "NOT_FOUND",
     "there is no service 'a" + 199 * "?" + "' here"),
    ("/grpc.health.v1.Health/Check", "", {"metadata": [["x-large", "y" * 30000]]}, "OK", ""),
]

# Bytes of gRPC as curl sends them: the body, headers, the code and the words.
GRPC_RAW = [
    (b"", [], 3, "the body ends before its message is whole: 0 bytes behind its size"),
    (b"\0\0\0", [], 3, "the body ends before its message is whole: 0 bytes behind its size"),
    (b"\0\0\0\0\5abc", [], 3, "the body ends before its message is whole: 3 bytes behind its size"),
    (b"\0\0\0\0\0\0\0\0\0\0", [], 3, "the body is not one message behind its size in five bytes"),
    (b"\2\0\0\0\0", [], 3, "the body is not one message behind its size in five bytes"),
    (b"\1\0\0\0\0", [], 3, "the message is compressed, and no grpc-encoding says how"),
    (b"\1\0\0\0\1a", ["grpc-encoding: gzip"], 3, "the message is no gzip, though it says so"),
    (b"\0\xff\xff\xff\xff", [], 8, "the message is larger than 67108864 bytes; the setting "
     "http.request_bytes allows more"),
    (b"\0\0\0\0\0", ["grpc-encoding: deflate"], 12,
     "messages may be compressed with gzip, or not at all: identity, gzip"),
    (b"\0\0\0\0\0", ["grpc-encoding: identity"], 0, ""),
    (b"\0\0\0\0\0", ["grpc-timeout: 1"], 3,
     "grpc-timeout is no time; write at most 8 digits and one of H M S m u n"),
    (b"\0\0\0\0\0", ["grpc-timeout: 0S"], 4, "the deadline passed"),
    (b"\0\0\0\0\0", ["grpc-timeout: 99999999H"], 0, ""),
    (b"\0\0\0\0\0", ["content-type: application/grpc+proto"], 0, ""),
    (b"\0\0\0\0\0", ["content-type: application/grpc; x=y"], 0, ""),
]

# A request of REST, the status, and what is said: text or, of an error, its code and words.
REST = [
    (["/healthcheck"], 200, "ok\n"),
    (["/healthcheck", "-I"], 200, ""),
    (["/nothing"], 404, (5, "there is nothing here")),
    (["/api/v1/version/"], 404, (5, "there is nothing here")),
    (["/api/v1/version", "-X", "PUT"], 405, (12, "this path is not for this method")),
    (["/api/v1/version?x=1"], 400, (3, "x: 'x' is no field of flyteidl.admin.GetVersionRequest")),
    (["/api/v1/version?x=%zz"], 400, (3, "the path or the query has an escape that is none, or is "
                                      "no UTF-8")),
    (["/api/v1/version", "-X", "GET", "-d", "{"], 400, (3, None)),
    (["/api/v1/version", "-X", "GET", "-d", '{"x": 1}'], 400,
     (3, "'x' is no field of flyteidl.admin.GetVersionRequest")),
    (["/api/v1/version", "-X", "GET", "-d", "\x0a\x7f", "-H",
      "content-type: application/octet-stream"], 400, (3, None)),
    (["/api/v1/version", "-H", "content-encoding: gzip", "-X", "GET", "-d", "x"], 415,
     (12, "a body must not be compressed; leave content-encoding out")),
    (["/x", "-H", "content-type: application/grpc-web"], 415,
     (12, "gRPC is spoken here with protobuf alone: application/grpc+proto")),
    (["/x", "-H", "content-type: application/grpc", "--http1.1"], 505,
     (12, "gRPC needs HTTP/2")),
    (["/a/%2e%2e/b", "--path-as-is"], 400, (3, None)),
    (["/x", "-H", "Host: evil.example"], 421, (7, None)),
    (["/x", "-H", "Origin: https://evil.example"], 403, (7, None)),
    (["/", "-H", "Host: evil.example"], 421,
     "this host is not served here; name it localhost, or by its IP address"),
    (["/", "-H", "Origin: https://evil.example"], 403, "a page of another site may not ask this"),
]

# Options that are refused before anything begins, and the words.
FORM = ("is no address; write PORT, HOST:PORT or [HOST]:PORT with an IP address or localhost, or "
        "unix:PATH")
USAGE = [
    (["--http", "here"], f"--http: 'here' {FORM}"),
    (["--http", "0.0.0.0:0"], "--http: '0.0.0.0:0' can be reached from other machines: give a "
     "certificate and its key with --tls CERT,KEY, or listen at 127.0.0.1"),
    (["--http", "0", "--http", "[::]:0"], "--http: '[::]:0' can be reached from other machines"),
    (["--tls", "a,b"], "--tls: there is no address that it is for; give one with --http"),
    (["--http", "0", "--tls", "a"], "--tls: 'a' is not CERT,KEY; write the paths of two PEM files "
     "with a comma between"),
    (["--http", "0", "--tls", "a,"], "--tls: 'a,' is not CERT,KEY"),
    (["--http", "0", "--tls", ",b"], "--tls: ',b' is not CERT,KEY"),
    (9 * ["--http", "0"], "--http: these are more than 8 addresses"),
]


class ServedTest(ProgramTest):
    """A test with a service that answers at one port or more."""

    def serve(self, *words):
        """Starts a service; where it answers."""
        self.serving = self.start("serve", *(words or ("--http", "0")))
        self.serving.wait_for("insecure: ")
        return [match[1] for line in self.serving.lines["stderr"]
                if (match := re.search("answers Flyte's clients at (.*)", line))]

    def stop(self):
        self.serving.signal(signal.SIGTERM)
        self.assertEqual(self.serving.end()[0], 0)

    def curl(self, address, path, *words):
        """The status, the headers and trailers, and the body."""
        where = ["--unix-socket", address[5:]] if address.startswith("unix:") else []
        host = "localhost" if where else address
        url = path if "://" in path else f"http://{host}{path}"
        done = subprocess.run(["curl", "-s", "-S", "-i", *where, url, *words],
                              capture_output=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = done.stdout.decode("latin-1")
        while text.startswith("HTTP/1.1 1"):
            text = text.split("\r\n\r\n", 1)[1]
        head, body = text.split("\r\n\r\n", 1)
        lines = head.split("\r\n")
        headers = dict(line.lower().split(": ", 1) if not line.startswith("grpc-message")
                       else line.split(": ", 1) for line in lines[1:])
        return int(lines[0].split()[1]), headers, body


class ApiTest(ServedTest):
    @classmethod
    def setUpClass(cls):
        have_library(PYTHON)

    def call(self, address, function, *arguments, **environment):
        done = subprocess.run([PYTHON, "-W", "ignore", CALLS, address, function,
                               json.dumps(arguments)], capture_output=True, text=True,
                              env={**os.environ, **environment}, timeout=3 * LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_each_call_is_the_same_in_both_forms(self):
        """JSON and bytes by curl, in HTTP/1.1 and HTTP/2, against gRPC's answers; and no path of
        the page is left out."""
        address, = self.serve()
        found = self.call(address, "all_calls")
        self.assertEqual(found["/api/v1/version"][0]["control_plane_version"],
                         {"Build": "troupe", "Version": VERSION, "BuildTime": ""})
        self.assertEqual(set(re.findall(r"`GET (/[^`]*)`", PAGE)), {*found, "/healthcheck"})
        for path, (message, digits) in found.items():
            for version in ("--http1.1", "--http2-prior-knowledge"):
                with self.subTest(path=path, version=version):
                    status, headers, body = self.curl(address, path, version)
                    self.assertEqual((status, headers["content-type"]), (200, "application/json"))
                    shown = {key: value for key, value in json.loads(body).items()
                             if value is not None}
                    self.assertEqual(shown, message)
                    status, headers, body = self.curl(address, path, version, "-H",
                                                      "accept: application/octet-stream")
                    self.assertEqual((status, headers["content-type"]),
                                     (200, "application/octet-stream"))
                    self.assertEqual(body.encode("latin-1").hex(), digits)

    def test_what_is_no_call_has_its_code(self):
        address, = self.serve()
        found = self.call(address, "raw", [row[:3] for row in WRONG])
        for (path, digits, _, *expected), outcome in zip(WRONG, found):
            with self.subTest(path=path, digits=digits):
                self.assertEqual(outcome, expected)

    def test_bytes_that_are_no_call_have_their_code(self):
        address, = self.serve()
        path = self.folder / "body"
        for body, headers, code, words in GRPC_RAW:
            with self.subTest(body=body, headers=headers):
                path.write_bytes(body)
                given = [] if any(each.startswith("content-type") for each in headers) else \
                    ["content-type: application/grpc"]
                options = [word for each in (*given, *headers) for word in ("-H", each)]
                status, seen, rest = self.curl(
                    address, "/grpc.health.v1.Health/Check", "--http2-prior-knowledge",
                    "--data-binary", f"@{path}", *options)
                self.assertEqual((status, seen["content-type"]), (200, "application/grpc"))
                # Trailers stand behind the body, which of an error there is none.
                trailers = seen if code else dict(re.findall(r"(grpc-\S+): (.*)\r\n", rest))
                self.assertEqual(int(trailers["grpc-status"]), code, trailers)
                self.assertEqual(trailers.get("grpc-message", "").replace("%25", "%"), words)
                if code == 12:
                    self.assertEqual(trailers["grpc-accept-encoding"], "identity,gzip")

    def test_what_is_served_can_be_asked(self):
        """By clients that have no definitions; the page of RPCs and the answer are the same."""
        address, = self.serve()
        names, services, version = self.call(address, "reflection")
        self.assertEqual(sorted(names), sorted(services))
        self.assertEqual(version, VERSION)
        self.assertEqual(sorted(services), [
            "flyteidl.service.AdminService", "flyteidl.service.AuthMetadataService",
            "flyteidl.service.DataProxyService", "flyteidl.service.IdentityService",
            "flyteidl.service.SignalService", "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"])
        self.assertIn(["GetTask", "flyteidl.admin.ObjectGetRequest", "flyteidl.admin.Task", False,
                       False], services["flyteidl.service.AdminService"])
        self.assertEqual(services["grpc.health.v1.Health"][1][3:], [False, True])
        self.assertEqual(services["grpc.reflection.v1.ServerReflection"][0][3:], [True, True])

    def test_a_stream_asks_many_things(self):
        address, = self.serve()
        for version in ("v1", "v1alpha"):
            kinds, errors, sizes, rest, code = self.call(address, "reflection_stream", version,
                                                         3000)
            self.assertEqual(kinds, [
                "list_services_response", *4 * ["file_descriptor_response"],
                "all_extension_numbers_response", *6 * ["error_response"]])
            self.assertEqual(errors, [
                [5, "nothing here is called none.proto"],
                [5, "nothing here is called flyteidl.core.Liter"],
                [5, "nothing here is called flyteidl.core"],
                [5, "nothing here extends flyteidl.core.Literal"],
                [5, "no message here is called flyteidl.core.TaskExecution.Phase"],
                [3, "the request asks for nothing"]])
            self.assertEqual((sizes, rest, code), (1, 0, "OK"))
        ends = self.call(address, "raw", [
            ["/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "ff", {}]])
        self.assertEqual(ends[0][0], "INVALID_ARGUMENT")

    def test_rest_says_what_is_wrong(self):
        address, = self.serve()
        for words, expected, said in REST:
            for version in ([], ["--http2-prior-knowledge"]):
                if version and "--http1.1" in words:
                    continue
                with self.subTest(words=words, version=version):
                    status, _, body = self.curl(address, words[0], *version, *words[1:])
                    self.assertEqual(status, expected, body)
                    if isinstance(said, str):
                        self.assertEqual(body, said)
                        continue
                    error = json.loads(body)
                    self.assertEqual((error["code"], error["details"]), (said[0], []))
                    self.assertEqual(error["message"], said[1] or error["message"])

    def test_health_is_checked_and_watched(self):
        address, = self.serve()
        self.assertEqual(self.call(address, "health"), {
            "": SERVING, "watch ": SERVING,
            "grpc.health.v1.Health": SERVING, "watch grpc.health.v1.Health": SERVING,
            "flyteidl.service.AdminService": SERVING,
            "watch flyteidl.service.AdminService": SERVING,
            "watch none": SERVICE_UNKNOWN, "end of watch none": "DEADLINE_EXCEEDED",
            "none": ["NOT_FOUND", "there is no service 'none' here"]})

    def test_messages_may_be_compressed(self):
        address, = self.serve()
        status, code, words = self.call(address, "gzip")
        self.assertEqual((status, code), (SERVING, "NOT_FOUND"))
        self.assertEqual(words, f"there is no service '{200 * 'x'}' here")

    def test_many_at_once(self):
        address, = self.serve()
        self.assertEqual(self.call(address, "many", 8, 10, 25), 8 * 10 * 25)

    def test_limits_of_requests_are_a_setting(self):
        self.store.mkdir()
        (self.store / "settings.yaml").write_text("http: {listen: ['0'], request_bytes: 1Mi}\n")
        address, = self.serve("--no-warm")
        words = "is larger than 1048576 bytes; the setting http.request_bytes allows more"
        self.assertEqual(self.call(address, "large", 2 << 20),
                         ["RESOURCE_EXHAUSTED", f"the message {words}"])
        self.assertEqual(self.call(address, "large", (1 << 20) - 100)[0], "NOT_FOUND")
        body = self.write("body", " " * (2 << 20))
        for version in ("--http1.1", "--http2-prior-knowledge"):
            for form in ([], ["-H", "transfer-encoding: chunked"], ["-H", "expect:"]):
                if version != "--http1.1" and form[1:] == ["transfer-encoding: chunked"]:
                    continue
                with self.subTest(version=version, form=form):
                    status, _, said = self.curl(address, "/api/v1/version", version, "-X", "GET",
                                                "--data-binary", f"@{body}", *form)
                    self.assertEqual(status, 413)
                    self.assertEqual(json.loads(said), {
                        "code": 8, "message": f"the body of the request {words}", "details": []})
        self.assertEqual(self.curl(address, "/healthcheck")[0], 200)

    def test_connections_are_a_setting(self):
        self.store.mkdir()
        (self.store / "settings.yaml").write_text("http: {listen: ['0'], connections: 2}\n")
        address, = self.serve("--no-warm")
        host, port = address.split(":")
        held = [socket.create_connection((host, int(port))) for _ in range(2)]
        words = ("there are 2 connections already; the setting http.connections, or a higher limit "
                 "of descriptors, allows more")
        status, headers, body = self.curl(address, "/healthcheck")
        self.assertEqual((status, headers["connection"], json.loads(body)["message"]),
                         (503, "close", words))
        self.assertEqual(self.call(address, "raw", [[
            "/grpc.health.v1.Health/Check", "", {}]])[0], ["RESOURCE_EXHAUSTED", words])
        for each in held:
            each.close()
        self.assertEqual(self.curl(address, "/healthcheck", "--retry", "5")[0], 200)

    def test_flags_are_checked_before_anything_begins(self):
        for words, said in USAGE:
            with self.subTest(words):
                self.assertIn(said, self.troupe("serve", *words, status=2)[1])
                self.assertFalse(self.store.exists())
        self.store.mkdir(exist_ok=True)
        (self.store / "settings.yaml").write_text("http: {listen: ['0.0.0.0:0']}\n")
        self.assertIn("'0.0.0.0:0' can be reached from other machines",
                      self.troupe("serve", status=2)[1])

    def test_several_addresses(self):
        path = self.folder / "socket"
        port = free_port()
        (self.store).mkdir()
        # The command line wins.
        (self.store / "settings.yaml").write_text("http: {listen: ['unix:/nowhere/it']}\n")
        found = self.serve("--http", "0", "--http", f"unix:{path}", "--http", f"localhost:{port}",
                           "--http", "[::1]:0")
        self.assertEqual(found[1:3], [f"unix:{path}", f"127.0.0.1:{port}"])
        self.assertRegex(found[3], r"\[::1\]:[1-9]\d*")
        self.assertEqual(path.stat().st_mode & 0o777, 0o700)
        for address in found:
            with self.subTest(address):
                self.assertEqual(self.curl(address, "/healthcheck")[2], "ok\n")
                self.assertEqual(self.call(address, "raw", [WRONG[0][:3]])[0], ["OK", ""])
        other = self.folder / "other"
        self.assertIn(f"Flyte's clients cannot be answered: nobody can listen at {port}: Address "
                      "already in use",
                      self.troupe("serve", "--store", other, "--http", port, status=4)[1])
        self.stop()
        self.assertFalse(path.exists())

    def test_the_three_lines(self):
        address, = self.serve()
        lines = [line.split("Z  ", 1)[1] for line in self.serving.lines["stderr"][-4:]]
        self.assertEqual(lines, ["which find it by these lines of ~/.flyte/config.yaml (troupe "
                                 "config flyte):", "admin:",
                                 f"  endpoint: dns:///{address}", "  insecure: true"])
        # Those of the page, but for the port.
        for line in lines[1:]:
            self.assertIn(line.replace(address, "127.0.0.1:30080") + "\n", PAGE)

    def test_the_file_of_flytes_clients(self):
        none = self.troupe("config", "flyte", status=2)[1]
        self.store.mkdir(exist_ok=True)
        self.assertIn("there is no store", none)
        self.assertIn("no engine of this store answers Flyte's clients; begin one with troupe "
                      "serve --http 30080", self.troupe("config", "flyte", status=2)[1])
        address, = self.serve()
        config = f"admin:\n  endpoint: dns:///{address}\n  insecure: true\n"
        self.assertEqual(self.troupe("config", "flyte", "--file", "-")[0], config)
        file = self.folder / "below/config.yaml"
        self.assertEqual(self.configure(FLYTECTL_CONFIG=file), f"troupe config: wrote {file}\n")
        self.assertEqual(file.read_text(), config)
        file.write_text("mine")
        self.assertIn(f"{file} is there already; --force replaces it, and --file - prints what "
                      "would stand there",
                      self.troupe("config", "flyte", "--file", file, status=2)[1])
        self.troupe("config", "flyte", "--file", file, "--force")
        self.assertEqual(file.read_text(), config)
        self.configure(HOME=self.folder, FLYTECTL_CONFIG="")
        self.assertEqual((self.folder / ".flyte/config.yaml").read_text(), config)
        self.assertIn("'other' is none of: flyte",
                      self.troupe("config", "other", status=2)[1])
        self.stop()
        self.assertFalse((self.store / "flyte.config").exists())

    def configure(self, **environment):
        environment = {name: str(value) for name, value in environment.items()}
        return subprocess.run([PROGRAM, "config", "flyte"], env={**self.environment(),
                                                                 **environment},
                              text=True, capture_output=True, check=True, timeout=LIMIT_S).stderr

    def certificate(self):
        """A certificate for this machine, and its key."""
        files = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-days", "2", "-out", files[0], "-keyout", files[1]], check=True,
                       capture_output=True, timeout=LIMIT_S)
        return files

    def test_tls(self):
        """gRPC, and HTTP in both versions, with large bodies, behind TLS; nothing in cleartext."""
        certificate, key = self.certificate()
        address, = self.serve("--http", "0.0.0.0:0", "--tls", f"{certificate},{key}")
        port = address.rsplit(":", 1)[1]
        lines = [line.split("Z  ", 1)[1] for line in self.serving.lines["stderr"][-2:]]
        self.assertEqual(lines, [f"  endpoint: dns:///{socket.gethostname()}:{port}",
                                 "  insecure: false"])
        address = f"127.0.0.1:{port}"
        secure = {"GRPC_CA": str(certificate)}
        self.assertEqual(self.call(address, "many", 4, 4, 10, **secure), 160)
        code, words = self.call(address, "large", 20 << 20, **secure)
        self.assertEqual(code, "NOT_FOUND", words)
        url = f"https://localhost:{port}"
        body = self.write("body", '{"x":"' + "y" * (5 << 20) + '"}')
        for version in ("--http1.1", "--http2"):
            with self.subTest(version):
                options = (version, "--cacert", str(certificate))
                self.assertEqual(self.curl(address, f"{url}/healthcheck", *options)[2], "ok\n")
                status, _, said = self.curl(address, f"{url}/api/v1/version", *options, "-X",
                                            "GET", "--data-binary", f"@{body}")
                self.assertEqual((status, json.loads(said)["message"]),
                                 (400, "'x' is no field of flyteidl.admin.GetVersionRequest"))
                # Any name: the certificate has shown whom the client speaks with.
                self.assertEqual(self.curl(
                    address, f"https://x.example:{port}/healthcheck", version, "-k",
                    "--connect-to", f"x.example:{port}:localhost:{port}")[0], 200)
        with socket.create_connection(("127.0.0.1", int(port))) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try:
                self.assertNotIn(b"HTTP/1.1", plain.recv(1000))
            except ConnectionResetError:
                pass
        self.assertEqual(self.curl(address, f"{url}/healthcheck", "--cacert",
                                   str(certificate))[0], 200)

    def test_certificates_that_are_none(self):
        certificate, key = self.certificate()
        other = self.write("other.pem", "")
        for pair, said in (((other, key), f"{other} cannot be used for TLS: "),
                           ((certificate, other), f"{other} cannot be used for TLS: "),
                           ((certificate, certificate), f"{certificate} cannot be used for TLS: ")):
            with self.subTest(pair):
                self.assertIn(said, self.troupe("serve", "--http", "0", "--tls",
                                                ",".join(map(str, pair)), status=4)[1])

    def test_clients_go_on_after_a_restart(self):
        port = free_port()
        self.serve("--http", port)
        follower = subprocess.Popen([PYTHON, "-W", "ignore", CALLS, f"127.0.0.1:{port}", "follow"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(follower.stdout.readline(), "OK\n")
        self.stop()
        self.assertEqual(follower.stdout.readline(), "UNAVAILABLE\n")
        self.serve("--http", port)
        self.assertEqual(follower.stdout.readline(), "OK\n")
        self.serving.process.kill()
        self.serving.end()
        self.assertEqual(follower.stdout.readline(), "UNAVAILABLE\n")
        self.serve("--http", port)
        self.assertEqual(follower.stdout.readline(), "OK\n")
        follower.stdin.close()
        self.assertEqual(json.loads(follower.stdout.readline()), "OK")
        self.assertEqual(follower.wait(LIMIT_S), 0)
        follower.stdout.close()

    @unittest.skipUnless(os.environ.get("TROUPE_TEST_LONG"), "takes 35 seconds")
    def test_an_idle_channel_is_kept(self):
        """Pings every 30 seconds are no flood: the channel never leaves READY."""
        address, = self.serve()
        self.assertEqual(self.call(address, "idle", 35), [])

    @unittest.skipUnless(os.environ.get("TROUPE_TEST_LONG"), "installs flytekit")
    def test_flytekits_own_client(self):
        """It neither logs in nor retries for ever, whatever kind of authentication it has."""
        have_library(KIT_PYTHON, KIT)
        address, = self.serve()
        script = self.write("client.py", """
import sys
from flytekit.clients.raw import RawSynchronousFlyteClient
from flytekit.configuration import AuthType, PlatformConfig
from flyteidl.admin import project_domain_attributes_pb2, version_pb2
for kind in (AuthType.PKCE, AuthType.EXTERNAL_PROCESS):
    client = RawSynchronousFlyteClient(PlatformConfig(
        endpoint=sys.argv[1], insecure=True, auth_mode=kind, command=["echo", "token"]))
    print(client._stub.GetVersion(version_pb2.GetVersionRequest()).control_plane_version.Version)
    try:
        client.get_project_domain_attributes(
            project_domain_attributes_pb2.ProjectDomainAttributesGetRequest(
                project="p", domain="d"))
    except Exception as error:
        print(type(error).__name__, "NOT_FOUND" in str(error))
""")
        done = subprocess.run([KIT_PYTHON, script, address], capture_output=True, text=True,
                              timeout=3 * LIMIT_S)
        self.assertEqual(done.stdout.split("\n"),
                         2 * [VERSION, "FlyteEntityNotExistException True"] + [""], done.stderr)


if __name__ == "__main__":
    unittest.main()
