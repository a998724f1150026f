"""What each method does: the table METHODS, and a handler of a few lines for each row.

A handler gets the call, answers an object, and raises Refusal. What surrounds a call is in
server.py, the stream of events in watch.py.
"""

import collections

from aiohttp import web

from rules import check_queue_and_set, check_reason, refuse
from wire import (FLAG, NUMBER, OBJECT, OBJECTS, PENDING, RUNNING, STATES, TEXT, TEXTS, UNKNOWN,
                  Refusal, details, encode, event_text, present, run_details, state_of)

# An id that a caller named, of which there may be no job.
Named = collections.namedtuple("Named", "id job_set queue")

# ---- Submit, cancel, preempt, reprioritise. -----------------------------------------------------

async def submit(call):
    request = call.fields("JobSubmitRequest", queue=TEXT, jobSetId=TEXT, jobRequestItems=OBJECTS)
    items = request["jobRequestItems"]
    call.server.counters.named(call.method, len(items))
    answers = await call.server.submission.submit(request["queue"], request["jobSetId"], items,
                                                  call.user)
    return present(jobResponseItems=answers)


async def cancel(call):
    request = call.fields("JobCancelRequest", jobId=TEXT, jobSetId=TEXT, queue=TEXT, jobIds=TEXTS,
                          reason=TEXT)
    check_reason(request["reason"])
    ids = list(dict.fromkeys(request["jobIds"] + [request["jobId"]] * bool(request["jobId"])))
    call.server.counters.named(call.method, len(ids))
    queue, job_set = request["queue"], request["jobSetId"]
    if not ids:  # The whole set, silently, and an answer that says nothing.
        call.server.counters.cancels_without_ids += 1
        cancel_set_now(call, queue, job_set, set(), request["reason"])
        return {"cancelledIds": [""]}
    check_queue_and_set(queue, job_set)
    call.check_queue(queue)
    for job_id in ids:
        cancel_one(call, queue, job_set, job_id, request["reason"])
    return {"cancelledIds": ids}


def cancel_one(call, queue, job_set, job_id, reason):
    """Says `cancelling` of anything that is named, and cancels what lives in that set."""
    now = call.server.clock.wall_s()
    call.cluster.publish_soon(queue, job_set, event_text(
        "cancelling", Named(job_id, job_set, queue), now, requestor=call.user))
    job = call.cluster.jobs.get(job_id)
    if job is not None and (job.queue, job.job_set) == (queue, job_set):
        call.cluster.cancel(job, call.user, reason, "cancelled_as_asked")


async def cancel_set(call):
    request = call.fields("JobSetCancelRequest", jobSetId=TEXT, queue=TEXT, filter=OBJECT,
                          reason=TEXT)
    check_reason(request["reason"])
    states = {state_of(state) for state in request["filter"].get("states") or []}
    cancel_set_now(call, request["queue"], request["jobSetId"], states, request["reason"])
    return {}


def cancel_set_now(call, queue, job_set, states, reason):
    check_queue_and_set(queue, job_set)
    if (PENDING in states) != (RUNNING in states):
        raise Refusal("Unknown", f"unsupported state combination - state {STATES[PENDING]} and "
                                 f"{STATES[RUNNING]} must always be used together")
    call.check_queue(queue)
    for job in call.cluster.of_set[queue, job_set]:
        if job.is_live and (not states or job.state in states):
            call.cluster.cancel(job, call.user, reason, "cancelled")


async def preempt(call):
    request = call.fields("JobPreemptRequest", queue=TEXT, jobSetId=TEXT, jobIds=TEXTS, reason=TEXT)
    check_reason(request["reason"])
    check_queue_and_set(request["queue"], request["jobSetId"])
    call.check_queue(request["queue"])
    call.server.counters.named(call.method, len(request["jobIds"]))
    for job_id in request["jobIds"]:
        job = call.cluster.jobs.get(job_id)
        if job is not None and job.is_live:
            call.cluster.emit(job, "preempting", requestor=call.user, reason=request["reason"])
            call.cluster.preempt(job, call.user, request["reason"])
    return present(preemptionResults={job_id: "" for job_id in request["jobIds"]})


async def reprioritize(call):
    request = call.fields("JobReprioritizeRequest", jobIds=TEXTS, jobSetId=TEXT, queue=TEXT,
                          newPriority=NUMBER)
    check_queue_and_set(request["queue"], request["jobSetId"])
    call.check_queue(request["queue"])
    ids = request["jobIds"]
    of_set = call.cluster.of_set[request["queue"], request["jobSetId"]]
    for job in of_set if not ids else filter(None, map(call.cluster.jobs.get, ids)):
        job.priority = request["newPriority"]
        call.cluster.emit(job, "reprioritizing", requestor=call.user)
        call.cluster.emit(job, "reprioritized", requestor=call.user)
    results = {job_id: "" for job_id in ids} or {f"all jobs in job set {request['jobSetId']}": ""}
    return {"reprioritizationResults": results}


# ---- Queries. -----------------------------------------------------------------------------------

def shown_state(call, job, state):
    is_strange = job.is_strange is not None and call.server.faults.is_on("strange_state")
    return job.is_strange["state"] if is_strange else state


