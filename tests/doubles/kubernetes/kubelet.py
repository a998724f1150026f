"""The life of pods: they get a node, run for a while or as processes, end, and are deleted.

A pod runs for `run_ms` and succeeds, unless a rule says otherwise; with --execute the commands of
its containers run as processes of this machine (containers.py), and their exit statuses decide.
Whatever is done to a pod is a change in the store, which watches see.
"""

import asyncio
import dataclasses
import itertools

from containers import Containers
from kinds import PODS
from selector import Selector
from states import condition, containers_of, now, terminated

NODE = "node-1"


def is_over(item):
    return (item.get("status") or {}).get("phase") in ("Succeeded", "Failed")


# How a pod may end, or stay: its status then. `fields` are the rule's own.
def succeeded(item, fields):
    return {"phase": "Succeeded", "containerStatuses": containers_of(
        item, terminated(0, "Completed", fields.get("message", "")))}


def failed(item, fields):
    code = fields.get("exit_code", 1)
    reason = fields.get("reason", "Error")
    return {"phase": "Failed", "containerStatuses": containers_of(
        item, terminated(code, reason, fields.get("message", "")))}


def oom(item, fields):
    return failed(item, {"exit_code": 137, "reason": "OOMKilled"})


def evicted(item, fields):
    return {"phase": "Failed", "reason": fields.get("reason", "Evicted"),
            "message": "The node was low on resource: memory.",
            "conditions": [condition("DisruptionTarget", "True", "TerminationByKubelet",
                                     "The node was low on resource: memory.")],
            "containerStatuses": containers_of(item, terminated(137, "Error"))}


def overdue(item, fields):
    return {"phase": "Failed", "reason": "DeadlineExceeded",
            "message": "Pod was active on the node longer than the specified deadline",
            "containerStatuses": containers_of(item, terminated(137, "Error"))}


def waiting(item, fields):
    reason = fields.get("reason", "ImagePullBackOff")
    message = fields.get("message", 'Back-off pulling image "nowhere/none:1"')
    return {"phase": "Pending", "conditions": [
        condition("PodScheduled", "True"),
        condition("Ready", "False", "ContainersNotReady", "containers with unready status")],
        "containerStatuses": containers_of(item, {"waiting": {"reason": reason,
                                                              "message": message}})}


def unschedulable(item, fields):
    return {"phase": "Pending", "conditions": [
        condition("PodScheduled", "False", "Unschedulable", "0/1 nodes are available")]}


ENDINGS = {"succeeded": succeeded, "failed": failed, "oom": oom, "evicted": evicted,
           "overdue": overdue}
STAYS = {"waiting": waiting, "unschedulable": unschedulable}
HOWS = {**ENDINGS, **STAYS, "deleted": None}


class Rule:
    """How pods with these labels end: the next `times` of them, or all."""

    def __init__(self, how, match="", times=None, **fields):
        if how not in HOWS:
            raise ValueError(f"how is one of {', '.join(HOWS)}")
        self.how, self.selector, self.left, self.fields = how, Selector(match), times, fields

    def takes(self, item):
        if self.left == 0 or not self.selector.takes(item):
            return False
        self.left = self.left if self.left is None else self.left - 1
        return True


@dataclasses.dataclass
class Life:
    """A pod that has not been removed."""
    id: str
    uid: str
    rule: Rule = None
    containers: Containers = None  # where commands are run
    is_running: bool = False


