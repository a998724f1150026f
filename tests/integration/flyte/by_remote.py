"""Runs the workflows of `flows` by FlyteRemote, beside the local execution of flytekit's own:

    python by_remote.py ADDRESS list            their names, as JSON
    python by_remote.py ADDRESS run NUMBERS     those that came out otherwise, and why

It lies beside the package, all of which has been registered. Numbers are those of the list.
"""

import concurrent.futures
import json
import sys
import time
import traceback

from flytekit.configuration import Config, PlatformConfig
from flytekit.remote import FlyteRemote

from flows import cases, refer
from flows import all as more

PROJECT, DOMAIN, VERSION = "default", "development", "v1"
CLIENTS = 4
LIMIT_S = 900
AGAIN_S = 0.2
TRACE_BYTES_MAX = 600


def rows():
    """The workflow, its inputs, and what it gives: a function that is called when it is needed."""
    found = [(row[0], row[1], lambda row=row: cases.case(*row))
             for module in cases.MODULES for row in module.CASES]
    found += [(*row, lambda row=row: cases.case_of_all(*row)) for row in more.CASES]
    return found + [(row[0], row[1], lambda row=row: cases.case_of_reference(*row))
                    for row in refer.CASES]


def remote_of(address):
    return FlyteRemote(Config(platform=PlatformConfig(endpoint=address, insecure=True)),
                       default_project=PROJECT, default_domain=DOMAIN)


def run(address, flow, inputs):
    """What comes out of it as cases.py has it."""
    remote = remote_of(address)
    plan = remote.fetch_launch_plan(name=flow.name, version=VERSION)
    execution = remote.execute(plan, inputs=inputs, wait=False)
    end = time.monotonic() + LIMIT_S
    while not execution.is_done:
        execution = remote.sync(execution, sync_nodes=False)
        assert time.monotonic() < end, f"{execution.id.name} does not end"
        time.sleep(AGAIN_S)
    execution = remote.sync(execution, sync_nodes=True)
    if execution.error is not None:
        return {"fails": execution.error.message}
    made = execution.outputs.as_python_native(flow.python_interface)
    names = list(flow.python_interface.outputs)
    made = made if len(names) > 1 else () if not names else (made,)
    return {"outputs": {name: cases.as_json(value) for name, value in zip(names, made)}}


def is_same(found, expected):
    if "fails" in expected:  # what is missing is told with other words in a package
        told = "others.shared.gone" if "others.shared.gone" in expected["fails"] else \
            expected["fails"]
        return told in found.get("fails", "")
    return found.get("outputs") == expected["outputs"]


def judge(address, row):
    """None, or what is wrong."""
    flow, inputs, expected = row
    try:
        found = run(address, flow, inputs)
    except Exception:  # whatever flytekit raises is told
        return f"{flow.name} {inputs}: {traceback.format_exc()[-TRACE_BYTES_MAX:]}"
    wanted = expected()
    return None if is_same(found, wanted) else f"{flow.name} {inputs}: {found}, not {wanted}"


def main():
    address, what, *numbers = sys.argv[1:]
    found = rows()
    print()
    if what == "list":
        print(json.dumps([row[0].name for row in found]))
        return
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        wrong = clients.map(lambda number: judge(address, found[int(number)]), numbers)
        print(json.dumps([each for each in wrong if each is not None]))


if __name__ == "__main__":
    main()
