#!/usr/bin/env python3
"""Every example is run as its comment says, and prints what stands in NAME.expected beside it."""

import os
import re
import shlex
import unittest

from program import EXAMPLES, ProgramTest

# What examples read that is not in the repository.
NOTES = "the first line\nthe second line\nthe third line\nthe last line\n"


def commands(path):
    """The commands in the comment of an example: from `troupe run` on, as long as lines go on."""
    comment = re.match(r"(#.*\n)+", path.read_text()).group()
    text = comment[comment.index("troupe run"):].replace("\\\n#", "").split("\n")[0]
    return [shlex.split(part)[1:] for part in text.split("&&")]


class ExamplesTest(ProgramTest):
    def run_example(self, path):
        self.write("notes.txt", NOTES)
        settings = path.with_suffix("") / "settings.yaml"
        if settings.exists():
            os.environ["TROUPE_SETTINGS"] = str(settings)
            self.addCleanup(os.environ.pop, "TROUPE_SETTINGS")
        printed = ""
        for words in commands(path):
            if words[0] == "run":
                words[1] = path
            stdout, _ = self.troupe(*words, "-q", status=self.status_of(path))
            printed += stdout
        return re.sub(r"[0-9a-f]{64}", "HASH", printed.replace(str(self.store), "STORE"))

    @staticmethod
    def status_of(path):
        return 1 if path.stem == "failure" else 0


def add(path):
    def test(self):
        expected = path.with_suffix(".expected")
        printed = self.run_example(path)
        if os.environ.get("TROUPE_WRITE_EXPECTED"):
            expected.write_text(printed)
        self.assertEqual(printed, expected.read_text())
    setattr(ExamplesTest, f"test_{path.stem}", test)


for example in sorted(EXAMPLES.glob("*.yaml")):
    add(example)

if __name__ == "__main__":
    unittest.main()
