"""A client of Flyte's API by grpc-go, which tests call line by line.

It is built once for each state of tests/support/go_client/ and schemas/flyteidl/: protoc, which
grpcio-tools brings along, makes Go of the definitions, with the plugin of Go's own protobuf. Where
there is no Go the test is skipped, and so it is without TROUPE_TEST_LONG where it is not built yet:
to compile gRPC takes a minute.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from program import LIBRARIES, PROGRAM, ROOT
from pypi import have_library

SOURCE = ROOT / "tests/support/go_client"
DEFINITIONS = ROOT / "schemas/flyteidl"
FOLDER = PROGRAM.parent / "go-client"
GO = shutil.which("go") or "/usr/local/go/bin/go"
TOOLS_PYTHON = LIBRARIES / "python-grpc-tools/bin/python"
IS_LONG = bool(os.environ.get("TROUPE_TEST_LONG"))

# Our definitions bring along the few messages of protobuf's that they use; Go has those.
WELL_KNOWN = "".join(f'import "google/protobuf/{name}.proto";\n' for name in (
    "any", "duration", "struct", "timestamp", "wrappers"))
# What Flyte's clients have no use for, or Go's own libraries define.
LEFT_OUT = ("well_known", "grpc_", "rpc_status")


def definitions():
    return {path.name: path.read_text() for path in sorted(DEFINITIONS.glob("*.proto"))
            if not path.name.startswith(LEFT_OUT)}


def state():
    """What says whether the program is one of these sources."""
    digest = hashlib.sha256(json.dumps(definitions()).encode())
    for path in sorted(SOURCE.iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr}")


def make_stubs(go):
    proto = FOLDER / "proto/flyteidl"
    proto.mkdir(parents=True)
    options = []
    for name, text in definitions().items():
        package = re.search(r"^package flyteidl\.(\w+);", text, re.M)[1]
        options.append(f"--go_opt=Mflyteidl/{name}=troupe/client/stubs/{package}")
        text = text.replace('import "flyteidl/well_known.proto";\n', WELL_KNOWN)
        (proto / name).write_text(text)
    run(go, "build", "-o", "protoc-gen-go", "google.golang.org/protobuf/cmd/protoc-gen-go",
        cwd=FOLDER)
    run(TOOLS_PYTHON, "-m", "grpc_tools.protoc", "-I", "proto", "--plugin=protoc-gen-go",
        "--go_out=.", "--go_opt=module=troupe/client", *options,
        *(f"flyteidl/{name}" for name in definitions()), cwd=FOLDER)


def build():
    """The program."""
    if not os.access(GO, os.X_OK):
        raise unittest.SkipTest("there is no Go here")
    stamp = FOLDER / "state"
    if not stamp.exists() or stamp.read_text() != state():
        if not IS_LONG:
            raise unittest.SkipTest("the client in Go is built with TROUPE_TEST_LONG")
        have_library(TOOLS_PYTHON, "grpcio-tools==1.*")
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.copytree(SOURCE, FOLDER)
        try:
            make_stubs(GO)
            run(GO, "build", "-o", "client", ".", cwd=FOLDER)
        except RuntimeError as error:
            raise unittest.SkipTest(f"the client in Go cannot be built: {error}") from error
        stamp.write_text(state())
    return pathlib.Path(FOLDER / "client")


class Client:
    def __init__(self, address):
        self.process = subprocess.Popen([build(), address], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def call(self, method, types, request):
        """The code, the words and the response; `types` are the service and the types of both."""
        service, *kinds = types
        self.process.stdin.write(" ".join([service, method, *kinds, json.dumps(request)]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.kill()
        self.process.communicate()
