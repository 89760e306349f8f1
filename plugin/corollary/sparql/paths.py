"""Property paths: joins of a batch with the pairs of nodes that a path connects.

A path extends a batch as a triple pattern does. Inverse paths, sequences, alternatives and negated sets
become joins. A repeated path (``*``, ``+``, ``?``) is searched breadth first from all values of a bound end
together, as pairs (origin, reached node), so that cycles terminate. Semantics: sequences and alternatives
have bag semantics, the pairs of a repeated path have set semantics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, Path, SequencePath
from rdflib.term import Node, URIRef

from corollary.closure.reachability import close_keys
from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import (
    Pairs,
    difference,
    distinct,
    firsts,
    pack,
    seconds,
    sorted_unique,
    swap,
    union,
)
from corollary.execute.batches import Batch
from corollary.execute.batches import join as join_atom
from corollary.kernels.limits import check
from corollary.kernels.sorted import Column, Keys
from corollary.program.compile import Atom
from corollary.sparql.solutions import stacked

CONNECTED = 0
"""The predicate of a repeated path's pairs, in the temporary index that joins them."""


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
            return self._sequence(batch, start, list(path.args), end, given)
        if isinstance(path, NegatedPath):
            return self._negated(batch, start, path, end)
        if isinstance(path, MulPath):
            return self._repeated(batch, start, path, end, given)
        raise NotImplementedError(f"path {path!r}")

    def _sequence(self, batch: Batch, start: int, parts: list[Any], end: int, given: frozenset[int]) -> Batch:
        ends = [start, *(self._fresh() for _ in parts[1:]), end]
        steps = list(zip(ends, parts, ends[1:], strict=False))
        if batch.knows(end) and not batch.knows(start):
            steps.reverse()
        given |= frozenset(ends[1:-1])  # nodes of the graph, or reached by zero steps from a given value
        for s, part, o in steps:
            batch = self.extend(batch, s, part, o, given)
        return Batch(batch.size, {v: c for v, c in batch.columns.items() if v not in ends[1:-1]})

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
        if batch.knows(start):
            keys = self._reached(self._origins(batch, start, given), path, backwards=False)
        elif batch.knows(end):
            keys = np.sort(swap(self._reached(self._origins(batch, end, given), path, backwards=True)))
        else:
            keys = self._all_pairs(path)
        pairs = TripleIndex({CONNECTED: Relation(Pairs(keys))})
        return join_atom(batch, Atom(start, CONNECTED, end), pairs)

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

    def _all_pairs(self, path: MulPath) -> Keys:
        nodes = self._nodes(self._index)
        if isinstance(path.path, Path) or not path.more:
            return self._reached(nodes, path, backwards=False)
        keys = self._index.relation(self._id_of(path.path)).pairs().keys
        closed = keys if self._is_closed(path) else close_keys(keys)
        return union(closed, pack(nodes, nodes)) if path.zero else closed

    def _reached(self, origins: Column, path: MulPath, *, backwards: bool) -> Keys:
        """All pairs (origin, node) that the path connects (``backwards``: from node to origin), sorted."""
        origin, node, following = self._fresh(), self._fresh(), self._fresh()
        s, o = (following, node) if backwards else (node, following)
        found = pack(origins, origins) if path.zero else np.empty(0, np.uint64)
        frontier = pack(origins, origins)
        is_short = not path.more or self._is_closed(path)
        while frontier.size:
            check()
            batch = Batch(int(frontier.size), {origin: firsts(frontier), node: seconds(frontier)})
            batch = self.extend(batch, s, path.path, o, frozenset((origin, node)))
            if not batch.size:
                break
            reached = sorted_unique(pack(batch.columns[origin], batch.columns[following]))
            frontier = difference(reached, found)
            found = union(found, frontier)
            if is_short:
                break
        return found

    def _is_closed(self, path: MulPath) -> bool:
        """Whether the path repeats a relation that is known to be transitive."""
        if isinstance(path.path, Path):
            return False
        return self._index.relation(self._id_of(path.path)).is_known_transitive
