"""Data sets whose inferred facts a store adopts, instead of reasoning."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import BNode, Dataset, Graph, Literal, URIRef
from rdflib.namespace import OWL, RDF, RDFS, Namespace
from tests.maintain.histories import History, histories
from tests.maintain.test_transactions import ontologies
from tests.strategies import Fact, thorough

from corollary.columns import TripleIndex
from corollary.columns.pairs import Pairs
from corollary.columns.relation import Relation
from corollary.generators import generate
from corollary.language import constant_text, parse_program
from corollary.language.errors import InputError
from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.reasoner import Reasoner, deriving
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")


def refuse(*args: object) -> None:
    raise AssertionError("it reasoned")


def store_of(graph: Graph) -> CorollaryStore:
    assert isinstance(graph.store, CorollaryStore)
    return graph.store


@pytest.fixture(scope="module")
def university(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed university."""
    folder = tmp_path_factory.mktemp("closed")
    store = CorollaryStore()
    store.load(*generate(1, folder / "university"))
    store.save_encoded(folder / "set")
    return folder / "set"


def small(rules: str = "owl2rl") -> Graph:
    graph = Graph(CorollaryStore(rules=rules))
    graph.bind("ex", EX)
    graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    graph.add((EX.rex, RDF.type, EX.Dog))
    graph.add((EX.partOf, RDF.type, OWL.TransitiveProperty))
    graph.add((EX.a, EX.partOf, EX.b))
    graph.add((EX.b, EX.partOf, EX.c))
    return graph


