"""Flyte's messages by hand, as far as the benchmark of the API needs them, and calls through `load`,
the client that costs little. So nothing has to be installed to measure.
"""

import subprocess
from collections import namedtuple

ADMIN = "/flyteidl.service.AdminService/"
PROJECT, DOMAIN, VERSION = "bench", "development", "v1"
TASK, WORKFLOW, LAUNCH_PLAN = 1, 2, 3
INTEGER = 1
ASCENDING = 1

# What a line of calls has come to.
Calls = namedtuple("Calls", "count failed seconds median_us p99_us answer_bytes answer")


# ---------------------------------------------------------------------------------- messages


def varint(value):
    digits = bytearray()
    while value > 0x7f:
        digits.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(digits + bytes([value]))


def message(*fields):
    """A message of (number, value) in their order; a value is a number, text, or a message."""
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(varint(number << 3) + varint(value))
        else:
            data = value.encode() if isinstance(value, str) else value
            parts.append(varint(number << 3 | 2) + varint(len(data)) + data)
    return b"".join(parts)


def take_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def field(data, *path):
    """What a message holds at a path of numbers, the last of each; None if it is not there."""
    at, found = 0, None
    while at < len(data):
        tag, at = take_varint(data, at)
        if tag & 7 == 0:
            value, at = take_varint(data, at)
        elif tag & 7 == 2:
            size, at = take_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"no field of this benchmark: {tag}")
        if tag >> 3 == path[0]:
            found = value
    return field(found, *path[1:]) if path[1:] and found is not None else found


def repeated(data, number):
    """How often a field is there."""
    at, count = 0, 0
    while at < len(data):
        tag, at = take_varint(data, at)
        size, at = take_varint(data, at)
        at += size if tag & 7 == 2 else 0
        count += tag >> 3 == number
    return count


def entity(kind, name):
    return message((1, kind), (2, PROJECT), (3, DOMAIN), (4, name), (5, VERSION))


def integers(*names):
    integer = message((1, message((1, INTEGER))))
    return message(*((1, message((1, name), (2, integer))) for name in names))


INTERFACE = message((1, integers("a")), (2, integers("o0")))


def promise(node, var):
    return message((3, message((1, node), (2, var))))


def task(name):
    """A task of the plugin `echo`, which does nothing."""
    id = entity(TASK, name)
    template = message((1, id), (2, "echo"), (4, INTERFACE))
    return message((1, id), (2, message((1, template))))


def workflow(name, task_name):
    id = entity(WORKFLOW, name)
    node = message((1, "n0"), (2, message((1, "n0"))),
                   (3, message((1, "a"), (2, promise("", "a")))),
                   (6, message((1, entity(TASK, task_name)))))
    template = message((1, id), (3, INTERFACE), (4, node),
                       (5, message((1, "o0"), (2, promise("n0", "o0")))))
    return message((1, id), (2, message((1, template))))


def plan(name, workflow_name):
    parameter = message((1, message((1, message((1, INTEGER))))), (3, 1))
    inputs = message((1, message((1, "a"), (2, parameter))))
    spec = message((1, entity(WORKFLOW, workflow_name)), (3, inputs))
    return message((1, entity(LAUNCH_PLAN, name)), (2, spec))


def execution_of(plan_name):
    """A request that begins one, as flytekit sends it."""
    number = message((1, message((1, message((1, 7))))))
    spec = message((1, entity(LAUNCH_PLAN, plan_name)), (3, message((2, "placeholder"))))
    return message((1, PROJECT), (2, DOMAIN), (4, spec),
                   (5, message((1, message((1, "a"), (2, number))))))


def execution(name):
    return message((1, PROJECT), (2, DOMAIN), (4, name))


def execution_list(limit, filters, key, direction=0):
    return message((1, message((1, PROJECT), (2, DOMAIN))), (2, limit), (4, filters),
                   (5, message((1, key), (2, direction))))


def node_list(name, limit):
    return message((1, execution(name)), (2, limit),
                   (5, message((1, "created_at"), (2, ASCENDING))))


# ------------------------------------------------------------------------------------- calls


class Client:
    """A `load` that is told what to call; connections stay open from one line to the next."""

    def __init__(self, program, address):
        self.process = subprocess.Popen([program, address], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def begin(self, method, request=b"", connections=1, streams=1, calls=1, milliseconds=0):
        self.process.stdin.write(f"{method} {connections} {streams} {calls} {milliseconds} "
                                 f"{request.hex() or '-'}\n")
        self.process.stdin.flush()

    def end(self):
        """What came of the line that was begun; calls that fail end the benchmark."""
        words = self.process.stdout.readline().split()
        if len(words) != len(Calls._fields):
            raise RuntimeError("the client has ended")
        done = Calls(int(words[0]), int(words[1]), *map(float, words[2:5]), int(words[5]),
                     bytes.fromhex(words[6].strip("-")))
        if done.failed > 0:
            raise RuntimeError(f"{done.failed} of {done.count} calls failed")
        return done

    def call(self, method, request=b"", **more):
        self.begin(method, request, **more)
        return self.end()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
