#!/usr/bin/env python3
"""What the console's pages take in a browser, Chromium without a window: a list over N executions,
an execution with an array of N elements, and a graph of N / 100 nodes. Prints a JSON line per
figure; README.md says what each is.

    console.py --size N [--milliseconds M]

The list is that of list.py. The array is one that is aborted at once: its elements are all there,
and looking at it takes the same. A time is from the navigation until what is looked for stands on
the page. `console_assets_bytes` is all that pages load, compressed as it is sent. Streams are those
of web.py; beside them stands what the bare sending of as many events takes.
"""

import argparse
import gzip
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import list as lists
import web

sys.path.insert(0, str(lists.ROOT / "tests/integration"))

from browser import Browser  # noqa: E402

NAMED = "/console/executions/default/development/"
FRAMES = 120

# What the goal of streams is: events a second for each of them, and how large one is.
EVENTS_PER_S = 10
EVENT_BYTES = 600

# Milliseconds between frames while the graph is moved to and fro: [median, 95 of a hundred].
MOVE = """new Promise((done) => {
    const canvas = document.querySelector('canvas');
    const times = [];
    const step = (now) => {
        times.push(now);
        const deltaX = times.length %% 20 < 10 ? 30 : -30;
        canvas.dispatchEvent(new WheelEvent('wheel', {deltaX, deltaY: 0}));
        if (times.length <= %d) { requestAnimationFrame(step); return; }
        const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
        done([gaps[gaps.length >> 1], gaps[Math.floor(gaps.length * 0.95)]]);
    };
    requestAnimationFrame(step);
})"""

GOALS = {"console_list_ms": 200, "console_list_failed_ms": 200, "console_array_ms": 1000,
         "console_array_heap_bytes": 50_000_000, "console_graph_ms": 2000,
         "console_pan_frame_ms": 1000 / 60, "console_assets_bytes": 300_000,
         "console_port_bytes": 1 << 20, "console_idle_percent": 0, "console_streams_percent": 5}

ARRAY = """
troupe: 1
tasks:
  range:
    inputs: {n: int}
    outputs: {ns: [int]}
    run: [python3, -c, 'import json, sys; print(json.dumps({"ns": list(range(int(sys.argv[1])))}))',
          '{{.inputs.n}}']
    stdout: outputs
  t: {inputs: {n: int}, run: ["true"]}
workflows:
  main:
    inputs: {n: int}
    nodes: {range: {task: range, with: {n: $n}}, wide: {map: t, with: {n: $range.ns}}}
"""


def graph_of(count):
    """Layers of a hundred nodes, each behind two of the layer before."""
    def node(i):
        return "{sleep: 1d}" if i < 100 else f"{{sleep: 1d, after: [n{i - 100}, n{i - 99}]}}"
    nodes = "".join(f"      n{i}: {node(i)}\n" for i in range(count))
    return f"troupe: 1\nworkflows:\n  large:\n    nodes:\n{nodes}"


def make_array(store, folder, size):
    """Ends it when its elements are there, and waits for that."""
    submit(store, folder, "wide", ARRAY, "-i", f"n={size}")
    phase = None
    while phase not in ("running", "failed"):
        time.sleep(0.2)
        phase = json.loads(troupe(store, "get", "wide/wide", "-o", "json"))["phase"]
    troupe(store, "abort", "wide", "--now")
    troupe(store, "watch", "wide", check=False)  # which ended with no success


