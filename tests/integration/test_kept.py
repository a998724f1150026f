#!/usr/bin/env python3
"""What a task has put into its working folder, `{{.rawOutputDataPrefix}}`, or into that of its
checkpoints, and its outputs refer to: it is kept when the folder goes, in whatever the reference
stands, and goes along in an export.
"""

import os
import pathlib
import unittest

from program import ProgramTest

FLOW = """
troupe: 1
tasks:
  make:
    outputs: &outputs {d: dataset, c: dataset, all: '{string: [dataset | none]}', s: struct}
    run: [python3, ./make.py, '{{.rawOutputDataPrefix}}']
  read:
    inputs: *outputs
    outputs: {texts: [string]}
    run: [python3, ./read.py]
  decide:
    outputs: {texts: [string], text: string}
    run: [python3, ./decide.py, '{{.rawOutputDataPrefix}}']
workflows:
  main:
    nodes:
      make: {task: make}
      read: {task: read, with: {d: $make.d, all: $make.all, s: $make.s, c: $make.c}}
    outputs: {d: $make.d, all: $make.all, s: $make.s, c: $make.c, texts: $read.texts}
  dynamic:
    nodes: {d: {dynamic: decide}}
    outputs: {texts: $d.texts, text: $d.text}
"""

# A folder with a link in it, and two files.
MADE = """
import json, os, pathlib, sys
raw = pathlib.Path(sys.argv[1])
(raw / "table").mkdir()
(raw / "table/part").write_text("rows")
(raw / "table/link").symlink_to("part")
(raw / "one").write_text("one")
(raw / "two").write_text("two")
saved = pathlib.Path(os.environ["TROUPE_CHECKPOINT"]) / "saved"
saved.write_text("saved")
"""

MAKE = MADE + """
json.dump({
    "d": {"uri": str(raw / "table"), "format": "csv"},
    "all": {"a": [f"file://{raw}/one", None], "b": ["/elsewhere/x", "s3://x/y"]},
    "c": str(saved),
    "s": {"deep": [{"path": f"{raw}/two", "saved": str(saved)}], "here": str(raw),
          "gone": f"{raw}/none", "more": ["text"] * MORE}}, open(os.environ["TROUPE_OUTPUTS"], "w"))
"""

READ = """
import json, os
def texts(value):
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)
    elif isinstance(value, str) and os.path.isdir(value):
        yield open(value + "/link").read()
    elif isinstance(value, str) and os.path.exists(value):
        yield open(value).read()
found = sorted(texts(json.load(open(os.environ["TROUPE_INPUTS"]))))
json.dump({"texts": found}, open(os.environ["TROUPE_OUTPUTS"], "w"))
"""

DECIDE = MADE + r"""
json.dump({"tasks": {"again": {
    "inputs": {"d": {"type": "dataset", "default": f"{raw}/table"}}, "outputs": {"text": "string"},
    "run": ["sh", "-c", "printf '{\"text\": \"%s\"}' $(cat $0/part) >$TROUPE_OUTPUTS",
            "{{.inputs.d}}"]}},
    "nodes": {"again": {"task": "again", "after": ["read"]}, "read": {"task": "read", "with": {
    "d": f"{raw}/table", "all": {"a": [f"{raw}/one"]}, "s": {"path": f"{raw}/two"},
    "c": str(saved)}}},
    "outputs": {"texts": "$read.texts", "text": "$again.text"}},
    open(os.environ["TROUPE_OUTPUTS"], "w"))
"""

class KeptTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)
        self.write("make.py", MAKE.replace("MORE", "1"))
        self.write("read.py", READ)
        self.write("decide.py", DECIDE)

    def assert_kept(self, outputs, store):
        blobs = store / "blobs"
        kept = [outputs["d"]["uri"], outputs["all"]["a"][0]["uri"],
                outputs["s"]["deep"][0]["path"], outputs["s"]["deep"][0]["saved"],
                outputs["c"]["uri"]]
        for path in kept:
            self.assertEqual(pathlib.Path(path).parent, blobs)
        self.assertEqual(outputs["d"]["format"], "csv")
        self.assertEqual(os.readlink(pathlib.Path(kept[0]) / "link"), "part")
        self.assertEqual([part["uri"] for part in outputs["all"]["b"]],
                         ["/elsewhere/x", "s3://x/y"])
        self.assertTrue(outputs["s"]["here"].endswith("/work"))
        self.assertTrue(outputs["s"]["gone"].endswith("/work/none"))

    def test_data_outlives_the_folder_of_its_attempt(self):
        # Above 4 KiB a value is read by another way.
        for count in (1, 2000):
            with self.subTest(count):
                self.write("make.py", MAKE.replace("MORE", str(count)))
                outputs = self.document("run", "flow.yaml", "main")["outputs"]
                self.assert_kept(outputs, self.store)
                self.assertEqual(outputs["texts"], ["one", "rows", "saved", "saved", "two"])

    def test_it_goes_along_in_an_export(self):
        self.troupe("run", "flow.yaml", "main", "--name", "it", "-q")
        other = self.folder / "other"
        other.mkdir()
        self.troupe("export", "it")
        self.troupe("import", "it.troupe", "--store", other)
        self.assert_kept(self.document("get", "it", "--store", other)["outputs"], other)

    def test_what_a_decided_graph_names(self):
        outputs = self.document("run", "flow.yaml", "dynamic")["outputs"]
        self.assertEqual(outputs["texts"], ["one", "rows", "saved", "two"])
        self.assertEqual(outputs["text"], "rows")

    def test_what_a_decided_graph_names_and_cannot_be_kept(self):
        self.write("decide.py", DECIDE.replace("{raw}/one", "{raw}/none"))
        error = self.document("run", "flow.yaml", "dynamic", status=1)["error"]
        self.assertEqual(error["code"], "OutputsNotFound", error)
        self.assertRegex(error["message"],
                         r"'read' names '.*/work/none': .*/work/none: No such file or directory")

    def refused(self, before, after, *words):
        self.write("make.py", MAKE.replace(before, after).replace("MORE", "1"))
        error = self.document("run", "flow.yaml", "main", status=1)["error"]
        self.assertIn("OutputsNotFound", error["code"])
        for part in words:
            self.assertIn(part, error["message"])

    def test_what_cannot_be_kept_is_refused(self):
        self.refused("file://{raw}/one", "{raw}/none", "the output 'all' names '",
                     "/work/none: No such file or directory")
        self.refused('symlink_to("part")', 'symlink_to("/etc/passwd")', "the output 'd' names '",
                     "a link that leads out of the folder cannot be stored")


if __name__ == "__main__":
    unittest.main()
