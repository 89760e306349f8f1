"""A closure as intervals: for every strong component, intervals of the nodes that it reaches.

The nodes get *places* in the order in which a depth-first search leaves their strong components. What a
search below a component meets first then stands side by side, so that most of what a component reaches is few
intervals (tree covers: Agrawal, Borgida, Jagadish, Efficient Management of Transitive Relationships in
Large Data and Knowledge Bases, 1989). A chain of n nodes takes n intervals, a clique takes one.

    a→b→c: places c 0, b 1, a 2; a reaches [0, 2), b reaches [0, 1), c nothing
"""

from __future__ import annotations

import numpy as np

from corollary.closure.closure_index import ClosureIndex
from corollary.closure.reachability import Graph
from corollary.closure.strong_components import Components, Nodes, words_for
from corollary.closure.tuning import (
    INTERVALS_MERGED_PER_EDGE,
    MAX_INTERVALS_PER_EDGE,
    MAX_WORDS_PER_EDGE,
    MIN_PAIRS_PER_INTERVAL,
    WORDS_PER_INTERVAL,
)
from corollary.columns.pairs import Pairs
from corollary.kernels.compiled import go_on
from corollary.kernels.intervals import (
    merge_intervals,
    within_intervals,
    write_intervals,
    write_sources,
    write_targets,
)
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Mask


class IntervalIndex(ClosureIndex):
    """A closure index: row r has the intervals from ``_offsets[r]`` to ``_offsets[r + 1]``, of places."""

    def __init__(self, graph: Graph, offsets: Nodes, starts: Nodes, ends: Nodes) -> None:
        before = np.append(0, np.cumsum(ends - starts))
        super().__init__(graph, before[offsets[1:]] - before[offsets[:-1]])
        self._members = members = graph.components.members
        self._places = np.empty_like(members)
        self._places[members] = np.arange(members.size)
        self._terms = self.nodes[members]
        self._offsets, self.starts, self._ends = offsets, starts, ends

    @classmethod
    def whole(cls, graph: Graph) -> IntervalIndex:
        """The index of a graph. Cost: the intervals merged."""
        found = _merged(graph.components, graph.nodes.size * (graph.nodes.size + 1), 1 << 62)
        assert found is not None
        return cls(graph, *found)

    @classmethod
    def of(cls, graph: Graph, least: int, *, was_bits: bool = False) -> IntervalIndex | None:
        """The index of a graph; None if fewer pairs than ``least``, or too many intervals to merge.

        ``was_bits``: no more are merged than take as long as bits, which a closure of nearly the graph has.
        """
        size, parts = graph.nodes.size + graph.edges.size, graph.components
        if graph.nodes.size**2 < least:
            return None
        most = INTERVALS_MERGED_PER_EDGE * size
        words = parts.cyclic.size * words_for(graph.nodes.size)
        # computing bits takes less time than merging more
        if was_bits or words <= MAX_WORDS_PER_EDGE * graph.edges.size:
            most = min(most, parts.cyclic.size + words // WORDS_PER_INTERVAL)
        found = _merged(parts, MAX_INTERVALS_PER_EDGE * size, most)
        index = None if found is None else cls(graph, *found)
        return index if index is not None and len(index) >= least else None

    @property
    def is_small(self) -> bool:
        """Whether the index takes much less memory than a list of the pairs."""
        size = self.starts.size + self.nodes.size + self.edges.size
        return len(self) >= MIN_PAIRS_PER_INTERVAL * size

    def listed(self) -> Pairs:
        """All pairs, in both orders. Takes hardly more memory than these, and less time than sorting them."""
        reserve(16 * len(self))
        pairs_of = np.bincount(self.rows, minlength=self.sizes.size)
        weights = np.repeat(pairs_of, np.diff(self._offsets))
        ends = self.nodes.size + 1
        changes = np.bincount(self.starts, weights, ends) - np.bincount(self._ends, weights, ends)
        sources_of = np.empty(self.nodes.size, np.int64)
        sources_of[self._members] = np.cumsum(changes[:-1])
        by_object, keys = np.empty(len(self), np.uint64), np.empty(len(self), np.uint64)
        intervals = self._offsets, self.starts, self._ends
        write_targets(go_on(), self.rows, *intervals, self._members, _begins(sources_of), by_object)
        ids = self.nodes.astype(np.uint64)
        write_sources(go_on(), ids, _begins(self.sizes[self.rows]), by_object, keys)
        return Pairs(keys, by_object, (self.sources(), self.nodes[sources_of > 0]))

    def _has(self, rows: Nodes, numbers: Nodes) -> Mask:
        found = np.empty(rows.size, np.bool_)
        places = np.where(numbers < 0, -1, self._places[numbers])
        within_intervals(rows, places, self._offsets, self.starts, self._ends, found)
        return found

    def _values(self, rows: Nodes, size: int) -> Column:
        values: Column = np.empty(size, np.uint32)
        write_intervals(go_on(), rows, self._offsets, self.starts, self._ends, self._terms, values)
        return values


def _begins(sizes: Nodes) -> Nodes:
    """Where runs of these sizes begin that stand side by side."""
    return np.cumsum(sizes) - sizes


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
