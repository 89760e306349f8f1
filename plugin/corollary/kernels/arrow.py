"""Arrow's functions on columns, within the limits of the call.

Arrow does not report to a work (``kernels.limits``). So a function on large columns runs in a worker thread,
without Python's lock, and the caller checks the limits while it waits. Results that may be as large as the
columns are reserved.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from corollary.kernels.interrupts import undisturbed
from corollary.kernels.limits import check, reserve
from corollary.kernels.tuning import MIN_BYTES_FOR_ARROW_THREAD


class _Compute:
    """``pyarrow.compute``, which is imported at the first use."""

    def __getattr__(self, name: str) -> Any:
        from pyarrow import compute

        call = within_limits if name.startswith(_WITHOUT_TEXTS) else _reserved
        return partial(call, getattr(compute, name))


_WITHOUT_TEXTS = "match_", "find_", "starts_", "ends_", "equal", "not_equal", "any", "max", "sum"
"""Beginnings of the names of functions with few bytes for each text."""


def _reserved(function: Any, *arguments: Any, **options: Any) -> Any:
    """As ``within_limits``, for a result that may be as large as the arguments."""
    size = _size(arguments)
    if size >= MIN_BYTES_FOR_ARROW_THREAD:
        reserve(size)
    return within_limits(function, *arguments, **options)


def within_limits(function: Any, *arguments: Any, **options: Any) -> Any:
    """Call a function of Arrow. After Cancelled or LimitExceeded the function may run on to its end."""
    if _size(arguments) < MIN_BYTES_FOR_ARROW_THREAD:
        return function(*arguments, **options)
    check()
    return undisturbed(partial(function, *arguments, **options))


def _size(arguments: tuple[Any, ...]) -> int:
    return sum([getattr(argument, "nbytes", 0) for argument in arguments])


compute: Any = _Compute()
"""The functions of ``pyarrow.compute``, each by ``within_limits``."""
