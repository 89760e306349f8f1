"""Closures held as intervals against sets of pairs, and relations made of them against listed ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.closure.test_parts_of_closures import graphs, relation
from tests.columns.drawn import Pair, column, packed, sorted_keys, unpacked
from tests.kernels import twins
from tests.strategies import thorough

from corollary.closure.compressed_relation import CompressedRelation
from corollary.closure.interval_index import IntervalIndex
from corollary.closure.reachability import Graph
from corollary.columns.relation import Relation

Facts = set[Pair]

some_nodes = st.integers(0, 76)
others = st.sets(st.tuples(some_nodes, some_nodes), max_size=12)
terms = st.sets(some_nodes, max_size=12)


def graph_of(edges: Facts) -> Graph:
    return Graph.of(sorted_keys(edges))


def index_of(edges: Facts) -> IntervalIndex:
    index = IntervalIndex.of(graph_of(edges), is_limited=False)
    assert index is not None
    return index


def compressed(edges: Facts, away: Facts, beside: Facts) -> tuple[CompressedRelation, Facts]:
    """A relation without some facts and with others, and its facts."""
    closure = twins.closure(edges)
    facts = (closure - away) | beside
    lacking, more = relation(closure & away - beside), relation(beside - closure)
    return CompressedRelation(index_of(edges), lacking, more), facts


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
    for found_of, listed_of in (
        (found.objects_of, listed.objects_of),
        (found.subjects_of, listed.subjects_of),
    ):
        assert sorted(zip(*found_of(every), strict=True)) == sorted(zip(*listed_of(every), strict=True))
    for node in (0, 3, 74):
        assert sorted(found.objects(node)) == listed.objects(node)
        assert sorted(found.subjects(node)) == listed.subjects(node)
        assert found.has(node, 3) == listed.has(node, 3)
        assert found.has_subject(node) == listed.has_subject(node)
        assert found.has_object(node) == listed.has_object(node)


@thorough(150)
@given(graphs, others, others, others, terms)
def test_it_reads_as_a_listed_relation(
    edges: Facts, away: Facts, beside: Facts, probes: Facts, starts: set[int]
) -> None:
    found, facts = compressed(edges, away, beside)
    assert_same(found, facts)
    assert_same(found.inverse(), {(o, s) for s, o in facts})
    asked = sorted(probes | facts)
    assert found.contains(packed(asked)).tolist() == [fact in facts for fact in asked]
    starting = unpacked(found.starting(column(sorted(starts))))
    assert starting == sorted(fact for fact in facts if fact[0] in starts)


@thorough(150)
@given(graphs, others, others, others)
def test_facts_come_and_go(edges: Facts, away: Facts, beside: Facts, change: Facts) -> None:
    found, facts = compressed(edges, away, beside)
    keys = sorted_keys(change)
    assert_same(found.plus(keys), facts | change)
    assert_same(found.minus(keys), facts - change)
    assert_same(found.minus(keys).plus(keys), facts | change)
    removed, added = found.plus(keys).since(found)
    assert (unpacked(removed), unpacked(added)) == ([], sorted(change - facts))


@thorough(150)
@given(graphs, graphs, others, others, others)
def test_differences(edges: Facts, more: Facts, away: Facts, beside: Facts, change: Facts) -> None:
    """Of relations over one closure, over a closure and a smaller one, over any two, and with listed ones."""
    found, facts = compressed(edges, away, beside)
    whole, all_facts = compressed(edges | more, set(), set())
    other, other_facts = compressed(more, change, away)
    near, near_facts = (
        CompressedRelation(found._closure, relation(change & twins.closure(edges))),
        (twins.closure(edges) - change),
    )
    assert_same(found.less(found), set())
    assert_same(found.less(near), facts - near_facts)
    assert_same(near.less(found), near_facts - facts)
    assert_same(whole.less(found), all_facts - facts)
    assert_same(found.less(other), facts - other_facts)
    assert_same(found.less(relation(change)), facts - change)
    assert_same(relation(change).less(found), change - facts)
    gone = whole.less(found)
    assert_same(gone.less(found), all_facts - facts)
    assert_same(whole.less(gone), all_facts & facts)


def test_chains_and_cliques_take_few_intervals() -> None:
    """However their nodes are numbered."""
    order = np.random.default_rng(0).permutation(3000).tolist()
    chain = set(pairwise(order))
    assert index_of(chain).starts.size == 2999
    assert index_of(chain | {(v, u) for u, v in chain}).starts.size == 1


@pytest.mark.parametrize("size, is_compressed", [(1000, False), (2000, True)])
def test_few_pairs_are_listed(size: int, is_compressed: bool) -> None:
    index = IntervalIndex.of(graph_of(set(pairwise(range(size)))))
    assert (index is not None) == is_compressed


def test_many_intervals_are_listed() -> None:
    """A path to every second node of a chain's layers: no two stand side by side."""
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 2000, (20_000, 2))
    dag = {(int(u), int(v)) for u, v in ends if u < v}
    assert IntervalIndex.of(graph_of(dag)) is None
