"""The transitive closure of a graph on arrays: components first, then what every component reaches.

What the components reach is a matrix of bits, with a row for each component, where the closure is dense, and
merged lists of successors where it is sparse. The matrix is computed if it has few words for each edge
(``MAX_WORDS_PER_EDGE``), or if the lists have more pairs than it has words. The resulting pairs are sorted.

The pairs that added edges derive, or that deleted edges derived, are the difference of two such closures over
the part of the graph that leads to these edges or is reached from them. Matrices of such parts are computed
block by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from corollary.closure.node_numbers import numbers_of
from corollary.closure.pieces import Pieces
from corollary.closure.strong_components import Components, Nodes, compressed, words_for
from corollary.closure.tuning import (
    MAX_WORDS_PER_BLOCK,
    MAX_WORDS_PER_EDGE,
    MIN_EDGES_PER_NODE_MET,
    MIN_STEPS_WALKED,
    MIN_WORDS_OF_DIFFERENCE,
    NODES_MET_AT_FIRST,
    WORDS_PER_STEP,
    WORDS_UNPACKED_AT_ONCE,
)
from corollary.columns import Relation
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import (
    NO_KEYS,
    among,
    difference,
    distinct,
    distinct_of_sorted,
    firsts,
    intersection,
    pack,
    seconds,
    sorted_unique,
    swap,
)
from corollary.kernels.compiled import go_on
from corollary.kernels.graph import Bits, meet, walk, words_beyond, write_bits
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Keys, Mask
from corollary.kernels.threads import in_pieces


@dataclass(frozen=True, slots=True)
class Graph:
    """The edges of a graph (packed pairs), its nodes (ascending), and its strong components."""

    edges: Keys
    nodes: Column
    components: Components

    @staticmethod
    def of(edges: Keys) -> Graph:
        """The graph of edges in any order. Cost: O(edges log nodes)."""
        nodes, start, end = numbered(edges)
        return Graph(edges, nodes, Components.of(nodes.size, start, end))

    @property
    def words(self) -> int:
        """The 64-bit words of the reachability matrix: a bit for each component and node."""
        return self.components.cyclic.size * words_for(self.nodes.size)

    def generators(self) -> Keys:
        """Few edges with the same closure: those to and from the first member of each component, and those
        between first members. The own edges, if these are fewer. Cost: O(nodes + edges between components).

            a clique of n nodes has n² edges, and 2n generators
        """
        parts = self.components
        if self.edges.size <= 2 * self.nodes.size + parts.successors.size:
            return self.edges
        first_members = parts.members[parts.member_offsets[:-1]]
        first = self.nodes[first_members[parts.of_node]]
        cyclic = parts.cyclic[parts.of_node]
        first, members = first[cyclic], self.nodes[cyclic]
        starts = self.nodes[np.repeat(first_members, np.diff(parts.offsets))]
        between = pack(starts, self.nodes[first_members[parts.successors]])
        return sorted_unique(np.concatenate((pack(first, members), pack(members, first), between)))


def close_keys(edges: Keys) -> Keys:
    """The transitive closure of a relation given as packed pairs, sorted and unique."""
    return listed(Graph.of(edges)) if edges.size else edges


def listed(graph: Graph) -> Keys:
    """As ``close_keys``. Precondition: there are edges."""
    paths = few_paths(graph, graph.words)
    if paths is not None:
        return paths
    bits = graph.components.bits()
    return written(bits, graph.components.of_node, sizes_of(bits), graph.nodes, graph.nodes)


def few_paths(graph: Graph, most: int) -> Keys | None:
    """As ``listed``, if a matrix has far more words than edges, and ``most`` paths suffice; else None.

    Cost: that of listing twice as many paths, at most.
    """
    if graph.words <= MAX_WORDS_PER_EDGE * graph.edges.size:
        return None
    paths = graph.components.lists(graph.nodes.astype(np.uint64), most)
    return None if paths is None else sort_keys(paths)


def close_graph(size: int, sources: Nodes, targets: Nodes) -> tuple[Column, Column]:
    """All (u, v) such that a path of at least one edge leads from u to v, in nodes 0..size-1.

    Every pair comes once, in no particular order.
    """
    pairs = Components.of(size, sources, targets).lists(np.arange(size, dtype=np.uint64))
    assert pairs is not None
    return firsts(pairs), seconds(pairs)


@dataclass(frozen=True, slots=True)
class Paths:
    """The relation S ∘ E*: a seed (x, y) of S, then any number of edges of E from y to z, joins x to z.

    Without ``seeds`` S is E, and the relation is the transitive closure of E. If ``symmetric``, every edge
    leads in both directions.
    """

    edges: Relation
    seeds: Relation | None = None
    symmetric: bool = False

    def starting(self, sources: Column) -> Keys:
        """All (x, z) for some x (ascending), sorted. Cost: the part of the graph that the sources reach."""
        part = Part.of(self, sources)
        walked = part.walked()
        if walked is not None:
            return walked
        components = part.components()
        rows = components.of_node[part.rows]
        blocks: list[Keys] = []
        for first, last in part.blocks():
            bits = components.bits(first, last)
            blocks.append(written(bits, rows, sizes_of(bits), part.sources, part.nodes[first:last]))
        return sort_keys(np.concatenate(blocks))

    def among(self, pairs: Keys) -> Keys:
        """The pairs (sorted) that are in the relation."""
        if not pairs.size:
            return pairs
        if self.symmetric and (joined := self.joined(pairs)) is not None:
            return joined
        part = Part.of(self, distinct_of_sorted(firsts(pairs)), distinct(seconds(pairs)))
        walked = part.walked()
        if walked is not None:
            return intersection(pairs, walked)
        components = part.components()
        start, bit = numbers_of(firsts(pairs), part.sources), numbers_of(seconds(pairs), part.nodes)
        is_joined = np.zeros(pairs.size, np.bool_)
        for first, last in part.blocks():
            here = np.flatnonzero((first <= bit) & (bit < last) & (start >= 0))
            place, row = bit[here] - first, components.of_node[part.rows[start[here]]]
            is_joined[here] = components.bits(first, last)[row, place >> 3] >> (place & 7) & 1
        return pairs[is_joined]

    def joined(self, pairs: Keys) -> Keys | None:
        """As ``among``, if a search meets few nodes; else None. Precondition: symmetric, without seeds."""
        pieces = None if self.edges.is_compressed else Pieces.of(self.edges, pairs)
        return None if pieces is None else pairs[pieces.are_joined()]

    def sources_of(self, nodes: Column) -> Column:
        """The sources of all paths that reach some nodes; without seeds also the nodes themselves."""
        before = nodes_met(self.edges, nodes, backward=True, symmetric=self.symmetric)
        return before if self.seeds is None else distinct(self.seeds.subjects_of(before)[1])

    def steps_from(self, sources: Column, targets: Column | None = None) -> tuple[Keys, Keys]:
        """The seeds (sorted) and the edges on all paths from some sources (ascending).

        With ``targets`` (ascending), steps that lead to none of them may be left out.
        """
        if self.seeds is None:
            if targets is not None and not self.symmetric:
                return NO_KEYS, edges_between(self.edges, sources, targets)
            return NO_KEYS, edges_beyond(self.edges, sources, symmetric=self.symmetric)
        seeds = self.seeds.starting(sources)
        return seeds, edges_beyond(self.edges, distinct(seconds(seeds)), symmetric=self.symmetric)

    def _has(self, edges: Keys) -> Mask:
        """Which edges there are, in either direction if symmetric."""
        found = self.edges.contains(edges)
        return found | self.edges.contains(swap(edges)) if self.symmetric else found


@dataclass(slots=True)
class Part:
    """The part of a graph that some sources reach, with numbers for its nodes.

    ``nodes`` (ascending) have the numbers from 0 on; ``rows`` are the numbers of the ``sources`` (ascending).
    Where paths begin with seeds, each source is one more node: no edge leads to it, its seeds are its edges.
    ``size`` counts both. ``start`` and ``end`` are the numbers of the ends of the ``edges``, then of the
    ``seeds`` (packed pairs).
    """

    size: int
    sources: Column
    rows: Nodes
    nodes: Column
    start: Nodes
    end: Nodes
    edges: Keys
    seeds: Keys

    @staticmethod
    def of(paths: Paths, sources: Column, targets: Column | None = None) -> Part:
        """What is reached from sources (ascending); sources without a path are left out.

        With ``targets`` (ascending), what leads to none of them may be left out, too.
        """
        seeds, edges = paths.steps_from(sources, targets)
        if paths.seeds is None:
            nodes, start, end = numbered(edges)
            rows = numbers_of(sources, nodes)
            return Part(nodes.size, sources[rows >= 0], rows[rows >= 0], nodes, start, end, edges, seeds)
        nodes = distinct(np.concatenate((firsts(edges), seconds(edges), seconds(seeds))))
        sources, rank = _ranked(firsts(seeds))
        rows = np.arange(nodes.size, nodes.size + sources.size)
        start = np.concatenate((numbers_of(firsts(edges), nodes), rows[rank]))
        end = np.concatenate((numbers_of(seconds(edges), nodes), numbers_of(seconds(seeds), nodes)))
        return Part(nodes.size + rows.size, sources, rows, nodes, start, end, edges, seeds)

    def within(self, paths: Paths) -> Part:
        """The same nodes and sources, with only those edges and seeds that ``paths`` has too."""
        edges = paths._has(self.edges)
        seeds = np.ones(0, np.bool_) if paths.seeds is None else paths.seeds.contains(self.seeds)
        kept = np.concatenate((edges, seeds))
        start, end = self.start[kept], self.end[kept]
        sides = self.edges[edges], self.seeds[seeds]
        return Part(self.size, self.sources, self.rows, self.nodes, start, end, *sides)

    def lost(self, rest: Part) -> Keys:
        """The pairs (source, node) that paths join here and not in ``rest``, made by ``within``; sorted."""
        before = self.walked()
        after = None if before is None else rest.walked()
        if before is not None and after is not None:
            return difference(before, after)
        with_all, with_few = self.components(), rest.components()
        rows, rows_of_few = with_all.of_node[self.rows], with_few.of_node[self.rows]
        blocks = []
        for first, last in self.blocks():
            few, every = with_few.bits(first, last), with_all.bits(first, last)
            nodes = self.nodes[first:last]
            blocks.append(_written_beyond(every, rows, few, rows_of_few, self.sources, nodes))
        return sort_keys(np.concatenate(blocks))

    def components(self) -> Components:
        return Components.of(self.size, self.start, self.end)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Where blocks of columns begin and end, such that a matrix of one has few words."""
        size = 64 * max(1, MAX_WORDS_PER_BLOCK // max(self.size, 1))
        return ((first, min(first + size, self.nodes.size)) for first in range(0, self.nodes.size, size))

    def walked(self) -> Keys | None:
        """All pairs (source, node) that paths join, sorted; None if matrices take less time."""
        offsets, successors = compressed(self.size, self.start, self.end)
        closed = np.zeros(self.sources.size + 1, np.int64)
        most = max(self.size * words_for(self.size) // WORDS_PER_STEP, MIN_STEPS_WALKED)
        room = min(4 * self.start.size + 16, most)
        while True:
            reserve(8 * room)
            reached = np.empty(room, np.int64)
            if walk(go_on(), offsets, successors, self.rows, closed, reached) == self.sources.size:
                break
            if room == most:
                return None
            room = min(4 * room, most)
        return sort_keys(pack(np.repeat(self.sources, np.diff(closed)), self.nodes[reached[: closed[-1]]]))


def nodes_met(edges: Relation, starts: Column, *, backward: bool = False, symmetric: bool = False) -> Column:
    """The starts and what they reach over edges, or what reaches them, ascending.

    Cost: that of the part met; if it has many nodes, that of the graph.
    """
    relation = Relation(edges.pairs()) if edges.is_compressed else edges
    room = NODES_MET_AT_FIRST + 2 * starts.size
    while True:
        found = _few_met(relation, starts, room, forth=symmetric or not backward, back=symmetric or backward)
        if found is not None:
            return found
        room *= 4
        if MIN_EDGES_PER_NODE_MET * room > len(edges):
            break
    keys = relation.pairs().keys
    if symmetric:
        keys = np.concatenate((keys, swap(keys)))
    return _met_in_graph(swap(keys) if backward and not symmetric else keys, starts)


def _few_met(edges: Relation, starts: Column, room: int, *, forth: bool, back: bool) -> Column | None:
    """The starts and what they reach over edges, forward and back, ascending; None if more than ``room``."""
    (base, added, removed), none = edges.parts, (NO_KEYS, NO_KEYS, NO_KEYS)
    ahead = (base.keys, added.keys, removed.keys) if forth else none
    behind = (base.by_object, added.by_object, removed.by_object) if back else none
    met, table = np.empty(room, np.uint64), np.zeros(2 << room.bit_length(), np.uint64)
    count = meet(*ahead, *behind, starts.astype(np.uint64), table, met)
    return np.sort(met[:count].astype(np.uint32)) if count >= 0 else None


def _met_in_graph(edges: Keys, starts: Column) -> Column:
    """As ``nodes_met``: one more node leads to all starts, and one walk goes from there."""
    nodes = distinct(np.concatenate((firsts(edges), seconds(edges), starts)))
    start, end = numbers_of(firsts(edges), nodes), numbers_of(seconds(edges), nodes)
    start = np.concatenate((start, np.full(starts.size, nodes.size)))
    end = np.concatenate((end, numbers_of(starts, nodes)))
    closed, reached = np.zeros(2, np.int64), np.empty(nodes.size, np.int64)
    walk(go_on(), *compressed(nodes.size + 1, start, end), np.array([nodes.size]), closed, reached)
    return nodes[np.sort(reached[: closed[1]])]


def edges_beyond(edges: Relation, sources: Column, *, symmetric: bool = False) -> Keys:
    """The edges on all paths from some sources; both ways if ``symmetric``, and in no particular order."""
    near = nodes_met(edges, sources, symmetric=symmetric)
    rows, targets = edges.objects_of(near)
    found = pack(near[rows], targets)
    if symmetric:
        rows, targets = edges.subjects_of(near)
        found = np.concatenate((found, pack(near[rows], targets)))
    return found


def edges_between(edges: Relation, sources: Column, targets: Column) -> Keys:
    """The edges on all paths from some sources to some targets, in no particular order; maybe others, too.

    Two searches, from the sources and from the targets, have the same room, which grows until one has ended.
    Cost: that of the smaller part; if both have many nodes, that of the graph.

        a tree of 10,000 nodes: a leaf is reached from the root over the few edges above it
    """
    relation = Relation(edges.pairs()) if edges.is_compressed else edges
    room = NODES_MET_AT_FIRST + 2 * max(sources.size, targets.size)
    while MIN_EDGES_PER_NODE_MET * room <= len(edges):
        ahead = _few_met(relation, sources, room, forth=True, back=False)
        if ahead is not None:
            rows, ends = relation.objects_of(ahead)
            return pack(ahead[rows], ends)
        behind = _few_met(relation, targets, room, forth=False, back=True)
        if behind is not None:
            rows, starts = relation.subjects_of(behind)
            found = pack(starts, behind[rows])
            return found[among(starts, _met_in_graph(found, sources))]
        room *= 4
    return edges_beyond(relation, sources)


def numbered(edges: Keys) -> tuple[Column, Nodes, Nodes]:
    """The nodes that edges join, ascending, and the numbers of their ends among these."""
    nodes = distinct(np.concatenate((distinct(firsts(edges)), distinct(seconds(edges)))))
    return nodes, numbers_of(firsts(edges), nodes), numbers_of(seconds(edges), nodes)


def _ranked(column: Column) -> tuple[Column, Nodes]:
    """The distinct values of an ascending column, and the rank of each value among them."""
    fresh = np.ones(column.size, np.bool_)
    np.not_equal(column[1:], column[:-1], out=fresh[1:])
    return column[fresh], np.cumsum(fresh) - 1


def _written_beyond(
    rows: Bits, row_of: Nodes, others: Bits, other_of: Nodes, sources: Column, nodes: Column
) -> Keys:
    """As ``written`` for the rows ``row_of``, without the bits that the ``others`` (``other_of``) have too.

    Cost: one look at each word, and the bits found.
    """
    width = rows.shape[1] >> 3
    arguments = rows.reshape(-1).view(np.uint64), row_of, others.reshape(-1).view(np.uint64), other_of, width
    room = MIN_WORDS_OF_DIFFERENCE
    while True:
        reserve(16 * room)
        places, words = np.empty(room, np.int64), np.empty(room, np.uint64)
        count = words_beyond(go_on(), *arguments, places, words)
        if count <= room:
            break
        room = count
    size = int(np.bitwise_count(words[:count]).sum())
    reserve(8 * size)
    keys, at = np.empty(size, np.uint64), 0
    for start in range(0, count, WORDS_UNPACKED_AT_ONCE):
        some = words[start : min(count, start + WORDS_UNPACKED_AT_ONCE)]
        found = np.flatnonzero(np.unpackbits(some.view(np.uint8), bitorder="little"))
        row, word = np.divmod(places[start + (found >> 6)], width)
        keys[at : at + found.size] = pack(sources[row], nodes[word << 6 | found & 63])
        at += found.size
    return keys


def written(rows: Bits, row_of: Nodes, sizes: Nodes, sources: Column | Nodes, nodes: Column) -> Keys:
    """For every source the nodes whose bits are set in its row, as packed pairs, in the order of the sources.

    ``sizes`` has the number of bits of each row that ``row_of`` names. Several threads write the sources of
    as many pairs each.
    """
    ends = np.append(0, np.cumsum(sizes[row_of]))
    size = int(ends[-1])
    reserve(8 * size)
    keys = np.empty(size, np.uint64)
    bits, firsts_of_rows, seconds_of_bits = (
        rows.reshape(-1),
        sources.astype(np.uint64),
        nodes.astype(np.uint64),
    )

    def write(piece: slice) -> None:
        first, last = np.searchsorted(ends, (piece.start, piece.stop)).tolist()
        room = keys[ends[first] : ends[last]]
        write_bits(bits, row_of[first:last], firsts_of_rows[first:last], seconds_of_bits, room)

    in_pieces(size, write)
    return keys


def sizes_of(rows: Bits) -> Nodes:
    """The number of bits that are set in each row of 64-bit words."""
    sizes: Nodes = np.bitwise_count(rows.view(np.uint64)).sum(axis=1, dtype=np.int64)
    return sizes
