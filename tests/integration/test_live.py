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
        _, stderr = self.troupe("tap", "point=nowhere", status=2)
        self.assertIn("nowhere", stderr)
        self.write("go", "")
        self.assertEqual(engine.end()[0], 0)

    def test_without_an_engine(self):
        self.troupe("run", "echo.yaml", "-i", "n=1", "-q")
        for command in (["actors"], ["metrics"], ["tap"], ["pause", "@last"]):
            _, stderr = self.troupe(*command, status=4)
            self.assertIn("no engine runs on", stderr)


if __name__ == "__main__":
    unittest.main()
