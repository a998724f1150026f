"""The cluster: takes jobs, leases them while there is room, runs them and lets them end.

How a job can end is the table ENDINGS; a job that nobody planned anything for succeeds when its
time is over, or ends as its process does. Steps wait in a heap and are done together at ticks, so
that 50,000 jobs cost little; what they publish goes to each stream in one entry a tick.
"""

import asyncio
import collections
import fnmatch
import heapq
import itertools
import json
import random

from environment import environment_of
from jobs import Run
from streams import Stream
from wire import (CANCELLED, FAILED, LEASED, PENDING, PREEMPTED, QUEUED, REJECTED, RUNNING,
                  SUCCEEDED, STATES, event_text)

TICK_S = 0.01
STEPS_OF_A_TICK_MAX = 2000
NODES = 7

# How a job ends: its state, the events that say so, and the fields of `failed`, which whoever
# plans the ending may overwrite. QUEUED is no end: the job goes back and is run again.
Ending = collections.namedtuple("Ending", "state events fields")

# `reason` None is what Armada says of a container: its name, status and why.
FAILED_FIELDS = {"reason": None, "cause": "Error", "exit_code": 1, "message": "", "category": ""}

ENDINGS = {
    "succeeded": Ending(SUCCEEDED, ("succeeded",), {}),
    "failed": Ending(FAILED, ("failed",), FAILED_FIELDS),
    "oom": Ending(FAILED, ("failed",), {**FAILED_FIELDS, "cause": "OOM", "exit_code": 137}),
    "evicted": Ending(FAILED, ("failed",), {
        "reason": "The node was low on resource: memory. Threshold quantity: 100Mi, available: "
                  "91Mi. ", "cause": "Evicted", "exit_code": 137}),
    "deadline": Ending(FAILED, ("failed",), {
        "reason": "Pod was active on the node longer than the specified deadline",
        "cause": "DeadlineExceeded", "exit_code": 143}),
    "rejected": Ending(REJECTED, ("failed",), {"reason": "the job does not fit on any node",
                                               "cause": "Rejected", "exit_code": None}),
    "preempted": Ending(PREEMPTED, ("preempted", "failed"), {
        "reason": "Preempted by scheduler using fair share preemption - preempting job x",
        "exit_code": None}),
    "lease_expired": Ending(FAILED, ("leaseExpired", "failed"), {"reason": "Lease expired",
                                                                 "exit_code": None}),
    "cancelled": Ending(CANCELLED, ("cancelling", "cancelled"), {"requestor": "somebody"}),
    # After CancelJobs, which has said `cancelling` already.
    "cancelled_as_asked": Ending(CANCELLED, ("cancelled",), {}),
    "retried": Ending(QUEUED, ("failed",), {**FAILED_FIELDS, "retryable": True}),
    "lease_returned": Ending(QUEUED, ("leaseReturned",), {}),
}

MOMENTS = ("queued", "started", "end")


def words_of_container(job, fields):
    why = "OOMKilled" if fields["cause"] == "OOM" else "Error"
    return (f"Container {job.container} failed with exit code {fields['exit_code']} because {why}: "
            f"{fields['message']}\n")


class Match:
    """Which jobs are meant, by any of their marks. Patterns are globs."""

    def __init__(self, job_ids=None, client_ids=None, queue="*", job_set="*", annotations=None,
                 labels=None, text=None, states=None):
        self.job_ids = job_ids and set(job_ids)
        self.client_ids = client_ids and set(client_ids)
        self.queue, self.job_set, self.text = queue, job_set, text
        self.annotations, self.labels = annotations or {}, labels or {}
        self.states = states and {STATES.index(state) for state in states}

    def is_met(self, job):
        return ((self.job_ids is None or job.id in self.job_ids) and
                (self.client_ids is None or job.client_id in self.client_ids) and
                (self.states is None or job.state in self.states) and
                fnmatch.fnmatchcase(job.queue, self.queue) and
                fnmatch.fnmatchcase(job.job_set, self.job_set) and
                self._has(job.annotations, self.annotations) and
                self._has(job.labels, self.labels) and
                (self.text is None or self.text in json.dumps(job.pod)))

    @staticmethod
    def _has(values, patterns):
        return all(fnmatch.fnmatchcase(values.get(name, ""), pattern)
                   for name, pattern in patterns.items())


