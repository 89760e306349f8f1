"""SPARQL's operators on single terms: truth, arithmetic, equality, order (SPARQL 1.1, section 17).

A term is a constant of the rule language. An operator maps constants to a constant, and raises
``ExpressionError`` for what SPARQL calls a type error. Numbers are promoted integer -> decimal -> float ->
double, and computed with Python's int, Decimal and float. Invariant: results are written in one canonical
form (``3``, ``2.5``, ``1.0E10``; XPath's casting to string), so equal results of one datatype are one term.

Two existing libraries are not suitable. rdflib's operators return integer * integer as decimal, lose an error
beside a false in &&, and raise Python's ZeroDivisionError. pyoxigraph's engine replaces literals by their
values ("01" becomes "1", xsd:int becomes xsd:integer), and fails beyond 64-bit integers and on the order of
booleans. The tests compare with pyoxigraph wherever these differences do not matter.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from corollary.language import IRI, XSD, BlankNode, Constant, Literal
from corollary.terms.values import SUPPORTED_DATATYPES, Value, datatype_of, numeric_value, value_of


class ExpressionError(Exception):
    """A type error in SPARQL's sense: a filter treats it as false, a binding drops the row."""


class Rank(IntEnum):
    """The numeric datatypes of results, in the order of promotion."""

    INTEGER = 0
    DECIMAL = 1
    FLOAT = 2
    DOUBLE = 3


RANK_DATATYPES = tuple(XSD + name for name in ("integer", "decimal", "float", "double"))

Real = int | Decimal | float


class Number(NamedTuple):
    """A number. The rank gives the type of the value: int, Decimal, float (FLOAT and DOUBLE)."""

    rank: Rank
    value: Real


TRUE = Literal("true", XSD + "boolean")
FALSE = Literal("false", XSD + "boolean")

EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""For exact sums and products of decimals. xsd:decimal has no exponent that could make a result long."""

DIVISION_DIGITS = 18
"""Digits of an infinite quotient; XML Schema requires no more. Quotients of longer operands get more."""


def boolean(value: bool) -> Literal:
    return TRUE if value else FALSE


def truth(constant: Constant) -> bool:
    """The effective boolean value (17.2.2). Ill-typed numbers and booleans are false."""
    if isinstance(constant, Literal) and constant.language is None:
        datatype = datatype_of(constant.datatype, None)
        if datatype == XSD + "boolean":
            return constant.lexical in ("true", "1")
        if datatype == XSD + "string":
            return constant.lexical != ""
        if is_numeric_datatype(datatype):
            found = find_number(constant)
            return found is not None and found.value != 0 and not math.isnan(found.value)
    raise ExpressionError(f"{constant} is neither true nor false")


# Numbers


def is_numeric_datatype(datatype: str) -> bool:
    """Whether the datatype is numeric. (All numeric datatypes have "1" or "-1" as a lexical form.)"""
    return numeric_value("1", datatype) is not None or numeric_value("-1", datatype) is not None


def number(constant: Constant) -> Number:
    """The number that a constant denotes. Raises ExpressionError if it denotes none."""
    found = find_number(constant)
    if found is None:
        raise ExpressionError(f"{constant} is no number")
    return found


def find_number(constant: Constant) -> Number | None:
    """The number that a constant denotes, or None."""
    return number_of(constant.lexical, constant.datatype) if isinstance(constant, Literal) else None


def number_of(lexical: str, datatype: str | None) -> Number | None:
    """The number that a literal denotes, or None."""
    value = numeric_value(lexical, datatype)
    if value is None:
        return None
    if isinstance(value, int):
        return Number(Rank.INTEGER, value)
    if isinstance(value, Decimal):
        return Number(Rank.DECIMAL, value)
    return Number(Rank.FLOAT if datatype == RANK_DATATYPES[Rank.FLOAT] else Rank.DOUBLE, value)


def literal_of(result: Number) -> Literal:
    """The canonical literal of a number."""
    rank, value = result
    if isinstance(value, float):
        text = _float_text(value, single=rank == Rank.FLOAT)
    else:
        text = _decimal_text(Decimal(value))
    return Literal(text, RANK_DATATYPES[rank])


def _decimal_text(value: Decimal) -> str:
    """Without exponent, trailing zeros or negative zero. (``str`` refuses integers over 4,300 digits.)"""
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _float_text(value: float, single: bool) -> str:
    """The shortest digits that denote the number, with an exponent below 1e-6 and from 1e6 on."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    shortest = Decimal(np.format_float_scientific(np.float32(value)) if single else repr(value))
    if 1e-6 <= abs(value) < 1e6:
        return _decimal_text(shortest)
    digits = "".join(map(str, shortest.as_tuple().digits)).rstrip("0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{shortest.adjusted()}"


def promote(given: Number, rank: Rank) -> Real:
    """Convert a number to ``rank``. Precondition: ``rank`` is at least the number's own."""
    if given.rank == rank:
        return given.value
    if rank == Rank.DECIMAL:
        return Decimal(given.value)
    if given.rank == Rank.FLOAT:
        return given.value
    # Via text: exact rounding to single precision, and infinity for numbers out of range.
    nearest = numeric_value(_decimal_text(Decimal(given.value)), RANK_DATATYPES[rank])
    assert nearest is not None
    return nearest


def promote_all(numbers: Sequence[Number]) -> tuple[Rank, list[Real]]:
    """Promote all numbers to the highest rank among them. Precondition: at least one number."""
    ranks = {rank for rank, _ in numbers}
    rank = max(ranks)
    if len(ranks) == 1:
        return rank, [value for _, value in numbers]
    return rank, [promote(item, rank) for item in numbers]


def as_result(rank: Rank, value: Real) -> Number:
    """A computed value as a number. Results of xsd:float are rounded to single precision."""
    if rank == Rank.FLOAT:
        assert isinstance(value, float)
        value = ctypes.c_float(value).value
    return Number(rank, value)


def add(left: Real, right: Real) -> Real:
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return EXACT.add(left, right)
    return left + right  # type: ignore[operator]  # both are of one rank


def subtract(left: Real, right: Real) -> Real:
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return EXACT.subtract(left, right)
    return left - right  # type: ignore[operator]


def multiply(left: Real, right: Real) -> Real:
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return EXACT.multiply(left, right)
    return left * right  # type: ignore[operator]


def divide(left: Real, right: Real) -> Real:
    """The quotient of two decimals or two floats. Raises ExpressionError if a decimal is divided by zero."""
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        if right == 0:
            raise ExpressionError("division by zero")
        digits = len(left.as_tuple().digits) + len(right.as_tuple().digits)
        return Context(prec=max(DIVISION_DIGITS, digits)).divide(left, right)
    assert isinstance(left, float) and isinstance(right, float)
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


ARITHMETIC: dict[str, Callable[[Real, Real], Real]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
}


def arithmetic(operator: str, left: Constant, right: Constant) -> Literal:
    """``left operator right`` for one of + - * /. The quotient of integers is a decimal."""
    rank, (a, b) = promote_all((number(left), number(right)))
    if operator == "/" and rank == Rank.INTEGER:
        rank, a, b = Rank.DECIMAL, Decimal(a), Decimal(b)
    return literal_of(as_result(rank, ARITHMETIC[operator](a, b)))


def negated(constant: Constant) -> Literal:
    rank, value = number(constant)
    return literal_of(Number(rank, negate(value)))


def negate(value: Real) -> Real:
    # Python's unary minus would round a Decimal.
    return value.copy_negate() if isinstance(value, Decimal) else -value


def absolute(value: Real) -> Real:
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


# Equality and order


def equal(left: Constant, right: Constant) -> bool:
    """``left = right``.

    Values of different kinds (1 and "1", "a" and "a"@en) differ. Raises ExpressionError if a literal is
    ill-typed or of an unsupported datatype, unless both literals are the same term.
    """
    numbers = find_number(left), find_number(right)
    if numbers[0] and numbers[1]:
        _, (a, b) = promote_all((numbers[0], numbers[1]))
        return a == b
    if left == right:
        return True
    if isinstance(left, IRI | BlankNode) or isinstance(right, IRI | BlankNode):
        return False
    one, other = known_value(left), known_value(right)
    if one.space == other.space and one.space in ("dateTime", "date"):
        return compare_moments(one, other) == 0
    return one == other


def less(left: Constant, right: Constant) -> bool:
    """``left < right`` for numbers, strings, booleans, dates and dateTimes."""
    return precedes(orderable(left), orderable(right))


Orderable = Number | Value


def orderable(constant: Constant) -> Orderable:
    """The value by which a constant is ordered. Raises ExpressionError if ``<`` is not defined for it."""
    found = find_number(constant)
    if found is not None:
        return found
    value = known_value(constant)
    if value.space not in ("string", "boolean", "dateTime", "date"):
        raise ExpressionError(f"values such as {constant} have no order")
    return value


def precedes(left: Orderable, right: Orderable) -> bool:
    """``left < right``. Raises ExpressionError if the values are of different kinds."""
    if isinstance(left, Number) and isinstance(right, Number):
        _, (a, b) = promote_all((left, right))
        return a < b
    if isinstance(left, Value) and isinstance(right, Value) and left.space == right.space:
        if left.space in ("dateTime", "date"):
            return compare_moments(left, right) < 0
        return bool(left.key < right.key)  # type: ignore[operator]  # both str or both bool
    raise ExpressionError(f"{left} and {right} are of different kinds")


def known_value(constant: Constant) -> Value:
    """The value of a literal. Raises ExpressionError if the term has no value in a supported datatype."""
    if isinstance(constant, Literal):
        datatype = datatype_of(constant.datatype, constant.language)
        value = None
        if datatype == XSD + "date":
            value = _date_value(constant.lexical)
        elif datatype in SUPPORTED_DATATYPES:
            value = value_of(constant.lexical, constant.datatype, constant.language)
        if value is not None:
            return value
    raise ExpressionError(f"{constant} has no value that is known")


_DATE = re.compile(r"(-?[0-9]+-[0-9]{2}-[0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?")


def _date_value(lexical: str) -> Value | None:
    """An xsd:date. Its key is that of the dateTime at its start."""
    match = _DATE.fullmatch(lexical)
    start = value_of(f"{match[1]}T00:00:00{match[2] or ''}", XSD + "dateTime") if match else None
    return start and Value("date", start.key)


def moment(value: Value) -> tuple[int, Decimal, int | None]:
    """Day, second of the day and time zone (minutes) of a date or dateTime, in local time."""
    assert value.space in ("dateTime", "date") and isinstance(value.key, tuple)
    days, seconds, zone = value.key
    return days, Decimal(seconds), zone


ZONE_RANGE = 14 * 3600
"""Seconds. A time without a zone may differ by at most this amount from the same time in UTC."""


def compare_moments(left: Value, right: Value) -> Decimal:
    """The difference left - right in seconds.

    Raises ExpressionError if only one of them has a time zone and they differ by at most ``ZONE_RANGE``.
    """
    days, seconds, zone = moment(left)
    other_days, other_seconds, other_zone = moment(right)
    minutes = (days - other_days) * 1440 + (other_zone or 0) - (zone or 0)
    apart = EXACT.add(Decimal(minutes * 60), EXACT.subtract(seconds, other_seconds))
    if (zone is None) != (other_zone is None) and abs(apart) <= ZONE_RANGE:
        raise ExpressionError("a time without a zone and one with are too close to compare")
    return apart


# Rounding


def floor(value: Real) -> Real:
    """The greatest whole number <= ``value``, of the same type."""
    if isinstance(value, Decimal):
        return value.to_integral_value(ROUND_FLOOR)
    if isinstance(value, float) and math.isfinite(value):
        return math.copysign(float(math.floor(value)), value)
    return value


def ceil(value: Real) -> Real:
    """The least whole number >= ``value``, of the same type."""
    return negate(floor(negate(value)))


def round_half_up(value: Real) -> Real:
    """The nearest whole number; of two equally near, the greater (XPath's rounding)."""
    if isinstance(value, Decimal):
        return floor(EXACT.add(value, Decimal("0.5")))
    if isinstance(value, float) and math.isfinite(value):
        # Decimal represents the float exactly; adding 0.5 to the float might round.
        exact = floor(EXACT.add(Decimal(value), Decimal("0.5")))
        return math.copysign(float(exact), value)
    return value


def rounded(rounding: Callable[[Real], Real], constant: Constant) -> Literal:
    """Apply ``rounding`` to a number. Derived integer datatypes become xsd:integer."""
    rank, value = number(constant)
    return literal_of(Number(rank, rounding(value)))
