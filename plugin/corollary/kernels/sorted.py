"""Kernels over sorted arrays: search, join, membership, union, difference.

*Keys* are packed pairs (``uint64``, first << 32 | second), sorted and unique. Probes may be in any order.
Each probe is found by galloping search from the previous hit, at a cost logarithmic in the distance. For two
sorted columns this is a merge join. Where probes are far apart, a search waits for memory at every step.
While many of the last probes were far from the ones before them, the next are searched in lockstep, so that
they wait together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels import interim
from corollary.kernels.compiled import Flag, kernel, kernel_after, part
from corollary.kernels.tuning import (
    BLOCKS_SCANNED,
    ENTRIES_SCANNED_PER_SORTED_KEY,
    FIRST_STEPS_PER_DISTANCE,
    KEYS_PER_BLOCK,
    MAX_PROBES_PER_FAR,
    MAX_RATIO_MERGED,
    MAX_STEPS_TO_TABLE,
    MIN_DISTANCE_IN_LOCKSTEP,
    MIN_RATIO_COPIED,
    MIN_RATIO_IN_LOCKSTEP,
    PROBES_IN_LOCKSTEP,
)

Keys = NDArray[np.uint64]
Column = NDArray[np.uint32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
Places = NDArray[np.uint64]
Place = int | np.int64


@part
def search_in_lockstep(keys: Keys, targets: Keys, count: int, low: Place, places: Places) -> Place:
    """Find the first key >= target, or the end, for each of the first ``count`` targets. Fills ``places``.

    Precondition: there are keys. Returns a place near the last target, from which the next search starts: its
    ``low``. All searches take the same steps, and none branches by a key that it reads:
    so their misses of the cache overlap.
    """
    size = keys.size
    width: Place = size
    if count < PROBES_IN_LOCKSTEP:
        low = 0
    else:
        least = targets[0]
        most = least
        for lane in range(count):
            least = min(least, targets[lane])
            most = max(most, targets[lane])
        low = min(low, size - 1)
        step = 1
        while low > 0 and keys[low] >= least:
            low -= step
            step *= 2
        low = max(low, 0)
        high = low + 1
        step = 1
        while high < size and keys[high] < most:
            high += step
            step *= 2
        width = min(high, size) - low
    bits = np.uint64(0)
    while width >> 1 >= 1 << np.int64(bits):
        bits += np.uint64(1)
    first = np.uint64(low)
    rest = np.uint64(width - (1 << np.int64(bits)))
    for lane in range(count):  # leaves 2 ** bits keys, of which the first is less, or the first of all
        places[lane] = first + np.uint64(keys[first + rest] < targets[lane]) * rest
    while bits > 0:
        bits -= np.uint64(1)
        half = np.uint64(1) << bits
        for lane in range(count):
            place = places[lane]
            places[lane] = place + (np.uint64(keys[place + half] < targets[lane]) << bits)
    low = np.int64(places[count - 1])
    for lane in range(count):
        places[lane] += np.uint64(keys[places[lane]] < targets[lane])
    return low


@part
def first_not_below(keys: Keys, target: np.uint64, low: Place, high: Place) -> Place:
    """The first place from ``low`` with a key >= target, or ``high``."""
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


@part
def gallop(keys: Keys, target: np.uint64, position: Place, step: int, is_before: bool) -> Place:
    """Find the first key >= target, or the end, by growing steps forward from a position.

    ``is_before``: backward. Precondition: the target is in that direction.
    """
    low: Place = position
    high: Place = position
    if is_before:
        low = high - 1
        while low >= 0 and keys[low] >= target:
            high = low
            low = low - step
            step = step * 2
        low = 0 if low < 0 else low + 1
    while high < keys.size and keys[high] < target:
        low = high + 1
        high = high + step
        step = step * 2
    return first_not_below(keys, target, low, min(high, keys.size))


@part
def scan(keys: Keys, target: np.uint64, start: Place) -> Place:
    """The first place from ``start`` with a key >= target, if it is in the next blocks, or one before it."""
    most = min(start + KEYS_PER_BLOCK * BLOCKS_SCANNED, keys.size - KEYS_PER_BLOCK)
    while start <= most and keys[start + KEYS_PER_BLOCK - 1] < target:
        start += KEYS_PER_BLOCK
    if start <= most:
        for place in range(start, start + KEYS_PER_BLOCK):
            start += keys[place] < target
    return start


@part
def halves_between(keys: Keys) -> Place:
    """The number of ids from the least to the greatest first half. Precondition: there are keys."""
    return np.int64(keys[-1] >> np.uint64(32)) - np.int64(keys[0] >> np.uint64(32)) + 1


@part
def locate_by_table(keys: Keys, probes: Column, starts: Rows, counts: Rows) -> int:
    """As ``locate``, by a table of the places where the keys of each first half end, after a zero.

    Precondition: there are keys. Cost: that of the keys, the ids between them, and a look-up for each probe.
    """
    least = np.int64(keys[0] >> np.uint64(32))
    table = np.zeros(halves_between(keys) + 1, np.uint32)
    for place in range(keys.size):
        table[np.int64(keys[place] >> np.uint64(32)) - least + 1] = place + 1
    last = np.uint32(0)
    for entry in range(table.size):
        last = max(last, table[entry])
        table[entry] = last
    total = 0
    most = table.size - 1
    for row in range(probes.size):
        number = np.int64(probes[row]) - least
        start: Place = 0 if number <= 0 else keys.size
        end: Place = 0 if number < 0 else keys.size
        if 0 <= number < most:
            start = np.int64(table[number])
            end = np.int64(table[number + 1])
        starts[row] = start
        counts[row] = end - start
        total += counts[row]
    return total


@kernel_after(interim.locate)
def locate(keys: Keys, probes: Column, starts: Rows, counts: Rows) -> int:
    """Find the run of keys whose first half is the probe, for every probe.

    Fills ``starts`` and ``counts`` (both of the length of ``probes``). Returns the sum of the counts.
    """
    size = keys.size
    if size > 0 and size + halves_between(keys) <= MAX_STEPS_TO_TABLE * probes.size:
        return locate_by_table(keys, probes, starts, counts)
    total, last, is_far = 0, np.uint32(0), False
    position: Place = 0
    stride = 1 + size // (FIRST_STEPS_PER_DISTANCE * probes.size + 1)
    scans = 1 < stride <= KEYS_PER_BLOCK * BLOCKS_SCANNED // FIRST_STEPS_PER_DISTANCE
    far = PROBES_IN_LOCKSTEP if size > MIN_RATIO_IN_LOCKSTEP * probes.size else 0
    targets = np.empty(PROBES_IN_LOCKSTEP, np.uint64)
    places = np.empty(PROBES_IN_LOCKSTEP, np.uint64)
    for row in range(probes.size):
        if row % PROBES_IN_LOCKSTEP == 0:
            is_far = size > 0 and far * MAX_PROBES_PER_FAR >= PROBES_IN_LOCKSTEP
            far = 0
            if is_far:
                lanes = min(PROBES_IN_LOCKSTEP, probes.size - row)
                for lane in range(lanes):
                    targets[lane] = np.uint64(probes[row + lane]) << np.uint64(32)
                position = search_in_lockstep(keys, targets, lanes, position, places)
        probe = probes[row]
        if row > 0 and probe == last:
            starts[row] = starts[row - 1]
            counts[row] = counts[row - 1]
            total += counts[row]
            continue
        target = np.uint64(probe) << np.uint64(32)
        start = position
        if is_far:
            start = np.int64(places[row % PROBES_IN_LOCKSTEP])
        else:
            if scans and probe >= last:
                start = scan(keys, target, start)
            start = gallop(keys, target, start, stride, probe < last)
            position = start
        target |= np.uint64(0xFFFFFFFF)
        end = gallop(keys, target, start, 1, False)
        while end < size and keys[end] == target:
            end += 1
        starts[row] = start
        counts[row] = end - start
        far += probe < last or start - starts[max(row - 1, 0)] > MIN_DISTANCE_IN_LOCKSTEP
        total += counts[row]
        last = probe
    return total


@kernel_after(interim.expand)
def expand(keys: Keys, starts: Rows, counts: Rows, first: int, rows: Rows, values: Column) -> None:
    """Write out the runs that ``locate`` found: for every key, the row of its probe and its second half.

    ``first`` is the number of the first row. Precondition: ``rows`` and ``values`` have the length of the sum
    of ``counts``.
    """
    at = 0
    for row in range(starts.size):
        for position in range(starts[row], starts[row] + counts[row]):
            rows[at] = first + row
            values[at] = np.uint32(keys[position] & np.uint64(0xFFFFFFFF))
            at += 1


@kernel_after(interim.follow)
def follow(pairs: Keys, further: Keys, starts: Rows, counts: Rows, followed: Keys) -> None:
    """For every pair (x, y) and every key (x, z) of ``further``, write the pair (y, z).

    ``starts`` and ``counts`` are the result of ``locate`` for the first halves of ``pairs``. Packing the
    pairs at once saves a second pass over the result.
    """
    at = 0
    shift = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    for row in range(starts.size):
        first = pairs[row] << shift
        for position in range(starts[row], starts[row] + counts[row]):
            followed[at] = first | (further[position] & low)
            at += 1


@part
def intersect_near(
    left: Keys, i: Place, m: Place, right: Keys, j: Place, n: Place, found: Column, at: Place
) -> Place:
    """Write the second halves that the keys i to m and j to n share. Returns the end. Cost: one merge.

    Each step writes, and so needs one place more than there are results.
    """
    low = np.uint64(0xFFFFFFFF)
    while i < m and j < n:
        a = left[i] & low
        b = right[j] & low
        found[at] = np.uint32(a)
        at += 1 if a == b else 0
        i += 1 if a <= b else 0
        j += 1 if b <= a else 0
    return at


@part
def intersect_far(
    few: Keys, i: Place, m: Place, many: Keys, j: Place, n: Place, found: Column, at: Place
) -> Place:
    """As ``intersect_near``, by a search among the keys j to n for each of the keys i to m."""
    low = np.uint64(0xFFFFFFFF)
    first = many[j] & ~low
    while i < m and j < n:
        target = first | (few[i] & low)
        j = gallop(many, target, j, 1, False)
        if j < n and many[j] == target:
            found[at] = np.uint32(target & low)
            at += 1
        i += 1
    return at


@kernel_after(interim.intersect)
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
    """Intersect two runs of keys in each row, by their second halves.

    The runs are as ``locate`` finds them. Writes all (row, value) such that both runs have the value, and
    returns their number. Precondition: ``rows`` and ``values`` have one more place than the shorter runs have
    keys. Cost: a merge; for runs of very different lengths, a search for each key of the shorter one.
    """
    at: Place = 0
    for row in range(left_starts.size):
        few, many = left_counts[row], right_counts[row]
        i, j = left_starts[row], right_starts[row]
        before = at
        if few > MAX_RATIO_MERGED * many:
            if many > 0:
                at = intersect_far(right, j, j + many, left, i, i + few, values, at)
        elif many > MAX_RATIO_MERGED * few:
            if few > 0:
                at = intersect_far(left, i, i + few, right, j, j + many, values, at)
        else:
            at = intersect_near(left, i, i + few, right, j, j + many, values, at)
        for place in range(before, at):
            rows[place] = row
    return at


@kernel
def compose(
    stop: Flag,
    pairs: Keys,
    starts: Rows,
    counts: Rows,
    numbers: Column,
    ends: Column,
    last: Rows,
    composed: Keys,
) -> int:
    """For every pair (x, y) and every key (y, z), write the pair (x, z) without duplicates.

    Precondition: ``pairs`` is sorted. ``starts`` and ``counts`` are the result of ``locate`` for the second
    halves of ``pairs``. ``numbers`` has for every key that ``locate`` searched the place of z among the
    ``ends``, which ascend. ``last`` has one entry per end, all negative. ``composed`` has room for all.
    Returns the number of pairs written. The pairs ascend in x. Those of one x ascend in z too if x has at
    least one in ``ENTRIES_SCANNED_PER_SORTED_KEY`` of all ends.
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
                    composed[at] = (first << shift) | np.uint64(ends[number])
                    at += 1
            row += 1
        if (at - begin) * ENTRIES_SCANNED_PER_SORTED_KEY >= last.size:
            at = begin
            for candidate in range(last.size):
                if last[candidate] == mark:
                    composed[at] = (first << shift) | np.uint64(ends[candidate])
                    at += 1
    return at


