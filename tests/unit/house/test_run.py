#!/usr/bin/env python3
"""What tests/run counts: a test that fails beside others and passes alone has passed, and is named;
one that fails twice has failed."""

import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]

# Functions of tests/run, on tests that are none of ours.
SCRIPT = """
source "$1/tests/run"
build() { true; }
build_folder() { printf '%s' "$FOLDER"; }
parse_options "${@:2}"
test_pass gcc dev
printf '\\n%d passed, %d failed\\n' "$passed" "$failed"
"""

WELL = "true"
BROKEN = "false"
AT_ONCE = "mkdir was-here && exit 1; exit 0"  # fails at first, and then no more


class RunTest(unittest.TestCase):
    def run_tests(self, tests, *options):
        with tempfile.TemporaryDirectory(prefix="troupe-run-") as folder:
            lines = [f'add_test({name} "/bin/sh" "-c" "{words}")\n'
                     for name, words in tests.items()]
            (pathlib.Path(folder) / "CTestTestfile.cmake").write_text("".join(lines))
            done = subprocess.run(["bash", "-c", SCRIPT, "bash", ROOT, *options], text=True,
                                  capture_output=True, check=False, timeout=60,
                                  env={"FOLDER": folder, "PATH": "/usr/bin:/bin"})
        return done.stdout.splitlines()[-1], done.stderr

    def test_all_is_well(self):
        counts, stderr = self.run_tests({"first/a": WELL, "first/b": WELL})
        self.assertEqual(counts, "2 passed, 0 failed")
        self.assertNotIn("alone", stderr)

    def test_what_is_broken_has_failed(self):
        counts, stderr = self.run_tests({"first/a": WELL, "first/b": BROKEN})
        self.assertEqual(counts, "1 passed, 1 failed")
        self.assertNotIn("passed only when", stderr)

    def test_what_passes_alone_is_named(self):
        counts, stderr = self.run_tests({"first/a": WELL, "first/b": AT_ONCE})
        self.assertEqual(counts, "2 passed, 0 failed")
        self.assertIn("passed only when run alone: first/b\n", stderr)

    def test_both_at_once(self):
        counts, stderr = self.run_tests({"first/a": BROKEN, "first/b": AT_ONCE, "first/c": WELL})
        self.assertEqual(counts, "2 passed, 1 failed")
        self.assertIn("passed only when run alone: first/b\n", stderr)
        self.assertNotIn("passed only when run alone: first/a", stderr)

    def test_only_what_was_chosen(self):
        self.assertEqual(self.run_tests({"first/a": BROKEN, "other/b": WELL}, "--only", "other")[0],
                         "1 passed, 0 failed")

    def test_nothing_to_run(self):
        counts, stderr = self.run_tests({"first/a": WELL}, "--only", "nothing")
        self.assertEqual(counts, "0 passed, 1 failed")
        self.assertIn("ctest found no test to run", stderr)


if __name__ == "__main__":
    unittest.main()
