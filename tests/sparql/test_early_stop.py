"""LIMIT, ASK and EXISTS stop early: what is looked at does not grow with the data, and answers stay right."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Dataset, Graph, Literal, Namespace, Variable
from rdflib.query import Result
from rdflib.term import Node
from tests.sparql.constants import set_constant
from tests.sparql.test_against_pyoxigraph import patterns
from tests.strategies import examples

from corollary.columns.pairs import sorted_unique
from corollary.kernels.limits import Limits
from corollary.kernels.sorted import Keys
from corollary.sparql import paths
from corollary.sparql.explain_query import Step
from corollary.store import CorollaryStore

EX = Namespace("urn:x:")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are many."""
    set_constant(monkeypatch, "ROWS_BEFORE_ALL", (8, 32))
    set_constant(monkeypatch, "ROWS_PER_LIMITED_CHUNK", 8)


def store_of(size: int) -> Any:
    graph = Graph(CorollaryStore(rules="none"))
    graph.bind("", EX)
    for number in range(size):
        subject = EX[f"s{number}"]
        graph.add((subject, EX.takes, EX[f"c{number % 5}"]))
        graph.add((subject, EX.age, Literal(number % 7)))
        if number % 2:
            graph.add((subject, EX.name, Literal(f"name {number}")))
    for number in range(5):
        graph.add((EX[f"c{number}"], EX.by, EX[f"t{number % 2}"]))
    return graph.store


def looked_at(step: Step) -> int:
    return (step.rows or 0) + sum(map(looked_at, step.inputs))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?s :takes ?c ; :age ?a . ?c :by ?t } LIMIT 3",
        "SELECT * { ?s :takes ?c OPTIONAL { ?s :name ?n } FILTER(!BOUND(?n)) } LIMIT 3",
        "SELECT * { { ?s :takes ?c OPTIONAL { ?s :name ?n } } ?s :age ?a FILTER(?a > 2) } LIMIT 3",
        "SELECT * { { ?s :takes ?c } UNION { ?s :age ?c } ?s :age ?a } LIMIT 3",
        "SELECT * { ?s :takes ?c MINUS { VALUES ?s { :s1 } } } LIMIT 3",
        "SELECT * { ?s :age ?a BIND(?a + 1 AS ?b) FILTER(?b > 2) } LIMIT 3",
        "SELECT * { { SELECT ?s ?c { ?s :takes ?c } } ?c :by ?t } LIMIT 3",
        "SELECT DISTINCT ?b { ?s :age ?a BIND(?a + 1 AS ?b) FILTER(?b > 2) } LIMIT 3",
        "SELECT REDUCED ?c ?a { ?s :takes ?c ; :age ?a } LIMIT 3",
        "SELECT * { ?s :takes ?c . ?u :age ?a } LIMIT 3",
        "SELECT * { ?s :takes ?c . ?u :age ?a FILTER(?a > 3) } LIMIT 3",
        "SELECT * { ?s :takes ?c FILTER EXISTS { ?s :name ?n } } LIMIT 3",
        "ASK { { ?s :takes ?c } UNION { ?s :age ?c } ?s :age ?a }",
        "ASK { ?s :takes ?c OPTIONAL { ?s :name ?n } FILTER(BOUND(?n)) }",
    ],
)
def test_what_is_looked_at_does_not_grow(few: None, query: str) -> None:
    one, other = (looked_at(store_of(size).explain_query(query, analyze=True).root) for size in (200, 800))
    assert other <= 1.1 * one + 20


def test_existence_lists_no_solutions(few: None) -> None:
    """The courses that somebody takes: nobody is listed."""
    plan = store_of(400).explain_query("SELECT * { ?c :by ?t FILTER EXISTS { ?s :takes ?c } }", analyze=True)
    assert looked_at(plan.root) <= 40


