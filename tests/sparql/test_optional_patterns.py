"""OPTIONAL with one triple pattern, which is looked up beside the rows, against rdflib's own evaluation."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from rdflib import Dataset, Graph, Namespace

from corollary.sparql.intersections import JoinPlan
from corollary.store import CorollaryStore

EX = Namespace("urn:x:")

DATA = """
    @prefix x: <urn:x:> .
    x:a x:p x:b ; x:one 1 ; x:some 1, 2, 3 .
    x:b x:p x:c ; x:one 2 ; x:some 4 .
    x:c x:p x:a, x:c ; x:one 3 .
    x:d x:q x:a ; x:partly 5 .
"""

OPTIONALS = {
    "one match for each row": "?s x:p ?o OPTIONAL { ?s x:one ?v }",
    "some rows without": "?s ?r ?o OPTIONAL { ?s x:partly ?v }",
    "several matches": "?s x:p ?o OPTIONAL { ?s x:some ?v }",
    "no match": "?s x:p ?o OPTIONAL { ?s x:none ?v }",
    "by object": "?s x:one ?n OPTIONAL { ?v x:p ?s }",
    "constant subject": "?s x:one ?n OPTIONAL { x:a x:some ?v }",
    "constant object": "?s x:one ?n OPTIONAL { ?v x:p x:c }",
    "constant without match": "?s x:one ?n OPTIONAL { x:d x:some ?v }",
    "both ends known": "?s x:p ?o OPTIONAL { ?o x:p ?s }",
    "equal ends": "?s x:one ?n OPTIONAL { ?v x:p ?v }",
    "known end unbound": "?s x:p ?o OPTIONAL { ?s x:some ?v } OPTIONAL { ?v x:none ?w }",
    "unbound in some rows": "?s ?r ?o OPTIONAL { ?s x:partly ?v } OPTIONAL { ?v ?p2 ?w }",
    "partly unbound": "?s ?r ?o OPTIONAL { ?s x:q ?v } OPTIONAL { ?v x:one ?w }",
    "blank node": "?s x:p ?o OPTIONAL { ?s x:some [] }",
    "one after the other": "?s x:p ?o OPTIONAL { ?o x:one ?v } OPTIONAL { ?s x:some ?w }",
    "path": "?s x:p ?o OPTIONAL { ?s x:p/x:one ?v }",
    "variable predicate": "x:d ?r ?o OPTIONAL { ?o ?p2 ?v }",
    "within": "?s x:p ?o OPTIONAL { ?s x:one ?v OPTIONAL { ?o x:some ?w } }",
}


@pytest.fixture
def graphs() -> tuple[Graph, Graph]:
    ours, theirs = Graph(store=CorollaryStore(rules="none")), Graph()
    for graph in (ours, theirs):
        graph.parse(data=DATA, format="turtle")
    return ours, theirs


def rows(graph: Graph, pattern: str, **bindings: Any) -> Counter[Any]:
    found: Any = graph.query(f"PREFIX x: <{EX}> SELECT * {{ {pattern} }}", initBindings=bindings)
    return Counter(frozenset(row.asdict().items()) for row in found)


@pytest.mark.parametrize("name", OPTIONALS)
def test_rows_are_those_of_rdflib(graphs: tuple[Graph, Graph], name: str) -> None:
    ours, theirs = (rows(graph, OPTIONALS[name]) for graph in graphs)
    assert ours == theirs


@pytest.mark.parametrize("name", OPTIONALS)
def test_rows_with_a_given_subject(graphs: tuple[Graph, Graph], name: str) -> None:
    ours, theirs = (rows(graph, OPTIONALS[name], s=EX.a) for graph in graphs)
    assert ours == theirs


def test_matches_are_analysed(graphs: tuple[Graph, Graph]) -> None:
    store: Any = graphs[0].store
    query = "PREFIX x: <urn:x:> SELECT * { ?s x:p ?o OPTIONAL { ?s x:some ?v } }"
    optional = store.explain_query(query, analyze=True).as_dict()
    while optional["operator"] != "OPTIONAL":
        (optional,) = optional["inputs"]
    assert [optional["rows"], *(step["rows"] for step in optional["inputs"])] == [6, 4, 4]


def test_join_orders_are_found_once(graphs: tuple[Graph, Graph], monkeypatch: pytest.MonkeyPatch) -> None:
    ordered: list[int] = []
    find = JoinPlan._places

    def counting(self: JoinPlan, bound: Any, patterns: Any) -> Any:
        ordered.append(len(patterns))
        return find(self, bound, patterns)

    monkeypatch.setattr(JoinPlan, "_places", counting)
    monkeypatch.setattr("corollary.sparql.intersections.MAX_JOIN_ORDERS_CACHED", 2)
    graph, pattern = graphs[0], "?s x:p ?o . ?o x:one ?v . ?s x:some ?w"
    first = rows(graph, pattern)
    assert rows(graph, pattern) == first
    assert ordered == [3]
    graph.add((EX.c, EX.some, EX.new))
    assert sum(n for row, n in rows(graph, pattern).items() if ("w", EX.new) in row) == 2
    assert ordered == [3, 3]
    for number in range(5):
        rows(graph, f"?s x:p ?o . ?s x:one {number}")
    assert len(ordered) == 7


def test_join_orders_in_merged_graphs_are_not_kept() -> None:
    dataset = Dataset(store=CorollaryStore(rules="none"))
    for name in ("one", "two"):
        dataset.graph(EX[name]).parse(data=DATA, format="turtle")
    pattern = "FROM x:one FROM x:two { ?s x:p ?o . ?o x:one ?v }"
    assert len(dataset.query(f"PREFIX x: <{EX}> SELECT * {pattern}")) == 4
    store: Any = dataset.store
    assert not store.reasoner.settled().state.known_to_queries.get(JoinPlan)


def test_an_iri_that_comes_later_is_found(graphs: tuple[Graph, Graph]) -> None:
    graph, pattern = graphs[0], "?s x:p x:later"
    assert not rows(graph, pattern)
    graph.add((EX.a, EX.p, EX.later))
    assert sum(rows(graph, pattern).values()) == 1
    assert not rows(graph, "?s x:p x:never")
