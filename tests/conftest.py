"""What all tests share: where the optional corpus of conformance and benchmark data lies."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("untimed", settings(), deadline=None)  # kernels may be compiled in a test
settings.load_profile("untimed")

TOGETHER = ("tests/spark/session/", "tests/maintain/test_transactions.py", "tests/installed/")
"""Tests that share a process: Spark starts once, all that is compared with every strategy is counted, and the
wheel is built once."""

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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Processes take one test at a time, but for those that stay together, which come first."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)

    return Scheduling(config, log)


@pytest.hookimpl(trylast=True)  # after Hypothesis has marked its tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where processes share the tests, long ones come first: no process is left alone with one at the end.

    These are the slow ones, and then those of many examples.
    """

    def is_short(item: pytest.Item) -> tuple[bool, bool]:
        is_slow = item.nodeid.startswith(TOGETHER) or item.get_closest_marker("slow") is not None
        return not is_slow, item.get_closest_marker("hypothesis") is None

    if hasattr(config, "workerinput"):
        items.sort(key=is_short)


def pytest_collection_finish() -> None:
    """What pytest and the imports have made stays: the garbage collector need not look at it again.

    It looks less often than by default, which takes a seventh of the time of the tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 50)
