"""The values of an expression as columns, by kind: truth values, numbers, texts, times, terms.

A row has a value, or is an error (``failed``), or is ``undecided``: then the evaluation on terms decides.
Invariant: values of failed and undecided rows have no meaning. The columns of ``Values`` never change.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rdflib.namespace import XSD
from rdflib.term import Literal

from corollary.columns.numbering import number_keys
from corollary.kernels.arrow import compute
from corollary.kernels.limits import check
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.sparql.builtin_functions import PROMOTED as SUMMED
from corollary.sparql.column_texts import escaped
from corollary.sparql.number_texts import MAX_SCALE, POWERS, decimal_texts, exact_texts
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.rdf_terms import text_of
from corollary.sparql.term_texts import large
from corollary.sparql.tuning import MIN_TERMS_ON_COLUMNS, ROWS_DECODED_AT_ONCE
from corollary.sparql.value_columns import Code, Codes, Decoded, Small, Whole, decoded_literals
from corollary.sparql.written_literals import FIRST_LOCAL, FIRST_WRITTEN, UNBOUND, are_written
from corollary.terms.dictionary import INDEX_MASK, Kind, TermDictionary, kinds

PROMOTED = dict(zip((Code.INTEGER, Code.DECIMAL, Code.FLOAT, Code.DOUBLE), SUMMED, strict=True))
"""The datatypes of numbers."""

LARGEST = float(1 << 62)
"""Results below fit in 64 bits, also with the error of a float."""

WHOLE_FLOAT = -1
"""The ``scale`` of a float that is a whole number: CEIL("1.5e0"^^xsd:double) is "2"^^xsd:double."""

_UNITS = [Decimal(1).scaleb(-scale) for scale in range(MAX_SCALE + 1)]
"""The last digit of decimals, by their scale."""

MAX_EXACT = 1 << 53
"""Whole numbers below are exact as doubles."""

AnyValues = TypeVar("AnyValues", bound="Values")


@dataclass(frozen=True)
class Values:
    """A column of values, with the rows that have none."""

    failed: Mask
    undecided: Mask

    @property
    def size(self) -> int:
        return int(self.failed.size)

    def take(self: AnyValues, rows: Rows) -> AnyValues:
        """The values at some rows, which may repeat."""
        changes = {each.name: _taken(getattr(self, each.name), rows) for each in fields(self)}
        return replace(self, **changes)

    def without(self: AnyValues, failed: Mask, undecided: Mask) -> AnyValues:
        """With further errors and undecided rows."""
        return replace(self, failed=self.failed | failed, undecided=self.undecided | undecided)


def _taken(column: Any, rows: Rows) -> Any:
    if isinstance(column, np.ndarray):
        return column[rows]
    return compute.take(column, rows) if hasattr(column, "take") else column


@dataclass(frozen=True)
class Booleans(Values):
    """Truth values."""

    true: Mask


@dataclass(frozen=True)
class Numbers(Values):
    """Numbers: ``codes`` from INTEGER to DOUBLE.

    ``values`` are integers, the digits of decimals with ``scale`` digits after the point, or the bits of
    doubles.
    """

    codes: Codes
    values: Whole
    scale: Small

    @property
    def is_whole_float(self) -> Mask:
        """The whole numbers that have the datatype of a float, but are written without fraction."""
        found: Mask = self.scale == WHOLE_FLOAT
        return found

    @property
    def is_float(self) -> Mask:
        found: Mask = self.codes >= Code.FLOAT
        return found

    def doubles(self) -> NDArray[np.float64]:
        """The numbers as doubles, rounded."""
        exact = self.values / POWERS[np.where(self.is_float, 0, self.scale)]
        found: NDArray[np.float64] = np.where(self.is_float, self.values.view(np.float64), exact)
        return found

    def decimals(self) -> NDArray[np.object_]:
        """The integers and decimals as Python's decimals. Precondition: no row is a float."""
        first, numbers = number_keys(self.values)
        if first.size < self.size and (self.scale == self.scale[0]).all():
            return self.take(first).decimals()[numbers]
        found = np.empty(self.size, np.object_)
        for start in range(0, self.size, ROWS_DECODED_AT_ONCE):
            check()
            some = slice(start, start + ROWS_DECODED_AT_ONCE)
            pairs = zip(self.values[some].tolist(), self.scale[some].tolist(), strict=True)
            found[some] = [Decimal(value) * _UNITS[scale] for value, scale in pairs]
        return found

    @staticmethod
    def whole(values: Any, failed: Mask, undecided: Mask) -> Numbers:
        """Integers."""
        values = np.asarray(values, np.int64)
        codes = np.full(values.size, Code.INTEGER, np.uint8)
        return Numbers(failed, undecided, codes, values, np.zeros(values.size, np.int16))

    def number(self, row: int) -> Any:
        """Python's number of a row."""
        value = int(self.values[row])
        if self.codes[row] == Code.INTEGER:
            return value
        if self.codes[row] == Code.DECIMAL:
            digits = tuple(map(int, str(abs(value))))
            return Decimal((int(value < 0), digits, -int(self.scale[row])))
        double = float(self.values[row : row + 1].view(np.float64)[0])
        return int(double) if self.scale[row] == WHOLE_FLOAT else double


