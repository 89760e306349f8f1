"""Synthetic data generated on a cluster: the parts of ``corollary.generators``, several parts per task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.generators import GENERATORS
from corollary.loaders.spark.storage import Storage, scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Batches = Iterator[pa.RecordBatch]


def generate(
    spark: SparkSession,
    parts: int,
    output: str,
    kind: str = "university",
    *,
    seed: int = 0,
    files: int | None = None,
) -> list[str]:
    """Write the ontology and ``parts`` parts into a new folder; ``kind`` is a key of ``GENERATORS``.

    The parts are those that ``corollary.generators.generate`` writes. Each task writes one file of several
    parts. ``files`` is the number of files; by default a file has at most 32 parts. An encoded data set at
    ``output`` is replaced. Returns the paths, the ontology first. Raises InputError if something else is
    there.
    """
    generator = GENERATORS[kind]
    storage = Storage(spark)
    files = files or max(min(parts, spark.sparkContext.defaultParallelism), -(-parts // 32))
    target = storage.full(output)
    with storage.output(target) as folder:
        numbers = spark.range(1, parts + 1, 1, files)
        beside = f"{scratch(folder)}/parts"
        numbers.mapInArrow(_maker(kind, seed), "value string").write.text(beside)
        names = [f"{generator.part_name}-part-{n:05}.nt" for n in range(files)]
        storage.write(f"{folder}/{generator.ontology_name}", generator.ontology().decode())
        written = [file for file in storage.files(beside) if file.path.endswith(".txt")]
        for name, file in zip(names, written, strict=False):
            storage.rename(file.path, f"{folder}/{name}")
    return [f"{target}/{name}" for name in (generator.ontology_name, *names[: len(written)])]


def _maker(kind: str, seed: int) -> Callable[[Batches], Batches]:
    """The function for the executors: generates one part for each row of a table of numbers."""

    def make(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                lines = GENERATORS[kind].part(number, seed).decode().removesuffix("\n")
                yield pa.RecordBatch.from_pydict({"value": [lines]})

    return make
