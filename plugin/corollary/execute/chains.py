"""CHAIN over long lists: paths whose edges are the properties in the list, composed edge by edge.

All paths of a reading are composed from one position to both ends: from given starts or ends, from the
changed edges at one position, or from the position with the fewest facts. Between two joins, only the pairs
(first node, last node) are kept. A property that stands many times in a row is squared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import is_

import numpy as np

from corollary.columns import Candidates, Relation, TripleIndex
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import (
    Pairs,
    among,
    compose,
    contains,
    distinct,
    firsts,
    pack,
    seconds,
    sorted_unique,
)
from corollary.columns.pairs import join as join_keys
from corollary.execute.batches import Batch, concatenate
from corollary.execute.long_lists import Cells, LongListRule
from corollary.execute.run_plan import distinct_rows, emit
from corollary.execute.tuning import FACTS_PER_JOIN, MAX_PAIRS_OF_POWER, MIN_STEPS_TO_SQUARE
from corollary.kernels.sorted import Column, Keys, Rows

Edges = list[tuple[Relation, ...]]
"""For each position of a list, the relations of its items: one, unless a cell has several items."""


class Path(LongListRule):
    """A rule with CHAIN."""

    @property
    def ends(self) -> tuple[int, int]:
        """The terms at both ends of the path."""
        assert self.along.ends is not None
        return self.along.ends

    def complete(self, start: Batch, facts: TripleIndex) -> Batch:
        table = self.table(facts)
        start = start.take(among(start.columns[self.reading], table.readings)) if start.size else start
        parts = []
        for reading, rows in _by_reading(start, self.reading):
            edges = self.edges(reading, facts)
            parts.append(self._with_ends(rows, self._paths(rows, edges)))
        return self._selected(parts, facts)

    def premises(self, batch: Batch, facts: TripleIndex, read: Candidates) -> None:
        emit((*self.guards, *self.data), batch, read)
        cells = self.table(facts).cells
        for reading, rows in _by_reading(batch, self.reading):
            mine = cells.take(cells.reading == reading)
            read.setdefault(self._cells, []).append(pack(mine.reading, mine.cell))
            read.setdefault(self._first, []).append(pack(mine.cell, mine.item))
            edges = self.edges(reading, facts)
            nodes = knots(edges, *(distinct(rows.column(term)) for term in self.ends))
            for number, items in enumerate(self.items(reading, facts)):
                for item, relation in zip(items, edges[number], strict=True):
                    found, values = relation.objects_of(nodes[number])
                    keys = pack(nodes[number][found], values)
                    read.setdefault(item, []).append(keys[among(values, nodes[number + 1])])

    def _from_items(self, touched: Cells, counts: Rows, facts: TripleIndex, recent: TripleIndex) -> Batch:
        guards = self.table(facts).guards
        parts = []
        of_guards = guards.take(among(guards.columns[self.reading], distinct(touched.reading)))
        for reading, rows in _by_reading(of_guards, self.reading):
            mine = touched.reading == reading
            items, edges = self.items(reading, facts), self.edges(reading, facts)
            changed = set(touched.item[mine].tolist())
            at = [position for position, own in enumerate(items) if not changed.isdisjoint(own)]
            least = min(map(_size, edges))
            if (len(at) - 1) * len(edges) * FACTS_PER_JOIN + int(counts[mine].sum()) < least or len(at) == 1:
                recents = [[recent.relation(item) for item in items[position]] for position in at]
                found = [_all_pairs(edge) for edge in recents]
                pairs = [_through(edges, position, keys) for position, keys in zip(at, found, strict=True)]
                parts += [self._with_ends(rows, keys) for keys in pairs]
            else:
                parts.append(self._with_ends(rows, self._paths(rows, edges)))
        return self._selected(parts, facts)

    def items(self, reading: int, facts: TripleIndex) -> list[list[int]]:
        """The items of the cells of a reading, in the order of the list."""
        cells = self.table(facts).cells
        mine = cells.reading == reading
        of_cell: dict[int, list[int]] = {}
        for cell, item in zip(cells.cell[mine].tolist(), cells.item[mine].tolist(), strict=True):
            of_cell.setdefault(cell, []).append(item)
        return [of_cell[cell] for cell in self.context.readings[reading]]

    def edges(self, reading: int, facts: TripleIndex) -> Edges:
        relation = facts.relation
        return [tuple(map(relation, items)) for items in self.items(reading, facts)]

    def _paths(self, rows: Batch, edges: Edges) -> Keys:
        """The ends of all paths, sorted; only those that rows need, where these bind an end."""
        least = min(range(len(edges)), key=lambda position: _size(edges[position]))
        for term, position in zip(self.ends, (-1, len(edges)), strict=True):
            if rows.knows(term):
                nodes = distinct(rows.column(term))
                if nodes.size <= _size(edges[least]):
                    return _through(edges, position, pack(nodes, nodes))
        return _through(edges, least, _all_pairs(edges[least]))

    def _with_ends(self, rows: Batch, pairs: Keys) -> Batch:
        """The rows joined with the ends of paths."""
        start, end = self.ends
        if start == end:
            pairs = pairs[firsts(pairs) == seconds(pairs)]
        if rows.knows(start) and rows.knows(end):
            return rows.take(contains(pairs, pack(rows.column(start), rows.column(end))))
        if rows.knows(end):
            start, end = end, start
            pairs = sort_keys(pack(seconds(pairs), firsts(pairs)))
        if rows.knows(start):
            numbers, values = join_keys(pairs, rows.column(start))
            joined = rows.take(numbers)
            joined.columns[end] = values
            return joined
        numbers = np.repeat(np.arange(rows.size), pairs.size)
        joined = rows.take(numbers)
        joined.columns[start] = np.tile(firsts(pairs), rows.size)
        joined.columns[end] = np.tile(seconds(pairs), rows.size)
        return joined

    def _selected(self, parts: Sequence[Batch], facts: TripleIndex) -> Batch:
        """The rows that match the other data atoms and the filters."""
        batch = concatenate([part for part in parts if part.size])
        if batch.size:
            batch = self.joined(batch, self.data, facts)
        return distinct_rows(batch, self.outer) if batch.size else Batch.none()


def _by_reading(batch: Batch, reading: int) -> Iterator[tuple[int, Batch]]:
    """The rows of each reading."""
    if batch.size:
        column = batch.columns[reading]
        for number in distinct(column).tolist():
            yield number, batch.take(column == number)


def _size(edge: Sequence[Relation]) -> int:
    return sum(map(len, edge))


def _all_pairs(edge: Sequence[Relation]) -> Keys:
    """The facts of all relations, sorted and unique."""
    keys = [relation.pairs().keys for relation in edge]
    return keys[0] if len(keys) == 1 else sorted_unique(np.concatenate(keys))


def _through(edges: Edges, position: int, pairs: Keys) -> Keys:
    """The ends of all paths that have one of the pairs at a position, sorted. At -1 is the path's start."""
    pairs = _along(pairs, edges[position + 1 :])
    before = edges[: max(position, 0)][::-1]
    inverse = {relation: relation.inverse() for edge in before for relation in edge}
    backward = [tuple(map(inverse.__getitem__, edge)) for edge in before]
    pairs = _along(pack(seconds(pairs), firsts(pairs)), backward)
    return sorted_unique(pack(seconds(pairs), firsts(pairs)))


