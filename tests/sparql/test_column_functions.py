"""Expressions evaluated on columns, against the evaluation term by term: the same terms, bit for bit."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings
from rdflib import RDF, RDFS, XSD, BNode, Graph, Literal, URIRef
from rdflib.term import Node
from tests.strategies import examples

from corollary.sparql import aggregates, column_values, expressions, term_order
from corollary.sparql.column_times import _of_days
from corollary.sparql.column_values import Numbers
from corollary.store import CorollaryStore

TEXTS = [
    *("Alpha", "beta x", "ünïcode", 'a "quote"', "back\\slash", "line\nbreak", "", "a", "İstanbul", "ΣΑΣ"),
    *("ß", "e\u0301", "😀a", "1", "-0", "x" * 40, "a,b;c", "\x7f\t"),
]
IRIS = [URIRef(f"http://example.org/{name}") for name in ("Alpha", "a", "é")]

WRITTEN = {
    XSD.integer: [
        "7",
        "-3",
        "007",
        "+5",
        "5.",
        "abc",
        "9007199254740993",
        "0",
        "-0",
        "9" * 18,
        "9" * 30,
        " 4",
    ],
    XSD.int: ["7", "x"],
    XSD.byte: ["300"],
    XSD.decimal: [
        "1.5",
        "2.50",
        "-3",
        "1e3",
        ".5",
        "-0.0",
        "0.10",
        "2.5",
        "-2.5",
        "123456789.123456789",
        "1" * 30,
    ],
    XSD.double: ["1.5e0", "INF", "-1E2", "10", "x", "NaN", "-0.0", "0.1", "1e400", "2.5"],
    XSD.float: ["1.5", "0.1", "1e1", "-0"],
    XSD.boolean: ["true", "false", "1", "x"],
    XSD.date: ["2024-02-29", "2023-02-29", "1999-12-31", "2024-01-01Z", "0000-01-01", "-0044-03-15"],
    XSD.dateTime: [
        *("2024-02-29T10:20:30", "2024-02-29T10:20:30Z", "2024-02-29T12:20:30+02:00", "2023-12-31T24:00:00"),
        *("2024-02-29T10:20:30.5", "2024-02-29T10:20:30-05:30", "2024-13-01T00:00:00", "0001-01-01T00:00:00"),
        *("2024-02-29T10:20:30+00:00", "2024-02-29"),
    ],
    XSD.dayTimeDuration: ["P1D"],
}

terms: st.SearchStrategy[Node] = st.one_of(
    st.builds(Literal, st.sampled_from(TEXTS)),
    st.builds(Literal, st.text(max_size=6)),
    st.builds(Literal, st.sampled_from(TEXTS), lang=st.sampled_from(["en", "de", "en-US", "EN"])),
    st.builds(Literal, st.sampled_from(TEXTS), datatype=st.sampled_from([XSD.string, IRIS[0]])),
    st.sampled_from([(t, d) for d, texts in WRITTEN.items() for t in texts]).map(
        lambda pair: Literal(pair[0], datatype=pair[1], normalize=False)
    ),
    st.integers().map(Literal),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(Literal),
    st.floats(allow_nan=False, allow_infinity=False).map(Literal),
    st.sampled_from([*IRIS, BNode("b")]),
)

constants = st.sampled_from(
    [
        *('""', '"a"', '"a"@en', '"é"', "7", "-3", "2.50", "1.5e0", "0", "true", "<http://example.org/a>"),
        *(f'"2024-02-29T10:20:30"^^<{XSD.dateTime}>', f'"2024-02-29"^^<{XSD.date}>'),
    ]
)
leaves = st.one_of(st.sampled_from(["?a", "?a", "?b"]), constants)


def calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Operators and functions of expressions."""
    one = ["ABS", "CEIL", "FLOOR", "ROUND", "STRLEN", "UCASE", "LCASE", "STR", "LANG", "DATATYPE", "MD5"]
    one += ["SHA1", "SHA256"]
    one += ["YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TZ", "ENCODE_FOR_URI"]
    one += ["ISIRI", "ISLITERAL", "ISBLANK", "ISNUMERIC", "!", "-"]
    one += [f"<{XSD[name]}>" for name in ("double", "float", "decimal", "integer", "boolean", "string")]
    text = st.sampled_from(['"a"', '"e"', '"ß"', '"/"', '""'])
    return st.one_of(
        st.builds("{}({})".format, st.sampled_from(one), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "&&", "||"]), inner),
        st.builds(
            "{}({}, {})".format,
            st.sampled_from(["CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER"]),
            inner,
            text,
        ),
        st.builds("SUBSTR({}, {}, {})".format, inner, st.integers(1, 4), st.integers(0, 3)),
        st.builds("SUBSTR({}, {})".format, inner, st.integers(1, 4)),
        st.builds("REPLACE({}, {}, {})".format, inner, st.sampled_from(['"a"', '"[0-9]"']), text),
        st.builds(
            "REPLACE({}, {})".format,
            inner,
            st.sampled_from(
                [
                    *('"[^a-z]", "$0$0"', '"s", "é", "i"', '"(.)(a?)", "<$2$1>"', '"a|l", "\\\\\\\\"'),
                    *('".*", ""', '"[\\\\s/]", ""', '".", "x", "q"', '"^.", "-", "m"'),
                ]
            ),
        ),
        st.builds(
            "REGEX({}, {})".format,
            inner,
            st.sampled_from(['"^a"', '"L", "i"', '"(.)\\\\1"', '"$", "m"', '"[a-c]b*"']),
        ),
        st.builds("CONCAT({}, {})".format, inner, inner),
        st.builds("SAMETERM({}, {})".format, inner, inner),
        st.builds("IF({}, {}, {})".format, inner, inner, inner),
        st.builds("COALESCE({}, {})".format, inner, inner),
        st.builds("({} IN ({}, {}))".format, inner, inner, inner),
        st.builds("({} NOT IN ({}, {}))".format, inner, inner, inner),
        st.builds("LANGMATCHES(LANG({}), {})".format, inner, st.sampled_from(['"EN"', '"*"', '"en-US"'])),
        st.builds("BOUND({})".format, st.sampled_from(["?a", "?b", "?c"])),
    )


