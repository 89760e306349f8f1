"""Chunks to an encoded data set: terms numbered all together, then the statements of each chunk.

Terms are numbered in the order of their kind and text, so ids are without gaps and depend on nothing but
the set of terms. Statements never meet terms in a join: their chunk's numbers are looked up in an array.

Invariant: files are in the order of their names, and within one rows ascend: terms by id, facts by
predicate, subject and object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corollary.language.errors import CorollaryError
from corollary.loaders.encoded_format import COLUMNS, EXPLICIT, TERMS
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Ids, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_A_FILE = 4_000_000
"""What one task sorts and writes, unless somebody says how many files there are to be."""

FACT_SCHEMA = ", ".join(f"{name} long" for name in COLUMNS)

_PLACE_BITS = 33
"""What Spark's ``monotonically_increasing_id`` has for the place within a partition."""

_WRITING = {"compression": "zstd", "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


@dataclass(frozen=True, slots=True)
class Counts:
    """How many statements and chunks' terms there are, and how many bad lines."""

    statements: int
    chunk_terms: int
    bad: int

    @staticmethod
    def of(chunks: DataFrame) -> Counts:
        """What a table of chunks holds (see ``parsing``)."""
        from pyspark.sql import functions as F

        rows = chunks.groupBy("what").agg(F.count("*"), F.sum("number")).collect()
        found = {what: (rows, total) for what, rows, total in rows}
        return Counts(
            found.get("facts", (0, 0))[1], found.get("term", (0, 0))[0], found.get("bad", (0, 0))[0]
        )


def files_for(rows: int, chunks: DataFrame, files: int | None) -> int:
    """How many files rows are written to."""
    if files is not None:
        return files
    cores: int = chunks.sparkSession.sparkContext.defaultParallelism
    return max(cores, -(-rows // ROWS_A_FILE))


def write_terms(chunks: DataFrame, folder: str, files: int) -> dict[Kind, int]:
    """Number the distinct terms and write them; how many there are of each kind."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as F

    first = F.substring("text", 1, 1)
    kind = F.when(first == "<", int(Kind.IRI)).when(first == "_", int(Kind.BLANK_NODE))
    terms = (
        chunks.where("what = 'term'")
        .select("text")
        .distinct()
        .withColumn("kind", kind.otherwise(int(Kind.LITERAL)))
        .repartitionByRange(files, "kind", "text")
        .sortWithinPartitions("kind", "text")
        .withColumn("place", F.monotonically_increasing_id())
        .persist(StorageLevel.DISK_ONLY)  # places must stay what they are
    )
    part = F.shiftright("place", _PLACE_BITS)
    counted = terms.groupBy(part.alias("part"), "kind").count().collect()
    counts = {k: sum(row["count"] for row in counted if row["kind"] == k) for k in BULK_KINDS}
    for k, count in counts.items():
        if count > INDEX_MASK + 1:
            raise CorollaryError(
                f"{count:,} different terms of kind {k.name}: ids reach to {INDEX_MASK + 1:,}"
            )
    in_parts = [0] * (1 + max((row["part"] for row in counted), default=0))
    for row in counted:
        in_parts[row["part"]] += row["count"]
    before = np.cumsum([0, *in_parts[:-1]]).tolist()
    lower = [sum(counts[k] for k in BULK_KINDS if k < kind) for kind in BULK_KINDS]
    rank = F.lit(before)[part] + F.col("place").bitwiseAND((1 << _PLACE_BITS) - 1)
    term_id = rank - F.lit(lower)[F.col("kind")] + F.shiftleft(F.col("kind").cast("long"), KIND_SHIFT)
    terms.select(term_id.alias("id"), "text").write.options(**_WRITING).parquet(f"{folder}/{TERMS}")
    terms.unpersist()
    return counts


def write_facts(facts: DataFrame, folder: str, part: str, files: int) -> None:
    """Write facts, each once, in the order of predicate, subject and object.

    Ranges of all three are cut so that they are of one size: a predicate that has most of the facts is
    spread over as many tasks as it takes.
    """
    from pyspark import StorageLevel

    facts = facts.persist(StorageLevel.DISK_ONLY)  # they are looked at twice: to cut ranges, and to write
    facts.repartitionByRange(files, *COLUMNS).dropDuplicates().sortWithinPartitions(*COLUMNS).write.options(
        **_WRITING
    ).parquet(f"{folder}/{part}")
    facts.unpersist()


def encode(chunks: DataFrame, terms: DataFrame, folder: str, files: int) -> None:
    """Write the statements of chunks as explicit facts; ``terms`` (id, text) are all their terms."""
    numbers = chunks.where("what = 'term'").select("chunk", "number", "text")
    numbers = numbers.join(terms, "text").select("chunk", "number", "id")
    statements = chunks.where("what = 'facts'").selectExpr("chunk as whole", "statements")
    pairs = statements.groupBy("whole").cogroup(numbers.groupBy("chunk"))
    write_facts(pairs.applyInArrow(_encoded, FACT_SCHEMA), folder, EXPLICIT, files)


def _encoded(statements: pa.Table, numbers: pa.Table) -> pa.Table:
    """The statements of one chunk (a row) over ids, given the ids of its numbers."""
    own = numbers.column("number").to_numpy().astype(np.uint32)
    order = np.argsort(own)
    ids = numbers.column("id").to_numpy()[order]
    starts = np.searchsorted(own[order], [kind << KIND_SHIFT for kind in BULK_KINDS])
    packed = np.frombuffer(statements.column("statements")[0].as_buffer(), np.uint32).reshape(-1, 3)
    columns: dict[str, Ids] = {}
    for name, column in zip(("subject", "predicate", "object"), packed.T, strict=True):
        columns[name] = ids[starts[column >> np.uint32(KIND_SHIFT)] + (column & np.uint32(INDEX_MASK))]
    return pa.table({name: pa.array(columns[name], pa.int64()) for name in COLUMNS})
