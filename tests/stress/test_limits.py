#!/usr/bin/env python3
"""Limits of the machine from far too little to enough: of open files, processes and memory, over
`run`, `serve` and `submit`. Each command either works, or ends in words and a status within
seconds: no signal, no abort of a library, no hang. A few steps by default, all with
TROUPE_TEST_LONG.
"""

import os
import pathlib
import pwd
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from program import IS_SANITIZED, PROGRAM, ProgramTest  # noqa: E402

IS_LONG = bool(os.environ.get("TROUPE_TEST_LONG"))
LIMIT_S = 30
MIB = 1 << 20

FLOW = """
troupe: 1
tasks: {hello: {outputs: {n: int}, run: [sh, -c, 'echo "{\\"n\\": 3}" > "$TROUPE_OUTPUTS"']}}
workflows: {w: {nodes: {n: {task: hello}}, outputs: {n: $n.n}}}
"""


def steps(values, every):
    """All of them in the long form."""
    values = list(values)
    return values if IS_LONG else values[::every]


SWEEPS = {
    "open_files": (resource.RLIMIT_NOFILE, steps([*range(3, 40), *range(40, 400, 5)], 9)),
    "processes": (resource.RLIMIT_NPROC, steps(range(1, 60), 6)),
    "memory": (resource.RLIMIT_AS, [MIB * each for each in steps(
        [*range(8, 64, 2), *range(64, 600, 8)], 8)]),
}


@unittest.skipIf(IS_SANITIZED, "sanitizers need terabytes of addresses")
class SweepTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.write("flow.yaml", FLOW)
        self.user = None
        if os.getuid() == 0:
            self.user = pwd.getpwnam("nobody").pw_uid

    def command(self, kind, most, *words):
        """How a command ends under a limit: (status, stderr)."""
        number, is_processes = SWEEPS[kind][0], kind == "processes"

        def begin():
            resource.setrlimit(number, (most, most))
            if is_processes and self.user is not None:
                os.setresuid(self.user, self.user, self.user)  # root has no such limit
        try:
            process = subprocess.Popen([PROGRAM, *words], cwd=self.folder, text=True,
                                       env=self.environment(), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       preexec_fn=begin)
        except BlockingIOError:  # a keeper that is just leaving counts, too
            return 4, "with so few processes the machine does not begin the program"
        try:
            if words[0] == "serve":
                status, stderr = self.serve_for_a_moment(process)
            else:
                stderr = process.communicate(timeout=LIMIT_S)[1]
                status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"{kind} {most}: {words} hangs: {process.communicate()[1]}")
        return status, stderr

    def serve_for_a_moment(self, process):
        """Until it serves, or has ended; then it is asked to leave."""
        said = ""
        for line in process.stderr:
            said += line
            if "serves" in line:
                process.send_signal(signal.SIGTERM)
        process.wait(timeout=LIMIT_S)
        process.stderr.close()
        return process.returncode, said

    def require_good_end(self, kind, most, status, stderr, words):
        """It works, or says why not; whether it works."""
        where = f"{kind} {most}: troupe {words[0]}: {status}: {stderr}"
        self.assertGreaterEqual(status, 0, where)
        self.assertIn(status, (0, 1, 2, 4, 127), where)
        for bad in ("Assertion", "Too many open files (src", "terminate", "its last events are in"):
            self.assertNotIn(bad, stderr, where)
        self.assertTrue(status == 0 or stderr.strip() != "", where)
        return status == 0

    def sweep(self, kind, prepare, *words):
        """The largest limit is enough."""
        works = False
        for most in SWEEPS[kind][1]:
            self.fresh()
            prepare()
            status, stderr = self.command(kind, most, *words)
            works = self.require_good_end(kind, most, status, stderr, words)
        self.assertTrue(works, f"{kind}: {words} never works: {stderr}")

    def fresh(self):
        """A new store, which nobody's keeper has."""
        self.end_keeper()
        self.store = pathlib.Path(tempfile.mkdtemp(prefix="store-", dir=self.folder))
        if self.user is not None:
            os.chown(self.store, self.user, -1)
            os.chown(self.folder, self.user, -1)

    def test_run(self):
        for kind in SWEEPS:
            with self.subTest(kind):
                self.sweep(kind, lambda: None, "run", "flow.yaml", "-q")

    def test_serve(self):
        for kind in SWEEPS:
            with self.subTest(kind):
                self.sweep(kind, lambda: None, "serve")

    def test_a_small_stack_beside_few_addresses(self):
        """It grows at the start where addresses are bounded, but not beyond its own bound."""
        limits = {resource.RLIMIT_AS: 400 * MIB, resource.RLIMIT_STACK: MIB // 4}

        def begin():
            for number, most in limits.items():
                resource.setrlimit(number, (most, most))
        done = subprocess.run([PROGRAM, "--version"], preexec_fn=begin, text=True,
                              capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_submit(self):
        """The engine has enough, the command has not."""
        for kind in ("open_files", "memory"):
            with self.subTest(kind):
                self.fresh()
                engine = self.start("serve")
                engine.wait_for("serves")
                works = False
                for most in SWEEPS[kind][1]:
                    words = ("submit", "flow.yaml", "--wait", "-q")
                    status, stderr = self.command(kind, most, *words)
                    works = self.require_good_end(kind, most, status, stderr, words)
                self.assertTrue(works, kind)
                engine.signal(signal.SIGTERM)
                self.assertEqual(engine.end()[0], 0)


if __name__ == "__main__":
    unittest.main()
