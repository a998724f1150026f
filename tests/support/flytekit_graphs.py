#!/usr/bin/env python3
"""What flytekit makes of flytekit_flow.py; needs flytekit.

    python flytekit_graphs.py --flow     prints a definition whose tasks are its dynamic workflows
    python flytekit_graphs.py --write    writes the graphs that they decide to tests/golden/flyte/
"""

import collections
import json
import pathlib
import sys

import flytekit_flow
from flytekit.configuration import Image, ImageConfig, SerializationSettings
from flytekit.core.context_manager import ExecutionState, FlyteContextManager
from flytekit.models.literals import Literal, LiteralMap, Primitive, Scalar
from flytekit.tools.translator import get_serializable

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/flyte"
OUTPUTS = {"fan": {"o0": "int"}, "mixed": {"o0": "int", "o1": "string", "o2": "[int]"},
           "outer": {"o0": "int"}, "gates": {"o0": "int"}, "plain": {"o0": "int"}}
SETTINGS = SerializationSettings(project="p", domain="d", version="v",
                                 image_config=ImageConfig(default_image=Image("x", "y", "z")))


def definition():
    """A task runs as flytekit says it does in a container."""
    flow = {"troupe": 1, "tasks": {}, "workflows": {}}
    for name, outputs in OUTPUTS.items():
        task = get_serializable(collections.OrderedDict(), SETTINGS, getattr(flytekit_flow, name))
        container = task.template.container
        flow["tasks"][name] = {"inputs": {"size": "int"}, "outputs": outputs,
                               "run": list(container.args),
                               "env": {**container.env, "PYTHONPATH": "PASSED ON"}}
        flow["workflows"][f"run_{name}"] = {
            "inputs": {"size": {"type": "int", "default": 4}},
            "nodes": {"d": {"dynamic": name, "with": {"size": "$size"}}},
            "outputs": {output: f"$d.{output}" for output in outputs}}
    return json.dumps(flow, indent=1).replace('"PASSED ON"', "")


def futures(name):
    context = FlyteContextManager.current_context()
    state = context.execution_state.with_params(mode=ExecutionState.Mode.TASK_EXECUTION)
    builder = context.with_serialization_settings(SETTINGS).with_execution_state(state)
    size = Literal(scalar=Scalar(primitive=Primitive(integer=3)))
    with FlyteContextManager.with_context(builder) as inside:
        task = getattr(flytekit_flow, name)
        spec = task.dispatch_execute(inside, LiteralMap({"size": size}))
    return spec.to_flyte_idl().SerializeToString(deterministic=True)


if __name__ == "__main__":
    if "--flow" in sys.argv:
        print(definition())
    else:
        for each in OUTPUTS:
            if each != "plain":
                (GOLDEN / f"{each}.futures.pb").write_bytes(futures(each))
