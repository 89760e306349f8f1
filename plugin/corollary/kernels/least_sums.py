"""Kernels for the least sums along paths: the steps of a shortest-path computation.

A graph with the nodes 0..n-1 is given as compressed sparse rows, as in ``kernels.graph``; ``steps`` has the
length of each edge. ``values`` has the least sum known for each node, infinity where none is known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import Flag, kernel, part

Nodes = NDArray[np.int64]
Lengths = NDArray[np.float64]


@kernel
def settle(stop: Flag, offsets: Nodes, targets: Nodes, steps: Lengths, values: Lengths) -> None:
    """Lower ``values`` to the least sums over all paths (Dijkstra 1959, with a binary heap of nodes).

    Precondition: no step is negative. Cost: O((nodes + edges) log nodes).
    """
    n = offsets.size - 1
    heap = np.empty(n, np.int64)
    place = np.full(n, -1, np.int64)  # of a node in the heap
    size = 0
    for node in range(n):
        if values[node] < np.inf:
            _rise(node, size, heap, place, values)
            size += 1
    while size > 0 and not stop[0]:
        node = heap[0]
        place[node] = -1
        size -= 1
        if size > 0:
            _sink(heap[size], size, heap, place, values)
        value = values[node]
        for edge in range(offsets[node], offsets[node + 1]):
            target = targets[edge]
            found = value + steps[edge]
            if found < values[target]:
                values[target] = found
                at = place[target]
                if at < 0:
                    at = size
                    size += 1
                _rise(target, at, heap, place, values)


@part
def _rise(node: int | np.int64, at: int | np.int64, heap: Nodes, place: Nodes, values: Lengths) -> None:
    """Move a node up the heap from position ``at`` to where its value belongs."""
    value = values[node]
    while at > 0 and values[heap[(at - 1) >> 1]] > value:
        heap[at] = heap[(at - 1) >> 1]
        place[heap[at]] = at
        at = (at - 1) >> 1
    heap[at] = node
    place[node] = at


@part
def _sink(node: np.int64, size: int, heap: Nodes, place: Nodes, values: Lengths) -> None:
    """Move a node down the heap of ``size`` nodes from the root to where its value belongs."""
    at = 0
    value = values[node]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and values[heap[child + 1]] < values[heap[child]]:
            child += 1
        if values[heap[child]] >= value:
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = node
    place[node] = at


@kernel
def relax(
    offsets: Nodes,
    targets: Nodes,
    steps: Lengths,
    frontier: Nodes,
    size: int,
    following: Nodes,
    values: Lengths,
) -> int:
    """One round of Bellman and Ford: relax the edges from the first ``size`` nodes of the ``frontier``.

    ``following`` (at least 2n entries) receives the nodes whose value was lowered. Its entries from n on are
    marks, one for each node. Precondition: all marks are 0; they are 0 again afterwards. Returns the number
    of nodes lowered.
    """
    n = offsets.size - 1
    count = 0
    for i in range(size):
        node = frontier[i]
        value = values[node]
        for edge in range(offsets[node], offsets[node + 1]):
            target = targets[edge]
            found = value + steps[edge]
            if found < values[target]:
                values[target] = found
                if following[n + target] == 0:
                    following[n + target] = 1
                    following[count] = target
                    count += 1
    for i in range(count):
        following[n + following[i]] = 0
    return count
