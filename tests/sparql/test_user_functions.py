"""Functions that users register with a store: of terms, and of columns, alone and in larger expressions."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import compute
from rdflib import RDF, XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.plugins.sparql.operators import register_custom_function, unregister_custom_function
from rdflib.plugins.sparql.sparql import SPARQLError

from corollary.language import CorollaryError
from corollary.sparql import expressions
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
F = EX.f

TERMS: list[Any] = [
    EX.a,
    BNode("b"),
    Literal("café"),
    Literal('say "it"\n'),
    Literal("tag", lang="en"),
    Literal(""),
    Literal(3),
    Literal(-7),
    Literal(2.5),
    Literal(1e300),
    Literal("INF", datatype=XSD.double),
    Literal(Decimal("0.25")),
    Literal(10**30),
    Literal("7", datatype=XSD.byte),
    Literal("x", datatype=XSD.integer),
    Literal(True),
    Literal(datetime.date(2026, 1, 2)),
    Literal("odd", datatype=EX.type),
]


@pytest.fixture(params=[1, 10**9], ids=["columns", "terms"], autouse=True)
def few_terms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Evaluate on columns wherever that is possible, or on terms only."""
    monkeypatch.setattr(expressions, "MIN_TERMS_ON_COLUMNS", request.param)
    least: int = request.param
    return least


def graph_of(terms: list[Any]) -> tuple[Graph, CorollaryStore]:
    store = CorollaryStore(rules="none")
    graph = Graph(store)
    for number, term in enumerate(terms):
        graph.add((EX[f"s{number}"], EX.p, term))
    return graph, store


def values(graph: Graph, expression: str) -> dict[Any, Any]:
    """The value of the expression for each ?o; None where it is an error."""
    rows = graph.query(f"SELECT ?o ?v {{ ?s <{EX.p}> ?o BIND({expression} AS ?v) }}")
    return {row.o: row.v for row in rows}  # type: ignore[union-attr]


def exactly(found: dict[Any, Any]) -> dict[Any, Any]:
    """As texts with datatypes: rdflib takes equal values for equal terms."""
    return {key.n3(): None if value is None else value.n3() for key, value in found.items()}


def test_texts_are_those_of_str() -> None:
    graph, store = graph_of(TERMS)
    store.register_function(F, lambda texts: compute.utf8_length(texts), vectorised=True)
    expected = {t: Literal(len(str(t))) for t in TERMS}
    assert exactly(values(graph, f"<{F}>(?o)")) == exactly(expected)
    assert values(graph, f"<{F}>(?o)") == values(graph, "STRLEN(STR(?o))")


def test_numbers_are_floats() -> None:
    graph, store = graph_of(TERMS)
    store.register_function(F, np.negative, vectorised=True, takes="numbers")
    found = values(graph, f"<{F}>(?o)")
    numbers = [t for t in TERMS if isinstance(t, Literal) and t.datatype in {*_NUMERIC} and not t.ill_typed]
    assert {t.n3() for t, v in found.items() if v is not None} == {t.n3() for t in numbers}
    for term in numbers:
        assert found[term] == Literal(-float(term.value)) and found[term].datatype == XSD.double


_NUMERIC = (XSD.integer, XSD.decimal, XSD.double, XSD.float, XSD.byte)


RESULTS = [
    ([True, False, None], [Literal(True), Literal(False), None]),
    ([1, -(2**40), None], [Literal(1), Literal(-(2**40)), None]),
    ([2**62, -(2**62), 0], [Literal(2**62), Literal(-(2**62)), Literal(0)]),
    (np.array([2**63, 1, 0], np.uint64), [Literal(2**63), Literal(1), Literal(0)]),
    (np.array([0.5, np.nan, np.inf]), [Literal(0.5), Literal(float("nan")), Literal(float("inf"))]),
    (np.array([1, 2, 3], np.uint8), [Literal(1), Literal(2), Literal(3)]),
    (["é", "", 'a"b'], [Literal("é"), Literal(""), Literal('a"b')]),
    (pyarrow.array(["x", "y", "x"]).dictionary_encode(), [Literal("x"), Literal("y"), Literal("x")]),
    (pyarrow.chunked_array([["x"], ["y", None]]), [Literal("x"), Literal("y"), None]),
    ([datetime.date(2026, 1, 2)] * 3, [Literal(datetime.date(2026, 1, 2))] * 3),
    ([Decimal("1.50"), None, Decimal(2)], [Literal(Decimal("1.50")), None, Literal(Decimal("2.00"))]),
    ([None, None, None], [None, None, None]),
]


