#!/usr/bin/env python3
"""A job server to write a plugin for: python3 job_server.py PORT [SECONDS].

    POST /jobs          [{"id": ID, "job": {"work", "queue", "inputs"}}, ...]  makes jobs
    POST /jobs/status   [ID, ...]
    POST /jobs/cancel   [ID, ...]
    GET  /made          how many jobs were made
    GET  /calls         how often each of the three was called

All of the first three are answered with [{"id", "state", "message", "outputs"}, ...], where state
is queued, running, done, failed, cancelled or unknown. A job whose ID is known is not made again.
Work is `sum` (of the inputs that are numbers), or `fail`; each takes SECONDS (else none).
"""

import collections
import http.server
import json
import sys
import threading
import time


class Jobs:
    """All jobs there are, and what each of the requests does with them."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds
        self.jobs = {}
        self.made = 0
        self.calls = collections.Counter()
        self.lock = threading.Lock()

    def make(self, row):
        if row["id"] not in self.jobs:
            self.made += 1
            self.jobs[row["id"]] = {**row["job"], "begun": time.monotonic(), "cancelled": False}
        return self.look(row["id"])

    def look(self, name):
        job = self.jobs.get(name)
        if job is None:
            return {"id": name, "state": "unknown"}
        if job["cancelled"]:
            return {"id": name, "state": "cancelled"}
        if time.monotonic() - job["begun"] < self.seconds:
            return {"id": name, "state": "running"}
        if job["work"] != "sum":
            return {"id": name, "state": "failed", "message": f"the work was to {job['work']}"}
        inputs = json.loads(job["inputs"])
        total = sum(value for value in inputs.values() if isinstance(value, (int, float)))
        return {"id": name, "state": "done", "outputs": json.dumps({"sum": total})}

    def cancel(self, name):
        if self.look(name)["state"] == "running":
            self.jobs[name]["cancelled"] = True
        return self.look(name)

    def answer(self, path, rows):
        """What a POST gives: a status and a document."""
        act = {"/jobs": self.make, "/jobs/status": self.look,
               "/jobs/cancel": self.cancel}.get(path)
        with self.lock:
            self.calls[path] += 1
            return (404, []) if act is None else (200, [act(row) for row in rows])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(*self.server.jobs.answer(self.path, rows))

    def do_GET(self):
        jobs = self.server.jobs
        self.answer(200, jobs.made if self.path == "/made" else jobs.calls)

    def answer(self, status, document):
        body = json.dumps(document).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def __init__(self, port, jobs):
        super().__init__(("127.0.0.1", port), Handler)
        self.jobs = jobs
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


if __name__ == "__main__":
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    server = Server(int(sys.argv[1]), Jobs(seconds))
    print(f"jobs are taken at {server.url}", flush=True)
    server.serve_forever()
