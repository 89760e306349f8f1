"""Resource limits of a call, and its cancellation by another thread.

A *work* is one call of the store, or of ``limited``. Each work runs in a context of its own
(``contextvars``), so that no exception lets a work outlive its call. The called code reports to its work:

1. ``check`` in every loop, ``at`` where a rule or an operator begins. Both are cheap: the work reads the
   memory in use only every ``SECONDS_BETWEEN_LOOKS``.
2. ``reserve`` before arrays are allocated. Small reservations are summed, to read the memory in use less
   often.
3. ``derived`` and ``rows`` for facts and rows, the work's ``invented`` for computed terms.

A long loop in machine code cannot report. It runs in a worker thread, and the waiting thread checks the
limits (``corollary.kernels.compiled``).

Memory is measured for the process: the allocations of all threads count against the limit of each work.
"""

from __future__ import annotations

import os
import re
from bisect import bisect, insort
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, fields
from functools import lru_cache
from math import ceil, inf
from numbers import Real
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, TypeVar, TypeVarTuple

from corollary.kernels.memory import room, used
from corollary.kernels.tuning import (
    BYTES_BETWEEN_LOOKS,
    BYTES_PER_CHARACTER,
    LOOKS_PER_LIMIT,
    MAX_DEPTH_COUNTED_IN_PART,
    MAX_DEPTH_UNCOUNTED,
    MAX_TERMS_COMPUTED,
    MIN_BYTES_FREE_AFTER_ALLOCATION,
    MIN_BYTES_FREE_TO_GO_ON,
    MIN_CHARACTERS_RESERVED,
    SECONDS_BETWEEN_LOOKS,
    SECONDS_BETWEEN_LOOKS_AT_LIMIT,
    SHALLOW_TERMS_PER_TERM,
)
from corollary.language.errors import CorollaryError, Diagnostic, Hint

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""The processors that this process may use."""

SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(?:([kmgt])(i?)b?|b)?", re.IGNORECASE)


@dataclass(frozen=True)
class Limits:
    """Limits of one call: of reasoning, a query or an update. None is no limit.

    ``seconds``: elapsed time. ``facts``: the number of derived facts, and of rows of any operator of a query.
    ``bytes``: memory in addition to what the process has in use when the call begins; without this limit, an
    allocation must leave free 1/10 (at most 1 GB) of what the machine, the control group and ``ulimit``
    allow, and a call ends when less than 1/50 (at most 100 MB) is left. ``terms``: the number of terms that
    rules compute from computed terms, more than 20 levels deep; ten terms of levels 3 to 20 count as one.
    This limit ends programs that compute new terms without end.
    ``threads``: how many work on large arrays; without this limit, as many as the process may use processors.
    Results do not depend on it.
    ``scratch``: a folder on a disk. Large arrays of facts and terms are moved to files without names there,
    which the system drops from memory when others need it: so facts may take more than the memory.

    Raises CorollaryError for a value that is negative or not a number, for a number of facts, terms or
    threads that is not whole, for no threads, and for a folder that does not exist.
    """

    seconds: float | None = None
    facts: int | None = None
    bytes: int | None = None
    terms: int | None = MAX_TERMS_COMPUTED
    threads: int | None = None
    scratch: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for item in _NUMBERS:
            given = getattr(self, item.name)
            if given is None:
                continue
            if type(given) not in (int, float) and (isinstance(given, bool) or not isinstance(given, Real)):
                raise CorollaryError(f"{item.name}={given!r}: a limit is a number, or None for no limit")
            value: Any = given
            if not value >= 0:
                raise CorollaryError(f"{item.name}={value}: a limit is not negative")
            if value > 1e300:  # no float may hold it
                object.__setattr__(self, item.name, None)
            elif item.name in _COUNTED and value != int(value):
                raise CorollaryError(f"{item.name}={value}: a limit of {item.name} is a whole number")
        if self.threads is not None and self.threads < 1:
            raise CorollaryError(f"threads={self.threads}: at least one thread is needed")
        if self.scratch is not None:
            if not isinstance(self.scratch, (str, os.PathLike)) or not os.path.isdir(self.scratch):
                raise CorollaryError(f"scratch={self.scratch}: there is no such folder")
            object.__setattr__(self, "scratch", os.path.abspath(self.scratch))

    @staticmethod
    def of(given: Limits | str | None) -> Limits | None:
        """Limits, parsed if given as a text; None for None. Raises CorollaryError for anything else."""
        if isinstance(given, str):
            return Limits.parse(given)
        if given is None or isinstance(given, Limits):
            return given
        raise CorollaryError(f"limits={given!r}: they are Limits(seconds=10), or a text such as 'seconds=10'")

    @staticmethod
    @lru_cache(maxsize=16)
    def parse(text: str) -> Limits:
        """Parse a text such as ``seconds=10,facts=1e6,bytes=2GB``. Raises CorollaryError if malformed."""
        found: dict[str, float | str | None] = {}
        names = [item.name for item in fields(Limits)]
        for part in filter(None, map(str.strip, text.split(","))):
            name, equals, value = map(str.strip, part.partition("="))
            if not equals or name not in names:
                raise CorollaryError(
                    f"{part!r} is no limit: they are {', '.join(names)}, as in seconds=10,bytes=2GB"
                )
            found[name] = None if value == "none" else _value(name, value)
        return Limits(**found)  # type: ignore[arg-type]


def _value(name: str, text: str) -> float | str:
    """Parse the value of a limit. Raises CorollaryError if malformed."""
    return text if name == "scratch" else size_of(text) if name == "bytes" else _number(name, text)


def size_of(text: str) -> int:
    """Parse a number of bytes, such as ``500MB``, ``2GiB`` or ``1e9``. Raises CorollaryError if malformed."""
    match = SIZE.fullmatch(text.strip())
    if match is None:
        return int(_number("bytes", text))
    number, unit, binary = match.groups(default="")
    power = "kmgt".find(unit.lower()) + 1 if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
        return number if name == "seconds" or number != (whole := int(number)) else whole
    except (ValueError, OverflowError):
        raise CorollaryError(f"{name}={text}: a limit is a number, such as {_EXAMPLES[name]}") from None


_NUMBERS = [item for item in fields(Limits) if item.name != "scratch"]
_COUNTED = "facts", "terms", "threads"
"""The limits that are whole numbers."""

_EXAMPLES = {"seconds": "10", "facts": "1000000", "bytes": "500MB", "terms": "100000", "threads": "1"}


class LimitExceeded(CorollaryError):
    """A call exceeded a limit and was aborted. The state before the call is kept.

    ``limit``: the name of the limit. ``value``: the amount requested or reached. ``where``: the rule, module
    or operator that was running.
    """

    def __init__(self, limit: str, value: float, where: str, message: str) -> None:
        said = f"{message} ({where})" if where else message
        super().__init__(Diagnostic(said, hint=Hint[f"MORE_{limit.upper()}"]))
        self.limit = limit
        self.value = value
        self.where = where
        self._message = message

    def __reduce__(self) -> tuple[type[LimitExceeded], tuple[str, float, str, str]]:
        return LimitExceeded, (self.limit, self.value, self.where, self._message)


class OutOfMemory(LimitExceeded, MemoryError):
    """An allocation failed that the limits had not refused."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__("bytes", 0, where, f"memory ran out{f': {message}' if message else ''}")
        self._said = message

    def __reduce__(self) -> tuple[type[OutOfMemory], tuple[str, str]]:  # type: ignore[override]
        return OutOfMemory, (self.where, self._said)


