"""Transactions: after every one the state is what a naive evaluator makes of it from scratch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, facts_of, run
from tests.evaluate.test_against_naive import is_stratified
from tests.maintain.histories import (
    History,
    assert_exact,
    closure_judged_by,
    compared,
    histories,
    histories_of_rules,
    same_values,
    same_visible,
)
from tests.modules import kinds
from tests.strategies import EXAMPLE

from corollary.columns import pairs, relation
from corollary.language import IRI, Program, UnstratifiableError, parse_program
from corollary.modules import inclusion, transitive
from corollary.profiles import load_profile

thorough = partial(some.thorough, full_in_ci=True)

LEAST = 10_000
"""Maintained states that a run of this file compares with the naive evaluator's."""


@pytest.fixture(autouse=True, scope="module")
def as_if_large() -> Iterator[None]:
    """Small relations keep an overlay, are merged and compared with their inverses, as larger ones are."""
    compared.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation, "MIN_BASE_PER_OVERLAY", 1)
        patch.setattr(pairs, "MIN_KEYS_MERGED", 1)
        patch.setattr(inclusion, "MIN_FACTS_TO_COMPARE_INVERSES", 1)
        patch.setattr(transitive, "MIN_FACTS_TO_COMPARE_INVERSES", 1)
        yield


@thorough(200)
@given(histories(some.fact_sets), some.programs())
def test_positive_programs(history: History, program: Program) -> None:
    assert_exact(history, program)


def written(rules: str, *states: str) -> tuple[History, Program]:
    """A program and a history of facts, such as ``a p b, b p c``."""

    def facts(text: str) -> frozenset[Fact]:
        triples = (part.split() for part in text.split(","))
        return frozenset((IRI(EXAMPLE + s), IRI(EXAMPLE + p), IRI(EXAMPLE + o)) for s, p, o in triples)

    return list(map(facts, states)), parse_program(kinds.PREFIX + rules)


CLIQUES = """
    [?y, :same, ?x] :- [?x, :same, ?y] .
    [?x, :same, ?z] :- [?x, :same, ?y], [?y, :same, ?z] .
"""

ANOTHER_WAY = """
    [?x, :r, ?y] :- [?x, :q, ?y], [?x, :q2, ?y] .
    [?x, :r, ?y] :- [?x, :s, ?y] .
    [?x, :s, ?y] :- [?x, :w, ?y] .
    [?x, :t, ?y] :- [?x, :r, ?y], [?x, :u, ?y] .
    [?x, :t, ?y] :- [?x, :r, ?y], [?x, :v, ?y] .
"""
PATHS = written(
    ANOTHER_WAY + "[?x, :r, ?z] :- [?x, :r, ?y], [?y, :r, ?z] .",
    "b r c, c r d, a q2 b, a v d, a q b, a u d",
    "b r c, c r d, a q2 b, a v d, a q b, a u d, a w c",
    "b r c, c r d, a q2 b, a v d, a w c",
)
"""Once missed: a to d over c, where a to c was a path at first and got another derivation later."""

STEPS = written(
    ANOTHER_WAY + "[?x, :r, ?z] :- [?x, :r, ?y], [?y, :e, ?z] .",
    "b e c, c e d, a q2 b, a v d, a q b, a u d",
    "b e c, c e d, a q2 b, a v d, a q b, a u d, a w c",
    "b e c, c e d, a q2 b, a v d, a w c",
)
"""The same along other edges."""

RESTORED = written(
    ANOTHER_WAY + "[?x, :r, ?z] :- [?x, :r, ?y], [?y, :r, ?z] .",
    "b r c, c r d, a q2 b, a v d, a q b, a u d",
    "b r c, c r d, a q2 b, a v d, a q b, a u d, a w c",
    "b r c, c r d, a q2 b, a v d, a w c, d r f",
)
"""Once missed: a to f, over an edge that comes when a to c is an edge again."""

GUARDS = written(
    """
    [?x, ?p, ?z] :- [?p, :is, :transitive], [?x, ?p, ?y], [?y, ?p, ?z] .
    [?y, ?q, ?x] :- [?p, :inverse, ?q], [?x, ?p, ?y] .
    """,
    "a inverse b, b inverse c, x a y, a inverse c, inverse is transitive",
    "a inverse b, b inverse c, x a y",
)
"""Once kept: a inverse c, schema itself, which followed by the guard that goes with it."""

NAMES = written(
    CLIQUES
    + """
    [?s, ?p, ?y] :- [?x, :same, ?y], [?s, ?p, ?x] .
    [:q, :same, :a] :- [:z, :one, :z], [:z, :all, :z] .
    [:e, :r, :a] :- [:z, :two, :z], [:z, :all, :z] .
    [:z, :two, :z] :- [:z, :three, :z], [:z, :all, :z] .
    """,
    "q same b, b same a, z all z, z three z",
    "q same b, b same a, z all z, z three z, z one z",
    "q same b, b same a, z all z",
)
"""Once missed: e r b rests on e r a, which goes because q same a might, before it loses its own premise."""

ONE_COMES = written(
    "[?x, :r, ?y] :- [?x, :s, ?z], [?z, :t, ?y] . [?x, :u, ?y] :- [?x, :r, ?y] .",
    "a s b, b t c, a u c",
    "a s b, b t c, d r e",
)
"""a u c rests on a r c, which is not certain: with d r e there are as many such facts as certain ones."""


