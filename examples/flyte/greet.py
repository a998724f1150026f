"""A task as Flyte has them: inputs.pb in, outputs.pb or error.pb out."""

import pathlib
import sys

from flyteidl.core import errors_pb2, literals_pb2

inputs_path, output_prefix = sys.argv[1], pathlib.Path(sys.argv[2])


def text(value):
    primitive = literals_pb2.Primitive(string_value=value)
    return literals_pb2.Literal(scalar=literals_pb2.Scalar(primitive=primitive))


inputs = literals_pb2.LiteralMap.FromString(pathlib.Path(inputs_path).read_bytes()).literals
name = inputs["name"].scalar.primitive.string_value
times = inputs["times"].scalar.primitive.integer

if times < 1:
    error = errors_pb2.ContainerError(code="USER:ValueError", message=f"{times} is no number of times",
                                      kind=errors_pb2.ContainerError.NON_RECOVERABLE)
    document = errors_pb2.ErrorDocument(error=error)
    (output_prefix / "error.pb").write_bytes(document.SerializeToString())
else:
    greetings = literals_pb2.LiteralCollection(literals=[text(f"Hello, {name}!")] * times)
    outputs = {"greetings": literals_pb2.Literal(collection=greetings)}
    document = literals_pb2.LiteralMap(literals=outputs)
    (output_prefix / "outputs.pb").write_bytes(document.SerializeToString())
