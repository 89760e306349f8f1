"""One Spark for all tests of this folder, on two cores; without PySpark or Java they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from corollary.loaders.spark.session import has_java, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.files.minPartitionNum": "1",
    # Tests are made of many queries about little: planning them is what costs, and compiling them most.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.planChangeValidation": "false",
    "spark.driver.extraJavaOptions": "-Dspark.testing=true -XX:+UseSerialGC "
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
}


@pytest.fixture(scope="session", autouse=True)
def _needs_spark() -> None:
    pytest.importorskip("pyspark", reason="needs PySpark: pip install 'corollary[spark]'")
    if not has_java():
        pytest.skip("needs Java 17 or 21: install it, or set JAVA_HOME")


@pytest.fixture(scope="session")
def spark(_needs_spark: None) -> Iterator[SparkSession]:
    """A session on this machine."""
    found = session("local[2]", "2g", SETTINGS)
    yield found
    found.stop()
