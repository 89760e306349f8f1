"""What follows is counted alike wherever it is reported: facts with a literal for a subject never count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from rdflib import Graph, Literal, URIRef
from tests.engine import facts_of
from tests.oracles.naive import visible

from corollary.cli import main
from corollary.evaluate import MaterialisedView, materialise
from corollary.loaders import read_index
from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.profiles import load_profile
from corollary.store import CorollaryStore
from corollary.terms.dictionary import Kind, TermDictionary, kinds

LITERALS = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

:size rdfs:range :Size ; rdfs:subPropertyOf :about . :Size rdfs:subClassOf :Thing .
:about a owl:SymmetricProperty . :number rdfs:range xsd:integer ; a owl:FunctionalProperty .
xsd:byte :of :size . :a :number 1 , "01"^^xsd:integer . :a owl:sameAs :b .
:a :size "1"^^xsd:byte , "x" , "x"@en , "2000-01-01T00:00:00Z"^^xsd:dateTime .
:b :size [ :size "x"^^xsd:token ] .
"""
"""Ranges, symmetry and equal numbers make literals subjects; what is said of a datatype gives them types."""

PROFILES = ["rdfs", "owl2rl", "owl2rl-full"]


def closed(path: Path, profile: str) -> MaterialisedView:
    dictionary = TermDictionary()
    return materialise(read_index([path], dictionary), load_profile(profile), dictionary)


def reported(path: Path, profile: str) -> Iterator[tuple[str, int]]:
    """Every number of inferred facts that something reports on one machine."""
    result = closed(path, profile)
    yield "inferred_count", result.inferred_count
    yield "inferred()", len(result.inferred())
    yield "inferred(), all of it", result.inferred().fact_count()
    yield "repr of a materialisation", _number(repr(result))

    store = CorollaryStore(rules=profile)
    store.load(path)
    yield "len", len(store.inferred())
    yield "len less explicit", len(Graph(store)) - len(store.explicit())
    yield "iteration", len(set(store.inferred()))
    yield "statistics", store.statistics().inferred
    yield "statistics of predicates", sum(n.inferred for n in store.statistics().predicates.values())
    yield "verify", store.verify().inferred
    yield "repr of a store", _number(repr(store))
    yield "HTML", _number(re.sub("<th>inferred</th><td>(.*?)</td>", r", \1 inferred", store._repr_html_()))
    found = Graph(store).query("SELECT (COUNT(*) AS ?n) { GRAPH <urn:x-corollary:inferred> { ?s ?p ?o } }")
    yield "query", int(next(iter(found))[0])  # type: ignore[index, arg-type]
    apart = CorollaryStore(rules=profile, inferred="apart")
    apart.load(path)
    yield "apart", len(apart.inferred())

    for name in ("stored", "made"):
        folder = path.with_name(f"{path.stem}-{name}")
        if name == "stored":
            store.save_encoded(folder)
        else:
            data = EncodedDataSet(result.dictionary, result.explicit, result.inferred(), profile)
            save_encoded(folder, data)
        yield f"manifest {name}", json.loads((folder / "manifest.json").read_text())["facts"]["inferred"]
        yield f"data set {name}", load_encoded(folder).inferred.fact_count()

    output = path.with_name("inferred.nt")
    arguments = [str(path), "--rules", profile]
    options = ["--json", "--inferred-only", "-o", str(output)]
    report = json.loads(CliRunner().invoke(main, ["materialise", *arguments, *options]).output)
    yield "materialise --json", report["inferred"]
    yield "materialise --inferred-only", len(set(output.read_text().splitlines()))
    nothing = path.with_name("nothing.nt")
    nothing.write_text("<urn:not> <urn:p> <urn:there> .\n")
    changed = [*arguments, "--remove", str(nothing), "--report", "json"]
    report = json.loads(CliRunner().invoke(main, ["update", *changed]).stdout)
    yield "update", report["inferred"]["after"]


def _number(text: str) -> int:
    match = re.search(r", ([\d,]+) inferred", text)
    assert match is not None, text
    return int(match[1].replace(",", ""))


@pytest.mark.parametrize("profile", PROFILES)
def test_inferred_facts_are_counted_alike(profile: str, tmp_path: Path) -> None:
    path = tmp_path / "literals.ttl"
    path.write_text(LITERALS)
    result = closed(path, profile)
    hidden = result.index.difference(result.explicit).fact_count() - result.inferred_count
    assert hidden > 0, "there is nothing to be counted otherwise"
    everything = facts_of(result.index.columns(legal=False), result.dictionary)
    explicit = facts_of(result.explicit.columns(), result.dictionary)
    wanted = len(visible(everything) - explicit)
    found = dict(reported(path, profile))
    assert found == dict.fromkeys(found, wanted)


@pytest.mark.parametrize("profile", PROFILES)
def test_what_rdf_does_not_allow_is_in_no_data_set(profile: str, tmp_path: Path) -> None:
    (tmp_path / "literals.ttl").write_text(LITERALS)
    store = CorollaryStore(rules=profile)
    store.load(tmp_path / "literals.ttl")
    store.save_encoded(tmp_path / "set")
    data = load_encoded(tmp_path / "set")
    subjects, predicates, _ = data.inferred.columns(legal=False)
    assert not (kinds(subjects) == Kind.LITERAL).any() and (kinds(predicates) == Kind.IRI).all()
    columns = [data.dictionary.decode_all(column.tolist()) for column in data.inferred.columns(legal=False)]
    assert set(zip(*columns, strict=True)) == {tuple(t.n3() for t in triple) for triple in store.inferred()}


def test_explicit_facts_count_whatever_they_are(tmp_path: Path) -> None:
    """rdflib may put in what RDF does not allow: it is shown, and is not inferred."""
    store = CorollaryStore(rules="rdfs")
    graph = Graph(store)
    graph.add((Literal("x"), URIRef("urn:p"), Literal("y")))
    assert len(store.explicit()) == store.statistics().explicit == store.verify().explicit == 1
    assert len(graph) == len(set(graph)) == store.statistics().total == 1 + len(store.inferred())
    store.save_encoded(tmp_path / "set")
    assert load_encoded(tmp_path / "set").explicit.fact_count() == 1
    arguments = ["materialise", str(tmp_path / "set"), "--rules", "rdfs", "--json"]
    found = json.loads(CliRunner().invoke(main, arguments).output)
    assert (found["explicit"], found["inferred"]) == (1, len(store.inferred()))
