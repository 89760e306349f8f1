"""Nothing runs away: all work ends by its limits, or when it is cancelled, and leaves the state before."""

from __future__ import annotations

import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rdflib import OWL, RDF, Dataset, Graph, Literal, Namespace
from rdflib.plugins.sparql.operators import register_custom_function, unregister_custom_function
from rdflib.term import Variable
from tests.timing import at_most

from corollary.language import CorollaryError, parse_program
from corollary.store import (
    Cancelled,
    CorollaryStore,
    LimitExceeded,
    Limits,
    SparqlSyntaxError,
    UnendingRuleWarning,
)

EX = Namespace("http://example.org/")

COUNTER = parse_program("PREFIX : <http://example.org/> [?x, :n, ?m] :- [?x, :n, ?k], BIND(?k + 1 AS ?m) .")
CLOSURE = parse_program("PREFIX : <http://example.org/> [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .")
LISTED = parse_program(
    "PREFIX : <http://example.org/> [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z], FILTER(?x != ?z) ."
)
"""As CLOSURE, but never compressed."""

P = "<http://example.org/p>"
PRODUCT = f"SELECT * {{ ?a {P} ?b . ?c {P} ?d . ?e {P} ?f }}"
SLOW = "SELECT ?a { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f FILTER(STRLEN(CONCAT(STR(?a), STR(?c), STR(?e))) < 5) }"
"""Takes minutes on a thousand facts: a thousand million rows are tested."""

SOON = 1000
"""Reference loops of ``tests.timing`` in which work has to end: it would take minutes."""

pytestmark = pytest.mark.filterwarnings("ignore::corollary.store.UnendingRuleWarning")


def chain(size: int, **options: object) -> Graph:
    graph = Graph(CorollaryStore(**options))  # type: ignore[arg-type]
    graph.addN((EX[f"x{i}"], EX.p, EX[f"x{i + 1}"], graph) for i in range(size))
    return graph


def exceeded(work: Callable[[], object]) -> LimitExceeded:
    with pytest.raises(LimitExceeded) as caught:
        work()
    assert isinstance(caught.value, CorollaryError)
    return caught.value


# Reasoning


def test_rules_that_invent_without_end_are_ended() -> None:
    graph = Graph(CorollaryStore(rules=COUNTER, limits=Limits(terms=200)))
    graph.add((EX.a, EX.n, Literal(0)))
    for _ in range(2):
        found = exceeded(lambda: len(graph))
        assert found.limit == "terms"
        assert found.value == 201
        assert "?k + 1" in found.where
    graph.remove((EX.a, EX.n, None))
    assert set(graph) == set()
    graph.add((EX.a, EX.q, EX.b))
    assert set(graph) == {(EX.a, EX.q, EX.b)}


def test_counting_to_an_end_is_not_ended() -> None:
    program = parse_program(
        "PREFIX : <http://example.org/> [?x, :n, ?m] :- [?x, :n, ?k], FILTER(?k < 50), BIND(?k + 1 AS ?m) ."
    )
    graph = Graph(CorollaryStore(rules=program, limits=Limits(terms=32)))
    graph.add((EX.a, EX.n, Literal(0)))
    assert set(graph.objects(EX.a, EX.n)) == {Literal(i) for i in range(51)}


def test_terms_that_are_computed_once_do_not_count() -> None:
    program = parse_program(
        "PREFIX : <http://example.org/> [?x, :m, ?m] :- [?x, :n, ?k], BIND(?k + 1 AS ?m) ."
    )
    graph = Graph(CorollaryStore(rules=program, limits=Limits(terms=0)))
    graph.addN((EX.a, EX.n, Literal(3 * i), graph) for i in range(100))
    assert set(graph.objects(EX.a, EX.m)) == {Literal(3 * i + 1) for i in range(100)}


def test_a_long_chain_ends_by_the_limit_of_memory_and_says_what_is_so_large() -> None:
    graph = chain(30_000, rules=LISTED, limits=Limits(bytes=200_000_000))
    found = exceeded(lambda: len(graph))
    assert found.limit == "bytes"
    assert found.value > 200_000_000
    assert found.where == "transitive closure of <http://example.org/p>"
    graph.remove((EX.x15000, EX.p, None))
    graph.remove((None, EX.p, None))
    assert len(graph) == 0


