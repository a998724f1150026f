"""Applies the laws of laws.py to a tree of files.

    for finding in check_tree("/home/me/troupe"):
        print(finding)

A file is seen in three views of the same length: the text as it is; the code in it, where comments
and what stands between quotes are blank; and the prose in it, which is what people are told, where
all else is blank. A law about words looks at the code, so that a comment may name what the law
forbids. Offsets and lines mean the same in all views.
"""

import fnmatch
import os
import re
from typing import NamedTuple

import laws

WORD_CHARACTERS = "A-Za-z0-9_"
WORD = re.compile(f"[{WORD_CHARACTERS}]+")


class Finding(NamedTuple):
    path: str
    line: int  # 0 where it is about the file or folder itself
    law: str
    text: str  # what is wrong, and what to do

    def __str__(self):
        return f"{self.path}:{self.line}: {self.law}: {self.text}"


def blank(text):
    return "\n".join([" " * len(line) for line in text.split("\n")])


def matches_any(patterns, text):
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)


# ---- The views of a file. ------------------------------------------------------------------------

NOT_CODE = re.compile(r"""(//[^\n]*|/\*.*?(?:\*/|\Z))"""
                      r"""|"((?:\\.|[^"\\\n])*)"?|'((?:\\.|[^'\\\n])*)'?""", re.DOTALL)
QUOTES = '"""'
COMMENT = re.compile(r"(?:(?<=\s)|^)#")


def part_c(text):
    """The code and the prose of C."""
    code, prose, at, said = [], [], 0, 0
    for match in NOT_CODE.finditer(text):
        begin, end = match.span()
        code.append(text[at:begin])
        at = end
        comment = match[1]
        if comment is None:  # a literal ends with its quote, or with the line
            inside = match[2] if match[2] is not None else match[3]
            code += text[begin], blank(inside), text[begin + 1 + len(inside):end]
            continue
        is_closed = comment.startswith("/*") and comment.endswith("*/") and len(comment) > 3
        code.append(blank(comment))
        prose += blank(text[said:begin]), "  ", comment[2:-2] + "  " if is_closed else comment[2:]
        said = end
    return "".join(code) + text[at:], "".join(prose) + blank(text[said:])


def prose_of_page(text):
    """Without blocks of code, whose file names are examples. Lists go on with indented lines, so a
    block of code is indented, and follows an empty line."""
    prose, fenced, indented, after_empty = [], False, False, True
    for line in text.split("\n"):
        indentation = len(line) - len(line.lstrip(" "))
        is_fence = line.startswith("```", indentation)
        fenced ^= is_fence
        indented = indented or after_empty if indentation >= 4 else line == "" and indented
        after_empty = line == ""
        prose.append(" " * len(line) if fenced or is_fence or indented else line)
    return "\n".join(prose)


def prose_of_script(text, is_python):
    """Comments begin with a # at the start of a line or behind a blank, and docstrings with quotes
    that are the first thing in their line: other text between quotes is data."""
    prose, documents = [], False
    for line in text.split("\n"):
        first = len(line) - len(line.lstrip(" "))
        opens = is_python and not documents and line.startswith(QUOTES, first)
        comment = COMMENT.search(line)
        begin = 0 if documents or opens else comment.start() if comment else len(line)
        prose.append(" " * begin + line[begin:])
        rest = line[first + len(QUOTES):] if opens else line
        documents = (documents or opens) and QUOTES not in rest
    return "\n".join(prose)


def kind_of(path, text):
    for endings, kind in (((".c",), "c"), ((".h",), "header"), ((".md",), "page"),
                          ((".sh", ".cmake", "CMakeLists.txt"), "script")):
        if path.endswith(endings):
            return kind
    return "script" if text.startswith("#!") else "other"