class Cancelled(CorollaryError):
    """A call was cancelled by another thread. The state before the call is kept."""


class Cancellation:
    """A handle to cancel works. ``cancel`` ends the works that run with this handle, and no later ones."""

    def __init__(self) -> None:
        self.count = 0

    def cancel(self) -> None:
        self.count += 1


class Work:
    """A running call. Its own limits and those of all enclosing works (``outer``) apply.

    ``facts`` is the number of derived facts so far, ``where`` what is running: enclosing works receive it at
    each derivation, and every ``SECONDS_BETWEEN_LOOKS``.
    """

    __slots__ = (
        "_before", "_begin", "_between", "_cancelled", "_computed", "_end", "_next_look", "_seconds", "_step",
        "_terms", "_unseen", "_watch", "cancellation", "facts", "limits", "outer", "scratch", "threads",
        "where",
    )  # fmt: skip

    def __init__(
        self,
        limits: Limits,
        cancellation: Cancellation,
        outer: Work | None = None,
        *,
        estimate: float | None = None,
    ) -> None:
        """``estimate``: in the place of the limit of seconds, what the call is worth, by a ``Stopwatch``."""
        self.limits = limits
        self.cancellation = cancellation
        self.outer = outer
        self._watch = None if estimate is None else Stopwatch()
        wanted = PROCESSORS if limits.threads is None else int(limits.threads)
        self.threads: int = wanted if outer is None else min(wanted, outer.threads)
        given = None if limits.scratch is None else Path(limits.scratch)
        self.scratch: Path | None = given or (None if outer is None else outer.scratch)
        self.where: object = ""
        self._cancelled = cancellation.count
        self._begin = now = perf_counter()
        self._seconds = limits.seconds if estimate is None else estimate
        self._end = inf if self._seconds is None else now + self._seconds
        most = limits.bytes
        self._between = SECONDS_BETWEEN_LOOKS if most is None else SECONDS_BETWEEN_LOOKS_AT_LIMIT
        soon = now + self._between
        self._next_look: float = min(self._end, soon if outer is None else min(soon, outer._next_look))
        self._before = None if most is None else used()
        self._step = (
            BYTES_BETWEEN_LOOKS if most is None else min(most // LOOKS_PER_LIMIT, BYTES_BETWEEN_LOOKS)
        )
        self._unseen = self.facts = 0
        self._terms = 0.0
        self._computed: list[tuple[float, float, int]] = []  # id ranges [start, stop) and their depth, sorted

    @property
    def end_is_estimate(self) -> bool:
        """Whether the limit of time is an estimate of what the call is worth."""
        return self._watch is not None

    def allow(self, seconds: float) -> None:
        """Allow more seconds. Precondition: the limit of time is an estimate."""
        assert self._seconds is not None
        self._seconds += seconds
        self._end += seconds

    def pause(self) -> float:
        """Suspend the time limit. Returns its end (by ``perf_counter``), which ``go_on`` receives."""
        end, self._end = self._end, inf
        return end

    def go_on(self, end: float) -> None:
        """Resume the time limit, with a new end."""
        self._end = end
        self._next_look = min(self._next_look, end)

    def remaining(self) -> float | None:
        """The seconds left, in this work and all enclosing ones; None without a limit."""
        left = None if self._end == inf else max(0.0, self._end - perf_counter())
        outer = None if self.outer is None else self.outer.remaining()
        return min((seconds for seconds in (left, outer) if seconds is not None), default=None)

    def check(self) -> None:
        if self._cancelled != self.cancellation.count or perf_counter() >= self._next_look:
            self._look(0)

    def _look(self, bytes_wanted: int) -> None:
        """Test cancellation, deadline and memory. Raises Cancelled or LimitExceeded."""
        if self._cancelled != self.cancellation.count:
            where = str(self.where)
            place = f" ({where})" if where else ""
            raise Cancelled(f"this was cancelled{place}: nothing has changed")
        now = perf_counter()
        if now >= self._end and (later := self._estimated_later()) > 0:
            self._end = now + later
        if now >= self._end:
            seconds = now - self._begin
            raise self._exceeded("seconds", seconds, f"this took more than {self._seconds:g} s")
        self._next_look = min(self._end, now + self._between)
        self._unseen = 0
        self._look_at_memory(bytes_wanted)
        if self.outer is not None:
            self.outer.where = self.where
            self.outer._look(bytes_wanted)

    def _estimated_later(self) -> float:
        """The seconds that are left if the limit of time is an estimate, which other processes do not use."""
        return 0.0 if self._watch is None or self._seconds is None else self._seconds - self._watch.seconds()

    def _look_at_memory(self, wanted: int) -> None:
        limit = self.limits.bytes
        if limit is not None:
            now = used()
            taken = wanted + (0 if now is None or self._before is None else max(0, now - self._before))
            if taken > limit:
                raise self._exceeded(
                    "bytes", taken, f"this needs {_size(taken)} of memory, and may take {_size(limit)}"
                )
            return
        found = None if self.outer is not None else room()  # the enclosing work may have a limit
        if found is None:
            return
        part, most = MIN_BYTES_FREE_AFTER_ALLOCATION if wanted else MIN_BYTES_FREE_TO_GO_ON
        usable = max(0, found.left - min(found.total // part, most))
        if wanted > usable or not usable:
            asked = f"this needs {_size(wanted)} of memory at once" if wanted else "memory is short"
            raise self._exceeded("bytes", wanted, f"{asked}, and there are {_size(usable)} left to use")

    def reserve(self, size: int) -> None:
        self._unseen += size
        if self._unseen >= self._step:
            self._look(size)

    def derived(self, count: int) -> None:
        self.facts += count
        limit = self.limits.facts
        if limit is not None and self.facts > limit:
            raise self._exceeded("facts", self.facts, f"this derives more than {limit:,} facts")
        if self.outer is not None:
            self.outer.where = self.where
            self.outer.derived(count)

    def rows(self, count: int) -> None:
        limit = self.limits.facts
        if limit is not None and count > limit:
            raise self._exceeded("facts", count, f"this has {count:,} rows, and may have {limit:,}")
        if self.outer is not None:
            self.outer.where = self.where
            self.outer.rows(count)

    def invented(self, new: Sequence[range], sources: Sequence[int]) -> None:
        """Count computed terms by depth. ``new``: their ids. ``sources``: the newest of the ids that they
        were computed from. Raises LimitExceeded.
        """
        generation = 1 + max(map(self._generation, sources), default=0)
        for ids in new:
            insort(self._computed, (ids.start, ids.stop, generation))
            if generation > MAX_DEPTH_UNCOUNTED:
                self._terms += (
                    len(ids) if generation > MAX_DEPTH_COUNTED_IN_PART else len(ids) / SHALLOW_TERMS_PER_TERM
                )
        limit = self.limits.terms
        if limit is not None and self._terms > limit:
            message = f"rules have computed more than {limit:,} terms from terms that they had computed"
            raise self._exceeded("terms", ceil(self._terms), message)
        if self.outer is not None:
            self.outer.where = self.where
            self.outer.invented(new, sources)

    def _generation(self, term: int) -> int:
        """The depth of a computed term; 0 for other terms."""
        place = bisect(self._computed, (term, inf)) - 1
        _, stop, generation = self._computed[place] if place >= 0 else (0, 0, 0)
        return generation if term < stop else 0

    def _exceeded(self, limit: str, value: float, message: str) -> LimitExceeded:
        return LimitExceeded(limit, value, str(self.where), message)


_NO_WORK = Work(Limits(terms=None), Cancellation())
"""The work of code that is called outside of any work. Only memory is limited."""

_CURRENT: ContextVar[Work] = ContextVar("work", default=_NO_WORK)


def limited(
    limits: Limits,
    cancellation: Cancellation,
    function: Callable[[*Arguments], Result],
    *args: *Arguments,
) -> Result:
    """Call the function as a work with these limits, in addition to those of the enclosing work.

    Raises LimitExceeded or Cancelled. A MemoryError becomes OutOfMemory, which is a LimitExceeded as well.
    """
    outer = _CURRENT.get()
    work = Work(limits, cancellation, None if outer is _NO_WORK else outer)
    return copy_context().run(_within, work, function, *args)


def limited_by_estimate(
    seconds: float, function: Callable[[*Arguments], Result], *args: *Arguments
) -> Result:
    """As ``limited``, to ``seconds`` by a ``Stopwatch``: an estimate of what the call is worth."""
    outer = _CURRENT.get()
    enclosing = None if outer is _NO_WORK else outer
    work = Work(_NO_WORK.limits, _NO_WORK.cancellation, enclosing, estimate=seconds)
    return copy_context().run(_within, work, function, *args)


def uncounted(function: Callable[[], Result]) -> Result:
    """Call a function whose time says nothing about later calls. It does not count towards estimates."""
    works, work = [], _CURRENT.get()
    while True:
        if work.end_is_estimate:
            works.append((work, work.pause()))
        if work.outer is None:
            break
        work = work.outer
    started, busy = perf_counter(), process_time()
    try:
        return function()
    finally:
        seconds = perf_counter() - started
        _UNCOUNTED[:] = _UNCOUNTED[0] + seconds, _UNCOUNTED[1] + process_time() - busy
        for work, end in works:
            work.go_on(end + seconds)


_UNCOUNTED = [0.0, 0.0]
"""The seconds that uncounted calls have taken, and those of the processors."""


class Stopwatch:
    """Measures what work takes: the time of this process on its processors, or that which passes, if less.

    So neither other processes count, nor threads beside each other. It stands still during ``uncounted``
    calls, of any thread.
    """

    __slots__ = ("_began",)

    def __init__(self) -> None:
        self._began = self._now()

    def _now(self) -> tuple[float, float]:
        return perf_counter() - _UNCOUNTED[0], process_time() - _UNCOUNTED[1]

    def seconds(self) -> float:
        """The seconds since it was made."""
        (passed, busy), (began, idle) = self._now(), self._began
        return max(0.0, min(passed - began, busy - idle))


def limited_by_default(function: Callable[[*Arguments], Result], *args: *Arguments) -> Result:
    """Call the function within the current work, or as a work with default limits if there is none."""
    return (
        function(*args)
        if _CURRENT.get() is not _NO_WORK
        else limited(Limits(), Cancellation(), function, *args)
    )


def _within(work: Work, function: Callable[..., Result], *args: object) -> Result:
    _CURRENT.set(work)
    try:
        return function(*args)
    except MemoryError as error:
        if isinstance(error, LimitExceeded):
            raise
        raise OutOfMemory(str(work.where), str(error)) from error


def current() -> Work:
    """The work of the caller."""
    return _CURRENT.get()


Progress = Callable[[str, int, float | None], None]
"""Callback for progress: the current activity, facts so far, share done (0 to 1; None if unknown)."""


def no_progress(text: str, facts: int, share: float | None) -> None:
    """Do nothing."""


def check() -> None:
    """Raises Cancelled or LimitExceeded if the current work was cancelled or exceeds a limit."""
    work = _CURRENT.get()
    if work._cancelled != work.cancellation.count or perf_counter() >= work._next_look:  # as Work.check
        work._look(0)


def at(where: object) -> None:
    """``check``, and record what is running. The ``str`` of ``where`` appears in messages."""
    work = _CURRENT.get()
    work.where = where
    if work._cancelled != work.cancellation.count or perf_counter() >= work._next_look:
        work._look(0)


def reserve(size: int) -> None:
    """Announce an allocation of ``size`` bytes. Raises LimitExceeded if the memory is not available."""
    _CURRENT.get().reserve(size)


def reserve_text(length: int) -> None:
    """As ``reserve``, for a text of ``length`` characters and the term built from it."""
    if length > MIN_CHARACTERS_RESERVED:
        reserve(BYTES_PER_CHARACTER * length)


def derived(count: int) -> None:
    """Count ``count`` derived facts. Raises LimitExceeded if the total exceeds the limit."""
    _CURRENT.get().derived(count)


def rows(count: int) -> None:
    """Report ``count`` rows of one operator of a query. Raises LimitExceeded if they exceed the limit."""
    _CURRENT.get().rows(count)


def _size(count: float) -> str:
    """A number of bytes with a decimal unit, for messages."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
