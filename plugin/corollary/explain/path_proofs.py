"""Shortest paths: proofs of facts of a transitive closure.

A path goes over explicit edges if there is one. Else it may also use *near* edges, which one rule derives
from explicit data, or all edges that other rules derive; then edges that need few rules are preferred. The
alternatives of a shortest path are the shortest paths that avoid one of its edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import islice, pairwise

import numpy as np

from corollary.columns import TripleIndex
from corollary.columns.pairs import pack
from corollary.explain.proof import Fact
from corollary.explain.tuning import (
    MAX_NODES_FOR_ALL_EDGES,
    MAX_NODES_FOR_ALL_PATHS,
    MAX_NODES_FOR_NEAR_EDGES,
)
from corollary.kernels.sorted import Keys

Weights = dict[int, int]
"""Lower bounds on the rule applications for edges, by packed pair; the closure's own edges are left out."""


HOP = 1 << 20
"""The weight of one rule application; an edge adds 1. So few rule applications come before few edges."""

Edge = tuple[int, int]
Edges = Callable[[int], list[Edge]]
"""The edges from a node, as pairs (node, weight)."""


class Paths:
    """Finds paths in one materialisation.

    ``weigh(predicate, keys, near)`` gives the weights of facts (packed, sorted), of near edges only if
    ``near``. For each shortest path, up to ``detours`` alternatives are searched.
    """

    def __init__(
        self,
        index: TripleIndex,
        explicit: TripleIndex,
        weigh: Callable[[int, Keys, bool], Weights],
        detours: int,
    ) -> None:
        self._index = index
        self._explicit = explicit
        self._weigh = weigh
        self._detours = detours
        self._edges: dict[tuple[int, frozenset[int], bool], dict[int, list[Edge]]] = {}

    def find(self, fact: Fact) -> tuple[list[list[int]], bool]:
        """The nodes of paths that prove a fact of a closed relation without the fact, the shortest first.

        Also returns whether these paths are enough, since the fact would have too many other rule instances.
        """
        start, predicate, end = fact
        closure, given = self._index.relation(predicate), self._explicit.relation(predicate)
        nodes = frozenset(set(closure.objects(start)) & set(closure.subjects(end)) | {start, end})

        def given_edges(node: int) -> list[Edge]:
            return [(other, 1) for other in given.objects(node) if other in nodes]

        found = list(self._paths(start, end, given_edges))
        if found or len(nodes) > MAX_NODES_FOR_NEAR_EDGES:
            return found, bool(found) and len(nodes) > MAX_NODES_FOR_ALL_PATHS
        near = self._among(predicate, nodes, near=True)
        found = list(self._paths(start, end, near))
        if (found and len(nodes) > MAX_NODES_FOR_ALL_PATHS) or len(nodes) > MAX_NODES_FOR_ALL_EDGES:
            return found, bool(found) and end not in dict(near(start))
        others = self._paths(start, end, self._among(predicate, nodes, near=False))
        return found + [path for path in others if path not in found], False

    def _paths(self, start: int, end: int, edges: Edges) -> Iterator[list[int]]:
        """The shortest path, then the shortest paths that avoid one of its first ``detours`` edges."""
        shortest = _shortest(start, end, edges, (start, end))
        if shortest is None:
            return
        yield shortest
        reported = [shortest]
        for avoided in islice(pairwise(shortest), self._detours):
            path = _shortest(start, end, edges, avoided)
            if path is not None and path not in reported:
                reported.append(path)
                yield path

    def _among(self, predicate: int, nodes: frozenset[int], *, near: bool) -> Edges:
        """The edges between nodes that not only the closure derives. Cached: a clique's pairs share them."""
        edges = self._edges.get((predicate, nodes, near))
        if edges is None:
            edges = self._edges[predicate, nodes, near] = {}
            terms = np.array(sorted(nodes), np.uint32)
            pairs = pack(np.repeat(terms, terms.size), np.tile(terms, terms.size))
            known = pairs[self._index.relation(predicate).contains(pairs)]
            for key, weight in self._weigh(predicate, known, near).items():
                edges.setdefault(key >> 32, []).append((key & 0xFFFFFFFF, weight * HOP + 1))
        return lambda node: edges.get(node, [])


def _shortest(start: int, end: int, edges: Edges, avoided: Edge) -> list[int] | None:
    """The nodes of a shortest path (Dijkstra), without the edge (start, end) and without ``avoided``."""
    before: dict[int, int] = {}
    queue = [(0, start, start)]
    while queue:
        total, node, previous = heappop(queue)
        if node in before:
            continue
        if total:
            before[node] = previous
            if node == end:
                break
        for other, weight in edges(node):
            if other not in before and (node, other) not in ((start, end), avoided):
                heappush(queue, (total + weight, other, node))
    if end not in before:
        return None
    nodes = [end, before[end]]
    while nodes[-1] != start:
        nodes.append(before[nodes[-1]])
    return nodes[::-1]
