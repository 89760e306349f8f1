"""Proofs level by level: alone, they prove every inferred fact of random programs and ontologies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, run
from tests.explain.checker import Checker
from tests.explain.test_all_facts import axioms, closures, data
from tests.explain.test_proofs import all_ids, ontologies

from corollary.evaluate import MaterialisedView
from corollary.explain import FALSE, explain, explain_inconsistency, explanation
from corollary.language import Rule, UnstratifiableError, parse_program
from corollary.profiles import load_profile

thorough = some.thorough(60)

MOST_FACTS = 20
"""Of more facts only some are explained, evenly spread."""

MOST_CLASHES = 5
"""Of more inconsistencies only the first ones are explained."""


def assert_explained_by_levels(result: MaterialisedView) -> None:
    """No other search is tried: every inferred fact has right proofs."""
    checker = Checker(result)
    facts = all_ids(result)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explanation, "efforts", lambda *_: (explanation.BY_LEVELS,))
        for fact in facts[:: 1 + len(facts) // MOST_FACTS]:
            if not result.explicit.relation(fact[1]).has(fact[0], fact[2]):
                found = explain(result, *fact, limit=2)
                assert found.proofs
                for proof in found.proofs:
                    checker.check(proof, fact)
        for clash in result.inconsistencies[:MOST_CLASHES]:
            found = explain_inconsistency(result, clash)
            assert found.proofs
            for proof in found.proofs:
                checker.check(proof, FALSE)


@pytest.mark.parametrize("kind", ["positive", "not", "filter", "bind", "aggregate"])
@thorough
@given(drawn=st.data())
def test_programs(kind: str, drawn: st.DataObject) -> None:
    special = some.positive_rules() if kind == "positive" else getattr(some, f"rules_with_{kind}")()
    program = drawn.draw(some.programs(special))
    facts = drawn.draw(some.number_fact_sets)
    try:
        result = run(facts, program)
    except UnstratifiableError:
        return
    assert_explained_by_levels(result)


@thorough
@given(ontologies)
def test_ontologies(facts: frozenset[Fact]) -> None:
    assert_explained_by_levels(run(facts, load_profile("owl2rl")))


@thorough
@given(ontology.ontologies(axioms, data=data), st.lists(closures, max_size=2))
def test_cliques(facts: frozenset[Fact], rules: list[Rule]) -> None:
    assert_explained_by_levels(run(facts, load_profile("owl2rl") + some.program_of(rules)))


A_CHAIN_OF_EQUAL_PROPERTIES = """
[:q, owl:inverseOf, :r] . [:q, owl:propertyChainAxiom, :l1] . [:r, rdfs:subPropertyOf, owl:sameAs] .
[:l1, rdf:first, :r] . [:l2, rdf:first, :q] . [:l3, rdf:first, :p] .
[:l1, rdf:rest, :l2] . [:l2, rdf:rest, :l3] . [:l3, rdf:rest, rdf:nil] .
[:r1, owl:onProperty, :p] . [:r1, owl:hasValue, :c] . [:B, owl:equivalentClass, :r1] .
[:r2, owl:onProperty, :q] . [:r2, owl:hasValue, :c] .
[:r3, owl:onProperty, :r] . [:r3, owl:hasValue, :b] . [:B, owl:equivalentClass, :r3] .
[:e, :p, :a] . [:b, :q, :q] . [:b, :r, :p] . [:d, :r, :A] . [:q, :r, :a] . [:b, a, :A] .
[:q, rdfs:subPropertyOf, :q] .
"""
"""The properties of the chain are equal to their values: some facts have 1,300 instances of one rule."""


@pytest.mark.parametrize("small", [pytest.param(0, marks=pytest.mark.slow), 4096])
@pytest.mark.parametrize("goal", ["cpq", "pac", "cqb"])
def test_more_instances_than_any_budget(goal: str, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without levels the search is given up. In larger materialisations, facts that it has met are proved."""
    monkeypatch.setattr(explanation, "MAX_FACTS_FOR_LEVELS", small)
    parsed = parse_program(f"PREFIX : <{some.EXAMPLE}>\n{A_CHAIN_OF_EQUAL_PROPERTIES}")
    facts = {(h.subject, h.predicate, h.object) for rule in parsed for h in rule.heads}
    result = run(facts, load_profile("owl2rl"))  # type: ignore[arg-type]
    subject, predicate, value = (result.dictionary.encode(f"<{some.EXAMPLE}{name}>") for name in goal)
    (proof,) = explain(result, subject, predicate, value).proofs
    Checker(result).check(proof, (subject, predicate, value))
