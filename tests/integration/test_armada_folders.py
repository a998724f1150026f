#!/usr/bin/env python3
"""What attempts of jobs leave on the share goes when what processes leave would: of a success at
once, of a failure when `prune` or a retention says so; and nothing that anything still refers to.
"""

import json
import os
import pathlib
import signal
import subprocess
import unittest

from armada import ArmadaTest, until
from program import LIMIT_S, PROGRAM

NOBODY = 65534

FLOW = """
troupe: 1
tasks:
  make:
    inputs: {a: int}
    outputs: {f: file, d: directory}
    run: [/bin/sh, ./make.sh, '{{.inputs.a}}']
  read:
    inputs: {f: file, d: directory}
    outputs: {n: int}
    run: [/bin/sh, ./read.sh]
  bad: {run: [/bin/sh, -c, 'echo x >x; exit 3'], retries: 1}
workflows:
  main:
    inputs: {items: [int]}
    nodes:
      make: {map: make, with: {a: $items}}
      read: {map: read, with: {f: $make.f, d: $make.d}}
    outputs: {f: $make.f, d: $make.d, n: $read.n}
  fails:
    nodes: {bad: {task: bad}}
"""

MAKE = r"""
mkdir d
echo "$1" >f
cp f d
echo kept >"$TROUPE_CHECKPOINT/x"
echo '{"f": "f", "d": "d"}' >"$TROUPE_OUTPUTS"
"""

READ = r"""
f=$(sed -E 's/.*"f": "([^"]*)".*/\1/' "$TROUPE_INPUTS")
echo "{\"n\": $(cat "$f")}" >"$TROUPE_OUTPUTS"
"""

SIZE = 4
NOW = ("--unnamed-older-than", "0s", "--yes")


class FoldersTest(ArmadaTest):
    double_options = ("--execute", "--slots", "4")

    def setUp(self):
        super().setUp()
        self.share = self.folder / "share"
        self.share.mkdir()
        # Inputs are read from the store, which lies on the share.
        self.store.rename(self.share / "store")
        self.store = self.share / "store"
        self.settle(share=str(self.share))
        self.write("flow.yaml", FLOW)
        self.write("make.sh", MAKE)
        self.write("read.sh", READ)
        self.write("inputs.json", json.dumps({"items": list(range(SIZE))}))

    def left(self):
        """What lies on the share beside the store."""
        return sorted(str(path.relative_to(self.share)) for path in self.share.glob("troupe-*/*"))

    def run_failing(self):
        self.finish(self.start("run", "flow.yaml", "fails", "--name", "it", "-q", "-o", "json"), 1)
        folders = [pathlib.Path(attempt["folder"])
                   for attempt in self.document("get", "it/bad")["attempts"]]
        self.assertEqual([(folder / "work/x").read_text() for folder in folders], 2 * ["x\n"])
        return folders

    def test_of_successes_nothing_stays_but_what_outputs_name(self):
        outputs = self.run_all()["outputs"]
        until(lambda: self.left() == [])
        self.assertEqual(outputs["n"], list(range(SIZE)))
        for number in range(SIZE):
            self.assertEqual(pathlib.Path(outputs["f"][number]).read_text(), f"{number}\n")
            self.assertEqual((pathlib.Path(outputs["d"][number]) / "f").read_text(),
                             f"{number}\n")

    def test_failures_stay_until_they_are_pruned(self):
        folders = self.run_failing()
        self.troupe("prune", "--attempts-older-than", "1h", *NOW)
        self.assertTrue(all(folder.is_dir() for folder in folders))
        planned = self.document("prune", "--attempts-older-than", "0s", "--dry-run", *NOW)
        self.assertTrue(all(folder.is_dir() for folder in folders))
        pruned = self.document("prune", "--attempts-older-than", "0s", *NOW)
        self.assertGreaterEqual(pruned["attempts"]["count"], 2)
        self.assertEqual(planned["attempts"], pruned["attempts"])
        self.assertEqual(list(self.share.glob("troupe-*")), [])
        self.assertEqual(self.document("get", "it")["phase"], "failed")

    def test_an_execution_that_is_forgotten_leaves_nothing(self):
        self.run_failing()
        self.document("prune", "it", *NOW)
        self.assertEqual(list(self.share.glob("troupe-*")), [])

    def written(self):
        """What attempts have written where they work."""
        return [folder / "x" for folder in self.share.glob("troupe-*/*/work")
                if (folder / "x").exists()]

    def test_an_execution_that_went_elsewhere_keeps_its_folders(self):
        self.write("flow.yaml", FLOW.replace("echo x >x; exit 3", "echo x >x; sleep 60"))
        engine = self.start("run", "flow.yaml", "fails", "--name", "it", "-q")
        self.double.wait(running=1)
        until(self.written)
        engine.signal(signal.SIGTERM)
        engine.end()
        self.troupe("export", "it")
        self.troupe("prune", "it", "--attempts-older-than", "0s", *NOW)
        self.assertEqual(len(self.written()), 1)

    @unittest.skipUnless(os.geteuid() == 0, "needs somebody else to make the folders")
    def test_what_others_have_made_may_stay(self):
        folders = self.run_failing()
        self.end_keeper()
        for path in (self.store, *self.store.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        self.folder.chmod(0o755)
        done = subprocess.run([PROGRAM, "prune", "it", *NOW], cwd="/", env=self.environment(),
                              user=NOBODY, group=NOBODY, capture_output=True, text=True,
                              timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 folders on a share stay, since they cannot be removed; the first: "
                      f"{folders[0]}: ", done.stderr)
        self.assertIn("removed 1 executions", done.stdout)

    def test_what_a_link_leads_to_is_not_removed(self):
        folder = self.run_failing()[0]
        mine = self.folder / "mine"
        (mine / folder.name / "work").mkdir(parents=True)
        folder.parent.rename(self.folder / "moved")
        folder.parent.symlink_to(mine)
        self.document("prune", "it", *NOW)
        self.assertTrue((mine / folder.name / "work").is_dir())


if __name__ == "__main__":
    unittest.main()
