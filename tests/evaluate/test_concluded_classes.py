"""Types by classes that no rule concludes: none of them is inferred."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, run
from tests.evaluate.test_against_naive import is_stratified

from corollary.columns import Delta
from corollary.evaluate import MaterialisedView
from corollary.language import IRI, RDF_TYPE, Program
from corollary.language.parser import parse_program
from corollary.profiles import load_profile

PREFIX = "PREFIX : <urn:x:> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
A, B, X, Y, SAYS, IS = (IRI(f"urn:x:{name}") for name in ("A", "B", "x", "y", "says", "is"))
SUBCLASS_OF = IRI("http://www.w3.org/2000/01/rdf-schema#subClassOf")


def types_of(result: MaterialisedView) -> Delta:
    """All types that hold."""
    return Delta.of(result.index).only(result.compiled.rdf_type.__eq__)


def without_conclusions(result: MaterialisedView, types: Delta) -> Delta:
    """Those of some types that no rule concludes."""
    engine = result.engine
    return engine.precedence(result.index).classes.no_conclusions(types, result.index)


def classes_left_out(text: str, *facts: Fact) -> set[str]:
    """The classes of all types that no rule concludes."""
    result = run(facts, parse_program(PREFIX + text))
    found = without_conclusions(result, types_of(result))
    ids = found.relation(result.compiled.rdf_type).object_terms().tolist()
    return {text.removeprefix("<urn:x:").removesuffix(">") for text in result.dictionary.decode_all(ids)}


def test_classes_that_rules_name_and_others() -> None:
    facts = (X, RDF_TYPE, A), (X, RDF_TYPE, B)
    assert classes_left_out("[?x, a, :B] :- [?x, a, :A] .", *facts) == {"A"}
    assert classes_left_out("[?x, a, :B] :- [?x, :is, ?y] .", *facts) == {"A", "B"}  # no facts of :is
    assert classes_left_out("[?x, :is, ?y] :- [?x, a, ?y] .", *facts) == {"A", "B"}


def test_classes_of_a_family() -> None:
    rule = "[?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c] ."
    facts = (X, RDF_TYPE, A), (Y, RDF_TYPE, B)
    assert classes_left_out(rule, *facts, (A, SUBCLASS_OF, B)) == {"A"}
    assert classes_left_out(rule, *facts) == {"A", "B"}


def test_classes_that_data_name() -> None:
    facts = (X, RDF_TYPE, A), (Y, RDF_TYPE, B)
    assert classes_left_out("[?x, a, ?y] :- [?x, :is, ?y], [?x, a, :A] .", *facts, (X, IS, B)) == {"A"}
    assert classes_left_out("[?y, a, ?x] :- [?x, :is, ?y], [?y, a, :A] .", *facts, (B, IS, X)) == {"A"}


def test_a_rule_that_needs_a_fact() -> None:
    """A rule whose ground fact is missing concludes nothing; of a class that it computes nothing is known."""
    rule = "[?x, a, ?y] :- [:x, :says, :y], [?x, :is, ?y] ."
    facts = (X, RDF_TYPE, A), (Y, IS, A)
    assert classes_left_out(rule, *facts, (Y, SAYS, X)) == {"A"}
    assert classes_left_out(rule, *facts, (X, SAYS, Y)) == set()
    assert classes_left_out("[?x, a, ?c] :- [?x, :is, ?y], BIND(?y AS ?c) .", *facts) == set()
    assert (
        classes_left_out("[?x, ?p, ?y] :- [?x, :is, ?y], [?x, ?p, ?x] .", *facts, (Y, RDF_TYPE, B)) == set()
    )


def assert_inferred_types_are_concluded(facts: frozenset[Fact], program: Program) -> None:
    result = run(facts, program)
    inferred = types_of(result) - result.explicit - result.engine.axioms
    assert not without_conclusions(result, inferred)


@some.thorough(100)
@given(some.fact_sets, some.programs())
def test_random_programs(facts: frozenset[Fact], program: Program) -> None:
    assume(is_stratified(program))
    assert_inferred_types_are_concluded(facts, program)


@pytest.mark.parametrize("profile", ["rdfs", "owl2rl"])
@some.thorough(60)
@given(
    facts=ontology.ontologies(
        ontology.rdfs_axioms,
        ontology.meta_axioms,
        ontology.property_axioms,
        ontology.class_axioms,
        ontology.key_axioms,
        ontology.equality_axioms,
        data=some.sets_of(st.one_of(some.plain_facts, some.number_facts), 12),
    )
)
def test_random_ontologies(profile: str, facts: frozenset[Fact]) -> None:
    assert_inferred_types_are_concluded(facts, load_profile(profile))
