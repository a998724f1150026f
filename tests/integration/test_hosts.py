#!/usr/bin/env python3
"""Several hosts on one store in PostgreSQL, as processes on this machine: one has the work, the
others stand by, and take it when it is killed, stopped, told to leave, or cut off."""

import collections
import http.server
import json
import os
import re
import signal
import socket
import socketserver
import subprocess
import threading
import time
import unittest

import jsonschema

import postgres
from program import LIMIT_S, PROGRAM, ROOT, process_folders, wait_until
from test_documents import SCHEMA, closed

LEASE_S = 3

SETTINGS = {"lease": f"{LEASE_S}s", "process_lease": "10s"}


class HostsTest(postgres.PostgresTest):
    """A folder for each host, all bound to one database and with one folder of blobs."""

    def setUp(self):
        super().setUp()
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        self.folders = {}
        self.served = {}
        self.troupe("store", "init", self.locator())
        self.write("flow.yaml", FLOW)

    def tearDown(self):
        for running in self.started:
            if running.process.poll() is None:
                running.process.send_signal(signal.SIGCONT)
        super().tearDown()
        for folder in self.folders.values():
            for pid in keepers_of(folder):
                os.kill(pid, signal.SIGKILL)

    def environment(self):
        return super().environment() | {"TROUPE_STORE": str(self.folders.get("a", self.store))}

    def host(self, name, **settings):
        """The folder of a host, bound to the database."""
        folder = self.folder / name
        if name not in self.folders:
            folder.mkdir(mode=0o700)
            (folder / "database").write_text(self.locator() + "\n")
            (folder / "database").chmod(0o600)
            self.folders[name] = folder
        (folder / "settings.yaml").write_text(json.dumps(
            {key: value for key, value in (SETTINGS | {
                "host_name": name, "blobs": str(self.shared)} | settings).items()
             if value is not None}))
        return folder

    def serve(self, name, **settings):
        running = self.start("serve", "--store", self.host(name, **settings))
        self.served[name] = running
        return running

    def serve_all(self, *names):
        self.serve(names[0]).wait_for("serves")
        for name in names[1:]:
            self.serve(name).wait_for("standing by")

    def hosts(self, name="a"):
        shown = self.document("hosts", "--store", self.folders[name])
        schema = {**closed(SCHEMA), "$ref": "#/definitions/hosts"}
        jsonschema.Draft7Validator(schema).validate(shown)
        return {host["name"]: host for host in shown}

    def states(self, name="a"):
        return {host: row["state"] for host, row in self.hosts(name).items()}

    def beats(self):
        return {name: int(beat) for name, beat in self.run_sql(
            "SELECT h.name, b.beat FROM troupe.hosts h JOIN troupe.beats b USING (number)")}

    def wait_for_looks(self, *names):
        """Each has looked at the others for longer than a lease: it looks once a second at most."""
        before = self.beats()
        for name in names:
            wait_until(lambda name=name: self.beats()[name] >= before[name] + LEASE_S + 2,
                       f"{name} has looked at the others")

    def submit(self, name, workflow="main"):
        self.troupe("submit", "flow.yaml", workflow, "--name", name)

    def phase(self, name):
        return self.document("get", name)["phase"]

    def wait_for_phase(self, name, phase):
        wait_until(lambda: self.phase(name) == phase, f"{name} is {phase}")


def keepers_of(folder):
    found = []
    for path in process_folders():
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"keeper" in words and os.fsencode(str(folder)) in words:
            found.append(int(path.name))
    return found


FLOW = """
troupe: 1
tasks:
  count:
    inputs: {id: int}
    run: [sh, -c, 'echo "begin $1" >>COUNTS; sleep 0.5; echo "end $1" >>COUNTS', sh,
          "{{.inputs.id}}"]
  longer: {run: [sh, -c, 'echo "begin $$" >>COUNTS; sleep SLEEP; echo "end $$" >>COUNTS']}
  ask: {type: http, inputs: {id: int}, config: {method: PUT, url: "URL/{{.inputs.id}}"}}
  told: {run: [echo, told]}
workflows:
  main:
    nodes:
      first: {sleep: 1ms}
      ok: {approve: told, after: [first]}
      last: {sleep: 1ms, after: [ok]}
  counts:
    inputs: {ids: [int]}
    nodes:
      counted: {map: count, with: {id: $ids}, parallelism: 4}
      asked: {map: ask, with: {id: $ids}, parallelism: 4}
      slept: {sleep: 10ms, after: [counted, asked]}
  long: {nodes: {long: {task: longer}}}
"""


