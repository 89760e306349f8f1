"""Thresholds for closures: small tests reach what large data does."""

from __future__ import annotations

from typing import Literal

import pytest

from corollary.closure import bit_index, compressed_relation, interval_index, maintained
from corollary.modules import equality, inclusion, transitive

Kept = Literal["intervals", "bits", "beside", "lists"]


def compress_all(patch: pytest.MonkeyPatch, index: Kept = "intervals") -> None:
    """Until the patch is undone, compress closures and copies of any size; closures to this index.

    ``beside``: to intervals, beside which all changes are listed that may be.
    ``lists``: closures are listed by their intervals instead, and inverse ones share their lists.
    """
    for module in (compressed_relation, equality):
        patch.setattr(module, "MIN_PAIRS_COMPRESSED", 1)
    patch.setattr(compressed_relation, "MIN_PAIRS_STAYING_COMPRESSED", 1)
    patch.setattr(bit_index, "MIN_PAIRS_PER_WORD", 0)
    patch.setattr(equality, "MIN_COPIES_PER_FACT", 0)
    patch.setattr(interval_index, "MIN_PAIRS_PER_INTERVAL", 0)
    patch.setattr(interval_index, "MAX_INTERVALS_PER_EDGE", 0 if index == "bits" else 1000)
    patch.setattr(interval_index, "INTERVALS_MERGED_PER_EDGE", 1_000_000)
    patch.setattr(interval_index, "MAX_WORDS_PER_EDGE", 0)
    if index == "beside":
        patch.setattr(maintained, "MAX_FACTS_BESIDE_PER_EDGE", 1000)
    if index == "lists":
        patch.setattr(bit_index, "MIN_PAIRS_PER_WORD", 1 << 40)
        patch.setattr(interval_index, "MIN_PAIRS_PER_INTERVAL", 1 << 40)
        for reader in (transitive, inclusion):
            patch.setattr(reader, "MIN_FACTS_TO_COMPARE_INVERSES", 1)
