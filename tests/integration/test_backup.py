#!/usr/bin/env python3
"""`troupe backup` and `troupe restore`: a store beside its engine, whole or not, and going on from
where it was."""

import ctypes
import fcntl
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import unittest

from program import LIMIT_S, PROGRAM, ROOT, ProgramTest, Terminal, wait_until

sys.path.insert(0, str(ROOT / "tests/doubles/armada"))

from armada_client import QUEUE, Double  # noqa: E402

IS_LONG = bool(os.environ.get("TROUPE_TEST_LONG"))

# What takes a while to be copied, most of it a hole.
HUGE_MIB = 512 if IS_LONG else 128

# So many that they are copied one after the other for a while.
FILES = 2000 if IS_LONG else 1000

# At how many places an archive is damaged, of each of its parts.
DAMAGES = 200 if IS_LONG else 50

# Elements that write down that they begin, and give a file; from WAITING on they wait.
WAITING = 30
SIZE = 60

FLOW = f"""
troupe: 1
tasks:
  work:
    inputs: {{n: int}}
    outputs: {{b: int, f: file}}
    run: [sh, -c, 'echo {{{{.inputs.n}}}} >>"$TROUPE_FOLDER/begun"; echo "log {{{{.inputs.n}}}}";
      while [ {{{{.inputs.n}}}} -ge {WAITING} -a -d "$TROUPE_FOLDER" -a ! -e "$TROUPE_FOLDER/go" ];
      do sleep 0.02; done;
      echo {{{{.inputs.n}}}} >x.txt;
      echo "{{\\"b\\": $(({{{{.inputs.n}}}} * 2)), \\"f\\": \\"x.txt\\"}}" >"$TROUPE_OUTPUTS"']
  large:
    outputs: {{l: "[int]"}}
    run: [sh, -c, 'echo "{{\\"l\\": [$(seq -s, 1 90000)]}}" >"$TROUPE_OUTPUTS"']
  once:
    run: [sh, -c, 'echo once >>"$TROUPE_FOLDER/begun"; echo saved >"$TROUPE_CHECKPOINT/c";
      while [ -d "$TROUPE_FOLDER" -a ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done']
    config: {{in_doubt: fail}}
  huge:
    outputs: {{f: file}}
    run: [sh, -c, 'truncate -s {HUGE_MIB}M x; echo end >>x;
      echo "{{\\"f\\": \\"x\\"}}" >"$TROUPE_OUTPUTS"']
  many:
    outputs: {{d: directory}}
    run: [sh, -c, 'echo many >>"$TROUPE_FOLDER/begun"; mkdir d; cd d;
      seq -f "%05g" 1 {FILES} | xargs touch; cd ..; echo "{{\\"d\\": \\"d\\"}}" >"$TROUPE_OUTPUTS"']
  tree:
    outputs: {{d: directory}}
    run: [sh, -c, 'mkdir -p d/e/empty; cp /bin/true d/t; ln -s ../t d/e/up; ln -s nowhere d/no;
      mkdir -p d/{"x" * 120}; echo deep >d/{"x" * 120}/{"y" * 120};
      echo "{{\\"d\\": \\"d\\"}}" >"$TROUPE_OUTPUTS"']
workflows:
  main:
    inputs: {{items: "[int]"}}
    nodes:
      large: {{task: large}}
      all: {{map: work, with: {{n: $items}}}}
    outputs: {{b: $all.b, f: $all.f, l: $large.l}}
  one: {{nodes: {{once: {{task: once}}}}}}
  hole: {{nodes: {{huge: {{task: huge}}}}, outputs: {{f: $huge.f}}}}
  kept: {{nodes: {{many: {{task: many}}}}, outputs: {{d: $many.d}}}}
  folders: {{nodes: {{tree: {{task: tree}}}}, outputs: {{d: $tree.d}}}}
  quick: {{nodes: {{large: {{task: large}}}}, outputs: {{l: $large.l}}}}
"""


