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

    ``last``: for each level down to this line, whether its line there is the last one. ``is_repeated``: an
    earlier line has the step's premises.
    """

    number: int
    last: tuple[bool, ...]
    children: int
    is_repeated: bool

    @property
    def depth(self) -> int:
        return len(self.last)


def outline(proof: Proof) -> Iterator[Line]:
    """The conclusion, then its premises, each followed by its own premises."""
    waiting: list[tuple[int, tuple[bool, ...]]] = [(len(proof.steps) - 1, ())]
    printed: set[int] = set()
    while waiting:
        number, last = waiting.pop()
        premises = premises_printed(proof, proof.steps[number])
        is_repeated = bool(premises) and number in printed
        printed.add(number)
        if is_repeated:
            premises = []
        yield Line(number, last, len(premises), is_repeated)
        ends = [False] * len(premises)
        ends[-1:] = [True] * bool(premises)
        waiting += reversed([(i, (*last, end)) for i, end in zip(premises, ends, strict=True)])
