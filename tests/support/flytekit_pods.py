"""Workflows of flytekit's for pods: values, maps, files, checkpoints, graphs and errors."""

import os
import pathlib
import typing

from flytekit import current_context, dynamic, map_task, task, workflow
from flytekit.exceptions.user import FlyteRecoverableException
from flytekit.types.file import FlyteFile


@task
def square(a: int) -> int:
    # Mapped, it is told which element it is.
    index = os.environ.get(os.environ.get("BATCH_JOB_ARRAY_INDEX_VAR_NAME", ""), str(a))
    assert int(index) == a, index
    return a * a


@task
def add(xs: typing.List[int]) -> int:
    return sum(xs)


@task
def numbers(size: int) -> typing.List[int]:
    return list(range(size))


@workflow
def squares(size: int) -> int:
    return add(xs=map_task(square)(a=numbers(size=size)))


@task
def write(text: str) -> FlyteFile:
    path = pathlib.Path(current_context().working_directory) / "text.txt"
    path.write_text(text)
    return FlyteFile(str(path))


@task
def read(file: FlyteFile) -> str:
    return pathlib.Path(file.download()).read_text() + "!"


@workflow
def files(text: str) -> typing.Tuple[FlyteFile, str]:
    file = write(text=text)
    return file, read(file=file)


@task(retries=2)
def steps() -> str:
    """Fails once behind a checkpoint, from which it goes on."""
    checkpoint = current_context().checkpoint
    before = checkpoint.read()
    if before is None:
        checkpoint.write(b"half")
        raise FlyteRecoverableException("it is not done yet")
    return before.decode()


@workflow
def checkpoints() -> str:
    return steps()


@dynamic
def fan(size: int) -> int:
    return add(xs=[square(a=i) for i in range(size)])


@workflow
def decides(size: int) -> int:
    return fan(size=size)


@task
def fails(a: int) -> int:
    if a > 3:
        raise ValueError(f"{a} is not for me")
    return a


@workflow
def errors(a: int) -> int:
    return fails(a=a)


@task
def about() -> str:
    context = current_context()
    return f"{context.execution_id.name} {context.task_id.name} {os.environ.get('PATH')}"


@workflow
def tells() -> str:
    return about()
