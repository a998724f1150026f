"""Maps and dynamic workflows: alone, with each other, and with what values and graphs have."""

import functools
import typing
from dataclasses import dataclass

from flytekit import LaunchPlan, conditional, dynamic, map_task, task, workflow
from flytekit.types.file import FlyteFile
from flytekit import current_context

from flows.graph import add, base, by_default, join, square

List, Dict, Optional = typing.List, typing.Dict, typing.Optional


@dataclass
class Item:
    n: int
    text: str = ""


@task
def numbers(n: int) -> List[int]:
    return list(range(n))


@task
def total(a: List[int]) -> int:
    return sum(a)


@task
def texts(n: int) -> List[str]:
    return [f"t{i}" for i in range(n)]


@task
def odd(a: int) -> int:
    if a % 2 == 0:
        raise ValueError(f"{a} is even")
    return a


@task
def make_item(n: int) -> Item:
    return Item(n, str(n))


@task
def item_text(item: Item) -> str:
    return item.text


@task
def write(text: str) -> FlyteFile:
    path = f"{current_context().working_directory}/{text}"
    with open(path, "w") as file:
        file.write(text)
    return FlyteFile(path)


@task
def read(file: FlyteFile) -> str:
    return open(file).read()


@task
def pick(a: int, of: Dict[str, int]) -> int:
    return of.get(str(a), -1)


@task
def half(a: int) -> Optional[int]:
    return a // 2 if a % 2 == 0 else None


@task
def count_none(a: List[Optional[int]]) -> int:
    return sum(1 for each in a if each is None)


@task
def rows(n: int) -> List[List[int]]:
    return [list(range(i)) for i in range(n)]


@workflow
def mapped(n: int) -> List[int]:
    return map_task(square)(a=numbers(n=n))


@workflow
def mapped_and_summed(n: int) -> int:
    return total(a=map_task(square)(a=numbers(n=n)))


@workflow
def mapped_twice(n: int) -> List[int]:
    return map_task(square)(a=map_task(square)(a=numbers(n=n)))


@workflow
def mapped_over_an_input(a: List[int]) -> List[int]:
    return map_task(square)(a=a)


@workflow
def mapped_over_constants() -> List[int]:
    return map_task(square)(a=[1, 2, 3])


@workflow
def mapped_over_two(n: int) -> List[str]:
    return map_task(join)(a=texts(n=n), b=texts(n=n))


@workflow
def mapped_with_one_bound(n: int, b: int) -> List[int]:
    return map_task(functools.partial(add, b=b))(a=numbers(n=n))


@workflow
def mapped_with_a_map_bound(n: int) -> List[int]:
    return map_task(functools.partial(pick, of={"1": 10}))(a=numbers(n=n))


@workflow
def mapped_with_few_at_once(n: int) -> List[int]:
    return map_task(square, concurrency=2)(a=numbers(n=n))


@workflow
def mapped_with_some_failing(n: int) -> List[Optional[int]]:
    return map_task(odd, min_success_ratio=0.3)(a=numbers(n=n))


@workflow
def mapped_with_too_many_failing(n: int) -> List[Optional[int]]:
    return map_task(odd, min_success_ratio=0.9)(a=numbers(n=n))


@workflow
def mapped_and_failing(n: int) -> List[int]:
    return map_task(odd)(a=numbers(n=n))


@workflow
def mapped_over_dataclasses(n: int) -> List[str]:
    return map_task(item_text)(item=map_task(make_item)(n=numbers(n=n)))


@workflow
def mapped_over_files(n: int) -> List[str]:
    return map_task(read)(file=map_task(write)(text=texts(n=n)))


@workflow
def mapped_to_optionals(n: int) -> int:
    return count_none(a=map_task(half)(a=numbers(n=n)))


@workflow
def mapped_over_lists(n: int) -> List[int]:
    return map_task(total)(a=rows(n=n))


@workflow
def mapped_below(n: int) -> int:
    return add(a=mapped_and_summed(n=n), b=mapped_and_summed(n=2))


@workflow
def mapped_in_a_branch(n: int) -> int:
    return (conditional("b").if_(n > 2).then(mapped_and_summed(n=n)).else_().then(add(a=n)))


@dynamic
def squares(n: int) -> List[int]:
    return [square(a=i) for i in range(n)]


@dynamic
def one_after_the_other(n: int) -> int:
    made = add(a=0)
    for _ in range(n):
        made = add(a=made)
    return made


@dynamic
def deeper(n: int) -> int:
    return add(a=deeper(n=n - 1)) if n > 0 else square(a=7)


@dynamic
def with_workflow(n: int) -> int:
    return total(a=[base(a=i) for i in range(n)])


@dynamic
def with_plan(n: int) -> int:
    return by_default(a=n)


@dynamic
def with_map(n: int) -> int:
    return total(a=map_task(square)(a=numbers(n=n)))


@dynamic
def without_nodes(n: int) -> int:
    return n + 1


