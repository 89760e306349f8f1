"""A file of named columns that is mapped, not read: plain little-endian arrays and a directory.

Layout (docs/snapshots.md has every byte): a header, the columns, a checksum for each block of
``BLOCK_BYTES``, the directory in JSON. Header, checksums and directory are verified when the file is opened;
a block is verified when it is first used.

The mapping is private and copy-on-write: kernels get writable arrays, as they are compiled for, and no write
reaches the file. A file is written under a temporary name, synced and renamed. So it is complete or absent,
and a mapping of a replaced file stays valid. A file that another program cuts off *after* it was opened ends
the process (SIGBUS): no check can prevent that.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.scratch import mapped_privately
from corollary.language import CorollaryError

MAGIC = b"\x89COROCOL"
FORMAT_VERSION = 5

READABLE_VERSIONS = (3, 4, 5)
"""The formats that are read. Before format 5 all relations were listed; in format 3 all offsets of texts were
of type i8."""

BLOCK_BYTES = 1 << 18
ALIGNMENT = 64
FIRST_BYTE = 4096
"""The offset of the first column, and of the first block."""

_HEADER = struct.Struct("<8sIIQQQQIII")
"""Magic, version, BLOCK_BYTES, file length, end of the columns, offset and length of the directory, CRC-32 of
the directory, of the checksums, of the header up to here."""

_DTYPES = {"u1": np.uint8, "u4": np.uint32, "u8": np.uint64, "i8": np.int64}

Column = NDArray[Any]


class DamagedFile(CorollaryError):
    """A file of columns is not what was written."""


@dataclass(frozen=True, slots=True)
class Section:
    """A column in the file: the name of its type, its number of entries, the offset of the first in bytes."""

    dtype: str
    length: int
    offset: int

    @property
    def width(self) -> int:
        """The bytes of an entry."""
        return np.dtype(_DTYPES[self.dtype]).itemsize

    @property
    def size(self) -> int:
        """The bytes of the column."""
        return self.length * self.width


class ColumnWriter:
    """Writes the columns of a file one after the other: see ``written``."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._at = FIRST_BYTE
        self._sections: dict[str, tuple[str, int, int]] = {}
        self._checksums: list[int] = []
        self._checksum = 0  # of the present block so far
        file.write(bytes(FIRST_BYTE))

    def add(self, name: str, dtype: str, parts: Iterable[Column]) -> int:
        """Append a column, given in parts. Returns its length."""
        self._append(bytes(-self._at % ALIGNMENT))
        offset, length = self._at, 0
        for part in parts:
            array = np.ascontiguousarray(part, _DTYPES[dtype])
            length += array.size
            self._append(array.data.cast("B") if array.size else b"")
        self._sections[name] = (dtype, length, offset)
        return length

    def _append(self, content: bytes | memoryview) -> None:
        self._file.write(content)
        start, size = 0, len(content)
        while start < size:
            room = BLOCK_BYTES - (self._at - FIRST_BYTE) % BLOCK_BYTES
            piece = content[start : start + room]
            self._checksum = crc32(piece, self._checksum)
            self._at += len(piece)
            start += len(piece)
            if len(piece) == room:
                self._checksums.append(self._checksum)
                self._checksum = 0

    def finish(self, about: Mapping[str, Any]) -> int:
        """Write checksums, directory and header. ``about`` is JSON, and part of the directory.

        Returns the checksum of the header, by which files with different contents are distinguished.
        """
        end = self._at
        if (end - FIRST_BYTE) % BLOCK_BYTES:
            self._checksums.append(self._checksum)
        checksums = np.array(self._checksums, "<u4").tobytes()
        directory = json.dumps({"about": about, "columns": self._sections}).encode()
        self._file.write(checksums)
        self._file.write(directory)
        place = end + len(checksums)
        header = _HEADER.pack(
            MAGIC, FORMAT_VERSION, BLOCK_BYTES, place + len(directory), end, place, len(directory),
            crc32(directory), crc32(checksums), 0,
        )[:-4]  # fmt: skip
        self._file.seek(0)
        self._file.write(header + crc32(header).to_bytes(4, "little"))
        return crc32(header)


@contextmanager
def written(place: Path) -> Iterator[ColumnWriter]:
    """A writer of the file ``place``, which appears, or is replaced, when the block ends without an error.

    Raises CorollaryError if the file system reports an error; then nothing has changed at ``place``.
    """
    partial = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        try:
            with open(partial, "wb") as file:
                yield ColumnWriter(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, place)
            sync_names(place.parent)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "free some space, or name a file elsewhere" if is_full else "name a file that can be written"
        raise CorollaryError(
            f"{place}: {error.strerror or error}; nothing was changed there: {remedy}"
        ) from error


