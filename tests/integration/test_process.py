#!/usr/bin/env python3
"""A process task: everything that the language's description of it promises, with a real keeper."""

import datetime
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import unittest

from program import LIMIT_S, ProgramTest, wait_until

HEAD = "troupe: 1\n"


def can_make_cgroups():
    """Whether a cgroup can be made below our own, and be killed as a whole."""
    mounts = [line.split()[4] for line in open("/proc/self/mountinfo", encoding="utf-8")
              if " - cgroup2 " in line]
    own = [line.strip()[3:] for line in open("/proc/self/cgroup", encoding="utf-8")
           if line.startswith("0::/")]
    if not mounts or not own:
        return False
    place = pathlib.Path(mounts[0] + own[0]) / f"troupe-test-{os.getpid()}"
    try:
        place.mkdir()
    except OSError:
        return False
    is_whole = (place / "cgroup.kill").exists()
    place.rmdir()
    return is_whole


def lives(process):
    """Whether it has not ended; somebody may have to reap it still."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class ProcessTest(ProgramTest):
    def task(self, *run, node="{task: t}", workflow="", **keys):
        """A definition with one task `t` in one node `n`, as JSON is YAML."""
        self.count = getattr(self, "count", 0) + 1
        lines = [HEAD + "tasks:", "  t:"]
        keys = {"run": list(run), **keys}
        lines += [f"    {key}: {self.yaml(value)}" for key, value in keys.items()]
        outputs = keys.get("outputs", {})
        lines += ["workflows:", "  main:"] + ([f"    {workflow}"] if workflow else [])
        lines += [f"    nodes: {{n: {node}}}"]
        if outputs:
            lines += ["    outputs: {" + ", ".join(f"{name}: $n.{name}" for name in outputs) + "}"]
        self.write("flow.yaml", "\n".join(lines) + "\n")

    @staticmethod
    def yaml(value):
        """Flow style, in which a key may have no value."""
        return json.dumps(value).replace(": null", ": ")

    def outputs(self, *words):
        return self.document("run", "flow.yaml", *words)["outputs"]

    def error(self, *words, status=1):
        """How the only node failed: (code, message of the last attempt)."""
        return self.document("run", "flow.yaml", *words, status=status)["error"]

    def fails(self, code, message, *words):
        error = self.error(*words)
        self.assertIn(code, error["code"])
        self.assertIn(message, error["message"])

    def only_attempt(self):
        """The folder of the only attempt in the store."""
        folders = [path for path in (self.store / "attempts").glob("*/*/*/*") if path.is_dir()]
        self.assertEqual(len(folders), 1, folders)
        return folders[0]

    # ---------------------------------------------------------------- what it finds

    def test_environment(self):
        os.environ["TROUPE_TEST_PASSED"] = "passed"
        os.environ["TROUPE_TEST_HIDDEN"] = "hidden"
        self.task("sh", "-c", "env | sort > all; printf '{\"e\": \"./all\"}' > $TROUPE_OUTPUTS",
                  env={"OWN": "x=y", "TROUPE_TEST_PASSED": None, "TROUPE_TEST_UNSET": None},
                  outputs={"e": "file"})
        self.troupe("run", "flow.yaml", "--name", "one", "-q")
        path = self.document("get", "one")["outputs"]["e"]
        words = dict(line.split("=", 1) for line in pathlib.Path(path).read_text().splitlines())
        self.assertEqual(words["OWN"], "x=y")
        self.assertEqual(words["TROUPE_TEST_PASSED"], "passed")
        self.assertNotIn("TROUPE_TEST_HIDDEN", words)
        self.assertNotIn("TROUPE_TEST_UNSET", words)
        self.assertEqual(words["TROUPE_FOLDER"], str(self.folder))
        self.assertEqual(words["TROUPE_EXECUTION"], "one")
        self.assertEqual(words["TROUPE_NODE"], "n")
        self.assertEqual(words["TROUPE_ATTEMPT"], "0")
        self.assertNotIn("TROUPE_ELEMENT", words)
        self.assertEqual(words["PATH"], os.environ["PATH"])
        known = {"PATH", "HOME", "LANG", "PWD", "OLDPWD", "SHLVL", "_", "OWN",
                 "PYTHONPATH", "TROUPE_TEST_PASSED"}
        self.assertEqual({name for name in words if not name.startswith("TROUPE_")} - known, set())

    def test_an_empty_working_folder_and_stdin(self):
        self.task("sh", "-c", "test -z \"$(ls -A)\" && test -z \"$(cat)\" && "
                  "test -d $TROUPE_TMP && ls /proc/self/fd | wc -l > $TROUPE_TMP/n && "
                  "printf '{\"n\": %d}' $(cat $TROUPE_TMP/n) > $TROUPE_OUTPUTS",
                  outputs={"n": "int"})
        self.assertLessEqual(self.outputs()["n"], 4)  # 0, 1, 2, and that of ls

    def test_words_with_dots_count_from_the_definition(self):
        script = self.write("say.sh", "#!/bin/sh\nprintf '{\"w\": \"%s\"}' \"$1\" > "
                            "$TROUPE_OUTPUTS\n")
        script.chmod(0o755)
        self.task("./say.sh", "../up", outputs={"w": "string"})
        self.assertEqual(self.outputs()["w"], f"{self.folder}/../up")

    def test_pipes(self):
        self.task("cat", inputs={"a": "int", "s": "string"}, outputs={"a": "int", "s": "string"},
                  stdin="inputs", stdout="outputs", node="{task: t, with: {a: 5, s: 'x \"y\"'}}")
        self.assertEqual(self.outputs(), {"a": 5, "s": "x \"y\""})

    def test_limits(self):
        self.task("sh", "-c", "printf '{\"n\": %d}' $(ulimit -n) > $TROUPE_OUTPUTS",
                  config={"limits": {"open_files": 37}}, outputs={"n": "int"})
        self.assertEqual(self.outputs()["n"], 37)

    def test_wrong_configurations_are_refused(self):
        self.task("true", config={"limit": {"open_files": 37}})
        _, stderr = self.troupe("run", "flow.yaml", status=2)
        self.assertIn("config: a process task knows only `limits` and `in_doubt`", stderr)

        self.task("true", config={"in_doubt": "perhaps"})
        _, stderr = self.troupe("run", "flow.yaml", status=2)
        self.assertIn("config.in_doubt has to be fail or repeat", stderr)

    def test_an_unknown_outcome_is_the_policys(self):
        """The keeper is killed while a process runs: done again, or, where that is said, not."""
        for policy, runs in (("fail", 1), ("repeat", 2), (None, 2)):
            with self.subTest(policy):
                self.task("sh", "-c", "echo x >>$TROUPE_FOLDER/runs; "
                          "[ $(wc -l <$TROUPE_FOLDER/runs) -gt 1 ] || sleep 60",
                          **({"config": {"in_doubt": policy}} if policy else {}))
                running = self.start("run", "flow.yaml", "--name", f"x-{policy}", "-o", "json")
                self.await_file("runs")
                self.kill_keeper()
                status, stdout, stderr = running.end()
                self.assertEqual(status, 1 if policy == "fail" else 0, stderr)
                self.assertEqual(len((self.folder / "runs").read_text().split()), runs)
                attempts = self.document("get", f"x-{policy}/n")["attempts"]
                self.assertEqual([row["is_unknown"] for row in attempts][0], True)
                self.assertEqual(len(attempts), runs)
                self.assertIn("OutcomeUnknown", attempts[0]["error"]["code"])
                (self.folder / "runs").unlink()

    def test_a_daemon_that_hides_ends_with_the_keeper_after(self):
        """It has a session of its own and none of its environment; only its cgroup tells of it."""
        if not can_make_cgroups():
            self.skipTest("no cgroup (v2) can be made here")
        self.task("sh", "-c", "[ -e $TROUPE_FOLDER/daemon ] && exit 0; "
                  "setsid -f env -i sh -c 'echo $$ >$0/new; mv $0/new $0/daemon; exec sleep 600' "
                  "$TROUPE_FOLDER; sleep 600", config={"in_doubt": "repeat"})
        running = self.start("run", "flow.yaml", "--name", "x")
        self.await_file("daemon")
        daemon = pathlib.Path("/proc") / (self.folder / "daemon").read_text().strip()
        cgroup = pathlib.Path((self.store / "keeper.cgroup").read_text())
        self.assertIn(daemon.name, " ".join(path.read_text() for path
                                            in cgroup.rglob("cgroup.procs")).split())
        self.kill_keeper()
        status, _, stderr = running.end()
        self.assertEqual(status, 0, stderr)
        self.assertFalse(lives(daemon))
        self.assertFalse(cgroup.exists())
        cgroup = pathlib.Path((self.store / "keeper.cgroup").read_text())
        self.end_keeper()
        wait_until(lambda: not cgroup.exists(), "a keeper that leaves to take its own away")
        self.assertFalse((self.store / "keeper.cgroup").exists())

    def test_an_error_document_keeps_the_exit_status(self):
        self.task("sh", "-c", "echo '{\"code\": \"Mine\", \"message\": \"no\"}' >$TROUPE_ERROR; "
                  "exit 3")
        self.document("run", "flow.yaml", "--name", "x", status=1)
        attempt = self.document("get", "x/n")["attempts"][0]
        self.assertEqual((attempt["error"]["code"], attempt["exit_status"]), ("Mine", 3))

    def test_a_success_has_not_its_predecessors_status(self):
        self.task("sh", "-c", "[ -e $TROUPE_FOLDER/once ] || "
                  "{ touch $TROUPE_FOLDER/once; exit 3; }", retries=1)
        self.document("run", "flow.yaml", "--name", "x")
        attempts = self.document("get", "x/n")["attempts"]
        self.assertEqual([row["exit_status"] for row in attempts], [3, 0])

    def test_secrets(self):
        os.environ["TROUPE_SECRET_CRM_TOKEN"] = "s3cret"
        self.task("sh", "-c", "test $TOKEN = $(cat $AS_FILE) -a ${#TOKEN} = 6 && "
                  "stat -c '{\"mode\": \"%a\", \"path\": \"%n\"}' $AS_FILE > $TROUPE_OUTPUTS",
                  secrets={"TOKEN": "crm/token", "AS_FILE": {"file": "crm/token"}},
                  outputs={"mode": "string", "path": "string"})
        outputs = self.outputs()
        self.assertEqual(outputs["mode"], "600")
        self.assertFalse(pathlib.Path(outputs["path"]).exists())
        for path in self.store.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"s3cret", path.read_bytes(), path)

    def test_secrets_of_the_engine_are_in_no_environment(self):
        """What another process of the same user may read: of the engine, of the keeper, its own."""
        os.environ["TROUPE_SECRET_CRM_TOKEN"] = "s3cret"
        self.write("look.sh", r"""
