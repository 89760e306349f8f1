"""Loops over sorted arrays: search, join, membership, union.

*Keys* are pairs packed as ``uint64``, first << 32 | second, sorted and unique. Probes need not be
sorted, but are found by galloping from the last hit, in time logarithmic in the distance; a join of
two sorted columns is therefore a merge, and a few probes into a large relation are binary searches,
with the same code. The first step is a part of the distance that evenly spread probes have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import Flag, kernel

Keys = NDArray[np.uint64]
Column = NDArray[np.uint32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

FEW = 8
"""Looking at so many numbers takes as long as sorting one, about."""

CLOSE = 4
"""Galloping starts with one part in so many of the mean distance of probes."""

BLOCK, BLOCKS = 8, 8
"""Where probes are near each other, so many blocks of so many keys are looked through first. No branch
depends on how the keys of a block compare, which a processor could not foresee."""


@kernel
def locate(keys: Keys, probes: Column, starts: Rows, counts: Rows) -> int:
    """Keys sorted. For every probe, where the keys with that first half start and how many they are.

    Fills ``starts`` and ``counts`` (as long as ``probes``) and returns the sum of the counts.
    """
    size = keys.size
    total = 0
    position = 0
    last = np.uint32(0)
    shift = np.uint64(32)
    stride = 1 + size // (CLOSE * probes.size + 1)
    is_near = 1 < stride <= BLOCK * BLOCKS // CLOSE
    for row in range(probes.size):
        probe = probes[row]
        if row > 0 and probe == last:
            starts[row] = starts[row - 1]
            counts[row] = counts[row - 1]
            total += counts[row]
            continue
        target = np.uint64(probe) << shift
        # gallop from the last hit, on or back, to a window that holds the first key >= target
        low = position
        high = position
        step = stride
        if probe < last:
            low = high - 1
            while low >= 0 and keys[low] >= target:
                high = low
                low = low - step
                step = step * 2
            low = 0 if low < 0 else low + 1
        elif is_near:
            end = low + BLOCK * BLOCKS
            if end > size - BLOCK:
                end = size - BLOCK
            while low <= end and keys[low + BLOCK - 1] < target:
                low = low + BLOCK
            if low <= end:
                for place in range(low, low + BLOCK):
                    low += keys[place] < target
            high = low
        while high < size and keys[high] < target:
            low = high + 1
            high = high + step
            step = step * 2
        if high > size:
            high = size
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] < target:
                low = middle + 1
            else:
                high = middle
        start = low
        end = start
        step = 1
        high = start
        while high < size and np.uint32(keys[high] >> shift) == probe:
            end = high + 1
            high = high + step
            step = step * 2
        if high > size:
            high = size
        while end < high:
            middle = (end + high) >> 1
            if np.uint32(keys[middle] >> shift) == probe:
                end = middle + 1
            else:
                high = middle
        starts[row] = start
        counts[row] = end - start
        total += end - start
        position = start
        last = probe
    return total


@kernel
def expand(keys: Keys, starts: Rows, counts: Rows, rows: Rows, values: Column) -> None:
    """Write out what ``locate`` found: for every hit the probe's row and the second half of the key.

    ``rows`` and ``values`` are as long as the sum of ``counts``.
    """
    at = 0
    for row in range(starts.size):
        for position in range(starts[row], starts[row] + counts[row]):
            rows[at] = row
            values[at] = np.uint32(keys[position] & np.uint64(0xFFFFFFFF))
            at += 1


@kernel
def follow(pairs: Keys, further: Keys, starts: Rows, counts: Rows, followed: Keys) -> None:
    """As ``expand``, for the probes that are the first halves of ``pairs``, in one pass over the memory.

    For every pair (x, y) and every hit (x, z) among ``further``, the pair (y, z).
    """
    at = 0
    shift = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    for row in range(starts.size):
        first = pairs[row] << shift
        for position in range(starts[row], starts[row] + counts[row]):
            followed[at] = first | (further[position] & low)
            at += 1


@kernel
def compose(
    stop: Flag, pairs: Keys, starts: Rows, counts: Rows, numbers: Column, last: Rows, composed: Keys
) -> int:
    """For every pair (x, y), sorted, and every hit (y, z), the pair (x, number of z), once. Returns how many.

    ``numbers`` has the number of z for every key that ``locate`` went over. ``last`` is as long as there are
    numbers, and negative. ``composed`` has room for all that come out of it; they ascend in x, and in z too
    for an x that has one in ``FEW`` of all numbers.
    """
    at = 0
    row = 0
    shift = np.uint64(32)
    while row < starts.size and not stop[0]:
        begin = at
        first = pairs[row] >> shift
        mark = np.int64(first)
        while row < starts.size and pairs[row] >> shift == first:
            for position in range(starts[row], starts[row] + counts[row]):
                number = numbers[position]
                if last[number] != mark:
                    last[number] = mark
                    composed[at] = (first << shift) | np.uint64(number)
                    at += 1
            row += 1
        if (at - begin) * FEW >= last.size:
            at = begin
            for candidate in range(last.size):
                if last[candidate] == mark:
                    composed[at] = (first << shift) | np.uint64(candidate)
                    at += 1
    return at


@kernel
def contains(base: Keys, added: Keys, removed: Keys, probes: Keys, found: Mask) -> None:
    """``found[i]`` (false before) tells whether ``probes[i]`` is among base + added - removed.

    All three sorted and unique; ``added`` apart from ``base``, ``removed`` part of it.
    """
    for part in range(3):
        keys = base if part == 0 else removed if part == 1 else added
        size = keys.size
        if size == 0:
            continue
        position = 0
        last = np.uint64(0)
        stride = 1 + size // (CLOSE * probes.size + 1)
        for row in range(probes.size):
            if part > 0 and found[row] != (part == 1):
                continue
            target = probes[row]
            low = position
            high = position
            step = stride
            if target < last:
                low = high - 1
                while low >= 0 and keys[low] >= target:
                    high = low
                    low = low - step
                    step = step * 2
                low = 0 if low < 0 else low + 1
            while high < size and keys[high] < target:
                low = high + 1
                high = high + step
                step = step * 2
            if high > size:
                high = size
            while low < high:
                middle = (low + high) >> 1
                if keys[middle] < target:
                    low = middle + 1
                else:
                    high = middle
            if low < size and keys[low] == target:
                found[row] = part != 1
            position = low
            last = target


@kernel
def union(left: Keys, right: Keys, merged: Keys) -> int:
    """Both sorted and unique. Merge them into ``merged`` (as long as both together), return its length."""
    i = 0
    j = 0
    at = 0
    while i < left.size and j < right.size:
        if left[i] < right[j]:
            merged[at] = left[i]
            i += 1
        elif right[j] < left[i]:
            merged[at] = right[j]
            j += 1
        else:
            merged[at] = left[i]
            i += 1
            j += 1
        at += 1
    while i < left.size:
        merged[at] = left[i]
        i += 1
        at += 1
    while j < right.size:
        merged[at] = right[j]
        j += 1
        at += 1
    return at
