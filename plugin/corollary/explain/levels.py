"""Proofs level by level: what one rule derives from explicit facts, then what one derives from these as well.

The other searches go backward from the goal (``search``). In a clique of equal terms they meet hundreds of
rule instances for each fact, most of which need the fact itself: 544 facts have 286,000 instances, more than
any budget. Forward, no instance is circular, and a fact is asked for only until it has one over the facts of
lower levels. So most instances are never found.

The ways that the levels find prove every fact, but not at least cost. So the search chooses among them, adds
all ways of the facts that it has chosen, and chooses again, until no chosen fact is new.

Cost: a run of the rules for each level, and the instances over lower levels. In a small materialisation all
inferred facts are asked for, else those that a search before has met.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from corollary.columns import TripleIndex
from corollary.evaluate import MaterialisedView
from corollary.explain.list_proofs import ListReader
from corollary.explain.proof import FALSE, Fact
from corollary.explain.search import Effort, Search, Solution, needed
from corollary.explain.tuning import INSTANCES_PER_AGGREGATED_FACT, MAX_LEVELS
from corollary.explain.ways import MEANING, Way, distinct_ways, index_of
from corollary.program.compile import is_virtual

Found = dict[Fact, list[Way]]


class LevelSearch(Search):
    """As ``Search``, over the ways found level by level, and all ways of the facts that were chosen.

    Only facts ``among`` the given ones are proved; None: all. Then, if ``is_complete`` and there are no
    proofs, the goal does not follow without itself.
    """

    def __init__(
        self,
        goal: Fact,
        result: MaterialisedView,
        effort: Effort,
        ways_to_false: list[Way] | None = None,
        further: bool = False,
        among: Collection[Fact] | None = None,
    ) -> None:
        super().__init__(goal, result, effort, ways_to_false, further)
        self._proved = _explicit_but_for(goal, result)
        self._lists = ListReader(result, self._proved)
        self._waiting: set[Fact] = set()
        virtual = list(filter(is_virtual, result.index.all_predicates()))
        of_lists = list(filter(self._lists.reads, virtual))
        for predicate in virtual:
            if predicate not in of_lists:
                self._proved.replace(predicate, result.index.relation(predicate))
        if among is None:
            about_lists = [fact for predicate in of_lists for fact in facts_of(predicate, result.index)]
            self._derive(result.index.difference(self._proved), about_lists)
        else:
            about_lists = [fact for fact in among if fact[1] in of_lists]
            self._derive(index_of([fact for fact in among if not is_virtual(fact[1])]), about_lists)
            self.is_complete = False

    def _derive(self, wanted: TripleIndex, about_lists: list[Fact]) -> None:
        """Find ways to facts that follow without the goal, as far as the limits allow."""
        facts = [fact for predicate in wanted.predicates() for fact in facts_of(predicate, wanted)]
        most = max(0, self._left()) // INSTANCES_PER_AGGREGATED_FACT
        by_aggregates = self._ways.aggregated(facts, most)
        self._looked_at += INSTANCES_PER_AGGREGATED_FACT * len(by_aggregates)
        for _ in range(MAX_LEVELS):
            found = self._ways.over(self._proved, wanted)
            for fact, ways in by_aggregates.items():
                if wanted.relation(fact[1]).has(fact[0], fact[2]):
                    found[fact] = [*found.get(fact, ()), *self._over_proved(ways)]
            found |= {fact: self._to_virtual(fact) for fact in about_lists}
            found = {fact: ways for fact, ways in found.items() if ways}
            if not found:
                return
            self._add(found)
            self._waiting |= {fact for fact in found if not is_virtual(fact[1])}
            self._proved.add_all(index_of(found))
            about_lists = [fact for fact in about_lists if fact not in found]
            wanted = wanted.difference(self._proved)
            if self._is_spent():
                break
        self.is_complete = False

    def _over_proved(self, ways: list[Way]) -> list[Way]:
        """The ways whose premises are all proved. Virtual ones are not checked: ``_add`` adds their ways."""
        relation = self._proved.relation
        return [
            way for way in ways if all(is_virtual(p) or relation(p).has(s, o) for s, p, o in way.premises)
        ]

    def _to_virtual(self, fact: Fact) -> list[Way]:
        """The ways to a virtual fact from proved ones."""
        if not self._lists.reads(fact[1]):
            return [MEANING]
        return self._over_proved([Way(*reading) for reading in self._lists.readings(fact)])

    def _add(self, found: Mapping[Fact, list[Way]]) -> None:
        """Add ways to the graph, and with them the ways to those virtual premises that it lacks."""
        met = {p: None for ways in found.values() for way in ways for p in way.premises if is_virtual(p[1])}
        added = {fact: self._to_virtual(fact) for fact in met if fact not in self._graph} | dict(found)
        self._note_given(p for ways in added.values() for way in ways for p in way.premises)
        for fact, ways in added.items():
            known = [way for way, _ in self._graph.get(fact, ())]
            usable = [way for way in ways if self._goal not in way.premises]
            self._graph[fact] = self._opened(distinct_ways(fact, known + usable))
            self._looked_at += len(usable) + 1

    def _solve(self, settled: Mapping[Fact, Way], barred: Mapping[Fact, frozenset[Way]]) -> Solution | None:
        """The cheapest choice under the conditions among the ways known; None if there is none."""
        while True:
            found = self._cheapest(settled, barred, is_final=True)
            if found is None:
                return None
            chosen = [fact for fact in needed(self._goal, found[1]) if fact in self._waiting]
            if not chosen or self._is_spent():
                return Solution(*found, settled, barred)
            self._waiting.difference_update(chosen)
            self._add(self._ways.to(chosen))


def _explicit_but_for(goal: Fact, result: MaterialisedView) -> TripleIndex:
    """The explicit facts without the goal."""
    subject, predicate, value = goal
    found = result.explicit.snapshot()
    if goal != FALSE and found.relation(predicate).has(subject, value):
        found.remove(predicate, np.array([subject << 32 | value], np.uint64))
    return found


def facts_of(predicate: int, index: TripleIndex) -> list[Fact]:
    """The facts of a predicate."""
    return [(key >> 32, predicate, key & 0xFFFFFFFF) for key in index.keys(predicate).tolist()]
