"""The W3C's tests of RDF semantics: simple, RDF and RDFS entailment, under the profile rdfs."""

from __future__ import annotations

import pytest
from tests.conformance.cases import Case, w3c_cases
from tests.conformance.entailment import answer


@pytest.mark.parametrize("case", w3c_cases({}))
def test_rdf_semantics(case: Case) -> None:
    assert answer(case, "rdfs") == case.holds
