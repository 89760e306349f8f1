"""Expressions evaluated on terms: each is translated to a Python function once, and called for many rows.

A row maps variables to terms. The function returns a term, or raises ``ExpressionError`` where SPARQL has an
error: a filter takes it for false, a binding leaves the variable unbound. Exceptions of built-in functions
become ``ExpressionError``, but for those in ``NO_ERRORS``.
"""

from __future__ import annotations

import random
import sys
import uuid
from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from rdflib.term import BNode, Literal, Node, URIRef, Variable

from corollary.expressions.operators import ExpressionError
from corollary.language import CorollaryError
from corollary.sparql.algebra import Call, Exists, Expression, FunctionCall, kept
from corollary.sparql.builtin_functions import CASTS, FALSE, FUNCTIONS, TRUE, boolean, cast, is_in, is_true
from corollary.sparql.user_functions import UserFunction

Row = Mapping[Variable, Node]
Evaluate = Callable[[Row], Node]

VOLATILE = frozenset(("RAND", "UUID", "STRUUID", "BNODE"))
"""Functions whose value may differ for equal arguments."""

CHAINED = frozenset("+-*/")
"""Operators of two operands, of which chains are evaluated from left to right."""

NO_ERRORS = (ExpressionError, CorollaryError, MemoryError, RecursionError, NotImplementedError)
"""What is raised on: limits are ``CorollaryError``. All other exceptions of a built-in function are errors of
the expression."""


@dataclass
class Environment:
    """What functions know of their query. ``base`` resolves relative IRIs; ``functions`` are the store's."""

    base: str = ""
    functions: Mapping[URIRef, UserFunction] = field(default_factory=dict)

    @cached_property
    def bnodes(self) -> defaultdict[Node, BNode]:
        """The blank nodes that BNODE has made of strings."""
        return defaultdict(BNode)

    @cached_property
    def now(self) -> Literal:
        """The time of the query."""
        return Literal(datetime.now(UTC))


def is_volatile(expression: Expression, functions: Container[URIRef]) -> bool:
    """Whether an expression has to be evaluated for each row, not once for each combination of values.

    The store's ``functions`` depend on their arguments only; functions registered with rdflib may not. Raises
    NotImplementedError if one of the latter takes rdflib's evaluation context.
    """
    names, iris = _called_by(expression)
    is_found = not names.isdisjoint(VOLATILE)
    for iri in iris:
        found = None if iri in functions else custom_function(iri)
        if found is not None and found[1]:
            raise NotImplementedError("this function wants to see rdflib's own evaluation")
        is_found = is_found or found is not None
    return is_found


@kept
def _called_by(expression: Expression) -> tuple[frozenset[str], frozenset[URIRef]]:
    """The names of built-in functions and operators, and the IRIs of others; without those in EXISTS."""
    waiting, names, iris = [expression], set[str](), set[URIRef]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, FunctionCall):
            iris.add(part.iri)
        elif isinstance(part, Call):
            names.add(part.name)
        waiting += getattr(part, "arguments", ())
    return frozenset(names), frozenset(iris)


def custom_function(iri: URIRef) -> tuple[Callable[..., Any], bool] | None:
    """A function registered with rdflib, and whether it takes rdflib's evaluation context. None for casts."""
    operators: Any = sys.modules.get("rdflib.plugins.sparql.operators")
    found = None if operators is None else operators._CUSTOM_FUNCTIONS.get(iri)
    return None if found is None or found[0] is operators.default_cast else found


OF_ENVIRONMENT = frozenset(("IRI", "BNODE", "NOW"))
"""Functions that depend on what the query's environment is."""


def compiled(expression: Expression, environment: Environment) -> Evaluate:
    """As ``evaluated``; kept in the plan where it is the same for all queries."""
    names, iris = _called_by(expression)
    if iris or not names.isdisjoint(OF_ENVIRONMENT):
        return evaluated(expression, environment)
    return _evaluated_alone(expression)


@kept
def _evaluated_alone(expression: Expression) -> Evaluate:
    return evaluated(expression, Environment())


def evaluated(expression: Expression, environment: Environment) -> Evaluate:
    """The function from rows to values. Precondition: EXISTS has been replaced by variables."""
    if isinstance(expression, Variable):
        return _variable(expression)
    if isinstance(expression, FunctionCall):
        return _function(expression, environment)
    if isinstance(expression, Call):
        if expression.name in CHAINED:
            return _chain(expression, environment)
        parts = [evaluated(part, environment) for part in expression.arguments]
        special = _SPECIAL.get(expression.name)
        if special is not None:
            return special(parts, environment)
        return _called(FUNCTIONS[expression.name], parts)
    assert not isinstance(expression, Exists)
    return lambda row: expression


def _chain(expression: Expression, environment: Environment) -> Evaluate:
    """``+``, ``-``, ``*`` and ``/`` from left to right: any number of them, without recursion."""
    steps = []
    while isinstance(expression, Call) and expression.name in CHAINED:
        left, right = expression.arguments
        steps.append((FUNCTIONS[expression.name], evaluated(right, environment)))
        expression = left
    first = evaluated(expression, environment)
    steps.reverse()

    def value(row: Row) -> Node:
        found = first(row)
        for function, part in steps:
            found = _value_of(function, (found, part(row)))
        return found

    return value


