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
from corollary.sparql.explain_query import _CountingJoin
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
           1           1           #        pattern
           1           1           #          x:ann x:teaches ?c
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
@given(blocks, st.sampled_from(["*", "DISTINCT ?x", "(COUNT(?y) AS ?n)", "(MIN(?y) AS ?n)"]))
def test_the_order_shown_is_the_order_evaluated(block: str, asked: str) -> None:
    graph = Graph(CorollaryStore(rules="none"))
    for number in range(9):
        predicate = URIRef(f"urn:{'pqr'[number % 3]}")
        graph.add((URIRef(f"urn:{'abc'[number % 2]}"), predicate, URIRef(f"urn:{'abc'[number // 3]}")))
    chosen: list[Any] = []
    extended, counted = _CountingJoin._extended, _CountingJoin._counted

    def noted(self: Any, batch: Any, pattern: Any, limit: int) -> Any:
        if pattern not in chosen:
            chosen.append(pattern)
        return extended(self, batch, pattern, limit)

    def noted_count(self: Any, batch: Any, pattern: Any) -> Any:
        found = counted(self, batch, pattern)
        if found is not None:
            chosen.append(pattern)
        return found

    store: Any = graph.store
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_CountingJoin, "_extended", noted)
        patch.setattr(_CountingJoin, "_counted", noted_count)
        plan = store.explain_query(f"SELECT {asked} {{ {block} }}", analyze=True)
    step = plan.root
    while step.operator != "pattern":
        (step,) = step.inputs
    triples = [triple.operator for triple in step.inputs if triple.rows is not None]
    assert len(triples) == len(set(chosen))
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
