"""The transitive closure of a graph without its pairs: one row for each strong component.

The subclasses in ``interval_index`` and ``bit_index`` store the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from corollary.closure.node_numbers import numbers_of
from corollary.closure.reachability import Graph
from corollary.closure.strong_components import Nodes
from corollary.columns.pairs import firsts, seconds, swap
from corollary.columns.relation import PATHS
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Keys, Mask, Rows


class ClosureIndex(ABC):
    """All (u, v) such that a path of at least one edge leads from u to v. ``len`` is their number.

    Precondition: the graph has edges. Its ``nodes`` ascend; node ``nodes[i]`` has the row ``rows[i]``, in
    which are ``sizes[rows[i]]`` nodes.
    """

    closed_by = PATHS

    def __init__(self, graph: Graph, sizes: Nodes) -> None:
        self.edges = graph.generators()
        self.nodes = graph.nodes
        self.rows = graph.components.of_node
        self.sizes = sizes
        self._count = int(sizes[self.rows].sum())
        self._inverse: ClosureIndex | None = None

    @classmethod
    @abstractmethod
    def whole(cls, graph: Graph) -> ClosureIndex:
        """The index of a graph, however large."""

    @abstractmethod
    def _has(self, rows: Nodes, numbers: Nodes) -> Mask:
        """Whether each row has the node with a number. Negative rows and numbers are of no node."""

    @abstractmethod
    def _values(self, rows: Nodes, size: int) -> Column:
        """The nodes in each row, row by row: ``size`` in all. No row is negative."""

    def __len__(self) -> int:
        return self._count

    @property
    def inverse(self) -> ClosureIndex:
        """The index of the pairs (v, u). Made at first use; the index itself if the closure is symmetric."""
        if self._inverse is None:
            inverses = swap(self.edges)
            if self.contains(inverses).all():
                self._inverse = self
                return self
            made = self.whole(Graph.of(inverses))
            made._inverse, self._inverse = self, made
        return self._inverse

    def includes(self, other: object) -> bool:
        """Whether all pairs of another index are known to be in this one, without listing any."""
        return isinstance(other, ClosureIndex) and bool(self.contains(other.edges).all())

    def contains(self, keys: Keys) -> Mask:
        """A mask of the packed pairs that are in the closure."""
        return self._has(self._rows_of(firsts(keys)), numbers_of(seconds(keys), self.nodes))

    def counts(self, terms: Column) -> Rows:
        """The number of pairs that each term begins."""
        rows = self._rows_of(terms)
        return np.where(rows < 0, 0, self.sizes[rows])

    def after(self, terms: Column) -> tuple[Rows, Column]:
        """All (row, v) such that (terms[row], v) is a pair, as two columns. Not sorted within a row."""
        counts = self.counts(terms)
        size = int(counts.sum())
        reserve(12 * size)
        rows = self._rows_of(terms)
        return np.repeat(np.arange(terms.size), counts), self._values(rows[rows >= 0], size)

    def groups_of(self, terms: Column) -> Keys:
        """As ``FactIndex.groups_of``: the members of a strong component."""
        rows = self._rows_of(terms)
        numbers: Keys = np.where(rows < 0, terms, rows + (1 << 32)).astype(np.uint64)
        return numbers

    def sources(self) -> Column:
        """The nodes that begin a pair, ascending."""
        return self.nodes[self.sizes[self.rows] > 0]

    def _rows_of(self, terms: Column) -> Nodes:
        numbers = numbers_of(terms, self.nodes)
        return np.where(numbers < 0, -1, self.rows[numbers])
