"""Basic graph patterns: joins of triple patterns and paths, in the order of ``pattern_costs``.

Rows pass through the joins in chunks; with a limit, until there are enough rows. Where solutions are only
counted, those of the last pattern are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from rdflib.paths import AlternativePath

from corollary.columns import TripleIndex
from corollary.columns.pairs import firsts, seconds
from corollary.execute.batches import Batch, filled, join_relation, product
from corollary.execute.few_rows import FewRows
from corollary.execute.tuning import MAX_RELATIONS_TRIED, MAX_ROWS_JOINED_ONE_BY_ONE
from corollary.kernels.limits import check, current, reserve
from corollary.kernels.sorted import Column, Rows
from corollary.plan.join_order import Place
from corollary.sparql.intersections import Intersection, Item, ItemPlace, JoinPlan, by_end
from corollary.sparql.paths import PathJoin, shortened
from corollary.sparql.pattern_costs import Pattern, PatternCost, PatternCosts, is_connected
from corollary.sparql.solutions import Parts, gathered, piped, stacked
from corollary.sparql.tuning import ROWS_PER_LIMITED_CHUNK, ROWS_SCANNED_FIRST

Reduction = Callable[[Batch], Batch]
"""Removes rows or columns of a batch."""


class Joint(NamedTuple):
    """A join. ``cost`` None: it is not known before. ``unread``: variables that nothing reads after it."""

    item: Item
    cost: PatternCost | None
    is_connected: bool
    unread: frozenset[int] = frozenset()

    def left_by(self, batch: Batch) -> Batch:
        """A batch without the variables that nothing reads."""
        return Batch(batch.size, {v: c for v, c in batch.columns.items() if v not in self.unread})


def place_of_one(patterns: list[Pattern], bound: Collection[int]) -> list[Joint] | None:
    """The join with the only pattern, without a path, for rows that bind some variables. Else None."""
    if len(patterns) != 1 or type(patterns[0].p) is not int:
        return None
    return [Joint(patterns[0], None, is_connected(bound, patterns[0]))]


def joined_one_by_one(
    start: Batch, places: list[Joint], index: TripleIndex, unwanted: frozenset[int]
) -> tuple[Batch, int]:
    """Few rows joined at the first places one by one, and the number of these places.

    Also at those with a free predicate, if one end is known. A product of few rows does not wait for the
    filters of a ``PatternJoin``. ``unwanted``: as there.
    """
    if start.size > MAX_ROWS_JOINED_ONE_BY_ONE:
        return start, 0
    few = FewRows.of(start)
    done = 0
    for item, _, _, unread in places:
        if unread or type(item) is not Pattern or type(item.p) is not int:
            break
        if not 0 < few.size <= MAX_ROWS_JOINED_ONE_BY_ONE:
            break
        s, p, o, _ = item
        if unwanted and not unwanted.isdisjoint((s, o)):
            break
        if done:
            check()
        if not (few.join(s, p, o, index) or (p < 0 and few.join_open(s, p, o, index))):
            break
        done += 1
    return (few.batch(), done) if done else (start, 0)


@dataclass(slots=True)
class PatternJoin:
    """Joins of patterns over the index of ``costs``.

    ``filters`` is applied to the rows before a Cartesian product with an unconnected pattern. It must keep
    rows for which it still lacks bindings. Each ``unwanted`` variable of the costs occurs in one pattern, and
    its values are not asked for: it may be left unbound, and rows that differ only in it may become one row.
    """

    costs: PatternCosts
    paths: PathJoin
    filters: Reduction
    wholes: dict[Item, tuple[Item, bool]] = field(default_factory=dict)
    """By step of a path: the pattern of the whole path, and whether the step is its last one."""
    given: frozenset[int] = frozenset()
    """Variables between the steps of a path."""

    def places(self, bound: Collection[int], patterns: list[Pattern]) -> list[Joint]:
        """The joins with all patterns, for rows that bind some variables."""
        return self._elementary(JoinPlan(self.costs).places(bound, patterns), bound)

    def parts(
        self,
        start: Batch,
        places: list[Joint],
        limit: int,
        is_counted: bool = False,
        is_kept: bool = False,
    ) -> Iterator[Batch]:
        """All rows of ``start`` joined at all ``places``, in chunks of at most ``limit`` expected rows.

        With ``is_counted``, chunks may be of any size and lack columns. With ``is_kept`` all rows are kept: a
        product that exceeds a limit is refused before it is computed.
        """
        change = partial(self._joined, places, limit, is_counted, is_kept)
        return piped([start], [partial(change, number) for number in range(len(places))])

    def matches(self, batch: Batch, pattern: Pattern) -> Rows | None:
        """The number of facts that match a pattern in each row; None where that takes a join."""
        places = self._elementary([Place(pattern, None, True)], batch.columns)
        item = places[0].item
        return self._matches(batch, item) if len(places) == 1 and isinstance(item, Pattern) else None

    def _elementary(self, places: Iterable[ItemPlace], bound: Collection[int]) -> list[Joint]:
        """The places; for a sequence of paths, one for each of these."""
        found: list[Joint] = []
        places, known = list(places), set(bound)
        others = {place.item for place in places}
        for place in places:
            item = place.item
            if isinstance(item, Pattern) and type(item.p) is not int:
                found += self._steps_of(place, item, known, others)
            else:
                found.append(Joint(item, place.cost, place.is_connected))
            known |= item.variables
        return found

    def _steps_of(
        self, place: ItemPlace, item: Pattern, known: set[int], others: Set[Item]
    ) -> Iterator[Joint]:
        """The steps of a path, from an end that is known."""
        steps = self.paths.steps(item.s, self._path(item), item.o)
        if len(steps) == 1:
            pattern = Pattern.of(*steps[0])
            if pattern in others or self.wholes.get(pattern, (item, True)) != (item, True):
                yield Joint(item, place.cost, place.is_connected)  # EXPLAIN shows both
                return
            self.wholes[pattern] = item, True
            cost = place.cost if type(pattern.p) is not int else None
            yield Joint(pattern, cost, place.is_connected)
            return
        knows_start, knows_end = (end >= 0 or end in known for end in (item.s, item.o))
        if knows_end and not knows_start:
            steps.reverse()
        before: frozenset[int] = frozenset()
        for number, step in enumerate(steps):
            pattern = Pattern.of(*step)
            self.wholes[pattern] = item, number == len(steps) - 1
            inner = pattern.variables - {item.s, item.o}
            self.given |= inner
            yield Joint(pattern, None, place.is_connected or number > 0, before & inner)
            before = inner

    def _joined(
        self, places: list[Joint], limit: int, is_counted: bool, is_kept: bool, number: int, batch: Batch
    ) -> Parts:
        """A batch joined with the item at a place, in chunks of at most ``limit`` expected rows."""
        place, is_last = places[number], number == len(places) - 1
        following = place.item
        if not place.is_connected:
            batch = self.filters(batch)
        if not batch.size:
            return []
        if isinstance(following, Intersection):
            return self._intersected(batch, following, limit, is_counted and is_last)
        if is_counted and number == len(places) - 2:
            batch = by_end(batch, places[-1].item)
        counted = self._counted(batch, following) if is_counted and is_last else None
        if counted is not None:
            return [counted]
        growth = 1.0  # one row is one part
        is_announced = is_kept and is_last and self._is_product(batch, following)
        if is_announced or batch.size > 1:
            growth = self.costs.growth(batch.columns, following) if place.cost is None else place.cost[0]
        if is_announced:
            self._announce(batch, following, int(growth))
        size = max(1, int(limit / max(growth, 1)))
        check()
        found = (
            self._extended_in_parts(batch, following, size, limit)
            if batch.size > size
            else self._extended(batch, following, limit)
        )
        if not place.unread:
            return found
        if isinstance(found, list):
            return [place.left_by(part) for part in found]
        return map(place.left_by, found)

    def _intersected(self, batch: Batch, item: Intersection, limit: int, is_counted: bool) -> Iterator[Batch]:
        """The rows with each value of an intersection; with ``is_counted``, as many rows without columns."""
        return JoinPlan(self.costs).extended(batch, item, limit, is_counted)

    def _announce(self, batch: Batch, pattern: Pattern, growth: int) -> None:
        """Raises LimitExceeded if the rows or bytes of a Cartesian product exceed a limit."""
        current().rows(batch.size * growth)
        reserve(batch.size * growth * 4 * (len(batch.columns) + len(pattern.variables)))

    def _extended_in_parts(self, batch: Batch, pattern: Pattern, size: int, limit: int) -> Iterator[Batch]:
        """The rows joined with a pattern, some ``size`` rows at a time; with a path, more if they are few."""
        if type(pattern.p) is int or self.paths.closed_star(pattern.p) is not None:
            for part in self._parts(batch, pattern, size, limit):
                check()
                yield from self._extended(part, pattern, limit)
            return
        start = 0
        while start < batch.size:
            check()
            found = 0
            for extended in self._extended(batch.cut(start, min(start + size, batch.size)), pattern, limit):
                found += extended.size
                yield extended
            start += size
            size = max(1, min(2 * size, limit * size // max(found, 1)))

    def _parts(self, batch: Batch, pattern: Pattern, size: int, limit: int) -> Iterator[Batch]:
        """Parts of a batch that a pattern extends to about ``limit`` rows, or of ``size`` rows.

        Where one end is bound, its matches are counted: many rows may have none, and some very many.
        """
        matches = None if self.costs.has_end(pattern) else self._matches(batch, pattern)
        ends = None if matches is None else np.cumsum(matches)
        start = 0
        while start < batch.size:
            end = min(start + size, batch.size)
            if ends is not None:
                least = (int(ends[start - 1]) if start else 0) + limit
                end = max(start + 1, int(np.searchsorted(ends, least, "right")))
            yield batch.cut(start, end)
            start = end

    def _counted(self, batch: Batch, pattern: Pattern) -> Batch | None:
        """As many rows as a join with a pattern has, without columns; None where that takes the join."""
        matches = self._matches(batch, pattern)
        return None if matches is None else Batch(int(matches.sum()), {})

    def _matches(self, batch: Batch, pattern: Pattern) -> Rows | None:
        """The number of facts that match a pattern in each row; None where that takes a join.

        Cost: a search for each row and relation, of which there are at most ``MAX_RELATIONS_TRIED``.
        """
        s, p, o = pattern.s, pattern.p, pattern.o
        if isinstance(p, AlternativePath):
            return self._matches_of_each(batch, pattern)
        repeated = self.paths.closed_star(p)
        if repeated is not None:
            return self._matches_repeated(batch, pattern._replace(p=repeated))
        knows_s, knows_o = batch.knows(s), batch.knows(o)
        if type(p) is not int or p in batch.columns or (knows_s and knows_o) or s == o or p in (s, o):
            return None
        relations = [
            self.costs.index.relation(each) for each in ([p] if p >= 0 else self.costs.index.predicates())
        ]
        if not (knows_s or knows_o):
            return np.full(batch.size, sum(map(len, relations)), np.int64)
        if len(relations) > MAX_RELATIONS_TRIED:
            return None
        ends = batch.column(s if knows_s else o)
        found: Rows = np.zeros(batch.size, np.int64)
        for relation in relations:
            found += relation.subject_counts(ends) if knows_s else relation.object_counts(ends)
        return found

    def _is_product(self, batch: Batch, pattern: Pattern) -> bool:
        """Whether every row is joined with all facts of a constant predicate: then the growth is exact."""
        s, p, o = pattern.s, pattern.p, pattern.o
        ends = not (batch.knows(s) or batch.knows(o)) and s != o
        return type(p) is int and p >= 0 and ends

    def _extended(self, batch: Batch, pattern: Pattern, limit: int) -> Iterable[Batch]:
        """The rows joined with a pattern, in a list; in parts of some ``limit`` rows, if one has more."""
        s, p, o = pattern.s, pattern.p, pattern.o
        if self.costs.has_end(pattern):
            return [self._with_end(batch, pattern)]
        if type(p) is not int:
            return self._extended_by_path(batch, pattern, limit)
        is_open = p not in (s, o) and not any(map(batch.knows, (s, p, o)))
        if is_open and self.costs.leaves_out_end(pattern):
            return self._ends_of_all(batch, pattern)
        if batch.size != 1 or len({s, p, o}) < 3:
            return [self._extend(batch, pattern)]
        if batch.knows(s) or batch.knows(o):
            column = self._matches_of_one(batch, pattern)
            if column is None:
                return [self._extend(batch, pattern)]
            free = o if batch.knows(s) else s
            if column.size <= limit:
                return [product(batch, Batch(column.size, {free: column}))]
            starts = range(0, column.size, limit)
            parts = (column[start : start + limit] for start in starts)
            return (product(batch, Batch(part.size, {free: part})) for part in parts)
        if not batch.columns:
            return self._scanned(pattern, limit)
        if not pattern.variables.isdisjoint(batch.columns) or len(self.costs.index.relation(p)) <= limit:
            return [self._extend(batch, pattern)]
        return (product(batch, part) for part in self._scanned(pattern, limit))

    def _extended_by_path(self, batch: Batch, pattern: Pattern, limit: int) -> Iterable[Batch]:
        """As ``_extended``, for a path."""
        s, path, o = pattern.s, pattern.p, pattern.o
        given = self.costs.given | self.given
        if limit == ROWS_PER_LIMITED_CHUNK:
            return self.paths.parts(batch, s, path, o, given)
        if isinstance(path, AlternativePath):
            return self._extended_by_each(batch, self._alternatives(pattern), limit)
        repeated = self.paths.closed_star(path)
        if repeated is None:
            return [self._extend(batch, pattern)]
        steps = self._extended_by_each(batch, [pattern._replace(p=repeated)], limit)
        none = self.paths.by_no_steps(batch, s, repeated, o, given)
        return gathered(chain(steps, [none]), limit)

    def _matches_of_one(self, batch: Batch, pattern: Pattern) -> Column | None:
        """The terms at the free end of a pattern with a constant predicate, in the only row of a batch.

        None if both ends are known. Precondition: one is.
        """
        p = pattern.p
        if p < 0:
            return None
        s, o = (int(batch.columns[end][0]) if end in batch.columns else end for end in (pattern.s, pattern.o))
        if s >= 0 and o >= 0:
            return None
        relation = self.costs.index.relation(p)
        return relation.column_of_objects(s) if s >= 0 else relation.column_of_subjects(o)

    def _scanned(self, pattern: Pattern, limit: int) -> Iterator[Batch]:
        """All facts of a predicate, or of all predicates, in parts: under a LIMIT, the first one is small."""
        s, p, o = pattern.s, pattern.p, pattern.o
        parts: list[Batch] = []
        rows, wanted = 0, ROWS_SCANNED_FIRST if limit == ROWS_PER_LIMITED_CHUNK else limit
        for predicate in self.costs.index.predicates() if p < 0 else [p]:
            for chunk in self.costs.index.relation(predicate).chunks(limit):
                for keys in (chunk[:wanted], chunk[wanted:]) if wanted < chunk.size else (chunk,):
                    bound = {p: filled(keys.size, predicate)} if p < 0 else {}
                    parts.append(Batch(int(keys.size), {**bound, s: firsts(keys), o: seconds(keys)}))
                    rows += keys.size
                    if rows >= wanted:
                        yield stacked(parts)
                        parts, rows, wanted = [], 0, limit
        if parts:
            yield stacked(parts)

    def _ends_of_all(self, batch: Batch, pattern: Pattern) -> Iterator[Batch]:
        """The rows joined with each predicate, and with one end of its relation or with none."""
        for predicate in self.costs.index.predicates():
            part = self._with_end(batch, pattern._replace(p=predicate))
            if part.size:
                yield Batch(part.size, {**part.columns, pattern.p: filled(part.size, predicate)})

    def _with_end(self, batch: Batch, pattern: Pattern) -> Batch:
        """The rows joined with one end of a relation, or with none. Lists no facts."""
        relation = self.costs.index.relation(pattern.p)
        if {pattern.s, pattern.o} <= self.costs.unwanted:
            return batch if len(relation) else Batch.none()
        is_subject = pattern.o in self.costs.unwanted
        end = pattern.s if is_subject else pattern.o
        if batch.knows(end):
            counts = relation.subject_counts if is_subject else relation.object_counts
            return batch.take(counts(batch.column(end)) > 0)
        terms = relation.subject_terms() if is_subject else relation.object_terms()
        reserve(4 * batch.size * terms.size * (1 + len(batch.columns)))
        joined = batch.take(np.repeat(np.arange(batch.size), terms.size))
        joined.columns[end] = np.tile(terms, batch.size)
        return joined

    def _extend(self, batch: Batch, pattern: Pattern) -> Batch:
        s, p, o = pattern.s, pattern.p, pattern.o
        if type(p) is int and p >= 0:
            if 1 < batch.size <= MAX_ROWS_JOINED_ONE_BY_ONE:
                few = FewRows.of(batch)
                if few.join(s, p, o, self.costs.index):
                    return few.batch()
            return join_relation(batch, s, self.costs.index.relation(p), o)
        return self.paths.extend(batch, s, p, o, self.costs.given | self.given)

    def _alternatives(self, pattern: Pattern) -> Iterator[Pattern]:
        """The patterns of the alternatives of a path."""
        return (Pattern.of(pattern.s, path, pattern.o) for path in pattern.p.args)

    def _extended_by_each(self, batch: Batch, patterns: Iterable[Pattern], limit: int) -> Iterator[Batch]:
        """The rows joined with each of some patterns."""

        def extended(one: Pattern) -> Iterator[Batch]:
            join = PatternJoin(self.costs, self.paths, self.filters, given=self.given)
            places = join._elementary([Place(one, None, True)], batch.columns)
            change = partial(join._joined, places, limit, False, False)
            return piped([batch], [partial(change, number) for number in range(len(places))])

        return gathered(chain.from_iterable(map(extended, patterns)), limit)

    def _matches_repeated(self, batch: Batch, pattern: Pattern) -> Rows | None:
        """The number of facts that match a pattern in each row, and of paths of no steps."""
        found = self._matches(batch, pattern)
        if found is None:
            return None
        known = next((end for end in (pattern.s, pattern.o) if batch.knows(end)), None)
        if known is None:
            return found + self.paths.alone_count(pattern.p)
        is_given = known >= 0 or known in self.costs.given or known in self.given
        alone = self.paths.are_alone(batch.column(known), pattern.p, are_given=is_given)
        return found + alone

    def _matches_of_each(self, batch: Batch, pattern: Pattern) -> Rows | None:
        """The sum of the numbers of facts that match each alternative."""
        found: Rows = np.zeros(batch.size, np.int64)
        for one in self._alternatives(pattern):
            check()
            matches = PatternJoin(self.costs, self.paths, self.filters).matches(batch, one)
            if matches is None:
                return None
            found += matches
        return found

    def _path(self, pattern: Pattern) -> Any:
        """The path of a pattern, or a shorter one where an end is not asked for."""
        at_start, at_end = (end in self.costs.unwanted for end in (pattern.s, pattern.o))
        return shortened(pattern.p, at_start=at_start, at_end=at_end)
