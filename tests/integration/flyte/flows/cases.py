"""All cases, and what flytekit's own local execution makes of them: as a module it prints them as a
JSON list of {"workflow", "inputs", "covers", "outputs" or "fails"}; of `flows`, or of `tables`."""

import dataclasses
import importlib
import json
import sys
import typing
from datetime import date, datetime, timedelta, timezone
from enum import Enum

import flytekit

from flows import all as more
from flows import graph, many, refer, values

MODULES = [values, graph, many]


def span(value):
    """A duration as the outputs of an execution have it."""
    microseconds = round(value / timedelta(microseconds=1))
    text = ""
    for unit, size in (("d", 86400000000), ("h", 3600000000), ("m", 60000000), ("s", 1000000),
                       ("ms", 1000), ("us", 1)):
        count, microseconds = divmod(microseconds, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def as_json(value):
    """As the outputs of an execution have it."""
    if isinstance(value, datetime):
        text = value.astimezone(timezone.utc).isoformat().replace("+00:00", "")
        return (text.rstrip("0") if "." in text else text) + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return span(value)
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        return {each.name: as_json(getattr(value, each.name))
                for each in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):  # pydantic's
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(each) for each in value]
    return value


def outputs_of(flow, inputs):
    names = list(flow.python_interface.outputs)
    made = flow(**inputs)
    made = made if len(names) > 1 else () if not names else (made,)
    return {name: as_json(value) for name, value in zip(names, made)}


def case(flow, inputs, covers, fails=None):
    made = {"workflow": flow.name, "inputs": as_json(inputs), "covers": covers}
    try:
        outputs = outputs_of(flow, inputs)
    except Exception as error:  # whatever flytekit raises is a failure
        if fails is None:
            raise
        while error.__cause__ is not None and fails not in str(error):
            error = error.__cause__
        assert fails in str(error), (flow.name, error)
        return made | {"fails": fails}
    assert fails is None, flow.name
    return made | {"outputs": outputs}


def case_of_all(flow, inputs):
    """Of tests/support/flytekit_packages.py, whose names say what they cover."""
    covers = flow.name.split(".")[-1].replace("_", " ")
    try:
        return case(flow, inputs, covers)
    except Exception:  # whatever flytekit raises is a failure
        return case(flow, inputs, covers, "")


def case_of_reference(flow, inputs, expected, covers):
    return {"workflow": flow.name, "inputs": inputs, "covers": covers} | expected


def is_known(flow):
    """Whether this flytekit can run it by itself: before 1.14 fields of dataclasses have lost their
    types, and a dict is a struct, which inputs that are given as JSON are not.
    """
    fields = {"flows.values.dataclass_fields", "flows.values.a_dataclass_with_a_file",
              "flows.values.untyped_json", "flows.all.points", "flows.all.attached"}
    version = [int(part) for part in flytekit.__version__.split(".")[:2]]
    return version >= [1, 14] or flow.name not in fields


def cases_of_flows():
    rows = [row for module in MODULES for row in module.CASES]
    made = [case(*row) for row in rows if is_known(row[0])]
    made += [case_of_all(*row) for row in more.CASES if is_known(row[0])]
    return made + [case_of_reference(*row) for row in refer.CASES]


def main():
    name = sys.argv[1]
    made = cases_of_flows() if name == "flows" else [
        case(*row) for row in importlib.import_module(f"{name}.flows").CASES]
    print()
    json.dump(made, sys.stdout)
    print()


if __name__ == "__main__":
    main()
