"""The transaction that removes one set of facts and adds another."""

from __future__ import annotations

from dataclasses import dataclass

from corollary.columns import Delta, TripleIndex


@dataclass(frozen=True, slots=True)
class Change:
    """The explicit facts after a change, Δ⁻ and Δ⁺, as ``maintain`` takes them."""

    explicit: TripleIndex
    removed: Delta
    added: Delta

    @staticmethod
    def of(explicit: TripleIndex, unwanted: TripleIndex, wanted: TripleIndex) -> Change:
        """The change of E that removes ``unwanted`` and then adds ``wanted``: a fact in both stays, or comes.

        ``explicit`` is not changed.
        """
        removed = Delta.of(unwanted) & explicit
        removed -= wanted
        added = Delta.of(wanted) - explicit
        changed = explicit.snapshot()
        for predicate, keys in removed.items():
            changed.remove(predicate, keys)
        changed.add_all(added)
        return Change(changed, removed, added)
