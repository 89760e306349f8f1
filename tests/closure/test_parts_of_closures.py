"""Parts of closures, and how they change, in bits and in lists, against the naive closure."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.columns.drawn import Pair, column, packed, sorted_keys, unpacked
from tests.kernels import twins
from tests.strategies import examples

from corollary.closure import reachability
from corollary.closure.reachability import Part, Paths
from corollary.closure.tuning import MAX_WORDS_PER_BLOCK
from corollary.columns.pairs import Pairs, firsts
from corollary.columns.relation import Relation
from corollary.kernels.sorted import Column, Keys

thorough = settings(max_examples=examples(100), deadline=None)

NODES = 75
"""More than a word has bits."""

nodes = st.one_of(st.integers(0, 7), st.integers(0, 7), st.integers(0, NODES - 1))
anything = st.sets(st.tuples(nodes, nodes), max_size=30)
loops = nodes.map(lambda node: {(node, node)})
chains = st.tuples(nodes, st.integers(1, 40)).map(
    lambda drawn: {(i, i + 1) for i in range(drawn[0], min(sum(drawn), NODES - 1))}
)
cycles = st.lists(nodes, min_size=2, max_size=12, unique=True).map(
    lambda turn: set(zip(turn, turn[1:] + turn[:1], strict=True))
)
dense = st.sets(nodes, max_size=7).map(lambda few: {(u, v) for u in few for v in few if u <= v})
stars = st.tuples(nodes, st.sets(nodes, max_size=40)).map(lambda drawn: {(drawn[0], v) for v in drawn[1]})
shapes = st.one_of(anything, loops, chains, cycles, dense, stars)
graphs = st.lists(shapes, min_size=1, max_size=3).map(lambda parts: set[Pair]().union(*parts))


Constants = dict[str, Any]

in_every_form = pytest.mark.parametrize(
    "form",
    [
        pytest.param({"MAX_WORDS_PER_BLOCK": MAX_WORDS_PER_BLOCK}, id="as the graph asks"),
        pytest.param({"MAX_WORDS_PER_EDGE": 1 << 20, "WORDS_PER_STEP": 1 << 20}, id="bits"),
        pytest.param({"WORDS_PER_STEP": 1 << 20, "MAX_WORDS_PER_BLOCK": 0}, id="bits in blocks"),
        pytest.param({"words_for": lambda nodes: 1 << 20}, id="lists"),
        pytest.param({"MAX_WORDS_PER_EDGE": 0}, id="lists that turn out long"),
    ],
)
"""What the module goes by, changed."""


NEVER = (999, 999)
"""An edge that no test draws."""


def relation(edges: set[Pair]) -> Relation:
    """With an overlay: some of the edges were added later, and an edge that never was is gone."""
    late = {edge for edge in edges if sum(edge) % 5 == 0}
    whole = Relation(Pairs(sorted_keys((edges - late) | {NEVER})))
    return whole.plus(sorted_keys(late)).minus(packed([NEVER]))


def both_ways(edges: set[Pair], symmetric: bool) -> set[Pair]:
    return edges | {(v, u) for u, v in edges} if symmetric else edges


@in_every_form
@thorough
@given(graphs, st.data())
def test_close_keys(form: Constants, edges: set[Pair], data: st.DataObject) -> None:
    """Edges may come twice and in any order."""
    twice = data.draw(st.sets(st.sampled_from(sorted(edges)))) if edges else set()
    given_twice = data.draw(st.permutations(sorted(edges) + sorted(twice)))
    with patch.multiple(reachability, **form):
        closed = reachability.close_keys(packed(given_twice))
    assert closed.dtype == np.uint64
    assert unpacked(closed) == sorted(twins.closure(edges))


@in_every_form
@thorough
@given(graphs, st.sets(nodes), st.booleans())
def test_starting(form: Constants, edges: set[Pair], sources: set[int], symmetric: bool) -> None:
    with patch.multiple(reachability, **form):
        found = Paths(relation(edges), None, symmetric).starting(column(sorted(sources)))
    expected = {(u, v) for u, v in twins.closure(both_ways(edges, symmetric)) if u in sources}
    assert unpacked(found) == sorted(expected)


def led_to(seeds: set[Pair], edges: set[Pair]) -> set[Pair]:
    """All (x, z) such that a seed leads from x to some y, and any number of edges from y to z."""
    closed = twins.closure(edges)
    return seeds | {(x, z) for x, y in seeds for start, z in closed if start == y}


@in_every_form
@thorough
@given(graphs, graphs, st.sets(nodes), graphs)
def test_paths_that_begin_with_seeds(
    form: Constants, edges: set[Pair], seeds: set[Pair], sources: set[int], pairs: set[Pair]
) -> None:
    paths, expected = Paths(relation(edges), relation(seeds)), led_to(seeds, edges)
    with patch.multiple(reachability, **form):
        found = paths.starting(column(sorted(sources)))
        joined = paths.among(sorted_keys(pairs))
    assert unpacked(found) == sorted((u, v) for u, v in expected if u in sources)
    assert unpacked(joined) == sorted(pairs & expected)


@thorough
@given(graphs, graphs, st.sets(nodes), st.booleans())
def test_sources_of(edges: set[Pair], seeds: set[Pair], near: set[int], is_linear: bool) -> None:
    paths = Paths(relation(edges), relation(seeds) if is_linear else None)
    expected = {u for u, v in (led_to(seeds, edges) if is_linear else twins.closure(edges)) if v in near}
    assert paths.sources_of(column(sorted(near))).tolist() == sorted(
        expected if is_linear else expected | near
    )


@in_every_form
@pytest.mark.parametrize("room", [{}, {"NODES_MET_AT_FIRST": 1, "MIN_EDGES_PER_NODE_MET": 0}])
@thorough
@given(graphs, graphs, st.booleans())
def test_among(form: Constants, room: Constants, edges: set[Pair], pairs: set[Pair], symmetric: bool) -> None:
    with patch.multiple(reachability, **form, **room):
        found = Paths(relation(edges), None, symmetric).among(sorted_keys(pairs))
    assert unpacked(found) == sorted(pairs & twins.closure(both_ways(edges, symmetric)))


def lost(more: Paths, fewer: Paths, starts: Column) -> Keys:
    """What is lost where paths may go on from ``starts``."""
    before = Part.of(more, more.sources_of(starts))
    return before.lost(before.within(fewer))


@in_every_form
@thorough
@given(graphs, st.data(), st.booleans())
def test_lost(form: Constants, edges: set[Pair], data: st.DataObject, symmetric: bool) -> None:
    gone = data.draw(st.sets(st.sampled_from(sorted(edges)), max_size=5)) if edges else set()
    before = twins.closure(both_ways(edges, symmetric))
    after = twins.closure(both_ways(edges - gone, symmetric))
    starts = {u for u, _ in both_ways(gone, symmetric)}
    with patch.multiple(reachability, **form):
        fewer = Paths(relation(edges - gone), None, symmetric)
        found = lost(Paths(relation(edges), None, symmetric), fewer, column(starts))
    assert unpacked(found) == sorted(before - after)


@in_every_form
@thorough
@given(graphs, graphs, st.data())
def test_lost_of_paths_with_seeds(
    form: Constants, edges: set[Pair], seeds: set[Pair], data: st.DataObject
) -> None:
    gone, fewer_seeds = (
        data.draw(st.sets(st.sampled_from(sorted(given)), max_size=5)) if given else set[Pair]()
        for given in (edges, seeds)
    )
    sources = column(sorted({u for u, _ in seeds}))
    with patch.multiple(reachability, **form):
        before = Part.of(Paths(relation(edges), relation(seeds)), sources)
        staying = before.within(Paths(relation(edges - gone), relation(seeds - fewer_seeds)))
        found = before.lost(staying)
    expected = led_to(seeds, edges) - led_to(seeds - fewer_seeds, edges - gone)
    assert unpacked(found) == sorted(expected)


@thorough
@given(graphs, st.lists(nodes), st.booleans(), st.booleans())
def test_nodes_met(edges: set[Pair], starts: list[int], backward: bool, symmetric: bool) -> None:
    """Those of the starts that are no nodes of the graph are met too."""
    met = reachability.nodes_met(relation(edges), column(starts), backward=backward, symmetric=symmetric)
    walked = {(v, u) for u, v in edges} if backward else edges
    reached = {v for u, v in twins.closure(both_ways(walked, symmetric)) if u in starts}
    assert met.tolist() == sorted(reached.union(starts))


@thorough
@given(graphs, st.sets(nodes), st.booleans())
def test_edges_beyond(edges: set[Pair], sources: set[int], symmetric: bool) -> None:
    found = reachability.edges_beyond(relation(edges), column(sorted(sources)), symmetric=symmetric)
    walked = both_ways(edges, symmetric)
    near = sources | {v for u, v in twins.closure(walked) if u in sources}
    assert set(unpacked(found)) == {(u, v) for u, v in walked if u in near}


any_search = pytest.mark.parametrize(
    "first, edges", [(64, 16), (1, 0), (1, 10)], ids=["large", "small", "up"]
)
"""The room of a search at first, and the edges for each node of it that a graph needs."""


@any_search
@thorough
@given(graphs, st.sets(nodes, min_size=1, max_size=2), st.sets(nodes, min_size=1, max_size=2))
def test_edges_between(
    first: int, edges: int, graph: set[Pair], sources: set[int], targets: set[int]
) -> None:
    with patch.multiple(reachability, NODES_MET_AT_FIRST=first, MIN_EDGES_PER_NODE_MET=edges):
        ends = column(sorted(sources)), column(sorted(targets))
        found = unpacked(reachability.edges_between(relation(graph), *ends))
    closed = twins.closure(graph)
    near = sources | {v for u, v in closed if u in sources}
    leading = targets | {u for u, v in closed if v in targets}
    assert len(found) == len(set(found))
    assert {(u, v) for u, v in graph if u in near and v in leading} <= set(found)
    assert set(found) <= {(u, v) for u, v in graph if u in near}


def test_few_edges_are_between_the_root_of_a_tree_and_a_leaf() -> None:
    tree = Relation(Pairs(sorted_keys({(i // 2, i) for i in range(1, 10_000)})))
    root, leaf, path = column([1]), column([4096]), [(1 << i, 2 << i) for i in range(12)]
    assert sorted(unpacked(reachability.edges_between(tree, root, leaf))) == path
    up = sorted(unpacked(reachability.edges_between(tree.inverse(), leaf, root)))
    assert up == [(1, 0), *((v, u) for u, v in path)]  # all that the leaf reaches


def most_memory(work: Callable[[], Keys]) -> tuple[int, Keys]:
    """How many bytes were in use at most on the way to a result, and that result."""
    work()  # whatever is compiled is compiled now
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


SIZE = 3_000

random_ends = np.random.default_rng(0).integers(0, SIZE, (2, 40 * SIZE))
LARGE = {
    "a chain": [(i, i + 1) for i in range(SIZE)],
    "a cycle": [(i, (i + 1) % SIZE) for i in range(SIZE)],
    "a star": [(0, i) for i in range(1, 100 * SIZE)],
    "pairs": [(2 * i, 2 * i + 1) for i in range(50 * SIZE)],
    "a tree": [(i // 2, i) for i in range(1, 50 * SIZE)],
    "many small cycles": [(i, i + 1 if i % 5 < 4 else i - 4) for i in range(20 * SIZE)],
    "a random graph": list(zip(*random_ends.tolist(), strict=True)),
    "a random acyclic graph": list(zip(*np.sort(random_ends, axis=0).tolist(), strict=True)),
}

one_by_one = pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="millions of pairs, one by one")


def allowed(graph: Keys, closed: Keys) -> int:
    """Some columns as long as the graph, and fewer as long as its closure."""
    return 32 * graph.nbytes + 5 * closed.nbytes


@one_by_one
@pytest.mark.parametrize("name", LARGE)
def test_memory_is_in_proportion_to_the_graph_and_its_closure(name: str) -> None:
    """A matrix of bits for every pair of nodes would need gigabytes for some of these."""
    edges = packed(LARGE[name])
    most, closed = most_memory(lambda: reachability.close_keys(edges))
    assert most < allowed(edges, closed), f"{most:,} bytes for {closed.size:,} pairs"


@one_by_one
@pytest.mark.parametrize("name", LARGE)
def test_memory_of_a_change_is_in_proportion_too(name: str) -> None:
    edges = Relation(Pairs.of(packed(LARGE[name])))
    gone = edges.pairs().keys[::100].copy()
    fewer = edges.minus(gone)
    closed = reachability.close_keys(edges.pairs().keys)
    most, _ = most_memory(lambda: lost(Paths(edges), Paths(fewer), firsts(gone)))
    assert most < allowed(edges.pairs().keys, closed), f"{most:,} bytes beside {closed.size:,} pairs"
