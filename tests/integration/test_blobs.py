#!/usr/bin/env python3
"""Files and large values between tasks, wherever the settings keep blobs."""

import os
import pathlib
import shutil
import unittest

from program import ProgramTest

FLOW = """
troupe: 1
tasks:
  make:
    outputs: {f: file, d: directory, l: "[int]", few: "[file]"}
    run: [python3, ROOT/make.py]
  list: {inputs: {d: directory}, outputs: {all: "[file]"}, run: [python3, ROOT/list.py]}
  use:
    inputs: {f: file, d: directory, l: "[int]", all: "[file]"}
    outputs: {text: string, f: file, inside: file}
    run: [python3, ROOT/use.py]
  sum: {inputs: {l: "[int]"}, run: [cat]}
  read: {inputs: {f: file}, outputs: {text: string}, run: [python3, ROOT/read.py]}
workflows:
  main:
    nodes:
      make: {task: make}
      list: {task: list, with: {d: $make.d}}
      use: {task: use, with: {f: $make.f, d: $make.d, l: $make.l, all: $list.all}}
      read: {map: read, with: {f: $make.few}}
      inside: {task: read, with: {f: $use.inside}}
    outputs: {text: $use.text, f: $use.f, d: $make.d, all: $list.all, l: $make.l,
              few: $read.text, inside: $inside.text}
  waits:
    nodes:
      make: {task: make}
      wait: {approve: ship, after: [make]}
      read: {task: read, with: {f: $make.f}, after: [wait]}
      sum: {task: sum, with: {l: $make.l}, after: [wait]}
  reads:
    inputs: {f: file}
    nodes: {read: {task: read, with: {f: $f}}}
    outputs: {text: $read.text}
"""

# A long name, so that fewer paths make a large value.
INSIDE = "x" * 200

MAKE = """
import json, os
os.mkdir("d")
open("a.txt", "w").write("content")
open("d/INSIDE", "w").write("inside")
for name in "012":
    open(name, "w").write(name)
json.dump({"f": "a.txt", "d": "d", "l": list(range(90000)), "few": ["0", "1", "2"]},
          open(os.environ["TROUPE_OUTPUTS"], "w"))
"""

# The list of files is a large value of its own: it lies in a blob that names blobs.
LIST = """
import json, os
path = json.load(open(os.environ["TROUPE_INPUTS"]))["d"] + "/INSIDE"
json.dump({"all": [path] * 1200}, open(os.environ["TROUPE_OUTPUTS"], "w"))
"""

USE = """
import json, os
inputs = json.load(open(os.environ["TROUPE_INPUTS"]))
texts = [open(path).read() for path in (inputs["f"], inputs["d"] + "/INSIDE", inputs["all"][-1])]
json.dump({"text": f"{texts[0]} {texts[1]} {texts[2]} {sum(inputs['l'])}", "f": inputs["f"],
           "inside": inputs["d"] + "/INSIDE"}, open(os.environ["TROUPE_OUTPUTS"], "w"))
"""

READ = """
import json, os
path = json.load(open(os.environ["TROUPE_INPUTS"]))["f"]
json.dump({"text": open(path).read()}, open(os.environ["TROUPE_OUTPUTS"], "w"))
"""


