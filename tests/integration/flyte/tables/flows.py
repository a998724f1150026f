"""Tables, models of pydantic's and dataclasses as flytekit writes them, from task to task."""

import typing
from dataclasses import dataclass, field
from enum import Enum

import pandas as pd
import pyarrow as pa
from flytekit import HashMethod, conditional, dynamic, kwtypes, map_task, task, workflow
from flytekit.types.file import FlyteFile
from flytekit.types.structured import StructuredDataset
from pydantic import BaseModel, Field
from typing_extensions import Annotated

Columns = Annotated[StructuredDataset, kwtypes(a=int, b=str)]
OneColumn = Annotated[StructuredDataset, kwtypes(a=int)]
Csv = Annotated[StructuredDataset, "csv"]
Hashed = Annotated[pd.DataFrame, HashMethod(lambda frame: str(len(frame)))]


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Point(BaseModel):
    x: int
    label: typing.Optional[str] = None


class Shape(BaseModel):
    points: typing.List[Point]
    named: typing.Dict[str, Point] = Field(default_factory=dict)
    ratio: float = 0.5
    level: Level = Level.LOW


class WithFile(BaseModel):
    file: FlyteFile
    size: int = 0


@dataclass
class Report:
    table: StructuredDataset
    count: int
    levels: typing.Dict[str, Level] = field(default_factory=dict)


# ------------------------------------------------------------------ tables


@task
def make(n: int) -> pd.DataFrame:
    return pd.DataFrame({"a": list(range(n)), "b": [f"row {i}" for i in range(n)]})


@task
def tell(frame: pd.DataFrame) -> str:
    return frame.to_json(orient="records")


@task
def same(frame: pd.DataFrame) -> pd.DataFrame:
    return frame


@task
def as_dataset(frame: pd.DataFrame) -> StructuredDataset:
    return StructuredDataset(dataframe=frame)


@task
def hand_on(table: StructuredDataset) -> StructuredDataset:
    return table


@task
def tell_dataset(table: StructuredDataset) -> str:
    return table.open(pd.DataFrame).all().to_json(orient="records")


@task
def with_columns(n: int) -> Columns:
    return StructuredDataset(dataframe=pd.DataFrame({"a": [n], "b": ["text"]}))


@task
def one_column(table: OneColumn) -> str:
    return table.open(pd.DataFrame).all().to_json(orient="records")


@task
def as_arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame)


@task
def tell_arrow(table: pa.Table) -> str:
    return str(table.to_pydict())


@task
def as_csv(frame: pd.DataFrame) -> Csv:
    return StructuredDataset(dataframe=frame)


@task
def tell_csv(table: Csv) -> str:
    return table.open(pd.DataFrame).all().to_json(orient="records")


@task
def several(n: int) -> typing.List[pd.DataFrame]:
    return [pd.DataFrame({"a": [i]}) for i in range(n)]


@task
def by_name(n: int) -> typing.Dict[str, pd.DataFrame]:
    return {f"t{i}": pd.DataFrame({"a": [i]}) for i in range(n)}


@task
def tell_several(frames: typing.List[pd.DataFrame]) -> int:
    return sum(int(frame["a"].sum()) for frame in frames)


@task
def tell_by_name(frames: typing.Dict[str, pd.DataFrame]) -> str:
    return ",".join(f"{name}={len(frames[name])}" for name in sorted(frames))


@task
def maybe(n: int) -> typing.Optional[pd.DataFrame]:
    return pd.DataFrame({"a": [n]}) if n > 0 else None


@task
def tell_maybe(frame: typing.Optional[pd.DataFrame]) -> str:
    return "none" if frame is None else str(int(frame["a"].sum()))


@task
def report(frame: pd.DataFrame) -> Report:
    return Report(StructuredDataset(dataframe=frame), len(frame), {"one": Level.HIGH})


@task
def tell_report(report: Report) -> str:
    return f"{report.count} {report.table.open(pd.DataFrame).all()['a'].tolist()} {report.levels}"


@task
def hashed(n: int) -> Hashed:
    return pd.DataFrame({"a": [0] * n})


@task(cache=True, cache_version="1")
def length(frame: pd.DataFrame) -> int:
    return len(frame)


@task
def add(a: int, b: int) -> int:
    return a + b


@dynamic
def in_turn(n: int) -> pd.DataFrame:
    frame = make(n=n)
    for _ in range(2):
        frame = same(frame=frame)
    return frame


@workflow
def frames(n: int) -> str:
    return tell(frame=same(frame=make(n=n)))


@workflow
def datasets(n: int) -> str:
    return tell_dataset(table=hand_on(table=as_dataset(frame=make(n=n))))


@workflow
def columns(n: int) -> str:
    return one_column(table=with_columns(n=n))


