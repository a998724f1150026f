#!/usr/bin/env python3
"""The walk of a new user: what the first page and the tutorial say is typed at terminals, and what
they say is shown there is compared with what is."""

import os
import re
import signal
import subprocess
import tty
import unittest

from pages import PageTest, form, parts
from program import LIMIT_S, PROGRAM, ROOT, wait_until
from test_detach import Seat

PROMPT = "ada$ "
ROWS, COLUMNS = 50, 160  # so wide that no line is cut, however long it took
KEYS = {"d": b"d", "Ctrl-C": b"\x03"}

# What the program draws with: colours; so many lines up, and nothing from there on.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
DRAWN = re.compile(r"\x1b\[(\d+)A\x1b\[J")


def screen(shown):
    """What stands on a terminal in the end."""
    text, *more = DRAWN.split(COLOUR.sub("", shown).replace("\r\n", "\n"))
    for lines, piece in zip(more[::2], more[1::2]):
        text = "".join(text.splitlines(keepends=True)[:-int(lines)]) + piece
    return text


class Shell(Seat):
    """A shell at a terminal of its own."""

    def __init__(self, place, environment):
        super().__init__(["bash", "--norc", "--noprofile", "--noediting", "-i"], place,
                         environment | {"PS1": PROMPT, "PS2": "", "TERM": "xterm",
                                        "HISTFILE": "/dev/null"})
        tty.tcsetwinsize(self.end_of_program, (ROWS, COLUMNS))
        self.prompts, self.begin = 0, 0
        self.await_prompt()

    def await_prompt(self):
        self.prompts += 1
        self.wait_for(f"(?m)^{re.escape(PROMPT)}", self.prompts)

    def type(self, line):
        self.begin = len(self.shown)
        self.press(line.encode() + b"\n")

    def printed(self):
        """What stands below the line that was typed last, but for the prompt."""
        shown = self.shown[self.begin:].decode(errors="replace")
        return screen(shown.partition("\n")[2]).removesuffix(PROMPT)

    def place(self):
        return os.readlink(f"/proc/{self.process.pid}/cwd")

    def leave(self):
        self.type("exit")
        self.end()


class WalkTest(PageTest):
    def setUp(self):
        super().setUp()
        self.shells = {}

    def tearDown(self):
        for shell in self.shells.values():
            if shell.process.poll() is None:
                os.killpg(shell.process.pid, signal.SIGKILL)
                shell.process.wait()
        super().tearDown()

    def shell(self, part):
        if part.is_second not in self.shells:
            self.shells[part.is_second] = Shell(self.place, self.environment())
        return self.shells[part.is_second]

    def is_at_rest(self):
        """Whether no engine is about to leave: a person is slower than that."""
        running = subprocess.run([PROGRAM, "list", "--phase", "running", "-o", "name", "--store",
                                  self.store], capture_output=True, timeout=LIMIT_S, check=True)
        return running.stdout != b"" or self.quietly("actors") != 0

    def commands(self, part, stays):
        """Types them; one that stays gives no prompt again."""
        if True not in self.shells and self.store.exists():
            wait_until(self.is_at_rest, "an engine in the background leaves when it has no work")
        shell, printed = self.shell(part), ""
        lines = part.text.splitlines()
        for i, line in enumerate(lines):
            shell.type(line)
            if not (stays and i == len(lines) - 1):
                shell.await_prompt()
                printed += shell.printed()
        if not part.is_second:
            self.place = type(self.place)(shell.place())
        return printed

    def await_shown(self, shell, text):
        try:
            wait_until(lambda: self.is_shown(shell.printed(), text), text)
        except AssertionError:
            self.assertEqual(form(shell.printed(), self.folder), form(text))

    def walk(self, text):
        """Does what a page says; returns how many lines were typed."""
        steps, typed, printed = list(parts(text)), 0, ""
        shell, stays = None, False
        for i, step in enumerate(steps):
            if step.kind == "commands":
                key = next((part for part in steps[i + 1:i + 3] if part.kind == "key"), None)
                stays = step.is_second or key is not None and not key.is_second
                shell, printed = self.shell(step), self.commands(step, stays)
                typed += step.text.count("\n")
            elif step.kind == "printed" and stays:
                self.await_shown(shell, step.text)
            elif step.kind == "printed":
                self.assert_printed(printed, step.text, f"after {steps[i - 1].text}")
            elif step.kind == "key":
                shell = self.shell(step)
                shell.press(KEYS[step.text])
                shell.await_prompt()
            else:
                self.edit(step)
        for shell in self.shells.values():
            shell.leave()
        return typed

    def test_the_tutorial(self):
        self.store = self.folder / "tutorial/.troupe"
        self.assertGreater(self.walk((ROOT / "examples/TUTORIAL.md").read_text()), 20)

    def test_the_first_page(self):
        first = (ROOT / "README.md").read_text().partition("\n## ")[0]
        self.assertGreater(self.walk(first), 1)


if __name__ == "__main__":
    unittest.main()
