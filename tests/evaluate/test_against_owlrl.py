"""The engine under ``owl2rl`` against owlrl, on small ontologies: the same facts up to the listed clutter.

The classes and properties are declared, as OWL wants them: some of what ``owl2rl`` has instead of
reflexive schema facts holds in owlrl for declared ones only.
"""

from __future__ import annotations

from hypothesis import given
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, close
from tests.oracles.naive import visible
from tests.oracles.peers import is_clutter, is_reflexive, owlrl_closure

from corollary.language import RDF_TYPE
from corollary.profiles import load_profile

DECLARATIONS: frozenset[Fact] = frozenset(
    {(class_, RDF_TYPE, ontology.owl("Class")) for class_ in some.CLASSES}
    | {(property_, RDF_TYPE, ontology.owl("ObjectProperty")) for property_ in some.PROPERTIES}
)

thorough = some.thorough(60)


def assert_agreement(facts: frozenset[Fact]) -> None:
    facts |= DECLARATIONS
    theirs, messages = owlrl_closure(facts)
    closed, names = close(facts, load_profile("owl2rl"))
    ours = visible(closed)
    assert {fact for fact in theirs - ours if not is_clutter(fact)} == set()
    assert {fact for fact in ours - theirs if not is_reflexive(fact)} == set()
    assert bool(names) == bool(messages)


@thorough
@given(ontology.ontologies(ontology.rdfs_axioms, ontology.property_axioms))
def test_properties(facts: frozenset[Fact]) -> None:
    assert_agreement(facts)


@thorough
@given(ontology.ontologies(ontology.rdfs_axioms, ontology.class_axioms))
def test_classes(facts: frozenset[Fact]) -> None:
    assert_agreement(facts)


@thorough
@given(ontology.ontologies(ontology.rdfs_axioms, ontology.property_axioms, ontology.same_individuals))
def test_equality(facts: frozenset[Fact]) -> None:
    assert_agreement(facts)


@thorough
@given(
    ontology.ontologies(
        ontology.rdfs_axioms,
        ontology.property_axioms,
        ontology.class_axioms,
        ontology.same_individuals,
        ontology.clash_axioms,
    )
)
def test_inconsistencies(facts: frozenset[Fact]) -> None:
    assert_agreement(facts)
