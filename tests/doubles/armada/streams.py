"""The streams of events, one for each job set, as Redis keeps them.

An entry of Redis is a sequence of up to a thousand events; an event's id is the entry's time and
number, its place in the entry, and whether it is the last of it. Faults of publishing strike here,
so that all who read a stream see the same.
"""

import asyncio
import bisect

from jobs import STREAMS_S
from wire import event_line, message_id

EVENTS_OF_AN_ENTRY_MAX = 1000
READ_EVENTS_MAX = 2000


class Stream:
    """The events of one job set, oldest first: (id, moment, line)."""

    def __init__(self, clock, faults, counters):
        self.clock = clock
        self.faults = faults
        self.counters = counters
        self.events = []
        self.last_ms = 0
        self.last_sequence = 0
        self.written_at = 0.0
        self.waiters = set()

    # Writing.

    def publish(self, texts):
        """Adds events, of which switches may lose, double and delay some."""
        if self.faults.is_any_on("publish"):
            texts = [text for given in texts for text in self.as_faults_have_it(given)]
        for first in range(0, len(texts), EVENTS_OF_AN_ENTRY_MAX):
            self.add_entry(texts[first:first + EVENTS_OF_AN_ENTRY_MAX])
        self.wake()

    def as_faults_have_it(self, text):
        if self.faults.strikes_now("events_lost"):
            return []
        late = self.faults.strike("events_reordered")
        if late is not None:
            asyncio.get_running_loop().call_later(late["ms"] / 1000, self.publish_late, text)
            return []
        return [text, text] if self.faults.strikes_now("events_doubled") else [text]

    def publish_late(self, text):
        self.add_entry([text])
        self.wake()

    def add_entry(self, texts):
        self.expire()
        self.written_at = self.clock.wall_s()
        at_ms = max(int(self.written_at * 1000), self.last_ms)
        self.last_sequence = self.last_sequence + 1 if at_ms == self.last_ms else 0
        self.last_ms = at_ms
        moment = self.clock.steady_s()
        last = len(texts) - 1
        is_wrapped = self.faults.is_on("events_wrapped")
        for part, text in enumerate(texts):
            name = message_id(at_ms, self.last_sequence, part, part == last)
            self.events.append(((at_ms, self.last_sequence, part), moment,
                                event_line(name, text, is_wrapped)))
        self.counters.events_published += len(texts)

    def trim(self, kept):
        """Forgets all but the newest events, as MAXLEN does; readers find no gap reported."""
        del self.events[:max(len(self.events) - kept, 0)]

    def wake(self):
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)

    # Reading.

    def expire(self):
        if self.events and self.clock.wall_s() - self.written_at > STREAMS_S:
            self.events.clear()

    def lag_s(self, ingest_s):
        return self.faults.value("event_lag", "s", ingest_s)

    def read(self, after, lag_s):
        """The events behind an id that can be seen by now: a list, and the moment of the next."""
        self.expire()
        first = bisect.bisect_right(self.events, after, key=lambda event: event[0])
        seen_until = self.clock.steady_s() - lag_s
        end = min(first + READ_EVENTS_MAX, len(self.events))
        if end > first and self.events[end - 1][1] > seen_until:
            end = bisect.bisect_right(self.events, seen_until, first, end,
                                      key=lambda event: event[1])
        next_at = self.events[end][1] + lag_s if end < len(self.events) else None
        return self.events[first:end], next_at

    def last_id(self, lag_s):
        """The id of the last event that can be seen, or None."""
        seen_until = self.clock.steady_s() - lag_s
        for name, moment, _ in reversed(self.events):
            if moment <= seen_until:
                return name
        return None

    async def wait(self, until, limit_s):
        """Waits for news, for the moment of what is there already, or for the limit."""
        if until is not None:
            limit_s = min(limit_s, max(until - self.clock.steady_s(), 0.001))
        waiter = asyncio.get_running_loop().create_future()
        self.waiters.add(waiter)
        try:
            await asyncio.wait_for(waiter, limit_s)
        except asyncio.TimeoutError:
            pass
        finally:
            self.waiters.discard(waiter)
