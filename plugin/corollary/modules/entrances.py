"""The classes and properties by which recent facts may enter a rule's family.

A family (``program.compile``) has a table: one row for each binding of its guards. Recent facts match a data
atom only if their predicate, or their class, is in the table's column of the atom's variable. Most changes
touch few classes, and most families none of these. So the columns are kept, and a plan is run only if one has
a predicate or class of the recent facts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import among, distinct
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import family_rows
from corollary.kernels.sorted import Column
from corollary.modules.tuning import MAX_EXTENT_COMPARED
from corollary.program.compile import Atom, CompiledRule


@dataclass(frozen=True, slots=True, eq=False)
class Entrance:
    """The ``variable`` of an atom that guards bind: its predicate, else its class; 0 if there is none."""

    rule: CompiledRule
    atom: Atom
    variable: int = field(init=False)
    guards: tuple[Atom, ...] = field(init=False)

    def __post_init__(self) -> None:
        guarded, atom = self.rule.guarded, self.atom
        variable = atom.p if atom.p in guarded else atom.o if atom.p >= 0 and atom.o in guarded else 0
        object.__setattr__(self, "variable", variable)
        object.__setattr__(self, "guards", tuple(self.rule.atoms[i] for i in sorted(self.rule.guards)))


@dataclass(slots=True)
class _Known:
    """The column of an entrance, and the state of the guards for which it was computed.

    ``version`` is the sum of the versions of the guards' relations when that state was last compared.
    """

    state: Sequence[object]
    column: Column
    few: frozenset[int]
    version: int


class Entrances:
    """The columns of entrances. The version of a relation counts how often it was another than before."""

    def __init__(self, context: ExecutionContext) -> None:
        self._context = context
        self._known: dict[Entrance, _Known] = {}
        self._relations: dict[int, Relation] = {}
        self._versions: dict[int, int] = {}

    def begin(self, facts: TripleIndex) -> None:
        """Note the relations of the guards. Precondition of ``may_match`` for the same facts."""
        others = facts.others(self._relations)
        self._relations |= others
        for predicate in others:
            self._versions[predicate] += 1

    def may_match(self, entrance: Entrance, facts: TripleIndex, recent: Recent) -> bool:
        """Whether recent facts may match the entrance's atom."""
        variable, atom = entrance.variable, entrance.atom
        if not variable:
            return True
        known = self._of(entrance, facts)
        if known is None:
            return True
        values = recent.predicates if variable == atom.p else recent.classes(atom.p)
        if known.column.size <= MAX_EXTENT_COMPARED and values.size <= MAX_EXTENT_COMPARED:
            return not known.few.isdisjoint(values.tolist())
        return bool(among(values, known.column).any())

    def _of(self, entrance: Entrance, facts: TripleIndex) -> _Known | None:
        """What is known of an entrance, over these facts; None if too many subjects would be compared."""
        version = 0
        for atom in entrance.guards:
            if atom.p not in self._versions:
                self._relations[atom.p], self._versions[atom.p] = facts.relation(atom.p), 1
            version += self._versions[atom.p]
        known = self._known.get(entrance)
        if known is not None and known.version == version:
            return known
        state = _state(entrance.guards, facts)
        if state is None:
            return None
        if known is None or not _same(known.state, state):
            rows = family_rows(entrance.rule, facts, self._context)
            column = distinct(rows.column(entrance.variable)) if rows.size else np.empty(0, np.uint32)
            few = column if column.size <= MAX_EXTENT_COMPARED else column[:0]
            known = self._known[entrance] = _Known(state, column, frozenset(few.tolist()), version)
        known.version = version
        return known

    def forget(self, numbers: Collection[int]) -> None:
        """Drop the columns of the rules with these numbers."""
        self._known = {e: known for e, known in self._known.items() if e.rule.number not in numbers}


class Recent:
    """The predicates of recent facts, and the objects of a predicate, each computed once."""

    def __init__(self, facts: TripleIndex) -> None:
        self._facts = facts
        self.predicates: Column = np.array(facts.all_predicates(), np.uint32)
        self._classes: dict[int, Column] = {}

    def classes(self, predicate: int) -> Column:
        """The distinct objects of a predicate's facts."""
        if predicate not in self._classes:
            self._classes[predicate] = self._facts.relation(predicate).object_terms()
        return self._classes[predicate]


def _state(guards: Sequence[Atom], facts: TripleIndex) -> Sequence[object] | None:
    """What the table depends on: the relation of every guard, or the subjects of its object if it names one.

    None if too many subjects would have to be compared.
    """
    state: list[object] = []
    for atom in guards:
        relation = facts.relation(atom.p)
        if atom.o < 0:
            state.append(relation)
            continue
        subjects = relation.subjects(atom.o)
        if len(subjects) > MAX_EXTENT_COMPARED:
            return None
        state.append(subjects)
    return state


def _same(known: Sequence[object], state: Sequence[object]) -> bool:
    """Whether two states are the same: relations by identity, lists of subjects by value."""
    return all(a is b or (isinstance(a, list) and a == b) for a, b in zip(known, state, strict=True))
