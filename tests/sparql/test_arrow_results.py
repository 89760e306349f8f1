"""Results as Arrow tables: lossless texts, typed columns, and what Jupyter shows."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from rdflib import RDF, RDFS, XSD, BNode, Dataset, Graph, Literal, Namespace, URIRef
from rdflib.term import Node
from tests.strategies import examples

from corollary.kernels.limits import LimitExceeded
from corollary.language import CorollaryError
from corollary.sparql.arrow_results import arrow_table
from corollary.store import CorollaryStore

EX = Namespace("urn:x:")

WORDS = ["", "a", 'a"@en', 'q" ', "back\\slash", "\\n", "line\nbreak", "<b>", "é", "_:b"]
terms: st.SearchStrategy[Node] = st.one_of(
    st.builds(Literal, st.sampled_from(WORDS), lang=st.sampled_from([None, "en"])),
    st.builds(Literal, st.sampled_from(WORDS), datatype=st.just(EX.type)),
    st.sampled_from(
        [URIRef("urn:a"), URIRef("urn:é"), BNode("b"), Literal(7), Literal("x", datatype=XSD.integer)]
    ),
)


def store_of(*values: Node) -> CorollaryStore:
    store = CorollaryStore(rules="none")
    graph = Graph(store)
    for number, value in enumerate(values):
        graph.add((EX[f"s{number}"], EX.p, value))
    return store


def column(values: list[Node], typed: bool) -> Any:
    query = "SELECT ?o { ?s ?p ?o } ORDER BY ?s"
    return store_of(*values).query_arrow(query, typed=typed)["o"]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(terms, min_size=1, max_size=8))
def test_texts_are_those_of_the_terms(data: list[Any]) -> None:
    query = (
        "SELECT ?o ?never (CONCAT('<', STR(?o)) AS ?made) { ?s ?p ?o OPTIONAL { ?s <urn:x:never> ?never } }"
    )
    store = store_of(*data)
    plain, typed = (store.query_arrow(query, typed=typed) for typed in (False, True))
    own = store.reasoner.versions.current().terms
    assert sorted(plain["o"].to_pylist()) == sorted(own.dictionary.decode(own.find(o) or 0) for o in data)
    assert plain["never"].to_pylist() == [None] * len(data)
    labels = [f"_:{o}" if isinstance(o, BNode) else str(o) for o in data]
    assert sorted(map(str, typed["o"].to_pylist())) == sorted(labels)
    assert sorted(typed["made"].to_pylist()) == sorted(f"<{o}" for o in data)


@pytest.mark.parametrize(
    ("texts", "datatype", "values"),
    [
        (["7", "-3", "+5"], XSD.integer, [7, -3, 5]),
        (["7", "300"], XSD.byte, [7, 300]),
        (["7", "x"], XSD.integer, ["7", "x"]),
        (["1" * 30], XSD.integer, ["1" * 30]),
        (["1.5", "2", "-0.125"], XSD.decimal, [Decimal("1.5"), Decimal(2), Decimal("-0.125")]),
        (["1e3", "INF", "2"], XSD.double, [1000.0, float("inf"), 2.0]),
        (["true", "0"], XSD.boolean, [True, False]),
        (["2020-02-29"], XSD.date, [date(2020, 2, 29)]),
        (["2020-02-29T12:00:00.5"], XSD.dateTime, [datetime(2020, 2, 29, 12, 0, 0, 500_000)]),
        (["2020-02-29T12:00:00Z"], XSD.dateTime, ["2020-02-29T12:00:00Z"]),
        (["a", "b\nc"], None, ["a", "b\nc"]),
        (["9" * 38], XSD.decimal, [Decimal("9" * 38)]),
        (["1" * 80], XSD.decimal, ["1" * 80]),
        (["0." + "1" * 39], XSD.decimal, ["0." + "1" * 39]),
        (["1", "1E5"], XSD.decimal, ["1", "1E5"]),
        (["0x10"], XSD.integer, ["0x10"]),
        (["+-1"], XSD.integer, ["+-1"]),
        (["inf"], XSD.double, ["inf"]),
        (["2020-02-29"], XSD.dateTime, ["2020-02-29"]),
        (["0000-02-29"], XSD.date, ["0000-02-29"]),
    ],
)
def test_typed_columns(texts: list[str], datatype: URIRef | None, values: list[Any]) -> None:
    data: list[Node] = [Literal(text, datatype=datatype, normalize=False) for text in texts]
    assert column(data, True).to_pylist() == values


def test_forms_graphs_and_bindings() -> None:
    dataset = Dataset(CorollaryStore(rules="rdfs"))
    dataset.graph(EX.schema).add((EX.Cat, RDFS.subClassOf, EX.Animal))
    dataset.graph(EX.pets).add((EX.tom, EX.p, EX.Cat))
    store: Any = dataset.store
    assert store.query_arrow("ASK { ?s ?p ?o }").to_pylist() == [{"answer": True}]
    made = store.query_arrow("CONSTRUCT { ?o <urn:x:q> ?s } { ?s <urn:x:p> ?o }")
    assert made.to_pylist() == [{"subject": "<urn:x:Cat>", "predicate": "<urn:x:q>", "object": "<urn:x:tom>"}]
    assert store.query_arrow("DESCRIBE <urn:x:tom>", graph=EX.schema).num_rows == 0
    assert store.query_arrow("SELECT ?s { ?s ?p ?o }", graph=dataset.graph(EX.pets)).num_rows == 1
    found = store.query_arrow("SELECT ?o { ?s <urn:x:p> ?o }", bindings={"s": EX.tom}, typed=True)
    assert found["o"].to_pylist() == ["urn:x:Cat"]
    assert store.query_arrow("SELECT ?s { ?s <urn:x:never> ?o }", typed=True).to_pylist() == []


def test_errors() -> None:
    store = store_of(Literal("\ud800"))
    with pytest.raises(CorollaryError, match="half of a character"):
        store.query_arrow("SELECT ?o { ?s ?p ?o }")
    with pytest.raises(LimitExceeded):
        store.query_arrow("SELECT * { ?a ?b ?c . ?d ?e ?f }", limits="terms=1,facts=0,seconds=0.0000001")


def test_results_of_rdflib_are_tables_too() -> None:
    graph = Graph()
    graph.add((EX.a, EX.p, Literal(1)))
    assert arrow_table(graph.query("SELECT ?o ?x { ?s ?p ?o }"), typed=True).to_pylist() == [
        {"o": 1, "x": None}
    ]
    assert arrow_table(graph.query("CONSTRUCT WHERE { ?s ?p ?o }")).num_rows == 1


def test_jupyter_shows_the_first_rows() -> None:
    graph = Graph(store_of(*map(Literal, range(30)), Literal("<b>")))
    store: Any = graph.store
    shown = store.query("SELECT ?o { ?s ?p ?o } ORDER BY DESC(?o)", {}, {}, "__UNION__")._repr_html_()
    assert shown.count("<tr>") == 21 and "31 rows, the first 20 shown" in shown and "<b>" not in shown
    made = store.query("CONSTRUCT { ?s a <urn:x:T> } { ?s ?p 1 }", {}, {}, "__UNION__")._repr_html_()
    assert "<th>subject</th>" in made and "<p>1 triple</p>" in made


def test_jupyter_shows_prefixed_names() -> None:
    """Those that the graph has bound, and those that the call gives."""
    graph = Graph(store_of(Literal(1)))
    graph.bind("it", "urn:it:")
    graph.add((EX.a, RDF.type, URIRef("urn:it:T")))
    shown: Any = graph.query("SELECT ?s ?t { ?s a ?t }", initNs={"here": EX})
    assert "<td>here:a</td><td>it:T</td>" in shown._repr_html_()
    made: Any = graph.query("CONSTRUCT WHERE { ?s a ?t }")
    assert "<td>rdf:type</td><td>it:T</td>" in made._repr_html_()
