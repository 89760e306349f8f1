"""Property paths: joins of a batch with the pairs of nodes that a path connects.

A path extends a batch as a triple pattern does. Inverse paths, sequences, alternatives and negated sets
become joins. A repeated path (``*``, ``+``, ``?``) is searched breadth first from all values of a bound end
together, as pairs (origin, reached node), so that cycles terminate. Semantics: sequences and alternatives
have bag semantics, the pairs of a repeated path have set semantics.

Where some rows are enough, the pairs of a repeated path are joined as the search finds them, level by level
(``PathJoin.parts``); where no end is bound, it starts from a few nodes, before it starts from all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial, reduce
from typing import Any

import numpy as np
from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, Path, SequencePath
from rdflib.term import Node, URIRef

from corollary.closure.reachability import close_keys
from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import (
    NO_KEYS,
    Pairs,
    among,
    contains,
    difference,
    distinct,
    firsts,
    pack,
    seconds,
    sorted_unique,
    swap,
    union,
)
from corollary.execute.batches import Batch, product
from corollary.execute.batches import join as join_atom
from corollary.kernels.limits import check
from corollary.kernels.sorted import Column, Keys, Mask
from corollary.program.compile import Atom
from corollary.sparql.solutions import Change, Parts, piped, stacked
from corollary.sparql.tuning import MAX_NODES_SEARCHED, NODES_TRIED

CONNECTED = 0
"""The predicate of a repeated path's pairs, in the temporary index that joins them."""


PathParts = Callable[[Batch, int, Any, int, frozenset[int]], Parts]
"""Joins rows with a path, in parts: ``PathJoin.parts``."""