@part
def ascends(probes: Keys) -> bool:
    """Whether probes ascend (duplicates are allowed)."""
    for start in range(1, probes.size, KEYS_PER_BLOCK * BLOCKS_SCANNED):
        found = True
        for row in range(start, min(start + KEYS_PER_BLOCK * BLOCKS_SCANNED, probes.size)):
            found &= probes[row - 1] <= probes[row]
        if not found:
            return False
    return True


@part
def match(keys: Keys, i: Place, m: Place, probes: Keys, p: Place, n: Place, found: Mask) -> None:
    """Invert ``found`` for the probes p to n that are among the keys i to m. Both ascend."""
    while i < m and p < n:
        key = keys[i]
        probe = probes[p]
        found[p] ^= key == probe
        i += 1 if key < probe else 0
        p += 1 if key >= probe else 0


@part
def match_from_two(keys: Keys, probes: Keys, found: Mask) -> None:
    """Invert ``found`` for the probes that are keys. Both ascend. Cost: one merge, from two places at once.

    Two merges in one loop wait for memory and for comparisons at the same time.
    """
    i: Place = 0
    p: Place = 0
    middle = probes[probes.size >> 1]
    q = first_not_below(probes, middle, 0, probes.size)
    j = first_not_below(keys, middle, 0, keys.size)
    half_keys, half_probes = j, q
    while i < half_keys and p < half_probes and j < keys.size and q < probes.size:
        key = keys[i]
        probe = probes[p]
        found[p] ^= key == probe
        i += 1 if key < probe else 0
        p += 1 if key >= probe else 0
        key = keys[j]
        probe = probes[q]
        found[q] ^= key == probe
        j += 1 if key < probe else 0
        q += 1 if key >= probe else 0
    match(keys, i, half_keys, probes, p, half_probes, found)
    match(keys, j, keys.size, probes, q, probes.size, found)


