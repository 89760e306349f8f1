"""Every kernel does what its plain twin does, as Python and as machine code.

Ids are drawn from a handful, with both ends of their range among them, so that they meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.kernels import twins

from corollary.kernels import graph, sorted
from corollary.kernels.compiled import Kernel

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

LARGEST = 2**32 - 1

quick = settings(max_examples=150, deadline=None)
both_forms = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])

halves = st.one_of(st.sampled_from((0, 1, 2, 2**31, LARGEST - 1, LARGEST)), st.integers(0, LARGEST))
keys = st.builds(lambda first, second: first * twins.HALF + second, halves, halves)
sorted_keys = st.lists(keys, max_size=40).map(lambda drawn: np.sort(np.array(drawn, np.uint64)))
unique_keys = st.sets(keys, max_size=40).map(lambda drawn: np.sort(np.array(list(drawn), np.uint64)))


def ascending(values: st.SearchStrategy[int]) -> st.SearchStrategy[list[int]]:
    """Lists in any order, with duplicates; some of them ascending."""
    lists = st.lists(values, max_size=20)
    return st.one_of(lists, lists.map(lambda drawn: np.sort(np.array(drawn, np.uint64)).tolist()))


COMPILED: dict[Any, Any] = {}


def form(kernel: Kernel[Parameters, Result], compiled: bool) -> Callable[Parameters, Result]:
    """The kernel as it runs on small arrays, or on large ones."""
    if not compiled:
        return kernel.plain
    if kernel not in COMPILED:
        COMPILED[kernel] = kernel.compile()
    machine_code: Callable[Parameters, Result] = COMPILED[kernel]
    return machine_code


@both_forms
@quick
@given(sorted_keys, ascending(halves))
def test_locate(compiled: bool, keys: NDArray[np.uint64], probes: list[int]) -> None:
    starts, counts = np.full(len(probes), -1), np.full(len(probes), -1)
    total = form(sorted.locate, compiled)(keys, np.array(probes, np.uint32), starts, counts)
    assert (starts.tolist(), counts.tolist()) == twins.locate(keys.tolist(), probes)
    assert total == counts.sum()


@both_forms
@quick
@given(sorted_keys, st.data())
def test_expand(compiled: bool, keys: NDArray[np.uint64], data: st.DataObject) -> None:
    bounds = st.lists(st.integers(0, keys.size), min_size=2, max_size=2).map(np.sort)
    spans = np.array(data.draw(st.lists(bounds, max_size=10)), np.int64).reshape(-1, 2)
    starts, counts = spans[:, 0].copy(), spans[:, 1] - spans[:, 0]
    rows, values = np.empty(counts.sum(), np.int64), np.empty(counts.sum(), np.uint32)
    form(sorted.expand, compiled)(keys, starts, counts, rows, values)
    expected = twins.expand(keys.tolist(), starts.tolist(), counts.tolist())
    assert list(zip(rows.tolist(), values.tolist(), strict=True)) == expected


@both_forms
@quick
@given(unique_keys, sorted_keys)
def test_follow(compiled: bool, pairs: NDArray[np.uint64], further: NDArray[np.uint64]) -> None:
    located = twins.locate(further.tolist(), [key // twins.HALF for key in pairs.tolist()])
    starts, counts = (np.array(column, np.int64) for column in located)
    followed = np.zeros(counts.sum(), np.uint64)
    form(sorted.follow, compiled)(pairs, further, starts, counts, followed)
    assert followed.tolist() == twins.follow(pairs.tolist(), further.tolist(), *located)


@both_forms
@quick
@given(unique_keys, ascending(keys), st.data())
def test_contains(compiled: bool, keys: NDArray[np.uint64], probes: list[int], data: st.DataObject) -> None:
    if keys.size:
        probes += data.draw(ascending(st.sampled_from(keys.tolist())))
    found = np.zeros(len(probes), np.bool_)
    form(sorted.contains, compiled)(keys, np.array(probes, np.uint64), found)
    assert found.tolist() == twins.contains(keys.tolist(), probes)


@both_forms
@quick
@given(unique_keys, unique_keys)
def test_union(compiled: bool, left: NDArray[np.uint64], right: NDArray[np.uint64]) -> None:
    merged = np.empty(left.size + right.size, np.uint64)
    size = form(sorted.union, compiled)(left, right, merged)
    assert merged[:size].tolist() == twins.union(left.tolist(), right.tolist())


def compressed(nodes: int, edges: set[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets and targets."""
    targets = [[v for u, v in edges if u == node] for node in range(nodes)]
    ends = np.cumsum([0, *map(len, targets)], dtype=np.int64)
    return ends, np.array([v for row in targets for v in row], np.int64)


