"""GetJobSetEvents: a job set's events as lines, from the beginning or behind an id.

With `watch` nothing is sent before the first event, no header either, and nothing while the set is
idle; without, it ends at the last event there was when it began. Chunks and lines need not end
together.
"""

from aiohttp import web

from broken import is_gone, reset, silence
from wire import FLAG, TEXT, Refusal, parse_message_id

# How long a reader that has gone away can stay unnoticed.
LOOK_S = 0.2


async def watch(call):
    queue = call.request.match_info["queue"]
    job_set, colon, verb = call.request.match_info["id"].rpartition(":")
    job_set = job_set if colon else verb
    if (colon and verb) or "/" in job_set:  # What is behind a colon is a verb, and there is none.
        raise web.HTTPNotFound()
    request = call.fields("JobSetRequest", watch=FLAG, fromMessageId=TEXT, errorIfMissing=FLAG)
    if not call.server.queues.is_known(queue):
        raise Refusal("NotFound", f"[GetJobSetEvents] Queue {queue} does not exist")
    after = parse_message_id(request["fromMessageId"])
    stream = call.cluster.stream(queue, job_set)
    lag_s = stream.lag_s(call.server.ingest_s)
    is_missing = request["errorIfMissing"] and stream.last_id(lag_s) is None
    if is_missing or call.server.faults.strikes_now("stream_missing"):
        raise Refusal("NotFound", f"[GetJobSetEvents] Jobset {job_set} for queue {queue} does not "
                                  "exist")
    return await Reader(call, stream, after).serve(request["watch"])


class Reader:
    """One open stream."""

    def __init__(self, call, stream, after):
        self.server = call.server
        self.request = call.request
        self.stream = stream
        self.after = after
        self.cut = call.server.faults.strike("stream_cut")
        self.silent = call.server.faults.strike("stream_silent")
        self.sent = 0
        self.response = web.StreamResponse()
        self.response.content_type = "application/json"

    async def serve(self, is_watching):
        counters = self.server.counters
        counters.stream_opened()
        try:
            await (self.follow() if is_watching else self.replay())
        except ConnectionError:
            pass
        finally:
            counters.streams_open -= 1
        if not self.response.prepared:
            return web.Response(content_type="application/json")
        return self.response

    async def follow(self):
        while not is_gone(self.request):
            lag_s = self.stream.lag_s(self.server.ingest_s)
            events, next_at = self.stream.read(self.after, lag_s)
            if not events:
                await self.stream.wait(next_at, LOOK_S)
            elif not await self.send(events):
                return

    async def replay(self):
        lag_s = self.stream.lag_s(self.server.ingest_s)
        last = self.stream.last_id(lag_s)
        while last is not None and self.after < last:
            events = [event for event in self.stream.read(self.after, lag_s)[0]
                      if event[0] <= last]
            if not events or not await self.send(events):
                return

    async def send(self, events):
        """Sends events; False when a fault has ended the stream."""
        bound = min((fault["lines"] for fault in (self.cut, self.silent) if fault is not None),
                    default=None)
        kept = events if bound is None else events[:bound - self.sent]
        if kept:
            await self.write(b"".join([line for _, _, line in kept]))
            self.after = kept[-1][0]
            self.sent += len(kept)
            self.server.counters.events_sent += len(kept)
        if bound is None or self.sent < bound:
            return True
        await self.break_off(events[len(kept):])
        return False

    async def write(self, data):
        if not self.response.prepared:
            await self.response.prepare(self.request)
        await self.response.write(data)

    async def break_off(self, rest):
        if self.silent is not None:
            await silence(self.request)
            return
        how = self.cut["how"]
        if how == "middle" and rest:
            await self.write(rest[0][2][:len(rest[0][2]) // 2])
        if how == "garbage":
            await self.write(b"upstream request timeout\n")
        if how == "error":
            await self.write(Refusal("Unavailable", "[GetJobSetEvents] error reading events: "
                                                    "connection refused").frame())
        if how in ("reset", "middle"):
            reset(self.request)
