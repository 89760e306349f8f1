"""The semi-naive module: any rules, by joins, each way to satisfy a body considered once.

A run is one round. It keeps the index as it was after its last run (a snapshot: the old facts), so
all = old + recent holds whatever other modules did in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from corollary.columns.delta import Candidates
from corollary.columns.pairs import Pairs
from corollary.columns.triples import TripleIndex
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import emit, run, run_delta, sizes
from corollary.modules.groups import touched
from corollary.modules.module import Module
from corollary.modules.rule_set import RuleSet
from corollary.plan.delta_plans import delta_plan, full_plan
from corollary.plan.steps import Age, DeltaPlan
from corollary.program.compile import Atom, CompiledRule
from corollary.program.compiled_program import CompiledProgram


@dataclass(frozen=True, slots=True, eq=False)
class Trigger:
    """A body atom that recent facts may match."""

    rule: CompiledRule
    position: int
    needs: list[Atom] = field(init=False)
    predicates: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", needs(self.rule, self.position))
        object.__setattr__(self, "predicates", frozenset(atom.p for atom in self.needs))

    def is_viable(self, ages: Mapping[Age, TripleIndex]) -> bool:
        """As ``viable``, for the rule: the atom reads the recent facts, all others read all facts."""
        facts = ages[Age.ALL]
        if not facts.has_predicates(self.predicates) or not all(_has_match(a, facts) for a in self.needs):
            return False
        return _has_match(self.rule.atoms[self.position], ages[Age.RECENT])


class SemiNaive(Module):
    """Rules evaluated by delta plans, one for every positive body atom."""

    why = "negation or aggregates: after all that they depend on"
    turn = 90
    is_optional = False
    keeps_state = False

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> SemiNaive:
        """Without rules."""
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
        self._blocking: list[tuple[Atom, Trigger, Trigger]] = []
        self._unstarted: list[CompiledRule] = []
        self._plans: dict[Trigger, DeltaPlan] = {}  # made when they are first needed

    def add_rule(self, rule: CompiledRule, positions: Collection[int] | None = None) -> None:
        """Take in a rule. It is applied to all facts in the next run.

        With ``positions``, only recent facts that match these body atoms lead to anything.
        """
        self.rules.append(rule)
        self._unstarted.append(rule)
        for position, atom in enumerate(rule.atoms):
            if positions is None or position in positions:
                triggers = self._open_triggers if atom.p < 0 else self._triggers.setdefault(atom.p, [])
                triggers.append(Trigger(rule, position))
        for head in rule.heads:
            triggers = self._open_heads if head.p < 0 else self._heads.setdefault(head.p, [])
            backward = replace(rule, atoms=(*rule.atoms, head), heads=(head,))
            triggers.append(Trigger(backward, len(rule.atoms)))
        for negation in rule.negations:
            for atom in negation.atoms:
                apart = _apart(atom, negation.shared, len(rule.names))
                atoms, position = (*rule.atoms, apart), len(rule.atoms)
                open_to_all = replace(rule, atoms=atoms, negations=())
                self._blocking.append(
                    (apart, Trigger(open_to_all, position), Trigger(replace(rule, atoms=atoms), position))
                )

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Let go of rules and their variants; all that they derive from the facts."""
        lost = self.conclusions(facts, numbers)
        self.drop_rules(numbers)
        return lost

    def drop_rules(self, numbers: Collection[int]) -> None:
        """Let go of rules and their variants."""
        if not any(rule.number in numbers for rule in self.rules):
            return
        self.rules = [rule for rule in self.rules if rule.number not in numbers]
        self._unstarted = [rule for rule in self._unstarted if rule.number not in numbers]
        for triggers in (self._triggers, self._heads):
            for predicate in list(triggers):
                triggers[predicate] = [t for t in triggers[predicate] if t.rule.number not in numbers]
                if not triggers[predicate]:
                    del triggers[predicate]
        self._open_triggers = [t for t in self._open_triggers if t.rule.number not in numbers]
        self._open_heads = [t for t in self._open_heads if t.rule.number not in numbers]
        self._blocking = [entry for entry in self._blocking if entry[1].rule.number not in numbers]
        self._plans = {t: plan for t, plan in self._plans.items() if t.rule.number not in numbers}

    def unstarted(self) -> list[int]:
        """The numbers of the rules that were not applied yet."""
        return [rule.number for rule in self._unstarted]

    def start(self, facts: TripleIndex) -> None:
        """Take the rules for applied to all facts."""
        self._unstarted = []
        self._old = facts.snapshot()

    def conclusions(self, facts: TripleIndex, numbers: Collection[int] | None = None) -> Candidates:
        """All that its rules, or some of them and their variants, derive from the facts."""
        candidates: Candidates = {}
        for rule in self.rules:
            if (numbers is None or rule.number in numbers) and viable(rule, facts):
                self._conclude(rule, {Age.ALL: facts}, candidates)
        return candidates

    def reads(self, predicate: int) -> bool:
        """Whether facts of that predicate can make a difference."""
        return predicate in self._triggers or bool(self._open_triggers)

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """All its own conclusions come back to it: they may lead to more of them."""
        return new

    @property
    def is_waiting(self) -> bool:
        """Whether there are rules that were not applied yet."""
        return bool(self._unstarted)

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates:
        """What one application of the rules derives that needs a recent fact."""
        candidates: Candidates = {}
        ages = {Age.ALL: facts, Age.RECENT: recent, Age.OLD: self._old}
        started, self._unstarted = self._unstarted, []
        fresh = set(map(id, started))
        for rule in started:
            if viable(rule, facts):
                self._conclude(rule, ages, candidates)
        triggers = [trigger for trigger in self._triggered(recent) if id(trigger.rule) not in fresh]
        for trigger, batch in self._run(triggers, ages):
            emit(trigger.rule.heads, batch, candidates)
        self._old = facts.snapshot()
        return candidates

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """What one application of the rules over ``facts`` derives that needs a recent one."""
        leading = (
            trigger
            for trigger in self._triggered(recent)
            if facts.has_predicates(trigger.predicates)  # most have none, and are seen to at once
            and any(_has_match(head, wanted) for head in trigger.rule.heads)
        )
        return self._apply(leading, facts, recent)

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Candidates:
        """The conclusions of all instances over ``facts`` that need a gone fact."""
        return self._apply(self._triggered(deleted), facts, deleted)

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that are the head of an instance over ``facts``.

        Every rule has a form with its head as one more body atom, which the candidates match (the
        rederivation rules of Gupta, Mumick, Subrahmanian, Maintaining Views Incrementally, 1993).
        """
        derived: Candidates = {}
        for trigger, batch in self._backward(candidates, facts):
            emit(trigger.rule.heads, batch, derived)
        return derived

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The bodies of all instances over ``facts`` that have a candidate for a head."""
        read: Candidates = {}
        for trigger, batch in self._backward(candidates, facts, whole=True):
            emit(trigger.rule.atoms[: trigger.position], batch, read)
        return read

    def nonmonotone_reads(self) -> set[int]:
        """The predicates of what rules negate or aggregate over; a negative one if they leave one open."""
        negated = (atom.p for atom, _, _ in self._blocking)
        inside = (atom.p for rule in self.rules for grouping in rule.groupings for atom in grouping.atoms)
        return {*negated, *inside}

    def deleted_by_negation(self, facts: TripleIndex, came: TripleIndex) -> Candidates:
        """What may lose an instance because negated facts came (definition 5, for deletion).

        ``facts`` are those before the change at least; what else is negated does not matter.
        """
        triggers = [trigger for atom, trigger, _ in self._blocking if _has_match(atom, came)]
        return self._apply(triggers, facts, came)

    def inserted_by_negation(self, facts: TripleIndex, went: TripleIndex) -> Candidates:
        """What has an instance now that negated facts went (definition 5, for insertion)."""
        triggers = [trigger for atom, _, trigger in self._blocking if _has_match(atom, went)]
        return self._apply(triggers, facts, went)

    def touched(self, facts: TripleIndex, changed: TripleIndex) -> list[tuple[CompiledRule, Batch]]:
        """The groups that changed facts touch, with the rule whose aggregate they belong to.

        ``facts`` are those before the change if the changed ones went, those after it if they came.
        """
        groupings = ((rule, grouping) for rule in self.rules for grouping in rule.groupings)
        found = ((rule, touched(grouping, facts, changed)) for rule, grouping in groupings)
        return [(rule, groups) for rule, groups in found if groups.size]

    def grouped(self, facts: TripleIndex, groups: Iterable[tuple[CompiledRule, Batch]]) -> Candidates:
        """What the rules with aggregates conclude over the facts of some groups."""
        candidates: Candidates = {}
        for rule, start in groups:
            if viable(rule, facts):
                self._conclude(rule, {Age.ALL: facts}, candidates, start=start)
        return candidates

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Take the facts there are now for the old ones of the next run."""
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
        """Add all that a rule derives to the candidates; with a ``start``, from these bindings."""
        plan = full_plan(rule, sizes(ages[Age.ALL]))
        emit(rule.heads, run(plan, ages, rule, self._context, start, rule.concluded), candidates)

    def _run(
        self, triggers: Iterable[Trigger], ages: Mapping[Age, TripleIndex], *, whole: bool = False
    ) -> Iterator[tuple[Trigger, Batch]]:
        """The bindings that each trigger leads to, if any: those of its heads, or of the ``whole`` rule."""
        for trigger in triggers:
            if not trigger.is_viable(ages):
                continue
            plan = self._plans.get(trigger)
            if plan is None:
                plan = delta_plan(trigger.rule, trigger.position, sizes(ages[Age.ALL]))
                self._plans[trigger] = plan
            wanted = () if whole else trigger.rule.concluded
            batch = run_delta(plan, ages, trigger.rule, self._context, wanted)
            if batch.size:
                yield trigger, batch

    def _triggered(self, recent: TripleIndex) -> Iterable[Trigger]:
        for predicate in recent.all_predicates():
            yield from self._triggers.get(predicate, ())
        yield from self._open_triggers


class SchemaRules(SemiNaive):
    """Rules from constant predicates to schema facts."""

    name = "schema"
    why = "rules about constant predicates that lead to guards of others: closed first"
    turn = 40
    is_optional = True
    derives_schema = True

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """Rules that lead from constant predicates to schema facts, and to nothing else."""
        return [rule for rule in offered if rules.is_schema(rule)]

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> SchemaRules:
        """Without rules."""
        return cls(cls.name, context)


class OtherRules(SemiNaive):
    """All rules that no other module takes."""

    name = "rules"
    why = "of no special shape: joined with what is recent, semi-naive"
    turn = 80

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """All."""
        return offered

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> OtherRules:
        """Without rules."""
        return cls(cls.name, context)


def needs(rule: CompiledRule, but: int | None = None) -> list[Atom]:
    """Atoms that a rule needs a match for, ``but`` for the atom with that number.

    Guards and facts stand for themselves, of other atoms only the predicate.
    """
    found: dict[Atom, None] = {}
    for position, atom in enumerate(rule.atoms):
        if position != but and atom.p >= 0:
            is_whole = position in rule.guards or (atom.s >= 0 and atom.o >= 0)
            found[atom if is_whole else Atom(-1, atom.p, -2)] = None
    return list(found)


def viable(rule: CompiledRule, facts: TripleIndex) -> bool:
    """Whether no body atom rules itself out at a glance: by an empty relation, or an absent constant."""
    return all(_has_match(atom, facts) for atom in needs(rule))


def _has_match(atom: Atom, facts: TripleIndex) -> bool:
    """Whether an atom with a constant predicate matches anything; variables are taken for different."""
    if atom.p < 0:
        return True
    relation = facts.relation(atom.p)
    if not len(relation):
        return False
    if atom.s >= 0 and atom.o >= 0:
        return relation.has(atom.s, atom.o)
    if atom.s >= 0:
        return relation.has_subject(atom.s)
    if atom.o >= 0:
        return relation.has_object(atom.o)
    return True


def _apart(atom: Atom, shared: Collection[int], count: int) -> Atom:
    """A negated atom with the variables that are its own renamed, beyond the rule's ``count`` names."""
    return Atom(*(term if term >= 0 or term in shared else term - count for term in atom.terms))
