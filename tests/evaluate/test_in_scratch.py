"""With every array in a scratch file, the engine finds the same facts, and follows changes exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from rdflib import Graph
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact
from tests.evaluate.test_against_naive import assert_same, assert_same_visible
from tests.maintain.histories import History, assert_exact, histories, same_visible
from tests.scratch import in_scratch

from corollary.columns import pairs
from corollary.generators import generate
from corollary.kernels import scratch
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


def test_a_load_has_the_folder_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts and terms are moved there, without a work around the call."""
    (folder := tmp_path / "scratch").mkdir()
    (data := tmp_path / "data.nt").write_text("<x:a> <x:p> <x:b> .")
    moved: list[Path] = []

    def kept_in(column: np.ndarray, place: Path) -> np.ndarray:
        moved.append(place)
        return column

    for module in (pairs, scratch):
        monkeypatch.setattr(module, "MIN_BYTES_IN_SCRATCH", 1)
    monkeypatch.setattr(scratch, "_in_file", kept_in)
    CorollaryStore(limits=Limits(scratch=folder)).load(data)
    assert set(moved) == {folder}
