#!/usr/bin/env python3
"""The tree as it is keeps the laws of the house.

When this fails, each line it prints names a file, a line, the law and what to do. The laws are the
tables of laws.py; test_laws.py shows that each of them can fail.
"""

import os
import unittest

from check import check_tree

ROOT = os.path.dirname(os.path.abspath(__file__)) + "/../../.."


class House(unittest.TestCase):
    def test_this_tree_keeps_the_laws(self):
        findings = check_tree(os.path.normpath(ROOT))
        self.assertEqual(findings, [], "\n" + "\n".join(map(str, findings)))


if __name__ == "__main__":
    unittest.main()
