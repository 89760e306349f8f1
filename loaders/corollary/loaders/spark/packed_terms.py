"""Terms as rows of bytes: what tasks that number terms read and hand out.

A *share* of terms has those whose texts have the same hash, modulo the number of shares. A row has terms of
one share, by kind: their lengths and texts, compressed. Spark moves a row without looking at its terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import compute

from corollary.kernels.byte_texts import Bytes, Places, gather_texts
from corollary.loaders.decoding import column_of
from corollary.loaders.spark.packed_facts import CODEC
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Ids, TermDictionary
from corollary.terms.texts import Texts, TextTable

_HEAD = 1 + len(BULK_KINDS)


def packed(content: Bytes, lengths: Places, counts: Sequence[int]) -> bytes:
    """Texts end to end, and their lengths, as bytes. ``counts`` has the number of texts of each kind."""
    head = np.array([*counts, content.size], np.uint64)
    compressed: bytes = CODEC.compress(lengths.astype(np.uint32).tobytes() + content.tobytes(), asbytes=True)
    return head.tobytes() + compressed


def unpacked(row: pa.Buffer) -> tuple[Bytes, Places, list[int]]:
    """What ``packed`` took; a writable array of texts."""
    *counts, size = np.frombuffer(row, np.uint64, _HEAD).tolist()
    number = sum(counts)
    plain = CODEC.decompress(row.slice(8 * _HEAD), 4 * number + size)
    lengths: Places = np.frombuffer(plain, np.uint32, number).astype(np.int64)
    return np.frombuffer(plain, np.uint8, size, 4 * number).copy(), lengths, counts


def texts_in(row: pa.Buffer) -> tuple[pa.Array, list[int]]:
    """The texts of a row as a column of strings, and the number of each kind."""
    content, lengths, counts = unpacked(row)
    return column_of(content, places_of(lengths)), counts


def cut_into_shares(
    content: Bytes, places: Places, counts: Sequence[int], shares: int
) -> tuple[list[tuple[int, int, bytes]], Ids]:
    """Texts by kind as rows: share, number of terms, bytes. And the place of each text in all rows in order.

    Texts are end to end, and begin and end at ``places``. Rows ascend by share; there are none without terms.
    """
    starts, lengths = places[:-1].copy(), np.diff(places)
    share_of = Texts.of(content, starts, lengths).hashes % np.uint32(shares)
    order = np.argsort(share_of, kind="stable")
    bounds = np.searchsorted(share_of[order], np.arange(shares + 1))
    kind_of = np.repeat(np.arange(len(counts), dtype=np.uint8), counts)
    rows = []
    for share in np.flatnonzero(np.diff(bounds)).tolist():
        own = order[bounds[share] : bounds[share + 1]]
        new_places = places_of(lengths[own])
        texts: Bytes = np.empty(int(new_places[-1]), np.uint8)
        gather_texts(content, starts[own], lengths[own], new_places, texts)
        of_kind = np.bincount(kind_of[own], minlength=len(counts)).tolist()
        rows.append((share, own.size, packed(texts, lengths[own], of_kind)))
    found: Ids = np.empty(order.size, np.uint32)
    found[order] = np.arange(order.size, dtype=np.uint32)
    return rows, found


def places_of(lengths: Places) -> Places:
    """Where texts of some lengths begin, end to end, and where the last one ends."""
    places: Places = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=places[1:])
    return places


class Numbering:
    """Numbers the distinct terms of rows by kind and text."""

    def __init__(self) -> None:
        self._dictionary = TermDictionary()
        self._arrived: list[Ids] = []

    def add(self, row: pa.Buffer) -> None:
        """Take up the terms of a row."""
        content, lengths, _ = unpacked(row)
        ids: Ids = np.empty(lengths.size, np.uint32)
        self._dictionary.encode_texts(Texts.of(content, places_of(lengths)[:-1], lengths), ids)
        self._arrived.append(ids)

    def finished(self) -> tuple[list[TextTable], Iterator[Ids]]:
        """The terms of each kind in the order of their texts; and for the terms of each row their ids.

        An id has the kind, and the number among the terms of this kind.
        """
        found = [_in_order(table) for table in self._dictionary.tables()]
        ranks = [rank for _, rank in found]
        starts = np.cumsum([0, *(rank.size for rank in ranks)])
        all_ranks = np.concatenate(
            [rank + np.uint32(kind << KIND_SHIFT) for kind, rank in zip(BULK_KINDS, ranks, strict=True)]
        )
        return [table for table, _ in found], (
            all_ranks[starts[ids >> np.uint32(KIND_SHIFT)] + (ids & np.uint32(INDEX_MASK))]
            for ids in self._arrived
        )


def _in_order(table: TextTable) -> tuple[TextTable, Ids]:
    """A table with the same texts in their order, and the new number of each."""
    column = column_of(*table.texts_of(np.arange(len(table))))
    order: Places = compute.sort_indices(column.cast(pa.large_binary())).to_numpy().astype(np.int64)
    content, places = table.texts_of(order)
    ranks: Ids = np.empty(order.size, np.uint32)
    ranks[order] = np.arange(order.size, dtype=np.uint32)
    return TextTable.of_parts([(content, np.diff(places))]), ranks
