"""Arrow's functions are called within the limits of the work."""

from __future__ import annotations

from threading import Event, current_thread

import numpy as np
import pyarrow
import pytest

from corollary.kernels.arrow import compute, within_limits
from corollary.kernels.limits import Cancellation, Cancelled, LimitExceeded, Limits, limited
from corollary.kernels.tuning import MIN_BYTES_FOR_ARROW_THREAD

LARGE = pyarrow.array(np.zeros(MIN_BYTES_FOR_ARROW_THREAD, np.uint8))


@pytest.mark.parametrize(("column", "waits"), [(LARGE, True), (LARGE[1:], False)])
def test_large_columns_are_for_a_worker_thread(column: pyarrow.Array, waits: bool) -> None:
    found = within_limits(lambda _, *, other: (current_thread(), other), column, other=7)
    assert (found[0] is not current_thread(), found[1]) == (waits, 7)


def test_a_function_can_be_left() -> None:
    """The caller leaves while the function still works."""
    cancellation, begun, end = Cancellation(), Event(), Event()

    def work(_: pyarrow.Array) -> None:
        begun.set()
        cancellation.cancel()
        end.wait()

    with pytest.raises(Cancelled):
        limited(Limits(), cancellation, within_limits, work, LARGE)
    assert begun.is_set() and not end.is_set()
    end.set()


def test_large_results_are_reserved() -> None:
    """A mask is small beside the column."""
    limits, one = Limits(bytes=MIN_BYTES_FOR_ARROW_THREAD // 2), pyarrow.scalar(1, pyarrow.uint8())
    with pytest.raises(LimitExceeded):
        limited(limits, Cancellation(), compute.add, LARGE, one)
    assert len(limited(limits, Cancellation(), compute.equal, LARGE, one)) == len(LARGE)


def test_the_functions_are_those_of_arrow() -> None:
    assert compute.sum(LARGE).as_py() == 0
    assert compute.take(pyarrow.array(["a", "b"]), np.array([1, 0, 1])).to_pylist() == ["b", "a", "b"]
    with pytest.raises(AttributeError):
        compute.no_such_function  # noqa: B018
