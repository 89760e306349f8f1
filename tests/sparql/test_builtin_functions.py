"""Operators and functions on terms against rdflib's, and what Python's exceptions become."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import pyoxigraph
import pytest
from hypothesis import example, given, settings
from rdflib import XSD, BNode, Graph, Literal, URIRef
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.sparql import FrozenBindings, QueryContext, SPARQLError
from rdflib.term import Node, Variable
from tests.strategies import examples

from corollary.expressions.operators import ExpressionError
from corollary.sparql.from_rdflib import query_of
from corollary.sparql.term_evaluation import Environment, evaluated
from corollary.store import CorollaryStore

TERMS: list[Node] = [
    *(Literal(text) for text in ("", "abc", "b", "Äb c", "en-US", "2", "1e1", "true", "2011-01-10")),
    *(Literal(text, lang="en") for text in ("abc", "B")),
    Literal("abc", lang="fr"),
    *(Literal(text, datatype=XSD.string) for text in ("abc", "c", "1.5")),
    *(Literal(number, datatype=XSD.integer) for number in (0, -3, 2, 10**20)),
    *(Literal(number, datatype=kind) for number in ("1", "-2") for kind in (XSD.int, XSD.byte)),
    *(Literal(number, datatype=XSD.decimal) for number in ("0.0", "2.5", "-2.5", "1.10")),
    *(Literal(number, datatype=XSD.double) for number in ("0.0e0", "2.5e0", "-1e300", "INF", "NaN")),
    *(Literal(number, datatype=XSD.float) for number in ("0.1", "1.5")),
    *(Literal(truth) for truth in (True, False)),
    *(Literal(f"2011-01-10T14:45:13.815{zone}", datatype=XSD.dateTime) for zone in ("", "Z", "-05:00")),
    Literal("2011-02-01T00:00:00", datatype=XSD.dateTime),
    Literal("2011-02-01", datatype=XSD.date),
    Literal("14:45:13", datatype=XSD.time),
    *(Literal(text, datatype=XSD.dayTimeDuration) for text in ("P1D", "PT2H", "-PT2H")),
    Literal("P1Y", datatype=XSD.yearMonthDuration),
    *(Literal(text, datatype=URIRef("urn:d")) for text in ("abc", "1")),
    URIRef("http://example.org/a"),
    URIRef("relative"),
    BNode("b"),
]

ONE = [
    *("STR", "LANG", "DATATYPE", "IRI", "ABS", "CEIL", "FLOOR", "ROUND", "STRLEN", "UCASE", "LCASE"),
    *("ENCODE_FOR_URI", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ"),
    *("MD5", "SHA1", "SHA256", "SHA384", "SHA512", "isIRI", "isBLANK", "isLITERAL", "isNUMERIC", "CONCAT"),
    *(
        f"<{XSD[name]}>"
        for name in ("string", "dateTime", "float", "double", "decimal", "integer", "boolean")
    ),
]
TWO = [
    *("LANGMATCHES", "CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER", "STRLANG", "STRDT"),
    *("sameTerm", "CONCAT", "COALESCE"),
]
EXPRESSIONS = [
    *(f"{name}(?a)" for name in ONE),
    *(f"{name}(?a, ?b)" for name in TWO),
    *(f"?a {symbol} ?b" for symbol in ("=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/")),
    *(
        "-(?a)",
        "+(?a)",
        "!(?a)",
        "?a && ?b",
        "?a || ?b",
        "IF(?a, ?b, 1)",
        "SUBSTR(?a, 2)",
        "SUBSTR(?a, 1, 2)",
    ),
]


def translated(expression: str) -> tuple[Any, Any]:
    """An expression as rdflib has it, and in the algebra."""
    prepared = prepareQuery(f"SELECT (({expression}) AS ?x) {{ }}")
    own: Any = query_of(prepared).pattern
    return prepared.algebra.p.p.expr, own.inner.value


TRANSLATED = {expression: translated(expression) for expression in EXPRESSIONS}


def own_value(expression: Any, row: dict[Variable, Node]) -> Node | None:
    try:
        return evaluated(expression, Environment())(row)
    except ExpressionError:
        return None


def others_value(expression: Any, row: dict[Variable, Node]) -> Node | None:
    """rdflib's value; None for any error."""
    try:
        found = expression.eval(FrozenBindings(QueryContext(), row))
    except Exception:
        return None
    return None if isinstance(found, SPARQLError) else found