@pytest.mark.parametrize(("returned", "expected"), RESULTS, ids=[str(n) for n in range(len(RESULTS))])
def test_what_columns_become(returned: Any, expected: list[Any]) -> None:
    graph, store = graph_of([Literal(text) for text in "abc"])
    column = pyarrow.array(returned) if isinstance(returned, list | np.ndarray) else returned
    store.register_function(
        F, lambda texts: column.take(pyarrow.array("abc".index(t.as_py()) for t in texts)), vectorised=True
    )
    found = values(graph, f"<{F}>(?o)")
    assert [None if (v := found[Literal(t)]) is None else v.n3() for t in "abc"] == [
        None if e is None else e.n3() for e in expected
    ]


def test_functions_of_terms() -> None:
    graph, store = graph_of(TERMS)
    calls: list[Any] = []

    def kind(term: Any) -> Any:
        calls.append(term)
        return None if isinstance(term, BNode) else RDF.type if isinstance(term, URIRef) else len(term)

    store.register_function(F, kind)
    found = values(graph, f"<{F}>(?o)")
    assert found[EX.a] == RDF.type and found[Literal("café")] == Literal(4)
    assert [key for key, value in found.items() if value is None] == [t for t in TERMS if t == BNode("b")]
    assert len(calls) == len(TERMS)


def test_equal_terms_are_asked_for_once() -> None:
    graph, store = graph_of([])
    graph.addN((EX[f"s{n}"], EX.p, Literal(n % 3), graph) for n in range(3000))
    sizes: list[int] = []

    def halved(numbers: Any) -> Any:
        sizes.append(len(numbers))
        return np.asarray(numbers) / 2

    store.register_function(F, halved, vectorised=True, takes="numbers")
    (row,) = graph.query(f"SELECT (SUM(<{F}>(?o)) AS ?sum) {{ ?s <{EX.p}> ?o }}")
    assert row.sum == Literal(1500.0)  # type: ignore[union-attr]
    assert sizes == [3]


def test_several_arguments_and_larger_expressions() -> None:
    graph, store = graph_of([Literal(3), Literal(4), Literal("no")])
    store.register_function(F, np.hypot, vectorised=True, takes="numbers")
    store.register_function(EX.twice, lambda texts: [2 * text.as_py() for text in texts], vectorised=True)
    wanted = f"SELECT ?o {{ ?s <{EX.p}> ?o FILTER(<{F}>(?o, ?o + 1) >= 5 && !(<{F}>(?o, 4) = 5.0)) }}"
    assert [row.o for row in graph.query(wanted)] == [Literal(4)]  # type: ignore[union-attr]
    found = values(graph, f"CONCAT(<{EX.twice}>(STR(?o)), '!')")
    assert found == {Literal(3): Literal("33!"), Literal(4): Literal("44!"), Literal("no"): Literal("nono!")}
    found = values(graph, f"COALESCE(<{F}>(?o, 'x'), IF(<{F}>(3, 4) = 5, 'five', ?o))")
    assert set(found.values()) == {Literal("five")}
    rows = graph.query(f"SELECT ?o {{ ?s <{EX.p}> ?o }} ORDER BY DESC(<{EX.twice}>(?o)) LIMIT 1")
    assert [row.o for row in rows] == [Literal("no")]  # type: ignore[union-attr]


def test_scalars_of_numpy() -> None:
    graph, store = graph_of([Literal(9)])
    store.register_function(F, lambda term: np.sqrt(int(term)))
    store.register_function(EX.whole, lambda term: np.int64(term))
    assert exactly(values(graph, f"<{F}>(?o)")) == exactly({Literal(9): Literal(3.0)})
    assert exactly(values(graph, f"<{EX.whole}>(?o)")) == exactly({Literal(9): Literal(9)})


def test_without_arguments() -> None:
    graph, store = graph_of([Literal(1)])
    store.register_function(F, lambda: 7)
    assert values(graph, f"<{F}>()") == {Literal(1): Literal(7)}
    store.register_function(F, lambda: [8], vectorised=True)
    assert values(graph, f"<{F}>()") == {Literal(1): Literal(8)}


def test_updates_call_it_too() -> None:
    graph, store = graph_of([Literal("a")])
    store.register_function(F, compute.utf8_upper, vectorised=True)
    graph.update(f"INSERT {{ ?s <{EX.q}> ?v }} WHERE {{ ?s <{EX.p}> ?o BIND(<{F}>(?o) AS ?v) }}")
    assert graph.value(EX.s0, EX.q) == Literal("A")


def _rdflibs(*_: Any) -> Any:
    return Literal("rdflib")


@pytest.fixture
def of_rdflib() -> Iterator[None]:
    register_custom_function(F, _rdflibs)
    register_custom_function(EX.raw, _rdflibs, raw=True)  # one that looks into rdflib's evaluation
    yield
    unregister_custom_function(F)
    unregister_custom_function(EX.raw)


