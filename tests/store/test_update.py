"""SPARQL Update: right on a Dataset, all or nothing, and about explicit triples."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from rdflib import RDF, RDFS, BNode, ConjunctiveGraph, Dataset, Graph, Literal, Namespace, URIRef
from rdflib.plugins.sparql.processor import prepareUpdate
from rdflib.term import Node

from corollary.language import CorollaryError
from corollary.store import CorollaryStore, InferredTripleWarning, SparqlSyntaxError

EX = Namespace("http://example.org/")
PREFIX = f"PREFIX : <{EX}> "

Contents = dict[str, set[tuple[Node, ...]]]


@pytest.fixture(autouse=True)
def files_may_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COROLLARY_EXTERNAL", "all")


@pytest.fixture
def dataset() -> Dataset:
    """A triple in the default graph, and one each in g and h."""
    dataset = Dataset(CorollaryStore(rules="none"))
    for graph, name in ((dataset.default_graph, "d"), (dataset.graph(EX.g), "g"), (dataset.graph(EX.h), "h")):
        graph.add((EX[name], EX.p, EX.o))
    return dataset


def shown(dataset: Dataset) -> dict[str, str]:
    """The subjects of every graph that there is, by the graph's local name."""
    graphs = {"default": dataset.default_graph}
    graphs |= {str(g.identifier).removeprefix(EX): g for g in dataset.graphs() if g != dataset.default_graph}
    return {
        name: " ".join(sorted(str(s).removeprefix(EX) for s in graph.subjects()))
        for name, graph in graphs.items()
    }


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("INSERT DATA { :x :p 1 GRAPH :g { :y :p 1 } }", {"default": "d x", "g": "g y", "h": "h"}),
        ("DELETE DATA { :d :p :o . :g :p :o GRAPH :h { :h :p :o } }", {"default": "", "g": "g", "h": ""}),
        ("DELETE WHERE { ?s :p ?o }", {"default": "", "g": "g", "h": "h"}),
        ("DELETE WHERE { GRAPH ?g { ?s :p ?o } }", {"default": "d", "g": "", "h": ""}),
        ("DELETE { ?s ?p ?o } INSERT { :x ?p ?o } WHERE { ?s ?p ?o }", {"default": "x", "g": "g", "h": "h"}),
        (
            "INSERT { GRAPH :h { ?s ?p ?o } } WHERE { GRAPH :g { ?s ?p ?o } }",
            {"default": "d", "g": "g", "h": "g h"},
        ),
        (
            "WITH :g DELETE { ?s ?p ?o } INSERT { :x ?p ?o } WHERE { ?s ?p ?o }",
            {"default": "d", "g": "x", "h": "h"},
        ),
        (
            "WITH :g INSERT { ?t ?p ?o } WHERE { ?s ?p ?o GRAPH :h { ?t ?p ?o } }",
            {"default": "d", "g": "g h", "h": "h"},
        ),
        ("WITH :new INSERT { :x :p :o } WHERE {}", {"default": "d", "g": "g", "h": "h", "new": "x"}),
        (
            "INSERT { ?s :q ?o } USING :g USING :h WHERE { ?s :p ?o }",
            {"default": "d g h", "g": "g", "h": "h"},
        ),
        (
            "WITH :h INSERT { ?s :q ?o } USING :g WHERE { ?s :p ?o }",
            {"default": "d", "g": "g", "h": "g h"},
        ),
        (
            "INSERT { ?s :q ?x } USING NAMED :g WHERE { GRAPH ?x { ?s :p ?o } }",
            {"default": "d g", "g": "g", "h": "h"},
        ),
        (
            "WITH :g INSERT { ?x :q ?s } WHERE { GRAPH ?x { ?o !(^:q) ?s } }",
            {"default": "d", "g": "g g h", "h": "h"},
        ),
        (
            "WITH :g INSERT { ?s :q 1 } WHERE { GRAPH :h { ?s :p ?o } VALUES (?o) {} }",
            {"default": "d", "g": "g", "h": "h"},
        ),
        (
            "INSERT { ?s :q 1 } USING :nowhere USING :g WHERE { ?s ((:p)?)* ?o FILTER(?s = :g) }",
            {"default": "d g", "g": "g", "h": "h"},
        ),
        (
            "INSERT { ?s :q 1 } USING :nowhere WHERE { ?s ?p ?o }",
            {"default": "d", "g": "g", "h": "h"},
        ),
        ("CLEAR DEFAULT", {"default": "", "g": "g", "h": "h"}),
        ("CLEAR GRAPH :g", {"default": "d", "g": "", "h": "h"}),
        ("CLEAR NAMED", {"default": "d", "g": "", "h": ""}),
        ("CLEAR ALL", {"default": "", "g": "", "h": ""}),
        ("DROP DEFAULT", {"default": "", "g": "g", "h": "h"}),
        ("DROP GRAPH :g", {"default": "d", "h": "h"}),
        ("DROP NAMED", {"default": "d"}),
        ("DROP ALL", {"default": ""}),
        ("CREATE GRAPH :new", {"default": "d", "g": "g", "h": "h", "new": ""}),
        ("CREATE SILENT GRAPH :g", {"default": "d", "g": "g", "h": "h"}),
        ("ADD :g TO DEFAULT", {"default": "d g", "g": "g", "h": "h"}),
        ("ADD DEFAULT TO :g", {"default": "d", "g": "d g", "h": "h"}),
        ("COPY :g TO :h", {"default": "d", "g": "g", "h": "g"}),
        ("COPY :g TO :g", {"default": "d", "g": "g", "h": "h"}),
        ("MOVE :g TO :new", {"default": "d", "new": "g", "h": "h"}),
        ("MOVE DEFAULT TO :g", {"default": "", "g": "d", "h": "h"}),
        ("COPY SILENT :nowhere TO :g", {"default": "d", "g": "g", "h": "h"}),
        ("LOAD SILENT <file:///no/such/file.ttl> ; CLEAR GRAPH :g", {"default": "d", "g": "", "h": "h"}),
        ("", {"default": "d", "g": "g", "h": "h"}),
    ],
)
def test_update_of_a_dataset(dataset: Dataset, request_text: str, expected: dict[str, str]) -> None:
    dataset.update(PREFIX + request_text)
    assert shown(dataset) == expected


