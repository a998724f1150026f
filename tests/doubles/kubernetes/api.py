"""The API server: what each verb does. What happens around a call is in server.py."""

import asyncio
import json
import uuid

from aiohttp import web

import rules
from broken import is_gone
from kinds import PODS
from operators import Operators
from selector import Selector
from states import now
from status import Refusal, not_found, success
from watch import watch

AS_META = "as=PartialObjectMetadata"
AS_TABLE = "as=Table"
GZIP_BYTES_MIN = 128 << 10
FOLLOW_S = 0.05  # how often a log that is followed is looked at


class Api:
    def __init__(self, parts, kubelet):
        self.parts = parts
        self.settings = parts.settings
        self.store = parts.store
        self.counters = parts.counters
        self.faults = parts.faults
        self.kubelet = kubelet
        self.operators = Operators(parts, kubelet)
        self.quotas = {}  # namespace: quota

    def namespace(self, call):
        name = call.namespace
        if name is not None and name not in self.settings.namespaces:
            raise Refusal(404, f'namespaces "{name}" not found', name=name, kind="namespaces")
        return name

    def find(self, call):
        item = self.store.find(call.kind, call.namespace, call.name)
        if item is None:
            raise not_found(call.kind, call.name)
        return item

    # Answers, in the shape that was asked for.

    def said(self, call, item):
        if AS_META in call.accept:
            return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                    "metadata": item["metadata"]}
        return {"kind": call.kind.kind, "apiVersion": call.kind.api_version, **item}

    def said_list(self, call, items, version, token="", left=0):
        meta = {"resourceVersion": version}
        if token:
            meta.update({"continue": token, "remainingItemCount": left})
        if AS_TABLE in call.accept:
            rows = [{"cells": [item["metadata"]["name"]], "object": None} for item in items]
            return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta,
                    "columnDefinitions": [{"name": "Name", "type": "string"}], "rows": rows}
        if AS_META in call.accept:
            items = [{"metadata": item["metadata"]} for item in items]
            return {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                    "metadata": meta, "items": items}
        return {"kind": f"{call.kind.kind}List", "apiVersion": call.kind.api_version,
                "metadata": meta, "items": items}

    # Verbs.

    async def create(self, call):
        rules.check_size(call.text)
        try:
            item = json.loads(call.text)
        except ValueError as error:
            raise Refusal(400, f"the object provided is unrecognized: {error}") from error
        namespace = self.namespace(call)
        if call.kind is PODS and call.query.get("fieldValidation") == "Strict":
            rules.check_fields(item)
        item.pop("kind", None)
        item.pop("apiVersion", None)
        meta = {**item.get("metadata", {}), "namespace": namespace}
        item["metadata"] = meta
        rules.check_meta(call.kind, meta)
        self.check_new(call, meta)
        if call.kind is PODS:
            rules.check_spec(item)
            rules.check_priority_class(item, self.settings.priority_class)
            self.check_quota(item, namespace)
        meta.update({"uid": str(uuid.uuid4()), "creationTimestamp": now(), "generation": 1})
        if self.faults.strikes_now("finalizer_kept", call.method):
            meta["finalizers"] = ["example.com/kept"]
        if call.query.get("dryRun") == "All":
            return 201, self.said(call, item)
        if call.kind is PODS:
            item = rules.with_defaults(item)
        item = self.store.put(call.kind, item)
        self.counters.created[call.kind.plural] += 1
        if call.kind is PODS:
            self.kubelet.begin(item)
        else:
            self.operators.begin(call.kind, item)
        return 201, self.said(call, item)

    def check_new(self, call, meta):
        there = self.store.find(call.kind, meta["namespace"], meta["name"])
        if there is None:
            return
        begin = "object is being deleted: " if "deletionTimestamp" in there["metadata"] else ""
        raise Refusal(409, f'{begin}{call.kind.plural} "{meta["name"]}" already exists',
                      reason="AlreadyExists", name=meta["name"], kind=call.kind.plural)

    def check_quota(self, item, namespace):
        quota = self.quotas.get(namespace)
        if quota is None:
            return
        others = self.store.items(PODS, namespace, Selector(""))
        try:
            rules.check_quota(item, quota, others)
        except Refusal:
            self.counters.quota_refusals += 1
            raise

    async def get(self, call):
        self.namespace(call)
        return 200, self.said(call, self.find(call))

    async def list(self, call):
        if call.query.get("watch") in ("1", "true"):
            return await watch(self, call)
        token = call.query.get("continue", "")
        if token and self.faults.strikes_now("continue_expired", call.method):
            raise Refusal(410, "The provided continue parameter is too old to display a "
                               "consistent list result.")
        selector = Selector(call.query.get("labelSelector"))
        items = [] if token else self.store.items(call.kind, self.namespace(call), selector)
        page = self.store.page(items, int(call.query.get("limit", 0)), token)
        self.counters.items_listed += len(page[0])
        return 200, self.said_list(call, *page)

    async def patch(self, call):
        read = PATCHES.get(call.request.content_type)
        if read is None or (read is joined and call.kind is not PODS):
            raise Refusal(415, "the body of the request was in an unknown format - accepted media "
                               f"types include: {', '.join(PATCHES)}")
        item = read(self.find(call), json.loads(call.text))
        item = self.store.put(call.kind, item)
        is_free = not item["metadata"].get("finalizers")
        if is_free and "deletionTimestamp" in item["metadata"]:
            self.remove(call.kind, item)
        return 200, self.said(call, item)

    async def delete(self, call):
        item = self.find(call)
        options = json.loads(call.text or "{}")
        wanted = (options.get("preconditions") or {}).get("uid")
        uid = item["metadata"]["uid"]
        if wanted not in (None, uid):
            raise Refusal(409, f"Precondition failed: UID in precondition: {wanted}, UID in "
                               f"object meta: {uid}", name=call.name, kind=call.kind.plural)
        item = self.remove(call.kind, item, options.get("gracePeriodSeconds"))
        if call.kind is PODS:
            return 200, self.said(call, item)
        return 200, success(name=call.name, kind=call.kind.plural, uid=uid)

    async def delete_all(self, call):
        """Those of a selector; `limit` of them, where the answer says how to go on."""
        selector = Selector(call.query.get("labelSelector"))
        options = json.loads(call.text or "{}")
        items = self.store.items(call.kind, self.namespace(call), selector)
        items, version, token, left = self.store.page(
            items, int(call.query.get("limit", 0)), call.query.get("continue", ""))
        gone = [self.remove(call.kind, item, options.get("gracePeriodSeconds"))
                for item in items if self.store.find(call.kind, *self.kubelet.key(item))]
        return 200, self.said_list(call, gone, version, token, left)

    def remove(self, kind, item, grace_s=None):
        if kind is PODS:
            current = self.store.find(kind, *self.kubelet.key(item))
            return self.kubelet.delete(current or item, grace_s)
        self.counters.deleted[kind.plural] += 1
        self.operators.forget(item)
        return self.store.remove(kind, item)

    async def log(self, call):
        item = self.find(call)
        life = self.kubelet.lives.get(self.kubelet.key(item))
        names = [container["name"] for place in ("containers", "initContainers")
                 for container in item["spec"].get(place) or []]
        container = call.query.get("container", names[0])
        if container not in names:
            raise Refusal(400, f"container {container} is not valid for pod {call.name}")
        if item["status"]["phase"] == "Pending":
            raise Refusal(400, f'container "{container}" in pod "{call.name}" is waiting to start: '
                               "ContainerCreating")
        run = life and life.containers and life.containers.run_of(container)
        if run and not run.has_begun:
            raise Refusal(400, f'container "{container}" in pod "{call.name}" is waiting to start: '
                               "PodInitializing")
        path = run and life.containers.executor.log_path(run)
        text = path.read_bytes() if path and path.exists() else b""
        tail = call.query.get("tailLines")
        if tail is not None:
            text = b"".join(text.splitlines(keepends=True)[-int(tail):])
        if run and call.query.get("follow") in ("1", "true"):
            return await self.follow(call, run, path, text)
        return web.Response(body=text, content_type="text/plain")

    async def follow(self, call, run, path, text):
        """A log as it grows, until its container has ended."""
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(call.request)
        place = path.stat().st_size if path.exists() else 0
        is_over = False
        while True:
            await response.write(text)
            if is_over or is_gone(call.request):
                return response
            is_over = run.code is not None
            if not is_over:
                await asyncio.sleep(FOLLOW_S)
            with open(path, "rb") as log:
                log.seek(place)
                text = log.read()
            place += len(text)

    async def versions(self, request):
        return web.json_response({"major": "1", "minor": "36", "gitVersion": "v1.36.3"})


def joined(item, patch):
    """A strategic merge patch, of which the double knows how values are taken out of lists."""
    result = merged(item, {name: value for name, value in patch.items() if name != "metadata"})
    meta = dict(result["metadata"])
    for name, value in (patch.get("metadata") or {}).items():
        verb, _, member = name.rpartition("/")
        if verb == "$deleteFromPrimitiveList":
            meta[member] = [each for each in meta.get(member) or [] if each not in value]
        else:
            meta[name] = merged(meta.get(name), value)
    return {**result, "metadata": {name: value for name, value in meta.items() if value != []}}


def merged(item, patch):
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(item) if isinstance(item, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


PATCHES = {"application/merge-patch+json": merged,
           "application/strategic-merge-patch+json": joined}
