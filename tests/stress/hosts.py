"""What the tests share in which hosts that work beside each other are cut off, killed and stopped: a
network of namespaces, PostgreSQL in one of its own, and work that counts itself.

Each process locks a file of its task and appends a line when it begins and one when it ends. So the
files say if two processes of one task ran at once, and if an attempt ran twice. Executions spread
over all hosts and launch others there, so they need messages between hosts.
"""

import collections
import json
import os
import pathlib
import random
import signal
import subprocess
import threading
import time

from kills import IS_LONG, LIMIT_S, PROGRAM, ProgramTest, process_folders, seed_of, wait_until  # noqa: F401
from network import Network, is_possible

import postgres  # noqa: E402: kills has said where it is

HOSTS = "abcde"[:int(os.environ.get("TROUPE_TEST_HOSTS", "3"))]

# Long enough that a host which works on a busy machine is not taken for a lost one.
LEASE_S = int(os.environ.get("TROUPE_TEST_LEASE_S", "5"))
PROCESS_LEASE_S = 10

DOORS = "local all all trust\nhost all all all trust\n"

# Tasks of one execution: mapped, and one in each launched execution.
MAPPED = 3
LAUNCHED = 3
TASKS = MAPPED + LAUNCHED

# Executions that run at once.
AT_ONCE = 6

STEP = r"""
read -r line <"$TROUPE_INPUTS"
id=${line##*:}
id=${id%\}}
exec 9>"COUNTS/lock.$id"
flock -n 9 || echo "twice $id $TROUPE_ATTEMPT" >>COUNTS/lines
echo "begun $id $TROUPE_ATTEMPT" >>COUNTS/lines
sleep 0.2
echo "done $id $TROUPE_ATTEMPT" >>COUNTS/lines
"""

FLOW = """
troupe: 1
tasks:
  step: {inputs: {id: int}, run: [/bin/sh, STEP]}
workflows:
  inner: {inputs: {id: int}, nodes: {s: {task: step, with: {id: $id}}}}
  main:
    inputs: {ids: [int], others: [int]}
    nodes:
      mapped: {map: step, with: {id: $ids}, parallelism: 2}
      launched: {map: inner_plan, with: {id: $others}}
      slept: {sleep: 10ms, after: [mapped, launched]}
launch_plans: {inner_plan: {workflow: inner}}
"""


class DatabaseApart(postgres.Server):
    """A server in a namespace; the test reaches it through its socket."""

    def __init__(self, network):
        self.network = network
        super().__init__({"listen_addresses": "*", "max_connections": "100"}, doors=DOORS)

    def command(self):
        """nsenter is root's, so the server's user comes behind it."""
        user = self.identity
        return [*self.network.inside("db"), "setpriv", f"--reuid={user['user']}",
                f"--regid={user['group']}", "--clear-groups", *super().command()]

    def start_identity(self):
        return {}


class Load(threading.Thread):
    """Submits work to one host after the other, some at a time, and keeps what was acknowledged."""

    def __init__(self, test, draw):
        super().__init__(daemon=True)
        self.test, self.draw = test, draw
        self.names, self.refused, self.count = [], 0, 0
        self.is_over = threading.Event()
        self.error = None

    def run(self):
        try:
            while not self.is_over.is_set():
                if self.test.count_unended() < AT_ONCE:
                    self.submit_next()
                self.is_over.wait(0.2)
        except Exception as error:  # the test looks at it
            self.error = error

    def submit_next(self):
        first = self.count * TASKS
        self.count += 1
        name = f"load{self.count}"
        ids = list(range(first, first + TASKS))
        for _ in range(1000):
            if self.submit(name, ids):
                self.names.append(name)
                return
            self.refused += 1
            if self.is_over.wait(0.3):
                return
        raise AssertionError(f"{name} is refused for ever")

    def submit(self, name, ids):
        """Whoever is not answered asks another host with the same name."""
        host = self.draw.choice(HOSTS)
        words = ["submit", "flow.yaml", "main", "--name", name, "--if-new", "-i",
                 f"ids={ids[:MAPPED]}", "-i", f"others={ids[MAPPED:]}"]
        try:
            return self.test.ask(host, *words).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def end(self):
        self.is_over.set()
        self.join(LIMIT_S)
        if self.error is not None:
            raise self.error


