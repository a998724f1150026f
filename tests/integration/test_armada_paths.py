#!/usr/bin/env python3
"""What a job of a cluster may name as its outputs: files of its own attempt's folder on the share.

The double runs the jobs' commands as this user, who may read all that the engine may: whatever a
job gets at here, it got from the engine.
"""

import pathlib
import unittest

from armada import ArmadaTest

FLOW = """
troupe: 1
tasks:
  make:
    inputs: {given: file}
    outputs: {f: TYPE}
    run: [/bin/sh, ./make.sh]
workflows:
  main:
    inputs: {given: file}
    nodes: {make: {task: make, with: {given: $given}}}
    outputs: {f: $make.f}
"""

SECRET = "/etc/passwd"
BELOW = "; only files and folders below "
GIVES = """echo '{"f": "%s"}' >"$TROUPE_OUTPUTS"\n"""


class PathsTest(ArmadaTest):
    double_options = ("--execute",)

    def make(self, script, status, kind="file"):
        self.write("flow.yaml", FLOW.replace("TYPE", kind))
        self.write("make.sh", script)
        self.write("given", "given")
        # Inputs lie in the store, which is on the share here.
        return self.finish(self.start("run", "flow.yaml", "-i", f"given={self.folder}/given", "-q",
                                      "-o", "json"), status)

    def refused(self, script, *words, code="OutputNotAllowed", kind="file"):
        error = self.make(script, 1, kind)["error"]
        self.assertEqual(error["code"], f"RetriesExhausted|{code}", error)
        for part in words:
            self.assertIn(part, error["message"])
        self.assert_kept_nothing_of_ours()

    def assert_kept_nothing_of_ours(self):
        secret = pathlib.Path(SECRET).read_bytes()
        for path in (self.store / "blobs").rglob("*"):
            if path.is_file():
                self.assertNotIn(secret, path.read_bytes(), path)

    def given(self, script, kind="file"):
        """The path of what was made, which is in the store."""
        path = pathlib.Path(self.make(script, 0, kind)["outputs"]["f"])
        self.assertEqual(path.parent.resolve(), (self.store / "blobs").resolve())
        return path

    def test_an_absolute_path_elsewhere(self):
        self.refused(GIVES % SECRET, f"the output 'f' names '{SECRET}': {SECRET}: it is "
                     f"outside{BELOW}{self.folder}/troupe-")
        self.refused(GIVES % f"file://{SECRET}", f"the output 'f' names 'file://{SECRET}'",
                     "it is outside")

    def test_a_path_upwards(self):
        self.refused("echo x >../x\n" + GIVES % "../x", "work/../x", "it has a part '..'", BELOW)
        self.refused(GIVES % "../../../../../../../../../../etc/passwd", "it has a part '..'")

    def test_a_link_that_leads_out(self):
        self.refused(f"ln -s {SECRET} link\n" + GIVES % "link",
                     "work/link: a link in its path leads outside", BELOW)

    def test_a_link_in_the_middle_of_the_path(self):
        self.refused("mkdir a\nln -s /etc a/there\n" + GIVES % "a/there/passwd",
                     "work/a/there/passwd: a link in its path leads outside", BELOW)

    def test_a_pipe(self):
        self.refused("mkfifo pipe\n" + GIVES % "pipe", "it is neither a file nor a folder",
                     code="OutputsNotFound")

    def test_links_in_a_folder(self):
        self.refused(f"mkdir d\nln -s {SECRET} d/link\n" + GIVES % "d",
                     "a link that leads out of the folder cannot be stored",
                     code="OutputsNotFound", kind="directory")

    def test_one_of_many(self):
        """A large list is read by another way."""
        self.refused("""
            i=0
            while [ $i -lt 500 ]; do echo $i >file-$i; l="$l \\"file-$i\\","; i=$((i + 1)); done
            echo "{\\"f\\": [$l \\"/etc/passwd\\"]}" >"$TROUPE_OUTPUTS"
        """, f"the output 'f' names '{SECRET}': {SECRET}: it is outside", kind="[file]")

    def test_a_folder_is_no_file(self):
        self.refused("mkdir d\n" + GIVES % "d", "the output 'f' names '", "work/d: it is a folder, "
                     "and its type is file", code="MismatchingTypes")
        self.refused("echo x >x\n" + GIVES % "x", "work/x: it is a file, and its type is directory",
                     code="MismatchingTypes", kind="directory")

    def test_documents_that_are_links(self):
        self.refused(f'ln -s {SECRET} "$TROUPE_OUTPUTS"\n', "/outputs.json: a link in its path")
        self.refused(f'ln -s {SECRET} "$TROUPE_ERROR"\n', "/error.json: a link in its path")
        self.refused('mkfifo "$TROUPE_ERROR"\n', "/error.json: it is neither a file nor a folder",
                     code="ErrorDocumentMalformed")

    def test_a_folder_that_has_become_a_link(self):
        self.refused(GIVES % "x" + 'echo x >x\na=${TROUPE_OUTPUTS%/*}\nmv "$a" "$a.away"\n'
                     'ln -s "$a.away" "$a"\n', "/error.json: a link in its path leads outside")

    def test_files_of_its_own(self):
        for script, content in (("echo plain >x\n" + GIVES % "x", "plain\n"),
                                ("mkdir d\necho linked >d/x\nln -s d latest\n" +
                                 GIVES % "latest/x", "linked\n"),
                                ('echo whole >x\necho "{\\"f\\": \\"$PWD/x\\"}" '
                                 '>"$TROUPE_OUTPUTS"\n', "whole\n"),
                                ('cp "$TROUPE_INPUTS" x\n' + GIVES % "./x", None)):
            path = self.given(script)
            if content is not None:
                self.assertEqual(path.read_text(), content)
        folder = self.given("mkdir d\necho deep >d/x\nln -s x d/y\n" + GIVES % "d", "directory")
        self.assertEqual((folder / "y").read_text(), "deep\n")

    def test_data_of_its_own(self):
        made = 'mkdir t\necho rows >t/part\n'
        outputs = self.make(made + 'echo "{\\"f\\": \\"$PWD/t\\"}" >"$TROUPE_OUTPUTS"\n', 0,
                            "dataset")["outputs"]
        table = pathlib.Path(outputs["f"]["uri"])
        outputs = self.make(made + 'echo "{\\"f\\": {\\"x\\": \\"$PWD/t/part\\"}}" '
                            '>"$TROUPE_OUTPUTS"\n', 0, "struct")["outputs"]
        part = pathlib.Path(outputs["f"]["x"])
        for path in (table, part):
            self.assertEqual(path.parent.resolve(), (self.store / "blobs").resolve())
        self.assertEqual((table / "part").read_text(), part.read_text())
        self.refused(f"ln -s {SECRET} link\n" 'echo "{\\"f\\": \\"$PWD/link\\"}" '
                     '>"$TROUPE_OUTPUTS"\n', "work/link: a link in its path leads outside",
                     kind="dataset")

    def test_what_it_was_given_is_passed_on(self):
        document = self.make('sed s/given/f/ "$TROUPE_INPUTS" >"$TROUPE_OUTPUTS"\n', 0)
        self.assertEqual(pathlib.Path(document["outputs"]["f"]).read_text(), "given")

    def test_a_process_of_this_machine_names_what_it_likes(self):
        (self.store / "settings.yaml").unlink()
        document = self.make(GIVES % SECRET, 0)
        self.assertEqual(pathlib.Path(document["outputs"]["f"]).read_bytes(),
                         pathlib.Path(SECRET).read_bytes())


if __name__ == "__main__":
    unittest.main()
