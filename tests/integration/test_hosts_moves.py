#!/usr/bin/env python3
"""What runs goes from one host to another, both of which work: by `troupe move`, `troupe drain`, at
SIGTERM, and for balance; nothing is lost or done twice, and processes stay where they began."""

import os
import random
import signal
import subprocess
import threading
import time
import unittest

from program import LIMIT_S, PROGRAM, wait_until
from test_hosts_beside import BESIDE_LEASE_S, BesideTest


class MovesTest(BesideTest):
    def host_of(self, execution, store="a"):
        return self.document("explain", execution, "--store", self.folders[store])["host"]

    def move(self, execution, to, *options, store="a", status=0):
        return self.troupe("move", execution, "--to", to, "--store", self.folders[store], *options,
                           status=status)

    def gates(self, count, *names):
        executions = self.submit_many("gate", count, *names)
        for name in executions:
            wait_until(lambda name=name: "waits for approval" in
                       self.troupe("explain", name, "--store", self.folders[names[0]])[0],
                       f"{name} waits")
        return executions


class MoveTest(MovesTest):
    def test_an_execution_goes_to_another_host_and_back(self):
        self.serve_beside("a", "b")
        executions = self.gates(6, "a", "b")
        moved = 0
        for name in executions:
            before = self.host_of(name)
            after = "b" if before == "a" else "a"
            done = subprocess.run([PROGRAM, "move", name, "--to", after, "--store",
                                   self.folders["a"]], capture_output=True, text=True,
                                  timeout=LIMIT_S, check=False)
            stderr = done.stderr
            if "speaks itself" in stderr:
                continue
            moved += 1
            self.assertIn(f"{name} is on host {after}; it was frozen for", stderr)
            self.assertEqual(self.host_of(name), after)
            document = self.document("move", name, "--to", before, "--store", self.folders["b"])
            self.assertEqual((document["from"], document["to"]), (after, before))
            self.assertLess(document["frozen_us"], 10_000_000)
            self.assertIn("already", self.move(name, before)[1])
        self.assertGreater(moved, 3)
        for name in executions:
            self.approve(name, "b")
        self.wait_for_all(executions)

    def test_what_has_processes_stays_until_they_have_ended(self):
        self.write("long.yaml", "troupe: 1\ntasks: {long: {run: [sleep, '8']}}\n"
                                "workflows: {main: {nodes: {a: {task: long}, ok: {approve: told, "
                                "after: [a]}}}}\n")
        self.serve_beside("a", "b")
        self.troupe("submit", "long.yaml", "main", "--name", "long", "--store", self.folders["a"])
        wait_until(lambda: self.phases("a").get("long") == "running", "it runs")
        time.sleep(1)
        before = self.host_of("long")
        after = "b" if before == "a" else "a"
        _, stderr = self.move("long", after, status=2)
        self.assertIn("has processes; --wait waits until they have ended", " ".join(stderr.split()))
        self.assertEqual(self.host_of("long"), before)
        moving = self.start("move", "long", "--to", after, "--wait", "--store", self.folders["a"])
        wait_until(lambda: self.document("explain", "long", "--store",
                                         self.folders["b"])["goes_to"] == after, "it waits")
        self.assertIn(f"it is to go on at host {after}",
                      self.troupe("explain", "long", "--store", self.folders["a"])[0])
        status, _, stderr = moving.end()
        self.assertEqual(status, 0, stderr)
        self.assertIn(f"long is on host {after}", stderr)
        self.approve("long", "a")
        self.wait_for_all(["long"], store="a")

    def test_what_is_refused(self):
        self.serve_beside("a", "b")
        [name] = self.gates(1, "a")
        self.assertIn("no host called z", self.move(name, "z", status=2)[1])
        self.assertIn("say to which host",
                      self.troupe("move", name, "--store", self.folders["a"], status=2)[1])
        self.troupe("move", "nobody", "--to", "b", "--store", self.folders["a"], status=2)
        self.assertIn("no host called z",
                      self.troupe("drain", "z", "--store", self.folders["a"], status=2)[1])
        self.served["b"].signal(signal.SIGTERM)
        self.assertEqual(self.served["b"].end()[0], 0)
        wait_until(lambda: self.owned("a")["b"] == 0, "a has all")
        self.assertIn("host b is left", self.move(name, "b", status=2)[1])
        _, stderr = self.troupe("drain", "a", "--store", self.folders["a"], status=2)
        self.assertIn("nobody works beside host a", stderr)
        self.approve(name, "a")
        self.wait_for_all([name], store="a")


