"""The engine against the naive evaluator: the same facts and the same violated constraints.

Programs and facts are random; so are the ontologies, which are closed under every profile. Of the
OWL profiles, only facts that RDF allows are compared: the engine keeps the types of literals, and their
differences, to what can show.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, close
from tests.few_rows import joined_by_columns
from tests.oracles import expressions, naive
from tests.oracles.integers import INTEGERS

from corollary.execute import next_join, run_plan
from corollary.language import (
    IRI,
    OWL,
    RDF_TYPE,
    XSD,
    Literal,
    Not,
    Program,
    Triple,
    UnstratifiableError,
    Variable,
)
from corollary.profiles import load_profile

thorough, brief = some.thorough(150), some.thorough(50)


P, Q = some.PROPERTIES[:2]
SUBPROPERTY_OF_ITSELF = frozenset(
    {(P, P, Q), (P, ontology.rdfs("subPropertyOf"), ontology.rdfs("subPropertyOf"))}
)
"""Once missed: the inclusion p in q arrives with facts of p that are older than it."""


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
    with joined_by_columns(len(facts) % 2 == 0):
        found, names = close(facts, program)
    if written_out:
        assert found == wanted
    else:
        assert by_value(found) == by_value(wanted)
    assert names == wanted_names


def assert_same_visible(facts: frozenset[Fact], program: Program) -> None:
    """They agree on what RDF allows, unless an individual is the same as a literal and shows its types.

    If two literals are the same, either has all types of the other, also those that the oracle does not know.
    """
    wanted, wanted_names = naive.closure(facts, program, INTEGERS)
    assume(not any(is_literal_and_more(fact) for fact in wanted))
    with joined_by_columns(len(facts) % 2 == 0):
        found, names = close(facts, program)
    assert naive.visible(found) == naive.visible(wanted)
    unknown = {"dt-not-type"} if any(map(equates_literals, wanted)) else set()
    assert set(names) - unknown == set(wanted_names) - unknown


def is_literal_and_more(fact: Fact) -> bool:
    subject, predicate, object_ = fact
    return predicate == IRI(OWL + "sameAs") and isinstance(subject, Literal) != isinstance(object_, Literal)


def equates_literals(fact: Fact) -> bool:
    subject, predicate, object_ = fact
    ends_are_literals = isinstance(subject, Literal) and isinstance(object_, Literal)
    return predicate == IRI(OWL + "sameAs") and ends_are_literals and subject != object_


def triples(program: Program) -> Iterator[Triple]:
    """All positive and negated atoms, and the heads."""
    for rule in program:
        yield from rule.heads
        for element in rule.body:
            if isinstance(element, Triple):
                yield element
            elif isinstance(element, Not):
                yield from (atom for atom in element.atoms if isinstance(atom, Triple))


def is_any_class(atom: Triple) -> bool:
    return atom.predicate == RDF_TYPE and isinstance(atom.object, Variable)


def is_stratified(program: Program) -> bool:
    """Whether no negation depends on itself, whatever the facts are."""
    try:
        naive.closure((), program, INTEGERS)
    except ValueError:
        return False
    return True


@thorough
@given(some.fact_sets, some.programs())
def test_positive_programs(facts: frozenset[Fact], program: Program) -> None:
    assert_same(facts, program)


@thorough
@given(some.fact_sets, some.programs(some.rules_with_not()))
def test_negation(facts: frozenset[Fact], program: Program) -> None:
    assume(is_stratified(program))
    assert_same(facts, program)


@brief
@given(some.programs(some.rules_with_not()))
def test_negation_that_depends_on_itself_is_refused(program: Program) -> None:
    """If rules name all their predicates and classes, no facts are needed to see it."""
    assume(not any(is_any_class(atom) for atom in triples(program)))
    assume(not is_stratified(program))
    with pytest.raises(UnstratifiableError):
        close((), program)


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
    assume(is_stratified(program))
    assert_same(facts, program, written_out=False)


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
    assume(is_stratified(program))
    assert_same(facts, program, written_out=False)


@thorough
@given(
    some.number_fact_sets,
    some.programs(st.one_of(some.rules_with_not(), some.rules_with_filter(), some.rules_with_bind())),
)
def test_in_slices(facts: frozenset[Fact], program: Program) -> None:
    """Every join runs in slices of one row, and a column is dropped after the last step that reads it."""
    assume(is_stratified(program))
    with pytest.MonkeyPatch.context() as patch:
        for module in (next_join, run_plan):
            patch.setattr(module, "MIN_ROWS_TO_ESTIMATE", 1)
        patch.setattr(next_join, "ROWS_PER_SLICE", 0.4)
        patch.setattr(run_plan, "ROWS_PER_SLICE", 1)
        patch.setattr(run_plan, "MAX_ROWS_JOINED_ONE_BY_ONE", 0)
        assert_same(facts, program, written_out=False)


@thorough
@given(
    some.number_fact_sets,
    some.programs(st.one_of(some.rules_with_not(), some.rules_with_filter(), some.rules_with_bind())),
)
def test_with_shared_tests(facts: frozenset[Fact], program: Program) -> None:
    """Joins that bind nothing for the conclusion are run on the distinct values that they read."""
    assume(is_stratified(program))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_plan, "MIN_ROWS_TO_SHARE_TESTS", 1)
        patch.setattr(run_plan, "MAX_ROWS_JOINED_ONE_BY_ONE", 0)
        assert_same(facts, program, written_out=False)


@pytest.mark.parametrize("profile", ["rhodf", "rdfs"])
@thorough
@given(facts=ontology.ontologies(ontology.rdfs_axioms, ontology.meta_axioms))
@example(facts=SUBPROPERTY_OF_ITSELF)
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
    assert_same_visible(facts, load_profile(profile))


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
    assert_same_visible(facts, load_profile(profile))


@brief
@given(facts=ontology.ontologies(ontology.rdfs_axioms, ontology.property_axioms, max_size=4))
def test_owl2rl_full(facts: frozenset[Fact]) -> None:
    assert_same_visible(facts, load_profile("owl2rl-full"))


def test_individual_that_is_a_literal() -> None:
    """By dt-type2 and eq-rep-s, what is the same as an integer is an xsd:integer."""
    one = some.NUMBERS[1]
    facts = frozenset({(some.INDIVIDUALS[0], IRI(OWL + "sameAs"), one)})
    wanted: Fact = (some.INDIVIDUALS[0], RDF_TYPE, IRI(XSD + "integer"))
    assert wanted in naive.closure(facts, load_profile("owl2rl"), INTEGERS)[0]
    assert wanted in close(facts, load_profile("owl2rl"))[0]


def test_literals_that_are_equated_have_each_others_types() -> None:
    """1 is a positive integer, and so is 0 then: the engine says so, the oracle knows xsd:integer only."""
    prop = IRI("http://example.org/p")
    facts: frozenset[Fact] = frozenset(
        {
            (prop, RDF_TYPE, IRI(OWL + "FunctionalProperty")),
            (some.INDIVIDUALS[0], prop, some.NUMBERS[0]),
            (some.INDIVIDUALS[0], prop, some.NUMBERS[1]),
        }
    )
    assert_same_visible(facts, load_profile("owl2rl"))
