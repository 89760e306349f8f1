"""The run-time state of plans. Rules and plans are immutable, and any number of contexts may run them.

Invariant: everything in a context can be found again: forgetting it costs time, and changes no result.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from corollary.columns.relation import Relation
from corollary.kernels.sorted import Column
from corollary.program.compile import Condition, Grouping
from corollary.terms.dictionary import TermDictionary

Answers = dict[tuple[int, ...], int]
"""What was found of an expression: whether it is true, or its value's id, by the ids of what it reads."""

LastGroups = tuple[tuple[Relation, ...], int, dict[int, Column]]
"""The relations that an aggregate was computed from; the number of its groups, and their columns."""

MAX_ANSWERS = 1 << 16
"""Answers per condition, at some 200 bytes each. With more, all are forgotten."""


class ExecutionContext:
    """What one engine, or one query, remembers between runs of plans; and the dictionary for new terms.

    It is used by one thread at a time. What belongs to a rule goes with the rule.
    """

    def __init__(self, dictionary: TermDictionary) -> None:
        self.dictionary = dictionary
        self._answers: WeakKeyDictionary[Condition, Answers] = WeakKeyDictionary()
        self._groups: WeakKeyDictionary[Grouping, LastGroups] = WeakKeyDictionary()

    def answers(self, condition: Condition) -> Answers:
        """The answers to a condition so far; new ones may be added."""
        known = self._answers.get(condition)
        if known is None or len(known) > MAX_ANSWERS:
            known = self._answers[condition] = {}
        return known

    def last_groups(self, grouping: Grouping) -> LastGroups | None:
        """What an aggregate was computed from the last time, and the result."""
        return self._groups.get(grouping)

    def keep_groups(self, grouping: Grouping, groups: LastGroups) -> None:
        """Remember these for the next time."""
        self._groups[grouping] = groups
