#!/usr/bin/env python3
"""Aborting while no engine lives: it is kept, shown, and comes before anything else of the
execution in the next engine, whichever command that is."""

import signal
import struct
import unittest

from program import ProgramTest, wait_until

# The second task would leave a trace; an inner workflow, and one that was launched, too.
FLOW = """
troupe: 1
tasks:
  wait: {run: [sh, -c, 'touch "$TROUPE_FOLDER/begun"; sleep 3600']}
  short: {run: [sh, -c, 'touch "$TROUPE_FOLDER/begun";
    while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done; touch "$TROUPE_FOLDER/ended"']}
  trace: {run: [sh, -c, 'touch "$TROUPE_FOLDER/went-on"']}
  clean: {run: [sh, -c, 'touch "$TROUPE_FOLDER/cleaned"']}
workflows:
  main:
    nodes: {one: {task: wait}, two: {task: trace, after: [one]}}
    finally: {task: clean}
  steps:
    nodes: {one: {task: short}, two: {task: trace, after: [one]}}
  outer: {nodes: {inner: {workflow: steps}}}
  launching: {nodes: {l: {launch: main}}}
"""


class Unfinished(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)

    def leave_unfinished(self, workflow, name):
        """An execution of an engine that was killed."""
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "flow.yaml", workflow, "--name", name)
        self.await_file("begun")
        engine.signal(signal.SIGKILL)
        engine.end()

    def phase(self, name):
        return self.document("get", name)["phase"]


class AbortTest(Unfinished):
    def test_the_next_engine_ends_it_first(self):
        for workflow, has_finally in (("steps", False), ("outer", False), ("main", True),
                                      ("launching", True)):
            with self.subTest(workflow):
                self.leave_unfinished(workflow, workflow)
                if not has_finally:
                    go = self.write("go", "")
                    self.await_file("ended").unlink()  # what would go on could do so now
                    go.unlink()
                said = self.troupe("abort", workflow, "-m", "not any more")[1]
                self.assertIn(f"{workflow} is aborted by the next engine", said)
                self.assertEqual(self.phase(workflow), "aborting")
                self.troupe("resume", "--until-idle")
                self.assertEqual(self.phase(workflow), "aborted")
                self.assertFalse((self.folder / "went-on").exists())
                self.assertEqual((self.folder / "cleaned").exists(), has_finally)
                (self.folder / "begun").unlink()
                (self.folder / "cleaned").unlink(missing_ok=True)
        document = self.document("get", "main")
        self.assertEqual(document["error"]["message"], "not any more")

    def test_an_engine_in_which_others_sleep_ends_it(self):
        self.leave_unfinished("main", "one")
        self.troupe("abort", "one", "--now")
        self.write("other.yaml", "troupe: 1\nworkflows: {w: {nodes: {n: {approve: it}}}}\n")
        running = self.start("run", "other.yaml", "--name", "other")
        wait_until(lambda: self.phase("one") == "aborted", "the abort")
        self.troupe("approve", "other", "it")
        self.assertEqual(running.end()[0], 0)

    def test_twice_and_of_what_has_ended(self):
        self.leave_unfinished("main", "one")
        self.troupe("abort", "one")
        self.troupe("abort", "one", "--now", "-m", "again")
        self.troupe("resume", "--until-idle")
        self.assertEqual(self.phase("one"), "aborted")
        self.assertIn("one has ended already: aborted", self.troupe("abort", "one")[1])
        self.assertEqual(self.phase("one"), "aborted")
        self.troupe("abort", "nobody", status=2)


class AsideTest(Unfinished):
    """An execution whose loading has ended the engine twice (unit/runtime/crashes/aside)."""

    def put_aside(self, name):
        number = self.document("get", name)["number"]
        (self.store / "aside").write_bytes(b"TASIDE01" + struct.pack("<QQ", number, 2))

    def test_it_is_shown_and_others_go_on(self):
        self.leave_unfinished("main", "one")
        self.put_aside("one")
        engine = self.start("serve")
        self.assertIn("one is set aside", engine.wait_for("set aside"))
        engine.wait_for("serves")
        self.write("other.yaml", "troupe: 1\nworkflows: {w: {nodes: {n: {sleep: 10ms}}}}\n")
        self.troupe("submit", "other.yaml", "--wait")
        self.assertIn("running, set aside", self.troupe("list")[0])
        self.assertIn("set aside", self.troupe("get", "one")[0])
        explained = self.troupe("explain", "one")[0]
        self.assertIn("loading it has ended the engine 2 times in a row", explained)
        self.assertIn(": `troupe resume one` lets the next engine try again, and when this one has "
                      "ended, `troupe abort one` ends it\n", explained)
        self.assertIn("`troupe resume` of it leaves it to the next engine, and `troupe "
                      "abort` works when this one has ended",
                      self.troupe("abort", "one", status=4)[1])
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)
        self.assertIn(": `troupe resume one` lets the next", self.troupe("explain", "one")[0])
        self.troupe("abort", "one")
        self.assertEqual(self.phase("one"), "aborted")

    def test_a_live_engine_leaves_it_to_the_next_one(self):
        self.leave_unfinished("steps", "one")
        self.put_aside("one")
        engine = self.start("serve")
        engine.wait_for("serves")
        self.assertIn("one was set aside; the next engine of the store loads it again",
                      self.troupe("resume", "one")[1])
        self.assertNotIn("set aside", self.troupe("list")[0])
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)
        self.write("go", "")
        self.troupe("resume", "one", "-q")
        self.assertEqual(self.phase("one"), "succeeded")

    def test_it_is_taken_up_again(self):
        self.leave_unfinished("steps", "one")
        self.put_aside("one")
        self.write("go", "")
        self.troupe("resume", "one", "-q")
        self.assertEqual(self.phase("one"), "succeeded")

    def test_it_is_aborted_without_being_loaded(self):
        self.leave_unfinished("launching", "one")
        inner = self.document("get", "one/l")["target"].strip("/")
        self.put_aside(inner)
        self.troupe("abort", inner, "-m", "it ends the engine")
        document = self.document("get", inner)
        self.assertEqual((document["phase"], document["error"]["code"]), ("aborted", "SetAside"))
        engine = self.start("serve")
        engine.wait_for("serves")
        status = self.troupe("watch", "one", status=1)
        self.assertFalse((self.folder / "went-on").exists())
        self.assertNotIn("set aside", "".join(status))
        self.write("go", "")
        self.troupe("submit", "flow.yaml", "steps", "--name", "more", "--wait")
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)


if __name__ == "__main__":
    unittest.main()
