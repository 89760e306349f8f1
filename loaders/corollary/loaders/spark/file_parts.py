"""Parts of local files of lines, for tasks that read them without Java.

Java makes a row of each line, which costs some ten times what parsing it does. On the machine's own file
system, where Spark expects a file at the same path everywhere, a task reads its parts as the local reader
does. Other file systems are read by Spark: only Java has their settings. A compressed file is one part: also
``.bz2``, which Spark reads block by block, but takes for empty, or for shorter, where it finds no block.

Invariant: a line is in one part, that in which it begins.
"""

from __future__ import annotations

import codecs
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa

from corollary.kernels.byte_texts import Bytes
from corollary.loaders.files import chunks_of_lines
from corollary.loaders.formats import decompressed, input_error
from corollary.loaders.spark.tuning import BYTES_PER_TASK, MIN_BYTES_PER_TASK

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BYTES_SEARCHED = 1 << 16
"""Bytes in which the end of a line is looked for at a time."""


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of a file that begin from the byte ``start`` on, and before ``end``; all, if compressed.

    ``listed`` is the size that the file had when it was listed. What a file has more is not read.
    """

    document: int
    path: Path
    compression: str
    start: int
    end: int
    listed: int

    @property
    def size(self) -> int:
        """The stored size in bytes."""
        return self.end - self.start

    def chunks(self) -> Iterator[Bytes]:
        """The lines, some megabytes at a time. Raises InputError, in one line, if they cannot be read."""
        with _complaining(self.path, self.compression), self.path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self.listed:
                raise input_error(f"{self.path}: it became shorter after it was listed")
            if self.compression:
                stream = decompressed(file, self.compression)
                is_first = True
            else:
                begin, end = (line_start(file, place) for place in (self.start, self.end))
                file.seek(begin)
                stream = cast(BinaryIO, _Range(file, end - begin))
                is_first = begin == 0
            head = stream.read(len(codecs.BOM_UTF8)) if is_first else b""
            yield from chunks_of_lines(head.removeprefix(codecs.BOM_UTF8), stream)


@contextmanager
def _complaining(path: Path, compression: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, OSError, pa.ArrowException) as error:
        bad = "the compressed data end too early or are damaged" if compression else "cannot be read"
        remedy = "; get the file again" if compression else ""
        raise input_error(f"{path}: {bad}: {error}{remedy}") from None


class _Range(io.RawIOBase):
    """The next bytes of a file, and no more."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def readable(self) -> bool:
        return True

    def readinto(self, target: WriteableBuffer) -> int:
        read: int = self._file.readinto(memoryview(target)[: self._left])  # type: ignore[attr-defined]
        self._left -= read
        return read


def line_start(file: BinaryIO, place: int) -> int:
    """Where the first line begins that begins at a place or later; the end of the file if none does."""
    if place == 0:
        return 0
    file.seek(place - 1)
    before = place - 1
    while found := file.read(_BYTES_SEARCHED):
        end = found.find(b"\n")
        if end >= 0:
            return before + end + 1
        before += len(found)
    return before


def tasks_for(files: Sequence[Part], cores: int) -> list[list[Part]]:
    """Whole files as parts for tasks: as many as there are cores, and more if they would be large."""
    whole = sum(file.size for file in files)
    most = min(BYTES_PER_TASK, max(MIN_BYTES_PER_TASK, -(-whole // max(cores, 1))))
    tasks: list[list[Part]] = []
    room = 0
    for part in (part for file in files for part in _split(file, most)):
        if not tasks or part.size > room:
            tasks.append([])
            room = most
        tasks[-1].append(part)
        room -= part.size
    return tasks


def _split(file: Part, most: int) -> Iterator[Part]:
    if file.compression:
        yield file
        return
    for start in range(0, max(file.size, 1), most):
        yield replace(file, start=start, end=min(start + most, file.size))
