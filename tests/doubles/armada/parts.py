"""What all parts of the double share: made once in __main__.py, and handed to each."""

import dataclasses

from counters import Counters
from execute import Executor
from faults import Faults
from jobs import Clock, Deduplication, Names
from queues import Queues


@dataclasses.dataclass
class Parts:
    settings: object
    clock: Clock
    names: Names
    faults: Faults
    counters: Counters
    queues: Queues
    deduplication: Deduplication
    secrets: dict  # of Kubernetes, by GROUP/KEY
    executor: Executor  # None unless commands are run

    @classmethod
    def of(cls, settings, folder):
        clock = Clock()
        return cls(settings=settings, clock=clock, names=Names(settings.seed, clock),
                   faults=Faults(), counters=Counters(), queues=Queues(settings, clock),
                   deduplication=Deduplication(clock),
                   secrets=dict(secret.split("=", 1) for secret in settings.secret),
                   executor=Executor(folder, settings.share) if settings.execute else None)
