"""Values on their way from task to task: each type alone, and types within types."""

import typing
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from enum import Enum

from flytekit import current_context, task, workflow
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

List, Dict, Optional, Union = typing.List, typing.Dict, typing.Optional, typing.Union
NOW = datetime(2026, 8, 20, 9, 30, 15, 250000, tzinfo=timezone.utc)


class Level(Enum):
    LOW = "low"
    HIGH = "high"


@dataclass
class Inner:
    n: int = 1
    words: List[str] = field(default_factory=list)


@dataclass
class Outer:
    inner: Inner
    many: List[Inner]
    named: Dict[str, Inner]
    maybe: Optional[Inner] = None
    ratio: float = 0.5
    flag: bool = False


@dataclass
class WithFile:
    file: FlyteFile
    when: datetime


class Plain:
    def __init__(self, text):
        self.text = text


Pair = typing.NamedTuple("Pair", left=int, right=str)


@task
def say(a: int) -> str:
    return repr(a)


@task
def same_int(a: int) -> int:
    return a


@task
def same_float(a: float) -> float:
    return a


@task
def same_str(a: str) -> str:
    return a


@task
def same_bool(a: bool) -> bool:
    return a


@task
def same_time(a: datetime) -> datetime:
    return a


@task
def same_span(a: timedelta) -> timedelta:
    return a


@task
def same_list(a: List[int]) -> List[int]:
    return a


@task
def same_dict(a: Dict[str, int]) -> Dict[str, int]:
    return a


@task
def same_deep(a: Dict[str, List[Dict[str, float]]]) -> Dict[str, List[Dict[str, float]]]:
    return a


@task
def same_level(a: Level) -> Level:
    return a


@task
def same_outer(a: Outer) -> Outer:
    return a


@task
def same_maybe(a: Optional[List[int]]) -> Optional[List[int]]:
    return a


@task
def same_union(a: Union[int, float, str, bool]) -> Union[int, float, str, bool]:
    return a


@task
def same_json(a: dict) -> dict:
    return a


@task
def same_times(a: List[datetime]) -> List[datetime]:
    return a


@task
def pair(a: int) -> Pair:
    return Pair(a, str(a))


@task
def nothing_at_all() -> None:
    pass


@task
def make_outer(n: int) -> Outer:
    inner = Inner(n, ["a", "b"])
    return Outer(inner, [inner, Inner()], {"k": inner}, inner if n > 1 else None, 1.5, True)


@task
def make_plain(text: str) -> Plain:
    return Plain(text)


@task
def show_plain(a: Plain) -> str:
    return a.text


@task
def show_plains(a: List[Plain]) -> str:
    return " ".join(each.text for each in a)


@task
def show_union(a: Union[int, float, str, bool]) -> str:
    return f"{type(a).__name__} {a}"


@task
def show_maybe_outer(a: Optional[Outer]) -> str:
    return "none" if a is None else f"{a.inner.n} {a.maybe}"


@task
def show_time(a: datetime) -> str:
    return a.isoformat()


@task
def show_date(a: date) -> str:
    return a.isoformat()


@task
def write(text: str) -> FlyteFile:
    path = f"{current_context().working_directory}/written"
    with open(path, "w") as file:
        file.write(text)
    return FlyteFile(path)


@task
def write_typed(text: str) -> FlyteFile["txt"]:
    path = f"{current_context().working_directory}/typed.txt"
    with open(path, "w") as file:
        file.write(text)
    return FlyteFile["txt"](path)


@task
def read(file: FlyteFile) -> str:
    with open(file) as opened:
        return opened.read()


@task
def read_typed(file: FlyteFile["txt"]) -> str:
    with open(file) as opened:
        return opened.read()


@task
def read_all(files: Dict[str, List[FlyteFile]]) -> str:
    return " ".join(open(each).read() for _, row in sorted(files.items()) for each in row)


@task
def write_folder(n: int) -> FlyteDirectory:
    import os
    folder = f"{current_context().working_directory}/made"
    os.makedirs(f"{folder}/deep")
    for i in range(n):
        with open(f"{folder}/deep/{i}", "w") as file:
            file.write(str(i))
    return FlyteDirectory(folder)


