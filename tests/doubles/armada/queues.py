"""Queues, which a server knows from a cache: a new one is refused for a while."""

from rules import refuse
from wire import Refusal, present

FIELDS = ("name", "priorityFactor", "userOwners", "groupOwners", "permissions", "labels",
          "cordoned", "resourceLimitsByPriorityClassName", "retryPolicies")


NEVER = float("inf")


class Queues:
    def __init__(self, settings, clock):
        self.settings = settings
        self.clock = clock
        self.rows = {}
        self.known = {}  # from when until when the server's cache has a queue
        for name in settings.queue:
            self.rows[name] = {"name": name, "priorityFactor": 1}
            self.known[name] = (0, NEVER)

    def is_known(self, name):
        """Whether the server's cache has it: what was made, or was deleted, counts later."""
        first, end = self.known.get(name, (NEVER, NEVER))
        return first <= self.clock.steady_s() < end

    def cache_at(self):
        return self.clock.steady_s() + self.settings.queue_cache_ms / 1000

    def put(self, body, must_exist=False):
        """Makes a queue or changes it; making one that is there changes it, without a conflict."""
        queue = {name: body[name] for name in FIELDS if body.get(name)}
        if not queue.get("name"):
            refuse("error validating queue: queue name cannot be empty")
        if not isinstance(queue.get("priorityFactor"), (int, float)) or \
                queue["priorityFactor"] <= 0:
            refuse("error validating queue: queue priority factor must be larger than 0; got "
                   f"{queue.get('priorityFactor', 0)}")
        name = queue["name"]
        if name not in self.rows:
            if must_exist:
                raise Refusal("NotFound", f'error: could not find queue "{name}"')
            self.known[name] = (self.cache_at(), NEVER)
        self.rows[name] = queue

    def delete(self, name):
        if self.rows.pop(name, None) is not None:
            self.known[name] = (self.known[name][0], self.cache_at())

    def get(self, name):
        if name not in self.rows:
            raise Refusal("NotFound", f'error: could not find queue "{name}"')
        return present(**self.rows[name])