async def status(call):
    ids, _ = call.job_ids("JobStatusRequest")
    lag_s = call.server.lookout_lag_s()
    states = {}
    for job_id in ids:
        job = call.cluster.jobs.get(job_id)
        states[job_id] = UNKNOWN if job is None else shown_state(
            call, job, job.shown_state(lag_s, call.server.clock))
    return present(jobStates=states)


async def status_of_uri(call):
    request = call.fields("JobStatusUsingExternalJobUriRequest", queue=TEXT, jobset=TEXT,
                          externalJobUri=TEXT)
    if not request["externalJobUri"]:
        raise Refusal("Unknown", "request must contain external job uri")
    key = (request["queue"], request["jobset"], request["externalJobUri"])
    seen = [call.seen(job.id) for job in call.cluster.of_uri.get(key, ())]
    return present(jobStates={job.id: shown_state(call, job, state)
                              for job, state in seen if job is not None})


async def job_details(call):
    ids, request = call.job_ids("JobDetailsRequest", expandJobSpec=FLAG, expandJobRun=FLAG)
    seen = [call.seen(job_id) for job_id in ids]
    return present(jobDetails={
        job.id: details(job, shown_state(call, job, state), request["expandJobSpec"],
                        request["expandJobRun"])
        for job, state in seen if job is not None})


async def job_errors(call):
    ids, _ = call.job_ids("JobErrorsRequest")
    seen = [call.seen(job_id)[0] for job_id in ids]
    return present(jobErrors={job.id: job.error for job in seen if job is not None})


async def job_run_details(call):
    ids, _ = call.job_ids("JobRunDetailsRequest", name="runIds")
    runs = [call.cluster.runs[run_id] for run_id in ids if run_id in call.cluster.runs]
    return present(jobRunDetails={run.id: run_details(run) for run in runs})


async def active_queues(call):
    queues = {job.queue for job in call.cluster.jobs.values() if job.is_live and job.runs}
    return present(activeQueuesByPool={"default": {"queues": sorted(queues)}} if queues else {})


# ---- Queues. ------------------------------------------------------------------------------------

def queue_body(call, name=None):
    body = call.fields("Queue", name=TEXT, priorityFactor=NUMBER, userOwners=TEXTS,
                       groupOwners=TEXTS, permissions=OBJECTS, labels=OBJECT, cordoned=FLAG,
                       resourceLimitsByPriorityClassName=OBJECT, retryPolicies=TEXTS).fields
    return body if name is None else {**body, "name": name}


async def create_queue(call):
    call.server.queues.put(queue_body(call))
    return {}


async def update_queue(call):
    call.server.queues.put(queue_body(call, call.request.match_info["name"]), must_exist=True)
    return {}


async def delete_queue(call):
    call.server.queues.delete(call.request.match_info["name"])
    return {}


async def get_queue(call):
    return call.server.queues.get(call.request.match_info["name"])


async def change_queues(call, must_exist):
    failed = []
    for queue in call.fields("QueueList", queues=OBJECTS)["queues"]:
        try:
            call.server.queues.put(queue, must_exist)
        except Refusal as refusal:
            failed.append({"queue": queue, "error": refusal.message})
    return present(failedQueues=failed)


async def create_queues(call):
    return await change_queues(call, must_exist=False)


async def update_queues(call):
    return await change_queues(call, must_exist=True)


async def list_queues(call):
    """A stream that ends with a marker, as GetQueues is."""
    try:
        count = int(call.request.query.get("num", "0"))
    except ValueError:
        refuse("type mismatch, parameter: num")
    names = sorted(call.server.queues.rows)[:count or None]
    frames = [{"Event": {"queue": call.server.queues.get(name)}} for name in names]
    frames.append({"Event": {"end": {}}})
    body = b"".join(encode({"result": frame}) + b"\n" for frame in frames)
    return web.Response(body=body, content_type="application/json")


METHODS = (
    ("POST", "/v1/job/submit", "SubmitJobs", submit),
    ("POST", "/v1/job/cancel", "CancelJobs", cancel),
    ("POST", "/v1/jobset/cancel", "CancelJobSet", cancel_set),
    ("POST", "/v1/job/preempt", "PreemptJobs", preempt),
    ("POST", "/v1/job/reprioritize", "ReprioritizeJobs", reprioritize),
    ("POST", "/v1/job/status", "GetJobStatus", status),
    ("POST", "/v1/job/statusUsingExternalJobUri", "GetJobStatusUsingExternalJobUri",
     status_of_uri),
    ("POST", "/v1/job/details", "GetJobDetails", job_details),
    ("POST", "/v1/job/errors", "GetJobErrors", job_errors),
    ("POST", "/v1/run/details", "GetJobRunDetails", job_run_details),
    ("POST", "/v1/queues/active", "GetActiveQueues", active_queues),
    ("POST", "/v1/queue", "CreateQueue", create_queue),
    ("PUT", "/v1/queue/{name}", "UpdateQueue", update_queue),
    ("DELETE", "/v1/queue/{name}", "DeleteQueue", delete_queue),
    ("GET", "/v1/queue/{name}", "GetQueue", get_queue),
    ("POST", "/v1/batched/create_queues", "CreateQueues", create_queues),
    ("PUT", "/v1/batched/update_queues", "UpdateQueues", update_queues),
    ("GET", "/v1/batched/queues", "GetQueues", list_queues),
)
