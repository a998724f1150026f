#!/usr/bin/env python3
"""Warm workers: attempts that are forked from a process which has imported what they need.

What stands for flytekit here is a package of its name with one program, whose tasks are modules.
"""

import json
import os
import pathlib
import random
import signal
import sys
import sysconfig
import tempfile
import unittest

from program import LIMIT_S, ProgramTest, process_folders, wait_until

ENTRY = """
import importlib, sys, tempfile
def execute_task_cmd():
    importlib.import_module(sys.argv[sys.argv.index("task-module") + 1]).main()
def temporary():
    return tempfile.mkdtemp(), tempfile.TemporaryDirectory()
"""

SCRIPT = """#!{python}
import sys
from flytekit.bin.entrypoint import execute_task_cmd
sys.exit(execute_task_cmd())
"""

# What each module of a task begins with.
HEAD = """
import json, os, pathlib, signal, sys, threading, time
IMPORTED_BY = os.getpid()
def give(value):
    pathlib.Path(os.environ["TROUPE_OUTPUTS"]).write_text(json.dumps({"o0": json.dumps(value)}))
def is_warm():
    return IMPORTED_BY != os.getpid()
"""


class WarmTest(ProgramTest):
    def setUp(self):
        super().setUp()
        package = self.folder / "site" / "flytekit"
        about = self.folder / "site" / "flytekit-0.dist-info"
        for folder in (self.folder / "bin", package / "bin", about, self.folder / "code"):
            folder.mkdir(parents=True)
        for folder in (package, package / "bin"):
            (folder / "__init__.py").touch()
        (package / "bin" / "entrypoint.py").write_text(ENTRY)
        (about / "METADATA").write_text("Name: flytekit\nVersion: 0\n")
        self.entries = about / "entry_points.txt"
        self.entries.write_text(
            "[console_scripts]\npyflyte-execute = flytekit.bin.entrypoint:execute_task_cmd\n")
        program = self.folder / "bin/pyflyte-execute"
        program.write_text(SCRIPT.format(python=sys.executable))
        program.chmod(0o755)

    def module(self, main, name="job", before=""):
        """A module whose main() has these lines."""
        lines = "".join(f"    {line}\n" for line in main.strip("\n").splitlines())
        (self.folder / f"code/{name}.py").write_text(f"{HEAD}{before}\ndef main():\n{lines}")

    def flow(self, size=0, env=None, **keys):
        """A workflow of one task, or of a map of it."""
        env = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}",
               "PYTHONPATH": f"{self.folder}/site:{self.folder}/code", **(env or {})}
        task = {"run": ["pyflyte-execute", "{{.input}}", "{{.outputPrefix}}", "--", "task-module",
                        "job"], "env": env, "inputs": {"a": "int"}, "outputs": {"o0": "string"},
                **keys}
        node = {"map": "t", "with": {"a": list(range(size))}} if size else {
            "task": "t", "with": {"a": 0}}
        flow = {"troupe": 1, "tasks": {"t": task}, "workflows": {
            "main": {"nodes": {"n": node}, "outputs": {"o0": "$n.o0"}}}}
        self.write("flow.yaml", json.dumps(flow))

    def output(self, *words):
        return self.values(self.document("run", "flow.yaml", *words))

    @staticmethod
    def values(done):
        """What was given, by each element of a map."""
        found = done["outputs"]["o0"]
        return [json.loads(each) for each in found] if isinstance(found, list) else json.loads(
            found)

    def error(self, status=1):
        return self.document("run", "flow.yaml", status=status)["error"]

    def complaints(self):
        return (self.store / "keeper.err").read_text()

    def marked(self):
        """The processes that the keeper of this store is the ancestor of, and what they run."""
        found = {}
        for path in process_folders():
            try:
                if f"{self.folder}/site".encode() in (path / "environ").read_bytes():
                    found[int(path.name)] = (path / "cmdline").read_bytes()
            except OSError:
                continue
        return found

    def workers(self):
        """Processes of the worker's command line: the worker and what it has forked."""
        return [pid for pid, line in self.marked().items() if b"warm_worker.py" in line]

    def worker(self):
        """The worker itself: of those the one whose mark is no attempt's."""
        def find():
            mark = b"TROUPE_KEEPER_KEY="
            return [pid for pid in self.workers() if pathlib.Path(f"/proc/{pid}/environ")
                    .read_bytes()[len(mark) + 16:].startswith(b"//")]
        wait_until(find, "there is a worker")
        return find()[0]