def test_a_clique_of_equals_ends_by_the_limit_of_facts() -> None:
    graph = Graph(CorollaryStore(rules="owl2rl", limits=Limits(facts=100_000)))
    graph.addN((EX[f"x{i}"], OWL.sameAs, EX[f"x{i + 1}"], graph) for i in range(2000))
    found = exceeded(lambda: len(graph))
    assert found.limit == "facts"
    assert found.value > 100_000
    assert found.where == f"transitive closure, facts of <{OWL.sameAs}>"


def test_facts_are_those_of_one_call() -> None:
    graph = chain(10, rules=CLOSURE, limits=Limits(facts=50))
    assert len(graph) == 55
    graph.add((EX.x10, EX.p, EX.x11))
    assert len(graph) == 66
    graph.addN((EX[f"x{i}"], EX.p, EX[f"x{i + 1}"], graph) for i in range(11, 20))
    assert exceeded(lambda: len(graph)).limit == "facts"


def test_a_change_of_rules_that_goes_too_far_leaves_the_rules_before() -> None:
    graph = chain(100, rules="none", limits=Limits(facts=50))
    store = graph.store
    assert isinstance(store, CorollaryStore)
    assert exceeded(lambda: store.add_rules(CLOSURE)).limit == "facts"
    assert len(store.rules()) == 0
    assert len(graph) == 100


def test_a_transaction_that_goes_too_far_is_rolled_back(tmp_path: Path) -> None:
    store = CorollaryStore(rules=CLOSURE, limits=Limits(facts=50))
    store.open(str(tmp_path / "folder"), create=True)
    graph = Graph(store)
    graph.add((EX.a, EX.p, EX.b))
    store.commit()

    def change() -> None:
        with store.transaction():
            graph.addN((EX[f"x{i}"], EX.p, EX[f"x{i + 1}"], graph) for i in range(20))

    assert exceeded(change).limit == "facts"
    assert set(graph) == {(EX.a, EX.p, EX.b)}
    store.close()
    again = CorollaryStore(rules=CLOSURE)
    again.open(str(tmp_path / "folder"))
    assert set(Graph(again)) == {(EX.a, EX.p, EX.b)}
    again.close()


# Queries


def test_a_product_is_refused_before_it_is_made() -> None:
    graph = chain(10_000, rules="none")
    found = exceeded(lambda: graph.query(PRODUCT))
    assert found.limit == "bytes"
    assert found.value > 10**11
    assert "?c <http://example.org/p> ?d" in found.where
    assert len(graph.query(f"{PRODUCT} LIMIT 10")) == 10


def test_rows_are_limited() -> None:
    graph = chain(100, rules="none")
    found = exceeded(lambda: graph.query(PRODUCT, limits=Limits(facts=1000)))
    assert (found.limit, found.value) == ("facts", 1_000_000)
    assert len(graph.query("SELECT * { ?s ?p ?o }", limits=Limits(facts=100))) == 100
    assert exceeded(lambda: graph.query("SELECT * { ?s ?p ?o }", limits="facts=99")).limit == "facts"


@pytest.mark.parametrize(
    "query",
    [
        SLOW,
        "SELECT ?x { ?x ?p ?y . ?a ?q ?b FILTER(?x != ?b && EXISTS { ?x ?r ?z . ?a ?t ?u FILTER(?z = ?u) })}",
        "SELECT (COUNT(*) AS ?n) { ?x <http://example.org/p>* ?y . ?a <http://example.org/p>* ?b }",
        "DESCRIBE ?a { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f FILTER(?b != ?d && ?d != ?f && ?a = ?e) }",
    ],
    ids=["filter", "exists", "paths", "by rdflib"],
)
def test_a_query_ends_in_time(query: str) -> None:
    graph = chain(2000, rules="none")
    with at_most(SOON):
        found = exceeded(lambda: graph.query(query, limits=Limits(seconds=0.3)))
    assert found.limit == "seconds"
    assert found.value >= 0.3
    assert set(graph.objects(EX.x7, EX.p)) == {EX.x8}


