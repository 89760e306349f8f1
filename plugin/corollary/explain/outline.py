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
    ``place``: the number of lines before it with the same parent, of ``siblings``.
    """

    number: int
    depth: int
    is_last: bool
    children: int
    is_repeated: bool
    place: int
    siblings: int


def outline(proof: Proof) -> Iterator[Line]:
    """The conclusion, then its premises, each followed by its own premises."""
    waiting: list[tuple[int, int, int, int]] = [(len(proof.steps) - 1, 0, 0, 1)]
    printed: set[int] = set()
    while waiting:
        number, depth, place, siblings = waiting.pop()
        premises = premises_printed(proof, proof.steps[number])
        is_repeated = bool(premises) and number in printed
        printed.add(number)
        if is_repeated:
            premises = []
        count = len(premises)
        yield Line(number, depth, place == siblings - 1, count, is_repeated, place, siblings)
        waiting += [(premises[at], depth + 1, at, count) for at in reversed(range(count))]
