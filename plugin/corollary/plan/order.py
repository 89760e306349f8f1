"""Join orders and delta plans: in which order a rule's body is matched, and what each atom reads.

A plan is a tuple of steps over a batch of bindings. A full plan reads all facts. A *delta plan*
finds what follows from at least one recent fact: there is one for every positive body atom, the
trigger, which reads the **recent** facts; the atoms before it in the rule read **old** facts and the
atoms after it read **all** facts, so every way to satisfy the body is found by exactly one plan
(semi-naive evaluation; Abiteboul, Hull, Vianu, Foundations of Databases, chapter 13).

The order is greedy: next is whatever atom is cheapest given the variables bound so far. If the
trigger's predicate or class is a variable that guards bind, the plan has an *entrance*: it starts from
the few distinct predicates or classes among the recent facts, joins the guards to them, and only then
looks at facts. A family is entered through the rows that the change touches, and an ontology of
100,000 classes costs a change to one class nothing. Where an entrance leads to many rows for one
predicate (a thousand restrictions on one property), every fact would be joined with each of them;
then the *direct* plan is better, which goes from the recent facts over other data to the guards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from corollary.plan.compile import Atom, CompiledRule, Condition, Grouping, Negation


class Age(IntEnum):
    """The ages of a fact in a round: all = old + recent. (Numbers are looked up faster than names.)"""

    OLD = 0
    RECENT = 1
    ALL = 2


@dataclass(frozen=True, slots=True)
class Join:
    """``join [?x, a, ?c] in recent``: extend every binding by all matches of the atom."""

    atom: Atom
    age: Age


@dataclass(frozen=True, slots=True)
class Distinct:
    """``distinct ?c of [?x, a, ?c] in recent``: start from the values that one variable takes.

    The variable is the atom's predicate, or its object if the predicate is rdf:type.
    """

    atom: Atom
    variable: int


@dataclass(frozen=True, slots=True)
class Select:
    """``filter (?x != ?y)`` or ``bind (...)``."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """``not [...]``: keep the bindings that have no match."""

    negation: Negation


@dataclass(frozen=True, slots=True)
class Group:
    """``aggregate (...)``: join with one row a group."""

    grouping: Grouping


Step = Join | Distinct | Select | AntiJoin | Group
Plan = tuple[Step, ...]
Size = Callable[[Atom], int]


@dataclass(frozen=True, slots=True)
class DeltaPlan:
    """``entrance`` then ``body``; or ``direct`` alone, where the entrance is crowded or there is none."""

    entrance: Plan
    body: Plan
    direct: Plan


def full_plan(rule: CompiledRule, size: Size) -> Plan:
    """Everything that satisfies the body, over all facts."""
    return _complete(rule, [], set(), dict.fromkeys(range(len(rule.atoms)), Age.ALL), size)


def delta_plan(rule: CompiledRule, trigger: int, size: Size) -> DeltaPlan:
    """What satisfies the body with a recent fact for the atom number ``trigger``."""
    ages = {i: Age.OLD if i < trigger else Age.ALL for i in range(len(rule.atoms))}
    ages[trigger] = Age.RECENT
    atom = rule.atoms[trigger]
    first = Join(atom, Age.RECENT)
    rest = {i: age for i, age in ages.items() if i != trigger}
    variable = _entrance(rule, trigger)
    if variable is None:
        return DeltaPlan((), (), _complete(rule, [first], set(atom.variables), rest, size))
    # direct: what is linked by data comes before the guards, which then only have to be checked
    data = {i: age for i, age in rest.items() if i not in rule.guards}
    linked = [first, *_join_all(rule, [], set(atom.variables), data, size)]
    known = set(atom.variables).union(*(rule.atoms[i].variables for i in data))
    direct = _complete(rule, linked, known, {i: rest[i] for i in rule.guards}, size)
    # entering: from the distinct values over the guards they reach
    bound = {variable}
    guards: list[Step] = [Distinct(atom, variable)]
    waiting = set(rule.guards)
    while reachable := [i for i in waiting if rule.atoms[i].variables & bound]:
        chosen = min(reachable, key=lambda i: _cost(rule, i, bound, size))
        waiting.remove(chosen)
        guards.append(Join(rule.atoms[chosen], rest.pop(chosen)))
        bound |= rule.atoms[chosen].variables
    whole = _complete(rule, [*guards, first], bound | atom.variables, rest, size)
    cut = whole.index(first)
    return DeltaPlan(whole[:cut], whole[cut:], direct)


def guard_plan(rule: CompiledRule, size: Size) -> Plan:
    """The rows of the rule's family: everything that satisfies its guards and the filters on them."""
    joins = _join_all(rule, [], set(), dict.fromkeys(rule.guards, Age.ALL), size)
    filters = (c for c in rule.conditions if c.target is None and c.needs <= rule.guarded)
    return (*joins, *map(Select, filters))


