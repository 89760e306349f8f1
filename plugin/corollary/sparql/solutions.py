"""SPARQL's operators on bags of solutions, in which a variable may be unbound in some rows.

A column has ``UNBOUND`` where its variable is unbound. A variable without a column is unbound in all rows.
Two solutions are compatible if they agree on all variables that both bind. So the rows of each side are
grouped by the set of shared variables that they bind. For a pair of groups, compatible means equal on the
variables that both bind: an ordinary join. If no shared variable is partly unbound, each side is one group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np

from corollary.columns.pairs import end_to_end
from corollary.columns.tuning import MAX_ROWS_NUMBERED_ONE_BY_ONE
from corollary.execute.batches import Batch, filled, product
from corollary.execute.filters import number_rows
from corollary.execute.run_plan import natural_join, natural_join_parts
from corollary.kernels.limits import check, current, reserve
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.kernels.threads import apart
from corollary.sparql.tuning import ROWS_PER_LIMITED_CHUNK
from corollary.sparql.written_literals import UNBOUND


def stacked(parts: Iterable[Batch]) -> Batch:
    """The bag union of batches over any variables."""
    kept = [part for part in parts if part.size]
    if not kept:
        return Batch.none()
    if len(kept) == 1:
        return kept[0]
    variables = dict.fromkeys([variable for part in kept for variable in part.columns])
    size = sum([part.size for part in kept])
    if size <= ROWS_PER_LIMITED_CHUNK:
        small = {
            v: np.concatenate([p.columns[v] if v in p.columns else filled(p.size, UNBOUND) for p in kept])
            for v in variables
        }
        return Batch(size, small)
    reserve(4 * len(variables) * size)
    columns = {}
    for v in variables:
        check()
        columns[v] = end_to_end(
            [part.columns[v] if v in part.columns else filled(part.size, UNBOUND) for part in kept]
        )
    return Batch(size, columns)


def collected(parts: Iterable[Batch], need: int | None = None) -> Batch:
    """One batch of the rows of all parts; with ``need``, of the first parts that have so many rows.

    Raises LimitExceeded if it has more rows than ``Limits`` allow.
    """
    kept, size, work = [], 0, current()
    for part in parts:
        kept.append(part)
        size += part.size
        work.rows(size)
        if need is not None and size >= need:
            break
    return kept[0] if size and len(kept) == 1 else stacked(kept)


def gathered(parts: Iterable[Batch], limit: int) -> Iterator[Batch]:
    """The rows of the parts in fewer batches, of at most ``limit`` rows unless a part has more."""
    kept: list[Batch] = []
    size = 0
    for part in parts:
        if size and size + part.size > limit:
            yield stacked(kept)
            kept, size = [], 0
        if part.size:
            kept.append(part)
            size += part.size
    if size:
        yield stacked(kept)


def counted_rows(parts: Iterable[Batch], limit: int) -> tuple[Batch, Rows | None]:
    """The rows of the parts, and how many equal ones each stands for; None: all stand for themselves.

    More than ``limit`` rows become distinct ones, in the order of first occurrence.
    """
    kept: list[Batch] = []
    merged: Rows = np.empty(0, np.int64)
    """How many solutions the rows of the first batch stand for, if that was merged."""
    size, most = 0, limit
    for part in parts:
        if not part.size:
            continue
        kept.append(part)
        size += part.size
        if size > most:
            batch, merged = _merged(stacked(kept), _with_ones(merged, size))
            kept, size = [batch], batch.size
            current().rows(size)
            most = max(limit, 2 * size)
    current().rows(size)
    return stacked(kept), _with_ones(merged, size) if merged.size else None


def _with_ones(times: Rows, size: int) -> Rows:
    """The numbers, and 1 for further rows, for ``size`` rows in all."""
    return np.concatenate((times, np.ones(size - times.size, np.int64)))


def _merged(batch: Batch, times: Rows) -> tuple[Batch, Rows]:
    """The distinct rows, and the sums of the numbers of equal ones."""
    variables = tuple(batch.columns)
    if not variables:
        return Batch(1, {}), np.array([times.sum()])
    first, numbers = apart(batch.size, partial(_firsts, batch, variables))
    counts = np.zeros(first.size, np.int64)
    np.add.at(counts, numbers, times)
    order = np.argsort(first)
    return batch.take(first[order]), counts[order]


Parts = Iterable[Batch]
"""Batches: in a list if all of them are there, which then need not be kept for a later one."""

Change = Callable[[Batch], Parts]
"""What a step of a query makes of a batch."""


def piped(start: Parts, changes: Sequence[Change]) -> Iterator[Batch]:
    """What the changes make of the batches, one after the other; each batch goes through all of them first.

    So at most one batch is kept for each change that makes several of one. Any number of changes may follow
    each other, without recursion.
    """
    waiting = [(0, iter(start))]
    while waiting:
        check()
        number, parts = waiting[-1]
        batch = next(parts, None)
        if batch is None:
            waiting.pop()
            continue
        while batch.size and number < len(changes):
            found = changes[number](batch)
            number += 1
            if not isinstance(found, list) or len(found) != 1:
                waiting.append((number, iter(found)))
                break
            (batch,) = found
        else:
            if batch.size:
                yield batch


def settled(parts: Iterator[Batch], limit: int) -> Parts:
    """As ``gathered``, in a list if there are no more than ``limit`` rows."""
    kept: list[Batch] = []
    size = 0
    for part in parts:
        if size and size + part.size > limit:
            return chain((stacked(kept),), gathered(chain((part,), parts), limit))
        if part.size:
            kept.append(part)
            size += part.size
    return [stacked(kept)] if size else []


def is_bound(batch: Batch, variables: Iterable[int]) -> bool:
    """Whether all of the variables are bound in every row."""
    return all(v in batch.columns and not (batch.columns[v] == UNBOUND).any() for v in variables)


def groups(batch: Batch, variables: Sequence[int]) -> Iterator[tuple[Rows, Batch]]:
    """The rows grouped by the set of ``variables`` that they bind: row numbers, and a batch.

    The batch has no columns for the unbound variables.
    """
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
    """The variables that have columns in both batches."""
    return [v for v in left.columns if v in right.columns]


def join(left: Batch, right: Batch) -> Batch:
    """The join: every pair of compatible solutions, merged."""
    return stacked(join_parts(left, right, left.size * right.size))


def join_parts(left: Batch, right: Batch, limit: int) -> Parts:
    """The join in parts of some ``limit`` rows, or those of one left row."""
    if not left.size or not right.size:
        return []
    if right.size == 1 and not right.columns:
        return [left]
    if left.size == 1 and not left.columns:
        return [right]
    common = shared(left, right)
    if not common and left.size * right.size <= limit:
        return [product(left, right)]
    rights = [part for _, part in groups(right, common)]
    pairs = ((part, other) for _, part in groups(left, common) for other in rights)
    if left.size * right.size <= limit:
        return [stacked(natural_join(part, other) for part, other in pairs)]
    return (found for part, other in pairs for found in natural_join_parts(part, other, limit))


def with_matches(left: Batch, variable: int, rows: Rows, values: Column) -> Batch:
    """The left join: each row with its values of a new variable, or with none.

    ``rows`` has the number of a row for each of the ``values``. Cost: O(rows + values).
    """
    if not rows.size:
        return left
    reserve(12 * left.size)
    if rows.size == left.size and (rows[1:] > rows[:-1]).all():  # one value for each row
        return Batch(left.size, left.columns | {variable: values})
    times: Rows = apart(left.size + rows.size, partial(np.bincount, rows, minlength=left.size))
    if rows.size <= left.size and int(times.max()) < 2:
        column = filled(left.size, UNBOUND)
        column[rows] = values
        return Batch(left.size, left.columns | {variable: column})
    both = left.take(rows)
    both.columns[variable] = values
    return stacked((both, left.take(times == 0)))


def without(left: Batch, right: Batch, ignored: Iterable[int] = ()) -> Batch:
    """MINUS: the left solutions for which no right solution is compatible and shares a bound variable.

    Variables in ``ignored`` are not compared, and do not count as shared.
    """
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
    """For each left row, whether a right row has equal values of all ``variables``."""
    reserve(4 * len(variables) * (left.size + right.size))
    both = {v: np.concatenate((left.columns[v], right.columns[v])) for v in variables}
    _, numbers = number_rows(Batch(left.size + right.size, both), variables)
    there = np.zeros(int(numbers.max()) + 1, np.bool_)
    there[numbers[left.size :]] = True
    found: Mask = there[numbers[: left.size]]
    return found


def projected(batch: Batch, variables: Iterable[int]) -> Batch:
    """The batch with the columns of these variables only."""
    return Batch(batch.size, {v: batch.columns[v] for v in variables if v in batch.columns})


def distinct(batch: Batch) -> Batch:
    """Every distinct solution once, in the order of first occurrence."""
    if batch.size < 2:
        return batch
    if batch.columns and batch.size <= MAX_ROWS_NUMBERED_ONE_BY_ONE:
        rows = list(zip(*[column.tolist() for column in batch.columns.values()], strict=True))
        first = {row: place for place, row in reversed([*enumerate(rows)])}
        return batch if len(first) == batch.size else batch.take(np.array(sorted(first.values())))
    first_rows = apart(batch.size, lambda: np.sort(first_of_each(batch, tuple(batch.columns))))
    return batch.take(first_rows)


def first_of_each(batch: Batch, variables: Sequence[int]) -> Rows:
    """The number of the first row of every distinct combination of values."""
    return _firsts(batch, variables)[0]


def _firsts(batch: Batch, variables: Sequence[int]) -> tuple[Rows, Rows]:
    """As ``first_of_each``, and for each row the number of its combination."""
    rows, numbers = number_rows(batch, variables)
    first: Rows = np.empty(rows.size, np.int64)
    first[numbers[::-1]] = np.arange(batch.size)[::-1]  # in reverse: the first row of each is written last
    return first, numbers


def reduced(batch: Batch) -> Batch:
    """The solutions that differ from the one before."""
    fresh = np.zeros(batch.size, np.bool_)
    fresh[:1] = True
    for column in batch.columns.values():
        fresh[1:] |= column[1:] != column[:-1]
    return batch.take(fresh)
