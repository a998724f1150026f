#!/usr/bin/env python3
"""Pages of the console about more than one execution: two that are compared, and what all share."""

import unittest

from console import ConsoleTest
from program import slowness

POOLED = """
troupe: 1
pools: {narrow: {at_once: 1}}
tasks:
  stays: {pool: narrow, run: [sh, -c, 'while [ ! -e "$0/go" ]; do sleep 0.05; done', FOLDER]}
workflows: {main: {nodes: {stays: {task: stays}}}}
"""


class Shared(ConsoleTest):
    def setUp(self):
        super().setUp()
        self.begin()

    def test_two_are_compared(self):
        """From one of them, by a link of its own, the other way, and back."""
        self.submit("inner", "first", "-i", "text=hello")
        self.submit("inner", "then", "-i", "text=other")
        for name in ("first", "then"):
            self.wait_for_phase(name, "succeeded")
        page = self.page(self.of("first"))
        page.click(".actions a", "Compare")
        page.click("td.name a", "then")
        page.until("location.pathname.endsWith('/first/compare/then')")
        page.sees("inputs (text); outputs (said)")
        self.assertEqual(page.run("[...document.querySelectorAll('.was')].map((e) => e.innerText)"),
                         ["hello", "hello"])
        self.assertEqual(page.run("[...document.querySelectorAll('.is')].map((e) => e.innerText)"),
                         ["other", "other"])
        page.ask("Page.reload")
        page.sees("the same")
        for _ in range(30):
            page.press("Tab")
            if page.run("document.activeElement.innerText") == "Swap":
                break
        page.press("Enter")
        page.until("location.pathname.endsWith('/then/compare/first')")
        page.until("document.querySelector('.was')?.innerText == 'other'")
        page.run("history.back()")
        page.until("document.querySelector('.was')?.innerText == 'hello'")
        page.click("td.right a")
        page.until("document.querySelector('aside h2')")
        self.assert_well(page)

    def test_who_waits_for_what(self):
        """Seen while it changes: one has the pool, one waits, and then nobody."""
        self.write("pooled.yaml", POOLED.replace("FOLDER", str(self.folder)))
        page = self.page("/resources")
        page.sees("Nobody has any of it, and nobody waits.")
        page.sees("kubernetes, resource")
        for name in ("has", "lacks"):
            self.troupe("submit", "pooled.yaml", "--name", name)
        page.sees("Waiting: 1. Having some of it: 1")
        page.sees("narrow")
        page.sees("1 of 1")
        page.run("window.isOld = true")
        page.click("td.name a", "lacks")
        page.sees("stays")
        page.run("history.back()")
        page.sees("Waiting: 1")
        self.write("go", "")
        page.sees("Nobody has any of it, and nobody waits.", 10 * slowness())
        self.assertTrue(page.run("window.isOld"))
        self.assert_well(page)


if __name__ == "__main__":
    unittest.main()
