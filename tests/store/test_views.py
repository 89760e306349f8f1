"""Explicit and inferred: which graph shows what, and what can be removed."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from rdflib import OWL, RDF, RDFS, BNode, Dataset, Graph, Literal, Namespace, URIRef, Variable
from rdflib.graph import QuotedGraph
from rdflib.store import VALID_STORE
from rdflib.term import Node

import corollary.reasoner.deriving as module
from corollary.language import CorollaryError
from corollary.sparql import rdf_terms
from corollary.store import EXPLICIT, INFERRED, CorollaryStore, InferredTripleWarning

EX = Namespace("http://example.org/")

SCHEMA = EX.A, RDFS.subClassOf, EX.B
MEMBER = EX.x, RDF.type, EX.A
FOLLOWS = EX.x, RDF.type, EX.B


def filled(graph: Graph) -> Graph:
    graph.add(SCHEMA)
    graph.add(MEMBER)
    return graph


def dataset() -> Dataset:
    """The schema is in one named graph, the fact in another."""
    result = Dataset(CorollaryStore(rules="rdfs"))
    result.graph(EX.schema).add(SCHEMA)
    result.graph(EX.data).add(MEMBER)
    return result


def names(graphs: Iterable[Graph | None]) -> set[Node]:
    return {graph.identifier for graph in graphs if graph is not None}


def test_a_plain_graph_shows_what_follows() -> None:
    graph = filled(Graph(CorollaryStore(rules="rdfs"), EX.g))
    assert FOLLOWS in graph
    assert FOLLOWS in set(graph)
    assert set(graph.objects(EX.x, RDF.type)) >= {EX.A, EX.B}
    assert len(graph) == len(set(graph))


def test_named_graphs_show_what_was_put_into_them() -> None:
    data = dataset()
    assert set(data.graph(EX.data)) == {MEMBER}
    assert set(data.graph(EX.schema)) == {SCHEMA}
    assert len(data.graph(EX.data)) == 1


def test_the_default_graph_shows_what_follows_from_all_graphs() -> None:
    data = dataset()
    assert FOLLOWS in data.default_graph
    assert MEMBER not in data.default_graph
    data.default_graph.add((EX.own, EX.p, EX.o))
    assert (EX.own, EX.p, EX.o) in data.default_graph
    assert len(data.default_graph) == len(set(data.default_graph))


def test_the_union_shows_all_and_names_the_graph_of_what_follows() -> None:
    data = dataset()
    shown = {triple: names(graphs) for triple, graphs in data.store.triples((None, None, None), None)}
    assert shown[MEMBER] == {EX.data}
    assert shown[SCHEMA] == {EX.schema}
    assert shown[FOLLOWS] == {INFERRED}


@pytest.mark.parametrize("select", [CorollaryStore.explicit, lambda store: Graph(store, EXPLICIT)])
def test_the_explicit_side(select: Callable[[object], Graph]) -> None:
    data = dataset()
    assert set(select(data.store)) == {SCHEMA, MEMBER}


@pytest.mark.parametrize("select", [CorollaryStore.inferred, lambda store: Graph(store, INFERRED)])
def test_the_inferred_side(select: Callable[[object], Graph]) -> None:
    data = dataset()
    inferred = set(select(data.store))
    assert FOLLOWS in inferred
    assert not inferred & {SCHEMA, MEMBER}


def test_without_rules_nothing_follows() -> None:
    graph = filled(Graph(CorollaryStore(rules="none"), EX.g))
    assert set(graph) == {SCHEMA, MEMBER}
    store = graph.store
    assert isinstance(store, CorollaryStore)
    assert not len(store.inferred())


def test_removing_what_follows_warns_and_changes_nothing() -> None:
    graph = filled(Graph(CorollaryStore(rules="rdfs"), EX.g))
    assert FOLLOWS in graph
    with pytest.warns(InferredTripleWarning, match="follows from others"):
        graph.remove(FOLLOWS)
    assert FOLLOWS in graph


def test_removing_what_follows_warns_before_the_first_read() -> None:
    graph = filled(Graph(CorollaryStore(rules="rdfs"), EX.g))
    with pytest.warns(InferredTripleWarning, match="follows from others"):
        graph.remove(FOLLOWS)
    assert FOLLOWS in graph


def test_what_is_explicit_too_stays_inferred() -> None:
    graph = filled(Graph(CorollaryStore(rules="rdfs"), EX.g))
    graph.add(FOLLOWS)
    assert FOLLOWS in graph
    with warnings.catch_warnings():
        warnings.simplefilter("error", InferredTripleWarning)
        graph.remove(FOLLOWS)
        graph.remove((EX.nobody, RDF.type, EX.B))
    assert FOLLOWS in graph
    graph.remove(MEMBER)
    assert FOLLOWS not in graph


def test_a_triple_of_two_graphs_stays_until_it_has_left_both() -> None:
    data = dataset()
    data.graph(EX.more).add(MEMBER)
    data.graph(EX.data).remove(MEMBER)
    assert FOLLOWS in data.default_graph
    data.graph(EX.more).remove(MEMBER)
    assert FOLLOWS not in data.default_graph


def test_what_rdf_forbids_is_shown_if_added_and_never_if_inferred() -> None:
    graph = Graph(CorollaryStore(rules="owl2rl"), EX.g)
    graph.add((EX.p, RDF.type, OWL.SymmetricProperty))
    graph.add((EX.a, EX.p, Literal("odd")))
    graph.add((Literal("added"), EX.q, EX.b))
    assert {s for s in graph.subjects() if isinstance(s, Literal)} == {Literal("added")}
    assert (Literal("odd"), EX.p, EX.a) not in graph


def counting(name: str, function: Callable[..., Any], calls: list[str]) -> Callable[..., Any]:
    """The function, which now tells when it is called."""

    def counted(*args: Any, **options: Any) -> Any:
        calls.append(name)
        return function(*args, **options)

    return counted


def test_a_parse_reasons_once_and_only_when_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("materialise", "maintain"):
        monkeypatch.setattr(module, name, counting(name, getattr(module, name), calls))
    graph = Graph(CorollaryStore(rules="rdfs"), EX.g)
    lines = "\n".join(f"<{EX[f'x{n}']}> a <{EX.A}> ." for n in range(500))
    graph.parse(data=f"<{EX.A}> <{RDFS.subClassOf}> <{EX.B}> .\n{lines}", format="turtle")
    assert calls == []
    assert len(list(graph.subjects(RDF.type, EX.B))) == 500
    assert len(graph) > 1000
    assert calls == ["materialise"]
    graph.parse(data=lines.replace("/x", "/y"), format="turtle")
    assert calls == ["materialise"]
    assert len(list(graph.subjects(RDF.type, EX.B))) == 1000
    assert calls == ["materialise", "maintain"]
    graph.add((EX.x1, RDF.type, EX.A))
    assert FOLLOWS not in graph
    assert calls == ["materialise", "maintain"], "what is there already brings nothing"


@pytest.mark.parametrize(
    "clone", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))], ids=["deepcopy", "pickle"]
)
def test_copies_are_whole_and_apart(clone: Callable[[Graph], Graph]) -> None:
    graph = filled(Graph(CorollaryStore(rules="rdfs"), EX.g))
    node = BNode()
    graph.add((node, EX.p, Literal("é", lang="fr")))
    graph.bind("eg", EX)
    twin = clone(graph)
    assert set(twin) == set(graph)
    assert twin.identifier == graph.identifier
    assert twin.store.namespace("eg") == graph.store.namespace("eg")
    twin.remove(SCHEMA)
    assert FOLLOWS not in twin
    assert FOLLOWS in graph


def test_rules_come_from_the_configuration() -> None:
    graph = Graph(CorollaryStore("rules=none"), EX.g)
    assert FOLLOWS not in filled(graph)
    assert graph.open("rules=rdfs") == VALID_STORE
    assert FOLLOWS in graph


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(CorollaryError, match="try rules="):
        CorollaryStore("rule=rdfs")


def test_formulas_are_graphs_of_their_own() -> None:
    data = Dataset(CorollaryStore(rules="none"))
    data.parse(data="@prefix : <http://example.org/> . { :a :b :c } => { :d :e :f } .", format="n3")
    assert len(data) == 1
    assert len([graph for graph in data.graphs() if isinstance(graph.identifier, BNode)]) == 2


def test_a_pattern_that_is_no_term_matches_nothing() -> None:
    graph = filled(Graph(CorollaryStore(rules="none"), EX.g))
    assert list(graph.store.triples(("x", None, None), graph)) == []  # type: ignore[arg-type]


def test_single_look_ups_see_each_change_at_once() -> None:
    graph = filled(Graph(CorollaryStore(rules="rdfs")))
    for number in range(3):
        value = Literal(number)
        assert graph.value(EX.x, EX.p) is None
        assert list(graph.objects(EX.x, EX.p)) == []
        assert (EX.x, EX.p, value) not in graph
        graph.add((EX.x, EX.p, value))
        assert graph.value(EX.x, EX.p) == value
        assert (EX.x, EX.p, value) in graph
        graph.add((EX.x, EX.p, EX.other))
        assert set(graph.objects(EX.x, EX.p)) == {value, EX.other}
        graph.remove((EX.x, EX.p, None))
    graph.remove(MEMBER)
    assert FOLLOWS not in graph
    assert graph.value(EX.x, RDF.type) is None


def test_single_look_ups_see_their_own_graph() -> None:
    data = dataset()
    data.graph(EX.data).add((EX.x, EX.p, EX.here))
    data.graph(EX.schema).add((EX.x, EX.p, EX.there))
    for _ in range(2):
        assert list(data.graph(EX.data).objects(EX.x, EX.p)) == [EX.here]
        assert list(data.graph(EX.schema).objects(EX.x, EX.p)) == [EX.there]
        assert set(data.default_graph.objects(EX.x, RDF.type)) == {EX.B, RDFS.Resource}
        assert [names(graphs) for _, graphs in data.store.triples((EX.x, EX.p, EX.here))] == [{EX.data}]


def test_a_formula_of_the_name_of_a_graph_is_another_one() -> None:
    graph = Graph(CorollaryStore(rules="rdfs"), EX.g)
    graph.add((EX.x, EX.p, EX.y))
    for _ in range(2):
        assert graph.value(EX.x, EX.p) == EX.y
        assert QuotedGraph(graph.store, EX.g).value(EX.x, EX.p) is None


def test_terms_of_one_text_are_looked_up_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdf_terms, "MAX_IRIS_FOUND", 2)
    graph = Graph(CorollaryStore(rules=None))
    text = "http://example.org/x"
    kinds = [URIRef(text), BNode(text), Literal(text)]
    for number, term in enumerate(kinds):
        graph.add((term, EX.p, Literal(number)))
        graph.add((EX.s, EX[f"p{number}"], term))
    for _ in range(2):
        assert [graph.value(term, EX.p) for term in kinds] == [Literal(number) for number in range(3)]
        for number in range(3):
            assert [(EX.s, EX[f"p{number}"], term) in graph for term in kinds] == [
                other == number for other in range(3)
            ]
        assert graph.value(URIRef(text), URIRef(str(EX.p))) == Literal(0)
        assert graph.value(Variable("x"), EX.p) is None
