"""How far a piece of work may go, and how it is ended: by a limit, or by another thread.

A *work* is a call of the store, or whatever is given to ``limited``. It runs in a context of its own
(``contextvars``), so that whatever is raised, wherever, it is over with the call. The code below asks after
the work that it is part of:

1. ``check`` in every loop, ``at`` where a rule or an operator begins. Both are cheap: the work looks at its
   deadline and at the memory a few times a second only.
2. ``reserve`` before arrays are made. Small ones are added up, so that memory is not looked at each time.
3. ``derived`` and ``invented`` for facts and terms that are new.

What cannot ask, a loop in machine code that takes long, runs in a thread of its own, and this thread asks
meanwhile (``corollary.kernels.compiled``).

Memory is that of the process: what all threads take together counts for each of them.
"""

from __future__ import annotations

import re
from bisect import bisect, insort
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from math import ceil, inf
from numbers import Real
from time import perf_counter
from typing import Any, TypeVar, TypeVarTuple

from corollary.kernels.memory import room, used
from corollary.language.errors import CorollaryError, Diagnostic, Hint

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

SECONDS_BETWEEN_LOOKS = 0.1
FEW_ROWS = 1 << 12
"""Rows. Fewer at a time need not be reserved: asking would cost as much as making them."""

LONG_TEXT, BYTES_A_CHARACTER = 1 << 16, 64
"""Longer texts are reserved. What is made of a text before it is a term takes so much, as measured."""

BYTES_BETWEEN_LOOKS = 1 << 26
"""Bytes that may be allocated before memory is looked at again, which takes as long as filling 1 MB."""

KEPT_FREE = 10, 10**9
"""The share of all memory (one part in 10) that stays free when arrays are made, and its most, in bytes."""

LEAST_FREE = 50, 10**8
"""With less than that left, a work ends whatever it needs."""

TERMS = 100_000
DEPTH = 20
"""A term that is computed from a computed one lies one deeper than it. Terms deeper than this are counted."""

SHALLOW, SHALLOW_TERMS = 2, 10
"""Of the others, those deeper than the first number are counted too, the second number of them as one."""

SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(?:([kmgt])(i?)b?|b)?", re.IGNORECASE)


@dataclass(frozen=True)
class Limits:
    """What one call may take: of the store, for reasoning, a query or an update.

    ``seconds``: how long it may take. ``facts``: how many facts it may derive, and how many rows an operator
    of a query may have. ``bytes``: how much memory it may take beyond what the process has when it begins.
    ``terms``: how many terms rules may compute from terms that they have computed from others, and so on
    (more than 20 times): a program that invents terms without end ends there.

    None is no limit; but without ``bytes`` nine tenths of the memory may be used that the machine, its
    control group and ``ulimit`` leave. CorollaryError for what is negative, and no number.
    """

    seconds: float | None = None
    facts: int | None = None
    bytes: int | None = None
    terms: int | None = TERMS

    def __post_init__(self) -> None:
        for item in fields(self):
            given = getattr(self, item.name)
            if given is None:
                continue
            if isinstance(given, bool) or not isinstance(given, Real):
                raise CorollaryError(f"{item.name}={given!r}: a limit is a number, or None for no limit")
            value: Any = given
            if not value >= 0:
                raise CorollaryError(f"{item.name}={value}: a limit is not negative")
            if value > 1e300:  # no float may hold it
                object.__setattr__(self, item.name, None)

    @staticmethod
    def of(given: Limits | str | None) -> Limits | None:
        """Limits, as they are or as a text says; None for None. CorollaryError for anything else."""
        if isinstance(given, str):
            return Limits.parse(given)
        if given is None or isinstance(given, Limits):
            return given
        raise CorollaryError(f"limits={given!r}: they are Limits(seconds=10), or a text such as 'seconds=10'")

    @staticmethod
    @lru_cache(maxsize=16)
    def parse(text: str) -> Limits:
        """The limits that a text says, such as ``seconds=10,facts=1e6,bytes=2GB``. CorollaryError if none."""
        found: dict[str, float | None] = {}
        names = [item.name for item in fields(Limits)]
        for part in filter(None, map(str.strip, text.split(","))):
            name, equals, value = map(str.strip, part.partition("="))
            if not equals or name not in names:
                raise CorollaryError(
                    f"{part!r} is no limit: they are {', '.join(names)}, as in seconds=10,bytes=2GB"
                )
            found[name] = (
                None if value == "none" else size_of(value) if name == "bytes" else _number(name, value)
            )
        return Limits(**found)  # type: ignore[arg-type]


