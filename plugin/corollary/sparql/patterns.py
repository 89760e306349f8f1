"""Basic graph patterns: joins of triple patterns and paths, in a join order chosen during evaluation.

The next pattern is the one with the least *growth*: the expected number of result rows for each row. Growth
is exact if a pattern has a constant end and a free end. Otherwise it is the relation's size, divided by the
number of distinct values of a bound end. A pattern that shares no variable with the rows comes last. Rows
pass through the remaining joins in chunks; with a limit, until there are enough rows. Where solutions are
only counted, those of the last pattern are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, Path, SequencePath

from corollary.columns import TripleIndex
from corollary.columns.pairs import firsts, seconds
from corollary.execute.batches import Batch
from corollary.execute.tuning import MAX_RELATIONS_TRIED
from corollary.kernels.limits import check, current, reserve
from corollary.kernels.sorted import Column, Rows
from corollary.sparql.paths import PathJoin
from corollary.sparql.solutions import stacked
from corollary.sparql.tuning import ROWS_PER_CHUNK, ROWS_PER_LIMITED_CHUNK


@dataclass(frozen=True, slots=True)
class Pattern:
    """A triple pattern over ids; ``p`` is an id, a variable or a path."""

    s: int
    p: Any
    o: int

    @property
    def variables(self) -> set[int]:
        terms = (self.s, self.o) if isinstance(self.p, Path) else (self.s, self.p, self.o)
        return {term for term in terms if term < 0}


Extend = Callable[[Batch, Pattern], Batch]
Change = Callable[[Batch], Batch]
"""Removes rows or columns of a batch."""


@dataclass(frozen=True, slots=True)
class PatternJoin:
    """Joins of patterns over one index.

    ``filters`` is applied to the rows before a Cartesian product with an unconnected pattern. It must keep
    rows for which it still lacks bindings. ``unwanted``: variables of one pattern each whose values are not
    asked for. They may be left unbound, and rows that differ in them only may be one.
    """

    index: TripleIndex
    paths: PathJoin
    given: frozenset[int]
    id_of: Callable[[Any], int]
    filters: Change
    unwanted: frozenset[int] = frozenset()

    def solve(self, start: Batch, patterns: list[Pattern], need: int | None, finish: Change | None) -> Batch:
        """All rows of ``start`` joined with all patterns, after ``finish``; with ``need``, the first ones.

        Without ``finish`` and ``need`` all rows are kept: then a product that exceeds a limit is refused
        before it is computed.
        """
        if len(patterns) == 1 and need is None and finish is None and not start.columns:
            (pattern,) = patterns
            if pattern.s >= 0 or pattern.o >= 0:
                return stacked(self._extended(start, pattern, ROWS_PER_CHUNK))
        parts, found, work = [], 0, current()
        all_stay = need is None and finish is None
        for unfinished in self._chunks(
            start, patterns, ROWS_PER_CHUNK if need is None else ROWS_PER_LIMITED_CHUNK, all_stay
        ):
            part = unfinished if finish is None else finish(unfinished)
            parts.append(part)
            found += part.size
            work.rows(found)
            if need is not None and found >= need:
                break
        return stacked(parts)

    def count(self, start: Batch, patterns: list[Pattern], finish: Change | None) -> int:
        """The number of rows that ``solve`` gives, none of which is kept."""
        found = 0
        for part in self._chunks(start, patterns, ROWS_PER_CHUNK, False, is_counted=finish is None):
            found += part.size if finish is None else finish(part).size
            check()
        return found

    def _chunks(
        self, batch: Batch, patterns: list[Pattern], limit: int, all_stay: bool, is_counted: bool = False
    ) -> Iterator[Batch]:
        """The solutions in chunks with at most ``limit`` expected rows after every join.

        With ``is_counted``, chunks may be of any size and lack columns.
        """
        if not batch.size:
            return
        if not patterns:
            yield batch
            return
        batch, following = self._next(batch, patterns)
        rest = list(patterns)
        rest.remove(following)
        counted = self._counted(batch, following) if is_counted and not rest else None
        if counted is not None:
            yield counted
            return
        is_product = all_stay and not rest and self._is_product(batch, following)
        growth = self.growth(batch, following) if batch.size > 1 or is_product else 1.0  # one row is one part
        if is_product:
            current().rows(batch.size * int(growth))
            reserve(batch.size * int(growth) * 4 * (len(batch.columns) + len(following.variables)))
        for start, end in self._parts(batch, following, int(limit / max(growth, 1)), limit):
            check()
            part = batch
            if end - start < batch.size:
                columns = {v: column[start:end] for v, column in batch.columns.items()}
                part = Batch(end - start, columns)
            for extended in self._extended(part, following, limit):
                yield from self._chunks(extended, rest, limit, all_stay, is_counted)

    def _parts(self, batch: Batch, pattern: Pattern, size: int, limit: int) -> Iterator[tuple[int, int]]:
        """The bounds of parts of a batch that a pattern extends to about ``limit`` rows, or of ``size`` rows.

        Where one end is bound, its matches are counted: many rows may have none, and some very many.
        """
        size = max(1, size)
        matches = None if batch.size <= size or self._has_end(pattern) else self._matches(batch, pattern)
        if matches is None:
            yield from ((start, min(start + size, batch.size)) for start in range(0, batch.size, size))
            return
        ends = np.cumsum(matches)
        start = 0
        while start < batch.size:
            least = (int(ends[start - 1]) if start else 0) + limit
            end = max(start + 1, int(np.searchsorted(ends, least, "right")))
            yield start, end
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
        knows_s, knows_o = batch.knows(s), batch.knows(o)
        if not isinstance(p, int) or p in batch.columns or (knows_s and knows_o) or s == o or p in (s, o):
            return None
        relations = [self.index.relation(each) for each in ([p] if p >= 0 else self.index.predicates())]
        if not (knows_s or knows_o):
            return np.full(batch.size, sum(map(len, relations)), np.int64)
        if len(relations) > MAX_RELATIONS_TRIED:
            return None
        ends = batch.column(s if knows_s else o)
        found: Rows = np.zeros(batch.size, np.int64)
        for relation in relations:
            found += relation.subject_counts(ends) if knows_s else relation.object_counts(ends)
        return found

    def _next(self, batch: Batch, waiting: list[Pattern]) -> tuple[Batch, Pattern]:
        if len(waiting) == 1 and not batch.columns:
            return batch, waiting[0]
        following = min(waiting, key=lambda pattern: self.cost(batch, pattern))
        if batch.columns and self.cost(batch, following)[0]:
            batch = self.filters(batch)
        return batch, following

    def _is_product(self, batch: Batch, pattern: Pattern) -> bool:
        """Whether every row is joined with all facts of a constant predicate: then the growth is exact."""
        s, p, o = pattern.s, pattern.p, pattern.o
        ends = not (batch.knows(s) or batch.knows(o)) and s != o
        return isinstance(p, int) and p >= 0 and ends

    def _extended(self, batch: Batch, pattern: Pattern, limit: int) -> Iterator[Batch]:
        """The rows joined with a pattern; if that is a scan, in parts of about ``limit`` rows."""
        s, p, o = pattern.s, pattern.p, pattern.o
        if self._has_end(pattern):
            yield self._with_end(batch, pattern)
            return
        if batch.columns or batch.size > 1 or isinstance(p, Path) or s >= 0 or o >= 0 or len({s, p, o}) < 3:
            yield self._extend(batch, pattern)
            return
        parts: list[Batch] = []
        rows = 0
        for predicate in self.index.predicates() if p < 0 else [p]:
            for keys in self.index.relation(predicate).chunks(limit):
                bound = {p: np.full(keys.size, predicate, np.uint32)} if p < 0 else {}
                parts.append(Batch(int(keys.size), {**bound, s: firsts(keys), o: seconds(keys)}))
                rows += keys.size
                if rows >= limit:
                    yield stacked(parts)
                    parts, rows = [], 0
        if parts:
            yield stacked(parts)

    def _has_end(self, pattern: Pattern) -> bool:
        """Whether at most one end of a pattern with a constant predicate is asked for."""
        ends = {pattern.s, pattern.o}
        is_free = self.given.isdisjoint(ends) and not self.unwanted.isdisjoint(ends)
        return is_free and isinstance(pattern.p, int) and pattern.p >= 0

    def _with_end(self, batch: Batch, pattern: Pattern) -> Batch:
        """The rows joined with one end of a relation, or with none. Lists no facts."""
        relation = self.index.relation(pattern.p)
        if {pattern.s, pattern.o} <= self.unwanted:
            return batch if len(relation) else Batch.none()
        is_subject = pattern.o in self.unwanted
        end = pattern.s if is_subject else pattern.o
        if batch.knows(end):
            counts = relation.subject_counts if is_subject else relation.object_counts
            return batch.take(counts(batch.column(end)) > 0)
        terms = relation.subject_terms() if is_subject else relation.object_terms()
        reserve(4 * batch.size * terms.size * (1 + len(batch.columns)))
        joined = batch.take(np.repeat(np.arange(batch.size), terms.size))
        joined.columns[end] = np.tile(terms, batch.size)
        return joined

    def _end_growth(self, batch: Batch, pattern: Pattern) -> float:
        """As ``_growth`` for a pattern that ``_has_end``."""
        relation = self.index.relation(pattern.p)
        if not len(relation):
            return 0
        if all(end in self.unwanted or batch.knows(end) for end in (pattern.s, pattern.o)):
            return 0.5
        return relation.usual_counts()[0 if pattern.o in self.unwanted else 1]

    def _extend(self, batch: Batch, pattern: Pattern) -> Batch:
        return self.paths.extend(batch, pattern.s, pattern.p, pattern.o, self.given)

    def cost(self, batch: Batch, pattern: Pattern) -> tuple[bool, float, bool]:
        """The sort key of the join order: connected patterns first, then small growth, then checks."""
        variables = pattern.variables
        connected = not batch.columns or not variables or any(v in batch.columns for v in variables)
        return not connected, self.growth(batch, pattern), bool(variables - batch.columns.keys())

    def growth(self, batch: Batch, pattern: Pattern) -> float:
        """The expected number of result rows for each row of the batch."""
        s, p, o = pattern.s, pattern.p, pattern.o
        if self._has_end(pattern):
            return self._end_growth(batch, pattern)
        if isinstance(p, Path):
            return self._path_growth(batch, s, p, o)
        knows_s, knows_o = batch.knows(s), batch.knows(o)
        if p < 0:
            subjects, objects = self.index.most_ends()
            total = self.index.fact_count() / (subjects if knows_s else 1) / (objects if knows_o else 1)
            return total / 2 if p in batch.columns else total
        return self._relation_growth(batch, s, p, o)

    def _relation_growth(self, batch: Batch, s: int, p: int, o: int) -> float:
        relation = self.index.relation(p)
        size = len(relation)
        if not size:
            return 0
        if batch.knows(s) and batch.knows(o):
            if s >= 0 and o >= 0:
                return 0
            if o >= 0:  # a check: the share of the subjects that have that object
                return _count(relation.object_counts, o) / max(self.index.fact_count(), 1)
            return min(0.5, size / max(self.index.fact_count(), 1))
        if s >= 0:
            return _count(relation.subject_counts, s)
        if o >= 0:
            return _count(relation.object_counts, o)
        if batch.knows(s) or batch.knows(o):
            subjects, objects = relation.usual_counts()
            return size / (subjects if batch.knows(s) else objects)
        return size

    def _path_growth(self, batch: Batch, s: int, path: Any, o: int) -> float:
        if not isinstance(path, Path):
            return self._relation_growth(batch, s, path if isinstance(path, int) else self.id_of(path), o)
        if isinstance(path, InvPath):
            return self._path_growth(batch, o, path.arg, s)
        if isinstance(path, AlternativePath):
            return sum(self._path_growth(batch, s, part, o) for part in path.args)
        known = batch.knows(s) + batch.knows(o)
        if isinstance(path, SequencePath):
            if batch.knows(s):
                return self._path_growth(batch, s, path.args[0], -(1 << 40)) * 2
            return self._path_growth(batch, -(1 << 40), path.args[-1], o) * 2
        assert isinstance(path, MulPath | NegatedPath)
        total: float = self.index.fact_count()
        return total**2 if not known else total / 10**known


def _count(counts: Callable[[Column], Rows], term: int) -> int:
    """The number of facts with a term at the end that ``counts`` counts."""
    return int(counts(np.array([term], np.uint32))[0])
