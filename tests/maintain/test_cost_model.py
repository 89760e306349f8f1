"""What the cost model learns from removals that were given up."""

from __future__ import annotations

from functools import partial
from math import inf
from threading import Thread
from time import sleep

import numpy as np
import pytest

from corollary.columns import Delta, Pairs, Relation, TripleIndex
from corollary.evaluate import materialise
from corollary.kernels.limits import (
    Cancellation,
    LimitExceeded,
    Limits,
    current,
    limited,
    reserve,
    uncounted,
)
from corollary.language import Program, parse_program
from corollary.maintain import AUTOMATIC, maintain, strategy
from corollary.maintain.cost_model import (
    learn,
    learn_from_recomputing,
    learnt_seconds,
    loses_cliques_only,
    most_seconds,
)
from corollary.maintain.report import Report
from corollary.maintain.strategy import Clock, Request, TooMuch
from corollary.maintain.tuning import (
    PENALTY_AFTER_ABORT,
    PENALTY_IF_CUT_SHORT,
    SECONDS_AT_FIRST,
    SECONDS_OF_FIRST_USE,
)
from corollary.terms.dictionary import TermDictionary

NAME = "backward/forward"
SECONDS = 2.0
ONE_KEY = np.ones(1, np.uint64)


def request(removed: int) -> Request:
    """A transaction that removes some facts from a materialisation that took two seconds."""
    before = materialise(TripleIndex(), Program(()), TermDictionary())
    before.engine.seconds = SECONDS
    gone = Delta({1: np.arange(removed, dtype=np.uint64)})
    return Request(before, TripleIndex(), gone, Delta({}), Program(()))


def give_up(asked: Request) -> float:
    """The estimate after the strategy gave up."""
    asked.engine.measured = learn_from_recomputing(asked, NAME, TooMuch("too much"), asked.engine.seconds)
    return learnt_seconds(asked, NAME)


def start_over(asked: Request) -> float:
    """The estimate after a transaction that was chosen to start over."""
    asked.engine.measured = learn_from_recomputing(asked, NAME, None, asked.engine.seconds)
    return learnt_seconds(asked, NAME)


@pytest.mark.parametrize("removed", [1, 100_000])
def test_a_removal_is_tried_again_soon_and_then_later(removed: int) -> None:
    asked = request(removed)
    assert most_seconds(asked, NAME) == pytest.approx(SECONDS_OF_FIRST_USE + 0.25 * SECONDS)
    assert give_up(asked) == pytest.approx(PENALTY_IF_CUT_SHORT * SECONDS)
    assert most_seconds(asked, NAME) == pytest.approx(SECONDS)
    assert give_up(asked) == PENALTY_AFTER_ABORT * SECONDS
    waits = 0
    while start_over(asked) >= SECONDS:
        waits += 1
    assert waits == 3


@pytest.mark.parametrize("seconds", [0.1, 0.7, 1.1, 2.0])
def test_a_removal_that_had_almost_all_the_time_is_not_tried_at_once(seconds: float) -> None:
    first, second = request(1000), request(990)
    first.engine.seconds = second.engine.seconds = seconds
    give_up(first)
    second.engine.measured = first.engine.measured
    assert learnt_seconds(second, NAME) < seconds
    assert give_up(second) == PENALTY_AFTER_ABORT * seconds


def test_a_removal_that_was_cut_short_is_tried_again_although_recomputing_took_less_time() -> None:
    asked = request(1000)
    asked.engine.measured = learn_from_recomputing(asked, NAME, TooMuch("too much"), SECONDS / 2)
    asked.engine.seconds = SECONDS / 2
    assert most_seconds(asked, NAME) == pytest.approx(SECONDS / 2)


def test_a_removal_as_large_as_the_last_measured_one_is_measured() -> None:
    asked, fewer = request(99), request(98)
    give_up(asked)
    asked.engine.measured = learn(asked, Report(NAME, removed=98), 0.2 * SECONDS)
    assert learnt_seconds(asked, NAME) == pytest.approx(PENALTY_IF_CUT_SHORT * SECONDS)
    asked.engine.measured = learn(asked, Report(NAME, removed=99), 0.2 * SECONDS)
    assert learnt_seconds(asked, NAME) == 0.2 * SECONDS
    assert learn(fewer, Report(NAME, removed=98), 0.2 * SECONDS) == {}, "nothing is measured yet"


def test_what_was_never_measured_is_tried_at_last() -> None:
    """Half as long again as starting over, by the estimate before anything is measured: tried after two."""
    asked = request(10_000)
    asked.engine.seconds = SECONDS_AT_FIRST * 100 / 1.5
    waits = 0
    while learnt_seconds(asked, NAME) >= asked.engine.seconds:
        waits += 1
        start_over(asked)
    assert waits == 2
    assert learnt_seconds(asked, "dred") == learnt_seconds(asked, NAME)
    report = Report(NAME, removed=10_000)
    asked.engine.measured = learn(asked, report, 0.5 * asked.engine.seconds)
    assert learnt_seconds(asked, NAME) == 0.5 * asked.engine.seconds
    assert learnt_seconds(asked, "dred") == SECONDS_AT_FIRST * 100, "one is measured: the others wait"


