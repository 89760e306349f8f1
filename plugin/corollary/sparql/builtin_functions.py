"""SPARQL's operators and built-in functions on rdflib's terms (section 17 of the recommendation).

A function maps terms to a term. It raises an exception where SPARQL has a type error: any exception that is
not about limits or the evaluation itself is one, see ``term_evaluation``. Invariant: where rdflib's function
has a value and no error, the value is the same; so a query has the same answers with every store. Exceptions:
IN compares values, REGEX and REPLACE have XPath's patterns, SUBSTR may start before the text, casts follow
SPARQL's table, sums of floats that are written as whole numbers are floats, and ROUND, CEIL and FLOOR of a
decimal are decimals.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from itertools import takewhile
from typing import Any
from urllib.parse import quote

from rdflib.namespace import RDF, XSD
from rdflib.term import BNode, Literal, Node, URIRef
from rdflib.xsd_datetime import parse_datetime  # type: ignore[attr-defined]

from corollary.expressions.operators import ExpressionError
from corollary.expressions.regular_expressions import compiled
from corollary.kernels.limits import reserve_text
from corollary.sparql.rdf_terms import plain_literal
from corollary.sparql.tuning import MAX_CHARACTERS_OF_TAG_CACHED, MAX_LANGUAGE_TAGS_CACHED
from corollary.sparql.typed_literals import typed_literal

TRUE, FALSE = Literal(True), Literal(False)

STRING, BOOLEAN, DATE_TIME = XSD.string, XSD.boolean, XSD.dateTime  # a look-up in the namespace takes 1 µs

COMPARISONS = {"<": "__lt__", ">": "__gt__", "<=": "__le__", ">=": "__ge__"}

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    ">": lambda one, other: one > other,
    "<=": lambda one, other: not one > other,
    "<": lambda one, other: not one > other and one != other,
    ">=": lambda one, other: one > other or one == other,
}
"""The operators as rdflib derives them from ``>`` and ``==``: NaN is less than any number."""

PROMOTED = (XSD.integer, XSD.decimal, XSD.float, XSD.double)
"""The datatypes of sums, in the order of promotion."""

RANKS = {datatype: rank for rank, datatype in enumerate(PROMOTED)} | dict.fromkeys(
    (
        *(XSD.nonPositiveInteger, XSD.negativeInteger, XSD.nonNegativeInteger, XSD.positiveInteger),
        *(XSD.unsignedLong, XSD.unsignedInt, XSD.unsignedShort, XSD.unsignedByte),
        *(XSD.long, XSD.int, XSD.short, XSD.byte),
    ),
    0,
)
"""The numeric datatypes: the place of their promoted datatype."""

NUMBERS_ORDERED_AS = str(XSD.decimal)
"""The datatype in whose place ORDER BY lists numbers of all datatypes."""

COMPARED = frozenset((*RANKS, XSD.string, XSD.boolean, XSD.dateTime, XSD.date))
"""The datatypes whose literals are cast. Two literals are ordered if one has such a datatype, or none."""

TIMES = frozenset((XSD.dateTime, XSD.date, XSD.time))
DURATIONS = frozenset((XSD.duration, XSD.dayTimeDuration, XSD.yearMonthDuration))


# Arguments


def string(term: Node) -> Literal:
    """A string, with or without a language tag."""
    if not isinstance(term, Literal) or term.datatype not in (None, STRING):
        raise ExpressionError(f"{term!r} is no string")
    return term


def number(term: Node) -> Any:
    """The value of a number."""
    if not isinstance(term, Literal) or term.datatype not in RANKS or term.value is None:
        raise ExpressionError(f"{term!r} is no number")
    return term.value


def is_true(term: Node) -> bool:
    """The effective boolean value (section 17.2.2): NaN and ill-typed numbers and booleans are false."""
    if term is TRUE or term is FALSE:
        return term is TRUE
    if isinstance(term, Literal):
        if term.datatype == BOOLEAN:
            return term.value is True
        if term.datatype is None or term.datatype == STRING:
            return len(term) > 0
        if term.datatype in RANKS:
            return bool(term.value) and term.value == term.value
        if term.value is not None:
            return bool(term.value)  # where SPARQL has an error, as in rdflib: of times and durations
    raise ExpressionError(f"{term!r} has no truth value")


def boolean(value: bool) -> Literal:
    """A truth value as a term."""
    return TRUE if value else FALSE


# Operators


def compare(operator: str, left: Node, right: Node) -> Literal:
    """``=``, ``!=``, ``<``, ``>``, ``<=`` or ``>=``."""
    one: Any = left
    if operator in ("=", "!="):
        return boolean(one.eq(right) if operator == "=" else one.neq(right))
    if not isinstance(left, Literal) or not isinstance(right, Literal):
        raise ExpressionError("only literals are ordered")
    if _are_in_one_order(left, right):
        return boolean(_ORDERS[operator](left.value, right.value))
    if None not in (left.datatype, right.datatype) and not {left.datatype, right.datatype} & COMPARED:
        raise ExpressionError("literals of these datatypes are not ordered")
    found = getattr(one, COMPARISONS[operator])(right)
    if found is NotImplemented:
        raise ExpressionError("these terms are not compared")
    return boolean(found)


def _are_in_one_order(left: Literal, right: Literal) -> bool:
    """Whether rdflib compares just the values: of two numbers, or of two times without a timezone."""
    one, other = left.value, right.value
    if one is None or other is None or left.ill_typed or right.ill_typed:
        return False
    if left.datatype in RANKS:
        return right.datatype in RANKS
    is_time = type(one) is datetime and type(other) is datetime
    return is_time and one.tzinfo is None is other.tzinfo and left.datatype == DATE_TIME == right.datatype


def is_in(members: Iterable[Callable[[], Node]], wanted: Node) -> bool:
    """Whether a value equals one of the members' values. An error of a member counts if none is equal."""
    failure: Exception | None = None
    for member in members:
        try:
            if compare("=", wanted, member()) is TRUE:
                return True
        except (ExpressionError, TypeError) as error:
            failure = error
    if failure is not None:
        raise ExpressionError(str(failure)) from failure
    return False


