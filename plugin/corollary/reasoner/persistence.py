"""What persists the versions of a reasoner: the seam between transactions and storage.

``Folder`` (SQLite) is the present implementation. What is stored is E, the explicit facts, with terms, graph
names and prefixes. I, the materialisation, is derived again after opening.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from corollary.reasoner.quads import Quads
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from corollary.reasoner.version import Version

Reading = Callable[[TermDictionary, Quads, dict[str, bytes]], "Version"]
"""Makes a version of what was stored: terms with their ids, facts by graph, all else by name."""


class Persistence(Protocol):
    """An open place of storage. Its errors are ``CorollaryError``, with the place and a remedy.

    A commit is atomic and durable: after a crash at any moment the place contains a whole number of commits.
    """

    place: Path
    read_only: bool

    def read(self, version_of: Reading) -> Version:
        """The stored version. CorollaryError if what is stored is damaged."""

    def write(self, version: Version) -> None:
        """Commit a version. If this raises an error of the place itself, nothing is stored.

        Precondition: the version is applied. After any other exception (an interruption), ``has_written``
        tells.
        """

    def has_written(self, version: Version) -> bool:
        """Whether a version was committed last, however its ``write`` ended."""

    def shrink(self) -> None:
        """Return unused space to the file system."""

    def findings(self) -> list[str]:
        """What is wrong with what is stored, read once more and compared with the last commit."""

    def close(self) -> None:
        """Release the place for others. May be called again."""
