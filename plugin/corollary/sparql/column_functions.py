"""Expressions evaluated on columns: once for each distinct term of a variable, or for each row.

What is not decided on columns is left to the evaluation on terms, row by row (``undecided``), or as a whole
(``Unsupported``). Invariant: what is decided here has the value that the evaluation on terms has, with the
same lexical form and datatype.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial, reduce
from typing import Any

import numpy as np
from rdflib.namespace import RDF, XSD
from rdflib.term import Literal, URIRef, Variable

from corollary.columns.numbering import number_keys
from corollary.expressions.operators import ExpressionError
from corollary.expressions.regular_expressions import compiled
from corollary.kernels.arrow import compute
from corollary.kernels.limits import check, reserve
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.sparql.algebra import Call, FunctionCall
from corollary.sparql.builtin_functions import CASTS
from corollary.sparql.column_texts import (
    URI_BYTES,
    bytes_replaced,
    cased,
    contains,
    hashed,
    mapped,
    places_of,
)
from corollary.sparql.column_values import (
    LARGEST,
    MAX_EXACT,
    PROMOTED,
    WHOLE_FLOAT,
    Booleans,
    Decimals,
    Ids,
    Numbers,
    Texts,
    Times,
    Values,
    aligned,
    decoded,
    ids_of_values,
    per_row,
)
from corollary.sparql.number_texts import MAX_SCALE, POWERS
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.term_evaluation import CHAINED, custom_function
from corollary.sparql.term_texts import TermTexts, concatenated, content_of, cut_out, large, mask_of
from corollary.sparql.tuning import ROWS_DECODED_AT_ONCE
from corollary.sparql.user_functions import NO_FUNCTIONS, NUMBERS, UserFunction
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


class ColumnEvaluator:
    """Evaluates expressions for one batch of ``size`` rows. ``column_of`` gives the ids of a variable."""

    def __init__(
        self,
        terms: QueryTerms,
        column_of: Callable[[Variable], Column],
        size: int,
        functions: Mapping[URIRef, UserFunction] = NO_FUNCTIONS,
    ) -> None:
        self.terms = terms
        self.functions = functions
        self._column_of = column_of
        self._size = size
        self._distinct: dict[Variable, tuple[Column, Rows]] = {}
        self._left: tuple[Any, Part] | None = None
        """The left operand of the call that is evaluated next, and its values."""

    def part(self, expression: Any) -> Part | None:
        """The values on their domain; None if the expression is not evaluated on columns."""
        try:
            return self._evaluated(expression)
        except (Unsupported, ExpressionError, UnicodeEncodeError):
            return None

    def numbers_of(self, over: Variable | None) -> Rows:
        """For each row of the batch, its place in a domain."""
        if over is None:
            return np.zeros(self._size, np.int64)
        return np.arange(self._size) if over is ROWS else self._domain(over)[1]

    def _evaluated(self, node: Any) -> Part:
        if self._left is not None and self._left[0] is node:
            found, self._left = self._left[1], None
            return found
        chained = []
        while isinstance(node, Call) and node.name in CHAINED:
            chained.append(node)
            node = node.arguments[0]
        if not chained:
            return self._called(node)
        for call in reversed(chained):  # without recursion
            found = self._called(call)
            self._left = call, found
        self._left = None
        return found

    def _called(self, node: Any) -> Part:
        check()
        if isinstance(node, Variable):
            ids = self._domain(node)[0]
            return Part(Ids(ids == UNBOUND, np.zeros(ids.size, np.bool_), ids), node)
        if isinstance(node, Literal | URIRef):
            ids = np.array([self.terms.id_of(node)], np.uint32)
            return Part(Ids(_no(1), _no(1), ids), None)
        if isinstance(node, FunctionCall):
            own = self.functions.get(node.iri)
            return _cast(self, node) if own is None else _of_user(self, own, node)
        if not isinstance(node, Call):
            raise Unsupported
        function = _FUNCTIONS.get(node.name)
        if function is None:
            raise Unsupported
        return function(self, *node.arguments)

    def _domain(self, variable: Variable) -> tuple[Column, Rows]:
        """The distinct ids of a variable, and the number of each row's id."""
        if variable not in self._distinct:
            column = self._column_of(variable)
            first, numbers = number_keys(column)
            self._distinct[variable] = column[first], numbers
        return self._distinct[variable]

    def _lifted(self, part: Part, over: Variable | None) -> Values:
        if part.over == over:
            return part.values
        if over is ROWS:
            return part.values.take(self.numbers_of(part.over))
        assert part.over is None
        return part.values.take(np.zeros(self._domain(over)[0].size, np.int64))  # type: ignore[arg-type]

    def together(self, nodes: Sequence[Any]) -> tuple[list[Values], Variable | None]:
        """The values of several expressions on their common domain."""
        parts = [self._evaluated(node) for node in nodes]
        overs = {part.over for part in parts} - {None}
        over = ROWS if len(overs) > 1 else next(iter(overs), None)
        return [self._lifted(part, over) for part in parts], over

    # Conversions

    def numbers(self, values: Values) -> Numbers:
        """As numbers: an error for other terms."""
        if isinstance(values, Numbers):
            return values.without(_no(values.size), values.is_whole_float & ~values.failed)
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
        found = _no(values.size)
        known = np.flatnonzero(values.ids < FIRST_LOCAL)
        texts = self._texts_of(values.ids[known])
        rows = np.concatenate((known[texts.rows[texts.is_tagged]], np.flatnonzero(_is_local(values))))
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
        local = _is_local(values) & (ids < FIRST_WRITTEN)
        known = np.flatnonzero(~local)
        found = self._texts_of(ids[known])
        rows = known[found.rows]
        if rows.size == ids.size and (any_term or found.is_string.all()) and (rows[1:] > rows[:-1]).all():
            is_plain = any_term or not found.has_suffixes
            no = _no(ids.size)
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
        return self.texts(self._evaluated(variable).values, any_term=True)

    def _texts_of(self, ids: Column) -> TermTexts:
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


