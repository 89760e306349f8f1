"""Documents to chunks of statements, by the compiled loops of the local reader, in Arrow batches.

A task numbers the terms of about ``STATEMENTS_PER_CHUNK`` statements locally, and emits a *chunk*: its
distinct terms, packed into one row for each share of terms (``packed_terms``), and the statements as numbers,
packed into one row. The number of a term is its place in the terms of the chunk, by share. The graph names of
statements are dropped, or they are terms like others. That of the default graph is ``DEFAULT_GRAPH`` then,
and the ``position`` of the row is 1 if a statement is in another graph.

All rows are in one table. The column ``what`` is the kind of a row:

    terms   chunk, share, position (the number of the first term), number (of terms), content
    facts   chunk, number (of statements), position, content (``packed_statements``)
    bad     document, block, number (of the line within the block, from 1), position, reason, text
    block   document, block, number (of lines)

A block is the part of a file that one task reads. Its name is the offset of its first byte. Tasks read local
files themselves (``file_parts``). Spark reads those of other file systems.

Invariant: the blank nodes of a chunk are those of one document. If there are several documents, their labels
get the number of the document as a suffix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import compute

from corollary.kernels.byte_texts import Bytes, Places
from corollary.loaders.decoding import column_of, content_of
from corollary.loaders.documents import Document
from corollary.loaders.formats import FORMATS, LINE_FORMATS, FileKind, format_of, input_error
from corollary.loaders.line_kernel import TERMS
from corollary.loaders.ntriples import BadLine, Statements, parse_chunk
from corollary.loaders.reading import document_rows
from corollary.loaders.spark.file_parts import Part, tasks_for
from corollary.loaders.spark.packed_facts import AS_IS, CODEC
from corollary.loaders.spark.packed_terms import cut_into_shares, places_of
from corollary.loaders.spark.storage import FileStatus, Storage
from corollary.loaders.spark.tuning import BYTES_PER_CHUNK, BYTES_PER_SHARE, STATEMENTS_PER_CHUNK
from corollary.loaders.tuning import USUAL_COMPRESSION
from corollary.reasoner.term_format import DEFAULT_GRAPH
from corollary.terms.dictionary import INDEX_MASK, KIND_SHIFT, Ids, Kind, TermDictionary

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession


COLUMNS = (
    ("what", "string", pa.string()),
    ("chunk", "long", pa.int64()),
    ("share", "int", pa.int32()),
    ("number", "long", pa.int64()),
    ("content", "binary", pa.binary()),
    ("document", "int", pa.int32()),
    ("block", "long", pa.int64()),
    ("position", "int", pa.int32()),
    ("reason", "string", pa.string()),
    ("text", "string", pa.string()),
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

    @property
    def may_name_graphs(self) -> bool:
        return FORMATS[self.format].supports_datasets

    def part(self) -> Part | None:
        """The whole file, if tasks read it; None if Spark does."""
        path, compression = self.file.local, FileKind.of(self.file.path).compression
        if path is None or not self.is_lines:
            return None
        return Part(self.number, path, compression, 0, self.file.size, self.file.size)


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


def shares_for(documents: list[Source], spark: SparkSession, files: int | None) -> int:
    """The number of shares of the terms of documents: ``files`` if given, else at least one per core."""
    cores: int = spark.sparkContext.defaultParallelism
    return max(cores, shares_that_suit(documents)) if files is None else files


def shares_that_suit(documents: list[Source]) -> int:
    """The number of shares of terms that the size of the documents asks for."""
    sizes = (
        s.file.size * (USUAL_COMPRESSION if FileKind.of(s.file.path).compression else 1) for s in documents
    )
    return -(-sum(sizes) // BYTES_PER_SHARE)


def parsed(
    spark: SparkSession,
    documents: list[Source],
    prefixes: dict[str, str],
    shares: int,
    suffix: str = "",
    *,
    graphs: bool = False,
) -> DataFrame:
    """The table of rows described above, as a lazy DataFrame. Labels of blank nodes get a ``suffix``, too.

    With ``graphs``, statements keep the names of their graphs.

    Documents in other formats than N-Triples and N-Quads are parsed at once, on the driver; they should be
    ontologies. Their first declaration of each prefix is added to ``prefixes``. Raises InputError for a
    syntax error in such a document.
    """
    if not documents:
        return spark.createDataFrame([], SCHEMA)
    formats = {source.number: source.format if source.is_lines else "nq" for source in documents}
    parsing = _Parsing(formats, suffix, shares, graphs)
    found: list[DataFrame] = []
    whole = [part for source in documents if (part := source.part()) is not None]
    if whole:
        tasks = tasks_for(whole, spark.sparkContext.defaultParallelism)
        read = parsing.reader(spark.sparkContext.broadcast(tasks))
        found.append(spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(read, SCHEMA))
    lines, keys = _lines(spark, [source for source in documents if source.part() is None], prefixes)
    if lines is not None:
        found.append(lines.mapInArrow(parsing.parser(keys), SCHEMA))
    return reduce(_union, found)


def chunks_in(rows: DataFrame, path: str) -> DataFrame:
    """The rows, which are made once and written to a new folder."""
    rows.write.options(**AS_IS).parquet(path)
    return rows.sparkSession.read.schema(SCHEMA).parquet(path)


def _lines(
    spark: SparkSession, documents: list[Source], prefixes: dict[str, str]
) -> tuple[DataFrame | None, dict[int, int]]:
    """The lines that Spark or the driver reads (text, document, block), and the numbers of their documents.

    The column ``document`` has keys, which the numbers are for.
    """
    from pyspark.sql import functions as F

    text_files = [source for source in documents if source.is_lines]
    others = [source for source in documents if not source.is_lines]
    keys: dict[int, int] = {-source.number: source.number for source in others}
    found: list[DataFrame] = []
    if text_files:
        by_uri = spark.createDataFrame(
            pa.table({"number": [s.number for s in text_files], "uri": [s.file.uri for s in text_files]})
        )
        keys |= {row[0]: row[1] for row in by_uri.select(F.xxhash64("uri"), "number").collect()}
        assert len(keys) == len(documents), "two addresses have the same hash"
        # A line ends in LF only, as in ``line_kernel``.
        read = spark.read.option("lineSep", "\n").text([source.file.path for source in text_files])
        found.append(
            read.select(
                F.concat("value", F.lit("\n")).alias("text"),
                F.xxhash64("_metadata.file_path").alias("document"),
                F.col("_metadata.file_block_start").alias("block"),
            )
        )
    if others:
        tables = [_converted(spark, source, -source.number, prefixes) for source in others]
        found.append(spark.createDataFrame(pa.concat_tables(tables)))
    return (reduce(_union, found) if found else None), keys


def _union(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionAll(other)


def _converted(spark: SparkSession, source: Source, key: int, prefixes: dict[str, str]) -> pa.Table:
    """Convert a document in another format to lines of N-Quads."""
    content = _content(spark, source.file)
    document = replace(
        Document.in_file(source.file.path, source.format), base=source.file.uri, content=content
    )
    dictionary = TermDictionary()
    lines: list[str] = []
    declared: dict[str, str] = {}
    default = dictionary.encode(DEFAULT_GRAPH)
    for rows, _ in document_rows(document, dictionary, graph=default, prefixes=declared):
        texts = dictionary.decode_all(rows.ravel().tolist())
        lines += [f"{' '.join(quad)} .\n" for quad in zip(*[iter(texts)] * TERMS, strict=True)]
    for prefix, namespace in declared.items():
        prefixes.setdefault(prefix, namespace)
    return pa.table(
        {
            "text": pa.array(lines, pa.string()),
            "document": pa.array([key] * len(lines), pa.int64()),
            "block": pa.array([0] * len(lines), pa.int64()),
        }
    )


def _content(spark: SparkSession, file: FileStatus) -> bytes:
    if file.local is not None:
        return file.local.read_bytes()
    row = spark.read.format("binaryFile").load(file.path).select("content").first()
    assert row is not None
    return bytes(row[0])


Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class _Parsing:
    """What tasks need to know: formats by number of document, a suffix of labels, the number of shares.

    ``graphs``: the names of graphs are kept.
    """

    formats: Mapping[int, str]
    suffix: str
    shares: int
    graphs: bool = False

    def reader(self, tasks: Broadcast[list[list[Part]]]) -> Callable[[Batches], Batches]:
        """The function for the executors that reads the files of tasks, given the numbers of the tasks."""

        def read(batches: Batches) -> Batches:
            task = self._task()
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from task.read(tasks.value[number])

        return read

    def parser(self, keys: dict[int, int]) -> Callable[[Batches], Batches]:
        """The function for the executors that parses lines; ``keys`` are those of ``_lines``."""

        def parse(batches: Batches) -> Batches:
            yield from self._task().rows(batches, keys)

        return parse

    def _task(self) -> _Task:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        return _Task(context.partitionId(), self)


class _Task:
    """The state of one task, which emits its chunks one after the other."""

    def __init__(self, partition: int, parsing: _Parsing) -> None:
        self._next_chunk = partition << 32
        self._parsing = parsing
        self._document = 0
        self._block = 0
        self._lines = 0
        self._dictionary = TermDictionary()
        self._statements: list[Ids] = []
        self._size = 0
        self._bytes = 0

    def rows(self, batches: Batches, keys: dict[int, int]) -> Batches:
        """Parse lines and yield all rows of the table for them."""
        for batch in batches:
            of_line, blocks = (batch.column(name).to_numpy() for name in ("document", "block"))
            changes = np.flatnonzero((of_line[1:] != of_line[:-1]) | (blocks[1:] != blocks[:-1])) + 1
            for start, end in pairwise([0, *changes.tolist(), len(of_line)]):
                if start == end:
                    continue
                yield from self._enter(keys[int(of_line[start])], int(blocks[start]))
                content, offsets = content_of(batch.column("text").slice(start, end - start))
                text = content[offsets[0] : offsets[-1]].copy()  # kernels need writable arrays
                yield from self._parse(text)
        yield from self._enter(0, 0)

    def read(self, parts: Iterable[Part]) -> Batches:
        """Read parts of files and yield all rows of the table for them. Raises InputError."""
        for part in parts:
            yield from self._enter(part.document, part.start)
            for text in part.chunks():
                yield from self._parse(text)
        yield from self._enter(0, 0)

    def _enter(self, document: int, block: int) -> Batches:
        """Continue with a block. If it is another than the present one, emit the row of the latter."""
        if (document, block) == (self._document, self._block):
            return
        if self._lines:
            yield _rows(1, what="block", document=self._document, block=self._block, number=[self._lines])
        if document != self._document and (not document or self._dictionary.count(Kind.BLANK_NODE)):
            yield from self._flush()
        self._document, self._block, self._lines = document, block, 0

    def _parse(self, text: Bytes) -> Batches:
        format = FORMATS[self._parsing.formats[self._document]]
        statements = parse_chunk(text, format, graphs=self._parsing.graphs)
        self._statements.append(self._ids(statements))
        self._size += len(statements)
        self._bytes += text.size
        if statements.bad:
            yield self._bad(statements.bad)
        self._lines += statements.lines
        if self._size >= STATEMENTS_PER_CHUNK or self._bytes >= BYTES_PER_CHUNK:
            yield from self._flush()

    def _ids(self, statements: Statements) -> Ids:
        """The ids of statements' terms, one row for each statement: with its graph if graphs are kept."""
        texts, places = statements.texts, statements.places.reshape(-1, TERMS)
        ids: Ids = np.empty(texts.starts.size, np.uint32)
        self._dictionary.encode_texts(texts, ids)
        if not self._parsing.graphs:
            return ids[places[:, : TERMS - 1]]
        if not places[:, TERMS - 1].all():
            ids[0] = self._dictionary.encode(DEFAULT_GRAPH)
        return ids[places]

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
        content, places, counts = self._texts()
        shares, place_of = cut_into_shares(content, places, counts, self._parsing.shares)
        first = 0
        for share, number, packed in shares:
            of_chunk = {"what": "terms", "chunk": self._next_chunk, "share": share, "position": first}
            yield _rows(1, number=[number], content=[packed], **of_chunk)
            first += number
        ids = np.concatenate(self._statements)
        starts = np.cumsum([0, *counts])
        numbers = place_of[starts[ids >> np.uint32(KIND_SHIFT)] + (ids & np.uint32(INDEX_MASK))]
        of_chunk = {"what": "facts", "chunk": self._next_chunk, "position": int(self._has_names(ids))}
        yield _rows(1, number=[self._size], content=[packed_statements(numbers)], **of_chunk)
        self._next_chunk += 1
        self._dictionary, self._statements, self._size, self._bytes = TermDictionary(), [], 0, 0

    def _has_names(self, ids: Ids) -> bool:
        """Whether a statement is in another graph than the default one."""
        default = self._dictionary.find(DEFAULT_GRAPH)
        return ids.shape[1] == TERMS and (default is None or bool((ids[:, -1] != default).any()))

    def _texts(self) -> tuple[Bytes, Places, list[int]]:
        """The terms of the present chunk by kind, end to end; where they begin and end; their numbers."""
        tables = self._dictionary.tables()
        suffix = (f"-{self._document}" if len(self._parsing.formats) > 1 else "") + self._parsing.suffix
        parts = [table.texts_of(np.arange(len(table))) for table in tables]
        if suffix:
            ends = (pa.scalar(end, pa.large_string()) for end in (suffix, ""))
            labels = compute.binary_join_element_wise(column_of(*parts[Kind.BLANK_NODE]), *ends)
            parts[Kind.BLANK_NODE] = content_of(labels)
        places = places_of(np.concatenate([np.diff(ends) for _, ends in parts]))
        content = np.concatenate([texts[ends[0] : ends[-1]] for texts, ends in parts])
        return content, places, [len(table) for table in tables]


def packed_statements(numbers: Ids) -> bytes:
    """A chunk's statements as bytes, given the numbers of their terms: shape (n, 3), with graphs (n, 4)."""
    compressed: bytes = CODEC.compress(np.ascontiguousarray(numbers.T).tobytes(), asbytes=True)
    return bytes([numbers.shape[1]]) + compressed


def statements_in(packed: bytes | pa.Buffer, number: int) -> Ids:
    """What ``packed_statements`` took, by column: subjects, predicates, objects, and graphs if kept."""
    content = pa.py_buffer(packed)
    plain = CODEC.decompress(content.slice(1), 4 * content[0] * number)
    return np.frombuffer(plain, np.uint32).reshape(content[0], number)


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
