"""The values of literals: the datatypes of OWL 2 RL, after XML Schema 1.1.

A value is a pair: its primitive value space, and a key. Two keys of a space are equal iff the values are
identical. Primitive value spaces are disjoint: "42"^^xsd:integer and "42.0"^^xsd:decimal are one value (both
decimals), "42"^^xsd:double is another. A datatype is a lexical space (a pattern) and a subset of one
primitive value space (a test on keys).

Identity is XML Schema's identity, not its equality: +0 and -0 are two doubles, and one instant in two time
zones is two dateTimes. RDF does not trim white space: " 1" is not a lexical form of xsd:integer.
Invariant: if ``value_of`` returns a value for a literal of datatype d, ``contains(d, value)`` is true.
"""

from __future__ import annotations

import base64
import ctypes
import io
import math
from calendar import monthrange
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple
from xml.etree import ElementTree

from corollary.kernels.limits import check
from corollary.language.model import RDF, RDFS, XSD
from corollary.terms.lazy_pattern import LazyPattern
from corollary.terms.tuning import (
    MAX_CHARACTERS_OF_XML_AT_ONCE,
    MAX_DIGITS_AT_ONCE,
    MAX_NUMBERS_CACHED,
)

PLAIN_LITERAL = RDF + "PlainLiteral"
LANG_STRING = RDF + "langString"
XML_LITERAL = RDF + "XMLLiteral"
LITERAL = RDFS + "Literal"
STRING = XSD + "string"


class Value(NamedTuple):
    """A data value. ``space`` names its primitive value space. Equal tuples are identical values."""

    space: str
    key: Hashable


@dataclass(frozen=True, slots=True)
class Datatype:
    """A datatype: its lexical mapping (None for an ill-typed form), and the test for its value space."""

    read: Callable[[str], Value | None]
    has: Callable[[Value], bool]


