"""Rules' plans over few rows, as most in tests are: joined one by one, or by columns as many rows are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from corollary.execute import run_plan


@contextmanager
def joined_by_columns(is_wanted: bool) -> Iterator[None]:
    """Within the block, few rows are joined by columns if that is wanted, else one by one."""
    with pytest.MonkeyPatch.context() as patch:
        if is_wanted:
            patch.setattr(run_plan, "MAX_ROWS_JOINED_ONE_BY_ONE", 0)
        yield
