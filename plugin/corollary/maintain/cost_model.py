"""The cost model: chooses the strategy for a transaction, and learns from the time that it took.

The estimate for a strategy is |Δ⁻| times its seconds per removed fact, as measured in the last large
transaction. The estimate for recomputing is the time that the monotone rules took in the last materialisation
from scratch. The least estimate wins.
"""

from __future__ import annotations

from collections.abc import Mapping

from corollary.evaluate.tuning import SECONDS_PER_REMOVED_FACT
from corollary.maintain.strategy import DeletionStrategy, Request, TooMuch
from corollary.maintain.tuning import (
    MIN_BUDGET_FACTS,
    MIN_REMOVED_FACTS_TO_LEARN,
    PENALTY_AFTER_ABORT,
    SECONDS_PER_CHECK,
    SECONDS_PER_DELETION,
)

AUTOMATIC = "automatic"
"""The name that lets the cost model choose."""


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
    able = [strategy for strategy in strategies.values() if strategy.can_follow(request)]
    chosen = min(able, key=lambda strategy: strategy.seconds(request))
    return chosen, "too many facts are removed" if chosen is fallback else ""


def learnt_seconds(request: Request, strategy: str) -> float:
    """The estimate for a strategy, in seconds."""
    return len(request.removed) * request.engine.seconds_per_removal.get(strategy, SECONDS_PER_REMOVED_FACT)


def learn(request: Request, strategy: str, seconds: float) -> dict[str, float]:
    """The new seconds per removed fact, by strategy, after ``strategy`` took ``seconds``."""
    known, removed = dict(request.engine.seconds_per_removal), len(request.removed)
    if removed >= MIN_REMOVED_FACTS_TO_LEARN:
        known[strategy] = seconds / removed
    return known


def learn_from_recomputing(request: Request, given_up: str, error: Exception | None) -> dict[str, float]:
    """As ``learn``, after recomputing. ``TooMuch`` as ``error`` penalises the strategy ``given_up``."""
    engine, removed = request.engine, len(request.removed)
    known = engine.seconds_per_removal
    known = {name: (seconds + SECONDS_PER_REMOVED_FACT) / 2 for name, seconds in known.items()}
    if isinstance(error, TooMuch) and removed:
        penalty = PENALTY_AFTER_ABORT if removed >= MIN_REMOVED_FACTS_TO_LEARN else 1
        known[given_up] = penalty * engine.seconds / removed
    return known


def most_checks(request: Request) -> int:
    """The budget of proofs: the facts that they can check, in one layer, in the time of recomputing."""
    return max(MIN_BUDGET_FACTS, int(request.engine.seconds / SECONDS_PER_CHECK))


def most_deletions(request: Request) -> float:
    """The budget of DRed: facts that it can delete in the time of recomputing; none if it was asked for."""
    if not request.is_automatic:
        return float("inf")
    return max(MIN_BUDGET_FACTS, int(request.engine.seconds / SECONDS_PER_DELETION))