any_expression = st.recursive(leaves, calls, max_leaves=4).filter(lambda text: "?" in text)


def written(term: Any) -> Any:
    """What distinguishes terms: the kind, the characters, the datatype, the language."""
    return term if term is None else (type(term), str(term), getattr(term, "datatype", None), _tag(term))


def _tag(term: Any) -> Any:
    return (getattr(term, "language", None) or "").lower()


def graph_of(data: list[tuple[Node, Node]]) -> Graph:
    graph = Graph(CorollaryStore(rules="none"))
    for number, (one, other) in enumerate(data):
        graph.add((URIRef(f"urn:x:{number}"), RDFS.label, one))
        graph.add((URIRef(f"urn:x:{number}"), RDF.value, other))
    return graph


def rows(graph: Graph, query: str, *, on_columns: bool) -> Any:
    """The rows of a query, or the exception."""
    with pytest.MonkeyPatch.context() as patch:
        least = 1 if on_columns else 1 << 40
        patch.setattr(expressions, "MIN_TERMS_ON_COLUMNS", least)
        patch.setattr(column_values, "MIN_TERMS_ON_COLUMNS", least)
        patch.setattr(expressions, "ROWS_ON_COLUMNS_AT_ONCE", 3)
        patch.setattr(aggregates, "MIN_USES_OF_RANKS", least)
        patch.setattr(term_order, "MIN_USES_OF_RANKS", least)
        if not on_columns:
            patch.setattr(aggregates, "_of_values", lambda *_: None)
            patch.setattr(expressions.Expressions, "numbers", lambda *_: None)
        try:
            result: Any = graph.store.query(query, {}, {}, graph.identifier)  # not handed back
            return [tuple(map(written, row)) for row in result]
        except Exception as problem:
            return type(problem)


PATTERN = f"?s <{RDFS.label}> ?a ; <{RDF.value}> ?b"


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.tuples(terms, terms), min_size=1, max_size=8), any_expression)
def test_values_on_columns_are_those_of_terms(data: list[tuple[Node, Node]], expression: str) -> None:
    graph = graph_of(data)
    query = f"SELECT ?s ?v {{ {PATTERN} BIND({expression} AS ?v) }}"
    expected = rows(graph, query, on_columns=False)
    if isinstance(expected, list):  # rdflib's functions fail in ways of their own
        assert rows(graph, query, on_columns=True) == expected


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(terms, terms), min_size=1, max_size=8), any_expression)
def test_filters_on_columns_are_those_of_terms(data: list[tuple[Node, Node]], expression: str) -> None:
    graph = graph_of(data)
    query = f"SELECT ?s {{ {PATTERN} FILTER({expression}) }}"
    expected = rows(graph, query, on_columns=False)
    if isinstance(expected, list):
        assert rows(graph, query, on_columns=True) == expected


numbers_only = st.one_of(
    st.integers(-5, 5).map(Literal),
    st.decimals(-5, 5, places=2).map(Literal),
    st.sampled_from([Literal(text, datatype=XSD.decimal, normalize=False) for text in ("1.50", "2", "0.1")]),
)
floats_only = st.floats(-5, 5).map(Literal)
groups = st.sampled_from([Literal("a"), Literal("b")])


