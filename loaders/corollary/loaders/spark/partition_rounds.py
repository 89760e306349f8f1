"""Partition-parallel reasoning: the engine closes each partition, then partitions exchange facts.

1. The driver closes the schema (``schema``) and cuts the program (``program_cut``).
2. Explicit facts are cut into partitions by the hash of their subjects.
3. In each round, a task reads the facts of its partition, closes them with the engine, semi-naively from what
   was sent to it, and hands out the facts whose home is elsewhere (``partition_task``).
4. The rounds end when no fact is sent. Then the new facts are sorted into files, and the driver writes these.

A round is a folder of Parquet files that Spark commits as one: tasks write under the names of their attempts.
So a task that is killed, repeated or speculative leaves nothing that is read. A later round reads all rounds;
nothing is computed again from lineage. If the driver fails, another one reads the rounds that are finished.

Invariant: after a round, every instance of a rule whose premises are in one partition has been applied.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
import pyarrow as pa

from corollary.columns import Candidates
from corollary.columns.pairs import pack
from corollary.columns.triples import grouped
from corollary.loaders import encoded_format
from corollary.loaders.encoded_format import COLUMNS
from corollary.loaders.spark.encoded_tables import DistributedDataSet, Files, take_files
from corollary.loaders.spark.encoding import FACT_SCHEMA
from corollary.loaders.spark.facts import Summary
from corollary.loaders.spark.id_translation import GlobalIds
from corollary.loaders.spark.literal_values import Derived, Find, Values, named_in
from corollary.loaders.spark.load import Doing, Notify
from corollary.loaders.spark.packed_facts import AS_IS, ROWS, TaskIds, empty_rows, slots_for
from corollary.loaders.spark.partition_task import (
    ADDED,
    EXPLICIT,
    FILES,
    FIRST,
    FOLLOWING,
    LATER,
    OWN,
    REPORT,
    SENT,
    Fact,
    Work,
    bounds_of,
    outlined,
    written,
)
from corollary.loaders.spark.program_cut import (
    ANY_LITERAL,
    ANY_RESOURCE,
    CannotCut,
    ProgramCut,
    constants,
    cut_program,
)
from corollary.loaders.spark.schema import Schema
from corollary.loaders.spark.schema_of_data import schema_of_data
from corollary.loaders.spark.storage import Storage
from corollary.loaders.spark.tuning import (
    MAX_CUTS,
    MAX_EDGES_EXCHANGED,
    MAX_FACTS_PER_PARTITION,
    MAX_FACTS_REPLICATED,
)
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import VALUE_BUILTINS
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, TermDictionary

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ANY = (2**32 - 2, 2**32 - 1)
"""Global ids for ``ANY_RESOURCE`` and ``ANY_LITERAL``: no term has them."""


class VoidCut(Exception):
    """Facts follow that were not known when the program was cut: schema facts, or, if none, watched ones."""

    def __init__(self, schema: Sequence[Fact] = ()) -> None:
        super().__init__(schema)
        self.schema = schema


@dataclass(frozen=True, slots=True)
class Followed:
    """E and the other facts of a data set that is closed under a program, and the facts that are added to E.

    Precondition: none of the latter is schema, or explicit in the data set.
    """

    explicit: DataFrame
    derived: DataFrame
    added: DataFrame


class PartitionedEvaluation:
    """The evaluation of a program on partitions of the facts of a data set."""

    def __init__(
        self,
        data: DistributedDataSet,
        schema: Schema,
        folder: str,
        partitions: int,
        notify: Notify,
        followed: Followed | None = None,
        kept: str | None = None,
    ) -> None:
        """``folder`` is for intermediate results. Raises ``CannotCut``, with the reason, if there is no cut.

        ``followed`` has the facts of ``data``, in a form that leaves less to be derived. It is not used if
        schema facts follow from what is added (``is_anew``).
        ``kept`` is a folder for the rounds. Those that an earlier evaluation has finished there are read, not
        applied again.
        Precondition: it had the same data and program.
        """
        self._data, self._schema, self._folder, self._notify = data, schema, folder, notify
        self._kept = folder if kept is None else kept
        self._paths: list[str] = []
        self._followed = followed
        self._spark: SparkSession = data.terms.sparkSession
        self.translation = schema.translation
        self.rounds = 0
        self.inferred = 0
        self._sample: list[Fact] = []
        self._counts: Counter[int] = Counter()
        self.values: Values | None = None
        self._news: list[Derived] = []
        self._slots = slots_for(self._spark, partitions)
        self._learn_names()
        self._of_values, self._work = self._cut(is_strict=False)

    def run(self) -> None:
        """Apply rounds until no fact is sent. Raises ``CannotCut`` if cuts turn out to be void."""
        is_strict = False
        for left in reversed(range(MAX_CUTS)):
            try:
                self._run()
                return
            except VoidCut as void:
                if not left:
                    raise CannotCut("data lead to schema facts, and these to others") from void
                self._notify("facts follow that the rules were not cut for: starting over")
                is_strict |= not void.schema
                self._add_schema(self._inward(void.schema))
            self.rounds, self.inferred, self._sample, self._paths = 0, 0, [], []
            self._folder = f"{self._folder}-again"
            self._of_values, self._work = self._cut(is_strict=is_strict)

    def _run(self) -> None:
        starts = pa.Table.from_batches([empty_rows(EXPLICIT, self._slots)])  # so that each one is closed
        rows = [
            self._spark.createDataFrame(starts, ROWS),
            *self._given(),
            *self._sent_by_driver(partial(named_in, self._data.explicit)),
        ]
        stage = FIRST if self._followed is None else FOLLOWING
        while rows:
            self._paths.append(self._round(rows, stage))
            self.rounds += 1
            rows, stage = self._next_rows(), LATER

    def _round(self, rows: list[DataFrame], stage: str) -> str:
        """The folder of the next round: the one that is finished, or else a new one.

        Each attempt has a folder of its own. That it is finished, the driver writes into a file beside it.
        """
        storage, name = Storage(self._spark), f"{self._kept}/{self._work.digest()}/round-{self.rounds:03}"
        if storage.exists(f"{name}.finished"):
            self._notify("the next round is read: an earlier run finished it")
            return storage.read(f"{name}.finished")
        path = f"{name}-{uuid4().hex}"
        whole = reduce(_union, rows).repartition(len(self._slots), "target")
        whole.mapInArrow(self._work.close(stage), ROWS).write.options(**AS_IS).parquet(path)
        storage.write(f"{name}.finished", path)
        return path

    def _given(self) -> list[DataFrame]:
        """The rows for the facts that are known at first."""
        cut, known = self._work.cut, self._followed
        if known is None:
            return [self._data.mapped(encoded_format.EXPLICIT, cut(EXPLICIT), ROWS)]
        return [
            known.explicit.mapInArrow(cut(EXPLICIT, copies=True), ROWS),
            known.derived.mapInArrow(cut(OWN, copies=True), ROWS),
            known.added.mapInArrow(cut(ADDED), ROWS),
        ]

    def write(self, folder: str, files: int) -> Files:
        """Write the inferred facts and those that RDF does not allow. Returns the manifest's entries."""
        bounds = bounds_of(sorted(self._sample), files)
        rows = self._read(range(self.rounds), f"what = '{OWN}'")
        cut = rows.mapInArrow(self._work.sorted_into(bounds), ROWS)
        return take_files(cut.repartition(files, "target").mapInArrow(written, FILES), self._folder, folder)

    def _read(self, rounds: range, condition: str) -> DataFrame:
        paths = self._paths[rounds.start : rounds.stop]
        return self._spark.read.schema(ROWS).parquet(*paths).where(condition)

    def _next_rows(self) -> list[DataFrame]:
        """Report the last round. Returns the rows for the next one; none if nothing was sent."""
        last = range(self.rounds - 1, self.rounds)
        reports = [json.loads(bytes(row.content)) for row in self._read(last, f"what = '{REPORT}'").collect()]
        schema = sorted({tuple(fact) for report in reports for fact in report["schema"]})
        if schema or any(report["is_void"] for report in reports):
            raise VoidCut(schema)
        own, sent = (sum(report[what] for report in reports) for what in (OWN, SENT))
        self.inferred += own
        self._sample += [tuple(fact) for report in reports for fact in report["sample"]]
        said = f"round {self.rounds}: {own:,} new facts, {sent:,} sent to other partitions"
        self._notify(Doing(said, self._data.facts["explicit"] + self.inferred))
        news = self._sent_by_driver(self._named_recently)
        if not (sent or news):
            return []
        known = self._read(range(self.rounds), f"what NOT IN ('{SENT}', '{REPORT}')")
        return [known, self._read(last, f"what = '{SENT}'"), *news]

    def _named_recently(self, predicates: Sequence[int] | None, terms: Sequence[int]) -> set[int]:
        """Those of some terms that new facts of some predicates (None: of all) have."""
        rows = self._read(range(self.rounds - 1, self.rounds), f"what = '{OWN}'")
        found = rows.mapInArrow(self._work.naming(predicates, terms), "id long").distinct()
        return {row.id for row in found.collect()}

    @property
    def is_anew(self) -> bool:
        """Whether all facts are derived anew."""
        return self._followed is None

    # Cutting

    def _learn_names(self) -> None:
        """Give local ids to all predicates and classes, and to the constants of filters."""
        self.translation.ids(constants(self._schema.compiled.source))
        summary = Summary.of(self._data.explicit, self.translation.id(self._schema.compiled.rdf_type))
        self._counts = summary.predicates
        self._refuse_large_closures()
        self.translation.inward(np.array(sorted({*summary.predicates, *summary.classes}), np.int64))

    def _refuse_large_closures(self) -> None:
        """Raise ``CannotCut`` if a relation with many facts is transitive."""
        if any(self._counts[predicate] > MAX_EDGES_EXCHANGED for predicate in self._schema.closed()):
            raise CannotCut("a relation with many facts is transitive")

    def _cut(self, *, is_strict: bool) -> tuple[tuple[CompiledRule, ...], Work]:
        """The rules that read values of literals, and what tasks need. Raises ``CannotCut``."""
        data = self._data
        if self._schema.compiled.uses(VALUE_BUILTINS):
            self.values = Values(self._schema.compiled, self.translation, data.explicit, self._folder)
            self._news = self.values.compared()
        cut = self._program_cut(is_strict=is_strict)
        for kind in BULK_KINDS:
            if data.counts[kind] + len(self.translation.new) + cut.dictionary.count(kind) > INDEX_MASK:
                raise CannotCut("there are too many terms")
        ids = task_ids(self.translation.tables(), cut.dictionary)
        return cut.of_values, Work.of(cut, ids, self._slots)

    def _program_cut(self, *, is_strict: bool) -> ProgramCut:
        tables = self.translation.tables()
        dictionary = self.translation.dictionary.copied()
        known = np.sort(np.concatenate(tables))
        forms = self._data.mapped(encoded_format.EXPLICIT, outlined(known, *ANY), FACT_SCHEMA)
        found = forms.distinct().toArrow()
        outline = local_outline(found, tables, dictionary)
        others = frozenset(map(dictionary.encode, (ANY_RESOURCE, ANY_LITERAL)))
        while more := schema_of_data(self._schema, dictionary, outline, others):
            self._add_schema(more)
        self._refuse_large_closures()
        large = np.array([p for p, count in self._counts.items() if count > MAX_FACTS_REPLICATED], np.int64)
        has_equal = self.values is not None and self.values.may_be_equal()
        return cut_program(
            self._schema,
            dictionary,
            outline,
            large=frozenset(self.translation.inward(large).tolist()),
            pairs=self._pairs,
            has_equal_literals=has_equal,
            is_strict=is_strict,
        )

    def _inward(self, facts: Sequence[Fact]) -> Candidates:
        """Facts of known terms, over the driver's dictionary."""
        columns = np.array(facts, np.int64).reshape(-1, 3).T
        predicates, subjects, objects = map(self.translation.inward, columns)
        return {p: [keys] for p, keys in grouped(predicates, pack(subjects, objects))}

    def _add_schema(self, facts: Candidates) -> None:
        """Add what follows to the schema. If a data set that is followed lacks some, all is derived anew."""
        self._schema.add(facts)
        if self._followed is not None and not self._has_derived(facts):
            self._followed = None

    def _pairs(self, predicate: int) -> int:
        """The number of pairs of explicit facts of a predicate that have one object."""
        facts = self._data.explicit.where(f"predicate = {self.translation.id(predicate)}")
        squares = facts.groupBy("object").count().selectExpr("sum(count * count) AS pairs")
        return int(squares.collect()[0].pairs or 0)

    def _has_derived(self, facts: Candidates) -> bool:
        """Whether the data set that is followed has inferred some facts already."""
        assert self._followed is not None
        table = self.translation.facts_outward(facts)
        return table is None or table.join(self._followed.derived, [*COLUMNS], "left_anti").isEmpty()

    # Values of literals

    def _sent_by_driver(self, find: Find) -> list[DataFrame]:
        """Rows for what follows from values of literals. ``find`` looks for terms in recent facts."""
        if self.values is None:
            return []
        news, self._news = self._news, []
        news += self.values.derived_of_named(find, self._schema.index)
        heads = [head for relation, facts in news for head in self._heads(relation, facts)]
        return [facts.mapInArrow(self._work.cut(SENT), ROWS) for facts in heads]

    def _heads(self, relation: int, facts: DataFrame) -> list[DataFrame]:
        """The conclusions of the rules that read facts of a relation of values."""
        from pyspark.sql import functions as F

        found = []
        for rule in self._of_values:
            (atom,) = rule.atoms
            if atom.p != relation:
                continue

            def column(term: int, name: str, subject: int = atom.s) -> Column:
                if term >= 0:
                    return F.lit(self.translation.id(term)).cast("long").alias(name)
                return F.col("subject" if term == subject else "object").alias(name)

            matching = facts
            for term, name in ((atom.s, "subject"), (atom.o, "object")):
                if term >= 0:
                    matching = matching.where(F.col(name) == self.translation.id(term))
            if atom.s == atom.o:
                matching = matching.where("subject = object")
            for head in rule.heads:
                ends = zip(COLUMNS, (head.p, head.s, head.o), strict=True)
                found.append(matching.select(*(column(term, name) for name, term in ends)))
        return found


