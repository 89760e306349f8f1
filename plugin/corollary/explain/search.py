"""The search for the shortest proofs.

Facts and *ways* (rule instances) form an and/or graph: a fact needs one way, a way needs all its premises. A
proof is a *choice* of one way for each fact it needs. Knuth's generalisation of Dijkstra's algorithm (A
Generalization of Dijkstra's Algorithm, 1977) finds the cheapest choice, which is never circular.

The graph is expanded lazily. A fact that is not expanded counts as one rule, the lower bound for an inferred
fact. While the cheapest choice has such facts, they are expanded and the choice is computed again. A choice
without such facts is optimal (A* with this bound).

A clique of equal terms has more short choices than can be excluded one by one. With ``Effort.eager`` the
whole graph is expanded first, breadth first from the goal, and the choice is computed once. If the budget
does not suffice for the whole graph, the choice is the cheapest in the expanded part.

Further proofs are found by partition (Lawler, A Procedure for Computing the K Best Solutions, 1972): every
other proof agrees with the last one up to some fact, and takes another way there.

Invariant: the next proof has the least cost of those not yet yielded. The cost is the number of rule
applications; those for a fact that is used twice count twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, islice

import numpy as np

from corollary.evaluate import MaterialisedView
from corollary.explain.proof import FALSE, Application, Fact, Given, Proof, Step
from corollary.explain.tuning import (
    BUDGET_PER_PREMISE,
    GROWTH_DIVISOR,
    MAX_DETOURS,
    MAX_FACTS_EXPANDED_AT_ONCE,
)
from corollary.explain.ways import Way, Ways

GIVEN = Given()

RULE = 1 << 20
"""The cost of one rule application; the lower bits of a cost count facts that are not expanded."""


Choice = dict[Fact, Way]

Costed = tuple[int, int, Fact, Way | None]
"""A fact's cost, a number that breaks ties, the fact, and its way; None for a fact that is not expanded."""

Open = tuple[Way, list[Fact]]
"""A way, and its premises that are not explicit."""


@dataclass(frozen=True)
class Effort:
    """Limits of a search: ``most`` instances of one rule for one fact (None: all), and ``budget`` in all.

    ``cost`` limits the instances, and what it takes to find them, counted in instances (``Ways.cost``).
    ``eager``: expand the whole graph before choosing. ``by_levels``: prove facts level by level (``levels``).
    """

    most: int | None
    budget: int
    cost: int
    eager: bool
    by_levels: bool = False


@dataclass(frozen=True)
class Solution:
    """The cheapest choice in a part of the partition, given by ``settled`` ways and by ``barred`` ways."""

    cost: int
    choice: Choice
    settled: Mapping[Fact, Way]
    barred: Mapping[Fact, frozenset[Way]]