@dynamic
def with_files(n: int) -> str:
    return read(file=write(text=f"d{n}"))


@dynamic
def that_fails(n: int) -> int:
    return odd(a=n)


@dynamic
def that_fails_itself(n: int) -> int:
    if n > 1:
        raise ValueError("no graph of it")
    return square(a=n)


@dynamic
def to_map(n: int) -> Dict[str, int]:
    return {f"k{i}": square(a=i) for i in range(n)}


@workflow
def dynamic_list(n: int) -> typing.Tuple[List[int], int]:
    made = squares(n=n)
    return made, total(a=made)


@workflow
def dynamic_chain(n: int) -> int:
    return one_after_the_other(n=n)


@workflow
def dynamic_in_dynamic(n: int) -> int:
    return deeper(n=n)


@workflow
def dynamic_with_workflow(n: int) -> int:
    return with_workflow(n=n)


@workflow
def dynamic_with_plan(n: int) -> int:
    return with_plan(n=n)


@workflow
def dynamic_with_map(n: int) -> int:
    return with_map(n=n)


@workflow
def dynamic_without_nodes(n: int) -> int:
    return without_nodes(n=n)


@workflow
def dynamic_with_files(n: int) -> str:
    return with_files(n=n)


@workflow
def dynamic_with_a_failure(n: int) -> int:
    return that_fails(n=n)


@workflow
def dynamic_that_fails(n: int) -> int:
    return that_fails_itself(n=n)


@workflow
def dynamic_map_of_outputs(n: int) -> Dict[str, int]:
    return to_map(n=n)


@workflow
def dynamic_twice(n: int) -> typing.Tuple[int, int]:
    return total(a=squares(n=n)), total(a=squares(n=add(a=n)))


@workflow
def dynamic_in_a_plan(n: int) -> int:
    return LaunchPlan.get_or_create(dynamic_chain)(n=n)


@workflow
def dynamic_in_a_branch(n: int) -> int:
    return conditional("b").if_(n > 1).then(with_map(n=n)).else_().then(add(a=n))


CASES = [
    (mapped, {"n": 0}, "a map over nothing"), (mapped, {"n": 1}, "a map over one"),
    (mapped, {"n": 5}, "a map"), (mapped_and_summed, {"n": 4}, "a map and a reduce"),
    (mapped_twice, {"n": 3}, "a map behind a map"),
    (mapped_over_an_input, {"a": [3, 4]}, "a map over an input"),
    (mapped_over_constants, {}, "a map over constants"),
    (mapped_over_two, {"n": 2}, "a map over two lists"),
    (mapped_with_one_bound, {"n": 2, "b": 5}, "a map with a bound input"),
    (mapped_with_a_map_bound, {"n": 3}, "a map with a bound map"),
    (mapped_with_few_at_once, {"n": 4}, "a map with concurrency"),
    (mapped_with_some_failing, {"n": 4}, "a map, some may fail"),
    (mapped_with_too_many_failing, {"n": 4}, "a map, too many fail", "is even"),
    (mapped_and_failing, {"n": 2}, "a map that fails", "0 is even"),
    (mapped_over_dataclasses, {"n": 2}, "a map over dataclasses"),
    (mapped_over_files, {"n": 2}, "a map over files"),
    (mapped_to_optionals, {"n": 5}, "a map to optional values"),
    (mapped_over_lists, {"n": 4}, "a map over lists of lists"),
    (mapped_below, {"n": 3}, "a map in a sub-workflow"),
    (mapped_in_a_branch, {"n": 3}, "a map in a branch"),
    (mapped_in_a_branch, {"n": 1}, "a map in the other branch"),
    (dynamic_list, {"n": 3}, "a dynamic list"), (dynamic_list, {"n": 0}, "a dynamic empty list"),
    (dynamic_chain, {"n": 3}, "a dynamic chain"),
    (dynamic_in_dynamic, {"n": 2}, "a dynamic that calls itself"),
    (dynamic_with_workflow, {"n": 2}, "a dynamic with sub-workflows"),
    (dynamic_with_plan, {"n": 3}, "a dynamic with a launch plan"),
    (dynamic_with_map, {"n": 3}, "a dynamic with a map"),
    (dynamic_without_nodes, {"n": 3}, "a dynamic without nodes"),
    (dynamic_with_files, {"n": 1}, "a dynamic with files"),
    (dynamic_with_a_failure, {"n": 2}, "a dynamic, a task of which fails", "2 is even"),
    (dynamic_that_fails, {"n": 2}, "a dynamic that fails", "no graph of it"),
    (dynamic_map_of_outputs, {"n": 2}, "a dynamic that gives a map"),
    (dynamic_twice, {"n": 2}, "a dynamic twice"),
    (dynamic_in_a_plan, {"n": 2}, "a dynamic in a launch plan"),
    (dynamic_in_a_branch, {"n": 3}, "a dynamic in a branch"),
]
