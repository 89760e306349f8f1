"""Occurrences of variables in rules, bound variables, and substitution.

A variable is bound if the facts determine finitely many values for it. Triples, builtins and list patterns
bind their variables. ``BIND`` and ``AGGREGATE`` bind their results. ``NOT`` and ``FILTER`` bind nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from corollary.language.model import (
    Aggregate,
    AggregateBinding,
    Bind,
    BodyElement,
    Builtin,
    Call,
    Chain,
    Each,
    Expression,
    Filter,
    Not,
    Pair,
    Rule,
    Term,
    Triple,
    Variable,
)

Part = Expression | BodyElement | AggregateBinding | Rule
"""A part of a rule that may contain variables."""

Element = TypeVar("Element", bound=BodyElement)


def occurrences(part: Part) -> Iterator[Variable]:
    """All occurrences of variables in a part of a rule, in the order written."""
    match part:
        case Variable():
            yield part
        case Triple():
            for term in part.terms:
                if isinstance(term, Variable):
                    yield term
        case _:
            for inner in _parts(part):
                yield from occurrences(inner)


def _parts(part: Part) -> tuple[Part, ...]:
    """The direct components of a part of a rule, in the order written."""
    match part:
        case Triple():
            return part.terms
        case Builtin() | Call():
            return part.arguments
        case Each():
            return (part.item, part.list, *part.atoms)
        case Chain():
            return (part.list, part.start, part.end)
        case Pair():
            return (part.list, part.first, part.second)
        case Not():
            return part.atoms
        case Filter():
            return (part.expression,)
        case Bind():
            return (part.expression, part.variable)
        case AggregateBinding():
            return (part.variable,) if part.argument is None else (part.argument, part.variable)
        case Aggregate():
            return (*part.body, *part.group, *part.bindings)
        case Rule():
            return (*part.heads, *part.body)
        case _:  # a variable or a constant
            return ()


def variables(part: Part) -> set[Variable]:
    """The variables of a term, expression, body element or rule, including local ones."""
    return set(occurrences(part))


def bound_variables(body: Iterable[BodyElement]) -> set[Variable]:
    """The variables that a body binds. The result does not depend on the order of the elements.

    A ``Bind`` binds its variable if all variables of its expression are bound. An ``Each`` binds the
    variables of its atoms, except the item. ``Each``, ``Chain`` and ``Pair`` do not bind their list.
    Example: ``BIND(1 AS ?x), BIND(?x AS ?y)`` binds x and y; ``BIND(?x AS ?y)`` alone binds nothing.
    """
    bound: set[Variable] = set()
    binds: list[Bind] = []
    for element in body:
        match element:
            case Triple() | Builtin():
                bound |= variables(element)
            case Each():
                bound |= set().union(*map(variables, element.atoms)) - {element.item}
            case Chain():
                bound |= variables(element.start) | variables(element.end)
            case Pair():
                bound |= variables(element.first) | variables(element.second)
            case Aggregate():
                bound.update(element.group, (binding.variable for binding in element.bindings))
            case Bind():
                binds.append(element)
            case Not() | Filter():
                pass
    while ready := [bind for bind in binds if variables(bind.expression) <= bound]:
        bound.update(bind.variable for bind in ready)
        binds = [bind for bind in binds if bind not in ready]
    return bound


def substitute(rule: Rule, mapping: Mapping[Variable, Term]) -> Rule:
    """The rule with every occurrence of a mapped variable replaced, including local variables.

    The replacement is simultaneous: ``{x: y, y: x}`` swaps x and y. A grouping variable that is mapped to a
    constant is removed from the group.

    Preconditions: a computed variable (of a ``Bind`` or an aggregate, the item of an ``Each``) is mapped to a
    variable. No new variable is a local variable of the rule: local variables are not renamed apart.
    """
    return replace(
        rule,
        heads=tuple(substitute_element(head, mapping) for head in rule.heads),
        body=tuple(substitute_element(element, mapping) for element in rule.body),
    )


def substitute_element(element: Element, mapping: Mapping[Variable, Term]) -> Element:
    """One body element with its mapped variables replaced. Contract as in ``substitute``."""
    result = _substitute_element(element, mapping)
    assert isinstance(result, type(element))
    return result


def _substitute_element(element: BodyElement, mapping: Mapping[Variable, Term]) -> BodyElement:
    def term(old: Term) -> Term:
        return mapping.get(old, old) if isinstance(old, Variable) else old

    def variable(old: Variable) -> Variable:
        new = mapping.get(old, old)
        assert isinstance(new, Variable), f"?{old.name} is computed by the rule, and cannot become {new}"
        return new

    def expression(old: Expression) -> Expression:
        if isinstance(old, Call):
            return Call(old.function, tuple(expression(argument) for argument in old.arguments))
        return term(old)

    match element:
        case Triple(subject, predicate, object_):
            return Triple(term(subject), term(predicate), term(object_))
        case Builtin(name, (first, second)):
            return Builtin(name, (term(first), term(second)))
        case Each(item, list_, atoms):
            inner = tuple(substitute_element(atom, mapping) for atom in atoms)
            return Each(variable(item), term(list_), inner)
        case Chain(list_, start, end):
            return Chain(term(list_), term(start), term(end))
        case Pair(list_, first, second):
            return Pair(term(list_), term(first), term(second))
        case Not(negated):
            return Not(tuple(substitute_element(atom, mapping) for atom in negated))
        case Filter(condition):
            return Filter(expression(condition))
        case Bind(value, output):
            return Bind(expression(value), variable(output))
        case Aggregate(body, group, bindings):
            return Aggregate(
                tuple(substitute_element(inner, mapping) for inner in body),
                tuple(new for old in group if isinstance(new := term(old), Variable)),
                tuple(
                    AggregateBinding(
                        binding.function,
                        None if binding.argument is None else expression(binding.argument),
                        variable(binding.variable),
                        binding.distinct,
                    )
                    for binding in bindings
                ),
            )
    raise AssertionError(f"not a body element: {element!r}")
