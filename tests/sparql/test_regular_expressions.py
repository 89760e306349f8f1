"""REGEX and REPLACE in queries and rules: XPath's patterns, and an end to every match."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from rdflib import XSD, Graph, Literal, URIRef
from rdflib.term import Node
from tests.timing import at_most

from corollary.expressions.regular_expressions import PatternTooLarge
from corollary.expressions.tuning import MAX_TEXTS_TRIED_FIRST
from corollary.kernels.limits import LimitExceeded
from corollary.sparql.expressions import Expressions
from corollary.store import CorollaryStore

P = URIRef("urn:p")

TERMS: list[Node] = [
    Literal("abc"),
    Literal("ABC"),
    Literal("abc", lang="en"),
    Literal("abc", datatype=XSD.string),
    Literal("b\nc"),
    Literal("٣"),
    Literal(""),
    Literal(12),
    Literal("abc", datatype=URIRef("urn:d")),
    URIRef("urn:abc"),
]


def graph_of(terms: Iterable[Node]) -> Graph:
    graph = Graph(store=CorollaryStore(rules="none"))
    for number, term in enumerate(terms):
        graph.add((URIRef(f"urn:{number}"), P, term))
    return graph


def kept(graph: Graph, condition: str) -> set[Node]:
    """The objects for which a condition on ?o holds."""
    return {row[0] for row in graph.query(f"SELECT ?o {{ ?s <urn:p> ?o FILTER({condition}) }}")}  # type: ignore[index]


def value(graph: Graph, expression: str) -> Node | None:
    (row,) = graph.query(f"SELECT (1 AS ?one) ({expression} AS ?v) {{}}")  # rdflib drops rows without values
    return row[1]  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('?o, "b"', {0, 2, 3, 4}),
        ('?o, "^b", ""', {4}),
        ('?o, "B", "i"', {0, 1, 2, 3, 4}),
        ('?o, "b$", "m"', {4}),
        ('?o, "b.c", "s"', {4}),
        ('?o, "b.c"', set()),
        ('?o, "^\\\\d$"', {5}),
        ('?o, "^$"', {6}),
        ('STR(?o), "b"', {0, 2, 3, 4, 8, 9}),
        ('STR(?o), "^12$"', {7}),
        ('STR(?o), "urn:", "q"', {9}),
        ('?o, "\\\\bb"', set()),
        ('?o, "("', set()),
        ('?o, "b", "g"', set()),
        ("?o, 12", set()),
        ('?o, "b", 12', set()),
        ('?unbound, "b"', set()),
        ('STR(?unbound), "b"', set()),
    ],
)
def test_regex(arguments: str, expected: set[int]) -> None:
    """For all terms at once, and within another expression, where every term is looked at alone."""
    graph = graph_of(TERMS)
    terms = {TERMS[number] for number in expected}
    assert kept(graph, f"REGEX({arguments})") == terms
    assert kept(graph, f"REGEX({arguments}) || false") == terms
    assert kept(graph, f"?s != <urn:x> && REGEX({arguments})") == terms


def test_an_error_is_neither_true_nor_false() -> None:
    graph = graph_of(TERMS)
    assert kept(graph, '!REGEX(?o, "b")') == {TERMS[number] for number in (1, 5, 6)}
    assert kept(graph, '!REGEX(?o, "(?=b)")') == set()
    assert kept(graph, 'COALESCE(REGEX(?o, "\\\\bb"), true)') == set(TERMS)


def test_constant_patterns_are_matched_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(Literal(f"w{number}") for number in range(2 * MAX_TEXTS_TRIED_FIRST))
    monkeypatch.setattr(Expressions, "_over_rows", None)
    assert len(kept(graph, 'REGEX(?o, "1$") && REGEX(STR(?o), "^W", "i")')) == 13


def test_bindings_given_with_the_query() -> None:
    graph = graph_of(TERMS)
    found = graph.query('ASK { FILTER(REGEX(?x, "b")) }', initBindings={"x": Literal("abc")})
    assert found.askAnswer
    found = graph.query('ASK { FILTER(REGEX("abc", ?x)) }', initBindings={"x": Literal("b")})
    assert found.askAnswer


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('"abcb", "b", "x"', Literal("axcx")),
        ('"abc"@en, "(b)", "<$1>"', Literal("a<b>c", lang="en")),
        ('"abc"^^xsd:string, "b", "x"', Literal("axc", datatype=XSD.string)),
        ('"aBc", "b", "x", "i"', Literal("axc")),
        ('"a.c", ".", "$1", "q"', Literal("a$1c")),
        ('"abc", "b*", "x"', None),
        ('"abc", "\\\\bb", "x"', None),
        ('"abc", "b", "$"', None),
        ('"abc", "b", "\\\\1"', None),
        ('"abc", "b", "x", "g"', None),
        ('12, "1", "x"', None),
        ('<urn:abc>, "b", "x"', None),
        ('STR(<urn:abc>), "b", "x"', Literal("urn:axc")),
        ('"abc", "b", ?unbound', None),
    ],
)
def test_replace(arguments: str, expected: Node | None) -> None:
    assert value(graph_of([]), f"REPLACE({arguments})") == expected


def test_explosive_patterns_end() -> None:
    graph = graph_of([Literal("a" * 60 + "!")])
    conditions = 'REGEX(?o, "(a|aa)+$")', '!REGEX(?o, "(a|aa)+$")', 'REPLACE(?o, "(a|aa)+b", "") = ?o'
    with at_most(400):
        for condition in conditions:
            assert len(kept(graph, condition)) == (not condition.startswith("REGEX"))
        assert not graph.query(f'ASK {{ FILTER REGEX("{"a" * 30}!", "(a+)+$") }}').askAnswer


@pytest.mark.parametrize(
    "condition",
    ['REGEX(?o, "(a|aa)+\\\\1c")', '!REGEX(?o, "(a|aa)+\\\\1c")', 'REPLACE(?o, "(a|aa)+\\\\1c", "") = ""'],
)
def test_a_match_without_end_is_raised(condition: str) -> None:
    graph = graph_of([Literal("a" * 60)])
    with pytest.raises(LimitExceeded, match=r"in 1 s"):
        kept(graph, condition)


def test_a_pattern_that_is_too_large_is_raised() -> None:
    graph = graph_of([Literal("a")])
    for condition in ('REGEX(?o, "(a{1000}){1000}")', '!REGEX(?o, "(a{1000}){1000}")'):
        with pytest.raises(PatternTooLarge):
            kept(graph, condition)


def test_a_rule_whose_match_does_not_end() -> None:
    """The state is what it was before."""
    graph = graph_of([Literal("abab")])
    store = graph.store
    assert isinstance(store, CorollaryStore)
    store.add_rules('[?s, <urn:q>, ?v] :- [?s, <urn:p>, ?v], FILTER(REGEX(?v, "(a|ab|aa)+\\\\1$")) .')
    inferred = (URIRef("urn:0"), URIRef("urn:q"), Literal("abab"))
    assert inferred in graph
    graph.add((URIRef("urn:1"), P, Literal("a" * 60 + "c")))
    with pytest.raises(LimitExceeded):
        list(graph)
    graph.remove((URIRef("urn:1"), P, None))
    assert set(graph) == {(URIRef("urn:0"), P, Literal("abab")), inferred}


def test_surrogates_in_data() -> None:
    texts = [Literal("a\ud800"), *(Literal(f"b{number}") for number in range(2 * MAX_TEXTS_TRIED_FIRST))]
    graph = graph_of(texts)
    assert kept(graph, 'REGEX(?o, "^.7?.$")') >= {texts[0], Literal("b7"), Literal("b77")}
