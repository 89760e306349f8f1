"""Which facts are the schema: the facts that the engine on the driver closes.

The schema has all facts that guards match (see ``program.compile``), the cells of lists, and the facts from
which rules without guards derive schema facts. A rule that reads only schema is *local*: the engine on the
driver applies it. All other rules are evaluated on the cluster, with the rows of their guards as a small
table.

A virtual relation of values that rules only include in others (``dt-diff``) is *passed on*: its facts are
derived directly under the target names, and are never stored.

Equivalence relations (``owl:sameAs``) are not schema even if guards match them, because most of their facts
are about data. Rules with such guards read these facts on the cluster, like any other facts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from corollary.columns.pairs import among, seconds
from corollary.kernels.sorted import Keys
from corollary.language import Program
from corollary.modules.registry import MODULES
from corollary.program.compile import Atom, CompiledRule, is_virtual
from corollary.program.compiled_program import VALUE_BUILTINS, CompiledProgram
from corollary.program.shapes import closed_predicate, inclusion_shape, symmetric_predicate
from corollary.terms.dictionary import TermDictionary


@dataclass(slots=True)
class DriverSchema:
    """The predicates, and the classes, whose facts are all schema. Ids are local.

    ``values`` are the virtual relations of values, ``passed_on`` those that only inclusions read.
    ``equivalences`` are the constant predicates that rules make symmetric and transitive.
    """

    rdf_type: int
    values: frozenset[int]
    equivalences: frozenset[int]
    passed_on: frozenset[int]
    predicates: set[int] = field(default_factory=set)
    classes: set[int] = field(default_factory=set)

    @staticmethod
    def of(source: Program, dictionary: TermDictionary) -> DriverSchema:
        """The schema of a program; independent of the lists in the data."""
        program = CompiledProgram(source, dictionary, unrolls_all=True)
        program.unroll((1,))
        rules = [rule for rule in program.rules if rule.heads and rule.source.body]
        closed = {closed_predicate(rule) for rule in rules}
        symmetric = {symmetric_predicate(rule) for rule in rules}
        values = frozenset(map(program.dictionary.encode, sorted(VALUE_BUILTINS)))
        equivalences = frozenset(p for p in closed & symmetric if p is not None and p >= 0)
        inclusions = {
            rule for rule in rules if not rule.guards and inclusion_shape(rule, program.rdf_type) is not None
        }
        looked_at = {atom.p for rule in rules if rule not in inclusions for atom in rule.read}
        schema = DriverSchema(program.rdf_type, values, equivalences, values - looked_at)
        for module in MODULES:
            schema.predicates |= set(module.schema_predicates(program))
        for rule in rules:
            schema._add(rule.atoms[i] for i in rule.guards)
        plain = [rule for rule in rules if schema._may_be_schema(rule)]
        size = -1
        while size != (size := len(plain)):
            for rule in [rule for rule in plain if all(map(schema.has, rule.heads))]:
                plain.remove(rule)
                schema._add(rule.atoms)
        return schema

    def has(self, atom: Atom) -> bool:
        """Whether all facts that match an atom are schema."""
        if is_virtual(atom.p):
            return atom.p not in self.values
        if atom.p == self.rdf_type:
            return atom.o >= 0 and atom.o in self.classes
        return atom.p in self.predicates

    def only(self, predicate: int, keys: Keys) -> Keys:
        """The facts of a predicate that are schema."""
        if predicate == self.rdf_type:
            return keys[among(seconds(keys), np.array(sorted(self.classes), np.uint32))]
        return keys if predicate in self.predicates else keys[:0]

    def is_local(self, rule: CompiledRule) -> bool:
        """Whether a rule reads only schema, so that the engine on the driver applies it."""
        return rule.is_monotone and all(map(self.has, rule.atoms))

    def has_guards_of(self, rule: CompiledRule) -> bool:
        """Whether a rule has guards, and all facts that they match are schema."""
        return bool(rule.guards) and all(self.has(rule.atoms[i]) for i in rule.guards)

    def _add(self, atoms: Iterable[Atom]) -> None:
        for atom in atoms:
            if is_virtual(atom.p) or atom.p in self.equivalences:
                continue
            if atom.p == self.rdf_type:
                self.classes.add(atom.o)
            else:
                self.predicates.add(atom.p)

    def _may_be_schema(self, rule: CompiledRule) -> bool:
        return (
            not rule.guards
            and rule.is_monotone
            and all(atom.p >= 0 and (atom.p != self.rdf_type or atom.o >= 0) for atom in rule.atoms)
            and not any(atom.p in self.equivalences for atom in rule.atoms)
        )
