#!/usr/bin/env python3
"""Schedules without a file: shown, paused, resumed and triggered, by name and by glob."""

import getpass
import re
import signal
import socket
import unittest

from clock import Clock
from program import ProgramTest, wait_until

WHO = f"{getpass.getuser()}@{socket.gethostname()}"

PLANS = """
troupe: 1
tasks:
  stamp:
    inputs: {at: datetime, word: string}
    run: [python3, -c, "import json, os; inputs = json.load(open(os.environ['TROUPE_INPUTS'])); \\
      log = open(os.environ['TROUPE_FOLDER'] + '/log', 'a'); \\
      log.write(inputs['at'] + ' ' + inputs['word'] + chr(10))"]
workflows:
  w: {inputs: {at: datetime, word: string}, nodes: {s: {task: stamp, with: {at: $at, word: $word}}}}
launch_plans:
  tick:
    workflow: w
    inputs: {word: planned}
    schedule: {every: 1s, kickoff_input: at, catch_up: all, overlap: allow}
  tock: {workflow: w, inputs: {word: hourly}, schedule: {every: 1h, kickoff_input: at}}
  once: {workflow: w, inputs: {word: once}}
"""


class SchedulesCase(ProgramTest):
    def setUp(self):
        super().setUp()
        self.path = self.write("plans.yaml", PLANS)

    def serve(self):
        engine = self.start("serve")
        engine.wait_for("serves")
        return engine

    def leave(self, engine):
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)

    def row(self, plan):
        return next(row for row in self.document("schedules") if row["plan"] == plan)

    def stamps(self, word):
        """The scheduled times of what a plan has run."""
        path = self.folder / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split()[0] for line in lines if line.split()[1] == word]

    def refused(self, error, *words):
        _, stderr = self.troupe("schedules", *words, status=2)
        self.assertIn(error, stderr)