def add(sign: int, left: Node, right: Node) -> Literal:
    """Sum (``sign`` 1) or difference (-1) of numbers, or of times and durations."""
    if not isinstance(left, Literal) or not isinstance(right, Literal):
        raise ExpressionError("only literals are added")
    if left.datatype in TIMES or left.datatype in DURATIONS:
        return _shifted(sign, left, right)
    one, other = number(left), sign * number(right)
    if isinstance(one, float) or isinstance(other, float):
        one, other = float(one), float(other)
    rank = max(RANKS[left.datatype], RANKS[right.datatype])  # type: ignore[index]
    return Literal(one + other, datatype=PROMOTED[rank])


def _shifted(sign: int, left: Literal, right: Literal) -> Literal:
    """A time and a duration, or the difference of two times."""
    one: Any = left.value
    other: Any = right.value
    if one is None or other is None:
        raise ExpressionError("an ill-typed literal is not added")
    if sign < 0 and left.datatype in TIMES and left.datatype == right.datatype:
        return Literal(one - other, datatype=XSD.duration)
    if left.datatype in DURATIONS and sign > 0:
        left, right = right, left
    is_shift = left.datatype in TIMES and right.datatype in DURATIONS
    if not is_shift or not _fits(left.datatype, right.datatype):
        raise ExpressionError("these times and durations are not added")
    return Literal(one + other if sign > 0 else one - other, datatype=left.datatype)


def _fits(time: URIRef | None, duration: URIRef | None) -> bool:
    """Whether a duration may be added: to xsd:dateTime any, to xsd:date no xsd:duration, to xsd:time none."""
    return time == XSD.dateTime or (time == XSD.date and duration != XSD.duration)


