"""The switches: what goes wrong on demand, for whom, and how often."""

import fnmatch

FAULTS = {
    "busy": "answers 503 SlowDown, does no work",
    "broken": "answers 500 InternalError, does no work",
    "slow": "waits `ms` before the work",
    "lost": "does the work and closes the connection without an answer",
    "half": "does the work and breaks off in the middle of the answer",
    "huge": "answers a GET with `bytes` of nothing",
    "longer": "answers with a byte more than the object has",
}

FIELDS = {"method", "name", "times", "skip", "ms", "bytes"}


class Fault:
    """`method` and `name` (a glob of BUCKET/NAME) say whom it strikes; `skip` chances pass first."""

    def __init__(self, fields):
        unknown = set(fields) - FIELDS
        if unknown:
            raise ValueError(f"a fault has no {', '.join(sorted(unknown))}")
        self.method, self.name = fields.get("method"), fields.get("name", "*")
        self.times, self.skip = fields.get("times"), fields.get("skip", 0)
        self.ms, self.bytes = fields.get("ms", 0), fields.get("bytes", 0)
        self.struck = 0

    def strikes(self, method, name):
        if self.method not in (None, method) or not fnmatch.fnmatchcase(name, self.name):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None and self.struck >= self.times:
            return False
        self.struck += 1
        return True


class Faults:
    def __init__(self):
        self.on = {}

    def turn_on(self, document):
        unknown = set(document) - set(FAULTS)
        if unknown:
            raise ValueError(f"there is no fault {', '.join(sorted(unknown))}; "
                             f"there are {', '.join(FAULTS)}")
        self.on.update({name: Fault(fields) for name, fields in document.items()})

    def find(self, what, method, name):
        """The fault if it strikes here, else None."""
        fault = self.on.get(what)
        return fault if fault is not None and fault.strikes(method, name) else None
