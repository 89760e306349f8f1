"""EXPLAIN ANALYZE of a transaction: facts checked, deleted, rederived and inserted, and the time taken."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from time import perf_counter

from corollary.language.html_table import table

COUNTS = ("candidates", "proved", "deleted", "rederived", "inserted")


@dataclass(slots=True)
class Stage:
    """The counts of one module, or one step of the algorithm, in one stage.

    ``candidates`` are facts that lost a derivation, ``proved`` the candidates with another derivation,
    ``deleted`` the facts removed from I (under DRed: before rederivation), ``rederived`` those put back,
    ``inserted`` the new facts. A fact overdeleted by several modules is a candidate of each. The steps
    ``explicit`` and ``proofs`` decide about facts that are no longer explicit, and about the candidates of
    modules. They may delete more facts than these: premises that a proof needed, and that have no proof.

    As a context, it adds the time of the block to ``seconds``. Precondition: no block of the same line is
    within the block.
    """

    stage: str
    module: str
    candidates: int = 0
    proved: int = 0
    deleted: int = 0
    rederived: int = 0
    inserted: int = 0
    seconds: float = 0.0
    _started: float = field(default=0.0, repr=False, compare=False)

    def __enter__(self) -> Stage:
        self._started = perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds += perf_counter() - self._started

    def judged(self, candidates: int, deleted: int) -> None:
        """Count candidates; ``deleted`` of them were deleted, the others were proved."""
        self.candidates += candidates
        self.deleted += deleted
        self.proved += candidates - deleted


@dataclass(slots=True)
class Report:
    """All stages of a transaction, in order of first appearance.

    ``strategy`` is the name of the strategy that produced the result.
    ``reason`` says why the transaction started over, if that was not asked for.
    """

    strategy: str
    removed: int = 0
    added: int = 0
    stages: list[Stage] = field(default_factory=list)
    seconds: float = 0.0
    reason: str = ""
    _by_name: dict[tuple[str, str], Stage] = field(default_factory=dict, repr=False, compare=False)

    def recomputed(self, strategy: str, error: Exception | None) -> None:
        """Record that the transaction was recomputed, because of ``error`` if any. Stages are dropped."""
        self.strategy = strategy
        self.stages.clear()
        self._by_name.clear()
        if error is not None:
            self.reason = str(error)

    def at(self, stage: str, module: str) -> Stage:
        """The line of a module in a stage; a new one if there is none."""
        line = self._by_name.get((stage, module))
        if line is None:
            line = self._by_name[stage, module] = Stage(stage, module)
            self.stages.append(line)
        return line

    def as_dict(self) -> dict[str, object]:
        """The report as JSON-ready data."""
        found = asdict(self)
        del found["_by_name"]
        for line in found["stages"]:
            del line["_started"]
        return found

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
        """The report as an HTML table."""
        heads, *rows = self._rows()
        return table(self._head(), heads, rows)

    def _head(self) -> str:
        fact = "fact" if self.removed == 1 else "facts"
        reason = f" ({self.reason})" if self.reason else ""
        return (
            f"{self.strategy}{reason}: {self.removed:,} explicit {fact} removed, {self.added:,} added, "
            f"{1000 * self.seconds:.1f} ms"
        )

    def _rows(self) -> list[tuple[str, ...]]:
        """The cells of the table. The first row has the headings."""
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
