"""Edges of random graphs, as two arrays of node numbers: sources and targets.

Nodes have the numbers 0 to n - 1. Invariant: equal arguments and equal states of ``random`` give equal edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from corollary.columns import key_sort, pairs

Numbers: TypeAlias = NDArray[np.int64]
Edges: TypeAlias = tuple[Numbers, Numbers]

RMAT_QUADRANTS = (0.45, 0.15, 0.15, 0.25)
"""Probabilities of the quadrants of the adjacency matrix: the defaults of the graph generator GTgraph."""

TURN_EVERY, TURN_BY = 50, 10
"""In ``chains``, the last of every ``TURN_EVERY`` nodes has an edge to the node ``TURN_BY`` places later."""


def random_of_part(number: int, seed: int) -> np.random.Generator:
    """The random numbers of one part. ``seed`` may be negative.

    A version of NumPy that changes the streams of its generators changes the data.
    """
    return np.random.default_rng((seed % (1 << 64), number))


def acyclic(nodes: int, edges: int, random: np.random.Generator) -> Edges:
    """``edges`` different edges from lower to higher numbers, drawn uniformly.

    Precondition: ``edges`` is at most half of all pairs, nodes * (nodes - 1) / 2.
    """

    def draw(count: int) -> Edges:
        ends = random.integers(0, nodes, (2, count))
        return ends.min(axis=0), ends.max(axis=0)

    return _distinct(nodes, edges, draw)


def uniform(nodes: int, probability: float, random: np.random.Generator) -> Edges:
    """Every pair of two different nodes is an edge with this probability. Cost: O(nodes^2)."""
    sources, targets = np.nonzero(random.random((nodes, nodes)) < probability)
    proper = sources != targets
    return sources[proper], targets[proper]


def rmat(nodes: int, edges: int, random: np.random.Generator) -> Edges:
    """``edges`` different edges of a recursive matrix (Chakrabarti, Zhan, Faloutsos 2004).

    The adjacency matrix is halved in both directions again and again. In each step the quadrant of the edge
    is drawn by ``RMAT_QUADRANTS``. The degrees follow a power law. Precondition: ``edges`` is far less than
    the number of pairs.
    """
    levels = (nodes - 1).bit_length()
    weights = 1 << np.arange(levels, dtype=np.int64)

    def draw(count: int) -> Edges:
        quadrants = random.choice(4, (count, levels), p=RMAT_QUADRANTS)
        return (quadrants >> 1) @ weights, (quadrants & 1) @ weights

    return _distinct(nodes, edges, draw)


def chains(lengths: Sequence[int], further: int, share: float, random: np.random.Generator) -> Edges:
    """Chains of the given lengths, whose nodes are numbered chain after chain.

    A node has an edge to the node before it, and with probability ``share`` to each of the ``further`` nodes
    before that one. The last of every ``TURN_EVERY`` nodes of a chain also has an edge to the node
    ``TURN_BY`` places later, so that chains of ``TURN_EVERY + TURN_BY`` nodes or more have cycles.
    """
    first = _first(lengths)
    nodes = np.arange(first.size)
    last = first + np.repeat(lengths, lengths) - 1
    turning = nodes[((nodes - first) % TURN_EVERY == TURN_EVERY - 1) & (nodes + TURN_BY <= last)]
    sources, targets = [turning], [turning + TURN_BY]
    for step in range(1, further + 2):
        later = nodes[nodes - first >= step]
        if step > 1:
            later = later[random.random(later.size) < share]
        sources.append(later)
        targets.append(later - step)
    return np.concatenate(sources), np.concatenate(targets)


def groups(sizes: Sequence[int], random: np.random.Generator) -> Edges:
    """Connected groups of the given sizes: random trees, and half as many edges as nodes within the groups.

    The edges after those of the trees may be loops, and may repeat other edges.
    """
    first = _first(sizes)
    nodes = np.arange(first.size)
    later = nodes[nodes > first]
    more = random.integers(0, nodes.size, nodes.size // 2)
    other_ends = first[later] + random.integers(0, later - first[later])
    ends_of_more = first[more] + random.integers(0, np.repeat(sizes, sizes)[more])
    return np.concatenate((later, more)), np.concatenate((other_ends, ends_of_more))


def _first(lengths: Sequence[int]) -> Numbers:
    """For each node the number of the first node of its chain."""
    return np.repeat(np.cumsum([0, *lengths[:-1]]), lengths)


def distinct(sources: Numbers, targets: Numbers) -> Edges:
    """The different edges, in ascending order, without loops."""
    proper = sources != targets
    nodes = int(max(sources.max(initial=0), targets.max(initial=0))) + 1
    codes = pairs.distinct(sources[proper] * nodes + targets[proper])
    return codes // nodes, codes % nodes


def _distinct(nodes: int, edges: int, draw: Callable[[int], Edges]) -> Edges:
    """The first ``edges`` different edges that are drawn, without loops, in ascending order."""
    codes = np.empty(0, np.int64)
    while codes.size < edges:
        sources, targets = draw(edges + edges // 10)
        proper = (sources != targets) & (sources < nodes) & (targets < nodes)
        codes = np.concatenate((codes, sources[proper] * nodes + targets[proper]))
        codes = _first_occurrences(codes)
    return distinct(codes[:edges] // nodes, codes[:edges] % nodes)


def _first_occurrences(codes: Numbers) -> Numbers:
    """The different codes, each at its first place.  [7, 3, 7, 1] -> [7, 3, 1]"""
    order = key_sort.order_of(codes)  # stable: of equal codes, the first place comes first
    ascending = codes[order]
    is_first = np.ones(codes.size, np.bool_)
    is_first[order[1:]] = ascending[1:] != ascending[:-1]
    return codes[is_first]
