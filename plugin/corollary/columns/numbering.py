"""Numbers for the distinct values of a column, in ascending order, from 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.columns.pairs import order_of, pack
from corollary.columns.tuning import MAX_TABLE_ENTRIES_PER_ROW, MIN_ROWS_FOR_TABLE
from corollary.kernels.sorted import Column, Keys, Rows


def number_keys(keys: NDArray[Any]) -> tuple[Rows, Rows]:
    """Number the distinct values of a column.

    Returns the first row of each value, and for every row the number of its value. Cost: linear if the column
    ascends, or if many of the integers between its least and its greatest occur; else that of sorting it.
    """
    fresh = np.ones(keys.size, np.bool_)
    if (keys[1:] >= keys[:-1]).all():  # joins often return sorted rows
        np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
        return np.flatnonzero(fresh), np.cumsum(fresh) - 1
    if keys.size >= MIN_ROWS_FOR_TABLE and keys.dtype.kind in "iu":
        least = keys.min()
        if int(keys.max()) - int(least) < MAX_TABLE_ENTRIES_PER_ROW * keys.size:
            return _by_table(keys - least)
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
    """As ``pack``, in the same order, but with keys that are close together if the values are."""
    if first.size < MIN_ROWS_FOR_TABLE:
        return pack(first, second)
    least = second.min()
    keys: Keys = (first - first.min()).astype(np.uint64)
    keys *= np.uint64(int(second.max()) - int(least) + 1)
    keys += second - least
    return keys


def _by_table(keys: NDArray[Any]) -> tuple[Rows, Rows]:
    """As ``number_keys``, by a table indexed by key."""
    first: Rows = np.full(int(keys.max()) + 1, -1, np.int64)
    first[keys[::-1]] = np.arange(keys.size - 1, -1, -1)  # the first row is written last
    used = first >= 0
    return first[used], (np.cumsum(used) - 1)[keys]
