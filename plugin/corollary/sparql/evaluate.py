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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain, count
from typing import Any
from weakref import ref

import numpy as np
from rdflib.paths import Path
from rdflib.term import BNode, Literal, Node, URIRef, Variable

from corollary.columns import TripleIndex
from corollary.columns.key_sort import order_of
from corollary.execute.batches import Batch, filled, product
from corollary.execute.few_rows import few_matches
from corollary.execute.filters import number_rows
from corollary.execute.tuning import MAX_ROWS_JOINED_ONE_BY_ONE
from corollary.kernels.limits import at, current
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
    blank_nodes,
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
from corollary.sparql.patterns import Joint, PatternJoin, Reduction
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.scopes import certain, possible
from corollary.sparql.solutions import (
    Change,
    Parts,
    counted_rows,
    distinct,
    gathered,
    groups,
    is_bound,
    join,
    join_parts,
    piped,
    projected,
    reduced,
    settled,
    stacked,
    with_matches,
    without,
)
from corollary.sparql.spines import STEPS, SpineScope
from corollary.sparql.term_evaluation import Environment, is_volatile
from corollary.sparql.tuning import (
    MAX_CHARACTERS_SHOWN,
    MAX_JOINS_KEPT,
    MAX_PLANS_CACHED,
    MAX_ROWS_HELD,
    ROWS_BEFORE_ALL,
    ROWS_PER_CHUNK,
    ROWS_PER_LIMITED_CHUNK,
)
from corollary.sparql.written_literals import FIRST_LOCAL, UNBOUND

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
    """The negative numbers of variables and blank nodes, assigned at the first look-up, by any thread."""

    def __init__(self) -> None:
        super().__init__()
        self._next = count(1)

    def __missing__(self, term: Node) -> int:
        return self.setdefault(term, -next(self._next))


_FIRST_FRESH = 1 << 32
"""Numbers from which on hidden variables are numbered: there are fewer variables in a query."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What evaluations of a query over one state of the facts share: numbers, patterns, and their joins.

    ``patterns`` has those of a basic graph pattern of which the store has all terms; ``joins`` has what
    ``_pattern_parts`` makes of them, by basic graph pattern, bound variables, and wanted ones: at most
    ``MAX_JOINS_KEPT``. ``index`` is kept so that nothing else gets its ``id``. ``query`` is not kept, as a
    long one may be asked once: another query with its ``id`` uses nothing of it.
    """

    query: ref[Query]
    index: TripleIndex
    numbers: Numbers = field(default_factory=Numbers)
    patterns: dict[int, list[Pattern]] = field(default_factory=dict)
    joins: dict[Any, tuple[frozenset[int], list[Joint]]] = field(default_factory=dict)

    @staticmethod
    def of(query: Query, dataset: QueryDataset) -> Prepared:
        """That of a query. Cached with the facts, unless the query chooses its graphs."""
        index = dataset.default
        if dataset.named is not None:
            return Prepared(ref(query), index)
        plans = dataset.source.known.setdefault(Prepared, {})
        key = id(query), id(index)
        found: Prepared | None = plans.get(key)
        if found is None or found.query() is not query:
            if len(plans) >= MAX_PLANS_CACHED:
                plans.clear()
            found = plans[key] = Prepared(ref(query), index)
        return found


class Ids(dict[Node, int]):
    """The ids of constants, and of variables with a constant value; the ``numbers`` of other variables."""

    def __init__(self, terms: QueryTerms, numbers: Numbers, constants: Mapping[Any, Node]) -> None:
        super().__init__()
        self._terms, self._numbers, self._constants = terms, numbers, constants

    def __missing__(self, term: Node) -> int:
        constant = self._constants.get(term) if isinstance(term, _VARIABLES) else term
        found = self[term] = self._numbers[term] if constant is None else self._terms.id_of(constant)
        return found


@dataclass(frozen=True)
class Scope:
    """The context of a pattern: the active graph, the seed, and the seed's columns of row numbers."""

    index: TripleIndex
    seed: Batch
    rows: frozenset[int] = frozenset()