class Source:
    def __init__(self, path, text):
        self.path, self.text, self.kind = path, text, kind_of(path, text)
        self.is_c = self.kind in ("c", "header")
        self.code, self.prose = text, ""
        if self.is_c:
            self.code, self.prose = part_c(text)
        elif self.kind == "page":
            self.prose = prose_of_page(text)
        elif self.kind == "script" or path.endswith((".py", ".yaml")):
            self.prose = prose_of_script(text, path.endswith(".py"))
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.code_lines = self.code.split("\n")[:len(self.lines)] if self.is_c else self.lines
        self.includes = list(includes_of(self)) if self.is_c else []

    def line_at(self, offset):
        return min(self.text.count("\n", 0, offset) + 1, max(1, len(self.lines)))


# ---- What a file says: its includes, its words, and that nothing is left undone. ----------------

INCLUDE = re.compile(r"^[^\S\n]*#[^\S\n]*include", re.MULTILINE)
INCLUDED = re.compile(r"""[^"<\n]*(["<])([^">\n]{0,255})[">]""")
NAMES = {form: [(ban, pattern) for ban in laws.BANS if ban[0] == form for pattern in ban[1]]
         for form in (laws.CALL, laws.WORD, laws.HEADER)}


def pattern_of(names):
    """A whole word that one of the patterns is for, and that is no member of a struct, such as
    actor->free, which another library may have named."""
    words = "|".join(re.escape(name).replace(r"\*", f"[{WORD_CHARACTERS}]*") for _, name in names)
    return f"(?<![{WORD_CHARACTERS}.])(?<!->)(?:{words})(?![{WORD_CHARACTERS}])"


BANNED = [(laws.CALL, re.compile(pattern_of(NAMES[laws.CALL]) + r"(?=[\s\\]*\()")),
          (laws.WORD, re.compile(pattern_of(NAMES[laws.WORD])))]
# Whether a file has any of them at all is seen at once; most have none.
BANNED_PATTERNS = {name for form in (laws.CALL, laws.WORD) for _, name in NAMES[form]}
BANNED_WORDS = {name for name in BANNED_PATTERNS if "*" not in name}
BANNED_BEGINNINGS = [name.split("*")[0] for name in BANNED_PATTERNS - BANNED_WORDS]


def includes_of(source):
    """The line of each include, whether its name stands between quotes, and the name."""
    for match in INCLUDE.finditer(source.code):
        named = INCLUDED.match(source.text, match.end())
        if named:
            yield source.line_at(match.end()), named[1] == '"', named[2]


FOLDER_BEGINNINGS = tuple(folder + "/" for folder in laws.FOLDERS)


def begins_with_folder(path):
    return path.startswith(FOLDER_BEGINNINGS)


def check_include(source, line, is_quoted, name):
    is_ours = begins_with_folder(name)
    if is_quoted and not is_ours:
        yield line, "include", f'"{name}" is not written from the root; write "FOLDER/…/{name}"'
    elif is_ours and not is_quoted:
        yield line, "include", f"<{name}> is ours; write it between quotes"
    elif is_ours:
        rooms = [room for room in laws.INCLUDES if source.path.startswith(room + "/")]
        room = max(rooms, key=len, default=None)
        if room and not name.startswith(tuple(laws.INCLUDES[room])):
            yield line, "include", (f'{room}/ may not include "{name}"; the table in '
                                    "tests/unit/house/laws.py says what it may")
    for (_, _, excepted, remedy), pattern in NAMES[laws.HEADER]:
        if fnmatch.fnmatchcase(name, pattern) and not matches_any(excepted, source.path):
            yield line, "ban", f"<{name}>: {remedy}"


def check_words(source):
    if (BANNED_WORDS.isdisjoint(WORD.findall(source.code))
            and not any(beginning in source.code for beginning in BANNED_BEGINNINGS)):
        return
    for form, pattern in BANNED:
        for match in pattern.finditer(source.code):
            for (_, _, excepted, remedy), name in NAMES[form]:
                if (fnmatch.fnmatchcase(match[0], name)
                        and not matches_any(excepted, source.path)):
                    yield source.line_at(match.start()), "ban", f"{match[0]}: {remedy}"


