"""Paths of two facts are joined at once, without a list of what lies between, where there are many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.kernels.forms import Form, both_forms, form, quick

from corollary.closure.compressed_relation import CompressedRelation
from corollary.closure.interval_index import IntervalIndex
from corollary.closure.reachability import Graph
from corollary.columns import TripleIndex, pairs
from corollary.columns.pairs import Pairs, compose, firsts, pack, seconds
from corollary.columns.relation import Relation
from corollary.execute import batches
from corollary.execute.batches import Batch, join, join_for
from corollary.kernels import sorted as sorted_kernels
from corollary.program.compile import Atom

X, Y, Z, W = -1, -2, -3, -4
P = 7

some_pairs = st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40)


def keys_of(drawn: set[tuple[int, int]]) -> NDArray[np.uint64]:
    ends = np.array(sorted(drawn), np.uint32).reshape(-1, 2)
    return pack(ends[:, 0], ends[:, 1])


def composed(left: set[tuple[int, int]], right: set[tuple[int, int]]) -> set[tuple[int, int]]:
    return {(x, z) for x, y in left for also_y, z in right if y == also_y}


@both_forms
@quick
@given(some_pairs, some_pairs)
def test_composition(written: Form, left: set[tuple[int, int]], right: set[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "compose_kernel", form(sorted_kernels.compose, written))
        found = compose(keys_of(left), Pairs(keys_of(right)))
    assert found.tolist() == keys_of(composed(left, right)).tolist()


@quick
@given(some_pairs, some_pairs, st.sampled_from([Atom(Y, P, Z), Atom(Z, P, Y)]), st.booleans())
def test_joins_for_two_variables(
    left: set[tuple[int, int]], right: set[tuple[int, int]], atom: Atom, few: bool
) -> None:
    """Whether paths are composed or joined, the bindings of what is wanted are the same."""
    facts = TripleIndex({P: Relation(Pairs(keys_of(right)))})
    keys = keys_of(left)
    batch = Batch(keys.size, {X: firsts(keys), Y: seconds(keys)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "MIN_ROWS_TO_COMPOSE", 0)
        patch.setattr(batches, "MIN_WAYS_PER_PAIR", 4 if few else 0)
        found = join_for(batch, atom, facts, frozenset((X, Z)))
    plain = join(batch, atom, facts)
    assert _ends(found) == _ends(plain)


def _ends(batch: Batch) -> set[tuple[int, int]]:
    if not batch.size:
        return set()
    return set(zip(batch.columns[X].tolist(), batch.columns[Z].tolist(), strict=True))


@quick
@given(some_pairs.filter(bool), some_pairs, st.lists(st.sampled_from((P, P + 1)), min_size=1, max_size=5))
def test_one_end_of_a_compressed_relation(
    edges: set[tuple[int, int]], others: set[tuple[int, int]], predicates: list[int]
) -> None:
    """The facts of P are not listed; those of P + 1 are. A batch without rows may have no columns."""

    def rows_of(batch: Batch, wanted: tuple[int, ...]) -> set[tuple[int, ...]]:
        columns = [batch.column(v).tolist() for v in wanted] if batch.size else []
        return {*zip(*columns, strict=True)}

    closure = CompressedRelation(IntervalIndex.whole(Graph.of(keys_of(edges))))
    facts = TripleIndex({P: closure, P + 1: Relation(Pairs(keys_of(others)))})
    rows = Batch(len(predicates), {W: np.array(predicates, np.uint32)})
    atom = Atom(X, W, Y)
    for wanted in ((W, X), (W, Y), (W, X, Y)):
        found, whole = join_for(rows, atom, facts, wanted), join(rows, atom, facts)
        assert rows_of(found, wanted) == rows_of(whole, wanted)
    constant = join_for(Batch.start(), Atom(X, P, Y), facts, (X,))
    assert sorted(constant.column(X).tolist()) == closure.subject_terms().tolist()
