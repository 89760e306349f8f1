"""A progress bar on standard error for long stages; only if standard error is a terminal.

A stage is told its progress by ``update``, or reads from the engine what it is doing (``follow``). The share
of work done is known when documents are read and written: then the bar has the time left. Reasoning has none:
nobody knows the number of facts before the fixpoint.

Invariant: nothing is written to standard output, and the bar is erased when its stage ends.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from corollary.cli.tuning import SECONDS_BEFORE_BAR

if TYPE_CHECKING:
    from corollary.cli.bar import Bar
    from corollary.kernels.limits import Work


class Stage:
    """One stage of a command, which is displayed while there is a bar."""

    def __init__(self, name: str) -> None:
        self.name = self._text = name
        self._start = perf_counter()
        self.facts = 0
        self._first: tuple[int, float] | None = None  # facts and time at the first update
        self._share: float | None = None
        self._total: float | None = None  # seconds of the whole stage, by the last update
        self._work: Work | None = None
        self._derived_before = 0
        self._bar: Bar | None = None
        self._lock = threading.Lock()  # the timer's thread makes the bar, the main one removes it
        self._ended = False

    def update(self, text: str, facts: int, share: float | None = None) -> None:
        """Report progress: the current activity, facts so far, and the share of work done, if known."""
        now = perf_counter()
        self._text, self.facts, self._share = text, facts, share
        self._total = (now - self._start) / share if share else None
        self._first = self._first or (facts, now)

    def follow(self, facts: int) -> None:
        """Show from now on what the engine is doing, and its derived facts in addition to ``facts``.

        Precondition: the command has ``limiting_options``; else there is nothing to see.
        """
        from corollary.kernels.limits import current

        self._work = current()
        self._work.where = self._text
        self._derived_before = self._work.facts
        self.update(self._text, facts)

    def show(self) -> None:
        """Show the bar, unless the stage has ended."""
        from corollary.cli.bar import Bar

        with self._lock:
            if not self._ended:
                self._bar = Bar(self.state)
                self._bar.start()

    def end(self) -> None:
        """Remove the bar, if there is one."""
        with self._lock:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()

    def state(self) -> tuple[tuple[str, ...], float | None]:
        """The texts of the bar (``bar.TEXTS``), and the share of work done, at this moment."""
        elapsed = perf_counter() - self._start
        left = "" if self._total is None else f"{_time(ceil(max(0.0, self._total - elapsed)))} left"
        activity = self._text if self._work is None else str(self._work.where)
        return (activity, self._amount(), _time(int(elapsed)), left), self._share

    def _amount(self) -> str:
        """The facts so far, and how many are new per second since the first update; nothing without facts."""
        facts = self.facts + (0 if self._work is None else self._work.facts - self._derived_before)
        if self._first is None or not facts:
            return ""
        first, time = self._first
        rate = (facts - first) / max(perf_counter() - time, 1e-9)
        return f"{facts:,} facts {rate:,.0f}/s"


AnyStage = TypeVar("AnyStage", bound=Stage)


def _time(seconds: int) -> str:
    return str(timedelta(seconds=seconds))


@contextmanager
def stage(name: str, seconds: dict[str, float]) -> Iterator[Stage]:
    """Run a block as a stage, with a bar if it lasts. Its time is written to ``seconds[name]``."""
    start = perf_counter()
    with showing(Stage(name)) as current:
        try:
            yield current
        finally:
            seconds[name] = perf_counter() - start


@contextmanager
def showing(current: AnyStage) -> Iterator[AnyStage]:
    """Run a block as a stage, with a bar if it lasts."""
    timer = threading.Timer(SECONDS_BEFORE_BAR, current.show)
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield current
    finally:
        timer.cancel()
        current.end()
