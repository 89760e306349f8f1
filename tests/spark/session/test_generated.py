"""The generator on Spark against the one on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from corollary.generators import generate as generate_here
from corollary.language.errors import InputError
from corollary.loaders.spark import generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def test_universities_are_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """The generator on Spark makes what the one on this machine makes, some parts in a file."""
    paths = generate(spark, 3, str(tmp_path / "spark"), seed=7, files=2)
    here = generate_here(3, tmp_path / "here", seed=7)
    names = ["university.ttl", "university-part-00000.nt", "university-part-00001.nt"]
    assert [Path(path).name for path in paths] == names
    found = b"".join((tmp_path / "spark" / name).read_bytes() for name in names)
    assert found == b"".join(path.read_bytes() for path in here)
    with pytest.raises(InputError, match="something else is there"):
        generate(spark, 1, str(tmp_path / "here"))