@dataclass(frozen=True)
class Decimals(Values):
    """Quotients: decimals of Python, which may have more digits than ``Numbers``."""

    decimals: NDArray[np.object_]

    def numbers(self) -> Numbers:
        """As numbers; those that do not fit are undecided."""
        found = Decoded.none(self.size)
        for row in np.flatnonzero(~self.failed & ~self.undecided).tolist():
            fitting = exact(self.decimals[row])
            if fitting is not None:
                found.put(row, Code.DECIMAL, *fitting)
        is_left = ~self.failed & (found.codes == Code.UNSEEN)
        codes = np.full(self.size, Code.DECIMAL, np.uint8)
        return Numbers(self.failed, self.undecided | is_left, codes, found.values, found.extra)


@dataclass(frozen=True)
class Texts(Values):
    """Strings as Arrow's large strings, with the suffixes of their N-Triples texts (None: all without)."""

    texts: Any
    suffixes: Any


@dataclass(frozen=True)
class Times(Values):
    """Dates and times: ``values`` in seconds as they are written, ``minutes`` from UTC."""

    codes: Codes
    values: Whole
    minutes: Small

    def instants(self) -> Whole:
        """Seconds in UTC. Comparable between times of one code."""
        found: Whole = self.values - 60 * self.minutes.astype(np.int64)
        return found


@dataclass(frozen=True)
class Ids(Values):
    """Terms by their ids, which are not decoded."""

    ids: Column


def number_of(term: Any) -> tuple[int, int, int] | None:
    """Code, value and scale of a number that fits a column; None for other terms."""
    code = next((c for c, d in PROMOTED.items() if isinstance(term, Literal) and term.datatype == d), None)
    value = term.value if code is not None and not term.ill_typed else None
    if code == Code.INTEGER and type(value) is int and abs(value) < LARGEST:
        return code, value, 0
    if code == Code.DECIMAL and type(value) is Decimal and value.is_finite():
        fitting = exact(value)
        return None if fitting is None else (code, *fitting)
    if code in (Code.FLOAT, Code.DOUBLE) and type(value) is float and np.isfinite(value):
        assert code is not None
        return code, int(np.array([value]).view(np.int64)[0]), 0
    return None


