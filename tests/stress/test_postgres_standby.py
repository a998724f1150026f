#!/usr/bin/env python3
"""A standby takes over from a server that was killed under an engine at work. With a synchronous
one nothing is lost and all goes on by itself; an asynchronous one that had not got all commits ends
the engine, with words that say what is lost. TROUPE_TEST_SEED repeats a run."""

import random
import re
import shutil
import unittest

from faults import ROUNDS, TASKS, FaultTest, postgres, seed_of, wait_until

DOORS = postgres.DOORS + "local replication all trust\n"
SETTINGS = {"max_wal_size": "64MB", "min_wal_size": "32MB", "wal_keep_size": "64MB"}

LOST = re.compile(r"holds (\d+) commits of (?:this store, up to number \d+|the log of this store), "
                  r"where (\d+) were acknowledged(?:, up to \d+)?: the database has lost commits, "
                  r"because it was restored, or a standby took over that had not got all; start "
                  r"again from what there is")


class Standby(postgres.Server):
    """A server that follows another one."""

    def __init__(self, primary):
        self.primary = primary
        super().__init__(SETTINGS)

    def make(self, doors, locale):
        copy_of(self, self.primary)


def copy_of(server, primary):
    """Makes a server's data a copy of a primary's, which it follows when it is started."""
    server._run("pg_basebackup", "-D", server.data, "-h", primary.folder, "-p", primary.port, "-U",
                "postgres", "-R", "-X", "stream", "--checkpoint", "fast", "--no-sync")


class StandbyTest(FaultTest):
    def setUp(self):
        super().setUp()
        self.primary = postgres.Server(SETTINGS, doors=DOORS)
        self.addCleanup(self.primary.stop)
        self.standby = Standby(self.primary)
        self.addCleanup(self.standby.stop)
        hosts = ",".join(str(server.folder) for server in (self.primary, self.standby))
        ports = ",".join(str(server.port) for server in (self.primary, self.standby))
        self.bind(f"postgresql:///postgres?host={hosts}&port={ports}&user=postgres"
                  "&target_session_attrs=read-write")
        self.start_engine()

    @staticmethod
    def set(server, name, value):
        server.run(f"ALTER SYSTEM SET {name} = '{value}'; SELECT pg_reload_conf()")

    def be_synchronous(self):
        self.set(self.primary, "synchronous_standby_names", "*")
        wait_until(lambda: self.primary.run("SELECT sync_state FROM pg_stat_replication") ==
                   [("sync",)], "the standby is synchronous")

    def fail_over(self):
        """Kills the primary; the standby takes its place, and waits for no other one."""
        self.primary.kill()
        self.standby.run("SELECT pg_promote(true, 60)")
        self.set(self.standby, "synchronous_standby_names", "")
        self.primary, self.standby = self.standby, self.primary

    def follow_again(self):
        """The server that was killed begins anew, as the standby of the other one."""
        shutil.rmtree(self.standby.data)
        copy_of(self.standby, self.primary)
        self.standby.start()

    def test_a_synchronous_standby_takes_over(self):
        draw = random.Random(seed_of(self))
        self.be_synchronous()
        for _ in range(ROUNDS):
            name = self.submit_and_wait(draw)
            self.fail_over()
            self.faults["promote"] += 1
            self.finish(name)
            self.follow_again()
            self.be_synchronous()
        self.assertIsNone(self.engine.process.poll())
        self.assert_all_ran_once()
        self.end()

    # An asynchronous one.

    def commits(self, server):
        (count,), = server.run("SELECT max(commits) FROM faults.fences")
        return int(count)

    def lose_commits(self):
        """The standby hears of no more, while the engine goes on committing."""
        self.set(self.standby, "primary_conninfo", "")
        wait_until(lambda: self.standby.run("SELECT count(*) FROM pg_stat_wal_receiver") ==
                   [("0",)], "the standby follows nobody")
        self.submit()
        wait_until(lambda: self.commits(self.primary) > self.commits(self.standby) + 1,
                   "commits that the standby has not")

    def test_an_asynchronous_standby_that_lacks_commits(self):
        draw = random.Random(seed_of(self))
        for _ in range(ROUNDS):
            self.submit_and_wait(draw)
            self.lose_commits()
            self.fail_over()
            self.faults["commits lost"] += 1
            self.ask(*self.next_work()[1])  # an engine that has nothing to write hears of nothing
            status, _, stderr = self.engine.end()
            self.assertEqual(status, 4, stderr)
            held, acknowledged = map(int, LOST.search(stderr).groups())
            self.assertLess(held, acknowledged)
            self.start_engine()
            self.finish_what_is_there()
            self.follow_again()
        self.assert_lost_work_is_done_again()
        self.end()

    def finish_what_is_there(self):
        for row in self.document("list"):
            self.finish(row["execution"])

    def assert_lost_work_is_done_again(self):
        """What an execution did in the commits that were lost, and no more, is done a second time;
        one that began in them is not there any more."""
        there = {row["execution"] for row in self.document("list", "--limit", "0")}
        counts = self.counts()
        self.assertLessEqual(max(counts.values()), 2)
        self.assertEqual({name for _, name, _, _ in counts if name in there}, there)
        again = {key for key, count in counts.items() if count == 2 and key[0] == "begun"}
        self.assertLessEqual({name for _, name, _, _ in again}, there)
        print(f"{self.id()}: {self.number - len(there)} of {self.number} executions were lost, "
              f"and {len(again)} of {len(there) * TASKS} processes ran twice", flush=True)


if __name__ == "__main__":
    unittest.main()