@workflow
def arrow(n: int) -> str:
    return tell_arrow(table=as_arrow(frame=make(n=n)))


@workflow
def frame_of_arrow(n: int) -> str:
    return tell(frame=as_arrow(frame=make(n=n)))


@workflow
def csv(n: int) -> str:
    return tell_csv(table=as_csv(frame=make(n=n)))


@workflow
def lists(n: int) -> typing.Tuple[int, str]:
    return tell_several(frames=several(n=n)), tell_by_name(frames=by_name(n=n))


@workflow
def mapped(n: int) -> typing.List[str]:
    return map_task(tell)(frame=several(n=n))


@workflow
def optional(n: int) -> str:
    return tell_maybe(frame=maybe(n=n))


@workflow
def in_a_dataclass(n: int) -> str:
    return tell_report(report=report(frame=make(n=n)))


@workflow
def in_a_dynamic(n: int) -> str:
    return tell(frame=in_turn(n=n))


@workflow
def in_a_branch(n: int) -> str:
    large, small = make(n=n), same(frame=make(n=1))
    return conditional("size").if_(n > 2).then(tell(frame=large)).else_().then(tell(frame=small))


@workflow
def by_hash(n: int) -> int:
    return add(a=length(frame=hashed(n=n)), b=length(frame=hashed(n=n)))


# ------------------------------------------------------------------ models


@task
def make_point(x: int) -> Point:
    return Point(x=x, label=f"p{x}")


@task
def make_points(n: int) -> typing.List[Point]:
    return [Point(x=i) for i in range(n)]


@task
def make_shape(n: int) -> Shape:
    return Shape(points=[Point(x=i) for i in range(n)], named={"last": Point(x=n, label="l")},
                 level=Level.HIGH)


@task
def tell_point(point: Point) -> str:
    return point.model_dump_json()


@task
def tell_shape(shape: Shape) -> str:
    return shape.model_dump_json()


@task
def move(point: Point, by: int = 1) -> Point:
    return Point(x=point.x + by, label=point.label)


@task
def write_file(text: str) -> WithFile:
    with open("written.txt", "w") as file:
        file.write(text)
    return WithFile(file=FlyteFile("written.txt"), size=len(text))


@task
def read_file(model: WithFile) -> str:
    with open(model.file) as file:
        return f"{model.size} {file.read()}"


@workflow
def a_model(x: int) -> typing.Tuple[Point, str]:
    point = move(point=make_point(x=x))
    return point, tell_point(point=point)


@workflow
def a_given_model(point: Point) -> str:
    return tell_point(point=move(point=point, by=2))


@workflow
def a_default_model(point: Point = Point(x=3, label="given")) -> str:
    return tell_point(point=point)


@workflow
def models_within(n: int) -> typing.Tuple[Shape, str]:
    shape = make_shape(n=n)
    return shape, tell_shape(shape=shape)


@workflow
def fields_of_models(n: int) -> typing.Tuple[str, int]:
    shape = make_shape(n=n)
    return tell_point(point=shape.points[0]), add(a=shape.points[0].x, b=shape.named["last"].x)


@workflow
def mapped_models(n: int) -> typing.List[str]:
    return map_task(tell_point)(point=make_points(n=n))


@workflow
def a_model_with_a_file(text: str) -> str:
    return read_file(model=write_file(text=text))


CASES = [
    (frames, {"n": 3}, "a table from task to task"),
    (frames, {"n": 0}, "an empty table"),
    (datasets, {"n": 2}, "a structured dataset that is handed on"),
    (columns, {"n": 4}, "a table of which one column is asked for"),
    (arrow, {"n": 2}, "a table of pyarrow's"),
    (frame_of_arrow, {"n": 2}, "a table of one library's to another's"),
    (csv, {"n": 2}, "a table as CSV"),
    (lists, {"n": 3}, "tables in lists and maps"),
    (mapped, {"n": 3}, "a map over tables"),
    (optional, {"n": 2}, "a table that may be none"),
    (optional, {"n": 0}, "a table that is none"),
    (in_a_dataclass, {"n": 2}, "a table in a dataclass"),
    (in_a_dynamic, {"n": 2}, "tables in a dynamic task"),
    (in_a_branch, {"n": 3}, "a table in a branch"),
    (in_a_branch, {"n": 1}, "a table in the other arm"),
    (by_hash, {"n": 2}, "tables known by a hash of their own"),
    (a_model, {"x": 1}, "a model of pydantic's"),
    (a_given_model, {"point": Point(x=5, label="five")}, "a model as an input"),
    (a_default_model, {}, "a model as a default"),
    (models_within, {"n": 2}, "models within models"),
    (fields_of_models, {"n": 2}, "fields of models"),
    (mapped_models, {"n": 2}, "a map over models"),
    (a_model_with_a_file, {"text": "hello"}, "a model with a file"),
]
