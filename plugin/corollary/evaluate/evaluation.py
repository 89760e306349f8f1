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

from corollary.algebra.bindings import Batch
from corollary.algebra.execute import Candidates, emit, extend, family_rows
from corollary.evaluate.fixpoint import Fixpoint, Progress
from corollary.index.pairs import Pairs, difference, union
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Column
from corollary.language import Rule
from corollary.modules.datatypes import Datatypes, Interest
from corollary.modules.equality import Equality, replaced_end
from corollary.modules.guards import Guards
from corollary.modules.inclusion import Inclusion, inclusion_shape
from corollary.modules.linear import Linear, LinearShape, linear_shapes
from corollary.modules.lists import Lists
from corollary.modules.module import Module
from corollary.modules.semi_naive import SemiNaive
from corollary.modules.transitive import (
    Transitive,
    closed_predicate,
    loopless_predicate,
    mirrored_predicate,
)
from corollary.plan.compile import CompiledRule, Tables
from corollary.plan.dependencies import dependency_graph
from corollary.plan.program import LIST_BUILTINS, VALUE_BUILTINS, CompiledProgram, ProgramChange
from corollary.plan.stratify import Strata, stratify

FIRST_GUESS = 3e-6
"""Seconds that maintenance takes for a removed fact, until there is a measurement."""


MOST_KEPT = 32
"""What rules that go may have derived is looked at fact by fact if it is less than one in so many facts."""


class NewModules(Exception):
    """A program needs modules, or data for them, that are only made at the start."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which module evaluates a rule."""

    rule: CompiledRule
    module: str


@dataclass(frozen=True, slots=True)
class Form:
    """The predicates (ids, or guard variables) that a rule closes, closes but for loops, or makes symmetric,
    and the one by which it replaces terms; None where it does not.
    """

    closed: int | None
    loopless: int | None
    mirrored: int | None
    replacing: int | None


def tables(compiled: CompiledProgram, facts: TripleIndex) -> Tables:
    """What gives the rows of the program's families, given these facts."""

    def rows(rule: CompiledRule) -> tuple[int, dict[int, Column]]:
        if not rule.guards and all(condition.needs for condition in rule.conditions):
            return 1, {}
        batch = family_rows(rule, facts, compiled.dictionary)
        return batch.size, batch.columns

    return rows