def _variable(variable: Variable) -> Evaluate:
    def value(row: Row) -> Node:
        try:
            return row[variable]
        except KeyError:
            raise ExpressionError(f"?{variable} is not bound") from None

    return value


def _called(function: Callable[..., Node], parts: list[Evaluate]) -> Evaluate:
    """A function of values."""

    def value(row: Row) -> Node:
        return _value_of(function, [part(row) for part in parts])

    return value


def _value_of(function: Callable[..., Node], arguments: Sequence[Node]) -> Node:
    """The value of a built-in function, whose exceptions are errors of the expression."""
    try:
        return function(*arguments)
    except NO_ERRORS:
        raise
    except Exception as error:
        raise ExpressionError(str(error)) from error


def _function(call: FunctionCall, environment: Environment) -> Evaluate:
    """A function of the store, a function registered with rdflib, or a cast.

    SPARQLError and TypeError of a function registered with rdflib are errors of the expression.
    """
    parts = [evaluated(part, environment) for part in call.arguments]
    own = environment.functions.get(call.iri)
    if own is not None:
        return lambda row: own.value(*(part(row) for part in parts))
    found = custom_function(call.iri)
    if found is None:
        if call.iri not in CASTS:
            return _failing(f"there is no function <{call.iri}>")
        return _called(lambda *arguments: cast(call.iri, *arguments), parts)
    from rdflib.plugins.sparql.sparql import SPARQLError

    function = found[0]

    def value(row: Row) -> Node:
        arguments = [part(row) for part in parts]
        try:
            term = function(*arguments)
        except (SPARQLError, TypeError) as error:
            raise ExpressionError(str(error)) from error
        except StopIteration as error:  # would end the iteration over batches
            raise RuntimeError(f"<{call.iri}>: {str(error) or 'StopIteration'}") from error
        if term is None or isinstance(term, SPARQLError):
            raise ExpressionError("the function has no value")
        if not isinstance(term, Node):
            raise NotImplementedError(f"{term!r} is no RDF term")
        return term

    return value


def _failing(message: str) -> Evaluate:
    def value(row: Row) -> Node:
        raise ExpressionError(message)

    return value


# Functions that do not evaluate all of their arguments, or depend on the query


def _decided(parts: list[Evaluate], deciding: bool) -> Evaluate:
    """``&&`` and ``||``: an operand with the ``deciding`` value decides, even if another one is an error."""
    decided, otherwise = boolean(deciding), boolean(not deciding)

    def value(row: Row) -> Node:
        failure = None
        for part in parts:
            try:
                if is_true(part(row)) is deciding:
                    return decided
            except ExpressionError as error:
                failure = error
        if failure is not None:
            raise failure
        return otherwise

    return value


def _bound(parts: list[Evaluate], _: Environment) -> Evaluate:
    def value(row: Row) -> Node:
        try:
            parts[0](row)
        except ExpressionError:
            return FALSE
        return TRUE

    return value


def _if(parts: list[Evaluate], _: Environment) -> Evaluate:
    condition, yes, no = parts
    return lambda row: yes(row) if is_true(condition(row)) else no(row)


def _coalesce(parts: list[Evaluate], _: Environment) -> Evaluate:
    def value(row: Row) -> Node:
        for part in parts:
            try:
                return part(row)
            except ExpressionError:
                pass
        raise ExpressionError("no argument of COALESCE has a value")

    return value


def _in(parts: list[Evaluate], is_negated: bool) -> Evaluate:
    wanted, *members = parts

    def value(row: Row) -> Node:
        found = is_in([lambda part=part: part(row) for part in members], wanted(row))  # type: ignore[misc]
        return boolean(found is not is_negated)

    return value


def _iri(parts: list[Evaluate], environment: Environment) -> Evaluate:
    def resolved(term: Node) -> Node:
        if isinstance(term, URIRef):
            return term
        if not isinstance(term, Literal):
            raise ExpressionError("IRI takes an IRI or a string")
        return URIRef(term) if ":" in term else URIRef(term, environment.base or None)

    return _called(resolved, parts)


def _bnode(parts: list[Evaluate], environment: Environment) -> Evaluate:
    if not parts:
        return lambda row: BNode()

    def node(term: Node) -> Node:
        if not isinstance(term, Literal):
            raise ExpressionError("BNODE takes a string")
        return environment.bnodes[term]

    return _called(node, parts)


_SPECIAL: dict[str, Callable[[list[Evaluate], Environment], Evaluate]] = {
    "&&": lambda parts, _: _decided(parts, False),
    "||": lambda parts, _: _decided(parts, True),
    "BOUND": _bound,
    "IF": _if,
    "COALESCE": _coalesce,
    "IN": lambda parts, _: _in(parts, is_negated=False),
    "NOT IN": lambda parts, _: _in(parts, is_negated=True),
    "IRI": _iri,
    "BNODE": _bnode,
    "NOW": lambda _, environment: lambda row: environment.now,
    "RAND": lambda *_: lambda row: Literal(random.random()),
    "UUID": lambda *_: lambda row: URIRef(uuid.uuid4().urn),
    "STRUUID": lambda *_: lambda row: Literal(str(uuid.uuid4())),
}