found=0; leaks=0
for process in /proc/[0-9]*; do
    if tr '\0' ' ' <$process/cmdline | grep -q "troupe \(run\|keeper\) .*$1"; then
        found=$((found + 1))
        grep -q s3cret $process/environ && leaks=$((leaks + 1))
    fi
done 2>/dev/null
own=$TROUPE_SECRET_CRM_TOKEN
echo "{\"found\": $found, \"leaks\": $leaks, \"own\": \"$own\"}" >$TROUPE_OUTPUTS
""")
        self.task("sh", "./look.sh", str(self.store), secrets={"TOKEN": "crm/token"},
                  env={"TROUPE_SECRET_CRM_TOKEN": None},
                  outputs={"found": "int", "leaks": "int", "own": "string"})
        outputs = self.outputs("--store", str(self.store))
        self.assertEqual((outputs["found"], outputs["leaks"], outputs["own"]), (2, 0, ""))

    def test_a_secret_that_is_not_there(self):
        self.task("true", secrets={"TOKEN": "nowhere/key"})
        self.fails("SecretNotFound", "nowhere/key")

    def settings(self, text):
        self.store.mkdir(exist_ok=True)
        (self.store / "settings.yaml").write_text(text)

    def test_a_secret_by_command(self):
        self.settings("secrets: [environment, {command: [./get-secret, --quiet]}]\n")
        script = self.store / "get-secret"
        script.write_text("#!/bin/sh\ntest \"$*\" = '--quiet crm/token@2' || exit 1\n"
                          "echo s3cret-noise >&2; echo s3; echo cret\n")
        script.chmod(0o700)
        self.task("sh", "-c", "test \"$TOKEN\" = \"$(printf 's3\\ncret')\" && "
                  "test \"$(cat $AS_FILE)\" = \"$TOKEN\"",
                  secrets={"TOKEN": "crm/token@2", "AS_FILE": {"file": "crm/token@2"}})
        _, stderr = self.troupe("run", "flow.yaml", "-v")
        self.assertNotIn("cret", stderr.replace("secret", ""))
        script.unlink()
        for path in self.store.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                self.assertNotIn(b"s3\ncret", data, path)
                self.assertNotIn(b"s3cret", data, path)

    def test_a_command_that_has_no_secret(self):
        self.settings("secrets: [environment, {folder: ./none}, {command: [sh, -c, 'exit 3']}]\n")
        self.task("true", secrets={"TOKEN": "nowhere/key"})
        self.fails("SecretNotFound",
                   "secret nowhere/key: $TROUPE_SECRET_NOWHERE_KEY is not set; there is no file "
                   f"{self.store.resolve()}/none/nowhere/key; the command sh: exit status 3")

    def test_checkpoints_are_shared_by_attempts(self):
        self.task("sh", "-c", "echo $TROUPE_ATTEMPT >> $TROUPE_CHECKPOINT/seen; "
                  "test $TROUPE_ATTEMPT = 2 || exit 3; "
                  "printf '{\"s\": \"%s\"}' \"$(tr '\\n' ' ' < $TROUPE_CHECKPOINT/seen)\" "
                  "> $TROUPE_OUTPUTS", retries=2, outputs={"s": "string"})
        self.assertEqual(self.outputs()["s"], "0 1 2 ")

    def test_paths_are_no_patterns_of_names(self):
        """Also where an element of a map is a workflow with a map of its own."""
        self.write("flow.yaml", HEAD + """
