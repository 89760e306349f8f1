"""The transitive closure of a graph on arrays: components first, then what every component reaches.

That is kept in bits, a row a component, where the closure is dense, and in merged lists of successors
where it is sparse: a matrix is made only if it is no larger than the graph, or than what the lists have
turned out to be. Pairs come out of it sorted.

What edges more or less change is the difference of two such closures, over that part of the graph that
leads to the edges or is reached from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corollary.index.pairs import NO_KEYS, difference, distinct, firsts, pack, seconds, sorted_unique, swap
from corollary.index.relation import Relation
from corollary.kernels.graph import Bits, mark, reachable, reachable_bits, strong_components, walk, write_bits
from corollary.kernels.sorted import Column, Keys

Nodes = NDArray[np.int64]

WORDS_AN_EDGE = 16
"""A matrix of no more words than so many for each edge is made without more ado."""

PAIRS_A_WORD = 2
"""So many pairs in a list are worth a word of a matrix."""

FEW_ROUNDS = 64
PART = 8
"""A part of a graph is looked for step by step, unless it takes so many steps, or is one in so many edges."""


@dataclass(slots=True)
class Components:
    """The strong components of a graph, in Tarjan's order: edges lead to the same or a lower number.

    ``members`` are the nodes, component by component. ``offsets`` and ``successors`` are the edges between
    different components as compressed rows.
    """

    of_node: Nodes
    cyclic: NDArray[np.bool_]
    members: Nodes
    member_offsets: Nodes
    offsets: Nodes
    successors: Nodes

    @staticmethod
    def of(size: int, sources: Nodes, targets: Nodes) -> Components:
        """Those of a graph on the nodes 0..size-1."""
        component = np.empty(size, np.int64)
        count = strong_components(*compressed(size, sources, targets), component)
        start, end = component[sources], component[targets]
        cyclic = np.zeros(count, np.bool_)
        cyclic[start[start == end]] = True
        between = start != end
        edges = sorted_unique(pack(start[between].astype(np.uint32), end[between].astype(np.uint32)))
        members = np.argsort(component, kind="stable")
        member_offsets = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(component, minlength=count), out=member_offsets[1:])
        edge_ends = firsts(edges).astype(np.int64), seconds(edges).astype(np.int64)
        return Components(component, cyclic, members, member_offsets, *compressed(count, *edge_ends))

    def bits(self) -> Bits:
        """What each component reaches: a row of bits, one for each node, padded to whole words."""
        count, width = self.cyclic.size, 8 * _words(self.of_node.size)
        rows = np.zeros(count * width, np.uint8)
        reachable_bits(self.offsets, self.successors, self.cyclic, self.member_offsets, self.members, rows)
        return rows.reshape(count, width)

    def pairs(self, most: int | None = None) -> tuple[Nodes, Nodes] | None:
        """All pairs of nodes that a path of at least one edge joins, once each, in no particular order.

        None if there are more than ``most``.
        """
        count = self.cyclic.size
        closed = np.zeros(count + 1, np.int64)
        room = 4 * (self.successors.size + count) + 16
        while True:
            reached = np.empty(room, np.int64)
            needed = reachable(self.offsets, self.successors, self.cyclic, closed, reached)
            if most is not None and needed > most:
                return None
            if needed <= room:
                break
            room = 2 * max(needed, room)
        from_component = np.repeat(np.arange(count), np.diff(closed))
        to_component = reached[:needed]
        members, sizes = self.members, np.diff(self.member_offsets)
        if count == members.size:
            return members[from_component], members[to_component]
        if most is not None and (sizes[from_component] * sizes[to_component]).sum() > most:
            return None
        # most components are single nodes; the pairs of others are written out
        single = sizes == 1
        alone = single[from_component]
        alone &= single[to_component]
        several = ~alone
        from_rows, from_node = self._members(from_component[several])
        to_rows, to_node = self._members(to_component[several][from_rows])
        first = members[self.member_offsets[:-1]]
        return (
            np.concatenate((first[from_component[alone]], from_node[to_rows])),
            np.concatenate((first[to_component[alone]], to_node)),
        )

    def _members(self, components: Nodes) -> tuple[Nodes, Nodes]:
        """For every component in a column all its members: (row, member)."""
        sizes = np.diff(self.member_offsets)[components]
        rows = np.repeat(np.arange(components.size), sizes)
        within = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return rows, self.members[self.member_offsets[components][rows] + within]


def close_keys(edges: Keys, known: Keys = NO_KEYS) -> Keys:
    """The transitive closure of a relation given as packed pairs, sorted and unique.

    Edges that are ``known`` (sorted) are left out.
    """
    if not edges.size:
        return edges
    nodes, start, end = _numbered(edges)
    components = Components.of(nodes.size, start, end)
    words = components.cyclic.size * _words(nodes.size)
    if words > WORDS_AN_EDGE * edges.size:
        found = components.pairs(PAIRS_A_WORD * words)
        if found is not None:
            paths = pack(nodes[found[0]], nodes[found[1]])
            paths.sort()
            return difference(paths, known)
    return _written(components.bits(), components.of_node, nodes, nodes, known)


def close_graph(size: int, sources: Nodes, targets: Nodes) -> tuple[Nodes, Nodes]:
    """All (u, v) such that a path of at least one edge leads from u to v, in nodes 0..size-1.

    Every pair comes once, in no particular order.
    """
    pairs = Components.of(size, sources, targets).pairs()
    assert pairs is not None
    return pairs


def close_from(edges: Relation, sources: Column, *, mirrored: bool = False) -> Keys:
    """The part of a relation's transitive closure that starts at some sources (ascending), sorted.

    With ``mirrored``, every edge may be gone over both ways. Only the part of the graph that they reach is
    looked at.
    """
    part = edges_beyond(edges, sources, mirrored=mirrored)
    if not part.size:
        return NO_KEYS
    nodes, start, end = _numbered(part)
    sources = sources[np.isin(sources, nodes)]
    if nodes.size * _words(nodes.size) <= WORDS_AN_EDGE * part.size:
        components = Components.of(nodes.size, start, end)
        rows = components.of_node[np.searchsorted(nodes, sources)]
        return _written(components.bits(), rows, sources, nodes)
    return _walked(nodes, start, end, sources)


def closure_difference(
    closure: Relation, more: Relation, fewer: Relation, starts: Column, *, mirrored: bool = False
) -> Keys:
    """The paths over some edges that there are not over fewer of them, sorted.

    ``starts`` is where the paths over edges that are only among the former may go over them: the first
    ends of these edges, and the second ones if ``mirrored``. ``closure`` is that of either relation.
    """
    sources = nodes_met(more, starts, backward=True, mirrored=mirrored)
    part = edges_beyond(more, sources, mirrored=mirrored)
    kept = fewer.contains(part)
    if mirrored:
        kept |= fewer.contains(swap(part))
    nodes, start, end = _numbered(part)
    words = nodes.size * _words(nodes.size)
    paths = int(closure.subject_counts(sources).sum())
    if words <= max(WORDS_AN_EDGE * part.size, paths // PAIRS_A_WORD):
        with_all = Components.of(nodes.size, start, end)
        with_few = Components.of(nodes.size, start[kept], end[kept])
        bits = with_few.bits()[with_few.of_node]
        np.invert(bits, out=bits)
        bits &= with_all.bits()[with_all.of_node]
        changed = np.flatnonzero(bits.any(axis=1))
        return _written(bits, changed, nodes[changed], nodes)
    return difference(_walked(nodes, start, end, sources), _walked(nodes, start[kept], end[kept], sources))


def nodes_met(edges: Relation, starts: Column, *, backward: bool = False, mirrored: bool = False) -> Column:
    """The starts and what they reach over edges, or what reaches them, ascending."""
    met = frontier = distinct(starts)
    for _ in range(FEW_ROUNDS):
        if not frontier.size or PART * met.size > len(edges):
            break
        ends = [edges.subjects_of(frontier)[1] if backward else edges.objects_of(frontier)[1]]
        if mirrored:
            ends.append(edges.objects_of(frontier)[1] if backward else edges.subjects_of(frontier)[1])
        frontier = distinct(np.concatenate(ends))
        frontier = frontier[~np.isin(frontier, met)]
        met = distinct(np.concatenate((met, frontier)))
    if not frontier.size:
        return met
    keys = edges.pairs().keys
    if mirrored:
        keys = np.concatenate((keys, swap(keys)))
    nodes, start, end = _numbered(keys)
    marked = np.isin(nodes, met)
    ends_of_edges = (end, start) if backward else (start, end)
    mark(*compressed(nodes.size, *ends_of_edges), np.empty(nodes.size, np.int64), marked)
    return distinct(np.concatenate((starts, nodes[marked])))


def edges_beyond(edges: Relation, sources: Column, *, mirrored: bool = False) -> Keys:
    """The edges on all paths from some sources; both ways if ``mirrored``, and in no particular order."""
    near = nodes_met(edges, sources, mirrored=mirrored)
    rows, targets = edges.objects_of(near)
    found = pack(near[rows], targets)
    if mirrored:
        rows, targets = edges.subjects_of(near)
        found = np.concatenate((found, pack(near[rows], targets)))
    return found


def compressed(size: int, sources: Nodes, targets: Nodes) -> tuple[Nodes, Nodes]:
    """Edges as compressed rows: offsets (size + 1) and targets."""
    order = np.argsort(sources, kind="stable")
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=size), out=offsets[1:])
    return offsets, targets[order]


def _words(nodes: int) -> int:
    """How many words of 64 bits a row has that has a bit for every node."""
    return (nodes + 63) >> 6


def _numbered(edges: Keys) -> tuple[Column, Nodes, Nodes]:
    """The nodes that edges join, ascending, and the numbers of their ends among these."""
    sources, targets = firsts(edges), seconds(edges)
    nodes = distinct(np.concatenate((sources, targets)))
    return nodes, np.searchsorted(nodes, sources), np.searchsorted(nodes, targets)


def _written(rows: Bits, row_of: Nodes, sources: Column, nodes: Column, known: Keys = NO_KEYS) -> Keys:
    """For every source the nodes whose bits are set in its row, as packed pairs, sorted; no known ones."""
    counts = np.bitwise_count(rows.view(np.uint64)).sum(axis=1, dtype=np.int64)
    keys = np.empty(int(counts[row_of].sum()) - known.size, np.uint64)
    firsts_of_rows, seconds_of_bits = sources.astype(np.uint64), nodes.astype(np.uint64)
    write_bits(rows.reshape(-1), row_of, firsts_of_rows, seconds_of_bits, known, keys)
    return keys


def _walked(nodes: Column, start: Nodes, end: Nodes, sources: Column) -> Keys:
    """What each source (ascending) reaches over edges between nodes, as packed pairs, sorted."""
    offsets, successors = compressed(nodes.size, start, end)
    sources = sources[np.isin(sources, nodes)]
    closed = np.zeros(sources.size + 1, np.int64)
    room = 4 * start.size + 16
    while True:
        reached = np.empty(room, np.int64)
        needed = walk(offsets, successors, np.searchsorted(nodes, sources), closed, reached)
        if needed <= room:
            break
        room = needed
    paths = pack(np.repeat(sources, np.diff(closed)), nodes[reached[:needed]])
    paths.sort()
    return paths
