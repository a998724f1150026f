#!/usr/bin/env python3
"""Recording an actor of a live engine, and replaying it, as examples/COMMANDS.md says."""

import json
import re
import unittest

import stores
from program import ROOT, ProgramTest
from test_live import ECHO
from test_signals import WAITING

WORKFLOW = "/default/development/it"
TASK = WORKFLOW + "/wait"



def deeds(messages):
    """Messages in their order, without the one thing that a replay has not: the host's clock."""
    for message in messages:
        message["envelope"].pop("clock")
    return sorted(messages, key=lambda message: message["envelope"]["sequence"])


class RecordTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", WAITING)
        self.write("echo.yaml", ECHO)

    def begin(self):
        engine = self.start("run", "flow.yaml", "--name", "it")
        self.await_file("pid")
        return engine

    def record(self, file, *words):
        """Begins to record; goes on when the engine records."""
        recording = self.start("tap", "--record", file, *words)
        path = self.await_file(file)
        while path.stat().st_size == 0 and recording.process.poll() is None:
            pass
        return recording

    def lines(self, file, *words, status=0):
        stdout, stderr = self.troupe("tap", "--replay", file, "-o", "json", *words, status=status)
        return [json.loads(line) for line in stdout.splitlines()], stderr

    def one_recording(self, file, *words):
        engine = self.begin()
        recording = self.record(file, *words)
        self.write("go", "")
        self.assertEqual(recording.end()[0], 0)
        self.assertEqual(engine.end()[0], 0)

    def test_a_replay_does_what_the_tap_saw(self):
        engine = self.begin()
        tap = self.start("tap", "point=send", "address=/default/**", "payload=65536", "-o", "json")
        while not tap.lines["stdout"] and tap.process.poll() is None:
            self.troupe("run", "echo.yaml", "-i", "n=1", "-q")
        recordings = {WORKFLOW: self.record("workflow.rec", "--with-secrets", WORKFLOW),
                      TASK: self.record("task.rec", "--with-secrets", TASK)}
        self.write("go", "")
        for recording in recordings.values():
            status, _, stderr = recording.end()
            self.assertEqual(status, 0, stderr)
            self.assertIn("the actor has ended", stderr)
        self.assertEqual(engine.end()[0], 0)
        seen = [json.loads(line) for line in tap.end()[1].splitlines()]
        for address, file in ((WORKFLOW, "workflow.rec"), (TASK, "task.rec")):
            head, *messages = self.lines(file, address)[0]
            self.assertEqual(head["recording"]["address"], address)
            self.assertTrue(all(message["as_recorded"] for message in messages))
            effects = [effect for message in messages for effect in message["effects"]]
            sent = deeds([effect["message"] for effect in effects if effect["effect"] == "send"])
            first = sent[0]["envelope"]["sequence"]
            live = deeds([event["message"] for event in seen if event.get("address") == address
                          and event["message"]["envelope"]["sequence"] >= first])
            self.assertEqual(sent, live)
            self.assertGreater(len(sent), 0)
            self.assertEqual(effects[-1], {"effect": "stop"})
            self.assertIn("record", {effect["effect"] for effect in effects})
            self.assertIn("state", {effect["effect"] for effect in effects})

    def test_an_engine_that_leaves_ends_its_recordings(self):
        engine = self.begin()
        recording = self.record("launcher.rec", "--with-secrets", "/default/development")
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)
        status, _, stderr = recording.end()
        self.assertEqual(status, 0, stderr)
        self.assertIn("the engine has left", stderr)
        lines, stderr = self.lines("launcher.rec")
        self.assertEqual(len(lines), 2)
        self.assertIn("the engine has left", stderr)

    def test_without_secrets_nothing_is_replayed(self):
        self.one_recording("it.rec", WORKFLOW)
        _, stderr = self.lines("it.rec", status=2)
        self.assertIn("made without --with-secrets", stderr)

    def test_damaged_files(self):
        self.one_recording("it.rec", "--with-secrets", WORKFLOW)
        whole = (self.folder / "it.rec").read_bytes()
        self.assertEqual((self.folder / "it.rec").stat().st_mode & 0o777, 0o600)
        lines, stderr = self.lines("it.rec")
        self.assertIn("the recording ends after", stderr)
        cut = self.folder / "cut.rec"
        cut.write_bytes(whole[:-1])
        again, stderr = self.lines("cut.rec", status=2)
        self.assertEqual(again, lines)
        self.assertIn("cut off in the middle of an entry", stderr)
        cut.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
        self.assertIn("damaged", self.lines("cut.rec", status=2)[1])
        cut.write_bytes(b"no recording at all")
        self.assertIn("is no recording", self.lines("cut.rec", status=2)[1])
        self.assertIn("cannot be read", self.lines("none.rec", status=2)[1])
        self.assertIn("is a recording of " + WORKFLOW, self.lines("it.rec", TASK, status=2)[1])

    def test_a_recording_without_its_definition(self):
        self.one_recording("it.rec", "--with-secrets", WORKFLOW)
        damaged = stores.literal(self.store, b"damaged")
        stores.change(self.store, f"UPDATE graphs SET data = {damaged}")
        messages = self.lines("it.rec")[0][1:]
        self.assertFalse(messages[-1]["as_recorded"])
        _, stderr = self.lines("it.rec")
        self.assertIn("is damaged in the store; restore the store from a backup", stderr)
        self.assertIn("went otherwise than recorded", stderr)

    def test_effects_are_shown_while_they_happen(self):
        """What a replay would say, of a live actor; no value of it is shown."""
        engine = self.begin()
        recording = self.record("it.rec", "--with-secrets", WORKFLOW)
        live = self.start("tap", "--effects", WORKFLOW, "-o", "json")
        live.wait_for("recording", "stdout")
        self.write("go", "")
        status, stdout, stderr = live.end()
        self.assertEqual(status, 0, stderr)
        self.assertIn("the actor has ended", stderr)
        self.assertEqual(recording.end()[0], 0)
        self.assertEqual(engine.end()[0], 0)
        _, *seen = map(json.loads, stdout.splitlines())
        _, *replayed = self.lines("it.rec")[0]
        self.assertTrue(seen)
        self.assertEqual(seen, replayed)
        self.assertTrue(all(message["as_recorded"] for message in seen))
        self.assertNotIn("it.rec", {path.name for path in self.store.iterdir()})

    def test_a_state_by_its_schema(self):
        engine = self.begin()
        state = self.document("actors", "--state", WORKFLOW)
        self.assertEqual((state["address"], state["behaviour"]), (WORKFLOW, "workflow"))
        self.assertEqual(state["state"]["is_paused"], False)
        self.assertIn("workflow_state{", self.troupe("actors", "--state", WORKFLOW)[0])
        for words, told in ((("--state",), "takes the address of an actor"),
                            (("--state", "/nobody"), "there is no actor /nobody"),
                            (("--state", "--resume", TASK), "--state only looks")):
            self.assertIn(told, self.troupe("actors", *words, status=2)[1])
        memory = {each["address"]: each["memory_bytes"] for each in self.document("actors")}
        self.assertGreater(memory[WORKFLOW], 100)
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)

    def test_mistakes(self):
        engine = self.begin()
        for words, told in (
                (("--record", "x.rec"), "needs the address of an actor"),
                (("--record", "x.rec", "/nobody"), "there is no actor /nobody"),
                (("--record", "flow.yaml", TASK), "flow.yaml cannot be written"),
                (("--record", "y.rec", TASK, "type=1"), "limit=N and seconds=N alone"),
                (("--record", "y.rec", "--replay", "y.rec", TASK), "at once"),
                (("--effects", "--replay", "y.rec", TASK), "at once"),
                (("--effects",), "needs the address of an actor"),
                (("--effects", "/nobody"), "there is no actor /nobody"),
                (("--effects", TASK, "type=1"), "limit=N and seconds=N alone"),
                (("--effects", TASK, "--filter", "limit=1"), "--filter is for what is shown"),
                (("--with-secrets",), "--with-secrets is for --record"),
                (("--replay", "y.rec", "--filter", "limit=1"), "--filter is for what is shown")):
            _, stderr = self.troupe("tap", *words, status=2)
            self.assertIn(told, stderr)
        self.assertFalse((self.folder / "x.rec").exists())
        self.troupe("tap", "--record", "z.rec", TASK, "seconds=1", "--with-secrets")
        self.assertEqual(len(self.lines("z.rec")[0]), 1)
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)

    def test_the_readme_is_true(self):
        text = (ROOT / "examples/COMMANDS.md").read_text()
        commands = re.findall(r"^    troupe (tap --re.*)$", text, re.MULTILINE)
        self.assertEqual(len(commands), 3)
        engine = self.begin()
        record, replay, in_json = (command.split() for command in commands)
        recording = self.record(record[record.index("--record") + 1], *record[3:])
        self.write("go", "")
        self.assertEqual(recording.end()[0], 0)
        self.assertEqual(engine.end()[0], 0)
        stdout, _ = self.troupe(*replay)
        self.assertIn("send tell", stdout)
        for line in self.troupe(*in_json)[0].splitlines():
            json.loads(line)


if __name__ == "__main__":
    unittest.main()
