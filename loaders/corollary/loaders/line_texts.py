"""Many facts as N-Triples: the bytes of their terms are copied from the dictionary's tables, in threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice

import numpy as np

from corollary.columns import Columns
from corollary.kernels.byte_texts import Bytes, Places
from corollary.kernels.limits import current, reserve
from corollary.kernels.threads import spread_over_threads
from corollary.loaders.tuning import TRIPLES_PER_CHUNK_WRITTEN
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Ids, Kind, TermDictionary
from corollary.terms.texts import TextTable

SPACE, FULL_STOP, LINE_FEED = b" .\n"
BYTES_BETWEEN_TERMS = len(b"   .\n")


def lines_of(parts: Iterable[Columns], dictionary: TermDictionary) -> Iterator[Bytes]:
    """Yield N-Triples text, at most ``TRIPLES_PER_CHUNK_WRITTEN`` lines at a time.

    Young terms of the dictionary move into its tables. Memory: two chunks of text for each thread.
    """
    tables = dict(zip(BULK_KINDS, dictionary.tables(), strict=True))
    chunks = (
        tuple(column[start : start + TRIPLES_PER_CHUNK_WRITTEN] for column in columns)
        for columns in parts
        for start in range(0, len(columns[0]), TRIPLES_PER_CHUNK_WRITTEN)
    )
    while some := list(islice(chunks, 2 * current().threads)):
        yield from spread_over_threads([partial(_text, chunk, tables) for chunk in some])


def _text(columns: tuple[Ids, ...], tables: Mapping[Kind, TextTable]) -> Bytes:
    """The lines of some facts."""
    lengths: Places = np.empty((3, columns[0].size), np.int64)
    parts = []
    for column, ids in enumerate(columns):
        kinds, numbers = ids >> np.uint32(KIND_SHIFT), (ids & np.uint32(INDEX_MASK)).astype(np.int64)
        for kind, table in tables.items():
            rows = np.flatnonzero(kinds == kind)
            if rows.size:
                lengths[column, rows] = table.lengths_of(numbers[rows])
                parts.append((column, rows, table, numbers[rows]))
    ends = np.cumsum(lengths.sum(axis=0) + BYTES_BETWEEN_TERMS)
    reserve(int(ends[-1]))
    text: Bytes = np.full(int(ends[-1]), SPACE, np.uint8)
    text[ends - 2], text[ends - 1] = FULL_STOP, LINE_FEED
    places = np.cumsum(np.vstack((np.concatenate(([0], ends[:-1])), lengths[:2] + 1)), axis=0)
    for column, rows, table, chosen in parts:
        table.write(chosen, places[column, rows], text)
    return text
