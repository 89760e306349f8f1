"""Running a plan: its steps in order, over a batch of bindings. Joins in a row may change places."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import is_

import numpy as np

from corollary.columns import Candidates, Relation, TripleIndex, grouped
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import contains, firsts, pack, seconds, sorted_unique, spans
from corollary.columns.pairs import join as join_keys
from corollary.execute.batches import Batch, distinct_values, join, join_for, product
from corollary.execute.context import ExecutionContext
from corollary.execute.few_rows import FewRows
from corollary.execute.filters import number_rows, select
from corollary.execute.grouping import group
from corollary.execute.meeting import join_both
from corollary.execute.next_join import next_join, order_of_groups, slices_of
from corollary.execute.path_ends import along_path
from corollary.execute.tuning import (
    MAX_GUARD_FANOUT,
    MAX_ROWS_JOINED_ONE_BY_ONE,
    MIN_FACTS_PER_GROUP,
    MIN_ROWS_PER_BINDING,
    MIN_ROWS_TO_ESTIMATE,
    MIN_ROWS_TO_SHARE_TESTS,
    ROWS_PER_SLICE,
    ROWS_TESTED_FIRST,
)
from corollary.kernels.limits import check, current, reserve
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.kernels.tuning import MAX_ROWS_UNRESERVED
from corollary.plan.delta_plans import guard_plan
from corollary.plan.join_order import ordered_atoms
from corollary.plan.steps import Age, AntiJoin, DeltaPlan, Distinct, Group, Join, Plan, Select, Size, Step
from corollary.program.compile import Atom, CompiledRule, Grouping, Negation

ROW = 1 << 32
"""The column for row numbers. It is no variable, which are negative, and no id of a term."""


def run_delta(
    plan: DeltaPlan,
    facts: Mapping[Age, TripleIndex],
    rule: CompiledRule,
    context: ExecutionContext,
    wanted: Collection[int] = (),
    probed: tuple[Batch, int] | None = None,
) -> Batch:
    """All bindings with a recent fact for the plan's trigger. ``wanted`` is as in ``run``.

    ``probed``: the rows of the family's table that the recent facts may match, and the number of their
    values, if known.
    """
    if not plan.guard_probe:
        return run(plan.direct, facts, rule, context, wanted=wanted)
    if probed is None or not plan.probes_table:
        values = run(plan.guard_probe[:1], facts, rule, context)
        probed = run(plan.guard_probe[1:], facts, rule, context, values), values.size
    rows, count = probed
    if rows.size > MAX_GUARD_FANOUT * count:
        return run(plan.direct, facts, rule, context, wanted=wanted)
    return run(plan.body, facts, rule, context, rows, wanted)


def run(
    plan: Plan,
    facts: Mapping[Age, TripleIndex],
    rule: CompiledRule,
    context: ExecutionContext,
    batch: Batch | None = None,
    wanted: Collection[int] = (),
) -> Batch:
    """All bindings that the plan finds, from a start batch (by default the empty binding).

    ``facts`` has an index for each age that the plan reads. With ``wanted``, the bindings of these variables:
    the last join may leave out the others, and duplicates (set semantics).
    """
    batch = Batch.start() if batch is None else batch
    current().where = rule
    waiting = plan
    while waiting:
        are_few = 0 < batch.size <= MAX_ROWS_JOINED_ONE_BY_ONE
        if are_few and isinstance(waiting[0], Join):  # neither orders nor estimates of joins matter
            batch, waiting = _join_few(batch, waiting, facts, context, wanted)
        if not (batch.size and waiting):
            break
        is_test = bool(wanted) and batch.columns.keys() >= set(wanted)
        if (found := along_path(batch, waiting, facts, is_test=is_test)) is not None:
            batch, waiting = found
            context.rows += batch.size
            continue
        if wanted and (read := _tested(waiting, batch, wanted)):
            return _semi_join(waiting, read, facts, rule, context, batch, wanted)
        number = next_join(waiting, batch, facts)
        step, waiting = waiting[number], (*waiting[:number], *waiting[number + 1 :])
        if wanted and batch.size >= MIN_ROWS_TO_ESTIMATE:
            batch = _without_unread(batch, (step, *waiting), wanted)
            if waiting and (slices := slices_of(step, batch, facts)) > 1:
                return _in_slices((step, *waiting), slices, facts, rule, context, batch, wanted)
        if waiting and (both := join_both(batch, step, waiting[0], facts)) is not None:
            batch, waiting = both, waiting[1:]
        elif wanted and not waiting and isinstance(step, Join):
            batch = join_for(batch, step.atom, facts[step.age], wanted)
        elif isinstance(step, Join):
            batch = join(batch, step.atom, facts[step.age])
        else:
            batch = _after(step, batch, facts, rule, context)
        context.rows += batch.size
    return batch


def _join_few(
    batch: Batch,
    steps: Plan,
    facts: Mapping[Age, TripleIndex],
    context: ExecutionContext,
    wanted: Collection[int],
) -> tuple[Batch, Plan]:
    """Few rows after the joins with which the steps begin, as long as they are few; and the steps left."""
    few, done = FewRows.of(batch), 0
    for step in steps:
        if not isinstance(step, Join):
            break
        atom = step.atom
        if not few.join(atom.s, atom.p, atom.o, facts[step.age]):
            break
        context.rows += few.size
        done += 1
        if not few.size:
            return Batch.none(), ()
    if not done:
        return batch, steps
    left = steps[done:]
    return few.batch(() if left else wanted), left


def _after(
    step: Step, batch: Batch, facts: Mapping[Age, TripleIndex], rule: CompiledRule, context: ExecutionContext
) -> Batch:
    """The batch after a step that is no join of an atom."""
    if isinstance(step, Distinct):
        return distinct_values(step.atom, step.variable, facts[Age.RECENT])
    if isinstance(step, Select):
        return select(batch, step.condition, rule, context)
    if isinstance(step, AntiJoin):
        return anti_join(batch, step.negation, facts[Age.ALL])
    assert isinstance(step, Group)
    return _join_groups(batch, step.grouping, facts[Age.ALL], rule, context)


def _tested(steps: Plan, batch: Batch, wanted: Collection[int]) -> list[int]:
    """The variables that decide whether a row has a match, if only joins are left that bind nothing wanted.

    Returns one or two variables; none if the joins read more, or all variables of the batch, or if one join
    is left, which takes no longer than finding the combinations.
    """
    if batch.size < MIN_ROWS_TO_SHARE_TESTS or len(steps) < 2 or not batch.columns.keys() >= set(wanted):
        return []
    read: set[int] = set()
    for step in steps:
        if not isinstance(step, Join):
            return []
        read |= batch.columns.keys() & {step.atom.s, step.atom.p, step.atom.o}
    return sorted(read) if len(read) <= 2 and len(read) < len(batch.columns) else []


def _semi_join(
    steps: Plan,
    read: Sequence[int],
    facts: Mapping[Age, TripleIndex],
    rule: CompiledRule,
    context: ExecutionContext,
    batch: Batch,
    wanted: Collection[int],
) -> Batch:
    """Some rows for which the steps find a match: of each binding of the wanted variables, if there are any.

    Each combination of the ``read`` variables is tested once. Of bindings with many rows side by side, the
    first rows are tested first, and the others only of those bindings for which these find no match.

    Example: ``a[?y, ?z] :- f[?x, ?y], m[?x, ?w], f[?w, ?z]``, candidates (y, z) joined with f[?x, ?y].
    Whether a row (y, z, x) has a match depends on x and z only.
    """

    def matching(part: Batch) -> Mask:
        keys = pack(part.columns[read[0]], part.columns[read[-1]])
        tested = sorted_unique(keys)
        start = Batch(tested.size, {read[0]: firsts(tested), read[-1]: seconds(tested)})
        found = run(steps, facts, rule, context, start, read)
        if not found.size:
            return np.zeros(part.size, np.bool_)
        return contains(sorted_unique(pack(found.columns[read[0]], found.columns[read[-1]])), keys)

    starts = _begins(batch, wanted)
    if MIN_ROWS_PER_BINDING * starts.size > batch.size:
        return batch.take(matching(batch))
    ends = np.append(starts[1:], batch.size)
    few = spans(starts, np.minimum(starts + ROWS_TESTED_FIRST, ends))
    found = few[matching(batch.take(few))]
    is_open = np.ones(starts.size, np.bool_)
    is_open[starts.searchsorted(found, "right") - 1] = False
    if is_open.any():
        rest = spans(starts[is_open], ends[is_open])
        found = np.concatenate((found, rest[matching(batch.take(rest))]))
    return batch.take(found)


def _begins(batch: Batch, variables: Collection[int]) -> Rows:
    """The rows that bind the variables in another way than the row before."""
    is_new = np.zeros(batch.size, np.bool_)
    is_new[0] = True
    for column in map(batch.columns.__getitem__, variables):
        is_new[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(is_new)


def _without_unread(batch: Batch, steps: Plan, wanted: Collection[int]) -> Batch:
    """The batch with only the columns that later joins and filters, or the caller, read."""
    read = set(wanted)
    for step in steps:
        if isinstance(step, Join):
            read.update((step.atom.s, step.atom.p, step.atom.o))
        elif isinstance(step, Select):
            read |= step.condition.needs
            read.add(step.condition.target or 0)
        else:
            return batch
    columns = {variable: column for variable, column in batch.columns.items() if variable in read}
    return Batch(batch.size, columns) if columns else Batch.start()


def _in_slices(
    steps: Plan,
    number: int,
    facts: Mapping[Age, TripleIndex],
    rule: CompiledRule,
    context: ExecutionContext,
    batch: Batch,
    wanted: Collection[int],
) -> Batch:
    """As ``run``, slice by slice of the batch: of each the distinct bindings of the wanted variables stay."""
    bounds = np.linspace(0, batch.size, number + 1).astype(np.int64).tolist()
    parts = []
    for start, end in pairwise(bounds):
        found = run(steps, facts, rule, context, batch.cut(start, end), wanted)
        if found.size:
            parts.append(_distinct(found, [v for v in found.columns if v in wanted]))
    if not parts:
        return Batch.none()
    reserve(4 * sum(part.size * len(part.columns) for part in parts))
    columns = {v: np.concatenate([part.columns[v] for part in parts]) for v in parts[0].columns}
    return Batch(sum(part.size for part in parts), columns)


def _distinct(batch: Batch, variables: Sequence[int]) -> Batch:
    """As ``distinct_rows``, in less memory for two variables."""
    if len(variables) != 2:
        return distinct_rows(batch, variables)
    one, other = variables
    keys = sorted_unique(pack(batch.columns[one], batch.columns[other]))
    return Batch(keys.size, {one: firsts(keys), other: seconds(keys)})


def family_rows(
    rule: CompiledRule, facts: TripleIndex, context: ExecutionContext, *, is_live: bool = False
) -> Batch:
    """The table of a rule's family: all bindings of its guards that pass the filters on guarded variables.

    ``is_live``: where the facts of a guard are not listed, only bindings to predicates, or to classes, that
    have facts.
    """
    guards = [facts.relation(rule.atoms[i].p) for i in rule.guards]
    if not all(map(len, guards)):
        return Batch.none()
    is_short = is_live and any(relation.is_compressed for relation in guards)
    start = _with_facts(rule, facts) if is_short else None
    return run(guard_plan(rule, sizes(facts)), {Age.ALL: facts}, rule, context, start)


def _with_facts(rule: CompiledRule, facts: TripleIndex) -> Batch | None:
    """The predicates or classes that have facts, as values of the first guarded variable that is read."""
    for position, atom in enumerate(rule.atoms):
        if atom.p in rule.guarded:
            predicates = np.array(facts.predicates(), np.uint32)
            return Batch(predicates.size, {atom.p: predicates})
        if position not in rule.guards and atom.p >= 0 and atom.o in rule.guarded:
            classes = facts.relation(atom.p).object_terms()
            return Batch(classes.size, {atom.o: classes})
    return None


def sizes(facts: TripleIndex) -> Size:
    """The planner's cardinalities: facts of the atom's relation, or all facts if the predicate is open."""

    def size(atom: Atom) -> int:
        return len(facts.relation(atom.p)) if atom.p >= 0 else facts.fact_count()

    return size


def anti_join(batch: Batch, negation: Negation, facts: TripleIndex) -> Batch:
    """The rows without a match of the negated atoms."""
    if not negation.shared:
        atoms = ordered_atoms(negation.atoms, (), sizes(facts))
        return Batch.none() if _matches(Batch.start(), atoms, facts).size else batch
    columns: dict[int, Column] = {variable: batch.columns[variable] for variable in negation.shared}
    columns[ROW] = np.arange(batch.size, dtype=np.uint32)
    atoms = ordered_atoms(negation.atoms, columns, sizes(facts))
    matches = _matches(Batch(batch.size, columns), atoms, facts)
    if not matches.size:
        return batch
    kept = np.ones(batch.size, np.bool_)
    kept[matches.columns[ROW]] = False
    return batch.take(kept)


def _matches(batch: Batch, atoms: Iterable[Atom], facts: TripleIndex) -> Batch:
    """The batch joined with all atoms, in this order."""
    for atom in atoms:
        if not batch.size:
            break
        batch = join(batch, atom, facts)
    return batch


def _join_groups(
    batch: Batch, grouping: Grouping, facts: TripleIndex, rule: CompiledRule, context: ExecutionContext
) -> Batch:
    """The batch joined with the results of an aggregate on their shared variables.

    If the batch binds all group variables and has few groups, only these groups are computed.
    """
    groups = _last_groups(grouping, facts, context)
    if groups is None and grouping.group and all(map(batch.knows, grouping.group)):
        asked = distinct_rows(batch, grouping.group)
        if MIN_FACTS_PER_GROUP * asked.size < min(map(sizes(facts), grouping.atoms)):
            groups = _groups(asked, grouping, facts, rule, context)
    if groups is None:
        groups = _groups(Batch.start(), grouping, facts, rule, context)
        if all(atom.p >= 0 for atom in grouping.atoms):
            context.keep_groups(grouping, (_relations(grouping, facts), groups.size, groups.columns))
    return natural_join(batch, groups) if groups.size else groups


def _relations(grouping: Grouping, facts: TripleIndex) -> tuple[Relation, ...]:
    """The relations that the groups depend on. Precondition: no predicate is open."""
    return tuple(facts.relation(atom.p) for atom in grouping.atoms)


def _last_groups(grouping: Grouping, facts: TripleIndex, context: ExecutionContext) -> Batch | None:
    """The cached groups if they are valid for these facts, else None.

    Relations are immutable: the cache is valid while the relations are the same objects.
    """
    last = context.last_groups(grouping)
    if last is None or not all(map(is_, last[0], _relations(grouping, facts))):
        return None
    return Batch(last[1], last[2])


def _groups(
    start: Batch, grouping: Grouping, facts: TripleIndex, rule: CompiledRule, context: ExecutionContext
) -> Batch:
    """The groups over the matches of the inner body that extend ``start``."""
    inner = inner_matches(start, grouping, facts, rule, context)
    return group(inner, grouping, rule, context.dictionary) if inner.size else inner


def inner_matches(
    start: Batch, grouping: Grouping, facts: TripleIndex, rule: CompiledRule, context: ExecutionContext
) -> Batch:
    """The matches of an aggregate's inner body, atoms and conditions, that extend ``start``."""
    if start.columns:
        atoms = ordered_atoms(grouping.atoms, start.columns, sizes(facts))
    else:
        atoms = order_of_groups(grouping, facts, sizes(facts))
    inner = _matches(start, atoms, facts)
    waiting = list(grouping.conditions)
    while waiting and inner.size:  # bodies have no order: a BIND may be written after its use
        ready = next(condition for condition in waiting if condition.needs <= inner.columns.keys())
        waiting.remove(ready)
        inner = select(inner, ready, rule, context)
    return inner


