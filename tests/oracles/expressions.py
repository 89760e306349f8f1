"""SPARQL's expressions for the naive evaluator, over constants as they are in the rules.

The idea: numbers become Python integers and decimals, everything else stays a constant. Whatever
SPARQL calls a type error is an ``ExpressionError``. Invariant: an integer result of integers stays
xsd:integer, everything else numeric becomes xsd:decimal in its shortest form (``2``, ``2.5``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, localcontext
from statistics import median

from corollary.language.model import (
    IRI,
    XSD,
    AggregateBinding,
    BlankNode,
    Call,
    Constant,
    Expression,
    Literal,
    Variable,
)

Number = int | Decimal
TRUE, FALSE = Literal("true", XSD + "boolean"), Literal("false", XSD + "boolean")


class ExpressionError(Exception):
    """A type error in SPARQL's sense: it leaves no row, and is false in a filter."""


def is_true(expression: Expression, binding: Mapping[Variable, Constant]) -> bool:
    """The effective boolean value, errors counted as false."""
    try:
        return truth(evaluate(expression, binding))
    except ExpressionError:
        return False


def evaluate(expression: Expression, binding: Mapping[Variable, Constant]) -> Constant:
    """The value of an expression; ExpressionError if it has none."""
    if isinstance(expression, Variable):
        if expression not in binding:
            raise ExpressionError(f"?{expression.name} is unbound")
        return binding[expression]
    if not isinstance(expression, Call):
        return expression
    function = expression.function.lower()
    if function in ("&&", "||"):
        return logical(function, expression.arguments, binding)
    values = [evaluate(argument, binding) for argument in expression.arguments]
    match function, values:
        case "=", [left, right]:
            return boolean(equal(left, right))
        case "!=", [left, right]:
            return boolean(not equal(left, right))
        case "<" | "<=" | ">" | ">=", [left, right]:
            return boolean(compare(function, left, right))
        case "+" | "-" | "*" | "/", [left, right]:
            return arithmetic(function, number(left), number(right))
        case "-", [value]:
            return constant(0 - number(value))
        case "!", [value]:
            return boolean(not truth(value))
        case "abs", [value]:
            return constant(max(number(value), 0 - number(value)))
        case "sameterm", [left, right]:
            return boolean(left == right)
        case "isiri", [value]:
            return boolean(isinstance(value, IRI))
        case "isblank", [value]:
            return boolean(isinstance(value, BlankNode))
        case "datatype_clash", [Literal() as literal, IRI(datatype)]:
            # Right for literals of integer datatypes and for classes that are no datatypes.
            return boolean(datatype.startswith(XSD) and not is_number(literal))
        case "str", [IRI(text)] | [Literal(text)]:
            return Literal(text)
        case "regex", [Literal(text), Literal(pattern)]:
            return boolean(re.search(pattern, text) is not None)
        case "isliteral", [value]:
            return boolean(isinstance(value, Literal))
        case "str" | "regex" | "datatype_clash", _:
            raise ExpressionError(f"{function} of {values}")
    raise NotImplementedError(f"the naive evaluator knows no {expression.function} of {len(values)}")


def logical(function: str, arguments: Iterable[Expression], binding: Mapping[Variable, Constant]) -> Constant:
    """Three-valued and / or: a side that decides alone makes the other's error harmless."""
    deciding = function == "||"
    errors: list[ExpressionError] = []
    for argument in arguments:
        try:
            if truth(evaluate(argument, binding)) == deciding:
                return boolean(deciding)
        except ExpressionError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return boolean(not deciding)


def boolean(value: bool) -> Literal:
    return TRUE if value else FALSE


def number(value: Constant) -> Number:
    """The Python number of an integer or decimal; ExpressionError of anything else."""
    if isinstance(value, Literal):
        try:
            if value.datatype in (XSD + "integer", XSD + "nonNegativeInteger"):
                return int(value.lexical)
            if value.datatype == XSD + "decimal":
                return Decimal(value.lexical)
        except (ValueError, ArithmeticError):
            pass
    raise ExpressionError(f"{value} is no number")


def constant(value: Number) -> Literal:
    """The literal of a number."""
    if isinstance(value, int):
        return Literal(str(value), XSD + "integer")
    text = f"{value:f}"
    return Literal(text.rstrip("0").rstrip(".") if "." in text else text, XSD + "decimal")


def is_number(value: Constant) -> bool:
    try:
        number(value)
    except ExpressionError:
        return False
    return True


def arithmetic(operator: str, left: Number, right: Number) -> Constant:
    if operator == "+":
        return constant(left + right)
    if operator == "-":
        return constant(left - right)
    if operator == "*":
        return constant(left * right)
    return constant(divide(left, right))


def divide(left: Number, right: Number) -> Decimal:
    """Division of integers is decimal in SPARQL."""
    if right == 0:
        raise ExpressionError("division by zero")
    with localcontext() as context:
        context.prec = 18
        return Decimal(left) / Decimal(right)


def equal(left: Constant, right: Constant) -> bool:
    """Same term or same number; two literals that are neither are a type error unless both are strings."""
    if left == right:
        return True
    if is_number(left) and is_number(right):
        return number(left) == number(right)
    if isinstance(left, Literal) and isinstance(right, Literal):
        if {left.datatype, right.datatype} <= {None, XSD + "string"} or {left.datatype, right.datatype} == {
            XSD + "boolean"
        }:
            return False
        raise ExpressionError(f"{left} and {right} cannot be compared")
    return False


def compare(operator: str, left: Constant, right: Constant) -> bool:
    """Order of numbers, or of plain strings by code point."""
    a: Number | str
    b: Number | str
    if is_number(left) and is_number(right):
        a, b = number(left), number(right)
    elif is_string(left) and is_string(right):
        assert isinstance(left, Literal) and isinstance(right, Literal)
        a, b = left.lexical, right.lexical
    else:
        raise ExpressionError(f"{left} and {right} have no order")
    answers = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}  # type: ignore[operator]
    return answers[operator]


def is_string(value: Constant) -> bool:
    return isinstance(value, Literal) and value.datatype is None and value.language is None


def truth(value: Constant) -> bool:
    """SPARQL's effective boolean value."""
    if value in (TRUE, FALSE):
        return value == TRUE
    if is_string(value):
        assert isinstance(value, Literal)
        return bool(value.lexical)
    return number(value) != 0


def aggregate(wanted: AggregateBinding, rows: list[dict[Variable, Constant]]) -> Constant:
    """One aggregate over the rows of one group. COUNT skips errors, the others fail with them."""
    function = wanted.function.lower()
    argument = wanted.argument
    if argument is None:
        return constant(len(rows))
    if function == "count":
        values = [evaluate(argument, row) for row in rows if has_value(argument, row)]
        return constant(len(set(values) if wanted.distinct else values))
    values = [evaluate(argument, row) for row in rows]
    if wanted.distinct:
        values = list(dict.fromkeys(values))
    numbers = [number(value) for value in values]
    match function:
        case "sum":
            return constant(sum(numbers))
        case "min":
            return constant(min(numbers))
        case "max":
            return constant(max(numbers))
        case "avg":
            return constant(divide(sum(numbers), len(numbers)))
        case "median":
            middle = median(map(Decimal, numbers))
            return constant(middle)
    raise NotImplementedError(f"the naive evaluator knows no {wanted.function}")


def has_value(expression: Expression, binding: Mapping[Variable, Constant]) -> bool:
    try:
        evaluate(expression, binding)
    except ExpressionError:
        return False
    return True
