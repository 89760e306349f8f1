"""E, the explicit facts, graph by graph: an immutable value.

``changed`` returns new ``Quads``, which share all relations that the change does not touch. A reader, a
transaction and a rollback each hold a snapshot by one reference. An exception in the middle of a change
changes nothing.

Invariants: ``union`` holds the facts of all graphs, ``shared`` the facts that are in two or more graphs. So
removing a fact from a graph removes it from the union without a probe of the other graphs, unless the fact is
shared. Example: ``a`` in graphs g and h, remove ``a`` from g: ``a`` stays in ``union``, leaves ``shared``.
Formulas (N3) are separate, and in no union.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from corollary.columns import NOTHING, Candidates, Delta, Relation, TripleIndex
from corollary.columns.pairs import NO_KEYS, NO_PAIRS, Pairs, difference
from corollary.kernels.sorted import Keys

_NOTHING = TripleIndex()


class Change(NamedTuple):
    """Δ⁻ and Δ⁺ of one relation of one graph. Removed facts may be absent, added ones may be present.

    ``removed`` is packed, sorted, unique, and disjoint from ``added``.
    """

    graph: int
    predicate: int
    removed: Keys
    added: Pairs = NO_PAIRS


@dataclass(slots=True)
class Quads:
    """The facts of every graph, their union, their shared facts; ``formulas`` are not in the union.

    It never changes.
    """

    graphs: Mapping[int, TripleIndex] = field(default_factory=dict)
    union: TripleIndex = field(default_factory=TripleIndex)
    formulas: Mapping[int, TripleIndex] = field(default_factory=dict)
    shared: TripleIndex = field(default_factory=TripleIndex)
    _moment: object = field(default_factory=object)
    _step: tuple[object, Delta, Delta] | None = None
    """The ``_moment`` before the last change, and the Δ⁻ and Δ⁺ of the union by the change."""
    _by_graph: tuple[Change, ...] = ()
    """What the last change removed from and added to the graphs, without formulas."""

    @staticmethod
    def of(
        graphs: Mapping[int, Mapping[int, Keys]], formulas: Mapping[int, Mapping[int, Keys]] | None = None
    ) -> Quads:
        """Build from packed facts (sorted, unique) by graph and predicate."""
        indexes = {graph: _index_of(facts) for graph, facts in graphs.items()}
        parts: dict[int, list[Relation]] = {}
        for index in indexes.values():
            for predicate, relation in index.relations():
                parts.setdefault(predicate, []).append(relation)
        union, shared = {}, {}
        for predicate, (relation, *others) in parts.items():
            union[predicate] = relation
            if others:
                keys = np.sort(np.concatenate([part.pairs().keys for part in (relation, *others)]))
                again = keys[1:] == keys[:-1]
                union[predicate] = Relation(Pairs.of(keys))
                shared[predicate] = Relation(Pairs.of(keys[1:][again]))
        beside = {graph: _index_of(facts) for graph, facts in (formulas or {}).items()}
        return Quads(indexes, TripleIndex(union), beside, TripleIndex(shared))

    def index(self, graph: int) -> TripleIndex | None:
        """The facts of a graph or formula; None if it does not exist."""
        return self.formulas[graph] if graph in self.formulas else self.graphs.get(graph)

    def fact_count(self) -> int:
        """The number of quads: a fact counts once for each of its graphs. Without formulas."""
        return sum(index.fact_count() for index in self.graphs.values())

    def with_formula(self, graph: int) -> Quads:
        """The value with a formula, empty if it is new."""
        if graph in self.formulas:
            return self
        return self._beside(formulas={**self.formulas, graph: TripleIndex()})

    def with_graphs(self, graphs: Iterable[int]) -> Quads:
        """The value with these graphs, empty where they are new."""
        new = {graph: TripleIndex() for graph in graphs if graph not in self.graphs}
        return self._beside(graphs={**self.graphs, **new}) if new else self

    def without_graph(self, graph: int) -> Quads:
        """The value without a graph or formula and its facts."""
        index = self.index(graph)
        if index is None:
            return self
        emptied = self.changed([Change(graph, p, r.pairs().keys) for p, r in index.relations()])
        graphs = {name: index for name, index in emptied.graphs.items() if name != graph}
        formulas = {name: index for name, index in emptied.formulas.items() if name != graph}
        return replace(emptied, graphs=graphs, formulas=formulas)

    def _beside(
        self,
        graphs: Mapping[int, TripleIndex] | None = None,
        formulas: Mapping[int, TripleIndex] | None = None,
    ) -> Quads:
        """The value with other graphs or formulas. Precondition: the union stays the same."""
        return replace(
            self,
            graphs=self.graphs if graphs is None else graphs,
            formulas=self.formulas if formulas is None else formulas,
            _moment=object(),
            _step=(self._moment, NOTHING, NOTHING),
            _by_graph=(),
        )

    def changed(self, changes: Iterable[Change]) -> Quads:
        """Apply changes. Precondition: at most one ``Change`` for each relation of a graph.

        Cost: the changed facts, a copy of references for each touched graph, and for a removed shared fact
        one probe in each graph.
        """
        draft = _Draft(self)
        for graph, predicate, removed, added in changes:
            if removed.size:
                draft.remove(graph, predicate, removed)
            if added.keys.size:
                draft.add(graph, predicate, added)
        # a fact that moved between graphs is neither in Δ⁻ nor in Δ⁺
        lost = _net(draft.lost, draft.gained) if draft.lost else NOTHING
        gained = _net(draft.gained, draft.lost) if draft.gained else NOTHING
        step = self._moment, lost, gained
        by_graph = tuple(draft.by_graph)
        return Quads(draft.graphs, draft.union, draft.formulas, draft.shared, object(), step, by_graph)

    def since(self, before: Quads) -> tuple[Delta, Delta]:
        """Δ⁻ and Δ⁺ of the union from ``before`` to this value. ``before`` may be an earlier or later value.

        Cost: O(1) if ``before`` is the value before the last change; else one comparison for each predicate,
        and ``Relation.since`` for those that differ.
        """
        if self._step is not None and self._step[0] is before._moment:
            return self._step[1], self._step[2]
        lost: dict[int, Keys] = {}
        gained: dict[int, Keys] = {}
        for predicate, removed, added in differences(before.union, self.union):
            if removed.size:
                lost[predicate] = removed
            if added.size:
                gained[predicate] = added
        return Delta(lost), Delta(gained)

    def since_by_graph(self, before: Quads) -> Iterator[Change]:
        """What the graphs, without formulas, have lost and gained since an earlier or later value.

        Yields effective changes, not empty, up to two for a relation of a graph. Cost: as ``since``.
        """
        if self._step is not None and self._step[0] is before._moment:
            yield from self._by_graph
            return
        for graph in dict.fromkeys((*before.graphs, *self.graphs)):
            then, now = before.graphs.get(graph, _NOTHING), self.graphs.get(graph, _NOTHING)
            for predicate, removed, added in differences(then, now):
                yield Change(graph, predicate, removed, Pairs(added))


def differences(before: TripleIndex, after: TripleIndex) -> Iterator[tuple[int, Keys, Keys]]:
    """Yields predicate, removed facts, added facts (packed, sorted, unique) where two indexes differ."""
    if before is after:
        return
    for predicate in dict.fromkeys((*before.all_predicates(), *after.all_predicates())):
        removed, added = after.relation(predicate).since(before.relation(predicate))
        if removed.size or added.size:
            yield predicate, removed, added


def _index_of(facts: Mapping[int, Keys]) -> TripleIndex:
    return TripleIndex({predicate: Relation(Pairs(keys)) for predicate, keys in facts.items()})


class _Draft:
    """The mutable state of ``Quads.changed``: copies of touched indexes, references to the others."""

    def __init__(self, quads: Quads) -> None:
        self.graphs, self.formulas = dict(quads.graphs), dict(quads.formulas)
        self.union, self.shared = quads.union.snapshot(), quads.shared.snapshot()
        self.lost: Candidates = {}
        self.gained: Candidates = {}
        self.by_graph: list[Change] = []
        self._own: dict[int, TripleIndex] = {}

    def add(self, graph: int, predicate: int, facts: Pairs) -> None:
        index = self._index(graph)
        if graph in self.formulas:
            index.add_unknown(predicate, facts)
            return
        new, fresh = self.union.add_with_part(index, predicate, facts)
        if len(new):
            self.by_graph.append(Change(graph, predicate, NO_KEYS, new))
        if fresh is not new:  # else graph and union share the arrays
            self.shared.add_unknown(predicate, Pairs(difference(new.keys, fresh.keys)))
        self.gained.setdefault(predicate, []).append(fresh.keys)

    def remove(self, graph: int, predicate: int, keys: Keys) -> None:
        index = self._index(graph)  # creates the graph: after +a, -a in one batch an empty graph stays
        deleted = index.relation(predicate).common(keys)
        if graph in self.formulas:
            index.remove(predicate, deleted)
            return
        if deleted.size:
            self.by_graph.append(Change(graph, predicate, deleted))
        if not self.shared.relation(predicate).size:
            self.union.remove_with_part(index, predicate, deleted)
            self.lost.setdefault(predicate, []).append(deleted)
            return
        index.remove(predicate, deleted)
        was_shared = self.shared.relation(predicate).contains(deleted)
        last = deleted[~was_shared]
        self.union.remove(predicate, last)
        self.lost.setdefault(predicate, []).append(last)
        shared = deleted[was_shared]
        if shared.size:
            holders = sum(
                other.relation(predicate).contains(shared).astype(np.int64) for other in self.graphs.values()
            )
            self.shared.remove(predicate, shared[np.asarray(holders) < 2])

    def _index(self, graph: int) -> TripleIndex:
        """A mutable copy of the index of a graph or formula, made once; of an empty one if it is new."""
        index = self._own.get(graph)
        if index is None:
            place = self.formulas if graph in self.formulas else self.graphs
            index = self._own[graph] = place[graph] = place.get(graph, _NOTHING).snapshot()
        return index


def _net(changes: Candidates, opposite: Candidates) -> Delta:
    """``changes - opposite``: the changes that were not undone in the same batch."""
    undone = {predicate: parts for predicate, parts in opposite.items() if predicate in changes}
    net = Delta.gathered(changes)
    return net - Delta.gathered(undone) if undone else net


def matching(index: TripleIndex, s: int | None, p: int | None, o: int | None) -> Iterator[tuple[int, Keys]]:
    """Yields the matches of a pattern by predicate: packed, sorted, unique. None matches any term."""
    if p is not None:
        predicates = [p]
    elif s is not None or o is not None:
        predicates = index.predicates_beside(s, o)
    else:
        predicates = index.all_predicates()
    for predicate in predicates:
        relation = index.relation(predicate)
        if s is None and o is None:
            keys = relation.pairs().keys
        elif s is None:
            assert o is not None
            keys = np.sort(np.array(relation.subjects(o), np.uint64) << np.uint64(32) | np.uint64(o))
        elif o is None:
            keys = np.sort(np.array(relation.objects(s), np.uint64) | np.uint64(s << 32))
        else:
            keys = np.array([s << 32 | o], np.uint64) if relation.has(s, o) else NO_KEYS
        if keys.size:
            yield predicate, keys