def multiply(left: Node, right: Node) -> Literal:
    """The product: a double if the right operand is xsd:float or xsd:double, else a decimal. As in rdflib."""
    one, other = _factors(left, right)
    return Literal(one * other)


def divide(left: Node, right: Node) -> Literal:
    """The quotient, of the datatype that ``multiply`` gives."""
    one, other = _factors(left, right)
    return Literal(one / other)


def _factors(left: Node, right: Node) -> tuple[Any, Any]:
    one, other = Decimal(number(left)), number(right)
    return (float(one), other) if type(other) is float else (one, other)


# Functions on terms


def _iri_kind(term: Node) -> Literal:
    return boolean(isinstance(term, URIRef))


def _is_numeric(term: Node) -> Literal:
    return boolean(isinstance(term, Literal) and term.datatype in RANKS and term.value is not None)


def _language(term: Node) -> Literal:
    if not isinstance(term, Literal):
        raise ExpressionError("only literals have a language")
    return plain_literal(term.language or "")


def _datatype(term: Node) -> Node:
    if not isinstance(term, Literal):
        raise ExpressionError("only literals have a datatype")
    return RDF.langString if term.language else term.datatype or XSD.string


def _with_language(text: Node, language: Node) -> Literal:
    if string(text).language or string(text).datatype:
        raise ExpressionError("STRLANG takes a string without language tag and datatype")
    return Literal(str(text), lang=str(language).lower())


def _with_datatype(text: Node, datatype: Node) -> Literal:
    return typed_literal(str(text), URIRef(str(datatype)))


# Functions on strings


def _like(text: Literal, characters: str) -> Literal:
    """A string with the language tag or datatype of another one."""
    return Literal(characters, lang=text.language, datatype=text.datatype)


def _compatible(text: Node, other: Node) -> tuple[Literal, Literal]:
    one, two = string(text), string(other)
    if two.language and one.language != two.language:
        raise ExpressionError("these strings have different languages")
    return one, two


def _search(find: Callable[[str, str], bool], text: Node, part: Node) -> Literal:
    one, other = _compatible(text, part)
    return boolean(find(one, other))


def _before(text: Node, part: Node) -> Literal:
    one, other = _compatible(text, part)
    place = one.find(other)
    return Literal("") if place < 0 else _like(one, one[:place])


def _after(text: Node, part: Node) -> Literal:
    one, other = _compatible(text, part)
    place = one.find(other)
    return Literal("") if place < 0 else _like(one, one[place + len(other) :])


def _substring(text: Node, start: Node, length: Node | None = None) -> Literal:
    """The characters from ``start`` on, which counts from 1; as XPath's fn:substring."""
    characters = string(text)
    first = _nearest(number(start)) - 1
    end = len(characters) if length is None else first + _nearest(number(length))
    return _like(characters, str(characters)[max(first, 0) : max(end, 0)])


def _nearest(value: Any) -> int:
    """The nearest whole number, the greater one of two."""
    return value if isinstance(value, int) else math.floor(value + type(value)(0.5))


def concatenated(*texts: Node) -> Literal:
    """CONCAT, after memory for the text is reserved."""
    parts = [string(text) for text in texts]
    reserve_text(sum(map(len, parts)))
    datatypes, languages = ({getattr(part, key) for part in parts} for key in ("datatype", "language"))
    datatype, language = (found.pop() if len(found) == 1 else None for found in (datatypes, languages))
    return Literal("".join(parts), datatype=datatype, lang=language)


def _language_matches(tag: Node, wanted: Node) -> Literal:
    """Extended filtering of RFC 4647, section 3.3.2, as far as rdflib has it."""
    found, range_ = str(string(tag)), str(string(wanted))
    are_short = len(found) + len(range_) <= MAX_CHARACTERS_OF_TAG_CACHED
    return boolean((_is_in_range_cached if are_short else _is_in_range)(found, range_))


