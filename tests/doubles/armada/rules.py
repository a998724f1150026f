"""What Armada demands of a job before it takes it: the first rule that is broken is the answer.

A request is refused as a whole, with the words of internal/server/submit/validation, and defaults
are added to what is taken. The limits are those of config/server/config.yaml.
"""

import re

from wire import (FLAG, INTEGER, NUMBER, OBJECT, OBJECTS, TEXT, TEXT_MAP, TEXTS, Refusal,
                  check_field, encode)

JOB_SET_CHARACTERS_MAX = 1024
CLIENT_ID_CHARACTERS_MAX = 100
POD_SPEC_BYTES_MAX = 65535
REASON_BYTES_MAX = 50
MEMORY_MIN = 1 << 20
GRACE_SECONDS = (1, 300)
PRIORITY_CLASSES = ("armada-default", "armada-preemptible", "armada-resilient")
PRICE_BANDS = "ABCDEFGH"

GANG_ID = "armadaproject.io/gangId"
GANG_CARDINALITY = "armadaproject.io/gangCardinality"
GANG_UNIFORMITY = "armadaproject.io/gangNodeUniformityLabel"
FAIL_FAST = "armadaproject.io/failFast"
PRICE_BAND = "armadaproject.io/priceBand"

DEFAULT_DEADLINE_S = 72 * 3600
GPU_DEADLINE_S = 336 * 3600
DEFAULT_TOLERATIONS = [{"key": "armadaproject.io/armada", "operator": "Equal", "value": "true",
                        "effect": "NoSchedule"}]