Step = tuple[Operator, Operator | None]
"""An operator, and its operand that is not its input."""


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
        self._query = query  # parts of it are known by their ``id``
        self._prepared = Prepared(ref(query), dataset.default) if given else Prepared.of(query, dataset)
        self.numbers = self._prepared.numbers
        self._fresh = count(_FIRST_FRESH)
        environment = Environment(query.base, dataset.source.functions)
        self.expressions = Expressions(environment, given, terms, self.numbers)
        self.dataset = dataset
        self.given = given
        self._ids = Ids(terms, self.numbers, given if query.takes_constants else {})
        seed = {} if query.takes_constants else given
        columns = {self.numbers[v]: filled(1, terms.id_of(term)) for v, term in seed.items()}
        self.start = Scope(dataset.default, Batch(1, columns))

    def fresh(self) -> int:
        """The number of a new hidden variable."""
        return -next(self._fresh)

    def solve(self, part: Operator, need: int | None = None) -> Batch:
        """The solutions of a part of the algebra in the default graph."""
        return self._solve(part, self.start, need)

    def _solve(self, part: Operator, scope: Scope, need: int | None = None) -> Batch:
        leaf, steps = self.chain(part)
        if not steps:
            return self._alone(leaf, scope, need)
        around = current().where
        if all(isinstance(step, Extend | Project) for step, _ in steps):  # all rows of the leaf are kept
            found = self._alone(leaf, scope, need)
            for change in self._changes(steps, scope) if found.size else ():
                (found,) = change(found)
        elif need is None:
            found = self._kept(piped(self._leaf_parts(leaf, scope), self._changes(steps, scope)), None)
        else:
            found = self._enough(leaf, steps, scope, need)
        current().where = around
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

    @staticmethod
    def _kept(parts: Parts, need: int | None) -> Batch:
        """All solutions; with ``need``, the first ones."""
        kept, size, work = [], 0, current()
        for part in parts:
            kept.append(part)
            size += part.size
            work.rows(size)
            if need is not None and size >= need:
                break
        return stacked(kept)

    def _enough(self, leaf: Operator, steps: list[Step], scope: Scope, need: int) -> Batch:
        """A result with ``need`` rows, found from the first rows of ``leaf``, or from all of them."""
        changes = self._uncounted(steps, scope, ROWS_PER_LIMITED_CHUNK)
        keeps_rows = all(isinstance(step, LeftJoin | Extend | Project) for step, _ in steps)
        sizes = (need,) if keeps_rows else ROWS_BEFORE_ALL if self._stops_early(leaf) else ()
        for most in sizes:
            if most >= need:
                some = self._alone(leaf, scope, most)
                found = self._kept(piped([some], self._counted(steps, changes)), need)
                if some.size < most or found.size >= need:
                    return found
        return self._kept(piped(self._leaf_parts(leaf, scope), self._counted(steps, changes)), need)

    # Steps: what is done with the solutions of the operators below, a batch at a time

    def chain(self, part: Operator) -> tuple[Operator, list[Step]]:
        """The operator that is evaluated first, and what is done with its solutions.

        Each step has the operand that is not its input, if any. A basic graph pattern with its own condition
        is one operator.
        """
        steps: list[Step] = []
        while isinstance(part, (*STEPS, Project)):
            if isinstance(part, Join):
                first, second = self.sides(part)
                steps.append((part, second))
                part = first
            elif isinstance(part, LeftJoin | Minus):
                steps.append((part, part.right))
                part = part.left
            elif isinstance(part, Filter) and isinstance(part.inner, Triples):
                break
            else:
                steps.append((part, None))
                part = part.inner
        steps.reverse()
        return part, steps

    def parts(
        self,
        part: Operator,
        scope: Scope,
        wanted: Collection[Variable] | None = None,
        is_counted: bool = False,
    ) -> Iterator[Batch]:
        """The solutions in batches, none of which is kept.

        With ``wanted``, the distinct values of these variables suffice; some may come several times. With
        ``is_counted``, batches may lack columns.
        """
        leaf, steps = self.chain(part)
        if not steps:
            return iter(self._leaf_parts(leaf, scope, wanted, is_counted))
        changes = self._changes(steps, scope, is_counted=is_counted)
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
                return self._pattern_parts(leaf, scope, scope.seed, ROWS_PER_CHUNK, wanted, is_counted)
            case Union():
                found = (self.parts(branch, scope, wanted, is_counted) for branch in leaf.branches)
                every: Iterator[Batch] = chain.from_iterable(found)
                return every if is_counted else gathered(every, ROWS_PER_CHUNK)
            case Subquery() if isinstance(leaf.inner, Project):
                return self.parts(leaf.inner, self.inside(leaf.inner, scope))
        return [self._alone(leaf, scope)]

    def _changes(
        self, steps: list[Step], scope: Scope, limit: int | None = None, is_counted: bool = False
    ) -> list[Change]:
        """What the steps make of a batch, in batches of some ``limit`` rows."""
        return self._counted(steps, self._uncounted(steps, scope, limit, is_counted))

    def _uncounted(
        self, steps: list[Step], scope: Scope, limit: int | None = None, is_counted: bool = False
    ) -> list[Change]:
        """As ``_changes``, whose rows do not count against the limit."""
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
                return self._joining(operand, scope, limit, is_counted)
            case LeftJoin():
                return self._left_joining(step, scope, limit, is_counted)
            case Minus():
                return self._subtracting(step, scope)
            case Filter():
                return lambda batch: [self._filtered(step.condition, batch, scope)]
            case Extend():
                return lambda batch: [self._extended(step, batch, scope)]
        assert isinstance(step, Project)
        columns = [self.numbers[variable] for variable in step.variables]
        return lambda batch: [projected(batch, columns)]

    def _joining(self, part: Operator, scope: Scope, limit: int, is_counted: bool = False) -> Change:
        """The join of a batch with a part.

        Without a list of the part's solutions, where it may start from the batch: a basic graph pattern, or
        branches and steps that start from one.
        """
        alone = _Alone(self, part, scope)

        def at_once(left: Batch) -> Parts:
            if not left.size:
                return []
            if alone.few is not None:
                return join_parts(left, alone.few, limit)
            every = self.parts(part, scope)
            return gathered(chain.from_iterable(join_parts(left, some, limit) for some in every), limit)

        if self.pattern_of(part) is not None:

            def continued(left: Batch) -> Parts:
                if not self._continues(left, part, scope):
                    return at_once(left)
                parts = self._pattern_parts(part, scope, left, limit, None, is_counted)
                return settled(parts, limit) if limit > ROWS_PER_LIMITED_CHUNK and not is_counted else parts

            return continued
        leaf, steps = self.chain(part)
        begin: Change
        if isinstance(leaf, Union):
            branches = [self._joining(branch, scope, limit) for branch in leaf.branches]

            def by_branch(left: Batch) -> Parts:
                return gathered(chain.from_iterable(branch(left) for branch in branches), limit)

            begin = by_branch
        elif steps:
            begin = self._joining(leaf, scope, limit)
        else:
            return at_once
        changes = self._changes(steps, scope, limit)

        def driven(left: Batch) -> Parts:
            names = left.columns
            if not self._continues(left, part, scope) or not self.is_driven(part, names, names):
                return at_once(left)
            parts = piped(begin(left), changes)
            return settled(parts, limit) if limit > ROWS_PER_LIMITED_CHUNK else parts

        return driven

    def few(self, part: Operator, scope: Scope) -> Batch | None:
        """The solutions of a part; None if they are too many to be kept beside others."""
        kept, size = [], 0
        for batch in self.parts(part, scope):
            kept.append(batch)
            size += batch.size
            current().rows(size)
            if size > MAX_ROWS_HELD:
                return None
        return stacked(kept)

    def _touched(self, leaf: Operator, steps: list[Step]) -> frozenset[int] | None:
        """Variables whose values the steps must not know from elsewhere; None if they must not know anything.

        Those that a step reads, and that the operators below it do not bind for certain.
        """
        known, touched = SpineScope.of(leaf), set[Variable]()
        functions = self.dataset.source.functions
        for step, operand in steps:
            read: Set[Variable] = frozenset()
            tested = None
            match step:
                case LeftJoin():
                    read, tested = possible(step.right) | mentioned(step.condition), step.condition
                case Minus():
                    read = possible(step.right)
                case Filter():
                    read, tested = mentioned(step.condition), step.condition
                case Extend():
                    read, tested = mentioned(step.value) | {step.variable}, step.value
                case Project():
                    return None
            if has_exists(tested) or is_volatile(tested, functions):
                return None
            touched |= {v for v in read if not known.is_certain(v, known.steps)}
            known.add(step, operand)
        return frozenset(map(self.numbers.__getitem__, touched))

    def is_driven(self, part: Operator, bound: Collection[int], columns: Collection[int]) -> bool:
        """Whether a join with a part starts from rows, and lists no solutions of the part alone.

        The rows have values of ``bound`` variables, and maybe of other ``columns``.
        """
        if isinstance(part, Union):
            return all(self.is_driven(branch, bound, columns) for branch in part.branches)
        leaf, steps = self.chain(part)
        if steps:
            touched = self._touched(leaf, steps)
            is_free = touched is not None and touched.isdisjoint(columns)
            return is_free and self.is_driven(leaf, bound, columns)
        common = self._common(part, columns) if self.pattern_of(part) is not None else []
        return bool(common) and all(variable in bound for variable in common)

    def _common(self, part: Operator, columns: Collection[int]) -> list[int]:
        """The variables of a part that have columns."""
        return [v for v in map(self.numbers.__getitem__, mentioned(part)) if v in columns]

    def _continues(self, left: Batch, part: Operator, scope: Scope) -> bool:
        """Whether a part may start from a batch: all rows bind the variables of both."""
        common = self._common(part, left.columns)
        is_complete = scope.seed.columns.keys() <= left.columns.keys()
        return bool(common) and is_complete and is_bound(left, common)

    def _left_joining(self, step: LeftJoin, scope: Scope, limit: int, is_counted: bool) -> Change:
        joined: Change | None = None  # not needed where ``_beside`` is enough
        row = self.fresh()

        def parts(left: Batch) -> Iterator[Batch]:
            nonlocal joined
            if joined is None:
                joined = self._joining(step.right, scope, limit)
            names = mentioned(step.right) | mentioned(step.condition)
            read = dict.fromkeys([*map(self.numbers.__getitem__, names), *scope.seed.columns])
            numbered = projected(left, read)
            numbered.columns[row] = np.arange(left.size, dtype=np.uint32)
            others = Batch(left.size, dict(left.columns))
            for variable in read:
                others.columns.pop(variable, None)
            unmatched: Mask = np.ones(left.size, np.bool_)
            for both in joined(numbered):
                if step.condition is not None:
                    both = self._filtered(step.condition, both, scope)
                if both.size:
                    matched = both.columns[row]
                    apart(matched.size, partial(unmatched.__setitem__, matched, False))
                    is_same = both.size == left.size and bool((matched == numbered.columns[row]).all())
                    beside = others if is_same else others.take(matched.astype(np.int64))
                    own = {v: c for v, c in both.columns.items() if v != row}
                    yield Batch(both.size, beside.columns | own)
            if unmatched.any():
                yield left.take(unmatched)

        def change(left: Batch) -> Parts:
            counts = self._matches(left, step.right, scope) if is_counted and step.condition is None else None
            if counts is not None:
                return [Batch(int(np.maximum(counts, 1).sum()), {})]
            beside = self._beside(left, step.right, scope, limit) if step.condition is None else None
            if beside is not None:
                return [beside]
            return settled(parts(left), limit)

        return change

    def _beside(self, left: Batch, part: Operator, scope: Scope, limit: int) -> Batch | None:
        """The left join with one triple pattern, with one end that is known and one new variable.

        None for other patterns, if the known end is unbound in some rows, and if there are more matches than
        ``limit``. Cost: two searches for each row, one for each of few rows; the columns are copied only if a
        row has several matches.
        """
        if not isinstance(part, Triples) or len(part.triples) != 1:
            return None
        (pattern,) = self.patterns(part)
        known, free = (pattern.s, pattern.o) if left.knows(pattern.s) else (pattern.o, pattern.s)
        is_look_up = type(pattern.p) is int and pattern.p >= 0 and left.knows(known) and not left.knows(free)
        is_kept = not blank_nodes(part) and scope.seed.columns.keys() <= left.columns.keys()
        if not is_look_up or not is_kept or (known < 0 and (left.columns[known] == UNBOUND).any()):
            return None
        relation, is_subject = scope.index.relation(pattern.p), known == pattern.s
        if relation.is_compressed:
            return None
        if known >= 0:
            values = relation.column_of_objects(known) if is_subject else relation.column_of_subjects(known)
            if left.size * values.size > limit:
                return None
            return product(left, Batch(values.size, {free: values})) if values.size else left
        column = left.columns[known]
        if left.size <= MAX_ROWS_JOINED_ONE_BY_ONE:
            few = few_matches(column.tolist(), relation, is_subject=is_subject, missing=UNBOUND)
            if few is not None:
                rows, ends = few
                both = left if len(rows) == left.size else left.take(np.array(rows))
                return Batch(both.size, {**both.columns, free: np.array(ends, np.uint32)})
        counts = relation.subject_counts(column) if is_subject else relation.object_counts(column)
        if int(counts.sum()) > limit:
            return None
        return with_matches(
            left, free, *(relation.objects_of if is_subject else relation.subjects_of)(column)
        )

    def _matches(self, left: Batch, part: Operator, scope: Scope) -> Rows | None:
        """The number of solutions of a triple pattern that join with each row; None if they are listed."""
        if not isinstance(part, Triples) or len(part.triples) != 1 or not self._continues(left, part, scope):
            return None
        (pattern,) = self.patterns(part)
        return self.pattern_join(part, scope, _unchanged, frozenset()).matches(left, pattern)

    def _subtracting(self, step: Minus, scope: Scope) -> Change:
        other = cache(partial(self._distinct_values, step.right, scope, possible(step.left)))

        def change(left: Batch) -> Parts:
            if self.pattern_of(step.right) is not None and self._continues(left, step.right, scope):
                matched = self._has_match(left, step.right, scope)
                return [left.take(~matched) if matched.any() else left]
            return [without(left, other(), scope.rows)]

        return change

    def _has_match(self, left: Batch, part: Operator, scope: Scope) -> Mask:
        """For each row, whether a basic graph pattern has a solution. Precondition: ``_continues``."""
        counts = self._matches(left, part, scope)
        if counts is not None:
            return counts > 0
        common = self._common(part, left.columns)
        asked = projected(left, dict.fromkeys([*common, *scope.seed.columns]))
        if isinstance(part, Triples) and len(part.triples) == 1:
            first = numbers = np.arange(left.size)  # a search takes less time than looking for equal rows
        else:
            first, numbers = number_rows(asked, [v for v in asked.columns if v not in scope.rows])
        row = self.fresh()
        rows = asked.take(first)
        start = Batch(rows.size, rows.columns | {row: np.arange(rows.size, dtype=np.uint32)})
        found: Mask = np.zeros(rows.size, np.bool_)
        for batch in self._pattern_parts(part, scope, start, ROWS_PER_CHUNK, ()):
            found[batch.columns[row]] = True
        answers: Mask = found[numbers]
        return answers

    def _distinct_values(self, part: Operator, scope: Scope, variables: Collection[Variable]) -> Batch:
        """The distinct values of some variables, and of the seed, among the solutions of a part."""
        columns = dict.fromkeys([*map(self.numbers.__getitem__, variables), *scope.seed.columns])
        found = (projected(batch, columns) for batch in self.parts(part, scope, variables))
        return distinct(counted_rows(found, ROWS_PER_CHUNK)[0])

    # Patterns

    def _service(self, part: Service, scope: Scope, need: int | None) -> Batch:
        if part not in self._silenced:
            raise NotImplementedError("rdflib asks other services")
        return scope.seed

    def _triples(self, part: Triples | Filter, scope: Scope, need: int | None) -> Batch:
        limit = ROWS_PER_CHUNK if need is None else ROWS_PER_LIMITED_CHUNK
        return self._kept(self._pattern_parts(part, scope, scope.seed, limit, is_kept=need is None), need)

    def _pattern_parts(
        self,
        part: Operator,
        scope: Scope,
        start: Batch,
        limit: int,
        wanted: Collection[Variable] | None = None,
        is_counted: bool = False,
        is_kept: bool = False,
    ) -> Iterator[Batch]:
        """A basic graph pattern and its condition, joined with ``start``: in batches of some ``limit`` rows.

        With ``wanted``, the distinct values of these variables suffice. With ``is_counted``, batches may lack
        columns. With ``is_kept``, all batches are kept.
        """
        pattern: Operator = part
        early: Reduction = _unchanged
        finish: Reduction | None = None
        if isinstance(part, Filter):
            early, finish = self._conditions(part, scope)
            pattern = part.inner
            wanted = None if wanted is None else {*wanted, *mentioned(part.condition)}
        assert isinstance(pattern, Triples)
        patterns = self.patterns(pattern)
        key = id(pattern), tuple(start.columns), None if wanted is None else frozenset(wanted)
        known = self._prepared.joins.get(key) if scope.index is self._prepared.index else None
        unwanted = self.unwanted(patterns, wanted, start.columns) if known is None else known[0]
        join = self.pattern_join(pattern, scope, early, unwanted)
        if known is None:
            places = join.places(start.columns, patterns)
            joins = self._prepared.joins
            is_lasting = scope.index is self._prepared.index and id(pattern) in self._prepared.patterns
            if is_lasting and len(joins) < MAX_JOINS_KEPT:
                joins[key] = unwanted, places
        else:
            places = known[1]
        blank = [self.numbers[term] for term in blank_nodes(pattern)]
        found = join.parts(start, places, limit, is_counted and finish is None, is_kept and finish is None)
        for batch in found if finish is None else map(finish, found):
            if blank:
                batch = Batch(batch.size, {v: c for v, c in batch.columns.items() if v not in blank})
            yield batch

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
        found = self._prepared.patterns.get(id(part))
        if found is None:
            ids = self._ids
            found = [
                Pattern.of(ids[s], ids[p] if type(p) is URIRef or not isinstance(p, Path) else p, ids[o])
                for s, p, o in part.triples
            ]
            if all(map(_is_lasting, found)) and not self.given:
                self._prepared.patterns[id(part)] = found
        return found

    def pattern_join(
        self, part: Triples, scope: Scope, early: Reduction, unwanted: frozenset[int]
    ) -> PatternJoin:
        """The join of a basic graph pattern. ``early`` and ``unwanted``: see ``PatternJoin``."""
        id_of = self.terms.id_of
        paths = PathJoin(scope.index, self.dataset.source.nodes, id_of, self.fresh)
        is_lasting = self.dataset.named is None and scope.index is self.dataset.default
        orders = self.dataset.source.known.setdefault(JoinPlan, {}) if is_lasting else {}
        costs = PatternCosts(scope.index, frozenset(scope.seed.columns), id_of, unwanted, orders)
        return PatternJoin(costs, paths, early)

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

    def sides(self, part: Join) -> tuple[Operator, Operator]:
        """The operands of a join, the one that is evaluated first before the other."""
        if self.pattern_of(part.left) is not None:
            return part.right, part.left
        return part.left, part.right

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
                return all(map(self._stops_early, part.branches))
        return False

    def _union(self, part: Union, scope: Scope, need: int | None) -> Batch:
        found, size = [], 0
        for branch in part.branches:
            found.append(self._solve(branch, scope, None if need is None else need - size))
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

    def _conditions(self, part: Filter, scope: Scope) -> tuple[Reduction, Reduction]:
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

    def _extended(self, part: Extend, batch: Batch, scope: Scope) -> Batch:
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
        row = self.fresh()
        columns = seed.columns | {row: np.arange(seed.size, dtype=np.uint32)}
        inside = Scope(scope.index, Batch(seed.size, columns), frozenset((row,)))
        for batch in self.parts(part, inside, ()):  # only the rows are asked for
            if batch.size:
                found[batch.columns[row]] = True
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
            return self._reduced_to_group(part, scope)
        assert isinstance(pattern, Triples)
        inner = self._kept(self._pattern_parts(pattern, scope, scope.seed, ROWS_PER_CHUNK, asked), None)
        counts = _plain_counts(part)
        end = self._counted_end(pattern, counts, asked) if counts else None
        if end is None:
            return inner, None
        s, p, _ = pattern.triples[0]
        relation = scope.index.relation(self.terms.id_of(p))
        times = relation.subject_counts if end == s else relation.object_counts
        return inner, times(inner.columns[self.numbers[end]]) if inner.size else None

    def _reduced_to_group(self, part: Group, scope: Scope) -> tuple[Batch, Rows | None]:
        """As ``_rows_to_group``, of any pattern.

        If duplicates are ignored or only counted, many solutions become distinct rows, each with the number
        of solutions that it stands for.
        """
        arguments = (*(part.keys or ()), *(item.argument for item in part.aggregates))
        are_listed = [item for item in part.aggregates if item.argument is None and item.is_distinct]
        if are_listed or has_exists(arguments):
            return self._solve(part.inner, scope), None
        columns = [self.numbers[v] for v in mentioned(arguments)]
        found = (projected(batch, columns) for batch in self.parts(part.inner, scope))
        are_counted = all(
            item.argument is None or isinstance(item.argument, Variable) for item in _plain_counts(part)
        )
        if not are_counted or not all(item.function in SET_AGGREGATES for item in part.aggregates):
            return self._kept(found, None), None
        inner, times = counted_rows(found, ROWS_PER_CHUNK)
        unbound = [v for v in columns if v not in inner.columns] if inner.size else []
        return Batch(inner.size, inner.columns | {v: filled(inner.size, UNBOUND) for v in unbound}), times

    def wanted(self, part: Group, scope: Scope) -> frozenset[Variable] | None:
        """The variables whose distinct values an aggregate needs; None if it needs all solutions."""
        pattern, keys = part.inner, part.keys or ()
        counts = _plain_counts(part)
        others = [item for item in part.aggregates if not _is_plain_count(item)]
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
        """The number of solutions of a pattern, none of which is kept.

        None if the aggregates ask for more than this number.
        """
        if part.keys is not None or scope.seed.columns:
            return None
        asked = {None, *certain(part.inner)}
        if not all(_is_plain_count(item) and item.argument in asked for item in part.aggregates):
            return None
        return sum(batch.size for batch in self.parts(part.inner, scope, is_counted=True))

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

    def _distinct(self, part: Distinct, scope: Scope, need: int | None) -> Batch:
        """Every distinct solution once."""
        inner = part.inner
        pattern = inner.inner if isinstance(inner, Project) else None

        def find(most: int | None) -> Batch:
            wanted = inner.variables if isinstance(inner, Project) else None
            if most is None:
                return counted_rows(self._asked(inner, scope, wanted), ROWS_PER_CHUNK)[0]
            if wanted is None or not isinstance(pattern, Triples):
                return self._solve(inner, scope, most)
            rows = self._pattern_parts(pattern, scope, scope.seed, ROWS_PER_LIMITED_CHUNK, wanted)
            return projected(self._kept(rows, most), [self.numbers[v] for v in wanted])

        return self._first(need, inner, find, distinct)

    def _asked(self, part: Operator, scope: Scope, wanted: Collection[Variable] | None) -> Iterator[Batch]:
        """The solutions of a part, in batches; of a projected basic graph pattern, some of each value."""
        if wanted is None or not isinstance(part, Project) or not isinstance(part.inner, Triples):
            return self.parts(part, scope)
        columns = [self.numbers[v] for v in wanted]
        return (projected(batch, columns) for batch in self.parts(part.inner, scope, wanted))

    def _reduced(self, part: Reduced, scope: Scope, need: int | None) -> Batch:
        return self._first(need, part.inner, partial(self._solve, part.inner, scope), reduced)

    def _first(
        self,
        need: int | None,
        part: Operator,
        find: Callable[[int | None], Batch],
        change: Callable[[Batch], Batch],
    ) -> Batch:
        """What a change leaves of all rows of a part; with ``need``, of some rows if that is enough."""
        for most in ROWS_BEFORE_ALL if need is not None and self._stops_early(part) else ():
            if need is not None and most >= need:
                rows = find(most)
                found = change(rows)
                if rows.size < most or found.size >= need:
                    return found
        return change(find(None))

    def _slice(self, part: Slice, scope: Scope, need: int | None) -> Batch:
        start = part.offset
        end = None if part.limit is None else start + part.limit
        batch = self._solve(part.inner, scope, end)
        return batch.take(np.arange(batch.size)[start:end])


