"""A workflow of flytekit's with a task that is cached, and what Flyte makes of its key.

    python -m flows.all PACKAGE    prints the parts of the key: inputs, version
"""

import base64
import hashlib
import json
import sys
import tarfile
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Dict, List, Optional

from flytekit import HashMethod, task, workflow


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: str


@task
def make() -> Point:
    return Point(x=3, y="ü")


@task
def name() -> Annotated[str, HashMethod(lambda value: "H" + value)]:
    return "hashed"


@task(cache=True, cache_version="1.0", cache_ignore_input_vars=("skip",))
def measure(p: Point, names: List[str], sizes: Dict[str, int], maybe: Optional[int], ratio: float,
            colour: Colour, known: str, skip: str = "s") -> int:
    """Measures.

    Args:
        p: a point
        names: some names
    """
    return p.x


@workflow
def main(skip: str = "s") -> int:
    return measure(p=make(), names=["a", "b"], sizes={"k": 1}, maybe=3, ratio=2.5,
                   colour=Colour.BLUE, known=name(), skip=skip)


def literals():
    """The inputs of the task as flytekit makes literals of them."""
    from flytekit import FlyteContextManager
    from flytekit.core.type_engine import TypeEngine
    from flyteidl.core import literals_pb2
    values = {"p": (Point(x=3, y="ü"), Point), "names": (["a", "b"], List[str]),
              "sizes": ({"k": 1}, Dict[str, int]), "maybe": (3, Optional[int]),
              "ratio": (2.5, float), "colour": (Colour.BLUE, Colour), "known": ("hashed", str)}
    made = literals_pb2.LiteralMap()
    for key, (value, kind) in values.items():
        literal = TypeEngine.to_literal(FlyteContextManager.current_context(), value, kind,
                                        TypeEngine.to_literal_type(kind))
        made.literals[key].CopyFrom(literal.to_flyte_idl())
    made.literals["known"].hash = "Hhashed"
    return made


def bare(kind):
    """A type without what SDKs say about it, as propeller has it."""
    kind.ClearField("metadata")
    if "cache-key-metadata" not in kind.annotation.annotations:
        kind.ClearField("annotation")
    for inner in (*kind.union_type.variants, *kind.structure.dataclass_type.values()):
        bare(inner)
    for field in ("collection_type", "map_value_type"):
        if kind.WhichOneof("type") == field:
            bare(getattr(kind, field))


def version(package):
    from flyteidl.admin import task_pb2
    from flyte_hashes import flytes
    with tarfile.open(package) as archive:
        member, = [each for each in archive.getnames() if each.endswith("measure_1.pb")]
        template = task_pb2.TaskSpec.FromString(archive.extractfile(member).read()).template
    parts = [template.metadata.discovery_version]
    for variables in (template.interface.inputs, template.interface.outputs):
        for variable in variables.variables.values():
            variable.description = ""
            bare(variable.type)
        parts.append(base64.urlsafe_b64encode(flytes(variables)).decode()[:8])
    return hashlib.sha256("-".join(parts).encode()).hexdigest()[:16]


if __name__ == "__main__":
    from flyte_hashes import flytes, hashed
    print(json.dumps([flytes(hashed(literals())).hex()[:32], version(sys.argv[1])]))
