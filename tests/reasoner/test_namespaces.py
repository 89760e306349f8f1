"""Prefixes and namespaces stay inverse to each other, whatever is bound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rdflib import Graph, URIRef

from corollary.reasoner.namespaces import Namespaces

prefixes = st.sampled_from(("", "a", "b", "c"))
namespaces = st.sampled_from([URIRef(f"http://example.org/{n}#") for n in range(4)])


@given(st.lists(st.tuples(prefixes, namespaces, st.booleans())))
def test_bindings_are_one_to_one(bindings: list[tuple[str, URIRef, bool]]) -> None:
    table = Namespaces()
    for prefix, namespace, override in bindings:
        before = dict(table)
        free = prefix not in before and namespace not in before.values()
        table = table.bound(prefix, namespace, override)
        if override or free:
            assert table.namespace(prefix) == namespace
            assert table.prefix(namespace) == prefix
        else:
            assert dict(table) == before
        for known, value in table:
            assert table.namespace(known) == value
            assert table.prefix(value) == known


def test_what_is_not_bound_is_none() -> None:
    store = Graph("Corollary", bind_namespaces="none").store
    assert store.namespace("a") is None
    assert store.prefix(URIRef("http://example.org/")) is None
