"""Numbers for distinct values: of any type, near each other and far apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary.columns.numbering import number_keys


@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.uint64, np.float64])
@pytest.mark.parametrize("distance", [1, 1000, 6000])
def test_number_keys_of_any_numbers(dtype: Any, distance: int) -> None:
    least = 0 if dtype is np.uint64 else -5 * distance
    values = [(7 * i % 11) * distance + least for i in range(3000)]
    firsts, numbers = number_keys(np.array(values, dtype))
    assert [values[i] for i in firsts] == sorted({*values})
    assert firsts.tolist() == [values.index(value) for value in sorted({*values})]
    assert [values[firsts[number]] for number in numbers] == values
