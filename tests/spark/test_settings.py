"""Which settings a new session gets, what commands refuse, what is left of Spark's errors. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from corollary.cli import main
from corollary.loaders.spark.session import (
    DEFAULT_JAVA,
    OWN_JAVA,
    SETTINGS,
    SHORT_JOBS,
    _all_settings,
    complaint,
)


@pytest.mark.parametrize(
    ("master", "is_short"),
    [
        ("local", True),
        ("local[1]", True),
        ("local[2]", True),
        ("local[2, 8]", True),
        ("local[12]", False),
        ("local[*]", False),
        ("local-cluster[2,1,1024]", False),
        ("spark://here:7077", False),
        (None, False),
    ],
)
def test_java_for_two_cores(master: str | None, is_short: bool) -> None:
    """A Java that has few cores compiles less. Options of the user are taken as they are."""
    found = _all_settings(master, {"spark.ui.enabled": "false"})
    java = SETTINGS[DEFAULT_JAVA] + f" {SHORT_JOBS}" * is_short
    assert found == {**SETTINGS, DEFAULT_JAVA: java, "spark.ui.enabled": "false"}
    for name in (DEFAULT_JAVA, OWN_JAVA):
        given = {name: "-XX:+UseParallelGC"}
        assert _all_settings(master, given) == {**SETTINGS, **given}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["spark-load", "a.nt", "out", "--memory", "0"], "'0' is no size, such as 8g."),
        (["spark-load", "a.nt", "out", "--memory", "0g"], "'0g' is no size, such as 8g."),
        (["spark-load", "a.nt", "out", "--memory", "much"], "'much' is no size, such as 8g."),
        (["spark-load", "a.nt", "out", "--files", "0"], "0 is not in the range x>=1."),
        (["spark-load", "a.nt", "out", "--most-bad-lines", "-1"], "-1 is not in the range x>=0."),
        (["spark-update", "set", "out"], "nothing to do: name files with --add or --remove"),
    ],
)
def test_what_is_refused_before_spark_starts(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert done.stderr.endswith(f"{message}\n")


def test_an_error_of_spark_is_its_causes() -> None:
    """Codes are left out, and that a thread waited."""
    cause = None
    for message in (
        "could not decompress page",
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file a.parquet.  SQLSTATE: KD001",
        "Exception thrown in awaitResult: ",
    ):
        cause = SimpleNamespace(getMessage=lambda m=message: m, getCause=lambda c=cause: c)
    error = RuntimeError()
    error.java_exception = cause  # type: ignore[attr-defined]
    assert complaint(error) == "Encountered error while reading file a.parquet: could not decompress page"