tasks:
  t:
    inputs: {i: int}
    outputs: {words: string}
    run: [sh, -c, 'printf "{\\"words\\": \\"$TROUPE_CHECKPOINT $PWD $*\\"}"', sh,
          "{{.outputPrefix}}", "{{.rawOutputDataPrefix}}"]
    stdout: outputs
workflows:
  inner: {inputs: {i: int}, nodes: {n: {map: t, with: {i: [1, 2]}}}, outputs: {w: $n.words}}
  main: {nodes: {o: {map: inner, with: {i: [1, 2]}}}, outputs: {w: $o.w}}
""")
        said = [words for each in self.outputs("main")["w"] for words in each]
        self.assertEqual(len({words.split()[0] for words in said}), 4)
        self.assertEqual(set("".join(said)) & set("[]*?"), set())

    # ------------------------------------------------------------- how far it has come

    def progress(self, name):
        """What `get` shows of the only attempt, as a document and as text."""
        shown = self.document("get", f"{name}/n")["attempts"][0]["progress"]
        lines = [line.split(None, 1)[1] for line in self.troupe("get", f"{name}/n")[0].splitlines()
                 if line.startswith("  progress ")]
        self.assertEqual(len(lines), 0 if shown is None else 1)
        return shown, lines

    def test_progress_is_shown(self):
        self.task("sh", "-c", "echo 30 %: 3 of 10 >$TROUPE_PROGRESS; touch $TROUPE_FOLDER/said; "
                  "until [ -e $TROUPE_FOLDER/go ]; do sleep 0.01; done; exit 1")
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_file("said")
        shown, (line,) = self.progress("it")
        self.assertEqual((shown["text"], shown["percent"]), ("30 %: 3 of 10", 30))
        said = (self.folder / "said").stat().st_mtime
        at = datetime.datetime.fromisoformat(shown["at"].replace("Z", "+00:00")).timestamp()
        self.assertLess(abs(at - said), LIMIT_S)
        self.assertRegex(line, r"^30 %: 3 of 10, \d+s ago$")
        self.assertEqual(self.document("get", "it")["nodes"][0]["progress"], shown)
        self.assertRegex(self.troupe("get", "it")[0],
                         r"\n *n .* running .* 30 %: 3 of 10, \d+s ago\n")
        (waits,) = [row for row in self.document("explain", "it")["waiting"] if row["node"] == "n"]
        self.assertEqual(waits["progress"], shown)
        self.assertRegex(waits["text"], r" so far; progress: 30 %: 3 of 10, \d+s ago$")
        self.assertIn("; progress: 30 %: 3 of 10, ", self.troupe("explain", "it/n")[0])
        self.write("go", "")
        self.assertEqual(running.end()[0], 1)
        self.assertEqual(self.progress("it")[0], shown)
        self.assertIsNone(self.document("get", "it")["nodes"][0]["progress"])

    def test_maps_show_how_many_elements_are_done(self):
        """What each element says is shown of it alone."""
        self.task("sh", "-c", "echo 5 % >$TROUPE_PROGRESS; touch $TROUPE_FOLDER/said; "
                  "until [ -e $TROUPE_FOLDER/go ]; do sleep 0.01; done",
                  inputs={"i": "int"}, node="{map: t, with: {i: [1]}}")
        running = self.start("run", "flow.yaml", "--name", "it")
        self.await_file("said")
        row, = self.document("get", "it")["nodes"]
        self.assertIsNone(row["progress"])
        self.assertEqual(row["array"]["total"], 1)
        self.assertEqual(self.document("get", "it/n[0]")["attempts"][0]["progress"]["percent"], 5)
        waiting = {(row["node"], row["element"]): row["progress"]
                   for row in self.document("explain", "it")["waiting"]}
        self.assertIsNone(waiting["n", None])
        self.assertEqual(waiting["n", 0]["percent"], 5)
        self.write("go", "")
        self.assertEqual(running.end()[0], 0)

    def test_progress_may_begin_with_a_number(self):
        for text, percent in (("42 %, fitting: 3 of 7 epochs", 42), ("7%", 7), ("99.9 % done", 99),
                              ("0,5 %", 0), ("100 %", 100), ("101 %", None), ("1000 %", None),
                              ("-1 %", None), ("%", None), ("4  %", None), ("of 5 %", None),
                              ("12345678901234567890 %", None), ("3 of 7", None), ("42", None)):
            self.task("sh", "-c", f"echo '{text}' >$TROUPE_PROGRESS; exit 1")
            self.error()
            self.assertEqual(self.progress("@last")[0]["percent"], percent, text)

    def test_progress_is_the_last_line_of_a_file(self):
        for script, text in (
                ("true", None),
                (">$P", None),
                ("printf 'one\\ntwo \\n\\n' >$P", "two"),
                ("head -c 5000 /dev/zero | tr '\\0' x >$P", "x" * 1024),
                ("printf '%576s' x | sed 's/ /\u00fc/g' >$P", "\u00fc" * 511 + "x"),
                ("printf '\\377' >$P", None),
                ("ln -s /etc/passwd $P", None),
                ("mkdir $P", None),
                ("mkfifo $P", None)):
            self.task("sh", "-c", f"P=$TROUPE_PROGRESS; {script}; exit 1")
            self.error()
            shown, _ = self.progress("@last")
            self.assertEqual(shown and shown["text"], text, script)

    # ------------------------------------------------------------------ how it ends

    def test_exit_statuses(self):
        self.task("sh", "-c", "exit 7")
        self.fails("ProcessFailed", "exit status 7 of 1 attempt")

    def test_signals(self):
        self.task("sh", "-c", "kill -9 $$")
        self.fails("ProcessSignalled", "signal 9 (SIGKILL, Killed) of 1 attempt")

    def test_a_program_that_is_not_there(self):
        self.task("no-such-program")
        self.fails("ProcessNotStarted", "no-such-program")

    def test_error_documents(self):
        self.task("sh", "-c", "printf '{\"code\": \"Broken\", \"message\": \"no luck\", "
                  "\"recoverable\": false}' > $TROUPE_ERROR", retries=5)
        error = self.error()
        self.assertEqual(error["code"], "Broken")
        self.assertIn("no luck", error["message"])
        self.assertEqual(len(list((self.store / "attempts").glob("*/*/*/*"))), 1)
        self.task("sh", "-c", "printf '{\"message\": \"again\"}' > $TROUPE_ERROR", retries=1)
        self.fails("TaskFailed", "again")
        self.task("sh", "-c", "printf 'no json' > $TROUPE_ERROR")
        self.fails("ErrorDocumentMalformed", "the task has failed, and its error document cannot "
                   "be read: line 1, column 2: this is no JSON: ")
        self.task("sh", "-c", "printf '[1]' > $TROUPE_ERROR")
        self.fails("ErrorDocumentMalformed", "the task has failed, and its error document cannot "
                   "be read: it is no JSON object")
        self.task("sh", "-c", "truncate -s 524289 $TROUPE_ERROR")
        self.fails("ErrorDocumentTooLarge",
                   "the document at $TROUPE_ERROR has 524289 bytes; at most 524288 are read")

    def test_outputs_that_are_missing_or_wrong(self):
        self.task("true", outputs={"x": "int"})
        self.fails("OutputsNotFound", "nothing was written to $TROUPE_OUTPUTS: the output 'x' is "
                   "missing: give a value of type int")
        self.task("sh", "-c", "echo '{}' > $TROUPE_OUTPUTS", outputs={"x": "int"})
        self.fails("OutputsNotFound", "the output 'x' is missing: give a value of type int")
        self.task("sh", "-c", "echo '{\"x\": \"y\"}' > $TROUPE_OUTPUTS", outputs={"x": "int"})
        self.fails("MismatchingTypes", "the output 'x': 'y' is no value of type int; write a whole "
                   "number of at most 64 bits")
        self.task("sh", "-c", "echo '[1]' > $TROUPE_OUTPUTS", outputs={"x": "int"})
        self.fails("OutputsNotFound", "the outputs have to be one JSON object")
        self.task("sh", "-c", "echo '{' > $TROUPE_OUTPUTS", outputs={"x": "int"})
        self.fails("OutputsNotFound", "the outputs: line 2, column 1: this is no JSON: ")
        self.task("sh", "-c", "printf '{\n \"x\": 1,\n \"y\": NaN}' > $TROUPE_OUTPUTS",
                  outputs={"x": "int"})
        self.fails("OutputsNotFound", "the outputs: line 3, column 7: NaN is no JSON; write "
                   "\"nan\", \"inf\" or \"-inf\" as text, as troupe.outputs() does")
        self.task("true", outputs={"x": "int | none"})
        self.assertEqual(self.outputs(), {"x": None})

    def test_a_folder_is_no_file(self):
        names = "mkdir d; echo x > d/x; echo '{\"o\": %s}' > $TROUPE_OUTPUTS"
        for type_, value, words in (
                ("file", '"d"', "work/d: it is a folder, and its type is file; name a file, or "
                 "declare it as directory"),
                ("directory", '"d/x"', "work/d/x: it is a file, and its type is directory; name a "
                 "folder, or declare it as file"),
                ({"string": ["file"]}, '{"a": ["d/x", "d"]}', "work/d: it is a folder"),
                # A large list is read by another way.
                (["file"], "[" + '\"./d/x\", ' * 500 + '"d"]', "work/d: it is a folder")):
            with self.subTest(type_):
                self.task("sh", "-c", names % value, outputs={"o": type_})
                error = self.error()
                self.assertIn("MismatchingTypes", error["code"], error)
                self.assertIn("the output 'o' names '", error["message"])
                self.assertIn(words, error["message"])
        self.task("sh", "-c", names % '"d"', outputs={"o": "directory"})
        self.assertEqual((pathlib.Path(self.outputs()["o"]) / "x").read_text(), "x\n")

    def test_what_is_passed_on_stays_what_it_is(self):
        (self.folder / "given").mkdir()
        self.write("flow.yaml", HEAD + """
