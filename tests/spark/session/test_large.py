"""The long form: ten universities and an encyclopaedia of two million triples, against the local engine.

In one task, and in many: on partitions or by joins. It takes an hour on two cores, and runs if MORE_EXAMPLES
is more than 1. owl2rl-full is left out: it
derives a fact for every pair of literals, for which ten universities are too many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.data import assert_equal_facts, assert_isomorphic
from tests.strategies import MORE_EXAMPLES

from corollary.evaluate import materialise as materialise_here
from corollary.generators import generate
from corollary.loaders import read_index
from corollary.loaders.encoded import load_encoded
from corollary.loaders.spark import load, materialise
from corollary.loaders.spark.materialise_tables import ONE_TASK
from corollary.profiles import load_profile, profile_names
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(MORE_EXAMPLES == 1, reason="takes half an hour: set MORE_EXAMPLES to 2")

FOR_MUCH = {
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "10485760",
    "spark.sql.codegen.wholeStage": "true",
}
"""Spark's own defaults, or what suits some million rows."""


@dataclass(frozen=True)
class Sample:
    """Generated documents, and the data set that Spark made of them."""

    documents: list[Path]
    data_set: Path
    files: int | None


@pytest.fixture(scope="module")
def much(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, with settings for much data."""
    before = {name: str(spark.conf.get(name)) for name in FOR_MUCH}
    for name, value in FOR_MUCH.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


FILES = (None, 8)
"""In one task, and in many."""


@pytest.fixture(
    scope="module",
    params=[*product((("university", 10), ("encyclopaedia", 21)), FILES)],
    ids=lambda p: f"{p[0][0]}-{p[1]}",
)
def sample(
    request: pytest.FixtureRequest, much: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Sample:
    (kind, number), files = request.param
    folder = tmp_path_factory.mktemp(kind)
    documents = generate(number, folder / "in", kind)
    load(much, map(str, documents), str(folder / "set"), files=files)
    return Sample(documents, folder / "set", files)


def test_the_data_set_is_what_the_local_reader_reads(sample: Sample) -> None:
    dictionary = TermDictionary()
    wanted = read_index(sample.documents, dictionary)
    found = load_encoded(sample.data_set)
    assert_isomorphic((found.explicit, found.dictionary), (wanted, dictionary))


@pytest.mark.parametrize("profile", [name for name in profile_names() if name != "owl2rl-full"])
def test_what_follows_is_what_the_local_engine_infers(
    much: SparkSession, sample: Sample, tmp_path: Path, profile: str
) -> None:
    program = load_profile(profile)
    done = materialise(much, str(sample.data_set), str(tmp_path / "closed"), program, files=sample.files)
    assert (done.method == ONE_TASK) == (sample.files is None)
    data = load_encoded(sample.data_set)
    wanted = materialise_here(data.explicit, program, data.dictionary)
    found = load_encoded(tmp_path / "closed")
    assert_equal_facts((found.inferred, found.dictionary), (wanted.inferred(), wanted.dictionary))
