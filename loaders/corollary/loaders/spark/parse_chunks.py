"""Documents to chunks of statements, by the compiled loops of the local reader, in Arrow batches.

A task numbers the terms of about ``STATEMENTS_PER_CHUNK`` statements locally, and emits a *chunk*: the
distinct terms, one row each, and the statements as numbers, packed into one row. So a term that occurs in
every statement is shuffled and joined once per chunk.

All rows are in one table. The column ``what`` is the kind of a row:

    term    chunk, number (of a term within the chunk), text
    facts   chunk, number (of statements), statements (uint32 subject, predicate, object, concatenated)
    bad     document, block, number (of the line within the block, from 1), position, reason, text
    block   document, block, number (of lines)

A block is the part of a file that one task reads. Its name is the offset of its first byte.

Invariant: a chunk has statements of one document. If there are several documents, the labels of blank nodes
get the number of the document as a suffix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import compute
from pyoxigraph import RdfFormat

from corollary.kernels.byte_texts import Bytes
from corollary.loaders.decoding import content_of
from corollary.loaders.documents import Document
from corollary.loaders.formats import FORMATS, LINE_FORMATS, FileKind, format_of, input_error
from corollary.loaders.line_kernel import TERMS
from corollary.loaders.ntriples import BadLine, parse_chunk
from corollary.loaders.reading import document_rows
from corollary.loaders.spark.storage import FileStatus, Storage
from corollary.loaders.spark.tuning import BYTES_PER_CHUNK, STATEMENTS_PER_CHUNK
from corollary.terms.dictionary import BULK_KINDS, KIND_SHIFT, Ids, Kind, TermDictionary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


COLUMNS = (
    ("what", "string", pa.string()),
    ("chunk", "long", pa.int64()),
    ("number", "long", pa.int64()),
    ("text", "string", pa.string()),
    ("statements", "binary", pa.binary()),
    ("document", "int", pa.int32()),
    ("block", "long", pa.int64()),
    ("position", "int", pa.int32()),
    ("reason", "string", pa.string()),
)
SCHEMA = ", ".join(f"{name} {type_name}" for name, type_name, _ in COLUMNS)

_ARROW = pa.schema([(name, arrow) for name, _, arrow in COLUMNS])


@dataclass(frozen=True, slots=True)
class Source:
    """A document to load, and its number, from 1."""

    number: int
    file: FileStatus
    format: str

    @property
    def is_lines(self) -> bool:
        return FORMATS[self.format] in LINE_FORMATS


def sources(storage: Storage, inputs: Iterable[str], format: str | None) -> list[Source]:
    """The documents in files, folders (by suffix) and patterns, in the order of their names.

    ``format`` is for names without a known suffix. Raises InputError, with a remedy, if an input has no
    files.
    """
    found: dict[str, FileStatus] = {}
    for path in inputs:
        files = storage.files(path)
        if storage.is_folder(path):
            files = [f for f in files if format is not None or FileKind.of(f.path).suffix in FORMATS]
        if not files:
            raise input_error(f"{path}: no RDF files are there", "name files, folders of them, or patterns")
        found.update((file.path, file) for file in files)
    return [
        Source(number, found[path], _format_name(path, format))
        for number, path in enumerate(sorted(found), start=1)
    ]


def _format_name(path: str, format: str | None) -> str:
    kind = FileKind.of(path)
    suffix = kind.suffix if kind.suffix in FORMATS else None
    named = format_of(path, format if suffix is None else suffix)
    return next(name for name, known in FORMATS.items() if known == named)


def parsed(
    spark: SparkSession, documents: list[Source], prefixes: dict[str, str], suffix: str = ""
) -> DataFrame:
    """The table of rows described above, as a lazy DataFrame. Labels of blank nodes get a ``suffix``, too.

    Documents in other formats than N-Triples and N-Quads are parsed at once, on the driver; they should be
    ontologies. Their first declaration of each prefix is added to ``prefixes``. Raises InputError for a
    syntax error in such a document.
    """
    from pyspark.sql import functions as F

    if not documents:
        return spark.createDataFrame([], SCHEMA)
    text_files = [source for source in documents if source.is_lines]
    others = [source for source in documents if not source.is_lines]
    by_uri = spark.createDataFrame(
        pa.table({"number": [s.number for s in documents], "uri": [s.file.uri for s in documents]})
    )
    keys = {row[0]: row[1] for row in by_uri.select(F.xxhash64("uri"), "number").collect()}
    assert len(keys) == len(documents), "two addresses have the same hash"
    format_of_number = {source.number: source.format for source in documents}
    formats = {key: format_of_number[number] for key, number in keys.items()}
    parts: list[DataFrame] = []
    if text_files:
        # A line ends in LF only, as in ``line_kernel``.
        read = spark.read.option("lineSep", "\n").text([source.file.path for source in text_files])
        parts.append(
            read.select(
                F.concat("value", F.lit("\n")).alias("text"),
                F.xxhash64("_metadata.file_path").alias("document"),
                F.col("_metadata.file_block_start").alias("block"),
            )
        )
    if others:
        key_of = {number: key for key, number in keys.items()}
        tables = [_converted(spark, source, key_of[source.number], prefixes) for source in others]
        formats.update({key_of[source.number]: "nt" for source in others})
        parts.append(spark.createDataFrame(pa.concat_tables(tables)))
    lines = parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])
    return lines.mapInArrow(_parser(keys, formats, suffix), SCHEMA)


def _converted(spark: SparkSession, source: Source, key: int, prefixes: dict[str, str]) -> pa.Table:
    """Convert a document in another format to lines of N-Triples. ``key`` is the hash of its address."""
    content = spark.read.format("binaryFile").load(source.file.path).select("content").first()
    assert content is not None
    document = replace(
        Document.in_file(source.file.path, source.format), base=source.file.uri, content=bytes(content[0])
    )
    dictionary = TermDictionary()
    lines: list[str] = []
    declared: dict[str, str] = {}
    for rows, _ in document_rows(document, dictionary, prefixes=declared):
        texts = dictionary.decode_all(rows.ravel().tolist())
        lines += [f"{s} {p} {o} .\n" for s, p, o in zip(*[iter(texts)] * 3, strict=True)]
    for prefix, namespace in declared.items():
        prefixes.setdefault(prefix, namespace)
    return pa.table(
        {
            "text": pa.array(lines, pa.string()),
            "document": pa.array([key] * len(lines), pa.int64()),
            "block": pa.array([0] * len(lines), pa.int64()),
        }
    )


Batches = Iterator[pa.RecordBatch]


def _parser(keys: dict[int, int], formats: dict[int, str], suffix: str) -> Callable[[Batches], Batches]:
    """The function for the executors: parses lines with the columns text, document (its key), block."""

    def parse(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        yield from _Task(context.partitionId(), keys, formats, suffix).rows(batches)

    return parse


class _Task:
    """The state of one task, which emits its chunks one after the other."""

    def __init__(
        self, partition: int, keys: dict[int, int], formats: dict[int, str], suffix: str = ""
    ) -> None:
        self._next_chunk = partition << 32
        self._keys = keys
        self._formats = formats
        self._many = len(keys) > 1
        self._suffix = suffix
        self._document = 0
        self._block = 0
        self._lines = 0
        self._dictionary = TermDictionary()
        self._statements: list[Ids] = []
        self._size = 0
        self._bytes = 0

    def rows(self, batches: Batches) -> Batches:
        """Parse lines and yield all rows of the table for them."""
        for batch in batches:
            keys, blocks = (batch.column(name).to_numpy() for name in ("document", "block"))
            changes = np.flatnonzero((keys[1:] != keys[:-1]) | (blocks[1:] != blocks[:-1])) + 1
            for start, end in pairwise([0, *changes.tolist(), len(keys)]):
                if start == end:
                    continue
                yield from self._enter(self._keys[int(keys[start])], int(blocks[start]))
                content, offsets = content_of(batch.column("text").slice(start, end - start))
                text = content[offsets[0] : offsets[-1]].copy()  # kernels need writable arrays
                yield from self._parse(text, FORMATS[self._formats[int(keys[start])]])
                if self._size >= STATEMENTS_PER_CHUNK or self._bytes >= BYTES_PER_CHUNK:
                    yield from self._flush()
        yield from self._enter(0, 0)

    def _enter(self, document: int, block: int) -> Batches:
        """Continue with a block. If it is another than the present one, emit the row of the latter."""
        if (document, block) == (self._document, self._block):
            return
        if self._lines:
            yield _rows(1, what="block", document=self._document, block=self._block, number=[self._lines])
        if document != self._document:
            yield from self._flush()
        self._document, self._block, self._lines = document, block, 0

    def _parse(self, text: Bytes, format: RdfFormat) -> Batches:
        statements = parse_chunk(text, format)
        texts = statements.texts
        texts.lengths[TERMS - 1 :: TERMS] = 0  # graph names are dropped
        ids: Ids = np.empty(texts.starts.size, np.uint32)
        self._dictionary.encode_texts(texts, ids)
        self._statements.append(ids.reshape(-1, TERMS)[:, : TERMS - 1])
        self._size += len(statements)
        self._bytes += text.size
        if statements.bad:
            yield self._bad(statements.bad)
        self._lines += statements.lines

    def _bad(self, lines: list[BadLine]) -> pa.RecordBatch:
        return _rows(
            len(lines),
            what="bad",
            document=self._document,
            block=self._block,
            number=[self._lines + bad.line for bad in lines],
            position=[bad.column for bad in lines],
            reason=[bad.reason for bad in lines],
            text=[bad.text for bad in lines],
        )

    def _flush(self) -> Batches:
        """Emit the present chunk, unless it is empty."""
        if not self._size:
            return
        for kind, table in zip(BULK_KINDS, self._dictionary.tables(), strict=True):
            if len(table):
                content, places = table.texts_of(np.arange(len(table)))
                offsets = places.astype(np.int32)  # no overflow: BYTES_PER_CHUNK < 2 ** 31
                texts = pa.StringArray.from_buffers(len(table), pa.py_buffer(offsets), pa.py_buffer(content))
                suffix = (f"-{self._document}" if self._many else "") + self._suffix
                if kind == Kind.BLANK_NODE and suffix:
                    texts = compute.binary_join_element_wise(texts, suffix, "")
                numbers = np.arange(len(table), dtype=np.int64) + (kind << KIND_SHIFT)
                yield _rows(len(table), what="term", chunk=self._next_chunk, number=numbers, text=texts)
        packed = np.concatenate(self._statements).tobytes()
        yield _rows(1, what="facts", chunk=self._next_chunk, number=[self._size], statements=[packed])
        self._next_chunk += 1
        self._dictionary, self._statements, self._size, self._bytes = TermDictionary(), [], 0, 0


def _rows(size: int, **columns: object) -> pa.RecordBatch:
    """Rows of the table. Single values are repeated; columns that are not given are null."""
    arrays = []
    for name, _, type_ in COLUMNS:
        values = columns.get(name)
        if values is None:
            arrays.append(pa.nulls(size, type_))
        elif isinstance(values, str | int):
            arrays.append(pa.repeat(pa.scalar(values, type_), size))
        else:
            arrays.append(pa.array(values, type_))
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
