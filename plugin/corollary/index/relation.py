"""All facts of one predicate: a sorted base, and a small overlay of what came and went since.

A ``Relation`` is an immutable value. A change makes a new one that shares the base, so keeping a
snapshot is keeping a reference, and whoever reads one is never disturbed. The overlay is folded
into the base when it has grown to a fair part of it: a single update costs microseconds, a batch
costs one merge, and n updates together cost a logarithmic number of merges of everything.

Invariants: ``added`` and ``base`` are disjoint; ``removed`` is a subset of ``base``.
"""

from __future__ import annotations

import numpy as np

from corollary.index.pairs import (
    NO_PAIRS,
    Pairs,
    ReadOnlyKeys,
    contains,
    difference,
    intersection,
    join,
    pack,
    read_only,
)
from corollary.kernels.sorted import Column, Keys, Mask, Rows
from corollary.terms.dictionary import FIRST_LITERAL

FOLD_FRACTION = 8
"""The overlay is folded when it is more than one part in so many of the base."""

FIRST_LITERAL_KEY = np.uint64(FIRST_LITERAL << 32)


class Relation:
    """An immutable set of facts (subject, object) of one predicate, readable by either end."""

    __slots__ = ("_added", "_base", "_removed", "_size")

    def __init__(self, base: Pairs = NO_PAIRS, added: Pairs = NO_PAIRS, removed: Pairs = NO_PAIRS) -> None:
        self._base = base
        self._added = added
        self._removed = removed
        self._size = len(base) + len(added) - len(removed)

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"Relation({len(self):,} facts, overlay +{len(self._added):,} -{len(self._removed):,})"

    def plus(self, keys: Keys) -> Relation:
        """The relation with these facts (sorted, unique) too; those it has already are harmless."""
        returning = intersection(keys, self._removed.keys) if len(self._removed) else NO_PAIRS.keys
        fresh = keys[~self.contains(keys)]
        fresh = difference(fresh, returning)
        if not fresh.size and not returning.size:
            return self
        return Relation(
            self._base, self._added.plus(Pairs(fresh)), self._removed.minus(Pairs(returning))
        )._folded()

    def plus_new(self, new: Pairs) -> Relation:
        """As ``plus``, for facts known not to be there."""
        if not len(new):
            return self
        if len(self._removed):
            return self.plus(new.keys)
        return Relation(self._base, self._added.plus(new), self._removed)._folded()

    def minus(self, keys: Keys) -> Relation:
        """The relation without these facts (sorted, unique); those it does not have are harmless."""
        from_added = Pairs(intersection(keys, self._added.keys))
        from_base = Pairs(difference(intersection(keys, self._base.keys), self._removed.keys))
        if not len(from_added) and not len(from_base):
            return self
        return Relation(self._base, self._added.minus(from_added), self._removed.plus(from_base))._folded()

    def _folded(self) -> Relation:
        if FOLD_FRACTION * (len(self._added) + len(self._removed)) <= len(self._base):
            return self
        return Relation(self._base.minus(self._removed).plus(self._added))

    def contains(self, keys: Keys) -> Mask:
        """Which of the packed facts are there."""
        found = contains(self._base.keys, keys)
        if len(self._removed):
            found &= ~contains(self._removed.keys, keys)
        if len(self._added):
            found |= contains(self._added.keys, keys)
        return found

    def pairs(self) -> Pairs:
        """All facts as one set of pairs: the base itself if there is no overlay."""
        if not len(self._added) and not len(self._removed):
            return self._base
        folded = self._base.minus(self._removed).plus(self._added)
        self._base, self._added, self._removed = folded, NO_PAIRS, NO_PAIRS  # the same value, kept folded
        return folded

    def keys(self) -> ReadOnlyKeys:
        """All facts as subject << 32 | object, sorted, read-only."""
        return read_only(self.pairs().keys)

    def objects_of(self, subjects: Column) -> tuple[Rows, Column]:
        """All (row, object) such that (subjects[row], object) is a fact."""
        base, added, removed = self._base, self._added, self._removed
        return _overlaid_join(base.keys, added.keys, removed.keys, subjects)

    def subjects_of(self, objects: Column) -> tuple[Rows, Column]:
        """All (row, subject) such that (subject, objects[row]) is a fact."""
        base, added, removed = self._base, self._added, self._removed
        return _overlaid_join(base.swapped, added.swapped, removed.swapped, objects)

    def has_subject(self, subject: int) -> bool:
        """Whether any fact has that subject."""
        return self.objects_of(np.array([subject], np.uint32))[0].size > 0

    def has_object(self, value: int) -> bool:
        """Whether any fact has that object."""
        return self.subjects_of(np.array([value], np.uint32))[0].size > 0

    def legal_count(self) -> int:
        """How many facts have a legal subject, that is no literal: a prefix of the sorted facts."""
        parts = (
            len(part) and np.searchsorted(part.keys, FIRST_LITERAL_KEY)
            for part in (self._base, self._added, self._removed)
        )
        base, added, removed = map(int, parts)
        return base + added - removed


def _overlaid_join(base: Keys, added: Keys, removed: Keys, probes: Column) -> tuple[Rows, Column]:
    """``join`` over base + added - removed, all in the same order."""
    rows, values = join(base, probes)
    if removed.size and rows.size:
        kept = ~contains(removed, pack(probes[rows], values))
        rows, values = rows[kept], values[kept]
    if added.size:
        more_rows, more_values = join(added, probes)
        if more_rows.size:
            rows = np.concatenate((rows, more_rows))
            values = np.concatenate((values, more_values))
    return rows, values


EMPTY = Relation()
