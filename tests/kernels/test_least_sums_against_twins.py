"""The kernels of least sums do what their plain twin does, as Python and as machine code."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.kernels.forms import Form, both_forms, form, quick

from corollary.kernels import least_sums
from corollary.kernels.compiled import go_on

Network = tuple[list[float], list[tuple[int, int, float]]]


@st.composite
def networks(draw: st.DrawFn, least: int) -> Network:
    """Values of nodes at first, and edges with steps."""
    seeds = draw(st.lists(st.sampled_from([inf, inf, 0.0, 2.0, -1.0]), min_size=1, max_size=8))
    node = st.integers(0, len(seeds) - 1)
    return seeds, draw(st.lists(st.tuples(node, node, st.integers(least, 6).map(float)), max_size=20))


def arrays(network: Network) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The edges as compressed rows."""
    seeds, edges = network
    ordered = sorted(edges, key=lambda edge: edge[0])
    counts = np.bincount([edge[0] for edge in ordered], minlength=len(seeds)).astype(np.int64)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return (
        offsets,
        np.array([edge[1] for edge in ordered], np.int64),
        np.array([edge[2] for edge in ordered], np.float64),
    )


def after_rounds(network: Network, rounds: int) -> Sequence[float]:
    """The twin: the least sums over paths with at most a number of edges."""
    values, edges = network
    for _ in range(rounds):
        found = list(values)
        for source, target, step in edges:
            found[target] = min(found[target], values[source] + step)
        values = found
    return values


@both_forms
@quick
@given(networks(0))
def test_settle(written: Form, network: Network) -> None:
    values = np.array(network[0])
    form(least_sums.settle, written)(go_on(), *arrays(network), values)
    assert values.tolist() == after_rounds(network, len(network[0]))


@both_forms
@quick
@given(networks(-3), st.integers(0, 4))
def test_relax(written: Form, network: Network, rounds: int) -> None:
    """In one round, values may already have been lowered by edges of the same round: never too far."""
    seeds = network[0]
    n = len(seeds)
    frontier, following = (np.zeros(2 * n + 1, np.int64) for _ in range(2))
    values = np.array(seeds)
    known = np.flatnonzero(values < inf)
    frontier[: known.size], count = known, int(known.size)
    for turn in range(1, rounds + 1):
        before = values.copy()
        count = form(least_sums.relax, written)(*arrays(network), frontier, count, following, values)
        assert sorted(following[:count].tolist()) == np.flatnonzero(values < before).tolist()
        assert all(np.array(after_rounds(network, turn)) >= values)
        assert all(np.array(after_rounds(network, turn * n)) <= values)
        frontier, following = following, frontier
