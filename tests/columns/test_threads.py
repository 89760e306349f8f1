"""Operations on arrays give the same results for any number of threads, however small the pieces are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import strategies as some
from tests.engine import Fact, close
from tests.strategies import thorough

from corollary.closure.bit_index import BitIndex
from corollary.closure.reachability import Graph
from corollary.columns import TripleIndex, key_sort, pairs
from corollary.columns import triples as triples_module
from corollary.kernels import threads
from corollary.kernels.interrupts import is_worker, together
from corollary.kernels.limits import Cancellation, Limits, current, limited
from corollary.language import CorollaryError, Program

THREADS = (2, 3, 5)
numbers = st.integers(0, 2**32 - 1) | st.integers(0, 6)
keys = st.lists(st.builds(lambda first, second: first << 32 | second, numbers, numbers), max_size=60)


@pytest.fixture(autouse=True)
def small_pieces() -> Iterator[None]:
    """Pieces of one element, and no array that is too small."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (threads, pairs):
            patch.setattr(module, "MIN_ELEMENTS_CUT", 1)
        patch.setattr(threads, "MIN_ELEMENTS_PER_PIECE", 1)
        for module in (pairs, key_sort):
            patch.setattr(module, "MAX_KEYS_FOR_NP_SORT", 0)
        patch.setattr(pairs, "MIN_KEYS_MERGED", 0)
        patch.setattr(pairs, "MAX_RATIO_OF_DIFFERENCE", 1000)
        yield


def with_threads(number: int, function: Callable[..., Any], *arguments: Any) -> Any:
    return limited(Limits(threads=number), Cancellation(), partial(function, *arguments))


def same(function: Callable[..., Any], *arguments: Any) -> None:
    """The function gives the same with any number of threads."""
    copies = [[np.array(given) for given in arguments] for _ in (1, *THREADS)]
    alone, *others = (
        with_threads(number, function, *given) for number, given in zip((1, *THREADS), copies, strict=True)
    )
    for other in others:
        assert written(other) == written(alone)


def written(result: Any) -> Any:
    return [column.tolist() for column in (result if isinstance(result, tuple) else (result,))]


def sorted_unique(drawn: list[int]) -> NDArray[np.uint64]:
    return np.array(sorted(set(drawn)), np.uint64)


@thorough(100)
@given(keys, keys, keys)
def test_sets(left: list[int], right: list[int], probes: list[int]) -> None:
    one, other = sorted_unique(left), sorted_unique(right)
    same(pairs.union, one, other)
    same(pairs.difference, one, other)
    same(pairs.contains, one, np.array(probes + left[:7], np.uint64))


@thorough(100)
@given(keys, st.lists(numbers, max_size=40))
def test_joins(drawn: list[int], probes: list[int]) -> None:
    """Probes with no match, with one, and with very many."""
    known = sorted_unique([*drawn, *range(70)])
    column = np.array(probes, np.uint32)
    same(pairs.join, known, column)
    same(pairs.counts, known, column)
    same(pairs.follow, known, known)


@thorough(100)
@given(keys, st.booleans())
@example([0, 0], False)
def test_sorting(drawn: list[int], is_slow: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_sort, "_seconds_per_key", lambda: 1.0 if is_slow else 0.0)
        same(key_sort.sort_keys, np.array(drawn, np.uint64))
        by_first = sorted(drawn, key=lambda key: key & 0xFFFFFFFF)
        same(partial(key_sort.sort_keys, by_first=True), np.array(by_first, np.uint64))
        assert with_threads(3, key_sort.sort_keys, np.array(drawn, np.uint64)).tolist() == sorted(drawn)


@thorough(50)
@given(keys)
def test_copies(drawn: list[int]) -> None:
    given = np.array(drawn, np.uint64)
    same(pairs.swap, given)
    column = given.astype(np.uint32)
    if column.size:
        same(pairs.taken, column, np.arange(column.size)[::-1] // 2)


@thorough(50)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 90)), min_size=1, max_size=60))
def test_closures(drawn: list[tuple[int, int]]) -> None:
    """Rows of bits are listed; the first, some in between and the last may be empty."""
    edges = sorted_unique([first << 32 | second for first, second in drawn])
    closed = set(drawn)
    while more := {(a, d) for a, b in closed for c, d in closed if b == c} - closed:
        closed |= more
    expected = sorted(first << 32 | second for first, second in closed)

    def listed(given: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return BitIndex.whole(Graph.of(given)).listed().keys

    for number in (1, *THREADS):
        assert with_threads(number, listed, edges).tolist() == expected


@thorough(60)
@given(some.fact_sets, some.programs())
def test_materialisations(facts: frozenset[Fact], program: Program) -> None:
    assert with_threads(3, close, facts, program) == with_threads(1, close, facts, program)


def test_a_worker_starts_no_threads() -> None:
    assert together([is_worker, is_worker]) == [True, True]
    assert not is_worker()
    assert len(with_threads(4, lambda: together([lambda: threads.pieces(100)]))[0]) == 1


def test_a_worker_is_within_the_limits_of_its_caller() -> None:
    assert with_threads(3, lambda: together([lambda: current().threads] * 2)) == [3, 3]


def test_an_inner_call_has_no_more_threads_than_the_outer() -> None:
    assert with_threads(2, lambda: with_threads(5, lambda: current().threads)) == 2
    assert with_threads(5, lambda: with_threads(2, lambda: current().threads)) == 2
    assert limited(Limits(threads=2.0), Cancellation(), lambda: threads.pieces(9)) == [  # type: ignore[arg-type]
        slice(0, 4),
        slice(4, 9),
    ]


def test_a_failure_in_a_thread_is_raised() -> None:
    ended: list[int] = []

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        together([lambda: ended.append(1), fail, lambda: ended.append(2)])
    assert sorted(ended) == [1, 2]


def test_the_number_is_checked() -> None:
    assert Limits.parse("threads=2").threads == 2
    with pytest.raises(CorollaryError, match="threads"):
        Limits.parse("threads=many")


def test_works_in_turn() -> None:
    done = with_threads(3, lambda: threads.spread_over_threads([partial(pow, 2, n) for n in range(50)]))
    assert done == [2**n for n in range(50)]
    assert with_threads(3, lambda: threads.spread_over_threads([])) == []


@thorough(50)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 9)), max_size=40))
def test_an_index_of_columns(triples: list[tuple[int, int, int]]) -> None:
    columns = np.array(triples, np.uint32).reshape(-1, 3).T.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triples_module, "MIN_ELEMENTS_CUT", 1)
        found = with_threads(3, TripleIndex.from_columns, *columns)
    keys = [(p, key) for p in found.all_predicates() for key in found.keys(p).tolist()]
    listed = {(key >> 32, p, key & 0xFFFFFFFF) for p, key in keys}
    assert listed == set(triples)
