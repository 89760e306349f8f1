"""The maintained closure against the naive one, while external facts and edges come and go.

Other rules are played by the test: they may prove any fact of the closure that the deletions took.
"""

from __future__ import annotations

from typing import NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.closure.test_compressed import KINDS, made
from tests.closure.test_parts_of_closures import both_ways, graphs, led_to, relation
from tests.columns.drawn import Pair, sorted_keys, unpacked
from tests.kernels import twins
from tests.strategies import thorough

from corollary.closure import maintained, reachability
from corollary.closure.maintained import MaintainedClosure
from corollary.closure.tuning import TIMES_CLOSED_BEFORE_SORTING
from corollary.columns import Relation
from corollary.columns.pairs import NO_KEYS

Facts = set[Pair]

FORMS = ("transitive", "symmetric", "linear", "linear, compressed")
"""Linear: the edges are another relation. Compressed: another rule closes R, and the edges, as well."""


class Change(NamedTuple):
    """What comes and goes in one step. ``kept``: what other rules prove of the facts that paths lose."""

    new: Facts
    new_edges: Facts
    deleted: Facts
    deleted_edges: Facts
    kept: Facts


few_nodes = st.integers(0, 6)
small = st.sets(st.tuples(few_nodes, few_nodes), max_size=8)
changes = st.lists(st.builds(Change, *(small for _ in Change._fields)), min_size=1, max_size=4)


def known(closure: MaintainedClosure) -> Facts:
    """What the closure takes for external."""
    return set(unpacked(closure.external.pairs().keys))


def compressed(facts: Facts) -> Relation:
    """The closure of some facts, without those that only follow."""
    return made(KINDS[0], facts, twins.closure(facts) - facts, set())[0] if facts else relation(facts)


def follow(form: str, history: list[Change]) -> None:
    """Follow all changes, and compare with the naive closure after each."""
    own, symmetric = not form.startswith("linear"), form == "symmetric"
    held = compressed if form == "linear, compressed" else relation
    external, edges, closed = Facts(), Facts(), Facts()
    closure = MaintainedClosure(relation(external), None if own else relation(edges), symmetric=symmetric)

    def close() -> Facts:
        return twins.closure(both_ways(external, symmetric)) if own else led_to(external, edges)

    for change in history:
        external, edges = external - change.deleted, edges - change.deleted_edges
        certain = held(external), held(external if own else edges)
        follows = close()
        proved = follows | closed & change.kept
        gone, gone_edges = (closed & change.deleted) - proved, change.deleted_edges
        deleted = gone
        while gone or gone_edges:
            heard = (known(closure) | change.deleted) & gone  # of its own answers, the external ones
            keys = sorted_keys(heard), sorted_keys(heard if own else gone_edges)
            paths, near = closure.lose(*keys, *certain, is_based=False)
            candidates = set(unpacked(paths)) | set(unpacked(near))
            again = closure.rederive(sorted_keys(candidates - external), *certain)
            assert set(unpacked(again)) == (candidates - external) & follows
            gone, gone_edges = candidates - proved - deleted, Facts()
            deleted |= gone
        left = closed - deleted
        closure.commit(sorted_keys(deleted), held(left), held(edges))
        again = closure.rederive(sorted_keys(deleted), held(left), held(left if own else edges))
        left |= set(unpacked(again))
        external |= closed & change.kept
        assert proved <= left <= close()

        new = change.new - left
        new_edges = new if own else change.new_edges - edges
        external, edges, left = external | new, edges | new_edges, left | new
        found = closure.extend(sorted_keys(new), sorted_keys(new_edges), held(left))
        closed = left | set(unpacked(closure.close() if found is None else found))
        assert closed == close()
        assert known(closure) <= closed


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("few, edges", [(0, 0), (0, 1000), (4, 0)], ids=["joined", "compared", "one by one"])
@thorough(100)
@given(changes)
def test_every_change_is_followed(form: str, few: int, edges: int, history: list[Change]) -> None:
    with (
        patch.multiple(reachability, NODES_MET_AT_FIRST=1, MIN_EDGES_PER_NODE_MET=0),
        patch.object(maintained, "MAX_EDGES_BY_PRODUCT", few),
        patch.object(maintained, "MIN_EDGES_PER_JOINED", edges),
        patch.object(maintained, "MIN_FACTS_PER_NEW_FACT", 0),
    ):
        follow(form, history)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("times", [0, 1])
