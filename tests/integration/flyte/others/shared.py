"""What is applied before the flows run: those of flows/refer.py refer to it by name and version."""

from flytekit import LaunchPlan, dynamic, task, workflow


@task
def tripled(a: int) -> int:
    return 3 * a


@workflow
def ninefold(a: int = 1) -> int:
    return tripled(a=tripled(a=a))


@dynamic
def often(a: int, times: int) -> int:
    for _ in range(times):
        a = tripled(a=a)
    return a


@workflow
def power(times: int) -> int:
    return often(a=1, times=times)


four = LaunchPlan.get_or_create(ninefold, "others.shared.four", default_inputs={"a": 4})
