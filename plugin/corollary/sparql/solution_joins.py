"""Joins, left joins and differences of the solutions of one operand with those of another, batch by batch.

The other operand starts from the rows of the batch where that gives the same solutions: then it is not
listed. Else its solutions are listed once, and kept if they are few.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from itertools import chain as end_to_end

import numpy as np
from rdflib.term import Variable

from corollary.execute.batches import Batch, product
from corollary.execute.few_rows import few_matches
from corollary.execute.tuning import MAX_ROWS_JOINED_ONE_BY_ONE
from corollary.kernels.limits import current
from corollary.kernels.sorted import Mask
from corollary.kernels.threads import apart
from corollary.sparql.algebra import LeftJoin, Minus, Operator, Triples, Union, blank_nodes, mentioned
from corollary.sparql.basic_patterns import continues, has_match, matches
from corollary.sparql.evaluation_order import chain, is_driven, pattern_of
from corollary.sparql.query_evaluation import Evaluation, Scope
from corollary.sparql.scopes import possible
from corollary.sparql.solution_conditions import filtered
from corollary.sparql.solutions import (
    Change,
    Parts,
    counted_rows,
    distinct,
    gathered,
    join_parts,
    piped,
    projected,
    settled,
    stacked,
    with_matches,
    without,
)
from corollary.sparql.tuning import MAX_ROWS_HELD, ROWS_PER_CHUNK, ROWS_PER_LIMITED_CHUNK
from corollary.sparql.written_literals import UNBOUND


def joining(own: Evaluation, part: Operator, scope: Scope, limit: int, is_counted: bool = False) -> Change:
    """The join of a batch with a part.

    Without a list of the part's solutions, where it may start from the batch: a basic graph pattern, or
    branches and steps that start from one.
    """
    at_once = _listed(own, part, scope, limit)
    if pattern_of(own, part) is not None:

        def continued(left: Batch) -> Parts:
            if not continues(own, left, part, scope):
                return at_once(left)
            parts = own.pattern_parts(part, scope, left, limit, None, is_counted)
            return settled(parts, limit) if limit > ROWS_PER_LIMITED_CHUNK and not is_counted else parts

        return continued
    leaf, steps = chain(own, part)
    begin: Change
    if isinstance(leaf, Union):
        branches = [joining(own, branch, scope, limit) for branch in leaf.branches]

        def by_branch(left: Batch) -> Parts:
            return gathered(end_to_end.from_iterable(branch(left) for branch in branches), limit)

        begin = by_branch
    elif steps:
        begin = joining(own, leaf, scope, limit)
    else:
        return at_once
    changes = own.changes(steps, scope, limit)

    def driven(left: Batch) -> Parts:
        names = left.columns
        if not continues(own, left, part, scope) or not is_driven(own, part, names, names):
            return at_once(left)
        parts = piped(begin(left), changes)
        return settled(parts, limit) if limit > ROWS_PER_LIMITED_CHUNK else parts

    return driven


def _listed(own: Evaluation, part: Operator, scope: Scope, limit: int) -> Change:
    """As ``joining``, with a list of the part's solutions."""
    alone: list[Batch | None] = []
    """These, found when they are first needed; None if they are too many."""

    def joined(left: Batch) -> Parts:
        if not left.size:
            return []
        if not alone:
            alone.append(_few(own, part, scope))
        (kept,) = alone
        if kept is not None:
            return join_parts(left, kept, limit)
        every = own.parts(part, scope)
        return gathered(end_to_end.from_iterable(join_parts(left, some, limit) for some in every), limit)

    return joined


def _few(own: Evaluation, part: Operator, scope: Scope) -> Batch | None:
    """The solutions of a part; None if they are too many to be kept beside others."""
    kept, size = [], 0
    for batch in own.parts(part, scope):
        kept.append(batch)
        size += batch.size
        current().rows(size)
        if size > MAX_ROWS_HELD:
            return None
    return stacked(kept)


