#!/usr/bin/env python3
"""Large values are values: a flow looks into them, builds with them and leaves them out as if they
were small."""

import unittest

from program import ProgramTest

# Above TR_INLINE_BYTES_MAX (256 KiB), so that it lies in the blobs.
LONG = 300_000

TASKS = """
troupe: 1
tasks:
  make:
    outputs: {v: struct, l: "[string]", n: "[int]", s: string}
    run: [python3, ./make.py]
  text: {type: echo, inputs: {a: string}, outputs: {b: string}}
  number: {type: echo, inputs: {a: int}, outputs: {b: int}}
  texts: {type: echo, inputs: {a: "[string]"}, outputs: {b: "[string]"}}
  maybe: {type: echo, inputs: {a: string | none}, outputs: {b: string | none}}
  map: {type: echo, inputs: {a: {string: string}}, outputs: {b: {string: string}}}
workflows:
"""

MAKE = f"""
import json, os
long = "x" * {LONG}
json.dump({{"v": {{"name": "small", "long": long, "deep": [{{"n": 7}}]}}, "l": ["a", long, "c"],
           "n": list(range(200_000)), "s": long}}, open(os.environ["TROUPE_OUTPUTS"], "w"))
"""


class LargePartsTest(ProgramTest):
    def outputs(self, workflow, *words):
        self.write("make.py", MAKE)
        self.write("flow.yaml", TASKS + workflow)
        return self.document("run", "flow.yaml", *words)["outputs"]

    def error(self, workflow, *words):
        self.write("make.py", MAKE)
        self.write("flow.yaml", TASKS + workflow)
        return self.document("run", "flow.yaml", *words, status=1)["error"]

    def test_references_look_inside(self):
        outputs = self.outputs("""
  main:
    nodes:
      m: {task: make}
      field: {task: text, with: {a: $m.v.name}}
      deep: {task: number, with: {a: "$m.v.deep[0].n"}}
      element: {task: number, with: {a: "$m.n[199999]"}}
      long: {task: text, with: {a: $m.v.long}}
      again: {task: text, with: {a: "$m.l[1]"}}
    outputs: {field: $field.b, deep: $deep.b, element: $element.b, long: $long.b, again: $again.b,
              own: {value: $m.v.name, type: string}, last: "$m.l[2]"}
""")
        self.assertEqual(outputs, {"field": "small", "deep": 7, "element": 199_999,
                                   "long": "x" * LONG, "again": "x" * LONG, "own": "small",
                                   "last": "c"})

    def test_what_is_not_there_is_told_as_of_small_values(self):
        error = self.error("""
  main:
    nodes:
      m: {task: make}
      t: {task: number, with: {a: "$m.n[200000]"}}
""")
        self.assertEqual(error["code"], "BindingResolutionError")
        self.assertEqual(error["message"],
                         "'a' gets $m.n[200000], which is not there: no such field or element")
        error = self.error("""
  main:
    nodes:
      m: {task: make}
      t: {task: number, with: {a: $m.v.long}}
""")
        self.assertEqual(error["message"], f"'a' gets $m.v.long, which holds '{'x' * 80}', which "
                         "does not fit the declared type int")

    def test_lists_and_maps_are_built_of_large_parts(self):
        outputs = self.outputs("""
  main:
    nodes:
      m: {task: make}
      l: {task: texts, with: {a: [small, $m.s, "$m.l[0]", $m.v.long]}}
      k: {task: map, with: {a: {z: $m.s, a: $m.v.name}}}
    outputs: {l: $l.b, k: $k.b, own: {value: [$m.s], type: "[string]"}}
""")
        self.assertEqual(outputs["l"], ["small", "x" * LONG, "a", "x" * LONG])
        self.assertEqual(outputs["k"], {"a": "small", "z": "x" * LONG})
        self.assertEqual(outputs["own"], ["x" * LONG])

    def test_what_may_be_none_may_be_large(self):
        outputs = self.outputs("""
  inside:
    nodes: {m: {task: make}}
    outputs: {s: $m.s}
  main:
    nodes:
      m: {task: make, optional: true}
      w: {workflow: inside, optional: true}
      one: {task: maybe, with: {a: $w.s}}
    outputs: {s: $m.s, w: $w.s, one: $one.b}
""")
        self.assertEqual(outputs, {"s": "x" * LONG, "w": "x" * LONG, "one": "x" * LONG})
        self.assertEqual(self.document("get", "@last/one")["inputs"], {"a": "x" * LONG})

    def test_elements_may_be_large(self):
        workflow = """
  main:
    nodes:
      m: {task: make}
      all: {map: text, with: {a: $m.l}}
      none: {map: maybe, with: {a: $m.l}}
    outputs: {all: $all.b, none: $none.b, one: "$all.b[1]"}
"""
        outputs = self.outputs(workflow, "--name", "it")
        expected = ["a", "x" * LONG, "c"]
        self.assertEqual(outputs, {"all": expected, "none": expected, "one": "x" * LONG})
        element = self.document("get", "it/all[1]")
        self.assertEqual(element["inputs"], {"a": "x" * LONG})
        self.assertEqual(element["outputs"], {"b": "x" * LONG})

    def test_a_large_list_of_files_is_kept(self):
        """More bytes of paths than stay inline: they outlive the folder of the attempt."""
        count = 100
        self.write("files.py", f"""
import json, os
names = ["./" * 1400 + f"file-{{i}}.txt" for i in range({count})]
for name in names:
    open(name, "w").write(name[-12:])
json.dump({{"f": names, "one": names[0]}}, open(os.environ["TROUPE_OUTPUTS"], "w"))
""")
        self.write("flow.yaml", """
troupe: 1
tasks:
  make: {outputs: {f: "[file]", one: file}, run: [python3, "{{.folder}}/files.py"]}
  read: {inputs: {f: file}, outputs: {s: string}, stdout: outputs, run: [python3, -c,
         "import json,sys; print(json.dumps({'s': open(sys.argv[1]).read()}))", "{{.inputs.f}}"]}
  gone: {outputs: {f: "[file]"}, stdout: outputs, run: [python3, -c,
         "import json; print(json.dumps({'f': ['nowhere/' + 'z' * 50] * 20000}))"]}
workflows:
  main:
    nodes:
      m: {task: make}
      t: {task: read, with: {f: "$m.f[77]"}}
    outputs: {f: $m.f, s: $t.s, one: $m.one}
  lost: {nodes: {m: {task: gone}}}
""".replace("{{.folder}}", str(self.folder)))
        outputs = self.document("run", "flow.yaml", "main")["outputs"]
        self.assertEqual(len(outputs["f"]), count)
        self.assertEqual(outputs["s"], "/file-77.txt")
        blobs = str(self.store.resolve() / "blobs")
        self.assertTrue(all(path.startswith(blobs) for path in outputs["f"]), outputs["f"][0])
        self.assertEqual(outputs["f"][0], outputs["one"])
        error = self.document("run", "flow.yaml", "lost", status=1)["error"]
        self.assertIn("OutputsNotFound", error["code"])
        self.assertIn("nowhere/", error["message"])
        self.assertIn("No such file or directory", error["message"])

    def test_conditions_look_inside(self):
        for name, taken in (("small", "yes"), ("other", "no")):
            outputs = self.outputs("""
  main:
    inputs: {name: string}
    nodes:
      m: {task: make}
      s:
        switch:
          - {when: $m.v.name == $name, task: text, with: {a: "yes"}}
          - {when: $m.s == $name, task: text, with: {a: long}}
          - else: {task: text, with: {a: "no"}}
    outputs: {b: $s.b}
""", "-i", f"name={name}")
            self.assertEqual(outputs, {"b": taken})

    def test_conditions_compare_large_values(self):
        workflow = """
  main:
    nodes:
      m: {task: make}
      s:
        switch:
          - {when: $m.s == $m.v.long, task: text, with: {a: same}}
          - else: {task: text, with: {a: other}}
    outputs: {b: $s.b}
"""
        self.assertEqual(self.outputs(workflow), {"b": "same"})

    def test_what_conditions_compare_has_a_bound(self):
        self.write("make.py", MAKE.replace("* 300000", "* 500000"))
        self.write("flow.yaml", TASKS + """
  main:
    nodes:
      m: {task: make}
      s:
        switch:
          - {when: $m.s == $m.v.long, task: text, with: {a: same}}
          - else: skip
""")
        error = self.document("run", "flow.yaml", "main", status=1)["error"]
        self.assertEqual(error["code"], "InlineSizeExceeded")
        self.assertIn("the conditions compare values of 1000013 bytes together, more than "
                      "TR_CONDITION_VALUES_BYTES_MAX (786432); compare a part of them",
                      error["message"])

    def test_gates_and_those_who_clean_up_look_inside(self):
        self.write("make.py", MAKE)
        self.write("flow.yaml", TASKS + """
  main:
    nodes:
      m: {task: make}
      ok: {approve: ship, with: {name: {value: $m.v.name, type: string}}}
      bad: {task: number, with: {a: $m.v.name}, after: [ok]}
    on_failure: {task: text, with: {a: $err.code}}
    outputs: {name: $ok.name}
""")
        running = self.start("run", "flow.yaml", "--name", "it")
        running.wait_for("ok: waits for approval")
        self.assertEqual(self.document("get", "it/ok")["inputs"], {"name": "small"})
        self.troupe("approve", "it", "ship")
        status, _, stderr = running.end()
        self.assertEqual(status, 1, stderr)
        self.assertEqual(self.document("get", "it")["error"]["code"], "BindingResolutionError")

    def test_a_blob_that_is_gone_fails_the_node_in_words(self):
        self.write("make.py", MAKE)
        self.write("flow.yaml", TASKS + """
  main:
    nodes:
      m: {task: make}
      wait: {approve: ship, after: [m]}
      t: {task: text, with: {a: $m.v.name}, after: [wait]}
""")
        running = self.start("run", "flow.yaml", "--name", "it")
        running.wait_for("wait: waits for approval")
        for path in (self.store / "blobs").iterdir():
            if path.is_file():
                path.unlink()
        self.troupe("approve", "it", "ship")
        running.end()
        error = self.document("get", "it/t")["error"]
        self.assertEqual(error["code"], "StorageError")
        self.assertIn("its inputs are part of a large value, which cannot be read: not found: the "
                      "value at ", error["message"])


if __name__ == "__main__":
    unittest.main()
