"""Shortest paths: proofs of facts of a transitive closure.

A path goes over explicit edges if there is one. Else it may also use *near* edges, which one rule derives
from explicit data. Else it may use all edges that other rules derive, if few nodes are between the ends. If
many are, it may use *far* edges, derived level by level: a level reads the edges of the levels before it, and
other relations as far as few of their facts are at these nodes. Edges that need few rules are preferred. The
alternatives of a shortest path are the shortest paths that avoid one of its edges.

Cost of a path: O(e log e) for e edges between the ends. The pairs of nodes are enumerated only where
MAX_NODES_FOR_ALL_EDGES allows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count, islice, pairwise

import numpy as np
from numpy.typing import NDArray

from corollary.columns import Pairs, Relation, TripleIndex
from corollary.columns.pairs import NO_KEYS, among, distinct, firsts, pack, seconds, sorted_unique
from corollary.explain.path_edges import (
    HOP,
    Edge,
    Edges,
    LazyEdges,
    Searched,
    Weighed,
    add_edges,
    least_weights,
)
from corollary.explain.proof import Fact
from corollary.explain.tuning import (
    MAX_EDGES_CACHED,
    MAX_FACTS_READ_PER_NODE,
    MAX_FAR_LEVELS,
    MAX_NODES_FOR_ALL_EDGES,
    MAX_NODES_FOR_ALL_PATHS,
    MAX_NODES_FOR_DETOURS,
    MAX_ROWS_OF_EDGES,
)
from corollary.kernels.sorted import Column, Keys

Weights = dict[int, int]
"""Lower bounds on the rule applications for edges, by packed pair; the closure's own edges are left out."""


