"""The pairs of relations in a mapped file, checked when they are used.

All relations of a file stand end to end in two columns of keys: by subject, and by object. A *chunk* is
``KEYS_PER_CHUNK`` keys of a column. Before a kernel sees a chunk, its checksum, the order of its keys and
their ids are checked. So keys are sorted, unique, and of known terms, whatever is in the file.

A look-up of few terms checks only the chunks where these can be: ``fences`` has the first key of each chunk.

Kernels also rely on the two orders of a relation having the same pairs. When the order by object is first
used as a whole, the sums of a random function over both orders are compared. The function is drawn when the
file is opened, so no file can be made to pass with other pairs, but by luck (2^-64).
"""

from __future__ import annotations

import secrets
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corollary.columns.pairs import HALF, LOW_HALF, NO_KEYS, Pairs, firsts
from corollary.columns.tuning import MIN_CHUNKS_SKIPPED
from corollary.kernels.sorted import Column, Keys, Rows
from corollary.terms.dictionary import BULK_KINDS, KIND_SHIFT

if TYPE_CHECKING:
    from corollary.columns.column_file import ColumnFile

KEYS_PER_CHUNK = 1 << 15
"""Keys from one fence to the next: a part of the format, which docs/snapshots.md states as 32,768."""

ORDERS = ("facts.by_subject", "facts.by_object")
"""The columns of keys, in both orders."""


class IdCheck:
    """Whether ids are those of the terms of a file. ``counts``: the number of terms of each of BULK_KINDS."""

    def __init__(self, counts: tuple[int, ...]) -> None:
        self._counts = [np.uint32(count) for count in counts]
        self._firsts = [np.uint32(kind << KIND_SHIFT) for kind in BULK_KINDS]

    def are_known(self, ids: Column) -> bool:
        """Whether all ids, a uint32 array, are those of terms."""
        if not ids.size or ids.max() < self._counts[0]:  # IRIs only
            return True
        known = ids < self._counts[0]
        for first, count in zip(self._firsts[1:], self._counts[1:], strict=True):
            known |= ids - first < count  # modulo 2 ** 32
        return bool(known.all())


