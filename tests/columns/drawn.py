"""Hypothesis strategies for packed pairs, from so few ids that sets of them overlap.

Both ends of the range of ids are among them, and terms of every kind.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import strategies as st

from corollary.kernels.sorted import Column, Keys
from corollary.terms.dictionary import KIND_SHIFT, Kind

Pair = tuple[int, int]

LARGEST = 2**32 - 1
IDS = (0, 1, 2, 3, Kind.BLANK_NODE << KIND_SHIFT, Kind.LITERAL << KIND_SHIFT, LARGEST)

ids = st.one_of(st.sampled_from(IDS), st.sampled_from(IDS[:4]))
pairs = st.tuples(ids, ids)
sets_of_pairs = st.frozensets(pairs, max_size=25)


def packed(drawn: Iterable[Pair]) -> Keys:
    """Pairs as keys in the order given."""
    return np.array([first << 32 | second for first, second in drawn], np.uint64)


def sorted_keys(drawn: Iterable[Pair]) -> Keys:
    return np.sort(packed(set(drawn)))


def unpacked(keys: Keys) -> list[Pair]:
    """Keys as pairs."""
    return [(key >> 32, key & LARGEST) for key in keys.tolist()]


def column(values: Iterable[int]) -> Column:
    return np.array(list(values), np.uint32)
