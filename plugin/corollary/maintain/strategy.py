"""What a deletion strategy is, and what strategies that work layer by layer have in common.

Words: E are the explicit facts, I the materialisation, Δ⁻ and Δ⁺ the facts that leave E and come to it. A
fact of I is *overdeleted* if it has an instance with a premise in Δ⁻, or with an overdeleted premise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from corollary.columns.delta import Delta
from corollary.columns.triples import TripleIndex
from corollary.evaluate import Materialisation
from corollary.evaluate.engine import Engine
from corollary.language import Program
from corollary.maintain.report import Report


@dataclass(frozen=True)
class Request:
    """One transaction: Δ⁻ (``removed``), Δ⁺ (``added``), and E and the program after it.

    If ``is_automatic``, the cost model chose the strategy, and it may give up with ``TooMuch``.
    """

    before: Materialisation
    explicit: TripleIndex
    removed: Delta
    added: Delta
    program: Program
    is_automatic: bool = True

    @property
    def engine(self) -> Engine:
        """The engine that holds I: strategies change it in place."""
        return self.before.engine


class CannotFollow(Exception):
    """The strategy gives the transaction up: everything is to be recomputed. The message says why."""


class TooMuch(CannotFollow):
    """The strategy would look at, or delete, more facts than recomputing everything is worth."""


@dataclass
class Budget:
    """How many more facts may be looked at, or deleted. ``message`` says what these would be."""

    left: float
    message: str

    def require(self, count: int) -> None:
        """Raise ``TooMuch`` if fewer are left."""
        if count > self.left:
            raise TooMuch(self.message)

    def spend(self, count: int) -> None:
        """As ``require``; then these are used."""
        self.require(count)
        self.left -= count


class DeletionStrategy(Protocol):
    """A way to make I exact again after a transaction."""

    @property
    def name(self) -> str:
        """What reports, options and the cost model call it."""

    def can_follow(self, request: Request) -> bool:
        """Whether the cost model may choose it for this transaction."""

    def seconds(self, request: Request) -> float:
        """The cost model's estimate for ``carry_out``."""

    def carry_out(self, request: Request, report: Report) -> Materialisation:
        """I after the transaction. ``report.stages`` says what was done, ``report.strategy`` how in the end.

        ``request.before`` stays as it is. After ``CannotFollow``, ``NewModules`` or ``ModuleRejectsRule``
        everything is recomputed; any other exception is the caller's, and the engine is not used again.
        """
