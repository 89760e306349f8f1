"""Work in several threads: a large operation on arrays is cut into pieces, which run at the same time.

Each piece is machine code without Python's lock, and writes to places of the output of its own. What a piece
writes does not depend on how the rest is cut. So results are identical for any number of threads
(``limits.Limits.threads``), and nothing but arrays is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TypeVar

from corollary.kernels.interrupts import is_worker, together, undisturbed
from corollary.kernels.limits import current
from corollary.kernels.tuning import MIN_ELEMENTS_CUT, MIN_ELEMENTS_PER_PIECE

Result = TypeVar("Result")


def pieces(size: int) -> list[slice]:
    """Cut the places 0 to ``size`` into as many slices as the current work may use threads.

    One slice if there are fewer than ``MIN_ELEMENTS_CUT``, or in a worker thread.
    """
    if size < MIN_ELEMENTS_CUT or is_worker():
        return [slice(0, size)]
    number = max(1, min(current().threads, size // MIN_ELEMENTS_PER_PIECE))
    bounds = [size * i // number for i in range(number + 1)]
    return [slice(start, end) for start, end in pairwise(bounds)]


def in_threads(works: Sequence[Callable[[], Result]]) -> list[Result]:
    """Call every work in a thread of its own, or the only one in this thread. Returns the results."""
    return [works[0]()] if len(works) == 1 else together(works)


def apart(size: int, work: Callable[[], Result]) -> Result:
    """Call ``work`` on ``size`` elements; if they are many, in a thread, while the caller checks the limits.

    For passes of NumPy over whole arrays, which check nothing.
    """
    return undisturbed(work) if size >= MIN_ELEMENTS_CUT else work()


def in_pieces(size: int, work: Callable[[slice], Result]) -> list[Result]:
    """Call ``work`` for every slice of 0 to ``size``: see ``in_threads``."""
    return in_threads([partial(work, piece) for piece in pieces(size)])


def spread_over_threads(works: Sequence[Callable[[], Result]]) -> list[Result]:
    """Call many works, at any time as many as the current work may use threads. Returns the results.

    A thread takes the next work when it has ended one: so the longest should come first.
    """
    waiting = iter(enumerate(works))  # threads that share it take each work once
    found: dict[int, Result] = {}

    def take_turns() -> None:
        for number, work in waiting:
            found[number] = work()

    in_threads([take_turns] * max(1, min(current().threads, len(works))))
    return [found[number] for number in range(len(works))]