TWO_WAYS = written(
    "[?y, :p, ?x] :- [?x, :p, ?y] . [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] .",
    "b p a",
    "b p a, a p b",
    "b p a, a p b, z r z",
    "a p b, z r z",
    "z r z",
)
"""Each of b p a and a p b is explicit for a while: the first stays for the second, and goes with it."""


@thorough(200)
@given(histories(kinds.fact_sets), kinds.positive_programs)
@example(*PATHS)
@example(*TWO_WAYS)
@example(*ONE_COMES)
@example(*STEPS)
@example(*NAMES)
@example(*RESTORED)
@example(*GUARDS)
def test_modules_feed_each_other(history: History, program: Program) -> None:
    assert_exact(history, program)


@thorough(100)
@given(histories(kinds.fact_sets), kinds.programs_with_not)
def test_modules_and_negation(history: History, program: Program) -> None:
    assume(is_stratified(program))
    assert_exact(history, program)


ontologies = ontology.ontologies(
    ontology.rdfs_axioms,
    ontology.property_axioms,
    ontology.class_axioms,
    ontology.clash_axioms,
)


@pytest.mark.parametrize("profile", ["rhodf", "rdfs", "rdfs-plus", "owl2rl"])
@thorough(60)
@given(histories(ontologies))
def test_profiles(profile: str, history: History) -> None:
    assert_exact(history, load_profile(profile), same_visible)


special = st.one_of(some.rules_with_not(), some.rules_with_aggregate(), some.rules_with_bind())


@thorough(200)
@given(histories(some.number_fact_sets), some.programs(special))
def test_negation_and_aggregates(history: History, program: Program) -> None:
    assume(is_stratified(program))
    assert_exact(history, program, same_values)


@pytest.mark.slow
@thorough(75)
@given(histories(ontologies), some.programs(some.rules_with_not()))
def test_negation_over_ontologies(history: History, program: Program) -> None:
    """Rules with NOT beside those of a profile. Those that an ontology makes circular are suspended.

    The naive evaluator knows no strata of instances. But where there are any, only one set of facts is the
    closure under rules whose negations are judged by itself (Gelfond, Lifschitz, The Stable Model
    Semantics for Logic Programming, 1988): so what the engine derives from scratch can be checked.
    """
    both = Program((*load_profile("rdfs-plus").rules, *program.rules))
    try:
        scratch = [run(facts, both) for facts in history]
    except UnstratifiableError:  # circular whatever the facts are
        assume(False)
    models = [facts_of(state.index.columns(legal=False), state.dictionary) for state in scratch]
    suspended = [{found.rule for found in state.suspended} for state in scratch]
    for facts, model, left_out in zip(history, models, suspended, strict=True):
        applied = Program(tuple(rule for rule in both if rule not in left_out))
        assert closure_judged_by(model, facts, applied) == model
    assert_exact(history, both, wanted=models, suspended=suspended)


@thorough(150)
@given(histories_of_rules(some.fact_sets, some.programs()))
def test_rules_come_and_go(both: tuple[History, list[Program]]) -> None:
    assert_exact(*both)


@thorough(100)
@given(histories_of_rules(kinds.fact_sets, kinds.positive_programs))
def test_rules_of_modules_come_and_go(both: tuple[History, list[Program]]) -> None:
    assert_exact(*both)


@thorough(100)
@given(histories_of_rules(some.number_fact_sets, some.programs(special)))
def test_special_rules_come_and_go(both: tuple[History, list[Program]]) -> None:
    history, programs = both
    assume(all(map(is_stratified, programs)))
    assert_exact(history, programs, same_values)


@thorough(100)
@given(histories_of_rules(kinds.fact_sets, kinds.programs_with_strata))
def test_strata_come_and_go(both: tuple[History, list[Program]]) -> None:
    """What a rule with NOT derived is data when that rule goes, and so is what follows from it."""
    history, programs = both
    assume(all(map(is_stratified, programs)))
    assert_exact(history, programs)


@pytest.mark.parametrize("profile", ["rhodf", "rdfs-plus", "owl2rl"])
@thorough(25)
@given(histories(ontologies), st.data())
def test_rules_of_profiles_come_and_go(profile: str, history: History, data: st.DataObject) -> None:
    """Each step lacks a few of the profile's rules."""
    rules = load_profile(profile).rules
    lacking = [data.draw(st.frozensets(st.sampled_from(range(len(rules))), max_size=3)) for _ in history]
    programs = [Program(tuple(r for i, r in enumerate(rules) if i not in without)) for without in lacking]
    assert_exact(history, programs, same_visible)


@thorough(25)
@given(histories(ontologies), st.data())
def test_profiles_are_switched(history: History, data: st.DataObject) -> None:
    names = st.sampled_from(["rhodf", "rdfs", "rdfs-plus", "owl2rl"])
    assert_exact(history, [load_profile(data.draw(names)) for _ in history], same_visible)


@pytest.mark.slow
@pytest.mark.skipif("not {'CI', 'MORE_EXAMPLES'} & os.environ.keys()", reason="needs all examples")
def test_enough_states_were_compared(request: pytest.FixtureRequest) -> None:
    """What the tests of this file have compared together, if all of them ran."""
    module = request.node.getparent(pytest.Module)
    selected = {item.nodeid for item in request.session.items}
    if any(item.nodeid not in selected for item in module.collect()):
        pytest.skip("only some tests of this file run")
    print(*compared.items())
    assert compared.total() - compared["starting over"] >= LEAST
