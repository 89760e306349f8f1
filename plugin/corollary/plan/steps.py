"""Plans as data: tuples of steps over a batch of bindings, and delta plans made of these.

All of it is immutable: a plan may be run by any number of threads, each with a context of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from corollary.program.compile import Atom, Condition, Grouping, Negation


class Age(IntEnum):
    """The ages of a fact in a round: all = old + recent. (Numbers are looked up faster than names.)"""

    OLD = 0
    RECENT = 1
    ALL = 2


@dataclass(frozen=True, slots=True)
class Join:
    """``join [?x, a, ?c] in recent``: extend every binding by all matches of the atom."""

    atom: Atom
    age: Age


@dataclass(frozen=True, slots=True)
class Distinct:
    """``distinct ?c of [?x, a, ?c] in recent``: start from the values that one variable takes.

    The variable is the atom's predicate, or its object if the predicate is rdf:type.
    """

    atom: Atom
    variable: int


@dataclass(frozen=True, slots=True)
class Select:
    """``filter (?x != ?y)`` or ``bind (...)``."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """``not [...]``: keep the bindings that have no match."""

    negation: Negation


@dataclass(frozen=True, slots=True)
class Group:
    """``aggregate (...)``: join with one row a group."""

    grouping: Grouping


Step = Join | Distinct | Select | AntiJoin | Group
Plan = tuple[Step, ...]
Size = Callable[[Atom], int]


@dataclass(frozen=True, slots=True)
class DeltaPlan:
    """``guard_probe`` then ``body``; ``direct`` alone where there is no probe, or it leads to many rows."""

    guard_probe: Plan
    body: Plan
    direct: Plan
