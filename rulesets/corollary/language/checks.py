"""Static checks of a program: rules are safe, facts are ground, builtins and functions are known.

Stratification is checked later, by ``corollary.program.stratify``. All errors of a program are collected
before one exception is raised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

from corollary.language.errors import Diagnostic, RuleError, Span, UnsafeRuleError
from corollary.language.functions import AGGREGATES, FUNCTIONS, OPERATORS, UNLIMITED_ARITY
from corollary.language.hints import did_you_mean
from corollary.language.model import (
    BUILTIN_NAMES,
    Aggregate,
    Bind,
    BodyElement,
    Builtin,
    Call,
    Chain,
    Each,
    Expression,
    Filter,
    Literal,
    Not,
    Pair,
    Rule,
    Variable,
)
from corollary.language.program import Program
from corollary.language.variables import bound_variables, variables

Complaint = tuple[str, str, str]
"""An error: the message, the word of the rule text that the caret points to ("" for none), the remedy."""


_CHECKED: WeakValueDictionary[int, Program] = WeakValueDictionary()
"""Programs without errors, by identity: a program is checked once, though every store compiles it."""


def check(program: Program) -> None:
    """Refuse a program that is unsafe or malformed. The exception carries all diagnostics of the program.

    Raises ``UnsafeRuleError`` if any rule is unsafe, else ``RuleError`` if any rule is malformed.
    """
    if _CHECKED.get(id(program)) is program:
        return
    diagnostics: dict[Diagnostic, None] = {}
    is_unsafe = False
    for rule in program:
        unsafe = list(_unsafe(rule))
        is_unsafe = is_unsafe or bool(unsafe)
        for complaint in (*unsafe, *_malformed(rule)):
            diagnostics[_diagnostic(rule, complaint)] = None
    if diagnostics:
        error = UnsafeRuleError if is_unsafe else RuleError
        raise error(tuple(diagnostics))
    _CHECKED[id(program)] = program


def _diagnostic(rule: Rule, complaint: Complaint) -> Diagnostic:
    message, word, remedy = complaint
    if rule.name:
        message = f"rule {rule.name}: {message}"
    return Diagnostic(message, rule.span and _narrowed(rule.span, word), remedy)


def _narrowed(span: Span, word: str) -> Span:
    """The place of a word in the first line of a rule; ``span`` itself if the word is not there."""
    found = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)").search(span.text, span.column - 1)
    return replace(span, column=found.start() + 1) if word and found else span


# variables


def _unsafe(rule: Rule) -> Iterator[Complaint]:
    if not rule.body:
        for variable in sorted(_all_variables(rule.heads)):
            yield (
                f"a fact has no variables, this one has ?{variable.name}",
                f"?{variable.name}",
                "write a constant, or give the rule a body",
            )
        return
    bound = bound_variables(rule.body)
    negated = _all_variables(element for element in rule.body if isinstance(element, Not))
    for variable in sorted(_all_variables(rule.heads)):
        if variable not in bound:
            yield _unbound(variable, "the head", negated)
    yield from _unsafe_body(rule.body, bound, negated)
    for element in rule.body:
        if isinstance(element, Each | Aggregate):
            yield from _unsafe_scope(element, rule)


def _unsafe_body(
    body: Sequence[BodyElement], bound: set[Variable], negated: Iterable[Variable] = ()
) -> Iterator[Complaint]:
    """Errors for inputs that are not bound, and for computed variables that another element also binds.

    ``bound`` are the variables that ``body`` binds, ``negated`` those that occur under NOT.
    """
    outputs = Counter(variable for element in body for variable in _outputs(element))
    others = bound_variables([element for element in body if not isinstance(element, Bind | Aggregate)])
    groups = {variable for element in body if isinstance(element, Aggregate) for variable in element.group}
    for variable, times in outputs.items():
        if times > 1 or variable in others or variable in groups:
            yield (
                f"?{variable.name} is computed, but something else binds it too",
                f"?{variable.name}",
                f"compute another variable and compare: FILTER(?{variable.name} = ?other)",
            )
    for element in body:
        match element:
            case Filter(expression):
                used, place = expression, "FILTER"
            case Bind(expression, _):
                used, place = expression, "BIND"
            case Each(_, list_, _):
                used, place = list_, "the list of EACH"
            case Chain(list_, _, _):
                used, place = list_, "the list of CHAIN"
            case Pair(list_, _, _):
                used, place = list_, "the list of PAIR"
            case _:
                continue
        for variable in sorted(variables(used) - bound):
            yield _unbound(variable, place, negated)


def _outputs(element: BodyElement) -> tuple[Variable, ...]:
    """The variables that an element computes: by ``Bind``, or by the functions of an ``Aggregate``."""
    match element:
        case Bind(_, variable):
            return (variable,)
        case Aggregate(_, _, bindings):
            return tuple(binding.variable for binding in bindings)
        case _:
            return ()


def _unsafe_scope(element: Each | Aggregate, rule: Rule) -> Iterator[Complaint]:
    """Errors for local variables used outside their EACH or AGGREGATE, and for the inputs of an aggregate."""
    others = tuple(other for other in rule.body if other is not element)
    outside = _all_variables((*rule.heads, *others))
    if isinstance(element, Each):
        if element.item in outside | variables(element.list):
            yield (
                f"?{element.item.name} is the item of EACH, and means nothing outside of it",
                f"?{element.item.name}",
                "give one of the two another name",
            )
        return
    inside = bound_variables(element.body)
    yield from _unsafe_body(element.body, inside)
    for variable in element.group:
        if variable not in inside:
            yield _unbound(variable, "ON", ())
    for binding in element.bindings:
        if binding.argument is not None:
            for variable in sorted(variables(binding.argument) - inside):
                yield _unbound(variable, binding.function, ())
        if binding.variable in inside:
            yield (
                f"?{binding.variable.name} is the result of {binding.function}, and also inside AGGREGATE",
                f"?{binding.variable.name}",
                "give the result another name",
            )
    for variable in sorted((inside - set(element.group)) & outside):
        yield (
            f"?{variable.name} is local to AGGREGATE, and means nothing outside of it",
            f"?{variable.name}",
            f"group by it (ON ?{variable.name}), or give one of the two another name",
        )


def _unbound(variable: Variable, place: str, negated: Iterable[Variable]) -> Complaint:
    name = f"?{variable.name}"
    if variable in negated:
        message = f"{name} in {place} occurs only under NOT, which binds nothing"
        return message, name, f"use {name} in a positive atom"
    message = f"{name} in {place} is bound by nothing"
    return message, name, f"use {name} in a positive atom or BIND(... AS {name})"


def _all_variables(parts: Iterable[BodyElement]) -> set[Variable]:
    return {variable for part in parts for variable in variables(part)}


# parts


def _malformed(rule: Rule) -> Iterator[Complaint]:
    if not rule.heads and not rule.body:
        yield ("a constraint needs a body", "false", "say what must not hold: false :- ... .")
    for head in rule.heads:
        if isinstance(head.subject, Literal):
            yield ("the subject of a head cannot be a literal", "", "RDF has no such triples")
        if isinstance(head.predicate, Literal):
            # A blank node is allowed: an anonymous inverse property has facts, which restrictions read.
            yield ("the predicate of a head cannot be a literal", "", "RDF has no such triples")
    for element in rule.body:
        yield from _malformed_element(element)


def _malformed_element(element: BodyElement) -> Iterator[Complaint]:
    match element:
        case Builtin(name, _):
            if name not in BUILTIN_NAMES:
                remedy = did_you_mean(name, BUILTIN_NAMES) or f"the builtins are {', '.join(BUILTIN_NAMES)}"
                yield (f"{name} is not a builtin", name, remedy)
        case Not(atoms):
            for atom in atoms:
                yield from _malformed_element(atom)
        case Filter(expression) | Bind(expression, _):
            yield from _malformed_expression(expression)
        case Aggregate(body, _, bindings):
            for inner in body:
                yield from _malformed_element(inner)
            for binding in bindings:
                yield from _malformed_aggregate(binding.function, binding.argument)
        case _:
            pass


def _malformed_aggregate(function: str, argument: Expression | None) -> Iterator[Complaint]:
    if function not in AGGREGATES:
        remedy = did_you_mean(function, AGGREGATES) or f"the aggregate functions are {', '.join(AGGREGATES)}"
        yield (f"{function} is not an aggregate function", function, remedy)
    elif argument is None:
        if function != "count":
            yield (f"{function}(*) means nothing", function, f"say of what: {function}(?variable)")
    else:
        yield from _malformed_expression(argument)


def _malformed_expression(expression: Expression) -> Iterator[Complaint]:
    if not isinstance(expression, Call):
        return
    name = expression.function
    arity = FUNCTIONS.get(name) or OPERATORS.get(name)
    if arity is None:
        remedy = did_you_mean(name, FUNCTIONS)
        if name in AGGREGATES:
            remedy = f"aggregate functions stand in AGGREGATE(... BIND {name}(...) AS ?variable)"
        yield (f"{name} is not a function", name, remedy or f"the functions are {', '.join(FUNCTIONS)}")
    elif not arity[0] <= len(expression.arguments) <= arity[1]:
        takes = _arity_text(*arity)
        yield (f"{name} takes {takes}, here are {len(expression.arguments)}", name, "")
    for argument in expression.arguments:
        yield from _malformed_expression(argument)


def _arity_text(least: int, most: int) -> str:
    if most == UNLIMITED_ARITY:
        return f"{least} or more arguments"
    numbers = str(least) if least == most else f"{least} to {most}"
    return f"{numbers} argument" if numbers == "1" else f"{numbers} arguments"
