"""Radix sort of packed keys, and what cuts them into parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels import interim
from corollary.kernels.compiled import kernel_after

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]


@kernel_after(interim.sort_by_digits)
def sort_by_digits(keys: Keys, shifts: Keys, counts: Rows, spare: Keys) -> bool:
    """Stable LSD radix sort of the keys by the given digits.

    Knuth, The Art of Computer Programming 3, 5.2.5, with the histograms of all digits made in one pass.
    Precondition: ``spare`` has the length of ``keys``; ``shifts`` has the lowest bit of each digit,
    ascending; keys that agree in all digits ascend, and no two keys differ in a bit between or above the
    digits; ``counts`` is all zero, and its length is the number of digits times the radix (a power of two).
    Returns True if the sorted keys are in ``spare``, False if they are in ``keys``. The other array is
    scratch. Cost: O(digits · keys).
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


@kernel_after(interim.pick_between)
def pick_between(keys: Keys, least: np.uint64, most: np.uint64, found: Keys) -> int:
    """Write the keys from ``least`` to ``most``, in their order. Returns their number.

    Precondition: ``found`` has the length of the result.
    """
    at = 0
    row = 0
    while at < found.size:
        key = keys[row]
        found[at] = key
        at += 1 if least <= key <= most else 0
        row += 1
    return at
