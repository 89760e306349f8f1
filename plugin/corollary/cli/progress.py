"""A progress bar on standard error for long stages; only if standard error is a terminal.

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
from typing import TYPE_CHECKING

from corollary.cli.tuning import SECONDS_BEFORE_BAR

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Stage:
    """One stage of a command. Receives progress by ``update``, and displays it while there is a bar."""

    def __init__(self, name: str) -> None:
        self._text = name
        self._start = perf_counter()
        self._facts = 0
        self._first: tuple[int, float] | None = None  # facts and time at the first update
        self._share: float | None = None
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._lock = threading.Lock()  # the timer's thread makes the bar, the main one removes it
        self._ended = False

    def update(self, text: str, facts: int, share: float | None = None) -> None:
        """Report progress: the current activity, facts so far, and the share of work done, if known."""
        self._text, self._facts, self._share = text, facts, share
        self._first = self._first or (facts, perf_counter())
        with self._lock:
            if self._bar is not None:
                self._refresh()

    def show(self) -> None:
        """Show the bar, unless the stage has ended."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._ended:
                return
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[amount]}"),
                TimeElapsedColumn(),
                TextColumn("{task.fields[left]}"),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._text, total=None, amount="", left="")
            self._refresh()
            self._bar.start()

    def end(self) -> None:
        """Remove the bar, if there is one."""
        with self._lock:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()

    def _amount(self) -> str:
        """The facts so far, and how many are new per second since the first update; nothing without facts."""
        if self._first is None or not self._facts:
            return ""
        facts, time = self._first
        rate = (self._facts - facts) / max(perf_counter() - time, 1e-9)
        return f"{self._facts:,} facts {rate:,.0f}/s"

    def _time_left(self) -> str:
        """The time left, if the share of work done is known: the rest takes as long, in proportion."""
        if not self._share:
            return ""
        seconds = (perf_counter() - self._start) * (1 - self._share) / self._share
        return f"{timedelta(seconds=ceil(seconds))} left"

    def _refresh(self) -> None:
        assert self._bar is not None and self._task is not None
        total = None if self._share is None else 1.0
        self._bar.update(
            self._task,
            description=self._text,
            amount=self._amount(),
            left=self._time_left(),
            completed=self._share or 0.0,
            total=total,
        )


@contextmanager
def stage(name: str, seconds: dict[str, float]) -> Iterator[Stage]:
    """Run a block as a stage, with a bar if it lasts. Its time is written to ``seconds[name]``."""
    current = Stage(name)
    timer = threading.Timer(SECONDS_BEFORE_BAR, current.show)
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    start = perf_counter()
    try:
        yield current
    finally:
        timer.cancel()
        current.end()
        seconds[name] = perf_counter() - start
