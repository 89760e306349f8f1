"""Single changes that wait to be worked off: a log of rows, of which a length is what has happened.

``add`` and ``remove`` of one triple are a row each: graph, subject, predicate, object, and whether the fact
comes or goes. Twenty bytes a row; the last row on a fact counts.

Invariant: rows behind the length that a ``Version`` has are nothing. Whoever appends drops them first. So a
change has happened when the new length is assigned, a transaction begins with a copy of the length, and a
rollback is the old one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from corollary.columns.pairs import NO_KEYS, NO_PAIRS, Pairs, pack
from corollary.kernels.sorted import Keys, Mask
from corollary.reasoner.quads import Change

FIELDS = 5

Row = tuple[int, int, int, int, int]
"""Graph, subject, predicate, object; 1 if the fact is added, 0 if it is removed."""


class Pending:
    """Rows of changes. A length counts numbers, not rows: it is a multiple of ``FIELDS``."""

    __slots__ = ("_rows", "_words")

    def __init__(self) -> None:
        self._rows = array("I")
        self._words: tuple[int, dict[tuple[int, int], dict[int, bool]]] = 0, {}

    def append(self, length: int, rows: Iterable[int]) -> int:
        """Put rows, end to end, behind a length. The length after that."""
        mine = self._rows
        if len(mine) != length:
            self._words = 0, {}  # they may be about what is dropped
            del mine[length:]
        mine.extend(rows)
        return len(mine)

    def holds(self, length: int, graph: int, subject: int, predicate: int, value: int) -> bool | None:
        """Whether a fact comes or goes by these changes; None if they do not mention it."""
        changes = self._last_words(length).get((graph, predicate))
        return None if changes is None else changes.get(subject << 32 | value)

    def graphs(self, length: int) -> set[int]:
        """The graphs that are mentioned."""
        return {graph for graph, _ in self._last_words(length)}

    def _last_words(self, length: int) -> dict[tuple[int, int], dict[int, bool]]:
        """By graph and predicate, by fact: whether it comes. Each row is looked at once."""
        seen, words = self._words
        if seen > length:
            seen, words = 0, {}
        if seen < length:
            self._words = 0, {}  # until these are whole
            numbers = iter(self._rows[seen:length])
            for graph, subject, predicate, value, added in zip(*[numbers] * FIELDS, strict=True):
                words.setdefault((graph, predicate), {})[subject << 32 | value] = bool(added)
        self._words = length, words
        return words

    def changes(self, length: int) -> list[Change]:
        """What the rows come to, for each relation of a graph."""
        if length == FIELDS:  # as below, at less cost
            graph, subject, predicate, value, is_added = self._rows[:length]
            key = np.array([subject << 32 | value], np.uint64)
            return [
                Change(graph, predicate, NO_KEYS if is_added else key, Pairs(key) if is_added else NO_PAIRS)
            ]
        rows = np.array(self._rows[:length], np.uint32).reshape(-1, FIELDS)
        places, keys = pack(rows[:, 0], rows[:, 2]), pack(rows[:, 1], rows[:, 3])
        added = rows[:, 4].astype(np.bool_)
        order = np.lexsort((keys, places))  # stable: the last word on a fact comes last
        places, keys, added = places[order], keys[order], added[order]
        other_place = places[1:] != places[:-1]
        is_last = np.append(other_place | (keys[1:] != keys[:-1]), True)
        starts = np.flatnonzero(np.append(True, other_place)).tolist()
        slices = map(slice, starts, [*starts[1:], keys.size])
        return [
            _change(int(places[of.start]), keys[of][is_last[of]], added[of][is_last[of]]) for of in slices
        ]


def _change(place: int, keys: Keys, added: Mask) -> Change:
    removed = NO_KEYS if added.all() else keys[~added]
    return Change(place >> 32, place & 0xFFFFFFFF, removed, Pairs(keys[added] if removed.size else keys))
