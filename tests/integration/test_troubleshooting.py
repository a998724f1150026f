#!/usr/bin/env python3
"""Each symptom is brought about as the page of troubleshooting says, and the one command prints
what the page says."""

import unittest

from pages import PageTest, sections
from program import ROOT

PAGE = (ROOT / "examples/TROUBLESHOOTING.md").read_text()


class TroubleshootingTest(PageTest):
    """A test for each part of the page; they are added below."""

    def test_each_part_is_in_the_table(self):
        first = PAGE.partition("\n## ")[0]
        for title in sections(PAGE):
            place = title.lower().replace(" ", "-").replace(":", "")
            self.assertIn(f"| [{title}](#{place}) |\n", first)


def add(title, text):
    def test(self):
        self.assertGreater(self.read(text), 0)
    words = "".join(letter if letter.isalpha() else "_" for letter in title.lower())
    setattr(TroubleshootingTest, f"test_{words}", test)


for one in sections(PAGE).items():
    add(*one)

if __name__ == "__main__":
    unittest.main()
