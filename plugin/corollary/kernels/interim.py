"""What kernels do until they are compiled, in NumPy: the same results, by more passes over the arrays.

To import Numba and load machine code takes as long as these functions take for some ten million elements. So
a process that reasons over a hundred thousand triples needs neither. The contracts are those of the kernels
with the same names (``kernels.sorted``, ``kernels.sorting``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Column = NDArray[np.uint32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
Place = int | np.int64

HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def locate(keys: Keys, probes: Column, starts: Rows, counts: Rows) -> int:
    """As ``sorted.locate``. Cost: O(|probes| log |keys|)."""
    first = probes.astype(np.uint64) << HALF
    starts[:] = keys.searchsorted(first)
    counts[:] = keys.searchsorted(first | LOW, "right") - starts
    return int(counts.sum())


def expand(keys: Keys, starts: Rows, counts: Rows, first: int, rows: Rows, values: Column) -> None:
    """As ``sorted.expand``."""
    if starts.size == 1:
        rows[:] = first
        values[:] = keys[starts[0] : starts[0] + counts[0]] & LOW
        return
    rows[:] = np.repeat(np.arange(first, first + starts.size), counts)
    values[:] = keys[_places(starts, counts)] & LOW


def follow(pairs: Keys, further: Keys, starts: Rows, counts: Rows, followed: Keys) -> None:
    """As ``sorted.follow``."""
    if starts.size == 1:
        followed[:] = pairs << HALF | (further[starts[0] : starts[0] + counts[0]] & LOW)
        return
    followed[:] = np.repeat(pairs << HALF, counts) | (further[_places(starts, counts)] & LOW)


def intersect(
    left: Keys,
    left_starts: Rows,
    left_counts: Rows,
    right: Keys,
    right_starts: Rows,
    right_counts: Rows,
    rows: Rows,
    values: Column,
) -> Place:
    """As ``sorted.intersect``. Cost: O(shorter runs log(longest run)) in every case."""
    at = 0
    is_shorter = left_counts <= right_counts
    for few, starts, counts, many, lows, lengths, chosen in (
        (left, left_starts, left_counts, right, right_starts, right_counts, is_shorter),
        (right, right_starts, right_counts, left, left_starts, left_counts, ~is_shorter),
    ):
        own = np.flatnonzero(chosen)
        of = np.repeat(own, counts[own])
        wanted = few[_places(starts[own], counts[own])] & LOW
        low, high = lows[of], lows[of] + lengths[of]
        last = high - 1
        while (low < high).any():  # a binary search in all runs at once
            middle = (low + high) >> 1
            is_less = (low < high) & (many[np.minimum(middle, last)] & LOW < wanted)
            low = np.where(is_less, middle + 1, low)
            high = np.where(is_less, high, np.minimum(middle, high))
        found = low <= last
        found[found] = many[low[found]] & LOW == wanted[found]
        size = int(np.count_nonzero(found))
        rows[at : at + size], values[at : at + size] = of[found], wanted[found]
        at += size
    return at


def contains(base: Keys, added: Keys, removed: Keys, probes: Keys, found: Mask) -> None:
    """As ``sorted.contains``. Cost: O(|probes| log |base|)."""
    found[:] = _among(base, probes)[1]
    if removed.size:
        found &= ~_among(removed, probes)[1]
    if added.size:
        found |= _among(added, probes)[1]


def union(left: Keys, right: Keys, merged: Keys) -> Place:
    """As ``sorted.union``. Cost: O(|right| log |left| + |left|)."""
    if left.size < right.size:
        left, right = right, left
    places, is_common = _among(left, right)
    fresh = right[~is_common]
    at = places[~is_common] + np.arange(fresh.size)
    size = left.size + fresh.size
    is_left = np.ones(size, np.bool_)
    is_left[at] = False
    merged[:size][is_left] = left
    merged[at] = fresh
    return size


def difference(left: Keys, right: Keys, kept: Keys) -> Place:
    """As ``sorted.difference``. Cost: O(|right| log |left| + |left|)."""
    places, is_common = _among(left, right)
    stays = np.ones(left.size, np.bool_)
    stays[places[is_common]] = False
    rest = left[stays]
    kept[: rest.size] = rest
    return rest.size


def sort_by_digits(keys: Keys, shifts: Keys, counts: Rows, spare: Keys) -> bool:
    """As ``sorting.sort_by_digits``. Cost: O(|keys| log |keys|)."""
    keys.sort()
    return False


def pick_between(keys: Keys, least: np.uint64, most: np.uint64, found: Keys) -> int:
    """As ``sorting.pick_between``."""
    found[:] = keys[(keys >= least) & (keys <= most)]
    return found.size


def _among(keys: Keys, probes: Keys) -> tuple[Rows, Mask]:
    """The places of the first keys >= probe, and whether they are equal."""
    places = keys.searchsorted(probes)
    if not keys.size:
        return places, np.zeros(probes.size, np.bool_)
    return places, keys[np.minimum(places, keys.size - 1)] == probes


def _places(starts: Rows, counts: Rows) -> Rows:
    """The places from each start on, as many as its count, one after another."""
    ends = np.cumsum(counts)
    return np.arange(counts.sum()) + np.repeat(starts - ends + counts, counts)
