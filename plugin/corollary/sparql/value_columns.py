"""Numbers and times of literals as columns, decoded once for each literal of a dictionary.

Only well-written literals of xsd:integer, decimal, float, double, date and dateTime are decoded: integers of
at most 18 digits, decimals of at most 9 before and after the point, finite floats, times without fractions of
seconds. For all others the evaluation on terms decides (``Code.OTHER``). Strings, with or without a language
tag, have no value here (``Code.STRING``).

    "12.50"^^xsd:decimal: DECIMAL, value 1250, extra 2 (digits after the point)
    "2024-06-01T10:00:00+02:00"^^xsd:dateTime: ZONED, value in seconds of local time, extra 120 (minutes)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.columns.pairs import distinct
from corollary.kernels.arrow import compute
from corollary.kernels.byte_texts import Places
from corollary.kernels.sorted import Column, Mask
from corollary.language import XSD
from corollary.sparql.term_texts import QUOTE, content_of, mask_of, strings
from corollary.terms.dictionary import INDEX_MASK, Kind, TermDictionary
from corollary.terms.texts import TextTable

Codes = NDArray[np.uint8]
Whole = NDArray[np.int64]
Small = NDArray[np.int16]


class Code(IntEnum):
    """What is known of a literal. The codes of numbers are in the order of promotion.

    DATE is xsd:date without a timezone, TIME xsd:dateTime without one, ZONED xsd:dateTime with one.
    """

    UNSEEN = 0
    OTHER = 1
    STRING = 2
    INTEGER = 3
    DECIMAL = 4
    FLOAT = 5
    DOUBLE = 6
    DATE = 7
    TIME = 8
    ZONED = 9


@dataclass(frozen=True)
class Decoded:
    """Literals as columns: codes; integers, digits of decimals, bits of doubles or seconds; ``extra``."""

    codes: Codes
    values: Whole
    extra: Small

    @staticmethod
    def none(size: int) -> Decoded:
        """Rows of which no literal is decoded."""
        return Decoded(np.zeros(size, np.uint8), np.zeros(size, np.int64), np.zeros(size, np.int16))

    def at(self, rows: Any) -> Decoded:
        """Some of the rows."""
        return Decoded(self.codes[rows], self.values[rows], self.extra[rows])

    def put(self, rows: Any, code: Any, values: Any, extra: Any = 0) -> None:
        """Write the rows; the code comes last, because readers in other threads ask for it first."""
        self.values[rows] = values
        self.extra[rows] = extra
        self.codes[rows] = code


class ValueColumns:
    """The values of a dictionary's literals. Thread-safe: what two threads decode is equal."""

    def __init__(self, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary
        self._known = Decoded.none(0)

    def of(self, ids: Column) -> Decoded:
        """The values of literals. Precondition: the dictionary has assigned the ids, all of literals."""
        numbers = (ids & np.uint32(INDEX_MASK)).astype(np.int64)
        known = self._known
        count = self._dictionary.count(Kind.LITERAL)
        if known.codes.size < count:
            larger = Decoded.none(2 * count)
            size = known.codes.size
            larger.put(np.s_[:size], known.codes, known.values, known.extra)
            self._known = known = larger
        missing = numbers[known.codes[numbers] == Code.UNSEEN]
        if missing.size:
            missing = distinct(missing)
            found = decoded_literals(missing, self._dictionary.tables()[Kind.LITERAL])
            known.put(missing, found.codes, found.values, found.extra)
        return known.at(numbers)


def decoded_literals(numbers: Places, table: TextTable) -> Decoded:
    """The values of the literals with these numbers in a table."""
    found = Decoded.none(numbers.size)
    found.codes[:] = Code.STRING
    tagged = np.flatnonzero(~table.end_with(numbers, QUOTE))
    if not tagged.size:
        return found
    import pyarrow

    lexical, ends = table.in_parts(numbers[tagged], QUOTE)
    suffixes, forms = strings(*ends), strings(*lexical)
    is_typed = compute.invert(compute.starts_with(suffixes, pattern="@"))
    suffixes, forms = compute.filter(suffixes, is_typed), compute.filter(forms, is_typed)
    typed = tagged[mask_of(is_typed)]
    found.codes[typed] = Code.OTHER
    for datatype, decode in _DECODERS.items():
        chosen = compute.equal(suffixes, f"^^<{XSD}{datatype}>")
        rows = typed[mask_of(chosen)]
        if rows.size:
            lexical = compute.filter(forms, chosen)
            try:
                lexical.validate(full=True)
            except pyarrow.ArrowInvalid:  # half of a character: no number
                continue
            decode(rows, lexical, found)
    return found


def _matching(rows: Places, lexical: Any, form: str) -> tuple[Places, Any]:
    """The rows whose lexical forms match a regular expression as a whole, and these forms."""
    import pyarrow

    matches: Mask = mask_of(compute.match_substring_regex(lexical, rf"\A(?:{form})\z"))
    return rows[matches], compute.filter(lexical, pyarrow.array(matches))


def _whole_numbers(lexical: Any) -> Whole:
    import pyarrow

    values: Whole = compute.cast(compute.utf8_ltrim(lexical, "+"), pyarrow.int64()).to_numpy()
    return values


def _integers(rows: Places, lexical: Any, found: Decoded) -> None:
    rows, lexical = _matching(rows, lexical, "[+-]?[0-9]{1,18}")
    found.put(rows, Code.INTEGER, _whole_numbers(lexical))


def _decimals(rows: Places, lexical: Any, found: Decoded) -> None:
    """A negative zero is not decoded: it would lose its sign."""
    rows, lexical = _matching(rows, lexical, r"[+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?")
    point = compute.find_substring(lexical, ".").to_numpy()
    scale = np.where(point < 0, 0, compute.binary_length(lexical).to_numpy() - point - 1)
    values = _whole_numbers(compute.replace_substring(lexical, ".", ""))
    is_kept = (values != 0) | ~mask_of(compute.starts_with(lexical, pattern="-"))
    found.put(rows[is_kept], Code.DECIMAL, values[is_kept], scale[is_kept])


def _floats(code: Code) -> Callable[[Places, Any, Decoded], None]:
    def decode(rows: Places, lexical: Any, found: Decoded) -> None:
        import pyarrow

        rows, lexical = _matching(rows, lexical, r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,4})?")
        values = compute.cast(compute.utf8_ltrim(lexical, "+"), pyarrow.float64()).to_numpy()
        is_finite = np.isfinite(values)
        found.put(rows[is_finite], code, values[is_finite].view(np.int64))

    return decode


DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME = f"{DAY}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}"


def _dates(rows: Places, lexical: Any, found: Decoded) -> None:
    rows, lexical = _matching(rows, lexical, DAY)
    seconds, is_valid = _seconds(_digits(lexical, 10), has_time=False)
    found.put(rows[is_valid], Code.DATE, seconds[is_valid])


def _times(rows: Places, lexical: Any, found: Decoded) -> None:
    some, texts = _matching(rows, lexical, TIME)
    seconds, is_valid = _seconds(_digits(texts, 19), has_time=True)
    found.put(some[is_valid], Code.TIME, seconds[is_valid])
    some, texts = _matching(rows, lexical, f"{TIME}Z")
    seconds, is_valid = _seconds(_digits(texts, 20), has_time=True)
    found.put(some[is_valid], Code.ZONED, seconds[is_valid])
    some, texts = _matching(rows, lexical, f"{TIME}[+-](?:0[0-9]|1[0-3]):[0-5][0-9]")
    digits = _digits(texts, 25)
    seconds, is_valid = _seconds(digits, has_time=True)
    minutes = 60 * _number(digits, 20, 2) + _number(digits, 23, 2)
    is_valid &= minutes != 0
    is_minus = digits[:, 19] == np.uint8(ord("-") - ord("0") & 0xFF)
    found.put(some[is_valid], Code.ZONED, seconds[is_valid], np.where(is_minus, -minutes, minutes)[is_valid])


def _digits(lexical: Any, length: int) -> NDArray[np.uint8]:
    """Texts of equal lengths as a table of characters, less the character 0."""
    offsets, content = content_of(lexical)
    return (content[offsets[0] : offsets[-1]] - np.uint8(ord("0"))).reshape(-1, length)


def _number(digits: NDArray[np.uint8], start: int, count: int) -> Whole:
    values = np.zeros(digits.shape[0], np.int64)
    for place in range(start, start + count):
        values = 10 * values + digits[:, place]
    return values


def _seconds(digits: NDArray[np.uint8], *, has_time: bool) -> tuple[Whole, Mask]:
    """The seconds since 1970 of days or times, as they are written, and which are valid."""
    year, month, day = _number(digits, 0, 4), _number(digits, 5, 2), _number(digits, 8, 2)
    is_valid = (year > 0) & (month > 0) & (month < 13) & (day > 0)
    first = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("datetime64[M]")
    days = first.astype("datetime64[D]").astype(np.int64)
    is_valid &= day <= (first + 1).astype("datetime64[D]").astype(np.int64) - days
    seconds = (days + day - 1) * 86400
    if has_time:
        hour, minute, second = (_number(digits, start, 2) for start in (11, 14, 17))
        is_valid &= (hour < 24) & (minute < 60) & (second < 60)
        seconds += 3600 * hour + 60 * minute + second
    return seconds, is_valid


_DECODERS: dict[str, Callable[[Places, Any, Decoded], None]] = {
    "integer": _integers,
    "decimal": _decimals,
    "float": _floats(Code.FLOAT),
    "double": _floats(Code.DOUBLE),
    "date": _dates,
    "dateTime": _times,
}
