"""The optimiser of queries: an ordered tuple of passes, each a function from a plan to an equivalent plan.

A pass changes which operators there are. The order of joins in a basic graph pattern is chosen during the
evaluation, by ``patterns.PatternJoin``. Two plans are equivalent if they have the same solutions, equally
often, for any data and any bindings that the query is given.

A variable is *certain* in an operator if every solution binds it, and *possible* if some solution may.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

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
    Minus,
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
    mentioned,
    rewritten,
    walk,
)
from corollary.sparql.builtin_functions import CASTS, FUNCTIONS, is_true
from corollary.sparql.scopes import certain, possible
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

    def merged(node: Any) -> Any:
        match node:
            case Join(Triples() as left, Triples() as right) if not _blank_nodes(left) & _blank_nodes(right):
                return Triples(left.triples + right.triples)
            case Join(Join(first, Triples() as left), Triples() as right):
                return Join(first, merged(Join(left, right)))
        return node

    found: Query = rewritten(query, merged)
    return found


def join_before_optional(query: Query) -> Query:
    """Join patterns before the optional ones that stand between them.

    ?x a :C OPTIONAL { ?x :p ?y } ?x :q ?z  ->  ?x a :C . ?x :q ?z OPTIONAL { ?x :p ?y }

    Sound where the optional part shares with the later pattern only variables that are certain before both.
    """

    def moved(node: Any) -> Any:
        if not isinstance(node, Join) or not isinstance(node.left, LeftJoin):
            return node
        if not isinstance(node.right, Triples | Values):
            return node
        first, optional, condition = node.left.left, node.left.right, node.left.condition
        read = possible(optional) | mentioned(condition)
        if has_exists(condition) or not read & possible(node.right) <= certain(first):
            return node
        return LeftJoin(moved(Join(first, node.right)), optional, condition)

    found: Query = rewritten(query, moved)
    return found


def push_filters_down(query: Query) -> Query:
    """Apply a condition to the inputs that decide it, before they are joined.

    { ?x :p ?y } { SELECT ... } FILTER(?y > 1)  ->  { ?x :p ?y FILTER(?y > 1) } { SELECT ... }

    A condition may move into one side of a join if each of its variables is certain there, or not possible in
    the other side. Conditions with EXISTS, random values and functions of users stay.
    """

    def pushed(node: Any) -> Any:
        if not isinstance(node, Filter) or isinstance(node.inner, Triples):
            return node
        inner, left = node.inner, []
        for condition in conjuncts(node.condition):
            further = _pushed(condition, inner) if _may_move(condition) else None
            if further is None:
                left.append(condition)
            else:
                inner = further
        if inner is node.inner:
            return node
        return Filter(inner, conjunction(left)) if left else inner

    found: Query = rewritten(query, pushed)
    return found


def _pushed(condition: Expression, part: Operator) -> Operator | None:
    """An operator with a condition within; None if the condition may not move into one."""
    read = mentioned(condition)
    match part:
        case Join(left, right):
            for one, other in ((left, right), (right, left)):
                if read and _decides(read, one, other):
                    changed = _filtered(condition, one)
                    return Join(changed, right) if one is left else Join(left, changed)
        case LeftJoin(left, right) if _decides(read, left, right):
            return LeftJoin(_filtered(condition, left), right, part.condition)
        case Minus(left, right):
            return Minus(_filtered(condition, left), right)
        case Extend(inner, variable, value) if variable not in read:
            return Extend(_filtered(condition, inner), variable, value)
        case InGraph(inner, name) if name not in read:
            return InGraph(_filtered(condition, inner), name)
        case Filter(inner, other):
            further = _pushed(condition, inner)
            if further is not None:
                return Filter(further, other)
            return Filter(inner, conjunction([*conjuncts(other), condition]))
    return None


def _filtered(condition: Expression, part: Operator) -> Operator:
    """An operator with a condition within or above."""
    further = _pushed(condition, part)
    return Filter(part, condition) if further is None else further


def _decides(read: frozenset[Variable], one: Operator, other: Operator) -> bool:
    """Whether the variables have the same values in ``one`` as in its join with ``other``."""
    return read <= possible(one) and not (read - certain(one)) & possible(other)


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
    EXISTS, groups or subqueries: no, there the variable itself may matter.
    """
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


def _blank_nodes(pattern: Triples) -> set[BNode]:
    return {term for term in walk(pattern) if isinstance(term, BNode)}


PASSES: tuple[Pass, ...] = (
    fold_constants,
    join_before_optional,
    merge_patterns,
    push_filters_down,
    push_distinct_down,
    push_limit_down,
    take_constants,
)
"""In the order of application."""
