"""The store after any batches of changes shows what a naive evaluator derives from the explicit facts."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Dataset, Graph, URIRef
from rdflib.util import from_n3
from tests.oracles.naive import closure, visible
from tests.strategies import Fact, examples, plain_facts

from corollary.language import Program, constant_text, parse_program
from corollary.store import CorollaryStore

RULES = """
PREFIX : <http://example.org/>
[?x, :q, ?z] :- [?x, :p, ?y], [?y, :q, ?z] .
[?x, :q, ?y] :- [?x, :p, ?y] .
[?y, :r, ?x] :- [?x, :r, ?y] .
:B[?x] :- :A[?x], [?x, :q, ?y] .
[?x, :p, ?y] :- :C[?x], [?x, :r, ?y] .
"""
NEGATION = RULES + "[?x, :lonely, ?x] :- :B[?x], NOT [?x, :r, ?x] ."

changes = st.lists(
    st.lists(st.tuples(st.booleans(), st.integers(0, 2), plain_facts), max_size=8), min_size=1, max_size=5
)


@cache
def program(text: str) -> Program:
    return parse_program(text)


@pytest.mark.parametrize("text", [RULES, NEGATION])
@settings(max_examples=examples(40), deadline=None)
@given(batches=changes)
def test_any_batches(text: str, batches: list[list[tuple[bool, int, Fact]]]) -> None:
    store = CorollaryStore(rules=program(text))
    dataset = Dataset(store)
    graphs = [dataset.default_graph, *(Graph(store, URIRef(f"http://example.org/g{n}")) for n in (1, 2))]
    model: set[tuple[int, Fact]] = set()
    for batch in batches:
        for added, number, fact in batch:
            triple = tuple(from_n3(constant_text(term)) for term in fact)
            (graphs[number].add if added else graphs[number].remove)(triple)
            (model.add if added else model.discard)((number, fact))
        explicit = {fact for _, fact in model}
        expected = visible(closure(explicit, program(text))[0]) | explicit
        assert {tuple(term.n3() for term in triple) for triple, _ in store.triples((None, None, None))} == {
            tuple(constant_text(term) for term in fact) for fact in expected
        }
        assert len(store) == len(expected)
        assert len(store.explicit()) == len(explicit)
        assert len(store.inferred()) == len(expected - explicit)
