#!/usr/bin/env python3
"""What strangers write steers no terminal: each control character, through each field that they can
fill, on a pseudo-terminal. In documents it is escaped; to a pipe logs are what was written."""

import http.server
import json
import os
import re
import subprocess
import threading
import unittest

from program import LIMIT_S, PROGRAM, ProgramTest, Terminal, wait_until

BLANKS = "\t\n\r"
CONTROLS = [chr(point) for point in (*range(1, 0x20), *range(0x7f, 0xa0), 0x61c, 0x200e, 0x200f,
                                     *range(0x2028, 0x202f), *range(0x2066, 0x206a))]
EVIL = "".join(f"{character}q" for character in CONTROLS)
SEEN = [f"\\x{ord(c):02x}q" if ord(c) < 0x80 else f"\\u{ord(c):04x}q"
        for c in CONTROLS if c not in BLANKS]

# What the program itself draws: colours, up so many lines, empty from here on.
OWN = re.compile(rb"\x1b\[[0-9;]*m|\x1b\[\d+A\x1b\[J")

FLOW = """
troupe: 1
tasks:
  say: {outputs: {text: string}, run: [sh, -c, 'cp "$TROUPE_FOLDER/said" "$TROUPE_OUTPUTS"']}
  fail: {run: [sh, -c, 'cp "$TROUPE_FOLDER/failed" "$TROUPE_ERROR"; exit 1']}
  log: {run: [sh, -c, 'cat "$TROUPE_FOLDER/logged"; cat "$TROUPE_FOLDER/logged" >&2']}
  secret: {run: ['true'], secrets: {TOKEN: a/b}}
  ask: {type: http, outputs: {status: int}, config: {url: 'URL', method: GET}}
  each: {inputs: {i: int}, run: [sh, -c, 'cp "$TROUPE_FOLDER/failed" "$TROUPE_ERROR"; exit 1']}
workflows:
  w-say: {nodes: {n: {task: say}}, outputs: {text: $n.text}}
  w-fail: {nodes: {n: {task: fail}}}
  w-log: {nodes: {n: {task: log}}}
  w-secret: {nodes: {n: {task: secret}}}
  w-ask: {nodes: {n: {task: ask}}}
  w-each: {nodes: {n: {map: each, with: {i: [1, 2]}}}}
  w-undone: {nodes: {w: {approve: g}}, on_failure: {task: fail}}
"""


def strings_of(document):
    """All texts of a document."""
    if isinstance(document, dict):
        document = list(document.values())
    if isinstance(document, list):
        return [text for part in document for text in strings_of(part)]
    return [document]


