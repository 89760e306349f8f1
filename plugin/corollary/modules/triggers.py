"""The body atoms by which recent facts may enter rules.

A rule has many triggers, and most rules of a profile have no match in the data at hand. So the triggers are
kept by the predicate of their atom, and those whose other atoms can match are chosen once for each set of
predicates that have facts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from corollary.columns import TripleIndex
from corollary.columns.pairs import among, distinct
from corollary.execute.batches import Batch
from corollary.kernels.sorted import Column, Mask
from corollary.modules.guard_probes import GuardProbe, GuardTables, Recent
from corollary.modules.module import Fact
from corollary.modules.tuning import MAX_EXTENT_COMPARED, MAX_PREDICATE_SETS_KEPT
from corollary.plan.steps import Age
from corollary.program.compile import Atom, CompiledRule

OPEN = -1
"""In place of the predicate of atoms that have a variable there."""


@dataclass(slots=True, eq=False)
class Trigger:
    """A body atom (``atom``) that is matched with recent facts.

    ``predicates`` and ``variables`` are the constants and the variables in the place of the predicate in the
    other atoms.

    A rule has many triggers, and most are never viable: what only those need is computed at the first use.
    """

    rule: CompiledRule
    position: int
    atom: Atom = field(init=False)
    predicates: frozenset[int] = field(init=False)
    variables: Set[int] = field(init=False)
    _needs: list[Atom] | None = field(default=None, init=False)
    _probe: GuardProbe | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.atom = self.rule.atoms[self.position]
        others = {atom.p for position, atom in enumerate(self.rule.atoms) if position != self.position}
        self.predicates = frozenset([p for p in others if p >= 0])
        self.variables = others - self.predicates

    @property
    def probe(self) -> GuardProbe:
        """Where recent facts enter the rule's family."""
        if self._probe is None:
            self._probe = GuardProbe(self.rule, self.atom)
        return self._probe

    def has_guard_among(self, facts: TripleIndex) -> bool:
        """Whether a guard of the rule may match one of the facts."""
        return any(facts.has_match(guard.s, guard.p, guard.o) for guard in self.probe.guards)

    def may_conclude(self, wanted: TripleIndex) -> bool:
        """Whether a head of the rule may be one of the wanted facts."""
        return any(wanted.has_match(head.s, head.p, head.o) for head in self.rule.heads)

    def open_rows(self, rows: Batch, facts: TripleIndex, proved: TripleIndex) -> Mask:
        """The rows of the family's table in which another atom may match a fact that is not ``proved``.

        Precondition: ``proved`` are some of the ``facts``, of each predicate all if as many.
        """
        found = np.zeros(rows.size, np.bool_)
        for predicate in self.predicates:
            if facts.relation(predicate).size > proved.relation(predicate).size:
                return ~found
        for variable in self.variables:
            column = rows.columns.get(variable)
            if column is None:
                return ~found
            of = {p: facts.relation(p).size > proved.relation(p).size for p in distinct(column).tolist()}
            found |= np.array([of[p] for p in column.tolist()], np.bool_)
        return found

    def is_among(self, recent: TripleIndex) -> bool:
        """Whether a recent fact may match the trigger's atom."""
        return recent.has_match(self.atom.s, self.atom.p, self.atom.o)

    def is_viable(self, ages: Mapping[Age, TripleIndex]) -> bool:
        """As ``viable``, except that the trigger's own atom reads the recent facts."""
        if self._needs is None:
            self._needs = needs(self.rule, self.position)
        return self.is_among(ages[Age.RECENT]) and all(
            ages[Age.ALL].has_match(atom.s, atom.p, atom.o) for atom in self._needs
        )


class LiveTriggers:
    """Triggers whose atoms have one predicate, or ``OPEN``, by the values that recent facts must have.

    The values are predicates, if the atoms have a variable there, else objects: the one that the atom names,
    or those at the trigger's probe, in one ``epoch`` of the probes. ``others`` are the triggers of
    which it is not known that they have few values.
    """

    __slots__ = (
        "_always",
        "_by_value",
        "_entered",
        "_epoch",
        "_others",
        "_predicate",
        "_triggers",
        "_values",
    )

    def __init__(self, predicate: int, triggers: Sequence[Trigger]) -> None:
        self._triggers = triggers
        self._predicate = predicate
        self._epoch = -1
        self._by_value: dict[int, list[int]] = {}
        self._others: list[int] = []
        self._entered: dict[int, Sequence[Trigger]] = {}
        self._always: Sequence[Trigger] = ()
        self._values: Column = np.empty(0, np.uint32)

    def entered(self, tables: GuardTables, recent: Recent) -> Sequence[Trigger]:
        """The triggers that recent facts may match, by their predicates or objects."""
        if self._epoch != tables.probes.epoch:
            self._sort(tables)
        if self._by_value:
            values = recent.predicates if self._predicate == OPEN else recent.classes(self._predicate)
            if values.size > MAX_EXTENT_COMPARED:
                values = self._values[among(self._values, values)]
            few = self._by_value.keys() & values.tolist()
            if few:
                chosen = {*self._others}.union(*map(self._by_value.__getitem__, few))
                return [self._triggers[number] for number in sorted(chosen)]
        return self._always

    def entered_by(self, fact: Fact, tables: GuardTables) -> Sequence[Trigger]:
        """As ``entered``, for one recent fact."""
        if self._epoch != tables.probes.epoch:
            self._sort(tables)
        if not self._by_value:
            return self._always
        value = fact[1] if self._predicate == OPEN else fact[2]
        chosen = self._by_value.get(value)
        if chosen is None:
            return self._always
        found = self._entered.get(value)
        if found is None:
            numbers = sorted({*self._others, *chosen})
            found = self._entered[value] = [self._triggers[number] for number in numbers]
        return found

    def _sort(self, tables: GuardTables) -> None:
        """Note the values of the triggers."""
        self._epoch, self._by_value, self._others = tables.probes.epoch, {}, []
        self._entered = {}
        for number, trigger in enumerate(self._triggers):
            atom = trigger.atom
            few: Collection[int] | None = tables.few(trigger.probe)
            if few is None and atom.p >= 0 and atom.o >= 0:
                few = (atom.o,)
            if few is None:
                self._others.append(number)
            else:
                for value in few:
                    self._by_value.setdefault(value, []).append(number)
        self._always = [self._triggers[number] for number in self._others]
        self._values = np.array([*self._by_value], np.uint32)


