"""EXPLAIN says what it said, to the letter, and the same every time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.engine import run
from tests.plan import golden

from corollary.language import parse_program
from corollary.plan.explain import explanation_text
from corollary.program.tuning import MAX_NODES_NAMED

PROJECT = Path(__file__).parents[2]
PREFIX = "PREFIX : <http://example.org/>\n"


@pytest.mark.parametrize("file", golden.FILES, ids=lambda file: file.stem)
def test_golden(file: Path) -> None:
    assert golden.explain(file) == golden.parts(file)[1]


@pytest.mark.parametrize("seed", ["0", "1"])
def test_the_order_of_sets_makes_no_difference(seed: str) -> None:
    script = "from tests.plan import golden\nfor file in golden.FILES: print(golden.explain(file))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=PROJECT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "".join(golden.parts(file)[1] + "\n" for file in golden.FILES)


@pytest.mark.parametrize("file", golden.FILES, ids=lambda file: file.stem)
def test_an_explanation_is_json(file: Path) -> None:
    explanation = golden.explanation(file)
    assert explanation["plans"]
    assert json.loads(json.dumps(explanation)) == explanation


def test_rules_that_cannot_apply_are_left_out() -> None:
    explanation = run([], parse_program(PREFIX + ":B[?x] :- :A[?x] .")).explain_plan()
    assert (explanation["rules"], explanation["plans"], explanation["components"]) == (1, [], [])


def test_long_components_are_cut_in_text_and_whole_in_data() -> None:
    size = MAX_NODES_NAMED + 5
    rules = [f":C{(i + 1) % size}[?x] :- :C{i}[?x] ." for i in range(size)]
    result = run([], parse_program(PREFIX + ":C0[:a] .\n" + "\n".join(rules)))
    explanation = result.explain_plan()
    (component,) = explanation["components"]
    assert len(component["nodes"]) == size
    assert component["recursive"]
    assert f":C{MAX_NODES_NAMED - 1}[?x] and 5 more: recursive" in explanation_text(explanation)
