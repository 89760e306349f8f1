"""What the one task that works with the engine reads: terms, facts, and chunks of documents.

Rows have a ``part`` each. The rows of a data set are terms (``id``, ``text``) and facts (``predicate``,
``subject``, ``object``). The rows of documents are those of chunks (``parse_chunks``): ``chunk``, ``share``,
which only terms have, ``content``, and the number of terms or statements as ``id``. Columns that no row needs
may be missing. If a data set has named graphs, its facts are also there by graph, with a column ``graph``,
and the statements of documents have graphs.

A task reads a data set on its own machine from the files: Java would make a row of each fact and term first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from corollary.columns import Candidates, Relation, TripleIndex
from corollary.columns.delta import Delta
from corollary.columns.pairs import pack
from corollary.columns.triples import grouped
from corollary.loaders.decoding import Reader, content_of
from corollary.loaders.encoded_format import COLUMNS, EncodedDataSet
from corollary.loaders.gathering import Gathering
from corollary.loaders.spark.packed_facts import large_tables
from corollary.loaders.spark.packed_terms import Numbering
from corollary.loaders.spark.parse_chunks import statements_in
from corollary.terms.dictionary import BULK_KINDS, KIND_SHIFT, Ids, Kind, TermDictionary
from corollary.terms.texts import TextTable

TERMS, EXPLICIT, INFERRED, GENERALISED, GRAPHS, ADDED, REMOVED = range(7)
"""The parts: of a data set, and of the documents to add or to remove."""

PARTS_OF_FACTS = (EXPLICIT, INFERRED, GENERALISED)

_QUADS = ("subject", "predicate", "object", "graph")


_Row = tuple[int, int | None, int, pa.Buffer]
"""A row of a chunk: chunk, share, number, content."""


class TaskContent:
    """All rows of a task, read from batches in any order.

    The data set is read from ``folder``, if that is given: then no rows are of it.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch], folder: Path | None = None) -> None:
        self._folder = folder
        self._ids: list[np.ndarray] = []
        self._texts: list[pa.Array] = []
        self._facts: dict[int, Candidates] = {}
        self._quads = Gathering()
        self._chunks: dict[int, list[_Row]] = {}
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
        elif part == GRAPHS:
            columns = (rows.column(name).to_numpy().astype(np.uint32) for name in _QUADS)
            self._quads.add(np.stack([*columns], axis=1))
        else:
            columns = (rows.column(name).to_pylist() for name in ("chunk", "share", "id"))
            contents = (content.as_buffer() for content in rows.column("content"))
            self._chunks.setdefault(part, []).extend(zip(*columns, contents, strict=True))

    def data_set(self, *, only_explicit: bool = False) -> EncodedDataSet:
        """The data set. If ``only_explicit``, inferred facts and facts by graph may be missing.

        Raises InputError if its files are damaged.
        """
        if self._folder is not None:
            return Reader(self._folder).data_set(inferred=not only_explicit, by_graph=not only_explicit)
        explicit, known, general = (Delta.gathered(self._facts.pop(part, {})) for part in PARTS_OF_FACTS)
        graphs = _by_graph(self._quads) or None
        return EncodedDataSet(self._dictionary(), explicit, known, graphs=graphs, generalised=general)

    def _dictionary(self) -> TermDictionary:
        ids = np.concatenate(self._ids or [np.empty(0, np.int64)])
        texts = pa.chunked_array(self._texts, pa.large_string()).combine_chunks()
        order = np.argsort(ids)
        ids, texts = ids[order], texts.take(pa.array(order))
        bounds = np.searchsorted(ids, [kind << KIND_SHIFT for kind in Kind]).tolist()
        tables = [_table(texts.slice(bounds[k], bounds[k + 1] - bounds[k])) for k in BULK_KINDS]
        return TermDictionary.of_tables(tables)

    def documents(self, part: int) -> EncodedDataSet:
        """The statements of a part, by graph if their graphs are kept. Ids are ranks by kind and text."""
        rows = self._chunks.pop(part, [])
        terms = sorted((row for row in rows if row[1] is not None), key=lambda row: row[:2])
        numbering = Numbering()
        for *_, content in terms:
            numbering.add(content)
        tables, ids = numbering.finished()
        of_chunk: dict[int, list[Ids]] = {}
        for (chunk, *_), own in zip(terms, ids, strict=True):
            of_chunk.setdefault(chunk, []).append(own)
        parts = [
            np.concatenate(of_chunk[chunk])[statements_in(content, number)]
            for chunk, share, number, content in rows
            if share is None
        ]
        columns = np.concatenate(parts, axis=1) if parts else np.empty((3, 0), np.uint32)
        dictionary, facts = TermDictionary.of_tables(tables), TripleIndex.from_columns(*columns[:3])
        if len(columns) == len(COLUMNS):
            return EncodedDataSet(dictionary, facts)
        quads = Gathering()
        quads.add(columns.T)
        return EncodedDataSet(dictionary, facts, graphs=_by_graph(quads))


def _by_graph(quads: Gathering) -> dict[int, TripleIndex]:
    relations: dict[int, dict[int, Relation]] = {}
    for (graph, predicate), pairs in quads.facts().items():
        relations.setdefault(graph, {})[predicate] = Relation(pairs)
    return {graph: TripleIndex(found) for graph, found in relations.items()}


def _table(texts: pa.Array) -> TextTable:
    content, offsets = content_of(texts)
    return TextTable.of_parts([(content[offsets[0] : offsets[-1]], np.diff(offsets))])
