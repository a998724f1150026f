"""What a task in Python needs of Troupe: inputs in, outputs and errors out, progress, checkpoints.

    import troupe

    def count(text: pathlib.Path, since: datetime.datetime):
        ...
        return {"words": words, "took": datetime.timedelta(seconds=3)}

    troupe.run(count)

`run` reads the inputs by the function's annotations, writes what it returns as outputs, and what it
raises as the error. Its parts can be called alone: `inputs`, `outputs`, `fail`. Beside them there
are `progress`, and `save` and `load` for what the next attempt goes on from.

Tasks that are processes find this module on their own: its folder stands last in PYTHONPATH. For a
container, copy this one file. It needs Python 3.8 and nothing else.

How values stand in JSON, both ways:

    None, bool, int, str, list, dict     as JSON has them; keys are text
    float                                a number; "nan", "inf" and "-inf" as text
    datetime.datetime                    "2026-08-20T09:30:00Z"; one without a zone is taken for UTC
    datetime.date                        "2026-08-20", midnight UTC
    datetime.timedelta                   "1h30m" is read, "5400000000us" is written
    bytes                                base64
    enum.Enum                            its value
    a dataclass, a named tuple           an object of its fields
    pathlib.Path                         the path; a relative one counts from the working folder
    tuple, set, any iterable             a list, a set in its order
    numpy's and other arrays, scalars    what their tolist() gives, times by their kind
"""

import base64
import collections.abc
import dataclasses
import datetime
import enum
import inspect
import json
import math
import os
import re
import sys
import traceback
import typing

__all__ = ["run", "inputs", "outputs", "fail", "progress", "save", "load", "encode", "decode"]

UTC = datetime.timezone.utc
UNITS_US = {"d": 86400000000, "h": 3600000000, "m": 60000000, "s": 1000000, "ms": 1000, "us": 1}
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d))?")
SPAN = re.compile(r"(\d+)(?:\.(\d+))?(d|h|ms|us|m|s)")

_written = {}  # the outputs so far


# ---- The outside of a task. ---------------------------------------------------------------------


def inputs(types=None, /, **more):
    """The inputs by their names, as JSON has them, or as one of `types`: inputs(day=datetime.date).

    Types may also come as one mapping, where a name is none of Python's.
    """
    types = {**(types or {}), **more}
    with open(_path("TROUPE_INPUTS"), encoding="utf-8") as file:
        values = json.load(file)
    unknown = sorted(set(types) - set(values))
    if unknown:
        raise TypeError(f"the task has no input {unknown[0]!r}; its inputs are "
                        f"{', '.join(values) or 'none'}")
    return {name: _decode_input(name, value, types.get(name)) for name, value in values.items()}


def outputs(values=None, /, **more):
    """Writes outputs: outputs(total=3). Further calls add to those before.

    Outputs may also come as one mapping, where a name is none of Python's.
    """
    for name, value in {**(values or {}), **more}.items():
        _written[name] = encode(value, f"the output {name!r}")
    _write_json(_path("TROUPE_OUTPUTS"), _written)


def fail(code, message, recoverable=True):
    """Ends the task with an error; with `recoverable` False `retries` do not repeat it."""
    document = {"code": str(code), "message": str(message), "recoverable": bool(recoverable)}
    _write_json(_path("TROUPE_ERROR"), document)
    sys.exit(1)


def progress(text, percent=None):
    """Says how far the task has come, in one line, for `troupe watch`, `explain` and `get`."""
    line = " ".join(str(text).split())
    if percent is not None:
        line = f"{min(max(int(percent), 0), 100)} %" + (f", {line}" if line else "")
    if "TROUPE_PROGRESS" in os.environ:
        _write(os.environ["TROUPE_PROGRESS"], line + "\n")
    else:
        print(f"progress: {line}", file=sys.stderr, flush=True)


def save(name, value):
    """Keeps a value for later attempts of this task, or of this element, until it has succeeded."""
    _write_json(_checkpoint(name), encode(value, f"the checkpoint {name!r}"))


