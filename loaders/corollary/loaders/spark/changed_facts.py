"""What a change does to the explicit facts of a data set, in the one task that follows it.

If the data set has named graphs, statements are added to graphs and removed from graphs. A fact is explicit
as long as a graph has it: remove it from one of two graphs, and E stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from corollary.columns import Candidates, TripleIndex
from corollary.columns.delta import Delta
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.translating import Translation
from corollary.maintain import Change
from corollary.terms.dictionary import TermDictionary
from corollary.terms.texts import ABSENT

Graphs = Mapping[int, TripleIndex]
"""Facts by graph."""

_NO_GRAPH = 0
"""The graph of all facts, where graphs have no names."""


@dataclass(frozen=True, slots=True)
class ChangedFacts:
    """The change of E; the graphs after it, None without named graphs; and what is reported.

    ``counts`` has the numbers of facts that were ``added`` to E and ``removed`` from it, and of statements
    that were ``absent``: not there to be removed.
    """

    change: Change
    graphs: Graphs | None
    counts: dict[str, int]

    @staticmethod
    def of(
        explicit: TripleIndex,
        graphs: Graphs | None,
        unwanted: EncodedDataSet,
        wanted: EncodedDataSet,
        dictionary: TermDictionary,
    ) -> ChangedFacts:
        """``unwanted`` statements are removed, then those that are ``wanted`` are added.

        New terms get the next ids. ``graphs`` is None if the data set has no named graphs; else ``explicit``
        is their union, and the statements have graphs. Both are left as they are.
        """
        lost = _translated(unwanted, dictionary, adds=False)  # before others bring their terms
        came = _translated(wanted, dictionary, adds=True)
        before = {_NO_GRAPH: explicit} if graphs is None else graphs
        nothing = TripleIndex()
        found = {
            graph: Change.of(*(each.get(graph, nothing) for each in (before, lost, came)))
            for graph in {*lost, *came}
        }
        there = sum(
            (Delta.of(facts) & before.get(graph, nothing)).fact_count() for graph, facts in lost.items()
        )
        total = sum(facts.fact_count() for facts in _by_graph(unwanted).values())
        after = {**before, **{graph: change.explicit for graph, change in found.items()}}
        removed = _union(change.removed for change in found.values())
        for facts in after.values():
            removed -= facts
        change = Change.of(explicit, removed, _union(change.added for change in found.values()))
        counts = {"added": len(change.added), "removed": len(change.removed), "absent": total - there}
        filled = {graph: facts for graph, facts in after.items() if facts.fact_count()}
        return ChangedFacts(change, None if graphs is None else filled, counts)


def _by_graph(data: EncodedDataSet) -> Graphs:
    return {_NO_GRAPH: data.explicit} if data.graphs is None else data.graphs


def _translated(data: EncodedDataSet, dictionary: TermDictionary, *, adds: bool) -> Graphs:
    """The facts over another dictionary. Those with terms that it lacks are dropped, unless it ``adds``."""
    translation = Translation(data.dictionary, dictionary, adds=adds, keeps_labels=True)
    found: dict[int, TripleIndex] = {}
    for graph, facts in _by_graph(data).items():
        name = _NO_GRAPH if data.graphs is None else translation.id(graph)
        if name == ABSENT:
            continue
        columns = [translation.column(column) for column in facts.columns(legal=False)]
        is_known = np.logical_and.reduce([column != ABSENT for column in columns])
        found[name] = TripleIndex.from_columns(*(column[is_known] for column in columns))
    return found


def _union(parts: Iterable[Delta]) -> Delta:
    found: Candidates = {}
    for part in parts:
        for predicate, keys in part.items():
            found.setdefault(predicate, []).append(keys)
    return Delta.gathered(found)
