"""Cycles and stars are joined by intersections: what plans show, how little is listed, and the answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import OWL, RDF, Graph, Literal, Namespace, Variable
from tests.compression import compress_all
from tests.sparql.constants import set_constant
from tests.sparql.test_against_pyoxigraph import intersect_always
from tests.sparql.test_explain_query import shown
from tests.strategies import examples

from corollary.columns.pairs import common_seconds
from corollary.execute import intersect
from corollary.execute.intersect import count_in_common
from corollary.sparql import intersections
from corollary.store import CorollaryStore

EX = Namespace("urn:x:")

TRIANGLE = """
   estimated        rows          ms  operator
         100           3           #  SELECT
         100           3           #    SELECT ?a ?b ?c
         100           3           #      pattern
         103         103           #        ?a x:knows ?b
         100           3           #        INTERSECT ?c
         200           -           -          ?b x:knows ?c
         200           -           -          ?c x:knows ?a
"""
STAR = """
   estimated        rows          ms  operator
           1           1           #  SELECT
           1           1           #    SELECT ?n
           1           1           #      BIND ?n
           1           1           #        GROUP BY
          36          36           #          pattern
           4           4           #            INTERSECT ?x
          40           -           -              ?x rdf:type x:Student
         120           -           -              ?x x:takes ?c
          60           -           -              ?x x:name ?n
          12          12           #            ?x x:takes ?c
          36          36           #            ?x x:name ?n
"""
TRIANGLES = "SELECT ?a ?b ?c { ?a x:knows ?b . ?b x:knows ?c . ?c x:knows ?a }"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small data are large; other thresholds are as they are."""
    monkeypatch.setattr(intersections, "MIN_FACTS", 100)
    monkeypatch.setattr(intersections, "MIN_CANDIDATES", 20)
    monkeypatch.setattr(intersections, "MIN_FACTS_PER_TERM", 3)


def hub(size: int) -> Graph:
    """As many paths of two edges as the square of half the size, all through one node; and one triangle."""
    graph = Graph(CorollaryStore(rules="none"))
    graph.bind("x", EX)
    for number in range(size):
        edge = (EX[f"n{number}"], EX.knows, EX.hub)
        graph.add(edge if number % 2 else edge[::-1])
    for a, b in ("n0", "n1"), ("n2", "n4"), ("n3", "n5"):
        graph.add((EX[a], EX.knows, EX[b]))
    return graph


def test_triangles() -> None:
    """The paths through the node with many neighbours are not listed."""
    graph: Any = hub(100)
    assert shown(graph.store.explain_query(TRIANGLES, analyze=True)) == TRIANGLE
    rows = {(EX.n0, EX.n1, EX.hub), (EX.n1, EX.hub, EX.n0), (EX.hub, EX.n0, EX.n1)}
    assert {tuple(row) for row in graph.query(TRIANGLES)} == rows