def send_events(listener, seconds):
    """Sends as many events as streams want to all who are there; percent of a core that it took."""
    clients = [listener.accept()[0] for _ in range(web.STREAMS)]
    event = b"x" * EVENT_BYTES
    begin, begin_s, next_s = time.monotonic(), time.process_time(), time.monotonic()
    while time.monotonic() - begin < seconds:
        for client in clients:
            client.send(event, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        next_s += 1 / EVENTS_PER_S
        time.sleep(max(0, next_s - time.monotonic()))
    return 100 * (time.process_time() - begin_s) / (time.monotonic() - begin)


def bare_percent(seconds):
    """Of one core, what sending takes alone: a loop of sends to readers in another process."""
    with socket.create_server(("127.0.0.1", 0), backlog=web.STREAMS) as listener:
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.write(writing, str(send_events(listener, seconds)).encode())
            os._exit(0)
        streams = web.open_streams(listener.getsockname()[1])
        web.count_events(streams, 0.9 * seconds)
        os.wait()
        percent = float(os.read(reading, 100))
    os.close(reading)
    os.close(writing)
    return percent


class Tab:
    """A page whose time and memory are measured."""

    def __init__(self, browser, port):
        self.address = f"http://127.0.0.1:{port}"
        self.page = browser.page("about:blank")
        self.page.ask("Performance.enable", timeDomain="threadTicks")
        self.page.ask("HeapProfiler.enable")

    def show(self, path, there):
        """Milliseconds until something is there."""
        self.page.open("about:blank")
        begin = time.monotonic()
        self.page.ask("Page.navigate", url=self.address + path)
        self.page.until(there)
        return 1000 * (time.monotonic() - begin)

    def show_often(self, path, there, times=5):
        """Medians, of the time and of what its thread worked; the first fills the caches."""
        took, worked = [], []
        for _ in range(times + 1):
            took.append(self.show(path, there))
            worked.append(1000 * self.metric("TaskDuration"))  # of this page: it counts from 0
        return statistics.median(took[1:]), statistics.median(worked[1:])

    def metric(self, name):
        metrics = self.page.ask("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == name)

    def heap_bytes(self):
        self.page.ask("HeapProfiler.collectGarbage")
        return self.metric("JSHeapUsedSize")


def assets_bytes(port):
    """Files that the page names, and the one that a graph's worker is."""
    def get(path):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", path, headers={"accept-encoding": "gzip"})
        return connection.getresponse().read()
    index = get("/console/")
    named = re.findall(r'(?:src|href)="(/console/[^"]+)"', gzip.decompress(index).decode())
    return len(index) + sum(len(get(path)) for path in [*named, "/console/layout_worker.js"])


def submit(store, folder, name, text, *words):
    (folder / f"{name}.yaml").write_text(text)
    troupe(store, "submit", folder / f"{name}.yaml", "--name", name, *words)


def troupe(store, command, *words, check=True):
    done = subprocess.run([lists.TROUPE, command, *words, "--store", store.locator], check=check,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout


def measure_streams(show, served, seconds):
    begin_s, begin = served.cpu_s(), time.monotonic()
    time.sleep(5 * seconds)
    show("console_idle_percent", 100 * (served.cpu_s() - begin_s) / (time.monotonic() - begin), "%")
    alone, percent, changes, each, pieces = web.measure_streams(served, 5 * seconds)
    show("console_streams_percent", percent - alone, "%")
    show("console_stream_changes_per_second", changes, "/s")
    show("console_stream_events_per_second", each, "/s")
    show("console_stream_pieces_per_second", pieces, "/s")
    show("console_bare_sends_percent", bare_percent(5 * seconds), "%")


def measure(show, tab, served, seconds):
    """Each page, when it is there; how long, and how long the page's own thread worked for it."""
    ready = "document.querySelector('canvas[data-ready]')"
    name = "document.querySelector('td.name a')"
    for figure, path, there in (
            ("list", "/console/", name),
            ("list_failed", "/console/executions?phase=failed&workflow=flow_7", name),
            ("array", NAMED + "wide?node=wide", "document.querySelector('.cells canvas')"),
            ("graph", NAMED + "large?view=graph", ready)):
        took_ms, worked_ms = tab.show_often(path, there)
        show(f"console_{figure}_ms", took_ms, "ms")
        show(f"console_{figure}_worked_ms", worked_ms, "ms")
        show(f"console_{figure}_heap_bytes", tab.heap_bytes(), "bytes")
    middle, late = tab.page.run(MOVE % FRAMES)
    show("console_pan_frame_ms", middle, "ms")
    show("console_pan_late_frame_ms", late, "ms")
    show("console_assets_bytes", assets_bytes(served.port), "bytes")
    tab.show("/console/", name)
    begin_s, begin = served.cpu_s(), time.monotonic()
    tab.page.run(f"new Promise((done) => setTimeout(done, {5000 * seconds}))")
    show("console_watched_percent",
         100 * (served.cpu_s() - begin_s) / (time.monotonic() - begin), "%")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--milliseconds", type=int, default=1000)
    arguments = parser.parse_args()
    size = arguments.size
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-bench-"))
    store = lists.Sqlite(folder)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    lists.MADE_UP["record_execution"].update(zip(("phase", "ended_ms"), web.ENDED))

    def show(figure, value, unit):
        goal = {"goal": GOALS[figure]} if figure in GOALS else {}
        print(json.dumps({"figure": figure, "n": size, "value": value, "unit": unit, "workers": 0,
                          "durability": "sqlite", "rss_bytes": 0, **goal}), flush=True)

    browser = Browser()  # before there are many descriptors: its shell takes small ones
    try:
        lists.make(store, folder, size)
        closed = web.Served(store)
        without = closed.memory_bytes()
        closed.stop()
        served = web.Served(store, "--http", "0")
        show("console_port_bytes", served.memory_bytes() - without, "bytes")
        make_array(store, folder, size)
        submit(store, folder, "large", graph_of(max(1, size // 100)))
        measure(show, Tab(browser, served.port), served, arguments.milliseconds / 1000)
        measure_streams(show, served, arguments.milliseconds / 1000)
        served.stop()
    finally:
        browser.close()
        store.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
