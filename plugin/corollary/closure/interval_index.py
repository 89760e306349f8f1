"""The transitive closure of a graph without its pairs: for every component, intervals of what it reaches.

The nodes get *places* in the order in which a depth-first search leaves their strong components. What a
search below a component meets first then stands side by side, so that most of what a component reaches is few
intervals (tree covers: Agrawal, Borgida, Jagadish, Efficient Management of Transitive Relationships in
Large Data and Knowledge Bases, 1989). A chain of n nodes takes n intervals, a clique takes one.

    a→b→c: places c 0, b 1, a 2; a reaches [0, 2), b reaches [0, 1), c nothing
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from corollary.closure.reachability import Graph, numbers_of
from corollary.closure.strong_components import Components, Nodes
from corollary.closure.tuning import (
    INTERVALS_MERGED_PER_EDGE,
    MAX_INTERVALS_PER_EDGE,
    MIN_PAIRS_COMPRESSED,
    MIN_PAIRS_PER_INTERVAL,
)
from corollary.columns.pairs import firsts, pack, seconds, swap
from corollary.kernels.compiled import go_on
from corollary.kernels.intervals import merge_intervals, within_intervals, write_intervals
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Keys, Mask, Rows


@dataclass(slots=True, eq=False)
class IntervalIndex:
    """All (u, v) such that a path of at least one edge leads from u to v.

    ``nodes`` ascend; node ``nodes[i]`` has the component (row) ``rows[i]`` and the place ``places[i]``;
    ``terms`` are the nodes by place. Row r has the intervals from ``offsets[r]`` to ``offsets[r + 1]``, and
    ``sizes[r]`` places in them. ``len`` is the number of pairs.
    """

    edges: Keys
    nodes: Column
    rows: Nodes
    places: Nodes
    terms: Column
    offsets: Nodes
    starts: Nodes
    ends: Nodes
    sizes: Nodes = field(init=False)
    _count: int = field(init=False)
    _inverse: IntervalIndex | None = None

    def __post_init__(self) -> None:
        before = np.append(0, np.cumsum(self.ends - self.starts))
        self.sizes = before[self.offsets[1:]] - before[self.offsets[:-1]]
        self._count = int(self.sizes[self.rows].sum())

    @staticmethod
    def of(graph: Graph, *, is_limited: bool = True) -> IntervalIndex | None:
        """The index of a graph. Cost: the intervals merged.

        ``is_limited``: None if there are few pairs, or few pairs per interval: a list is as small then.
        """
        nodes, components = graph.nodes, graph.components
        if is_limited and nodes.size**2 < MIN_PAIRS_COMPRESSED:
            return None
        sizes = nodes.size + graph.edges.size
        room = MAX_INTERVALS_PER_EDGE * sizes if is_limited else nodes.size * (nodes.size + 1)
        found = _merged(components, room, INTERVALS_MERGED_PER_EDGE * sizes if is_limited else 1 << 62)
        if found is None:
            return None
        places = np.empty_like(components.members)
        places[components.members] = np.arange(nodes.size)
        terms = nodes[components.members]
        index = IntervalIndex(graph.edges, nodes, components.of_node, places, terms, *found)
        least = max(MIN_PAIRS_COMPRESSED, MIN_PAIRS_PER_INTERVAL * (index.starts.size + sizes))
        return None if is_limited and len(index) < least else index

    def __len__(self) -> int:
        return self._count

    @property
    def inverse(self) -> IntervalIndex:
        """The index of the pairs (v, u). Made at first use; its intervals are not limited."""
        if self._inverse is None:
            made = IntervalIndex.of(Graph.of(swap(self.edges)), is_limited=False)
            assert made is not None
            made._inverse, self._inverse = self, made
        return self._inverse

    def contains(self, keys: Keys) -> Mask:
        """A mask of the packed pairs that are in the closure. Cost: O(log |intervals of a row|) per pair."""
        found = np.empty(keys.size, np.bool_)
        numbers = numbers_of(seconds(keys), self.nodes)
        places = np.where(numbers < 0, -1, self.places[numbers]) if self.nodes.size else numbers
        within_intervals(self._rows_of(firsts(keys)), places, self.offsets, self.starts, self.ends, found)
        return found

    def counts(self, terms: Column) -> Rows:
        """The number of pairs that each term begins."""
        rows = self._rows_of(terms)
        return np.where(rows < 0, 0, self.sizes[rows]) if self.sizes.size else np.zeros(terms.size, np.int64)

    def after(self, terms: Column) -> tuple[Rows, Column]:
        """All (row, v) such that (terms[row], v) is a pair, as two columns. Not sorted within a row."""
        counts = self.counts(terms)
        size = int(counts.sum())
        reserve(12 * size)
        values: Column = np.empty(size, np.uint32)
        rows = self._rows_of(terms)
        write_intervals(go_on(), rows, self.offsets, self.starts, self.ends, self.terms, values)
        return np.repeat(np.arange(terms.size), counts), values

    def beginning(self, terms: Column) -> Keys:
        """The pairs that terms (ascending) begin, as packed pairs, sorted."""
        rows, values = self.after(terms)
        keys = pack(terms[rows], values)
        keys.sort()
        return keys

    def sources(self) -> Column:
        """The nodes that begin a pair, ascending."""
        return self.nodes[self.sizes[self.rows] > 0]

    def _rows_of(self, terms: Column) -> Nodes:
        numbers = numbers_of(terms, self.nodes)
        return np.where(numbers < 0, -1, self.rows[numbers]) if self.nodes.size else numbers


def _merged(graph: Components, room: int, most: int) -> tuple[Nodes, Nodes, Nodes] | None:
    """The offsets, starts and ends of all intervals; None beyond ``room``, or if more than ``most`` merge."""
    offsets = np.zeros(graph.cyclic.size + 1, np.int64)
    size = min(room, 2 * graph.cyclic.size + 16)
    while True:
        reserve(16 * size)
        starts, ends = np.empty(size, np.int64), np.empty(size, np.int64)
        arguments = graph.offsets, graph.successors, graph.cyclic, graph.member_offsets, most
        count = merge_intervals(go_on(), *arguments, offsets, starts, ends)
        if count >= 0:
            return offsets, starts[:count].copy(), ends[:count].copy()
        if size == room:
            return None
        size = min(4 * size, room)
