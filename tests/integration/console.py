"""What the tests of the console share: a service, a browser, and executions to look at."""

import json
import subprocess
import unittest

from browser import CHROMIUM, Browser
from program import BUILT, PROGRAM, wait_until
from test_api import ServedTest

FLOW = """
troupe: 1
tasks:
  say:
    inputs: {text: string}
    outputs: {said: string}
    run: [sh, -c, 'echo "says $1" >&2; printf "{\\"said\\": \\"%s\\"}" "$1"', sh,
          '{{.inputs.text}}']
    stdout: outputs
  fails: {run: [sh, -c, 'echo it broke >&2; exit 3']}
  stays:
    run: [sh, -c, 'echo begins; while [ ! -e "$0/go" ]; do sleep 0.05; done; echo ends', FOLDER]
  half:
    inputs: {n: int}
    outputs: {n: int}
    run: [sh, -c, '[ "$1" != 3 ] || exit 1; echo "{\\"n\\": $(($1 / 2))}"', sh, '{{.inputs.n}}']
    stdout: outputs
workflows:
  inner:
    inputs: {text: string}
    nodes:
      first: {task: say, with: {text: $text}}
      second: {task: say, with: {text: $first.said}}
    outputs: {said: $second.said}
  main:
    inputs: {text: {type: string, default: hello}, times: {type: int, default: 2}}
    nodes:
      begin: {task: say, with: {text: $text}}
      inside: {workflow: inner, with: {text: $begin.said}}
      ok: {approve: release, after: [inside]}
      end: {task: say, with: {text: $inside.said}, after: [ok]}
    outputs: {said: $end.said}
  waits: {nodes: {stays: {task: stays}}}
  broken: {nodes: {fails: {task: fails}, never: {task: say, with: {text: x}, after: [fails]}}}
  halves:
    inputs: {ns: [int]}
    nodes: {halves: {map: half, with: {n: $ns}}}
  asks: {nodes: {it: {signal: limit, type: int}}}
launch_plans:
  nightly: {workflow: main, schedule: "0 3 * * *"}
"""


def why_not():
    """Why there is nothing to look at here; None: there is."""
    if CHROMIUM is None:
        return "Chromium is not installed"
    done = subprocess.run([PROGRAM, "console", "--http", "x"], capture_output=True, text=True)
    return "the program was built without its pages" if "without its pages" in done.stderr else None


class ConsoleTest(ServedTest):
    """A test with a browser of its class, which lasts, and a service of its own."""

    @classmethod
    def setUpClass(cls):
        reason = why_not()
        if reason is not None:
            raise unittest.SkipTest(reason)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.write("flow.yaml", FLOW.replace("FOLDER", str(self.folder)))

    def begin(self, *words):
        """A service; where its pages are."""
        self.address, *_ = self.serve(*(words or ("--http", "0")))
        self.url = f"http://{self.address}/console"

    def submit(self, workflow, name, *words):
        self.troupe("submit", "flow.yaml", workflow, "--name", name, *words)

    def phase(self, name):
        return self.document("get", name)["phase"]

    def wait_for_phase(self, name, phase):
        wait_until(lambda: self.phase(name) == phase, f"{name} is {phase}")

    def wait_for_gate(self, name):
        wait_until(lambda: [gate for gate in self.document("gates") if gate["execution"] == name],
                   f"a gate of {name} waits")

    def page(self, path="/", size=(1280, 800)):
        page = self.browser.page(self.url + path, size)
        self.addCleanup(page.close)
        return page

    @staticmethod
    def of(name, view=""):
        """The path of an execution's page."""
        return f"/executions/default/development/{name}{view}"

    def assert_well(self, page):
        """Nothing that the browser complains about."""
        self.assertEqual(page.faults(), [])


AXE = BUILT.parent / "pages/node_modules/axe-core/axe.min.js"

RULES = {"light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
         "dark": ["color-contrast", "link-in-text-block"]}  # what depends on colours

LOOK = """axe.run(document, {resultTypes: ["violations"], runOnly: %s})
    .then((found) => found.violations.map((one) =>
        one.id + ": " + one.help + ": " + one.nodes.slice(0, 3).map((node) => node.html)
            .join(" | ").slice(0, 400)))"""


def violations(page, scheme):
    """What axe finds against a page."""
    page.run(AXE.read_text() + "; true")
    return page.run(LOOK % json.dumps(RULES[scheme]))
