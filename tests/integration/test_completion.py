#!/usr/bin/env python3
"""Completion in real shells: what is typed on a terminal, with tabs, and the words that arrive."""

import fcntl
import os
import pty
import shutil
import signal
import subprocess
import termios
import threading
import tty
import unittest

from program import PROGRAM, ProgramTest, wait_until

FLOW = """
troupe: 1
tasks:
  fine: {type: echo, inputs: {n: int}, outputs: {n: int}}
  bad: {run: [sh, -c, "exit 3"]}
  wait: {run: [sh, -c, 'echo >"$TROUPE_FOLDER/begun"; exec sleep 1000']}
workflows:
  good: {nodes: {list: {task: fine, with: {n: 1}}}}
  fails: {nodes: {b: {task: bad}}}
  waits: {nodes: {w: {task: wait}}}
launch_plans:
  nightly: {workflow: good, schedule: {every: 1000h}}
"""

# What stands in the place of `troupe`: what completions ask for is answered, what was typed is
# written down, one word a line.
TYPED = """#!/bin/sh
case "$1:$*" in
names:*|check:*|init:*|completion:*bash|completion:*zsh|completion:*fish)
    exec {program} "$@" ;;
get:*json*|schedules:*name*)
    exec {program} "$@" ;;
esac
printf '%s\\n' "$@" >{folder}/typed.part
mv {folder}/typed.part {folder}/typed
"""

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(troupe completion bash)"),
    "zsh": (["zsh", "-f", "-i"],
            "autoload -U compinit; compinit -u -D; source <(troupe completion zsh)"),
    "fish": (["fish", "--no-config", "-i"], "troupe completion fish | source"),
}

# Of three executions x-good has succeeded, x-bad has failed, and x-held, the newest, is dormant.
CASES = [
    ("abort x\t", "abort x-held"),
    ("resume x\t", "resume x-held"),
    ("pause x\t", "pause x-held"),
    ("watch x\t", "watch x-held"),
    ("approve x\t", "approve x-held"),
    ("recover x\t", "recover x-bad"),
    ("rerun x-b\t", "rerun x-bad"),
    ("rerun x-h\t", "rerun x-h"),
    ("prune x-g\t", "prune x-good"),
    ("prune x-h\t", "prune x-h"),
    ("abort @l\t", "abort @last"),
    ("recover @l\t", "recover @l"),
    ("explain x-b\t", "explain x-bad"),
    ("get x-g\t/l\t", "get x-good/list"),
    ("logs x-b\t/b\t", "logs x-bad/b"),
    ("export x-g\t--file a", "export x-good --file a"),
    ("list --parent x-g\t", "list --parent x-good"),
    ("list --phase timed\t", "list --phase timed-out"),
    ("list --phase=timed\t", "list --phase=timed-out"),
    ("list --phase faile\t,timed\t", "list --phase failed,timed-out"),
    ("prune --phase run\t", "prune --phase run"),
    ("prune --phase ab\t", "prune --phase aborted"),
    ("list --sort du\t", "list --sort duration"),
    ("list -o w\t", "list -o wide"),
    ("get -o y\t", "get -o yaml"),
    ("run --durability p\t", "run --durability process"),
    ("run --cache ref\t", "run --cache refresh"),
    ("run flo\t", "run flow.yaml"),
    ("run flow.yaml goo\t", "run flow.yaml good"),
    ("schedules tri\t", "schedules trigger"),
    ("schedules pause ni\t", "schedules pause nightly"),
    ("schedules -y resume ni\t", "schedules -y resume nightly"),
    ("store fi\t", "store fix-modes"),
    ("help backf\t", "help backfill"),
    ("backf\t", "backfill"),
    ("backfill ni\t", "backfill nightly"),
    ("backfill --from 1 ni\t", "backfill --from 1 nightly"),
    # Of the store that the line names.
    ("get --store other y\t", "get --store other y-other"),
    ("get --store=other y\t/l\t", "get --store=other y-other/list"),
    ("get --store ~/other y\t", "get --store HOME/other y-other"),
    ("get --store other x\t", "get --store other x"),
    ("list --store other --parent y\t", "list --store other --parent y-other"),
    ("schedules --store other pause we\t", "schedules --store other pause weekly"),
    ("backfill --store other we\t", "backfill --store other weekly"),
    ("--store other get y\t", "--store other get y-other"),
    ("--store=other recover y\t", "--store=other recover y"),
    ("--store=other rer\t", "--store=other rerun"),
    ("get --store oth\tx", "get --store other/x"),
]


