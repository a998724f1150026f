#!/usr/bin/env python3
"""The power is cut in the middle of a run: what a real ext4 holds then, and nothing of what was
only in memory, is enough to go on. A task that succeeded is no failure of the user's, its files are
whole, and what was recorded as ended does not run again.

The store lies on an image of its own. A cut is a copy of that image, taken while engine and keeper
stand still: it has what was written to the disk by then. The copy is mounted in the image's place,
under another boot's id, and the execution goes on in it. TROUPE_TEST_SEED repeats the moments."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import threading
import time
import unittest

from kills import IS_LONG, LIMIT_S, PROGRAM, ProgramTest, seed_of, wait_until

CUTS = 100 if IS_LONG else 6
CUTS_A_RUN = 20 if IS_LONG else 6
SIZE = 48
IMAGE_MB = 128
BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id")

# Each element gives a number, a file beside its documents and a folder of files.
WORK = r"""
read -r line <"$TROUPE_INPUTS"
a=${line##*:}
a=${a%\}}
mkdir many
for i in 1 2 3; do echo "$i of $a" >many/$i; done
echo "file of $a" >one.txt
echo "{\"b\": $((a * a)), \"f\": \"one.txt\", \"d\": \"many\"}" >"$TROUPE_OUTPUTS"
"""

CHECK = r"""
read -r line <"$TROUPE_INPUTS"
cat "$1" >/dev/null && cat "$2"/1 "$2"/2 "$2"/3 >/dev/null || exit 1
[ "$(head -c 7 "$1")" = "file of" ] || exit 2
[ "$(cat "$2"/1 "$2"/2 "$2"/3 | wc -l)" -eq 3 ] || exit 3
echo '{"ok": true}' >"$TROUPE_OUTPUTS"
"""

FLOW = """
troupe: 1
tasks:
  work:
    inputs: {a: int}
    outputs: {b: int, f: file, d: directory}
    run: [/bin/sh, ./work.sh]
  check:
    inputs: {f: file, d: directory}
    outputs: {ok: bool}
    run: [/bin/sh, ./check.sh, "{{.inputs.f}}", "{{.inputs.d}}"]
workflows:
  main:
    nodes:
      w: {map: work, with: {a: NUMBERS}}
      c: {map: check, with: {f: $w.f, d: $w.d}}
    outputs: {b: $w.b, ok: $c.ok}
""".replace("NUMBERS", str(list(range(SIZE))))

# Waits behind its documents until it may end.
TORN = r"""
troupe: 1
tasks:
  one:
    outputs: {f: file}
    retries: 1
    env: {HERE: FOLDER}
    run:
      - /bin/sh
      - -c
      - |
        echo whole >one.txt
        echo '{"f": "one.txt"}' >"$TROUPE_OUTPUTS"
        echo >"$HERE/begun"
        until [ -e "$HERE/may_end" ]; do sleep 0.1; done
workflows:
  main: {nodes: {t: {task: one}}, outputs: {f: $t.f}}
