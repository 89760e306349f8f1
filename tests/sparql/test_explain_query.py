"""Plans of queries: golden texts of estimates and rows, and that the order shown is the order evaluated."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, Dataset, Graph, Literal, Namespace, URIRef
from tests.sparql.test_against_pyoxigraph import blocks, patterns
from tests.strategies import examples

from corollary.language import CorollaryError
from corollary.sparql.access import ExternalAccessRefused
from corollary.sparql.counting_evaluator import _CountingJoin
from corollary.sparql.query_errors import NestedTooDeep
from corollary.store import CorollaryStore

EX = Namespace("urn:x:")

LIMITED = """
   estimated        rows          ms  operator
           2           2           #  SELECT
           2           2           #    LIMIT 2 OFFSET 1
           3          10           #      SELECT ?x ?n
           3          10           #        FILTER by ?n
           3          10           #          OPTIONAL
           3          10           #            pattern
           1           1           #              x:ann x:teaches ?c
          10          10           #              ?x x:takes ?c
           3          10           #              ?x rdf:type x:Student
           3          10           #            pattern
           3          10           #              ?x x:name ?n
"""
COUNTED = """
   estimated        rows          ms  operator
           4           4           #  SELECT
           4           4           #    SELECT ?c ?n
           4           4           #      BIND ?n
           4           4           #        BIND ?c
           4           4           #          GROUP BY by ?c
           4           4           #            pattern
           4           4           #              ?x x:takes ?c
"""
NOT_LISTED = """
   estimated        rows          ms  operator
           1           1           #  ASK
          40           0           #    SELECT ?x ?c
          40           0           #      FILTER by ?c
          40          40           #        UNION
          40          40           #          pattern
          40          40           #            ?x x:takes ?c
           0           0           #          GRAPH x:g
           0           0           #            pattern
           0           0           #              ?x x:takes ?c
        0.33           1           #        EXISTS
        0.33           1           #          pattern
        0.33           1           #            x:ann x:teaches ?c
"""
IN_GRAPHS = """
   estimated        rows          ms  operator
           7           4           #  SELECT
           7           4           #    SELECT ?g ?s ?c ?n
           7           4           #      GRAPH ?g
           5           3           #        in x:g0, x:g1
           5           3           #          FILTER by ?c ?t
           5           3           #            pattern
           5           5           #              ?s x:name ?n
           5           5           #              ?s x:takes ?c
           5           2           #            NOT EXISTS
           5           2           #              pattern
           5           2           #                ?t x:teaches ?c
           2           1           #        in x:g2
           2           1           #          FILTER by ?c ?t
           2           1           #            pattern
           2           2           #              ?s x:takes ?c
           2           2           #              ?s x:name ?n
           2           1           #            NOT EXISTS
           2           1           #              pattern
           2           1           #                ?t x:teaches ?c
