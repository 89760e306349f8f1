"""Evaluation of SPARQL algebra, operator by operator, bottom up, on batches of bindings.

As the specification defines, both sides of an operator are evaluated independently and then joined. There are
two shortcuts with the same results: the join with a basic graph pattern starts from the rows of the other
side, and a pattern under a limit stops early. Evaluation starts from the *seed*: the bindings given with the
query, or within EXISTS the distinct rows to test, each with a row number. Invariant: every result has the
seed's columns, unless a subquery projects them away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from rdflib.paths import Path
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import QueryContext
from rdflib.term import BNode, Literal, Node, URIRef, Variable

from corollary.columns import TripleIndex
from corollary.columns.pairs import order_of
from corollary.execute.batches import Batch
from corollary.execute.filters import number_rows
from corollary.kernels.limits import current
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.sparql.aggregates import SET_AGGREGATES, aggregate
from corollary.sparql.dataset import QueryDataset
from corollary.sparql.expressions import Expressions, conjuncts, has_exists, mentioned
from corollary.sparql.paths import PathJoin
from corollary.sparql.patterns import Change, Pattern, PatternJoin
from corollary.sparql.query_terms import UNBOUND, QueryTerms, filled
from corollary.sparql.solutions import (
    distinct,
    groups,
    is_bound,
    join,
    projected,
    reduced,
    stacked,
    without,
)
from corollary.sparql.tuning import MAX_CHARACTERS_SHOWN

KEYWORDS = {
    "BGP": "pattern",
    "LeftJoin": "OPTIONAL",
    "Extend": "BIND",
    "ToMultiSet": "subquery or VALUES",
    "AggregateJoin": "GROUP BY",
    "Group": "GROUP BY",
    "OrderBy": "ORDER BY",
    "Project": "SELECT",
    "Slice": "LIMIT",
} | {name: name.upper() for name in ("Join", "Union", "Minus", "Graph", "Filter", "Distinct", "Reduced")}
"""The SPARQL keywords of algebra operators, for messages."""


class Numbers(dict[Node, int]):
    """The negative numbers of variables and blank nodes, assigned at the first look-up."""

    def __init__(self) -> None:
        super().__init__()
        self._next = count(1)

    def fresh(self) -> int:
        """An unused number."""
        return -next(self._next)

    def __missing__(self, term: Node) -> int:
        number = self[term] = self.fresh()
        return number


@dataclass(frozen=True)
class Scope:
    """The context of a pattern: the active graph, the seed, and the seed's columns of row numbers."""

    index: TripleIndex
    seed: Batch
    rows: frozenset[int] = frozenset()


class Operator:
    """The operator under evaluation, for messages."""

    __slots__ = ("part",)

    def __init__(self, part: CompValue) -> None:
        self.part = part

    def __str__(self) -> str:
        name = KEYWORDS.get(self.part.name, self.part.name)
        triples = " . ".join(" ".join(map(_text, triple)) for triple in self.part.triples or ())
        shown = triples if len(triples) <= MAX_CHARACTERS_SHOWN else f"{triples[:MAX_CHARACTERS_SHOWN]} ..."
        return f"{name} {{ {shown} }}" if shown else name


def _text(term: Any) -> str:
    return str(term.n3())


