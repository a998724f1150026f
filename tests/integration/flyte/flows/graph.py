"""How nodes hang together: sub-workflows, launch plans, branches, order, settings of nodes."""

import typing
from datetime import timedelta

from flytekit import (LaunchPlan, Resources, WorkflowFailurePolicy, conditional, current_context,
                      sleep, task, workflow)
from flytekit.core.workflow import ImperativeWorkflow
from flytekit.exceptions.user import FlyteRecoverableException
from flytekit.extras.tasks.shell import OutputLocation, ShellTask
from flytekit.types.error import FlyteError
from flytekit.types.file import FlyteFile

List, Optional = typing.List, typing.Optional


@task
def add(a: int, b: int = 1) -> int:
    return a + b


@task
def square(a: int) -> int:
    return a * a


@task
def join(a: str, b: str) -> str:
    return a + b


@task
def two(a: int) -> typing.NamedTuple("Two", more=int, less=int):
    return a + 1, a - 1


@task
def fails(a: int) -> int:
    if a > 2:
        raise ValueError(f"{a} is too much")
    return a


@task
def stop(a: int) -> None:
    if a > 2:
        raise RuntimeError("stopped")


@task
def note(a: int, err: Optional[FlyteError] = None) -> None:
    print(a, err)


@task
def is_large(a: int) -> bool:
    return a > 10


@task(environment={"_F_DES": "EARLIEST", "_F_WN": "worker-7"})
def fails_as_a_worker(a: int) -> int:
    if a > 2:
        raise ValueError(f"{a} is too much for a worker")
    return a


@task(environment={"WHO": "me"})
def who() -> str:
    import os
    return os.environ.get("WHO", "me")  # a local execution sets none


@task(cache=True, cache_version="1", cache_ignore_input_vars=("b",))
def cached(a: int, b: int) -> int:
    return a * 2


@task(retries=3)
def unlucky(a: int) -> int:
    """Fails until it has found what it left when it was tried before."""
    checkpoint = current_context().checkpoint
    before = checkpoint.read()
    if before is None and not current_context().execution_id.name.startswith("local"):
        checkpoint.write(b"1")
        raise FlyteRecoverableException("tried for the first time")
    return a


@task(enable_deck=True)
def decked(a: int) -> int:
    from flytekit import Deck
    Deck("mine", f"<p>{a}</p>")
    return a


@task(requests=Resources(cpu="1", mem="100Mi"), timeout=timedelta(minutes=5), interruptible=True)
def asking(a: int) -> int:
    return a


shell = ShellTask(name="shell", script="cat {inputs.x} >{outputs.y}; echo more >>{outputs.y}",
                  inputs={"x": FlyteFile},
                  output_locs=[OutputLocation(var="y", var_type=FlyteFile, location="out.txt")])


@task
def write(text: str) -> FlyteFile:
    path = f"{current_context().working_directory}/in.txt"
    with open(path, "w") as file:
        file.write(text + "\n")
    return FlyteFile(path)


@task
def read(file: FlyteFile) -> str:
    return open(file).read()


@workflow
def base(a: int, b: int = 4) -> int:
    return add(a=square(a=a), b=b)


@workflow
def nested(a: int) -> int:
    return base(a=base(a=a, b=1))


@workflow
def nested_twice(a: int) -> typing.Tuple[int, int]:
    return nested(a=a), nested(a=base(a=a))


@workflow
def chain(a: int) -> int:
    return add(a=add(a=add(a=a)))


@workflow
def diamond(a: int) -> int:
    top = add(a=a)
    return add(a=square(a=top), b=add(a=top, b=5))


@workflow
def named_outputs(a: int) -> typing.Tuple[int, int]:
    made = two(a=a)
    return add(a=made.more), add(a=made.less)


@workflow
def ordered(a: int) -> int:
    first = stop(a=a)
    second = add(a=a)
    third = stop(a=a)
    first >> second >> third
    return second


by_default = LaunchPlan.get_or_create(base)
with_default = LaunchPlan.get_or_create(base, name="graph.with_default", default_inputs={"a": 3})
with_fixed = LaunchPlan.get_or_create(base, name="graph.with_fixed", fixed_inputs={"a": 2, "b": 2})


