"""Queries of very many parts, not nested in meaning, are answered; those of few parts as by rdflib."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rdflib import Graph, Literal, Namespace
from tests.sparql.test_compressed_queries import bag

from corollary.sparql.query_errors import NestedTooDeep
from corollary.store import CorollaryStore

EX = Namespace("urn:x:")
FEW, MANY = 12, 1_200


def each(text: str, between: str = " ") -> Callable[[int], str]:
    """The text for the numbers from 0, with ``#`` for the number."""
    return lambda count: between.join(text.replace("#", str(number)) for number in range(count))


def within(text: str, parts: Callable[[int], str]) -> Callable[[int], str]:
    return lambda count: text.replace("...", parts(count))


QUERIES: dict[str, Callable[[int], str]] = {
    "union": within("SELECT * { ... }", each("{ ?x :p # }", " UNION ")),
    "and": within("SELECT * { ?x :p ?y FILTER(...) }", each("?y + 1 != #", " && ")),
    "or": within("SELECT * { ?x :p ?y FILTER(...) }", each("?y = # + 1", " || ")),
    "sum": within("SELECT * { ?x :p ?y BIND(... AS ?z) }", each("?y", " + ")),
    "difference": within("SELECT * { ?x :p ?y FILTER(?y - ... < 5) }", each("?y * #", " - ")),
    "sequence": within("SELECT * { ?x ... ?y }", each(":n", "/")),
    "backwards": within("SELECT * { ?x ^(...) :x1 }", each(":n", "/")),
    "sequences": within("SELECT * { :x1 (...)+ ?y }", each(":n", "/")),
    "alternatives": within("SELECT * { ?x ... ?y }", each(":n#", "|")),
    "optional": within("SELECT * { ?x :p 1 ... }", each("OPTIONAL { ?x :p ?y# }")),
    "unmatched": within("SELECT * { ?x :p 1 ... }", each("OPTIONAL { ?x :n ?y FILTER(?y = :x#) }")),
    "first": within("SELECT * { ?x :p 1 ... } LIMIT 3", each("OPTIONAL { ?x :p ?y# }")),
    "later": within("SELECT * { ?x :p 1 ... }", each("OPTIONAL { ?x :n1 ?y# } ?x :p ?z#")),
    "pushed": within("SELECT * { ?x :p 1 ... FILTER(?x != :x6) }", each("OPTIONAL { ?x :p ?y# }")),
    "filter": within("SELECT * { ?x :p ?y ... }", each("FILTER(?y != # + 1)")),
    "exists": within("SELECT * { ?x :p ?y ... }", each("FILTER NOT EXISTS { ?x :p #0 }")),
    "minus": within("SELECT * { ?x :p ?y ... }", each("MINUS { ?x :p #0 }")),
    "values": within("SELECT * { ?x :p ?y VALUES ?y { ... } }", each("#")),
    "in": within("SELECT * { ?x :p ?y FILTER(?y IN (...)) }", each("#", ", ")),
    "bind": within("SELECT * { ?x :p ?y ... }", each("BIND(?y + # AS ?z#)")),
    "groups": within("SELECT * { ... }", each("{ ?x :p ?y }")),
    "subqueries": within("SELECT * { ... }", each("{ SELECT ?x { ?x :p 1 } }")),
    "select": within("SELECT ... { ?x :p ?y }", each("(?y + # AS ?z#)")),
}


def data(graph: Graph) -> Graph:
    graph.bind("", EX)
    for number in range(10):
        graph.add((EX[f"x{number}"], EX.p, Literal(number % 4)))
        graph.add((EX[f"x{number}"], EX.n, EX[f"x{(number + 1) % 10}"]))
        graph.add((EX[f"x{number}"], EX.n1, EX[f"x{(number + 3) % 10}"]))
    return graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return data(Graph(CorollaryStore(rules="none")))


@pytest.mark.parametrize("name", QUERIES)
def test_many_parts(graph: Graph, name: str) -> None:
    few = QUERIES[name](FEW)
    if name != "first":
        assert bag(graph.query(few)) == bag(data(Graph()).query(few))
    assert len(graph.query(QUERIES[name](MANY))) == EXPECTED.get(name, len(graph.query(few)))


EXPECTED = {"and": 0, "sequences": 1}
"""The numbers of solutions of many parts, where they are not those of few parts."""


def test_very_many_branches(graph: Graph) -> None:
    assert len(graph.query("SELECT * { " + " UNION ".join(["{ ?x :p 1 }"] * 5_000) + " }")) == 15_000
    graph = Graph(CorollaryStore(rules="none"))
    graph.update(
        "INSERT DATA { " + " ".join(f"<urn:a> <urn:p> {number} ." for number in range(20_000)) + " }"
    )
    assert len(graph) == 20_000


@pytest.mark.parametrize("depth", [50, 80, 110, 140, 170, 200, 250, 300, 5_000])
@pytest.mark.parametrize(
    "nested",
    [
        ("{ SELECT * ", "{ ?x :p ?y }", "}"),
        ("OPTIONAL { ?x :p ?y ", "", "}"),
        ("FILTER EXISTS { ?x :p ?y ", "", "}"),
        ("{ ?x :p 1 } UNION { ", "?x :p ?y", "}"),
        ("MINUS { ?x :p ?y ", "", "}"),
    ],
)
def test_what_is_nested_is_answered_or_refused(
    graph: Graph, nested: tuple[str, str, str], depth: int
) -> None:
    begin, inner, end = nested
    query = f"SELECT * {{ ?x :p ?y {begin * depth}{inner}{end * depth} }}"
    try:
        found = len(graph.query(query))
    except NestedTooDeep:
        return
    shallow = f"SELECT * {{ ?x :p ?y {begin * 2}{inner}{end * 2} }}"
    assert found == len(graph.query(shallow)) or "UNION" in query