def _is_not_zero(numbers: Numbers) -> Mask:
    """The truth of numbers: NaN is false."""
    doubles = numbers.doubles()
    found: Mask = (doubles != 0) & ~np.isnan(doubles)
    return found


def _is_local(values: Ids) -> Mask:
    """Which terms only the query has."""
    found: Mask = (values.ids >= FIRST_LOCAL) & (values.ids != UNBOUND)
    return found


def _no(size: int) -> Mask:
    return np.zeros(size, np.bool_)


def _errors(parts: Sequence[Values]) -> tuple[Mask, Mask]:
    """The rows in which an argument is an error, and others in which one is undecided.

    Precondition: any error of an argument is an error of the function.
    """
    failed: Mask = reduce(np.logical_or, (part.failed & ~part.undecided for part in parts))
    undecided: Mask = reduce(np.logical_or, (part.undecided for part in parts)) & ~failed
    return failed, undecided


# Logic: true, false, error, undecided


def _negated(own: ColumnEvaluator, node: Any) -> Part:
    (values,), over = own.together([node])
    found = own.booleans(values)
    return Part(replace(found, true=~found.true), over)


def _both(one: Booleans, other: Booleans) -> Booleans:
    """``&&``: false if one is false, whatever the other is."""
    known = [~each.failed & ~each.undecided for each in (one, other)]
    false = (known[0] & ~one.true) | (known[1] & ~other.true)
    undecided = (one.undecided | other.undecided) & ~false
    failed = (one.failed | other.failed) & ~false & ~undecided
    return Booleans(failed, undecided, one.true & other.true & ~false)


def _inverted(found: Booleans) -> Booleans:
    return replace(found, true=~found.true)


def _conjunction(own: ColumnEvaluator, *nodes: Any) -> Part:
    parts, over = own.together(nodes)
    return Part(reduce(_both, map(own.booleans, parts)), over)


def _disjunction(own: ColumnEvaluator, *nodes: Any) -> Part:
    parts, over = own.together(nodes)
    return Part(_inverted(reduce(_both, (_inverted(own.booleans(part)) for part in parts))), over)


def _member(own: ColumnEvaluator, *nodes: Any) -> Part:
    """IN: the disjunction of equalities."""
    wanted, *members = nodes
    if not members:
        raise Unsupported
    return _disjunction(own, *(Call("=", (wanted, member)) for member in members))


def _bound(own: ColumnEvaluator, node: Any) -> Part:
    (values,), over = own.together([node])
    return Part(Booleans(_no(values.size), values.undecided, ~values.failed), over)


def _alike(own: ColumnEvaluator, parts: Sequence[Values]) -> list[Values]:
    """The columns as columns of one class, so that ``_chosen`` can mix them: as ids if classes differ."""
    if len({type(part) for part in parts}) == 1:
        return list(parts)
    found: list[Values] = []
    for part in parts:
        ids, undecided = own.ids(Part(part, ROWS))
        found.append(Ids((ids == UNBOUND) & ~undecided, undecided, ids))
    return found


def _chosen(first: Mask, one: Values, other: Values) -> Values:
    """The values of one column where ``first``, else of the other."""
    import pyarrow

    if isinstance(one, Texts) and isinstance(other, Texts):
        places = np.where(first, np.arange(first.size), first.size + np.arange(first.size))
        empty = per_row("", first.size)
        ends = [empty if each.suffixes is None else each.suffixes for each in (one, other)]
        columns: dict[str, Any] = {
            "texts": compute.take(pyarrow.concat_arrays([one.texts, other.texts]), places),
            "suffixes": compute.take(pyarrow.concat_arrays(ends), places),
        }
    else:
        columns = {
            name: np.where(first, getattr(one, name), getattr(other, name))
            for name in one.__dataclass_fields__
            if name not in ("failed", "undecided")
        }
    masks = {
        name: np.where(first, getattr(one, name), getattr(other, name)) for name in ("failed", "undecided")
    }
    return replace(one, **masks, **columns)


def _conditional(own: ColumnEvaluator, *nodes: Any) -> Part:
    (condition, *branches), over = own.together(nodes)
    decision = own.booleans(condition)
    one, other = _alike(own, branches)
    found = _chosen(decision.true & ~decision.failed, one, other)
    failed = (found.failed | decision.failed) & ~decision.undecided
    return Part(replace(found, failed=failed, undecided=found.undecided | decision.undecided), over)


