"""Sorting of packed keys and of columns, in several threads where they are large."""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from timeit import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.columns.tuning import (
    KEYS_SAMPLED,
    MAX_KEYS_FOR_NP_SORT,
    SLOW_SECONDS_PER_KEY,
    SLOW_SECONDS_PER_KEY_BY_FIRST,
)
from corollary.kernels.interrupts import together
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Keys, Rows
from corollary.kernels.sorting import pick_between, sort_by_digits
from corollary.kernels.threads import apart, in_pieces, pieces
from corollary.kernels.tuning import MIN_ELEMENTS_FOR_THREAD, MIN_ELEMENTS_TO_COMPILE

MAX_KEY = (1 << 64) - 1

DIGITS = (8, 9, 10)
"""Candidate digit widths of the radix sort, in bits. With wider digits, writes miss the fastest cache."""


def sort_keys(keys: Keys, *, by_first: bool = False) -> Keys:
    """The keys in ascending order. The argument is overwritten.

    ``by_first``: keys with the same first half already ascend in the second half. Ids are dense, so keys
    differ in few bits. The radix sort takes 8 to 15 ns per key, half of that with ``by_first``. ``np.sort``
    takes 2 to 65 ns per key, depending on the processor.
    """
    if keys.size < 2:
        return keys
    if keys.size <= MAX_KEYS_FOR_NP_SORT or (
        keys.size <= MIN_ELEMENTS_TO_COMPILE and not sort_by_digits.is_compiled
    ):
        keys.sort()
        return keys
    if _seconds_per_key() <= (SLOW_SECONDS_PER_KEY_BY_FIRST if by_first else SLOW_SECONDS_PER_KEY):
        keys, parts = _parted(keys)
        if keys.size > MIN_ELEMENTS_FOR_THREAD or len(parts) > 1:
            together([keys[part].sort for part in parts])
        else:
            keys.sort()
        return keys
    varying = int(np.bitwise_or.reduce(keys) ^ np.bitwise_and.reduce(keys))
    if by_first:
        varying &= 0xFFFFFFFF << 32
    ways = ((_digits(varying, width), width) for width in DIGITS)
    shifts, width = min(ways, key=lambda way: len(way[0]))
    if not shifts:
        return keys
    digits, values = np.array(shifts, np.uint64), len(shifts) << width
    given, (keys, parts) = keys, _parted(keys)
    if len(parts) == 1:
        reserve(keys.nbytes)
        spare = np.empty_like(keys)
        return spare if sort_by_digits(keys, digits, np.zeros(values, np.int64), spare) else keys

    def sort_part(part: slice) -> None:
        if sort_by_digits(keys[part], digits, np.zeros(values, np.int64), given[part]):
            keys[part] = given[part]

    together([partial(sort_part, part) for part in parts])
    return keys


def _parted(keys: Keys) -> tuple[Keys, list[slice]]:
    """The keys in a part for each thread, which are less than those of the next part.

    A part has the order of ``keys``. If there is one part, it is ``keys``. Cost: two passes for each thread.
    """
    number = len(pieces(keys.size))
    if number == 1:
        return keys, [slice(0, keys.size)]
    sample = np.sort(keys[:: max(1, keys.size // KEYS_SAMPLED)])
    pivots = [sample[sample.size * i // number] for i in range(1, number)]
    lesser = [_count_below(keys, pivot) for pivot in pivots]
    reserve(keys.nbytes)
    parted = np.empty_like(keys)
    parts = [slice(start, end) for start, end in pairwise((0, *lesser, keys.size))]
    bounds = zip([0, *pivots], [*(max(int(pivot), 1) - 1 for pivot in pivots), MAX_KEY], parts, strict=True)
    together(
        [
            partial(pick_between, keys, np.uint64(least), np.uint64(most), parted[part])
            for least, most, part in bounds
            if part.start < part.stop  # the pivot 0 has no keys below it
        ]
    )
    return parted, parts


def _count_below(keys: Keys, pivot: np.uint64) -> int:
    """The number of keys that are less."""
    return sum(in_pieces(keys.size, lambda cut: int(np.count_nonzero(keys[cut] < pivot))))


def order_of(column: NDArray[Any]) -> Rows:
    """The row numbers of a column in ascending order of its values (stable)."""
    reserve(16 * column.size)
    return apart(column.size, partial(np.argsort, column, kind="stable"))


@cache
def _seconds_per_key() -> float:
    """The time of ``np.sort`` on this processor: measured once, on 8,192 keys."""
    keys = np.random.default_rng(0).integers(0, 1 << 42, 8192, np.uint64)
    return min(repeat(lambda: np.sort(keys), number=1, repeat=5)) / keys.size


def _digits(varying: int, width: int) -> list[int]:
    """The lowest bits of digits of the given width that cover all bits set in ``varying``, ascending."""
    shifts = []
    shift = 0
    while varying >> shift:
        if varying >> shift & 1:
            shifts.append(shift)
            shift += width
        else:
            shift += 1
    return shifts
