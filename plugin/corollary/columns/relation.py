"""All facts of one predicate: a sorted base, and a small overlay of later additions and removals.

A ``Relation`` is an immutable value. A change creates a new relation that shares the base. A snapshot is
therefore a reference, and a reader never sees a later change. An update copies the overlay, and not the base.
The overlay is folded into a new base when it exceeds 1/MIN_BASE_PER_OVERLAY of the base, or when updates have
copied MAX_COPIES_PER_BASE times as many facts of overlays as the base has. Cost: n updates of one fact of a
base of b facts copy O(n sqrt(b)) facts.

The facts are (base - removed) + added. Invariants: ``added`` is disjoint from ``base``; ``removed`` is a
subset of ``base``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import ClassVar, NamedTuple

import numpy as np

from corollary.columns.key_sort import sort_keys
from corollary.columns.numbering import numbered
from corollary.columns.pairs import (
    NO_KEYS,
    NO_PAIRS,
    Pairs,
    ReadOnlyKeys,
    Runs,
    among,
    common_seconds,
    contains,
    counts,
    difference,
    intersection,
    join,
    join_layers,
    pack,
    read_only,
    seconds,
    spread,
    union,
)
from corollary.columns.pairs_below import PairsBelow
from corollary.columns.tuning import (
    KEYS_PER_STEP,
    MAX_COPIES_PER_BASE,
    MIN_BASE_PER_OVERLAY,
    MIN_RATIO_TURNED,
    MIN_ROWS_TURNED,
)
from corollary.kernels.sorted import Column, Keys, Mask, Rows
from corollary.terms.dictionary import FIRST_LITERAL

PATHS, COPIES = "paths", "copies"
"""How the facts of a compressed relation follow from its generators: by transitivity, or by replacement of
subjects and objects by equal terms, which is the same for all predicates."""

FIRST_LITERAL_KEY = FIRST_LITERAL << 32
"""The smallest key whose subject is a literal."""


class Basis(NamedTuple):
    """Facts from which a closed relation follows: external ones, and maybe others unless ``is_certain``."""

    external: Relation
    is_certain: bool


class Relation:
    """An immutable set of facts (subject, object) of one predicate, indexed by subject and by object."""

    __slots__ = ("_copied", "_has_literals", "_legal", "_parts", "size")

    is_compressed: ClassVar[bool] = False
    """Whether the facts are not listed. ``pairs`` and ``keys`` list them (``CompressedRelation``)."""

    basis: Basis | None = None
    """From what the module followed the facts that closes them, if they were stored with it."""

    def __init__(
        self, base: Pairs = NO_PAIRS, added: Pairs = NO_PAIRS, removed: Pairs = NO_PAIRS, copied: int = 0
    ) -> None:
        """``copied``: the facts of overlays over this base that earlier updates have copied."""
        self._legal = -1  # not counted yet
        self._has_literals: bool | None = None  # not looked up yet
        if added is NO_PAIRS and removed is NO_PAIRS:  # most relations are of a few new facts
            self._parts = (base, added, removed)
            self.size, self._copied = len(base), 0
            return
        size = base.keys.size if type(base) is Pairs else len(base)  # others do not list their keys
        overlay = added.keys.size + removed.keys.size
        self._copied = copied + overlay
        if MIN_BASE_PER_OVERLAY * overlay > size or self._copied > MAX_COPIES_PER_BASE * size:
            base, added, removed = base.minus(removed).plus(added), NO_PAIRS, NO_PAIRS
            self._copied, size = 0, len(base)
        elif not removed.keys.size:
            removed = NO_PAIRS  # so that single look-ups need not ask it
            if not overlay:
                added = NO_PAIRS
        self._parts = (base, added, removed)  # one attribute: folding does not disturb concurrent readers
        self.size = size + added.keys.size - removed.keys.size

    @staticmethod
    def of_known(pairs: Pairs, legal: int) -> Relation:
        """The relation of some pairs, of which ``legal`` have no literal as subject: nothing is read."""
        relation = Relation.__new__(Relation)  # a snapshot may have many relations
        relation._parts, relation.size, relation._copied = (pairs, NO_PAIRS, NO_PAIRS), len(pairs), 0
        relation._legal, relation._has_literals = legal, None
        return relation

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        _, added, removed = self._parts
        return f"Relation({len(self):,} facts, overlay +{len(added):,} -{len(removed):,})"

    @property
    def parts(self) -> tuple[Pairs, Pairs, Pairs]:
        """(base, added, removed)."""
        return self._parts

    @property
    def held(self) -> int:
        """The number of facts that are held: all, unless the relation is compressed."""
        return self.size

    @property
    def closed_by(self) -> str:
        """``PATHS`` or ``COPIES``, if the relation is compressed; else the empty text."""
        return ""

    @property
    def is_known_transitive(self) -> bool:
        """Whether the relation is compressed and transitive. A listed relation is not tested."""
        return False

    def plus(self, keys: Keys) -> Relation:
        """The union with facts, some of which may be present. Precondition: ``keys`` sorted and unique."""
        base, added, removed = self._parts
        returning = intersection(keys, removed.keys)
        fresh = difference(keys[~self.contains(keys)], returning)
        if not fresh.size and not returning.size:
            return self
        return Relation(base, added.plus(Pairs(fresh)), removed.minus(Pairs(returning)), self._copied)

    def plus_new(self, new: Pairs) -> Relation:
        """As ``plus``. Precondition: no fact of ``new`` is present."""
        base, added, removed = self._parts
        if not new.keys.size:
            return self
        known = self._legal  # read once: another thread may count meanwhile
        legal = known + new.count_below(FIRST_LITERAL_KEY) if known >= 0 else known
        has_literals = self._has_literals
        if has_literals is False:
            has_literals = new.has_second_from(FIRST_LITERAL)
        if removed.keys.size and (new.keys.size > 1 or removed.has(int(new.keys[0]))):
            returning = Pairs(intersection(new.keys, removed.keys))
            removed, new = removed.minus(returning), new.minus(returning)
        count = len(new)
        is_large = MIN_BASE_PER_OVERLAY * count > len(base)
        if is_large and MIN_BASE_PER_OVERLAY * (added.keys.size + removed.keys.size) <= count:
            relation = Relation(base.plus(new), added, removed, self._copied)  # a small overlay is not copied
        else:
            relation = Relation(base, added.plus(new), removed, self._copied)
        relation._legal = legal
        relation._has_literals = has_literals
        return relation

    def minus(self, keys: Keys) -> Relation:
        """The relation without some facts, present or not. Precondition: ``keys`` sorted and unique."""
        base, added, removed = self._parts
        from_added = Pairs(intersection(keys, added.keys))
        from_base = Pairs(difference(intersection(keys, base.keys), removed.keys))
        if not len(from_added) and not len(from_base):
            return self
        return Relation(base, added.minus(from_added), removed.plus(from_base), self._copied)

    def minus_present(self, lost: Pairs) -> Relation:
        """As ``minus``. Precondition: all facts of ``lost`` are present."""
        keys = lost.keys
        if not keys.size:
            return self
        if keys.size == self.size:
            return EMPTY
        base, added, removed = self._parts
        from_base = lost
        if added is not NO_PAIRS and (keys.size > 1 or added.has(int(keys[0]))):
            from_added = Pairs(intersection(keys, added.keys))
            added, from_base = added.minus(from_added), lost.minus(from_added)
        relation = Relation(base, added, removed.plus(from_base), self._copied)
        if self._legal == self.size:  # of most relations
            relation._legal = relation.size
        elif self._legal >= 0:
            relation._legal = self._legal - lost.count_below(FIRST_LITERAL_KEY)
        relation._has_literals = self._has_literals
        return relation

    def less(self, other: Relation) -> Relation:
        """The facts that are not in ``other``.

        Cost: the smaller relation's facts, looked up in the other; the own facts if ``other`` is compressed.
        """
        if other is self:
            return EMPTY
        if len(other) <= len(self) and not other.is_compressed:
            return self.minus(other.pairs().keys)
        keys = self.pairs().keys
        left = keys[~other.contains(keys)]
        return self if left.size == keys.size else Relation(Pairs(left))

    def beyond(self, part: Relation) -> Relation:
        """As ``less``. Precondition: all facts of ``part`` are in this relation."""
        return self.less(part)

    def since(self, before: Relation) -> tuple[Keys, Keys]:
        """The difference to an earlier relation: (facts removed, facts added), each sorted and unique.

        Cost: O(|overlays|) if both relations share the base, else O(|facts|).
        """
        if self is before:
            return NO_KEYS, NO_KEYS
        (base, added, removed), (old_base, old_added, old_removed) = self._parts, before._parts
        if base is not old_base:
            now, then = self.pairs().keys, before.pairs().keys
            return difference(then, now), difference(now, then)
        return (
            union(difference(old_added.keys, added.keys), difference(removed.keys, old_removed.keys)),
            union(difference(added.keys, old_added.keys), difference(old_removed.keys, removed.keys)),
        )

    def shares_base(self, before: Relation) -> bool:
        """Whether ``since`` costs no more than the overlays."""
        return self is before or self._parts[0] is before._parts[0]

    def contains(self, keys: Keys) -> Mask:
        """A mask of the packed facts that are present."""
        base, added, removed = self._parts
        if keys.size == 1:
            found: Mask = np.zeros(1, np.bool_)
            found[0] = self.has_key(int(keys[0]))
            return found
        return contains(base.keys_around(keys), keys, added.keys, removed.keys)

    def contains_rows(self, subjects: Column, objects: Column) -> Mask:
        """A mask of the rows that are facts (subject, object).

        Rows with few objects, such as types by few classes, are looked up by object, if that order exists:
        the facts of one object lie together.
        """
        base, added, removed = self._parts
        if not (type(base) is Pairs and base.has_by_object and _change_less(objects, subjects)):
            return self.contains(pack(subjects, objects))
        found = contains(base.by_object, pack(objects, subjects), NO_KEYS, removed.by_object)
        if added.keys.size:
            rows = (~found).nonzero()[0]
            found[rows] = contains(added.keys, pack(subjects[rows], objects[rows]))
        return found

    def common(self, keys: Keys) -> Keys:
        """The packed facts that are present, in the order of ``keys``.

        Facts that were removed lately are left out first: they are few, and near each other.
        """
        if keys.size == 1:
            return keys if self.has_key(int(keys[0])) else NO_KEYS
        removed = self._parts[2].keys
        if removed.size:
            keys = keys[~contains(removed, keys)]
        return keys[self.contains(keys)]

    def pairs(self) -> Pairs:
        """All facts as one set of pairs. Folds the overlay, and keeps the result as the new base."""
        base, added, removed = self._parts
        if added.keys.size or removed.keys.size:
            base = base.minus(removed).plus(added)
            self._parts = (base, NO_PAIRS, NO_PAIRS)  # the same value, folded
        return base

    def keys(self) -> ReadOnlyKeys:
        """All facts as keys subject << 32 | object, sorted, read-only."""
        return read_only(self.pairs().keys)

    def generators(self) -> Keys:
        """Facts from which the others follow (``closed_by``): sorted keys. All facts, if they are listed."""
        return self.pairs().keys

    def missing(self) -> Relation:
        """The facts that a compressed relation lacks of its closure; none of a listed one."""
        return EMPTY

    def subject_terms(self) -> Column:
        """The distinct subjects, ascending."""
        return self.pairs().distinct_firsts()

    def object_terms(self) -> Column:
        """The distinct objects, ascending."""
        return self.pairs().distinct_seconds()

    def subject_count(self) -> int:
        """The number of distinct subjects."""
        return self.pairs().first_count()

    def object_count(self) -> int:
        """The number of distinct objects."""
        return self.pairs().second_count()

    def usual_counts(self) -> tuple[int, int]:
        """About ``subject_count`` and ``object_count``, for estimates: the latest changes are not folded."""
        base = self._parts[0]
        if not len(base):
            base = self.pairs()
        return base.first_count(), base.second_count()

    def chunks(self, size: int) -> Iterator[Keys]:
        """All facts as sorted keys, in ascending parts of about ``size`` facts."""
        pairs = self.pairs()
        return (pairs.piece(start, start + size) for start in range(0, len(pairs), size))

    def inverse(self) -> Relation:
        """The relation with subjects and objects exchanged. All arrays are shared."""
        base, added, removed = (part.inverse() for part in self._parts)
        return Relation(base, added, removed, self._copied)

    def share_inverse(self, other: Relation) -> None:
        """Share both orders with a relation of the inverse facts. Precondition: both are listed.

        Cost: none. Nothing is shared where facts are in an overlay, or in a file.
        """
        if all(type(r.parts[0]) is Pairs and r.parts[1] is r.parts[2] is NO_PAIRS for r in (self, other)):
            self._parts[0].share_inverse(other.parts[0])

    def is_symmetric(self) -> bool:
        """Whether the inverse of each fact is a fact, of listed facts. The inverse order may be made."""
        return all(part.is_symmetric() for part in self._parts)

    def missing_inverses(self) -> Relation | None:
        """The pairs (y, x) with a fact (x, y) that are no facts themselves; None if they are not known."""
        return self.inverse().less(self)

    def starting(self, subjects: Column) -> Keys:
        """The facts with the given subjects, sorted. Precondition: ``subjects`` ascends."""
        base, added, removed = self._parts
        rows, objects = _overlaid_join(base.keys_near(subjects), added.keys, removed.keys, subjects)
        keys = pack(subjects[rows], objects)
        if len(added):
            keys = sort_keys(keys)  # the join returns added facts last
        return keys

    def objects_of(self, subjects: Column) -> tuple[Rows, Column]:
        """All (row, object) such that (subjects[row], object) is a fact, as two columns. Not sorted."""
        if subjects.size == 1:
            return _of_one_row(self.column_of_objects(int(subjects[0])))
        base, added, removed = self._parts
        return _overlaid_join(base.keys_near(subjects), added.keys, removed.keys, subjects)

    def subjects_of(self, objects: Column) -> tuple[Rows, Column]:
        """All (row, subject) such that (subject, objects[row]) is a fact, as two columns. Not sorted."""
        if objects.size == 1:
            return _of_one_row(self.column_of_subjects(int(objects[0])))
        base, added, removed = self._parts
        return _overlaid_join(base.by_object_near(objects), added.by_object, removed.by_object, objects)

    def runs(self, ends: Column, *, inverse: bool) -> OverlaidRuns:
        """The objects of some subjects, row by row, or the subjects of some objects (``inverse``)."""
        base, added, removed = self._parts
        if inverse:
            return OverlaidRuns(base.by_object_near(ends), added.by_object, removed.by_object, ends)
        return OverlaidRuns(base.keys_near(ends), added.keys, removed.keys, ends)

    def span(self, *, subjects: bool) -> tuple[int, int] | None:
        """Bounds for all subjects, or for all objects: the least one and the greatest one, or beyond these.

        None if there is no fact, or if the order that begins with them does not exist.
        """
        base, added, _ = self._parts
        if not subjects and not base.has_by_object:
            return None
        orders = [part if subjects else part.inverse() for part in (base, added) if len(part)]
        ends = [int(part.piece(at, at + 1)[0]) >> 32 for part in orders for at in (0, len(part) - 1)]
        return (min(ends), max(ends)) if ends else None

    def some_subjects(self, value: int, most: int) -> Column:
        """Up to ``most`` subjects of an object, equally far apart. Subjects of the overlay may be missing.

        The result is empty only if the object has no fact.
        """
        base, _, removed = self._parts
        start, end = base.by_object.searchsorted(np.array([value, value + 1], np.uint64) << np.uint64(32))
        keys = np.ascontiguousarray(spread(base.by_object[start:end], most))
        found = difference(keys, removed.by_object)
        if found.size:
            return seconds(found)
        return spread(self.subjects_of(np.array([value], np.uint32))[1], most)

    def subject_counts(self, subjects: Column) -> Rows:
        """The number of facts of each subject."""
        base, added, removed = self._parts
        return _overlaid_counts(base.keys_near(subjects), added.keys, removed.keys, subjects)

    def object_counts(self, objects: Column) -> Rows:
        """The number of facts of each object."""
        base, added, removed = self._parts
        return _overlaid_counts(base.by_object_near(objects), added.by_object, removed.by_object, objects)

    def has_objects(self, objects: Column) -> Mask:
        """Which of some terms (ascending) are objects of facts.

        Cost: O(|objects| log |facts|) where the order by object exists, else one look at all facts.
        """
        if self.is_compressed:
            return self.object_counts(objects) > 0
        base, added, removed = self._parts
        if base.has_by_object or len(removed):
            return self.object_counts(objects) > 0
        found: Mask = np.zeros(objects.size, np.bool_)
        for pairs in (base, added):
            for start in range(0, pairs.keys.size, KEYS_PER_STEP):
                ends = seconds(pairs.keys[start : start + KEYS_PER_STEP])
                found[np.searchsorted(objects, ends[among(ends, objects)])] = True
        return found

    def objects(self, subject: int) -> list[int]:
        """The objects of one subject. Cheaper than ``objects_of`` for a single look-up."""
        base, added, removed = self._parts
        values = base.seconds_of(subject)
        if removed is not NO_PAIRS:
            return _overlaid(values, added.seconds_of(subject), removed.seconds_of(subject))
        return values if added is NO_PAIRS else values + added.seconds_of(subject)

    def subjects(self, value: int) -> list[int]:
        """The subjects of one object."""
        base, added, removed = self._parts
        terms = base.firsts_of(value)
        if added.keys.size or removed.keys.size:
            return _overlaid(terms, added.firsts_of(value), removed.firsts_of(value))
        return terms

    def column_of_objects(self, subject: int) -> Column:
        """As ``objects``, as a column."""
        base, added, removed = self._parts
        values = base.column_of_first(subject)
        if added is not NO_PAIRS or removed is not NO_PAIRS:
            return _overlaid_column(values, added.column_of_first(subject), removed.column_of_first(subject))
        return values

    def column_of_subjects(self, value: int) -> Column:
        """As ``subjects``, as a column."""
        base, added, removed = self._parts
        terms = base.column_of_second(value)
        if added is not NO_PAIRS or removed is not NO_PAIRS:
            return _overlaid_column(terms, added.column_of_second(value), removed.column_of_second(value))
        return terms

    def has(self, subject: int, value: int) -> bool:
        """Whether (subject, value) is a fact."""
        return self.has_key(subject << 32 | value)

    def has_key(self, key: int) -> bool:
        """Whether a packed fact is present."""
        base, added, removed = self._parts
        if base.has(key):
            return removed is NO_PAIRS or not removed.has(key)
        return added is not NO_PAIRS and added.has(key)

    def groups_of(self, subjects: Column) -> Keys:
        """A number for each subject. Subjects with the same number have the same objects."""
        return subjects.astype(np.uint64)

    def count_of_subject(self, subject: int) -> int:
        """The number of facts of one subject. Cheaper than ``subject_counts`` for a single look-up."""
        base, added, removed = self._parts
        found = base.count_first(subject)
        if found and removed.keys.size:
            found -= removed.count_first(subject)
        return found + added.count_first(subject) if added.keys.size else found

    def count_of_object(self, value: int) -> int:
        """The number of facts of one object."""
        base, added, removed = self._parts
        found = base.count_second(value)
        if found and removed.keys.size:
            found -= removed.count_second(value)
        return found + added.count_second(value) if added.keys.size else found

    def has_subject(self, subject: int) -> bool:
        """Whether any fact has the subject."""
        base, added, removed = self._parts
        if added is not NO_PAIRS and added.has_first(subject):
            return True
        if removed is NO_PAIRS:
            return base.has_first(subject)
        gone = removed.count_first(subject)
        return base.count_first(subject) > gone if gone else base.has_first(subject)

    def has_object(self, value: int) -> bool:
        """Whether any fact has the object."""
        base, added, removed = self._parts
        if added is not NO_PAIRS and added.has_second(value):
            return True
        if removed is NO_PAIRS:
            return base.has_second(value)
        gone = removed.count_second(value)
        return base.count_second(value) > gone if gone else base.has_second(value)

    @property
    def has_literals(self) -> bool:
        """Whether objects may be literals. False only if none is."""
        if self._has_literals is None:
            base, added, _ = self._parts
            self._has_literals = base.has_second_from(FIRST_LITERAL) or added.has_second_from(FIRST_LITERAL)
        return self._has_literals

    @property
    def mentions_literals(self) -> bool:
        """Whether subjects or objects may be literals. False only if none is."""
        if self._has_literals is None or self._legal < 0:
            return self.has_literals or self.legal_count() < self.size
        return self._has_literals or self._legal < self.size  # looked up already: most are asked often

    def legal_count(self) -> int:
        """The number of facts whose subject is no literal: the length of a prefix of the sorted facts."""
        if self._legal < 0:
            base, added, removed = self._parts
            count = base.count_below(FIRST_LITERAL_KEY) + added.count_below(FIRST_LITERAL_KEY)
            self._legal = count - removed.count_below(FIRST_LITERAL_KEY)
        return self._legal

    def legal(self) -> Relation:
        """The facts whose subject is no literal. Cost: that of the overlay; both orders are shared."""
        if self.legal_count() == self.size:
            return self
        base, added, removed = (
            PairsBelow(part, FIRST_LITERAL) if len(part) else part for part in self._parts
        )
        return Relation(base, added, removed)


class LocatedRuns(NamedTuple):
    """The keys beside each row: from ``starts`` on as many as ``counts``, in base, added and removed.

    The places in ``base`` come first, one for each row; then those in ``added``, then those in ``removed``.
    """

    base: Keys
    added: Keys
    removed: Keys
    starts: Rows
    counts: Rows


class OverlaidRuns(NamedTuple):
    """For every row, the second halves of (base - removed) + added beside the row's end."""

    base: Keys
    added: Keys
    removed: Keys
    ends: Column

    def located(self) -> LocatedRuns:
        """Where the second halves beside each row are."""
        layers = (self.base, self.added, self.removed)
        ends, numbers = numbered(self.ends)
        found = [Runs.of(keys, ends).take(numbers) for keys in layers]
        starts, counts = (np.concatenate([run[i] for run in found]) for i in (1, 2))
        return LocatedRuns(*layers, starts, counts)

    def common(self, other: OverlaidRuns) -> tuple[Rows, Column]:
        """All (row, value) such that the value is beside both ends of the row. Not sorted.

        Cost: that of ``common_seconds`` on the bases, and a join with each overlay.
        """
        rows, values = common_seconds(Runs.of(self.base, self.ends), Runs.of(other.base, other.ends))
        for side in (self, other):
            if side.removed.size and rows.size:
                kept = ~contains(side.removed, pack(side.ends[rows], values))
                rows, values = rows[kept], values[kept]
        for side, rest in ((self, other), (other, self._replace(added=NO_KEYS))):  # a pair of two added: once
            if side.added.size:
                more, added = join(side.added, side.ends)
                keys = pack(rest.ends[more], added)
                kept = contains(rest.base, keys, rest.added, rest.removed)
                rows = np.concatenate((rows, more[kept]))
                values = np.concatenate((values, added[kept]))
        return rows, values