def _entrance(rule: CompiledRule, trigger: int) -> int | None:
    """The variable through which a trigger enters its family, if it does."""
    if trigger in rule.guards or not rule.guards:
        return None
    atom = rule.atoms[trigger]
    if atom.p < 0:
        return atom.p if atom.p in rule.guarded else None
    on_class = atom.o < 0 and atom.s != atom.o and atom.o in rule.guarded
    return atom.o if on_class else None


def _cost(rule: CompiledRule, i: int, bound: set[int], size: Size) -> tuple[int, bool, int, int]:
    """How dear the atom number i is as the next one; the least comes first.

    A product is dearest: an atom that shares no variable with the rows so far. What guards bind is
    the same constant in all rows of an instance, and connects no data with data.
    """
    atom = rule.atoms[i]
    is_guard = i in rule.guards
    ends = sum(term >= 0 or term in bound for term in (atom.s, atom.o))
    open_predicate = atom.p < 0 and atom.p not in bound
    linking = bound if is_guard else bound - rule.guarded
    connected = bool(atom.variables & linking) or not linking or not atom.variables
    rank = (2 - ends) + 2 * open_predicate + 4 * (not connected) - (is_guard and ends != 0)
    return rank, ends == 0 and not is_guard, size(atom), i


def _join_all(
    rule: CompiledRule, steps: list[Step], bound: set[int], ages: dict[int, Age], size: Size
) -> Plan:
    steps, bound, ages = list(steps), set(bound), dict(ages)
    while ages:
        chosen = min(ages, key=lambda i: _cost(rule, i, bound, size))
        steps.append(Join(rule.atoms[chosen], ages.pop(chosen)))
        bound |= rule.atoms[chosen].variables
    return tuple(steps)


def _complete(
    rule: CompiledRule, steps: list[Step], bound: set[int], ages: dict[int, Age], size: Size
) -> Plan:
    """The remaining joins, with every condition as soon as its variables are bound."""
    plan: list[Step] = []
    known: set[int] = set()
    waiting: list[Condition | Negation] = [*rule.conditions, *rule.negations]

    def settle() -> None:
        progress = True
        while progress:
            progress = False
            for item in list(waiting):
                if item.needs <= known:
                    waiting.remove(item)
                    if isinstance(item, Negation):
                        plan.append(AntiJoin(item))
                    else:
                        plan.append(Select(item))
                        if item.target is not None:
                            known.add(item.target)
                    progress = True

    for step in _join_all(rule, steps, bound, ages, size):
        plan.append(step)
        if isinstance(step, Distinct):
            known.add(step.variable)
        elif isinstance(step, Join):
            known |= step.atom.variables
        settle()
    settle()  # a body without atoms
    for grouping in rule.groupings:
        plan.append(Group(grouping))
        known |= {*grouping.group, *grouping.targets}
        settle()
    assert not waiting, f"unsafe rule reached the planner: {rule.label}"
    return tuple(plan)
