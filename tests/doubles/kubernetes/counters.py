"""What the server saw: the figures that tests hold a client against.

They count what reached the server, whatever became of the answer. Pods are counted for as long as
the double runs; `reset` forgets calls.
"""

import collections


SPECS = 16


class Counters:
    def __init__(self):
        self.specs = collections.deque(maxlen=SPECS)  # of the last pods
        self.created = collections.Counter()  # objects by kind
        self.deleted = collections.Counter()
        self.of_name = collections.Counter()  # pods made under each name
        self.ended = collections.Counter()
        self.live = 0
        self.live_peak = 0
        self.running = 0
        self.watches_open = 0
        self.watches_peak = 0
        self.reset()

    def reset(self):
        self.calls = collections.Counter()
        self.statuses = collections.defaultdict(collections.Counter)
        self.bytes_sent = 0
        self.events_sent = 0
        self.watches_opened = 0
        self.hung_up = 0
        self.quota_refusals = 0
        self.items_listed = 0
        self.live_peak = self.live
        self.watches_peak = self.watches_open

    def pod_created(self, name, spec):
        self.specs.append(spec)
        self.of_name[name] += 1
        self.live += 1
        self.live_peak = max(self.live_peak, self.live)

    def watch_opened(self):
        self.watches_opened += 1
        self.watches_open += 1
        self.watches_peak = max(self.watches_peak, self.watches_open)

    def document(self):
        doubled = [name for name, times in self.of_name.items() if times > 1]
        return {
            "calls": dict(self.calls),
            "statuses": {method: dict(found) for method, found in self.statuses.items()},
            "created": dict(self.created), "deleted": dict(self.deleted),
            "pods_created": sum(self.of_name.values()), "names": len(self.of_name),
            "duplicates": len(doubled), "doubled": doubled[:100], "ended": dict(self.ended),
            "live": self.live, "live_peak": self.live_peak, "running": self.running,
            "watches_open": self.watches_open, "watches_opened": self.watches_opened,
            "watches_peak": self.watches_peak, "events_sent": self.events_sent,
            "bytes_sent": self.bytes_sent, "hung_up": self.hung_up,
            "quota_refusals": self.quota_refusals, "items_listed": self.items_listed,
        }
