"""The FZI cases: what RDFS and OWL 2 RL, under the RDF-based semantics, entail or find inconsistent."""

from __future__ import annotations

import pytest
from tests.conformance.cases import Case, fzi_cases
from tests.conformance.entailment import answer

INFINITE = "the axioms of rdf:_n are infinitely many: given for rdf:_1 and for what the facts use"

RDFS_EXCEPTIONS = {
    "sem-rdf-container-highval-axiom": INFINITE,
    "sem-rdfs-container-highval-axiom": INFINITE,
}


@pytest.mark.parametrize("case", fzi_cases("fzi-rdfs", RDFS_EXCEPTIONS))
def test_rdfs(case: Case) -> None:
    assert answer(case, "rdfs")


@pytest.mark.parametrize("case", fzi_cases("fzi-owl2rl", {}))
def test_owl2rl_full(case: Case) -> None:
    assert answer(case, "owl2rl-full")
