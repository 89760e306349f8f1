"""The groups of an aggregate that a change touches. Only the aggregates of these groups are recomputed.

The aggregate of a group changes only if the group gains or loses a match of the inner body. Such a match
contains an added or removed fact. So the groups are found by joining the changed facts with the other inner
atoms, as for GROUPBY in Gupta, Mumick, Subrahmanian, Maintaining Views Incrementally, 1993. Unlike there, the
aggregate of a touched group is not updated: it is computed from all matches of the group.
"""

from __future__ import annotations

from corollary.columns import TripleIndex
from corollary.execute.batches import Batch, concatenate, join
from corollary.execute.run_plan import distinct_rows, sizes
from corollary.plan.join_order import ordered_atoms
from corollary.program.compile import Grouping


def touched(grouping: Grouping, facts: TripleIndex, changed: TripleIndex) -> Batch:
    """The values of the group variables in all matches over ``facts`` that contain a changed fact, each once.

    Precondition: ``facts`` are all facts before the change for removed facts, after the change for added
    ones. The result may have further groups: conditions are ignored, and so are atoms that remain once all
    group variables are bound.
    """
    parts = [_groups(grouping, position, facts, changed) for position in range(len(grouping.atoms))]
    found = concatenate([part for part in parts if part.size])
    return distinct_rows(found, grouping.group) if found.size else found


def _groups(grouping: Grouping, position: int, facts: TripleIndex, changed: TripleIndex) -> Batch:
    """The groups with a match in which the atom at ``position`` is a changed fact. May contain duplicates."""
    rest = list(grouping.atoms)
    atom = rest.pop(position)
    if atom.p >= 0 and len(atom.variables) == 2 and grouping.group in ((atom.s,), (atom.o,)):
        pairs = changed.relation(atom.p).pairs()
        values = pairs.distinct_firsts() if grouping.group == (atom.s,) else pairs.distinct_seconds()
        return Batch(int(values.size), {grouping.group[0]: values})
    batch = join(Batch.start(), atom, changed)
    for following in ordered_atoms(rest, batch.columns, sizes(facts)):
        if not batch.size or all(map(batch.knows, grouping.group)):
            break
        batch = join(batch, following, facts)
    return Batch(batch.size, {v: batch.columns[v] for v in grouping.group}) if batch.size else batch