"""


@pytest.fixture
def store() -> CorollaryStore:
    store = CorollaryStore(rules="none")
    graph = Graph(store)
    graph.bind("x", EX)
    for number in range(40):
        student = EX[f"s{number}"]
        graph.add((student, RDF.type, EX.Student))
        graph.add((student, EX.takes, EX[f"c{number % 4}"]))
        graph.add((student, EX.name, Literal(f"n{number}")))
    graph.add((EX.ann, EX.teaches, EX.c1))
    return store


def shown(plan: Any) -> str:
    """The plan without its times."""
    return "\n" + re.sub(r"( +)[\d.]+(?=  +[A-Z?a-z])", lambda m: "#".rjust(len(m[0])), str(plan))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT ?x ?n { ?x a x:Student ; x:takes ?c . x:ann x:teaches ?c OPTIONAL { ?x x:name ?n } "
            "FILTER(STRLEN(?n) < 9) } LIMIT 2 OFFSET 1",
            LIMITED,
        ),
        ("SELECT ?c (COUNT(?x) AS ?n) { ?x x:takes ?c } GROUP BY ?c", COUNTED),
        (
            "ASK { { ?x x:takes ?c } UNION { GRAPH x:g { ?x x:takes ?c } } "
            "FILTER(?c = x:never && EXISTS { x:ann x:teaches ?c }) }",
            NOT_LISTED,
        ),
    ],
)
def test_golden_texts(store: CorollaryStore, query: str, expected: str) -> None:
    assert shown(store.explain_query(query, analyze=True)) == expected
    estimates = [line.split()[0] for line in expected.strip().splitlines()]
    assert [line.split()[0] for line in str(store.explain_query(query)).splitlines()] == estimates


def test_graphs_and_existence() -> None:
    """Each graph has an order of its own. What the rows to test bind is bound: the test is a probe."""
    dataset = Dataset(CorollaryStore(rules="none"))
    dataset.bind("x", EX)
    for number, (takers, names) in enumerate(((30, 2), (20, 3), (2, 9))):
        graph = dataset.graph(EX[f"g{number}"])
        for student in range(takers):
            graph.add((EX[f"s{student}"], EX.takes, EX[f"c{student % 4}"]))
        for student in range(names):
            graph.add((EX[f"s{student}"], EX.name, Literal(f"n{student}")))
        graph.add((EX.ann, EX.teaches, EX.c1))
    store: Any = dataset.store
    query = "SELECT * { GRAPH ?g { ?s x:takes ?c ; x:name ?n FILTER NOT EXISTS { ?t x:teaches ?c } } }"
    plan = store.explain_query(query, analyze=True)
    assert shown(plan) == IN_GRAPHS
    (projection,) = plan.as_dict()["inputs"]
    (in_graphs,) = projection["inputs"]
    assert [(step["detail"], step["estimated_rows"]) for step in in_graphs["inputs"]] == [
        *(("x:g0, x:g1", 5), ("x:g2", 2))
    ]
    assert [step["seconds"] for step in store.explain_query(query).as_dict()["inputs"]] == [None]


def test_one_plan_for_graphs_with_one_order() -> None:
    dataset = Dataset(CorollaryStore(rules="none"))
    for number in range(7):
        dataset.graph(EX[f"g{number}"]).add((EX.a, EX.p, EX.b))
    dataset.graph(EX.last).add((EX.a, EX.q, EX.b))
    store: Any = dataset.store
    (same,) = store.explain_query("SELECT * { GRAPH ?g { ?s ?p ?o } }", analyze=True).root.inputs[0].inputs
    assert [(step.operator, step.estimate, step.rows) for step in same.inputs] == [("pattern", 8, 8)]
    (differ,) = store.explain_query("SELECT * { GRAPH ?g { ?s <urn:x:p> ?o . ?o <urn:x:q> ?s } }").root.inputs
    assert [step.detail for step in differ.inputs[0].inputs] == [
        *("<urn:x:g0>, <urn:x:g1>, <urn:x:g2> and 4 more", "<urn:x:last>")
    ]


def test_json_and_forms(store: CorollaryStore) -> None:
    plan = store.explain_query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", analyze=True).as_dict()
    assert plan["operator"] == "SELECT" and plan["rows"] == 1 and plan["seconds"] > 0
    leaf = plan
    while leaf["inputs"]:
        (leaf,) = leaf["inputs"]
    assert leaf["operator"] == "?s ?p ?o" and leaf["estimated_rows"] == 121 and leaf["rows"] == 121
    assert store.explain_query("DESCRIBE x:ann").as_dict()["operator"] == "DESCRIBE"
    assert store.explain_query("CONSTRUCT WHERE { ?s x:name ?o }").as_dict()["estimated_rows"] == 40
    bound = store.explain_query("SELECT * { ?s x:takes ?o }", bindings={"o": EX.c1}, graph=EX.none)
    assert bound.as_dict()["estimated_rows"] == 0
    with pytest.raises(CorollaryError, match="it has no plan"):
        store.explain_query("SELECT * { SERVICE <urn:x> { ?s ?p ?o } }")


@settings(max_examples=examples(100), deadline=None)
@given(patterns)
def test_every_query_has_a_plan(pattern: str) -> None:
    graph = Dataset(CorollaryStore(rules="none"))
    for number in range(6):
        graph.add((EX[f"s{number}"], EX["pqr"[number % 3]], EX[f"s{number % 4}"]))
    store: Any = graph.store
    query = f"SELECT * {{ {pattern} }}"
    plan = store.explain_query(query, analyze=True)
    assert plan.root.rows == len(store.query(query, {}, {}, "__UNION__"))
    assert str(store.explain_query(query)).count("\n") == str(plan).count("\n")


@settings(max_examples=examples(100), deadline=None)
@given(
    blocks,
    st.sampled_from(["*", "DISTINCT ?x", "(COUNT(?y) AS ?n)", "(MIN(?y) AS ?n)"]),
    st.sampled_from(["{}", "?x <urn:p> ?y FILTER EXISTS {{ {} }}", "?y ?p ?z FILTER NOT EXISTS {{ {} }}"]),
)
def test_the_order_shown_is_the_order_evaluated(block: str, asked: str, place: str) -> None:
    graph = Graph(CorollaryStore(rules="none"))
    for number in range(9):
        predicate = URIRef(f"urn:{'pqr'[number % 3]}")
        graph.add((URIRef(f"urn:{'abc'[number % 2]}"), predicate, URIRef(f"urn:{'abc'[number // 3]}")))
    chosen: list[Any] = []
    extended, counted = _CountingJoin._extended, _CountingJoin._counted

    def noted(self: Any, batch: Any, pattern: Any, limit: int) -> Any:
        whole, _ = self.wholes.get(pattern, (pattern, True))
        if (self.part, whole) not in chosen:
            chosen.append((self.part, whole))
        return extended(self, batch, pattern, limit)

    def noted_count(self: Any, batch: Any, pattern: Any) -> Any:
        found = counted(self, batch, pattern)
        if found is not None:
            chosen.append((self.part, self.wholes.get(pattern, (pattern, True))[0]))
        return found

    store: Any = graph.store
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_CountingJoin, "_extended", noted)
        patch.setattr(_CountingJoin, "_counted", noted_count)
        plan = store.explain_query(f"SELECT {asked} {{ {place.format(block)} }}", analyze=True)
    patterns, waiting = [], [plan.root]
    while waiting:
        step = waiting.pop()
        patterns += [step] if step.operator == "pattern" else []
        waiting += step.inputs
    assert len(patterns) == (1 if place == "{}" else 2)
    triples = [triple.operator for step in patterns for triple in step.inputs if triple.rows is not None]
    assert len(triples) == len(set(chosen))
    for step in patterns:
        assert [triple.rows is None for triple in step.inputs] == sorted(
            triple.rows is None for triple in step.inputs
        )


def test_no_file_is_read_without_permission(tmp_path: Path) -> None:
    document = tmp_path / "beside.ttl"
    document.write_text("<urn:s> <urn:p> <urn:o> .")
    query = f"SELECT * FROM <{document.as_uri()}> {{ ?s ?p ?o }}"
    for analyze in (False, True):
        with pytest.raises(ExternalAccessRefused):
            CorollaryStore(rules="none").explain_query(query, analyze=analyze)


def test_deep_nesting_is_an_error_with_a_message() -> None:
    query = f"SELECT * {{ {3000 * '{'}?s ?p ?o{3000 * '}'} }}"
    with pytest.raises(NestedTooDeep):
        CorollaryStore(rules="none").explain_query(query)