def test_what_rdflib_answers_is_what_it_was() -> None:
    def double(term: Any) -> Literal:
        return Literal(2 * int(str(term)[20:]))

    register_custom_function(EX.double, double)  # type: ignore[arg-type]
    try:
        graph = chain(3, rules="none")
        found = graph.query("SELECT ?d { ?a ?p ?b BIND(<http://example.org/double>(?a) AS ?d) } ORDER BY ?d")
        assert [str(row[Variable("d")]) for row in found.bindings] == ["0", "2", "4"]
    finally:
        unregister_custom_function(EX.double, double)
    described = graph.query("DESCRIBE <http://example.org/x1>", limits=Limits(seconds=60)).graph
    assert described is not None and set(described) == {(EX.x1, EX.p, EX.x2)}
    dataset = Dataset(CorollaryStore(rules="none"))
    dataset.graph(EX.g).add((EX.a, EX.p, EX.b))
    assert len(dataset.query("DESCRIBE ?x { GRAPH ?g { ?x ?p ?y } }").graph or ()) <= 1
    with pytest.raises(SparqlSyntaxError):
        graph.query("SELECT nonsense")


def test_an_update_goes_by_limits_and_leaves_the_state_before() -> None:
    graph = chain(1000, rules="none", limits=Limits(seconds=0.3))
    update = SLOW.replace("SELECT ?a {", "INSERT { ?a <http://example.org/q> ?c } WHERE {")
    assert exceeded(lambda: graph.update(update)).limit == "seconds"
    assert len(graph) == 1000
    graph.update("INSERT DATA { <http://example.org/a> <http://example.org/p> <http://example.org/b> }")
    assert (EX.a, EX.p, EX.b) in graph
    with at_most(SOON):
        assert exceeded(lambda: graph.update(update, limits="seconds=0.1")).value >= 0.1


def test_a_query_that_needs_reasoning_counts_it() -> None:
    graph = chain(100, rules=CLOSURE)
    found = exceeded(lambda: graph.query("ASK { ?s ?p ?o }", limits=Limits(facts=50)))
    assert found.where == "transitive closure, facts of <http://example.org/p>"
    assert graph.query("ASK { ?s ?p ?o }").askAnswer
    assert len(graph) == 5050


def test_texts_that_grow_are_refused_before_they_are_made() -> None:
    doubling = parse_program(
        "PREFIX : <http://example.org/> [?x, :n, ?m] :- [?x, :n, ?k], BIND(CONCAT(?k, ?k) AS ?m) ."
    )
    graph = Graph(CorollaryStore(rules=doubling, limits=Limits(bytes=100_000_000)))
    graph.add((EX.a, EX.n, Literal("abcdefgh")))
    found = exceeded(lambda: len(graph))
    assert (found.limit, "concat(?k, ?k)" in found.where) == ("bytes", True)
    graph = Graph(CorollaryStore(rules="none"))
    graph.add((EX.a, EX.t, Literal("a" * 10_000)))
    replaced = 'SELECT ?u { ?a ?p ?t BIND(REPLACE(?t, "a", ?t) AS ?u) }'
    assert exceeded(lambda: graph.query(replaced, limits=Limits(bytes=100_000_000))).limit == "bytes"
    texts = " ".join(f"BIND(CONCAT(?t{i}, ?t{i}, ?t{i}, ?t{i}) AS ?t{i + 1})" for i in range(12))
    asked = f"SELECT ?t12 {{ ?a ?p ?t0 {texts} }}"
    assert exceeded(lambda: graph.query(asked, limits=Limits(bytes=300_000_000))).limit == "bytes"


def test_parts_that_are_put_together_are_counted() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    graph.addN((EX.hub, EX.p, EX[f"l{i}"], graph) for i in range(4000))
    pairs = f"SELECT * {{ ?x {P} ?a . ?x {P} ?b FILTER(?x != <http://example.org/z>) }}"
    assert exceeded(lambda: graph.query(pairs, limits=Limits(bytes=200_000_000))).limit == "bytes"
    assert len(graph.query(pairs, limits=Limits(facts=16_000_000))) == 16_000_000


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT ?a ?b { WHERE }",
        "SELECT ?a ?b (COUNT(*) AS ?n) { WHERE } GROUP BY ?a ?b",
        "CONSTRUCT { ?a <urn:z> ?b } { WHERE }",
        "SELECT (GROUP_CONCAT(?a) AS ?n) { WHERE } GROUP BY ?b",
    ],
)
def test_an_answer_that_comes_late_is_none(query: str) -> None:
    graph = Graph(CorollaryStore(rules="none"))
    graph.addN((EX[f"n{i}"], EX.p, EX.hub, graph) for i in range(1500))
    where = f"?a {P} ?h . ?b {P} ?h"
    with at_most(SOON):
        found = exceeded(lambda: graph.query(query.replace("WHERE", where), limits=Limits(seconds=0.001)))
    assert found.limit == "seconds"


