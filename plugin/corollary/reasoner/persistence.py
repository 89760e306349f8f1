"""The protocol between transactions and storage.

``Folder`` (SQLite) stores E, the explicit facts, with terms, graph names and prefixes. I, the
materialisation, is not stored: it is derived after opening. ``loaders.opened_data_sets`` has a source that is
never written, with I.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from corollary.reasoner.quads import Quads
from corollary.terms.dictionary import TermDictionary

Version = TypeVar("Version")
"""The type of versions: ``corollary.reasoner.version.Version``, which has a ``Persistence`` itself."""

Reading = Callable[[TermDictionary, Quads, dict[str, bytes]], Version]
"""Makes a version of the stored terms (with their ids), facts by graph, and other contents by name."""


class Persistence(Protocol[Version]):
    """An open place of storage. Its errors are ``CorollaryError``, which name the place and a remedy.

    A commit is atomic and durable: after a crash at any moment the place contains a whole number of commits.
    """

    place: Path
    read_only: bool

    @property
    def refusal(self) -> str:
        """Why a place that is read only is not written, and what to do."""

    def read(self, version_of: Reading[Version]) -> Version:
        """Read the stored version. Raises CorollaryError if the stored data are damaged."""

    def write(self, version: Version) -> None:
        """Commit a version. After a CorollaryError nothing is stored.

        Precondition: ``version`` is applied. After any other exception (an interruption), ``has_written``
        reports the outcome.
        """

    def has_written(self, version: Version) -> bool:
        """Whether ``version`` is the last commit, even if its ``write`` was interrupted."""

    def shrink(self) -> None:
        """Return unused space to the file system."""

    def findings(self) -> list[str]:
        """Read the stored data again, and return how they differ from the last commit."""

    def close(self) -> None:
        """Release the place for others. Idempotent."""
