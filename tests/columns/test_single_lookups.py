"""One fact, or one term, is looked up without kernels: the answers are those for many."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import thorough

from corollary.columns import Pairs, Relation
from corollary.columns.pairs import union
from corollary.kernels.sorted import Keys

FEW = 6
KEYS = st.sets(st.builds(lambda s, o: s << 32 | o, st.integers(0, FEW), st.integers(0, FEW)), max_size=20)


def keys_of(facts: set[int]) -> Keys:
    return np.array(sorted(facts), np.uint64)


@thorough(200)
@given(base=KEYS, later=KEYS, gone=KEYS)
def test_single_lookups(base: set[int], later: set[int], gone: set[int]) -> None:
    padding = {(FEW + 1 + n) << 32 | FEW + 1 for n in range(2000)}  # so that the overlay is not folded
    relation = Relation(Pairs(keys_of(base | padding))).plus(keys_of(later)).minus(keys_of(gone))
    facts = (base | later) - gone
    for first in range(FEW + 1):
        objects = {key & 0xFFFFFFFF for key in facts if key >> 32 == first}
        subjects = {key >> 32 for key in facts if key & 0xFFFFFFFF == first}
        one = np.array([first], np.uint32)
        for (rows, values), expected in (
            (relation.objects_of(one), objects),
            (relation.subjects_of(one), subjects),
        ):
            assert sorted(values.tolist()) == sorted(expected)
            assert rows.tolist() == [0] * len(expected)
        assert relation.has_subject(first) == bool(objects)
        assert relation.has_object(first) == bool(subjects)
        for second in range(FEW + 1):
            key = first << 32 | second
            assert relation.contains(keys_of({key})).tolist() == [key in facts]
            assert relation.has(first, second) == (key in facts)


@thorough(100)
@given(facts=KEYS, key=st.integers(0, FEW << 32))
def test_union_with_one(facts: set[int], key: int) -> None:
    for left, right in ((facts, {key}), ({key}, facts)):
        assert union(keys_of(left), keys_of(right)).tolist() == sorted(facts | {key})