class Counter(http.server.BaseHTTPRequestHandler):
    """Counts what it is asked for."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.lock:
            self.server.calls[self.path] += 1
        time.sleep(0.3)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class CountingServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Counter)
        self.calls, self.lock = collections.Counter(), threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Clients that were killed are part of the play."""


class MembersTest(HostsTest):
    def begin_gate(self):
        """An execution that waits for a person."""
        self.submit("one")
        wait_until(lambda: "waits for approval" in self.troupe("explain", "one")[0], "it waits")

    def end_gate(self, name):
        self.troupe("approve", "one", "told", "--store", self.folders[name])
        self.wait_for_phase("one", "succeeded")

    def test_a_killed_host_is_taken_over(self):
        self.serve_all("a", "b")
        self.assertEqual(self.states(), {"a": "up", "b": "standing by"})
        self.begin_gate()
        self.served["a"].signal(signal.SIGKILL)
        begin = time.monotonic()
        said = self.served["b"].wait_for("taking over")
        self.assertGreater(time.monotonic() - begin, LEASE_S - 1.5)
        self.assertTrue(said.endswith(
            f"host a was fenced by host b: it did not answer for {LEASE_S} s"), said)
        self.served["b"].wait_for("serves")
        self.assertEqual(self.states("b"), {"a": "dead", "b": "up"})
        self.end_gate("b")
        self.served["a"].process.wait(LIMIT_S)
        self.serve("a").wait_for("standing by: host b has the work of this store")
        self.assertEqual(self.states("b"), {"a": "standing by", "b": "up"})

    def test_a_restart_within_the_lease_goes_on(self):
        self.serve_all("a", "b")
        self.begin_gate()
        self.served["a"].signal(signal.SIGKILL)
        self.served["a"].process.wait(LIMIT_S)
        self.serve("a").wait_for("serves")
        self.wait_for_looks("b")
        self.assertEqual(self.states(), {"a": "up", "b": "standing by"})
        self.assertNotIn("taking over", "".join(self.served["b"].lines["stderr"]))
        self.end_gate("a")

    def test_who_stood_still_is_fenced_and_says_so(self):
        self.serve_all("a", "b")
        self.begin_gate()
        self.served["a"].signal(signal.SIGSTOP)
        self.served["b"].wait_for("serves")
        self.served["a"].signal(signal.SIGCONT)
        status, _, stderr = self.served["a"].end()
        self.assertEqual(status, 4, stderr)
        self.assertIn("troupe serve: host a was fenced by host b: it did not answer for "
                      f"{LEASE_S} s", stderr.splitlines())
        self.end_gate("b")

    def test_who_leaves_is_followed_at_once(self):
        self.serve_all("a", "b")
        self.begin_gate()
        begin = time.monotonic()
        self.served["a"].signal(signal.SIGTERM)
        self.served["b"].wait_for("taking over: host a had left when host b took over")
        self.assertLess(time.monotonic() - begin, LEASE_S)
        self.assertEqual(self.served["a"].end()[0], 0)
        self.served["b"].wait_for("serves")
        self.assertEqual(self.states("b"), {"a": "left", "b": "up"})
        self.end_gate("b")

    def test_one_of_two_takes_the_work(self):
        self.serve_all("a", "b", "c")
        self.begin_gate()
        self.served["a"].signal(signal.SIGKILL)
        wait_until(lambda: "up" in {state for name, state in self.states().items() if name != "a"},
                   "another is up")
        states = self.states()
        self.assertEqual(sorted(states.values()), ["dead", "standing by", "up"])
        second = next(name for name, state in states.items() if state == "up")
        third = next(name for name, state in states.items() if state == "standing by")
        self.served[second].wait_for("serves")
        self.served[second].signal(signal.SIGKILL)
        self.served[third].wait_for("serves")
        self.assertEqual(self.states(), {"a": "dead", second: "dead", third: "up"})
        self.end_gate(third)

    def test_who_stands_by_may_leave(self):
        self.serve_all("a", "b")
        self.served["b"].signal(signal.SIGTERM)
        self.assertEqual(self.served["b"].end()[0], 0)
        self.assertEqual(self.states(), {"a": "up", "b": "left"})
        self.troupe("hosts", "forget", "b")
        self.assertEqual(self.states(), {"a": "up"})

    def test_who_is_silent_is_suspected(self):
        """Nobody stands by for the one, and the other has no work to be taken."""
        self.serve_all("a", "b")
        for name in "ba":
            self.served[name].signal(signal.SIGKILL)
        wait_until(lambda: self.states() == {"a": "suspected", "b": "suspected"}, "both are silent")
        self.run_sql("UPDATE troupe.partitions SET host = 2 WHERE number >= 1000")
        shares = re.findall(r" (\d+ of \d+) ", self.troupe("hosts")[0])
        self.assertEqual(shares, ["1000 of 1024", "24 of 1024"])
        self.run_sql("UPDATE troupe.partitions SET host = 1")
        self.troupe("hosts", "forget", "b")
        self.assertEqual(self.states(), {"a": "suspected"})
        shown, _ = self.troupe("hosts")
        self.assertRegex(shown, r"^NUMBER +NAME +STATE +SINCE +BEAT +GROUPS +ADDRESS +MACHINE "
                         r"+FOLDER +WHY\n1 +a +suspected +\d+s +\d+s +all +- ")
        self.served["a"].process.wait(LIMIT_S)
        self.serve("b").wait_for("taking over")  # another number, and the same folder
        self.served["b"].wait_for("serves")
        self.assertEqual(self.hosts()["b"]["number"], 3)

    def test_a_database_that_is_away_fences_nobody(self):
        self.serve_all("a", "b")
        self.begin_gate()
        self.server.halt(is_crash=True)
        end = time.monotonic() + 1.5 * LEASE_S  # longer than the lease is what it is about
        wait_until(lambda: time.monotonic() > end, "the database was away for longer than a lease")
        self.server.start()
        self.wait_for_looks("a", "b")
        self.assertEqual(self.states(), {"a": "up", "b": "standing by"})
        self.assertIsNone(self.served["a"].process.poll())
        self.end_gate("a")

    def test_a_ping_tells_who_stands_by(self):
        self.serve_all("a", "b")
        folder = self.folders["b"]
        self.assertEqual(self.troupe("ping", "--store", folder)[0],
                         f"{folder}: process {self.served['b'].process.pid} stands by: host a is "
                         f"active, in {self.folders['a']} of {socket.gethostname()}\n")
        self.assertEqual(self.document("ping", "--store", folder)["state"], "standing by")
        self.assertEqual(self.document("ping")["state"], "healthy")

    def test_commands_find_the_active_host(self):
        self.serve_all("a", "b")
        self.troupe("submit", "flow.yaml", "main", "--name", "one", "--store", self.folders["b"])
        self.assertIn("one", self.troupe("list", "--store", self.folders["b"])[0])
        other = self.folder / "c"  # whose host never joined
        self.host("c")
        self.troupe("submit", "flow.yaml", "main", "--name", "two", "--store", other)
        wait_until(lambda: "waits for approval" in self.troupe("explain", "two")[0], "it waits")
        self.troupe("approve", "two", "told", "--store", self.folders["b"])
        self.wait_for_phase("two", "succeeded")
        # A folder that is not on this machine cannot be asked.
        self.folders["a"].rename(self.folder / "hidden")
        _, stderr = self.troupe("approve", "one", "told", "--store", self.folders["b"], status=4)
        self.assertEqual(stderr, "troupe approve: host a is active on this store, in the folder "
                         f"{self.folders['a']} of {socket.gethostname()}, and this folder is that "
                         "of another host; use that one\n")
        (self.folder / "hidden").rename(self.folders["a"])


