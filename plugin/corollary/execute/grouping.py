"""AGGREGATE over batches of bindings.

Groups are numbered, and packed pairs (group, value) are sorted, so that each group is a sorted run. ``count``
is computed from the lengths of runs. The other functions decode each distinct value once. A median is read
from the middle of a run of ranks; the other functions loop over runs in Python. Results do not depend on the
order of rows or ids. Invariant: a group has a row iff all of its aggregates have a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce
from typing import NamedTuple

import numpy as np

from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import distinct, firsts, pack, seconds, sorted_unique
from corollary.execute.batches import Batch
from corollary.execute.filters import number_rows, values
from corollary.expressions.operators import (
    EXACT,
    ExpressionError,
    Number,
    Orderable,
    Rank,
    Real,
    add,
    as_result,
    divide,
    find_number,
    literal_of,
    orderable,
    precedes,
    promote,
    promote_all,
)
from corollary.kernels.limits import check
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.language import AggregateBinding, constant_text, parse_constant
from corollary.program.compile import CompiledRule, Grouping
from corollary.terms.dictionary import TermDictionary


def group(inner: Batch, grouping: Grouping, rule: CompiledRule, dictionary: TermDictionary) -> Batch:
    """One row per group of ``inner``, with the group's variables and the results.

    Precondition: the rows are the distinct bindings of the inner body's variables. An aggregate is over the
    bag of its argument's values in these rows. No rows give no groups, even without group variables: as in
    RDFox, and unlike SPARQL, there is no count of 0. ``count`` ignores rows whose argument is an error. For
    the other functions, one such row, or one value of a wrong type, leaves the group without a row.
    """
    first_rows, numbers = number_rows(inner, grouping.group)
    result = Batch(inner.size, {v: inner.columns[v] for v in grouping.group}).take(first_rows)
    complete = np.ones(result.size, np.bool_)
    for binding, target in zip(grouping.element.bindings, grouping.targets, strict=True):
        column, valid = _aggregate(inner, numbers, result.size, binding, rule, dictionary)
        result.columns[target] = column
        complete &= valid
    return result if complete.all() else result.take(complete)


def _aggregate(
    inner: Batch,
    numbers: Rows,
    size: int,
    binding: AggregateBinding,
    rule: CompiledRule,
    dictionary: TermDictionary,
) -> tuple[Column, Mask]:
    """One aggregate's result for every group, as a term id, and the mask of the groups that have one.

    ``numbers`` has the group of every row of ``inner``, ``size`` is the number of groups.
    """
    complete = np.ones(size, np.bool_)
    if binding.argument is None:  # rows are distinct, so count(distinct *) is count(*)
        return _encoded_counts(np.bincount(numbers, minlength=size), dictionary), complete
    ids, valid = values(inner, binding.argument, rule, dictionary)
    complete[numbers[~valid]] = binding.function == "count"
    owners, ids = numbers[valid].astype(np.uint32), ids[valid]
    if binding.distinct:
        keys = sorted_unique(pack(owners, ids))
        owners, ids = firsts(keys), seconds(keys)
    counts = np.bincount(owners, minlength=size)
    if binding.function == "count":
        return _encoded_counts(counts, dictionary), complete
    if binding.function == "median":
        return _medians(owners, ids, counts, complete, dictionary)
    column: Column = np.zeros(size, np.uint32)
    all_items = _Items(dictionary)
    ids_of_groups = seconds(sort_keys(pack(owners, ids))).tolist()
    ends = np.cumsum(counts)
    function = FUNCTIONS[binding.function]
    for position in np.flatnonzero(complete).tolist():
        check()
        try:
            run = ids_of_groups[ends[position] - counts[position] : ends[position]]
            column[position] = dictionary.encode(function([all_items[term_id] for term_id in run]))
        except ExpressionError:
            complete[position] = False
    return column, complete


def _encoded_counts(counts: Rows, dictionary: TermDictionary) -> Column:
    """Counts as ids of xsd:integer literals. Each distinct count is encoded once."""
    used = np.flatnonzero(np.bincount(counts)) if counts.size else counts
    ids = [
        dictionary.encode(constant_text(literal_of(Number(Rank.INTEGER, count)))) for count in used.tolist()
    ]
    return np.array(ids, np.uint32)[np.searchsorted(used, counts)]


def _medians(
    owners: Column, terms: Column, counts: Rows, complete: Mask, dictionary: TermDictionary
) -> tuple[Column, Mask]:
    """The median of every group, and the mask of the groups that have one. ``complete`` is changed in place.

    The median of an even count is the mean of the two middle numbers. It is a decimal if all are integers.
    ``owners`` has the group of each of the ``terms``, ``counts`` the number of terms per group. All distinct
    values are sorted once, exactly: promotion to the highest rank in a group keeps their order. NaN sorts
    after all other numbers and makes the median NaN. Other terms sort last and leave the group without one.
    """
    ids = distinct(terms)
    given = [find_number(parse_constant(dictionary.decode(term_id))) for term_id in ids.tolist()]
    order = sorted(range(ids.size), key=lambda row: _order(given[row]))
    numbers = [number for row in order if (number := given[row]) is not None]
    ordinary = sum(not _is_nan(number) for number in numbers)
    ranks = np.array([number.rank for number in numbers] + [0] * (ids.size - len(numbers)), np.int64)
    places: Column = np.empty(ids.size, np.uint32)
    places[order] = np.arange(ids.size, dtype=np.uint32)
    runs = seconds(sort_keys(pack(owners, places[np.searchsorted(ids, terms)])))
    groups = np.flatnonzero(counts)
    ends = np.cumsum(counts)[groups]
    starts = ends - counts[groups]
    highest = np.maximum.reduceat(ranks[runs], starts) if groups.size else groups
    last = runs[ends - 1]
    lower, upper = (np.where(last < ordinary, runs[(starts + ends - odd) // 2], last) for odd in (1, 0))
    complete &= counts > 0
    complete[groups] &= last < len(numbers)
    column: Column = np.zeros(counts.size, np.uint32)
    known: dict[tuple[int, int, int], int] = {}
    middles = zip(highest.tolist(), lower.tolist(), upper.tolist(), strict=True)
    for position, middle in zip(groups.tolist(), middles, strict=True):
        if complete[position]:
            if middle not in known:
                rank, *pair = middle
                known[middle] = dictionary.encode(_halfway(Rank(rank), *(numbers[place] for place in pair)))
            column[position] = known[middle]
    return column, complete


def _halfway(rank: Rank, lower: Number, upper: Number) -> str:
    """The mean of two numbers, promoted to ``rank``; a decimal for integers."""
    one, other = promote(lower, rank), promote(upper, rank)
    if rank < Rank.FLOAT:
        return _text(Rank.DECIMAL, EXACT.multiply(EXACT.add(Decimal(one), Decimal(other)), HALF))
    return _text(rank, one if lower is upper else total(rank, (one, other)) / 2)


def _is_nan(number: Number) -> bool:
    return number.value != number.value


def _order(number: Number | None) -> tuple[int, Real]:
    """The sort key of values: numbers, then NaN, then other terms (None)."""
    if number is None:
        return 2, 0
    return (1, 0) if _is_nan(number) else (0, number.value)


HALF = Decimal("0.5")


class Item(NamedTuple):
    """A value of a group, and its N-Triples text."""

    value: Orderable
    text: str


class _Items(dict[int, Item]):
    """The items of ids, each decoded once. ExpressionError for a term that cannot be compared."""

    def __init__(self, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary

    def __missing__(self, term_id: int) -> Item:
        text = self._dictionary.decode(term_id)
        item = self[term_id] = Item(orderable(parse_constant(text)), text)
        return item


def _numbers(items: Sequence[Item]) -> tuple[Rank, list[Real]]:
    """The numbers of a group, promoted to the highest rank among them. ExpressionError for other terms."""
    numbers = [value for value, _ in items if isinstance(value, Number)]
    if len(numbers) < len(items):
        raise ExpressionError("only numbers can be summed")
    return promote_all(numbers)


def _text(rank: Rank, value: Real) -> str:
    return constant_text(literal_of(as_result(rank, value)))


def total(rank: Rank, numbers: Sequence[Real]) -> Real:
    """The sum. Floats are rounded once, at the end, so that their order does not matter."""
    if rank < Rank.FLOAT:
        return reduce(add, numbers)
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):  # an intermediate overflow, or infinities of both signs
        return sum(sorted(numbers))


def sum_(items: Sequence[Item]) -> str:
    rank, numbers = _numbers(items)
    return _text(rank, total(rank, numbers))


def average(items: Sequence[Item]) -> str:
    """The sum divided by the count; a decimal if all numbers are integers."""
    return _mean(*_numbers(items))


def _mean(rank: Rank, numbers: Sequence[Real]) -> str:
    summed = total(rank, numbers)
    if rank < Rank.FLOAT:
        return _text(Rank.DECIMAL, divide(Decimal(summed), Decimal(len(numbers))))
    return _text(rank, divide(summed, float(len(numbers))))


def least(items: Sequence[Item]) -> str:
    """The least value by ``<``, which all values must be comparable by. NaN only if there is nothing else."""
    return _extreme(items, precedes)


def greatest(items: Sequence[Item]) -> str:
    """The greatest value by ``<``; otherwise as ``least``."""
    return _extreme(items, lambda left, right: precedes(right, left))


def _extreme(items: Sequence[Item], better: Callable[[Orderable, Orderable], bool]) -> str:
    """The best item. Among equal values the least text wins."""
    best = items[0]
    for item in items[1:]:
        if item.text != best.text and (
            better(item.value, best.value) or (item.text < best.text and not better(best.value, item.value))
        ):
            best = item
    return best.text


FUNCTIONS: dict[str, Callable[[Sequence[Item]], str]] = {
    "sum": sum_,
    "avg": average,
    "min": least,
    "max": greatest,
}