class HostsTest(ProgramTest):
    """HOSTS that serve one store, each in a namespace, and work for them."""

    def setUp(self):
        super().setUp()
        if not is_possible():
            self.skipTest("namespaces take root")
        self.draw = random.Random(seed_of(self))
        self.network = Network(*HOSTS, "db")
        self.addCleanup(self.network.close)
        self.server = DatabaseApart(self.network)
        self.addCleanup(self.server.stop)
        self.locator = self.server.locator(database=self.server.make_database())
        (self.folder / "shared").mkdir()
        (self.folder / "counts").mkdir()
        self.counts = self.folder / "counts/lines"
        self.write("step.sh", STEP.replace("COUNTS", str(self.folder / "counts")))
        self.write("flow.yaml", FLOW.replace("STEP", str(self.folder / "step.sh")))
        self.troupe("store", "init", self.locator)
        self.folders = {name: self.make_host(name) for name in HOSTS}
        self.served, self.logs, self.ended = {}, collections.defaultdict(list), []
        self.begin(*HOSTS)
        self.wait_for_all_up()
        self.load = Load(self, self.draw)
        self.load.start()

    def tearDown(self):
        if hasattr(self, "load"):
            self.load.is_over.set()
            self.load.join(LIMIT_S)
        for running in self.started:
            if running.process.poll() is None:
                running.process.send_signal(signal.SIGCONT)
        super().tearDown()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    # Hosts.

    def make_host(self, name):
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        locator = self.server.locator(database=self.locator.split("/")[3].split("?")[0],
                                      host=self.network.address("db"))
        (folder / "database").write_text(locator + "\n")
        (folder / "database").chmod(0o600)
        (folder / "settings.yaml").write_text(json.dumps({
            "host_name": name, "host_address": f"{self.network.address(name)}:7071",
            "lease": f"{LEASE_S}s", "process_lease": f"{PROCESS_LEASE_S}s",
            "blobs": str(self.folder / "shared")}))
        return folder

    def serve_words(self, name):
        return [PROGRAM, "serve", "--store", self.folders[name]]

    def begin(self, *names):
        for name in names:
            words = [*self.network.inside(name), *map(str, self.serve_words(name))]
            self.served[name] = self.start_as(words)

    def start_as(self, words):
        from program import Running
        running = Running(subprocess.Popen(
            words, cwd=self.folder, text=True, env=self.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        self.started.append(running)
        return running

    def end_host(self, name, number):
        """Sends a signal that ends it; its exit status."""
        self.served[name].signal(number)
        return self.reap(name)

    def reap(self, name):
        status, stdout, stderr = self.served[name].end()
        self.started.remove(self.served.pop(name))
        self.ended.append((name, status, stderr))
        return status

    def begin_those_that_ended(self):
        """Hosts that were fenced end with 4, and begin anew."""
        for name in HOSTS:
            if name in self.served and self.served[name].process.poll() is not None:
                status = self.reap(name)
                if status != 4 or "was fenced by" not in self.ended[-1][2]:
                    raise AssertionError(f"host {name} has ended with {status}: {self.ended[-1][2]}")
            if name not in self.served:
                self.begin(name)

    def ask(self, host, *words, limit_s=20):
        """A command on a host's machine."""
        return subprocess.run(
            [*self.network.inside(host), str(PROGRAM), *words, "--store", str(self.folders[host])],
            cwd=self.folder, env=self.environment(), text=True, capture_output=True,
            timeout=limit_s, stdin=subprocess.DEVNULL, check=False)

    # What the database says.

    def sql(self, sql):
        return self.server.run(f"SET search_path TO troupe; {sql}", self.locator)

    def count_unended(self):
        return int(self.sql("SELECT count(*) FROM executions WHERE phase NOT IN "
                            "('succeeded', 'failed', 'aborted')")[-1][0])

    def incarnations(self):
        return dict(self.sql("SELECT h.name, f.incarnation FROM hosts h JOIN fences f "
                             "USING (number)"))

    def are_all_up(self):
        """A host that is given its share begins anew to serve it."""
        if not all(any(" serves " in line for line in running.lines["stderr"])
                   for running in self.served.values()):
            return False
        rows = self.sql("SELECT h.name FROM hosts h JOIN partitions p ON p.host = h.number "
                        "WHERE h.state = 1 GROUP BY h.name")
        return {name for name, in rows} == set(HOSTS)

    def wait_for_all_up(self):
        def are_up():
            self.begin_those_that_ended()
            return self.are_all_up()
        wait_until(are_up, f"all of {HOSTS} have a share: {self.hosts_shown()}", 2 * LIMIT_S)

    def hosts_shown(self):
        return self.sql("SELECT h.name, h.state, h.why, count(p.number) FROM hosts h LEFT JOIN "
                        "partitions p ON p.host = h.number GROUP BY 1, 2, 3")

    # What has to be true in the end.

    def lines(self):
        text = self.counts.read_text() if self.counts.exists() else ""
        return collections.Counter(tuple(line.split()) for line in text.splitlines())

    def progress(self):
        """Grows as long as executions end."""
        return int(self.sql("SELECT count(*) FROM executions WHERE phase = 'succeeded'")[-1][0])

    def wait_for_progress(self, count=1):
        before = self.progress()
        wait_until(lambda: self.progress() >= before + count, "executions end", 2 * LIMIT_S)

    def finish(self):
        """All that was acknowledged has ended well, and nothing is left."""
        self.network.heal()
        self.load.end()
        self.wait_for_all_up()
        try:
            wait_until(lambda: self.count_unended() == 0, "all executions have ended", 2 * LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.explained()}") from None
        phases = collections.Counter(row[0] for row in self.sql("SELECT phase FROM executions"))
        names = {name for name, in self.sql("SELECT name FROM executions")}
        self.assertLessEqual(set(self.load.names), names, "what was acknowledged is lost")
        self.assertEqual(set(phases), {"succeeded"}, self.failures())
        self.check_counts()
        self.check_nothing_left()
        return phases["succeeded"]

    def explained(self):
        """What hosts say of executions that have not ended."""
        names = self.sql("SELECT name FROM executions WHERE phase NOT IN "
                         "('succeeded', 'failed', 'aborted') LIMIT 4")
        said = [self.ask(host, "explain", name, "-v") for name, in names for host in HOSTS[:1]]
        logs = [f"{host}: {running.lines['stderr'][-15:]}" for host, running in self.served.items()]
        return "\n".join([one.stdout + one.stderr for one in said] + logs)

    def failures(self):
        return self.sql("SELECT * FROM executions WHERE phase <> 'succeeded'")[:5]

    def check_counts(self):
        lines = self.lines()
        twice = [line for line in lines if line[0] == "twice"]
        again = [line for line, count in lines.items() if count > 1]
        done = {int(line[1]) for line in lines if line[0] == "done"}
        self.assertEqual(twice, [], "two processes of one task at once")
        self.assertEqual(again, [], "an attempt ran twice")
        missing = {i for name in self.load.names
                   for i in range((int(name[4:]) - 1) * TASKS, int(name[4:]) * TASKS)} - done
        self.assertEqual(missing, set(), "tasks that never ran")

    def check_nothing_left(self):
        """No message is on its way, no actor of an execution is left, and no process of a task."""
        wait_until(lambda: self.sql("SELECT count(*) FROM messages")[-1][0] == "0",
                   "no message is stored")
        wait_until(lambda: not self.task_processes(), "no process of a task is left")

    def processes(self, part=b""):
        found = []
        for path in process_folders():
            try:
                words = (path / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(str(self.folder)) in words and part in words:
                found.append(int(path.name))
        return found

    def task_processes(self):
        return self.processes(b"step.sh")
