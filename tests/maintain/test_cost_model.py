"""What the cost model learns from removals that were given up."""

from __future__ import annotations

from functools import partial
from math import inf
from threading import Thread
from time import sleep

import numpy as np
import pytest

from corollary.columns import Delta, TripleIndex
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
from corollary.maintain.cost_model import learn, learn_from_recomputing, learnt_seconds, most_seconds
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
    asked.engine.measured = learn(asked, Report(NAME, removed=98), 0.3 * SECONDS)
    assert learnt_seconds(asked, NAME) == pytest.approx(PENALTY_IF_CUT_SHORT * SECONDS)
    asked.engine.measured = learn(asked, Report(NAME, removed=99), 0.3 * SECONDS)
    assert learnt_seconds(asked, NAME) == 0.3 * SECONDS
    assert learn(fewer, Report(NAME, removed=98), 0.3 * SECONDS) == {}, "nothing is measured yet"


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
