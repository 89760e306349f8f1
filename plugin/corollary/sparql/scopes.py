"""Which variables the solutions of an operator bind (section 18.2.1 of the recommendation)."""

from __future__ import annotations

from rdflib.term import Variable

from corollary.sparql.algebra import (
    Extend,
    Group,
    InGraph,
    Join,
    LeftJoin,
    Minus,
    Operator,
    Project,
    Service,
    Triples,
    Union,
    Values,
    inputs,
    mentioned,
)

Variables = frozenset[Variable]


def certain(part: Operator) -> Variables:
    """Variables that every solution binds. Some may be missing: those of groups are left out.

    { ?x :p ?y OPTIONAL { ?x :q ?z } }: ?x, ?y
    """
    match part:
        case Triples(triples):
            return frozenset(mentioned(triples))
        case Join(left, right):
            return certain(left) | certain(right)
        case Union(left, right):
            return certain(left) & certain(right)
        case LeftJoin(left) | Minus(left):
            return certain(left)
        case InGraph(inner, name):
            return certain(inner) | mentioned(name)
        case Project(inner, variables):
            return certain(inner) & frozenset(variables)
        case Values(variables, rows):
            return frozenset(v for i, v in enumerate(variables) if all(row[i] is not None for row in rows))
        case Group() | Service():
            return frozenset()
    return frozenset().union(*map(certain, inputs(part)))


def possible(part: Operator) -> Variables:
    """The variables that a solution may bind.

    { ?x :p ?y MINUS { ?x :q ?z } BIND(1 AS ?n) }: ?x, ?y, ?n
    """
    match part:
        case Triples(triples):
            return frozenset(mentioned(triples))
        case Minus(left):
            return possible(left)
        case InGraph(inner, name):
            return possible(inner) | mentioned(name)
        case Extend(inner, variable):
            return possible(inner) | {variable}
        case Project(inner, variables):
            return possible(inner) & frozenset(variables)
        case Values(variables):
            return frozenset(variables)
        case Group():
            return frozenset(item.result for item in part.aggregates)
        case Service():
            return frozenset(mentioned(part))
    return frozenset().union(*map(possible, inputs(part)))
