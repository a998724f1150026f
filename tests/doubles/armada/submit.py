"""SubmitJobs, in the server's order: who may, what is valid, what is known already, publish, keep.

Client ids are best effort there, and it is this order that has holes: (a) jobs are published
before their client ids are kept; (b) two requests at once both look and both miss; (c) a look that
fails is gone over; (d) within one request each item is looked up before any is kept. The last is
always open, the others have switches.
"""

import asyncio

from jobs import Job
from rules import check_submission, needed_resources, with_defaults
from wire import Refusal, present


class Submission:
    def __init__(self, parts, cluster):
        self.settings = parts.settings
        self.clock = parts.clock
        self.names = parts.names
        self.faults = parts.faults
        self.counters = parts.counters
        self.queues = parts.queues
        self.deduplication = parts.deduplication
        self.cluster = cluster

    async def submit(self, queue, job_set, items, user):
        """Takes a request and answers its items in their order."""
        if not self.queues.is_known(queue):
            raise Refusal("PermissionDenied", f'could not find queue "{queue}"')
        pods = check_submission(queue, job_set, items, self.settings.restricted_tolerations)
        self.counters.submits_of_client_id.update(
            item["clientId"] for item in items if item.get("clientId"))
        known = self.find(queue, items)
        wait = self.faults.strike("dedup_hole_b")
        if wait is not None:
            await asyncio.sleep(wait["ms"] / 1000)
        answers, jobs = self.make(queue, job_set, items, pods, known, user)
        self.publish(jobs)
        self.keep(queue, jobs)
        return answers

    def find(self, queue, items):
        if self.faults.strikes_now("dedup_off") or self.faults.strikes_now("dedup_hole_c"):
            return {}
        client_ids = {item["clientId"] for item in items if item.get("clientId")}
        return self.deduplication.find(queue, client_ids)

    def make(self, queue, job_set, items, pods, known, user):
        answers, jobs = [], []
        for item, pod in zip(items, pods):
            original = known.get(item.get("clientId"))
            if original is not None:
                self.counters.deduplicated += 1
                answers.append({"jobId": original})
                continue
            error = self.faults.strike("item_error")
            if error is not None:
                answers.append(present(error=error["text"]))
                continue
            job = Job(self.names.ulid(), queue, job_set, item, with_defaults(pod),
                      needed_resources(pod), user, self.clock.wall_s())
            job.is_strange = self.faults.strike("strange_state")
            jobs.append(job)
            answers.append({"jobId": job.id})
        return answers, jobs

    def publish(self, jobs):
        partial = self.faults.strike("partial_submit")
        count = len(jobs) if partial is None else int(len(jobs) * partial["share"])
        for job in jobs[:count]:
            self.cluster.submit(job)
        if partial is not None:
            raise Refusal("Internal", "Failed to send events to Pulsar")

    def keep(self, queue, jobs):
        if not self.faults.is_on("dedup_off") and not self.faults.strikes_now("dedup_hole_a"):
            self.deduplication.keep(
                queue, {job.client_id: job.id for job in jobs if job.client_id})
