"""The FZI cases: what RDFS and OWL 2 RL, under the RDF-based semantics, entail or find inconsistent."""

from __future__ import annotations

import pytest
from tests.conformance.cases import Case, fzi_cases
from tests.conformance.entailment import answer

INFINITE = "the axioms of rdf:_n are infinitely many: given for rdf:_1 and for what the facts use"
ROUNDED = "XML Schema 1.1 rounds it to INF, and the W3C's float-infinity and double-infinity ask for that"

RDFS_EXCEPTIONS = {
    "sem-rdf-container-highval-axiom": INFINITE,
    "sem-rdfs-container-highval-axiom": INFINITE,
}
OWL2RL_EXCEPTIONS = {
    "dat-dtype-float-illtyped-hi": ROUNDED,
    "dat-dtype-double-illtyped-hi": ROUNDED,
}


@pytest.mark.parametrize("case", fzi_cases("fzi-rdfs", RDFS_EXCEPTIONS))
def test_rdfs(case: Case) -> None:
    assert answer(case, "rdfs")


@pytest.mark.parametrize("case", fzi_cases("fzi-owl2rl", OWL2RL_EXCEPTIONS))
def test_owl2rl_full(case: Case) -> None:
    assert answer(case, "owl2rl-full")