@settings(max_examples=examples(300), deadline=None)
@given(
    st.one_of(
        st.lists(st.tuples(numbers_only, groups), min_size=1, max_size=8),
        st.lists(st.tuples(floats_only, groups), min_size=1, max_size=8),
        st.lists(st.tuples(terms, groups), min_size=1, max_size=6),
    ),
    st.sampled_from(["SUM", "AVG", "MIN", "MAX", "SUM(DISTINCT", "COUNT(DISTINCT", "SAMPLE", "GROUP_CONCAT"]),
    st.sampled_from(
        [
            *("?a", "?a", "?a + 1", "?a * ?a", "?a / 3", "2 / ?a", "?a / 1e1", "STRLEN(?a)", "ABS(?a)"),
            *("CEIL(?a)", "YEAR(?a)", "UCASE(?a)", "MD5(?a)", "STR(?a)", "?a < 2"),
        ]
    ),
)
@example(
    [(Literal(Decimal(0)), Literal("a")), (Literal(1.0000000000000002e28), Literal("a"))], "SUM", "CEIL(?a)"
)
@example([(Literal(0.0), Literal("a"))], "AVG", "STR(?a)")
@example([(Literal("x"), Literal("a")), (Literal(2), Literal("a"))], "AVG", "COALESCE(?a, ?b)")
def test_aggregates_on_columns_are_those_of_terms(
    data: list[tuple[Node, Node]], function: str, argument: str
) -> None:
    graph = graph_of(data)
    call = f"{function} {argument})" if "(" in function else f"{function}({argument})"
    query = f"SELECT ?b ({call} AS ?v) {{ {PATTERN} }} GROUP BY ?b"
    expected = rows(graph, query, on_columns=False)
    if isinstance(expected, list):
        assert rows(graph, query, on_columns=True) == expected


@settings(max_examples=examples(300), deadline=None)
@given(
    st.one_of(
        st.lists(st.tuples(numbers_only, groups), min_size=1, max_size=8),
        st.lists(st.tuples(floats_only, groups), min_size=1, max_size=8),
        st.lists(
            st.tuples(
                st.sampled_from([Literal(t, datatype=XSD.dateTime) for t in WRITTEN[XSD.dateTime]]), groups
            ),
            min_size=1,
            max_size=6,
        ),
        st.lists(st.tuples(st.builds(Literal, st.sampled_from(TEXTS)), groups), min_size=1, max_size=8),
    ),
    st.sampled_from(
        ["?a", "DESC(?a)", "(?a * 2)", "DESC(?a / 3)", "LCASE(?a)", "STR(?a)", "?b DESC(?a)", "YEAR(?a)"]
    ),
)
def test_orders_on_columns_are_those_of_terms(data: list[tuple[Node, Node]], key: str) -> None:
    graph = graph_of(data)
    query = f"SELECT ?s {{ {PATTERN} }} ORDER BY {key} ?s"
    expected = rows(graph, query, on_columns=False)
    if isinstance(expected, list):
        assert rows(graph, query, on_columns=True) == expected


def test_conditions_of_updates_are_evaluated() -> None:
    """rdflib marks the expressions of updates with their variables."""
    graph = graph_of([(Literal(f"name {number}"), Literal(number)) for number in range(100)])
    graph.update(
        f"DELETE {{ ?s ?p ?o }} WHERE {{ {PATTERN} . ?s ?p ?o FILTER(STRLEN(CONCAT(STR(?a), STR(?b))) < 8) }}"
    )
    assert len(graph) == 180


