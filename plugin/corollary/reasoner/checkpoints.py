"""Checkpoints of a folder: the snapshot file beside the journal, and what the journal says about it.

The journal (the SQLite database) has all of E, with or without a snapshot. A snapshot is a cache: it has E,
I and the terms as of one commit, mapped and so opened without reading them. The journal's manifest names the
snapshot by the number of the transaction that recorded it, by the checksum of its header, and by the rows
that it covers. Opening follows the rows after these.

A crash at any moment:

* before the file is renamed: a file with a temporary name is left, which nothing refers to;
* between the renaming and the COMMIT of the record: a snapshot that nothing refers to is left. The former
  one is still recorded, and still there;
* after the COMMIT: the former snapshot is left.

The next writer that opens the folder removes what is left. No number is used by two recorded snapshots, so
writing one never replaces the recorded one. A snapshot that is missing, damaged, or another one than recorded
is not used: E is read from the journal, and I is derived.
"""

from __future__ import annotations

import os
import re
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from corollary.language import CorollaryError
from corollary.reasoner.snapshot_file import MappedSnapshot
from corollary.terms.dictionary import BULK_KINDS

_SNAPSHOT = re.compile(r"facts-(\d+)\.snapshot")
_OURS = re.compile(rf"{_SNAPSHOT.pattern}|\.facts-\d+\.snapshot\.\d+\.part")
"""The names of snapshots, and of parts of unfinished ones (``column_file.written``)."""

REMEDY = "close the store, remove this file, and open the folder again: its journal has all explicit facts"


@dataclass(frozen=True, slots=True)
class Rows:
    """The number of rows of a table, and the checksum of their checksums in order."""

    count: int = 0
    checksum: int = 0

    def with_row(self, checksum: int) -> Rows:
        """With one more row."""
        return Rows(self.count + 1, crc32(checksum.to_bytes(4, "little"), self.checksum))


NO_ROWS = Rows()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A snapshot file, and what it covers.

    ``number`` is that of the transaction that recorded it, ``header`` the checksum of the file's header.
    ``fingerprint`` is that of the rules by which I is closed. The other fields are as in
    ``folder_contents.Written``: ``counts`` of terms by kind, ``terms`` and ``changes``, the rows that are
    covered, and the ``weight`` of ``changes``.
    """

    number: int
    header: int
    fingerprint: str | None
    counts: tuple[int, ...]
    terms: Rows
    changes: Rows
    weight: int

    def as_list(self) -> list[Any]:
        """The fields as JSON values."""
        terms, changes = ([rows.count, rows.checksum] for rows in (self.terms, self.changes))
        return [
            self.number, self.header, self.fingerprint, list(self.counts), terms, changes, self.weight
        ]  # fmt: skip

    def file(self, place: Path) -> Path:
        """The snapshot file in the folder ``place``."""
        return file_of(place, self.number)

    @staticmethod
    def of_list(fields: list[Any]) -> Checkpoint:
        """The inverse of ``as_list``. Raises TypeError or ValueError for other lists."""
        number, header, fingerprint, counts, terms, changes, weight = fields
        return Checkpoint(number, header, fingerprint, tuple(counts), Rows(*terms), Rows(*changes), weight)


def file_of(place: Path, number: int) -> Path:
    """The snapshot with a number in the folder ``place``."""
    return place / f"facts-{number}.snapshot"


def number_of(file: Path) -> int:
    """The number of a snapshot in a folder, by its name."""
    return int(file.stem.removeprefix("facts-"))


def opened(place: Path, checkpoint: Checkpoint) -> MappedSnapshot:
    """The snapshot of a checkpoint. Raises CorollaryError if it is damaged, or is not the recorded one."""
    snapshot = MappedSnapshot(checkpoint.file(place), REMEDY)
    counts = tuple(map(snapshot.dictionary.count, BULK_KINDS))
    if (snapshot.header, counts) != (checkpoint.header, checkpoint.counts):
        raise snapshot.damage("it is not the one that was written there")
    snapshot.quads  # noqa: B018 - its tables are checked at first use
    return snapshot


def mapped(place: Path, checkpoint: Checkpoint) -> MappedSnapshot | None:
    """As ``opened``. None if the file is missing; warns, and returns None, if it cannot be used."""
    if not checkpoint.file(place).exists():  # the database was copied without it
        return None
    try:
        return opened(place, checkpoint)
    except CorollaryError as error:
        warnings.warn(f"the journal is read, and what follows is derived again: {error}", stacklevel=2)
        return None


def latest(place: Path) -> MappedSnapshot | None:
    """The last snapshot in a folder, recorded or about to be; None if there is none.

    For readers beside a writer, which replaces the file by a later one at any moment. Raises CorollaryError
    if it is damaged.
    """
    while True:
        names = os.listdir(place) if place.exists() else []
        numbers = [int(found[1]) for name in names if (found := _SNAPSHOT.fullmatch(name))]
        if not numbers:
            return None
        file = file_of(place, max(numbers))
        try:
            return MappedSnapshot(file, REMEDY)
        except CorollaryError:
            if file.exists():
                raise


def remove_others(place: Path, checkpoint: Checkpoint | None) -> None:
    """Remove all snapshots in a folder but that of the checkpoint, and parts of unfinished ones.

    Precondition: the folder is open for writing. A file that cannot be removed stays.
    """
    stays = None if checkpoint is None else checkpoint.file(place)
    with suppress(OSError):
        for file in place.iterdir():
            if file != stays and _OURS.fullmatch(file.name):
                with suppress(OSError):
                    file.unlink()