class SameTest(WarmTest):
    """What an attempt finds and leaves is the same as without a worker."""

    def test_it_is_forked_and_may_not_be(self):
        self.module("give([is_warm(), os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()])")
        self.flow()
        self.assertEqual(self.output(), [True, True, True])
        self.flow(env={"TROUPE_WARM": "off"})
        self.assertEqual(self.output(), [False, True, True])
        self.assertEqual(self.complaints(), "")

    def test_what_it_finds(self):
        self.module("""
give({"environment": {name: value for name, value in os.environ.items()
                      if not name.startswith("TROUPE_") and name != "FLYTE_INTERNAL_EXECUTION_ID"},
      "folder": os.getcwd().rpartition("/")[2], "empty": os.listdir(), "umask": os.umask(0),
      "words": sys.argv[3:], "program": sys.argv[0], "path": sys.path, "main": __import__(
          "__main__").__file__, "stdin": sys.stdin.read(),
      "files": sorted(os.readlink(f"/proc/self/fd/{file}").rpartition("/")[2]
                      for file in os.listdir("/proc/self/fd")
                      if os.path.exists(f"/proc/self/fd/{file}")),
      "signals": [str(signal.getsignal(n)) for n in (signal.SIGTERM, signal.SIGCHLD)],
      "blocked": [line for line in open("/proc/self/status") if line.startswith("SigBlk")],
      "threads": threading.active_count()})
""")
        found = []
        for env in ({"OWN": "\u00fc x"}, {"OWN": "\u00fc x", "TROUPE_WARM": "off"}):
            self.flow(env=env)
            found.append(self.output())
        warm, cold = found
        self.assertEqual(warm, cold)
        self.assertEqual(warm["environment"]["OWN"], "\u00fc x")

    def test_logs(self):
        self.module("global f; f = open(os.environ['TROUPE_TMP'] + '/f', 'w'); f.write('kept'); "
                    "print('main'); print('error', file=sys.stderr); give(is_warm())",
                    before="print('import'); print('warning', file=sys.stderr)\n")
        for env, is_warm in (({}, True), ({"TROUPE_WARM": "off"}, False)):
            self.flow(env=env)
            self.assertEqual(self.output("--name", f"e{is_warm:d}"), is_warm)
            self.assertEqual(self.troupe("logs", f"e{is_warm:d}")[0],
                             f"==> e{is_warm:d}/n@0 stdout <==\nimport\nmain\n\n"
                             f"==> e{is_warm:d}/n@0 stderr <==\nwarning\nerror\n")

    def test_failures(self):
        for main in ("raise ValueError('no')", "sys.exit(3)", "sys.exit('words')", "os._exit(7)",
                     "os.kill(os.getpid(), signal.SIGSEGV)", "os.kill(os.getpid(), signal.SIGTERM)",
                     "import ctypes; ctypes.string_at(0)", "import gone", "pass",
                     "open(os.environ['TROUPE_OUTPUTS'], 'w').write('no JSON')"):
            with self.subTest(main):
                self.module(main)
                found = []
                for env in ({}, {"TROUPE_WARM": "off"}):
                    self.flow(env=env)
                    error = self.error()
                    found.append((error["code"], error["message"].split("\n  it took")[0]
                                  .replace(str(self.store), "")))
                self.assertEqual(found[0][0], found[1][0])
        self.module("give(1)", before="raise ValueError('at import')\n")
        self.flow()
        self.assertIn("at import", self.error()["message"])
        self.assertEqual(self.complaints(), "")

    def test_nobody_else_is_hurt(self):
        """Elements of a map that change all there is to change, and what the others find."""
        self.module("""
state = [os.environ.get("LEFT"), os.getcwd().endswith("/work"), list(LIST), len(os.listdir(
    "/proc/self/fd")), threading.active_count(), os.path.exists("/proc/self/fd/77"), os.umask(0o77)]
os.environ["LEFT"] = "x"
os.putenv("LEFT", "x")
os.chdir("/")
LIST.append(1)
os.dup2(os.open("/dev/zero", os.O_RDONLY), 77)
threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
give([is_warm(), *state])
""", before="LIST = []\n")
        self.flow(12)
        states = self.output()
        self.assertEqual(states, [[True, None, True, [], states[0][4], 1, False, 0o22]] * 12)

    def test_random_numbers_differ(self):
        self.module("import random; give([random.random(), is_warm()])", before="import random\n")
        self.flow(5)
        states = self.output()
        self.assertEqual(len({number for number, _ in states}), 5)
        self.assertTrue(all(is_warm for _, is_warm in states))

    def test_both_ways_to_fork(self):
        """With a thread that is borne with, as jemalloc's, it is forked twice, and else once."""
        self.module("""
clock = time.pthread_getcpuclockid(threading.get_ident())
end = time.monotonic() + 30
while os.getppid() != KEEPER and time.monotonic() < end:
    os.sched_yield()  # who forked it twice is about to end
give([is_warm(), os.getppid() == KEEPER, FORKS, [os.getpid()] == FORKS[-1:],
      time.clock_gettime(clock) > 0, len(os.listdir("/proc/self/task"))])
""", before="""
KEEPER, FORKS = os.getppid(), []
os.register_at_fork(after_in_child=lambda: FORKS.append(os.getpid()))
if "THREAD" in os.environ:
    import _thread, ctypes
    named = _thread.allocate_lock()
    named.acquire()
    def rest():
        ctypes.CDLL(None).prctl(15, b"jemalloc_bg_thd")
        named.release()
        time.sleep(3600)
    _thread.start_new_thread(rest, ())
    named.acquire()
""")
        for env, times in (({}, 1), ({"THREAD": "1"}, 2)):
            self.flow(env=env)
            warm, is_keepers, forks, *rest = self.output()
            self.assertEqual([warm, is_keepers, len(forks), *rest],
                             [True, True, times, True, True, 1])

    def test_nothing_is_loaded_that_waits_for_its_use(self):
        self.module("""
give([is_warm(), type(LAZY).__name__, LAZY.ONE, type(LAZY).__name__])
""", before="""
from importlib import util
spec = util.find_spec("lazy")
spec.loader = util.LazyLoader(spec.loader)
LAZY = sys.modules["lazy"] = util.module_from_spec(spec)
spec.loader.exec_module(LAZY)
""")
        (self.folder / "code" / "lazy.py").write_text("ONE = 1\n")
        self.flow()
        self.assertEqual(self.output(), [True, "_LazyModule", 1, "module"])

    def test_flytekits_folders_go_with_their_attempt(self):
        """What it makes and leaves; those of others stay where they are made."""
        self.module("""
one, two = temporary()
three = tempfile.mkdtemp()
os.rmdir(three)
give([is_warm(), BEFORE[0], one, two.name, three, os.environ["TROUPE_TMP"]])
""", before="""
import tempfile
from flytekit.bin.entrypoint import temporary
BEFORE = temporary()
""")
        self.flow()
        workers = []
        for _ in range(2):
            warm, before, one, two, other, tmp = map(str, self.output())
            self.assertEqual([warm, os.path.dirname(one), os.path.dirname(two)], ["True", tmp, tmp])
            self.assertEqual(os.path.dirname(other), tempfile.gettempdir())
            self.assertRegex(before, f"^{tempfile.gettempdir()}/flyte-warm-[0-9]+-[^/]*/tmp")
            self.assertFalse(os.path.exists(tmp))
            workers.append(os.path.dirname(before))
            wait_until(lambda: not self.marked(), "the worker has ended with the engine")
        self.assertEqual([os.path.exists(worker) for worker in workers], [False, True])

    def test_flytekits_own_access_to_files_is_an_attempts(self):
        """It is made by an import, and makes a folder for each task."""
        core = self.folder / "site/flytekit/core"
        core.mkdir()
        (core / "__init__.py").touch()
        (core / "data_persistence.py").write_text("""
import pathlib, tempfile
class Provider:
    def __init__(self, folder):
        self._local_sandbox_dir = pathlib.Path(folder, "local_flytekit")
default_local_file_access_provider = Provider(tempfile.mkdtemp())
""")
        self.module("""
place = PROVIDER._local_sandbox_dir
give([is_warm(), BEFORE, str(place), place.is_dir(), os.environ["TROUPE_TMP"]])
""", before="""
from flytekit.core.data_persistence import default_local_file_access_provider as PROVIDER
BEFORE = str(PROVIDER._local_sandbox_dir)
""")
        self.flow()
        warm, before, place, is_there, tmp = self.output()
        self.assertEqual([warm, is_there, place], [True, True, f"{tmp}/local_flytekit"])
        self.assertNotEqual(before, place)

    def test_loops_of_asyncio_are_their_own(self):
        """One that an import has made is woken in each attempt by that attempt alone."""
        self.module("""
def wake():
    time.sleep(0.01)
    LOOP.call_soon_threadsafe(LOOP.stop)
threads = [threading.Thread(target=wake) for _ in range(1)]
for thread in threads:
    thread.start()
LOOP.run_forever()
give(is_warm())
""", before="import asyncio\nLOOP = asyncio.new_event_loop()\n")
        self.flow(20)
        self.assertEqual(self.output(), [True] * 20)

    def test_timeouts_and_aborts(self):
        self.module("pathlib.Path(sys.argv[0]).parent.parent.joinpath('runs').touch()\n"
                    "time.sleep(3600)")
        self.flow(timeout="1s")
        self.assertIn("TimeoutExpired", self.error()["code"])
        self.flow()
        (self.folder / "runs").unlink(missing_ok=True)  # it may have been too slow to begin
        running = self.start("run", "flow.yaml", "--name", "e")
        self.await_file("runs")
        self.troupe("abort", "e")
        self.assertNotEqual(running.end()[0], 0)
        wait_until(lambda: not self.marked(), "nothing is left")

    def test_daemons_end_with_their_process(self):
        self.module("""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        pathlib.Path(sys.argv[0]).parent.parent.joinpath("daemon").write_text(str(os.getpid()))
        time.sleep(3600)
    os._exit(0)
while not os.path.exists(os.path.dirname(sys.argv[0]) + "/../daemon"):
    time.sleep(0.01)
time.sleep(0.2)
give(os.path.exists(f"/proc/{open(os.path.dirname(sys.argv[0]) + '/../daemon').read()}"))
""")
        self.flow()
        self.assertEqual(self.output(), True)
        wait_until(lambda: not self.marked(), "the daemon is killed")


