"""Conditions and expressions on the rows of a batch, and EXISTS, which evaluates a pattern for these rows.

Within EXISTS, the distinct rows to test are the seed of the pattern's scope, each with a row number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from corollary.execute.batches import Batch
from corollary.execute.filters import number_rows
from corollary.kernels.sorted import Mask
from corollary.sparql.algebra import (
    Expression,
    Extend,
    Filter,
    Operator,
    conjuncts,
    has_exists,
    has_subquery,
    mentioned,
)
from corollary.sparql.patterns import Reduction
from corollary.sparql.query_evaluation import Evaluation, Scope
from corollary.sparql.solutions import groups, projected
from corollary.sparql.term_evaluation import is_volatile
from corollary.sparql.written_literals import UNBOUND


def filtered(own: Evaluation, expression: Expression, batch: Batch, scope: Scope) -> Batch:
    if not batch.size:
        return batch
    true = own.expressions.true_rows(expression, batch, exists_in(own, scope))
    return batch if true.all() else batch.take(true)


def extended(own: Evaluation, part: Extend, batch: Batch, scope: Scope) -> Batch:
    values = own.expressions.values(part.value, batch, exists_in(own, scope))
    number = own.numbers[part.variable]
    if number in batch.columns:
        values = np.where(values == UNBOUND, batch.columns[number], values)
    return Batch(batch.size, batch.columns | {number: values})


def conditions(own: Evaluation, part: Filter, scope: Scope) -> tuple[Reduction, Reduction]:
    """Two changes of batches: by conjuncts whose variables have columns, and by the whole condition.

    The first evaluates no conjunct that may differ the second time, such as ``RAND() < ?y``.
    """
    functions = own.dataset.source.functions

    def early(batch: Batch) -> Batch:
        for condition in conjuncts(part.condition):
            read = mentioned(condition)
            is_simple = read and not has_exists(condition) and not is_volatile(condition, functions)
            if is_simple and all(own.numbers[v] in batch.columns for v in read):
                batch = filtered(own, condition, batch, scope)
        return batch

    def finish(batch: Batch) -> Batch:
        return filtered(own, part.condition, batch, scope)

    return early, finish


def exists_in(own: Evaluation, scope: Scope) -> Callable[[Operator, Batch], Mask]:
    """A function that evaluates EXISTS in this scope, once for every distinct combination of values."""

    def exists(part: Operator, batch: Batch) -> Mask:
        variables = [v for v in map(own.numbers.__getitem__, mentioned(part)) if v in batch.columns]
        first, numbers = number_rows(batch, variables)
        found: Mask = np.zeros(first.size, np.bool_)
        asked = projected(batch, variables).take(first)
        for rows, seed in groups(asked, variables):
            found[rows] = _have_solutions(own, part, scope, seed)
        answers: Mask = found[numbers]
        return answers

    return exists


def _have_solutions(own: Evaluation, part: Operator, scope: Scope, seed: Batch) -> Mask:
    """For each row of the seed, whether a pattern has a solution: row by row if it has a subquery."""
    found: Mask = np.zeros(seed.size, np.bool_)
    if has_subquery(part):  # its aggregates and limits apply to each row separately
        for i in range(seed.size):
            alone = replace(scope, seed=seed.take(np.array([i])), rows=frozenset())
            found[i] = own.solutions(part, alone, 1).size > 0
        return found
    row = own.fresh()
    columns = seed.columns | {row: np.arange(seed.size, dtype=np.uint32)}
    inside = Scope(scope.index, Batch(seed.size, columns), frozenset((row,)))
    for batch in own.parts(part, inside, ()):  # only the rows are asked for
        if batch.size:
            found[batch.columns[row]] = True
    return found