def size_of(text: str) -> int:
    """The bytes that a text such as ``500MB``, ``2GiB`` or ``1e9`` says. CorollaryError if it does not."""
    match = SIZE.fullmatch(text.strip())
    if match is None:
        return int(_number("bytes", text))
    number, unit, binary = match.groups(default="")
    power = "kmgt".find(unit.lower()) + 1 if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
        return int(number) if name != "seconds" else number
    except (ValueError, OverflowError):
        raise CorollaryError(f"{name}={text}: a limit is a number, such as {_EXAMPLES[name]}") from None


_EXAMPLES = {"seconds": "10", "facts": "1000000", "bytes": "500MB", "terms": "100000"}


class LimitExceeded(CorollaryError):
    """A call went beyond a limit, and was given up: the state before it is kept.

    ``limit`` is the limit's name, ``value`` what was asked for, or reached; ``where`` the rule, module or
    operator that was at work.
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
    """There was no memory left, which had not been seen beforehand."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__("bytes", 0, where, f"memory ran out{f': {message}' if message else ''}")
        self._said = message

    def __reduce__(self) -> tuple[type[OutOfMemory], tuple[str, str]]:  # type: ignore[override]
        return OutOfMemory, (self.where, self._said)


class Cancelled(CorollaryError):
    """A call was ended by ``cancel``, from another thread: the state before it is kept."""


class Cancellation:
    """What ends all works that have been given it and run now, and none that begin later."""

    def __init__(self) -> None:
        self.count = 0

    def cancel(self) -> None:
        self.count += 1


