"""The engine: a program at work on facts, its rules assigned to modules, and the fixpoint over these.

1. Rules go to the modules that claim them (``assignment``).
2. Modules may add rules for the facts there are: rules over whole lists, for every list length.
3. Monotone rules run to the fixpoint at once, and again whenever facts are added. Rules with negation or
   aggregates join in when they are told to, stratum by stratum.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from time import perf_counter

import numpy as np

from corollary.columns.delta import Candidates, Delta
from corollary.columns.pairs import Pairs, union
from corollary.columns.triples import TripleIndex
from corollary.evaluate.assignment import FACT, Assignment, ModuleAssignment
from corollary.evaluate.fixpoint import Fixpoint, Progress
from corollary.evaluate.rule_modules import RuleModules
from corollary.execute.batches import Batch, join
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import emit, extend, family_rows
from corollary.kernels.sorted import Column
from corollary.language import Rule
from corollary.modules import registry
from corollary.modules.guards import Guards
from corollary.modules.module import Module, NewModules
from corollary.modules.semi_naive import SemiNaive
from corollary.program.compile import CompiledRule, Tables
from corollary.program.compiled_program import VALUE_BUILTINS, CompiledProgram, ProgramChange
from corollary.program.dependencies import live_edges
from corollary.program.edges import Edge
from corollary.program.stratify import Strata, Suspension, negative_cycles, stratify

MAX_LATE_FACTS = 3
"""Facts that a message names, of those that suspend a rule."""

SECONDS_A_REMOVAL = 1e-6
"""Seconds that a deletion strategy takes for a removed fact, until there is a measurement."""

MAX_FACTS_PER_LOST_FACT = 32
"""When rules go, predicates are emptied and derived again if they have at most this many facts for each one
that may be lost; with more, the facts are looked at one by one."""


def tables(context: ExecutionContext, facts: TripleIndex) -> Tables:
    """What gives the rows of families, given these facts."""

    def rows(rule: CompiledRule) -> tuple[int, dict[int, Column]]:
        if not rule.guards and all(condition.needs for condition in rule.conditions):
            return 1, {}
        batch = family_rows(rule, facts, context)
        return batch.size, batch.columns

    return rows


class Engine:
    """The modules of a program, and all facts that they have derived so far: ``fixpoint.index``.

    ``schema_depends_on_data``: data leads to schema facts, so that the two cannot be followed one after the
    other. ``schema_depends_on_strata``: rules with negation or aggregates do.
    """

    def __init__(
        self,
        explicit: TripleIndex,
        compiled: CompiledProgram,
        progress: Progress | None,
        *,
        modular: bool = True,
        rejected: Collection[Rule] = (),
    ) -> None:
        """Everything that the monotone rules derive. Optional modules do not get ``rejected`` rules."""
        self.compiled = compiled
        self._kinds = [kind for kind in registry.MODULES if modular or not kind.is_optional]
        self._rejected = rejected
        self._assignment = ModuleAssignment(compiled, self._kinds, rejected)
        self.context = ExecutionContext(compiled.dictionary)
        self._modules = RuleModules(compiled, self._kinds, self.context)
        self.axioms = TripleIndex()
        self.version = 0
        self.strata: list[SemiNaive] = []
        self.schema_depends_on_data = self.schema.has_any_class
        self.schema_depends_on_strata = False
        self.seconds_per_removal: dict[str, float] = {}
        self.schema_modules: tuple[Module, ...] = ()
        self._adding: list[Module] = []
        self._closing: list[Module] = []
        index = explicit.snapshot()
        stated: Candidates = {}
        for rule in compiled.rules:
            self._modules.assign(rule, self._assignment.module_of(rule), compiled, stated)
        self._add_axioms(stated)
        self._review()
        self.fixpoint = Fixpoint(index, self._modules.modules, progress, compiled.dictionary.decode)
        self._sort_modules()
        self.fixpoint.watch = self._watch
        started = perf_counter()
        self.add(stated)
        self.seconds = perf_counter() - started

    @property
    def schema(self) -> Guards:
        """Which facts are schema."""
        return self._assignment.schema

    @property
    def assignments(self) -> list[Assignment]:
        """Which module evaluates which rule."""
        return self._modules.assignments

    @property
    def cells(self) -> Mapping[int, tuple[int, ...]]:
        """The cells that each reading of a list goes over."""
        found: dict[int, tuple[int, ...]] = {}
        for module in self._modules.modules:
            found |= module.cells
        return found

    def add(self, facts: Candidates) -> None:
        """Add facts and what the monotone rules make of them, and of the strata that joined in."""
        self.fixpoint.include(facts)
        self.run()

    def run(self, strata: int | None = None) -> None:
        """Let the modules work until nothing is new; with a number, only the first strata take part."""
        waiting = 0 if strata is None else len(self.strata) - strata
        self.fixpoint.run(self._take_new_rules, waiting)
        self.schema_depends_on_data |= self._closes_schema()

    # Changes of the program

    def change(
        self, change: ProgramChange, explicit: TripleIndex, *, wholesale: bool
    ) -> tuple[Candidates, Candidates, set[int]]:
        """Become the engine of another program, up to what that means for its facts.

        Returns the facts that may have lost a derivation, those that new rules state, and the predicates that
        were emptied: what is still derived of them comes back in the modules' next turns, as does what new
        rules derive. Unless it may be done ``wholesale`` no predicate is emptied. ``NewModules`` if the
        program needs modules that are not there.
        """
        self._take_up(change)
        gone, before = change.gone, self._assignment
        if not all(map(before.is_indifferent_to, (*gone, *change.came))):
            self._assignment = ModuleAssignment(self.compiled, self._kinds, self._rejected, before)
        is_as_before = self._assignment is before or self._assignment.is_as(before)
        numbers = {rule.number for rule in gone}
        kept = [a for a in self.assignments if a.rule.number not in numbers]
        emptied = self._worth_emptying(gone, explicit) if wholesale else set()
        again = [a.rule for a in kept if a.module != FACT and not emptied.isdisjoint(a.rule.derives)]
        numbers |= {rule.number for rule in again}
        others = [a for a in kept if a.rule.number not in numbers]
        moved, passed = ([], []) if is_as_before else self._moved(others)
        index = self.fixpoint.index
        lost = self._unassign([*gone, *again], TripleIndex() if emptied else index)
        extend(lost, self._unassign(moved, index))
        self._unassign(passed, TripleIndex())
        for predicate in emptied:
            lost.pop(predicate, None)
            self._empty(predicate, explicit)
        stated: Candidates = {}
        for rule in [*change.came, *again, *moved, *passed]:
            self._modules.assign(rule, self._assignment.module_of(rule), self.compiled, stated)
        self._add_axioms(stated)
        self._review()
        self._place_modules()
        if not (is_as_before or self.schema_depends_on_data):
            more = self.schema.beyond(before.schema).of(index)
            self.schema_depends_on_data = bool(more - explicit)
        self.schema_depends_on_data |= self._closes_schema()
        return lost, stated, emptied

    def lost_at_least(self, gone: Collection[CompiledRule], explicit: TripleIndex) -> int:
        """A lower bound of the facts that lose a derivation if rules go."""
        modules = ((rule, self._modules.module_of(rule)) for rule in gone)
        index = self.fixpoint.index
        counts = (m.derives_at_least(rule, index, explicit) for rule, m in modules if m is not None)
        return max(counts, default=0) - self.axioms.fact_count()

    def _take_up(self, change: ProgramChange) -> None:
        """Make the new program known to all modules."""
        self.compiled = change.program
        for module in self._modules.modules:
            module.take_up(change, self.fixpoint.index)
        present = {type(module) for module in self._modules.modules}
        for kind in self._kinds:
            if kind not in present and kind.is_needed(change.program):
                raise NewModules(f"the rules ask for {kind.why}, and need other modules for that")

    def _moved(self, assignments: Iterable[Assignment]) -> tuple[list[CompiledRule], list[CompiledRule]]:
        """The rules whose module is another one now; apart, those that both modules keep no state of."""
        moved: list[CompiledRule] = []
        passed: list[CompiledRule] = []
        for assignment in assignments:
            now = self._assignment.module_of(assignment.rule)
            if now != assignment.module:
                keeps_state = self._modules.keeps_state(now) or self._modules.keeps_state(assignment.module)
                (moved if keeps_state else passed).append(assignment.rule)
        return moved, passed

    def _unassign(self, gone: Collection[CompiledRule], facts: TripleIndex) -> Candidates:
        """Take rules from their modules; everything that they may have derived from ``facts``."""
        if not gone:
            return {}
        count = self.axioms.fact_count()
        lost = self._modules.unassign(gone, facts)
        numbers = {rule.number for rule in gone}
        for module in self.strata:
            extend(lost, module.remove_rules(numbers, facts))
        if count and any(not rule.source.body for rule in gone):
            stated: Candidates = {}
            for assignment in self.assignments:
                if assignment.module == FACT:
                    emit(assignment.rule.heads, Batch.start(), stated)
            self.axioms = TripleIndex()
            self._add_axioms(stated)
        return lost

    def _empty(self, predicate: int, explicit: TripleIndex) -> None:
        """Leave of a predicate what is explicit. Rules that derive it are applied to all facts again."""
        relation = self.fixpoint.index.relation(predicate)
        given = (facts.relation(predicate).pairs().keys for facts in (explicit, self.axioms))
        staying = relation.common(union(*given))
        self.fixpoint.exclude(predicate, relation.pairs().keys)
        self.fixpoint.index.add(predicate, Pairs(staying))

    def _worth_emptying(self, gone: Sequence[CompiledRule], explicit: TripleIndex) -> set[int]:
        """What rules that go have derived, and all that depends on it, as predicates, if much of that may go.

        There are none if a rule leaves open what it reads or derives.
        """
        if not gone:
            return set()
        staying = [rule for rule in self.compiled.rules if rule.heads]
        rules = [*staying, *(rule for rule in gone if rule.heads)]
        is_open = any(rule.guards or rule.is_open for rule in rules)
        derives_virtual = any(not module.rules for module in self._modules.modules)
        if is_open or derives_virtual:
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
        return (
            found if MAX_FACTS_PER_LOST_FACT * lost >= sum(len(index.relation(p)) for p in found) else set()
        )

    def _add_axioms(self, stated: Candidates) -> None:
        """Note facts that rules state."""
        self.axioms.add_all(Delta.gathered(stated) - self.axioms)

    def _review(self) -> None:
        """Let modules see which rules there are."""
        for module in self._modules.modules:
            module.review(self._assignment.rules)

    def _place_modules(self) -> None:
        """Let the fixpoint have the modules that there are now. New ones apply their rules to all facts."""
        wanted: list[Module] = [*self._modules.modules, *self.strata]
        for module in list(self.fixpoint.modules):
            if module not in wanted:
                self.fixpoint.remove_module(module)
        following: Module | None = None
        for module in reversed(wanted):
            if module not in self.fixpoint.modules:
                self.fixpoint.add_module(module, before=following)
            following = module
        self._sort_modules()

    def _sort_modules(self) -> None:
        """Note which modules derive schema facts from schema facts, add rules, or close what facts say."""
        modules = self._modules.modules
        self.schema_modules = tuple(module for module in modules if module.derives_schema)
        self._adding = [m for m in modules if type(m).new_rules is not Module.new_rules]
        self._closing = [m for m in modules if type(m).closed_by_facts is not Module.closed_by_facts]

    def _take_new_rules(self) -> None:
        """Take in rules that modules add for the facts there are now."""
        new = [rule for module in self._adding for rule in module.new_rules(self.compiled)]
        if new:
            self._assignment = ModuleAssignment(self.compiled, self._kinds, self._rejected, self._assignment)
            for rule in new:
                self._modules.assign(rule, self._assignment.module_of(rule), self.compiled, {})
            self._review()
            self._place_modules()

    def _watch(self, origin: Module, predicate: int, new: Pairs) -> None:
        """Note whether anything but the schema leads to schema facts."""
        if not self.schema_depends_on_data and origin not in self.schema_modules:
            self.schema_depends_on_data = bool(self.schema.mask(predicate, new).any())

    def _closes_schema(self) -> bool:
        """Whether facts, which may go, make a module close a relation of the schema."""
        schema, rdf_type = self.schema.predicates, self.compiled.rdf_type
        closed = (module.closed_by_facts for module in self._closing)
        return any(rdf_type in names or not schema.isdisjoint(names) for names in closed)

    # Strata

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
            module = SemiNaive(f"stratum {position}", self.context)
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

    @property
    def value_relations(self) -> frozenset[int]:
        """The virtual relations that tell of the values of literals."""
        return frozenset(map(self.compiled.dictionary.encode, VALUE_BUILTINS))

    def stratify(
        self, suspended: Collection[int] = (), earlier: Iterable[Edge] = ()
    ) -> tuple[Strata, tuple[Edge, ...]]:
        """The strata, given the facts so far: see ``program.stratify``."""
        index = self.fixpoint.index
        return stratify(self.compiled, index, tables(self.context, index), suspended, earlier)

    def is_ordered_by(self, strata: Strata) -> bool:
        """Whether strata are in order, and leave out the right rules, given the facts so far."""
        index = self.fixpoint.index
        rows = tables(self.context, index)
        edges = live_edges(self.compiled, index, rows)
        if strata.suspended:
            if negative_cycles(edges).keys() != strata.suspended.keys():
                return False
            edges = live_edges(self.compiled, index, rows, strata.suspended)
        return strata.hold_for(edges)

    def evaluate(self, strata: Strata) -> dict[int, Suspension]:
        """Let the rules that are not monotone join in, stratum by stratum: each is a module of its own.

        Stops after a stratum that leads to facts that are ``late`` for a rule: those rules are the result.
        From when a stratum leads to schema facts, ``schema_depends_on_strata``: these may change the order.
        """
        self.restratify(strata)
        for number in range(1, len(self.strata) + 1):
            self.fixpoint.journal = {}
            self.run(number)
            new = Delta.gathered(self.fixpoint.journal)
            self.fixpoint.journal = None
            self.schema_depends_on_strata |= self.schema.are_among(new)
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
                        for key in np.concatenate(parts)[:MAX_LATE_FACTS].tolist()
                    )
                    if late and rule.number not in found:
                        found[rule.number] = Suspension(late=late[:MAX_LATE_FACTS])
        if found:
            index = self.fixpoint.index
            edges = live_edges(self.compiled, index, tables(self.context, index))
            live = {edge.rule.number for edge in edges if not edge.link}
            found = {number: why for number, why in found.items() if number in live}
        return found
