"""Backward rules: the rules of a program, each with a head as a further body atom.

This atom is matched with the facts to explain, as for rederivation in ``modules.semi_naive``. So one run of a
plan finds the instances of a rule for many facts, whatever module derived these facts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from corollary.columns import Pairs, Relation, TripleIndex
from corollary.columns.pairs import pack
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import run, run_delta, sizes
from corollary.kernels.sorted import Column, Keys
from corollary.modules.triggers import Trigger
from corollary.plan.delta_plans import delta_plan
from corollary.plan.steps import Age, DeltaPlan, Join, Plan
from corollary.program.compile import Atom, CompiledRule, is_virtual
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import closed_predicate, loopless_predicate

MARK = 0
"""The object of the marks with which ``Backward.leaving`` starts. Any id serves."""


class Probe:
    """A body, given as a rule, and an atom beside it that is matched with wanted facts first."""

    def __init__(self, rule: CompiledRule, atom: Atom, head: Atom) -> None:
        self._rule = rule
        self._form = replace(rule, atoms=(*rule.atoms, atom), heads=(head,))
        self._trigger = Trigger(self._form, len(rule.atoms))
        self._plan: DeltaPlan | None = None
        self._plan_over: DeltaPlan | None = None

    def run(
        self, context: ExecutionContext, wanted: TripleIndex, facts: TripleIndex, data: TripleIndex | None
    ) -> Batch:
        """The bindings for which the atom is a wanted fact. ``data`` as in ``Backward.run``."""
        ages = {Age.ALL: facts, Age.RECENT: wanted, Age.OLD: facts if data is None else data}
        if not self._trigger.is_viable(ages):
            return Batch.none()
        if self._plan is None:
            plan = delta_plan(self._form, self._trigger.position, sizes(facts))
            self._plan = _with_guards_over_all(plan, self._rule)
        return run_delta(self._plan, ages, self._form, context)

    def run_over(
        self, context: ExecutionContext, wanted: TripleIndex, facts: TripleIndex, premises: TripleIndex
    ) -> Batch:
        """As ``run``; all atoms of the body read the ``premises``, and what is negated reads ``facts``.

        A guard probe is always used: the premises of guards are few at first, and a join of data without
        guards has as many rows as there are paths.
        """
        if not self._trigger.is_viable({Age.ALL: premises, Age.RECENT: wanted}):
            return Batch.none()
        if self._plan_over is None:
            self._plan_over = delta_plan(self._form, self._trigger.position, sizes(facts))
        ages = {Age.ALL: facts, Age.RECENT: wanted, Age.OLD: premises}
        plan = self._plan_over
        if not plan.guard_probe:
            return run(plan.direct, ages, self._form, context)
        return run(plan.body, ages, self._form, context, run(plan.guard_probe, ages, self._form, context))


class Backward:
    """A rule with one of its heads as the last body atom.

    ``order`` is the order in which premises are printed, as positions in the body. ``is_closure``: the rule
    closes a predicate transitively. ``is_loopless``: it does so with ``FILTER(?x != ?z)``.
    """

    def __init__(self, rule: CompiledRule, head: Atom) -> None:
        self.rule = rule
        self.head = head
        self.is_loopless = loopless_predicate(rule) is not None
        self.is_closure = self.is_loopless or closed_predicate(rule) is not None
        self.order = _closure_order(rule) if self.is_closure else tuple(range(len(rule.atoms)))
        self.from_subjects = Atom(head.s, head.p, MARK)
        self._whole = Probe(rule, head, head)
        self._leaving = Probe(rule, self.from_subjects, head)
        self._closing = Probe(_guards_alone(rule), head, head) if self.is_closure else self._whole

    def run(
        self,
        context: ExecutionContext,
        wanted: TripleIndex,
        facts: TripleIndex,
        data: TripleIndex | None = None,
    ) -> Batch:
        """The bindings of all instances over ``facts`` whose head is a wanted fact.

        With ``data``, only guards and virtual relations are read from ``facts``, all other atoms from
        ``data``.
        """
        return self._whole.run(context, wanted, facts, data)

    def over(
        self, context: ExecutionContext, wanted: TripleIndex, facts: TripleIndex, premises: TripleIndex
    ) -> Batch:
        """As ``run``, for the instances all of whose premises are among ``premises`` ⊆ ``facts``."""
        return self._whole.run_over(context, wanted, facts, premises)

    def leaving(
        self, context: ExecutionContext, marks: TripleIndex, facts: TripleIndex, data: TripleIndex
    ) -> Batch:
        """As ``run`` for all facts with the predicate and subject of a mark, given as ``marked``.

        Cost: the instances, where ``run`` would be asked for all pairs of nodes.
        """
        return self._leaving.run(context, marks, facts, data)

    def closing(self, context: ExecutionContext, wanted: TripleIndex, facts: TripleIndex) -> Batch:
        """The matches of the guards of a transitivity rule, for each wanted fact. Joins no edges."""
        return self._closing.run(context, wanted, facts, None)

    def heads(self, batch: Batch) -> tuple[Column, Keys]:
        """The predicate and the packed pair (subject, object) of the head, for every row of a batch."""
        return batch.column(self.head.p), pack(batch.column(self.head.s), batch.column(self.head.o))


def marked(predicate: int, subjects: Column) -> TripleIndex:
    """Marks for ``Backward.leaving``. Precondition: ``subjects`` ascends."""
    return TripleIndex({predicate: Relation(Pairs(pack(subjects, np.full_like(subjects, MARK))))})


_FORMS: WeakKeyDictionary[CompiledProgram, dict[int, tuple[CompiledRule, list[Backward]]]] = (
    WeakKeyDictionary()
)
"""The backward rules of a program, by rule number. Kept, so that their plans are made once."""


def leading_to(program: CompiledProgram, predicates: Collection[int]) -> Iterator[Backward]:
    """The backward rules whose head may have one of the predicates."""
    known = _FORMS.setdefault(program, {})
    for rule in program.rules:
        entry = known.get(rule.number)
        if entry is None or entry[0] is not rule:
            entry = known[rule.number] = rule, [Backward(rule, head) for head in rule.heads]
        yield from (b for b in entry[1] if b.head.p < 0 or b.head.p in predicates)


def _with_guards_over_all(plan: DeltaPlan, rule: CompiledRule) -> DeltaPlan:
    """The plan with guards and virtual relations read from all facts. Other body atoms read the old facts."""
    guards = {rule.atoms[i] for i in rule.guards}

    def changed(steps: Plan) -> Plan:
        return tuple(
            replace(step, age=Age.ALL)
            if isinstance(step, Join)
            and step.age is Age.OLD
            and (step.atom in guards or is_virtual(step.atom.p))
            else step
            for step in steps
        )

    return DeltaPlan(changed(plan.guard_probe), changed(plan.body), changed(plan.direct))


def _guards_alone(rule: CompiledRule) -> CompiledRule:
    """A transitivity rule without its edges."""
    atoms = tuple(rule.atoms[i] for i in sorted(rule.guards))
    return replace(rule, atoms=atoms, guards=frozenset(range(len(atoms))))


def _closure_order(rule: CompiledRule) -> tuple[int, ...]:
    """The positions of a transitivity rule's body atoms: its guards, the first edge, the second."""
    head = rule.heads[0]
    first, second = rule.data
    if rule.atoms[first].s != head.s:
        first, second = second, first
    return (*sorted(rule.guards), first, second)
