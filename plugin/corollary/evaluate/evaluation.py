"""A program at work on facts: its rules handed to modules, and the fixpoint over these.

1. Rules go to the module that suits them: inclusions, transitive closures, and semi-naive evaluation
   for the rest. Rules among constant predicates that lead to guards (the schema) have a semi-naive
   module of their own, which comes first.
2. Rules over whole lists are unrolled for every list length that turns up.
3. Monotone rules run to the fixpoint at once, and again whenever facts are added. Rules with negation
   or aggregates join in when they are told to, stratum by stratum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corollary.algebra.bindings import Batch
from corollary.algebra.execute import Candidates, emit, family_rows
from corollary.evaluate.fixpoint import Fixpoint, Progress
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Column
from corollary.modules.datatypes import Datatypes
from corollary.modules.inclusion import Inclusion, inclusion_shape
from corollary.modules.lists import Lists
from corollary.modules.module import Module
from corollary.modules.semi_naive import SemiNaive
from corollary.modules.transitive import Transitive, closed_predicate
from corollary.plan.compile import CompiledRule, Tables
from corollary.plan.program import LIST_BUILTINS, VALUE_BUILTINS, CompiledProgram
from corollary.plan.stratify import Strata, stratify


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which module evaluates a rule."""

    rule: CompiledRule
    module: str


def tables(compiled: CompiledProgram, facts: TripleIndex) -> Tables:
    """What gives the rows of the program's families, given these facts."""

    def rows(rule: CompiledRule) -> tuple[int, dict[int, Column]]:
        batch = family_rows(rule, facts, compiled.dictionary)
        return batch.size, batch.columns

    return rows


class Evaluation:
    """The modules of a program, and all facts that they have derived so far: ``fixpoint.index``."""

    def __init__(self, explicit: TripleIndex, compiled: CompiledProgram, progress: Progress | None) -> None:
        dictionary, rdf_type = compiled.dictionary, compiled.rdf_type
        self.compiled = compiled
        self.assignments: list[Assignment] = []
        self._schema_predicates = compiled.guard_predicates()
        self._lists = Lists(dictionary, compiled.list_predicates()) if compiled.uses(LIST_BUILTINS) else None
        self._transitive = Transitive(dictionary, rdf_type)
        self._schema = SemiNaive("schema", dictionary)
        self._inclusion = Inclusion(dictionary, rdf_type)
        self._rules = SemiNaive("rules", dictionary)
        modules: list[Module] = [self._lists] if self._lists else []
        if compiled.uses(VALUE_BUILTINS):
            modules.append(Datatypes(dictionary, compiled.predicates(), compiled.classes()))
        modules += [self._transitive, self._schema, self._inclusion, self._rules]
        index = explicit.snapshot()
        facts: Candidates = {}
        for rule in compiled.rules:
            self._assign(rule, facts)
        self.fixpoint = Fixpoint(index, modules, progress)
        self.add(facts)

    def add(self, facts: Candidates) -> None:
        """Add facts and what the monotone rules make of them, and of the strata that joined in."""
        self.fixpoint.include(facts)
        self.fixpoint.run(self._unroll)

    @property
    def cells(self) -> Mapping[int, tuple[int, ...]]:
        """The cells that each reading of a list goes over."""
        return {} if self._lists is None else self._lists.cells

    @property
    def has_strata(self) -> bool:
        """Whether there are rules with negation or aggregates."""
        return any(not rule.is_monotone and rule.heads for rule in self.compiled.rules)

    def stratify(self) -> Strata:
        """The strata, given the facts so far."""
        index = self.fixpoint.index
        return stratify(self.compiled, index, tables(self.compiled, index))

    def _unroll(self) -> None:
        """Take in the rules for list lengths that are new."""
        if self._lists is not None:
            facts: Candidates = {}
            for rule in self.compiled.unroll(self._lists.lengths):
                self._assign(rule, facts)

    def evaluate(self, strata: Strata) -> None:
        """Let the rules that are not monotone join in, stratum by stratum."""
        by_number = {rule.number: rule for rule in self.compiled.rules}
        for stratum in strata.rules:
            for number in stratum:
                if number in by_number:
                    self._rules.add_rule(by_number[number])
            self.fixpoint.run(self._unroll)

    def _assign(self, rule: CompiledRule, facts: Candidates) -> None:
        """Hand a rule to the module that evaluates it; a rule without body states facts."""
        module = "constraint"
        if not rule.heads:
            pass
        elif not rule.source.body:
            emit(rule.heads, Batch.start(), facts)
            module = "fact"
        elif not rule.is_monotone:
            module = "stratified"
        elif (predicate := closed_predicate(rule)) is not None:
            self._transitive.add_rule(rule, predicate)
            module = self._transitive.name
        elif (shape := inclusion_shape(rule, self.compiled.rdf_type)) is not None:
            self._inclusion.add_rule(rule, shape)
            module = self._inclusion.name
            ends = [shape.source] * (not shape.from_class) + [shape.target] * (not shape.to_class)
            for variant in self.compiled.about_rdf_type(rule, ends):
                self._rules.add_rule(variant)
        else:
            semi_naive = self._schema if self._is_schema(rule) else self._rules
            semi_naive.add_rule(rule)
            module = semi_naive.name
        self.assignments.append(Assignment(rule, module))

    def _is_schema(self, rule: CompiledRule) -> bool:
        """Whether a rule leads from constant predicates to guards of other rules."""
        return (
            not rule.guards
            and all(atom.p >= 0 for atom in rule.atoms)
            and all(head.p in self._schema_predicates for head in rule.heads)
        )
