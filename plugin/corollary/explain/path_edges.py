"""The edges between some nodes, for searches of shortest paths: found for many nodes at a time.

An edge from a node costs a run of some rules. One run for many nodes costs hardly more than for one, but a
search may need few of the nodes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corollary.columns.pairs import among, firsts, seconds
from corollary.explain.tuning import MAX_ROWS_OF_EDGES, MIN_NODES_OF_EDGES, NODES_AHEAD
from corollary.kernels.sorted import Column, Keys

Weighed = tuple[Keys, NDArray[np.int64]]
"""Packed edges, in any order and with duplicates, and for each a lower bound of its rule applications."""

HOP = 1 << 20
"""The weight of one rule application; an edge adds 1. So few rule applications come before few edges."""

Edge = tuple[int, int]
Edges = Callable[[int], list[Edge]]
"""The edges from a node, as pairs (node, weight)."""


class Searched:
    """Edges for several searches, all without the goal, and sets of nodes that none of the edges leaves."""

    def __init__(self, edges: Edges) -> None:
        self.edges = edges
        self._parts: list[set[int]] = []

    def separates(self, start: int, end: int) -> bool:
        """Whether a search before has shown that no path leads from one node to the other."""
        return any(start in part and end not in part for part in self._parts)

    def note(self, part: set[int]) -> None:
        """Note the nodes that a search without result has reached. Precondition: no edge leaves them."""
        self._parts.append(part)


class LazyEdges:
    """The edges between some nodes, found when the first node is asked for, with those of other nodes.

    ``nodes`` ascend. ``leaving`` gives the edges from some of them, ascending. Each run of ``leaving`` takes
    at most MIN_NODES_OF_EDGES nodes, and NODES_AHEAD for each node that was asked for, those with the nearest
    ids: documents mostly state a chain in order. If nodes have many edges, fewer are taken.
    """

    def __init__(self, nodes: Column, leaving: Callable[[Column], Weighed]) -> None:
        self._nodes = nodes
        self._leaving = leaving
        self._waiting = nodes
        self._after: dict[int, list[Edge]] = {}
        self._asked = 0
        self._rows = 0

    def __call__(self, node: int) -> list[Edge]:
        self._asked += 1
        found = self._after.get(node)
        if found is None:
            batch = self._taken(node)
            self._after.update((other, []) for other in batch.tolist())
            keys, weights = self._leaving(batch)
            self._rows += keys.size
            add_edges(self._after, self._nodes, keys, weights)
            found = self._after[node]
        return found

    def _taken(self, node: int) -> Column:
        """The nodes of the next run, which wait no longer: ``node`` is one."""
        waiting = self._waiting
        width = MIN_NODES_OF_EDGES + NODES_AHEAD * self._asked
        if self._rows:
            known = self._nodes.size - waiting.size
            width = max(1, min(width, MAX_ROWS_OF_EDGES * known // self._rows))
        place = int(np.searchsorted(waiting, node))
        first = max(0, min(place - width // 2, waiting.size - width))
        self._waiting = np.concatenate((waiting[:first], waiting[first + width :]))
        return waiting[first : first + width]


def add_edges(after: dict[int, list[Edge]], nodes: Column, keys: Keys, weights: NDArray[np.int64]) -> None:
    """Add the edges that end at one of the sorted nodes to ``after``, each with its least weight."""
    inside = among(seconds(keys), nodes)
    keys, weights = least_weights(keys[inside], weights[inside])
    rows = zip(firsts(keys).tolist(), seconds(keys).tolist(), (weights * HOP + 1).tolist(), strict=True)
    for start, end, weight in rows:
        after[start].append((end, weight))


def least_weights(keys: Keys, weights: NDArray[np.int64]) -> Weighed:
    """The distinct edges, sorted, each with its least weight."""
    order = np.lexsort((weights, keys))
    keys, weights = keys[order], weights[order]
    first = np.ones(keys.size, np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    return keys[first], weights[first]
