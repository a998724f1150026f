"""Hosts in network namespaces, whose ways can be cut: each host and the database has one of its own,
and all are linked to one router, which drops what it is told to drop, silently and in one direction.

    network = Network("a", "b", "db")
    subprocess.Popen([*network.inside("a"), "troupe", "serve"])
    network.cut("a", "b")     # what a sends to b is lost from now on; b still reaches a
    network.heal()

It takes root, and `ip` and `nsenter`. Addresses are those of the namespaces alone. A guard removes
them when the test has ended, however that was.
"""

import os
import pathlib
import subprocess

# Removes namespaces when the pipe from the test is closed.
GUARD = 'read -r _; for name; do ip netns del "$name" 2>/dev/null; done'


def is_possible():
    """Whether this machine lets us make a namespace whose ways can be cut."""
    if os.geteuid() != 0:
        return False
    name = f"troupe-{os.getpid()}-try"
    words = (["ip", "netns", "add", name],
             ["ip", "-n", name, "link", "add", "one", "type", "veth", "peer", "name", "other"],
             ["ip", "-n", name, "rule", "add", "from", "10.0.0.1", "to", "10.0.0.2", "blackhole"])
    try:
        return all(subprocess.run(line, capture_output=True, check=False).returncode == 0
                   for line in words)
    except FileNotFoundError:
        return False
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


class Network:
    def __init__(self, *names):
        self.places = {name: i + 1 for i, name in enumerate(names)}
        self.cuts = set()
        spaces = [self.space(name) for name in (*names, "router")]
        self.guard = subprocess.Popen(["sh", "-c", GUARD, "guard", *spaces], cwd="/",
                                      stdin=subprocess.PIPE, start_new_session=True)
        for space in spaces:
            self._ip("netns", "add", space)
            self._ip("-n", space, "link", "set", "lo", "up")
        router = self.space("router")
        for name in names:
            self._link(name, router)
        self._run(*self._enter(router), "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")

    def _link(self, name, router):
        near, place = f"to-{name}", self.places[name]
        space = self.space(name)
        self._ip("link", "add", near, "netns", router, "type", "veth", "peer", "name", "out",
                 "netns", space)
        self._ip("-n", router, "address", "add", f"10.77.{place}.1/24", "dev", near)
        self._ip("-n", router, "link", "set", near, "up")
        self._ip("-n", space, "address", "add", f"{self.address(name)}/24", "dev", "out")
        self._ip("-n", space, "link", "set", "out", "up")
        self._ip("-n", space, "route", "add", "default", "via", f"10.77.{place}.1")

    @staticmethod
    def _run(*words):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stderr}")

    def _ip(self, *words):
        self._run("ip", *words)

    @staticmethod
    def _enter(space):
        return ["nsenter", f"--net={pathlib.Path('/run/netns', space)}"]

    @staticmethod
    def space(name):
        return f"troupe-{os.getpid()}-{name}"

    def address(self, name):
        return f"10.77.{self.places[name]}.2"

    def inside(self, name):
        """What stands before a command that runs there."""
        return self._enter(self.space(name))

    def cut(self, sender, receiver):
        """What one sends to the other is lost."""
        if (sender, receiver) not in self.cuts:
            self.cuts.add((sender, receiver))
            self._rule("add", sender, receiver)

    def cut_both(self, one, other):
        self.cut(one, other)
        self.cut(other, one)

    def heal(self):
        for sender, receiver in self.cuts:
            self._rule("del", sender, receiver)
        self.cuts = set()

    def _rule(self, what, sender, receiver):
        self._ip("-n", self.space("router"), "rule", what, "from", self.address(sender), "to",
                 self.address(receiver), "blackhole")

    def close(self):
        self.guard.stdin.close()
        self.guard.wait()
