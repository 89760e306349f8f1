"""The order of terms, as numbers: for ORDER BY, MIN and MAX without comparisons of rdflib's terms.

Blank nodes come before IRIs, these before literals. Names are ordered by their texts, literals by their
datatypes, then by their languages, then by values or texts; numbers of all datatypes by their values.
Invariant: ranks compare as the keys of ``order_key`` do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from heapq import merge
from itertools import groupby
from typing import Any

import numpy as np
from rdflib.namespace import XSD
from rdflib.term import URIRef

from corollary.columns.numbering import number_keys
from corollary.kernels.arrow import compute
from corollary.kernels.limits import check
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.sparql.builtin_functions import NUMBERS_ORDERED_AS, RANKS, order_keys
from corollary.sparql.column_values import MAX_EXACT, Numbers, Times, decoded, ranks_of_numbers
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.term_texts import TermTexts, blank_node_texts
from corollary.sparql.tuning import KEYS_SORTED_AT_ONCE, MIN_USES_OF_RANKS
from corollary.sparql.value_columns import Code, Decoded
from corollary.sparql.written_literals import FIRST_LOCAL
from corollary.terms.dictionary import Kind, kinds

Class = tuple[int, str, str]
"""Terms that are compared with each other: the kind, a literal's datatype and its language."""

NUMBERS = "numbers"
"""In place of the datatype of numbers."""


def term_ranks(ids: Column, terms: QueryTerms, uses: int) -> Rows | None:
    """For each of the distinct ids, a number that orders the terms; equal numbers or times have the same one.

    None for few ``uses`` of ranks, and for what ``ranks_by_class`` does not order.
    """
    if uses < MIN_USES_OF_RANKS or not ids.size:
        return None
    found = decoded(ids, terms)
    first = found.codes[0]
    no = np.zeros(ids.size, np.bool_)
    if ((found.codes >= Code.INTEGER) & (found.codes <= Code.DOUBLE)).all():
        scale = np.where(found.codes == Code.DECIMAL, found.extra, np.int16(0))
        ranks = ranks_of_numbers(Numbers(no, no, found.codes, found.values, scale))
        if ranks is not None:
            return ranks - 1
    if first >= Code.DATE and (found.codes == first).all():
        instants = Times(no, no, found.codes, found.values, found.extra).instants()
        return number_keys(instants)[1]
    ranks = text_ranks(ids, terms)
    return ranks_by_class(ids, terms) if ranks is None else ranks


def text_ranks(ids: Column, terms: QueryTerms) -> Rows | None:
    """For each of the distinct ids, the number of ids whose terms are less. Precondition: there are ids.

    None for other terms than IRIs and literals without datatypes: literals with datatypes are compared by
    value. None if a language tag has capitals, which the texts do not show.
    """
    if int(ids.max()) >= FIRST_LOCAL:
        return None
    if (kinds(ids) == Kind.BLANK_NODE).any():
        return None
    texts = terms.texts_of(ids)
    if texts is None or not terms.have_lower_tags(ids[texts.rows[texts.is_tagged]]).all():
        return None
    return texts.ranks


def ranks_by_class(ids: Column, terms: QueryTerms) -> Rows | None:
    """As ``term_ranks``: the classes of terms in their order, and within each class the terms.

    None for terms of the query, language tags with capitals, NaN, and numbers without a value.
    """
    if int(ids.max()) >= FIRST_LOCAL:
        return None
    texts = terms.texts_of(ids)
    if texts is None or not terms.have_lower_tags(ids[texts.rows[texts.is_tagged]]).all():
        return None
    ordering = _Ordering(ids, terms, texts, decoded(ids, terms))
    classes = ordering.classes()
    if classes is None:
        return None
    ranks: Rows = np.zeros(ids.size, np.int64)
    least = 0
    for place, class_ in classes:
        rows = np.flatnonzero(ordering.numbers == place)
        check()
        found = ordering.ranks_within(class_, rows)
        if found is None:
            return None
        ranks[rows] = found + least
        least += int(found.max(initial=-1)) + 1
    return ranks