# Lexical spaces. Patterns are matched against the whole lexical form. They spell out the digits, because
# \d would match the digits of every script.
_DECIMAL = LazyPattern(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_INTEGER = LazyPattern(r"[+-]?[0-9]+")
_FLOAT = LazyPattern(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?")
_HEX = LazyPattern(r"(?:[0-9a-fA-F]{2})*")
_BASE64_CHARACTERS = LazyPattern(r"(?:[A-Za-z0-9+/] ?)*(?:= ?)?=?")
_LANGUAGE = LazyPattern(r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*")
_DATE_TIME = LazyPattern(
    r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-(0[1-9]|1[0-2])-([0-2][0-9]|3[01])"
    r"T(?:([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9](?:\.[0-9]+)?)|(24:00:00(?:\.0+)?))"
    r"(Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
)

# XML's character classes: text (of XML 1.1, which allows more than XML 1.0), then the characters of names.
_TEXT = LazyPattern("[\x01-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
_START = (
    "A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_REST = _START + "\\-.0-9\xb7\u0300-\u036f\u203f-\u2040"

# xsd:string and derived datatypes: a value is its lexical form, so a pattern defines both spaces.
_STRINGS = {
    XSD + "string": _TEXT,
    XSD + "normalizedString": LazyPattern("[^\t\n\r]*"),
    XSD + "token": LazyPattern("(?:[^\t\n\r ]+(?: [^\t\n\r ]+)*)?"),
    XSD + "language": _LANGUAGE,
    XSD + "Name": LazyPattern(f"[:{_START}][:{_REST}]*"),
    XSD + "NCName": LazyPattern(f"[{_START}][{_REST}]*"),
    XSD + "NMTOKEN": LazyPattern(f"[:{_REST}]+"),
}

# Integer datatypes with their least and greatest values; None is unbounded.
_INTEGERS: dict[str, tuple[int | None, int | None]] = {
    XSD + "integer": (None, None),
    XSD + "nonNegativeInteger": (0, None),
    XSD + "positiveInteger": (1, None),
    XSD + "nonPositiveInteger": (None, 0),
    XSD + "negativeInteger": (None, -1),
    XSD + "long": (-(2**63), 2**63 - 1),
    XSD + "int": (-(2**31), 2**31 - 1),
    XSD + "short": (-(2**15), 2**15 - 1),
    XSD + "byte": (-(2**7), 2**7 - 1),
    XSD + "unsignedLong": (0, 2**64 - 1),
    XSD + "unsignedInt": (0, 2**32 - 1),
    XSD + "unsignedShort": (0, 2**16 - 1),
    XSD + "unsignedByte": (0, 2**8 - 1),
}


def _text(lexical: str) -> Value | None:
    return Value("string", lexical) if _TEXT.fullmatch(lexical) else None


def _tagged(text: str, language: str) -> Value | None:
    """A language-tagged string. Tags are case-insensitive."""
    if _LANGUAGE.fullmatch(language) and _TEXT.fullmatch(text):
        return Value("langString", (text, language.lower()))
    return None


def _plain_literal(lexical: str) -> Value | None:
    """``text@tag``, split at the last @. An empty tag gives a string without a language."""
    text, at, language = lexical.rpartition("@")
    if not at:
        return None
    return _tagged(text, language) if language else _text(text)


def _decimal(lexical: str) -> Value | None:
    # Decimal(text) is exact at any length, and equal Decimals have equal hashes.
    return Value("decimal", Decimal(lexical)) if _DECIMAL.fullmatch(lexical) else None


def _integer(lexical: str) -> Value | None:
    return Value("decimal", Decimal(lexical)) if _INTEGER.fullmatch(lexical) else None


def _is_integer(value: Value, least: int | None, greatest: int | None) -> bool:
    number = value.key
    return (
        isinstance(number, Decimal)
        and number == number.to_integral_value()
        and (least is None or number >= least)
        and (greatest is None or number <= greatest)
    )


def _double(lexical: str) -> Value | None:
    number = _read_double(lexical)
    return None if number is None else Value("double", repr(number))


def _float(lexical: str) -> Value | None:
    number = _read_float(lexical)
    return None if number is None else Value("float", repr(number))


def _read_double(lexical: str) -> float | None:
    """The nearest double. Numbers out of range become infinite, as XML Schema 1.1 defines."""
    if _FLOAT.fullmatch(lexical) or lexical in ("INF", "+INF", "-INF", "NaN"):
        return float(lexical)
    return None


def _read_float(lexical: str) -> float | None:
    """The nearest single-precision number, without double rounding.

    Rounding to a double and then to a float errs if the double is the midpoint of two floats. An inexact
    double is therefore replaced by the neighbour of the exact number whose last bit is odd (round to odd).
    That double is never such a midpoint, and lies on the correct side of the midpoint.
    """
    number = _read_double(lexical)
    if number is None or not math.isfinite(number) or number == 0:
        return number
    exact = Decimal(lexical)
    if Decimal(number) != exact and int(math.ldexp(math.frexp(number)[0], 53)) % 2 == 0:
        number = math.nextafter(number, math.inf if exact > Decimal(number) else -math.inf)
    return ctypes.c_float(number).value


def _boolean(lexical: str) -> Value | None:
    if lexical not in ("true", "false", "1", "0"):
        return None
    return Value("boolean", lexical in ("true", "1"))


def _hex_binary(lexical: str) -> Value | None:
    return Value("hexBinary", bytes.fromhex(lexical)) if _HEX.fullmatch(lexical) else None


def _base64_binary(lexical: str) -> Value | None:
    """Single spaces are allowed between the characters, not at either end."""
    if not _BASE64_CHARACTERS.fullmatch(lexical) or lexical.endswith(" "):
        return None
    text = lexical.replace(" ", "")
    try:
        octets = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    # The unused bits before the padding must be zero: only then does encoding return the same text.
    return Value("base64Binary", octets) if base64.b64encode(octets) == text.encode() else None


def _any_uri(lexical: str) -> Value | None:
    """Any text that does not begin with a colon.

    XML Schema 1.1 allows every text. OWL's test cases require that ":abc", which is no IRI reference, is
    ill-typed. Spaces and other characters that IRIs forbid are accepted, because real data contains them.
    """
    if lexical.startswith(":"):
        return None
    return Value("anyURI", lexical) if _TEXT.fullmatch(lexical) else None


def _date_time(lexical: str) -> Value | None:
    """The key is (days, seconds of the day, time zone in minutes), in local time; None is no time zone."""
    match = _DATE_TIME.fullmatch(lexical)
    if match is None:
        return None
    year, month, day = _year(match[1]), int(match[2]), int(match[3])
    # The calendar repeats every 400 years; Python's calendar has the years 1 to 9999 only.
    cycles, cycle_year = divmod(year, 400)
    if not 1 <= day <= monthrange(cycle_year + 400, month)[1]:
        return None
    days = cycles * 146_097 + _days_before(cycle_year, month) + day
    if match[7]:
        days, seconds = days + 1, Decimal(0)
    else:
        seconds = int(match[4]) * 3600 + int(match[5]) * 60 + Decimal(match[6])
    return Value("dateTime", (days, seconds, _zone_minutes(match[8])))


def _year(text: str) -> int:
    """The number, by halves: ``int`` refuses more than 4,300 digits, and its time grows with their square."""
    if len(text) <= MAX_DIGITS_AT_ONCE:
        return int(text)
    middle = len(text) // 2
    high, low = _year(text[:middle]), _year(text[middle:])
    scaled: int = high * 10 ** (len(text) - middle)
    return scaled - low if text[0] == "-" else scaled + low


def _days_before(cycle_year: int, month: int) -> int:
    """Days from the start of a 400-year cycle, whose first year is a leap year, to the start of the month."""
    leap_days = (cycle_year + 3) // 4 - (cycle_year + 99) // 100 + (cycle_year + 399) // 400
    return cycle_year * 365 + leap_days + sum(monthrange(cycle_year + 400, m)[1] for m in range(1, month))


def _zone_minutes(zone: str | None) -> int | None:
    if zone is None or zone == "Z":
        return None if zone is None else 0
    minutes = int(zone[1:3]) * 60 + int(zone[4:6])
    return -minutes if zone[0] == "-" else minutes


def _has_zone(value: Value) -> bool:
    return isinstance(value.key, tuple) and value.space == "dateTime" and value.key[2] is not None


class _CheckedText(io.StringIO):
    """A text that is read in small parts, with a check of the limits before each: deep XML takes long."""

    def read(self, size: int | None = -1) -> str:
        check()
        return super().read(MAX_CHARACTERS_OF_XML_AT_ONCE)


def _xml_literal(lexical: str) -> Value | None:
    """Well-formed XML content. The key is its canonical form."""
    try:
        # Within an element no document type is allowed, hence no entity expansion.
        content = _CheckedText(f"<x>{lexical}</x>")
        return Value("XMLLiteral", ElementTree.canonicalize(from_file=content, with_comments=True))
    except (ElementTree.ParseError, ValueError):
        return None


def _none_written(_: str) -> Value | None:
    """The lexical mapping of rdfs:Literal and rdf:langString: no form without a language tag has a value."""
    return None


def _within(read: Callable[[str], Value | None], has: Callable[[Value], bool]) -> Datatype:
    """A derived datatype: the lexical mapping ``read`` of its base, restricted to the values in ``has``."""

    def read_own(lexical: str) -> Value | None:
        value = read(lexical)
        return value if value is not None and has(value) else None

    return Datatype(read_own, has)


def _primitive(space: str, read: Callable[[str], Value | None]) -> Datatype:
    return Datatype(read, lambda value: value.space == space)


def _derived_string(pattern: LazyPattern) -> Datatype:
    return _within(_text, lambda value: value.space == "string" and bool(pattern.fullmatch(str(value.key))))


def _derived_integer(least: int | None, greatest: int | None) -> Datatype:
    return _within(_integer, lambda value: value.space == "decimal" and _is_integer(value, least, greatest))


_DATATYPES: dict[str, Datatype] = {
    LITERAL: Datatype(_none_written, lambda value: True),
    PLAIN_LITERAL: Datatype(_plain_literal, lambda value: value.space in ("string", "langString")),
    LANG_STRING: _primitive("langString", _none_written),
    XML_LITERAL: _primitive("XMLLiteral", _xml_literal),
    XSD + "decimal": _primitive("decimal", _decimal),
    XSD + "double": _primitive("double", _double),
    XSD + "float": _primitive("float", _float),
    XSD + "boolean": _primitive("boolean", _boolean),
    XSD + "hexBinary": _primitive("hexBinary", _hex_binary),
    XSD + "base64Binary": _primitive("base64Binary", _base64_binary),
    XSD + "anyURI": _primitive("anyURI", _any_uri),
    XSD + "dateTime": _primitive("dateTime", _date_time),
    XSD + "dateTimeStamp": _within(_date_time, _has_zone),
    **{name: _derived_string(pattern) for name, pattern in _STRINGS.items()},
    **{name: _derived_integer(*bounds) for name, bounds in _INTEGERS.items()},
}

STRING_DATATYPES: frozenset[str] = frozenset(_STRINGS)
"""The datatypes whose values are strings without a language tag: xsd:string and its derived datatypes."""

PLAIN_DATATYPES = frozenset((STRING, PLAIN_LITERAL, LITERAL))
"""The datatypes of every plain literal."""

SUPPORTED_DATATYPES: frozenset[str] = frozenset(_DATATYPES)
"""The datatypes of OWL 2 RL, and rdf:langString, the datatype of language-tagged literals."""


def datatype_of(datatype: str | None, language: str | None) -> str:
    """The datatype IRI of a literal. In RDF 1.1 plain and language-tagged literals have one too."""
    return datatype or (STRING if language is None else LANG_STRING)


def value_of(lexical: str, datatype: str | None = None, language: str | None = None) -> Value | None:
    """The value that a literal denotes, or None if it is ill-typed.

    Two literals of supported datatypes denote the same value iff the returned values compare equal.
    Raises KeyError if the datatype is not supported.
    """
    name = datatype_of(datatype, language)
    if name == LANG_STRING:
        return None if language is None else _tagged(lexical, language)
    return _DATATYPES[name].read(lexical)


def contains(datatype: str, value: Value) -> bool:
    """Whether a value is in the value space of a datatype. Raises KeyError for an unsupported one."""
    return _DATATYPES[datatype].has(value)


def is_language(tag: str) -> bool:
    """Whether literals with a language tag have values."""
    return _LANGUAGE.fullmatch(tag) is not None


def is_within(datatype: str, other: str) -> bool | None:
    """Whether the values of a datatype are values of another: all (True), none (False), or not known.

    Precondition: both are supported, and the first is neither rdf:PlainLiteral nor rdfs:Literal.
    """
    if other in (datatype, LITERAL):
        return True
    space = _space(datatype)
    if other == PLAIN_LITERAL:
        return space in ("string", "langString")
    if space != _space(other):
        return False
    if space == "decimal":
        return _are_within(_INTEGERS.get(datatype), _INTEGERS.get(other))
    return True if other == STRING or datatype == XSD + "dateTimeStamp" else None


def _space(datatype: str) -> str:
    """The primitive value space of a datatype."""
    if datatype in _STRINGS:
        return "string"
    if datatype in _INTEGERS:
        return "decimal"
    return "dateTime" if datatype == XSD + "dateTimeStamp" else datatype.rpartition("#")[2]


Bounds = tuple[int | None, int | None]
"""The least and the greatest value; None is unbounded."""


def _are_within(bounds: Bounds | None, others: Bounds | None) -> bool | None:
    """Whether integers with bounds are within others; None are the bounds of all decimals."""
    if others is None:
        return True
    if bounds is None:
        return None
    (least, greatest), (other_least, other_greatest) = bounds, others
    if (least is not None and other_greatest is not None and least > other_greatest) or (
        greatest is not None and other_least is not None and greatest < other_least
    ):
        return False
    is_high = other_least is None or (least is not None and least >= other_least)
    is_low = other_greatest is None or (greatest is not None and greatest <= other_greatest)
    return True if is_high and is_low else None


def datatype_clash(lexical: str, datatype: str | None, language: str | None, other: str) -> bool:
    """Whether a literal denotes a value outside the value space of the datatype ``other``.

    False if either datatype is not supported, and for ill-typed literals, which denote no value and are
    reported separately.
    """
    if other not in _DATATYPES or datatype_of(datatype, language) not in _DATATYPES:
        return False
    value = value_of(lexical, datatype, language)
    return value is not None and not contains(other, value)


@lru_cache(MAX_NUMBERS_CACHED)
def numeric_value(lexical: str, datatype: str | None) -> int | Decimal | float | None:
    """The number that a literal denotes; None for ill-typed literals and other datatypes.

    Returns an int for integer datatypes, a Decimal for xsd:decimal, a float for xsd:float and xsd:double.
    The most recent ``MAX_NUMBERS_CACHED`` results are cached.
    """
    if datatype == XSD + "double":
        return _read_double(lexical)
    if datatype == XSD + "float":
        return _read_float(lexical)
    if datatype is None or (datatype != XSD + "decimal" and datatype not in _INTEGERS):
        return None
    value = value_of(lexical, datatype)
    if value is None:
        return None
    assert isinstance(value.key, Decimal)
    return value.key if datatype == XSD + "decimal" else int(value.key)
