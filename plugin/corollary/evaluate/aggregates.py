"""AGGREGATE over batches of bindings.

The idea: groups get numbers, and (group, value) pairs are packed and sorted, so that a group is a
run. Counting is arithmetic on runs; the other functions decode every distinct value once and then
work through the runs in Python. Results do not depend on the order of rows or of ids. Invariant: a
group has a row iff all of its aggregates have a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce

import numpy as np

from corollary.evaluate.bindings import Batch
from corollary.evaluate.expressions import Terms, number_rows, values
from corollary.evaluate.operators import (
    ExpressionError,
    Number,
    Rank,
    Real,
    add,
    as_result,
    divide,
    less,
    literal_of,
    number,
    promote_all,
)
from corollary.index.pairs import firsts, pack, seconds, sorted_unique
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.language import AggregateBinding, Constant, Literal, constant_text
from corollary.plan.compile import CompiledRule, Grouping
from corollary.terms.dictionary import TermDictionary


def group(inner: Batch, grouping: Grouping, rule: CompiledRule, dictionary: TermDictionary) -> Batch:
    """One row a group of the rows of ``inner``, with the group's variables and the results.

    The rows are the distinct bindings of the inner body's variables: what is aggregated is the bag
    of the argument's values over them. Without rows there are no groups, even if there is nothing to
    group by: as in RDFox, and unlike SPARQL, a rule does not count nothing. ``count`` leaves out
    rows whose argument is an error; for the others one such row, or values that cannot be computed
    with, leave the group without a result, hence without a row.
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
    """One aggregate's result for every group, as a term id, and which groups have one."""
    complete = np.ones(size, np.bool_)
    if binding.argument is None:  # rows are distinct, so count(distinct *) is count(*)
        return _encoded_counts(np.bincount(numbers, minlength=size), dictionary), complete
    ids, valid = values(inner, binding.argument, rule, dictionary)
    keys = pack(numbers[valid].astype(np.uint32), ids[valid])
    keys = sorted_unique(keys) if binding.distinct else np.sort(keys)
    counts = np.bincount(firsts(keys), minlength=size)
    if binding.function == "count":
        return _encoded_counts(counts, dictionary), complete
    complete[numbers[~valid]] = False
    column: Column = np.zeros(size, np.uint32)
    terms = Terms(dictionary)
    constants = [terms[term_id] for term_id in seconds(keys).tolist()]
    ends = np.cumsum(counts)
    function = FUNCTIONS[binding.function]
    for position in np.flatnonzero(complete).tolist():
        try:
            result = function(constants[ends[position] - counts[position] : ends[position]])
            column[position] = dictionary.encode(constant_text(result))
        except ExpressionError:
            complete[position] = False
    return column, complete


def _encoded_counts(counts: Rows, dictionary: TermDictionary) -> Column:
    """Counts as ids of xsd:integer literals; every distinct one is encoded once."""
    used = np.flatnonzero(np.bincount(counts)) if counts.size else counts
    ids = [
        dictionary.encode(constant_text(literal_of(Number(Rank.INTEGER, count)))) for count in used.tolist()
    ]
    return np.array(ids, np.uint32)[np.searchsorted(used, counts)]


def _numbers(constants: Sequence[Constant]) -> tuple[Rank, list[Real]]:
    """The numbers of a group, all of the highest rank among them."""
    return promote_all(list(map(number, constants)))


def total(rank: Rank, numbers: Sequence[Real]) -> Real:
    """The sum; that of floats is rounded only once, so that their order does not matter."""
    if rank < Rank.FLOAT:
        return reduce(add, numbers)
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):  # too large on the way, or infinities of both signs
        return sum(sorted(numbers))


def sum_(constants: Sequence[Constant]) -> Literal:
    rank, numbers = _numbers(constants)
    return literal_of(as_result(rank, total(rank, numbers)))


def average(constants: Sequence[Constant]) -> Literal:
    """Sum divided by count: a decimal if all are integers."""
    return literal_of(_quotient(*_numbers(constants)))


def median(constants: Sequence[Constant]) -> Literal:
    """The middle number, or the mean of the two in the middle; a decimal if all are integers."""
    rank, numbers = _numbers(constants)
    if any(map(math.isnan, numbers)):
        return literal_of(Number(rank, math.nan))
    numbers.sort()
    middle = len(numbers) // 2
    return literal_of(_quotient(rank, numbers[(len(numbers) - 1) // 2 : middle + 1]))


def _quotient(rank: Rank, numbers: Sequence[Real]) -> Number:
    """The mean of numbers of one rank."""
    summed = total(rank, numbers)
    if rank < Rank.FLOAT:
        return Number(Rank.DECIMAL, divide(Decimal(summed), Decimal(len(numbers))))
    return as_result(rank, divide(summed, float(len(numbers))))


def least(constants: Sequence[Constant]) -> Constant:
    """The least by ``<``: all numbers, all strings, or so; of equal ones the first by its text."""
    return reduce(lambda best, other: other if less(other, best) else best, _by_text(constants))


def greatest(constants: Sequence[Constant]) -> Constant:
    """The greatest by ``<``; of equal ones the first by its text."""
    return reduce(lambda best, other: other if less(best, other) else best, _by_text(constants))


def _by_text(constants: Sequence[Constant]) -> list[Constant]:
    ordered = sorted(set(constants), key=constant_text)
    less(ordered[0], ordered[0])  # even a single value must be one that has an order
    return ordered


FUNCTIONS: dict[str, Callable[[Sequence[Constant]], Constant]] = {
    "sum": sum_,
    "avg": average,
    "min": least,
    "max": greatest,
    "median": median,
}
