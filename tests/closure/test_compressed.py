"""Closures held as intervals against sets of pairs, and relations made of them against listed ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.closure.test_parts_of_closures import graphs as some_graphs
from tests.closure.test_parts_of_closures import relation
from tests.columns.drawn import Pair, column, packed, sorted_keys, unpacked
from tests.kernels import twins
from tests.strategies import thorough

from corollary.closure.bit_index import BitIndex
from corollary.closure.closure_index import ClosureIndex
from corollary.closure.compressed_relation import CompressedRelation, FactIndex, closure_of
from corollary.closure.interval_index import IntervalIndex
from corollary.closure.reachability import Graph
from corollary.closure.tuning import MIN_PAIRS_COMPRESSED
from corollary.columns import Delta, TripleIndex
from corollary.columns.relation import Relation

Facts = set[Pair]
Kind = type[ClosureIndex]

some_nodes = st.integers(0, 76)
others = st.sets(st.tuples(some_nodes, some_nodes), max_size=12)
terms = st.sets(some_nodes, max_size=12)


def graph_of(edges: Facts) -> Graph:
    return Graph.of(sorted_keys(edges))


KINDS = (IntervalIndex, BitIndex)
kinds = st.sampled_from(KINDS)
graphs = some_graphs.filter(bool)


def made(kind: Kind, edges: Facts, away: Facts, beside: Facts) -> tuple[CompressedRelation, Facts]:
    """A relation without some facts and with others, and its facts."""
    closure = twins.closure(edges)
    facts = (closure - away) | beside
    lacking, more = relation(closure & away - beside), relation(beside - closure)
    return CompressedRelation(kind.whole(graph_of(edges)), lacking, more), facts


def assert_same(found: Relation, facts: Facts) -> None:
    """Every way of reading gives these facts."""
    listed = relation(facts)
    assert len(found) == len(facts)
    assert unpacked(found.pairs().keys) == sorted(facts)
    assert unpacked(np.concatenate([np.empty(0, np.uint64), *found.chunks(3)])) == sorted(facts)
    assert found.subject_terms().tolist() == listed.subject_terms().tolist()
    assert found.object_terms().tolist() == listed.object_terms().tolist()
    assert found.legal_count() == listed.legal_count()
    every = column(range(80))
    assert found.subject_counts(every).tolist() == listed.subject_counts(every).tolist()
    assert found.object_counts(every).tolist() == listed.object_counts(every).tolist()
    assert found.has_objects(every).tolist() == (listed.object_counts(every) > 0).tolist()
    for found_of, listed_of in (
        (found.objects_of, listed.objects_of),
        (found.subjects_of, listed.subjects_of),
    ):
        assert sorted(zip(*found_of(every), strict=True)) == sorted(zip(*listed_of(every), strict=True))
    for node in (0, 3, 74):
        assert sorted(found.objects(node)) == listed.objects(node)
        assert sorted(found.subjects(node)) == listed.subjects(node)
        assert sorted(found.column_of_objects(node)) == listed.objects(node)
        assert sorted(found.column_of_subjects(node)) == listed.subjects(node)
        assert found.has(node, 3) == listed.has(node, 3)
        one, index = Delta({1: packed([(node, 3)])}), TripleIndex({1: found})
        assert (bool(one & index), bool(one - index)) == (listed.has(node, 3), not listed.has(node, 3))
        assert found.common(one.keys(1)).size == listed.has(node, 3)
        assert found.count_of_subject(node) == listed.count_of_subject(node) == len(listed.objects(node))
        assert found.count_of_object(node) == listed.count_of_object(node) == len(listed.subjects(node))


@thorough(150)
@given(kinds, graphs, others, others, others, terms)
def test_it_reads_as_a_listed_relation(
    kind: Kind, edges: Facts, away: Facts, beside: Facts, probes: Facts, starts: set[int]
) -> None:
    found, facts = made(kind, edges, away, beside)
    assert_same(found, facts)
    assert_same(found.inverse(), {(o, s) for s, o in facts})
    asked = sorted(probes | facts)
    assert found.contains(packed(asked)).tolist() == [fact in facts for fact in asked]
    rows = [np.array([fact[end] for fact in asked], np.uint32) for end in (0, 1)]
    assert found.contains_rows(*rows).tolist() == [fact in facts for fact in asked]
    starting = unpacked(found.starting(column(sorted(starts))))
    assert starting == sorted(fact for fact in facts if fact[0] in starts)


@thorough(150)
@given(graphs)
def test_intervals_are_listed_in_both_orders(edges: Facts) -> None:
    facts = twins.closure(edges)
    pairs = IntervalIndex.whole(graph_of(edges)).listed()
    assert unpacked(pairs.keys) == sorted(facts)
    assert unpacked(pairs.by_object) == sorted((o, s) for s, o in facts)
    assert pairs.distinct_firsts().tolist() == sorted({s for s, _ in facts})
    assert pairs.distinct_seconds().tolist() == sorted({o for _, o in facts})


@thorough(150)
@given(graphs)
def test_generators_have_the_same_closure(edges: Facts) -> None:
    graph = graph_of(edges)
    generators = unpacked(graph.generators())
    assert twins.closure(set(generators)) == twins.closure(edges)
    parts = graph.components
    assert len(generators) <= min(len(edges), 2 * graph.nodes.size + parts.successors.size)


@thorough(50)
@given(kinds, graphs)
def test_a_symmetric_closure_is_its_inverse(kind: Kind, edges: Facts) -> None:
    both = kind.whole(graph_of(edges | {(o, s) for s, o in edges}))
    assert both.inverse is both
    one = kind.whole(graph_of(edges))
    assert (one.inverse is one) == (twins.closure(edges) == {(o, s) for s, o in twins.closure(edges)})


@thorough(150)
@given(kinds, graphs, others, others, others)
def test_facts_come_and_go(kind: Kind, edges: Facts, away: Facts, beside: Facts, change: Facts) -> None:
    found, facts = made(kind, edges, away, beside)
    keys = sorted_keys(change)
    assert_same(found.plus(keys), facts | change)
    assert_same(found.minus(keys), facts - change)
    assert_same(found.minus(keys).plus(keys), facts | change)
    removed, added = found.plus(keys).since(found)
    assert (unpacked(removed), unpacked(added)) == ([], sorted(change - facts))


@thorough(150)
@given(kinds, kinds, graphs, graphs, others, others, others)
def test_differences(
    kind: Kind,
    other_kind: Kind,
    edges: Facts,
    more: Facts,
    away: Facts,
    beside: Facts,
    change: Facts,
) -> None:
    """Of relations over one closure, over a closure and a smaller one, over any two, and with listed ones."""
    found, facts = made(kind, edges, away, beside)
    whole, all_facts = made(kind, edges | more, set(), set())
    other, other_facts = made(other_kind, more, change, away)
    near, near_facts = (
        CompressedRelation(found._closure, relation(change & twins.closure(edges))),
        (twins.closure(edges) - change),
    )
    inner, inner_facts = made(other_kind, set(sorted(edges)[::2]), change, set())
    assert_same(found.less(inner), facts - inner_facts)
    assert_same(inner.less(found), inner_facts - facts)
    assert_same(found.less(found), set())
    assert_same(found.less(near), facts - near_facts)
    assert_same(near.less(found), near_facts - facts)
    assert_same(whole.less(found), all_facts - facts)
    assert_same(found.less(other), facts - other_facts)
    assert_same(found.less(relation(change)), facts - change)
    assert_same(relation(change).less(found), change - facts)
    part, part_facts = made(other_kind, more, change, away)
    if part_facts <= facts:
        assert_same(found.beyond(part), facts - part_facts)
    listed = facts - change
    assert_same(found.beyond(relation(listed)), facts & change)
    assert_same(found.beyond(found.minus(sorted_keys(change))), facts & change)
    assert_same(whole.beyond(inner.minus(sorted_keys(away))), all_facts - (inner_facts - away))
    assert_same(relation(facts).beyond(relation(listed)), facts & change)
    mixed = inner.minus(sorted_keys(away)).plus(sorted_keys(all_facts & beside))
    mixed_facts = (inner_facts - away) | (all_facts & beside)
    assert_same(whole.beyond(mixed), all_facts - mixed_facts)
    assert_same(
        whole.minus(sorted_keys(change - mixed_facts)).beyond(mixed), all_facts - change - mixed_facts
    )
    gone = whole.less(found)
    assert_same(gone.less(found), all_facts - facts)
    assert_same(whole.less(gone), all_facts & facts)


def kind_of(edges: Facts) -> type[FactIndex] | None:
    """How the closure of a graph is held; None if it is listed."""
    found = closure_of(graph_of(edges))
    return type(found._closure) if isinstance(found, CompressedRelation) else None


def test_chains_and_cliques_take_few_intervals() -> None:
    """However their nodes are numbered."""
    order = np.random.default_rng(0).permutation(3000).tolist()
    chain = set(pairwise(order))
    assert IntervalIndex.whole(graph_of(chain)).starts.size == 2999
    assert IntervalIndex.whole(graph_of(chain | {(v, u) for u, v in chain})).starts.size == 1


def random_graph(size: int, edges: int) -> Facts:
    """A graph without cycles."""
    ends = np.random.default_rng(0).integers(0, size, (edges, 2))
    return {(int(u), int(v)) for u, v in ends if u < v}


@pytest.mark.parametrize(
    "edges, kind",
    [
        (set(pairwise(range(1000))), None),
        (set(pairwise(range(2000))), IntervalIndex),
        (random_graph(2000, 20_000), None),
        (random_graph(4000, 40_000), BitIndex),
        (random_graph(6000, 60_000), BitIndex),  # more than MAX_WORDS_PER_EDGE words an edge, and dense
    ],
    ids=["short chain", "chain", "small graph", "graph", "many words an edge"],
)
def test_the_smallest_is_chosen(edges: Facts, kind: Kind | None) -> None:
    assert kind_of(edges) is kind


def test_what_was_bits_is_bits_again_with_little_spent_on_intervals() -> None:
    """After a change: the pairs are those of the graph as it is now, whatever was there before."""
    fewer = random_graph(6000, 60_000)
    more = fewer | {(u, u + 1) for u in range(100)}
    bits = CompressedRelation(BitIndex.whole(graph_of(fewer)))
    assert IntervalIndex.of(graph_of(more), MIN_PAIRS_COMPRESSED, was_bits=True) is None
    for now in more, set(pairwise(range(3000))):
        again, at_once = closure_of(graph_of(now), bits), closure_of(graph_of(now))
        assert isinstance(again, CompressedRelation)
        assert np.array_equal(again.pairs().keys, at_once.pairs().keys)
