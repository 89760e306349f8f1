"""Z-sets on columns: they are what dictionaries of Python say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.forms import FORMS, form
from tests.strategies import thorough

from corollary.columns import zsets
from corollary.columns.zsets import Births, Counts
from corollary.kernels.rounds import NEVER

few_keys = st.frozensets(st.integers(0, 6), max_size=5)
changes = st.lists(
    st.tuples(st.integers(0, 3), st.dictionaries(st.integers(0, 6), st.integers(-2, 2), max_size=5)),
    max_size=8,
)
births = st.lists(st.tuples(st.sampled_from((0, 1, 2, NEVER)), few_keys), max_size=8)


def keys_of(numbers: object) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(sorted(numbers), np.uint64)  # type: ignore[call-overload]


@pytest.fixture(autouse=True, params=FORMS)
def in_both_forms(request: pytest.FixtureRequest) -> Iterator[None]:
    """The kernels as written, and compiled."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("add_rows", "next_rounds", "places_of", "put_rounds", "rounds_of"):
            patch.setattr(zsets, name, form(getattr(zsets, name), request.param))
        yield


@pytest.mark.parametrize("share", [1, 1000])
@thorough(100)
@given(changes)
def test_counts(share: int, steps: list[tuple[int, dict[int, int]]]) -> None:
    """With an overlay, and without: ``share`` is that of the base."""
    counts, known = Counts(), Counter[tuple[int, int]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zsets, "MIN_BASE_PER_OVERLAY", share)
        for round_, change in steps:
            keys = keys_of(change)
            counts = counts.plus(keys, round_, np.array([change[key] for key in keys.tolist()], np.int64))
            for key, number in change.items():
                known[key, round_] += number
            rows = {
                (key, r): n for key, r, n in zip(*(column.tolist() for column in counts.rows()), strict=True)
            }
            assert rows == {row: number for row, number in known.items() if number}
            assert [*rows] == sorted(rows)
            probes = keys_of(range(8))
            for r in range(-1, 5):
                assert counts.at(probes, r).tolist() == [known[key, r] for key in range(8)]
                later = [[n for n in range(r + 1, 5) if known[key, n] > 0] for key in range(8)]
                assert counts.next_after(probes, r).tolist() == [
                    min(rounds, default=NEVER) for rounds in later
                ]


@pytest.mark.parametrize("share", [1, 1000])
@thorough(100)
@given(births, st.permutations(range(8)))
def test_births(share: int, steps: list[tuple[int, frozenset[int]]], order: list[int]) -> None:
    found: Births = Births()
    known: dict[int, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zsets, "MIN_BASE_PER_OVERLAY", share)
        for round_, keys in steps:
            found = found.put(keys_of(keys), round_)
            known |= dict.fromkeys(keys, round_)
            wanted = {key: number for key, number in sorted(known.items()) if number != NEVER}
            assert dict(zip(*(column.tolist() for column in found.rows()), strict=True)) == wanted
            asked = np.array(order, np.uint64)
            assert found.of(asked).tolist() == [known.get(key, NEVER) for key in order]
