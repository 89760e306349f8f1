"""The protocol of deletion strategies, the request that they receive, and their budgets.

Symbols: E are the explicit facts, I the materialisation, Δ⁻ and Δ⁺ the facts removed from E and added to it.
A fact of I is *overdeleted* if it has an instance with a premise in Δ⁻, or with an overdeleted premise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Protocol, TypeVar, TypeVarTuple

from corollary.columns import Delta, TripleIndex
from corollary.evaluate import MaterialisedView
from corollary.evaluate.engine import Engine
from corollary.kernels.limits import LimitExceeded, Stopwatch, current, limited_by_estimate
from corollary.language import Program
from corollary.maintain.report import Report
from corollary.maintain.tuning import (
    ESTIMATES_ALLOWED,
    MAX_STEP_PER_LARGEST,
    MIN_FACTS_TO_ESTIMATE,
    STEPS_EXTRAPOLATED,
)
from corollary.program.compiled_program import CompiledProgram, ProgramChange
from corollary.program.stratify import refuse_static_cycles


@dataclass(frozen=True)
class Request:
    """One transaction: Δ⁻ (``removed``), Δ⁺ (``added``), and E and the program after the transaction.

    ``is_automatic``: the cost model chooses the strategy. Only then is there a budget of time, and for DRed
    a budget of deletions.
    """

    before: MaterialisedView
    explicit: TripleIndex
    removed: Delta
    added: Delta
    program: Program
    is_automatic: bool = True
    schema_is_final: list[bool] = field(default_factory=list, init=False, repr=False, compare=False)
    """The answer of ``final_schema.schema_is_final``, once it was asked."""

    @property
    def engine(self) -> Engine:
        """The engine that holds I. Strategies change the engine in place."""
        return self.before.engine

    @cached_property
    def removes_schema(self) -> bool:
        """Whether there is schema in Δ⁻."""
        return self.engine.schema.are_among(self.removed)

    @cached_property
    def change(self) -> ProgramChange | None:
        """The change of the engine's rules; None if they stay.

        Raises UnsafeRuleError or UnstratifiableError if the new program is invalid.
        """
        known = self.engine.compiled
        if self.program == known.source:
            return None
        change = known.changed(self.program)
        if change.inserted and not change.are_leaves and change.program.has_strata:
            refuse_static_cycles(change.program)
        return change

    @property
    def compiled(self) -> CompiledProgram:
        """The compiled program after the transaction. Raises as ``change`` does."""
        return self.engine.compiled if self.change is None else self.change.program


Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

TOO_SLOW = "following takes too long"
"""The message of ``TooMuch`` when the time is over."""

TOO_LARGE = "following takes too much memory"
"""The message of ``TooMuch`` when the memory would be exceeded."""


class CannotFollow(Exception):
    """The strategy gives up, and the transaction must be recomputed. The message is the reason."""


class TooMuch(CannotFollow):
    """A budget is spent: checking or deleting more facts would cost more than recomputing."""


@dataclass
class Budget:
    """The number of facts that may still be checked, or deleted. ``message`` is that of ``TooMuch``."""

    left: float
    message: str

    def require(self, count: int) -> None:
        """Raise ``TooMuch`` if ``count`` is more than what is left."""
        if count > self.left:
            raise TooMuch(self.message)

    def spend(self, count: int) -> None:
        """As ``require``, and subtract ``count``."""
        self.require(count)
        self.left -= count


class Clock:
    """The seconds that deletions may still take. Compiling kernels does not count.

    The facts of each step are noted. The estimate for what is left of a phase: as many steps as it has had,
    each as large as the mean of the last few. While steps become smaller, and all seem to take no more than
    ``most``, the budget is extended. Once the first budget is used, an estimate beyond that ends the work.
    """

    def __init__(self, seconds: float, most: float = 0.0) -> None:
        """``most``: the seconds up to which the budget may be extended."""
        self._seconds, self._first, self._most = seconds, seconds, most
        self._watch = Stopwatch()
        self._steps: dict[str, list[float]] = {}
        self._facts = 0.0

    def note(self, phase: str, facts: float) -> None:
        """Note a step of a phase, within ``within``; ``facts`` are measured by the time that they take."""
        steps = self._steps.setdefault(phase, [])
        steps.append(facts)
        self._facts += facts
        if self._first >= self._most or self._facts < MIN_FACTS_TO_ESTIMATE:
            return
        last, now = steps[-STEPS_EXTRAPOLATED:], self._watch.seconds()
        total = now * (1 + len(steps) * sum(last) / len(last) / self._facts)
        if now > self._first and total > self._most:
            raise TooMuch(TOO_SLOW)
        more = min(ESTIMATES_ALLOWED * total, self._most) - self._seconds
        if facts <= MAX_STEP_PER_LARGEST * max(steps) and total <= self._most and more > 0:
            current().allow(more)
            self._seconds += more

    def within(self, function: Callable[[*Arguments], Result], *args: *Arguments) -> Result:
        """Call the function. Raises ``TooMuch`` when the time is over, also from machine code.

        It is also raised for too little memory: starting over may take less. Other ``LimitExceeded`` say that
        a limit of the caller is exceeded.
        """
        if self._seconds == inf:
            return function(*args)
        try:
            return limited_by_estimate(max(0.0, self._seconds - self._watch.seconds()), function, *args)
        except LimitExceeded as error:
            # the clock may have been put back: by other threads, which compile kernels
            if error.limit == "seconds" and current().remaining() != 0:
                reason = TOO_SLOW
            elif error.limit == "bytes":
                reason = TOO_LARGE
            else:
                raise
        raise TooMuch(reason)  # not from the error, whose frames hold memory


class DeletionStrategy(Protocol):
    """A way to make I exact again after a transaction."""

    @property
    def name(self) -> str:
        """The name in reports, options and the cost model."""

    def can_follow(self, request: Request) -> bool:
        """Whether the cost model may choose the strategy for this transaction."""

    def seconds(self, request: Request) -> float:
        """The estimate for ``carry_out``, in seconds."""

    def carry_out(self, request: Request, report: Report) -> MaterialisedView:
        """Returns I after the transaction. Fills ``report.stages``, and may change ``report.strategy``.

        ``request.before`` is not changed. After ``CannotFollow``, ``NewModules`` or ``ModuleRejectsRule`` the
        caller recomputes. Any other exception is passed on, and the engine must not be used again.
        """