def sync_names(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def is_column_file(place: str | os.PathLike[str]) -> bool:
    """Whether a regular file begins as a file of columns does. Nothing is read from a pipe.

    A file that this process may not read counts as one: to open it tells why it cannot be read.
    """
    if not os.path.isfile(place):
        return False
    try:
        with open(place, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False


class ColumnFile:
    """A mapped file. ``about`` is the JSON of the writer; ``header`` the checksum of the header."""

    def __init__(self, place: Path, remedy: str = "write it again, or put back a copy of it") -> None:
        """Map a file. Raises DamagedFile if it is none, or cut off; CorollaryError if it cannot be read.

        ``remedy`` says what to do if the file is damaged.
        """
        self.place, self._remedy = place, remedy
        self._map = self._mapped()
        if len(self._map) < FIRST_BYTE:
            raise self.damage("it is cut off")
        *fields, self.header = _HEADER.unpack_from(self._map)
        magic, version, block, length, self._end, offset, size, of_directory, of_checksums = fields
        if magic != MAGIC:
            raise self.damage("it does not begin as a snapshot does")
        if crc32(self._map[: _HEADER.size - 4]) != self.header:
            raise self.damage("the checksum of its header differs")
        if version not in READABLE_VERSIONS or block != BLOCK_BYTES:
            raise CorollaryError(
                f"{place} is of format {version}, and this Corollary reads format {FORMAT_VERSION}: read it "
                "with the version that wrote it"
            )
        if length != len(self._map):
            raise self.damage(f"it has {len(self._map):,} of {length:,} bytes")
        blocks = -(-(self._end - FIRST_BYTE) // BLOCK_BYTES)
        if not FIRST_BYTE <= self._end == offset - 4 * blocks or offset + size != length:
            raise self.damage("its header makes no sense")
        table, directory = self._map[self._end : offset], self._map[offset:]
        if crc32(directory) != of_directory or crc32(table) != of_checksums:
            raise self.damage("a checksum differs")
        self._checksums: list[int] = np.frombuffer(table, "<u4").tolist()
        self._is_checked = bytearray(blocks)
        self.about, self._sections = self._directory(directory)

    def _mapped(self) -> mmap.mmap:
        if sys.byteorder != "little":
            raise CorollaryError(f"{self.place}: snapshots are mapped by little-endian processors only")
        try:
            if self.place.exists() and not self.place.is_file():  # to open a pipe may take forever
                raise self.damage("it is no file")
            with open(self.place, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if not size:
                    raise self.damage("it is empty")
                return mapped_privately(file, size)
        except OSError as error:
            raise CorollaryError(
                f"{self.place}: {error.strerror or error}: name a file that can be read"
            ) from error

    def _directory(self, content: bytes) -> tuple[dict[str, Any], dict[str, Section]]:
        """Parse the directory. Raises DamagedFile unless all columns are within the file."""
        try:
            directory = json.loads(content)
            about, sections = dict(directory["about"]), {}
            for name, (dtype, length, offset) in directory["columns"].items():
                found = sections[name] = Section(dtype, length, offset)
                if type(length) is not int or type(offset) is not int or offset % ALIGNMENT:
                    raise ValueError(name)
                if length < 0 or offset < FIRST_BYTE or offset + found.size > self._end:
                    raise ValueError(name)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise self.damage(f"its directory makes no sense: {error}") from error
        return about, sections

    def damage(self, what: str) -> DamagedFile:
        """The error for a damaged file; ``what`` is the defect."""
        return DamagedFile(f"{self.place} is damaged ({what}): {self._remedy}")

    def section(self, name: str, dtype: str, length: int | None = None) -> Section:
        """Where a column is. Raises DamagedFile if it is missing, or of another type or length."""
        found = self._sections.get(name)
        if found is None or found.dtype != dtype or (length is not None and found.length != length):
            raise self.damage(f"the column {name} is missing, or is not what it should be")
        return found

    def type_of(self, name: str) -> str | None:
        """The type of a column; None if it is missing."""
        found = self._sections.get(name)
        return found.dtype if found else None

    def unchecked(self, section: Section) -> Column:
        """A column as a writable array. The caller calls ``check`` for the bytes that it uses."""
        dtype = _DTYPES[section.dtype]
        if not section.length:
            return np.empty(0, dtype)
        return np.frombuffer(self._map, dtype, section.length, section.offset)

    def check(self, offset: int, size: int) -> None:
        """Verify the blocks with ``size`` bytes from ``offset`` on, unless they are verified already.

        Raises DamagedFile if a checksum differs. Cost: once 0.3 ms a block, then that of a look at each.
        """
        if not size:
            return
        first = (offset - FIRST_BYTE) // BLOCK_BYTES
        last = (offset + size - 1 - FIRST_BYTE) // BLOCK_BYTES
        block = self._is_checked.find(0, first, last + 1)
        while block >= 0:
            start = FIRST_BYTE + block * BLOCK_BYTES
            with memoryview(self._map) as view:
                found = crc32(view[start : min(start + BLOCK_BYTES, self._end)])
            if found != self._checksums[block]:
                raise self.damage("a checksum differs")
            self._is_checked[block] = 1
            block = self._is_checked.find(0, block, last + 1)

    def column(self, name: str, dtype: str, length: int | None = None) -> Column:
        """A whole column, verified. Raises DamagedFile as ``section`` and ``check`` do."""
        section = self.section(name, dtype, length)
        self.check(section.offset, section.size)
        return self.unchecked(section)

    def check_all(self) -> None:
        """Verify all blocks."""
        self.check(FIRST_BYTE, self._end - FIRST_BYTE)
