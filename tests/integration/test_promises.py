#!/usr/bin/env python3
"""What pages promise names a test, and the tests that they name are there."""

import functools
import pathlib
import re
import unittest

from program import ROOT

TESTS = ROOT / "tests"

# How a page names tests: by their place, by their file, by a file and one of its functions.
PLACE = re.compile(r"\b((?:unit|integration|stress|fuzz|sim)/[\w/]*\w)")
FILE = re.compile(r"`(test_\w+)(?:\.c|\.py)?`")
FUNCTION = re.compile(r"`(test_\w+\.(?:c|py)): (\w+)`")

ACCEPTANCE = range(1, 19)


@functools.cache
def files():
    """{name: path} of all that tests consist of."""
    return {path.name: path for path in TESTS.rglob("*") if path.is_file()}


def pages():
    return [path for path in ROOT.rglob("*.md")
            if not {"build", ".git"} & set(path.relative_to(ROOT).parts)]


def is_place(place):
    """unit/runtime/tap/tap is tests/unit/runtime/tap/test_tap.c."""
    path = TESTS / place
    names = (path.name, f"test_{path.name}", f"fuzz_{path.name}")
    return path.is_dir() or any((path.parent / f"{name}{end}").exists()
                                for name in names for end in (".c", ".py", ".h", ".md"))


def defines(text, name):
    return re.search(rf"\b(def|void|class) (test_)?{name}\(", text) is not None


@functools.cache
def is_a_test(name):
    """Whether it is a file of tests, or a function in one."""
    return any(f"{name}{end}" in files() for end in ("", ".c", ".py")) or any(
        defines(path.read_text(), name) for path in files().values()
        if path.name.startswith("test_") and path.suffix in (".c", ".py"))


class PromisesTest(unittest.TestCase):
    def test_what_pages_name_is_there(self):
        for path in pages():
            text = path.read_text()
            with self.subTest(str(path.relative_to(ROOT))):
                self.assertEqual([place for place in PLACE.findall(text) if not is_place(place)],
                                 [])
                self.assertEqual([name for name in FILE.findall(text) if not is_a_test(name)], [])
                self.assertEqual([(file, name) for file, name in FUNCTION.findall(text)
                                  if not defines(files()[file].read_text(), name)], [])


class AcceptanceTest(unittest.TestCase):
    """The table of acceptance tests beside this file."""

    def rows(self):
        """{number: words in backticks}."""
        text = (pathlib.Path(__file__).parent / "README.md").read_text()
        return {int(number): re.findall("`([^`]+)`", line)
                for number, line in re.findall(r"^\| AT(\d+) (\|.*)$", text, re.M)}

    @staticmethod
    def file_of(word):
        """The file of a test, as the table names it, or None."""
        folder = TESTS if "/" in word else TESTS / "integration"
        return next((path for path in (folder / f"{word}.py", folder / f"{word}.c")
                     if path.exists()), None)

    def test_each_has_a_row(self):
        self.assertEqual(sorted(self.rows()), list(ACCEPTANCE))

    def test_functions_are_in_the_files_of_their_row(self):
        for number, words in self.rows().items():
            with self.subTest(f"AT{number}"):
                texts = [self.file_of(word).read_text() for word in words if self.file_of(word)]
                names = [word for word in words if not self.file_of(word)]
                self.assertEqual([name for name in names
                                  if not any(defines(text, name) for text in texts)], [])


if __name__ == "__main__":
    unittest.main()
