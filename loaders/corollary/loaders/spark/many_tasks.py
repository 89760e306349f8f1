"""Chunks to an encoded data set in many tasks: terms are numbered share by share, then statements translated.

1. A task numbers the distinct terms of a share (``packed_terms``), and hands out the ids of each chunk's
   terms within the share.
2. The driver counts: the ids of a share come after those of the shares before it. Terms are never sorted as a
   whole, and no statement is joined with terms.
3. Tasks make the files of terms.
4. Tasks look up the numbers of their chunks' statements in arrays of ids, sort the facts, and draw a sample,
   which bounds the files of facts.
5. Facts are cut at the bounds, and tasks make the files.

Between tasks go rows of bytes; the driver writes the files. What tasks wrote is Spark's to commit, so a task
that is killed, repeated or speculative leaves nothing that is read.

Invariant: ids depend on the set of terms and the number of shares only. Rows ascend within a file, and over
the files in the order of their names: terms by id, facts by predicate, subject and object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corollary.columns import Candidates
from corollary.columns.delta import Delta
from corollary.columns.pairs import pack
from corollary.columns.triples import grouped
from corollary.kernels.sorted import Keys
from corollary.loaders.encoded import of_size
from corollary.loaders.encoded_format import EXPLICIT, TERMS
from corollary.loaders.spark.encoded_tables import Files, take_files
from corollary.loaders.spark.encoding import refuse_too_many
from corollary.loaders.spark.packed_facts import AS_IS, CODEC, ROWS, packed_rows, row, slots_for, unpacked
from corollary.loaders.spark.packed_terms import Numbering, packed, texts_in
from corollary.loaders.spark.parse_chunks import statements_in
from corollary.loaders.spark.partition_task import FILES, Batches, Fact, bounds_of, cut_at, file_row, written
from corollary.loaders.spark.tuning import FACTS_PER_SAMPLE
from corollary.loaders.tuning import ROWS_PER_GROUP
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Bases = list[list[int]]
"""By share and kind: the global id of the first term."""

NUMBERED = "what string, share int, key long, number long, content binary"
"""The rows of a numbered share. ``ids``: those of the terms of the chunk ``key``. ``texts``: terms, from the
id ``key`` on. ``number`` is that of the terms; ids are those within the share."""

IDS, TEXTS, SAMPLE = "ids", "texts", "sample"

_NUMBERED = pa.schema(
    [
        ("what", pa.string()),
        ("share", pa.int32()),
        ("key", pa.int64()),
        ("number", pa.int64()),
        ("content", pa.binary()),
    ]
)


class NumberedTerms:
    """The terms of a table of chunks (``parse_chunks``), numbered by share."""

    def __init__(self, chunks: DataFrame, shares: int, scratch: str) -> None:
        """Number them. ``scratch`` is a folder. Raises CorollaryError if a kind has more terms than ids."""
        from pyspark.sql import functions as F

        self._chunks, self._scratch, self._shares = chunks, scratch, shares
        self._spark = chunks.sparkSession
        self._slots = slots_for(self._spark, shares)
        terms = chunks.where("what = 'terms'").select("share", "chunk", "content")
        rows = self._by_share(terms).mapInArrow(_numbered, NUMBERED)
        rows.write.options(**AS_IS).parquet(f"{scratch}/numbered")
        self._rows = self._spark.read.schema(NUMBERED).parquet(f"{scratch}/numbered")
        kind = F.shiftright("key", KIND_SHIFT).cast("int").alias("kind")
        texts = self._rows.where(f"what = '{TEXTS}'").groupBy("share", kind).agg(F.sum("number"))
        sizes = np.zeros((shares, len(BULK_KINDS)), np.int64)
        for share, of_kind, size in texts.collect():
            sizes[share, of_kind] = size
        self.counts = {kind: int(sizes[:, kind].sum()) for kind in BULK_KINDS}
        refuse_too_many(self.counts)
        firsts = np.cumsum(sizes, axis=0) - sizes + (np.array(BULK_KINDS, np.int64) << KIND_SHIFT)
        self._bases: Bases = firsts.tolist()

    def write(self, folder: str) -> Files:
        """Write the files of terms. Returns the manifest's entries."""
        texts = self._by_share(self._rows.where(f"what = '{TEXTS}'").select("share", "key", "content"))
        return take_files(texts.mapInArrow(_files_of_terms(self._bases), FILES), self._scratch, folder)

    def write_statements(self, folder: str, files: int) -> Files:
        """Write the statements of all chunks as explicit facts. Returns the manifest's entries."""
        statements = self._chunks.where("what = 'facts'")
        statements = statements.selectExpr("what", "share", "chunk AS key", "number", "content")
        rows = statements.unionAll(self._rows.where(f"what = '{IDS}'")).repartition(files, "key")
        path = f"{self._scratch}/translated"
        rows.mapInArrow(_translated(self._bases), ROWS).write.options(**AS_IS).parquet(path)
        facts = self._spark.read.schema(ROWS).parquet(path)
        drawn = facts.where(f"what = '{SAMPLE}'").collect()
        sample = sorted(tuple(fact) for each in drawn for fact in json.loads(bytes(each.content)))
        bounds = bounds_of(sample, files)
        cut = facts.where(f"what = '{EXPLICIT}'").mapInArrow(_into_files(bounds), ROWS)
        return take_files(cut.repartition(files, "target").mapInArrow(written, FILES), self._scratch, folder)

    def _by_share(self, rows: DataFrame) -> DataFrame:
        """The rows, with those of each share in a task of their own."""
        from pyspark.sql import functions as F

        slot = F.lit(list(self._slots))[F.col("share")]
        return rows.withColumn("slot", slot).repartition(self._shares, "slot").drop("slot")


