"""Rules over long lists: the list of a rule instance, cell by cell, in a few operations on arrays.

A rule over long lists has the atoms for one cell (``CompiledRule.along``), and holds if they do for all
cells. Unrolled, it would have n atoms, n delta plans, and n guards. Here the number of plans does not depend
on n:

1. The *table* joins the guards with the cells and items of the lists: one row for each cell and item.
2. A change *touches* readings of lists. A reading is evaluated *whole* if its cells or guards changed, or if
   that reads fewer facts than the changed facts of its items; else from the changed facts on.
3. ``EACH`` (``EveryItem``): bindings are found by one cell each, a changed one or that with the fewest
   matches. Then they are joined with the other cells, 1, 2, 4 ... at a time, and counted: a binding without a
   match for one of them is dropped. Cost: O(bindings by the first cell · n) in the worst case, in O(log n)
   operations.
4. ``CHAIN`` (``chains.Path``): the path is composed from the changed edge, or the property with the fewest
   facts, to both ends. Cost: O(n) joins for each reading.

The first two are here, and ``EveryItem``. Nothing is stored but the table. So the module of these rules
(``modules.list_rules``) keeps no state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import is_

import numpy as np
from numpy.typing import NDArray

from corollary.columns import Candidates, Relation, TripleIndex
from corollary.columns.pairs import NO_KEYS, among, distinct, firsts, pack, sorted_unique
from corollary.columns.pairs import join as join_keys
from corollary.execute.batches import Batch, concatenate
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import ROW, distinct_rows, emit, run, run_delta, sizes
from corollary.execute.tuning import MAX_ROWS_OF_CELLS, MAX_TABLES_CACHED
from corollary.kernels.sorted import Column, Mask, Rows
from corollary.plan.delta_plans import delta_plan
from corollary.plan.passes import optimised, order_joins
from corollary.plan.steps import Age, DeltaPlan, Join, Plan, PlanContext, Select
from corollary.program.compile import Atom, CompiledRule


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows (reading, cell, item), sorted. ``rank`` numbers the cells of each reading from 0."""

    reading: Column
    cell: Column
    item: Column
    rank: Rows

    def take(self, rows: Rows | Mask) -> Cells:
        """The rows at these positions, or those where the mask is true."""
        return Cells(self.reading[rows], self.cell[rows], self.item[rows], self.rank[rows])

    def of(self, readings: Column) -> Cells:
        """The rows of some readings. Precondition: ``readings`` sorted, unique."""
        return self.take(among(self.reading, readings))

    def among_ranks(self, start: int, end: int) -> Cells:
        """The cells start <= rank < end of each reading."""
        return self.take((self.rank >= start) & (self.rank < end))


@dataclass(frozen=True, slots=True)
class Table:
    """The matches of a rule's guards, with the reading of the list, and the cells of these readings.

    ``readings`` are distinct and sorted. Readings of which facts are missing, as during a deletion, are left
    out: the rest of their cells are no list.
    """

    guards: Batch
    readings: Column
    lengths: Rows
    cells: Cells


