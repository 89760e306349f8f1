"""The least sums along the paths of a weighted graph, from some nodes with a value at first.

V(y) is the least of the seeds of y and of V(x) + w over all edges (x, y, w). Numbers are floats where every
sum is exact as a float, or is meant to be rounded as one; otherwise Python's exact numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from corollary.closure.strong_components import compressed
from corollary.columns.numbering import numbered
from corollary.expressions.operators import Real, add
from corollary.kernels.compiled import go_on
from corollary.kernels.least_sums import Lengths, Nodes, relax, settle
from corollary.kernels.limits import check, reserve
from corollary.kernels.sorted import Column


class EndlessDescent(Exception):
    """The values of a cycle fall without end: the sums have no least fixpoint."""


def least_sums(
    sources: Column, targets: Column, steps: Lengths, seeded: Column, seeds: Lengths
) -> tuple[Column, Lengths, Lengths]:
    """The nodes, in ascending order, and for each node V and the least seed; infinity for none.

    Precondition: steps are finite. Raises ``EndlessDescent`` after more rounds than there are nodes.
    """
    reserve(64 * sources.size)
    nodes, places = numbered(np.concatenate((sources, targets, seeded)))
    starts, ends, at = np.split(places, (sources.size, 2 * sources.size))
    offsets, order = compressed(nodes.size, starts, np.arange(starts.size))
    best = np.full(nodes.size, np.inf)
    np.minimum.at(best, at, seeds)
    values = best.copy()
    graph = offsets, ends[order], steps[order]
    if not steps.size or steps.min() >= 0:
        settle(go_on(), *graph, values)
    else:
        _relax_all(*graph, values)
    return nodes, values, best


def _relax_all(offsets: Nodes, targets: Nodes, steps: Lengths, values: Lengths) -> None:
    """Bellman and Ford's rounds, each over the nodes that the last one lowered."""
    n = values.size
    frontier, following = (np.zeros(2 * n + 1, np.int64) for _ in range(2))
    first = np.flatnonzero(values < np.inf)
    frontier[: first.size] = first
    count, rounds = int(first.size), 0
    while count:
        check()
        if rounds > n:
            raise EndlessDescent
        count = relax(offsets, targets, steps, frontier, count, following, values)
        frontier, following, rounds = following, frontier, rounds + 1


def exact_least_sums(edges: Iterable[tuple[int, int, Real]], seeds: Mapping[int, Real]) -> dict[int, Real]:
    """As ``least_sums``, for numbers that are too large for floats. Returns V of the nodes that have one."""
    leaving: defaultdict[int, list[tuple[int, Real]]] = defaultdict(list)
    nodes, values = set(seeds), dict(seeds)
    for source, target, step in edges:
        leaving[source].append((target, step))
        nodes |= {source, target}
    frontier, rounds = list(values), 0
    while frontier:
        if rounds > len(nodes):
            raise EndlessDescent
        following: dict[int, None] = {}
        for node in frontier:
            check()
            for target, step in leaving.get(node, ()):
                found = add(values[node], step)
                if target not in values or found < values[target]:
                    values[target] = found
                    following[target] = None
        frontier, rounds = list(following), rounds + 1
    return values
