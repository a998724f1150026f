"""What the tests of the program share: a folder with definitions, and running `troupe` in it."""

import json
import os
import pathlib
import pty
import random
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import tty
import unittest

import stores

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = pathlib.Path(os.environ.get("TROUPE_PROGRAM", ROOT / "build/dev/troupe")).resolve()
PROGRAM = stores.bound(BUILT)

# Where libraries that tests install lie: the build's folder, whatever program is bound.
LIBRARIES = BUILT.parent
EXAMPLES = ROOT / "examples/workflows"

# Builds with sanitizers take ten times as long, and memory of their own.
IS_SANITIZED = bool(os.environ.get("TROUPE_TEST_SANITIZED"))

# Sanitizers and a busy machine make everything slower; no test waits so long when all is well.
LIMIT_S = float(os.environ.get("TROUPE_TEST_LIMIT_S", "60"))

# Between two looks at what is waited for.
INTERVAL_S_MAX = 0.1


# What a command that does nothing takes where bounds of time are chosen.
START_S = 0.02


def slowness():
    """How many times longer than that it takes here and now, at least 1: what a test multiplies a
    bound of time by that is too short for a busy machine."""
    def start_s():
        begin = time.monotonic()
        subprocess.run([PROGRAM, "version"], capture_output=True, check=True)
        return time.monotonic() - begin
    return max(1, min(start_s() for _ in range(3)) / START_S)


def free_port():
    """A port for a server that starts later: below those that the kernel gives to others."""
    for _ in range(100):
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", random.randrange(20000, 30000)))
            except OSError:
                continue
            return free.getsockname()[1]
    raise AssertionError("no port is free")


def ended_by_faults(environment):
    """One whose programs end by SIGSEGV with sanitizers, too, which else report it and exit."""
    for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"):
        environment[name] = environment.get(name, "") + ":handle_segv=0"
    return environment


def without_quarantine(environment):
    """An environment in which AddressSanitizer does not hold 256 MiB of what was freed."""
    options = environment.get("ASAN_OPTIONS", "")
    return environment | {"ASAN_OPTIONS": f"{options}:quarantine_size_mb=8"}


def process_folders():
    """The folders of /proc that are processes'; one may be gone when it is looked into.

    A glob of files inside them raises ProcessLookupError where a process ends meanwhile.
    """
    return [path for path in pathlib.Path("/proc").iterdir() if path.name.isdigit()]


def wait_until(condition, what, limit_s=LIMIT_S):
    """Asks again and again, at intervals that are no part of any result.

    To ask often starts a program. So the intervals grow: the longer it takes, the later it is asked.
    """
    begin = time.monotonic()
    while not condition():
        waited_s = time.monotonic() - begin
        if waited_s > limit_s:
            raise AssertionError(f"not within {limit_s} s: {what}")
        threading.Event().wait(min(max(0.005, waited_s / 10), INTERVAL_S_MAX))


class Terminal:
    """A pseudo-terminal on which a program writes to `end`, and all that came there.

    Its end stays open here until everything was read: a hangup may overtake the last lines.
    """

    LAST = b"\0nothing comes after this\0"

    def __init__(self, rows=24, columns=80):
        self.source, self.end = pty.openpty()
        tty.setraw(self.end)
        tty.tcsetwinsize(self.end, (rows, columns))

    def read(self, process):
        """Reads until the program has ended, and closes the terminal."""
        def wait():
            try:
                process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
            os.write(self.end, self.LAST)
        waiting = threading.Thread(target=wait)
        waiting.start()
        shown = b""
        while not shown.endswith(self.LAST):
            shown += os.read(self.source, 65536)
        waiting.join()
        os.close(self.end)
        os.close(self.source)
        return shown.removesuffix(self.LAST)


