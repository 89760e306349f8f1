"""A driver that is killed after a round: the next one goes on, and nothing is left at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.conftest import SETTINGS
from tests.spark.data import texts

from corollary.evaluate import materialise as materialise_here
from corollary.language import parse_program
from corollary.loaders import read_index
from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.spark import materialise
from corollary.loaders.spark.partition_rounds import PartitionedEvaluation
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

RULES = """PREFIX : <http://e/>
[?x, :next, ?z] :- [?x, :next, ?y], [?y, :next, ?z] .
[?y, a, :Reached] :- [?x, :next, ?y], [?x, a, :Start] .
"""

IS_KILLED = f"""
import os, signal, sys
from corollary.loaders.spark import materialise, session
from corollary.language import parse_program


def notify(stage):
    if stage.startswith("round 3"):
        os.kill(os.getpid(), signal.SIGKILL)


spark = session("local[2]", "1g", {SETTINGS})
materialise(spark, sys.argv[1], sys.argv[2], parse_program(sys.argv[3]), files=3, notify=notify)
"""


def test_a_killed_driver_is_followed_by_another(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its three rounds are read. A file of a fourth, which was not finished, is not."""
    lines = "".join(f":n{n} :next :n{n + 1} ." for n in range(20))
    (tmp_path / "chain.ttl").write_text(f"@prefix : <http://e/> . {lines} :n0 a :Start .")
    dictionary = TermDictionary()
    explicit = read_index([tmp_path / "chain.ttl"], dictionary)
    source, target = tmp_path / "set", tmp_path / "closed"
    save_encoded(source, EncodedDataSet(dictionary, explicit))
    killed = subprocess.run(
        [sys.executable, "-c", IS_KILLED, str(source), str(target), RULES],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (kept,) = tmp_path.glob(".closed.*.rounds/*")
    assert len([*kept.glob("*.finished")]) == 3 and not target.exists()
    (kept / "round-003-0").mkdir()
    (kept / "round-003-0" / "part.parquet").write_text("not finished")

    began: list[int] = []
    original = PartitionedEvaluation._next_rows

    def next_rows(self: PartitionedEvaluation) -> Any:
        began.append(len([*kept.glob("*.finished")]))
        return original(self)

    monkeypatch.setattr(PartitionedEvaluation, "_next_rows", next_rows)
    said: list[str] = []
    done = materialise(spark, str(source), str(target), parse_program(RULES), files=3, notify=said.append)
    assert said.count("the next round is read: an earlier run finished it") == 3
    assert began[:3] == [3, 3, 3] and began[3:] == [*range(4, done.rounds + 1)] != []
    found = load_encoded(target)
    wanted = materialise_here(explicit, parse_program(RULES), dictionary)
    assert texts(found.inferred, found.dictionary) == texts(wanted.inferred(), dictionary)
    assert [path.name for path in tmp_path.glob(".closed*")] == [
        path.name for path in tmp_path.glob(".*.part")
    ]
