"""Strata: when the rules that are not monotone may join in, and which of them must not.

A rule with negation or an aggregate reads facts that must be complete. Its stratum is above those
of all rules that may lead to what it negates, and not below those that lead to what else it reads;
monotone rules need none, they run all the time. If a negation leads back to itself there is no such
order (Apt, Blair, Walker 1988). If that is so whatever the facts are, the program is refused with the cycle
named. If it is so by these facts, the rule is *suspended*: it is left out for as long as they are there.

One stratum is for all instances of a rule, so the graph that is looked at has a node for each such rule,
between what it reads and what it derives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from corollary.columns.triples import TripleIndex
from corollary.language import Diagnostic, UnstratifiableError
from corollary.program.compile import CompiledRule, Tables
from corollary.program.compiled_program import CompiledProgram
from corollary.program.dependencies import components_of, live_edges, static_edges
from corollary.program.edges import CLASS, DERIVED_CLASS, DERIVED_PROPERTY, Edge, Node, node_text
from corollary.terms.dictionary import TermDictionary

RULE = 1 << 34
"""Added to a rule's number for its node."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """Why a rule is left out: its ``cycle``; if rules show none, facts that came too ``late`` for it.

    These match what it negates or aggregates over, and were derived from its conclusions: by way of the value
    of a literal that it computed, for instance.
    """

    cycle: tuple[Edge, ...] = ()
    late: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Strata:
    """Numbers of the rules that are not monotone, in the order in which they may join in.

    ``levels`` numbers these groups, upwards from 1. ``heights`` tells of predicates and classes (nodes of the
    dependency graph) on which level their facts are complete; those that it leaves out are on level 0.
    ``derived`` are the nodes that rules lead to: facts of these change nothing about the order. ``suspended``
    are the rules, by number, that are left out.
    """

    rules: tuple[tuple[int, ...], ...]
    levels: tuple[int, ...]
    heights: Mapping[Node, int]
    derived: frozenset[Node]
    suspended: Mapping[int, Suspension]

    @staticmethod
    def none() -> Strata:
        return Strata((), (), {}, frozenset(), {})

    def with_leaves(self, leaves: Iterable[CompiledRule]) -> Strata:
        """The strata with some more rules, which are leaves (see ``ProgramChange``): no other rule minds."""
        if not self:
            return self
        heights, derived = dict(self.heights), set(self.derived)
        for rule in leaves:
            derived |= rule.derives
            reached = max(map(self._height, rule.reads))
            heights |= {p: max(reached, heights.get(p, self._height(p))) for p in rule.derives}
        return replace(self, heights=heights, derived=frozenset(derived))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def hold_for(self, edges: Iterable[Edge]) -> bool:
        """Whether these are strata of other instances too: every fact is complete where it has to be."""
        level_of = {n: level for group, level in zip(self.rules, self.levels, strict=True) for n in group}
        for edge in edges:
            reached = self._height(edge.source) + edge.negative
            level = reached if edge.link else level_of.get(edge.rule.number, reached)
            if not reached <= level <= self._height(edge.target):
                return False
        return True

    def _height(self, node: Node) -> int:
        """The level of a node; what no rule mentions is derived through an open one, if at all."""
        is_property, is_class = node < CLASS, CLASS <= node < 2 * CLASS
        others = DERIVED_PROPERTY if is_property else DERIVED_CLASS if is_class else node
        return self.heights.get(node, self.heights.get(others, 0))


def stratify(
    program: CompiledProgram,
    facts: TripleIndex,
    tables: Tables,
    suspended: Collection[int] = (),
    earlier: Iterable[Edge] = (),
) -> tuple[Strata, tuple[Edge, ...]]:
    """The strata of the program's instances over these facts, but for the rules that are ``suspended``.

    Rules whose negation or aggregate leads back to itself are left out too: ``suspended`` of the result has
    only them. The ``earlier`` edges count as well. All edges, without those of rules left out, are the second
    result.
    """
    earlier = tuple(earlier)
    edges = (*live_edges(program, facts, tables, suspended), *earlier)
    cycles = negative_cycles(edges)
    if cycles:
        without = {*suspended, *cycles}
        left = (edge for edge in earlier if edge.rule.number not in without)
        edges = (*live_edges(program, facts, tables, without), *left)
    stratum = {
        rule.number: 0
        for rule in program.rules
        if not rule.is_monotone and rule.heads and rule.number not in {*suspended, *cycles}
    }
    heights = _heights(edges, stratum)
    assert heights is not None, "no negation leads back to itself"
    levels = sorted(set(stratum.values()))
    strata = Strata(
        tuple(tuple(n for n, s in stratum.items() if s == level) for level in levels),
        tuple(levels),
        heights,
        frozenset(edge.target for edge in edges if not edge.link),
        {number: Suspension(cycle) for number, cycle in cycles.items()},
    )
    return strata, edges


def negative_cycles(edges: Sequence[Edge]) -> dict[int, tuple[Edge, ...]]:
    """The numbers of the rules whose negation or aggregate leads back to itself, each with a shortest cycle.

    A cycle begins with what the rule negates, or aggregates over.
    """
    ends = [
        end
        for edge in edges
        for end in (
            ((edge.source, edge.target),)
            if edge.rule.is_monotone or edge.link
            else ((edge.source, RULE + edge.rule.number), (RULE + edge.rule.number, edge.target))
        )
    ]
    component = components_of(ends)
    found: dict[int, tuple[Edge, ...]] = {}
    for edge in edges:
        number = edge.rule.number
        is_inside = edge.negative and component[edge.source] == component[RULE + number]
        if is_inside and number not in found:
            found[number] = _cycle(edge, edges)
    return found


def _cycle(first: Edge, edges: Sequence[Edge]) -> tuple[Edge, ...]:
    """A shortest way from what an edge comes from, over its rule, back to that.

    Of a rule that is not monotone whatever one instance reads leads to what any derives.
    """
    following: dict[Node, list[Edge]] = {}
    derived: dict[int, list[Edge]] = {}
    for edge in edges:
        following.setdefault(edge.source, []).append(edge)
        if not edge.rule.is_monotone and not edge.link:
            derived.setdefault(edge.rule.number, []).append(edge)

    def steps(edge: Edge) -> list[Edge]:
        """The edge itself; of a rule that is not monotone those to all that it derives."""
        return [edge] if edge.rule.is_monotone or edge.link else derived[edge.rule.number]

    ways: dict[Node, tuple[Edge, ...]] = {}
    queue: deque[Node] = deque()

    def reach(edge: Edge, way: tuple[Edge, ...]) -> None:
        for step in steps(edge):
            if step.target not in ways:
                ways[step.target] = (*way, replace(step, source=edge.source, negative=edge.negative))
                queue.append(step.target)

    reach(first, ())
    while queue and first.source not in ways:
        node = queue.popleft()
        for edge in following.get(node, ()):
            reach(edge, ways[node])
    return ways[first.source]


def _heights(edges: Sequence[Edge], stratum: dict[int, int]) -> dict[Node, int] | None:
    """The least heights that suit the edges, but for those that are 0; None if there are none.

    Rules that have a ``stratum`` (by number, 0 at first) are raised to the greatest of their instances.
    """
    following: dict[Node, list[Edge]] = {}
    of_rule: dict[int, list[Edge]] = {number: [] for number in stratum}
    for edge in edges:
        following.setdefault(edge.source, []).append(edge)
        if edge.rule.number in of_rule and not edge.link:
            of_rule[edge.rule.number].append(edge)
    waiting = deque(edge for edge in edges if edge.negative)
    greatest = len(waiting)  # no way without a cycle goes over an edge twice
    heights: dict[Node, int] = {}
    while waiting:
        edge = waiting.popleft()
        number = edge.rule.number
        reached = heights.get(edge.source, 0) + edge.negative
        if number in of_rule and not edge.link:
            if reached > stratum[number]:
                stratum[number] = reached
                waiting += of_rule[number]
            reached = stratum[number]
        if reached > greatest:
            return None
        if reached > heights.get(edge.target, 0):
            heights[edge.target] = reached
            waiting += following.get(edge.target, ())
    return heights


def refuse_static_cycles(program: CompiledProgram) -> None:
    """Raise ``UnstratifiableError`` if what rules say by name negates itself.

    Such a program is wrong whatever the facts are. What rules do through guards and variable
    predicates depends on the facts: rules are suspended by it.
    """
    refuse(negative_cycles(static_edges(program)), program.dictionary)


def refuse(cycles: Mapping[int, tuple[Edge, ...]], dictionary: TermDictionary) -> None:
    """Raise ``UnstratifiableError`` with the cycles, if there are any; one for all rules in it."""
    complaints = []
    seen: set[frozenset[Node]] = set()
    for cycle in cycles.values():
        nodes = frozenset(edge.source for edge in cycle)
        if nodes not in seen:
            seen.add(nodes)
            rule = cycle[0].rule
            complaints.append(
                Diagnostic(
                    f"{called(rule)} {verb(rule)} what depends on its own conclusion: "
                    + " -> ".join(cycle_texts(cycle, dictionary)),
                    rule.source.span,
                    "break the cycle: derive the conclusion under another name, or negate what is given",
                )
            )
    if complaints:
        raise UnstratifiableError(tuple(complaints))


def cycle_texts(cycle: Sequence[Edge], dictionary: TermDictionary) -> list[str]:
    """The nodes of a cycle; the last is the first."""
    return [node_text(node, dictionary) for node in (cycle[0].source, *(edge.target for edge in cycle))]


def verb(rule: CompiledRule) -> str:
    """What a rule that is not monotone does with what it reads."""
    return "negates" if rule.negations else "aggregates over"


def called(rule: CompiledRule) -> str:
    """A rule's name, or number, in a sentence."""
    return f"rule {rule.label}" if rule.source.name else rule.label