class DrainTest(MovesTest):
    def test_a_drained_host_gives_all_while_it_goes_on(self):
        self.serve_beside("a", "b")
        executions = self.gates(12, "a", "b")
        _, stderr = self.troupe("drain", "a", "--store", self.folders["b"])
        self.assertIn("host a has given", stderr)
        self.assertEqual(self.owned("b")["a"], 1)
        self.assertEqual(self.states("b")["a"], "drained")
        on = {name: self.host_of(name) for name in executions}
        self.assertGreaterEqual(list(on.values()).count("b"), 10)
        self.served["a"].signal(signal.SIGTERM)
        self.assertEqual(self.served["a"].end()[0], 0)
        for name in executions:
            self.approve(name, "b")
        self.wait_for_all(executions)
        self.serve("a").wait_for("serves")
        self.wait_for_shares("a", "b")

    def test_counts_once_while_hosts_are_drained(self):
        self.serve_beside("a", "b", "c")
        ids = iter(range(1000))
        for i in range(4):
            inputs = [next(ids) for _ in range(20)]
            self.troupe("submit", "flow.yaml", "counts", "--name", f"counts{i}", "-i",
                        f"ids={inputs}", "--store", self.folders["abc"[i % 3]])
        for name in "abc":
            store = "b" if name == "a" else "a"
            self.troupe("drain", name, "--wait", "--store", self.folders[store])
            self.troupe("drain", name, "--undo", "--store", self.folders[store])
        self.wait_for_all([f"counts{i}" for i in range(4)], store="a")
        counted = self.counts.read_text().split()
        self.assertEqual(sorted(counted, key=int), [str(i) for i in range(80)])


class KilledTest(MovesTest):
    """Hosts are killed while all the rest moves; TROUPE_MOVES_KILLS says how often."""

    def keep_moving(self, executions):
        """Moves any execution to any host, whatever comes of it, until it is told to end."""
        draws = random.Random(7)
        while not self.is_over:
            words = ["move", draws.choice(executions), "--to", draws.choice("abc"), "--store",
                     self.folders[draws.choice("abc")]]
            moving = subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            try:
                self.moved += moving.wait(8) == 0
            except subprocess.TimeoutExpired:
                moving.kill()
                moving.wait()

    def test_nothing_runs_twice_when_hosts_are_killed(self):
        kills = int(os.environ.get("TROUPE_MOVES_KILLS", "2"))
        self.is_over = False
        self.moved = 0
        draws = random.Random(3)
        self.serve_beside("a", "b", "c")
        executions = self.gates(9, "a", "b", "c")
        counting = [f"counts{i}" for i in range(3 * kills)]
        mover = threading.Thread(target=self.keep_moving, args=(executions,))
        mover.start()
        try:
            for i, name in enumerate(counting):
                inputs = list(range(8 * i, 8 * i + 8))
                self.submit_somewhere("counts", name, f"ids={inputs}")
                if i % 3 == 2:
                    time.sleep(draws.uniform(0, 2))
                    lost = draws.choice("abc")
                    self.served[lost].signal(signal.SIGKILL)
                    self.served[lost].process.wait(LIMIT_S)
                    self.serve(lost).wait_for("serves")
        finally:
            self.is_over = True
            mover.join()
        for name in executions:
            self.approve(name, "b")
        self.wait_for_all(executions + counting, store="a")
        counted = self.counts.read_text().split()
        self.assertEqual(set(counted), {str(i) for i in range(8 * len(counting))})
        self.assertGreater(self.moved, 0)

    def submit_somewhere(self, workflow, name, *inputs):
        """Its launcher may be on its way: then it is said again, by the same name."""
        def is_there():
            subprocess.run([PROGRAM, "submit", "flow.yaml", workflow, "--name", name, "-i", *inputs,
                            "--store", self.folders["abc"[hash(name) % 3]]], cwd=self.folder,
                           capture_output=True, timeout=LIMIT_S, check=False)
            return name in self.phases("a")
        wait_until(is_there, f"{name} is there")


class LateHostTest(MovesTest):
    def test_a_host_that_comes_late_gets_what_runs(self):
        self.serve("a").wait_for("serves")
        executions = self.gates(60, "a")
        self.serve("b").wait_for("serves")
        self.wait_for_shares("a", "b")
        for name in executions:
            self.approve(name, "b")
        self.wait_for_all(executions)

    def test_a_host_that_is_ended_hands_over_first(self):
        self.serve_beside("a", "b")
        executions = self.gates(10, "a", "b")
        self.served["a"].signal(signal.SIGTERM)
        status, _, stderr = self.served["a"].end()
        begin = time.monotonic()
        self.assertEqual(status, 0)
        self.assertIn("handed over", stderr)
        wait_until(lambda: self.owned("b")["a"] == 0, "b has all")
        self.assertLess(time.monotonic() - begin, BESIDE_LEASE_S)
        for name in executions:
            self.approve(name, "b")
        self.wait_for_all(executions)


if __name__ == "__main__":
    unittest.main()
