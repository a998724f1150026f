#!/usr/bin/env python3
"""Several hosts that work beside each other on one store in PostgreSQL (`host_address`): processes
on this machine that divide the work, take that of those that are lost, and are one service for all
that ask any of them."""

import collections
import signal
import subprocess
import time
import unittest

from program import LIMIT_S, PROGRAM, free_port, wait_until
from test_hosts import CountingServer, HostsTest

# Long enough that a host which begins on a busy machine is not taken for a lost one.
BESIDE_LEASE_S = 6

FLOW = """
troupe: 1
tasks:
  count:
    inputs: {id: int}
    run: [sh, -c, 'echo "$1" >>COUNTS', sh, "{{.inputs.id}}"]
  ask: {type: http, inputs: {id: int}, config: {method: PUT, url: "URL/{{.inputs.id}}"}}
  told: {run: [echo, told]}
workflows:
  gate:
    nodes: {ok: {approve: told}, last: {task: told, after: [ok]}}
  short:
    nodes: {first: {task: told}, last: {sleep: 1ms, after: [first]}}
  slow:
    nodes: {slept: {sleep: 6s}, last: {task: told, after: [slept]}}
  counts:
    inputs: {ids: [int]}
    nodes:
      counted: {map: count, with: {id: $ids}, parallelism: 4}
      asked: {map: ask, with: {id: $ids}, parallelism: 4}
      slept: {sleep: 10ms, after: [counted, asked]}
  launches:
    nodes: {inner: {launch: short_plan}, last: {task: told, after: [inner]}}
launch_plans: {short_plan: {workflow: short}}
"""


class BesideTest(HostsTest):
    def setUp(self):
        super().setUp()
        self.addresses = collections.defaultdict(lambda: f"127.0.0.1:{free_port()}")
        self.counting = CountingServer()
        self.counts = self.folder / "counts"
        text = FLOW.replace("COUNTS", str(self.counts))
        url = f"http://127.0.0.1:{self.counting.server_port}"
        self.write("flow.yaml", text.replace("URL", url))

    def tearDown(self):
        super().tearDown()
        self.counting.shutdown()
        self.counting.server_close()

    def serve(self, name, **settings):
        return super().serve(name, **{"host_address": self.addresses[name],
                                      "lease": f"{BESIDE_LEASE_S}s"} | settings)

    def owned(self, name="a"):
        return {host: row["partitions"] for host, row in self.hosts(name).items()}

    def serve_beside(self, *names):
        """All of them, once each has its share."""
        for name in names:
            self.serve(name)
        for name in names:
            self.served[name].wait_for("serves")
        self.wait_for_shares(*names)

    def wait_for_shares(self, *names):
        def are_even():
            owned = self.owned(names[0])
            shares = [owned.get(name, 0) for name in names]
            return sum(shares) == sum(owned.values()) and max(shares) - min(shares) <= 1
        wait_until(are_even, f"{names} have equal shares")

    def submit_many(self, workflow, count, *names):
        """Executions with names of their own, by each host in turn."""
        made = [f"{workflow}{i}" for i in range(count)]
        for i, name in enumerate(made):
            self.troupe("submit", "flow.yaml", workflow, "--name", name, "--store",
                        self.folders[names[i % len(names)]])
        return made

    def phases(self, store):
        shown = self.document("list", "--limit", "1000", "--store", self.folders[store])
        return {row["execution"]: row["phase"] for row in shown}

    def wait_for_all(self, executions, phase="succeeded", store="b"):
        def are_there():
            phases = self.phases(store)
            return all(phases.get(name) == phase for name in executions)
        wait_until(are_there, f"{len(executions)} executions are {phase}")

    def approve(self, name, store):
        """It may be on its way to another host."""
        def is_approved():
            done = subprocess.run([PROGRAM, "approve", name, "told", "--store",
                                   self.folders[store]], capture_output=True, timeout=LIMIT_S,
                                  check=False)
            return done.returncode == 0
        wait_until(is_approved, f"{name} is approved")

    def attempts_of(self, name):
        """Executions that ran a process on a host."""
        folder = self.folders[name] / "attempts" / "default" / "development"
        return {path.name for path in folder.iterdir()} if folder.exists() else set()


