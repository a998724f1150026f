"""Jobs, their runs, and what the two views of Armada show of them.

A job's truth is with the scheduler (cluster.py). What a caller sees lags behind it: the status
comes from a table that is filled later and pruned after 42 days, so each change keeps its moment.
"""

import json
import random
import time

from wire import CANCELLED, FAILED, PREEMPTED, QUEUED, REJECTED, SUCCEEDED, UNKNOWN, encode

DAY_S = 24 * 3600
LOOKOUT_ROWS_S = 42 * DAY_S
DEDUPLICATION_ROWS_S = 7 * DAY_S
STREAMS_S = 14 * DAY_S

TERMINAL = frozenset((SUCCEEDED, FAILED, PREEMPTED, CANCELLED, REJECTED))

CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


class Clock:
    """The wall's time, which control can set forward, and a clock that only ever goes on."""

    def __init__(self):
        self.offset_s = 0.0

    def wall_s(self):
        return time.time() + self.offset_s

    @staticmethod
    def steady_s():
        return time.monotonic()


class Names:
    """Ids as the server makes them, drawn from a seed but for their time.

    Those of jobs have a draw of their own, since only they are made in the order of calls.
    """

    def __init__(self, seed, clock):
        self.of_jobs = random.Random(seed)
        self.of_others = random.Random(seed)
        self.clock = clock

    def ulid(self):
        number = int(self.clock.wall_s() * 1000) << 80 | self.of_jobs.getrandbits(80)
        return "".join([CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5)])

    def uuid(self):
        text = f"{self.of_others.getrandbits(128):032x}"
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class Run:
    """One try of a job on a node."""

    __slots__ = ("id", "job", "state", "cluster", "node", "kubernetes_id", "leased_at",
                 "pending_at", "started_at", "finished_at")

    def __init__(self, run_id, job, cluster, node, kubernetes_id, at_s):
        self.id = run_id
        self.job = job
        self.cluster = cluster
        self.node = node
        self.kubernetes_id = kubernetes_id
        self.leased_at = at_s
        self.pending_at = self.started_at = self.finished_at = 0.0
        self.state = QUEUED


class Job:
    __slots__ = ("id", "client_id", "queue", "job_set", "namespace", "labels", "annotations",
                 "priority", "resources", "owner", "external_uri", "state", "changes",
                 "runs", "submitted_at", "changed_at", "cancelled_at", "cancel_reason",
                 "cancel_user", "error", "turn", "rules_met", "process", "exit_code", "is_strange",
                 "container", "deadline_s", "_pod")

    def __init__(self, job_id, queue, job_set, item, pod, resources, owner, at_s):
        self.id = job_id
        self.queue = queue
        self.job_set = job_set
        self.client_id = item.get("clientId") or ""
        self.namespace = item["namespace"]
        self.labels = item.get("labels") or {}
        self.annotations = item.get("annotations") or {}
        self.priority = item.get("priority") or 0
        self.external_uri = (item.get("externalJobUri") or
                             self.annotations.get("armadaproject.io/externalJobUri", ""))
        self._pod = pod
        self.deadline_s = pod.get("activeDeadlineSeconds")
        self.container = ((pod.get("containers") or [{}])[0]).get("name", "")
        self.resources = resources
        self.owner = owner
        self.state = QUEUED
        self.changes = [(time.monotonic(), QUEUED)]
        self.runs = []
        self.submitted_at = self.changed_at = at_s
        self.cancelled_at = 0.0
        self.cancel_reason = self.cancel_user = self.error = ""
        self.turn = 0
        self.rules_met = ()
        self.process = self.exit_code = None
        self.is_strange = False

    @property
    def pod(self):
        return json.loads(self._pod) if isinstance(self._pod, bytes) else self._pod

    def pack(self):
        """Keeps the pod as text, which takes a tenth of the room, since it is seldom asked for."""
        self._pod = encode(self._pod)

    @property
    def is_live(self):
        return self.state not in TERMINAL

    def change(self, state, clock):
        self.state = state
        self.changes.append((clock.steady_s(), state))
        self.changed_at = clock.wall_s()

    def seen_state(self, lag_s, clock):
        """The state that lookout's table has, or None while, or since, it has no row."""
        if not self.is_live and clock.wall_s() - self.changed_at > LOOKOUT_ROWS_S:
            return None
        until = clock.steady_s() - lag_s
        for at, state in reversed(self.changes):
            if at <= until:
                return state
        return None

    def shown_state(self, lag_s, clock):
        """The same as GetJobStatus answers it: no row is UNKNOWN."""
        state = self.seen_state(lag_s, clock)
        return UNKNOWN if state is None else state


class Deduplication:
    """The table job_deduplication: "<queue>:<client id>" to the first job, for seven days."""

    def __init__(self, clock):
        self.clock = clock
        self.rows = {}

    def find(self, queue, client_ids):
        """The jobs that client ids already have."""
        found = {}
        oldest = self.clock.wall_s() - DEDUPLICATION_ROWS_S
        for client_id in client_ids:
            row = self.rows.get((queue, client_id))
            if row is not None and row[1] >= oldest:
                found[client_id] = row[0]
        return found

    def keep(self, queue, jobs_by_client_id):
        """ON CONFLICT DO NOTHING: whoever came first stays, unless he is pruned."""
        now = self.clock.wall_s()
        for client_id, job_id in jobs_by_client_id.items():
            row = self.rows.get((queue, client_id))
            if row is None or row[1] < now - DEDUPLICATION_ROWS_S:
                self.rows[queue, client_id] = (job_id, now)
