"""Few rows are joined one by one: the answers are those of joins on columns."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Graph, Literal, Namespace, URIRef
from rdflib.plugins.sparql import prepareQuery
from rdflib.query import Result
from tests.sparql.constants import set_constant
from tests.sparql.results import same_results
from tests.strategies import examples

from corollary.execute import few_rows
from corollary.execute.tuning import MAX_LOOK_UPS_ONE_BY_ONE, MAX_ROWS_JOINED_ONE_BY_ONE
from corollary.sparql import paths
from corollary.sparql.query_evaluation import Prepared
from corollary.sparql.tuning import MAX_CHARACTERS_OF_TEXT_CACHED, MAX_JOINS_KEPT
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")

ENDS = st.sampled_from(["?a", "?b", "?c", "?d", ":n0", ":n1", ":new", "[]"])
PREDICATES = st.sampled_from([":p", ":q", ":r", "?e", ":p+", ":q*", "^:r", ":p/:q"])
PATTERNS = st.lists(st.tuples(ENDS, PREDICATES, ENDS).map(" ".join), min_size=1, max_size=4).map(" . ".join)
FURTHER = st.lists(
    st.tuples(st.sampled_from(["{{ {} }}", "OPTIONAL {{ {} }}", "MINUS {{ {} }}"]), PATTERNS).map(
        lambda found: found[0].format(found[1])
    ),
    max_size=2,
).map(" ".join)
CONDITIONS = st.sampled_from(["", "FILTER(?a != ?b)", "FILTER(!BOUND(?c))", "FILTER(isIRI(?d))"])
HEADS = st.sampled_from(
    [
        "SELECT *",
        "SELECT DISTINCT ?a ?b",
        "SELECT (COUNT(*) AS ?n)",
        "ASK",
        "CONSTRUCT { ?a :t ?b . ?c ?e [] }",
        "CONSTRUCT { ?a ?e ?b . :n0 :t ?b , ?a . 'no subject' :t ?a . ?d ?b :n0 }",
        "DESCRIBE ?a ?b",
    ]
)
FACTS = st.sets(
    st.tuples(st.integers(0, 6), st.sampled_from("pqr"), st.integers(0, 6)), min_size=2, max_size=40
)
CHANGES = st.sets(st.tuples(st.integers(0, 8), st.sampled_from("pqr"), st.integers(0, 8)), max_size=3)


def triples(facts: set[tuple[int, str, int]]) -> list[tuple[URIRef, URIRef, URIRef]]:
    names = [EX[f"n{number}"] for number in range(8)] + [EX.new]
    return [(names[s], EX[p], names[o]) for s, p, o in facts]


@settings(max_examples=examples(300), deadline=None)
@given(
    facts=FACTS,
    added=CHANGES,
    head=HEADS,
    group=st.tuples(PATTERNS, FURTHER, CONDITIONS).map(" ".join),
    most=st.sampled_from([2, 16]),
)
def test_the_answers_stay(
    facts: set[tuple[int, str, int]],
    added: set[tuple[int, str, int]],
    head: str,
    group: str,
    most: int,
) -> None:
    """Also of a query that was asked before: of a changed graph, and of one that now has its terms."""
    query = f"PREFIX : <{EX}> {head} {{ {group} }}"
    one_by_one, on_columns = (Graph(CorollaryStore(rules="none")) for _ in range(2))
    for number, some in enumerate((facts, added, facts)):
        for triple in triples(some):
            for graph in (one_by_one, on_columns):
                (graph.remove if number == 2 else graph.add)(triple)
        for _ in range(2):
            with pytest.MonkeyPatch.context() as patch:
                joined_one_by_one(patch, most)
                found = one_by_one.query(query)
            with pytest.MonkeyPatch.context() as patch:
                joined_one_by_one(patch, 0)
                assert same_results(found, on_columns.query(query)), query


def joined_one_by_one(patch: pytest.MonkeyPatch, most: int) -> None:
    """Let queries join at most ``most`` rows row by row, and paths search as many nodes node by node."""
    set_constant(patch, "MAX_ROWS_JOINED_ONE_BY_ONE", most)
    patch.setattr(paths, "MAX_NODES_SEARCHED", most)


def graph_of_degrees() -> Graph:
    """Node n has n successors."""
    graph = Graph(CorollaryStore(rules="none"))
    for number in range(40):
        for end in range(number):
            graph.add((EX[f"n{number}"], EX.p, EX[f"e{end}"]))
            graph.add((EX[f"e{end}"], EX.q, EX[f"f{end % 3}"]))
    return graph


@pytest.mark.parametrize("number", [0, 1, 15, 16, 17, 39])
def test_rows_become_many(number: int) -> None:
    graph = graph_of_degrees()
    group = f":n{number} :p ?e . ?e :q ?f OPTIONAL {{ ?x :p ?e }}"
    rows = list(graph.query(f"PREFIX : <{EX}> SELECT * {{ {group} }}"))
    assert len(rows) == sum(40 - end - 1 for end in range(number))
    below = list(graph.query(f"PREFIX : <{EX}> SELECT ?x {{ :n{number} :p+ ?x }}"))
    assert len(below) == number


def test_rows_with_many_predicates_are_not_listed_for_one_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen nodes with a hundred predicates each: the first ones are joined on columns."""
    graph = Graph(CorollaryStore(rules="none"))
    for number in range(16):
        graph.add((EX.a, EX.p, EX[f"n{number}"]))
        for predicate in range(100):
            graph.add((EX[f"n{number}"], EX[f"p{predicate}"], EX.b))
    looked_up = []
    look_up = few_rows.few_matches

    def counted(*arguments: Any, **named: Any) -> Any:
        looked_up.append(arguments)
        return look_up(*arguments, **named)

    monkeypatch.setattr(few_rows, "few_matches", counted)
    group = f"{{ <{EX.a}> <{EX.p}> ?n . ?n ?e ?b }}"
    assert graph.query(f"ASK {group}").askAnswer
    assert len(looked_up) <= MAX_LOOK_UPS_ONE_BY_ONE + 1
    assert len(graph.query(f"SELECT * {group}")) == 1600


