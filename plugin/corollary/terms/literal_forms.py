"""The forms of literals: the marker of each (its datatype or language), and whether it is *regular*.

The marker is what follows the closing quote in N-Triples: nothing, ``@en`` or ``^^<datatype>``. Two regular
literals with the same marker never denote one value, and a regular literal is never ill-typed. They are

- plain literals, and literals with a language: both denote themselves;
- literals of numeric datatypes, and of xsd:dateTime, in the canonical form (``canonical``), as far as this is
  recognised; integers have at most 18 digits.

So the values of most literals need not be computed to find those that are written in two ways. Each literal
of a dictionary is looked at once: texts of tables many at a time, by NumPy.

    "7"^^xsd:int is regular, "07"^^xsd:int and "7.0"^^xsd:decimal are not
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.byte_texts import Bytes, Places
from corollary.kernels.sorted import Mask, Rows
from corollary.language.model import XSD
from corollary.terms.lazy_pattern import LazyPattern
from corollary.terms.tuning import MAX_MARKERS_ON_COLUMNS, MIN_TEXTS_ON_COLUMNS
from corollary.terms.values import (
    LANG_STRING,
    LITERAL,
    PLAIN_DATATYPES,
    PLAIN_LITERAL,
    STRING,
    SUPPORTED_DATATYPES,
    Value,
    is_language,
    is_within,
)

Codes = NDArray[np.uint16]
"""Twice the number of the marker, plus 1 for literals that surely have a value: *sound* ones.

