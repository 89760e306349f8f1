"""One fact, or one term, is looked up without kernels: the answers are those for many."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import thorough

from corollary.columns import Delta, Pairs, Relation, TripleIndex
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


@thorough(200)
@given(base=KEYS, later=KEYS, gone=KEYS, key=KEYS.filter(bool).map(min), parts=st.lists(KEYS, max_size=2))
def test_sets_of_one_fact(
    base: set[int], later: set[int], gone: set[int], key: int, parts: list[set[int]]
) -> None:
    """A set of one fact is compared with others as any set is."""
    padding = {(FEW + 1 + n) << 32 | FEW + 1 for n in range(2000)}
    relation = Relation(Pairs(keys_of(base | padding))).plus(keys_of(later)).minus(keys_of(gone))
    one, facts = Delta({7: keys_of({key})}), TripleIndex({7: relation})
    is_known = key in (base | later) - gone
    assert list((one & facts).items()) == (list(one.items()) if is_known else [])
    assert list((Delta.of(facts) & one).items()) == (list(one.items()) if is_known else [])
    assert list((one - facts).items()) == ([] if is_known else list(one.items()))
    assert relation.common(keys_of({key})).tolist() == [key] * is_known
    others = keys_of({1 << 40, 1 << 41})
    for wanted in (one, Delta({7: keys_of({key}), 8: others}), Delta({7: np.append(keys_of({key}), others)})):
        found, rest = wanted.parted({7: [keys_of(part) for part in parts], 9: [others]})
        is_among = any(key in part for part in parts)
        assert found.keys(7).tolist() == [key] * is_among
        assert sorted([*found.keys(7).tolist(), *rest.keys(7).tolist()]) == wanted.keys(7).tolist()
        assert rest.keys(8).tolist() == wanted.keys(8).tolist()