@dataclass
class _Ordering:
    """Distinct terms with their texts and values.

    ``numbers`` has the number of each term's class, ``places`` the place of its text.
    """

    ids: Column
    terms: QueryTerms
    texts: TermTexts
    values: Decoded
    places: Rows = field(init=False)
    numbers: Rows = field(init=False)

    def __post_init__(self) -> None:
        self.places = np.full(self.ids.size, -1, np.int64)
        self.places[self.texts.rows] = np.arange(self.texts.rows.size)
        self.numbers = np.zeros(self.ids.size, np.int64)

    def classes(self) -> list[tuple[int, Class]] | None:
        """The classes in order, each with its number; None if a number has no value. Sets ``numbers``."""
        suffixes = compute.dictionary_encode(self.texts.suffixes)
        names: list[str] = suffixes.dictionary.to_pylist()
        codes = self.values.codes
        is_number = (codes >= Code.INTEGER) & (codes <= Code.DOUBLE)
        named: list[Class] = [(0, "", ""), (1, "", "")]
        named += [(2, *_datatype_and_language(name)) for name in names]
        suffix_of = self.numbers
        suffix_of[self.texts.rows] = np.where(
            self.texts.is_literal, suffixes.indices.to_numpy().astype(np.int64) + 2, 1
        )
        present = np.unique(suffix_of)
        of_numbers = np.array([URIRef(datatype) in RANKS for _, datatype, _ in named])
        if (of_numbers[suffix_of] != is_number).any():  # a number without a value
            return None
        numbers = (2, NUMBERS_ORDERED_AS, NUMBERS)
        keys = [numbers if of_numbers[number] else class_ for number, class_ in enumerate(named)]
        order = sorted({keys[number] for number in present.tolist()})
        self.numbers = np.array([order.index(key) if key in order else -1 for key in keys])[suffix_of]
        return list(enumerate(order))

    def ranks_within(self, class_: Class, rows: Rows) -> Rows | None:
        """The ranks of terms of one class, from 0 on."""
        kind, datatype, language = class_
        if kind == 0:
            return _dense(blank_node_texts(self.ids[rows], self.terms.dictionary))
        if language == NUMBERS:
            return self._ranks_of_numbers(rows)
        codes = self.values.codes[rows]
        if kind == 1 or datatype == str(XSD.string):
            return _dense(compute.take(self.texts.lexical, self.places[rows]))
        if (codes >= Code.DATE).all():
            some = Times(*_no(rows.size), codes, self.values.values[rows], self.values.extra[rows])
            first, numbers = number_keys(some.instants())
            is_zoned = codes == Code.ZONED  # those without a timezone are less
            return number_keys(numbers + is_zoned * first.size)[1]
        return ranks_of_keys(order_keys(self.terms.decode(self.ids[rows])))

    def _ranks_of_numbers(self, rows: Rows) -> Rows | None:
        """By doubles; numbers with the same double by their exact values. None if doubles are not exact."""
        codes, extra = self.values.codes[rows], self.values.extra[rows]
        scale = np.where(codes == Code.DECIMAL, extra, np.int16(0))
        numbers = Numbers(*_no(rows.size), codes, self.values.values[rows], scale)
        is_exact = numbers.is_float | ((np.abs(numbers.values) <= MAX_EXACT) & (scale <= 22))
        doubles = numbers.doubles()
        if not is_exact.all() or np.isnan(doubles).any():
            return None
        first, ranks = number_keys(doubles)
        order = np.argsort(ranks, kind="stable")
        is_tied = np.bincount(ranks)[ranks[order]] > 1
        more: Rows = np.zeros(rows.size, np.int64)  # of each number, those with the same double that are less
        for _, tied in groupby(order[is_tied].tolist(), ranks.__getitem__):
            check()
            exact = {place: _exact(numbers, place) for place in tied}
            values = sorted({*exact.values()})
            for place, value in exact.items():
                more[place] = values.index(value)
        steps = np.zeros(first.size, np.int64)
        np.maximum.at(steps, ranks, more)
        return ranks + more + (np.cumsum(steps) - steps)[ranks]


def _no(size: int) -> tuple[Mask, Mask]:
    return np.zeros(size, np.bool_), np.zeros(size, np.bool_)


def _exact(numbers: Numbers, place: int) -> Decimal | float:
    value = int(numbers.values[place])
    if numbers.is_float[place]:
        return float(numbers.values[place : place + 1].view(np.float64)[0])
    return Decimal(value).scaleb(-int(numbers.scale[place]))


def _datatype_and_language(suffix: str) -> tuple[str, str]:
    """Those by which rdflib compares a literal. Example: ``@en`` is a string with language en."""
    return (suffix[3:-1], "") if suffix.startswith("^^") else (str(XSD.string), suffix[1:])


def _dense(texts: Any) -> Rows:
    """The ranks of texts, from 0 on."""
    found: Rows = compute.rank(texts, tiebreaker="dense").to_numpy().astype(np.int64) - 1
    return found


def ranks_of_keys(keys: list[Any]) -> Rows:
    """For each key, the number of different keys that are less, by Python's comparisons."""
    ranks = [0] * len(keys)
    before: int | None = None
    for number, after in enumerate(_sorted(keys)):
        if number % KEYS_SORTED_AT_ONCE == 0:
            check()
        if before is not None:
            ranks[after] = ranks[before] + bool(keys[before] < keys[after])
        before = after
    return np.array(ranks, np.int64)


def _sorted(keys: list[Any]) -> Iterator[int]:
    """The positions of the keys in order. Limits are checked between runs, which are merged."""
    runs = []
    for start in range(0, len(keys), KEYS_SORTED_AT_ONCE):
        check()
        places = range(start, min(start + KEYS_SORTED_AT_ONCE, len(keys)))
        runs.append(sorted(places, key=keys.__getitem__))
    return iter(runs[0]) if len(runs) == 1 else merge(*runs, key=keys.__getitem__)
