"""Kernels over reachability as intervals: see ``closure.interval_index``.

Row v has the intervals ``starts[i] <= place < ends[i]`` for ``offsets[v] <= i < offsets[v + 1]``: ascending,
disjoint, and not adjacent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import Flag, kernel, part
from corollary.kernels.tuning import MAX_INTERVALS_INSERTED

Node = int | np.int64
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
    at = 0
    merged = 0
    offsets[0] = 0
    for row in range(offsets.size - 1):
        if stop[0]:
            break
        successors = targets[edges_from[row] : edges_from[row + 1]]
        gathered, size = _gather(row, successors, cyclic, places, offsets, starts, ends, gathered)
        merged += size
        if merged > most:
            return -1
        _sort(gathered, size)
        at = _append_union(gathered, size, at, starts, ends)
        if at < 0:
            return -1
        offsets[row + 1] = at
    return at


@part
def _gather(
    row: int,
    successors: Nodes,
    cyclic: Mask,
    places: Nodes,
    offsets: Nodes,
    starts: Nodes,
    ends: Nodes,
    gathered: Nodes,
) -> tuple[Nodes, int]:
    """What component ``row`` reaches, as packed intervals (start << 32 | end) in no order; they may overlap.

    Returns ``gathered``, or a larger array if it has no room, and the number of intervals in it.
    """
    size = 0
    if cyclic[row]:
        gathered[0] = places[row] << 32 | places[row + 1]
        size = 1
    last = -1
    for number in range(successors.size - 1, -1, -1):  # nearest numbers first
        successor = successors[number]
        start = places[successor]
        if last >= 0 and _has_place(start, offsets[last], offsets[last + 1], starts, ends):
            continue  # the last one reaches it, and all that it reaches
        last = successor
        needed = size + 1 + offsets[successor + 1] - offsets[successor]
        if needed > gathered.size:
            larger = np.empty(2 * needed, np.int64)
            larger[:size] = gathered[:size]
            gathered = larger
        gathered[size] = start << 32 | places[successor + 1]
        size += 1
        for position in range(offsets[successor], offsets[successor + 1]):
            gathered[size] = starts[position] << 32 | ends[position]
            size += 1
    return gathered, size


@part
def _sort(packed: Nodes, size: int) -> None:
    """Sort the first ``size`` numbers."""
    if size > MAX_INTERVALS_INSERTED:
        packed[:size] = np.sort(packed[:size])
        return
    for position in range(1, size):
        inserted = packed[position]
        before = position - 1
        while before >= 0 and packed[before] > inserted:
            packed[before + 1] = packed[before]
            before -= 1
        packed[before + 1] = inserted


@part
def _append_union(packed: Nodes, size: int, first: int, starts: Nodes, ends: Nodes) -> int:
    """Write the union of the first ``size`` sorted packed intervals from place ``first`` on.

    Returns the place after the last interval, or -1 if there is no room.
    """
    low_half = np.int64(0xFFFFFFFF)
    at = first
    for position in range(size):
        start = packed[position] >> 32
        end = packed[position] & low_half
        if at > first and start <= ends[at - 1]:
            if end > ends[at - 1]:
                ends[at - 1] = end
            continue
        if at == ends.size:
            return -1
        starts[at] = start
        ends[at] = end
        at += 1
    return at


@part
def _has_place(place: Node, first: Node, end: Node, starts: Nodes, ends: Nodes) -> bool:
    """Whether one of the ascending intervals from number ``first`` to ``end`` has a place."""
    low = first
    high = end
    while low < high:
        middle = (low + high) >> 1
        if starts[middle] <= place:
            low = middle + 1
        else:
            high = middle
    return bool(low > first and place < ends[low - 1])


@kernel
def within_intervals(
    rows: Nodes, places: Nodes, offsets: Nodes, starts: Nodes, ends: Nodes, found: Mask
) -> None:
    """Fill ``found``: whether each place is in an interval of its row; no negative row or place is."""
    for number in range(rows.size):
        row = rows[number]
        found[number] = (
            row >= 0
            and places[number] >= 0
            and _has_place(places[number], offsets[row], offsets[row + 1], starts, ends)
        )


@kernel
def write_intervals(
    stop: Flag, rows: Nodes, offsets: Nodes, starts: Nodes, ends: Nodes, terms: Column, values: Column
) -> None:
    """Fill ``values`` with the terms at the places in the intervals of each row; negative rows have none."""
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

    Node i has the row ``rows[i]``, and ``members`` has the node at each place. Precondition: ``room`` has,
    for each target, where its pairs begin in ``keys``. Afterwards it has where they end. Fills ``keys``.
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
