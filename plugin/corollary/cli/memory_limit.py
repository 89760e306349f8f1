"""A process under a memory limit: reserving fewer addresses, and recognising errors caused by lack of memory.

Libraries in C++ and Rust end the process when an allocation fails, which cannot be caught.
``corollary.kernels.memory`` does not start the largest of these, the compiler, if memory would not suffice.
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
"""Parts of messages of the dynamic loader and others, which set no error number."""


def spare_addresses() -> None:
    """Reduce the addresses that libraries reserve per thread. Call before anything large is imported.

    OpenBLAS, whose functions are not called, reserves 40 MB per thread. Under a limit of addresses, all
    threads share one glibc arena; otherwise glibc reserves 128 MB per thread.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.platform == "linux" and limit_of_addresses():
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_ARENA_MAX, 1)


def is_for_memory(error: BaseException) -> bool:
    """Whether an error, or an error in its chain of causes, is due to lack of memory."""
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
