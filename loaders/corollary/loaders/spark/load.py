"""N-Triples and N-Quads of any size to an encoded data set, on Spark.

1. Executors parse (``parse_chunks``). The result is written to scratch once.
2. Bad lines are counted, numbered and written to a table of their own. Too many bad lines fail the load.
3. Terms are numbered and statements translated, in many tasks (``many_tasks``) or in one (``one_task``). Last
   come manifest and rename.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.loaders.encoded_format import GRAPHS, TERMS
from corollary.loaders.formats import input_error
from corollary.loaders.spark.encoded_tables import Files, described, read_terms, write_manifest
from corollary.loaders.spark.encoding import (
    QUADS,
    Counts,
    encoded,
    files_for,
    warn_of_few_files,
    write_facts,
)
from corollary.loaders.spark.many_tasks import NumberedTerms
from corollary.loaders.spark.one_task import number
from corollary.loaders.spark.parse_chunks import (
    Source,
    chunks_in,
    parsed,
    shares_for,
    shares_that_suit,
    sources,
)
from corollary.loaders.spark.snapshot_output import QUARANTINE, data_set_output
from corollary.loaders.spark.storage import Storage, scratch
from corollary.loaders.spark.tuning import MAX_BAD_LINES, MAX_BAD_LINES_LISTED, MAX_FACTS_IN_ONE_TASK
from corollary.terms.dictionary import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Notify = Callable[[str], None]
"""Callback for progress: called with what goes on (``Doing``), and with messages that are to be kept."""


class Doing(str):
    """What goes on until the next one is reported: the name of a stage, or the outcome of a round.

    ``facts`` is the number of facts so far; 0 if it is not known.
    """

    def __new__(cls, said: str, facts: int = 0) -> Doing:
        return super().__new__(cls, said)

    def __init__(self, said: str, facts: int = 0) -> None:
        self.facts = facts


def silent(_: str) -> None:
    """Report nothing."""


@dataclass(slots=True)
class Loaded:
    """The result of a load: counts, and the wall-clock seconds of every stage."""

    documents: int
    statements: int
    terms: int
    facts: int
    bad_lines: int
    seconds: dict[str, float] = field(default_factory=dict)


class Stages:
    """Measures and reports consecutive stages."""

    def __init__(self, notify: Notify) -> None:
        self.seconds: dict[str, float] = {}
        self._notify = notify
        self._name = ""
        self._started = perf_counter()

    def enter(self, name: str) -> None:
        """End the present stage and begin the stage ``name``; an empty name begins no stage."""
        now = perf_counter()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + now - self._started
        self._name, self._started = name, now
        if name:
            self._notify(Doing(name))


def load(
    spark: SparkSession,
    inputs: Iterable[str],
    output: str,
    *,
    format: str | None = None,
    most_bad_lines: int = MAX_BAD_LINES,
    files: int | None = None,
    notify: Notify = silent,
) -> Loaded:
    """Read documents into an encoded data set, on any file system that Spark knows.

    ``inputs`` are files, folders and patterns. Documents in other formats than N-Triples and N-Quads are
    parsed on the driver, so they should be small. ``format`` is for names without a known suffix. Named
    graphs are kept. Duplicates are stored once. Blank nodes of different documents are different.

    Bad lines are written to the table ``quarantine`` (document, line, column, reason, text) of the data set.
    ``files`` is the number of files for terms, and of those for facts. Without it, one task numbers up to
    ``MAX_FACTS_IN_ONE_TASK`` statements, into a file for facts and one for each kind of terms. ``output``
    appears when it is complete. An older data set at ``output`` is replaced.

    Raises InputError for more than ``most_bad_lines`` bad lines, and if something else is at ``output``.
    """
    stages = Stages(notify)
    storage = Storage(spark)
    with data_set_output(storage, output) as folder:
        stages.enter("parse")
        documents = sources(storage, inputs, format)
        prefixes: dict[str, str] = {}
        shares = shares_for(documents, spark, files)
        warn_of_few_files(files, shares_that_suit(documents), notify)
        rows = parsed(spark, documents, prefixes, shares, graphs=any(s.may_name_graphs for s in documents))
        chunks = chunks_in(rows, f"{scratch(folder)}/chunks")
        counts = Counts.of(chunks)
        if counts.bad:
            stages.enter("bad lines")
            quarantine(chunks, documents, counts.bad, most_bad_lines, folder)
        if not counts.statements or (files is None and counts.statements <= MAX_FACTS_IN_ONE_TASK):
            stages.enter("one task")
            written = number(chunks, folder, by_graph=counts.has_names)
            kinds, parts = written.counts, written.files
        else:
            kinds, parts = _in_many_tasks(chunks, counts, folder, shares, files, stages)
        stages.enter("manifest")
        parts |= described(spark, folder, (QUARANTINE,))
        facts = write_manifest(storage, folder, kinds, parts, prefixes=prefixes)
    stages.enter("")
    return Loaded(
        len(documents), counts.statements, sum(kinds.values()), facts["explicit"], counts.bad, stages.seconds
    )


def _in_many_tasks(
    chunks: DataFrame, counts: Counts, folder: str, shares: int, files: int | None, stages: Stages
) -> tuple[dict[Kind, int], Files]:
    """Write terms and facts of a table of chunks. Returns the number of terms by kind, and the files."""
    stages.enter("terms")
    terms = NumberedTerms(chunks, shares, scratch(folder))
    written = terms.write(folder)
    stages.enter("facts")
    number = files_for(counts.statements, chunks, files)
    written |= terms.write_statements(folder, number)
    if counts.has_names:
        stages.enter("graphs")
        quads = encoded(chunks, read_terms(chunks.sparkSession, [f"{folder}/{TERMS}"]), graphs=True)
        write_facts(quads, folder, GRAPHS, number, QUADS)
        written |= described(chunks.sparkSession, folder, (GRAPHS,))
    return terms.counts, written


def quarantine(chunks: DataFrame, documents: list[Source], count: int, most: int, folder: str) -> None:
    """Write the bad lines to their table; raises InputError if there are more than ``most``."""
    bad = _placed(chunks, documents)
    if count > most:
        raise _refused(bad, count, most)
    bad.coalesce(1).write.parquet(f"{folder}/{QUARANTINE}")


def _placed(chunks: DataFrame, documents: list[Source]) -> DataFrame:
    """The bad lines, numbered within the document: document, line, column, reason, text."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    spark = chunks.sparkSession
    earlier = Window.partitionBy("document").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    before = F.coalesce(F.sum("number").over(earlier), F.lit(0)).alias("before")
    blocks = chunks.where("what = 'block'").select("document", "block", before)
    names = spark.createDataFrame(
        pa.table({"document": [s.number for s in documents], "name": [s.file.path for s in documents]})
    )
    placed = chunks.where("what = 'bad'").join(blocks, ["document", "block"]).join(names, "document")
    columns = ("name as document", "before + number as line", "position as column", "reason", "text")
    return placed.selectExpr(*columns).orderBy("document", "line", "column")


def _refused(bad: DataFrame, count: int, most: int) -> Exception:
    first = [
        f"{row.document}:{row.line}:{row.column}: {row.reason}"
        for row in bad.limit(MAX_BAD_LINES_LISTED).collect()
    ]
    lines = "\n".join(f"    {line}" for line in first)
    more = f"\n    ... and {count - len(first):,} more" if count > len(first) else ""
    return input_error(
        f"{count:,} bad line{'s' * (count > 1)}, where {most:,} are allowed:\n{lines}{more}",
        "mend the files, or allow more; nothing was written",
    )
