"""Multiway intersection: extend rows by one variable, whose values several relations restrict at once.

``?a :knows ?b . ?b :knows ?c . ?c :knows ?a`` has few triangles, but a join of its first two atoms lists all
paths of two edges: quadratically many around a node with many neighbours. Here a row (a, b) has two sorted
lists for c, the objects of b and the subjects of a, which are merged; or the terms of the shorter one are
searched in the longer one. So a row costs as much as its shortest list, as in the worst-case-optimal joins
*generic join* (Ngo, Ré, Rudra: Skew strikes back, 2014) and *leapfrog triejoin* (Veldhuizen, 2014): if every
variable is bound in this way, the rows are within the bound on the number of results (AGM bound).

The lists are runs of the sorted pairs of a relation, found for all rows together. Nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from corollary.columns.pairs import (
    Pairs,
    Runs,
    common_seconds,
    contains,
    count_equal,
    counts,
    distinct,
    join,
    pack,
)
from corollary.execute.batches import Batch, filled
from corollary.execute.tuning import MAX_PATHS_PER_ROW, MAX_VALUES_PER_ROW_JOINED
from corollary.kernels.limits import check, reserve
from corollary.kernels.sorted import Column, Mask, Rows


class Side(NamedTuple):
    """Pairs (end, value). ``end`` is a constant or a bound variable; None for any term."""

    pairs: Pairs
    end: int | None

    @property
    def is_bound(self) -> bool:
        """Whether rows differ in their values."""
        return self.end is not None and self.end < 0

    def ends(self, batch: Batch) -> Column:
        """The end of each row. Precondition: ``is_bound``."""
        assert self.end is not None
        return batch.columns[self.end]

    def runs(self, batch: Batch) -> Runs:
        """The values of each row. Precondition: ``is_bound``."""
        ends = self.ends(batch)
        return Runs.of(self.pairs.keys_near(ends), ends)

    def size(self) -> int:
        """The number of values. Precondition: not ``is_bound``, as for ``values``."""
        return self.pairs.second_count() if self.end is None else self.pairs.count_first(self.end)

    def values(self) -> Column:
        """The values, ascending."""
        return self.pairs.distinct_seconds() if self.end is None else self.pairs.column_of_first(self.end)

    def has(self, ends: Batch, values: Column) -> Mask:
        """Whether the values are those of rows, of which ``ends`` has the bound variables."""
        reserve(17 * values.size)
        if self.end is None:
            return counts(self.pairs.by_object_near(values), values) > 0
        keys = pack(filled(values.size, self.end) if self.end >= 0 else ends.columns[self.end], values)
        return contains(self.pairs.keys_around(keys), keys)


def intersections(batch: Batch, sides: Sequence[Side], limit: int) -> Iterator[tuple[Rows, Column]]:
    """All (row, value) such that the value is on every side of the row, in parts. Not sorted.

    Precondition: at least two sides are bound. The values searched for one part are at most ``limit``, or
    those of one row. Cost: a search for each row and bound side; for each value on the shortest of these, at
    most a search on each other side. If the first side has few values for each row, these are listed, and
    tested on the other sides.
    """
    bound, others = [side for side in sides if side.is_bound], [side for side in sides if not side.is_bound]
    reserve(16 * (1 + len(bound)) * batch.size)
    runs = [bound[0].runs(batch)]
    are_few = int(runs[0].counts.sum()) <= MAX_VALUES_PER_ROW_JOINED * batch.size
    for side in bound[1:] if not are_few else ():
        check()
        runs.append(side.runs(batch))
    lengths = [run.counts for run in runs]
    ends = np.minimum.reduce(lengths).cumsum()
    start = 0
    while start < batch.size:
        searched = (int(ends[start - 1]) if start else 0) + limit
        end = max(start + 1, int(np.searchsorted(ends, searched, "right")))
        if are_few:
            check()
            rows, values = runs[0].take(slice(start, end)).listed()
            yield _restricted(batch, rows + start, values, bound[1:] + others)
            start = end
            continue
        for rows, first, second in _shortest([run.take(slice(start, end)) for run in runs]):
            check()
            places, values = common_seconds(runs[first].take(rows + start), runs[second].take(rows + start))
            rest = [side for number, side in enumerate(bound) if number not in (first, second)]
            yield _restricted(batch, rows[places] + start, values, rest + others)
        start = end


def count_in_common(batch: Batch, one: Side, other: Side) -> int | None:
    """The number of (row, value) such that the value is on both sides of the row.

    Precondition: both sides are bound. Lists the paths (end, value, other end) from all terms of these rows
    at the end with fewer terms, and compares their ends with those of the rows. Returns None if there are
    more than MAX_PATHS_PER_ROW paths for each row: then the caller searches row by row, which is faster.
    """
    ends = [distinct(side.ends(batch)) for side in (one, other)]
    if ends[1].size < ends[0].size:
        one, other, ends = other, one, ends[::-1]
    most = MAX_PATHS_PER_ROW * batch.size
    keys = one.pairs.keys_near(ends[0])
    if int(counts(keys, ends[0]).sum()) > most:
        return None
    rows, values = join(keys, ends[0])
    further = other.pairs.by_object_near(values)
    total = int(counts(further, values).sum())
    if total > most:
        return None
    reserve(40 * total + 16 * batch.size)
    places, others = join(further, values)
    check()
    paths = pack(ends[0][rows][places], others)
    return count_equal(pack(one.ends(batch), other.ends(batch)), paths)


def _shortest(runs: Sequence[Runs]) -> Iterator[tuple[Rows, int, int]]:
    """Rows with two of their sides, among which is the shortest one."""
    if len(runs) == 2:
        yield np.arange(runs[0].starts.size), 0, 1
        return
    shortest = np.argmin([run.counts for run in runs], axis=0)
    for number in range(len(runs)):
        rows = np.flatnonzero(shortest == number)
        if rows.size:
            yield rows, number, (number + 1) % len(runs)


def _restricted(batch: Batch, rows: Rows, values: Column, sides: Sequence[Side]) -> tuple[Rows, Column]:
    """The rows and values that are on all of these sides, too."""
    for side in sides:
        ends = {side.end: batch.columns[side.end][rows]} if side.end is not None and side.is_bound else {}
        kept = side.has(Batch(values.size, ends), values)
        rows, values = rows[kept], values[kept]
    return rows, values


def common_values(sides: Sequence[Side], limit: int) -> Iterator[Column]:
    """The values that are on all sides, ascending, in parts of at most ``limit``.

    Precondition: no side is bound. Cost: a search on each side for each value on the shortest one.
    """
    shortest, *others = sorted(sides, key=Side.size)
    listed = shortest.values()
    for start in range(0, listed.size, limit):
        check()
        values = listed[start : start + limit]
        for side in others:
            values = values[side.has(Batch.start(), values)]
        yield values
