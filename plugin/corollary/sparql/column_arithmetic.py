"""Arithmetic on columns of numbers: exact, of integers and decimals up to 64 bits."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from corollary.kernels.limits import check
from corollary.kernels.sorted import Mask
from corollary.sparql.column_arguments import (
    ColumnArguments,
    Part,
    Table,
    errors,
)
from corollary.sparql.column_values import (
    LARGEST,
    MAX_EXACT,
    WHOLE_FLOAT,
    Decimals,
    Numbers,
    is_rounded,
)
from corollary.sparql.number_texts import MAX_SCALE, POWERS
from corollary.sparql.tuning import ROWS_DECODED_AT_ONCE
from corollary.sparql.value_columns import Code


def _sum(sign: int, own: ColumnArguments, left: Any, right: Any) -> Part:
    (one, other), over = own.together([left, right])
    one, other = own.addends(one), own.addends(other)
    failed, undecided = errors([one, other])
    is_float = one.is_float | other.is_float
    undecided |= is_rounded(one, other) & ~failed
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


def _product(own: ColumnArguments, left: Any, right: Any) -> Part:
    """A decimal, or a double if the right factor is one. Only the left one a double: left to the terms."""
    (one, other), over = own.together([left, right])
    one, other = own.numbers(one), own.numbers(other)
    failed, undecided = errors([one, other])
    scale = (one.scale + other.scale).astype(np.int16)
    size = np.abs(one.values.astype(np.float64)) * np.abs(other.values.astype(np.float64))
    with np.errstate(over="ignore", invalid="ignore"):
        doubles = one.doubles() * other.doubles()
        digits = one.values * other.values
    is_float = other.is_float
    undecided |= is_rounded(one, other) & ~failed
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


def _quotient(own: ColumnArguments, left: Any, right: Any) -> Part:
    """A double if the right operand is a float, else a decimal. Only the left one a float: left to the terms.

    Zeros and very large quotients are left to the terms.
    """
    (one, other), over = own.together([left, right])
    one, other = own.numbers(one), own.numbers(other)
    failed, undecided = errors([one, other])
    undecided |= (is_rounded(one, other) | (other.doubles() == 0)) & ~failed
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


def _changed(change: str, own: ColumnArguments, node: Any) -> Part:
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


def _rounded(name: str, own: ColumnArguments, node: Any) -> Part:
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


ARITHMETIC: Table = {
    "+": partial(_sum, 1),
    "-": partial(_sum, -1),
    "*": _product,
    "/": _quotient,
    **{name: partial(_changed, name) for name in ("ABS", "MINUS")},
    **{name: partial(_rounded, name) for name in ("CEIL", "FLOOR", "ROUND")},
}