def check_unfinished(source):
    lower = source.text.lower()
    for word, has_case in laws.UNFINISHED:
        text = source.text if has_case else lower
        if word not in text:
            continue
        for match in re.finditer(f"(?<![{WORD_CHARACTERS}]){word}(?![{WORD_CHARACTERS}])", text):
            yield (source.line_at(match.start()), "unfinished",
                   f"`{word}`: finish it, or leave it out")


def check_readers(source, readers):
    """`readers` says which C file reads which library: kept from file to file of one tree."""
    excepted = dict(laws.READERS)
    for line, _, name in source.includes:
        if name not in excepted or any(fnmatch.fnmatchcase(source.path, pattern)
                                       for pattern in excepted[name]):
            continue
        if source.kind == "header":
            yield line, "one reader", (f"<{name}> in a header reaches everybody; include it in the "
                                       "reader's .c file")
        elif name in readers:
            yield line, "one reader", (f"<{name}> has one reader already, {readers[name]}; "
                                       "use that")
        else:
            readers[name] = source.path


# ---- What a file looks like. clang-format sees to all other looks. -------------------------------

STATEMENT = re.compile(rf"(?<![{WORD_CHARACTERS}])(if|for|switch|while|else|do)"
                       rf"(?![{WORD_CHARACTERS}])")
BLANKS = re.compile(r"[\s\\]*")
TRAILING = re.compile(r"[^\S\n](?:\n|\Z)")
ELSE_IF = re.compile(rf"if(?![{WORD_CHARACTERS}])")


def check_file_size(source):
    if len(source.lines) > laws.FILE_LINES_MAX:
        yield len(source.lines), "file size", (f"{len(source.lines)} lines, at most "
                                               f"{laws.FILE_LINES_MAX}; split it by topic")


def opens_function(line):
    """The brace of a body: clang-format puts it, and the one that closes it, alone into the first
    column; where it has not been yet, it stands behind a signature."""
    return line.startswith("{") or (line.endswith("{") and not line[0].isspace()
                                    and "(" in line and "=" not in line)


def check_function_sizes(source):
    opened = 0
    for number, line in enumerate(source.code_lines, 1):
        if opened == 0 and "{" in line and opens_function(line):
            opened = number
        elif opened > 0 and line.startswith("}"):
            length = number - opened - 1
            if length > laws.FUNCTION_LINES_MAX:
                yield opened, "function size", (f"{length} lines in this function, at most "
                                                f"{laws.FUNCTION_LINES_MAX}; give its steps names")
            opened = 0


def check_widths(source):
    for number, line in enumerate(source.lines, 1):
        if len(line) > laws.LINE_COLUMNS_MAX:
            yield number, "line width", (f"{len(line)} columns, at most {laws.LINE_COLUMNS_MAX}; "
                                         "break the line")


def check_opening(source):
    lines = list(zip(source.lines, source.code_lines))[:laws.OPENING_LINES_MIN]
    is_short = len(lines) < laws.OPENING_LINES_MIN
    if is_short or any(line == "" or code.strip() != "" for line, code in lines):
        yield 1, "opening comment", ("opens without an explanation; begin with a few lines a "
                                     "newcomer can read alone")


def check_guard(source):
    guard = "TR_" + re.sub(f"[^{WORD_CHARACTERS}]", "_", source.path).upper()
    words = WORD.finditer(source.code)
    for wanted in ("ifndef", guard, "define", guard):
        word = next(words, None)
        if word is None or word[0] != wanted:
            yield (source.line_at(word.start()) if word else 1, "include guard",
                   f"no include guard; begin the code with #ifndef {guard} and #define {guard}")
            return


def behind_parenthesis(code, opened):
    depth = 0
    for match in re.compile("[()]").finditer(code, opened):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return len(code)


