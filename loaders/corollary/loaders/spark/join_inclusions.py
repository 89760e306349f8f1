"""Inclusions on the cluster: one join with a small table gives every fact all its targets.

The closure of all inclusions is computed by ``execute.inclusions`` from the schema. Rules about rdf:type as a
property are no inclusions, as there.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corollary.columns.pairs import Pairs, firsts, seconds
from corollary.execute.inclusions import Inclusions
from corollary.loaders.spark.facts import Summary
from corollary.loaders.spark.guard_table import among_ids
from corollary.loaders.spark.id_translation import GlobalIds, IdTranslation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def targets(
    facts: DataFrame, included: Inclusions, summary: Summary, translation: IdTranslation, rdf_type: int
) -> list[DataFrame]:
    """The conclusions of facts by inclusions; ``summary`` counts the facts, ``rdf_type`` is a global id."""
    by_class = _rows(included.classes, summary.classes, translation)
    kinds = [
        _rows(pairs, summary.predicates, translation)
        for pairs in (included.properties, included.inverses, included.domains, included.ranges)
    ]
    found = []
    if any(len(rows[0]) for rows in kinds):
        found.append(_of_properties(facts, kinds, rdf_type))
    if len(by_class[0]):
        found.append(_of_classes(facts, by_class, rdf_type))
    return found


Rows = tuple[GlobalIds, GlobalIds]


def _rows(pairs: Pairs, known: Collection[int], translation: IdTranslation) -> Rows:
    """The sources that have facts, and the target of each, as global ids."""
    sources = translation.outward(firsts(pairs.keys))
    kept = among_ids(sources, known)
    return sources[kept], translation.outward(seconds(pairs.keys)[kept])


def _of_properties(facts: DataFrame, kinds: list[Rows], rdf_type: int) -> DataFrame:
    """Conclusions from properties; ``kinds`` are superproperties, inverses, domains and ranges, in order."""
    from pyspark.sql import functions as F

    sources = np.concatenate([sources for sources, _ in kinds])
    sizes = [len(sources) for sources, _ in kinds]
    ends = np.concatenate([ends for _, ends in kinds])
    to_class = np.repeat([False, False, True, True], sizes)
    table = pa.table(
        {
            "predicate": sources,
            "target": np.where(to_class, rdf_type, ends),
            "class": pa.array(ends, pa.int64(), mask=~to_class),
            "is_inverse": np.repeat([False, True, False, True], sizes),
        }
    )
    joined = facts.join(F.broadcast(facts.sparkSession.createDataFrame(table)), "predicate")
    return joined.selectExpr(
        "target as predicate",
        "if(is_inverse, object, subject) as subject",
        "coalesce(class, if(is_inverse, subject, object)) as object",
    )


def _of_classes(facts: DataFrame, rows: Rows, rdf_type: int) -> DataFrame:
    """Conclusions from classes: the superclasses of the members."""
    from pyspark.sql import functions as F

    table = facts.sparkSession.createDataFrame(pa.table({"object": rows[0], "target": rows[1]}))
    types = facts.where(F.col("predicate") == rdf_type)
    return types.join(F.broadcast(table), "object").select(
        "predicate", "subject", F.col("target").alias("object")
    )
