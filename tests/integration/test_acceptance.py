#!/usr/bin/env python3
"""The table of acceptance tests (README.md): each of them has a row, and the tests in it are there."""

import pathlib
import re
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
NUMBERS = range(1, 19)


def rows():
    """{number: words in backticks} of the table."""
    text = (FOLDER / "README.md").read_text()
    return {int(number): re.findall("`([^`]+)`", line)
            for number, line in re.findall(r"^\| AT(\d+) (\|.*)$", text, re.M)}


def file_of(word):
    """The file of a test, as the table names it, or None."""
    folder = FOLDER if "/" not in word else FOLDER.parent
    return next((path for path in (folder / f"{word}.py", folder / f"{word}.c") if path.exists()),
                None)


class AcceptanceTest(unittest.TestCase):
    def test_each_has_a_row(self):
        self.assertEqual(sorted(rows()), list(NUMBERS))

    def test_what_is_named_is_there(self):
        for number, words in rows().items():
            with self.subTest(f"AT{number}"):
                files = [path.read_text() for path in map(file_of, words) if path is not None]
                names = [word for word in words if file_of(word) is None]
                for name in names:
                    self.assertTrue(any(re.search(rf"(def|void|class) {name}\(", text)
                                        for text in files), name)
                self.assertTrue(files or number == 6)


if __name__ == "__main__":
    unittest.main()
