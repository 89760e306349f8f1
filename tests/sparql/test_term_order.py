"""ORDER BY, MIN, MAX and GROUP_CONCAT on columns, against rdflib's comparisons and its accumulators."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from rdflib import XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.plugins.sparql.evalutils import _val
from rdflib.term import Node
from tests.strategies import examples

from corollary.sparql import aggregates, term_order
from corollary.sparql.builtin_functions import order_key, order_keys
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.rdf_terms import Terms
from corollary.sparql.term_order import ranks_by_class, ranks_of_keys, text_ranks
from corollary.sparql.tuning import KEYS_SORTED_AT_ONCE
from corollary.store import CorollaryStore
from corollary.terms.dictionary import TermDictionary

EX = Namespace("urn:x:")
WORDS = ["", "a", "A", "ab", "b c", "é", "\U0001f600", "\ufffd"]

texts: st.SearchStrategy[Node] = st.one_of(
    st.builds(Literal, st.sampled_from(WORDS), lang=st.sampled_from([None, None, "en", "de", "en-us"])),
    st.sampled_from(WORDS[1:]).map(lambda word: URIRef(f"urn:{word.replace(' ', '')}")),
)
others: st.SearchStrategy[Node] = st.sampled_from(
    [
        Literal(7),
        Literal("a", datatype=XSD.string),
        Literal("line\nbreak"),
        BNode("b"),
        Literal("x", lang="EN"),
    ]
)


numbers: st.SearchStrategy[Node] = st.sampled_from(
    [
        *(Literal(7), Literal("7.0", datatype=XSD.decimal), Literal("6.5", datatype=XSD.decimal)),
        *(Literal("+8", datatype=XSD.long, normalize=False), Literal("x", datatype=XSD.integer)),
        *(Literal(6.5), Literal("INF", datatype=XSD.double), Literal(-1)),
    ]
)
times: st.SearchStrategy[Node] = st.sampled_from(
    [
        Literal(f"{day}{zone}", datatype=XSD.dateTime, normalize=False)
        for day in ("2024-06-01T10:00:00", "2024-06-01T12:00:00", "2024-06-01T10:00:00.5")
        for zone in ("", "Z", "+02:00", "-02:00")
    ]
)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(texts, unique=True, min_size=1))
def test_ranks_compare_as_terms_do(data: list[Any]) -> None:
    terms = Terms(TermDictionary())
    ids = np.array(terms.ids_of(data), np.uint32)
    ranks = text_ranks(ids, QueryTerms(terms))
    assert ranks is not None
    assert ranks.tolist() == [sum(_val(other) < _val(term) for other in data) for term in data]


@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(
        st.one_of(
            *(texts, others, numbers, times),
            st.sampled_from(
                [
                    *(BNode("a"), BNode("B"), Literal(True), Literal(False), Literal("2", datatype=EX.own)),
                    *(Literal("10", datatype=EX.own), Literal("ab", datatype=XSD.string), Literal(0.1)),
                    *(Literal("0.1", datatype=XSD.decimal), Literal(1), Literal(1.0), Literal(2**60)),
                    *(Literal("2024-06-01", datatype=XSD.date), Literal("2024-06-01Z", datatype=XSD.date)),
                    *(Literal("2023-01-31", datatype=XSD.date), Literal("1.00", datatype=XSD.decimal)),
                    *(Literal("1", datatype=XSD.float), Literal("-INF", datatype=XSD.float)),
                    *(Literal("a", lang="de"), Literal("P1D", datatype=XSD.duration)),
                ]
            ),
        ),
        unique_by=lambda term: term.n3(),
        min_size=1,
    )
)
def test_ranks_of_mixed_terms_compare_as_terms_do(data: list[Any]) -> None:
    terms = Terms(TermDictionary())
    ids = np.array(terms.ids_of(data), np.uint32)
    ranks = ranks_by_class(ids, QueryTerms(terms))
    if ranks is None:
        return
    keys = [order_key(term) for term in data]
    for rank, key in zip(ranks.tolist(), keys, strict=True):
        assert [rank < other for other in ranks.tolist()] == [bool(key < other) for other in keys]


def test_a_mixed_column_is_ranked() -> None:
    data = [
        *(Literal("b"), Literal(3), BNode("x"), Literal(0.1), URIRef("urn:a"), Literal("a", lang="en")),
        *(Literal("0.1", datatype=XSD.decimal), Literal("2024-06-01", datatype=XSD.date)),
    ]
    terms = Terms(TermDictionary())
    ranks = ranks_by_class(np.array(terms.ids_of(data), np.uint32), QueryTerms(terms))
    assert ranks is not None and ranks.tolist() == [6, 5, 0, 4, 1, 7, 3, 2]


@pytest.mark.parametrize("fewest", [1, 64])
@pytest.mark.parametrize(
    "beside",
    [
        *(Literal("NaN", datatype=XSD.double), Literal("NaN", datatype=XSD.decimal)),
        *(Literal("x", datatype=XSD.double), Literal("2020", datatype=XSD.gYear)),
    ],
    ids=str,
)
def test_numbers_are_in_order_beside_terms_that_are_not_compared(beside: Literal, fewest: int) -> None:
    numbers = [Literal(Decimal("2.5")), Literal(5.0), Literal(1), Literal("0.5", datatype=XSD.float)]
    graph = Graph(CorollaryStore(rules="none"))
    for number, term in enumerate((numbers[0], beside, *numbers[1:])):
        graph.add((EX[f"n{number}"], EX.p, term))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_order, "MIN_USES_OF_RANKS", fewest)
        for order in ("?o", "IF(true, ?o, 0)"):
            found = [row[0] for row in graph.query(f"SELECT ?o {{ ?s ?p ?o }} ORDER BY {order}")]  # type: ignore[index]
            found.remove(beside)
            assert found == [numbers[3], numbers[2], numbers[0], numbers[1]]
        (row,) = graph.query("SELECT (MIN(?o) AS ?least) { ?s ?p ?o FILTER(ISNUMERIC(?o)) }")
        assert row[0] == numbers[3]  # type: ignore[index]


@pytest.mark.parametrize("size", [0, 1, 5, KEYS_SORTED_AT_ONCE, 3 * KEYS_SORTED_AT_ONCE + 7])
def test_keys_are_ranked_in_runs(size: int) -> None:
    keys = [number * 7919 % 1009 for number in range(size)]
    places = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    assert ranks_of_keys(keys).tolist() == [places[key] for key in keys]


def test_limits_are_checked_between_few_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = [0]

    class Key(int):
        def __lt__(self, other: int) -> bool:
            compared[-1] += 1
            return int.__lt__(self, other)

    monkeypatch.setattr(term_order, "check", lambda: compared.append(0))
    ranks_of_keys([Key(n * 7919 % 10007) for n in range(5 * KEYS_SORTED_AT_ONCE)])
    assert max(compared) <= 12 * KEYS_SORTED_AT_ONCE


@settings(max_examples=examples(200), deadline=None)
@given(
    st.one_of(
        *map(st.lists, (texts, st.one_of(texts, others), times, st.one_of(times, others), numbers)),
    )
)
def test_keys_compare_as_terms_do(data: list[Any]) -> None:
    keys, expected = order_keys(data), [order_key(term) for term in data]
    for one, first in zip(keys, expected, strict=True):
        assert [one < other for other in keys] == [first < other for other in expected]


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.one_of(texts, texts, texts, others)), max_size=12),
    st.sampled_from(["MIN(?o)", "MAX(?o)", "MIN(STR(?o))", "COUNT(?o)"]),
    st.sampled_from([1, 64]),
)
def test_extremes_are_those_of_rdflib(data: list[tuple[int, Node]], asked: str, fewest: int) -> None:
    query = f"SELECT ?s ({asked} AS ?a) {{ ?s x:p/x:q ?o }} GROUP BY ?s"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_order, "MIN_USES_OF_RANKS", fewest)
        own, memory = (answer(store, data, query) for store in (CorollaryStore(rules="none"), "default"))
    if all(isinstance(term, URIRef | BNode) or term.datatype is None for _, term in data):  # type: ignore[attr-defined]
        assert own == memory  # else equal terms compete
    assert {group for group, _ in own} == {group for group, _ in memory}


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.one_of(texts, others)), max_size=12),
    st.sampled_from(["?o", "STR(?o)"]),
    st.booleans(),
    st.sampled_from(["", '; separator=""', '; separator=", "', '; separator="\\"\\n"']),
    st.sampled_from(["", "BIND(CONCAT(STR(?o), '\\\\') AS ?c)", "VALUES ?c { 'a' 'new\\n' 7 x:c }"]),
)
def test_concatenations_are_those_of_rdflib(
    data: list[tuple[int, Node]], argument: str, is_distinct: bool, separator: str, computed: str
) -> None:
    """The order within a group is not defined. On columns it is that of the terms one by one."""
    word = "DISTINCT " if is_distinct else ""
    if computed:
        argument = argument.replace("?o", "?c")
    aggregate = f"GROUP_CONCAT({word}{argument}{separator})"
    query = f"SELECT ?s ({aggregate} AS ?a) {{ ?s x:p/x:q ?o {computed} }} GROUP BY ?s"
    own, memory = (answer(store, data, query) for store in (CorollaryStore(rules="none"), "default"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregates, "MIN_USES_OF_RANKS", 1)
        assert answer(CorollaryStore(rules="none"), data, query) == own
    assert {(s, ordered(text)) for s, text in own} == {(s, ordered(text)) for s, text in memory}


def ordered(text: Node | None) -> str | None:
    return None if text is None else "".join(sorted(str(text)))


def answer(store: Any, data: list[tuple[int, Node]], query: str) -> set[tuple[Any, ...]]:
    graph = Graph(store)
    graph.bind("x", EX)
    for number, (group, term) in enumerate(data):
        graph.add((EX[f"g{group}"], EX.p, EX[f"n{number}"]))
        graph.add((EX[f"n{number}"], EX.q, term))
    return {tuple(row) for row in graph.query(query)}  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [1, 100, 2000])
def test_a_decimal_that_is_no_number_comes_last(rows: int) -> None:
    graph = Graph(CorollaryStore(rules="none"))
    for number in range(rows):
        graph.add((URIRef(f"urn:{number}"), URIRef("urn:p"), Literal(number)))
    graph.add((URIRef("urn:nan"), URIRef("urn:p"), Literal("NaN", datatype=XSD.double)))
    for text in (
        "SELECT ?s { ?s ?p ?o } ORDER BY (?o * 2)",
        "SELECT ?s { ?s ?p ?o BIND(?o / 3 AS ?x) } ORDER BY ?x",
        "SELECT ?s (SUM(?o * 2) AS ?x) { ?s ?p ?o } GROUP BY ?s ORDER BY ?x",
    ):
        found = [str(row[0]) for row in graph.query(text)]  # type: ignore[index]
        assert found == [*(f"urn:{number}" for number in range(rows)), "urn:nan"]
