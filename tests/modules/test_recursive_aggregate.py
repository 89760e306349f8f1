"""Aggregates in recursion: least values from nothing and through histories, against Bellman-Ford rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, product
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from rdflib import Graph, URIRef
from rdflib.util import from_n3
from tests.engine import Fact, facts_of, run
from tests.maintain.histories import History, assert_exact, histories
from tests.oracles import least_values, naive
from tests.strategies import EXAMPLE, sets_of, thorough

from corollary.columns import relation
from corollary.kernels.limits import LimitExceeded
from corollary.language import IRI, RDF_TYPE, XSD, Constant, Literal, Program, constant_text, parse_program
from corollary.modules import least_values as following
from corollary.modules import recursive_aggregate
from corollary.store import CorollaryStore


@pytest.fixture(autouse=True, scope="module")
def small_limits() -> Iterator[None]:
    """Let small relations keep an overlay, and small changes be followed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation, "MIN_BASE_PER_OVERLAY", 1)
        yield


PREFIX = f"PREFIX : <{EXAMPLE}>\n"


def named(name: str) -> IRI:
    return IRI(EXAMPLE + name)


def number(text: str, datatype: str = "integer") -> Literal:
    return Literal(text, XSD + datatype)


SHORTEST = """[?y, :distance, ?d] :- AGGREGATE(
    [?e, :from, ?x], [?e, :to, ?y], [?e, :length, ?w], [?x, :distance, ?v] ON ?y BIND min(?v + ?w) AS ?d) ."""
WIDEST = """[?y, :rank, ?d] :- AGGREGATE(
    [?x, :next, ?y], [?x, :rank, ?v] ON ?y BIND max(?v) AS ?d) ."""
HOPS = """[?y, :cost, ?d] :- AGGREGATE(
    [?x, :next, ?y], [?x, :cost, ?v], BIND(?v + 1 AS ?s) ON ?y BIND min(?s) AS ?d) ."""
LOWER = (
    "[?x, :distance, 0] :- :Source[?x] .",
    "[?x, :distance, ?v] :- [?x, :start, ?v] .",
    "[?x, :next, ?y] :- [?e, :from, ?x], [?e, :to, ?y], NOT :Closed[?e] .",
    "[?x, :rank, ?n] :- AGGREGATE([?x, :next, ?y] ON ?x BIND count(?y) AS ?n) .",
)
BETWEEN = ("[?x, :cost, ?d] :- [?x, :distance, ?d], NOT :Closed[?x] .",)
"""Seeds of the third aggregate."""

UPPER = (
    ":Near[?x] :- [?x, :cost, ?d], FILTER(?d < 3) .",
    "[?x, :far, ?y] :- [?x, :distance, ?d], [?y, :rank, ?r], NOT [?y, :cost, ?d] .",
    "[?n, :reached, ?d] :- AGGREGATE([?x, :distance, ?d] ON ?d BIND count(?x) AS ?n) .",
)


def parsed(*rules: str) -> Program:
    return parse_program(PREFIX + "\n".join(rules))


STAGES = (LOWER, SHORTEST, WIDEST, BETWEEN, HOPS, UPPER)
"""In the order of evaluation: rules for the naive evaluator, or one recursive aggregate."""

ALL = parsed(*LOWER, SHORTEST, WIDEST, *BETWEEN, HOPS, *UPPER).rules
WITHOUT_DOUBLES = UPPER[0]
"""The naive evaluator compares no doubles."""

ORIGIN = {
    rule: stage
    for stage, texts in enumerate(STAGES)
    for rule in parsed(*((texts,) if isinstance(texts, str) else texts))
}


def program_over(numbers: tuple[Constant, ...]) -> Program:
    """All rules that may be compared with the naive evaluator over such numbers."""
    rules = parsed(WITHOUT_DOUBLES).rules
    return Program(tuple(rule for rule in ALL if numbers is INTEGERS or rule not in rules))


def objects(facts: set[Fact], predicate: str) -> dict[Constant, list[Constant]]:
    found: dict[Constant, list[Constant]] = {}
    for s, p, o in facts:
        if p == named(predicate):
            found.setdefault(s, []).append(o)
    return found


def edges_of(facts: set[Fact], stage: int) -> list[tuple[Constant, Constant, Constant]]:
    """The edges of the recursive aggregate of a stage."""
    if STAGES[stage] == SHORTEST:
        sources, targets, lengths = (objects(facts, name) for name in ("from", "to", "length"))
        return [edge for e in sources for edge in product(sources[e], targets.get(e, ()), lengths.get(e, ()))]
    step = number("0" if STAGES[stage] == WIDEST else "1")
    return [(x, y, step) for x, found in objects(facts, "next").items() for y in found]


