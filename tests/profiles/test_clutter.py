"""owl2rl against owl2rl-full on random ontologies: what it leaves out is clutter, and nothing else.

``is_clutter`` is the list in docs/profiles.md, as code. An inconsistent ontology is found so by both
(its other consequences are of no use, and may differ).
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine import close
from tests.ontology_strategies import (
    clash_axioms,
    class_axioms,
    equality_axioms,
    key_axioms,
    ontologies,
    owl,
    property_axioms,
    rdfs,
    rdfs_axioms,
)
from tests.strategies import CLASSES, PROPERTIES, Fact, examples

from corollary.language.model import RDF_TYPE, Constant, Literal
from corollary.profiles import load_profile

THING, NOTHING = owl("Thing"), owl("Nothing")
REFLEXIVE = {
    owl("sameAs"),
    rdfs("subClassOf"),
    owl("equivalentClass"),
    rdfs("subPropertyOf"),
    owl("equivalentProperty"),
}
DECLARED: set[Fact] = {(c, RDF_TYPE, owl("Class")) for c in CLASSES} | {
    (p, RDF_TYPE, owl("ObjectProperty")) for p in PROPERTIES
}

plain = ontologies(rdfs_axioms, property_axioms, class_axioms, key_axioms, equality_axioms, clash_axioms)
renamed = st.sampled_from((None, THING, NOTHING))


def is_clutter(fact: Fact, kept: set[Fact]) -> bool:
    """Whether a consequence of owl2rl-full may be missing from what owl2rl has ``kept``."""
    subject, predicate, object_ = fact
    if isinstance(subject, Literal) or (subject == object_ and predicate in REFLEXIVE):
        return True
    if predicate == RDF_TYPE:
        return object_ in (THING, owl("Class"), owl("AnnotationProperty"), rdfs("Datatype"))
    if predicate == rdfs("subClassOf"):
        return object_ == THING or subject == NOTHING
    if predicate in (rdfs("domain"), rdfs("range")):
        return object_ == THING or (subject, predicate, NOTHING) in kept
    return False


@settings(deadline=None, max_examples=examples(60))
@given(plain, renamed)
def test_owl2rl_leaves_out_only_clutter(ontology: frozenset[Fact], name: Constant | None) -> None:
    """One of the classes is owl:Thing or owl:Nothing, or none."""

    def rename(term: Constant) -> Constant:
        return name if name is not None and term == CLASSES[0] else term

    facts = {(rename(s), rename(p), rename(o)) for s, p, o in ontology | DECLARED}
    kept, complaints = close(facts, load_profile("owl2rl"))
    full, all_complaints = close(facts, load_profile("owl2rl-full"))
    assert bool(complaints) == bool(all_complaints)
    if not complaints:
        assert kept <= full
        assert {fact for fact in full - kept if not is_clutter(fact, kept)} == set()
