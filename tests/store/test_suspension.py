"""Rules that the triples suspend: no read fails by data, and what is maintained is what a new store finds."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from rdflib import OWL, RDF, RDFS, XSD, Graph, Literal, Namespace
from rdflib.term import Node

from corollary.language import UnstratifiableError, parse_program
from corollary.store import CorollaryStore, SuspendedRuleWarning

EX = Namespace("http://example.org/")
P = "PREFIX : <http://example.org/>\n"
OK = P + "@name ok\n:ok[?x, ?y] :- :p[?x, ?y], NOT :bad[?x, ?y] ."
CLOSING = (EX.ok, RDFS.subPropertyOf, EX.bad)
A, B = (EX.a, EX.p, EX.b), (EX.a, EX.ok, EX.b)

Triple = tuple[Node, Node, Node]


def graph_of(*rules: str) -> Graph:
    """An empty graph under profiles, or the text of rules."""
    return Graph(CorollaryStore(rules=[rule if " " not in rule else parse_program(rule) for rule in rules]))


def store_of(graph: Graph) -> CorollaryStore:
    assert isinstance(graph.store, CorollaryStore)
    return graph.store


def names(graph: Graph) -> list[str]:
    return [rule.name for rule in store_of(graph).suspended_rules()]


def test_data_never_make_a_read_fail() -> None:
    graph = graph_of("rhodf", OK)
    graph.add(A)
    assert B in graph and not names(graph)
    with pytest.warns(SuspendedRuleWarning, match="rule ok is suspended: it negates what depends on its own"):
        graph.update(P + "INSERT DATA { :ok <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> :bad }")
        assert B not in graph
    store = store_of(graph)
    (rule,) = store.suspended_rules()
    assert rule.name == "ok" and rule.triples == (CLOSING,)
    assert rule.cycle == (f"<{EX.bad}>", f"<{EX.ok}>", f"<{EX.bad}>")
    assert [str(rule)] == list(store.statistics().suspended)
    assert str(rule) in str(store.statistics())
    assert set(store.explicit()) == {A, CLOSING}
    graph.commit()
    graph.remove(CLOSING)
    assert B in graph and not names(graph) and not store.statistics().suspended


def test_a_warning_is_given_once_each_time() -> None:
    graph = graph_of("rhodf", OK)
    for _ in range(2):
        graph.add(CLOSING)
        with pytest.warns(SuspendedRuleWarning):
            graph.add(A)
            len(graph)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            graph.add((EX.c, EX.p, EX.d))
            assert names(graph) == ["ok"]
            graph.remove((EX.c, EX.p, EX.d))
            assert len(graph) == 2
            graph.remove(CLOSING)
            assert B in graph
            graph.remove(A)


@pytest.mark.parametrize("is_read_before", [False, True])
def test_rules_that_the_data_would_suspend_are_refused(is_read_before: bool) -> None:
    """Also before anything was derived, and if it is a monotone rule that closes the cycle of another."""
    graph = graph_of("rhodf")
    store = store_of(graph)
    graph += [A, CLOSING]
    assert not is_read_before or len(graph) == 2
    with pytest.raises(UnstratifiableError, match=r"rule ok negates .* conclusion: .* -> "):
        store.add_rules(parse_program(OK))
    assert set(graph) == {A, CLOSING} and not names(graph)
    graph.remove(CLOSING)
    store.add_rules(parse_program(OK))
    assert B in graph
    with pytest.raises(UnstratifiableError):
        store.add_rules(P + "[?x, :bad, ?y] :- [?x, :ok, ?y] .")
    assert B in graph


def test_other_rules_come_while_one_is_suspended() -> None:
    """What is suspended already does not stand in their way."""
    graph = graph_of("rhodf", OK)
    graph += [A, CLOSING]
    with pytest.warns(SuspendedRuleWarning):
        assert names(graph) == ["ok"]
    store_of(graph).add_rules(P + "@name other\n:other[?x, ?y] :- :p[?x, ?y], NOT :bad[?x, ?y] .")
    assert (EX.a, EX.other, EX.b) in graph and names(graph) == ["ok"]
    store_of(graph).remove_rules("ok")
    assert (EX.a, EX.other, EX.b) in graph and not names(graph)


def test_suspended_rules_of_a_copy_and_of_a_transaction() -> None:
    graph = graph_of("rhodf", OK)
    graph.add(A)
    graph.commit()
    store = store_of(graph)
    with pytest.warns(SuspendedRuleWarning), pytest.raises(ValueError), store.transaction():
        graph.add(CLOSING)
        assert B not in graph and names(graph) == ["ok"]
        raise ValueError
    assert B in graph and not names(graph)


SUM = P + "@name sum\n[?x, :total, ?t] :- AGGREGATE([?x, :value, ?v] ON ?x BIND sum(?v) AS ?t) ."


def test_a_sum_does_not_feed_itself_by_an_equal_literal() -> None:
    """The sum "5"^^xsd:decimal is the same as "5"^^xsd:integer, and so would be one more value of y."""
    graph = graph_of("owl2rl", SUM)
    two, three = (Literal(text, datatype=XSD.decimal) for text in ("2.0", "3.0"))
    graph += [(EX.x, EX.value, two), (EX.x, EX.value, three)]
    five = Literal("5", datatype=XSD.decimal)
    assert set(graph.objects(EX.x, EX.total)) == {five}
    with pytest.warns(SuspendedRuleWarning):
        graph.add((EX.y, EX.value, Literal(5)))
        assert set(graph.objects(EX.y, EX.value)) == {Literal(5)}
    assert names(graph) == ["sum"]
    graph.remove((EX.y, EX.value, None))
    assert not names(graph) and set(graph.objects(EX.x, EX.total)) == {five}


PROGRAMS = [
    ("rhodf", OK, P + "@name no\n:no[?x, ?y] :- :p[?x, ?y], NOT :ok[?x, ?y] ."),
    ("rdfs-plus", OK, P + "@name bare\n:Bare[?x] :- [?x, :p, ?y], NOT [?x, :value, ?y] .", SUM),
    ("owl2rl", SUM, P + "@name named\n[?x, a, :Known] :- [?x, :p, ?y], NOT [?x, :total, ?y] .", OK),
    ("rhodf", P + "@name makes\n[:p, rdfs:subPropertyOf, :ok] :- [?x, :p, ?y], NOT [?x, :bad, ?y] .", OK),
    (
        "owl2rl",
        P + "@name count\n[?x, :n, ?n] :- AGGREGATE([?x, a, ?c] ON ?x BIND count(?c) AS ?n) .",
        P + "@name cells\n[:l, rdf:first, ?x] :- [?x, :p, ?y], NOT [?x, :ok, ?y] .",
        P + "@name items\n[?x, :item, :yes] :- [:s, :has, ?l], MEMBER(?l, ?x) .",
    ),
]
POOL: list[Triple] = [
    A,
    (EX.b, EX.p, EX.a),
    (EX.a, EX.bad, EX.b),
    CLOSING,
    (EX.bad, RDFS.subPropertyOf, EX.p),
    (EX.p, RDFS.subPropertyOf, EX.bad),
    (EX.total, RDFS.subPropertyOf, EX.value),
    (EX.p, RDFS.domain, EX.Known),
    (EX.Known, RDFS.subClassOf, EX.Bare),
    (EX.a, EX.value, Literal("2.0", datatype=XSD.decimal)),
    (EX.a, EX.value, Literal("3.0", datatype=XSD.decimal)),
    (EX.b, EX.value, Literal(5)),
    (EX.b, EX.value, Literal("5", datatype=XSD.decimal)),
    (EX.b, EX.age, Literal("5.0", datatype=XSD.decimal)),
    (EX.a, OWL.sameAs, EX.b),
    (EX.b, OWL.sameAs, Literal(5)),
    (EX.c, EX.n, Literal(2)),
    (EX.age, RDFS.range, XSD.integer),
    (XSD.integer, RDFS.subClassOf, EX.Known),
    (EX.s, EX.has, EX.l),
    (EX.l, RDF.rest, RDF.nil),
    (EX.l, RDF.first, EX.c),
    (EX.a, RDF.type, EX.Known),
]


def states(graph: Graph) -> Iterator[object]:
    yield set(graph)
    yield names(graph)
    yield {str(found) for found in store_of(graph).inconsistencies()}


@pytest.mark.filterwarnings("ignore::corollary.store.SuspendedRuleWarning")
@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=pytest.mark.slow if n in (1, 2, 4) else ()) for n in range(len(PROGRAMS))],
)
def test_what_is_maintained_is_what_a_new_store_finds(number: int) -> None:
    chance = random.Random(number)
    seen: set[tuple[str, ...]] = set()
    for _ in range(3):
        graph = graph_of(*PROGRAMS[number])
        triples: set[Triple] = set()
        for _ in range(40):
            some = set(chance.sample(POOL, chance.choice((1, 1, 1, 2, 5))))
            if chance.random() < 0.5:
                triples |= some
                graph += some
            else:
                triples -= some
                graph -= some
            scratch = graph_of(*PROGRAMS[number])
            scratch += triples
            assert list(states(graph)) == list(states(scratch)), (some, triples)
            seen.add(tuple(names(graph)))
    assert len(seen) > 1, "some rules are suspended at times"


def test_where_warnings_are_errors_nothing_is_lost(tmp_path: Path) -> None:
    """Found: the warning was given in the middle of a commit, which did not happen. Only reads warn."""
    store = CorollaryStore(rules=["rhodf", parse_program(OK)])
    store.open(str(tmp_path), create=True)
    graph = Graph(store, EX.g)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph.add(A)
        graph.add(CLOSING)
        store.commit()
        with store.transaction():
            graph.add((EX.c, EX.p, EX.d))
        store.add_rules(P + "[?x, :q, ?y] :- [?x, :p, ?y] .")
        with pytest.raises(SuspendedRuleWarning):
            len(graph)
        assert len(store.rules()) == len(CorollaryStore(rules="rhodf").rules()) + 2
    store.close()
    again = CorollaryStore(rules="none")
    again.open(str(tmp_path))
    assert set(Graph(again, EX.g)) == {A, CLOSING, (EX.c, EX.p, EX.d)}
    again.close()


def test_a_warning_comes_again_after_a_rollback() -> None:
    graph = graph_of("rhodf", OK)
    graph.add(A)
    graph.commit()
    with pytest.warns(SuspendedRuleWarning), pytest.raises(ValueError), store_of(graph).transaction():
        graph.add(CLOSING)
        assert B not in graph
        raise ValueError
    assert B in graph
    graph.add(CLOSING)
    with pytest.warns(SuspendedRuleWarning) as caught:
        assert B not in graph
    assert caught[0].filename == __file__


def test_clashes_do_not_depend_on_what_came_first() -> None:
    """Found: of two ways through a list the later took the place of the earlier, and both were counted."""
    way = [
        (EX.s, EX.has, EX.l0),
        (EX.l0, RDF.rest, EX.m1),
        (EX.m1, RDF.first, EX.B),
        (EX.l0, RDF.rest, EX.l1),
        (EX.l1, RDF.rest, RDF.nil),
        (EX.l1, RDF.first, EX.B),
        (EX.l0, RDF.first, EX.A),
        (EX.A, EX.bad, EX.B),
        (EX.m1, RDF.rest, RDF.nil),
    ]
    rule = P + "@name c\nfalse :- [?s, :has, ?l], PAIR(?l, ?x, ?y), [?x, :bad, ?y] ."
    texts = set()
    for seed in range(6):
        graph = graph_of(rule)
        for triple in random.Random(seed).sample(way, len(way)):
            graph.add(triple)
            store_of(graph).inconsistencies()
        texts.add(tuple(map(str, store_of(graph).inconsistencies())))
        assert store_of(graph).statistics().inconsistencies == 1
        for clash in store_of(graph).inconsistencies():
            assert "PAIR" in str(clash) and store_of(graph).explain(clash).proofs
    assert len(texts) == 1
