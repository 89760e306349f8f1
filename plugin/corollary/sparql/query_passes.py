"""The optimiser of queries: an ordered tuple of passes, each a function from a plan to an equivalent plan.

A pass changes which operators there are. The order of joins in a basic graph pattern is chosen during the
evaluation, by ``patterns.PatternJoin``. Two plans are equivalent if they have the same solutions, equally
often, for any data and any bindings that the query is given.

A variable is *certain* in an operator if every solution binds it, and *possible* if some solution may.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rdflib.paths import Path
from rdflib.term import BNode, Literal, Variable

from corollary.expressions.operators import ExpressionError
from corollary.sparql.algebra import (
    Call,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    FunctionCall,
    InGraph,
    Join,
    LeftJoin,
    Operator,
    OrderBy,
    OrderCondition,
    PlanNode,
    Project,
    Query,
    Slice,
    Triples,
    Union,
    Values,
    conjunction,
    conjuncts,
    has_exists,
    is_constant,
    kinds,
    mentioned,
    rewritten,
    walk,
)
from corollary.sparql.builtin_functions import CASTS, FUNCTIONS, is_true
from corollary.sparql.scopes import certain, possible
from corollary.sparql.spines import SpineScope, above, spine, with_spines_rewritten
from corollary.sparql.term_evaluation import VOLATILE, Environment, evaluated

Pass = Callable[[Query], Query]


def optimised(query: Query) -> Query:
    """The query after all passes."""
    for each in PASSES:
        query = each(query)
    return query


def fold_constants(query: Query) -> Query:
    """Evaluate calls of constants; leave out conditions that are always true. Errors stay where they are.

    FILTER(?x > 1 + 2)  ->  FILTER(?x > 3)
    """

    def folded(node: Any) -> Any:
        if isinstance(node, Filter):
            every = list(conjuncts(node.condition))
            parts = [part for part in every if not _is_true(part)]
            if len(parts) == len(every):
                return node
            return Filter(node.inner, conjunction(parts)) if parts else node.inner
        if not isinstance(node, Call) or node.name not in FUNCTIONS:
            return node
        if not all(map(is_constant, node.arguments)):
            return node
        try:
            return evaluated(node, Environment(query.base))({})
        except ExpressionError:
            return node

    found: Query = rewritten(query, folded)
    return found


def merge_patterns(query: Query) -> Query:
    """Make one basic graph pattern of two that are joined, so that one join order is chosen for both.

    { ?x :p ?y } { ?y :q ?z }  ->  ?x :p ?y . ?y :q ?z
    """

    return with_spines_rewritten(query, _merged) if Join in kinds(query) else query


def _merged(part: Operator) -> Operator:
    leaf, steps = spine(part)
    runs: list[tuple[Operator, list[Triples]]] = [(leaf, [leaf] if isinstance(leaf, Triples) else [])]
    blank = set(_blank_nodes(leaf))
    for step in steps:
        pattern = step.right if isinstance(step, Join) and isinstance(step.right, Triples) else None
        own = _blank_nodes(pattern)
        if pattern is not None and runs[-1][1] and blank.isdisjoint(own):
            runs[-1][1].append(pattern)
            blank |= own
        else:
            runs.append((step, [] if pattern is None else [pattern]))
            blank = own
    if len(runs) > len(steps):
        return part
    found = leaf
    for step, patterns in runs:
        if len(patterns) > 1:
            joined = Triples(tuple([triple for each in patterns for triple in each.triples]))
            found = joined if step is leaf else Join(found, joined)
        elif step is not leaf:
            found = above(found, step)
    return found


def join_before_optional(query: Query) -> Query:
    """Join patterns before the optional ones that stand between them.

    ?x a :C OPTIONAL { ?x :p ?y } ?x :q ?z  ->  ?x a :C . ?x :q ?z OPTIONAL { ?x :p ?y }

    Sound where the optional part shares with the later pattern only variables that are certain before both.
    """

    return with_spines_rewritten(query, _moved) if LeftJoin in kinds(query) else query


def _moved(part: Operator) -> Operator:
    found, steps = spine(part)
    known, run = set(certain(found)), list[LeftJoin | Join]()
    for step in steps:
        if isinstance(step, LeftJoin) or (
            isinstance(step, Join) and isinstance(step.right, Triples | Values)
        ):
            run.append(step)
            continue
        found, run = _run_moved(found, run, known), []
        found = above(found, step)
        if isinstance(step, Join):
            known |= certain(step.right)
    return _run_moved(found, run, known)


def _run_moved(below: Operator, run: list[LeftJoin | Join], known: set[Variable]) -> Operator:
    """Optional parts and joins above an operator, each join as early as it may stand.

    The ``known`` variables are certain before; those of the joins are added. Cost: |run| log |run|.
    """
    optionals: list[Operator] = []
    joins: list[list[Operator]] = [[]]
    """Those before the first optional part, between the first and the second, ..."""
    readers: dict[Variable, list[int]] = {}
    """The numbers of the optional parts that have a variable, from 1."""
    since: dict[Variable, int] = {}
    """By variable of a join: after how many optional parts it is certain."""
    earliest = 0
    for step in run:
        if isinstance(step, LeftJoin):
            optionals.append(step)
            joins.append([])
            for variable in possible(step.right) | mentioned(step.condition):
                readers.setdefault(variable, []).append(len(optionals))
            if has_exists(step.condition):
                earliest = len(optionals)
            continue
        for variable in possible(step.right) - known:
            own = readers.get(variable, [])
            uncertain = bisect(own, since.get(variable, len(optionals)))
            earliest = max(earliest, own[uncertain - 1] if uncertain else 0)
        joins[earliest].append(step)
        for variable in certain(step.right) - known:
            since[variable] = min(since.get(variable, earliest), earliest)
    known.update(since)
    for number, early in enumerate(joins):
        for each in early if not number else (optionals[number - 1], *early):
            below = above(below, each)
    return below


def push_filters_down(query: Query) -> Query:
    """Apply a condition to the inputs that decide it, before they are joined.

    { ?x :p ?y } { SELECT ... } FILTER(?y > 1)  ->  { ?x :p ?y FILTER(?y > 1) } { SELECT ... }

    A condition may move into one side of a join if each of its variables is certain there, or not possible in
    the other side. Conditions with EXISTS, random values and functions of users stay.
    """

    return with_spines_rewritten(query, _pushed) if Filter in kinds(query) else query


def _pushed(part: Operator) -> Operator:
    leaf, steps = spine(part)
    if not any(isinstance(step, Filter) for step in steps) or (len(steps) == 1 and isinstance(leaf, Triples)):
        return part
    pushing = _Pushing(leaf, steps)
    for number, step in enumerate(steps):
        if isinstance(step, Filter):
            for condition in conjuncts(step.condition):
                pushing.push(condition, number)
    return pushing.result() if pushing.has_moved else part


class _Pushing:
    """The conditions of a group, on their way down. A place is a number of steps, after which they stand."""

    def __init__(self, leaf: Operator, steps: list[Operator]) -> None:
        self._leaf = leaf
        self._steps = steps
        self._operands = [step.right if isinstance(step, Join | LeftJoin) else None for step in steps]
        self._possible = [frozenset() if each is None else possible(each) for each in self._operands]
        self._conditions: list[list[Expression]] = [[] for _ in range(len(steps) + 1)]
        self._scope = SpineScope.of(leaf)
        for step, operand in zip(steps, self._operands, strict=True):
            self._scope.add(step, operand)
        self.has_moved = False

    def push(self, condition: Expression, place: int) -> None:
        """Put a condition that stands at a place to the lowest one at which it may stand."""
        read, start = mentioned(condition), place
        is_movable = _may_move(condition)
        while is_movable and place:
            step, operand = self._steps[place - 1], self._operands[place - 1]
            if not self._passes(read, step, place):
                if isinstance(step, Join) and operand is not None and self._is_of(read, operand, place):
                    self._operands[place - 1] = _pushed(Filter(operand, condition))
                    self.has_moved = True
                    return
                break
            place -= 1
        leaf = self._leaf
        if is_movable and not place and isinstance(leaf, InGraph) and leaf.name not in read:
            self._leaf = InGraph(_pushed(Filter(leaf.inner, condition)), leaf.name)
            self.has_moved = True
            return
        self._conditions[place].append(condition)
        self.has_moved = self.has_moved or place < start

    def _passes(self, read: frozenset[Variable], step: Operator, place: int) -> bool:
        """Whether a condition that reads variables may be applied before a step."""
        match step:
            case Join() | LeftJoin():
                is_decided = self._scope.decides(read, place - 1, self._possible[place - 1])
                return is_decided and (bool(read) or isinstance(step, LeftJoin))
            case Extend():
                return step.variable not in read
        return True

    def _is_of(self, read: frozenset[Variable], operand: Operator, place: int) -> bool:
        """Whether the right operand of a join decides what a condition reads."""
        others = {v for v in read if self._scope.is_possible(v, place - 1)}
        return bool(read) and read <= self._possible[place - 1] and others <= certain(operand)

    def result(self) -> Operator:
        """The group with its conditions where they were put."""
        found = self._leaf
        for number, step in enumerate((*self._steps, None)):
            if self._conditions[number]:
                found = Filter(found, conjunction(self._conditions[number]))
            operand = None if step is None else self._operands[number]
            if operand is not None and isinstance(step, Join | LeftJoin) and operand is not step.right:
                assert isinstance(step, Join)
                found = Join(found, operand)
            elif step is not None and not isinstance(step, Filter):
                found = above(found, step)
        return found


def push_order_up(query: Query) -> Query:
    """Sort distinct solutions after the others are left out, if they have all that decides the order.

    SELECT DISTINCT ?y { ?x :p ?y } ORDER BY ?y  ->  the distinct ?y are sorted
    """

    def pushed(node: Any) -> Any:
        match node:
            case Distinct(Project(OrderBy(inner, conditions), variables)):
                if mentioned(conditions) <= set(variables) and all(_may_move(each) for each in conditions):
                    return Project(OrderBy(Distinct(Project(inner, variables)), conditions), variables)
        return node

    found: Query = rewritten(query, pushed)
    return found


def push_distinct_down(query: Query) -> Query:
    """Find the distinct values of a single triple pattern's variables before a condition is evaluated.

    SELECT DISTINCT ?x { ?x :p ?y FILTER(isIRI(?x)) }  ->  the distinct ?x of ?x :p ?y, then the condition
    """

    def pushed(node: Any) -> Any:
        match node:
            case Distinct(Project(Filter(Triples((_,)) as pattern, condition), variables)):
                read = mentioned(condition)
                ends = {term for term in walk(pattern) if isinstance(term, Variable | BNode)}
                if ends <= read | set(variables) or not _may_move(condition):
                    return node
                kept = tuple(dict.fromkeys((*variables, *sorted(read & mentioned(pattern)))))
                below = Distinct(Project(pattern, kept))
                return Distinct(Project(Filter(below, condition), variables))
        return node

    found: Query = rewritten(query, pushed)
    return found


def push_limit_down(query: Query) -> Query:
    """Compute the values of expressions after LIMIT, for the rows that are asked for.

    SELECT (STRLEN(?y) AS ?n) { ?x :p ?y } ORDER BY ?y LIMIT 10  ->  ten rows are chosen, then ?n is computed
    """

    def pushed(node: Any) -> Any:
        match node:
            case Slice(Project(OrderBy(Extend() as extend, conditions), variables), offset, limit):
                late: list[Extend] = []
                inner: Operator = extend
                while isinstance(inner, Extend) and inner.variable not in mentioned(conditions):
                    late.append(inner)
                    inner = inner.inner
                if not late:
                    return node
                inner = Slice(OrderBy(inner, conditions), offset, limit)
                for each in reversed(late):
                    inner = Extend(inner, each.variable, each.value)
                return Project(inner, variables)
        return node

    found: Query = rewritten(query, pushed)
    return found


def take_constants(query: Query) -> Query:
    """Note whether values that are given with a query may stand in its triple patterns.

    SELECT ?y { ?x :p ?y OPTIONAL { ?y :q ?z } } with a value of ?x: yes. With BIND, VALUES, MINUS, GRAPH,
    EXISTS, groups or subqueries: no, there the variable itself may matter. And not in a single pattern with a
    predicate: it has no order that values could decide, and is planned once for all values.
    """
    match query.pattern:
        case Project(Triples(((_, predicate, _),))) if not isinstance(predicate, Path):
            return query
    is_simple = all(isinstance(part, _SIMPLE) for part in walk(query.pattern) if isinstance(part, PlanNode))
    return replace(query, takes_constants=is_simple and query.form != "DESCRIBE")


_SIMPLE = (
    *(Triples, Join, LeftJoin, Union, Filter, OrderBy, OrderCondition, Project, Distinct, Slice),
    *(Call, FunctionCall),
)


# Properties of expressions


def _is_true(condition: Expression) -> bool:
    """Whether a condition is a constant that is true."""
    try:
        return isinstance(condition, Literal) and is_true(condition)
    except ExpressionError:
        return False


def _may_move(condition: Expression) -> bool:
    """Whether a condition may be evaluated for other rows than those it was written for."""
    for part in walk(condition):
        if isinstance(part, Exists) or (isinstance(part, Call) and part.name in VOLATILE):
            return False
        if isinstance(part, FunctionCall) and part.iri not in CASTS:
            return False
    return True


def _blank_nodes(pattern: Operator | None) -> set[BNode]:
    if not isinstance(pattern, Triples):
        return set()
    return {term for term in walk(pattern) if isinstance(term, BNode)}


PASSES: tuple[Pass, ...] = (
    fold_constants,
    join_before_optional,
    merge_patterns,
    push_filters_down,
    push_order_up,
    push_distinct_down,
    push_limit_down,
    take_constants,
)
"""In the order of application."""
