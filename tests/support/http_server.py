#!/usr/bin/env python3
"""A small HTTP server that answers as its paths say, for tests of HTTP clients.

    http_server.py [--tls PEM [--client-ca PEM]]

It listens on a free port of 127.0.0.1, prints the port in one line, and ends when its stdin does.

    /status/N        status N, with a short body
    /retry/AFTER     429 with Retry-After, unquoted
    /echo            method, path, headers and body of the request, as text
    /bearer/TOKEN    200 to who says "Authorization: Bearer TOKEN", else 401
    /signed/...      200 to who signs (AWS Signature Version 4) with the key AKID, s3cr3t/+key for
                     eu-test-1 and s3; 403 to others, with what should have been signed
    /bytes/N         N bytes, with their number told beforehand
    /chunks/N        N bytes in chunks, with their number not told
    /slow/MS         an answer after MS milliseconds
    /lines/N/MS      N lines, one each MS milliseconds
    /flood/N/BYTES   N lines of so many bytes, as fast as they are taken
    /streams         how many streams (lines, floods) are being sent
    /hang            headers and half a body, then nothing
    /lost            nothing, and the end of the connection; it is counted
    /losses          how often something was lost
    /broken          half a body, then the end of the connection
    /garbage         what is no HTTP
    /headers/N       N bytes of headers
    /redirect/N      N redirects, then /echo
    /count/MS        like /slow, and tells how many such requests were there at once, at most
"""

import argparse
import calendar
import hashlib
import hmac
import http.server
import os
import re
import ssl
import sys
import threading
import time
import urllib.parse


class Count:
    lock = threading.Lock()
    now = 0
    most = 0


class Losses:
    lock = threading.Lock()
    now = 0


class Streams:
    lock = threading.Lock()
    now = 0

    def __enter__(self):
        with Streams.lock:
            Streams.now += 1

    def __exit__(self, *what):
        with Streams.lock:
            Streams.now -= 1


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status >= 200 and status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(body)

    def handle_one(self):
        parts = self.path.strip("/").split("/")
        deed = getattr(self, "do_it_" + parts[0], None)
        size = int(self.headers.get("Content-Length", 0))
        self.body = self.rfile.read(size)
        if deed is None:
            self.answer(404, b"no such path\n")
            return
        try:
            deed(*parts[1:])
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_PURGE = handle_one

    def do_it_status(self, status):
        self.answer(int(status), b"status " + status.encode() + b"\n", [("X-Test", "yes")])

    def do_it_retry(self, after):
        self.answer(429, b"later\n", [("Retry-After", urllib.parse.unquote(after))])

    def do_it_echo(self):
        lines = [self.command + " " + self.path + "\n"]
        lines += [name + ": " + value + "\n" for name, value in self.headers.items()]
        self.answer(200, "".join(lines).encode() + b"\n" + self.body)

    def do_it_bearer(self, token):
        is_known = self.headers.get("Authorization") == "Bearer " + token
        self.do_it_status("200" if is_known else "401")

    def do_it_signed(self, *names):
        sent = self.headers.get("Authorization", "")
        match = re.fullmatch("AWS4-HMAC-SHA256 Credential=AKID/(\\d{8})/eu-test-1/s3/aws4_request, "
                             "SignedHeaders=([^,]+), Signature=([0-9a-f]{64})", sent)
        day, signed, signature = match.groups() if match else ("", "", "")
        path, _, query = self.path.partition("?")
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
        pairs = sorted((urllib.parse.quote(name, safe=""), urllib.parse.quote(value, safe=""))
                       for name, value in pairs)
        canonical = [self.command, urllib.parse.quote(urllib.parse.unquote(path), safe="/"),
                     "&".join(name + "=" + value for name, value in pairs)]
        canonical += [name + ":" + self.headers.get(name, "").strip() for name in signed.split(";")]
        canonical += ["", signed, hashlib.sha256(self.body).hexdigest()]
        text = "\n".join(canonical)
        moment = self.headers.get("x-amz-date", "")
        words = "\n".join(["AWS4-HMAC-SHA256", moment, day + "/eu-test-1/s3/aws4_request",
                           hashlib.sha256(text.encode()).hexdigest()])
        key = b"AWS4s3cr3t/+key"
        for step in (day, "eu-test-1", "s3", "aws4_request", words):
            key = hmac.new(key, step.encode(), hashlib.sha256).digest()
        must = {"host", "x-amz-content-sha256", "x-amz-date"}
        must |= {name.lower() for name in self.headers if name.lower().startswith("x-amz-")}
        is_sound = (key.hex() == signature and must <= set(signed.split(";"))
                    and signed == ";".join(sorted(signed.split(";")))
                    and self.headers.get("x-amz-content-sha256") == canonical[-1]
                    and abs(time.time() - calendar.timegm(
                        time.strptime(moment, "%Y%m%dT%H%M%SZ"))) < 60)
        self.answer(200 if is_sound else 403, text.encode())

    def do_it_bytes(self, count):
        self.answer(200, b"x" * int(count))

    def begin_chunks(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def do_it_chunks(self, count):
        self.begin_chunks()
        left = int(count)
        while left > 0:
            size = min(left, 10000)
            self.chunk(b"x" * size)
            left -= size
        self.chunk(b"")

    def do_it_slow(self, wait_ms):
        time.sleep(int(wait_ms) / 1000)
        self.answer(200, b"slow\n")

    def do_it_lines(self, count, wait_ms):
        self.begin_chunks()
        with Streams():
            for number in range(int(count)):
                time.sleep(int(wait_ms) / 1000)
                # Lines and chunks do not end together.
                text = b"line %d\r\nli" % number if number % 2 == 0 else b"ne %d\n" % number
                self.chunk(text)
            self.chunk(b"")

    def do_it_flood(self, count, size):
        self.begin_chunks()
        left = int(count)
        line = b"x" * (int(size) - 1) + b"\n"
        with Streams():
            while left > 0:
                lines = min(left, 64)
                self.chunk(line * lines)
                left -= lines
            self.chunk(b"")

    def do_it_streams(self):
        with Streams.lock:
            self.answer(200, b"%d\n" % Streams.now)

    def do_it_hang(self):
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b"half ")
        self.wfile.flush()
        time.sleep(60)

    def do_it_lost(self):
        with Losses.lock:
            Losses.now += 1
        self.close_connection = True

    def do_it_losses(self):
        with Losses.lock:
            self.answer(200, b"%d\n" % Losses.now)

    def do_it_broken(self):
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b"half ")
        self.close_connection = True

    def do_it_garbage(self):
        self.wfile.write(b"this is no HTTP\r\n\r\n")
        self.close_connection = True

    def do_it_headers(self, size):
        self.answer(200, b"", [("X-Long", "x" * 1000)] * (int(size) // 1000))

    def do_it_redirect(self, count):
        left = int(count)
        where = "/redirect/%d" % (left - 1) if left > 1 else "/echo"
        self.answer(302, b"elsewhere\n", [("Location", where), ("X-Redirect", "yes")])

    def do_it_count(self, wait_ms):
        with Count.lock:
            Count.now += 1
            Count.most = max(Count.most, Count.now)
        time.sleep(int(wait_ms) / 1000)
        with Count.lock:
            Count.now -= 1
            most = Count.most
        self.answer(200, b"%d\n" % most)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tls")
    parser.add_argument("--client-ca")
    options = parser.parse_args()
    server = Server(("127.0.0.1", 0), Handler)
    if options.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.tls)
        if options.client_ca:
            context.load_verify_locations(options.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
