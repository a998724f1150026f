"""Packages as flytekit writes them, put together by hand with Flyte's own library, for tests that
say what each is about. A script is put behind this, which uses what stands here and calls write().
"""

import hashlib
import io
import sys
import tarfile

from flyteidl.admin import launch_plan_pb2, task_pb2, workflow_pb2
from flyteidl.core import (condition_pb2, identifier_pb2, interface_pb2, literals_pb2, tasks_pb2,
                           types_pb2, workflow_pb2 as core_workflow_pb2)

INTEGER = types_pb2.LiteralType(simple=types_pb2.INTEGER)
STRING = types_pb2.LiteralType(simple=types_pb2.STRING)
members = []


def integer(value):
    return literals_pb2.Literal(scalar={"primitive": {"integer": value}})


def entity_id(kind, name, version=""):
    return identifier_pb2.Identifier(resource_type=kind, name=name, version=version)


def variables(names):
    return interface_pb2.VariableMap(
        variables={name: interface_pb2.Variable(type=kind) for name, kind in names.items()})


def add(name, message):
    data = message if isinstance(message, bytes) else message.SerializeToString()
    members.append((name, data))


def again(made):
    """Puts the last one there as it has become since."""
    members[-1] = (members[-1][0], made.SerializeToString())


def task(name, code, inputs, output=INTEGER, file=None, **container):
    """A task whose program is an expression over `i`, its inputs."""
    program = ("import json, os; i = json.load(open(os.environ['TROUPE_INPUTS'])); "
               f"o = {code}; json.dump({{'o0': o}}, open(os.environ['TROUPE_OUTPUTS'], 'w'))")
    spec = task_pb2.TaskSpec()
    template = spec.template
    template.id.CopyFrom(entity_id(identifier_pb2.TASK, name))
    template.type = "python-task"
    template.interface.inputs.CopyFrom(variables(inputs))
    template.interface.outputs.CopyFrom(variables({"o0": output}))
    template.container.args.extend(container.pop("args", ["python3", "-c", program]))
    add(file or f"{len(members)}_{name}_1.pb", spec)
    return spec


def promise(node, var="o0"):
    return literals_pb2.BindingData(promise={"node_id": node, "var": var})


def scalar(value):
    return literals_pb2.BindingData(scalar={"primitive": {"integer": value}})


def bind(bindings):
    return [literals_pb2.Binding(var=var, binding=data) for var, data in bindings.items()]


def node(id, name, kind=identifier_pb2.TASK, after=(), **bindings):
    made = core_workflow_pb2.Node(id=id, inputs=bind(bindings), upstream_node_ids=after)
    reference = entity_id(kind, name)
    if kind == identifier_pb2.TASK:
        made.task_node.reference_id.CopyFrom(reference)
    elif kind == identifier_pb2.WORKFLOW:
        made.workflow_node.sub_workflow_ref.CopyFrom(reference)
    else:
        made.workflow_node.launchplan_ref.CopyFrom(reference)
    return made


def array(id, name, after=(), **bindings):
    """A map over a task; what the test adds goes into the node or its element's."""
    made = core_workflow_pb2.Node(id=id, inputs=bind(bindings), upstream_node_ids=after)
    made.array_node.node.id = "element"
    made.array_node.node.task_node.reference_id.CopyFrom(entity_id(identifier_pb2.TASK, name))
    return made


def numbers(*values):
    return literals_pb2.BindingData(collection={"bindings": [scalar(each) for each in values]})


def workflow(name, inputs, nodes, outputs, types=None, file=None):
    spec = workflow_pb2.WorkflowSpec()
    template = spec.template
    template.id.CopyFrom(entity_id(identifier_pb2.WORKFLOW, name))
    template.interface.inputs.CopyFrom(variables(inputs))
    template.interface.outputs.CopyFrom(variables(types or {var: INTEGER for var in outputs}))
    template.nodes.extend(nodes)
    template.outputs.extend(bind(outputs))
    add(file or f"{len(members)}_{name}_2.pb", spec)
    return spec


def plan(name, workflow_name, defaults=None, fixed=None, required=()):
    made = launch_plan_pb2.LaunchPlan(id=entity_id(identifier_pb2.LAUNCH_PLAN, name))
    made.spec.workflow_id.CopyFrom(entity_id(identifier_pb2.WORKFLOW, workflow_name))
    for var, value in (defaults or {}).items():
        made.spec.default_inputs.parameters[var].var.type.CopyFrom(INTEGER)
        made.spec.default_inputs.parameters[var].default.CopyFrom(integer(value))
    for var in required:
        made.spec.default_inputs.parameters[var].var.type.CopyFrom(INTEGER)
        made.spec.default_inputs.parameters[var].required = True
    for var, value in (fixed or {}).items():
        made.spec.fixed_inputs.literals[var].CopyFrom(integer(value))
    add(f"{len(members)}_{name}_3.pb", made)
    return made


def tar(files, mode="w:gz"):
    """The bytes of an archive; of each file a name, or a TarInfo, and its bytes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, data in files:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if info.isreg():
                info.size = len(data)
            archive.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return stream.getvalue()


def code(files):
    """The code of a fast package, in the archive under its name."""
    data = tar(files)
    add(f"fast{hashlib.md5(data).hexdigest()}.tar.gz", data)


def write(path="flows.tgz"):
    with open(path, "wb") as file:
        file.write(tar(members))
