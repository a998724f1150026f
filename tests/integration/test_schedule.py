#!/usr/bin/env python3
"""Schedules: applied, fired while an engine stays, killed, and filled up afterwards."""

import calendar
import collections
import signal
import time
import unittest

from clock import Clock
import stores
from program import EXAMPLES, ProgramTest, wait_until

NIGHTLY = EXAMPLES / "nightly.yaml"

TICK = """
troupe: 1
tasks:
  stamp:
    inputs: {at: datetime}
    run: [python3, -c, "import json, os; at = json.load(open(os.environ['TROUPE_INPUTS']))['at']; \\
      open(os.environ['TROUPE_FOLDER'] + '/log', 'a').write(at + chr(10))"]
workflows:
  w: {inputs: {at: datetime}, nodes: {s: {task: stamp, with: {at: $at}}}}
launch_plans:
  tick:
    workflow: w
    schedule: {every: 1s, kickoff_input: at, catch_up: all, overlap: allow}
"""

SLOW = """
troupe: 1
tasks: {nap: {run: [sleep, "60"]}}
workflows: {w: {nodes: {s: {task: nap}}}}
launch_plans:
  slow: {workflow: w, schedule: {every: 1s, catch_up: none, overlap: skip}}
"""

BROKEN = """
troupe: 1
tasks: {t: {run: ["false"]}}
workflows: {w: {nodes: {a: {task: t}}}}
launch_plans: {p: {workflow: w, schedule: {cron: "@daily", timezone: Europe/Berln}}}
"""


class ScheduleCase(ProgramTest):
    def serve(self):
        engine = self.start("serve")
        engine.wait_for("serves")
        return engine

    def changes(self, *words):
        return {row["plan"]: row["change"] for row in self.document("apply", *words)}

    def stamps(self):
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def wait_for_stamps(self, count):
        wait_until(lambda: len(self.stamps()) >= count, "the schedule fires")


class ScheduleTest(ScheduleCase):
    def test_apply_says_what_it_changes(self):
        self.assertEqual(self.changes(NIGHTLY), {"nightly": "created"})
        self.assertEqual(self.changes(NIGHTLY), {"nightly": "unchanged"})
        text = NIGHTLY.read_text()
        self.write("steps.py", "")
        path = self.write("nightly.yaml", text.replace("30 2", "45 2"))
        self.assertEqual(self.changes(path), {"nightly": "changed"})
        row, = self.document("apply")
        self.assertEqual((row["schedule"], row["timezone"], row["version"]),
                         ("45 2 * * *", "Europe/Berlin", 2))
        self.assertIn("troupe serve", row["waiting"])
        self.write("tick.yaml", TICK)
        self.assertEqual(self.changes("tick.yaml"), {"tick": "created"})
        self.assertEqual(self.changes("tick.yaml", "--delete"),
                         {"tick": "unchanged", "nightly": "deleted"})
        self.write("tick.yaml", TICK.split("    schedule:")[0])
        self.assertEqual(self.changes("tick.yaml"), {"tick": "deleted"})
        self.assertEqual(self.document("apply"), [])

    def test_what_is_wrong_is_refused(self):
        self.write("broken.yaml", BROKEN)
        _, stderr = self.troupe("apply", "broken.yaml", status=2)
        self.assertIn("did you mean 'Europe/Berlin'?", stderr)
        self.assertEqual(stores.contents(self.store), [])
        _, stderr = self.troupe("apply", "--delete", status=2)
        self.assertIn("--delete needs FILE", stderr)
        self.troupe("apply", NIGHTLY)
        for words, error in [
            (["nightly", "--from", "2026-08-20"], "--to is missing"),
            (["nightly", "--from", "soon", "--to", "2026-08-20"], "--from: 'soon' is no time"),
            (["nightly", "--from", "2026-08-20", "--to", "2026-08-19"], "--to is before --from"),
            (["weekly", "--from", "2026-08-20", "--to", "2026-08-21"], "no plan 'weekly'"),
            (["nightly", "--from", "2026-08-20", "--to", "2026-08-21", "--parallelism", "0"],
             "--parallelism: '0'"),
        ]:
            _, stderr = self.troupe("backfill", *words, status=2)
            self.assertIn(error, stderr)

    def test_each_time_fires_once_whatever_is_killed(self):
        self.write("tick.yaml", TICK)
        engine = self.serve()
        self.troupe("apply", "tick.yaml")
        for count in (2, 4, 6):
            self.wait_for_stamps(count)
            engine.signal(signal.SIGKILL)
            engine.end()
            engine = self.serve()
        self.wait_for_stamps(9)
        self.write("tick.yaml", TICK.split("    schedule:")[0])
        self.assertEqual(self.changes("tick.yaml"), {"tick": "deleted"})
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)
        self.troupe("resume")
        rows = self.document("list", "--limit", "0")
        self.assertEqual({row["phase"] for row in rows}, {"succeeded"})
        twice = [at for at, count in collections.Counter(self.stamps()).items() if count > 1]
        self.assertEqual(twice, [])
        names = sorted(row["execution"] for row in rows)
        self.assertEqual(len(names), len(self.stamps()))
        # All of them, one second after the other: what was missed was caught up with.
        seconds = sorted(calendar.timegm(time.strptime(name, "tick-%Y%m%dt%H%M%Sz"))
                         for name in names)
        self.assertEqual(seconds, list(range(int(seconds[0]), int(seconds[0]) + len(seconds))))

    def test_schedules_rest_under_other_engines(self):
        self.write("tick.yaml", TICK)
        self.troupe("apply", "tick.yaml")
        self.troupe("run", NIGHTLY, "nightly", "-i", "day=2026-08-20")
        self.assertEqual(len(self.document("list")), 1)

    def test_backfill(self):
        self.troupe("apply", NIGHTLY)
        self.troupe("run", NIGHTLY, "nightly", "-i", "day=2026-08-20", "--name",
                    "nightly-20260802t003000z")
        words = ["backfill", "nightly", "--from", "2026-08-01", "--to", "2026-08-04",
                 "--parallelism", "2"]
        rows = self.document(*words)
        self.assertEqual([(row["execution"], row["outcome"]) for row in rows],
                         [("nightly-20260801t003000z", "succeeded"),
                          ("nightly-20260802t003000z", "existed"),
                          ("nightly-20260803t003000z", "succeeded")])
        found = self.document("get", "nightly-20260803t003000z")
        self.assertEqual(found["outputs"], {"text": "nightly report of 2026-08-03"})
        self.assertEqual((found["cause"], found["plan"]), ("backfill nightly", "nightly"))
        self.assertEqual({row["outcome"] for row in self.document(*words)}, {"existed"})

    def test_a_backfill_is_left_to_an_engine(self):
        """All begin at once, and nobody waits; without an engine there is nobody to leave it to."""
        self.troupe("apply", NIGHTLY)
        words = ["backfill", "nightly", "--from", "2026-08-01", "--to", "2026-08-03", "--detach"]
        self.assertIn("troupe serve", self.troupe(*words, status=4)[1])
        self.assertIn("nobody stays to count them",
                      self.troupe(*words, "--parallelism", "2", status=2)[1])
        engine = self.serve()
        names = ["nightly-20260801t003000z", "nightly-20260802t003000z"]
        self.assertEqual([(row["execution"], row["outcome"]) for row in self.document(*words)],
                         [(name, "running") for name in names])
        for name in names:
            engine.wait_for(f"{name} succeeded")
        self.assertEqual({row["outcome"] for row in self.document(*words)}, {"existed"})
        self.assertIn("more than 1000 times to start at once",
                      self.troupe("backfill", "nightly", "--from", "2020-01-01", "--to",
                                  "2026-08-03", "--detach", status=2)[1])
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)

    def test_what_a_registered_plan_takes(self):
        self.troupe("apply", NIGHTLY)
        row, = self.document("inspect", "--plan", "nightly")
        self.assertEqual((row["kind"], row["target"]), ("launch plan", "daily"))
        self.assertEqual(self.document("inspect", "--plan", "/default/development/nightly"), [row])
        of_file, = [one for one in self.document("inspect", NIGHTLY, "nightly")
                    if one["kind"] == "launch plan"]
        self.assertEqual(row["inputs"], of_file["inputs"])
        self.assertIn("launch plan nightly(", self.troupe("inspect", "--plan", "nightly")[0])
        for words, said in ((("none",), "no plan 'none' is registered"),
                            (("nightly", "daily"), "name a plan alone"),
                            (("/other/development/nightly",), "no plan '/other/")):
            self.assertIn(said, self.troupe("inspect", "--plan", *words, status=2)[1])

    def test_backfill_in_an_engine_that_stays(self):
        engine = self.serve()
        stdout, stderr = self.troupe("backfill", "nightly", "--file", NIGHTLY, "--from",
                                     "2026-08-01", "--to", "2026-08-03")
        self.assertEqual(stdout, "nightly-20260801t003000z  succeeded\n"
                                 "nightly-20260802t003000z  succeeded\n")
        self.assertIn("(2 ended, 0 run, 0 to come)", stderr)
        engine.wait_for("nightly-20260801t003000z begins: daily, backfill nightly")
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)


