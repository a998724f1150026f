#!/usr/bin/env python3
"""A password in a locator is shown to nobody: not by `ps`, and not by what commands say."""

import pathlib
import socket
import unittest

import postgres
from program import ProgramTest, wait_until

SECRET = "geheim"


class PsTest(ProgramTest):
    """Commands that wait for a server which says nothing."""

    def setUp(self):
        super().setUp()
        self.silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.silent.close)

    def shown(self, *words):
        """The command line of a command that has begun to connect."""
        running = self.start(*words)
        connection, _ = self.silent.accept()
        self.addCleanup(connection.close)
        shown = pathlib.Path(f"/proc/{running.process.pid}/cmdline").read_bytes()
        running.process.kill()
        running.end()
        return shown.replace(b"\0", b" ").decode()

    def environment(self):
        return super().environment() | {"XDG_DATA_HOME": str(self.folder / "data")}

    def test_ps_shows_no_password(self):
        port = self.silent.getsockname()[1]
        plain = f"postgresql://u@127.0.0.1:{port}/d"
        for locator, rest in ((f"postgresql://u:{SECRET}@127.0.0.1:{port}/d", plain),
                              (f"postgresql://u@127.0.0.1:{port}/d?password={SECRET}&user=v",
                               f"{plain}?user=v"),
                              (f"postgres://u:{SECRET}@127.0.0.1:{port}/d",
                               plain.replace("postgresql", "postgres"))):
            for words in (("store", "check", locator), ("list", "--store", locator),
                          ("list", f"--store={locator}")):
                with self.subTest(words):
                    shown = self.shown(*words)
                    self.assertNotIn(SECRET, shown)
                    self.assertIn(rest, shown)
                    self.assertIn(words[0], shown)


class SaidTest(postgres.PostgresTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.run(f"CREATE ROLE keeper LOGIN SUPERUSER PASSWORD '{SECRET}'")

    def environment(self):
        return super().environment() | {"XDG_DATA_HOME": str(self.folder / "data")}

    def test_tasks_are_given_no_password(self):
        locator = self.locator("keeper", password=SECRET)
        self.troupe("store", "init", locator)
        flow = self.write("print.yaml", "troupe: 1\ntasks: {t: {run: [env]}}\n")
        environment = self.environment() | {"TROUPE_STORE": locator}
        self.environment = lambda: environment
        self.troupe("run", flow, "-q")
        printed = self.troupe("logs", "@last/t")[0]
        self.assertIn("TROUPE_", printed)
        self.assertNotIn(SECRET, printed)

    def test_a_wrong_locator_is_wrong_usage(self):
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {run: ['true']}}\n")
        for locator in (self.locator("keeper", password=SECRET, nonsense="1"),
                        f"mysql://u:{SECRET}@h/d"):
            with self.subTest(locator):
                for words in (("list",), ("run", "flow.yaml"), ("serve",)):
                    told = self.troupe(*words, "--store", locator, status=2)[1]
                    self.assertRegex(told, f"troupe {words[0]}: --store: the locator of (the|a) d")
                    self.assertNotIn(SECRET, told)
        self.assertFalse((self.folder / "data").exists(), "a folder was made for it")

    def test_commands_say_no_password(self):
        locator = self.locator("keeper", password=SECRET)
        said = []
        said += self.troupe("store", "init", locator)
        said += self.troupe("store", "init", locator, "-o", "json")
        said += self.troupe("store", "check", locator)
        said += self.troupe("store", "check", locator, "-o", "json")
        said += self.troupe("store", "upgrade", locator)
        said += self.troupe("store", "fix-modes", locator, status=2)
        said += self.troupe("list", "--store", locator)
        said += self.troupe("get", "none", "--store", locator, status=2)
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {type: nothing}}\n")
        said += self.troupe("run", "flow.yaml", "--store", locator, status=2)
        self.run_sql("DROP SCHEMA troupe CASCADE")
        for verb in ("check", "upgrade"):
            said += self.troupe("store", verb, locator, status=2)
        said += self.troupe("list", "--store", locator, status=2)
        for text in said:
            self.assertNotIn(SECRET, text)

    def test_the_engine_s_session_shows_none(self):
        locator = self.locator("keeper", password=SECRET)
        self.troupe("store", "init", locator)
        engine = self.start("serve", "--store", locator)
        self.addCleanup(engine.process.terminate)
        named = ("SELECT application_name FROM pg_stat_activity"
                 " WHERE application_name LIKE 'troupe/%'")
        wait_until(lambda: ("troupe/troupe/1/1",) in self.run_sql(named), "the engine has come")
        shown = pathlib.Path(f"/proc/{engine.process.pid}/cmdline").read_bytes()
        self.assertNotIn(SECRET.encode(), shown)


if __name__ == "__main__":
    unittest.main()
