#!/usr/bin/env python3
"""What may be done in the console, each from its button to its effect in the store, by the mouse;
and by the keyboard alone.
"""

import json
import unittest

from console import FLOW, ConsoleTest
from program import wait_until


class Acts(ConsoleTest):
    def setUp(self):
        super().setUp()
        self.begin()

    def confirm(self, page, verb, **fields):
        """Presses a button of the page, fills in what it asks, and confirms."""
        page.click(".actions button", verb)
        page.until("document.querySelector('dialog[open]')")
        for name, text in fields.items():
            page.fill(f"dialog [name={name}]", text)
        page.click("dialog footer button", verb.split()[0])
        page.until("!document.querySelector('dialog')")

    def begun_after(self, name):
        """The execution that was begun out of another one."""
        found = []
        wait_until(lambda: found.extend(row["execution"] for row in self.document("list", "--all")
                                        if row["execution"] != name) or found, "another one begins")
        return found[0]

    def test_pause_resume_and_abort(self):
        self.submit("waits", "long")
        page = self.page(self.of("long"))
        self.confirm(page, "Pause", message="lunch")
        wait_until(lambda: self.document("get", "long")["is_paused"], "it is paused")
        page.sees("paused")
        self.confirm(page, "Resume")
        wait_until(lambda: not self.document("get", "long")["is_paused"], "it goes on")
        self.confirm(page, "Abort", message="enough")
        self.wait_for_phase("long", "aborted")
        page.sees("enough")
        self.assertIn("enough", self.document("get", "long")["error"]["message"])
        self.assert_well(page)

    def test_a_question_can_be_left(self):
        self.submit("waits", "long")
        page = self.page(self.of("long"))
        page.click(".actions button", "Abort")
        page.until("document.querySelector('dialog[open]')")
        page.press("Escape")
        page.until("!document.querySelector('dialog')")
        page.click(".actions button", "Abort")
        page.click("dialog button", "Cancel")
        page.until("!document.querySelector('dialog')")
        self.assertEqual(self.phase("long"), "running")

    def test_answers_in_the_inbox(self):
        self.submit("main", "good")
        self.submit("main", "bad")
        self.submit("asks", "asking")
        for name in ("good", "bad", "asking"):
            self.wait_for_gate(name)
        page = self.page("/gates")
        page.until("document.querySelectorAll('.gate').length == 3")
        for name, verb, fields in (("good", "Approve", {"message": "fine"}),
                                   ("bad", "Reject", {"message": "no"}),
                                   ("asking", "Answer", {"value": "7"})):
            button = "button.harsh" if verb == "Reject" else "button"
            page.run(f"[...document.querySelectorAll('.gate')].find((one) => one.innerText"
                     f".includes('{name} /')).querySelector('{button}').click()")
            page.until("document.querySelector('dialog[open]')")
            for field, text in fields.items():
                page.fill(f"dialog [name={field}]", text)
            page.click("dialog footer button", verb)
            page.until(f"!document.body.innerText.includes('{name} /')")
        self.wait_for_phase("good", "succeeded")
        self.wait_for_phase("bad", "failed")
        self.wait_for_phase("asking", "succeeded")
        self.assertEqual(self.document("get", "asking/it")["outputs"], {"value": 7})
        page.sees("Nobody waits for you")

    def test_recover_and_rerun(self):
        self.submit("broken", "bad")
        self.wait_for_phase("bad", "failed")
        page = self.page(self.of("bad"))
        self.confirm(page, "Recover")
        name = self.begun_after("bad")
        page.sees(name)
        self.assertIn("bad", self.document("get", name)["cause"])
        self.wait_for_phase(name, "failed")

    def test_rerun_with_other_inputs(self):
        self.submit("main", "one")
        self.wait_for_gate("one")
        self.troupe("approve", "one", "release")
        self.wait_for_phase("one", "succeeded")
        page = self.page(self.of("one"))
        self.confirm(page, "Rerun", text="other")
        name = self.begun_after("one")
        page.sees(name)
        self.assertEqual(self.document("get", name)["inputs"], {"text": "other", "times": 2})
        page.open(self.url + self.of("one", "?node=end"))
        self.confirm(page, "Rerun from here")
        page.until("!location.pathname.endsWith('/one')")
        again = page.run("location.pathname").rsplit("/", 1)[1]
        self.wait_for_phase(again, "succeeded")
        kept = {node["node"]: node["phase"] for node in self.document("get", again)["nodes"]}
        self.assertEqual((kept["begin"], kept["end"]), ("recovered", "succeeded"))

    def test_launch_by_a_form(self):
        """Of a definition with two workflows: what is wrong is said at its place, then it runs."""
        page = self.page("/launch")
        page.fill("textarea.code", "troupe: 1\nworkflows: {main: {nodes: {a: {task: none}}}}\n")
        page.click("button", "Read it")
        page.sees("definition:2")
        page.fill("textarea.code", FLOW)
        page.click("button", "Read it")
        page.until("document.querySelector('select[name=workflow]')")
        page.run("""(() => {
            const choice = document.querySelector('select[name=workflow]');
            choice.value = 'main';
            choice.dispatchEvent(new Event('change', {bubbles: true}));
        })()""")
        page.until("document.querySelector('input[name=times]')")
        page.fill("input[name=times]", "many")
        page.click("button", "Launch")
        page.sees("is not a value of the type int")
        page.fill("input[name=times]", "5")
        page.fill("input[name=text]", "from the page")
        page.click("button", "Launch")
        page.until("location.pathname.includes('/executions/')")
        name = self.document("list")[0]["execution"]
        self.assertEqual(self.document("get", name)["inputs"],
                         {"text": "from the page", "times": 5})
        page.sees(name)

    def test_plans_are_paused(self):
        page = self.page("/plans")
        page.sees("No launch plan is registered")
        self.troupe("apply", "flow.yaml")
        page.sees("nightly")
        page.click("td button", "Pause")
        page.fill("dialog [name=message]", "holidays")
        page.click("dialog footer button", "Pause")
        page.sees("paused")
        wait_until(lambda: self.document("schedules")[0]["is_paused"], "it is paused")
        self.assertEqual(self.document("schedules")[0]["pause_message"], "holidays")
        page.click("td button", "Resume")
        page.click("dialog footer button", "Resume")
        wait_until(lambda: not self.document("schedules")[0]["is_paused"], "it goes on")

    def test_plans_run_now(self):
        """By a form of its types: with the plan's inputs, and with others."""
        self.troupe("apply", "flow.yaml")
        page = self.page("/plans")
        for times, inputs in (("2", {"text": "hello", "times": 2}),
                              ("9", {"text": "hello", "times": 9})):
            page.open(self.url + "/plans")
            page.click("td button", "Run now")
            page.until("document.querySelector('dialog [name=text]').value == 'hello'")
            page.fill("dialog [name=times]", times)
            # What comes from elsewhere meanwhile leaves what was typed.
            verb, seen = ("pause", "paused by") if times == "2" else ("resume", "waits for its")
            self.troupe("schedules", verb, "nightly", "--yes")
            page.sees(seen)
            page.click("dialog footer button", "Run")
            page.until("location.pathname.includes('/executions/')")
            name = page.run("location.pathname").rsplit("/", 1)[1]
            self.assertEqual(self.document("get", name)["inputs"], inputs)

    def test_a_plan_is_backfilled(self):
        """A page of its own; a span begins what has no execution; again it begins nothing."""
        self.troupe("apply", "flow.yaml")
        page = self.page("/plans")
        page.click("td.name a", "nightly")
        page.until("location.pathname.endsWith('/plans/default/development/nightly')")
        page.sees("None, as far as is kept.")
        for said in ("begins", "was there already"):
            page.click("button", "Backfill")
            page.until("document.querySelector('dialog[open]')")
            page.run("""(() => { const [from, to] = document.querySelectorAll('dialog input');
                from.value = '2026-08-01T00:00:00'; to.value = '2026-08-03T12:00:00'; })()""")
            page.click("dialog footer button", "Backfill")
            page.sees("nightly-20260802t030000z")
            page.sees(said)
        names = [row["execution"] for row in self.document("list", "--limit", "0")]
        self.assertIn("nightly-20260803t030000z", names)
        self.assertEqual(len(names), 3)
        page.sees("Running")
        self.assert_well(page)

    def test_by_the_keyboard_alone(self):
        """From the list to a node, back, and an approval."""
        self.submit("main", "one")
        self.wait_for_gate("one")
        page = self.page()
        page.sees("one")

        def tab_to(text):
            for _ in range(40):
                page.press("Tab")
                if page.run("document.activeElement.innerText")[:len(text)] == text:
                    return
            raise AssertionError(f"no Tab leads to {text}")
        tab_to("Skip to the content")
        tab_to("one")
        page.press("Enter")
        page.sees("Begun by")
        tab_to("begin")
        page.press("ArrowDown")
        self.assertEqual(page.run("document.activeElement.innerText"), "inside")
        page.press("Enter")
        page.until("document.querySelector('aside h2')?.textContent == 'inside'")
        page.press("Escape")
        page.until("!document.querySelector('aside')")
        page.run("document.activeElement.blur()")
        tab_to("Inbox")
        page.press("Enter")
        page.until("document.querySelector('.gate')")
        tab_to("Approve")
        page.press("Enter")
        page.until("document.querySelector('dialog[open]')")
        self.assertTrue(page.run("document.activeElement.closest('dialog') !== null"))
        tab_to("Approve")
        page.press("Enter")
        self.wait_for_phase("one", "succeeded")

    def test_a_button_counts_once(self):
        """Pressed twice at once, it begins one execution."""
        self.submit("broken", "bad")
        self.wait_for_phase("bad", "failed")
        page = self.page(self.of("bad"))
        page.click(".actions button", "Recover")
        page.until("document.querySelector('dialog[open]')")
        page.run("""(() => { const form = document.querySelector('dialog form');
            form.requestSubmit(); form.requestSubmit(); })()""")
        page.until("!document.querySelector('dialog')")
        self.assertEqual(len(json.loads(self.troupe("list", "-o", "json")[0])), 2)


if __name__ == "__main__":
    unittest.main()
