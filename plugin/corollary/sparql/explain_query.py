"""EXPLAIN for queries: the operators that a query is evaluated by, with estimated and actual rows and times.

The estimate of a basic graph pattern is what its join order is chosen by: ``patterns.PatternJoin``. All
other estimates are made from those of the inputs: the sum for UNION and GRAPH, the maximum for JOIN and
OPTIONAL, at most the limit for LIMIT. They are no bounds. Analysing evaluates the query with an evaluator
that counts.

The join order that is shown is the one that is evaluated. ``GRAPH ?g`` is evaluated graph by graph: graphs
with the same order are shown together. Within EXISTS, variables that the rows to test bind are bound from the
start; if only some rows bind a variable, the order is that for those which do not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from rdflib.term import Identifier, Node, Variable

from corollary.execute.batches import Batch
from corollary.kernels.sorted import Column
from corollary.sparql.algebra import (
    Distinct,
    Exists,
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
    Slice,
    Subquery,
    Triples,
    Union,
    Values,
    children,
    inputs,
    mentioned,
)
from corollary.sparql.answer import evaluated, evaluator_of, translation
from corollary.sparql.basic_patterns import unwanted_variables
from corollary.sparql.counting_evaluator import CountingEvaluator
from corollary.sparql.dataset import Source
from corollary.sparql.evaluation_order import is_driven, pattern_of, sides
from corollary.sparql.external import refuse_clauses
from corollary.sparql.grouped_solutions import wanted_variables
from corollary.sparql.intersections import Intersection, JoinPlan
from corollary.sparql.operator_places import KEYWORDS
from corollary.sparql.query_errors import refuses_deep_nesting
from corollary.sparql.query_evaluation import Scope
from corollary.sparql.rdf_terms import printer
from corollary.sparql.scopes import certain, possible
from corollary.sparql.spines import STEPS
from corollary.sparql.tuning import MAX_GRAPHS_SHOWN

_NO_IDS: Column = np.empty(0, np.uint32)


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

    def add(self, other: Step) -> None:
        """Add the numbers of a step with the same operators."""
        self.estimate += other.estimate
        if other.rows is not None:
            self.rows = (self.rows or 0) + other.rows
        if other.seconds is not None:
            self.seconds = (self.seconds or 0.0) + other.seconds
        for step, more in zip(self.inputs, other.inputs, strict=True):
            step.add(more)


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

        Its first basic graph pattern may ``start`` from rows: their estimated number, and the variables that
        have a value in each of them. It may find only the values of variables that are ``wanted``.
        """
        if isinstance(part, Triples):
            seed = float(scope.seed.size), frozenset(scope.seed.columns)
            return self._pattern(part, scope, start or seed, wanted)
        rows, seconds = self._evaluator.counts(id(part))
        step = Step(KEYWORDS[type(part)], self._detail(part), rows=rows, seconds=seconds)
        inner = self._inputs(part, scope, start)
        is_pattern = isinstance(part, Filter) and isinstance(part.inner, Triples)
        if step.seconds is not None and isinstance(part, (*STEPS, Project)) and not is_pattern:
            step.seconds += inner[0].seconds or 0.0  # batches come to a step from its input
        step.estimate = self._estimate(part, [each.estimate for each in inner])
        tested = max((each.estimate for each in inner), default=1.0)
        step.inputs = [*inner, *self._exists(part, scope, tested)]
        return step

    def _in_graphs(self, part: InGraph, scope: Scope) -> list[Step]:
        """The plan of a pattern in one graph; or those in all graphs, one for graphs with the same order."""
        evaluator, given = self._evaluator, self._evaluator.given
        name = given.get(part.name, part.name) if isinstance(part.name, Variable) else part.name
        if not isinstance(name, Variable):
            return [self.step(part.inner, replace(scope, index=evaluator.dataset.graph(name)))]
        plans: dict[tuple[Any, ...], tuple[list[str], Step]] = {}
        around = evaluator.graph
        for graph in sorted(evaluator.dataset.graphs(), key=str):
            evaluator.graph = graph
            step = self.step(part.inner, replace(scope, index=evaluator.dataset.graph(graph)))
            names, known = plans.setdefault(_outline(step), ([], step))
            names.append(self._text(graph))
            if known is not step:
                known.add(step)
        evaluator.graph = around
        if len(plans) == 1:
            return [step for _, step in plans.values()]
        return [
            Step("in", _shortened(names), step.estimate, step.rows, step.seconds, [step])
            for names, step in plans.values()
        ]

    def _exists(self, part: Operator, scope: Scope, rows: float) -> Iterator[Step]:
        """The plans of the patterns of EXISTS in an operator's own expressions, from the rows to test."""
        for test in _tests(part):
            numbers = self._evaluator.numbers
            bound = frozenset(scope.seed.columns).union(*map(self._bound, inputs(part)))
            seen = [number for number in map(numbers.__getitem__, mentioned(test)) if number in bound]
            seed = Batch(max(1, round(rows)), dict.fromkeys([*seen, self._evaluator.fresh()], _NO_IDS))
            step = self.step(test.pattern, replace(scope, seed=seed))
            name = "NOT EXISTS" if test.is_negated else "EXISTS"
            yield Step(name, "", step.estimate, step.rows, step.seconds, [step])

    def _inputs(self, part: Operator, scope: Scope, start: tuple[float, frozenset[int]] | None) -> list[Step]:
        if isinstance(part, InGraph):
            return self._in_graphs(part, scope)
        if isinstance(part, Join | LeftJoin | Minus):
            first, second = part.left, part.right
            if isinstance(part, Join):
                first, second = sides(self._evaluator, part)
            left = self.step(first, scope, start)
            around = frozenset(scope.seed.columns) | (frozenset() if start is None else start[1])
            bound = self._bound(first) | around
            columns = {self._evaluator.numbers[v] for v in possible(first)} | around
            is_pattern = pattern_of(self._evaluator, second) is not None
            may_start = is_pattern or not isinstance(part, Minus)
            starts = may_start and is_driven(self._evaluator, second, bound, columns)
            return [left, self.step(second, scope, (left.estimate, bound) if starts else None)]
        if isinstance(part, Filter | Extend | Union):
            return [self.step(each, scope, start) for each in inputs(part)]
        if isinstance(part, Subquery):
            return [self.step(part.inner, self._evaluator.inside(part.inner, scope))]
        if isinstance(part, Group):
            return [self.step(part.inner, scope, None, wanted_variables(self._evaluator, part, scope))]
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
        unwanted = unwanted_variables(evaluator, patterns, wanted, bound)
        costs = evaluator.pattern_join(part, scope, lambda batch: batch, unwanted).costs
        texts = {p: " ".join(map(self._text, t)) for p, t in zip(patterns, part.triples, strict=True)}
        step = Step("pattern", "" if patterns else "of no triples")
        names = {evaluator.numbers.get(term): self._text(term) for triple in part.triples for term in triple}
        known = set(bound)
        for place in JoinPlan(costs).places(bound, list(texts)):
            item, before = place.item, rows
            counts = evaluator.counts((id(part), item))
            if isinstance(item, Intersection):
                rows *= place.cost[0] if place.cost else 1
                alone = [Step(texts[each], "", before * costs.growth(known, each)) for each in item.all]
                step.inputs.append(Step("INTERSECT", names[item.variable], rows, *counts, alone))
            else:
                rows *= costs.growth(known, item) if place.cost is None else place.cost[0]
                step.inputs.append(Step(texts[item], "", rows, *counts))
            known |= item.variables
        step.estimate = rows
        step.rows, step.seconds = evaluator.counts(("pattern", id(part)))
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
            case Union() | InGraph():
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


def _outline(step: Step) -> tuple[Any, ...]:
    """The operators of a plan, without numbers."""
    return step.operator, step.detail, *map(_outline, step.inputs)


def _shortened(names: list[str]) -> str:
    """The first names, and the number of the others."""
    shown = ", ".join(names[:MAX_GRAPHS_SHOWN])
    return shown if len(names) <= MAX_GRAPHS_SHOWN else f"{shown} and {len(names) - MAX_GRAPHS_SHOWN} more"


def _tests(part: Operator) -> Iterator[Exists]:
    """EXISTS in an operator's own expressions."""
    match part:
        case Filter() | LeftJoin():
            read: object = part.condition
        case Extend():
            read = part.value
        case OrderBy():
            read = part.conditions
        case Group():
            read = part.keys, tuple(item.argument for item in part.aggregates)
        case _:
            return
    waiting = [read]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Exists):
            yield node
        else:
            waiting += reversed(children(node))
