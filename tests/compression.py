"""Thresholds under which all relations are compressed that may be: small tests reach what large data does."""

from __future__ import annotations

from typing import Literal

import pytest

from corollary.closure import bit_index, interval_index
from corollary.modules import equality


def compress_all(patch: pytest.MonkeyPatch, index: Literal["intervals", "bits"] = "intervals") -> None:
    """Until the patch is undone, compress closures and copies of any size; closures to this index."""
    for module in (interval_index, bit_index, equality):
        patch.setattr(module, "MIN_PAIRS_COMPRESSED", 1)
    patch.setattr(bit_index, "MIN_PAIRS_PER_WORD", 0)
    patch.setattr(equality, "MIN_COPIES_PER_FACT", 0)
    patch.setattr(interval_index, "MIN_PAIRS_PER_INTERVAL", 0)
    patch.setattr(interval_index, "MAX_INTERVALS_PER_EDGE", 1000 if index == "intervals" else 0)
    patch.setattr(interval_index, "INTERVALS_MERGED_PER_EDGE", 1_000_000)