@part
def match_few(keys: Keys, probes: Keys, found: Mask) -> None:
    """As ``match_from_two``, by a search for each key among the probes."""
    place: Place = 0
    stride = 1 + probes.size // (FIRST_STEPS_PER_DISTANCE * keys.size)
    for key in keys:
        place = gallop(probes, key, place, stride, False)
        while place < probes.size and probes[place] == key:
            found[place] ^= True
            place += 1


@part
def match_any(keys: Keys, probes: Keys, layer: int, found: Mask) -> None:
    """As ``match_from_two``, by a search for each probe. After ``layer`` 0, only those that it may change."""
    targets = np.empty(PROBES_IN_LOCKSTEP, np.uint64)
    places = np.zeros(PROBES_IN_LOCKSTEP, np.uint64)
    before: Place = 0
    last = np.uint64(0)
    stride = 1 + keys.size // (FIRST_STEPS_PER_DISTANCE * probes.size + 1)
    is_far: bool | np.bool_ = keys.size > MIN_RATIO_IN_LOCKSTEP * probes.size
    far: Place = 0
    searched = 0
    for row in range(probes.size):
        lane = row % PROBES_IN_LOCKSTEP
        if lane == 0:
            is_far = far * MAX_PROBES_PER_FAR >= searched if searched > 0 else is_far
            far = 0
            searched = 0
            if is_far:
                lanes = min(PROBES_IN_LOCKSTEP, probes.size - row)
                for next_lane in range(lanes):
                    targets[next_lane] = probes[row + next_lane]
                search_in_lockstep(keys, targets, lanes, before, places)
        if layer > 0 and found[row] != (layer == 1):
            continue
        target = probes[row]
        place: Place = np.int64(places[lane])
        if not is_far:
            place = gallop(keys, target, before, stride, target < last)
        if place < keys.size and keys[place] == target:
            found[row] = layer != 1
        far += target < last or place - before > MIN_DISTANCE_IN_LOCKSTEP
        searched += 1
        before = place
        last = target


