"""Settings of a new session, what commands refuse, and what is left of errors of Spark. Starts no Spark."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from corollary.cli import main
from corollary.loaders.spark.class_data import class_data_options
from corollary.loaders.spark.session import (
    DEFAULT_JAVA,
    OWN_JAVA,
    SETTINGS,
    SHORT_JOBS,
    _all_settings,
    complaint,
)

NO_PYSPARK = "needs PySpark: pip install 'corollary[spark]'"


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
def test_java_for_two_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, master: str | None, is_short: bool
) -> None:
    """A Java that has few cores compiles less. Options of the user are taken as they are."""
    pytest.importorskip("pyspark", reason=NO_PYSPARK)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))  # no Java, and so no class data
    found = _all_settings(master, {"spark.ui.enabled": "false"})
    java = SETTINGS[DEFAULT_JAVA] + f" {SHORT_JOBS}" * is_short
    assert found == {**SETTINGS, DEFAULT_JAVA: java, "spark.ui.enabled": "false"}
    for name in (DEFAULT_JAVA, OWN_JAVA):
        given = {name: "-XX:+UseParallelGC"}
        assert _all_settings(master, given) == {**SETTINGS, **given}


def test_class_data_are_asked_for_once_a_day(tmp_path: Path) -> None:
    """Those of another Java or other options, and those that Java has not finished, are not used."""
    pytest.importorskip("pyspark", reason=NO_PYSPARK)
    java, cache = tmp_path / "jdk" / "bin" / "java", tmp_path / "cache"
    environment = {"JAVA_HOME": str(tmp_path / "jdk"), "XDG_CACHE_HOME": str(cache)}
    assert class_data_options("-A", environment) == ""  # no Java
    java.parent.mkdir(parents=True)
    java.write_text("")
    assert class_data_options("-A", environment | {"PYSPARK_GATEWAY_PORT": "1"}) == ""  # Java runs
    quiet, asks = class_data_options("-A", environment).split(" ")
    assert (quiet, asks[:27]) == ("-Xlog:cds*=off", '"-XX:ArchiveClassesAtExit=/')
    path = Path(asks.partition("=")[2].removesuffix('"'))
    assert path.parent == cache / "corollary"
    assert class_data_options("-A", environment) == ""  # was asked for
    path.write_bytes(bytes(8))
    assert class_data_options("-A", environment) == ""  # is being written
    path.write_bytes(b"\xa8\xab\x0b\xf0")
    assert class_data_options("-A", environment) == f'{quiet} "-XX:SharedArchiveFile={path}"'
    assert "ArchiveClassesAtExit" in class_data_options("-B", environment)
    others = [path.with_name(f"spark-{number}.jsa") for number in range(3)]
    for seconds, other in enumerate(others, 1):
        other.write_bytes(b"another")
        os.utime(other, (seconds, seconds))
    assert "ArchiveClassesAtExit" in class_data_options("-C", environment)
    assert [other.exists() for other in (path, *others)] == [True, False, False, True]
    path.unlink()
    os.utime(path.with_suffix(".asked"), (0, 0))
    assert class_data_options("-A", environment) == f"{quiet} {asks}"
    cache.rename(tmp_path / "other")
    cache.write_text("no folder")
    java.write_text("another")
    assert class_data_options("-A", environment) == ""


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
