"""Bounds on time as ratios: CPU time of some work against that of a plain loop in the same process.

The idea: seconds tell as much about the machine and its load as about the work. A loop that is
measured right before and right after the work is slowed down by the same load.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

TURNS = 100_000


def reference() -> float:
    """CPU seconds for the reference loop: some milliseconds."""
    begun, total = time.thread_time(), 0
    for number in range(TURNS):
        total += number & 7
    assert total
    return time.thread_time() - begun


@contextmanager
def at_most(loops: float) -> Iterator[None]:
    """Fails if the block takes more CPU time, of all threads together, than ``loops`` reference loops.

    The slower of the loops before and after the block counts. Garbage is not collected meanwhile: with the
    objects that other tests have left, that takes up to a hundred loops.
    """
    gc.collect()
    gc.disable()
    try:
        before, begun = reference(), time.process_time()
        yield
        taken = (time.process_time() - begun) / max(before, reference())
    finally:
        gc.enable()
    assert taken <= loops, f"took as long as {taken:,.0f} reference loops, and may take {loops:,.0f}"