class LongListRule(ABC):
    """The evaluation of one rule over long lists."""

    def __init__(self, rule: CompiledRule, context: ExecutionContext) -> None:
        along = rule.along
        assert along is not None
        self.rule = rule
        self.context = context
        self.along = along
        self.inside = [rule.atoms[i] for i in along.inside]
        outer = range(along.long)
        self.guards = [*(rule.atoms[i] for i in outer if i in rule.guards), rule.atoms[along.long]]
        self.data = [rule.atoms[i] for i in outer if i not in rule.guards]
        self.reading = rule.atoms[along.long].o
        self.cell, self.item = rule.atoms[along.first].s, rule.atoms[along.first].o
        self._cells, self._first = rule.atoms[along.cell].p, rule.atoms[along.first].p
        self._read = [*dict.fromkeys((*(atom.p for atom in self.guards), self._cells, self._first))]
        self._tables: list[tuple[tuple[Relation, ...], Table]] = []
        self._plans: dict[tuple[frozenset[int], tuple[Atom, ...], bool, bool], Plan] = {}
        self._delta_plans: dict[Atom, DeltaPlan] = {}

        conditions = (variable for c in rule.conditions for variable in c.needs)
        atoms = (variable for a in (*rule.heads, *self.guards, *self.data) for variable in a.variables)
        self.outer = sorted({*atoms, *conditions})
        """The variables outside of the list pattern, and the reading."""

    # What the subclasses define

    @abstractmethod
    def complete(self, start: Batch, facts: TripleIndex) -> Batch:
        """All bindings of ``outer`` that extend rows of ``start``.

        Precondition: the rows bind the guards' variables, and match the guards.
        """

    @abstractmethod
    def _from_items(self, touched: Cells, counts: Rows, facts: TripleIndex, recent: TripleIndex) -> Batch:
        """At least the bindings of ``outer`` with a recent fact for the items of ``touched`` cells.

        ``counts`` has the number of recent facts for each row.
        """

    @abstractmethod
    def premises(self, batch: Batch, facts: TripleIndex, read: Candidates) -> None:
        """Add the premises of bindings of ``outer`` to ``read``."""

    # Bindings

    def all(self, facts: TripleIndex) -> Batch:
        """All bindings of ``outer``."""
        return self.complete(self.table(facts).guards, facts)

    def touched(self, facts: TripleIndex, recent: TripleIndex) -> Batch:
        """At least the bindings over ``facts`` with a recent premise. ``recent`` ⊆ ``facts``."""
        table = self.table(facts)
        if not table.guards.size:
            return Batch.none()
        whole = self._changed_readings(table, recent)
        counts = np.zeros(table.cells.item.size, np.int64)
        for atom in self.inside:
            if self.item in atom.variables:
                counts += self._matches(atom, table.cells.item, recent)
            elif recent.has_match(atom.s, atom.p, atom.o):
                whole = table.readings
        rows = np.flatnonzero(counts)
        rows = rows[~among(table.cells.reading[rows], whole)]
        parts = []
        if rows.size:
            parts.append(self._from_items(table.cells.take(rows), counts[rows], facts, recent))
        if whole.size:
            guards = table.guards
            parts.append(self.complete(guards.take(among(guards.columns[self.reading], whole)), facts))
        parts += (self.complete(start, facts) for start in self._from_data(facts, recent))
        return concatenate([part for part in parts if part.size])

    def backward(self, head: Atom, wanted: TripleIndex, facts: TripleIndex) -> Batch:
        """The bindings over ``facts`` for which a head is a wanted fact."""
        if not self.table(facts).readings.size or not wanted.has_match(head.s, head.p, head.o):
            return Batch.none()
        return self.complete(self._beside_guards(head, facts, wanted), facts)

    def table(self, facts: TripleIndex) -> Table:
        """The table of the rule. Relations are immutable: cached while they are the same objects."""
        relations = tuple(map(facts.relation, self._read))
        for known, table in self._tables:
            if all(map(is_, known, relations)):
                return table
        table = self._table(facts) if all(map(len, relations)) else NO_TABLE
        self._tables = [*self._tables[1 - MAX_TABLES_CACHED :], (relations, table)]
        return table

    def _table(self, facts: TripleIndex) -> Table:
        joins = tuple(Join(atom, Age.ALL) for atom in self.guards)
        plan = order_joins(joins, PlanContext(self.rule, sizes(facts)))
        guards = run(plan, {Age.ALL: facts}, self.rule, self.context)
        if not guards.size:
            return NO_TABLE
        readings = distinct(guards.columns[self.reading])
        rows, cells = facts.relation(self._cells).objects_of(readings)
        item_rows, items = facts.relation(self._first).objects_of(cells)
        of_cells = _ranked(readings[rows[item_rows]], cells[item_rows], items, np.zeros(items.size))
        wanted = np.array([len(self.context.readings.get(k, ())) for k in readings.tolist()], np.int64)
        last = np.flatnonzero(np.append(of_cells.reading[1:] != of_cells.reading[:-1], items.size > 0))
        lengths = np.zeros(readings.size, np.int64)
        lengths[np.searchsorted(readings, of_cells.reading[last])] = of_cells.rank[last] + 1
        whole = (lengths == wanted) & (lengths > 0)
        readings, lengths = readings[whole], lengths[whole]
        guards = guards.take(among(guards.columns[self.reading], readings))
        return Table(guards, readings, lengths, of_cells.of(readings))

    def _changed_readings(self, table: Table, recent: TripleIndex) -> Column:
        """The readings with a recent guard, cell or item."""
        found = [np.empty(0, np.uint32)]
        guards, cells = table.guards, table.cells
        for atom in self.guards:
            relation = recent.relation(atom.p)
            if len(relation):
                keys = pack(guards.column(atom.s), guards.column(atom.o))
                found.append(guards.columns[self.reading][relation.contains(keys)])
        for predicate, first, second in (
            (self._cells, cells.reading, cells.cell),
            (self._first, cells.cell, cells.item),
        ):
            relation = recent.relation(predicate)
            if len(relation):
                found.append(cells.reading[relation.contains(pack(first, second))])
        return distinct(np.concatenate(found))

    def _matches(self, atom: Atom, items: Column, facts: TripleIndex) -> Rows:
        """For each item, the number of facts that may match an atom; an upper bound."""
        if atom.p == self.item:
            known = np.array(sorted(facts.all_predicates()), np.uint32)
            if not known.size:
                return np.zeros(items.size, np.int64)
            numbers = np.array([len(facts.relation(p)) for p in known.tolist()], np.int64)
            places = np.minimum(np.searchsorted(known, items), known.size - 1)
            return np.where(known[places] == items, numbers[places], 0)
        if atom.p < 0:
            return np.full(items.size, facts.fact_count(), np.int64)
        relation = facts.relation(atom.p)
        if not len(relation):
            return np.zeros(items.size, np.int64)
        return relation.object_counts(items) if atom.o == self.item else relation.subject_counts(items)

    def _from_data(self, facts: TripleIndex, recent: TripleIndex) -> Iterator[Batch]:
        """The matches of data atoms outside of the pattern with recent facts, joined with the guards."""
        for atom in dict.fromkeys(self.data):
            if recent.has_match(atom.s, atom.p, atom.o):
                yield self._beside_guards(atom, facts, recent)  # with guards that are no whole reading, too

    def _beside_guards(self, atom: Atom, facts: TripleIndex, recent: TripleIndex) -> Batch:
        """The matches of an atom with recent facts, joined with the guards over all facts."""
        atoms = (*self.guards, atom)
        form = replace(
            self.rule, atoms=atoms, guards=frozenset(range(len(atoms) - 1)), conditions=(), along=None
        )
        plan = self._delta_plans.get(atom)
        if plan is None:
            plan = self._delta_plans[atom] = delta_plan(form, len(atoms) - 1, sizes(facts))
        ages = {Age.ALL: facts, Age.RECENT: recent, Age.OLD: facts}
        return run_delta(plan, ages, form, self.context)

    def with_cells(self, batch: Batch, cells: Cells) -> tuple[Batch, Rows]:
        """The batch joined with cells by their reading; the rows of the batch that were joined."""
        keys = pack(cells.reading, np.arange(cells.reading.size, dtype=np.uint32))
        rows, found = join_keys(keys, batch.columns[self.reading])
        joined = batch.take(rows)
        joined.columns[self.cell], joined.columns[self.item] = cells.cell[found], cells.item[found]
        return joined, rows

    def joined(
        self,
        batch: Batch,
        atoms: Sequence[Atom],
        facts: TripleIndex,
        recent: TripleIndex | None = None,
        *,
        conditions: bool = True,
    ) -> Batch:
        """Join a batch with atoms; the first one over ``recent``, if given. Select by the rule's filters."""
        key = (frozenset(batch.columns), tuple(atoms), recent is not None, conditions)
        plan = self._plans.get(key)
        if plan is None:
            # atoms that stand for what the batch binds already
            fixed = tuple(Join(Atom(v, 0, v), Age.OLD) for v in sorted(batch.columns) if v < 0)
            if recent is not None:
                fixed = (*fixed, Join(atoms[0], Age.RECENT))
                atoms = atoms[1:]
            joins = (Join(atom, Age.ALL) for atom in atoms)
            others = map(Select, self.rule.conditions if conditions else ())
            whole = optimised((*fixed, *joins, *others), PlanContext(self.rule, sizes(facts), fixed))
            plan = tuple(step for step in whole if not isinstance(step, Join) or step.age is not Age.OLD)
            self._plans[key] = plan
        ages = {Age.ALL: facts, Age.RECENT: facts if recent is None else recent}
        return run(plan, ages, self.rule, self.context, batch)