class WhenNotTest(WarmTest):
    """When a worker cannot serve, attempts start without it."""

    def test_what_forbids_a_fork(self):
        self.module("give(is_warm())")
        for before, words in (
                ("threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n",
                 "the imported modules have started threads"),
                ("file = open(__file__)\n", "the imported modules have opened "
                                            f"{self.folder}/code/job.py"),
                ("import socket\nends = socket.socketpair()\n", "have opened socket:["),
                ("os._exit(5) if 'TROUPE_NODE' not in os.environ else None\n", "it has died"),
                ("os.kill(os.getpid(), 9) if 'TROUPE_NODE' not in os.environ else None\n",
                 "it has died")):
            with self.subTest(before):
                self.end_keeper()
                self.module("give(is_warm())", before=before)
                self.flow(3)
                self.assertEqual(self.output(), [False] * 3)
                self.assertIn(words, self.complaints())
                self.assertEqual(self.complaints().count("without a warm worker"), 1)

    def test_a_thread_that_ends_forbids_nothing(self):
        self.module("give(is_warm())", before="threading.Thread(target=time.sleep, "
                                              "args=(0.3,)).start()\n")
        self.flow(3)
        self.assertEqual(self.output(), [True] * 3)

    def test_a_thread_that_ends_while_it_is_counted_forbids_nothing(self):
        self.module("give(is_warm())", before="""
listed = os.listdir
os.listdir = lambda path='.': listed(path) + ['0'] * (path == '/proc/self/task')
""")
        self.flow(3)
        self.assertEqual(self.output(), [True] * 3)

    def test_processes_that_never_get_ready(self):
        self.module("give(is_warm())", before="if 'TROUPE_NODE' not in os.environ:\n"
                                              "    os.setsid = None\n")
        self.flow(12)
        self.assertEqual(self.output("--jobs", "1"), [False] * 12)
        self.assertIn("what it forks does not become an attempt", self.complaints())

    def test_a_program_that_is_not_flytekits(self):
        self.entries.unlink()
        self.module("give(is_warm())")
        self.flow()
        self.assertEqual(self.output(), False)
        self.assertIn("flytekit, which has pyflyte-execute, cannot be imported", self.complaints())

    def test_it_is_switched_off(self):
        self.module("give(is_warm())")
        self.flow()
        self.assertEqual(self.output("--no-warm"), False)
        self.assertEqual(self.output(), True)
        self.store.joinpath("settings.yaml").write_text("warm: false\n")
        self.assertEqual(self.output(), False)
        self.store.joinpath("settings.yaml").unlink()
        serving = self.start("serve", "--no-warm")
        serving.wait_for("serves")
        self.assertEqual(self.output(), False)
        serving.signal(signal.SIGTERM)
        serving.end()

    def test_flytekits_folders_go_with_their_attempt(self):
        """Also where none is warm; and what the environment has Python begin with is there."""
        self.module("""
one, two = temporary()
three = tempfile.mkdtemp()
os.rmdir(three)
give([is_warm(), one, two.name, three, os.environ["TROUPE_TMP"], BEGUN])
""", before="""
import tempfile
from flytekit.bin.entrypoint import temporary
from sitecustomize import BEGUN
""")
        base = self.folder / "base"
        behind = pathlib.Path(sysconfig.get_path("purelib", "posix_user",
                                                 vars={"userbase": str(base)}))
        behind.mkdir(parents=True)
        (behind / "sitecustomize.py").write_text("BEGUN = 1\n")
        self.flow(env={"PYTHONUSERBASE": str(base), "TROUPE_WARM": "off"})
        warm, one, two, other, tmp, begun = map(str, self.output())
        self.assertEqual((warm, begun), ("False", "1"))
        self.assertEqual([os.path.dirname(one), os.path.dirname(two)], [tmp, tmp])
        self.assertEqual(os.path.dirname(other), tempfile.gettempdir())
        self.assertFalse(os.path.exists(tmp))

    def test_limits_and_other_programs(self):
        self.module("give(is_warm())")
        self.flow(config={"limits": {"open_files": 64}})
        self.assertEqual(self.output(), False)
        self.flow(run=["sh", "-c", "exec pyflyte-execute {{.input}} {{.outputPrefix}} -- "
                                   "task-module job"])
        self.assertEqual(self.output(), False)
        self.assertEqual(self.complaints(), "")

    def test_imports_see_no_attempt(self):
        """And what they see is the task's: another environment is another worker."""
        self.module("give([SEEN, is_warm()])",
                    before="SEEN = sorted(set(os.environ) & {'OWN', 'FLYTE_ATTEMPT_NUMBER',"
                           " 'TROUPE_NODE', 'FLYTE_INTERNAL_TASK_NAME', 'WHO'})\n")
        self.flow(env={"FLYTE_INTERNAL_TASK_NAME": "t", "WHO": "me"})
        self.assertEqual(self.output(), [["WHO"], True])
        self.flow(env={"OWN": "1"})
        self.assertEqual(self.output(), [["OWN"], True])

    def test_secrets_are_not_in_the_worker(self):
        self.module("give([os.environ['TOKEN'], is_warm()]); pathlib.Path(sys.argv[0]).parent"
                    ".parent.joinpath('done').touch(); time.sleep(3600)")
        self.flow(secrets={"TOKEN": "g/k"})
        environment = self.environment() | {"TROUPE_SECRET_G_K": "hush-hush"}
        self.environment = lambda: environment
        self.start("run", "flow.yaml", "--name", "e")
        self.await_file("done")
        maps = pathlib.Path(f"/proc/{self.worker()}")
        self.assertNotIn(b"hush-hush", (maps / "environ").read_bytes())
        with open(maps / "mem", "rb", buffering=0) as memory:
            for line in (maps / "maps").read_text().splitlines():
                if "rw-p" in line:
                    begin, end = (int(each, 16) for each in line.split()[0].split("-"))
                    memory.seek(begin)
                    self.assertNotIn(b"hush-hush", memory.read(end - begin))
        self.troupe("abort", "e")