@pytest.mark.usefixtures("of_rdflib")
def test_it_comes_before_rdflibs_and_belongs_to_one_store() -> None:
    (graph, store), (other, _) = graph_of([Literal("a")]), graph_of([Literal("a")])
    store.register_function(F, lambda term: "own")
    assert values(graph, f"<{F}>(?o)") == {Literal("a"): Literal("own")}
    assert values(other, f"<{F}>(?o)") == {Literal("a"): Literal("rdflib")}
    store.register_function(EX.raw, lambda term: "own, too")
    assert values(graph, f"<{EX.raw}>(?o)") == {Literal("a"): Literal("own, too")}
    store.register_function(F, lambda texts: ["newer"] * len(texts), vectorised=True)
    assert values(graph, f"<{F}>(?o)") == {Literal("a"): Literal("newer")}


@pytest.mark.parametrize("vectorised", [False, True])
@pytest.mark.parametrize("error", [TypeError("bad"), ZeroDivisionError("by zero"), SPARQLError("none")])
def test_what_it_raises_ends_the_query(error: Exception, vectorised: bool) -> None:
    graph, store = graph_of([Literal("a")])

    def failing(_: Any) -> Any:
        raise error

    store.register_function(F, failing, vectorised=vectorised)
    with pytest.raises(type(error), match=str(error)):
        list(graph.query(f"SELECT ?o {{ ?s <{EX.p}> ?o FILTER(<{F}>(?o)) }}"))


def test_a_function_that_is_not_implemented_hands_nothing_on() -> None:
    graph, store = graph_of([Literal("a")])
    store.register_function(F, compute.sqrt, vectorised=True)  # of a column of texts
    with pytest.raises(RuntimeError, match="Function 'sqrt' has no kernel"):
        list(graph.query(f"SELECT ?o {{ ?s <{EX.p}> ?o FILTER(<{F}>(?o)) }}"))


@pytest.mark.parametrize(
    ("function", "vectorised", "message"),
    [
        (lambda texts: ["a", "b"], True, r"<http://example.org/f> returned 2 values for 1 rows"),
        (lambda texts: object(), True, r"returned object, and a column was expected"),
        (lambda texts: "a", True, r"returned str, and a column was expected"),
        (lambda texts: [{"a": 1}], True, r"which is no term"),
        (lambda term: object(), False, r"which is no term"),
    ],
)
def test_what_is_no_value(function: Any, vectorised: bool, message: str) -> None:
    graph, store = graph_of([Literal("one")])
    store.register_function(F, function, vectorised=vectorised)
    with pytest.raises(CorollaryError, match=message):
        list(graph.query(f"SELECT ?v {{ ?s <{EX.p}> ?o BIND(<{F}>(?o) AS ?v) }}"))


def test_other_columns() -> None:
    with pytest.raises(ValueError, match="'words': choose 'texts' or 'numbers'"):
        CorollaryStore().register_function(F, len, vectorised=True, takes="words")  # type: ignore[arg-type]


@given(st.lists(st.sampled_from(TERMS), min_size=1, max_size=6), st.booleans())
def test_columns_and_terms_agree(terms: list[Any], with_numbers: bool) -> None:
    """What a vectorised function gives does not depend on the other rows."""
    graph, store = graph_of(terms)
    function = np.sqrt if with_numbers else compute.utf8_reverse
    store.register_function(F, function, vectorised=True, takes="numbers" if with_numbers else "texts")
    found = exactly(values(graph, f"<{F}>(?o)"))
    for term in set(terms):
        alone, own = graph_of([term])
        own.register_function(F, function, vectorised=True, takes="numbers" if with_numbers else "texts")
        assert exactly(values(alone, f"<{F}>(?o)")).items() <= found.items()


def test_an_end_of_iteration_ends_the_query_and_not_its_rows() -> None:
    graph, store = graph_of(TERMS)

    def first(value: Any) -> Any:
        return next(iter(()))

    register_custom_function(EX.first, first)  # type: ignore[arg-type]
    try:
        for name, vectorised in ((F, False), (F, True), (EX.first, None)):
            if vectorised is not None:
                store.register_function(str(name), first, vectorised=vectorised)
            for text in ("FILTER({0}(?x))", "FILTER(COALESCE({0}(?x), true))", "BIND({0}(?x) AS ?y)"):
                pattern = f"{{ ?s ?p ?x {text.format(name.n3())} }}"
                with pytest.raises(RuntimeError, match="StopIteration"):
                    list(graph.query(f"SELECT * {pattern}"))
                with pytest.raises(RuntimeError, match="StopIteration"):
                    graph.query(f"ASK {pattern}")
    finally:
        unregister_custom_function(EX.first, first)
