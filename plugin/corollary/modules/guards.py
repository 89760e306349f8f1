"""Guards as a set of predicates and classes: facts that add instances to rules (``program.compile``)."""

from __future__ import annotations

from collections.abc import Iterable, Set

import numpy as np

from corollary.columns import Delta, Relation, TripleIndex
from corollary.columns.pairs import NO_PAIRS, Pairs, among, pack, seconds
from corollary.kernels.sorted import Column, Mask
from corollary.modules.tuning import MAX_FACTS_ONE_BY_ONE
from corollary.program.compile import Atom, CompiledRule


class Guards:
    """The guard predicates of some rules. For rdf:type: the classes that guards name, or any class."""

    def __init__(self, rdf_type: int) -> None:
        self._rdf_type = rdf_type
        self.predicates: set[int] = set()
        self._named: set[int] = set()
        self._classes: Column = np.empty(0, np.uint32)  # the named ones, ascending
        self.has_any_class = False
        self._last: tuple[Relation, Relation] | None = None  # types seen, and the guards among them

    def add(self, rule: CompiledRule) -> None:
        """Add the guards of a rule."""
        self.add_atoms(rule.atoms[i] for i in rule.guards)

    def add_atoms(self, atoms: Iterable[Atom]) -> None:
        """Add atoms. Precondition: their predicates are constant."""
        for atom in atoms:
            if atom.p != self._rdf_type:
                self.predicates.add(atom.p)
            elif atom.o >= 0:
                self._name({*self._named, atom.o})
            else:
                self.has_any_class = True

    def _name(self, classes: set[int]) -> None:
        self._named, self._classes = classes, np.array(sorted(classes), np.uint32)
        self._last = None

    def is_as(self, other: Guards) -> bool:
        """Whether both have the same guards."""
        return (
            self.predicates == other.predicates
            and self.has_any_class == other.has_any_class
            and self._named == other._named
        )

    def beyond(self, other: Guards) -> Guards:
        """The guards that the other does not have."""
        more = Guards(self._rdf_type)
        more.predicates = self.predicates - other.predicates
        more._name(self._named - other._named)
        more.has_any_class = self.has_any_class and not other.has_any_class
        return more

    def has(self, atom: Atom) -> bool:
        """Whether all facts that match an atom are guards."""
        if atom.p != self._rdf_type:
            return atom.p in self.predicates
        return self.has_any_class or atom.o in self._named

    def objects_of(self, predicate: int) -> Set[int] | None:
        """The objects of the facts of a predicate that are guards; None: any."""
        if predicate == self._rdf_type:
            return None if self.has_any_class else self._named
        return None if predicate in self.predicates else frozenset()

    def are_among(self, recent: TripleIndex) -> bool:
        """Whether any recent fact is a guard."""
        return recent.meets(self.predicates, self._rdf_type, None if self.has_any_class else self._named)

    def of(self, facts: TripleIndex) -> Delta:
        """All guards among the facts."""
        found = facts.relations_of(self.predicates)
        found[self._rdf_type] = self._among_types(facts.relation(self._rdf_type))
        return Delta.of_relations(found)

    def _among_types(self, types: Relation) -> Relation:
        """The types of named classes. The same relation for the same types: the last is kept."""
        if self.has_any_class or not types.size:
            return types
        last = self._last
        if last is None or last[0] is not types:
            rows, subjects = types.subjects_of(self._classes)
            guards = Relation(Pairs.of(pack(subjects, self._classes[rows])))
            if last is not None and np.array_equal(last[1].pairs().keys, guards.pairs().keys):
                guards = last[1]
            last = self._last = (types, guards)
        return last[1]

    def may_have(self, predicate: int, facts: Pairs) -> bool:
        """Whether some of the facts of a predicate may be guards. False only if none is. Cost: O(1)."""
        if predicate != self._rdf_type or predicate in self.predicates:
            return predicate in self.predicates
        if self.has_any_class or len(facts) > MAX_FACTS_ONE_BY_ONE:
            return True
        return not self._named.isdisjoint([key & 0xFFFFFFFF for key in facts.keys.tolist()])

    def mask(self, predicate: int, facts: Pairs) -> Mask:
        """For each fact of a predicate, whether it is a guard."""
        if predicate in self.predicates or (self.has_any_class and predicate == self._rdf_type):
            return np.ones(facts.keys.size, np.bool_)
        found: Mask = np.zeros(facts.keys.size, np.bool_)
        if predicate == self._rdf_type and facts.keys.size <= MAX_FACTS_ONE_BY_ONE:
            found[:] = [key & 0xFFFFFFFF in self._named for key in facts.keys.tolist()]
        elif predicate == self._rdf_type:
            found = among(seconds(facts.keys), self._classes)
        return found

    def has_part_of(self, predicate: int, facts: Pairs) -> bool:
        """Whether some of the facts of a predicate are guards."""
        return len(self.part_of(predicate, facts)) > 0

    def part_of(self, predicate: int, facts: Pairs) -> Pairs:
        """The facts of a predicate that are guards."""
        if predicate != self._rdf_type and predicate not in self.predicates:
            return NO_PAIRS
        if predicate not in self.predicates and facts.keys.size <= MAX_FACTS_ONE_BY_ONE:
            keys = facts.keys.tolist()
            kept = keys if self.has_any_class else [key for key in keys if key & 0xFFFFFFFF in self._named]
            return facts if len(kept) == len(keys) else Pairs(np.array(kept, np.uint64)) if kept else NO_PAIRS
        is_whole = predicate in self.predicates or self.has_any_class
        if not (is_whole or among(facts.distinct_seconds(), self._classes).any()):
            return NO_PAIRS
        named = self.mask(predicate, facts)
        count = np.count_nonzero(named)
        return facts if count == named.size else Pairs(facts.keys[named]) if count else NO_PAIRS
