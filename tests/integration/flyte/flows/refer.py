"""What cannot run locally, so that what comes out stands here: dynamic tasks that refer to what was
applied, others/ of version v1 (of references flytekit takes those to launch plans there), and what
differs from attempt to attempt."""

import typing

from flytekit import current_context, dynamic, reference_launch_plan, task, workflow

THERE = {"project": "default", "domain": "development", "version": "v1"}


@reference_launch_plan(name="others.shared.ninefold", **THERE)
def ninefold(a: int) -> int:
    return 0


@reference_launch_plan(name="others.shared.four", **THERE)
def four(a: int) -> int:
    return 0


@reference_launch_plan(name="others.shared.power", **THERE)
def power(times: int) -> int:
    return 0


@reference_launch_plan(name="others.shared.gone", **THERE)
def gone(a: int) -> int:
    return 0


@task
def add(a: int, b: int) -> int:
    return a + b


@dynamic
def with_defaults(a: int) -> int:
    return add(a=ninefold(a=a), b=power(times=a))


@dynamic
def with_a_plan() -> int:
    return add(a=four(a=4), b=four(a=1))


@dynamic
def with_what_is_gone(a: int) -> int:
    return gone(a=a)


@workflow
def defaults(a: int) -> int:
    return with_defaults(a=a)


@workflow
def a_plan() -> int:
    return with_a_plan()


@workflow
def beside(a: int) -> int:
    """The graph around it has some of what it refers to already."""
    return add(a=ninefold(a=a), b=with_defaults(a=a))


@workflow
def missing(a: int) -> int:
    return with_what_is_gone(a=a)


@task
def place(a: int) -> str:
    return current_context().working_directory


@task
def distinct(places: typing.List[str]) -> int:
    return len(set(places))


@workflow
def places() -> int:
    return distinct(places=[place(a=1), place(a=2), place(a=3)])


CASES = [
    (defaults, {"a": 2}, {"outputs": {"o0": 27}},
     "a dynamic task with references to plans of workflows' names, one with a dynamic task"),
    (a_plan, {}, {"outputs": {"o0": 45}}, "with a reference to a launch plan"),
    (beside, {"a": 2}, {"outputs": {"o0": 45}}, "with one that the graph around it has"),
    (missing, {"a": 2}, {"fails": "there is no launch plan 'others.shared.gone' of version v1"},
     "with one that nobody has applied"),
    (places, {}, {"outputs": {"o0": 3}}, "a folder of its own for each attempt"),
]
