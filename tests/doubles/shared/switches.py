"""Switches of faults, and when one that is on strikes.

A fault is a row of a double's own table: where it strikes, the fields it takes with their defaults,
and what it does. Whoever does the work asks `strike` at that place; what then happens is written
there. A switch strikes always, or `times` times, or with a `rate` drawn from its own `seed`, so
that two runs in which the same calls come in the same order do the same.
"""

import collections
import random

Fault = collections.namedtuple("Fault", "place fields text")

OPTIONS = {"times": None, "rate": None, "seed": 0, "skip": 0, "method": None}


class Switch:
    """A fault that is on."""

    def __init__(self, name, fault, options):
        unknown = options.keys() - OPTIONS.keys() - fault.fields.keys()
        if unknown:
            raise ValueError(f"fault {name} has no {', '.join(sorted(unknown))}; it has "
                             f"{', '.join(sorted({**OPTIONS, **fault.fields}))}")
        options = {**OPTIONS, **fault.fields, **options}
        self.name = name
        self.left = options["times"]
        self.rate = options["rate"]
        self.skip = options["skip"]
        methods = options["method"]
        self.methods = {methods} if isinstance(methods, str) else methods and set(methods)
        self.fields = {field: options[field] for field in fault.fields}
        self.random = random.Random(options["seed"])
        self.strikes = 0

    def strikes_now(self, method):
        if self.methods is not None and method not in self.methods:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.left == 0 or (self.rate is not None and self.random.random() >= self.rate):
            return False
        if self.left is not None:
            self.left -= 1
        self.strikes += 1
        return True


class Faults:
    def __init__(self, faults):
        self.faults = faults
        self.switches = {}
        self.strikes = collections.Counter()

    def set(self, name, **options):
        """Turns a fault on, in place of what it was. Raises KeyError or ValueError."""
        if name not in self.faults:
            raise KeyError(f"no fault {name}; there are {', '.join(self.faults)}")
        self.switches[name] = Switch(name, self.faults[name], options)

    def clear(self, name=None):
        if name is None:
            self.switches.clear()
        else:
            self.switches.pop(name, None)

    def is_on(self, name):
        return name in self.switches

    def is_any_on(self, place):
        return any(self.faults[name].place == place for name in self.switches)

    def strike(self, name, method=None):
        """The fields of a fault if it strikes now, else None."""
        switch = self.switches.get(name)
        if switch is None or not switch.strikes_now(method):
            return None
        self.strikes[name] += 1
        return switch.fields

    def strikes_now(self, name, method=None):
        """The same for a fault whose fields nobody asks for."""
        return self.strike(name, method) is not None

    def value(self, name, field, otherwise):
        """A field of a fault that is a state rather than an event: a lag."""
        switch = self.switches.get(name)
        return otherwise if switch is None else switch.fields[field]

    def table(self):
        """All there are, and which are on."""
        return {name: {"place": fault.place, "fields": fault.fields, "text": fault.text,
                       "is_on": name in self.switches, "strikes": self.strikes[name]}
                for name, fault in self.faults.items()}
