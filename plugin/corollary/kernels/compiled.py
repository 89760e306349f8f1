"""How a kernel is compiled: on its first large input, and never for a small one.

A kernel is a plain Python function over one-dimensional arrays. Numba compiles it when it first
meets more than ``SMALL`` elements and keeps the machine code on disk; until then the function runs
as it stands, so that whoever opens a graph of a hundred triples waits for no compiler and does not
even import it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.interrupts import undisturbed
from corollary.kernels.memory import refuse_without_room

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

SMALL = 30_000
"""Up to so many elements, over all calls so far, are not worth a compilation."""

MANY = 1 << 22
"""A kernel that fills more elements than this runs in a thread of its own: a thread costs 0.1 ms, and so many
elements 5 to 50."""

MANY_TO_STOP = 1 << 16
"""As ``MANY``, for a kernel that can be stopped: it may take much longer than it fills elements."""

Flag = NDArray[np.bool_]


class Kernel(Generic[Parameters, Result]):
    """A function that compiles itself when an input deserves it; ``plain`` is the function as written.

    Every kernel is compiled with ``nogil`` and cached on disk, has one signature (writable C-contiguous
    arrays, always of the same dtypes), and never uses ``fastmath``. Its last argument is the array that it
    fills: if that is large, the caller can be interrupted meanwhile, and so can the work be ended that it is
    part of. The kernel then goes on by itself to its end; unless its first argument is ``stop``, a ``Flag``:
    then it returns soon after that is set, and what it has filled or returns is worth nothing. A kernel that
    changes what others see must not go on by itself: its last argument is a number.
    """

    def __init__(self, plain: Callable[Parameters, Result]) -> None:
        self.plain = plain
        self._can_stop = plain.__code__.co_varnames[0] == "stop"
        self._most = MANY_TO_STOP if self._can_stop else MANY
        self._compiled: Callable[Parameters, Result] | None = None
        self._seen = 0
        update_wrapper(self, plain)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if self._compiled is None:
            self._seen += sum(argument.size for argument in args if isinstance(argument, np.ndarray))
            if self._seen <= SMALL:
                return self.plain(*args, **kwargs)
            undisturbed(partial(self._compile_for, args))
            assert self._compiled is not None
        if getattr(args[-1], "size", 0) <= self._most:
            return self._compiled(*args, **kwargs)
        stop: Any = args[0]
        work = partial(self._compiled, *args, **kwargs)
        return undisturbed(work, partial(stop.fill, True)) if self._can_stop else undisturbed(work)

    def _compile_for(self, args: tuple[Any, ...]) -> None:
        """Compile for arguments like these; in one go, as Numba cannot go on where it was interrupted."""
        compiled: Any = self.compile()
        if hasattr(compiled, "compile"):  # not where Numba is told to leave Python as it is
            import numba

            compiled.compile(tuple(map(numba.typeof, args)))
        self._compiled = compiled

    @property
    def is_compiled(self) -> bool:
        """Whether the machine code is there, so that small inputs may as well use it."""
        return self._compiled is not None

    def compile(self) -> Callable[Parameters, Result]:
        """The compiled function, from the disk cache if it is there. MemoryError without room for that."""
        refuse_without_room()
        import numba

        compiled: Any = numba.njit(cache=True, nogil=True)(self.plain)
        return compiled  # type: ignore[no-any-return]


def kernel(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Decorator: make a kernel of a function. It must not call other kernels."""
    return Kernel(function)


def go_on() -> Flag:
    """A ``stop`` that is not set."""
    return np.zeros(1, np.bool_)
