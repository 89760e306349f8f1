"""Shortest paths: why a transitive closure relates two ends.

Over explicit edges if these suffice, else over *near* ones too, which one rule makes from explicit data, or
over all edges that other rules derive, the cheapest ones first. Alternatives to the shortest path are the
shortest ones without one of its edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import islice, pairwise

import numpy as np

from corollary.columns.pairs import pack
from corollary.columns.triples import TripleIndex
from corollary.explain.proof import Fact
from corollary.kernels.sorted import Keys

Weights = dict[int, int]
"""How many rules an edge costs at least, by packed pair; edges that only the closure has are not there."""

FEW_NODES = 16
"""Between ends with more nodes than this a path over near edges is enough: there are too many other ways."""

SOME_NODES = 128
"""Between ends with more nodes than this only near edges are looked at."""

MOST_NODES = 1024
"""Between ends with more nodes than this only explicit edges are looked at."""

HOP = 1 << 20
"""A rule costs more than all hops together: few inferred edges are better than few edges."""

Edge = tuple[int, int]
Edges = Callable[[int], list[Edge]]
"""The edges from a node: where each leads, and its weight."""


class Paths:
    """Finds paths over one materialisation.

    ``weigh`` gives the weights of a predicate's facts among some sorted pairs, those that are near or all.
    Each path has up to ``detours`` alternatives, which avoid one of its edges.
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
        """Nodes of paths that explain a fact of a closed relation, the shortest first, without the fact.

        The other result is whether they are enough, because there are too many other ways.
        """
        start, predicate, end = fact
        closure, given = self._index.relation(predicate), self._explicit.relation(predicate)
        nodes = frozenset(set(closure.objects(start)) & set(closure.subjects(end)) | {start, end})

        def given_edges(node: int) -> list[Edge]:
            return [(other, 1) for other in given.objects(node) if other in nodes]

        found = list(self._paths(start, end, given_edges))
        if found or len(nodes) > MOST_NODES:
            return found, bool(found) and len(nodes) > FEW_NODES
        near = self._among(predicate, nodes, near=True)
        found = list(self._paths(start, end, near))
        if (found and len(nodes) > FEW_NODES) or len(nodes) > SOME_NODES:
            return found, bool(found) and end not in dict(near(start))
        others = self._paths(start, end, self._among(predicate, nodes, near=False))
        return found + [path for path in others if path not in found], False

    def _paths(self, start: int, end: int, edges: Edges) -> Iterator[list[int]]:
        """The shortest path, and the shortest ones without one of its edges."""
        shortest = _shortest(start, end, edges, (start, end))
        if shortest is None:
            return
        yield shortest
        told = [shortest]
        for avoided in islice(pairwise(shortest), self._detours):
            path = _shortest(start, end, edges, avoided)
            if path is not None and path not in told:
                told.append(path)
                yield path

    def _among(self, predicate: int, nodes: frozenset[int], *, near: bool) -> Edges:
        """The edges between nodes that are not the closure's own; the members of a clique share them."""
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
    """Dijkstra's algorithm, without the edge from start to end and another one to avoid."""
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
