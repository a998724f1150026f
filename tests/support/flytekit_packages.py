"""Workflows of flytekit's, of each kind that a package may hold, for packages that flytekit itself
writes, and cases of them: a workflow and its inputs."""

import typing
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from enum import Enum
from math import inf, nan

from flytekit import (CronSchedule, HashMethod, LaunchPlan, Resources, conditional, dynamic, map_task, task,
                      workflow)
from flytekit.types.error import FlyteError
from flytekit.types.file import FlyteFile
from google.protobuf.struct_pb2 import Struct
from mashumaro.mixins.json import DataClassJSONMixin


@dataclass
class Point(DataClassJSONMixin):
    x: int
    label: typing.Optional[str] = None


@dataclass
class Line(DataClassJSONMixin):
    points: typing.List[Point]
    names: typing.Dict[str, int]


class Color(Enum):
    RED = "red"
    BLUE = "blue"


# ------------------------------------------------------- what everybody begins with


@task
def to_list(size: int) -> typing.List[int]:
    return list(range(size))


@task
def simple_map_task(a: int) -> int:
    return a * a


@task(retries=1)
def simple_reduce(xs: typing.List[int]) -> int:
    return sum(xs)


@workflow
def map_reduce(size: int = 10) -> int:
    return simple_reduce(xs=map_task(simple_map_task)(a=to_list(size=size)))


# ------------------------------------------------------------------ values


@task
def add(a: int, b: int) -> int:
    return a + b


@task
def join(a: str, b: str = "-") -> str:
    return f"{a}{b}"


@task
def half(a: float) -> float:
    return a / 2


@task
def negate(a: bool) -> bool:
    return not a


@task
def later(when: datetime, by: timedelta) -> datetime:
    return when + by


@task
def keys(of: typing.Dict[str, int]) -> typing.List[str]:
    return sorted(of)


@task
def nested(of: typing.List[typing.Dict[str, typing.List[int]]]) -> int:
    return sum(sum(values) for each in of for values in each.values())


@task
def maybe(a: int) -> typing.Optional[int]:
    return a if a > 1 else None


@task
def show(a: typing.Optional[int], b: typing.Union[int, str] = "x") -> str:
    return f"{a} {b!r}"


@task
def either(a: int) -> typing.Union[int, str, typing.List[int]]:
    return a if a == 0 else str(a) if a == 1 else [a, a]


@task
def tell(of: typing.Union[int, str, typing.List[int]]) -> str:
    return repr(of)


@task
def make_point(x: int) -> Point:
    return Point(x=x, label="p" if x > 1 else None)


@task
def measure(p: Point) -> int:
    return p.x + len(p.label or "")


@task
def make_line(x: int) -> Line:
    return Line(points=[Point(x=x), Point(x=x + 1, label="b")], names={"a": 1})


@task
def paint(c: Color) -> Color:
    return Color.BLUE if c == Color.RED else Color.RED


@task
def write_file(text: str) -> FlyteFile:
    with open("written.txt", "w") as file:
        file.write(text)
    return FlyteFile("written.txt")


@task
def read_file(file: FlyteFile) -> str:
    with open(file) as opened:
        return opened.read()


@task
def day_of(when: typing.Union[datetime, date]) -> str:
    return type(when).__name__


@task
def today() -> date:
    return date(2026, 8, 20)


@task
def day_or_time() -> typing.Union[datetime, date]:
    return date(2026, 8, 20)


@workflow
def numbers(a: int, b: float, c: bool) -> typing.Tuple[int, float, bool]:
    return add(a=a, b=2), half(a=b), negate(a=c)


@workflow
def texts(a: str = "ü${$n} {{x}}") -> typing.Tuple[str, str]:
    return join(a=a, b="$5"), join(a=a)


@workflow
def times(when: datetime) -> datetime:
    return later(when=when, by=timedelta(hours=1))


@workflow
def containers(of: typing.Dict[str, int]) -> typing.Tuple[typing.List[str], int]:
    return keys(of=of), nested(of=[{"a": [1, 2]}, {"b": [3]}])


@workflow
def optionals(a: int) -> typing.Tuple[typing.Optional[int], str]:
    m = maybe(a=a)
    return m, show(a=m, b=3)


