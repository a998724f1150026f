#!/usr/bin/env python3
"""The console in a browser: its pages with executions of the engine, changes, links,
back and reloads, tokens, and `troupe console` without an engine.
"""

import gzip
import hashlib
import http.client
import re
import signal
import unittest

from console import ConsoleTest
from program import LIMIT_S, ROOT, slowness

BYTES_MAX = 300 * 1000


class Console(ConsoleTest):
    def get(self, path, **headers):
        host, port = self.address.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
        connection.request("GET", path, headers={"accept-encoding": "gzip", **headers})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, body

    # ------------------------------------------------------------------------ as files

    def test_pages_are_small_and_closed(self):
        """The policy, types, tags and the size of all; and no script or style within a page."""
        self.begin()
        self.assertEqual(self.get("/")[1]["location"], "/console/")
        status, _, packed = self.get("/console/")
        text = gzip.decompress(packed).decode()
        files = re.findall(r'(?:src|href)="(/console/[^"]+)"', text)
        files += ["/console/layout_worker.js", "/console/parquet.js"]
        size = len(packed)
        for path in files:
            status, headers, body = self.get(path)
            size += len(body)
            self.assertEqual((status, headers["content-encoding"]), (200, "gzip"), path)
            self.assertEqual(headers["x-content-type-options"], "nosniff")
            policy = headers["content-security-policy"]
            self.assertIn("default-src 'none'; script-src 'self'; style-src 'self'", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(self.get(path, **{"if-none-match": headers["etag"]})[::2], (304, b""))
            status, plain, whole = self.get(path, **{"accept-encoding": "identity"})
            self.assertEqual((status, whole), (200, gzip.decompress(body)), path)
            self.assertNotIn("content-encoding", plain)
            self.assertEqual((plain["vary"], headers["vary"]), 2 * ("accept-encoding",))
        self.assertGreaterEqual(len(files), 4)
        self.assertLess(size, BYTES_MAX)
        self.assertNotRegex(text, r"<script(?![^>]*src=)|<style|style=|https?://(?!www\.w3\.org)")
        self.assertEqual(self.get("/console/any/view")[2], packed)

    # ------------------------------------------------------------------------ as pages

    def test_what_is_typed_stays(self):
        """Where the page changes below, a field that has not been left yet is as it is."""
        self.begin()
        page = self.page()
        page.sees("Nothing has run yet")
        page.run("document.querySelector('[name=workflow]').value = 'hal'")
        self.submit("inner", "one", "-i", "text=a")
        page.sees("one")
        self.assertEqual(page.run("document.querySelector('[name=workflow]').value"), "hal")

    def test_changes_are_seen(self):
        """Within a second, in the list and in an execution, without a reload; then the links."""
        self.begin()
        page = self.page()
        page.sees("Nothing has run yet")
        self.submit("main", "one")
        page.sees("one", slowness())
        self.wait_for_gate("one")
        page.until("document.querySelector('.badge')?.textContent.startsWith('1')")
        page.run("window.isOld = true")
        page.click("td.name a", "one")
        page.sees("it waits for approval")
        page.sees("inside")
        self.assertIn("waiting", page.text())
        self.troupe("approve", "one", "release")
        self.wait_for_phase("one", "succeeded")
        page.until("document.querySelector('.title .phase').textContent.endsWith('succeeded')",
                   slowness())
        self.assertTrue(page.run("window.isOld"))
        page.run("history.back()")
        page.until("location.pathname == '/console/' || location.pathname == '/console'")
        page.sees("Workflow")
        page.run("history.forward()")
        page.sees("Begun by")
        self.assert_well(page)

    def test_each_view_is_a_link(self):
        """Of an execution with inner workflows: its views and nodes, by link, reload and back."""
        self.begin()
        self.submit("main", "one")
        self.wait_for_gate("one")
        page = self.page(self.of("one", "?view=graph"))
        page.until("document.querySelector('canvas[data-ready]')")
        page.sees("4 nodes")
        page.click("button", "Unfold")
        page.sees("5 nodes")
        page.click("nav.tabs a", "Timeline")
        page.until("location.search.includes('view=timeline')")
        page.until("document.querySelectorAll('.timeline .row').length == 6")
        page.click(".timeline a", "begin")
        page.until("location.search.includes('node=begin')")
        page.until("document.querySelector('aside h2').textContent == 'begin'")
        page.click("aside button", "Values")
        page.sees("said")
        page.click("aside button", "Attempts")
        page.sees("Attempt 0")
        page.click("aside button", "Logs")
        page.sees("says hello")
        page.ask("Page.reload")
        page.until("document.querySelector('aside h2')?.textContent == 'begin'")
        page.run("history.back()")
        page.until("!document.querySelector('aside')")
        page.click("nav.tabs a", "Inputs and outputs")
        page.sees("times")
        page.click("nav.tabs a", "Logs")
        page.sees("says hello")
        self.assert_well(page)

    def test_retries_are_seen(self):
        """Over time, a bar for each attempt; and by the link that Flyte's clients print."""
        self.write("again.yaml", "troupe: 1\n"
                   "tasks: {flaky: {run: [sh, -c, 'exit $((3 - $TROUPE_ATTEMPT))'], retries: 3}}\n"
                   "workflows: {main: {nodes: {it: {task: flaky}}}}\n")
        self.begin()
        self.troupe("submit", "again.yaml", "--name", "again")
        self.wait_for_phase("again", "succeeded")
        page = self.page("/projects/default/domains/development/executions/again?view=timeline")
        page.until("document.querySelectorAll('.timeline svg rect:not(.waits):not(.critical)')"
                   ".length == 4")

    def test_filters_are_links(self):
        self.begin()
        self.submit("broken", "bad")
        self.submit("asks", "asking", "--label", "team=data")
        self.wait_for_phase("bad", "failed")
        page = self.page("/executions?phase=failed")
        page.sees("bad")
        self.assertNotIn("asking", page.text())
        page.click("nav.tabs a", "All")
        page.sees("asking")
        page.fill("input[name=label]", "team=data")
        page.press("Enter")
        page.until("location.search.includes('label=team')")
        page.until("!document.body.innerText.includes('bad')")
        page.click("a", "Clear")
        page.sees("bad")
        page.open(f"{self.url}/executions?workflow=none")
        page.sees("No execution is like that")
        self.assert_well(page)

    def test_failures_and_what_is_missing_are_told(self):
        self.begin()
        self.submit("broken", "bad")
        self.wait_for_phase("bad", "failed")
        page = self.page(self.of("bad"))
        page.until("document.querySelector('.why-line.bad')")
        page.click(".why-line a")
        page.until("location.search.includes('node=fails')")
        page.click("aside button", "Attempts")
        page.sees("it broke")
        page.open(self.url + self.of("none"))
        page.sees("there is no execution")
        page.open(self.url + "/nothing")
        page.sees("There is no such page")

    def test_an_array_down_to_an_element(self):
        """A grid of counts, a range of it, an element of that, by three clicks; and by keys."""
        self.begin()
        self.submit("halves", "ns", "-i", "ns=" + str(list(range(2500))), "--cache", "off")
        self.troupe("abort", "ns", "--now")
        self.wait_for_phase("ns", "aborted")
        page = self.page(self.of("ns"))
        page.click("td.name a", "halves")
        page.until("document.querySelector('canvas[data-cells=\"834\"]')")
        page.sees("2,500 elements, 3 in a cell")
        page.run("document.querySelector('.cells canvas').focus()")
        page.press("ArrowDown")
        page.press("ArrowUp")
        page.sees("Elements 0 to 2")
        page.press("Enter")
        page.until("location.search.includes('cells=0-3')")
        page.sees("3 elements, a cell each")
        page.click(".cells canvas")
        page.press("ArrowRight")
        page.press("Enter")
        page.until("document.querySelector('aside h2').textContent == 'halves[0]'")
        page.run("history.back()")
        page.until("document.querySelector('aside h2').textContent == 'halves'")
        self.assert_well(page)

    def test_logs_follow(self):
        self.begin()
        self.submit("waits", "long")
        page = self.page(self.of("long", "?node=stays"))
        page.click("aside button", "Logs")
        page.sees("begins")
        self.write("go", "")
        page.sees("ends")
        self.wait_for_phase("long", "succeeded")

    # ------------------------------------------------------------------------ who may

    def test_a_token_is_asked_for(self):
        """Before anything is shown; a wrong one is refused; it is gone with the tab."""
        hashed = hashlib.sha256(b"views").hexdigest()
        self.store.mkdir(mode=0o700)
        (self.store / "settings.yaml").write_text(
            f"http:\n  listen: ['0']\n  clients:\n    - {{id: viewer, secret_sha256: {hashed}, "
            "roles: [{role: view}]}\n")
        self.begin("--no-warm")
        page = self.page()
        page.sees("This engine answers only who it knows")
        page.fill("input[name=token]", "wrong")
        page.press("Enter")
        page.until("document.querySelector('.problem')")
        page.fill("input[name=token]", "views")
        page.press("Enter")
        page.sees("Nothing has run yet")
        self.assertEqual(page.run("document.cookie"), "")
        page.ask("Page.reload")
        page.sees("Nothing has run yet")
        page.click("button", "Sign out")
        page.sees("This engine answers only who it knows")

    # ------------------------------------------------------------------- by the command

    def test_a_store_without_an_engine(self):
        """`troupe console` shows what was, says that nobody acts, and goes with Ctrl-C."""
        self.begin()
        self.submit("asks", "asking")
        self.wait_for_gate("asking")
        self.stop()
        console = self.start("console", "--no-open")
        console.wait_for("/console/", "stdout")
        self.url = console.lines["stdout"][0].strip().rstrip("/")
        page = self.page()
        page.sees("asking")
        page.sees("dormant")
        page.click("td.name a", "asking")
        page.click("button", "Resume")
        page.click("dialog button", "Resume")
        page.until("document.querySelector('dialog .problem')")
        console.signal(signal.SIGINT)
        self.assertEqual(console.end()[0], 0)
        page.sees("Troupe does not answer")

    def test_mistakes_of_the_command(self):
        self.assertIn("--http: ", self.troupe("console", "--http", "x", status=2)[1])
        self.assertIn("there is no store", self.troupe("console", status=2)[1])
        self.assertIn("can be reached from other machines",
                      self.troupe("console", "--http", "0.0.0.0:0", status=2)[1])


class Page(unittest.TestCase):
    def test_the_libraries_are_pinned(self):
        """Each with its digest, of the registry alone."""
        text = (ROOT / "deploy/pages/package-lock.json").read_text()
        packages = text.count('"node_modules/')
        self.assertGreater(packages, 3)
        self.assertEqual(text.count('"integrity": "sha512-'), packages)


if __name__ == "__main__":
    unittest.main()
