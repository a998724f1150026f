"""What a pod has to be to be taken, the defaults that are added, and quotas."""

import json
import re

from kinds import PODS
from status import Refusal

NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
LABEL_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
NAME_BYTES_MAX = 253
LABEL_BYTES_MAX = 63
ANNOTATIONS_BYTES_MAX = 256 << 10
REQUEST_BYTES_MAX = 3 << 20
OBJECT_BYTES_MAX = 1536 << 10

POD_FIELDS = {
    "activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "containers", "dnsConfig",
    "dnsPolicy", "enableServiceLinks", "ephemeralContainers", "hostAliases", "hostIPC",
    "hostNetwork", "hostPID", "hostUsers", "hostname", "imagePullSecrets", "initContainers",
    "nodeName", "nodeSelector", "os", "overhead", "preemptionPolicy", "priority",
    "priorityClassName", "readinessGates", "resourceClaims", "resources", "restartPolicy",
    "runtimeClassName", "schedulerName", "schedulingGates", "securityContext", "serviceAccount",
    "serviceAccountName", "setHostnameAsFQDN", "shareProcessNamespace", "subdomain",
    "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints", "volumes"}
CONTAINER_FIELDS = {
    "args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe",
    "name", "ports", "readinessProbe", "resizePolicy", "resources", "restartPolicy",
    "securityContext", "startupProbe", "stdin", "stdinOnce", "terminationMessagePath",
    "terminationMessagePolicy", "tty", "volumeDevices", "volumeMounts", "workingDir"}

UNITS = {"m": 1, "": 1000, "k": 10**6, "M": 10**9, "G": 10**12, "Ki": 1000 << 10, "Mi": 1000 << 20,
         "Gi": 1000 << 30, "Ti": 1000 << 40}


def invalid(kind, name, field, words):
    return Refusal(422, f'{kind.kind} "{name}" is invalid: {field}: {words}', name=name)


def check_fields(item):
    """Of fieldValidation=Strict: no field that the server does not know."""
    spec = item.get("spec") or {}
    unknown = [f"spec.{name}" for name in sorted(spec.keys() - POD_FIELDS)]
    for place in ("initContainers", "containers"):
        for number, container in enumerate(spec.get(place) or []):
            unknown += [f"spec.{place}[{number}].{name}"
                        for name in sorted(container.keys() - CONTAINER_FIELDS)]
    if unknown:
        words = ", ".join(f'unknown field "{name}"' for name in unknown)
        raise Refusal(400, f"Pod in version \"v1\" cannot be handled as a Pod: strict decoding "
                           f"error: {words}")


def check_meta(kind, meta):
    name = meta.get("name") or ""
    if not NAME.fullmatch(name) or len(name) > NAME_BYTES_MAX:
        raise invalid(kind, name, "metadata.name", f'Invalid value: "{name}": a lowercase RFC '
                      "1123 subdomain must consist of lower case alphanumeric characters, '-' or "
                      "'.', and must start and end with an alphanumeric character")
    for key, value in (meta.get("labels") or {}).items():
        if not LABEL_KEY.fullmatch(key):
            raise invalid(kind, name, "metadata.labels", f'Invalid value: "{key}": name part must '
                          "consist of alphanumeric characters, '-', '_' or '.'")
        if not LABEL_VALUE.fullmatch(value) or len(value) > LABEL_BYTES_MAX:
            raise invalid(kind, name, "metadata.labels", f'Invalid value: "{value}": must be no '
                          "more than 63 characters, of alphanumerics, '-', '_' or '.'")
    size = sum(len(key.encode()) + len(value.encode())
               for key, value in (meta.get("annotations") or {}).items())
    if size > ANNOTATIONS_BYTES_MAX:
        raise invalid(kind, name, "metadata.annotations",
                      f"Too long: may not be more than {ANNOTATIONS_BYTES_MAX} bytes")


