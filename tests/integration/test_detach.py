#!/usr/bin/env python3
"""People who follow on a terminal: `d` detaches, Ctrl-C at a gate asks, and the terminal is as it
was before in every way out."""

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import termios
import threading
import unittest

from program import LIMIT_S, PROGRAM, ProgramTest, ended_by_faults, wait_until

FLOW = """
troupe: 1
tasks:
  hold: {run: [sh, -c, 'until test -e "$TROUPE_FOLDER/go"; do sleep 0.02; done'], retries: 0}
workflows:
  main: {nodes: {hold: {task: hold}}}
  gate: {nodes: {ok: {approve: ship}, hold: {task: hold}}}
"""
RAW = termios.ICANON | termios.ECHO


class Seat:
    """A terminal with a program that it controls: what is typed there is a person's."""

    def __init__(self, words, folder, environment):
        self.source, self.end_of_program = pty.openpty()
        self.before = self.modes()
        self.shown = b""
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            [str(word) for word in words], cwd=folder, env=environment, start_new_session=True,
            stdin=self.end_of_program, stdout=self.end_of_program, stderr=self.end_of_program,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while True:
            try:
                piece = os.read(self.source, 65536)
            except OSError:
                return
            with self.changed:
                self.shown += piece
                self.changed.notify_all()

    def modes(self):
        return termios.tcgetattr(self.end_of_program)

    def is_raw(self):
        return self.modes()[3] & RAW == 0

    def wait_for(self, pattern, count=1):
        """Until that has been shown so many times."""
        def is_there():
            return len(re.findall(pattern, self.shown.decode(errors="replace"))) >= count
        with self.changed:
            if not self.changed.wait_for(is_there, LIMIT_S):
                raise AssertionError(f"no {pattern!r}: {self.shown}")

    def press(self, keys):
        os.write(self.source, keys)

    def end(self):
        """The exit status and all that was shown; the terminal has to be as it was."""
        status = self.process.wait(LIMIT_S)
        modes = self.modes()
        os.close(self.end_of_program)
        self.reader.join(LIMIT_S)
        os.close(self.source)
        return status, self.shown.decode(errors="replace").replace("\r\n", "\n"), modes


class DetachTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)
        self.seats = []

    def tearDown(self):
        self.write("go", "")
        for seat in self.seats:
            if seat.process.poll() is None:
                seat.process.kill()
                seat.process.wait()
        self.end_engines()
        super().tearDown()

    def end_engines(self):
        """Those in the background leave when their work has ended."""
        self.troupe_quietly("abort", "*", "--yes", "--now")
        for running in self.started:
            if running.process.poll() is None:
                running.signal(signal.SIGTERM)
        wait_until(lambda: self.troupe_quietly("actors") != 0, "no engine is left")

    def troupe_quietly(self, *words):
        return subprocess.run([PROGRAM, *words], cwd=self.folder, env=self.environment(),
                              capture_output=True, timeout=LIMIT_S, check=False).returncode

    def sit(self, *words, term="dumb", is_raw=True):
        seat = Seat([PROGRAM, *words], self.folder,
                    ended_by_faults(self.environment() | {"TERM": term}))
        self.seats.append(seat)
        if is_raw:
            wait_until(seat.is_raw, "the terminal gives single keys")
        return seat

    def ends(self, seat, status):
        ended, shown, modes = seat.end()
        self.assertEqual(ended, status, shown)
        self.assertEqual(modes, seat.before)
        return shown

    def run_of(self, workflow, *words, **keys):
        return self.sit("run", "flow.yaml", workflow, "--name", "it", *words, **keys)

    def phase(self):
        return self.document("get", "it")["phase"]

    def await_phase(self, phase):
        wait_until(lambda: self.phase() == phase, f"it is {phase}")

    # ------------------------------------------------------------------ detaching

    def test_d_leaves_it_to_an_engine_in_the_background(self):
        seat = self.run_of("main")
        seat.wait_for("hold: running")
        seat.press(b"d")
        shown = self.ends(seat, 0)
        self.assertIn("troupe run: it goes on without this command; `troupe watch it` follows it\n"
                      "it\n", shown)
        self.assertNotEqual(self.document("actors"), [])  # of the engine that is there now
        self.assertEqual(self.phase(), "running")
        self.write("go", "")
        self.await_phase("succeeded")
        self.assertEqual(len(self.query("SELECT * FROM attempts")), 1)

    def test_d_leaves_it_to_the_engine_that_is_there(self):
        engine = self.start("serve")
        engine.wait_for("serves")
        seat = self.run_of("main", "-o", "json")
        seat.wait_for("hold: running")
        seat.press(b"d")
        self.assertIn('\n{"execution":"it"}\n', self.ends(seat, 0))
        self.write("go", "")
        self.await_phase("succeeded")

    def test_an_engine_of_another_run_hands_it_over(self):
        self.write("other.yaml", FLOW.replace("/go", "/other"))
        other = self.start("run", "other.yaml", "main", "--name", "other")
        other.wait_for("hold: running")
        seat = self.run_of("main")
        seat.wait_for("hold: running")
        seat.press(b"d")
        self.ends(seat, 0)
        self.write("other", "")
        self.assertEqual(other.end()[0], 0)
        self.write("go", "")
        self.await_phase("succeeded")

    def test_what_others_follow_here_goes_on_too(self):
        seat = self.run_of("main")
        seat.wait_for("hold: running")
        other = self.start("run", "flow.yaml", "main", "--name", "other")
        other.wait_for("hold: running")
        seat.press(b"d")
        self.ends(seat, 0)
        self.assertIn("the engine has gone", other.end()[2])
        self.write("go", "")
        wait_until(lambda: {row["phase"] for row in self.document("list")} == {"succeeded"},
                   "both go on in the background")

    def test_each_command_that_follows_detaches(self):
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "flow.yaml", "main", "--name", "it")
        for words in (["watch", "it"], ["watch", "it", "-o", "json"], ["resume", "it"],
                      ["run", "flow.yaml", "main", "--name", "it", "--if-new", "-q"],
                      ["submit", "flow.yaml", "main", "--wait"]):
            with self.subTest(words):
                seat = self.sit(*words)
                seat.press(b"d")
                self.ends(seat, 0)
        self.assertEqual(self.phase(), "running")

    def test_only_the_key_alone_detaches(self):
        seat = self.run_of("main", term="xterm")
        seat.wait_for("d detaches")
        for keys in (b"x", b"\r", b"\x1b[D", b"and pasted text\r"):
            seat.press(keys)
        self.write("go", "")
        shown = self.ends(seat, 0)
        self.assertNotIn("pasted", shown)
        self.assertNotIn("goes on without", shown)

    # ------------------------------------------------------------------ Ctrl-C at a gate

    def test_ctrl_c_at_a_gate_asks(self):
        seat = self.run_of("gate")
        seat.wait_for("ok: waits for approval")
        seat.press(b"\x03")
        seat.wait_for("a gate waits: d detaches and lets it wait, a aborts, as Ctrl-C again does; "
                      "any other key follows on")
        seat.press(b"x")
        seat.wait_for("following on")
        seat.press(b"a")  # no answer to any question
        seat.press(b"\x03")
        seat.wait_for("a gate waits", count=2)
        self.assertEqual(self.phase(), "running")
        seat.press(b"d")
        self.ends(seat, 0)
        self.troupe("approve", "it")
        self.write("go", "")
        self.await_phase("succeeded")

    def test_the_answers_that_abort(self):
        for answer in (b"a", b"\x03"):
            with self.subTest(answer):
                seat = self.sit("run", "flow.yaml", "gate")
                seat.wait_for("ok: waits for approval")
                seat.press(b"\x03")
                seat.wait_for("a gate waits")
                seat.press(answer)
                seat.wait_for("aborting")
                self.assertIn("aborted: interrupted by Ctrl-C", self.ends(seat, 3))

    def test_in_anothers_engine_it_asks_too(self):
        engine = self.start("serve")
        engine.wait_for("serves")
        seat = self.run_of("gate")
        seat.wait_for("ok: waits for approval")
        seat.press(b"\x03")
        seat.wait_for("a gate waits")
        seat.press(b"a")
        self.ends(seat, 3)

    def test_without_a_gate_it_aborts_at_once(self):
        seat = self.run_of("main")
        seat.wait_for("hold: running")
        seat.press(b"\x03")
        self.assertNotIn("a gate waits", self.ends(seat, 3))

    def test_without_a_terminal_nobody_is_asked(self):
        running = self.start("run", "flow.yaml", "gate")
        running.wait_for("ok: waits for approval")
        running.signal(signal.SIGINT)
        status, _, stderr = running.end()
        self.assertEqual(status, 3)
        self.assertNotIn("a gate waits", stderr)

    # ------------------------------------------------------------------ the terminal

    def test_it_is_as_it_was_in_every_way_out(self):
        fault = -signal.SIGSEGV
        ways = {
            "an end": (0, lambda seat: self.write("go", "")),
            "SIGTERM": (4, lambda seat: seat.process.terminate()),
            "SIGHUP": (4, lambda seat: seat.process.send_signal(signal.SIGHUP)),
            "Ctrl-C": (3, lambda seat: seat.press(b"\x03")),
            "a fault": (fault, lambda seat: seat.process.send_signal(signal.SIGSEGV)),
            "Ctrl-\\": (-signal.SIGQUIT, lambda seat: seat.press(b"\x1c")),
            "SIGUSR1": (-signal.SIGUSR1, lambda seat: seat.process.send_signal(signal.SIGUSR1)),
        }
        for is_client in (False, True):
            if is_client:
                self.start("serve").wait_for("serves")
            for name, (status, leave) in ways.items():
                with self.subTest(name, is_client=is_client):
                    (self.folder / "go").unlink(missing_ok=True)
                    seat = self.sit("run", "flow.yaml", "main")
                    wait_until(lambda: '"hold"' in json.dumps(self.document("get", "@last")),
                               "it runs")
                    leave(seat)
                    self.ends(seat, status)

    def test_a_watch_gives_it_back_however_it_ends(self):
        self.start("serve").wait_for("serves")
        self.troupe("submit", "flow.yaml", "main", "--name", "it")
        for keys, number in ((b"\x03", signal.SIGINT), (None, signal.SIGTERM),
                             (None, signal.SIGHUP)):
            seat = self.sit("watch", "it")
            if keys:
                seat.press(keys)
            else:
                seat.process.send_signal(number)
            self.ends(seat, -number)

    @unittest.skipUnless(shutil.which("bash"), "needs a shell with job control")
    def test_a_shell_has_it_while_the_program_is_stopped(self):
        script = (f"set -m; {PROGRAM} run flow.yaml main --name it; echo first $?; stty -a; "
                  "fg >/dev/null; echo last $?; stty -a")
        seat = Seat(["bash", "-c", script], self.folder, self.environment())
        self.seats.append(seat)
        seat.wait_for("hold: running")
        wait_until(seat.is_raw, "the terminal gives single keys")
        seat.press(b"\x1a")
        seat.wait_for(f"first {128 + signal.SIGTSTP}")
        wait_until(seat.is_raw, "it goes on")
        seat.press(b"d")
        shown = self.ends(seat, 0)
        self.assertIn("last 0", shown)
        self.assertEqual(len(re.findall(r"(?<!-)\bicanon\b", shown)), 2, shown)
        self.assertEqual(len(re.findall(r"[ ;]echo\b", shown)), 2, shown)

    @unittest.skipUnless(shutil.which("bash"), "needs a shell with job control")
    def test_in_the_background_the_terminal_is_left_alone(self):
        script = f"set -m; {PROGRAM} run flow.yaml main --name it & read line; touch go; wait"
        seat = Seat(["bash", "-c", script], self.folder, self.environment())
        self.seats.append(seat)
        seat.wait_for("hold: running")
        self.assertEqual(seat.modes(), seat.before)
        seat.press(b"d\r")  # the shell's to read
        shown = self.ends(seat, 0)
        self.assertIn("hold: succeeded", shown)


if __name__ == "__main__":
    unittest.main()
