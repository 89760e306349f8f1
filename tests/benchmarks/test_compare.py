"""The comparer tells a change from noise, and fails on what got worse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.compare import broken, changes, main
from benchmarks.measure import Demand, Measurement
from click.testing import CliRunner


def run_of(*seconds: float, engine: str = "corollary", holds: bool = True) -> dict[str, Any]:
    """A results file with one measurement and one demand."""
    return {
        "date": "2030-01-01",
        "commit": "abc",
        "machine": {"processor": "p", "cores": 2},
        "measurements": [Measurement("lubm", "one", engine, "reason", seconds).as_json()],
        "demands": [Demand("lubm", "fast", 1.0, 2.0 if holds else 0.5).as_json()],
    }


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((1.0, 1.0, 1.0), (1.1, 1.1, 1.1), "same"),  # within the band
        ((1.0, 1.0, 1.0), (1.5, 1.5, 1.4), "slower"),
        ((1.0, 1.0, 1.0), (1.5, 1.5, 0.9), "same"),  # one run was as fast as ever
        ((1.0, 1.0, 1.0), (0.5, 0.6, 0.5), "faster"),
        ((1.0, 1.0, 1.0), (0.5, 0.5, 1.2), "same"),
    ],
)
def test_verdicts(old: tuple[float, ...], new: tuple[float, ...], expected: str) -> None:
    (change,) = changes(run_of(*old), run_of(*new), 0.15)
    assert change.verdict == expected


def test_what_only_one_run_measured_is_left_out() -> None:
    assert changes(run_of(1.0), run_of(1.0, engine="owlrl"), 0.15) == []


def test_demands_that_fail_now() -> None:
    good, bad = run_of(1.0), run_of(1.0, holds=False)
    assert [entry["text"] for entry in broken(good, bad)] == ["fast"]
    assert broken(bad, bad) == []


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (run_of(1.0), run_of(1.0), 0),
        (run_of(1.0), run_of(2.0), 1),
        (run_of(1.0, engine="owlrl"), run_of(2.0, engine="owlrl"), 0),
        (run_of(1.0), run_of(1.0, holds=False), 1),
    ],
)
def test_exit_codes(old: dict[str, Any], new: dict[str, Any], code: int, tmp_path: Path) -> None:
    paths = tmp_path / "old.json", tmp_path / "new.json"
    for path, data in zip(paths, (old, new), strict=True):
        path.write_text(json.dumps(data))
    done = CliRunner().invoke(main, [str(path) for path in paths])
    assert done.exit_code == code, done.output
