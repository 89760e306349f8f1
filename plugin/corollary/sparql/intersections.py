"""Where patterns are joined by a multiway intersection (``execute.intersect``), instead of one by one.

*Cycles.* A pattern binds a variable, and others check the same variable against other ends: each row has as
many lists as there are patterns. They are intersected unless the first pattern has one value for each row:
then there is nothing to save. The average number of values says little: a few nodes may have most of them.

*Stars.* Several patterns share a variable that nothing has bound. A join one by one repeats each value for
all facts of the first patterns, before the others discard it. The terms at the ends are intersected first if
a sample shows that few remain; then each pattern lists the facts of these.

Small joins stay as they are: an intersection saves nothing there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from corollary.columns.key_sort import order_of
from corollary.columns.pairs import spread
from corollary.execute.batches import Batch, product
from corollary.execute.intersect import Side, common_values, count_in_common, intersections
from corollary.plan.join_order import Place
from corollary.sparql.pattern_costs import Pattern, PatternCost, PatternCosts, PatternPlace
from corollary.sparql.tuning import (
    MAX_GROWTH_JOINED,
    MAX_JOIN_ORDERS_CACHED,
    MAX_SHARE_LEFT,
    MIN_CANDIDATES,
    MIN_FACTS,
    MIN_FACTS_PER_TERM,
    VALUES_SAMPLED,
)


class Intersection(NamedTuple):
    """A join that binds ``variable`` to the values that all ``patterns`` allow.

    It replaces the patterns whose other end is known. Of an ``open`` one, with a free other end, it finds
    the values of the variable only, and the pattern is joined later.
    """

    variable: int
    patterns: tuple[Pattern, ...]
    open: tuple[Pattern, ...] = ()

    @property
    def variables(self) -> frozenset[int]:
        return frozenset((self.variable,))

    @property
    def ends(self) -> tuple[int, ...]:
        """The other end of each pattern."""
        return tuple(each.s if each.o == self.variable else each.o for each in self.patterns)

    @property
    def all(self) -> tuple[Pattern, ...]:
        return self.patterns + self.open


Item = Pattern | Intersection


def by_end(batch: Batch, item: Item) -> Batch:
    """The rows in the order of an end of an intersection, if they have one of two.

    So those that a join makes of some rows have few terms at this end: see ``count_in_common``.
    """
    if not isinstance(item, Intersection):
        return batch
    ends = [end for end in {*item.ends} if end in batch.columns]
    return batch.take(order_of(batch.columns[ends[0]])) if len(ends) == 1 < batch.size else batch


ItemPlace = PatternPlace | Place[Intersection, PatternCost]


@dataclass(slots=True)
class JoinPlan:
    """The order of the joins of a basic graph pattern over the index of ``costs``.

    It depends on the index and the patterns only: so it is found once for queries that are asked again.
    """

    costs: PatternCosts

    def places(self, bound: Collection[int], patterns: Sequence[Pattern]) -> list[ItemPlace]:
        """The patterns in join order, for rows that bind some variables."""
        if len(patterns) < 2:
            return self._places(bound, patterns)
        index, orders = self.costs.index, self.costs.orders
        key = id(index), frozenset(bound), self.costs.unwanted, *patterns
        known = orders.get(key)
        if known is None:
            if len(orders) >= MAX_JOIN_ORDERS_CACHED:
                orders.clear()
            known = orders[key] = index, self._places(bound, patterns)  # no other index gets its ``id``
        places: list[ItemPlace] = known[1]
        return places

    def _places(self, bound: Collection[int], patterns: Sequence[Pattern]) -> list[ItemPlace]:
        ordered = self.costs.order(bound, patterns)
        if len(ordered) < 3:
            return [*ordered]
        star = self._star([place.item for place in ordered], bound)
        if star is None:
            return [*self._with_cycles(ordered, set(bound))]
        first, growth = star
        rest = [pattern for pattern in patterns if pattern not in first.patterns]
        others = self.costs.order({*bound, first.variable}, rest)
        closed = self._with_cycles(others, {*bound, first.variable})
        return [Place(first, (growth, True), not bound), *closed]

    def extended(self, batch: Batch, item: Intersection, limit: int, is_counted: bool) -> Iterator[Batch]:
        """The rows of a batch with each value of an intersection, in parts.

        With ``is_counted``, batches with as many rows, and without columns.
        """
        sides = self._sides(item)
        if not any(side.is_bound for side in sides):
            for values in common_values(sides, max(1, limit // batch.size)):
                yield product(batch, Batch(values.size, {item.variable: values}))
            return
        if is_counted and len(sides) == 2 and all(side.is_bound for side in sides):
            count = count_in_common(batch, *sides)
            if count is not None:
                yield Batch(count, {})
                return
        for rows, values in intersections(batch, sides, limit):
            if is_counted:
                yield Batch(values.size, {})
            elif values.size:
                found = batch.take(rows)
                found.columns[item.variable] = values
                yield found

    def _sides(self, item: Intersection) -> list[Side]:
        known = [self._side(pattern, item.variable) for pattern in item.patterns]
        return known + [self._side(pattern, item.variable)._replace(end=None) for pattern in item.open]

    def _side(self, pattern: Pattern, variable: int) -> Side:
        """The pairs (end, value) of a pattern."""
        pairs = self.costs.index.relation(pattern.p).pairs()
        return Side(pairs, pattern.s) if pattern.o == variable else Side(pairs.inverse(), pattern.o)

    def _is_plain(self, item: Pattern) -> bool:
        """Whether it has two different ends, both asked for, and a predicate whose facts are listed."""
        return (
            type(item.p) is int
            and item.p >= 0
            and item.s != item.o
            and not self.costs.leaves_out_end(item)
            and not self.costs.index.relation(item.p).is_compressed
        )

    def _with_cycles(self, places: list[PatternPlace], known: set[int]) -> Iterator[ItemPlace]:
        """The places, with an intersection where several patterns have one new variable and known ends."""
        waiting = list(places)
        while waiting:
            place = waiting.pop(0)
            item = place.item
            growth = self.costs.growth(known, item) if place.cost is None else place.cost[0]
            others = self._checks(item, waiting, known) if growth > MAX_GROWTH_JOINED and waiting else []
            if others:
                waiting = [other for other in waiting if other.item not in others]
                (variable,) = item.variables - known
                for other in others:
                    growth *= self.costs.growth(known | {variable}, other)
                yield Place(Intersection(variable, (item, *others)), (growth, True), True)
            else:
                yield place
            known |= item.variables

    def _checks(self, item: Pattern, waiting: Sequence[PatternPlace], known: set[int]) -> list[Pattern]:
        """The waiting patterns with no variable but the new one of ``item`` and known ones.

        None of them if at most one of all these patterns has a known variable: then only one list differs
        from row to row, and a join with it reads no more.
        """
        new = item.variables - known
        if len(new) != 1 or not self._is_plain(item) or len(self.costs.index.relation(item.p)) < MIN_FACTS:
            return []
        found = [
            place.item
            for place in waiting
            if self._is_plain(place.item) and place.item.variables - known == new
        ]
        linked = [pattern for pattern in (item, *found) if len(pattern.variables) == 2]
        return found if len(linked) > 1 else []

    def _star(self, patterns: list[Pattern], bound: Collection[int]) -> tuple[Intersection, float] | None:
        """An intersection to begin with, and its growth: its expected number of values."""
        first = patterns[0]
        if not self._is_plain(first) or not first.variables.isdisjoint(bound):
            return None
        for variable in first.variables:
            plain = [each for each in patterns if variable in each.variables]
            if len(plain) < 3:
                continue
            plain = [each for each in plain if self._is_plain(each)]
            ends = [(each, each.s if each.o == variable else each.o) for each in plain]
            closed = tuple(each for each, end in ends if end >= 0)
            opened = tuple(each for each, end in ends if end < 0 and end not in bound)
            if len(opened) > 1 and len(closed) + len(opened) > 2:
                found = Intersection(variable, closed, opened)
                growth = self._growth(found)
                if growth is not None:
                    return found, growth
        return None

    def _growth(self, star: Intersection) -> float | None:
        """The expected number of values of a star; None if a join one by one is expected to be as good."""
        fanout = max(self.costs.growth(star.variables, pattern) for pattern in star.open)
        if fanout < MIN_FACTS_PER_TERM:
            return None
        shortest, *others = sorted(self._sides(star), key=Side.size)
        if shortest.size() < MIN_CANDIDATES:
            return None
        sample = left = np.ascontiguousarray(spread(shortest.values(), VALUES_SAMPLED))
        for side in others:
            left = left[side.has(Batch.start(), left)]
        share = left.size / sample.size
        return max(1.0, share * shortest.size()) if share <= MAX_SHARE_LEFT else None
