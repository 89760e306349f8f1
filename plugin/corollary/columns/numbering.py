"""Numbers for the distinct values of a column, in ascending order, from 0."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.columns.key_sort import order_of
from corollary.columns.pairs import pack
from corollary.columns.tuning import (
    MAX_ROWS_NUMBERED_ONE_BY_ONE,
    MAX_TABLE_ENTRIES_PER_ROW,
    MIN_DROPS_FOR_TABLE,
    MIN_ROWS_FOR_TABLE,
)
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Keys, Rows
from corollary.kernels.threads import apart


def number_keys(keys: NDArray[Any]) -> tuple[Rows, Rows]:
    """Number the distinct values of a column.

    Returns the first row of each value, and for every row the number of its value. Cost: linear if the column
    ascends, or if it has integers that are not far apart; else that of sorting it.
    """
    if keys.size <= MAX_ROWS_NUMBERED_ONE_BY_ONE and keys.dtype.kind in "iu":
        return number_few(keys.tolist())
    return apart(keys.size, partial(_number_keys, keys))


def number_few(values: Sequence[Any]) -> tuple[Rows, Rows]:
    """As ``number_keys``, value by value, of any values that can be sorted."""
    first: dict[Any, int] = {}
    for row, value in enumerate(values):
        first.setdefault(value, row)
    ascending = sorted(first)
    numbers = {value: number for number, value in enumerate(ascending)}
    rows = [first[value] for value in ascending]
    return np.array(rows, np.int64), np.array([numbers[value] for value in values], np.int64)


def _number_keys(keys: NDArray[Any]) -> tuple[Rows, Rows]:
    reserve(17 * keys.size)
    fresh = np.ones(keys.size, np.bool_)
    drops = _drops(keys)
    if not drops:  # joins often return sorted rows
        np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
        return np.flatnonzero(fresh), np.cumsum(fresh) - 1
    found = _by_table(keys, 1 if drops < MIN_DROPS_FOR_TABLE else MAX_TABLE_ENTRIES_PER_ROW)
    if found is not None:
        return found
    order = order_of(keys)
    reserve(24 * keys.size)
    ordered = keys[order]
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    numbers: Rows = np.empty(keys.size, np.int64)
    numbers[order] = np.cumsum(fresh) - 1
    return order[fresh], numbers


def numbered(column: Column) -> tuple[Column, Rows]:
    """As ``number_keys``, but returns the values, ascending, instead of their first rows."""
    first, numbers = number_keys(column)
    return column[first], numbers


def pack_tightly(first: Column, second: Column) -> Column | Keys:
    """As ``pack``: keys in the same order, but close together if each column has few values."""
    reserve(8 * first.size)
    keys = pack(first, second)
    if keys.size < MIN_ROWS_FOR_TABLE or _drops(keys) < MIN_DROPS_FOR_TABLE:
        return keys
    left, right = _by_table(first), _by_table(second)
    if left is None or right is None or left[0].size * right[0].size >= 1 << 32:
        return keys
    return (left[1] * right[0].size + right[1]).astype(np.uint32)


def _drops(keys: NDArray[Any]) -> int:
    """The number of keys that are less than the key before them: where a sorted part of the column begins."""
    return max(keys.size - 1, 0) - int(np.count_nonzero(keys[1:] >= keys[:-1]))


def _by_table(keys: NDArray[Any], most: int = MAX_TABLE_ENTRIES_PER_ROW) -> tuple[Rows, Rows] | None:
    """As ``number_keys``, by a table indexed by value.

    None if there are few rows or no integers, or if the table would have more than ``most`` entries per row.
    """
    if keys.size < MIN_ROWS_FOR_TABLE or keys.dtype.kind not in "iu":
        return None
    least = keys.min()
    span = int(keys.max()) - int(least) + 1
    if span > most * keys.size:
        return None
    reserve(16 * (span + keys.size))
    places = keys - least if keys.dtype.kind == "u" else keys.astype(np.int64) - int(least)
    first: Rows = np.full(span, -1, np.int64)
    first[places[::-1]] = np.arange(keys.size - 1, -1, -1)  # of several rows, the first is written last
    values = np.flatnonzero(first >= 0)
    numbers: Rows = np.empty(span, np.int64)
    numbers[values] = np.arange(values.size)
    return first[values], numbers[places]