@workflow
def plan_by_default(a: int) -> int:
    return by_default(a=a)


@workflow
def plan_with_default() -> typing.Tuple[int, int]:
    return with_default(), with_default(a=1)


@workflow
def plan_with_fixed() -> int:
    return with_fixed()


@workflow
def plan_below_plan(a: int) -> int:
    return LaunchPlan.get_or_create(plan_by_default)(a=a)


@workflow
def branch(a: int) -> int:
    return (conditional("b").if_(a > 5).then(square(a=a)).elif_(a == 5).then(add(a=a))
            .else_().then(add(a=a, b=100)))


@workflow
def branch_with_and_or(a: int, b: int) -> int:
    return (conditional("b").if_((a > 1) & ((b < 3) | (b == 9))).then(square(a=a))
            .else_().then(square(a=b)))


@workflow
def branch_on_text(a: str) -> str:
    return (conditional("b").if_(a == "x").then(join(a=a, b="1")).elif_(a != "y")
            .then(join(a=a, b="2")).else_().then(join(a=a, b="3")))


@workflow
def branch_on_float(a: float, n: int) -> int:
    return conditional("b").if_(a >= 0.5).then(add(a=n)).else_().then(square(a=n))


@workflow
def branch_on_output(a: int) -> int:
    large = is_large(a=a)
    return (conditional("b").if_(large.is_true()).then(square(a=a)).else_().then(add(a=a)))


@workflow
def branch_to_workflow(a: int) -> int:
    return conditional("b").if_(a > 1).then(base(a=a)).else_().then(nested(a=a))


@workflow
def branch_to_plan(a: int) -> int:
    return conditional("b").if_(a > 1).then(by_default(a=a)).else_().then(add(a=a))


@workflow
def branch_that_fails(a: int) -> int:
    return conditional("b").if_(a < 3).then(add(a=a)).else_().fail("nothing for it")


@workflow
def branch_in_branch(a: int) -> int:
    return (conditional("o").if_(a > 0)
            .then(conditional("i").if_(a > 10).then(square(a=a)).else_().then(add(a=a)))
            .else_().then(add(a=a, b=50)))


@workflow
def branch_then_more(a: int) -> int:
    made = conditional("b").if_(a > 1).then(square(a=a)).else_().then(add(a=a))
    return add(a=made)


@workflow
def two_branches(a: int) -> typing.Tuple[int, int]:
    one = conditional("one").if_(a > 1).then(square(a=a)).else_().then(add(a=a))
    other = conditional("other").if_(a > 5).then(square(a=a)).else_().then(add(a=a))
    return one, other


@workflow(on_failure=note)
def handled(a: int) -> int:
    return fails(a=a)


@workflow(on_failure=note)
def handled_below(a: int) -> int:
    return add(a=handled(a=a))


@workflow(failure_policy=WorkflowFailurePolicy.FAIL_AFTER_EXECUTABLE_NODES_COMPLETE)
def goes_on(a: int) -> typing.Tuple[int, int]:
    return fails(a=a), square(a=a)


@workflow
def fails_below(a: int) -> int:
    return add(a=base(a=fails(a=a)))


@workflow
def one_of_several_workers(a: int) -> int:
    return fails_as_a_worker(a=a)


@workflow
def environment_of_a_task(a: int) -> typing.Tuple[str, int]:
    return who(), square(a=a)


@workflow
def cache_without_an_input(a: int) -> typing.Tuple[int, int]:
    first = cached(a=a, b=1)
    return first, cached(a=a, b=first)


@workflow
def tried_again(a: int) -> int:
    return unlucky(a=a)


@workflow
def with_a_deck(a: int) -> int:
    return decked(a=a)


@workflow
def with_resources(a: int) -> int:
    return asking(a=a).with_overrides(requests=Resources(cpu="1"))


@workflow
def with_overrides(a: int) -> typing.Tuple[int, int]:
    return (add(a=a).with_overrides(node_name="named", retries=1, cache=True, cache_version="x"),
            base(a=a).with_overrides(node_name="sub"))


