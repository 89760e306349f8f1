"""Numbers for distinct values: of any type, near each other and far apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary.columns.numbering import number_keys
from corollary.execute.batches import Batch
from corollary.execute.filters import number_rows


@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.uint64, np.float64])
@pytest.mark.parametrize("distance", [1, 1000, 6000])
def test_number_keys_of_any_numbers(dtype: Any, distance: int) -> None:
    least = 0 if dtype is np.uint64 else -5 * distance
    values = [(7 * i % 11) * distance + least for i in range(3000)]
    firsts, numbers = number_keys(np.array(values, dtype))
    assert [values[i] for i in firsts] == sorted({*values})
    assert firsts.tolist() == [values.index(value) for value in sorted({*values})]
    assert [values[firsts[number]] for number in numbers] == values


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 40])
def test_few_rows_are_numbered_like_many(count: int) -> None:
    one = np.array([5 * i % 7 for i in range(count)], np.uint32)
    other = np.array([i % 2 << 31 for i in range(count)], np.uint32)
    rows = list(zip(one.tolist(), other.tolist(), strict=True))
    firsts, numbers = number_keys(one)
    assert one[firsts].tolist() == sorted({*one.tolist()})
    assert one[firsts][numbers].tolist() == one.tolist()
    firsts, numbers = number_rows(Batch(count, {-1: one, -2: other}), [-1, -2])
    assert [rows[i] for i in firsts] == sorted({*rows})
    assert firsts.tolist() == [rows.index(row) for row in sorted({*rows})]
    assert [rows[firsts[number]] for number in numbers] == rows
