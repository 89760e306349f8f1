"""Every kernel over sorted arrays does what its plain twin does, as Python and as machine code."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.kernels import twins
from tests.kernels.forms import Form, all_forms, both_forms, form, halves, quick

from corollary.kernels import sorted, sorting

keys = st.builds(lambda first, second: first * twins.HALF + second, halves, halves)
sorted_keys = st.lists(keys, max_size=40).map(lambda drawn: np.sort(np.array(drawn, np.uint64)))
unique_keys = st.sets(keys, max_size=40).map(lambda drawn: np.sort(np.array(list(drawn), np.uint64)))


def ascending(values: st.SearchStrategy[int]) -> st.SearchStrategy[list[int]]:
    """Lists in any order, with duplicates; some of them ascending."""
    lists = st.lists(values, max_size=20)
    return st.one_of(lists, lists.map(lambda drawn: np.sort(np.array(drawn, np.uint64)).tolist()))


ORDERS = "any", "ascending", "ascending in runs", "close"
parts_of_probes = st.lists(st.tuples(st.integers(1, 70), st.sampled_from(ORDERS)), min_size=1, max_size=5)


def probes_in_parts(
    random: np.random.Generator, last: int, parts: list[tuple[int, str]]
) -> NDArray[np.uint64]:
    """Probes up to ``last``: for each part a number of them, in its order. Kernels change how they search."""
    found = []
    for number, order in parts:
        part = random.integers(0, last, number, np.uint64, endpoint=True)
        if order == "close":
            part = part[:1] + np.arange(number, dtype=np.uint64) // np.uint64(2)
        elif order != "any":
            length = 7 if order == "ascending in runs" else number
            part = np.concatenate([np.sort(part[i : i + length]) for i in range(0, number, length)])
        found.append(part)
    return np.concatenate(found)


@all_forms
@quick
@given(sorted_keys, ascending(halves))
def test_locate(written: Form, keys: NDArray[np.uint64], probes: list[int]) -> None:
    starts, counts = np.full(len(probes), -1), np.full(len(probes), -1)
    total = form(sorted.locate, written)(keys, np.array(probes, np.uint32), starts, counts)
    assert (starts.tolist(), counts.tolist()) == twins.locate(keys.tolist(), probes)
    assert total == counts.sum()


@all_forms
@quick
@given(st.integers(0, 2000), parts_of_probes, st.integers(1, 9000), st.integers(0, 99))
def test_locate_among_many(
    written: Form, size: int, parts: list[tuple[int, str]], last: int, seed: int
) -> None:
    """Probes as near to each other, and as far apart, as they may be."""
    random = np.random.default_rng(seed)
    drawn = random.integers(0, last, size, np.uint64, endpoint=True) * twins.HALF
    keys = np.sort(drawn + random.integers(0, 3, size, np.uint64))
    probes = probes_in_parts(random, last, parts).astype(np.uint32)
    starts, counts = np.full(probes.size, -1), np.full(probes.size, -1)
    form(sorted.locate, written)(keys, probes, starts, counts)
    first = probes.astype(np.uint64) * twins.HALF
    assert (starts == np.searchsorted(keys, first)).all()
    assert (starts + counts == np.searchsorted(keys, first + twins.HALF)).all()


@all_forms
@quick
@given(st.integers(1, 2000), parts_of_probes, st.sampled_from((1, 9, 2000, 9000)), st.integers(0, 99))
def test_contains_among_many(
    written: Form, size: int, parts: list[tuple[int, str]], last: int, seed: int
) -> None:
    """As ``test_locate_among_many``, with some of the keys removed and others added."""
    random = np.random.default_rng(seed)
    keys = np.unique(random.integers(0, last, size, np.uint64, endpoint=True))
    part = random.integers(0, 4, keys.size)
    base, added, removed = keys[part < 3], keys[part == 3], keys[part == 0]
    probes = probes_in_parts(random, last, parts)
    found = np.zeros(probes.size, np.bool_)
    form(sorted.contains, written)(base, added, removed, probes, found)
    assert (found == np.isin(probes, keys[part > 0])).all()


@all_forms
def test_contains_searches_on_from_the_last_probe_that_was_searched(written: Form) -> None:
    """Not from a probe that ``removed`` does not decide: the second 32 end with such ones, far away."""
    even, tens = np.arange(0, 20_000, 2, dtype=np.uint64), np.arange(0, 20_000, 10, dtype=np.uint64)
    none = np.empty(0, np.uint64)
    far = np.arange(16, dtype=np.uint64) * np.uint64(10)
    near = np.arange(40, 100, 2, dtype=np.uint64)
    beyond = np.array([19_001, 19_003], np.uint64)
    parts = np.stack((far, far + np.uint64(9000)), axis=1).ravel(), near, beyond, near + np.uint64(60)
    probes = np.concatenate(parts)
    found = np.zeros(probes.size, np.bool_)
    form(sorted.contains, written)(even, none, tens, probes, found)
    assert (found == (np.isin(probes, even) & ~np.isin(probes, tens))).all()


sides = st.tuples(st.integers(1, 300), st.integers(1, 300), st.sampled_from((30, 300, 3000)))


@all_forms
@quick
@given(sides, sides, st.integers(0, 9), st.integers(0, 99))
def test_intersect(
    written: Form, one: tuple[int, int, int], other: tuple[int, int, int], rows: int, seed: int
) -> None:
    """Runs of like and of very different lengths; some are empty."""
    random = np.random.default_rng(seed)
    runs = []
    for size, firsts, seconds in (one, other):
        drawn = random.integers(0, 1 + firsts // 50, size, np.uint64) * twins.HALF
        keys = np.unique(drawn + random.integers(0, seconds, size, np.uint64))
        starts, counts = np.empty(rows, np.int64), np.empty(rows, np.int64)
        probes = random.integers(0, 2 + firsts // 50, rows).astype(np.uint32)
        form(sorted.locate, written)(keys, probes, starts, counts)
        runs.append((keys, starts, counts))
    room = int(np.minimum(runs[0][2], runs[1][2]).sum()) + 1
    found_rows, values = np.empty(room, np.int64), np.empty(room, np.uint32)
    number = form(sorted.intersect, written)(*runs[0], *runs[1], found_rows, values)
    found = np.sort(found_rows[:number] * twins.HALF + values[:number]).tolist()
    lists = [array.tolist() for run in runs for array in run]
    assert found == [row * twins.HALF + value for row, value in twins.intersect(*lists)]


@all_forms
@quick
@given(sorted_keys, st.data())
def test_expand(written: Form, keys: NDArray[np.uint64], data: st.DataObject) -> None:
    bounds = st.lists(st.integers(0, keys.size), min_size=2, max_size=2).map(np.sort)
    spans = np.array(data.draw(st.lists(bounds, max_size=10)), np.int64).reshape(-1, 2)
    starts, counts = spans[:, 0].copy(), spans[:, 1] - spans[:, 0]
    rows, values = np.empty(counts.sum(), np.int64), np.empty(counts.sum(), np.uint32)
    first = data.draw(st.sampled_from((0, 7)))
    form(sorted.expand, written)(keys, starts, counts, first, rows, values)
    rows -= first
    expected = twins.expand(keys.tolist(), starts.tolist(), counts.tolist())
    assert list(zip(rows.tolist(), values.tolist(), strict=True)) == expected


@all_forms
@quick
@given(unique_keys, sorted_keys)
def test_follow(written: Form, pairs: NDArray[np.uint64], further: NDArray[np.uint64]) -> None:
    located = twins.locate(further.tolist(), [key // twins.HALF for key in pairs.tolist()])
    starts, counts = (np.array(column, np.int64) for column in located)
    followed = np.zeros(counts.sum(), np.uint64)
    form(sorted.follow, written)(pairs, further, starts, counts, followed)
    assert followed.tolist() == twins.follow(pairs.tolist(), further.tolist(), *located)


@all_forms
@quick
@given(unique_keys, ascending(keys), st.data())
def test_contains(written: Form, keys: NDArray[np.uint64], probes: list[int], data: st.DataObject) -> None:
    if keys.size:
        probes += data.draw(ascending(st.sampled_from(keys.tolist())))
    part = np.array(data.draw(st.lists(st.integers(0, 2), min_size=keys.size, max_size=keys.size)), np.int64)
    base, added, removed = keys[part < 2], keys[part == 2], keys[part == 1]
    found = np.zeros(len(probes), np.bool_)
    form(sorted.contains, written)(base, added, removed, np.array(probes, np.uint64), found)
    assert found.tolist() == twins.contains(base.tolist(), added.tolist(), removed.tolist(), probes)


@all_forms
@quick
@given(unique_keys, unique_keys)
def test_union(written: Form, left: NDArray[np.uint64], right: NDArray[np.uint64]) -> None:
    merged = np.empty(left.size + right.size, np.uint64)
    size = form(sorted.union, written)(left, right, merged)
    assert merged[:size].tolist() == twins.union(left.tolist(), right.tolist())


@all_forms
@quick
@given(unique_keys, unique_keys)
def test_difference(written: Form, left: NDArray[np.uint64], right: NDArray[np.uint64]) -> None:
    kept = np.empty_like(left)
    size = form(sorted.difference, written)(left, right, kept)
    assert kept[:size].tolist() == twins.difference(left.tolist(), right.tolist())


@all_forms
@quick
@given(st.sets(st.integers(0, 101), max_size=4))
def test_difference_of_few(written: Form, few: set[int]) -> None:
    left, right = np.arange(1, 101, dtype=np.uint64), np.sort(np.array([*few], np.uint64))
    kept = np.empty_like(left)
    size = form(sorted.difference, written)(left, right, kept)
    assert kept[:size].tolist() == twins.difference(left.tolist(), right.tolist())


@both_forms
@quick
@given(st.lists(keys, max_size=40), st.lists(st.integers(0, 15), unique=True, min_size=1))
def test_sort_by_digits(written: Form, drawn: list[int], digits: list[int]) -> None:
    shifts = [4 * digit for digit in np.sort(digits).tolist()]
    assert sorted_by(written, drawn, shifts) == twins.sort_by_digits(drawn, shifts)


@all_forms
@quick
@given(st.lists(keys, max_size=40), st.integers(0, 15))
def test_sort_by_all_high_digits(written: Form, drawn: list[int], lowest: int) -> None:
    """The keys ascend in the lower bits already."""
    in_order = np.array(drawn, np.uint64)
    in_order = in_order[np.argsort(in_order & np.uint64((1 << 4 * lowest) - 1), kind="stable")]
    shifts = list(range(4 * lowest, 64, 4))
    assert sorted_by(written, in_order.tolist(), shifts) == np.sort(in_order).tolist()


def sorted_by(written: Form, drawn: list[int], shifts: list[int]) -> list[int]:
    """The keys as the kernel sorts them, by digits of four bits."""
    keys, spare = np.array(drawn, np.uint64), np.zeros(len(drawn), np.uint64)
    counts = np.zeros(16 * len(shifts), np.int64)
    is_spare = form(sorting.sort_by_digits, written)(keys, np.array(shifts, np.uint64), counts, spare)
    found: list[int] = (spare if is_spare else keys).tolist()
    return found