class BackupCase(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)
        self.write("inputs.json", json.dumps({"items": list(range(SIZE))}))
        self.other = self.folder / "other"
        self.file = self.folder / "backup.tar"

    def tearDown(self):
        self.leave(self.other)
        super().tearDown()

    def leave(self, store):
        """The keeper of another store than the test's own ends."""
        own, self.store = self.store, store
        self.end_keeper()
        self.store = own

    def environment(self):
        return super().environment() | {"TROUPE_FOLDER": str(self.folder)}

    def there(self, *words, status=0):
        return self.troupe(*words, "--store", self.other, status=status)

    def document_there(self, *words, status=0):
        return self.document(*words, "--store", self.other, status=status)

    def backup(self, *words, status=0):
        return self.troupe("backup", self.file, *words, status=status)

    def restore(self, status=0):
        return self.there("restore", self.file, status=status)

    def begun(self):
        path = self.folder / "begun"
        return path.read_text().split() if path.exists() else []

    def serve(self, *words):
        engine = self.start("serve", *words)
        engine.wait_for("serves")
        return engine

    def lose(self, engine):
        """The machine is lost, with all that ran there and the store."""
        engine.signal(signal.SIGKILL)
        engine.end()
        self.kill_keeper()
        wait_until(lambda: not self.keepers(), "the keeper has gone")
        shutil.rmtree(self.store)


