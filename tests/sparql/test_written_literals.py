"""Literals that a query computes on columns: one id for each, whichever way it came to the query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow
import pytest
from hypothesis import example, given, settings
from rdflib import XSD, Dataset, Graph, Literal, Namespace
from tests.strategies import examples

from corollary.kernels.limits import LimitExceeded
from corollary.language.constants import escape
from corollary.sparql import query_terms
from corollary.sparql.query_terms import QueryTerms
from corollary.sparql.rdf_terms import Terms, text_of
from corollary.sparql.term_texts import unescaped
from corollary.sparql.written_literals import UNBOUND
from corollary.store import CorollaryStore
from corollary.terms.dictionary import TermDictionary

EX = Namespace("urn:x:")
TEXTS = st.text(st.sampled_from('ab"\\\n\r\t\b\f\0u\x7fä質\uffff\U0001f600'), max_size=4)
LITERALS = st.lists(
    st.one_of(
        st.builds(Literal, TEXTS),
        st.builds(Literal, TEXTS, lang=st.sampled_from(["de", "en-gb"])),
        st.builds(Literal, st.integers(0, 3)),
    ),
    max_size=8,
)


@settings(max_examples=examples(200), deadline=None)
@given(LITERALS, LITERALS, st.lists(LITERALS, min_size=1, max_size=3), st.sampled_from([1, 1000]))
@example([], [Literal("x")], [[Literal("x"), Literal("y")], [Literal("y")]], 1)
def test_a_literal_has_one_id(stored: Any, before: Any, columns: Any, together: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_terms, "MIN_TERMS_READ_TOGETHER", together)
        _check_ids(stored, before, columns)


def _check_ids(stored: Any, before: Any, columns: Any) -> None:
    dictionary = TermDictionary()
    store = Terms(dictionary)
    known = {literal: store.id_of(literal) for literal in stored}
    terms = QueryTerms(store)
    known |= {literal: terms.id_of(literal) for literal in before}
    for column in columns:
        ids = terms.ids_of_literals(pyarrow.array(map(text_of, column), pyarrow.large_string()))
        for literal, term_id in zip(column, ids.tolist(), strict=True):
            assert known.setdefault(literal, term_id) == term_id
        again = Literal(f"{len(known)}th")
        known[again] = terms.id_of(again)
    assert len({*known.values()}) == len(known)
    for literal, term_id in known.items():
        assert terms.id_of(literal) == term_id
        assert terms[term_id] == literal
    every = np.array([*known.values()], np.uint32)
    decoded = terms.decode(np.concatenate((every, [np.uint32(UNBOUND)], every)))
    assert decoded == [*known, None, *known]
    found = terms.texts_of(every)
    assert found is not None
    texts = dict(zip(every[found.rows].tolist(), found.lexical.to_pylist(), strict=True))
    written = [i for literal, i in known.items() if i in texts]
    assert all(texts[i] == str(terms[i]) for i in written)
    assert len(written) >= len({*stored})


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(TEXTS))
@example(["\\u", "a\0", 'C:\\new"', "\\\\"])
def test_escapes_are_undone_as_by_python(values: list[str]) -> None:
    column = pyarrow.array(["before", *map(escape, values)], pyarrow.large_string())[1:]
    assert unescaped(column).to_pylist() == values


@pytest.mark.parametrize(
    "query",
    [
        'SELECT DISTINCT ?t { { ?x :name ?n BIND(CONCAT(?n, "!") AS ?t) } UNION '
        '{ VALUES ?t { "n 1\\"\\n!" "other" } } }',
        'SELECT ?n { ?x :name ?n BIND(CONCAT(?n, "!") AS ?t) FILTER(?t = "n 7\\"\\n!") }',
        'SELECT ?n ?t { ?x :name ?n BIND(CONCAT(?n, "!") AS ?t) VALUES ?t { "n 7\\"\\n!" } }',
        'SELECT (COUNT(DISTINCT ?t) AS ?c) { ?x :name ?n BIND(SUBSTR(CONCAT(?n, "!"), 1, 3) AS ?t) }',
        "SELECT (SUM(?half) AS ?c) { ?x :age ?a BIND(?a * 0.5 AS ?half) }",
        "SELECT (SUM(STRLEN(?t)) AS ?c) { { SELECT ?g (GROUP_CONCAT(?n) AS ?t) "
        "{ ?x :name ?n ; :group ?g } GROUP BY ?g } }",
        "SELECT (MAX(?t) AS ?c) { ?x :name ?n BIND(UCASE(?n) AS ?t) }",
        'SELECT ?t (LANG(?t) AS ?l) (DATATYPE(?t) AS ?d) { ?x :name ?n BIND(STRLANG(?n, "DE") AS ?t) }',
        "SELECT ?t ?l { ?x :age ?a BIND(?a + 1000 AS ?t) BIND(STR(?t) AS ?s) BIND(STRLEN(?s) AS ?l) "
        "FILTER(?t > 1005) }",
        "SELECT ?t { ?x :name ?n BIND(CONCAT(?n, ?n) AS ?t) } ORDER BY DESC(?t) LIMIT 5",
    ],
)
def test_queries_answer_as_in_memory(query: str) -> None:
    graphs = Graph(CorollaryStore(rules="none")), Graph()
    for graph in graphs:
        graph.bind("", EX)
        for number in range(150):
            graph.add((EX[f"x{number}"], EX.name, Literal(f'n {number % 80}"\n')))
            graph.add((EX[f"x{number}"], EX.age, Literal(number)))
            graph.add((EX[f"x{number}"], EX.group, EX[f"g{number % 70}"]))
    ours, theirs = (sorted(map(str, graph.query(f"PREFIX : <{EX}> {query}"))) for graph in graphs)
    assert ours == theirs and ours


DECIMAL = "<http://www.w3.org/2001/XMLSchema#decimal>"


def row_of(store: CorollaryStore, query: str) -> Any:
    """The only row of a query's result."""
    (row,) = Dataset(store, default_union=True).query(
        f"PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> {query}"
    )
    return row


