#!/usr/bin/env python3
"""Each command of deploy/OPERATING.md, typed as it stands there, with folders of the test's own and
a small systemctl that starts what the units say."""

import json
import os
import re
import shutil
import signal
import subprocess
import unittest

import yaml

from program import LIMIT_S, PROGRAM, ROOT, ProgramTest, wait_until

PAGE = (ROOT / "deploy/OPERATING.md").read_text()
UNIT = ROOT / "deploy/package/troupe.service"

# Where SQLite keeps the version of what is in a database.
FORMAT_AT = 60

# A key of systemd 254, which earlier ones ignore and name.
LATER = re.compile("Unknown key( name)? 'DelegateSubgroup'")

FLOW = """
troupe: 1
tasks:
  work:
    inputs: {n: int}
    outputs: {b: int}
    run: [sh, -c, 'echo {{.inputs.n}} >>"$TROUPE_FOLDER/begun";
      while [ ! -e "$TROUPE_FOLDER/go" ]; do sleep 0.02; done;
      echo "{\\"b\\": {{.inputs.n}}}" >"$TROUPE_OUTPUTS"']
workflows:
  main: {nodes: {it: {task: work, with: {n: 1}}}, outputs: {b: $it.b}}
  asks: {nodes: {ok: {approve: ship}}}
"""

# What starts and stops the engine of a unit as systemd would, READY=1 included.
SYSTEMCTL = """#!/usr/bin/env python3
import os, pathlib, re, shlex, signal, socket, subprocess, sys, time
words = [word for word in sys.argv[1:] if word not in ("--user", "--now")]
is_user = "--user" in sys.argv
verb, unit = words[0], words[1] if len(words) > 1 else None
state = pathlib.Path(os.environ["UNITS"]) / f"{'user' if is_user else 'system'}.pid"
home = os.environ["HOME"]
if verb == "daemon-reload" or verb == "disable":
    sys.exit(0)
path = pathlib.Path(home, ".local/share/systemd/user" if is_user else os.environ["SYSTEM_UNITS"],
                    f"{unit}.service")
text = path.read_text().replace("%h", home).replace("/var/lib/troupe", os.environ["SYSTEM_STORE"])
text = re.sub("/usr/bin/troupe", os.environ["SYSTEM_PROGRAM"], text) if not is_user else text
keys = re.findall(r"^(\\w+)=(.*)$", text, re.M)
if verb == "stop":
    pid = int(state.read_text())
    os.kill(pid, signal.SIGTERM)
    while os.path.exists(f"/proc/{pid}") and open(f"/proc/{pid}/stat").read().split()[2] != "Z":
        time.sleep(0.01)
    sys.exit(0)
assert verb in ("start", "enable") and ("Type", "notify") in keys, words
for command in (value for key, value in keys if key == "ExecStartPre"):
    subprocess.run(shlex.split(command), check=True)
ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
ready.bind("\\0troupe-test-" + str(os.getpid()))
ready.settimeout(60)
environment = dict(os.environ, NOTIFY_SOCKET="@troupe-test-" + str(os.getpid()))
environment.update(value.split("=", 1) for key, value in keys if key == "Environment")
command, = (value for key, value in keys if key == "ExecStart")
log = open(state.with_suffix(".log"), "ab")
engine = subprocess.Popen(shlex.split(command), env=environment, stdin=subprocess.DEVNULL,
                          stdout=log, stderr=log, start_new_session=True)
state.write_text(str(engine.pid))
while b"READY=1" not in ready.recv(4096):
    pass
"""

LOGINCTL = "#!/bin/sh\n[ \"$1\" = enable-linger ]\n"


def section(title):
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def commands(title):
    """The lines of a section's blocks, in their order."""
    text = re.sub(r"```.*?```", "", section(title), flags=re.S)
    lines = re.findall(r"^ {4,6}(\S.*)$", text, re.M)
    assert lines, title
    return lines


class OperatingTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW)
        self.other = self.folder / "other"
        self.tools = self.folder / "tools"
        self.home = self.folder / "home"
        self.prefix = self.folder / "usr"
        for folder in (self.tools, self.home, self.folder / "backup", self.folder / "units"):
            folder.mkdir()
        shutil.copy(UNIT, self.folder / "units")
        for name, text in (("systemctl", SYSTEMCTL), ("loginctl", LOGINCTL)):
            path = self.tools / name
            path.write_text(text)
            path.chmod(0o755)

    def tearDown(self):
        for path in self.folder.glob("units/*.pid"):
            try:
                os.kill(int(path.read_text()), signal.SIGKILL)
            except ProcessLookupError:
                pass
        for store in (self.other, self.home / ".local/state/troupe"):
            own, self.store = self.store, store
            self.end_keeper()
            self.store = own
        super().tearDown()

    def environment(self):
        return super().environment() | {
            "TROUPE_FOLDER": str(self.folder), "HOME": str(self.home),
            "UNITS": str(self.folder / "units"), "SYSTEM_UNITS": str(self.folder / "units"),
            "SYSTEM_STORE": str(self.store), "SYSTEM_PROGRAM": str(self.program())}

    def program(self):
        installed = self.prefix / "bin/troupe"
        return installed if installed.exists() else PROGRAM

    def type(self, line, status=0):
        """A line of the page, on this test's folders."""
        for old, new in (("/var/lib/troupe", self.store), ("/srv/troupe", self.other),
                         ("/backup/", f"{self.folder}/backup/"), ("--prefix /usr",
                                                                 f"--prefix {self.prefix}"),
                         ("build/release", PROGRAM.parent), ("build/old", PROGRAM.parent)):
            line = line.replace(old, str(new))
        path = f"{self.tools}:{self.prefix}/bin:{PROGRAM.parent}:{os.environ['PATH']}"
        environment = self.environment() | {"PATH": path}
        environment.pop("TROUPE_STORE")
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=environment, text=True,
                              capture_output=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, status, f"{line}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def begin(self, workflow, name):
        self.troupe("submit", "flow.yaml", workflow, "--name", name, "-q")

    def begun(self):
        path = self.folder / "begun"
        return path.read_text().split() if path.exists() else []

    def test_health_checks(self):
        self.type("systemctl start troupe")
        for line in commands("Health checks"):
            out = self.type(line)
        self.assertEqual(json.loads(out)["state"], "healthy")
        probes = yaml.safe_load(re.search("```yaml\n(.*?)```", section("Health checks"),
                                          re.S).group(1))
        self.assertEqual(set(probes), {"readinessProbe", "livenessProbe"})
        for probe in probes.values():
            words = probe["exec"]["command"]
            self.type(" ".join(words))
            answer_s = int(words[words.index("--timeout") + 1].removesuffix("s"))
            self.assertLess(answer_s, probe["timeoutSeconds"])
        self.type("systemctl stop troupe")
        self.type(commands("Health checks")[0], status=4)

    def test_backup_and_restore(self):
        self.type("systemctl start troupe")
        self.begin("main", "it")
        wait_until(lambda: self.begun() == ["1"], "it runs")
        *before, restore, look, resume = commands("Backup and restore")
        for line in before:
            self.type(line)
        self.assertEqual({path.name for path in (self.folder / "backup").iterdir()},
                         {"troupe.tar", "troupe.tar.gz"})
        unpacked = subprocess.run(["gzip", "-dc", self.folder / "backup/troupe.tar.gz"],
                                  capture_output=True, check=True).stdout
        self.assertTrue(unpacked.startswith(b"BACKUP\0"))
        self.type("systemctl stop troupe")
        self.kill_keeper(signal.SIGTERM)
        self.type(restore)
        self.assertRegex(self.type(look), r"it\s+main\s+running, dormant")
        self.write("go", "")
        self.type(resume)
        self.assertEqual(self.document("get", "it", "--store", self.other)["outputs"], {"b": 1})
        self.assertEqual(self.begun(), ["1", "1"])

    def test_upgrade_and_back(self):
        """A process outlives the change of the program; a store of a later one goes back."""
        lines = commands("Upgrade")
        at = next(i for i, line in enumerate(lines) if "build/old" in line) - 1
        self.type("systemctl start troupe")
        self.begin("main", "it")
        self.begin("asks", "asked")
        wait_until(lambda: self.begun() == ["1"], "it runs")
        for line in lines[:at]:
            self.type(line)
        self.write("go", "")
        self.troupe("watch", "it", "-q")
        self.assertEqual(self.begun(), ["1"])
        self.type("systemctl stop troupe")
        self.end_keeper()
        with open(self.store / "troupe.db", "r+b") as file:
            file.seek(FORMAT_AT)
            file.write((99).to_bytes(4, "big"))
        _, err = self.troupe("serve", status=4)
        self.assertIn("has format 99, and this version knows formats up to", err)
        self.type(lines[at + 1])
        for line in lines[at + 2:]:
            self.type(line)
        self.troupe("approve", "asked")
        self.troupe("watch", "asked", "-q")
        self.assertTrue((self.folder / "store.newer/troupe.db").exists())

    def test_moving(self):
        lines = commands("Moving to another machine")
        at = next(i for i, line in enumerate(lines) if line.startswith("troupe restore"))
        self.type("systemctl start troupe")
        self.begin("main", "it")
        self.begin("asks", "asked")
        self.begin("asks", "more")
        wait_until(lambda: self.begun() == ["1"], "it runs")
        self.type(lines[0])
        self.write("go", "")
        for line in lines[1:at]:
            self.type(line)
        self.end_keeper()
        shutil.rmtree(self.store)  # the other machine has none
        for line in lines[at:]:
            self.type(line)
        for name in ("asked", "more"):
            self.troupe("approve", name)
            self.troupe("watch", name, "-q")
        self.assertEqual(self.document("get", "it")["outputs"], {"b": 1})
        self.assertEqual(self.begun(), ["1"])

    def test_running_as_a_user(self):
        for line in commands("Running under systemd as a user"):
            out = self.type(line)
        store = self.home / ".local/state/troupe"
        self.assertRegex(out, f"^engine \\d+ of {store} lives, 0 executions active")
        self.assertEqual(store.stat().st_mode & 0o777, 0o700)
        self.type("systemctl --user stop troupe")


class UnitTest(ProgramTest):
    def verify(self, path, *words):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not installed")
        done = subprocess.run(["systemd-analyze", *words, "verify", "--man=no", path], text=True,
                              env=os.environ | {"XDG_RUNTIME_DIR": str(self.folder)},
                              capture_output=True, timeout=LIMIT_S)
        own = [line for line in (done.stdout + done.stderr).splitlines()
               if "troupe" in line and not LATER.search(line)]
        self.assertEqual(own, [])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_unit_of_the_system(self):
        path = self.write("troupe.service", UNIT.read_text().replace("/usr/bin/troupe",
                                                                     str(PROGRAM)))
        self.verify(path)

    def test_the_unit_of_a_user(self):
        """As an installation has it, with the program of its own prefix."""
        prefix = self.folder / "prefix"
        subprocess.run(["cmake", "--install", PROGRAM.parent, "--prefix", prefix], check=True,
                       capture_output=True, timeout=LIMIT_S)
        path = prefix / "share/systemd/user/troupe.service"
        self.assertIn(f"ExecStart={prefix}/bin/troupe serve", path.read_text())
        self.verify(path, "--user")


if __name__ == "__main__":
    unittest.main()
