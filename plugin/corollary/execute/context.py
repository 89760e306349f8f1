"""The run-time state of plans. Rules and plans are immutable; any number of contexts may use them.

Invariant: apart from ``dictionary``, ``readings`` and ``rows``, a context holds caches only. Dropping an
entry costs time and changes no result.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from corollary.columns import Relation
from corollary.execute.tuning import MAX_ANSWERS_CACHED
from corollary.kernels.sorted import Column
from corollary.program.compile import Condition, Grouping
from corollary.terms.dictionary import TermDictionary

Answers = dict[tuple[int, ...], int]
"""The cache of one expression: from the ids of its variables' values to its truth, or its value's id."""

LastGroups = tuple[tuple[Relation, ...], int, dict[int, Column]]
"""The relations that an aggregate was computed from, the number of groups, and their columns."""


class ExecutionContext:
    """The caches of one engine or one query, and the dictionary that new terms are added to.

    Precondition: one thread at a time. An entry is dropped when its rule is garbage collected.
    """

    def __init__(self, dictionary: TermDictionary) -> None:
        self.dictionary = dictionary
        self.readings: dict[int, tuple[int, ...]] = {}
        """The cells of each reading of an RDF list, in their order. The list module writes it."""
        self.rows = 0
        """The rows that the steps of plans have made."""
        self._answers: WeakKeyDictionary[Condition, Answers] = WeakKeyDictionary()
        self._groups: WeakKeyDictionary[Grouping, LastGroups] = WeakKeyDictionary()

    def take_answers(self, other: ExecutionContext) -> None:
        """Take over the cached answers of conditions. ``other`` begins again without any."""
        self._answers, other._answers = other._answers, WeakKeyDictionary()

    def answers(self, condition: Condition) -> Answers:
        """The cache of a condition. The caller may add entries."""
        known = self._answers.get(condition)
        if known is None or len(known) > MAX_ANSWERS_CACHED:
            known = self._answers[condition] = {}
        return known

    def last_groups(self, grouping: Grouping) -> LastGroups | None:
        """The inputs and the result of the last computation of an aggregate, or None."""
        return self._groups.get(grouping)

    def keep_groups(self, grouping: Grouping, groups: LastGroups) -> None:
        """Replace the cached result of an aggregate."""
        self._groups[grouping] = groups
