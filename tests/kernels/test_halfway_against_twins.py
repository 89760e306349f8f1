"""Rows whose ends a path joins are those of a plain twin over sets, as Python and as machine code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from tests.kernels.forms import Form, both_forms, form, quick

from corollary.kernels import halfway

Layers = tuple[set[tuple[int, int]], set[tuple[int, int]], set[tuple[int, int]]]

ids = st.integers(0, 6) | st.just(2**32 - 1)
pairs = st.sets(st.tuples(ids, ids), max_size=14)


@st.composite
def layers(draw: st.DrawFn) -> Layers:
    """A relation as its base, the pairs added and those removed."""
    base = draw(pairs)
    removed = draw(st.sets(st.sampled_from(sorted(base)))) if base else set()
    return base, draw(pairs) - base, removed


def runs(relation: Layers, nodes: Sequence[int]) -> list[Any]:
    """The keys of each layer; where those of each node begin, and their number, layer by layer."""
    keys = [sorted(first << 32 | second for first, second in layer) for layer in relation]
    starts = [sum(key >> 32 < node for key in layer) for layer in keys for node in nodes]
    counts = [sum(key >> 32 == node for key in layer) for layer in keys for node in nodes]
    return [
        *(np.array(layer, np.uint64) for layer in keys),
        np.array(starts, np.int64),
        np.array(counts, np.int64),
    ]


def beside(relation: Layers, node: int) -> set[int]:
    base, added, removed = relation
    return {second for first, second in (base - removed) | added if first == node}


@both_forms
@quick
@given(
    layers(), layers(), st.lists(st.lists(ids, max_size=3), min_size=1, max_size=4),
    st.lists(ids, max_size=8), st.integers(0, 4), st.integers(1, 9), st.booleans(),
)  # fmt: skip
@example(({(0, 2**32 - 1)}, set(), set()), ({(0, 2**32 - 1)}, set(), set()), [[0]], [0], 4, 1, True)
def test_meet_halfway(
    written: Form, one: Layers, other: Layers, left: list[list[int]], ends: list[int],
    least: int, size: int, only_first: bool,
) -> None:  # fmt: skip
    """Ids below the table's range and beyond it are in no result: the last entry stands for all of them."""
    groups = [row * len(left) // max(1, len(ends)) for row in range(len(ends))]
    firsts = np.concatenate((np.zeros(1, np.int64), np.cumsum([len(nodes) for nodes in left]))).astype(
        np.int64
    )
    rows, values = np.empty(200, np.int64), np.empty(200, np.uint32)
    kernel: Any = form(halfway.meet_halfway, written)
    count = kernel(
        np.array(groups, np.int64), firsts, *runs(one, [node for nodes in left for node in nodes]),
        *runs(other, ends), least, np.zeros(size + 1, np.int64), only_first, rows, values,
    )  # fmt: skip
    met = [
        beside(other, end)
        & set().union(*(beside(one, node) for node in left[group]))
        & {*range(least, least + size)}
        for group, end in zip(groups, ends, strict=True)
    ]
    found = list(zip(rows[:count].tolist(), values[:count].tolist(), strict=True))
    assert [row for row, _ in found] == sorted(row for row, _ in found)
    if only_first:
        assert [row for row, _ in found] == [row for row, some in enumerate(met) if some]
        assert all(value in met[row] for row, value in found)
    else:
        assert sorted(found) == sorted((row, value) for row, some in enumerate(met) for value in some)
