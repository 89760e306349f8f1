"""The peak memory of one engine on one problem, in a process of its own.

``python -m benchmarks.book.peak ENGINE PROBLEM CORPUS`` prints two numbers: megabytes when the facts are in
memory, and at the peak.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from benchmarks.book.engines import ENGINES
from benchmarks.book.entry import Scope
from benchmarks.book.problems import named
from benchmarks.machine import KEEPING, PROJECT
from benchmarks.measure import Settings


def peak(engine: str, problem: str, corpus: Path | None) -> tuple[float, float]:
    """Start a process that measures itself."""
    environment = {name: value for name, value in os.environ.items() if name not in KEEPING}
    command = [sys.executable, "-m", "benchmarks.book.peak", engine, problem, str(corpus or "")]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True)
    before, most = json.loads(done.stdout)
    return before, most


def main(engine: str, problem: str, corpus: str) -> None:
    """Measure this process, or a process that it starts if this one takes more.

    The peak is counted from the moment when the facts are in memory: to read them may take more than to
    close them.
    """
    scope = Scope(Settings(corpus=Path(corpus) if corpus else None))
    task = ENGINES[engine](named(scope, problem))
    prepared = task.prepare()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is in memory now
    before = _megabytes("VmRSS")
    task.run(prepared)
    started = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps([before, max(_megabytes("VmHWM"), started)]))


def _megabytes(name: str) -> float:
    """A value of this process from Linux: ``VmRSS`` is its memory now, ``VmHWM`` its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
