"""Sorted pairs against Python sets of tuples."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.columns.drawn import Pair, column, ids, packed, pairs, sets_of_pairs, sorted_keys, unpacked
from tests.strategies import examples

from corollary.columns.numbering import numbered
from corollary.columns.pairs import (
    Pairs,
    among,
    compose,
    compose_by_first,
    contains,
    difference,
    distinct,
    firsts,
    follow,
    gathered,
    intersection,
    join,
    pack,
    read_only,
    seconds,
    sorted_unique,
    swap,
    union,
    with_inverses,
)
from corollary.columns.tuning import MAX_LOOKS_BEFORE_SORTING, MIN_ROWS_FOR_TABLE

quick = settings(max_examples=examples(150), deadline=None)


def assert_is(found: Pairs, expected: set[Pair] | frozenset[Pair]) -> None:
    """The same set, in both orders, with every column that can be asked for."""
    assert unpacked(found.keys) == sorted(expected)
    assert unpacked(found.by_object) == sorted((second, first) for first, second in expected)
    assert len(found) == len(expected)
    assert found.distinct_firsts().tolist() == sorted({first for first, _ in expected})
    assert found.distinct_seconds().tolist() == sorted({second for _, second in expected})


@quick
@given(sets_of_pairs, ids)
def test_distinct_seconds_of_many(drawn: frozenset[Pair], shift: int) -> None:
    """Close together they are marked in a table, else the inverse pairs are sorted."""
    near = {(first, second % 8 + shift // 2) for first, second in drawn}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("corollary.columns.pairs.MIN_KEYS_MERGED", 1)
        for expected in (drawn, near):
            found = Pairs(sorted_keys(expected)).distinct_seconds()
            assert found.dtype == np.uint32
            assert found.tolist() == sorted({second for _, second in expected})


@quick
@given(st.lists(pairs, max_size=20))
def test_packing(drawn: list[Pair]) -> None:
    keys = pack(column(first for first, _ in drawn), column(second for _, second in drawn))
    assert keys.dtype == np.uint64
    assert unpacked(keys) == drawn
    assert list(zip(firsts(keys).tolist(), seconds(keys).tolist(), strict=True)) == drawn
    assert unpacked(swap(keys)) == [(second, first) for first, second in drawn]


@quick
@given(st.lists(pairs, max_size=30))
def test_any_keys_become_pairs(drawn: list[Pair]) -> None:
    keys = packed(drawn)
    assert_is(Pairs.of(keys), set(drawn))
    assert unpacked(keys) == drawn, "what was given is left alone"
    assert unpacked(sorted_unique(keys)) == sorted(set(drawn))
    assert distinct(firsts(keys)).tolist() == sorted({first for first, _ in drawn})


@quick
@given(sets_of_pairs, sets_of_pairs, st.booleans(), st.booleans())
def test_union_and_difference(
    left: frozenset[Pair], right: frozenset[Pair], left_swapped: bool, right_swapped: bool
) -> None:
    one, other = Pairs(sorted_keys(left)), Pairs(sorted_keys(right))
    for made, both_orders in ((one, left_swapped), (other, right_swapped)):
        if both_orders:
            assert made.by_object.size == len(made)
    together, rest = one.plus(other), one.minus(other)
    few = 4 * len(right) <= len(left)
    assert together.has_by_object or not left_swapped or not few, (
        "an order that is there is kept up for little"
    )
    assert rest.has_by_object or not left_swapped
    assert_is(together, left | right)
    assert_is(rest, left - right)
    assert_is(one, left)
    assert_is(other, right)


@given(sets_of_pairs, sets_of_pairs)
@quick
def test_symmetric_pairs_have_one_order(left: frozenset[Pair], right: frozenset[Pair]) -> None:
    """One array stands for both orders, until a change makes the pairs differ from their inverse."""
    both = [{*some, *((y, x) for x, y in some)} for some in (left, right)]
    one, other = (Pairs(sorted_keys(some)) for some in both)
    assert len(one) < 2 or one.by_object is one.keys
    for made, expected in ((one.plus(other), both[0] | both[1]), (one.minus(other), both[0] - both[1])):
        assert_is(made, expected)
        assert_is(made.inverse(), expected)
    changed = both[0] - right
    assert_is(one.minus(Pairs(sorted_keys(both[0] & right))), changed)
    assert_is(one.plus(Pairs(sorted_keys(right))), both[0] | right)


@quick
@given(sets_of_pairs, sets_of_pairs, st.lists(pairs, max_size=20))
def test_operations_on_keys(left: frozenset[Pair], right: frozenset[Pair], probes: list[Pair]) -> None:
    one, other = sorted_keys(left), sorted_keys(right)
    assert unpacked(union(one, other)) == sorted(left | right)
    assert unpacked(difference(one, other)) == sorted(left - right)
    assert unpacked(intersection(one, other)) == sorted(left & right)
    assert contains(one, packed(probes)).tolist() == [probe in left for probe in probes]


@quick
@given(sets_of_pairs, st.lists(ids, max_size=8))
def test_join(drawn: frozenset[Pair], probes: list[int]) -> None:
    rows, values = join(sorted_keys(drawn), column(probes))
    expected = [
        (row, second) for row, probe in enumerate(probes) for first, second in sorted(drawn) if first == probe
    ]
    assert list(zip(rows.tolist(), values.tolist(), strict=True)) == expected


@quick
@given(sets_of_pairs, st.lists(ids))
def test_few_second_halves_are_looked_for_before_all_are_sorted(
    drawn: frozenset[Pair], probes: list[int]
) -> None:
    expected = sorted((second, first) for first, second in drawn if second in probes)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MIN_KEYS_PER_HALF_LOOKED_FOR", "MIN_KEYS_PER_KEY_FOUND"):
            patch.setattr(f"corollary.columns.pairs.{name}", 0)
        found = Pairs(sorted_keys(drawn))
        for look in range(1, MAX_LOOKS_BEFORE_SORTING + 2):
            assert unpacked(found.by_object_near(column(probes))) == expected or found.has_by_object
            assert found.has_by_object == (look > MAX_LOOKS_BEFORE_SORTING and len(probes) > 0)
        assert_is(found, drawn)
    found = Pairs(sorted_keys(drawn))
    assert set(expected) <= set(unpacked(found.by_object_near(column(probes))))


def test_second_halves_that_are_far_apart_are_looked_for() -> None:
    """Others agree with these in their last 16 bits."""
    halves = np.array([7, 3 << 20 | 7, 0xFFFFFFFF], np.uint32)
    others = np.concatenate((np.arange(1, 40) << 16 | 7, np.arange(8, 50))).astype(np.uint32)
    seconds_ = np.tile(np.concatenate((halves, others)), 100)
    found = Pairs.of(pack(np.arange(seconds_.size, dtype=np.uint32), seconds_))
    near = found.by_object_near(halves)
    assert not found.has_by_object
    assert near.tolist() == [key for key in found.by_object.tolist() if key >> 32 in set(halves.tolist())]


@given(sets_of_pairs)
def test_inverse_sets_share_their_orders(drawn: frozenset[Pair]) -> None:
    one, other = Pairs(sorted_keys(drawn)), Pairs(sorted_keys({(y, x) for x, y in drawn}))
    one.share_inverse(other)
    assert one.by_object is other.keys and other.by_object is one.keys
    assert_is(one, drawn)


@quick
@given(sets_of_pairs, sets_of_pairs)
def test_follow(drawn: frozenset[Pair], further: frozenset[Pair]) -> None:
    followed = follow(sorted_keys(drawn), sorted_keys(further))
    assert sorted(unpacked(followed)) == sorted((y, z) for x, y in drawn for w, z in further if w == x)


@quick
@given(sets_of_pairs, pairs)
def test_reads_one_by_one(drawn: frozenset[Pair], probe: Pair) -> None:
    made = Pairs(sorted_keys(drawn))
    for pair in {probe, *drawn}:
        key = pair[0] << 32 | pair[1]
        assert made.has(key) == (pair in drawn)
        assert made.count_below(key) == sum(other < pair for other in drawn)
        assert made.seconds_of(pair[0]) == sorted(second for first, second in drawn if first == pair[0])
        assert made.firsts_of(pair[1]) == sorted(first for first, second in drawn if second == pair[1])


@quick
@given(sets_of_pairs)
def test_pairs_survive_pickling(drawn: frozenset[Pair]) -> None:
    made = Pairs(sorted_keys(drawn))
    assert_is(made, drawn)
    made.has(0), made.firsts_of(0)
    assert_is(pickle.loads(pickle.dumps(made)), drawn)


def test_large_sets_go_through_the_compiled_kernels() -> None:
    random = np.random.default_rng(7)
    left, right = (pack(*random.integers(0, 300, (2, 50_000), np.uint32)) for _ in range(2))
    known = set(unpacked(left)), set(unpacked(right))
    for one, other in ((left, right), (left, right[:1000]), (left[:1000], right)):
        first, second = set(unpacked(one)), set(unpacked(other))
        assert_is(Pairs.of(one).plus(Pairs.of(other)), first | second)
        assert_is(Pairs.of(one).minus(Pairs.of(other)), first - second)
        assert unpacked(gathered([sorted_unique(one), other, other])) == sorted(first | second)
        assert contains(sorted_unique(one), sorted_unique(other)).sum() == len(first & second)
    assert unpacked(swap(left)) == [(second, first) for first, second in unpacked(left)]
    assert known == (set(unpacked(left)), set(unpacked(right))), "what was given is left alone"


def test_a_read_only_view_shares_memory() -> None:
    keys = sorted_keys([(1, 2), (3, 4)])
    view = read_only(keys)
    assert not view.flags.writeable
    assert keys.flags.writeable
    assert np.shares_memory(view, keys)


@quick
@given(st.one_of(st.lists(ids), st.lists(st.integers(2**31, 2**31 + 9), min_size=4)))
def test_numbered(drawn: list[int]) -> None:
    """Values near each other are numbered by a table, others by a search."""
    values, places = numbered(column(drawn))
    assert values.tolist() == sorted(set(drawn))
    assert values[places].tolist() == drawn


@pytest.mark.parametrize("rows", [0, 5, MIN_ROWS_FOR_TABLE])
@pytest.mark.parametrize("least", [0, 1 << 20, (1 << 32) - 301])
def test_values_among_others(rows: int, least: int) -> None:
    """By binary search and by a table, whose ids are near the ends of the range, or not."""
    random = np.random.default_rng(0)
    known = distinct(random.integers(least, least + 301, 50).astype(np.uint32))
    ends = np.array([0, least, least + 300, (1 << 32) - 1])
    column = np.concatenate((ends, random.integers(least, least + 301, rows))).astype(np.uint32)
    assert among(column, known).tolist() == [value in set(known.tolist()) for value in column.tolist()]
    assert not among(column, known[:0]).any()


@pytest.mark.parametrize("values", [1, 3, 40, 5_000])
@pytest.mark.parametrize("size", [1, 2_048, 50_000, 50_001])
def test_distinct_halves_of_many_pairs(values: int, size: int) -> None:
    """Whole blocks of keys have one first half, or all have several."""
    random = np.random.default_rng(size)
    some = random.integers(0, 1 << 32, values).astype(np.uint32)
    halves, others = random.choice(some, size), np.arange(size, dtype=np.uint32)
    expected = sorted(set(halves.tolist()))
    assert Pairs.of(pack(halves, others)).distinct_firsts().tolist() == expected
    inverse = Pairs.of(pack(others, halves))
    assert inverse.by_object.size == size
    assert inverse.distinct_seconds().tolist() == expected


@quick
@given(sets_of_pairs, sets_of_pairs)
def test_symmetric_pairs(drawn: frozenset[Pair], more: frozenset[Pair]) -> None:
    """With their inverses, and so is the union of two symmetric sets, without a sort."""
    inverses = {(second, first) for first, second in drawn}
    assert Pairs(sorted_keys(drawn)).is_symmetric() == (drawn == inverses)
    keys = with_inverses(sorted_keys(drawn))
    assert unpacked(keys) == sorted(drawn | inverses)
    assert Pairs(keys).is_symmetric()
    others = with_inverses(sorted_keys(more))
    both = Pairs(keys, keys).plus(Pairs(others, others))
    assert both.has_by_object
    assert both.is_symmetric()
    assert_is(both, drawn | inverses | set(unpacked(others)))


@quick
@given(sets_of_pairs, sets_of_pairs, st.sampled_from([1, 1 << 24]))
def test_composed_pairs(drawn: frozenset[Pair], more: frozenset[Pair], far: int) -> None:
    """Whether the ends are close together or not."""
    further = {(first, second % 8 * far) for first, second in more}
    wanted = {(first, end) for first, second in drawn for start, end in further if start == second}
    pairs_of_both = sorted_keys(drawn), Pairs(sorted_keys(further))
    assert unpacked(compose(*pairs_of_both)) == sorted(wanted)
    found = compose_by_first(*pairs_of_both)
    assert sorted(unpacked(found)) == sorted(wanted)
    assert (np.diff(firsts(found).astype(np.int64)) >= 0).all()
