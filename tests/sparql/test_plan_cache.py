"""Plans that are cached by the shape of a text are those that the parser makes of the text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Graph, Literal, Namespace, URIRef
from rdflib.plugins.sparql import prepareQuery
from tests.sparql.test_against_pyoxigraph import patterns
from tests.strategies import examples

from corollary.sparql import plan_cache
from corollary.sparql.parser import SparqlSyntaxError, parse_query, query_parser
from corollary.sparql.plan_cache import plan_of
from corollary.sparql.query_passes import optimised

EX = Namespace("http://example.org/")
PREFIXES = {"ex": str(EX), "": "urn:x:"}


def assert_planned(text: str, base: str = "") -> None:
    assert plan_of(text, PREFIXES, base) == optimised(parse_query(text, PREFIXES, base))


VARIANTS = [
    ["SELECT * { <urn:a> ?p ?o }", "SELECT*{<urn:b> ?p ?o}", "SELECT * { <urn:c>\n ?p # <urn:d>\n ?o }"],
    [
        "SELECT * { ex:a ?p ex:b }",
        "SELECT * { ex:c ?p ex:d.e }",
        "SELECT * { :a ?p ex:b }",
        "SELECT * { ex: ?p : }",
    ],
    [
        "SELECT * { ?s ?p 'a' }",
        'SELECT * { ?s ?p "b" }',
        "SELECT * { ?s ?p '''c'd''' }",
        "SELECT * { ?s ?p '' }",
    ],
    [r"SELECT * { ?s ?p 'a\n' }", r"SELECT * { ?s ?p '\u0041' }", r"SELECT * { ?s ?p ex:a\-b }"],
    ["SELECT * { ?s ?p 'a'@en }", "SELECT * { ?s ?p 'b'@en }", "SELECT * { ?s ?p 'b'@de }"],
    ["SELECT * { ?s ?p '1'^^ex:t }", "SELECT * { ?s ?p '2'^^ex:t }", "SELECT * { ?s ?p '2'^^ex:u }"],
    ["SELECT * { ?s ?p 1 }", "SELECT * { ?s ?p 23 }", "SELECT * { ?s ?p 2.5 }", "SELECT * { ?s ?p 2e5 }"],
    ["SELECT * { ?s ?p -1 }", "SELECT * { ?s ?p -2 }", "SELECT * { ?s ?p +1 }"],
    ["SELECT * { ?s ?p ?o FILTER(?o >- 1) }", "SELECT * { ?s ?p ?o FILTER(?o > -1) }"],
    ["SELECT * { ?s <urn:p>+ 1 }", "SELECT * { ?s <urn:p> +1 }"],
    ["SELECT * { ?s ?p ?o FILTER(?o<5&&?s>6) }", "SELECT * { ?s ?p ?o FILTER(?o<7&&?s>6) }"],
    [
        "SELECT * { ?s ?p ?o FILTER(?o < 5 && STR(?s) = 'a') }",
        "SELECT * { ?s ?p ?o FILTER(?o < 6 && STR(?s) = 'b') }",
    ],
    ["SELECT * { ?s ?p ?o FILTER(?o = 1 + 2) }", "SELECT * { ?s ?p ?o FILTER(?o = 3 + 2) }"],
    ["SELECT * { ?s ?p ?o FILTER(ex:f(?o, 1)) }", "SELECT * { ?s ?p ?o FILTER(ex:g(?o, 2)) }"],
    [
        "SELECT * { ?s ex:p ?o }",
        "SELECT * { ?s ex:q ?o }",
        "SELECT * { ?s ex:p/ex:q* ?o }",
        "SELECT * { ?s ex:p/ex:r* ?o }",
    ],
    ["SELECT * { ?s ?p ?o } LIMIT 1", "SELECT * { ?s ?p ?o } LIMIT 2"],
    ["SELECT * FROM ex:g { ?s ?p 1 }", "SELECT * FROM ex:h { ?s ?p 1 }", "ASK { GRAPH ex:g { ?s ?p 1 } }"],
    [
        "SELECT * { VALUES (?s ?o) { (ex:a 1) (UNDEF 'x') } }",
        "SELECT * { VALUES (?s ?o) { (ex:b 2) (UNDEF 'y') } }",
    ],
    ["PREFIX ex: <urn:y:> ASK { ex:a ?p ?o }", "PREFIX ex: <urn:z:> ASK { ex:a ?p ?o }"],
    [
        "BASE <urn:y:> ASK { <a> ?p ?o }",
        "BASE <http://y/> ASK { <a> ?p ?o }",
        "BASE <http://y/> ASK { <b> ?p ?o }",
    ],
    ["CONSTRUCT { ex:a ?p 1 } WHERE { ex:a ?p ?o }", "CONSTRUCT { ex:b ?p 2 } WHERE { ex:c ?p ?o }"],
    ["DESCRIBE ex:a", "DESCRIBE ex:b", "DESCRIBE ?x { ?x ?p ex:a }", "DESCRIBE ?x { ?x ?p ex:b }"],
    [
        "SELECT (GROUP_CONCAT(?o; SEPARATOR=', ') AS ?c) (SUM(?o * 2) AS ?d) { ex:a ?p ?o }",
        "SELECT (GROUP_CONCAT(?o; SEPARATOR='; ') AS ?c) (SUM(?o * 3) AS ?d) { ex:b ?p ?o }",
    ],
    [
        "SELECT * { ?s ?p ?o FILTER(REGEX(?o, 'a', 'i')) }",
        "SELECT * { ?s ?p ?o FILTER(REGEX(?o, 'b', 's')) }",
    ],
    ["SELECT * { ?s ?p true, <>, 5. }", "SELECT * { ?s ?p false, <a>, 6. }"],
    ["select * { ?s a ex:C }", "select * { ?s a ex:D }", "SELECT * { ?s A ex:C }"],
]


@pytest.mark.parametrize("texts", VARIANTS, ids=lambda texts: texts[0])
def test_every_text_has_its_own_plan(texts: list[str]) -> None:
    for _ in range(2):
        for text in texts:
            if " A ex" in text:
                with pytest.raises(SparqlSyntaxError):
                    plan_of(text, PREFIXES)
            else:
                assert_planned(text)
                assert_planned(text, "http://base/")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('SELECT * { ?s ?p "a" }', 'SELECT * { ?s ?p " }'),
        ("SELECT * { ?s ?p ?o FILTER(?o < ?s) }", "SELECT * { ?s ?p ?o FILTER(?o <> ?s) }"),
        ("SELECT * { ?s <urn:a> ?o }", "SELECT * { ?s < ?o }"),
        ("SELECT * { ?s ?p ex:a }", "SELECT * { ?s ?p unknown:a }"),
        ("SELECT * { ?s ?p ?o } LIMIT 5", "SELECT * { ?s ?p ?o } LIMIT 5.0"),
        ("SELECT * { ?s ?p 5 }", "SELECT * { 5 . ?p ?o }"),
    ],
)
def test_a_wrong_text_has_the_shape_of_no_right_one(right: str, wrong: str) -> None:
    plan_of(right, PREFIXES)
    with pytest.raises(SparqlSyntaxError):
        plan_of(wrong, PREFIXES)


@settings(max_examples=examples(200), deadline=None)
@given(patterns, st.sampled_from(["urn:zz", "http://example.org/#é"]), st.sampled_from(['"y"', "'''z\n'''"]))
def test_other_constants_give_the_plan_of_the_other_text(pattern: str, iri: str, string: str) -> None:
    text = f"SELECT * {{ {pattern} }}"
    assert_planned(text)
    assert_planned(re.sub("<urn:[abc]>", f"<{iri}>", text).replace('"x"', string))


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are parsed."""
    found: list[str] = []
    parser = query_parser

    def noted(text: str, *arguments: Any) -> Any:
        found.append(text)
        return parser(text, *arguments)

    monkeypatch.setattr(plan_cache, "query_parser", noted)
    return found


