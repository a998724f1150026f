"""Binoculars: a process of its own in Armada, one in each cluster, that reads the logs of pods.

It knows only pods that are there, and here those whose processes the double has run.
"""

import datetime

from aiohttp import web

from wire import NUMBER, OBJECT, TEXT, Refusal, Request, encode, present

LOG_BYTES_MAX = 2000000


class Binoculars:
    def __init__(self, parts, cluster):
        self.executor = parts.executor
        self.cluster = cluster

    def application(self):
        application = web.Application()
        application.router.add_post("/v1/binoculars/log", self.log)
        return application

    async def log(self, request):
        try:
            fields = Request("LogRequest", await request.read(), jobId=TEXT, podNumber=NUMBER,
                             podNamespace=TEXT, sinceTime=TEXT, logOptions=OBJECT)
            return web.Response(body=encode(present(log=self.lines(fields["jobId"]))),
                                content_type="application/json")
        except Refusal as refusal:
            return web.Response(status=refusal.status, body=refusal.body(),
                                content_type="application/json")

    def lines(self, job_id):
        job = self.cluster.jobs.get(job_id)
        path = self.executor and job and self.executor.log_path(job)
        if not path or not path.exists():
            raise Refusal("NotFound", "The pod with these logs doesn't exist - this is likely "
                                      "because the job has finished and the pod has been cleaned "
                                      "up")
        at = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.timezone.utc)
        text = path.read_bytes()[:LOG_BYTES_MAX].decode(errors="replace")
        return [{"timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "line": line}
                for line in text.split("\n") if line]
