"""The command of a notification: what it is told stands as JSON on its stdin.

What it writes to stderr is kept if it fails, which has it tried again.
"""
import json
import sys

told = json.load(sys.stdin)
error = told["error"]
if error is None:
    print(f"{told['name']} is {told['phase']}")
else:
    print(f"{told['name']} is {told['phase']}: {error['node']}: {error['message']}")
