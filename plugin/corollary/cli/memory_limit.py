"""A process that may not have much memory: what it can do without, and how to know that there was too little.

What libraries in C++ and Rust do when there is no memory, which is to end the process, cannot be caught.
``corollary.kernels.memory`` keeps the largest, the compiler, from beginning where it would end so.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

from corollary.kernels.memory import limit_of_addresses

_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h
_SIGNS = (
    "failed to map segment",
    "annot allocate memory",
    "can't start new thread",
    "libllvmlite",
    "without setting an exception",
    "without exception set",
)
"""What the dynamic loader and others say, who give no number."""


def spare_addresses() -> None:
    """Before anything large is imported: reserve no addresses for threads that need none.

    OpenBLAS, whose functions are not called, takes 40 MB a thread. Under a limit, threads share one arena of
    glibc's, which reserves 128 MB for each of them otherwise.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.platform == "linux" and limit_of_addresses():
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_ARENA_MAX, 1)


def is_for_memory(error: BaseException) -> bool:
    """Whether an error, or one that led to it, came for want of memory."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno == errno.ENOMEM):
            return True
        if isinstance(cause, ImportError | OSError | RuntimeError | SystemError):
            text = str(cause)
            if any(sign in text for sign in _SIGNS):
                return True
        cause = cause.__cause__ or cause.__context__
    return False
