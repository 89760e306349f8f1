"""The semi-naive module: evaluates any rules by joins, and every instance once.

One call of ``add`` is one round. The module keeps a snapshot of the facts at the end of its last round, the
old facts. So all facts = old + recent, whatever other modules did in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from corollary.columns import Candidates, Pairs, TripleIndex
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import emit, run, run_delta, sizes
from corollary.modules.entrances import Entrance, Entrances, Recent
from corollary.modules.groups import touched
from corollary.modules.module import Module
from corollary.modules.rule_set import RuleSet
from corollary.plan.delta_plans import delta_plan, full_plan
from corollary.plan.steps import Age, DeltaPlan
from corollary.program.compile import Atom, CompiledRule
from corollary.program.compiled_program import CompiledProgram


@dataclass(slots=True, eq=False)
class Trigger:
    """A body atom that is matched with recent facts. ``predicates`` are those of the other atoms.

    A rule has many triggers, and most are never viable: what only those need is computed at the first use.
    """

    rule: CompiledRule
    position: int
    predicates: frozenset[int] = field(init=False)
    _needs: list[Atom] | None = field(default=None, init=False)
    _entrance: Entrance | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        others = (atom for position, atom in enumerate(self.rule.atoms) if position != self.position)
        self.predicates = frozenset([atom.p for atom in others if atom.p >= 0])

    @property
    def entrance(self) -> Entrance:
        """Where recent facts enter the rule's family."""
        if self._entrance is None:
            self._entrance = Entrance(self.rule, self.rule.atoms[self.position])
        return self._entrance

    def is_viable(self, ages: Mapping[Age, TripleIndex]) -> bool:
        """As ``viable``, except that the trigger's own atom reads the recent facts."""
        atom, recent = self.rule.atoms[self.position], ages[Age.RECENT]
        if not recent.has_match(atom.s, atom.p, atom.o):
            return False
        if self._needs is None:
            self._needs = needs(self.rule, self.position)
        return all(ages[Age.ALL].has_match(atom.s, atom.p, atom.o) for atom in self._needs)


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
        self._triggers: dict[int, list[Trigger]] = {}
        self._open_triggers: list[Trigger] = []
        self._heads: dict[int, list[Trigger]] = {}
        self._open_heads: list[Trigger] = []
        self._forward: list[CompiledRule] = []
        self._blocking: list[tuple[Atom, Trigger, Trigger]] = []
        self._unstarted: list[CompiledRule] = []
        self._entrances = Entrances(context)
        self._plans: dict[tuple[Trigger, bool], DeltaPlan] = {}  # made at the first use

    def add_rule(self, rule: CompiledRule, positions: Collection[int] | None = None) -> None:
        """Add a rule. The next ``add`` applies the rule to all facts.

        With ``positions``, only the body atoms at these positions are matched with recent facts.
        """
        self.rules.append(rule)
        self._unstarted.append(rule)
        self.is_waiting = True
        for position, atom in enumerate(rule.atoms):
            if positions is None or position in positions:
                triggers = self._open_triggers if atom.p < 0 else self._triggers.setdefault(atom.p, [])
                triggers.append(Trigger(rule, position))
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
        self._unstarted = [rule for rule in self._unstarted if rule.number not in numbers]
        self.is_waiting = bool(self._unstarted)
        self._forward = [rule for rule in self._forward if rule.number not in numbers]
        for triggers in (self._triggers, self._heads):
            for predicate in list(triggers):
                triggers[predicate] = [t for t in triggers[predicate] if t.rule.number not in numbers]
                if not triggers[predicate]:
                    del triggers[predicate]
        self._open_triggers = [t for t in self._open_triggers if t.rule.number not in numbers]
        self._open_heads = [t for t in self._open_heads if t.rule.number not in numbers]
        self._blocking = [entry for entry in self._blocking if entry[1].rule.number not in numbers]
        self._plans = {key: plan for key, plan in self._plans.items() if key[0].rule.number not in numbers}
        self._entrances.forget(numbers)

    def unstarted(self) -> list[int]:
        """The numbers of the rules that have not been applied yet."""
        return [rule.number for rule in self._unstarted]

    def start(self, facts: TripleIndex) -> None:
        """Mark all rules as applied to ``facts``."""
        self._unstarted, self.is_waiting = [], False
        self._old = facts.snapshot()

    def conclusions(self, facts: TripleIndex, numbers: Collection[int] | None = None) -> Candidates:
        """The conclusions from ``facts`` of all own rules, or of those with the given numbers."""
        candidates: Candidates = {}
        for rule in self.rules:
            if (numbers is None or rule.number in numbers) and viable(rule, facts):
                self._conclude(rule, {Age.ALL: facts}, candidates)
        return candidates

    def reads(self, predicate: int) -> bool:
        """Whether a body atom may match facts of the predicate."""
        return predicate in self._triggers or bool(self._open_triggers)

    def objects_read(self, predicate: int) -> Set[int] | None:
        """The objects that the body atoms name, if all atoms of the predicate name one."""
        if self._open_triggers:
            return None
        named = {t.rule.atoms[t.position].o for t in self._triggers.get(predicate, ())}
        return None if min(named, default=-1) < 0 else named

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """All of ``new``: one round's conclusions may be premises in the next."""
        return new

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates:
        """One round: the conclusions of instances with a recent premise, and all of rules not yet applied."""
        candidates: Candidates = {}
        ages = {Age.ALL: facts, Age.RECENT: recent, Age.OLD: self._old}
        started, self._unstarted, self.is_waiting = self._unstarted, [], False
        fresh = set(map(id, started))
        for rule in started:
            if viable(rule, facts):
                self._conclude(rule, ages, candidates)
        triggers = [trigger for trigger in self._triggered(recent) if id(trigger.rule) not in fresh]
        for trigger, batch in self._run(triggers, ages):
            emit(trigger.rule.heads, batch, candidates)
        self._old = facts.snapshot()
        return candidates

    def instances(
        self, facts: TripleIndex, recent: TripleIndex, old: TripleIndex
    ) -> Iterator[tuple[CompiledRule, Batch]]:
        """The bindings of all variables with a recent premise, each once, by rule.

        Premises before the recent one, in the order of the rule, are ``old``. So calls with disjoint sets of
        recent facts find each binding once if ``old`` are the facts that are in none of these sets.
        """
        ages = {Age.ALL: facts, Age.RECENT: recent, Age.OLD: old}
        found = self._run(self._triggered(recent), ages, whole=True)
        return ((trigger.rule, batch) for trigger, batch in found)

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """One round over proved facts, by the rules that may conclude a wanted fact."""
        known = facts.known_predicates
        leading = (
            trigger
            for trigger in self._triggered(recent)
            if trigger.predicates <= known  # cheap, and False for most triggers
            and any(wanted.has_match(head.s, head.p, head.o) for head in trigger.rule.heads)
        )
        return self._apply(leading, facts, recent)

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Candidates:
        """The conclusions of all instances over ``facts`` with a deleted premise."""
        return self._apply(self._triggered(deleted), facts, deleted)

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that are conclusions of instances over ``facts``.

        Every rule has a form with its head as a further body atom, which is matched with the candidates (the
        rederivation rules of Gupta, Mumick, Subrahmanian, Maintaining Views Incrementally, 1993).
        """
        derived: Candidates = {}
        for trigger, batch in self._backward(candidates, facts):
            emit(trigger.rule.heads, batch, derived)
        return derived

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The premises of all instances over ``facts`` whose conclusion is a candidate."""
        read: Candidates = {}
        for trigger, batch in self._backward(candidates, facts, whole=True):
            emit(trigger.rule.atoms[: trigger.position], batch, read)
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
        return self._apply(triggers, facts, inserted)

    def inserted_by_negation(self, facts: TripleIndex, removed: TripleIndex) -> Candidates:
        """The conclusions of instances that removed facts blocked (definition 5, for insertion).

        Precondition: ``facts`` are those after the change.
        """
        triggers = [
            trigger for atom, _, trigger in self._blocking if removed.has_match(atom.s, atom.p, atom.o)
        ]
        return self._apply(triggers, facts, removed)

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

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """The remaining facts become the old facts of the next round."""
        self._old = facts.snapshot()

    def _apply(self, triggers: Iterable[Trigger], facts: TripleIndex, recent: TripleIndex) -> Candidates:
        candidates: Candidates = {}
        ages = {Age.ALL: facts, Age.RECENT: recent, Age.OLD: facts}
        for trigger, batch in self._run(triggers, ages):
            emit(trigger.rule.heads, batch, candidates)
        return candidates

    def _backward(
        self, candidates: TripleIndex, facts: TripleIndex, *, whole: bool = False
    ) -> Iterator[tuple[Trigger, Batch]]:
        for rule in self._forward:
            for head in rule.heads:
                heads = self._open_heads if head.p < 0 else self._heads.setdefault(head.p, [])
                backward = replace(rule, atoms=(*rule.atoms, head), heads=(head,))
                heads.append(Trigger(backward, len(rule.atoms)))
        self._forward = []
        ages = {Age.ALL: facts, Age.RECENT: candidates, Age.OLD: facts}
        triggers = [t for predicate in candidates.all_predicates() for t in self._heads.get(predicate, ())]
        return self._run([*triggers, *self._open_heads], ages, whole=whole)

    def _conclude(
        self,
        rule: CompiledRule,
        ages: Mapping[Age, TripleIndex],
        candidates: Candidates,
        start: Batch | None = None,
    ) -> None:
        """Add all conclusions of a rule to the candidates. ``start`` restricts the bindings."""
        plan = full_plan(rule, sizes(ages[Age.ALL]))
        emit(rule.heads, run(plan, ages, rule, self._context, start, rule.concluded), candidates)

    def _run(
        self, triggers: Iterable[Trigger], ages: Mapping[Age, TripleIndex], *, whole: bool = False
    ) -> Iterator[tuple[Trigger, Batch]]:
        """The non-empty results of the triggers' delta plans: head variables, or all if ``whole``."""
        known = ages[Age.ALL].known_predicates
        triggers = [trigger for trigger in triggers if trigger.predicates <= known]  # cheap: few are left
        if not triggers:
            return
        recent = Recent(ages[Age.RECENT])
        self._entrances.begin(ages[Age.ALL])
        for trigger in triggers:
            if not self._entrances.may_match(trigger.entrance, ages[Age.ALL], recent):
                continue
            if not trigger.is_viable(ages):
                continue
            read = trigger.rule.atoms[trigger.position].p
            by_cost = read >= 0 and ages[Age.RECENT].relation(read).is_compressed
            plan = self._plans.get((trigger, by_cost))
            if plan is None:
                size = sizes(ages[Age.ALL])
                plan = delta_plan(trigger.rule, trigger.position, size, by_cost=by_cost)
                self._plans[trigger, by_cost] = plan
            wanted = () if whole else trigger.rule.concluded
            batch = run_delta(plan, ages, trigger.rule, self._context, wanted)
            if batch.size:
                yield trigger, batch

    def _triggered(self, recent: TripleIndex) -> Iterable[Trigger]:
        for predicate in recent.all_predicates():
            yield from self._triggers.get(predicate, ())
        yield from self._open_triggers