def load(name, default=None, kind=None):
    """What an earlier attempt has saved under the name, as a type; `default`: there is nothing."""
    try:
        with open(_checkpoint(name), encoding="utf-8") as file:
            return decode(json.load(file), kind)
    except FileNotFoundError:
        return default


def run(*functions):
    """Runs the function, or that of several which the task's first word behind the script names.

    It is called with the inputs, by the names of its parameters and as their annotations say; one
    with `**rest` takes all others. It returns outputs: a mapping, a dataclass, a named tuple, or
    None for no more than it has written itself. What it raises is the error of the task.
    """
    function = _choose(functions)
    try:
        given = _call(function)
        if given is not None:
            outputs(_outputs_of(given, function))
    except Exception as error:
        _print_traceback(error)
        fail(type(error).__name__, str(error) or repr(error))


# ---- Values into JSON and back. -----------------------------------------------------------------


def encode(value, where="the value"):
    """A value as JSON can hold it; TypeError, with the place, where nothing is known for its type.
    """
    if isinstance(value, enum.Enum):
        return encode(value.value, where)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    for types, function in _ENCODERS:
        if isinstance(value, types):
            return function(value)
    if callable(getattr(value, "tolist", None)):
        return encode(_plain_times(value).tolist(), where)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, collections.abc.Mapping):
        return {_key(key, where): encode(part, f"{where}.{key}") for key, part in value.items()}
    if isinstance(value, collections.abc.Set):
        value = sorted(value)
    if isinstance(value, collections.abc.Iterable):
        return [encode(part, f"{where}[{i}]") for i, part in enumerate(value)]
    raise TypeError(f"{where} is {_name_of(type(value))}, for which JSON has no form: give text, "
                    "numbers, lists, mappings, or write it to a file and give its path")


def decode(value, kind=None):
    """A value of JSON as one of a type; types of which nothing is known leave it as it is."""
    if kind in _DECODERS:
        return value if value is None else _DECODERS[kind](value)
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is not None:
        return _decode_generic(value, origin, parts)
    if not inspect.isclass(kind) or value is None:
        return value
    if issubclass(kind, (enum.Enum, os.PathLike)):
        return kind(value)
    if isinstance(value, dict) and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")):
        hints = typing.get_type_hints(kind)
        return kind(**{name: decode(part, hints.get(name)) for name, part in value.items()})
    return value


