"""How Armada's REST gateway writes: Go's encoding/json of protobuf structs, not protobuf-JSON.

So names are camelCase, enums are integers, zero values are left out, and times are seconds and
nanos; only an event's message writes itself, as an object with its kind for a name. Read in
pkg/api of armada 207cc9e and in grpc-gateway v1.16.0. Nothing here knows of jobs that run; it
turns values into bytes.
"""

import json

STATES = ("QUEUED", "PENDING", "RUNNING", "SUCCEEDED", "FAILED", "UNKNOWN", "SUBMITTED", "LEASED",
          "PREEMPTED", "CANCELLED", "REJECTED")
(QUEUED, PENDING, RUNNING, SUCCEEDED, FAILED, UNKNOWN, SUBMITTED, LEASED,
 PREEMPTED, CANCELLED, REJECTED) = range(len(STATES))

# JobRunState is another enum, which counts otherwise.
RUN_STATES = {LEASED: 1, PENDING: 2, RUNNING: 3, SUCCEEDED: 4, FAILED: 5, PREEMPTED: 6,
              CANCELLED: 7}

CAUSES = {"Error": 0, "Evicted": 1, "OOM": 2, "DeadlineExceeded": 3, "Rejected": 4}

# gRPC codes by their names, and the HTTP status that the gateway makes of each.
CODES = {
    "OK": (0, 200), "Canceled": (1, 408), "Unknown": (2, 500), "InvalidArgument": (3, 400),
    "DeadlineExceeded": (4, 504), "NotFound": (5, 404), "AlreadyExists": (6, 409),
    "PermissionDenied": (7, 403), "ResourceExhausted": (8, 429), "FailedPrecondition": (9, 400),
    "Aborted": (10, 409), "Internal": (13, 500), "Unavailable": (14, 503),
    "Unauthenticated": (16, 401),
}

REASONS = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
           408: "Request Timeout", 409: "Conflict", 429: "Too Many Requests",
           500: "Internal Server Error", 503: "Service Unavailable", 504: "Gateway Timeout"}

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def encode(value):
    return _encode(value).encode()


class Refusal(Exception):
    """An answer that is an error: the name of a gRPC code, and words."""

    def __init__(self, code, message, headers=None):
        super().__init__(message)
        self.code, self.status = CODES[code]
        self.message = message
        self.headers = headers or {}

    def body(self):
        """What a plain call answers."""
        return encode({"error": self.message, "code": self.code, "message": self.message})

    def frame(self):
        """What a stream writes as its last line, without a newline behind it."""
        return encode({"error": {"grpc_code": self.code, "http_code": self.status,
                                 "message": self.message, "http_status": REASONS[self.status]}})


def present(**fields):
    """An object without the fields that Go's omitempty leaves out."""
    return {name: value for name, value in fields.items() if value}