NO_TRIGGERS: Final = LiveTriggers(OPEN, ())
"""Shared by all predicates without triggers, of which there may be many."""


class Triggers:
    """Triggers by the predicate of their atom, or ``OPEN``."""

    def __init__(self) -> None:
        self._all: dict[int, list[Trigger]] = {}
        self._live: dict[tuple[frozenset[int], bool], dict[int, LiveTriggers]] = {}
        self._named: dict[int, Set[int] | None] = {}

    def add(self, trigger: Trigger) -> None:
        """Add a trigger."""
        self._all.setdefault(max(trigger.atom.p, OPEN), []).append(trigger)
        self._live, self._named = {}, {}

    def drop(self, numbers: Collection[int]) -> None:
        """Drop the triggers of the rules with these numbers."""
        kept = {p: [t for t in triggers if t.rule.number not in numbers] for p, triggers in self._all.items()}
        self._all = {predicate: triggers for predicate, triggers in kept.items() if triggers}
        self._live, self._named = {}, {}

    def read(self, predicate: int) -> bool:
        """Whether the atom of a trigger may match facts of the predicate."""
        return predicate in self._all or OPEN in self._all

    def objects_read(self, predicate: int) -> Set[int] | None:
        """The objects that the atoms of the triggers name, if all atoms of the predicate name one."""
        if OPEN in self._all:
            return None
        if predicate not in self._named:
            named = {trigger.atom.o for trigger in self._all.get(predicate, ())}
            self._named[predicate] = None if min(named, default=-1) < 0 else named
        return self._named[predicate]

    def live(
        self, recent: TripleIndex, facts: TripleIndex, *, are_closed: bool = False
    ) -> list[LiveTriggers]:
        """The triggers that recent facts may match, and whose other atoms have predicates with ``facts``.

        ``are_closed``: the facts have all conclusions. So they have facts of the predicate of a head.
        """
        return self.live_on(recent.all_predicates(), facts, are_closed=are_closed)

    def live_on(
        self, predicates: Sequence[int], facts: TripleIndex, *, are_closed: bool = False
    ) -> list[LiveTriggers]:
        """As ``live``, by the predicates of the recent facts."""
        present = facts.known_predicates
        live = self._live.get((present, are_closed))
        if live is None:
            if len(self._live) >= MAX_PREDICATE_SETS_KEPT:
                self._live = {}
            live = self._live[present, are_closed] = {}
        chosen = []
        for predicate in (*predicates, OPEN):
            found = live.get(predicate)
            if found is None:
                triggers = [
                    trigger
                    for trigger in self._all.get(predicate, ())
                    if trigger.predicates <= present
                    and not (
                        are_closed and trigger.rule.derives.isdisjoint(present) and not trigger.rule.is_open
                    )
                ]
                found = live[predicate] = LiveTriggers(predicate, triggers) if triggers else NO_TRIGGERS
            if found is not NO_TRIGGERS:
                chosen.append(found)
        return chosen


def needs(rule: CompiledRule, but: int | None = None) -> list[Atom]:
    """Atoms that must have a match if the rule concludes anything, without the body atom at ``but``.

    Guards and ground atoms stay as they are; every other constant predicate becomes one atom with two
    variables.
    """
    found: dict[Atom, None] = {}
    for position, atom in enumerate(rule.atoms):
        if position != but and atom.p >= 0:
            is_whole = position in rule.guards or (atom.s >= 0 and atom.o >= 0)
            found[atom if is_whole else Atom(-1, atom.p, -2)] = None
    return list(found)


def viable(rule: CompiledRule, facts: TripleIndex) -> bool:
    """Whether all ``needs`` of a rule have a match. If not, the rule concludes nothing."""
    known = facts.known_predicates
    if not all(predicate < 0 or predicate in known for predicate in rule.needs):  # cheap
        return False
    return all(facts.has_match(atom.s, atom.p, atom.o) for atom in needs(rule))