def _decode_generic(value, origin, parts):
    """The same for list[T], dict[str, T], tuple[T, ...], set[T], Optional[T], A | B."""
    if origin is typing.Union or getattr(origin, "__name__", "") == "UnionType":
        return _decode_union(value, parts)
    if isinstance(value, dict) and len(parts) == 2:
        return {key: decode(part, parts[1]) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    if origin is tuple and parts[-1:] != (Ellipsis,):
        return tuple(decode(part, kind) for part, kind in zip(value, parts))
    decoded = [decode(part, parts[0]) for part in value]
    return origin(decoded) if origin in (tuple, set, frozenset) else decoded


def _decode_union(value, parts):
    """The first of its types that takes the value; {"type": T, "value": V} is V, one of them."""
    if value is None and type(None) in parts:
        return None
    if isinstance(value, dict) and set(value) == {"type", "value"}:
        value = value["value"]
    for part in parts:
        try:
            decoded = decode(value, part)
        except (TypeError, ValueError):
            continue
        if not inspect.isclass(part) or isinstance(decoded, part):
            return decoded
    return value


def _moment(text):
    """RFC 3339, with up to nanoseconds, of which Python keeps microseconds."""
    match = MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no time such as 2026-08-20T09:30:00Z")
    day, clock, fraction, zone = match.groups()
    zone = "+00:00" if zone in (None, "Z", "z") else zone
    clock = f"{clock or '00:00:00'}.{(fraction or '')[:6]:0<6}"
    return datetime.datetime.fromisoformat(f"{day}T{clock}{zone}")


def _span(text):
    """Numbers with units, 1h30m or -250ms; what is below a microsecond is dropped."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text)
    if not re.fullmatch(f"({SPAN.pattern})+", rest):
        raise ValueError(f"{text!r} is no duration such as 1h30m")
    total = 0
    for whole, fraction, unit in SPAN.findall(rest):
        digits = fraction or "0"
        scale = 10 ** len(digits)
        total += UNITS_US[unit] * (int(whole) * scale + int(digits)) // scale
    return datetime.timedelta(microseconds=sign * total)


def _moment_text(moment):
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _plain_times(array):
    """numpy's times of any unit as those that become Python's."""
    units = {"M": "datetime64[us]", "m": "timedelta64[us]"}
    unit = units.get(getattr(getattr(array, "dtype", None), "kind", None))
    return array if unit is None else array.astype(unit)


def _key(key, where):
    key = key.value if isinstance(key, enum.Enum) else key
    if not isinstance(key, str):
        raise TypeError(f"{where} has the key {key!r}, and keys are text in JSON: use str({key!r})")
    return str(key)


_ENCODERS = [
    (datetime.datetime, _moment_text),
    (datetime.date, datetime.date.isoformat),
    (datetime.timedelta, lambda span: f"{span // datetime.timedelta(microseconds=1)}us"),
    ((bytes, bytearray, memoryview), lambda data: base64.b64encode(data).decode("ascii")),
    (os.PathLike, os.fspath),
]

_DECODERS = {
    None: lambda value: value,
    inspect.Parameter.empty: lambda value: value,
    float: float,
    datetime.datetime: _moment,
    datetime.date: lambda text: _moment(text).date(),
    datetime.timedelta: _span,
    bytes: base64.b64decode,
}


# ---- Inside. ------------------------------------------------------------------------------------


def _path(variable):
    path = os.environ.get(variable)
    if path is None:
        raise SystemExit(f"troupe: ${variable} is not set, so this is no task of an engine; "
                         "`troupe run FILE TASK -i NAME=VALUE` runs one alone")
    return path


def _checkpoint(name):
    return os.path.join(_path("TROUPE_CHECKPOINT"), f"{name}.json")


def _write(path, text):
    """Whole or not at all: what is killed meanwhile leaves what was there before."""
    part = f"{path}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)


def _write_json(path, value):
    _write(path, json.dumps(value, allow_nan=False) + "\n")


def _decode_input(name, value, kind):
    try:
        return decode(value, kind)
    except (TypeError, ValueError) as error:
        raise TypeError(f"the input {name!r} is no {_name_of(kind)}: {error}") from error


def _name_of(kind):
    return getattr(kind, "__name__", None) or str(kind)


def _choose(functions):
    by_name = {function.__name__: function for function in functions}
    if len(functions) == 1:
        return functions[0]
    name = sys.argv[1] if len(sys.argv) > 1 else None
    if name not in by_name:
        script, first = os.path.basename(sys.argv[0]), next(iter(by_name))
        raise SystemExit(f"troupe: name one of {', '.join(by_name)} behind the script, as in "
                         f"run: [python3, ./{script}, {first}]")
    return by_name[name]


def _call(function):
    """Calls a function with the inputs that it has parameters for."""
    parameters = inspect.signature(function).parameters.values()
    hints = typing.get_type_hints(function)
    takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters)
    names = {one.name for one in parameters}
    given = inputs()
    strangers = [] if takes_all else sorted(set(given) - names)
    if strangers:
        raise TypeError(f"the task has the input {strangers[0]!r}, and {function.__name__} takes "
                        "none of that name")
    return function(**{name: _decode_input(name, value, hints.get(name))
                       for name, value in given.items()})


def _print_traceback(error):
    """From the task's own code on; all of it where that has no part in it."""
    own = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename == __file__:
        own = own.tb_next
    traceback.print_exception(type(error), error, own or error.__traceback__)


def _outputs_of(given, function):
    if dataclasses.is_dataclass(given):
        return {field.name: getattr(given, field.name) for field in dataclasses.fields(given)}
    if hasattr(given, "_asdict"):
        return given._asdict()
    if isinstance(given, collections.abc.Mapping):
        return given
    raise TypeError(f"{function.__name__} returned {_name_of(type(given))}; outputs have names: "
                    "return {NAME: VALUE}, a dataclass or a named tuple")