@kernel_after(interim.contains)
def contains(base: Keys, added: Keys, removed: Keys, probes: Keys, found: Mask) -> None:
    """Set ``found[i]`` to whether ``probes[i]`` is in (base - removed) + added.

    Precondition: ``base``, ``added`` and ``removed`` are sorted and unique; ``added`` is disjoint from
    ``base``; ``removed`` is a subset of ``base``; ``found`` is all False. Cost: if the probes ascend, that of
    a merge, or of a search for each element of the smaller set; else of a search for each probe.
    """
    in_order = ascends(probes)
    for layer in range(3):
        keys = base if layer == 0 else removed if layer == 1 else added
        if keys.size == 0:
            continue
        if not in_order or keys.size > MAX_RATIO_MERGED * probes.size:
            match_any(keys, probes, layer, found)
        elif probes.size <= MAX_RATIO_MERGED * keys.size:
            match_from_two(keys, probes, found)
        else:
            match_few(keys, probes, found)


@part
def merged_to(
    left: Keys, i: Place, m: Place, right: Keys, j: Place, n: Place, target: Keys, at: Place
) -> Place:
    """Merge the keys i to m of ``left`` and j to n of ``right`` into ``target``; return the end."""
    while i < m and j < n:
        a = left[i]
        b = right[j]
        target[at] = a if a < b else b
        i += 1 if a <= b else 0
        j += 1 if b <= a else 0
        at += 1
    at = copied_to(left, i, m, target, at)
    return copied_to(right, j, n, target, at)


@part
def copied_to(keys: Keys, start: Place, end: Place, target: Keys, at: Place) -> Place:
    """Copy the keys start to end to ``target`` from ``at``. Returns the end."""
    for place in range(start, end):  # an assignment of slices takes long to compile
        target[at] = keys[place]
        at += 1
    return at