class PathJoin:
    """Joins with paths over one index.

    ``nodes`` gives the nodes of the graph, ascending; ``fresh`` gives unused variable numbers.
    """

    def __init__(
        self,
        index: TripleIndex,
        nodes: Callable[[TripleIndex], Column],
        id_of: Callable[[Node], int],
        fresh: Callable[[], int],
    ) -> None:
        self._index = index
        self._nodes = nodes
        self._id_of = id_of
        self._fresh = fresh

    def extend(self, batch: Batch, start: int, path: Any, end: int, given: frozenset[int]) -> Batch:
        """Every row joined with every pair (start, end) that ``path`` connects; ``path`` may be a predicate.

        Variables in ``given`` stand for constants: a path of length zero connects their values to themselves,
        even if these are no nodes of the graph.
        """
        if not batch.size:
            return Batch.none()
        if not isinstance(path, Path):
            predicate = path if isinstance(path, int) else self._id_of(path)
            return join_atom(batch, Atom(start, predicate, end), self._index)
        if isinstance(path, InvPath):
            return self.extend(batch, end, path.arg, start, given)
        if isinstance(path, AlternativePath):
            return stacked([self.extend(batch, start, part, end, given) for part in path.args])
        if isinstance(path, SequencePath):
            return stacked(self._sequence(batch, start, list(path.args), end, given, self._whole))
        if isinstance(path, NegatedPath):
            return self._negated(batch, start, path, end)
        if isinstance(path, MulPath):
            return self._repeated(batch, start, path, end, given)
        raise NotImplementedError(f"path {path!r}")

    def _sequence(
        self, batch: Batch, start: int, parts: list[Any], end: int, given: frozenset[int], join: PathParts
    ) -> Iterator[Batch]:
        """The rows joined with a sequence of paths, each of them by ``join``."""
        steps = self.steps(start, SequencePath(*parts), end)
        if batch.knows(end) and not batch.knows(start):
            steps.reverse()
        inner = frozenset(v for step in steps for v in (step[0], step[2]) if v not in (start, end))
        given |= inner  # nodes of the graph, or reached by zero steps from a given value
        before: tuple[int, ...] = ()
        changes: list[Change] = []
        for s, path, o in steps:
            unread = inner.intersection(before, (s, o))
            changes.append(partial(self._step, s, path, o, given, unread, join))
            before = s, o
        return piped([batch], changes)

    @staticmethod
    def _step(
        start: int,
        path: Any,
        end: int,
        given: frozenset[int],
        unread: frozenset[int],
        join: PathParts,
        batch: Batch,
    ) -> Parts:
        """The rows joined with a step of a sequence, without variables that nothing reads after it."""
        found = join(batch, start, path, end, given)
        parts = (
            Batch(part.size, {v: c for v, c in part.columns.items() if v not in unread}) for part in found
        )
        return list(parts) if isinstance(found, list) else parts

    def steps(self, start: int, path: Any, end: int) -> list[tuple[int, Any, int]]:
        """What connects two ends, one after the other: predicates, or paths that are no sequence.

        Joining with all of them is joining with the path, but for the variables between them. What repeats a
        transitive relation one or more times is this relation.
        """
        parts: list[tuple[Any, bool]] = []
        waiting = [(path, False)]
        while waiting:
            part, is_inverse = waiting.pop()
            if isinstance(part, InvPath):
                waiting.append((part.arg, not is_inverse))
            elif isinstance(part, SequencePath):
                args = part.args if is_inverse else reversed(part.args)
                waiting += [(each, is_inverse) for each in args]
            else:
                is_repeated = isinstance(part, MulPath) and part.more and not part.zero
                plain = part.path if is_repeated and self._is_closed(part) else part
                parts.append((plain if isinstance(plain, Path | int) else self._id_of(plain), is_inverse))
        ends = [start, *(self._fresh() for _ in parts[1:]), end]
        steps = zip(ends, parts, ends[1:], strict=False)
        return [(o, part, s) if is_inverse else (s, part, o) for s, (part, is_inverse), o in steps]

    def _negated(self, batch: Batch, start: int, path: NegatedPath, end: int) -> Batch:
        """Join with all predicates but the negated ones.

        Also backward if inverse predicates are negated; only backward if no others are.
        """
        if not all(isinstance(part, URIRef | InvPath) for part in path.args):
            raise NotImplementedError("rdflib's parser loses which predicate is negated backwards")
        inverse = {
            self._id_of(part.arg)
            for part in path.args
            if isinstance(part, InvPath) and isinstance(part.arg, URIRef)
        }
        forward = {self._id_of(part) for part in path.args if isinstance(part, URIRef)}
        parts = []
        for predicate in self._index.predicates():
            if predicate not in forward and (forward or not inverse):
                parts.append(join_atom(batch, Atom(start, predicate, end), self._index))
            if inverse and predicate not in inverse:
                parts.append(join_atom(batch, Atom(end, predicate, start), self._index))
        return stacked(parts)

    def _repeated(self, batch: Batch, start: int, path: MulPath, end: int, given: frozenset[int]) -> Batch:
        if batch.knows(start) and batch.knows(end):
            return stacked(self._between(batch, start, path, end, given))
        few = self._few_reached(batch, start, path, end, given) if batch.size == 1 else None
        if few is not None:
            return product(batch, few)
        if batch.knows(start):
            keys = self._reached(self._origins(batch, start, given), path, backwards=False)
        elif batch.knows(end):
            keys = np.sort(swap(self._reached(self._origins(batch, end, given), path, backwards=True)))
        else:
            keys = self._all_pairs(path)
        return _joined(batch, start, keys, end)

    def _few_reached(
        self, batch: Batch, start: int, path: MulPath, end: int, given: frozenset[int]
    ) -> Batch | None:
        """The terms at the free end of a repeated predicate, searched one by one from the batch's only row.

        None for other paths, if no end is known, and for more terms than ``MAX_NODES_SEARCHED``.
        """
        known, free = (start, end) if batch.knows(start) else (end, start)
        if isinstance(path.path, Path) or self._is_closed(path) or not batch.knows(known):
            return None
        relation = self._index.relation(self._id_of(path.path))
        matches_of = relation.column_of_objects if known == start else relation.column_of_subjects
        frontier: Iterable[int] = self._origins(batch, known, given).tolist()
        found = dict.fromkeys(frontier) if path.zero else {}
        while frontier:
            check()
            reached: dict[int, None] = {}
            for term in frontier:
                matches = matches_of(term)
                if len(found) + len(reached) + matches.size > MAX_NODES_SEARCHED:
                    return None
                reached.update(dict.fromkeys(matches.tolist()))
            frontier = reached.keys() - found.keys() if path.more else ()
            found |= reached
        return Batch(len(found), {free: np.array(sorted(found), np.uint32)})

    def _between(
        self, batch: Batch, start: int, path: MulPath, end: int, given: frozenset[int]
    ) -> Iterator[Batch]:
        """The rows whose ends are connected. The search goes on from the starts of the others only."""
        levels = self._levels(self._origins(batch, start, given), path, backwards=False)
        frontier = next(levels, NO_KEYS)
        while frontier.size and batch.size:
            is_found = contains(frontier, pack(batch.column(start), batch.column(end)))
            if is_found.any():
                yield batch.take(is_found)
                batch = batch.take(~is_found)
                frontier = frontier[among(firsts(frontier), distinct(batch.column(start)))]
            try:
                frontier = levels.send(frontier)
            except StopIteration:
                return

    def parts(self, batch: Batch, start: int, path: Any, end: int, given: frozenset[int]) -> Iterator[Batch]:
        """As ``extend``, in parts, the first of which come before all pairs are known."""
        if isinstance(path, InvPath):
            yield from self.parts(batch, end, path.arg, start, given)
        elif isinstance(path, AlternativePath):
            for part in path.args:
                yield from self.parts(batch, start, part, end, given)
        elif isinstance(path, SequencePath):
            yield from self._sequence(batch, start, list(path.args), end, given, self.parts)
        elif not isinstance(path, MulPath) or not batch.size:
            yield self.extend(batch, start, path, end, given)
        elif batch.knows(start) and batch.knows(end):
            yield from self._between(batch, start, path, end, given)
        elif batch.knows(start):
            for keys in self._levels(self._origins(batch, start, given), path, backwards=False):
                yield _joined(batch, start, keys, end)
        elif batch.knows(end):
            for keys in self._levels(self._origins(batch, end, given), path, backwards=True):
                yield _joined(batch, start, np.sort(swap(keys)), end)
        else:
            nodes = self._nodes(self._index)
            few = nodes[:NODES_TRIED]
            for keys in self._levels(few, path, backwards=False):
                yield _joined(batch, start, keys, end)
            if nodes.size > few.size:
                pairs = self._all_pairs(path)
                yield _joined(batch, start, pairs[~among(firsts(pairs), few)], end)

    def _whole(self, batch: Batch, start: int, path: Any, end: int, given: frozenset[int]) -> list[Batch]:
        """``extend`` as one part."""
        return [self.extend(batch, start, path, end, given)]

    def _origins(self, batch: Batch, end: int, given: frozenset[int]) -> Column:
        if end >= 0:
            return np.array([end], np.uint32)
        origins = distinct(batch.columns[end])
        if end in given:
            return origins
        nodes = self._nodes(self._index)
        if not nodes.size:
            return nodes
        known: Column = origins[nodes[np.minimum(np.searchsorted(nodes, origins), nodes.size - 1)] == origins]
        return known

    def closed_star(self, path: Any) -> int | None:
        """The predicate that ``:p*`` repeats, if its relation is known to be transitive; else None."""
        if not isinstance(path, MulPath) or not (path.more and path.zero) or not self._is_closed(path):
            return None
        assert isinstance(path.path, URIRef)
        return self._id_of(path.path)

    def are_alone(self, terms: Column, predicate: int, *, are_given: bool) -> Mask:
        """Which terms a path of no steps connects to themselves, and the relation of a predicate does not."""
        nodes = self._nodes(self._index)
        keys = pack(terms, terms)
        found: Mask = ~self._index.relation(predicate).contains(keys)
        if not are_given and nodes.size:
            found &= nodes[np.minimum(np.searchsorted(nodes, terms), nodes.size - 1)] == terms
        return found if are_given or nodes.size else np.zeros(terms.size, np.bool_)

    def by_no_steps(self, batch: Batch, start: int, predicate: int, end: int, given: frozenset[int]) -> Batch:
        """The rows joined with the terms that ``are_alone``, as start and end."""
        known = next((each for each in (start, end) if batch.knows(each)), None)
        terms = self._nodes(self._index) if known is None else self._origins(batch, known, given)
        terms = terms[self.are_alone(terms, predicate, are_given=True)]
        return _joined(batch, start, pack(terms, terms), end)

    def alone_count(self, predicate: int) -> int:
        """The number of nodes that ``are_alone``."""
        return int(np.count_nonzero(self.are_alone(self._nodes(self._index), predicate, are_given=True)))

    def _all_pairs(self, path: MulPath) -> Keys:
        nodes = self._nodes(self._index)
        if isinstance(path.path, Path) or not path.more:
            return self._reached(nodes, path, backwards=False)
        keys = self._index.relation(self._id_of(path.path)).pairs().keys
        closed = keys if self._is_closed(path) else close_keys(keys)
        return union(closed, pack(nodes, nodes)) if path.zero else closed

    def _reached(self, origins: Column, path: MulPath, *, backwards: bool) -> Keys:
        """All pairs (origin, node) that the path connects (``backwards``: from node to origin), sorted."""
        return reduce(union, self._levels(origins, path, backwards=backwards), NO_KEYS)

    def _levels(self, origins: Column, path: MulPath, *, backwards: bool) -> Generator[Keys, Keys | None]:
        """The pairs of ``_reached``, those of each number of steps that none of fewer steps connect, sorted.

        What is sent is the part of them from which the search goes on.
        """
        origin, node, following = self._fresh(), self._fresh(), self._fresh()
        s, o = (following, node) if backwards else (node, following)
        frontier = pack(origins, origins)
        found = NO_KEYS
        if path.zero and frontier.size:
            found = frontier
            frontier = _chosen((yield frontier), frontier)
        is_short = not path.more or self._is_closed(path)
        while frontier.size:
            check()
            batch = Batch(int(frontier.size), {origin: firsts(frontier), node: seconds(frontier)})
            batch = self.extend(batch, s, path.path, o, frozenset((origin, node)))
            if not batch.size:
                return
            reached = sorted_unique(pack(batch.columns[origin], batch.columns[following]))
            frontier = difference(reached, found)
            found = union(found, frontier)
            if frontier.size:
                frontier = _chosen((yield frontier), frontier)
            if is_short:
                return

    def _is_closed(self, path: MulPath) -> bool:
        """Whether the path repeats a relation that is known to be transitive."""
        if isinstance(path.path, Path):
            return False
        return self._index.relation(self._id_of(path.path)).is_known_transitive