class Shell:
    """A shell on a terminal of its own."""

    def __init__(self, words, folder, environment):
        self.source, end = pty.openpty()
        tty.setraw(end)
        tty.tcsetwinsize(end, (40, 200))
        self.shown = b""
        self.process = subprocess.Popen(words, cwd=folder, env=environment, stdin=end, stdout=end,
                                        stderr=end, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(end)
        self.reading = threading.Thread(target=self._read)
        self.reading.start()

    def _read(self):
        while True:
            try:
                part = os.read(self.source, 65536)
            except OSError:
                return
            if not part:
                return
            self.shown += part

    def send(self, text):
        os.write(self.source, text.encode())

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.reading.join()
        os.close(self.source)


class CompletionTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)
        self.troupe("run", "flow.yaml", "good", "--name", "x-good", "-q")
        self.troupe("run", "flow.yaml", "fails", "--name", "x-bad", "-q", status=1)
        engine = self.start("run", "flow.yaml", "waits", "--name", "x-held")
        self.await_file("begun")
        engine.process.kill()
        engine.end()
        self.kill_keeper()
        self.troupe("apply", "flow.yaml")
        self.write("other.yaml", FLOW.replace("nightly", "weekly"))
        self.troupe("run", "other.yaml", "good", "--name", "y-other", "-q", "--store", "other")
        self.troupe("apply", "other.yaml", "--store", "other")
        programs = self.folder / "bin"
        programs.mkdir()
        program = programs / "troupe"
        program.write_text(TYPED.replace("{program}", str(PROGRAM))
                           .replace("{folder}", str(self.folder)))
        program.chmod(0o755)

    def environment(self):
        return super().environment() | {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": str(self.folder),
            "TERM": "xterm", "PS1": "", "HISTFILE": "", "fish_features": "no-query-term"}

    def typed(self, shell, text):
        """The words of `troupe` when a line with tabs was typed."""
        path = self.folder / "typed"
        shell.send(f"troupe {text}\r")
        try:
            wait_until(path.exists, text)
        except AssertionError as error:
            raise AssertionError(f"{error}: {shell.shown[-2000:]!r}") from error
        words = path.read_text().split("\n")[:-1]
        path.unlink()
        return " ".join(words)

    def complete(self, name):
        words, begin = SHELLS[name]
        if shutil.which(name) is None:
            self.skipTest(f"{name} is not installed")
        shell = Shell(words, self.folder, self.environment())
        try:
            shell.send(f"{begin}\r")
            self.assertEqual(self.typed(shell, "ready"), "ready")
            for text, expected in CASES:
                with self.subTest(text):
                    expected = expected.replace("HOME", str(self.folder))
                    self.assertEqual(self.typed(shell, text), expected)
        finally:
            shell.end()

    def test_bash(self):
        self.complete("bash")

    def test_zsh(self):
        self.complete("zsh")

    def test_fish(self):
        self.complete("fish")

    def test_names(self):
        for kind, names in {"any": "@last x-held x-bad x-good", "unfinished": "@last x-held",
                            "running": "@last x-held", "held": "@last x-held", "failed": "x-bad",
                            "ended": "x-bad x-good"}.items():
            self.assertEqual(self.troupe("names", kind)[0].split(), names.split(), kind)
        self.assertEqual(self.troupe("names", "any", "x-b")[0], "x-bad\n")
        self.assertEqual(self.troupe("names", "any", "@")[0], "@last\n")
        self.assertEqual(self.troupe("names", "failed", "x-g")[0], "")
        _, stderr = self.troupe("names", "odd", status=2)
        self.assertIn("'odd' is no kind; write one of any|unfinished|running|held|failed|ended",
                      stderr)


if __name__ == "__main__":
    unittest.main()
