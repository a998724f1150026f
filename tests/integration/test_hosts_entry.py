#!/usr/bin/env python3
"""Clients that come to hosts over the network: who is let in, what they may do, and that they see
there what a command on a host sees."""

import json
import os
import signal
import subprocess
import unittest

from program import LIMIT_S, PROGRAM, Running, free_port, wait_until
from test_hosts_beside import BesideTest

USERS = {"anna": [{"role": "admin"}], "ben": [{"role": "view"}],
         "cora": [{"role": "run", "project": "default", "domain": "development"}],
         "dora": [{"role": "view", "project": "other"}]}


class EntryTest(BesideTest):
    def setUp(self):
        super().setUp()
        self.keys = {user: self.make_key(user) for user in (*USERS, "nobody")}
        self.entries = {name: f"127.0.0.1:{free_port()}" for name in ("a", "b", "c")}
        self.entry_key = self.folder / "entry.key"
        self.entry_key.write_text(os.urandom(32).hex() + "\n")
        self.entry_key.chmod(0o600)

    def user_environment(self, user):
        environment = self.environment() | {"TROUPE_CLIENT_KEY": str(self.folder / f"{user}.key")}
        environment.pop("TROUPE_STORE")
        return environment

    def make_key(self, user):
        made = subprocess.run([PROGRAM, "hosts", "key"], env=self.user_environment(user),
                              capture_output=True, text=True, timeout=LIMIT_S, check=True)
        self.assertIn("made a new key", made.stderr)
        return made.stdout.strip()

    def serve(self, name, **settings):
        clients = [{"id": user, "key": self.keys[user], "roles": roles}
                   for user, roles in USERS.items()]
        return super().serve(name, **{"entry_address": self.entries[name],
                                      "entry_key": str(self.entry_key),
                                      "http": {"clients": clients}} | settings)

    def serve_entries(self, *names):
        self.serve_beside(*names)
        words = self.served[names[0]].wait_for("clients come in by --host")
        key = words.rpartition("tcp://")[2].partition("@")[0]
        self.locator_of = f"tcp://{key}@" + ",".join(self.entries[name] for name in names)

    def over(self, user, *words, status=0, host=None):
        done = subprocess.run([PROGRAM, "--host", host or self.locator_of, *words],
                              env=self.user_environment(user), capture_output=True, text=True,
                              timeout=LIMIT_S, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else " ".join(done.stderr.split())

    def start_as(self, user, *words):
        process = subprocess.Popen([PROGRAM, "--host", self.locator_of, *words],
                                   env=self.user_environment(user), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, cwd=self.folder)
        running = Running(process)
        self.started.append(running)
        return running

    def key_of(self):
        return self.locator_of.partition("@")[0]


class ReadingTest(EntryTest):
    def test_they_see_what_a_host_sees(self):
        self.serve_entries("a", "b")
        executions = self.submit_many("gate", 8, "a", "b")
        self.wait_for_all(executions, "running")
        ended = self.submit_many("short", 2, "a", "b")
        self.wait_for_all(ended)
        for words in (["list", "-o", "json"], ["list", "--host", "b", "-o", "json"],
                      ["get", ended[0], "-o", "json"], ["get", executions[0], "-o", "json"],
                      ["explain", ended[0], "-o", "json"],
                      ["list", "--limit", "3", "--offset", "2", "-o", "json"]):
            here, _ = self.troupe(*words, "--store", self.folders["a"])
            self.assertEqual(json.loads(self.over("ben", *words)), json.loads(here), words)
        gates = json.loads(self.over("ben", "list", "--waiting", "-o", "json"))
        self.assertEqual({gate["execution"] for gate in gates}, set(executions))
        self.assertIn("waits for approval", self.over("ben", "explain", executions[0]))
        hosts = {row["name"]: row for row in json.loads(self.over("ben", "hosts", "-o", "json"))}
        self.assertEqual({name: row["state"] for name, row in hosts.items()},
                         {"a": "up", "b": "up"})
        watched = self.start_as("ben", "watch", executions[0])
        self.approve(executions[0], "a")
        self.assertEqual(watched.end()[0], 0)
        self.served["a"].signal(signal.SIGKILL)
        self.served["a"].process.wait(LIMIT_S)
        self.assertIn(ended[0], self.over("ben", "list"))  # the other one answers

    def test_many_rows_come_in_parts(self):
        self.serve_entries("a", "b")
        one, = self.submit_many("short", 1, "a")
        self.wait_for_all([one])
        self.run_sql(
            "INSERT INTO troupe.record_execution SELECT (r).* FROM (SELECT jsonb_populate_record(e,"
            " jsonb_build_object('execution', e.execution + 16 * i, 'name', repeat('n', 900) || i))"
            " AS r FROM troupe.record_execution e, generate_series(1, 6000) AS i) AS made")
        shown = json.loads(self.over("ben", "list", "--all", "--limit", "0", "-o", "json"))
        self.assertEqual(len({row["execution"] for row in shown}), 6001)


class RolesTest(EntryTest):
    def test_each_does_what_roles_say(self):
        self.serve_entries("a", "b")
        executions = self.submit_many("gate", 4, "a", "b")
        self.wait_for_all(executions, "running")
        refused = self.over("ben", "abort", executions[0], "--yes", status=4)
        self.assertIn("ben needs the role run in default/development for this", refused)
        for name in executions[:2]:
            self.over("cora", "abort", f"default/development/{name}", "--yes")
        self.wait_for_all(executions[:2], "aborted")
        self.over("anna", "pause", executions[2])
        wait_until(lambda: json.loads(self.over("anna", "get", executions[2], "-o", "json"))
                   ["is_paused"], "it is paused")
        self.assertIn("cora needs the role admin in all projects and domains",
                      self.over("cora", "tap", "limit=1", status=2))
        rows = json.loads(self.over("anna", "audit", "-o", "json"))
        told = {(row["who"], row["call"], row["subject"]): row["refused"] for row in rows}
        self.assertIn("needs the role run", told["ben", "stop_execution", executions[0]])
        for name in executions[:2]:
            self.assertEqual(told["cora", "stop_execution", name], "")
        self.assertEqual(told["anna", "pause_execution", executions[2]], "")
        self.assertIn("needs the role admin", told["cora", "open_tap", ""])

    def test_who_may_look_somewhere_looks_there(self):
        self.serve_entries("a", "b")
        one, = self.submit_many("short", 1, "a")
        self.wait_for_all([one])
        scope = ("--project", "default", "--domain", "development")
        self.assertIn(one, self.over("cora", "list", *scope))
        self.assertIn(one, self.over("cora", "get", f"/default/development/{one}"))
        words = "this needs the role view where it is"
        self.assertIn(words, self.over("cora", "list", status=4))
        self.assertIn(words, self.over("dora", "list", *scope, status=4))
        self.assertIn(words, self.over("dora", "get", f"/default/development/{one}", status=4))

    def test_who_is_not_known_is_not_let_in(self):
        self.serve_entries("a", "b")
        self.assertIn("the hosts know nobody who has this key",
                      self.over("nobody", "list", status=4))
        other = "tcp://" + "7" * 64 + "@" + self.entries["a"]
        self.assertIn("does not answer", self.over("anna", "list", status=4, host=other))
        gone = f"{self.key_of()}@127.0.0.1:{free_port()}"
        self.assertIn("no host answers", self.over("anna", "list", status=4, host=gone))
        self.assertIn("write tcp://KEY@HOST:PORT",
                      self.over("anna", "list", status=2, host="tcp://a:7071"))
        self.assertIn("this is not done over the network",
                      self.over("anna", "prune", "--older-than", "1d", status=2))
        (self.folder / "anna.key").chmod(0o644)
        self.assertIn("others may use this key", self.over("anna", "list", status=4))


class TapTest(EntryTest):
    def tap(self, *words, user="anna"):
        return self.start_as(user, "tap", *words)

    def test_one_tap_sees_all_hosts(self):
        self.serve_entries("a", "b")
        watched = self.tap("-o", "json", "point=handled", "limit=100000")
        watched.wait_for("looking")
        executions = self.submit_many("short", 12, "a", "b")
        self.wait_for_all(executions)
        here = {name: self.attempts_of(name) for name in ("a", "b")}
        def are_seen():
            rows = [json.loads(line) for line in list(watched.lines["stdout"])]
            seen = {(row["host"], name) for row in rows for name in executions
                    if f"/{name}/" in row.get("address", "") + "/"}
            return all((host, name) in seen for host in here for name in here[host])
        wait_until(are_seen, "executions of both hosts are seen")
        clocks = [json.loads(line)["clock"] for line in watched.lines["stdout"]
                  if '"clock"' in line]
        late = sum(after < before for before, after in zip(clocks, clocks[1:]))
        self.assertLess(late, len(clocks) / 20)
        self.served["b"].signal(signal.SIGKILL)
        line = watched.wait_for('"point":"unseen"', "stdout")
        self.assertEqual(json.loads(line)["host"], "b")

    def test_on_a_host_it_is_the_same(self):
        self.serve_entries("a", "b")
        first, = self.submit_many("gate", 1, "a")
        self.wait_for_all([first], "running")
        host = self.document("get", first, "--store", self.folders["a"])["host"]
        other = {"a": "b", "b": "a"}[host]
        watched = self.start("tap", first, "--store", self.folders[other])
        watched.wait_for("looking")
        self.approve(first, "a")
        watched.wait_for(first, "stdout")
        watched.signal(signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
