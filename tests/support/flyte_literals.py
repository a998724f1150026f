#!/usr/bin/env python3
"""Values as Flyte's own library writes them: the golden literals of tests/golden/flyte/.

    python flyte_literals.py            prints them; needs flyteidl
    python flyte_literals.py --write    writes the golden file

Each line is a name, a type of our language, the value as our JSON, the bytes of the Literal in
hexadecimal, and how they are used: `both` are read and written so, `kept` are written as they were
read, though the value alone would be written otherwise, `read` are only read, since we write
another form of the same value.
"""

import base64
import json
import pathlib
import sys

from flyteidl.core import literals_pb2, types_pb2
from google.protobuf import duration_pb2, json_format, struct_pb2, timestamp_pb2

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/flyte/literals.txt"

Literal, Scalar = literals_pb2.Literal, literals_pb2.Scalar
Simple, Type = types_pb2.SimpleType, types_pb2.LiteralType


def scalar(**value):
    return Literal(scalar=Scalar(**value))


def primitive(**value):
    return scalar(primitive=literals_pb2.Primitive(**value))


def blob(uri, form="", dimensionality=types_pb2.BlobType.SINGLE):
    kind = types_pb2.BlobType(format=form, dimensionality=dimensionality)
    return scalar(blob=literals_pb2.Blob(uri=uri, metadata=literals_pb2.BlobMetadata(type=kind)))


def dataset(uri, form):
    kind = types_pb2.StructuredDatasetType(format=form)
    metadata = literals_pb2.StructuredDatasetMetadata(structured_dataset_type=kind)
    return scalar(structured_dataset=literals_pb2.StructuredDataset(uri=uri, metadata=metadata))


def collection(*items):
    return Literal(collection=literals_pb2.LiteralCollection(literals=items))


def mapping(**items):
    return Literal(map=literals_pb2.LiteralMap(literals=items))


def union(kind, value):
    return scalar(union=literals_pb2.Union(value=value, type=kind))


def generic(**fields):
    value = struct_pb2.Struct()
    value.update(fields)
    return scalar(generic=value)


def integer(value):
    return primitive(integer=value)


def text(value):
    return primitive(string_value=value)


def moment(seconds, nanos=0):
    return primitive(datetime=timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos))


def span(seconds, nanos=0):
    return primitive(duration=duration_pb2.Duration(seconds=seconds, nanos=nanos))


def noted(literal, value, **words):
    made = Literal()
    made.CopyFrom(literal)
    made.hash = value
    made.metadata.update(words)
    return made


NONE = scalar(none_type=literals_pb2.Void())
LARGE = 9007199254740993  # an integer that no double is
PACKED = bytes.fromhex("82a161cf0020000000000001a16293cb3ff8000000000000c081a163a178")

def described(kind, **words):
    """A type of which Flyte says more, and how our language writes that."""
    whole, rest = Type(**kind, **words), Type(**words)
    rest.ClearField("metadata")
    rest.structure.ClearField("tag")
    if not rest.structure.ByteSize():
        rest.ClearField("structure")
    said = {"tag": whole.structure.tag,
            "schema": json.dumps(json_format.MessageToDict(whole.metadata), sort_keys=True)
            if whole.HasField("metadata") else "",
            "extra": base64.b64encode(rest.SerializeToString(deterministic=True)).decode()}
    return whole, ", ".join(f"{name}: {json.dumps(text)}" for name, text in said.items() if text)


POINT, POINT_WORDS = described(
    {"simple": Simple.STRUCT},
    metadata={"title": "Point", "properties": {"x": {"type": "integer"}}},
    structure=types_pb2.TypeStructure(tag="class", dataclass_type={
        "x": Type(simple=Simple.INTEGER), "a": Type(simple=Simple.STRING)}),
    annotation={"annotations": {"cache-key-metadata": {"serialization-format": "msgpack"}}})
TABLE, TABLE_WORDS = described({}, structured_dataset_type=types_pb2.StructuredDatasetType(
    columns=[{"name": "c", "literal_type": Type(simple=Simple.FLOAT)}]))
