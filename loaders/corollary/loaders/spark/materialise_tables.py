"""Materialisation on Spark: from an encoded data set to one with the inferred facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.language import Aggregate, Bind, Diagnostic, Program, RuleError
from corollary.loaders.encoded_format import EXPLICIT, GENERALISED, GRAPHS, INFERRED, TERMS
from corollary.loaders.spark.clash_count import ClosedFacts, Uncounted, count_clashes
from corollary.loaders.spark.encoded_tables import (
    DistributedDataSet,
    Files,
    check_content,
    check_unchanged,
    described,
    open_encoded,
    terms_after,
    write_manifest,
)
from corollary.loaders.spark.encoding import files_for, warn_of_few_files, write_facts
from corollary.loaders.spark.evaluation import DistributedEvaluation
from corollary.loaders.spark.literal_values import Values
from corollary.loaders.spark.load import Notify, Stages, silent
from corollary.loaders.spark.one_task import close
from corollary.loaders.spark.partition_rounds import Followed, PartitionedEvaluation, partitions_for
from corollary.loaders.spark.program_cut import CannotCut
from corollary.loaders.spark.schema import Schema
from corollary.loaders.spark.snapshot_output import data_set_output
from corollary.loaders.spark.storage import Storage, scratch
from corollary.loaders.spark.tuning import COPYING_THREADS, MAX_FACTS_IN_ONE_TASK, MAX_FACTS_PER_PARTITION
from corollary.program.fingerprint import fingerprint
from corollary.program.stratify import called, verb
from corollary.terms.dictionary import Kind, kind_of_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONE_TASK, PARTITIONS, JOINS = "one task", "partitions", "joins"
"""How facts are closed: by the engine, by the engine on partitions, or by joins of tables."""


@dataclass(slots=True)
class Materialised:
    """The result of a materialisation: counts, and the wall-clock seconds of every stage.

    ``inconsistencies`` is their number; None if they are not counted, for the reason ``uncounted``.
    ``method`` is ONE_TASK, PARTITIONS, or JOINS with the reason why not on partitions.
    """

    explicit: int
    inferred: int
    total: int = field(init=False)
    rounds: int
    inconsistencies: int | None
    method: str
    uncounted: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.total = self.explicit + self.inferred


def materialise(
    spark: SparkSession,
    source: str,
    output: str,
    program: Program,
    *,
    files: int | None = None,
    notify: Notify = silent,
) -> Materialised:
    """Close the explicit facts of a data set under a program, and write the result to ``output``.

    The inferred facts are those of ``MaterialisedView.inferred`` on one machine. ``files`` is the number of
    files for the inferred facts. Without it, up to ``MAX_FACTS_IN_ONE_TASK`` explicit facts are closed by the
    engine in one task (``one_task``). Else they are closed in rounds: by the engine on partitions
    (``partition_rounds``), or, if the program cannot be cut (``program_cut``), by joins (``evaluation``).
    Precondition then: the schema (the facts that guards match) and a table of all predicates and classes fit
    into the driver's memory. If a driver fails in rounds on partitions, the next call with the same arguments
    goes on after the last round that is complete. ``output`` appears when it is complete. An older data set
    at ``output`` is replaced.

    Raises InputError if ``source`` is no data set, is damaged or was replaced while it was read, or something
    else is at ``output``. Raises RuleError for a program that is unsafe or cannot be stratified; in rounds,
    also if it creates new terms (BIND, AGGREGATE).
    """
    stages = Stages(notify)
    storage = Storage(spark)
    stages.enter("open")
    data = open_encoded(spark, source)
    if files is None and data.facts["explicit"] <= MAX_FACTS_IN_ONE_TASK:
        return _in_one_task(data, output, program, stages, notify)
    refuse_new_terms(program)
    check_content(data)
    target, key = storage.full(output), sha256(f"{data.digest} {fingerprint(program)}".encode()).hexdigest()
    with storage.resumable(target, key) as kept, data_set_output(storage, output) as folder:
        older = (f"{INFERRED}/", f"{GENERALISED}/")
        copied = {name: about for name, about in data.files.items() if not name.startswith(older)}
        copy_files(storage, data.folder, folder, copied)
        done = close_in_rounds(data, program, folder, files, stages, notify, kept=kept)
        inconsistencies, uncounted = _counted(data, done, folder, stages)
        stages.enter("manifest")
        check_unchanged(data)
        facts = write_manifest(
            storage, folder, done.counts, {**copied, **done.files}, program.name, data.prefixes,
            done.fingerprint, {"data set": data.digest},
        )  # fmt: skip
    stages.enter("")
    counts = facts["explicit"], facts["inferred"], done.rounds, inconsistencies
    return Materialised(*counts, done.method, uncounted, stages.seconds)


def _counted(
    data: DistributedDataSet, done: ClosedInRounds, folder: str, stages: Stages
) -> tuple[int | None, str]:
    """The number of inconsistencies; or None, and why they are not counted."""
    if all(rule.heads for rule in done.schema.compiled.source):
        return 0, ""
    stages.enter("inconsistencies")
    parts = {
        part: [name for name in done.files if name.startswith(f"{part}/")]
        for part in (EXPLICIT, INFERRED, GENERALISED, GRAPHS)
    }
    paths = {part: [f"{folder}/{name}" for name in names] for part, names in parts.items()}
    written = replace(data, folder=folder, files=done.files, fact_paths=paths)
    try:
        place = f"{scratch(folder)}/inconsistencies"
        return count_clashes(ClosedFacts(data, written, done.schema, done.values, place)), ""
    except Uncounted as reason:
        return None, str(reason)


@dataclass(frozen=True, slots=True)
class ClosedInRounds:
    """What was written: inferred facts and terms of the program; and the number of terms by kind, with these.

    ``reason`` says why the facts were closed from scratch, although a change was to be followed; empty if it
    was. ``schema`` has all schema facts, ``values`` the values of literals, if rules ask for them.
    """

    counts: dict[Kind, int]
    files: Files
    rounds: int
    method: str
    fingerprint: str | None
    reason: str
    schema: Schema
    values: Values | None


def close_in_rounds(
    data: DistributedDataSet,
    program: Program,
    folder: str,
    files: int | None,
    stages: Stages,
    notify: Notify,
    *,
    followed: Followed | None = None,
    kept: str | None = None,
) -> ClosedInRounds:
    """Close the facts on partitions if the program can be cut, else by joins. Write what is new to a folder.

    ``followed``: a data set that is closed under the program, of which ``data`` has the facts and more.
    ``kept``: a folder for the rounds on partitions, which may have some already.
    Preconditions: no rule computes new terms; the terms of ``data`` are in the folder.
    """
    warn_of_few_files(files, -(-data.facts["explicit"] // MAX_FACTS_PER_PARTITION), notify)
    stages.enter("schema")
    schema = Schema.of(program, data)
    reason = ""
    if followed is not None and schema.has_any_in(followed.added):
        followed, reason = None, "facts of the schema are added"
    try:
        found = _on_partitions(data, schema, folder, files, stages, notify, followed, kept)
        if followed is not None and found.is_anew:
            reason = "facts of the schema follow from those that are added"
    except CannotCut as why:
        notify(f"by joins: {why}")
        found = _by_joins(data, program, schema, folder, files, stages, notify, f"{JOINS}: {why}")
        reason = reason or f"{why}" * (followed is not None)
    new_files = _write_new_terms(data.terms.sparkSession, found.schema.translation.new, folder, data.files)
    counts = dict(data.counts)
    for _, text in found.schema.translation.new:
        counts[kind_of_text(text)] += 1
    closed = None if found.has_suspended else fingerprint(program)
    whole, last = {**found.files, **new_files}, (found.schema, found.values)
    return ClosedInRounds(counts, whole, found.rounds, found.method, closed, reason, *last)


@dataclass(frozen=True, slots=True)
class _Found:
    """Inferred facts that are written, with the manifest's entries for them."""

    schema: Schema
    values: Values | None
    rounds: int
    method: str
    files: Files
    has_suspended: bool = False
    is_anew: bool = True


