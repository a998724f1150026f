#!/usr/bin/env python3
"""The engine's actors in the console: the live tree and one of them, messages as they pass, those
of one cause as a chart from the request to the effect, and an inbox that is stepped through. Each
page with what it says when there is nothing, when something is wrong, and how it looks.
"""

import unittest
import urllib.parse

import test_console_looks as looks
from console import ConsoleTest, violations
from program import slowness

LONG = "n" * 62  # names have 63 letters at most
ONE = "/default/development/one"


def at(address):
    return urllib.parse.quote(address, safe="")


class Actors(ConsoleTest):
    look = looks.Looks.look

    def setUp(self):
        super().setUp()
        self.begin()

    def looks_well(self, page, name):
        """By axe's rules in light and dark, no wider than its window, and as a picture."""
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            page.resize(*looks.WIDTHS["desk"])
            with self.subTest(page=name, scheme=scheme):
                self.assertEqual(violations(page, scheme), [])
            self.look(page, f"{name}-{scheme}", name, "desk")
        page.prefer("light")
        page.resize(*looks.WIDTHS["phone"])
        self.look(page, f"{name}-phone", name, "phone")
        page.resize(*looks.WIDTHS["desk"])

    # ------------------------------------------------------------------------ the tree

    def test_the_tree_lives(self):
        """What begins appears within two seconds; one actor's state is by its schema, and live."""
        page = self.page("/actors")
        page.sees("resources")
        self.assertNotIn("development", page.text())
        self.submit("main", "one")
        page.until("[...document.querySelectorAll('td.name a')].some((a) => a.title === "
                   f"'{ONE}')", 2 * slowness() + 1)
        self.wait_for_gate("one")
        page.click("td.name a", "one")
        page.until(f"document.querySelector('aside h2').textContent == '{ONE}'")
        page.sees("is_paused")
        page.sees("waiting")
        self.assertRegex(page.run("document.querySelector('.count').textContent"),
                         r"^\d+ actors, \d+ messages? ?\w* ?wait, [\d.]+ KiB$")
        self.looks_well(page, "actors")
        page.ask("Page.reload")
        page.until(f"document.querySelector('aside h2')?.textContent == '{ONE}'")
        self.troupe("approve", "one", "release")
        page.sees("There is no such thing")
        page.run("history.back()")
        page.until("!document.querySelector('aside')")
        page.fill("input[name=pattern]", "/nobody/**")
        page.press("Enter")
        page.sees("No actor is like that")
        self.assertIn("pattern=%2Fnobody", page.run("location.search"))
        self.looks_well(page, "actors-none")
        self.assertEqual([fault for fault in page.faults() if "404" not in fault], [])

    def test_by_keyboard(self):
        page = self.page("/actors")
        page.sees("resources")
        page.run("document.querySelector('td.name a').focus()")
        first = page.run("document.activeElement.title")
        page.press("j")
        self.assertNotEqual(page.run("document.activeElement.title"), first)
        page.press("k")
        page.press("Enter")
        page.until(f"document.querySelector('aside h2')?.textContent == '{first}'")
        page.press("Escape")
        page.until("!document.querySelector('aside')")

    # -------------------------------------------------------------------- messages

    def pass_some(self, page, name="one"):
        """Opens messages, and has an execution pass by."""
        page.open(f"{self.url}/messages")
        page.sees("Nothing has passed yet")
        page.sees("following")
        self.submit("main", name)
        page.until("[...document.querySelectorAll('.messages td.name a')]"
                   ".some((a) => a.textContent === 'launch')", 2 * slowness())
        self.wait_for_gate(name)

    def test_a_cause_from_the_request_to_the_effect(self):
        """Its messages as a chart with a lane for each actor; a click shows what each says."""
        page = self.page("/messages")
        self.pass_some(page)
        page.click("button", "Pause")
        page.sees("paused")
        self.looks_well(page, "messages")
        page.run("scrollTo(0, document.body.scrollHeight)")
        page.until("""window.cause = [...document.querySelectorAll('.messages tbody tr')]
            .find((row) => row.querySelector('td.name a')?.textContent === 'launch')
            ?.querySelector('td:last-child a').textContent""")
        cause = page.run("window.cause")
        link = f".messages a[aria-label=\"All of cause {cause}\"]"
        page.run(f"document.querySelector('{link}').click()")
        page.until("document.querySelector('.sequence svg .arrow')")
        self.assertIn(f"cause={cause}", page.run("location.search"))
        lanes = page.run("[...document.querySelectorAll('.lanes span')].map((one) => one.title)")
        self.assertEqual(lanes[:2], ["the engine's door", "/default/development"])
        self.assertIn(ONE, lanes)
        self.assertIn("processes", lanes)
        steps = page.run("""[...document.querySelectorAll('.sequence li a')].map((one) =>
            [...one.querySelectorAll('span')].map((part) => part.textContent))""")
        names = [said.split(" ")[0] for _, said in steps]
        self.assertEqual(steps[0], ["+0 ms", "launch from the engine's door to "
                                    "/default/development, handled"])
        for early, late in zip(("launch", "node_start", "process_run"),
                               ("node_start", "process_run", "process_over")):
            self.assertLess(names.index(early), names.index(late))
        page.click(".sequence li a", "+")
        page.until("document.querySelector('aside[aria-label=Message] h2')")
        self.looks_well(page, "sequence")
        page.run("document.querySelector('.sequence li a').focus()")
        page.press("ArrowDown")
        page.press("Enter")
        page.until(f"document.querySelector('aside h2').textContent == '{names[1]}'")
        page.press("Escape")
        page.until("!document.querySelector('aside')")
        self.assert_well(page)

    def test_filters_of_messages_are_links(self):
        """They are the tap's; what is wrong with one is said in its words."""
        page = self.page(f"/messages?address={at('/default/development/one/**')}&point=handled")
        page.sees("following")
        self.submit("main", "other")
        self.submit("main", "one")
        self.wait_for_gate("one")
        page.until("document.querySelectorAll('.messages td.name a').length > 3", 2 * slowness())
        targets = set(page.run("[...document.querySelectorAll('.messages tbody tr')]"
                               ".map((row) => row.children[3]?.title).filter(Boolean)"))
        self.assertTrue(all(target.startswith(ONE) for target in targets), targets)
        page.fill("input[name=type]", "no_such_type")
        page.press("Enter")
        page.sees("no_such_type")
        page.until("document.querySelector('.problem')")
        self.looks_well(page, "messages-wrong")
        self.assertTrue(page.run("Boolean(document.querySelector('.problem'))"))
        page.click("a", "Clear")
        page.sees("Nothing has passed yet")

    def test_losses_are_said(self):
        """More than the tap's rate: they are counted, and nobody waits for the page."""
        page = self.page("/messages")
        page.sees("following")
        self.submit("halves", "ns", "-i", "ns=" + str(list(range(1000))), "--cache", "off")
        page.sees("left out, since there were too many at once")

    # ---------------------------------------------------------------------- an inbox

    def test_an_inbox_is_stepped_through(self):
        """Each message with what it made the actor do, and its state behind it."""
        self.submit("asks", "one")
        self.wait_for_gate("one")
        page = self.page(f"/actors?at={at(ONE)}")
        page.click("aside a", "Step through its inbox")
        page.sees("No message has come yet")
        self.looks_well(page, "inbox-none")
        self.troupe("signal", "one", "limit", "3")
        page.sees("the recording has ended")
        count = page.run("document.querySelectorAll('.steps li').length")
        self.assertGreater(count, 1)
        page.sees("signal_given")
        self.assertIn("ends", page.run("document.querySelector('.effects').innerText"))
        self.assertTrue(page.run("document.querySelectorAll('tr.changed').length > 1"))
        self.looks_well(page, "inbox")
        page.click("button", "Previous")
        page.until(f"location.search.includes('step={count - 1}')")
        page.run("document.querySelector('.steps a[aria-current]').focus()")
        page.press("ArrowUp")
        page.press("ArrowDown")
        page.press("ArrowDown")
        page.until(f"location.search.includes('step={count}')")
        self.assertNotIn("value: 3", page.text())
        self.assertEqual([fault for fault in page.faults() if "404" not in fault], [])

    def test_nobody_is_there(self):
        page = self.page(f"/actors/inbox?address={at('/nobody')}")
        page.sees("there is no actor /nobody")
        page.open(f"{self.url}/actors/inbox")
        page.sees("Choose an actor")

    def test_long_names(self):
        self.write("long.yaml", "troupe: 1\nworkflows:\n" + "".join(
            f"  w{depth}{LONG[2:]}: {{nodes: {{{LONG}: {inner}}}}}\n" for depth, inner in
            ((0, f"{{workflow: w1{LONG[2:]}}}"), (1, f"{{workflow: w2{LONG[2:]}}}"),
             (2, "{approve: go}"))))
        page = self.page("/messages")
        page.sees("following")
        self.troupe("submit", "long.yaml", f"w0{LONG[2:]}", "--name", "a" * 60)
        self.wait_for_gate("a" * 60)
        page.until("document.querySelectorAll('.messages td.name a').length > 3")
        self.look(page, "messages-long", "messages-long", "desk")
        page.open(f"{self.url}/actors?at={at('/default/development/' + 'a' * 60)}")
        page.sees("is_paused")
        self.looks_well(page, "actors-long")


if __name__ == "__main__":
    unittest.main()
