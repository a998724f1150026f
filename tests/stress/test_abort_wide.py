#!/usr/bin/env python3
"""Aborting much at once: acknowledged before the grace is over, over after it, no process left.

A run with a wide map of elements that sleep, maps over workflows, launches and dynamic nodes in
which something sleeps, and 64 processes that ignore SIGTERM.
"""

import json
import time
import unittest

from kills import IS_LONG, KillTest, wait_until

SLEEPERS = 100000 if IS_LONG else 1000
FLOWS = 1000 if IS_LONG else 50
PROCESSES = 64
GRACE_S = 3

# How long a machine that has more to do may take beside that.
SLACK_S = 60

FLOW = """
troupe: 1
tasks:
  sleep: {type: core-sleep, inputs: {time: duration, n: int}}
  stay:
    inputs: {n: int}
    grace: 3s
    run: [/bin/sh, ./stay.sh]
  note: {run: [/bin/sh, -c, 'echo ran >> "$TROUPE_FOLDER/finally"']}
  decide: {inputs: {n: int}, run: [/bin/sh, -c, 'cp "$TROUPE_FOLDER/decided" "$TROUPE_OUTPUTS"']}
launch_plans:
  plan: {workflow: inner}
workflows:
  inner:
    inputs: {n: int}
    nodes: {rest: {task: sleep, with: {time: 1h, n: $n}}}
  deciding:
    inputs: {n: int}
    nodes: {decided: {dynamic: decide, with: {n: $n}}}
  main:
    inputs: {sleepers: [int], numbers: [int], processes: [int]}
    nodes:
      asleep: {map: sleep, over: [n], with: {time: 1h, n: $sleepers}}
      awake: {map: stay, with: {n: $processes}}
      flows: {map: inner, with: {n: $numbers}}
      launches: {map: plan, with: {n: $numbers}}
      dynamic: {map: deciding, with: {n: $numbers}}
    finally: {task: note}
"""

STAY = """
trap '' TERM
echo "begun $TROUPE_ELEMENT $TROUPE_ATTEMPT" >>"$TROUPE_FOLDER/counts"
while :; do
    /bin/sleep 60
done
"""

DECIDED = {"nodes": {"rest": {"task": "sleep", "with": {"time": "1h", "n": "$n"}}}}

# The maps, of which all elements live when it is aborted.
MAPS = ("asleep", "awake", "flows", "launches", "dynamic")

# What lives as long as a store does: the launcher and the services.
ACTORS_LEFT = 8


class AbortTest(KillTest):
    def begin(self):
        self.write("flow.yaml", FLOW)
        self.write("stay.sh", STAY)
        self.write("decided", json.dumps(DECIDED))
        self.write("inputs.json", json.dumps({"sleepers": [1] * SLEEPERS, "numbers": [1] * FLOWS,
                                              "processes": list(range(PROCESSES))}))
        running = self.start("run", "flow.yaml", "main", "--inputs", "inputs.json", "--name", "it",
                             "-j", str(PROCESSES + 4))
        wait_until(lambda: len(self.counts()) == PROCESSES or running.process.poll() is not None,
                   "all processes")
        wait_until(lambda: self.live_sleepers() == SLEEPERS, "all sleepers")
        wait_until(lambda: self.live_inside() == 3 * FLOWS, "all that sleeps in workflows")
        return running

    def live_sleepers(self):
        """How many elements of the sleeping map are live, by the history."""
        rows = self.query("SELECT queued + running FROM record_progress WHERE path = 'asleep'")
        return rows[0][0] if rows else 0

    def live_inside(self):
        """How many nodes sleep in workflows, launched executions and what was decided."""
        return self.query("SELECT count(*) FROM nodes WHERE phase = 'running' AND "
                          "(path = 'rest' OR path LIKE '%/rest')")[0][0]

    def acknowledge(self):
        """Aborts; how long it took to hear that it is being done, without starting a program."""
        idle_s = min(self.time_of("version") for _ in range(3))
        return max(0, self.time_of("abort", "it") - idle_s)

    def time_of(self, *words):
        begin = time.monotonic()
        self.troupe(*words)
        return time.monotonic() - begin

    def test_abort(self):
        running = self.begin()
        begin = time.monotonic()
        acknowledged_s = self.acknowledge()
        self.assertGreaterEqual(len(self.tasks()), PROCESSES)  # they have their grace still
        status, _, stderr = running.end()
        ended_s = time.monotonic() - begin
        print(f"acknowledged after {1000 * acknowledged_s:.0f} ms, ended after {ended_s:.1f} s")
        self.assertEqual(status, 3, stderr)
        self.assertGreaterEqual(ended_s, GRACE_S)
        self.assertLess(ended_s, GRACE_S + SLACK_S)
        self.assert_over()

    def test_abort_by_an_engine_that_is_killed(self):
        """Half way through an abort the engine is killed: the next one finishes it."""
        running = self.begin()
        self.troupe("abort", "it")
        running.process.kill()
        running.end()
        self.troupe("resume", "it", status=3)
        self.assert_over()

    def assert_over(self):
        # Counted from outside: neither the shells nor what they started.
        self.assertEqual(self.tasks(), [])
        self.assertEqual((self.folder / "finally").read_text(), "ran\n")
        self.assertEqual(self.zombies_of(self.keeper()), [])
        phases = self.query("SELECT path, phase FROM record_node_status ORDER BY path")
        self.assertEqual(len({dict(phases)[path] for path in MAPS}), 1, phases)
        self.assertEqual(self.query("SELECT count(*) FROM executions WHERE ended_ms = 0"), [(0,)])
        self.assertLess(self.query("SELECT count(*) FROM actors")[0][0], ACTORS_LEFT)
        self.assertEqual(len(self.counts()), PROCESSES)


if __name__ == "__main__":
    unittest.main()