def _chosen(sent: Keys | None, frontier: Keys) -> Keys:
    return frontier if sent is None else sent


def _joined(batch: Batch, start: int, keys: Keys, end: int) -> Batch:
    """The rows joined with sorted pairs (start, end)."""
    pairs = TripleIndex({CONNECTED: Relation(Pairs(keys))})
    return join_atom(batch, Atom(start, CONNECTED, end), pairs)


def shortened(path: Any, *, at_start: bool, at_end: bool) -> Any:
    """A path that connects the same terms at the other end, if an end of ``path`` is not asked for.

    What has an end by ``:p+`` has one by ``:p``; by ``:p*``, it has one by ``:p?``.
    """
    if isinstance(path, InvPath):
        return InvPath(shortened(path.arg, at_start=at_end, at_end=at_start))
    if isinstance(path, AlternativePath):
        return AlternativePath(*(shortened(each, at_start=at_start, at_end=at_end) for each in path.args))
    if isinstance(path, SequencePath):
        first, *others, last = path.args
        if at_start:
            first = shortened(first, at_start=True, at_end=False)
        if at_end:
            last = shortened(last, at_start=False, at_end=True)
        return SequencePath(first, *others, last)
    if isinstance(path, MulPath) and path.more and (at_start or at_end):
        return MulPath(path.path, "?") if path.zero else path.path
    return path
