"""Full plans and delta plans of rules.

A *full plan* reads all facts. A *delta plan* finds the bindings that use at least one recent fact
(semi-naive evaluation; Abiteboul, Hull, Vianu, Foundations of Databases, chapter 13). A rule has one delta
plan for each positive body atom, the *trigger*. The trigger reads the **recent** facts, the atoms before
the trigger in the rule read **old** facts, and the atoms after it read **all** facts. So exactly one plan
finds each binding.

If guards bind the trigger's predicate or class, the plan has a *guard probe*: it starts from the distinct
predicates or classes of the recent facts, joins the guards to these few values, and joins the facts last. A
probe reads only the rows of the family that the change touches: 100,000 other classes in the ontology add no
cost to a change of one class. If the probe returns many rows for one value (a thousand restrictions on one
property), each fact would be joined with each row. Then the *direct* plan is used, which joins the recent
facts with other data first, and with the guards last.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import takewhile

from corollary.plan.join_order import RuleCosts, join_order
from corollary.plan.passes import optimised, order_joins
from corollary.plan.steps import (
    Age,
    AntiJoin,
    DeltaPlan,
    Distinct,
    Group,
    Join,
    Plan,
    PlanContext,
    Select,
    Size,
    Step,
)
from corollary.program.compile import CompiledRule


def full_plan(rule: CompiledRule, size: Size) -> Plan:
    """The plan for all bindings of the body, over all facts."""
    joins = (Join(atom, Age.ALL) for atom in rule.atoms)
    return optimised((*joins, *_others(rule)), PlanContext(rule, size))


def plan_with_late_cells(rule: CompiledRule, second_cells: Collection[int], size: Size) -> Plan:
    """As ``full_plan``, for a rule with PAIR over long lists.

    ``second_cells`` are the positions of CELL(k, d), each followed by [d, rdf:first, y], for a second item.

    The full plan joins the guards first: n² pairs of cells. Here data lead from the first item to the second.
    """
    late = [i for cell in second_cells for i in (cell + 1, cell)]
    by_data = replace(rule, guards=rule.guards - set(late))
    joins = tuple(Join(atom, Age.ALL) for i, atom in enumerate(rule.atoms) if i not in late)
    last = (Join(rule.atoms[i], Age.ALL) for i in late)
    ordered = (*order_joins(joins, PlanContext(by_data, size)), *last)
    return optimised((*ordered, *_others(rule)), PlanContext(rule, size, ordered))


def delta_plan(rule: CompiledRule, trigger: int, size: Size, *, by_cost: bool = False) -> DeltaPlan:
    """The plan for the bindings with a recent fact for the atom at position ``trigger``.

    ``by_cost``: the recent facts are not listed; their atom is joined when its cost is least, and not first.
    """
    atom = rule.atoms[trigger]
    first = Join(atom, Age.RECENT)
    rest = {
        i: Join(other, Age.OLD if i < trigger else Age.ALL)
        for i, other in enumerate(rule.atoms)
        if i != trigger
    }
    if by_cost:
        return DeltaPlan((), (), optimised((first, *rest.values(), *_others(rule)), PlanContext(rule, size)))
    variable = _probed(rule, trigger)
    if variable is None:
        plan = (first, *rest.values(), *_others(rule))
        return DeltaPlan((), (), optimised(plan, PlanContext(rule, size, (first,))))
    # direct: data atoms in join order, then the guards, whose variables are bound by then
    data = (join for i, join in rest.items() if i not in rule.guards)
    linked = order_joins((first, *data), PlanContext(rule, size, (first,)))
    guards = (rest[i] for i in sorted(rule.guards))
    direct = optimised((*linked, *guards, *_others(rule)), PlanContext(rule, size, linked))
    # probing: from the distinct values over the connected guards to the facts
    probe = _guard_probe(rule, trigger, variable, rest, size)
    fixed = (*probe, first)
    whole = optimised((*fixed, *rest.values(), *_others(rule)), PlanContext(rule, size, fixed))
    cut = whole.index(first)
    return DeltaPlan(whole[:cut], whole[cut:], direct)


def guard_plan(rule: CompiledRule, size: Size) -> Plan:
    """The plan for the table of the rule's family: its guards, and the filters on guarded variables only."""
    joins = tuple(Join(rule.atoms[i], Age.ALL) for i in sorted(rule.guards))
    filters = (c for c in rule.conditions if c.target is None and c.needs <= rule.guarded)
    return (*order_joins(joins, PlanContext(rule, size)), *map(Select, filters))


def _others(rule: CompiledRule) -> Plan:
    """The steps for conditions, negations and aggregates."""
    return (*map(Select, rule.conditions), *map(AntiJoin, rule.negations), *map(Group, rule.groupings))


def _guard_probe(
    rule: CompiledRule, trigger: int, variable: int, rest: dict[int, Join], size: Size
) -> list[Step]:
    """The steps of the guard probe: distinct values of ``variable``, then the connected guards by cost.

    Removes these guards from ``rest``.
    """
    guards = {rest[i]: i for i in sorted(rule.guards)}
    places = join_order(list(guards), {variable}, RuleCosts.of(rule, size))
    connected = [place.item for place in takewhile(lambda place: place.is_connected, places)]
    for join in connected:
        del rest[guards[join]]
    return [Distinct(rule.atoms[trigger], variable), *connected]


def _probed(rule: CompiledRule, trigger: int) -> int | None:
    """The trigger's predicate or class if it is a guarded variable: there a guard probe starts. Else None."""
    if trigger in rule.guards or not rule.guards:
        return None
    atom = rule.atoms[trigger]
    if atom.p < 0:
        return atom.p if atom.p in rule.guarded else None
    on_class = atom.o < 0 and atom.s != atom.o and atom.o in rule.guarded
    return atom.o if on_class else None