@task
def read_folder(folder: FlyteDirectory) -> str:
    import os
    folder.download()
    return " ".join(sorted(os.listdir(f"{folder.path}/deep")))


@task
def hold(text: str) -> WithFile:
    path = f"{current_context().working_directory}/held"
    with open(path, "w") as file:
        file.write(text)
    return WithFile(FlyteFile(path), NOW)


@task
def show_held(a: WithFile) -> str:
    return f"{open(a.file).read()} {a.when.isoformat()}"


@workflow
def an_int(a: int) -> int:
    return same_int(a=a)


@workflow
def a_float(a: float) -> float:
    return same_float(a=a)


@workflow
def a_str(a: str) -> str:
    return same_str(a=a)


@workflow
def a_bool(a: bool) -> bool:
    return same_bool(a=a)


@workflow
def a_time(a: datetime) -> datetime:
    return same_time(a=a)


@workflow
def a_span(a: timedelta) -> timedelta:
    return same_span(a=a)


@workflow
def a_list(a: List[int]) -> List[int]:
    return same_list(a=a)


@workflow
def a_dict(a: Dict[str, int]) -> Dict[str, int]:
    return same_dict(a=a)


@workflow
def deep(a: Dict[str, List[Dict[str, float]]]) -> Dict[str, List[Dict[str, float]]]:
    return same_deep(a=a)


@workflow
def an_enum(a: Level = Level.HIGH) -> Level:
    return same_level(a=a)


@workflow
def a_dataclass(n: int) -> Outer:
    return same_outer(a=make_outer(n=n))


@workflow
def dataclass_fields(n: int) -> typing.Tuple[int, str, float, List[Inner]]:
    made = make_outer(n=n)
    return (same_int(a=made.inner.n), same_str(a=made.many[0].words[1]), same_float(a=made.ratio),
            made.many)


@workflow
def maybe_list(a: Optional[List[int]] = None) -> Optional[List[int]]:
    return same_maybe(a=a)


@workflow
def a_union(a: Union[int, float, str, bool]) -> str:
    return show_union(a=same_union(a=a))


@workflow
def maybe_dataclass(n: int) -> typing.Tuple[str, str]:
    return show_maybe_outer(a=make_outer(n=n)), show_maybe_outer(a=None)


@workflow
def untyped_json(a: dict) -> dict:
    return same_json(a=a)


@workflow
def times_in_a_list(a: List[datetime]) -> List[datetime]:
    return same_times(a=a)


@workflow
def a_named_tuple(a: int) -> Pair:
    made = pair(a=a)
    return Pair(made.left, made.right)


@workflow
def a_pickle(text: str) -> str:
    return show_plain(a=make_plain(text=text))


@workflow
def pickles_in_a_list(text: str) -> str:
    return show_plains(a=[make_plain(text=text), make_plain(text="other")])


@workflow
def a_file(text: str) -> str:
    return read(file=write(text=text))


@workflow
def a_typed_file(text: str) -> str:
    return read_typed(file=write_typed(text=text))


@workflow
def files_in_lists_in_maps(text: str) -> str:
    return read_all(files={"a": [write(text=text), write(text="2")], "b": [write(text="3")]})


@workflow
def a_folder(n: int) -> str:
    return read_folder(folder=write_folder(n=n))


@workflow
def a_dataclass_with_a_file(text: str) -> typing.Tuple[str, str]:
    held = hold(text=text)
    return show_held(a=held), read(file=held.file)


@workflow
def inputs_go_through(a: int, b: str = "x") -> typing.Tuple[str, int]:
    return b, same_int(a=a)


@workflow
def constants() -> typing.Tuple[int, str, bool, List[int], Dict[str, int]]:
    return (same_int(a=3), same_str(a="k"), same_bool(a=False), same_list(a=[1, 2]),
            same_dict(a={"a": 1}))


@workflow
def lists_of_promises(a: int) -> List[int]:
    return same_list(a=[a, same_int(a=a), 5])


@workflow
def maps_of_promises(a: int) -> Dict[str, int]:
    return same_dict(a={"x": a, "y": same_int(a=a)})


