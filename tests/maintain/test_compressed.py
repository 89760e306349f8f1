"""Histories as in ``test_transactions``, where every closure is compressed that may be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from tests.evaluate.test_against_naive import is_stratified
from tests.maintain.histories import (
    History,
    assert_exact,
    histories,
    histories_of_rules,
    same_visible,
)
from tests.maintain.test_transactions import ontologies, written
from tests.modules import kinds
from tests.strategies import thorough

from corollary.closure import bit_index, interval_index
from corollary.language import Program
from corollary.profiles import load_profile


@pytest.fixture(autouse=True, scope="module", params=["intervals", "bits"])
def compressing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compress closures of a few pairs, as larger ones are."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (interval_index, bit_index):
            patch.setattr(module, "MIN_PAIRS_COMPRESSED", 1)
        patch.setattr(bit_index, "MIN_PAIRS_PER_WORD", 0)
        patch.setattr(interval_index, "MIN_PAIRS_PER_INTERVAL", 0)
        patch.setattr(interval_index, "MAX_INTERVALS_PER_EDGE", 1000 if request.param == "intervals" else 0)
        patch.setattr(interval_index, "INTERVALS_MERGED_PER_EDGE", 1_000_000)
        yield


@thorough(200)
@given(histories(kinds.fact_sets), kinds.positive_programs)
def test_modules_feed_each_other(history: History, program: Program) -> None:
    assert_exact(history, program)


@thorough(60)
@given(histories(kinds.fact_sets), kinds.programs_with_not.filter(is_stratified))
def test_modules_and_negation(history: History, program: Program) -> None:
    assert_exact(history, program)


@thorough(100)
@given(histories_of_rules(kinds.fact_sets, kinds.positive_programs))
def test_rules_come_and_go(drawn: tuple[History, list[Program]]) -> None:
    assert_exact(*drawn)


@pytest.mark.parametrize("rules", ["rdfs-plus", "owl2rl"])
@thorough(30)
@given(histories(ontologies))
def test_ontologies(rules: str, history: History) -> None:
    assert_exact(history, load_profile(rules), same_visible)


PROVED_ELSEWHERE = written(
    """
    [?y, :same, ?x] :- [?x, :same, ?y] .
    [?x, :same, ?z] :- [?x, :same, ?y], [?y, :same, ?z] .
    [?x, :same, ?y] :- [?z, :q, ?x], [?z, :q, ?y] .
    """,
    "a same a, a q p, b q p, c same a",
    "a same a, b q p",
    "a same a, a q p, b q p, c same a",
)
"""Once lost: p same p is of another rule, and of the closure again when more comes."""

COPIES = written(
    """
    [?x, ?p, ?z] :- [?p, :is, :transitive], [?x, ?p, ?y], [?y, ?p, ?z] .
    [?y, ?p, ?x] :- [?p, :is, :symmetric], [?x, ?p, ?y] .
    [?x, :over, ?y] :- [?x, :p, ?y] .
    """,
    "p is transitive, p is symmetric, a p b, b p c, c p d",
    "p is transitive, p is symmetric, a p b, c p d",
    "p is transitive, p is symmetric, over is transitive, a p b, b p c, c p d, d p e",
    "p is transitive, over is transitive, a p b, c p d, d p e",
)
"""The inverses and the copies of what is compressed."""


COPIED = written(
    """
    [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .
    [?x, :p, ?y] :- [?x, :q, ?y] .
    [?y, :p, ?x] :- [?x, :r, ?y] .
    """,
    "a q b, b q c, c q d, d r a, a p c",
    "a q b, c q d, d r a, a p c",
    "a q b, c q d, c r a, a p c",
    "a q b, c q d, c r a, a q c",
    "a q b, c q d, c r a",
)
"""Facts that are copied to what is compressed: some are explicit too, or follow by a path as well."""


@pytest.mark.parametrize("case", [PROVED_ELSEWHERE, COPIES, COPIED])
def test_cases(case: tuple[History, Program]) -> None:
    assert_exact(*case)
