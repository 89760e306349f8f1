"""Numbers for the nodes of a graph: their places among all nodes."""

from __future__ import annotations

import numpy as np

from corollary.closure.tuning import EDGES_PER_STEP, MAX_IDS_PER_TERM, MAX_IDS_PER_TERM_FOUND
from corollary.kernels.graph import Nodes
from corollary.kernels.sorted import Column


def numbers_of(terms: Column, nodes: Column) -> Nodes:
    """Where terms stand among nodes (ascending); -1 for those that are no nodes."""
    if not nodes.size or not terms.size:
        return np.full(terms.size, -1)
    least, greatest = int(nodes[0]), int(nodes[-1])
    most = min(MAX_IDS_PER_TERM * max(nodes.size, terms.size), MAX_IDS_PER_TERM_FOUND * terms.size)
    if greatest - least > most:
        places = np.minimum(np.searchsorted(nodes, terms), nodes.size - 1)
        places[nodes[places] != terms] = -1
        return places
    table = np.full(greatest - least + 2, -1)
    table[nodes - nodes[0]] = np.arange(nodes.size)
    numbers: Nodes = np.empty(terms.size, np.int64)
    for start in range(0, terms.size, EDGES_PER_STEP):
        step = slice(start, start + EDGES_PER_STEP)
        # below zero is far above, in 32 bits
        numbers[step] = table[np.minimum(terms[step] - nodes[0], greatest - least + 1)]
    return numbers