class Work:
    """A call at work. It goes by its own limits, and by those of the ``outer`` work that it is part of."""

    __slots__ = (
        "_before", "_begin", "_cancelled", "_computed", "_end", "_facts", "_next_look", "_step", "_terms",
        "_unseen", "cancellation", "limits", "outer", "where",
    )  # fmt: skip

    def __init__(self, limits: Limits, cancellation: Cancellation, outer: Work | None = None) -> None:
        self.limits = limits
        self.cancellation = cancellation
        self.outer = outer
        self.where: object = ""
        self._cancelled = cancellation.count
        self._begin = now = perf_counter()
        self._end = inf if limits.seconds is None else now + limits.seconds
        self._next_look = min(self._end, now + SECONDS_BETWEEN_LOOKS)
        most = limits.bytes
        self._before = None if most is None else used()
        self._step = BYTES_BETWEEN_LOOKS if most is None else min(most // 8, BYTES_BETWEEN_LOOKS)
        self._unseen = self._facts = 0
        self._terms = 0.0
        self._computed: list[tuple[float, float, int]] = []  # ids from, before, and how they came about

    def remaining(self) -> float | None:
        """The seconds that are left; None if they are not limited."""
        left = None if self._end == inf else max(0.0, self._end - perf_counter())
        outer = None if self.outer is None else self.outer.remaining()
        return min((seconds for seconds in (left, outer) if seconds is not None), default=None)

    def check(self) -> None:
        if self._cancelled != self.cancellation.count or perf_counter() >= self._next_look:
            self._look(0)

    def _look(self, bytes_wanted: int) -> None:
        """See how late it is and how much memory there is; raise what ends the work."""
        if self._cancelled != self.cancellation.count:
            where = str(self.where)
            place = f" ({where})" if where else ""
            raise Cancelled(f"this was cancelled{place}: nothing has changed")
        now = perf_counter()
        if now >= self._end:
            seconds = now - self._begin
            raise self._exceeded("seconds", seconds, f"this took more than {self.limits.seconds:g} s")
        self._next_look = min(self._end, now + SECONDS_BETWEEN_LOOKS)
        self._unseen = 0
        self._look_at_memory(bytes_wanted)
        if self.outer is not None:
            self.outer.where = self.where
            self.outer._look(bytes_wanted)

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
        found = room()
        if found is None:
            return
        part, most = KEPT_FREE if wanted else LEAST_FREE
        usable = max(0, found.left - min(found.total // part, most))
        if wanted > usable or not usable:
            asked = f"this needs {_size(wanted)} of memory at once" if wanted else "memory is short"
            raise self._exceeded("bytes", wanted, f"{asked}, and there are {_size(usable)} left to use")

    def reserve(self, size: int) -> None:
        self._unseen += size
        if self._unseen >= self._step:
            self._look(size)

    def derived(self, count: int) -> None:
        self._facts += count
        limit = self.limits.facts
        if limit is not None and self._facts > limit:
            raise self._exceeded("facts", self._facts, f"this derives more than {limit:,} facts")
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
        """Terms were computed, with new ids, from others; of their ids the newest are enough."""
        generation = 1 + max(map(self._generation, sources), default=0)
        for ids in new:
            insort(self._computed, (ids.start, ids.stop, generation))
            if generation > SHALLOW:
                self._terms += len(ids) if generation > DEPTH else len(ids) / SHALLOW_TERMS
        limit = self.limits.terms
        if limit is not None and self._terms > limit:
            message = f"rules have computed more than {limit:,} terms from terms that they had computed"
            raise self._exceeded("terms", ceil(self._terms), message)
        if self.outer is not None:
            self.outer.where = self.where
            self.outer.invented(new, sources)

    def _generation(self, term: int) -> int:
        """How often terms were computed from computed ones until this one was; 0 if it was not."""
        place = bisect(self._computed, (term, inf)) - 1
        _, stop, generation = self._computed[place] if place >= 0 else (0, 0, 0)
        return generation if term < stop else 0

    def _exceeded(self, limit: str, value: float, message: str) -> LimitExceeded:
        return LimitExceeded(limit, value, str(self.where), message)


_NO_WORK = Work(Limits(terms=None), Cancellation())
"""For what is called without limits: memory counts all the same."""

_CURRENT: ContextVar[Work] = ContextVar("work", default=_NO_WORK)


def limited(
    limits: Limits,
    cancellation: Cancellation,
    function: Callable[[*Arguments], Result],
    *args: *Arguments,
) -> Result:
    """What the function returns, called within limits. LimitExceeded or Cancelled if that ends it.

    A MemoryError becomes a LimitExceeded, which is one, too. Within another work the limits of both hold.
    """
    outer = _CURRENT.get()
    work = Work(limits, cancellation, None if outer is _NO_WORK else outer)
    return copy_context().run(_within, work, partial(function, *args))


def limited_by_default(function: Callable[[*Arguments], Result], *args: *Arguments) -> Result:
    """What the function returns, called as part of the work there is, or else within default limits."""
    return (
        function(*args)
        if _CURRENT.get() is not _NO_WORK
        else limited(Limits(), Cancellation(), function, *args)
    )


def _within(work: Work, function: Callable[[], Result]) -> Result:
    _CURRENT.set(work)
    try:
        return function()
    except MemoryError as error:
        if isinstance(error, LimitExceeded):
            raise
        raise OutOfMemory(str(work.where), str(error)) from error


def current() -> Work:
    """The work that the caller is part of."""
    return _CURRENT.get()


def check() -> None:
    """End the work if it was cancelled, or is beyond its limits."""
    _CURRENT.get().check()


def at(where: object) -> None:
    """``check``, and note what is at work: its ``str`` is for messages."""
    work = _CURRENT.get()
    work.where = where
    work.check()


def reserve(size: int) -> None:
    """``size`` bytes are about to be allocated. LimitExceeded if they cannot be had."""
    _CURRENT.get().reserve(size)


def reserve_text(length: int) -> None:
    """As ``reserve``, for a text of ``length`` characters and what is made of it."""
    if length > LONG_TEXT:
        reserve(BYTES_A_CHARACTER * length)


def derived(count: int) -> None:
    """``count`` new facts were derived. LimitExceeded if they are too many."""
    _CURRENT.get().derived(count)


def rows(count: int) -> None:
    """An operator of a query has ``count`` rows. LimitExceeded if they are too many."""
    _CURRENT.get().rows(count)


def _size(count: float) -> str:
    """Bytes for people."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
