"""Cliques, and the facts copied along them, against sets of pairs."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.closure.test_compressed import Facts, assert_same
from tests.closure.test_parts_of_closures import relation
from tests.columns.drawn import Pair, column, packed, sorted_keys, unpacked
from tests.strategies import thorough

from corollary.closure.cliques import NO_CLIQUES, Cliques
from corollary.closure.compressed_relation import CompressedRelation, closure_of
from corollary.closure.copy_index import CopyIndex
from corollary.closure.reachability import Graph

nodes = st.integers(0, 74)
some_facts = st.sets(st.tuples(nodes, nodes), max_size=12)
some_cliques = st.lists(st.frozensets(nodes, min_size=1, max_size=6), max_size=4)

Clique = frozenset[int]


def apart(drawn: list[Clique]) -> list[Clique]:
    """Disjoint cliques: each without the members of earlier ones."""
    found: list[Clique] = []
    for clique in drawn:
        rest = clique - frozenset().union(*found)
        found += [rest] if rest else []
    return found


cliques = some_cliques.map(apart)


def equal(drawn: list[Clique]) -> Facts:
    """The symmetric, transitive relation with these cliques."""
    return {pair for clique in drawn for pair in product(clique, clique)}


def clique_of(node: int, drawn: list[Clique]) -> Clique:
    return next((clique for clique in drawn if node in clique), frozenset({node}))


def copies(facts: Facts, by_subject: list[Clique], by_object: list[Clique]) -> Facts:
    found: set[Pair] = set()
    for s, o in facts:
        found |= set(product(clique_of(s, by_subject), clique_of(o, by_object)))
    return found


@thorough(150)
@given(cliques)
def test_cliques(drawn: list[Clique]) -> None:
    """Of all terms, and of some; with a member of each clique in the relation or with all."""
    every = column(range(80))
    least = [min(clique_of(node, drawn)) for node in range(80)]
    chain = {pair for c in drawn for pair in zip(sorted(c), sorted(c)[1:], strict=False)}
    for found in (Cliques.of(relation(equal(drawn))), Cliques.of(relation(chain))):
        assert found.least(every).tolist() == least
        assert found.sizes(every[:0]).tolist() == []
        rows, members = found.members(column(sorted(set(least))))
        pairs = zip(np.array(sorted(set(least)))[rows].tolist(), members.tolist(), strict=True)
        assert sorted(pairs) == sorted((least[node], node) for node in range(80))
        assert found.include(Cliques.of(relation(chain)))


@thorough(150)
@given(cliques, st.sets(nodes, max_size=5))
def test_cliques_of_some_terms(drawn: list[Clique], terms: set[int]) -> None:
    found = Cliques.of_terms(relation(equal(drawn)), column(sorted(terms)))
    for term in terms:
        assert found.least(column(clique_of(term, drawn))).tolist() == [
            min(clique_of(term, drawn)) for _ in clique_of(term, drawn)
        ]
        assert set(found.members(found.least(column([term])))[1].tolist()) == clique_of(term, drawn)


@thorough(150)
@given(cliques, st.booleans(), st.booleans(), some_facts, some_facts, some_facts)
def test_copies_read_as_a_listed_relation(
    drawn: list[Clique], at_subject: bool, at_object: bool, facts: Facts, away: Facts, beside: Facts
) -> None:
    made = Cliques.of(relation(equal(drawn)))
    sides = [(drawn, made) if replaced else ([], NO_CLIQUES) for replaced in (at_subject, at_object)]
    whole = copies(facts, *(side[0] for side in sides))
    index = CopyIndex.of(packed(facts), *(side[1] for side in sides))
    assert sorted(unpacked(index.listed())) == sorted(whole)
    lacking, more = relation(whole & away - beside), relation(beside - whole)
    found = CompressedRelation(index, lacking, more)
    assert_same(found, (whole - away) | beside)
    assert_same(found.inverse(), {(o, s) for s, o in (whole - away) | beside})
    keys = sorted_keys(away)
    assert_same(found.plus(keys), (whole - away) | beside | away)
    assert_same(found.minus(keys), ((whole - away) | beside) - away)


@thorough(150)
@given(cliques, cliques, some_facts, some_facts)
def test_differences_of_copies(drawn: list[Clique], fewer: list[Clique], facts: Facts, others: Facts) -> None:
    """Of copies by more cliques and by fewer, of copies and paths."""
    more = apart([*drawn, *fewer])
    one = CompressedRelation(CopyIndex.of(packed(facts), *[Cliques.of(relation(equal(drawn)))] * 2))
    two = CompressedRelation(CopyIndex.of(packed(facts | others), *[Cliques.of(relation(equal(more)))] * 2))
    of_one, of_two = copies(facts, drawn, drawn), copies(facts | others, more, more)
    assert_same(two.less(one), of_two - of_one)
    assert_same(one.less(two), of_one - of_two)
    if others:
        index = closure_of(Graph.of(sorted_keys(others)))
        assert not index.is_compressed or not index.less(one).contains(packed(of_one)).any()
