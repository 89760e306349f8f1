"""A store whose closures and copies are compressed answers as one whose facts are listed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from rdflib import OWL, RDF, RDFS, BNode, Graph, Literal, URIRef
from rdflib.collection import Collection
from tests.compression import Kept, compress_all

from corollary.evaluate import MaterialisedView
from corollary.kernels import announcing
from corollary.loaders import load_encoded, write
from corollary.maintain import cost_model
from corollary.maintain.strategy import TOO_LARGE
from corollary.store import CorollaryStore, ListingWarning

SIZE = 12


def name(number: int) -> URIRef:
    return URIRef(f"n:{number}")


P, SAME, VALUE, ABOVE = URIRef("n:p"), OWL.sameAs, URIRef("n:value"), URIRef("n:above")

DATA = [
    (P, RDF.type, OWL.TransitiveProperty),
    (P, RDFS.subPropertyOf, ABOVE),
    *((name(i), P, name(i + 1)) for i in range(SIZE)),
    *((name(i), SAME, name(i + 1)) for i in range(100, 100 + SIZE)),
    *((name(i), VALUE, Literal(i)) for i in range(100, 100 + SIZE)),
    (name(3), VALUE, Literal("other")),
]

QUERIES = [
    "SELECT * { ?s <n:p> ?o }",
    "SELECT * { <n:3> <n:p>+ ?o }",
    "SELECT * { ?s <n:p>* <n:5> }",
    "SELECT * { ?s <n:p>+ ?o }",
    "SELECT * { ?s <n:p>/<n:p> ?o . ?o <n:p>? <n:9> }",
    "SELECT * { ?s <n:value> ?v . ?s owl:sameAs <n:101> }",
    "SELECT DISTINCT ?v { ?s <n:value> ?v }",
    "SELECT ?s (COUNT(*) AS ?n) { ?s <n:value> ?v } GROUP BY ?s",
    "SELECT (COUNT(*) AS ?n) { ?s <n:value> ?v }",
    "SELECT * { ?s <n:value> 103 . OPTIONAL { ?s <n:p> ?o } }",
    "SELECT * { ?s ?p ?o FILTER(?s = <n:101>) }",
    "SELECT * { ?s <n:value> ?v MINUS { ?s owl:sameAs <n:100> } }",
]


def store_of(graph: Graph) -> CorollaryStore:
    assert isinstance(graph.store, CorollaryStore)
    return graph.store


@pytest.fixture
def compressing(monkeypatch: pytest.MonkeyPatch) -> None:
    compress_all(monkeypatch)


@pytest.fixture
def listed() -> Graph:
    graph = Graph(CorollaryStore(rules="owl2rl"))
    graph += DATA
    len(graph)
    return graph


@pytest.fixture
def graph(listed: Graph, compressing: None) -> Graph:
    """The same facts, compressed. ``listed`` is derived before."""
    graph = Graph(CorollaryStore(rules="owl2rl"))
    graph += DATA
    result = store_of(graph).materialise()
    assert result is not None
    assert {
        result.dictionary.decode(predicate)
        for predicate, relation in result.index.relations()
        if relation.is_compressed
    } == {f"<{P}>", f"<{SAME}>", f"<{VALUE}>"}
    return graph


def rows(graph: Graph, query: str) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in graph.query(query))  # type: ignore[arg-type]


@pytest.mark.parametrize("query", QUERIES)
def test_queries(query: str, listed: Graph, graph: Graph) -> None:
    assert rows(graph, query) == rows(listed, query)


def test_iteration_and_files(listed: Graph, graph: Graph, tmp_path: Path) -> None:
    assert len(graph) == len(listed)
    assert set(graph) == set(listed)
    result = store_of(graph).materialise()
    assert result is not None
    for suffix in ("nt", "ttl"):
        write(tmp_path / f"facts.{suffix}", result.index, result.dictionary)
        graph.serialize(tmp_path / f"graph.{suffix}", "nt")
        assert set(Graph().parse(tmp_path / f"facts.{suffix}")) == set(listed)
        assert set(Graph().parse(tmp_path / f"graph.{suffix}", format="nt")) == set(listed)


def test_data_sets(listed: Graph, graph: Graph, tmp_path: Path) -> None:
    for store in (store_of(listed), store_of(graph)):
        store.save_encoded(tmp_path / "data")
        data = load_encoded(tmp_path / "data")
        facts = (data.explicit.fact_count(), data.inferred.fact_count())
        assert facts == (len(DATA), len(listed) - len(DATA))


@pytest.mark.filterwarnings("ignore::corollary.store.ListingWarning")
def test_listing_is_announced(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the number of facts, and not if only a few are read."""
    monkeypatch.setattr(announcing, "MAX_ROWS_UNANNOUNCED", 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        len(graph)
        next(iter(graph))
        assert len(rows(graph, "SELECT * { <n:3> <n:p> ?o }")) == SIZE - 3


def write_file(graph: Graph, path: Path) -> None:
    result = store_of(graph).materialise()
    assert result is not None
    write(path, result.index, result.dictionary)


@pytest.mark.parametrize(
    "list_all",
    [
        lambda graph, _: set(graph),
        lambda graph, _: list(graph.triples((None, P, None))),
        lambda graph, _: rows(graph, f"SELECT * {{ ?s <{P}> ?o }}"),
        lambda graph, folder: graph.serialize(folder / "graph.nt", "nt"),
        lambda graph, folder: graph.serialize(folder / "graph.ttl", "turtle"),
        lambda graph, folder: write_file(graph, folder / "facts.nt"),
        lambda graph, folder: write_file(graph, folder / "facts.ttl"),
        lambda graph, folder: store_of(graph).save_encoded(folder / "data"),
    ],
    ids=["iteration", "triples", "SELECT *", "serialize", "Turtle", "write", "write Turtle", "save_encoded"],
)
@pytest.mark.filterwarnings("ignore::corollary.store.ListingWarning")
def test_who_lists_all_facts_says_so(
    list_all: Callable[[Graph, Path], object], graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """66 of 78 facts are inferred: a data set has these apart."""
    monkeypatch.setattr(announcing, "MAX_ROWS_UNANNOUNCED", 50)
    with pytest.warns(ListingWarning, match="listing (78|66) facts that are held compressed"):
        list_all(graph, tmp_path)


@pytest.mark.parametrize("kept", ["intervals", "bits", "beside"])
def test_copies_of_facts_that_a_rule_closes_later(monkeypatch: pytest.MonkeyPatch, kept: Kept) -> None:
    """The facts of a property are held as copies when rules come that make it transitive and symmetric."""
    compress_all(monkeypatch, kept)
    rules = "PREFIX : <n:> [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] . [?y, :p, ?x] :- [?x, :p, ?y] ."
    graph = Graph(CorollaryStore(rules="owl2rl"))
    graph += [(name(0), SAME, name(1)), (name(0), P, name(2))]
    assert len(set(graph.triples((None, P, None)))) == 2
    store_of(graph).add_rules(rules)
    assert set(graph.subject_objects(P)) == set(product(map(name, range(3)), repeat=2))
    graph.add((name(3), P, name(2)))
    assert set(graph.subject_objects(P)) == set(product(map(name, range(4)), repeat=2))
    graph.remove((name(3), P, name(2)))
    assert store_of(graph).verify().is_sound
    assert set(graph.subject_objects(P)) == set(product(map(name, range(3)), repeat=2))


def test_a_folder_lists_no_closure_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of 100,000 would be a snapshot of 80 GB. It is listed where the modules know it no more."""
    monkeypatch.setattr(MaterialisedView, "bases", lambda view: None)
    place, length = tmp_path / "chain", 1999
    graph = Graph(CorollaryStore(rules="owl2rl"))
    graph.open(str(place), create=True)
    graph.add((P, RDF.type, OWL.TransitiveProperty))
    graph.addN((name(i), P, name(i + 1), graph) for i in range(length))
    assert len(graph) == length * (length + 1) // 2 + 1
    graph.commit()
    graph.close()
    assert not [*place.glob("*.snapshot")]

    graph = Graph(CorollaryStore(rules="owl2rl"))
    graph.open(str(place))
    assert (name(0), P, name(length)) in graph
    store_of(graph).checkpoint()
    graph.close()
    (snapshot,) = place.glob("*.snapshot")
    assert snapshot.stat().st_size > 16 * length * (length + 1) // 2


@pytest.mark.parametrize("equal", [(name(-1), name(-2)), (name(10), name(12))], ids=["others", "members"])
def test_equal_terms_list_no_closure(equal: tuple[URIRef, URIRef]) -> None:
    """200 million facts, of which two or none are about equal terms."""
    length = 20_000
    graph = Graph(CorollaryStore(rules="owl2rl", limits="bytes=1GB"))
    graph.add((P, RDF.type, OWL.TransitiveProperty))
    graph.addN((name(i), P, name(i + 1), graph) for i in range(length))
    graph.add((equal[0], SAME, equal[1]))
    more = 5 + (6 if equal[0] == name(10) else 0)  # n:10, n:11 and n:12 have 9 facts instead of 3
    assert len(graph) == length * (length + 1) // 2 + more
    graph.remove((name(5000), P, name(5001)))
    assert len(graph) == 5000 * 5001 // 2 + 14_999 * 15_000 // 2 + more
    assert ((name(12), P, name(10)) in graph) is (more == 11)


@pytest.mark.parametrize("link", [RDFS.subPropertyOf, OWL.inverseOf], ids=["above", "inverse"])
def test_a_closed_property_without_facts_gets_generators(link: URIRef) -> None:
    """Two closures of 200 million facts: neither is listed to be copied to the other."""
    length = 20_000
    graph = Graph(CorollaryStore(rules="owl2rl", limits="bytes=1GB"))
    graph.addN((name(i), P, name(i + 1), graph) for i in range(length))
    for triple in ((P, link, ABOVE), (P, RDF.type, OWL.TransitiveProperty)):
        graph.add(triple)
    graph.add((ABOVE, RDF.type, OWL.TransitiveProperty))
    assert len(graph) == length * (length + 1) + 3
    graph.remove((name(length - 1), P, name(length)))
    assert len(graph) == length * (length - 1) + 3


def test_a_property_is_symmetric_no_more() -> None:
    """A clique of 100 million facts becomes a chain; none is listed."""
    length, symmetric = 10_000, (P, RDF.type, OWL.SymmetricProperty)
    graph = Graph(CorollaryStore(rules="owl2rl", limits="bytes=1GB"))
    graph.addN((name(i), P, name(i + 1), graph) for i in range(length))
    graph.add((P, RDF.type, OWL.TransitiveProperty))
    graph.add(symmetric)
    assert len(graph) == (length + 1) ** 2 + 2
    with store_of(graph).transaction():
        graph.remove(symmetric)
        graph.remove((name(length - 1), P, name(length)))
    assert len(graph) == length * (length - 1) // 2 + 1


def test_a_change_that_would_list_a_closure_starts_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The axiom would list the 36 million pairs that are lost; once an error of limits."""
    monkeypatch.setattr(cost_model, "SECONDS_OF_FIRST_USE", 60)
    graph, length, chain = Graph(CorollaryStore(rules="owl2rl", limits="bytes=100MB")), 12_000, BNode()
    graph.add((P, RDF.type, OWL.TransitiveProperty))
    graph.add((URIRef("n:u"), OWL.propertyChainAxiom, chain))
    Collection(graph, chain, [ABOVE, P])
    graph.addN((name(i), P, name(i + 1), graph) for i in range(length))
    graph.add((URIRef("n:a"), ABOVE, name(length - 2)))
    whole = len(graph)
    graph.remove((name(length // 2), P, name(length // 2 + 1)))
    assert len(graph) == whole - (length // 2 + 1) * (length // 2)
    maintained = store_of(graph).last_maintenance()
    assert maintained is not None and maintained.reason == TOO_LARGE
    assert set(graph.objects(URIRef("n:a"), URIRef("n:u"))) == {name(length - 1), name(length)}
