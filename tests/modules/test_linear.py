"""The linear closure module against semi-naive evaluation, the naive closure, and starting over."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import strategies as some
from tests.engine import Fact, run
from tests.evaluate.test_against_naive import is_stratified
from tests.kernels import twins
from tests.maintain.histories import History, assert_exact, histories, histories_of_rules
from tests.modules.driver import closed_by_joins, closed_by_modules
from tests.strategies import thorough

from corollary.language import IRI, OWL, RDF_TYPE, Program, parse_program
from corollary.modules.linear import Linear
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import linear_shape
from corollary.terms.dictionary import TermDictionary

PREFIX = f"PREFIX : <{some.EXAMPLE}>\n"
LEFT = "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :q, ?z] ."
RIGHT = "[?x, :p, ?z] :- [?x, :q, ?y], [?y, :p, ?z] ."
BASE = "[?x, :p, ?y] :- [?x, :q, ?y] ."
TEMPLATE = "[?x, ?t, ?z] :- [?t, a, owl:TransitiveProperty], [?x, ?t, ?y], [?y, ?t, ?z] ."
OTHERS = (
    BASE,
    LEFT,
    RIGHT,
    "[?x, :p, ?y] :- [?y, :q, ?x] .",
    "[?x, :p, ?y] :- [?x, :q, ?y], [?x, :r, ?y] .",
    "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :r, ?z] .",
    "[?x, :q, ?z] :- [?x, :q, ?y], [?y, :p, ?z] .",
    "[?x, :r, ?z] :- [?x, :q, ?y], [?y, :r, ?z] .",
    "[?x, :q, ?y] :- [?y, :p, ?x] .",
    "[?x, :q, ?z] :- [?x, :p, ?y], [?y, :r, ?z] .",
    "[?x, :p, ?z] :- [?x, :r, ?y], [?y, :p, ?z], [?z, :r, ?x] .",
    "[?x, :q, ?z] :- [?x, :q, ?y], [?y, :q, ?z] .",
    "[?x, :r, ?z] :- [?x, :r, ?y], [?y, :r, ?z] .",
    "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .",
    TEMPLATE,
    "owl:TransitiveProperty[:q] :- [?x, :p, ?x] .",
    "[?x, :r, ?y] :- [?x, :q, ?y], NOT [?x, :p, ?y] .",
)
"""The first few make facts of the closed relation, the next ones edges, then there are other closures."""

POSITIVE = OTHERS[:-1]


@st.composite
def programs(draw: st.DrawFn, others: tuple[str, ...] = POSITIVE) -> Program:
    """One of the two rules, mostly with a base, and a few that feed them."""
    closing = [draw(st.sampled_from((LEFT, RIGHT))), *draw(st.sampled_from(((), (BASE,), (BASE,))))]
    more = draw(st.sets(st.sampled_from(others), max_size=3))
    return parse_program(PREFIX + "\n".join(dict.fromkeys((*closing, *sorted(more)))))


nodes = st.integers(0, 7).map(lambda number: IRI(f"{some.EXAMPLE}n{number}"))
edges: st.SearchStrategy[Fact] = st.tuples(
    nodes, st.sampled_from((*some.PROPERTIES, some.PROPERTIES[1])), nodes
)
transitive: st.SearchStrategy[Fact] = st.tuples(
    some.properties, st.just(RDF_TYPE), st.just(IRI(OWL + "TransitiveProperty"))
)
facts = st.one_of(*[edges] * 9, transitive)
graphs = some.sets_of(facts, 24)
closed_by_type = (IRI(some.EXAMPLE + "p"), RDF_TYPE, IRI(OWL + "TransitiveProperty"))
graphs_closed_twice = graphs.map(lambda facts: facts | {closed_by_type})
programs_closing_twice = programs().map(lambda program: program + parse_program(PREFIX + TEMPLATE))
"""The linear rule closes p, and so does its type."""

batches = st.lists(
    st.one_of(st.lists(facts, max_size=3), st.lists(facts, max_size=20)), min_size=1, max_size=6
)


def test_what_one_layer_restores_a_later_one_may_delete() -> None:
    """The edges are schema: they go first, while a p c, which follows from a p b, is still there."""
    rules = "[?x, ?s, ?z] :- [?s, a, owl:TransitiveProperty], [?x, ?s, ?y], [?y, ?s, ?z] ."
    schema = "[:r, a, owl:TransitiveProperty] :- [?x, :q, ?x] ."
    program = parse_program(PREFIX + LEFT + rules + schema)
    a, b, c, p, q = (IRI(some.EXAMPLE + name) for name in "abcpq")
    assert_exact([frozenset({(a, p, b), (b, q, c)}), frozenset(), frozenset({(b, q, c)})], program)


@thorough(150)
@given(programs(), batches)
def test_against_semi_naive(program: Program, batches: list[list[Fact]]) -> None:
    assert closed_by_modules(program, batches) == closed_by_joins(program, batches)


numbers = st.integers(0, 9)
numbered = st.lists(st.tuples(numbers, st.sampled_from("pq"), numbers), max_size=12)


@thorough(150)
@given(st.sampled_from((LEFT, RIGHT)), st.sampled_from(("", BASE)), st.lists(numbered, max_size=5))
def test_against_naive_closure(rule: str, base: str, batches: list[list[tuple[int, str, int]]]) -> None:
    def name(part: int | str) -> IRI:
        return IRI(f"{some.EXAMPLE}{part}")

    stated = {fact for batch in batches for fact in batch}
    seeds, edges = ({(u, v) for u, p, v in stated if p == relation} for relation in "pq")
    paths = twins.closure(edges)
    if base:
        seeds |= edges
    if rule == LEFT:
        closed = seeds | {(x, z) for x, y in seeds for u, z in paths if y == u}
    else:
        closed = seeds | {(x, z) for x, u in paths for y, z in seeds if u == y}
    found = closed_by_modules(
        parse_program(PREFIX + rule + base),
        [[(name(u), name(p), name(v)) for u, p, v in batch] for batch in batches],
    )
    expected = {(u, "p", v) for u, v in closed} | {(u, "q", v) for u, v in edges}
    assert found == {(name(u), name(p), name(v)) for u, p, v in expected}


@thorough(150)
@given(histories(graphs), programs())
def test_transactions(history: History, program: Program) -> None:
    assert_exact(history, program)


def steps(rule: str, *states: str) -> History:
    """Facts written as ``apb``, each state as words; turned round for the second form."""

    def fact(word: str) -> Fact:
        start, relation, end = (IRI(some.EXAMPLE + letter) for letter in word)
        return (start, relation, end) if rule == LEFT else (end, relation, start)

    return [frozenset(map(fact, state.split())) for state in states]


@pytest.mark.parametrize("rule", [LEFT, RIGHT])
def test_a_derived_fact_turns_explicit_and_loses_its_paths(rule: str) -> None:
    """What it leads to goes with it, in the end."""
    history = steps(rule, "apb bqc cqd", "apb bqc cqd apc", "apb cqd apc", "apb cqd")
    assert_exact(history, parse_program(PREFIX + rule))


@pytest.mark.parametrize("rule", [LEFT, RIGHT])
def test_what_follows_from_a_derived_fact_that_has_another_proof(rule: str) -> None:
    """a p d is looked at while nothing is known of the proof that a p c has beside its paths."""
    copies = "".join(f"[?x, :p, ?y] :- [?x, :{name}, ?y] ." for name in "efg")
    history = steps(rule, "agb bqc cqd", "agb bqc cqd aec afd", "bqc cqd aec")
    assert_exact(history, parse_program(PREFIX + rule + copies))


@thorough(100)
@given(histories(graphs), programs(OTHERS))
def test_transactions_and_negation(history: History, program: Program) -> None:
    assume(is_stratified(program))
    assert_exact(history, program)


@thorough(100)
@given(histories(st.one_of(graphs, some.fact_sets)), some.programs(), programs())
def test_transactions_beside_any_rules(history: History, others: Program, program: Program) -> None:
    assert_exact(history, program + others)


@thorough(120)
@given(histories_of_rules(graphs, programs(OTHERS)))
def test_rules_come_and_go(both: tuple[History, list[Program]]) -> None:
    history, programs = both
    assume(all(map(is_stratified, programs)))
    assert_exact(history, programs)


@pytest.mark.parametrize(
    ("text", "is_inverse"),
    [
        (LEFT, False),
        (RIGHT, True),
        ("[?a, :p, ?c] :- [?b, :q, ?c], [?a, :p, ?b] .", False),
        ("[?a, :p, ?c] :- [?b, :p, ?c], [?a, :q, ?b] .", True),
    ],
)
def test_linear_rules_are_recognised(text: str, is_inverse: bool) -> None:
    compiled = CompiledProgram(parse_program(PREFIX + text), TermDictionary())
    shape = linear_shape(compiled.rules[0], compiled.rdf_type)
    assert shape is not None
    closed, edges = map(compiled.dictionary.decode, (shape.closed, shape.edges))
    assert (closed, edges) == ("<http://example.org/p>", "<http://example.org/q>")
    assert shape.is_inverse is is_inverse


@pytest.mark.parametrize(
    "text",
    [
        "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .",
        "[?x, :p, ?z] :- [?x, :q, ?y], [?y, :r, ?z] .",
        "[?x, :p, ?z] :- [?x, :q, ?y], [?y, :q, ?z] .",
        "[?z, :p, ?x] :- [?x, :p, ?y], [?y, :q, ?z] .",
        "[?x, :p, ?z] :- [?x, :p, ?y], [?z, :q, ?y] .",
        "[?x, :p, ?x] :- [?x, :p, ?y], [?y, :q, ?x] .",
        "[?x, :p, ?z] :- [?x, :p, :a], [:a, :q, ?z] .",
        "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :q, ?z], FILTER(?x != ?z) .",
        "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :q, ?z], NOT [?x, :r, ?z] .",
        "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :q, ?z], [?y, :r, ?y] .",
        "[?x, :p, ?z] :- [?x, :p, ?y], [?y, ?q, ?z] .",
        "[?x, :p, ?z] :- [?x, :p, ?y], [?y, a, ?z] .",
        "[?x, a, ?z] :- [?x, :q, ?y], [?y, a, ?z] .",
        "[?x, a, ?z] :- [?x, a, ?y], [?y, :q, ?z] .",
        "[?x, :p, ?z], [?z, :p, ?x] :- [?x, :p, ?y], [?y, :q, ?z] .",
    ],
)
def test_what_is_no_linear_rule(text: str) -> None:
    compiled = CompiledProgram(parse_program(PREFIX + text), TermDictionary())
    assert linear_shape(compiled.rules[0], compiled.rdf_type) is None


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([LEFT, BASE], [Linear.name, "inclusion"]),
        ([LEFT, RIGHT], [Linear.name, "rules"]),
        ([RIGHT, LEFT, BASE], [Linear.name, "rules", "inclusion"]),
        ([LEFT, "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] ."], ["rules", "transitive closure"]),
        ([LEFT, "[?x, :q, ?z] :- [?x, :p, ?y], [?y, :q, ?z] ."], [Linear.name, Linear.name]),
        ([LEFT, "[?x, ?y, ?z] :- [?y, :p, :a], [?z, ?y, ?x] ."], ["schema", "inclusion"]),
    ],
)
def test_one_rule_of_a_relation_is_taken(texts: list[str], expected: list[str]) -> None:
    """No second one, none of a relation that is closed transitively, and none that leads to guards."""
    engine = run((), parse_program(PREFIX + "\n".join(texts))).engine
    assert [assignment.module for assignment in engine.assignments] == expected