def distinct_rows(batch: Batch, variables: Sequence[int]) -> Batch:
    """The batch projected to some variables, without duplicates."""
    columns = {variable: batch.columns[variable] for variable in variables}
    return Batch(batch.size, columns).take(number_rows(batch, variables)[0])


def natural_join(left: Batch, right: Batch) -> Batch:
    """The natural join: all pairs of rows that agree on the shared variables. Build side: ``right``."""
    return next(natural_join_parts(left, right, left.size * right.size), Batch.none())


def natural_join_parts(left: Batch, right: Batch, limit: int) -> Iterator[Batch]:
    """As ``natural_join``, in parts of at most ``limit`` rows, or those of one left row."""
    shared = tuple(variable for variable in left.columns if variable in right.columns)
    if not shared:
        size = max(1, limit // max(right.size, 1))
        for start in range(0, left.size, size):
            check()
            yield product(left.cut(start, min(start + size, left.size)), right)
        return
    reserve(4 * len(shared) * (left.size + right.size))
    both = {v: np.concatenate((left.columns[v], right.columns[v])) for v in shared}
    _, numbers = number_rows(Batch(left.size + right.size, both), shared)
    codes = numbers.astype(np.uint32)
    right_keys = sort_keys(pack(codes[left.size :], np.arange(right.size, dtype=np.uint32)))
    for start, end in _cuts(codes, left.size, limit, left.size * right.size):
        check()
        rows, right_rows = join_keys(right_keys, codes[start:end])
        joined = left.cut(start, end).take(rows)
        reserve(4 * rows.size * len(right.columns))
        for variable, column in right.columns.items():
            joined.columns.setdefault(variable, column[right_rows])
        yield joined


def _cuts(codes: Column, left: int, limit: int, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of the first ``left`` codes, with at most ``limit`` equal ones among the others, or of one code.

    ``most`` is a bound of their number.
    """
    if most <= limit:
        yield 0, left
        return
    ends = np.cumsum(np.bincount(codes[left:], minlength=int(codes.max()) + 1)[codes[:left]])
    start = 0
    while start < left:
        before = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + limit, "right")))
        yield start, end
        start = end


def emit(heads: tuple[Atom, ...], batch: Batch, candidates: Candidates) -> None:
    """Add one fact per row and head to ``candidates``. Precondition: the batch binds the heads' variables."""
    if not batch.size:
        return
    for head in heads:
        if batch.size > MAX_ROWS_UNRESERVED:
            reserve(8 * batch.size)
        if head.p >= 0:
            candidates.setdefault(head.p, []).append(pack(batch.column(head.s), batch.column(head.o)))
            continue
        for start in range(0, batch.size, ROWS_PER_SLICE):  # to partition takes three times as much memory
            end = min(start + ROWS_PER_SLICE, batch.size)
            cut = batch if end - start == batch.size else batch.cut(start, end)
            for predicate, keys in grouped(cut.columns[head.p], pack(cut.column(head.s), cut.column(head.o))):
                candidates.setdefault(predicate, []).append(keys)


def extend(candidates: Candidates, more: Candidates) -> None:
    """Add ``more`` to ``candidates``."""
    for predicate, parts in more.items():
        candidates.setdefault(predicate, []).extend(parts)
