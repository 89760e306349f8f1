"""What all tests share: where the optional corpus of conformance and benchmark data lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NO_CORPUS = "needs the conformance and benchmark data: set CORPUS to its folder"


def find_corpus() -> Path | None:
    """The data folder: what the environment variable CORPUS says, else shared/data beside the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("CORPUS") or beside)
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The data folder; the test is skipped if there is none."""
    folder = find_corpus()
    if folder is None:
        pytest.skip(NO_CORPUS)
    return folder
