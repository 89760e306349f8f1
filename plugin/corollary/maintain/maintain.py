"""Maintenance: one transaction of removed and added explicit facts, and of rules, followed exactly."""

from __future__ import annotations

from time import perf_counter

from corollary.columns.delta import Delta
from corollary.columns.triples import TripleIndex
from corollary.evaluate import Materialisation
from corollary.language import Program
from corollary.maintain.cost_model import AUTOMATIC, choose, learn, learn_from_recomputing
from corollary.maintain.deletion import FALLBACK, STRATEGIES
from corollary.maintain.report import Report
from corollary.maintain.strategy import CannotFollow, Request
from corollary.modules.module import ModuleRejectsRule, NewModules


def maintain(
    before: Materialisation,
    explicit: TripleIndex,
    removed: Delta,
    added: Delta,
    strategy: str = AUTOMATIC,
    program: Program | None = None,
) -> tuple[Materialisation, Report]:
    """The materialisation after a transaction, and a report of how it was found.

    Preconditions: ``explicit`` are the explicit facts after the transaction, ``removed`` are none of them any
    more, ``added`` are new among them. ``program`` takes the place of the one before; only the rules that
    differ are looked at. ``strategy`` is a name in ``STRATEGIES``, or ``AUTOMATIC``.

    ``before`` stays as it is, but its engine goes on with the result: a second transaction on it recomputes.
    UnsafeRuleError or UnstratifiableError if the program cannot be evaluated; then nothing has changed.
    """
    wanted = before.program if program is None else program
    request = Request(before, explicit, removed, added, wanted, strategy == AUTOMATIC)
    report = Report(strategy, len(removed), len(added))
    started = perf_counter()
    chosen, report.reason = choose(request, STRATEGIES, strategy, FALLBACK)
    report.strategy = chosen.name
    given_up: Exception | None = None
    try:
        result = chosen.carry_out(request, report)
    except (CannotFollow, NewModules, ModuleRejectsRule) as error:
        given_up = error
        result = FALLBACK.carry_out(request, report)
    report.seconds = perf_counter() - started
    if given_up is None and chosen is not FALLBACK:
        result.engine.seconds_per_removal = learn(request, report.strategy, report.seconds)
    else:
        result.engine.seconds_per_removal = learn_from_recomputing(request, report.strategy, given_up)
        report.recomputed(FALLBACK.name, given_up)
    return result, report
