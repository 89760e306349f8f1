"""Memory available to this process, from Linux's ``/proc`` and control groups. Unknown on other systems.

The available memory is the minimum of three: the available memory of the machine, the unused part of each
control group's limit (such as a container's), and the growth left to the address space (``ulimit -v``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from corollary.kernels.tuning import BYTES_PER_KERNEL, BYTES_TO_IMPORT_NUMBA

PAGE = 4096


NO_LIMIT = 1 << 60
"""Bytes. A control group (version 1) without a limit reports a limit above this value."""


class Room(NamedTuple):
    """Available and total memory, in bytes."""

    left: int
    total: int


class Group(NamedTuple):
    """The files of a control group. ``caches``: the entries of its statistics that are file caches."""

    limit: Path
    use: Path
    statistics: Path
    caches: tuple[str, ...]


def used() -> int | None:
    """The resident memory of this process in bytes, without pages of files; None if unknown.

    The system drops pages of a file when it needs memory.
    """
    try:
        _, resident, of_files, *_ = Path("/proc/self/statm").read_text().split()
        return (int(resident) - int(of_files)) * _page_size()
    except (OSError, IndexError, ValueError):
        return None


def room() -> Room | None:
    """The memory available to this process; None if unknown. Cost: 0.1 ms."""
    known = [found for found in (_of_machine(), _of_address_space(), *map(_of_group, _groups())) if found]
    return min(known, default=None)


def _of_machine() -> Room | None:
    try:
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        left, total = (int(lines[name].split()[0]) * 1024 for name in ("MemAvailable", "MemTotal"))
    except (OSError, KeyError, ValueError):
        return None
    return Room(left, total)


def _of_address_space() -> Room | None:
    limit = limit_of_addresses()
    if not limit:
        return None
    try:
        return Room(limit - int(Path("/proc/self/statm").read_text().split()[0]) * _page_size(), limit)
    except (OSError, ValueError):
        return None


def _of_group(group: Group) -> Room | None:
    """The memory available in a control group. Its file cache counts as available: the kernel reclaims it."""
    try:
        text = group.limit.read_text().strip()
        limit = NO_LIMIT if text == "max" else int(text)
        if limit >= NO_LIMIT:
            return None
        statistics = dict(line.split() for line in group.statistics.read_text().splitlines())
        cached = sum(int(statistics.get(name, 0)) for name in group.caches)
        return Room(limit - int(group.use.read_text()) + cached, limit)
    except (OSError, ValueError):
        return None


@cache
def _groups() -> tuple[Group, ...]:
    """The memory control groups of this process, and their ancestors."""
    return tuple(group for group in _all_groups() if group.limit.exists())


def _all_groups() -> Iterator[Group]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if not controllers:
            root, prefix = Path("/sys/fs/cgroup"), ""
            names = ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            root, prefix = Path("/sys/fs/cgroup/memory"), "total_"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        place = root / name.lstrip("/")  # may be missing in a container, whose own group is the root
        for folder in (place, *place.parents):
            if folder.is_relative_to(root):
                limit, use = (folder / name for name in names)
                caches = tuple(f"{prefix}{kind}_file" for kind in ("inactive", "active"))
                yield Group(limit, use, folder / "memory.stat", caches)


@cache
def _page_size() -> int:
    try:
        import resource
    except ImportError:
        return PAGE
    return resource.getpagesize()


def give_back() -> None:
    """Return to the system what the C library keeps of freed memory, where it can (glibc)."""
    import ctypes

    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def limit_of_addresses() -> int:
    """The limit of the address space in bytes (``ulimit -v``); 0 if there is no limit."""
    try:
        import resource
    except ImportError:
        return 0
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return 0 if limit == resource.RLIM_INFINITY else limit


def refuse_without_room() -> None:
    """Raise MemoryError if the rest of the address space is too small to compile a kernel.

    LLVM would otherwise abort the process with ``std::bad_alloc``, without a Python exception.
    """
    found = _of_address_space()
    needed = BYTES_PER_KERNEL if "numba" in sys.modules else BYTES_TO_IMPORT_NUMBA
    if found is not None and found.left < needed:
        raise MemoryError(f"compiling the loops for large data takes {needed >> 20} MB more")
