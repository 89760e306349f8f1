"""Queries of one pattern are look-ups: their answers are those of a loop over all facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest
from rdflib import BNode, Dataset, Graph, Literal, Namespace, URIRef, Variable
from rdflib.plugins.sparql import prepareQuery
from rdflib.term import Node

from corollary.kernels.limits import LimitExceeded
from corollary.sparql import answer
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
A, B, P, Q, MANY, ABSENT = EX.a, EX.b, EX.p, EX.q, EX.many, EX.absent
TEXT, BLANK = Literal("x", lang="en"), BNode("b")
FACTS = {
    *((A, P, B), (A, P, TEXT), (B, P, A), (A, Q, A), (BLANK, P, B), (B, Q, Literal("1"))),
    *((A, MANY, EX[f"n{number}"]) for number in range(20)),
}
ENDS = (A, TEXT, ABSENT, Variable("x"), Variable("y"))
PREDICATES = (P, MANY, ABSENT, Variable("x"), Variable("z"))

Fact = tuple[Node, Node, Node]


def closed(facts: set[Any]) -> set[Any]:
    """The facts, and what follows by the rule below."""
    return facts | {(o, Q, s) for s, p, o in facts if p == P and not isinstance(o, Literal)}


def with_rule(graph: Graph) -> Graph:
    graph.store.add_rules("[?y, <http://example.org/q>, ?x] :- [?x, <http://example.org/p>, ?y] .")  # type: ignore[attr-defined]
    return graph


def solutions(pattern: Any, facts: set[Any], given: Mapping[Any, Any]) -> Iterator[dict[Any, Any]]:
    """The bindings that make a fact of the pattern."""
    for fact in facts:
        found = dict(given)
        if all(
            (found.setdefault(term, value) if isinstance(term, Variable) else term) == value
            for term, value in zip(pattern, fact, strict=True)
        ):
            yield found


def rows(graph: Graph, query: Any, given: Any = None) -> list[Any]:
    return list(graph.query(query, initBindings=given))


def agree(graph: Graph, facts: set[Any]) -> None:
    """Compare all patterns, with and without given values."""
    for pattern in product(ENDS, PREDICATES, ENDS):
        names = sorted({term for term in pattern if isinstance(term, Variable)})
        body = "{ " + " ".join(term.n3() for term in pattern) + " }"
        query = f"SELECT {' '.join(name.n3() for name in names)} {body}"
        each: Any
        for each in ({}, {Variable("x"): A}, {Variable("y"): ABSENT}, {Variable("x"): TEXT}):
            right = list(solutions(pattern, facts, each))
            if names:
                found = Counter(map(tuple, rows(graph, query, each)))
                assert found == Counter(tuple(row[name] for name in names) for row in right), query
            assert graph.query(f"ASK {body}", initBindings=each).askAnswer == bool(right)


def test_all_patterns_before_and_after_changes() -> None:
    facts = set(FACTS)
    graph = with_rule(Graph(store=CorollaryStore(rules="none")))
    for fact in facts:
        graph.add(fact)
    agree(graph, closed(facts))
    for came, went in (((B, P, B), (A, P, B)), ((ABSENT, P, A), (A, MANY, EX.n3))):
        graph.add(came)
        graph.remove(went)
        facts = facts - {went} | {came}
        agree(graph, closed(facts))


def test_named_graphs_and_the_union() -> None:
    dataset = Dataset(store=CorollaryStore(rules="none"), default_union=True)
    here, there = dataset.graph(EX.here), dataset.graph(EX.there)
    here.add((A, P, B))
    there.add((A, P, TEXT))
    query = "SELECT ?o { <http://example.org/a> <http://example.org/p> ?o }"
    assert [set(graph.query(query)) for graph in (here, there, dataset)] == [
        {(B,)},
        {(TEXT,)},
        {(B,), (TEXT,)},
    ]


def test_no_evaluator_is_made_for_a_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = with_rule(Graph(store=CorollaryStore(rules="none")))
    for fact in FACTS:
        graph.add(fact)
    graph.query("ASK { ?x ?y ?z }")
    monkeypatch.setattr(answer, "evaluator_of", None)
    one = prepareQuery(f"SELECT ?p ?o {{ {B.n3()} ?p ?o }}")
    assert len(graph.query(one)) == 4
    assert len(graph.query(f"SELECT * {{ ?s {Q.n3()} {A.n3()} }}")) == 2
    assert graph.query(f"ASK {{ {A.n3()} {P.n3()} 'x'@EN }}").askAnswer
    result: Any = graph.query("SELECT ?x ?y ?z { ?x ?y ?z }", initBindings={"x": B})
    assert {row.x for row in result} == {B}
    assert [column.size for column in result.ids] == [4, 4, 4]


def test_rows_count_against_the_limit() -> None:
    graph = Graph(store=CorollaryStore(rules="none"))
    for fact in FACTS:
        graph.add(fact)
    query = f"SELECT ?o {{ {A.n3()} {P.n3()} ?o }}"
    assert len(graph.query(query, limits="facts=2")) == 2
    with pytest.raises(LimitExceeded, match=r"2 rows, and may have 1 \(pattern { <http://example.org/a> "):
        graph.query(query, limits="facts=1")


def test_literals_that_were_read_are_found_again() -> None:
    graph = Graph(store=CorollaryStore(rules="none"))
    upper = Literal("x", lang="EN")
    graph.add((A, P, upper))
    graph.add((A, P, Literal("1")))
    for _ in range(3):
        for value in list(graph.objects(A, P)):
            assert (A, P, value) in graph
            assert (A, Q, value) not in graph
        assert (A, P, TEXT) in graph and (A, P, Literal("2")) not in graph
    graph.remove((A, P, upper))
    assert (A, P, upper) not in graph and (A, P, TEXT) not in graph
    graph.add((A, P, URIRef("x")))
    assert (A, P, upper) not in graph
