"""Pages whose readers type along: the files that a page shows, the commands that it says to type, and
what it says that they print.

A page has these parts, in the order in which they are read:

    `NAME` alone before a block    the block is that file; `NAME`, at its end: it is added there
    a block sh                     commands; `sh second` is typed in a second terminal
    a block text                   all that the commands before it print
    a block diff                   what is changed in the file that was named last
    Press `KEY`                    is pressed when what stands above is shown

A line `...` in a block of text stands for any lines. What differs from run to run is compared by its
form: times, sizes of memory, names that the program makes up, and the folder, which is /home/ada there.
"""

import dataclasses
import re
import subprocess

from program import LIMIT_S, PROGRAM, ProgramTest, wait_until

HOME = "/home/ada"

PARTS = re.compile(r"^`(?P<name>[^`\n]+)`(?P<end>, at its end)?:?$"
                   r"|^Press `(?P<key>[^`]+)`(?P<where> in the second)?"
                   r"|^```(?P<language>\w+)(?: (?P<more>\w+))?\n(?P<text>.*?)^```$", re.M | re.S)

# What differs from run to run, and what it is compared as.
CHANGING = [(re.compile(pattern, re.M), form) for pattern, form in (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(\.\d+)?Z", "MOMENT"),
    (r"(?<![\w.])(\d+(\.\d+)?(d|h|ms|m|s))+\b", "TIME"),
    (r"\d+\.\d MiB", "SIZE"),
    (r"\bprocess \d+\b", "process N"),
    (r"-[a-z0-9]{26}-(\d+)\b", r"-ID-\1"),
    (r"\bmain-[a-z0-9]{5}\b", "main-xxxxx"),
    (r"\b[0-9a-f]{64}\b", "HASH"),
    (r"\[[#.]{20}\]", "[BAR]"),
    (r"(?<=\S) {2,}", "  "),
    (r" +$", ""),
)]
# A command that changes nothing.
LOOKS = re.compile(r"troupe (explain|get|gates|list)\b[^\n]*\n")
# A map tells how far it is now and then.
NOW_AND_THEN = re.compile(r"^TIME\s+\S+: \[BAR\].*\n", re.M)


@dataclasses.dataclass
class Part:
    """A step of a page: file, addition, change, commands, printed or key."""
    kind: str
    text: str
    name: str = ""
    is_second: bool = False


def parts(text):
    """The steps of a page, or of a part of it, in their order."""
    named, name = None, ""  # the last name of a file, and where it stands
    for found in PARTS.finditer(text):
        if found["name"]:
            named, name = found, found["name"]
        elif found["key"]:
            yield Part("key", found["key"], is_second=bool(found["where"]))
        elif found["language"] == "diff":
            yield Part("change", found["text"], name)
        elif named and not text[named.end():found.start()].strip():
            yield Part("addition" if named["end"] else "file", found["text"], name)
        elif found["language"] == "sh":
            yield Part("commands", found["text"], is_second=found["more"] == "second")
        elif found["language"] == "text":
            yield Part("printed", found["text"])


def sections(text, level="##"):
    """The parts of a page below headlines of a level, by these."""
    found = re.split(rf"^{level} (.*)\n", text, flags=re.M)[1:]
    return dict(zip(found[::2], found[1::2]))


def changed(text, difference):
    """A text after the change that a block of diff shows; what it takes away stands there once."""
    lines = difference.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    if text.count(before) != 1:
        raise AssertionError(f"the change has no one place:\n{difference}\nin\n{text}")
    return text.replace(before, after)


def form(text, folder=None):
    """What is compared of a text that a program printed, or that a page says it prints."""
    if folder is not None:
        text = text.replace(str(folder), HOME)
    for pattern, said in CHANGING:
        text = pattern.sub(said, text)
    return NOW_AND_THEN.sub("", text).strip("\n")


def pattern_of(text):
    """A pattern of what a block of text stands for."""
    lines = [r"(.*\n)*?" if line.strip() == "..." else re.escape(line) + "\n"
             for line in form(text).split("\n")]
    return "".join(lines)


class PageTest(ProgramTest):
    """A test of a page, in the home folder of somebody who has the program in PATH."""

    maxDiff = None

    def environment(self):
        environment = super().environment()
        for name in ("TROUPE_STORE", "TROUPE_SETTINGS", "XDG_CONFIG_HOME"):
            environment.pop(name, None)
        return environment | {"HOME": str(self.folder), "LANG": "C.UTF-8",
                              "PATH": f"{PROGRAM.parent}:{environment['PATH']}"}

    def setUp(self):
        super().setUp()
        self.folder = self.folder.resolve()
        self.store = self.folder / ".troupe"
        self.place = self.folder  # where the reader edits files

    def tearDown(self):
        if self.store.exists():
            self.quietly("abort", "*", "--yes", "--now")
            wait_until(lambda: self.quietly("actors") != 0, "no engine is left in the background")
        super().tearDown()

    def quietly(self, *words):
        return subprocess.run([PROGRAM, *words, "--store", self.store], capture_output=True,
                              timeout=LIMIT_S, check=False).returncode

    def edit(self, part):
        """What the reader does with an editor."""
        path = self.place / part.name
        if part.kind == "file":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(part.text)
        elif part.kind == "addition":
            path.write_text(path.read_text() + part.text)
        else:
            path.write_text(changed(path.read_text(), part.text))

    def is_shown(self, printed, text):
        """Whether what was printed ends as the page says."""
        pattern = re.compile("^" + pattern_of(text) + r"\Z", re.M)
        return pattern.search(form(printed, self.folder) + "\n") is not None

    def assert_printed(self, printed, text, what):
        """Whether that is all of it."""
        actual = form(printed, self.folder) + "\n"
        if not re.fullmatch(pattern_of(text), actual):
            self.assertEqual(actual, form(text) + "\n", what)

    def type(self, commands):
        """Types them without a terminal; what they print, both streams in one."""
        done = subprocess.run(["bash", "-c", commands], cwd=self.folder, env=self.environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False)
        return done.stdout

    def settle(self, commands, text):
        """What only looks is typed again until it prints what the page says: a person is slower."""
        printed = [self.type(commands)]

        def is_there():
            if re.fullmatch(pattern_of(text), form(printed[-1], self.folder) + "\n"):
                return True
            printed.append(self.type(commands))
            return False
        if LOOKS.fullmatch(commands):
            try:
                wait_until(is_there, commands)
            except AssertionError:
                pass
        return printed[-1]

    def read(self, text):
        """Does what a part of a page says, without a terminal; returns how often it printed."""
        steps, count = list(parts(text)), 0
        for step, following in zip(steps, [*steps[1:], None]):
            if step.kind == "commands":
                says = following.text if following and following.kind == "printed" else ""
                self.assert_printed(self.settle(step.text, says), says, step.text)
                count += 1
            elif step.kind != "printed":
                self.edit(step)
        return count
