"""Workloads run once in tests: their times are not used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from benchmarks import measure


@pytest.fixture(scope="session", autouse=True)
def no_warm_up() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "WARMS_UP", False)
        yield