def _numbered(batches: Batches) -> Batches:
    """From the terms of chunks (share, chunk, content) to numbered shares."""
    held: dict[int, tuple[Numbering, list[int]]] = {}
    for share, chunk, content in _rows_of(batches):
        numbering, chunks = held.setdefault(share, (Numbering(), []))
        numbering.add(content)
        chunks.append(chunk)
    for share in sorted(held):
        numbering, chunks = held.pop(share)
        tables, ids = numbering.finished()
        for kind, table in zip(BULK_KINDS, tables, strict=True):
            first = kind << KIND_SHIFT
            for content, lengths in table.parts():
                counts = [lengths.size if kind == other else 0 for other in BULK_KINDS]
                yield _row(TEXTS, share, first, lengths.size, packed(content, lengths, counts))
                first += lengths.size
        for chunk, own in zip(chunks, ids, strict=True):
            yield _row(IDS, share, chunk, own.size, CODEC.compress(own.tobytes(), asbytes=True))


def _row(what: str, share: int, key: int, number: int, content: bytes) -> pa.RecordBatch:
    columns = [
        pa.array([value], type_)
        for value, type_ in zip((what, share, key, number, content), _NUMBERED.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_NUMBERED)


def _files_of_terms(bases: Bases) -> Callable[[Batches], Batches]:
    """The function from numbered texts (share, key, content) to files, one for each share and kind."""

    def files(batches: Batches) -> Batches:
        held: dict[tuple[int, int], dict[int, pa.Buffer]] = {}
        for share, first, content in _rows_of(batches):
            held.setdefault((first >> KIND_SHIFT, share), {})[first & INDEX_MASK] = content
        for (kind, share), parts in sorted(held.items()):
            tables = of_size(_tables_of_terms(parts, bases[share][kind]), ROWS_PER_GROUP)
            yield file_row(f"{TERMS}/part-{kind * len(bases) + share:05}.parquet", tables)

    return files


def _tables_of_terms(parts: dict[int, pa.Buffer], first: int) -> Iterator[pa.Table]:
    for start, content in sorted(parts.items()):
        texts, _ = texts_in(content)
        ids = np.arange(first + start, first + start + len(texts), dtype=np.uint32)
        yield pa.table({"id": ids, "text": texts})


def _translated(bases: Bases) -> Callable[[Batches], Batches]:
    """The function from statements and ids of chunks to sorted facts with global ids, and a sample."""
    of_share = np.array(bases, np.int64)

    def translate(batches: Batches) -> Batches:
        statements: dict[int, tuple[int, pa.Buffer]] = {}
        ids: dict[int, dict[int, tuple[int, pa.Buffer]]] = {}
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in ("what", "share", "key", "number"))
            for what, share, chunk, number, content in zip(*columns, batch.column("content"), strict=True):
                if what == IDS:
                    ids.setdefault(chunk, {})[share] = number, content.as_buffer()
                else:
                    statements[chunk] = number, content.as_buffer()
        facts: Candidates = {}
        for chunk, (number, content) in sorted(statements.items()):
            own = np.concatenate(
                [_global_ids(*packed, of_share[share]) for share, packed in sorted(ids.pop(chunk).items())]
            )
            subjects, predicates, objects = own[statements_in(content, number)[:3]]
            for name, keys in grouped(predicates, pack(subjects, objects)):
                facts.setdefault(name, []).append(keys)
        sorted_facts = dict(Delta.gathered(facts).items())
        yield from packed_rows(EXPLICIT, 0, sorted_facts)
        yield row(SAMPLE, 0, json.dumps(list(_sample(sorted_facts.items()))).encode())

    return translate


def _global_ids(number: int, content: pa.Buffer, bases: NDArray[np.int64]) -> Ids:
    ids = np.frombuffer(CODEC.decompress(content, 4 * number), np.uint32)
    found: Ids = (bases[ids >> np.uint32(KIND_SHIFT)] + (ids & np.uint32(INDEX_MASK))).astype(np.uint32)
    return found


def _sample(facts: Iterable[tuple[int, Keys]]) -> Iterator[Fact]:
    for name, keys in facts:
        for key in keys[::FACTS_PER_SAMPLE].tolist():
            yield name, key >> 32, key & 0xFFFFFFFF


def _into_files(bounds: Sequence[Fact]) -> Callable[[Batches], Batches]:
    """The function from sorted facts to rows for files: the target is the number of the file."""

    def into_files(batches: Batches) -> Batches:
        for batch in batches:
            for content in batch.column("content"):
                found: dict[int, dict[int, Keys]] = {}
                for name, keys in unpacked(content.as_buffer()):
                    for number, piece in cut_at(bounds, name, keys):
                        found.setdefault(number, {})[name] = piece
                for number, pieces in sorted(found.items()):
                    yield from packed_rows(EXPLICIT, number, pieces)

    return into_files


def _rows_of(batches: Batches) -> Iterator[tuple[int, int, pa.Buffer]]:
    for batch in batches:
        first, second = (batch.column(n).to_pylist() for n in (0, 1))
        for one, other, content in zip(first, second, batch.column(2), strict=True):
            yield one, other, content.as_buffer()
