"""The triple index: one relation per predicate, and directories for patterns with an unbound predicate.

A ``TripleIndex`` is mutable, by one writer. ``snapshot`` copies references only, and is not affected by later
changes. The directories (subject -> predicates, object -> predicates) are built when a pattern first needs
them, and maintained with every later change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from functools import partial

import numpy as np
from numpy.typing import NDArray

from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import (
    NO_KEYS,
    NO_PAIRS,
    Difference,
    Integer,
    Pairs,
    difference,
    distinct,
    distinct_of_sorted,
    end_to_end,
    firsts,
    gathered,
    pack,
    seconds,
    union,
)
from corollary.columns.relation import EMPTY, FIRST_LITERAL_KEY, Relation, merged
from corollary.columns.tuning import (
    FACTS_PER_RELATION_LOOKED_UP,
    MAX_ARRAYS_MERGED,
    MAX_IDS_IN_TABLE,
    MAX_IDS_PER_ROW,
    MIN_KEYS_MERGED,
)
from corollary.kernels.sorted import Column, Keys
from corollary.kernels.threads import spread_over_threads
from corollary.kernels.tuning import MIN_ELEMENTS_CUT
from corollary.terms.dictionary import KIND_SHIFT, Kind

Columns = tuple[Column, Column, Column]

UINT16_VALUES = 1 << 16
"""The number of values of a 16-bit integer."""

_IRI = int(Kind.IRI)  # compared in less time than a member of an enumeration

FIRST_VIRTUAL = Kind.RESERVED << KIND_SHIFT
"""The smallest predicate id of a virtual relation. Variables are never bound to virtual relations."""


class TripleIndex:
    """A set of facts, by predicate id. ``len`` counts the facts that RDF allows (see ``legal_count``)."""

    # what an index has at first: most are small, and short-lived
    _legal_count: int | None = None  # counted on demand
    _by_subject: Relation | None = None
    _by_object: Relation | None = None
    _looked_up = 0  # relations, for facts of one term
    _known: frozenset[int] = frozenset()
    _most_ends = (0, (1, 1))  # of how many facts, and what ``most_ends`` returns for them
    schema_changes = 0
    """How often facts came or went that may be schema: an engine counts them. Snapshots keep the number."""
    complete: frozenset[int] = frozenset()
    """The predicates of which a deletion strategy knows that all facts that stay are here."""

    def __init__(self, relations: dict[int, Relation] | None = None) -> None:
        self._relations: dict[int, Relation] = {} if relations is None else relations
        self._fact_count: int | None = None if relations else 0  # None: counted on demand

    @staticmethod
    def from_columns(subjects: Column, predicates: Column, objects: Column) -> TripleIndex:
        """An index of triples from three uint32 columns, in any order, with or without duplicates."""
        groups = list(grouped(predicates, pack(subjects, objects)))
        if subjects.size < MIN_ELEMENTS_CUT:
            return TripleIndex({predicate: Relation(Pairs.of(keys)) for predicate, keys in groups})
        longest_first = sorted(groups, key=lambda group: -group[1].size)
        found = spread_over_threads([partial(Pairs.of, keys) for _, keys in longest_first])
        relations = {predicate: pairs for (predicate, _), pairs in zip(longest_first, found, strict=True)}
        return TripleIndex({predicate: Relation(relations[predicate]) for predicate, _ in groups})

    def union(self, parts: Mapping[int, list[Relation]]) -> TripleIndex:
        """The union of disjoint parts of this index's relations."""
        known = self._relations
        return TripleIndex(
            {p: found[0] if len(found) == 1 else merged(found, known[p]) for p, found in parts.items()}
        )

    def snapshot(self) -> TripleIndex:
        """A copy that later changes do not affect. Cost: O(predicates), no facts are copied."""
        copy = object.__new__(TripleIndex)
        copy.__dict__.update(self.__dict__)
        copy._relations = self._relations.copy()
        copy.complete = frozenset()
        return copy

    def but_for(self, predicates: Iterable[int]) -> TripleIndex:
        """The facts of all other predicates."""
        relations = dict(self._relations)
        for predicate in predicates:
            relations.pop(predicate, None)
        return TripleIndex(relations)

    def predicates(self) -> list[int]:
        """The predicates with facts, in order of first arrival, without virtual relations."""
        return [predicate for predicate, _ in self.relations()]

    def all_predicates(self) -> list[int]:
        """As ``predicates``, including virtual relations."""
        return [predicate for predicate, relation in self._relations.items() if relation.size]

    def all_relations(self) -> Collection[tuple[int, Relation]]:
        """As ``relations``, including virtual relations."""
        return [item for item in self._relations.items() if item[1].size]

    @property
    def known_predicates(self) -> frozenset[int]:
        """The predicates that have, or once had, facts in this index."""
        if len(self._known) != len(self._relations):  # a predicate is never forgotten
            self._known = frozenset(self._relations)
        return self._known

    def relation(self, predicate: int) -> Relation:
        """The relation of a predicate, which may be empty."""
        return self._relations.get(predicate, EMPTY)

    def present_among(self, predicates: Iterable[int]) -> list[int]:
        """Those of some predicates that have facts."""
        relations = self._relations
        return [predicate for predicate in predicates if predicate in relations and relations[predicate].size]

    def relations_of(self, predicates: Iterable[int]) -> dict[int, Relation]:
        """The relations of the given predicates, without those that never had facts in this index."""
        relations = self._relations
        return {predicate: relations[predicate] for predicate in predicates if predicate in relations}

    def others(self, known: Mapping[int, Relation]) -> dict[int, Relation]:
        """The relations of the ``known`` predicates that are other objects than the known ones."""
        get = self._relations.get
        return {p: relation for p, last in known.items() if (relation := get(p, EMPTY)) is not last}

    def keys(self, predicate: int) -> Keys:
        """The facts of a predicate as keys subject << 32 | object, sorted and unique."""
        found = self._relations.get(predicate)
        return NO_KEYS if found is None else found.pairs().keys

    def most_ends(self) -> tuple[int, int]:
        """About the most distinct subjects, and the most distinct objects, of a predicate: for estimates.

        Cost: the predicates, if the number of facts has changed.
        """
        count, ends = self._most_ends
        if count != self.fact_count():
            subjects = objects = 1
            for _, relation in self.relations():
                if relation.size > min(subjects, objects):
                    found = relation.usual_counts()
                    subjects, objects = max(subjects, found[0]), max(objects, found[1])
            ends = subjects, objects
            self._most_ends = self.fact_count(), ends
        return ends

    def has_match(self, subject: int, predicate: int, value: int) -> bool:
        """Whether a fact may match an atom; negative numbers are variables.

        Exact if the predicate is constant and no variable occurs twice.
        """
        if predicate < 0:
            return True
        relation = self._relations.get(predicate)
        if relation is None or not relation.size:
            return False
        if subject >= 0:
            return relation.has(subject, value) if value >= 0 else relation.has_subject(subject)
        return value < 0 or relation.has_object(value)

    def few_terms(self, most: int) -> set[int] | None:
        """The subjects and objects of all facts, virtual ones included; None for more than ``most`` facts."""
        left, found = most, set[int]()
        for relation in self._relations.values():
            left -= relation.size
            if left < 0:
                return None
            for key in relation.pairs().keys.tolist():
                found.add(key >> 32)
                found.add(key & 0xFFFFFFFF)
        return found

    def meets(self, predicates: Set[int], predicate: int, objects: Set[int] | None) -> bool:
        """Whether there is a fact of some predicates, or of one more with some objects (None: with any)."""
        relations = self._relations
        for common in relations.keys() & predicates:
            if relations[common].size:
                return True
        found = relations.get(predicate)
        if not found:
            return False
        if objects is None:
            return True
        if found.size <= len(objects) and not found.is_compressed:
            return not objects.isdisjoint([key & 0xFFFFFFFF for key in found.pairs().keys.tolist()])
        return bool(found.has_objects(np.array(sorted(objects), np.uint32)).any())

    def relations(self) -> Iterator[tuple[int, Relation]]:
        """All non-empty relations with their predicates, without virtual relations."""
        for predicate, relation in self._relations.items():
            if relation.size and predicate < FIRST_VIRTUAL:
                yield predicate, relation

    def add(self, predicate: int, new: Pairs) -> None:
        """Add facts. Precondition: none of them is present."""
        if len(new):
            has_directory = self._by_subject is not None or self._by_object is not None
            relation = self._relations.get(predicate, EMPTY).plus_new(new)
            self.replace(predicate, relation, Relation(new) if has_directory else None)

    def add_new(self, predicate: int, candidates: list[Keys]) -> Pairs:
        """Add the new facts among candidates, in any order and with duplicates. Returns the new facts.

        The list may be emptied: arrays that only this list refers to are freed before the keys are sorted.
        """
        if len(candidates) == 1 and candidates[0].size == 1:
            return self.add_unknown(predicate, Pairs(candidates[0]))
        known = self.relation(predicate)
        size = sum([keys.size for keys in candidates])
        if size > max(len(known), MIN_KEYS_MERGED) and not known.is_compressed:
            return self._merge(predicate, known.pairs().keys, candidates)
        return self.add_unknown(predicate, Pairs(gathered(candidates)))

    def unknown(self, predicate: int, keys: Keys) -> Keys:
        """The keys that are no facts of the index. Precondition: sorted and unique. So is the result."""
        return _unknown(keys, self.relation(predicate))

    def add_unknown(self, predicate: int, facts: Pairs) -> Pairs:
        """Add facts, some of which may be present. Returns the new ones: ``facts`` itself if all are new."""
        known, keys = self.relation(predicate), facts.keys
        left = _unknown(keys, known)
        new = facts if left.size == keys.size else Pairs(left) if left.size else NO_PAIRS
        if left.size > known.size == keys.size - left.size:  # no known fact is missing
            self.replace(predicate, Relation(facts), Relation(new))
        elif left.size:
            self.add(predicate, new)
        return new

    def add_with_part(self, part: TripleIndex, predicate: int, facts: Pairs) -> tuple[Pairs, Pairs]:
        """Add facts to a part of this index, and to this index. Returns the facts that are new in each.

        While the part has all facts of the predicate, both share the relation.
        """
        has_all = part.relation(predicate).size == self.relation(predicate).size
        new = part.add_unknown(predicate, facts)
        if not has_all:
            return new, self.add_unknown(predicate, new)
        self.replace(predicate, part.relation(predicate), Relation(new))
        return new, new

    def _merge(self, predicate: int, known: Keys, candidates: list[Keys]) -> Pairs:
        """As ``add_new``, without a list of the new facts: these may be many, and nobody may read them."""
        if len(candidates) < MAX_ARRAYS_MERGED:
            keys = gathered([*candidates, known])
        else:
            keys = union(distinct_of_sorted(sort_keys(_joined(candidates))), known)
        whole = Pairs(keys)
        new = Difference(whole.keys, known) if known.size else whole
        if len(new) < known.size:
            self.add(predicate, new)  # keeps what is known of the inverse order
        else:
            self.replace(predicate, Relation(whole))
        return new

    def add_all(self, new: TripleIndex) -> None:
        """Add the facts of another index. Precondition: none of them is present."""
        for predicate, more in new._relations.items():
            if not more.size:
                continue
            known = self._relations.get(predicate)
            if more.is_compressed:
                self.replace(predicate, more.plus(self.keys(predicate)), more)
            elif known is None or not known.size:
                self.replace(predicate, more)
            else:
                self.add(predicate, more.pairs())

    def replace(self, predicate: int, relation: Relation, new: Relation | None = None) -> None:
        """Replace the relation of a predicate by a superset.

        ``new`` has at least the added facts, and only facts of ``relation``; by default, all of these.
        """
        self._exchange(predicate, relation)
        if predicate >= FIRST_VIRTUAL:
            return
        new = relation if new is None else new
        if self._by_subject is not None:
            self._by_subject = self._by_subject.plus(_beside(new.subject_terms(), predicate))
        if self._by_object is not None:
            self._by_object = self._by_object.plus(_beside(new.object_terms(), predicate))

    def remove(self, predicate: int, keys: Keys) -> None:
        """Remove facts. Precondition: ``keys`` sorted and unique, all of them present."""
        if keys.size:
            self.remove_relation(predicate, Relation(Pairs(keys)))

    def remove_with_part(self, part: TripleIndex, predicate: int, keys: Keys) -> None:
        """Remove facts from a part of this index, and from this index. Precondition: the part has them.

        If both share the relation, they still do afterwards.
        """
        if not keys.size:
            return
        removed, is_shared = Relation(Pairs(keys)), part.relation(predicate) is self.relation(predicate)
        part.remove_relation(predicate, removed)
        self.remove_relation(predicate, removed, part.relation(predicate) if is_shared else None)

    def remove_relation(self, predicate: int, removed: Relation, rest: Relation | None = None) -> None:
        """As ``remove``, with the facts as a relation. ``rest`` are the facts that stay, if known."""
        relation = rest
        if relation is None:
            before = self._relations.get(predicate, EMPTY)
            is_listed = not removed.is_compressed
            relation = before.minus_present(removed.pairs()) if is_listed else before.less(removed)
        self._exchange(predicate, relation)
        if predicate >= FIRST_VIRTUAL:
            return
        if self._by_subject is not None:
            ends = removed.subject_terms()
            left = ends[relation.subject_counts(ends) == 0]
            self._by_subject = self._by_subject.minus(_beside(left, predicate))
        if self._by_object is not None:
            ends = removed.object_terms()
            left = ends[relation.object_counts(ends) == 0]
            self._by_object = self._by_object.minus(_beside(left, predicate))

    def _exchange(self, predicate: int, relation: Relation) -> None:
        """Put a relation in the place of another one, and count its facts instead."""
        before = self._relations.get(predicate, EMPTY)
        if self._fact_count is not None and predicate < FIRST_VIRTUAL:
            self._fact_count += relation.size - before.size
        if self._legal_count is not None and predicate >> KIND_SHIFT == _IRI:
            self._legal_count += relation.legal_count() - before.legal_count()
        self._relations[predicate] = relation

    def complete_from(self, predicates: Collection[int], other: TripleIndex) -> None:
        """As ``share``, where the other index has all facts of these predicates that stay."""
        self.share(predicates, other)
        self.complete = self.complete.union(predicates)

    def share(self, predicates: Iterable[int], other: TripleIndex) -> None:
        """Replace the facts of some predicates by those of another index.

        Precondition: directories of this index are not used as lists of facts: they may have more predicates
        afterwards, and lack some facts that are not in the other index.
        """
        known, mine = other._relations, self._relations
        shared = {p: known.get(p, EMPTY) for p in predicates if p in known or p in mine}
        if not shared:
            return
        self._relations.update(shared)
        self._fact_count = self._legal_count = None
        self._by_subject, self._by_object = other._by_subject, other._by_object

    def predicates_of_subjects(self) -> Relation:
        """The directory subject -> predicates, as pairs (subject, predicate)."""
        if self._by_subject is None:
            parts = [_beside(r.subject_terms(), p) for p, r in self.relations()]
            self._by_subject = Relation(Pairs.of(np.concatenate(parts or [NO_KEYS])))
        return self._by_subject

    def predicates_beside(self, subject: int | None, value: int | None) -> list[int]:
        """Predicates among which are all those of the facts of a subject, or of an object if that is None.

        Cost: the number of predicates, until so many look-ups were made that a directory takes less time.
        """
        directory = self._by_object if subject is None else self._by_subject
        if directory is None:
            self._looked_up += len(self._relations)
            if self._looked_up * FACTS_PER_RELATION_LOOKED_UP <= self.fact_count():
                return self.predicates()
            directory = self.predicates_of_objects() if subject is None else self.predicates_of_subjects()
        term = value if subject is None else subject
        assert term is not None
        return directory.objects(term)

    def predicates_of_objects(self) -> Relation:
        """The directory object -> predicates, as pairs (object, predicate)."""
        if self._by_object is None:
            parts = [_beside(r.object_terms(), p) for p, r in self.relations()]
            self._by_object = Relation(Pairs.of(np.concatenate(parts or [NO_KEYS])))
        return self._by_object

    def difference(self, other: TripleIndex) -> TripleIndex:
        """The facts that ``other`` does not have, without virtual relations."""
        relations = {}
        for predicate, relation in self.relations():
            rest = relation.less(other.relation(predicate))
            if len(rest):
                relations[predicate] = rest
        return TripleIndex(relations)

    def fact_count(self) -> int:
        """The number of facts, including those that RDF does not allow, without virtual relations."""
        if self._fact_count is None:
            self._fact_count = sum(len(relation) for _, relation in self.relations())
        return self._fact_count

    def held(self) -> int:
        """As ``fact_count``, but of compressed relations only what is held. Cost: the predicates."""
        return sum(relation.held for _, relation in self.relations())

    def __len__(self) -> int:
        """The number of facts that RDF allows."""
        if self._legal_count is None:
            self._legal_count = sum(self.legal_count(predicate) for predicate in self._relations)
        return self._legal_count

    def legal_count(self, predicate: int) -> int:
        """The number of legal facts of a predicate: the predicate is an IRI, the subject no literal."""
        return self.relation(predicate).legal_count() if predicate >> KIND_SHIFT == _IRI else 0

    def legal(self) -> TripleIndex:
        """The facts that RDF allows. Relations with no other facts are shared."""
        return TripleIndex({p: relation.legal() for p, relation in self.relations() if self.legal_count(p)})

    def columns(self, *, legal: bool = True) -> Columns:
        """All facts as columns subject, predicate, object, sorted by predicate, subject, object.

        ``legal``: only facts that RDF allows. Virtual relations are always left out.
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

    def batches(self, size: int, *, legal: bool = True) -> Iterator[Columns]:
        """As ``columns``, in parts of about ``size`` facts. Lists one part at a time."""
        for predicate, relation in sorted(self.relations(), key=lambda item: item[0]):
            if legal and not self.legal_count(predicate):
                continue
            for keys in relation.chunks(size):
                if legal:
                    keys = keys[: np.searchsorted(keys, np.uint64(FIRST_LITERAL_KEY))]
                yield firsts(keys), np.full(keys.size, predicate, np.uint32), seconds(keys)

    def __repr__(self) -> str:
        return f"TripleIndex({len(self):,} facts, {len(self.predicates()):,} predicates)"


def grouped(groups: Column, keys: NDArray[Integer]) -> Iterator[tuple[int, NDArray[Integer]]]:
    """Partition keys (or rows) by group: (group, its keys in their order), ascending in the group.

    Cost: one stable sort of group codes, which is a radix sort for up to 65,536 groups.
    """
    if not groups.size:
        return
    names = distinct(groups)
    if names.size == 1:
        yield int(names[0]), keys
        return
    if names[-1] < min(MAX_IDS_IN_TABLE, MAX_IDS_PER_ROW * groups.size):
        table = np.zeros(int(names[-1]) + 1, np.uint32)
        table[names] = np.arange(names.size, dtype=np.uint32)
        codes = table[groups]
    else:
        codes = np.searchsorted(names, groups).astype(np.uint32)
    if names.size <= UINT16_VALUES:
        codes = codes.astype(np.uint16)  # numpy sorts 16-bit integers by radix
    order = np.argsort(codes, kind="stable")
    keys = keys[order]
    ends = np.cumsum(np.bincount(codes, minlength=names.size))
    start = 0
    for name, end in zip(names.tolist(), ends.tolist(), strict=True):
        yield name, keys[start:end]
        start = end


def _beside(terms: Column, predicate: int) -> Keys:
    """Keys (term, predicate). Precondition: ``terms`` is ascending and unique. So are the keys."""
    return pack(terms, np.full(terms.size, predicate, np.uint32))


def _joined(parts: list[Keys]) -> Keys:
    """The keys of all parts in one array. The list is emptied."""
    joined = end_to_end(parts)
    parts.clear()
    return joined


def _unknown(keys: Keys, known: Relation) -> Keys:
    """The keys that are not ``known``. Precondition: sorted and unique. So is the result."""
    if keys.size == 1:
        return NO_KEYS if known.has_key(int(keys[0])) else keys
    if known.is_compressed:
        return keys[~known.contains(keys)]
    base, added, removed = known.parts
    if len(added) or len(removed):
        return keys[~known.contains(keys)]
    return difference(keys, base.keys)
