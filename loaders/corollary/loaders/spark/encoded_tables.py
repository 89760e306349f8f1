"""The encoded data set on Spark's file systems: read as tables, its manifest read and written.

Invariant: only files that the manifest lists are read. Missing or truncated files are refused before a job
begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
from pyarrow import compute, parquet

from corollary.loaders.decoding import bad_data_set, checked_manifest
from corollary.loaders.encoded import manifest
from corollary.loaders.encoded_format import (
    COLUMNS,
    EXPLICIT,
    GENERALISED,
    GRAPHS,
    INFERRED,
    KIND_NAMES,
    MANIFEST,
    TERMS,
)
from corollary.loaders.formats import input_error
from corollary.loaders.spark.encoding import FACT_SCHEMA, QUAD_SCHEMA
from corollary.loaders.spark.packed_facts import AS_IS
from corollary.loaders.spark.storage import SNAPSHOT_SUFFIX, Storage, local_path
from corollary.reasoner.closed_under import ClosedUnder
from corollary.terms.dictionary import BULK_KINDS, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


FACTS = pa.schema([(name, pa.int64()) for name in COLUMNS])
"""The columns of facts, with global ids."""

Files = dict[str, dict[str, Any]]
"""The manifest's entries of files (rows, bytes, checksum), by path within the folder."""


@dataclass(frozen=True)
class DistributedDataSet:
    """An encoded data set. The columns of ``terms`` are id, text; of facts predicate, subject, object (long).

    ``counts`` has the number of terms by kind, ``facts`` the number of facts by part. ``closed`` says by
    which rules the data set is closed. ``digest`` is the checksum of the manifest, which has those of all
    files. ``fact_paths`` has the files or folders of each part of the facts.
    """

    folder: str
    counts: dict[Kind, int]
    facts: dict[str, int]
    prefixes: dict[str, str]
    files: Files
    terms: DataFrame
    fact_paths: dict[str, list[str]]
    closed: ClosedUnder
    digest: str

    @property
    def explicit(self) -> DataFrame:
        """The explicit facts."""
        return self.facts_of(EXPLICIT)

    @property
    def has_graphs(self) -> bool:
        """Whether there are facts by graph."""
        return bool(self.fact_paths[GRAPHS])

    @property
    def graphs(self) -> DataFrame:
        """The facts by graph, with a column ``graph``. Precondition: ``has_graphs``."""
        return self.terms.sparkSession.read.schema(QUAD_SCHEMA).parquet(*self.fact_paths[GRAPHS])

    def facts_of(self, part: str) -> DataFrame:
        """The facts of a part: EXPLICIT, INFERRED or GENERALISED."""
        return read_facts(self.terms.sparkSession, self.fact_paths[part])

    def mapped(self, part: str, function: Callable[[Batches], Batches], schema: str) -> DataFrame:
        """What tasks make of the facts of a part: as ``facts_of(part).mapInArrow(function, schema)``.

        Local files are read by the tasks, row group by row group: Java would make a row of each fact first.
        """
        spark, groups = self.terms.sparkSession, _row_groups(self._local_files(part))
        if not groups:
            return self.facts_of(part).mapInArrow(function, schema)
        tasks = spark.sparkContext.broadcast(groups)

        def read(batches: Batches) -> Batches:
            yield from function(_facts_in(tasks.value[n] for b in batches for n in b.column(0).to_pylist()))

        return spark.range(0, len(groups), 1, len(groups)).mapInArrow(read, schema)

    def counts_by_predicate(self, part: str) -> Counter[int]:
        """The number of facts of each predicate in a part. The driver counts those of local files."""
        groups = _row_groups(self._local_files(part))
        if not groups:
            return Counter(dict(self.facts_of(part).groupBy("predicate").count().collect()))
        counts: Counter[int] = Counter()
        for batch in _facts_in(groups, COLUMNS[:1]):
            found = batch.column(0).value_counts()
            counts.update(dict(zip(*(column.to_pylist() for column in found.flatten()), strict=True)))
        return counts

    def texts_of(self, ids: Collection[int]) -> dict[int, str]:
        """The texts of a few terms. The driver reads local files."""
        paths = self._local_files(TERMS)
        if not paths:
            return {row.id: row.text for row in self.terms.where(self.terms.id.isin([*ids])).collect()}
        is_asked = compute.field("id").isin(pa.array(ids, pa.int64()))
        found: dict[int, str] = {}
        for path in paths:
            rows = parquet.read_table(path, columns=["id", "text"], filters=is_asked)
            found |= dict(zip(*(column.to_pylist() for column in rows.columns), strict=True))
        return found

    def _local_files(self, part: str) -> list[Path]:
        """The files of a part; none if they are not local."""
        folder = local_path(self.folder)
        names = sorted(name for name in self.files if name.startswith(f"{part}/"))
        return [] if folder is None else [folder / name for name in names]


