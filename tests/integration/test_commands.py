#!/usr/bin/env python3
"""The command line as a whole: every command and option that is promised is there, once, in `help`,
in each --help and in the completions of three shells; and pages for people promise no others."""

import collections
import re
import shutil
import subprocess
import unittest

from program import LIMIT_S, ROOT, ProgramTest

# What a line can be relied on to hold: command, its words, its options.
INPUTS = "-i --input --inputs"
BEGIN = (f"{INPUTS} --name --label --if-new --cache --project --domain --version --python --code "
         "--no-warm -o")
COMMANDS = {
    "init": ("[TEMPLATE]", "--list -o"),
    "run": ("FILE [NAME]", f"{BEGIN} -d --detach -j --jobs --durability "
            "--resources"),
    "check": ("FILE...", "-o"),
    "inspect": ("FILE [NAME]", "--project --domain --version --plan -o"),
    "apply": ("[FILE]", "--delete -o"),
    "schedules": ("[pause PLAN... | resume PLAN... | trigger PLAN]",
                  "-m --message -i --input --inputs -y --yes -o"),
    "backfill": ("PLAN", "--from --to --parallelism --detach --label -o"),
    "serve": ("", "-j --jobs --durability --resources --no-warm --http --tls --host-name "
              "--host-address -o"),
    "submit": ("FILE [NAME]", f"{BEGIN} -w --wait"),
    "list": ("", "--workflow --plan --phase -l --label --since --until --parent -a --all --waiting "
             "--sort -r --reverse --limit --offset -o"),
    "get": ("EXEC[/NODE[[ELEMENT]][@ATTEMPT]]", "-o"),
    "compare": ("EXEC OTHER", "--limit --offset -o"),
    "files": ("EXEC[/NODE[[ELEMENT]][@ATTEMPT]]", "--limit --offset -o"),
    "elements": ("EXEC/NODE", "--phase --code --from --limit --summary --count --ranges -o"),
    "watch": ("[EXEC]", "-o"),
    "explain": ("EXEC[/NODE[[ELEMENT]]]", "-o"),
    "logs": ("EXEC[/NODE[[ELEMENT]][@ATTEMPT]]", "-f --follow --raw --tail"),
    "gates": ("", "--limit -o"),
    "console": ("", "--http --no-open"),
    "abort": ("[EXEC...]", "-m --message --now -l --label -y --yes"),
    "pause": ("[EXEC...]", "-m --message -l --label -y --yes"),
    "resume": ("[EXEC...]", "-o"),
    "signal": ("EXEC [ID] VALUE", "--node -m --message"),
    "approve": ("EXEC [ID]", "--node -m --message"),
    "reject": ("EXEC [ID]", "--node -m --message"),
    "recover": ("EXEC", f"{BEGIN} --file -d --detach"),
    "rerun": ("EXEC", f"{BEGIN} --from --failed --set --file -d --detach"),
    "actors": ("", "-o"),
    "plugins": ("", "--release -o"),
    "resources": ("", "--limit --offset -o"),
    "entities": ("", "--kind --project --domain --name --version --limit --offset -o"),
    "tap": ("", "--record --replay --with-secrets -o"),
    "metrics": ("", "--prometheus -o"),
    "audit": ("", "--since --who --call --project --limit --offset -o"),
    "hosts": ("[forget NAME | key]", "-o"),
    "drain": ("HOST", "--wait --undo -o"),
    "move": ("EXEC", "--to --wait -o"),
    "ping": ("", "--timeout -o"),
    "backup": ("FILE", "--force"),
    "restore": ("FILE", ""),
    "export": ("EXEC", ""),
    "import": ("FILE", ""),
    "prune": ("[EXEC...]", "--older-than --phase --workflow -l --label --dry-run -y --yes -o"),
    "store": ("init|check|upgrade|take-over|fix-modes [STORE]", "-o"),
    "config": ("flyte", "--file --force"),
    "completion": ("bash|zsh|fish", ""),
    "help": ("", "-o"),
    "version": ("", "-o"),
}
EVERYWHERE = "-h --help -q --quiet -v --verbose"
PAGES = ("README.md", "deploy/README.md", "deploy/METRICS.md", "deploy/OPERATING.md",
         "deploy/POSTGRESQL.md", "deploy/FLYTE_CLIENTS.md", "deploy/KUBERNETES.md",
         "deploy/HTTP_API.md", "deploy/TRACES.md",
         "examples/README.md", "examples/COMMANDS.md", "examples/TUTORIAL.md",
         "examples/MIGRATING.md", "examples/TROUBLESHOOTING.md")
