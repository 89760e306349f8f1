"""Loops over directed graphs in compressed rows: strongly connected components and reachability.

A graph of n nodes 0..n-1 is ``offsets`` (n + 1) and ``targets``: the successors of node v are
``targets[offsets[v]:offsets[v + 1]]``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import kernel

Nodes = NDArray[np.int64]


@kernel
def strong_components(offsets: Nodes, targets: Nodes, component: Nodes) -> int:
    """Tarjan's algorithm (1972) without recursion. Fills ``component`` (n), returns their number.

    Components are numbered in reverse topological order: an edge leads to the same or a lower number.
    """
    n = offsets.size - 1
    order = np.full(n, -1, np.int64)  # when a node was first met
    low = np.zeros(n, np.int64)
    following = offsets[:n].copy()  # the next edge to look at
    path = np.zeros(n, np.int64)
    pending = np.zeros(n, np.int64)
    path_size = 0
    pending_size = 0
    met = 0
    components = 0
    component[:] = -1
    for root in range(n):
        if order[root] >= 0:
            continue
        path[0] = root
        path_size = 1
        order[root] = met
        low[root] = met
        met += 1
        pending[pending_size] = root
        pending_size += 1
        while path_size > 0:
            node = path[path_size - 1]
            if following[node] < offsets[node + 1]:
                successor = targets[following[node]]
                following[node] += 1
                if order[successor] < 0:
                    order[successor] = met
                    low[successor] = met
                    met += 1
                    pending[pending_size] = successor
                    pending_size += 1
                    path[path_size] = successor
                    path_size += 1
                elif component[successor] < 0 and order[successor] < low[node]:
                    low[node] = order[successor]
                continue
            path_size -= 1
            if path_size > 0 and low[node] < low[path[path_size - 1]]:
                low[path[path_size - 1]] = low[node]
            if low[node] == order[node]:
                while True:
                    pending_size -= 1
                    member = pending[pending_size]
                    component[member] = components
                    if member == node:
                        break
                components += 1
    return components


@kernel
def reachable(
    offsets: Nodes, targets: Nodes, cyclic: NDArray[np.bool_], closed: Nodes, reached: Nodes
) -> int:
    """Successor lists of a graph whose edges all lead to lower or equal numbers, merged bottom up.

    Such are the components of any graph in Tarjan's order. Node v reaches itself iff ``cyclic[v]``.
    Fills ``closed`` (n + 1) with offsets into ``reached``. Returns the size needed; if ``reached`` is
    shorter than that nothing past its end was written, and the caller asks again with more room.
    """
    n = offsets.size - 1
    stamp = np.full(n, -1, np.int64)
    at = 0
    closed[0] = 0
    for node in range(n):
        if cyclic[node]:
            stamp[node] = node
            if at < reached.size:
                reached[at] = node
            at += 1
        for edge in range(offsets[node + 1] - 1, offsets[node] - 1, -1):  # near ones first
            successor = targets[edge]
            if stamp[successor] == node:
                continue
            stamp[successor] = node
            if at < reached.size:
                reached[at] = successor
            at += 1
            if closed[successor + 1] > reached.size:
                continue  # its list is not there: only the count matters now, and it is a lower bound
            for position in range(closed[successor], closed[successor + 1]):
                further = reached[position]
                if stamp[further] != node:
                    stamp[further] = node
                    if at < reached.size:
                        reached[at] = further
                    at += 1
        closed[node + 1] = at
    return at
