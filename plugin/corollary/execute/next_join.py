"""The next of several joins: that which returns fewest rows, by an estimate from few rows of the batch.

A plan orders joins by the sizes of relations, once. But facts are not evenly distributed: the bindings of one
batch may have a thousand matches each in a small relation, and three each in a large one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from corollary.columns import TripleIndex
from corollary.execute.batches import Batch
from corollary.execute.tuning import MIN_ROWS_SAVED, MIN_ROWS_TO_ESTIMATE, ROWS_SAMPLED
from corollary.plan.steps import Age, Join, Plan
from corollary.program.compile import Atom


def next_join(steps: Plan, batch: Batch, facts: Mapping[Age, TripleIndex]) -> int:
    """The position of the step to run next, among the joins that ``steps`` begins with; else 0.

    The first one stays first unless another returns at most 1/``MIN_ROWS_SAVED`` of its rows. Only joins
    with an index in memory are considered. Cost: O(``ROWS_SAMPLED`` log |facts|) for each join.
    """
    if batch.size < MIN_ROWS_TO_ESTIMATE or len(steps) < 2 or not isinstance(steps[1], Join):
        return 0
    chosen, least = 0, 0.0
    for position, step in enumerate(takewhile(lambda step: isinstance(step, Join), steps)):
        assert isinstance(step, Join)
        rows = _rows(step.atom, batch, facts[step.age])
        if rows is None and position == 0:
            return 0
        if position == 0 or (rows is not None and MIN_ROWS_SAVED * rows <= least):
            chosen, least = position, rows or 0.0
    return chosen


def _rows(atom: Atom, batch: Batch, facts: TripleIndex) -> float | None:
    """The number of rows of a join, estimated; None if it is not known at little cost."""
    knows_subject, knows_object = batch.knows(atom.s), batch.knows(atom.o)
    if atom.p < 0 or not (knows_subject or knows_object):
        return None
    if knows_subject and knows_object:
        return batch.size
    relation = facts.relation(atom.p)
    if relation.is_compressed or (knows_object and not relation.parts[0].has_by_object):
        return None
    bound = atom.s if knows_subject else atom.o
    if bound not in batch.columns:
        return None
    step = max(1, batch.size // ROWS_SAMPLED)
    sample = batch.columns[bound][::step]
    counts = relation.subject_counts(sample) if knows_subject else relation.object_counts(sample)
    return float(counts.mean()) * batch.size