class BackupTest(BackupCase):
    def test_beside_a_busy_engine_and_on_elsewhere(self):
        """What has ended stays, and is not done again; what has not goes on in the other store."""
        engine = self.serve("-j", "4")
        self.troupe("submit", "flow.yaml", "quick", "--name", "done", "--wait")
        self.troupe("submit", "flow.yaml", "main", "--inputs", "inputs.json", "--name", "it")
        wait_until(lambda: self.document("get", "it/all")["array"]["succeeded"] >= WAITING,
                   "some elements have ended, some run")
        out, err = self.backup()
        self.assertEqual((out, err), (f"{self.file}\n", ""))
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)
        self.lose(engine)
        before = len(self.begun())
        out, err = self.restore()
        self.assertEqual(out, f"{self.other}\n")
        self.assertIn(f"restored 2 executions of {self.store}, as of 20", err)
        self.assertIn("1 that had not ended: they go on with `troupe resume` or `troupe serve`; "
                      "let no engine run on the store that the backup is of", err)
        rows = {row["execution"]: row for row in self.document_there("list")}
        self.assertEqual((rows["it"]["phase"], rows["it"]["is_dormant"]), ("running", True))
        ended = self.document_there("get", "it/all")["array"]["succeeded"]
        self.assertGreaterEqual(ended, WAITING)
        self.write("go", "")
        result = self.document_there("resume", "it")
        self.assertEqual(result["outputs"]["b"], [2 * n for n in range(SIZE)])
        self.assertEqual(len(result["outputs"]["l"]), 90000)
        for n, path in enumerate(result["outputs"]["f"]):
            self.assertEqual(pathlib.Path(path).read_text(), f"{n}\n")
            self.assertEqual(pathlib.Path(path).parent, self.other / "blobs")
        again = self.begun()[before:]
        self.assertEqual(len(again), len(set(again)))
        self.assertLessEqual(len(again), SIZE - ended)
        self.assertGreaterEqual(len(again), SIZE - before)
        self.assertEqual(self.there("logs", "it/all[3]")[0], "log 3\n")
        self.assertEqual(len(self.document_there("get", "done")["outputs"]["l"]), 90000)

    def test_unknown_outcomes_by_the_policy(self):
        """`in_doubt: fail` holds for what ran when the backup was taken; checkpoints are kept."""
        engine = self.serve()
        self.troupe("submit", "flow.yaml", "one", "--name", "it")
        wait_until(lambda: self.begun() == ["once"], "it runs")
        self.backup()
        self.lose(engine)
        self.restore()
        saved, = (self.other / "checkpoints").rglob("c")
        self.assertEqual(saved.read_text(), "saved\n")
        result = self.document_there("resume", "it", status=1)
        self.assertEqual(result["error"]["code"], "OutcomeUnknown")
        self.assertIn("outcome unknown: the store was restored from a backup while it ran",
                      result["error"]["message"])
        self.assertEqual(self.begun(), ["once"])
        attempt, = self.document_there("get", "it/once")["attempts"]
        self.assertTrue(attempt["is_unknown"])

    def catch_keeping(self):
        """An engine that is stopped while it copies what a task has made."""
        for _ in range(20):
            running = self.start("run", "flow.yaml", "kept", "--name", "it", "-q")
            def keeps():
                return ("copies the files" in self.troupe("explain", "it")[0]
                        if self.begun() else False)
            wait_until(lambda: keeps() or running.process.poll() is not None, "files are kept")
            running.signal(signal.SIGSTOP)
            if running.process.poll() is None and keeps():
                return running
            running.signal(signal.SIGCONT)
            running.end()
            self.troupe("prune", "it", "--yes", "-q")
            (self.folder / "begun").unlink()
        self.fail("it was never seen while it copied files")

    def test_files_on_their_way_into_the_store(self):
        """An attempt whose files were being kept is done again: its folder is in no backup."""
        running = self.catch_keeping()
        self.backup()
        running.signal(signal.SIGKILL)
        running.end()
        self.kill_keeper()
        wait_until(lambda: not self.keepers(), "the keeper has gone")
        shutil.rmtree(self.store)
        self.restore()
        folder = pathlib.Path(self.document_there("resume", "it")["outputs"]["d"])
        self.assertEqual(len(list(folder.iterdir())), FILES)
        self.assertEqual(self.begun(), ["many", "many"])

    def test_without_an_engine_and_at_the_same_place(self):
        self.troupe("run", "flow.yaml", "folders", "--name", "it", "-q")
        (self.store / "settings.yaml").write_text("jobs: 3\n")
        number = b"0123456789abcdef\n"
        (self.store / "number").write_bytes(number)
        (self.store / "number").chmod(0o600)
        before = self.document("get", "it")
        self.backup()
        self.end_keeper()
        shutil.rmtree(self.store)
        self.troupe("restore", self.file)
        self.assertEqual(self.document("get", "it"), before)
        self.assertEqual((self.store / "number").read_bytes(), number)
        self.assertEqual((self.store / "settings.yaml").read_text(), "jobs: 3\n")
        folder = pathlib.Path(before["outputs"]["d"])
        self.assertTrue((folder / "e/empty").is_dir())
        self.assertTrue(os.access(folder / "t", os.X_OK))
        self.assertEqual([os.readlink(folder / name) for name in ("e/up", "no")],
                         ["../t", "nowhere"])
        self.assertEqual((folder / ("x" * 120) / ("y" * 120)).read_text(), "deep\n")
        self.assertEqual({path.stat().st_mode & 0o077 for path in self.store.iterdir()
                          if path.name != "settings.yaml"}, {0})
        self.troupe("run", "flow.yaml", "folders", "--name", "more", "-q")
        self.troupe("prune", "--unnamed-older-than", "0s", "--yes")
        self.assertTrue((folder / "e/empty").is_dir())

    def test_others_can_read_it(self):
        """tar lists and unpacks it, sha256sum checks it; nothing that tasks worked in is there."""
        self.troupe("run", "flow.yaml", "folders", "--name", "it", "-q")
        self.troupe("run", "flow.yaml", "quick", "--name", "more", "-q")
        with open(self.file, "wb") as file:
            done = subprocess.run([PROGRAM, "backup", "-"], cwd=self.folder, stdout=file,
                                  env=self.environment(), stderr=subprocess.PIPE, timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        listed = subprocess.run(["tar", "-tf", self.file], check=True, capture_output=True,
                                text=True).stdout.splitlines()
        with tarfile.open(self.file) as tar:
            self.assertEqual([name.rstrip("/") for name in listed], tar.getnames())
        self.assertEqual(listed[:2] + listed[-1:], ["BACKUP", "troupe.db", "SHA256SUMS"])
        self.assertFalse([name for name in listed if "/work/" in name or "keeper" in name])
        target = self.folder / "unpacked"
        target.mkdir()
        subprocess.run(["tar", "-xf", self.file, "-C", target], check=True)
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=target, check=True)
        self.assertEqual(len(self.document("list", "--store", target)), 2)
        self.restore()
        self.assertEqual(len(self.document_there("list")), 2)

    def test_what_is_there_is_not_replaced(self):
        self.troupe("run", "flow.yaml", "quick", "--name", "it", "-q")
        self.file.write_text("mine")
        _, err = self.backup(status=2)
        self.assertIn(f"{self.file} is there already; name another file, or replace it with "
                      "--force", err)
        self.assertEqual(self.file.read_text(), "mine")
        self.backup("--force")
        self.restore()
        _, err = self.restore(status=2)
        self.assertRegex(err, f"{self.other} has \\S+ in it: a backup is restored into an empty "
                         "folder; name another one with --store")
        self.assertEqual(len(self.document_there("list")), 1)
        _, err = self.troupe("backup", self.file, "--store", self.folder / "nowhere", status=2)
        self.assertIn("there is no store", err)
        empty = self.folder / "empty"
        empty.mkdir()
        _, err = self.troupe("backup", self.folder / "x", "--store", empty, status=2)
        self.assertIn("there is no store yet", err)
        self.assertEqual(list(empty.iterdir()), [])
        self.assertFalse((self.folder / "x").exists())

    def test_damage_is_refused_whole(self):
        self.troupe("run", "flow.yaml", "folders", "--name", "it", "-q")
        self.backup()
        whole = bytearray(self.file.read_bytes())
        for at in [*range(0, 1536, 1536 // DAMAGES),
                   *range(1536, len(whole), len(whole) // DAMAGES),
                   *range(len(whole) - 1600, len(whole), 1600 // DAMAGES)]:
            bad = bytearray(whole)
            bad[at] ^= 0x11
            self.check_refused(bad)
        for size in [*range(0, 2048, 4096 // DAMAGES + 1),
                     *range(2048, len(whole), 4 * len(whole) // DAMAGES)]:
            self.check_refused(whole[:size])
        self.check_refused(whole + b"\0")
        self.check_refused(whole + bytes(512))
        self.file.write_bytes(whole)
        self.restore()

    def check_refused(self, data):
        self.file.write_bytes(data)
        done = subprocess.run([PROGRAM, "restore", self.file, "--store", self.other],
                              env=self.environment(), capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"backup\.tar: it (is damaged|ends at byte|is no backup|was "
                         "written by a newer)")
        self.assertFalse(self.other.exists())

    def test_damage_names_its_place(self):
        self.troupe("run", "flow.yaml", "quick", "--name", "it", "-q")
        self.backup()
        whole = self.file.read_bytes()
        with tarfile.open(self.file) as tar:
            blob = next(member for member in tar if member.name.startswith("blobs/") and
                        member.isfile())
        bad = bytearray(whole)
        bad[blob.offset_data + 10] ^= 1
        self.file.write_bytes(bad)
        self.assertIn(f"backup.tar: it is damaged: {blob.name} does not fit its checksum",
                      self.restore(status=2)[1])
        bad = bytearray(whole)
        bad[blob.offset + 3] ^= 1
        self.file.write_bytes(bad)
        self.assertIn(f"backup.tar: it is damaged at byte {blob.offset}, after ",
                      self.restore(status=2)[1])
        self.file.write_bytes(whole[:blob.offset_data + 10])
        self.assertIn(f"it ends at byte {blob.offset_data + 10}, within {blob.name}; it was cut "
                      "off", self.restore(status=2)[1])
        self.file.write_bytes(whole.replace(b"troupe backup 1\n", b"troupe backup 2\n"))
        self.assertIn("it was written by a newer program; restore it with that one",
                      self.restore(status=2)[1])
        for text in ("troupe: 1\n", "x" * 2000):
            self.file.write_text(text)
            self.assertIn("it is no backup of a store", self.restore(status=2)[1])
        self.file.unlink()
        self.assertIn("backup.tar: there is no such file", self.restore(status=2)[1])
        self.assertFalse(self.other.exists())


class InterruptedTest(BackupCase):
    """A file with a large hole takes a while to be copied."""

    def setUp(self):
        super().setUp()
        self.part = self.folder / "backup.tar.tmp"
        self.troupe("run", "flow.yaml", "hole", "--name", "it", "-q")

    def begin(self, *words):
        running = self.start(*words)
        wait_until(lambda: running.process.poll() is not None or self.copied() > 4 << 20,
                   "some of it is copied")
        running.signal(signal.SIGSTOP)  # so that it is still at it
        self.assertIsNone(running.process.poll(), running.lines)
        return running

    def copied(self):
        return self.part.stat().st_size if self.part.exists() else 0

    def moments_of(self, pid):
        return [line for line in pathlib.Path("/proc/locks").read_text().splitlines()
                if line.split()[1] == "POSIX" and int(line.split()[4]) == pid and
                123 <= int(line.split()[6]) <= 127]

    def test_no_moment_is_held_while_files_are_copied(self):
        """Else the log of a busy engine would grow to its bound, and the engine stand still."""
        running = self.begin("backup", self.file)
        self.assertEqual(self.moments_of(running.process.pid), [])
        running.signal(signal.SIGKILL)
        running.end()

    def test_a_terminal_shows_how_far_it_is(self):
        terminal = Terminal()
        process = subprocess.Popen([PROGRAM, "backup", self.file], cwd=self.folder,
                                   env=self.environment(), stdout=subprocess.DEVNULL,
                                   stderr=terminal.end)
        shown = terminal.read(process).decode()
        self.assertEqual(process.returncode, 0)
        self.assertRegex(shown, r"^(\rcopied \d[^\r]*)*\rcopied " f"{HUGE_MIB // 10}"
                                r"\d\.\d MiB\x1b\[K\r?\n$")
        self.assertEqual(self.backup("--force", "-q")[1], "")

    def test_a_kill_leaves_no_file(self):
        running = self.begin("backup", self.file)
        running.signal(signal.SIGKILL)
        running.end()
        self.assertFalse(self.file.exists())
        self.troupe("prune", "--yes")  # whose lock has gone with the process
        self.backup()
        self.assertEqual(sorted(path.name for path in self.folder.glob("backup*")), ["backup.tar"])
        self.restore()
        path = pathlib.Path(self.document_there("get", "it")["outputs"]["f"])
        self.assertEqual(path.stat().st_size, (HUGE_MIB << 20) + 4)
        self.assertLess(512 * path.stat().st_blocks, 1 << 20)

    def test_signals_leave_nothing(self):
        for number, status in ((signal.SIGINT, 3), (signal.SIGTERM, 4)):
            running = self.begin("backup", self.file)
            running.signal(number)
            running.signal(signal.SIGCONT)
            ended, out, err = running.end()
            self.assertEqual((ended, out), (status, ""))
            self.assertIn("ended by a signal; nothing was written", err)
            self.assertEqual(list(self.folder.glob("backup*")), [])

    def test_nothing_is_removed_meanwhile(self):
        running = self.begin("backup", self.file)
        _, err = self.troupe("prune", "it", "--yes", status=4)
        self.assertIn("a backup of the store is being written; prune it when that has ended", err)
        self.troupe("prune", "it", "--dry-run")
        second = self.start("backup", self.folder / "second.tar")
        second.wait_for("another backup is being written: waits until that has ended")
        second.signal(signal.SIGINT)
        self.assertEqual(second.end()[0], 3)
        running.signal(signal.SIGKILL)
        running.end()
        self.troupe("prune", "it", "--yes")
        with open(self.store / "prune.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            waiting = self.start("backup", self.file)
            waiting.wait_for("the store is being pruned")
        self.assertEqual(waiting.end()[0], 0)

    def test_a_restore_that_is_killed_is_no_store(self):
        self.backup()
        running = self.start("restore", self.file, "--store", self.other)
        wait_until(lambda: (self.other / "restore.part").exists(), "it has begun")
        running.signal(signal.SIGKILL)
        if running.end()[0] != 0:
            self.assertFalse((self.other / "troupe.db").exists())
            _, err = self.there("serve", status=4)
            self.assertIn("troupe.db: is missing, but a restore into its folder was interrupted; "
                          "say `troupe restore` again", err)
            self.restore()
        self.assertEqual(self.document_there("list")[0]["phase"], "succeeded")

    def test_without_room(self):
        """The bound of a file's size stands for the disk's; /dev/full is a full one."""
        def bound():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (48 << 20, 48 << 20))
        done = subprocess.run([PROGRAM, "backup", self.file], env=self.environment(), text=True,
                              capture_output=True, preexec_fn=bound)
        self.assertEqual(done.returncode, 4)
        self.assertIn("backup.tar.tmp: File too large", done.stderr)
        self.assertEqual(list(self.folder.glob("backup*")), [])
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "backup", "-"], env=self.environment(), stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 4)
        self.assertIn("No space left on device", done.stderr)


class FullDiskTest(BackupCase):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        self.libc = ctypes.CDLL(None, use_errno=True)
        if self.libc.mount(b"troupe", os.fsencode(self.disk), b"tmpfs", 0, b"size=4m") != 0:
            words = os.strerror(ctypes.get_errno())
            shutil.rmtree(self.folder)
            self.skipTest(f"no small file system could be mounted: {words}")
        self.addCleanup(self.libc.umount2, os.fsencode(self.disk), 2)
        self.troupe("run", "flow.yaml", "quick", "--name", "it", "-q")

    def fill(self, room):
        (self.disk / "filler").unlink(missing_ok=True)
        (self.disk / "filler").write_bytes(bytes((4 << 20) - room))

    def test_a_backup(self):
        target = self.disk / "backup.tar"
        self.backup()
        size = self.file.stat().st_size
        for room in (8192, 65536, size // 2, size - 8192):
            self.fill(room)
            _, err = self.troupe("backup", target, status=4)
            self.assertRegex(err, "No space left on device|there is no room for a copy")
            self.assertEqual([path.name for path in self.disk.iterdir()], ["filler"])

    def test_a_restore(self):
        self.backup()
        size = self.file.stat().st_size
        for room in (8192, size // 4, size // 2, size - 65536):
            self.fill(room)
            _, err = self.troupe("restore", self.file, "--store", self.disk / "store", status=4)
            self.assertRegex(err, "No space left on device|the disk is full|make room")
            self.assertFalse((self.disk / "store/troupe.db").exists())
        (self.disk / "filler").unlink()
        self.troupe("restore", self.file, "--store", self.disk / "store")
        self.assertEqual(len(self.document("list", "--store", self.disk / "store")), 1)


ARMADA_SIZE = 20

ARMADA_FLOW = """
troupe: 1
tasks: {work: {inputs: {a: int}, run: ["true"]}}
workflows:
  main:
    inputs: {items: [int]}
    nodes: {work: {map: work, with: {a: $items}}}
"""


class ArmadaTest(BackupCase):
    def test_jobs_elsewhere_are_followed_again(self):
        """Each is known by its identity, and none is made twice."""
        double = Double("--share", str(self.folder))
        self.addCleanup(double.stop)
        self.store.mkdir()
        armada = {"endpoint": double.endpoint, "queue": QUEUE, "image": "debian:12",
                  "share": str(self.folder), "interval": "1s"}
        (self.store / "settings.yaml").write_text(json.dumps(
            {"task_types": {"process": "armada"}, "plugins": {"armada": armada}}))
        self.write("armada.yaml", ARMADA_FLOW)
        self.write("inputs.json", json.dumps({"items": list(range(ARMADA_SIZE))}))
        double.control("hold", is_held=True)
        engine = self.serve()
        self.troupe("submit", "armada.yaml", "--inputs", "inputs.json", "--name", "it")
        double.wait(running=ARMADA_SIZE, timeout_s=LIMIT_S)
        self.backup()
        self.lose(engine)
        self.restore()
        resumed = self.start("resume", "it", "-q", "--store", self.other)
        double.control("hold", is_held=False)
        self.assertEqual(resumed.end()[0], 0)
        counters = double.counters()
        self.assertEqual((counters["jobs_created"], counters["duplicates"], counters["live"]),
                         (ARMADA_SIZE, 0, 0))


if __name__ == "__main__":
    unittest.main()
