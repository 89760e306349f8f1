"""Sets of changed facts (Δ⁺, Δ⁻) and of candidates for a change, by predicate, with set operators.

A ``Delta`` has set semantics: sorted, unique facts. ``Candidates`` have bag semantics: modules derive
them unsorted and with duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from corollary.columns.pairs import NO_KEYS, Pairs, contains, gathered, sieved, union
from corollary.columns.relation import EMPTY, Relation
from corollary.columns.triples import TripleIndex
from corollary.kernels.sorted import Keys, Mask

Candidates = dict[int, list[Keys]]
"""A bag of facts: for each predicate a list of key arrays, in any order, with duplicates."""


class Delta(TripleIndex):
    """An immutable set of facts, which can be read as a ``TripleIndex``.

    Invariant: every predicate has facts. Virtual relations are included, also in ``len``.
    Cost per predicate: ``&`` probes the larger operand with the smaller one, ``-`` the right one with the
    left one; ``|`` is a merge.
    """

    def __init__(self, facts: Mapping[int, Keys]) -> None:
        """Precondition: the keys of each predicate are sorted and unique."""
        super().__init__({p: Relation(Pairs(keys)) for p, keys in facts.items() if keys.size})

    @staticmethod
    def of(facts: TripleIndex) -> Delta:
        """A snapshot of the facts of an index, including virtual relations."""
        return Delta.of_relations({p: facts.relation(p) for p in facts.all_predicates()})

    @staticmethod
    def of_relations(relations: Mapping[int, Relation]) -> Delta:
        """The facts of the given relations, which are shared."""
        return _shared({p: relation for p, relation in relations.items() if relation.size})

    @staticmethod
    def gathered(candidates: Candidates) -> Delta:
        """The set of the candidates: sorted, without duplicates."""
        if not candidates:
            return NOTHING
        found: dict[int, Relation] = {}
        for predicate, parts in candidates.items():
            keys = gathered(parts) if parts else NO_KEYS
            if keys.size:
                found[predicate] = Relation(Pairs(keys))
        return _shared(found)

    @staticmethod
    def among(candidates: Candidates, facts: TripleIndex) -> Delta:
        """The candidates that are in ``facts``. Those of predicates without facts there are not sorted."""
        parts = {p: parts for p, parts in candidates.items() if len(facts.relation(p))}
        return Delta({p: facts.relation(p).common(gathered(keys)) for p, keys in parts.items()})

    def parted(self, candidates: Candidates) -> tuple[Delta, Delta]:
        """The facts that are among the candidates, and the others. Precondition: no relation is compressed.

        Cost per predicate: that of sorting the candidates, or of looking up their hashes, and one merge.
        """
        found: dict[int, Relation] = {}
        rest = dict(self._relations)
        for predicate in candidates.keys() & rest.keys():
            relation, parts = rest[predicate], candidates[predicate]
            keys = relation.pairs().keys
            if not parts:
                continue
            if keys.size == 1 and len(parts) == 1 and parts[0].size == 1:
                if parts[0][0] == keys[0]:
                    found[predicate] = rest.pop(predicate)
                continue
            chosen = contains(gathered(sieved(parts, keys)), keys)
            count = np.count_nonzero(chosen)
            if count == keys.size:
                found[predicate] = rest.pop(predicate)
            elif count:
                found[predicate] = Relation(Pairs(keys.compress(chosen)))
                rest[predicate] = Relation(Pairs(keys.compress(~chosen)))
        return (_shared(found), _shared(rest)) if found else (NOTHING, self)

    def items(self) -> Iterator[tuple[int, Keys]]:
        """Every predicate with its keys, sorted and unique."""
        for predicate, relation in self._relations.items():
            yield predicate, relation.pairs().keys

    def candidates(self) -> Candidates:
        """The same facts as candidates."""
        return {predicate: [keys] for predicate, keys in self.items()}

    def only(self, is_wanted: Callable[[int], bool]) -> Delta:
        """The facts of the wanted predicates."""
        wanted = list(filter(is_wanted, self._relations))
        if len(wanted) == len(self._relations):
            return self
        return _shared({predicate: self._relations[predicate] for predicate in wanted}) if wanted else NOTHING

    def beside(self, other: Delta) -> Delta:
        """The facts of those predicates of which the other one has facts."""
        found = {p: relation for p, relation in self._relations.items() if p in other._relations}
        return self if len(found) == len(self._relations) else _shared(found) if found else NOTHING

    def compressed(self) -> Delta:
        """The facts of the compressed relations."""
        for relation in self._relations.values():
            if relation.is_compressed:
                return _shared({p: part for p, part in self._relations.items() if part.is_compressed})
        return NOTHING

    def is_as(self, other: Delta) -> bool:
        """Whether both have the same relations: as objects, not by their facts."""
        return self._relations == other._relations

    def all_predicates(self) -> list[int]:
        """The predicates: all have facts."""
        return list(self._relations)

    def all_relations(self) -> Collection[tuple[int, Relation]]:
        """Every predicate with its facts."""
        return self._relations.items()

    def fact_count(self) -> int:
        """The number of facts, including virtual relations."""
        return sum([relation.size for relation in self._relations.values()])

    def __len__(self) -> int:
        size = 0
        for relation in self._relations.values():  # often one: a sum would take longer
            size += relation.size
        return size

    def __bool__(self) -> bool:
        return bool(self._relations)

    def __and__(self, other: TripleIndex) -> Delta:
        """The facts in both operands."""
        if not self._relations or other is self:
            return self
        found: dict[int, Relation] = {}
        for predicate, relation in self._relations.items():
            small, large = relation, other._relations.get(predicate, EMPTY)
            if small is large:
                found[predicate] = small
            elif small.is_compressed:
                if len(common := small.less(small.less(large))):
                    found[predicate] = common
            elif large.size:
                small, large = (large, small) if small.size > large.size else (small, large)
                if small.size == 1:  # most changes are of one fact
                    if large.has_key(int(small.pairs().keys[0])):
                        found[predicate] = small
                else:
                    _pick(small, large.contains(small.pairs().keys), predicate, found)
        return _shared(found)

    def __sub__(self, other: TripleIndex) -> Delta:
        """The facts that are not in ``other``."""
        if self._relations.keys().isdisjoint(other._relations.keys()):
            return self
        found: dict[int, Relation] = {}
        for predicate, relation in self._relations.items():
            known = other._relations.get(predicate)
            if known is None or not known.size:
                found[predicate] = relation
            elif relation.is_compressed:
                if len(left := relation.less(known)):
                    found[predicate] = left
            elif known is relation:
                continue
            elif relation.size == 1:
                if not known.has_key(int(relation.pairs().keys[0])):
                    found[predicate] = relation
            else:
                _pick(relation, ~known.contains(relation.pairs().keys), predicate, found)
        return _shared(found)

    def __or__(self, other: Delta) -> Delta:
        """The facts in either operand."""
        if not other._relations:
            return self
        if not self._relations:
            return other
        found = dict(self._relations)
        for predicate, relation in other._relations.items():
            mine = found.get(predicate)
            if mine is not None and (mine.is_compressed or relation.is_compressed):
                small, large = sorted((mine, relation), key=lambda part: part.is_compressed)
                relation = large.plus(small.pairs().keys)
            elif mine is not None:
                relation = Relation(Pairs(union(mine.pairs().keys, relation.pairs().keys)))
            found[predicate] = relation
        return _shared(found)


class KnownUnions:
    """Adds facts to indexes. The unions are kept, by predicate: the next time, most operands are the same."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Relation, Relation, Relation, Relation]] = {}

    def add(self, more: TripleIndex, into: TripleIndex) -> None:
        """Add facts, some of which may be present, to an index."""
        for predicate, others in more.all_relations():
            mine = into.relation(predicate)
            known = self._known.get(predicate)
            if known is not None and known[0] is mine and known[1] is others:
                into.replace(predicate, known[2], known[3])
                continue
            new = Delta.of_relations({predicate: others}) - into
            into.add_all(new)
            self._known[predicate] = mine, others, into.relation(predicate), new.relation(predicate)


def _shared(relations: dict[int, Relation]) -> Delta:
    """A delta of the given relations. Precondition: no relation is empty."""
    found = Delta.__new__(Delta)
    found._relations, found._fact_count = relations, None if relations else 0
    return found


def _pick(relation: Relation, kept: Mask, predicate: int, into: dict[int, Relation]) -> None:
    """Enter the facts chosen by the mask: the relation itself if all are chosen, nothing if none is."""
    count = np.count_nonzero(kept)
    if count == relation.size:
        into[predicate] = relation
    elif count:
        into[predicate] = Relation(Pairs(relation.pairs().keys.compress(kept)))


NOTHING = Delta({})
