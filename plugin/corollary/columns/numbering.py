"""Numbers for the distinct values of a column, in ascending order, from 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.columns.pairs import order_of, pack
from corollary.columns.tuning import MAX_TABLE_ENTRIES_PER_ROW, MIN_ROWS_FOR_TABLE
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Keys, Rows


def number_keys(keys: NDArray[Any]) -> tuple[Rows, Rows]:
    """Number the distinct values of a column.

    Returns the first row of each value, and for every row the number of its value. Cost: linear if the column
    ascends, or if it has integers that are not far apart; else that of sorting it.
    """
    fresh = np.ones(keys.size, np.bool_)
    if (keys[1:] >= keys[:-1]).all():  # joins often return sorted rows
        np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
        return np.flatnonzero(fresh), np.cumsum(fresh) - 1
    found = _by_table(keys)
    if found is not None:
        return found
    order = order_of(keys)
    ordered = keys[order]
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    numbers: Rows = np.empty(keys.size, np.int64)
    numbers[order] = np.cumsum(fresh) - 1
    return order[fresh], numbers


def numbered(column: Column) -> tuple[Column, Rows]:
    """As ``number_keys``, but returns the values, ascending, instead of their first rows."""
    first, numbers = number_keys(column)
    return column[first], numbers


def pack_tightly(first: Column, second: Column) -> Keys:
    """As ``pack``: keys in the same order, but close together if each column has few values."""
    left, right = _by_table(first), _by_table(second)
    if left is None or right is None:
        return pack(first, second)
    keys: Keys = left[1].astype(np.uint64)
    keys *= np.uint64(right[0].size)
    keys += right[1].astype(np.uint64)
    return keys


def _by_table(keys: NDArray[Any]) -> tuple[Rows, Rows] | None:
    """As ``number_keys``, by a table indexed by value; None if it would be large, or there are few rows."""
    if keys.size < MIN_ROWS_FOR_TABLE or keys.dtype.kind not in "iu":
        return None
    least = keys.min()
    span = int(keys.max()) - int(least) + 1
    if span > MAX_TABLE_ENTRIES_PER_ROW * keys.size:
        return None
    reserve(16 * (span + keys.size))
    places = keys - least if keys.dtype.kind == "u" else keys.astype(np.int64) - int(least)
    first: Rows = np.full(span, -1, np.int64)
    first[places[::-1]] = np.arange(keys.size - 1, -1, -1)  # of several rows, the first is written last
    used = first >= 0
    return first[used], (np.cumsum(used) - 1)[places]
