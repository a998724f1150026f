"""A workflow of flytekit's: a list, a map over its elements, and their sum."""

import typing

from flytekit import map_task, task, workflow


@task
def to_list(size: int) -> typing.List[int]:
    return list(range(size))


@task
def simple_map_task(a: int) -> int:
    return a * a


@task
def simple_reduce(xs: typing.List[int]) -> int:
    return sum(xs)


@workflow
def map_reduce(size: int = 10) -> int:
    return simple_reduce(xs=map_task(simple_map_task)(a=to_list(size=size)))