def expected(facts: frozenset[Fact], program: Program) -> set[Fact]:
    """What holds, stage by stage."""
    known = set(facts)
    for stage, texts in enumerate(STAGES):
        rules = [rule for rule in program if ORIGIN[rule] == stage]
        if not isinstance(texts, str):
            known = naive.closure(known, Program(tuple(rules)))[0]
        elif rules:
            predicate = rules[0].heads[0].predicate
            assert isinstance(predicate, IRI)
            is_max = texts == WIDEST
            known |= least_values.derived(known, predicate, edges_of(known, stage), is_max=is_max)
    return known


NODES = tuple(map(named, "abcde"))
ENDS: tuple[Constant, ...] = (*NODES, number("3"))
EDGES = tuple(named(f"e{n}") for n in range(8))
INTEGERS: tuple[Constant, ...] = tuple(number(str(n)) for n in (0, 0, 1, 1, 2, 3, 7))
MIXED: tuple[Constant, ...] = (
    *INTEGERS,
    number("01"),
    number("0.5", "decimal"),
    number("1.0", "decimal"),
    number("2.5E0", "double"),
    number("0.1E0", "double"),
    number("1", "float"),
    number("NaN", "double"),
    number("INF", "double"),
    number("-INF", "float"),
    Literal("one"),
    number("true", "boolean"),
    named("a"),
)


def triples(
    subjects: tuple[IRI, ...], predicate: str, values: tuple[Constant, ...]
) -> st.SearchStrategy[Fact]:
    return st.tuples(st.sampled_from(subjects), st.just(named(predicate)), st.sampled_from(values))


def networks(numbers: tuple[Constant, ...]) -> st.SearchStrategy[frozenset[Fact]]:
    """Edges, with one or more ends and lengths each, and seeds."""
    ends = st.one_of(
        triples(EDGES, "from", NODES), triples(EDGES, "to", ENDS), triples(EDGES, "length", numbers)
    )
    whole = st.tuples(
        st.sampled_from(EDGES), st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from(numbers)
    ).map(lambda e: [(e[0], named("from"), e[1]), (e[0], named("to"), e[2]), (e[0], named("length"), e[3])])
    seeds = st.one_of(
        triples(NODES, "distance", numbers),
        triples(NODES, "start", numbers),
        triples(NODES, "next", ENDS),
        triples(NODES, "rank", numbers),
        st.tuples(st.sampled_from(NODES), st.just(RDF_TYPE), st.just(named("Source"))),
        st.tuples(st.sampled_from((*EDGES, *NODES)), st.just(RDF_TYPE), st.just(named("Closed"))),
    )
    lists = st.lists(whole, max_size=8)
    return st.tuples(lists, sets_of(seeds, 8), st.frozensets(ends, max_size=4)).map(
        lambda parts: frozenset(fact for edge in parts[0] for fact in edge) | parts[1] | parts[2]
    )


@pytest.mark.parametrize("numbers", [INTEGERS, MIXED], ids=["integers", "mixed"])
@thorough(150)
@given(data=st.data())
def test_least_values_from_nothing(numbers: tuple[Constant, ...], data: st.DataObject) -> None:
    facts, program = data.draw(networks(numbers)), program_over(numbers)
    result = run(facts, program)
    assert facts_of(result.index.columns(legal=False), result.dictionary) == expected(facts, program)
    assert not result.suspended


@pytest.mark.parametrize("numbers", [INTEGERS, MIXED], ids=["integers", "mixed"])
@thorough(120)
@given(data=st.data())
def test_facts_come_and_go(numbers: tuple[Constant, ...], data: st.DataObject) -> None:
    history = data.draw(histories(networks(numbers)))
    program = program_over(numbers)
    assert_exact(history, program, wanted=[expected(facts, program) for facts in history])


