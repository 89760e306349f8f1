"""Recursive aggregates: rules whose aggregate reads the facts that its conclusion joins.

    [?y, :distance, ?d] :- AGGREGATE([?e, :from, ?x], [?e, :to, ?y], [?e, :length, ?w], [?x, :distance, ?dx]
        ON ?y BIND min(?dx + ?w) AS ?d) .

Such a rule has a negative edge on a cycle, and is in general refused. The form below has a meaning: let V(y)
be the least of the values that the *seeds* of y have (facts of the predicate that are explicit, or that other
rules derive) and of V(x) + w over all *edges* (x, y, w), which are the matches of the other atoms. The right
side is monotone in V under the order of values, so it has a least fixpoint: the value of the best derivation.
"max" is the same with the order reversed.

This is the min-lattice of monotonic aggregation (Ross, Sagiv, Monotonic Aggregation in Deductive Databases,
1992), restricted to the rules for which the aggregate may be pushed into the recursion (premappability:
Zaniolo, Yang, Das, Shkapsky, Condie, Interlandi, Fixpoint Semantics and Optimization of Recursive Datalog
Programs with Aggregates, 2017). Here the restriction is syntactic: V(x) occurs once, and only in a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from corollary.language import RDF_TYPE, XSD, Bind, Call, Expression, Literal, Variable, variables
from corollary.program.compile import Atom, CompiledRule, Condition, Grouping, is_virtual
from corollary.program.edges import SEEDS, Edge

ZERO = Literal("0", XSD + "integer")


@dataclass(frozen=True, slots=True)
class RecursiveAggregate:
    """The parts of a recursive aggregate. ``predicate`` has the facts [group, predicate, value].

    ``edges`` binds ``source`` (the subject of the recursive atom), ``group`` and the variables of ``step``,
    which is added to the value of the source; subtracted if ``is_minus``. ``is_max``: the greatest value.
    """

    predicate: int
    source: int
    group: int
    edges: Grouping
    step: Expression
    is_minus: bool
    is_max: bool


def recursive_aggregate(rule: CompiledRule) -> RecursiveAggregate | None:
    """The parts of a rule that is a recursive aggregate of the form above, else None."""
    found = _recognised(rule) if reads_itself(rule) else None
    return found if isinstance(found, RecursiveAggregate) else None


def objection(rule: CompiledRule) -> str:
    """Why a rule that aggregates over its own predicate, and is on a negative cycle, is refused.

    "" for other rules.
    """
    found = _recognised(rule) if reads_itself(rule) else ""
    if isinstance(found, str):
        return found
    return (
        "other rules that derive its predicate, and its other atoms, may not depend on its conclusions; "
        "two such rules for one predicate become one, over a predicate for all their edges"
    )


def reads_itself(rule: CompiledRule) -> bool:
    """Whether an aggregate has an atom with the predicate of a head that may match what the head derives."""
    inside = [atom for grouping in rule.groupings for atom in grouping.atoms]
    return any(
        atom.p == head.p and (atom.o == head.o or min(atom.o, head.o) < 0)
        for atom in inside
        for head in rule.heads
    )


def _recognised(rule: CompiledRule) -> RecursiveAggregate | str:
    """The parts of a rule, or why it is refused. Precondition: an aggregate reads what the rule derives."""
    grouping, bindings = rule.groupings[0], rule.groupings[0].element.bindings
    function = bindings[0].function
    if function not in ("min", "max"):
        return (
            f"{function} is not monotone: among aggregates, only min and max may read their own conclusions"
        )
    if len(rule.groupings) > 1 or len(bindings) > 1 or len(rule.heads) > 1:
        return "a rule that reads its own conclusions has one head, and one aggregate with one result"
    if rule.atoms or rule.conditions or rule.negations:
        return "all atoms and filters of a rule that reads its own conclusions stand inside AGGREGATE"
    head, own = rule.heads[0], [atom for atom in grouping.atoms if atom.p == rule.heads[0].p]
    if head.p < 0 or is_virtual(head.p) or rule.source.heads[0].predicate == RDF_TYPE or len(own) != 1:
        return "the rule may read its conclusions in one atom, with a constant predicate other than rdf:type"
    edges = tuple(atom for atom in grouping.atoms if atom is not own[0])
    if grouping.group != (head.s,) or grouping.targets != (head.o,) or head.s == head.o:
        return "the head is [group, predicate, result], with the group variable after ON"
    bound = {variable for atom in edges for variable in atom.variables}
    if not {own[0].s, head.s} <= bound or own[0].s >= 0:
        return "other atoms inside AGGREGATE have to bind the group and the subject of the recursive atom"
    if own[0].o >= 0 or own[0].o in {*bound, own[0].s}:
        return "the value in the recursive atom is a variable that no other atom has"
    return _with_step(rule, own[0], edges)


def _with_step(rule: CompiledRule, own: Atom, edges: Sequence[Atom]) -> RecursiveAggregate | str:
    """As ``_recognised``, from the expression that is aggregated, and the inner conditions."""
    grouping, value = rule.groupings[0], Variable(rule.names[-1 - own.o])
    (binding,) = grouping.element.bindings
    expression, conditions = binding.argument, list(grouping.conditions)
    for condition in grouping.conditions:
        element = condition.element
        if isinstance(element, Bind) and element.variable == expression and own.o in condition.needs:
            expression = element.expression
            conditions.remove(condition)
            used = {variable for atom in edges for variable in atom.variables}
            if condition.target in used.union(*(other.needs for other in conditions)):
                return f"the sum ?{element.variable.name} may be used only in the aggregate"
            break
    if any(own.o in condition.needs for condition in conditions):
        return f"the value ?{value.name} of the recursive atom may be used only in the aggregated sum"
    assert expression is not None
    parts = _sum(expression, value)
    if parts is None:
        return f"the aggregated expression is ?{value.name}, or ?{value.name} + or - an expression without it"
    return RecursiveAggregate(
        own.p,
        own.s,
        grouping.group[0],
        _edges(grouping, edges, conditions),
        *parts,
        binding.function == "max",
    )


def _edges(grouping: Grouping, atoms: Sequence[Atom], conditions: Sequence[Condition]) -> Grouping:
    return replace(grouping, atoms=tuple(atoms), conditions=tuple(conditions), targets=())


def _sum(expression: Expression, value: Variable) -> tuple[Expression, bool] | None:
    """The expression that is added to the value, or (True) subtracted from it; None for other forms."""
    if expression == value:
        return ZERO, False
    if not isinstance(expression, Call) or expression.function not in ("+", "-"):
        return None
    left, right = expression.arguments if len(expression.arguments) == 2 else (None, None)
    if left == value and right is not None and value not in variables(right):
        return right, expression.function == "-"
    if right == value and expression.function == "+" and left is not None and value not in variables(left):
        return left, False
    return None


# The order of evaluation


def ordering_edges(edges: Sequence[Edge], *, is_static: bool = False) -> tuple[Edge, ...]:
    """The edges, with nodes for the seeds of recursive aggregates, which have to be complete before these.

    A rule that derives seeds leads to a node of its own (``SEEDS``), which the aggregate reads as it reads
    what it aggregates over. So a seed that depends on the aggregate is a negative cycle. Rules that only
    copy facts of a predicate to itself derive no seeds. ``is_static``: open nodes are left out.
    """
    rules = {edge.rule.number: edge.rule for edge in edges if edge.rule.groupings}
    recursive = {
        number: found.predicate for number, rule in rules.items() if (found := recursive_aggregate(rule))
    }
    if not recursive:
        return tuple(edges)
    predicates, more = set(recursive.values()), []
    for edge in edges:
        if edge.target not in predicates or (edge.link and is_static) or _is_identity(edge):
            continue
        number = edge.rule.number
        if (
            edge.link
            or recursive.get(number) != edge.target
            or list(recursive.values()).count(edge.target) > 1
        ):
            more.append(replace(edge, target=SEEDS + edge.target))
    seeds = [Edge(SEEDS + p, p, rules[number], True) for number, p in recursive.items()]
    return (*edges, *more, *seeds)


def _is_identity(edge: Edge) -> bool:
    """Whether the instances of an edge's rule conclude their own premise, by this edge."""
    rule = edge.rule
    if edge.link or edge.source != edge.target or len(rule.data) != 1 or len(rule.heads) != 1:
        return False
    atom, head = rule.atoms[rule.data[0]], rule.heads[0]
    return (atom.s, atom.o) == (head.s, head.o)
