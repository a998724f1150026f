"""What a status is made of: times, conditions, states of containers."""

import datetime


def now():
    return datetime.datetime.utcnow().strftime("%Y-%m-%dT%H:%M:%SZ")


def terminated(code, reason, message=""):
    state = {"exitCode": code, "reason": reason, "startedAt": now(), "finishedAt": now()}
    return {"terminated": {**state, "message": message} if message else state}


def condition(kind, status, reason="", message=""):
    words = {"reason": reason, "message": message} if reason else {}
    return {"type": kind, "status": status, "lastTransitionTime": now(), **words}


def status_of(container, state, is_ready=False):
    return {"name": container["name"], "image": container["image"], "ready": is_ready,
            "restartCount": 0, "state": state}


def containers_of(item, state, is_ready=False):
    return [status_of(container, state, is_ready) for container in item["spec"]["containers"]]