@pytest.mark.parametrize("text", ["1E999999999", "-1e-999999999", "1E+00010000", "sNaN", "NaN", "-Infinity"])
def test_a_decimal_out_of_bounds_has_no_value_and_is_not_written_out(text: str, tmp_path: Path) -> None:
    """Wherever it comes from: a query, STRDT, a file. rdflib would write a gigabyte of digits."""
    (tmp_path / "data.nt").write_text(f'<urn:a> <urn:b> "{text}"^^{DECIMAL} .\n')
    store = CorollaryStore(rules="none")
    store.load(tmp_path / "data.nt")
    for source in (
        f'VALUES ?x {{ "{text}"^^{DECIMAL} }}',
        f'BIND(STRDT("{text}", {DECIMAL}) AS ?x)',
        "?s <urn:b> ?x",
    ):
        (found,) = row_of(store, f"SELECT ?x {{ {source} }}")
        assert (str(found), found.datatype, found.value) == (text, XSD.decimal, None)
        answers = "(isNumeric(?x) AS ?a) (?x + 1 AS ?b) (xsd:integer(?x) AS ?c) (ROUND(?x) AS ?d)"
        row = row_of(store, f"SELECT {answers} {{ {source} }}")
        assert tuple(row) == (Literal(False), None, None, None)


def test_a_decimal_within_bounds_is_as_in_rdflib() -> None:
    store = CorollaryStore(rules="none")
    for text in ("1E5", "1_0", "-.5", "7", "x", "1E-9999"):
        for source in (f'VALUES ?x {{ "{text}"^^{DECIMAL} }}', f'BIND(STRDT("{text}", {DECIMAL}) AS ?x)'):
            query = f"SELECT ?x {{ {source} }}"
            ((expected,),) = Graph().query(query)  # type: ignore[misc]
            assert row_of(store, query) == (expected,)


@pytest.mark.parametrize("rows", [3, 3000])
def test_the_memory_of_separators_counts(rows: int) -> None:
    values = " ".join(map(str, range(rows)))
    query = f"SELECT (GROUP_CONCAT(?x; SEPARATOR='{'s' * 100_000}') AS ?t) {{ VALUES ?x {{ {values} }} }}"
    store = CorollaryStore(rules="none", limits="bytes=100KB")
    with pytest.raises(LimitExceeded):
        len(Graph(store).query(query))


def test_texts_that_the_store_has_are_not_entered() -> None:
    """They were entered as empty texts, and an empty head made a kernel write before its array."""
    dictionary = TermDictionary()
    known = [f'"known {number}"' for number in range(300)]
    for text in known:
        dictionary.encode(text)
    terms = QueryTerms(Terms(dictionary))
    new = [f'"new {number}"' for number in range(300)]
    texts = pyarrow.array([text for pair in zip(known, new, strict=True) for text in pair], "large_string")
    ids = terms.ids_of_literals(texts)
    assert terms._written is not None and len(terms._written.table) == len(new)
    assert [terms.text_of(term_id) for term_id in ids.tolist()] == texts.to_pylist()
