"""One Spark for all tests of the folder ``session``, on two cores. Without PySpark or Java they are skipped.

Tests that start processes of their own, or need no Spark, are beside that folder: they may run in parallel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.strategies import MORE_EXAMPLES

from corollary.loaders.spark.session import has_java, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.files.minPartitionNum": "1",
    # Tests are made of many queries about little: what they cost is planning and compiling.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "false",
    # By default every aggregation and sort of a task takes up 30 MB, which the collector has to clear away.
    "spark.buffer.pageSize": "256k",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
    "-XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=256m",
}


@pytest.fixture(scope="session")
def needs_spark() -> None:
    """Skips what needs PySpark and Java where they are not."""
    pytest.importorskip("pyspark", reason="needs PySpark: pip install 'corollary[spark]'")
    if not has_java():
        pytest.skip("needs Java 17 or 21: install it, or set JAVA_HOME")


@pytest.fixture(scope="session")
def spark(needs_spark: None) -> Iterator[SparkSession]:
    """A session on this machine."""
    found = session("local[2]", "2g" if MORE_EXAMPLES == 1 else "6g", SETTINGS)
    yield found
    found.stop()
