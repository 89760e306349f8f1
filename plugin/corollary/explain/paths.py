"""Shortest paths: why a transitive closure relates two ends.

Over explicit edges if these suffice, else over all edges that other rules derive, the cheapest ones first.
Alternatives to the shortest path are the shortest ones without one of its edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import islice, pairwise

import numpy as np

from corollary.explain.proof import Fact
from corollary.index.relation import Relation
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Keys

Weights = dict[int, int]
"""How many rules an edge costs at least, by packed pair; edges that only the closure has are not there."""

MOST_EDGES = 1 << 20
"""Between ends with more edges than this only explicit ones are looked at."""

HOP = 1 << 20
"""A rule costs more than all hops together: few inferred edges are better than few edges."""

MOST_DETOURS = 8
"""Alternatives avoid one of so many edges of the shortest path."""

Edge = tuple[int, int]
Edges = Callable[[int], list[Edge]]
"""The edges from a node: where each leads, and its weight."""


def find_paths(
    fact: Fact, index: TripleIndex, explicit: TripleIndex, weigh: Callable[[int, Keys], Weights]
) -> list[list[int]]:
    """Nodes of paths that explain a fact of a closed relation, the shortest first, without the fact."""
    start, predicate, end = fact
    closure, given = index.relation(predicate), explicit.relation(predicate)
    between = (set(closure.objects(start)) & set(closure.subjects(end))) - {start, end}

    def given_edges(node: int) -> list[Edge]:
        return [(other, 1) for other in given.objects(node) if other in between or other == end]

    found = list(_paths(start, end, given_edges))
    if found or (len(between) + 1) ** 2 > MOST_EDGES:
        return found
    edges = _derived(start, end, between, closure, lambda keys: weigh(predicate, keys))
    return list(_paths(start, end, lambda node: edges.get(node, [])))


def _derived(
    start: int, end: int, between: set[int], closure: Relation, weigh: Callable[[Keys], Weights]
) -> dict[int, list[Edge]]:
    """The edges between two ends that are not the closure's own."""
    pairs = [
        source << 32 | target
        for source in (start, *between)
        for target in closure.objects(source)
        if target in between or target == end
    ]
    edges: dict[int, list[Edge]] = {}
    for key, weight in weigh(np.sort(np.array(pairs, np.uint64))).items():
        edges.setdefault(key >> 32, []).append((key & 0xFFFFFFFF, weight * HOP + 1))
    return edges


def _paths(start: int, end: int, edges: Edges) -> Iterator[list[int]]:
    """The shortest path, and the shortest ones without one of its edges."""
    shortest = _shortest(start, end, edges, (start, end))
    if shortest is None:
        return
    yield shortest
    told = [shortest]
    for avoided in islice(pairwise(shortest), MOST_DETOURS):
        path = _shortest(start, end, edges, avoided)
        if path is not None and path not in told:
            told.append(path)
            yield path


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