"""


def can_mount():
    return os.geteuid() == 0 and pathlib.Path("/dev/loop-control").exists() \
        and shutil.which("mkfs.ext4") and shutil.which("unshare")


@unittest.skipUnless(can_mount(), "images are mounted by root, with loop devices")
class PowerCutTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.image = self.folder / "image"
        self.mounted = self.folder / "disk"
        self.mounted.mkdir()
        self.store = self.mounted / "store"
        self.boot = self.folder / "boot_id"
        self.write("work.sh", WORK)
        self.write("check.sh", CHECK)
        self.write("flow.yaml", FLOW)

    def tearDown(self):
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
            running.end()
        self.leave_disk()
        super().tearDown()

    def mount(self, image):
        done = subprocess.run(["mount", "-o", "loop", image, self.mounted], capture_output=True)
        if done.returncode != 0:
            self.skipTest(f"no image can be mounted here: {done.stderr.decode().strip()}")

    def leave_disk(self):
        """Ends what holds the disk, and unmounts it."""
        self.kill_keeper()
        end = time.monotonic() + LIMIT_S
        while os.path.ismount(self.mounted):
            subprocess.run(["umount", self.mounted], capture_output=True)
            if time.monotonic() > end:
                raise AssertionError("the disk cannot be unmounted")
            threading.Event().wait(0.05)

    def stand_still(self, running):
        """Stops engine and keeper; gives them, or None where the engine has ended."""
        pids = [running.process.pid, *self.keepers()]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGSTOP)
            except ProcessLookupError:
                pass
        for pid in pids:
            wait_until(lambda pid=pid: self.stands(pid), f"process {pid} to stop")
        return pids if running.process.poll() is None else None

    def stands(self, pid):
        """Whether all threads of a process stand still, or it has ended."""
        try:
            threads = list(pathlib.Path(f"/proc/{pid}/task").glob("*/stat"))
            return all(thread.read_text().rsplit(")", 1)[1].split()[0] in "TtZX"
                       for thread in threads)
        except OSError:
            return True

    def cut(self, running, number):
        """The image as the loss of power would leave it now; None where the engine has ended."""
        pids = self.stand_still(running)
        copy = self.folder / f"cut-{number}"
        if pids is not None:
            subprocess.run(["cp", "--sparse=always", self.image, copy], check=True)
        for pid in pids or []:
            os.kill(pid, signal.SIGCONT)
        return copy if pids is not None else None

    def run_with_cuts(self, draw, cuts):
        """One whole run, cut at so many moments."""
        with open(self.image, "wb") as file:
            file.truncate(IMAGE_MB << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True)
        self.mount(self.image)
        running = self.start("run", "flow.yaml", "--name", "it", "-q", "-j", "4")
        wait_until(lambda: (self.store / "keeper.sock").exists()
                   or running.process.poll() is not None, "a keeper")
        copies = []
        while len(copies) < cuts and running.process.poll() is None:
            threading.Event().wait(draw.random() * 0.05)
            copy = self.cut(running, len(copies))
            copies += [copy] if copy else []
        self.assertEqual(running.end()[0], 0)
        self.leave_disk()
        return copies

    def at_another_boot(self, *words):
        """Runs a command in a namespace where the machine has been started anew."""
        bind = f'mount --bind "$0" {BOOT_ID} && exec "$@"'
        return subprocess.run(["unshare", "--mount", "sh", "-c", bind, self.boot, PROGRAM, *words],
                              cwd=self.folder, text=True, env=self.environment(),
                              capture_output=True, timeout=LIMIT_S)

    def recorded(self):
        """The attempt of each element that has succeeded for good, by node and element."""
        found = {}
        for node in ("w", "c"):
            done = subprocess.run([PROGRAM, "get", f"it/{node}", "-o", "json"], text=True,
                                  env=self.environment(), capture_output=True)
            if done.returncode == 0:
                for row in json.loads(done.stdout).get("elements", []):
                    if row["phase"] == "succeeded":
                        found[node, row["element"]] = row["attempt"]
        return found

    def go_on(self, copy):
        """What comes of a copy; False where the power was cut before the execution was known."""
        self.boot.write_text(f"{random.randrange(1 << 32):08x}-0000-4000-8000-000000000000\n")
        self.mount(copy)
        try:
            names = self.at_another_boot("list", "-o", "name")
            if "it" not in names.stdout.split():
                return False
            before = self.recorded()
            done = self.at_another_boot("resume", "it", "-q", "-o", "json")
            self.assertEqual(done.returncode, 0, f"{copy}: {done.stdout}\n{done.stderr}")
            self.assertEqual(json.loads(done.stdout)["outputs"],
                             {"b": [a * a for a in range(SIZE)], "ok": [True] * SIZE})
            after = self.recorded()
            for key, attempt in before.items():
                self.assertEqual(after[key], attempt, f"{key} ran again")
            return True
        finally:
            self.leave_disk()

    def test_power_is_cut(self):
        draw = random.Random(seed_of(self))
        known = 0
        done = 0
        while done < CUTS:
            copies = self.run_with_cuts(draw, min(CUTS_A_RUN, CUTS - done))
            for copy in copies:
                known += self.go_on(copy)
                copy.unlink()
                done += 1
        print(f"{done} cuts, {known} of them in the middle of the execution", flush=True)
        self.assertGreater(known, 0)

    def test_a_whole_document_may_name_a_torn_file(self):
        """What a task has written before a restart of the machine, unsynced, is not believed."""
        self.write("torn.yaml", TORN.replace("FOLDER", str(self.folder)))
        self.store = self.folder / "store"
        running = self.start("run", "torn.yaml", "--name", "it", "-q")
        self.await_file("begun")
        running.signal(signal.SIGKILL)
        self.kill_keeper()
        running.end()
        (self.folder / "begun").unlink()
        for path in self.store.glob("attempts/**/work/one.txt"):
            os.truncate(path, 0)
        (self.folder / "may_end").touch()
        self.boot.write_text("00000001-0000-4000-8000-000000000000\n")
        done = self.at_another_boot("resume", "it", "-q", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        path = json.loads(done.stdout)["outputs"]["f"]
        self.assertEqual(pathlib.Path(path.removeprefix("file://")).read_text(), "whole\n")
        attempts = self.document("get", "it/t")["attempts"]
        self.assertEqual([attempt["is_unknown"] for attempt in attempts], [True, False])


if __name__ == "__main__":
    unittest.main()