class Running:
    """A `troupe` that runs in the background, whose lines can be waited for."""

    def __init__(self, process):
        self.process = process
        self.lines = {"stdout": [], "stderr": []}
        self.changed = threading.Condition()
        self.threads = [threading.Thread(target=self._read, args=(name,), daemon=True)
                        for name in self.lines]
        for thread in self.threads:
            thread.start()

    def _read(self, name):
        for line in getattr(self.process, name):
            with self.changed:
                self.lines[name].append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def wait_for(self, part, stream="stderr"):
        """The first line that holds `part`, however late it comes."""
        def find():
            return next((line for line in self.lines[stream] if part in line), None)
        with self.changed:
            if not self.changed.wait_for(lambda: find() is not None, LIMIT_S):
                raise AssertionError(f"no {part!r} on {stream}: {self.lines}")
            return find()

    def signal(self, number):
        self.process.send_signal(number)

    def end(self, limit_s=LIMIT_S):
        """Waits for the end: (exit status, stdout, stderr)."""
        status = self.process.wait(limit_s)
        for thread in self.threads:
            thread.join(LIMIT_S)
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()
        return status, "\n".join(self.lines["stdout"]), "\n".join(self.lines["stderr"])


class ProgramTest(unittest.TestCase):
    """A test in a folder of its own, with a store beside the definitions."""

    def setUp(self):
        stores.skip_if_of_sqlite(self)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-integration-"))
        self.store = self.folder / "store"
        self.started = []

    def tearDown(self):
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
            running.end()
        self.kill_keeper(signal.SIGTERM)
        strays = stores.strays(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.assertEqual(strays, [], "stores that are not in PostgreSQL")

    def keepers(self):
        """The processes of keepers of this store; what one is just starting looks like it."""
        found = {}
        for path in process_folders():
            try:
                words = (path / "cmdline").read_bytes().split(b"\0")
                parent = (path / "stat").read_text().rsplit(")", 1)[1].split()[1]
            except OSError:
                continue
            if b"keeper" in words and os.fsencode(str(self.store)) in words:
                found[int(path.name)] = int(parent)
        return [pid for pid, parent in found.items() if parent not in found]

    def kill_keeper(self, number=signal.SIGKILL):
        for pid in self.keepers():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def end_keeper(self):
        """The keeper leaves by itself when it is idle; a test does not wait for that, but until it
        has gone, and has taken its files along."""
        self.kill_keeper(signal.SIGTERM)
        wait_until(lambda: not self.keepers(), "the keeper is told to leave, and has left")

    def environment(self):
        environment = dict(os.environ, TROUPE_STORE=str(self.store), TERM="dumb")
        environment.pop("NO_COLOR", None)
        return environment

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def troupe(self, *words, status=0, stdin=None):
        """Runs a command to its end and gives what it printed: (stdout, stderr)."""
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, text=True, input=stdin,
                              env=self.environment(), capture_output=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, status,
                         f"troupe {words}: {done.stdout}\n{done.stderr}")
        return done.stdout, done.stderr

    def document(self, *words, status=0):
        """The same for -o json."""
        return json.loads(self.troupe(*words, "-o", "json", status=status)[0])

    def completed(self, *words):
        """What bash offers for the last of these words behind `troupe`."""
        line = " ".join(["troupe", *words])
        script = self.troupe("completion", "bash")[0] + (
            f"\nCOMP_LINE={shlex.quote(line)}; COMP_POINT={len(line)}; _troupe\n"
            'printf "%s\\n" "${COMPREPLY[@]}"')
        path = f"{PROGRAM.parent}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, text=True, check=True,
                              env=self.environment() | {"PATH": path}, capture_output=True,
                              timeout=LIMIT_S)
        return done.stdout.split()

    def start(self, *words):
        """Begins a command and goes on at once."""
        process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=self.folder, text=True,
                                   env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        running = Running(process)
        self.started.append(running)
        return running

    def query(self, sql):
        """Rows of the history, as anybody may read it."""
        return stores.rows(self.store, sql)

    def await_file(self, name):
        """Waits until a task has written a file."""
        path = self.folder / name
        wait_until(path.exists, f"{name} appears")
        return path
