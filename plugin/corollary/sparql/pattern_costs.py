"""The costs by which the patterns of a basic graph pattern are ordered.

The next pattern is the one with the least *growth*: the expected number of result rows for each row. Growth
is exact if a pattern has a constant end and a free end. With one bound end it is the relation's size, divided
by the number of distinct values of this end. For two known ends, variable predicates and paths it is a rough
guess. A pattern that shares no variable with those before it comes last. So the order depends on which
variables are bound, and not on their values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, Path, SequencePath

from corollary.columns import TripleIndex
from corollary.plan.join_order import Place, join_order

SOME_NODE = -(1 << 40)
"""A variable between the parts of a path, which is not bound."""


PatternCost = tuple[float, bool]


class Pattern(NamedTuple):
    """A triple pattern over ids; ``p`` is an id, a variable or a path."""

    s: int
    p: Any
    o: int
    variables: frozenset[int]

    @staticmethod
    def of(s: int, p: Any, o: int) -> Pattern:
        """The pattern with these ends and this predicate."""
        terms = (s, p, o) if type(p) is int else (s, o)
        return Pattern(s, p, o, frozenset([term for term in terms if term < 0]))


PatternPlace = Place[Pattern, PatternCost]


def is_connected(known: Collection[int], pattern: Pattern) -> bool:
    """Whether a pattern is no Cartesian product with rows that bind the ``known`` variables."""
    return not known or not pattern.variables or not pattern.variables.isdisjoint(known)


@dataclass(slots=True)
class PatternCosts:
    """The costs of patterns over one index (``plan.join_order.JoinCosts``).

    ``given`` are variables that have values from the start. ``unwanted``: see ``patterns.PatternJoin``.
    ``orders`` caches join orders: see ``intersections.JoinPlan``.
    """

    index: TripleIndex
    given: frozenset[int]
    id_of: Callable[[Any], int]
    unwanted: frozenset[int] = frozenset()
    orders: dict[Any, Any] = field(default_factory=dict)

    def order(self, bound: Collection[int], patterns: Sequence[Pattern]) -> list[PatternPlace]:
        """The patterns in join order, for rows that bind some variables."""
        return join_order(patterns, bound, self)

    def variables(self, item: Pattern) -> Set[int]:
        return item.variables - self.unwanted if self.unwanted else item.variables

    def is_connected(self, known: Set[int], item: Pattern) -> bool:
        return is_connected(known, item)

    def cost(self, known: Set[int], item: Pattern) -> PatternCost:
        """The growth, and whether the join is more than a check."""
        return self.growth(known, item), not item.variables.issubset(known)

    def has_end(self, pattern: Pattern) -> bool:
        """Whether at most one end of a pattern with a constant predicate is asked for."""
        if not self.unwanted:
            return False
        return type(pattern.p) is int and pattern.p >= 0 and self.leaves_out_end(pattern)

    def leaves_out_end(self, pattern: Pattern) -> bool:
        """Whether at most one end of a pattern is asked for."""
        return not self.unwanted.isdisjoint((pattern.s, pattern.o))

    def growth(self, known: Collection[int], pattern: Pattern) -> float:
        """The expected number of result rows for each row that binds the ``known`` variables."""
        s, p, o = pattern.s, pattern.p, pattern.o
        if self.has_end(pattern):
            return self._end_growth(known, pattern)
        if type(p) is not int:
            return self._path_growth(known, s, p, o)
        if p >= 0:
            return self._relation_growth(known, s, p, o)
        subjects, objects = self.index.most_ends()
        total: float = self.index.fact_count()
        total /= (subjects if s >= 0 or s in known else 1) * (objects if o >= 0 or o in known else 1)
        return total / 2 if p in known else total

    def _end_growth(self, known: Collection[int], pattern: Pattern) -> float:
        """As ``growth`` for a pattern that ``has_end``."""
        relation = self.index.relation(pattern.p)
        if not len(relation):
            return 0
        if all(end in self.unwanted or end >= 0 or end in known for end in (pattern.s, pattern.o)):
            return 0.5
        return relation.usual_counts()[0 if pattern.o in self.unwanted else 1]

    def _relation_growth(self, known: Collection[int], s: int, p: int, o: int) -> float:
        relation = self.index.relation(p)
        size = len(relation)
        if not size:
            return 0
        knows_s, knows_o = s >= 0 or s in known, o >= 0 or o in known
        if knows_s and knows_o:
            if s >= 0 and o >= 0:
                return 0
            if o >= 0:  # a check: subjects with that object, for each fact of the index
                return relation.count_of_object(o) / max(self.index.fact_count(), 1)
            return min(0.5, size / max(self.index.fact_count(), 1))
        if s >= 0:
            return relation.count_of_subject(s)
        if o >= 0:
            return relation.count_of_object(o)
        if knows_s or knows_o:
            subjects, objects = relation.usual_counts()
            return size / (subjects if knows_s else objects)
        return size

    def _path_growth(self, known: Collection[int], s: int, path: Any, o: int) -> float:
        if not isinstance(path, Path):
            return self._relation_growth(known, s, self.id_of(path), o)
        if isinstance(path, InvPath):
            return self._path_growth(known, o, path.arg, s)
        if isinstance(path, AlternativePath):
            return sum(self._path_growth(known, s, part, o) for part in path.args)
        ends = (s >= 0 or s in known) + (o >= 0 or o in known)
        if isinstance(path, SequencePath):
            if s >= 0 or s in known:
                return self._path_growth(known, s, path.args[0], SOME_NODE) * 2
            return self._path_growth(known, SOME_NODE, path.args[-1], o) * 2
        assert isinstance(path, MulPath | NegatedPath)
        total: float = self.index.fact_count()
        return total / 10**ends if ends else total**2
