"""Transitive closures of graphs of every shape against the naive closure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.columns.drawn import LARGEST, Pair, packed, sets_of_pairs, sorted_keys, unpacked
from tests.kernels import twins
from tests.strategies import examples

from corollary.closure.reachability import close_graph, close_keys, nodes_met
from corollary.closure.strong_components import compressed
from corollary.columns import Relation
from corollary.columns.pairs import Pairs

quick = settings(max_examples=examples(200), deadline=None)
nodes = st.integers(0, 11)
graphs = st.sets(st.tuples(nodes, nodes), max_size=30)


@quick
@given(st.one_of(graphs, sets_of_pairs))
def test_close_keys(edges: set[Pair]) -> None:
    assert unpacked(close_keys(sorted_keys(edges))) == sorted(twins.closure(set(edges)))


@pytest.mark.parametrize(
    "edges",
    [
        pytest.param([], id="nothing"),
        pytest.param([(4, 4)], id="a loop"),
        pytest.param([(0, LARGEST), (LARGEST, 0)], id="the ends of the range"),
        pytest.param([(1, 2), (2, 3), (3, 1)], id="a cycle"),
        pytest.param([(1, 2), (2, 1), (2, 3), (3, 4), (4, 3), (0, 1), (4, 5)], id="cycles in a row"),
        pytest.param([(1, 2), (2, 2), (2, 3)], id="a loop on the way"),
        pytest.param([(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)], id="a diamond"),
        pytest.param([(i, i + 1) for i in range(40)], id="a path"),
        pytest.param([(i, (i + 1) % 40) for i in range(40)], id="a long cycle"),
    ],
)
def test_shapes(edges: list[Pair]) -> None:
    closed = close_keys(sorted_keys(edges))
    assert closed.dtype == np.uint64
    assert unpacked(closed) == sorted(twins.closure(set(edges)))


@quick
@given(graphs)
def test_every_pair_comes_once(edges: set[Pair]) -> None:
    ends = np.array(sorted(edges), np.int64).reshape(-1, 2)
    sources, targets = close_graph(12, ends[:, 0], ends[:, 1])
    found = list(zip(sources.tolist(), targets.tolist(), strict=True))
    assert sorted(found) == sorted(twins.closure(edges))


@quick
@given(st.lists(st.tuples(nodes, nodes), max_size=30))
def test_compressed_rows(edges: list[Pair]) -> None:
    """Successors in the order given, duplicates kept."""
    ends = np.array(edges, np.int64).reshape(-1, 2)
    offsets, targets = compressed(12, ends[:, 0], ends[:, 1])
    rows = [targets[offsets[node] : offsets[node + 1]].tolist() for node in range(12)]
    assert rows == [[end for start, end in edges if start == node] for node in range(12)]


def test_a_closure_much_larger_than_its_graph() -> None:
    """More room is asked for more than once."""
    path = packed((i, i + 1) for i in range(600))
    closed = close_keys(path)
    assert closed.size == 600 * 601 // 2
    assert (np.diff(closed.astype(np.int64)) > 0).all()


def test_one_large_component() -> None:
    cycle = np.sort(packed((i, (i + 1) % 500) for i in range(500)))
    assert close_keys(cycle).size == 500 * 500


@quick
@given(
    st.sets(st.tuples(st.integers(0, 600), st.integers(0, 600)), max_size=40),
    st.sets(st.integers(0, 700), max_size=3),
    st.sampled_from([(False, False), (True, False), (False, True)]),
    st.sets(st.integers(0, 599), max_size=3),
    st.integers(1, 4000),
)
def test_nodes_met(
    more: set[Pair], starts: set[int], way: tuple[bool, bool], gaps: set[int], sparse: int
) -> None:
    """Few nodes are met by a search, many in the graph as a whole; facts were added and removed."""
    backward, symmetric = way
    lonely = {(n, n) for n in range(1_000, 1_000 + sparse)}  # so that the graph is large beside what is met
    path = {(n, n + 1) for n in range(600)}
    edges = (
        Relation(Pairs(sorted_keys(path | lonely)))
        .plus(sorted_keys(more))
        .minus(sorted_keys({(n, n + 1) for n in gaps}))
    )
    left = (path | more) - {(n, n + 1) for n in gaps}
    steps: dict[int, set[int]] = {}
    for u, v in left:
        if symmetric or not backward:
            steps.setdefault(u, set()).add(v)
        if symmetric or backward:
            steps.setdefault(v, set()).add(u)
    expected, waiting = set(starts), list(starts)
    while waiting:
        for node in steps.get(waiting.pop(), set()) - expected:
            expected.add(node)
            waiting.append(node)
    column = np.array(sorted(starts), np.uint32)
    assert nodes_met(edges, column, backward=backward, symmetric=symmetric).tolist() == sorted(expected)