class WorkTest(HostsTest):
    """What runs goes on elsewhere: nothing is lost, and nothing is done twice at a time."""

    def setUp(self):
        super().setUp()
        self.counts = self.folder / "counts"
        self.counts.write_text("")
        self.counter = CountingServer()
        self.addCleanup(self.counter.server_close)
        self.addCleanup(self.counter.shutdown)

    def write_flow(self, sleep="1"):
        url = f"http://127.0.0.1:{self.counter.server_address[1]}"
        self.write("flow.yaml", FLOW.replace("COUNTS", str(self.counts)).replace("SLEEP", sleep)
                   .replace("URL", url))

    def lines(self, what):
        return [line.split()[1] for line in self.counts.read_text().splitlines()
                if line.startswith(what)]

    def test_nothing_is_lost_or_done_twice(self):
        """The active host is killed twice; each time another goes on."""
        count = 48
        self.write_flow()
        self.serve_all("a", "b", "c")
        wait_until(lambda: self.hosts()["a"]["processes"] == "bound", "the keeper has heard")
        self.troupe("submit", "flow.yaml", "counts", "--name", "one", "-i",
                    f"ids={json.dumps(list(range(count)))}")
        for _ in range(2):
            owner = next(name for name, state in self.states().items() if state == "up")
            begun = len(self.lines("end"))
            wait_until(lambda begun=begun: len(self.lines("end")) > begun + 3, "it goes on")
            self.served[owner].signal(signal.SIGKILL)
            self.served[owner].process.wait(LIMIT_S)
            wait_until(lambda owner=owner: any(state == "up" and name != owner for name, state
                                               in self.states().items()), "another is up")
        self.wait_for_phase("one", "succeeded")
        begun, ended = (collections.Counter(self.lines(what)) for what in ("begin", "end"))
        self.assertEqual(set(ended), {str(i) for i in range(count)})
        # What was under way on a host that was lost begins anew; nothing else does.
        for counted in (begun, self.counter.calls):
            again = [name for name, times in counted.items() if times > 1]
            self.assertLessEqual(len(again), 2 * 4, counted)
        self.assertEqual(set(self.counter.calls), {f"/{i}" for i in range(count)})

    def test_processes_of_a_lost_host_begin_anew_when_they_have_ended(self):
        self.write_flow(sleep="600")
        self.serve_all("a", "b")
        self.troupe("submit", "flow.yaml", "long", "--name", "one")
        wait_until(lambda: len(self.lines("begin")) == 1, "it runs")
        wait_until(lambda: self.hosts()["a"]["processes"] == "bound", "the keeper has heard")
        pid = int(self.lines("begin")[0])
        self.served["a"].signal(signal.SIGKILL)
        self.served["b"].wait_for("serves")
        wait_until(lambda: "it began on host a" in self.troupe("explain", "one")[0], "it waits")
        words = self.troupe("explain", "one")[0]
        self.assertRegex(words, r"it began on host a, dead since \d+s; it begins anew in \d+s, "
                         "when that host is back, or after troupe hosts forget a")
        self.assertEqual(len(self.lines("begin")), 1)
        wait_until(lambda: len(self.lines("begin")) == 2, "it begins anew")
        self.assertFalse(is_alive(pid), "the first one had ended")
        self.assertIn("HostLost", self.troupe("get", "one/long", "-o", "json")[0])

    def test_forgetting_a_host_ends_the_wait(self):
        self.write_flow(sleep="600")
        self.host("a", process_lease="1h")
        self.serve("a", process_lease="1h").wait_for("serves")
        self.serve("b").wait_for("standing by")
        self.troupe("submit", "flow.yaml", "long", "--name", "one")
        wait_until(lambda: len(self.lines("begin")) == 1, "it runs")
        self.served["a"].signal(signal.SIGKILL)
        self.served["b"].wait_for("serves")
        wait_until(lambda: "it began on host a" in self.troupe("explain", "one")[0], "it waits")
        for pid in keepers_of(self.folders["a"]):  # the machine is gone
            os.kill(pid, signal.SIGKILL)
        os.kill(int(self.lines("begin")[0]), signal.SIGKILL)
        _, stderr = self.troupe("hosts", "forget", "a")
        self.assertEqual(stderr, "troupe hosts: host a is forgotten; what it ran begins anew "
                         "on the active host\n")
        wait_until(lambda: len(self.lines("begin")) == 2, "it begins anew")

    def test_a_host_that_is_back_ends_what_it_ran(self):
        self.write_flow(sleep="600")
        self.serve("a", process_lease="1h").wait_for("serves")
        self.serve("b").wait_for("standing by")
        self.troupe("submit", "flow.yaml", "long", "--name", "one")
        wait_until(lambda: len(self.lines("begin")) == 1, "it runs")
        self.served["a"].signal(signal.SIGKILL)
        self.served["a"].process.wait(LIMIT_S)
        self.served["b"].wait_for("serves")
        pid = int(self.lines("begin")[0])
        self.assertTrue(is_alive(pid))
        self.serve("a", process_lease="1h").wait_for("standing by")
        wait_until(lambda: len(self.lines("begin")) == 2, "it begins anew")
        self.assertFalse(is_alive(pid), "the first one had ended")

    def test_who_leaves_ends_what_it_ran(self):
        self.write_flow(sleep="600")
        self.serve("a", process_lease="1h").wait_for("serves")
        self.serve("b").wait_for("standing by")
        self.troupe("submit", "flow.yaml", "long", "--name", "one")
        wait_until(lambda: len(self.lines("begin")) == 1, "it runs")
        wait_until(lambda: self.hosts()["a"]["processes"] == "bound", "the keeper has heard")
        pid = int(self.lines("begin")[0])
        self.served["a"].signal(signal.SIGTERM)
        self.assertEqual(self.served["a"].end()[0], 0)
        self.assertFalse(is_alive(pid))
        wait_until(lambda: len(self.lines("begin")) == 2, "it begins anew")

    def test_a_process_outlives_a_restart_within_the_lease(self):
        self.write_flow(sleep="5")
        self.serve_all("a", "b")
        self.troupe("submit", "flow.yaml", "long", "--name", "one")
        wait_until(lambda: len(self.lines("begin")) == 1, "it runs")
        self.served["a"].signal(signal.SIGKILL)
        self.served["a"].process.wait(LIMIT_S)
        self.serve("a").wait_for("serves")
        self.wait_for_phase("one", "succeeded")
        self.assertEqual((len(self.lines("begin")), len(self.lines("end"))), (1, 1))

    def test_without_others_processes_outlive_the_engine(self):
        """As ever: nobody else could do their work."""
        self.write_flow(sleep="600")
        self.serve("a").wait_for("serves")
        self.troupe("submit", "flow.yaml", "long", "--name", "one")
        wait_until(lambda: len(self.lines("begin")) == 1, "it runs")
        self.served["a"].signal(signal.SIGTERM)
        self.assertEqual(self.served["a"].end()[0], 0)
        pid = int(self.lines("begin")[0])
        self.assertTrue(is_alive(pid))
        self.assertEqual(self.hosts()["a"]["processes"], "unbound")
        self.serve("a").wait_for("serves")
        self.troupe("abort", "one")
        self.wait_for_phase("one", "aborted")
        self.assertFalse(is_alive(pid))


