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

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
jobs = {}
made = 0
calls = collections.Counter()
lock = threading.Lock()


def make(row):
    global made
    if row["id"] not in jobs:
        made += 1
        jobs[row["id"]] = {**row["job"], "begun": time.monotonic(), "cancelled": False}
    return look(row["id"])


def look(name):
    job = jobs.get(name)
    if job is None:
        return {"id": name, "state": "unknown"}
    if job["cancelled"]:
        return {"id": name, "state": "cancelled"}
    if time.monotonic() - job["begun"] < SECONDS:
        return {"id": name, "state": "running"}
    if job["work"] != "sum":
        return {"id": name, "state": "failed", "message": f"the work was to {job['work']}"}
    inputs = json.loads(job["inputs"])
    total = sum(value for value in inputs.values() if isinstance(value, (int, float)))
    return {"id": name, "state": "done", "outputs": json.dumps({"sum": total})}


def cancel(name):
    if look(name)["state"] == "running":
        jobs[name]["cancelled"] = True
    return look(name)


ACTS = {"/jobs": make, "/jobs/status": look, "/jobs/cancel": cancel}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        act = ACTS.get(self.path)
        with lock:
            calls[self.path] += 1
            self.answer(404 if act is None else 200, [act(row) for row in rows] if act else [])

    def do_GET(self):
        with lock:
            self.answer(200, made if self.path == "/made" else calls)

    def answer(self, status, document):
        body = json.dumps(document).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print(f"jobs are taken at http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
