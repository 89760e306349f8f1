"""Transitive closures and equivalences on the cluster.

If the edges of a relation fit on one machine, they are broadcast: every executor computes reachability from a
part of the nodes, with the engine's algorithm. Otherwise,

* a transitive relation is joined with itself: paths of length up to 2, 4, 8 ...;
* the connected components of an equivalence are computed by alternating large-star and small-star steps
  (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii, "Connected Components in MapReduce and Beyond",
  2014, algorithm 3), and the result has all pairs of each component.

Invariant: the functions are sound. ``closed_everywhere`` and ``equivalence`` are also complete; ``doubled``
is one step, which the fixpoint repeats until no fact is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corollary.closure.bit_index import BitIndex
from corollary.closure.interval_index import IntervalIndex
from corollary.closure.reachability import Graph, Paths
from corollary.columns import Relation
from corollary.columns.pairs import Pairs, distinct, firsts, pack, seconds, swap
from corollary.kernels.announcing import announce
from corollary.kernels.sorted import Keys
from corollary.kernels.tuning import MAX_ROWS_UNANNOUNCED
from corollary.loaders.spark.tuning import SOURCES_PER_CLOSURE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


PAIRS = "subject long, object long"

Batches = Iterator[pa.RecordBatch]


def closed_everywhere(edges: DataFrame, *, symmetric: bool) -> DataFrame:
    """The transitive closure (subject, object) of ``edges`` (subject, object), which are broadcast.

    With ``symmetric``, the symmetric-transitive closure.
    """
    found = edges.select("subject", "object").toArrow()
    ends = [found.column(name).to_numpy().astype(np.uint32) for name in ("subject", "object")]
    keys = Pairs.of(pack(*ends)).keys
    _announce(keys, symmetric)
    sources = distinct(np.concatenate(ends) if symmetric else ends[0])
    spark = edges.sparkSession
    nodes = spark.createDataFrame(pa.table({"node": pa.array(sources, pa.int64())}))
    if sources.size > SOURCES_PER_CLOSURE:
        nodes = nodes.repartition(spark.sparkContext.defaultParallelism)
    return nodes.mapInArrow(_walker(keys, symmetric), PAIRS)


def _announce(edges: Keys, symmetric: bool) -> None:
    """Say how many pairs a closure has, if these are many, and are counted without a list."""
    if edges.size:
        graph = Graph.of(np.concatenate((edges, swap(edges))) if symmetric else edges)
        index = IntervalIndex.of(graph, MAX_ROWS_UNANNOUNCED) or BitIndex.of(graph, MAX_ROWS_UNANNOUNCED)
        announce(0 if index is None else len(index), "of a closure on Spark")


def _walker(keys: Keys, symmetric: bool) -> Callable[[Batches], Batches]:
    """The function for the executors: from batches of nodes to the pairs that start at these nodes."""

    def walk(batches: Batches) -> Batches:
        closure = Paths(Relation(Pairs(np.require(keys, requirements="W"))), symmetric=symmetric)
        for batch in batches:
            nodes = np.sort(batch.column("node").to_numpy().astype(np.uint32))
            for start in range(0, nodes.size, SOURCES_PER_CLOSURE):
                paths = closure.starting(nodes[start : start + SOURCES_PER_CLOSURE])
                ends = (pa.array(column.astype(np.int64)) for column in (firsts(paths), seconds(paths)))
                yield pa.RecordBatch.from_arrays(list(ends), names=["subject", "object"])

    return walk


def doubled(recent: DataFrame, edges: DataFrame) -> DataFrame:
    """The pairs (subject, object) joined by a path of two edges, at least one of them recent."""
    before = edges.selectExpr("subject", "object as middle")
    after = edges.selectExpr("subject as middle", "object")
    new_first = recent.selectExpr("subject", "object as middle").join(after, "middle")
    new_second = before.join(recent.selectExpr("subject as middle", "object"), "middle")
    return new_first.select("subject", "object").unionAll(new_second.select("subject", "object"))


def equivalence(edges: DataFrame, folder: str) -> DataFrame:
    """All pairs (subject, object) of nodes in the same component; ``folder`` is for intermediate results."""
    from pyspark.sql import functions as F

    stars = components(edges, folder)
    ends = edges.selectExpr("subject as node").unionAll(edges.selectExpr("object as node")).distinct()
    members = ends.join(stars, "node", "left").select(
        "node", F.coalesce("component", "node").alias("component")
    )
    other = members.selectExpr("node as object", "component")
    return members.withColumnRenamed("node", "subject").join(other, "component").select("subject", "object")


def components(edges: DataFrame, folder: str) -> DataFrame:
    """The connected components: node, component.

    A component is named by its least node. The least node itself has no row.
    """
    from pyspark.sql import functions as F

    spark = edges.sparkSession
    one, other = F.col("subject"), F.col("object")
    pairs = edges.where(one != other).select(
        F.greatest(one, other).alias("node"), F.least(one, other).alias("component")
    )
    signature = None
    step = 0
    while True:
        path = f"{folder}/stars-{step}"
        _small_star(_large_star(pairs)).write.parquet(path)
        pairs = spark.read.parquet(path)
        step += 1
        # convergence test: sets of edges with equal size and equal XOR of hashes are considered equal
        found = pairs.select(F.count("*"), F.bit_xor(F.xxhash64("node", "component"))).first()
        if found == signature:
            return pairs
        signature = found


def _large_star(pairs: DataFrame) -> DataFrame:
    """Link every larger neighbour of a node to the least of the node and all its neighbours."""
    from pyspark.sql import functions as F

    both = pairs.selectExpr("node as centre", "component as near").unionAll(
        pairs.selectExpr("component as centre", "node as near")
    )
    return _linked(both, F.col("near") > F.col("centre")).distinct()


def _small_star(pairs: DataFrame) -> DataFrame:
    """Link every node, and its smaller neighbours, to the least of them."""
    from pyspark.sql import functions as F

    below = pairs.selectExpr("node as centre", "component as near")
    with_itself = below.unionAll(below.selectExpr("centre", "centre as near")).distinct()
    return _linked(with_itself, F.lit(True)).distinct()


def _linked(neighbours: DataFrame, wanted: Column) -> DataFrame:
    """The ``wanted`` neighbours of each centre, linked to the least of the centre and its ``neighbours``."""
    from pyspark.sql import functions as F

    least = neighbours.groupBy("centre").agg(F.min("near").alias("least"))
    linked = neighbours.where(wanted).join(least, "centre")
    component = F.least("centre", "least")
    return linked.select(F.col("near").alias("node"), component.alias("component")).where("node <> component")
