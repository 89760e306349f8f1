"""Changes of facts as tasks: facts are removed and added back, and the materialisation is maintained.

A *track* is one materialisation under one strategy. Its two tasks alternate: one removes facts, the other
adds the same facts back. The facts of every turn are drawn at random, and are the same for all tracks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from benchmarks.engine import ENGINE, Facts
from benchmarks.measure import Outcome, Task

from corollary.columns import Columns, TripleIndex
from corollary.columns.delta import NOTHING, Delta
from corollary.columns.pairs import pack
from corollary.columns.triples import grouped
from corollary.evaluate import MaterialisedView, materialise
from corollary.language import Program
from corollary.maintain import AUTOMATIC, STRATEGIES, maintain

REMOVE, ADD = "remove", "add back"

BACKWARD_FORWARD, DRED, COUNTING, START_OVER = "backward/forward", "dred", "counting", "starting over"

TITLES = {DRED: "DRed"}
"""The names of strategies in the tables, where they differ from those in the registry."""

METHODS = {AUTOMATIC: ENGINE} | {name: f"{ENGINE}, {TITLES.get(name, name)}" for name in STRATEGIES}
"""The names of the strategies in the tables."""


def drawn(columns: Columns, number: int, times: int, seed: int = 1) -> list[Delta]:
    """Draw ``number`` facts at random, ``times`` times."""
    random = np.random.default_rng(seed)
    return [rows_of(columns, random.choice(columns[0].size, number, replace=False)) for _ in range(times)]


def rows_of(columns: Columns, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Delta:
    """The facts in the given rows, as a ``Delta``."""
    subjects, predicates, objects = (column[rows] for column in columns)
    keys = pack(subjects, objects)
    return Delta.gathered({predicate: [part] for predicate, part in grouped(predicates, keys)})


def without(explicit: TripleIndex, change: Delta) -> TripleIndex:
    """The explicit facts without those of ``change``."""
    left = explicit.snapshot()
    for predicate, keys in change.items():
        left.remove(predicate, keys)
    return left


class Track:
    """A materialisation that is maintained under a sequence of changes."""

    def __init__(
        self,
        facts: Facts,
        program: Program,
        changes: Sequence[Delta],
        strategy: str = AUTOMATIC,
        *,
        modular: bool = True,
    ) -> None:
        self._used: list[str] = []  # the strategy that each removal actually used
        self._facts = facts
        self._program = program
        self._changes = changes
        self._strategy = strategy
        self._modular = modular
        self._turn = 0
        self._result: MaterialisedView | None = None
        self._all = facts.index()
        self._gone: Delta | None = None

    @property
    def engine(self) -> str:
        """The name of the track in the tables."""
        return (
            METHODS[self._strategy]
            if self._modular
            else METHODS[self._strategy].replace(ENGINE, "semi-naive")
        )

    def tasks(self, size: str, number: str) -> list[Task]:
        """The tasks that remove facts and add them back; ``number`` is the number of facts, as a text.

        Additions are the same for every strategy but counting, which counts them, and starting over. So the
        tracks of the other ones measure removals only.
        """
        warm_up = self._modular
        remove = Task(self.engine, f"{REMOVE} {number}", self._before_removal, self._remove, size, warm_up)
        if self._modular and self._strategy in (BACKWARD_FORWARD, DRED):
            return [remove]
        return [remove, Task(self.engine, f"{ADD} {number}", self._before_addition, self._add, size, warm_up)]

    def note(self) -> str:
        """How often another strategy than the requested one was used; empty if never."""
        others = Counter(used for used in self._used if used != self._strategy)
        counted = ", ".join(f"{used} {count} times" for used, count in others.items())
        return f"{self.engine} used {counted}, in {len(self._used)} turns." if counted else ""

    def _before_removal(self) -> tuple[Delta, TripleIndex]:
        """The facts to remove in this turn, and the explicit facts that remain."""
        if self._result is None:
            self._result = materialise(
                self._all, self._program, self._facts.dictionary, modular=self._modular
            )
        if self._gone is not None:
            self._add(self._gone)
        change = self._changes[self._turn % len(self._changes)]
        self._turn += 1
        return change, without(self._all, change)

    def _remove(self, prepared: tuple[Delta, TripleIndex]) -> Outcome:
        assert self._result is not None
        change, left = prepared
        self._result, report = maintain(self._result, left, change, NOTHING, self._strategy)
        self._gone = change
        self._used.append(report.strategy)
        return Outcome(len(self._result.index))

    def _before_addition(self) -> Delta:
        """The facts to add back, which are removed first if necessary."""
        if self._gone is None:
            self._remove(self._before_removal())
        assert self._gone is not None
        return self._gone

    def _add(self, change: Delta) -> Outcome:
        assert self._result is not None
        self._result, _ = maintain(self._result, self._all, NOTHING, change, self._strategy)
        self._gone = None
        return Outcome(len(self._result.index))
