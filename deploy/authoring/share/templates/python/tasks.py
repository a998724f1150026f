"""The tasks of flow.yaml: functions that get the inputs and return {OUTPUT: VALUE}.

Troupe lets them import `troupe`, which reads inputs by the annotations and writes outputs and errors.
"""

import datetime
import typing

import troupe


def count(size: int):
    if size < 1:
        troupe.fail("NothingToDo", f"{size} is no size", recoverable=False)
    return {"numbers": list(range(1, size + 1))}


def square(number: int):
    troupe.progress(f"squaring {number}")
    return {"square": number * number}


def report(squares: typing.List[int], day: datetime.date):
    return {"text": f"{day}: {len(squares)} squares, {sum(squares)} in all"}


if __name__ == "__main__":
    troupe.run(count, square, report)