def _coalesced(own: ColumnEvaluator, *nodes: Any) -> Part:
    parts, over = own.together(nodes)

    def first(one: Values, other: Values) -> Values:
        return _chosen(~one.failed | one.undecided, one, other)

    return Part(reduce(first, _alike(own, parts)), over)


# Comparisons

_COMPARISONS: dict[str, np.ufunc] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _comparison(operator: str, own: ColumnEvaluator, left: Any, right: Any) -> Part:
    (one, other), over = own.together([left, right])
    if isinstance(one, Texts) or isinstance(other, Texts):
        return Part(_texts_compared(operator, own, one, other), over)
    if isinstance(one, Booleans) or isinstance(other, Booleans):
        raise Unsupported
    failed, undecided = _errors([one, other])
    true = _no(one.size)
    known = failed.copy()
    if isinstance(one, Ids) and isinstance(other, Ids):
        known |= _terms_compared(operator, one.ids, other.ids, true, own)
        if known.all():
            return Part(Booleans(failed, undecided, true), over)
    numbers = [own.numbers(each) for each in (one, other)]
    open_ = ~known & ~(numbers[0].failed | numbers[1].failed | numbers[0].undecided | numbers[1].undecided)
    rows = np.flatnonzero(open_)
    if rows.size:
        is_decided, found = _numbers_compared(operator, *(each.take(rows) for each in numbers))
        true[rows] = found
        known[rows[is_decided]] = True
    if isinstance(one, Ids) and isinstance(other, Ids) and not known.all():
        _times_compared(operator, own, one, other, known, true)
        if not known.all() and operator not in ("=", "!="):
            _strings_compared(operator, own, one, other, known, true)
    return Part(Booleans(failed, undecided | ~known, true), over)


def _terms_compared(operator: str, one: Column, other: Column, true: Mask, own: ColumnEvaluator) -> Mask:
    """``=`` and ``!=`` of IRIs, blank nodes and strings, by their ids. Returns what is known."""
    if operator not in ("=", "!="):
        return _no(one.size)
    is_name = (kinds(one) < Kind.LITERAL) | (kinds(other) < Kind.LITERAL)
    is_bound = (one != UNBOUND) & (other != UNBOUND)
    known = is_name & is_bound
    rest = np.flatnonzero(is_bound & ~is_name)
    if rest.size:
        codes = [decoded(each[rest], own.terms).codes for each in (one, other)]
        known[rest] = (codes[0] == Code.STRING) & (codes[1] == Code.STRING)
    true[known] = ((one == other) == (operator == "="))[known]
    found: Mask = known
    return found


def _numbers_compared(operator: str, one: Numbers, other: Numbers) -> tuple[Mask, Mask]:
    """Numbers without errors: which are decided, and whether the comparison is true."""
    compare = _COMPARISONS[operator]
    mixed = one.is_float != other.is_float
    left, right = one.doubles(), other.doubles()
    true: Mask = compare(left, right)
    is_exact = ~one.is_float & ~other.is_float
    decided = ~is_exact & (~mixed | (left != right)) & ~_is_rounded(one, other)
    if is_exact.any():
        rows = np.flatnonzero(is_exact)
        scale = max(int(one.scale[rows].max()), int(other.scale[rows].max()))
        digits = [aligned(each.values[rows], each.scale[rows], scale) for each in (one, other)]
        if digits[0] is not None and digits[1] is not None:
            true[rows] = compare(digits[0], digits[1])
            decided[rows] = True
    return decided, true


def _times_compared(
    operator: str, own: ColumnEvaluator, one: Ids, other: Ids, known: Mask, true: Mask
) -> None:
    left, right = own.times(one), own.times(other)
    rows = np.flatnonzero(~known & (left.codes == right.codes) & (left.codes >= Code.DATE))
    true[rows] = _COMPARISONS[operator](left.instants()[rows], right.instants()[rows])
    known[rows] = True


def _strings_compared(
    operator: str, own: ColumnEvaluator, one: Ids, other: Ids, known: Mask, true: Mask
) -> None:
    """Order of strings without language tags."""
    codes = [decoded(each.ids, own.terms).codes for each in (one, other)]
    is_literal = (kinds(one.ids) >= Kind.LITERAL) & (kinds(other.ids) >= Kind.LITERAL)
    rows = np.flatnonzero(~known & is_literal & (codes[0] == Code.STRING) & (codes[1] == Code.STRING))
    if rows.size:
        found = _texts_compared(operator, own, one.take(rows), other.take(rows))
        decided = rows[~found.undecided & ~found.failed]
        true[decided] = found.true[~found.undecided & ~found.failed]
        known[decided] = True


def _texts_compared(operator: str, own: ColumnEvaluator, one: Values, other: Values) -> Booleans:
    """Strings without suffixes. What has a language tag or a datatype, or is no string, is undecided."""
    left, right = (
        replace(text, failed=source.failed, undecided=source.undecided | (text.failed & ~source.failed))
        for text, source in ((own.texts(one), one), (own.texts(other), other))
    )  # what is no string is no error: the terms decide
    failed, undecided = _errors([left, right])
    function = _COMPARISONS[operator].__name__  # Arrow's names are NumPy's
    true = mask_of(compute.call_function(function, [left.texts, right.texts]))
    for suffixes in (left.suffixes, right.suffixes):
        if suffixes is not None:  # only strings without language are compared here
            undecided = undecided | (compute.binary_length(suffixes).to_numpy() > 0) & ~failed
    return Booleans(failed, undecided, true)


