"""What the one task that works with the engine reads: terms, facts, and chunks of documents.

Rows have a ``part`` each. The rows of a data set are terms (``id``, ``text``) and facts (``predicate``,
``subject``, ``object``). The rows of documents are those of chunks (``parse_chunks``): the terms of a chunk,
whose ``id`` is their number in it, and its ``statements``. Columns that no row needs may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyarrow import compute

from corollary.columns import Candidates, TripleIndex
from corollary.columns.delta import Delta
from corollary.columns.pairs import pack
from corollary.columns.triples import grouped
from corollary.loaders.decoding import content_of
from corollary.loaders.encoded_format import COLUMNS, EncodedDataSet
from corollary.loaders.spark.encoding import ids_of_statements
from corollary.loaders.spark.packed_facts import large_tables
from corollary.terms.dictionary import BULK_KINDS, KIND_SHIFT, Ids, Kind, TermDictionary
from corollary.terms.texts import TextTable

TERMS, EXPLICIT, INFERRED, GENERALISED, ADDED, REMOVED = range(6)
"""The parts: of a data set, and of the documents to add or to remove."""

PARTS_OF_FACTS = (EXPLICIT, INFERRED, GENERALISED)


class TaskContent:
    """All rows of a task, read from batches in any order."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._ids: list[np.ndarray] = []
        self._texts: list[pa.Array] = []
        self._facts: dict[int, Candidates] = {}
        self._chunks: dict[int, list[pa.Table]] = {}
        for table in large_tables(batches):
            parts = table.column("part").to_numpy()
            for part in np.flatnonzero(np.bincount(parts)).tolist():
                self._take(part, table.filter(pa.array(parts == part)))

    def _take(self, part: int, rows: pa.Table) -> None:
        if part == TERMS:
            self._ids.append(rows.column("id").to_numpy())
            self._texts.append(rows.column("text").cast(pa.large_string()).combine_chunks())
        elif part in PARTS_OF_FACTS:
            names, subjects, objects = (rows.column(name).to_numpy().astype(np.uint32) for name in COLUMNS)
            for name, keys in grouped(names, pack(subjects, objects)):
                self._facts.setdefault(part, {}).setdefault(name, []).append(keys)
        else:
            self._chunks.setdefault(part, []).append(rows)

    def dictionary(self) -> TermDictionary:
        """The terms of the data set."""
        ids = np.concatenate(self._ids or [np.empty(0, np.int64)])
        texts = pa.chunked_array(self._texts, pa.large_string()).combine_chunks()
        order = np.argsort(ids)
        ids, texts = ids[order], texts.take(pa.array(order))
        bounds = np.searchsorted(ids, [kind << KIND_SHIFT for kind in Kind]).tolist()
        tables = [_table(texts.slice(bounds[k], bounds[k + 1] - bounds[k])) for k in BULK_KINDS]
        return TermDictionary.of_tables(tables)

    def facts(self, part: int) -> Delta:
        """The facts of a part of the data set."""
        return Delta.gathered(self._facts.pop(part, {}))

    def documents(self, part: int) -> EncodedDataSet:
        """The statements of a part. Ids are ranks by kind and text."""
        if part not in self._chunks:
            return EncodedDataSet(TermDictionary(), TripleIndex())
        table = pa.concat_tables(self._chunks.pop(part))
        is_term = compute.is_valid(table.column("text"))
        terms, statements = table.filter(is_term), table.filter(compute.invert(is_term))
        encoded = compute.dictionary_encode(terms.column("text").cast(pa.large_string())).combine_chunks()
        dictionary, ids_of = _ranked(encoded.dictionary)
        ids = ids_of[encoded.indices.to_numpy()]
        return EncodedDataSet(dictionary, _statements(terms, ids, statements))


def _statements(terms: pa.Table, ids: Ids, statements: pa.Table) -> TripleIndex:
    """The statements of all chunks, whose terms have the given ids."""
    chunks, numbers = (terms.column(name).to_numpy() for name in ("chunk", "id"))
    order = np.lexsort((numbers, chunks))
    chunks, numbers, ids = chunks[order], numbers[order].astype(np.uint32), ids[order]
    parts = []
    whole = (statements.column(name).to_pylist() for name in ("chunk", "statements"))
    for chunk, packed in zip(*whole, strict=True):
        start, end = np.searchsorted(chunks, [chunk, chunk + 1])
        parts.append(ids_of_statements(packed, numbers[start:end], ids[start:end]))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return TripleIndex.from_columns(*columns) if columns else TripleIndex()


def _ranked(texts: pa.Array) -> tuple[TermDictionary, Ids]:
    """A dictionary of distinct texts, with ranks by kind and text as ids; and the id of each text."""
    first = compute.utf8_slice_codeunits(texts, 0, 1)
    are = [compute.equal(first, "<"), compute.equal(first, "_"), compute.equal(first, '"')]
    ids: Ids = np.zeros(len(texts), np.uint32)
    tables = []
    for kind, mask in zip(BULK_KINDS, are, strict=True):
        places = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
        own = texts.take(pa.array(places))
        order = compute.sort_indices(own.cast(pa.large_binary())).to_numpy()
        ids[places[order]] = np.arange(places.size, dtype=np.uint32) + np.uint32(kind << KIND_SHIFT)
        tables.append(_table(own.take(pa.array(order))))
    return TermDictionary.of_tables(tables), ids


def _table(texts: pa.Array) -> TextTable:
    content, offsets = content_of(texts)
    return TextTable.of_parts([(content[offsets[0] : offsets[-1]], np.diff(offsets))])