class FolderTest(ProgramTest):
    """Without a setting: the folder blobs/ of the store."""

    def setUp(self):
        super().setUp()
        self.store.mkdir()
        self.settle()
        self.write("flow.yaml", FLOW.replace("ROOT", str(self.folder)))
        self.write("make.py", MAKE.replace("INSIDE", INSIDE))
        self.write("list.py", LIST.replace("INSIDE", INSIDE))
        self.write("use.py", USE.replace("INSIDE", INSIDE))
        self.write("read.py", READ)

    def settle(self):
        """Writes the settings."""

    def blobs(self):
        """The names of all blobs."""
        return sorted(name for name in os.listdir(self.store / "blobs") if name[0] != ".")

    def lose_blobs(self, part=""):
        """Loses those whose names have this in them, or all."""
        for path in (self.store / "blobs").iterdir():
            if path.is_file() and part in path.name:
                path.unlink()

    def test_files_and_large_values_reach_tasks_and_people(self):
        outputs = self.document("run", "flow.yaml", "main", "--name", "it")["outputs"]
        self.assertEqual(outputs["text"], f"content inside inside {sum(range(90000))}")
        self.assertEqual(outputs["few"], ["0", "1", "2"])
        self.assertEqual(outputs["inside"], "inside")
        self.assertEqual(len(outputs["l"]), 90000)
        self.assertEqual(self.document("get", "it")["outputs"], outputs)
        for path in (outputs["f"], f"{outputs['d']}/{INSIDE}", *outputs["all"]):
            self.assertTrue(os.access(path, os.R_OK), path)
        # What was kept under one name by two tasks is one blob, whose name is an input, too.
        uri = "blob:" + pathlib.Path(outputs["f"]).name
        self.assertEqual(self.document("run", "flow.yaml", "reads", "-i",
                                       f"f={uri}")["outputs"], {"text": "content"})
        inside = f"blob:{pathlib.Path(outputs['d']).name}/{INSIDE}"
        self.assertEqual(self.document("run", "flow.yaml", "reads", "-i",
                                       f"f={inside}")["outputs"], {"text": "inside"})

    def error_of(self, node, spoil):
        """What it fails with behind a gate, before which something is spoilt."""
        running = self.start("run", "flow.yaml", "waits", "--name", "it")
        running.wait_for("wait: waits for approval")
        spoil()
        self.troupe("approve", "it", "ship")
        status, _, stderr = running.end()
        self.assertEqual(status, 1, stderr)
        return self.document("get", f"it/{node}")["error"]

    def spoil_large(self):
        """Damages the only large value."""
        for path in (self.store / "blobs").glob("[0-9a-f]*"):
            if path.stat().st_size > 100_000:
                path.chmod(0o600)
                path.write_bytes(path.read_bytes()[:-1])

    def test_a_blob_that_is_missing_fails_its_node_in_words(self):
        error = self.error_of("read", lambda: self.lose_blobs("-a.txt"))
        self.assertIn("InputsNotFoundError", error["code"])
        self.assertRegex(error["message"], "the input 'blob:[0-9a-f]{64}-a.txt': .*-a.txt: "
                         "No such file or directory")

    def test_a_large_value_that_is_damaged_fails_its_node_in_words(self):
        error = self.error_of("sum", self.spoil_large)
        self.assertIn("StorageError", error["code"])
        self.assertRegex(error["message"], "the value at blob:[0-9a-f]{64} cannot be read: it has "
                         "another size than it had")
        shown = self.document("get", "it/sum")["inputs"]["l"]
        self.assertEqual(shown["problem"], "the bytes are not what their schema says")
        self.assertRegex(shown["uri"], "^blob:[0-9a-f]{64}$|/blobs/[0-9a-f]{64}$")

    def test_what_names_no_blob_is_refused(self):
        _, stderr = self.troupe("run", "flow.yaml", "reads", "-i", "f=blob:12", status=2)
        self.assertIn("-i f: blob:12: No such file or directory; give the path of a file that is "
                      "there", stderr)
        digest = "0" * 64
        self.document("run", "flow.yaml", "reads", "--name", "it", "-i", f"f=blob:{digest}",
                      status=1)
        error = self.document("get", "it/read")["error"]
        self.assertIn("InputsNotFoundError", error["code"])
        self.assertIn(f"the input 'blob:{digest}': ", error["message"])

    def test_prune_keeps_what_is_named(self):
        self.troupe("run", "flow.yaml", "main", "--name", "it", "-q")
        self.troupe("prune", "--unnamed-older-than", "0s", "--yes")
        outputs = self.document("get", "it")["outputs"]
        self.assertEqual(pathlib.Path(outputs["f"]).read_text(), "content")
        self.assertEqual(len(outputs["l"]), 90000)
        self.troupe("prune", "it", "--unnamed-older-than", "0s", "--yes")
        self.assertEqual(self.blobs(), [])


