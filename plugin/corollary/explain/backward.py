"""Backward rules: the rules of a program, each with a head as a further body atom.

This atom is matched with the facts to explain, as for rederivation in ``modules.semi_naive``. So one run of a
plan finds the instances of a rule for many facts, whatever module derived these facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from weakref import WeakKeyDictionary

from corollary.columns import TripleIndex
from corollary.columns.pairs import pack
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import run_delta, sizes
from corollary.kernels.sorted import Column, Keys
from corollary.modules.semi_naive import Trigger
from corollary.plan.delta_plans import delta_plan
from corollary.plan.steps import Age, DeltaPlan, Join, Plan
from corollary.program.compile import Atom, CompiledRule, is_virtual
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import closed_predicate, loopless_predicate


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
        self._form = replace(rule, atoms=(*rule.atoms, head), heads=(head,))
        self._trigger = Trigger(self._form, len(rule.atoms))
        self._plan: DeltaPlan | None = None

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
        ages = {Age.ALL: facts, Age.RECENT: wanted, Age.OLD: facts if data is None else data}
        if not self._trigger.is_viable(ages):
            return Batch.none()
        if self._plan is None:
            plan = delta_plan(self._form, self._trigger.position, sizes(facts))
            self._plan = _with_guards_over_all(plan, self.rule)
        return run_delta(self._plan, ages, self._form, context)

    def heads(self, batch: Batch) -> tuple[Column, Keys]:
        """The predicate and the packed pair (subject, object) of the head, for every row of a batch."""
        return batch.column(self.head.p), pack(batch.column(self.head.s), batch.column(self.head.o))


_FORMS: WeakKeyDictionary[CompiledProgram, dict[int, tuple[CompiledRule, list[Backward]]]] = (
    WeakKeyDictionary()
)
"""The backward rules of a program, by rule number. Kept, so that their plans are made once."""


def leading_to(program: CompiledProgram, wanted: TripleIndex) -> Iterator[Backward]:
    """The backward rules whose head may match a wanted fact."""
    known = _FORMS.setdefault(program, {})
    predicates = set(wanted.predicates())
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


def _closure_order(rule: CompiledRule) -> tuple[int, ...]:
    """The positions of a transitivity rule's body atoms: its guards, the first edge, the second."""
    head = rule.heads[0]
    first, second = rule.data
    if rule.atoms[first].s != head.s:
        first, second = second, first
    return (*sorted(rule.guards), first, second)
