"""A Spark session for the command, and this package's code for the executors of any session.

Invariant: a session that the caller made is not changed, except for the archive that ``ship`` adds.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import corollary
from corollary.language.errors import Diagnostic, InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARCHIVE = "corollary-code"
"""The name of the archive, without ``.zip``."""

LOGGING = Path(__file__).with_name("log4j2.properties")
"""What a new driver prints: errors only."""

NOISE = (
    b"WARNING: Using incubator modules: ",
    b"Setting default log level to ",
    b"To adjust logging level use sc.setLogLevel",
)
"""What Java and Spark print at their start, whatever the logging."""

SETTINGS = {
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
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
    wanted = {"spark.app.name": "corollary", **SETTINGS, **(settings or {})}
    if master is not None:
        wanted["spark.master"] = master
    if memory is not None:
        wanted["spark.driver.memory"] = memory
    if _is_local(master or "local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers use this interpreter
    try:
        _start_java(wanted)
        spark = SparkSession.builder.config(map=dict(wanted)).getOrCreate()
    except (PySparkException, Py4JError, RuntimeError) as error:
        why = str(getattr(error, "java_exception", error)).splitlines()[0]
        raise _missing(f"Spark does not start: {why}", "is the master's address right?") from None
    spark.sparkContext.setLogLevel("FATAL")  # errors are reported as exceptions
    return spark


def _start_java(settings: Mapping[str, str]) -> None:
    """Start the Java of a new context, whose standard error is ours without ``NOISE``.

    Does nothing if Java runs already, or if spark-submit has started it.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    conf = SparkConf().setAll(list(settings.items()))
    read, write = os.pipe()
    threading.Thread(target=_forward, args=(read,), daemon=True).start()
    try:
        SparkContext(conf=conf, gateway=launch_gateway(conf, {"stderr": write}))  # type: ignore[no-untyped-call]
    finally:
        os.close(write)


def _forward(read: int) -> None:
    """Write all lines from a pipe to standard error, but those that begin with ``NOISE``."""
    with open(read, "rb") as lines:
        for line in lines:
            if not line.startswith(NOISE):
                os.write(2, line)


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
