"""Kernels over rows (key, round, count): what a Z-set of derivations holds for each fact and round.

Rows ascend by key, then by round, and are unique. Probes ascend; each is found by galloping search from the
previous one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import kernel

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]
Rounds = NDArray[np.int32]

NEVER = 2**31 - 1
"""The round of a fact that does not hold."""


@kernel
def places_of(keys: Keys, rounds: Rounds, probes: Keys, at: int, places: Rows) -> None:
    """The place of the first row that is not before (probe, ``at``), for each probe."""
    size = keys.size
    position = 0
    for row in range(probes.size):
        target = probes[row]
        low = position
        high = position
        step = 1
        while high < size and (keys[high] < target or (keys[high] == target and rounds[high] < at)):
            low = high + 1
            high = high + step
            step = step * 2
        if high > size:
            high = size
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] < target or (keys[middle] == target and rounds[middle] < at):
                low = middle + 1
            else:
                high = middle
        places[row] = low
        position = low


@kernel
def next_rounds(
    keys: Keys,
    rounds: Rounds,
    counts: Rows,
    places: Rows,
    more_keys: Keys,
    more_rounds: Rounds,
    more_counts: Rows,
    more_places: Rows,
    probes: Keys,
    found: Rounds,
) -> None:
    """The first round of each probe in which the counts of both lists have a sum above 0, from its places on.

    Precondition: ``found`` is ``NEVER`` everywhere, and stays so where there is no such round.
    """
    for row in range(probes.size):
        a = places[row]
        b = more_places[row]
        while found[row] == NEVER:
            is_left = a < keys.size and keys[a] == probes[row]
            is_right = b < more_keys.size and more_keys[b] == probes[row]
            if not is_left and not is_right:
                break
            is_both = is_left and is_right and rounds[a] == more_rounds[b]
            if not is_both and is_left and is_right:
                is_left = rounds[a] < more_rounds[b]
            round_ = rounds[a] if is_left else more_rounds[b]
            count = 0
            if is_left:
                count += counts[a]
                a += 1
            if is_both or not is_left:
                count += more_counts[b]
                b += 1
            if count > 0:
                found[row] = round_


@kernel
def add_rows(
    keys: Keys,
    rounds: Rounds,
    counts: Rows,
    more_keys: Keys,
    more_rounds: Rounds,
    more_counts: Rows,
    sum_keys: Keys,
    sum_rounds: Rounds,
    sum_counts: Rows,
) -> int:
    """The sum of two Z-sets of rows, without rows of count 0. Returns the number of rows.

    Precondition: the sums have room for the rows of both.
    """
    i = 0
    j = 0
    at = 0
    while i < keys.size or j < more_keys.size:
        is_left = j == more_keys.size
        is_right = i == keys.size
        if not is_left and not is_right:
            is_left = keys[i] < more_keys[j] or (keys[i] == more_keys[j] and rounds[i] < more_rounds[j])
            is_right = keys[i] > more_keys[j] or (keys[i] == more_keys[j] and rounds[i] > more_rounds[j])
        if is_right:
            sum_keys[at] = more_keys[j]
            sum_rounds[at] = more_rounds[j]
            sum_counts[at] = more_counts[j]
            j += 1
        else:
            sum_keys[at] = keys[i]
            sum_rounds[at] = rounds[i]
            sum_counts[at] = counts[i]
            if not is_left:
                sum_counts[at] += more_counts[j]
                j += 1
            i += 1
        at += 1 if sum_counts[at] != 0 else 0
    return at


@kernel
def rounds_of(
    keys: Keys, rounds: Rounds, more_keys: Keys, more_rounds: Rounds, probes: Keys, found: Rounds
) -> None:
    """The round of each probe, in any order: that in ``more``, else that in the first list, else ``NEVER``.

    Precondition: ``found`` is ``NEVER`` everywhere; the keys of each list are unique.
    """
    for part in range(2):
        size = keys.size if part == 0 else more_keys.size
        position = 0
        last = np.uint64(0)
        for row in range(probes.size if size else 0):
            target = probes[row]
            low = position
            high = position
            step = 1
            if target < last:
                low = 0
            else:
                while high < size and (keys[high] if part == 0 else more_keys[high]) < target:
                    low = high + 1
                    high = high + step
                    step = step * 2
                if high > size:
                    high = size
            while low < high:
                middle = (low + high) >> 1
                if (keys[middle] if part == 0 else more_keys[middle]) < target:
                    low = middle + 1
                else:
                    high = middle
            if low < size and (keys[low] if part == 0 else more_keys[low]) == target:
                found[row] = rounds[low] if part == 0 else more_rounds[low]
            position = low
            last = target


@kernel
def put_rounds(
    keys: Keys,
    rounds: Rounds,
    more_keys: Keys,
    more_rounds: Rounds,
    keeps_absent: int,
    merged_keys: Keys,
    merged_rounds: Rounds,
) -> int:
    """Merge two lists of rounds; where both have a key, ``more`` wins. Returns the length.

    Unless ``keeps_absent``, keys with the round ``NEVER`` are left out. Precondition: there is room for both.
    """
    i = 0
    j = 0
    at = 0
    while i < keys.size or j < more_keys.size:
        if j < more_keys.size and (i == keys.size or more_keys[j] <= keys[i]):
            if i < keys.size and more_keys[j] == keys[i]:
                i += 1
            merged_keys[at] = more_keys[j]
            merged_rounds[at] = more_rounds[j]
            j += 1
        else:
            merged_keys[at] = keys[i]
            merged_rounds[at] = rounds[i]
            i += 1
        at += 1 if keeps_absent != 0 or merged_rounds[at] != NEVER else 0
    return at
