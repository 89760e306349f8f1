"""Every kernel over sorted arrays does what its plain twin does, as Python and as machine code."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.kernels import twins
from tests.kernels.forms import both_forms, form, halves, quick

from corollary.kernels import sorted, sorting

keys = st.builds(lambda first, second: first * twins.HALF + second, halves, halves)
sorted_keys = st.lists(keys, max_size=40).map(lambda drawn: np.sort(np.array(drawn, np.uint64)))
unique_keys = st.sets(keys, max_size=40).map(lambda drawn: np.sort(np.array(list(drawn), np.uint64)))


def ascending(values: st.SearchStrategy[int]) -> st.SearchStrategy[list[int]]:
    """Lists in any order, with duplicates; some of them ascending."""
    lists = st.lists(values, max_size=20)
    return st.one_of(lists, lists.map(lambda drawn: np.sort(np.array(drawn, np.uint64)).tolist()))


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


@both_forms
@quick
@given(st.lists(keys, max_size=40), st.lists(st.integers(0, 15), unique=True, min_size=1))
def test_sort_by_digits(compiled: bool, drawn: list[int], digits: list[int]) -> None:
    shifts = [4 * digit for digit in np.sort(digits).tolist()]
    keys, spare = np.array(drawn, np.uint64), np.zeros(len(drawn), np.uint64)
    counts = np.zeros(16 * len(shifts), np.int64)
    is_spare = form(sorting.sort_by_digits, compiled)(keys, spare, np.array(shifts, np.uint64), counts)
    assert (spare if is_spare else keys).tolist() == twins.sort_by_digits(drawn, shifts)
