"""The N-Triples texts of computed numbers, many at once: as rdflib writes the literals of Python's numbers.

12.50 as a decimal with two digits after the point: "12.50"^^<http://www.w3.org/2001/XMLSchema#decimal>
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from corollary.kernels.arrow import compute
from corollary.kernels.sorted import Mask
from corollary.language import XSD
from corollary.sparql.term_texts import large
from corollary.sparql.value_columns import Small, Whole

MAX_SCALE = 18
"""Digits after the point of decimals in 64 bits."""

POWERS = np.array([10**digits for digits in range(MAX_SCALE + 1)], np.int64)


def exact_texts(is_integer: Mask, values: Whole, scale: Small) -> Any:
    """The texts of integers, and of decimals with ``scale`` digits after the point, as large strings."""
    unit = POWERS[scale]
    whole, rest = np.divmod(np.abs(values), unit)
    parts = [
        _either(values < 0, '"-', '"'),
        _digits(whole),
        _either(scale > 0, ".", ""),
        compute.utf8_slice_codeunits(_digits(unit + rest), start=1),  # 1 and the digits with their zeros
        _either(is_integer, f'"^^<{XSD}integer>', f'"^^<{XSD}decimal>'),
    ]
    return compute.binary_join_element_wise(*parts, large(""))


def decimal_texts(decimals: Iterable[Decimal]) -> Any:
    """The texts of decimals of any length, as large strings."""
    import pyarrow

    return pyarrow.array([f'"{each:f}"^^<{XSD}decimal>' for each in decimals], pyarrow.large_string())


def _digits(values: Whole) -> Any:
    import pyarrow

    return compute.cast(pyarrow.array(values), pyarrow.large_string())


def _either(first: Mask, one: str, other: str) -> Any:
    import pyarrow

    return pyarrow.array([other, one], pyarrow.large_string()).take(pyarrow.array(first.astype(np.int8)))
