#!/usr/bin/env python3
"""What each page of the console looks like: axe's rules in light and dark, nothing wider than the
window at three widths, names of a thousand characters, and a graph of ten thousand nodes.

With TROUPE_TEST_PICTURES=FOLDER each page is written there as a picture.
"""

import os
import pathlib
import unittest

from console import AXE, violations
from test_console_files import FilesTest
from test_console_shared import POOLED
from program import slowness, wait_until

WIDTHS = {"desk": (1280, 800), "phone": (390, 844)}
PICTURES = os.environ.get("TROUPE_TEST_PICTURES")
GRAPH_S = 4
FRAME_MS = 40  # more than a frame takes in which nothing is drawn, on a busy machine
LONG = "a" * 62  # names have 63 letters at most, values and messages any

OFTEN = """
troupe: 1
workflows: {w: {nodes: {n: {sleep: 1d}}}}
launch_plans: {often: {workflow: w, schedule: {every: 1s, overlap: skip}}}
"""

# What is looked at: a name, its path, and what is to be there first.
PAGES = [
    ("list", "/", "td.name"),
    ("list_none", "/executions?workflow=none", ".empty"),
    ("nodes", "/executions/default/development/one", ".nodes td"),
    ("node", "/executions/default/development/one?node=begin", "aside dl"),
    ("array", "/executions/default/development/ns?node=halves", "aside .array"),
    ("graph", "/executions/default/development/one?view=graph", "canvas[data-ready]"),
    ("timeline", "/executions/default/development/one?view=timeline", ".timeline svg"),
    ("values", "/executions/default/development/one?view=values", "dl.values"),
    ("files", "/executions/default/development/files?node=gives&tab=Values", "iframe.deck"),
    ("compare", "/executions/default/development/a/compare/b", ".compare dl"),
    ("compare_same", "/executions/default/development/a/compare/a", ".compare .card"),
    ("compare_long", "/executions/default/development/long/compare/more" + LONG[:58],
     ".compare dl"),
    ("compare_choose", "/executions/default/development/a/compare", "td.name"),
    ("compare_alone", "/executions/default/development/ns/compare", ".empty"),
    ("compare_none", "/executions/default/development/a/compare/none", ".problem"),
    ("resources", "/resources", ".compare table"),
    ("logs", "/executions/default/development/one?view=logs", ".logs"),
    ("failed", "/executions/default/development/bad?node=fails", "aside .why-line"),
    ("long", "/executions/default/development/long?node=n" + LONG, "aside dl"),
    ("inbox", "/gates", ".gate"),
    ("plans", "/plans", "td code"),
    ("plan", "/plans/default/development/nightly", "dl.facts"),
    ("plan_missed", "/plans/default/development/often", "td.wrap"),
    ("plan_none", "/plans/default/development/none", ".problem"),
    ("launch", "/launch", "textarea"),
    ("actors", "/actors", "td.name a"),
    ("messages", "/messages", "h1"),
    ("missing", "/executions/default/development/none", ".problem"),
]


