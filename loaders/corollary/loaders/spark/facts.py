"""All facts of a materialisation on the cluster, round by round.

The new facts of every round are written as Parquet files in a scratch folder. So Spark's lineage stays short,
a reader of one predicate can skip row groups, and a round reads the result of the round before.

Invariant: the rounds are disjoint; old + recent = all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from corollary.columns import FIRST_VIRTUAL
from corollary.loaders.encoded_format import COLUMNS, EXPLICIT
from corollary.loaders.spark.encoded_tables import DistributedDataSet, read_facts
from corollary.loaders.spark.tuning import MAX_ROWS_BROADCAST
from corollary.plan.steps import Age
from corollary.program.compile import Atom
from corollary.terms.dictionary import FIRST_BLANK_NODE, FIRST_LITERAL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_LEGAL = f"predicate < {FIRST_BLANK_NODE} AND subject < {FIRST_LITERAL}"
"""The facts that RDF allows, as a condition of SQL."""


@dataclass(slots=True)
class Summary:
    """The number of facts by predicate, and of rdf:type facts by class. Ids are global."""

    predicates: Counter[int] = field(default_factory=Counter)
    classes: Counter[int] = field(default_factory=Counter)

    def __len__(self) -> int:
        return self.predicates.total()

    def __add__(self, other: Summary) -> Summary:
        return Summary(self.predicates + other.predicates, self.classes + other.classes)

    def most(self, atom: Atom, rdf_type: int) -> int:
        """An upper bound for the number of facts that match an atom (with global constants)."""
        if atom.p < 0:
            return len(self)
        if atom.p == rdf_type and atom.o >= 0:
            return self.classes[atom.o]
        return self.predicates[atom.p]

    @staticmethod
    def of(facts: DataFrame, rdf_type: int) -> Summary:
        """Count facts, by one scan."""
        from pyspark.sql import functions as F

        class_ = F.when(F.col("predicate") == rdf_type, F.col("object"))
        summary = Summary()
        for predicate, named, count in facts.groupBy("predicate", class_).count().collect():
            summary.predicates[predicate] += count
            if named is not None:
                summary.classes[named] += count
        return summary


class Facts:
    """The facts so far: the explicit facts E, and the new facts of each round."""

    def __init__(self, data: DistributedDataSet, folder: str, rdf_type: int) -> None:
        """``folder`` is for the rounds. ``rdf_type`` is a global id."""
        self._spark = data.terms.sparkSession
        self._folder = folder
        self._rdf_type = rdf_type
        self._explicit = data.fact_paths[EXPLICIT]
        self._rounds: list[str] = []
        self.recent_summary = Summary.of(data.explicit, rdf_type)
        self.summary = self.recent_summary

    @property
    def rounds(self) -> int:
        return len(self._rounds)

    def ages(self) -> dict[Age, DataFrame]:
        """The facts of every age. Each is one scan: Spark's planning time grows with the number of scans."""
        if not self._rounds:
            explicit = read_facts(self._spark, self._explicit)
            return {Age.ALL: explicit, Age.OLD: explicit.limit(0), Age.RECENT: explicit}
        return {
            Age.ALL: read_facts(self._spark, [*self._explicit, *self._rounds]),
            Age.OLD: read_facts(self._spark, [*self._explicit, *self._rounds[:-1]]),
            Age.RECENT: read_facts(self._spark, self._rounds[-1:]),
        }

    def inferred(self) -> DataFrame:
        """The inferred facts that are not explicit, as ``MaterialisedView.inferred``."""
        return read_facts(self._spark, self._rounds).where(_LEGAL)

    def generalised(self) -> DataFrame:
        """The inferred facts that RDF does not allow, as ``MaterialisedView.generalised``."""
        return read_facts(self._spark, self._rounds).where(f"predicate < {FIRST_VIRTUAL} AND NOT ({_LEGAL})")

    def add(self, candidates: DataFrame, *, may_be_many: bool = False) -> int:
        """Make the new facts among the candidates the recent facts. Returns their number.

        If ``may_be_many``, the anti-join shuffles all facts. Otherwise, if there are more than
        ``MAX_ROWS_BROADCAST`` facts, the candidates are written first: at most ``MAX_ROWS_BROADCAST``
        candidates are broadcast, and no known fact is shuffled.
        """
        from pyspark.sql import functions as F

        columns = list(COLUMNS)
        known = self.ages()[Age.ALL]
        path = f"{self._folder}/round-{len(self._rounds) + 1:03}"
        if len(self.summary) <= MAX_ROWS_BROADCAST:  # small data: the number of tasks dominates the cost
            candidates = candidates.coalesce(self._spark.sparkContext.defaultParallelism)
        candidates = candidates.distinct()
        if len(self.summary) > MAX_ROWS_BROADCAST and not may_be_many:
            candidates.write.parquet(f"{path}-candidates")
            candidates = read_facts(self._spark, [f"{path}-candidates"])
            if candidates.count() <= MAX_ROWS_BROADCAST:
                candidates = F.broadcast(candidates)
                known = F.broadcast(known.join(candidates, columns, "left_semi"))
        new = candidates.join(known, columns, "left_anti")
        new.sortWithinPartitions(*columns).write.parquet(path)
        self._rounds.append(path)
        self.recent_summary = Summary.of(read_facts(self._spark, [path]), self._rdf_type)
        self.summary = self.summary + self.recent_summary
        return len(self.recent_summary)