def local_outline(found: pa.Table, tables: Sequence[GlobalIds], dictionary: TermDictionary) -> Candidates:
    """The outline that executors found, over the driver's dictionary. ``tables`` has its global ids."""
    ids = TaskIds(tables)
    local = []
    for column in (found.column(name).to_numpy() for name in COLUMNS):
        local.append(ids.inward(column))
        for any_id, text in zip(ANY, (ANY_RESOURCE, ANY_LITERAL), strict=True):
            local[-1][column == any_id] = dictionary.encode(text)
    predicates, subjects, objects = local
    return {p: [keys] for p, keys in grouped(predicates, pack(subjects, objects))}


def task_ids(tables: Sequence[GlobalIds], dictionary: TermDictionary) -> TaskIds:
    """The ids of tasks. Terms of the dictionary beyond the ``tables`` have no global id."""
    missing = -1
    whole = []
    for kind, table in zip(BULK_KINDS, tables, strict=True):
        new = dictionary.count(kind) - table.size
        whole.append(np.concatenate((table, np.arange(missing, missing - new, -1))))
        missing -= new
    return TaskIds(whole)


def partitions_for(facts: int, spark: SparkSession) -> int:
    """The number of partitions for explicit facts: at least one per core."""
    cores: int = spark.sparkContext.defaultParallelism
    return max(cores, -(-facts // MAX_FACTS_PER_PARTITION))


def _union(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionAll(right)
