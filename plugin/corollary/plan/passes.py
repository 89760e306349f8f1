"""The optimiser: a sequence of passes over a plan.

A pass is a function ``(plan, context) -> plan`` (``plan.steps.Pass``). The first pass receives the fixed
steps, the joins in the order of the rule's body, then conditions, negations and aggregates. A pass may rely
on the results of the passes before it. To add a pass: write a function in a new file, and add it to
``PASSES``.
"""

from __future__ import annotations

from corollary.plan.join_order import RuleCosts, join_order
from corollary.plan.steps import AntiJoin, Distinct, Group, Join, Pass, Plan, PlanContext, Select, Step


def order_joins(plan: Plan, context: PlanContext) -> Plan:
    """Order the joins by cost. Other steps come after them.

    ``join p[x, y], join q[y, z] (smaller), filter f(z)`` becomes ``join q[y, z], join p[x, y], filter f(z)``.
    """
    rest = plan[len(context.fixed) :]
    joins = [step for step in rest if isinstance(step, Join)]
    others = (step for step in rest if not isinstance(step, Join))
    places = join_order(joins, bound_by(context.fixed), RuleCosts.of(context.rule, context.size))
    return (*context.fixed, *(place.item for place in places), *others)


def place_conditions(plan: Plan, context: PlanContext) -> Plan:
    """Move every filter, binding and negation to the first place where its variables are bound.

    Aggregates come after the joins.

    ``join p[x, y], join q[y, z], filter f(y)`` becomes ``join p[x, y], filter f(y), join q[y, z]``.
    """
    placed: list[Step] = []
    known: set[int] = set()
    waiting = [step for step in plan if isinstance(step, Select | AntiJoin)]
    if not waiting:
        return plan  # aggregates come after the joins already

    def place_ready() -> None:
        while ready := next((step for step in waiting if needs(step) <= known), None):
            waiting.remove(ready)
            placed.append(ready)
            known.update(bound_by((ready,)))

    moving = [step for step in plan if isinstance(step, Join | Distinct)]
    for step in (*moving, None, *(step for step in plan if isinstance(step, Group))):
        if step is not None:
            placed.append(step)
            known |= bound_by((step,))
        place_ready()
    assert not waiting, f"unsafe rule reached the planner: {context.rule.label}"
    return tuple(placed)


PASSES: tuple[Pass, ...] = (order_joins, place_conditions)
"""The passes in the order of application."""


def optimised(plan: Plan, context: PlanContext) -> Plan:
    """Apply all passes to a plan."""
    for apply in PASSES:
        plan = apply(plan, context)
    return plan


def needs(step: Select | AntiJoin) -> frozenset[int]:
    """The variables that must be bound before a step."""
    return step.condition.needs if isinstance(step, Select) else step.negation.needs


def bound_by(plan: Plan) -> set[int]:
    """The variables that steps bind."""
    bound: set[int] = set()
    for step in plan:
        match step:
            case Join(atom, _):
                bound |= atom.variables
            case Distinct(_, variable):
                bound.add(variable)
            case Select(condition) if condition.target is not None:
                bound.add(condition.target)
            case Group(grouping):
                bound |= {*grouping.group, *grouping.targets}
    return bound