SCHEMA = types_pb2.SchemaType(
    columns=[{"name": "c", "type": types_pb2.SchemaType.SchemaColumn.FLOAT}])
_, SCHEMA_WORDS = described({}, schema=SCHEMA)

BOTH = [
    ("described_variant", f"struct({POINT_WORDS}) | none", {},
     union(POINT, scalar(binary=literals_pb2.Binary(value=b"\x80", tag="msgpack")))),
    ("columns", f"dataset({TABLE_WORDS})", {"uri": "s3://b/t", "format": ""},
     scalar(structured_dataset=literals_pb2.StructuredDataset(uri="s3://b/t", metadata={
         "structured_dataset_type": TABLE.structured_dataset_type}))),
    ("older_table", f"dataset({SCHEMA_WORDS})", {"uri": "s3://b/t", "format": ""},
     scalar(schema=literals_pb2.Schema(uri="s3://b/t", type=SCHEMA))),
    ("int_zero", "int", 0, integer(0)),
    ("int_least", "int", -2**63, integer(-2**63)),
    ("int_most", "int", 2**63 - 1, integer(2**63 - 1)),
    ("float", "float", 0.1, primitive(float_value=0.1)),
    ("float_whole", "float", 3.0, primitive(float_value=3)),
    ("float_zero", "float", 0.0, primitive(float_value=0)),
    ("float_infinite", "float", "inf", primitive(float_value=float("inf"))),
    ("string", "string", "smörgås", text("smörgås")),
    ("string_empty", "string", "", text("")),
    ("string_zero_byte", "string", "a\0b", text("a\0b")),
    ("string_dollar", "string", "$a", text("$a")),
    ("bool", "bool", True, primitive(boolean=True)),
    ("bool_false", "bool", False, primitive(boolean=False)),
    ("datetime", "datetime", "2026-08-20T09:30:00.5Z", moment(1787218200, 500000000)),
    ("datetime_first", "datetime", "0001-01-01T00:00:00Z", moment(-62135596800)),
    ("datetime_epoch", "datetime", "1970-01-01T00:00:00Z", moment(0)),
    ("duration", "duration", "1h30m", span(5400)),
    ("duration_negative", "duration", "-1.5s", span(-1, -500000000)),
    ("bytes", "bytes", "AAH/", scalar(binary=literals_pb2.Binary(value=b"\0\1\xff"))),
    ("bytes_empty", "bytes", "", scalar(binary=literals_pb2.Binary())),
    ("none", "none", None, NONE),
    ("error", "error", {"node": "n0", "code": "", "message": "broken", "element": None},
     scalar(error=types_pb2.Error(failed_node_id="n0", message="broken"))),
    ("struct", "struct", {"a": LARGE, "b": [1.5, None, {"c": "x"}]},
     scalar(binary=literals_pb2.Binary(value=PACKED, tag="msgpack"))),
    ("file", "file", "/data/x.csv", blob("/data/x.csv")),
    ("directory", "directory", "s3://bucket/key",
     blob("s3://bucket/key", dimensionality=types_pb2.BlobType.MULTIPART)),
    ("dataset", "dataset", {"uri": "s3://bucket/t", "format": "parquet"},
     dataset("s3://bucket/t", "parquet")),
    ("enum", "enum(red, blue)", "blue", text("blue")),
    ("list", "[int]", [1, 2, 3], collection(integer(1), integer(2), integer(3))),
    ("list_empty", "[int]", [], collection()),
    ("lists", "[[string]]", [["a"], [], ["b", ""]],
     collection(collection(text("a")), collection(), collection(text("b"), text("")))),
    ("map", "{string: [float]}", {"a": [1.0], "b": []},
     mapping(a=collection(primitive(float_value=1)), b=collection())),
    ("map_empty", "{string: int}", {}, mapping()),
    ("optional_none", "int | none", None, union(Type(simple=Simple.NONE), NONE)),
    ("optional_int", "int | none", 7, union(Type(simple=Simple.INTEGER), integer(7))),
    ("union_list", "[int] | string", [1],
     union(Type(collection_type=Type(simple=Simple.INTEGER)), collection(integer(1)))),
    ("union_map", "{string: bool} | none", {"k": True},
     union(Type(map_value_type=Type(simple=Simple.BOOLEAN)), mapping(k=primitive(boolean=True)))),
    ("union_file", "file | none", "/x",
     union(Type(blob=types_pb2.BlobType()), blob("/x"))),
    ("union_enum", "enum(a, b) | none", "b",
     union(Type(enum_type=types_pb2.EnumType(values=["a", "b"])), text("b"))),
    ("list_of_unions", "[int | string]", [1, "x"],
     collection(union(Type(simple=Simple.INTEGER), integer(1)),
                union(Type(simple=Simple.STRING), text("x")))),
]

