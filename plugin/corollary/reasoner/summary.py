"""A summary of a reasoner, as text and as HTML: its rules, its counts, whether a derivation is pending."""

from __future__ import annotations

from dataclasses import dataclass

from corollary.language.html_table import table


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """The counts that are known without derivation; ``inferred`` is None if it would have to be derived.

    ``owner`` is the displayed class name: ``CorollaryStore`` or ``Reasoner``. ``waiting``: pending changes.
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
        """The summary as an HTML table."""
        rows = {
            "rules": self.rules,
            "explicit": f"{self.explicit:,}",
            "inferred": "known at the next read" if self.inferred is None else f"{self.inferred:,}",
        }
        if self.waiting:
            rows["changes waiting"] = f"{self.waiting:,}"
        return table(self.owner, (), rows.items())