def test_terms_that_fan_out_are_bounded() -> None:
    digits = parse_program(
        "PREFIX : <http://example.org/> "
        "[?x, :n, ?m] :- [?x, :n, ?k], [:d, :digit, ?v], BIND(?k * 10 + ?v AS ?m) ."
    )
    graph = Graph(CorollaryStore(rules=digits, limits=Limits(terms=500)))
    graph.add((EX.a, EX.n, Literal(1)))
    graph.addN((EX.d, EX.digit, Literal(i), graph) for i in range(10))
    assert exceeded(lambda: len(graph)).limit == "terms"


def test_memory_that_runs_out_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(3, rules="none")

    def run_out(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr("corollary.sparql.evaluate.projected", run_out)
    with pytest.raises(MemoryError) as caught:
        graph.query("SELECT ?s { ?s ?p ?o }")
    assert isinstance(caught.value, LimitExceeded)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert "memory ran out: no room (SELECT)" in str(caught.value)


def test_limits_of_an_inner_query_hold() -> None:
    graph = chain(2000, rules="none")
    taken: list[float] = []

    def inner(_: Any) -> Literal:
        with at_most(SOON):
            taken.append(exceeded(lambda: graph.query(SLOW, limits=Limits(seconds=0.2))).value)
        return Literal(1)

    register_custom_function(EX.inner, inner)  # type: ignore[arg-type]
    try:
        asked = "SELECT ?d { BIND(<http://example.org/inner>(1) AS ?d) }"
        assert len(graph.query(asked, limits=Limits(seconds=60))) == 1
    finally:
        unregister_custom_function(EX.inner, inner)
    assert taken[0] >= 0.2


# Ending it from outside


@pytest.fixture
def waiting() -> Iterator[list[threading.Thread]]:
    threads: list[threading.Thread] = []
    yield threads
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_cancel_ends_what_runs_and_what_waits_and_is_not_sticky(waiting: list[threading.Thread]) -> None:
    graph = chain(2000, rules="none")
    store = graph.store
    assert isinstance(store, CorollaryStore)
    failures: list[type[BaseException]] = []

    def ask() -> None:
        try:
            graph.query(SLOW)
        except Exception as error:
            failures.append(type(error))

    waiting += [threading.Thread(target=ask) for _ in range(3)]
    for thread in waiting:
        thread.start()
    time.sleep(0.5)
    with at_most(SOON):
        store.cancel()
        for thread in waiting:
            thread.join(60)
    assert failures == [Cancelled] * 3
    assert len(graph.query("SELECT * { ?s ?p ?o }")) == 2000


def test_cancel_ends_reasoning_and_those_who_wait_for_it(waiting: list[threading.Thread]) -> None:
    graph = Graph(CorollaryStore(rules=COUNTER, limits=Limits(terms=None)))
    store = graph.store
    assert isinstance(store, CorollaryStore)
    graph.add((EX.a, EX.n, Literal(0)))
    failures: list[type[BaseException]] = []

    def read() -> None:
        try:
            len(graph)
        except Exception as error:
            failures.append(type(error))

    waiting += [threading.Thread(target=read) for _ in range(2)]
    for thread in waiting:
        thread.start()
    time.sleep(0.5)
    with at_most(SOON):
        exceeded(lambda: graph.query("ASK { ?s ?p ?o }", limits=Limits(seconds=0.2)))
    store.cancel()
    for thread in waiting:
        thread.join(60)
    assert failures == [Cancelled] * 2
    graph.remove((EX.a, EX.n, None))
    assert len(graph) == 0


def test_cancel_ends_a_load(tmp_path: Path, waiting: list[threading.Thread]) -> None:
    path = tmp_path / "endless.nt"
    with path.open("w") as stream:
        stream.writelines(
            f"<http://example.org/x{i}> <http://example.org/p> <x:o{i}> .\n" for i in range(10**6)
        )
    graph = chain(1, rules="none")
    store = graph.store
    assert isinstance(store, CorollaryStore)
    begun = threading.Event()

    def cancel() -> None:
        begun.wait(60)
        store.cancel()

    waiting.append(threading.Thread(target=cancel))
    waiting[0].start()
    with pytest.raises(Cancelled):
        store.load(path, progress=lambda *_: begun.set() or time.sleep(0.01))  # type: ignore[func-returns-value]
    assert set(graph) == {(EX.x0, EX.p, EX.x1)}
    assert store.load(path) == 10**6


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no signals here")
def test_an_interrupt_ends_machine_code_that_takes_long() -> None:
    graph = chain(20_000, rules=LISTED)
    other = chain(5, rules=LISTED)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in (0.05, 0.3):
            with at_most(SOON):
                signal.setitimer(signal.ITIMER_REAL, delay)
                with pytest.raises(KeyboardInterrupt):
                    len(graph)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    graph.remove((None, EX.p, None))
    assert len(graph) == 0
    assert len(other) == 15


# How limits are given


def test_limits_are_read_from_text_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Limits.parse("seconds=1.5, facts=1e6, bytes=2GB") == Limits(1.5, 10**6, 2 * 10**9)
    assert Limits.parse("bytes=500MiB,terms=none") == Limits(bytes=500 << 20, terms=None)
    assert Limits.parse("") == Limits()
    graph = Graph("Corollary")
    assert isinstance(graph.store, CorollaryStore)
    monkeypatch.setenv("COROLLARY_LIMITS", "facts=3")
    assert exceeded(lambda: len(chain(9, rules=CLOSURE))).limit == "facts"
    assert len(chain(9, rules=CLOSURE, limits=Limits())) == 45
    assert (
        exceeded(lambda: len(chain(9, configuration="rules=rdfs;limits=facts=2", limits=None))).limit
        == "facts"
    )
    monkeypatch.setenv("COROLLARY_LIMITS", "fact=3")
    with pytest.raises(CorollaryError, match="'fact=3' is no limit"):
        CorollaryStore()
    with pytest.raises(CorollaryError, match="limits=5: they are Limits"):
        graph.query("ASK {}", limits=5)
    with pytest.raises(SparqlSyntaxError):
        graph.update("INSERT nonsense", limits="seconds=9")
    assert Limits(seconds=10**400) == Limits()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("hours=1", "'hours=1' is no limit"),
        ("seconds", "'seconds' is no limit"),
        ("seconds=soon", "seconds=soon: a limit is a number, such as 10"),
        ("bytes=12XB", "bytes=12XB: a limit is a number, such as 500MB"),
        ("facts=-1", "facts=-1: a limit is not negative"),
        ("facts=1.5", "facts=1.5: a limit of facts is a whole number"),
        ("threads=0", "threads=0: at least one thread is needed"),
        ("seconds=nan", "a limit is not negative"),
        ("facts=1e999", "facts=1e999: a limit is a number"),
    ],
)
def test_what_is_no_limit(text: str, complaint: str) -> None:
    with pytest.raises(CorollaryError, match=complaint):
        CorollaryStore(limits=text)


