"""The semi-naive module: evaluates any rules by joins, and every instance once.

One call of ``add`` is one round. The module keeps a snapshot of the facts at the end of its last round, the
old facts. So all facts = old + recent, whatever other modules did in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from corollary.columns import Candidates, Pairs, TripleIndex
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import emit, extend, run, run_delta, sizes
from corollary.modules.few_facts import (
    Binding,
    Match,
    Steps,
    body_of,
    facts_of,
    few_found,
    heads_of,
    joined,
    matched,
    starts,
    steps_of,
)
from corollary.modules.groups import touched
from corollary.modules.guard_probes import GuardProbes, GuardTables, Recent
from corollary.modules.halving import NOT_HALVED, Halving, Halvings
from corollary.modules.module import Answer, External, Fact, Module, NotFew
from corollary.modules.rule_set import RuleSet
from corollary.modules.triggers import Trigger, Triggers, viable
from corollary.plan.delta_plans import delta_plan, full_plan
from corollary.plan.steps import Age, DeltaPlan
from corollary.program.compile import Atom, CompiledRule
from corollary.program.compiled_program import CompiledProgram


class SemiNaive(Module):
    """Evaluates rules by delta plans, one for every positive body atom.

    ``_heads`` has rules with one head as the last body atom, but for those in ``_forward``: they come there
    when facts are first removed. ``_blocking`` has negated atoms, each with two triggers that match it: for
    the rule without its negations, and with them.
    """

    why = "negation or aggregates: after all that they depend on"
    turn = 90
    is_optional = False
    keeps_state = False

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> SemiNaive:
        """A module without rules."""
        return cls("semi-naive", context)

    def __init__(self, name: str, context: ExecutionContext) -> None:
        self.name = name
        self.rules: list[CompiledRule] = []
        self._context = context
        self._old = TripleIndex()
        self._triggers = Triggers()
        self._heads = Triggers()
        self._forward: list[CompiledRule] = []
        self._blocking: list[tuple[Atom, Trigger, Trigger]] = []
        self._unstarted: list[CompiledRule] = []
        self._is_partial = False  # whether some body atoms of rules are not matched with recent facts
        self._probes = GuardProbes(context)
        self._plans: dict[tuple[Trigger, bool], DeltaPlan] = {}
        self._steps: dict[Trigger, Steps] = {}
        self._halvings: Halvings | None = None  # made at the first use

    def add_rule(self, rule: CompiledRule, positions: Collection[int] | None = None) -> None:
        """Add a rule. One of the next ``add`` applies the rule to all facts.

        With ``positions``, only the body atoms at these positions are matched with recent facts.
        """
        self.rules.append(rule)
        self._halvings = None
        self._unstarted.append(rule)
        self.is_waiting = True
        for position in range(len(rule.atoms)):
            if positions is None or position in positions:
                self._triggers.add(Trigger(rule, position))
            else:
                self._is_partial = True
        self._forward.append(rule)
        for negation in rule.negations:
            for atom in negation.atoms:
                apart = _apart(atom, negation.shared, len(rule.names))
                atoms, position = (*rule.atoms, apart), len(rule.atoms)
                open_to_all = replace(rule, atoms=atoms, negations=())
                self._blocking.append(
                    (apart, Trigger(open_to_all, position), Trigger(replace(rule, atoms=atoms), position))
                )

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Remove rules and their variants. Returns all conclusions that they derive from ``facts``."""
        lost = self.conclusions(facts, numbers)
        self.drop_rules(numbers)
        return lost

    def drop_rules(self, numbers: Collection[int]) -> None:
        """Remove rules and their variants."""
        if not any(rule.number in numbers for rule in self.rules):
            return
        self.rules = [rule for rule in self.rules if rule.number not in numbers]
        self._halvings = None
        self._unstarted = [rule for rule in self._unstarted if rule.number not in numbers]
        self.is_waiting = bool(self._unstarted)
        self._forward = [rule for rule in self._forward if rule.number not in numbers]
        self._triggers.drop(numbers)
        self._heads.drop(numbers)
        self._blocking = [entry for entry in self._blocking if entry[1].rule.number not in numbers]
        self._plans = {key: plan for key, plan in self._plans.items() if key[0].rule.number not in numbers}
        self._steps = {key: steps for key, steps in self._steps.items() if key.rule.number not in numbers}
        self._probes.forget(numbers)

    def unstarted(self) -> list[int]:
        """The numbers of the rules that have not been applied yet."""
        return [rule.number for rule in self._unstarted]

    def start(self, facts: TripleIndex) -> None:
        """Mark all rules as applied to ``facts``."""
        self._unstarted, self.is_waiting = [], False
        self._old = facts.snapshot()

    def restore(self, facts: TripleIndex, external: External) -> Candidates:
        """Mark all rules as applied: the old facts are all that the module remembers."""
        self.start(facts)
        return {}

    def conclusions(self, facts: TripleIndex, numbers: Collection[int] | None = None) -> Candidates:
        """The conclusions from ``facts`` of all own rules, or of those with the given numbers."""
        candidates: Candidates = {}
        for rule in self.rules:
            if (numbers is None or rule.number in numbers) and viable(rule, facts):
                self._conclude(rule, {Age.ALL: facts}, candidates)
        return candidates

    def reads(self, predicate: int) -> bool:
        """Whether a body atom may match facts of the predicate."""
        return self._triggers.read(predicate)

    def objects_read(self, predicate: int) -> Set[int] | None:
        """The objects that the body atoms name, if all atoms of the predicate name one."""
        return self._triggers.objects_read(predicate)

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """All of ``new``: one round's conclusions may be premises in the next."""
        return new

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        """One round: the conclusions of instances with a recent premise, and all of rules applied first.

        Of the rules not yet applied, those come first that read no conclusions of these: so the others are
        applied to these conclusions at once.
        """
        candidates: Candidates = {}
        halving = self._halving(facts, recent)
        ages = {Age.ALL: facts, Age.RECENT: recent, Age.OLD: self._old}
        fresh = set(map(id, self._unstarted))
        started, self._unstarted = _first_of(self._unstarted)
        self.is_waiting = bool(self._unstarted)
        for rule in started:
            if viable(rule, facts):
                self._conclude(rule, ages, candidates, halving=halving)
        tables = self._probes.over(facts)
        values = Recent(recent)
        if halving is NOT_HALVED and not fresh and values.few is not None:
            candidates = self._conclusions(values, tables)
        else:
            live = self._live(self._triggers, values, tables)
            triggers = (trigger for trigger in live if id(trigger.rule) not in fresh)
            for trigger, batch in self._run(triggers, ages, tables, values, halving=halving):
                halving.emit(trigger.rule, batch, candidates)
        self._old = facts.snapshot()
        new = halving.take(candidates, facts)
        return Answer(candidates, new=new)

    def instances(
        self, facts: TripleIndex, recent: TripleIndex, old: TripleIndex
    ) -> Iterator[tuple[CompiledRule, Batch]]:
        """The bindings of all variables with a recent premise, each once, by rule.

        Premises before the recent one, in the order of the rule, are ``old``. So calls with disjoint sets of
        recent facts find each binding once if ``old`` are the facts that are in none of these sets.
        """
        ages = {Age.ALL: facts, Age.RECENT: recent, Age.OLD: old}
        tables, values = self._probes.over(facts), Recent(recent)
        live = self._live(self._triggers, values, tables)
        for trigger, batch in self._run(live, ages, tables, values, is_whole=True):
            yield trigger.rule, batch

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """One round over proved facts, by the rules that may conclude a wanted fact."""
        tables, values = self._probes.over(facts), Recent(recent)
        live = self._live(self._triggers, values, tables)
        return self._apply((t for t in live if t.may_conclude(wanted)), tables, values)

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        """The conclusions of all instances over ``facts`` with a deleted premise."""
        tables, values = self._probes.over(facts), Recent(deleted)
        return Answer(self._conclusions(values, tables, are_closed=self.concludes_facts))

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that are conclusions of instances over ``facts``.

        Every rule has a form with its head as a further body atom, which is matched with the candidates (the
        rederivation rules of Gupta, Mumick, Subrahmanian, Maintaining Views Incrementally, 1993).
        """
        tables, values = self._probes.over(facts), Recent(candidates)
        self._turn_rules()
        if values.few is not None:
            found, left = few_found(self._few(self._heads, values, tables), matched)
        else:
            found, left = {}, self._live(self._heads, values, tables)
        for trigger, batch in self._backward(left, tables, values):
            emit(trigger.rule.heads, batch, found)
        return found

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The premises of the instances over ``facts`` whose conclusion is a candidate.

        Premises of predicates with only proved facts may be left out.
        """

        def is_open(predicate: int) -> bool:
            return predicate < 0 or facts.relation(predicate).size > proved.relation(predicate).size

        tables, values = self._probes.over(facts), Recent(candidates)
        self._turn_rules()
        if values.few is not None:
            read, left = few_found(self._few(self._heads, values, tables), body_of)
            read = {predicate: keys for predicate, keys in read.items() if is_open(predicate)}
        else:
            read, left = {}, self._live(self._heads, values, tables)
        for trigger, batch in self._backward(left, tables, values, beyond=proved):
            atoms = trigger.rule.atoms[: trigger.position]
            emit(tuple(atom for atom in atoms if is_open(atom.p)), batch, read)
        return read

    def nonmonotone_reads(self) -> set[int]:
        """The predicates of negated atoms, and of atoms in aggregates. A variable predicate is negative."""
        negated = (atom.p for atom, _, _ in self._blocking)
        inside = (atom.p for rule in self.rules for grouping in rule.groupings for atom in grouping.atoms)
        return {*negated, *inside}

    def deleted_by_negation(self, facts: TripleIndex, inserted: TripleIndex) -> Candidates:
        """The conclusions of instances that added facts block (definition 5, for deletion).

        Precondition: ``facts`` contain all facts before the change. Other negated atoms are ignored: some of
        these instances may not have existed. Example: ``p[?x, ?y] :- q[?x, ?y], NOT r[?x, ?y]``; adding
        r[a, b] deletes p[a, b].
        """
        triggers = [
            trigger for atom, trigger, _ in self._blocking if inserted.has_match(atom.s, atom.p, atom.o)
        ]
        return self._apply(triggers, self._probes.over(facts), Recent(inserted))

    def inserted_by_negation(self, facts: TripleIndex, removed: TripleIndex) -> Candidates:
        """The conclusions of instances that removed facts blocked (definition 5, for insertion).

        Precondition: ``facts`` are those after the change.
        """
        triggers = [
            trigger for atom, _, trigger in self._blocking if removed.has_match(atom.s, atom.p, atom.o)
        ]
        return self._apply(triggers, self._probes.over(facts), Recent(removed))

    def touched(self, facts: TripleIndex, changed: TripleIndex) -> list[tuple[CompiledRule, Batch]]:
        """The groups that changed facts touch, each with its rule. Precondition as for ``groups.touched``."""
        groupings = ((rule, grouping) for rule in self.rules for grouping in rule.groupings)
        found = ((rule, touched(grouping, facts, changed)) for rule, grouping in groupings)
        return [(rule, groups) for rule, groups in found if groups.size]

    def grouped(self, facts: TripleIndex, groups: Iterable[tuple[CompiledRule, Batch]]) -> Candidates:
        """The conclusions over ``facts`` of rules with aggregates, for the given groups only."""
        candidates: Candidates = {}
        for rule, start in groups:
            if viable(rule, facts):
                self._conclude(rule, {Age.ALL: facts}, candidates, start=start)
        return candidates

    def conclusions_of(self, fact: Fact, facts: TripleIndex, proved: TripleIndex) -> Iterable[Fact]:
        """By the rules one of whose body atoms matches the fact."""
        found: list[Fact] = []
        matches = self._matches(self._triggers, fact, self._tables(facts), are_closed=self.concludes_facts)
        for trigger, _, bindings in matches:
            if bindings is None:
                raise NotFew
            found += facts_of(trigger.rule.heads, bindings)
        return found

    def instances_of(self, fact: Fact, facts: TripleIndex) -> Iterable[Sequence[Fact]]:
        """By the rules one of whose heads matches the fact."""
        self._turn_rules()
        for trigger, _, bindings in self._matches(self._heads, fact, self._tables(facts)):
            if bindings is None:
                raise NotFew
            guards, atoms = trigger.rule.guards, trigger.rule.atoms[: trigger.position]
            data = [atom for position, atom in enumerate(atoms) if position not in guards]
            for binding in bindings:
                yield facts_of(data, (binding,))

    def _tables(self, facts: TripleIndex) -> GuardTables:
        """The tables over facts that are not changed any more."""
        latest = self._probes.latest
        return latest if latest is not None and latest.facts is facts else self._probes.over(facts)

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """The remaining facts become the old facts of the next round."""
        self._old = facts.snapshot()

    def _live(
        self, triggers: Triggers, recent: Recent, tables: GuardTables, *, are_closed: bool = False
    ) -> list[Trigger]:
        """The triggers that recent facts may match, by their predicates and classes."""
        found = triggers.live(recent.facts, tables.facts, are_closed=are_closed)
        return [trigger for live in found for trigger in live.entered(tables, recent)]

    def _halving(self, facts: TripleIndex, recent: TripleIndex) -> Halving:
        """How the work on the recent facts is halved."""
        if self._is_partial:
            return NOT_HALVED
        if self._halvings is None:
            self._halvings = Halvings(self.rules)
        return self._halvings.over(facts, recent)

    def _apply(self, triggers: Iterable[Trigger], tables: GuardTables, recent: Recent) -> Candidates:
        candidates: Candidates = {}
        ages = {Age.ALL: tables.facts, Age.RECENT: recent.facts, Age.OLD: tables.facts}
        for trigger, batch in self._run(triggers, ages, tables, recent):
            emit(trigger.rule.heads, batch, candidates)
        return candidates

    def _turn_rules(self) -> None:
        """Give rules their forms with a head as the last body atom."""
        for rule in self._forward:
            for head in rule.heads:
                backward = replace(rule, atoms=(*rule.atoms, head), heads=(head,))
                self._heads.add(Trigger(backward, len(rule.atoms)))
        self._forward = []

    def _backward(
        self,
        triggers: Sequence[Trigger],
        tables: GuardTables,
        recent: Recent,
        *,
        beyond: TripleIndex | None = None,
    ) -> Iterator[tuple[Trigger, Batch]]:
        """The results of rules whose heads are matched with candidates, as ``_run`` returns them."""
        ages = {Age.ALL: tables.facts, Age.RECENT: recent.facts, Age.OLD: tables.facts}
        return self._run(triggers, ages, tables, recent, beyond=beyond)

    def _conclusions(self, recent: Recent, tables: GuardTables, *, are_closed: bool = False) -> Candidates:
        """The conclusions of all instances over the facts of the tables with a recent premise."""
        if recent.few is None:
            return self._apply(
                self._live(self._triggers, recent, tables, are_closed=are_closed), tables, recent
            )
        few = self._few(self._triggers, recent, tables, are_closed=are_closed)
        found, left = few_found(few, heads_of)
        if left:
            extend(found, self._apply(left, tables, recent))
        return found

    def _few(
        self, triggers: Triggers, recent: Recent, tables: GuardTables, *, are_closed: bool = False
    ) -> Iterator[Match]:
        """The triggers that few recent facts match, each with the bindings of its rule, if these are few."""
        for fact in recent.few or ():
            yield from self._matches(triggers, fact, tables, are_closed=are_closed)

    def _matches(
        self, triggers: Triggers, fact: Fact, tables: GuardTables, *, are_closed: bool = False
    ) -> Iterator[Match]:
        """As ``_few``, for one fact."""
        for live in triggers.live_on((fact[1],), tables.facts, are_closed=are_closed):
            for trigger in live.entered_by(fact, tables):
                bindings = self._bindings(trigger, fact, tables)
                if bindings is None or bindings:
                    yield trigger, fact, bindings

    def _bindings(self, trigger: Trigger, fact: Fact, tables: GuardTables) -> Sequence[Binding] | None:
        """The bindings by which a recent fact matches a trigger's rule; None if they are not found by one."""
        probe = trigger.probe
        rows = tables.rows_of(probe, fact[1] if probe.variable == probe.atom.p else fact[2])
        if rows is not None and not rows.rows.size:
            return ()
        steps = self._steps.get(trigger)
        if steps is None:
            ages = {Age.ALL: tables.facts, Age.RECENT: TripleIndex()}
            steps = self._steps[trigger] = steps_of(self._plan(trigger, ages))
        atoms = steps[rows is None]
        if atoms is None:
            return None
        start = starts(trigger.atom.terms, fact, rows)
        return joined(start, atoms, tables.facts) if start else start

    def _conclude(
        self,
        rule: CompiledRule,
        ages: Mapping[Age, TripleIndex],
        candidates: Candidates,
        start: Batch | None = None,
        halving: Halving = NOT_HALVED,
    ) -> None:
        """Add all conclusions of a rule to the candidates. ``start`` restricts the bindings."""
        plan = full_plan(rule, sizes(ages[Age.ALL]))
        batch = run(plan, ages, rule, self._context, start, rule.concluded)
        halving.emit(rule, batch, candidates, are_all=start is None)

    def _run(
        self,
        triggers: Iterable[Trigger],
        ages: Mapping[Age, TripleIndex],
        tables: GuardTables,
        recent: Recent,
        *,
        beyond: TripleIndex | None = None,
        is_whole: bool = False,
        halving: Halving = NOT_HALVED,
    ) -> Iterator[tuple[Trigger, Batch]]:
        """The non-empty results of the triggers' delta plans: the variables of the heads.

        Preconditions: ``tables`` are those over ``ages[Age.ALL]``; ``recent`` has ``ages[Age.RECENT]``.
        ``is_whole``: all variables, and every binding once, also where guards are neither old nor recent.
        ``beyond``: all variables, and at least the bindings with a premise of a predicate that has more facts
        than are in ``beyond``.
        """
        triggers = list(triggers)
        if not triggers:
            return
        are_new = ages[Age.OLD] is not ages[Age.ALL]
        for trigger in filter(halving.needs, triggers):
            found = tables.rows_for(trigger.probe, recent)
            if found is not None and beyond is not None:
                found = found.take(trigger.open_rows(found.rows, ages[Age.ALL], beyond))
            if found is None:
                may_match = trigger.is_viable(ages)
            else:  # the guards have matches
                may_match = found.rows.size > 0 and trigger.is_among(ages[Age.RECENT])
            if not may_match:
                continue
            plan = self._plan(trigger, ages)
            wanted = () if is_whole or beyond is not None else trigger.rule.concluded
            probed = None
            if found is not None and not (
                is_whole or (are_new and trigger.has_guard_among(ages[Age.RECENT]))
            ):
                probed = found.rows, found.values
            needed = halving.ages(trigger, ages)
            batch = run_delta(plan, needed, trigger.rule, self._context, wanted, probed)
            if batch.size:
                yield trigger, batch

    def _plan(self, trigger: Trigger, ages: Mapping[Age, TripleIndex]) -> DeltaPlan:
        """The trigger's delta plan, made at the first use."""
        by_cost = trigger.atom.p >= 0 and ages[Age.RECENT].relation(trigger.atom.p).is_compressed
        plan = self._plans.get((trigger, by_cost))
        if plan is None:
            size = sizes(ages[Age.ALL])
            plan = delta_plan(trigger.rule, trigger.position, size, by_cost=by_cost)
            self._plans[trigger, by_cost] = plan
        return plan


