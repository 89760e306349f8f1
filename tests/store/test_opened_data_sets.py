"""A closed data set opened as a store: as it is, never written, and saved before it is changed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from rdflib import Dataset, Graph
from rdflib.namespace import RDF, RDFS, Namespace
from tests.strategies import examples
from tests.trust.injection import Interrupted, traced

from corollary.language import CorollaryError
from corollary.language.errors import InputError
from corollary.reasoner import Reasoner, deriving
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
TRIPLE = (EX.new, RDF.type, EX.Dog)


def refuse(*args: object) -> None:
    raise AssertionError("it reasoned")


def store_of(graph: Graph) -> CorollaryStore:
    assert isinstance(graph.store, CorollaryStore)
    return graph.store


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    source = Dataset(CorollaryStore())
    source.bind("ex", EX)
    source.default_graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    source.default_graph.add((EX.rex, RDF.type, EX.Dog))
    source.graph(EX.g).add((EX.tom, RDF.type, EX.Animal))
    store_of(source).save_encoded(tmp_path / "closed")
    return tmp_path / "closed"


def test_nothing_is_derived(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deriving, "materialise", refuse)
    monkeypatch.setattr(deriving, "maintain", refuse)
    graph = Graph(store="Corollary")
    graph.open(str(closed))
    assert (EX.rex, RDF.type, EX.Animal) in graph
    assert graph.query("ASK { ex:rex a ex:Animal }").askAnswer
    dataset = Dataset(CorollaryStore())
    dataset.open(str(closed))
    assert set(dataset.graph(EX.g)) == {(EX.tom, RDF.type, EX.Animal)}
    reasoner = Reasoner()
    reasoner.open(closed)
    assert (f"<{EX.rex}>", f"<{RDF.type}>", f"<{EX.Animal}>") in reasoner


CHANGES: dict[str, Callable[[Graph], object]] = {
    "add": lambda graph: graph.add(TRIPLE),
    "remove": lambda graph: graph.remove((EX.rex, RDF.type, EX.Dog)),
    "update": lambda graph: graph.update("INSERT DATA { <urn:a> <urn:b> <urn:c> }"),
    "parse": lambda graph: graph.parse(data="<urn:a> <urn:b> <urn:c> .", format="turtle"),
    "compact": lambda graph: store_of(graph).compact(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_it_is_never_written(closed: Path, change: Callable[[Graph], object]) -> None:
    files = {path: path.read_bytes() for path in closed.rglob("*") if path.is_file()}
    graph = Graph(store="Corollary")
    graph.open(str(closed))
    before = set(graph)
    with pytest.raises(CorollaryError, match=r"store\.save\(folder\)"):
        change(graph)
    graph.commit()
    graph.rollback()
    assert set(graph) == before
    assert store_of(graph).verify().is_sound
    graph.close()
    assert {path: path.read_bytes() for path in closed.rglob("*") if path.is_file()} == files
    graph.open(str(closed))
    assert set(graph) == before


def test_it_is_saved_and_changed(closed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(store="Corollary")
    graph.open(str(closed))
    monkeypatch.setattr(deriving, "materialise", refuse)
    store_of(graph).save(tmp_path / "folder")
    graph.add(TRIPLE)
    assert (EX.new, RDF.type, EX.Animal) in graph
    monkeypatch.undo()
    assert store_of(graph).verify().is_sound
    with pytest.raises(CorollaryError, match=r"kept in .*folder already"):
        store_of(graph).save(tmp_path / "other")
    size = len(graph)
    graph.close()
    again = Graph(store="Corollary")
    again.open(str(tmp_path / "folder"))
    assert len(again) == size
    again.close()


def test_a_store_in_memory_is_saved(tmp_path: Path) -> None:
    graph = Graph(store="Corollary")
    graph.add(TRIPLE)
    (tmp_path / "file").write_text("")
    with pytest.raises(CorollaryError, match="is a file"):
        store_of(graph).save(tmp_path / "file")
    with pytest.raises(CorollaryError, match="can be written"):
        store_of(graph).save(tmp_path / "file" / "in")
    graph.add((EX.other, RDF.type, EX.Dog))
    store_of(graph).save(tmp_path / "folder")
    graph.close()
    with pytest.raises(CorollaryError, match="has a store already"):
        store_of(Graph(store="Corollary")).save(tmp_path / "folder")
    again = Graph(store="Corollary")
    again.open(str(tmp_path / "folder"))
    assert {TRIPLE, (EX.other, RDF.type, EX.Dog)} <= set(again)


def test_what_must_not_be_replaced_stays(closed: Path) -> None:
    graph = Graph(store="Corollary")
    graph.add(TRIPLE)
    with pytest.raises(CorollaryError, match="holds triples already"):
        graph.open(str(closed))
    assert TRIPLE in graph
    other = Graph(store="Corollary")
    with pytest.raises(InputError, match="owl2rl"):
        other.open(f"{closed};rules=rdfs")
    (closed / "facts" / "inferred" / "part-00000.parquet").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="missing or cut off"):
        other.open(str(closed))
    other.add(TRIPLE)
    assert TRIPLE in other


def adopting(graph: Graph, closed: Path, place: Path) -> None:
    store_of(graph).load_encoded(closed, inferred="adopt")


def opening(graph: Graph, closed: Path, place: Path) -> None:
    store_of(graph).open(str(closed))


def saving(graph: Graph, closed: Path, place: Path) -> None:
    store_of(graph).save(place)


@pytest.mark.parametrize("work", [adopting, opening, saving])
def test_interrupted_anywhere(closed: Path, tmp_path: Path, work: Callable[..., None]) -> None:
    """What is seen then is nothing, or all of it, and the store goes on."""

    def begun() -> Graph:
        graph = Graph(CorollaryStore())
        if work is saving:
            graph.open(str(closed))
        return graph

    def explicit(graph: Graph) -> int:
        return len(store_of(graph).explicit())

    work(begun(), closed, tmp_path / "warm")
    lines = len(traced(lambda: work(begun(), closed, tmp_path / "counted")))
    sizes = set()
    for number, at in enumerate(range(0, lines, max(1, lines // examples(30)))):
        graph = begun()
        with suppress(Interrupted):
            traced(partial(work, graph, closed, tmp_path / f"folder-{number}"), at)
        sizes.add(explicit(graph))
        is_kept = work is saving and store_of(graph).reasoner.versions.persistence().place != closed  # type: ignore[union-attr]
        if work is saving and not is_kept:
            saving(graph, closed, tmp_path / f"again-{number}")
        elif not explicit(graph):
            work(graph, closed, tmp_path)
        assert explicit(graph) == 3
        assert store_of(graph).verify().is_sound
        if work is not opening:
            graph.add(TRIPLE)
            assert (EX.new, RDF.type, EX.Animal) in graph
            graph.commit()
        graph.close()
    assert sizes <= {0, 3}
