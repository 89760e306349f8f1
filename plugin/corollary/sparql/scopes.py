"""Which variables the solutions of an operator bind (section 18.2.1 of the recommendation)."""

from __future__ import annotations

from collections.abc import Set
from functools import reduce
from operator import and_

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

Variables = Set[Variable]


def certain(part: Operator) -> Variables:
    """Variables that every solution binds. Some may be missing: those of groups are left out.

    { ?x :p ?y OPTIONAL { ?x :q ?z } }: ?x, ?y
    """
    found: set[Variable] = set()
    while True:  # down the left operands
        match part:
            case Triples():
                return found | mentioned(part)
            case Join(left, right):
                found |= certain(right)
                part = left
            case Union(branches):
                return found | reduce(and_, map(certain, branches))
            case LeftJoin(left) | Minus(left):
                part = left
            case InGraph(inner, name):
                found |= mentioned(name)
                part = inner
            case Project(inner, variables):
                return found | (certain(inner) & frozenset(variables))
            case Values(variables, rows):
                return found | {v for i, v in enumerate(variables) if all(row[i] is not None for row in rows)}
            case Group() | Service():
                return found
            case _:
                (part,) = inputs(part)


def possible(part: Operator) -> Variables:
    """The variables that a solution may bind.

    { ?x :p ?y MINUS { ?x :q ?z } BIND(1 AS ?n) }: ?x, ?y, ?n
    """
    found: set[Variable] = set()
    while True:  # down the left operands
        match part:
            case Triples():
                return found | mentioned(part)
            case Join(left, right) | LeftJoin(left, right):
                found |= possible(right)
                part = left
            case Union(branches):
                return found.union(*map(possible, branches))
            case Minus(left):
                part = left
            case InGraph(inner, name):
                found |= mentioned(name)
                part = inner
            case Extend(inner, variable):
                found.add(variable)
                part = inner
            case Project(inner, variables):
                return found | (possible(inner) & frozenset(variables))
            case Values(variables):
                return found.union(variables)
            case Group():
                return found.union(item.result for item in part.aggregates)
            case Service():
                return found | mentioned(part)
            case _:
                (part,) = inputs(part)