class KeyColumn:
    """A column of keys: the relations of a file in one of the two orders.

    ``starts`` are the places of the first keys of the relations, ascending, and the number of all keys.
    """

    def __init__(self, file: ColumnFile, name: str, starts: Rows, ids: IdCheck) -> None:
        size = int(starts[-1])
        self._section = file.section(name, "u8", size)
        self._keys: Keys = file.unchecked(self._section)
        chunks = -(-size // KEYS_PER_CHUNK)
        fences = file.column(f"{name}.fences", "u8", chunks)
        self._fences, self._fence_view = fences, fences.data
        self._file, self._starts, self._ids = file, starts, ids
        self._is_checked = bytearray(chunks)

    def whole(self, start: int, end: int) -> Keys:
        """The keys between two places, checked."""
        self._check(start, end)
        return self._keys[start:end]

    def near(self, start: int, end: int, low: int, high: int) -> tuple[int, Keys]:
        """Those keys of a relation from ``start`` to ``end`` whose first halves are ``low`` to ``high``, and
        maybe more: the place of the first one, and the keys in one piece, which is checked.
        """
        first, last = start // KEYS_PER_CHUNK, (end - 1) // KEYS_PER_CHUNK
        if first < last:
            # ``after``: the first chunk that begins with ``low`` or more; some may be in the one before it
            after = bisect_left(self._fence_view, low << 32, first + 1, last + 1)
            beyond = bisect_left(self._fence_view, (high + 1) << 32, after, last + 1)
            start = max(start, (after - 1) * KEYS_PER_CHUNK)
            end = min(end, beyond * KEYS_PER_CHUNK)
        return start, self.whole(start, end)

    def around(self, start: int, end: int, halves: Column) -> Keys:
        """Those keys of a relation from ``start`` to ``end`` whose first halves are among ``halves``, and
        maybe more. They are copied if they stand in chunks far apart, of which others are not checked yet.
        """
        first, last = start // KEYS_PER_CHUNK, (end - 1) // KEYS_PER_CHUNK
        are_checked = self._is_checked.find(0, first, last + 1) < 0
        if are_checked or last - first <= MIN_CHUNKS_SKIPPED or halves.size > last - first:
            return self.near(start, end, int(halves.min()), int(halves.max()))[1]
        keys, fences = halves.astype(np.uint64) << HALF, self._fences[first + 1 : last + 1]
        is_needed = np.zeros(last - first + 2, np.int64)
        np.add.at(is_needed, fences.searchsorted(keys), 1)
        np.add.at(is_needed, fences.searchsorted(keys | LOW_HALF, "right") + 1, -1)
        needed = first + np.flatnonzero(np.cumsum(is_needed))
        if needed[-1] - needed[0] < MIN_CHUNKS_SKIPPED + needed.size:
            needed = np.arange(needed[0], needed[-1] + 1)
        cuts = np.flatnonzero(np.diff(needed) > 1) + 1
        runs = [(run[0] * KEYS_PER_CHUNK, (run[-1] + 1) * KEYS_PER_CHUNK) for run in np.split(needed, cuts)]
        parts = [self.whole(max(start, int(begin)), min(end, int(stop))) for begin, stop in runs]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _check(self, start: int, end: int) -> None:
        if start >= end:
            return
        last = (end - 1) // KEYS_PER_CHUNK
        chunk = self._is_checked.find(0, start // KEYS_PER_CHUNK, last + 1)
        while chunk >= 0:
            self._check_chunk(chunk)
            self._is_checked[chunk] = 1
            chunk = self._is_checked.find(0, chunk, last + 1)

    def _check_chunk(self, chunk: int) -> None:
        """Check one chunk. Raises DamagedFile."""
        start = chunk * KEYS_PER_CHUNK
        keys = self._keys[start : start + KEYS_PER_CHUNK]
        end = start + keys.size
        self._file.check(self._section.offset + 8 * start, keys.nbytes)
        rises = keys[1:] > keys[:-1]
        low, high = np.searchsorted(self._starts, (start, end), side="right").tolist()
        begins = self._starts[low:high]  # relations that begin within the chunk, but not with it
        begins = begins[begins < end]
        rises[begins - (start + 1)] = True
        is_cut = chunk + 1 < self._fences.size and not self._starts_at(end)
        if (
            keys[0] != self._fences[chunk]
            or (is_cut and keys[-1] >= self._fences[chunk + 1])
            or not rises.all()
        ):
            raise self._file.damage("facts are not in order")
        if not self._ids.are_known(keys.view(np.uint32)):
            raise self._file.damage("facts are of unknown terms")

    def _starts_at(self, place: int) -> bool:
        return bool(self._starts[np.searchsorted(self._starts, place)] == place)


class OrdersCheck:
    """Whether two orders have the same pairs, by a random function that is drawn when this is made."""

    def __init__(self, file: ColumnFile) -> None:
        self._factors = [np.uint64(secrets.randbits(64) | 1) for _ in range(2)]
        self._file = file

    def refuse_other_pairs(self, keys: Keys, by_second: Keys) -> None:
        """Raise DamagedFile unless the two orders have the same pairs. Cost: 8 ns a pair."""
        total = np.uint64(0)
        with np.errstate(over="ignore"):  # sums and products modulo 2 ** 64
            for start in range(0, keys.size, KEYS_PER_CHUNK):
                inverse = by_second[start : start + KEYS_PER_CHUNK]
                inverse = inverse << HALF | inverse >> HALF
                total += self._sum(keys[start : start + KEYS_PER_CHUNK]) - self._sum(inverse)
        if total:
            raise self._file.damage("the two orders of facts differ")

    def _sum(self, keys: Keys) -> np.uint64:
        first, second = self._factors
        mixed = keys * first
        mixed ^= mixed >> HALF
        mixed *= second
        mixed ^= mixed >> np.uint64(29)
        mixed *= first
        return np.uint64(mixed.sum())


@dataclass(frozen=True, slots=True)
class MappedOrders:
    """The relations of a file in both orders: by first half, and by second half."""

    by_first: KeyColumn
    by_second: KeyColumn
    check: OrdersCheck

    @staticmethod
    def of(file: ColumnFile, starts: Rows, ids: IdCheck) -> MappedOrders:
        """Those of the columns of facts in a file: see ``KeyColumn``."""
        by_first, by_second = (KeyColumn(file, name, starts, ids) for name in ORDERS)
        return MappedOrders(by_first, by_second, OrdersCheck(file))

    def inverse(self) -> MappedOrders:
        """The same relations with the orders exchanged."""
        return MappedOrders(self.by_second, self.by_first, self.check)


class MappedPairs(Pairs):
    """The pairs of one relation of a file.

    ``keys`` and ``by_object`` are checked at their first use. A look-up checks only the chunks that it reads.
    """

    __slots__ = ("_counts", "_end", "_orders", "_start")

    def __init__(self, orders: MappedOrders, start: int, end: int, counts: tuple[int, int]) -> None:
        """The pairs from place ``start`` to ``end``; ``counts`` of distinct first and second halves."""
        # as Pairs.__init__, without ``keys`` and ``_by_object``: a file may have many relations
        self._distinct = self._distinct_by_object = self._view = self._by_object_view = None
        self._orders, self._start, self._end, self._counts = orders, start, end, counts

    def __getattr__(self, name: str) -> Keys:
        if name == "keys":
            self.keys = self._orders.by_first.whole(self._start, self._end)
            return self.keys
        if name == "_by_object":
            by_object = self._orders.by_second.whole(self._start, self._end)
            self._orders.check.refuse_other_pairs(self.keys, by_object)
            self._by_object = by_object
            return by_object
        raise AttributeError(name)

    def __len__(self) -> int:
        return self._end - self._start

    @property
    def has_by_object(self) -> bool:
        return True

    def is_symmetric(self) -> bool:
        """False, whatever the pairs are: nothing is read."""
        return False

    def inverse(self) -> Pairs:
        """As ``Pairs.inverse``. Nothing is read."""
        return MappedPairs(self._orders.inverse(), self._start, self._end, self._counts[::-1])

    def first_count(self) -> int:
        """As ``Pairs.first_count``: what the file says."""
        return self._counts[0]

    def second_count(self) -> int:
        """As ``Pairs.second_count``: what the file says."""
        return self._counts[1]

    def piece(self, start: int, end: int) -> Keys:
        """As ``Pairs.piece``. Only these are read."""
        return self._orders.by_first.whole(self._start + start, min(self._start + end, self._end))

    def has_second_from(self, power: int) -> bool:
        """As ``Pairs.has_second_from``. One chunk is read."""
        last = self._orders.by_second.whole(self._end - 1, self._end) if len(self) else NO_KEYS
        return last.size > 0 and int(last[0]) >> 32 >= power

    def keys_near(self, halves: Column) -> Keys:
        """As ``Pairs.keys_near``: from the chunks where they can be, and maybe others."""
        return self._near(self._orders.by_first, halves)

    def keys_around(self, probes: Keys) -> Keys:
        """As ``Pairs.keys_around``: from the chunks where they can be, and maybe others."""
        return self._near(self._orders.by_first, firsts(probes))

    def by_object_near(self, halves: Column) -> Keys:
        """As ``keys_near``, in the order by object."""
        return self._near(self._orders.by_second, halves)

    def _near(self, column: KeyColumn, halves: Column) -> Keys:
        if not halves.size:
            return NO_KEYS
        return column.around(self._start, self._end, halves)

    def _of(self, column: KeyColumn, half: int) -> tuple[int, Pairs]:
        """The place of the first key near a half, and the keys there as pairs."""
        place, keys = column.near(self._start, self._end, half, half)
        return place, Pairs(keys)

    def has(self, key: int) -> bool:
        """As ``Pairs.has``."""
        return self._of(self._orders.by_first, key >> 32)[1].has(key)

    def count_below(self, key: int) -> int:
        """As ``Pairs.count_below``."""
        place, near = self._of(self._orders.by_first, key >> 32)
        return place - self._start + near.count_below(key)

    def seconds_of(self, first: int) -> list[int]:
        """As ``Pairs.seconds_of``."""
        return self._of(self._orders.by_first, first)[1].seconds_of(first)

    def firsts_of(self, second: int) -> list[int]:
        """As ``Pairs.firsts_of``."""
        return self._of(self._orders.by_second, second)[1].seconds_of(second)

    def column_of_first(self, first: int) -> Column:
        """As ``Pairs.column_of_first``."""
        return self._of(self._orders.by_first, first)[1].column_of_first(first)

    def column_of_second(self, second: int) -> Column:
        """As ``Pairs.column_of_second``."""
        return self._of(self._orders.by_second, second)[1].column_of_first(second)

    def count_first(self, first: int) -> int:
        """As ``Pairs.count_first``."""
        return self._of(self._orders.by_first, first)[1].count_first(first)

    def has_first(self, first: int) -> bool:
        """As ``Pairs.has_first``."""
        return self.count_first(first) > 0

    def has_second(self, second: int) -> bool:
        """As ``Pairs.has_second``."""
        return self.count_second(second) > 0

    def count_second(self, second: int, below: int = 1 << 32) -> int:
        """As ``Pairs.count_second``."""
        near = self._of(self._orders.by_second, second)[1]
        return near.count_below((second << 32) + below) - near.count_below(second << 32)


class PartOfPairs(Pairs):
    """Some of the pairs of a larger set. Their number is known; the keys are computed at their first use."""

    __slots__ = ("_keys_of", "_size")

    def __init__(self, size: int, keys_of: Callable[[], Keys]) -> None:
        """``keys_of`` returns ``size`` sorted, unique keys."""
        super().__init__(NO_KEYS)
        del self.keys
        self._size, self._keys_of = size, keys_of

    def __getattr__(self, name: str) -> Keys:
        if name != "keys":
            raise AttributeError(name)
        self.keys = self._keys_of()
        return self.keys

    def __len__(self) -> int:
        return self._size
