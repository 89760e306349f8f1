"""The parts of the papers' book: a paper, and an entry for each of its tables and figures.

An entry has one table of its own, and perhaps plots. Its cells are numbers, and their column says how they
are printed. ``theirs``, ``ours`` and ``factor`` are its line in the overview. An entry that is not rebuilt
has a ``reason``.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from benchmarks.measure import Measurement, Settings

Cell: TypeAlias = str | float | None

TEXT, COUNT, SECONDS, TIMES, MEGABYTES = "text", "count", "seconds", "times", "megabytes"
"""Kinds of columns. ``TIMES`` are ratios."""


@dataclass(frozen=True, slots=True)
class Column:
    heading: str
    kind: str = TEXT


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a plot, or the bars of one colour. ``xs`` of bars are texts."""

    label: str
    xs: Sequence[Cell]
    ys: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot: ``kind`` is lines, bars or graph. The series of a graph are its levels, see ``plots``."""

    name: str
    title: str
    kind: str
    series: Sequence[Series] = ()
    x: str = ""
    y: str = ""
    log_x: bool = False
    log_y: bool = False
    graph: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A table or a figure of a paper: what the paper has, what is measured here, and why not if it is not."""

    title: str
    theirs: str
    ours: str
    factor: str = ""
    reason: str = ""
    columns: Sequence[Column] = ()
    rows: Sequence[Sequence[Cell]] = ()
    notes: Sequence[str] = ()
    plots: Sequence[Plot] = ()
    measurements: Sequence[Measurement] = ()

    def as_json(self) -> dict[str, Any]:
        """All fields; of a measurement its key, and the seconds of all runs. Numbers are rounded."""
        rows = [[_rounded(c) if isinstance(c, float) else c for c in row] for row in self.rows]
        briefs = [_brief(m) for m in self.measurements]
        fields: dict[str, Any] = asdict(self) | {"rows": rows, "measurements": briefs}
        return fields


def _silent(_: str) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class Scope:
    """How much is measured. ``full``: the sizes of the papers. ``say`` shows what is being measured."""

    settings: Settings
    full: bool = False
    say: Callable[[str], None] = _silent

    def size(self, small: int, usual: int, full: int) -> int:
        """The size for this scope."""
        return small if self.settings.small else full if self.full else usual


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its citation, the machine of its experiments, and a function for each table and figure."""

    key: str
    citation: str
    machine: str
    entries: Mapping[str, Callable[[Scope], Entry]]


def not_rebuilt(title: str, theirs: str, ours: str, reason: str) -> Callable[[Scope], Entry]:
    """An entry for what is not measured."""
    return lambda _: Entry(title, theirs, ours, reason=reason)


def cpu(measurement: Measurement) -> float:
    """The median CPU time of the runs, in seconds."""
    return statistics.median(measurement.cpu)


def mean_cpu(measurement: Measurement) -> float:
    """The mean CPU time of the runs, in seconds."""
    return statistics.fmean(measurement.cpu)


def by_task(measurements: Sequence[Measurement]) -> dict[tuple[str, str], Measurement]:
    """Measurements by engine and task."""
    return {(m.engine, m.what): m for m in measurements}


def chosen(papers: Sequence[Paper], wanted: Sequence[str]) -> Iterator[tuple[Paper, str]]:
    """The entries whose paper, or paper and place, is wanted: ``004``, ``004/table-2``. All if none are."""
    for paper in papers:
        for place in paper.entries:
            if not wanted or paper.key in wanted or name_of(paper, place) in wanted:
                yield paper, place


def name_of(paper: Paper, place: str) -> str:
    """The name of an entry on the command line, and in JSON: ``004/table-2``."""
    return f"{paper.key}/{place.lower().replace(' ', '-')}"


def _brief(measurement: Measurement) -> dict[str, Any]:
    return {
        "size": measurement.size,
        "engine": measurement.engine,
        "what": measurement.what,
        "cpu": [_rounded(value) for value in measurement.cpu],
        "wall": [_rounded(value) for value in measurement.seconds],
        "facts": measurement.facts,
    }


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