class Search:
    """Searches proofs of one fact, or of FALSE if ``ways_to_false`` are given; with ``further``, several."""

    def __init__(
        self,
        goal: Fact,
        result: MaterialisedView,
        effort: Effort,
        ways_to_false: list[Way] | None = None,
        further: bool = False,
    ) -> None:
        self.is_complete = True
        self._goal = goal
        self._effort = effort
        self._ways = Ways(result, effort.most, goal, 0 if effort.eager else MAX_DETOURS, further)
        self._explicit = result.explicit
        self._graph: dict[Fact, list[Open]] = {}
        self._given: dict[Fact, bool] = {goal: False}
        self._necessary = {goal}
        if ways_to_false is not None:
            self._note_given(premise for way in ways_to_false for premise in way.premises)
            self._graph[FALSE] = self._opened(ways_to_false)
        self._looked_at = 0
        self._longest = 0

    def proofs(self) -> Iterator[Proof]:
        """Proofs that do not use the goal as a premise, the shortest first."""
        numbers = count()
        queue: list[tuple[int, int, Solution]] = []

        def look(settled: Mapping[Fact, Way], barred: Mapping[Fact, frozenset[Way]]) -> None:
            found = self._solve(settled, barred)
            if found is not None:
                heappush(queue, (found.cost, next(numbers), found))

        look({}, {})
        while queue:
            _, _, solution = heappop(queue)
            yield _proof(self._goal, solution.choice)
            settled = dict(solution.settled)
            for fact in needed(self._goal, solution.choice):
                if fact not in solution.settled:
                    way = solution.choice[fact]
                    barred = solution.barred.get(fact, frozenset()) | {way}
                    look(dict(settled), {**solution.barred, fact: barred})
                    settled[fact] = way

    def met(self) -> list[Fact]:
        """The facts that are not explicit and that the search has met, with the goal."""
        return [fact for fact, is_given in self._given.items() if not is_given]

    def _solve(self, settled: Mapping[Fact, Way], barred: Mapping[Fact, frozenset[Way]]) -> Solution | None:
        """The cheapest choice under the conditions; None if there is none.

        If a limit is exceeded: the cheapest choice in the part of the graph that was expanded. For further
        proofs, if not eager: None.
        """
        while True:
            found = self._cheapest(settled, barred)
            if found is None:
                return None
            cost, choice = found
            needed = [fact for fact in _reached(self._goal, choice) if self._is_unknown(fact)]
            if not needed:
                return Solution(cost, choice, settled, barred)
            self.is_complete = self.is_complete and not self._is_spent()
            if not self.is_complete:
                if barred and not self._effort.eager:
                    return None
                found = self._cheapest(settled, barred, is_final=True)
                return None if found is None else Solution(*found, settled, barred)
            most = max(len(needed), len(self._graph) // GROWTH_DIVISOR)
            others = (p for way in choice.values() for p in way.premises if self._is_unknown(p))
            self._look_into(list(dict.fromkeys((*needed, *islice(others, most)))), most)

    def _look_into(self, facts: list[Fact], further: int) -> None:
        """Expand facts, then up to ``further`` premises, of the ways with the fewest unknown premises.

        Premises that every proof needs are expanded too: those of the only way to the goal, and so on. If
        eager, expand the premises of all ways, until nothing is unknown or the budget is spent.
        """
        eager = self._effort.eager
        while facts and not self._is_spent():
            now = facts[: self._width()]
            waiting = facts[len(now) :]
            following: dict[Fact, None] = {}
            necessary: dict[Fact, None] = {}
            found = self._ways.to(now)
            self._note_given(p for ways in found.values() for way in ways for p in way.premises)
            graph = self._graph
            for fact, ways in found.items():
                graph[fact] = kept = self._opened(way for way in ways if self._goal not in way.premises)
                self._looked_at += len(kept) + 1
                wanting = [[p for p in inferred if p not in graph] for _, inferred in kept]
                if len(kept) == 1 and fact in self._necessary:
                    necessary |= dict.fromkeys(wanting[0])
                for wanted in wanting if eager else sorted(wanting, key=len)[:1]:
                    following |= dict.fromkeys(wanted)
                self._longest = max(self._longest, *(len(inferred) for _, inferred in kept), 0)
            self._necessary |= necessary.keys()
            known = {*waiting, *necessary}
            added = [fact for fact in following if fact not in graph and fact not in known]
            if not eager:
                added = added[:further]
                further -= len(added)
            waiting = [fact for fact in waiting if fact not in necessary] + added
            facts = waiting + [fact for fact in necessary if fact not in graph]

    def _width(self) -> int:
        """The facts to expand at once: as many as the limits allow, at the cost of a fact so far."""
        cost, left = self._cost(), self._left()
        fitting = left * len(self._graph) // cost if cost else 1
        return max(1, min(fitting, MAX_FACTS_EXPANDED_AT_ONCE if self._effort.eager else left))

    def _cost(self) -> int:
        return self._looked_at + self._ways.cost

    def _left(self) -> int:
        """What is left of the limit of the cost."""
        return self._effort.cost + BUDGET_PER_PREMISE * self._longest - self._cost()

    def _is_spent(self) -> bool:
        """Whether a limit is exceeded."""
        budget = self._effort.budget + BUDGET_PER_PREMISE * self._longest
        return self._looked_at > budget or self._left() < 0

    def _opened(self, ways: Iterable[Way]) -> list[Open]:
        """Ways with their premises that are not explicit."""
        given = self._given
        return [(way, [premise for premise in way.premises if not given[premise]]) for way in ways]

    def _note_given(self, facts: Iterable[Fact]) -> None:
        """Look up which facts are explicit, all facts of a predicate at once."""
        by_predicate: dict[int, list[Fact]] = {}
        for fact in dict.fromkeys(facts):
            if fact not in self._given:
                by_predicate.setdefault(fact[1], []).append(fact)
        for predicate, some in by_predicate.items():
            keys = np.array([s << 32 | o for s, _, o in some], np.uint64)
            are_given = self._explicit.relation(predicate).contains(keys).tolist()
            self._given.update(zip(some, are_given, strict=True))

    def _is_unknown(self, fact: Fact) -> bool:
        return fact not in self._graph and not self._given[fact]

    def _cheapest(
        self, settled: Mapping[Fact, Way], barred: Mapping[Fact, frozenset[Way]], is_final: bool = False
    ) -> tuple[int, Choice] | None:
        """Knuth's algorithm on the expanded part of the graph: the least cost of the goal, and the choice.

        If ``is_final``, facts that were not expanded count as not provable.
        """
        queue, users, ways = self._ways_reached(settled, barred, is_final)
        numbers = count(len(queue))
        choice: Choice = {}
        done: set[Fact] = set()
        while queue:
            cost, _, fact, chosen = heappop(queue)
            if fact in done:
                continue
            done.add(fact)
            if chosen is not None:
                choice[fact] = chosen
            if fact == self._goal:
                return cost, choice
            for state in users.get(fact, ()):
                state[1] -= 1
                state[2] += cost
                if not state[1]:
                    target, way = ways[state[0]]
                    if target not in done:
                        heappush(queue, (state[2], next(numbers), target, way))
        return None

    def _ways_reached(
        self, settled: Mapping[Fact, Way], barred: Mapping[Fact, frozenset[Way]], is_final: bool
    ) -> tuple[list[Costed], dict[Fact, list[list[int]]], list[tuple[Fact, Way]]]:
        """The ways that are reached from the goal under the conditions.

        Returns a heap with the facts whose cost is known, and for each premise that is not explicit the
        states of the ways that use it: number of the way, number of premises without a cost, cost so far. The
        last result has the ways by number.
        """
        numbers = count()
        queue: list[Costed] = []
        users: dict[Fact, list[list[int]]] = {}
        ways: list[tuple[Fact, Way]] = []
        found = [self._goal]
        reached = {self._goal}
        for fact in found:
            known = self._graph.get(fact)
            if known is None:
                if not is_final:
                    heappush(queue, (RULE + 1, next(numbers), fact, None))
                continue
            only = settled.get(fact)
            excluded = barred.get(fact, frozenset())
            for way, wanting in known:
                if way in excluded or (only is not None and way is not only):
                    continue
                weight = RULE if isinstance(way.reason, Application) else 0
                if not wanting:
                    heappush(queue, (weight, next(numbers), fact, way))
                    continue
                state = [len(ways), len(wanting), weight]
                ways.append((fact, way))
                for premise in wanting:
                    users.setdefault(premise, []).append(state)
                    if premise not in reached:
                        reached.add(premise)
                        found.append(premise)
        return queue, users, ways


def _reached(goal: Fact, choice: Choice) -> list[Fact]:
    """The facts that a choice uses, breadth first from the goal."""
    order = [goal]
    reached = {goal}
    for fact in order:
        way = choice.get(fact)
        for premise in way.premises if way else ():
            if premise not in reached:
                reached.add(premise)
                order.append(premise)
    return order


def needed(goal: Fact, choice: Choice) -> list[Fact]:
    """The facts that a choice uses and has a way for, breadth first from the goal."""
    return [fact for fact in _reached(goal, choice) if fact in choice]


def _proof(goal: Fact, choice: Choice) -> Proof:
    """The choice as a proof: premises first, nested paths joined."""
    steps: list[Step] = []
    numbers: dict[Fact, int] = {}
    waiting = [goal]
    premises: dict[Fact, tuple[Fact, ...]] = {}
    while waiting:
        fact = waiting[-1]
        if fact in numbers:
            waiting.pop()
            continue
        way = choice.get(fact)
        if way is None:
            waiting.pop()
            numbers[fact] = len(steps)
            steps.append(Step(fact, GIVEN))
            continue
        if fact not in premises:
            premises[fact] = _in_one_piece(way, choice)
            missing = [premise for premise in premises[fact] if premise not in numbers]
            if missing:
                waiting += reversed(missing)
                continue
        waiting.pop()
        numbers[fact] = len(steps)
        steps.append(Step(fact, way.reason, tuple(numbers[premise] for premise in premises[fact])))
    return Proof(tuple(steps))


def _in_one_piece(way: Way, choice: Choice) -> tuple[Fact, ...]:
    """The premises of a way. An edge that is a path by the same rule is replaced by its edges."""
    if not _is_path(way):
        return way.premises
    guards: dict[Fact, None] = {}
    edges: list[Fact] = []
    waiting = [(frozenset(_applied(way).guards()), iter(way.premises))]
    while waiting:
        guarding, premises = waiting[-1]
        premise = next(premises, None)
        if premise is None:
            waiting.pop()
            continue
        inner = choice.get(premise)
        if premise in guarding:
            guards[premise] = None
        elif inner is not None and _is_path(inner) and _applied(inner).rule is _applied(way).rule:
            waiting.append((frozenset(_applied(inner).guards()), iter(inner.premises)))
        else:
            edges.append(premise)
    return tuple(dict.fromkeys((*guards, *_without_loops(edges))))


def _without_loops(edges: list[Fact]) -> list[Fact]:
    """The path without its cycles. Only its end may be its start."""
    path: list[Fact] = []
    places: dict[int, int] = {}
    for edge in edges:
        place = places.get(edge[0], len(path))
        while len(path) > place:
            del places[path.pop()[0]]
        places[edge[0]] = place
        path.append(edge)
    return path


def _applied(way: Way) -> Application:
    assert isinstance(way.reason, Application)
    return way.reason


def _is_path(way: Way) -> bool:
    return isinstance(way.reason, Application) and way.reason.is_path