class Paths:
    """Finds paths in one materialisation that avoid the fact ``goal``.

    ``weigh(predicate, keys)`` gives the weights of facts (packed, sorted).
    ``leaving(predicate, nodes, data)`` gives the facts from some nodes (ascending) that are explicit, or that
    one rule derives from ``data``. For each shortest path, up to ``detours`` alternatives are searched; if
    all its edges are explicit, or many nodes are between its ends, only with ``further``, for further proofs.
    ``reached`` counts the nodes that all searches have reached.
    """

    def __init__(
        self,
        index: TripleIndex,
        explicit: TripleIndex,
        weigh: Callable[[int, Keys], Weights],
        leaving: Callable[[int, Column, TripleIndex], Weighed],
        goal: Fact,
        detours: int,
        further: bool,
    ) -> None:
        self._index = index
        self._explicit = explicit
        self._weigh = weigh
        self._leaving = leaving
        self._goal = goal
        self._detours = detours
        self._further = further
        self.reached = 0
        self._edges: dict[tuple[str, int, bytes], Searched] = {}
        self._levels: dict[tuple[int, bytes], tuple[list[Searched], Iterator[Edges]]] = {}
        self._derived: dict[int, list[Keys]] = {}

    def sizes(self, predicate: int, keys: Keys) -> NDArray[np.int64]:
        """Upper bounds of the numbers of nodes between the ends of facts of a closed relation."""
        closure = self._index.relation(predicate)
        return np.minimum(closure.subject_counts(firsts(keys)), closure.object_counts(seconds(keys)))

    def derived(self, predicate: int) -> Keys:
        """The near and far edges found so far, sorted: other rules than the closure's derive them."""
        found = self._derived.get(predicate, [NO_KEYS])
        if len(found) > 1:
            found = self._derived[predicate] = [sorted_unique(np.concatenate(found))]
        return found[0]

    def between(self, fact: Fact) -> Column:
        """The nodes between the ends of a fact of a closed relation, ascending, without the ends."""
        start, predicate, end = fact
        closure = self._index.relation(predicate)
        first, last = np.array([start], np.uint32), np.array([end], np.uint32)
        if closure.subject_counts(first)[0] <= closure.object_counts(last)[0]:
            nodes = distinct(closure.objects_of(first)[1])
            nodes = nodes[closure.contains(pack(nodes, np.full_like(nodes, end)))]
        else:
            nodes = distinct(closure.subjects_of(last)[1])
            nodes = nodes[closure.contains(pack(np.full_like(nodes, start), nodes))]
        inner: Column = nodes[(nodes != start) & (nodes != end)]
        return inner

    def find(self, fact: Fact, between: Column) -> tuple[list[list[int]], bool]:
        """The nodes of paths that prove a fact of a closed relation without the fact, the shortest first.

        Also returns whether these paths are enough, since the fact would have too many other rule instances.
        """
        start, predicate, end = fact
        nodes = distinct(np.append(between, np.array([start, end], np.uint32)))
        is_long = nodes.size > MAX_NODES_FOR_ALL_PATHS
        found = list(self._paths(fact, self._stated(predicate, nodes), self._further))
        if found:
            return found, is_long
        near = self._near(predicate, nodes)
        found = list(self._paths(fact, near, self._further or nodes.size <= MAX_NODES_FOR_DETOURS))
        if found and is_long:
            return found, all(other != end for other, _ in near.edges(start))
        if nodes.size > MAX_NODES_FOR_ALL_EDGES:
            found = self._over_far_edges(fact, nodes)
            return found, bool(found)
        others = self._paths(fact, self._all(predicate, nodes), True)
        return found + [path for path in others if path not in found], False

    def _paths(self, fact: Fact, searched: Searched, with_detours: bool) -> Iterator[list[int]]:
        """The shortest path, then the shortest paths that avoid one of its first ``detours`` edges."""
        start, predicate, end = fact
        barred = {(start, end)}
        if predicate == self._goal[1]:
            barred.add((self._goal[0], self._goal[2]))
        if searched.separates(start, end):
            return
        shortest, reached = self._shortest(start, end, searched.edges, barred)
        if shortest is None:
            if fact == self._goal or all(other != end for other, _ in searched.edges(start)):
                searched.note(reached | {start})
            return
        yield shortest
        reported = [shortest]
        for avoided in islice(pairwise(shortest), self._detours if with_detours else 0):
            path, _ = self._shortest(start, end, searched.edges, barred | {avoided})
            if path is not None and path not in reported:
                reported.append(path)
                yield path

    def _shortest(
        self, start: int, end: int, edges: Edges, barred: Collection[Edge]
    ) -> tuple[list[int] | None, set[int]]:
        """The nodes of a shortest path (Dijkstra) without the barred edges, and all nodes reached."""
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
                if other not in before and (node, other) not in barred:
                    heappush(queue, (total + weight, other, node))
        self.reached += len(before)
        if end not in before:
            return None, set(before)
        nodes = [end, before[end]]
        while nodes[-1] != start:
            nodes.append(before[nodes[-1]])
        return nodes[::-1], set(before)

    def _stated(self, predicate: int, nodes: Column) -> Searched:
        """The explicit edges between nodes."""
        relation = self._explicit.relation(predicate)

        def leaving(some: Column) -> Weighed:
            rows, objects = relation.objects_of(some)
            return pack(some[rows], objects), np.zeros(rows.size, np.int64)

        return self._cached("stated", predicate, nodes, lambda: LazyEdges(nodes, leaving))

    def _near(self, predicate: int, nodes: Column) -> Searched:
        """The explicit and the near edges between nodes."""

        def leaving(some: Column) -> Weighed:
            keys, weights = self._leaving(predicate, some, self._explicit)
            self._derived.setdefault(predicate, []).append(keys)
            return keys, weights

        return self._cached("near", predicate, nodes, lambda: LazyEdges(nodes, leaving))

    def _all(self, predicate: int, nodes: Column) -> Searched:
        """The edges between nodes that not only the closure derives."""

        def made() -> Edges:
            pairs = pack(np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size))
            known = pairs[self._index.relation(predicate).contains(pairs)]
            edges: dict[int, list[Edge]] = {}
            for key, weight in self._weigh(predicate, known).items():
                edges.setdefault(key >> 32, []).append((key & 0xFFFFFFFF, weight * HOP + 1))
            return lambda node: edges.get(node, [])

        return self._cached("all", predicate, nodes, made)

    def _cached(self, kind: str, predicate: int, nodes: Column, make: Callable[[], Edges]) -> Searched:
        """The edges between nodes from the cache, or made: the pairs of a clique share them."""
        key = kind, predicate, nodes.tobytes()
        edges = self._edges.get(key)
        if edges is None:
            if len(self._edges) >= MAX_EDGES_CACHED:
                self._edges.clear()
            edges = self._edges[key] = Searched(make())
        return edges

    def _over_far_edges(self, fact: Fact, nodes: Column) -> list[list[int]]:
        """The shortest paths over the far edges of the first level that has any path."""
        key = fact[1], nodes.tobytes()
        if key not in self._levels:
            if len(self._levels) >= MAX_EDGES_CACHED:
                self._levels.clear()
            self._levels[key] = [], self._far(fact[1], nodes)
        known, further = self._levels[key]
        for level in count():
            if level == len(known):
                edges = next(further, None)
                if edges is None:
                    break
                known.append(Searched(edges))
            if found := list(self._paths(fact, known[level], self._further)):
                return found
        return []

    def _far(self, predicate: int, nodes: Column) -> Iterator[Edges]:
        """The far edges between nodes, level by level; at last the generators of a compressed closure."""
        relations, large = self._at(nodes)
        known, weights = NO_KEYS, np.empty(0, np.int64)
        for _ in range(MAX_FAR_LEVELS):
            relations[predicate] = Relation(Pairs(known))
            data = TripleIndex(dict(relations))
            keys, more = self._leaving(predicate, nodes, data)
            new = ~among(keys, known) & among(seconds(keys), nodes)
            has_grown = self._grow(relations, large - {predicate}, nodes, data)
            if keys.size > MAX_ROWS_OF_EDGES or not (has_grown or new.any()):
                break
            weights = np.concatenate((weights, more[new]))
            known, weights = least_weights(np.concatenate((known, keys[new])), weights)
            self._derived.setdefault(predicate, []).append(known)
            yield _edges(nodes, known, weights)
        relation = self._index.relation(predicate)
        if relation.is_compressed:
            keys = relation.common(relation.generators())
            keys = keys[among(firsts(keys), nodes) & among(seconds(keys), nodes)]
            self._derived.setdefault(predicate, []).append(keys)
            yield _edges(nodes, keys, np.ones(keys.size, np.int64))

    def _at(self, nodes: Column) -> tuple[dict[int, Relation], set[int]]:
        """The relations as far as they are read for far edges, and the *large* ones.

        A relation is large if it has many facts at the nodes. Of a large one, the generators are read if it
        is compressed, else the explicit facts, and what rules derive from these.
        """
        most = MAX_FACTS_READ_PER_NODE * nodes.size
        found: dict[int, Relation] = {}
        large: set[int] = set()
        for predicate, relation in self._index.relations():
            found[predicate] = relation
            if len(relation) <= most:
                continue
            if relation.subject_counts(nodes).sum() + relation.object_counts(nodes).sum() > most:
                large.add(predicate)
                found[predicate] = self._explicit.relation(predicate)
                if relation.is_compressed:
                    found[predicate] = Relation(Pairs(relation.common(relation.generators())))
        return found, large

    def _grow(
        self, relations: dict[int, Relation], large: Iterable[int], nodes: Column, data: TripleIndex
    ) -> bool:
        """Add what one rule derives from ``data`` to large relations. Returns whether there is any."""
        has_grown = False
        for predicate in large:
            keys = sorted_unique(self._leaving(predicate, nodes, data)[0])
            before = relations[predicate]
            if keys.size <= MAX_ROWS_OF_EDGES and not before.contains(keys).all():
                has_grown = True
                relations[predicate] = before.plus(keys)
                self._derived.setdefault(predicate, []).append(keys)
        return has_grown


def _edges(nodes: Column, keys: Keys, weights: NDArray[np.int64]) -> Edges:
    """Given edges between nodes."""
    after: dict[int, list[Edge]] = {node: [] for node in nodes.tolist()}
    add_edges(after, nodes, keys, weights)
    return after.__getitem__
