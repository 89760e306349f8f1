"""The parts of a benchmark: tasks that are timed in turns, measurements, and demands on measurements.

On a shared machine only ratios within one run are meaningful. So the tasks of a group (several engines on the
same facts, or one engine on two sizes) take turns, run by run, and other load affects all of them. Medians
are compared; least and most are reported, too.

Invariant: the preparation of a task (reading and building its input) is never part of its time.
"""

from __future__ import annotations

import gc
import resource
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

ENOUGH_SECONDS = 10.0
"""A task is not repeated any more when its runs have taken this many seconds in total."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run of the benchmarks.

    ``peers``: measure other reasoners, too. ``slow``: also those that take minutes. ``small``: shrink
    synthetic workloads to the size of a test. ``minutes``: the duration of each shape of the soak.
    """

    repeat: int = 5
    corpus: Path | None = None
    peers: bool = True
    slow: bool = True
    small: bool = False
    minutes: float = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a timed run: the number of facts at the end, and the seconds by stage, if known."""

    facts: int | None = None
    stages: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """Work to time. Before each timed ``run``, the untimed ``prepare`` makes its argument."""

    engine: str
    what: str
    prepare: Callable[[], Any]
    run: Callable[[Any], Outcome]
    size: str = ""
    warm_up: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """The times of all runs of a task, and the outcome of the last. ``cpu``: the CPU time of each run."""

    workload: str
    size: str
    engine: str
    what: str
    seconds: tuple[float, ...]
    facts: int | None = None
    stages: Mapping[str, float] = field(default_factory=dict)
    cpu: tuple[float, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity by which measurements of two runs are compared."""
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
        """All fields, and median, least and most."""
        return asdict(self) | {"median": self.median, "least": self.least, "most": self.most}


@dataclass(frozen=True, slots=True)
class Demand:
    """A bound on a value: ``value`` must be at least ``bound`` if ``at_least``, else at most."""

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
    """The results of a workload or a whole run. Notes are what a reader needs to interpret the numbers."""

    measurements: list[Measurement] = field(default_factory=list)
    demands: list[Demand] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, other: Results) -> None:
        """Append the results of another workload."""
        self.measurements += other.measurements
        self.demands += other.demands
        self.notes += other.notes


WARMS_UP = True
"""Whether tasks with ``warm_up`` run once more, and garbage is collected before each run. Tests turn it off:
they use no times."""


def measure(workload: str, tasks: Sequence[Task], repeat: int) -> list[Measurement]:
    """Time the tasks in turns. Returns one measurement per task, in order.

    A task with ``warm_up`` runs once, untimed, before its first turn. A task that has taken more than
    ``ENOUGH_SECONDS`` in total has no further turns.
    """
    for task in tasks:
        if task.warm_up and WARMS_UP:
            task.run(task.prepare())
    times: list[list[float]] = [[] for _ in tasks]
    cpu: list[list[float]] = [[] for _ in tasks]
    outcomes = [Outcome() for _ in tasks]
    for _ in range(repeat):
        for position, task in enumerate(tasks):
            if sum(times[position]) > ENOUGH_SECONDS:
                continue
            prepared = task.prepare()
            if WARMS_UP:
                gc.collect()
            started, cpu_before = perf_counter(), cpu_seconds()
            outcomes[position] = task.run(prepared)
            times[position].append(perf_counter() - started)
            cpu[position].append(cpu_seconds() - cpu_before)
            del prepared
    return [
        Measurement(
            workload,
            task.size,
            task.engine,
            task.what,
            tuple(seconds),
            outcome.facts,
            outcome.stages,
            tuple(used),
        )
        for task, seconds, outcome, used in zip(tasks, times, outcomes, cpu, strict=True)
    ]


def cpu_seconds() -> float:
    """The CPU time of all threads of this process, and of its processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime
