"""Asynchronous exceptions (Ctrl-C, signal handlers, MemoryError): what they must not break.

An asynchronous exception can be raised between any two bytecodes, also inside ``finally``. Clean-up code
therefore never repairs state: new state is built beside the old state and published by one assignment.
Three cases cannot follow this pattern. This module handles them:

1. Locks (``held``). C code releases the lock, on the same line as the body. If the release were a line of its
   own, an exception between the body and the release would leave the lock held.
2. Work that cannot be restarted, and long-running machine code (``undisturbed``). Importing and compiling
   with Numba cannot be restarted. Both run in a worker thread, because Python runs signal handlers in the
   main thread only. The calling thread waits, so an interrupt, a cancellation or a time limit can end the
   wait.
3. Reentrance (``alone``). A signal handler that calls the function which it has interrupted is refused:
   one of the two changes would be lost.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import copy_context
from threading import RLock, Thread, current_thread
from typing import Any, TypeVar, TypeVarTuple

from corollary.kernels.limits import check
from corollary.kernels.tuning import SECONDS_BETWEEN_CHECKS
from corollary.language.errors import CorollaryError

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

IN_THE_MIDDLE = (
    "this thread is in the middle of a call of the store, and a handler of signals or __del__ makes another "
    "one: let it leave a note, and make the call after the first"
)


def held(
    lock: AbstractContextManager[object], function: Callable[[*Arguments], Result], *args: *Arguments
) -> Result:
    """Call the function with the lock held. An exception at any point leaves the lock released."""
    with lock: return function(*args)  # fmt: skip  # noqa: E701


def alone(lock: RLock, function: Callable[[*Arguments], Result], *args: *Arguments) -> Result:
    """As ``held``, without reentrance.

    Raises CorollaryError if this thread holds the lock already. The caller is then a signal handler or a
    ``__del__`` that interrupted the first call.
    """
    if lock._is_owned():  # type: ignore[attr-defined]
        raise CorollaryError(IN_THE_MIDDLE)
    return held(lock, function, *args)


class _Worker(Thread):
    """A thread that runs a work for a caller who waits, within the caller's limits."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(name="corollary")
        self._work, self._context = work, copy_context()
        self.result: Any = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._context.run(self._work)
        except BaseException as failure:
            self.failure = failure


def is_worker() -> bool:
    """Whether the caller is in a worker thread, whose works start no further threads."""
    return isinstance(current_thread(), _Worker)


def undisturbed(work: Callable[[], Result], stop: Callable[[], None] = lambda: None) -> Result:
    """Run ``work`` in a worker thread, and return or raise its outcome.

    An asynchronous exception, an exceeded limit or a cancellation ends the wait, not the work. ``stop`` is
    then called, to ask the work to end early.
    """
    return together([work], stop)[0]


def uncollected(work: Callable[[], Result]) -> Result:
    """As ``undisturbed``, without the search for garbage: for work that makes many objects, which stay."""

    def run() -> Result:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return work()
        finally:
            if was_enabled:
                gc.enable()

    return undisturbed(run)


def together(works: Sequence[Callable[[], Result]], stop: Callable[[], None] = lambda: None) -> list[Result]:
    """As ``undisturbed``, for works that run at the same time, each in a thread. Returns their results.

    If works fail, the failure of the first of them is raised when all have ended.
    """
    if is_worker():
        return [work() for work in works]
    threads = [_Worker(work) for work in works]
    try:
        for thread in threads:
            thread.start()
    except RuntimeError as error:
        if "interpreter shutdown" not in str(error):
            raise
        return [work() for work in works]  # since Python 3.12.1, atexit callbacks cannot start threads
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(SECONDS_BETWEEN_CHECKS)
                check()
    except BaseException:
        stop()
        raise
    for thread in threads:
        if thread.failure is not None:
            raise thread.failure
    return [thread.result for thread in threads]
