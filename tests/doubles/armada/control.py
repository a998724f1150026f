"""The second port, for tests: counters, faults, the fate of jobs. Its table is in README.md.

Bodies and answers are JSON objects. What is wrong with a body is told with status 400.
"""

import asyncio
import inspect
import json

from aiohttp import web

from cluster import ENDINGS, Match, Rule
from wire import STATES, event_text

WAIT_S = 60
LOOK_S = 0.01


class Control:
    def __init__(self, parts, cluster, stop):
        self.clock = parts.clock
        self.counters = parts.counters
        self.faults = parts.faults
        self.settings = parts.settings
        self.cluster = cluster
        self.stop = stop

    def application(self):
        application = web.Application(client_max_size=1 << 30)
        for verb, path, handler in (
                ("GET", "/control/counters", self.get_counters),
                ("POST", "/control/reset", self.reset),
                ("POST", "/control/wait", self.wait),
                ("GET", "/control/faults", self.get_faults),
                ("POST", "/control/faults", self.set_faults),
                ("POST", "/control/faults/clear", self.clear_faults),
                ("GET", "/control/jobs", self.get_jobs),
                ("POST", "/control/jobs/end", self.end_jobs),
                ("POST", "/control/rules", self.set_rules),
                ("POST", "/control/hold", self.hold),
                ("POST", "/control/settings", self.change_settings),
                ("POST", "/control/clock", self.set_clock),
                ("POST", "/control/streams/trim", self.trim),
                ("POST", "/control/streams/flood", self.flood),
                ("POST", "/control/stop", self.stop_double)):
            application.router.add_route(verb, path, self.wrap(handler))
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

    # Counters.

    def get_counters(self):
        return self.counters.document()

    def reset(self):
        """Forgets the calls that were counted, all faults and all rules."""
        self.counters.reset()
        self.faults.clear()
        self.cluster.rules.clear()

    async def wait(self, timeout_s=WAIT_S, **bounds):
        """Waits until each named counter is at least (a number) or within [least, most]."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_s
        while not self.are_met(bounds):
            if loop.time() > end:
                raise ValueError(f"not within {timeout_s} s: {bounds}; there is "
                                 f"{self.counters.document()}")
            await asyncio.sleep(LOOK_S)
        return self.counters.document()

    def are_met(self, bounds):
        document = self.counters.document()
        for name, bound in bounds.items():
            least, most = bound if isinstance(bound, list) else (bound, float("inf"))
            if not least <= document[name] <= most:
                return False
        return True

    # Faults.

    def get_faults(self):
        return self.faults.table()

    def set_faults(self, **faults):
        """{"name": {fields and options}, ...}."""
        for name, options in faults.items():
            self.faults.set(name, **options)

    def clear_faults(self, names=None):
        for name in [None] if names is None else names:
            self.faults.clear(name)

    # Jobs.

    def get_jobs(self, limit=None, states=None, **marks):
        if isinstance(states, str):
            states = states.split(",")
        match = Match(states=states, **marks)
        jobs = [job for job in self.cluster.jobs.values() if match.is_met(job)]
        return [job_document(job) for job in jobs[:limit and int(limit)]]

    def end_jobs(self, how, match=None, limit=None, **fields):
        if how not in ENDINGS:
            raise ValueError(f"how is one of {', '.join(ENDINGS)}")
        jobs = self.cluster.matching(Match(**(match or {})), limit)
        for job in jobs:
            self.cluster.end(job, how, **fields)
        return {"ended": len(jobs)}

    def set_rules(self, rules):
        """Plans for jobs to come, in place of those there were."""
        self.cluster.rules = [Rule(**rule) for rule in rules]

    def hold(self, is_held):
        self.cluster.hold(is_held)

    def change_settings(self, **settings):
        changeable = ("queued_ms", "pending_ms", "run_ms", "cancel_ms", "ingest_ms", "slots",
                      "queue_cache_ms", "deadline_slack_ms")
        for name, value in settings.items():
            if name not in changeable:
                raise ValueError(f"settings that change are {', '.join(changeable)}")
            setattr(self.settings, name, value)
        self.cluster.lease_waiting()

    def set_clock(self, offset_s):
        self.clock.offset_s = offset_s

    # Streams.

    def trim(self, queue, job_set, keep=0):
        self.cluster.stream(queue, job_set).trim(keep)

    def flood(self, queue, job_set, count):
        """So many events of utilisation, for the set's first job."""
        job = self.cluster.of_set[queue, job_set][0]
        text = event_text("utilisation", job, self.clock.wall_s())
        self.cluster.stream(queue, job_set).publish([text] * count)

    def stop_double(self):
        asyncio.get_running_loop().call_soon(self.stop.set)


def job_document(job):
    return {"job_id": job.id, "client_id": job.client_id, "queue": job.queue,
            "job_set": job.job_set, "state": STATES[job.state], "runs": len(job.runs),
            "exit_code": job.exit_code, "cancel_reason": job.cancel_reason,
            "annotations": job.annotations, "labels": job.labels,
            "external_uri": job.external_uri, "pod": job.pod}
