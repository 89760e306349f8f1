"""The plans of rules as joins of tables.

The steps of a plan (``plan.steps``) are run in order, as in the engine, with two differences. The guards of a
rule are not joined one by one: the driver knows their matches, which are one small table and are broadcast. A
variable that is the predicate of an atom can only stand for a predicate that has facts. The driver knows all
of these, so other atoms that bind such a variable are restricted to them.

Invariant: bindings are tables with a column for every variable bound so far.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.columns import FIRST_VIRTUAL
from corollary.loaders.spark.conditions import filtered, name_of
from corollary.loaders.spark.facts import Facts
from corollary.loaders.spark.guard_table import GuardTable
from corollary.loaders.spark.id_translation import IdTranslation
from corollary.loaders.spark.tuning import MAX_ROWS_BROADCAST, MAX_VALUES_LISTED
from corollary.plan.steps import Age, AntiJoin, Distinct, Group, Join, Select, Step
from corollary.program.compile import Atom, CompiledRule, Negation

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(slots=True)
class Bindings:
    """A table, its variables, and an upper bound for its rows; ``is_start``: the one empty binding."""

    table: DataFrame
    variables: frozenset[int]
    most: int
    is_start: bool = False

    @property
    def is_small(self) -> bool:
        """Whether the table may be broadcast."""
        return self.most <= MAX_ROWS_BROADCAST


class Joins:
    """Runs plans over the present facts."""

    def __init__(self, facts: Facts, translation: IdTranslation, rdf_type: int) -> None:
        self._ages = facts.ages()
        self._predicates = sorted(p for p in facts.summary.predicates if p < FIRST_VIRTUAL)
        self._facts = facts
        self._translation = translation
        self._rdf_type = rdf_type
        self._spark: SparkSession = self._ages[Age.ALL].sparkSession

    def heads(self, rule: CompiledRule, steps: Iterable[Step], guards: GuardTable | None) -> list[DataFrame]:
        """The conclusions of a plan, a table per head. ``guards`` are the matches of the rule's guards."""
        bindings = self._run(rule, steps, guards).table
        return [bindings.select(*_head(self._translation.atom(head))) for head in rule.heads]

    def _run(self, rule: CompiledRule, steps: Iterable[Step], guards: GuardTable | None) -> Bindings:
        guard_atoms = set() if guards is None else {rule.atoms[i] for i in rule.guards}
        bindings = self._start()
        rows = None  # the guards' matches, while they are all of the bindings
        for step in steps:
            match step:
                case Distinct():
                    pass  # restricts the guards' matches, which the caller has done
                case Join() if step.atom in guard_atoms:
                    if guards is not None:
                        rows = guards if bindings.is_start else None
                        bindings = self._with_guards(bindings, guards)
                        guards = None
                case Join():
                    bindings = self._joined(bindings, step.atom, step.age, rule, rows)
                    rows = None
                case Select():
                    if not (guard_atoms and step.condition.needs <= rule.guarded):  # else the guards decide
                        table = filtered(bindings.table, step.condition, rule, self._translation)
                        bindings = Bindings(table, bindings.variables, bindings.most)
                case AntiJoin():
                    bindings = self._without(bindings, step.negation, rule)
                case Group():
                    raise AssertionError("aggregates are refused before")
        return bindings

    def _with_guards(self, bindings: Bindings, guards: GuardTable) -> Bindings:
        if not guards.columns:
            return bindings
        rows = pa.table({name_of(v): column for v, column in guards.columns.items()})
        table = self._spark.createDataFrame(rows)
        return _join(bindings, Bindings(table, frozenset(guards.columns), guards.size))

    def _start(self) -> Bindings:
        """The start of every plan: the one empty binding."""
        return Bindings(self._spark.range(1).select(), frozenset(), 1, is_start=True)

    def _joined(
        self, bindings: Bindings, atom: Atom, age: Age, rule: CompiledRule, guards: GuardTable | None = None
    ) -> Bindings:
        """Join the bindings with the matches of an atom.

        If the bindings are the matches of guards only, ``guards`` gives a better upper bound for the result.
        """
        summary = self._facts.recent_summary if age == Age.RECENT else self._facts.summary
        everywhere = self._translation.atom(atom)
        matches = Bindings(
            self._matches(atom, age, rule), atom.variables, summary.most(everywhere, self._rdf_type)
        )
        joined = _join(bindings, matches)
        if guards is not None:
            joined.most = min(joined.most, guards.most(everywhere, summary, self._rdf_type))
        return joined

    def _matches(self, atom: Atom, age: Age, rule: CompiledRule) -> DataFrame:
        """The facts that match an atom, with a column per variable."""
        from pyspark.sql import functions as F

        facts = self._ages[age]
        columns: dict[int, Column] = {}
        named = zip(("subject", "predicate", "object"), self._translation.atom(atom).terms, strict=True)
        for name, term in sorted(named, key=lambda item: item[0] != "predicate"):
            if term >= 0:
                facts = facts.where(F.col(name) == term)
            elif term in columns:
                facts = facts.where(F.col(name) == columns[term])
            else:
                columns[term] = F.col(name)
                if name == "predicate":
                    facts = facts.where(F.col(name) < FIRST_VIRTUAL)  # no virtual relations
                if name != "predicate" and any(other.p == term for other in rule.atoms):
                    facts = self._where_listed(facts, name)
        if atom.s < 0 and atom.o < 0 and _is_idle(rule, atom.s, atom.o):
            facts = facts.where(F.col("subject") != F.col("object"))
        return facts.select(*(column.alias(name_of(term)) for term, column in columns.items()))

    def _where_listed(self, facts: DataFrame, name: str) -> DataFrame:
        """The facts whose ``name`` (subject or object) is an existing predicate."""
        from pyspark.sql import functions as F

        if len(self._predicates) <= MAX_VALUES_LISTED:
            return facts.where(F.col(name).isin(self._predicates))
        known = self._spark.createDataFrame(pa.table({name: pa.array(self._predicates, pa.int64())}))
        return facts.join(F.broadcast(known), name, "left_semi")

    def _without(self, bindings: Bindings, negation: Negation, rule: CompiledRule) -> Bindings:
        """Anti-join: the bindings for which the negated atoms have no match."""
        from pyspark.sql import functions as F

        shared = sorted(negation.shared)
        names = [name_of(v) for v in shared]
        matches = Bindings(bindings.table.select(*names).distinct(), negation.shared, bindings.most)
        if not shared:
            matches = self._start()
        rest = list(negation.atoms)
        while rest:
            following = max(rest, key=lambda a: len(a.variables & matches.variables) - len(a.variables))
            rest.remove(following)
            matches = self._joined(matches, following, Age.ALL, rule)
        on: list[str] | Column = names or F.lit(True)
        found = matches.table.select(*names).distinct() if shared else matches.table.limit(1)
        table = bindings.table.join(found, on, "left_anti")
        return Bindings(table, bindings.variables, bindings.most)


def _is_idle(rule: CompiledRule, one: int, other: int) -> bool:
    """Whether a rule concludes only its own premises if the two variables have the same value.

    The equality rules are like this: nothing new follows from ``x owl:sameAs x``.
    """

    def merged(atom: Atom) -> Atom:
        return Atom(*(one if term == other else term for term in atom.terms))

    return {merged(head) for head in rule.heads} <= {merged(atom) for atom in rule.atoms}


def _join(left: Bindings, right: Bindings) -> Bindings:
    """The natural join; a small side is broadcast."""
    from pyspark.sql import functions as F

    if left.is_start:
        return right
    names = [name_of(v) for v in sorted(left.variables & right.variables)]
    one, other = (F.broadcast(side.table) if side.is_small else side.table for side in (left, right))
    table = one.join(other, names) if names else one.crossJoin(other)
    return Bindings(table, left.variables | right.variables, left.most * right.most)


def _head(head: Atom) -> list[Column]:
    from pyspark.sql import functions as F

    def column(term: int, name: str) -> Column:
        return (F.col(name_of(term)) if term < 0 else F.lit(term).cast("long")).alias(name)

    return [column(head.p, "predicate"), column(head.s, "subject"), column(head.o, "object")]
