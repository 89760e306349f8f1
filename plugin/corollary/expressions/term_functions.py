"""SPARQL's functions on terms (SPARQL 1.1, section 17.4): strings, numbers, terms, dates.

All functions here are strict: every argument is a value, never an error. The functions that evaluate only
some of their arguments (``if``, ``coalesce``, ``bound``, ``&&``) are in ``corollary.execute.filters``. An
argument of a wrong kind raises ``ExpressionError``. Strings are counted in code points. A string computed
from a language-tagged string has the same language tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from functools import partial

from corollary.expressions.operators import (
    EXACT,
    ExpressionError,
    Number,
    Rank,
    absolute,
    arithmetic,
    boolean,
    ceil,
    equal,
    find_number,
    floor,
    known_value,
    less,
    literal_of,
    moment,
    negated,
    number,
    round_half_up,
    rounded,
    truth,
)
from corollary.expressions.regular_expressions import matches, replaced
from corollary.kernels.limits import reserve_text
from corollary.language import IRI, RDF, XSD, BlankNode, Constant, Literal
from corollary.terms.values import datatype_clash, datatype_of

Function = Callable[..., Constant]

# Kinds of arguments: ExpressionError for any other kind


def literal(constant: Constant) -> Literal:
    if isinstance(constant, Literal):
        return constant
    raise ExpressionError(f"{constant} is no literal")


def text(constant: Constant) -> Literal:
    """A string, with or without a language tag."""
    found = literal(constant)
    if found.datatype in (None, XSD + "string"):
        return found
    raise ExpressionError(f"{constant} is no string")


def simple(constant: Constant) -> str:
    """The characters of a string without a language tag."""
    found = text(constant)
    if found.language is None:
        return found.lexical
    raise ExpressionError(f"{constant} has a language tag")


def whole(constant: Constant) -> int:
    rank, value = number(constant)
    if rank == Rank.INTEGER:
        return int(value)
    raise ExpressionError(f"{constant} is no integer")


def two_texts(first: Constant, second: Constant) -> tuple[Literal, str]:
    """Two compatible strings: the second has no language tag, or the same tag as the first."""
    one, other = text(first), text(second)
    if other.language not in (None, one.language):
        raise ExpressionError(f"{first} and {second} are in two languages")
    return one, other.lexical


def integer(value: int) -> Literal:
    return literal_of(Number(Rank.INTEGER, value))


# Strings


def concat(*arguments: Constant) -> Literal:
    """The concatenation of the strings. It has a language tag if all strings have that tag."""
    texts = [text(argument) for argument in arguments]
    reserve_text(sum(len(item.lexical) for item in texts))
    languages = {item.language for item in texts}
    language = languages.pop() if len(languages) == 1 else None
    return Literal("".join(item.lexical for item in texts), language=language)


def changed(change: Callable[[str], str], argument: Constant) -> Literal:
    """Apply ``change`` to the characters of a string; the language tag is kept."""
    found = text(argument)
    return Literal(change(found.lexical), language=found.language)


def substr(source: Constant, start: Constant, length: Constant | None = None) -> Literal:
    """Positions start at 1, and may lie outside of the string."""
    first = whole(start) - 1
    end = None if length is None else max(first + whole(length), 0)
    return changed(lambda characters: characters[max(first, 0) : end], source)


def strbefore(first: Constant, second: Constant) -> Literal:
    one, part = two_texts(first, second)
    before, found, _ = one.lexical.partition(part) if part else ("", True, "")
    return Literal(before, language=one.language) if found else Literal("")


def strafter(first: Constant, second: Constant) -> Literal:
    one, part = two_texts(first, second)
    _, found, after = one.lexical.partition(part) if part else ("", True, one.lexical)
    return Literal(after, language=one.language) if found else Literal("")


def compared(test: Callable[[str, str], bool], first: Constant, second: Constant) -> Literal:
    one, part = two_texts(first, second)
    return boolean(test(one.lexical, part))


# Regular expressions

NO_FLAGS = Literal("")


def regex(source: Constant, pattern: Constant, flags: Constant = NO_FLAGS) -> Literal:
    return boolean(bool(matches([text(source).lexical], simple(pattern), simple(flags))[0]))


def replace(
    source: Constant, pattern: Constant, replacement: Constant, flags: Constant = NO_FLAGS
) -> Literal:
    """Replace every match. In the replacement, ``$1`` is the first group, ``\\$`` a dollar sign."""
    arguments = simple(pattern), simple(replacement), simple(flags)
    return changed(lambda characters: replaced(characters, *arguments), source)


# Terms


def str_(argument: Constant) -> Literal:
    if isinstance(argument, BlankNode):
        raise ExpressionError("a blank node has no text")
    return Literal(argument.value if isinstance(argument, IRI) else argument.lexical)


_ABSOLUTE_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*')


def iri(argument: Constant) -> IRI:
    """An IRI, or the IRI of a string. The string must be absolute, because rules have no base IRI."""
    if isinstance(argument, IRI):
        return argument
    value = simple(argument)
    if _ABSOLUTE_IRI.fullmatch(value):
        return IRI(value)
    raise ExpressionError(f"{value!r} is no absolute IRI")


def datatype(argument: Constant) -> IRI:
    found = literal(argument)
    return IRI(datatype_of(found.datatype, found.language))


def strdt(argument: Constant, name: Constant) -> Literal:
    if not isinstance(name, IRI) or name.value == RDF + "langString":
        raise ExpressionError(f"{name} is no datatype for a string")
    return Literal(simple(argument), None if name.value == XSD + "string" else name.value)


_LANGUAGE_TAG = re.compile("[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*")


def strlang(argument: Constant, tag: Constant) -> Literal:
    if not _LANGUAGE_TAG.fullmatch(simple(tag)):
        raise ExpressionError(f"{tag} is no language tag")
    return Literal(simple(argument), language=simple(tag).lower())


def langmatches(tag: Constant, wanted: Constant) -> Literal:
    """Basic filtering of RFC 4647: the tag equals the range or begins with its subtags; ``*`` is any tag."""
    language, range_ = simple(tag).lower(), simple(wanted).lower()
    return boolean(language != "" and (range_ == "*" or f"{language}-".startswith(f"{range_}-")))


def clash(argument: Constant, name: Constant) -> Literal:
    """Whether a literal denotes a value outside the value space of a datatype. False for other terms."""
    if not isinstance(argument, Literal) or not isinstance(name, IRI):
        return boolean(False)
    return boolean(datatype_clash(argument.lexical, argument.datatype, argument.language, name.value))


# Dates and times


def calendar_date(argument: Constant) -> tuple[int, int, int]:
    """Year, month and day of a date or dateTime."""
    value = known_value(argument)
    if value.space not in ("dateTime", "date"):
        raise ExpressionError(f"{argument} is no date")
    # The calendar repeats every 400 years; Python's calendar has the years 1 to 9999 only.
    cycles, days = divmod(moment(value)[0] - 1, 146_097)
    found = date(2000, 1, 1) + timedelta(days)
    return found.year - 2000 + cycles * 400, found.month, found.day


def second_of_day(argument: Constant) -> Decimal:
    value = known_value(argument)
    if value.space != "dateTime":
        raise ExpressionError(f"{argument} is no dateTime")
    return moment(value)[1]


def seconds(argument: Constant) -> Literal:
    of_day = second_of_day(argument)
    minutes = int(of_day) // 60
    return literal_of(Number(Rank.DECIMAL, EXACT.subtract(of_day, Decimal(minutes * 60))))


STRICT: dict[str, Function] = {
    "=": lambda a, b: boolean(equal(a, b)),
    "<": lambda a, b: boolean(less(a, b)),
    ">": lambda a, b: boolean(less(b, a)),
    "<=": lambda a, b: boolean(less(a, b) or equal(a, b)),
    ">=": lambda a, b: boolean(less(b, a) or equal(a, b)),
    "!": lambda a: boolean(not truth(a)),
    "+": lambda a, b=None: rounded(lambda value: value, a) if b is None else arithmetic("+", a, b),
    "-": lambda a, b=None: negated(a) if b is None else arithmetic("-", a, b),
    "*": partial(arithmetic, "*"),
    "/": partial(arithmetic, "/"),
    "abs": partial(rounded, absolute),
    "ceil": partial(rounded, ceil),
    "floor": partial(rounded, floor),
    "round": partial(rounded, round_half_up),
    "str": str_,
    "strlen": lambda a: integer(len(text(a).lexical)),
    "lcase": partial(changed, str.lower),
    "ucase": partial(changed, str.upper),
    "concat": concat,
    "contains": partial(compared, str.__contains__),
    "strstarts": partial(compared, str.startswith),
    "strends": partial(compared, str.endswith),
    "strbefore": strbefore,
    "strafter": strafter,
    "substr": substr,
    "replace": replace,
    "regex": regex,
    "iri": iri,
    "lang": lambda a: Literal(literal(a).language or ""),
    "langmatches": langmatches,
    "datatype": datatype,
    "strdt": strdt,
    "strlang": strlang,
    "isiri": lambda a: boolean(isinstance(a, IRI)),
    "isblank": lambda a: boolean(isinstance(a, BlankNode)),
    "isliteral": lambda a: boolean(isinstance(a, Literal)),
    "isnumeric": lambda a: boolean(find_number(a) is not None),
    "sameterm": lambda a, b: boolean(a == b),
    "datatype_clash": clash,
    "year": lambda a: integer(calendar_date(a)[0]),
    "month": lambda a: integer(calendar_date(a)[1]),
    "day": lambda a: integer(calendar_date(a)[2]),
    "hours": lambda a: integer(int(second_of_day(a)) // 3600),
    "minutes": lambda a: integer(int(second_of_day(a)) // 60 % 60),
    "seconds": seconds,
}
"""The strict operators and functions, by name."""
