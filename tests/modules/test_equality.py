"""Equality: recognised beside its clique rules, and exact under all changes."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine import Fact, run
from tests.maintain.histories import assert_exact, histories
from tests.modules.driver import closed_by_joins, closed_by_modules

from corollary.language import IRI, Program, parse_program

SAME = "http://www.w3.org/2002/07/owl#sameAs"

SYMMETRY, TRANSITIVITY, SUBJECT, PREDICATE, OBJECT = parse_program(
    f"""
    PREFIX : <urn:>
    @name symmetry
    [?y, <{SAME}>, ?x] :- [?x, <{SAME}>, ?y] .
    @name transitivity
    [?x, <{SAME}>, ?z] :- [?x, <{SAME}>, ?y], [?y, <{SAME}>, ?z] .
    @name subject
    [?y, ?p, ?o] :- [?x, <{SAME}>, ?y], [?x, ?p, ?o] .
    @name predicate
    [?s, ?q, ?o] :- [?p, <{SAME}>, ?q], [?s, ?p, ?o] .
    @name object
    [?s, ?p, ?y] :- [?s, ?p, ?x], [?x, <{SAME}>, ?y] .
    """
).rules
CLIQUES = (SYMMETRY, TRANSITIVITY)
PLACES = (SUBJECT, PREDICATE, OBJECT)
OTHERS = parse_program(
    f"""
    PREFIX : <urn:>
    [?x, :q, ?y] :- [?x, :p, ?y] .
    [?x, <{SAME}>, ?y] :- [?z, :q, ?x], [?z, :q, ?y] .
    [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .
    [?x, ?p, ?x] :- [?x, ?p, :a] .
    """
).rules

terms = st.sampled_from([IRI(f"urn:{name}") for name in "abcdpq"])
predicates = st.sampled_from([IRI("urn:p"), IRI("urn:q"), IRI(SAME), IRI(SAME)])
fact_sets: st.SearchStrategy[frozenset[Fact]] = st.frozensets(st.tuples(terms, predicates, terms), max_size=8)
programs = st.lists(st.sampled_from(PLACES + OTHERS), unique=True, max_size=6).map(
    lambda rules: Program((*CLIQUES, *rules))
)
partial = st.lists(st.sampled_from(CLIQUES + PLACES + OTHERS), unique=True).map(
    lambda rules: Program(tuple(rules))
)

exactly = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@exactly
@given(fact_sets, fact_sets, programs)
def test_batches_are_closed(first: frozenset[Fact], second: frozenset[Fact], program: Program) -> None:
    batches = [first, second]
    assert closed_by_modules(program, batches) == closed_by_joins(program, batches)


@exactly
@given(histories(fact_sets), programs)
def test_facts_come_and_go(history: list[frozenset[Fact]], program: Program) -> None:
    assert_exact(history, program)


@exactly
@given(st.data(), histories(fact_sets))
def test_rules_come_and_go(data: st.DataObject, history: list[frozenset[Fact]]) -> None:
    """Also those that make the cliques: without these, equality is a relation as any other."""
    assert_exact(history, [data.draw(partial) for _ in history])


def modules(program: Program) -> set[str]:
    """The modules of a program's rules."""
    return {
        module["module"]
        for module in run([(IRI("urn:a"), IRI(SAME), IRI("urn:b"))], program).explain_plan()["modules"]
    }


def test_only_cliques_are_recognised() -> None:
    assert modules(Program((*CLIQUES, *PLACES))) == {"transitive closure", "equality"}
    assert "equality" not in modules(Program((SYMMETRY, *PLACES)))
    assert "equality" not in modules(Program((TRANSITIVITY, *PLACES)))
