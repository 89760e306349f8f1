"""Left-deep operators as lists: a group of many parts is a tree whose left operands are nested.

    ?x :p ?y OPTIONAL { ?x :q ?z } BIND(1 AS ?n)  is  Extend(LeftJoin(Triples, Triples), ?n, 1)

Its *spine* is the innermost left operand, and the *steps* above it, from below. So a group of thousands of
parts is rewritten and evaluated by a loop, at a cost that grows with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from operator import is_
from typing import Any

from rdflib.term import Variable

from corollary.sparql.algebra import (
    Exists,
    Extend,
    Filter,
    Join,
    LeftJoin,
    Minus,
    Operator,
    Query,
    Triples,
    Union,
    Values,
    children,
    rewritten,
)
from corollary.sparql.scopes import Variables, certain, possible

STEPS = (Join, LeftJoin, Minus, Filter, Extend)
"""Operators with one input, or with a left and a right one: their first field is the former."""


Step = tuple[Operator, Operator | None]
"""An operator that is a step, or a projection, and its operand that is not its input."""


_CLOSED = (Triples, Values, Filter, Extend)
"""Operators in which no group is, but for the one that they continue, and for those in conditions."""


def spine(part: Operator) -> tuple[Operator, list[Operator]]:
    """The innermost left operand, which is no step, and the steps above it, from below."""
    steps: list[Operator] = []
    while isinstance(part, STEPS):
        steps.append(part)
        part = children(part)[0]
    steps.reverse()
    return part, steps


def above(part: Operator, step: Operator) -> Operator:
    """A step with another left operand."""
    own = children(step)
    kind: Any = type(step)
    return step if own[0] is part else kind(part, *own[1:])


def with_spines_rewritten(query: Query, change: Callable[[Operator], Operator]) -> Query:
    """The query with ``change`` applied to whole groups: operators that are no left operand of a step."""

    def changed(node: Any) -> Any:
        if isinstance(node, Union):
            branches = tuple(map(change, node.branches))
            return node if all(map(is_, branches, node.branches)) else Union(branches)
        if isinstance(node, Join | Minus):
            right = change(node.right)
            return node if right is node.right else type(node)(node.left, right)
        if isinstance(node, LeftJoin):
            right = change(node.right)
            return node if right is node.right else LeftJoin(node.left, right, node.condition)
        if isinstance(node, _CLOSED) or not isinstance(node, Operator | Exists | Query):
            return node
        before = children(node)
        after = [change(part) if isinstance(part, Operator) else part for part in before]
        kind: Any = type(node)
        return node if all(map(is_, after, before)) else kind(*after)

    found: Query = rewritten(query, changed)
    return found


@dataclass
class SpineScope:
    """Which variables are certain and possible in a spine, and from which number of steps on.

    ``steps`` is the number of steps so far. Precondition of ``add``: the operands come in their order.
    """

    certain: dict[Variable, int] = field(default_factory=dict)
    possible: dict[Variable, int] = field(default_factory=dict)
    steps: int = 0

    @staticmethod
    def of(leaf: Operator) -> SpineScope:
        scope = SpineScope()
        scope.note(certain(leaf), possible(leaf))
        return scope

    def note(self, are_certain: Iterable[Variable], are_possible: Iterable[Variable]) -> None:
        """Variables that are certain or possible after the present number of steps."""
        for variable in are_certain:
            self.certain.setdefault(variable, self.steps)
        for variable in are_possible:
            self.possible.setdefault(variable, self.steps)

    def add(self, step: Operator, operand: Operator | None) -> None:
        """A further step, with the operand that is not its input, if any."""
        self.steps += 1
        match step:
            case Join() if operand is not None:
                self.note(certain(operand), possible(operand))
            case LeftJoin() if operand is not None:
                self.note((), possible(operand))
            case Extend():
                self.note((), (step.variable,))

    def is_certain(self, variable: Variable, steps: int) -> bool:
        """Whether every solution after a number of steps binds a variable."""
        return self.certain.get(variable, inf) <= steps

    def is_possible(self, variable: Variable, steps: int) -> bool:
        """Whether some solution after a number of steps may bind a variable."""
        return self.possible.get(variable, inf) <= steps

    def decides(self, read: Variables, steps: int, other: Variables) -> bool:
        """Whether variables have the same values after some steps as in a join with ``other`` variables."""
        return all(self.is_possible(v, steps) and (v not in other or self.is_certain(v, steps)) for v in read)
