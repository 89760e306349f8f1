"""The log of single changes that are not yet applied to E.

``add`` and ``remove`` of one triple append one row of 20 bytes: graph, subject, predicate, object, and
whether the fact is added or removed. The last row of a fact decides.

A ``Version`` refers to a prefix of the log, by ``length``. Invariant: rows beyond the length are not valid;
``append`` truncates them first. So a change takes effect when the new length is assigned, a transaction
begins with a copy of the length, and a rollback restores the old length.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from corollary.columns.pairs import NO_KEYS, NO_PAIRS, Pairs, pack
from corollary.kernels.sorted import Keys, Mask
from corollary.reasoner.quads import Change

FIELDS = 5
"""Numbers in a row."""

Row = tuple[int, int, int, int, int]
"""Graph, subject, predicate, object; 1 if the fact is added, 0 if it is removed."""


class Pending:
    """A log of changes. A length counts numbers, not rows: it is a multiple of ``FIELDS``."""

    __slots__ = ("_rows", "_words")

    def __init__(self) -> None:
        self._rows = array("I")
        self._words: tuple[int, dict[tuple[int, int], dict[int, bool]]] = 0, {}

    def append(self, length: int, rows: Iterable[int]) -> int:
        """Append concatenated rows behind ``length``. Returns the new length."""
        mine = self._rows
        if len(mine) != length:
            self._words = 0, {}  # the cache may contain truncated rows
            del mine[length:]
        mine.extend(rows)
        return len(mine)

    def holds(self, length: int, graph: int, subject: int, predicate: int, value: int) -> bool | None:
        """True if these changes add a fact, False if they remove it, None if they do not mention it."""
        changes = self._last_words(length).get((graph, predicate))
        return None if changes is None else changes.get(subject << 32 | value)

    def graphs(self, length: int) -> set[int]:
        """The graphs that the rows mention."""
        return {graph for graph, _ in self._last_words(length)}

    def _last_words(self, length: int) -> dict[tuple[int, int], dict[int, bool]]:
        """By (graph, predicate), by packed key: whether the fact is added. Cached: each row is read once."""
        seen, words = self._words
        if seen > length:
            seen, words = 0, {}
        if seen < length:
            self._words = 0, {}  # an interruption must not leave a partial cache
            numbers = iter(self._rows[seen:length])
            for graph, subject, predicate, value, added in zip(*[numbers] * FIELDS, strict=True):
                words.setdefault((graph, predicate), {})[subject << 32 | value] = bool(added)
        self._words = length, words
        return words

    def changes(self, length: int) -> list[Change]:
        """The net effect of the rows: one ``Change`` for each relation of a graph.

        Example: ``+a, -a, +b`` in one relation gives removed ``a``, added ``b``. Cost: O(n log n).
        """
        if length == FIELDS:  # a shortcut for one row
            graph, subject, predicate, value, is_added = self._rows[:length]
            key = np.array([subject << 32 | value], np.uint64)
            return [
                Change(graph, predicate, NO_KEYS if is_added else key, Pairs(key) if is_added else NO_PAIRS)
            ]
        rows = np.array(self._rows[:length], np.uint32).reshape(-1, FIELDS)
        places, keys = pack(rows[:, 0], rows[:, 2]), pack(rows[:, 1], rows[:, 3])
        added = rows[:, 4].astype(np.bool_)
        order = np.lexsort((keys, places))  # stable: the last row of a fact comes last
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