@workflow
def optional_inputs(a: typing.Optional[int] = None, b: typing.Union[int, str] = 4) -> str:
    return show(a=a, b=b)


@workflow
def unions(a: int) -> str:
    return tell(of=either(a=a))


@workflow
def points(x: int) -> typing.Tuple[int, Point, int]:
    p = make_point(x=x)
    return measure(p=p), p, simple_map_task(a=p.x)


@workflow
def lines(x: int) -> typing.Tuple[int, int]:
    line = make_line(x=x)
    return measure(p=line.points[1]), add(a=line.names["a"], b=line.points[0].x)


@workflow
def colors(c: Color = Color.RED) -> Color:
    return paint(c=paint(c=paint(c=c)))


@workflow
def files(text: str) -> str:
    return read_file(file=write_file(text=text))


# What came goes on as it came: messages of protobuf's, classes that look alike, infinite numbers,
# hashes, files in classes.


@dataclass
class Length:
    value: float


@dataclass
class Weight:
    value: float


@dataclass
class Attached:
    file: FlyteFile


@task
def make_message(a: int) -> Struct:
    made = Struct()
    made.update({"a": a, "b": [1, 2.5, None, {"c": True}]})
    return made


@task
def read_message(message: Struct) -> str:
    return f"{type(message).__name__} {message['a']} {message['b'][1]}"


@task
def make_either(a: int) -> typing.Union[Length, Weight]:
    return Length(value=inf) if a == 0 else Weight(value=2.0 ** 60)


@task
def read_either(of: typing.Union[Length, Weight]) -> str:
    return repr(of)


@task
def unreal() -> typing.List[float]:
    return [nan, inf, -inf]


@task
def show_floats(of: typing.List[float]) -> str:
    return repr(of)


@task
def maybe_each(of: typing.Dict[str, typing.Optional[int]]) -> typing.List[
        typing.Union[int, str, None]]:
    return [each for _, each in sorted(of.items())] + ["end"]


@task
def show_each(of: typing.List[typing.Union[int, str, None]]) -> str:
    return repr(of)


@task
def attach(text: str) -> Attached:
    with open("attached.txt", "w") as file:
        file.write(text)
    return Attached(file=FlyteFile("attached.txt"))


@task
def same_hash(a: int) -> typing.Annotated[int, HashMethod(lambda value: "same")]:
    return a


@task(cache=True, cache_version="1")
def times_ten(a: int) -> int:
    return a * 10


@workflow
def messages(a: int) -> str:
    return read_message(message=make_message(a=a))


@workflow
def eithers(a: int) -> str:
    return read_either(of=make_either(a=a))


@workflow
def unreal_numbers() -> str:
    return show_floats(of=unreal())


@workflow
def maybes(of: typing.Dict[str, typing.Optional[int]]) -> str:
    return show_each(of=maybe_each(of=of))


@workflow
def attached(text: str) -> str:
    return read_file(file=attach(text=text).file)


@workflow
def hashed(a: int) -> int:
    return times_ten(a=same_hash(a=a))


@workflow
def days() -> str:
    return day_of(when=day_or_time())


# ------------------------------------------------------------------ the graph


@workflow
def inner(a: int, b: int = 3) -> typing.Tuple[int, int]:
    return add(a=a, b=b), simple_map_task(a=b)


@workflow
def outer(n0: int, err: int, o0: int) -> typing.Tuple[int, int]:
    one, other = inner(a=n0)
    return simple_reduce(xs=[one, err, o0]), other


five = LaunchPlan.get_or_create(map_reduce, name="flows.five", default_inputs={"size": 5})
fixed = LaunchPlan.get_or_create(map_reduce, name="flows.fixed", fixed_inputs={"size": 4},
                                 schedule=CronSchedule(schedule="0 3 * * *"))


@workflow
def launches(a: int) -> typing.Tuple[int, int]:
    return five(size=2), add(a=a, b=five())


@workflow
def choose(a: int) -> int:
    return (conditional("size")
            .if_((a > 5) & (a < 100)).then(simple_map_task(a=a))
            .elif_((a == 0) | (a == 1)).then(add(a=a, b=10))
            .else_().then(add(a=a, b=-1)))


@workflow
def choose_or_fail(a: int) -> int:
    return (conditional("small").if_(a < 5).then(simple_map_task(a=a)).else_().fail("too large"))


