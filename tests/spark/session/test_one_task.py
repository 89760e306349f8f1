"""One task with the engine: data sets as those of many tasks, and what only the engine does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.data import TextTriple, texts

from corollary.language import parse_program
from corollary.language.errors import InputError
from corollary.loaders.encoded import load_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.spark import load, materialise, materialise_tables, one_task, update
from corollary.loaders.spark.encoded_tables import largest_predicates, open_encoded
from corollary.loaders.spark.one_task import Written
from corollary.loaders.spark.snapshot_output import QUARANTINE
from corollary.maintain.deletion import FALLBACK
from corollary.profiles import load_profile
from corollary.reasoner import Reasoner
from corollary.terms.dictionary import BULK_KINDS, KIND_SHIFT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

LINES = """<http://e/a> <http://e/p> "é"@fr , 1 .
<http://e/b> <http://e/p> <http://e/a> .
<http://e/\U0001f600> <http://e/p> "x\\ty"^^<http://e/d> .
_:one <http://e/q> _:two .
<http://e/b> <http://e/p> <http://e/a> .
<http://e/\uffed> <http://e/q> "z" .
"""


def terms(path: Path) -> list[list[str]]:
    """The texts of all terms, by kind and id."""
    found = load_encoded(path).dictionary
    return [
        found.decode_all(range(kind << KIND_SHIFT, (kind << KIND_SHIFT) + found.count(kind)))
        for kind in BULK_KINDS
    ]


def graphs_of(data: EncodedDataSet) -> dict[str, set[TextTriple]]:
    """The facts of each graph, by its name."""
    decode = data.dictionary.decode
    return {decode(name): texts(facts, data.dictionary) for name, facts in (data.graphs or {}).items()}


def test_a_load_numbers_terms_as_by_many_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """Ids, facts, bad lines, prefixes: terms beyond the first plane of Unicode are in the order of bytes."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.nt", "b.nt"):
        (folder / name).write_text(LINES)
    (folder / "c.ttl").write_text("@prefix : <http://e/> . :x :p [ :p ( 1 2 ) ] .")
    reports = [
        load(spark, [str(folder)], str(tmp_path / name), files=files)
        for name, files in (("one", None), ("many", 1), ("shares", 2))
    ]
    one, many, shares = tmp_path / "one", tmp_path / "many", tmp_path / "shares"
    assert list(reports[0].seconds) == ["parse", "bad lines", "one task", "manifest"]
    for part in ("documents", "statements", "terms", "facts", "bad_lines"):
        assert len({getattr(report, part) for report in reports}) == 1
    assert terms(one) == terms(many)
    assert terms(one) == [sorted(kind, key=str.encode) for kind in terms(shares)]
    found, other = load_encoded(one), load_encoded(shares)
    assert found.explicit.difference(load_encoded(many).explicit).fact_count() == 0
    assert texts(found.explicit, found.dictionary) == texts(other.explicit, other.dictionary)
    assert found.prefixes == {"": "http://e/"}
    lines = [spark.read.parquet(str(path / QUARANTINE)).collect() for path in (one, many, shares)]
    assert lines[0] == lines[1] == lines[2] and len(lines[0]) == 2
    manifest = json.loads((one / "manifest.json").read_text())
    assert manifest["facts"] == {"explicit": reports[1].facts, "inferred": 0}


def test_new_terms_graphs_and_prefixes(spark: SparkSession, tmp_path: Path) -> None:
    """BIND, which many tasks refuse; the graphs of the data set stay; nothing is left beside the result."""
    (tmp_path / "in.trig").write_text("@prefix : <http://e/> . :g { :a :n 1 . :b :n 2 . } :h { :a :n 1 . }")
    reasoner = Reasoner("none")
    reasoner.load(tmp_path / "in.trig")
    reasoner.save_encoded(tmp_path / "set")
    program = parse_program("PREFIX : <http://e/> [?x, :m, ?z] :- [?x, :n, ?y], BIND(?y + 1 AS ?z) .")
    done = materialise(spark, str(tmp_path / "set"), str(tmp_path / "closed"), program)
    assert (done.explicit, done.inferred) == (2, 2)
    found = load_encoded(tmp_path / "closed")
    number = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert texts(found.inferred, found.dictionary) == {
        ("<http://e/a>", "<http://e/m>", number.format(2)),
        ("<http://e/b>", "<http://e/m>", number.format(3)),
    }
    before = load_encoded(tmp_path / "set")
    assert graphs_of(found) == graphs_of(before) != {}
    assert found.prefixes == before.prefixes
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["closed", "in.trig", "set"]


