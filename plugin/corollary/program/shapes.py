"""Shapes: the forms of rules that modules recognise. A shape does not decide which module evaluates a rule.

| shape | rule |
|---|---|
| *transitive* | ``R[?x, ?z] :- R[?x, ?y], R[?y, ?z]``; *loopless* with ``FILTER(?x != ?z)`` |
| *symmetric* | ``R[?y, ?x] :- R[?x, ?y]`` |
| *replacement* by Q | ``[?y, ?p, ?o] :- Q[?x, ?y], [?x, ?p, ?o]``, or the same at another place |
| *inclusion* | one data atom; its terms, also inverted, or one of them, go to a class or property |
| *linear* over E | ``T[?x, ?z] :- T[?x, ?y], E[?y, ?z]`` or ``T[?x, ?z] :- E[?x, ?y], T[?y, ?z]`` |
| *common value* | ``Q[?y, ?z] :- R[?x, ?y], R[?x, ?z]`` or ``Q[?y, ?z] :- R[?y, ?x], R[?z, ?x]`` |
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from corollary.language import Call, Filter
from corollary.program.compile import Atom, CompiledRule, is_virtual


def closed_predicate(rule: CompiledRule) -> int | None:
    """The predicate (an id, or a guarded variable) that a transitive rule closes, or None."""
    if len(rule.heads) != 1 or len(rule.data) != 2 or rule.conditions or not rule.is_monotone:
        return None
    first, second = (rule.atoms[i] for i in rule.data)
    head = rule.heads[0]
    if first.s == second.o:
        first, second = second, first
    x, y, z = first.s, first.o, second.o
    if len({x, y, z}) < 3 or max(x, y, z) >= 0:
        return None
    guarded = rule.guarded
    if guarded & {x, y, z}:
        return None
    p = first.p
    if (first, second, head) != (Atom(x, p, y), Atom(y, p, z), Atom(x, p, z)):
        return None
    return p if p >= 0 or p in guarded else None


def loopless_predicate(rule: CompiledRule) -> int | None:
    """The constant predicate that a loopless transitive rule closes, or None."""
    if len(rule.conditions) != 1 or len(rule.heads) != 1:
        return None
    element = rule.conditions[0].element
    ends = {rule.source.heads[0].subject, rule.source.heads[0].object}
    if not isinstance(element, Filter) or not isinstance(element.expression, Call):
        return None
    if element.expression.function != "!=" or set(element.expression.arguments) != ends:
        return None
    predicate = closed_predicate(replace(rule, conditions=()))
    return predicate if predicate is not None and predicate >= 0 else None


def symmetric_predicate(rule: CompiledRule) -> int | None:
    """The constant predicate that a rule ``R[?y, ?x] :- R[?x, ?y]`` makes symmetric, or None."""
    if len(rule.heads) != 1 or len(rule.atoms) != 1 or rule.conditions or not rule.is_monotone:
        return None
    head, atom = rule.heads[0], rule.atoms[0]
    free = atom.s < 0 and atom.o < 0 and atom.s != atom.o
    return atom.p if free and atom.p >= 0 and head == Atom(atom.o, atom.p, atom.s) else None


def replaced_end(rule: CompiledRule) -> tuple[int, int] | None:
    """The constant predicate Q of a replacement rule and the place of the replaced term (0 to 2), or None."""
    if len(rule.heads) != 1 or len(rule.atoms) != 2 or rule.conditions or not rule.is_monotone:
        return None
    head = rule.heads[0]
    for same, atom in (rule.atoms, rule.atoms[::-1]):
        variables = {*atom.terms, same.s, same.o}
        if same.p < 0 or len(variables) != 4 or max(variables) >= 0:
            continue
        for place, term in enumerate(atom.terms):
            if term == same.s and head == Atom(*(same.o if x == term else x for x in atom.terms)):
                return same.p, place
    return None


@dataclass(frozen=True, slots=True)
class InclusionShape:
    """An inclusion: its ends (ids or guarded variables), whether each is a class, and whether it inverts."""

    source: int
    target: int
    from_class: bool
    to_class: bool
    is_inverse: bool


def inclusion_shape(rule: CompiledRule, rdf_type: int) -> InclusionShape | None:
    """The shape of an inclusion rule, or None.

    A rule from a class to a property is no inclusion, nor is one that copies rdf:type as a property: the copy
    would have facts of every class.
    """
    if len(rule.heads) != 1 or len(rule.data) != 1 or rule.conditions or not rule.is_monotone:
        return None
    body, head = rule.atoms[rule.data[0]], rule.heads[0]
    guarded = rule.guarded

    def end(atom: Atom) -> tuple[int, bool, tuple[int, ...]] | None:
        """The class or property of an atom, whether it is a class, and the atom's data variables."""
        if atom.p == rdf_type:
            settled = atom.o >= 0 or atom.o in guarded
            free = atom.s < 0 and atom.s not in guarded
            return (atom.o, True, (atom.s,)) if settled and free else None
        settled = atom.p >= 0 or atom.p in guarded
        free = atom.s < 0 and atom.o < 0 and atom.s != atom.o and not {atom.s, atom.o} & guarded
        return (atom.p, False, (atom.s, atom.o)) if settled and free else None

    source, target = end(body), end(head)
    if source is None or target is None or not set(target[2]) <= set(source[2]):
        return None
    if source[1] and not target[1]:
        return None
    is_inverse = target[2][0] != source[2][0]
    return InclusionShape(source[0], target[0], source[1], target[1], is_inverse)


