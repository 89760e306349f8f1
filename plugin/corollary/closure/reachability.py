"""The transitive closure of a graph on arrays: components first, then what every component reaches.

That is kept in bits, a row a component, where the closure is dense, and in merged lists of successors
where it is sparse: a matrix is made only if it is no larger than the graph, or than what the lists have
turned out to be. Pairs come out of it sorted.

What edges more or less change is the difference of two such closures, over that part of the graph that
leads to the edges or is reached from there. Such matrices are worked out block by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from corollary.closure.strong_components import Components, Nodes, compressed, words_for
from corollary.columns.pairs import (
    NO_KEYS,
    difference,
    distinct,
    distinct_of_sorted,
    firsts,
    intersection,
    pack,
    seconds,
    sort_keys,
    swap,
)
from corollary.columns.relation import Relation
from corollary.kernels.compiled import go_on
from corollary.kernels.graph import Bits, meet, walk, write_bits
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Keys

WORDS_AN_EDGE = 16
"""A matrix of no more words than so many for each edge is made without more ado."""

PAIRS_A_WORD = 2
"""So many pairs in a list are worth a word of a matrix."""

WORDS_A_STEP = 8
"""In the time in which a walk reaches one more node, so many words of a matrix are worked out."""

MOST_WORDS = 1 << 22
"""A matrix that is only looked at is made in blocks of no more words."""

SPARSE_IDS = 8
"""A table of all ids between the least and the greatest beats searching, up to so many for each term."""


def close_keys(edges: Keys, known: Keys = NO_KEYS) -> Keys:
    """The transitive closure of a relation given as packed pairs, sorted and unique.

    Edges that are ``known`` (sorted) are left out.
    """
    if not edges.size:
        return edges
    nodes, start, end = _numbered(edges)
    components = Components.of(nodes.size, start, end)
    words = components.cyclic.size * words_for(nodes.size)
    if words > WORDS_AN_EDGE * edges.size:
        paths = components.lists(nodes.astype(np.uint64), PAIRS_A_WORD * words)
        if paths is not None:
            return difference(sort_keys(paths), known)
    return _written(components.bits(), components.of_node, nodes, nodes, known)


def close_graph(size: int, sources: Nodes, targets: Nodes) -> tuple[Column, Column]:
    """All (u, v) such that a path of at least one edge leads from u to v, in nodes 0..size-1.

    Every pair comes once, in no particular order.
    """
    pairs = Components.of(size, sources, targets).lists(np.arange(size, dtype=np.uint64))
    assert pairs is not None
    return firsts(pairs), seconds(pairs)


def close_from(edges: Relation, sources: Column, *, symmetric: bool = False) -> Keys:
    """The part of a relation's transitive closure that starts at some sources (ascending), sorted.

    With ``symmetric``, every edge may be gone over both ways. Only the part of the graph that they reach is
    looked at.
    """
    part = Part.beyond(edges, sources, symmetric=symmetric)
    walked = part.walked(sources)
    if walked is not None:
        return walked
    components = part.components()
    numbers = _numbers(sources, part.nodes)
    sources, rows = sources[numbers >= 0], components.of_node[numbers[numbers >= 0]]
    blocks = [
        _written(components.bits(first, last), rows, sources, part.nodes[first:last])
        for first, last in part.blocks()
    ]
    return sort_keys(np.concatenate(blocks))


def pairs_on_paths(pairs: Keys, edges: Relation, *, symmetric: bool = False) -> Keys:
    """Those of some pairs (sorted) that a path over edges joins; both ways if ``symmetric``."""
    if not pairs.size:
        return pairs
    sources = distinct_of_sorted(firsts(pairs))
    part = Part.beyond(edges, sources, symmetric=symmetric)
    walked = part.walked(sources)
    if walked is not None:
        return intersection(pairs, walked)
    components = part.components()
    start, bit = _numbers(firsts(pairs), part.nodes), _numbers(seconds(pairs), part.nodes)
    row = components.of_node[start]
    is_joined = np.zeros(pairs.size, np.bool_)
    for first, last in part.blocks():
        here = np.flatnonzero((first <= bit) & (bit < last) & (start >= 0))
        place = bit[here] - first
        is_joined[here] = components.bits(first, last)[row[here], place >> 3] >> (place & 7) & 1
    return pairs[is_joined]


def closure_difference(more: Relation, fewer: Relation, starts: Column, *, symmetric: bool = False) -> Keys:
    """The paths over some edges that there are not over fewer of them, sorted.

    ``starts`` is where the paths over edges that are only among the former may go over them: the first
    ends of these edges, and the second ones if ``symmetric``.
    """
    sources = nodes_met(more, starts, backward=True, symmetric=symmetric)
    part = Part.beyond(more, sources, symmetric=symmetric)
    return part.paths_lost(part.within(fewer, symmetric=symmetric), sources)


@dataclass(slots=True)
class Part:
    """Part of a graph: edges (packed pairs) from and to nodes (ascending), and the numbers of their ends."""

    nodes: Column
    start: Nodes
    end: Nodes
    edges: Keys

    @staticmethod
    def beyond(edges: Relation, sources: Column, *, symmetric: bool) -> Part:
        """What is reached from sources."""
        part = edges_beyond(edges, sources, symmetric=symmetric)
        return Part(*_numbered(part), part)

    def within(self, edges: Relation, *, symmetric: bool) -> Part:
        """The same nodes with those edges only that are among others, either way if ``symmetric``."""
        kept = edges.contains(self.edges)
        if symmetric:
            kept |= edges.contains(swap(self.edges))
        return Part(self.nodes, self.start[kept], self.end[kept], self.edges[kept])

    def paths_lost(self, rest: Part, sources: Column) -> Keys:
        """The paths that are lost if only the rest of the edges is left; all such paths are from sources."""
        before = self.walked(sources)
        after = None if before is None else rest.walked(sources)
        if before is not None and after is not None:
            return difference(before, after)
        with_all, with_few = self.components(), rest.components()
        blocks = []
        for first, last in self.blocks():
            bits = with_few.bits(first, last)[with_few.of_node]
            np.invert(bits, out=bits)
            bits &= with_all.bits(first, last)[with_all.of_node]
            changed = np.flatnonzero(bits.any(axis=1))
            blocks.append(_written(bits, changed, self.nodes[changed], self.nodes[first:last]))
        return sort_keys(np.concatenate(blocks))

    def components(self) -> Components:
        return Components.of(self.nodes.size, self.start, self.end)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Where blocks of columns begin and end, such that a matrix of one has few words."""
        size = 64 * max(1, MOST_WORDS // max(self.nodes.size, 1))
        return ((first, min(first + size, self.nodes.size)) for first in range(0, self.nodes.size, size))

    def walked(self, sources: Column) -> Keys | None:
        """What each source (ascending) reaches, as packed pairs, sorted; None if matrices take less time."""
        offsets, successors = compressed(self.nodes.size, self.start, self.end)
        numbers = _numbers(sources, self.nodes)
        sources, numbers = sources[numbers >= 0], numbers[numbers >= 0]
        closed = np.zeros(sources.size + 1, np.int64)
        most = self.nodes.size * words_for(self.nodes.size) // WORDS_A_STEP
        room = min(4 * self.start.size + 16, most)
        while True:
            reserve(8 * room)
            reached = np.empty(room, np.int64)
            if walk(go_on(), offsets, successors, numbers, closed, reached) == sources.size:
                break
            if room == most:
                return None
            room = min(4 * room, most)
        return sort_keys(pack(np.repeat(sources, np.diff(closed)), self.nodes[reached[: closed[-1]]]))


def nodes_met(edges: Relation, starts: Column, *, backward: bool = False, symmetric: bool = False) -> Column:
    """The starts and what they reach over edges, or what reaches them, ascending."""
    (base, added, removed), none = edges._parts, (NO_KEYS, NO_KEYS, NO_KEYS)
    forth = (base.keys, added.keys, removed.keys) if symmetric or not backward else none
    back = (base.by_object, added.by_object, removed.by_object) if symmetric or backward else none
    room = min(64 + 2 * starts.size, starts.size + len(edges))
    while True:
        met, table = np.empty(room, np.uint64), np.zeros(2 << room.bit_length(), np.uint64)
        count = meet(*forth, *back, starts.astype(np.uint64), table, met)
        if count >= 0:
            return np.sort(met[:count].astype(np.uint32))
        room = min(4 * room, starts.size + len(edges))  # an edge leads to one node


def edges_beyond(edges: Relation, sources: Column, *, symmetric: bool = False) -> Keys:
    """The edges on all paths from some sources; both ways if ``symmetric``, and in no particular order."""
    near = nodes_met(edges, sources, symmetric=symmetric)
    rows, targets = edges.objects_of(near)
    found = pack(near[rows], targets)
    if symmetric:
        rows, targets = edges.subjects_of(near)
        found = np.concatenate((found, pack(near[rows], targets)))
    return found


def _numbered(edges: Keys) -> tuple[Column, Nodes, Nodes]:
    """The nodes that edges join, ascending, and the numbers of their ends among these."""
    sources, targets = firsts(edges), seconds(edges)
    nodes = distinct(np.concatenate((sources, targets)))
    return nodes, _numbers(sources, nodes), _numbers(targets, nodes)


def _numbers(terms: Column, nodes: Column) -> Nodes:
    """Where terms stand among nodes (ascending); -1 for those that are no nodes."""
    if not nodes.size or not terms.size:
        return np.full(terms.size, -1)
    least, greatest = int(nodes[0]), int(nodes[-1])
    if greatest - least > SPARSE_IDS * max(nodes.size, terms.size):
        places = np.minimum(np.searchsorted(nodes, terms), nodes.size - 1)
        places[nodes[places] != terms] = -1
        return places
    table = np.full(greatest - least + 2, -1)
    table[nodes - nodes[0]] = np.arange(nodes.size)
    within = np.minimum(terms - nodes[0], greatest - least + 1)  # below zero is far above, in 32 bits
    numbers: Nodes = table[within]
    return numbers


def _written(rows: Bits, row_of: Nodes, sources: Column, nodes: Column, known: Keys = NO_KEYS) -> Keys:
    """For every source the nodes whose bits are set in its row, as packed pairs, sorted; no known ones."""
    counts = np.bitwise_count(rows.view(np.uint64)).sum(axis=1, dtype=np.int64)
    size = int(counts[row_of].sum()) - known.size
    reserve(8 * size)
    keys = np.empty(size, np.uint64)
    firsts_of_rows, seconds_of_bits = sources.astype(np.uint64), nodes.astype(np.uint64)
    write_bits(rows.reshape(-1), row_of, firsts_of_rows, seconds_of_bits, known, keys)
    return keys
