"""An evaluator that counts, for EXPLAIN: the rows and the time of each operator and triple pattern."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from rdflib.term import Node, Variable

from corollary.columns import TripleIndex
from corollary.execute.batches import Batch
from corollary.sparql.algebra import Filter, Operator, Triples
from corollary.sparql.evaluate import Evaluator
from corollary.sparql.intersections import Intersection, Item
from corollary.sparql.pattern_costs import Pattern
from corollary.sparql.patterns import Joint, PatternJoin, Reduction
from corollary.sparql.query_evaluation import Scope
from corollary.sparql.solutions import Change, Parts
from corollary.sparql.written_literals import UNBOUND


class _Counted:
    """The rows and the time of a part of a query, over all its evaluations."""

    def __init__(self) -> None:
        self.rows = 0
        self.seconds = 0.0

    def add(self, rows: int, seconds: float) -> None:
        self.rows += rows
        self.seconds += seconds


class CountingEvaluator(Evaluator):
    """An evaluator that counts the rows and the time of each operator and triple pattern."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.counted: dict[Any, _Counted] = {}
        self.graph: Node | None = None
        """The graph for which the pattern of ``GRAPH ?g`` is evaluated, or planned."""

    def counts(self, key: Any) -> tuple[int | None, float | None]:
        """The rows and the seconds of an operator or a triple pattern; None if it was not evaluated."""
        found = self.counted.get((self.graph, key))
        return (None, None) if found is None else (found.rows, found.seconds)

    def _named(self, variable: Variable, name: Node, part: Operator, scope: Scope, need: int | None) -> Batch:
        around, self.graph = self.graph, name
        batch = super()._named(variable, name, part, scope, need)
        self.graph = around
        return batch

    def beside(self, left: Batch, part: Operator, scope: Scope, limit: int) -> Batch | None:
        started, batch = perf_counter(), super().beside(left, part, scope, limit)
        if batch is not None and isinstance(part, Triples):
            (pattern,), seconds = self.patterns(part), perf_counter() - started
            new = [batch.columns[v] for v in batch.columns.keys() - left.columns.keys()]
            rows = sum(int(np.count_nonzero(column != UNBOUND)) for column in new)
            for key in ("pattern", id(part)), (id(part), pattern):
                self._count_of(key).add(rows, seconds)
        return batch

    def _alone(self, part: Operator, scope: Scope, need: int | None = None) -> Batch:
        evaluate = partial(super()._alone, part, scope, need)
        if isinstance(part, Triples | Filter):
            return evaluate()  # its parts are counted
        started = perf_counter()
        batch = evaluate()
        self._count_of(id(part)).add(batch.size, perf_counter() - started)
        return batch

    def _changed(self, step: Operator, batch: Batch, scope: Scope) -> Batch:
        started, found = perf_counter(), super()._changed(step, batch, scope)
        self._count_of(id(step)).add(found.size, perf_counter() - started)
        return found

    def _leaf_parts(self, leaf: Operator, *arguments: Any) -> Parts:
        found = super()._leaf_parts(leaf, *arguments)
        if isinstance(found, list) or isinstance(leaf, Triples | Filter):
            return found
        return self._parts_counted(found, self._count_of(id(leaf)))

    def pattern_parts(self, part: Operator, *arguments: Any, **named: Any) -> Iterator[Batch]:
        found = super().pattern_parts(part, *arguments, **named)
        if isinstance(part, Filter):
            found = self._parts_counted(found, self._count_of(id(part)))
            part = part.inner
        return self._parts_counted(found, self._count_of(("pattern", id(part))))

    def _reported(self, step: Operator, change: Change) -> Change:
        counted = self._count_of(id(step))
        reported = super()._reported(step, change)

        def noted(batch: Batch) -> Parts:
            started = perf_counter()
            found = reported(batch)
            counted.add(0, perf_counter() - started)
            parts = self._parts_counted(found, counted)
            return list(parts) if isinstance(found, list) else parts

        return noted

    @staticmethod
    def _parts_counted(parts: Iterable[Batch], counted: _Counted) -> Iterator[Batch]:
        started = perf_counter()
        for part in parts:
            counted.add(part.size, perf_counter() - started)
            yield part
            started = perf_counter()
        counted.add(0, perf_counter() - started)

    def _count_of(self, key: Any) -> _Counted:
        return self.counted.setdefault((self.graph, key), _Counted())

    @staticmethod
    def begun(
        start: Batch, places: list[Joint], index: TripleIndex, unwanted: frozenset[int]
    ) -> tuple[Batch, int]:
        """No pattern: each is joined where its rows are counted."""
        return start, 0

    def pattern_join(
        self, part: Triples, scope: Scope, early: Reduction, unwanted: frozenset[int]
    ) -> PatternJoin:
        """A join that also counts the rows after each pattern."""
        join = super().pattern_join(part, scope, early, unwanted)
        return _CountingJoin(
            join.costs, join.paths, early, counted=self.counted, graph=self.graph, part=id(part)
        )


@dataclass
class _CountingJoin(PatternJoin):
    counted: dict[Any, _Counted] = field(default_factory=dict)
    graph: Node | None = None
    part: int = 0

    def _note(self, item: Item, rows: int, seconds: float) -> None:
        """Add to the counts of an item. The steps of a path count as the path, with the rows of the last."""
        whole, is_last = self.wholes.get(item, (item, True))
        counted = self.counted.setdefault((self.graph, (self.part, whole)), _Counted())
        counted.add(rows if is_last else 0, seconds)

    def _counted(self, batch: Batch, pattern: Pattern) -> Batch | None:
        started = perf_counter()
        found = PatternJoin._counted(self, batch, pattern)
        if found is not None:
            self._note(pattern, found.size, perf_counter() - started)
        return found

    def _extended(self, batch: Batch, pattern: Pattern, limit: int) -> Iterable[Batch]:
        started = perf_counter()
        parts = PatternJoin._extended(self, batch, pattern, limit)
        found = self._parts_noted(parts, pattern, started)
        return list(found) if isinstance(parts, list) else found

    def _intersected(self, batch: Batch, item: Intersection, limit: int, is_counted: bool) -> Iterator[Batch]:
        parts = PatternJoin._intersected(self, batch, item, limit, is_counted)
        return self._parts_noted(parts, item, perf_counter())

    def _parts_noted(self, parts: Iterable[Batch], item: Item, started: float) -> Iterator[Batch]:
        self._note(item, 0, 0.0)
        for part in parts:
            self._note(item, part.size, perf_counter() - started)
            yield part
            started = perf_counter()