class EveryItem(LongListRule):
    """A rule with EACH: the atoms inside hold for every cell of the list."""

    def complete(self, start: Batch, facts: TripleIndex) -> Batch:
        table = self.table(facts)
        start = start.take(among(start.columns[self.reading], table.readings)) if start.size else start
        if not start.size:
            return Batch.none()
        cells, _ = self._by_matches(table, facts, distinct(start.columns[self.reading]))
        batch, _ = self.with_cells(start, cells.among_ranks(0, 1))
        found = self.joined(batch, (*self.inside, *self.data), facts)
        return self._verified(self._projected(found), table, cells, 1, facts)

    def premises(self, batch: Batch, facts: TripleIndex, read: Candidates) -> None:
        emit((*self.guards, *self.data), batch, read)
        if batch.size:
            batch, _ = self.with_cells(batch, self.table(facts).cells)
            batch = self.joined(batch, self.inside, facts, conditions=False)
            emit(self.rule.atoms[self.along.cell :], batch, read)

    def _from_items(self, touched: Cells, counts: Rows, facts: TripleIndex, recent: TripleIndex) -> Batch:
        table, readings = self.table(facts), distinct(touched.reading)
        cells, least = self._by_matches(table, facts, readings)
        changed = np.bincount(np.searchsorted(readings, touched.reading), counts)
        is_whole = changed > least
        guards = table.guards
        parts = [self.complete(guards.take(among(guards.columns[self.reading], readings[is_whole])), facts)]
        touched = touched.of(readings[~is_whole])
        for position, atom in enumerate(self.inside if touched.item.size else ()):
            if self.item in atom.variables:
                others = (*self.inside[:position], *self.inside[position + 1 :], *self.data)
                batch, _ = self.with_cells(guards, touched)
                found = self._projected(self.joined(batch, (atom, *others), facts, recent))
                parts.append(self._verified(found, table, cells, 0, facts))
        return concatenate([part for part in parts if part.size])

    def _by_matches(self, table: Table, facts: TripleIndex, readings: Column) -> tuple[Cells, Rows]:
        """The cells of some readings, those with the fewest matches first; the fewest matches of a cell."""
        cells = table.cells.of(readings)
        matches = np.full(cells.item.size, np.iinfo(np.int64).max, np.int64)
        for atom in self.inside:
            if self.item in atom.variables:
                matches = np.minimum(matches, self._matches(atom, cells.item, facts))
        weights = matches.astype(np.float64)
        least = np.full(readings.size, np.inf)
        np.minimum.at(least, np.searchsorted(readings, cells.reading), weights)
        order = np.lexsort((cells.cell, cells.reading))
        cells = cells.take(order)
        return _ranked(cells.reading, cells.cell, cells.item, weights[order]), least

    def _projected(self, batch: Batch) -> Batch:
        """The distinct bindings of ``outer``."""
        return distinct_rows(batch, self.outer) if batch.size else Batch.none()

    def _verified(self, found: Batch, table: Table, cells: Cells, start: int, facts: TripleIndex) -> Batch:
        """The bindings for which the atoms inside hold for all cells with a rank from ``start`` on."""
        width = 1
        while found.size:
            places = np.searchsorted(table.readings, found.columns[self.reading])
            end = start + min(width, max(1, MAX_ROWS_OF_CELLS // found.size))
            wanted = np.clip(table.lengths[places] - start, 0, end - start)
            if not wanted.any():
                break
            batch, rows = self.with_cells(found, cells.among_ranks(start, end))
            batch.columns[ROW] = rows.astype(np.uint32)
            batch = self.joined(batch, self.inside, facts, conditions=False)
            held = (
                sorted_unique(pack(batch.columns[ROW], batch.columns[self.cell])) if batch.size else NO_KEYS
            )
            found = found.take(np.bincount(firsts(held), minlength=found.size) == wanted)
            start, width = end, 2 * width
        return found


def _ranked(reading: Column, cell: Column, item: Column, weights: NDArray[np.float64]) -> Cells:
    """The rows with their ranks: the cells of a reading in the order of their weights.

    Precondition: the rows are sorted by reading and cell. The weight of a cell is that of all its items.
    """
    is_new = np.append(reading.size > 0, (reading[1:] != reading[:-1]) | (cell[1:] != cell[:-1]))
    is_new = is_new[: reading.size]
    group = np.cumsum(is_new) - 1
    of_group = reading[is_new]
    order = np.lexsort((np.bincount(group, weights), of_group))
    rank_of = np.empty(of_group.size, np.int64)
    rank_of[order] = np.arange(order.size) - np.searchsorted(of_group, of_group)
    rank = rank_of[group]
    rows = np.lexsort((rank, reading))
    return Cells(reading[rows], cell[rows], item[rows], rank[rows])


NO_IDS, NO_ROWS = np.empty(0, np.uint32), np.empty(0, np.int64)
NO_CELLS = Cells(NO_IDS, NO_IDS, NO_IDS, NO_ROWS)
NO_TABLE = Table(Batch.none(), NO_IDS, NO_ROWS, NO_CELLS)
