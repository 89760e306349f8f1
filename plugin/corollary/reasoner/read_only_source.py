"""The persistence of a reasoner over a file or data set that is never written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from corollary.kernels.limits import Progress
from corollary.language import CorollaryError
from corollary.reasoner.persistence import Seen, seen_in_file
from corollary.reasoner.version import Version


class ReadOnlySource:
    """The ``Persistence`` of a store over stored facts: nothing is written, and nothing is locked.

    ``refusal`` says why, and what to do.
    """

    read_only = True

    def __init__(self, place: Path, refusal: str, findings: Callable[[], list[str]], seen: Seen) -> None:
        """``findings`` reads the source again, and returns what is wrong with it.

        ``seen`` identifies what is read.
        """
        self.place, self.refusal, self._findings = place, refusal, findings
        self.seen = seen

    @staticmethod
    def of_file(place: Path, what: str, check: Callable[[], object]) -> ReadOnlySource:
        """A source that no store writes. ``what`` is its kind, as in "a data set".

        ``check`` reads it again, and raises what is wrong with it.
        """
        seen = seen_in_file(place)
        refusal = (
            f"{place} is {what}, which is never written: keep the store in a folder with store.save(folder), "
            "then change it"
        )

        def findings() -> list[str]:
            try:
                check()
            except CorollaryError as error:
                return [str(error)]
            return []

        return ReadOnlySource(place, refusal, findings, seen)

    def write(self, version: Version) -> None:
        """Write nothing: no change gets here (``Version.to_be_written``)."""

    def has_written(self, version: Version) -> bool:
        """Nothing is ever written."""
        return False

    def checkpoint(self, progress: Progress) -> None:
        """Nothing to do."""

    def checkpoint_if_due(self, *, closing: bool) -> None:
        """Nothing to do."""

    def shrink(self) -> None:
        """Nothing to do."""

    def findings(self) -> list[str]:
        """Read the source again. Returns what is wrong with it."""
        return self._findings()

    def close(self) -> None:
        """Nothing to do."""