def test_nothing_is_derived(university: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = CorollaryStore()
    other.load_encoded(university)
    graph = Graph(CorollaryStore())
    monkeypatch.setattr(deriving, "materialise", refuse)
    monkeypatch.setattr(deriving, "maintain", refuse)
    store = store_of(graph)
    store.load_encoded(university, inferred="adopt")
    size = len(graph)
    monkeypatch.undo()
    assert size == len(other)
    assert store.inconsistencies() == other.inconsistencies()


def test_maintenance_goes_on(university: Path) -> None:
    reasoner = Reasoner()
    reasoner.load_encoded(university, inferred="adopt")
    facts = list(reasoner.match(None, "<https://corollary.example/university#partOf>"))
    known = reasoner.settled().state.materialisation
    assert known is not None
    known.engine.seconds = 600.0  # no slow machine makes a removal start over
    for taken in (facts[:1], facts[::50]):
        reasoner.remove(*taken)
        len(reasoner)
        report = reasoner.last_maintenance()
        assert report is not None
        assert report.strategy == "backward/forward"
        assert reasoner.verify().is_sound
        reasoner.add(*taken)
        assert reasoner.verify().is_sound


def test_facts_that_rdf_does_not_allow_are_kept(tmp_path: Path) -> None:
    """The literal is a C; when C is below D, what has it for a value is an E."""
    rules = parse_program(
        f"PREFIX : <{EX}> [?x, a, :E] :- [?x, :p, ?y], [?y, a, :D] ."
        "[?y, a, ?c] :- [?p, rdfs:range, ?c], [?x, ?p, ?y] ."
        "[?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c] ."
    )
    graph = Graph(CorollaryStore(rules=rules))
    graph.add((EX.p, RDFS.range, EX.C))
    graph.add((EX.x, EX.p, Literal("lit")))
    store_of(graph).save_encoded(tmp_path / "set")
    other = Graph(CorollaryStore(rules=rules))
    store_of(other).load_encoded(tmp_path / "set", inferred="adopt")
    other.add((EX.C, RDFS.subClassOf, EX.D))
    assert (EX.x, RDF.type, EX.E) in other
    assert store_of(other).verify().is_sound


def test_named_graphs_prefixes_and_blank_nodes(tmp_path: Path) -> None:
    source = Dataset(CorollaryStore())
    source.bind("ex", EX)
    source.default_graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    source.graph(EX.g).add((BNode("rex"), RDF.type, EX.Dog))
    store_of(source).save_encoded(tmp_path / "set")
    target = Dataset(CorollaryStore())
    assert not len(target.default_graph)  # that it was read does not matter
    assert store_of(target).load_encoded(tmp_path / "set", inferred="adopt") == 2
    assert set(target.graph(EX.g)) == {(BNode("rex"), RDF.type, EX.Dog)}
    assert (BNode("rex"), RDF.type, EX.Animal) in target.default_graph
    assert ("ex", URIRef(str(EX))) in set(target.namespaces())
    target.graph(EX.g).remove((BNode("rex"), RDF.type, EX.Dog))
    assert (BNode("rex"), RDF.type, EX.Animal) not in target.default_graph
    assert store_of(target).verify().is_sound


@thorough(40)
@given(histories(ontologies), st.sampled_from(["rdfs", "owl2rl"]))
def test_ontologies(tmp_path_factory: pytest.TempPathFactory, history: History, rules: str) -> None:
    """Through files: what follows is maintained as if it had been derived here."""
    folder = tmp_path_factory.mktemp("sets") / "set"
    source = Reasoner(rules)
    source.add(*map(in_texts, history[0]))
    source.save_encoded(folder)
    reasoner = Reasoner(rules)
    reasoner.load_encoded(folder, inferred="adopt")
    assert set(reasoner) == set(source)
    for before, after in itertools.pairwise(history):
        reasoner.remove(*map(in_texts, before - after))
        reasoner.add(*map(in_texts, after - before))
        found = reasoner.verify()
        assert found.is_sound, found


def in_texts(fact: Fact) -> tuple[str, str, str]:
    s, p, o = map(constant_text, fact)
    return s, p, o


@pytest.mark.parametrize(
    ("part", "is_more"), [("inferred", True), ("inferred", False), ("generalised", True)]
)
def test_verify_finds_one_fact_more_or_less(tmp_path: Path, part: str, is_more: bool) -> None:
    store_of(small()).save_encoded(tmp_path / "set")
    data = load_encoded(tmp_path / "set")
    index: TripleIndex = getattr(data, part)
    if is_more:
        some = data.dictionary.encode(f"<{EX.a}>")
        predicate = data.dictionary.encode(f"<{EX.partOf}>")
        keys = index.keys(predicate)
        more = np.union1d(keys, np.array([some << 32 | some], np.uint64))
    else:
        predicate = index.predicates()[0]
        more = index.keys(predicate)[1:]
    wrong = TripleIndex({**dict(index.relations()), predicate: Relation(Pairs(more))})
    is_legal = part == "inferred"
    data = replace(data, inferred=wrong) if is_legal else replace(data, generalised=wrong)
    save_encoded(tmp_path / "wrong", data)
    store = CorollaryStore()
    store.load_encoded(tmp_path / "wrong", inferred="adopt")
    found = store.verify()
    assert not found.is_sound
    assert "all facts: 1 " in str(found)
    right = CorollaryStore()
    right.load_encoded(tmp_path / "wrong")
    assert right.verify().is_sound


def test_other_rules_are_refused(tmp_path: Path) -> None:
    store_of(small()).save_encoded(tmp_path / "set")
    graph = Graph(CorollaryStore(rules="rdfs"))
    with pytest.raises(InputError, match=r"closed under owl2rl, by .* others .rdfs."):
        store_of(graph).load_encoded(tmp_path / "set", inferred="adopt")
    assert not len(store_of(graph).reasoner.versions.current().quads.union)
    store_of(graph).load_encoded(tmp_path / "set")
    assert (EX.rex, RDF.type, EX.Animal) in graph
    with pytest.raises(InputError, match="without triples"):
        store_of(small()).load_encoded(tmp_path / "set", inferred="adopt")


def test_a_data_set_without_fingerprint_is_refused(tmp_path: Path) -> None:
    store_of(small("none")).save_encoded(tmp_path / "set")
    with pytest.raises(InputError, match="does not name the rules"):
        CorollaryStore().load_encoded(tmp_path / "set", inferred="adopt")


def test_a_fact_in_two_parts_is_refused(tmp_path: Path) -> None:
    store_of(small()).save_encoded(tmp_path / "set")
    data = load_encoded(tmp_path / "set")
    save_encoded(tmp_path / "set", replace(data, inferred=data.explicit))
    store = CorollaryStore()
    with pytest.raises(InputError, match="in several parts"):
        store.load_encoded(tmp_path / "set", inferred="adopt")
    assert not len(store.reasoner.versions.current().quads.union)


def test_suspended_rules_are_not_adopted(tmp_path: Path) -> None:
    """What such rules infer depends on when they were suspended."""
    rules = parse_program(
        f"PREFIX : <{EX}> [?x, a, ?d] :- [?c, :below, ?d], [?x, a, ?c] ."
        "[?x, a, :Odd] :- [?x, a, :Number], NOT [?x, a, :Even] ."
    )
    graph = Graph(CorollaryStore(rules=rules))
    graph.add((EX.Odd, EX.below, EX.Even))
    graph.add((EX.one, RDF.type, EX.Number))
    with pytest.warns(UserWarning):
        store_of(graph).save_encoded(tmp_path / "set")
    assert load_encoded(tmp_path / "set").fingerprint is None
