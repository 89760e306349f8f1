"""The protocol between transactions and storage.

``Folder`` stores E, the explicit facts, with terms, graph names and prefixes, in a SQLite database, and E and
I, the materialisation, in a snapshot beside it. ``ReadOnlySource`` stands for what is never written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from corollary.kernels.limits import Progress

Seen = tuple[int, ...]
"""What identifies the state of a place of storage that a reader has read."""


def seen_in_file(place: Path | str) -> Seen:
    """The number, the size and the time of change of a file; nothing if there is none."""
    try:
        status = os.stat(place)
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


Version = TypeVar("Version", contravariant=True)
"""The type of versions: ``corollary.reasoner.version.Version``, which has a ``Persistence`` itself."""


class Persistence(Protocol[Version]):
    """An open place of storage. Its errors are ``CorollaryError``, which name the place and a remedy.

    A commit is atomic and durable: after a crash at any moment the place contains a whole number of commits.
    """

    place: Path
    read_only: bool

    @property
    def seen(self) -> Seen:
        """What was read: of a folder, the number of its last commit, or of the snapshot."""

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

    def checkpoint(self, progress: Progress) -> None:
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
