"""Extending a materialisation: the same as materialising everything at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests.engine import Fact, facts_of, load

from corollary.algebra.execute import Candidates
from corollary.evaluate import extend, materialise
from corollary.index.pairs import Pairs
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary


def added_to(explicit: frozenset[Fact], more: frozenset[Fact], dictionary: TermDictionary) -> Candidates:
    """The facts that are new, by predicate."""
    index = load(more - explicit, dictionary)
    return {predicate: [np.array(relation.pairs().keys)] for predicate, relation in index.relations()}


ontologies = ontology.ontologies(
    ontology.rdfs_axioms,
    ontology.meta_axioms,
    ontology.property_axioms,
    ontology.class_axioms,
    ontology.equality_axioms,
)


@pytest.mark.parametrize("profile", ["rhodf", "rdfs-plus", "owl2rl"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ontologies, min_size=2, max_size=4))
def test_batch_by_batch(profile: str, batches: list[frozenset[Fact]]) -> None:
    dictionary = TermDictionary()
    program = load_profile(profile)
    known = frozenset(batches[0])
    result = materialise(load(known, dictionary), program, dictionary)
    for batch in batches[1:]:
        before = result.index.columns(legal=False)
        added = added_to(known, batch, dictionary)
        earlier, known = result, known | batch
        result = extend(earlier, load(known, dictionary), added)
        wanted = materialise(load(known, dictionary), program, dictionary)
        assert facts_of(result.index.columns(), dictionary) == facts_of(wanted.index.columns(), dictionary)
        unchanged = zip(before, earlier.index.columns(legal=False), strict=True)
        assert all(np.array_equal(one, other) for one, other in unchanged), "what was there before is changed"


def test_extending_twice_starts_over() -> None:
    dictionary = TermDictionary()
    first = materialise(load(set(), dictionary), load_profile("rhodf"), dictionary)
    facts = [1 << 32 | 2, 3 << 32 | 4]
    for fact in facts:
        explicit = load(set(), dictionary)
        keys = np.array([fact], np.uint64)
        explicit.add(7, Pairs(keys))
        again = extend(first, explicit, {7: [keys.copy()]})
        assert again.index.relation(7).keys().tolist() == [fact]
