"""The literals that a query has computed on columns: their texts in one table, in which each stands once.

No object of Python is made for a literal until it is read. The id of such a literal is ``FIRST_WRITTEN`` plus
its number in the table. A literal that the query had as a term before keeps its id.
"""

from __future__ import annotations

import numpy as np

from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Mask
from corollary.sparql.term_texts import QUOTE, TablePart
from corollary.terms.dictionary import KIND_SHIFT, Kind
from corollary.terms.texts import Texts, TextTable

UNBOUND = (1 << 32) - 1
"""The id in a column for an unbound variable."""

FIRST_LOCAL = (Kind.RESERVED << KIND_SHIFT) | 1 << (KIND_SHIFT - 1)
"""The first id of the terms that only a query has."""

FIRST_WRITTEN = FIRST_LOCAL | 1 << (KIND_SHIFT - 2)
"""The first id of the literals that were computed on columns."""


class WrittenLiterals:
    """The N-Triples texts of literals, and their ids."""

    def __init__(self) -> None:
        self.table = TextTable()
        self._ids: Column = np.empty(0, np.uint32)

    def find(self, text: str) -> int | None:
        """The id of a literal; None if it is not in the table."""
        number = self.table.find(text)
        return None if number is None else int(self._ids[number])

    def texts(self, ids: Column) -> list[str]:
        """The texts of some of the ids from ``FIRST_WRITTEN`` on."""
        return self.table.strings((ids - np.uint32(FIRST_WRITTEN)).astype(np.int64))

    def enter(self, texts: list[str], ids: list[int]) -> None:
        """Add literals that have ids already. Precondition: they are distinct, and not in the table."""
        if texts:
            self.table.append(Texts.of_strings(texts), QUOTE, 0, np.empty(len(texts), np.uint32))
            self._ids = np.concatenate((self._ids, np.array(ids, np.uint32)))

    def ids_of(self, texts: Texts, ids: Column) -> None:
        """Write the ids of literals; new literals are added. ``ids`` is not written for other ``firsts``."""
        reserve(2 * int(texts.lengths.sum()))  # the table may double
        numbers: Column = np.zeros(texts.starts.size, np.uint32)
        self.table.append(texts, QUOTE, 0, numbers)
        fresh = np.arange(self._ids.size, len(self.table), dtype=np.uint32)
        self._ids = np.concatenate((self._ids, fresh + np.uint32(FIRST_WRITTEN)))
        rows = texts.firsts == QUOTE
        ids[rows] = self._ids[numbers[rows]]

    def part_of(self, ids: Column) -> TablePart:
        """The literals among the ids from ``FIRST_WRITTEN`` on."""
        rows = np.flatnonzero(are_written(ids))
        return TablePart(
            rows, Kind.LITERAL, self.table, (ids[rows] - np.uint32(FIRST_WRITTEN)).astype(np.int64)
        )


def are_written(ids: Column) -> Mask:
    """Which ids are from ``FIRST_WRITTEN`` on."""
    found: Mask = (ids >= FIRST_WRITTEN) & (ids != UNBOUND)
    return found