def _is_in_range(tag: str, wanted: str) -> bool:
    found, range_ = (text.strip().lower().split("-") for text in (tag, wanted))
    pairs = zip(range_, found, strict=False)
    return tag != "" and len(range_) <= len(found) and all(one in ("*", other) for one, other in pairs)


_is_in_range_cached = lru_cache(maxsize=MAX_LANGUAGE_TAGS_CACHED)(_is_in_range)


def flags_of(flags: Node | None) -> str:
    """The flags of REGEX and REPLACE."""
    return "" if flags is None else str(string(flags))


def _regex(text: Node, pattern: Node, flags: Node | None = None) -> Literal:
    """``REGEX`` with XPath's regular expressions; rdflib has Python's."""
    matcher = compiled(str(string(pattern)), flags_of(flags))
    return boolean(bool(matcher.matches([str(string(text))])[0]))


def _replace(text: Node, pattern: Node, replacement: Node, flags: Node | None = None) -> Literal:
    """``REPLACE`` with XPath's regular expressions; keeps the language tag and the datatype."""
    matcher = compiled(str(string(pattern)), flags_of(flags))
    return _like(string(text), matcher.replaced(str(text), str(string(replacement))))


def _hash(name: str, text: Node) -> Literal:
    return Literal(hashlib.new(name, string(text).encode("utf-8")).hexdigest())


# Functions on numbers and times


def _whole(change: Callable[[Any], int], term: Node) -> Literal:
    """A number changed to a whole number of the same datatype. Infinities and NaN have no part to change."""
    value = number(term)
    if isinstance(value, float) and not math.isfinite(value):
        return term  # type: ignore[return-value]
    whole: Any = change(value)
    if isinstance(value, Decimal):
        whole = Decimal(whole)  # ABS and the sign minus give what their argument is
    return Literal(whole, datatype=term.datatype)  # type: ignore[attr-defined]


def _rounded(value: Any) -> int:
    return math.floor(Fraction(value) + Fraction(1, 2))


def _time(term: Node) -> datetime:
    if not isinstance(term, Literal) or not isinstance(term.value, datetime):
        raise ExpressionError(f"{term!r} is no xsd:dateTime")
    return term.value


def _of_date(name: str, term: Node) -> Literal:
    is_date = isinstance(term, Literal) and term.datatype in (XSD.date, XSD.dateTime)
    if not is_date or not isinstance(term.value, date):  # type: ignore[attr-defined]
        raise ExpressionError(f"{term!r} is no xsd:date or xsd:dateTime")
    return Literal(getattr(term.value, name))  # type: ignore[attr-defined]


def _seconds(term: Node) -> Literal:
    time = _time(term)
    seconds = Decimal(time.second)
    if time.microsecond:
        seconds += Decimal(time.microsecond) / Decimal(1000000)
    return Literal(seconds, datatype=XSD.decimal)


