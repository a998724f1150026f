"""The second port, for tests: counters, faults, the fate of pods. Its table is in README.md.

Bodies and answers are JSON objects. What is wrong with a body is told with status 400.
"""

import asyncio
import inspect
import json
import time

from aiohttp import web

from kinds import PODS, kind_of
from kubelet import HOWS, Rule, is_over
from selector import Selector

WAIT_S = 60
LOOK_S = 0.01
SETTINGS = ("pending_ms", "start_ms", "run_ms", "grace_ms", "bookmark_ms", "slow_events",
            "watch_list")


class Control:
    def __init__(self, parts, api, kubelet, stop):
        self.settings = parts.settings
        self.store = parts.store
        self.counters = parts.counters
        self.faults = parts.faults
        self.kinds = parts.kinds
        self.api = api
        self.kubelet = kubelet
        self.stop = stop

    def application(self):
        application = web.Application(client_max_size=1 << 30)
        for verb, path, handler in (
                ("GET", "counters", self.get_counters), ("POST", "reset", self.reset),
                ("POST", "wait", self.wait), ("GET", "faults", self.faults.table),
                ("POST", "faults", self.set_faults), ("POST", "faults/clear", self.clear_faults),
                ("POST", "rules", self.set_rules), ("POST", "end", self.end),
                ("POST", "hold", self.kubelet.hold), ("POST", "settings", self.change_settings),
                ("POST", "tokens", self.set_tokens), ("POST", "namespaces", self.set_namespaces),
                ("POST", "quota", self.set_quota), ("POST", "kinds", self.add_kind),
                ("POST", "status", self.set_status), ("POST", "operator", self.set_operator), ("POST", "compact", self.compact),
                ("POST", "restore", self.restore), ("POST", "strangers", self.add_strangers),
                ("GET", "specs", self.get_specs), ("GET", "names", self.get_names),
                ("POST", "stop", self.stop_double)):
            application.router.add_route(verb, f"/control/{path}", self.wrap(handler))
        return application

    @staticmethod
    def wrap(handler):
        async def call(request):
            try:
                text = await request.text()
                answer = handler(**(json.loads(text) if text else dict(request.query)))
                if inspect.isawaitable(answer):
                    answer = await answer
            except (ValueError, TypeError, KeyError) as error:
                return web.json_response({"error": str(error.args[0])}, status=400)
            return web.json_response({} if answer is None else answer)
        return call

    def get_counters(self):
        return {**self.counters.document(), "objects": len(self.store.objects),
                "version": self.store.version}

    def get_specs(self):
        return {"specs": list(self.counters.specs)}

    def get_names(self):
        return {"names": dict(self.counters.of_name)}

    def reset(self):
        """Forgets the calls that were counted, all faults and all rules."""
        self.counters.reset()
        self.faults.clear()
        self.kubelet.rules.clear()

    async def wait(self, timeout_s=WAIT_S, **bounds):
        """Waits until each named counter is at least (a number) or within [least, most]."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_s
        while not self.are_met(bounds):
            if loop.time() > end:
                raise ValueError(f"not within {timeout_s} s: {bounds}; there is "
                                 f"{self.get_counters()}")
            await asyncio.sleep(LOOK_S)
        return self.get_counters()

    def are_met(self, bounds):
        document = self.get_counters()
        for name, bound in bounds.items():
            least, most = bound if isinstance(bound, list) else (bound, float("inf"))
            if not least <= document[name] <= most:
                return False
        return True

    def set_faults(self, **faults):
        """{"name": {fields and options}, ...}."""
        for name, options in faults.items():
            self.faults.set(name, **options)

    def clear_faults(self, names=None):
        for name in [None] if names is None else names:
            self.faults.clear(name)

    def set_rules(self, rules):
        """How pods to come end, in place of the rules there were."""
        self.kubelet.rules = [Rule(**rule) for rule in rules]

    def end(self, how, match="", limit=None, **fields):
        """Ends live pods now; `deleted`: as somebody else's kubectl does, whatever they do."""
        if how not in HOWS:
            raise ValueError(f"how is one of {', '.join(HOWS)}")
        pods = [item for item in self.store.items(PODS, None, Selector(match))
                if how == "deleted" or not is_over(item)][:limit]
        at_ms = time.time() * 1000
        for item in pods:
            if how == "deleted":
                self.kubelet.remove(item)
            else:
                self.kubelet.end(self.kubelet.key(item), item["metadata"]["uid"], how, fields)
        return {"ended": len(pods), "at_ms": at_ms}

    def change_settings(self, **settings):
        for name, value in settings.items():
            if name not in SETTINGS:
                raise ValueError(f"settings that change are {', '.join(SETTINGS)}")
            setattr(self.settings, name, value)

    def set_tokens(self, tokens):
        """Who is let in from now on; an empty list: everybody."""
        self.settings.tokens = tokens

    def set_namespaces(self, namespaces):
        self.settings.namespaces = namespaces

    def set_quota(self, namespace, hard=None, name="quota"):
        self.api.quotas.pop(namespace, None)
        if hard:
            self.api.quotas[namespace] = {"name": name, "hard": hard}

    def add_kind(self, kind):
        self.kinds.append(kind_of(kind))

    def set_status(self, kind, namespace, name, status):
        """As an operator does."""
        found = next(other for other in self.kinds if other.plural == kind)
        item = self.store.find(found, namespace, name)
        self.store.put(found, {**item, "status": status})

    def set_operator(self, kind, steps=None):
        """What becomes of resources of a kind to come; without steps nobody looks at them."""
        self.api.operators.set(kind, steps)

    def compact(self):
        """Forgets the history so far, and lists that go on."""
        self.store.compact()

    def restore(self, versions):
        self.store.restore(versions)

    def add_strangers(self, namespace, count, labels=None):
        """Pods of others, which live for ever."""
        for number in range(count):
            self.store.put(PODS, {
                "metadata": {"name": f"stranger-{number}", "namespace": namespace,
                             "uid": f"stranger-{number}", "labels": labels or {"app": "other"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
                "status": {"phase": "Running"}})

    def stop_double(self):
        asyncio.get_running_loop().call_soon(self.stop.set)
