"""What a benchmark is made of: tasks that are timed in turns, measurements, and demands on them.

The idea: only ratios within one run mean anything on a machine that others use too. So the tasks of a
group (engines on the same facts, or one engine on two sizes) take turns, run by run, and what the
machine does meanwhile meets all of them; medians are compared, least and most are kept beside them.

Invariant: a task's preparation (reading, building what it consumes) is never part of its time.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

ENOUGH_SECONDS = 10.0
"""A task that has taken so long in all is not repeated any more."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run of the benchmarks was asked for.

    ``peers`` are the other reasoners, ``slow`` those among them that take minutes; ``small`` shrinks
    made-up workloads to what a test can afford. ``minutes`` is how long a soak takes.
    """

    repeat: int = 5
    corpus: Path | None = None
    peers: bool = True
    slow: bool = True
    small: bool = False
    minutes: float = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a timed run gives back: how many facts there are in the end, and seconds by stage if known."""

    facts: int | None = None
    stages: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """Something to time. ``prepare`` makes anew, untimed, what ``run`` is given each time."""

    engine: str
    what: str
    prepare: Callable[[], Any]
    run: Callable[[Any], Outcome]
    size: str = ""
    warm_up: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """The times of all runs of a task, and the outcome of the last."""

    workload: str
    size: str
    engine: str
    what: str
    seconds: tuple[float, ...]
    facts: int | None = None
    stages: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What makes measurements of two runs comparable."""
        return self.workload, self.size, self.engine, self.what

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        return min(self.seconds)

    @property
    def most(self) -> float:
        return max(self.seconds)

    def as_json(self) -> dict[str, Any]:
        """All fields, and the three numbers that people look at."""
        return asdict(self) | {"median": self.median, "least": self.least, "most": self.most}


@dataclass(frozen=True, slots=True)
class Demand:
    """A number that must be reached: ``value`` at least, or else at most, ``bound``."""

    workload: str
    text: str
    value: float
    bound: float
    unit: str = "x"
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"holds": self.holds}


@dataclass(slots=True)
class Results:
    """What a workload, or a whole run, came to. Notes say what a reader must know to trust the numbers."""

    measurements: list[Measurement] = field(default_factory=list)
    demands: list[Demand] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, other: Results) -> None:
        """Take in the results of another workload."""
        self.measurements += other.measurements
        self.demands += other.demands
        self.notes += other.notes


def measure(workload: str, tasks: Sequence[Task], repeat: int) -> list[Measurement]:
    """Time the tasks in turns: one measurement a task, in order.

    A task with ``warm_up`` runs once more, untimed, before its first turn. A task that has taken more
    than ``ENOUGH_SECONDS`` in all has no further turns.
    """
    for task in tasks:
        if task.warm_up:
            task.run(task.prepare())
    times: list[list[float]] = [[] for _ in tasks]
    outcomes = [Outcome() for _ in tasks]
    for _ in range(repeat):
        for position, task in enumerate(tasks):
            if sum(times[position]) > ENOUGH_SECONDS:
                continue
            prepared = task.prepare()
            gc.collect()
            started = perf_counter()
            outcomes[position] = task.run(prepared)
            times[position].append(perf_counter() - started)
            del prepared
    return [
        Measurement(
            workload, task.size, task.engine, task.what, tuple(seconds), outcome.facts, outcome.stages
        )
        for task, seconds, outcome in zip(tasks, times, outcomes, strict=True)
    ]
