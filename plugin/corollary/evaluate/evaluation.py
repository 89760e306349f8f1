"""A program at work on facts: its rules handed to modules, and the fixpoint over these.

1. Rules go to the module that suits them: inclusions, transitive closures, and semi-naive evaluation
   for the rest. Rules among constant predicates that lead to guards (the schema) have a semi-naive
   module of their own, which comes first.
2. Rules over whole lists are unrolled for every list length that turns up.
3. Monotone rules run to the fixpoint at once, and again whenever facts are added. Rules with negation
   or aggregates join in when they are told to, stratum by stratum.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from corollary.algebra.bindings import Batch, join
from corollary.algebra.execute import emit, extend, family_rows
from corollary.evaluate import overview
from corollary.evaluate.fixpoint import Fixpoint, Progress
from corollary.evaluate.loss import derived_at_least
from corollary.evaluate.overview import FACT, RULES, SCHEMA, Overview, interest_in_types
from corollary.index.delta import Candidates
from corollary.index.pairs import Pairs, difference, union
from corollary.index.relation import Relation
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Column
from corollary.language import Rule
from corollary.modules.datatypes import Datatypes
from corollary.modules.equality import Equality
from corollary.modules.guards import Guards
from corollary.modules.inclusion import Inclusion, inclusion_shape
from corollary.modules.linear import Linear
from corollary.modules.lists import Lists
from corollary.modules.module import Module
from corollary.modules.semi_naive import SemiNaive
from corollary.modules.transitive import Transitive
from corollary.plan.compile import CompiledRule, Tables
from corollary.plan.dependencies import Edge, live_edges
from corollary.plan.program import LIST_BUILTINS, VALUE_BUILTINS, CompiledProgram, ProgramChange
from corollary.plan.stratify import Strata, Suspension, negative_cycles, stratify

MOST_LATE = 3
"""How many facts are named that suspend a rule."""

SECONDS_A_REMOVAL = 1e-6
"""Seconds that a deletion strategy takes for a removed fact, until there is a measurement."""


MOST_KEPT = 32
"""What rules that go may have derived is looked at fact by fact if it is less than one in so many facts."""


class NewModules(Exception):
    """A program needs modules, or data for them, that are only made at the start."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which module evaluates a rule."""

    rule: CompiledRule
    module: str


def tables(compiled: CompiledProgram, facts: TripleIndex) -> Tables:
    """What gives the rows of the program's families, given these facts."""

    def rows(rule: CompiledRule) -> tuple[int, dict[int, Column]]:
        if not rule.guards and all(condition.needs for condition in rule.conditions):
            return 1, {}
        batch = family_rows(rule, facts, compiled.dictionary)
        return batch.size, batch.columns

    return rows