class MissedTest(Clock, ScheduleCase):
    def test_explain_says_why_a_time_was_not_started(self):
        self.write("slow.yaml", SLOW)
        self.troupe("apply", "slow.yaml")
        stdout, _ = self.troupe("explain", "slow")
        self.assertRegex(stdout, r"^slow: every 1s \(UTC\), starts w\n"
                         r"next: .*: idle: no engine with schedules runs here")
        self.assertIn("(overlap): skip; where times were missed (catch_up): none", stdout)
        self.set_clock(2)
        document = self.document("explain", "slow")
        self.assertEqual(document["is_late"], document["next_at"] is not None)
        self.assertFalse(document["is_live"])
        self.assertEqual(document["not_started"], [])
        self.set_clock(12)
        engine = self.serve()
        wait_until(lambda: {"missed", "skipped"} <= set(self.outcomes()), "both are told of")
        document = self.document("explain", "/default/development/slow")
        self.assertEqual(document["not_started"][0]["outcome"], "missed")
        self.assertEqual(document["running"], [self.document("list")[0]["execution"]])
        self.assertEqual(document["not_started"][0]["reason"],
                         "no engine with schedules ran then (catch_up: none)")
        self.assertEqual(document["not_started"][-1]["reason"],
                         "the execution before was running (overlap: skip)")
        stdout, _ = self.troupe("explain", "slow")
        self.assertRegex(stdout, r"not started, the latest ones:\n  .* and after it, before .*: "
                         r"missed: no engine with schedules ran then")
        self.assertRegex(stdout, r"\n  \S+ ?\S*: skipped: the execution before was running")
        _, stderr = self.troupe("explain", "slowly", status=2)
        self.assertIn("slowly", stderr)
        self.troupe("abort", *[row["execution"] for row in self.document("list")], "--yes")
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)

    def outcomes(self):
        rows = self.document("explain", "/default/development/slow")["not_started"]
        return [row["outcome"] for row in rows]


if __name__ == "__main__":
    unittest.main()
