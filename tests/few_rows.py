"""Few rows and few facts, as most in tests are: one by one, or together by columns as many are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from corollary.execute import run_plan
from corollary.maintain import workspace
from corollary.modules import guard_probes


@contextmanager
def joined_by_columns(is_wanted: bool) -> Iterator[None]:
    """Within the block, few rows and facts are joined, and followed, by columns if that is wanted."""
    with pytest.MonkeyPatch.context() as patch:
        if is_wanted:
            patch.setattr(run_plan, "MAX_ROWS_JOINED_ONE_BY_ONE", 0)
            patch.setattr(guard_probes, "MAX_FACTS_ONE_BY_ONE", 0)
            followed_together(patch)
        yield


def followed_together(patch: pytest.MonkeyPatch) -> None:
    """Follow removed facts together, however few they are."""
    patch.setattr(workspace, "MAX_CANDIDATES_ONE_BY_ONE", 0)