def _timezone(term: Node) -> Literal:
    offset = _time(term).utcoffset()
    if offset is None:
        raise ExpressionError(f"{term!r} has no timezone")
    sign, size = ("-", -offset) if offset < timedelta(0) else ("", offset)
    hours, rest = divmod(size.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    found = f"{size.days}D" if size.days else ""
    parts = [(hours, "H"), (minutes, "M"), (seconds, "S")]
    times = "".join(f"{value}{unit}" for value, unit in parts if value) or ("" if found else "0S")
    text = f"{sign}P{found}{'T' if times else ''}{times}"
    return Literal(text, datatype=XSD.dayTimeDuration)


def _timezone_name(term: Node) -> Literal:
    time = _time(term)
    name = (time.tzinfo.tzname(time) or "") if time.tzinfo else ""
    return Literal("Z" if name == "UTC" else name.removeprefix("UTC"))


# Casts


def cast(datatype: URIRef, *arguments: Node) -> Literal:
    """The constructor function of a datatype (section 17.5)."""
    (term,) = arguments
    if datatype == XSD.string and isinstance(term, URIRef | Literal):
        return Literal(str(term), datatype=datatype)
    if not isinstance(term, Literal) or not (term.datatype is None or term.datatype in COMPARED):
        raise ExpressionError(f"{term!r} is not cast to {datatype}")
    if datatype == XSD.dateTime:
        if term.datatype not in (None, XSD.dateTime, XSD.string):
            raise ExpressionError(f"{term!r} is not cast to {datatype}")
        return Literal(parse_datetime(term), datatype=datatype)
    if term.datatype == XSD.dateTime:
        raise ExpressionError(f"{term!r} is not cast to {datatype}")
    is_value = term.value is not None and (term.datatype in RANKS or term.datatype == XSD.boolean)
    if datatype == XSD.boolean:
        if is_value:
            return boolean(bool(term.value == term.value and term.value))  # NaN is false
        return {"1": TRUE, "true": TRUE, "0": FALSE, "false": FALSE}[term.lower()]
    source: Any = term
    if is_value and (datatype == XSD.integer or term.datatype == XSD.boolean):
        source = term.value
    elif datatype == XSD.decimal and not DECIMAL.fullmatch(term):
        if not is_value:
            raise ExpressionError(f"{term!r} is no decimal")
        source = repr(term.value)
        if not math.isfinite(term.value):
            raise ExpressionError("decimals are finite")
    return Literal(CASTS[datatype](source), datatype=datatype)


DECIMAL = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*", re.ASCII)
"""The lexical forms of xsd:decimal."""

CASTS: dict[URIRef, Callable[[Any], Any]] = {
    XSD.string: str,
    XSD.dateTime: parse_datetime,
    XSD.boolean: bool,
    XSD.float: float,
    XSD.double: float,
    XSD.decimal: Decimal,
    XSD.integer: int,
}
"""The datatypes with a constructor function."""


# Aggregates and order


def total(terms: Iterable[Node]) -> Literal:
    """SUM."""
    value, datatype, _ = _summed(terms)
    return Literal(value, datatype=datatype)


def average(terms: Iterable[Node]) -> Literal:
    """AVG. As in rdflib, terms that are no numbers do not count."""
    value, datatype, count = _summed(term for term in terms if _is_numeric(term) is TRUE)
    if not count:
        return Literal(0)
    is_float = datatype in (XSD.float, XSD.double)
    return Literal(value / count if is_float else Decimal(value) / Decimal(count))


def _summed(terms: Iterable[Node]) -> tuple[Any, URIRef | None, int]:
    """The sum of numbers, its datatype, and how many there are."""
    value: Any = 0
    datatype: Any = None
    count = 0
    for term in terms:
        further, own = number(term), term.datatype  # type: ignore[attr-defined]
        datatype = own if datatype is None else PROMOTED[max(RANKS[datatype], RANKS[own])]
        if own in (XSD.float, XSD.double):
            further = float(further)  # CEIL and its like make whole numbers of a float's datatype
        if isinstance(value, float) or isinstance(further, float):
            value, further = float(value), float(further)
        value += further
        count += 1
    return value, datatype, count


def order_key(term: Node | None) -> tuple[int, Any]:
    """What terms are ordered by: their kind, then the term. Unbound and other values are first."""
    if isinstance(term, BNode):
        return 1, term
    if isinstance(term, URIRef):
        return 2, term
    return (3, _literal_key(term)) if isinstance(term, Literal) else (0, "")


def _literal_key(term: Literal) -> tuple[Any, ...]:
    """Numbers are ordered by their values, NaN last, and stand in the place of xsd:decimal.

    All others are ordered by datatype, language and type of value, then as rdflib compares them. (Across
    these groups rdflib's comparison is no order: 5.0 < "x"^^xsd:double < 1 < 5.0.)
    """
    value = term.value
    if term.datatype in RANKS and value is not None:
        is_nan = value != value
        return NUMBERS_ORDERED_AS, "", "", is_nan, 0 if is_nan else value
    return str(term.datatype or STRING), term.language or "", type(value).__name__, False, term


def order_keys(terms: Sequence[Node | None]) -> list[Any]:
    """Keys that order the terms as ``order_key`` does, and cost less to compare if all are of one sort."""
    for key_of in (_text_key, _number_key, _time_key):
        keys = list(takewhile(lambda key: key is not None, map(key_of, terms)))
        if len(keys) == len(terms):
            return keys
    return [order_key(term) for term in terms]


def _text_key(term: Any) -> Any:
    """The key of an IRI or a string; None for other terms, and for language tags with capitals."""
    if type(term) is URIRef:
        return False, "", str(term)
    if type(term) is not Literal or term.datatype is not None:
        return None
    language = term.language or ""
    return (True, language, str(term)) if language == language.lower() else None


def _number_key(term: Any) -> Any:
    """The key of an exact number. None for NaN, which a decimal may be: NaN * 2 is one, as in rdflib."""
    is_exact = type(term) is Literal and term.datatype in RANKS and type(term.value) in (int, Decimal)
    return term.value if is_exact and term.value == term.value else None


def _time_key(term: Any) -> Any:
    """The key of an xsd:dateTime: those without a timezone are less."""
    if type(term) is not Literal or term.datatype != DATE_TIME or type(term.value) is not datetime:
        return None
    return term.value.utcoffset() is not None, term.value


FUNCTIONS: dict[str, Callable[..., Node]] = {
    **{name: partial(compare, name) for name in ("=", "!=", "<", ">", "<=", ">=")},
    "+": partial(add, 1),
    "-": partial(add, -1),
    "*": multiply,
    "/": divide,
    "PLUS": lambda term: Literal(+number(term)),
    "MINUS": lambda term: Literal(-number(term)),
    "!": lambda term: boolean(not is_true(term)),
    "STR": lambda term: plain_literal(str(term)),
    "LANG": _language,
    "DATATYPE": _datatype,
    "SAMETERM": lambda one, other: boolean(one == other),
    "ISIRI": _iri_kind,
    "ISBLANK": lambda term: boolean(isinstance(term, BNode)),
    "ISLITERAL": lambda term: boolean(isinstance(term, Literal)),
    "ISNUMERIC": _is_numeric,
    "STRLANG": _with_language,
    "STRDT": _with_datatype,
    "STRLEN": lambda text: Literal(len(string(text))),
    "UCASE": lambda text: _like(string(text), text.upper()),
    "LCASE": lambda text: _like(string(text), text.lower()),
    "CONTAINS": partial(_search, str.__contains__),
    "STRSTARTS": partial(_search, str.startswith),
    "STRENDS": partial(_search, str.endswith),
    "STRBEFORE": _before,
    "STRAFTER": _after,
    "SUBSTR": _substring,
    "CONCAT": concatenated,
    "ENCODE_FOR_URI": lambda text: Literal(quote(string(text).encode("utf-8"), safe="")),
    "LANGMATCHES": _language_matches,
    "REGEX": _regex,
    "REPLACE": _replace,
    **{name: partial(_hash, name.lower()) for name in ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")},
    "ABS": lambda term: Literal(abs(number(term))),
    "CEIL": partial(_whole, math.ceil),
    "FLOOR": partial(_whole, math.floor),
    "ROUND": partial(_whole, _rounded),
    **{name.upper(): partial(_of_date, name) for name in ("year", "month", "day")},
    "HOURS": lambda term: Literal(_time(term).hour),
    "MINUTES": lambda term: Literal(_time(term).minute),
    "SECONDS": _seconds,
    "TIMEZONE": _timezone,
    "TZ": _timezone_name,
}
"""The functions whose value depends on their arguments only, all of which are evaluated first."""