def test_removals_of_schema_are_measured_apart() -> None:
    dictionary = TermDictionary()
    program = parse_program("[?x, ?q, ?y] :- [?p, <ex:below>, ?q], [?x, ?p, ?y] .")
    before = materialise(TripleIndex(), program, dictionary)
    before.engine.seconds = SECONDS
    schema, data = (
        Request(before, TripleIndex(), Delta({dictionary.encode(name): ONE_KEY}), Delta({}), program)
        for name in ("<ex:below>", "<ex:knows>")
    )
    assert (schema.removes_schema, data.removes_schema) == (True, False)
    give_up(schema)
    assert learnt_seconds(data, NAME) == SECONDS_AT_FIRST
    start_over(data)
    assert learnt_seconds(schema, NAME) == pytest.approx(PENALTY_IF_CUT_SHORT * SECONDS)


def work_while_another_thread_compiles() -> None:
    """Until a limit of time is exceeded. The time of the other thread does not count towards estimates."""
    other = Thread(target=partial(uncounted, partial(sleep, 0.01)))
    other.start()
    other.join()
    while True:
        current().check()


def test_an_estimate_is_no_limit_of_the_user() -> None:
    """Whatever other threads do meanwhile, a strategy that takes longer than estimated is given up."""
    with pytest.raises(TooMuch):
        Clock(0.001).within(work_while_another_thread_compiles)
    with pytest.raises(LimitExceeded):
        limited(Limits(seconds=0.001), Cancellation(), Clock(60).within, work_while_another_thread_compiles)


def test_a_strategy_that_takes_too_much_memory_is_given_up() -> None:
    """Starting over may take less; who asks for a strategy is told."""
    within = partial(limited, Limits(bytes=1 << 20), Cancellation())
    with pytest.raises(TooMuch, match="too much memory"):
        within(Clock(60).within, reserve, 1 << 30)
    with pytest.raises(LimitExceeded):
        within(Clock(inf).within, reserve, 1 << 30)


def test_few_facts_that_took_more_than_the_first_budget_are_measured() -> None:
    """Found: removals of 999 facts that took 0.6 of the time of recomputing had the first budget for ever."""
    asked, report = request(999), Report(NAME, removed=999)
    assert learn(asked, report, 0.24 * SECONDS) == {}
    asked.engine.measured = learn(asked, report, 0.6 * SECONDS)
    assert most_seconds(asked, NAME) == pytest.approx(1.5 * 0.6 * SECONDS)


class Ticks:
    """A stopwatch that is set."""

    now = 0.0

    def seconds(self) -> float:
        return self.now


def follow(steps: list[int], monkeypatch: pytest.MonkeyPatch, phases: int = 1) -> float:
    """The seconds until steps are given up, each of which takes one; infinite if all are done.

    Recomputing takes ten, the budget at first is a quarter of that.
    """
    monkeypatch.setattr(strategy, "Stopwatch", Ticks)
    monkeypatch.setattr(strategy, "MIN_FACTS_TO_ESTIMATE", 0)
    clock = Clock(2.5, 10)

    def work() -> float:
        for number, facts in enumerate(steps):
            clock._watch.now += 1  # type: ignore[attr-defined]
            clock.note(str(number * phases // len(steps)), facts)
            if clock._watch.seconds() > clock._seconds:
                return clock._watch.seconds()
        return inf

    try:
        return clock.within(work)
    except TooMuch:
        return clock._watch.seconds()


def test_a_budget_is_extended_while_steps_become_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    falling = [100, 60, 40, 30, 20, 10, 5]
    assert follow(falling, monkeypatch) == inf
    assert follow([*falling[:4], 20, 10, 5], monkeypatch, phases=2) == inf
    assert follow([100] * 7, monkeypatch) == 3, "as large as before"
    assert follow([1, 3, 10, 30, 100, 300, 100, 10], monkeypatch) == 3, "larger than before"
    assert follow([1, 100, *[50] * 10], monkeypatch) == 6, "smaller once, and then no more"
    assert follow([10, 100, 50, 10, *[100] * 10], monkeypatch) < 10, "larger again"


CLIQUES = """
    [?x, <ex:near>, ?y] :- [?y, <ex:near>, ?x] .
    [?x, <ex:near>, ?z] :- [?x, <ex:near>, ?y], [?y, <ex:near>, ?z] .
"""


@pytest.mark.parametrize(
    ("rules", "is_bounded"),
    [
        (CLIQUES, True),
        (CLIQUES + "[?x, <ex:knows>, ?y] :- [?x, <ex:near>, ?y], [?y, <ex:likes>, ?x] .", False),
        ("[?x, <ex:near>, ?z] :- [?x, <ex:near>, ?y], [?y, <ex:near>, ?z] .", False),
    ],
)
def test_cliques_have_all_of_the_time(rules: str, is_bounded: bool) -> None:
    """If they are not listed, and nothing depends on them: following costs no more than closing."""
    dictionary = TermDictionary()
    near, likes = dictionary.encode("<ex:near>"), dictionary.encode("<ex:likes>")
    nodes = np.array([dictionary.encode(f"<ex:{number}>") for number in range(3000)], np.uint64)
    chain = np.sort(nodes[:-1] << np.uint64(32) | nodes[1:])
    facts = TripleIndex({p: Relation(Pairs(keys)) for p, keys in ((near, chain), (likes, chain[:1]))})
    before = materialise(facts, parse_program(rules), dictionary)
    gone = Delta({near: chain[1500:1501]})
    left = facts.snapshot()
    left.remove(near, chain[1500:1501])
    asked = Request(before, left, gone, Delta({}), before.program)
    assert loses_cliques_only(asked) == is_bounded
    share = most_seconds(asked, NAME) - SECONDS_OF_FIRST_USE
    assert share == pytest.approx((1.3 if is_bounded else 0.25) * before.engine.seconds)
    after, _ = maintain(before, left, gone, Delta({}), AUTOMATIC)
    assert len(after.index) == len(materialise(left, before.program, dictionary).index)
