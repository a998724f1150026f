#!/usr/bin/env python3
"""Files in the console: text, JSON, tables, pictures and pages of HTML, each from a task's output;
and what a page that means harm can reach from its frame, which is nothing.
"""

import base64
import http.server
import json
import struct
import threading
import unittest
import zlib

from console import ConsoleTest
from program import wait_until

# Three rows of `name` and `born`, not compressed.
PARQUET = base64.b64decode(
    "UEFSMRUGFTQVOFwVBhUAFQYVABUEFQAAAAMHGFwDAAAAQWRhBQAAAEdyYWNlBAAAAEFsYW4VBhUcFSBcFQYVABUGFQAV"
    "BBUAAAADBwwsFwcAAHIHAAB4BwAAFQQZPEgEcm9vdBUEABUMJQIYBG5hbWUlAAAVAiUCGARib3JuABYGGRwZLCYIHBUM"
    "GRUAGRgEbmFtZRUCFgYWXhZiJggAACZqHBUCGRUAGRgEYm9ybhUCFgYWRhZKJmoAABakARYGNqwBACgJaHlwYXJxdWV0"
    "GSwcAAAcAAAAfgAAAFBBUjE=")

# What it tries, each under a name; what came of it is told to the page around it.
HOSTILE = """<h1>A deck</h1><p id="ran">no script ran</p><script>
document.getElementById('ran').textContent = 'its script ran';
const found = {};
const tries = {
  cookie: () => document.cookie,
  storage: () => localStorage.length,
  session: () => sessionStorage.length,
  parent: () => parent.document.title,
  top: () => top.document.body.innerHTML,
  frame: () => frameElement.id,
  navigate: () => {
    if (top === window) { throw new Error('its own top'); }
    top.location = 'SINK/top';
    return top.location.href; },
  api: async () => (await fetch('/api/troupe/v1/executions')).status,
  act: async () => (await fetch('/api/troupe/v1/executions/default/development/one/abort', {
    method: 'POST', mode: 'no-cors', headers: {'content-type': 'application/json'},
    body: '{}'})).type,
  elsewhere: async () => (await fetch('SINK/fetch', {mode: 'no-cors'})).type,
  request: () => new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.onload = () => done(request.status);
    request.onerror = fail;
    request.open('GET', 'SINK/request');
    request.send(); }),
  beacon: () => navigator.sendBeacon('SINK/beacon', 'x') ? new Promise(() => {}) : null,
  picture: () => new Promise((done, fail) => {
    const picture = new Image(); picture.onload = done; picture.onerror = fail;
    picture.src = 'SINK/picture'; }),
  script: () => new Promise((done, fail) => {
    const script = document.createElement('script'); script.onload = done; script.onerror = fail;
    script.src = '/console/app.js'; document.head.append(script); }),
  inner: () => { const inner = document.createElement('iframe'); inner.src = '/console/';
    document.body.append(inner); return inner.contentDocument.title; },
  window: () => open('SINK/window').closed,
  worker: () => navigator.serviceWorker.register('/console/app.js'),
  origin: () => {
    if (origin === 'null') { throw new Error('an origin of its own'); }
    return origin; },
};
for (const [name, attempt] of Object.entries(tries)) {
  let told = false;
  const tell = (what) => { if (!told) { told = true; found[name] = what; look(); } };
  try {
    Promise.resolve(attempt()).then((value) => tell('reached ' + value), () => tell('kept out'));
  } catch { tell('kept out'); }
  if (name === 'beacon') { tell('kept out'); }
}
function look() {
  if (Object.keys(found).length === Object.keys(tries).length) { parent.postMessage(found, '*'); }
}
const form = document.createElement('form');
form.action = 'SINK/form'; document.body.append(form); form.submit();
</script>"""
TRIES = {"cookie", "storage", "session", "parent", "top", "frame", "navigate", "api", "act",
         "elsewhere", "request", "beacon", "picture", "script", "inner", "window", "worker",
         "origin"}

FLOW = """
troupe: 1
tasks:
  gives:
    outputs: {csv: file, data: file, lines: file, page: file, picture: file, rows: file,
              empty: file, odd: file, log: file}
    run: [sh, -c, 'cp "$0"/files/* .; cat outputs', FOLDER]
    stdout: outputs
  leaves: {run: [sh, -c, 'echo it leaves one; cp "$0"/files/p.html ../deck.html', FOLDER]}
workflows:
  main: {nodes: {gives: {task: gives}, leaves: {task: leaves}}, outputs: {csv: $gives.csv}}
"""


def picture(width, height):
    """A PNG of one colour."""
    def part(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))
    rows = (b"\0" + b"\x2f\x55\xc9" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head)
            + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))