class PageTest(HostsTest):
    """The page for operators, typed as it stands."""

    def test_the_page(self):
        page = (ROOT / "deploy/HOSTS.md").read_text()
        blocks = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 4)
        folder = self.folder / "page"
        folder.mkdir()
        for name in "abc":  # whose keepers are ended behind the test
            self.folders[f"page {name}"] = folder / name
        self.run_sql("DROP SCHEMA troupe CASCADE")
        marked = "echo ---\n".join(["set -e\n"] + blocks)
        done = subprocess.run(
            ["bash", "-c", marked + "kill $(jobs -p) 2>/dev/null; wait"], cwd=folder, text=True,
            env=os.environ | {"PGURL": self.locator(),
                              "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"},
            capture_output=True, timeout=3 * LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        _, first, second, third, fourth = done.stdout.split("---\n")
        self.assertEqual(states_of(first), {"a": "up", "b": "up", "c": "up"})
        self.assertEqual(states_of(second), {"a": "dead", "b": "up", "c": "up"})
        self.assertRegex(second, "host a was fenced by host [bc]: it did not answer for 10 s")
        self.assertIn("trial6", second)
        self.assertEqual(states_of(third)["a"], "up")
        self.assertEqual(states_of(fourth), {"a": "up", "b": "drained", "c": "up"})
        for state in ("up", "joining", "standing by", "drained", "suspected", "left", "dead"):
            self.assertIn(f"| {state} |", page)


def states_of(table):
    """What `troupe hosts` shows: state by name."""
    states = "up|joining|standing by|drained|suspected|left|dead"
    return dict(re.findall(rf"^\d+ +(\w+) +({states}) ", table, re.MULTILINE))


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class RefusalsTest(HostsTest):
    """What is refused, in its words."""

    ADVICE = ("set `blobs` of the settings of all hosts to a folder that all of them reach, or to "
              "s3://BUCKET (deploy/HOSTS.md)")

    def refuse(self, words, *command, status=4):
        _, stderr = self.troupe(*command, status=status)
        self.assertEqual(stderr.splitlines()[-1], f"troupe {command[0]}: {words}")

    def test_blobs_that_others_do_not_reach(self):
        self.serve("a", blobs=None).wait_for("serves")
        self.refuse("host a has the work of this store, and keeps its blobs in its own folder, "
                    f"which this host does not reach; {self.ADVICE}",
                    "serve", "--store", self.host("b"))
        self.assertEqual(self.states(), {"a": "up"})

    def test_blobs_of_its_own(self):
        self.serve("a").wait_for("serves")
        self.refuse(f"host a has the work of this store, and its blobs are in {self.shared}; this "
                    f"host would keep them in its own folder; {self.ADVICE}",
                    "serve", "--store", self.host("b", blobs=None))
        other = self.folder / "other"
        other.mkdir()
        self.refuse(f"host a has its blobs in {self.shared}, and this host in {other}; "
                    f"{self.ADVICE}", "serve", "--store", self.host("b", blobs=str(other)))

    def test_names(self):
        self.serve("a").wait_for("serves")
        self.refuse("another host of this store is called a: give this one another name by "
                    "--host-name or `host_name` of the settings, or, if that one is gone for good, "
                    "type troupe hosts forget a", "serve", "--store", self.host("b", host_name="a"))
        _, stderr = self.troupe("serve", "--host-name", "no name", status=2)
        self.assertIn("--host-name: 'no name' is no name of a host; write up to 64 letters, "
                      "digits, and . _ - within them", stderr)
        running = self.start("serve", "--store", self.host("b", host_name=None),
                             "--host-name", "bee")
        running.wait_for("standing by")
        self.assertEqual(self.states(), {"a": "up", "bee": "standing by"})

    def test_hosts_that_cannot_be_forgotten(self):
        self.serve_all("a", "b")
        self.refuse("host a has the work of the store, and cannot be forgotten; another host has "
                    "to take it first", "hosts", "forget", "a", status=2)
        self.refuse("host b is standing by, and cannot be forgotten: only one that has left, is "
                    "dead, or is silent for its lease can", "hosts", "forget", "b", status=2)
        self.refuse("the store has no host called c", "hosts", "forget", "c", status=2)
        _, stderr = self.troupe("hosts", "forget", status=2)
        self.assertIn("name the host to be forgotten: troupe hosts forget NAME", stderr)

    def test_a_store_in_its_folder_has_no_hosts(self):
        store = self.folder / "plain"
        self.troupe("store", "init", store)
        self.refuse(f"the store {store} is in its folder, and has one host; several share one in "
                    "PostgreSQL", "hosts", "--store", store, status=2)

    def test_other_commands_do_not_take_the_work(self):
        self.serve("a").wait_for("serves")
        self.served["a"].signal(signal.SIGTERM)
        self.served["a"].end()
        self.refuse(f"the store was last used with the folder {self.folders['a']} of the host "
                    f"{socket.gethostname()}, where processes of its tasks may still run; use that "
                    "one or, when nothing of it runs any more, type troupe store take-over --store "
                    f"{self.host('b')}", "run", "flow.yaml", "main", "--store", self.host("b"))
        self.troupe("store", "take-over", self.host("b"))
        self.assertEqual({name: row["why"] for name, row in self.hosts("b").items()},
                         {"a": "host a was taken over by troupe store take-over",
                          socket.gethostname(): "it has ended in order"})

    def test_two_engines_of_one_folder(self):
        self.serve_all("a", "b")
        _, stderr = self.troupe("serve", "--store", self.folders["b"], status=4)
        self.assertIn(": is used by process ", stderr)


if __name__ == "__main__":
    unittest.main()
