"""A few explicit facts from which all schema facts follow, and how often to look for these."""

from __future__ import annotations

from dataclasses import dataclass, field

from corollary.columns import Delta
from corollary.evaluate.assignment import Assignment


@dataclass(frozen=True)
class SchemaProof:
    """The schema facts ``guards`` follow by the rules ``assignments`` from the explicit facts ``support``."""

    support: Delta
    guards: Delta
    assignments: tuple[Assignment, ...]


@dataclass
class Attempts:
    """Counts failures. After n of them in a row, the 2^n-th call of ``is_due`` is the next to return True."""

    failures: int = 0
    waiting: int = 0

    def is_due(self) -> bool:
        """Whether to try now."""
        self.waiting = max(0, self.waiting - 1)
        return self.waiting == 0

    def count(self, *, success: bool) -> None:
        """Count an attempt."""
        self.failures = 0 if success else self.failures + 1
        self.waiting = 0 if success else 1 << self.failures


@dataclass
class KnownSchemaProof:
    """The present proof of the schema, if there is one, and the attempts to find one.

    ``version`` is that of the engine after the transaction for which the proof was checked.
    """

    proof: SchemaProof | None = None
    version: int = -1
    attempts: Attempts = field(default_factory=Attempts)
