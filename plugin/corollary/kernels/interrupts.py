"""What an exception out of nowhere (Ctrl-C, a signal's handler, no memory) must not break.

Such an exception may come between any two steps of Python, also inside ``finally``. State is therefore
never mended by clean-up code: it is made beside the old one and published by one assignment. Two things
cannot be done that way, and are here:

1. A lock is released by C code on one line with its body. On lines of their own, an exception that comes
   between the body and the release would leave the lock held.
2. Work that cannot be begun twice (importing and compiling with Numba) runs in a thread of its own:
   handlers of signals run in the main thread only. So does what takes long in machine code: this thread
   waits, and can be interrupted, cancelled, and ended by a limit of time.
3. A handler that uses what it has interrupted is refused (``alone``): its change, or the interrupted one,
   would be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import RLock, Thread
from typing import TypeVar, TypeVarTuple

from corollary.kernels.limits import check
from corollary.language.errors import CorollaryError

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

SECONDS_BETWEEN_CHECKS = 0.05

IN_THE_MIDDLE = (
    "this thread is in the middle of a call of the store, and a handler of signals or __del__ makes another "
    "one: let it leave a note, and make the call after the first"
)


def held(
    lock: AbstractContextManager[object], function: Callable[[*Arguments], Result], *args: *Arguments
) -> Result:
    """What the function returns, called while the lock is held; released whatever is raised, wherever."""
    with lock: return function(*args)  # fmt: skip  # noqa: E701


def alone(lock: RLock, function: Callable[[*Arguments], Result], *args: *Arguments) -> Result:
    """As ``held``; CorollaryError if this thread is inside of it already.

    That is in a handler of signals, or in ``__del__``: they may be called between any two steps, also here.
    """
    if lock._is_owned():  # type: ignore[attr-defined]
        raise CorollaryError(IN_THE_MIDDLE)
    return held(lock, function, *args)


def undisturbed(work: Callable[[], Result], stop: Callable[[], None] = lambda: None) -> Result:
    """What ``work`` returns or raises. An exception out of nowhere ends the waiting, and not the work.

    So do a limit and a cancellation of the call that it is part of. Then it is asked to ``stop``.
    """
    results: list[Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as failure:
            failures.append(failure)

    thread = Thread(target=run, name="corollary")
    try:
        thread.start()
    except RuntimeError as error:
        if "interpreter shutdown" not in str(error):
            raise
        return work()  # Python 3.12.1 starts no thread any more in atexit callbacks
    try:
        while thread.is_alive():
            thread.join(SECONDS_BETWEEN_CHECKS)
            check()
    except BaseException:
        stop()
        raise
    if failures:
        raise failures[0]
    return results[0]
