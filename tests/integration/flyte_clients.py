"""What the tests share that ask a `troupe serve --http` by flytekit's own clients.

flytekit takes a second to load, so one process asks for all tests of a class; its functions are
those of tests/support/flyte_client.py.
"""

import json
import subprocess
import threading

from program import LIMIT_S, ROOT
from pypi import KIT, KIT_PYTHON, have_library
from test_api import ServedTest
from test_flyte_packages import PackageTest

CLIENT = ROOT / "tests/support/flyte_client.py"


class ClientTest(ServedTest, PackageTest):
    """A test with a service, packages for it, and clients."""

    asking = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        have_library(KIT_PYTHON, KIT)
        cls.addClassCleanup(cls.end_asking)

    @classmethod
    def end_asking(cls):
        if cls.asking is not None:
            cls.asking.kill()
            cls.asking.communicate()
            cls.asking = None

    def ask(self, function, token=None, **arguments):
        """What a function of the client gives, as JSON has it."""
        cls = type(self)
        if cls.asking is None:
            cls.asking = subprocess.Popen([KIT_PYTHON, CLIENT], text=True,
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        request = {"address": self.address, "function": function, "arguments": arguments,
                   "token": token}
        limit = threading.Timer(LIMIT_S, cls.asking.kill)
        limit.start()
        try:
            cls.asking.stdin.write(json.dumps(request) + "\n")
            cls.asking.stdin.flush()
            line = cls.asking.stdout.readline()
        finally:
            limit.cancel()
        if line == "":
            cls.end_asking()
            self.fail(f"no answer to {function} within {LIMIT_S} s")
        answer = json.loads(line)
        self.assertNotIn("error", answer, answer.get("error"))
        return answer["result"]
