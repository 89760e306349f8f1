"""Counting as a strategy: what it keeps, when it counts anew, and when it gives up.

That it is exact is tested with all strategies in ``test_transactions``, and its counts in
``tests/evaluate/test_derivation_counts.py``.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests.engine import facts_of, load
from tests.evaluate.test_against_naive import is_stratified
from tests.evaluate.test_derivation_counts import assert_births, counted, rules_of
from tests.maintain.histories import History, follow, histories, histories_of_rules
from tests.maintain.test_transactions import written
from tests.modules import kinds
from tests.oracles import naive
from tests.oracles.integers import INTEGERS
from tests.strategies import NUMBERS, thorough

from corollary.columns.delta import NOTHING, Delta
from corollary.evaluate import MaterialisedView, derivation_counts, materialise
from corollary.evaluate.derivation_counts import DerivationCounts
from corollary.language import Program, parse_program
from corollary.maintain import AUTOMATIC, Report, maintain
from corollary.maintain.deletion import STRATEGIES, counting
from corollary.maintain.deletion.counting import Counting
from corollary.profiles import load_profile
from corollary.program.compile import is_virtual
from corollary.terms.dictionary import TermDictionary

NAME = Counting.name

HISTORY, PROGRAM = written(
    "[?y, :q, ?x] :- [?x, :q, ?y] . [?x, :r, ?z] :- [?x, :q, ?y], [?y, :p, ?z] .",
    "a q b, b p c, c q c",
    "b p c, c q c",
    "a q b, c q c",
)

ontologies = ontology.ontologies(
    ontology.rdfs_axioms, ontology.property_axioms, ontology.class_axioms, ontology.clash_axioms
)


def assert_kept(result: MaterialisedView, report: Report) -> None:
    """The counts are those of the engine's rules and facts from scratch.

    None are kept where virtual facts came beside strata.
    """
    counts = result.engine.remembered
    assert report.strategy == NAME, report
    if counts is None and result.engine.strata:
        assert any(map(is_virtual, result.index.all_predicates())), report
        return
    assert isinstance(counts, DerivationCounts)
    assert_births(counts)
    anew = DerivationCounts(result.dictionary)
    anew.change([rule for rule in rules_of(result.compiled) if rule.is_monotone], counts.given)
    assert counted(counts, result.dictionary) == counted(anew, result.dictionary)
    assert not Delta.of(result.explicit) - counts.given
    assert not Delta.of(result.index) - counts.facts or result.strata.rules


@thorough(60)
@given(
    st.one_of(
        histories_of_rules(kinds.fact_sets, kinds.positive_programs),
        histories_of_rules(kinds.fact_sets, kinds.programs_with_not),
        histories(ontologies).map(lambda history: (history, [load_profile("owl2rl")] * len(history))),
    )
)
@example((HISTORY, [PROGRAM] * len(HISTORY)))
def test_counts_are_kept(both: tuple[History, list[Program]]) -> None:
    """Unless the transaction started over, for whatever reason."""
    history, programs = both
    assume(all(map(is_stratified, programs)))
    for result, report in follow(history, programs, NAME):
        if report.strategy == NAME:
            assert_kept(result, report)


def start() -> tuple[TermDictionary, MaterialisedView]:
    dictionary = TermDictionary()
    result = materialise(load(HISTORY[0], dictionary), PROGRAM, dictionary)
    return dictionary, maintain(result, result.explicit, NOTHING, NOTHING, NAME)[0]


def step(result: MaterialisedView, number: int, strategy: str = NAME) -> tuple[MaterialisedView, Report]:
    """Follow the history to one of its states."""
    explicit = load(HISTORY[number], result.dictionary)
    removed, added = Delta.of(result.explicit) - explicit, Delta.of(explicit) - result.explicit
    found, report = maintain(result, explicit, removed, added, strategy)
    facts = facts_of(found.index.columns(), found.dictionary)
    assert facts == naive.closure(HISTORY[number], PROGRAM, INTEGERS)[0], report
    return found, report


def test_another_strategy_drops_the_counts() -> None:
    _, result = start()
    assert result.engine.remembered is not None
    for name in STRATEGIES:
        if name != NAME:
            result, _ = step(result, 1, name)
            assert result.engine.remembered is None
            result, report = step(result, 0)
            assert_kept(result, report)


def test_the_cost_model_takes_counts_that_exist() -> None:
    """It counts nothing anew: counting costs more than starting over."""
    dictionary = TermDictionary()
    result = materialise(load(HISTORY[0], dictionary), PROGRAM, dictionary)
    result, report = step(result, 1, AUTOMATIC)
    assert report.strategy != NAME
    _, result = start()
    result.engine.measured = {(name, False): (1, 1.0) for name in STRATEGIES if name != NAME}
    result.engine.seconds = 1.0
    result, report = step(result, 1, AUTOMATIC)
    assert report.strategy == NAME
    assert_kept(result, report)


@pytest.mark.parametrize("calls", range(1, 8))
def test_an_interruption_leaves_no_counts(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it comes before the engine changes or after: the next transaction is exact."""
    _, result = start()
    left = [calls]
    credit = derivation_counts._Settling._credit

    def interrupted(*arguments: object) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        credit(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(derivation_counts._Settling, "_credit", interrupted)
    try:
        after, _ = step(result, 1)
    except KeyboardInterrupt:
        after = result
        assert result.engine.remembered is None
    monkeypatch.undo()
    for number in (1, 2, 0):
        after, _ = step(after, number)


def test_too_many_derivations_start_over(monkeypatch: pytest.MonkeyPatch) -> None:
    dictionary = TermDictionary()
    result = materialise(load(HISTORY[0], dictionary), PROGRAM, dictionary)
    monkeypatch.setattr(counting, "MAX_DERIVATIONS", 0)
    result, report = step(result, 1)
    assert (report.strategy, report.reason) == ("starting over", "too many derivations would be counted")
    assert result.engine.remembered is None


def test_virtual_facts_do_not_keep_themselves() -> None:
    """A literal has a type because it occurs, and occurs in the fact that it has a type."""
    program = parse_program(kinds.PREFIX + "[?v, a, ?d] :- VALUE(?v, ?d) .")
    ((other,),) = written("", "c q c")[0]
    subject, predicate, _ = other
    history = [frozenset({other, (subject, predicate, NUMBERS[1])})] * 2 + [frozenset({other})]
    states = list(follow(history, [program] * 3, NAME))
    assert [report.strategy for _, report in states] == ["materialised", NAME, NAME]
    result, _ = states[-1]
    assert facts_of(result.index.columns(legal=False), result.dictionary) == {other}


def test_what_only_a_stratum_derived_goes_with_it() -> None:
    """It was never counted, and is data when the rule with NOT goes: u follows from s, which nothing derives.

    The same in the first transaction that counts, and in a later one.
    """
    negation, copy = (
        parse_program(kinds.PREFIX + text)
        for text in (
            "[?x, :s, ?y] :- [?x, :p, ?y], NOT [?y, :p, ?x] .",
            "[?x, :u, ?y] :- [?x, :s, ?y] .",
        )
    )
    ((facts,), _) = written("", "a p b")
    for programs in ([negation + copy, copy], [copy, negation + copy, copy]):
        states = list(follow([facts] * len(programs), programs, NAME))
        assert {report.strategy for _, report in states[1:]} == {NAME}
        result, _ = states[-1]
        assert facts_of(result.index.columns(), result.dictionary) == facts
