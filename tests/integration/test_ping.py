#!/usr/bin/env python3
"""`troupe ping`: what a probe hears of an engine that is well, stuck, silent, or not there."""

import ctypes
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from program import LIMIT_S, PROGRAM, ProgramTest, slowness, wait_until

FLOW = """
troupe: 1
tasks:
  nap: {type: core-sleep, inputs: {d: duration}}
  wait: {run: [sh, -c, 'while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done']}
workflows:
  main: {nodes: {wait: {task: wait}}}
  ticks:
    inputs: {items: [duration]}
    nodes: {all: {map: nap, with: {d: $items}, parallelism: 1}}
"""

NAUGHTY = """
troupe: 1
tasks: {t: {type: naughty, outputs: {}, config: {how: loop}}}
workflows: {main: {nodes: {ask: {approve: go}, t: {task: t, after: [ask]}}}}
"""


class PingCase(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)

    def environment(self):
        return super().environment() | {"TROUPE_FOLDER": str(self.folder)}

    def serve(self, *words):
        engine = self.start("serve", *words)
        engine.wait_for("serves")
        return engine

    def state(self, status):
        """By -o json, whose exit status is that of the text."""
        document = self.document("ping", status=status)
        self.assertEqual(document["store"], str(self.store))
        return document

    def looked(self):
        """Whatever it says, and ends with."""
        done = subprocess.run([PROGRAM, "ping", "-o", "json"], cwd=self.folder,
                              env=self.environment(), capture_output=True, timeout=LIMIT_S)
        return json.loads(done.stdout)


class PingTest(PingCase):
    def test_a_healthy_engine(self):
        engine = self.serve()
        self.troupe("submit", "flow.yaml", "main", "--name", "it", "-q")
        out, err = self.troupe("ping")
        self.assertRegex(out, rf"^engine {engine.process.pid} of {self.store} lives, 1 execution "
                         r"active, last commit \d[^ ]* ago\n$")
        self.assertEqual(err, "")
        document = self.state(0)
        self.assertEqual((document["state"], document["problem"]), ("healthy", None))
        self.assertEqual({key: document["engine"][key] for key in ("pid", "command", "executions",
                                                                   "dormant")},
                         {"pid": engine.process.pid, "command": "serve", "executions": 1,
                          "dormant": 0})
        self.write("go", "")
        self.troupe("watch", "it", "-q")
        self.assertEqual(self.state(0)["engine"]["executions"], 0)

    def test_dormant_executions_are_counted_apart(self):
        engine = self.serve()
        self.troupe("submit", "flow.yaml", "main", "--name", "it", "-q")
        engine.signal(signal.SIGTERM)
        engine.end()
        following = self.start("run", "flow.yaml", "main", "--name", "other", "-q")
        wait_until(lambda: self.query("SELECT count(*) FROM executions")[0][0] == 2, "it began")
        self.assertIn("1 execution active, 1 dormant, ", self.troupe("ping")[0])
        self.write("go", "")
        self.assertEqual(following.end()[0], 0)

    def test_no_engine(self):
        self.troupe("run", "flow.yaml", "main", "-q", "--detach")
        self.write("go", "")
        wait_until(lambda: self.document("list")[0]["phase"] == "succeeded", "it ends")
        wait_until(lambda: self.looked()["state"] == "none", "the engine leaves")
        _, err = self.troupe("ping", status=4)
        self.assertEqual(err, f"troupe ping: {self.store}: no engine runs on it\n")
        document = self.state(4)
        self.assertEqual((document["state"], document["problem"], document["engine"]),
                         ("none", "no engine runs on it", None))

    def test_an_engine_that_was_killed(self):
        """Its socket is still there, and nobody listens."""
        engine = self.serve()
        engine.signal(signal.SIGKILL)
        engine.end()
        self.assertTrue((self.store / "engine.sock").exists())
        self.assertEqual(self.state(4)["state"], "none")

    def test_a_stopped_engine(self):
        engine = self.serve()
        engine.signal(signal.SIGSTOP)
        begun = time.monotonic()
        _, err = self.troupe("ping", "--timeout", "200ms", status=1)
        self.assertLess(time.monotonic() - begun, 2 * slowness())
        self.assertEqual(err, f"troupe ping: {self.store}: its process {engine.process.pid} does "
                         "not answer within 0.20s: it is stopped, hangs, or has too little of the "
                         "machine\n")
        document = json.loads(self.troupe("ping", "--timeout", "200ms", "-o", "json",
                                          status=1)[0])
        self.assertEqual((document["state"], document["engine"]), ("silent", None))
        engine.signal(signal.SIGCONT)
        self.troupe("ping")

    def test_who_has_the_store_and_takes_no_questions(self):
        engine = self.serve()
        (self.store / "engine.sock").unlink()
        _, err = self.troupe("ping", status=1)
        self.assertIn(f"its process {engine.process.pid} has the store and takes no questions: it "
                      "begins, ends, or is no engine", err)

    def test_a_database_that_another_program_holds(self):
        engine = self.serve()
        self.troupe("submit", "flow.yaml", "main", "--name", "it", "-q")
        database = sqlite3.connect(self.store / "troupe.db", isolation_level=None)
        database.execute("BEGIN IMMEDIATE")
        self.write("go", "")
        wait_until(lambda: self.looked()["state"] == "stuck", "the journal waits")
        _, err = self.troupe("ping", status=1)
        self.assertIn(f"{self.store}: nothing can be written: ", err)
        database.execute("ROLLBACK")
        self.troupe("watch", "it", "-q")
        wait_until(lambda: self.looked()["state"] == "healthy", "the journal has heard of it")
        self.assertIsNone(engine.process.poll())

    def test_a_worker_that_does_not_return(self):
        plugin = PROGRAM.parent / "tests/plugins/naughty.so"
        self.store.mkdir()
        (self.store / "settings.yaml").write_text(
            f"plugins: {{naughty: {{path: {plugin}}}}}\ntask_types: {{naughty: naughty}}\n")
        self.write("naughty.yaml", NAUGHTY)
        self.serve()
        self.troupe("submit", "naughty.yaml", "--name", "it", "-q")
        self.start("approve", "it")
        wait_until(lambda: self.looked()["state"] == "stuck", "a handler hangs")
        self.assertIn("a worker does not answer: a handler does not return",
                      self.troupe("ping", status=1)[1])

    def test_mistakes(self):
        for word in ("soon", "0s", "2h", "-1s"):
            _, err = self.troupe("ping", f"--timeout={word}", status=2)
            self.assertIn(f"--timeout: '{word}' is no time from 1ms to 1h; write 2s", err)
        _, err = self.troupe("ping", "--store", self.folder / "nowhere", status=2)
        self.assertIn("there is no store", err)


