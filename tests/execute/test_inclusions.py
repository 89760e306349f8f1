"""Closed inclusions: which classes lead to all others of some."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corollary.closure.reachability import close_keys
from corollary.columns import Pairs
from corollary.execute.inclusions import Inclusions
from corollary.execute.tuning import MAX_CLASSES_COMPARED

classes = st.integers(0, 7)
edges = st.frozensets(st.tuples(classes, classes), max_size=14)


@given(edges, st.frozensets(classes))
def test_least_classes(graph: frozenset[tuple[int, int]], some: frozenset[int]) -> None:
    """They lead to all others, and none of them to another."""
    closed = close_keys(np.array([a << 32 | b for a, b in sorted(graph)], np.uint64))
    leads = {(key >> 32, key & 0xFFFFFFFF) for key in closed.tolist()}
    included = Inclusions(Pairs(np.array([a << 32 | b for a, b in sorted(leads) if a != b], np.uint64)))
    least = included.least(tuple(sorted(some)))
    assert set(least) <= some
    assert all(one in least or any((other, one) in leads for other in least) for one in some)
    assert not any((one, other) in leads for one in least for other in least if one != other)


def test_many_classes_are_not_compared() -> None:
    many = tuple(range(MAX_CLASSES_COMPARED + 1))
    chain = Pairs(np.array([a << 32 | b for a in many for b in many if a < b], np.uint64))
    assert Inclusions(chain).least(many) == many
    assert Inclusions(chain).least(many[1:]) == (1,)
