"""Notices that Java and Spark write to standard error at every start, which no setting suppresses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

NOTICES = re.compile(
    rb"WARNING: Using incubator modules: "
    rb"|Setting default log level to "
    rb"|To adjust logging level use sc\.setLogLevel"
)
"""How the lines begin."""

STANDARD_ERROR = 2


@contextmanager
def without_notices() -> Iterator[None]:
    """Within the block a process that starts gets a standard error of its own, without these lines.

    All others are written to ours, as long as this process lives.
    """
    try:
        ours = os.dup(STANDARD_ERROR)
    except OSError:  # there is none
        yield
        return
    reading, writing = os.pipe()
    os.dup2(writing, STANDARD_ERROR)
    os.close(writing)
    Thread(target=_forward, args=(reading, os.dup(ours)), daemon=True).start()
    try:
        yield
    finally:
        os.dup2(ours, STANDARD_ERROR)
        os.close(ours)


def _forward(reading: int, ours: int) -> None:
    """Write all lines but the notices, until the last process closes its end."""
    with open(reading, "rb") as lines, open(ours, "wb", buffering=0) as out:
        for line in lines:
            if not NOTICES.match(line):
                out.write(line)
