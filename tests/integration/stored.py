"""What the store of an engine holds of its tasks, read and changed from outside.

Fields are named by their definitions in schemas/, in whose order they are packed; the msgpack of
their bytes is read by a few lines of its own. What is changed gets the sums it needs to be
believed.
"""

import functools
import re
import struct

import stores
from program import ROOT

TASK_BEHAVIOUR = 102
START_PAGE = 0
PLUGIN_PAGE = 1

PUT_PAGE = 4  # TRI_OP_PUT_PAGE, with which the sum of a page's row begins

MASK = (1 << 64) - 1

# The first bytes of msgpack's longer forms: how their number or size is packed.
NUMBERS = {0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q", 0xd0: ">b", 0xd1: ">h", 0xd2: ">i",
           0xd3: ">q"}
TEXTS = {0xd9: ">B", 0xda: ">H", 0xdb: ">I"}
BYTES = {0xc4: ">B", 0xc5: ">H", 0xc6: ">I"}
ARRAYS = {0xdc: ">H", 0xdd: ">I"}
CONSTANTS = {0xc0: None, 0xc2: False, 0xc3: True}


def unpack(data):
    """The value that the bytes hold."""
    value, at = unpack_at(data, 0)
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes are left")
    return value


def unpack_at(data, at):
    kind, at = data[at], at + 1
    if kind < 0x80:
        return kind, at
    if kind < 0xa0 and kind >= 0x90:
        return unpack_array(data, at, kind & 0x0f)
    if 0xa0 <= kind < 0xc0:
        return data[at:at + (kind & 0x1f)].decode(), at + (kind & 0x1f)
    if kind in CONSTANTS:
        return CONSTANTS[kind], at
    for forms in (NUMBERS, TEXTS, BYTES, ARRAYS):
        if kind in forms:
            number, = struct.unpack_from(forms[kind], data, at)
            at += struct.calcsize(forms[kind])
            if forms is NUMBERS:
                return number, at
            if forms is ARRAYS:
                return unpack_array(data, at, number)
            piece = data[at:at + number]
            return piece.decode() if forms is TEXTS else piece, at + number
    raise ValueError(f"a value that begins with {kind:#x}")


def unpack_array(data, at, count):
    values = []
    for _ in range(count):
        value, at = unpack_at(data, at)
        values.append(value)
    return values, at


def pack(value):
    """Its bytes, in the shortest form, as the engine packs them."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return bytes([value]) if value < 0x80 else pack_sized(NUMBERS, value, b"")
    if isinstance(value, str):
        data = value.encode()
        return bytes([0xa0 | len(data)]) + data if len(data) < 32 else pack_sized(
            TEXTS, len(data), data)
    if isinstance(value, bytes):
        return pack_sized(BYTES, len(value), value)
    data = b"".join(map(pack, value))
    return bytes([0x90 | len(value)]) + data if len(value) < 16 else pack_sized(
        ARRAYS, len(value), data)


def pack_sized(forms, number, data):
    for kind, form in forms.items():
        if number < 1 << 8 * struct.calcsize(form):
            return bytes([kind]) + struct.pack(form, number) + data
    raise ValueError(f"{number} is too large")


@functools.lru_cache
def fields(path, name):
    """(name, since) of each field of a list in schemas/engine/, those of the lists within it, too."""
    text = (ROOT / "schemas/engine" / path).read_text()
    found = re.search(rf"#define {name}\(FIELD, ARRAY\)((?:.*\\\n)*.*)", text)
    if found is None:
        return fields("webapi.h", name)
    entries = re.findall(r"(\w+)\(([^()]*)\)", found[1])
    result = []
    for macro, words in entries:
        parts = [word.strip() for word in words.split(",")]
        if macro == "FIELD":
            result.append((parts[1], int(parts[2])))
        elif macro == "ARRAY":
            result.append((parts[1], int(parts[3])))
        else:
            result += fields(path, macro)
    return result


def version_of(path, schema):
    """The version in which a schema is written now."""
    text = (ROOT / "schemas/engine" / path).read_text()
    return int(re.search(rf"S\({schema}, \d+, \w+, (\d+),", text)[1])


def named(values, names):
    if len(values) != len(names):
        raise ValueError(f"{len(values)} values for {len(names)} fields")
    return dict(zip((name for name, _ in names), values))


def names_of_wrapper():
    return fields("state_task.h", "TR_TASK_PLUGIN_FIELDS")


def sum_of(wrapper):
    """FNV-1a of 64 bits, over whose state it is, in which version, and its bytes."""
    number = 0xcbf29ce484222325
    for byte in wrapper["plugin"].encode() + bytes([wrapper["version"]]) + wrapper["state"]:
        number = (number ^ byte) * 0x100000001b3 & MASK
    return number


def sum_of_page(group, serial, page, data):
    """What stands beside a page in its row: runtime/journal/checksum.c."""
    def mix(number, word):
        number = (number ^ word) * 0x9e3779b97f4a7c15 & MASK
        return number ^ number >> 29

    words = [group, serial, page]
    words += [int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8)]
    number = functools.reduce(mix, [*words, len(data)], PUT_PAGE)
    return (number ^ number >> 32) & 0xffffffff


class Stored:
    """The tasks of a store, as they were committed when it was looked at."""

    def __init__(self, store):
        self.store = store

    def pages(self, number):
        """{(group, serial): bytes} of one page of each task."""
        return {(group, serial): data for group, serial, data in stores.rows(
            self.store, "SELECT key_group, key_serial, data FROM pages JOIN actors "
            f"USING (key_group, key_serial) WHERE behaviour = {TASK_BEHAVIOUR} "
            f"AND page = {number}")}

    def elements(self):
        """{(group, serial): element} of the tasks that are elements."""
        names = fields("flow.h", "TR_NODE_START_FIELDS")
        return {key: named(unpack(data), names)["element"]
                for key, data in self.pages(START_PAGE).items()}

    def wrappers(self):
        """{(group, serial): fields} of what lies around each task's plugin state."""
        return {key: named(unpack(data), names_of_wrapper())
                for key, data in self.pages(PLUGIN_PAGE).items()}

    def write(self, wrappers):
        """Puts wrappers in the place of those there are; no engine may have the store."""
        stores.change(self.store, *(self.statement(*key, wrapper)
                                    for key, wrapper in wrappers.items()))

    def statement(self, group, serial, wrapper):
        data = pack([wrapper[name] for name, _ in names_of_wrapper()])
        number = sum_of_page(group, serial, PLUGIN_PAGE, data)
        return (f"UPDATE pages SET data = {stores.literal(self.store, data)}, checksum = {number} "
                f"WHERE key_group = {group} AND key_serial = {serial} AND page = {PLUGIN_PAGE}")