@workflow
def with_a_nap(a: int) -> int:
    nap = sleep(timedelta(milliseconds=100))
    made = add(a=a)
    nap >> made
    return made


@workflow
def by_shell(text: str) -> str:
    return read(file=shell(x=write(text=text)))


@workflow(interruptible=True)
def interruptible(a: int) -> int:
    return add(a=a)


imperative = ImperativeWorkflow(name="flows.graph.imperative")
imperative.add_workflow_input("n", int)
_node = imperative.add_entity(add, a=imperative.inputs["n"], b=10)
_more = imperative.add_entity(square, a=_node.outputs["o0"])
imperative.add_workflow_output("out", _more.outputs["o0"], python_type=int)


CASES = [
    (base, {"a": 2}, "two tasks, a default"), (nested, {"a": 2}, "a sub-workflow"),
    (nested_twice, {"a": 1}, "sub-workflows in sub-workflows"), (chain, {"a": 1}, "a chain"),
    (diamond, {"a": 2}, "one output for two"), (named_outputs, {"a": 5}, "outputs with names"),
    (ordered, {"a": 1}, "order without values"),
    (plan_by_default, {"a": 3}, "a launch plan of the workflow's name"),
    (plan_with_default, {}, "a launch plan with a default"),
    (plan_with_fixed, {}, "a launch plan with fixed inputs"),
    (plan_below_plan, {"a": 1}, "a launch plan below another"),
    (branch, {"a": 6}, "a branch: if"), (branch, {"a": 5}, "a branch: elif"),
    (branch, {"a": 1}, "a branch: else"),
    (branch_with_and_or, {"a": 2, "b": 9}, "a branch: and, or"),
    (branch_with_and_or, {"a": 2, "b": 5}, "a branch: and, or, not so"),
    (branch_on_text, {"a": "x"}, "a branch by a text"),
    (branch_on_text, {"a": "y"}, "a branch by a text: else"),
    (branch_on_float, {"a": 0.5, "n": 3}, "a branch by a float"),
    (branch_on_output, {"a": 11}, "a branch by an output"),
    (branch_to_workflow, {"a": 2}, "a branch to a sub-workflow"),
    (branch_to_workflow, {"a": 1}, "a branch to another sub-workflow"),
    (branch_to_plan, {"a": 2}, "a branch to a launch plan"),
    (branch_that_fails, {"a": 1}, "a branch that may fail"),
    (branch_that_fails, {"a": 7}, "a branch that fails", "nothing for it"),
    (branch_in_branch, {"a": 11}, "a branch in a branch"),
    (branch_in_branch, {"a": -1}, "a branch beside a branch"),
    (branch_then_more, {"a": 3}, "what a branch gives"),
    (two_branches, {"a": 3}, "two branches"),
    (handled, {"a": 1}, "a failure node that is not needed"),
    (handled, {"a": 5}, "a failure node", "5 is too much"),
    (handled_below, {"a": 5}, "a failure node of a sub-workflow", "5 is too much"),
    (goes_on, {"a": 1}, "a policy of failures"), (goes_on, {"a": 4}, "the same, with a failure",
                                                  "4 is too much"),
    (fails_below, {"a": 9}, "a failure before a sub-workflow", "9 is too much"),
    (one_of_several_workers, {"a": 1}, "a worker of a distributed task"),
    (one_of_several_workers, {"a": 3}, "the same, whose error lies in a file of its own",
     "3 is too much for a worker"),
    (environment_of_a_task, {"a": 2}, "a task's environment"),
    (cache_without_an_input, {"a": 4}, "a cache that leaves out an input"),
    (tried_again, {"a": 3}, "retries, with a checkpoint"), (with_a_deck, {"a": 1}, "a deck"),
    (with_resources, {"a": 1}, "resources, a timeout"), (with_overrides, {"a": 1}, "overrides"),
    (with_a_nap, {"a": 1}, "a gate that sleeps"), (by_shell, {"text": "s"}, "a shell task"),
    (interruptible, {"a": 1}, "an interruptible workflow"),
    (imperative, {"n": 2}, "an imperative workflow"),
]
