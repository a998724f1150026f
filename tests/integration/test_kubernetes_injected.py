#!/usr/bin/env python3
"""Injected bugs: what the Kubernetes plugin must not forget, forgotten, and a suite that sees it.

Each is a change of one file's text. The file is compiled as the build does it and linked before the
libraries into the unit test that has to fail; unchanged, the same way, that test passes.
"""

import pathlib
import shlex
import subprocess
import tempfile
import unittest

from program import PROGRAM, ROOT

BUILD = PROGRAM.parent
LIMIT_S = 300
KUBERNETES = "unit_plugins_kubernetes_kubernetes"
FINALIZER = "unit_plugins_kubernetes_kubernetes_finalizer"
SCOPE = "unit_actors_backend_refresh_scope"
BEGIN = "unit_actors_backend_refresh_begin"

# What is forgotten, the file, its text, what stands there then, and the test that fails.
BUGS = [
    ("a copy of a pod is taken for it", "plugins/kubernetes/kubernetes_phase.c",
     "tr_text_equal(name, own_name) &&", "", KUBERNETES),
    ("whose a name is that is taken", "plugins/kubernetes/kubernetes_call.c",
     "if (error == 0 && !is) {", "if (error == 0 && !is && false) {", KUBERNETES),
    ("a pod of another life is deleted", "plugins/kubernetes/kubernetes_call.c",
     'tr_build_member_text(&build, "uid", uid);', "(void)uid;", KUBERNETES),
    ("pods of all who have none are deleted", "plugins/kubernetes/kubernetes_call.c",
     "if (path.size == 0 || batch->count == 0) {", "if (path.size == 0) {", KUBERNETES),
    ("an error of a watch brings no list", "plugins/kubernetes/kubernetes_watch.c",
     "return batch->api->begin_anew(batch);", "return (void)batch, 0;", KUBERNETES),
    ("a cursor that is unknown is asked for again", "actors/backend/refresh_scope.c",
     "return tri_refresh_scope_begin_anew(refresh, scope);\n    }\n    if (is_read &&",
     "return 0;\n    }\n    if (is_read &&", SCOPE),
    ("nobody looks who is missing in a list", "actors/backend/refresh_scope.c",
     "if (scope->cursor != 0) {\n        refresh->state->sweep = 1;",
     "if (false) {\n        refresh->state->sweep = 1;", SCOPE),
    ("what a watch has shown before it broke off counts", "actors/backend/refresh_scope.c",
     "number_list(scope); /* what it has shown may be gone; else", "(void)0; /* else", BEGIN),
    ("the newest condition counts, or the first of a second", "plugins/cards/card_status.c",
     "if (is_it) {\n            *found = each;\n            return 0;\n        }",
     "*found = is_it ? each : *found;\n        return error;", "unit_plugins_cards_cards"),
    ("a changed setting strands a finalizer", "plugins/kubernetes/kubernetes_finalizer.c",
     "return own->finalizer == TRI_KUBERNETES_FINALIZED ||", "return false &&", FINALIZER),
]


def commands_of(target):
    done = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], text=True, check=True,
                          capture_output=True)
    return done.stdout.splitlines()


class InjectedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="troupe-injected-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, file, text, target):
        """The test with this text in the place of a file's."""
        commands = commands_of(target)
        source, changed = self.folder / "changed.c", self.folder / "changed.o"
        source.write_text(text)
        words = shlex.split(next(line for line in commands if f" -c {ROOT / file}" in line))
        words[words.index(str(ROOT / file))] = str(source)
        words[words.index("-o") + 1] = str(changed)
        words = [word for word in words if not word.startswith("-M") and not word.endswith(".d")]
        place = next(i for i, word in enumerate(words) if word.endswith("gcc") or
                     word.endswith("clang"))
        subprocess.run([word for word in words[place:] if not word.endswith(f"{file}.o")],
                       cwd=BUILD, check=True, timeout=LIMIT_S)
        program = self.folder / target
        link = commands[-1].replace(f" -o tests/{target} ", f" {changed} -o {program} ")
        subprocess.run(link, shell=True, cwd=BUILD, check=True, timeout=LIMIT_S)
        return program

    def status_of(self, program):
        return subprocess.run([program], cwd=self.folder, capture_output=True,
                              timeout=LIMIT_S).returncode

    def test_each_is_seen(self):
        for name, file, before, after, target in BUGS:
            with self.subTest(name):
                text = (ROOT / file).read_text()
                self.assertEqual(text.count(before), 1, f"{file} has changed: mend the row")
                program = self.build(file, text.replace(before, after), target)
                self.assertNotEqual(self.status_of(program), 0, "nobody sees it")

    def test_without_any_all_is_well(self):
        file = "plugins/kubernetes/kubernetes_phase.c"
        self.assertEqual(self.status_of(self.build(file, (ROOT / file).read_text(), KUBERNETES)), 0)


if __name__ == "__main__":
    unittest.main()