# Arithmetic


def _sum(sign: int, own: ColumnEvaluator, left: Any, right: Any) -> Part:
    (one, other), over = own.together([left, right])
    one, other = own.addends(one), own.addends(other)
    failed, undecided = _errors([one, other])
    is_float = one.is_float | other.is_float
    undecided |= _is_rounded(one, other) & ~failed
    scale = np.maximum(one.scale, other.scale)
    with np.errstate(over="ignore", invalid="ignore"):
        doubles = one.doubles() + sign * other.doubles()
    digits, is_large = _scaled_sum(sign, one, other, scale)
    values = np.where(is_float, doubles.view(np.int64), digits)
    codes = np.maximum(one.codes, other.codes)
    undecided |= ~failed & np.where(is_float, ~np.isfinite(doubles), is_large)
    return Part(Numbers(failed, undecided, codes, values, np.where(is_float, np.int16(0), scale)), over)


def _scaled_sum(sign: int, one: Numbers, other: Numbers, scale: Any) -> tuple[Any, Mask]:
    """The digits of sums, and where they exceed 64 bits."""
    factors = [POWERS[np.clip(scale - each.scale, 0, MAX_SCALE)] for each in (one, other)]
    sizes = [
        np.abs(each.values.astype(np.float64)) * f for each, f in zip((one, other), factors, strict=True)
    ]
    is_large: Mask = (sizes[0] >= LARGEST / 2) | (sizes[1] >= LARGEST / 2)
    with np.errstate(over="ignore"):
        return one.values * factors[0] + sign * other.values * factors[1], is_large


def _is_rounded(one: Numbers, other: Numbers) -> Mask:
    """Where an integer or decimal meets a float, and may have another value as a double."""
    found: Mask = one.is_float != other.is_float
    for each in (one, other):
        found = found & (each.is_float | (np.abs(each.values) >= MAX_EXACT))
    return found


def _product(own: ColumnEvaluator, left: Any, right: Any) -> Part:
    """A decimal, or a double if the right factor is one. Only the left one a double: left to the terms."""
    (one, other), over = own.together([left, right])
    one, other = own.numbers(one), own.numbers(other)
    failed, undecided = _errors([one, other])
    scale = (one.scale + other.scale).astype(np.int16)
    size = np.abs(one.values.astype(np.float64)) * np.abs(other.values.astype(np.float64))
    with np.errstate(over="ignore", invalid="ignore"):
        doubles = one.doubles() * other.doubles()
        digits = one.values * other.values
    is_float = other.is_float
    undecided |= _is_rounded(one, other) & ~failed
    negative_zero = (digits == 0) & ((one.values < 0) | (other.values < 0))
    is_left = np.where(
        is_float,
        ~np.isfinite(doubles),
        one.is_float | (size >= LARGEST) | (scale > MAX_SCALE) | negative_zero,
    )
    codes = np.where(is_float, np.uint8(Code.DOUBLE), np.uint8(Code.DECIMAL))
    values = np.where(is_float, doubles.view(np.int64), digits)
    found = Numbers(failed, undecided | (is_left & ~failed), codes, values, np.where(is_float, 0, scale))
    return Part(found, over)


def _quotient(own: ColumnEvaluator, left: Any, right: Any) -> Part:
    """A double if the right operand is a float, else a decimal. Only the left one a float: left to the terms.

    Zeros and very large quotients are left to the terms.
    """
    (one, other), over = own.together([left, right])
    one, other = own.numbers(one), own.numbers(other)
    failed, undecided = _errors([one, other])
    undecided |= (_is_rounded(one, other) | (other.doubles() == 0)) & ~failed
    known = ~failed & ~undecided
    if not other.is_float[known].any():
        undecided |= one.is_float & ~failed
        rows = np.flatnonzero(known & ~undecided)
        quotients = np.full(failed.size, Decimal(0), np.object_)
        for start in range(0, rows.size, ROWS_DECODED_AT_ONCE):
            check()
            some = rows[start : start + ROWS_DECODED_AT_ONCE]
            quotients[some] = one.take(some).decimals() / other.take(some).decimals()
        return Part(Decimals(failed, undecided, quotients), over)
    with np.errstate(all="ignore"):
        doubles = one.doubles() / other.doubles()
    undecided |= (~np.isfinite(doubles) | ~other.is_float) & ~failed
    codes = np.full(failed.size, Code.DOUBLE, np.uint8)
    values = np.where(failed | undecided, 0.0, doubles).view(np.int64)
    return Part(Numbers(failed, undecided, codes, values, np.zeros(failed.size, np.int16)), over)


def _changed(change: str, own: ColumnEvaluator, node: Any) -> Part:
    """ABS and the sign minus, of which a float becomes a double."""
    (values,), over = own.together([node])
    found = own.numbers(values)
    doubles = found.values.view(np.float64)
    if change == "ABS":
        exact, changed = np.abs(found.values), np.abs(doubles)
    else:
        exact, changed = -found.values, -doubles
    is_zero = (found.values == 0) & (found.codes == Code.DECIMAL) & (change == "MINUS")
    codes = np.where(found.codes == Code.FLOAT, np.uint8(Code.DOUBLE), found.codes)
    result = np.where(found.is_float, changed.view(np.int64), exact)
    undecided = found.undecided | (is_zero & ~found.failed)
    return Part(replace(found, undecided=undecided, codes=codes, values=result), over)


