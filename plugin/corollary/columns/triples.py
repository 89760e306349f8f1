"""The triple index: one relation a predicate, and directories for patterns that leave it open.

A ``TripleIndex`` can be changed by one writer; ``snapshot`` is a copy of references that no later
change reaches. The directories (subject -> predicates, object -> predicates) are made when a
pattern first needs them and follow every change from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from corollary.columns.pairs import (
    NO_KEYS,
    Integer,
    Pairs,
    difference,
    distinct,
    firsts,
    pack,
    seconds,
)
from corollary.columns.relation import EMPTY, Relation
from corollary.kernels.sorted import Column, Keys, Rows
from corollary.terms.dictionary import KIND_SHIFT, Kind

Columns = tuple[Column, Column, Column]

FIRST_VIRTUAL = Kind.RESERVED << KIND_SHIFT
"""Predicates from here on name virtual relations: no variable ever stands for them."""

DENSE_PREDICATES = 1 << 26
"""Below this id a table indexed by predicate id is cheaper than a search."""


class TripleIndex:
    """Facts by predicate id. ``len`` counts the facts that RDF allows."""

    def __init__(self, relations: dict[int, Relation] | None = None) -> None:
        self._relations: dict[int, Relation] = {} if relations is None else relations
        self._fact_count: int | None = None if relations else 0  # counted when asked for
        self._by_subject: Relation | None = None
        self._by_object: Relation | None = None

    @staticmethod
    def from_columns(subjects: Column, predicates: Column, objects: Column) -> TripleIndex:
        """An index of triples given as three uint32 columns, in any order, duplicates allowed."""
        groups = grouped(predicates, pack(subjects, objects))
        return TripleIndex({predicate: Relation(Pairs.of(keys)) for predicate, keys in groups})

    def snapshot(self) -> TripleIndex:
        """The index as it is now, for good."""
        copy = TripleIndex()
        copy._relations, copy._fact_count = dict(self._relations), self._fact_count
        copy._by_subject, copy._by_object = self._by_subject, self._by_object
        return copy

    def but_for(self, predicates: Iterable[int]) -> TripleIndex:
        """The facts of other predicates."""
        relations = dict(self._relations)
        for predicate in predicates:
            relations.pop(predicate, None)
        return TripleIndex(relations)

    def predicates(self) -> list[int]:
        """The predicates that have facts, in order of first arrival; virtual relations are none."""
        return [predicate for predicate, _ in self.relations()]

    def all_predicates(self) -> list[int]:
        """As ``predicates``, the virtual ones included."""
        return [predicate for predicate, relation in self._relations.items() if len(relation)]

    def has_predicates(self, predicates: frozenset[int]) -> bool:
        """Whether these predicates are known; they may still have lost all their facts."""
        return self._relations.keys() >= predicates

    def relation(self, predicate: int) -> Relation:
        """The relation of a predicate; an empty one if there are no such facts."""
        return self._relations.get(predicate, EMPTY)

    def relations(self) -> Iterator[tuple[int, Relation]]:
        """All non-empty relations with their predicates, the engine's virtual relations aside."""
        for predicate, relation in self._relations.items():
            if len(relation) and predicate < FIRST_VIRTUAL:
                yield predicate, relation

    def add(self, predicate: int, new: Pairs) -> None:
        """Add facts known not to be there."""
        if not len(new):
            return
        self._relations[predicate] = self.relation(predicate).plus_new(new)
        if predicate >= FIRST_VIRTUAL:
            return
        if self._fact_count is not None:
            self._fact_count += len(new)
        if self._by_subject is not None:
            self._by_subject = self._by_subject.plus(_beside(new.distinct_firsts(), predicate))
        if self._by_object is not None:
            self._by_object = self._by_object.plus(_beside(new.distinct_seconds(), predicate))

    def add_all(self, new: TripleIndex) -> None:
        """Add the facts of another index, known not to be there."""
        for predicate in new.all_predicates():
            self.add(predicate, new.relation(predicate).pairs())

    def remove(self, predicate: int, keys: Keys) -> None:
        """Remove facts (sorted, unique) known to be there."""
        if not keys.size:
            return
        before = self.relation(predicate)
        relation = before.minus_present(keys)
        self._relations[predicate] = relation
        if predicate >= FIRST_VIRTUAL:
            return
        if self._fact_count is not None:
            self._fact_count -= len(before) - len(relation)
        gone = Pairs(keys)
        if self._by_subject is not None:
            ends = gone.distinct_firsts()
            left = _without(ends, relation.objects_of(ends)[0])
            self._by_subject = self._by_subject.minus(_beside(left, predicate))
        if self._by_object is not None:
            ends = gone.distinct_seconds()
            left = _without(ends, relation.subjects_of(ends)[0])
            self._by_object = self._by_object.minus(_beside(left, predicate))

    def predicates_of_subjects(self) -> Relation:
        """The directory subject -> predicates, as pairs (subject, predicate)."""
        if self._by_subject is None:
            parts = [_beside(r.pairs().distinct_firsts(), p) for p, r in self.relations()]
            self._by_subject = Relation(Pairs.of(np.concatenate(parts or [NO_KEYS])))
        return self._by_subject

    def predicates_of_objects(self) -> Relation:
        """The directory object -> predicates, as pairs (object, predicate)."""
        if self._by_object is None:
            parts = [_beside(r.pairs().distinct_seconds(), p) for p, r in self.relations()]
            self._by_object = Relation(Pairs.of(np.concatenate(parts or [NO_KEYS])))
        return self._by_object

    def difference(self, other: TripleIndex) -> TripleIndex:
        """The facts that the other index does not have."""
        relations = {}
        for predicate, relation in self.relations():
            known = other.relation(predicate)
            keys = difference(relation.pairs().keys, known.pairs().keys) if len(known) else None
            rest = relation if keys is None else Relation(Pairs(keys))
            if len(rest):
                relations[predicate] = rest
        return TripleIndex(relations)

    def fact_count(self) -> int:
        """How many facts there are, those included that RDF does not allow."""
        if self._fact_count is None:
            self._fact_count = sum(len(relation) for _, relation in self.relations())
        return self._fact_count

    def __len__(self) -> int:
        """How many facts RDF allows."""
        return sum(self.legal_count(predicate) for predicate in self._relations)

    def legal_count(self, predicate: int) -> int:
        """How many facts of a predicate RDF allows: no literal subject, and an IRI for a predicate."""
        return self.relation(predicate).legal_count() if predicate >> KIND_SHIFT == Kind.IRI else 0

    def legal(self) -> TripleIndex:
        """The facts that RDF allows; it shares the relations that have no others."""
        relations = {}
        for predicate, relation in self.relations():
            count = self.legal_count(predicate)
            if count:
                hides = count < len(relation)
                relations[predicate] = Relation(Pairs(relation.pairs().keys[:count])) if hides else relation
        return TripleIndex(relations)

    def columns(self, *, legal: bool = True) -> Columns:
        """All facts as columns subject, predicate, object, sorted by predicate, subject, object.

        Unless ``legal`` is false, without those that RDF does not allow (the engine's own virtual
        relations are never among them).
        """
        parts: list[Keys] = []
        names: list[Column] = []
        index = self.legal() if legal else self
        for predicate, relation in sorted(index.relations(), key=lambda item: item[0]):
            keys = relation.pairs().keys
            parts.append(keys)
            names.append(np.full(keys.size, predicate, np.uint32))
        keys = np.concatenate(parts or [NO_KEYS])
        return firsts(keys), np.concatenate(names or [np.empty(0, np.uint32)]), seconds(keys)

    def __repr__(self) -> str:
        return f"TripleIndex({len(self):,} facts, {len(self.predicates()):,} predicates)"