@st.composite
def changes(draw: st.DrawFn) -> tuple[History, list[Program]]:
    """Facts change a little; of all rules but a few, one or two go and come at a time."""
    history = draw(histories(networks(INTEGERS)))
    numbers = st.sampled_from(range(len(ALL)))
    lacking = draw(st.frozensets(numbers, max_size=len(ALL) // 2))
    programs = []
    for _ in history:
        programs.append(Program(tuple(rule for i, rule in enumerate(ALL) if i not in lacking)))
        lacking ^= draw(st.frozensets(numbers, max_size=2))
    return history, programs


@thorough(100)
@given(changes())
def test_rules_come_and_go(both: tuple[History, list[Program]]) -> None:
    history, programs = both
    states = zip(history, programs, strict=True)
    assert_exact(history, programs, wanted=[expected(facts, program) for facts, program in states])


@thorough(60)
@given(histories(networks(MIXED)), st.integers(0, 12))
def test_a_change_may_give_up_at_any_edge(history: History, most: int) -> None:
    program = program_over(MIXED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "MIN_EDGES_FOLLOWED", most)
        assert_exact(history, program, wanted=[expected(facts, program) for facts in history])


FALLING: tuple[Constant, ...] = (*INTEGERS, number("-1"), number("-3"), number("-0.5", "decimal"))


def forward(facts: frozenset[Fact]) -> frozenset[Fact]:
    """Without the edges that lead back: no cycles are left."""
    places: dict[Constant, int] = {node: place for place, node in enumerate(NODES)}
    starts, ends = objects(set(facts), "from"), objects(set(facts), "to")
    back = {
        e
        for e in starts
        for x, y in product(starts[e], ends.get(e, ()))
        if places[x] >= places.get(y, len(NODES))
    }
    return frozenset(fact for fact in facts if fact[0] not in back)


@thorough(100)
@given(networks(FALLING))
def test_values_that_fall_without_end(facts: frozenset[Fact]) -> None:
    program = parsed(SHORTEST, *LOWER[:2])
    known = naive.closure(facts, parsed(*LOWER[:2]))[0]
    try:
        wanted = known | least_values.derived(known, named("distance"), edges_of(known, 1))
    except least_values.Endless:
        with pytest.raises(
            LimitExceeded, match="rule 1: the values fall without end along a cycle"
        ) as caught:
            run(facts, program)
        assert caught.value.limit == "terms"
    else:
        result = run(facts, program)
        assert facts_of(result.index.columns(), result.dictionary) == naive.visible(wanted)


SELDOM_FALLING: tuple[Constant, ...] = (*map(number, "112345"), number("-1"), number("-1.5E0", "double"))


@thorough(150)
@given(histories(networks(SELDOM_FALLING)))
def test_negative_steps_on_cycles(history: History) -> None:
    """Values may support each other along a cycle whose steps add up to 0."""
    program = parsed(SHORTEST, *LOWER[:2])
    try:
        wanted = [expected(facts, program) for facts in history]
    except least_values.Endless:
        reject()
    assert_exact(history, program, wanted=wanted)


@thorough(80)
@given(histories(networks(FALLING).map(forward)))
def test_negative_steps_through_histories(history: History) -> None:
    program = program_over(FALLING)
    history = [forward(facts) for facts in history]
    assert_exact(history, program, wanted=[expected(facts, program) for facts in history])


HUGE: tuple[Constant, ...] = (
    number("0"),
    number("1"),
    number(str(2**53)),
    number(str(10**30)),
    number("0." + "1" * 40, "decimal"),
)


@thorough(60)
@given(histories(networks(HUGE)))
def test_numbers_beyond_floats(history: History) -> None:
    program = program_over(HUGE)
    assert_exact(history, program, wanted=[expected(facts, program) for facts in history])


def roads(*edges: tuple[str, str, str]) -> set[Fact]:
    """Edges between nodes, with their lengths."""
    return {
        (named(f"{x}{y}{w}"), named(name), term)
        for x, y, w in edges
        for name, term in (("from", named(x)), ("to", named(y)), ("length", number(w)))
    }


START: Fact = (named("a"), RDF_TYPE, named("Source"))
ROUND = roads(("a", "b", "0"), ("b", "c", "0"), ("c", "b", "0"), ("c", "a", "0"), ("c", "c", "0"))
BELOW = roads(("a", "b", "5"), ("b", "c", "-2"), ("c", "b", "2"))
DIAMOND = roads(("a", "b", "1"), ("a", "c", "1"), ("b", "d", "1"), ("c", "d", "1"), ("d", "e", "1"))
LOOSE = roads(("x", "y", "1"), ("y", "x", "0"))


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([{START}, set(), {START}], id="a seed goes, and a cycle of length 0 has no other"),
        pytest.param([{START} | ROUND, ROUND, ROUND | {START}], id="a cycle of length 0 supports nothing"),
        pytest.param(
            [{START} | ROUND, {START} | ROUND - roads(("a", "b", "0")), {START} | ROUND],
            id="cut from its seed",
        ),
        pytest.param(
            [
                {START} | DIAMOND,
                {START} | DIAMOND - roads(("a", "b", "1")),
                {START} | DIAMOND - roads(("a", "b", "1"), ("c", "d", "1")),
                {START} | DIAMOND,
            ],
            id="equal by two paths",
        ),
        pytest.param(
            [
                {START} | BELOW - roads(("b", "c", "-2")),
                {START} | BELOW,
                {START} | BELOW - roads(("a", "b", "5")),
            ],
            id="a new negative step, then a cycle of length 0 loses its support",
        ),
        pytest.param([{START} | LOOSE, {START} | LOOSE | roads(("a", "x", "2")), LOOSE], id="an island"),
        pytest.param(
            [
                {START, (named("b"), named("distance"), number("1"))} | DIAMOND,
                {START} | DIAMOND,
                {START, (named("b"), named("distance"), number("01"))} | DIAMOND,
                {START, (named("b"), named("distance"), number("0"))} | DIAMOND,
                {(named("b"), named("distance"), number("1"))} | DIAMOND,
            ],
            id="explicit and derived",
        ),
        pytest.param(
            [
                {START} | DIAMOND,
                {START} | DIAMOND | {(named("ab1"), named("length"), number("0.5", "double"))},
                {START} | DIAMOND,
                {START} | DIAMOND | {(named("ab1"), named("length"), number("NaN", "double"))},
            ],
            id="a double comes and goes",
        ),
    ],
)
def test_cases(steps: list[set[Fact]]) -> None:
    program = parsed(SHORTEST, *LOWER[:2])
    history = [frozenset(facts) for facts in steps]
    for again in (history, history[::-1]):
        assert_exact(again, program, wanted=[expected(facts, program) for facts in again])