class Evaluation:
    """The modules of a program, and all facts that they have derived so far: ``fixpoint.index``."""

    def __init__(
        self,
        explicit: TripleIndex,
        compiled: CompiledProgram,
        progress: Progress | None,
        *,
        modular: bool = True,
        unfit: Collection[Rule] = (),
    ) -> None:
        """Rules that are ``unfit`` for the transitive closure module get semi-naive evaluation."""
        dictionary, rdf_type = compiled.dictionary, compiled.rdf_type
        self.compiled = compiled
        self._modular = modular
        self._unfit = unfit
        self.assignments: list[Assignment] = []
        self._lists = Lists(dictionary, compiled.list_predicates()) if compiled.uses(LIST_BUILTINS) else None
        self._transitive = Transitive(dictionary, rdf_type)
        self._schema = SemiNaive(SCHEMA, dictionary)
        self._inclusion = Inclusion(dictionary, rdf_type)
        self._equality = Equality(dictionary)
        self._linear: dict[int, Linear] = {}
        self._rules = SemiNaive(RULES, dictionary)
        self._datatypes: Datatypes | None = None
        modules: list[Module] = [self._lists] if self._lists else []
        if compiled.uses(VALUE_BUILTINS):
            interest = interest_in_types(compiled)
            self._datatypes = Datatypes(dictionary, compiled.predicates(), compiled.classes(), interest)
            modules.append(self._datatypes)
        modules += [self._transitive, self._schema, self._inclusion, self._equality]
        index = explicit.snapshot()
        facts: Candidates = {}
        self._overview = self._look_over()
        for rule in compiled.rules:
            self._assign(rule, facts)
        modules += [*self._linear.values(), self._rules]
        self.version = 0
        self.strata: list[SemiNaive] = []
        self.is_entangled = self.schema.has_any_class
        self.is_volatile = False
        self.axioms = TripleIndex()
        self._state(facts)
        self.fixpoint = Fixpoint(index, modules, progress, dictionary.decode)
        self.fixpoint.watch = self._watch
        started = perf_counter()
        self.add(facts)
        self.seconds = perf_counter() - started
        self.seconds_per_removal: dict[str, float] = {}

    def add(self, facts: Candidates) -> None:
        """Add facts and what the monotone rules make of them, and of the strata that joined in."""
        self.fixpoint.include(facts)
        self.run()

    def run(self, strata: int | None = None) -> None:
        """Let the modules work until nothing is new; with a number, only so many of the strata."""
        waiting = 0 if strata is None else len(self.strata) - strata
        self.fixpoint.run(self._unroll, len(self.fixpoint.modules) - waiting)
        self.is_entangled |= self._closes_schema()

    @property
    def schema_modules(self) -> tuple[Module, ...]:
        """The modules that derive schema facts from schema facts."""
        modules: tuple[Module, ...] = (self._transitive, self._schema)
        return modules if self._lists is None else (self._lists, *modules)

    @property
    def schema(self) -> Guards:
        """Which facts are schema."""
        return self._overview.schema

    def _look_over(self, before: Overview | None = None) -> Overview:
        sources = () if self._lists is None else self._lists.sources
        overview = Overview(self.compiled, sources, modular=self._modular, unfit=self._unfit, before=before)
        for number, module in self._linear.items():
            module.shape = overview.linear_shapes.get(number, module.shape)
        return overview

    def change(
        self, change: ProgramChange, explicit: TripleIndex, *, wholesale: bool
    ) -> tuple[Candidates, Candidates, set[int]]:
        """Become the evaluation of another program, up to what that means for its facts.

        What was derived by rules that went may have lost its derivation: it is the first result. What rules
        that came state is the second; the others are applied in the modules' next turns. If it may be done
        ``wholesale``, predicates are emptied where that costs less than looking at each fact; they are the
        third result, and what is still derived of them comes back in the modules' next turns. Raises
        ``NewModules`` if the program needs modules that are not there.
        """
        known, self.compiled, gone, came = self.compiled, change.program, change.gone, change.came
        if self.compiled.uses(LIST_BUILTINS) and (
            self._lists is None or self.compiled.list_predicates() != known.list_predicates()
        ):
            raise NewModules("the rules need lists, and other modules for that")
        if self.compiled.uses(VALUE_BUILTINS) and (
            not known.uses(VALUE_BUILTINS)
            or self._datatypes is None
            or interest_in_types(self.compiled) is not self._datatypes.interest
            or not self._datatypes.widen(came, self.fixpoint.index)
        ):
            raise NewModules("the rules ask for values, and need other modules for that")
        before = self._overview
        if not all(map(before.is_indifferent_to, (*gone, *came))):
            self._overview = self._look_over(before)
        is_seen_alike = self._overview is before or self._overview.is_as(before)
        numbers = {rule.number for rule in gone}
        kept = [a for a in self.assignments if a.rule.number not in numbers]
        emptied = self._worth_emptying(gone, explicit) if wholesale else set()
        again = [a.rule for a in kept if a.module != FACT and not emptied.isdisjoint(a.rule.derives)]
        numbers |= {rule.number for rule in again}
        moved: list[CompiledRule] = []
        passed: list[CompiledRule] = []  # between modules that remember no derivations: nothing is lost
        for assignment in () if is_seen_alike else kept:
            ends = {assignment.module, self._overview.module_of(assignment.rule)}
            if assignment.rule.number not in numbers and len(ends) > 1:
                (passed if ends == {SCHEMA, RULES} else moved).append(assignment.rule)
        lost = self._unassign([*gone, *again], TripleIndex() if emptied else self.fixpoint.index)
        extend(lost, self._unassign(moved, self.fixpoint.index))
        self._unassign(passed, TripleIndex())
        for predicate in emptied:
            lost.pop(predicate, None)
            relation = self.fixpoint.index.relation(predicate)
            given = (facts.relation(predicate).pairs().keys for facts in (explicit, self.axioms))
            staying = relation.common(union(*given))
            self.fixpoint.exclude(predicate, relation.pairs().keys)
            self.fixpoint.index.add(predicate, Pairs(staying))  # who reads it is applied to all facts again
        stated: Candidates = {}
        for rule in [*came, *again, *moved, *passed]:
            self._assign(rule, stated)
        for module in self._linear.values():
            if module not in self.fixpoint.modules:
                self.fixpoint.add_module(module, before=self._rules)
        self._state(stated)
        if not (is_seen_alike or self.is_entangled):
            self.is_entangled = self._has_inferred(self.schema.beyond(before.schema), explicit)
        self.is_entangled |= self._closes_schema()
        return lost, stated, emptied

    def lost_at_least(self, gone: Collection[CompiledRule], explicit: TripleIndex) -> int:
        """How many facts lose a derivation if rules go: no more than that for certain."""
        counts = (derived_at_least(rule, self.compiled, self.fixpoint.index, explicit) for rule in gone)
        return max(counts, default=0) - self.axioms.fact_count()

    def _worth_emptying(self, gone: Sequence[CompiledRule], explicit: TripleIndex) -> set[int]:
        """What rules that go have derived, and all that depends on it, as predicates, if much of that may go.

        There are none if a rule leaves open what it reads or derives.
        """
        if not gone:
            return set()
        staying = [rule for rule in self.compiled.rules if rule.heads]
        rules = [*staying, *(rule for rule in gone if rule.heads)]
        is_open = any(rule.guards or rule.is_open for rule in rules)
        if is_open or self._lists is not None or self.compiled.uses(VALUE_BUILTINS):
            return set()
        index = self.fixpoint.index
        found = {head.p for rule in gone for head in rule.heads}
        fed = {*explicit.all_predicates(), *self.axioms.all_predicates()}
        size = -1
        while size != (size := len(found) + len(fed)):
            for rule in rules:
                if not found.isdisjoint(rule.reads):
                    found |= rule.derives
            for rule in staying:
                if rule.needs <= fed:
                    fed |= rule.derives
        lost = sum(len(index.relation(p)) for p in found - fed)
        for rule in gone:
            most = sum(len(index.relation(head.p)) for head in rule.heads)
            lost += min(most, len(index.relation(rule.atoms[0].p))) if len(rule.atoms) == 1 else most
        return found if MOST_KEPT * lost >= sum(len(index.relation(p)) for p in found) else set()

    def _unassign(self, gone: Collection[CompiledRule], index: TripleIndex) -> Candidates:
        """Take rules from their modules; everything that they may have derived from the facts of an index."""
        if not gone:
            return {}
        lost: Candidates = {}
        module_of = {assignment.rule.number: assignment.module for assignment in self.assignments}
        included: list[int] = []
        for rule in gone:
            match module_of[rule.number]:
                case overview.FACT:
                    emit(rule.heads, Batch.start(), lost)
                case self._transitive.name:
                    for predicate in self._transitive.remove_rule(rule.number, index):
                        lost.setdefault(predicate, []).append(index.relation(predicate).pairs().keys)
                case self._inclusion.name:
                    included.append(rule.number)
                case self._equality.name:
                    extend(lost, self._equality.remove_rule(rule.number, index))
                case Linear.name:
                    linear = self._linear.pop(rule.number)
                    self.fixpoint.remove_module(linear)
                    lost.setdefault(linear.shape.closed, []).append(
                        index.relation(linear.shape.closed).pairs().keys
                    )
            for module in (self._schema, self._rules, *self.strata):
                extend(lost, module.conclusions(rule.number, index))
        numbers = {rule.number for rule in gone}
        for module in (self._schema, self._rules, *self.strata):
            module.remove_rules(numbers)
        extend(lost, self._inclusion.remove_rules(included, index))
        self.assignments = [a for a in self.assignments if a.rule.number not in numbers]
        if FACT in {module_of[number] for number in numbers}:
            stated: Candidates = {}
            for assignment in self.assignments:
                if assignment.module == FACT:
                    emit(assignment.rule.heads, Batch.start(), stated)
            self.axioms = TripleIndex()
            self._state(stated)
        return lost

    def _state(self, facts: Candidates) -> None:
        """Note facts that rules state."""
        for predicate, parts in facts.items():
            new = difference(
                Pairs.of(np.concatenate(parts)).keys, self.axioms.relation(predicate).pairs().keys
            )
            self.axioms.add(predicate, Pairs(new))

    def _has_inferred(self, schema: Guards, explicit: TripleIndex) -> bool:
        """Whether any of these schema facts are inferred."""
        return bool(schema.of(self.fixpoint.index) - explicit)

    def restratify(self, strata: Strata) -> None:
        """Group the rules that are not monotone anew; only those that are new are applied to all facts."""
        if [{rule.number for rule in module.rules} for module in self.strata] == list(map(set, strata.rules)):
            return
        by_number = {rule.number: rule for rule in self.compiled.rules}
        started = {rule.number for module in self.strata for rule in module.rules} - {
            number for module in self.strata for number in module.unstarted()
        }
        for module in self.strata:
            self.fixpoint.remove_module(module)
        self.strata = []
        for position, stratum in enumerate(strata.rules, 1):
            module = SemiNaive(f"stratum {position}", self.compiled.dictionary)
            rules = [by_number[number] for number in stratum if number in by_number]
            for rule in rules:
                if rule.number in started:
                    module.add_rule(rule)
            module.start(self.fixpoint.index)
            for rule in rules:
                if rule.number not in started:
                    module.add_rule(rule)
            self.strata.append(module)
            self.fixpoint.add_module(module)

    def _watch(self, origin: Module, predicate: int, new: Pairs) -> None:
        """Note whether anything but the schema leads to schema facts."""
        if not self.is_entangled and origin not in self.schema_modules:
            self.is_entangled = bool(self.schema.mask(predicate, new).any())

    def _closes_schema(self) -> bool:
        """Whether a relation of the schema is transitive by a fact that may go: it is certain too late."""
        closed = self._transitive.closed - self._overview.transitive_constants
        return not closed.isdisjoint((*self.schema.predicates, self.compiled.rdf_type))

    @property
    def value_relations(self) -> frozenset[int]:
        """The virtual relations that tell of the values of literals."""
        return frozenset(map(self.compiled.dictionary.encode, VALUE_BUILTINS))

    @property
    def cells(self) -> Mapping[int, tuple[int, ...]]:
        """The cells that each reading of a list goes over."""
        return {} if self._lists is None else self._lists.cells

    def stratify(
        self, suspended: Collection[int] = (), earlier: Iterable[Edge] = ()
    ) -> tuple[Strata, tuple[Edge, ...]]:
        """The strata, given the facts so far: see ``plan.stratify``."""
        index = self.fixpoint.index
        return stratify(self.compiled, index, tables(self.compiled, index), suspended, earlier)

    def is_ordered_by(self, strata: Strata) -> bool:
        """Whether strata are in order, and leave out the right rules, given the facts so far."""
        index = self.fixpoint.index
        rows = tables(self.compiled, index)
        edges = live_edges(self.compiled, index, rows)
        if strata.suspended:
            if negative_cycles(edges).keys() != strata.suspended.keys():
                return False
            edges = live_edges(self.compiled, index, rows, strata.suspended)
        return strata.hold_for(edges)

    def _unroll(self) -> None:
        """Take in the rules for list lengths that are new."""
        if self._lists is not None:
            facts: Candidates = {}
            new = self.compiled.unroll(self._lists.lengths)
            if new:
                self._overview = self._look_over(self._overview)
            for rule in new:
                self._assign(rule, facts)

    def evaluate(self, strata: Strata) -> dict[int, Suspension]:
        """Let the rules that are not monotone join in, stratum by stratum: each is a module of its own.

        Stops after a stratum that leads to facts that are ``late`` for a rule: those rules are the result.
        The evaluation ``is_volatile`` from when a stratum leads to schema facts, which may change the order.
        """
        self.restratify(strata)
        for number in range(1, len(self.strata) + 1):
            self.fixpoint.journal = {}
            self.run(number)
            new = TripleIndex(
                {p: Relation(Pairs.of(np.concatenate(parts))) for p, parts in self.fixpoint.journal.items()}
            )
            self.fixpoint.journal = None
            self.is_volatile |= self.schema.are_among(new)
            late = self.late(number, new)
            if late:
                return late
        return {}

    def late(self, number: int, new: TripleIndex) -> dict[int, Suspension]:
        """The rules of the first strata to which new facts are late: what they are closed to was complete.

        Nothing is late for a rule whose body cannot hold.
        """
        found: dict[int, Suspension] = {}
        for module in self.strata[:number]:
            for rule in module.rules:
                closed = [atom for negation in rule.negations for atom in negation.atoms]
                closed += [atom for grouping in rule.groupings for atom in grouping.atoms]
                for atom in closed:
                    facts: Candidates = {}
                    emit((atom,), join(Batch.start(), atom, new), facts)
                    late = tuple(
                        (key >> 32, predicate, key & 0xFFFFFFFF)
                        for predicate, parts in facts.items()
                        for key in np.concatenate(parts)[:MOST_LATE].tolist()
                    )
                    if late and rule.number not in found:
                        found[rule.number] = Suspension(late=late[:MOST_LATE])
        if found:
            index = self.fixpoint.index
            edges = live_edges(self.compiled, index, tables(self.compiled, index))
            live = {edge.rule.number for edge in edges if not edge.link}
            found = {number: why for number, why in found.items() if number in live}
        return found

    def _assign(self, rule: CompiledRule, facts: Candidates) -> None:
        """Hand a rule to the module that evaluates it; a rule without body states facts."""
        module = self._overview.module_of(rule)
        if module == FACT:
            emit(rule.heads, Batch.start(), facts)
        elif module == self._transitive.name:
            form = self._overview.form(rule)
            closed = form.loopless if form.closed is None else form.closed
            if closed is not None:
                self._transitive.add_rule(rule, closed)
            elif form.mirrored is not None:
                self._transitive.add_symmetry(rule, form.mirrored)
        elif module == self._equality.name:
            self._equality.add_rule(rule)
        elif module == self._schema.name:
            self._schema.add_rule(rule)
        elif module == self._inclusion.name:
            shape = inclusion_shape(rule, self.compiled.rdf_type)
            assert shape is not None
            self._inclusion.add_rule(rule, shape)
            ends = [shape.source] * (not shape.from_class) + [shape.target] * (not shape.to_class)
            for variant in self.compiled.about_rdf_type(rule, ends):
                self._rules.add_rule(variant)
        elif module == Linear.name:
            self._linear[rule.number] = Linear(rule, self._overview.linear_shapes[rule.number])
        elif module == self._rules.name:
            self._rules.add_rule(rule)
        self.assignments.append(Assignment(rule, module))