# A line of an example, one that is typed along, or what stands between backticks.
LINE = re.compile(r"^    (?:build/\S+/)?troupe ([a-z][^#\n]*)|^troupe ([a-z]+ [^#\n]*)"
                  r"|`troupe ([a-z][^`]*)`", re.MULTILINE)
WITHOUT_STORE = ("check", "completion", "help", "init", "inspect", "version")


class CommandsTest(ProgramTest):
    def test_each_command_is_there_once(self):
        names = self.troupe("help", "-o", "name")[0].split()
        twice = [name for name, count in collections.Counter(names).items() if count > 1]
        self.assertEqual(twice, [])
        self.assertEqual(sorted(names), sorted(COMMANDS))

    def test_each_says_its_words_and_options(self):
        for command, (words, options) in COMMANDS.items():
            with self.subTest(command):
                text = self.troupe(command, "--help")[0]
                self.assertTrue(text.startswith(f"usage: troupe {command} {words}"), text)
                store = [] if command in WITHOUT_STORE else ["--store"]
                for option in options.split() + EVERYWHERE.split() + store:
                    self.assertRegex(text, rf"(?m)(^|[ ,]){re.escape(option)}[ ,\n]")

    def test_unknown_options_name_the_nearest(self):
        _, stderr = self.troupe("list", "--limt", "3", status=2)
        self.assertIn("--limit", stderr)
        _, stderr = self.troupe("lst", status=2)
        self.assertIn("did you mean list?", stderr)

    def test_options_stand_anywhere(self):
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {type: echo, inputs: {n: int}, outputs: "
                   "{n: int}}}\nworkflows: {main: {inputs: {n: int}, nodes: {t: {task: t, with: "
                   "{n: $n}}}, outputs: {n: $t.n}}}\n")
        for words in (["run", "-q", "flow.yaml", "-i", "n=1"],
                      ["run", "-i", "n=1", "flow.yaml", "-q"],
                      ["run", "--input=n=1", "-q", "--", "flow.yaml"],
                      ["-q", "run", "flow.yaml", "main", "-in=1"],
                      ["--store", str(self.store), "-q", "run", "flow.yaml", "-i", "n=1"]):
            with self.subTest(words):
                self.assertEqual(self.troupe(*words)[0], "n: 1\n")

    def test_the_reference_has_each_command(self):
        text = (ROOT / "examples/COMMANDS.md").read_text().split("\n## ", 1)[0]
        named = re.findall(r"`([a-z]+)(?: [^`]*)?`", "".join(re.findall(r"^\| `.*?\|", text, re.M)))
        self.assertEqual(sorted(set(named)), sorted(COMMANDS))

    def test_pages_write_commands_as_they_are(self):
        options = {}
        for page in PAGES:
            lines = ["".join(words) for words in LINE.findall((ROOT / page).read_text())]
            for line in lines:
                with self.subTest(page=page, line=line):
                    command, *words = line.split()
                    self.assertIn(command, COMMANDS)
                    if command not in options:
                        text = self.troupe(command, "--help")[0]
                        options[command] = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))
                    written = [word.split("=")[0] for word in words if re.match("--?[a-z]", word)]
                    self.assertLessEqual(set(written), options[command])

    def test_pages_name_no_other_options(self):
        known = set().union(*(re.findall(r"--[a-z][a-z-]*", self.troupe(command, "--help")[0])
                              for command in COMMANDS))
        for page in ("examples/COMMANDS.md", "deploy/README.md"):
            written = {words.split()[0] for words in
                       re.findall(r"`(--[a-z][^`]*)`", (ROOT / page).read_text())}
            self.assertLessEqual(written, known, page)

    def test_each_shell_completes_all(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.troupe("completion", shell)[0]
            for command, (_, options) in COMMANDS.items():
                self.assertRegex(script, rf"\b{command}\b", shell)
                for option in re.findall(r"--([a-z-]+)", options):
                    self.assertRegex(script, rf"(--|-l ){option}\b", (shell, command))
            if shutil.which(shell):
                done = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True,
                                      timeout=LIMIT_S)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