def left_joining(own: Evaluation, step: LeftJoin, scope: Scope, limit: int, is_counted: bool) -> Change:
    """The left join of a batch with a part; with ``is_counted``, batches may lack columns."""
    joined: Change | None = None  # not needed where ``beside`` is enough
    row = own.fresh()

    def parts(left: Batch) -> Iterator[Batch]:
        nonlocal joined
        if joined is None:
            joined = joining(own, step.right, scope, limit)
        names = mentioned(step.right) | mentioned(step.condition)
        read = dict.fromkeys([*map(own.numbers.__getitem__, names), *scope.seed.columns])
        numbered = projected(left, read)
        numbered.columns[row] = np.arange(left.size, dtype=np.uint32)
        others = Batch(left.size, dict(left.columns))
        for variable in read:
            others.columns.pop(variable, None)
        unmatched: Mask = np.ones(left.size, np.bool_)
        for both in joined(numbered):
            if step.condition is not None:
                both = filtered(own, step.condition, both, scope)
            if both.size:
                matched = both.columns[row]
                apart(matched.size, partial(unmatched.__setitem__, matched, False))
                is_same = both.size == left.size and bool((matched == numbered.columns[row]).all())
                beside = others if is_same else others.take(matched.astype(np.int64))
                found = {v: c for v, c in both.columns.items() if v != row}
                yield Batch(both.size, beside.columns | found)
        if unmatched.any():
            yield left.take(unmatched)

    def change(left: Batch) -> Parts:
        counts = matches(own, left, step.right, scope) if is_counted and step.condition is None else None
        if counts is not None:
            return [Batch(int(np.maximum(counts, 1).sum()), {})]
        beside = own.beside(left, step.right, scope, limit) if step.condition is None else None
        if beside is not None:
            return [beside]
        return settled(parts(left), limit)

    return change


def beside(own: Evaluation, left: Batch, part: Operator, scope: Scope, limit: int) -> Batch | None:
    """The left join with one triple pattern, with one end that is known and one new variable.

    None for other patterns, if the known end is unbound in some rows, and if there are more matches than
    ``limit``. Cost: two searches for each row, one for each of few rows; the columns are copied only if a
    row has several matches.
    """
    if not isinstance(part, Triples) or len(part.triples) != 1:
        return None
    (pattern,) = own.patterns(part)
    known, free = (pattern.s, pattern.o) if left.knows(pattern.s) else (pattern.o, pattern.s)
    is_look_up = type(pattern.p) is int and pattern.p >= 0 and left.knows(known) and not left.knows(free)
    is_kept = not blank_nodes(part) and scope.seed.columns.keys() <= left.columns.keys()
    if not is_look_up or not is_kept:
        return None
    relation, is_subject = scope.index.relation(pattern.p), known == pattern.s
    if relation.is_compressed:
        return None
    if known >= 0:
        values = relation.column_of_objects(known) if is_subject else relation.column_of_subjects(known)
        if left.size * values.size > limit:
            return None
        return product(left, Batch(values.size, {free: values})) if values.size else left
    column = left.columns[known]
    if left.size <= MAX_ROWS_JOINED_ONE_BY_ONE:
        values = column.tolist()
        if UNBOUND in values:
            return None
        few = few_matches(values, relation, is_subject=is_subject, missing=UNBOUND)
        if few is not None:
            rows, ends = few
            both = left if len(rows) == left.size else left.take(np.array(rows))
            return Batch(both.size, {**both.columns, free: np.array(ends, np.uint32)})
    elif (column == UNBOUND).any():
        return None
    counts = relation.subject_counts(column) if is_subject else relation.object_counts(column)
    if int(counts.sum()) > limit:
        return None
    return with_matches(left, free, *(relation.objects_of if is_subject else relation.subjects_of)(column))


def subtracting(own: Evaluation, step: Minus, scope: Scope) -> Change:
    """The rows of a batch without those that MINUS removes."""
    others: list[Batch] = []
    """The values that the right side has, found when they are first needed."""

    def change(left: Batch) -> Parts:
        if pattern_of(own, step.right) is not None and continues(own, left, step.right, scope):
            matched = has_match(own, left, step.right, scope)
            return [left.take(~matched) if matched.any() else left]
        if not others:
            others.append(_distinct_values(own, step.right, scope, possible(step.left)))
        return [without(left, others[0], scope.rows)]

    return change


def _distinct_values(own: Evaluation, part: Operator, scope: Scope, variables: Collection[Variable]) -> Batch:
    """The distinct values of some variables, and of the seed, among the solutions of a part."""
    columns = dict.fromkeys([*map(own.numbers.__getitem__, variables), *scope.seed.columns])
    found = (projected(batch, columns) for batch in own.parts(part, scope, variables))
    return distinct(counted_rows(found, ROWS_PER_CHUNK)[0])