SUSPENDING = """
PREFIX : <urn:>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .
@name ok
:ok[?x, ?y] :- :p[?x, ?y], NOT :bad[?x, ?y] .
"""


def test_suspended_rules_are_named(spark: SparkSession, tmp_path: Path) -> None:
    """In the same words as by many tasks, and the result is not said to be closed."""
    (tmp_path / "data.ttl").write_text(
        "@prefix : <urn:> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
        ":a :p :b . :ok rdfs:subPropertyOf :bad . :p rdfs:subPropertyOf :q ."
    )
    load(spark, [str(tmp_path / "data.ttl")], str(tmp_path / "set"))
    said: list[list[str]] = []
    for files in (None, 1):
        heard: list[str] = []
        materialise(
            spark,
            str(tmp_path / "set"),
            str(tmp_path / "closed"),
            parse_program(SUSPENDING),
            files=files,
            notify=heard.append,
        )
        said.append([line for line in heard if "suspended" in line])
        found = load_encoded(tmp_path / "closed")
        assert found.fingerprint is None
        assert texts(found.inferred, found.dictionary) == {("<urn:a>", "<urn:q>", "<urn:b>")}
    assert said[0] == said[1] and len(said[0]) == 1


def test_other_file_systems(spark: SparkSession, tmp_path: Path) -> None:
    """Spark reads the files for the task. Loaded, closed and updated, they are those of local files."""
    rules = parse_program("PREFIX : <http://e/> [?x, :m, ?z], [?z, :of, ?x] :- [?x, :n, ?y], [?y, :n, ?z] .")
    results: list[list[object]] = []
    for name in ("here", "elsewhere"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "in.trig").write_text("@prefix : <http://e/> . :g { :a :n :b } :h { :b :n :d, 1 }")
        (folder / "more.nq").write_text("<http://e/c> <http://e/n> <http://e/b> <http://e/h> .\n")
        (folder / "less.nq").write_text("<http://e/a> <http://e/n> <http://e/b> <http://e/g> .\n")
        place = str(folder)
        if name == "elsewhere":
            place = f"viewfs://{tmp_path.name}/data"
            link = f"fs.viewfs.mounttable.{tmp_path.name}.link./data"
            spark._jsc.hadoopConfiguration().set(link, folder.as_uri())
        load(spark, [f"{place}/in.trig"], f"{place}/set")
        materialise(spark, f"{place}/set", f"{place}/closed", rules)
        done = update(
            spark,
            f"{place}/closed",
            f"{place}/newer",
            rules,
            add=[f"{place}/more.nq"],
            remove=[f"{place}/less.nq"],
        )
        assert (done.added, done.removed, done.strategy == FALLBACK.name) == (1, 1, False)
        largest = largest_predicates(open_encoded(spark, f"{place}/newer"), 2)
        assert largest == [
            {"predicate": "<http://e/n>", "explicit": 3, "total": 3},
            {"predicate": "<http://e/m>", "explicit": 0, "total": 2},
        ]
        found = load_encoded(folder / "newer")
        facts = [
            texts(part, found.dictionary) for part in (found.explicit, found.inferred, found.generalised)
        ]
        results.append([*facts, terms(folder / "newer"), graphs_of(found)])
    assert results[0] == results[1]
    assert [len(facts) for facts in results[0][:3]] == [3, 3, 1]  # type: ignore[arg-type]


