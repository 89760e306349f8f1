"""Where the evaluation of an operator starts, decided on the algebra before any row is there.

A group is evaluated from its first operand on, by steps (``chain``). The join with a part starts from the
rows of the other side, where the part is a basic graph pattern, or branches and steps above one, and gives
the same solutions when it knows values from elsewhere (``is_driven``).
"""

from __future__ import annotations

from collections.abc import Collection, Set

from rdflib.term import Variable

from corollary.sparql.algebra import (
    Distinct,
    Extend,
    Filter,
    InGraph,
    Join,
    LeftJoin,
    Minus,
    Operator,
    Project,
    Reduced,
    Slice,
    Subquery,
    Triples,
    Union,
    Values,
    has_exists,
    mentioned,
)
from corollary.sparql.query_evaluation import Evaluation
from corollary.sparql.scopes import possible
from corollary.sparql.spines import STEPS, SpineScope, Step
from corollary.sparql.term_evaluation import is_volatile

_STEPS = (*STEPS, Project)


def chain(own: Evaluation, part: Operator) -> tuple[Operator, list[Step]]:
    """The operator that is evaluated first, and what is done with its solutions.

    Each step has the operand that is not its input, if any. A basic graph pattern with its own condition
    is one operator.
    """
    if type(part) is Project and type(part.inner) is Triples:  # most small queries
        return part.inner, [(part, None)]
    steps: list[Step] = []
    while isinstance(part, _STEPS):
        if isinstance(part, (Project, Extend)):
            steps.append((part, None))
            part = part.inner
        elif isinstance(part, Join):
            first, second = sides(own, part)
            steps.append((part, second))
            part = first
        elif isinstance(part, (LeftJoin, Minus)):
            steps.append((part, part.right))
            part = part.left
        elif isinstance(part, Filter) and isinstance(part.inner, Triples):
            break
        else:
            steps.append((part, None))
            part = part.inner
    steps.reverse()
    return part, steps


def sides(own: Evaluation, part: Join) -> tuple[Operator, Operator]:
    """The operands of a join, the one that is evaluated first before the other."""
    if pattern_of(own, part.left) is not None:
        return part.right, part.left
    return part.left, part.right


def pattern_of(own: Evaluation, part: Operator) -> Triples | None:
    """The basic graph pattern that may start from other solutions: alone, or with a condition on it only.

    { ?x :p ?y FILTER(?y > 1) }: ?x :p ?y     { ?x :p ?y FILTER(?z > 1) }: None, the group has no ?z
    """
    if isinstance(part, Triples):
        return part
    if not isinstance(part, Filter) or not isinstance(part.inner, Triples):
        return None
    condition, pattern = part.condition, part.inner
    is_own = mentioned(condition) <= mentioned(pattern) and not has_exists(condition)
    is_repeatable = is_own and not is_volatile(condition, own.dataset.source.functions)
    return pattern if is_repeatable else None


def stops_early(own: Evaluation, part: Operator) -> bool:
    """Whether some rows of a part cost less than all of them."""
    match part:
        case Triples() | InGraph():
            return True
        case Filter() | Extend() | Project() | Subquery() | Slice() | Distinct() | Reduced():
            return stops_early(own, part.inner)
        case LeftJoin() | Minus():
            return stops_early(own, part.left)
        case Join():
            first, _ = sides(own, part)
            return isinstance(first, Values) or stops_early(own, first)
        case Union():
            return all(stops_early(own, branch) for branch in part.branches)
    return False


def is_driven(own: Evaluation, part: Operator, bound: Collection[int], columns: Collection[int]) -> bool:
    """Whether a join with a part starts from rows, and lists no solutions of the part alone.

    The rows have values of ``bound`` variables, and maybe of other ``columns``.
    """
    if isinstance(part, Union):
        return all(is_driven(own, branch, bound, columns) for branch in part.branches)
    leaf, steps = chain(own, part)
    if steps:
        touched = _touched(own, leaf, steps)
        is_free = touched is not None and touched.isdisjoint(columns)
        return is_free and is_driven(own, leaf, bound, columns)
    common = shared_variables(own, part, columns) if pattern_of(own, part) is not None else []
    return bool(common) and all(variable in bound for variable in common)


def _touched(own: Evaluation, leaf: Operator, steps: list[Step]) -> frozenset[int] | None:
    """Variables whose values the steps must not know from elsewhere; None if they must not know anything.

    Those that a step reads, and that the operators below it do not bind for certain.
    """
    known, touched = SpineScope.of(leaf), set[Variable]()
    functions = own.dataset.source.functions
    for step, operand in steps:
        read: Set[Variable] = frozenset()
        tested = None
        match step:
            case LeftJoin():
                read, tested = possible(step.right) | mentioned(step.condition), step.condition
            case Minus():
                read = possible(step.right)
            case Filter():
                read, tested = mentioned(step.condition), step.condition
            case Extend():
                read, tested = mentioned(step.value) | {step.variable}, step.value
            case Project():
                return None
        if has_exists(tested) or is_volatile(tested, functions):
            return None
        touched |= {v for v in read if not known.is_certain(v, known.steps)}
        known.add(step, operand)
    return frozenset(map(own.numbers.__getitem__, touched))


def shared_variables(own: Evaluation, part: Operator, columns: Collection[int]) -> list[int]:
    """The variables of a part that have columns."""
    return [v for v in map(own.numbers.__getitem__, mentioned(part)) if v in columns]
