"""The classes and properties by which recent facts may enter a rule's family.

A family (``program.compile``) has a table: one row for each binding of its guards. Recent facts match a data
atom only if their predicate, or their class, is in the table's column of the atom's variable. Most changes
touch few classes, and most families none of these. So the tables are kept, sorted by that column, and a plan
starts from the rows that have a predicate or class of the recent facts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from corollary.columns import Relation, TripleIndex
from corollary.columns.key_sort import order_of
from corollary.columns.pairs import distinct_of_sorted, spans
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import family_rows
from corollary.execute.tuning import MAX_ROWS_JOINED_ONE_BY_ONE
from corollary.kernels.sorted import Column, Mask
from corollary.modules.module import Fact
from corollary.modules.tuning import MAX_EXTENT_COMPARED, MAX_FACTS_ONE_BY_ONE
from corollary.program.compile import Atom, CompiledRule


@dataclass(frozen=True, slots=True, eq=False)
class GuardProbe:
    """The ``variable`` of an atom that guards bind: its predicate, else its class; 0 if there is none."""

    rule: CompiledRule
    atom: Atom
    variable: int = field(init=False)
    guards: tuple[Atom, ...] = field(init=False)
    matched: tuple[Matched, ...] = field(init=False)

    def __post_init__(self) -> None:
        guarded, atom = self.rule.guarded, self.atom
        variable = atom.p if atom.p in guarded else atom.o if atom.p >= 0 and atom.o in guarded else 0
        object.__setattr__(self, "variable", variable)
        guards = tuple(self.rule.atoms[i] for i in sorted(self.rule.guards))
        object.__setattr__(self, "guards", guards)
        object.__setattr__(self, "matched", tuple((guard.p, max(guard.o, -1)) for guard in guards))


@dataclass(slots=True)
class _Known:
    """The table of a probe's family, and the states of the guards for which it was computed.

    The ``rows`` ascend in the probe's variable, whose values are in ``column``. ``few`` are its distinct
    values if they are few. ``version`` is the sum of the versions of the guards when they were last compared.
    """

    states: Sequence[object]
    rows: Batch
    column: Column
    few: frozenset[int] | None
    version: int
    by_value: dict[int, ProbedRows] = field(default_factory=dict)
    """The rows of single values that were looked up."""


@dataclass(frozen=True, slots=True)
class ProbedRows:
    """The rows of a family's table that recent facts may match, and the number of their values."""

    rows: Batch
    values: int
    _bindings: list[Sequence[dict[int, int]]] = field(default_factory=list, init=False)

    def bindings(self) -> Sequence[dict[int, int]] | None:
        """The values of the variables in each row, once for all calls; None for too many rows."""
        if self.rows.size > MAX_ROWS_JOINED_ONE_BY_ONE:
            return None
        if not self._bindings:
            columns = {variable: column.tolist() for variable, column in self.rows.columns.items()}
            rows = range(self.rows.size)
            self._bindings.append([{v: values[row] for v, values in columns.items()} for row in rows])
        return self._bindings[0]

    def take(self, kept: Mask) -> ProbedRows:
        """Some of the rows."""
        return self if kept.all() else ProbedRows(self.rows.take(kept), self.values)


NONE = ProbedRows(Batch.none(), 0)

Matched = tuple[int, int]
"""What a table depends on: a predicate, and the object that a guard names; -1 if it names none."""


class GuardProbes:
    """The tables of probes, kept from one set of facts to the next.

    The version of a guard counts how often its matches were others than before.
    """

    def __init__(self, context: ExecutionContext) -> None:
        self.epoch = 0
        """How often the matches of any guard were others: between two changes all tables stay as they are."""
        self.latest: GuardTables | None = None
        self._context = context
        self._known: dict[GuardProbe, _Known] = {}
        self._relations: dict[int, Relation] = {}
        self._guards: dict[int, list[Matched]] = {}  # by predicate
        self._states: dict[Matched, object] = {}
        self._versions: dict[Matched, int] = {}

    def over(self, facts: TripleIndex) -> GuardTables:
        """The tables over these facts, until tables over others are asked for.

        Cost: O(predicates of guards), and a look at each guard whose predicate has other facts than before.
        """
        others = facts.others(self._relations)
        self._relations |= others
        for predicate, relation in others.items():
            for guard in self._guards[predicate]:
                state = _state(guard, relation)
                if not _same(self._states[guard], state):
                    self._states[guard] = state
                    self._versions[guard] += 1
                    self.epoch += 1
        self.latest = GuardTables(self, facts)
        return self.latest

    def are_matched(self, probe: GuardProbe, facts: TripleIndex) -> bool:
        """Whether all guards of a probe have a match. Later changes of these count in ``epoch``."""
        for guard in probe.matched:
            if guard not in self._versions:
                self._note(guard, facts)
        return all(facts.has_match(guard.s, guard.p, guard.o) for guard in probe.guards)

    def known(self, probe: GuardProbe, facts: TripleIndex) -> _Known | None:
        """What is known of a probe, over these facts; None if too many subjects would be compared."""
        version = 0
        for guard in probe.matched:
            if guard not in self._versions:
                self._note(guard, facts)
            version += self._versions[guard]
        known = self._known.get(probe)
        if known is not None and known.version == version:
            return known
        states = [self._states[guard] for guard in probe.matched]
        if None in states:
            return None
        if known is None or not all(map(_same, known.states, states)):
            known = self._known[probe] = self._found(probe, facts, states, version)
        known.version = version
        return known

    def _note(self, guard: Matched, facts: TripleIndex) -> None:
        """Compare the matches of a guard from now on."""
        predicate, _ = guard
        relation = self._relations.setdefault(predicate, facts.relation(predicate))
        self._guards.setdefault(predicate, []).append(guard)
        self._states[guard], self._versions[guard] = _state(guard, relation), 1

    def _found(self, probe: GuardProbe, facts: TripleIndex, states: Sequence[object], version: int) -> _Known:
        """The table of a probe's family over these facts."""
        rows = family_rows(probe.rule, facts, self._context)
        if not rows.size:
            return _Known(states, rows, np.empty(0, np.uint32), frozenset(), version)
        rows = rows.take(order_of(rows.column(probe.variable)))
        column = rows.column(probe.variable)
        values = distinct_of_sorted(column)
        few = frozenset(values.tolist()) if values.size <= MAX_EXTENT_COMPARED else None
        return _Known(states, rows, column, few, version)

    def forget(self, numbers: Collection[int]) -> None:
        """Drop the tables of the rules with these numbers."""
        self._known = {e: known for e, known in self._known.items() if e.rule.number not in numbers}


