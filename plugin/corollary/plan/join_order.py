"""Join order: the cost of joining an atom next, and the greedy order by this cost.

All plans of rules use it. SPARQL's basic graph patterns are ordered while they are joined, by the sizes of
the intermediate results (``sparql.patterns``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from typing import TypeVar

from corollary.plan.steps import Size
from corollary.program.compile import Atom

Item = TypeVar("Item")
Cost = tuple[int, bool, int]
"""Compared in order: a rank (fewer bound ends rank higher), whether no end is bound, and the cardinality of
the relation."""


def cost(
    atom: Atom,
    bound: Set[int],
    size: Size,
    *,
    is_guard: bool = False,
    guarded: frozenset[int] = frozenset(),
) -> Cost:
    """The cost of joining an atom next.

    A Cartesian product costs most: a join with an atom that shares no bound variable. ``guarded`` variables
    do not connect data atoms, because they have the same value in all bindings of a rule instance.
    """
    ends = (atom.s >= 0 or atom.s in bound) + (atom.o >= 0 or atom.o in bound)
    open_predicate = atom.p < 0 and atom.p not in bound
    linking = bound if is_guard else bound - guarded
    connected = not (linking and atom.variables and atom.variables.isdisjoint(linking))
    rank = (2 - ends) + 2 * open_predicate + 4 * (not connected) - (is_guard and ends != 0)
    return rank, ends == 0 and not is_guard, size(atom)


def ordered(
    items: Sequence[Item],
    atom_of: Callable[[Item], Atom],
    bound: Iterable[int],
    cost_of: Callable[[set[int], Item], Cost],
) -> list[Item]:
    """The items in join order, from rows that have the ``bound`` variables. Ties keep the given order."""
    waiting, known, found = list(items), set(bound), []
    while len(waiting) > 1:
        chosen = min(waiting, key=partial(cost_of, known))
        waiting.remove(chosen)
        found.append(chosen)
        known |= atom_of(chosen).variables
    return [*found, *waiting]


def ordered_atoms(atoms: Sequence[Atom], bound: Iterable[int], size: Size) -> list[Atom]:
    """Atoms in join order, none of them a guard, from rows that have the ``bound`` variables."""
    return ordered(atoms, lambda atom: atom, bound, lambda known, atom: cost(atom, known, size))