def check_spec(item):
    name = item["metadata"]["name"]
    containers = (item.get("spec") or {}).get("containers")
    if not containers:
        raise invalid(PODS, name, "spec.containers", "Required value")
    for number, container in enumerate(containers):
        for field in ("name", "image"):
            if not container.get(field):
                raise invalid(PODS, name, f"spec.containers[{number}].{field}", "Required value")
        amounts = container.get("resources") or {}
        for amount, text in (amounts.get("requests") or {}).items():
            limit = (amounts.get("limits") or {}).get(amount)
            if limit is not None and milli(text) > milli(limit):
                raise invalid(PODS, name, f"spec.containers[{number}].resources.requests",
                              f'Invalid value: "{text}": must be less than or equal to {amount} '
                              f"limit of {limit}")


def check_priority_class(item, known):
    """As the admission of pods does; an empty list knows all."""
    name = item["spec"].get("priorityClassName")
    if known and name and name not in known:
        raise Refusal(403, f'pods "{item["metadata"]["name"]}" is forbidden: no PriorityClass with '
                           f"name {name} was found")


def check_size(text):
    if len(text) > REQUEST_BYTES_MAX:
        raise Refusal(413, "Request entity too large: limit is 3145728")
    if len(text) > OBJECT_BYTES_MAX:
        raise Refusal(500, "etcdserver: request is too large")


def with_defaults(item):
    """A pod as the server keeps it: with what admission adds, and who manages which field."""
    spec = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
            "terminationGracePeriodSeconds": 30, "schedulerName": "default-scheduler",
            "securityContext": {}, "enableServiceLinks": True, **item["spec"]}
    spec["containers"] = [{"terminationMessagePath": "/dev/termination-log",
                           "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent",
                           **container} for container in spec["containers"]]
    fields = {f"f:{name}": {} for name in spec}
    meta = {**item["metadata"], "managedFields": [
        {"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
         "fieldsV1": {"f:spec": fields}} for manager in ("client", "kube-scheduler", "kubelet")]}
    return {**item, "metadata": meta, "spec": spec,
            "status": {"phase": "Pending", "qosClass": "BestEffort"}}


# Quotas.

def milli(text):
    """An amount, in thousandths."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(m|Ki|Mi|Gi|Ti|k|M|G)?", str(text))
    if found is None:
        raise ValueError(f"{text} is no quantity")
    return int(float(found[1]) * UNITS[found[2] or ""])


def words_of(amount, millis):
    if amount.endswith("memory"):
        return str(millis // 1000)
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def asked_of(item, amount):
    """How much a pod takes of what a quota bounds; None: it does not say."""
    if amount in ("pods", "count/pods"):
        return 1000
    kind, _, name = amount.partition(".") if "." in amount else ("requests", "", amount)
    asked = 0
    for container in item["spec"]["containers"]:
        amounts = container.get("resources") or {}
        text = (amounts.get(kind) or {}).get(name)
        if text is None and kind == "requests":
            text = (amounts.get("limits") or {}).get(name)
        if text is None:
            return None
        asked += milli(text)
    return asked


def check_quota(item, quota, others):
    """Refuses a pod that a quota has no room for; `others` are the pods of its namespace."""
    meta, name = item["metadata"], quota["name"]
    begin = f'pods "{meta["name"]}" is forbidden: '
    asked = {amount: asked_of(item, amount) for amount in quota["hard"]}
    missing = [amount for amount, asks in asked.items() if asks is None]
    if missing:
        containers = ",".join(container["name"] for container in item["spec"]["containers"])
        raise Refusal(403, f"{begin}failed quota: {name}: must specify "
                           f"{','.join(f'{amount} for: {containers}' for amount in missing)}")
    counted = [pod for pod in others if pod["status"]["phase"] not in ("Succeeded", "Failed")]
    used = {amount: sum(asked_of(pod, amount) or 0 for pod in counted) for amount in asked}
    over = [amount for amount in asked
            if used[amount] + asked[amount] > milli(quota["hard"][amount])]
    if over:
        def said(table):
            return ",".join(f"{amount}={words_of(amount, table[amount])}" for amount in over)
        hard = {amount: milli(quota["hard"][amount]) for amount in over}
        raise Refusal(403, f"{begin}exceeded quota: {name}, requested: {said(asked)}, used: "
                           f"{said(used)}, limited: {said(hard)}")


def size_of(item):
    return len(json.dumps(item))
