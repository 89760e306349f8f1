"""The pairs of a set whose first half is below a bound, in the orders of that set.

RDF allows no literals as subjects, but rules derive such facts. They are a suffix of the keys of a relation:
what queries see is the rest. To copy and sort that would take the time and memory of the whole relation.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from corollary.columns.pairs import LOW_HALF, NO_KEYS, Pairs, distinct, distinct_of_sorted, firsts, seconds
from corollary.kernels.sorted import Column, Keys


class PairsBelow(Pairs):
    """Those pairs of ``whole`` whose first half is below ``bound``: a prefix of its keys, not a copy.

    A look-up of one half is one in ``whole``, cut off. The inverse order is that of ``whole``, filtered: at
    its first use as a whole.
    """

    __slots__ = ("_bound", "_size", "_whole")

    def __init__(self, whole: Pairs, bound: int) -> None:
        super().__init__(NO_KEYS)
        del self.keys
        self._whole, self._bound = whole, bound
        self._size = whole.count_below(bound << 32)

    def __getattr__(self, name: str) -> Keys:
        if name != "keys":
            raise AttributeError(name)
        self.keys = self._whole.piece(0, self._size)
        return self.keys

    def __len__(self) -> int:
        return self._size

    @property
    def by_object(self) -> Keys:
        """As ``Pairs.by_object``."""
        if self._by_object is None:
            self._by_object = self._cut(self._whole.by_object)
        return self._by_object

    @property
    def has_by_object(self) -> bool:
        """As ``Pairs.has_by_object``."""
        return self._whole.has_by_object

    def piece(self, start: int, end: int) -> Keys:
        """As ``Pairs.piece``."""
        return self._whole.piece(start, min(end, self._size))

    def keys_near(self, halves: Column) -> Keys:
        """As ``Pairs.keys_near``."""
        near = self._whole.keys_near(halves)
        return near[: np.searchsorted(near, np.uint64(self._bound << 32))]

    def keys_around(self, probes: Keys) -> Keys:
        """As ``Pairs.keys_around``."""
        near = self._whole.keys_around(probes)
        return near[: np.searchsorted(near, np.uint64(self._bound << 32))]

    def by_object_near(self, halves: Column) -> Keys:
        """As ``Pairs.by_object_near``."""
        near = self._whole.by_object_near(halves)
        return self.by_object if near.size == len(self._whole) else self._cut(near)

    def _cut(self, by_object: Keys) -> Keys:
        """Those of some pairs (second, first) that are in this set."""
        return by_object[(by_object & LOW_HALF) < np.uint64(self._bound)]

    def first_count(self) -> int:
        """As ``Pairs.first_count``. Cost: the pairs of ``whole`` that are not below the bound."""
        return self._whole.first_count() - int(distinct_of_sorted(firsts(self._rest())).size)

    def second_count(self) -> int:
        """As ``Pairs.second_count``. Cost: as for ``first_count``."""
        others = distinct(seconds(self._rest())).tolist()
        return self._whole.second_count() - sum(not self.count_second(second) for second in others)

    def _rest(self) -> Keys:
        """The keys of ``whole`` that are not below the bound."""
        return self._whole.piece(self._size, len(self._whole))

    def has_second_from(self, power: int) -> bool:
        """As ``Pairs.has_second_from``, of ``whole``: true also if only other pairs have such a half."""
        return self._whole.has_second_from(power)

    def has(self, key: int) -> bool:
        """As ``Pairs.has``."""
        return key >> 32 < self._bound and self._whole.has(key)

    def count_below(self, key: int) -> int:
        """As ``Pairs.count_below``."""
        return min(self._size, self._whole.count_below(key))

    def seconds_of(self, first: int) -> list[int]:
        """As ``Pairs.seconds_of``."""
        return self._whole.seconds_of(first) if first < self._bound else []

    def firsts_of(self, second: int) -> list[int]:
        """As ``Pairs.firsts_of``."""
        found = self._whole.firsts_of(second)
        return found[: bisect_left(found, self._bound)]

    def column_of_first(self, first: int) -> Column:
        """As ``Pairs.column_of_first``."""
        return self._whole.column_of_first(first) if first < self._bound else seconds(NO_KEYS)

    def column_of_second(self, second: int) -> Column:
        """As ``Pairs.column_of_second``."""
        found = self._whole.column_of_second(second)
        return found[: np.searchsorted(found, np.uint32(self._bound))]

    def count_first(self, first: int) -> int:
        """As ``Pairs.count_first``."""
        return self._whole.count_first(first) if first < self._bound else 0

    def has_first(self, first: int) -> bool:
        """As ``Pairs.has_first``."""
        return self.count_first(first) > 0

    def has_second(self, second: int) -> bool:
        """As ``Pairs.has_second``."""
        return self.count_second(second) > 0

    def count_second(self, second: int, below: int = 1 << 32) -> int:
        """As ``Pairs.count_second``."""
        return self._whole.count_second(second, min(below, self._bound))