@dataclass(slots=True, eq=False)
class GuardTables:
    """The tables of ``probes`` over ``facts``. Precondition: they are the probes' latest."""

    probes: GuardProbes
    facts: TripleIndex

    def few(self, probe: GuardProbe) -> frozenset[int] | None:
        """The values of a probe's variable, if they are few; none if a guard has no match.

        The answer holds until the probes' ``epoch`` changes.
        """
        assert self.probes.latest is self
        known = self.probes.known(probe, self.facts) if probe.variable else None
        if known is not None:
            return known.few
        return None if self.probes.are_matched(probe, self.facts) else frozenset()

    def rows_for(self, probe: GuardProbe, recent: Recent) -> ProbedRows | None:
        """The rows by which recent facts may match the probe's atom.

        None if that is not known: no guard binds the atom, or too many subjects would be compared.
        """
        assert self.probes.latest is self
        known = self.probes.known(probe, self.facts) if probe.variable else None
        if known is None:
            return None
        atom = probe.atom
        values = recent.predicates if probe.variable == atom.p else recent.classes(atom.p)
        return _rows_of(known, values) if values.size != 1 else _rows_of_one(known, int(values[0]))

    def rows_of(self, probe: GuardProbe, value: int) -> ProbedRows | None:
        """As ``rows_for``, by the value of the probe's variable."""
        known = self.probes.known(probe, self.facts) if probe.variable else None
        return None if known is None else _rows_of_one(known, value)


def _rows_of_one(known: _Known, value: int) -> ProbedRows:
    """As ``_rows_of``. The rows are kept."""
    rows = known.by_value.get(value)
    if rows is None:
        if len(known.by_value) >= MAX_EXTENT_COMPARED:
            known.by_value.clear()
        rows = known.by_value[value] = _rows_of(known, np.array([value], np.uint32))
    return rows


def _rows_of(known: _Known, values: Column) -> ProbedRows:
    """The rows of a family's table with some values of the probe's variable."""
    starts, ends = known.column.searchsorted(values), known.column.searchsorted(values, side="right")
    matched = (ends > starts).nonzero()[0]
    if not matched.size:
        return NONE
    if matched.size == 1:
        rows = known.rows.cut(int(starts[matched[0]]), int(ends[matched[0]]))
    else:
        rows = known.rows.take(spans(starts[matched], ends[matched]))
    return ProbedRows(rows, values.size)


class Recent:
    """The predicates of recent facts, and the objects of a predicate, each computed once."""

    def __init__(self, facts: TripleIndex) -> None:
        self.facts = facts
        self.few = _few(facts)
        """The facts, if they are few: subject, predicate, object."""
        self._predicates: Column | None = None
        self._classes: dict[int, Column] = {}

    @property
    def predicates(self) -> Column:
        """The predicates, ascending."""
        if self._predicates is None:
            self._predicates = np.array(sorted(self.facts.all_predicates()), np.uint32)
        return self._predicates

    def classes(self, predicate: int) -> Column:
        """The distinct objects of a predicate's facts."""
        if predicate not in self._classes:
            self._classes[predicate] = self.facts.relation(predicate).object_terms()
        return self._classes[predicate]


def _few(facts: TripleIndex) -> Sequence[Fact] | None:
    found: list[Fact] = []
    for predicate, relation in facts.all_relations():
        if len(found) + relation.size > MAX_FACTS_ONE_BY_ONE:
            return None
        found += [(key >> 32, predicate, key & 0xFFFFFFFF) for key in relation.pairs().keys.tolist()]
    return found


def _state(guard: Matched, relation: Relation) -> object:
    """What a table depends on: the relation of a guard, or the subjects of its object if it names one.

    None if too many subjects would have to be compared.
    """
    _, value = guard
    if value < 0:
        return relation
    subjects = relation.subjects(value)
    return subjects if len(subjects) <= MAX_EXTENT_COMPARED else None


def _same(known: object, state: object) -> bool:
    """Whether two states are the same: relations by identity, lists of subjects by value."""
    return known is state or (isinstance(state, list) and known == state)