class Rule:
    """A plan for jobs to come: those that match end so, at that moment of their lives."""

    def __init__(self, how, match=None, at="end", times=None, rate=None, seed=0, **fields):
        if how not in ENDINGS or at not in MOMENTS:
            raise ValueError(f"how is one of {', '.join(ENDINGS)}; at one of {', '.join(MOMENTS)}")
        self.how, self.at, self.left, self.rate = how, at, times, rate
        self.match = Match(**(match or {}))
        self.random = random.Random(seed)
        self.fields = fields

    def is_for(self, job, moment):
        """Each rule strikes a job once, or a job that is run again would never end."""
        if self.at != moment or self.left == 0 or self in job.rules_met:
            return False
        if not self.match.is_met(job):
            return False
        job.rules_met += (self,)
        if self.rate is not None and self.random.random() >= self.rate:
            return False
        if self.left is not None:
            self.left -= 1
        return True


class Cluster:
    def __init__(self, parts):
        self.settings = parts.settings
        self.clock = parts.clock
        self.names = parts.names
        self.faults = parts.faults
        self.counters = parts.counters
        self.executor = parts.executor
        self.secrets = parts.secrets
        self.jobs = {}
        self.runs = {}
        self.of_uri = collections.defaultdict(list)
        self.of_set = collections.defaultdict(list)
        self.streams = {}
        self.rules = []
        self.is_held = False
        self.is_leasing = False
        self.waiting = collections.deque()
        self.held = []
        self.occupied = 0
        self.steps = []
        self.numbers = itertools.count()
        self.timer = None
        self.texts = {}

    # Events: collected, and published together when the loop comes round.

    def stream(self, queue, job_set):
        key = (queue, job_set)
        if key not in self.streams:
            self.streams[key] = Stream(self.clock, self.faults, self.counters)
        return self.streams[key]

    def emit(self, job, kind, **fields):
        self.publish_soon(job.queue, job.job_set,
                          event_text(kind, job, self.clock.wall_s(), **fields))

    def publish_soon(self, queue, job_set, text):
        if not self.texts:
            asyncio.get_running_loop().call_soon(self.publish)
        self.texts.setdefault((queue, job_set), []).append(text)

    def publish(self):
        texts, self.texts = self.texts, {}
        for (queue, job_set), of_set in texts.items():
            self.stream(queue, job_set).publish(of_set)

    # Steps that are due later.

    def later(self, delay_ms, step, job, *arguments):
        """Does a step of a job after a while, unless the job has gone another way by then."""
        due = self.clock.steady_s() + delay_ms / 1000
        heapq.heappush(self.steps, (due, next(self.numbers), step, job, job.turn, arguments))
        self.set_timer()

    def set_timer(self):
        loop = asyncio.get_running_loop()
        if self.steps and self.timer is None:
            wait_s = max(self.steps[0][0] - self.clock.steady_s(), TICK_S)
            self.timer = loop.call_later(wait_s, self.tick)
        elif self.steps and self.timer.when() - loop.time() > \
                self.steps[0][0] - self.clock.steady_s() + TICK_S:
            self.timer.cancel()
            self.timer = None
            self.set_timer()

    def tick(self):
        self.timer = None
        now = self.clock.steady_s()
        for _ in range(STEPS_OF_A_TICK_MAX):
            if not self.steps or self.steps[0][0] > now:
                break
            _, _, step, job, turn, arguments = heapq.heappop(self.steps)
            if job.turn == turn and job.is_live:
                step(job, *arguments)
        self.set_timer()

    # The life of a job.

    def submit(self, job):
        self.jobs[job.id] = job
        self.of_set[job.queue, job.job_set].append(job)
        if job.external_uri:
            self.of_uri[job.queue, job.job_set, job.external_uri].append(job)
        self.counters.created(job)
        self.emit(job, "submitted")
        job.pack()
        self.emit(job, "queued")
        self.later(self.settings.queued_ms, self.enqueue, job)

    def enqueue(self, job):
        self.waiting.append(job)
        self.lease_waiting()

    def lease_waiting(self):
        """Leases while there is room. What ends while it waits gives room back, and comes here."""
        if self.is_leasing:
            return
        self.is_leasing = True
        slots = self.settings.slots
        while self.waiting and (slots == 0 or self.occupied < slots):
            job = self.waiting.popleft()
            if job.state == QUEUED and not self.is_ended_by_rule(job, "queued"):
                self.lease(job)
        self.is_leasing = False

    def lease(self, job):
        self.occupied += 1
        node = f"node-{self.occupied % NODES}"
        run = Run(self.names.uuid(), job, "cluster-1", node, self.names.uuid(),
                  self.clock.wall_s())
        job.runs.append(run)
        self.runs[run.id] = run
        self.advance(job, LEASED, "leased")
        self.later(0, self.pend, job)

    def pend(self, job):
        job.runs[-1].pending_at = self.clock.wall_s()
        self.advance(job, PENDING, "pending")
        self.later(1000 * job.deadline_s + self.settings.deadline_slack_ms, self.end, job,
                   "deadline")
        self.later(self.settings.pending_ms, self.start, job)

    def start(self, job):
        job.runs[-1].started_at = self.clock.wall_s()
        self.advance(job, RUNNING, "running")
        self.counters.running += 1
        if self.is_ended_by_rule(job, "started"):
            return
        if self.executor is not None:
            container = job.pod["containers"][0]
            self.executor.start(job, container, environment_of(job, container, self.secrets),
                                self.finish)
        elif self.is_held:
            self.held.append(job)
        else:
            self.later(self.settings.run_ms, self.finish, job, 0)

    def advance(self, job, state, event):
        job.change(state, self.clock)
        job.runs[-1].state = state
        self.emit(job, event)

    def finish(self, job, exit_code):
        """The job's time is over, or its process has ended."""
        job.exit_code = exit_code
        if self.is_held:
            self.held.append(job)
        elif not self.is_ended_by_rule(job, "end"):
            self.end_by_status(job)

    def end_by_status(self, job):
        if job.exit_code:
            self.end(job, "failed", exit_code=job.exit_code)
        else:
            self.end(job, "succeeded")

    def is_ended_by_rule(self, job, moment):
        for rule in self.rules:
            if rule.is_for(job, moment):
                self.end(job, rule.how, **rule.fields)
                return True
        return False

    def end(self, job, how, **given):
        """Ends a job, or the run of it, as the table says."""
        ending = ENDINGS[how]
        fields = {**ending.fields, **given}
        if not job.runs:
            fields["exit_code"] = None
        if fields.get("reason", "") is None:
            fields["reason"] = words_of_container(job, fields)
        self.leave_node(job, ending.state)
        job.error = fields.get("reason", "")
        job.change(ending.state, self.clock)
        if ending.state == CANCELLED:
            job.cancelled_at = job.changed_at
        for event in ending.events:
            self.emit(job, event, **self.fields_of(event, fields))
        if ending.state == QUEUED:
            self.later(self.settings.queued_ms, self.enqueue, job)
        else:
            self.counters.finished(how)
        self.lease_waiting()

    @staticmethod
    def fields_of(event, fields):
        wanted = {"failed": ("reason", "cause", "exit_code", "retryable", "category", "message"),
                  "preempted": ("reason", "requestor"), "cancelled": ("requestor",),
                  "cancelling": ("requestor",), "leaseReturned": ("reason",)}.get(event, ())
        return {name: fields[name] for name in wanted if name in fields}

    def leave_node(self, job, state):
        """Stops whatever runs, and forgets the steps that were to come."""
        job.turn += 1
        if job.state in (LEASED, PENDING, RUNNING):
            self.occupied -= 1
            run = job.runs[-1]
            run.state = FAILED if state == QUEUED else state
            run.finished_at = self.clock.wall_s()
        if job.state == RUNNING:
            self.counters.running -= 1
        if job.process is not None:
            self.executor.stop(job)

    # What callers and control ask for.

    def cancel(self, job, user, reason, how):
        """Cancels at the scheduler's next round."""
        self.later(self.settings.cancel_ms, self.cancel_now, job, user, reason, how)

    def cancel_now(self, job, user, reason, how):
        job.cancel_reason, job.cancel_user = reason, user
        self.end(job, how, requestor=user)

    def preempt(self, job, user, reason):
        self.later(self.settings.cancel_ms, self.preempt_now, job, user, reason)

    def preempt_now(self, job, user, reason):
        self.end(job, "preempted", reason=reason or "Preempted by user", requestor=user)

    def matching(self, match, limit=None):
        live = (job for job in self.jobs.values() if job.is_live and match.is_met(job))
        return list(itertools.islice(live, limit))

    def hold(self, is_held):
        """While held, no job ends by itself."""
        self.is_held = is_held
        held, self.held = ([], self.held) if is_held else (self.held, [])
        for job in held:
            if job.is_live and job.state == RUNNING:
                self.later(0, self.finish, job, job.exit_code)