class SchemaRules(SemiNaive):
    """The rules with constant body predicates whose conclusions are all schema facts."""

    name = "schema"
    why = "rules about constant predicates that lead to guards of others: closed first"
    turn = 40
    is_optional = True
    derives_schema = True

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

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """All offered rules."""
        return offered

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> OtherRules:
        """A module without rules."""
        return cls(cls.name, context)


def needs(rule: CompiledRule, but: int | None = None) -> list[Atom]:
    """Atoms that must have a match if the rule concludes anything, without the body atom at ``but``.

    Guards and ground atoms stay as they are; every other constant predicate becomes one atom with two
    variables.
    """
    found: dict[Atom, None] = {}
    for position, atom in enumerate(rule.atoms):
        if position != but and atom.p >= 0:
            is_whole = position in rule.guards or (atom.s >= 0 and atom.o >= 0)
            found[atom if is_whole else Atom(-1, atom.p, -2)] = None
    return list(found)


def viable(rule: CompiledRule, facts: TripleIndex) -> bool:
    """Whether all ``needs`` of a rule have a match. If not, the rule concludes nothing."""
    known = facts.known_predicates
    if not all(predicate < 0 or predicate in known for predicate in rule.needs):  # cheap
        return False
    return all(facts.has_match(atom.s, atom.p, atom.o) for atom in needs(rule))


def _apart(atom: Atom, shared: Collection[int], count: int) -> Atom:
    """A negated atom whose unshared variables are renamed, to numbers beyond the rule's ``count`` names."""
    return Atom(*(term if term >= 0 or term in shared else term - count for term in atom.terms))
