"""The groups that a change touches: only these are computed anew.

A group's aggregate is another one only if the group gains or loses a match. Such a match has a fact that
came or went, so joining these facts with the rest of the inner body finds the groups (as for GROUPBY in
Gupta, Mumick, Subrahmanian, Maintaining Views Incrementally, 1993; but the aggregate of a touched group is
not followed, it is computed from all its matches).
"""

from __future__ import annotations

from corollary.columns.triples import TripleIndex
from corollary.execute.batches import Batch, concatenate, join
from corollary.execute.run_plan import distinct_rows, sizes
from corollary.plan.join_order import ordered_atoms
from corollary.program.compile import Grouping


def touched(grouping: Grouping, facts: TripleIndex, changed: TripleIndex) -> Batch:
    """The values of the group variables in all matches over ``facts`` that have a changed fact.

    ``facts`` are those before the change if the changed ones went, those after it if they came. Some groups
    may be too many: conditions are not looked at, nor more atoms than it takes to bind the variables.
    """
    parts = [_groups(grouping, position, facts, changed) for position in range(len(grouping.atoms))]
    found = concatenate([part for part in parts if part.size])
    return distinct_rows(found, grouping.group) if found.size else found


def _groups(grouping: Grouping, position: int, facts: TripleIndex, changed: TripleIndex) -> Batch:
    """The groups in which the atom at a position matches a changed fact."""
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
