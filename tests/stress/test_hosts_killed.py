#!/usr/bin/env python3
"""Hosts of one store are killed, stopped and begun anew under load, in network namespaces: no task
runs twice at once, and nothing is lost.

For 10 s each; kills for ten minutes with TROUPE_TEST_LONG (TROUPE_TEST_SECONDS=N).
TROUPE_TEST_HOSTS=5 has five hosts, TROUPE_TEST_SEED repeats what is random.
"""

import os
import signal
import time
import unittest

from hosts import HOSTS, IS_LONG, LEASE_S, HostsTest, wait_until

SECONDS = int(os.environ.get("TROUPE_TEST_SECONDS", "600" if IS_LONG else "10"))

# For how many leases a host stands still: less than one fences nobody.
STOPS = (0.5, 1.5, 3)


class KilledTest(HostsTest):
    def test_any_host_is_killed(self):
        kills = 0
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(self.draw.uniform(1, 5))
            name = self.draw.choice(HOSTS)
            if self.served[name].process.poll() is None:
                self.end_host(name, signal.SIGKILL)
                kills += 1
            if self.draw.random() < 0.3:
                time.sleep(self.draw.uniform(0, 2 * LEASE_S))
            self.begin_those_that_ended()
        ended = self.finish()
        print(f"{kills} kills, {ended} executions ended, {self.load.refused} requests were refused "
              "and said again", flush=True)

    def test_hosts_that_stand_still(self):
        for name, leases in zip(self.draw.sample(HOSTS, 3), STOPS):
            self.stand_still(name, leases)
        self.finish()

    def stand_still(self, name, leases):
        before = self.incarnations()
        process = self.served[name].process
        process.send_signal(signal.SIGSTOP)
        time.sleep(leases * LEASE_S)
        if leases > 1:
            wait_until(lambda: self.incarnations()[name] != before[name], f"{name} is fenced")
        process.send_signal(signal.SIGCONT)
        if leases < 1:
            self.wait_for_progress()
            self.assertEqual(self.incarnations(), before, self.hosts_shown())
            return
        self.assertEqual(process.wait(60), 4)
        self.wait_for_all_up()

    def test_each_host_is_begun_anew(self):
        for name in HOSTS:
            self.wait_for_progress()
            self.assertEqual(self.end_host(name, signal.SIGTERM), 0)
            self.begin(name)
            self.wait_for_all_up()
        ended = self.finish()
        print(f"{ended} executions ended over a restart of each host")


if __name__ == "__main__":
    unittest.main()
