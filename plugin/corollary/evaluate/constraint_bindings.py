"""The bindings of a constraint's body: some of them, and the number of all.

A constraint may have as many bindings as a compressed relation has facts. Where a plan scans such a relation,
subjects with the same matches in all steps form a group. One subject of each group is joined, and its
bindings count for all.

    a clique of 10,000 equal terms, two of them different: 100 million bindings of
    [?x, owl:sameAs, ?y], [?x, owl:differentFrom, ?y]; the joins have 10,000 rows
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corollary.columns import TripleIndex
from corollary.columns.numbering import number_keys
from corollary.columns.pairs import distinct, pack
from corollary.evaluate.tuning import ROWS_PER_CHUNK
from corollary.execute.batches import Batch, concatenate
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import ROW, run
from corollary.kernels.sorted import Column, Rows
from corollary.plan.steps import Age, AntiJoin, Group, Join, Plan, Select, Step
from corollary.program.compile import Atom, CompiledRule


def bindings(
    rule: CompiledRule, plan: Plan, facts: TripleIndex, context: ExecutionContext, most: int
) -> tuple[Batch, int]:
    """At least ``most`` of the bindings that a plan finds, or all, and the number of all."""
    batch = Batch.start()
    for position, step in enumerate(plan):
        if isinstance(step, Join) and _scans_compressed(batch, step.atom, facts):
            parts: list[Batch] = []
            count = found = 0
            for row in range(batch.size):
                start = batch.take(np.array([row]))
                for part, sizes, members in _grouped(rule, plan[position:], start, facts, context):
                    numbers = part.columns.pop(ROW)
                    count += int(sizes[numbers].sum())
                    if found < most:
                        variable = step.atom.s
                        parts.append(_expanded(part, variable, numbers, sizes, members, most - found))
                        found += parts[-1].size
            return concatenate(parts), count
        batch = run((step,), {Age.ALL: facts}, rule, context, batch)
        if not batch.size:
            break
    return batch, batch.size


def _scans_compressed(batch: Batch, atom: Atom, facts: TripleIndex) -> bool:
    """Whether an atom with free ends and a known predicate matches all facts of a compressed relation."""
    if batch.knows(atom.s) or batch.knows(atom.o) or atom.s == atom.o or not batch.knows(atom.p):
        return False
    predicates = distinct(batch.column(atom.p)).tolist()
    return any(facts.relation(predicate).is_compressed for predicate in predicates)


def _grouped(
    rule: CompiledRule, plan: Plan, start: Batch, facts: TripleIndex, context: ExecutionContext
) -> Iterator[tuple[Batch, Rows, Column]]:
    """The bindings that extend one row, for one subject of each group, in chunks.

    With each chunk: the sizes of all groups, and their members, group by group. The column ROW has the
    groups' numbers. Precondition: the plan starts with a join whose ends are free.
    """
    first = plan[0]
    assert isinstance(first, Join)
    relation = facts.relation(int(start.column(first.atom.p)[0]))
    subjects = relation.subject_terms()
    chosen, numbers = _groups(subjects, first.atom.s, plan, start, facts)
    sizes = np.bincount(numbers, minlength=chosen.size)
    members = subjects[np.argsort(numbers, kind="stable")]
    ends = np.cumsum(relation.subject_counts(subjects[chosen]))
    begin = 0
    while begin < chosen.size:
        least = (int(ends[begin - 1]) if begin else 0) + ROWS_PER_CHUNK
        end = max(begin + 1, int(np.searchsorted(ends, least, "right")))
        batch = start.take(np.zeros(end - begin, np.int64))
        batch.columns[first.atom.s] = subjects[chosen[begin:end]]
        batch.columns[ROW] = np.arange(begin, end, dtype=np.uint32)
        batch = run(plan, {Age.ALL: facts}, rule, context, batch)
        if batch.size:
            yield batch, sizes, members
        begin = end


def _groups(
    subjects: Column, variable: int, plan: Plan, start: Batch, facts: TripleIndex
) -> tuple[Rows, Rows]:
    """Group subjects with the same matches in all steps, as values of a variable.

    Returns the row of one subject of each group, and for each subject the number of its group.
    """
    found = number_keys(np.zeros(subjects.size, np.uint32))
    for step in plan:
        if variable not in _variables(step):
            continue
        atom = step.atom if isinstance(step, Join) else None
        if atom is None or atom.terms.count(variable) > 1 or variable == atom.p or not start.knows(atom.p):
            return number_keys(subjects)
        relation = facts.relation(int(start.column(atom.p)[0]))
        more = (relation if variable == atom.s else relation.inverse()).groups_of(subjects)
        codes = [numbers.astype(np.uint32) for numbers in (found[1], number_keys(more)[1])]
        found = number_keys(pack(*codes))
    return found


def _variables(step: Step) -> frozenset[int]:
    """The variables that a step reads from the rows before it, or matches."""
    if isinstance(step, Join):
        return frozenset(step.atom.variables)
    if isinstance(step, Select):
        return step.condition.needs
    if isinstance(step, AntiJoin):
        return frozenset(step.negation.shared)
    if isinstance(step, Group):
        return frozenset(step.grouping.group)
    return frozenset((*step.atom.variables, step.variable))


def _expanded(batch: Batch, variable: int, numbers: Column, sizes: Rows, members: Column, most: int) -> Batch:
    """The rows for all members of their groups; at least ``most``, or all."""
    ends = np.cumsum(sizes[numbers])
    kept = int(np.searchsorted(ends, most)) + 1
    numbers = numbers[:kept]
    batch = batch.take(np.repeat(np.arange(numbers.size), sizes[numbers]))
    starts = (np.cumsum(sizes) - sizes)[numbers]
    offsets = np.arange(batch.size) - np.repeat(np.cumsum(sizes[numbers]) - sizes[numbers], sizes[numbers])
    batch.columns[variable] = members[np.repeat(starts, sizes[numbers]) + offsets]
    return batch
