"""Full plans and delta plans of rules: what each atom of a body reads.

A full plan reads all facts. A *delta plan*
finds what follows from at least one recent fact: there is one for every positive body atom, the
trigger, which reads the **recent** facts; the atoms before it in the rule read **old** facts and the
atoms after it read **all** facts, so every way to satisfy the body is found by exactly one plan
(semi-naive evaluation; Abiteboul, Hull, Vianu, Foundations of Databases, chapter 13).

If the trigger's predicate or class is a variable that guards bind, the plan has a *guard probe*: it starts
from the few distinct predicates or classes among the recent facts, joins the guards to them, and only then
looks at facts. A family is entered through the rows that the change touches, and an ontology of
100,000 classes costs a change to one class nothing. Where a probe leads to many rows for one
predicate (a thousand restrictions on one property), every fact would be joined with each of them;
then the *direct* plan is better, which goes from the recent facts over other data to the guards.
"""

from __future__ import annotations

from corollary.plan.join_order import cost
from corollary.plan.passes import PlanContext, optimised, order_joins
from corollary.plan.steps import Age, AntiJoin, DeltaPlan, Distinct, Group, Join, Plan, Select, Size, Step
from corollary.program.compile import CompiledRule


def full_plan(rule: CompiledRule, size: Size) -> Plan:
    """Everything that satisfies the body, over all facts."""
    joins = (Join(atom, Age.ALL) for atom in rule.atoms)
    return optimised((*joins, *_others(rule)), PlanContext(rule, size))


def delta_plan(rule: CompiledRule, trigger: int, size: Size) -> DeltaPlan:
    """What satisfies the body with a recent fact for the atom number ``trigger``."""
    atom = rule.atoms[trigger]
    first = Join(atom, Age.RECENT)
    rest = {
        i: Join(other, Age.OLD if i < trigger else Age.ALL)
        for i, other in enumerate(rule.atoms)
        if i != trigger
    }
    variable = _probed(rule, trigger)
    if variable is None:
        plan = (first, *rest.values(), *_others(rule))
        return DeltaPlan((), (), optimised(plan, PlanContext(rule, size, fixed=1)))
    # direct: what is linked by data comes before the guards, which then only have to be checked
    data = (join for i, join in rest.items() if i not in rule.guards)
    linked = order_joins((first, *data), PlanContext(rule, size, fixed=1))
    guards = (rest[i] for i in sorted(rule.guards))
    direct = optimised((*linked, *guards, *_others(rule)), PlanContext(rule, size, fixed=len(linked)))
    # probing: from the distinct values over the guards they reach
    probe = _guard_probe(rule, trigger, variable, rest, size)
    whole = optimised(
        (*probe, first, *rest.values(), *_others(rule)), PlanContext(rule, size, fixed=len(probe) + 1)
    )
    cut = whole.index(first)
    return DeltaPlan(whole[:cut], whole[cut:], direct)


def guard_plan(rule: CompiledRule, size: Size) -> Plan:
    """The rows of the rule's family: everything that satisfies its guards and the filters on them."""
    joins = tuple(Join(rule.atoms[i], Age.ALL) for i in sorted(rule.guards))
    filters = (c for c in rule.conditions if c.target is None and c.needs <= rule.guarded)
    return (*order_joins(joins, PlanContext(rule, size)), *map(Select, filters))


def _others(rule: CompiledRule) -> Plan:
    """All steps but the joins."""
    return (*map(Select, rule.conditions), *map(AntiJoin, rule.negations), *map(Group, rule.groupings))


def _guard_probe(
    rule: CompiledRule, trigger: int, variable: int, rest: dict[int, Join], size: Size
) -> list[Step]:
    """From the values of a variable in recent facts over the guards that they reach, which leave the rest."""
    bound = {variable}
    probe: list[Step] = [Distinct(rule.atoms[trigger], variable)]
    waiting = sorted(rule.guards)
    while reachable := [i for i in waiting if rule.atoms[i].variables & bound]:
        chosen = min(
            reachable, key=lambda i: cost(rule.atoms[i], bound, size, is_guard=True, guarded=rule.guarded)
        )
        waiting.remove(chosen)
        probe.append(rest.pop(chosen))
        bound |= rule.atoms[chosen].variables
    return probe


def _probed(rule: CompiledRule, trigger: int) -> int | None:
    """The variable through which a guard probe enters the family of a trigger, if there is one."""
    if trigger in rule.guards or not rule.guards:
        return None
    atom = rule.atoms[trigger]
    if atom.p < 0:
        return atom.p if atom.p in rule.guarded else None
    on_class = atom.o < 0 and atom.s != atom.o and atom.o in rule.guarded
    return atom.o if on_class else None