def _change_less(column: Column, other: Column) -> bool:
    """Whether a column of many rows changes much less often from row to row than another one."""
    if column.size < MIN_ROWS_TURNED:
        return False
    changes, others = (np.count_nonzero(values[1:] != values[:-1]) for values in (column, other))
    return bool(MIN_RATIO_TURNED * changes < others)


def _overlaid(base: list[int], added: list[int], removed: list[int]) -> list[int]:
    if removed:
        deleted = set(removed)
        base = [value for value in base if value not in deleted]
    return base + added if added else base


def _overlaid_column(base: Column, added: Column, removed: Column) -> Column:
    """``_overlaid`` for ascending columns."""
    if removed.size:
        base = base[~among(base, removed)]
    return np.concatenate((base, added)) if added.size else base


def _of_one_row(values: Column) -> tuple[Rows, Column]:
    """The values that are beside the only row of a join."""
    return np.zeros(values.size, np.int64), values


def _overlaid_counts(base: Keys, added: Keys, removed: Keys, probes: Column) -> Rows:
    """``counts`` over (base - removed) + added."""
    found = counts(base, probes)
    if added.size:
        found += counts(added, probes)
    if removed.size:
        found -= counts(removed, probes)
    return found


def _overlaid_join(base: Keys, added: Keys, removed: Keys, probes: Column) -> tuple[Rows, Column]:
    """``join`` over (base - removed) + added, all in the same order of the halves. Added facts come last."""
    if not removed.size:
        return join_layers((base, added) if added.size else (base,), probes)
    rows, values = join(base, probes)
    kept = ~contains(removed, pack(probes[rows], values))
    rows, values = rows[kept], values[kept]
    if added.size:
        more_rows, more_values = join(added, probes)
        rows, values = np.concatenate((rows, more_rows)), np.concatenate((values, more_values))
    return rows, values


def merged(parts: list[Relation], whole: Relation) -> Relation:
    """The union of disjoint parts of ``whole``; ``whole`` itself if they cover it."""
    if sum(map(len, parts)) == len(whole):
        return whole
    *others, last = sorted(parts, key=lambda part: part.is_compressed)
    if last.is_compressed:
        if whole.is_compressed and others and others[-1].is_compressed:
            known = next(part for part in parts if part.is_compressed).missing()
            for part in parts:
                known = known if part.is_compressed else known.less(part)
            since = whole.less(known)
            if len(since) == sum(map(len, parts)):  # the parts followed each other
                return since
        return reduce(lambda known, part: known.plus(part.pairs().keys), others, last)
    return Relation(Pairs(sort_keys(np.concatenate([part.pairs().keys for part in parts]))))


EMPTY = Relation()
