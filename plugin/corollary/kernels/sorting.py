"""Sorting keys by their digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import kernel

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]


@kernel
def sort_by_digits(keys: Keys, shifts: Keys, counts: Rows, spare: Keys) -> bool:
    """Sort keys by some of their digits, least first; keys that agree in these stay in their order.

    Knuth, The Art of Computer Programming 3, 5.2.5, with all digits counted in one pass. ``spare`` is as
    long as ``keys``, ``shifts`` says where digits begin, ascending; ``counts`` is zero, as long as there are
    values of a digit (a power of two) times digits. Whether the result is in ``spare``; the other is scratch.
    """
    values = counts.size // shifts.size
    mask = np.uint64(values - 1)
    for row in range(keys.size):
        key = keys[row]
        for digit in range(shifts.size):
            counts[digit * values + np.int64((key >> shifts[digit]) & mask)] += 1
    for digit in range(shifts.size):
        shift = shifts[digit]
        first = digit * values
        start = 0
        for value in range(first, first + values):
            count = counts[value]
            counts[value] = start
            start += count
        source = spare if digit & 1 else keys
        target = keys if digit & 1 else spare
        for row in range(source.size):
            key = source[row]
            place = first + np.int64((key >> shift) & mask)
            target[counts[place]] = key
            counts[place] += 1
    return shifts.size & 1 == 1
