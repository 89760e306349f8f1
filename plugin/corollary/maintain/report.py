"""EXPLAIN ANALYZE of a maintenance run: what was looked at, taken away and brought back, and the time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from html import escape
from time import perf_counter

COUNTS = ("candidates", "proved", "deleted", "rederived", "inserted")


@dataclass(slots=True)
class Stage:
    """What one module, or one step of the algorithm, did in one stage of a run.

    ``candidates`` are facts that lost a derivation, ``proved`` those of them that another one proved,
    ``deleted`` those that went (under DRed: before rederivation), ``rederived`` those that came back,
    ``inserted`` new facts. What several modules named is a candidate of each. The steps ``explicit`` and
    ``proofs`` look for proofs, of facts that are no longer explicit and of candidates of modules; what they
    have deleted beyond those, they found to be without a proof on the way.
    """

    stage: str
    module: str
    candidates: int = 0
    proved: int = 0
    deleted: int = 0
    rederived: int = 0
    inserted: int = 0
    seconds: float = 0.0

    def judged(self, candidates: int, deleted: int) -> None:
        """Some candidates were looked at, and so many of them went."""
        self.candidates += candidates
        self.deleted += deleted
        self.proved += candidates - deleted


@dataclass(slots=True)
class Report:
    """All stages of a run, in order of first appearance.

    ``strategy`` is what was done in the end: backward/forward, dred, or starting over, and ``reason`` why it
    started over, unless it was told to.
    """

    strategy: str
    removed: int = 0
    added: int = 0
    stages: list[Stage] = field(default_factory=list)
    seconds: float = 0.0
    reason: str = ""

    def recomputed(self, strategy: str, error: Exception | None) -> None:
        """Everything was recomputed instead, because of an error if there was one: no stage counts."""
        self.strategy = strategy
        self.stages.clear()
        if error is not None:
            self.reason = str(error)

    def at(self, stage: str, module: str) -> Stage:
        """The line of a module in a stage."""
        for line in self.stages:
            if (line.stage, line.module) == (stage, module):
                return line
        self.stages.append(Stage(stage, module))
        return self.stages[-1]

    @contextmanager
    def timed(self, stage: str, module: str) -> Iterator[Stage]:
        """The line of a module in a stage; the time until the block ends counts for it."""
        line = self.at(stage, module)
        started = perf_counter()
        try:
            yield line
        finally:
            line.seconds += perf_counter() - started

    def as_dict(self) -> dict[str, object]:
        """The report for programs: plain values."""
        return asdict(self)

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        return "\n".join([self._head(), *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        """The same as a table."""
        rows = [_html_row(cells, "td" if number else "th") for number, cells in enumerate(self._rows())]
        return f"<table><caption>{escape(self._head())}</caption>{''.join(rows)}</table>"

    def _head(self) -> str:
        fact = "fact" if self.removed == 1 else "facts"
        reason = f" ({self.reason})" if self.reason else ""
        return (
            f"{self.strategy}{reason}: {self.removed:,} explicit {fact} removed, {self.added:,} added, "
            f"{1000 * self.seconds:.1f} ms"
        )

    def _rows(self) -> list[tuple[str, ...]]:
        """The cells of the table, its headings first."""
        headings = ("stage", "module", *COUNTS, "ms")
        return [headings] + [
            (
                line.stage,
                line.module,
                *(f"{getattr(line, name):,}" for name in COUNTS),
                f"{1000 * line.seconds:.2f}",
            )
            for line in self.stages
        ]


def _html_row(cells: tuple[str, ...], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
