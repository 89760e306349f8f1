"""What functions on columns share: their arguments on one domain, converted to what they take.

A value is an error (``failed``), or left to the evaluation on terms (``undecided``), or decided.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from rdflib.term import Variable

from corollary.columns.numbering import number_keys
from corollary.kernels.arrow import compute
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.sparql.column_values import (
    Booleans,
    Decimals,
    Ids,
    Numbers,
    Texts,
    Times,
    Values,
    decoded,
    ids_of_values,
)
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.term_texts import TermTexts, concatenated, large
from corollary.sparql.value_columns import Code
from corollary.sparql.written_literals import FIRST_LOCAL, FIRST_WRITTEN, UNBOUND
from corollary.terms.dictionary import Kind, kinds

ROWS = Variable("__rows")
"""The domain of expressions of several variables: the rows of the batch."""


class Unsupported(Exception):
    """An expression is not evaluated on columns."""


@dataclass(frozen=True)
class Part:
    """The values of an expression on its domain ``over``.

    The domain is the distinct terms of a variable, all rows (ROWS), or a single constant (None).
    """

    values: Values
    over: Variable | None


class ColumnArguments(ABC):
    """The arguments of functions, for one batch of ``size`` rows."""

    def __init__(self, terms: QueryTerms, column_of: Callable[[Variable], Column], size: int) -> None:
        self.terms = terms
        self._column_of = column_of
        self._size = size
        self._distinct: dict[Variable, tuple[Column, Rows]] = {}

    @abstractmethod
    def evaluated(self, node: Any) -> Part:
        """The values of an expression. Raises Unsupported."""

    def together(self, nodes: Sequence[Any]) -> tuple[list[Values], Variable | None]:
        """The values of several expressions on their common domain."""
        parts = [self.evaluated(node) for node in nodes]
        overs = {part.over for part in parts} - {None}
        over = ROWS if len(overs) > 1 else next(iter(overs), None)
        return [self._lifted(part, over) for part in parts], over

    def _lifted(self, part: Part, over: Variable | None) -> Values:
        if part.over == over:
            return part.values
        if over is ROWS:
            return part.values.take(self.numbers_of(part.over))
        assert part.over is None
        return part.values.take(np.zeros(self.domain(over)[0].size, np.int64))  # type: ignore[arg-type]

    def domain(self, variable: Variable) -> tuple[Column, Rows]:
        """The distinct ids of a variable, and the number of each row's id."""
        if variable not in self._distinct:
            column = self._column_of(variable)
            first, numbers = number_keys(column)
            self._distinct[variable] = column[first], numbers
        return self._distinct[variable]

    def numbers_of(self, over: Variable | None) -> Rows:
        """For each row of the batch, its place in a domain."""
        if over is None:
            return np.zeros(self._size, np.int64)
        return np.arange(self._size) if over is ROWS else self.domain(over)[1]

    def numbers(self, values: Values) -> Numbers:
        """As numbers: an error for other terms."""
        if isinstance(values, Numbers):
            return values.without(no_rows(values.size), values.is_whole_float & ~values.failed)
        if isinstance(values, Decimals):
            return values.numbers()
        if not isinstance(values, Ids):
            raise Unsupported
        found = decoded(values.ids, self.terms)
        is_number = (found.codes >= Code.INTEGER) & (found.codes <= Code.DOUBLE)
        other = ~values.failed & (found.codes == Code.OTHER)
        failed = values.failed | (~is_number & ~other)
        codes = np.where(is_number, found.codes, np.uint8(Code.INTEGER))
        scale = np.where(found.codes == Code.DECIMAL, found.extra, np.int16(0))
        return Numbers(failed, values.undecided | other, codes, found.values, scale)

    def has_upper_tag(self, values: Ids) -> Mask:
        """Which terms are decoded with capitals in their language tags: columns have tags in lower case."""
        found = no_rows(values.size)
        known = np.flatnonzero(values.ids < FIRST_LOCAL)
        texts = self.term_texts(values.ids[known])
        rows = np.concatenate((known[texts.rows[texts.is_tagged]], np.flatnonzero(is_local(values))))
        found[rows] = ~self.terms.have_lower_tags(values.ids[rows])
        return found

    def addends(self, values: Values) -> Numbers:
        """As ``numbers``, but times are undecided: they may be added to durations."""
        found = self.numbers(values)
        if not isinstance(values, Ids):
            return found
        is_time = decoded(values.ids, self.terms).codes >= Code.DATE
        return replace(found, failed=found.failed & ~is_time, undecided=found.undecided | is_time)

    def times(self, values: Values) -> Times:
        """As dates and times: an error for strings and numbers."""
        if not isinstance(values, Ids):
            raise Unsupported
        found = decoded(values.ids, self.terms)
        is_time = found.codes >= Code.DATE
        other = ~values.failed & (found.codes == Code.OTHER)
        return Times(
            values.failed | (~is_time & ~other),
            values.undecided | other,
            found.codes,
            found.values,
            found.extra,
        )

    def texts(self, values: Values, *, any_term: bool = False) -> Texts:
        """As strings: an error for other terms. With ``any_term`` as STR: all terms but blank nodes."""
        if isinstance(values, Texts):
            return replace(values, suffixes=None) if any_term else values
        if not isinstance(values, Ids):
            raise Unsupported
        import pyarrow

        ids = values.ids
        local = is_local(values) & (ids < FIRST_WRITTEN)
        known = np.flatnonzero(~local)
        found = self.term_texts(ids[known])
        rows = known[found.rows]
        if rows.size == ids.size and (any_term or found.is_string.all()) and (rows[1:] > rows[:-1]).all():
            is_plain = any_term or not found.has_suffixes
            no = no_rows(ids.size)
            return Texts(no, values.undecided | no, found.lexical, None if is_plain else found.suffixes)
        local_ids = ids[local]
        first, numbers = number_keys(local_ids)
        others = [self.terms.local_literal(term_id) for term_id in local_ids[first].tolist()]
        if None in others:
            raise Unsupported
        places = np.full(ids.size, len(found.lexical) + len(others), np.int64)
        places[rows] = np.arange(rows.size)
        places[local] = rows.size + numbers
        own, ends = (
            pyarrow.array([*(each[part] for each in others if each), ""], pyarrow.large_string())
            for part in (0, 1)
        )
        lexical = compute.take(concatenated([found.lexical, own]), places)
        is_string = np.zeros(ids.size, np.bool_)
        is_string[rows] = True if any_term else found.is_string
        is_string[local] = True
        is_blank = kinds(ids) == Kind.BLANK_NODE
        if any_term:
            return Texts(~is_string & ~is_blank, values.undecided | is_blank, lexical, None)
        suffixes = None
        if any(compute.any(compute.not_equal(each, large(""))).as_py() for each in (found.suffixes, ends)):
            suffixes = compute.take(concatenated([found.suffixes, ends]), places)
        return Texts(~is_string, values.undecided, lexical, suffixes)

    def texts_of(self, variable: Variable) -> Texts:
        """The texts that STR gives of the distinct terms of a variable. Raises Unsupported."""
        return self.texts(self.evaluated(variable).values, any_term=True)

    def term_texts(self, ids: Column) -> TermTexts:
        found = self.terms.texts_of(ids)
        if found is None:
            raise Unsupported
        return found

    def booleans(self, values: Values) -> Booleans:
        """The effective boolean values."""
        if isinstance(values, Booleans):
            return values
        if isinstance(values, Numbers):
            return Booleans(values.failed, values.undecided, _is_not_zero(values))
        if isinstance(values, Texts):
            return Booleans(
                values.failed, values.undecided, compute.binary_length(values.texts).to_numpy() > 0
            )
        numbers = self.numbers(values)
        return Booleans(numbers.failed & False, numbers.undecided | numbers.failed, _is_not_zero(numbers))

    def truths(self, part: Part) -> tuple[Mask, Mask]:
        """On the domain of values, which are true, and which are undecided."""
        found = self.booleans(part.values)
        return found.true & ~found.failed & ~found.undecided, found.undecided

    def ids(self, part: Part) -> tuple[Column, Mask]:
        """The ids of values on their domain, UNBOUND for errors, and the undecided ones, which have none."""
        values = part.values
        ids: Column = np.full(values.size, UNBOUND, np.uint32)
        rows = np.flatnonzero(~values.undecided)
        ids[rows] = ids_of_values(values.take(rows), self.terms)
        return ids, values.undecided


Table = dict[str, Callable[..., Part]]
"""Functions by name. Each takes a ``ColumnArguments``, and its arguments as expressions."""


def _is_not_zero(numbers: Numbers) -> Mask:
    """The truth of numbers: NaN is false."""
    doubles = numbers.doubles()
    found: Mask = (doubles != 0) & ~np.isnan(doubles)
    return found


def is_local(values: Ids) -> Mask:
    """Which terms only the query has."""
    found: Mask = (values.ids >= FIRST_LOCAL) & (values.ids != UNBOUND)
    return found


def no_rows(size: int) -> Mask:
    return np.zeros(size, np.bool_)


def errors(parts: Sequence[Values]) -> tuple[Mask, Mask]:
    """The rows in which an argument is an error, and others in which one is undecided.

    Precondition: any error of an argument is an error of the function.
    """
    failed: Mask = reduce(np.logical_or, (part.failed & ~part.undecided for part in parts))
    undecided: Mask = reduce(np.logical_or, (part.undecided for part in parts)) & ~failed
    return failed, undecided