def body_of(code, word):
    """Where the body of the statement that the word begins does; None where it begins none."""
    behind = BLANKS.match(code, word.end()).end()
    if word[0] == "else":
        return None if ELSE_IF.match(code, behind) else behind
    if word[0] == "do":
        return behind
    if not code.startswith("(", behind):
        return None
    return BLANKS.match(code, behind_parenthesis(code, behind)).end()


def check_braces(source):
    for word in STATEMENT.finditer(source.code):
        body = body_of(source.code, word)
        if body is None or source.code.startswith("{", body):
            continue
        line = source.line_at(word.end() - 1)
        before = source.code[:word.start()].rstrip("\\ \t\n\r\v\f")
        ends_do = word[0] == "while" and before.endswith("}")
        if not ends_do and not source.code_lines[line - 1].lstrip().startswith("#"):
            yield line, "braces", f"`{word[0]}` without braces; a body always has them"


def check_blanks(source):
    has_any = "\t" in source.text or TRAILING.search(source.text)
    for number, line in enumerate(source.lines if has_any else (), 1):
        if "\t" in line:
            yield number, "blanks", "a tab; indent with four spaces"
        elif line[-1:].isspace():
            yield number, "blanks", "blanks at the end of the line; remove them"
    if source.text and not source.text.endswith("\n"):
        yield len(source.lines), "blanks", "no newline at the end of the file; add one"


# ---- What prose names is there. ------------------------------------------------------------------

# A word is taken for a reference only where its form leaves no doubt: it begins with a folder of
# the top or with a kind of tests, ends like a file, or is what a link leads to. Patterns
# (`sqlite*.c`, `<zmq.h>`), placeholders (`NAME.c`), absolute paths and those of builds are none.
PATH_WORD = re.compile(rf"[{WORD_CHARACTERS}./*~{{}}<>$%@+=\\\x80-\U0010ffff-]+")
PATTERN = re.compile(r"[*~{}<>$%@+=\\\x80-\U0010ffff]")
PLACEHOLDER = re.compile("(?<![A-Za-z0-9])[A-Z]{2,}(?![A-Za-z0-9])")
LAW_NUMBER = re.compile(r"[ \n*#]*(\d+)")
KIND_BEGINNINGS = tuple(kind[0] for kind in laws.TEST_KINDS)


class Tree:
    """What lies in a tree: listed before any file is checked, since a sentence may name a file that
    comes later."""

    def __init__(self, root):
        self.root = root
        self.folders, self.files = [], []
        self.list("")
        self.paths = {"", *self.folders, *self.files}
        self.names = {(path.split("/")[0], path.rsplit("/", 1)[1])
                      for path in self.paths if "/" in path}
        self.functions = set()
        for path in self.files:
            if path.rsplit("/", 1)[-1].startswith("test_"):
                self.functions.update(re.findall(r"^ *(?:static void |def )(test_[^(\n]*)",
                                                 self.read(path), re.MULTILINE))
        page = self.read(laws.LAW_PAGE) if laws.LAW_PAGE in self.paths else ""
        self.laws = {int(number) for number in
                     re.findall(rf"^{laws.LAW_HEADLINE}(\d+)", page, re.MULTILINE)}

    def list(self, folder):
        """Names that begin with a dot and `build` at the top are passed over, but for .ci/."""
        for name in sorted(os.listdir(os.path.join(self.root, folder))):
            if name.startswith(".") and (folder, name) != ("", ".ci"):
                continue
            path = f"{folder}/{name}" if folder else name
            full = os.path.join(self.root, path)
            if path == "build":
                continue
            if os.path.isdir(full) and not os.path.islink(full):
                self.folders.append(path)
                self.list(path)
            else:
                self.files.append(path)

    def read(self, path):
        try:
            with open(os.path.join(self.root, path), "rb") as file:
                return file.read().decode("utf-8", "surrogateescape")
        except OSError:
            return ""

    def has(self, path):
        plain = []
        for part in path.split("/"):
            if part == "..":
                if not plain:
                    return False
                plain.pop()
            elif part not in ("", "."):
                plain.append(part)
        return "/".join(plain) in self.paths


