"""How many addresses this process may still take, and whether that is enough for the compiler.

A process that may have too few (``ulimit -v``) ends in LLVM, by ``std::bad_alloc``, without an exception.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOR_NUMBA = 240 << 20
"""Bytes that importing Numba and compiling the first kernels take; measured with glibc and two threads."""

FOR_A_KERNEL = 40 << 20
"""Bytes that each later kernel may take."""


def limit_of_addresses() -> int:
    """The most bytes of addresses that this process may have; 0 if there is no limit."""
    if sys.platform == "win32":
        return 0
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return 0 if limit == resource.RLIM_INFINITY else limit


def refuse_without_room() -> None:
    """Raise MemoryError if too few addresses are left to compile a kernel."""
    limit = limit_of_addresses()
    if not limit or sys.platform != "linux":
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    needed = FOR_A_KERNEL if "numba" in sys.modules else FOR_NUMBA
    if limit - pages * resource.getpagesize() < needed:
        raise MemoryError(f"compiling the loops for large data takes {needed >> 20} MB more")
