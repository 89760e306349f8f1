"""Transitivity with ``FILTER(?x != ?z)``: the closure but for loops, as long as no literal is a subject."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Graph, URIRef
from tests import strategies as some
from tests.engine import Fact, facts_of, run
from tests.maintain.histories import assert_exact
from tests.oracles import naive
from tests.strategies import thorough

from corollary.language import IRI, OWL, RDF_TYPE, XSD, Literal, parse_program
from corollary.modules.transitive import Transitive
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import loopless_predicate
from corollary.store import CorollaryStore
from corollary.terms.dictionary import TermDictionary

PREFIX = f"PREFIX : <{some.EXAMPLE}>\n"
LOOPLESS = "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z], FILTER(?x != ?z) ."
SYMMETRY = "[?y, :p, ?x] :- [?x, :p, ?y] ."
PLAIN = "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] ."
TEMPLATE = "[?x, ?p, ?z] :- [?p, a, owl:TransitiveProperty], [?x, ?p, ?y], [?y, ?p, ?z] ."
OTHERS = (
    SYMMETRY,
    PLAIN,
    TEMPLATE,
    "owl:TransitiveProperty[:p] :- [?x, :q, ?x] .",
    "[?x, :p, ?y] :- [?x, :q, ?y] .",
    "[?x, :p, ?x] :- [?x, :r, ?y] .",
    "[?y, :p, ?z] :- [?x, :q, ?y], [?x, :r, ?z] .",
)
P = some.PROPERTIES[0]

values = st.sampled_from(
    [Literal(text, XSD + name) for text in ("1", "01", "2") for name in ("integer", "decimal", "date")]
)
facts = some.sets_of(
    st.one_of(some.plain_facts, some.plain_facts, st.tuples(some.individuals, some.properties, values)), 14
)


@thorough(150)
@given(facts, st.sets(st.sampled_from(OTHERS), max_size=4))
def test_against_the_naive_closure(facts: frozenset[Fact], others: set[str]) -> None:
    program = parse_program(PREFIX + "\n".join((LOOPLESS, *sorted(others))))
    result = run(facts, program)
    assert facts_of(result.index.columns(legal=False), result.dictionary) == naive.closure(facts, program)[0]


def module_of_the_rule(facts: list[Fact], *rules: str) -> str:
    program = parse_program(PREFIX + "\n".join((LOOPLESS, *rules)))
    return run(facts, program).engine.assignments[0].module


def test_who_takes_the_rule() -> None:
    """The transitive closure module, unless literals become subjects, or guards close the relation too."""
    a, b = some.INDIVIDUALS[:2]
    number = Literal("1", XSD + "integer")
    transitive = [(P, RDF_TYPE, IRI(OWL + "TransitiveProperty"))]
    assert module_of_the_rule([(a, P, b)]) == Transitive.name
    assert module_of_the_rule([(a, P, number)]) == Transitive.name
    assert module_of_the_rule([(a, P, number)], SYMMETRY) == "rules"
    assert module_of_the_rule([(a, P, b)], TEMPLATE) == Transitive.name
    assert module_of_the_rule([(a, P, b), *transitive], TEMPLATE) == "rules"


@pytest.mark.parametrize(
    ("text", "is_loopless"),
    [
        (LOOPLESS, True),
        ("[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z], FILTER(?z != ?x) .", True),
        (PLAIN, False),
        ("[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z], FILTER(?x != ?y) .", False),
        ("[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z], FILTER(?x = ?z) .", False),
        ("[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z], FILTER(?x != ?z), FILTER(?y != ?z) .", False),
        ("[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z], FILTER(!sameTerm(?x, ?z)) .", False),
    ],
)
def test_which_rules_are_loopless(text: str, is_loopless: bool) -> None:
    compiled = CompiledProgram(parse_program(PREFIX + text), TermDictionary())
    assert (loopless_predicate(compiled.rules[0]) is not None) == is_loopless


def test_loops_go_with_the_rule_that_derives_them() -> None:
    """A symmetric relation goes on without loops: the rule for symmetry by itself closes nothing."""
    symmetry, closure = "[?y, :p, ?x] :- [?x, :p, ?y] .", "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z]"
    guarded = "[?y, a, ?c] :- [?p, <urn:range>, ?c], [?x, ?p, ?y] ."
    store = CorollaryStore(rules=parse_program(f"{PREFIX}{symmetry} {closure} . {guarded}"))
    graph = Graph(store)
    a, c, p = (URIRef(some.EXAMPLE + name) for name in "acp")
    graph.add((a, p, c))
    assert set(graph.subject_objects(p)) == {(a, c), (c, a), (a, a), (c, c)}
    store.use_rules(f"{PREFIX}{symmetry} {closure}, FILTER(?x != ?z) . {guarded}")
    assert set(graph.subject_objects(p)) == {(a, c), (c, a)}


def test_literals_that_a_rule_has_made_subjects() -> None:
    """Without PLAIN, no rule derives that one 2 is related to another 2, which has the same value."""
    numbers = [Literal("2", XSD + name) for name in ("integer", "nonNegativeInteger")]
    stated = frozenset((some.INDIVIDUALS[0], P, number) for number in numbers)
    before, after = (
        parse_program(PREFIX + "\n".join((LOOPLESS, SYMMETRY, *more))) for more in ((PLAIN,), ())
    )
    assert_exact([stated, stated], [before, after])
