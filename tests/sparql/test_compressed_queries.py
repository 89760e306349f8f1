"""Queries over relations whose facts are not listed: the answers of rdflib over the listed facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from rdflib import OWL, Graph, Namespace, Variable
from rdflib.query import Result
from tests.compression import compress_all
from tests.sparql.constants import set_constant

from corollary.closure.compressed_relation import CompressedRelation
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
MEMBERS, VALUES = 12, 9


@pytest.fixture(scope="module")
def graphs() -> Iterator[tuple[Graph, Graph]]:
    """A graph with compressed relations, and one with the same triples. Few rows are joined at a time."""
    with pytest.MonkeyPatch.context() as patch:
        compress_all(patch)
        set_constant(patch, "ROWS_PER_CHUNK", 7)
        set_constant(patch, "ROWS_PER_LIMITED_CHUNK", 3)
        graph = Graph(CorollaryStore())
        for i in range(MEMBERS):
            graph.add((EX.m0, OWL.sameAs, EX[f"m{i}"]))
        for i in range(VALUES):
            graph.add((EX[f"m{i % 3}"], EX.p, EX[f"v{i}"]))
            graph.add((EX[f"v{i}"], EX.q, EX[f"v{i + 1}"]))
        graph.add((EX.m2, EX.p, EX.m1))
        listed = Graph()
        for triple in graph:
            listed.add(triple)
        yield graph, listed


DRIVEN = (
    "{} OPTIONAL {{ ?y owl:sameAs ?z }}",
    "{} OPTIONAL {{ ?y owl:sameAs ?z . ?z ex:p ?w }}",
    "{} OPTIONAL {{ ?y owl:sameAs ?z OPTIONAL {{ ?z ex:p ?w }} }}",
    "{} OPTIONAL {{ ?y owl:sameAs ?z FILTER(?z != ?y) }}",
    "{} OPTIONAL {{ {{ ?y owl:sameAs ?z }} UNION {{ ?z ex:p ?y }} }}",
    "{} OPTIONAL {{ ?y owl:sameAs+ ?z }}",
    "{} MINUS {{ ?y owl:sameAs ?z }}",
    "{} MINUS {{ ?y owl:sameAs ?z . ?z ex:p ?w }}",
    "{} ?y owl:sameAs ?z MINUS {{ ?y owl:sameAs ?z }}",
    "{} FILTER EXISTS {{ ?y owl:sameAs ?z . ?z ex:p ?w FILTER(?w != ?y) }}",
    "{} {{ ?y owl:sameAs ?z }} UNION {{ ?z owl:sameAs ?y }}",
    "{} {{ ?y owl:sameAs ?z BIND(?z AS ?w) }}",
    "{} ?y owl:sameAs* ?z",
    "{} ?y owl:sameAs+/owl:sameAs ?z",
    "{} ?y (owl:sameAs|^owl:sameAs)/ex:p ?z",
)
"""Groups in which the facts of a compressed relation are read from the rows of another one."""

BY_ENDS = (
    "SELECT DISTINCT ?s { ?s ex:p ?o }",
    "SELECT DISTINCT ?o { ?s ex:p ?o }",
    "SELECT DISTINCT ?s { ?s ex:p ?o . ?s owl:sameAs ?z }",
    "SELECT DISTINCT ?s { ?s ex:p [] ; owl:sameAs ?z . ?y ex:q ?x }",
    "SELECT DISTINCT ?s { ?x ex:none ?y . ?s ex:p ?z }",
    "SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s ex:p ?o }",
    "SELECT (COUNT(DISTINCT ?o) AS ?n) (MAX(?o) AS ?m) { ?s ex:p ?o . ?o ex:q ?z }",
    "SELECT ?s (COUNT(*) AS ?n) { ?s ex:p ?o } GROUP BY ?s",
    "SELECT ?o (COUNT(?s) AS ?n) (COUNT(?o) AS ?m) { ?s ex:p ?o } GROUP BY ?o",
    "SELECT (COUNT(DISTINCT ?s) AS ?m) (COUNT(?o) AS ?n) { ?s ex:p ?o }",
    "SELECT (COUNT(DISTINCT *) AS ?n) { ?s ex:p ?o }",
    "SELECT DISTINCT ?o { ?s ex:p ?o } ORDER BY DESC(?o)",
    "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p",
    "SELECT ?s ?p (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s ?p",
    "SELECT ?o (COUNT(?p) AS ?n) (MAX(?p) AS ?m) { ?s ?p ?o } GROUP BY ?o",
)
"""Queries that need the ends of relations only, and numbers of facts."""


def bag(result: Result) -> object:
    if result.type == "ASK":
        return result.askAnswer
    return Counter(frozenset(row.items()) for row in result.bindings)


def test_they_are_compressed(graphs: tuple[Graph, Graph]) -> None:
    assert isinstance(graphs[0].store, CorollaryStore)
    result = graphs[0].store.materialise()
    assert result is not None
    kinds = {relation.closed_by for _, relation in result.index.relations()}
    assert kinds >= {"copies", "paths"}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?s ex:p ?s }",
        "SELECT * { ?s owl:sameAs ?s }",
        "SELECT * { ?s ex:p ?o . ?o ex:q ?z }",
        "SELECT * { ?s ex:p ?o . ?z ex:p ?o }",
        "SELECT * { ?s ex:p ?o . ?o ex:p ?z }",
        "ASK { ?s ex:q ?o . ?o ex:p ?z }",
        "ASK { ?s ex:p ?o . ?o ex:p ?z . ?z ex:q ?y }",
        "SELECT * { ex:m3 owl:sameAs+ ?o }",
        "SELECT * { ex:m3 owl:sameAs* ?o }",
        "SELECT * { ?s owl:sameAs+ ex:m3 }",
        "SELECT * { ?s owl:sameAs+ ?o }",
        "SELECT * { ex:v0 owl:sameAs* ?o }",
        "SELECT * { ex:m3 (owl:sameAs|ex:p)+ ?o }",
        *BY_ENDS,
        "SELECT DISTINCT ?s ?o { ?s ex:p ?o . ?o ex:q ?z }",
        "SELECT DISTINCT ?p { ?s ?p ?o }",
        "SELECT DISTINCT ?s { ?s ex:p ?s }",
        "SELECT DISTINCT ?s { { SELECT DISTINCT ?s { ?s ex:p ?o } } ?s owl:sameAs ?z }",
        "SELECT ?s (COUNT(DISTINCT ?o) AS ?n) { ?s ex:p ?o } GROUP BY ?s",
        "SELECT ?s (COUNT(DISTINCT *) AS ?n) { ?s ex:p ?o } GROUP BY ?s",
        "SELECT ?s (SUM(1) AS ?n) { ?s ex:p ?o } GROUP BY ?s",
        "SELECT ?s (COUNT(?z) AS ?n) { ?s ex:p ?o } GROUP BY ?s",
        "SELECT ?s (COUNT(*) AS ?n) { ?s ex:p ?o . ?o ex:q ?z } GROUP BY ?s",
        "SELECT ?s (COUNT(STR(?o)) AS ?n) { ?s ex:p ?o } GROUP BY ?s",
        "SELECT DISTINCT ?s { ?s ex:p ?o FILTER(?o != ex:v1) }",
        "SELECT * { ?s ex:q ?o FILTER EXISTS { SELECT DISTINCT ?o { ?o ex:q ?z } } }",
        "SELECT ?n { ?s ex:q ex:v1 { SELECT ?s (COUNT(*) AS ?n) { ?s ex:q ?o } GROUP BY ?s } }",
    ],
)
def test_answers(graphs: tuple[Graph, Graph], query: str) -> None:
    graph, listed = graphs
    text = f"PREFIX ex: <{EX}> PREFIX owl: <{OWL}> {query}"
    wanted, found = bag(listed.query(text)), bag(graph.query(text))
    if "* ?o" in query or "+" in query:  # rdflib may repeat the pairs of a path
        assert isinstance(found, Counter) and set(found.values()) <= {1}
        assert isinstance(wanted, Counter)
        wanted = Counter(set(wanted))
    assert found == wanted


def test_repeated_terms_and_paths_list_nothing(
    graphs: tuple[Graph, Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, _ = graphs

    def refuse(self: CompressedRelation) -> None:
        raise AssertionError("listed")

    monkeypatch.setattr(CompressedRelation, "pairs", refuse)
    text = f"PREFIX ex: <{EX}> PREFIX owl: <{OWL}> "
    assert len(graph.query(text + "SELECT * { ?s ex:p ?s }")) == MEMBERS
    assert len(graph.query(text + "SELECT * { ex:m3 owl:sameAs+ ?o }")) == MEMBERS
    assert isinstance(graph.store, CorollaryStore)
    assert str(graph.store.components())


def driven(pattern: str, asked: str) -> str:
    first = "?x ex:q ex:v1 . ?y ex:p ?x ."
    return f"PREFIX ex: <{EX}> PREFIX owl: <{OWL}> SELECT {asked} {{ {pattern.format(first)} }}"


@pytest.mark.parametrize("pattern", DRIVEN)
def test_what_starts_from_rows_lists_little_at_a_time(
    graphs: tuple[Graph, Graph], monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    """The pairs of the relation are not listed. No more facts are read at once than a few rows have."""
    graph, listed = graphs
    wanted = bag(listed.query(driven(pattern, "?x ?y ?z ?w")))
    if "+" in pattern or "*" in pattern:  # rdflib may repeat the pairs of a path
        wanted = None
    sizes: list[int] = []
    read = CompressedRelation._matches

    def refuse(*_: object) -> None:
        raise AssertionError("listed")

    def noted(*arguments: Any) -> Any:
        found = read(*arguments)
        sizes.append(found[0].size)
        return found

    monkeypatch.setattr(CompressedRelation, "pairs", refuse)
    monkeypatch.setattr(CompressedRelation, "_matches", staticmethod(noted))
    solutions = bag(graph.query(driven(pattern, "?x ?y ?z ?w")))
    assert isinstance(solutions, Counter)
    assert wanted is None or solutions == wanted
    total = solutions.total()
    for asked in ("(COUNT(*) AS ?n)", "(COUNT(*) AS ?n) (COUNT(?z) AS ?m)"):
        (row,) = graph.query(driven(pattern, asked)).bindings
        assert int(row["n"]) == total  # type: ignore[index]
        with_z = sum(count for found, count in solutions.items() if Variable("z") in dict(found))
        assert len(row) == 1 or int(row["m"]) == with_z  # type: ignore[index]
    assert max(sizes, default=0) <= 2 * MEMBERS


@pytest.mark.parametrize("query", BY_ENDS)
def test_ends_and_numbers_list_nothing(
    graphs: tuple[Graph, Graph], monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("listed")

    for name in ("pairs", "chunks", "objects_of", "subjects_of"):
        if name == "pairs" or "ex:q" not in query:
            monkeypatch.setattr(CompressedRelation, name, refuse)
    assert graphs[0].query(f"PREFIX ex: <{EX}> PREFIX owl: <{OWL}> {query}") is not None