def test_a_query_in_several_graphs_and_threads() -> None:
    """What evaluations share belongs to one graph, and to one numbering of variables."""
    store = CorollaryStore(rules="none")
    graphs = [Graph(store, EX[f"g{number}"]) for number in range(3)]
    for number, graph in enumerate(graphs):
        for end in range(number + 1):
            graph.add((EX.a, EX.p, EX[f"e{end}"]))
            graph.add((EX[f"e{end}"], EX.q, EX.f))
    query = f"PREFIX : <{EX}> SELECT ?x ?y {{ :a :p ?x . ?x :q ?y OPTIONAL {{ ?z :p ?x }} }}"

    def ask(turn: int) -> Result:
        return graphs[turn % 3].query(query)

    with ThreadPoolExecutor(8) as threads:
        for turn, found in enumerate(threads.map(ask, range(300))):
            assert {tuple(row) for row in found} == {(EX[f"e{end}"], EX.f) for end in range(turn % 3 + 1)}  # type: ignore[arg-type]


def test_a_long_query_is_not_kept() -> None:
    """Its plan is not cached, so what its evaluations share must not keep it either."""
    store = graph_of_degrees().store
    assert isinstance(store, CorollaryStore)
    values = " ".join(f":n{number % 40}" for number in range(MAX_CHARACTERS_OF_TEXT_CACHED // 3))
    query = f"PREFIX : <{EX}> SELECT * {{ VALUES ?x {{ {values} }} ?x :p ?y . ?y :q ?z }}"
    assert len(store.query(query, {}, {}, "__UNION__")) > 0
    gc.collect()
    (prepared,) = store.reasoner.settled().state.known_to_queries[Prepared].values()
    assert prepared.query() is None


def test_rows_that_are_tested_one_by_one_are_not_kept() -> None:
    store = CorollaryStore(rules="none")
    graph = Graph(store)
    number = 2 * MAX_JOINS_KEPT
    for each in range(number):
        graph.add((EX[f"n{each}"], EX.p, EX[f"n{(each + 1) % number}"]))
    own = "SELECT ?x ?y { ?x :p ?y MINUS { ?y :p ?z . ?z :p ?y } } LIMIT 1"
    for _ in range(2):
        found = graph.query(f"PREFIX : <{EX}> SELECT ?x {{ ?x :p ?e FILTER EXISTS {{ {own} }} }}")
        assert len(found) == number
    (prepared,) = store.reasoner.settled().state.known_to_queries[Prepared].values()
    assert len(prepared.joins) == MAX_JOINS_KEPT


def test_a_single_pattern_is_planned_once_for_all_given_values() -> None:
    """Also for values that the store does not have, or that are no subjects."""
    store = CorollaryStore(rules="none")
    graph = Graph(store)
    for number, other in product(range(40), range(MAX_ROWS_JOINED_ONE_BY_ONE)):
        graph.add((EX[f"s{number}"], EX.p, EX[f"o{number % 4}"]))
        graph.add((EX[f"s{number}"], EX.p, EX[f"other{other}"]))
    query = prepareQuery(f"SELECT ?s ?o ?s {{ ?s <{EX}p> ?o }}")
    for number in range(40):
        rows = list(graph.query(query, initBindings={"s": EX[f"s{number}"]}))  # too many for a look-up
        assert len(rows) == 1 + MAX_ROWS_JOINED_ONE_BY_ONE
        assert (EX[f"s{number}"], EX[f"o{number % 4}"], EX[f"s{number}"]) in rows
    for value in (EX.unknown, EX.o1, Literal("s1")):
        assert not list(graph.query(query, initBindings={"s": value}))
    (prepared,) = store.reasoner.settled().state.known_to_queries[Prepared].values()
    assert len(prepared.joins) == 1
    assert len(list(graph.query(query, initBindings={"o": EX.o1}))) == 10
    assert len(list(graph.query(query, initBindings={"s": EX.s1, "o": EX.o1, "z": EX.other}))) == 1
    graph.add((EX.s1, EX.p, EX.new))
    found = {row[1] for row in graph.query(query, initBindings={"s": EX.s1})}  # type: ignore[index]
    assert found >= {EX.o1, EX.new} and len(found) == 2 + MAX_ROWS_JOINED_ONE_BY_ONE
