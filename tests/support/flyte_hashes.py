#!/usr/bin/env python3
"""Hashes of maps of literals: the golden file tests/golden/flyte/hashes.txt.

    python flyte_hashes.py            prints them; needs flyteidl
    python flyte_hashes.py --write    writes the golden file

Each line is a name, the bytes of the LiteralMap, the hash that propeller makes of it and the one
that flytekit does (flytekit.utils.pbhash.compute_hash), all in hexadecimal. propeller's is
objecthash (Ben Laurie's) over protobuf's JSON, which is written down here once more.
"""

import hashlib
import json
import pathlib
import sys

from flyte_literals import BOTH, KEPT, READ, integer, primitive, scalar, text
from flyteidl.core import literals_pb2
from google.protobuf import json_format, struct_pb2

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/flyte/hashes.txt"


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def number(value):
    if value == 0:
        return "+0:"
    sign, value, exponent = "-" if value < 0 else "+", abs(value), 0
    while value > 1:
        value, exponent = value / 2, exponent + 1
    while value <= 0.5:
        value, exponent = value * 2, exponent - 1
    digits = ""
    while value:
        bit = value >= 1
        digits, value = digits + "01"[bit], (value - bit) * 2
    return f"{sign}{exponent}:{digits}"


def objecthash(value):
    if isinstance(value, dict):
        return sha(b"d", *sorted(objecthash(k) + objecthash(v) for k, v in value.items()))
    if isinstance(value, list):
        return sha(b"l", *map(objecthash, value))
    if isinstance(value, str):
        return sha(b"u", value.encode())
    if isinstance(value, bool):
        return sha(b"b", b"01"[value:value + 1])
    return sha(b"n") if value is None else sha(b"f", number(value).encode())


def hashify(literal):
    """As propeller does it: a hash stands for its literal; what is in a scalar is left as it is."""
    bare = literals_pb2.Literal()
    if literal.hash:
        bare.hash = literal.hash
    elif literal.WhichOneof("value") == "collection":
        bare.collection.SetInParent()
        bare.collection.literals.extend(map(hashify, literal.collection.literals))
    elif literal.WhichOneof("value") == "map":
        bare.map.CopyFrom(hashed(literal.map))
    else:
        return literal
    return bare


def hashed(message):
    return literals_pb2.LiteralMap(
        literals={key: hashify(each) for key, each in message.literals.items()})


def flytes(message):
    """What propeller hashes of any message."""
    return objecthash(json_format.MessageToDict(message))


def hashes(message):
    whole = json_format.MessageToDict(message)
    stable = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    return flytes(hashed(message)), sha(stable.encode())


def cases():
    yield "nothing", literals_pb2.LiteralMap()
    yield "two", literals_pb2.LiteralMap(literals={"1": integer(1), "2": integer(2)})
    for name, _, _, literal in BOTH + KEPT + READ:
        yield name, literals_pb2.LiteralMap(literals={"x": literal})
    for value in (1e16, 1e15, 1e-5, 1e-4, 123.456, -0.1, 2.0 ** 60, 5e-324):
        yield f"float_{value!r}", literals_pb2.LiteralMap(
            literals={"x": primitive(float_value=value)})
    yield "texts", literals_pb2.LiteralMap(
        literals={key: text(key) for key in ("a\"\\/\b\f\n\r\t\x01\x7f", "ü€", "😀", "Z", "a")})
    inner = literals_pb2.Literal(scalar=integer(1).scalar, hash="h")
    yield "hash_in_union", literals_pb2.LiteralMap(literals={"x": scalar(union={
        "value": inner, "type": {"simple": 1}})})
    yield "hash_in_list", literals_pb2.LiteralMap(literals={"x": literals_pb2.Literal(
        collection={"literals": [inner, integer(2)]}, metadata={"k": "v"})})
    yield "words_of_a_map", literals_pb2.LiteralMap(literals={"x": literals_pb2.Literal(
        map={"literals": {"a": literals_pb2.Literal(scalar=integer(1).scalar,
                                                    metadata={"k": "v"})}},
        metadata={"k": "v"})})
    free = struct_pb2.Struct()
    free.update({"b": [1, 2.5, None, {"c": True}], "a": "", "n": -3})
    yield "free", literals_pb2.LiteralMap(literals={"x": scalar(generic=free)})


def lines():
    for name, message in cases():
        try:
            both = hashes(message)
        except json_format.SerializeToJsonError:  # infinite numbers in a struct are no JSON
            continue
        yield "\t".join([name, message.SerializeToString(deterministic=True).hex() or "-",
                         *(each.hex() for each in both)])


if __name__ == "__main__":
    if "--write" in sys.argv:
        GOLDEN.write_text("\n".join(lines()) + "\n")
    else:
        print("\n".join(lines()))
