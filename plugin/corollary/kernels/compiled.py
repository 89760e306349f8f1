"""Lazy compilation of kernels: a kernel is compiled when its total input becomes large.

A kernel is a plain Python function over one-dimensional arrays. Python interprets the kernel until the
total input over all calls exceeds ``MIN_ELEMENTS_TO_COMPILE``. Numba then compiles the kernel and caches the
machine code on disk. The kernels that every program needs have an *interim* function of NumPy, and are
compiled above ``MIN_ELEMENTS_TO_COMPILE_AFTER_NUMPY``. So a program that reasons over a hundred thousand
triples neither compiles nor imports Numba. Once Numba is imported, they are compiled above
``MIN_ELEMENTS_TO_COMPILE_BESIDE_NUMBA``. The time of compiling does not count where the time of work is
estimated (``limits.uncounted``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, update_wrapper
from threading import RLock
from typing import Any, Generic, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.interrupts import alone, undisturbed
from corollary.kernels.limits import uncounted
from corollary.kernels.memory import refuse_without_room
from corollary.kernels.tuning import (
    ELEMENTS_PER_CALL_OF_NUMPY,
    MIN_ELEMENTS_FOR_THREAD,
    MIN_ELEMENTS_FOR_THREAD_TO_STOP,
    MIN_ELEMENTS_TO_COMPILE,
    MIN_ELEMENTS_TO_COMPILE_AFTER_NUMPY,
    MIN_ELEMENTS_TO_COMPILE_BESIDE_NUMBA,
)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


Flag = NDArray[np.bool_]


class Kernel(Generic[Parameters, Result]):
    """A function that is compiled when its total input becomes large. ``plain`` is the uncompiled function.

    ``allocates``: whether it makes arrays, see ``lean_kernel``.

    ``interim`` is the NumPy function that is called until then; without one, ``plain`` is called.

    Every kernel is compiled with ``nogil``, without ``fastmath``, and for one signature: writable
    C-contiguous arrays, always of the same dtypes. By convention the last argument is the output array. If
    the output array is large, the kernel runs in a worker thread, so that the caller can be interrupted or
    reach a limit.

    * An abandoned kernel runs on to its end in the worker thread.
    * A stoppable kernel has the first parameter ``stop``, a ``Flag``. The kernel returns soon after the flag
      is set. Its output and its result are then meaningless.
    * A kernel that modifies shared arrays must not run on after its caller has left. Its last argument is a
      number, so that the kernel always runs in the calling thread.
    """

    def __init__(
        self,
        plain: Callable[Parameters, Result],
        interim: Callable[Parameters, Result] | None = None,
        *,
        allocates: bool = True,
    ) -> None:
        self.plain = plain
        self.interim = interim
        self._allocates = allocates
        self._can_stop = plain.__code__.co_varnames[0] == "stop"
        self._most = MIN_ELEMENTS_FOR_THREAD_TO_STOP if self._can_stop else MIN_ELEMENTS_FOR_THREAD
        self._compiled: Callable[Parameters, Result] | None = None
        self._seen = 0
        update_wrapper(self, plain)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if self._compiled is None:
            self._seen += sum([argument.size for argument in args if type(argument) is np.ndarray])
            if self.interim is not None:
                self._seen += ELEMENTS_PER_CALL_OF_NUMPY
                if self._seen <= _most_by_numpy():
                    return self.interim(*args, **kwargs)
            elif self._seen <= MIN_ELEMENTS_TO_COMPILE:
                return self.plain(*args, **kwargs)
            self.make_ready()
            assert self._compiled is not None
        if getattr(args[-1], "size", 0) <= self._most:
            return self._compiled(*args, **kwargs)
        stop: Any = args[0]
        work = partial(self._compiled, *args, **kwargs)
        return undisturbed(work, partial(stop.fill, True)) if self._can_stop else undisturbed(work)

    def make_ready(self) -> None:
        """Compile for the types that the parameters are annotated with, or load machine code from the disk.

        Runs undisturbed: Numba cannot resume a compilation.
        """

        def compile_once() -> None:
            compiled: Any = self.compile()
            if hasattr(compiled, "compile"):  # missing under NUMBA_DISABLE_JIT
                compiled.compile(tuple(map(_machine_type, list(get_type_hints(self.plain).values())[:-1])))
            self._compiled = compiled

        uncounted(partial(undisturbed, compile_once))

    @property
    def is_compiled(self) -> bool:
        """Whether machine code exists. If so, small inputs use it too."""
        return self._compiled is not None

    def compile(self) -> Callable[Parameters, Result]:
        """Return the compiled function, from the disk cache if possible.

        Raises MemoryError if the address space is too small for a compilation.
        """
        refuse_without_room()
        import numba

        alone(_REGISTERING, _register_parts)
        njit: Any = numba.njit
        compiled: Callable[Parameters, Result] = njit(cache=True, nogil=True, _nrt=self._allocates)(
            self.plain
        )
        return compiled


def _most_by_numpy() -> int:
    """The total input up to which an interim function costs less than a compiled kernel."""
    if "numba" in sys.modules:
        return MIN_ELEMENTS_TO_COMPILE_BESIDE_NUMBA
    return MIN_ELEMENTS_TO_COMPILE_AFTER_NUMPY


def _machine_type(annotation: Any) -> Any:
    """Numba's type of a parameter: an array, a truth value or a number."""
    from numba import from_dtype, types

    if get_origin(annotation) is np.ndarray:
        (element,) = get_args(get_args(annotation)[1])
        return types.Array(from_dtype(np.dtype(element)), 1, "C")
    return {bool: types.boolean, np.uint64: types.uint64}.get(annotation, types.int64)


def kernel(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Decorator: make a kernel of a function, which may call parts of kernels, but no kernels."""
    return Kernel(function)


def lean_kernel(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Decorator: as ``kernel``, for a function that makes no arrays, nor do its parts.

    It does not count the references to its arrays. Numba counts them at each call of a part that is not
    inlined, by atomic operations. Measured: a line of N-Triples is scanned in 71 ns instead of 122.
    """
    return Kernel(function, allocates=False)


def kernel_after(
    interim: Callable[Parameters, Result],
) -> Callable[[Callable[Parameters, Result]], Kernel[Parameters, Result]]:
    """Decorator: as ``kernel``, with a function of NumPy that does the same until the kernel is compiled."""
    return partial(Kernel, interim=interim)


PARTS: list[tuple[Callable[..., Any], bool]] = []
"""The functions that Numba does not know yet as parts of kernels, and whether calls are always inlined."""


_REGISTERING = RLock()


def _register_parts() -> None:
    """Tell Numba of all parts. Precondition: one thread at a time."""
    from numba.extending import register_jitable

    while PARTS:
        function, is_inlined = PARTS[-1]
        register_jitable(forceinline=is_inlined)(function)
        PARTS.pop()


def part(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator: a function that the kernels of its file may call. It is compiled with them."""
    PARTS.append((function, False))
    return function


def inlined_part(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator: as ``part``, for a function in an inner loop: a call would copy seven words for each array.

    Measured: known texts are looked up in 53 and 173 ns a triple (universities, an encyclopaedia) instead of
    65 and 220.
    """
    PARTS.append((function, True))
    return function


def go_on() -> Flag:
    """A new ``stop`` flag, not set."""
    return np.zeros(1, np.bool_)
