"""A summary of a reasoner, as text and as HTML: its rules and counts, and whether reasoning is due."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What is known without any work; ``inferred`` is None if it has to be derived.

    ``owner`` is the class that people know: ``CorollaryStore`` or ``Reasoner``.
    """

    owner: str
    rules: str
    explicit: int
    inferred: int | None
    waiting: int

    def __str__(self) -> str:
        """``<CorollaryStore owl2rl: 3 explicit, 12 inferred>``."""
        if self.inferred is not None:
            rest = f"{self.inferred:,} inferred"
        elif self.waiting:
            waiting = "1 change waits" if self.waiting == 1 else f"{self.waiting:,} changes wait"
            rest = f"{waiting} for the next read"
        else:
            rest = "reasoning waits for the next read"
        return f"<{self.owner} {self.rules}: {self.explicit:,} explicit, {rest}>"

    def html(self) -> str:
        """The same as a small table."""
        rows = {
            "rules": self.rules,
            "explicit": f"{self.explicit:,}",
            "inferred": "known at the next read" if self.inferred is None else f"{self.inferred:,}",
        }
        if self.waiting:
            rows["changes waiting"] = f"{self.waiting:,}"
        cells = "".join(
            f"<tr><th>{escape(what)}</th><td>{escape(value)}</td></tr>" for what, value in rows.items()
        )
        return f"<table><caption>{self.owner}</caption>{cells}</table>"
