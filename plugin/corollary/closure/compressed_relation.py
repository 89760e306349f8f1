"""A relation whose facts are not listed: a closure held by an index, without some facts, and with others.

It is read as any ``Relation``. What asks for all facts (``pairs``, ``keys``) lists them, within the limits in
force, and keeps nothing. All other methods cost what they read and answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from corollary.closure.bit_index import BitIndex
from corollary.closure.interval_index import IntervalIndex
from corollary.closure.reachability import Graph, few_paths, listed
from corollary.closure.tuning import (
    MAX_PATHS_TRIED_FIRST,
    MIN_PAIRS_COMPRESSED,
    MIN_PAIRS_PER_WORD,
    MIN_PAIRS_STAYING_COMPRESSED,
)
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import (
    NO_KEYS,
    Pairs,
    among,
    difference,
    distinct,
    join,
    pack,
    sorted_unique,
    spread,
    union,
)
from corollary.columns.relation import EMPTY, FIRST_LITERAL_KEY, PATHS, Relation
from corollary.kernels.announcing import announce
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Keys, Mask, Rows
from corollary.terms.dictionary import FIRST_LITERAL

OWN_GROUP = np.uint64(1 << 63)


class FactIndex(Protocol):
    """Facts that are closed under some rules, and follow by these from ``edges``: read without being listed.

    ``len`` is their number.
    """

    closed_by: str
    """The rules: ``relation.PATHS`` or ``relation.COPIES``."""

    edges: Keys
    """Some of the facts, from which all follow."""

    def __len__(self) -> int: ...

    @property
    def inverse(self) -> FactIndex:
        """The index of the inverse facts."""

    def includes(self, other: FactIndex) -> bool:
        """Whether all facts of another index are known to be in this one, without listing any."""

    def contains(self, keys: Keys) -> Mask:
        """A mask of the packed facts that are here."""

    def counts(self, terms: Column) -> Rows:
        """The number of facts with each subject."""

    def after(self, terms: Column) -> tuple[Rows, Column]:
        """All (row, object) such that (terms[row], object) is a fact, as two columns. Not sorted."""

    def groups_of(self, terms: Column) -> Keys:
        """A number for each subject. Subjects with the same number have the same objects. Below 1 << 63."""

    def sources(self) -> Column:
        """The subjects, ascending."""


class CompressedRelation(Relation):
    """The facts (closure - ``without``) + ``beside``.

    Invariants: ``without`` is a subset of the closure, which may be compressed too; ``beside`` is disjoint
    from the closure, and small.
    """

    __slots__ = ("_beside", "_closure", "_without")

    is_compressed = True

    def __init__(self, closure: FactIndex, without: Relation = EMPTY, beside: Relation = EMPTY) -> None:
        self._closure = closure
        self._without = without
        self._beside = beside
        self.size = len(closure) - len(without) + len(beside)
        self._legal = -1

    def __repr__(self) -> str:
        return f"CompressedRelation({len(self):,} facts, +{len(self._beside):,} -{len(self._without):,})"

    @property
    def held(self) -> int:
        """As ``Relation.held``: the edges of the index, and what is listed beside it or missing."""
        return self._closure.edges.size + self._without.held + self._beside.held

    @property
    def closed_by(self) -> str:
        """As ``Relation.closed_by``."""
        return self._closure.closed_by

    @property
    def is_known_transitive(self) -> bool:
        """As ``Relation.is_known_transitive``."""
        return self.closed_by == PATHS and not self.overlay

    @property
    def index(self) -> FactIndex:
        """The index of the closure."""
        return self._closure

    @property
    def overlays(self) -> tuple[Relation, Relation]:
        """``without`` and ``beside``."""
        return self._without, self._beside

    @property
    def overlay(self) -> int:
        """The number of facts that are listed beside the closure, or missing in it."""
        return len(self._without) + len(self._beside)

    def plus(self, keys: Keys) -> Relation:
        """As ``Relation.plus``."""
        fresh = keys[~self.contains(keys)]
        if not fresh.size:
            return self
        returning = self._without.common(fresh)
        beside = self._beside.plus(difference(fresh, returning))
        return self._changed(self._without.minus(returning), beside, _legal(fresh))

    def plus_new(self, new: Pairs) -> Relation:
        """As ``Relation.plus_new``."""
        return self.plus(new.keys)

    def minus(self, keys: Keys) -> Relation:
        """As ``Relation.minus``."""
        present = self.common(keys)
        if not present.size:
            return self
        apart = self._beside.common(present)
        without = self._without.plus(difference(present, apart))
        return self._changed(without, self._beside.minus(apart), -_legal(present))

    def _changed(self, without: Relation, beside: Relation, legal: int) -> Relation:
        """The relation with other overlays, and that many more facts whose subject is no literal."""
        changed = CompressedRelation(self._closure, without, beside)
        if self._legal >= 0:
            changed._legal = self._legal + legal
        return changed

    def minus_present(self, lost: Pairs) -> Relation:
        """As ``Relation.minus_present``."""
        return self.minus(lost.keys)

    def less(self, other: Relation) -> Relation:
        """As ``Relation.less``.

        Lists nothing if ``other`` is not compressed, or has the same closure; or if one closure has all facts
        of the other relation, and its ``without`` is not compressed.
        """
        if other is self:
            return EMPTY
        if not isinstance(other, CompressedRelation):
            return self.minus(other.pairs().keys)
        if other._closure is self._closure:  # (C - m) - (C - n) = n - m
            return other._without.less(self._without).plus(self._beside.less(other._beside).pairs().keys)
        if not self._without.is_compressed and other._is_within(self._closure):
            without = other.plus(self._without.pairs().keys)  # R - O = (C - m + b) - O = C - (O + m) + b
            return CompressedRelation(self._closure, without, self._beside)
        if not other._without.is_compressed and self._is_within(other._closure):
            return Relation(Pairs(self.common(other._without.pairs().keys)))  # R - (C - m + b) = R & m
        return Relation(Pairs(difference(self.pairs().keys, other.pairs().keys)))

    def beyond(self, part: Relation) -> Relation:
        """As ``Relation.beyond``. Lists nothing if ``without`` is not compressed."""
        if len(part) == len(self):
            return EMPTY
        if self._without.is_compressed:
            return self.less(part)
        beside = self._beside.less(part)
        within = part.minus(self._beside.pairs().keys)
        return CompressedRelation(self._closure, within.plus(self._without.pairs().keys), beside)

    def missing_inverses(self) -> Relation | None:
        """As ``Relation.missing_inverses``. None if the closure is not symmetric: there may be too many."""
        if self._closure.inverse is not self._closure or self._without.missing_inverses() is None:
            return None
        return self.inverse().less(self)

    def _is_within(self, closure: FactIndex) -> bool:
        """Whether all facts are known to be in a closure, without listing any."""
        return closure.includes(self._closure) and bool(closure.contains(self._beside.pairs().keys).all())

    def since(self, before: Relation) -> tuple[Keys, Keys]:
        """As ``Relation.since``. Lists both relations if they differ."""
        if before is self:
            return NO_KEYS, NO_KEYS
        now, then = self.pairs().keys, before.pairs().keys
        return difference(then, now), difference(now, then)

    def contains(self, keys: Keys) -> Mask:
        """As ``Relation.contains``."""
        if self._without.is_compressed:  # a difference, mostly asked for facts that it leaves out
            found = ~self._without.contains(keys)
            found[found] = self._closure.contains(keys[found])
        else:
            found = self._closure.contains(keys)
            if len(self._without):
                found &= ~self._without.contains(keys)
        if len(self._beside):
            found |= self._beside.contains(keys)
        return found

    def common(self, keys: Keys) -> Keys:
        """As ``Relation.common``."""
        return keys[self.contains(keys)]

    def contains_rows(self, subjects: Column, objects: Column) -> Mask:
        """As ``Relation.contains_rows``."""
        return self.contains(pack(subjects, objects))

    def pairs(self) -> Pairs:
        """All facts, listed. Warns if they are many, unless the memory does not allow them."""
        reserve(16 * len(self))
        announce(len(self))
        return Pairs(self.starting(self.subject_terms()))

    def chunks(self, size: int) -> Iterator[Keys]:
        """As ``Relation.chunks``. Lists one part at a time; warns of many facts before the second."""
        subjects = self.subject_terms()
        ends = np.cumsum(self.subject_counts(subjects))
        start = 0
        while start < subjects.size:
            least = (ends[start - 1] if start else 0) + size
            end = max(start + 1, int(np.searchsorted(ends, least, "right")))
            yield self.starting(subjects[start:end])
            if not start:
                announce(len(self))
            start = end

    def inverse(self) -> Relation:
        """As ``Relation.inverse``."""
        return CompressedRelation(self._closure.inverse, self._without.inverse(), self._beside.inverse())

    def starting(self, subjects: Column) -> Keys:
        """As ``Relation.starting``."""
        rows, objects = self.objects_of(subjects)
        return sort_keys(pack(subjects[rows], objects))

    def objects_of(self, subjects: Column) -> tuple[Rows, Column]:
        """As ``Relation.objects_of``."""
        return self._matches(self._closure, self._without, self._beside, subjects)

    def subjects_of(self, objects: Column) -> tuple[Rows, Column]:
        """As ``Relation.subjects_of``."""
        return self._matches(self._closure.inverse, self._without.inverse(), self._beside.inverse(), objects)

    @staticmethod
    def _matches(
        closure: FactIndex, without: Relation, beside: Relation, terms: Column
    ) -> tuple[Rows, Column]:
        if without.is_compressed:
            rows, values = _difference(closure, without, terms)
        else:
            rows, values = closure.after(terms)
        if len(without) and not without.is_compressed:
            missing = distinct(without.objects_of(terms)[1])  # few: look at these values only
            places = np.flatnonzero(among(values, missing)) if missing.size else np.empty(0, np.int64)
            places = places[without.contains(pack(terms[rows[places]], values[places]))]
            kept = np.ones(values.size, np.bool_)
            kept[places] = False
            rows, values = rows[kept], values[kept]
        more, others = beside.objects_of(terms) if len(beside) else (rows[:0], values[:0])
        if more.size:
            rows, values = np.concatenate((rows, more)), np.concatenate((values, others))
        return rows, values

    def subject_counts(self, subjects: Column) -> Rows:
        """As ``Relation.subject_counts``."""
        less, more = self._without.subject_counts(subjects), self._beside.subject_counts(subjects)
        return self._closure.counts(subjects) - less + more

    def object_counts(self, objects: Column) -> Rows:
        """As ``Relation.object_counts``."""
        less, more = self._without.object_counts(objects), self._beside.object_counts(objects)
        return self._closure.inverse.counts(objects) - less + more

    def groups_of(self, subjects: Column) -> Keys:
        """As ``Relation.groups_of``."""
        numbers = self._closure.groups_of(subjects)
        is_own = (self._without.subject_counts(subjects) > 0) | (self._beside.subject_counts(subjects) > 0)
        return np.where(is_own, subjects.astype(np.uint64) | OWN_GROUP, numbers)

    def objects(self, subject: int) -> list[int]:
        """As ``Relation.objects``."""
        values: list[int] = self.column_of_objects(subject).tolist()
        return values

    def subjects(self, value: int) -> list[int]:
        """As ``Relation.subjects``."""
        terms: list[int] = self.column_of_subjects(value).tolist()
        return terms

    def column_of_objects(self, subject: int) -> Column:
        """As ``Relation.column_of_objects``."""
        return self.objects_of(np.array([subject], np.uint32))[1]

    def column_of_subjects(self, value: int) -> Column:
        """As ``Relation.column_of_subjects``."""
        return self.subjects_of(np.array([value], np.uint32))[1]

    def has_key(self, key: int) -> bool:
        """As ``Relation.has_key``."""
        return bool(self.contains(np.array([key], np.uint64))[0])

    def count_of_subject(self, subject: int) -> int:
        """As ``Relation.count_of_subject``."""
        return int(self.subject_counts(np.array([subject], np.uint32))[0])

    def count_of_object(self, value: int) -> int:
        """As ``Relation.count_of_object``."""
        return int(self.object_counts(np.array([value], np.uint32))[0])

    def has_subject(self, subject: int) -> bool:
        """As ``Relation.has_subject``."""
        return self.count_of_subject(subject) > 0

    def has_object(self, value: int) -> bool:
        """As ``Relation.has_object``."""
        return self.count_of_object(value) > 0

    def some_subjects(self, value: int, most: int) -> Column:
        """As ``Relation.some_subjects``."""
        return spread(self.subjects_of(np.array([value], np.uint32))[1], most)

    @property
    def has_literals(self) -> bool:
        """True: it is not looked up."""
        return True

    @property
    def mentions_literals(self) -> bool:
        """True: it is not looked up."""
        return True

    def legal_count(self) -> int:
        """As ``Relation.legal_count``."""
        if self._legal < 0:
            subjects = self._closure.sources()
            count = int(self._closure.counts(subjects[subjects < FIRST_LITERAL]).sum())
            self._legal = count - self._without.legal_count() + self._beside.legal_count()
        return self._legal

    def legal(self) -> Relation:
        """As ``Relation.legal``. The facts are listed if some subject is a literal."""
        count = self.legal_count()
        return self if count == self.size else Relation(Pairs(self.pairs().keys[:count]))

    def generators(self) -> Keys:
        """As ``Relation.generators``: those of the whole closure."""
        return union(sorted_unique(self._closure.edges), self._beside.pairs().keys)

    def missing(self) -> Relation:
        """As ``Relation.missing``."""
        return self._without

    def subject_terms(self) -> Column:
        """As ``Relation.subject_terms``. Only the subjects of the overlay are looked up."""
        known, others = self._closure.sources(), self._beside.subject_terms()
        others = others[self._closure.counts(others) == 0]
        if others.size:
            known = distinct(np.concatenate((known, others)))
        if self._without.is_compressed:
            return known[self.subject_counts(known) > 0]
        less = self._without.subject_terms()
        empty = less[self.subject_counts(less) == 0]
        return known[~among(known, empty)] if empty.size else known

    def object_terms(self) -> Column:
        """As ``Relation.object_terms``."""
        return self.inverse().subject_terms()

    def subject_count(self) -> int:
        """As ``Relation.subject_count``."""
        return int(self.subject_terms().size)

    def object_count(self) -> int:
        """As ``Relation.object_count``."""
        return int(self.object_terms().size)

    def usual_counts(self) -> tuple[int, int]:
        """As ``Relation.usual_counts``: those of the closure, unless what is missing is large, too."""
        if self._without.is_compressed:
            return self.subject_count(), self.object_count()
        return self._closure.sources().size, self._closure.inverse.sources().size


def _legal(keys: Keys) -> int:
    """The number of facts (sorted) whose subject is no literal."""
    return Pairs(keys).count_below(FIRST_LITERAL_KEY)


def _difference(closure: FactIndex, without: Relation, terms: Column) -> tuple[Rows, Column]:
    """The facts of a closure that a compressed part of it lacks, as ``objects_of``.

    Cost: what is read of the closure for one of all terms with the same objects in both, and the answer.

        a clique of n that loses a member loses 2n - 1 of n² pairs: n objects are read twice

    What is listed beside the part is looked up in the answer, since its terms have no others with the same
    objects.
    """
    if isinstance(without, CompressedRelation) and without.overlay and not without._without.is_compressed:
        rows, values = _difference(closure, CompressedRelation(without._closure), terms)
        kept = ~without._beside.contains(pack(terms[rows], values))  # C - (W - m + b) = C - W - b + C & m
        more, others = without._without.objects_of(terms)
        are_here = closure.contains(pack(terms[more], others))
        rows = np.concatenate((rows[kept], more[are_here]))
        return rows, np.concatenate((values[kept], others[are_here]))
    one, other = closure.groups_of(terms), without.groups_of(terms)
    order = np.lexsort((other, one))
    one, other = one[order], other[order]
    is_new = np.append(terms.size > 0, (one[1:] != one[:-1]) | (other[1:] != other[:-1]))[: terms.size]
    group = np.empty(terms.size, np.uint32)
    group[order] = np.cumsum(is_new) - 1
    named = terms[order[is_new]]
    rows, values = closure.after(named)
    kept = ~without.contains(pack(named[rows], values))
    return join(sort_keys(pack(rows[kept].astype(np.uint32), values[kept])), group)


def closure_of(graph: Graph, before: Relation = EMPTY) -> Relation:
    """The closure of a graph: compressed, unless it has few pairs, or a list of them is as small.

    What was compressed ``before`` stays so with fewer pairs than others need. What was bits is likely to be
    bits again: less time is spent on intervals. Precondition: there are edges.
    """
    least = MIN_PAIRS_STAYING_COMPRESSED if before.is_compressed else MIN_PAIRS_COMPRESSED
    was_bits = isinstance(before, CompressedRelation) and isinstance(before._closure, BitIndex)
    size = graph.nodes.size + graph.edges.size
    paths = few_paths(graph, min(least - 1, MAX_PATHS_TRIED_FIRST * size))
    if paths is not None:
        return Relation(Pairs(paths))
    intervals = IntervalIndex.of(graph, least, was_bits=was_bits)
    if intervals is not None and intervals.is_small:
        return CompressedRelation(intervals)
    if intervals is not None and len(intervals) < MIN_PAIRS_PER_WORD * graph.words:
        return Relation(intervals.listed())  # bits would not be small, either
    if graph.nodes.size**2 < least:
        return Relation(Pairs(listed(graph)))
    paths = few_paths(graph, graph.words)
    if paths is not None:
        return Relation(Pairs(paths))
    bits = BitIndex(graph)
    is_compressed = len(bits) >= least and bits.is_small
    return CompressedRelation(bits) if is_compressed else Relation(bits.listed())
