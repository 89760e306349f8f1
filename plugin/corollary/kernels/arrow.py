"""Arrow's functions on columns, within the limits of the call.

Arrow does not report to a work (``kernels.limits``). So a function on large columns runs in a worker thread,
without Python's lock, and the caller checks the limits while it waits.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from corollary.kernels.interrupts import undisturbed
from corollary.kernels.limits import check
from corollary.kernels.tuning import MIN_BYTES_FOR_ARROW_THREAD


class _Compute:
    """``pyarrow.compute``, which is imported at the first use."""

    def __getattr__(self, name: str) -> Any:
        from pyarrow import compute

        return partial(within_limits, getattr(compute, name))


def within_limits(function: Any, *arguments: Any, **options: Any) -> Any:
    """Call a function of Arrow. After Cancelled or LimitExceeded the function may run on to its end."""
    size = sum([getattr(argument, "nbytes", 0) for argument in arguments])
    if size < MIN_BYTES_FOR_ARROW_THREAD:
        return function(*arguments, **options)
    check()
    return undisturbed(partial(function, *arguments, **options))


compute: Any = _Compute()
"""The functions of ``pyarrow.compute``, each by ``within_limits``."""
