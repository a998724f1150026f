#!/usr/bin/env python3
"""Hosts of one store are cut off from each other and from the database under load, in network
namespaces: nobody is fenced who reaches the database, whoever is cut off from it is, and all goes
on by itself. No task runs twice at once, and nothing is lost.

Each cut once; 50 times with TROUPE_TEST_LONG. TROUPE_TEST_HOSTS=5 has five hosts,
TROUPE_TEST_SEED repeats the order, TROUPE_TEST_ROUNDS=N and TROUPE_TEST_CUTS=NAME,... choose.
"""

import collections
import os
import time
import unittest

from hosts import HOSTS, IS_LONG, LEASE_S, HostsTest, wait_until

ROUNDS = int(os.environ.get("TROUPE_TEST_ROUNDS", "50" if IS_LONG else "1"))
CHOSEN = os.environ.get("TROUPE_TEST_CUTS", "")

# A session between hosts is down after 5 s of silence.
LINK_DOWN_S = 6

PAIRS = [(one, other) for i, one in enumerate(HOSTS) for other in HOSTS[i + 1:]]


class CutTest(HostsTest):
    # The cuts, each of which is over when it returns.

    def cut_pair(self):
        one, other = self.draw.choice(PAIRS)
        self.cut_links([(one, other), (other, one)])

    def cut_pair_one_way(self):
        self.cut_links([tuple(self.draw.sample(self.draw.choice(PAIRS), 2))])

    def cut_links(self, ways):
        """Nobody is fenced of it; what is to be said waits."""
        before = self.incarnations()
        for sender, receiver in ways:
            self.network.cut(sender, receiver)
        time.sleep(LINK_DOWN_S)
        self.network.heal()
        self.assertEqual(self.incarnations(), before, f"fenced by a link: {self.hosts_shown()}")
        self.wait_for_progress()

    def cut_host_shortly(self):
        """Less than the lease: nobody is fenced, and the host goes on."""
        host = self.draw.choice(HOSTS)
        before = self.incarnations()
        self.network.cut_both(host, "db")
        time.sleep(LEASE_S / 2)
        self.network.heal()
        wait_until(lambda: self.beats(host), f"{host} beats again")
        self.assertEqual(self.incarnations(), before, self.hosts_shown())

    def cut_host(self):
        host = self.draw.choice(HOSTS)
        self.cut_from_database(host, [(host, "db"), ("db", host)])

    def cut_host_one_way(self):
        host = self.draw.choice(HOSTS)
        self.cut_from_database(host, [self.draw.choice([(host, "db"), ("db", host)])])

    def cut_from_database(self, host, ways):
        """The others take its work, and it ends with words when it hears of that."""
        before = self.incarnations()
        for sender, receiver in ways:
            self.network.cut(sender, receiver)
        wait_until(lambda: self.incarnations()[host] != before[host], f"{host} is fenced")
        self.assertEqual({name: number for name, number in self.incarnations().items()
                          if name != host}, {name: number for name, number in before.items()
                                             if name != host}, self.hosts_shown())
        self.wait_for_progress()
        self.network.heal()
        wait_until(lambda: self.served[host].process.poll() is not None, f"{host} ends")
        self.wait_for_all_up()

    def cut_all(self):
        """Nobody is fenced because everybody was cut off."""
        before = self.incarnations()
        for host in HOSTS:
            self.network.cut_both(host, "db")
        time.sleep(1.5 * LEASE_S)
        self.network.heal()
        self.wait_for_progress()
        self.assertEqual(self.incarnations(), before, self.hosts_shown())

    def beats(self, host):
        sql = f"SELECT beat FROM beats JOIN hosts USING (number) WHERE name = '{host}'"
        before = self.sql(sql)
        time.sleep(0.2)
        return self.sql(sql) != before

    def test_cuts(self):
        cuts = [name for name in dir(CutTest) if name in (
            "cut_pair", "cut_pair_one_way", "cut_host_shortly", "cut_host", "cut_host_one_way",
            "cut_all") and (not CHOSEN or name[4:] in CHOSEN.split(","))]
        took = collections.Counter()
        times = collections.Counter()
        for round_ in range(ROUNDS):
            if round_ > 0:
                print(f"round {round_}: {dict(times)}", flush=True)
            for name in self.draw.sample(cuts, len(cuts)):
                began = time.monotonic()
                getattr(self, name)()
                took[name] += time.monotonic() - began
                times[name] += 1
        ended = self.finish()
        for name in cuts:
            print(f"{name}: {times[name]} times, {took[name] / times[name]:.1f} s each")
        print(f"{ended} executions ended, {len(self.ended)} hosts were fenced, "
              f"{self.load.refused} requests were refused and said again", flush=True)


if __name__ == "__main__":
    unittest.main()
