"""Kernels over reachability as intervals: see ``closure.interval_index``.

Row v has the intervals ``starts[i] <= place < ends[i]`` for ``offsets[v] <= i < offsets[v + 1]``: ascending,
disjoint, and not adjacent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import Flag, kernel
from corollary.kernels.tuning import MAX_INTERVALS_INSERTED

Nodes = NDArray[np.int64]
Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]
Column = NDArray[np.uint32]


@kernel
def merge_intervals(
    stop: Flag,
    edges_from: Nodes,
    targets: Nodes,
    cyclic: Mask,
    places: Nodes,
    most: int,
    offsets: Nodes,
    starts: Nodes,
    ends: Nodes,
) -> int:
    """The transitive closure of a graph of components, as intervals merged bottom up.

    The edges are compressed rows (``edges_from``, ``targets``). Precondition: every edge leads to a lower
    number. Component v has the places from ``places[v]`` to ``places[v + 1]`` and reaches itself iff
    ``cyclic[v]``. Fills ``offsets`` (components + 1), ``starts`` and ``ends``. Returns the number of
    intervals; -1 if there is no room for them, or if more than ``most`` would be merged.
    """
    gathered = np.empty(64, np.int64)
    low_half = np.int64(0xFFFFFFFF)
    at = 0
    merged = 0
    offsets[0] = 0
    for row in range(offsets.size - 1):
        if stop[0]:
            break
        size = 0
        if cyclic[row]:
            gathered[0] = places[row] << 32 | places[row + 1]
            size = 1
        last = -1
        for edge in range(edges_from[row + 1] - 1, edges_from[row] - 1, -1):  # nearest numbers first
            successor = targets[edge]
            if last >= 0:  # is the successor among what the last one reaches?
                low = offsets[last]
                high = offsets[last + 1]
                while low < high:
                    middle = (low + high) >> 1
                    if starts[middle] <= places[successor]:
                        low = middle + 1
                    else:
                        high = middle
                if low > offsets[last] and places[successor] < ends[low - 1]:
                    continue
            last = successor
            needed = size + 1 + offsets[successor + 1] - offsets[successor]
            if needed > gathered.size:
                larger = np.empty(2 * needed, np.int64)
                larger[:size] = gathered[:size]
                gathered = larger
            gathered[size] = places[successor] << 32 | places[successor + 1]
            size += 1
            for position in range(offsets[successor], offsets[successor + 1]):
                gathered[size] = starts[position] << 32 | ends[position]
                size += 1
        merged += size
        if merged > most:
            return -1
        if size > MAX_INTERVALS_INSERTED:
            gathered[:size] = np.sort(gathered[:size])
        else:
            for position in range(1, size):
                packed = gathered[position]
                before = position - 1
                while before >= 0 and gathered[before] > packed:
                    gathered[before + 1] = gathered[before]
                    before -= 1
                gathered[before + 1] = packed
        first = at
        for position in range(size):
            start = gathered[position] >> 32
            end = gathered[position] & low_half
            if at > first and start <= ends[at - 1]:
                if end > ends[at - 1]:
                    ends[at - 1] = end
                continue
            if at == ends.size:
                return -1
            starts[at] = start
            ends[at] = end
            at += 1
        offsets[row + 1] = at
    return at


@kernel
def within_intervals(
    rows: Nodes, places: Nodes, offsets: Nodes, starts: Nodes, ends: Nodes, found: Mask
) -> None:
    """Fills ``found``: whether each place is in an interval of its row. Negative rows have none."""
    for number in range(rows.size):
        row = rows[number]
        found[number] = False
        if row < 0 or places[number] < 0:
            continue
        low = offsets[row]
        high = offsets[row + 1]
        while low < high:
            middle = (low + high) >> 1
            if starts[middle] <= places[number]:
                low = middle + 1
            else:
                high = middle
        found[number] = low > offsets[row] and places[number] < ends[low - 1]


@kernel
def write_intervals(
    stop: Flag, rows: Nodes, offsets: Nodes, starts: Nodes, ends: Nodes, terms: Column, values: Column
) -> None:
    """Fills ``values`` with the terms at the places in the intervals of each row; negative rows have none."""
    at = 0
    for row in rows:
        if stop[0]:
            break
        if row < 0:
            continue
        for position in range(offsets[row], offsets[row + 1]):
            for place in range(starts[position], ends[position]):
                values[at] = terms[place]
                at += 1


@kernel
def write_targets(
    stop: Flag,
    rows: Nodes,
    offsets: Nodes,
    starts: Nodes,
    ends: Nodes,
    members: Nodes,
    room: Nodes,
    keys: Keys,
) -> None:
    """All pairs of nodes as packed pairs (target, source), sorted: a distribution by target.

    Node i has the row ``rows[i]``, and ``members`` has the node at each place. ``room`` has where the pairs
    of each target begin among ``keys``, and then where they end. Fills ``keys``.
    """
    shift = np.uint64(32)
    for node in range(rows.size):
        if stop[0]:
            break
        row = rows[node]
        for position in range(offsets[row], offsets[row + 1]):
            for place in range(starts[position], ends[position]):
                target = members[place]
                keys[room[target]] = np.uint64(target) << shift | np.uint64(node)
                room[target] += 1


@kernel
def write_sources(stop: Flag, ids: Keys, room: Nodes, by_target: Keys, keys: Keys) -> None:
    """The pairs of ``write_targets`` as packed ids, sorted: by source in ``keys``, by target in place.

    Node i has the id ``ids[i]``; ids ascend. ``room`` is as in ``write_targets``, for the sources.
    """
    shift = np.uint64(32)
    low_half = np.uint64(0xFFFFFFFF)
    for number in range(by_target.size):
        if stop[0]:
            break
        source = np.int64(by_target[number] & low_half)
        target = np.int64(by_target[number] >> shift)
        by_target[number] = ids[target] << shift | ids[source]
        keys[room[source]] = ids[source] << shift | ids[target]
        room[source] += 1