class SharingTest(BesideTest):
    def test_they_divide_the_work_and_all_of_it_ends(self):
        self.serve_beside("a", "b")
        executions = self.submit_many("short", 40, "a", "b")
        self.wait_for_all(executions)
        ran = {name: self.attempts_of(name) for name in ("a", "b")}
        self.assertEqual(ran["a"] | ran["b"], set(executions))
        self.assertFalse(ran["a"] & ran["b"])
        self.assertGreater(len(ran["a"]), 5)
        self.assertGreater(len(ran["b"]), 5)

    def test_a_killed_host_is_taken_over_by_those_that_work(self):
        self.serve_beside("a", "b")
        executions = self.submit_many("slow", 16, "a", "b")
        self.wait_for_all(executions, "running")
        self.served["a"].signal(signal.SIGKILL)
        wait_until(lambda: self.states("b")["a"] == "dead", "a is fenced", )
        self.assertEqual(self.owned("b"), {"a": 0, "b": self.hosts("b")["b"]["partitions"]})
        self.wait_for_all(executions)
        self.served["a"].process.wait(LIMIT_S)
        self.serve("a").wait_for("serves")
        again = self.submit_many("short", 20, "a", "b")
        self.wait_for_all(again)

    def test_any_host_is_asked_about_any_execution(self):
        self.serve_beside("a", "b")
        executions = self.submit_many("gate", 12, "a", "b")
        for i, name in enumerate(executions):
            store = self.folders["ab"[i % 2]]
            wait_until(lambda name=name, store=store: "waits for approval" in
                       self.troupe("explain", name, "--store", store)[0], "it waits")
        for name in executions[:4]:
            self.troupe("pause", name, "--store", self.folders["a"])
        resumed = [self.start("resume", name, "--store", self.folders["b"])
                   for name in executions[:4]]
        for name in executions[:8]:
            self.troupe("approve", name, "told", "--store", self.folders["a"])
        for name in executions[8:]:
            self.troupe("abort", name, "--yes", "--store", self.folders["b"])
        self.wait_for_all(executions[:8])
        self.wait_for_all(executions[8:], "aborted")
        for running in resumed:
            self.assertEqual(running.end()[0], 0)

    def test_who_asks_is_told_which_host_has_it(self):
        self.serve_beside("a", "b")
        executions = self.submit_many("slow", 12, "a", "b")
        told = {name: self.document("explain", name, "--store", self.folders["a"])["host"]
                for name in executions}
        self.assertEqual(set(told.values()), {"a", "b"})
        shown, _ = self.troupe("explain", executions[0], "--store", self.folders["b"])
        self.assertIn(f", on host {told[executions[0]]}\n", shown)
        self.wait_for_all(executions)
        for name in ("a", "b"):
            self.assertEqual(self.attempts_of(name),
                             {execution for execution in executions if told[execution] == name})
        ended = self.document("explain", executions[0], "--store", self.folders["a"])
        self.assertIsNone(ended["host"])

    def test_a_follower_hears_of_an_end_on_another_host(self):
        self.serve_beside("a", "b")
        for i in range(6):
            stdout, _ = self.troupe("run", "flow.yaml", "short", "--name", f"followed{i}",
                                    "--store", self.folders["ab"[i % 2]])
            self.assertIn("succeeded", stdout + _)

    def test_what_launches_what_crosses_hosts(self):
        self.serve_beside("a", "b")
        executions = self.submit_many("launches", 12, "a", "b")
        self.wait_for_all(executions)

    def test_nothing_runs_twice_when_hosts_are_killed(self):
        self.serve_beside("a", "b", "c")
        ids = iter(range(10000))
        for round_ in range(6):
            inputs = [next(ids) for _ in range(12)]
            name = f"counts{round_}"
            self.troupe("submit", "flow.yaml", "counts", "--name", name, "-i", f"ids={inputs}",
                        "--store", self.folders["abc"[round_ % 3]])
        self.served["b"].signal(signal.SIGKILL)
        self.served["b"].process.wait(LIMIT_S)
        self.wait_for_all([f"counts{i}" for i in range(6)], store="a")
        counted = collections.Counter(self.counts.read_text().split())
        self.assertEqual(set(counted), {str(i) for i in range(72)})


