"""Pieces of undirected graphs near edges that went or came, against components found edge by edge."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from tests.closure.test_parts_of_closures import both_ways, graphs, nodes, relation
from tests.columns.drawn import Pair, packed, sorted_keys, unpacked
from tests.kernels import twins
from tests.strategies import thorough

from corollary.closure import pieces as search
from corollary.closure.pieces import Pieces
from corollary.columns.pairs import Pairs
from corollary.columns.relation import Relation
from corollary.kernels.sorted import Keys

ALL = 1 << 20


def found(edges: Relation, pairs: Keys) -> Pieces:
    """The pieces, however many nodes are met."""
    with patch.object(search, "MIN_EDGES_PER_NODE_MET", 0), patch.object(search, "NODES_MET_AT_FIRST", ALL):
        pieces = Pieces.of(edges, pairs)
    assert pieces is not None
    return pieces


def closure(edges: set[Pair]) -> set[Pair]:
    return twins.closure(both_ways(edges, symmetric=True))


@thorough(200)
@given(graphs, st.sets(st.tuples(nodes, nodes), min_size=1, max_size=8))
def test_pairs_that_a_path_joins(edges: set[Pair], pairs: set[Pair]) -> None:
    joined = found(relation(edges), sorted_keys(pairs)).are_joined().tolist()
    closed = closure(edges)
    assert joined == [pair in closed for pair in sorted(pairs)]


@thorough(200)
@given(graphs, st.data())
def test_what_a_closure_loses_and_gains_with_edges(edges: set[Pair], data: st.DataObject) -> None:
    changed = (
        data.draw(st.sets(st.sampled_from(sorted(edges)), min_size=1, max_size=8)) if edges else {(0, 1)}
    )
    more, fewer = closure(edges | changed), closure(edges - changed)
    pieces = found(relation(edges - changed), sorted_keys(changed))
    lost = pieces.cut_off(relation(more), ALL)
    assert lost is not None
    assert unpacked(lost) == sorted(more - fewer)

    drawn = data.draw(st.sets(st.sampled_from(sorted(more)), max_size=20))
    known = fewer | both_ways(changed | drawn, symmetric=True)
    gained = pieces.put_together(relation(known), ALL, ALL)
    assert gained is not None
    assert known | set(unpacked(gained)) == more


def test_few_nodes_are_met_where_a_short_path_is_cut_off_a_long_cycle() -> None:
    size = 10_000
    cycle = {(i, (i + 1) % size) for i in range(size)} | {(size, size + 1), (size + 2, size + 1)}
    pieces = Pieces.of(Relation(Pairs(sorted_keys(cycle))), packed([(5_000, size)]))
    assert pieces is not None
    assert pieces.nodes.tolist() == [size, size + 1, size + 2]
    assert pieces.are_joined().tolist() == [False]


def test_too_many_nodes_and_too_many_pairs() -> None:
    size = 10_000
    chain = {(i, i + 1) for i in range(size)} - {(5_000, 5_001)}
    middle = packed([(5_000, 5_001)])
    assert Pieces.of(Relation(Pairs(sorted_keys(chain))), middle) is None
    pieces = found(relation({(i, i + 1) for i in range(10)} - {(2, 3)}), packed([(2, 3)]))
    closed = relation(closure({(i, i + 1) for i in range(10)}))
    assert pieces.cut_off(closed, 32) is None
    lost = pieces.cut_off(closed, 33)
    assert lost is not None
    assert lost.size == 2 * 3 * 8
    assert pieces.put_together(closed, ALL, 5) is None
    assert pieces.put_together(closed, 5, ALL) is None
