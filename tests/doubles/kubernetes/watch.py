"""A watch: events from a version on, a line each, with bookmarks between them."""

import asyncio
import json

from aiohttp import web

from broken import is_gone, reset
from selector import Selector
from status import Refusal, expired

INITIAL_END = "k8s.io/initial-events-end"
OLD_ETCD = "the required storage feature RequestWatchProgress is disabled"
NO_WATCH_LIST = ("ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
                 "sendInitialEvents is forbidden for watch unless the WatchList feature gate is "
                 "enabled")
TIMEOUT_S = 1800
LOOK_S = 0.25  # how often it is seen that a reader is gone
DEPTH = 100000
HUGE_BYTES = 20 << 20
BAD = {"deep": b'{"type":"ADDED","object":' + b"[" * DEPTH + b"]" * DEPTH + b"}",
       "huge": b'{"type":"ADDED","object":{"x":"' + b"y" * HUGE_BYTES + b'"}}',
       "utf8": b'{"type":"ADDED","object":{"metadata":{"name":"\xff\xfe"}}}',
       "twice": b'{"type":"ADDED","object":{"metadata":{},"metadata":{}}}'}


async def watch(api, call):
    """Answers until its time is over, its reader is gone or too slow, or its history is."""
    if api.faults.strikes_now("watch_gone", call.method):
        raise expired()
    if "sendInitialEvents" in call.query and not api.settings.watch_list:
        raise Refusal(422, NO_WATCH_LIST, kind="ListOptions", reason="Invalid")
    stream = Stream(api, call)
    await stream.open()
    api.counters.watch_opened()
    try:
        await stream.run()
    except (ConnectionError, asyncio.CancelledError):
        pass
    finally:
        api.counters.watches_open -= 1
        api.counters.hung_up += stream.was_slow
    return stream.response


class Stream:
    def __init__(self, api, call):
        self.api = api
        self.call = call
        self.store = api.store
        self.selector = Selector(call.query.get("labelSelector"))
        self.has_bookmarks = call.query.get("allowWatchBookmarks") in ("1", "true")
        self.namespace = api.namespace(call)
        self.response = web.StreamResponse(headers={"Content-Type": "application/json"})
        self.told = 0
        self.is_silent = False
        self.was_slow = False
        self.has_caught_up = False

    async def open(self):
        await self.response.prepare(self.call.request)

    async def say(self, what, item):
        text = json.dumps({"type": what, "object": item}, separators=(",", ":")).encode()
        await self.write(text + b"\n")

    async def write(self, text):
        self.api.counters.bytes_sent += len(text)
        await self.response.write(text)

    async def error(self, refusal):
        await self.say("ERROR", refusal.document())

    async def bookmark(self, annotations=None):
        meta = {"resourceVersion": str(self.store.version), "creationTimestamp": None}
        if annotations:
            meta["annotations"] = annotations
        kind = self.call.kind
        await self.say("BOOKMARK", {"kind": kind.kind, "apiVersion": kind.api_version,
                                    "metadata": meta, "spec": {"containers": None}, "status": {}})

    async def tell(self, what, item):
        """An event; False: nothing more is said."""
        faults, method = self.api.faults, self.call.method
        if (fields := faults.strike("watch_slow", method)) is not None:
            await asyncio.sleep(fields["ms"] / 1000)
        if (fields := faults.strike("bad_event", method)) is not None:
            await self.write(BAD[fields["what"]] + b"\n")
            return True
        kind = self.call.kind
        item = {"kind": kind.kind, "apiVersion": kind.api_version, **item}
        for _ in range(2 if faults.strikes_now("events_doubled", method) else 1):
            await self.say(what, item)
            self.api.counters.events_sent += 1
            self.told += 1
        return await self.goes_on()

    async def goes_on(self):
        faults, method = self.api.faults, self.call.method
        silent = faults.value("watch_silent", "events", None)
        self.is_silent = silent is not None and self.told >= silent
        if faults.is_on("watch_cut") and self.told >= faults.value("watch_cut", "events", 0) and \
                (fields := faults.strike("watch_cut", method)) is not None:
            how = fields["how"]
            if how in ("middle", "garbage"):
                await self.write(b'{"type":"MODIF' if how == "middle" else b"<html>\n")
            if how in ("reset", "middle"):
                reset(self.call.request)
            return False
        return True

    async def begin(self):
        """The place in the history to go on from; None: it is over."""
        query, faults = self.call.query, self.api.faults
        version = query.get("resourceVersion", "")
        is_initial = query.get("sendInitialEvents") == "true" or version in ("", "0")
        if faults.strikes_now("watch_expired", self.call.method):
            await self.error(expired())
            return None
        if is_initial and self.has_bookmarks and faults.strikes_now("old_etcd", self.call.method):
            await self.error(Refusal(500, OLD_ETCD))
            return None
        if not is_initial:
            try:
                return self.store.place_of(int(version))
            except Refusal as refusal:
                await self.error(refusal)
                return None
        place = self.store.first + len(self.store.history)
        for item in self.store.items(self.call.kind, self.namespace, self.selector):
            if not await self.tell("ADDED", item):
                return None
        if self.has_bookmarks:
            await self.bookmark({INITIAL_END: "true"})
        return place

    async def run(self):
        loop = asyncio.get_running_loop()
        end = loop.time() + float(self.call.query.get("timeoutSeconds") or TIMEOUT_S)
        mark = loop.time() + self.api.settings.bookmark_ms / 1000
        version = self.call.query.get("resourceVersion", "")
        life = self.store.life
        place = await self.begin()
        is_ahead = version.isdigit() and int(version) > self.store.version
        while place is not None and loop.time() < end and not is_gone(self.call.request) and \
                life == self.store.life:
            events = self.store.events(place)
            if events is None:
                self.was_slow = True
                reset(self.call.request)
                return
            if not await self.tell_all([] if is_ahead else events):
                return
            place += len(events)
            if loop.time() >= mark:
                if self.has_bookmarks and not self.is_silent and not is_ahead:
                    await self.bookmark()
                    if self.api.faults.strikes_now("watch_marked", self.call.method):
                        return
                mark = loop.time() + self.api.settings.bookmark_ms / 1000
            if not self.store.events(place):
                await self.store.wait(max(0, min(end, mark, loop.time() + LOOK_S) - loop.time()))

    async def tell_all(self, events):
        """Those that this watch is for. A reader that lags too far behind is hung up on, but not
        for what was there before it came: that it is given, so each watch gets on."""
        is_behind = self.has_caught_up and len(events) > self.api.settings.slow_events
        self.has_caught_up = True
        if is_behind:
            self.was_slow = True
            reset(self.call.request)
            return False
        for _, what, kind, item in events:
            is_here = self.namespace in (None, item["metadata"]["namespace"])
            if kind == self.call.kind and is_here and self.selector.takes(item) and \
                    not self.is_silent and not await self.tell(what, item):
                return False
        return True
