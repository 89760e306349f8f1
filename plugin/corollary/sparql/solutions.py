"""SPARQL's operators on bags of solutions, where a variable may have no value in some of the rows.

A column holds ``UNBOUND`` where a variable has no value; a column that is missing has none at all.
Two solutions are compatible if they agree where both have a value. Rows are therefore grouped by
which of the shared variables they bind: within a pair of groups, compatible means equal on what both
bind, and that is an ordinary join. Invariant: without optional variables there is one group a side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from corollary.execute.batches import Batch
from corollary.execute.filters import number_rows
from corollary.execute.run_plan import natural_join
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Mask, Rows
from corollary.sparql.query_terms import UNBOUND, filled


def stacked(parts: Iterable[Batch]) -> Batch:
    """All rows of batches over any variables."""
    kept = [part for part in parts if part.size]
    if not kept:
        return Batch.none()
    if len(kept) == 1:
        return kept[0]
    variables = dict.fromkeys(variable for part in kept for variable in part.columns)
    reserve(4 * len(variables) * sum(part.size for part in kept))
    columns = {
        v: np.concatenate(
            [part.columns[v] if v in part.columns else filled(part.size, UNBOUND) for part in kept]
        )
        for v in variables
    }
    return Batch(sum(part.size for part in kept), columns)


def is_bound(batch: Batch, variables: Iterable[int]) -> bool:
    """Whether all of the variables have a value in every row."""
    return all(v in batch.columns and not (batch.columns[v] == UNBOUND).any() for v in variables)


def groups(batch: Batch, variables: Sequence[int]) -> Iterator[tuple[Rows, Batch]]:
    """The rows that bind the same of the variables: their numbers, and a batch without what is unbound."""
    bound = {v: (batch.columns[v] != UNBOUND).astype(np.uint32) for v in variables if v in batch.columns}
    partial = [v for v, column in bound.items() if not column.all()]
    everything: Rows = np.arange(batch.size)
    if not partial:
        yield everything, batch
        return
    first, numbers = number_rows(Batch(batch.size, bound), partial)
    for number in range(first.size):
        rows = everything[numbers == number]
        part = batch.take(rows)
        for variable in partial:
            if part.columns[variable][0] == UNBOUND:
                del part.columns[variable]
        yield rows, part


def shared(left: Batch, right: Batch) -> list[int]:
    """The variables that both have columns for."""
    return [v for v in left.columns if v in right.columns]


def join(left: Batch, right: Batch) -> Batch:
    """Every pair of compatible solutions, merged."""
    if not left.size or not right.size:
        return Batch.none()
    if right.size == 1 and not right.columns:
        return left
    if left.size == 1 and not left.columns:
        return right
    common = shared(left, right)
    rights = [part for _, part in groups(right, common)]
    return stacked(natural_join(part, other) for _, part in groups(left, common) for other in rights)


def without(left: Batch, right: Batch, ignored: Iterable[int] = ()) -> Batch:
    """The solutions on the left that agree with none on the right in all that both bind, if they bind any."""
    if not left.size or not right.size:
        return left
    common = [v for v in shared(left, right) if v not in ignored]
    kept: Mask = np.ones(left.size, np.bool_)
    rights = [part for _, part in groups(right, common)]
    for rows, part in groups(left, common):
        for other in rights:
            both = [v for v in common if v in part.columns and v in other.columns]
            if both:
                kept[rows[matches(part, other, both)]] = False
    return left.take(kept)


def matches(left: Batch, right: Batch, variables: Sequence[int]) -> Mask:
    """Which rows on the left have an equal on the right, as to some variables."""
    reserve(4 * len(variables) * (left.size + right.size))
    both = {v: np.concatenate((left.columns[v], right.columns[v])) for v in variables}
    _, numbers = number_rows(Batch(left.size + right.size, both), variables)
    there = np.zeros(int(numbers.max()) + 1, np.bool_)
    there[numbers[left.size :]] = True
    found: Mask = there[numbers[: left.size]]
    return found


def projected(batch: Batch, variables: Iterable[int]) -> Batch:
    """The batch with only these variables."""
    return Batch(batch.size, {v: batch.columns[v] for v in variables if v in batch.columns})


def distinct(batch: Batch) -> Batch:
    """Every solution once, in the order of first arrival."""
    first_rows = first_of_each(batch, tuple(batch.columns))
    return batch.take(np.sort(first_rows))


def first_of_each(batch: Batch, variables: Sequence[int]) -> Rows:
    """The number of the first row of every distinct combination of values."""
    rows, numbers = number_rows(batch, variables)
    first: Rows = np.empty(rows.size, np.int64)
    first[numbers[::-1]] = np.arange(batch.size)[::-1]  # the first of each is written last
    return first


def reduced(batch: Batch) -> Batch:
    """Without the solutions that equal the one before."""
    fresh = np.zeros(batch.size, np.bool_)
    fresh[:1] = True
    for column in batch.columns.values():
        fresh[1:] |= column[1:] != column[:-1]
    return batch.take(fresh)
