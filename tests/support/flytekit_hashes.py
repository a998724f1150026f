"""Keys of cached results over what tasks were given and gave: ours beside Flyte's and flytekit's.

    python flytekit_hashes.py FOLDER PROGRAM    prints JSON: how many, and those that differ

FOLDER is looked through for inputs.pb and outputs.pb; each literal in them is hashed by itself,
and all of a document together. PROGRAM is `flyteidl_again`.
"""

import json
import pathlib
import subprocess
import sys

from flyte_hashes import flytes, hashed
from flyteidl.core import literals_pb2
from flytekit.utils.pbhash import compute_hash


def maps(folder):
    for path in sorted(folder.rglob("*puts.pb")):
        whole = literals_pb2.LiteralMap.FromString(path.read_bytes())
        yield path, whole
        for name, literal in whole.literals.items():
            yield path / name, literals_pb2.LiteralMap(literals={name: literal})


def main(folder, program):
    found = {}
    for path, message in maps(pathlib.Path(folder)):
        found.setdefault(message.SerializeToString(deterministic=True).hex(), (str(path), message))
    ours = subprocess.run([program, "hash"], input="\n".join(found) + "\n", text=True,
                          capture_output=True, check=True).stdout.splitlines()
    differ = [path for (path, message), line in zip(found.values(), ours, strict=True)
              if line.split() != [flytes(hashed(message)).hex(), compute_hash(message).hex()]]
    print(json.dumps({"count": len(found), "differ": differ}))


if __name__ == "__main__":
    main(*sys.argv[1:])
