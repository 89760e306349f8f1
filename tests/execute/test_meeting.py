"""Two joins at once return what they return one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import Pairs, pack
from corollary.execute import meeting
from corollary.execute.batches import Batch, join
from corollary.execute.meeting import join_both, lists_more
from corollary.kernels.sorted import Keys
from corollary.plan.steps import Age, Join
from corollary.program.compile import Atom

X, Y, Z, P = -1, -2, -3, -4
ONE, OTHER = 1, 2
ALL = Age.ALL

pairs = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20)
Pair = tuple[int, int]


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """No batch is too small, no join has too few rows, no overlay too many, and any order may be made."""
    monkeypatch.setattr(meeting, "lists_more", lambda side, rows: False)
    monkeypatch.setattr(meeting, "MIN_ROWS_TO_MEET", 1)
    monkeypatch.setattr(meeting, "MIN_FANOUT_TO_MEET", 0)
    monkeypatch.setattr(meeting, "MAX_FACTS_SORTED_PER_ROW", 1 << 20)


def keys(found: frozenset[Pair]) -> Keys:
    return np.array(sorted(s << 32 | o for s, o in found), np.uint64)


def overlaid(base: frozenset[Pair], added: frozenset[Pair], removed: frozenset[Pair]) -> Relation:
    """A relation whose overlay is not folded, however small its base is: the rest of the base is far away."""
    far = pack(np.full(2000, 1000, np.uint32), np.arange(2000, dtype=np.uint32))
    relation = Relation(Pairs(np.concatenate((keys(base), far))))
    return relation.minus(keys(removed)).plus(keys(added))


relations = st.builds(overlaid, pairs, pairs, pairs)


def batch_of(rows: list[Pair]) -> Batch:
    x, z = np.array(rows, np.uint32).T.copy()
    return Batch(len(rows), {X: x, Z: z, P: np.full(len(rows), OTHER, np.uint32)})


def rows_of(batch: Batch) -> list[tuple[int, ...]]:
    return sorted(zip(*(batch.columns[v].tolist() for v in (X, Y, Z)), strict=True)) if batch.size else []


@settings(max_examples=200, deadline=None)
@given(
    relations,
    relations,
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12),
    st.booleans(),
    st.booleans(),
    st.sampled_from((OTHER, P)),
)
def test_as_one_after_the_other(
    one: Relation, other: Relation, rows: list[Pair], first: bool, second: bool, predicate: int
) -> None:
    index = TripleIndex({ONE: one, OTHER: other})
    atoms = (
        Atom(X, ONE, Y) if first else Atom(Y, ONE, X),
        Atom(Y, predicate, Z) if second else Atom(Z, predicate, Y),
    )
    batch = batch_of(rows)
    found = join_both(batch, Join(atoms[0], ALL), Join(atoms[1], ALL), {ALL: index})
    assert found is not None
    assert rows_of(found) == rows_of(join(join(batch, atoms[0], index), atoms[1], index))


def test_pairs_of_two_additions_are_found_once() -> None:
    new, none = frozenset({(1, 5)}), frozenset[Pair]()
    relation = overlaid(none, new, none)
    assert len(relation.parts[1]) == 1
    index = TripleIndex({ONE: relation, OTHER: relation})
    steps = (Join(Atom(X, ONE, Y), ALL), Join(Atom(Z, OTHER, Y), ALL))
    found = join_both(batch_of([(1, 1), (1, 2)]), *steps, {ALL: index})
    assert found is not None
    assert rows_of(found) == [(1, 5, 1)]


def test_joins_that_do_not_meet() -> None:
    some = Relation(Pairs(keys(frozenset({(1, 2), (2, 3)}))))
    facts = {ALL: TripleIndex({ONE: some, OTHER: some})}
    batch = batch_of([(1, 2), (1, 3)])
    first = Join(Atom(X, ONE, Y), ALL)
    for second in (
        Atom(X, OTHER, Z),
        Atom(Y, OTHER, -5),
        Atom(Y, -5, Z),
        Atom(Y, OTHER, Y),
        Atom(Y, OTHER, 7),
    ):
        assert join_both(batch, first, Join(second, ALL), facts) is None, second
    assert join_both(batch, Join(Atom(X, ONE, Z), ALL), Join(Atom(Y, OTHER, Z), ALL), facts) is None
    mixed = Batch(2, batch.columns | {P: np.array([ONE, OTHER], np.uint32)})
    assert join_both(mixed, first, Join(Atom(Y, P, Z), ALL), facts) is None


@pytest.mark.parametrize("inverse", [False, True])
def test_rows_of_a_large_overlay_are_not_listed(monkeypatch: pytest.MonkeyPatch, inverse: bool) -> None:
    """Each 1 has two :ONE, and 7 has twenty :OTHER, or is that of twenty: just now, as the overlay says."""
    monkeypatch.setattr(meeting, "lists_more", lists_more)
    one, none = Relation(Pairs(keys(frozenset({(1, 2), (1, 3)})))), frozenset[Pair]()
    many = overlaid(none, frozenset((7, n) if not inverse else (n, 7) for n in range(20)), none)
    assert len(many.parts[1]) == 20
    facts = {ALL: TripleIndex({ONE: one, OTHER: many})}
    first, atom = Join(Atom(X, ONE, Y), ALL), Atom(Y, OTHER, Z) if inverse else Atom(Z, OTHER, Y)
    assert join_both(batch_of([(1, 7), (1, 7)]), first, Join(atom, ALL), facts) is None
    found = join_both(batch_of([(1, 8), (1, 8)]), first, Join(atom, ALL), facts)
    assert found is not None and not found.size


def test_an_order_that_would_take_long_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting, "MAX_FACTS_SORTED_PER_ROW", 0)
    some = Relation(Pairs(keys(frozenset({(1, 2), (2, 3)}))))
    facts = {ALL: TripleIndex({ONE: some, OTHER: some})}
    steps = Join(Atom(X, ONE, Y), ALL), Join(Atom(Y, OTHER, Z), ALL)
    assert join_both(batch_of([(1, 3)]), *steps, facts) is None
    assert not some.parts[0].has_by_object
    assert some.subjects(3) == [2]
    found = join_both(batch_of([(1, 3)]), *steps, facts)
    assert found is not None and rows_of(found) == [(1, 2, 3)]
