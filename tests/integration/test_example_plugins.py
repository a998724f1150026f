"""The plugins of examples/plugins, and their page: what it says to write is written, what it says to
type is typed, and what it says is printed is."""

import os
import re
import subprocess
import sys
import unittest

from program import LIMIT_S, PROGRAM, ROOT, ProgramTest, free_port

PLUGINS = ROOT / "examples/plugins"
BUILT = PROGRAM.parent / "examples/plugins"
PORT = "8765"

# A file's name on a line of its own, and blocks with their languages.
PARTS = re.compile(r"^`(?P<name>[^`\n]+)`$|^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)


class PageTest(ProgramTest):
    def script(self):
        """The page as one script, and what each of its blocks of commands has to print."""
        name, lines, expected = None, [], []
        for part in PARTS.finditer((PLUGINS / "README.md").read_text()):
            if part["name"]:
                name = part["name"]
            elif part["language"] == "sh":
                lines.append(part["text"] + "echo '=== done'\n")
                expected.append("")
            elif part["language"] == "text":
                expected[-1] = part["text"]
            else:
                lines.append(f"mkdir -p $(dirname {name})\ncat > {name} << 'PAGE'\n"
                             f"{part['text']}PAGE\n")
        return "set -e\n" + "".join(lines), expected

    def test_every_command_does_what_the_page_says(self):
        script, expected = self.script()
        self.assertGreater(len(expected), 4)
        home, source = self.folder / "home", self.folder / "source"
        (source / "build").mkdir(parents=True)
        home.mkdir()
        (source / "build/release").symlink_to(PROGRAM.parent)
        (source / "examples").symlink_to(ROOT / "examples")
        environment = {**os.environ, "HOME": str(home), "TROUPE": str(source)}
        environment.pop("TROUPE_STORE", None)
        # The port alone is not the page's: somebody may have that one.
        done = subprocess.run(["bash", "-c", script.replace(PORT, str(free_port()))], cwd=self.folder,
                              env=environment, text=True, capture_output=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.split("=== done\n")[:-1], expected, done.stderr)


class WaitTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.store.mkdir()
        (self.store / "settings.yaml").write_text(
            f"plugins:\n  wait: {{path: {BUILT}/wait.so}}\n")

    def test_it_asks_until_somebody_answers(self):
        port = str(free_port())
        running = self.start("run", PLUGINS / "wait.yaml", "-i",
                             f"url=http://127.0.0.1:{port}/made", "--name", "it")
        running.wait_for("up: running")
        server = subprocess.Popen([sys.executable, PLUGINS / "job_server.py", port],
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        status, stdout, stderr = running.end()
        self.assertEqual(status, 0, stderr)
        self.assertGreaterEqual(int(stdout.removeprefix("tries: ")), 1)

    def test_a_task_without_a_url_is_refused(self):
        self.write("flow.yaml", "troupe: 1\ntasks: {t: {type: wait-for, outputs: {}}}\n"
                   "workflows: {main: {nodes: {t: {task: t}}}}\n")
        self.assertIn("flow.yaml:2:19: t: config.url is missing; write config: {url: URL}",
                      self.troupe("run", "flow.yaml", status=2)[1])


if __name__ == "__main__":
    unittest.main()
