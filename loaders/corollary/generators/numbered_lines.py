"""Lines that differ in numbers only, written by NumPy."""

from __future__ import annotations

import numpy as np

from corollary.generators.drawn_edges import Numbers

DIGITS = 6
"""Decimal digits of each number in a line, with leading zeros. All lines of one template have one length."""


def numbered_lines(template: str, *columns: Numbers) -> bytes:
    """The template as UTF-8, once for each index of the columns.

    Column n has the numbers for the n-th ``{}`` in the template. Precondition: the columns have equal sizes,
    and there are as many as ``{}``; numbers have at most ``DIGITS`` digits.
    Example: "<urn:a{}> ." and [5, 12] give ``<urn:a000005> .<urn:a000012> .``
    """
    texts = [text.encode() for text in template.split("{}")]
    blanks = (b"0" * DIGITS).join(texts)
    lines = np.tile(np.frombuffer(blanks, np.uint8), (columns[0].size, 1))
    end = 0
    for text, column in zip(texts, columns, strict=False):
        end += len(text) + DIGITS
        rest = column
        for place in range(1, DIGITS + 1):
            rest, digits = np.divmod(rest, 10)
            lines[:, end - place] += digits.astype(np.uint8)
    return lines.tobytes()