def test_an_error_can_be_pickled() -> None:
    found = exceeded(lambda: chain(9, rules=CLOSURE, limits=Limits(facts=3)).query("ASK { ?s ?p ?o }"))
    copy = pickle.loads(pickle.dumps(found))
    assert (copy.limit, copy.value, copy.where, str(copy)) == (
        found.limit,
        found.value,
        found.where,
        str(found),
    )


# Rules that may have no end


def test_rules_that_may_have_no_end_are_named_once_when_they_come() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    store = graph.store
    assert isinstance(store, CorollaryStore)
    graph.add((EX.a, RDF.type, EX.B))
    with pytest.warns(UnendingRuleWarning, match=r"BIND\(\?k \+ 1 AS \?m\).*without end"):
        store.add_rules(COUNTER)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(graph) == 1
        graph.add((EX.a, RDF.type, EX.C))
        assert len(graph) == 2
    with pytest.warns(UnendingRuleWarning):
        len(Graph(CorollaryStore(rules=COUNTER)))


def test_many_short_works_end_by_the_limit_of_the_long_one() -> None:
    """Each takes less time than passes between two looks at the clock of the work around it."""
    from corollary.kernels.limits import Cancellation, check, limited

    def long() -> None:
        for _ in range(10_000_000):
            limited(Limits(), Cancellation(), check)

    with pytest.raises(LimitExceeded, match=r"this took more than 0\.05 s"):
        limited(Limits(seconds=0.05), Cancellation(), long)