def test_ten_thousand_look_ups_are_planned_once(parses: list[str]) -> None:
    graph = Graph("Corollary")
    graph.add((EX.s7, EX.planned, Literal("seven")))
    for number in range(10_000):
        text = f"SELECT ?o {{ <{EX}s{number}> <{EX}planned> ?o FILTER(?o != 'n{number}') }}"
        assert len(plan_of(text, {}).terms) == 1
    assert len(parses) == 1
    for number, found in ((7, 1), (8, 0)):
        text = f"SELECT ?o {{ <{EX}s{number}> <{EX}planned> ?o FILTER(?o != 'n8') }}"
        assert len(graph.query(text)) == found
    assert len(parses) == 1


def test_a_prefix_that_changes_its_namespace_is_looked_up_again(parses: list[str]) -> None:
    text = "SELECT ?o { rebound:s ?p ?o FILTER(?o > 77) }"
    for namespace in ("urn:1:", "urn:2:", "urn:1:"):
        plan: Any = plan_of(text, {"rebound": namespace})
        assert plan.pattern.inner.inner.triples[0][0] == URIRef(namespace + "s")
    with pytest.raises(SparqlSyntaxError, match="rebound"):
        plan_of(text, {})
    assert len(parses) == 4


def test_initial_bindings_are_constants_of_one_plan(parses: list[str]) -> None:
    graph = Graph("Corollary")
    for number in range(20):
        graph.add((EX[f"s{number}"], EX.p, Literal(number)))
    text = f"SELECT ?s ?o {{ ?s <{EX}p> ?o OPTIONAL {{ ?s <{EX}none> ?z }} }}"
    for query in (text, prepareQuery(text)):
        for number in range(20):
            (row,) = graph.query(query, initBindings={"s": EX[f"s{number}"]})
            assert row == (EX[f"s{number}"], Literal(number))
    assert len(parses) == 1
    assert not len(graph.query(text, initBindings={"o": Literal("none")}))
    assert len(graph.query(text.replace("?s ?o {", "?o {"), initBindings={"z": EX.given})) == 20


@pytest.mark.parametrize(("length", "is_cached"), [(1, True), (30_000, False)])
def test_plans_of_long_texts_are_not_cached(
    length: int, is_cached: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = []

    def noted(*arguments: Any) -> Any:
        parsed.append(arguments)
        return query_parser(*arguments)

    monkeypatch.setattr(plan_cache, "query_parser", noted)
    text = f"SELECT * {{ ?a <urn:of-this-test> '{'x' * length}' }}"
    for _ in range(2):
        assert_planned(text)
    assert len(parsed) == (1 if is_cached else 2)
    assert (len(plan_cache._of_text(text, "")) == 1) == is_cached