tasks:
  t:
    inputs: {given: directory}
    outputs: {o: TYPE}
    run: [sh, -c, 'sed s/given/o/ $TROUPE_INPUTS > $TROUPE_OUTPUTS']
workflows:
  main:
    inputs: {given: directory}
    nodes: {n: {task: t, with: {given: $given}}}
    outputs: {o: $n.o}
""")
        given = str(self.folder / "given")
        flow = self.folder / "flow.yaml"
        text = flow.read_text()
        flow.write_text(text.replace("TYPE", "directory"))
        self.assertEqual(self.outputs("-i", f"given={given}")["o"], given)
        flow.write_text(text.replace("TYPE", "file"))
        self.fails("MismatchingTypes", f"the output 'o' names '{given}': {given}: it is a folder, "
                   "and its type is file", "-i", f"given={given}")

    def test_timeouts_have_a_grace(self):
        self.task("sh", "-c", "trap 'echo term > ../term; exit 0' TERM; "
                  "while :; do sleep 0.05; done", timeout="2s", grace="10s")
        self.fails("TimeoutExpired", "task execution timeout [2s] expired")
        self.assertEqual((self.only_attempt() / "term").read_text(), "term\n")

    def test_who_ignores_the_grace_is_killed(self):
        self.task("sh", "-c", "trap '' TERM; echo $$ > ../pid; while :; do sleep 0.05; done",
                  timeout="2s", grace="200ms")
        self.fails("TimeoutExpired", "task execution timeout [2s] expired")
        pid = int((self.only_attempt() / "pid").read_text())
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())

    def test_what_is_left_of_the_group_is_killed(self):
        self.task("sh", "-c", "sleep 300 & printf '{\"pid\": %d}' $! > $TROUPE_OUTPUTS",
                  outputs={"pid": "int"})
        pid = self.outputs()["pid"]
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            state = "gone"
        self.assertIn(state, ("gone", "Z", "X"))

    def test_folders_are_kept_after_failures_only(self):
        self.task("sh", "-c", "touch left; echo said; exit 1")
        self.error()
        folder = self.only_attempt()
        self.assertTrue((folder / "work/left").exists())
        self.assertEqual((folder / "stdout").read_text(), "said\n")
        self.assertFalse((folder / "stderr").exists())

    def test_folders_of_successes_go(self):
        self.task("sh", "-c", "touch left; echo said >&2")
        self.troupe("run", "flow.yaml", "-q")
        folder = self.only_attempt()
        self.assertFalse((folder / "work").exists())
        self.assertEqual((folder / "stderr").read_text(), "said\n")

    # ------------------------------------------------------------- those that wait their turn

    WIDTH = 200
    MADE_MAX = 64

    def begin_wide(self, keys=""):
        """A wide map with one process at a time, each of which waits for `go`."""
        self.write("inputs.json", json.dumps({"a": list(range(self.WIDTH))}))
        self.write("flow.yaml", HEAD + """
