"""The cost model: chooses the strategy for a transaction, and learns from the time that it took.

The estimate for a strategy is the time of its last large transaction, scaled by the square root of |Δ⁻|: the
more facts are removed, the more of them have the same consequences. The estimate for recomputing is the time
of the last materialisation from scratch. The least estimate wins.

Transactions that remove schema are measured apart: a class that loses its superclass changes more than a
thousand facts about individuals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, sqrt
from operator import methodcaller

from corollary.evaluate.engine import Measured
from corollary.maintain.report import Report
from corollary.maintain.strategy import DeletionStrategy, Request, TooMuch
from corollary.maintain.tuning import (
    ESTIMATE_KEPT,
    ESTIMATES_ALLOWED,
    MAX_SHARE_IF_CLIQUES,
    MAX_SHARE_OF_RECOMPUTING,
    MIN_BUDGET_FACTS,
    MIN_REMOVED_FACTS_IF_SLOW,
    MIN_REMOVED_FACTS_TO_LEARN,
    MIN_SHARE_TO_JUDGE,
    PENALTY_AFTER_ABORT,
    PENALTY_IF_CUT_SHORT,
    SECONDS_AT_FIRST,
    SECONDS_OF_FIRST_USE,
    SECONDS_PER_CHECK,
)

AUTOMATIC = "automatic"
"""The name that lets the cost model choose."""


AT_FIRST = "at first"
"""In place of a strategy: the estimate for all strategies before one of them is measured."""

TOO_MANY_DELETIONS = "too many facts would be deleted, and most derived again"


def choose(
    request: Request, strategies: Mapping[str, DeletionStrategy], wanted: str, fallback: DeletionStrategy
) -> tuple[DeletionStrategy, str]:
    """The strategy for a transaction, and the reason if the fallback was chosen without being ``wanted``."""
    engine = request.engine
    if engine.version != request.before.version:
        return fallback, "what changes is not the last materialisation"
    if engine.schema_depends_on_strata:
        return fallback, "rules with negation or aggregates lead to schema"
    if wanted != AUTOMATIC:
        return strategies[wanted], ""
    ranked: Iterable[DeletionStrategy] = strategies.values()
    if request.removed or request.program is not request.before.program:  # else all cost the same
        ranked = sorted(ranked, key=methodcaller("seconds", request))
    # last the question whether a strategy can follow, which may cost a part of recomputing
    chosen = next(filter(methodcaller("can_follow", request), ranked))
    return chosen, "too many facts are removed" if chosen is fallback else ""


def learnt_seconds(request: Request, strategy: str) -> float:
    """The estimate for a strategy, in seconds: its last measurement, scaled by the square root of |Δ⁻|."""
    measured, removed, is_schema = request.engine.measured, len(request.removed), request.removes_schema
    known = measured.get((strategy, is_schema)) or measured.get((AT_FIRST, is_schema))
    return SECONDS_AT_FIRST * sqrt(removed) if known is None else known[1] * sqrt(removed / known[0])


def _known(request: Request, strategy: str) -> tuple[int, float] | None:
    """The removed facts and the seconds of the last measurement of this kind; None without one."""
    return request.engine.measured.get((strategy, request.removes_schema))


def learn(request: Request, report: Report, seconds: float) -> Measured:
    """The measurements after a transaction that took ``seconds``.

    One that removed few facts, and fewer than the last measurement is about, changes nothing. If it took
    longer than the budget of time that strategies have at first, fewer facts are enough.
    """
    if not report.removed:
        return request.engine.measured
    known = dict(request.engine.measured)
    is_slow = seconds > MAX_SHARE_OF_RECOMPUTING * request.engine.seconds
    least = MIN_REMOVED_FACTS_IF_SLOW if is_slow else MIN_REMOVED_FACTS_TO_LEARN
    last, _ = known.get((report.strategy, request.removes_schema), (least, seconds))
    if report.removed >= min(least, last):
        known[report.strategy, request.removes_schema] = (report.removed, seconds)
        known.pop((AT_FIRST, request.removes_schema), None)
    return known


def learn_from_recomputing(
    request: Request, given_up: str, error: Exception | None, seconds: float
) -> Measured:
    """As ``learn``, after recomputing. ``TooMuch`` as ``error`` penalises the strategy ``given_up``.

    ``seconds`` is the estimate for recomputing from now on. That for ``given_up`` and this |Δ⁻| becomes
    PENALTY_AFTER_ABORT times as much. If the strategy had only a part of the time of recomputing, as in its
    first transaction, which also loads code and makes plans, the factor is PENALTY_IF_CUT_SHORT: the strategy
    is tried once more, and has all of the time.
    All other estimates for such transactions are multiplied by ESTIMATE_KEPT, also that before anything is
    measured: so that a program whose changes lead to little is not recomputed for ever.
    """
    removed = len(request.removed)
    before = dict(request.engine.measured)
    if removed and not any(is_schema == request.removes_schema for _, is_schema in before):
        before[AT_FIRST, request.removes_schema] = (removed, learnt_seconds(request, AT_FIRST))
    found = {
        key: (number, ESTIMATE_KEPT * known if key[1] == request.removes_schema else known)
        for key, (number, known) in before.items()
    }
    if isinstance(error, TooMuch) and removed:
        key = given_up, request.removes_schema
        found[key] = (removed, _penalty(request, given_up) * seconds)
        found.pop((AT_FIRST, request.removes_schema), None)
    return found


def _penalty(request: Request, strategy: str) -> float:
    """The estimate for a strategy that was given up, in proportion to that for recomputing."""
    enough = MIN_SHARE_TO_JUDGE * request.engine.seconds
    is_first = _known(request, strategy) is None
    is_cut_short = is_first or ESTIMATES_ALLOWED * learnt_seconds(request, strategy) < enough
    return PENALTY_IF_CUT_SHORT if is_cut_short else PENALTY_AFTER_ABORT


def undisturbed(request: Request, seconds: float, given_up: Exception) -> float:
    """The estimate for recomputing, after it took ``seconds`` because a strategy was given up.

    Machine code of the strategy may run on beside it. So it is not more than before, in proportion to E.
    """
    if not isinstance(given_up, TooMuch):
        return seconds
    growth = request.explicit.fact_count() / max(1, request.before.explicit.fact_count())
    return min(seconds, request.engine.seconds * max(1.0, growth))


def most_seconds(request: Request, strategy: str) -> float:
    """The budget of time: a share of the time of recomputing; none if the strategy was asked for.

    Before the strategy is measured, SECONDS_OF_FIRST_USE are added; the share is MAX_SHARE_IF_CLIQUES if the
    transaction ``loses_cliques_only``. If its last large transaction took less time than recomputing, the
    budget is at least ESTIMATES_ALLOWED times the estimate, but not more than the time of recomputing.
    """
    if not request.is_automatic:
        return inf
    recomputing, known = request.engine.seconds, _known(request, strategy)
    share = MAX_SHARE_OF_RECOMPUTING * recomputing
    if known is None:
        if loses_cliques_only(request):
            share = MAX_SHARE_IF_CLIQUES * recomputing
        return SECONDS_OF_FIRST_USE + share
    if known[1] < recomputing:
        share = max(share, min(recomputing, ESTIMATES_ALLOWED * learnt_seconds(request, strategy)))
    return share


def loses_cliques_only(request: Request) -> bool:
    """Whether Δ⁻ are facts of symmetric closures that are not listed, and that nothing else depends on.

    Following them costs at most what all of E costs: each piece of a closure is looked at once.
    """
    engine, before = request.engine, request.before.index
    predicates = request.removed.all_predicates()
    if not predicates or not all(before.relation(predicate).is_compressed for predicate in predicates):
        return False
    if engine.strata or request.change is not None:
        return False
    order = engine.precedence(before)
    return all(
        before.relation(predicate).missing_inverses() is not None
        and order.level(predicate) == len(order.by_level) - 1
        and len(order.group_of(predicate)) == 1
        for predicate in predicates
    )


def affordable(request: Request, seconds: float) -> int:
    """The number of steps of ``seconds`` each that take as long as recomputing; at least MIN_BUDGET_FACTS."""
    return max(MIN_BUDGET_FACTS, int(request.engine.seconds / seconds))


def most_checks(request: Request) -> int:
    """The facts that can be looked up, in one layer, in the time of recomputing."""
    return affordable(request, SECONDS_PER_CHECK)