@kernel_after(interim.union)
def union(left: Keys, right: Keys, merged: Keys) -> Place:
    """Merge ``left`` and ``right`` into ``merged`` without duplicates. Returns the length of the result.

    Precondition: both sorted, unique; ``merged`` has room for both. Cost: a copy, a merge where they overlap.
    """
    if not left.size or not right.size:
        return copied_to(right, 0, right.size, merged, copied_to(left, 0, left.size, merged, 0))
    i = first_not_below(left, right[0], 0, left.size)
    j = first_not_below(right, left[0], 0, right.size)
    m = min(first_not_below(left, right[-1], i, left.size) + 1, left.size)
    n = min(first_not_below(right, left[-1], j, right.size) + 1, right.size)
    at = copied_to(right, 0, j, merged, copied_to(left, 0, i, merged, 0))
    if m - i > MAX_RATIO_MERGED * (n - j) or n - j > MAX_RATIO_MERGED * (m - i):
        while i < m and j < n:
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
    elif i < m and j < n:  # merged from two places at once
        p: Place = (i + m) >> 1
        q = first_not_below(right, left[p], j, n)
        left_half, right_half = p, q
        half = to = at + (p - i) + (q - j)
        while i < left_half and j < right_half and p < m and q < n:
            a = left[i]
            b = right[j]
            merged[at] = a if a < b else b
            i += 1 if a <= b else 0
            j += 1 if b <= a else 0
            at += 1
            a = left[p]
            b = right[q]
            merged[to] = a if a < b else b
            p += 1 if a <= b else 0
            q += 1 if b <= a else 0
            to += 1
        at = merged_to(left, i, left_half, right, j, right_half, merged, at)
        to = merged_to(left, p, m, right, q, n, merged, to)
        i, j = m, n
        at = copied_to(merged, half, to, merged, at)
    at = copied_to(left, i, left.size, merged, at)
    return copied_to(right, j, right.size, merged, at)


@part
def kept_to(left: Keys, i: Place, m: Place, right: Keys, j: Place, n: Place, kept: Keys, at: Place) -> Place:
    """Write the keys i to m of ``left`` that are not in j to n of ``right``, from ``at``. Returns the end."""
    while i < m and j < n:
        a = left[i]
        b = right[j]
        kept[at] = a
        at += 1 if a < b else 0
        i += 1 if a <= b else 0
        j += 1 if b <= a else 0
    return copied_to(left, i, m, kept, at)


@kernel_after(interim.difference)
def difference(left: Keys, right: Keys, kept: Keys) -> Place:
    """Write the keys of ``left`` that are not in ``right`` to ``kept``. Returns their number.

    Precondition: both are sorted and unique; ``kept`` has the length of ``left``. Cost: one merge from two
    places at once, without data-dependent branches; if ``right`` is much smaller, a copy of ``left``, and a
    search for each key of ``right``.
    """
    if not left.size:
        return 0
    i: Place = 0
    j: Place = 0
    at: Place = 0
    if left.size > MIN_RATIO_COPIED * right.size:
        stride = 1 + left.size // (FIRST_STEPS_PER_DISTANCE * right.size + 1)
        for key in right:
            end = gallop(left, key, i, stride, False)
            at = copied_to(left, i, end, kept, at)
            i = end + (1 if end < left.size and left[end] == key else 0)
        return copied_to(left, i, left.size, kept, at)
    p: Place = left.size >> 1
    q = first_not_below(right, left[p], 0, right.size)
    to = p
    left_half, right_half = p, q
    while i < left_half and j < right_half and p < left.size and q < right.size:
        a = left[i]
        b = right[j]
        kept[at] = a
        at += 1 if a < b else 0
        i += 1 if a <= b else 0
        j += 1 if b <= a else 0
        a = left[p]
        b = right[q]
        kept[to] = a
        to += 1 if a < b else 0
        p += 1 if a <= b else 0
        q += 1 if b <= a else 0
    at = kept_to(left, i, left_half, right, j, right_half, kept, at)
    to = kept_to(left, p, left.size, right, q, right.size, kept, to)
    return copied_to(kept, left_half, to, kept, at)


@kernel
def count_equal(left: Keys, right: Keys) -> Place:
    """The number of places in both with the same key. Precondition: both ascend; keys may repeat."""
    i: Place = 0
    j: Place = 0
    found: Place = 0
    while i < left.size and j < right.size:
        key = left[i]
        if key < right[j]:
            i += 1
        elif right[j] < key:
            j += 1
        else:
            first, other = i, j
            while i < left.size and left[i] == key:
                i += 1
            while j < right.size and right[j] == key:
                j += 1
            found += (i - first) * (j - other)
    return found
