#!/usr/bin/env python3
"""A hostile client of `troupe serve --http`: bytes of our own on raw sockets, for each limit of
deploy/door/door_limits.h and each thing that a request must not be. Whatever it does, it has a
precise answer or is cut off, and other clients are served as before.

The limits are read from the header, so that a test does not know them twice.
"""

import concurrent.futures
import contextlib
import json
import os
import random
import re
import resource
import select
import socket
import struct
import time
import unittest

from program import IS_SANITIZED, LIMIT_S, ROOT, wait_until
from test_api import ServedTest

IS_LONG = bool(os.environ.get("TROUPE_TEST_LONG"))
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = \
    range(10)
END_STREAM, ACK, END_HEADERS = 1, 1, 4
ENHANCE_YOUR_CALM, PROTOCOL_ERROR = 11, 1


def limits():
    text = (ROOT / "deploy/door/door_limits.h").read_text()
    found = {}
    for name, value in re.findall(r"#define TR_DOOR_(\w+) (.+)", text):
        value = re.sub(r"(?<=\d)(ULL|U|LL)", "", value)
        found[name] = eval(value, {}, {})  # numbers and shifts
    return found


LIMITS = limits()


def frame(kind, flags, stream, payload=b""):
    return (struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) +
            struct.pack(">I", stream) + payload)


def literal(name, value):
    """A header that is not indexed, in plain letters (RFC 7541)."""
    def text(each):
        size = len(each)
        if size < 127:
            return bytes((size,)) + each
        out, size = b"\x7f", size - 127
        while size >= 128:
            out += bytes((size % 128 + 128,))
            size //= 128
        return out + bytes((size,)) + each
    return b"\0" + text(name.encode()) + text(value.encode("latin-1"))


def head(path="/healthcheck", method="GET", authority="localhost", **others):
    pairs = [(":method", method), (":path", path), (":scheme", "http"), (":authority", authority)]
    pairs += [(name.replace("_", "-"), value) for name, value in others.items()]
    return b"".join(literal(*pair) for pair in pairs)


class Client:
    """A raw socket, and frames of HTTP/2 if it comes to that."""

    def __init__(self, address):
        if address.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(address[5:])
        else:
            host, port = address.rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)))
        self.socket.settimeout(LIMIT_S)
        self.bytes = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """False: the other side has closed."""
        try:
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def rest(self):
        """All that comes until the other side closes."""
        try:
            while data := self.socket.recv(65536):
                self.bytes += data
        except ConnectionResetError:
            pass
        return self.bytes

    def begin(self):
        """The preface, and settings."""
        self.send(PREFACE + frame(SETTINGS, 0, 0))
        return self

    def frames(self):
        """Frames as they come, until the end."""
        while True:
            while len(self.bytes) >= 9:
                size = int.from_bytes(self.bytes[:3], "big")
                if len(self.bytes) < 9 + size:
                    break
                kind, flags, stream = struct.unpack(">BBI", self.bytes[3:9])
                payload, self.bytes = self.bytes[9:9 + size], self.bytes[9 + size:]
                yield kind, flags, stream, payload
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                return
            if not data:
                return
            self.bytes += data

    def wait_for(self, kind, flags=0, stream=None):
        for each in self.frames():
            if each[0] == kind and each[1] & flags == flags and stream in (None, each[2]):
                return each[3]
        return None

    def goodbye(self):
        """The code of GOAWAY; None: there was none before the end."""
        payload = self.wait_for(GOAWAY)
        return None if payload is None else struct.unpack(">I", payload[4:8])[0]


