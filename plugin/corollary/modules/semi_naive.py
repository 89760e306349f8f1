"""The semi-naive module: any rules, by joins, each way to satisfy a body considered once.

A run is one round. It keeps the index as it was after its last run (a snapshot: the old facts), so
all = old + recent holds whatever other modules did in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from corollary.algebra.execute import Candidates, emit, run, run_delta, sizes
from corollary.index.pairs import Pairs
from corollary.index.triples import TripleIndex
from corollary.plan.compile import Atom, CompiledRule
from corollary.plan.order import Age, DeltaPlan, delta_plan, full_plan
from corollary.terms.dictionary import TermDictionary


@dataclass(slots=True)
class Trigger:
    """A body atom that recent facts may match, and the plan for them once there were any."""

    rule: CompiledRule
    position: int
    plan: DeltaPlan | None = None


class SemiNaive:
    """Rules evaluated by delta plans, one for every positive body atom."""

    def __init__(self, name: str, dictionary: TermDictionary) -> None:
        self.name = name
        self.rules: list[CompiledRule] = []
        self._dictionary = dictionary
        self._old = TripleIndex()
        self._triggers: dict[int, list[Trigger]] = {}
        self._open_triggers: list[Trigger] = []
        self._unstarted: list[CompiledRule] = []

    def add_rule(self, rule: CompiledRule) -> None:
        """Take in a rule. It is applied to all facts in the next run."""
        self.rules.append(rule)
        self._unstarted.append(rule)
        for position, atom in enumerate(rule.atoms):
            triggers = self._open_triggers if atom.p < 0 else self._triggers.setdefault(atom.p, [])
            triggers.append(Trigger(rule, position))

    def reads(self, predicate: int) -> bool:
        """Whether facts of that predicate can make a difference."""
        return predicate in self._triggers or bool(self._open_triggers)

    def returning(self, predicate: int, new: Pairs) -> Pairs:
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
                plan = full_plan(rule, sizes(facts))
                emit(rule.heads, run(plan, ages, rule, self._dictionary), candidates)
        for trigger in self._triggered(recent):
            rule = trigger.rule
            if id(rule) in fresh or not viable(rule, facts):
                continue
            if trigger.plan is None:
                trigger.plan = delta_plan(rule, trigger.position, sizes(facts))
            emit(rule.heads, run_delta(trigger.plan, ages, rule, self._dictionary), candidates)
        self._old = facts.snapshot()
        return candidates

    def _triggered(self, recent: TripleIndex) -> Iterable[Trigger]:
        for predicate in recent.all_predicates():
            yield from self._triggers.get(predicate, ())
        yield from self._open_triggers


def viable(rule: CompiledRule, facts: TripleIndex) -> bool:
    """Whether no body atom rules itself out at a glance: by an empty relation, or an absent constant."""
    return all(atom.p < 0 or len(facts.relation(atom.p)) for atom in rule.atoms) and all(
        _has_match(rule.atoms[i], facts) for i in rule.guards
    )


def _has_match(atom: Atom, facts: TripleIndex) -> bool:
    """Whether a guard with a constant end matches anything; other guards are not looked into."""
    if atom.s >= 0:
        return facts.relation(atom.p).has_subject(atom.s)
    if atom.o >= 0:
        return facts.relation(atom.p).has_object(atom.o)
    return True
