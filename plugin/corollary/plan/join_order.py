"""Join orders: the one place where it is decided which atom is matched next.

The order is greedy: next is whatever atom costs least given the variables bound so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import TypeVar

from corollary.plan.steps import Size
from corollary.program.compile import Atom

Item = TypeVar("Item")
Cost = tuple[int, bool, int]
"""A rank by how many ends are bound, whether none is, and the size of the relation. The least comes first."""


def cost(
    atom: Atom,
    bound: Set[int],
    size: Size,
    *,
    is_guard: bool = False,
    guarded: frozenset[int] = frozenset(),
) -> Cost:
    """What it costs to match an atom next.

    A product is dearest: an atom that shares no variable with the rows so far. What guards bind
    (``guarded``) is the same constant in all rows of an instance, and connects no data with data.
    """
    ends = sum(term >= 0 or term in bound for term in (atom.s, atom.o))
    open_predicate = atom.p < 0 and atom.p not in bound
    linking = bound if is_guard else bound - guarded
    connected = bool(atom.variables & linking) or not linking or not atom.variables
    rank = (2 - ends) + 2 * open_predicate + 4 * (not connected) - (is_guard and ends != 0)
    return rank, ends == 0 and not is_guard, size(atom)


def ordered(
    items: Sequence[Item],
    atom_of: Callable[[Item], Atom],
    bound: Iterable[int],
    cost_of: Callable[[Item, set[int]], Cost],
) -> list[Item]:
    """The items in the order of matching; of those that cost the same the first comes first."""
    waiting, known, found = list(items), set(bound), []
    while waiting:
        chosen = min(waiting, key=lambda item: cost_of(item, known))
        waiting.remove(chosen)
        found.append(chosen)
        known |= atom_of(chosen).variables
    return found


def ordered_atoms(atoms: Sequence[Atom], bound: Iterable[int], size: Size) -> list[Atom]:
    """Atoms without guards in the order of matching, from rows that have the bound variables."""
    return ordered(atoms, lambda atom: atom, bound, lambda atom, known: cost(atom, known, size))
