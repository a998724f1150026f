#!/usr/bin/env python3
"""The page for those who come from elsewhere: our side of each example prints what the page says,
and their side is theirs, as far as that can be had here."""

import ast
import os
import re
import shutil
import subprocess
import unittest

from pages import PageTest, parts, sections
from program import LIMIT_S, ROOT
from pypi import KIT, KIT_PYTHON, have_library

PARTS = sections((ROOT / "examples/MIGRATING.md").read_text())


class MigratingTest(PageTest):
    def file(self, title, name):
        [text] = [part.text for part in parts(PARTS[title]) if part.name == name]
        return text

    def test_flytekit(self):
        self.assertEqual(self.read(PARTS["flytekit"]), 2)
        ast.parse(self.file("flytekit", "words.py"))

    @unittest.skipUnless(os.environ.get("TROUPE_TEST_LONG"), "needs flytekit, which is large")
    def test_flytekit_gives_the_same(self):
        have_library(KIT_PYTHON, KIT)
        self.write("words.py", self.file("flytekit", "words.py"))
        done = subprocess.run([KIT_PYTHON.parent / "pyflyte", "run", "words.py", "main", "--text",
                               "to be or not"], cwd=self.folder, env=self.environment(), text=True,
                              capture_output=True, timeout=LIMIT_S, check=False)
        self.assertIn("2.25", done.stdout, done.stderr)

    def test_airflow(self):
        self.assertEqual(self.read(PARTS["Airflow"]), 2)
        ast.parse(self.file("Airflow", "orders_dag.py"))

    def test_nextflow(self):
        self.assertEqual(self.read(PARTS["Nextflow"]), 1)

    @unittest.skipUnless(shutil.which("make"), "needs make")
    def test_make(self):
        self.assertEqual(self.read(PARTS["make"]), 3)

    def test_each_part_has_both_sides(self):
        for text in list(PARTS.values()):
            heads = re.findall("^### (.*)", text, re.M)
            self.assertEqual(heads, ["Yours", "Ours", "What is different", "What you will miss"])


if __name__ == "__main__":
    unittest.main()
