"""Comparisons on columns: of ids, numbers, times and strings, in this order.

What one of them does not decide is left to the next one, and at last to the terms.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from corollary.kernels.arrow import compute
from corollary.kernels.sorted import Column, Mask
from corollary.sparql.column_arguments import (
    ColumnArguments,
    Part,
    Table,
    Unsupported,
    errors,
    no_rows,
)
from corollary.sparql.column_values import (
    Booleans,
    Ids,
    Numbers,
    Texts,
    Values,
    aligned,
    decoded,
    is_rounded,
)
from corollary.sparql.term_texts import mask_of
from corollary.sparql.value_columns import Code
from corollary.sparql.written_literals import UNBOUND
from corollary.terms.dictionary import Kind, kinds

_COMPARISONS: dict[str, np.ufunc] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _comparison(operator: str, own: ColumnArguments, left: Any, right: Any) -> Part:
    (one, other), over = own.together([left, right])
    if isinstance(one, Texts) or isinstance(other, Texts):
        return Part(_texts_compared(operator, own, one, other), over)
    if isinstance(one, Booleans) or isinstance(other, Booleans):
        raise Unsupported
    failed, undecided = errors([one, other])
    true = no_rows(one.size)
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


def _terms_compared(operator: str, one: Column, other: Column, true: Mask, own: ColumnArguments) -> Mask:
    """``=`` and ``!=`` of IRIs, blank nodes and strings, by their ids. Returns what is known."""
    if operator not in ("=", "!="):
        return no_rows(one.size)
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
    decided = ~is_exact & (~mixed | (left != right)) & ~is_rounded(one, other)
    if is_exact.any():
        rows = np.flatnonzero(is_exact)
        scale = max(int(one.scale[rows].max()), int(other.scale[rows].max()))
        digits = [aligned(each.values[rows], each.scale[rows], scale) for each in (one, other)]
        if digits[0] is not None and digits[1] is not None:
            true[rows] = compare(digits[0], digits[1])
            decided[rows] = True
    return decided, true


def _times_compared(
    operator: str, own: ColumnArguments, one: Ids, other: Ids, known: Mask, true: Mask
) -> None:
    left, right = own.times(one), own.times(other)
    rows = np.flatnonzero(~known & (left.codes == right.codes) & (left.codes >= Code.DATE))
    true[rows] = _COMPARISONS[operator](left.instants()[rows], right.instants()[rows])
    known[rows] = True


def _strings_compared(
    operator: str, own: ColumnArguments, one: Ids, other: Ids, known: Mask, true: Mask
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


def _texts_compared(operator: str, own: ColumnArguments, one: Values, other: Values) -> Booleans:
    """Strings without suffixes. What has a language tag or a datatype, or is no string, is undecided."""
    left, right = (
        replace(text, failed=source.failed, undecided=source.undecided | (text.failed & ~source.failed))
        for text, source in ((own.texts(one), one), (own.texts(other), other))
    )  # what is no string is no error: the terms decide
    failed, undecided = errors([left, right])
    function = _COMPARISONS[operator].__name__  # Arrow's names are NumPy's
    true = mask_of(compute.call_function(function, [left.texts, right.texts]))
    for suffixes in (left.suffixes, right.suffixes):
        if suffixes is not None:  # only strings without language are compared here
            undecided = undecided | (compute.binary_length(suffixes).to_numpy() > 0) & ~failed
    return Booleans(failed, undecided, true)


COMPARISONS: Table = {name: partial(_comparison, name) for name in _COMPARISONS}
