"""Plans as data: tuples of steps over a batch of bindings, and delta plans that consist of them.

Plans are immutable. Any number of threads may run one, each with its own ``ExecutionContext``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from corollary.program.compile import Atom, CompiledRule, Condition, Grouping, Negation


class Age(IntEnum):
    """The age of a fact in a round; ALL is the union of OLD and RECENT. (Integers hash faster than names.)"""

    OLD = 0
    RECENT = 1
    ALL = 2


@dataclass(frozen=True, slots=True)
class Join:
    """``join [?x, a, ?c] in recent``: extend each binding by all facts of this age that match the atom."""

    atom: Atom
    age: Age


@dataclass(frozen=True, slots=True)
class Distinct:
    """``distinct ?c of [?x, a, ?c] in recent``: start from the distinct values of one variable.

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
    """``not [...]``: keep the bindings without a match."""

    negation: Negation


@dataclass(frozen=True, slots=True)
class Group:
    """``aggregate (...)``: join with the results, one row per group."""

    grouping: Grouping


Step = Join | Distinct | Select | AntiJoin | Group
Plan = tuple[Step, ...]
Size = Callable[[Atom], int]


@dataclass(frozen=True, slots=True)
class DeltaPlan:
    """``guard_probe`` and then ``body``; ``direct`` if there is no probe, or the probe returns many rows.

    ``probes_table``: whether the probe selects rows of the family's table, and does nothing else.
    """

    guard_probe: Plan
    body: Plan
    direct: Plan
    probes_table: bool = field(init=False)

    def __post_init__(self) -> None:
        is_table = (
            isinstance(step, Join | Distinct) or (isinstance(step, Select) and step.condition.target is None)
            for step in self.guard_probe
        )
        object.__setattr__(self, "probes_table", bool(self.guard_probe) and all(is_table))


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What a pass knows: the plan's rule, the cardinalities, and the ``fixed`` steps.

    Fixed steps keep their order, and come before all other joins. Filters may stand between them.
    """

    rule: CompiledRule
    size: Size
    fixed: Plan = ()


Pass = Callable[[Plan, PlanContext], Plan]
"""A function from a plan to a plan with the same bindings."""
