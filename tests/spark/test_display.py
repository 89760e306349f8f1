"""What commands on Spark show: the bar and the kept messages, and no notices of Java. Without Spark."""

from __future__ import annotations

import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from corollary.cli.spark_progress import SparkStage
from corollary.loaders.spark.load import Doing
from corollary.loaders.spark.notices import without_notices


def spark(stages: dict[int, tuple[int, int] | None]) -> Any:
    """A session with these active stages: tasks done, and all. Spark may have forgotten one (None)."""

    def info(stage: int) -> object:
        found = stages[stage]
        return found and SimpleNamespace(numCompletedTasks=found[0], numTasks=found[1])

    tracker = SimpleNamespace(getActiveStageIds=lambda: list(stages), getStageInfo=info)
    context = SimpleNamespace(statusTracker=lambda: tracker, uiWebUrl="http://here:4040")
    return SimpleNamespace(sparkContext=context)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_terminal: bool
) -> None:
    """On a terminal the bar shows stages and rounds; messages that are to be kept are printed always."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    stage = SparkStage(spark({1: (3, 8), 2: None, 3: (1, 2)}))
    for said in (Doing("rounds"), "by joins: no cut", Doing("round 1: 5 new facts", 1005)):
        stage(said)
    shown = capsys.readouterr().err.splitlines()
    doing = [] if is_terminal else ["rounds", "round 1: 5 new facts"]
    assert shown == ["Spark UI: http://here:4040", *doing[:1], "by joins: no cut", *doing[1:]]
    (activity, amount, _, left), share = stage.state()
    assert (activity, left, share) == ("round 1: 5 new facts", "", 0.4)
    assert amount.startswith("1,005 facts ") and amount.endswith("/s 4/10 tasks")


def test_without_tasks_there_is_no_share() -> None:
    (_, amount, _, _), share = SparkStage(spark({})).state()
    assert (amount, share) == ("", None)


def test_notices_are_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    """A process that starts in the block writes the rest to our standard error, later too."""
    lines = (
        "WARNING: Using incubator modules: x",
        "an error",
        'Setting default log level to "WARN".',
        "another",
    )
    program = f"import sys, time\nfor line in {lines}: print(line, file=sys.stderr, flush=True)"
    before = set(threading.enumerate())
    with without_notices():
        process = subprocess.Popen([sys.executable, "-c", program])
    assert process.wait() == 0
    for writer in set(threading.enumerate()) - before:  # else what it writes meets our reading of the file
        writer.join(timeout=60)
    assert capfd.readouterr().err == "an error\nanother\n"
