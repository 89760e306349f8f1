"""A change of a closed data set on Spark: what follows from it is maintained, or derived anew.

1. The documents to add and to remove are parsed (``parse_chunks``), as by a load.
2. Up to the limit of one task the engine maintains the data set in one (``one_task``).
3. A larger data set gets its new terms and explicit facts. Facts that are only added are followed on
   partitions (``partition_rounds``). If facts are removed, or the schema changes, all is derived anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from corollary.language import Program
from corollary.loaders.encoded_format import COLUMNS, EXPLICIT, GENERALISED, GRAPHS, INFERRED, TERMS
from corollary.loaders.formats import input_error
from corollary.loaders.spark.encoded_tables import (
    DistributedDataSet,
    Files,
    check_content,
    check_unchanged,
    described,
    open_encoded,
    read_terms,
    terms_after,
    write_manifest,
)
from corollary.loaders.spark.encoding import (
    QUADS,
    Counts,
    encoded,
    files_for,
    terms_of,
    write_facts,
    write_terms,
)
from corollary.loaders.spark.load import Notify, Stages, quarantine, silent
from corollary.loaders.spark.materialise_tables import (
    ONE_TASK,
    close_in_rounds,
    copy_files,
    refuse_new_terms,
)
from corollary.loaders.spark.one_task import follow
from corollary.loaders.spark.parse_chunks import Source, chunks_in, parsed, sources
from corollary.loaders.spark.partition_rounds import Followed
from corollary.loaders.spark.snapshot_output import QUARANTINE, data_set_output
from corollary.loaders.spark.storage import Storage, scratch
from corollary.loaders.spark.tuning import MAX_BAD_LINES, MAX_FACTS_IN_ONE_TASK
from corollary.maintain.deletion import FALLBACK
from corollary.program.fingerprint import fingerprint
from corollary.terms.dictionary import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ADDITIONS = "additions"
"""The strategy of ``Updated`` where facts were only added, and followed."""

FACTS_ARE_REMOVED = "facts are removed, and facts of several partitions may support each other"
"""The reason why all is derived anew after a removal in rounds."""

FIRST_OF_UNKNOWN = 1 << 33
"""The first of the ids of terms to remove that no data set has. Ids of terms are less."""

DIGITS_OF_SUFFIX = 12
"""The hexadecimal digits that the labels of new blank nodes get."""


@dataclass(slots=True)
class Updated:
    """The result of an update: counts, and the wall-clock seconds of every stage.

    ``added`` and ``removed`` are the facts that became explicit, and that are explicit no longer. ``absent``
    are the statements to remove that were not there. ``method`` is as in ``Materialised``. ``strategy`` is
    how the change was followed: ADDITIONS, or a strategy of ``maintain``; "starting over" has a ``reason``.
    """

    explicit: int
    inferred: int
    added: int
    removed: int
    absent: int
    bad_lines: int
    rounds: int
    method: str
    strategy: str
    reason: str = ""
    seconds: dict[str, float] = field(default_factory=dict)


def update(
    spark: SparkSession,
    source: str,
    output: str,
    program: Program,
    *,
    add: Iterable[str] = (),
    remove: Iterable[str] = (),
    format: str | None = None,
    most_bad_lines: int = MAX_BAD_LINES,
    files: int | None = None,
    notify: Notify = silent,
) -> Updated:
    """Write a closed data set after a change of its explicit facts to ``output``.

    The statements of the documents ``remove`` are removed, and those of ``add`` are added: a fact in both is
    explicit at the end. If the data set has named graphs, this is so for each graph, and a fact is explicit
    as long as a graph has it; else the graph names of quads are dropped. Documents, ``format``, bad lines and
    ``files`` are as in ``load``. Blank nodes of documents are never those of the data set. Known terms keep
    their ids, new ones get the next. The result has the facts that ``materialise`` derives for the changed
    data set.

    ``output`` may be ``source``. The manifest has the checksums of the data set and of the documents.

    Raises InputError if ``source`` is no data set, is not closed under the program, or is not what its
    manifest says; and what ``load`` and ``materialise`` raise.
    """
    stages = Stages(notify)
    storage = Storage(spark)
    stages.enter("open")
    data = open_encoded(spark, source)
    _refuse(data, program, source)
    check_content(data)
    with data_set_output(storage, output) as folder:
        stages.enter("parse")
        change = _Change.of(storage, data, folder, add, remove, format)
        if change.bad:
            stages.enter("bad lines")
            quarantine(change.chunks, change.documents, change.bad, most_bad_lines, folder)
        done = _followed(data, change, program, folder, files, stages, notify)
        stages.enter("manifest")
        check_unchanged(data)
        parts = {**done.files, **described(spark, folder, (QUARANTINE,))}
        about = program.name, {**change.prefixes, **data.prefixes}, done.fingerprint, change.inputs(storage)
        facts = write_manifest(storage, folder, done.counts, parts, *about)
    stages.enter("")
    report, seconds = done.report, stages.seconds
    return replace(report, explicit=facts["explicit"], inferred=facts["inferred"], seconds=seconds)


def _refuse(data: DistributedDataSet, program: Program, source: str) -> None:
    if data.closed.fingerprint is None:
        raise input_error(
            f"{source}: it does not name the rules under which it is closed",
            "close it first: corollary spark-materialise",
        )
    if data.closed.fingerprint != fingerprint(program):
        raise input_error(
            f"{source}: it was closed under {data.closed.title}, by Corollary {data.closed.version}, and "
            f"these rules are others ({program.name}), or this is another version",
            "use the rules that closed it, or close it anew: corollary spark-materialise",
        )


@dataclass(frozen=True)
class _Done:
    """What was written, and the report of it."""

    counts: dict[Kind, int]
    files: Files
    fingerprint: str | None
    report: Updated


@dataclass(frozen=True)
class _Change:
    """The chunks of the documents to add and to remove (``parse_chunks``), their counts and prefixes."""

    data: DistributedDataSet
    added: list[Source]
    removed: list[Source]
    wanted: DataFrame
    unwanted: DataFrame
    statements: int
    bad: int
    prefixes: dict[str, str]

    @staticmethod
    def of(
        storage: Storage,
        data: DistributedDataSet,
        folder: str,
        add: Iterable[str],
        remove: Iterable[str],
        format: str | None,
    ) -> _Change:
        """Parse the documents, and write their chunks to scratch."""
        spark = data.terms.sparkSession
        added = sources(storage, add, format)
        removed = [replace(s, number=s.number + len(added)) for s in sources(storage, remove, format)]
        prefixes: dict[str, str] = {}
        paths = [f"{scratch(folder)}/{name}" for name in ("added", "removed")]
        tables: list[DataFrame] = []
        counts = []
        for path, documents, found in zip(paths, (added, removed), (prefixes, {}), strict=True):
            suffix = f"-{data.digest[:DIGITS_OF_SUFFIX]}"
            rows = parsed(spark, documents, found, 1, suffix, graphs=data.has_graphs)
            tables.append(chunks_in(rows, path))
            counts.append(Counts.of(tables[-1]))
        statements, bad = (sum(getattr(each, name) for each in counts) for name in ("statements", "bad"))
        wanted, unwanted = tables
        return _Change(data, added, removed, wanted, unwanted, statements, bad, prefixes)

    @property
    def documents(self) -> list[Source]:
        return self.added + self.removed

    @property
    def chunks(self) -> DataFrame:
        """Those of all documents. Numbers of chunks are not unique."""
        return self.wanted.unionAll(self.unwanted)

    def inputs(self, storage: Storage) -> dict[str, Any]:
        """The checksums of the data set and of the documents, for a manifest."""
        digests = [
            {s.file.path: storage.digest(s.file.path) for s in part} for part in (self.added, self.removed)
        ]
        return {"data set": self.data.digest, "added": digests[0], "removed": digests[1]}


def _followed(
    data: DistributedDataSet,
    change: _Change,
    program: Program,
    folder: str,
    files: int | None,
    stages: Stages,
    notify: Notify,
) -> _Done:
    if files is None and data.facts["explicit"] + change.statements <= MAX_FACTS_IN_ONE_TASK:
        stages.enter("one task")
        return _in_one_task(data, change, program, folder, notify)
    refuse_new_terms(program)
    return _in_rounds(data, change, program, folder, files, stages, notify)


def _in_one_task(
    data: DistributedDataSet, change: _Change, program: Program, folder: str, notify: Notify
) -> _Done:
    written = follow(data, change.wanted, change.unwanted, program, folder)
    found = written.report
    for said in found["suspended"]:
        notify(said)
    names = "added", "removed", "absent", "rounds", "strategy", "reason"
    report = Updated(0, 0, bad_lines=change.bad, method=ONE_TASK, **{name: found[name] for name in names})
    if not report.removed and report.strategy != FALLBACK.name:
        report.strategy = ADDITIONS
    return _Done(written.counts, written.files, written.fingerprint, report)


def _in_rounds(
    data: DistributedDataSet,
    change: _Change,
    program: Program,
    folder: str,
    files: int | None,
    stages: Stages,
    notify: Notify,
) -> _Done:
    """Write the terms and facts after the change, and close them in rounds."""
    stages.enter("terms")
    changed, terms = _with_new_terms(data, change, folder, files)
    stages.enter("facts")
    facts = _FactsOfChange.of(data, change, terms, scratch(folder))
    changed = _with_facts(changed, facts.changed(data.explicit), facts.graphs, folder, files)
    followed, reason = None, FACTS_ARE_REMOVED
    if not facts.counts[1]:
        derived = data.facts_of(INFERRED).unionAll(data.facts_of(GENERALISED))
        followed, reason = Followed(data.explicit, derived, facts.added), ""
    done = close_in_rounds(changed, program, folder, files, stages, notify, followed=followed)
    reason = reason or done.reason
    strategy = FALLBACK.name if reason else ADDITIONS
    report = Updated(0, 0, *facts.counts, change.bad, done.rounds, done.method, strategy, reason)
    return _Done(done.counts, {**changed.files, **done.files}, done.fingerprint, report)


def _with_new_terms(
    data: DistributedDataSet, change: _Change, folder: str, files: int | None
) -> tuple[DistributedDataSet, DataFrame]:
    """The data set in another folder, with more terms, without facts. And all terms of the documents.

    The terms of the data set are read once. The documents' terms are small files, which Spark sends to all
    executors if they are few. Terms to remove that are unknown have ids from ``FIRST_OF_UNKNOWN`` on.
    """
    spark, place = data.terms.sparkSession, scratch(folder)
    copied = {name: about for name, about in data.files.items() if name.startswith(f"{TERMS}/")}
    copy_files(Storage(spark), data.folder, folder, copied)
    wanted, unwanted = (
        _written(terms_of(chunks).select("text").distinct(), f"{place}/texts-{name}")
        for name, chunks in (("added", change.wanted), ("removed", change.unwanted))
    )
    texts = wanted.unionAll(unwanted).distinct()
    known = _written(data.terms.join(texts, "text").select("id", "text"), f"{place}/known")
    new_texts, beside = wanted.join(known, "text", "left_anti"), f"{place}/terms"
    new = write_terms(new_texts, beside, files or files_for(change.statements, wanted, None), data.counts)
    more = terms_after(spark, beside, folder, copied)
    counts = {kind: count + new[kind] for kind, count in data.counts.items()}
    found = known.unionAll(read_terms(spark, [f"{folder}/{name}" for name in more]))
    ids = f"monotonically_increasing_id() + {FIRST_OF_UNKNOWN} as id"
    unknown = unwanted.join(found, "text", "left_anti").selectExpr(ids, "text")
    named = found.unionAll(_written(unknown, f"{place}/unknown"))
    terms = read_terms(spark, [f"{folder}/{TERMS}"])
    return replace(data, folder=folder, counts=counts, files={**copied, **more}, terms=terms), named


def _with_facts(
    data: DistributedDataSet, explicit: DataFrame, graphs: DataFrame | None, folder: str, files: int | None
) -> DistributedDataSet:
    """The data set with other explicit facts, also by graph, which are written to its folder."""
    count = files_for(sum(data.facts.values()), explicit, files)
    write_facts(explicit, folder, EXPLICIT, count)
    if graphs is not None:
        write_facts(graphs, folder, GRAPHS, count, QUADS)
    written = described(data.terms.sparkSession, folder, (EXPLICIT, GRAPHS))
    rows = sum(about["rows"] for name, about in written.items() if name.startswith(EXPLICIT))
    facts = {"explicit": rows, "inferred": 0}
    paths = {EXPLICIT: [f"{folder}/{EXPLICIT}"], INFERRED: [], GENERALISED: [], GRAPHS: []}
    return replace(data, files={**data.files, **written}, facts=facts, fact_paths=paths)


def _written(rows: DataFrame, path: str) -> DataFrame:
    """The rows, which are made once and written to a new folder."""
    rows.write.parquet(path)
    return rows.sparkSession.read.schema(rows.schema).parquet(path)


@dataclass(frozen=True, slots=True)
class _FactsOfChange:
    """Δ⁺ and Δ⁻ of E as tables in scratch, and the facts by graph after the change, if there are graphs.

    ``counts``: how many facts are added and removed, and how many statements to remove were not there.
    """

    added: DataFrame
    removed: DataFrame
    graphs: DataFrame | None
    counts: tuple[int, int, int]

    @staticmethod
    def of(data: DistributedDataSet, change: _Change, terms: DataFrame, folder: str) -> _FactsOfChange:
        """``terms`` are those of the documents."""
        by_graph = data.has_graphs
        before, columns = (data.graphs, [*QUADS]) if by_graph else (data.explicit, [*COLUMNS])
        wanted, unwanted = (
            _written(encoded(chunks, terms, graphs=by_graph).distinct(), f"{folder}/{name}")
            for name, chunks in (("wanted", change.wanted), ("unwanted", change.unwanted))
        )
        there = _written(before.join(unwanted, columns, "left_semi"), f"{folder}/there")
        removed = _written(there.join(wanted, columns, "left_anti"), f"{folder}/to-remove")
        known = before.join(wanted, columns, "left_semi")
        added, after = _written(wanted.join(known, columns, "left_anti"), f"{folder}/to-add"), None
        if by_graph:  # a fact is explicit as long as a graph has it
            left = before.join(removed, columns, "left_anti")
            after = _written(left.unionByName(added), f"{folder}/graphs")
            lost, came = (facts.select(*COLUMNS).distinct() for facts in (removed, added))
            removed = _written(lost.join(after, [*COLUMNS], "left_anti"), f"{folder}/not-explicit")
            added = _written(came.join(data.explicit, [*COLUMNS], "left_anti"), f"{folder}/explicit")
        counts = added.count(), removed.count(), unwanted.count() - there.count()
        return _FactsOfChange(added, removed, after, counts)

    def changed(self, explicit: DataFrame) -> DataFrame:
        """The explicit facts after the change."""
        left = explicit.join(self.removed, list(COLUMNS), "left_anti") if self.counts[1] else explicit
        return left.unionAll(self.added)
