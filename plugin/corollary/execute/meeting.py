"""Two joins at once, where both bind the same variable: their values meet.

A rule that is matched backward knows both ends of its paths:

    [?x, :q, ?z] :- [?x, :p, ?y], [?y, :r, ?z] .   ?x and ?z are known

The join with :p lists all ?y of a row, and most of them do not lead to ?z. So the two sorted lists of a row,
the objects of ?x and the subjects of ?z, are intersected, and no other ?y is listed.
"""

from __future__ import annotations

from collections.abc import Mapping

from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import counts as count_keys
from corollary.execute.batches import Batch
from corollary.execute.tuning import (
    MAX_FACTS_SORTED_PER_ROW,
    MIN_FANOUT_TO_MEET,
    MIN_ROWS_TO_MEET,
    ROWS_SAMPLED,
)
from corollary.kernels.sorted import Column
from corollary.plan.steps import Age, Join, Step


def join_both(batch: Batch, first: Step, second: Step, facts: Mapping[Age, TripleIndex]) -> Batch | None:
    """The batch joined with two atoms that bind the same variable; None if each is to be joined alone.

    So it is if an atom has other open terms, or several predicates, if the first join returns few rows for
    each one of the batch, or fewer than the second overlay, or if an order of a relation that is needed does
    not exist yet.
    """
    if batch.size < MIN_ROWS_TO_MEET or not (isinstance(first, Join) and isinstance(second, Join)):
        return None
    free = [term for term in (first.atom.s, first.atom.o) if not batch.knows(term)]
    if len(free) != 1 or second.atom.s == second.atom.o:
        return None
    (variable,) = free
    sides = []
    for step in (first, second):
        inverse = step.atom.s == variable
        bound, met = (step.atom.o, step.atom.s) if inverse else (step.atom.s, step.atom.o)
        relation = _relation(batch, step, facts)
        if met != variable or bound not in batch.columns or relation is None:
            return None
        if inverse and not is_sorted_soon(relation, batch.size):
            return None
        sides.append((relation, batch.columns[bound], inverse))
    relation, column, inverse = sides[0]
    sample = column[:: max(1, batch.size // ROWS_SAMPLED)]
    counts = relation.object_counts(sample) if inverse else relation.subject_counts(sample)
    if int(counts.sum()) < MIN_FANOUT_TO_MEET * sample.size or lists_more(sides[1], int(counts.sum())):
        return None
    one, other = (relation.runs(ends, inverse=inverse) for relation, ends, inverse in sides)
    rows, values = one.common(other)
    extended = batch.take(rows)
    extended.columns[variable] = values
    return extended


def lists_more(side: tuple[Relation, Column, bool], rows: int) -> bool:
    """Whether a side has more than some rows in its overlay, for a sample of its ends.

    All rows of an overlay are listed. Example: thousands of types by one class that were proved just now.
    """
    relation, column, inverse = side
    added = relation.parts[1]
    if not len(added):
        return False
    sample = column[:: max(1, column.size // ROWS_SAMPLED)]
    return int(count_keys(added.by_object if inverse else added.keys, sample).sum()) > rows


def is_sorted_soon(relation: Relation, rows: int) -> bool:
    """Whether the order by object exists, or the relation has few facts to sort for each of the rows.

    The relation keeps the order, once it is made.
    """
    base = relation.parts[0]
    return base.has_by_object or len(base) <= MAX_FACTS_SORTED_PER_ROW * rows


def _relation(batch: Batch, step: Join, facts: Mapping[Age, TripleIndex]) -> Relation | None:
    """The listed relation that an atom matches in all rows; None if there is no such relation."""
    predicate = step.atom.p
    if predicate < 0:
        predicates = batch.columns.get(predicate)
        if predicates is None or (predicates != predicates[0]).any():
            return None
        predicate = int(predicates[0])
    relation = facts[step.age].relation(predicate)
    return None if relation.is_compressed else relation
