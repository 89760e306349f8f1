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

from corollary.evaluate import Materialisation
from corollary.explain import explain, explanation
from corollary.explain.levels import LevelSearch
from corollary.language import Rule, UnstratifiableError
from corollary.profiles import load_profile

thorough = some.thorough(60)

MOST_FACTS = 40
"""Of more facts only some are explained, evenly spread."""


def assert_explained_by_levels(result: Materialisation) -> None:
    """No other search is tried: every inferred fact has right proofs."""
    checker = Checker(result)
    facts = all_ids(result)
    only = tuple(tried for tried in explanation.EFFORTS if tried[0] is LevelSearch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explanation, "EFFORTS", only)
        for fact in facts[:: 1 + len(facts) // MOST_FACTS]:
            if not result.explicit.relation(fact[1]).has(fact[0], fact[2]):
                found = explain(result, *fact, limit=2)
                assert found.proofs
                for proof in found.proofs:
                    checker.check(proof, fact)


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
