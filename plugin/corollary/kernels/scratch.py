"""Large arrays in files without a name: what is there needs no memory of the process's own.

A work with a scratch folder (``limits.Limits.scratch``) moves the arrays that it keeps to files in it, and
maps these. The system drops pages of a file from memory when others need it, and reads them again when they
are used: so facts may be larger than memory. A file has no name; its space is free again when the last array
over it is gone, or the process ends.

The mapping is private and copy-on-write, as that of a snapshot: kernels get the writable arrays that they are
compiled for.
"""

from __future__ import annotations

import errno
import mmap
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.limits import check, current
from corollary.kernels.tuning import BYTES_PER_WRITE, MIN_BYTES_IN_SCRATCH
from corollary.language.errors import CorollaryError

Item = TypeVar("Item", bound=np.generic)

_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def mapped_privately(file: BinaryIO, size: int) -> mmap.mmap:
    """The first ``size`` bytes of an open file, mapped: readable and writable, but the file never changes."""
    if hasattr(mmap, "MAP_PRIVATE"):
        # without a reservation: pages that are never written need no memory of their own
        flags, access = mmap.MAP_PRIVATE | _NORESERVE, mmap.PROT_READ | mmap.PROT_WRITE
        return mmap.mmap(file.fileno(), size, flags, access)
    return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)


def kept(column: NDArray[Item]) -> NDArray[Item]:
    """A column, moved to a mapped file if it is large and the current work has a scratch folder.

    Precondition: the column will not change. Cost: none without a scratch folder; else that of writing it.
    Raises CorollaryError if the folder does not take it; Cancelled or LimitExceeded.
    """
    if column.nbytes < MIN_BYTES_IN_SCRATCH:
        return column
    folder = current().scratch
    return column if folder is None or _is_mapped(column) else _in_file(column, folder)


def _is_mapped(column: NDArray[Any]) -> bool:
    """Whether a column is a view of a mapped file."""
    base: Any = column
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)


def _in_file(column: NDArray[Item], folder: Path) -> NDArray[Item]:
    """A copy of a column over a file in a folder."""
    from tempfile import TemporaryFile  # it imports much that nothing else needs

    content = np.ascontiguousarray(column).data.cast("B")
    try:
        with TemporaryFile(dir=folder, buffering=0) as file:
            at = 0
            while at < column.nbytes:
                check()
                at += os.write(file.fileno(), content[at : at + BYTES_PER_WRITE])
            mapped = mapped_privately(file, column.nbytes)
    except OSError as error:
        remedy = "free some space, or name another folder"
        if error.errno in (errno.EMFILE, errno.ENFILE):  # Python keeps a file open as long as it is mapped
            remedy = "each large array is one: allow more, with ulimit -n"
        raise CorollaryError(f"scratch={folder}: {error.strerror or error}: {remedy}") from error
    return np.frombuffer(mapped, column.dtype)