class LifeTest(WarmTest):
    """Workers come and go."""

    def test_one_serves_all_and_ends_with_the_engine(self):
        self.module("give([IMPORTED_BY, is_warm()])")
        self.flow(20)
        found = self.output()
        self.assertEqual(len({worker for worker, _ in found}), 1)
        self.assertTrue(all(is_warm for _, is_warm in found))
        wait_until(lambda: not self.marked(), "the worker has ended with the engine")

    def test_changed_code_is_imported_again(self):
        self.module("""
path = pathlib.Path(__file__)
if LINE == 1:
    path.write_text(path.read_text().replace("LINE = 1 #", "LINE = 2 # "))
give([LINE, is_warm()])
""", before="LINE = 1 #\n")
        self.flow(6)
        found = sorted(self.output("--jobs", "1"))
        self.assertEqual(found[0], [1, True])
        self.assertEqual([line for line, _ in found[1:]], [2] * 5)
        self.assertIn([2, True], found)

    def test_a_worker_is_killed(self):
        """In the middle of 20 attempts, each of which runs once."""
        self.module("""
with open(os.path.dirname(sys.argv[0]) + "/../runs", "a") as file:
    file.write(f"{os.getpid()}\\n")
if int(os.environ["TROUPE_ELEMENT"]) in (3, 9):
    os.kill(IMPORTED_BY, signal.SIGKILL) if is_warm() else None
give(is_warm())
""")
        self.flow(20)
        found = self.output()
        self.assertEqual(len(found), 20)
        self.assertGreater(found.count(True), 10)
        self.assertEqual(len((self.folder / "runs").read_text().split()), 20)

    def test_the_engine_is_killed(self):
        self.module("""
folder = pathlib.Path(sys.argv[0]).parent.parent
with open(folder / "runs", "a") as file:
    file.write(os.environ["TROUPE_ELEMENT"] + "\\n")
while not (folder / "go").exists():
    time.sleep(0.01)
give(is_warm())
""")
        self.flow(6)
        running = self.start("run", "flow.yaml", "--name", "e", "--jobs", "2")
        wait_until(lambda: (self.folder / "runs").exists() and len(
            (self.folder / "runs").read_text().split()) == 2, "two run")
        running.process.kill()
        running.end()
        (self.folder / "go").touch()
        wait_until(lambda: not self.marked(), "they end without an engine, and so does the worker")
        done = self.document("resume", "e")
        self.assertEqual(self.values(done), [True] * 6)
        self.assertEqual(sorted((self.folder / "runs").read_text().split()), list("012345"))

    def test_the_keeper_is_killed(self):
        self.module("pathlib.Path(sys.argv[0]).parent.parent.joinpath('runs').touch()\n"
                    "time.sleep(3600)")
        self.flow(config={"in_doubt": "fail"})
        running = self.start("run", "flow.yaml", "--name", "e")
        self.await_file("runs")
        before = set(self.marked())
        self.assertEqual(len(before), 2)
        self.kill_keeper()
        self.assertNotEqual(running.end()[0], 0)
        wait_until(lambda: not set(self.marked()) & before, "both are killed")

    def test_nothing_is_left(self):
        """After attempts that end in all ways, some of them and the worker killed at random."""
        count = 1000 if os.environ.get("TROUPE_TEST_LONG") else 60
        draw = random.Random(7)
        self.module("""
import random
draw = random.Random(int(os.environ["TROUPE_ELEMENT"]))
if draw.random() < 0.3:
    os.dup2(0, 50)
    os.kill(os.getpid(), draw.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV]))
if draw.random() < 0.02 and is_warm():
    os.kill(IMPORTED_BY, signal.SIGKILL)
if draw.random() < 0.1:
    os.fork()
time.sleep(draw.random() * 0.01)
give(is_warm())
""")
        self.flow(count, retries=0)
        flow = json.loads((self.folder / "flow.yaml").read_text())
        flow["workflows"]["main"]["nodes"]["n"]["min_success_ratio"] = 0.1
        del flow["workflows"]["main"]["outputs"]
        self.write("flow.yaml", json.dumps(flow))
        running = self.start("run", "flow.yaml", "--name", "e", "--jobs", "4")
        wait_until(self.workers, "there is a worker")
        keeper, = (pathlib.Path(f"/proc/{pid}") for pid in self.keepers())
        while running.process.poll() is None:
            pids = self.workers()
            if pids and draw.random() < 0.3:
                try:
                    os.kill(draw.choice(pids), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.assertEqual(running.end(LIMIT_S)[0], 0)
        wait_until(lambda: not self.marked(), "no process is left")
        files = [os.readlink(file) for file in (keeper / "fd").iterdir()]
        self.assertEqual([name for name in files if "plan" in name], [])
        self.assertLess(len(files), 16, files)
        self.assertEqual(list(keeper.glob("task/*/children"))[0].read_text(), "")
        left = [path for path in (self.store / "attempts").glob("*/*/*/*/*")
                if path.name not in ("stdout", "stderr", "work", "tmp")]
        self.assertEqual([path for path in left if "warm" in path.name], [])


if __name__ == "__main__":
    unittest.main()
