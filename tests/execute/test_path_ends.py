"""Rows whose ends a path joins are those that joins return."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.execute.test_meeting import pairs, relations

from corollary.columns import Relation, TripleIndex
from corollary.execute import path_ends
from corollary.execute.batches import Batch, join
from corollary.execute.path_ends import along_path
from corollary.plan.steps import Age, Join
from corollary.program.compile import Atom

X, Y, W, Z = -1, -2, -3, -4
ALL = Age.ALL


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """No batch is too small, and no path is too expensive."""
    for name, value in (("MIN_ROWS_TO_MEET_HALFWAY", 1), ("MAX_VALUES_MARKED_PER_ROW", 1 << 20)):
        monkeypatch.setattr(path_ends, name, value)
    monkeypatch.setattr(path_ends, "MAX_TABLE_ENTRIES_PER_ROW", 1 << 20)


def rows_of(batch: Batch) -> set[tuple[int, ...]]:
    return set(zip(*(batch.columns[v].tolist() for v in (X, Z)), strict=True)) if batch.size else set()


@settings(max_examples=200, deadline=None)
@given(
    st.tuples(relations, relations, relations),
    pairs,
    st.tuples(*[st.booleans()] * 3),
    st.booleans(),
    st.integers(2, 3),
)
def test_a_path_is_found_where_joins_find_one(
    given_relations: tuple[Relation, ...],
    rows: frozenset[tuple[int, int]],
    turns: tuple[bool, ...],
    is_test: bool,
    length: int,
) -> None:
    if not rows:
        return
    x, z = np.array(sorted(rows), np.uint32).T.copy()
    batch = Batch(x.size, {X: x, Z: z})
    facts = {ALL: TripleIndex(dict(enumerate(given_relations, 1)))}
    for relation in given_relations:
        assert relation.parts[0].by_object.size  # so that bounds of objects are known
    ends = [(X, Y), (Y, Z)] if length == 2 else [(X, Y), (Y, W), (W, Z)]
    steps = tuple(
        Join(Atom(end, p, start) if turned else Atom(start, p, end), ALL)
        for p, ((start, end), turned) in enumerate(zip(ends, turns, strict=False), 1)
    )
    expected = batch
    for step in steps:
        expected = join(expected, step.atom, facts[ALL])
    found = along_path(batch, steps, facts, is_test=is_test)
    assert found is not None
    result, rest = found
    for left in rest:
        assert isinstance(left, Join)
        result = join(result, left.atom, facts[ALL])
    assert rows_of(result) == rows_of(expected)
    assert result.size == len(rows_of(expected)) if is_test else result.size == expected.size
