"""Where and when numbers were measured: without that they say nothing."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
PACKAGES = ("corollary", "numpy", "numba", "pyoxigraph", "rdflib", "reasonable", "owlrl")


def describe() -> dict[str, Any]:
    """Machine, versions, date and commit."""
    return {
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "system": f"{platform.system()} {platform.machine()}",
            "load": os.getloadavg()[0],
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
