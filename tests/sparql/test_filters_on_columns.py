"""Conditions of FILTER, decided on columns, against the evaluation on terms."""

from __future__ import annotations

from decimal import InvalidOperation
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from rdflib import RDFS, XSD, BNode, Graph, Literal, URIRef
from rdflib.term import Node
from tests.strategies import examples

from corollary.execute.batches import Batch
from corollary.kernels.sorted import Mask
from corollary.sparql import expressions
from corollary.sparql.term_texts import TermTexts
from corollary.store import CorollaryStore

WORDS = ["Alpha", "beta x", "ünïcode", 'a "quote"', "back\\slash", "line\nbreak", "", "a", "İstanbul", "ΣΑΣ"]
IRIS = [URIRef(f"http://example.org/{name}") for name in ("Alpha", "a", "é")]

NUMBERS = {
    XSD.integer: ["7", "-3", "007", "+5", "5.", "abc", "9007199254740993"],
    XSD.int: ["7", "x"],
    XSD.decimal: ["1.5", "2.50", "-3", "1e3", ".5"],
    XSD.double: ["1.5e0", "INF", "-1E2", "10", "x"],
    XSD.float: ["1.5", "0.1", "1e1"],
}

terms: st.SearchStrategy[Node] = st.one_of(
    st.builds(Literal, st.sampled_from(WORDS)),
    st.builds(Literal, st.sampled_from(WORDS), lang=st.sampled_from(["en", "de", "en-US", "EN"])),
    st.builds(Literal, st.sampled_from(WORDS), datatype=st.sampled_from([XSD.string, IRIS[0]])),
    st.sampled_from([(t, d) for d, texts in NUMBERS.items() for t in texts]).map(
        lambda pair: Literal(pair[0], datatype=pair[1], normalize=False)
    ),
    st.sampled_from([*IRIS, BNode("b")]),
)

texts = st.sampled_from(
    ["?o", "STR(?o)", "LCASE(?o)", "UCASE(?o)", "LCASE(STR(?o))", "STR(LCASE(?o))", "UCASE(LCASE(?o))"]
)
constants = st.sampled_from(['""', '"a"', '"alpha"', '"ALPHA"', '"http"', '"é"', '"i"', '"7"'])
MANY = 1 << 40
"""Rows that no test has: conditions are decided on terms."""

comparisons = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
numbers = st.sampled_from(["7", "1.5", "0.1", "-3", "1.5e0", "5", "1000"])

conditions_on_one: st.SearchStrategy[str] = st.one_of(
    st.builds("{}({}, {})".format, st.sampled_from(["CONTAINS", "STRSTARTS", "STRENDS"]), texts, constants),
    st.builds(
        "REGEX({}, {}{})".format,
        texts,
        st.sampled_from(['"^a"', '"l.h"', '"[0-9]"']),
        st.sampled_from(["", ', "i"']),
    ),
    st.builds("{} {} {}".format, texts, st.sampled_from(["=", "!="]), constants),
    st.builds("STRLEN({}) {} {}".format, texts, comparisons, numbers),
    st.builds("?o {} {}".format, comparisons, numbers),
    st.builds("{} {} ?o".format, numbers, comparisons),
    st.builds(
        "LANG(?o) {} {}".format, comparisons, st.sampled_from(['"en"', '"EN"', '""', '"de"', '"en-us"'])
    ),
    st.builds("LANGMATCHES(LANG(?o), {})".format, st.sampled_from(['"EN"', '"*"', '"en-US"', '"-"', '""'])),
    st.sampled_from(["isIRI(?o)", "isLITERAL(?o)", "isBLANK(?o)"]),
)

any_condition = st.recursive(
    conditions_on_one,
    lambda inner: st.one_of(
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("!({})".format, inner),
    ),
    max_leaves=4,
)


def kept(graph: Graph, condition: str) -> set[Node] | None:
    """The terms for which a condition is true; None where rdflib fails."""
    try:
        return {row[0] for row in graph.query(f"SELECT ?o {{ ?s ?p ?o FILTER({condition}) }}")}  # type: ignore[index]
    except InvalidOperation:
        return None


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(terms, min_size=1, max_size=12), any_condition)
def test_columns_decide_as_rdflib_does(data: list[Node], condition: str) -> None:
    graph = Graph(CorollaryStore(rules="none"))
    for number, term in enumerate(data):
        graph.add((URIRef(f"urn:x:{number}"), RDFS.label, term))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expressions, "MIN_TERMS_ON_COLUMNS", 1)
        on_columns = kept(graph, condition)
        patch.setattr(expressions, "MIN_TERMS_ON_COLUMNS", MANY)
        assert on_columns == kept(graph, condition)


def test_few_terms_are_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that only the evaluation on terms decides, and no others."""
    names, decimals = (Graph(CorollaryStore(rules="none")) for _ in range(2))
    for number in range(100):
        names.add((URIRef(f"urn:x:{number}"), RDFS.label, Literal(f"name {number}")))
        decimals.add((URIRef(f"urn:x:{number}"), RDFS.label, Literal(f"{number}.5", datatype=XSD.decimal)))
    names.add((BNode(), RDFS.label, Literal("İ\n7")))
    decimals.add((BNode(), RDFS.label, Literal("7" * 40, datatype=XSD.decimal)))
    left: list[int] = []
    by_terms = expressions.Expressions._true_by_terms

    def noted(self: expressions.Expressions, expression: Any, batch: Batch, exists: Any) -> Mask:
        left.append(batch.size)
        return by_terms(self, expression, batch, exists)

    monkeypatch.setattr(expressions.Expressions, "_true_by_terms", noted)
    assert len(kept(names, 'CONTAINS(LCASE(?o), "7")') or ()) == 20
    assert not left
    assert len(kept(decimals, "?o < 7") or ()) == 7
    assert left == [1]


@pytest.mark.parametrize("left", ["?o", "STRLEN(?o)"])
def test_an_integer_that_is_no_double_is_compared(left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(CorollaryStore(rules="none"))
    for term in (Literal(7), Literal(10**401), Literal("seven")):
        graph.add((BNode(), RDFS.label, term))
    monkeypatch.setattr(expressions, "MIN_TERMS_ON_COLUMNS", 1)
    kept_on_columns = kept(graph, f"{left} <= {10**400}")
    monkeypatch.setattr(expressions, "MIN_TERMS_ON_COLUMNS", MANY)
    assert kept_on_columns == kept(graph, f"{left} <= {10**400}")
    assert kept_on_columns == {Literal(7) if left == "?o" else Literal("seven")}


def test_texts_that_are_no_unicode_are_left_out() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    terms = [URIRef("urn:a"), BNode("b"), Literal("c\td"), Literal("e", lang="en"), Literal(1)]
    for term in terms:
        graph.add((URIRef("urn:x"), RDFS.label, term))
    store = graph.store
    assert isinstance(store, CorollaryStore)
    own = store.reasoner.versions.current().terms
    ids = np.array([own.find(term) for term in terms], np.uint32)
    found = TermTexts.of(ids, own.dictionary)
    assert found is not None
    assert found.rows.tolist() == [0, 2, 3, 4]
    assert found.lexical.to_pylist() == ["urn:a", "c\td", "e", "1"]
    assert found.suffixes.to_pylist() == ["", "", "@en", f"^^<{XSD.integer}>"]
    graph.add((URIRef("urn:x"), RDFS.label, Literal("\ud800")))
    assert TermTexts.of(np.array([own.find(Literal("\ud800"))], np.uint32), own.dictionary) is None
