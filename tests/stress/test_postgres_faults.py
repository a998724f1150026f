#!/usr/bin/env python3
"""PostgreSQL fails under an engine at work, the engine is killed, or both, in any order: each task
runs once, what comes out is right, commands say that the database is away, and all goes on by
itself. TROUPE_TEST_SEED repeats the order, TROUPE_TEST_FAULTS=NAME,… tries some faults alone."""

import os
import random
import signal
import subprocess
import unittest

from faults import AWAY, CHOSEN, IS_LONG, ROUNDS, FaultTest, postgres, seed_of, wait_until

# The disk of the server: what it has at the beginning, its log, and a little. The history of all
# executions stays, of the long form 100 MB of it.
DISK_MIB = 480 if IS_LONG else 160

# How long the server is stopped at most; a command that asks meanwhile waits for 3 s.
STOPPED_S = 3


class SmallDisk(postgres.Server):
    """A server with a disk of its own, if this is root."""

    def make(self, doors, locale):
        self.data.mkdir()
        self.is_mounted = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "none", self.data],
            capture_output=True, check=False).returncode == 0
        if self.identity:
            os.chown(self.data, self.identity["user"], self.identity["group"])
        self.data.chmod(0o700)
        super().make(doors, locale)

    def stop(self):
        self.halt(is_crash=True)
        if self.is_mounted:
            subprocess.run(["umount", "--lazy", self.data], check=True)
        super().stop()

    def fill(self):
        """Takes the last byte of the disk."""
        with open(self.data / "filler", "wb", buffering=0) as file:
            size = 1 << 20
            while size > 0:
                try:
                    file.write(bytes(size))
                except OSError:
                    size //= 2

    def empty(self):
        (self.data / "filler").unlink()


class RandomFaultTest(FaultTest):
    def setUp(self):
        super().setUp()
        self.server = SmallDisk({"min_wal_size": "32MB", "max_wal_size": "48MB",
                                 "wal_level": "minimal", "max_wal_senders": "0"})
        self.addCleanup(self.server.stop)
        self.bind(self.server.locator())
        self.start_engine()

    # The faults, each of which is over when it returns.

    def fault_engine_killed(self, draw, name):
        self.kill_engine()
        self.pause(draw, 0.1)
        self.start_engine()

    def fault_server_killed(self, draw, name):
        self.server.kill()
        self.ask_while_away("server_killed", name)
        self.pause(draw, 0.5)
        self.server.start()

    def fault_both_killed(self, draw, name):
        for kill in draw.sample((self.kill_engine, self.server.kill), 2):
            kill()
            self.pause(draw, 0.05)
        self.ask_while_away("both_killed", name)
        if draw.random() < 0.5:
            status, _, stderr = self.ask("serve")
            self.assertEqual(status, 4, stderr)
            self.assertRegex(stderr, AWAY)
        self.server.start()
        self.start_engine()

    def fault_sessions_ended(self, draw, name):
        for _ in range(draw.randrange(1, 4)):
            self.server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                            "application_name LIKE 'troupe%'")
            self.pause(draw, 0.05)

    def fault_server_restarted(self, draw, name):
        """As by `pg_ctl restart -m immediate`."""
        self.server.restart(is_crash=True)

    def fault_server_stopped(self, draw, name):
        self.server.signal(signal.SIGSTOP)
        if draw.random() < 0.3:
            self.ask_while_away("server_stopped", name)
        else:
            self.pause(draw, STOPPED_S)
        self.server.signal(signal.SIGCONT)

    def fault_disk_full(self, draw, name):
        """More work comes meanwhile, and who brings it waits until it is kept. The server may end
        of it, and is started when there is room."""
        self.server.fill()
        more, words = self.next_work()
        bringing = self.start(*words)
        self.pause(draw, 0.5)
        self.server.empty()
        wait_until(self.is_served, "the server is back")
        status, _, stderr = bringing.end()
        self.assertEqual(status, 0, stderr)
        self.finish(more)

    def is_served(self):
        if self.server.process.poll() is not None:
            self.server.start()
        try:
            return self.server.run("SELECT 1") == [("1",)]
        except AssertionError:
            return False

    def fault_file_unreadable(self, draw, name):
        """Who has read it goes on; who has not says what is wrong with it."""
        kept = self.bound.rename(self.folder / "kept")
        how = draw.choice(("empty", "folder", "text"))
        if how == "folder":
            self.bound.mkdir()
        else:
            self.bound.write_text("" if how == "empty" else "nothing that anybody knows\n")
        for words in (("list",), ("explain", name)):
            status, _, stderr = self.ask(*words)
            self.assertEqual(status, 4, stderr)
            self.assertIn(str(self.bound), stderr)
            self.asked["file_unreadable"] += 1
        is_killed = draw.random() < 0.5
        if is_killed:
            self.kill_engine()
            status, _, stderr = self.ask("serve")
            self.assertEqual(status, 4, stderr)
            self.assertIn(str(self.bound), stderr)
        (self.bound.rmdir if how == "folder" else self.bound.unlink)()
        kept.rename(self.bound)
        if is_killed:
            self.start_engine()

    def kinds(self):
        """The faults that can be made here, or those of them that were chosen."""
        found = [name.removeprefix("fault_") for name in dir(self) if name.startswith("fault_")]
        if not self.server.is_mounted:
            print("nothing can be mounted here, so the server's disk is not filled")
            found.remove("disk_full")
        return [name for name in found if not CHOSEN or name in CHOSEN.split(",")]

    def test_faults(self):
        draw = random.Random(seed_of(self))
        order = self.kinds() * ROUNDS
        draw.shuffle(order)
        for fault in order:
            name = self.submit_and_wait(draw)
            getattr(self, f"fault_{fault}")(draw, name)
            self.faults[fault] += 1
            self.finish(name)
            self.assertIsNone(self.engine.process.poll())
        self.assert_all_ran_once()
        self.end()


if __name__ == "__main__":
    unittest.main()
