"""The faults that can be switched on, as data, and when a switch that is on strikes.

A fault is a row of FAULTS: where it strikes, the fields it takes with their defaults, and what it
does. Whoever does the work asks `strike` at that place; what then happens is written there. A
switch strikes always, or `times` times, or with a `rate` drawn from its own `seed`, so that two
runs in which the same calls come in the same order do the same.
"""

import collections
import random

Fault = collections.namedtuple("Fault", "place fields text")

# Places: `call` around any call, `submit` within a submission, `publish` as an event enters its
# stream, `stream` as a stream is read, `view` as the status of jobs is read.
FAULTS = {
    "latency": Fault("call", {"ms": 100}, "waits before the work"),
    "refused": Fault("call", {"code": "Unavailable",
                              "text": "upstream connect error or disconnect/reset before headers"},
                     "answers an error of this gRPC code with this text, and does no work"),
    "too_many": Fault("call", {"retry_after_s": None},
                      "answers 429, with Retry-After where it is given, and does no work"),
    "reset_request": Fault("call", {"bytes": 0},
                           "resets the connection after so many bytes of the body, does no work"),
    "lost_answer": Fault("call", {"how": "close"},
                         "does the work and closes without an answer; `half`: resets in the "
                         "middle of it; `hang`: keeps the connection and is silent"),
    "hang": Fault("call", {}, "never answers, and does no work"),
    "nonsense": Fault("call", {"what": "text"},
                      "does the work and answers `text` that is no JSON, `types` that are wrong, "
                      "an `empty` body, or a `huge` one of 64 MiB"),
    "dedup_off": Fault("submit", {}, "knows no client id: every item is a new job"),
    "dedup_hole_a": Fault("submit", {}, "jobs are published, their client ids are not kept"),
    "dedup_hole_b": Fault("submit", {"ms": 50},
                          "waits between looking client ids up and keeping them, so that two "
                          "requests at once both miss"),
    "dedup_hole_c": Fault("submit", {}, "looking client ids up fails, and is gone over"),
    "partial_submit": Fault("submit", {"share": 0.5},
                            "publishes a share of a request, keeps no client ids, answers 500"),
    "item_error": Fault("submit", {"text": "the job cannot be scheduled"},
                        "an item gets an error in its place instead of a job"),
    "events_lost": Fault("publish", {}, "an event never enters its stream"),
    "events_doubled": Fault("publish", {}, "an event enters its stream twice"),
    "events_reordered": Fault("publish", {"ms": 200},
                              "an event enters its stream late, behind those that follow it"),
    "events_wrapped": Fault("publish", {},
                            "the kind of an event stands below `Events`, as Go writes a oneof "
                            "that does not write itself"),
    "event_lag": Fault("stream", {"s": 5}, "events are seen so many seconds late"),
    "stream_missing": Fault("stream", {}, "a stream that is opened is not found"),
    "stream_cut": Fault("stream", {"lines": 10, "how": "end"},
                        "a stream ends after so many lines; `error`: with an error behind the "
                        "last; `reset`: by a reset; `middle`: in the middle of a line; "
                        "`garbage`: behind a line that is no JSON"),
    "stream_silent": Fault("stream", {"lines": 0},
                           "a stream says nothing more after so many lines, and stays open"),
    "lookout_lag": Fault("view", {"s": 60}, "status is so many seconds behind; UNKNOWN at first"),
    "strange_state": Fault("view", {"state": 99}, "the status of a job is a value of no state, while it is on"),
}

OPTIONS = {"times": None, "rate": None, "seed": 0, "skip": 0, "method": None}


class Switch:
    """A fault that is on."""

    def __init__(self, name, options):
        fault = FAULTS[name]
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
    def __init__(self):
        self.switches = {}
        self.strikes = collections.Counter()

    def set(self, name, **options):
        """Turns a fault on, in place of what it was. Raises KeyError or ValueError."""
        if name not in FAULTS:
            raise KeyError(f"no fault {name}; there are {', '.join(FAULTS)}")
        self.switches[name] = Switch(name, options)

    def clear(self, name=None):
        if name is None:
            self.switches.clear()
        else:
            self.switches.pop(name, None)

    def is_on(self, name):
        return name in self.switches

    def is_any_on(self, place):
        return any(FAULTS[name].place == place for name in self.switches)

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
                for name, fault in FAULTS.items()}
