"""Work in which every array of facts and terms is in a scratch file, however small it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest

from corollary.columns import pairs
from corollary.kernels import scratch
from corollary.kernels.limits import Cancellation, Limits, limited

Result = TypeVar("Result")


def in_scratch(work: Callable[[], Result], most: int = 0) -> Result:
    """Call ``work`` with a scratch folder for all arrays larger than ``most`` bytes."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for module in (pairs, scratch):
            patch.setattr(module, "MIN_BYTES_IN_SCRATCH", most + 1)
        result = limited(Limits(scratch=folder), Cancellation(), work)
        assert not list(Path(folder).iterdir())  # no file has a name
        return result
