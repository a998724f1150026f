#!/usr/bin/env python3
"""What comes with the program: manual pages for all commands, and an installation that has them."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from program import LIMIT_S, PROGRAM, ROOT, ProgramTest


class ManualTest(ProgramTest):
    def page(self, *words):
        """A page as it is read, no word divided: (text, what troff complains of)."""
        source = self.troupe("help", "--man", *words)[0]
        groff = ["groff", "-man", "-ww", "-rHY=0", "-Tascii", "-P-c", "-P-b", "-P-u"]
        done = subprocess.run(groff, input=source, text=True, capture_output=True, timeout=LIMIT_S)
        return done.stdout, done.stderr

    def commands(self):
        return self.troupe("help", "-o", "name")[0].split()

    def test_pages_are_right_and_say_what_help_says(self):
        for command in self.commands():
            text, complaints = self.page(command)
            self.assertEqual(complaints, "", command)
            summary = self.troupe("help", command)[0].splitlines()[2]
            self.assertIn(f"troupe-{command} - {summary}", " ".join(text.split()))
            for line in self.troupe(command, "--help")[0].splitlines():
                option = line.strip().partition("--")[2].split(" ")[0]
                if line.startswith("  ") and option and line.strip().startswith("-"):
                    self.assertIn(f"--{option}", text, command)

    def test_the_first_page_names_all_commands(self):
        text, complaints = self.page()
        self.assertEqual(complaints, "")
        for command in self.commands():
            self.assertIn(f"troupe-{command}(1)", text)

    def test_texts_of_troff_are_no_requests(self):
        text = self.page("tap")[0]
        self.assertNotIn("\\", self.troupe("help", "tap")[0])
        for line in self.troupe("help", "tap")[0].splitlines():
            if line.startswith("  troupe tap"):
                self.assertIn(line.strip(), text)

    def test_an_installation_has_them(self):
        with tempfile.TemporaryDirectory(prefix="troupe-install-") as folder:
            done = subprocess.run(["cmake", "--install", PROGRAM.parent, "--prefix", "/usr"],
                                  env=dict(os.environ, DESTDIR=folder), capture_output=True,
                                  text=True, timeout=LIMIT_S)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            usr = pathlib.Path(folder, "usr")
            self.assertTrue(os.access(usr / "bin/troupe", os.X_OK))
            for command in self.commands():
                page = usr / f"share/man/man1/troupe-{command}.1"
                self.assertTrue(page.read_text().startswith(f".TH TROUPE-{command.upper()} 1"))
            for completion in ("bash-completion/completions/troupe", "zsh/site-functions/_troupe",
                               "fish/vendor_completions.d/troupe.fish"):
                self.assertIn("troupe", (usr / "share" / completion).read_text())
            for name in ("alerts.yaml", "dashboard.json"):
                self.assertEqual((usr / "share/troupe" / name).read_text(),
                                 (ROOT / "deploy/package" / name).read_text())


if __name__ == "__main__":
    unittest.main()