class Sink:
    """A server that nobody ought to come to; the paths that were asked for."""

    def __init__(self):
        seen = self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(self.path)
                self.send_response(200)
                self.end_headers()
            do_POST = do_GET

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class FilesTest(ConsoleTest):
    """An execution whose outputs are files of all kinds."""

    def give(self, page, execution="one"):
        names = {"csv": "t.csv", "data": "d.json", "lines": "l.jsonl", "page": "p.html",
                 "picture": "p.png", "rows": "r", "empty": "e.txt", "odd": "o.bin",
                 "log": "big.log"}
        files = {"outputs": json.dumps(names),
                 "t.csv": 'name,"what, where"\nAda,"London ""1815"""\n' + "row,x\n" * 60,
                 "d.json": json.dumps({"a": [1, 2], "b": "text"}),
                 "l.jsonl": '{"n": 1}\n{"n": 2}\n',
                 "p.html": page, "p.png": picture(120, 40), "r": PARQUET, "e.txt": "",
                 "o.bin": bytes(range(256)), "big.log": "a line of the log\n" * 20000}
        (self.folder / "files").mkdir(exist_ok=True)
        for name, content in files.items():
            (self.folder / "files" / name).write_bytes(
                content if isinstance(content, bytes) else content.encode())
        self.write("files.yaml", FLOW.replace("FOLDER", str(self.folder)))
        self.troupe("submit", "files.yaml", "--name", execution)
        self.wait_for_phase(execution, "succeeded")

    def values(self, node="gives"):
        page = self.page(self.of("one", f"?node={node}"))
        page.click("aside button", "Values")
        return page


class Console(FilesTest):
    def show(self, page, name):
        page.click(f"[aria-label='Show {name}']")

    def test_each_kind(self):
        self.begin()
        self.give("<h1>A page</h1>")
        page = self.values()
        page.sees('London "1815"')
        page.sees("what, where")
        page.sees("The first rows; the file has more.")
        page.sees('"b": "text"')
        page.until("[...document.querySelectorAll('.values th')].some((th) => th.innerText == 'n')")
        page.until("document.querySelector('iframe.deck')")
        page.until("document.querySelector('img.preview')?.naturalWidth == 120")
        page.sees("Grace")
        page.sees("1906")
        page.sees("It is empty.")
        page.sees("Its bytes are no text that could be shown.")
        page.sees("The first 65,536 of 360,000 bytes.")
        self.assertEqual(page.run("document.querySelector('iframe.deck').getAttribute('sandbox')"),
                         "allow-scripts")
        self.assertEqual(page.run("document.querySelectorAll('a[download=\"t.csv\"]').length"), 1)
        page.click("[aria-label='Hide t.csv']")
        page.until("!document.body.innerText.includes('London')")
        self.show(page, "t.csv")
        page.sees("London")
        self.assert_well(page)
        page.open(self.url + self.of("one", "?view=values"))
        page.sees("London")

    def test_decks_of_attempts(self):
        self.begin()
        self.give("<h1>A deck</h1>")
        page = self.values("leaves")
        page.sees("Decks")
        page.until("document.querySelector('iframe.deck')")

    def test_a_store_without_an_engine(self):
        """`troupe console` gives them itself."""
        self.begin()
        self.give("<h1>A page</h1>")
        self.stop()
        console = self.start("console", "--no-open")
        console.wait_for("/console/", "stdout")
        self.url = console.lines["stdout"][0].strip().rstrip("/")
        page = self.values()
        page.sees("London")
        page.sees("Grace")

    def test_what_is_gone_is_told(self):
        self.begin()
        self.give("<h1>A page</h1>")
        for row in self.document("files", "one/gives"):
            if row["value"] == "data":
                (self.folder / row["path"]).unlink()
        page = self.values()
        page.sees("there is no such file, or not any more")

    def test_a_page_that_means_harm(self):
        """Its scripts run, and reach no cookie, no page, no API and nothing elsewhere."""
        sink = Sink()
        self.addCleanup(sink.close)
        self.begin()
        self.give(HOSTILE.replace("SINK", sink.url))
        page = self.page(self.of("one", "?node=gives"))
        page.run("document.cookie = 'secret=1'; sessionStorage.setItem('troupe-token', 'secret')")
        page.run("window.told = null; addEventListener('message', (event) => {"
                 "window.told = {found: event.data, origin: event.origin}; }); true")
        page.click("aside button", "Values")
        page.until("window.told")
        told = page.run("window.told")
        self.assertEqual(told["origin"], "null")
        self.assertEqual(told["found"], {name: "kept out" for name in TRIES})
        self.assertTrue(page.run("location.pathname").startswith("/console/executions/"))
        self.assertEqual(self.phase("one"), "succeeded")
        self.assertEqual(sink.seen, [])

    def test_opened_alone_it_is_kept_in_as_well(self):
        """By its URL, in a tab: the policy of the answer makes the origin, not the frame."""
        sink = Sink()
        self.addCleanup(sink.close)
        self.begin()
        self.give(HOSTILE.replace("SINK", sink.url))
        row = next(row for row in self.document_of("files?node=gives") if row["value"] == "page")
        page = self.page("/")
        page.open(f"http://{self.address}{row['url']}")
        page.sees("its script ran")
        self.assertEqual(page.run("origin"), "null")
        wait_until(lambda: page.run("Object.keys(found).length") >= len(TRIES) - 1, "it has tried")
        found = page.run("found")
        own = {"parent", "top", "frame", "navigate", "inner", "beacon"}  # it is its own top here
        self.assertEqual({name: what for name, what in found.items() if name not in own},
                         {name: "kept out" for name in TRIES - own if name in found})
        self.assertNotIn("/fetch", sink.seen)
        self.assertNotIn("/picture", sink.seen)
        self.assertNotIn("/form", sink.seen)

    def document_of(self, path):
        import urllib.request
        url = f"http://{self.address}/api/troupe/v1/executions/default/development/one/{path}"
        with urllib.request.urlopen(url) as answer:
            return json.load(answer)


if __name__ == "__main__":
    unittest.main()
