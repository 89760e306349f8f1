"""Join order: the greedy search for it, and the costs by which the joins of a rule are ordered.

Rules and queries are ordered here. What differs are the costs (``JoinCosts``): a rule's order is made once,
for deltas of any size (``RuleCosts``); that of a query for one state, by expected numbers of rows
(``sparql.pattern_costs``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from corollary.plan.steps import Age, Join, Size
from corollary.program.compile import Atom, CompiledRule

Item = TypeVar("Item")
Cost = TypeVar("Cost", bound=tuple[Any, ...])
Item_contra = TypeVar("Item_contra", contravariant=True)
Cost_co = TypeVar("Cost_co", covariant=True)


class JoinCosts(Protocol[Item_contra, Cost_co]):
    """By what items are ordered: items of one kind, which are joined through variables."""

    def variables(self, item: Item_contra) -> Set[int]:
        """The variables that have values after the join."""

    def is_connected(self, known: Set[int], item: Item_contra) -> bool:
        """Whether the join is not a Cartesian product with rows that bind the ``known`` variables."""

    def cost(self, known: Set[int], item: Item_contra) -> Cost_co:
        """What to compare: the least is next. It depends on ``known`` by the variables of the item only."""


class Place(NamedTuple, Generic[Item, Cost]):
    """An item in the join order. ``cost`` is None where there was nothing to choose from."""

    item: Item
    cost: Cost | None
    is_connected: bool


def join_order(
    items: Sequence[Item], bound: Iterable[int], costs: JoinCosts[Item, Cost]
) -> list[Place[Item, Cost]]:
    """The items in join order, from rows that have the ``bound`` variables.

    The next one is connected if there is any such, and has the least cost. Ties keep the given order. Cost:
    that of every item, and again when one of its variables is bound.
    """
    waiting, known = list(items), set(bound)
    variables = [costs.variables(item) for item in waiting]
    kept: list[Cost | None] = [None] * len(waiting)
    places = []
    while len(waiting) > 1:
        found = [costs.cost(known, waiting[i]) if cost is None else cost for i, cost in enumerate(kept)]
        by_cost = sorted(range(len(waiting)), key=found.__getitem__)
        connected = next((i for i in by_cost if costs.is_connected(known, waiting[i])), None)
        chosen = by_cost[0] if connected is None else connected
        places.append(Place(waiting.pop(chosen), found.pop(chosen), connected is not None))
        fresh = variables.pop(chosen) - known
        known |= fresh
        kept = [
            cost if fresh.isdisjoint(others) else None for cost, others in zip(found, variables, strict=True)
        ]
    return places + [Place(item, kept[0], costs.is_connected(known, item)) for item in waiting]


@dataclass(frozen=True, slots=True)
class RuleCosts:
    """The costs of joins in a rule: more bound ends first, then small relations.

    ``guards`` are the atoms that are guards. ``guarded`` variables do not connect other atoms, because they
    have the same value in all bindings of a rule instance.
    """

    size: Size
    guards: Set[Atom] = frozenset()
    guarded: Set[int] = frozenset()

    @staticmethod
    def of(rule: CompiledRule, size: Size) -> RuleCosts:
        return RuleCosts(size, {rule.atoms[i] for i in rule.guards}, rule.guarded)

    def variables(self, item: Join) -> Set[int]:
        return item.atom.variables

    def is_connected(self, known: Set[int], item: Join) -> bool:
        variables = item.atom.variables
        linking = known if item.atom in self.guards else known - self.guarded
        return not (linking and variables and variables.isdisjoint(linking))

    def cost(self, known: Set[int], item: Join) -> tuple[int, bool, int]:
        """A rank, whether no end of a data atom is bound, and the relation's cardinality.

        The rank is higher with fewer bound ends and with an unbound predicate, lower for a guard with a bound
        end.
        """
        atom = item.atom
        ends = (atom.s >= 0 or atom.s in known) + (atom.o >= 0 or atom.o in known)
        has_open_predicate = atom.p < 0 and atom.p not in known
        is_guard = atom in self.guards
        rank = (2 - ends) + 2 * has_open_predicate - (is_guard and ends != 0)
        return rank, ends == 0 and not is_guard, self.size(atom)


def ordered_atoms(atoms: Iterable[Atom], bound: Iterable[int], size: Size) -> list[Atom]:
    """Atoms in join order, none of them a guard, from rows that have the ``bound`` variables."""
    joins = [Join(atom, Age.ALL) for atom in atoms]
    return [place.item.atom for place in join_order(joins, bound, RuleCosts(size))]
