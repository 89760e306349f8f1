"""A materialisation adopted from its facts: what modules remember is restored, and maintenance goes on.

Between the steps of a history the state is replaced by one that only has the facts of I. What is compared
with the naive evaluator is as in ``test_transactions``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import strategies as some
from tests.compression import Kept, compress_all
from tests.evaluate.test_against_naive import is_stratified
from tests.maintain.histories import (
    History,
    assert_exact,
    histories,
    histories_of_rules,
    same_values,
    same_visible,
)
from tests.maintain.test_transactions import ontologies, special, written
from tests.modules import kinds, test_equality
from tests.modules import test_recursive_aggregate as recursive
from tests.strategies import thorough

from corollary.columns import Pairs, Relation, TripleIndex, pairs, relation
from corollary.evaluate import MaterialisedView, adopt
from corollary.language import Constant, Program
from corollary.modules import inclusion, transitive
from corollary.profiles import load_profile

Replace = Callable[[MaterialisedView], MaterialisedView]


@pytest.fixture(autouse=True, scope="module")
def as_if_large() -> Iterator[None]:
    """As in ``test_transactions``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation, "MIN_BASE_PER_OVERLAY", 1)
        patch.setattr(pairs, "MIN_KEYS_MERGED", 1)
        patch.setattr(inclusion, "MIN_FACTS_TO_COMPARE_INVERSES", 1)
        patch.setattr(transitive, "MIN_FACTS_TO_COMPARE_INVERSES", 1)
        yield


def adopted(before: MaterialisedView) -> MaterialisedView:
    """The same, restored from its facts as lists; itself if rules are suspended."""
    closed = TripleIndex({p: Relation(Pairs(r.pairs().keys)) for p, r in before.index.relations()})
    return _adopted(before, closed)


def adopted_compressed(before: MaterialisedView) -> MaterialisedView:
    """The same, restored from its relations, compressed ones among them."""
    return _adopted(before, TripleIndex(dict(before.index.relations())))


def _adopted(before: MaterialisedView, closed: TripleIndex) -> MaterialisedView:
    if before.strata.suspended:
        return before
    alone = before.schema_is_alone
    result = adopt(before.explicit, closed, before.program, before.dictionary, schema_is_alone=alone)
    assert result.schema_is_alone or not alone
    assert result.index.fact_count() == before.index.fact_count()
    assert virtual_sizes(result.index).items() <= virtual_sizes(before.index).items()
    assert not result.suspended
    return result


def virtual_sizes(index: TripleIndex) -> dict[int, int]:
    """The number of facts of every virtual relation."""
    ordinary = set(index.predicates())
    return {p: len(index.relation(p)) for p in index.all_predicates() if p not in ordinary}


def every_other(replace: Replace) -> Replace:
    """Every other state is replaced."""
    turns = count()
    return lambda result: result if next(turns) % 2 else replace(result)


replacements: st.SearchStrategy[Replace] = st.builds(
    lambda replace, always: replace if always else every_other(replace),
    st.sampled_from((adopted, adopted_compressed)),
    st.booleans(),
)


@thorough(25)
@given(histories(some.fact_sets), some.programs(), replacements)
def test_positive_programs(history: History, program: Program, replace: Replace) -> None:
    assert_exact(history, program, between=replace)


@thorough(80)
@given(histories(kinds.fact_sets), kinds.positive_programs, replacements)
def test_modules_feed_each_other(history: History, program: Program, replace: Replace) -> None:
    assert_exact(history, program, between=replace)


@thorough(25)
@given(
    st.sampled_from(["intervals", "bits", "lists"]),
    histories(kinds.fact_sets),
    kinds.positive_programs,
    replacements,
)
def test_compressed_closures(kept: Kept, history: History, program: Program, replace: Replace) -> None:
    with pytest.MonkeyPatch.context() as patch:
        compress_all(patch, kept)
        assert_exact(history, program, between=replace)


@thorough(25)
@given(histories(test_equality.fact_sets), test_equality.programs, replacements, st.booleans())
def test_copies(history: History, program: Program, replace: Replace, is_compressed: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if is_compressed:
            compress_all(patch)
        assert_exact(history, program, between=replace)


@thorough(25)
@given(histories(kinds.fact_sets), kinds.programs_with_not, replacements)
def test_modules_and_negation(history: History, program: Program, replace: Replace) -> None:
    assume(is_stratified(program))
    assert_exact(history, program, between=replace)


@thorough(40)
@given(histories(some.number_fact_sets), some.programs(special), replacements)
def test_negation_and_aggregates(history: History, program: Program, replace: Replace) -> None:
    assume(is_stratified(program))
    assert_exact(history, program, same_values, between=replace)


@pytest.mark.parametrize("numbers", [recursive.INTEGERS, recursive.MIXED], ids=["integers", "mixed"])
@thorough(25)
@given(data=st.data(), replace=replacements)
def test_recursive_aggregates(numbers: tuple[Constant, ...], data: st.DataObject, replace: Replace) -> None:
    history, program = data.draw(histories(recursive.networks(numbers))), recursive.program_over(numbers)
    wanted = [recursive.expected(facts, program) for facts in history]
    assert_exact(history, program, wanted=wanted, between=replace)


@pytest.mark.parametrize("profile", ["rhodf", "rdfs", "rdfs-plus", "owl2rl"])
@thorough(25)
@given(histories(ontologies), replacements)
def test_profiles(profile: str, history: History, replace: Replace) -> None:
    assert_exact(history, load_profile(profile), same_visible, between=replace)


@thorough(25)
@given(histories_of_rules(kinds.fact_sets, kinds.positive_programs), replacements)
def test_rules_come_and_go(both: tuple[History, list[Program]], replace: Replace) -> None:
    assert_exact(*both, between=replace)


@thorough(25)
@given(histories_of_rules(some.number_fact_sets, some.programs(special)), replacements)
def test_special_rules_come_and_go(both: tuple[History, list[Program]], replace: Replace) -> None:
    history, programs = both
    assume(all(map(is_stratified, programs)))
    assert_exact(history, programs, same_values, between=replace)


CLOSED = """
    [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .
    [?x, :p, ?y] :- [?x, :q, ?y] .
    """

REPEATED = written(
    CLOSED
    + """
    [?x, :p, ?y] :- [?x, :p, ?y], [?x, :is, :odd] .
    """,
    "a q b, b p c, a is odd",
    "b p c, a is odd",
)
"""Once kept: a p c, which counted as external since a rule derives it from itself."""

SAME_PREDICATES = written(
    """
    [?x, :q, :b] :- [?x, :p, :c] .
    [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .
    [?y, :p, ?z] :- [?x, :q, ?y], [?x, :q, ?z] .
    [?x, :same, ?z] :- [?x, :same, ?y], [?y, :same, ?z] .
    [?y, :same, ?x] :- [?x, :same, ?y] .
    [?s, ?q, ?o] :- [?p, :same, ?q], [?s, ?p, ?o] .
    """,
    "d same g, g q e, e p f, g p c",
    "d same g, g q e, e p f, g p c",
)
"""Without its third rule, once kept: b p f, a copy of itself."""


@pytest.mark.parametrize("replace", [adopted, adopted_compressed])
def test_no_fact_is_external_by_itself(replace: Replace) -> None:
    assert_exact(*REPEATED, between=replace)
    history, program = SAME_PREDICATES
    assert_exact(history, [program, Program(program.rules[:2] + program.rules[3:])], between=replace)