def interest_in_types(compiled: CompiledProgram) -> Interest:
    """Whose types rules look for, if they give types to literals of any datatype.

    A rule that replaces terms by equal ones passes types on, and does not look at them.
    """
    if not compiled.types_literals():
        return Interest.IN_NAMED
    is_open = any(
        (atom.p < 0 and atom.p not in rule.guarded)
        or (atom.p == compiled.rdf_type and atom.o < 0 and atom.o not in rule.guarded)
        for rule in compiled.rules
        if rule.heads and replaced_end(rule) is None
        for atom in (rule.atoms[position] for position in rule.data)
    )
    return Interest.IN_ALL if is_open else Interest.IN_FACTS


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
        self.modular = modular
        self._unfit = unfit
        self.assignments: list[Assignment] = []
        self._lists = Lists(dictionary, compiled.list_predicates()) if compiled.uses(LIST_BUILTINS) else None
        self._transitive = Transitive(dictionary, rdf_type)
        self._schema = SemiNaive("schema", dictionary)
        self._inclusion = Inclusion(dictionary, rdf_type)
        self._equality = Equality(dictionary)
        self._linear: dict[int, Linear] = {}
        self._rules = SemiNaive("rules", dictionary)
        self._constants = compiled.predicates() | compiled.classes()
        self._interest = Interest.IN_NAMED
        modules: list[Module] = [self._lists] if self._lists else []
        if compiled.uses(VALUE_BUILTINS):
            self._interest = interest_in_types(compiled)
            modules.append(Datatypes(dictionary, compiled.predicates(), compiled.classes(), self._interest))
        modules += [self._transitive, self._schema, self._inclusion, self._equality]
        index = explicit.snapshot()
        facts: Candidates = {}
        self._transitive_constants: set[int] = set()
        self._same: int | None = None
        self._linear_shapes: dict[int, LinearShape] = {}
        self._forms: dict[int, Form] = {}
        self._look_over()
        for rule in compiled.rules:
            self._assign(rule, facts)
        modules += [*self._linear.values(), self._rules]
        self.version = 0
        self.strata: list[SemiNaive] = []
        self.is_entangled = self.schema.has_any_class
        self.axioms = TripleIndex()
        self._state(facts)
        self.fixpoint = Fixpoint(index, modules, progress)
        self.fixpoint.watch = self._watch
        started = perf_counter()
        self.add(facts)
        self.seconds = perf_counter() - started
        self.seconds_per_removal = FIRST_GUESS

    def add(self, facts: Candidates) -> None:
        """Add facts and what the monotone rules make of them, and of the strata that joined in."""
        self.fixpoint.include(facts)
        self.run()

    def run(self, strata: int | None = None) -> None:
        """Let the modules work until nothing is new; with a number, only so many of the strata."""
        waiting = 0 if strata is None else len(self.strata) - strata
        self.fixpoint.run(self._unroll, len(self.fixpoint.modules) - waiting)

    @property
    def schema_modules(self) -> tuple[Module, ...]:
        """The modules that derive schema facts from schema facts."""
        modules: tuple[Module, ...] = (self._transitive, self._schema)
        return modules if self._lists is None else (self._lists, *modules)

    def _look_over(self) -> None:
        """What all rules together tell: constant predicates that are closed, one for equality, the schema.

        Equality is a closed and symmetric predicate by which rules replace terms. The schema are all guards,
        and what rules without guards derive them from.
        """
        forms = [self._form(rule) for rule in self.compiled.rules]
        closed = {form.closed for form in forms if form.closed is not None and form.closed >= 0}
        self._transitive_constants = closed | {form.loopless for form in forms if form.loopless is not None}
        replacing = {form.replacing for form in forms if form.replacing is not None}
        self._same = min(replacing & {form.mirrored for form in forms} & closed, default=None)
        self.schema = Guards(self.compiled.rdf_type)
        deriving = [rule for rule in self.compiled.rules if rule.heads and rule.source.body]
        for rule in deriving:
            self.schema.add(rule)
        if self._lists is not None:
            self.schema.predicates |= self._lists.sources
        plain = [rule for rule in deriving if not rule.guards]
        size = -1
        while size != (size := len(plain)):
            for rule in [rule for rule in plain if self._is_schema(rule)]:
                plain.remove(rule)
                self.schema.add_atoms(rule.atoms)
        self._linear_shapes = linear_shapes(plain, self.compiled.rdf_type, self._transitive_constants)
        for number, module in self._linear.items():
            module.shape = self._linear_shapes.get(number, module.shape)

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
        lists, uses_values = self.compiled.list_predicates(), self.compiled.uses(VALUE_BUILTINS)
        known = self._constants | self.compiled.predicates() | self.compiled.classes()  # of list items too
        self.compiled, gone, came = change.program, change.gone, change.came
        if self.compiled.uses(LIST_BUILTINS) and (
            self._lists is None or self.compiled.list_predicates() != lists
        ):
            raise NewModules("the rules need lists, and other modules for that")
        more_constants = not self.compiled.predicates() | self.compiled.classes() <= known
        more_interest = interest_in_types(self.compiled) is not self._interest
        if self.compiled.uses(VALUE_BUILTINS) and (more_constants or more_interest or not uses_values):
            raise NewModules("the rules ask for values, and need other modules for that")
        schema, before = self.schema, (self._transitive_constants, self._same, self._linear_shapes)
        self._look_over()
        is_seen_alike = before == (self._transitive_constants, self._same, self._linear_shapes)
        is_seen_alike = is_seen_alike and schema.is_as(self.schema)
        numbers = {rule.number for rule in gone}
        self._forms = {number: form for number, form in self._forms.items() if number not in numbers}
        kept = [a for a in self.assignments if a.rule.number not in numbers]
        emptied = self._worth_emptying(gone, explicit) if wholesale else set()
        again = [a.rule for a in kept if a.module != "fact" and any(h.p in emptied for h in a.rule.heads)]
        numbers |= {rule.number for rule in again}
        moved = [
            a.rule
            for a in kept
            if not is_seen_alike and a.rule.number not in numbers and a.module != self._module_of(a.rule)
        ]
        lost = self._unassign([*gone, *again], TripleIndex() if emptied else self.fixpoint.index)
        extend(lost, self._unassign(moved, self.fixpoint.index))
        for predicate in emptied:
            lost.pop(predicate, None)
            relation = self.fixpoint.index.relation(predicate)
            given = (facts.relation(predicate).pairs().keys for facts in (explicit, self.axioms))
            staying = relation.common(union(*given))
            self.fixpoint.exclude(predicate, relation.pairs().keys)
            self.fixpoint.index.add(predicate, Pairs(staying))  # who reads it is applied to all facts again
        stated: Candidates = {}
        for rule in [*came, *again, *moved]:
            self._assign(rule, stated)
        for module in self._linear.values():
            if module not in self.fixpoint.modules:
                self.fixpoint.add_module(module, before=self._rules)
        self._state(stated)
        if not self.is_entangled:
            self.is_entangled = self._has_inferred(self.schema.beyond(schema), explicit)
        return lost, stated, emptied

    def _worth_emptying(self, gone: Sequence[CompiledRule], explicit: TripleIndex) -> set[int]:
        """What rules that go have derived, and all that depends on it, as predicates, if much of that may go.

        There are none if a rule leaves open what it reads or derives.
        """
        if not gone:
            return set()
        rules = [rule for rule in (*self.compiled.rules, *gone) if rule.heads]
        is_open = any(rule.guards or min(atom.p for atom in (*rule.read, *rule.heads)) < 0 for rule in rules)
        if is_open or self._lists is not None or self.compiled.uses(VALUE_BUILTINS):
            return set()
        index = self.fixpoint.index
        found = {head.p for rule in gone for head in rule.heads}
        fed = {*explicit.all_predicates(), *self.axioms.all_predicates()}
        parts = [[{atom.p for atom in atoms} for atoms in (r.read, r.atoms, r.heads)] for r in rules]
        left = len(rules) - sum(bool(rule.heads) for rule in gone)
        size = -1
        while size != (size := len(found) + len(fed)):
            for position, (read, needed, derived) in enumerate(parts):
                if not found.isdisjoint(read):
                    found |= derived
                if position < left and needed <= fed:
                    fed |= derived
        lost = sum(len(index.relation(p)) for p in found - fed)
        for rule in gone:
            most = sum(len(index.relation(head.p)) for head in rule.heads)
            lost += min(most, len(index.relation(rule.atoms[0].p))) if len(rule.atoms) == 1 else most
        return found if MOST_KEPT * lost >= sum(len(index.relation(p)) for p in found) else set()

    def _unassign(self, gone: Iterable[CompiledRule], index: TripleIndex) -> Candidates:
        """Take rules from their modules; everything that they may have derived from the facts of an index."""
        lost: Candidates = {}
        module_of = {assignment.rule.number: assignment.module for assignment in self.assignments}
        included: list[int] = []
        for rule in gone:
            match module_of[rule.number]:
                case "fact":
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
                module.remove_rule(rule.number)
        extend(lost, self._inclusion.remove_rules(included, index))
        numbers = {rule.number for rule in gone}
        self.assignments = [a for a in self.assignments if a.rule.number not in numbers]
        stated: Candidates = {}
        for assignment in self.assignments:
            if assignment.module == "fact":
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
        for predicate, pairs in schema.of(self.fixpoint.index).items():
            known = explicit.relation(predicate)
            if not known.contains(pairs.keys).all():
                return True
        return False

    def restratify(self, strata: Strata) -> None:
        """Group the rules that are not monotone anew; only those that are new are applied to all facts."""
        started = {rule.number for module in self.strata for rule in module.rules} - {
            number for module in self.strata for number in module.unstarted()
        }
        for module in self.strata:
            self.fixpoint.remove_module(module)
        self.strata = []
        by_number = {rule.number: rule for rule in self.compiled.rules}
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
        if not self.is_entangled:
            is_schema = bool(self.schema.mask(predicate, new).any())
            if origin is self._transitive:  # what data makes transitive is no schema
                self.is_entangled = is_schema and predicate not in self._transitive_constants
            elif origin not in self.schema_modules:
                self.is_entangled = is_schema

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

    def is_ordered_by(self, strata: Strata) -> bool:
        """Whether strata are in order, given the facts so far."""
        index = self.fixpoint.index
        return strata.hold_for(dependency_graph(self.compiled, index, tables(self.compiled, index)))

    def _unroll(self) -> None:
        """Take in the rules for list lengths that are new."""
        if self._lists is not None:
            facts: Candidates = {}
            new = self.compiled.unroll(self._lists.lengths)
            if new:
                self._look_over()
            for rule in new:
                self._assign(rule, facts)

    def evaluate(self, strata: Strata) -> None:
        """Let the rules that are not monotone join in, stratum by stratum: each is a module of its own."""
        by_number = {rule.number: rule for rule in self.compiled.rules}
        for position, stratum in enumerate(strata.rules, 1):
            module = SemiNaive(f"stratum {position}", self.compiled.dictionary)
            for number in stratum:
                if number in by_number:
                    module.add_rule(by_number[number])
            self.strata.append(module)
            self.fixpoint.add_module(module)
            self.run()

    def _module_of(self, rule: CompiledRule) -> str:
        """The module that evaluates a rule, given all other rules."""
        if not rule.heads:
            return "constraint"
        if not rule.source.body:
            return "fact"
        if not rule.is_monotone:
            return "stratified"
        if not self.modular:
            return self._rules.name
        form = self._form(rule)
        if form.closed is not None or form.loopless is not None:
            return self._transitive.name
        if form.mirrored in self._transitive_constants:
            return self._transitive.name
        if form.replacing is not None and form.replacing == self._same:
            return self._equality.name
        if self._is_schema(rule):
            return self._schema.name
        if inclusion_shape(rule, self.compiled.rdf_type) is not None:
            return self._inclusion.name
        return Linear.name if rule.number in self._linear_shapes else self._rules.name

    def _form(self, rule: CompiledRule) -> Form:
        """What a rule by itself may be to modules. Numbers are given once, so it is found once for each."""
        if rule.number not in self._forms:
            end = replaced_end(rule)
            self._forms[rule.number] = Form(
                closed_predicate(rule),
                None if rule.source in self._unfit else loopless_predicate(rule),
                mirrored_predicate(rule),
                None if end is None else end[0],
            )
        return self._forms[rule.number]

    def _assign(self, rule: CompiledRule, facts: Candidates) -> None:
        """Hand a rule to the module that evaluates it; a rule without body states facts."""
        module = self._module_of(rule)
        if module == "fact":
            emit(rule.heads, Batch.start(), facts)
        elif module == self._transitive.name:
            form = self._form(rule)
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
            self._linear[rule.number] = Linear(rule, self._linear_shapes[rule.number])
        elif module == self._rules.name:
            self._rules.add_rule(rule)
        self.assignments.append(Assignment(rule, module))

    def _is_schema(self, rule: CompiledRule) -> bool:
        """Whether a rule leads from constant predicates to schema facts, and to nothing else."""
        return (
            not rule.guards
            and rule.is_monotone
            and all(atom.p >= 0 for atom in rule.atoms)
            and all(head.p >= 0 and self.schema.has(head) for head in rule.heads)
        )
