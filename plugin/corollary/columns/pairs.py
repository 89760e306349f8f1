"""Sorted sets of packed pairs, and the operations on them.

A pair of ids is packed into a *key*: ``uint64``, first << 32 | second. ``Pairs`` is an immutable set of pairs
in two orders: by first (facts: by subject), and inverse, by second (by object). The inverse order is computed
on first use.

Precondition of all functions with arguments ``left`` and ``right``: both are sorted and unique, as the keys
of every ``Pairs`` are. Their results are sorted and unique too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from corollary.columns.key_sort import sort_keys
from corollary.columns.tuning import (
    ENTRIES_PER_WANTED_KEY,
    KEYS_PER_BLOCK,
    KEYS_PER_STEP,
    KEYS_READ_ONE_BY_ONE,
    MAX_ARRAYS_MERGED,
    MAX_KEYS_FOR_NP_SORT,
    MAX_KEYS_NOT_MERGED,
    MAX_LOOKS_BEFORE_SORTING,
    MAX_RATIO_OF_DIFFERENCE,
    MAX_TABLE_ENTRIES_PER_ROW,
    MIN_KEYS_MERGED,
    MIN_KEYS_PER_HALF_LOOKED_FOR,
    MIN_KEYS_PER_KEY_FOUND,
    MIN_RATIO_SIEVED,
    MIN_ROWS_FOR_TABLE,
    PAIRS_TURNED_FIRST,
)
from corollary.kernels.compiled import go_on
from corollary.kernels.interrupts import together, undisturbed
from corollary.kernels.limits import check, reserve
from corollary.kernels.scratch import kept
from corollary.kernels.sorted import Column, Keys, Mask, Place, Rows
from corollary.kernels.sorted import compose as compose_kernel
from corollary.kernels.sorted import contains as contains_kernel
from corollary.kernels.sorted import count_equal as count_equal_kernel
from corollary.kernels.sorted import difference as difference_kernel
from corollary.kernels.sorted import expand as expand_kernel
from corollary.kernels.sorted import follow as follow_kernel
from corollary.kernels.sorted import intersect as intersect_kernel
from corollary.kernels.sorted import locate as locate_kernel
from corollary.kernels.sorted import union as union_kernel
from corollary.kernels.threads import apart, in_pieces, pieces
from corollary.kernels.tuning import (
    MAX_RATIO_MERGED,
    MAX_ROWS_UNRESERVED,
    MIN_BYTES_IN_SCRATCH,
    MIN_ELEMENTS_CUT,
    MIN_ELEMENTS_FOR_THREAD,
)

HALF = np.uint64(32)
HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2 ** 64 by the golden ratio: multiplicative hashing
LOW_HALF = np.uint64(0xFFFFFFFF)

Integer = TypeVar("Integer", bound=np.integer[Any])

NO_KEYS: Keys = np.empty(0, np.uint64)
NO_COLUMN: Column = np.empty(0, np.uint32)


def taken(column: Column, rows: Rows | Mask) -> Column:
    """The values of a column in these rows, or where the mask is true."""
    if rows.size < MIN_ELEMENTS_CUT or rows.dtype == np.bool_:
        return column[rows]
    found: Column = np.empty(rows.size, column.dtype)
    in_pieces(rows.size, lambda cut: column.take(rows[cut], out=found[cut], mode="clip"))
    return found


def end_to_end(columns: list[NDArray[Integer]]) -> NDArray[Integer]:
    """The concatenation of columns."""
    if sum([column.size for column in columns]) <= MIN_ELEMENTS_FOR_THREAD:
        return np.concatenate(columns)
    return undisturbed(partial(np.concatenate, columns))


def pack(first: Column, second: Column) -> Keys:
    """Two uint32 columns as one uint64 column, first << 32 | second."""
    if first.size == 1:  # most changes are of one fact: in a third of the time
        return np.array([int(first[0]) << 32 | int(second[0])], np.uint64)
    keys = first.astype(np.uint64)
    keys <<= HALF
    keys |= second
    return keys


def firsts(keys: Keys) -> Column:
    """The first halves of packed pairs."""
    if keys.size <= KEYS_PER_STEP:
        return (keys >> HALF).astype(np.uint32)
    found: Column = np.empty(keys.size, np.uint32)
    for start in range(0, keys.size, KEYS_PER_STEP):  # without an array of 8 bytes for each
        found[start : start + KEYS_PER_STEP] = keys[start : start + KEYS_PER_STEP] >> HALF
    return found


def seconds(keys: Keys) -> Column:
    """The second halves of packed pairs."""
    return keys.astype(np.uint32)  # keeps the low half


def swap(keys: Keys) -> Keys:
    """The inverse of every pair, in the order of ``keys``. The result is not sorted."""
    if keys.size == 1:
        key = int(keys[0])
        return np.array([(key & 0xFFFFFFFF) << 32 | key >> 32], np.uint64)
    if keys.size <= KEYS_PER_STEP:
        return (keys << HALF) | (keys >> HALF)
    if keys.size > MAX_ROWS_UNRESERVED:
        reserve(2 * keys.nbytes)
    by_object = np.empty_like(keys)

    def swap_piece(piece: slice) -> None:
        for start in range(piece.start, piece.stop, KEYS_PER_STEP):
            step = slice(start, min(start + KEYS_PER_STEP, piece.stop))
            np.left_shift(keys[step], HALF, out=by_object[step])
            by_object[step] |= keys[step] >> HALF

    in_pieces(keys.size, swap_piece)
    return by_object


def sorted_unique(keys: Keys) -> Keys:
    """A sorted copy without duplicates."""
    if keys.size > MAX_ROWS_UNRESERVED:
        reserve(keys.nbytes)
    keys = sort_keys(apart(keys.size, keys.copy))
    return apart(keys.size, partial(distinct_of_sorted, keys))


def ascending(keys: Keys) -> Keys:
    """The keys, sorted and unique: the argument itself if it is sorted and unique already."""
    return keys if keys.size < 2 or not (keys[1:] <= keys[:-1]).any() else sorted_unique(keys)


def distinct(column: NDArray[Integer]) -> NDArray[Integer]:
    """The distinct values of a column, ascending."""
    if column.size < 2:
        return column
    if column.size > MAX_ROWS_UNRESERVED:
        reserve(column.nbytes)
    found = _marked(column) if column.size > MIN_KEYS_MERGED else None
    if found is not None:
        return found
    column = (
        np.sort(column) if column.size <= MIN_ELEMENTS_FOR_THREAD else undisturbed(partial(np.sort, column))
    )
    return distinct_of_sorted(column)


def distinct_of_sorted(column: NDArray[Integer]) -> NDArray[Integer]:
    """The distinct values of an ascending column."""
    if column.size < 2:
        return column
    fresh = np.empty(column.size, np.bool_)
    fresh[0] = True
    np.not_equal(column[1:], column[:-1], out=fresh[1:])
    return column if fresh.all() else column[fresh]


def spread(column: NDArray[Integer], most: int) -> NDArray[Integer]:
    """Up to ``most`` values of a column, equally far apart. Cost: none, they are a view."""
    return column[:: max(1, -(-column.size // most))]


def among(column: NDArray[Integer], known: NDArray[Integer]) -> Mask:
    """A mask of the values of ``column`` that are in ``known``. Precondition: ``known`` ascends.

    Cost: a look-up for each value, in a table if the known ids are not far apart, else by binary search.
    """
    if not known.size:
        return np.zeros(column.size, np.bool_)
    found: Mask
    span = int(known[-1]) - int(known[0]) + 1
    is_near = column.size >= MIN_ROWS_FOR_TABLE and span <= MAX_TABLE_ENTRIES_PER_ROW * column.size
    if is_near and column.dtype == known.dtype == np.uint32:
        table = np.zeros(span + 1, np.bool_)  # the last entry is for all greater ids
        table[known - known[0]] = True
        found = np.empty(column.size, np.bool_)
        for start in range(0, column.size, KEYS_PER_STEP):
            step = slice(start, start + KEYS_PER_STEP)
            table.take(column[step] - known[0], mode="clip", out=found[step])  # lesser ids have become great
        return found
    places = np.minimum(known.searchsorted(column), known.size - 1)
    found = known[places] == column
    return found


def contains(keys: Keys, probes: Keys, added: Keys = NO_KEYS, removed: Keys = NO_KEYS) -> Mask:
    """A mask of the probes that are in keys - removed + added.

    Precondition: all but ``probes`` are sorted and unique; ``added`` is disjoint from ``keys``; ``removed``
    is a subset of ``keys``.
    """
    found: Mask = np.zeros(probes.size, np.bool_)
    if probes.size and (keys.size or added.size):
        if probes.size < MIN_ELEMENTS_CUT:
            contains_kernel(keys, added, removed, probes, found)
        else:
            in_pieces(probes.size, lambda cut: contains_kernel(keys, added, removed, probes[cut], found[cut]))
    return found


def difference(left: Keys, right: Keys) -> Keys:
    """The keys in ``left`` that are not in ``right``. Precondition: both sorted and unique."""
    if not right.size or not left.size:
        return left
    if left.size < MIN_KEYS_MERGED or right.size > MAX_RATIO_MERGED * left.size:
        return left[~contains(right, left)]
    if left.size > MAX_RATIO_OF_DIFFERENCE * right.size:
        places = np.minimum(left.searchsorted(right), left.size - 1)
        return np.delete(left, places[left[places] == right])
    reserve(left.nbytes)
    return _of_two(left, right, np.empty_like(left), difference_kernel, is_union=False)


def intersection(left: Keys, right: Keys) -> Keys:
    """The keys in both ``left`` and ``right``."""
    if left.size > right.size:
        left, right = right, left
    return left[contains(right, left)] if left.size else left


def union(left: Keys, right: Keys) -> Keys:
    """The keys in ``left`` or ``right``, or both. Cost: one merge."""
    if not right.size:
        return left
    if not left.size:
        return right
    if left.size + right.size > MAX_ROWS_UNRESERVED:
        reserve(left.nbytes + right.nbytes)
    if left.size < right.size:
        left, right = right, left
    found: Keys = np.empty(left.size + right.size, np.uint64)
    if right.size > 1:
        return _of_two(left, right, found, union_kernel, is_union=True)
    view, key, into = left.data, right.item(), found.data  # most changes are of one fact
    place = bisect_left(view, key)
    if place < left.size and view[place] == key:
        return left
    into[:place], into[place], into[place + 1 :] = view[:place], key, view[place:]
    return found


def _of_two(
    left: Keys, right: Keys, found: Keys, of_two: Callable[[Keys, Keys, Keys], Place], *, is_union: bool
) -> Keys:
    """The union or the difference of two sets, in pieces that are cut by the keys of ``left``.

    ``found`` has the room that ``of_two`` needs, and becomes the result: there must be no view of it.
    """
    if left.size < MIN_ELEMENTS_CUT:
        found.resize(of_two(left, right, found), refcheck=False)  # its memory shrinks in place
        return found
    cuts = pieces(left.size)
    rights = [0, *np.searchsorted(right, left[[cut.start for cut in cuts[1:]]]).tolist(), right.size]
    room = [cut.start + (start if is_union else 0) for cut, start in zip(cuts, rights, strict=False)]
    works = [
        partial(of_two, left[cut], right[start:end], found[at:following])
        for cut, (start, end), (at, following) in zip(
            cuts, pairwise(rights), pairwise((*room, found.size)), strict=True
        )
    ]
    sizes = together(works)
    del works  # they have views
    size: Place = 0
    for at, more in zip(room, sizes, strict=True):
        if size < at:
            found[size : size + more] = found[at : at + more]
        size += more
    found.resize(size, refcheck=False)
    return found


def with_inverses(keys: Keys) -> Keys:
    """The keys and those of the inverse pairs. Precondition: the argument is sorted and unique."""
    return union(keys, sort_keys(swap(keys), by_first=True))


def gathered(parts: list[Keys]) -> Keys:
    """All keys, sorted and unique. Precondition: there are parts, which may have any order and duplicates.

    Cost: one merge for each part, if they are few and sorted; else that of sorting.
    """
    if len(parts) == 1:
        return parts[0] if parts[0].size == 1 else ascending(parts[0])
    size = sum([part.size for part in parts])
    is_small = size <= (MAX_KEYS_NOT_MERGED if union_kernel.is_compiled else MAX_KEYS_FOR_NP_SORT)
    if len(parts) > MAX_ARRAYS_MERGED or is_small:
        return distinct_of_sorted(sort_keys(np.concatenate(parts)))
    return reduce(union, sorted(map(ascending, parts), key=len))


def sieved(parts: list[Keys], wanted: Keys) -> list[Keys]:
    """At least the wanted keys of some arrays, in their order, with duplicates. Most other keys are left out.

    Precondition: there are wanted keys. Cost: a look-up of a hash for each key. Few keys are not looked up.
    """
    if sum([part.size for part in parts]) < MIN_RATIO_SIEVED * max(wanted.size, MIN_KEYS_MERGED):
        return parts
    bits = (ENTRIES_PER_WANTED_KEY * wanted.size).bit_length()
    shift, table = np.uint64(64 - bits), np.zeros(1 << bits, np.bool_)
    table[(wanted * HASH_FACTOR) >> shift] = True
    steps = (part[i : i + KEYS_PER_STEP] for part in parts for i in range(0, part.size, KEYS_PER_STEP))
    return [np.concatenate([keys[table[(keys * HASH_FACTOR) >> shift]] for keys in steps])]


def join(keys: Keys, probes: Column) -> tuple[Rows, Column]:
    """Join a probe column with sorted keys on their first half.

    Returns all (row, second) such that the key (probes[row], second) exists, as two columns: ascending in the
    row, and within a row in the second half.
    """
    return join_layers((keys,), probes)


def join_layers(layers: Sequence[Keys], probes: Column) -> tuple[Rows, Column]:
    """The results of ``join`` with each of some arrays of sorted keys, one after the other."""
    found = [_located(keys, probes) for keys in layers]
    rows, values = _rows_and_values(sum([total for _, _, total in found]))
    at = 0
    for keys, (starts, counts, total) in zip(layers, found, strict=True):
        _list(keys, starts, counts, rows[at : at + total], values[at : at + total])
        at += total
    return rows, values


def _rows_and_values(size: int) -> tuple[Rows, Column]:
    """Room for the result of a join."""
    if size > MAX_ROWS_UNRESERVED:
        reserve(12 * size)
    return np.empty(size, np.int64), np.empty(size, np.uint32)


def _list(keys: Keys, starts: Rows, counts: Rows, rows: Rows, values: Column) -> None:
    """Write all (row, second) of the keys from ``starts`` on. Precondition: there is room for ``counts``."""
    total = rows.size
    if total >= MIN_ELEMENTS_CUT:
        together(
            [
                partial(expand_kernel, keys, starts[cut], counts[cut], cut.start, rows[into], values[into])
                for cut, into in _runs(counts, total)
            ]
        )
    elif total:
        expand_kernel(keys, starts, counts, 0, rows, values)


def _located(keys: Keys, probes: Column) -> tuple[Rows, Rows, int]:
    """For every probe, where its keys start, and their number; and the sum of the numbers."""
    if not keys.size or not probes.size:
        return np.zeros(probes.size, np.int64), np.zeros(probes.size, np.int64), 0
    starts: Rows = np.empty(probes.size, np.int64)
    counts: Rows = np.empty(probes.size, np.int64)
    if probes.size < MIN_ELEMENTS_CUT:
        return starts, counts, locate_kernel(keys, probes, starts, counts)
    found = in_pieces(probes.size, lambda cut: locate_kernel(keys, probes[cut], starts[cut], counts[cut]))
    return starts, counts, sum(found)


def _runs(counts: Rows, total: int) -> list[tuple[slice, slice]]:
    """Rows of a join, cut for threads: (rows, places of their results), of which all have about as many.

    ``counts`` are the numbers of results, ``total`` is their sum.
    """
    wanted = pieces(total)
    ends = np.cumsum(np.add.reduceat(counts, np.arange(0, counts.size, KEYS_PER_BLOCK)))
    blocks = np.searchsorted(ends, [piece.start for piece in wanted[1:]])
    rows = [0, *np.minimum((blocks + 1) * KEYS_PER_BLOCK, counts.size).tolist(), counts.size]
    places = [0, *ends[blocks].tolist(), total]
    return [(slice(*cut), slice(*into)) for cut, into in zip(pairwise(rows), pairwise(places), strict=True)]


def counts(keys: Keys, probes: Column) -> Rows:
    """For every probe, the number of keys with that first half. Precondition: ``keys`` sorted."""
    return _located(keys, probes)[1]


def follow(pairs: Keys, further: Keys) -> Keys:
    """All (y, z) for pairs (x, y) and further pairs (x, z). Not sorted, with duplicates.

    Precondition: both sorted and unique. ``{(1, 2), (1, 3)}`` and ``{(1, 9)}`` give ``(2, 9), (3, 9)``.
    """
    probes = firsts(pairs)
    starts, counts, total = _located(further, probes)
    reserve(8 * total)
    followed: Keys = np.empty(total, np.uint64)

    if total >= MIN_ELEMENTS_CUT:
        together(
            [
                partial(follow_kernel, pairs[cut], further, starts[cut], counts[cut], followed[into])
                for cut, into in _runs(counts, total)
            ]
        )
    elif total:
        follow_kernel(pairs, further, starts, counts, followed)
    return followed


class Runs(NamedTuple):
    """For every row, the keys with one first half: where they start among ``keys``, and how many they are."""

    keys: Keys
    starts: Rows
    counts: Rows

    @staticmethod
    def of(keys: Keys, probes: Column) -> Runs:
        """The runs of the keys whose first halves are the probes."""
        starts, counts, _ = _located(keys, probes)
        return Runs(keys, starts, counts)

    def take(self, rows: slice | Rows) -> Runs:
        """The runs of some rows."""
        return Runs(self.keys, self.starts[rows], self.counts[rows])

    def listed(self) -> tuple[Rows, Column]:
        """All (row, second): see ``join``."""
        rows, values = _rows_and_values(int(self.counts.sum()))
        _list(*self, rows, values)
        return rows, values


def common_seconds(left: Runs, right: Runs) -> tuple[Rows, Column]:
    """All (row, second) such that both runs of the row have a key with this second half.

    Cost: at most a search for each key of the shorter runs.
    """

    def intersect(cut: slice) -> tuple[Rows, Column]:
        first, other = left.take(cut), right.take(cut)
        size = int(np.minimum(first.counts, other.counts).sum()) + 1
        reserve(12 * size)
        rows: Rows = np.empty(size, np.int64)
        values: Column = np.empty(size, np.uint32)
        found = intersect_kernel(*first, *other, rows, values)
        return rows[:found] + cut.start, values[:found]

    parts = in_pieces(left.starts.size, intersect)
    if len(parts) == 1:
        return parts[0]
    rows, values = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(values)


def count_equal(left: Keys, right: Keys) -> int:
    """The number of places in both with the same key. Sorts both in place; keys may repeat."""
    left, right = (apart(keys.size, partial(sort_keys, keys)) for keys in (left, right))
    return int(count_equal_kernel(left, right))


def compose(pairs: Keys, further: Pairs) -> Keys:
    """All (x, z) for sorted pairs (x, y) and further pairs (y, z). The result is sorted and unique."""
    composed = compose_by_first(pairs, further)
    return composed if (composed[1:] > composed[:-1]).all() else sort_keys(composed)


def compose_by_first(pairs: Keys, further: Pairs) -> Keys:
    """As ``compose``, unique and ascending in x. Those of one x may have any order.

    Duplicates are suppressed while they are produced: the join with all its duplicates is never stored.
    """
    probes, values = seconds(pairs), seconds(further.keys)
    starts, counts, total = _located(further.keys, probes)
    ends = further.distinct_seconds() if further.has_by_object else distinct(values)
    numbers = _places(values, ends)
    most = min(total, distinct_of_sorted(firsts(pairs)).size * ends.size)
    reserve(8 * most)
    composed: Keys = np.empty(most, np.uint64)
    if total:
        size = compose_kernel(
            go_on(), pairs, starts, counts, numbers, ends, np.full(ends.size, -1, np.int64), composed
        )
        composed.resize(size, refcheck=False)  # its memory shrinks in place
    return composed


def _places(column: Column, values: Column) -> Column:
    """The place of each id of a column among ``values``, which ascend and have all of them.

    Cost: a look-up for each, in a table if the values are not far apart, else by binary search.
    """
    if not values.size or int(values[-1]) - int(values[0]) >= MAX_TABLE_ENTRIES_PER_ROW * column.size:
        return np.searchsorted(values, column).astype(np.uint32)
    table: Column = np.empty(int(values[-1]) - int(values[0]) + 1, np.uint32)
    table[values - values[0]] = np.arange(values.size, dtype=np.uint32)
    places: Column = table[column - values[0]]
    return places


def spans(starts: Rows, ends: Rows) -> Rows:
    """The concatenation of the ranges start <= n < end. Precondition: there are ranges."""
    sizes = ends - starts
    before = sizes.cumsum()
    rows: Rows = np.arange(before[-1]) + (starts - before + sizes).repeat(sizes)
    return rows


class Pairs:
    """An immutable set of pairs, in both orders.

    The constructor requires sorted, unique keys; ``of`` accepts any keys. ``keys`` is the order by first
    half. ``by_object`` is the inverse order, computed on first use and cached. Where it is found to be the
    same, both are one array: of a symmetric set, most changes are made once.
    """

    __slots__ = (
        "_by_object",
        "_by_object_view",
        "_distinct",
        "_distinct_by_object",
        "_looks",
        "_view",
        "keys",
    )

    def __init__(
        self,
        keys: Keys,
        by_object: Keys | None = None,
        distinct: tuple[Column | None, Column | None] = (None, None),
    ) -> None:
        """``distinct`` are the distinct first and second halves, if they are known."""
        self.keys = keys if keys.nbytes < MIN_BYTES_IN_SCRATCH else kept(keys)
        if by_object is keys:
            self._by_object: Keys | None = self.keys
        else:
            self._by_object = by_object if by_object is None else kept(by_object)
        self._distinct, self._distinct_by_object = distinct
        self._looks = 0  # at all keys, instead of sorting them
        self._view: memoryview | None = None
        self._by_object_view: memoryview | None = None

    @staticmethod
    def of(keys: Keys) -> Pairs:
        """A set of pairs from packed keys in any order, with or without duplicates."""
        return Pairs(sorted_unique(keys))

    def __reduce__(self) -> tuple[type[Pairs], tuple[Keys]]:
        return Pairs, (self.keys,)

    def __len__(self) -> int:
        return int(self.keys.size)

    @property
    def by_object(self) -> Keys:
        """The same pairs as second << 32 | first, sorted."""
        if self._by_object is None:
            keys, turned = self.keys, swap(self.keys)
            if turned.size > 1:
                turned = sort_keys(turned, by_first=True)
                is_same = turned[0] == keys[0] and turned[-1] == keys[-1] and np.array_equal(turned, keys)
                turned = keys if is_same else kept(turned)
            self._by_object = turned
        return self._by_object

    @property
    def has_by_object(self) -> bool:
        """Whether the inverse order exists already, and need not be computed."""
        return self._by_object is not None

    def share_inverse(self, other: Pairs) -> None:
        """Share both orders with the inverse pairs: the keys of each are the order by object of the other."""
        if other is not self and self._by_object is other.keys and other._by_object is self.keys:
            return
        self._by_object, self._by_object_view = other.keys, None
        other._by_object, other._by_object_view = self.keys, None

    def is_symmetric(self) -> bool:
        """Whether each inverse is a pair, too. If those of a few are, the inverse order is made."""
        if self.keys.size < 2:
            return bool((self.keys == swap(self.keys)).all())
        if self._by_object is None:
            few = np.ascontiguousarray(spread(self.keys, PAIRS_TURNED_FIRST))
            if not contains(self.keys, swap(few)).all():
                return False
        return self.by_object is self.keys

    def inverse(self) -> Pairs:
        """The inverse pairs. Both arrays are shared."""
        return Pairs(self.by_object, self.keys, (self._distinct_by_object, self._distinct))

    def piece(self, start: int, end: int) -> Keys:
        """The keys from place ``start`` to ``end``, or to the last one: a view."""
        return self.keys[start:end]

    def keys_near(self, halves: Column) -> Keys:
        """Keys among which are all those with these first halves."""
        return self.keys

    def keys_around(self, probes: Keys) -> Keys:
        """Keys among which are all of these that are in the set."""
        return self.keys

    def by_object_near(self, halves: Column) -> Keys:
        """As ``keys_near``, in the order by object.

        For few halves the order is not made at first: the keys beside them are looked for among all keys.
        """
        if not halves.size:
            return NO_KEYS
        is_short = self._by_object is None and MIN_KEYS_PER_HALF_LOOKED_FOR * halves.size <= self.keys.size
        if is_short and self._looks < MAX_LOOKS_BEFORE_SORTING:
            self._looks += 1
            found = self._few_beside(distinct(halves))
            if found is not None:
                return sort_keys(swap(found), by_first=True)
        return self.by_object

    def _few_beside(self, halves: Column) -> Keys | None:
        """The keys with these second halves (ascending), by one look at all keys; None if they are many.

        Where halves are too far apart for a table, their last 16 bits leave out most keys.
        """
        parts, size = [NO_KEYS], 0
        is_far = int(halves[-1]) - int(halves[0]) >= MAX_TABLE_ENTRIES_PER_ROW * KEYS_PER_STEP
        have_bits = np.zeros(1 << 16, np.bool_)
        have_bits[halves.astype(np.uint16)] = True
        for start in range(0, self.keys.size, KEYS_PER_STEP):
            check()
            keys = self.keys[start : start + KEYS_PER_STEP]
            if is_far:
                keys = keys[have_bits[keys.astype(np.uint16)].nonzero()[0]]
            parts.append(keys[among(seconds(keys), halves)])
            size += parts[-1].size
            if MIN_KEYS_PER_KEY_FOUND * size > self.keys.size:
                return None
        reserve(8 * size)
        return np.concatenate(parts)

    def distinct_firsts(self) -> Column:
        """The distinct first halves, ascending. Cached."""
        if self._distinct is None:
            self._distinct = _distinct_firsts(self.keys)
        return self._distinct

    def distinct_seconds(self) -> Column:
        """The distinct second halves, ascending. Cached."""
        if self._distinct_by_object is None:
            found = None
            if self._by_object is None:
                values = seconds(self.keys)
                found = distinct(values) if values.size < MIN_KEYS_MERGED else _marked(values)
            self._distinct_by_object = _distinct_firsts(self.by_object) if found is None else found
        return self._distinct_by_object

    def first_count(self) -> int:
        """The number of distinct first halves."""
        return int(self.distinct_firsts().size)

    def second_count(self) -> int:
        """The number of distinct second halves."""
        return int(self.distinct_seconds().size)

    def has_second_from(self, power: int) -> bool:
        """Whether a second half is at least a power of two. Cost: linear, without the inverse order."""
        if not len(self):
            return False
        if self.has_by_object or self.keys.size == 1:
            return int(self.by_object[-1]) >> 32 >= power
        return int(np.bitwise_or.reduce(self.keys) & LOW_HALF) >= power

    def has(self, key: int) -> bool:
        """Whether the set has a packed pair."""
        view = self._view
        if view is None:
            view = self._look()
        position = bisect_left(view, key)
        return position < len(view) and view[position] == key

    def count_below(self, key: int) -> int:
        """The number of pairs that sort before a packed pair."""
        return bisect_left(self._look() if self._view is None else self._view, key) if self.keys.size else 0

    def seconds_of(self, first: int) -> list[int]:
        """The second halves of the pairs with the given first half, ascending."""
        return _beside(self._look() if self._view is None else self._view, first)

    def firsts_of(self, second: int) -> list[int]:
        """The first halves of the pairs with the given second half, ascending."""
        return _beside(self._look_by_object(), second) if self.keys.size else []

    def column_of_first(self, first: int) -> Column:
        """As ``seconds_of``, as a column."""
        return _column_beside(self.keys, self._look() if self._view is None else self._view, first)

    def column_of_second(self, second: int) -> Column:
        """As ``firsts_of``, as a column."""
        return _column_beside(self.by_object, self._look_by_object(), second)

    def count_first(self, first: int) -> int:
        """The number of pairs with the given first half."""
        return _count(self._look() if self._view is None else self._view, first) if self.keys.size else 0

    def count_second(self, second: int, below: int = 1 << 32) -> int:
        """The number of pairs with the given second half, and a first half below a bound."""
        if not self.keys.size:
            return 0
        view = self._look_by_object() if self._by_object_view is None else self._by_object_view
        return _count(view, second, below)

    def has_first(self, first: int) -> bool:
        """Whether a pair has the given first half."""
        return self.keys.size > 0 and _starts(self._look() if self._view is None else self._view, first)

    def has_second(self, second: int) -> bool:
        """Whether a pair has the given second half."""
        if not self.keys.size:
            return False
        view = self._look_by_object() if self._by_object_view is None else self._by_object_view
        return _starts(view, second)

    def few_of(self, half: int, most: int, *, is_first: bool) -> list[int] | None:
        """The other halves of the pairs with one half, ascending. None for more than ``most``."""
        view = self._view if is_first else self._by_object_view
        if view is None:
            view = self._look() if is_first else self._look_by_object()
        least, size = half << 32, len(view)
        at = bisect_left(view, least)
        end = at + most
        found: list[int] = []
        while at < size and (other := view[at] - least) <= 0xFFFFFFFF:
            if at == end:
                return None
            found.append(other)
            at += 1
        return found

    def few_beside(
        self, halves: Iterable[int], most: int, *, is_first: bool, missing: int | None = None
    ) -> tuple[list[int], list[int]] | None:
        """The pairs with each of some first halves, or second ones: the half's place, and the other half.

        A half without pairs is once beside ``missing``, if that is given. None for more than ``most`` pairs.
        """
        view = self._view if is_first else self._by_object_view
        if view is None:
            view = self._look() if is_first else self._look_by_object()
        size = len(view)
        rows: list[int] = []
        values: list[int] = []
        for row, half in enumerate(halves):
            least = half << 32
            at = before = bisect_left(view, least)
            while at < size and (value := view[at] - least) <= 0xFFFFFFFF:
                rows.append(row)
                values.append(value)
                if len(rows) > most:
                    return None
                at += 1
            if at == before and missing is not None:
                rows.append(row)
                values.append(missing)
        return rows, values

    def _look_by_object(self) -> memoryview:
        """A memory view of the inverse keys."""
        if self._by_object_view is None:
            self._by_object_view = self.by_object.data
        return self._by_object_view

    def _look(self) -> memoryview:
        """A memory view of the keys: Python reads single items several times faster than from numpy."""
        if self._view is None:
            self._view = self.keys.data
        return self._view

    def plus(self, other: Pairs) -> Pairs:
        """The union. A cached inverse order is merged too, if ``other`` is small: at most 1/4 of this set."""
        if not other.keys.size:
            return self
        if not self.keys.size:
            return other
        mine = self._by_object
        are_same = mine is self.keys and other._by_object is other.keys
        is_merged = are_same or 4 * other.keys.size <= self.keys.size
        return self._changed(union, other, mine if is_merged else None)

    def minus(self, other: Pairs) -> Pairs:
        """The difference. A cached inverse order is updated too."""
        if not other.keys.size or not self.keys.size:
            return self
        return self._changed(difference, other, self._by_object)

    def _changed(self, change: Callable[[Keys, Keys], Keys], other: Pairs, mine: Keys | None) -> Pairs:
        """Both orders, changed by another set. ``mine``: the inverse order of this one; None: not to make."""
        keys = change(self.keys, other.keys)
        if mine is None:
            return Pairs(keys)
        are_same = mine is self.keys and other.by_object is other.keys
        return Pairs(keys, keys if are_same else change(mine, other.by_object))


class Difference(Pairs):
    """The pairs of ``whole`` that are not in ``part``. Precondition: ``part`` is a subset.

    The number of pairs is known; the keys are computed at their first use.
    """

    __slots__ = ("_part", "_whole")

    def __init__(self, whole: Keys, part: Keys) -> None:
        super().__init__(NO_KEYS)
        del self.keys
        self._whole, self._part = whole, part

    def __getattr__(self, name: str) -> Keys:
        if name != "keys":
            raise AttributeError(name)
        self.keys = kept(difference(self._whole, self._part))
        return self.keys

    def __len__(self) -> int:
        return int(self._whole.size - self._part.size)


def _distinct_firsts(keys: Keys) -> Column:
    """The distinct first halves of sorted keys. Takes little memory but for these, which may be few.

    Cost: if they are few, that of reading one of KEYS_PER_BLOCK keys; else that of reading all keys.
    """
    if keys.size <= KEYS_PER_BLOCK:
        return distinct_of_sorted(firsts(keys))
    ends = firsts(keys[::KEYS_PER_BLOCK])
    blocks = np.append(np.flatnonzero(ends[1:] != ends[:-1]), ends.size - 1)  # the others have one value each
    if KEYS_PER_BLOCK * blocks.size < keys.size // 8:
        rows = (KEYS_PER_BLOCK * blocks[:, None] + np.arange(KEYS_PER_BLOCK)).reshape(-1)
        return distinct_of_sorted(firsts(keys[np.minimum(rows, keys.size - 1)]))
    steps = range(0, keys.size, KEYS_PER_STEP)
    parts = [distinct_of_sorted(firsts(keys[start : start + KEYS_PER_STEP])) for start in steps]
    return distinct_of_sorted(np.concatenate(parts)) if len(parts) > 1 else (*parts, firsts(keys))[0]


def _marked(column: NDArray[Integer]) -> NDArray[Integer] | None:
    """The distinct values of a column, ascending, by a table with one entry for each value between the least
    and the greatest. None if that has more entries than the column. Cost: less than that of sorting.
    """
    least, greatest = int(column.min()), int(column.max())
    if greatest - least >= column.size:
        return None
    table = np.zeros(greatest - least + 1, np.bool_)
    for start in range(0, column.size, KEYS_PER_STEP):  # an array of places would take 8 bytes for each value
        table[column[start : start + KEYS_PER_STEP] - column.dtype.type(least)] = True
    found: NDArray[Integer] = np.flatnonzero(table).astype(column.dtype)
    found += column.dtype.type(least)
    return found


def _beside(view: memoryview, half: int) -> list[int]:
    least, size = half << 32, len(view)
    at = bisect_left(view, least)
    if at == size or (value := view[at] - least) > 0xFFFFFFFF:
        return []
    found: list[int] = [value]
    at += 1
    searched = at + KEYS_READ_ONE_BY_ONE - 1
    while at < size and (value := view[at] - least) <= 0xFFFFFFFF:
        if at == searched:
            end = bisect_left(view, least + (1 << 32), at)
            return found + [key & 0xFFFFFFFF for key in view[at:end].tolist()]
        found.append(value)
        at += 1
    return found


def _column_beside(keys: Keys, view: memoryview, half: int) -> Column:
    start = bisect_left(view, half << 32)
    if start == len(view) or view[start] >> 32 != half:
        return NO_COLUMN
    return seconds(keys[start : bisect_left(view, (half + 1) << 32, start)])


def _starts(view: memoryview, half: int) -> bool:
    start = bisect_left(view, half << 32)
    return start < len(view) and view[start] >> 32 == half


def _count(view: memoryview, half: int, below: int = 1 << 32) -> int:
    start = bisect_left(view, half << 32)
    if start == len(view) or view[start] >> 32 != half:
        return 0
    return bisect_left(view, (half << 32) + below, start) - start


NO_PAIRS = Pairs(NO_KEYS, NO_KEYS)

ReadOnlyKeys = NDArray[np.uint64]


def read_only(keys: Keys) -> ReadOnlyKeys:
    """A read-only view, for keys that leave the index."""
    view = keys.view()
    view.flags.writeable = False
    return view
