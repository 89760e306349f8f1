"""Spark writes snapshots: what they hold is what the data set of the same call holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rdflib import Graph
from rdflib.compare import isomorphic
from tests.spark.data import texts
from tests.spark.test_one_task_update import PREFIXES

from corollary.language import parse_program
from corollary.language.errors import InputError
from corollary.loaders.encoded import load_encoded
from corollary.loaders.spark import load, materialise, snapshot_output
from corollary.loaders.spark.snapshot_output import QUARANTINE
from corollary.profiles import load_profile
from corollary.reasoner import Reasoner
from corollary.store import CorollaryStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

LINES = """<http://e/C> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://e/D> .
<http://e/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> .
<http://e/a> <http://e/p> "\u00e9"@fr .
_:b <http://e/p> <http://e/a> .
<http://e/p> <http://www.w3.org/2002/07/owl#inverseOf> <http://e/q> .
no statement
"""


@pytest.mark.parametrize("files", [None, 2])
@pytest.mark.parametrize("is_local", [True, False])
def test_a_snapshot_has_the_content_of_the_data_set(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: int | None,
    is_local: bool,
) -> None:
    """Loaded, with a bad line beside; closed, over an older one; also where files cannot be mapped."""
    if not is_local:
        monkeypatch.setattr(snapshot_output, "local_path", lambda path: None)
    (tmp_path / "in.nt").write_text(LINES)
    work = tmp_path / "work"
    work.mkdir()
    data_set, loaded, closed = (str(work / name) for name in ("set", "loaded.snapshot", "closed.snapshot"))
    for output in (data_set, loaded):
        load(spark, [str(tmp_path / "in.nt")], output, files=files)
    wanted, found = load_encoded(Path(data_set)), load_encoded(Path(loaded))
    facts = texts(wanted.explicit, wanted.dictionary)
    assert len(facts) == 5 and texts(found.explicit, found.dictionary) == facts
    assert spark.read.parquet(snapshot_output.quarantine_of(loaded)).count() == 1
    rules = load_profile("owl2rl")
    report = materialise(spark, data_set, closed, load_profile("rhodf"), files=files)
    again = materialise(spark, data_set, closed, rules, files=files)
    assert again.inferred > report.inferred
    materialise(spark, data_set, str(work / "closed"), rules, files=files)
    wanted, found = load_encoded(work / "closed"), load_encoded(Path(closed))
    assert found.fingerprint == wanted.fingerprint is not None
    assert texts(found.inferred, found.dictionary) == texts(wanted.inferred, wanted.dictionary)
    reasoner = Reasoner("owl2rl")
    reasoner.open(Path(closed))
    assert reasoner.verify().is_sound
    reasoner.close()
    names = {"set", "closed", "loaded.snapshot", "loaded.snapshot.quarantine", "closed.snapshot"}
    if (work / "closed" / QUARANTINE).exists():  # in rounds, the bad lines are copied, too
        names.add("closed.snapshot.quarantine")
    assert {entry.name for entry in work.iterdir() if not entry.name.endswith(".crc")} == names


def test_a_snapshot_of_what_joins_closed(spark: SparkSession, tmp_path: Path) -> None:
    """Opened as a store, it has the facts that a store derives by itself."""
    documents = LINES.replace("no statement\n", "")
    (tmp_path / "in.nt").write_text(documents)
    rules = f"{PREFIXES} [?x, :linked, ?y] :- [?x, ?p, ?y], [?p, owl:inverseOf, :q], NOT([?x, :apart, ?y]) ."
    data_set, snapshot, program = str(tmp_path / "set"), str(tmp_path / "all.snapshot"), parse_program(rules)
    load(spark, [str(tmp_path / "in.nt")], data_set, files=2)
    report = materialise(spark, data_set, snapshot, program, files=2)
    assert report.method.startswith("joins: ")
    found, wanted = (Graph(store=CorollaryStore(rules=program)) for _ in range(2))
    found.open(snapshot)
    wanted.parse(data=documents, format="nt")
    assert isomorphic(found, wanted)
    assert len(found) == report.explicit + report.inferred == 7
    found.close()


def test_what_is_no_snapshot_is_not_replaced(spark: SparkSession, tmp_path: Path) -> None:
    """A failure leaves what was there, and nothing else."""
    (tmp_path / "in.nt").write_text(LINES)
    other = tmp_path / "other.snapshot"
    other.write_text("a text")
    with pytest.raises(InputError, match="something else is there"):
        load(spark, [str(tmp_path / "in.nt")], str(other))
    assert other.read_text() == "a text"
    other.unlink()
    with pytest.raises(InputError, match="1 bad line, where 0 are allowed"):
        load(spark, [str(tmp_path / "in.nt")], str(other), most_bad_lines=0)
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.nt"]
