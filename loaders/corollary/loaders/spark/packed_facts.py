"""Facts as rows of bytes: what tasks that reason on partitions read and hand out.

A row has facts of several predicates: the differences of their keys, compressed. Spark moves a row without
looking at its facts, so a shuffled fact costs 1 to 3 bytes, and no work in Java.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corollary.columns import Candidates
from corollary.columns.pairs import NO_KEYS
from corollary.kernels.sorted import Column, Keys
from corollary.loaders.spark.tuning import FACTS_PER_CUT, FACTS_PER_ROW
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = "what string, target int, content binary"
"""The rows: what they are, the number of the partition or file they go to, and facts or a report."""

ARROW = pa.schema([("what", pa.string()), ("target", pa.int32()), ("content", pa.binary())])

AS_IS = {
    "compression": "none",
    "parquet.enable.dictionary": "false",
    "parquet.page.size.row.check.min": "1",
    "parquet.block.size.row.check.min": "1",
}
"""How rows are written: their contents are compressed already, and may be large."""

CODEC = pa.Codec("zstd", compression_level=1)
"""How keys are compressed. At this level it takes some 20 ns a fact, and a fourth of the bytes."""

HASH_FACTOR, HASH_SHIFT = np.uint32(2654435769), np.uint32(12)
"""The multiplier of Fibonacci hashing (Knuth, volume 3, section 6.4), and the bits that are dropped."""


def packed_rows(what: str, target: int, facts: Mapping[int, Keys]) -> Iterator[pa.RecordBatch]:
    """Yield facts, by predicate, as rows of at most ``FACTS_PER_ROW`` facts."""
    waiting: list[tuple[int, Keys]] = []
    room = FACTS_PER_ROW
    for predicate, keys in facts.items():
        start = 0
        while start < keys.size:
            part = keys[start : start + room]
            waiting.append((predicate, part))
            start += part.size
            room -= part.size
            if not room:
                yield row(what, target, _packed(waiting))
                waiting, room = [], FACTS_PER_ROW
    if waiting:
        yield row(what, target, _packed(waiting))


def empty_rows(what: str, targets: Sequence[int]) -> pa.RecordBatch:
    """A row without facts for each target."""
    columns = [what] * len(targets), list(targets), [_packed([])] * len(targets)
    return pa.RecordBatch.from_pydict(dict(zip(ARROW.names, columns, strict=True)), schema=ARROW)


def row(what: str, target: int, content: bytes) -> pa.RecordBatch:
    """One row as a batch."""
    return pa.RecordBatch.from_pydict(
        {"what": [what], "target": [target], "content": [content]}, schema=ARROW
    )


def _packed(parts: list[tuple[int, Keys]]) -> bytes:
    names = np.array([predicate for predicate, _ in parts], np.uint64)
    sizes = np.array([keys.size for _, keys in parts], np.uint64)
    head = np.concatenate((np.array([len(parts)], np.uint64), names, sizes))
    steps = np.diff(
        np.concatenate([keys for _, keys in parts] or [NO_KEYS]), prepend=np.uint64(0)
    )  # modulo 2 ** 64
    compressed: bytes = CODEC.compress(steps, asbytes=True)
    return head.tobytes() + compressed


def unpacked(content: pa.Buffer) -> Iterator[tuple[int, Keys]]:
    """The facts of a row: predicates with keys, in their order."""
    count = int(np.frombuffer(content, np.uint64, 1)[0])
    head = np.frombuffer(content, np.uint64, 1 + 2 * count)
    names, sizes = head[1 : 1 + count].tolist(), head[1 + count :].tolist()
    if not count:
        return
    steps = CODEC.decompress(content.slice(head.nbytes), 8 * sum(sizes))
    keys = np.cumsum(np.frombuffer(steps, np.uint64), dtype=np.uint64)
    yield from zip(names, np.split(keys, np.cumsum(sizes)[:-1]), strict=True)


def gather(content: pa.Buffer, into: Candidates) -> None:
    """Append the facts of a row to candidates."""
    for predicate, keys in unpacked(content):
        into.setdefault(predicate, []).append(keys)


def large_tables(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of batches in tables of about ``FACTS_PER_CUT`` rows."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= FACTS_PER_CUT:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def homes(ids: Column, partitions: int) -> NDArray[np.uint16]:
    """The number of the partition at which each term is at home."""
    mixed = (ids * HASH_FACTOR) >> HASH_SHIFT
    return (mixed % np.uint32(partitions)).astype(np.uint16)


def slots_for(spark: SparkSession, partitions: int) -> tuple[int, ...]:
    """For each partition a value that Spark's hash partitioning sends to a task of its own."""
    places = spark.range(64 * partitions).selectExpr(
        "cast(id AS int) AS slot", f"pmod(hash(cast(id AS int)), {partitions}) AS place"
    )
    found: dict[int, int] = {}
    for row in places.collect():
        found.setdefault(row.place, row.slot)
    others = iter(range(64 * partitions, 65 * partitions))
    return tuple(found.get(place, next(others)) for place in range(partitions))


class TaskIds:
    """Ids in tasks: those of the driver's dictionary for its terms; all others come after, in their order."""

    def __init__(self, tables: Sequence[NDArray[np.int64]]) -> None:
        """``tables`` has the global ids of the dictionary's terms of each kind; negative if there is none."""
        sizes = [table.size for table in tables]
        self._counts = np.array([*sizes, 0], np.uint32)
        self._starts = np.cumsum([0, *sizes])
        self._everywhere = np.concatenate(tables)
        own = [
            np.arange(size, dtype=np.uint32) + np.uint32(kind << KIND_SHIFT)
            for kind, size in zip(BULK_KINDS, sizes, strict=True)
        ]
        order = np.argsort(self._everywhere)
        self._known, self._own = self._everywhere[order], np.concatenate(own)[order]

    def content(self) -> bytes:
        """All ids, as bytes."""
        return self._counts.tobytes() + self._everywhere.astype(np.int64).tobytes()

    def inward(self, column: NDArray[np.int64]) -> Column:
        """Global ids as ids of tasks."""
        ids = column.astype(np.uint32)
        found: Column = ids + self._counts[ids >> np.uint32(KIND_SHIFT)]
        places = np.minimum(np.searchsorted(self._known, column), self._known.size - 1)
        is_known = self._known[places] == column
        found[is_known] = self._own[places[is_known]]
        return found

    def outward(self, column: Column) -> NDArray[np.int64]:
        """Ids of tasks as global ids."""
        kinds, numbers = column >> np.uint32(KIND_SHIFT), column & np.uint32(INDEX_MASK)
        counts = self._counts[kinds]
        found: NDArray[np.int64] = (column - counts).astype(np.int64)
        is_known = numbers < counts
        found[is_known] = self._everywhere[self._starts[kinds[is_known]] + numbers[is_known]]
        return found
