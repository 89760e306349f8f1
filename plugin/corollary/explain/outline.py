"""A proof as an outline: lines with depths, in depth-first order.

The traversal is not recursive: proofs may be deeper than Python's stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from corollary.explain.proof import Proof
from corollary.explain.wording import premises_printed


@dataclass(frozen=True, slots=True)
class Line:
    """A step's place in the outline.

    ``is_last``: no later line has the same parent. ``is_repeated``: an earlier line has the step's premises.
    """

    number: int
    depth: int
    is_last: bool
    children: int
    is_repeated: bool


def outline(proof: Proof) -> Iterator[Line]:
    """The conclusion, then its premises, each followed by its own premises."""
    waiting: list[tuple[int, int, bool]] = [(len(proof.steps) - 1, 0, True)]
    printed: set[int] = set()
    while waiting:
        number, depth, is_last = waiting.pop()
        premises = premises_printed(proof, proof.steps[number])
        is_repeated = bool(premises) and number in printed
        printed.add(number)
        if is_repeated:
            premises = []
        yield Line(number, depth, is_last, len(premises), is_repeated)
        waiting += [(i, depth + 1, not place) for place, i in enumerate(reversed(premises))]