@workflow
def parts_of_values(a: Dict[str, List[Dict[str, float]]]) -> float:
    made = same_deep(a=a)
    return same_float(a=made["k"][1]["v"])


@workflow
def no_outputs():
    nothing_at_all()


@workflow
def strange_texts() -> typing.Tuple[str, str, str]:
    return same_str(a="{{.inputs.a}} $x ${y}"), same_str(a="\u00fc\n\t\"'\\"), same_str(a="")


@workflow
def times_as_text(a: datetime) -> str:
    return show_time(a=a)


@workflow
def days_as_text(a: date = date(2026, 8, 20)) -> str:
    return show_date(a=a)


CASES = [
    (an_int, {"a": 0}, "an integer: zero"), (an_int, {"a": -2**62}, "an integer: large"),
    (a_float, {"a": 0.1}, "a float"), (a_float, {"a": -0.0}, "a float: negative zero"),
    (a_float, {"a": 1e300}, "a float: large"), (a_float, {"a": 3.0}, "a float that is whole"),
    (a_str, {"a": ""}, "an empty text"), (a_str, {"a": "\u20ac\U0001f600 x\ny"}, "a text: Unicode"),
    (a_str, {"a": "null"}, "a text that looks like something else"),
    (a_bool, {"a": False}, "a truth value"), (a_time, {"a": NOW}, "a datetime with microseconds"),
    (a_span, {"a": timedelta(days=2, hours=3, milliseconds=5)}, "a duration"),
    (a_span, {"a": timedelta(0)}, "a duration of nothing"),
    (a_list, {"a": []}, "an empty list"), (a_list, {"a": [3, 1, 2]}, "a list"),
    (a_dict, {"a": {}}, "an empty map"), (a_dict, {"a": {"b": 1, "a": 2}}, "a map"),
    (deep, {"a": {"k": [{"v": 1.5}, {}], "l": []}}, "maps in lists in maps"),
    (an_enum, {}, "an enum by its default"), (an_enum, {"a": Level.LOW}, "an enum"),
    (a_dataclass, {"n": 1}, "a dataclass with none inside"),
    (a_dataclass, {"n": 2}, "a dataclass within itself"),
    (dataclass_fields, {"n": 4}, "fields of a dataclass, of lists in it"),
    (maybe_list, {}, "an optional list: none"), (maybe_list, {"a": [1]}, "an optional list"),
    (a_union, {"a": 1}, "a union: an integer"), (a_union, {"a": 1.5}, "a union: a float"),
    (a_union, {"a": "s"}, "a union: a text"), (a_union, {"a": True}, "a union: a truth value"),
    (maybe_dataclass, {"n": 3}, "an optional dataclass"),
    (untyped_json, {"a": {"x": [1, "2", None, {"y": True}], "f": 1.5}}, "a dict without types"),
    (times_in_a_list, {"a": [NOW, NOW + timedelta(days=1)]}, "datetimes in a list"),
    (a_named_tuple, {"a": 6}, "a named tuple"), (a_pickle, {"text": "p"}, "a pickle"),
    (pickles_in_a_list, {"text": "p"}, "pickles in a list"), (a_file, {"text": "f"}, "a file"),
    (a_typed_file, {"text": "f"}, "a file with an extension"),
    (files_in_lists_in_maps, {"text": "1"}, "files in lists in maps"),
    (a_folder, {"n": 3}, "a folder with folders"),
    (a_dataclass_with_a_file, {"text": "h"}, "a file in a dataclass, and handed on"),
    (inputs_go_through, {"a": 1}, "an input as an output"), (constants, {}, "constants"),
    (lists_of_promises, {"a": 1}, "a list of promises and constants"),
    (maps_of_promises, {"a": 1}, "a map of promises"),
    (parts_of_values, {"a": {"k": [{}, {"v": 2.5}]}}, "a part of a value"),
    (no_outputs, {}, "no inputs, no outputs"), (strange_texts, {}, "texts like templates"),
    (times_as_text, {"a": NOW}, "the zone of a datetime"), (days_as_text, {}, "a date"),
]
