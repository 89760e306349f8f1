"""The strong components of a graph on arrays, and what they reach: as bits, or as lists of successors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corollary.closure.tuning import EDGES_PER_STEP
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import NO_KEYS, firsts, pack, seconds, sorted_unique
from corollary.kernels.compiled import go_on
from corollary.kernels.graph import Bits, reachable, reachable_bits, strong_components, write_lists
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Keys

Nodes = NDArray[np.int64]


@dataclass(slots=True)
class Components:
    """The strong components of a graph, in Tarjan's order: edges lead to the same or a lower number.

    ``of_node`` has the component of each node. A component is ``cyclic`` if its nodes reach themselves.
    ``members`` are the nodes, component by component: those of component v from ``member_offsets[v]`` on.
    ``offsets`` and ``successors`` are the edges between different components as compressed rows.
    """

    of_node: Nodes
    cyclic: NDArray[np.bool_]
    members: Nodes
    member_offsets: Nodes
    offsets: Nodes
    successors: Nodes

    @staticmethod
    def of(size: int, sources: Nodes, targets: Nodes) -> Components:
        """The components of a graph on the nodes 0..size-1."""
        component = np.empty(size, np.int64)
        count = strong_components(*compressed(size, sources, targets), component)
        cyclic = np.zeros(count, np.bool_)
        between: list[Keys] = []
        for first in range(0, sources.size, EDGES_PER_STEP):
            step = slice(first, first + EDGES_PER_STEP)
            start, end = component[sources[step]], component[targets[step]]
            cyclic[start[start == end]] = True
            differ = start != end
            between.append(pack(start[differ].astype(np.uint32), end[differ].astype(np.uint32)))
        edges = sorted_unique(np.concatenate([*between, NO_KEYS]))
        members = _order(component).astype(np.int64)
        member_offsets = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(component, minlength=count), out=member_offsets[1:])
        edge_ends = firsts(edges).astype(np.int64), seconds(edges).astype(np.int64)
        rows = compressed(count, *edge_ends)
        return Components(component, cyclic, members, member_offsets, *rows)

    def bits(self, first: int = 0, end: int | None = None) -> Bits:
        """What each component reaches of some nodes (by default all): a row of bits, padded to words."""
        count, width = self.cyclic.size, 8 * words_for((self.of_node.size if end is None else end) - first)
        reserve(count * width)
        rows = np.zeros(count * width, np.uint8)
        arguments = self.offsets, self.successors, self.cyclic, self.member_offsets, self.members
        reachable_bits(go_on(), *arguments, first, rows)
        return rows.reshape(count, width)

    def lists(self, ids: Keys, most: int | None = None) -> Keys | None:
        """All pairs of nodes that a path of at least one edge joins, by their ids, packed; in no order.

        None if there are more than ``most``.
        """
        count = self.cyclic.size
        closed = np.zeros(count + 1, np.int64)
        room = 4 * (self.successors.size + count) + 16
        room = room if most is None else min(room, most)
        while True:
            reserve(8 * room)
            reached = np.empty(room, np.int64)
            needed = reachable(go_on(), self.offsets, self.successors, self.cyclic, closed, reached)
            if most is not None and needed > most:
                return None
            if needed <= room:
                break
            room = 2 * max(needed, room)
        arguments = closed, reached, self.of_node, self.member_offsets, self.members, ids
        needed = write_lists(*arguments, np.empty(0, np.uint64))
        if most is not None and needed > most:
            return None
        reserve(8 * needed)
        keys = np.empty(needed, np.uint64)
        write_lists(*arguments, keys)
        return keys


def compressed(size: int, sources: Nodes, targets: Nodes) -> tuple[Nodes, Nodes]:
    """Edges as compressed rows: offsets (size + 1), and targets in the order given. At most 2³² of each."""
    if (sources[1:] < sources[:-1]).any():
        targets = targets[_order(sources)]
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=size), out=offsets[1:])
    return offsets, targets


def _order(nodes: Nodes) -> Column:
    """The places of the nodes in ascending order; those of equal ones ascend."""
    return seconds(
        sort_keys(pack(nodes.astype(np.uint32), np.arange(nodes.size, dtype=np.uint32)), by_first=True)
    )


def words_for(nodes: int) -> int:
    """How many words of 64 bits a row has that has a bit for every node."""
    return (nodes + 63) >> 6