def line_of(size: int) -> Graph:
    """Nodes in a line, most of which have a branch; every tenth is marked."""
    graph = Graph(CorollaryStore(rules="none"))
    graph.bind("", EX)
    for number in range(size):
        graph.add((EX[f"n{number}"], EX.next, EX[f"n{number + 1}"]))
        graph.add((EX[f"n{number}"], EX.side, EX[f"m{number % 3}"]))
        if number % 10 == 5:
            graph.add((EX[f"n{number}"], EX.mark, EX.red))
    return graph


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?x :next+ ?y } LIMIT 3",
        "SELECT * { ?x :next* ?y } LIMIT 30",
        "SELECT * { :n0 :next+ ?y } LIMIT 3",
        "SELECT * { ?x :next* :n99 } LIMIT 3",
        "SELECT * { :n0 :next+ ?y . ?y :mark ?c } LIMIT 2",
        "SELECT * { ?x :mark ?c . ?x :next+ ?y } LIMIT 5",
        "SELECT * { ?x :side/^:side/:next* ?y } LIMIT 5",
        "SELECT * { ?x ^:next+|:next+ ?y } LIMIT 5",
        "SELECT DISTINCT ?y { :n5 (:next|:side)+ ?y } LIMIT 5",
        "ASK { :n0 :next+ :n7 }",
        "ASK { ?x :next+ :n7 }",
        "ASK { ?x :next+ ?y }",
        "ASK { ?x :mark :red ; :next* ?y . ?y :side :m1 }",
        "SELECT * { ?x :mark ?c FILTER EXISTS { ?x :next+ ?y } } LIMIT 3",
        "SELECT * { VALUES ?x { :n0 :n1 } FILTER EXISTS { ?x :next/:side?/:next* ?y } }",
        "SELECT * { VALUES (?x ?y) { (:n0 :n3) (:n1 :n9) } FILTER EXISTS { ?x :next+ ?y } }",
    ],
)
def test_paths_end_when_enough_is_found(few: None, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    """The pairs that a search finds do not grow with the line, nor is the line closed."""
    found: list[int] = []

    def noted(keys: Keys) -> Keys:
        found.append(keys.size)
        return sorted_unique(keys)

    monkeypatch.setattr(paths, "sorted_unique", noted)
    monkeypatch.setattr(paths, "close_keys", None)
    monkeypatch.setattr(paths, "NODES_TRIED", 8)
    sums = []
    for size in (150, 300):
        found.clear()
        result = line_of(size).query(query)
        assert result.askAnswer if result.type == "ASK" else len(result)
        sums.append(sum(found))
    assert sums[1] <= sums[0] + 5 <= 200


def solutions(result: Result) -> Counter[frozenset[tuple[Variable, Node]]]:
    """Those that bind nothing, too: rows of rdflib leave them out."""
    return Counter(frozenset(found.items()) for found in result.bindings)


@settings(max_examples=examples(200), deadline=None)
@given(patterns, st.integers(1, 9), st.sampled_from(["SELECT *", "SELECT DISTINCT *", "SELECT REDUCED *"]))
def test_the_first_rows_are_some_of_all_rows(pattern: str, limit: int, form: str) -> None:
    graph = Dataset(CorollaryStore(rules="none"))
    for number in range(24):
        subject = EX[f"s{number % 6}"]
        graph.add((subject, EX["pqr"[number % 3]], EX[f"s{number % 5}"]))
        graph.graph(EX[f"g{number % 2}"]).add((subject, EX["pqr"[number % 3]], EX[f"s{number % 4}"]))
    query = f"{form} {{ {pattern} }}"
    every = solutions(graph.query(query))
    with pytest.MonkeyPatch.context() as patch:
        set_constant(patch, "ROWS_BEFORE_ALL", (2, 8))
        set_constant(patch, "ROWS_PER_LIMITED_CHUNK", 2)
        patch.setattr(paths, "NODES_TRIED", 2)
        first = solutions(graph.query(f"{query} LIMIT {limit}"))
        asked = graph.query(f"ASK {{ {pattern} }}").askAnswer
    if "REDUCED" in form:
        assert first.keys() <= every.keys() and bool(first) == bool(every)
    else:
        assert first <= every and first.total() == min(limit, every.total())
    assert asked == bool(every)


def test_the_rows_of_a_try_do_not_count_against_the_limit_of_the_next_one(few: None) -> None:
    store = store_of(50)
    query = "SELECT * { ?x :takes ?y BIND(STR(?y) AS ?k) FILTER(?k = 'none') } LIMIT 10"
    result = store.query(query, {"": EX}, {}, "__UNION__", limits=Limits(facts=60))
    assert not list(result.bindings)