class FullDiskTest(PingCase):
    def setUp(self):
        super().setUp()
        self.store.mkdir()
        self.libc = ctypes.CDLL(None, use_errno=True)
        if self.libc.mount(b"troupe", os.fsencode(self.store), b"tmpfs", 0, b"size=8m") != 0:
            words = os.strerror(ctypes.get_errno())
            shutil.rmtree(self.folder)
            self.skipTest(f"no small file system could be mounted: {words}")
        self.addCleanup(self.libc.umount2, os.fsencode(self.store), 2)

    def tearDown(self):
        self.end_keeper()
        super().tearDown()

    def fill(self):
        """Writes until there is no room, down to the last byte."""
        with open(self.store / "filler", "ab", buffering=0) as file:
            size = 1 << 16
            while size > 0:
                try:
                    file.write(bytes(size))
                except OSError:
                    size //= 2

    def test_it_says_so_until_there_is_room(self):
        self.serve()
        self.write("inputs.json", json.dumps({"items": ["10ms"] * 10000}))
        self.troupe("submit", "flow.yaml", "ticks", "--inputs", "inputs.json", "--name", "it")
        self.fill()
        wait_until(lambda: self.looked()["state"] == "stuck", "nothing can be written")
        _, err = self.troupe("ping", status=1)
        self.assertIn(f"{self.store}: its disk is full: nothing is written until there is room",
                      err)
        (self.store / "filler").unlink()
        wait_until(lambda: self.looked()["state"] == "healthy", "it goes on")


if __name__ == "__main__":
    unittest.main()
