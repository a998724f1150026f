"""The task of measure.yaml. Troupe lets it import `troupe`, of which nothing has to be installed."""

import dataclasses
import datetime
import enum
import os
import pathlib
import typing

import troupe


class Unit(enum.Enum):
    WORDS = "words"
    LETTERS = "letters"


@dataclasses.dataclass
class Summary:
    unit: Unit
    counts: typing.List[int]
    attempts: int


def count(text: pathlib.Path, unit: Unit, begin: datetime.datetime, each: datetime.timedelta):
    attempt = int(os.environ["TROUPE_ATTEMPT"])
    lines = text.read_text().splitlines()
    counts = troupe.load("counts", [])  # those of the attempt before
    for line in lines[len(counts):]:
        troupe.progress(f"line {len(counts) + 1} of {len(lines)}")
        if attempt == 0 and len(counts) == 2:
            raise OSError("the disk was busy")
        counts.append(len(line.split() if unit is Unit.WORDS else line))
        troupe.save("counts", counts)
    loud = pathlib.Path("loud.txt")
    loud.write_text(text.read_text().upper())
    return {
        "summary": Summary(unit, counts, attempt + 1),
        "mean": sum(counts) / len(counts) if counts else float("nan"),
        "end": begin + len(counts) * each,
        "loud": loud,
    }


troupe.run(count)