def grouped(groups: Column, keys: NDArray[Integer]) -> Iterator[tuple[int, NDArray[Integer]]]:
    """The keys (or rows) of every group, by a stable counting sort on the (few) distinct groups."""
    if not groups.size:
        return
    names = distinct(groups)
    if names.size == 1:
        yield int(names[0]), keys
        return
    if names[-1] < DENSE_PREDICATES:
        table = np.zeros(int(names[-1]) + 1, np.uint32)
        table[names] = np.arange(names.size, dtype=np.uint32)
        codes = table[groups]
    else:
        codes = np.searchsorted(names, groups).astype(np.uint32)
    if names.size <= 1 << 16:
        codes = codes.astype(np.uint16)  # numpy sorts 16-bit integers by radix
    order = np.argsort(codes, kind="stable")
    keys = keys[order]
    ends = np.cumsum(np.bincount(codes, minlength=names.size))
    start = 0
    for name, end in zip(names.tolist(), ends.tolist(), strict=True):
        yield name, keys[start:end]
        start = end


def _without(column: Column, rows: Rows) -> Column:
    """The column but for some of its rows."""
    kept = np.ones(column.size, np.bool_)
    kept[rows] = False
    return column[kept]


def _beside(terms: Column, predicate: int) -> Keys:
    """Pairs (term, predicate) of an ascending column of distinct terms."""
    return pack(terms, np.full(terms.size, predicate, np.uint32))