@dataclass(frozen=True, slots=True)
class LinearShape:
    """A linear rule: the predicates T (``closed``) and E (``edges``); ``is_inverse`` if E comes before T."""

    closed: int
    edges: int
    is_inverse: bool


def linear_shape(rule: CompiledRule, rdf_type: int) -> LinearShape | None:
    """The shape of a linear rule, or None.

    Excluded are rules with guards, virtual relations, and rdf:type, whose facts belong to many classes with a
    node each in the dependency graph.
    """
    if len(rule.heads) != 1 or len(rule.atoms) != 2 or rule.guards or rule.conditions or not rule.is_monotone:
        return None
    (first, second), head = rule.atoms, rule.heads[0]
    if first.s == second.o:
        first, second = second, first
    x, y, z = first.s, first.o, second.o
    if len({x, y, z}) < 3 or max(x, y, z) >= 0 or (head.s, second.s, head.o) != (x, y, z):
        return None
    is_inverse = second.p == head.p
    edges = first.p if is_inverse else second.p
    predicates = {head.p, edges}
    if {first.p, second.p} != predicates or len(predicates) < 2 or min(predicates) < 0:
        return None
    if rdf_type in predicates or any(map(is_virtual, predicates)):
        return None
    return LinearShape(head.p, edges, is_inverse)


def copied_predicates(rule: CompiledRule) -> tuple[int, int] | None:
    """The constant predicates (source, target) of a rule that copies a relation, or None."""
    if len(rule.heads) != 1 or len(rule.atoms) != 1 or rule.conditions or not rule.is_monotone:
        return None
    (atom,), (head,) = rule.atoms, rule.heads
    is_copy = atom == Atom(head.s, atom.p, head.o) and len(atom.variables) == 2
    return (atom.p, head.p) if is_copy and min(atom.p, head.p) >= 0 else None


@dataclass(frozen=True, slots=True)
class CommonValueShape:
    """A rule that equates terms: those that the property ``predicate`` (an id, or a guarded variable) relates
    to a common subject, or object if ``is_inverse``. ``is_irreflexive``: no term with itself.
    """

    equality: int
    predicate: int
    is_inverse: bool
    is_irreflexive: bool


def common_value_shape(rule: CompiledRule, rdf_type: int) -> CommonValueShape | None:
    """The shape of a rule that equates terms with a common value by a constant relation, or None."""
    if len(rule.heads) != 1 or len(rule.data) != 2 or rule.along is not None or not rule.is_monotone:
        return None
    head, (first, second) = rule.heads[0], (rule.atoms[i] for i in rule.data)
    p, guarded = first.p, rule.guarded
    is_settled = p in guarded or (p >= 0 and p != rdf_type and not is_virtual(p))
    if head.p < 0 or head.p == rdf_type or is_virtual(head.p) or second.p != p or not is_settled:
        return None
    is_inverse = first.o == second.o
    value, ends = (first.o, {first.s, second.s}) if is_inverse else (first.s, {first.o, second.o})
    if not is_inverse and second.s != value:
        return None
    free = {value, *ends}
    if ends != {head.s, head.o} or len(free) < 3 or max(free) >= 0 or free & guarded:
        return None
    if rule.conditions and not _are_different_terms(rule):
        return None
    return CommonValueShape(head.p, p, is_inverse, bool(rule.conditions))


def _are_different_terms(rule: CompiledRule) -> bool:
    """Whether the only condition of a rule is ``!sameTerm`` of the terms of its head."""
    if len(rule.conditions) != 1:
        return False
    element, head = rule.conditions[0].element, rule.source.heads[0]
    ends = {(head.subject, head.object), (head.object, head.subject)}
    tests = {Call("!", (Call("sameterm", pair),)) for pair in ends}
    return isinstance(element, Filter) and element.expression in tests
