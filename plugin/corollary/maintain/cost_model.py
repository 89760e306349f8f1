"""The cost model: which strategy follows a transaction, and what is learnt from how long it took.

A strategy's estimate is its seconds per removed fact, as measured by the last large transaction, times
|Δ⁻|. Recomputing takes as long as materialising took. The least estimate is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping

from corollary.evaluate.engine import SECONDS_A_REMOVAL
from corollary.maintain.strategy import DeletionStrategy, Request, TooMuch

AUTOMATIC = "automatic"
"""The strategy that the cost model chooses."""

LARGE_REMOVAL = 1000
"""Removed facts. The time of a transaction with fewer is no estimate for the next one."""

PENALTY_AFTER_ABORT = 8
"""After an aborted large removal the estimate is that of recomputing, times this: the next ones recompute at
once. Each of these halves the distance to the first guess, so that it is tried again after a few."""

SECONDS_A_CHECK = 0.4e-6  # measured: proofs on LUBM-10
"""Seconds for looking at one fact in a proof."""

SECONDS_A_DELETION = 3e-6  # measured: DRed on LUBM-10, overdeletion and rederivation
"""Seconds for deleting one fact under DRed, and deriving it again."""

TOO_MANY_DELETIONS = "too many facts would be deleted, and most derived again"

LEAST_BUDGET = 10_000
"""Facts that may be looked at, or deleted, however little time materialising took."""


def choose(
    request: Request, strategies: Mapping[str, DeletionStrategy], wanted: str, fallback: DeletionStrategy
) -> tuple[DeletionStrategy, str]:
    """The strategy for a transaction, and if that is the fallback unasked, the reason."""
    engine = request.engine
    if engine.version != request.before.version:
        return fallback, "what changes is not the last materialisation"
    if engine.schema_depends_on_strata:
        return fallback, "rules with negation or aggregates lead to schema"
    if wanted != AUTOMATIC:
        return strategies[wanted], ""
    able = [strategy for strategy in strategies.values() if strategy.can_follow(request)]
    chosen = min(able, key=lambda strategy: strategy.seconds(request))
    return chosen, "too many facts are removed" if chosen is fallback else ""


def learnt_seconds(request: Request, strategy: str) -> float:
    """The estimate for a strategy."""
    return len(request.removed) * request.engine.seconds_per_removal.get(strategy, SECONDS_A_REMOVAL)


def learn(request: Request, strategy: str, seconds: float) -> dict[str, float]:
    """Seconds per removed fact, by strategy, after one followed a transaction in some time."""
    known, removed = dict(request.engine.seconds_per_removal), len(request.removed)
    if removed >= LARGE_REMOVAL:
        known[strategy] = seconds / removed
    return known


def learn_from_recomputing(request: Request, given_up: str, error: Exception | None) -> dict[str, float]:
    """As ``learn``, after recomputing: in the place of a strategy that gave up, if there is an error."""
    engine, removed = request.engine, len(request.removed)
    known = engine.seconds_per_removal
    known = {name: (seconds + SECONDS_A_REMOVAL) / 2 for name, seconds in known.items()}
    if isinstance(error, TooMuch) and removed:
        penalty = PENALTY_AFTER_ABORT if removed >= LARGE_REMOVAL else 1
        known[given_up] = penalty * engine.seconds / removed
    return known


def most_checks(request: Request) -> int:
    """Facts that proofs may look at until recomputing would have been done."""
    return max(LEAST_BUDGET, int(request.engine.seconds / SECONDS_A_CHECK))


def most_deletions(request: Request) -> float:
    """Facts that DRed may delete until recomputing would have been done; any number if it was asked for."""
    if not request.is_automatic:
        return float("inf")
    return max(LEAST_BUDGET, int(request.engine.seconds / SECONDS_A_DELETION))