tasks:
  t:
    inputs: {a: int}
    run: [sh, -c, 'echo $TROUPE_ELEMENT >> ran; while [ ! -e go ]; do sleep 0.02; done']
workflows:
  main:
    inputs: {a: [int]}
    nodes: {m: {map: t, with: {a: $a}KEYS}}
""".replace("KEYS", keys).replace("ran", str(self.folder / "ran"))
                   .replace("-e go", f"-e {self.folder / 'go'}"))
        running = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "it",
                             "--jobs", "1")
        self.await_file("ran")
        self.await_count(self.attempts, 1 if keys else 2)
        return running

    def attempts(self):
        return [path for path in (self.store / "attempts").glob("*/*/it/*") if path.is_dir()]

    def await_count(self, find, least):
        wait_until(lambda: len(find()) >= least, f"{least} of them")

    def ran(self):
        return [int(line) for line in (self.folder / "ran").read_text().split()]

    def test_folders_are_made_shortly_before_their_turn(self):
        running = self.begin_wide()
        self.await_count(self.attempts, 32)
        self.assertGreaterEqual(len(self.attempts()), 16)
        self.assertLessEqual(len(self.attempts()), self.MADE_MAX)
        self.write("go", "")
        self.assertEqual(running.end()[0], 0)
        self.assertEqual(sorted(self.ran()), list(range(self.WIDTH)))

    def test_who_waits_for_the_keeper_rests(self):
        """Another has its lock, and the link is full of calls: they are not looked at in vain."""
        self.task("true", inputs={"a": "int"}, node="{map: t, with: {a: $a}}",
                  workflow="inputs: {a: [int]}")
        self.write("inputs.json", json.dumps({"a": list(range(2000))}))
        self.store.mkdir()
        with open(self.store / "keeper.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            running = self.start("run", "flow.yaml", "--inputs", "inputs.json")
            tasks = pathlib.Path(f"/proc/{running.process.pid}/task")

            def is_busy():
                states = [task.read_text().rpartition(")")[2].split()[0]
                          for task in tasks.glob("*/stat")]
                return "R" in states

            looks = []
            while len(looks) < 200:
                with self.assertRaises(subprocess.TimeoutExpired):
                    running.process.wait(0.01)
                looks.append(is_busy())
            self.assertLess(sum(looks[100:]), 50)
        self.assertEqual(running.end()[0], 0)

    def test_slots_that_bound_a_map_are_told_of(self):
        self.WIDTH = 20
        running = self.begin_wide(", parallelism: 8")
        self.assertIn("8 under way; 12 more wait for their turn: parallelism lets 8 run at once; "
                      "the engine has 1 job slot for them (--jobs)",
                      self.troupe("explain", "it")[0])
        told = "main.m: parallelism lets 8 run at once, but the engine has 1 job slot (--jobs)\n"
        guest = self.start("run", "flow.yaml", "--inputs", "inputs.json", "--name", "guest")
        guest.wait_for("guest begins")  # at the engine of the first one
        self.write("go", "")
        for process in (running, guest):
            status, _, stderr = process.end()
            self.assertEqual((status, stderr.count(told)), (0, 1), stderr)

    def test_slots_that_bound_nothing_are_not_told_of(self):
        self.WIDTH = 20
        running = self.begin_wide(", parallelism: 1")
        self.assertNotIn("job slot", self.troupe("explain", "it")[0])
        self.write("go", "")
        self.assertNotIn("job slot", running.end()[2])

    def test_those_who_wait_are_aborted_with_nothing_made(self):
        running = self.begin_wide()
        self.troupe("abort", "it")
        self.assertEqual(running.end()[0], 3)
        self.assertLessEqual(len(self.ran()), len(self.attempts()))
        self.assertLessEqual(len(self.attempts()), self.MADE_MAX)

    def test_those_who_wait_outlive_a_kill_and_run_once(self):
        running = self.begin_wide()
        running.signal(signal.SIGKILL)
        running.end()
        self.assertLessEqual(len(self.attempts()), self.MADE_MAX)
        self.write("go", "")
        self.troupe("resume", "it", "-q")
        self.assertEqual(sorted(self.ran()), list(range(self.WIDTH)))

    # -------------------------------------------------------------------- templates

    def test_templates(self):
        self.task("sh", "-c", "printf '{\"w\": \"%s\", \"e\": \"%s\", \"o\": %s}' \"$0\" \"$MORE\" "
                  "$(test $1 = $(dirname $TROUPE_OUTPUTS) -a $2 = $TROUPE_CHECKPOINT -a "
                  "$3 = $(pwd) && echo true || echo false) > $TROUPE_OUTPUTS",
                  "{{.inputs.s}} {{ $Inputs.n }} {{`{{.other}}`}}", "{{.outputPrefix}}",
                  "{{.checkpointOutputPrefix}}", "{{.rawOutputDataPrefix}}",
                  env={"MORE": "{{.namespace}}"},
                  inputs={"n": "int", "s": "string"},
                  outputs={"w": "string", "e": "string", "o": "bool"},
                  node="{task: t, with: {n: 3, s: ./x}}")
        self.assertEqual(self.outputs(), {"w": "./x 3 {{.other}}", "e": "default-development",
                                          "o": True})

    def test_a_word_holds_no_zero_byte(self):
        self.task("echo", "{{.inputs.s}}", inputs={"s": "string"},
                  node='{task: t, with: {s: "a\\0b"}}')
        self.fails("BadTaskSpecification",
                   "a word of `run` or the environment holds a zero byte, which none can")

    def test_templates_that_are_quoted_are_one_word(self):
        told = "it's a; $(date) `date` \"x\" \\ $HOME\n*"
        self.task("sh", "-c", "set -- {{.inputs.s | quote}}; python3 -c 'import json, sys; "
                  "print(json.dumps({\"s\": sys.argv[1], \"n\": len(sys.argv) - 1}))' \"$@\" "
                  "> $TROUPE_OUTPUTS", inputs={"s": "string"},
                  outputs={"s": "string", "n": "int"},
                  node=f"{{task: t, with: {{s: {json.dumps(told)}}}}}")
        self.assertEqual(self.outputs(), {"s": told, "n": 1})

    def test_templates_that_cannot_be_filled_in(self):
        for keys, words in (
                ({"args": ["{{.inputs.x}}"]}, "{{.inputs.x}} names no input of the task"),
                ({"args": ["{{.execution}}"]}, "{{.execution}} names nothing that there is"),
                ({"args": ["{{.taskTemplatePath}}"]}, "{{.taskTemplatePath}} asks for task.pb"),
                ({"node": 'env: {A: "{{.inputs.x}}"}'}, "{{.inputs.x}} names no input of")):
            with self.subTest(**keys):
                self.task("echo", *keys.get("args", []), inputs={"n": "int"},
                          node=f"{{task: t, with: {{n: 3}}, {keys.get('node', 'retries: 1')}}}")
                _, stderr = self.troupe("run", "flow.yaml", status=2)
                self.assertRegex(stderr, r"^flow.yaml:\d+:\d+: ")
                self.assertIn(words, stderr)


if __name__ == "__main__":
    unittest.main()
