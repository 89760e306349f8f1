"""The semi-naive fixpoint on the cluster, with the rules and plans of the engine.

The engine on the driver closes the schema. It receives every schema fact that the cluster derives, and its
conclusions are sent to the cluster (``schema``). A round on the cluster derives candidates

1. by inclusions (subclasses, subproperties, inverses, domains, ranges): ``inclusions``;
2. by closures of relations: ``closures``;
3. by all other rules, with a full plan for new rows of guards, and delta plans for recent facts: ``joins``;
4. by the values of literals: ``literal_values``.

An anti-join with all facts keeps the new facts. Rules with negation are added stratum by stratum.

Invariant: every instance of a rule is applied in the first round in which all its premises are known, by
the driver's engine or on the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corollary.columns import TripleIndex
from corollary.columns.pairs import Pairs, difference, pack
from corollary.evaluate.engine import tables
from corollary.execute.context import ExecutionContext
from corollary.execute.inclusions import Inclusions
from corollary.language import Program
from corollary.loaders.spark import closures
from corollary.loaders.spark.encoded_tables import DistributedDataSet
from corollary.loaders.spark.facts import Facts, Summary
from corollary.loaders.spark.guard_table import GuardTable
from corollary.loaders.spark.join_inclusions import targets
from corollary.loaders.spark.joins import Joins
from corollary.loaders.spark.literal_values import Values
from corollary.loaders.spark.load import Doing, Notify
from corollary.loaders.spark.schema import Schema
from corollary.loaders.spark.tuning import MAX_EDGES_BROADCAST, MIN_FACTS_PER_RECENT_FACT
from corollary.plan.delta_plans import delta_plan, full_plan
from corollary.plan.steps import Age, DeltaPlan, Join, Step
from corollary.program.compile import Atom, CompiledRule
from corollary.program.compiled_program import VALUE_BUILTINS
from corollary.program.edges import Edge
from corollary.program.stratify import Strata, stratify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class DistributedEvaluation:
    """The evaluation of a program on the facts of a data set."""

    def __init__(
        self,
        data: DistributedDataSet,
        program: Program,
        folder: str,
        notify: Notify,
        lengths: frozenset[int] = frozenset(),
        schema: Schema | None = None,
    ) -> None:
        """``folder`` is for intermediate results. ``lengths`` are the known lengths of lists.

        ``schema`` is that of the program and the data, if it is closed already.
        """
        self.schema = Schema.of(program, data, lengths) if schema is None else schema
        self.translation = self.schema.translation
        compiled = self.schema.compiled
        self._notify = notify
        self._folder = folder
        self._rdf_type = self.translation.id(compiled.rdf_type)
        self.facts = Facts(data, folder, self._rdf_type)
        self.values: Values | None = None
        if compiled.uses(VALUE_BUILTINS):
            self.values = Values(compiled, self.translation, data.explicit, folder)
        self._included = Inclusions()
        self._applied: dict[CompiledRule, GuardTable | None] = {}
        self._active: list[CompiledRule] = []
        self._closed: dict[int, int] = {}
        self._is_first = True
        news = self.schema.news()
        if news is not None:
            self._add([news], may_be_many=False)

    def run(self) -> None:
        """Apply rounds until no fact is new."""
        changed = True
        while changed:
            recent, everything = len(self.facts.recent_summary), len(self.facts.summary)
            may_be_many = self._is_first or MIN_FACTS_PER_RECENT_FACT * recent > everything
            changed = self._add(list(self._candidates()), may_be_many=may_be_many)
            self._is_first = False

    def join_in(self, stratum: tuple[int, ...]) -> None:
        """Add the rules of a stratum, given by their numbers, and run to the fixpoint."""
        self._active += [rule for rule in self.schema.rules.stratified if rule.number in stratum]
        self._is_first = True
        self.run()

    def stratify(
        self, suspended: Collection[int] = (), earlier: Iterable[Edge] = ()
    ) -> tuple[Strata, tuple[Edge, ...]]:
        """The strata for the facts so far: see ``program.stratify``."""
        index, compiled = self._outline(), self.schema.compiled
        return stratify(
            compiled, index, tables(ExecutionContext(compiled.dictionary), index), suspended, earlier
        )

    def _add(self, candidates: list[DataFrame], *, may_be_many: bool) -> bool:
        """Add candidates. Returns whether any fact is new."""
        if not candidates:
            return False
        changed = self.facts.add(reduce(_union, candidates), may_be_many=may_be_many) > 0
        said = f"round {self.facts.rounds}: {len(self.facts.recent_summary):,} new facts"
        self._notify(Doing(said, len(self.facts.summary)))
        return changed

    def _candidates(self) -> Iterator[DataFrame]:
        """Yield the candidates of one round."""
        self.schema.take(self.facts)
        news = self.schema.news()
        if news is not None:
            yield news
        ages = self.facts.ages()
        yield from self._by_inclusions(ages)
        yield from self._by_closures(ages)
        joins = Joins(self.facts, self.translation, self._rdf_type)
        for rule in (*self.schema.rules.joins, *self._active):
            yield from self._by_rule(rule, joins)
        if self.values is not None:
            yield from self._by_values(self.values)

    def _by_inclusions(self, ages: dict[Age, DataFrame]) -> Iterator[DataFrame]:
        included = self.schema.included()
        new, known = included.without(self._included), self._included
        self._included = included
        for facts, part, summary in (
            (ages[Age.ALL], new, self.facts.summary),
            (ages[Age.RECENT], known, self.facts.recent_summary),
        ):
            if len(part) and len(summary):
                yield from targets(facts, part, summary, self.translation, self._rdf_type)

    def _by_closures(self, ages: dict[Age, DataFrame]) -> Iterator[DataFrame]:
        for predicate, symmetric in self.schema.closed().items():
            count = self.facts.summary.predicates[predicate]
            if not count or self._closed.get(predicate) == count:
                continue
            is_new = predicate not in self._closed
            edges = ages[Age.ALL].where(f"predicate = {predicate}")
            recent = edges if is_new else ages[Age.RECENT].where(f"predicate = {predicate}")
            path = f"{self._folder}/closure-{self.facts.rounds}-{predicate}"
            if count <= MAX_EDGES_BROADCAST:
                pairs = closures.closed_everywhere(edges, symmetric=symmetric)
            elif symmetric:
                pairs = closures.equivalence(edges, f"{path}-steps")
            else:
                pairs = closures.doubled(recent, edges)
            if count <= MAX_EDGES_BROADCAST or symmetric:
                pairs.write.parquet(path)
                pairs = edges.sparkSession.read.parquet(path)
                self._closed[predicate] = pairs.count()
            else:
                self._closed[predicate] = -1  # doubled in every round with recent facts
                if not is_new and not self.facts.recent_summary.predicates[predicate]:
                    continue
            yield pairs.selectExpr(f"{predicate}L as predicate", "subject", "object")

    def _by_rule(self, rule: CompiledRule, joins: Joins) -> Iterator[DataFrame]:
        """Yield a rule's conclusions: new rows of guards with all facts, other rows with recent facts."""
        guards = self.schema.guards(rule)
        is_new = rule not in self._applied
        applied = self._applied.get(rule)
        self._applied[rule] = guards
        if is_new or (guards is not None and applied is not None):
            rows = guards if applied is None or guards is None else guards.without(applied)
            may_hold, rows = self._restricted(rule, rows, None)
            if may_hold:
                yield from joins.heads(rule, _whole(rule, full_plan(rule, self._size)), rows)
        if is_new:
            return
        for position in rule.data if applied is not None else range(len(rule.atoms)):
            may_hold, rows = self._restricted(rule, applied, position)
            if may_hold:
                yield from joins.heads(rule, _steps(delta_plan(rule, position, self._size)), rows)

    def _by_values(self, values: Values) -> Iterator[DataFrame]:
        """Yield facts about the values of literals. Relations that are passed on go by their target names."""
        for relation, derived in values.derived(self.facts, self.schema.index):
            if relation not in self.schema.on_driver.passed_on:
                yield derived
                continue
            summary = Summary(Counter({self.translation.id(relation): 1}))
            yield from targets(derived, self._included, summary, self.translation, self._rdf_type)

    def _restricted(
        self, rule: CompiledRule, guards: GuardTable | None, trigger: int | None
    ) -> tuple[bool, GuardTable | None]:
        """Prune by the counts of facts: whether the body can match at all, and the rows of guards that can.

        The atom at the position ``trigger`` is matched by recent facts, all other atoms by all facts.
        """
        for position, atom in enumerate(rule.atoms):
            if guards is not None and position in rule.guards:
                continue
            everywhere = self.translation.atom(atom)
            summary = self.facts.recent_summary if position == trigger else self.facts.summary
            if not summary.most(everywhere, self._rdf_type):
                return False, guards
            if guards is not None:
                guards = guards.matching(everywhere, summary, self._rdf_type)
        return guards is None or guards.size > 0, guards

    def _size(self, atom: Atom) -> int:
        """The planner's cardinality estimate for an atom: the number of facts of its predicate."""
        if atom.p < 0:
            return len(self.facts.summary)
        return self.facts.summary.predicates[self.translation.id(atom.p)]

    def _outline(self) -> TripleIndex:
        """An index with the schema and one fact of every other predicate and class, for stratification.

        Equivalences have their facts about predicates and classes.
        """
        index = self.schema.index.snapshot()
        translation, rdf_type = self.translation, self.schema.compiled.rdf_type
        summary = self.facts.summary
        predicates = translation.inward(np.array(sorted(summary.predicates), np.int64))
        classes = translation.inward(np.array(sorted(summary.classes), np.int64))
        outline = {int(p): [np.zeros(1, np.uint64)] for p in predicates if not len(index.relation(int(p)))}
        outline[rdf_type] = [pack(np.zeros(classes.size, np.uint32), classes)]
        for predicate in self.schema.on_driver.equivalences:
            name = translation.id(predicate)
            if summary.predicates[name]:
                found = translation.facts_inward(self._equating(name, summary))
                outline[predicate] = found.get(predicate, [])
        for predicate, parts in outline.items():
            keys = Pairs.of(np.concatenate([*parts, np.empty(0, np.uint64)])).keys
            index.add(predicate, Pairs(difference(keys, index.keys(predicate))))
        return index

    def _equating(self, predicate: int, summary: Summary) -> DataFrame:
        """The facts of an equivalence whose subject is a predicate or class."""
        from pyspark.sql import functions as F

        facts = self.facts.ages()[Age.ALL].where(f"predicate = {predicate}")
        names = sorted({*summary.predicates, *summary.classes})
        known = facts.sparkSession.createDataFrame(pa.table({"subject": pa.array(names, pa.int64())}))
        return facts.join(F.broadcast(known), "subject", "left_semi")


def _steps(plan: DeltaPlan) -> tuple[Step, ...]:
    """The steps of a delta plan, beginning with the guards if it has a probe of them."""
    return (*plan.guard_probe, *plan.body) if plan.guard_probe else plan.direct


def _whole(rule: CompiledRule, plan: tuple[Step, ...]) -> tuple[Step, ...]:
    """A full plan with the joins of guards moved to the front."""
    guards = {rule.atoms[i] for i in rule.guards}
    first = [step for step in plan if isinstance(step, Join) and step.atom in guards]
    return (*first, *(step for step in plan if step not in first))


def _union(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionAll(right)