class SchemaRules(SemiNaive):
    """The rules with constant body predicates whose conclusions are all schema facts."""

    name = "schema"
    why = "rules about constant predicates that lead to guards of others: closed first"
    turn = 40
    is_optional = True
    derives_schema = True
    concludes_facts = True

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """The offered rules that ``RuleSet.is_schema`` accepts."""
        return [rule for rule in offered if rules.is_schema(rule)]

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> SchemaRules:
        """A module without rules."""
        return cls(cls.name, context)


class OtherRules(SemiNaive):
    """The monotone rules that no other module takes."""

    name = "rules"
    why = "of no special shape: joined with what is recent, semi-naive"
    turn = 80
    concludes_facts = True

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """All offered rules."""
        return offered

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> OtherRules:
        """A module without rules."""
        return cls(cls.name, context)


def _first_of(rules: list[CompiledRule]) -> tuple[list[CompiledRule], list[CompiledRule]]:
    """The rules that read no conclusions of any of them, or all if there are none; and the others."""
    derived = frozenset[int]().union(*[rule.derives for rule in rules])
    first: list[CompiledRule] = []
    others: list[CompiledRule] = []
    for rule in rules:
        (first if derived.isdisjoint(rule.reads) and not rule.is_open else others).append(rule)
    return (first, others) if first and min(derived, default=0) >= 0 else (rules, [])


def _apart(atom: Atom, shared: Collection[int], count: int) -> Atom:
    """A negated atom whose unshared variables are renamed, to numbers beyond the rule's ``count`` names."""
    return Atom(*(term if term >= 0 or term in shared else term - count for term in atom.terms))