def exact(value: Decimal) -> tuple[int, int] | None:
    """Value and scale of a finite decimal that fits a column. A negative zero does not: it has a sign."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if len(digits) > MAX_SCALE or not -9 <= exponent <= 0:
        return None
    whole = int("".join(map(str, digits)))
    return (-whole if sign else whole, -exponent) if whole or not sign else None


def decoded(ids: Column, terms: QueryTerms) -> Decoded:
    """The values of bound terms. IRIs and blank nodes get the code of strings: none of these has a value."""
    found = Decoded.none(ids.size)
    found.codes[:] = Code.STRING
    literals = np.flatnonzero(kinds(ids) == Kind.LITERAL)
    if literals.size:
        known = terms.value_columns.of(ids[literals])
        found.put(literals, known.codes, known.values, known.extra)
    _decode_local(ids, terms, found)
    return found


def _decode_local(ids: Column, terms: QueryTerms, found: Decoded) -> None:
    """Add the values of the query's own terms. Each distinct term is decoded once."""
    rows = np.flatnonzero(are_written(ids))
    if rows.size:
        known = terms.written_values(ids[rows])
        found.put(rows, known.codes, known.values, known.extra)
    rows = np.flatnonzero((ids >= FIRST_LOCAL) & (ids < FIRST_WRITTEN))
    if not rows.size:
        return
    first, numbers = number_keys(ids[rows])
    own = Decoded.none(first.size)
    own.codes[:] = Code.STRING
    times: dict[int, str] = {}
    for place, term_id in enumerate(ids[rows[first]].tolist()):
        if terms.local_literal(term_id) is not None:
            continue  # a string
        term = terms[term_id]
        number = number_of(term)
        if number is not None:
            own.put(place, *number)
        elif isinstance(term, Literal):
            own.put(place, Code.OTHER, 0)
            if term.datatype in (XSD.date, XSD.dateTime):
                times[place] = text_of(term)
    if times:
        dictionary = TermDictionary()
        texts = np.array([dictionary.encode(text) for text in times.values()], np.int64) & INDEX_MASK
        known = decoded_literals(texts, dictionary.tables()[Kind.LITERAL])
        own.put(np.array([*times]), known.codes, known.values, known.extra)
    own = own.at(numbers)
    found.put(rows, own.codes, own.values, own.extra)


def ids_of_values(values: Values, terms: QueryTerms) -> Column:
    """The ids of values; UNBOUND for errors. Precondition: no row is undecided."""
    if isinstance(values, Ids):
        return np.where(values.failed, np.uint32(UNBOUND), values.ids)
    if isinstance(values, Numbers):
        return ids_of_numbers(values, terms)
    if isinstance(values, Decimals):
        return ids_of_decimals(values, terms)
    if isinstance(values, Texts):
        return ids_of_texts(values, terms)
    assert isinstance(values, Booleans)
    yes, no = (np.uint32(terms.id_of(Literal(answer))) for answer in (True, False))
    return np.where(values.failed, np.uint32(UNBOUND), np.where(values.true, yes, no))


def ids_of_numbers(numbers: Numbers, terms: QueryTerms) -> Column:
    """The ids of numbers; UNBOUND for errors. Precondition: no row is undecided."""
    ids: Column = np.full(numbers.size, UNBOUND, np.uint32)
    rows = np.flatnonzero(~numbers.failed)
    first, inverse = _distinct_numbers(numbers.take(rows))
    some = numbers.take(rows[first])
    found: Column = np.empty(some.size, np.uint32)
    by_terms = np.ones(some.size, np.bool_)
    exact = np.flatnonzero(~some.is_float)
    if exact.size >= MIN_TERMS_ON_COLUMNS:
        is_integer = some.codes[exact] == Code.INTEGER
        found[exact] = terms.ids_of_literals(exact_texts(is_integer, some.values[exact], some.scale[exact]))
        by_terms[exact] = False
    for row in np.flatnonzero(by_terms).tolist():
        found[row] = _literal_id(some, row, terms)
    ids[rows] = found[inverse]
    return ids


def _distinct_numbers(numbers: Numbers) -> tuple[Rows, Rows]:
    """A row of each distinct number, and for each row the place of its number; 1 and 1.0 are two numbers."""
    first, inverse = number_keys(numbers.values)
    forms = numbers.codes.astype(np.int64) << 8 | (numbers.scale - WHOLE_FLOAT)
    if not forms.size or (forms == forms[0]).all():
        return first, inverse
    return number_keys(inverse << 16 | forms)


def ids_of_decimals(decimals: Decimals, terms: QueryTerms) -> Column:
    """The ids of decimals; UNBOUND for errors. Precondition: no row is undecided."""
    ids: Column = np.full(decimals.size, UNBOUND, np.uint32)
    rows = np.flatnonzero(~decimals.failed)
    found = decimals.decimals[rows].tolist()
    if rows.size < MIN_TERMS_ON_COLUMNS:
        ids[rows] = [terms.id_of(Literal(decimal)) for decimal in found]
        return ids
    encoded = compute.dictionary_encode(decimal_texts(found))
    ids[rows] = terms.ids_of_literals(encoded.dictionary)[encoded.indices.to_numpy()]
    return ids


def _literal_id(numbers: Numbers, row: int, terms: QueryTerms) -> int:
    datatype = PROMOTED[Code(numbers.codes[row])]
    return terms.id_of(Literal(numbers.number(row), datatype=datatype))


def ids_of_texts(texts: Texts, terms: QueryTerms) -> Column:
    """The ids of strings; UNBOUND for errors. Precondition: no row is undecided."""
    ids: Column = np.full(texts.size, UNBOUND, np.uint32)
    rows = np.flatnonzero(~texts.failed)
    lexical = compute.take(texts.texts, rows)
    if texts.suffixes is None:  # a text that stands in many rows is escaped once
        encoded = compute.dictionary_encode(lexical)
        written = _joined(large('"'), escaped(encoded.dictionary), large('"'))
    else:
        suffixes = compute.take(texts.suffixes, rows)
        encoded = compute.dictionary_encode(_joined(large('"'), escaped(lexical), large('"'), suffixes))
        written = encoded.dictionary
    ids[rows] = terms.ids_of_literals(written)[encoded.indices.to_numpy()]
    return ids


def _joined(*parts: Any) -> Any:
    """Texts end to end, row by row."""
    return compute.binary_join_element_wise(*parts, large(""))


def ranks_of_values(values: Values) -> Rows | None:
    """Numbers that order the rows by value, equal for equal values, 0 for errors; None if undecided."""
    if isinstance(values, Numbers):
        return ranks_of_numbers(values)
    if isinstance(values, Decimals):
        return ranks_of_decimals(values)
    return ranks_of_texts(values) if isinstance(values, Texts) else None


def ranks_of_numbers(numbers: Numbers) -> Rows | None:
    """As ``ranks_of_values``."""
    if numbers.undecided.any():
        return None
    rows = np.flatnonzero(~numbers.failed)
    some = numbers.take(rows)
    ranks: Rows = np.zeros(numbers.size, np.int64)
    keys: Any
    if some.is_float.all():
        keys = some.values.view(np.float64)
    elif not some.is_float.any():
        keys = aligned(some.values, some.scale, int(some.scale.max(initial=0)))
        if keys is None:
            return None
    else:
        return None
    ranks[rows] = number_keys(keys)[1] + 1
    return ranks


def ranks_of_decimals(decimals: Decimals) -> Rows | None:
    """As ``ranks_of_values``."""
    if decimals.undecided.any():
        return None
    rows = np.flatnonzero(~decimals.failed)
    ranks: Rows = np.zeros(decimals.size, np.int64)
    some = decimals.decimals[rows]
    first, numbers = number_keys(some.astype(np.float64))
    if (some != some[first][numbers]).any():  # unequal ones are rounded to one double
        numbers = number_keys(some)[1]
    ranks[rows] = numbers + 1
    return ranks


def is_rounded(one: Numbers, other: Numbers) -> Mask:
    """Where an integer or decimal meets a float, and may have another value as a double."""
    found: Mask = one.is_float != other.is_float
    for each in (one, other):
        found = found & (each.is_float | (np.abs(each.values) >= MAX_EXACT))
    return found


def aligned(values: Whole, scale: Small, common: int) -> Whole | None:
    """The digits of decimals with ``common`` digits after the point; None if they exceed 64 bits."""
    factor = POWERS[common - scale]
    if (np.abs(values.astype(np.float64)) * factor >= LARGEST).any():
        return None
    found: Whole = values * factor
    return found


def ranks_of_texts(texts: Texts) -> Rows | None:
    """As ``ranks_of_values``; None for strings with languages."""
    if texts.suffixes is not None or texts.undecided.any():
        return None
    found: Rows = compute.rank(texts.texts, tiebreaker="dense").to_numpy().astype(np.int64)
    return np.where(texts.failed, 0, found)


def per_row(text: str, size: int) -> Any:
    """A column with one text in every row."""
    import pyarrow

    return pyarrow.repeat(large(text), size)