class References:
    def __init__(self, source, tree):
        self.source, self.tree = source, tree
        self.is_page = source.kind == "page"

    def check(self):
        prose = self.source.prose
        for match in PATH_WORD.finditer(prose):
            begin, is_law = match.start(), match[0].lower() in ("law", "laws")
            if match[0].isalnum() and not is_law and prose[begin - 1:begin] != "(":
                continue  # nearly all words
            word = "" if PATTERN.search(match[0]) else match[0].rstrip(".-")
            end = begin + len(word)
            number = LAW_NUMBER.match(prose, end) if is_law else None
            if not self.is_good(word, prose[max(0, begin - 2):begin], prose[end:end + 1]):
                yield self.source.line_at(begin), "reference", (
                    f"`{word}` leads nowhere; name what is there, by its path from the root")
            elif number and int(number[1]) > 0 and int(number[1]) not in self.tree.laws:
                yield self.source.line_at(begin), "reference", (
                    f"law {number[1]} is none of {laws.LAW_PAGE}; name one that is, or say it in "
                    "words")

    def is_good(self, word, before, after):
        """Whether what the word names is there, or it names nothing."""
        if not self.may_be_reference(word):
            return True
        if self.is_page and before == "](" and after != ":":
            return (self.tree.has(os.path.join(os.path.dirname(self.source.path), word))
                    or self.is_excepted(word))
        if (self.is_page and word.startswith("test_") and not re.search("[./]", word)
                and before[-1:] == "`" == after):
            return self.has_bare_test(word) or self.is_excepted(word)
        kind = None
        if word.startswith(KIND_BEGINNINGS):
            kind = next((kind for kind in laws.TEST_KINDS
                         if word.startswith(kind[0]) and word != kind[0]), None)
        endings = (laws.REFERENCE_ENDINGS if self.is_page or "/" in word else laws.BARE_ENDINGS)
        is_below = begins_with_folder(word) and word.rstrip("/") not in laws.FOLDERS
        if not kind and not word.endswith(endings) and not is_below:
            return True
        return (self.has_file(word) or (kind is not None and self.has_test(word, kind))
                or self.is_excepted(word))

    def may_be_reference(self, word):
        is_hidden = word.startswith(".") and not word.startswith("../")
        is_placeholder = not word.endswith(".md") and PLACEHOLDER.search(word)
        return (word and not word.startswith(("/", "-", "build/")) and not is_hidden
                and "//" not in word and not is_placeholder)

    def is_excepted(self, word):
        return any(fnmatch.fnmatchcase(word, name) and fnmatch.fnmatchcase(self.source.path, where)
                   for name, where, _ in laws.EXCEPTIONS)

    def has_near(self, word, path):
        """Whether a folder above `path`, so that a room may speak of its neighbours, has the word;
        or its floor has a file that is called like it."""
        folder = path
        while folder:
            folder = os.path.dirname(folder)
            if self.tree.has(f"{folder}/{word}"):
                return True
        return ("/" not in word and "/" in path
                and (path.split("/")[0], word) in self.tree.names)

    def has_file(self, word):
        path, mirror = self.source.path, "tests/unit/"
        return (self.has_near(word, path)
                or (word.startswith(("test_", "fuzz_")) and ("tests", word) in self.tree.names)
                or (path.startswith(mirror) and self.has_near(word, path[len(mirror):])))

    def has_test(self, word, kind):
        """`unit/house/laws` is tests/unit/house/test_laws.py. Folders count."""
        beginning, folder, prefix = kind
        place, _, last = word[len(beginning):].rstrip("/").rpartition("/")
        place += "/" if place else ""
        return any(self.tree.has(folder + place + name + last + ending)
                   for name in ("", prefix) for ending in ("", ".c", ".py", ".expected"))

    def has_bare_test(self, word):
        return word in self.tree.functions or any(
            ("tests", word + ending) in self.tree.names for ending in ("", ".c", ".py"))


# ---- All of them. --------------------------------------------------------------------------------