class SchedulesTest(SchedulesCase):
    def test_a_list_is_what_apply_shows(self):
        self.troupe("apply", self.path)
        self.assertEqual(self.document("schedules"), self.document("apply"))
        self.assertEqual(self.troupe("schedules")[0], self.troupe("apply")[0])
        self.assertEqual(self.troupe("schedules", "-o", "name")[0], "tick\ntock\n")

    def test_a_pause_is_kept_and_shown(self):
        self.troupe("apply", self.path)
        _, stderr = self.troupe("schedules", "pause", "tock", "-m", "until Monday")
        self.assertIn("tock is paused; `troupe schedules resume tock` goes on", stderr)
        row = self.row("tock")
        self.assertEqual((row["is_paused"], row["paused_by"], row["pause_message"]),
                         (True, WHO, "until Monday"))
        self.assertRegex(row["paused_at"], r"^20\d\d-.*Z$")
        self.assertEqual((row["next_at"], row["waiting"]), (None, "paused"))
        self.assertRegex(self.troupe("schedules")[0],
                         rf"(?m)^tock .* paused by {re.escape(WHO)}: until Monday$")
        self.assertRegex(self.troupe("explain", "tock")[0],
                         rf"(?m)^next: -: paused\npaused by {re.escape(WHO)} at 20.*: until Monday"
                         "; `troupe schedules resume tock` goes on$")
        document = self.document("explain", "tock")
        self.assertEqual((document["is_paused"], document["paused_by"]), (True, WHO))
        # A file that is as it was changes nothing; one that is not changes all but the pause.
        self.troupe("apply", self.path)
        self.assertEqual(self.row("tock"), row)
        self.path.write_text(PLANS.replace("every: 1h", "every: 2h"))
        changed, = (one for one in self.document("apply", self.path) if one["plan"] == "tock")
        self.assertEqual(changed["change"], "changed")
        after = self.row("tock")
        self.assertEqual((after["schedule"], after["is_paused"], after["pause_message"]),
                         ("every 2h", True, "until Monday"))
        _, stderr = self.troupe("schedules", "resume", "tock")
        self.assertIn("troupe schedules: tock goes on", stderr)
        row = self.row("tock")
        self.assertEqual((row["is_paused"], row["paused_at"], row["paused_by"],
                          row["pause_message"]), (False, None, "", ""))
        _, stderr = self.troupe("schedules", "resume", "tock")
        self.assertIn("tock was not paused", stderr)
        # A plan that is gone takes its pause with it.
        self.troupe("schedules", "pause", "tock")
        self.path.write_text(PLANS.replace(", schedule: {every: 1h, kickoff_input: at}", ""))
        self.troupe("apply", self.path)
        self.path.write_text(PLANS)
        self.troupe("apply", self.path)
        self.assertFalse(self.row("tock")["is_paused"])

    def test_nothing_starts_in_a_pause_whatever_is_killed(self):
        engine = self.serve()
        self.troupe("apply", self.path)
        wait_until(lambda: self.stamps("planned"), "the schedule fires")
        self.troupe("schedules", "pause", "tick")
        wait_until(lambda: self.row("tick")["waiting"] == "paused", "it rests")
        engine.signal(signal.SIGKILL)
        engine.end()
        engine = self.serve()
        self.troupe("resume")
        wait_until(lambda: {row["phase"] for row in self.document("list")} == {"succeeded"},
                   "all that began has ended")
        begun = self.stamps("planned")
        # A second is more than a time of it; what an engine of another second says is a witness.
        now_at = self.document("schedules")[0]["paused_at"]
        wait_until(lambda: self.troupe("schedules", "trigger", "tock") and
                   len(set(self.stamps("hourly"))) >= 3, "seconds pass")
        self.assertEqual(self.stamps("planned"), begun)
        self.assertEqual(self.row("tick")["paused_at"], now_at)
        self.troupe("schedules", "resume", "tick")
        wait_until(lambda: len(self.stamps("planned")) > len(begun), "it goes on")
        noted = self.document("explain", "tick")["not_started"]
        self.assertEqual(noted[-1]["outcome"], "paused")
        self.assertEqual(noted[-1]["reason"], "the schedule was paused")
        self.assertIn(": paused: the schedule was paused", self.troupe("explain", "tick")[0])
        self.leave(engine)

    def test_a_trigger_starts_one_now(self):
        self.troupe("apply", self.path)
        _, stderr = self.troupe("schedules", "trigger", "tock", status=4)
        self.assertIn("no engine runs on", stderr)
        engine = self.serve()
        self.troupe("schedules", "pause", "tock")
        name = self.troupe("schedules", "trigger", "tock", "-m", "a test")[0].strip()
        self.assertRegex(name, r"^tock-[a-z2-9]{5}$")
        self.troupe("watch", name)
        found = self.document("get", name)
        self.assertEqual((found["plan"], found["cause"]),
                         ("tock", f"plan tock triggered by {WHO}: a test"))
        # kickoff_input got the time as it was then, in whole seconds.
        self.assertEqual(self.stamps("hourly"), [found["created_at"][:19] + "Z"])
        other = self.document("schedules", "trigger", "/default/development/tock")["execution"]
        self.assertNotEqual(other, name)
        # Others than the plan's, and the time of kickoff_input with them.
        name = self.troupe("schedules", "trigger", "tock", "-i", "word=other")[0].strip()
        self.troupe("watch", name)
        found = self.document("get", name)
        self.assertEqual((found["inputs"]["word"], found["plan"]), ("other", "tock"))
        self.assertEqual(self.stamps("other"), [found["created_at"][:19] + "Z"])
        self.write("in.yaml", "{word: third, at: 2026-01-02T03:04:05Z}")
        name = self.troupe("schedules", "trigger", "tock", "--inputs", "in.yaml")[0].strip()
        self.troupe("watch", name)
        self.assertEqual(self.stamps("third"), ["2026-01-02T03:04:05Z"])
        # The schedule has no part in it.
        row = self.row("tock")
        self.assertEqual((row["started"], row["last"], row["is_paused"]), (0, "", True))
        self.leave(engine)

    def test_what_is_wrong_is_refused(self):
        self.troupe("apply", self.path)
        for error, words in [
            ("'stop' is nothing that is done to schedules; write pause, resume or trigger",
             ["stop"]),
            ("pause needs a PLAN", ["pause"]),
            ("trigger takes one PLAN", ["trigger", "tick", "tock"]),
            ("there is no plan with a schedule 'tack'; `troupe schedules` shows all",
             ["pause", "tack"]),
            ("there is no plan with a schedule 'once'", ["trigger", "once"]),
            ("there is no plan with a schedule 't*'", ["trigger", "t*"]),
            ("no plan with a schedule matches 'x*'", ["resume", "x*"]),
            ("-m says why a schedule is paused or triggered", ["resume", "tick", "-m", "why"]),
            ("-m says why a schedule is paused or triggered", ["-m", "why"]),
            ("-i and --inputs are for trigger alone", ["pause", "tock", "-i", "word=x"]),
            ("-i and --inputs are for trigger alone", ["-i", "word=x"]),
            ("-i wort: there is no input 'wort'; did you mean 'word'?",
             ["trigger", "tock", "-i", "wort=x"]),
            ("the message is longer than TR_SCHEDULE_MESSAGE_BYTES (512)",
             ["pause", "tick", "-m", "x" * 513]),
        ]:
            with self.subTest(words):
                self.refused(error, *words)

    def test_several_are_asked_about(self):
        self.troupe("apply", self.path)
        self.refused("these are 2 schedules; give --yes if you mean all of them", "pause", "t*")
        paused = self.document("schedules", "pause", "t*", "--yes")
        self.assertEqual([(row["plan"], row["is_paused"], row["was_paused"]) for row in paused],
                         [("tick", True, False), ("tock", True, False)])
        self.path.write_text("project: other\n" + PLANS.lstrip())
        self.troupe("apply", self.path)
        self.refused("there are several plans 'tock'; write default/development/tock or "
                     "other/development/tock", "resume", "tock")
        resumed = self.document("schedules", "resume", "default/**", "--yes")
        self.assertEqual([(row["project"], row["plan"]) for row in resumed],
                         [("default", "tick"), ("default", "tock")])
        self.assertEqual(self.document("schedules", "resume", "/other/development/tock"),
                         [{"plan": "tock", "project": "other", "domain": "development",
                           "is_paused": False, "was_paused": False}])


class PausedTimesTest(Clock, SchedulesCase):
    def test_times_of_a_pause_are_noted_and_not_caught_up(self):
        self.troupe("apply", self.path)
        self.troupe("schedules", "pause", "t*", "--yes")
        self.set_clock(3 * 3600)
        engine = self.serve()
        self.troupe("schedules", "resume", "tock")
        wait_until(lambda: self.document("explain", "tock")["not_started"], "it is noted")
        note, = self.document("explain", "tock")["not_started"]
        self.assertEqual(note["outcome"], "paused")
        row = self.row("tock")
        self.assertEqual((row["outcome"], row["started"], row["skipped"]), ("paused", 0, 1))
        self.assertRegex(self.troupe("explain", "tock")[0],
                         r"(?m)^not started, the latest ones:\n  20\S+ and after it, before 20\S+: "
                         "paused: the schedule was paused$")
        self.leave(engine)


if __name__ == "__main__":
    unittest.main()
