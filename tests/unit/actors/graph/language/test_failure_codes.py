#!/usr/bin/env python3
"""The codes that the compiler knows are those that the page of the language lists, each is given
somewhere in the code, and the exceptions beside them are Python's."""

import builtins
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[5]
TABLE = re.compile(r'^    \{"(\w+)", (USER|SYSTEM|FINAL)\},$', re.M)
TRIED_BY = {"`retries`": "USER", "the system": "SYSTEM", "nothing": "FINAL"}


def known():
    """The kind of each code of the table."""
    return dict(TABLE.findall((ROOT / "actors/graph/language/failure_codes.c").read_text()))


def is_exception(name):
    """Python has no code of Troupe's among its exceptions."""
    return isinstance(getattr(builtins, name, None), type)


class FailureCodesTest(unittest.TestCase):
    def test_the_page_has_those_of_the_table(self):
        page = (ROOT / "examples/README.md").read_text()
        part = page[page.index("### Codes of failures"):]
        listed = {}
        for names, tried in re.findall(r"^\| (`.+`) \| .+ \| (.+) \|$", part[:part.index("\n## ")],
                                       re.M):
            kind = next(kind for words, kind in TRIED_BY.items() if tried.startswith(words))
            listed |= {name: kind for name in re.findall(r"`(\w+)`", names)}
        self.assertEqual(listed, {name: kind for name, kind in known().items()
                                  if not is_exception(name)})

    def test_each_code_is_given_somewhere(self):
        sources = "".join(path.read_text() for folder in ("actors", "deploy", "plugins", "schemas")
                          for path in sorted((ROOT / folder).rglob("*.[ch]"))
                          if path.name != "failure_codes.c")
        missing = [name for name in known() if not is_exception(name)
                   and f'"{name}"' not in sources]
        self.assertEqual(missing, [])

    def test_exceptions_are_pythons(self):
        names = [name for name in known() if is_exception(name)]
        self.assertGreater(len(names), 40)
        for name in names:
            self.assertTrue(issubclass(getattr(builtins, name), BaseException), name)


if __name__ == "__main__":
    unittest.main()