class Looks(FilesTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not AXE.exists():
            raise unittest.SkipTest(f"axe-core is not at {AXE}; npm installs it with the build")

    def fill_store(self):
        self.give("<h1>A report</h1><p>Of a task.</p>", "files")
        self.submit("inner", "a", "-i", "text=first")
        self.submit("inner", "b", "-i", "text=second")
        self.submit("main", "one")
        self.submit("broken", "bad")
        self.submit("halves", "ns", "-i", "ns=" + str(list(range(12))))
        self.troupe("apply", "flow.yaml")
        self.write("pooled.yaml", POOLED.replace("FOLDER", str(self.folder)))
        for name in ("has", "lacks"):
            self.troupe("submit", "pooled.yaml", "--name", name)
        self.write("often.yaml", OFTEN)
        self.troupe("apply", "often.yaml")
        wait_until(lambda: self.document("explain", "often")["not_started"], "a time is left out")
        self.troupe("schedules", "pause", "often", "-m", "for " + "d" * 300)
        node = f"n{LONG}"
        self.write("long.yaml", "troupe: 1\n"
                   "tasks: {say: {inputs: {text: string}, run: [sh, -c, 'echo \"$0\" >&2; exit 1', "
                   "'{{.inputs.text}}']}}\n"
                   f"workflows: {{w{LONG}: {{inputs: {{text: string}}, "
                   f"nodes: {{{node}: {{task: say, with: {{text: $text}}}}}}}}}}\n")
        self.troupe("submit", "long.yaml", "--name", "long", "-i", "text=" + "b" * 1000)
        self.troupe("submit", "long.yaml", "--name", "more" + LONG[:58], "-i", "text=" + "c" * 1000)
        self.wait_for_gate("one")
        for name, phase in (("bad", "failed"), ("long", "failed"), ("a", "succeeded"),
                            ("b", "succeeded"), ("more" + LONG[:58], "failed")):
            self.wait_for_phase(name, phase)

    def test_each_page(self):
        self.begin()
        self.fill_store()
        page = self.page()
        for name, path, there in PAGES:
            for scheme in ("light", "dark"):
                page.prefer(scheme)
                page.resize(*WIDTHS["desk"])
                page.open(self.url + path)
                page.until(f"document.querySelector('{there}')")
                page.until("!document.querySelector('.loading')")
                with self.subTest(page=name, scheme=scheme):
                    self.assertEqual(violations(page, scheme), [])
                self.look(page, f"{name}-{scheme}", name, "desk")
            page.resize(*WIDTHS["phone"])
            self.look(page, f"{name}-phone", name, "phone")

    def look(self, page, file, name, width):
        """Nothing is wider than the window; and a picture, if somebody wants one."""
        page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        with self.subTest(page=name, width=width):
            self.assertLessEqual(page.run("document.documentElement.scrollWidth"),
                                 WIDTHS[width][0])
        if PICTURES:
            pathlib.Path(PICTURES).mkdir(exist_ok=True)
            page.picture(f"{PICTURES}/{file}.png")

    @staticmethod
    def frame_ms(page, move):
        """How far apart frames are while the graph is moved, in the middle of many."""
        return page.run("""new Promise((done) => {
            const canvas = document.querySelector('canvas');
            const times = [];
            const step = (now) => {
                times.push(now);
                const deltaX = times.length %% 20 < 10 ? %d : -%d;
                if (deltaX !== 0) {
                    canvas.dispatchEvent(new WheelEvent('wheel', {deltaX, deltaY: 0}));
                }
                if (times.length < 60) { requestAnimationFrame(step); return; }
                const gaps = times.slice(1).map((time, i) => time - times[i]);
                done(gaps.sort((a, b) => a - b)[30]);
            };
            requestAnimationFrame(step);
        })""" % (move, move))

    def test_a_graph_of_ten_thousand_nodes(self):
        """Its graph is there soon, and moving it draws frames without a stutter."""
        nodes = "".join(f"      n{i}: {{sleep: 1d, after: [n{i - 100}, n{i - 99}]}}\n" if i >= 100
                        else f"      n{i}: {{sleep: 1d}}\n" for i in range(10000))
        self.write("large.yaml", f"troupe: 1\nworkflows:\n  large:\n    nodes:\n{nodes}")
        self.begin()
        self.troupe("submit", "large.yaml", "--name", "large")
        page = self.page(self.of("large", "?view=graph"))
        took_s = page.until("document.querySelector('canvas[data-ready]')")
        page.sees("10,000 nodes")
        still_ms = self.frame_ms(page, 0)
        moved_ms = self.frame_ms(page, 30)
        if PICTURES:
            page.picture(f"{PICTURES}/large.png")
        self.assertLess(took_s, GRAPH_S * slowness())
        self.assertLess(moved_ms, still_ms + FRAME_MS * slowness())


if __name__ == "__main__":
    unittest.main()
