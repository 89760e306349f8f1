"""The engine against the naive evaluator: the same facts and the same violated constraints.

Programs and facts are random; so are the ontologies, which are closed under every profile.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, close
from tests.oracles import expressions, naive
from tests.oracles.integers import INTEGERS

from corollary.language import Literal, Program, UnstratifiableError
from corollary.profiles import load_profile

thorough = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
brief = settings(thorough, max_examples=60)


def by_value(facts: set[Fact]) -> set[tuple[object, ...]]:
    """Facts with numbers for numeric literals: how the mean of 1 and 3 is written is not compared here."""
    return {
        tuple(
            expressions.number(term) if isinstance(term, Literal) and expressions.is_number(term) else term
            for term in fact
        )
        for fact in facts
    }


def assert_same(facts: frozenset[Fact], program: Program, *, written_out: bool = True) -> None:
    """The engine and the naive evaluator agree, literal subjects and all."""
    wanted, wanted_names = naive.closure(facts, program, INTEGERS)
    found, names = close(facts, program)
    if written_out:
        assert found == wanted
    else:
        assert by_value(found) == by_value(wanted)
    assert names == wanted_names


def assert_same_if_stratified(facts: frozenset[Fact], program: Program, *, written_out: bool = True) -> None:
    """What one refuses the other refuses too."""
    try:
        naive.closure((), program, INTEGERS)
    except ValueError:
        with pytest.raises(UnstratifiableError):
            close(facts, program)
        assume(False)
    assert_same(facts, program, written_out=written_out)


@thorough
@given(some.fact_sets, some.programs())
def test_positive_programs(facts: frozenset[Fact], program: Program) -> None:
    assert_same(facts, program)


@thorough
@given(some.fact_sets, some.programs(some.rules_with_not()))
def test_negation(facts: frozenset[Fact], program: Program) -> None:
    assert_same_if_stratified(facts, program)


@thorough
@given(some.number_fact_sets, some.programs(some.rules_with_filter()))
def test_filter(facts: frozenset[Fact], program: Program) -> None:
    assert_same(facts, program)


@thorough
@given(some.number_fact_sets, some.programs(some.rules_with_bind()))
def test_bind(facts: frozenset[Fact], program: Program) -> None:
    assert_same(facts, program)


@thorough
@given(some.number_fact_sets, some.programs(some.rules_with_aggregate()))
def test_aggregate(facts: frozenset[Fact], program: Program) -> None:
    assert_same_if_stratified(facts, program, written_out=False)


@thorough
@given(
    some.number_fact_sets,
    some.programs(
        st.one_of(
            some.rules_with_not(),
            some.rules_with_filter(),
            some.rules_with_bind(),
            some.rules_with_aggregate(),
        )
    ),
)
def test_everything_together(facts: frozenset[Fact], program: Program) -> None:
    assert_same_if_stratified(facts, program, written_out=False)


@pytest.mark.parametrize("profile", ["rhodf", "rdfs"])
@thorough
@given(facts=ontology.ontologies(ontology.rdfs_axioms, ontology.meta_axioms))
def test_rdfs_profiles(profile: str, facts: frozenset[Fact]) -> None:
    assert_same(facts, load_profile(profile))


@pytest.mark.parametrize("profile", ["rdfs-plus", "owl2rl"])
@thorough
@given(
    facts=ontology.ontologies(
        ontology.rdfs_axioms, ontology.property_axioms, ontology.class_axioms, ontology.clash_axioms
    )
)
def test_owl_profiles(profile: str, facts: frozenset[Fact]) -> None:
    assert_same(facts, load_profile(profile))


@pytest.mark.parametrize("profile", ["rdfs-plus", "owl2rl"])
@brief
@given(
    facts=ontology.ontologies(
        ontology.rdfs_axioms,
        ontology.meta_axioms,
        ontology.property_axioms,
        ontology.class_axioms,
        ontology.key_axioms,
        ontology.equality_axioms,
        ontology.clash_axioms,
        data=some.sets_of(st.one_of(some.plain_facts, some.number_facts), 12),
    )
)
def test_owl_profiles_where_the_schema_is_inferred(profile: str, facts: frozenset[Fact]) -> None:
    assert_same(facts, load_profile(profile))


@brief
@given(facts=ontology.ontologies(ontology.rdfs_axioms, ontology.property_axioms, max_size=4))
def test_owl2rl_full(facts: frozenset[Fact]) -> None:
    assert_same(facts, load_profile("owl2rl-full"))
