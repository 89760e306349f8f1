"""A closure as bits: for every strong component a row with a bit for each node. For dense graphs.

Each row takes a bit per node, whatever it reaches: in a random graph of 10,000 nodes and 100,000 edges
without cycles that is half a byte a pair.
"""

from __future__ import annotations

import numpy as np

from corollary.closure.closure_index import ClosureIndex
from corollary.closure.reachability import Graph, sizes_of, written
from corollary.closure.strong_components import Nodes
from corollary.closure.tuning import MAX_WORDS_PER_EDGE, MIN_PAIRS_PER_WORD
from corollary.columns.pairs import Pairs, seconds
from corollary.kernels.graph import Bits
from corollary.kernels.sorted import Column, Mask


class BitIndex(ClosureIndex):
    """A closure index with the row of component r in ``_bits[r]``."""

    def __init__(self, graph: Graph) -> None:
        self._bits: Bits = graph.components.bits()
        super().__init__(graph, sizes_of(self._bits))

    @classmethod
    def whole(cls, graph: Graph) -> BitIndex:
        """The index of a graph. Cost: O(edges * nodes / 64)."""
        return cls(graph)

    @classmethod
    def of(cls, graph: Graph, least: int) -> BitIndex | None:
        """The index of a graph; None if it cannot have ``least`` pairs, or has far more words than edges."""
        if graph.nodes.size**2 < least or graph.words > MAX_WORDS_PER_EDGE * graph.edges.size:
            return None
        return cls(graph)

    @property
    def is_small(self) -> bool:
        """Whether the index takes much less memory than a list of the pairs."""
        return len(self) >= MIN_PAIRS_PER_WORD * (self._bits.size >> 3)

    def listed(self) -> Pairs:
        """All pairs. Cost: the pairs and the words."""
        return Pairs(written(self._bits, self.rows, self.sizes, self.nodes, self.nodes))

    def _has(self, rows: Nodes, numbers: Nodes) -> Mask:
        found: Mask = (rows >= 0) & (numbers >= 0)
        rows, numbers = rows[found], numbers[found]
        found[found] = (self._bits[rows, numbers >> 3] >> (numbers & 7).astype(np.uint8)) & 1
        return found

    def _values(self, rows: Nodes, size: int) -> Column:
        return seconds(written(self._bits, rows, self.sizes, np.arange(rows.size), self.nodes))
