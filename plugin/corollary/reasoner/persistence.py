"""The protocol between transactions and storage.

``Folder`` stores E, the explicit facts, with terms, graph names and prefixes, in a SQLite database, and E and
I, the materialisation, in a snapshot beside it. ``ReadOnlySource`` stands for what is never written.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

Stamp = tuple[tuple[str, int, int, int], ...]
"""Name, number, size and time of change of each file of a place of storage: another one after a write.

Every checkpoint has a name of its own: times alone are as coarse as the clock of the file system."""

FILES_WRITTEN = ("corollary.sqlite", "facts-*.snapshot")
"""The files of a folder that a commit, or a checkpoint, changes."""


def stamp_of(place: Path) -> Stamp | None:
    """The stamp of a folder, or of a file; None if there is neither. No file is opened."""
    found = []
    with suppress(OSError):  # of places that cannot be
        names = [place] if place.is_file() else sorted(n for glob in FILES_WRITTEN for n in place.glob(glob))
        for name in names:
            with suppress(FileNotFoundError):  # a snapshot that a later one has replaced
                status = name.stat()
                found.append((name.name, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found) or None


Version = TypeVar("Version", contravariant=True)
"""The type of versions: ``corollary.reasoner.version.Version``, which has a ``Persistence`` itself."""


class Persistence(Protocol[Version]):
    """An open place of storage. Its errors are ``CorollaryError``, which name the place and a remedy.

    A commit is atomic and durable: after a crash at any moment the place contains a whole number of commits.
    """

    place: Path
    read_only: bool
    stamp: Stamp | None
    """That of a place that is read only, from before it was read."""

    @property
    def refusal(self) -> str:
        """Why a place that is read only is not written, and what to do."""

    def write(self, version: Version) -> None:
        """Commit a version. After a CorollaryError nothing is stored.

        Precondition: ``version`` is applied. After any other exception (an interruption), ``has_written``
        reports the outcome.
        """

    def has_written(self, version: Version) -> bool:
        """Whether ``version`` is the last commit, even if its ``write`` was interrupted."""

    def checkpoint(self) -> None:
        """Store E and I of the last commit as a snapshot, so that the next opening maps and follows it.

        Without effect if I of the last commit is not known. After a CorollaryError the commit stays stored,
        and the former snapshot.
        """

    def checkpoint_if_due(self, *, closing: bool) -> None:
        """As ``checkpoint``, if what was committed since the last one is worth it. An error is a warning."""

    def shrink(self) -> None:
        """Return unused space to the file system."""

    def findings(self) -> list[str]:
        """Read the stored data again, and return how they differ from the last commit."""

    def close(self) -> None:
        """Release the place for others. Idempotent."""
