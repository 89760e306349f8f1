"""EXPLAIN for queries: the operators that a query is evaluated by, with estimated and actual rows and times.

The estimate of a basic graph pattern is what its join order is chosen by: ``patterns.PatternJoin``. All other
estimates are made from those of the inputs: the sum for UNION, the maximum for JOIN and OPTIONAL, at most the
limit for LIMIT. They are no bounds. Analysing evaluates the query with an evaluator that counts.

The join order that is shown is the one that is evaluated, with two exceptions. Within EXISTS, variables from
outside do not count as bound here. For ``GRAPH ?g``, the order is that for the default graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

from rdflib.term import Identifier, Node, URIRef, Variable

from corollary.execute.batches import Batch
from corollary.sparql.algebra import (
    Distinct,
    Exists,
    Extend,
    Filter,
    Group,
    InGraph,
    Join,
    LeftJoin,
    Operator,
    OrderBy,
    Project,
    Slice,
    Triples,
    Union,
    Values,
    children,
    inputs,
    mentioned,
)
from corollary.sparql.answer import evaluated, evaluator_of, translation
from corollary.sparql.dataset import Source
from corollary.sparql.evaluate import KEYWORDS, Evaluator, Scope
from corollary.sparql.external import refuse_clauses
from corollary.sparql.pattern_costs import Pattern
from corollary.sparql.patterns import Change, PatternJoin
from corollary.sparql.query_errors import refuses_deep_nesting
from corollary.sparql.rdf_terms import printer
from corollary.sparql.scopes import certain


@dataclass
class Step:
    """An operator of a query. ``rows`` and ``seconds`` (with the inputs' seconds) are None unless analysed.

    ``rows`` is the sum over all evaluations; None if the result was found without them, as counts are.
    """

    operator: str
    detail: str = ""
    estimate: float = 1.0
    rows: int | None = None
    seconds: float | None = None
    inputs: list[Step] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The step and its inputs, ready for JSON."""
        own = {"operator": self.operator, "detail": self.detail, "estimated_rows": round(self.estimate, 2)}
        found = {"rows": self.rows, "seconds": self.seconds}
        return {**own, **found, "inputs": [step.as_dict() for step in self.inputs]}


@dataclass
class QueryPlan:
    """How a query is evaluated: a tree of steps. ``str`` gives a table of them, inputs below the operator."""

    root: Step
    is_analysed: bool

    def as_dict(self) -> dict[str, Any]:
        """The tree of steps, ready for JSON."""
        return self.root.as_dict()

    def __str__(self) -> str:
        titles = ["estimated", "rows", "ms"] if self.is_analysed else ["estimated"]
        lines = ["".join(f"{title:>12}" for title in titles) + "  operator"]
        lines += _lines(self.root, 0, self.is_analysed)
        return "\n".join(lines) + "\n"


def _lines(step: Step, depth: int, is_analysed: bool) -> Iterator[str]:
    cells = [f"{step.estimate:,.0f}" if step.estimate >= 1 or not step.estimate else f"{step.estimate:.2g}"]
    if is_analysed:
        cells.append("-" if step.rows is None else f"{step.rows:,}")
        cells.append("-" if step.seconds is None else f"{1000 * step.seconds:.2f}")
    what = f"{step.operator} {step.detail}".rstrip()
    yield "".join(f"{cell:>12}" for cell in cells) + f"  {'  ' * depth}{what}"
    for part in step.inputs:
        yield from _lines(part, depth + 1, is_analysed)


class _Counted:
    """The rows and the time of a part of a query, over all its evaluations."""

    def __init__(self) -> None:
        self.rows = 0
        self.seconds = 0.0


class CountingEvaluator(Evaluator):
    """An evaluator that counts the rows and the time of each operator and triple pattern."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.counted: dict[Any, _Counted] = {}

    def _solve(self, part: Operator, scope: Scope, need: int | None = None) -> Batch:
        return self._count_in(id(part), partial(super()._solve, part, scope, need))

    def _continued(self, left: Batch, part: Operator, scope: Scope) -> Batch:
        evaluate = partial(super()._continued, left, part, scope)
        return self._count_in(id(part), evaluate) if isinstance(part, Filter) else evaluate()

    def _basic(self, part: Triples, *arguments: Any, **named: Any) -> Batch:
        evaluate = partial(super()._basic, part, *arguments, **named)
        return self._count_in(("pattern", id(part)), evaluate)

    def _number(self, part: Triples, *arguments: Any) -> int:
        counted = super()._number
        return self._count_in(("pattern", id(part)), lambda: Batch(counted(part, *arguments), {})).size

    def _count_in(self, key: Any, evaluate: Callable[[], Batch]) -> Batch:
        counted, started = self.counted.setdefault(key, _Counted()), perf_counter()
        batch = evaluate()
        counted.rows += batch.size
        counted.seconds += perf_counter() - started
        return batch

    def pattern_join(
        self, part: Triples, scope: Scope, early: Change, unwanted: frozenset[int]
    ) -> PatternJoin:
        """A join that also counts the rows after each pattern."""
        join = super().pattern_join(part, scope, early, unwanted)
        return _CountingJoin(join.costs, join.paths, early, self.counted, id(part))


@dataclass
class _CountingJoin(PatternJoin):
    counted: dict[Any, _Counted] = field(default_factory=dict)
    part: int = 0

    def _counted(self, batch: Batch, pattern: Pattern) -> Batch | None:
        started = perf_counter()
        found = PatternJoin._counted(self, batch, pattern)
        if found is not None:
            counted = self.counted.setdefault((self.part, pattern), _Counted())
            counted.rows += found.size
            counted.seconds += perf_counter() - started
        return found

    def _extended(self, batch: Batch, pattern: Pattern, limit: int) -> Iterable[Batch]:
        started = perf_counter()
        parts = PatternJoin._extended(self, batch, pattern, limit)
        found = self._parts_counted(parts, pattern, started)
        return list(found) if isinstance(parts, list) else found

    def _parts_counted(self, parts: Iterable[Batch], pattern: Pattern, started: float) -> Iterator[Batch]:
        counted = self.counted.setdefault((self.part, pattern), _Counted())
        for part in parts:
            counted.rows += part.size
            counted.seconds += perf_counter() - started
            yield part
            started = perf_counter()


@refuses_deep_nesting
def explain_query(
    source: Source,
    query: Any,
    prefixes: Mapping[str, Any],
    bindings: Mapping[str, Identifier],
    home: Identifier,
    access: str = "all",
    *,
    analyze: bool = False,
) -> QueryPlan:
    """The plan of a query over a snapshot. ``analyze`` evaluates the query, too.

    Raises NotImplementedError if rdflib has to answer; else as ``answer``, with the errors of the evaluation.
    """
    main = translation(query, prefixes)
    refuse_clauses(main, source.has, access)
    if main.services:
        raise NotImplementedError("SERVICE")
    evaluator = evaluator_of(source, main, bindings, home, (), CountingEvaluator)
    seconds, rows = None, None
    if analyze:
        started = perf_counter()
        rows = len(evaluated(evaluator, main, prefixes))
        seconds = perf_counter() - started
    root = Step(main.form, rows=rows, seconds=seconds)
    if main.pattern is not None:
        planner = _Planner(evaluator, printer(prefixes.items()))
        root.inputs.append(planner.step(main.pattern, evaluator.start))
        root.estimate = root.inputs[0].estimate if main.form != "ASK" else 1.0
    return QueryPlan(root, analyze)


class _Planner:
    """Makes the steps of algebra, with the counts of an evaluator that may have evaluated it."""

    def __init__(self, evaluator: CountingEvaluator, text: Callable[[Node], str]) -> None:
        self._evaluator = evaluator
        self._text = text

    def step(
        self,
        part: Operator,
        scope: Scope,
        start: tuple[float, frozenset[int]] | None = None,
        wanted: Collection[Variable] | None = None,
    ) -> Step:
        """The step of a part.

        A basic graph pattern may ``start`` from rows: their estimated number, and the variables that have a
        value in each of them. It may find only the values of variables that are ``wanted``.
        """
        if isinstance(part, Triples):
            return self._pattern(part, scope, start or (1.0, frozenset(scope.seed.columns)), wanted)
        step = Step(KEYWORDS[type(part)], self._detail(part))
        counted = self._evaluator.counted.get(id(part))
        if counted is not None:
            step.rows, step.seconds = counted.rows, counted.seconds
        if isinstance(part, InGraph) and isinstance(part.name, URIRef):
            scope = Scope(self._evaluator.dataset.graph(part.name), scope.seed)
        inner = self._inputs(part, scope, start)
        step.inputs = [*inner, *(self.step(pattern, scope) for pattern in _exists(part))]
        step.estimate = self._estimate(part, [each.estimate for each in inner])
        return step

    def _inputs(self, part: Operator, scope: Scope, start: tuple[float, frozenset[int]] | None) -> list[Step]:
        if isinstance(part, Join | LeftJoin):
            first, second = part.left, part.right
            if isinstance(part, Join) and self._evaluator.pattern_of(first) is not None:
                first, second = second, first
            left = self.step(first, scope)
            bound = self._bound(first)
            numbers = self._evaluator.numbers
            joins = bound & {numbers[v] for v in mentioned(self._evaluator.pattern_of(second))}
            start = (left.estimate, bound) if joins else None
            return [left, self.step(second, scope, start)]
        if isinstance(part, Filter) and isinstance(part.inner, Triples):
            return [self.step(part.inner, scope, start)]
        if isinstance(part, Group):
            return [self.step(part.inner, scope, None, self._evaluator.wanted(part, scope))]
        if isinstance(part, Distinct) and isinstance(part.inner, Project):
            inner = part.inner
            if isinstance(inner.inner, Triples):
                return [self.step(inner.inner, scope, None, inner.variables)]
        return [self.step(each, scope) for each in inputs(part)]

    def _pattern(
        self,
        part: Triples,
        scope: Scope,
        start: tuple[float, frozenset[int]],
        wanted: Collection[Variable] | None,
    ) -> Step:
        """The triple patterns in join order, each with the expected rows after it."""
        evaluator = self._evaluator
        rows, bound = start
        patterns = evaluator.patterns(part)
        unwanted = evaluator.unwanted(patterns, wanted, bound)
        costs = evaluator.pattern_join(part, scope, lambda batch: batch, unwanted).costs
        texts = {p: " ".join(map(self._text, t)) for p, t in zip(patterns, part.triples, strict=True)}
        step = Step("pattern", "" if patterns else "of no triples")
        known = set(bound)
        for place in costs.order(bound, list(texts)):
            pattern = place.item
            rows *= costs.growth(known, pattern) if place.cost is None else place.cost[0]
            known |= pattern.variables
            counted = evaluator.counted.get((id(part), pattern))
            found = (None, None) if counted is None else (counted.rows, counted.seconds)
            step.inputs.append(Step(texts[pattern], "", rows, *found))
        step.estimate = rows
        counted = evaluator.counted.get(("pattern", id(part)))
        if counted is not None:
            step.rows, step.seconds = counted.rows, counted.seconds
        return step

    def _bound(self, part: Operator) -> frozenset[int]:
        """The numbers of variables that have a value in every solution."""
        return frozenset(self._evaluator.numbers[v] for v in certain(part))

    @staticmethod
    def _estimate(part: Operator, below: list[float]) -> float:
        match part:
            case Slice() if part.limit is not None:
                return float(min(below[0], part.limit))
            case Group() if part.keys is None:
                return 1.0
            case Union():
                return float(sum(below))
            case Join() | LeftJoin():
                return max(below)
            case Values():
                return float(len(part.rows))
        return below[0] if below else 1.0

    def _detail(self, part: Operator) -> str:
        match part:
            case Project():
                return " ".join(v.n3() for v in part.variables)
            case Slice():
                limit = "all" if part.limit is None else str(part.limit)
                return f"{limit} OFFSET {part.offset}" if part.offset else limit
            case Filter() | LeftJoin():
                return _by(part.condition)
            case OrderBy():
                return _by(part.conditions)
            case Group():
                return _by(part.keys)
            case Extend():
                return str(part.variable.n3())
            case InGraph():
                return self._text(part.name)
        return ""


def _by(read: object) -> str:
    """The variables that an operator reads."""
    names = " ".join(sorted(v.n3() for v in mentioned(read)))
    return f"by {names}" if names else ""


def _exists(part: Operator) -> Iterator[Operator]:
    """The patterns of EXISTS in an operator's own expressions."""
    match part:
        case Filter() | LeftJoin():
            read: object = part.condition
        case Extend():
            read = part.value
        case OrderBy():
            read = part.conditions
        case Group():
            read = part.keys
        case _:
            return
    waiting = [read]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Exists):
            yield node.pattern
        else:
            waiting += reversed(children(node))