@pytest.mark.parametrize(
    "failing",
    [
        "LOAD <file:///no/such/file.ttl>",
        "COPY :nowhere TO :g",
        "CREATE GRAPH :g ; CREATE GRAPH :g",
        "DELETE { _:b :p ?o } WHERE { ?s :p ?o }",
        "INSERT DATA { ?unbound :p :o }",
    ],
)
@pytest.mark.parametrize(
    "before", ["", "DELETE WHERE { GRAPH ?g { ?s ?p ?o } } ; DROP ALL ; CREATE GRAPH :new ; "]
)
def test_a_failed_request_changes_nothing(dataset: Dataset, before: str, failing: str) -> None:
    there = shown(dataset)
    with pytest.raises(CorollaryError):
        dataset.update(PREFIX + before + failing + " ; CLEAR ALL")
    assert shown(dataset) == there


@pytest.mark.parametrize("request_text", ["COPY SILENT :g TO :h", "LOAD SILENT <file:///no/such/file.ttl>"])
def test_silent_hides_no_error_of_our_own(
    dataset: Dataset, request_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise AssertionError("broken")

    monkeypatch.setattr("corollary.store.update.is_there", broken)
    monkeypatch.setattr("corollary.store.update.read_iri", broken)
    with pytest.raises(AssertionError, match="broken"):
        dataset.update(PREFIX + request_text)


def test_a_failed_request_leaves_inferences_right() -> None:
    graph = Graph(CorollaryStore(rules="rdfs"), EX.g)
    graph.add((EX.A, RDFS.subClassOf, EX.B))
    assert (EX.x, RDF.type, EX.B) not in graph
    with pytest.raises(CorollaryError):
        graph.update(
            PREFIX
            + "INSERT DATA { :x a :A } ; INSERT { ?x :seen true } WHERE { ?x a :B } ; COPY :nowhere TO :g"
        )
    assert (EX.x, RDF.type, EX.B) not in graph
    graph.add((EX.y, RDF.type, EX.A))
    assert set(graph.subjects(RDF.type, EX.B)) == {EX.y}


def test_an_operation_sees_what_follows_from_the_one_before() -> None:
    graph = Graph(CorollaryStore(rules="rdfs"), EX.g)
    graph.add((EX.A, RDFS.subClassOf, EX.B))
    graph.update(PREFIX + "INSERT DATA { :x a :A } ; INSERT { ?x :seen true } WHERE { ?x a :B }")
    assert list(graph.subjects(EX.seen)) == [EX.x]


def test_blank_nodes_of_a_template_are_new_in_every_row() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    graph.update(PREFIX + "INSERT DATA { :a :p 1, 2 }")
    graph.update(PREFIX + "INSERT { _:b :of ?o ; :also ?o } WHERE { :a :p ?o }")
    assert len(set(graph.subjects(EX.of))) == 2
    assert set(graph.subject_objects(EX.of)) == set(graph.subject_objects(EX.also))


def test_blank_nodes_of_data_are_new_in_every_request() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    for _ in range(2):
        graph.update(PREFIX + "INSERT DATA { _:b :p :o ; :q :o }")
    assert len(set(graph.subjects(EX.p))) == 2
    assert set(graph.subjects(EX.p)) == set(graph.subjects(EX.q))


def test_initial_bindings_name_the_very_node() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    node = BNode()
    graph.update(PREFIX + "INSERT { ?x :p 1 } WHERE {}", initBindings={"x": node})
    graph.update(PREFIX + "INSERT { :other :p 1 } WHERE {}")
    graph.update(PREFIX + "DELETE WHERE { ?x :p ?o }", initBindings={"x": node})
    assert list(graph) == [(EX.other, EX.p, Literal(1))]


def test_a_prepared_update_can_be_used_again() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    update = prepareUpdate(PREFIX + "INSERT { ?x :p ?y } WHERE { BIND(1 AS ?y) }")
    for name in "ab":
        graph.update(update, initBindings={"x": EX[name]})
    assert set(graph.subjects()) == {EX.a, EX.b}


def test_what_rdf_forbids_is_not_inserted() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    graph.update(PREFIX + "INSERT DATA { :a :p 1 } ; INSERT { ?o ?p ?s . ?s ?o ?p } WHERE { ?s ?p ?o }")
    assert len(graph) == 1


def test_prefixes_of_the_graph_and_of_the_call_are_merged() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    graph.bind("bound", EX)
    graph.update("INSERT DATA { bound:a given:value 1 }", initNs={"given": RDF})
    assert list(graph) == [(EX.a, RDF.value, Literal(1))]


def test_a_plain_graph_is_the_default_graph(dataset: Dataset) -> None:
    dataset.graph(EX.g).update(PREFIX + "INSERT DATA { :x :p :o } ; DELETE WHERE { :g ?p ?o }")
    assert shown(dataset) == {"default": "d", "g": "x", "h": "h"}


def test_a_text_that_is_no_update(dataset: Dataset) -> None:
    with pytest.raises(SparqlSyntaxError, match="1:1: expected an update"):
        dataset.update("NOT SPARQL")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_default_union_inserts_into_the_default_graph_and_deletes_everywhere() -> None:
    for conjunctive in (Dataset(CorollaryStore(), default_union=True), ConjunctiveGraph(CorollaryStore())):
        graph = Graph(conjunctive.store, EX.g)
        graph.add((EX.a, EX.p, EX.o))
        conjunctive.update(PREFIX + "INSERT { ?s :q ?o } WHERE { ?s :p ?o }")
        assert set(conjunctive._default_context) >= {(EX.a, EX.q, EX.o)}
        assert set(graph) == {(EX.a, EX.p, EX.o)}
        conjunctive.update(PREFIX + "DELETE WHERE { ?s :p ?o }")
        assert not set(graph)
        conjunctive.update(PREFIX + "CLEAR DEFAULT")
        assert not len(conjunctive)


def test_load_takes_a_file_and_binds_its_prefixes(tmp_path: Path) -> None:
    file = tmp_path / "data.ttl"
    file.write_text("@prefix eg: <http://eg.org/> . eg:a eg:p eg:b .")
    dataset = Dataset(CorollaryStore(rules="none"))
    dataset.update(f"LOAD <{file.as_uri()}>; LOAD <{file.as_uri()}> INTO GRAPH <{EX.g}>")
    assert len(dataset.default_graph) == len(dataset.graph(EX.g)) == 1
    assert dict(dataset.namespaces())["eg"] == URIRef("http://eg.org/")


def test_a_file_that_is_half_right_loads_nothing(tmp_path: Path) -> None:
    file = tmp_path / "data.ttl"
    file.write_text("<http://eg.org/a> <http://eg.org/b> 1 . nonsense")
    graph = Graph(CorollaryStore(rules="none"))
    with pytest.raises(CorollaryError, match=r"data\.ttl:1:41: not Turtle$"):
        graph.update(f"LOAD <{file.as_uri()}>")
    assert not len(graph)


def inferring() -> Dataset:
    dataset = Dataset(CorollaryStore(rules="rdfs"))
    dataset.add((EX.A, RDFS.subClassOf, EX.B))
    for i in range(50):
        dataset.add((EX[f"x{i}"], RDF.type, EX.A))
    assert (EX.x1, RDF.type, EX.B) in dataset
    return dataset


def test_whole_graphs_are_copied_without_what_is_inferred() -> None:
    dataset = inferring()
    dataset.update(PREFIX + "COPY DEFAULT TO :copy")
    assert len(dataset.graph(EX.copy)) == 51


def test_deleting_what_is_inferred_warns_once() -> None:
    dataset = inferring()
    with pytest.warns(InferredTripleWarning, match="49 more") as caught:
        dataset.update(PREFIX + "DELETE WHERE { ?x a :B }")
    assert sum(issubclass(warning.category, InferredTripleWarning) for warning in caught) == 1
    assert (EX.x1, RDF.type, EX.B) in dataset


def test_explicit_and_inferred_can_be_asked_in_where() -> None:
    dataset = inferring()
    with warnings.catch_warnings():
        warnings.simplefilter("error", InferredTripleWarning)
        dataset.update(
            PREFIX + "INSERT { ?x :was :inferred } WHERE { GRAPH <urn:x-corollary:inferred> { ?x a :B } } ;"
            "DELETE { ?x a :A } WHERE { GRAPH <urn:x-corollary:explicit> { ?x a :A } }"
        )
    assert len(list(dataset.subjects(EX.was))) == 50
    assert not list(dataset.subjects(RDF.type, EX.B))
