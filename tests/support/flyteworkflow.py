"""A compiled workflow as the FlyteWorkflow resource that Flyte makes of it for Kubernetes.

    python flyteworkflow.py FORM CLOSURE [INPUTS]    prints the resource, as json or yaml

CLOSURE is a CompiledWorkflowClosure, INPUTS a LiteralMap. What Flyte keeps as a message of its own
is protobuf's JSON; types of Kubernetes are written as Go writes them.
"""

import json
import re
import sys

from flyteidl.core import compiler_pb2, literals_pb2, workflow_pb2
from google.protobuf import json_format

KINDS = {"task_node": "task", "workflow_node": "workflow", "branch_node": "branch",
         "gate_node": "gate", "array_node": "array"}
RESOURCES = {1: "cpu", 2: "nvidia.com/gpu", 3: "memory", 4: "storage", 5: "ephemeral-storage"}
WORDS = ["UNSPECIFIED", "TASK", "WORKFLOW", "LAUNCH_PLAN", "DATASET"]


def as_json(message):
    return json_format.MessageToDict(message)


def key_of(id):
    """An id as Go prints it, without the fields that are empty."""
    parts = [f"resource_type:{WORDS[id.resource_type]}"] if id.resource_type else []
    return " ".join(parts + [f"{name}:{json.dumps(getattr(id, name))}"
                             for name in ("project", "domain", "name", "version")
                             if getattr(id, name)])


def go_duration(duration):
    seconds = duration.seconds + duration.nanos / 1e9
    text = f"{int(seconds // 3600)}h" if seconds >= 3600 else ""
    text += f"{int(seconds % 3600 // 60)}m" if seconds >= 60 else ""
    return f"{text}{seconds % 60:g}s"


def strip(interface):
    """Propeller needs no descriptions, and of types only what makes keys of the cache."""
    for variables in (interface.inputs, interface.outputs):
        for variable in variables.variables.values():
            variable.description = ""
            strip_type(variable.type)


def strip_type(kind):
    kind.ClearField("metadata")
    if "cache-key-metadata" not in kind.annotation.annotations:
        kind.ClearField("annotation")
    for inner in (*kind.union_type.variants, *kind.structure.dataclass_type.values()):
        strip_type(inner)
    for column in kind.structured_dataset_type.columns:
        strip_type(column.literal_type)
    for field in ("collection_type", "map_value_type"):
        if kind.WhichOneof("type") == field:
            strip_type(getattr(kind, field))


def amounts(entries):
    return {RESOURCES[each.name]: each.value for each in entries}


def overrides_of(node, made):
    overrides = node.task_node.overrides
    for name in ("limits", "requests"):
        found = amounts(getattr(overrides.resources, name))
        if found:
            made["resources"][name] = found
    if overrides.HasField("extended_resources"):
        made["extendedResources"] = as_json(overrides.extended_resources)
    if overrides.container_image:
        made["containerImage"] = overrides.container_image
    if overrides.HasField("pod_template"):  # as Go has structs, not as protobuf has them
        made["podTemplate"] = {"pod_spec": {"fields": {}}}


def settings_of(node, task, made):
    metadata = node.metadata
    if metadata.name:
        made["name"] = metadata.name
    retries = metadata.retries.retries or (task.metadata.retries.retries if task else 0)
    if retries:
        made["retry"] = {"minAttempts": retries + 1}
    if metadata.HasField("timeout"):
        made["executionDeadline"] = go_duration(metadata.timeout)
        double = type(metadata.timeout)(seconds=2 * metadata.timeout.seconds,
                                        nanos=2 * metadata.timeout.nanos)
        made["activeDeadline"] = go_duration(double)
    if metadata.WhichOneof("interruptible_value"):
        made["interruptible"] = metadata.interruptible


def case_of(block, tasks, nodes):
    add_node(block.then_node, tasks, nodes)
    return {"condition": as_json(block.condition), "then": block.then_node.id}


def branch_of(node, tasks, nodes):
    block = node.branch_node.if_else
    made = {"if": case_of(block.case, tasks, nodes)}
    if block.other:
        made["elseIf"] = [case_of(each, tasks, nodes) for each in block.other]
    if block.WhichOneof("default") == "else_node":
        add_node(block.else_node, tasks, nodes)
        made["else"] = block.else_node.id
    elif block.WhichOneof("default") == "error":
        made["elseFail"] = {name: getattr(block.error, name)
                            for name in ("failed_node_id", "message")
                            if getattr(block.error, name)}
    return made


def array_of(node, tasks, nodes):
    array = node.array_node
    inner = {}
    add_node(array.node, tasks, inner)
    element = inner[array.node.id]
    chosen = {array.WhichOneof("parallelism_option"), array.WhichOneof("success_criteria")}
    return {"SubNodeSpec": element,
            "Parallelism": array.parallelism if "parallelism" in chosen else None,
            "MinSuccesses": array.min_successes if "min_successes" in chosen else None,
            "MinSuccessRatio": array.min_success_ratio if "min_success_ratio" in chosen else None,
            "BoundInputs": list(array.bound_inputs) or None}