A, B = Variable("a"), Variable("b")
DECIMAL_NAN = Literal("NaN", datatype=XSD.decimal)


@settings(max_examples=examples(600), deadline=None)
@given(st.sampled_from(EXPRESSIONS), st.sampled_from(TERMS), st.sampled_from(TERMS))
@example("TIMEZONE(?a)", Literal("2011-01-10T14:45:13-05:00", datatype=XSD.dateTime), Literal(1))
@example("?a + ?b", Literal("1", datatype=XSD.int), Literal("1", datatype=XSD.int))
@example("?a * ?b", Literal(1.5), Literal(2))
def test_values_are_those_of_rdflib(expression: str, a: Node, b: Node) -> None:
    is_truth = any(symbol in expression for symbol in ("!(", "&&", "||", "IF("))
    if is_truth and any(isinstance(term, Literal) and term.value != term.value for term in (a, b)):
        return  # NaN is true in rdflib
    if "#string>(" in expression and isinstance(a, Literal) and a.language:
        return  # rdflib keeps the tag beside a datatype
    others, own = TRANSLATED[expression]
    row = {A: a, B: b}
    found, expected = own_value(own, row), others_value(others, row)
    if expected is None or str(expected) in ("Infinity", "-Infinity") or expected == DECIMAL_NAN:
        return  # an error of rdflib's may be a value, as in INF && true, and its decimals may be infinite
    assert isinstance(found, type(expected)) and found.n3() == expected.n3()


@pytest.mark.parametrize(
    ("expression", "a", "expected"),
    [
        ("isNUMERIC(?a)", Literal("x", datatype=XSD.integer), Literal(False)),
        ("?a + 1", Literal("x", datatype=XSD.integer), None),
        ("!(?a)", Literal("x", datatype=XSD.boolean), Literal(True)),
        ("isIRI(1 / 0)", Literal(1), None),
        ("sameTerm(?a, 1 / 0)", Literal(1), None),
        ("ROUND(?a)", Literal("INF", datatype=XSD.double), Literal("INF", datatype=XSD.double)),
        ("ROUND(?a)", Literal(1e300), Literal(int(1e300), datatype=XSD.double)),
        ("ROUND(?a)", Literal(10**40), Literal(10**40)),
        ("ROUND(?a)", Literal(Decimal("1" * 30 + ".5")), Literal(Decimal("1" * 29 + "2"))),
        ("ROUND(?a)", Literal(Decimal("-2.5")), Literal(Decimal(-2))),
        ("!(?a)", Literal("NaN", datatype=XSD.double), Literal(True)),
        ("!(?a)", Literal("x", datatype=XSD.integer), Literal(True)),
        ("?a IN (1, 2)", Literal("x", datatype=XSD.integer), None),
        ("?a - ?a", Literal("x", datatype=XSD.dateTime), None),
        ("<http://www.w3.org/2001/XMLSchema#decimal>(?a)", Literal("INF", datatype=XSD.double), None),
        ("<http://www.w3.org/2001/XMLSchema#decimal>(?a)", Literal("NaN"), None),
        ("<http://www.w3.org/2001/XMLSchema#string>(?a)", Literal("a", lang="en"), "a"),
        ("?a / 0e0", Literal(1.0), None),
        ("?a - ?a - ?a", Literal("2011-02-01T00:00:00", datatype=XSD.dateTime), None),
        ("SUBSTR(?a, 0, 2)", Literal("abc"), Literal("a")),
        ("SUBSTR(?a, 1.5, 1.5)", Literal("abc"), Literal("bc")),
        ("TIMEZONE(?a)", Literal("2011-01-10T14:45:13+05:30", datatype=XSD.dateTime), "PT5H30M"),
        ("<urn:none>(?a)", Literal(1), None),
        ("<http://www.w3.org/2001/XMLSchema#integer>(?a, 1)", Literal(1), None),
        ("YEAR(?a)", Literal("x", datatype=XSD.date), None),
    ],
)
def test_what_rdflib_has_no_value_for(expression: str, a: Node, expected: Any) -> None:
    found = own_value(translated(expression)[1], {A: a})
    assert (str(found) if isinstance(expected, str) and not isinstance(expected, Node) else found) == expected


