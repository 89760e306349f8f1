"""Kernels over paths between the two ends of rows: which rows have one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.compiled import kernel, part

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]
Column = NDArray[np.uint32]

LAYERS = 3
"""The arrays of an overlaid relation: its base, the keys added and those removed. The removed ones are last,
so that a count of what is beside a node never falls below zero."""


@part
def enter(
    row: int, base: Keys, added: Keys, removed: Keys, starts: Rows, counts: Rows,
    least: int, mark: int, table: Rows,
) -> None:  # fmt: skip
    """Count the second halves beside a row in the table, from ``mark`` on. Removed keys are subtracted."""
    last = table.size - 1
    rows = starts.size // LAYERS
    for layer in range(LAYERS):
        keys = base if layer == 0 else added if layer == 1 else removed
        change = -1 if layer == 2 else 1
        start = starts[layer * rows + row]
        for place in range(start, start + counts[layer * rows + row]):
            slot = np.int64(keys[place] & np.uint64(0xFFFFFFFF)) - least
            if slot < 0 or slot > last:
                slot = np.int64(last)
            table[slot] = max(table[slot], mark) + change


@kernel
def meet_halfway(
    groups: Rows, firsts: Rows,
    base: Keys, added: Keys, removed: Keys, starts: Rows, counts: Rows,
    other: Keys, other_added: Keys, other_removed: Keys, other_starts: Rows, other_counts: Rows,
    least: int, table: Rows, only_first: bool, rows: Rows, values: Column,
) -> int:  # fmt: skip
    """All (row, value) such that the value is beside a left node of the row's group and its right end.

    Row r is in group ``groups[r]``, group g has the left nodes ``firsts[g]`` to ``firsts[g + 1]``. What is
    beside a left node is given by ``starts`` and ``counts`` in ``base``, ``added`` and ``removed``, one after
    the other; ``other_starts`` and so on are for the right ends of the rows. Values are marked in the table:
    its first entry is for the id ``least``, its last one for ids beyond its range, which are in no result.
    ``only_first``: at most one value for each row. Returns the number of results, which ascend in the row.
    Precondition: ``table`` is all zero; there is room for all results.
    Cost: a step for each value beside a left node whenever the group changes from one row to the next, and
    for each value beside a right end.
    """
    low = np.uint64(0xFFFFFFFF)
    last = table.size - 1
    at = 0
    mark = 0
    for row in range(groups.size):
        group = groups[row]
        if row == 0 or group != groups[row - 1]:
            mark += 1 << 32
            for node in range(firsts[group], firsts[group + 1]):
                enter(node, base, added, removed, starts, counts, least, mark, table)
        before = at
        for layer in range(2):
            keys = other if layer == 0 else other_added
            start = other_starts[layer * groups.size + row]
            for place in range(start, start + other_counts[layer * groups.size + row]):
                key = keys[place]
                slot = np.int64(key & low) - least
                if slot < 0 or slot >= last or table[slot] <= mark or (only_first and at > before):
                    continue
                if layer == 0 and other_removed.size > 0:
                    found = np.searchsorted(other_removed, key)
                    if found < other_removed.size and other_removed[found] == key:
                        continue
                rows[at] = row
                values[at] = np.uint32(key & low)
                at += 1
    return at
