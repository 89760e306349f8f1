"""Describes the machine, the versions and the date of a run, and makes the C library keep freed memory.

Large arrays are allocated as fresh pages. On a virtual machine the first access to a fresh page can cost more
than all work on it, and the cost depends on the load of the host. So a run asks the C library to keep freed
memory.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
KEEPING = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "1000000000000", "MALLOC_TOP_PAD_": "268435456"}
"""Settings of glibc to keep freed memory. Other C libraries ignore them."""

PACKAGES = ("corollary", "numpy", "numba", "pyoxigraph", "rdflib", "reasonable", "owlrl", "clingo", "duckdb")


def keep_memory() -> None:
    """Restart the program with ``KEEPING`` set: the C library reads its settings at the start only."""
    if not KEEPING.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | KEEPING)


def describe() -> dict[str, Any]:
    """Machine, versions, date and commit."""
    return {
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "system": f"{platform.system()} {platform.machine()}",
            "load": os.getloadavg()[0],
            "keeps_memory": KEEPING.items() <= os.environ.items(),
        },
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain") else ""),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()