def timestamp(at_s):
    """A wall clock's time, as {"seconds", "nanos"}."""
    if not at_s:
        return None
    seconds = int(at_s)
    return present(seconds=seconds, nanos=int((at_s - seconds) * 1e9) // 1000 * 1000)


# ---- Requests. ----------------------------------------------------------------------------------

GO_KINDS = {str: "string", bool: "bool", float: "number", int: "number", dict: "object",
            list: "array", type(None): "null"}

# What a field of a request may be: the Python types, and the Go type that an error names.
TEXT = ((str,), "string")
TEXTS = ((list,), "[]string")
FLAG = ((bool,), "bool")
NUMBER = ((int, float), "float64")
INTEGER = ((int,), "int64")
OBJECT = ((dict,), "map[string]interface {}")
TEXT_MAP = ((dict,), "map[string]string")
OBJECTS = ((list,), "[]*api.JobSubmitRequestItem")


def check_field(message, name, value, kind):
    types, go_type = kind
    if value is None:
        return
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise Refusal("InvalidArgument", f"json: cannot unmarshal {GO_KINDS[type(value)]} into Go "
                                         f"struct field {message}.{name} of type {go_type}")
    if kind is TEXTS:
        for text in value:
            check_field(message, name, text, TEXT)
    elif kind is TEXT_MAP:
        for text in value.values():
            check_field(message, name, text, TEXT)


def go_words_of(text, error):
    """What encoding/json says of what is no JSON, by and large."""
    if error.pos >= len(text.rstrip()):
        return "unexpected EOF"
    return f"invalid character {chr(text[error.pos])!r} looking for beginning of value"


class Request:
    """The fields of a body, by the names of the wire; what is not there is zero, as in Go."""

    def __init__(self, message, text, **kinds):
        self.message = message
        try:
            body = json.loads(text) if text.strip() else {}
        except ValueError as error:
            raise Refusal("InvalidArgument", go_words_of(text, error)) from None
        if not isinstance(body, dict):
            raise Refusal("InvalidArgument", f"json: cannot unmarshal {GO_KINDS[type(body)]} into "
                                             f"Go value of type api.{message}")
        self.fields = {}
        for name, kind in kinds.items():
            check_field(message, name, body.get(name), kind)
            value = body.get(name)
            self.fields[name] = kind[0][0]() if value is None else value

    def __getitem__(self, name):
        return self.fields[name]


def state_of(value):
    """A JobState as requests may give it, by number or by name."""
    if isinstance(value, str) and value in STATES:
        return STATES.index(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(STATES):
        return value
    raise Refusal("InvalidArgument", f"json: cannot unmarshal {value!r} into Go value of type "
                                     "api.JobState")


# ---- Answers about jobs. ------------------------------------------------------------------------

def details(job, state, with_spec, with_runs):
    """JobDetails: a state of QUEUED is zero, and therefore missing."""
    last = job.runs[-1] if job.runs else None
    return present(
        jobId=job.id, queue=job.queue, jobset=job.job_set, namespace=job.namespace, state=state,
        submittedTs=timestamp(job.submitted_at), cancelTs=timestamp(job.cancelled_at),
        cancelReason=job.cancel_reason, cancelUser=job.cancel_user,
        lastTransitionTs=timestamp(job.changed_at), latestRunId=last.id if last else "",
        jobSpec=job_of(job) if with_spec else None,
        jobRuns=[run_details(run) for run in reversed(job.runs)] if with_runs else None)


def run_details(run):
    return present(
        runId=run.id, jobId=run.job.id, state=RUN_STATES.get(run.state, 0), cluster=run.cluster,
        node=run.node, leasedTs=timestamp(run.leased_at), pendingTs=timestamp(run.pending_at),
        startedTs=timestamp(run.started_at), finishedTs=timestamp(run.finished_at))


def job_of(job):
    """The message Job, in which a single pod is `podSpec` and no externalJobUri has a place."""
    return present(
        id=job.id, clientId=job.client_id, jobSetId=job.job_set, queue=job.queue,
        namespace=job.namespace, labels=job.labels, annotations=job.annotations, owner=job.owner,
        priority=job.priority, podSpec=job.pod,
        schedulingResourceRequirements=job.resources, created=timestamp(job.submitted_at))


# ---- Events. ------------------------------------------------------------------------------------

def _ids(job, at_s):
    return {"jobId": job.id, "jobSetId": job.job_set, "queue": job.queue,
            "created": timestamp(at_s)}


def _where(job):
    """Where a job runs. The number of its pod is 0, and therefore missing."""
    run = job.runs[-1]
    return {"clusterId": run.cluster, "kubernetesId": run.kubernetes_id,
            "podName": f"armada-{job.id}-0", "podNamespace": job.namespace}


def _submitted(job, at_s):
    return {**_ids(job, at_s), "job": job_of(job)}


def _leased(job, at_s):
    return {**_ids(job, at_s), "clusterId": job.runs[-1].cluster, "pool": "default"}


def _lease_returned(job, at_s, reason="the pod could not be started"):
    run = job.runs[-1]
    return {**_ids(job, at_s), "clusterId": run.cluster, "reason": reason,
            "kubernetesId": run.kubernetes_id, "runAttempted": True}


def _pending(job, at_s):
    return {**_ids(job, at_s), **_where(job), "pool": "default"}


def _running(job, at_s):
    return {**_ids(job, at_s), **_where(job), "nodeName": job.runs[-1].node, "pool": "default"}


def _failed(job, at_s, reason="", cause="Error", exit_code=None, retryable=False, category="",
            message=""):
    """A container's own failure has a status; what befell the job from outside has only words."""
    fields = present(reason=reason, cause=CAUSES[cause], failureCategory=category,
                     retryable=retryable)
    if exit_code is None:
        return {**_ids(job, at_s), **fields}
    status = present(name=job.container, exitCode=exit_code, message=message, cause=CAUSES[cause],
                     reason="OOMKilled" if cause == "OOM" else "Error")
    return {**_ids(job, at_s), **_where(job), "nodeName": job.runs[-1].node, **fields,
            "containerStatuses": [status]}


def _preempted(job, at_s, reason="", requestor=""):
    return {**_ids(job, at_s), **present(runId=job.runs[-1].id if job.runs else "", reason=reason,
                                         requestor=requestor)}


def _preempting(job, at_s, reason="", requestor=""):
    return {**_ids(job, at_s), **present(requestor=requestor, reason=reason)}


def _by(job, at_s, requestor=""):
    """Cancelling and cancelled: who did it, and never why."""
    return {**_ids(job, at_s), **present(requestor=requestor)}


def _priority(job, at_s, requestor=""):
    return {**_ids(job, at_s), **present(newPriority=job.priority, requestor=requestor)}


def _utilisation(job, at_s):
    where = {**_where(job), "nodeName": job.runs[-1].node} if job.runs else {}
    return {**_ids(job, at_s), **where,
            "MaxResourcesForPeriod": {"cpu": "100m", "memory": "64Mi"},
            "totalCumulativeUsage": {"cpu": "1"},
            "AvgResourcesForPeriod": {"cpu": "50m", "memory": "32Mi"}}


# A kind of event, by its name on the wire, and what writes it.
EVENTS = {
    "submitted": _submitted, "queued": _ids, "leased": _leased, "leaseReturned": _lease_returned,
    "leaseExpired": _ids, "pending": _pending, "running": _running, "failed": _failed,
    # The true one has where it ran as well, when the executor told it; it need not have.
    "succeeded": _ids,
    "reprioritizing": _priority, "reprioritized": _priority, "cancelling": _by,
    "cancelled": _by, "preempting": _preempting, "preempted": _preempted,
    "utilisation": _utilisation,
}


def event_text(kind, job, at_s, **fields):
    """The text of an event without its id, which it gets when it is published."""
    return _encode({kind: EVENTS[kind](job, at_s, **fields)})


def event_line(message_id, text, is_wrapped):
    """A frame of a stream. EventMessage writes itself, so that the kind stands in `message`."""
    message = f'{{"Events":{text}}}' if is_wrapped else text
    return f'{{"result":{{"id":"{message_id}","message":{message}}}}}\n'.encode()


# ---- Message ids. -------------------------------------------------------------------------------

AFTER_ALL_PARTS = 1 << 31

def message_id(at_ms, sequence, part, is_last):
    return f"{at_ms}:{sequence}:{part}:{int(is_last)}"


def parse_message_id(text):
    """(milliseconds, sequence, part) of an id, of a Redis id, or of "", the beginning."""
    if text == "":
        return (0, 0, 0)
    words = text.split(":")
    try:
        if len(words) == 4 and words[3] in ("0", "1"):
            return tuple(int(word) for word in words[:3])
        at_ms, sequence = text.split("-")
        return (int(at_ms), int(sequence), AFTER_ALL_PARTS)
    except ValueError:
        raise Refusal("Unknown", f"Could not convert legacy message id over to new message id: "
                                 f"[{text}] is not a valid redis identifier") from None
