"""A fixed sample of ``tests.trust.interruptions``: every operation, each at some of its places."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.trust.injection import PROJECT

SAMPLES = {
    "once": ["--programs", "rhodf", "strata", "--places", "5"],
    "owl2rl": ["--programs", "owl2rl", "--places", "2"],
    "twice": ["--programs", "rhodf", "strata", "--places", "3", "--twice"],
}
FEW = ["--programs", "rhodf", "--places", "1"]
"""Some of the places of the sample ``once``."""


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(FEW, id="few", marks=pytest.mark.skipif("CI" in os.environ, reason="part of once")),
        *(pytest.param(sample, id=name, marks=pytest.mark.slow) for name, sample in SAMPLES.items()),
    ],
)
def test_interrupted_anywhere(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "tests.trust.interruptions", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "each state one before or after" in done.stdout