@thorough(100)
@given(changes)
def test_a_dense_closure_is_computed_anew_before_it_is_sorted(
    form: str, times: int, history: list[Change]
) -> None:
    with (
        patch.object(maintained, "MIN_PAIRS_PER_FACT_IF_DENSE", 0),
        patch.object(maintained, "TIMES_CLOSED_BEFORE_SORTING", times),
        patch.object(maintained, "MAX_EDGES_BY_PRODUCT", 0),
        patch.object(maintained, "MIN_FACTS_PER_NEW_FACT", 0),
    ):
        follow(form, history)


def test_sorting_is_put_off_for_some_additions() -> None:
    edges = [(node, node + 1) for node in range(20)]
    last = sorted_keys({edges.pop()})
    closed = {(x, z) for x in range(20) for z in range(20) if x < z} | {(19, 20)}
    closure, answers = MaintainedClosure(relation(set(edges))), []
    with (
        patch.object(maintained, "MIN_PAIRS_PER_FACT_IF_DENSE", 1),
        patch.object(maintained, "MIN_FACTS_PER_NEW_FACT", 0),
    ):
        for _ in range(2 * TIMES_CLOSED_BEFORE_SORTING):
            found = closure.extend(last, last, relation(closed))
            answers.append(found is None)
    before = TIMES_CLOSED_BEFORE_SORTING
    assert answers == [True] * before + [False] + [True] * (before - 1)


@pytest.mark.parametrize("form", FORMS)
@thorough(100)
@given(changes)
def test_closing_anew_is_the_same(form: str, history: list[Change]) -> None:
    follow(form, history)


@thorough(100)
@given(graphs, graphs, st.booleans())
def test_close_in_the_other_order(external: Facts, edges: Facts, contains_edges: bool) -> None:
    seeds = external | edges if contains_edges else external
    closure = MaintainedClosure(relation(seeds), relation(edges))
    inverted = {(z, x) for x, z in led_to(seeds, edges)}
    found = closure.close(inverse=True)
    assert unpacked(found) == sorted(set(unpacked(found)))
    assert set(unpacked(found)) | {(z, x) for x, z in seeds} == inverted


def test_deleted_facts_of_a_compressed_closure_that_paths_explain_are_derived_again() -> None:
    """They alone: R is not closed anew."""
    edges = {(node, node + 1) for node in range(9)}
    closed, gone = compressed(twins.closure(edges)), sorted_keys({(0, 3), (2, 9)})
    assert closed.is_compressed
    closure = MaintainedClosure(relation(edges))
    closure.commit(gone, closed.minus(gone), closed.minus(gone))
    assert closure.is_waiting
    found = closure.extend(NO_KEYS, NO_KEYS, closed.minus(gone))
    assert found is not None and found.tolist() == gone.tolist()
    assert not closure.is_waiting


def test_facts_that_are_proved_are_external_from_then_on() -> None:
    """Those of an earlier call, too, if they are noted as internal, or deleted, in between."""
    edges = {(node, node + 1) for node in range(9)}
    closed = compressed(twins.closure(edges))
    closure = MaintainedClosure(relation(edges))
    closure.prepare(closed, relation(edges))
    proved = relation(edges).plus(sorted_keys({(0, 5), (20, 21)}))
    closure.note_proved(proved, closed)
    assert known(closure) == edges | {(0, 5)}  # the other one is no fact of R
    closure.note_external(NO_KEYS, sorted_keys({(0, 5)}))
    closure.note_proved(proved, closed)
    assert known(closure) == edges | {(0, 5)}
    gone = sorted_keys({(0, 5)})
    closure.commit(gone, closed.minus(gone), closed.minus(gone))
    assert known(closure) == edges
    closure.note_proved(proved, closed)
    assert known(closure) == edges | {(0, 5)}
