#!/usr/bin/env python3
"""What the HTTP API takes over N executions: pages and documents, an open port that nobody asks,
and a thousand streams of events. Prints a JSON line per figure; README.md says what each is.

    web.py --size N [--milliseconds M]

The store is that of list.py, with all executions ended. Ten more begin in each second while streams
are open, of which these hear.
"""

import argparse
import http.client
import json
import os
import pathlib
import resource
import selectors
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import list as lists

BASE = "/api/troupe/v1"
STREAMS = 1000
CHANGES_PER_S = 10
GATE = """
troupe: 1
tasks: {t: {run: ["true"]}}
workflows:
  main: {nodes: {ok: {approve: go}}}
"""
ENDED = (f"CASE WHEN i % 100 = 7 THEN {lists.FAILED} ELSE {lists.SUCCEEDED} END",
         "r.ended_ms - 1000 * i")


class Served:
    """An engine of a store, with a port or without."""

    def __init__(self, store, *words):
        self.process = subprocess.Popen([lists.TROUPE, "serve", "--store", store.locator, *words],
                                        stderr=subprocess.PIPE, text=True)
        self.port = None
        for line in self.process.stderr:
            if " clients at " in line:
                self.port = int(line.rsplit(":", 1)[1])
            if "insecure" in line or not words and " serves " in line:
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1]
        ticks = sum(map(int, fields.split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory_bytes(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return 1024 * int(text.split("Private_Dirty:")[1].split()[0])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def ask(connection, path, body=None):
    headers = {"content-type": "application/json"} if body is not None else {}
    connection.request("GET" if body is None else "POST", BASE + path, body, headers)
    response = connection.getresponse()
    said = response.read()
    if response.status >= 300:
        sys.exit(f"web.py: {path} is answered with {response.status}: {said.decode()}")
    return json.loads(said)


def ask_often(connection, path, seconds):
    times, end = [], time.monotonic() + seconds
    while len(times) < 5 or time.monotonic() < end:
        begin = time.monotonic()
        ask(connection, path)
        times.append(1000 * (time.monotonic() - begin))
    return statistics.median(times)


def open_streams(port):
    request = (f"GET {BASE}/executions?limit=1 HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
               "accept: text/event-stream\r\n\r\n").encode()
    streams = selectors.DefaultSelector()
    for _ in range(STREAMS):
        one = socket.create_connection(("127.0.0.1", port))
        one.sendall(request)
        one.setblocking(False)
        streams.register(one, selectors.EVENT_READ)
    return streams


def count_events(streams, seconds):
    """What comes within a time while another thread makes the changes: events, and the pieces that
    they come in."""
    events, pieces, end = 0, 0, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        for key, _ in streams.select(left):
            found = key.fileobj.recv(1 << 16).count(b"event: document")
            events += found
            pieces += found > 0
    return events, pieces


def change(port, is_over, made):
    """Begins an execution each time, and tells when: what is watched never comes back to what it
    was."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body, next_s = json.dumps({"definition": GATE}), time.monotonic()
    while not is_over.wait(max(0, next_s - time.monotonic())):
        ask(connection, "/executions", body)
        made.append(time.monotonic())
        next_s += 1 / CHANGES_PER_S


def measure_streams(served, seconds):
    """Of one core in percent, without streams and with; changes in a second meanwhile, events that
    each stream had of them, and pieces that these came in."""
    def cost(streams):
        is_over, made = threading.Event(), []
        changing = threading.Thread(target=change, args=(served.port, is_over, made))
        changing.start()
        count_events(streams, 1)
        begin_s, begin, before = served.cpu_s(), time.monotonic(), len(made)
        events, pieces = count_events(streams, seconds)
        took = time.monotonic() - begin
        percent = 100 * (served.cpu_s() - begin_s) / took
        changes = (len(made) - before) / took
        is_over.set()
        changing.join()
        return percent, changes, events / took / STREAMS, pieces / took / STREAMS
    alone, *_ = cost(selectors.DefaultSelector())
    streams = open_streams(served.port)
    count_events(streams, 3)
    return alone, *cost(streams)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--milliseconds", type=int, default=1000)
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-bench-"))
    store = lists.Sqlite(folder)
    seconds = arguments.milliseconds / 1000
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    lists.MADE_UP["record_execution"].update(zip(("phase", "ended_ms"), ENDED))

    def show(figure, value, unit):
        print(json.dumps({"figure": figure, "n": arguments.size, "value": value, "unit": unit,
                          "workers": 0, "durability": "sqlite", "rss_bytes": 0}), flush=True)

    try:
        lists.make(store, folder, arguments.size)
        closed = Served(store)
        without = closed.memory_bytes()
        closed.stop()
        served = Served(store, "--http", "0")
        show("web_port_bytes", served.memory_bytes() - without, "bytes")
        begin_s, begin = served.cpu_s(), time.monotonic()
        threading.Event().wait(5 * seconds)
        show("web_idle_percent", 100 * (served.cpu_s() - begin_s) / (time.monotonic() - begin), "%")
        connection = http.client.HTTPConnection("127.0.0.1", served.port)
        for figure, path in {
                "web_health_ms": "/engine", "web_list_newest_ms": "/executions",
                "web_list_workflow_ms": "/executions?workflow=flow_17",
                "web_list_label_ms": "/executions?label=team%3Dteam_3",
                "web_list_failed_ms": "/executions?workflow=flow_7&phase=failed",
                "web_page_1000_ms": "/executions?limit=1000",
                "web_get_ms": "/executions/default/development/"
                              f"run_{arguments.size // 2}"}.items():
            show(figure, ask_often(connection, path, seconds), "ms")
        alone, percent, changes, each, pieces = measure_streams(served, 5 * seconds)
        show("web_changes_percent", alone, "%")
        show("web_streams_percent", percent, "%")
        show("web_stream_changes_per_second", changes, "/s")
        show("web_stream_events_per_second", each, "/s")
        show("web_stream_pieces_per_second", pieces, "/s")
        show("web_streams_bytes", served.memory_bytes() - without, "bytes")
        served.stop()
    finally:
        store.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
