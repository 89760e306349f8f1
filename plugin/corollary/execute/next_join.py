"""The next of several joins: that which returns fewest rows, by an estimate from few rows of the batch.

A plan orders joins by the sizes of relations, once. But facts are not evenly distributed: the bindings of one
batch may have a thousand matches each in a small relation, and three each in a large one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

import numpy as np

from corollary.columns import TripleIndex
from corollary.columns.pairs import seconds
from corollary.execute.batches import Batch
from corollary.execute.tuning import MIN_ROWS_SAVED, MIN_ROWS_TO_ESTIMATE, ROWS_PER_SLICE, ROWS_SAMPLED
from corollary.plan.join_order import ordered_atoms
from corollary.plan.steps import Age, Join, Plan, Size, Step
from corollary.program.compile import Atom, Grouping


def next_join(steps: Plan, batch: Batch, facts: Mapping[Age, TripleIndex]) -> int:
    """The position of the step to run next, among the joins that ``steps`` begins with; else 0.

    The first one stays first unless another returns at most 1/``MIN_ROWS_SAVED`` of its rows. Only joins by
    an order of a relation that exists already are considered. Cost: O(``ROWS_SAMPLED`` log |facts|) a join.
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


def slices_of(step: Step, batch: Batch, facts: Mapping[Age, TripleIndex]) -> int:
    """In how many slices of the batch a step is run, so that each returns about ``ROWS_PER_SLICE`` rows.

    1 for all but joins of many rows, by an estimate. Slices bound the memory of what is between two joins.
    """
    if batch.size < MIN_ROWS_TO_ESTIMATE or not isinstance(step, Join) or step.atom.p < 0:
        return 1
    atom, relation = step.atom, facts[step.age].relation(step.atom.p)
    if batch.knows(atom.s) == batch.knows(atom.o):
        return 1
    bound = atom.s if batch.knows(atom.s) else atom.o
    if bound not in batch.columns:
        return 1
    sample = batch.columns[bound][:: max(1, batch.size // ROWS_SAMPLED)]
    counts = relation.subject_counts(sample) if bound == atom.s else relation.object_counts(sample)
    rows = float(counts.mean()) * batch.size
    return min(batch.size, int(rows / ROWS_PER_SLICE)) if rows > 2 * ROWS_PER_SLICE else 1


def order_of_groups(grouping: Grouping, facts: TripleIndex, size: Size) -> list[Atom]:
    """The atoms of an aggregate in join order, from no bindings.

    The first atom is that of the least relation. If the next one would be joined through objects that are not
    sorted yet, and has a group variable as subject, it is first instead: its rows come in the order of the
    groups. It is not if the join leaves few of its rows.
    """
    atoms = ordered_atoms(grouping.atoms, (), size)
    if len(atoms) > 1 and atoms[1].s in grouping.group and _is_scan_better(atoms[1], atoms[0], facts):
        atoms = [atoms[1], *ordered_atoms([atoms[0], *atoms[2:]], atoms[1].variables, size)]
    return atoms


def _is_scan_better(atom: Atom, least: Atom, facts: TripleIndex) -> bool:
    """Whether the objects of ``atom`` are not sorted yet, and most facts seem to match ``least``."""
    if atom.p < 0 or least.p < 0 or atom.o not in (least.s, least.o):
        return False
    whole, relation = facts.relation(atom.p), facts.relation(least.p)
    if whole.is_compressed or relation.is_compressed or whole.parts[0].has_by_object:
        return False
    keys = whole.parts[0].keys
    sample = seconds(keys[:: max(1, keys.size // ROWS_SAMPLED)])
    counts = relation.subject_counts(sample) if atom.o == least.s else relation.object_counts(sample)
    return MIN_ROWS_SAVED * int(np.count_nonzero(counts)) >= sample.size