def workflow_of(node, *_):
    if node.workflow_node.WhichOneof("reference") == "launchplan_ref":
        return {"launchPlanRefId": as_json(node.workflow_node.launchplan_ref)}
    return {"subWorkflowRef": key_of(node.workflow_node.sub_workflow_ref)}


def gate_of(node, *_):
    kind = node.gate_node.WhichOneof("condition")
    return {"kind": kind, kind: as_json(getattr(node.gate_node, kind))}


def task_of(node, *_):
    return key_of(node.task_node.reference_id)


TARGETS = {"task": task_of, "workflow": workflow_of, "branch": branch_of, "gate": gate_of,
           "array": array_of}


def add_node(node, tasks, nodes):
    """Puts a node into a map of them, and what stands in its branches."""
    target = node.WhichOneof("target")
    kind = KINDS[target] if target else node.id.removesuffix("-node")
    task = tasks.get(key_of(node.task_node.reference_id)) if kind == "task" else None
    made = {"id": node.id, "resources": {}, "kind": kind}
    settings_of(node, task, made)
    if kind == "task":
        overrides_of(node, made)
    if node.inputs:
        made["inputBindings"] = [as_json(each) for each in node.inputs]
    if node.output_aliases:
        made["outputAlias"] = [{"var": each.var, "alias": each.alias}
                               for each in node.output_aliases]
    if target:
        made[kind] = TARGETS[kind](node, tasks, nodes)
    nodes[node.id] = made


def spec_of(compiled, tasks):
    template = compiled.template
    strip(template.interface)
    nodes = {}
    for node in template.nodes:
        add_node(node, tasks, nodes)
    edges = {name: {id: list(ids.ids) for id, ids in sorted(
        getattr(compiled.connections, name).items())} for name in ("downstream", "upstream")}
    made = {"id": f"{template.id.project}:{template.id.domain}:{template.id.name}",
            "nodes": dict(sorted(nodes.items())), "connections": edges["downstream"],
            "edges": edges, "outputs": as_json(template.interface.outputs)}
    if template.HasField("failure_node"):
        failure = {}
        add_node(template.failure_node, tasks, failure)
        made["onFailure"] = failure[template.failure_node.id]
    if template.outputs:
        made["outputBindings"] = [as_json(each) for each in template.outputs]
    if template.metadata.on_failure:
        made["onFailurePolicy"] = workflow_pb2.WorkflowMetadata.OnFailurePolicy.Name(
            template.metadata.on_failure)
    return made


def resource_of(closure, inputs):
    tasks = {key_of(each.template.id): each.template for each in closure.tasks}
    for task in tasks.values():
        strip(task.interface)
    made = {"kind": "flyteworkflow", "apiVersion": "flyte.lyft.com/v1alpha1",
            "metadata": {"name": "name", "namespace": "namespace"},
            "spec": spec_of(closure.primary, tasks), "inputs": as_json(inputs),
            "executionId": {}, "tasks": {key: as_json(task) for key, task in sorted(tasks.items())}}
    below = {key_of(each.template.id): spec_of(each, tasks) for each in closure.sub_workflows}
    if below:
        made["subWorkflows"] = dict(sorted(below.items()))
    interruptible = closure.primary.template.metadata_defaults.interruptible
    return made | {"node-defaults": {"interruptible": True} if interruptible else {},
                   "securityContext": {}, "status": {"phase": 0}, "rawOutputDataConfig": {},
                   "executionConfig": {"TaskPluginImpls": None, "MaxParallelism": 0,
                                       "Interruptible": None, "OverwriteCache": False,
                                       "EnvironmentVariables": None}}


def read(kind, path):
    with open(path, "rb") as file:
        return kind.FromString(file.read())


def word(value):
    """A text as kubectl writes it in YAML: in quotes where it would be something else."""
    is_plain = isinstance(value, str) and re.fullmatch("[A-Za-z][A-Za-z0-9_.-]*", value) and \
        value not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
    return value if is_plain else json.dumps(value)


def as_yaml(value, indent=""):
    """Lines of YAML; of what is empty or no mapping and no list, one that ends another."""
    if isinstance(value, dict) and value:
        return "".join(f"\n{indent}{word(key)}:{as_yaml(each, indent + '  ')}"
                       for key, each in sorted(value.items()))
    if isinstance(value, list) and value:
        return "".join(f"\n{indent}-{as_yaml(each, indent + '  ')}" for each in value)
    return f" {word(value)}"


def main(form, closure, inputs=None):
    given = read(literals_pb2.LiteralMap, inputs) if inputs else literals_pb2.LiteralMap()
    made = resource_of(read(compiler_pb2.CompiledWorkflowClosure, closure), given)
    print(json.dumps(made) if form == "json" else as_yaml(made).lstrip("\n"))


if __name__ == "__main__":
    main(*sys.argv[1:])
