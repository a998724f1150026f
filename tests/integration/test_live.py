#!/usr/bin/env python3
"""One store has one engine: other commands hand it their work, and look into it."""

import json
import shutil
import signal
import unittest

from program import ProgramTest
from test_signals import WAITING

ECHO = """
troupe: 1
tasks: {say: {type: echo, inputs: {a: int}, outputs: {a: int}}}
workflows:
  main:
    inputs: {n: int}
    nodes: {one: {task: say, with: {a: $n}}}
    outputs: {n: $one.a}
"""

SLEEP = """
troupe: 1
tasks: {nap: {type: core-sleep, inputs: {d: duration}}}
workflows: {main: {nodes: {nap: {task: nap, with: {d: 1h}}}}}
"""

# Two elements that succeed, and a node that fails.
MAP = """
troupe: 1
tasks:
  say: {type: echo, inputs: {a: int}, outputs: {a: int}}
  fail: {run: ["false"]}
workflows:
  main:
    nodes:
      sq: {map: say, with: {a: [1, 2]}}
      bad: {task: fail, after: [sq]}
"""

# Two elements that wait for a file.
HELD_MAP = """
troupe: 1
tasks:
  hold:
    inputs: {a: int}
    run: [sh, -c, 'echo $$ > "$TROUPE_FOLDER/pid$TROUPE_ELEMENT";
      while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done']
workflows: {main: {nodes: {sq: {map: hold, with: {a: [1, 2]}}}}}
"""


class LiveTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", WAITING)
        self.write("echo.yaml", ECHO)

    def begin(self):
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_file("pid")
        return running

    def test_a_second_run_is_a_guest(self):
        engine = self.begin()
        stdout, stderr = self.troupe("run", "echo.yaml", "-i", "n=4", "--name", "guest")
        self.assertEqual(stdout, "n: 4\n")
        self.assertIn("one: succeeded", stderr)
        _, stderr = self.troupe("run", "echo.yaml", "-i", "n=5", "--name", "guest", status=2)
        self.assertIn("there is an execution guest already", stderr)
        document = self.document("run", "echo.yaml", "-i", "n=5", "--name", "guest", "--if-new")
        self.assertEqual(document["outputs"], {"n": 4})
        _, stderr = self.troupe("run", "echo.yaml", "-i", "n=5", "--name", "it", status=2)
        self.assertIn("there is an execution it already (running)", stderr)
        self.assertIsNone(engine.process.poll())
        self.write("go", "")
        self.assertEqual(engine.end()[:2], (0, "n: 2"))

    def test_the_engine_stays_for_its_guests(self):
        self.write("other.yaml", WAITING.replace("/go", "/go2").replace("/pid", "/pid2"))
        engine = self.begin()
        guest = self.start("run", "other.yaml", "--name", "guest")
        self.await_file("pid2")
        self.write("go", "")
        engine.wait_for("n: 2", "stdout")
        engine.wait_for("staying for 1 other command")
        self.assertIsNone(engine.process.poll())
        self.write("go2", "")
        status, stdout, stderr = guest.end()
        self.assertEqual((status, stdout), (0, "n: 2"), (stderr, engine.end()))
        self.assertEqual(engine.end()[0], 0)

    def test_an_engine_leaves_a_store_that_was_removed(self):
        self.write("sleep.yaml", SLEEP)
        engine = self.start("run", "sleep.yaml")
        engine.wait_for("nap: running")
        shutil.rmtree(self.store)
        status, _, stderr = engine.end()
        self.assertEqual(status, 4, stderr)
        self.assertIn("the store is not there any more", stderr)

    def test_a_guest_that_goes_is_not_waited_for(self):
        self.write("other.yaml", WAITING.replace("/go", "/go2").replace("/pid", "/pid2"))
        engine = self.begin()
        guest = self.start("run", "other.yaml", "--name", "guest")
        self.await_file("pid2")
        guest.signal(signal.SIGTERM)
        self.assertEqual(guest.end()[0], 4)
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)
        self.write("go2", "")
        self.assertEqual(self.troupe("resume", "guest", "-q")[0], "n: 2\n")

    def test_a_guest_aborts_its_own(self):
        self.write("other.yaml", WAITING.replace("/go", "/go2").replace("/pid", "/pid2"))
        engine = self.begin()
        guest = self.start("run", "other.yaml", "--name", "guest")
        self.await_file("pid2")
        guest.signal(signal.SIGINT)
        status, _, stderr = guest.end()
        self.assertEqual(status, 3, stderr)
        self.assertIn("guest aborted", stderr)
        self.write("go", "")
        self.assertEqual(engine.end()[:2], (0, "n: 2"))

    def test_a_guest_hears_that_the_engine_has_gone(self):
        self.write("other.yaml", WAITING.replace("/go", "/go2").replace("/pid", "/pid2"))
        engine = self.begin()
        guest = self.start("run", "other.yaml", "--name", "guest")
        self.await_file("pid2")
        engine.signal(signal.SIGKILL)
        status, _, stderr = guest.end()
        self.assertEqual(status, 4)
        self.assertIn("the engine has gone; `troupe resume`", stderr)
        self.write("go", "")
        self.write("go2", "")
        self.troupe("resume", "-q")
        self.assertEqual(self.troupe("resume", "guest", "-q")[0], "n: 2\n")

    def test_abort(self):
        engine = self.begin()
        _, stderr = self.troupe("abort", "it", "-m", "changed my mind")
        self.assertIn("it is being aborted", stderr)
        status, _, stderr = engine.end()
        self.assertEqual(status, 3)
        self.assertIn("aborted", stderr)
        _, stderr = self.troupe("abort", "it")
        self.assertIn("it has ended already: aborted", stderr)
        _, stderr = self.troupe("abort", status=2)

    def test_unknown_and_ended_executions(self):
        engine = self.begin()
        self.troupe("run", "echo.yaml", "-i", "n=1", "--name", "over", "-q")
        _, stderr = self.troupe("abort", "ov")
        self.assertIn("over has ended already: succeeded", stderr)
        _, stderr = self.troupe("abort", "nobody", status=2)
        self.assertIn("there is no execution 'nobody'", stderr)
        self.assertNotIn("usage:", stderr)
        self.troupe("run", "echo.yaml", "-i", "n=1", "--name", "over-2", "-q")
        self.troupe("run", "echo.yaml", "-i", "n=1", "--name", "over-3", "-q")
        _, stderr = self.troupe("abort", "over-", status=2)
        self.assertIn("'over-' may be default/development/over-3", stderr)
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)

    def test_looking_into_the_engine(self):
        engine = self.begin()
        stdout, stderr = self.troupe("actors")
        self.assertIn("BEHAVIOUR", stdout)
        self.assertIn("/default/development/it/wait", stdout)
        self.assertIn("/sys/resources", stdout)
        actors = self.document("actors", "/default/development/**")
        self.assertIn("task", {actor["behaviour"] for actor in actors})
        metrics = {row["name"]: row["value"] for row in self.document("metrics")}
        self.assertGreater(metrics["messages_handled"], 0)
        self.assertEqual(metrics["requests_refused"], 0)
        tap = self.start("tap", "point=handled", "type=node_ended", "limit=1", "-o", "json")
        self.troupe("run", "echo.yaml", "-i", "n=1", "-q")
        while not tap.lines["stdout"] and tap.process.poll() is None:
            self.troupe("run", "echo.yaml", "-i", "n=1", "-q")
        status, stdout, _ = tap.end()
        self.assertEqual(status, 0)
        self.assertIn("node_ended", stdout)
        json.loads(stdout.splitlines()[0])
        _, stderr = self.troupe("tap", "-v", "point=nowhere", status=2)
        self.assertIn("nowhere", stderr)
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)

    def test_a_tap_for_people(self):
        self.write("map.yaml", MAP)
        engine = self.begin()
        all_of_it = self.start("tap", "limit=100000")
        of_one = self.start("tap", "it", "limit=100000")
        all_of_it.wait_for("looking; Ctrl-C ends it")
        of_one.wait_for("looking; Ctrl-C ends it")
        self.troupe("run", "map.yaml", "--name", "wide", "-q", status=1)
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)
        lines = [line.split("  ", 1) for line in all_of_it.end()[1].splitlines()]
        told = [line[1] for line in lines if len(line) == 2 and line[1].startswith("wide")]
        for line in ("wide  begins", "wide/sq  begins", "wide/sq  running", "wide/sq[0]  begins",
                     "wide/sq[0]  succeeded", "wide/sq[1]  succeeded", "wide/sq  succeeded",
                     "wide/bad  failed: exit status 1 of 1 attempt", "wide  failed"):
            self.assertIn(line, told)
        self.assertEqual(told[0], "wide  begins")
        self.assertEqual(told[-1], "wide  failed")
        self.assertRegex(lines[0][0], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
        for word in ("type=", "tell", "uncommitted", "node_ended", "handled"):
            self.assertNotIn(word, "".join(told))
        mine = [line.split("  ", 1)[1] for line in of_one.end()[1].splitlines()]
        self.assertEqual(mine[-2:], ["it/wait  succeeded", "it  succeeded"])
        self.assertEqual({line.split("/")[0].split(" ")[0] for line in mine}, {"it"})

    def test_a_tap_of_a_node_and_of_an_element(self):
        self.write("hold.yaml", HELD_MAP)
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "hold.yaml", "--name", "held")
        self.await_file("pid0")
        self.await_file("pid1")
        whole = self.start("tap", "held/sq", "limit=100000")
        one = self.start("tap", "held/sq[1]", "limit=100000")
        messages = self.start("tap", "-v", "held/sq[1]", "limit=100000")
        document = self.start("tap", "held/sq[1]", "-o", "json", "limit=100000")
        for tap in (whole, one, messages, document):
            tap.wait_for("looking; Ctrl-C ends it")
        self.write("go", "")
        self.troupe("watch", "held")
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)
        told = [line.split("  ", 1)[1] for line in whole.end()[1].splitlines()]
        self.assertEqual(sorted(told), ["held/sq  succeeded", "held/sq[0]  succeeded",
                                        "held/sq[1]  succeeded"])
        self.assertEqual([line.split("  ", 1)[1] for line in one.end()[1].splitlines()],
                         ["held/sq[1]  succeeded"])
        text = messages.end()[1]
        self.assertIn(" send /default/development/held/sq[1] ", text)
        self.assertRegex(text, r" tell \S+ -> \S+ cause=\S+ .*type=\d+ ")
        self.assertNotIn("sq[0]", text)
        events = [json.loads(line) for line in document.end()[1].splitlines()]
        self.assertEqual({event["address"] for event in events if "address" in event},
                         {"/default/development/held/sq[1]"})

    def test_what_no_tap_shows(self):
        engine = self.begin()
        for words, error in [
            (["nobody"], "no execution"),
            (["it", "it"], "'it' and 'it': one EXEC is looked at"),
            (["it/wait@2"], "an attempt has no messages of its own; leave '@2' out"),
            (["type=tick"], "'type=tick' is about messages; -v or -o json shows these"),
            (["--filter", "point=send"], "'point=send' is about messages"),
            (["it", "address=/**"], "EXEC and address= both say what is looked at"),
            (["-v", "type=nothing"], "nothing"),
        ]:
            with self.subTest(words):
                _, stderr = self.troupe("tap", *words, status=2)
                self.assertIn(error, stderr)
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)

    def test_without_an_engine(self):
        self.troupe("run", "echo.yaml", "-i", "n=1", "-q")
        for command in (["actors"], ["metrics"], ["tap"], ["pause", "@last"]):
            _, stderr = self.troupe(*command, status=4)
            self.assertIn("no engine runs on", stderr)


if __name__ == "__main__":
    unittest.main()