class SharedFolderTest(FolderTest):
    """In a folder that several hosts reach."""

    def settle(self):
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        (self.store / "settings.yaml").write_text("blobs: ../shared\n")

    def blobs(self):
        return sorted(name for name in os.listdir(self.shared) if name[0] != ".")

    def test_the_store_leads_there(self):
        self.troupe("run", "flow.yaml", "main", "--name", "it", "-q")
        self.assertEqual(os.readlink(self.store / "blobs"), str(self.shared))
        self.assertGreater(len(self.blobs()), 3)
        outputs = self.document("get", "it")["outputs"]
        self.assertEqual(os.path.dirname(outputs["f"]), str(self.store.resolve() / "blobs"))
        # Without its settings it finds them all the same.
        (self.store / "settings.yaml").unlink()
        self.assertEqual(self.document("get", "it")["outputs"], outputs)
        self.troupe("run", "flow.yaml", "main", "-q")

    def test_a_folder_that_is_missing_is_told(self):
        self.shared.rmdir()
        _, stderr = self.troupe("run", "flow.yaml", "main", "-q", status=4)
        self.assertIn(f"the folder {self.store}/../shared of `blobs` in the settings cannot be "
                      "used: No such file or directory; make it, where all hosts of the store "
                      "reach it", stderr)

    def test_a_store_that_has_blobs_is_not_moved(self):
        (self.store / "settings.yaml").unlink()
        self.troupe("run", "flow.yaml", "main", "--name", "it", "-q")
        (self.store / "settings.yaml").write_text("blobs: ../shared\n")
        _, stderr = self.troupe("run", "flow.yaml", "main", "-q", status=4)
        self.assertIn(f"{self.store}/blobs holds blobs, and `blobs` of the settings is "
                      f"{self.shared}; move what begins with a digest there, and remove the first "
                      "folder", stderr)
        for path in (self.store / "blobs").glob("[0-9a-f]*"):
            path.rename(self.shared / path.name)
        shutil.rmtree(self.store / "blobs")
        self.troupe("run", "flow.yaml", "main", "-q")
        self.assertEqual(len(self.document("get", "it")["outputs"]["l"]), 90000)

    def test_two_stores_remove_nothing_of_each_other(self):
        self.troupe("run", "flow.yaml", "main", "--name", "it", "-q")
        first, self.store = self.store, self.folder / "other"
        self.store.mkdir()
        (self.store / "settings.yaml").write_text("blobs: ../shared\n")
        self.troupe("run", "flow.yaml", "main", "--name", "it", "-q")
        self.troupe("prune", "it", "--unnamed-older-than", "0s", "--yes")
        _, stderr = self.troupe("prune", "--unnamed-older-than", "0s", "--yes")
        self.assertRegex(stderr, f"{self.shared} holds blobs of another store, too, and nothing is "
                         "removed there; give each store a folder of its own, or remove "
                         r"\.new-[0-9a-f]{16} there if that store is gone")
        self.store = first
        self.assertEqual(len(self.document("get", "it")["outputs"]["l"]), 90000)

    def test_a_backup_holds_them(self):
        self.troupe("run", "flow.yaml", "main", "--name", "it", "-q")
        self.troupe("backup", "store.tar")
        self.store = self.folder / "other"
        self.troupe("restore", "store.tar")
        shutil.rmtree(self.shared)
        self.assertEqual(len(self.document("get", "it")["outputs"]["l"]), 90000)
        self.assertFalse((self.store / "blobs").is_symlink())


if __name__ == "__main__":
    unittest.main()
