"""The engine: a program, its modules, and the fixpoint over the facts.

1. Rules are assigned to the modules that claim them (``assignment``).
2. Modules may add rules for the present facts: rules over whole lists, unrolled for every list length.
3. Monotone rules run to the fixpoint in the constructor, and again whenever facts are added. Rules with
   negation or aggregates take part from ``evaluate`` on, stratum by stratum.

Symbols: E are the explicit facts, I is the materialisation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import partial

import numpy as np

from corollary.columns import Candidates, Delta, KnownUnions, Relation, TripleIndex
from corollary.columns.pairs import Pairs, pack, sorted_unique, union
from corollary.evaluate.assignment import FACT, Assignment, ModuleAssignment
from corollary.evaluate.fixpoint import Fixpoint
from corollary.evaluate.precedence import KnownPrecedence, Precedence, precedence_of
from corollary.evaluate.rule_change import AffectedFacts, RuleChange
from corollary.evaluate.rule_modules import RuleModules
from corollary.evaluate.schema_proof import KnownSchemaProof
from corollary.evaluate.tuning import (
    MAX_LATE_FACTS_LISTED,
    SECONDS_PER_FACT_ADOPTED,
    SECONDS_TO_MAKE_RULES,
)
from corollary.execute.batches import Batch, join
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import emit, extend, family_rows
from corollary.kernels.sorted import Column
from corollary.language import Rule
from corollary.modules import registry
from corollary.modules.guards import Guards
from corollary.modules.module import Module, NewModules
from corollary.modules.recursive_aggregate import LeastValues
from corollary.modules.semi_naive import SemiNaive
from corollary.program.compile import CompiledRule, Tables
from corollary.program.compiled_program import VALUE_BUILTINS, CompiledProgram, ProgramChange
from corollary.program.dependencies import closed_atoms, live_edges
from corollary.program.edges import CLASS, Edge, Node
from corollary.program.recursion import ordering_edges, recursive_aggregate
from corollary.program.stratify import Strata, Suspension, negative_cycles, stratify


def tables(context: ExecutionContext, facts: TripleIndex) -> Tables:
    """A function that returns the table of a rule's family over these facts: row count, and columns.

    Where a guard's relation is compressed, only live rows: those whose predicates or classes have facts.
    """

    def rows(rule: CompiledRule) -> tuple[int, dict[int, Column]]:
        if not rule.guards and all(condition.needs for condition in rule.conditions):
            return 1, {}
        batch = family_rows(rule, facts, context, is_live=True)
        return batch.size, batch.columns

    return rows


Measured = dict[tuple[str, bool], tuple[int, float]]
"""By strategy, and whether schema was removed: |Δ⁻| of the last large transaction, and its seconds."""


class CannotAdopt(Exception):
    """Facts cannot be taken for I without reasoning. The message is the reason."""


class Engine:
    """The modules of a program, and all facts derived so far: ``fixpoint.index``.

    ``schema_depends_on_data``: data leads to schema facts, so that a change of schema and data is followed in
    one layer. ``schema_depends_on_strata``: rules with negation or aggregates lead to schema facts.
    ``schema_proof`` is what is known of proofs of the schema from few facts (``maintain.final_schema``).
    ``remembered`` is what the deletion strategy of the last transaction keeps for the next one, ``layers``
    are those of that transaction, ``routes`` what searches for proofs have looked up (``maintain.deletion``).
    ``with_axioms`` and ``with_schema_types`` make the facts that are proved when data is followed.
    ``seconds`` is what materialising took: an estimate until ``materialise`` sets it.
    ``strata`` has a module for each stratum, ``recursive`` further modules: its recursive aggregates.
    ``axioms`` are the facts that rules without body state. ``version`` counts the transactions.
    """

    remembered: object = None
    layers: object = None
    routes: object = None
    _known_guards: tuple[Guards, int, Delta] | None = None

    def __init__(
        self,
        explicit: TripleIndex,
        compiled: CompiledProgram,
        *,
        modular: bool = True,
        rejected: Collection[Rule] = (),
        closed: TripleIndex | None = None,
        previous: Engine | None = None,
    ) -> None:
        """Run the monotone rules to the fixpoint over ``explicit``, which is not changed.

        Unless ``modular``, there are no optional modules. ``rejected`` rules are not offered to these.
        ``previous`` has rules of ``compiled``: what it knows of them, regardless of facts, is reused.
        ``closed`` is I without virtual relations, if it is known: see ``restored``, which derives nothing.
        """
        self.compiled = compiled
        self._kinds = [kind for kind in registry.MODULES if modular or not kind.is_optional]
        self._rejected = rejected
        known: ModuleAssignment | None = None if previous is None else previous._assignment
        self._assignment: ModuleAssignment = ModuleAssignment(compiled, self._kinds, rejected, known)
        self.context = ExecutionContext(compiled.dictionary)
        if previous is not None:
            self.context.take_answers(previous.context)
        self._modules = RuleModules(compiled, self._kinds, self.context)
        self.axioms = TripleIndex()
        self.with_axioms, self.with_schema_types = KnownUnions(), KnownUnions()
        self.version = 0
        self.strata: list[SemiNaive] = []
        self.recursive: list[list[LeastValues]] = []
        self.schema_depends_on_data = self.schema.has_any_class
        self.schema_depends_on_strata = False
        self.measured: Measured = {}
        self.schema_modules: tuple[Module, ...] = ()
        self._adding: list[Module] = []
        self._closing: list[Module] = []
        self._precedence: KnownPrecedence | None = None
        self.schema_proof = KnownSchemaProof()
        index = (explicit if closed is None else closed).snapshot()
        stated: Candidates = {}
        for rule in compiled.rules:
            self._modules.assign(rule, self._assignment.module_of(rule), compiled, stated)
        self._add_axioms(stated)
        self._review()
        names = compiled.dictionary.decode
        self.fixpoint = Fixpoint(index, self._modules.modules, names, self._watch)
        self._sort_modules()
        self.seconds = SECONDS_TO_MAKE_RULES + index.held() * SECONDS_PER_FACT_ADOPTED
        if closed is None:
            self.add(stated)

    @classmethod
    def restored(
        cls,
        explicit: TripleIndex,
        closed: TripleIndex,
        compiled: CompiledProgram,
        *,
        rejected: Collection[Rule] = (),
        schema_is_alone: bool = False,
    ) -> tuple[Engine, Strata]:
        """An engine at I as it is known: ``closed``, without virtual relations. Also returns the strata.

        ``schema_is_alone``: the engine that derived I said so.
        Raises ``CannotAdopt`` if rules are suspended, or if more follows from I than I. That every fact of I
        follows from ``explicit``, and that no rule has further conclusions, is not checked.
        """
        engine = cls(explicit, compiled, rejected=rejected, closed=closed)
        return engine, engine._restore_modules(explicit, schema_is_alone=schema_is_alone)

    @property
    def schema(self) -> Guards:
        """The facts that are schema."""
        return self._assignment.schema

    @property
    def assignments(self) -> list[Assignment]:
        """Every rule with the name of its module."""
        return self._modules.assignments

    @property
    def cells(self) -> Mapping[int, tuple[int, ...]]:
        """The cells that each reading of a list visits."""
        return dict(self.context.readings)

    def add(self, facts: Candidates) -> None:
        """Add facts, and run to the fixpoint the monotone rules and all strata of the engine."""
        self.fixpoint.include(facts)
        self.run()

    def run(self, strata: int | None = None) -> None:
        """Run the modules to the fixpoint, with the first ``strata`` strata only; None: with all of them."""
        waiting = 0 if strata is None else len(self._modules_of_strata(strata))
        self.fixpoint.run(self._take_new_rules, waiting)
        self.schema_depends_on_data |= self._closes_schema()

    def guards(self, facts: TripleIndex) -> Delta:
        """The schema facts of ``facts``: the index of the fixpoint, or an earlier snapshot of it.

        The same object until facts come or go that may be schema.
        """
        schema, known = self.schema, self._known_guards
        if known is None or known[0] is not schema or known[1] != facts.schema_changes:
            known = self._known_guards = schema, facts.schema_changes, schema.of(facts)
        return known[2]

    def precedence(self, facts: TripleIndex) -> Precedence:
        """The precedence of predicates over ``facts``. Cached until rules, guards or predicates change."""
        known, assignments = self._precedence, self.assignments
        guards = self.guards(facts)
        if known is None or not known.holds_for(assignments, guards, facts):
            rows, schema = tables(self.context, facts), self.schema.predicates
            closing = {module.name for module in self._modules.modules if module.closes_premises}
            evaluated = [*assignments, *self._modules.variants]
            rdf_type = self.compiled.rdf_type
            found = precedence_of(evaluated, facts, rows, schema, closing, rdf_type)
            known = KnownPrecedence(found, tuple(assignments), guards, frozenset(facts.all_predicates()))
            self._precedence = known
        return known.precedence

    # Changes of the program

    def planned(self, change: ProgramChange, explicit: TripleIndex, *, wholesale: bool) -> RuleChange:
        """What a change of the program does to this engine, which is not changed yet.

        Without ``wholesale``, nothing is emptied, and ``keeps_little`` is False.
        """
        removed, assignment = change.removed, self._assignment
        if not all(map(assignment.is_indifferent_to, (*removed, *change.inserted))):
            assignment = ModuleAssignment(change.program, self._kinds, self._rejected, assignment)
        affected = AffectedFacts(change, self.fixpoint.index, explicit, self.axioms)
        derives_virtual = any(not module.rules for module in self._modules.modules)
        wholesale = wholesale and affected.are_known and not derives_virtual
        emptied = affected.worth_emptying() if wholesale and removed else frozenset[int]()
        numbers = {rule.number for rule in removed}
        kept = [a for a in self.assignments if a.rule.number not in numbers]
        again = [a.rule for a in kept if a.module != FACT and affected.derives(a.rule, emptied)]
        is_as_before = assignment is self._assignment or assignment.is_as(self._assignment)
        all_moved = ([], []) if is_as_before else self._moved(kept, assignment)
        keeps_little = False
        renewing = [*all_moved[0], *affected.doubling(change.inserted)] if wholesale else []
        if renewing or emptied:
            found = affected.nodes([*removed, *renewing])
            is_alone = bool(renewing) or affected.are_all_inferred(found)
            keeps_little = is_alone and affected.are_most(found)
        numbers = {rule.number for rule in again}
        moved, passed = ([rule for rule in rules if rule.number not in numbers] for rules in all_moved)
        return RuleChange(change, assignment, emptied, again, moved, passed, keeps_little)

    def change(self, planned: RuleChange, explicit: TripleIndex) -> tuple[Candidates, Candidates]:
        """Replace the program and reassign its rules. Only facts of emptied nodes change at once.

        Returns the candidates that may have lost a derivation, and the facts that new rules state. The
        modules' next turns derive the conclusions of new rules, and the facts of emptied nodes that still
        follow. Raises ``NewModules`` if the program needs a module that the engine does not have.
        """
        change, before, emptied = planned.change, self._assignment, planned.emptied
        self._take_up(change)
        self._assignment = planned.assignment
        is_as_before = self._assignment is before or self._assignment.is_as(before)
        index = self.fixpoint.index
        lost = self._unassign([*change.removed, *planned.again], TripleIndex() if emptied else index)
        extend(lost, self._unassign(planned.moved, index))
        self._unassign(planned.passed, TripleIndex())
        self._empty(emptied, explicit)
        for node in emptied:  # of types, the caller leaves out those that are gone
            lost.pop(node, None)
        stated: Candidates = {}
        for rule in [*change.inserted, *planned.again, *planned.moved, *planned.passed]:
            self._modules.assign(rule, self._assignment.module_of(rule), self.compiled, stated)
        self._add_axioms(stated)
        self._review()
        self._place_modules()
        if not is_as_before and (self.compiled.has_strata or not self.schema_depends_on_data):
            self._note_dependence(self.schema.beyond(before.schema).of(index) - explicit)
        self.schema_depends_on_data |= self.schema.has_any_class or self._closes_schema()
        return lost, stated

    def _note_dependence(self, more: Delta) -> None:
        """Note on what facts may depend that were derived before they became schema.

        ``schema_depends_on_strata`` may become True although they only depend on data.
        """
        rules = [rule for rule in self.compiled.rules if not rule.is_monotone]
        by_strata = any(more.has_match(head.s, head.p, head.o) for rule in rules for head in rule.heads)
        if more and (by_strata or self._may_follow_from_data(more.all_predicates())):
            self.schema_depends_on_data = True
            self.schema_depends_on_strata |= self.compiled.has_strata

    def _may_follow_from_data(self, predicates: Collection[int]) -> bool:
        """Whether modules that are not of the schema have live rules for facts of these predicates."""
        schema_names = {module.name for module in self.schema_modules}
        return any(
            not self.precedence(self.fixpoint.index).modules_deriving(predicate) <= schema_names
            for predicate in predicates
        )

    def lost_at_least(self, removed: Collection[CompiledRule], explicit: TripleIndex) -> int:
        """A lower bound of the facts that lose a derivation if the rules ``removed`` are removed."""
        modules = ((rule, self._modules.module_of(rule)) for rule in removed)
        index = self.fixpoint.index
        counts = (m.derives_at_least(rule, index, explicit) for rule, m in modules if m is not None)
        return max(counts, default=0) - self.axioms.fact_count()

    def _take_up(self, change: ProgramChange) -> None:
        """Pass the new program to all modules."""
        self.compiled = change.program
        for module in self._modules.modules:
            module.take_up(change, self.fixpoint.index)
        present = {type(module) for module in self._modules.modules}
        for kind in self._kinds:
            if kind not in present and kind.is_needed(change.program):
                raise NewModules(f"the rules ask for {kind.why}, and need other modules for that")

    def _moved(
        self, assignments: Iterable[Assignment], new: ModuleAssignment
    ) -> tuple[list[CompiledRule], list[CompiledRule]]:
        """The rules that have another module under a new assignment, in two lists.

        First those where the old or the new module keeps state; then those where neither does.
        """
        moved: list[CompiledRule] = []
        passed: list[CompiledRule] = []
        for assignment in assignments:
            now = new.module_of(assignment.rule)
            if now != assignment.module:
                keeps_state = self._modules.keeps_state(now) or self._modules.keeps_state(assignment.module)
                (moved if keeps_state else passed).append(assignment.rule)
        return moved, passed

    def _unassign(self, removed: Collection[CompiledRule], facts: TripleIndex) -> Candidates:
        """Remove rules from their modules. Returns at least their conclusions from ``facts`` in one step."""
        if not removed:
            return {}
        count = self.axioms.fact_count()
        lost = self._modules.unassign(removed, facts)
        numbers = {rule.number for rule in removed}
        for module in self._modules_of_strata():
            extend(lost, module.remove_rules(numbers, facts))
        if count and any(not rule.source.body for rule in removed):
            stated: Candidates = {}
            for assignment in self.assignments:
                if assignment.module == FACT:
                    emit(assignment.rule.heads, Batch.start(), stated)
            self.axioms = TripleIndex()
            self._add_axioms(stated)
        return lost

    def _empty(self, nodes: Set[Node], explicit: TripleIndex) -> None:
        """Truncate predicates, and classes, to E and the axioms.

        Precondition: the rules that derive the nodes were unassigned, and are assigned again.
        """
        index, rdf_type = self.fixpoint.index, self.compiled.rdf_type
        for predicate in (node for node in nodes if node < CLASS):
            relation = index.relation(predicate)
            given = (facts.keys(predicate) for facts in (explicit, self.axioms))
            staying = relation.common(union(*given))
            self.fixpoint.exclude(predicate, relation)
            index.add(predicate, Pairs(staying))
        classes = np.array(sorted(node - CLASS for node in nodes if node >= CLASS), np.uint32)
        if classes.size:
            rows, subjects = index.relation(rdf_type).subjects_of(classes)
            types = Delta({rdf_type: sorted_unique(pack(subjects, classes[rows]))}) - explicit - self.axioms
            self.fixpoint.exclude(rdf_type, types.relation(rdf_type))

    def _add_axioms(self, stated: Candidates) -> None:
        """Add facts that rules state to ``axioms``."""
        self.axioms.add_all(Delta.gathered(stated) - self.axioms)

    def _review(self) -> None:
        """Pass the rules of all modules to each module."""
        for module in self._modules.modules:
            module.review(self._assignment.rules)

    def _place_modules(self) -> None:
        """Add new modules to the fixpoint, in their places, and remove those that are not needed any more."""
        wanted: list[Module] = [*self._modules.modules, *self._modules_of_strata()]
        for module in list(self.fixpoint.modules):
            if module not in wanted:
                self.fixpoint.remove_module(module)
        following: Module | None = None
        for module in reversed(wanted):
            if module not in self.fixpoint.modules:
                self.fixpoint.add_module(module, before=following)
            following = module
        self.fixpoint.reroute()
        self._sort_modules()

    def _sort_modules(self) -> None:
        """Cache the modules that derive schema, that add rules, and that facts let close a predicate."""
        modules = self._modules.modules
        self.schema_modules = tuple(module for module in modules if module.derives_schema)
        self._adding = [m for m in modules if type(m).new_rules is not Module.new_rules]
        self._closing = [m for m in modules if type(m).closed_by_facts is not Module.closed_by_facts]

    def _take_new_rules(self) -> None:
        """Assign the rules that modules add for the present facts."""
        new = [rule for module in self._adding for rule in module.new_rules(self.compiled)]
        if new:
            self._assignment = ModuleAssignment(self.compiled, self._kinds, self._rejected, self._assignment)
            for rule in new:
                self._modules.assign(rule, self._assignment.module_of(rule), self.compiled, {})
            self._review()
            self._place_modules()

    def _watch(self, origin: Module | None, predicate: int, facts: Pairs) -> None:
        """Count changes of facts that may be schema.

        Set ``schema_depends_on_data`` if a module that is not of the schema derived schema facts.
        """
        if not self.schema.may_have(predicate, facts):
            return
        self.fixpoint.index.schema_changes += 1
        if not (self.schema_depends_on_data or origin is None or origin in self.schema_modules):
            self.schema_depends_on_data = self.schema.has_part_of(predicate, facts)

    def _closes_schema(self) -> bool:
        """Whether facts, rather than rules, let a module close a predicate of the schema."""
        for module in self._closing:
            names = module.closed_by_facts
            if self.compiled.rdf_type in names or not self.schema.predicates.isdisjoint(names):
                return True
        return False

    # Restoring

    def _restore_modules(self, explicit: TripleIndex, *, schema_is_alone: bool) -> Strata:
        """Restore the modules from I. Returns the strata; raises as ``restored`` does.

        Modules that ask which facts are external come last: all others answer. A recursive aggregate keeps
        waiting; the first transaction computes its values from scratch.
        """
        index, strata = self.fixpoint.index, Strata.none()
        size = index.fact_count()
        self.fixpoint.include(Delta.of(self.axioms).candidates())
        restored: list[Module] = []
        self._restore(restored, explicit, asking=False)
        if self.compiled.has_strata:
            strata, _ = self.stratify()
            if strata.suspended:
                raise CannotAdopt("rules are suspended")
            self.restratify(strata)
            for stratum in self.strata:
                stratum.start(index)
        restored += self._modules_of_strata()
        self._restore(restored, explicit, asking=True)
        for module in self.fixpoint.modules:
            self.fixpoint.skip(module)
        if index.fact_count() != size:
            raise CannotAdopt("more facts follow from these by the rules")
        if not schema_is_alone:
            self._restore_dependence(explicit)
        return strata

    @property
    def schema_is_alone(self) -> bool:
        """Whether all schema facts follow from the explicit ones, whatever the data and the strata."""
        return not (self.schema_depends_on_data or self.schema_depends_on_strata)

    def _restore(self, restored: list[Module], explicit: TripleIndex, *, asking: bool) -> None:
        """Restore the modules that ask for external facts, or the others, and append them to ``restored``."""
        while left := [
            module
            for module in self._modules.modules
            if module not in restored and module.asks_for_external is asking
        ]:
            found = left[0].restore(self.fixpoint.index, partial(self._external, left[0], restored, explicit))
            self.fixpoint.include(found)
            restored.append(left[0])
            self._take_new_rules()

    def _external(
        self, module: Module, restored: Sequence[Module], explicit: TripleIndex, predicate: int
    ) -> Relation | None:
        """The facts of a predicate that are explicit, or that modules but for this one derive in one step.

        None if that is not known: a module that cannot be asked derives facts of the predicate, or a rule may
        derive a fact from itself. (Modules with state leave such instances out.)

            [?x, :t, ?y] :- [?x, :t, ?y], :A[?x] .   I has all facts: each with an :A would count as external
        """
        later = (m for m in self._modules.modules if m is not module and m not in restored)
        silent = [*later, *(m for recursive in self.recursive for m in recursive)]
        if any(predicate in rule.derives for other in silent for rule in other.rules):
            return None
        others = [other for other in restored if other is not module]
        plain = (other for other in others if not other.keeps_state)
        if any(_may_repeat(rule, predicate) for other in plain for rule in other.rules):
            return None
        index = self.fixpoint.index
        facts = Delta({predicate: index.keys(predicate)})
        found = facts & explicit | facts & self.axioms
        for other in others:
            asked = facts - found
            if asked:
                found |= Delta.gathered(other.rederive(asked, index)) & asked
        return found.relation(predicate)

    def _restore_dependence(self, explicit: TripleIndex) -> None:
        """Set ``schema_depends_on_data`` and ``schema_depends_on_strata``.

        Both stay False if all schema facts follow from explicit schema facts, by modules of the schema. Cost:
        closing the explicit schema facts.
        """
        guards, depends = self.schema.of(self.fixpoint.index), self.schema.has_any_class
        if guards and not depends:
            few = Engine(self.schema.of(explicit), self.compiled, rejected=self._rejected)
            depends = few.schema_depends_on_data or bool(guards - few.fixpoint.index)
        self.schema_depends_on_data |= depends or self._closes_schema()
        self.schema_depends_on_strata = self.compiled.has_strata and depends

    # Strata

    def restratify(self, strata: Strata) -> None:
        """Regroup the rules that are not monotone into strata. Only new rules are applied to all facts."""
        present = [
            {rule.number for module in (plain, *recursive) for rule in module.rules}
            for plain, recursive in zip(self.strata, self.recursive, strict=True)
        ]
        is_served = all(module.rules for recursive in self.recursive for module in recursive)
        if is_served and present == list(map(set, strata.rules)):
            return
        by_number = {rule.number: rule for rule in self.compiled.rules}
        started = {rule.number for module in self.strata for rule in module.rules} - {
            number for module in self.strata for number in module.unstarted()
        }
        known = {rule.number: module for part in self.recursive for module in part for rule in module.rules}
        for old in self._modules_of_strata():
            self.fixpoint.remove_module(old)
        self.strata, self.recursive = [], []
        for position, stratum in enumerate(strata.rules, 1):
            rules = [by_number[number] for number in stratum if number in by_number]
            recursive = [rule for rule in rules if recursive_aggregate(rule) is not None]
            plain = [rule for rule in rules if rule not in recursive]
            self.strata.append(self._stratum(f"stratum {position}", plain, started))
            self.recursive.append(
                [known.get(rule.number) or LeastValues(rule, self.context) for rule in recursive]
            )
        for module in self._modules_of_strata():
            self.fixpoint.add_module(module)

    def _stratum(self, name: str, rules: Iterable[CompiledRule], started: Collection[int]) -> SemiNaive:
        """A module for the rules of a stratum, without recursive aggregates."""
        module, new = SemiNaive(name, self.context), []
        for rule in rules:
            if rule.number in started:
                module.add_rule(rule)
            else:
                new.append(rule)
        module.start(self.fixpoint.index)
        for rule in new:
            module.add_rule(rule)
        return module

    def _modules_of_strata(self, after: int = 0) -> list[Module]:
        """The modules of all strata but for the first ones, in order."""
        parts = zip(self.strata[after:], self.recursive[after:], strict=True)
        return [module for plain, recursive in parts for module in (plain, *recursive)]

    @property
    def value_relations(self) -> frozenset[int]:
        """The virtual relations about values of literals."""
        return frozenset(map(self.compiled.dictionary.encode, VALUE_BUILTINS))

    def stratify(
        self, suspended: Collection[int] = (), earlier: Iterable[Edge] = ()
    ) -> tuple[Strata, tuple[Edge, ...]]:
        """The strata over the facts so far, and their edges: see ``program.stratify``."""
        index = self.fixpoint.index
        return stratify(self.compiled, index, tables(self.context, index), suspended, earlier)

    def is_ordered_by(self, strata: Strata) -> bool:
        """Whether strata are a valid order over the facts so far, and suspend exactly the rules on cycles."""
        index = self.fixpoint.index
        rows = tables(self.context, index)
        edges = ordering_edges(live_edges(self.compiled, index, rows))
        if strata.suspended:
            if negative_cycles(edges).keys() != strata.suspended.keys():
                return False
            edges = ordering_edges(live_edges(self.compiled, index, rows, strata.suspended))
        return strata.hold_for(edges)

    def evaluate(self, strata: Strata) -> dict[int, Suspension]:
        """Evaluate the strata in order, each as a module, and each to the fixpoint with all modules below.

        Returns the rules for which facts came ``late``, and stops after the first stratum with such facts.
        Sets ``schema_depends_on_strata`` if a stratum leads to schema facts, which may change the order.
        """
        self.restratify(strata)
        for number in range(1, len(self.strata) + 1):
            with self.fixpoint.recording() as new_facts:
                self.run(number)
            new = Delta.gathered(new_facts)
            self.schema_depends_on_strata |= self.schema.are_among(new)
            late = self.late(number, new)
            if late:
                return late
        return {}

    def late(self, number: int, new: TripleIndex) -> dict[int, Suspension]:
        """The rules of the first ``number`` strata for which new facts came late.

        A late fact matches what a rule negates or aggregates over, after that was taken to be complete. No
        fact is late for a rule without live instances.
        """
        found: dict[int, Suspension] = {}
        for plain, recursive in zip(self.strata[:number], self.recursive[:number], strict=True):
            for rule in (rule for module in (plain, *recursive) for rule in module.rules):
                for atom in closed_atoms(rule):
                    facts: Candidates = {}
                    emit((atom,), join(Batch.start(), atom, new), facts)
                    late = tuple(
                        (key >> 32, predicate, key & 0xFFFFFFFF)
                        for predicate, parts in facts.items()
                        for key in np.concatenate(parts)[:MAX_LATE_FACTS_LISTED].tolist()
                    )
                    if late and rule.number not in found:
                        found[rule.number] = Suspension(late=late[:MAX_LATE_FACTS_LISTED])
        if found:
            index = self.fixpoint.index
            edges = live_edges(self.compiled, index, tables(self.context, index))
            live = {edge.rule.number for edge in edges if not edge.link}
            found = {number: why for number, why in found.items() if number in live}
        return found


def _may_repeat(rule: CompiledRule, predicate: int) -> bool:
    """Whether a rule may conclude a fact of a predicate from this fact itself."""
    data = [rule.atoms[position] for position in rule.data]
    return any(
        (head.s, head.o) == (atom.s, atom.o)
        for head in rule.heads
        for atom in data
        if all(p < 0 or p == predicate for p in (head.p, atom.p))
    )
