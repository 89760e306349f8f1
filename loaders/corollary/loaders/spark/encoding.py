"""Terms and facts by joins and sorts of Spark: for changes of a data set, whose terms are known already.

A load numbers terms by itself (``many_tasks``).

Invariant: rows ascend within a file, and over the files in the order of their names: terms by id,
facts by predicate, subject and object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corollary.language.errors import CorollaryError
from corollary.loaders.encoded_format import COLUMNS, TERMS
from corollary.loaders.spark.packed_terms import texts_in
from corollary.loaders.spark.parse_chunks import statements_in
from corollary.loaders.spark.tuning import MANY_TIMES, MAX_ROWS_PER_FILE
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


QUADS = ("graph", *COLUMNS)
"""The columns of facts by graph."""

FACT_SCHEMA, QUAD_SCHEMA = (", ".join(f"{name} long" for name in columns) for columns in (COLUMNS, QUADS))

NO_TERMS: Mapping[Kind, int] = dict.fromkeys(BULK_KINDS, 0)

_PLACE_BITS = 33
"""Number of low bits of Spark's ``monotonically_increasing_id`` that hold the row within a partition."""

_WRITING = {"compression": "zstd", "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of statements, and of bad lines; whether a statement is in a named graph."""

    statements: int
    bad: int
    has_names: bool

    @staticmethod
    def of(chunks: DataFrame) -> Counts:
        """The counts of a table of chunks (see ``parse_chunks``)."""
        from pyspark.sql import functions as F

        rows = chunks.groupBy("what").agg(F.count("*"), F.sum("number"), F.max("position")).collect()
        found = {what: numbers for what, *numbers in rows}
        (_, statements, has_names), (bad, *_) = (found.get(what, (0, 0, 0)) for what in ("facts", "bad"))
        return Counts(statements, bad, bool(has_names))


def files_for(rows: int, chunks: DataFrame, files: int | None) -> int:
    """The number of files to write ``rows`` rows to: ``files`` if given, else at least one per core."""
    if files is not None:
        return files
    cores: int = chunks.sparkSession.sparkContext.defaultParallelism
    return max(cores, -(-rows // MAX_ROWS_PER_FILE))


def warn_of_few_files(files: int | None, suits: int, notify: Callable[[str], None]) -> None:
    """Say so if ``files`` are given, and far fewer than those that suit the data."""
    if files is not None and files * MANY_TIMES < suits:
        notify(
            f"--files {files} is few for so much: {suits} would suit. A task holds its part in memory, and "
            "makes a file of at most 2 GB"
        )


def write_terms(
    texts: DataFrame, folder: str, files: int, known: Mapping[Kind, int] = NO_TERMS
) -> dict[Kind, int]:
    """Number the distinct texts, after the ``known`` terms, and write them. Returns their number by kind.

    Precondition: no text is known. Raises CorollaryError if a kind has more terms than ids.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as F

    first = F.substring("text", 1, 1)
    kind = F.when(first == "<", int(Kind.IRI)).when(first == "_", int(Kind.BLANK_NODE))
    terms = (
        texts.distinct()
        .withColumn("kind", kind.otherwise(int(Kind.LITERAL)))
        .repartitionByRange(files, "kind", "text")
        .sortWithinPartitions("kind", "text")
        .withColumn("place", F.monotonically_increasing_id())
        .persist(StorageLevel.DISK_ONLY)  # recomputation could change the places
    )
    part = F.shiftright("place", _PLACE_BITS)
    counted = terms.groupBy(part.alias("part"), "kind").count().collect()
    counts = {k: sum(row["count"] for row in counted if row["kind"] == k) for k in BULK_KINDS}
    refuse_too_many({k: known[k] + count for k, count in counts.items()})
    in_parts = [0] * (1 + max((row["part"] for row in counted), default=0))
    for row in counted:
        in_parts[row["part"]] += row["count"]
    before = np.cumsum([0, *in_parts[:-1]]).tolist()
    lower = [sum(counts[k] for k in BULK_KINDS if k < kind) - known[kind] for kind in BULK_KINDS]
    rank = F.lit(before)[part] + F.col("place").bitwiseAND((1 << _PLACE_BITS) - 1)
    term_id = rank - F.lit(lower)[F.col("kind")] + F.shiftleft(F.col("kind").cast("long"), KIND_SHIFT)
    terms.select(term_id.alias("id"), "text").write.options(**_WRITING).parquet(f"{folder}/{TERMS}")
    terms.unpersist()
    return counts


def refuse_too_many(counts: dict[Kind, int]) -> None:
    """Raise CorollaryError if a kind has more terms than ids."""
    for kind, count in counts.items():
        if count > INDEX_MASK + 1:
            raise CorollaryError(
                f"{count:,} different terms of kind {kind.name}: ids reach to {INDEX_MASK + 1:,}"
            )


def write_facts(
    facts: DataFrame, folder: str, part: str, files: int, columns: Sequence[str] = COLUMNS
) -> None:
    """Write the distinct facts, sorted by predicate, subject and object: by their ``columns`` in order.

    Facts are partitioned into ranges of all columns of about equal size: a predicate with most of the facts
    is distributed over several tasks.
    """
    from pyspark import StorageLevel

    facts = facts.persist(StorageLevel.DISK_ONLY)  # read twice: to sample ranges, and to write
    in_order = facts.repartitionByRange(files, *columns).dropDuplicates().sortWithinPartitions(*columns)
    in_order.select(*columns).write.options(**_WRITING).parquet(f"{folder}/{part}")
    facts.unpersist()


TERM_ROWS = "chunk long, number long, text string"


def terms_of(chunks: DataFrame) -> DataFrame:
    """The terms of all chunks, with duplicates: chunk, number (of the term within the chunk), text."""
    rows = chunks.where("what = 'terms'").selectExpr("chunk", "position", "content")
    return rows.mapInArrow(_terms, TERM_ROWS)


def _terms(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for chunk, first, content in zip(*map(batch.column, range(3)), strict=True):
            texts, _ = texts_in(content.as_buffer())
            numbers = np.arange(first.as_py(), first.as_py() + len(texts), dtype=np.int64)
            columns = [pa.repeat(chunk, len(texts)), pa.array(numbers), texts.cast(pa.string())]
            yield pa.RecordBatch.from_arrays(columns, names=["chunk", "number", "text"])


def encoded(chunks: DataFrame, terms: DataFrame, *, graphs: bool = False) -> DataFrame:
    """The statements of all chunks as facts, with duplicates. ``terms`` (id, text) has all their terms.

    With ``graphs``, which the chunks must have then, facts have a graph.
    """
    numbers = terms_of(chunks).join(terms, "text").select("chunk", "number", "id")
    statements = chunks.where("what = 'facts'").selectExpr("chunk as whole", "number", "content")
    pairs = statements.groupBy("whole").cogroup(numbers.groupBy("chunk"))
    return pairs.applyInArrow(_encoded, QUAD_SCHEMA if graphs else FACT_SCHEMA)


def _encoded(statements: pa.Table, numbers: pa.Table) -> pa.Table:
    """Translate the statements of one chunk (a row) to global ids. ``numbers`` has the ids of its numbers."""
    ids = np.empty(numbers.num_rows, np.int64)
    ids[numbers.column("number").to_numpy()] = numbers.column("id").to_numpy()
    packed = statements.column("content")[0].as_buffer()
    columns = ids[statements_in(packed, statements.column("number")[0].as_py())]
    named = zip(("subject", "predicate", "object", "graph"), columns, strict=False)
    found = {name: pa.array(column, pa.int64()) for name, column in named}
    return pa.table({name: found[name] for name in QUADS if name in found})