class LimitsTest(ServedTest):
    def setUp(self):
        super().setUp()
        self.address, = self.serve()

    def tearDown(self):
        """Whatever was done, the engine serves, and leaves as it should."""
        try:
            self.assertEqual(self.curl(self.address, "/healthcheck")[2], "ok\n")
            self.assertEqual(self.curl(self.address, "/healthcheck",
                                       "--http2-prior-knowledge")[2], "ok\n")
            self.stop()
        finally:
            super().tearDown()

    def client(self):
        return Client(self.address)

    def asked(self, request):
        with self.client() as client:
            if client.send(request):
                try:
                    client.socket.shutdown(socket.SHUT_WR)
                except OSError:
                    pass  # it has closed already
            return client.rest()

    def status(self, request):
        match = re.match(rb"HTTP/1\.1 (\d+)", self.asked(request))
        return match and int(match[1])

    # ---- HTTP/1.1 ----

    def test_requests_with_two_ends(self):
        """Where the body ends must be clear, or two readers see two requests."""
        smuggled = b"GET /healthcheck HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for headers, body in (
                (b"Content-Length: 5\r\nContent-Length: 5\r\n", b"hello"),
                (b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello"),
                (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
                (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n"),
                (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
                (b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
                (b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
                (b"Content-Length: +5\r\n", b"hello"), (b"Content-Length: 5,5\r\n", b"hello"),
                (b"Content-Length: -1\r\n", b"hello"), (b"Content-Length: 0x5\r\n", b"hello"),
                (b"Content-Length : 5\r\n", b"hello"),
                (b"Content-Length: 99999999999999999999\r\n", b"hello"),
                (b"Host: evil.example\r\n", b""), (b"X-A\x00b: c\r\n", b""),
                (b"Transfer-Encoding: chunked\r\n", b"zz\r\nhello\r\n0\r\n\r\n")):
            with self.subTest(headers):
                answer = self.asked(b"POST /healthcheck HTTP/1.1\r\nHost: localhost\r\n" +
                                    headers + b"\r\n" + body + smuggled)
                self.assertNotIn(b"ok\n", answer)
                # libmicrohttpd says its own refusals twice before it closes.
                said = set(re.findall(rb"HTTP/1\.1 (\d+)", answer))
                self.assertIn(said, ({b"400"}, {b"413"}, set()), answer)

    def test_requests_that_are_none(self):
        for request in (b"\0" * 1000, b"\x16\x03\x01\x02\x00" + 500 * b"\1", b"GET\r\n\r\n",
                        b"GET / HTTP/9.9\r\n\r\n", b"GET  / HTTP/1.1\r\n\r\n",
                        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", b"GET /\0a HTTP/1.1\r\n\r\n",
                        b"GET http://localhost/healthcheck HTTP/1.1\r\nHost: localhost\r\n\r\n",
                        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
                        b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            with self.subTest(request[:60]):
                answer = self.asked(request)
                self.assertNotIn(b"HTTP/1.1 2", answer)

    def test_paths_that_lead_elsewhere(self):
        for path in (b"/../healthcheck", b"/a/../healthcheck", b"/%2e%2e/healthcheck",
                     b"/./healthcheck", b"/healthcheck%00", b"/healthcheck%", b"/%2e%2E%2fa/..",
                     b"/healthcheck/.."):
            with self.subTest(path):
                answer = self.asked(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertEqual(answer[:12], b"HTTP/1.1 400")
                said = json.loads(answer.split(b"\r\n\r\n", 1)[1])
                self.assertEqual(said, {"code": 3, "message": "the path has a segment . or .., a "
                                        "%00, an incomplete escape, or a character that has to be "
                                        "escaped", "details": []})

    def test_heads_that_are_too_large(self):
        line = b"X-Large: " + 1000 * b"y" + b"\r\n"
        for headers in (line * 20, line * 30, line * 62, line * 64, line * 200,
                        b"X: y\r\n" * LIMITS["HEADERS_MAX"],
                        b"X-Large: " + 100000 * b"y" + b"\r\n"):
            with self.subTest(size=len(headers)):
                status = self.status(b"GET /healthcheck HTTP/1.1\r\nHost: localhost\r\n" +
                                     headers + b"\r\n")
                self.assertIn(status, (200,) if headers == line * 20 else (431, 413, 400, None))
        status, _, body = self.curl(self.address, "/healthcheck", *(130 * ["-H", "X-A: b"]))
        self.assertEqual((status, json.loads(body)), (431, {
            "code": 8, "message": f"the head of the request is larger than "
            f"{LIMITS['HEAD_BYTES_MAX']} bytes (TR_DOOR_HEAD_BYTES_MAX), or has more than "
            f"{LIMITS['HEADERS_MAX']} headers (TR_DOOR_HEADERS_MAX)", "details": []}))
        self.assertIn(self.status(b"GET /" + 100000 * b"a" + b" HTTP/1.1\r\n\r\n"),
                      (414, 431, 400))

    def test_many_requests_on_one_connection(self):
        one = b"GET /healthcheck HTTP/1.1\r\nHost: localhost\r\n\r\n"
        self.assertEqual(self.asked(one * 500).count(b"\r\n\r\nok\n"), 500)

    @unittest.skipUnless(IS_LONG, "takes as long as the limits of time are")
    def test_slow_clients_are_cut_off(self):
        """Nothing, half a preface, a byte a second, half a head, half a body: in both protocols."""
        begun = time.monotonic()

        def drip(first, piece, expected, limit_ms):
            with self.client() as client:
                client.send(first)
                end = begun + limit_ms / 1000 + 20
                while time.monotonic() < end:
                    ready, _, _ = select.select([client.socket], [], [], 1)
                    if ready:
                        try:
                            data = client.socket.recv(65536)
                        except ConnectionResetError:
                            data = b""
                        client.bytes += data
                        if not data or (client.bytes.startswith(b"\0") and expected and
                                        expected in client.bytes):  # HTTP/2 goes on
                            return expected is None or expected in client.bytes
                    if piece and not client.send(piece):
                        return expected is None or expected in client.rest()
                return False
        body = b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n"
        request = frame(HEADERS, END_HEADERS, 1, head("/x", "POST"))
        rows = [
            (b"", b"", None, LIMITS["HANDSHAKE_MS"]),
            (PREFACE[:10], b"", None, LIMITS["HANDSHAKE_MS"]),
            (b"G", b"", b"HTTP/1.1 408", LIMITS["HEAD_MS"]),
            (b"GET / HTTP/1.1\r\nX: ", b"y", b"HTTP/1.1 408", LIMITS["HEAD_MS"]),
            (body, b"y", b"HTTP/1.1 408", LIMITS["BODY_MS"]),
            (body, b"", b"HTTP/1.1 408", LIMITS["BODY_MS"]),
            (PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 0, 1, head()[:9]), b"", None,
             LIMITS["HEAD_MS"]),
            # The body comes to nothing: the answer that waited for its end goes without it.
            (PREFACE + frame(SETTINGS, 0, 0) + request, frame(DATA, 0, 1, b"y"),
             b"there is nothing", LIMITS["BODY_MS"]),
            (b"GET /healthcheck HTTP/1.1\r\nHost: localhost\r\n\r\n", b"", b"ok\n",
             LIMITS["HTTP1_IDLE_MS"]),
            # No window for the answer's body, which nobody takes.
            (PREFACE + frame(SETTINGS, 0, 0, b"\0\4\0\0\0\0") +
             frame(HEADERS, END_HEADERS | END_STREAM, 1, head()), b"", None,
             LIMITS["STALLED_MS"]),
        ]
        with concurrent.futures.ThreadPoolExecutor(len(rows)) as pool:
            done = list(pool.map(lambda row: drip(*row), rows))
        self.assertEqual(done, len(rows) * [True])

    @unittest.skipUnless(IS_LONG, "takes 256 MiB")
    def test_requests_that_come_in_take_so_much_memory(self):
        """All together; the one that would be too much is told, and the others go on."""
        size, count = 50 << 20, 6
        begin = (b"GET /api/v1/version HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
                 % size)
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(self.client()) for _ in range(count)]
            for client in clients:
                client.send(begin + b" " * (size - 2))
            wait_until(lambda: self.memory() > 250 << 20, "they have come")
            clients[-1].send(b"{}")
            clients[-1].socket.shutdown(socket.SHUT_WR)
            self.assertRegex(clients[-1].rest(), rb"^HTTP/1.1 429 (.|\r|\n)*"
                             rb"TR_API_COLLECTED_BYTES_MAX")
            for client in clients[:-1]:
                client.send(b"{}")
                client.socket.shutdown(socket.SHUT_WR)
                self.assertTrue(client.rest().startswith(b"HTTP/1.1 200"))
        wait_until(lambda: self.memory() < 100 << 20, "it is given back")

    # ---- HTTP/2 ----

    def answers(self, client, stream):
        """Whether a stream is answered: with what."""
        client.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, head()))
        return client.wait_for(DATA, stream=stream)

    def test_frames_that_are_none(self):
        for data, code in (
                (frame(DATA, 0, 1, b"x"), PROTOCOL_ERROR),
                (frame(HEADERS, END_HEADERS, 0, head()), PROTOCOL_ERROR),
                (frame(HEADERS, END_HEADERS, 2, head()), PROTOCOL_ERROR),
                (frame(CONTINUATION, 0, 1, head()), PROTOCOL_ERROR),
                (frame(SETTINGS, 0, 1), PROTOCOL_ERROR),
                (frame(SETTINGS, 0, 0, b"abc"), None), (frame(PING, 0, 0, b"abc"), None),
                (frame(PUSH, END_HEADERS, 1, b"\0\0\0\2" + head()), PROTOCOL_ERROR),
                (frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\0"), PROTOCOL_ERROR),
                (frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"), None),
                (b"\xff\xff\xff" + frame(DATA, 0, 1)[3:], None)):
            with self.subTest(data[:20]), self.client() as client:
                client.begin().send(data)
                goodbye = client.goodbye()
                self.assertIsNotNone(goodbye)
                self.assertEqual(goodbye, code if code is not None else goodbye)

    def test_heads_of_http2_that_are_wrong(self):
        """Each costs its stream alone, or has words."""
        with self.client() as client:
            client.begin()
            wrong = [head("/../x"), head(authority="evil.example"),
                     head(origin="https://evil.example"), head(content_length="5"),
                     head() + literal("connection", "close"), head() + literal("X-Upper", "a"),
                     head() + literal(":path", "/two"), literal(":method", "GET"),
                     head() + literal("x", "a\r\nb: c")]
            for number, block in enumerate(wrong):
                stream = 2 * number + 1
                client.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block))
                kind, _, _, payload = next(each for each in client.frames()
                                           if each[2] == stream and each[0] != WINDOW_UPDATE)
                self.assertIn(kind, (RST_STREAM, HEADERS))
                self.assertNotIn(b"ok", payload)
            self.assertEqual(self.answers(client, 99), b"ok\n")

    def test_heads_of_http2_that_are_too_large(self):
        with self.client() as client:
            client.begin()
            large = b"".join(literal("x-large", 1000 * "y") for _ in range(70))
            for stream, block in ((1, head() + large),
                                  (3, head() + 130 * literal("x", "y"))):
                first = block[:16000]
                client.send(frame(HEADERS, END_STREAM, stream, first))
                rest = block[16000:]
                while len(rest) > 16000:
                    client.send(frame(CONTINUATION, 0, stream, rest[:16000]))
                    rest = rest[16000:]
                client.send(frame(CONTINUATION, END_HEADERS, stream, rest))
                said = json.loads(client.wait_for(DATA, stream=stream))
                self.assertEqual(said["code"], 8)
                self.assertIn("TR_DOOR_HEADERS_MAX", said["message"])
            self.assertEqual(self.answers(client, 5), b"ok\n")

    def test_a_small_head_that_unpacks_to_much(self):
        """One large header in the table of the connection, named again and again."""
        with self.client() as client:
            client.begin()
            size = 127 + 1 + 30 * 128
            stored = b"\x40\x01x\x7f\x81\x1e" + size * b"y"
            bomb = head() + stored + 15000 * b"\xbe"
            client.send(frame(HEADERS, END_STREAM, 1, bomb[:16000]))
            client.send(frame(CONTINUATION, END_HEADERS, 1, bomb[16000:]))
            kind = next(each[0] for each in client.frames() if each[2] == 1)
            self.assertEqual(kind, RST_STREAM)
            self.assertEqual(self.answers(client, 3), b"ok\n")

    def flood(self, piece, code):
        """The same again and again, and nothing is read meanwhile; the code of GOAWAY."""
        with self.client() as client:
            client.begin()
            sent = 0
            client.socket.settimeout(1)
            try:
                while sent < 20000 and client.send(piece(sent)):
                    sent += 1
            except TimeoutError:
                pass  # it takes no more
            client.socket.settimeout(LIMIT_S)
            self.assertLess(sent, 20000, "it takes them all")
            self.assertIn(client.goodbye(), (code, None))
            self.assertEqual(self.curl(self.address, "/healthcheck")[2], "ok\n")

    def test_floods(self):
        many = 100
        request = frame(HEADERS, END_HEADERS, 1, head("/x", "POST"))
        for name, piece in (
                ("ping", lambda _: many * frame(PING, 0, 0, b"abcdefgh")),
                ("settings", lambda _: many * frame(SETTINGS, 0, 0)),
                ("large settings", lambda _: frame(SETTINGS, 0, 0, 40 * b"\0\4\0\1\0\0")),
                ("priority", lambda _: many * frame(PRIORITY, 0, 3, b"\0\0\0\0\1")),
                ("empty data", lambda at: (request if at == 0 else b"") + many * frame(DATA, 0, 1)),
                ("reset", lambda at: b"".join(
                    frame(HEADERS, END_HEADERS, stream, head("/x", "POST")) +
                    frame(RST_STREAM, 0, stream, b"\0\0\0\x08")
                    for stream in range(2 * many * at + 1, 2 * many * (at + 1), 2))),
                ("continuation", lambda at: (
                    frame(HEADERS, 0, 1, head()) if at == 0 else b"") +
                 many * frame(CONTINUATION, 0, 1, literal("x", "y")))):
            with self.subTest(name):
                self.flood(piece, ENHANCE_YOUR_CALM)

    def test_pings_now_and_then_are_no_flood(self):
        with self.client() as client:
            client.begin()
            for _ in range(LIMITS["CONTROL_FRAMES_MAX"] // 4):
                client.send(frame(PING, 0, 0, b"abcdefgh"))
                self.assertEqual(client.wait_for(PING, ACK), b"abcdefgh")
            self.assertEqual(self.answers(client, 1), b"ok\n")

    def test_streams_beyond_the_limit_are_refused(self):
        """Before the client knows of the limit each is refused, and those before it are answered;
        after that the connection ends."""
        count = LIMITS["STREAMS_MAX"]
        with self.client() as client:
            client.begin()
            for number in range(count + 1):
                client.send(frame(HEADERS, END_HEADERS, 2 * number + 1, head("/x", "POST")))
            refused = client.wait_for(RST_STREAM, stream=2 * count + 1)
            self.assertEqual(struct.unpack(">I", refused)[0], 7)
            for number in range(count):
                client.send(frame(DATA, END_STREAM, 2 * number + 1))
                self.assertIn(b"there is nothing here", client.wait_for(
                    DATA, stream=2 * number + 1))
        with self.client() as client:
            client.begin()
            self.assertIsNotNone(client.wait_for(SETTINGS))
            client.send(frame(SETTINGS, ACK, 0))
            for number in range(count + 1):
                client.send(frame(HEADERS, END_HEADERS, 2 * number + 1, head("/x", "POST")))
            self.assertEqual(client.goodbye(), PROTOCOL_ERROR)

    def test_a_client_that_reads_nothing(self):
        """Calls whose answers pile up: it is told, and memory stays."""
        before = self.memory()
        with self.client() as client:
            # No window for bodies, so nothing of them can go.
            client.send(PREFACE + frame(SETTINGS, 0, 0, b"\0\4\0\0\0\0"))
            self.assertIsNotNone(client.wait_for(SETTINGS))
            for number in range(LIMITS["STREAMS_MAX"] * 3):
                client.send(frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, head()))
            self.assertIsNotNone(client.wait_for(RST_STREAM))
        self.assertLess(self.memory() - before, 20 << 20)

    def random_frame(self, draw):
        """A frame that may be right, wrong, or cut off; requests more often than not."""
        stream = draw.choice([0, 1, 1, 3, 3, 5, 7, 2, 2**31 - 1])
        paths = ["/healthcheck", "/x", "/me", "/../", "/grpc.health.v1.Health/Watch",
                 "/grpc.health.v1.Health/Check"]
        block = head(draw.choice(paths), draw.choice(["GET", "POST", "HEAD"]), **draw.choice([
            {}, {"content_type": "application/grpc"}, {"content_length": "5"},
            {"grpc_timeout": "20m", "content_type": "application/grpc"}, {"te": "x"}]))
        kind = draw.choice([DATA, DATA, HEADERS, HEADERS, HEADERS, *range(11)])
        payload = {
            DATA: lambda: draw.choice([b"", b"\0\0\0\0\0", b"\0\0\0\0\2\x0a\0",
                                       b"x" * draw.randrange(16000)]),
            HEADERS: lambda: block, CONTINUATION: lambda: block,
            PRIORITY: lambda: struct.pack(">IB", draw.randrange(9), 1),
            RST_STREAM: lambda: b"\0\0\0\x08",
            SETTINGS: lambda: draw.choice([b"", b"\0\4\0\0\0\0", b"\0\4\0\1\0\0",
                                           b"\0\1\0\0\0\0"]),
            PING: lambda: b"abcdefgh",
            WINDOW_UPDATE: lambda: struct.pack(">I", draw.choice([1, 1000, 2**31 - 1])),
        }.get(kind, lambda: draw.randbytes(draw.randrange(20)))()
        made = frame(kind, draw.choice([0, END_STREAM, END_HEADERS, END_HEADERS | END_STREAM,
                                        draw.randrange(256)]), stream, payload)
        if draw.random() < 0.03:
            at = draw.randrange(len(made))
            made = made[:at] + draw.randbytes(draw.randrange(4)) + made[at + 1:]
        return made

    def test_random_frames(self):
        """In no order that makes sense, and now and then changed bytes; also in HTTP/1.1."""
        draw = random.Random(7)
        lines = [b"GET /healthcheck HTTP/1.1\r\n", b"POST /x HTTP/1.1\r\n", b"Host: localhost\r\n",
                 b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"\r\n", b"hello",
                 b"5\r\nhello\r\n", b"0\r\n\r\n", b"Expect: 100-continue\r\n",
                 b"Connection: close\r\n", b"Connection: upgrade\r\nUpgrade: h2c\r\n", b"\0"]
        for _ in range(20000 if IS_LONG else 400):
            with self.client() as client:
                if draw.random() < 0.8:
                    client.begin()
                    sent = b"".join(self.random_frame(draw) for _ in range(draw.randrange(1, 30)))
                else:
                    sent = b"".join(draw.choices(lines, k=draw.randrange(1, 12)))
                client.send(sent)
                client.socket.settimeout(0.001)
                try:
                    client.rest()
                except TimeoutError:
                    pass  # it goes in the middle

    # ---- Connections ----

    def memory(self):
        text = open(f"/proc/{self.serving.process.pid}/status").read()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) * 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.serving.process.pid}/fd"))

    def test_many_connections(self):
        """They come, say a little or nothing, and go, half of them without a word; none stays."""
        count = LIMITS["CONNECTIONS_MAX"] - 100 if IS_LONG else 400
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 2000), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        path = f"unix:{self.folder}/socket"
        self.stop()
        self.address, other = self.serve("--http", "0", "--http", path)
        before, memory = self.descriptors(), self.memory()
        clients = []
        for number in range(count):
            client = Client(other)
            clients.append(client)
            client.send((b"", b"GET /", PREFACE, PREFACE + frame(SETTINGS, 0, 0))[number % 4])
        wait_until(lambda: self.descriptors() >= before + min(count, 500), "they are accepted")
        begun = time.monotonic()
        self.assertEqual(self.curl(self.address, "/healthcheck")[0], 200)
        self.assertLess(time.monotonic() - begun, 10)
        if not IS_SANITIZED:  # which keep what was freed
            self.assertLess(self.memory() - memory, count * (40 << 10) + (8 << 20))
        for number, client in enumerate(clients):
            if number % 2:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                         struct.pack("ii", 1, 0))
            client.socket.close()
        # The engine itself may open a few meanwhile.
        wait_until(lambda: self.descriptors() <= before + 8, "all are closed")

    def test_clients_that_go_in_the_middle(self):
        body = b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n"
        before = self.descriptors()
        for data in (b"", b"GET", body, body + 5000 * b"x", PREFACE,
                     PREFACE + frame(SETTINGS, 0, 0) +
                     frame(HEADERS, END_HEADERS, 1, head("/x", "POST")),
                     PREFACE + frame(SETTINGS, 0, 0) +
                     frame(HEADERS, END_HEADERS | END_STREAM, 1,
                           head("/grpc.health.v1.Health/Watch", "POST",
                                content_type="application/grpc"))):
            for linger in (0, 1):
                with self.client() as client:
                    client.send(data)
                    if linger:
                        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                                 struct.pack("ii", 1, 0))
        # The engine itself may open a few meanwhile.
        wait_until(lambda: self.descriptors() <= before + 8, "all are closed")


if __name__ == "__main__":
    unittest.main()
