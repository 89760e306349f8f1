"""Maintenance: from one materialisation to the next, by one transaction of facts and rules."""

from __future__ import annotations

from time import perf_counter

from corollary.columns import Delta, TripleIndex
from corollary.evaluate import MaterialisedView
from corollary.kernels.limits import Stopwatch, limited_by_default
from corollary.language import Program
from corollary.maintain.cost_model import AUTOMATIC, choose, learn, learn_from_recomputing, undisturbed
from corollary.maintain.deletion import FALLBACK, STRATEGIES
from corollary.maintain.report import Report
from corollary.maintain.strategy import CannotFollow, Request
from corollary.modules.module import ModuleRejectsRule, NewModules


def maintain(
    before: MaterialisedView,
    explicit: TripleIndex,
    removed: Delta,
    added: Delta,
    strategy: str = AUTOMATIC,
    program: Program | None = None,
) -> tuple[MaterialisedView, Report]:
    """The materialisation after a transaction, and a report of how it was computed.

    Preconditions: ``explicit`` is E after the transaction, ``removed`` is Δ⁻ (no fact of it is in the new E),
    ``added`` is Δ⁺ (all of it is in the new E, and was not in the old one).
    ``program`` replaces the program of ``before``; only the rules that differ cause work. ``strategy`` is a
    name in ``STRATEGIES``, or ``AUTOMATIC``.

    ``before`` is not changed, but its engine is, in place: a second transaction on ``before`` recomputes.
    Raises: UnsafeRuleError or UnstratifiableError if the program is invalid; then nothing has changed. After
    any other exception (``LimitExceeded`` or ``Cancelled`` by the limits of the surrounding work, an
    interruption) the next transaction recomputes if the engine has changed.
    """
    wanted = before.program if program is None else program
    request = Request(before, explicit, removed, added, wanted, strategy == AUTOMATIC)
    return limited_by_default(_maintained, request, strategy)


def _maintained(request: Request, strategy: str) -> tuple[MaterialisedView, Report]:
    """As ``maintain``, within the limits in force."""
    report = Report(strategy, len(request.removed), len(request.added))
    started, watch = perf_counter(), Stopwatch()
    chosen, report.reason = choose(request, STRATEGIES, strategy, FALLBACK)
    report.strategy = chosen.name
    given_up: Exception | None = None
    try:
        result = chosen.carry_out(request, report)
    except (CannotFollow, NewModules, ModuleRejectsRule) as error:
        given_up = error
        result = FALLBACK.carry_out(request, report)
        result.engine.seconds = undisturbed(request, result.engine.seconds, error)
    report.seconds = perf_counter() - started
    if given_up is None and chosen is not FALLBACK:
        result.engine.measured = learn(request, report, watch.seconds())
    else:
        again = result.engine.seconds
        result.engine.measured = learn_from_recomputing(request, report.strategy, given_up, again)
        report.recomputed(FALLBACK.name, given_up)
    return result, report
