#!/usr/bin/env python3
"""Engines that cannot start, or that meet a limit of the machine: each ends in words and with 4,
within seconds, whatever is in the way; and one that can start serves more clients than a shell's
soft limit of open files has room for."""

import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import unittest

from program import (
    EXAMPLES, LIMIT_S, PROGRAM, ProgramTest, process_folders, slowness,
    wait_until)

FLOW = """
troupe: 1
tasks: {t: {run: [sh, -c, "ulimit -S -n >$TROUPE_FOLDER/limit"]}}
workflows: {main: {nodes: {a: {task: t}, b: {task: t, after: [a]}}}}
"""

GATE = """
troupe: 1
workflows: {main: {nodes: {ok: {approve: ship}}}}
"""

# Descriptors that an engine wants at least (deploy/engine/descriptors.h).
LEAST = 128
QUICKLY_S = 5  # of a machine that is not busy


class StartTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)

    def begin(self, *words, limit=None):
        """Runs a command; gives its status and words, and that it did not take long."""
        begin = time.monotonic()
        done = subprocess.run(
            [PROGRAM, *words], cwd=self.folder, text=True, env=self.environment(),
            capture_output=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL,
            preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit)))
        self.assertLess(time.monotonic() - begin, QUICKLY_S * slowness())
        return done.returncode, done.stderr

    def refused(self, words, *command, limit=None):
        for line in (("run", "flow.yaml", "-q"), ("serve",)) if not command else (command,):
            status, stderr = self.begin(*line, limit=limit)
            self.assertEqual(status, 4, stderr)
            self.assertIn(words, stderr)

    def in_place_of(self, name):
        """The path of a file of a store that was used and left."""
        self.troupe("run", "flow.yaml", "-q")
        self.end_keeper()
        wait_until(lambda: not (self.store / "keeper.sock").exists(), "the keeper leaves")
        return self.store / name

    def test_blobs_are_a_file(self):
        blobs = self.in_place_of("blobs")
        blobs.rename(self.store / "away")
        blobs.write_text("")
        self.refused("/store/blobs cannot be used: it is not a folder")
        blobs.unlink()
        (self.store / "away").rename(blobs)
        self.troupe("run", "flow.yaml", "-q")

    def test_a_keeper_that_cannot_start(self):
        log = self.in_place_of("keeper.log")
        whole = log.read_bytes()
        damaged = bytearray(whole)
        damaged[60] ^= 4
        run = ("run", "flow.yaml", "-q")
        log.write_bytes(damaged)
        self.refused("the keeper of processes cannot start: keeper.log: at byte 8 of", *run)
        self.refused("move keeper.log away and start again", *run)
        log.write_bytes(b"something else")
        self.refused("keeper.log", *run)
        log.unlink()
        log.mkdir()
        self.refused("keeper.log: opening it: Is a directory", *run)
        log.rmdir()
        log.write_bytes(whole)
        lock = self.store / "keeper.lock"
        lock.unlink()
        lock.mkdir()
        self.refused("keeper.lock: Is a directory", *run)
        lock.rmdir()
        self.troupe(*run)

    def test_a_store_is_its_owners_alone(self):
        """Also in a folder that others may look into, and with a umask that lets them read."""
        self.store.mkdir(mode=0o755)
        self.store.chmod(0o755)
        before = os.umask(0o022)
        try:
            self.write("one.txt", "mine").chmod(0o600)
            self.write("copy.sh", """cat "$1" >g; echo >$TROUPE_CHECKPOINT/c
echo '{"g": "g"}' >$TROUPE_OUTPUTS""")
            self.write("flow.yaml", """
troupe: 1
tasks:
  t: {inputs: {f: file}, outputs: {g: file}, run: [sh, ./copy.sh, "{{.inputs.f}}"]}
workflows:
  main: {inputs: {f: file}, nodes: {a: {task: t, with: {f: $f}}}, outputs: {g: $a.g}}
""")
            self.troupe("run", "flow.yaml", "-q", "-i", "f=one.txt")
        finally:
            os.umask(before)
        found = {path.name: path.stat().st_mode & 0o077 for path in self.store.iterdir()}
        self.assertIn("blobs", found)
        self.assertIn("attempts", found)
        self.assertIn("checkpoints", found)
        self.assertEqual({name: mode for name, mode in found.items() if mode}, {})

    def test_a_store_that_is_open_is_told_and_closed(self):
        self.write("one.txt", "mine").chmod(0o600)
        folder = self.folder / "tree"
        (folder / "sub").mkdir(parents=True)
        (folder / "sub").chmod(0o700)
        self.write("tree/sub/program", "#!/bin/sh").chmod(0o700)
        self.write("tree/open", "open").chmod(0o644)
        self.write("flow.yaml", """
troupe: 1
tasks: {t: {outputs: {f: file, d: directory}, run: [sh, ./copy.sh]}}
workflows: {main: {nodes: {a: {task: t}}}}
""")
        self.write("copy.sh", f"""cp -pr {self.folder}/one.txt {self.folder}/tree .
echo '{{"f": "one.txt", "d": "tree"}}' >$TROUPE_OUTPUTS""")
        self.store.mkdir()
        self.store.chmod(0o755)
        (self.store / "blobs").mkdir()
        (self.store / "blobs").chmod(0o755)
        (self.store / "settings.yaml").write_text("jobs: 2\n")
        (self.store / "settings.yaml").chmod(0o644)
        run = ("run", "flow.yaml")
        _, stderr = self.troupe(*run)
        self.assertIn(f"others may read {self.store}/blobs, and 1 more; `troupe store fix-modes "
                      f"--store {self.store}` closes the store to them", stderr)
        modes = {path.relative_to(self.store).parts[-1]: path.stat().st_mode & 0o777
                 for path in (self.store / "blobs").rglob("*") if path.parent.name[0] != "."}
        found = {name[65:] or name: mode for name, mode in modes.items() if len(name) > 64}
        self.assertEqual(found, {"one.txt": 0o400, "tree": 0o755})
        self.assertEqual([modes[name] for name in ("sub", "program", "open")],
                         [0o700, 0o500, 0o444])
        (self.store / "troupe.db").chmod(0o666)
        _, stderr = self.troupe(*run)
        self.assertRegex(stderr, r"others may (read|change) \S+, and \d more")
        stdout, _ = self.troupe("store", "fix-modes")
        self.assertIn(f"{self.store}/troupe.db: 0600, was 0666\n", stdout)
        self.assertIn(f"{self.store}/blobs: 0700, was 0755\n", stdout)
        self.assertIn(f"{self.store}/.: 0700, was 0755\n", stdout)
        self.assertEqual((self.store / "settings.yaml").stat().st_mode & 0o777, 0o644)
        self.assertEqual(self.troupe("store", "fix-modes")[0], "")
        self.assertNotIn("others may", self.troupe(*run)[1])
        self.store.chmod(0o755)
        self.assertNotIn("others may", self.troupe(*run)[1], "only names can be seen")
        self.store.chmod(0o777)
        self.assertIn(f"others may change {self.store}/.; ", self.troupe(*run)[1])
        self.troupe("store", "fix", status=2)

    def make_old(self):
        """What an earlier version had: graphs and the number as files, and no tables for them."""
        number = b"0123456789abcdef\n"
        database = sqlite3.connect(self.store / "troupe.db")
        rows = database.execute("SELECT hash, data FROM graphs").fetchall()
        database.executescript("DROP TABLE graphs; DROP TABLE crashes;"
                               "DELETE FROM meta WHERE cell = 14; PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        (self.store / "graphs").mkdir(mode=0o700)
        for digest, data in rows:
            (self.store / "graphs" / digest.hex()).write_bytes(data)
        (self.store / "number").write_bytes(number)
        return sorted(digest.hex() for digest, _ in rows)

    def test_a_store_of_an_earlier_version(self):
        """Who reads finds its definitions in their files; who writes takes them in."""
        self.troupe("run", "flow.yaml", "--name", "it", "-q")
        self.end_keeper()
        before = self.document("get", "it")
        graphs = self.make_old()
        self.assertGreater(len(graphs), 0)
        self.assertEqual(self.document("get", "it"), before)
        self.troupe("explain", "it")
        self.troupe("export", "it")
        self.assertEqual(sorted(p.name for p in (self.store / "graphs").iterdir()), graphs)
        self.troupe("run", "flow.yaml", "--name", "another", "-q")
        self.assertFalse((self.store / "graphs").exists())
        self.assertFalse((self.store / "number").exists())
        database = sqlite3.connect(self.store / "troupe.db")
        kept = {row[0].hex() for row in database.execute("SELECT hash FROM graphs")}
        number, = database.execute("SELECT data FROM meta WHERE cell = 14").fetchone()
        database.close()
        self.assertLessEqual(set(graphs), kept)
        self.assertEqual(int.from_bytes(number, sys.byteorder), 0x0123456789abcdef)
        self.assertEqual(self.document("get", "it"), before)

    def test_a_store_that_lost_its_database(self):
        """None of the commands takes it for a new one."""
        flow = EXAMPLES / "hello.yaml"
        self.troupe("run", flow, "-i", "name=Ada", "--name", "it", "-q")
        self.troupe("export", "it")
        self.end_keeper()
        database = self.store / "troupe.db"
        sound = database.read_bytes()
        left = [path.name for path in self.store.iterdir()
                if path.name in ("attempts", "blobs", "checkpoints", "graphs", "keeper.log")]
        commands = (("run", flow, "-i", "name=Bob"), ("submit", flow, "-i", "name=Bob"), ("serve",),
                    ("resume",), ("recover", "it"), ("rerun", "it", "--from", "greet"), ("list",),
                    ("get", "it"), ("watch", "it"), ("explain", "it"), ("logs", "it"),
                    ("export", "it"), ("import", "it.troupe"), ("prune", "--yes"), ("apply",),
                    ("abort", "it"), ("pause", "it"), ("approve", "it", "g"), ("actors",))
        for is_there, words in ((False, "is missing"), (True, "is empty")):
            for command in commands:
                with self.subTest(words, command=command):
                    database.unlink(missing_ok=True)
                    if is_there:
                        database.write_bytes(b"")
                    _, stderr = self.troupe(*command, status=4)
                    self.assertIn(f"{database}: {words}, but there was a store here, which has "
                                  f"left {', '.join(sorted(left))}; restore the file from a copy, "
                                  "or remove these for a new store", stderr)
                    self.assertEqual(database.exists(), is_there)
        database.write_bytes(sound)
        self.assertIn("succeeded", self.troupe("list")[0])
        for name in left:
            path = self.store / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        database.unlink()
        self.troupe("run", flow, "-i", "name=Ada", "--name", "it", "-q")

    def test_a_store_goes_on_from_a_copy(self):
        """As the operator's page says: no engine while it is copied, and put back at its place."""
        self.write("gate.yaml", GATE)
        serving = self.start("serve")
        serving.wait_for("serves")
        self.troupe("submit", "gate.yaml", "--name", "it")
        self.troupe("submit", "flow.yaml", "--name", "done", "--wait")
        serving.signal(signal.SIGTERM)
        self.assertEqual(serving.end()[0], 0)
        self.end_keeper()
        copy = self.folder / "copy"
        shutil.copytree(self.store, copy, symlinks=True)
        shutil.rmtree(self.store)
        copy.rename(self.store)
        phases = {row["execution"]: row["phase"] for row in self.document("list")}
        self.assertEqual(phases, {"it": "running", "done": "succeeded"})
        serving = self.start("serve")
        serving.wait_for("serves")
        self.troupe("approve", "it", "ship")
        self.troupe("watch", "it")
        serving.signal(signal.SIGTERM)
        self.assertEqual(serving.end()[0], 0)

    def test_too_few_descriptors(self):
        for most in (8, 24, 60, LEAST - 1):
            self.refused(f"the engine needs {LEAST} open files, and the limit of this process is "
                         f"{most}", limit=(most, most))
        status, stderr = self.begin("run", "flow.yaml", "-q", limit=(LEAST, LEAST))
        self.assertEqual(status, 0, stderr)

    def test_processes_get_the_limit_that_the_engine_was_started_with(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        status, stderr = self.begin("run", "flow.yaml", "-q", limit=(300, hard))
        self.assertEqual(status, 0, stderr)
        self.assertEqual((self.folder / "limit").read_text(), "300\n")
        self.assertNotIn(" 300 ", self.limit_of_keeper())

    def limit_of_keeper(self):
        """Which has its own, as the engine has, whatever its processes get."""
        for path in process_folders():
            try:
                words = (path / "cmdline").read_bytes().split(b"\0")
                if b"keeper" in words and os.fsencode(str(self.store)) in words:
                    return re.search("Max open files.*", (path / "limits").read_text())[0]
            except OSError:
                continue
        return self.fail("there is no keeper")

    def test_more_clients_than_a_soft_limit(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 4096:
            self.skipTest("the hard limit of open files is too low")
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        serve = self.start("serve")
        serve.wait_for(" serves ")
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
        clients = []
        try:
            for _ in range(1500):
                client = socket.socket(socket.AF_UNIX)
                client.connect(f"{self.store}/engine.sock")
                clients.append(client)
            self.troupe("submit", "flow.yaml", "--wait", "-q")
        finally:
            for client in clients:
                client.close()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.assertIsNone(serve.process.poll())
        serve.signal(signal.SIGTERM)
        self.assertEqual(serve.end()[0], 0)


if __name__ == "__main__":
    unittest.main()
