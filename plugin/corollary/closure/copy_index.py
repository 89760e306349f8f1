"""Facts that are copied to all members of the cliques of their terms, without the copies.

One fact stands for all its copies: the one of the least members (Motik, Nenov, Piro, Horrocks, Handling
owl:sameAs via Rewriting, 2015). It is read as all of them.

    a = b, c = d; the fact (a, c) stands for (a, c), (a, d), (b, c), (b, d)
"""

from __future__ import annotations

import numpy as np

from corollary.closure.cliques import Cliques
from corollary.columns.pairs import (
    Pairs,
    contains,
    difference,
    distinct_of_sorted,
    firsts,
    join,
    pack,
    seconds,
)
from corollary.columns.relation import COPIES, Relation
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Keys, Mask, Rows


class CopyIndex:
    """All copies of some facts. ``len`` is their number; ``edges`` are those of the least members, sorted."""

    closed_by = COPIES

    def __init__(self, named: Pairs, subjects: Cliques, objects: Cliques) -> None:
        """From facts of least members, and the cliques by which subjects and objects are replaced."""
        self.edges = named.keys
        self._named = named
        self._subjects, self._objects = subjects, objects
        sizes = objects.sizes(seconds(self.edges))
        self._ends = np.append(0, np.cumsum(sizes))  # the copies of the object, over all facts before
        self._count = int((subjects.sizes(firsts(self.edges)) * sizes).sum())
        self._inverse: CopyIndex | None = None

    @staticmethod
    def of(facts: Keys, subjects: Cliques, objects: Cliques) -> CopyIndex:
        """The copies of facts in any order. Cost: O(facts log facts)."""
        named = pack(subjects.least(firsts(facts)), objects.least(seconds(facts)))
        return CopyIndex(Pairs.of(named), subjects, objects)

    @property
    def cliques(self) -> tuple[Keys, Keys]:
        """The cliques of subjects, and of objects, as ``Cliques.pairs``."""
        return self._subjects.pairs, self._objects.pairs

    def __len__(self) -> int:
        return self._count

    @property
    def inverse(self) -> CopyIndex:
        """The index of the pairs (object, subject). Made at first use."""
        if self._inverse is None:
            made = CopyIndex(self._named.inverse(), self._objects, self._subjects)
            made._inverse, self._inverse = self, made
        return self._inverse

    def includes(self, other: object) -> bool:
        """Whether all facts of another index are known to be in this one, without listing any."""
        return (
            isinstance(other, CopyIndex)
            and bool(self.contains(other.edges).all())
            and self._subjects.include(other._subjects)
            and self._objects.include(other._objects)
        )

    def contains(self, keys: Keys) -> Mask:
        """A mask of the packed facts that are copies."""
        named = pack(self._subjects.least(firsts(keys)), self._objects.least(seconds(keys)))
        return contains(self.edges, named)

    def counts(self, terms: Column) -> Rows:
        """The number of copies with each subject."""
        least = self._subjects.least(terms).astype(np.uint64) << np.uint64(32)
        starts = np.searchsorted(self.edges, least)
        ends = np.searchsorted(self.edges, least | np.uint64(0xFFFFFFFF), "right")
        found: Rows = self._ends[ends] - self._ends[starts]
        return found

    def after(self, terms: Column) -> tuple[Rows, Column]:
        """All (row, object) such that (terms[row], object) is a copy, as two columns. Not sorted."""
        reserve(12 * int(self.counts(terms).sum()))
        rows, least = join(self.edges, self._subjects.least(terms))
        more, objects = self._objects.members(least)
        return rows[more], objects

    def groups_of(self, terms: Column) -> Keys:
        """As ``FactIndex.groups_of``: the members of a clique."""
        return self._subjects.least(terms).astype(np.uint64)

    def sources(self) -> Column:
        """The subjects, ascending."""
        sources: Column = np.sort(self._subjects.members(distinct_of_sorted(firsts(self.edges)))[1])
        return sources

    def listed(self) -> Keys:
        """All copies, as packed facts, each once and in no order."""
        sources = self.sources()
        rows, objects = self.after(sources)
        return pack(sources[rows], objects)


def facts_with_copies(relation: Relation) -> Keys:
    """The facts of a relation, or some of them that have the others as copies. Sorted."""
    missing = relation.missing()
    if relation.closed_by != COPIES or missing.is_compressed:
        return relation.pairs().keys
    return difference(relation.generators(), missing.pairs().keys)  # a missing fact had no copies
