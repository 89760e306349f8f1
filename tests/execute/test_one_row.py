"""One row of bindings is joined as any number of rows are."""

from __future__ import annotations

from itertools import product

import numpy as np

from corollary.columns import TripleIndex
from corollary.execute.batches import Batch, join, join_one
from corollary.program.compile import Atom

FACTS = [(1, 7, 2), (1, 7, 3), (2, 7, 2), (4, 7, 1), (1, 8, 2), (2, 9, 2)]
X, Y, Z, FREE = -1, -2, -3, -4


def rows(batch: Batch) -> list[dict[int, int]]:
    found = [{v: int(column[row]) for v, column in batch.columns.items()} for row in range(batch.size)]
    return sorted(found, key=lambda row: sorted(row.items()))


def test_one_row_is_joined_as_many_are() -> None:
    """For all atoms over known and unknown terms; what is not decided is left to the other join."""
    s, p, o = (np.array(column, np.uint32) for column in zip(*FACTS, strict=True))
    facts = TripleIndex.from_columns(s, p, o)
    decided = 0
    for x, y, predicate in product((1, 2, 4), (2, 3), (7, 8, 9, 6)):
        values = {X: x, Y: y, Z: predicate}
        batch = Batch(1, {v: np.array([value], np.uint32) for v, value in values.items()})
        for terms in product((1, 2, X, Y, FREE), (7, 8, 9, 6, Z, FREE - 1), (2, 3, X, Y, FREE, FREE - 2)):
            found = join_one(batch, Atom(*terms), facts)
            decided += found is not None
            if found is not None:
                assert rows(found) == rows(join(batch, Atom(*terms), facts)), terms
    assert decided > 1000
