#!/usr/bin/env python3
"""The page for those who come with pyflyte: all of it is typed, and prints what the page says."""

import os
import re
import shlex
import signal
import unittest

from pages import PageTest, parts
from program import ROOT, free_port
from pypi import KIT, KIT_PYTHON, have_library

PAGE = ROOT / "examples/flyte/REMOTE.md"


class RemotePageTest(PageTest):
    @classmethod
    def setUpClass(cls):
        have_library(KIT_PYTHON, KIT)

    def environment(self):
        environment = super().environment()
        return environment | {"PATH": f"{KIT_PYTHON.parent}:{environment['PATH']}",
                              "VIRTUAL_ENV": str(KIT_PYTHON.parent.parent)}

    def text(self):
        """With a port that is free, and as many elements as there is time for."""
        text = PAGE.read_text().replace("30080", str(free_port()))
        text = re.sub(r"map-reduce-[a-z0-9]{12}", "map-reduce-xxxxxxxxxxxx", text)
        if os.environ.get("TROUPE_TEST_LONG"):
            return text.replace("--size 100", "--size 1000").replace("size: 100", "size: 1000") \
                .replace("328350", "332833500").replace("100 of 100", "1000 of 1000")
        return text

    def type(self, commands):
        printed = super().type(commands)
        return re.sub(r"map-reduce-[a-z0-9]{12}", "map-reduce-xxxxxxxxxxxx", printed)

    def test_all_of_it(self):
        before, second, behind = re.split(r"^(```sh second\n.*?^```\n)", self.text(),
                                          flags=re.M | re.S)
        [words] = [shlex.split(part.text) for part in parts(second)]
        self.assertEqual(self.read(before), 0)
        self.assertEqual(words[0], "troupe")
        serving = self.start(*words[1:])
        serving.wait_for("insecure: ")
        self.assertEqual(self.read(behind), 6)
        serving.signal(signal.SIGTERM)
        self.assertEqual(serving.end()[0], 0)


if __name__ == "__main__":
    unittest.main()