class Server(http.server.HTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        answer = EVIL.encode()
        self.send_response(404)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class TerminalTest(ProgramTest):
    def setUp(self):
        super().setUp()
        server = Server()
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.write("flow.yaml", FLOW.replace("URL", f"http://127.0.0.1:{server.server_port}/"))
        self.write("said", json.dumps({"text": EVIL}))
        self.write("failed", json.dumps({"code": EVIL, "message": EVIL, "recoverable": False}))
        (self.folder / "logged").write_bytes(EVIL.encode() + b"\xff\xc3q\xe2\x80")
        self.store.mkdir(mode=0o700)

    def environment(self):
        return dict(super().environment(), TERM="xterm", TROUPE_FOLDER=str(self.folder),
                    COLUMNS="1000")

    def terminal(self, *words, statuses=(0, 1, 2)):
        """Runs a command with its output on a terminal and gives what came there."""
        terminal = Terminal(rows=200, columns=4000)
        process = subprocess.Popen([PROGRAM, *map(os.fsencode, map(str, words))], cwd=self.folder,
                                   env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=terminal.end, stderr=terminal.end)
        shown = terminal.read(process)
        self.assertIn(process.wait(LIMIT_S), statuses, shown)
        return shown

    def check(self, shown, where, seen=tuple(SEEN)):
        """Nothing steers, and each of them can be seen."""
        shown = OWN.sub(b"", shown)
        text = shown.decode()  # that it is UTF-8 is a part of this
        for character in CONTROLS:
            if character not in "\t\n":
                self.assertNotIn(f"{character}q", text.replace("\r\n", "\n"), where)
        for word in seen:
            self.assertIn(word, text, where)

    def test_fields(self):
        (self.store / "settings.yaml").write_text(json.dumps(
            {"secrets": [{"folder": f"/nowhere/{EVIL}"}]}))
        failing = ("fail", "secret", "ask", "each")
        for name in ("say", *failing):
            self.check(self.terminal("run", "flow.yaml", f"w-{name}", "--name", name),
                       ("run", name),
                       seen=SEEN if name in ("say", "fail", "each") else SEEN[:5])
        for name in failing:
            few = SEEN[:5] if name in ("secret", "ask") else SEEN
            for words in (("get", name, "-v"), ("get", f"{name}/n", "-v"), ("explain", name)):
                self.check(self.terminal(*words), words, seen=few)
            self.check(self.terminal("get", f"{name}/n"), name, seen=few[:2])
            self.check(self.terminal("watch", name), name, seen=few)
            self.check(self.terminal("recover", name, "--name", f"{name}-2"), name, seen=few)
        self.check(self.terminal("get", "say", "-v"), "get say", seen=())
        self.check(self.terminal("list"), "list", seen=())

    def test_submit_and_serve(self):
        engine = self.start("serve", "-v")
        engine.wait_for("serves")
        for name in ("say", "fail"):
            shown = self.terminal("submit", "--wait", "flow.yaml", f"w-{name}", "--name", name)
            self.check(shown, ("submit", name))
        self.check(engine.wait_for("fail failed after").encode(), "serve")
        self.terminal("submit", "flow.yaml", "w-undone", "--name", "undone")
        self.terminal("reject", "undone", "g", "-m", EVIL.replace("\n", ""))
        shown = self.terminal("watch", "undone")
        self.check(shown, "watch")
        for words in (("get", "undone/w", "-v"), ("get", "undone", "-v"), ("explain", "undone")):
            self.check(self.terminal(*words), words, seen=SEEN[:4])

    def test_progress(self):
        """A task's own words stand in the picture while it runs, and nowhere steer."""
        self.write("said", EVIL.replace("\n", ""))
        self.write("flow.yaml", """
troupe: 1
tasks:
  t:
    run: [sh, -c, 'cp "$TROUPE_FOLDER/said" "$TROUPE_PROGRESS"; touch "$TROUPE_FOLDER/ready";
                   until [ -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done']
workflows: {main: {nodes: {n: {task: t}}}}
""")
        terminal = Terminal(rows=200, columns=4000)
        process = subprocess.Popen([PROGRAM, "run", "flow.yaml", "--name", "it"], cwd=self.folder,
                                   env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=terminal.end, stderr=terminal.end)
        wait_until((self.folder / "ready").exists, "the task has said it")
        few = SEEN[:2]
        for words in (("get", "it"), ("get", "it/n"), ("explain", "it")):
            self.check(self.terminal(*words), words, seen=few)
        shown = b""
        while b"\\x01q" not in shown:
            shown += os.read(terminal.source, 65536)
        self.write("go", "")
        shown += terminal.read(process)
        self.assertEqual(process.wait(LIMIT_S), 0)
        self.check(shown, "run")
        self.assertRegex(OWN.sub(b"", shown), rb" n +running +[\d.]+s  \\x01q.*, \d+s ago\n")

    def test_words_and_files(self):
        """What is typed or stands in a definition comes back in what is said of it."""
        word = EVIL.replace("\n", "")
        self.troupe("run", "flow.yaml", "w-say", "-q")
        self.write("bad.yaml", "troupe: 1\nworkflows: {" + json.dumps(EVIL) + ": {nodes: {}}}\n")
        for words in (("run", word), ("run", "flow.yaml", word), (word,), ("get", word),
                      ("run", "flow.yaml", "w-say", "-i", f"{word}=1"), ("check", "bad.yaml"),
                      ("run", "flow.yaml", "w-say", "--name", word), ("explain", word),
                      ("list", f"--{word}"), ("list", "--since", word),
                      ("export", "@last", "--file", word)):
            self.check(self.terminal(*words), words, seen=SEEN[:2])
        self.check(self.terminal("get", b"a\xffb\xc3".decode(errors="surrogateescape")), "bytes",
                   seen=["a\\xffb\\xc3"])

    def test_documents(self):
        for name in ("say", "fail"):
            for words in (("run", "flow.yaml", f"w-{name}", "--name", name), ("get", name),
                          ("get", f"{name}/n"), ("watch", name)):
                shown = self.terminal(*words, "-o", "json", "-q")
                lines = OWN.sub(b"", shown).decode().split("\n")
                documents = [line for line in lines if line.startswith(("{", "["))]
                self.assertTrue(documents, shown)
                self.check("\n".join(documents).encode(), words, seen=())
                self.assertIn(EVIL, strings_of(json.loads(documents[-1])), words)
            self.check(self.terminal("get", name, "-o", "yaml"), "yaml", seen=["\\u009bq"])

    def test_logs(self):
        self.troupe("run", "flow.yaml", "w-log", "--name", "log", "-q")
        raw = (self.folder / "logged").read_bytes()
        done = subprocess.run([PROGRAM, "logs", "log/n"], cwd=self.folder, capture_output=True,
                              env=self.environment(), timeout=LIMIT_S, check=True)
        self.assertEqual(done.stdout.count(raw), 2)
        self.assertEqual(self.terminal("logs", "--raw", "log/n").count(raw), 2)
        shown = self.terminal("logs", "log/n")
        self.check(shown, "logs", seen=[*SEEN, "\\x0dq", "\\xff\\xc3q\\xe2\\x80\n"])

    def test_colours_of_logs(self):
        colours = b"\x1b[31mred\x1b[0m \x1b[38;5;9;1mmore\x1b[38:2::1:2:3m\n"
        steers = b"\x1b[2J \x1b]0;title\x07 \x1b[31 \x1b[?25l \x1b[" + b"1;" * 40 + b"m\n"
        (self.folder / "logged").write_bytes(steers + b"50%\rdone\r\n" + colours)
        self.troupe("run", "flow.yaml", "w-log", "--name", "log", "-q")
        shown = self.terminal("logs", "log/n")
        self.assertEqual(shown.count(colours), 2)
        self.assertEqual(shown.count(b"\x1b[0m"), 4, "each file's colours end with it")
        self.assertEqual(
            shown.count(b"\\x1b[2J \\x1b]0;title\\x07 \\x1b[31 \\x1b[?25l \\x1b[1;"), 2)
        self.assertEqual(shown.count(b"50%\\x0ddone\r\n"), 2)


if __name__ == "__main__":
    unittest.main()
