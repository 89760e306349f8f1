"""Few rows of bindings are joined one by one as any number of rows are."""

from __future__ import annotations

from itertools import product

import numpy as np

from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import Pairs
from corollary.execute.batches import Batch, join
from corollary.execute.few_rows import FewRows
from corollary.execute.tuning import MAX_ROWS_JOINED_ONE_BY_ONE
from corollary.program.compile import Atom

FACTS = [(1, 7, 2), (1, 7, 3), (2, 7, 2), (4, 7, 1), (1, 8, 2), (2, 9, 2)]
X, Y, Z, FREE = -1, -2, -3, -4


def index() -> TripleIndex:
    """The facts: those of 7 with an overlay, of which some are added, and some removed."""
    s, p, o = (np.array(column, np.uint32) for column in zip(*FACTS, strict=True))
    facts = TripleIndex.from_columns(s, p, o)
    others = [5 << 32 | value for value in range(100)]
    keys = np.array(sorted([1 << 32 | 2, 2 << 32 | 2, 2 << 32 | 9, 4 << 32 | 1, *others]), np.uint64)
    added, removed = (np.array([key], np.uint64) for key in (1 << 32 | 3, 2 << 32 | 9))
    relation = Relation(Pairs(keys), Pairs(added), Pairs(removed))
    assert all(map(len, relation.parts))
    return TripleIndex({**{p: facts.relation(p) for p in (8, 9)}, 7: relation})


def rows(batch: Batch) -> list[tuple[tuple[int, int], ...]]:
    return sorted(
        tuple(sorted((v, int(column[row])) for v, column in batch.columns.items()))
        for row in range(batch.size)
    )


def batches() -> list[Batch]:
    """The empty binding, single rows, and some rows, with one predicate and with several."""
    single = [{X: x, Y: y, Z: p} for x, y, p in product((1, 2, 4), (2, 3), (7, 8, 9, 6))]
    many = [[one] for one in single] + [single[:3], single[::5], [{X: 1, Y: 2, Z: 7}, {X: 2, Y: 2, Z: 7}]]
    columns = [{v: np.array([row[v] for row in part], np.uint32) for v in (X, Y, Z)} for part in many]
    return [Batch.start(), Batch(3, {}), *(Batch(int(c[X].size), c) for c in columns)]


def test_few_rows_are_joined_as_many_are() -> None:
    """For all atoms over known and unknown terms; what is not decided is left to the other join."""
    facts, decided = index(), 0
    for batch in batches():
        for terms in product((1, 2, X, Y, FREE), (7, 8, 9, 6, Z, FREE - 1), (2, 3, X, Y, FREE, FREE - 2)):
            few = FewRows.of(batch)
            is_decided = few.join(*terms, facts)
            decided += is_decided
            expected = rows(join(batch, Atom(*terms), facts) if is_decided else batch)
            assert rows(few.batch()) == expected, terms
    assert decided > 2000


def test_free_predicates_beside_a_known_end() -> None:
    facts, decided = index(), 0
    for batch in batches():
        for terms in product((1, 2, X, FREE), (7, Z, FREE, FREE - 1), (2, Y, FREE, FREE - 2)):
            few = FewRows.of(batch)
            is_decided = few.join_open(*terms, facts)
            decided += is_decided
            expected = rows(join(batch, Atom(*terms), facts) if is_decided else batch)
            assert rows(few.batch()) == expected, terms
    assert decided > 100


def test_more_rows_are_left_to_columns() -> None:
    """As soon as a join has more rows than may be joined one by one, nothing is changed."""
    facts = index()
    for terms in ((5, 7, FREE), (FREE, 7, FREE - 1)):
        few = FewRows.of(Batch.start())
        assert not few.join(*terms, facts)
        assert (few.size, few.columns) == (1, {})
    keys = np.array([1 << 32 | value for value in range(MAX_ROWS_JOINED_ONE_BY_ONE)], np.uint64)
    few = FewRows.of(Batch.start())
    assert few.join(1, 7, FREE, TripleIndex({7: Relation(Pairs(keys))}))
    assert few.batch([FREE]).size == MAX_ROWS_JOINED_ONE_BY_ONE