def test_a_data_set_that_is_replaced_while_it_is_closed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the result would have the graphs of one and the facts of another, and name the first."""
    for name, content in (("one", ":g { :a :n :b }"), ("other", ":h { :b :n :d, 1 }")):
        (tmp_path / f"{name}.trig").write_text(f"@prefix : <http://e/> . {content}")
        load(spark, [str(tmp_path / f"{name}.trig")], str(tmp_path / name))

    def close(*arguments: Any) -> Written:
        (tmp_path / "one").rename(tmp_path / "older")
        (tmp_path / "other").rename(tmp_path / "one")
        return one_task.close(*arguments)

    monkeypatch.setattr(materialise_tables, "close", close)
    rules = parse_program("[?y, <http://e/m>, ?x] :- [?x, <http://e/n>, ?y] .")
    with pytest.raises(InputError, match="it changed while it was read"):
        materialise(spark, str(tmp_path / "one"), str(tmp_path / "closed"), rules)
    assert not any("closed" in entry.name for entry in tmp_path.iterdir())


def test_a_name_that_is_a_pattern(spark: SparkSession, tmp_path: Path) -> None:
    """It would stand for the folder beside it, too."""
    (tmp_path / "in.nt").write_text("<http://e/a> <http://e/n> <http://e/b> .\n")
    load(spark, [str(tmp_path / "in.nt")], str(tmp_path / "a b"))
    for name in ("a?b", "[a]"):
        (tmp_path / "a b").rename(tmp_path / name)
        with pytest.raises(InputError, match="takes this for a pattern"):
            materialise(spark, str(tmp_path / name), str(tmp_path / "closed"), parse_program(""))
        with pytest.raises(InputError, match="takes this for a pattern"):
            load(spark, [str(tmp_path / "in.nt")], str(tmp_path / name))
        (tmp_path / name).rename(tmp_path / "a b")


@pytest.mark.parametrize("files", [None, 1])
def test_damaged_texts_that_no_rule_looks_at(spark: SparkSession, tmp_path: Path, files: int | None) -> None:
    """In rounds the files of terms are copied unread: the result would be as damaged as they are."""
    (tmp_path / "in.nt").write_text('<http://e/a> <http://e/n> "value" .\n')
    load(spark, [str(tmp_path / "in.nt")], str(tmp_path / "set"))
    path = tmp_path / "set/terms/part-00002.parquet"
    content = path.read_bytes()
    assert content.count(b"value")
    path.write_bytes(content.replace(b"value", b"other"))
    rules = parse_program("[?x, <http://e/m>, ?y] :- [?x, <http://e/n>, ?y] .")
    with pytest.raises(InputError, match=r"terms/part-00002\.parquet is not what was written"):
        materialise(spark, str(tmp_path / "set"), str(tmp_path / "closed"), rules, files=files)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.nt", "set"]


def test_a_manifest_that_was_edited(spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop keeps checksums beside what it wrote. Without them the manifest is what it is."""
    (tmp_path / "in.nt").write_text("<http://e/a> <http://e/p> <http://e/b> .\n")
    load(spark, [str(tmp_path / "in.nt")], str(tmp_path / "set"))
    manifest, sums = tmp_path / "set/manifest.json", tmp_path / "set/.manifest.json.crc"
    assert sums.exists()
    manifest.write_text(manifest.read_text().replace('"bytes"', '"bytes" '))
    with pytest.raises(InputError, match=r"not what was written.*\.manifest\.json\.crc") as found:
        materialise(spark, str(tmp_path / "set"), str(tmp_path / "closed"), load_profile("rhodf"))
    assert "delete" in str(found.value) and "Exception" not in str(found.value)
    sums.unlink()
    assert open_encoded(spark, str(tmp_path / "set")).facts["explicit"] == 1


def test_the_counts_of_a_closure(spark: SparkSession, tmp_path: Path) -> None:
    """Those of one machine, in one task and in rounds."""
    reasoner = Reasoner("owl2rl")
    (tmp_path / "in.ttl").write_text(
        "@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> ."
        ":A owl:disjointWith :B . :a a :A, :B . :b a :A, :B ."
    )
    reasoner.load(tmp_path / "in.ttl")
    reasoner.save_encoded(tmp_path / "set")
    program = load_profile("owl2rl")
    for files in (None, 1):
        done = materialise(spark, str(tmp_path / "set"), str(tmp_path / "closed"), program, files=files)
        wanted = reasoner.statistics()
        assert (done.explicit, done.inferred, done.total) == (wanted.explicit, wanted.inferred, wanted.total)
        assert done.inconsistencies == wanted.inconsistencies == 2