def test_the_rule_goes_and_comes_back() -> None:
    whole, without = parsed(SHORTEST, *LOWER[:2]), parsed(*LOWER[:2])
    facts = frozenset({START} | DIAMOND)
    programs = [whole, without, whole, parsed(SHORTEST), whole]
    assert_exact([facts] * 5, programs, wanted=[expected(facts, program) for program in programs])


def from_constant(term: Constant) -> Any:
    """The term in rdflib."""
    return from_n3(constant_text(term))


def test_a_read_ends_at_a_negative_cycle_and_goes_on_without() -> None:
    graph = Graph(CorollaryStore(rules=parsed(SHORTEST, *LOWER[:2])))
    distance, length = URIRef(EXAMPLE + "distance"), URIRef(EXAMPLE + "length")
    for fact in {START} | DIAMOND | roads(("d", "b", "-2")):
        graph.add(tuple(map(from_constant, fact)))
    for _ in range(2):
        with pytest.raises(LimitExceeded, match="rule 1: the values fall without end along a cycle"):
            len(graph)
    wrong = URIRef(EXAMPLE + "db-2")
    graph.set((wrong, length, from_constant(number("-1"))))
    assert graph.value(URIRef(EXAMPLE + "e"), distance) == from_constant(number("3"))
    graph.set((wrong, length, from_constant(number("-3"))))
    with pytest.raises(LimitExceeded, match="rule 1: the values fall without end along a cycle"):
        len(graph)
    graph.remove((wrong, length, None))
    assert graph.value(URIRef(EXAMPLE + "e"), distance) == from_constant(number("3"))


def test_an_interrupted_change_is_followed_again() -> None:
    graph = Graph(CorollaryStore(rules=parsed(SHORTEST, *LOWER[:2])))
    for fact in {START} | DIAMOND:
        graph.add(tuple(map(from_constant, fact)))
    assert len(graph) == 21
    interruptions = 0
    for place in range(1, 40):
        graph.remove((URIRef(EXAMPLE + ("ab1" if place % 2 else "ac1")), None, None))
        with pytest.MonkeyPatch.context() as patch:
            interrupt_at(place % 8, patch)
            try:
                len(graph)
            except KeyboardInterrupt:
                interruptions += 1
        d = graph.value(URIRef(EXAMPLE + "d"), URIRef(EXAMPLE + "distance"))
        assert d == from_constant(number("2"))
        for fact in DIAMOND:
            graph.add(tuple(map(from_constant, fact)))
        assert len(graph) == 21
    assert interruptions > 20


def interrupt_at(place: int, patch: pytest.MonkeyPatch) -> None:
    """Raise KeyboardInterrupt at the given call of ``LeastValues.edges``, or of its changes."""
    calls = count(1)
    for owner, name in ((recursive_aggregate.LeastValues, "edges"), (following.ValueChange, "_look_up")):
        real = getattr(owner, name)

        def interrupted(*args: Any, real: Callable[..., Any] = real) -> Any:
            if next(calls) == place:
                raise KeyboardInterrupt
            return real(*args)

        patch.setattr(owner, name, interrupted)