class Evaluator:
    """Evaluates one query over one dataset, by one method for each operator of the algebra.

    A result with at least ``need`` rows may be incomplete (None: complete).
    """

    def __init__(
        self,
        dataset: QueryDataset,
        terms: QueryTerms,
        context: QueryContext,
        silenced: Sequence[CompValue] = (),
    ) -> None:
        """The ``silenced`` SERVICE patterns are not called: each has one solution, which binds nothing."""
        self._silenced = silenced
        self.context = context
        self.terms = terms
        self.numbers = Numbers()
        self.expressions = Expressions(context, terms, self.numbers)
        self.dataset = dataset
        given = context.initBindings or {}
        self._given = {Variable(name): term for name, term in given.items()}
        columns = {self.numbers[v]: filled(1, terms.id_of(term)) for v, term in self._given.items()}
        self.start = Scope(dataset.default, Batch(1, columns))

    def solve(self, part: CompValue, need: int | None = None) -> Batch:
        """The solutions of a part of the algebra in the default graph."""
        return self._solve(part, self.start, need)

    def _solve(self, part: CompValue, scope: Scope, need: int | None = None) -> Batch:
        operator = getattr(self, f"_{part.name.lower()}", None)
        if operator is None:
            raise NotImplementedError(f"operator {part.name}")
        work = current()
        around, work.where = work.where, Operator(part)
        work.check()
        result: Batch = operator(part, scope, need)
        work.rows(result.size)
        work.check()
        work.where = around
        return result

    # Patterns

    def _servicegraphpattern(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        if not any(part is silenced for silenced in self._silenced):
            raise NotImplementedError("rdflib asks other services")
        return scope.seed

    def _bgp(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        return self._basic(part, scope, scope.seed, need)

    def _basic(
        self,
        part: CompValue,
        scope: Scope,
        start: Batch,
        need: int | None = None,
        early: Change = lambda batch: batch,
        finish: Change | None = None,
        wanted: Collection[Variable] | None = None,
    ) -> Batch:
        """A basic graph pattern joined with ``start``; ``early`` are the ``filters`` of ``PatternJoin``.

        With ``wanted``, the distinct values of these variables suffice.
        """
        patterns = self.patterns(part)
        unwanted = self.unwanted(patterns, wanted, start.columns)
        batch = self.pattern_join(scope, early, unwanted).solve(start, patterns, need, finish)
        blank = {self.numbers[term] for triple in part.triples for term in triple if isinstance(term, BNode)}
        return Batch(batch.size, {v: c for v, c in batch.columns.items() if v not in blank})

    def unwanted(
        self, patterns: list[Pattern], wanted: Collection[Variable] | None, bound: Collection[int]
    ) -> frozenset[int]:
        """The variables of one pattern whose values are not ``wanted`` (None: all are)."""
        if wanted is None:
            return frozenset()
        ends = Counter(end for pattern in patterns for end in (pattern.s, pattern.o) if end < 0)
        once = {end for end, times in ends.items() if times == 1}
        others = {pattern.p for pattern in patterns if not isinstance(pattern.p, Path)}
        asked = {self.numbers[variable] for variable in wanted}
        return frozenset(once - others - asked - set(bound))

    def patterns(self, part: CompValue) -> list[Pattern]:
        """The triple patterns of a basic graph pattern."""
        return [Pattern(self._term(s), self._predicate(p), self._term(o)) for s, p, o in part.triples]

    def pattern_join(self, scope: Scope, early: Change, unwanted: frozenset[int]) -> PatternJoin:
        """The join of a basic graph pattern. ``early`` and ``unwanted``: see ``PatternJoin``."""
        id_of = self.terms.id_of
        paths = PathJoin(scope.index, self.dataset.source.nodes, id_of, self.numbers.fresh)
        return PatternJoin(scope.index, paths, frozenset(scope.seed.columns), id_of, early, unwanted)

    def _term(self, term: Node) -> int:
        return self.numbers[term] if isinstance(term, Variable | BNode) else self.terms.id_of(term)

    def _predicate(self, term: Any) -> Any:
        return term if isinstance(term, Path) else self._term(term)

    def _join(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        first, second = part.p1, part.p2
        if first.name == "BGP":
            first, second = second, first
        left = self._solve(first, scope)
        if not left.size:
            return Batch.none()
        return self._joined(left, second, scope)

    def _joined(self, left: Batch, part: CompValue, scope: Scope) -> Batch:
        """Solutions joined with ``part``. A BGP starts from them, if all rows bind the shared variables."""
        if part.name == "BGP":
            common = [v for v in map(self.numbers.__getitem__, mentioned(part.triples)) if v in left.columns]
            complete = scope.seed.columns.keys() <= left.columns.keys()
            if common and complete and is_bound(left, common):
                return self._basic(part, scope, left)
        return join(left, self._solve(part, scope))

    def _leftjoin(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        left = self._solve(part.p1, scope, need)
        if not left.size:
            return left
        row = self.numbers.fresh()
        numbered = Batch(left.size, left.columns | {row: np.arange(left.size, dtype=np.uint32)})
        both = self._joined(numbered, part.p2, scope)
        if both.size:
            both = self._filtered(part.expr, both, scope)
        unmatched: Mask = np.ones(left.size, np.bool_)
        if both.size:
            unmatched[both.columns.pop(row)] = False
        return stacked((both, left.take(unmatched)))

    def _union(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        return stacked((self._solve(part.p1, scope, need), self._solve(part.p2, scope, need)))

    def _minus(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        left = self._solve(part.p1, scope)
        return without(left, self._solve(part.p2, scope), scope.rows) if left.size else left

    def _graph(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        term = self._given.get(part.term, part.term)
        if isinstance(term, Variable):
            return stacked([self._named(term, name, part.p, scope) for name in self._names(term, scope)])
        return self._solve(part.p, replace(scope, index=self.dataset.graph(term)), need)

    def _names(self, variable: Variable, scope: Scope) -> Iterable[Node]:
        column = scope.seed.columns.get(self.numbers[variable])
        if column is None:
            return self.dataset.graphs()
        return [self.terms[term_id] for term_id in sorted(set(column.tolist()))]

    def _named(self, variable: Variable, name: Node, part: CompValue, scope: Scope) -> Batch:
        number, name_id = self.numbers[variable], self.terms.id_of(name)
        batch = self._solve(part, replace(scope, index=self.dataset.graph(name)))
        column = batch.columns.get(number)
        if column is not None:
            batch = batch.take((column == name_id) | (column == UNBOUND))
        return Batch(batch.size, batch.columns | {number: filled(batch.size, name_id)})

    def _tomultiset(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        if isinstance(part.p, list):  # VALUES without a row
            return Batch.none()
        if part.p.name == "values":
            return join(scope.seed, self._table(part.p.res))
        return self._solve(part.p, self._inside(part.p, scope), need)

    def _inside(self, part: CompValue, scope: Scope) -> Scope:
        """A subquery's scope: of the seed, only variables that it projects or that the query was given."""
        while part.name != "Project":
            part = part.p
        seen = {self.numbers[v] for v in [*part.PV, *self._given]}
        return replace(scope, seed=projected(scope.seed, [v for v in scope.seed.columns if v in seen]))

    def _table(self, rows: list[dict[Variable, Any]]) -> Batch:
        columns: dict[int, Column] = {}
        for i, row in enumerate(rows):
            for variable, term in row.items():
                column = columns.setdefault(self.numbers[variable], filled(len(rows), UNBOUND))
                if isinstance(term, Node):
                    column[i] = self.terms.id_of(term)
        return Batch(len(rows), columns)

    # Expressions

    def _filter(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        inner = part.p
        if inner.name != "BGP":
            return self._filtered(part.expr, self._solve(inner, scope), scope)
        simple = [p for p in conjuncts(part.expr) if not has_exists(p) and mentioned(p)]

        def early(batch: Batch) -> Batch:
            for condition in simple:
                if all(self.numbers[v] in batch.columns for v in mentioned(condition)):
                    batch = self._filtered(condition, batch, scope)
            return batch

        def finish(batch: Batch) -> Batch:
            return self._filtered(part.expr, batch, scope)

        return self._basic(inner, scope, scope.seed, need, early, finish)

    def _filtered(self, expression: Any, batch: Batch, scope: Scope) -> Batch:
        if not batch.size:
            return batch
        true = self.expressions.true_rows(expression, batch, self._exists(scope))
        return batch if true.all() else batch.take(true)

    def _extend(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        batch = self._solve(part.p, scope, need)
        if not batch.size:
            return batch
        values = self.expressions.values(part.expr, batch, self._exists(scope))
        number = self.numbers[part.var]
        if number in batch.columns:
            values = np.where(values == UNBOUND, batch.columns[number], values)
        return Batch(batch.size, batch.columns | {number: values})

    def _exists(self, scope: Scope) -> Callable[[CompValue, Batch], Mask]:
        """A function that evaluates EXISTS in this scope, once for every distinct combination of values."""

        def exists(part: CompValue, batch: Batch) -> Mask:
            variables = [v for v in map(self.numbers.__getitem__, mentioned(part)) if v in batch.columns]
            first, numbers = number_rows(batch, variables)
            found: Mask = np.zeros(first.size, np.bool_)
            asked = projected(batch, variables).take(first)
            for rows, seed in groups(asked, variables):
                found[rows] = self._have_solutions(part, scope, seed)
            answers: Mask = found[numbers]
            return answers

        return exists

    def _have_solutions(self, part: CompValue, scope: Scope, seed: Batch) -> Mask:
        found: Mask = np.zeros(seed.size, np.bool_)
        if has_subquery(part):  # its aggregates and limits apply to each row separately
            for i in range(seed.size):
                own = replace(scope, seed=seed.take(np.array([i])), rows=frozenset())
                found[i] = self._solve(part, own, 1).size > 0
            return found
        row = self.numbers.fresh()
        columns = seed.columns | {row: np.arange(seed.size, dtype=np.uint32)}
        result = self._solve(part, Scope(scope.index, Batch(seed.size, columns), frozenset((row,))))
        if result.size:
            found[result.columns[row]] = True
        return found

    def _group(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        return self._solve(part.p, scope)

    def _aggregatejoin(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        count = self._count(part, scope)
        if count is not None:
            column = np.full(1, self.terms.id_of(Literal(count)), np.uint32)
            return Batch(1, {self.numbers[item.res]: column for item in part.A})
        inner, times = self._rows_to_group(part, scope)
        return aggregate(part, inner, times, self.expressions, self.terms, self.numbers, self._exists(scope))

    def _rows_to_group(self, part: CompValue, scope: Scope) -> tuple[Batch, Rows | None]:
        """The solutions of an aggregate's pattern, or some columns of them, and how many each row stands for.

        If all aggregates ignore duplicates, the distinct values of the variables asked for are enough. If a
        single triple pattern is counted in groups by one end, this end is enough.
        """
        pattern, asked = part.p.p, self.wanted(part, scope)
        if asked is None:
            return self._solve(part.p, scope), None
        inner = self._basic(pattern, scope, scope.seed, wanted=asked)
        counts = _plain_counts(part)
        end = self._counted_end(pattern, counts, asked) if counts else None
        if end is None:
            return inner, None
        s, p, _ = pattern.triples[0]
        relation = scope.index.relation(self.terms.id_of(p))
        times = relation.subject_counts if end == s else relation.object_counts
        return inner, times(inner.columns[self.numbers[end]]) if inner.size else None

    def wanted(self, part: CompValue, scope: Scope) -> set[Variable] | None:
        """The variables whose distinct values an aggregate needs; None if it needs all solutions."""
        pattern, keys = part.p.p, part.p.expr or []
        counts = _plain_counts(part)
        others = [item for item in part.A if item not in counts]
        arguments = [*keys, *(item.vars for item in others)]
        are_sets = all(item.name in SET_AGGREGATES and item.vars != "*" for item in others)
        if pattern.name != "BGP" or not are_sets or has_exists(arguments):
            return None
        asked = mentioned(arguments)
        is_found = not counts or (not scope.seed.columns and self._counted_end(pattern, counts, asked))
        return asked if is_found else None

    @staticmethod
    def _counted_end(pattern: CompValue, counts: list[CompValue], asked: set[Variable]) -> Node | None:
        """The only end asked for of a single triple pattern with two variables as ends, if it is counted."""
        if len(pattern.triples) != 1:
            return None
        s, p, o = pattern.triples[0]
        ends = [end for end in (s, o) if isinstance(end, Variable | BNode)]
        if len({*ends}) != 2 or not isinstance(p, URIRef):
            return None
        kept = [end for end in ends if end in asked]
        is_counted = all(item.vars == "*" or item.vars in ends for item in counts)
        return kept[0] if len(kept) == 1 and is_counted else None

    def _count(self, part: CompValue, scope: Scope) -> int | None:
        """The number of solutions of one triple pattern, if nothing else is asked for; none is listed."""
        pattern = part.p.p
        is_single = pattern.name == "BGP" and len(pattern.triples) == 1 and not scope.seed.columns
        if not is_single or part.p.expr is not None:
            return None
        s, p, o = pattern.triples[0]
        free = [term for term in (s, p, o) if isinstance(term, Variable | BNode)]
        is_open = p in free
        if isinstance(p, Path) or len({*free}) != len(free) or len(free) not in ((3,) if is_open else (1, 2)):
            return None
        asked = ("*", *(term for term in free if isinstance(term, Variable)))
        if any(i.name != "Aggregate_Count" or i.distinct or i.vars not in asked for i in part.A):
            return None
        if is_open:
            return scope.index.fact_count()
        relation = scope.index.relation(self.terms.id_of(p))
        if s in free and o in free:
            return len(relation)
        counts, end = (relation.object_counts, o) if s in free else (relation.subject_counts, s)
        return int(counts(np.array([self.terms.id_of(end)], np.uint32))[0])

    # Sequences of solutions

    def _orderby(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        batch = self._solve(part.p, scope)
        if batch.size < 2:
            return batch
        order = np.arange(batch.size)
        for condition in reversed(part.expr):
            ranks = self.expressions.ranks(condition.expr, batch, self._exists(scope))
            if condition.order == "DESC":
                ranks = -ranks
            order = order[order_of(ranks[order])]
        return batch.take(order)

    def _project(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        return projected(self._solve(part.p, scope, need), [self.numbers[v] for v in part.PV])

    def _distinct(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        inner = part.p
        if inner.name == "Project" and inner.p.name == "BGP":
            found = self._basic(inner.p, scope, scope.seed, wanted=inner.PV)
            batch = projected(found, [self.numbers[v] for v in inner.PV])
        else:
            batch = self._solve(inner, scope)
        return distinct(batch) if batch.size > 1 else batch

    def _reduced(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        batch = self._solve(part.p, scope)
        return reduced(batch) if batch.size > 1 else batch

    def _slice(self, part: CompValue, scope: Scope, need: int | None) -> Batch:
        start, length = part.start, part.length
        end = None if length is None else start + length
        batch = self._solve(part.p, scope, end)
        return batch.take(np.arange(batch.size)[start:end])


def _plain_counts(part: CompValue) -> list[CompValue]:
    """The aggregates of a group that count solutions."""
    return [item for item in part.A if item.name == "Aggregate_Count" and not item.distinct]


def has_subquery(part: Any) -> bool:
    """Whether a pattern contains a subquery."""
    if isinstance(part, CompValue):
        if part.name == "Project":
            return True
        return any(has_subquery(inner) for inner in part.values())
    return isinstance(part, list) and any(has_subquery(inner) for inner in part)
