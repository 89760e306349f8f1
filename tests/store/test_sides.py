"""Explicit and inferred apart: where what follows shows, and that neither side can be written to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rdflib import RDF, RDFS, Dataset, Graph, Namespace, URIRef
from rdflib.store import VALID_STORE
from rdflib.term import Node

from corollary.language import CorollaryError
from corollary.store import EXPLICIT, INFERRED, CorollaryStore

EX = Namespace("http://example.org/")

SCHEMA = EX.A, RDFS.subClassOf, EX.B
MEMBER = EX.x, RDF.type, EX.A
FOLLOWS = EX.x, RDF.type, EX.B
EXPLICIT_ONES = {SCHEMA, MEMBER}


def filled(store: CorollaryStore) -> Dataset:
    dataset = Dataset(store)
    dataset.default_graph.add(SCHEMA)
    dataset.graph(EX.data).add(MEMBER)
    return dataset


@pytest.fixture
def apart() -> CorollaryStore:
    return CorollaryStore(rules="rdfs", inferred="apart")


def test_apart_a_plain_graph_shows_what_was_put_into_it(apart: CorollaryStore) -> None:
    graph = Graph(apart, EX.g)
    graph.add(SCHEMA)
    graph.add(MEMBER)
    assert set(graph) == EXPLICIT_ONES
    assert len(graph) == 2
    assert FOLLOWS not in graph
    assert FOLLOWS in apart.inferred()
    assert not graph.query("ASK { ?x a ?b }", initBindings={"x": EX.x, "b": EX.B}).askAnswer


@pytest.mark.parametrize("default_union", [False, True])
def test_apart_only_the_inferred_graph_shows_what_follows(apart: CorollaryStore, default_union: bool) -> None:
    dataset = filled(apart)
    dataset.default_union = default_union
    assert set(dataset.default_graph) == {SCHEMA}
    assert {triple for triple, _ in apart.triples((None, None, None))} == EXPLICIT_ONES
    assert len(apart) == 2
    everywhere = "SELECT ?g { GRAPH ?g { ?x a ?b } }"
    assert [row[0] for row in dataset.query(everywhere, initBindings={"b": EX.B})] == []  # type: ignore[index]
    inferred = f"SELECT ?x {{ GRAPH <{INFERRED}> {{ ?x a <{EX.B}> }} }}"
    assert [row[0] for row in dataset.query(inferred)] == [EX.x]  # type: ignore[index]


def test_apart_serialising_writes_what_was_put_in(apart: CorollaryStore) -> None:
    dataset = filled(apart)
    again = Dataset()
    again.parse(data=dataset.serialize(format="trig"), format="trig")
    assert set(again.default_graph) == {SCHEMA}
    assert set(again.graph(EX.data)) == {MEMBER}


@pytest.mark.parametrize("inferred", ["show", "apart"])
def test_the_explicit_side_serialises_what_was_put_in(inferred: str) -> None:
    store = CorollaryStore(rules="rdfs", inferred=inferred)
    filled(store)
    assert set(Graph().parse(data=store.explicit().serialize(), format="turtle")) == EXPLICIT_ONES


def test_the_policy_may_change_while_the_store_is_in_use() -> None:
    graph = Graph(CorollaryStore("rules=rdfs; inferred=apart"), EX.g)
    graph.add(SCHEMA)
    graph.add(MEMBER)
    count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    assert [int(row[0]) for row in graph.query(count)] == [2]  # type: ignore[index, arg-type]
    assert graph.open("inferred=show") == VALID_STORE
    assert FOLLOWS in graph
    assert [int(row[0]) for row in graph.query(count)] == [len(graph)]  # type: ignore[index, arg-type]
    graph.open("inferred=apart")
    assert len(graph) == 2


@pytest.mark.parametrize(
    "make", [lambda: CorollaryStore(inferred="hide"), lambda: CorollaryStore("inferred=")]
)
def test_other_policies_are_refused(make: Callable[[], CorollaryStore]) -> None:
    with pytest.raises(CorollaryError, match="inferred=apart"):
        make()


@pytest.mark.parametrize("name", [EXPLICIT, INFERRED])
@pytest.mark.parametrize(
    "change",
    [
        lambda graph: graph.add(FOLLOWS),
        lambda graph: graph.addN([(*FOLLOWS, graph)]),
        lambda graph: graph.remove(FOLLOWS),
        lambda graph: graph.remove((None, None, None)),
        lambda graph: graph.remove((EX.unknown, None, None)),
        lambda graph: graph.parse(data=f"<{EX.a}> a <{EX.b}> .", format="turtle"),
        lambda graph: graph.store.removeN([(*FOLLOWS, graph)]),
        lambda graph: graph.store.add_graph(graph),
        lambda graph: graph.store.remove_graph(graph),
        lambda graph: Dataset(graph.store).graph(graph.identifier),
        lambda graph: graph.store.load("data.ttl", graph=graph),
    ],
)
def test_neither_side_can_be_changed(name: URIRef, change: Callable[[Graph], object]) -> None:
    store = CorollaryStore(rules="rdfs")
    dataset = filled(store)
    before = set(dataset.quads())
    with pytest.raises(CorollaryError, match=f"{name} shows the .* cannot be changed: add to"):
        change(Graph(store, name))
    assert set(dataset.quads()) == before


@pytest.mark.parametrize("name", [EXPLICIT, INFERRED])
@pytest.mark.parametrize(
    "update",
    [
        "INSERT DATA {{ GRAPH <{0}> {{ :x a :C }} }}",
        "DELETE DATA {{ GRAPH <{0}> {{ :x a :B }} }}",
        "WITH <{0}> DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o }}",
        "CREATE GRAPH <{0}>",
        "CLEAR GRAPH <{0}>",
        "INSERT DATA {{ :y a :A }} ; DROP GRAPH <{0}>",
    ],
)
def test_updates_cannot_change_them_either(name: URIRef, update: str) -> None:
    dataset = filled(CorollaryStore(rules="rdfs"))
    before = set(dataset.quads())
    with pytest.raises(CorollaryError, match="cannot be changed"):
        dataset.update(f"PREFIX : <{EX}> {update.format(name)}")
    assert set(dataset.quads()) == before


def test_all_can_be_cleared() -> None:
    dataset = filled(CorollaryStore(rules="rdfs"))
    assert FOLLOWS in dataset.default_graph
    dataset.update("CLEAR ALL")
    assert SCHEMA not in dataset.default_graph


def test_the_graphs_of_a_triple_are_those_it_is_in() -> None:
    dataset = filled(CorollaryStore(rules="rdfs"))
    store = dataset.store

    def graphs(triple: tuple[URIRef, URIRef, URIRef]) -> set[Node]:
        return {graph.identifier for graph in store.contexts(triple) if graph is not None}

    assert graphs(MEMBER) == {EX.data}
    assert graphs(FOLLOWS) == {INFERRED}
    assert graphs((EX.B, RDF.type, EX.x)) == set()


def test_an_update_of_one_side_changes_nothing(apart: CorollaryStore) -> None:
    dataset = Dataset(apart)
    with pytest.raises(CorollaryError, match="cannot be changed"):
        dataset.update(
            f"INSERT DATA {{ <{EX.a}> <{EX.b}> <{EX.c}> GRAPH <{INFERRED}> {{ <{EX.a}> a <{EX.B}> }} }}"
        )
    assert len(dataset) == 0
