"""Evaluation of SPARQL algebra, operator by operator, bottom up, on batches of bindings.

As the specification defines, both sides of an operator are evaluated independently and then joined. There are
shortcuts with the same results: the join with a basic graph pattern starts from the rows of the other side, a
pattern under a limit stops early, operators under a limit try the first rows of their input, and solutions
that are only counted, or of which distinct values suffice, are not listed. Evaluation starts from the *seed*:
the bindings given with the query, or within EXISTS the distinct rows to test, each with a row number.
Invariant: a result has the seed's columns, unless it is empty, or a projection or an aggregate has removed
them.

Here are the order of evaluation, batch by batch, and operators without a module of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain as end_to_end

import numpy as np
from rdflib.term import Node, Variable

from corollary.columns.key_sort import order_of
from corollary.execute.batches import Batch, filled
from corollary.kernels.limits import at, check, current
from corollary.sparql import basic_patterns, solution_joins
from corollary.sparql.algebra import (
    Distinct,
    Extend,
    Filter,
    Group,
    InGraph,
    Join,
    LeftJoin,
    Minus,
    Operator,
    OrderBy,
    Project,
    Reduced,
    Service,
    Slice,
    Subquery,
    Triples,
    Union,
    Values,
)
from corollary.sparql.evaluation_order import chain, stops_early
from corollary.sparql.operator_places import Place
from corollary.sparql.query_evaluation import Evaluation, Scope
from corollary.sparql.scopes import possible
from corollary.sparql.solution_conditions import exists_in, extended, filtered
from corollary.sparql.solution_joins import joining, left_joining, subtracting
from corollary.sparql.solutions import (
    Change,
    Parts,
    collected,
    counted_rows,
    distinct,
    gathered,
    join,
    piped,
    projected,
    reduced,
    stacked,
)
from corollary.sparql.spines import Step
from corollary.sparql.tuning import ROWS_BEFORE_ALL, ROWS_PER_CHUNK, ROWS_PER_LIMITED_CHUNK
from corollary.sparql.written_literals import UNBOUND


class Evaluator(Evaluation):
    """Evaluates one query over one dataset, by one function for each operator of the algebra.

    A result with at least ``need`` rows may be incomplete (None: complete).
    """

    def solve(self, part: Operator, need: int | None = None) -> Batch:
        """The solutions of a part of the algebra in the default graph."""
        return self.solutions(part, self.start, need)

    def solutions(self, part: Operator, scope: Scope, need: int | None = None) -> Batch:
        """See ``Evaluation``; from the first rows of the leaf if ``need`` are enough."""
        leaf, steps = chain(self, part)
        if not steps:
            return self._alone(leaf, scope, need)
        work = current()
        around = work.where
        for step, _ in steps:
            if type(step) not in _KEEPING_ROWS:
                break
        else:  # all rows of the leaf
            found = self._alone(leaf, scope, need)
            for step, _ in steps if found.size else ():
                work.where = Place(step)
                found = self._changed(step, found, scope)
            work.where = around
            return found
        if need is None:
            found = collected(piped(self._leaf_parts(leaf, scope), self.changes(steps, scope)))
        else:
            found = self._enough(leaf, steps, scope, need)
        work.where = around
        return found

    def _alone(self, part: Operator, scope: Scope, need: int | None = None) -> Batch:
        """The solutions of an operator that is no step."""
        work = current()
        around, work.where = work.where, Place(part)
        work.check()
        result: Batch = _OPERATORS[type(part)](self, part, scope, need)
        work.rows(result.size)
        work.check()
        work.where = around
        return result

    def _enough(self, leaf: Operator, steps: list[Step], scope: Scope, need: int) -> Batch:
        """A result with ``need`` rows, found from the first rows of ``leaf``, or from all of them."""
        changes = self._uncounted(steps, scope, ROWS_PER_LIMITED_CHUNK)
        keeps_rows = all(isinstance(step, LeftJoin | Extend | Project) for step, _ in steps)
        sizes = (need,) if keeps_rows else ROWS_BEFORE_ALL if stops_early(self, leaf) else ()
        for most in sizes:
            if most >= need:
                some = self._alone(leaf, scope, most)
                found = collected(piped([some], self._counted(steps, changes)), need)
                if some.size < most or found.size >= need:
                    return found
        return collected(piped(self._leaf_parts(leaf, scope), self._counted(steps, changes)), need)

    def parts(
        self,
        part: Operator,
        scope: Scope,
        wanted: Collection[Variable] | None = None,
        is_counted: bool = False,
    ) -> Iterator[Batch]:
        """See ``Evaluation``."""
        leaf, steps = chain(self, part)
        if not steps:
            return iter(self._leaf_parts(leaf, scope, wanted, is_counted))
        changes = self.changes(steps, scope, is_counted=is_counted)
        return piped(self._leaf_parts(leaf, scope), changes)

    def _leaf_parts(
        self,
        leaf: Operator,
        scope: Scope,
        wanted: Collection[Variable] | None = None,
        is_counted: bool = False,
    ) -> Parts:
        """As ``parts``, of an operator that is no step."""
        match leaf:
            case Triples() | Filter():
                at(Place(leaf))
                return self.pattern_parts(leaf, scope, scope.seed, ROWS_PER_CHUNK, wanted, is_counted)
            case Union():
                found = (self.parts(branch, scope, wanted, is_counted) for branch in leaf.branches)
                every: Iterator[Batch] = end_to_end.from_iterable(found)
                return every if is_counted else gathered(every, ROWS_PER_CHUNK)
            case Subquery() if isinstance(leaf.inner, Project):
                return self.parts(leaf.inner, self.inside(leaf.inner, scope))
        return [self._alone(leaf, scope)]

    def changes(
        self, steps: list[Step], scope: Scope, limit: int | None = None, is_counted: bool = False
    ) -> list[Change]:
        """What the steps make of a batch, in batches of some ``limit`` rows."""
        return self._counted(steps, self._uncounted(steps, scope, limit, is_counted))

    def _uncounted(
        self, steps: list[Step], scope: Scope, limit: int | None = None, is_counted: bool = False
    ) -> list[Change]:
        """As ``changes``, whose rows do not count against the limit."""
        most = ROWS_PER_CHUNK if limit is None else limit
        last = len(steps) - 1
        return [
            self._change(step, operand, scope, most, is_counted and i == last)
            for i, (step, operand) in enumerate(steps)
        ]

    def _counted(self, steps: list[Step], changes: list[Change]) -> list[Change]:
        """The changes, with their rows counted from none on."""
        return [self._reported(step, change) for (step, _), change in zip(steps, changes, strict=True)]

    def _reported(self, step: Operator, change: Change) -> Change:
        """A change that says where it is, and counts its rows against the limit."""
        place, size = Place(step), 0

        def counted(batch: Batch) -> Batch:
            nonlocal size
            size += batch.size
            current().rows(size)
            return batch

        def reported(batch: Batch) -> Parts:
            at(place)
            found = change(batch)
            return [counted(part) for part in found] if isinstance(found, list) else map(counted, found)

        return reported

    def _change(
        self, step: Operator, operand: Operator | None, scope: Scope, limit: int, is_counted: bool
    ) -> Change:
        match step:
            case Join():
                assert operand is not None
                return joining(self, operand, scope, limit, is_counted)
            case LeftJoin():
                return left_joining(self, step, scope, limit, is_counted)
            case Minus():
                return subtracting(self, step, scope)
            case Filter():
                return lambda batch: [filtered(self, step.condition, batch, scope)]
        return lambda batch: [self._with_other_columns(step, batch, scope)]

    def _changed(self, step: Operator, batch: Batch, scope: Scope) -> Batch:
        """What a step that keeps all rows makes of all solutions of its input."""
        if type(step) is not Project:
            check()
        return self._with_other_columns(step, batch, scope)

    def _with_other_columns(self, step: Operator, batch: Batch, scope: Scope) -> Batch:
        """What BIND or a projection makes of a batch: the same rows."""
        if isinstance(step, Project):
            return projected(batch, map(self.numbers.__getitem__, step.variables))
        assert isinstance(step, Extend)
        return extended(self, step, batch, scope)

    # Operators that are no steps

    def _service(self, part: Service, scope: Scope, need: int | None) -> Batch:
        if part not in self.silenced:
            raise NotImplementedError("rdflib asks other services")
        return scope.seed

    def _triples(self, part: Triples | Filter, scope: Scope, need: int | None) -> Batch:
        limit = ROWS_PER_CHUNK if need is None else ROWS_PER_LIMITED_CHUNK
        return collected(self.pattern_parts(part, scope, scope.seed, limit, is_kept=need is None), need)

    def _union(self, part: Union, scope: Scope, need: int | None) -> Batch:
        found, size = [], 0
        for branch in part.branches:
            found.append(self.solutions(branch, scope, None if need is None else need - size))
            size += found[-1].size
            current().rows(size)
            if need is not None and size >= need:
                break
        return stacked(found)

    def _in_graph(self, part: InGraph, scope: Scope, need: int | None) -> Batch:
        term = self.given.get(part.name, part.name) if isinstance(part.name, Variable) else part.name
        if isinstance(term, Variable):
            found, size = [], 0
            for name in self._names(term, scope):
                found.append(self._named(term, name, part.inner, scope, need))
                size += found[-1].size
                if need is not None and size >= need:
                    break
            return stacked(found)
        return self.solutions(part.inner, replace(scope, index=self.dataset.graph(term)), need)

    def _names(self, variable: Variable, scope: Scope) -> Iterable[Node]:
        column = scope.seed.columns.get(self.numbers[variable])
        if column is None:
            return self.dataset.graphs()
        return [self.terms[term_id] for term_id in sorted(set(column.tolist()))]

    def _named(self, variable: Variable, name: Node, part: Operator, scope: Scope, need: int | None) -> Batch:
        number, name_id = self.numbers[variable], self.terms.id_of(name)
        if variable in possible(part) or number in scope.seed.columns:
            need = None  # rows with other values are left out
        batch = self.solutions(part, replace(scope, index=self.dataset.graph(name)), need)
        column = batch.columns.get(number)
        if column is not None:
            batch = batch.take((column == name_id) | (column == UNBOUND))
        return Batch(batch.size, batch.columns | {number: filled(batch.size, name_id)})

    def _values(self, part: Values, scope: Scope, need: int | None) -> Batch:
        return join(scope.seed, self._table(part))

    def _table(self, part: Values) -> Batch:
        columns = {self.numbers[variable]: filled(len(part.rows), UNBOUND) for variable in part.variables}
        for i, row in enumerate(part.rows):
            for column, term in zip(columns.values(), row, strict=True):
                if term is not None:
                    column[i] = self.terms.id_of(term)
        return Batch(len(part.rows), columns)

    def _subquery(self, part: Subquery, scope: Scope, need: int | None) -> Batch:
        return self.solutions(part.inner, self.inside(part.inner, scope), need)

    def inside(self, part: Operator, scope: Scope) -> Scope:
        """A subquery's scope: of the seed, only variables that it projects or that the query was given."""
        while not isinstance(part, Project):
            assert isinstance(part, Slice | Distinct | Reduced)
            part = part.inner
        seen = {self.numbers[v] for v in [*part.variables, *self.given]}
        return replace(scope, seed=projected(scope.seed, [v for v in scope.seed.columns if v in seen]))

    def _grouped(self, part: Group, scope: Scope, need: int | None) -> Batch:
        from corollary.sparql.grouped_solutions import grouped  # not for the first small query

        return grouped(self, part, scope)

    def _order_by(self, part: OrderBy, scope: Scope, need: int | None) -> Batch:
        batch = self.solutions(part.inner, scope)
        if batch.size < 2:
            return batch
        order = np.arange(batch.size)
        for condition in reversed(part.conditions):
            ranks = self.expressions.ranks(condition.value, batch, exists_in(self, scope))
            if condition.is_descending:
                ranks = -ranks
            order = order[order_of(ranks[order])]
        return batch.take(order)

    def _distinct(self, part: Distinct, scope: Scope, need: int | None) -> Batch:
        """Every distinct solution once."""
        inner = part.inner
        pattern = inner.inner if isinstance(inner, Project) else None

        def find(most: int | None) -> Batch:
            wanted = inner.variables if isinstance(inner, Project) else None
            if most is None:
                return counted_rows(self._asked(inner, scope, wanted), ROWS_PER_CHUNK)[0]
            if wanted is None or not isinstance(pattern, Triples):
                return self.solutions(inner, scope, most)
            rows = self.pattern_parts(pattern, scope, scope.seed, ROWS_PER_LIMITED_CHUNK, wanted)
            return projected(collected(rows, most), [self.numbers[v] for v in wanted])

        return self._first(need, inner, find, distinct)

    def _asked(self, part: Operator, scope: Scope, wanted: Collection[Variable] | None) -> Iterator[Batch]:
        """The solutions of a part, in batches; of a projected basic graph pattern, some of each value."""
        if wanted is None or not isinstance(part, Project) or not isinstance(part.inner, Triples):
            return self.parts(part, scope)
        columns = [self.numbers[v] for v in wanted]
        return (projected(batch, columns) for batch in self.parts(part.inner, scope, wanted))

    def _reduced(self, part: Reduced, scope: Scope, need: int | None) -> Batch:
        return self._first(need, part.inner, partial(self.solutions, part.inner, scope), reduced)

    def _first(
        self,
        need: int | None,
        part: Operator,
        find: Callable[[int | None], Batch],
        change: Callable[[Batch], Batch],
    ) -> Batch:
        """What a change leaves of all rows of a part; with ``need``, of some rows if that is enough."""
        for most in ROWS_BEFORE_ALL if need is not None and stops_early(self, part) else ():
            if need is not None and most >= need:
                rows = find(most)
                found = change(rows)
                if rows.size < most or found.size >= need:
                    return found
        return change(find(None))

    def _slice(self, part: Slice, scope: Scope, need: int | None) -> Batch:
        start = part.offset
        end = None if part.limit is None else start + part.limit
        batch = self.solutions(part.inner, scope, end)
        return batch.take(np.arange(batch.size)[start:end])

    pattern_parts = basic_patterns.pattern_parts
    beside = solution_joins.beside


_KEEPING_ROWS = frozenset((Extend, Project))
"""Steps that keep all rows, each once."""

_OPERATORS: dict[type[Operator], Callable[..., Batch]] = {
    Triples: Evaluator._triples,
    Union: Evaluator._union,
    Filter: Evaluator._triples,
    InGraph: Evaluator._in_graph,
    Service: Evaluator._service,
    Values: Evaluator._values,
    Subquery: Evaluator._subquery,
    Group: Evaluator._grouped,
    OrderBy: Evaluator._order_by,
    Distinct: Evaluator._distinct,
    Reduced: Evaluator._reduced,
    Slice: Evaluator._slice,
}
