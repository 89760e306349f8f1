"""The schema on the driver: the engine closes its facts; the other rules are for the cluster.

Invariant: after ``take`` and ``news``, ``index`` has all schema facts that the cluster has found and
their consequences, and the cluster has all of these that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from corollary.columns import Candidates, TripleIndex
from corollary.columns.pairs import Pairs, difference
from corollary.evaluate.engine import Engine
from corollary.execute.context import ExecutionContext
from corollary.execute.inclusions import Inclusions, about_rdf_type, closed_inclusions
from corollary.execute.run_plan import family_rows
from corollary.language import Program
from corollary.loaders.spark.driver_schema import DriverSchema
from corollary.loaders.spark.encoded_tables import DistributedDataSet
from corollary.loaders.spark.facts import Facts
from corollary.loaders.spark.guard_table import GuardTable
from corollary.loaders.spark.id_translation import IdTranslation
from corollary.plan.steps import Age
from corollary.program.compile import CompiledRule, is_virtual
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import InclusionShape, closed_predicate, inclusion_shape, symmetric_predicate
from corollary.program.stratify import refuse_static_cycles

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(slots=True)
class Distributed:
    """The rules for the cluster, by the algorithm that evaluates them. Ids are local."""

    inclusions: list[tuple[CompiledRule, InclusionShape]] = field(default_factory=list)
    joins: list[CompiledRule] = field(default_factory=list)
    stratified: list[CompiledRule] = field(default_factory=list)
    closing: list[tuple[CompiledRule, int]] = field(default_factory=list)
    symmetric: set[int] = field(default_factory=set)

    @staticmethod
    def of(compiled: CompiledProgram, on_driver: DriverSchema) -> Distributed:
        """Sort the rules that are not local."""
        rules = [rule for rule in compiled.rules if rule.heads and rule.source.body]
        found = Distributed()
        constants = {p for rule in rules if (p := closed_predicate(rule)) is not None and p >= 0}
        for rule in rules:
            is_settled = not rule.guards or on_driver.has_guards_of(rule)
            closed, symmetric = closed_predicate(rule), symmetric_predicate(rule)
            shape = inclusion_shape(rule, compiled.rdf_type)
            if on_driver.is_local(rule):
                continue
            if not rule.is_monotone:
                found.stratified.append(rule)
            elif closed is not None and is_settled:
                found.closing.append((rule, closed))
            elif symmetric is not None and symmetric in constants:
                found.symmetric.add(symmetric)
            elif shape is not None and is_settled:
                found.inclusions.append((rule, shape))
                found.joins += about_rdf_type(rule, compiled)
            else:
                found.joins.append(rule)
        return found

    def virtual(self) -> set[int]:
        """The virtual relations that these rules read."""
        atoms = [
            atom
            for rule in (*self.joins, *self.stratified, *(rule for rule, _ in self.inclusions))
            for atom in (*rule.atoms, *(a for negation in rule.negations for a in negation.atoms))
        ]
        return {atom.p for atom in atoms if is_virtual(atom.p)}


class Schema:
    """The engine on the driver, with the facts of the schema."""

    def __init__(
        self, program: Program, lengths: frozenset[int], translation: IdTranslation, explicit: DataFrame
    ) -> None:
        """``lengths`` are the lengths of lists that rules are unrolled for from the start."""
        self.translation = translation
        self._context = ExecutionContext(translation.dictionary)
        self.compiled = CompiledProgram(program, translation.dictionary, unrolls_all=True)
        self.compiled.unroll(lengths)
        self.on_driver = DriverSchema.of(program, translation.dictionary)
        translation.settle_all()
        given = translation.facts_inward(explicit.where(self._condition()))
        index = TripleIndex()
        for predicate, parts in given.items():
            index.add(predicate, Pairs.of(np.concatenate(parts)))
        self._engine = Engine(index, self.compiled)
        self._sent = index.snapshot()
        self._guards: dict[CompiledRule, GuardTable] = {}
        self.rules = Distributed.of(self.compiled, self.on_driver)
        self._rule_count = len(self.compiled.rules)

    @staticmethod
    def of(program: Program, data: DistributedDataSet, lengths: frozenset[int] = frozenset()) -> Schema:
        """The closed schema of a data set. Raises UnstratifiableError if a cycle exists for all facts."""
        schema = Schema(program, lengths, IdTranslation(data), data.explicit)
        if any(not rule.is_monotone for rule in schema.compiled.rules):
            refuse_static_cycles(schema.compiled)
        return schema

    @property
    def index(self) -> TripleIndex:
        """All facts of the engine, including virtual relations."""
        return self._engine.fixpoint.index

    def take(self, facts: Facts) -> None:
        """Add the recent facts of the cluster that are schema."""
        if not self._has_any(facts):
            return
        found = self.translation.facts_inward(facts.ages()[Age.RECENT].where(self._condition()))
        if not found:
            return
        self.add(found)
        for predicate, parts in found.items():
            known = self._sent.keys(predicate)
            self._sent.add(predicate, Pairs(difference(Pairs.of(np.concatenate(parts)).keys, known)))

    def add(self, found: Candidates) -> None:
        """Add schema facts, with local ids. Those that the cluster has not sent are ``news`` to it."""
        self._engine.add(found)
        self._guards.clear()
        if len(self.compiled.rules) != self._rule_count:
            self.rules = Distributed.of(self.compiled, self.on_driver)
            self._rule_count = len(self.compiled.rules)

    def news(self) -> DataFrame | None:
        """The engine's conclusions that have not been sent to the cluster; None if there are none."""
        wanted = self.rules.virtual()
        found: Candidates = {}
        for predicate in self.index.all_predicates():
            if not is_virtual(predicate) or predicate in wanted:
                known = self._sent.keys(predicate)
                keys = difference(self.index.keys(predicate), known)
                if keys.size:
                    found[predicate] = [keys]
                    self._sent.add(predicate, Pairs(keys))
        return self.translation.facts_outward(found)

    def has_any_in(self, facts: DataFrame) -> bool:
        """Whether some facts are schema."""
        return not facts.where(self._condition()).isEmpty()

    def guards(self, rule: CompiledRule) -> GuardTable | None:
        """The matches of a rule's guards; None if the rule has no guards, or they are not all schema."""
        if not self.on_driver.has_guards_of(rule):
            return None
        if rule not in self._guards:
            rows = family_rows(rule, self.index, self._context)
            self._guards[rule] = GuardTable.of(rows, rule, self.translation)
        return self._guards[rule]

    def included(self) -> Inclusions:
        """The closure of all inclusions, given the present schema."""
        inclusions, rdf_type = self.rules.inclusions, self.compiled.rdf_type
        return closed_inclusions(inclusions, self.index, self._context, rdf_type)

    def closed(self) -> dict[int, bool]:
        """The predicates (global ids) to close on the cluster, and whether they are symmetric."""
        found: dict[int, bool] = {}
        for rule, predicate in self.rules.closing:
            if predicate >= 0:
                found[predicate] = predicate in self.rules.symmetric
                continue
            rows = family_rows(rule, self.index, self._context)
            if rows.size:
                names = set(rows.columns[predicate].tolist()) - self.on_driver.predicates
                found |= {name: name in self.rules.symmetric for name in names if name not in found}
        return {self.translation.id(name): is_symmetric for name, is_symmetric in found.items()}

    def _names(self) -> tuple[list[int], list[int]]:
        """The predicates and classes of the driver's schema as global ids."""
        predicates, classes = (
            sorted(map(self.translation.id, names))
            for names in (self.on_driver.predicates, self.on_driver.classes)
        )
        return predicates, classes

    def _condition(self) -> Column:
        """The condition on rows of facts that selects the schema."""
        from pyspark.sql import functions as F

        predicates, classes = self._names()
        is_type = F.col("predicate") == self.translation.id(self.on_driver.rdf_type)
        return F.col("predicate").isin(predicates) | (is_type & F.col("object").isin(classes))

    def _has_any(self, facts: Facts) -> bool:
        predicates, classes = self._names()
        summary = facts.recent_summary
        return not (
            summary.predicates.keys().isdisjoint(predicates) and summary.classes.keys().isdisjoint(classes)
        )