class Kubelet:
    def __init__(self, parts):
        self.settings = parts.settings
        self.store = parts.store
        self.counters = parts.counters
        self.faults = parts.faults
        self.executor = parts.executor
        self.secrets = parts.secrets
        self.rules = []
        self.lives = {}  # (namespace, name): Life
        self.held = []
        self.is_held = False
        self.numbers = itertools.count(1)

    @staticmethod
    def key(item):
        return item["metadata"]["namespace"], item["metadata"]["name"]

    def later(self, after_ms, function, *arguments):
        asyncio.get_running_loop().call_later(after_ms / 1000, function, *arguments)

    def current(self, key, uid):
        """The pod if it is still this one."""
        item = self.store.find(PODS, *key)
        return item if item is not None and item["metadata"]["uid"] == uid else None

    def put_status(self, item, **status):
        """Another status; conditions of other kinds stay."""
        before = item["status"]
        if "conditions" in status:
            kinds = {entry["type"] for entry in status["conditions"]}
            status["conditions"] = status["conditions"] + [
                entry for entry in before.get("conditions", []) if entry["type"] not in kinds]
        return self.store.put(PODS, {**item, "status": {**before, **status}})

    # Begin.

    def begin(self, item):
        key, uid = self.key(item), item["metadata"]["uid"]
        self.counters.pod_created(key[1], item["spec"])
        rule = next((rule for rule in self.rules if rule.takes(item)), None)
        self.lives[key] = Life(id=f"{key[1]}-{next(self.numbers)}", uid=uid, rule=rule)
        deadline_s = item["spec"].get("activeDeadlineSeconds")
        if deadline_s is not None:
            self.later(deadline_s * 1000, self.end, key, uid, "overdue")
        self.later(self.settings.pending_ms, self.schedule, key, uid)

    def schedule(self, key, uid):
        item, life = self.current(key, uid), self.lives.get(key)
        if item is None or life is None or life.uid != uid or is_over(item):
            return
        if life.rule is not None and life.rule.how in STAYS:
            self.put_status(item, **STAYS[life.rule.how](item, life.rule.fields))
            return
        item = {**item, "spec": {**item["spec"], "nodeName": NODE}}
        self.put_status(item, conditions=[condition("PodScheduled", "True")])
        self.later(self.settings.start_ms, self.run, key, uid)

    def run(self, key, uid):
        item, life = self.current(key, uid), self.lives.get(key)
        if item is None or is_over(item) or "deletionTimestamp" in item["metadata"]:
            return
        life.is_running = True
        self.counters.running += 1
        self.put_status(item, phase="Running", startTime=now(), hostIP="10.0.0.1",
                        podIP="10.1.0.1",
                        conditions=[condition("Ready", "True")], containerStatuses=containers_of(
                            item, {"running": {"startedAt": now()}}, True))
        if life.rule is None and self.executor is not None:
            life.containers = Containers(
                self.executor, life.id, item["spec"],
                environment_of=lambda container: self.environment_of(key[0], container),
                on_change=lambda status: self.tell(key, uid, status),
                on_end=lambda status: self.exit(key, uid, status))
            life.containers.begin()
            return
        self.later(self.settings.run_ms, self.run_out, key, uid)

    def environment_of(self, namespace, container):
        environment = {}
        for variable in container.get("env") or []:
            reference = (variable.get("valueFrom") or {}).get("secretKeyRef") or {}
            secret = self.secrets.get(f"{reference.get('name')}/{reference.get('key')}", "")
            environment[variable["name"]] = variable.get("value", secret)
        return environment

    # End.

    def run_out(self, key, uid):
        if self.is_held:
            self.held.append((key, uid))
            return
        life = self.lives.get(key)
        rule = life.rule if life is not None and life.uid == uid else None
        self.end(key, uid, rule.how if rule else "succeeded", rule.fields if rule else {})

    def hold(self, is_held):
        self.is_held = is_held
        held, self.held = self.held, []
        for key, uid in held:
            self.run_out(key, uid)

    def tell(self, key, uid, status):
        """One of several containers has ended, and the pod goes on."""
        item = self.current(key, uid)
        if item is not None and not is_over(item):
            self.put_status(item, **status)

    def exit(self, key, uid, status):
        how = "succeeded" if status["phase"] == "Succeeded" else "failed"
        self.end(key, uid, how, status=status)

    def end(self, key, uid, how, fields=None, status=None):
        item, life = self.current(key, uid), self.lives.get(key)
        if item is None or is_over(item):
            return
        if how == "deleted":
            self.delete(item, None if item["metadata"].get("finalizers") else 0)
            return
        status = status or ENDINGS[how](item, fields or {})
        self.stop(life)
        self.counters.ended[how] += 1
        self.counters.live -= 1
        item = self.put_status(item, **status)
        if "deletionTimestamp" in item["metadata"]:
            self.remove_soon(key, uid)

    def stop(self, life):
        """It runs no longer."""
        if life is None:
            return
        self.counters.running -= 1 if life.is_running else 0
        life.is_running = False
        if life.containers is not None:
            life.containers.stop()

    # Deletion.

    def delete(self, item, grace_s):
        """At once where nothing runs; else the pod goes when it has ended, or its grace is over."""
        key, uid = self.key(item), item["metadata"]["uid"]
        life = self.lives.get(key)
        if grace_s is None:
            grace_s = item["spec"].get("terminationGracePeriodSeconds", 30)
        if "nodeName" not in item["spec"] or is_over(item) or grace_s == 0:
            return self.remove(item)
        if "deletionTimestamp" in item["metadata"]:
            return item
        meta = {**item["metadata"], "deletionTimestamp": now(),
                "deletionGracePeriodSeconds": grace_s}
        item = self.store.put(PODS, {**item, "metadata": meta})
        if life is not None and life.containers is not None:
            life.containers.ask_to_end()
        self.later(min(grace_s * 1000, self.settings.grace_ms), self.go, key, uid)
        return item

    def go(self, key, uid):
        """A pod that is being deleted has come to its end."""
        item = self.current(key, uid)
        if item is not None and not is_over(item):
            self.end(key, uid, "failed", {"exit_code": 143})
        elif item is not None:
            self.remove(item)

    def remove_soon(self, key, uid):
        self.later(1, self.go, key, uid)

    def remove(self, item):
        """It is gone, unless a finalizer keeps it."""
        key, meta = self.key(item), item["metadata"]
        if meta.get("finalizers"):
            if "deletionTimestamp" in meta:
                return item
            return self.store.put(PODS, {**item, "metadata": {**meta, "deletionTimestamp": now()}})
        if not is_over(item):
            self.stop(self.lives.get(key))
            self.counters.live -= 1
            self.counters.ended["removed"] += 1
        self.lives.pop(key, None)
        self.counters.deleted["pods"] += 1
        return self.store.remove(PODS, item)
