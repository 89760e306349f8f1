"""A Spark session for the command, and this package's code for the executors of any session.

Invariant: a session that the caller made is not changed, except for the archive that ``ship`` adds.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import corollary
from corollary.language.errors import Diagnostic, InputError
from corollary.loaders.spark.class_data import class_data_options
from corollary.loaders.spark.notices import without_notices

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARCHIVE = "corollary-code"
"""The name of the archive, without ``.zip``."""

LOGGING = Path(__file__).absolute().with_name("log4j2.properties")
"""What a new driver prints: errors only."""

CODES = re.compile(
    r"^\[[A-Z_.]+\]|SQLSTATE: \w+|^corollary\.language\.errors\.\w+: |^Exception thrown in awaitResult: *"
)
"""The codes in the messages of Spark's errors, the class of an error of ours in a task, and what only says
that a thread waited."""

DEFAULT_JAVA, OWN_JAVA = "spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"
"""The settings for options of the driver's Java: ours, and those of the user, which come after them."""

SHORT_JOBS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MetaspaceSize=256m"
"""Options of a Java that has two cores, beside Python's workers. Measured: ``docs/spark.md``, Settings."""

FEW_CORES = re.compile(r"local(\[[12](, *\d+)?\])?")
"""Masters that run at most two tasks, in the driver."""

SETTINGS = {
    DEFAULT_JAVA: f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # else each operation asks for its line of Python
}
"""Spark settings of new sessions, unless the caller overrides them."""


def session(
    master: str | None = None, memory: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The active session, unchanged, or a new session.

    ``master`` is as in Spark (None: set by spark-submit or the environment, else ``local[*]``). ``memory`` is
    that of the driver, which in local mode does all the work. ``settings`` are Spark settings. Raises
    InputError, with a remedy, if PySpark or Java is missing, or Spark does not start.
    """
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise _missing("PySpark is not installed", "install it: pip install 'corollary[spark]'") from None
    if not has_java():
        raise _missing("Java is not installed", "Spark 4 needs Java 17 or 21 on the PATH, or JAVA_HOME set")
    present = SparkSession.getActiveSession()
    if present is not None:
        return present
    builder = SparkSession.builder.appName("corollary")
    if master is not None:
        builder = builder.master(master)
    if memory is not None:
        builder = builder.config("spark.driver.memory", memory)
    if _is_local(master or "local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers use this interpreter
    for name, value in _all_settings(master, settings or {}).items():
        builder = builder.config(name, value)
    try:
        with without_notices():
            spark = builder.getOrCreate()
    except (PySparkException, Py4JError, RuntimeError) as error:
        raise _missing(
            f"Spark does not start: {complaint(error)}", "are the master's address and the memory right?"
        ) from None
    spark.sparkContext.setLogLevel("FATAL")  # errors are reported as exceptions
    return spark


def _all_settings(master: str | None, given: Mapping[str, str]) -> dict[str, str]:
    """Our settings, where others are not given.

    Options of Java that are given leave out ``SHORT_JOBS`` and the class data.
    """
    found = {**SETTINGS, **given}
    if {DEFAULT_JAVA, OWN_JAVA} & given.keys():
        return found
    if master is not None and FEW_CORES.fullmatch(master):
        found[DEFAULT_JAVA] += f" {SHORT_JOBS}"
    if _is_local(master or "local") and (options := class_data_options(found[DEFAULT_JAVA])):
        found[DEFAULT_JAVA] += f" {options}"
    return found


def has_java() -> bool:
    """Whether Spark would find a Java."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java") is not None or (home is not None and (Path(home) / "bin" / "java").exists())


def ship(spark: SparkSession) -> None:
    """Send this package to the executors, as one archive that is added to the session.

    Needed once per session; not needed if the executors have the package installed. Does nothing in local
    mode. The package's dependencies (numpy, numba, pyarrow, pandas, pyoxigraph, lark, rdflib, regex) must be
    installed in the executors' Python.
    """
    if _is_local(str(spark.sparkContext.master)):
        return
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # executors that start later need it too
    spark.sparkContext.addPyFile(archive(Path(folder)))


def complaint(error: Exception) -> str:
    """What an exception of Spark says, without stacks: the messages of its causes, in their order."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    found: list[str] = []
    while java is not None:
        said = _said(java.getMessage() or java.getClass().getSimpleName())
        if said and said not in found:
            found.append(said)
        java = java.getCause()
    return ": ".join(said.rstrip(".") for said in found) or _said(str(error))


def _said(message: str) -> str:
    """What one message says: its first line, or the last one of a stack of Python."""
    lines = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    has_stack = "Traceback (most recent call last):" in message
    return CODES.sub("", lines[-1 if has_stack else 0]).strip()


def _is_local(master: str) -> bool:
    """Whether the driver does all the work (``local-cluster[...]`` has executors of its own)."""
    return master == "local" or master.startswith("local[")


def archive(folder: Path) -> str:
    """Write the archive of this package into a folder. Returns the path of the archive.

    The parts of a namespace package are importable from a zip file only if it has entries for folders. Wheels
    have no such entries.
    """
    root = folder / ARCHIVE
    for part in corollary.__path__:
        shutil.copytree(
            part, root / "corollary", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    return shutil.make_archive(str(root), "zip", root)


def _missing(what: str, remedy: str) -> InputError:
    return InputError(Diagnostic(what, remedy=remedy))