class _Alone:
    """A part whose solutions are listed apart from those that it is joined with."""

    def __init__(self, evaluator: Evaluator, part: Operator, scope: Scope) -> None:
        self._find = partial(evaluator.few, part, scope)

    @cached_property
    def few(self) -> Batch | None:
        """See ``Evaluator.few``; found at the first look."""
        return self._find()


_OPERATORS: dict[type[Operator], Callable[..., Batch]] = {
    Triples: Evaluator._triples,
    Union: Evaluator._union,
    Filter: Evaluator._triples,
    InGraph: Evaluator._in_graph,
    Service: Evaluator._service,
    Values: Evaluator._values,
    Subquery: Evaluator._subquery,
    Group: Evaluator._group,
    OrderBy: Evaluator._order_by,
    Distinct: Evaluator._distinct,
    Reduced: Evaluator._reduced,
    Slice: Evaluator._slice,
}


def _is_lasting(pattern: Pattern) -> bool:
    """Whether a pattern is the same in other evaluations: it has no path, and no term of this query only."""
    return type(pattern.p) is int and max(pattern.s, pattern.p, pattern.o) < FIRST_LOCAL


def _plain_counts(part: Group) -> list[Aggregate]:
    """The aggregates of a group that count solutions."""
    return [item for item in part.aggregates if _is_plain_count(item)]


def _is_plain_count(item: Aggregate) -> bool:
    return item.function == "COUNT" and not item.is_distinct
