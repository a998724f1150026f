#!/usr/bin/env python3
"""Aborting much at once: acknowledged at once, over after the grace, and nothing left outside.

A run with a wide map of elements that sleep, and 64 processes that ignore SIGTERM.
"""

import json
import time
import unittest

from kills import IS_LONG, KillTest, wait_until

SLEEPERS = 100000 if IS_LONG else 1000
PROCESSES = 64
GRACE_S = 1
ACKNOWLEDGED_S = 0.1

# How long a machine that has more to do may take beside that.
SLACK_S = 60

FLOW = """
troupe: 1
tasks:
  sleep: {type: core-sleep, inputs: {time: duration, n: int}}
  stay:
    inputs: {n: int}
    grace: 1s
    run: [/bin/sh, ./stay.sh]
  note: {run: [/bin/sh, -c, 'echo ran >> "$TROUPE_FOLDER/finally"']}
workflows:
  main:
    inputs: {sleepers: [int], processes: [int]}
    nodes:
      asleep: {map: sleep, over: [n], with: {time: 1h, n: $sleepers}}
      awake: {map: stay, with: {n: $processes}}
    finally: {task: note}
"""

STAY = """
trap '' TERM
echo "begun $TROUPE_ELEMENT $TROUPE_ATTEMPT" >>"$TROUPE_FOLDER/counts"
while :; do
    /bin/sleep 60
done
"""


class AbortTest(KillTest):
    def begin(self):
        self.write("flow.yaml", FLOW)
        self.write("stay.sh", STAY)
        self.write("inputs.json", json.dumps({"sleepers": [1] * SLEEPERS,
                                              "processes": list(range(PROCESSES))}))
        running = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it",
                             "-j", str(PROCESSES))
        wait_until(lambda: len(self.counts()) == PROCESSES or running.process.poll() is not None,
                   "all processes")
        wait_until(lambda: self.live_sleepers() == SLEEPERS, "all sleepers")
        return running

    def live_sleepers(self):
        """How many elements of the sleeping map are live, by the history."""
        rows = self.query("SELECT queued + running FROM record_progress WHERE path = 'asleep'")
        return rows[0][0] if rows else 0

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
        status, _, stderr = running.end()
        ended_s = time.monotonic() - begin
        print(f"acknowledged after {1000 * acknowledged_s:.0f} ms, ended after {ended_s:.1f} s")
        self.assertEqual(status, 3, stderr)
        self.assertLess(acknowledged_s, ACKNOWLEDGED_S)
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
        self.assertEqual(dict(phases)["awake"], dict(phases)["asleep"])
        self.assertEqual(len(self.counts()), PROCESSES)


if __name__ == "__main__":
    unittest.main()
