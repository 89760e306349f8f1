"""Spark's classes in a file that Java maps: a driver starts in half of the time.

Java reads, checks and links more than ten thousand classes before the first job, in every process. A file
of *class data* (class data sharing, JEP 350) has them as they are in memory. The first session asks Java to
write the file at its end, which goes on for some ten seconds after the command; later sessions map it.

Invariant: the file is complete, and was written by this Java and this Spark with these options. Java itself
compares the versions and the class path, and reads classes as usual if they differ.
Cost: 150 MB in the user's cache folder, for each of the ``MAX_CLASS_DATA`` that were used last: other virtual
environments and numbers of cores have their own.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from corollary.loaders.spark.tuning import MAX_CLASS_DATA, SECONDS_BETWEEN_CLASS_DATA

QUIET = "-Xlog:cds*=off"
"""Java would print which classes it leaves out."""

_NO_HEADER = bytes(4)
"""Java writes the header of the file last."""


def class_data_options(options: str, environment: Mapping[str, str] = os.environ) -> str:
    """Options of Java, beside ``options``, that map the class data, or write them at the end.

    Empty if they cannot be kept, if a process was asked to write them a short time ago, or if Java runs
    already (``spark-submit``). Precondition: PySpark is installed. Cost: some calls of the file system.
    """
    import pyspark

    if "PYSPARK_GATEWAY_PORT" in environment:
        return ""
    try:
        java = _java(environment).resolve(strict=True)
        about = java.stat()
        spark = pyspark.__file__, pyspark.__version__, environment.get("SPARK_HOME")
        marks = java, about.st_size, about.st_mtime_ns, spark, options
        name = f"spark-{sha256(repr(marks).encode()).hexdigest()[:16]}"
        path = _cache(environment) / f"{name}.jsa"
        if '"' in str(path):
            return ""
        if _is_complete(path):
            with suppress(OSError):
                path.touch()
            return f'{QUIET} "-XX:SharedArchiveFile={path}"'
        if _is_asked(path.with_suffix(".asked")):
            return ""
        _delete_older(path.parent)
    except (OSError, RuntimeError):  # no Java, no home, a folder that is read-only
        return ""
    return f'{QUIET} "-XX:ArchiveClassesAtExit={path}"'


def _java(environment: Mapping[str, str]) -> Path:
    """The Java that Spark will start."""
    home = environment.get("JAVA_HOME")
    return Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "java")


def _cache(environment: Mapping[str, str]) -> Path:
    """The folder for what can be made again."""
    kept = environment.get("XDG_CACHE_HOME")
    return (Path(kept) if kept else Path.home() / ".cache") / "corollary"


def _is_complete(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open("rb") as file:
        return file.read(len(_NO_HEADER)) > _NO_HEADER


def _delete_older(cache: Path) -> None:
    """Delete class data but for those that were used last. A Java that has mapped them keeps them."""
    found = sorted(cache.glob("spark-*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found[MAX_CLASS_DATA - 1 :]:
        path.unlink()
        path.with_suffix(".asked").unlink(missing_ok=True)


def _is_asked(mark: Path) -> bool:
    """Whether a process was asked to write the class data a short time ago; else this one is, from now on."""
    if mark.exists() and time.time() - mark.stat().st_mtime < SECONDS_BETWEEN_CLASS_DATA:
        return True
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    return False