Batches = Iterator[pa.RecordBatch]


def _row_groups(paths: Iterable[Path]) -> list[tuple[Path, int]]:
    """The row groups of files: a file each, and the number within it."""
    return [(path, group) for path in paths for group in range(parquet.read_metadata(path).num_row_groups)]


def _facts_in(groups: Iterable[tuple[Path, int]], columns: Sequence[str] = COLUMNS) -> Batches:
    """The facts in row groups of files."""
    schema = pa.schema([FACTS.field(name) for name in columns])
    for path, group in groups:
        table = parquet.ParquetFile(path).read_row_group(group, [*columns])
        yield from table.select(columns).cast(schema).to_batches()


def open_encoded(spark: SparkSession, path: str) -> DistributedDataSet:
    """Open a data set. Raises InputError, with a remedy, if ``path`` has none, or it is incomplete."""
    storage = Storage(spark)
    folder = storage.full(path)
    if storage.is_file_of_columns(folder):
        data_set = f"{path.removesuffix(SNAPSHOT_SUFFIX)}.encoded"
        remedy = f"make it a data set first: corollary convert {path} {data_set}"
        raise input_error(f"{path}: this is a snapshot, which Spark does not read", remedy)
    if not storage.exists(f"{folder}/{MANIFEST}"):
        raise input_error(
            f"{path}: no encoded data set is here: there is no {MANIFEST}",
            "make one with corollary spark-load; one that was not written to the end has no manifest",
        )
    text = storage.read(f"{folder}/{MANIFEST}")
    content = checked_manifest(text, path)
    files: Files = content["files"]
    sizes = {file.path: file.size for file in storage.files(folder)}
    for name, about in files.items():
        if sizes.get(f"{folder}/{name}") != about["bytes"]:
            raise bad_data_set(path, f"{name} is missing or cut off")
    counts = {kind: int(content["terms"][KIND_NAMES[kind]]) for kind in BULK_KINDS}
    return DistributedDataSet(
        folder,
        counts,
        content["facts"],
        content.get("prefixes", {}),
        files,
        read_terms(spark, _paths(folder, TERMS, files, sizes)),
        {part: _paths(folder, part, files, sizes) for part in (EXPLICIT, INFERRED, GENERALISED, GRAPHS)},
        ClosedUnder(*(content.get(name) for name in ("fingerprint", "rules", "corollary"))),
        sha256(text.encode()).hexdigest(),
    )


def largest_predicates(data: DistributedDataSet, most: int) -> list[dict[str, Any]]:
    """The predicates with the most facts, largest first: ``predicate`` (its text), ``explicit``, ``total``.

    Cost: the predicates of all facts are read and counted, and those of the result are looked up.
    """
    explicit, inferred = map(data.counts_by_predicate, (EXPLICIT, INFERRED))
    total = explicit + inferred
    largest = sorted(total, key=lambda predicate: (-total[predicate], predicate))[:most]
    texts = data.texts_of(largest)
    return [{"predicate": texts[p], "explicit": explicit[p], "total": total[p]} for p in largest]


def check_content(data: DistributedDataSet) -> None:
    """Compare the files with their checksums in the manifest. Raises InputError if one differs."""
    from pyspark.sql import functions as F

    spark = data.terms.sparkSession
    wanted = {f"{data.folder}/{name}": about["sha256"] for name, about in data.files.items()}
    if not wanted:
        return
    content = spark.read.format("binaryFile").load(sorted(wanted))
    for path, digest in content.select("path", F.sha2("content", 256)).collect():
        if wanted[path] not in (None, digest):
            name = path.removeprefix(f"{data.folder}/")
            raise bad_data_set(data.folder, f"{name} is not what was written: its checksum differs")


