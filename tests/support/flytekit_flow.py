"""Workflows of flytekit's whose dynamic ones decide graphs: of tasks, maps, workflows, branches."""

import typing
from datetime import timedelta

from flytekit import Resources, conditional, dynamic, map_task, sleep, task, workflow


@task(retries=2)
def square(a: int) -> int:
    return a * a


@task(limits=Resources(cpu="1", mem="200Mi"))
def add(xs: typing.List[int]) -> int:
    return sum(xs)


@task
def name_it(n: int, label: str = "x") -> str:
    return f"{label}{n}"


@workflow
def inner(a: int) -> int:
    return square(a=square(a=a))


@dynamic
def fan(size: int) -> int:
    return add(xs=[square(a=i) for i in range(size)])


@dynamic
def mixed(size: int) -> typing.Tuple[int, str, typing.List[int]]:
    squares = map_task(square)(a=list(range(size)))
    total = add(xs=squares)
    fourth = inner(a=size)
    label = (conditional("big")
             .if_((total > 3) & (fourth != 2)).then(name_it(n=total, label="big"))
             .elif_(total == 0).then(name_it(n=0, label="zero"))
             .else_().then(name_it(n=total, label="small")))
    return fourth, label, squares


@dynamic
def outer(size: int) -> int:
    return fan(size=size)


@dynamic
def gates(size: int) -> int:
    nap = sleep(timedelta(milliseconds=100))
    squared = square(a=size)
    nap >> squared
    return squared


@dynamic
def plain(size: int) -> int:
    return size + 1
