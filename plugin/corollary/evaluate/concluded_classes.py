"""The classes of which rules may conclude instances.

A type by any other class is explicit or an axiom, or does not hold: it has no proof to search for. Most
instances of most ontologies are asserted with classes that nothing else leads to. Only monotone rules count:
where strata conclude types, the classes are not asked (``Layers.types_are_data``).

    [?x, a, :Person] :- [?x, a, :Student] .   [a, a, :Student] is no conclusion, whatever else holds
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from corollary.columns import NOTHING, Delta, TripleIndex
from corollary.columns.pairs import among, seconds
from corollary.kernels.sorted import Column, Mask
from corollary.program.compile import Atom, CompiledRule


@dataclass(frozen=True)
class End:
    """The objects of a predicate, or its subjects, as classes of a rule that needs some ground facts."""

    predicate: int
    are_objects: bool
    needs: tuple[Atom, ...]

    def has(self, class_: int, facts: TripleIndex) -> bool:
        """Whether a class is among them, and the rule has its ground facts."""
        relation = facts.relation(self.predicate)
        return (relation.has_object if self.are_objects else relation.has_subject)(class_) and all(
            facts.has_match(*atom.terms) for atom in self.needs
        )


@dataclass
class ConcludedClasses:
    """The classes in the heads of rules.

    ``named`` are constants, and values of guarded variables. ``ends`` are those of body atoms that share the
    variable of the class. ``are_any``: a head with a class of which nothing is known.
    """

    rdf_type: int
    named: set[int] = field(default_factory=set)
    ends: set[End] = field(default_factory=set)
    are_any: bool = False

    def add(self, rule: CompiledRule, size: int, columns: Mapping[int, Column]) -> None:
        """Add the classes of a rule's heads, by the table of its family: row count, and columns."""
        for head in rule.heads if size else ():
            is_type: Mask | None = None
            if head.p in columns:
                is_type = columns[head.p] == self.rdf_type
                if not is_type.any():
                    continue
            elif head.p >= 0 and head.p != self.rdf_type:
                continue
            elif head.p < 0:
                self.are_any = True
            if head.o >= 0:
                self.named.add(head.o)
            elif head.o in columns:
                column = columns[head.o]
                self.named.update((column if is_type is None else column[is_type]).tolist())
            else:
                self._add_open(rule, head.o)

    def _add_open(self, rule: CompiledRule, variable: int) -> None:
        """Add the classes that a variable stands for: the terms at an end of an atom that has it there."""
        data = [rule.atoms[position] for position in rule.data]
        needs = tuple(atom for atom in data if not atom.variables)
        for atom in data:
            if atom.p >= 0 and variable in (atom.s, atom.o):
                self.ends.add(End(atom.p, atom.o == variable, needs))
                return
        self.are_any = True

    def no_conclusions(self, candidates: Delta, facts: TripleIndex) -> Delta:
        """The types among the candidates that no rule concludes from ``facts``.

        Cost: O(|types|), and a look-up for each of their classes that is not named.
        """
        types = candidates.relation(self.rdf_type)
        if self.are_any or not types.size or types.is_compressed:
            return NOTHING
        others = [
            class_
            for class_ in types.object_terms().tolist()
            if class_ not in self.named and not any(end.has(class_, facts) for end in self.ends)
        ]
        if not others:
            return NOTHING
        keys = types.pairs().keys
        return Delta({self.rdf_type: keys[among(seconds(keys), np.array(others, np.uint32))]})
