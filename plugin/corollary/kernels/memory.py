"""How much memory there is for this process, as Linux says. On other systems nothing is known.

What counts is the least of what the machine has left, what each control group of the process has left (a
container's limit, say), and what its address space may still grow by (``ulimit -v``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PAGE = 4096

FOR_NUMBA = 240 << 20
"""Bytes that importing Numba and compiling the first kernels take; measured with glibc and two threads."""

FOR_A_KERNEL = 40 << 20
"""Bytes that each later kernel may take."""

NO_LIMIT = 1 << 60
"""A control group of version 1 without a limit has a number above this one."""


class Room(NamedTuple):
    """Bytes that are left, and bytes that there are in all."""

    left: int
    total: int


class Group(NamedTuple):
    """The files of a control group: its limit, its use, its statistics; and what those call its caches."""

    limit: Path
    use: Path
    statistics: Path
    caches: tuple[str, ...]


def used() -> int | None:
    """Bytes of memory that this process has in use now; None where that is not known."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _page_size()
    except (OSError, IndexError, ValueError):
        return None


def room() -> Room | None:
    """The memory that is left for this process; None where that is not known. Takes 0.1 ms."""
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
    """What a control group has left. Its cache of files is no hindrance: it goes when memory is short."""
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
    """The control groups that this process is in, for memory, and those that these are in."""
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
        place = root / name.lstrip("/")  # in a container that may be missing: then the root is its own
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


def limit_of_addresses() -> int:
    """The most bytes of addresses that this process may have (``ulimit -v``); 0 if there is no limit."""
    try:
        import resource
    except ImportError:
        return 0
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return 0 if limit == resource.RLIM_INFINITY else limit


def refuse_without_room() -> None:
    """Raise MemoryError if too few addresses are left to compile a kernel.

    LLVM would end the process then, by ``std::bad_alloc``, without an exception.
    """
    found = _of_address_space()
    needed = FOR_A_KERNEL if "numba" in sys.modules else FOR_NUMBA
    if found is not None and found.left < needed:
        raise MemoryError(f"compiling the loops for large data takes {needed >> 20} MB more")
