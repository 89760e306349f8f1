"""Rows whose two ends are joined by a path of atoms: the paths of many rows are looked for at once.

A rule that is matched backward knows both ends of its paths:

    [?x, :q, ?z] :- [?y, :p, ?x], [?y, :r, ?w], [?w, :p, ?z] .   ?x and ?z are known

Rows with the same ?x, which follow each other, share the first steps. So all ?w that ?x leads to are marked
once, and each row looks up the few ?w that lead to its ?z: many rows cost little more than one, however many
paths there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from corollary.columns import Relation, TripleIndex
from corollary.columns.numbering import numbered
from corollary.columns.pairs import ascending, firsts, pack, seconds
from corollary.execute.batches import Batch
from corollary.execute.meeting import is_sorted_soon
from corollary.execute.tuning import (
    MAX_TABLE_ENTRIES_PER_ROW,
    MAX_VALUES_MARKED_PER_ROW,
    MIN_ROWS_TO_MEET_HALFWAY,
)
from corollary.kernels.halfway import meet_halfway
from corollary.kernels.limits import reserve
from corollary.kernels.sorted import Column, Rows
from corollary.plan.steps import Age, Join, Plan


class Edge(NamedTuple):
    """A step of a path: from subjects to objects, or from objects to subjects (``inverse``)."""

    step: Join
    relation: Relation
    inverse: bool


def along_path(
    batch: Batch, steps: Plan, facts: Mapping[Age, TripleIndex], *, is_test: bool
) -> tuple[Batch, Plan] | None:
    """The rows between whose ends there is a path, and the steps that are left.

    The last variable of the path before the second end is bound; with ``is_test`` none is, each row is
    returned once at most, and no steps are left. Returns None if the steps are no path between two variables
    of the batch, if the rows are few, or in the order of neither end, or if joins seem to cost less.
    """
    if batch.size < MIN_ROWS_TO_MEET_HALFWAY or len(steps) < 2:
        return None
    bound = [v for v in batch.columns if any(v in (s.atom.s, s.atom.o) for s in steps if isinstance(s, Join))]
    start = next((v for v in bound if _ascends(batch.columns[v])), 0)
    edges = _path(batch, steps, facts, start) if len(bound) == 2 and start else []
    if not edges:
        return None
    nodes, groups = numbered(batch.columns[start])
    left = np.arange(nodes.size, dtype=np.uint32), nodes
    for edge in edges[:-2]:
        rows, values = (edge.relation.subjects_of if edge.inverse else edge.relation.objects_of)(left[1])
        keys = ascending(pack(left[0][rows], values))
        left = firsts(keys), seconds(keys)
    (end,) = {*bound} - {start}
    met = _met(groups, left, batch.columns[end], edges[-2:], is_test=is_test)
    if met is None:
        return None
    rows, values = met
    found = batch.take(rows)
    if is_test:
        return found, ()
    atom = edges[-1].step.atom
    found.columns[atom.o if edges[-1].inverse else atom.s] = values
    return found, tuple(step for step in steps if step is not edges[-1].step) if len(steps) > 2 else ()


def _met(
    groups: Rows, left: tuple[Column, Column], ends: Column, edges: Sequence[Edge], *, is_test: bool
) -> tuple[Rows, Column] | None:
    """The rows with a path, and the values at which its last two edges meet; None if this costs too much.

    ``left``: pairs of a group and a node from which one of these edges starts, sorted.
    """
    edge, last = edges
    span = last.relation.span(subjects=not last.inverse) or edge.relation.span(subjects=edge.inverse)
    if span is None or span[1] - span[0] > MAX_TABLE_ENTRIES_PER_ROW * ends.size:
        return None
    one = edge.relation.runs(left[1], inverse=edge.inverse).located()
    if int(one.counts.sum()) > MAX_VALUES_MARKED_PER_ROW * ends.size:
        return None
    other = last.relation.runs(ends, inverse=not last.inverse).located()
    beside = int(other.counts[: 2 * ends.size].sum())
    if beside > MAX_VALUES_MARKED_PER_ROW * ends.size:
        return None
    room = ends.size if is_test else beside
    reserve(12 * room)
    rows: Rows = np.empty(room, np.int64)
    values: Column = np.empty(room, np.uint32)
    table: Rows = np.zeros(span[1] - span[0] + 2, np.int64)
    offsets: Rows = np.searchsorted(left[0], np.arange(groups.max() + 2))
    size = meet_halfway(groups, offsets, *one, *other, span[0], table, is_test, rows, values)
    return rows[:size], values[:size]


def _path(batch: Batch, steps: Plan, facts: Mapping[Age, TripleIndex], start: int) -> list[Edge]:
    """The steps in the order of a path from one variable of the batch to another; none if they are none."""
    waiting, edges, at, met = list(steps), list[Edge](), start, {start}
    while waiting:
        step = next((s for s in waiting if isinstance(s, Join) and at in (s.atom.s, s.atom.o)), None)
        if step is None or step.atom.p < 0 or step.atom.s == step.atom.o:
            return []
        relation = facts[step.age].relation(step.atom.p)
        inverse = step.atom.o == at
        if relation.is_compressed or not is_sorted_soon(relation, batch.size):
            return []
        edges.append(Edge(step, relation, inverse))
        waiting.remove(step)
        at = step.atom.s if inverse else step.atom.o
        if at >= 0 or at in met or (at in batch.columns) != (not waiting):
            return []
        met.add(at)
    return edges


def _ascends(column: Column) -> bool:
    return bool((column[1:] >= column[:-1]).all())
