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

from corollary.kernels.interrupts import undisturbed
from corollary.kernels.memory import refuse_without_room

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

SMALL = 30_000
"""Up to so many elements, over all calls so far, are not worth a compilation."""


class Kernel(Generic[Parameters, Result]):
    """A function that compiles itself when an input deserves it; ``plain`` is the function as written.

    Every kernel is compiled with ``nogil`` and cached on disk, has one signature (writable C-contiguous
    arrays, always of the same dtypes), and never uses ``fastmath``.
    """

    def __init__(self, plain: Callable[Parameters, Result]) -> None:
        self.plain = plain
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
        return self._compiled(*args, **kwargs)

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
