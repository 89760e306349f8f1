"""Explicit facts, graph by graph, and the log of changes that nobody has looked at yet.

1. ``log`` notes that a fact is added to or removed from a graph: a dictionary entry, the last word
   counts. A parse of a hundred thousand triples is as many entries. ``log_many`` notes a column of facts.
2. ``apply`` turns the log into one merge for every graph and predicate, and answers with what the
   union of all graphs gained and lost.
3. ``snapshot`` shares everything with the live state; later changes do not reach it.

Invariant: ``union`` holds the facts of all graphs, ``shared`` those that are in two graphs or more, so a
fact that goes from one graph goes from the union without a look at the others, unless it is shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from corollary.index.pairs import NO_PAIRS, Pairs, difference, intersection, union
from corollary.index.relation import Relation
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Keys

Changes = dict[int, Keys]
"""Facts by predicate, sorted and unique."""

Journal = list[tuple[int, int, bool, Keys]]
"""What changed, in order: graph, predicate, whether facts were added or removed, and the facts."""

_NOTHING = TripleIndex()


@dataclass(frozen=True, slots=True)
class ExplicitFacts:
    """The facts of every graph, and of all graphs together, at one moment."""

    graphs: dict[int, TripleIndex]
    union: TripleIndex


@dataclass(slots=True)
class Quads:
    """The explicit facts of a store. A ``journal``, if there is one, is told of all that changes in them."""

    graphs: dict[int, TripleIndex] = field(default_factory=dict)
    union: TripleIndex = field(default_factory=TripleIndex)
    _shared: TripleIndex = field(default_factory=TripleIndex)
    _log: dict[tuple[int, int], dict[int, bool]] = field(default_factory=dict)
    _many: dict[tuple[int, int], Pairs] = field(default_factory=dict)
    """Facts to be added to a graph: not there yet, and if the log has a word on one, it is a later one."""
    journal: Journal | None = None

    @staticmethod
    def of(graphs: Mapping[int, Mapping[int, Keys]]) -> Quads:
        """The facts (sorted, unique) of every graph and predicate."""
        indexes: dict[int, TripleIndex] = {}
        parts: dict[int, list[Relation]] = {}
        for graph, facts in graphs.items():
            relations = {predicate: Relation(Pairs(keys)) for predicate, keys in facts.items()}
            indexes[graph] = TripleIndex(relations)
            for predicate, relation in relations.items():
                parts.setdefault(predicate, []).append(relation)
        union, shared = {}, {}
        for predicate, (relation, *others) in parts.items():
            union[predicate] = relation
            if others:
                keys = np.sort(np.concatenate([part.pairs().keys for part in (relation, *others)]))
                again = keys[1:] == keys[:-1]
                union[predicate] = Relation(Pairs.of(keys))
                shared[predicate] = Relation(Pairs.of(keys[1:][again]))
        return Quads(indexes, TripleIndex(union), TripleIndex(shared))

    @property
    def is_changed(self) -> bool:
        """Whether the log holds changes."""
        return bool(self._log or self._many)

    @property
    def waiting(self) -> int:
        """How many changes the log holds."""
        # lists: no writer disturbs them
        return sum(map(len, list(self._log.values()))) + sum(map(len, list(self._many.values())))

    def log(self, graph: int, subject: int, predicate: int, value: int, *, added: bool) -> None:
        """Note a change of one fact in one graph."""
        changes = self._log.get((graph, predicate))
        if changes is None:
            changes = self._log[graph, predicate] = {}
        changes[subject << 32 | value] = added

    def log_many(self, graph: int, predicate: int, facts: Pairs) -> Keys:
        """Note that facts are added to a graph. Those that were not there, sorted."""
        place = graph, predicate
        index, waiting = self.graphs.get(graph, _NOTHING), self._many.get(place, NO_PAIRS)
        news = facts.minus(Pairs(index.relation(predicate).common(facts.keys))).minus(waiting)
        returning: list[int] = []
        if changes := self._log.get(place):
            logged = intersection(facts.keys, np.sort(np.fromiter(changes, np.uint64, len(changes))))
            returning = [key for key in logged.tolist() if not changes[key]]
            changes.update(dict.fromkeys(returning, True))
            news = news.minus(Pairs(logged))
        if len(news):
            self._many[place] = waiting.plus(news)
        return union(news.keys, np.array(returning, np.uint64))

    def holds(self, graph: int, subject: int, predicate: int, value: int) -> bool:
        """Whether a fact is in a graph, the log included."""
        logged = self._log.get((graph, predicate), {}).get(subject << 32 | value)
        if logged is not None:
            return logged
        if self._many.get((graph, predicate), NO_PAIRS).has(subject << 32 | value):
            return True
        index = self.graphs.get(graph)
        return index is not None and index.relation(predicate).has(subject, value)

    def graphs_with_log(self) -> set[int]:
        """The graphs that there are or that the log mentions."""
        return {*self.graphs, *(graph for graph, _ in (*self._log, *self._many))}

    def copy(self) -> Quads:
        """The same facts, log and journal, to be changed apart."""
        graphs = {graph: index.snapshot() for graph, index in self.graphs.items()}
        log = {place: dict(changes) for place, changes in self._log.items()}
        journal = None if self.journal is None else list(self.journal)
        return Quads(graphs, self.union.snapshot(), self._shared.snapshot(), log, dict(self._many), journal)

    def snapshot(self) -> ExplicitFacts:
        """What is there now, the log aside."""
        graphs = {graph: index.snapshot() for graph, index in self.graphs.items()}
        return ExplicitFacts(graphs, self.union.snapshot())

    def apply(self) -> tuple[Changes, Changes]:
        """Work the log off. What the union of all graphs gained, and what it lost."""
        log, self._log, many, self._many = self._log, {}, self._many, {}
        gained: dict[int, list[Keys]] = {}
        lost: dict[int, list[Keys]] = {}
        for (graph, predicate), changes in log.items():
            keys = np.fromiter(changes, np.uint64, len(changes))
            added = np.fromiter(changes.values(), np.bool_, len(changes))
            removed = np.sort(keys[~added])
            self._remove(graph, predicate, removed, lost)
            facts = many.pop((graph, predicate), NO_PAIRS).minus(Pairs(removed))
            self._add(graph, predicate, facts.plus(Pairs(np.sort(keys[added]))), gained)
        for (graph, predicate), facts in many.items():
            self._add(graph, predicate, facts, gained)
        # a fact that moved between graphs is neither gained nor lost
        return _net(gained, lost), _net(lost, gained)

    def _add(self, graph: int, predicate: int, facts: Pairs, gained: dict[int, list[Keys]]) -> None:
        index = self.graphs.setdefault(graph, TripleIndex())
        known, held = index.relation(predicate), self.union.relation(predicate)
        new = facts.minus(Pairs(known.common(facts.keys))) if len(known) else facts
        index.add(predicate, new)
        self._tell(graph, predicate, True, new.keys)
        fresh = new  # the same object if nothing is shared: both indexes hold it
        if len(held):
            shared = held.common(new.keys)
            fresh = new.minus(Pairs(shared))
            more = difference(shared, self._shared.relation(predicate).common(shared))
            self._shared.add(predicate, Pairs(more))
        self.union.add(predicate, fresh)
        gained.setdefault(predicate, []).append(fresh.keys)

    def _remove(self, graph: int, predicate: int, keys: Keys, lost: dict[int, list[Keys]]) -> None:
        index = self.graphs.get(graph)
        if index is None:
            return
        gone = keys[index.relation(predicate).contains(keys)]
        index.remove(predicate, gone)
        self._tell(graph, predicate, False, gone)
        was_shared = self._shared.relation(predicate).contains(gone)
        last = gone[~was_shared]
        self.union.remove(predicate, last)
        lost.setdefault(predicate, []).append(last)
        shared = gone[was_shared]
        if shared.size:
            holders = sum(
                other.relation(predicate).contains(shared).astype(np.int64) for other in self.graphs.values()
            )
            self._shared.remove(predicate, shared[np.asarray(holders) < 2])

    def _tell(self, graph: int, predicate: int, added: bool, keys: Keys) -> None:
        if self.journal is not None and keys.size:
            self.journal.append((graph, predicate, added, keys))


def _net(changes: dict[int, list[Keys]], opposite: dict[int, list[Keys]]) -> Changes:
    """Changes by predicate, without those that were undone in the same batch."""
    net: Changes = {}
    for predicate, parts in changes.items():
        keys = parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
        undone = opposite.get(predicate)
        if undone and keys.size:
            back = np.sort(np.concatenate(undone))
            keys = difference(keys, back)
        if keys.size:
            net[predicate] = keys
    return net