def _along(pairs: Keys, edges: Edges) -> Keys:
    """All (x, z) for pairs (x, y) and paths from y to z."""
    position = 0
    while position < len(edges) and pairs.size:
        edge, end = edges[position], position + 1
        while end < len(edges) and all(map(is_, edge, edges[end])) and len(edge) == len(edges[end]):
            end += 1
        steps, position = end - position, end
        if steps >= MIN_STEPS_TO_SQUARE and pairs.size * steps > FACTS_PER_JOIN + _size(edge):
            pairs = _repeated(pairs, edge, steps)
            continue
        for _ in range(steps):
            pairs = _after(pairs, edge)
            if not pairs.size:
                break
    return pairs


def _repeated(pairs: Keys, edge: Sequence[Relation], steps: int) -> Keys:
    """All (x, z) for pairs (x, y) and ``steps`` edges of one kind from y to z, by powers of the relation.

    A power that has many more pairs than the edges and the given pairs is not used.
    """
    powers = [Pairs(_all_pairs(edge))]
    most = MAX_PAIRS_OF_POWER * max(len(powers[0]), pairs.size)
    while 1 << len(powers) <= steps and len(powers[-1]) <= most:
        powers.append(Pairs(compose(powers[-1].keys, powers[-1])))
    if len(powers) > 1 and len(powers[-1]) > most:
        powers.pop()
    pairs = sorted_unique(pairs)
    for exponent in range(len(powers) - 1, -1, -1):
        while steps >= 1 << exponent and pairs.size:
            pairs = compose(pairs, powers[exponent])
            steps -= 1 << exponent
    return pairs


def _after(pairs: Keys, edge: Sequence[Relation]) -> Keys:
    """All (x, z) for pairs (x, y) and facts (y, z)."""
    starts, nodes = firsts(pairs), seconds(pairs)
    found = []
    for relation in edge:
        rows, values = relation.objects_of(nodes)
        found.append(pack(starts[rows], values))
    keys = found[0] if len(found) == 1 else np.concatenate(found)
    return sorted_unique(keys) if keys.size > pairs.size else keys


def knots(edges: Edges, starts: Column, ends: Column) -> list[Column]:
    """The nodes before each edge on the paths from any start to any end, ascending; last, the ``ends``.

    Precondition: ``starts`` and ``ends`` ascend.
    """
    forward = [starts]
    for edge in edges:
        found = [relation.objects_of(forward[-1])[1] for relation in edge]
        forward.append(distinct(np.concatenate(found)))
    nodes = ends
    backward = [nodes]
    for edge, known in zip(edges[::-1], forward[-2::-1], strict=True):
        found = [relation.subjects_of(nodes)[1] for relation in edge]
        nodes = distinct(np.concatenate(found))
        nodes = nodes[among(nodes, known)]
        backward.append(nodes)
    return backward[::-1]
