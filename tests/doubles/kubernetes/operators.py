"""Operators: what becomes of the resources of a kind, as data. A kind without one is looked at by
nobody.

An operator is a list of steps, which it takes for each resource, one after the other:

    {"wait_ms": 20}
    {"status": {...}}                                the resource's status from now on
    {"pods": [{"template": "spec.worker.template", "count": "spec.worker.replicas"}]}
    {"ended": {"Succeeded": {...}, "Failed": {...}}} waits for the pods: a status by how they end;
                                                     Failed is that of the first one that fails

A path may have * for every member. Pods belong to their resource and go with it.
"""

import asyncio
import copy
import uuid

import rules
from kinds import PODS
from states import now

LOOK_S = 0.01


def found(item, path):
    """Whatever is at a path: several, where it has a *."""
    places = [item]
    for name in path.split("."):
        if name == "*":
            places = [each for place in places
                      for each in (place.values() if isinstance(place, dict) else place)]
        else:
            places = [place[name] for place in places if isinstance(place, dict) and name in place]
    return places


class Operators:
    def __init__(self, parts, kubelet):
        self.store = parts.store
        self.counters = parts.counters
        self.kubelet = kubelet
        self.steps = {}  # plural: steps
        self.tasks = {}  # uid: task
        self.pods = {}  # uid: keys of pods

    def set(self, kind, steps=None):
        self.steps.pop(kind, None)
        if steps is not None:
            self.steps[kind] = steps

    def begin(self, kind, item):
        steps = self.steps.get(kind.plural)
        if steps is not None:
            task = asyncio.get_running_loop().create_task(self.work(kind, item, steps))
            self.tasks[item["metadata"]["uid"]] = task

    def forget(self, item):
        """A resource is gone, and its pods go."""
        uid = item["metadata"]["uid"]
        task = self.tasks.pop(uid, None)
        if task is not None:
            task.cancel()
        for key in self.pods.pop(uid, []):
            pod = self.store.find(PODS, *key)
            if pod is not None:
                self.kubelet.delete(pod, None)

    async def work(self, kind, item, steps):
        for step in steps:
            for verb, value in step.items():
                await getattr(self, f"do_{verb}")(kind, item, value)

    async def do_wait_ms(self, kind, item, value):
        await asyncio.sleep(value / 1000)

    async def do_status(self, kind, item, status):
        current = self.store.find(kind, *self.kubelet.key(item))
        if current is not None:
            self.store.put(kind, {**current, "status": status})

    async def do_pods(self, kind, item, templates):
        for template in templates:
            counts = found(item, template["count"]) if "count" in template else []
            for number, pod in enumerate(found(item, template["template"])):
                for _ in range(counts[number] if number < len(counts) else 1):
                    self.make_pod(kind, item, copy.deepcopy(pod))

    def make_pod(self, kind, item, template):
        meta = item["metadata"]
        uid = meta["uid"]
        keys = self.pods.setdefault(uid, [])
        pod = template if "spec" in template else {"spec": template}
        pod["metadata"] = {
            **pod.get("metadata", {}), "name": f"{meta['name']}-{len(keys)}",
            "namespace": meta["namespace"], "uid": str(uuid.uuid4()), "creationTimestamp": now(),
            "ownerReferences": [{"apiVersion": kind.api_version, "kind": kind.kind,
                                 "name": meta["name"], "uid": uid, "controller": True}]}
        rules.check_fields(pod)
        rules.check_meta(PODS, pod["metadata"])
        rules.check_spec(pod)
        pod = self.store.put(PODS, rules.with_defaults(pod))
        keys.append(self.kubelet.key(pod))
        self.kubelet.begin(pod)

    async def do_ended(self, kind, item, statuses):
        keys = self.pods.get(item["metadata"]["uid"], [])
        while True:
            pods = [self.store.find(PODS, *key) for key in keys]
            phases = {pod["status"]["phase"] for pod in pods if pod is not None}
            if "Failed" in phases or phases <= {"Succeeded"}:
                break
            await asyncio.sleep(LOOK_S)
        await self.do_status(kind, item, statuses["Failed" if "Failed" in phases else "Succeeded"])
