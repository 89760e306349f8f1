"""The number of inconsistencies after the rounds: that of the engine.

A constraint is a rule without a head; an inconsistency is a binding of its body. Few facts of a data set are
in one. So executors look for facts that may be (*candidates*), the driver collects these, and the engine
counts the inconsistencies of candidates and schema under the constraints alone.

Invariant: every fact of an inconsistency is a candidate or schema, and every candidate is a fact of the
materialisation. So the engine finds the same inconsistencies there, and counts them in the same way: distinct
ones, or bindings where a constraint has more than are listed (``evaluate.inconsistency``).

1. A job looks for facts of each premise that is no schema. A constraint one of whose premises has none is
   done with: most are. The same job finds the facts of guards (``owl:disjointWith``), which are few. The
   driver joins these with the schema. So the properties and classes of the other premises are known.
2. A second job joins facts that share a subject or an object (``clash_tasks``), on partitions of these terms.
   Example: ``?u a ?c``, ``?u ?p ?v`` are joined by u; then ``?v a ?d`` is joined with ``?u ?p ?v`` by v.

Each premise is reduced by one semi-join. (Yannakakis' algorithm, VLDB 1981, would make several passes.) That
leaves few facts of the constraints of OWL 2 RL. Filters that ids decide are applied, others and NOT are left
to the engine. For DATATYPE_CLASH only literals are looked at, and plain ones only for datatypes that are not
those of all plain literals. If too many candidates are left, inconsistencies are not counted (``Uncounted``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.columns import FIRST_VIRTUAL, Candidates, TripleIndex
from corollary.columns.pairs import NO_COLUMN, among, distinct
from corollary.evaluate import materialise
from corollary.evaluate.pairs_of_items import second_cells
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import distinct_rows, run, sizes
from corollary.kernels.sorted import Column
from corollary.language import Call, Expression, Filter, Program, Variable, variables
from corollary.loaders.encoded_format import COLUMNS, EXPLICIT, GENERALISED, INFERRED
from corollary.loaders.spark.clash_tasks import (
    NUMBERED,
    Meeting,
    Pattern,
    Route,
    Share,
    joined,
    numbered,
    routed,
)
from corollary.loaders.spark.conditions import filtered, name_of
from corollary.loaders.spark.encoded_tables import Batches, DistributedDataSet
from corollary.loaders.spark.literal_values import Values
from corollary.loaders.spark.packed_facts import ROWS, slots_for
from corollary.loaders.spark.partition_rounds import partitions_for
from corollary.loaders.spark.program_cut import is_by_ids
from corollary.loaders.spark.schema import Schema
from corollary.loaders.spark.tuning import MAX_FACTS_OF_CLASHES, MAX_PAIRS_OF_ITEMS
from corollary.plan.delta_plans import full_plan
from corollary.plan.steps import Age
from corollary.program.compile import Atom, CompiledRule, Condition
from corollary.program.stratify import called
from corollary.terms.values import PLAIN_DATATYPES, SUPPORTED_DATATYPES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Table = Any
"""Facts that tasks have found, as rows ``NUMBERED``."""

Tested = tuple[CompiledRule, Atom]
"""A constraint, and a premise on whose variables alone it has filters."""

_Key = tuple[Atom, bool]
"""An atom with -1 for its variables, and whether its subject is a literal."""


class Uncounted(Exception):
    """Inconsistencies are not counted. The message is the reason."""


@dataclass(frozen=True)
class ClosedFacts:
    """Facts that are closed under a program: E and the inferred facts (``written``), schema, and values.

    ``schema`` has all schema facts among them. ``folder`` is for intermediate results.
    """

    data: DistributedDataSet
    written: DistributedDataSet
    schema: Schema
    values: Values | None
    folder: str

    def matching(self, patterns: Sequence[tuple[Pattern, Share]]) -> tuple[Table, dict[int, int]]:
        """Facts that match patterns, and the number of those that were found for each pattern."""
        found = self._written(self._mapped(numbered(patterns), NUMBERED), "premises")
        return found, dict(found.groupBy("number").count().collect())

    def joined(self, meetings: Sequence[Meeting], routes: Sequence[Route]) -> Table:
        """The facts that have partners."""
        spark = self.data.terms.sparkSession
        slots = slots_for(spark, partitions_for(self.data.facts["explicit"], spark))
        rows = self._mapped(routed(routes, slots), ROWS).repartition(len(slots), "target")
        return self._written(rows.mapInArrow(joined(meetings), NUMBERED), "candidates")

    def collected(
        self, found: Table, numbers: Sequence[int], tested: Mapping[int, Tested] | None = None
    ) -> Candidates:
        """The facts with some numbers, with local ids. Raises ``Uncounted`` if they are too many.

        If they are, those that have the number of a ``tested`` premise are filtered before. A fact counts
        once. It is found at most twice with a number: at the home of its subject, and at that of its object.
        """
        wanted = found.where(found.number.isin([*numbers]))
        if tested and wanted.count() > MAX_FACTS_OF_CLASHES:
            rest = found.where(found.number.isin([n for n in numbers if n not in tested]))
            for number, (form, atom) in tested.items():
                facts = self._tested(found.where(found.number == number), form, atom)
                rest = rest.unionByName(facts)
            wanted = self._written(rest, "tested")
        count = wanted.count()
        if MAX_FACTS_OF_CLASHES < count <= 2 * len(numbers) * MAX_FACTS_OF_CLASHES:
            wanted = wanted.select(*COLUMNS).distinct()
            count = wanted.count()
        if count > MAX_FACTS_OF_CLASHES:
            raise Uncounted(f"more than {MAX_FACTS_OF_CLASHES:,} facts may be in one")
        return self.schema.translation.facts_inward(wanted)

    def _tested(self, facts: DataFrame, form: CompiledRule, atom: Atom) -> DataFrame:
        """The facts that match an atom for which the filters on its variables are true."""
        ends = zip(("subject", "predicate", "object"), atom.terms, strict=True)
        names = {name: name_of(term) for name, term in ends if term < 0}
        rows = facts.withColumnsRenamed(names)
        for condition in form.conditions:
            if condition.needs <= atom.variables:
                rows = filtered(rows, condition, form, self.schema.translation)
        return rows.withColumnsRenamed({column: name for name, column in names.items()})

    def ill_typed(self) -> Column | None:
        """The ill-typed literals that facts may have: global ids, ascending. None if they are many."""
        return NO_COLUMN if self.values is None else _few_ids(self.values.ill_typed())

    def marked(self) -> Column | None:
        """As ``ill_typed``, the literals with a datatype or a language."""
        return None if self.values is None else _few_ids(self.values.marked())

    def _mapped(self, function: Callable[[Batches], Batches], schema: str) -> DataFrame:
        """What tasks make of all facts, with global ids."""
        explicit = self.data.mapped(EXPLICIT, function, schema)
        inferred = self.written.mapped(INFERRED, function, schema)
        return explicit.unionAll(inferred).unionAll(self.written.mapped(GENERALISED, function, schema))

    def _written(self, facts: DataFrame, name: str) -> DataFrame:
        facts.write.parquet(f"{self.folder}/{name}")
        return facts.sparkSession.read.schema(facts.schema).parquet(f"{self.folder}/{name}")


def count_clashes(facts: ClosedFacts) -> int:
    """The number of inconsistencies, as ``MaterialisedView.inconsistency_count``. Raises ``Uncounted``.

    Without constraints there is no cost.
    """
    source = facts.schema.compiled.source
    constraints = Program(tuple(rule for rule in source if not rule.heads), source.prefixes, source.name)
    if not constraints:
        return 0
    found = _Candidates(facts).found()
    if found is None:
        return 0
    return materialise(found, constraints, facts.schema.translation.dictionary).inconsistency_count


class _Candidates:
    """The candidates for the constraints of a program. Ids are local, but for those in patterns."""

    def __init__(self, facts: ClosedFacts) -> None:
        self._facts = facts
        self._on_driver = facts.schema.on_driver
        self._translation = facts.schema.translation
        self._rdf_type = facts.schema.compiled.rdf_type
        self._ill_typed = self._translation.dictionary.encode("ILL_TYPED")
        self._context = ExecutionContext(self._translation.dictionary)
        self._index = facts.schema.index.snapshot()
        self._fetched: set[_Key] = set()

    def found(self) -> TripleIndex | None:
        """The candidates and the schema; None if no constraint can match.

        Raises ``Uncounted`` if they are too many, or not known.
        """
        forms = [rule for rule in self._facts.schema.compiled.rules if not rule.heads]
        meetings: list[Meeting] = []
        routes: list[Route] = []
        tested: dict[int, Tested] = {}
        is_any = False
        for form in self._with_facts(forms):
            rows = self._rows(form)
            if not rows.size:
                continue
            is_any = True
            self._refuse_values(form)
            atom = self._to_test(form)
            number = 0 if atom is None else len(tested) + 1
            if atom is not None:
                tested[number] = form, atom
            for meeting, ways in self._meetings(form, rows, number):
                meetings.append(meeting)
                routes += ways
        if not is_any:
            return None
        if meetings:
            found = self._facts.joined(meetings, routes)
            self._take(self._facts.collected(found, range(len(tested) + 1), tested))
        return TripleIndex(
            self._index.relations_of(p for p in self._index.all_predicates() if p < FIRST_VIRTUAL)
        )

    def _take(self, facts: Candidates) -> None:
        for predicate, parts in facts.items():
            self._index.add_new(predicate, list(parts))

    # Which constraints have facts

    def _with_facts(self, forms: Sequence[CompiledRule]) -> list[CompiledRule]:
        """The constraints whose premises all have facts, each by itself.

        Facts of guards that are no schema are added to the index, unless they are many. So is a fact with
        each ill-typed literal.
        """
        asked: dict[_Key, int] = {}
        of_form = {
            form: {asked.setdefault(self._key(form, i), len(asked)) for i in self._data(form)}
            for form in forms
        }
        guards = {asked[self._key(form, i)] for form in forms for i in self._data(form) if i in form.guards}
        patterns = [
            (Pattern.of(self._translation.atom(atom), of_literals=is_literal), share)
            for (atom, is_literal), number in asked.items()
            for share in [Share.ALL if number in guards else Share.ONE]
        ]
        ill_typed = self._ill_typed_literals(forms)
        if ill_typed.size:
            patterns.append((Pattern(objects=ill_typed), Share.ONE_OF_EACH_OBJECT))
        if not patterns:
            return [form for form in forms if self._ill_typed not in form.needs]
        found, counts = self._facts.matching(patterns)
        few = {number for number in guards if 0 < counts.get(number, 0) <= MAX_FACTS_OF_CLASHES}
        self._fetched = {key for key, number in asked.items() if number in few}
        wanted = [*few, *range(len(asked), len(patterns))]
        if not counts.keys().isdisjoint(wanted):
            self._take(self._facts.collected(found, wanted))
        return [
            form
            for form, numbers in of_form.items()
            if numbers <= counts.keys() and (ill_typed.size or self._ill_typed not in form.needs)
        ]

    def _key(self, form: CompiledRule, position: int) -> _Key:
        """What distinguishes the facts that an atom may match: its constants, and if they are of literals."""
        atom = form.atoms[position]
        is_literal = atom.p == self._rdf_type and (atom.s, atom.o) in self._clashing(form)
        return Atom(*(max(term, -1) for term in atom.terms)), is_literal

    def _data(self, form: CompiledRule) -> list[int]:
        """The positions of premises whose facts are not all schema, but for those about values."""
        values = self._on_driver.values
        return [i for i, a in enumerate(form.atoms) if not self._on_driver.has(a) and a.p not in values]

    def _clashing(self, form: CompiledRule) -> set[tuple[int, ...]]:
        """The variables that DATATYPE_CLASH has: for a literal, and for a datatype."""
        calls = [call for condition in form.conditions for call in _calls(condition)]
        pairs = [call.arguments for call in calls if call.function == "datatype_clash"]
        named = [[term for term in pair if isinstance(term, Variable)] for pair in pairs]
        return {tuple(map(form.slot, pair)) for pair in named}

    def _ill_typed_literals(self, forms: Iterable[CompiledRule]) -> Column:
        """The ill-typed literals that facts may have, if a constraint asks for them. Ids are global."""
        if not any(self._ill_typed in form.needs for form in forms):
            return NO_COLUMN
        found = self._facts.ill_typed()
        if found is None:
            raise Uncounted(f"more than {MAX_FACTS_OF_CLASHES:,} literals are ill-typed")
        return found

    def _refuse_values(self, form: CompiledRule) -> None:
        """Raise ``Uncounted`` for a constraint about values of literals, but for ILL_TYPED."""
        known = {self._ill_typed} & form.needs
        if {atom.p for atom in form.read} & (self._on_driver.values - known):
            raise Uncounted(f"{called(form)} reads values of literals")

    # Which facts have partners

    def _is_known(self, form: CompiledRule, position: int) -> bool:
        """Whether the index has all facts that a premise matches."""
        is_fetched = position in form.guards and self._key(form, position) in self._fetched
        return is_fetched or self._on_driver.has(form.atoms[position])

    def _rows(self, form: CompiledRule) -> Batch:
        """What the known premises allow for the variables that they share with others. Ids are global."""
        known = [i for i in range(len(form.atoms)) if self._is_known(form, i)]
        others = _variables(form.atoms[i] for i in self._data(form) if i not in known)
        part = _part(form, [form.atoms[i] for i in known], form.conditions)
        bound = _variables(part.atoms)
        self._refuse_many_pairs(form)
        shared = sorted(bound & others)
        plan, wanted = full_plan(part, sizes(self._index)), shared or sorted(bound)[:1]
        batch = run(plan, {Age.ALL: self._index}, part, self._context, wanted=wanted)
        if not (batch.size and shared):
            return Batch.start() if batch.size else Batch.none()
        batch = distinct_rows(batch, shared)
        outward = self._translation.outward
        return Batch(
            batch.size, {v: outward(column).astype(np.uint32) for v, column in batch.columns.items()}
        )

    def _refuse_many_pairs(self, form: CompiledRule) -> None:
        """Raise ``Uncounted`` for a constraint with PAIR if lists have too many pairs of items."""
        cells = second_cells(form, self._translation.dictionary)
        if cells:
            relation = self._index.relation(form.atoms[cells[0]].p)
            lengths = relation.subject_counts(relation.subject_terms()).astype(np.int64)
            if int(np.square(lengths).sum()) > MAX_PAIRS_OF_ITEMS:
                raise Uncounted(f"{called(form)} reads long lists")

    def _to_test(self, form: CompiledRule) -> Atom | None:
        """The only premise of a constraint that is not known, if there are filters on its variables alone."""
        data = [form.atoms[i] for i in self._data(form) if not self._is_known(form, i)]
        if len(data) != 1 or len(set(data[0].terms)) < len(data[0].terms):
            return None
        return data[0] if any(c.needs <= data[0].variables for c in form.conditions) else None

    def _meetings(
        self, form: CompiledRule, rows: Batch, number: int
    ) -> Iterator[tuple[Meeting, list[Route]]]:
        """The joins that find the facts of a constraint's premises, and where these facts are joined.

        ``number`` is that of the facts, but for those of negated premises.
        """
        data = [i for i in self._data(form) if not self._is_known(form, i)]
        atoms = {i: self._translation.atom(form.atoms[i]) for i in data}
        patterns = {i: self._patterns(form, i, atoms[i], rows) for i in data}
        waiting = set(data)
        while waiting:
            shared = self._shared([atoms[i] for i in sorted(waiting)])
            joined = [i for i in data if shared in self._ends(atoms[i])] or [min(waiting)]
            part = _part(form, [atoms[i] for i in joined], _by_ids(form))
            asked = tuple((atoms[i], patterns[i]) for i in joined if i in waiting)
            by_object = {i: shared is not None and atoms[i].s != shared for i in joined}
            bound = sorted(rows.columns.keys() & _variables(part.atoms))
            start = distinct_rows(rows, bound) if bound else Batch.start()
            yield (
                Meeting(part, start, asked, number),
                [(p, by_object[i]) for i in joined for p in patterns[i]],
            )
            waiting.difference_update(joined)
        for atom in (atom for negation in form.negations for atom in negation.atoms):
            if not self._on_driver.has(atom):
                outside = self._translation.atom(atom)
                of_atom = (Pattern.of(outside),)
                yield (
                    Meeting(_part(form, [outside], ()), Batch.start(), ((outside, of_atom),)),
                    [(of_atom[0], False)],
                )

    def _ends(self, atom: Atom) -> set[int]:
        """The variables by which facts may be joined: not by their class."""
        is_type = atom.p == self._translation.id(self._rdf_type)
        return {end for end in ((atom.s,) if is_type else (atom.s, atom.o)) if end < 0}

    def _shared(self, atoms: Sequence[Atom]) -> int | None:
        """The variable that the most atoms have as subject or object; as subject, if there are several."""
        ends = [self._ends(atom) for atom in atoms]

        def rank(variable: int) -> tuple[int, int, int]:
            return (
                sum(variable in those for those in ends),
                sum(atom.s == variable for atom in atoms),
                variable,
            )

        return max(set().union(*ends), key=rank, default=None)

    def _patterns(self, form: CompiledRule, position: int, atom: Atom, rows: Batch) -> tuple[Pattern, ...]:
        """The facts that a premise may match, given what the schema allows.

        A literal clashes with supported datatypes only, and a plain one with none of ``PLAIN_DATATYPES``.
        """
        allowed = {v: distinct(column) for v, column in rows.columns.items()}
        pattern = Pattern.of(atom, allowed)
        if not self._key(form, position)[1]:
            return (pattern,)
        found = []
        for datatypes, subjects in (
            (self._datatypes(PLAIN_DATATYPES), self._marked),
            (self._datatypes(SUPPORTED_DATATYPES - PLAIN_DATATYPES), None),
        ):
            objects = datatypes if pattern.objects is None else datatypes[among(datatypes, pattern.objects)]
            both = subjects if pattern.subjects is None else pattern.subjects
            found.append(Pattern(pattern.predicates, both, objects, of_literals=True))
        return tuple(found)

    def _datatypes(self, names: Iterable[str]) -> Column:
        """The global ids of datatypes, ascending."""
        known = self._translation.known(f"<{name}>" for name in sorted(names))
        return np.array(sorted(known.values()), np.uint32)

    @cached_property
    def _marked(self) -> Column | None:
        return self._facts.marked()


def _variables(atoms: Iterable[Atom]) -> set[int]:
    return {variable for atom in atoms for variable in atom.variables}


def _part(form: CompiledRule, atoms: Sequence[Atom], conditions: Iterable[Condition]) -> CompiledRule:
    """A rule with some atoms as its body, and those of the conditions whose variables they bind."""
    bound = _variables(atoms)
    kept = tuple(condition for condition in conditions if condition.needs <= bound)
    return replace(
        form, atoms=tuple(atoms), guards=frozenset(), conditions=kept, negations=(), groupings=(), along=None
    )


def _conjuncts(expression: Expression) -> Iterator[Call]:
    """The calls all of which are true if a filter is."""
    if isinstance(expression, Call) and expression.function == "&&":
        for argument in expression.arguments:
            yield from _conjuncts(argument)
    elif isinstance(expression, Call):
        yield expression


def _by_ids(form: CompiledRule) -> list[Condition]:
    """Filters on variables that ids decide, and that are true wherever those of a rule are.

    Unequal terms are different terms; but NaN is not equal to itself.
    """
    found = []
    for call in (call for condition in form.conditions for call in _calls(condition)):
        if call.function == "!=":
            is_same = Call("sameterm", call.arguments)
            call = Call("||", (Call("!", (is_same,)), Call("isliteral", call.arguments[:1])))
        if is_by_ids(call) and not _has_constants(call):
            needs = frozenset(form.slot(variable) for variable in variables(call))
            found.append(Condition(Filter(call), needs))
    return found


def _has_constants(expression: Expression) -> bool:
    if isinstance(expression, Call):
        return any(map(_has_constants, expression.arguments))
    return not isinstance(expression, Variable)


def _calls(condition: Condition) -> Iterator[Call]:
    assert isinstance(condition.element, Filter)
    return _conjuncts(condition.element.expression)


def _few_ids(table: DataFrame) -> Column | None:
    """The ids of a table, ascending; None if they are many."""
    found = table.limit(MAX_FACTS_OF_CLASHES + 1).toArrow().column("id").to_numpy()
    return np.sort(found.astype(np.uint32)) if found.size <= MAX_FACTS_OF_CLASHES else None
