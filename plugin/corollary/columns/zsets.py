"""Z-sets of derivations on sorted columns: how many derivations a fact has in each round, and its birth.

A *Z-set* maps elements to integers (Budiu, McSherry, Ryzhyk, Tannen, DBSP, VLDB 2023). Here an element is a
fact of one predicate, packed as a key, with a round. Both classes are immutable: a sorted base, and an
overlay of later changes, which is folded when it exceeds 1/MIN_BASE_PER_OVERLAY of the base.
"""

from __future__ import annotations

import numpy as np

from corollary.columns.pairs import NO_KEYS
from corollary.columns.tuning import MIN_BASE_PER_OVERLAY
from corollary.kernels.limits import reserve
from corollary.kernels.rounds import (
    NEVER,
    Rounds,
    add_rows,
    next_rounds,
    places_of,
    put_rounds,
    rounds_of,
)
from corollary.kernels.sorted import Keys, Rows

CountRows = tuple[Keys, Rounds, Rows]
"""Keys, rounds and counts: ascending by key, then by round, unique."""

NO_ROUNDS: Rounds = np.empty(0, np.int32)
NO_ROWS: CountRows = (NO_KEYS, NO_ROUNDS, np.empty(0, np.int64))


class Counts:
    """The number of derivations of each fact in each round: the sum of a base and an overlay."""

    __slots__ = ("_base", "_overlay")

    def __init__(self, base: CountRows = NO_ROWS, overlay: CountRows = NO_ROWS) -> None:
        if MIN_BASE_PER_OVERLAY * overlay[0].size > base[0].size:
            base, overlay = _sum(base, overlay), NO_ROWS
        self._base = base
        self._overlay = overlay

    def plus(self, keys: Keys, round_: int, counts: Rows) -> Counts:
        """The sum with counts in one round. Precondition: ``keys`` sorted and unique."""
        if not keys.size:
            return self
        rows = (keys, np.full(keys.size, round_, np.int32), counts)
        return Counts(self._base, _sum(self._overlay, rows) if self._overlay[0].size else rows)

    def at(self, keys: Keys, round_: int) -> Rows:
        """The counts of facts in one round. Precondition: ``keys`` ascends. Cost: a search for each key."""
        found: Rows = np.zeros(keys.size, np.int64)
        for rows in (self._base, self._overlay):
            known, rounds, counts = rows
            if known.size:
                places = np.minimum(_places(rows, keys, round_), known.size - 1)
                found += np.where((known[places] == keys) & (rounds[places] == round_), counts[places], 0)
        return found

    def next_after(self, keys: Keys, round_: int) -> Rounds:
        """For each fact the next round in which it has derivations, or ``NEVER``. ``keys`` ascends."""
        found: Rounds = np.full(keys.size, NEVER, np.int32)
        places = (_places(rows, keys, round_ + 1) for rows in (self._base, self._overlay))
        next_rounds(*self._base, next(places), *self._overlay, next(places), keys, found)
        return found

    def rows(self) -> CountRows:
        """All rows with a count other than 0."""
        return _sum(self._base, self._overlay)


class Births:
    """The round in which each fact is born: a base, and an overlay whose entries replace those of it."""

    __slots__ = ("_base", "_overlay")

    def __init__(
        self,
        base: tuple[Keys, Rounds] = (NO_KEYS, NO_ROUNDS),
        overlay: tuple[Keys, Rounds] = (NO_KEYS, NO_ROUNDS),
    ) -> None:
        if MIN_BASE_PER_OVERLAY * overlay[0].size > base[0].size:
            base, overlay = _put(base, overlay, keeps_absent=False), (NO_KEYS, NO_ROUNDS)
        self._base = base
        self._overlay = overlay

    def put(self, keys: Keys, round_: int) -> Births:
        """The same with one round for some facts; ``NEVER``: they are not there. ``keys`` sorted, unique."""
        if not keys.size:
            return self
        new = (keys, np.full(keys.size, round_, np.int32))
        return Births(self._base, _put(self._overlay, new, keeps_absent=True))

    def of(self, keys: Keys) -> Rounds:
        """The round of each fact, or ``NEVER``. ``keys`` in any order; a search is short if they ascend."""
        found: Rounds = np.full(keys.size, NEVER, np.int32)
        if keys.size:
            rounds_of(*self._base, *self._overlay, keys, found)
        return found

    def rows(self) -> tuple[Keys, Rounds]:
        """All facts with their rounds."""
        return _put(self._base, self._overlay, keeps_absent=False)


def _places(rows: CountRows, keys: Keys, round_: int) -> Rows:
    """The place of the first row that is not before a round of each fact."""
    places: Rows = np.empty(keys.size, np.int64)
    places_of(rows[0], rows[1], keys, round_, places)
    return places


def _sum(rows: CountRows, more: CountRows) -> CountRows:
    """The sum of two Z-sets."""
    if not more[0].size:
        return rows
    room = rows[0].size + more[0].size
    reserve(20 * room)
    keys, rounds, counts = np.empty(room, np.uint64), np.empty(room, np.int32), np.empty(room, np.int64)
    size = add_rows(*rows, *more, keys, rounds, counts)
    for column in (keys, rounds, counts):
        column.resize(size, refcheck=False)
    return keys, rounds, counts


def _put(known: tuple[Keys, Rounds], new: tuple[Keys, Rounds], *, keeps_absent: bool) -> tuple[Keys, Rounds]:
    """Both merged; ``new`` entries replace known ones."""
    room = known[0].size + new[0].size
    reserve(12 * room)
    keys, rounds = np.empty(room, np.uint64), np.empty(room, np.int32)
    size = put_rounds(*known, *new, int(keeps_absent), keys, rounds)
    keys.resize(size, refcheck=False)
    rounds.resize(size, refcheck=False)
    return keys, rounds