def _on_partitions(
    data: DistributedDataSet,
    schema: Schema,
    folder: str,
    files: int | None,
    stages: Stages,
    notify: Notify,
    followed: Followed | None,
    kept: str | None,
) -> _Found:
    """Close the facts on partitions. Raises ``CannotCut`` if the program cannot be cut."""
    spark = data.terms.sparkSession
    partitions = files or partitions_for(data.facts["explicit"], spark)
    place = f"{scratch(folder)}/cut"
    evaluation = PartitionedEvaluation(data, schema, place, partitions, notify, followed, kept)
    stages.enter("rounds")
    evaluation.run()
    stages.enter("write")
    written = evaluation.write(folder, files or files_for(evaluation.inferred, data.terms, None))
    found = schema, evaluation.values, evaluation.rounds
    return _Found(*found, PARTITIONS, written, is_anew=evaluation.is_anew)


def _by_joins(
    data: DistributedDataSet,
    program: Program,
    schema: Schema,
    folder: str,
    files: int | None,
    stages: Stages,
    notify: Notify,
    method: str,
) -> _Found:
    evaluation, has_suspended = _evaluated(data, program, schema, scratch(folder), stages, notify)
    stages.enter("write")
    inferred, generalised = evaluation.facts.inferred(), evaluation.facts.generalised()
    size = len(evaluation.facts.summary) - data.facts["explicit"]
    write_facts(inferred, folder, INFERRED, files_for(size, inferred, files))
    write_facts(generalised, folder, GENERALISED, files_for(size, generalised, files))
    written = described(data.terms.sparkSession, folder, (INFERRED, GENERALISED))
    found = evaluation.schema, evaluation.values, evaluation.facts.rounds
    return _Found(*found, method, written, has_suspended)