QUANTITY = re.compile(r"([+-]?[0-9]*\.?[0-9]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$")
SCALES = {"m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
          "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}


def refuse(text):
    raise Refusal("InvalidArgument", text)


def quantity(value):
    """A Kubernetes quantity, in thousandths as MilliValue() gives it."""
    match = QUANTITY.match("0" if value is None else str(value))
    if match is None and re.match(r"[+-]?[0-9.]+[A-Za-z]+$", str(value)):
        refuse("unable to parse quantity's suffix")
    if match is None:
        refuse("quantities must match the regular expression "
               "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    number, suffix = match.group(1), match.group(2) or ""
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return round(float(number + suffix) * 1000)
    return round(float(number) * SCALES[suffix] * 1000)


# ---- Types of an item's fields, as Go would refuse them while decoding. -------------------------

ITEM_FIELDS = {"priority": NUMBER, "namespace": TEXT, "clientId": TEXT, "labels": TEXT_MAP,
               "annotations": TEXT_MAP, "podSpec": OBJECT, "podSpecs": OBJECTS, "ingress": OBJECTS,
               "services": OBJECTS, "scheduler": TEXT, "externalJobUri": TEXT}
POD_FIELDS = {"containers": OBJECTS, "initContainers": OBJECTS, "tolerations": OBJECTS,
              "priorityClassName": TEXT, "terminationGracePeriodSeconds": INTEGER,
              "activeDeadlineSeconds": INTEGER, "affinity": OBJECT, "volumes": OBJECTS,
              "hostNetwork": FLAG, "restartPolicy": TEXT}
CONTAINER_FIELDS = {"name": TEXT, "image": TEXT, "command": TEXTS, "args": TEXTS, "env": OBJECTS,
                    "resources": OBJECT, "ports": OBJECTS, "volumeMounts": OBJECTS,
                    "workingDir": TEXT}


def check_types(message, value, kinds):
    if not isinstance(value, dict):
        refuse(f"json: cannot unmarshal into Go value of type {message}")
    for name in kinds.keys() & value.keys():
        check_field(message, name, value[name], kinds[name])
    return value


def check_item_types(item):
    check_types("JobSubmitRequestItem", item, ITEM_FIELDS)
    for pod in pods_of(item):
        check_types("PodSpec", pod, POD_FIELDS)
        for container in containers_of(pod):
            check_types("Container", container, CONTAINER_FIELDS)
            for amounts in (container.get("resources") or {}).values():
                check_quantities(amounts)


def check_quantities(amounts):
    for amount in (amounts or {}).values():
        quantity(amount)


def pods_of(item):
    return [item["podSpec"]] if item.get("podSpec") is not None else item.get("podSpecs") or []


def containers_of(pod):
    return (pod.get("containers") or []) + (pod.get("initContainers") or [])


# ---- Rules of one item. -------------------------------------------------------------------------

def check_namespace(item):
    if not item.get("namespace"):
        refuse("namespace is a required field")


def check_pod_size(item, pod):
    size = len(encode(pod))
    if size > POD_SPEC_BYTES_MAX:
        refuse(f"Pod spec has a size of {size} bytes which is greater than the maximum allowed "
               f"size of {POD_SPEC_BYTES_MAX}")


def check_affinity(item, pod):
    node = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    if node.get("preferredDuringSchedulingIgnoredDuringExecution"):
        refuse("preferredDuringSchedulingIgnoredDuringExecution node affinity is not supported by "
               "Armada")


def check_resources(item, pod):
    for container in containers_of(pod):
        resources = container.get("resources") or {}
        check_container(container.get("name", ""), resources.get("requests") or {},
                        resources.get("limits") or {})


def check_container(name, requests, limits):
    if not requests and not limits:
        refuse(f"container {name} has no resources specified")
    if len(requests) != len(limits):
        refuse(f"container {name} defines different resources for requests and limits")
    for resource, request in requests.items():
        if resource not in limits:
            refuse(f"container {name} defines {resource} for requests but not limits")
        wanted, bound = quantity(request), quantity(limits[resource])
        if wanted < 0 or bound < 0:
            refuse(f"container {name} defines negative resource request ({request}) for resource "
                   f"{resource}")
        if bound < wanted:
            refuse(f"container {name} defines {resource} with limits smaller than requests")
        if bound > wanted:
            refuse(f"container {name} defines {resource} with limits great than 1.00*requests")
        if resource == "memory" and wanted < MEMORY_MIN * 1000:
            refuse(f'container "{name}" memory requests ({request}) below server minimum (1Mi)')


def check_init_containers(item, pod):
    for container in pod.get("initContainers") or []:
        resources = container.get("resources") or {}
        for of in ("requests", "limits"):
            cpu = (resources.get(of) or {}).get("cpu")
            if cpu is not None and quantity(cpu) != 0 and quantity(cpu) % 1000 == 0:
                refuse(f"Init container {container.get('name', '')} contains invalid cpu value "
                       f"{cpu}.  All init containers must set requests/limits to fractional cpu "
                       "e.g. 900m")


def check_priority_class(item, pod):
    name = pod.get("priorityClassName") or ""
    if name and name not in PRIORITY_CLASSES:
        refuse(f"priority class {name} is not supported")


def check_grace(item, pod):
    grace = pod.get("terminationGracePeriodSeconds") or 0
    if grace and not GRACE_SECONDS[0] <= grace <= GRACE_SECONDS[1]:
        refuse(f"terminationGracePeriodSeconds of {grace} must be [1000000000, 300000000000], or "
               "omitted")


def check_ingresses(item, pod):
    seen = {}
    for index, ingress in enumerate(item.get("ingress") or []):
        if not ingress.get("ports"):
            refuse("ingress contains zero ports. Each ingress should have at least one port")
        for port in ingress["ports"]:
            if port in seen:
                refuse(f"port {port} has two ingress configurations, specified in ingress configs "
                       f"with indexes {seen[port]}, {index}. Each port should at maximum have one "
                       "ingress configuration")
            seen[port] = index


def check_ports(item, pod):
    seen = {}
    for container in containers_of(pod):
        for port in container.get("ports") or []:
            number = port.get("containerPort")
            if number in seen:
                refuse(f"container port {number} is exposed multiple times, specified in "
                       f'containers "{seen[number]}" and "{container.get("name", "")}". Should '
                       "only be exposed once")
            seen[number] = container.get("name", "")


def check_client_id(item, pod):
    length = len((item.get("clientId") or "").encode())
    if length > CLIENT_ID_CHARACTERS_MAX:
        refuse(f"client id of length {length} is greater than max allowed length of  "
               f"{CLIENT_ID_CHARACTERS_MAX}")


def check_price_band(item):
    band = (item.get("annotations") or {}).get(PRICE_BAND)
    if band is not None and (len(band) != 1 or band.upper() not in PRICE_BANDS):
        refuse(f"price band {band} is not supported")


# In the server's order, behind namespace and pod, before tolerations and price bands.
ITEM_RULES = (check_pod_size, check_affinity, check_resources, check_init_containers,
              check_priority_class, check_grace, check_ingresses, check_ports, check_client_id)


def main_pod(item):
    """The pod of an item, of which there has to be one."""
    one, many = item.get("podSpec"), item.get("podSpecs") or []
    if one is None and not many:
        refuse("Job must contain at least one PodSpec")
    if one is not None and many:
        refuse("PodSpec must be nil if PodSpecs is provided (i.e., these are exclusive)")
    if len(many) > 1:
        refuse("Jobs with multiple pods are not supported")
    return one if one is not None else many[0]


# ---- Rules of a whole request. ------------------------------------------------------------------

def cardinality_of(notes):
    """How many jobs a job's gang has; 1: it is in none."""
    if GANG_ID not in notes:
        return 1
    why = "invalid gang information: "
    if not notes[GANG_ID]:
        refuse(why + "gang id is empty")
    if GANG_CARDINALITY not in notes:
        refuse(why + f"gang cardinality annotation {GANG_CARDINALITY} is missing")
    text = notes[GANG_CARDINALITY]
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        refuse(why + f'gang cardinality is not parseable - strconv.Atoi: parsing "{text}": invalid '
               "syntax")
    if int(text) <= 0:
        refuse(why + f"gang cardinality {int(text)} is non-positive")
    return int(text)


def check_gangs(items):
    gangs = {}
    for item in items:
        notes = item.get("annotations") or {}
        cardinality = cardinality_of(notes)
        if cardinality < 2:
            continue
        gang = notes[GANG_ID]
        if notes.get(FAIL_FAST, "true") != "true":
            refuse(f"gang jobs may not set fail fast flag (annotation - {FAIL_FAST}) to anything "
                   "but true")
        pod = (pods_of(item) or [{}])[0]
        actual = {"gang cardinality": cardinality,
                  "PriorityClassName": pod.get("priorityClassName") or "",
                  "nodeUniformityLabel": notes.get(GANG_UNIFORMITY, "")}
        expected = gangs.setdefault(gang, actual)
        for what, value in actual.items():
            if expected[what] != value:
                refuse(f"inconsistent {what} in gang {gang}: expected {expected[what]} but got "
                       f"{value}")


def check_submission(queue, job_set, items, restricted_tolerations=()):
    """The rules for a request to submit. Returns the pod of each item."""
    for item in items:
        check_item_types(item)
    if not queue:
        refuse("queue is a required field")
    check_gangs(items)
    if not job_set:
        refuse("job set id is a required field")
    if len(job_set.encode()) >= JOB_SET_CHARACTERS_MAX:
        refuse(f"job set id of length {len(job_set.encode())} must be less than max character length "
               f"{JOB_SET_CHARACTERS_MAX}")
    return [check_item(item, restricted_tolerations) for item in items]


def check_item(item, restricted_tolerations):
    check_namespace(item)
    pod = main_pod(item)
    for rule in ITEM_RULES:
        rule(item, pod)
    for toleration in pod.get("tolerations") or []:
        if toleration.get("key") in restricted_tolerations:
            refuse(f"toleration {toleration['key']} is not user settable")
    check_price_band(item)
    return pod


def check_reason(reason):
    if len(reason.encode()) > REASON_BYTES_MAX:
        refuse(f'value "{reason[:REASON_BYTES_MAX]}..." is invalid for field "Reason": reason '
               f"cannot be longer than {REASON_BYTES_MAX} bytes")


def check_queue_and_set(queue, job_set):
    if not queue:
        refuse('value "" is invalid for field "Queue": queue cannot be empty')
    if not job_set:
        refuse('value "" is invalid for field "JobSetId": jobset cannot be empty')


# ---- What the server adds. ----------------------------------------------------------------------

def with_defaults(pod):
    """The pod as it is run: a priority class, tolerations, a deadline, restarts never."""
    limits = [((container.get("resources") or {}).get("limits") or {})
              for container in containers_of(pod)]
    deadline_s = GPU_DEADLINE_S if any("nvidia.com/gpu" in limit for limit in limits) \
        else DEFAULT_DEADLINE_S
    return {"restartPolicy": "Never", "priorityClassName": PRIORITY_CLASSES[0],
            "terminationGracePeriodSeconds": GRACE_SECONDS[0],
            "activeDeadlineSeconds": deadline_s, **pod,
            "tolerations": (pod.get("tolerations") or []) + DEFAULT_TOLERATIONS}


def needed_resources(pod):
    """What scheduling needs: those of a pod's only container, else none, which nobody reads."""
    containers = pod.get("containers") or []
    return containers[0].get("resources") if len(containers) == 1 else None
