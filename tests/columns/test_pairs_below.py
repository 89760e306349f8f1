"""Pairs below a bound answer as a set of their own: of a set in memory, and of one that is mapped."""

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.columns import mapped_pairs
from corollary.columns.column_file import ColumnFile, written
from corollary.columns.mapped_pairs import ORDERS, IdCheck, MappedOrders, MappedPairs
from corollary.columns.pairs import Pairs
from corollary.columns.pairs_below import PairsBelow
from corollary.columns.relation import Relation
from corollary.terms.dictionary import FIRST_LITERAL

halves = st.integers(0, 5) | st.integers(FIRST_LITERAL, FIRST_LITERAL + 3)
some_pairs = st.lists(st.tuples(halves, halves), max_size=30)
PROBES = [*range(7), *range(FIRST_LITERAL, FIRST_LITERAL + 5)]
KNOWN = (7, 0, 5)
"""The numbers of IRIs, blank nodes and literals."""


def keys_of(pairs: list[tuple[int, int]]) -> Pairs:
    return Pairs.of(np.array([first << 32 | second for first, second in pairs], np.uint64))


def mapped(pairs: Pairs, place: Path) -> Pairs:
    with written(place) as file:
        for name, keys in zip(ORDERS, (pairs.keys, pairs.by_object), strict=True):
            file.add(name, "u8", [keys])
            file.add(f"{name}.fences", "u8", [keys[:: mapped_pairs.KEYS_PER_CHUNK]])
        file.finish({})
    orders = MappedOrders.of(ColumnFile(place), np.array([0, len(pairs)]), IdCheck(KNOWN))
    return MappedPairs(orders, 0, len(pairs), (pairs.first_count(), pairs.second_count()))


def assert_same(found: Pairs, expected: Pairs) -> None:
    """Compare all that a set answers; look-ups first, before anything is read as a whole."""
    probes = np.array(PROBES, np.uint32)
    for half in PROBES:
        assert found.seconds_of(half) == expected.seconds_of(half)
        assert found.firsts_of(half) == expected.firsts_of(half)
        assert found.column_of_first(half).tolist() == expected.seconds_of(half)
        assert found.column_of_second(half).tolist() == expected.firsts_of(half)
        assert found.count_first(half) == len(expected.seconds_of(half))
        assert found.count_second(half) == len(expected.firsts_of(half))
        assert found.count_second(half, 3) == sum(first < 3 for first in expected.firsts_of(half))
        for other in PROBES:
            assert found.has(half << 32 | other) == expected.has(half << 32 | other)
            assert found.count_below(half << 32 | other) == expected.count_below(half << 32 | other)
    assert len(found) == len(expected)
    assert (found.first_count(), found.second_count()) == (expected.first_count(), expected.second_count())
    relation, plain = Relation(found), Relation(expected)
    for join in (Relation.objects_of, Relation.subjects_of):
        assert [c.tolist() for c in join(relation, probes)] == [c.tolist() for c in join(plain, probes)]
    assert found.has_second_from(FIRST_LITERAL) or not expected.has_second_from(FIRST_LITERAL)
    for mine, theirs in ((found, expected), (found.inverse(), expected.inverse())):
        assert mine.keys.tolist() == theirs.keys.tolist()
        assert mine.by_object.tolist() == theirs.by_object.tolist()
        assert mine.distinct_firsts().tolist() == theirs.distinct_firsts().tolist()
        assert mine.distinct_seconds().tolist() == theirs.distinct_seconds().tolist()


@pytest.mark.parametrize("is_mapped", [False, True])
@settings(max_examples=50, deadline=None)
@given(pairs=some_pairs)
def test_it_answers_as_the_pairs_below_the_bound(is_mapped: bool, pairs: list[tuple[int, int]]) -> None:
    whole = keys_of(pairs)
    expected = keys_of([pair for pair in pairs if pair[0] < FIRST_LITERAL])
    with TemporaryDirectory() as folder:
        given = mapped(whole, Path(folder, "pairs")) if is_mapped and len(whole) else whole
        assert_same(PairsBelow(given, FIRST_LITERAL), expected)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=49),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=8),
    st.integers(0, 3),
    st.booleans(),
)
def test_look_ups_of_some_chunks(
    pairs: list[tuple[int, int]], probes: list[tuple[int, int]], skipped: int, is_checked: bool
) -> None:
    """Chunks of three keys: what is read has all keys that are asked for."""
    whole, probed = keys_of(pairs), np.array([first << 32 | second for first, second in probes], np.uint64)
    found = sorted({*pairs} & {*probes})
    with (
        TemporaryDirectory() as folder,
        patch.object(mapped_pairs, "KEYS_PER_CHUNK", 3),
        patch.object(mapped_pairs, "MIN_CHUNKS_SKIPPED", skipped),
    ):
        read = mapped(whole, Path(folder, "pairs"))
        if is_checked:
            assert read.keys.tolist() == whole.keys.tolist()
        for given in (read, PairsBelow(read, 7)):
            around = given.keys_around(probed)
            assert (around[1:] > around[:-1]).all()
            assert {*around.tolist()} <= {*whole.keys.tolist()}
            assert {*around.tolist()} >= {first << 32 | second for first, second in found}
            relation, plain = Relation(given), Relation(whole)
            assert relation.contains(probed).tolist() == plain.contains(probed).tolist()
            ends = np.array([first for first, _ in probes], np.uint32)
            for join in (Relation.objects_of, Relation.subjects_of):
                assert [c.tolist() for c in join(relation, ends)] == [c.tolist() for c in join(plain, ends)]


@given(some_pairs, some_pairs, some_pairs)
def test_the_legal_facts_of_a_relation_with_an_overlay(
    base: list[tuple[int, int]], more: list[tuple[int, int]], less: list[tuple[int, int]]
) -> None:
    relation = Relation(keys_of(base)).plus(keys_of(more).keys).minus(keys_of(less).keys)
    facts = ({*base} | {*more}) - {*less}
    legal = relation.legal()
    expected = keys_of([fact for fact in facts if fact[0] < FIRST_LITERAL]).keys.tolist()
    assert legal.pairs().keys.tolist() == expected
    assert len(legal) == len(expected) == relation.legal_count()
    later = legal.plus(keys_of([(3, 4), (4, 3)]).keys).minus(keys_of([(3, 3)]).keys)
    changed = {*expected, 3 << 32 | 4, 4 << 32 | 3} - {3 << 32 | 3}
    assert later.pairs().keys.tolist() == sorted(changed)
    assert sorted(later.pairs().by_object.tolist()) == sorted(
        (k & 0xFFFFFFFF) << 32 | k >> 32 for k in changed
    )