def _in_one_task(
    data: DistributedDataSet, output: str, program: Program, stages: Stages, notify: Notify
) -> Materialised:
    """As ``materialise``, with the engine. The graphs of the data set are copied."""
    storage = Storage(data.terms.sparkSession)
    with data_set_output(storage, output) as folder:
        stages.enter("one task")
        written = close(data, program, folder)
        for said in written.report["suspended"]:
            notify(said)
        stages.enter("manifest")
        graphs = {name: about for name, about in data.files.items() if name.startswith(f"{GRAPHS}/")}
        copy_files(storage, data.folder, folder, graphs)
        check_unchanged(data)
        facts = write_manifest(
            storage, folder, written.counts, {**written.files, **graphs}, program.name, data.prefixes,
            written.fingerprint, {"data set": data.digest},
        )  # fmt: skip
    stages.enter("")
    rounds, inconsistencies = (written.report[name] for name in ("rounds", "inconsistencies"))
    found = facts["explicit"], facts["inferred"], rounds, inconsistencies
    return Materialised(*found, ONE_TASK, seconds=stages.seconds)


def _evaluated(
    data: DistributedDataSet,
    program: Program,
    schema: Schema,
    folder: str,
    stages: Stages,
    notify: Notify,
) -> tuple[DistributedEvaluation, bool]:
    """Run the evaluation of the program to the end. Returns whether rules are suspended, too.

    Facts derived in strata may bring new rule instances. If the strata change because of these, or rules must
    be suspended, evaluation starts over, as on one machine (see ``corollary.evaluate.materialise``).
    """
    attempts = 0
    evaluation = DistributedEvaluation(data, program, f"{folder}/rounds", notify, schema=schema)
    stages.enter("rounds")
    evaluation.run()
    if not evaluation.schema.compiled.has_strata:
        return evaluation, False
    strata, edges = evaluation.stratify()
    suspended = dict(strata.suspended)
    while True:
        for stratum in strata.rules:
            evaluation.join_in(stratum)
        final, more = evaluation.stratify(suspended, edges)
        if not final.suspended and final.rules == strata.rules:
            for rule in evaluation.schema.compiled.rules:
                if rule.number in suspended:
                    notify(
                        f"{called(rule)} is suspended: it {verb(rule)} what by these facts follows from it"
                    )
            return evaluation, bool(suspended)
        suspended |= final.suspended
        lengths, attempts = evaluation.schema.compiled.lengths, attempts + 1
        evaluation = DistributedEvaluation(data, program, f"{folder}/rounds-{attempts}", notify, lengths)
        evaluation.run()
        strata, edges = evaluation.stratify(suspended, () if final.suspended else more)
        suspended |= strata.suspended


def refuse_new_terms(program: Program) -> None:
    """Raise RuleError for rules that compute new terms."""
    complaints = [
        Diagnostic(
            f"{f'rule {rule.name}' if rule.name else 'a rule'} computes new terms (BIND or AGGREGATE), "
            "which only one task does",
            rule.span,
            "leave out --files, for up to 16 million triples; or apply the rule to the result on one machine",
        )
        for rule in program
        if any(isinstance(element, Bind | Aggregate) for element in rule.body)
    ]
    if complaints:
        raise RuleError(tuple(complaints))


def copy_files(storage: Storage, source: str, target: str, names: Iterable[str]) -> None:
    """Copy files from one data set into another."""
    with ThreadPoolExecutor(COPYING_THREADS) as pool:
        jobs = [pool.submit(storage.copy, f"{source}/{name}", f"{target}/{name}") for name in names]
        for job in jobs:
            job.result()


def _write_new_terms(
    spark: SparkSession, terms: Sequence[tuple[int, str]], folder: str, others: Files
) -> Files:
    """Write the terms that only the program has, after those of the ``others``."""
    if not terms:
        return {}
    ids, texts = zip(*sorted(terms), strict=True)
    table = spark.createDataFrame(pa.table({"id": pa.array(ids, pa.int64()), "text": pa.array(texts)}))
    beside = f"{scratch(folder)}/new"
    table.coalesce(1).sortWithinPartitions("id").write.parquet(f"{beside}/{TERMS}")
    return terms_after(spark, beside, folder, others)
