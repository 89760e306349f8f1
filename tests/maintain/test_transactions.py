"""Transactions: after every one the materialisation is the one from scratch, under every strategy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, facts_of, load, run
from tests.oracles import naive
from tests.oracles.integers import INTEGERS

from corollary.evaluate import Materialisation, materialise
from corollary.index import TripleIndex
from corollary.language import Program, UnstratifiableError
from corollary.maintain import Strategy, maintain
from corollary.maintain.facts import Facts
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

Transaction = tuple[frozenset[Fact], frozenset[Fact]]
"""Facts to remove, and to add."""

STRATEGIES = (Strategy.AUTOMATIC, Strategy.BACKWARD_FORWARD, Strategy.DRED)

thorough = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def keys(facts: frozenset[Fact], dictionary: TermDictionary) -> Facts:
    """Facts as packed pairs by predicate."""
    index = load(facts, dictionary)
    return {predicate: index.relation(predicate).pairs().keys.copy() for predicate in index.all_predicates()}


@st.composite
def histories(
    draw: st.DrawFn, facts: st.SearchStrategy[frozenset[Fact]], length: int = 4
) -> list[frozenset[Fact]]:
    """Sets of explicit facts, one after the other: some facts go each time, and some come."""
    pool = sorted(draw(facts) | draw(facts), key=str)
    history = [frozenset(pool)]
    for _ in range(draw(st.integers(1, length))):
        if pool:
            some_facts = st.frozensets(st.sampled_from(pool), max_size=max(2, len(pool) // 3))
            history.append(
                (history[-1] - draw(some_facts)) | draw(st.one_of(st.just(frozenset()), some_facts))
            )
    return history


def assert_exact(
    history: Sequence[frozenset[Fact]], program: Program | Sequence[Program], strategy: Strategy
) -> None:
    """After every step the facts are those from scratch, and what was there before is untouched."""
    dictionary = TermDictionary()
    explicit = history[0]
    programs = [program] * len(history) if isinstance(program, Program) else program
    result = materialise(load(explicit, dictionary), programs[0], dictionary)
    for wanted_explicit, program in zip(history[1:], programs[1:], strict=True):
        before, earlier = result, snapshot(result)
        removed, added = explicit - wanted_explicit, wanted_explicit - explicit
        explicit = wanted_explicit
        result, report = maintain(
            result, load(explicit, dictionary), keys(removed, dictionary), keys(added, dictionary), strategy,
            program,
        )  # fmt: skip
        scratch = materialise(load(explicit, dictionary), program, dictionary)
        found, wanted = visible(result, dictionary), visible(scratch, dictionary)
        assert found == wanted, f"{found - wanted} too many, {wanted - found} missing\n{report}"
        assert both_orders_agree(result.index)
        assert snapshot(before) == earlier, "what was there before is changed"


def visible(result: Materialisation, dictionary: TermDictionary) -> set[Fact]:
    return facts_of(result.index.columns(legal=False), dictionary)


def snapshot(result: Materialisation) -> list[list[int]]:
    return [column.tolist() for column in result.index.columns(legal=False)]


def both_orders_agree(index: TripleIndex) -> bool:
    """Whether every relation holds the same facts by subject and by object."""
    for predicate in index.all_predicates():
        pairs = index.relation(predicate).pairs()
        turned = np.sort((pairs.swapped >> np.uint64(32)) | (pairs.swapped << np.uint64(32)))
        if not np.array_equal(turned, pairs.keys):
            return False
    return True


@pytest.mark.parametrize("strategy", STRATEGIES)
@thorough
@given(histories(some.fact_sets), some.programs())
def test_positive_programs(strategy: Strategy, history: list[frozenset[Fact]], program: Program) -> None:
    assert_exact(history, program, strategy)


ontologies = ontology.ontologies(
    ontology.rdfs_axioms,
    ontology.property_axioms,
    ontology.class_axioms,
    ontology.clash_axioms,
)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("profile", ["rhodf", "rdfs", "rdfs-plus", "owl2rl"])
@thorough
@given(histories(ontologies))
def test_profiles(profile: str, strategy: Strategy, history: list[frozenset[Fact]]) -> None:
    assert_exact(history, load_profile(profile), strategy)


special = st.one_of(some.rules_with_not(), some.rules_with_aggregate(), some.rules_with_bind())


@pytest.mark.parametrize("strategy", STRATEGIES)
@thorough
@given(histories(some.number_fact_sets), some.programs(special))
def test_negation_and_aggregates(
    strategy: Strategy, history: list[frozenset[Fact]], program: Program
) -> None:
    assume(is_stratified(program))
    assert_exact(history, program, strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
@thorough
@given(histories(ontologies), some.programs(some.rules_with_not()))
def test_negation_over_ontologies(
    strategy: Strategy, history: list[frozenset[Fact]], program: Program
) -> None:
    """Rules with NOT beside those of a profile, unless an ontology makes them circular."""
    both = Program((*load_profile("rdfs-plus").rules, *program.rules))
    try:
        for facts in history:
            run(facts, both)
    except UnstratifiableError:
        assume(False)
    assert_exact(history, both, strategy)


def is_stratified(program: Program) -> bool:
    """Whether no negation depends on itself, whatever the facts are."""
    try:
        naive.closure((), program, INTEGERS)
    except ValueError:
        return False
    return True


@st.composite
def histories_of_rules(
    draw: st.DrawFn, facts: st.SearchStrategy[frozenset[Fact]], rules: st.SearchStrategy[Program]
) -> tuple[list[frozenset[Fact]], list[Program]]:
    """Facts and rules that come and go together."""
    history = draw(histories(facts))
    pool = (*draw(rules).rules, *draw(rules).rules)
    numbers = st.frozensets(st.sampled_from(range(len(pool))))
    chosen = [draw(numbers) for _ in history]
    return history, [Program(tuple(pool[i] for i in sorted(numbers))) for numbers in chosen]


def assert_exact_with_rules(
    both: tuple[list[frozenset[Fact]], list[Program]], strategy: Strategy, base: Program
) -> None:
    history, programs = both
    programs = [base + program for program in programs]
    try:
        for facts, program in zip(history, programs, strict=True):
            run(facts, program)
    except UnstratifiableError:
        assume(False)
    assert_exact(history, programs, strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
@thorough
@given(histories_of_rules(some.fact_sets, some.programs()))
def test_rules_come_and_go(strategy: Strategy, both: tuple[list[frozenset[Fact]], list[Program]]) -> None:
    assert_exact_with_rules(both, strategy, Program(()))


@pytest.mark.parametrize("strategy", STRATEGIES)
@thorough
@given(histories_of_rules(some.number_fact_sets, some.programs(special)))
def test_special_rules_come_and_go(
    strategy: Strategy, both: tuple[list[frozenset[Fact]], list[Program]]
) -> None:
    assert_exact_with_rules(both, strategy, Program(()))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("profile", ["rhodf", "rdfs-plus", "owl2rl"])
@settings(thorough, max_examples=40)
@given(histories(ontologies), st.data())
def test_rules_of_profiles_come_and_go(
    profile: str, strategy: Strategy, history: list[frozenset[Fact]], data: st.DataObject
) -> None:
    """Each step lacks a few of the profile's rules."""
    rules = load_profile(profile).rules
    lacking = [data.draw(st.frozensets(st.sampled_from(range(len(rules))), max_size=3)) for _ in history]
    programs = [Program(tuple(r for i, r in enumerate(rules) if i not in without)) for without in lacking]
    assert_exact(history, programs, strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(thorough, max_examples=40)
@given(histories(ontologies), st.data())
def test_profiles_are_switched(
    strategy: Strategy, history: list[frozenset[Fact]], data: st.DataObject
) -> None:
    names = st.sampled_from(["rhodf", "rdfs", "rdfs-plus", "owl2rl"])
    assert_exact(history, [load_profile(data.draw(names)) for _ in history], strategy)
