#!/usr/bin/env python3
"""An engine that stays, work that is handed to it, and executions that sleep."""

import json
import os
import pathlib
import re
import signal
import socket
import threading
import time
import unittest

import stores
from program import LIMIT_S, ProgramTest, wait_until
from test_live import ECHO, SLEEP
from test_signals import WAITING


class ServeTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", WAITING)
        self.write("echo.yaml", ECHO)

    def serve(self, *words):
        engine = self.start("serve", *words)
        engine.wait_for("serves")
        return engine

    def stop(self, engine, number=signal.SIGTERM):
        engine.signal(number)
        status, stdout, stderr = engine.end()
        self.assertEqual((status, stdout), (0, ""), stderr)
        return stderr

    def test_work_is_handed_over(self):
        engine = self.serve()
        stdout, _ = self.troupe("submit", "echo.yaml", "-i", "n=4", "--name", "first")
        self.assertEqual(stdout, "first\n")
        stdout, stderr = self.troupe("submit", "echo.yaml", "-i", "n=5", "--wait")
        self.assertEqual(stdout, "n: 5\n")
        self.assertIn("one: succeeded", stderr)
        stdout, _ = self.troupe("run", "echo.yaml", "-i", "n=6", "-q")
        self.assertEqual(stdout, "n: 6\n")
        self.assertIsNone(engine.process.poll())
        engine.wait_for("first begins: main, troupe submit")
        engine.wait_for("first succeeded after")
        self.stop(engine)

    def test_submit_says_what_is_wrong(self):
        _, stderr = self.troupe("submit", "echo.yaml", "-i", "n=4", status=2)
        self.assertIn("there is no store", stderr)
        self.store.mkdir()
        _, stderr = self.troupe("submit", "echo.yaml", "-i", "n=4", status=4)
        self.assertIn("no engine runs on", stderr)
        self.assertIn("`troupe serve`", stderr)
        engine = self.serve()
        _, stderr = self.troupe("submit", "echo.yaml", "-i", "n=no", status=2)
        self.assertIn("n", stderr)
        self.troupe("submit", "echo.yaml", "-i", "n=4", "--name", "it", "--wait")
        _, stderr = self.troupe("submit", "echo.yaml", "-i", "n=4", "--name", "it", status=2)
        self.assertIn("there is an execution it already", stderr)
        self.assertEqual(self.document("submit", "echo.yaml", "-i", "n=4", "--name", "it",
                                       "--if-new"), {"execution": "it"})
        self.stop(engine)

    def test_a_second_one_is_refused_by_name(self):
        engine = self.serve()
        _, stderr = self.troupe("serve", status=4)
        self.assertIn(f"has an engine already: `troupe serve`, process {engine.process.pid}; stop",
                      stderr)
        self.stop(engine)
        run = self.start("run", "flow.yaml", "--name", "it")
        self.await_file("pid")
        _, stderr = self.troupe("serve", status=4)
        self.assertIn(f"`troupe run`, process {run.process.pid}, which leaves when its work has "
                      "ended; stop that one, or name another store with --store", stderr)
        self.write("go", "")
        self.assertEqual(run.end()[0], 0)

    def test_a_restart_loses_nothing(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(number=number):
                engine = self.serve()
                self.troupe("submit", "flow.yaml", "--name", f"it-{int(number)}")
                self.await_file("pid")
                if number == signal.SIGKILL:
                    engine.signal(number)
                    engine.end()
                else:
                    self.assertIn("goes on with the next engine", self.stop(engine, number))
                engine = self.serve()
                engine.wait_for("1 unfinished execution goes on")
                self.write("go", "")
                engine.wait_for("succeeded after")
                self.stop(engine)
                self.assertEqual((self.folder / "firsts").read_text(), "once\n")
                for left in ("go", "pid", "firsts"):
                    (self.folder / left).unlink()

    def test_the_log_for_programs(self):
        engine = self.serve("-o", "json", "-v")
        self.troupe("submit", "echo.yaml", "-i", "n=4", "--name", "it", "--wait")
        engine.wait_for('"event":"ended"')
        rows = [json.loads(line) for line in self.stop(engine).splitlines()
                if line.startswith("{")]
        events = [(row["event"], row["execution"]) for row in rows if "event" in row]
        self.assertEqual((events[0], events[-1]), (("begins", "it"), ("ended", "it")))
        self.assertTrue(all(row["level"] == "info" and row["at"] for row in rows))

    def test_what_ended_just_before_it_leaves_is_told(self):
        engine = self.start("serve")
        engine.wait_for("serves")
        self.troupe("submit", "echo.yaml", "-i", "n=4", "--name", "it", "--wait")
        stderr = self.stop(engine)
        self.assertIn("it begins", stderr)
        self.assertIn("it succeeded", stderr)

    def test_quiet_says_nothing(self):
        engine = self.start("serve", "-q")
        end = signal.SIGTERM
        path = self.store / "engine.sock"
        while not path.exists():
            self.assertIsNone(engine.process.poll())
        self.troupe("submit", "echo.yaml", "-i", "n=4", "--wait", "-q")
        engine.signal(end)
        self.assertEqual(engine.end(), (0, "", ""))

    def test_readiness_is_told(self):
        path = self.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(str(path))
            listener.settimeout(LIMIT_S)
            os.environ["NOTIFY_SOCKET"] = str(path)
            try:
                engine = self.start("serve")
            finally:
                del os.environ["NOTIFY_SOCKET"]
            self.assertEqual(listener.recv(100), b"READY=1")
            self.troupe("submit", "echo.yaml", "-i", "n=4", "--wait")
            engine.signal(signal.SIGTERM)
            self.assertEqual(listener.recv(100), b"STOPPING=1")
            self.assertEqual(engine.end()[0], 0)

    def test_settings_are_read(self):
        self.store.mkdir()
        settings = self.store / "settings.yaml"
        settings.write_text("jobs: 1\ntask_types: {special: echo}\n")
        self.write("special.yaml", ECHO.replace("type: echo", "type: special"))
        engine = self.serve()
        engine.wait_for(f"settings are those of {settings}")
        stdout, _ = self.troupe("submit", "special.yaml", "-i", "n=4", "--wait", "-q")
        self.assertEqual(stdout, "n: 4\n")
        self.stop(engine)
        settings.write_text("jobs: 1\njbos: 2\n")
        for words in (["serve"], ["run", "echo.yaml", "-i", "n=1"], ["resume"]):
            _, stderr = self.troupe(*words, status=2)
            self.assertIn(f"{settings}:2:1: 'jbos' is no key of the settings", stderr)

    def test_a_retention_is_kept(self):
        self.troupe("run", "echo.yaml", "-i", "n=4", "--name", "old", "-q")
        self.end_keeper()
        stores.change(self.store, "UPDATE record_execution SET ended_ms = ended_ms - 3600000")
        self.stop(self.serve())
        self.assertEqual(len(self.document("list")), 1)
        (self.store / "settings.yaml").write_text("retention: {executions: 30m}\n")
        engine = self.serve()
        engine.wait_for("forgot 1 executions and removed 0 files and folders, as the settings say")
        self.assertEqual(self.document("list"), [])
        self.stop(engine)

    def test_jobs_of_the_command_line_come_first(self):
        self.store.mkdir()
        (self.store / "settings.yaml").write_text("jobs: 1\n")
        text = WAITING.replace("/go", "/new.go").replace("/pid", "/new.pid")
        self.write("new.yaml", text)
        engine = self.serve("--jobs", "2")
        self.troupe("submit", "flow.yaml")
        self.troupe("submit", "new.yaml")
        self.await_file("pid")
        self.await_file("new.pid")
        self.write("go", "")
        self.write("new.go", "")
        self.stop(engine)

    def test_an_idle_one_costs_next_to_nothing(self):
        engine = self.serve()
        self.troupe("submit", "echo.yaml", "-i", "n=4", "--wait")
        wait_until(lambda: self.wakings_a_second(engine) <= 100, "it comes to rest")
        self.stop(engine)

    @staticmethod
    def wakings_a_second(engine):
        """How often its threads began to wait anew; of a slow machine it is no more."""
        def wakings():
            threads = pathlib.Path(f"/proc/{engine.process.pid}/task").glob("*/status")
            found = [re.search(r"^voluntary_ctxt_switches:\s+(\d+)", thread.read_text(), re.M)
                     for thread in threads]
            return sum(int(switches[1]) for switches in found)
        before, begin = wakings(), time.monotonic()
        threading.Event().wait(1)
        return (wakings() - before) / (time.monotonic() - begin)


class SleepersTest(ProgramTest):
    """What an engine left unfinished sleeps until it is woken."""

    def setUp(self):
        super().setUp()
        self.write("echo.yaml", ECHO)

    def leave(self, name):
        """An execution whose engine was killed while its task waits for NAME.go."""
        text = WAITING.replace("/go", f"/{name}.go").replace("/pid", f"/{name}.pid")
        self.write(f"{name}.yaml", text)
        running = self.start("run", f"{name}.yaml", "--name", name)
        self.await_file(f"{name}.pid")
        running.signal(signal.SIGKILL)
        running.end()

    def phases(self):
        return {row["execution"]: (row["phase"], row["is_dormant"])
                for row in self.document("list")}

    def test_a_run_mentions_them_and_leaves_them_alone(self):
        self.leave("one")
        self.leave("other")
        self.write("one.go", "")
        self.write("other.go", "")
        self.assertEqual(self.phases(), {"one": ("running", True), "other": ("running", True)})
        stdout, stderr = self.troupe("run", "echo.yaml", "-i", "n=1", "--name", "new")
        self.assertEqual(stdout, "n: 1\n")
        self.assertIn("2 unfinished executions are dormant here; `troupe resume [EXEC]`", stderr)
        self.assertEqual(self.phases()["one"], ("running", True))
        self.assertEqual(self.troupe("resume", "one", "-q")[0], "n: 2\n")
        self.assertEqual(self.phases(), {"one": ("succeeded", False), "new": ("succeeded", False),
                                         "other": ("running", True)})
        _, stderr = self.troupe("resume")
        self.assertIn("1 unfinished execution goes on", stderr)
        self.assertEqual(self.phases()["other"], ("succeeded", False))

    def test_a_live_engine_is_asked_to_wake_them(self):
        self.leave("one")
        self.leave("other")
        text = WAITING.replace("/go", "/new.go").replace("/pid", "/new.pid")
        self.write("new.yaml", text)
        engine = self.start("run", "new.yaml", "--name", "new")
        self.await_file("new.pid")
        self.assertEqual(self.phases(), {"one": ("running", True), "other": ("running", True),
                                         "new": ("running", False)})
        self.assertIn("running, dormant", self.troupe("list")[0])
        self.assertIn("dormant", self.troupe("get", "one")[0])
        self.assertIn("`troupe resume one`", self.troupe("explain", "one")[0])
        watching = self.start("watch", "one")
        watching.wait_for("it is dormant: nothing goes on until `troupe resume one`")
        watching.signal(signal.SIGINT)
        watching.end()
        self.assertTrue(self.document("explain", "one")["is_dormant"])
        self.assertFalse(self.document("explain", "new")["is_dormant"])
        self.write("one.go", "")
        self.write("other.go", "")
        self.assertEqual(self.troupe("resume", "one", "-q")[0], "n: 2\n")
        self.assertEqual(self.phases()["other"], ("running", True))
        self.assertIn("goes on with all", self.troupe("resume")[1])
        self.assertEqual(self.troupe("resume", "other", "-q")[0], "n: 2\n")
        self.write("new.go", "")
        self.assertEqual(engine.end()[:2], (0, "n: 2"))

    def test_what_was_woken_goes_on_when_the_engine_leaves(self):
        self.leave("one")
        text = WAITING.replace("/go", "/new.go").replace("/pid", "/new.pid")
        self.write("new.yaml", text)
        engine = self.start("run", "new.yaml", "--name", "new")
        self.await_file("new.pid")
        self.troupe("resume")
        self.write("new.go", "")
        self.assertEqual(engine.end()[0], 0)
        self.write("one.go", "")
        self.troupe("watch", "one", "-q")
        self.assertEqual(self.phases()["one"], ("succeeded", False))

    def test_serve_wakes_all(self):
        self.leave("one")
        self.leave("other")
        engine = self.start("serve")
        engine.wait_for("2 unfinished executions go on")
        self.assertEqual(set(self.phases().values()), {("running", False)})
        self.write("one.go", "")
        self.write("other.go", "")
        engine.wait_for("one succeeded")
        engine.wait_for("other succeeded")
        engine.signal(signal.SIGTERM)
        self.assertEqual(engine.end()[0], 0)

    def leave_holding(self, settings, more=""):
        """A sleeper whose task holds something, and the definition of another that wants it."""
        text = WAITING.replace("    grace: 5s", f"    grace: 5s\n    {settings}")
        for name in ("one", "new"):
            self.write(f"{name}.yaml", more
                       + text.replace("/go", f"/{name}.go").replace("/pid", f"/{name}.pid"))
        running = self.start("run", "one.yaml", "--name", "one")
        self.await_file("one.pid")
        running.signal(signal.SIGKILL)
        running.end()

    def test_what_a_sleeper_has_booked_is_free(self):
        cores = os.sysconf("SC_NPROCESSORS_ONLN")
        self.leave_holding(f"resources: {{cpu: {cores}}}")
        self.write("new.go", "")
        self.assertEqual(self.troupe("run", "new.yaml", "-q")[0], "n: 2\n")
        self.write("one.go", "")
        self.assertEqual(self.troupe("resume", "one", "-q")[0], "n: 2\n")

    def test_a_sleepers_place_in_a_pool_is_explained(self):
        self.leave_holding("pool: crm", "pools: {crm: {at_once: 1}}")
        self.write("new.go", "")
        new = self.start("run", "new.yaml", "--name", "new")
        new.wait_for("first: succeeded")
        text = ""
        while "in use" not in text:
            text = self.troupe("explain", "new/wait")[0]
        self.assertIn("a slot in the pool 'crm' (1 of 1 in use", text)
        self.assertIn("(dormant: `troupe resume` goes on with it)", text)
        self.write("one.go", "")
        self.assertEqual(self.troupe("resume", "one", "-q")[0], "n: 2\n")
        self.assertEqual(new.end()[:2], (0, "n: 2"))

    def test_a_quota_that_is_taken_out_of_the_settings_ends(self):
        settings = self.store / "settings.yaml"
        self.store.mkdir()
        settings.write_text("quotas: {processes: 1}\n")
        self.leave_holding("retries: 0")
        self.write("new.go", "")
        new = self.start("run", "new.yaml", "--name", "new")
        new.wait_for("new begins")
        text = ""
        while "in use" not in text:
            text = self.troupe("explain", "new")[0]
        self.assertIn("a slot in 'processes' (1 of 1 in use", text)
        new.signal(signal.SIGTERM)
        new.end()
        settings.write_text("jobs: 4\n")
        self.assertEqual(self.troupe("resume", "new", "-q")[0], "n: 2\n")
        self.assertEqual(self.phases()["one"], ("running", True))
        self.write("one.go", "")
        self.assertEqual(self.troupe("resume", "one", "-q")[0], "n: 2\n")

    def test_who_waits_for_the_cache_of_a_sleeper_hears_of_it(self):
        self.leave_holding("cache: {version: v1, serialize: true}")
        new = self.start("run", "new.yaml", "--name", "new")
        new.wait_for("first: succeeded")
        text = ""
        while "makes" not in text:
            text = self.troupe("explain", "new/wait")[0]
        self.assertRegex(text, r"it waits for what one/\S+ makes "
                         r"\(dormant: `troupe resume` goes on with it\)")
        self.write("one.go", "")
        self.assertEqual(self.troupe("resume", "one", "-q")[0], "n: 2\n")
        self.assertEqual(new.end()[:2], (0, "n: 2"))

    def test_a_guest_does_not_say_how_the_engine_is(self):
        serve = self.start("serve")
        serve.wait_for(" serves ")
        self.write("sleep.yaml", SLEEP)
        for word, value in (("--jobs", "8"), ("--durability", "process")):
            _, err = self.troupe("run", "sleep.yaml", word, value, status=2)
            self.assertIn(f"{word} configures an engine that starts, and ", err)
            self.assertIn(f"`troupe serve`, process {serve.process.pid}; leave it out", err)
        self.assertEqual(self.document("list"), [])

    def test_an_answer_and_a_pause_wake_one(self):
        self.write("gate.yaml", "troupe: 1\nworkflows: {main: {nodes: {g: {signal: g, type: int}}, "
                   "outputs: {n: $g.value}}}\n")
        running = self.start("run", "gate.yaml", "--name", "gate")
        running.wait_for("g: waits for a value")
        running.signal(signal.SIGKILL)
        running.end()
        self.leave("one")
        self.write("sleep.yaml", SLEEP)
        engine = self.start("run", "sleep.yaml", "--name", "new")
        engine.wait_for("nap: running")
        self.troupe("pause", "one", "-q")
        self.assertEqual(self.phases()["one"], ("running", False))
        self.troupe("signal", "gate", "g", "7", "-q")
        self.troupe("watch", "gate", "-q")
        self.assertEqual(self.document("get", "gate")["outputs"], {"n": 7})
        self.write("one.go", "")
        self.assertEqual(self.troupe("resume", "one", "-q")[0], "n: 2\n")
        engine.signal(signal.SIGINT)
        self.assertEqual(engine.end()[0], 3)

    def test_an_abort_wakes_one(self):
        self.leave("one")
        self.write("sleep.yaml", SLEEP)
        engine = self.start("run", "sleep.yaml", "--name", "new")
        engine.wait_for("nap: running")
        self.assertIn("one is being aborted", self.troupe("abort", "one")[1])
        self.troupe("resume", "one", status=3)
        self.assertEqual(self.phases()["one"], ("aborted", False))
        engine.signal(signal.SIGINT)
        self.assertEqual(engine.end()[0], 3)

    def test_a_detached_one_does_not_become_dormant(self):
        text = WAITING.replace("/go", "/new.go").replace("/pid", "/new.pid")
        self.write("new.yaml", text)
        self.write("flow.yaml", WAITING)
        engine = self.start("run", "new.yaml", "--name", "new")
        self.await_file("new.pid")
        self.troupe("run", "flow.yaml", "--name", "it", "--detach")
        self.await_file("pid")
        self.write("new.go", "")
        self.assertEqual(engine.end()[0], 0)
        self.write("go", "")
        self.assertEqual(self.troupe("resume", "it", "-q")[0], "n: 2\n")

    def test_a_background_engine_is_for_its_own(self):
        self.leave("one")
        self.write("one.go", "")
        self.troupe("run", "echo.yaml", "-i", "n=1", "--name", "new", "--detach")
        self.assertEqual(self.troupe("resume", "new", "-q")[0], "n: 1\n")
        self.assertEqual(self.phases()["one"], ("running", True))


if __name__ == "__main__":
    unittest.main()