@workflow
def choose_twice(a: int, deep: bool) -> int:
    return (conditional("outer")
            .if_(deep.is_true()).then(conditional("inner").if_(a > 0).then(add(a=a, b=1))
                                      .else_().then(add(a=a, b=2)))
            .else_().then(add(a=a, b=3)))


@task
def pair(a: int, b: str) -> str:
    return f"{a}{b}"


@workflow
def map_two(size: int) -> typing.List[str]:
    return map_task(pair)(a=to_list(size=size), b=["x", "y", "z"])


@workflow
def map_bound(size: int, by: int) -> typing.List[int]:
    from functools import partial
    return map_task(partial(add, b=by))(a=to_list(size=size))


@task
def picky(a: int) -> int:
    if a == 1:
        raise ValueError("not one")
    return a


@workflow
def map_some(size: int) -> typing.List[typing.Optional[int]]:
    return map_task(picky, min_success_ratio=0.5)(a=to_list(size=size))


@dynamic
def fan(size: int) -> typing.List[int]:
    return [simple_map_task(a=i) for i in range(size)]


@dynamic
def fan_optional(size: int) -> str:
    return show(a=maybe(a=size), b="y")


@dynamic
def fan_deep(size: int) -> int:
    one, other = inner(a=size)
    return simple_reduce(xs=fan(size=size)) if size > 2 else add(a=one, b=other)


@workflow
def dynamics(size: int) -> typing.Tuple[int, str, int]:
    return simple_reduce(xs=fan(size=size)), fan_optional(size=size), fan_deep(size=size)


@task
def clean_up(a: int, err: typing.Optional[FlyteError] = None):
    print("cleaned", a, err.message if err else None)


@workflow(on_failure=clean_up)
def failing(a: int) -> int:
    return picky(a=a)


@task
def nothing(a: int):
    print(a)


@workflow
def in_order(a: int) -> int:
    first = nothing(a=a)
    second = add(a=a, b=1)
    first >> second
    return second


@task(cache=True, cache_version="1", limits=Resources(cpu="1", mem="300Mi"),
      environment={"WHO": "me"})
def settings(a: int) -> int:
    return a


@workflow
def with_settings(a: int) -> typing.Tuple[int, int]:
    return (settings(a=a).with_overrides(node_name="the-node", retries=2,
                                         timeout=timedelta(minutes=5)), settings(a=a))


@workflow
def no_inputs() -> typing.List[int]:
    return to_list(size=2)


NOW = datetime(2026, 8, 20, 9, 30, tzinfo=timezone.utc)
CASES = [
    (map_reduce, {}), (map_reduce, {"size": 3}), (numbers, {"a": 1, "b": 3.0, "c": True}),
    (texts, {}), (times, {"when": NOW}), (containers, {"of": {"b": 1, "a": 2}}),
    (optionals, {"a": 0}), (optionals, {"a": 7}), (optional_inputs, {}),
    (optional_inputs, {"a": 1, "b": "s"}), (unions, {"a": 0}), (unions, {"a": 1}),
    (unions, {"a": 2}), (points, {"x": 7}), (points, {"x": 1}), (lines, {"x": 5}), (colors, {}),
    (files, {"text": "hello\n"}), (days, {}), (messages, {"a": 3}), (eithers, {"a": 0}),
    (eithers, {"a": 1}), (unreal_numbers, {}), (maybes, {"of": {"a": 1, "b": None}}),
    (attached, {"text": "here"}), (hashed, {"a": 1}), (outer, {"n0": 1, "err": 2, "o0": 4}),
    (launches, {"a": 1}), (choose, {"a": 7}), (choose, {"a": 1}), (choose, {"a": 500}),
    (choose_or_fail, {"a": 2}), (choose_or_fail, {"a": 9}),
    (choose_twice, {"a": 1, "deep": True}), (choose_twice, {"a": 1, "deep": False}),
    (map_two, {"size": 3}), (map_bound, {"size": 2, "by": 5}), (map_some, {"size": 3}),
    (dynamics, {"size": 3}), (dynamics, {"size": 1}), (failing, {"a": 2}), (failing, {"a": 1}),
    (in_order, {"a": 1}), (with_settings, {"a": 3}), (no_inputs, {}),
]
