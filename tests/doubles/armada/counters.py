"""What the server saw: the figures that tests hold a client against.

They count what reached the server, whatever became of the answer. Jobs are counted for as long as
the double runs; `reset` forgets calls, not jobs.
"""

import collections
import time


class Method:
    """The calls of one method."""

    def __init__(self):
        self.calls = 0
        self.statuses = collections.Counter()
        self.ids = 0
        self.ids_max = 0
        self.second = 0
        self.in_second = 0
        self.per_second_max = 0

    def call(self, second):
        self.calls += 1
        self.in_second = self.in_second + 1 if second == self.second else 1
        self.second = second
        self.per_second_max = max(self.per_second_max, self.in_second)

    def document(self):
        return {"calls": self.calls, "statuses": dict(self.statuses), "ids": self.ids,
                "ids_max": self.ids_max, "per_second_max": self.per_second_max}


class Counters:
    def __init__(self):
        self.jobs_created = 0
        self.jobs_of_client_id = collections.Counter()
        self.duplicates = set()
        self.live = 0
        self.live_peak = 0
        self.running = 0
        self.ended = collections.Counter()
        self.events_published = 0
        self.streams_open = 0
        self.streams_peak = 0
        self.reset()

    def reset(self):
        """Forgets the calls, and the peaks that were reached."""
        self.methods = collections.defaultdict(Method)
        self.submits_of_client_id = collections.Counter()
        self.deduplicated = 0
        self.cancels_without_ids = 0
        self.events_sent = 0
        self.streams_opened = 0
        self.live_peak = self.live
        self.streams_peak = self.streams_open

    # Calls.

    def called(self, method):
        self.methods[method].call(int(time.monotonic()))

    def answered(self, method, status):
        self.methods[method].statuses[status] += 1

    def named(self, method, ids):
        """How many jobs a call was about."""
        self.methods[method].ids += ids
        self.methods[method].ids_max = max(self.methods[method].ids_max, ids)

    # Jobs.

    def created(self, job):
        self.jobs_created += 1
        self.live += 1
        self.live_peak = max(self.live_peak, self.live)
        if job.client_id:
            key = (job.queue, job.client_id)
            self.jobs_of_client_id[key] += 1
            if self.jobs_of_client_id[key] > 1:
                self.duplicates.add(key)

    def finished(self, how):
        self.live -= 1
        self.ended[how] += 1

    # Streams.

    def stream_opened(self):
        self.streams_opened += 1
        self.streams_open += 1
        self.streams_peak = max(self.streams_peak, self.streams_open)

    def document(self):
        submits = self.submits_of_client_id
        return {
            "calls": {name: method.document() for name, method in sorted(self.methods.items())},
            "jobs_created": self.jobs_created, "live": self.live, "live_peak": self.live_peak,
            "running": self.running, "ended": dict(self.ended),
            "client_ids": len(self.jobs_of_client_id), "duplicates": len(self.duplicates),
            "duplicate_client_ids": sorted(name for _, name in self.duplicates)[:100],
            "submits_per_client_id_max": max(submits.values(), default=0),
            "client_ids_submitted_again": sum(1 for times in submits.values() if times > 1),
            "deduplicated": self.deduplicated, "cancels_without_ids": self.cancels_without_ids,
            "events_published": self.events_published, "events_sent": self.events_sent,
            "streams_open": self.streams_open, "streams_opened": self.streams_opened,
            "streams_peak": self.streams_peak,
        }
