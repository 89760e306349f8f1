"""With every array in a scratch file, the engine finds the same facts, and follows changes exactly."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from rdflib import Graph
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact
from tests.evaluate.test_against_naive import assert_same, assert_same_visible
from tests.maintain.histories import History, assert_exact, histories, same_visible
from tests.scratch import in_scratch

from corollary.generators import generate
from corollary.language import Program
from corollary.profiles import load_profile
from corollary.store import CorollaryStore, Limits

thorough, brief = some.thorough(100), some.thorough(15)
OWL2RL = load_profile("owl2rl")
ontologies = ontology.ontologies(
    ontology.rdfs_axioms, ontology.property_axioms, ontology.class_axioms, ontology.clash_axioms
)


@thorough
@given(some.fact_sets, some.programs())
def test_rules(facts: frozenset[Fact], program: Program) -> None:
    in_scratch(lambda: assert_same(facts, program))


@thorough
@given(ontologies)
def test_owl2rl(facts: frozenset[Fact]) -> None:
    in_scratch(lambda: assert_same_visible(facts, OWL2RL))


@brief
@given(histories(ontologies))
def test_changes(history: History) -> None:
    in_scratch(lambda: assert_exact(history, OWL2RL, same_visible))


@pytest.mark.parametrize("most", [0, 1000])
def test_files_to_snapshot(tmp_path: Path, most: int) -> None:
    """Loaded, closed and saved: the snapshot is that of a store in memory, byte by byte."""
    files = generate(1, tmp_path / "data")
    places = [tmp_path / "memory.snapshot", tmp_path / "scratch.snapshot"]

    def save(place: Path) -> None:
        store = CorollaryStore(rules="owl2rl")
        store.load(*files, labels="keep")
        store.materialise()
        store.save_snapshot(place)

    save(places[0])
    in_scratch(lambda: save(places[1]), most)
    assert places[0].read_bytes() == places[1].read_bytes()


def test_a_store_with_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is one of the limits of a store, of a call, and of COROLLARY_LIMITS."""
    text = f"threads=1,scratch={tmp_path}"
    assert Limits.parse(text) == Limits(threads=1, scratch=str(tmp_path))
    monkeypatch.setenv("COROLLARY_LIMITS", text)
    graph = Graph(CorollaryStore(rules="rdfs"))
    graph.parse(data="@prefix : <x:> . :a :p :b . :p <http://www.w3.org/2000/01/rdf-schema#domain> :C .")
    assert graph.query("ASK { <x:a> a <x:C> }").askAnswer
    assert len(graph.query("SELECT * { ?s a <x:C> }", limits=Limits(scratch=tmp_path))) == 1
