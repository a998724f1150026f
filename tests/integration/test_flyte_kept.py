#!/usr/bin/env python3
"""What entities of Flyte's say that nobody acts on here: it is kept, shown and given back, fields
that no version knows, too. And secrets in each of the ways in which flytekit asks for them."""

import unittest

from test_flyte_closure import ClosurePackageTest

# Tasks of a plugin's, since what is theirs is not looked at by anybody else.
TASKS = """
def other(name):
    spec = task(name, "1", {"a": INTEGER})
    spec.template.type = "armada"
    spec.template.custom.update({"queue": "research"})
    spec.template.task_type_version = 3
    return spec

spec = other("k.container")
container = spec.template.container
container.image = "image:1"
container.ports.add(container_port=80, name="web")
container.architecture = tasks_pb2.Container.ARM64
spec.template.metadata.metadata.labels["l"] = "kept"
spec.template.metadata.metadata.annotations["a"] = "kept"
spec.template.metadata.runtime.flavor = "rust"
again(spec)
spec = other("k.sql")
spec.template.sql.statement = "select 1"
spec.template.sql.dialect = tasks_pb2.Sql.HIVE
spec.template.metadata.is_eager = True
spec.template.metadata.generates_deck.value = True
again(spec)
spec = other("k.newer")
# A field of a newer Flyte's, in the task's own message.
inner = spec.template.SerializeToString() + b"\\xfa\\x3f\\x06newest"
members[-1] = (members[-1][0], b"\\x0a" + bytes([0x80 | len(inner) & 127, len(inner) >> 7]) + inner)
workflow("k.flow", {"a": INTEGER}, [node(f"n{i}", name, a=promise("", "a")) for i, name in
                                    enumerate(("k.container", "k.sql", "k.newer"))],
         {"o0": promise("n0")})
"""

SECRETS = """
code = ("' '.join(os.environ.get(n, 'none') for n in ('_FSEC_G_K', '_FSEC_G_V2_K', 'OWN', "
        "'_FSEC_G_FILED'))")
spec = task("k.secrets", code, {}, STRING)
add_secret = spec.template.security_context.secrets.add
add_secret(group="g", key="k")
add_secret(group="g", key="k", group_version="v2", env_var="OWN")
add_secret(group="g", key="filed", mount_requirement=2)
again(spec)
"""


class KeptTest(ClosurePackageTest):
    def test_what_plugins_tasks_say(self):
        self.package(TASKS)
        kept, = self.document("inspect", "flows.tgz", "k.container")
        extra = kept["extra"]
        self.assertEqual(extra["container"], {
            "ports": [{"containerPort": 80, "name": "web"}], "architecture": "ARM64"})
        self.assertEqual(extra["metadata"]["metadata"], {"labels": {"l": "kept"},
                                                         "annotations": {"a": "kept"}})
        kept, = self.document("inspect", "flows.tgz", "k.sql")
        extra = kept["extra"]
        self.assertEqual(extra["sql"], {"statement": "select 1", "dialect": "HIVE"})
        self.assertEqual((extra["taskTypeVersion"], extra["metadata"]["isEager"],
                          extra["metadata"]["generatesDeck"]), (3, True, True))

    def test_all_of_it_is_given_back(self):
        self.package(TASKS)
        closure = self.closure("flows.tgz", "k.flow", noted=None)
        tasks = {each["template"]["id"]["name"]: each["template"]
                 for each in self.read(closure)["tasks"]}
        self.assertEqual(tasks["k.container"]["container"]["ports"],
                         [{"containerPort": 80, "name": "web"}])
        self.assertEqual(tasks["k.container"]["metadata"]["runtime"], {"flavor": "rust"})
        self.assertEqual(tasks["k.sql"]["sql"]["dialect"], "HIVE")
        self.assertIn(b"\xfa\x3f\x06newest", closure)

    def test_secrets(self):
        self.package(SECRETS)
        self.write("get-secret", """#!/bin/sh
case "$2" in g/k) printf plain;; g/k@v2) printf versioned;; g/filed) printf filed;; *) exit 1;; esac
""")
        (self.folder / "get-secret").chmod(0o755)
        self.store.mkdir()
        (self.store / "settings.yaml").write_text(
            f"secrets:\n  - command: [{self.folder}/get-secret, -q]\n")
        done = self.document("run", "flows.tgz", "k.secrets")
        self.assertEqual(done["outputs"]["o0"], "plain versioned versioned filed")

    def test_it_is_shown_in_each_form(self):
        self.package(TASKS)
        stdout, _ = self.troupe("inspect", "flows.tgz", "k.sql", "-o", "yaml")
        self.assertIn('"statement": "select 1"', stdout)


if __name__ == "__main__":
    unittest.main()
