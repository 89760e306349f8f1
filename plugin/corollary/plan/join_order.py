"""Join order: the greedy search for it, and the costs by which the joins of a rule are ordered.

Rules and queries are ordered here. What differs are the costs (``JoinCosts``): a rule's order is made once,
for deltas of any size (``RuleCosts``); that of a query for one state, by expected numbers of rows
(``sparql.pattern_costs``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
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
    that of every item, and again when one of its variables is bound; and a logarithm for each.

    Precondition: an item without connection to the known variables gets one only when one of its own becomes
    known.
    """
    known = set(bound)
    if len(items) == 1:
        return [Place(items[0], None, costs.is_connected(known, items[0]))]
    variables = [costs.variables(item) for item in items]
    readers: dict[int, list[int]] = {}
    for number, read in enumerate(variables):
        for variable in read:
            readers.setdefault(variable, []).append(number)
    kept: dict[int, Cost] = {}
    connected: list[tuple[Cost, int]] = []
    others: list[tuple[Cost, int]] = []
    waiting, stale = set(range(len(items))), set(range(len(items)))
    places: list[Place[Item, Cost]] = []
    while len(waiting) > 1:
        for number in stale:
            kept[number] = costs.cost(known, items[number])
            heappush(connected, (kept[number], number))
        chosen = _cheapest(connected, others, waiting, kept, items, partial(costs.is_connected, known))
        if chosen is None:
            places.append(Place(items[others[0][1]], others[0][0], False))
            chosen = heappop(others)[1]
        else:
            places.append(Place(items[chosen], kept[chosen], True))
        waiting.remove(chosen)
        fresh = variables[chosen] - known
        known |= fresh
        stale = waiting & {number for variable in fresh for number in readers[variable]}
        for number in stale:
            del kept[number]
    return places + [Place(items[n], kept.get(n), costs.is_connected(known, items[n])) for n in waiting]


def _cheapest(
    connected: list[tuple[Cost, int]],
    others: list[tuple[Cost, int]],
    waiting: Set[int],
    kept: Mapping[int, Cost],
    items: Sequence[Item],
    is_connected: Callable[[Item], bool],
) -> int | None:
    """Take the cheapest connected item; None if there is none, and the first of ``others`` is the cheapest.

    Items without connection go over to ``others``. Entries of items that were taken, or that have another
    cost now, are dropped.
    """
    while connected:
        cost, number = heappop(connected)
        if number in waiting and kept[number] == cost:
            if is_connected(items[number]):
                return number
            heappush(others, (cost, number))
    while others[0][1] not in waiting or kept[others[0][1]] != others[0][0]:
        heappop(others)
    return None


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
