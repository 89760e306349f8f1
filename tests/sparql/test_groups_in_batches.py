"""Counts, groups and distinct values of any pattern in batches of a few rows: those of all its rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Dataset, Namespace, URIRef
from tests.sparql.constants import set_constant
from tests.sparql.test_against_pyoxigraph import patterns, quads, term
from tests.strategies import examples

from corollary.store import CorollaryStore

EX = Namespace("urn:x:")


def rows(store: Any, query: str) -> list[dict[str, Any]]:
    result = store.query(query, {}, {}, "__UNION__")
    return [{str(name): value for name, value in row.items()} for row in result.bindings]


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(quads, max_size=25), patterns, st.sampled_from((1, 3, 1 << 20)))
def test_what_is_counted_is_what_is_listed(
    data: list[tuple[str, str, str, str]], pattern: str, chunk: int
) -> None:
    dataset = Dataset(store=CorollaryStore(rules="none"))
    for s, p, o, g in data:
        graph = dataset.graph(URIRef(g[1:-1])) if g else dataset.default_graph
        graph.add((term(s), term(p), term(o)))
    store: Any = dataset.store
    listed = rows(store, f"SELECT ?x ?y ?z {{ {pattern} }}")
    by_x: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in listed:
        by_x[row.get("x")].append(row)
    with pytest.MonkeyPatch.context() as patch:
        set_constant(patch, "ROWS_PER_CHUNK", chunk)
        set_constant(patch, "MAX_ROWS_HELD", chunk)
        (counts,) = rows(store, f"SELECT (COUNT(*) AS ?a) (COUNT(?y) AS ?b) {{ {pattern} }}")
        (every,) = rows(store, f"SELECT (COUNT(*) AS ?a) {{ {pattern} }}")
        select = "SELECT ?x (COUNT(*) AS ?a) (COUNT(?y) AS ?b) (COUNT(DISTINCT ?z) AS ?c)"
        grouped = rows(store, f"{select} {{ {pattern} }} GROUP BY ?x")
        values = rows(store, f"SELECT DISTINCT ?x ?y {{ {pattern} }}")
        again = rows(store, f"SELECT ?x ?y ?z {{ {pattern} }}")
        set_constant(patch, "ROWS_PER_LIMITED_CHUNK", 2)
        set_constant(patch, "ROWS_BEFORE_ALL", (2, 4))
        first = rows(store, f"SELECT ?x ?y ?z {{ {pattern} }} LIMIT 3")
    assert counts["a"].value == every["a"].value == len(listed)
    assert counts["b"].value == sum("y" in row for row in listed)
    assert bag(again) == bag(listed) and bag(first) <= bag(listed) and len(first) == min(3, len(listed))
    assert {row.get("x"): tuple(row[name].value for name in "abc") for row in grouped} == {
        x: (len(group), sum("y" in row for row in group), len({row["z"] for row in group if "z" in row}))
        for x, group in by_x.items()
    }
    assert bag(values) == Counter({(row.get("x"), row.get("y"), None) for row in listed})


def bag(found: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter((row.get("x"), row.get("y"), row.get("z")) for row in found)