def _rounded(name: str, own: ColumnEvaluator, node: Any) -> Part:
    """CEIL, FLOOR and ROUND. Those of floats are whole numbers with the datatype of floats."""
    (values,), over = own.together([node])
    found = own.numbers(values)
    unit = POWERS[np.where(found.is_float, 0, found.scale)]
    match name:
        case "FLOOR":
            whole = found.values // unit
        case "CEIL":
            whole = -(-found.values // unit)
        case _:  # halves up, towards zero if negative
            whole = (2 * found.values + unit) // (2 * unit)
    doubles = found.doubles()
    with np.errstate(invalid="ignore"):
        whole_float = {"FLOOR": np.floor, "CEIL": np.ceil}.get(name, _halves_up)(doubles) + 0.0
    is_left = np.where(found.is_float, np.abs(doubles) >= MAX_EXACT, np.abs(found.values) >= LARGEST / 2)
    changed = replace(
        found,
        undecided=found.undecided | (is_left & ~found.failed),
        values=np.where(found.is_float, whole_float.view(np.int64), whole),
        scale=np.where(found.is_float, np.int16(WHOLE_FLOAT), np.int16(0)),
    )
    return Part(changed, over)


def _halves_up(doubles: Any) -> Any:
    """Rounded as decimals are. The fraction is exact, unlike the sum with 0.5."""
    below = np.floor(doubles)
    return below + (doubles - below >= 0.5)


# Times


def _field(name: str, own: ColumnEvaluator, node: Any) -> Part:
    """YEAR, MONTH, DAY, HOURS, MINUTES and SECONDS."""
    (values,), over = own.together([node])
    times = own.times(values)
    days = times.values // 86400
    seconds = times.values - 86400 * days
    match name:
        case "HOURS":
            number = seconds // 3600
        case "MINUTES":
            number = seconds // 60 % 60
        case "SECONDS":
            number = seconds % 60
        case _:
            number = _of_days(name, days)
    failed = times.failed
    if name in ("HOURS", "MINUTES", "SECONDS"):
        failed = failed | (times.codes == Code.DATE)
    found = Numbers.whole(number, failed, times.undecided)
    if name == "SECONDS":
        found = replace(found, codes=np.full(found.size, Code.DECIMAL, np.uint8))
    return Part(found, over)


def _of_days(name: str, days: Any) -> Any:
    """The years, months or days of the month of some days since 1970: each day is looked at once, if few."""
    least = int(days.min(initial=0))
    span = int(days.max(initial=0)) - least + 1
    if span < days.size:
        return _of_days(name, np.arange(least, least + span))[days - least]
    date = days.astype("datetime64[D]")
    if name == "YEAR":
        return date.astype("datetime64[Y]").astype(np.int64) + 1970
    month = date.astype("datetime64[M]")
    return month.astype(np.int64) % 12 + 1 if name == "MONTH" else (date - month).astype(np.int64) + 1


def _zone(own: ColumnEvaluator, node: Any) -> Part:
    """TZ."""
    import pyarrow

    (values,), over = own.together([node])
    times = own.times(values)
    zones = np.where(times.codes == Code.ZONED, times.minutes, np.int16(-9999))
    first, numbers = number_keys(zones)
    names = [
        "" if z == -9999 else "Z" if not z else f"{'-' if z < 0 else '+'}{abs(z) // 60:02}:{abs(z) % 60:02}"
        for z in zones[first].tolist()
    ]
    texts = pyarrow.array(names, pyarrow.large_string()).take(numbers)
    return Part(Texts(times.failed | (times.codes == Code.DATE), times.undecided, texts, None), over)


# Terms


def _check_terms(*nodes: Any) -> None:
    """Raise Unsupported for arguments that are calls: these functions have a value for some errors."""
    if not all(isinstance(node, Variable | Literal | URIRef) for node in nodes):
        raise Unsupported


def _of_kind(kind: Kind, own: ColumnEvaluator, node: Any) -> Part:
    _check_terms(node)
    part = own._evaluated(node)
    values = part.values
    if not isinstance(values, Ids):
        return Part(
            Booleans(values.failed, values.undecided, np.full(values.size, kind == Kind.LITERAL)), part.over
        )
    return Part(
        Booleans(values.failed, values.undecided | _is_local(values), kinds(values.ids) == kind), part.over
    )


def _is_numeric(own: ColumnEvaluator, node: Any) -> Part:
    _check_terms(node)
    (values,), over = own.together([node])
    numbers = own.numbers(values)
    return Part(Booleans(values.failed, numbers.undecided, ~numbers.failed), over)


def _same(own: ColumnEvaluator, left: Any, right: Any) -> Part:
    _check_terms(left, right)
    (one, other), over = own.together([left, right])
    if not isinstance(one, Ids) or not isinstance(other, Ids):
        raise Unsupported
    return Part(Booleans(*_errors([one, other]), one.ids == other.ids), over)


def _text(own: ColumnEvaluator, node: Any) -> Part:
    """STR."""
    (values,), over = own.together([node])
    return Part(own.texts(values, any_term=True), over)


def _language(own: ColumnEvaluator, node: Any) -> Part:
    """LANG. Tags that a term has in upper case are left to the terms."""
    import pyarrow

    (values,), over = own.together([node])
    if not isinstance(values, Ids) or _is_local(values).any():
        raise Unsupported
    ids = values.ids
    found = own._texts_of(ids)
    places = np.full(ids.size, len(found.suffixes), np.int64)
    places[found.rows] = np.arange(found.rows.size)
    tags = compute.if_else(compute.starts_with(found.suffixes, pattern="@"), found.suffixes, large(""))
    tags = pyarrow.concat_arrays([compute.utf8_ltrim(tags, "@"), pyarrow.array([""], pyarrow.large_string())])
    is_literal = kinds(ids) == Kind.LITERAL
    undecided = values.undecided | own.has_upper_tag(values)
    return Part(Texts(~is_literal, undecided, tags.take(places), None), over)


def _datatype(own: ColumnEvaluator, node: Any) -> Part:
    (values,), over = own.together([node])
    if isinstance(values, Numbers):
        names = [own.terms.id_of(PROMOTED[Code(code)]) for code in range(Code.INTEGER, Code.DOUBLE + 1)]
        ids = np.array(names, np.uint32)[values.codes - Code.INTEGER]
        return Part(Ids(values.failed, values.undecided, ids), over)
    if not isinstance(values, Ids) or _is_local(values).any():
        raise Unsupported
    found = own._texts_of(values.ids)
    encoded = compute.dictionary_encode(found.suffixes)
    names = []
    for suffix in encoded.dictionary.to_pylist():
        datatype = RDF.langString if suffix[:1] == "@" else URIRef(suffix[3:-1]) if suffix else XSD.string
        names.append(own.terms.id_of(datatype))
    ids = np.full(values.size, UNBOUND, np.uint32)
    ids[found.rows] = np.array([*names, 0], np.uint32)[encoded.indices.to_numpy()]
    is_literal = kinds(values.ids) == Kind.LITERAL
    return Part(Ids(~is_literal, values.undecided, ids), over)


# Casts


def _cast(own: ColumnEvaluator, call: FunctionCall) -> Part:
    """Casts of truth values and numbers to numbers, of strings to doubles, and of all terms to strings."""
    if call.iri not in CASTS or custom_function(call.iri) or len(call.arguments) != 1:
        raise Unsupported
    (values,), over = own.together(call.arguments)
    if call.iri == XSD.string:
        texts = own.texts(values, any_term=True)
        suffixes = per_row(f"^^<{XSD.string}>", texts.size)
        return Part(replace(texts, suffixes=suffixes), over)
    if isinstance(values, Texts):
        return Part(_read(call.iri, values), over)
    if isinstance(values, Booleans):
        numbers = Numbers.whole(values.true, values.failed, values.undecided)
    else:
        numbers = own.numbers(values)
    undecided = numbers.undecided | (numbers.failed & ~values.failed)
    if call.iri in (XSD.double, XSD.float):
        code = Code.DOUBLE if call.iri == XSD.double else Code.FLOAT
        undecided = undecided | (~numbers.is_float & (np.abs(numbers.values) >= MAX_EXACT))
        found = replace(numbers, values=numbers.doubles().view(np.int64), scale=np.zeros_like(numbers.scale))
    elif call.iri == XSD.decimal:
        code, found = Code.DECIMAL, numbers
        undecided = undecided | numbers.is_float
    elif call.iri == XSD.integer:
        code, doubles = Code.INTEGER, numbers.doubles()
        undecided = undecided | (numbers.is_float & (np.abs(doubles) >= LARGEST))
        whole = np.abs(numbers.values) // POWERS[np.where(numbers.is_float, 0, numbers.scale)]
        exact = np.where(numbers.values < 0, -whole, whole)
        with np.errstate(invalid="ignore"):
            cut = np.where(numbers.is_float, np.trunc(doubles).astype(np.int64), exact)
        found = replace(numbers, values=cut, scale=np.zeros_like(numbers.scale))
    else:
        raise Unsupported
    codes = np.full(found.size, code, np.uint8)
    return Part(replace(found, failed=values.failed, undecided=undecided, codes=codes), over)


# Functions of users


def _of_user(own: ColumnEvaluator, function: UserFunction, call: FunctionCall) -> Part:
    """A user's vectorised function, called once: for the places of the domain whose arguments have values."""
    import pyarrow

    if function.takes is None or not call.arguments:
        raise Unsupported
    values, over = own.together(call.arguments)
    parts: list[Numbers] | list[Texts]
    if function.takes == NUMBERS:
        parts = [own.numbers(each) for each in values]
        columns = [pyarrow.array(part.doubles()) for part in parts]
    else:
        parts = [own.texts(each, any_term=True) for each in values]
        columns = [part.texts for part in parts]
    failed, undecided = _errors(parts)
    rows = np.flatnonzero(~failed & ~undecided)
    if not rows.size:
        return Part(Ids(failed, undecided, np.full(failed.size, UNBOUND, np.uint32)), over)
    found = function.column([column.take(rows) for column in columns], rows.size)
    missing = mask_of(found.is_null())
    failed[rows[missing]] = True
    places = np.zeros(failed.size, np.int64)
    places[rows] = np.arange(rows.size)
    return Part(_values_of(own, found, places, failed, undecided), over)


def _values_of(own: ColumnEvaluator, found: Any, places: Rows, failed: Mask, undecided: Mask) -> Values:
    """The values of an Arrow array at some places; any value where ``failed`` or ``undecided``."""
    import pyarrow

    types = pyarrow.types
    if types.is_boolean(found.type):
        return Booleans(failed, undecided, mask_of(found.fill_null(False))[places])
    if types.is_string(found.type) or types.is_large_string(found.type):
        texts = found.cast(pyarrow.large_string()).fill_null("")
        return Texts(failed, undecided, texts.take(places), None)
    if types.is_floating(found.type):
        doubles = found.cast(pyarrow.float64()).fill_null(0.0).to_numpy()[places]
        codes = np.full(places.size, Code.DOUBLE, np.uint8)
        return Numbers(failed, undecided, codes, doubles.view(np.int64), np.zeros(places.size, np.int16))
    if types.is_integer(found.type) and not types.is_uint64(found.type):
        whole = found.cast(pyarrow.int64()).fill_null(0).to_numpy()[places]
        is_large = (whole <= -LARGEST) | (whole >= LARGEST)
        return Numbers.whole(whole, failed, undecided | (is_large & ~failed))
    values = found.to_pylist()
    ids = [UNBOUND if value is None else own.terms.id_of(UserFunction.literal(value)) for value in values]
    return Ids(failed, undecided, np.array(ids, np.uint32)[places])


def _read(datatype: URIRef, texts: Texts) -> Numbers:
    """Strings as doubles. What is no finite number is undecided."""
    if datatype != XSD.double or texts.suffixes is not None:
        raise Unsupported
    encoded = compute.dictionary_encode(texts.texts)
    read = np.array([_double(text) for text in encoded.dictionary.to_pylist()], np.float64)
    doubles = read[encoded.indices.to_numpy()]
    is_read = np.isfinite(doubles)
    undecided = texts.undecided | ~is_read
    zeros = np.zeros(texts.size, np.int16)
    codes = np.full(texts.size, Code.DOUBLE, np.uint8)
    return Numbers(texts.failed, undecided & ~texts.failed, codes, doubles.view(np.int64), zeros)


def _double(text: str) -> float:
    """The number of a text; NaN if there is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


# Strings


def _plain(node: Any) -> str:
    """A constant string without language and datatype."""
    if not isinstance(node, Literal) or node.language or node.datatype is not None:
        raise Unsupported
    return str(node)


def _length(own: ColumnEvaluator, node: Any) -> Part:
    (values,), over = own.together([node])
    texts = own.texts(values)
    return Part(
        Numbers.whole(compute.utf8_length(texts.texts).to_numpy(), texts.failed, texts.undecided), over
    )


def _cased(change: Callable[[str], str], own: ColumnEvaluator, node: Any) -> Part:
    """UCASE and LCASE."""
    (values,), over = own.together([node])
    texts = own.texts(values)
    return Part(replace(texts, texts=cased(texts.texts, change)), over)


def _found(name: str, own: ColumnEvaluator, text: Any, wanted: Any) -> Part:
    """CONTAINS, STRSTARTS and STRENDS with a constant."""
    constant = _plain(wanted)
    (values,), over = own.together([text])
    texts = own.texts(values)
    if name == "CONTAINS":
        true = contains(texts.texts, constant)
    else:
        search = compute.starts_with if name == "STRSTARTS" else compute.ends_with
        true = mask_of(search(texts.texts, pattern=constant))
    return Part(Booleans(texts.failed, texts.undecided, true), over)


def _cut(name: str, own: ColumnEvaluator, text: Any, wanted: Any) -> Part:
    """STRBEFORE and STRAFTER with a constant. What is not found gives the empty string without language."""
    constant = _plain(wanted)
    if not constant:
        raise Unsupported
    (values,), over = own.together([text])
    texts = own.texts(values)
    places = places_of(texts.texts, constant)
    bounds, arena = content_of(texts.texts)
    missing = places < 0
    if name == "STRBEFORE":
        starts, ends = bounds[:-1], bounds[:-1] + places
    else:
        starts, ends = bounds[:-1] + places + len(constant.encode()), bounds[1:]
    ends = np.where(missing, starts, ends)
    suffixes = texts.suffixes
    if suffixes is not None:
        suffixes = compute.if_else(missing, large(""), suffixes)
    return Part(replace(texts, texts=cut_out(arena.copy(), starts, ends), suffixes=suffixes), over)


def _substring(own: ColumnEvaluator, text: Any, *bounds: Any) -> Part:
    """SUBSTR with constants; a start before the first character is left to the terms."""
    numbers = [bound.value if isinstance(bound, Literal) else None for bound in bounds]
    if not all(type(number) is int and 0 <= number < 1 << 31 for number in numbers) or not numbers[0]:
        raise Unsupported
    (values,), over = own.together([text])
    texts = own.texts(values)
    start = numbers[0] - 1
    stop = start + numbers[1] if len(numbers) > 1 else None
    cut = compute.utf8_slice_codeunits(texts.texts, start=start, stop=stop)
    return Part(replace(texts, texts=cut), over)


def _encoded(change: Callable[[Any], Any], own: ColumnEvaluator, node: Any) -> Part:
    """A function of strings whose values have no language: ENCODE_FOR_URI, MD5 ..."""
    (values,), over = own.together([node])
    texts = own.texts(values)
    return Part(Texts(texts.failed, texts.undecided, change(texts.texts), None), over)


def _replaced(own: ColumnEvaluator, text: Any, pattern: Any, replacement: Any, *flags: Any) -> Part:
    matcher = compiled(_plain(pattern), *map(_plain, flags))
    wanted = _plain(replacement)
    (values,), over = own.together([text])
    texts = own.texts(values)
    table = matcher.replaced_bytes(wanted)
    if table is not None:
        found = bytes_replaced(texts.texts, table)
    else:
        found = matcher.replaced_column(texts.texts, wanted)
        if found is None:
            found = mapped(lambda each: matcher.replaced(each, wanted), texts.texts)
    return Part(replace(texts, texts=found), over)


def _matched(own: ColumnEvaluator, text: Any, pattern: Any, *flags: Any) -> Part:
    matcher = compiled(_plain(pattern), *map(_plain, flags))
    (values,), over = own.together([text])
    texts = own.texts(values)
    return Part(Booleans(texts.failed, texts.undecided, matcher.matches_column(texts.texts)), over)


def _concatenated(own: ColumnEvaluator, *nodes: Any) -> Part:
    """CONCAT: with the suffix that all strings have."""
    import pyarrow

    parts, over = own.together(nodes)
    texts = [own.texts(part) for part in parts]
    failed, undecided = _errors(texts)
    for part in parts:
        if isinstance(part, Ids):
            undecided = undecided | (own.has_upper_tag(part) & ~failed)
    reserve(sum(each.texts.nbytes for each in texts))
    joined = compute.binary_join_element_wise(*(each.texts for each in texts), large(""))
    suffixes = None
    if all(each.suffixes is not None for each in texts):
        first, *others = (each.suffixes for each in texts)
        same = pyarrow.array(np.ones(failed.size, np.bool_))
        for other in others:
            same = compute.and_(same, compute.equal(first, other))
        suffixes = compute.if_else(same, first, large(""))
    return Part(Texts(failed, undecided, joined, suffixes), over)


def _language_matches(own: ColumnEvaluator, tag: Any, wanted: Any) -> Part:
    """LANGMATCHES with a constant range of letters, digits and hyphens, or ``*``."""
    (values,), over = own.together([tag])
    texts = own.texts(values)
    range_ = _plain(wanted).lower()
    if range_ == "*":
        true = compute.binary_length(texts.texts).to_numpy() > 0
    elif range_.isascii() and range_.replace("-", "").isalnum():
        lower = compute.ascii_lower(texts.texts)
        true = mask_of(compute.equal(lower, range_)) | mask_of(
            compute.starts_with(lower, pattern=f"{range_}-")
        )
    else:
        raise Unsupported
    return Part(Booleans(texts.failed, texts.undecided, true), over)


HASHES = ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")


_FUNCTIONS: dict[str, Callable[..., Part]] = {
    "&&": _conjunction,
    "||": _disjunction,
    "!": _negated,
    "IN": _member,
    "NOT IN": lambda own, *nodes: _negated(own, Call("IN", nodes)),
    "BOUND": _bound,
    "IF": _conditional,
    "COALESCE": _coalesced,
    **{name: partial(_comparison, name) for name in _COMPARISONS},
    "+": partial(_sum, 1),
    "-": partial(_sum, -1),
    "*": _product,
    "/": _quotient,
    **{name: partial(_changed, name) for name in ("ABS", "MINUS")},
    **{name: partial(_rounded, name) for name in ("CEIL", "FLOOR", "ROUND")},
    **{name: partial(_field, name) for name in ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS")},
    "TZ": _zone,
    "ISIRI": partial(_of_kind, Kind.IRI),
    "ISLITERAL": partial(_of_kind, Kind.LITERAL),
    "ISBLANK": partial(_of_kind, Kind.BLANK_NODE),
    "ISNUMERIC": _is_numeric,
    "SAMETERM": _same,
    "STR": _text,
    "LANG": _language,
    "DATATYPE": _datatype,
    "STRLEN": _length,
    "UCASE": partial(_cased, str.upper),
    "LCASE": partial(_cased, str.lower),
    **{name: partial(_found, name) for name in ("CONTAINS", "STRSTARTS", "STRENDS")},
    **{name: partial(_cut, name) for name in ("STRBEFORE", "STRAFTER")},
    "SUBSTR": _substring,
    "ENCODE_FOR_URI": partial(_encoded, partial(bytes_replaced, table=URI_BYTES)),
    **{name: partial(_encoded, partial(hashed, name)) for name in HASHES},
    "REPLACE": _replaced,
    "REGEX": _matched,
    "CONCAT": _concatenated,
    "LANGMATCHES": _language_matches,
}
