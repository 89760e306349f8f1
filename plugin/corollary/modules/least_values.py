"""Least values followed through a change of edges and seeds (Ramalingam, Reps, An Incremental Algorithm for a
Generalization of the Shortest-Path Problem, 1996).

1. A value V(y) is *affected* if it has no support left: no seed with that value, and no edge from an x that
   is not affected, with V(x) < V(y) and V(x) + w = V(y). Only those y are examined that lost an edge or a
   seed with their value, or a support that became affected. V(x) < V(y) excludes that values support each
   other along a cycle of length 0; y that are affected for this reason alone get the same value again. If
   steps may be negative, no such edge is looked for: all values that depend on a lost one are affected.
2. New values: of affected y by their seeds and the edges from outside, of others by new edges and seeds, and
   from there along edges as far as values get better.

Example: a→b 1, a→c 1, b→d 1, c→d 1, seed a = 0. Remove a→b: b is affected; d keeps 2 by c.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from math import inf

import numpy as np

from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import NO_KEYS, firsts
from corollary.execute.batches import Batch
from corollary.expressions.operators import Real, add
from corollary.kernels.limits import check
from corollary.kernels.sorted import Keys
from corollary.modules.recursive_aggregate import Edges, LeastValues
from corollary.modules.tuning import MAX_SHARE_OF_EDGES_FOLLOWED, MIN_EDGES_FOLLOWED

Edge = tuple[int, int, Real]


class TooManyEdges(Exception):
    """Computing all values from scratch takes less time."""


class ValueChange:
    """One change. ``before`` is I before it; ``index`` is I with the edges and the new seeds after it.

    ``are_seeds`` returns those of some facts of the predicate that are seeds after the change.
    """

    def __init__(
        self, module: LeastValues, before: TripleIndex, index: TripleIndex, are_seeds: Callable[[Keys], Keys]
    ) -> None:
        predicate = module.shape.predicate
        self._module = module
        self._numbers = module.numbers
        self._index = index
        self._facts: Relation = index.relation(predicate)
        self._facts_before: Relation = before.relation(predicate)
        self._are_seeds = are_seeds
        self._lost: set[int] = set()  # facts that were seeds, packed
        self._left = max(MIN_EDGES_FOLLOWED, int(module.size * MAX_SHARE_OF_EDGES_FOLLOWED))
        self._old: dict[int, Real | None] = {}
        self._new: dict[int, Real | None] = {}  # where it may differ from the old value
        self._affected: set[int] = set()
        self._asked: set[int] = set()

    def follow(self, lost: Edges, new: Edges, lost_seeds: Keys, new_seeds: Keys) -> tuple[Keys, Keys]:
        """The facts that are neither seeds nor derived any more, and the derived facts that are new.

        ``lost`` edges may have been replaced by equal ones. ``lost_seeds`` are in I and no seeds any more.
        Raises ``TooManyEdges``.
        """
        self._numbers.trim()
        self._lost = set(lost_seeds.tolist())
        self._affect(self._suspects(lost, lost_seeds))
        self._improve(self._restart(new, new_seeds))
        touched = self._asked | self._new.keys()
        touched |= {*firsts(lost_seeds).tolist(), *firsts(new_seeds).tolist()}
        return self._outcome(sorted(touched))

    # Old values, seeds and edges

    def _look_up(self, nodes: Iterable[int]) -> None:
        """Make sure that the old values of some nodes are known."""
        unknown = [node for node in nodes if node not in self._old]
        self._old.update(dict.fromkeys(unknown))
        for node, fact in _facts_of(self._facts_before, unknown):
            key, known = self._numbers.key(fact), self._old[node]
            if key is not None and (known is None or key < known):
                self._old[node] = key

    def _value(self, node: int) -> Real | None:
        """The value as far as it is known. Precondition: the old value was looked up."""
        return self._new[node] if node in self._new else self._old[node]

    def _seeds(self, nodes: Collection[int]) -> dict[int, set[int]]:
        """The terms of the seeds of some nodes. Only a fact with the old value may be no seed."""
        self._look_up(nodes)
        found: dict[int, set[int]] = {node: set() for node in nodes}
        unsure = []
        for node, term in _facts_of(self._facts, nodes):
            if node << 32 | term in self._lost:
                continue
            if self._numbers.key(term) == self._old[node] is not None:
                unsure.append(node << 32 | term)
            else:
                found[node].add(term)
        if unsure:
            for key in self._are_seeds(np.array(sorted(unsure), np.uint64)).tolist():
                found[key >> 32].add(key & 0xFFFFFFFF)
        return found

    def _edges(self, nodes: Collection[int], variable: int) -> Iterator[Edge]:
        """The edges whose source, or group, is one of the nodes."""
        if not nodes:
            return iter(())
        column = np.array(list(nodes), np.uint32)
        return self._listed(self._module.edges(self._index, Batch(column.size, {variable: column})))

    def _listed(self, edges: Edges) -> Iterator[Edge]:
        check()
        self._left -= len(edges)
        if self._left < 0:
            raise TooManyEdges
        steps = map(self._numbers.step, edges.steps.tolist())
        for source, group, step in zip(edges.sources.tolist(), edges.groups.tolist(), steps, strict=True):
            if step is not None:
                yield source, group, step

    def _along(self, edges: Iterable[Edge]) -> list[tuple[int, int, Real, Real]]:
        """Edges with the sums of their source's value and their step. Old values are looked up."""
        listed = list(edges)
        self._look_up({node for source, group, _ in listed for node in (source, group)})
        found = []
        for source, group, step in listed:
            value = self._value(source)
            if value is not None:
                found.append((source, group, value, add(value, step)))
        return found

    # 1. Affected values

    def _suspects(self, lost: Edges, lost_seeds: Keys) -> set[int]:
        """The nodes that lost an edge or a seed with their value."""
        found = {group for _, group, _, total in self._along(self._listed(lost)) if total == self._old[group]}
        self._look_up(firsts(lost_seeds).tolist())
        for key in lost_seeds.tolist():
            value = self._numbers.key(key & 0xFFFFFFFF)
            if value is not None and value == self._old[key >> 32]:
                found.add(key >> 32)
        return found

    def _affect(self, frontier: set[int]) -> None:
        """Find the affected nodes: those of the frontier without support, and what depends on them."""
        while frontier := frontier - self._affected:
            self._asked |= frontier
            unsupported = frontier - self._supported(frontier)
            self._affected |= unsupported
            depending = self._along(self._edges(unsupported, self._module.shape.source))
            frontier = {group for _, group, _, total in depending if total == self._old[group]}

    def _supported(self, nodes: set[int]) -> set[int]:
        """Those of the nodes whose value has a seed, or an edge from a node that is not affected."""
        seeds = self._seeds(nodes)
        found = {
            node for node in nodes if any(self._numbers.key(term) == self._old[node] for term in seeds[node])
        }
        if self._module.may_fall:
            return found
        entering = self._along(self._edges(nodes - found, self._module.shape.group))
        for source, group, value, total in entering:
            own = self._old[group]
            if own is not None and total == own and value < own and source not in self._affected:
                found.add(group)
        return found

    # 2. New values

    def _restart(self, new: Edges, new_seeds: Keys) -> set[int]:
        """Give affected nodes, and those with new edges or seeds, the best values by their surroundings."""
        self._new = dict.fromkeys(self._affected)
        frontier: set[int] = set()
        for node, terms in self._seeds(self._affected).items():
            for term in terms:
                self._lower(node, self._numbers.key(term), frontier)
        self._look_up(firsts(new_seeds).tolist())
        for key in new_seeds.tolist():
            self._lower(key >> 32, self._numbers.key(key & 0xFFFFFFFF), frontier)
        entering = self._along(self._edges(self._affected, self._module.shape.group))
        for _, group, _, total in (*entering, *self._along(self._listed(new))):
            self._lower(group, total, frontier)
        return frontier

    def _improve(self, frontier: set[int]) -> None:
        """Follow better values along edges."""
        while frontier:
            following: set[int] = set()
            for _, group, _, total in self._along(self._edges(frontier, self._module.shape.source)):
                self._lower(group, total, following)
            frontier = following

    def _lower(self, node: int, value: Real | None, lowered: set[int]) -> None:
        """Set a value if it is better than that known."""
        known = self._value(node)
        if value is not None and value < (inf if known is None else known):
            self._new[node] = value
            lowered.add(node)

    # Facts

    def _outcome(self, touched: list[int]) -> tuple[Keys, Keys]:
        """As ``follow``, from the new values of the touched nodes."""
        seeds = self._seeds(touched)
        gained: set[int] = set()
        present = {node << 32 | term for node, term in _facts_of(self._facts, touched)}
        deleted = {key for key in present if key & 0xFFFFFFFF not in seeds[key >> 32]}
        for node in touched:
            value = self._value(node)
            keys = [key for term in seeds[node] if (key := self._numbers.key(term)) is not None]
            if value is not None and value < min(keys, default=inf):
                gained.add(node << 32 | self._numbers.term(value))
        return _packed(deleted - gained), _packed(gained - present)


def _facts_of(relation: Relation, nodes: Collection[int]) -> Iterator[tuple[int, int]]:
    """The facts of a relation with these subjects."""
    if not nodes:
        return iter(())
    column = np.array(list(nodes), np.uint32)
    rows, terms = relation.objects_of(column)
    return zip(column[rows].tolist(), terms.tolist(), strict=True)


def _packed(keys: set[int]) -> Keys:
    return np.array(sorted(keys), np.uint64) if keys else NO_KEYS
