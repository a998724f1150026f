#!/usr/bin/env python3
"""The double is not the bottleneck: 50,000 jobs and all their events, read by a plain client.

Fewer unless TROUPE_TEST_LONG is set. It prints what it measures; only what no machine should need
is a failure.
"""

import os
import time
import unittest

from armada_client import Double, item, pod

SIZE = 50000 if os.environ.get("TROUPE_TEST_LONG") else 5000
LIMIT_S = 120


class LoadTest(unittest.TestCase):
    def test_many_jobs_and_all_their_events(self):
        double = Double()
        self.addCleanup(double.stop)
        spec = [pod("/bin/sh", "-c", "x" * 200, env=[{"name": f"V{number}", "value": "v" * 30}
                                                     for number in range(8)])]
        began = time.monotonic()
        for first in range(0, SIZE, 200):
            double.submit_ids(*[item(f"c{number}", podSpecs=spec)
                                for number in range(first, first + 200)])
        submitted_s = time.monotonic() - began
        stream = double.stream(watch=True)
        self.addCleanup(stream.close)
        lines = ended = 0
        for line in stream.open():
            lines += 1
            ended += b'{"succeeded":' in line
            if ended == SIZE:
                break
        total_s = time.monotonic() - began
        print(f"{SIZE} jobs: submitted in {submitted_s:.1f} s, {lines} events read by "
              f"{total_s:.1f} s, {double.resident_bytes() >> 20} MiB", flush=True)
        self.assertEqual(lines, 6 * SIZE)
        self.assertEqual(double.counters()["jobs_created"], SIZE)
        self.assertLess(total_s, LIMIT_S)  # tens of times what it takes


if __name__ == "__main__":
    unittest.main()