def check_unchanged(data: DistributedDataSet) -> None:
    """Raise InputError if another data set has replaced one since it was opened, or it is damaged."""
    if open_encoded(data.terms.sparkSession, data.folder).digest != data.digest:
        raise input_error(f"{data.folder}: it changed while it was read", "start again; nothing was written")


def read_terms(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The terms in the given folders and files."""
    schema = "id long, text string"
    return spark.read.schema(schema).parquet(*paths) if paths else spark.createDataFrame([], schema)


def _paths(folder: str, part: str, files: Files, there: Collection[str]) -> list[str]:
    """The paths to read for a part: its folder, or single files if the manifest does not list all of them."""
    named = {f"{folder}/{name}" for name in files if name.startswith(f"{part}/")}
    found = {path for path in there if path.startswith(f"{folder}/{part}/")}
    return [f"{folder}/{part}"] if named and found == named else sorted(named)


def read_facts(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The facts in the given folders and files of Parquet, with columns of any integer type."""
    if not paths:
        return spark.createDataFrame([], FACT_SCHEMA)
    return spark.read.schema(FACT_SCHEMA).parquet(*paths)


def described(spark: SparkSession, folder: str, parts: tuple[str, ...]) -> Files:
    """The manifest's entries for the Parquet files in the given parts of a folder. Reads every file."""
    from pyspark.sql import functions as F

    found: Files = {}
    for part in parts:
        inside = f"{folder}/{part}"
        if not Storage(spark).exists(inside):
            continue
        path = F.element_at(F.split("_metadata.file_path", "/"), -1).alias("name")
        rows: dict[str, int] = dict(spark.read.parquet(inside).groupBy(path).count().collect())
        content = spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet").load(inside)
        name = F.element_at(F.split("path", "/"), -1)
        for file, size, digest in content.select(name, "length", F.sha2("content", 256)).collect():
            found[f"{part}/{file}"] = {"rows": rows.get(file, 0), "bytes": size, "sha256": digest}
    return dict(sorted(found.items()))


def take_files(rows: DataFrame, scratch: str, folder: str) -> Files:
    """Write files that tasks make (``partition_task.FILES``) into a folder. Returns the manifest's entries.

    The tasks run once: their rows are written to a new folder in ``scratch`` first.
    """
    spark, found = rows.sparkSession, {}
    beside = f"{scratch}/files-{uuid4().hex}"
    rows.write.options(**AS_IS).parquet(beside)
    with Storage(spark).writing(folder) as write:
        for file in spark.read.schema(rows.schema).parquet(beside).toLocalIterator():
            write(file.name, file.content)
            found[file.name] = {"rows": file.rows, "bytes": len(file.content), "sha256": file.digest}
    return dict(sorted(found.items()))


def terms_after(spark: SparkSession, beside: str, folder: str, others: Files) -> Files:
    """Move files of terms from a folder ``beside`` into a data set. Returns the manifest's entries.

    Their names come after those of the ``others``, as their ids do.
    """
    storage, found = Storage(spark), {}
    known = sum(name.startswith(f"{TERMS}/") for name in others)
    for number, (name, about) in enumerate(described(spark, beside, (TERMS,)).items(), known):
        found[f"{TERMS}/then-{number:05}.parquet"] = about
        storage.rename(f"{beside}/{name}", f"{folder}/{TERMS}/then-{number:05}.parquet")
    return found


def write_manifest(
    storage: Storage,
    folder: str,
    counts: dict[Kind, int],
    files: Files,
    rules: str | None = None,
    prefixes: dict[str, str] | None = None,
    fingerprint: str | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> dict[str, int]:
    """Write the manifest, which completes a data set. Returns the number of facts by part."""
    facts = {
        part.removeprefix("facts/"): sum(
            about["rows"] for name, about in files.items() if name.startswith(f"{part}/")
        )
        for part in (EXPLICIT, INFERRED, GENERALISED, GRAPHS)
        if part in (EXPLICIT, INFERRED)
        or (part == GENERALISED and fingerprint is not None)
        or any(name.startswith(f"{part}/") for name in files)
    }
    terms = {KIND_NAMES[kind]: count for kind, count in counts.items()}
    storage.write(f"{folder}/{MANIFEST}", manifest(terms, facts, files, rules, prefixes, fingerprint, inputs))
    return facts
