"""Objects, their versions, and the history that watches read.

An object is never changed but replaced, so lists and histories may keep what they have seen. One
counter numbers all changes, as etcd's revision does. The history is bounded, and can be compacted;
a watch from a version before it is told that it is expired.
"""

import asyncio
import collections
import itertools

from status import Refusal, expired

HISTORY = 100000


class Store:
    def __init__(self):
        self.life = 1  # of the server: what is restored is another one
        self.version = 1000
        self.compacted = 1000  # versions up to here are forgotten
        self.objects = {}  # (kind, namespace, name): object
        self.history = collections.deque()
        self.first = 0  # the number of the history's first event
        self.listeners = set()
        self.snapshots = {}  # of lists that go on: token to objects
        self.tokens = itertools.count(1)

    # Objects.

    def find(self, kind, namespace, name):
        return self.objects.get((kind, namespace, name))

    def items(self, kind, namespace, selector):
        found = [item for (other, place, _), item in self.objects.items()
                 if other == kind and namespace in (None, place) and selector.takes(item)]
        return sorted(found, key=lambda item: (item["metadata"]["namespace"],
                                               item["metadata"]["name"]))

    def put(self, kind, item):
        """Adds or replaces an object; gives it its version."""
        meta = item["metadata"]
        key = (kind, meta["namespace"], meta["name"])
        what = "MODIFIED" if key in self.objects else "ADDED"
        self.version += 1
        item = {**item, "metadata": {**meta, "resourceVersion": str(self.version)}}
        self.objects[key] = item
        self.publish(what, kind, item)
        return item

    def remove(self, kind, item):
        """Its last state, with the version of its deletion, is what watches are told."""
        meta = item["metadata"]
        del self.objects[kind, meta["namespace"], meta["name"]]
        self.version += 1
        item = {**item, "metadata": {**meta, "resourceVersion": str(self.version)}}
        self.publish("DELETED", kind, item)
        return item

    # History.

    def publish(self, what, kind, item):
        self.history.append((self.version, what, kind, item))
        while len(self.history) > HISTORY:
            self.compact(self.history[0][0])
        for listener in self.listeners:
            listener.set()

    def compact(self, version=None):
        """Forgets what happened up to a version; or all of it, and all lists that go on."""
        if version is None:
            version = self.version
            self.snapshots.clear()
        while self.history and self.history[0][0] <= version:
            self.history.popleft()
            self.first += 1
        self.compacted = max(self.compacted, version)

    def place_of(self, version):
        """The number of the first event behind a version."""
        if version < self.compacted:
            raise expired(f"too old resource version: {version} ({self.compacted})")
        if not self.history or version >= self.history[-1][0]:
            return self.first + len(self.history)
        for offset, event in enumerate(self.history):
            if event[0] > version:
                return self.first + offset
        return self.first + len(self.history)

    def events(self, place):
        """What is in the history from a place on; None: some of it is forgotten."""
        if place < self.first:
            return None
        return list(itertools.islice(self.history, place - self.first, None))

    async def wait(self, timeout_s):
        """Until something happens, or the time is over."""
        listener = asyncio.Event()
        self.listeners.add(listener)
        try:
            await asyncio.wait_for(listener.wait(), timeout_s)
        except asyncio.TimeoutError:
            pass
        finally:
            self.listeners.discard(listener)

    # Lists in pages, all of one moment.

    def page(self, items, limit, token):
        """The next `limit` of these items, or of the list that a token goes on with: the items, the
        list's version, the token of what is left and how many that are."""
        version = str(self.version)
        if token:
            if token not in self.snapshots:
                raise Refusal(410, "The provided continue parameter is too old to display a "
                                   "consistent list result.")
            items, version = self.snapshots.pop(token)
        rest = items[limit:] if limit else []
        token = f"token-{next(self.tokens)}" if rest else ""
        if rest:
            self.snapshots[token] = (rest, version)
        return (items[:limit] if limit else items), version, token, len(rest)

    def restore(self, versions):
        """As from a backup that is so many versions old: what came since then never was."""
        self.version -= versions
        self.objects = {key: item for key, item in self.objects.items()
                        if int(item["metadata"]["resourceVersion"]) <= self.version}
        self.history.clear()
        self.snapshots.clear()
        self.compacted = min(self.compacted, self.version)
        self.life += 1
        for listener in self.listeners:
            listener.set()
