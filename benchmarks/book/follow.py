"""Changes of a share of the facts, followed by each deletion strategy in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from benchmarks.book.entry import cpu
from benchmarks.changes import METHODS, REMOVE, Track, rows_of
from benchmarks.engine import Facts
from benchmarks.measure import Measurement, measure
from numpy.typing import NDArray

from corollary.language import Program

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Followed:
    """CPU times of removing and adding back, by strategy. Additions that equal others are not measured."""

    remove: dict[str, float]
    add: dict[str, float]
    measurements: list[Measurement]


def follow(facts: Facts, program: Program, rows: Rows, percent: float, size: str, repeat: int) -> Followed:
    """Remove a share of the given rows and add it back: ``repeat`` times, other facts each time."""
    random = np.random.default_rng(1)
    number = max(1, int(rows.size * percent / 100))
    changes = [rows_of(facts.columns, random.choice(rows, number, replace=False)) for _ in range(repeat + 1)]
    remove: dict[str, float] = {}
    add: dict[str, float] = {}
    measurements: list[Measurement] = []
    for strategy, engine in METHODS.items():
        tasks = Track(facts, program, changes, strategy).tasks(size, f"{percent:g} %")
        for m in measure("changes", tasks, repeat):
            (remove if m.what.startswith(REMOVE) else add)[engine] = cpu(m)
            measurements.append(m)
    return Followed(remove, add, measurements)


def rows_with(facts: Facts, names: Sequence[str]) -> Rows:
    """The rows of the facts whose predicate is one of the given IRIs."""
    numbers = [facts.dictionary.find(f"<{name}>") for name in names]
    return np.flatnonzero(np.isin(facts.columns[1], [number for number in numbers if number is not None]))