SHAPES = [
    (("c", "header"), check_file_size),
    (("c", "header"), check_function_sizes),
    (("c", "header", "script"), check_widths),
    (("c",), check_opening),
    (("header",), check_guard),
    (("c", "header"), check_braces),
    (("c", "header", "script", "page"), check_blanks),
    (("c", "header"), check_words),
    (("c", "header", "script", "page"), check_unfinished),
]


def check_file(source, tree, readers):
    for line, is_quoted, name in source.includes:
        yield from check_include(source, line, is_quoted, name)
    for kinds, check in SHAPES:
        if source.kind in kinds:
            yield from check(source)
    yield from References(source, tree).check()
    yield from check_readers(source, readers)


def check_top(tree):
    for name in sorted(os.listdir(tree.root)):
        if not name.startswith(".") and name not in ("build", *laws.FOLDERS, *laws.TOP_LEVEL):
            yield Finding(name, 0, "top level",
                          "does not belong at the top; put it into the folder it is about")
    for name in (*laws.FOLDERS, *laws.TOP_LEVEL):
        if not os.path.exists(os.path.join(tree.root, name)):
            yield Finding(name, 0, "top level", "is missing at the top; add it")


def check_rooms(tree):
    for folder in tree.folders:
        sources = [path for path in tree.paths
                   if path.endswith((".c", ".h")) and path.rpartition("/")[0] == folder]
        if not folder.startswith("tests") and len(sources) > laws.ROOM_FILES_MAX:
            yield Finding(folder, 0, "room size", f"{len(sources)} .c and .h files, at most "
                          f"{laws.ROOM_FILES_MAX}; look for the wall that makes it two rooms")


def check_readmes(tree):
    for folder in tree.folders:
        path = f"{folder}/README.md"
        is_deep = folder.count("/") >= laws.README_DEPTH_MAX
        if path not in tree.paths:
            if not folder.startswith(".") and not is_deep:
                yield Finding(folder, 0, "readme", "has no README.md; say what lives here, how to "
                              "read it, what it promises")
        elif "/" in folder and folder.partition("/")[0] not in laws.PAGES_OF_ANY_LENGTH:
            lines = tree.read(path).count("\n")
            if lines > laws.ROOM_README_LINES_MAX:
                yield Finding(path, 0, "readme", f"{lines} lines, at most "
                              f"{laws.ROOM_README_LINES_MAX}; give what is more a page of its own")


def circle_of(rooms):
    """A way from a room back to itself, by what rooms include; empty where there is none."""
    rooms = dict(rooms)
    while True:
        ends = [room for room in rooms if rooms[room].isdisjoint(rooms)]
        if not ends:
            break
        for room in ends:
            del rooms[room]
    way = [min(rooms)] if rooms else []
    while way and way[-1] not in way[:-1]:  # each that is left includes one that is left
        way.append(min(rooms[way[-1]] & set(rooms)))
    return way[way.index(way[-1]):] if way else []


def check_circles(sources):
    """Rooms are folders of a floor; the floor's own files stand above them and below others."""
    rooms = {}
    for source in sources:
        room = os.path.dirname(source.path)
        if "/" in room and not room.startswith("tests/"):
            rooms.setdefault(room, set()).update(
                os.path.dirname(name) for _, _, name in source.includes)
            rooms[room].discard(room)
    circle = circle_of(rooms)
    if circle:
        yield Finding(circle[0], 0, "room circle", f"includes lead back: {' -> '.join(circle)}; "
                      "move what the lower room needs down to it")


def check_tree(root):
    """Every finding about the files and folders below `root`."""
    tree, readers = Tree(root), {}
    findings = [*check_top(tree), *check_rooms(tree), *check_readmes(tree)]
    sources = []
    for path in tree.files:
        source = Source(path, tree.read(path))
        findings += [Finding(path, *finding) for finding in check_file(source, tree, readers)]
        if source.is_c:
            sources.append(source)
    return findings + list(check_circles(sources))
