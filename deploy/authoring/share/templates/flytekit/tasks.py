"""Tasks of flytekit's, as they are written for Flyte."""

import typing

from flytekit import task


@task
def greet(name: str, times: int) -> typing.List[str]:
    return [f"Hello, {name}!"] * times


@task
def shout(text: str) -> str:
    return text.upper()