def test_an_error_of_python_ends_no_query() -> None:
    """10 ** 400 is no float of Python: the other rows are found."""
    graph = Graph(CorollaryStore(rules="none"))
    for number, value in enumerate(
        (Literal(10**400), Literal(1), Literal("P9999999999D", datatype=XSD.dayTimeDuration))
    ):
        graph.add((URIRef(f"urn:{number}"), URIRef("urn:p"), value))
    assert len(graph.query("SELECT ?s { ?s ?p ?o FILTER(?o + 1.5e0 > 0) }")) == 1
    rows = list(graph.query("SELECT ?s (?o * 1.5e0 AS ?v) { ?s ?p ?o }"))
    assert [row[1] is None for row in sorted(rows)] == [False, False, True]  # type: ignore[index]


def test_the_filter_of_a_nested_group_sees_only_its_group() -> None:
    """The filter at the top of OPTIONAL sees the left side; one in a group within does not."""
    graph = Graph(CorollaryStore(rules="none"))
    graph.update(
        "INSERT DATA { <urn:a> <urn:title> 'A' ; <urn:price> 10 . <urn:b> <urn:title> 'B' ; <urn:price> 1 }"
    )
    top = "SELECT ?t ?p { ?x <urn:title> ?t OPTIONAL { ?x <urn:price> ?p FILTER(?t = 'A') } }"
    nested = "SELECT ?t ?p { ?x <urn:title> ?t OPTIONAL { { ?x <urn:price> ?p FILTER(?t = 'A') } } }"
    assert {tuple(map(str, row)) for row in graph.query(top)} == {("A", "10"), ("B", "None")}  # type: ignore[arg-type]
    assert {tuple(map(str, row)) for row in graph.query(nested)} == {("A", "None"), ("B", "None")}  # type: ignore[arg-type]
    joined = "SELECT ?t { ?x <urn:title> ?t { ?x <urn:price> ?p FILTER(?t = 'A') } }"
    assert not len(graph.query(joined))


@pytest.mark.parametrize("target", ["integer", "decimal", "double", "boolean"])
@pytest.mark.parametrize(
    "source", ["true", "false", "2", "0", "2.7", "-2.7", "0.0", "2.5e0", "-0.5e0", "1.5e-3", '"7"', '"x"']
)
def test_casts_have_the_values_of_the_recommendation(source: str, target: str) -> None:
    """The table of section 17.5, against pyoxigraph: rdflib casts texts, not values."""
    query = f"SELECT ?v {{ BIND(<{XSD[target]}>({source}) AS ?v) }}"
    (expected,) = [row[0] for row in pyoxigraph.Store().query(query)]  # type: ignore[union-attr]
    graph = Graph(CorollaryStore(rules="none"))
    found = [row.get(Variable("v")) for row in graph.query(query).bindings]
    if expected is None:
        assert found in ([], [None])
    else:
        assert [(str(term.datatype), term.value) for term in found] == [  # type: ignore[union-attr]
            (str(XSD[target]), Literal(expected.value, datatype=XSD[target]).value)
        ]
