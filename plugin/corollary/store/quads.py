"""Explicit facts, graph by graph, and the log of changes that nobody has looked at yet.

1. ``log`` notes that a fact is added to or removed from a graph: a dictionary entry, the last word
   counts. A parse of a hundred thousand triples is as many entries.
2. ``apply`` turns the log into one merge for every graph and predicate, and answers with what the
   union of all graphs gained and lost.
3. ``snapshot`` shares everything with the live state; later changes do not reach it.

Invariant: ``union`` holds the facts of all graphs, ``shared`` those that are in two graphs or more, so a
fact that goes from one graph goes from the union without a look at the others, unless it is shared.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from corollary.index.pairs import Pairs, difference
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Keys

Changes = dict[int, Keys]
"""Facts by predicate, sorted and unique."""


_NOTHING = TripleIndex()


@dataclass(frozen=True, slots=True)
class ExplicitFacts:
    """The facts of every graph, and of all graphs together, at one moment."""

    graphs: dict[int, TripleIndex]
    union: TripleIndex


@dataclass(slots=True)
class Quads:
    """The explicit facts of a store."""

    graphs: dict[int, TripleIndex] = field(default_factory=dict)
    union: TripleIndex = field(default_factory=TripleIndex)
    _shared: TripleIndex = field(default_factory=TripleIndex)
    _log: dict[tuple[int, int], dict[int, bool]] = field(default_factory=dict)

    @property
    def is_changed(self) -> bool:
        """Whether the log holds changes."""
        return bool(self._log)

    @property
    def waiting(self) -> int:
        """How many changes the log holds."""
        return sum(map(len, list(self._log.values())))  # a list: no writer disturbs it

    def log(self, graph: int, subject: int, predicate: int, value: int, *, added: bool) -> None:
        """Note a change of one fact in one graph."""
        changes = self._log.get((graph, predicate))
        if changes is None:
            changes = self._log[graph, predicate] = {}
        changes[subject << 32 | value] = added

    def log_many(self, graph: int, predicate: int, keys: Keys) -> list[int]:
        """Note that facts (sorted, unique) are added to a graph. Those that were not there."""
        changes = self._log.get((graph, predicate), {})
        index = self.graphs.get(graph, _NOTHING)
        there = index.relation(predicate).contains(keys)
        new = [
            key
            for key, is_there in zip(keys.tolist(), there.tolist(), strict=True)
            if not changes.get(key, is_there)
        ]
        if new:
            changes.update(dict.fromkeys(new, True))
            self._log[graph, predicate] = changes
        return new

    def holds(self, graph: int, subject: int, predicate: int, value: int) -> bool:
        """Whether a fact is in a graph, the log included."""
        logged = self._log.get((graph, predicate), {}).get(subject << 32 | value)
        if logged is not None:
            return logged
        index = self.graphs.get(graph)
        return index is not None and index.relation(predicate).has(subject, value)

    def graphs_with_log(self) -> set[int]:
        """The graphs that there are or that the log mentions."""
        return {*self.graphs, *(graph for graph, _ in self._log)}

    def copy(self) -> Quads:
        """The same facts and log, to be changed apart."""
        graphs = {graph: index.snapshot() for graph, index in self.graphs.items()}
        log = {place: dict(changes) for place, changes in self._log.items()}
        return Quads(graphs, self.union.snapshot(), self._shared.snapshot(), log)

    def snapshot(self) -> ExplicitFacts:
        """What is there now, the log aside."""
        graphs = {graph: index.snapshot() for graph, index in self.graphs.items()}
        return ExplicitFacts(graphs, self.union.snapshot())

    def apply(self) -> tuple[Changes, Changes]:
        """Work the log off. What the union of all graphs gained, and what it lost."""
        log, self._log = self._log, {}
        gained: dict[int, list[Keys]] = {}
        lost: dict[int, list[Keys]] = {}
        for (graph, predicate), changes in log.items():
            keys = np.fromiter(changes, np.uint64, len(changes))
            added = np.fromiter(changes.values(), np.bool_, len(changes))
            self._remove(graph, predicate, np.sort(keys[~added]), lost)
            self._add(graph, predicate, np.sort(keys[added]), gained)
        # a fact that moved between graphs is neither gained nor lost
        return _net(gained, lost), _net(lost, gained)

    def _add(self, graph: int, predicate: int, keys: Keys, gained: dict[int, list[Keys]]) -> None:
        index = self.graphs.setdefault(graph, TripleIndex())
        new = keys[~index.relation(predicate).contains(keys)]
        index.add(predicate, Pairs(new))
        elsewhere = self.union.relation(predicate).contains(new)
        shared = new[elsewhere]
        self._shared.add(predicate, Pairs(shared[~self._shared.relation(predicate).contains(shared)]))
        fresh = new[~elsewhere]
        self.union.add(predicate, Pairs(fresh))
        gained.setdefault(predicate, []).append(fresh)

    def _remove(self, graph: int, predicate: int, keys: Keys, lost: dict[int, list[Keys]]) -> None:
        index = self.graphs.get(graph)
        if index is None:
            return
        gone = keys[index.relation(predicate).contains(keys)]
        index.remove(predicate, gone)
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


def _net(changes: dict[int, list[Keys]], opposite: dict[int, list[Keys]]) -> Changes:
    """Changes by predicate, without those that were undone in the same batch."""
    net: Changes = {}
    for predicate, parts in changes.items():
        keys = np.sort(np.concatenate(parts))
        undone = opposite.get(predicate)
        if undone and keys.size:
            back = np.sort(np.concatenate(undone))
            keys = difference(keys, back)
        if keys.size:
            net[predicate] = keys
    return net