class JoiningTest(BesideTest):
    def test_hosts_are_shown_with_their_addresses(self):
        self.serve_beside("a", "b")
        shown = self.hosts()
        self.assertEqual({name: shown[name]["address"] for name in "ab"},
                         {name: self.addresses[name] for name in "ab"})
        self.assertIn(self.addresses["b"], self.troupe("hosts", "--store", self.folders["a"])[0])

    def test_two_that_begin_at_once_both_work(self):
        self.serve("a")
        self.serve("b")
        self.served["a"].wait_for("serves")
        self.served["b"].wait_for("serves")
        self.wait_for_shares("a", "b")

    def test_who_leaves_is_followed_at_once(self):
        self.serve_beside("a", "b")
        executions = self.submit_many("gate", 6, "a", "b")
        self.served["a"].signal(signal.SIGTERM)
        self.assertEqual(self.served["a"].end()[0], 0)
        begin = time.monotonic()  # what it hands over before that stands still for moments only
        wait_until(lambda: self.owned("b")["a"] == 0, "b has all")
        self.assertLess(time.monotonic() - begin, BESIDE_LEASE_S)
        for name in executions:
            self.approve(name, "b")
        self.wait_for_all(executions)

    def test_a_database_that_is_busy_at_the_start_is_waited_for(self):
        self.serve_beside("a")
        self.served["a"].signal(signal.SIGTERM)
        self.assertEqual(self.served["a"].end()[0], 0)
        lock = "BEGIN; LOCK TABLE troupe.meta; SELECT pg_sleep(60)"
        with subprocess.Popen(["psql", "-X", "-q", "-c", lock, self.locator()],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as holding:
            wait_until(lambda: self.run_sql("SELECT 1 FROM pg_locks WHERE relation = "
                                            "'troupe.meta'::regclass"), "the table is locked")
            self.serve("a").wait_for("joining anew")
            self.run_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                         "query LIKE 'BEGIN; LOCK%'")
            holding.wait(LIMIT_S)
        self.served["a"].wait_for("serves")

    def test_from_one_host_at_a_time_to_several(self):
        self.serve("a", host_address=None).wait_for("serves")
        executions = self.submit_many("gate", 4, "a")
        self.serve("b").wait_for("gives none away: it has no `host_address`")
        self.served["a"].signal(signal.SIGTERM)
        self.assertEqual(self.served["a"].end()[0], 0)
        self.served["b"].wait_for("serves")
        self.serve("a").wait_for("serves")
        for name in executions:
            self.approve(name, "a")
        again = self.submit_many("short", 12, "a", "b")
        self.wait_for_all(executions + again)

    def test_what_is_refused(self):
        self.refuse("a host with `host_address` works beside others, and this one would keep its "
                    "blobs in its own folder; set `blobs` of the settings of all hosts to a folder "
                    "that all of them reach, or to s3://BUCKET (deploy/HOSTS.md)",
                    "serve", "--store", self.host("a", blobs=None,
                                                  host_address=self.addresses["a"]))
        alone = self.folder / "alone"
        self.refuse("only hosts of a store in PostgreSQL work beside each other: leave "
                    "`host_address` out, or name such a store (deploy/HOSTS.md)",
                    "serve", "--store", alone, "--host-address", "127.0.0.1:7070")
        self.assertFalse(alone.exists())
        _, stderr = self.troupe("serve", "--host-address", "here", status=2)
        self.assertIn("--host-address: 'here' is no address of a host; write IP:PORT, where the "
                      "other hosts reach this one, as 10.0.0.5:7070", stderr)
        self.serve("a").wait_for("serves")
        self.refuse("host a works beside others on this store, and this one has no "
                    "`host_address`; set it to IP:PORT, where the others reach this host "
                    "(deploy/HOSTS.md)", "serve", "--store", self.host("b", host_address=None))
        taken = self.host("b", host_address=self.addresses["a"])
        running = self.start("serve", "--store", taken)
        words = f"this host cannot listen at tcp://{self.addresses['a']}: Address already in use"
        self.assertIn(words, running.end()[2])

    def refuse(self, words, *command):
        _, stderr = self.troupe(*command, status=4)
        self.assertIn(words, " ".join(stderr.split()))


if __name__ == "__main__":
    unittest.main()