@pytest.mark.parametrize(
    "argument", ["?a", "STR(?a)", "DISTINCT ?a", "DISTINCT STR(?a)", "CONCAT(STR(?a), ?c)"]
)
def test_blank_nodes_are_concatenated_on_columns(argument: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [BNode("x"), URIRef("x"), Literal("x"), Literal('"\n'), Literal("é"), BNode("y"), BNode("x")]
    graph = graph_of([(value, Literal(number % 2)) for number, value in enumerate(values)])
    bind = 'BIND("," AS ?c)'
    query = f"SELECT ?b (GROUP_CONCAT({argument}) AS ?t) {{ {PATTERN} {bind} }} GROUP BY ?b"
    expected = rows(graph, query, on_columns=False)
    monkeypatch.setattr(aggregates, "_of_members", None)  # not called
    assert rows(graph, query, on_columns=True) == expected
    assert len(expected) == 2


@pytest.mark.parametrize("asked", ["STR(?a)", "STRLEN(STR(?a))", "GROUP_CONCAT(?a)"])
def test_iris_have_no_escapes(asked: str) -> None:
    """rdflib takes backslashes in IRIs."""
    graph = graph_of(
        [(URIRef(rf"http://example.org/{end}"), Literal(1)) for end in (r"\u0041", r"\n", r"\x")]
    )
    query = f"SELECT ({asked} AS ?t) {{ {PATTERN} }} GROUP BY ?a"
    assert rows(graph, query, on_columns=True) == rows(graph, query, on_columns=False)


@pytest.mark.parametrize("distance", [1, 12, 400])
def test_parts_of_days_near_and_far_apart(distance: int) -> None:
    days = np.arange(-900, 900, dtype=np.int64) * distance
    dates = [date(1970, 1, 1) + timedelta(int(day)) for day in days]
    both = np.concatenate((days, days[::-1]))
    for name in ("YEAR", "MONTH", "DAY"):
        found = _of_days(name, both).tolist()
        expected = [getattr(each, name.lower()) for each in dates]
        assert found == expected + expected[::-1]
    assert not _of_days("YEAR", days[:0]).size


@pytest.mark.parametrize("scales", [[2], [0, 2, 9]])
def test_decimals_of_repeated_values(scales: list[int]) -> None:
    values = np.array([7, -7, 0, 7, 10**17, 7, -7] * 3, np.int64)
    scale = np.array((scales * values.size)[: values.size], np.int16)
    no = np.zeros(values.size, np.bool_)
    found = Numbers(no, no, np.full(values.size, 4, np.uint8), values, scale).decimals()
    expected = [f"{Decimal(v).scaleb(-s)}" for v, s in zip(values.tolist(), scale.tolist(), strict=True)]
    assert list(map(str, found)) == expected


@pytest.mark.parametrize("rows", [2, 200])
@pytest.mark.parametrize(
    ("expression", "term", "value"),
    [
        *(
            (f"{name}", Literal("Ab", lang="en-US"), Literal(text, lang="en-US"))
            for name, text in (
                ("UCASE(?o)", "AB"),
                ("LCASE(?o)", "ab"),
                ("SUBSTR(?o, 2)", "b"),
                ("STRBEFORE(?o, 'b')", "A"),
                ("REPLACE(?o, 'b', 'c')", "Ac"),
            )
        ),
        ("ABS(FLOOR(?o))", Literal(Decimal("-2.5")), Literal(Decimal("3"))),
        ("-CEIL(?o)", Literal(Decimal("2.5")), Literal(Decimal("-3"))),
        ("DATATYPE(ABS(ROUND(?o)))", Literal(Decimal("0.1")), XSD.decimal),
    ],
)
def test_values_do_not_depend_on_the_number_of_rows(
    expression: str, term: Node, value: Node, rows: int
) -> None:
    graph = Graph(CorollaryStore(rules="none"))
    for number in range(rows):
        graph.add((URIRef(f"urn:{number}"), RDFS.label, term))
    found = {row[0] for row in graph.query(f"SELECT ({expression} AS ?v) {{ ?s ?p ?o }}")}  # type: ignore[index]
    assert {term.n3() for term in found} == {value.n3()}


POOLS: tuple[list[Any], ...] = (
    [Literal(number) for number in (-1, 0, 1, 7, 10**17)] + [Literal("01", datatype=XSD.integer)],
    [Literal("a"), Literal("b", lang="en"), Literal(""), *IRIS],
    [Literal(1), Literal(Decimal("1.0")), Literal(1.0), Literal("1"), Literal("x", datatype=XSD.integer)],
)


@settings(max_examples=examples(50), deadline=None)
@given(st.data())
def test_members_are_those_that_are_equal(data: st.DataObject) -> None:
    """IN with constants is the disjunction of equalities, whatever is compared."""
    pools = st.sampled_from((*POOLS, [term for pool in POOLS for term in pool]))
    terms = data.draw(st.lists(st.sampled_from(data.draw(pools)), min_size=1))
    members = data.draw(st.lists(st.sampled_from(data.draw(pools)), min_size=1, max_size=6))
    graph = Graph(CorollaryStore(rules="none"))
    for number, term in enumerate(terms):
        graph.add((URIRef(f"urn:{number}"), RDFS.label, term))
        graph.add((URIRef(f"urn:{number}"), RDFS.seeAlso, URIRef("urn:unlabelled")))
    texts = [term.n3() for term in members]
    ways = f"?o IN ({', '.join(texts)})", " || ".join(f"?o = {text}" for text in texts)
    pattern = "{ ?s ?q ?u OPTIONAL { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?o } }"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expressions, "MIN_TERMS_ON_COLUMNS", 1)
        for sign in ("", "!"):
            one, other = (
                sorted(map(str, graph.query(f"SELECT ?s ({sign}({way}) AS ?v) {pattern}"))) for way in ways
            )
            assert one == other
