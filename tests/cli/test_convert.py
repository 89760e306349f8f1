"""``corollary convert``: every form of stored facts to every other, with all that they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rdflib import Dataset, URIRef

from corollary.cli import main
from corollary.evaluate import known_closure
from corollary.language import CorollaryError
from corollary.reasoner import deriving, folder
from corollary.store import CorollaryStore

TRIG = """@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:ancestor a owl:TransitiveProperty .
:family { :ann :ancestor :bob . :bob :ancestor :cid }
"""
FAMILY = URIRef("http://example.org/family")
RULES = "[?x, <http://example.org/child>, ?y] :- [?y, <http://example.org/ancestor>, ?x] ."


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stderr


def content(place: Path, rules: str | Path) -> tuple[set[Any], set[Any], str]:
    """All facts, those of the named graph, and the namespace of the empty prefix."""
    store = CorollaryStore(rules=str(rules))
    dataset = Dataset(store, default_union=True)
    store.open(str(place), read_only=True)
    found = {*dataset.triples((None, None, None))}, {*dataset.graph(FAMILY)}, str(store.namespace(""))
    store.close()
    return found


def no_reasoning(*args: object, **options: object) -> None:
    raise AssertionError("facts are derived again")


@pytest.mark.parametrize("rules", ["owl2rl", "own"])
@pytest.mark.parametrize("first", ["snapshot", "encoded"])
@pytest.mark.parametrize("second", ["snapshot", "encoded", "store"])
def test_what_a_stored_form_has_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: str, first: str, second: str
) -> None:
    (tmp_path / "in.trig").write_text(TRIG)
    (tmp_path / "own").write_text(RULES)
    named = str(tmp_path / "own") if rules == "own" else rules
    source, target = tmp_path / f"closed.{first}", tmp_path / "converted"
    run("materialise", tmp_path / "in.trig", "--rules", named, "-o", source)
    expected = content(source, named)
    monkeypatch.setattr(folder, "MIN_FACTS_TO_CHECKPOINT", 0)  # the folder of a few facts, too
    said = run("convert", source, target, "--to", second)
    is_known = (rules, first) != ("own", "encoded")  # a data set has the fingerprint of rules, not their text
    assert ("does not tell its rules" in said) == (second == "store" and not is_known)
    if is_known:
        monkeypatch.setattr(deriving, "materialise", no_reasoning)
    assert content(target, named) == expected
    assert len(expected[1]) == 2
    assert expected[2] == "http://example.org/"


def test_a_store_is_closed_first(tmp_path: Path) -> None:
    (tmp_path / "in.trig").write_text(TRIG)
    store = CorollaryStore(rules="none")
    store.open(str(tmp_path / "pets"), create=True)
    store.load(str(tmp_path / "in.trig"))
    store.close()
    for form in ("snapshot", "encoded"):
        run("convert", tmp_path / "pets", tmp_path / f"closed.{form}")
        facts, *_ = content(tmp_path / f"closed.{form}", "owl2rl")
        assert len([s for s, p, _ in facts if p == URIRef("http://example.org/ancestor")]) == 3


def test_a_query_of_a_snapshot_restores_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.trig").write_text(TRIG)
    run("materialise", tmp_path / "in.trig", "-o", tmp_path / "closed.snapshot")
    monkeypatch.setattr(known_closure, "adopt", no_reasoning)
    monkeypatch.setattr(known_closure, "materialise", no_reasoning)
    for text in ("SELECT * { ?s ?p ?o }", "CONSTRUCT WHERE { ?s ?p ?o }", "ASK { :ann :ancestor :cid }"):
        run("query", tmp_path / "closed.snapshot", "--as-is", "-q", text)


def test_a_snapshot_gives_its_graphs_by_name_and_takes_no_others(tmp_path: Path) -> None:
    (tmp_path / "in.trig").write_text(TRIG)
    run("materialise", tmp_path / "in.trig", "-o", tmp_path / "closed.snapshot")
    store = CorollaryStore(rules="owl2rl")
    dataset = Dataset(store)
    store.open(str(tmp_path / "closed.snapshot"))
    assert len(dataset.graph(FAMILY)) == 2
    with pytest.raises(CorollaryError, match="is a snapshot, which is never written"):
        dataset.graph(URIRef("http://example.org/other"))
    assert {graph.identifier for graph in dataset.graphs()} >= {FAMILY}


def test_documents_are_for_another_command(tmp_path: Path) -> None:
    (tmp_path / "family.trig").write_text(TRIG)
    done = CliRunner().invoke(main, ["convert", str(tmp_path / "family.trig"), str(tmp_path / "x.snapshot")])
    assert (done.exit_code, done.stdout) == (2, "")
    assert (
        "this is no snapshot; of RDF files, `corollary materialise FILE... -o NAME.snapshot`" in done.stderr
    )


@pytest.mark.parametrize("form", ["snapshot", "encoded"])
def test_writing_is_reported(tmp_path: Path, form: str) -> None:
    """All facts, and a share that rises to 1."""
    (tmp_path / "in.trig").write_text(TRIG)
    store = CorollaryStore(rules="owl2rl")
    store.load(str(tmp_path / "in.trig"))
    told: list[tuple[str, int, float | None]] = []
    save = store.save_snapshot if form == "snapshot" else store.save_encoded
    save(tmp_path / "closed", progress=lambda *step: told.append(step))
    shares = [share for _, _, share in told if share is not None]
    assert shares == sorted(shares)
    assert (told[-1][1], shares[-1]) == (len(store), 1.0)
    told.clear()
    assert store.verify(progress=lambda *step: told.append(step)).is_sound
    shares = [share for _, _, share in told if share is not None]
    assert shares == sorted(shares)
    assert (told[-1][1] >= len(store), shares[-1]) == (True, 1.0)


def test_the_command_for_rdf_is_named(tmp_path: Path) -> None:
    """``--to`` has no form that is RDF."""
    CorollaryStore(rules="none").save_snapshot(tmp_path / "in.snapshot")
    for name in ("out.nt", "out.ttl.gz"):
        result = CliRunner().invoke(main, ["convert", str(tmp_path / "in.snapshot"), str(tmp_path / name)])
        assert (result.exit_code, f"materialise SOURCE -o {tmp_path / name}" in result.stderr) == (2, True)