@pytest.mark.parametrize("size", [400, 800])
def test_what_is_searched_grows_with_the_edges(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    searched = 0

    def noted(left: Any, right: Any) -> Any:
        nonlocal searched
        for one, other in zip(left.counts.tolist(), right.counts.tolist(), strict=True):
            searched += min(one, other)
        return common_seconds(left, right)

    monkeypatch.setattr(intersect, "common_seconds", noted)
    assert len(hub(size).query(TRIANGLES)) == 3
    assert 0 < searched <= size


def test_a_clique_takes_the_shortest_of_three_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(CorollaryStore(rules="none"))
    for a in range(9):
        for b in range(a):
            graph.add((EX[f"n{a}"], EX.knows, EX[f"n{b}"]))
    for number in range(200):
        graph.add((EX[f"n{number % 9}"], EX.knows, EX[f"leaf{number}"]))
    names = "abcd"
    triples = " . ".join(f"?{a} x:knows ?{b}" for a in names for b in names if a < b)
    cliques = 9 * 8 * 7 * 6 // 24  # a leaf has no edge to others, and one from a node
    for rows in (1, 1 << 20):
        set_constant(monkeypatch, "ROWS_PER_CHUNK", rows)
        found = graph.query(f"SELECT (COUNT(*) AS ?n) {{ {triples} }}", initNs={"x": EX})
        assert found.bindings == [{Variable("n"): Literal(cliques)}]


edges = st.lists(st.tuples(*[st.integers(0, 5)] * 2), max_size=30)


@settings(max_examples=examples(100), deadline=None)
@given(edges, edges, st.sampled_from((1, 3, 1 << 20)), st.sampled_from((0, 2, 1 << 20)))
def test_cycles_are_counted(
    some: list[tuple[int, int]], others: list[tuple[int, int]], rows: int, paths: int
) -> None:
    """As many as a substitution finds, whether values are searched for each row or paths are listed."""
    graph = Graph(CorollaryStore(rules="none"))
    facts = {EX.p: set(some), EX.q: set(others)}
    for predicate, pairs in facts.items():
        for s, o in pairs:
            graph.add((EX[f"n{s}"], predicate, EX[f"n{o}"]))
    with pytest.MonkeyPatch.context() as patch:
        intersect_always(patch)
        patch.setattr(intersect, "MAX_PATHS_PER_ROW", paths)
        set_constant(patch, "ROWS_PER_CHUNK", rows)
        for names in ("ab bc ca", "ab bc ac", "ab bc cd da", "ab cb cd ad", "ab bc cd da ac"):
            ends = [(name[0], name[1]) for name in names.split()]
            atoms = list(zip(ends, (EX.p, EX.q, EX.p, EX.p, EX.q), strict=False))
            triples = " . ".join(f"?{a} {p.n3()} ?{b}" for (a, b), p in atoms)
            bindings: list[dict[str, int]] = [{}]
            for (a, b), predicate in atoms:
                bindings = [
                    {**known, a: x, b: y}
                    for known in bindings
                    for x, y in facts[predicate]
                    if known.get(a, x) == x and {**known, a: x}.get(b, y) == y
                ]
            found = graph.query(f"SELECT (COUNT(*) AS ?n) {{ {triples} }}")
            assert found.bindings == [{Variable("n"): Literal(len(bindings))}]


def test_paths_are_listed_where_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cycles of four are as many paths as the plan lists anyway; triangles through a hub are not."""
    counted: list[int | None] = []

    def noted(*arguments: Any) -> int | None:
        counted.append(count_in_common(*arguments))
        return counted[-1]

    monkeypatch.setattr(intersections, "count_in_common", noted)
    graph = Graph(CorollaryStore(rules="none"))
    for number in range(100):
        graph.add((EX[f"n{number}"], EX.knows, EX.hub))
        graph.add((EX.hub, EX.knows, EX[f"n{number}"]))
    for triples in ("?a x:knows ?b . ?b x:knows ?c . ?c x:knows ?d . ?d x:knows ?a", TRIANGLES[18:-2]):
        graph.query(f"SELECT (COUNT(*) AS ?n) {{ {triples} }}", initNs={"x": EX})
    assert counted == [2 * 100**2, None]  # around the hub, from it and from its neighbours


@pytest.fixture
def students() -> Graph:
    graph = Graph(CorollaryStore(rules="none"))
    graph.bind("x", EX)
    for number in range(40):
        graph.add((EX[f"s{number}"], RDF.type, EX.Student))
        for course in range(3):
            graph.add((EX[f"s{number + 18}"], EX.takes, EX[f"c{course}"]))
    for number in range(20):
        for name in range(3):
            graph.add((EX[f"s{number + 36}"], EX.name, Literal(f"{name}")))
    return graph


def test_stars(students: Any) -> None:
    query = "SELECT (COUNT(*) AS ?n) { ?x a x:Student ; x:takes ?c ; x:name ?n }"
    assert shown(students.store.explain_query(query, analyze=True)) == STAR
    students.remove((EX.s36, EX.name, None))
    students.add((EX.s0, EX.takes, EX.c0))
    students.add((EX.s0, EX.name, Literal("0")))
    (found,) = students.query(query)
    assert found[0] == Literal(28)


def test_a_star_that_most_terms_belong_to_is_joined_one_by_one(students: Any) -> None:
    """Nor are small ones intersected, nor those whose patterns have one fact for each term."""
    query = "SELECT * { ?x x:takes ?c ; x:takes ?d ; a ?t }"
    assert "INTERSECT" not in str(students.store.explain_query(query))
    assert "INTERSECT" in str(students.store.explain_query("SELECT * { ?x x:takes ?c ; x:name ?n ; a ?t }"))
    few = "SELECT * { ?x x:takes ?c ; x:none ?n ; a ?t }"
    assert "INTERSECT" not in str(students.store.explain_query(few))


def test_a_star_beside_other_rows(monkeypatch: pytest.MonkeyPatch, students: Any) -> None:
    """It is joined with rows that it shares no variable with, in parts."""
    set_constant(monkeypatch, "ROWS_PER_CHUNK", 3)
    query = "SELECT * { VALUES ?v { 1 2 } { ?x a x:Student ; x:takes ?c ; x:name ?n } }"
    assert len(students.query(query)) == 72
    exists = "SELECT * { VALUES ?v { 1 2 } FILTER EXISTS { ?x a x:Student ; x:takes ?c ; x:name ?n } }"
    assert len(students.query(exists)) == 2
    assert len(students.query("SELECT * { ?x a x:Student ; x:takes ?c ; x:name ?n } LIMIT 5")) == 5


def test_facts_that_are_not_listed_are_not_intersected(monkeypatch: pytest.MonkeyPatch) -> None:
    intersect_always(monkeypatch)
    compress_all(monkeypatch)
    graph: Any = Graph(CorollaryStore())
    graph.bind("x", EX)
    graph.add((EX.within, RDF.type, OWL.TransitiveProperty))
    for number in range(6):
        graph.add((EX[f"n{number}"], EX.within, EX[f"n{number + 1}"]))
        graph.add((EX[f"n{number}"], EX.knows, EX[f"n{number + 1}"]))
    for name, is_intersected in (("within", False), ("knows", True)):
        query = f"SELECT * {{ ?a x:{name} ?b . ?b x:{name} ?c . ?a x:{name} ?c }}"
        assert ("INTERSECT" in str(graph.store.explain_query(query))) == is_intersected
        assert len(graph.query(query)) == (0 if is_intersected else 35)