Of literals with a datatype these are the regular ones; of the others most, by their characters.
"""

MOST_MARKERS = (1 << 15) - 1
"""Markers that have numbers. Literals with further ones get the last number, and are not regular."""

PLAIN = ""
"""The marker of plain literals, whose number is 0."""

UNNUMBERED = "^^"
"""The marker of literals that have another one, without a number."""

_QUOTE, _MINUS, _POINT, _ZERO, _BACKSLASH = b'"-.0\\'

_USUAL = LazyPattern(r"[^\x00\\\ud000-\U0010ffff]*")
"""Texts without escapes, and without the characters from U+D000 on: XML forbids some of these."""


class LiteralForms:
    """The markers of the literals with the numbers 0 to ``size`` - 1, in the order of their arrival."""

    def __init__(self) -> None:
        self.size = 0
        self.markers = [PLAIN]
        self._numbers = {PLAIN: 0}
        self._codes: Codes = np.empty(0, np.uint16)

    def codes(self, numbers: Rows) -> Codes:
        """The codes of the literals with these numbers. Precondition: the numbers are less than ``size``."""
        return self._codes[numbers]

    def all_codes(self) -> Codes:
        """The codes of all literals, by number: a view, which is valid until more are added."""
        return self._codes[: self.size]

    def extend(self, texts: Sequence[str]) -> None:
        """Add literals, given as N-Triples texts. Cost: see ``extend_by_columns``."""
        if len(texts) < MIN_TEXTS_ON_COLUMNS:
            self._append(np.array([self._code(text) for text in texts], np.uint16))
            return
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        content: Bytes = np.frombuffer(b"".join(encoded), np.uint8)
        self.extend_by_columns(content, np.fromiter(map(len, encoded), np.int64, len(encoded)))

    def extend_by_columns(self, content: Bytes, lengths: Places) -> None:
        """Add literals, given as their UTF-8 bytes end to end, and the length of each in bytes.

        Cost: 0.1 to 2 µs a literal.
        """
        ends = np.cumsum(lengths)
        starts = ends - lengths
        if lengths.size < MIN_TEXTS_ON_COLUMNS:
            self.extend(_texts(content, starts, ends))
            return
        codes: Codes = np.ones(lengths.size, np.uint16)  # plain literals
        unusual = np.flatnonzero((content == 0) | (content == _BACKSLASH) | (content >= 0xED))
        codes[ends.searchsorted(unusual, side="right")] = 0
        left = np.flatnonzero(content[ends - 1] != _QUOTE)
        for _ in range(MAX_MARKERS_ON_COLUMNS):
            if not left.size:
                break
            (text,) = _texts(content, starts[left[:1]], ends[left[:1]])
            marker = text[text.rindex('"') + 1 :]
            quoted = f'"{marker}'.encode("utf-8", "surrogatepass")
            have = _ending_in(content, ends[left], quoted)
            have[0] = True  # the one that was looked at
            rows, left = left[have], left[~have]
            number, form = self._number(marker), _FORMS.get(marker)
            if form is not None:
                first = starts[rows] + 1
                codes[rows] = form.on_columns(content, first, ends[rows] - len(quoted) - first)
            elif not is_language(marker[1:]):
                codes[rows] = 0
            codes[rows] = number << 1 | (codes[rows] if number < MOST_MARKERS else 0)
        codes[left] = [self._code(text) for text in _texts(content, starts[left], ends[left])]
        self._append(codes)

    def _append(self, codes: Codes) -> None:
        size = self.size + codes.size
        if size > self._codes.size:
            larger: Codes = np.zeros(max(size, 2 * self._codes.size), np.uint16)
            larger[: self.size] = self._codes[: self.size]
            self._codes = larger
        self._codes[self.size : size] = codes
        self.size = size

    def _code(self, text: str) -> int:
        end = text.rindex('"')
        lexical, marker = text[1:end], text[end + 1 :]
        number, form = self._number(marker), _FORMS.get(marker)
        if number == MOST_MARKERS:
            is_sound = False
        elif form is not None:
            is_sound = form.has(lexical)
        else:
            is_sound = marker == PLAIN or is_language(marker[1:])
            is_sound = is_sound and _USUAL.fullmatch(lexical) is not None
        return number << 1 | is_sound

    def _number(self, marker: str) -> int:
        number = self._numbers.get(marker)
        if number is None:
            number = self._numbers[marker] = min(len(self.markers), MOST_MARKERS)
            if number == len(self.markers):
                self.markers.append(marker if number < MOST_MARKERS else UNNUMBERED)
        return number


def _texts(content: Bytes, starts: Places, ends: Places) -> list[str]:
    whole = content.tobytes()
    places = zip(starts.tolist(), ends.tolist(), strict=True)
    return [whole[start:end].decode("utf-8", "surrogatepass") for start, end in places]


def _ending_in(content: Bytes, ends: Places, suffix: bytes) -> Mask:
    """A mask of the texts that end in a suffix. Compares eight bytes at a time.

    False for texts that end less than ``len(suffix)``, rounded up to 8, bytes after the start of ``content``.
    """
    room = -len(suffix) % 8 + len(suffix)
    kept: Mask = ends >= room
    words: NDArray[np.uint64] = np.ndarray((max(content.size - 7, 0),), "<u8", content, strides=(1,))
    for end in range(len(suffix), 0, -8):
        part = suffix[max(end - 8, 0) : end]
        shift = 8 * (8 - len(part))
        rows = np.flatnonzero(kept)
        found = words[ends[rows] - (len(suffix) - end) - 8] >> np.uint64(shift)
        kept[rows] = found == np.uint64(int.from_bytes(part, "little"))
    return kept


@dataclass(frozen=True)
class _Form:
    """The test for canonical forms of a datatype: of one, and of many in columns of bytes."""

    has: Callable[[str], bool]
    on_columns: Callable[[Bytes, Places, Places], Mask]


class _Numbers:
    """Decimal numbers in columns of bytes: what is needed to see whether they are canonical.

    ``is_number``: a sign or none, then ``whole`` digits, of which the first is 0 only if there is no other;
    then, if ``has_point``, a point and ``fraction`` digits.
    """

    def __init__(self, content: Bytes, starts: Places, lengths: Places, most: int) -> None:
        self.is_number: Mask = (lengths > 0) & (lengths <= most)
        safe = np.where(self.is_number, starts, 0)
        sizes = np.where(self.is_number, lengths, 1)
        end = safe + sizes - 1
        self.last = content[end]
        self.is_number &= self.last - _ZERO <= 9  # so a last byte that is looked at again is a digit
        self.is_negative: Mask = content[safe] == _MINUS
        others = -self.is_negative.astype(np.int64)  # bytes that are no digits, without the sign
        point = np.full(starts.size, -1, np.int64)
        for place in range(int(sizes.max(initial=0))):
            byte = content[np.minimum(safe + place, end)]
            others += byte - _ZERO > 9
            is_point = byte == _POINT
            point[is_point] = place
        self.is_number &= others == (point >= 0)
        self.has_point: Mask = point >= 0
        self.whole = np.where(self.has_point, point, sizes) - self.is_negative
        self.fraction = np.where(self.has_point, sizes - point - 1, 0)
        first = content[safe + np.minimum(self.is_negative, sizes - 1)]
        self.is_zero: Mask = (self.whole == 1) & (first == _ZERO)  # the whole part
        self.is_number &= (self.whole >= 1) & ((first != _ZERO) | self.is_zero)
        behind = [np.minimum(point + 1 + i, sizes - 1) for i in range(4)]
        self.is_small: Mask = self.is_zero & np.all([content[safe + at] == _ZERO for at in behind], axis=0)


def _integers(digits: int, *, signs: str) -> _Form:
    """Integers of at most ``digits`` digits. ``signs``: which of ``-``, ``0``, ``+`` the datatype has."""

    def on_columns(content: Bytes, starts: Places, lengths: Places) -> Mask:
        found = _Numbers(content, starts, lengths, digits + 1)
        is_zero = found.is_zero & ~found.is_negative
        kept: Mask = found.is_number & ~found.has_point & (found.whole <= digits) & (is_zero | ~found.is_zero)
        kept &= (
            (found.is_negative & ("-" in signs))
            | (is_zero & ("0" in signs))
            | (~found.is_negative & ~is_zero & ("+" in signs))
        )
        return kept

    sign = {"-": "-", "+": "", "-+": "-?"}[signs.replace("0", "")]
    zero = "0|" if "0" in signs else ""
    pattern = LazyPattern(f"{zero}{sign}[1-9][0-9]{{0,{digits - 1}}}")
    return _Form(lambda lexical: pattern.fullmatch(lexical) is not None, on_columns)


def _decimals(content: Bytes, starts: Places, lengths: Places) -> Mask:
    found = _Numbers(content, starts, lengths, 30)
    is_fraction = found.has_point & (found.last != _ZERO) & (found.last != _POINT)
    is_integer = ~found.has_point & (found.whole <= 18) & ~(found.is_zero & found.is_negative)
    found.is_number &= is_fraction | is_integer
    return found.is_number


_DECIMAL = LazyPattern(r"0|-?[1-9][0-9]{0,17}|-?(?:0|[1-9][0-9]*)\.[0-9]*[1-9]")


def _is_decimal(lexical: str) -> bool:
    return len(lexical) <= 30 and _DECIMAL.fullmatch(lexical) is not None


def _doubles(content: Bytes, starts: Places, lengths: Places) -> Mask:
    """The shortest form of one double (IEEE 754), as Python prints it: see ``_is_double``."""
    found = _floats(content, starts, lengths, 15)
    left = np.flatnonzero(~found)
    texts = _texts(content, starts[left], starts[left] + lengths[left])
    found[left] = [_is_double(text) for text in texts]
    return found


def _is_double(lexical: str) -> bool:
    try:
        return repr(float(lexical)) == lexical and lexical[-1] not in "nf"  # not nan, not inf
    except ValueError:
        return False


def _singles(content: Bytes, starts: Places, lengths: Places) -> Mask:
    """At most 6 digits: two numbers with as many are two floats (IEEE 754, single precision)."""
    return _floats(content, starts, lengths, 6)


def _is_single(lexical: str) -> bool:
    digits = len(lexical) - 1 - lexical.startswith("-")
    return digits <= 6 and _FLOAT.fullmatch(lexical) is not None


_FLOAT = LazyPattern(r"-?(?:0|[1-9][0-9]*)\.(?:0|(?!0000)[0-9]*[1-9])|-?[1-9][0-9]*\.0000[0-9]*[1-9]")


def _floats(content: Bytes, starts: Places, lengths: Places, most: int) -> Mask:
    """Numbers of at most ``most`` digits, from 0.0001 on, whose fraction is .0 or does not end in 0."""
    found = _Numbers(content, starts, lengths, most + 2)
    is_whole = (found.fraction == 1) & (found.last == _ZERO)
    is_fraction = (found.fraction > 0) & (found.last != _ZERO) & ~found.is_small
    found.is_number &= found.has_point & (found.whole + found.fraction <= most) & (is_whole | is_fraction)
    return found.is_number


_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_SHAPE = np.frombuffer(b"0000-00-00T00:00:00", np.uint8)


def _date_times(content: Bytes, starts: Places, lengths: Places) -> Mask:
    """``YYYY-MM-DDThh:mm:ss``, with Z or without, from the year 1 on."""
    kept: Mask = (lengths == 19) | ((lengths == 20) & (content[starts + lengths - 1] == ord("Z")))
    rows = np.flatnonzero(kept)
    text = content[starts[rows][:, None] + np.arange(19)]
    is_digit = (text >= _ZERO) & (text <= _ZERO + 9)
    fits = np.where(_SHAPE == _ZERO, is_digit, text == _SHAPE).all(axis=1)
    digits = np.where(is_digit, text - _ZERO, 0).astype(np.int64)
    year = digits[:, :4] @ np.array([1000, 100, 10, 1])
    month, day, hour, minute, second = (digits[:, i : i + 2] @ np.array([10, 1]) for i in range(5, 18, 3))
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    days = _DAYS[np.clip(month, 0, 12)] + (is_leap & (month == 2))
    fits &= (year > 0) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= days)
    kept[rows] = fits & (hour <= 23) & (minute <= 59) & (second <= 59)
    return kept


_DATE_TIME = LazyPattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z?")


def _is_date_time(lexical: str) -> bool:
    if _DATE_TIME.fullmatch(lexical) is None:
        return False
    try:
        date.fromisoformat(lexical[:10])
    except ValueError:
        return False
    return True


_XSD = "^^<" + XSD

_FORMS: dict[str, _Form] = {
    f"{_XSD}decimal>": _Form(_is_decimal, _decimals),
    f"{_XSD}double>": _Form(_is_double, _doubles),
    f"{_XSD}float>": _Form(_is_single, _singles),
    f"{_XSD}dateTime>": _Form(_is_date_time, _date_times),
    f"{_XSD}integer>": _integers(18, signs="-0+"),
    f"{_XSD}long>": _integers(18, signs="-0+"),
    f"{_XSD}int>": _integers(9, signs="-0+"),
    f"{_XSD}short>": _integers(4, signs="-0+"),
    f"{_XSD}byte>": _integers(2, signs="-0+"),
    f"{_XSD}nonNegativeInteger>": _integers(18, signs="0+"),
    f"{_XSD}positiveInteger>": _integers(18, signs="+"),
    f"{_XSD}nonPositiveInteger>": _integers(18, signs="-0"),
    f"{_XSD}negativeInteger>": _integers(18, signs="-"),
    f"{_XSD}unsignedLong>": _integers(18, signs="0+"),
    f"{_XSD}unsignedInt>": _integers(9, signs="0+"),
    f"{_XSD}unsignedShort>": _integers(4, signs="0+"),
    f"{_XSD}unsignedByte>": _integers(2, signs="0+"),
}
"""The forms by marker."""


def canonical(value: Value) -> str | None:
    """The lexical form of the regular literals, with a datatype, that denote a value; None if there are none.

    A literal with this form need not be regular.
    """
    key = value.key
    if value.space == "double":
        return str(key)
    if value.space == "float":
        text = f"{float(str(key)):.6g}"
        return None if "e" in text else text if "." in text else f"{text}.0"
    if value.space == "decimal":
        assert isinstance(key, Decimal)
        text = format(key, "f")
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text in ("-0", "") else text
    if value.space == "dateTime":
        assert isinstance(key, tuple)
        days, seconds, zone = key
        ordinal = days - _DAYS_BEFORE_YEAR_1
        if zone not in (None, 0) or seconds % 1 or not 1 <= ordinal <= date.max.toordinal():
            return None
        hours, rest = divmod(int(seconds), 3600)
        day = date.fromordinal(ordinal).isoformat()
        return f"{day}T{hours:02}:{rest // 60:02}:{rest % 60:02}{'' if zone is None else 'Z'}"
    return None


_DAYS_BEFORE_YEAR_1 = 366
"""The days of the year 0, from which the keys of dateTimes count."""


def datatypes_of(space: str) -> Sequence[str]:
    """The markers whose regular literals have values of a space."""
    if space == "decimal":
        return _DECIMALS
    marker = f"{_XSD}{space}>"
    return [marker] if marker in _FORMS else []


_DECIMALS = [
    marker for marker in _FORMS if marker not in (f"{_XSD}double>", f"{_XSD}float>", f"{_XSD}dateTime>")
]


def datatype_of_marker(marker: str) -> str:
    """The datatype of the literals with a marker. Precondition: it is not ``UNNUMBERED``."""
    if marker == PLAIN:
        return STRING
    return LANG_STRING if marker.startswith("@") else marker[3:-1]


def values_within(marker: str, is_sound: bool, datatype: str) -> bool | None:
    """Whether the literals of a marker denote values of a datatype: all, none (False), or not known.

    ``is_sound`` as in ``Codes``. A literal without a value is in no datatype.
    """
    if marker == UNNUMBERED:
        return None
    own = datatype_of_marker(marker)
    if own not in SUPPORTED_DATATYPES or datatype not in SUPPORTED_DATATYPES:
        return False
    if own in (PLAIN_LITERAL, LITERAL):
        return None
    within = is_within(own, datatype)
    return within if is_sound or within is False else None


def clashes(marker: str, is_sound: bool, datatype: str) -> bool | None:
    """``values.datatype_clash`` of the literals of a marker with a datatype; None if their values decide."""
    if marker == UNNUMBERED:
        return None
    own = datatype_of_marker(marker)
    if own not in SUPPORTED_DATATYPES or datatype not in SUPPORTED_DATATYPES:
        return False
    if marker == PLAIN and datatype in PLAIN_DATATYPES:
        return False
    within = values_within(marker, is_sound, datatype) if is_sound else None
    return None if within is None else not within