KEPT = [
    ("generic", "struct", {"n": 3, "x": 1.5, "l": [True, None, "s"], "o": {"k": {}}},
     generic(n=3, x=1.5, l=[True, None, "s"], o={"k": {}})),
    ("generic_infinite", "struct", {"x": "-inf"}, generic(x=float("-inf"))),
    ("generics", "[struct]", [{"a": 1}, {}], collection(generic(a=1), generic())),
    ("generic_variant", "struct | none", {"a": 1},
     union(Type(simple=Simple.STRUCT), generic(a=1))),
    ("struct_infinite", "struct", {"a": "inf"},
     scalar(binary=literals_pb2.Binary(value=bytes.fromhex("81a161cb7ff0000000000000"),
                                       tag="msgpack"))),
    ("hashed", "int", 1, noted(integer(1), "abc", a="b", c="d")),
    ("hashed_file", 'file(format: "csv")', "s3://b/x", noted(blob("s3://b/x", "csv"), "abc")),
    ("file_format", "file", "s3://b/x", blob("s3://b/x", "csv")),
    ("hashed_map", "{string: int}", {"a": 1}, noted(mapping(a=noted(integer(1), "x")), "y")),
    ("hashed_elements", "[int]", [1, 2], collection(noted(integer(1), "x"), integer(2))),
    ("hashed_union", "int | none", 1,
     noted(union(Type(simple=Simple.INTEGER), integer(1)), "abc")),
    ("hashed_variant", "int | none", 1, union(Type(simple=Simple.INTEGER), noted(integer(1), "x"))),
    ("words", "string", "s", noted(text("s"), "", key="value")),
    ("bytes_tagged", "bytes", "AQ==",
     scalar(binary=literals_pb2.Binary(value=b"\1", tag="msgpack"))),
]

READ = [
    ("schema", "dataset", {"uri": "s3://bucket/s", "format": ""},
     scalar(schema=literals_pb2.Schema(uri="s3://bucket/s"))),
    ("int_for_float", "float", 3.0, integer(3)),
    ("plain_for_union", "int | none", 7, integer(7)),
    ("union_for_plain", "int", 7, union(Type(simple=Simple.INTEGER), integer(7))),
    ("union_by_type", "string | datetime",
     {"type": "datetime", "value": "2026-08-20T00:00:00Z"},
     union(Type(simple=Simple.DATETIME), moment(1787184000))),
    ("tagged_union", "string | int", "x",
     union(Type(simple=Simple.STRING, structure=types_pb2.TypeStructure(tag="str")), text("x"))),
    ("hashed_list", "[int]", [1], noted(collection(integer(1)), "abc")),
    ("file_uri", "file", "file:///data/x", blob("file:///data/x")),
]


def lines():
    for use, cases in (("both", BOTH), ("kept", KEPT), ("read", READ)):
        for name, kind, value, literal in cases:
            packed = literal.SerializeToString(deterministic=True).hex()
            yield "\t".join([name, kind, json.dumps(value, ensure_ascii=False), packed or "-", use])


if __name__ == "__main__":
    if "--write" in sys.argv:
        GOLDEN.write_text("\n".join(lines()) + "\n")
    else:
        print("\n".join(lines()))
