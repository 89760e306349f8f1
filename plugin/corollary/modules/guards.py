"""Which facts are guards of a module's rules: they bring new rule instances."""

from __future__ import annotations

import numpy as np

from corollary.index.pairs import NO_PAIRS, Pairs, seconds
from corollary.index.triples import TripleIndex
from corollary.plan.compile import CompiledRule


class Guards:
    """The guard predicates of some rules, and of rdf:type only the classes that guards name."""

    def __init__(self, rdf_type: int) -> None:
        self._rdf_type = rdf_type
        self.predicates: set[int] = set()
        self._classes: set[int] = set()
        self._any_class = False

    def add(self, rule: CompiledRule) -> None:
        """Take in the guards of a rule."""
        for i in rule.guards:
            atom = rule.atoms[i]
            if atom.p != self._rdf_type:
                self.predicates.add(atom.p)
            elif atom.o >= 0:
                self._classes.add(atom.o)
            else:
                self._any_class = True

    def are_among(self, recent: TripleIndex) -> bool:
        """Whether any of the facts is a guard."""
        types = recent.relation(self._rdf_type)
        return (
            any(len(recent.relation(predicate)) for predicate in self.predicates)
            or (self._any_class and len(types) > 0)
            or any(types.has_object(name) for name in self._classes if len(types))
        )

    def part_of(self, predicate: int, facts: Pairs) -> Pairs:
        """Those of a predicate's facts that are guards."""
        if predicate in self.predicates or (self._any_class and predicate == self._rdf_type):
            return facts
        if predicate != self._rdf_type:
            return NO_PAIRS
        classes = seconds(facts.keys)
        named = np.zeros(classes.size, np.bool_)
        for name in self._classes:
            named |= classes == name
        return Pairs(facts.keys[named])