Graph = tuple[int, set[tuple[int, int]]]


@st.composite
def graphs(draw: st.DrawFn, *, downward: bool = False) -> Graph:
    """A number of nodes, and edges; if ``downward``, none leads to a higher number or to itself."""
    nodes = draw(st.integers(0, 10))
    if not nodes:
        return 0, set()
    edges = draw(st.sets(st.tuples(*[st.integers(0, nodes - 1)] * 2), max_size=25))
    if downward:
        edges = {(max(edge), min(edge)) for edge in edges if edge[0] != edge[1]}
    return nodes, edges


@both_forms
@quick
@given(graphs())
def test_strong_components(compiled: bool, drawn: Graph) -> None:
    nodes, edges = drawn
    component = np.full(nodes, 99, np.int64)
    count = form(graph.strong_components, compiled)(*compressed(nodes, edges), component)
    members = [frozenset(np.flatnonzero(component == number).tolist()) for number in range(count)]
    assert set(members) == twins.strong_components(nodes, edges)
    assert count == len(set(members)), "every number has members"
    assert all(component[v] <= component[u] for u, v in edges), "edges lead down or stay"


@both_forms
def test_a_path_longer_than_any_stack(compiled: bool) -> None:
    nodes = 3_000 if not compiled else 300_000
    offsets = np.minimum(np.arange(nodes + 1), nodes - 1)
    component = np.empty(nodes, np.int64)
    count = form(graph.strong_components, compiled)(offsets, np.arange(1, nodes), component)
    assert count == nodes
    assert component.tolist() == list(range(nodes - 1, -1, -1))


@both_forms
@quick
@given(graphs(downward=True), st.data())
def test_reachable(compiled: bool, drawn: Graph, data: st.DataObject) -> None:
    nodes, edges = drawn
    cyclic = data.draw(st.lists(st.booleans(), min_size=nodes, max_size=nodes))
    closed = np.zeros(nodes + 1, np.int64)
    reached = np.empty(nodes * nodes, np.int64)
    arguments = *compressed(nodes, edges), np.array(cyclic, np.bool_), closed
    size = form(graph.reachable, compiled)(*arguments, reached)
    lists = [reached[closed[node] : closed[node + 1]].tolist() for node in range(nodes)]
    expected = twins.reachable(nodes, edges, cyclic)
    assert list(map(set, lists)) == expected
    assert size == closed[nodes] == sum(map(len, expected)), "everything is reached once"


@both_forms
@quick
@given(graphs(downward=True), st.data())
def test_reachable_with_too_little_room(compiled: bool, drawn: Graph, data: st.DataObject) -> None:
    """Nothing is written past the end, and the answer says that it was too little, if it was."""
    nodes, edges = drawn
    cyclic = data.draw(st.lists(st.booleans(), min_size=nodes, max_size=nodes))
    needed = sum(map(len, twins.reachable(nodes, edges, cyclic)))
    room = data.draw(st.integers(0, needed))
    memory = np.full(needed + 1, -7)
    arguments = *compressed(nodes, edges), np.array(cyclic, np.bool_), np.zeros(nodes + 1, np.int64)
    size = form(graph.reachable, compiled)(*arguments, memory[:room])
    assert (memory[room:] == -7).all()
    assert room < size <= needed if room < needed else size == needed
