"""Evaluation of SPARQL algebra, operator by operator, bottom up, on batches of bindings.

As the specification defines, both sides of an operator are evaluated independently and then joined. There are
shortcuts with the same results: the join with a basic graph pattern starts from the rows of the other side, a
pattern under a limit stops early, operators under a limit try the first rows of their input, and solutions
that are only counted, or of which distinct values suffice, are not listed. Evaluation starts from the *seed*:
the bindings given with the query, or within EXISTS the distinct rows to test, each with a row number.
Invariant: a result has the seed's columns, unless it is empty, or a projection or an aggregate has removed
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count
from typing import Any

import numpy as np
from rdflib.paths import Path
from rdflib.term import BNode, Literal, Node, URIRef, Variable

from corollary.columns import TripleIndex
from corollary.columns.key_sort import order_of
from corollary.execute.batches import Batch, filled, product
from corollary.execute.filters import number_rows
from corollary.kernels.limits import current
from corollary.kernels.sorted import Mask, Rows
from corollary.kernels.threads import apart
from corollary.sparql.aggregates import SET_AGGREGATES, aggregate
from corollary.sparql.algebra import (
    Aggregate,
    Distinct,
    Expression,
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
    Query,
    Reduced,
    Service,
    Slice,
    Subquery,
    Triples,
    Union,
    Values,
    conjuncts,
    has_exists,
    has_subquery,
    mentioned,
)
from corollary.sparql.dataset import QueryDataset
from corollary.sparql.expressions import Expressions
from corollary.sparql.intersections import JoinPlan
from corollary.sparql.paths import PathJoin
from corollary.sparql.pattern_costs import Pattern, PatternCosts
from corollary.sparql.patterns import Change, PatternJoin
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.scopes import possible
from corollary.sparql.solutions import (
    distinct,
    groups,
    is_bound,
    join,
    projected,
    reduced,
    stacked,
    with_matches,
    without,
)
from corollary.sparql.term_evaluation import Environment, is_volatile
from corollary.sparql.tuning import MAX_CHARACTERS_SHOWN, ROWS_BEFORE_ALL
from corollary.sparql.written_literals import UNBOUND

KEYWORDS: dict[type[Operator], str] = {
    Triples: "pattern",
    Join: "JOIN",
    LeftJoin: "OPTIONAL",
    Union: "UNION",
    Minus: "MINUS",
    Filter: "FILTER",
    InGraph: "GRAPH",
    Service: "SERVICE",
    Extend: "BIND",
    Values: "VALUES",
    Subquery: "subquery",
    Group: "GROUP BY",
    OrderBy: "ORDER BY",
    Project: "SELECT",
    Distinct: "DISTINCT",
    Reduced: "REDUCED",
    Slice: "LIMIT",
}
"""The SPARQL keywords of algebra operators, for messages."""


_VARIABLES = (Variable, BNode)


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


class Place:
    """The operator under evaluation, for messages."""

    __slots__ = ("part",)

    def __init__(self, part: Operator) -> None:
        self.part = part

    def __str__(self) -> str:
        name = KEYWORDS[type(self.part)]
        listed = self.part.triples if isinstance(self.part, Triples) else ()
        triples = " . ".join(" ".join(map(_text, triple)) for triple in listed)
        shown = triples if len(triples) <= MAX_CHARACTERS_SHOWN else f"{triples[:MAX_CHARACTERS_SHOWN]} ..."
        return f"{name} {{ {shown} }}" if shown else name


def _unchanged(batch: Batch) -> Batch:
    return batch


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
        given: Mapping[Variable, Node],
        query: Query,
        silenced: Sequence[Service] = (),
    ) -> None:
        """``given`` are the bindings of the query.

        The ``silenced`` SERVICE patterns are not called: each has one solution, which binds nothing.
        """
        self._silenced = silenced
        self.terms = terms
        self.numbers = Numbers()
        environment = Environment(query.base, dataset.source.functions)
        self.expressions = Expressions(environment, given, terms, self.numbers)
        self.dataset = dataset
        self.given = given
        self._constants: Mapping[Any, Node] = given if query.takes_constants else {}
        seed = {} if query.takes_constants else given
        columns = {self.numbers[v]: filled(1, terms.id_of(term)) for v, term in seed.items()}
        self.start = Scope(dataset.default, Batch(1, columns))

    def solve(self, part: Operator, need: int | None = None) -> Batch:
        """The solutions of a part of the algebra in the default graph."""
        return self._solve(part, self.start, need)

    def _solve(self, part: Operator, scope: Scope, need: int | None = None) -> Batch:
        work = current()
        around, work.where = work.where, Place(part)
        work.check()
        result: Batch = _OPERATORS[type(part)](self, part, scope, need)
        work.rows(result.size)
        work.check()
        work.where = around
        return result

    # Patterns

    def _service(self, part: Service, scope: Scope, need: int | None) -> Batch:
        if part not in self._silenced:
            raise NotImplementedError("rdflib asks other services")
        return scope.seed

    def _triples(self, part: Triples, scope: Scope, need: int | None) -> Batch:
        return self._basic(part, scope, scope.seed, need)

    def _basic(
        self,
        part: Triples,
        scope: Scope,
        start: Batch,
        need: int | None = None,
        early: Change = _unchanged,
        finish: Change | None = None,
        wanted: Collection[Variable] | None = None,
    ) -> Batch:
        """A basic graph pattern joined with ``start``; ``early`` are the ``filters`` of ``PatternJoin``.

        With ``wanted``, the distinct values of these variables suffice.
        """
        patterns = self.patterns(part)
        unwanted = self.unwanted(patterns, wanted, start.columns)
        batch = self.pattern_join(part, scope, early, unwanted).solve(start, patterns, need, finish)
        blank = {self.numbers[term] for triple in part.triples for term in triple if type(term) is BNode}
        if not blank:
            return batch
        return Batch(batch.size, {v: c for v, c in batch.columns.items() if v not in blank})

    def unwanted(
        self, patterns: list[Pattern], wanted: Collection[Variable] | None, bound: Collection[int]
    ) -> frozenset[int]:
        """The variables of one pattern whose values are not ``wanted`` (None: all are)."""
        if wanted is None:
            return frozenset()
        ends = Counter(end for pattern in patterns for end in (pattern.s, pattern.o) if end < 0)
        once = {end for end, times in ends.items() if times == 1}
        others = {pattern.p for pattern in patterns if type(pattern.p) is int}
        asked = {self.numbers[variable] for variable in wanted}
        return frozenset(once - others - asked - set(bound))

    def patterns(self, part: Triples) -> list[Pattern]:
        """The triple patterns of a basic graph pattern."""
        return [Pattern.of(self._term(s), self._predicate(p), self._term(o)) for s, p, o in part.triples]

    def pattern_join(
        self, part: Triples, scope: Scope, early: Change, unwanted: frozenset[int]
    ) -> PatternJoin:
        """The join of a basic graph pattern. ``early`` and ``unwanted``: see ``PatternJoin``."""
        id_of = self.terms.id_of
        paths = PathJoin(scope.index, self.dataset.source.nodes, id_of, self.numbers.fresh)
        is_lasting = self.dataset.named is None and scope.index is self.dataset.default
        orders = self.dataset.source.known.setdefault(JoinPlan, {}) if is_lasting else {}
        costs = PatternCosts(scope.index, frozenset(scope.seed.columns), id_of, unwanted, orders)
        return PatternJoin(costs, paths, early)

    def _term(self, term: Node) -> int:
        if type(term) is URIRef or not isinstance(term, _VARIABLES):
            return self.terms.id_of(term)
        constant = self._constants.get(term) if self._constants else None
        return self.numbers[term] if constant is None else self.terms.id_of(constant)

    def _predicate(self, term: Any) -> Any:
        return self._term(term) if type(term) is URIRef or not isinstance(term, Path) else term

    def pattern_of(self, part: Operator) -> Triples | None:
        """The basic graph pattern that may start from other solutions: alone, or with a condition on it only.

        { ?x :p ?y FILTER(?y > 1) }: ?x :p ?y     { ?x :p ?y FILTER(?z > 1) }: None, the group has no ?z
        """
        if isinstance(part, Triples):
            return part
        if not isinstance(part, Filter) or not isinstance(part.inner, Triples):
            return None
        condition, pattern = part.condition, part.inner
        is_own = mentioned(condition) <= mentioned(pattern) and not has_exists(condition)
        is_repeatable = is_own and not is_volatile(condition, self.dataset.source.functions)
        return pattern if is_repeatable else None

    def _join(self, part: Join, scope: Scope, need: int | None) -> Batch:
        first, second = self.sides(part)
        other = cache(partial(self._solve, second, scope))

        def find(most: int | None) -> tuple[int, Batch]:
            left = self._solve(first, scope, most)
            return left.size, self._joined(left, second, scope, other, need)

        return self._enough(need, first, find)

    def sides(self, part: Join) -> tuple[Operator, Operator]:
        """The operands of a join, the one that is evaluated first before the other."""
        if self.pattern_of(part.left) is not None:
            return part.right, part.left
        return part.left, part.right

    def _enough(
        self, need: int | None, part: Operator, find: Callable[[int | None], tuple[int, Batch]]
    ) -> Batch:
        """A result with ``need`` rows, found from the first rows of ``part``, or from all of them.

        ``find`` receives a number of rows of ``part``, and returns how many these are, and the result.
        """
        if need is not None and self._stops_early(part):
            for most in ROWS_BEFORE_ALL:
                if most >= need:
                    size, batch = find(most)
                    if size < most or batch.size >= need:
                        return batch
        return find(None)[1]

    def _stops_early(self, part: Operator) -> bool:
        """Whether some rows of a part cost less than all of them."""
        match part:
            case Triples() | InGraph():
                return True
            case Filter() | Extend() | Project() | Subquery() | Slice() | Distinct() | Reduced():
                return self._stops_early(part.inner)
            case LeftJoin() | Minus():
                return self._stops_early(part.left)
            case Join():
                first, _ = self.sides(part)
                return isinstance(first, Values) or self._stops_early(first)
            case Union():
                return self._stops_early(part.left) and self._stops_early(part.right)
        return False

    def _joined(
        self,
        left: Batch,
        part: Operator,
        scope: Scope,
        other: Callable[[], Batch],
        need: int | None = None,
    ) -> Batch:
        """Solutions joined with ``part``, whose solutions are ``other()``.

        A BGP starts from them if all rows bind its shared variables.
        """
        if not left.size:
            return Batch.none()
        pattern = self.pattern_of(part)
        if pattern is not None:
            names = mentioned(pattern)
            common = [v for v in map(self.numbers.__getitem__, names) if v in left.columns]
            complete = scope.seed.columns.keys() <= left.columns.keys()
            if common and complete and is_bound(left, common):
                return self._continued(left, part, scope, need)
        return join(left, other())

    def _continued(self, left: Batch, part: Operator, scope: Scope, need: int | None) -> Batch:
        """Solutions extended by a basic graph pattern and its condition."""
        if isinstance(part, Filter):
            return self._filtered_pattern(part, scope, left, need)
        assert isinstance(part, Triples)
        return self._basic(part, scope, left, need)

    def _left_join(self, part: LeftJoin, scope: Scope, need: int | None) -> Batch:
        left = self._solve(part.left, scope, need)
        if not left.size:
            return left
        beside = self._beside(left, part.right, scope) if part.condition is None else None
        if beside is not None:
            return beside
        row = self.numbers.fresh()
        numbered = Batch(left.size, left.columns | {row: np.arange(left.size, dtype=np.uint32)})
        both = self._joined(numbered, part.right, scope, partial(self._solve, part.right, scope))
        if part.condition is not None:
            both = self._filtered(part.condition, both, scope)
        if not both.size:
            return left
        unmatched: Mask = np.ones(left.size, np.bool_)
        matched = both.columns.pop(row)
        apart(matched.size, partial(unmatched.__setitem__, matched, False))
        return stacked((both, left.take(unmatched))) if unmatched.any() else both

    def _beside(self, left: Batch, part: Operator, scope: Scope) -> Batch | None:
        """The left join with one triple pattern, with one end that is known and one new variable.

        None for other patterns, and if the known end is unbound in some rows. Cost: a search for each row;
        the columns are copied only if a row has several matches.
        """
        if not isinstance(part, Triples) or len(part.triples) != 1:
            return None
        (pattern,) = self.patterns(part)
        known, free = (pattern.s, pattern.o) if left.knows(pattern.s) else (pattern.o, pattern.s)
        is_look_up = type(pattern.p) is int and pattern.p >= 0 and left.knows(known) and not left.knows(free)
        is_kept = BNode not in map(type, part.triples[0]) and scope.seed.columns.keys() <= left.columns.keys()
        if not is_look_up or not is_kept or (known < 0 and (left.columns[known] == UNBOUND).any()):
            return None
        relation = scope.index.relation(pattern.p)
        if known >= 0:
            is_subject = known == pattern.s
            values = relation.column_of_objects(known) if is_subject else relation.column_of_subjects(known)
            return product(left, Batch(values.size, {free: values})) if values.size else left
        matches_of = relation.objects_of if known == pattern.s else relation.subjects_of
        return with_matches(left, free, *matches_of(left.columns[known]))

    def _union(self, part: Union, scope: Scope, need: int | None) -> Batch:
        left = self._solve(part.left, scope, need)
        if need is not None and left.size >= need:
            return left
        return stacked((left, self._solve(part.right, scope, None if need is None else need - left.size)))

    def _minus(self, part: Minus, scope: Scope, need: int | None) -> Batch:
        other = cache(partial(self._solve, part.right, scope))

        def find(most: int | None) -> tuple[int, Batch]:
            left = self._solve(part.left, scope, most)
            return left.size, without(left, other(), scope.rows) if left.size else left

        return self._enough(need, part.left, find)

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
        return self._solve(part.inner, replace(scope, index=self.dataset.graph(term)), need)

    def _names(self, variable: Variable, scope: Scope) -> Iterable[Node]:
        column = scope.seed.columns.get(self.numbers[variable])
        if column is None:
            return self.dataset.graphs()
        return [self.terms[term_id] for term_id in sorted(set(column.tolist()))]

    def _named(self, variable: Variable, name: Node, part: Operator, scope: Scope, need: int | None) -> Batch:
        number, name_id = self.numbers[variable], self.terms.id_of(name)
        if variable in possible(part) or number in scope.seed.columns:
            need = None  # rows with other values are left out
        batch = self._solve(part, replace(scope, index=self.dataset.graph(name)), need)
        column = batch.columns.get(number)
        if column is not None:
            batch = batch.take((column == name_id) | (column == UNBOUND))
        return Batch(batch.size, batch.columns | {number: filled(batch.size, name_id)})

    def _values(self, part: Values, scope: Scope, need: int | None) -> Batch:
        return join(scope.seed, self._table(part))

    def _subquery(self, part: Subquery, scope: Scope, need: int | None) -> Batch:
        return self._solve(part.inner, self.inside(part.inner, scope), need)

    def inside(self, part: Operator, scope: Scope) -> Scope:
        """A subquery's scope: of the seed, only variables that it projects or that the query was given."""
        while not isinstance(part, Project):
            assert isinstance(part, Slice | Distinct | Reduced)
            part = part.inner
        seen = {self.numbers[v] for v in [*part.variables, *self.given]}
        return replace(scope, seed=projected(scope.seed, [v for v in scope.seed.columns if v in seen]))

    def _table(self, part: Values) -> Batch:
        columns = {self.numbers[variable]: filled(len(part.rows), UNBOUND) for variable in part.variables}
        for i, row in enumerate(part.rows):
            for column, term in zip(columns.values(), row, strict=True):
                if term is not None:
                    column[i] = self.terms.id_of(term)
        return Batch(len(part.rows), columns)

    # Expressions

    def _filter(self, part: Filter, scope: Scope, need: int | None) -> Batch:
        if isinstance(part.inner, Triples):
            return self._filtered_pattern(part, scope, scope.seed, need)

        def find(most: int | None) -> tuple[int, Batch]:
            inner = self._solve(part.inner, scope, most)
            return inner.size, self._filtered(part.condition, inner, scope)

        return self._enough(need, part.inner, find)

    def _filtered_pattern(self, part: Filter, scope: Scope, start: Batch, need: int | None = None) -> Batch:
        """A basic graph pattern joined with ``start``; each condition is applied as soon as it can be."""
        early, finish = self._conditions(part, scope)
        assert isinstance(part.inner, Triples)
        return self._basic(part.inner, scope, start, need, early, finish)

    def _conditions(self, part: Filter, scope: Scope) -> tuple[Change, Change]:
        """Two changes of batches: by conjuncts whose variables have columns, and by the whole condition.

        The first evaluates no conjunct that may differ the second time, such as ``RAND() < ?y``.
        """
        functions = self.dataset.source.functions

        def early(batch: Batch) -> Batch:
            for condition in conjuncts(part.condition):
                read = mentioned(condition)
                is_simple = read and not has_exists(condition) and not is_volatile(condition, functions)
                if is_simple and all(self.numbers[v] in batch.columns for v in read):
                    batch = self._filtered(condition, batch, scope)
            return batch

        def finish(batch: Batch) -> Batch:
            return self._filtered(part.condition, batch, scope)

        return early, finish

    def _filtered(self, expression: Expression, batch: Batch, scope: Scope) -> Batch:
        if not batch.size:
            return batch
        true = self.expressions.true_rows(expression, batch, self._exists(scope))
        return batch if true.all() else batch.take(true)

    def _extend(self, part: Extend, scope: Scope, need: int | None) -> Batch:
        batch = self._solve(part.inner, scope, need)
        if not batch.size:
            return batch
        values = self.expressions.values(part.value, batch, self._exists(scope))
        number = self.numbers[part.variable]
        if number in batch.columns:
            values = np.where(values == UNBOUND, batch.columns[number], values)
        return Batch(batch.size, batch.columns | {number: values})

    def _exists(self, scope: Scope) -> Callable[[Operator, Batch], Mask]:
        """A function that evaluates EXISTS in this scope, once for every distinct combination of values."""

        def exists(part: Operator, batch: Batch) -> Mask:
            variables = [v for v in map(self.numbers.__getitem__, mentioned(part)) if v in batch.columns]
            first, numbers = number_rows(batch, variables)
            found: Mask = np.zeros(first.size, np.bool_)
            asked = projected(batch, variables).take(first)
            for rows, seed in groups(asked, variables):
                found[rows] = self._have_solutions(part, scope, seed)
            answers: Mask = found[numbers]
            return answers

        return exists

    def _have_solutions(self, part: Operator, scope: Scope, seed: Batch) -> Mask:
        """For each row of the seed, whether a pattern has a solution: row by row if it has a subquery."""
        found: Mask = np.zeros(seed.size, np.bool_)
        if has_subquery(part):  # its aggregates and limits apply to each row separately
            for i in range(seed.size):
                own = replace(scope, seed=seed.take(np.array([i])), rows=frozenset())
                found[i] = self._solve(part, own, 1).size > 0
            return found
        row = self.numbers.fresh()
        columns = seed.columns | {row: np.arange(seed.size, dtype=np.uint32)}
        inside = Scope(scope.index, Batch(seed.size, columns), frozenset((row,)))
        if isinstance(part, Triples):  # only the rows are asked for
            result = self._basic(part, inside, inside.seed, wanted=())
        else:
            result = self._solve(part, inside)
        if result.size:
            found[result.columns[row]] = True
        return found

    def _group(self, part: Group, scope: Scope, need: int | None) -> Batch:
        count = self._count(part, scope)
        if count is not None:
            column = np.full(1, self.terms.id_of(Literal(count)), np.uint32)
            return Batch(1, {self.numbers[item.result]: column for item in part.aggregates})
        inner, times = self._rows_to_group(part, scope)
        return aggregate(part, inner, times, self.expressions, self.terms, self.numbers, self._exists(scope))

    def _rows_to_group(self, part: Group, scope: Scope) -> tuple[Batch, Rows | None]:
        """The solutions of an aggregate's pattern, or some columns of them, and how many each row stands for.

        If all aggregates ignore duplicates, the distinct values of the variables asked for are enough. If a
        single triple pattern is counted in groups by one end, this end is enough.
        """
        pattern, asked = part.inner, self.wanted(part, scope)
        if asked is None:
            return self._solve(pattern, scope), None
        assert isinstance(pattern, Triples)
        inner = self._basic(pattern, scope, scope.seed, wanted=asked)
        counts = _plain_counts(part)
        end = self._counted_end(pattern, counts, asked) if counts else None
        if end is None:
            return inner, None
        s, p, _ = pattern.triples[0]
        relation = scope.index.relation(self.terms.id_of(p))
        times = relation.subject_counts if end == s else relation.object_counts
        return inner, times(inner.columns[self.numbers[end]]) if inner.size else None

    def wanted(self, part: Group, scope: Scope) -> frozenset[Variable] | None:
        """The variables whose distinct values an aggregate needs; None if it needs all solutions."""
        pattern, keys = part.inner, part.keys or ()
        counts = _plain_counts(part)
        others = [item for item in part.aggregates if item not in counts]
        arguments = (*keys, *(item.argument for item in others))
        are_sets = all(item.function in SET_AGGREGATES and item.argument is not None for item in others)
        if not isinstance(pattern, Triples) or not are_sets or has_exists(arguments):
            return None
        asked = mentioned(arguments)
        is_found = not counts or (not scope.seed.columns and self._counted_end(pattern, counts, asked))
        return asked if is_found else None

    @staticmethod
    def _counted_end(pattern: Triples, counts: list[Aggregate], asked: frozenset[Variable]) -> Node | None:
        """The only end asked for of a single triple pattern with two variables as ends, if it is counted."""
        if len(pattern.triples) != 1:
            return None
        s, p, o = pattern.triples[0]
        ends = [end for end in (s, o) if isinstance(end, Variable | BNode)]
        if len({*ends}) != 2 or not isinstance(p, URIRef):
            return None
        kept = [end for end in ends if end in asked]
        is_counted = all(item.argument is None or item.argument in ends for item in counts)
        return kept[0] if len(kept) == 1 and is_counted else None

    def _count(self, part: Group, scope: Scope) -> int | None:
        """The number of solutions of a basic graph pattern and its condition. The solutions are not listed.

        None if the aggregates ask for more than this number.
        """
        pattern = part.inner
        inner = self.pattern_of(pattern)
        if part.keys is not None or scope.seed.columns or inner is None:
            return None
        asked = {None, *mentioned(inner)}
        if len(_plain_counts(part)) < len(part.aggregates) or any(
            item.argument not in asked for item in part.aggregates
        ):
            return None
        early, finish = (
            self._conditions(pattern, scope) if isinstance(pattern, Filter) else (_unchanged, None)
        )
        return self._number(inner, scope, early, finish)

    def _number(self, part: Triples, scope: Scope, early: Change, finish: Change | None) -> int:
        """The number of solutions that ``_basic`` gives."""
        patterns = self.pattern_join(part, scope, early, frozenset())
        return patterns.count(scope.seed, self.patterns(part), finish)

    # Sequences of solutions

    def _order_by(self, part: OrderBy, scope: Scope, need: int | None) -> Batch:
        batch = self._solve(part.inner, scope)
        if batch.size < 2:
            return batch
        order = np.arange(batch.size)
        for condition in reversed(part.conditions):
            ranks = self.expressions.ranks(condition.value, batch, self._exists(scope))
            if condition.is_descending:
                ranks = -ranks
            order = order[order_of(ranks[order])]
        return batch.take(order)

    def _project(self, part: Project, scope: Scope, need: int | None) -> Batch:
        return projected(self._solve(part.inner, scope, need), [self.numbers[v] for v in part.variables])

    def _distinct(self, part: Distinct, scope: Scope, need: int | None) -> Batch:
        """Every distinct solution once."""
        inner = part.inner
        pattern = inner.inner if isinstance(inner, Project) else None

        def find(most: int | None) -> tuple[int, Batch]:
            if not isinstance(inner, Project) or not isinstance(pattern, Triples):
                rows = self._solve(inner, scope, most)
            else:
                rows = self._basic(pattern, scope, scope.seed, most, wanted=inner.variables)
                rows = projected(rows, [self.numbers[v] for v in inner.variables])
            return rows.size, distinct(rows)

        return self._enough(need, inner, find)

    def _reduced(self, part: Reduced, scope: Scope, need: int | None) -> Batch:
        def find(most: int | None) -> tuple[int, Batch]:
            batch = self._solve(part.inner, scope, most)
            return batch.size, reduced(batch) if batch.size > 1 else batch

        return self._enough(need, part.inner, find)

    def _slice(self, part: Slice, scope: Scope, need: int | None) -> Batch:
        start = part.offset
        end = None if part.limit is None else start + part.limit
        batch = self._solve(part.inner, scope, end)
        return batch.take(np.arange(batch.size)[start:end])


_OPERATORS: dict[type[Operator], Callable[..., Batch]] = {
    Triples: Evaluator._triples,
    Join: Evaluator._join,
    LeftJoin: Evaluator._left_join,
    Union: Evaluator._union,
    Minus: Evaluator._minus,
    Filter: Evaluator._filter,
    InGraph: Evaluator._in_graph,
    Service: Evaluator._service,
    Extend: Evaluator._extend,
    Values: Evaluator._values,
    Subquery: Evaluator._subquery,
    Group: Evaluator._group,
    OrderBy: Evaluator._order_by,
    Project: Evaluator._project,
    Distinct: Evaluator._distinct,
    Reduced: Evaluator._reduced,
    Slice: Evaluator._slice,
}


def _plain_counts(part: Group) -> list[Aggregate]:
    """The aggregates of a group that count solutions."""
    return [item for item in part.aggregates if item.function == "COUNT" and not item.is_distinct]
