"""Tasks of flytekit's that hand on what they have written, in each form that values of it have."""

import os
import pathlib
import typing
from dataclasses import dataclass

from flytekit import current_context, task, workflow
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile
from mashumaro.mixins.json import DataClassJSONMixin


class Pickled:
    def __init__(self, number):
        self.number = number


@dataclass
class Holder(DataClassJSONMixin):
    file: FlyteFile
    number: int


def made(name, text):
    path = pathlib.Path(current_context().working_directory) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


@task
def make() -> typing.Tuple[FlyteFile, FlyteDirectory, typing.List[FlyteFile], Pickled, Holder,
                           typing.Dict[str, FlyteFile]]:
    folder = pathlib.Path(made("folder/a", "A")).parent
    made("folder/below/b[1]", "B")
    return (FlyteFile(made("with blanks.txt", "one")), FlyteDirectory(str(folder)),
            [FlyteFile(made(f"item{i}", str(i))) for i in range(3)], Pickled(7),
            Holder(FlyteFile(made("held", "H")), 3), {"k": FlyteFile(made("k", "K"))})


@task
def read(file: FlyteFile, folder: FlyteDirectory, items: typing.List[FlyteFile], odd: Pickled,
         holder: Holder, named: typing.Dict[str, FlyteFile]) -> str:
    folder.download()
    texts = [open(each).read() for each in (file, *items, holder.file, named["k"])]
    return " ".join([*texts, *sorted(os.listdir(folder.path)), str(odd.number), str(holder.number)])


@workflow
def files_of_all_kinds() -> str:
    file, folder, items, odd, holder, named = make()
    return read(file=file, folder=folder, items=items, odd=odd, holder=holder, named=named)
