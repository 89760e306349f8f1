"""Strata: when the rules that are not monotone may join in.

A rule with negation or an aggregate reads facts that must be complete. Its stratum is above those
of all rules that may lead to what it negates, and not below those that lead to what else it reads;
monotone rules need none, they run all the time. If a negation leads back to itself there is no such
order, and the program is refused with the cycle named (Apt, Blair, Walker 1988).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corollary.index.triples import TripleIndex
from corollary.language import Diagnostic, UnstratifiableError
from corollary.plan.compile import CompiledRule, Tables
from corollary.plan.dependencies import (
    CLASS,
    DERIVED_CLASS,
    DERIVED_PROPERTY,
    DependencyGraph,
    Edge,
    Node,
    live_edges,
    node_text,
    static_edges,
    with_components,
)
from corollary.plan.program import CompiledProgram
from corollary.terms.dictionary import TermDictionary


@dataclass(frozen=True, slots=True)
class Strata:
    """Numbers of the rules that are not monotone, in the order in which they may join in.

    ``levels`` numbers these groups, upwards from 1. ``heights`` tells of predicates and classes (nodes of the
    dependency graph) on which level their facts are complete; those that it leaves out are on level 0.
    ``derived`` are the nodes that rules lead to: facts of these change nothing about the order.
    """

    rules: tuple[tuple[int, ...], ...]
    levels: tuple[int, ...]
    heights: Mapping[Node, int]
    derived: frozenset[Node]

    @staticmethod
    def none() -> Strata:
        return Strata((), (), {}, frozenset())

    def with_leaves(self, leaves: Iterable[CompiledRule]) -> Strata:
        """The strata with some more rules, which are leaves (see ``ProgramChange``): no other rule minds."""
        if not self:
            return self
        heights, derived = dict(self.heights), set(self.derived)
        for rule in leaves:
            derived |= rule.derives
            reached = max(map(self._height, rule.reads))
            heights |= {p: max(reached, heights.get(p, self._height(p))) for p in rule.derives}
        return Strata(self.rules, self.levels, heights, frozenset(derived))

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


def stratify(program: CompiledProgram, facts: TripleIndex, tables: Tables) -> Strata:
    """The strata of the program's instances. Raises ``UnstratifiableError`` with the cycle.

    A rule joins in when the last of its instances may, so all that it derives is as high as that.
    """
    edges = live_edges(program, facts, tables)
    stratum = {rule.number: 0 for rule in program.rules if not rule.is_monotone and rule.heads}
    heights = _heights(edges, stratum)
    if heights is None:
        refuse_cycles(edges, program.dictionary)
        raise UnstratifiableError(
            (
                Diagnostic(
                    "the instances of rules with negation or aggregates need different orders",
                    remedy="write a rule for each of the classes or properties concerned",
                ),
            )
        )
    levels = sorted(set(stratum.values()))
    return Strata(
        tuple(tuple(n for n, s in stratum.items() if s == level) for level in levels),
        tuple(levels),
        heights,
        frozenset(edge.target for edge in edges),
    )


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
    predicates depends on the facts, and is checked when they are there.
    """
    edges = static_edges(program)
    if _heights(edges, {}) is None:
        refuse_cycles(edges, program.dictionary)


def refuse_cycles(edges: tuple[Edge, ...], dictionary: TermDictionary) -> None:
    """Raise ``UnstratifiableError`` if an edge through negation stays inside its component."""
    graph = with_components(edges)
    complaints = []
    seen: set[int] = set()
    for edge in graph.edges:
        component = graph.component_of[edge.source]
        if edge.negative and component == graph.component_of[edge.target] and component not in seen:
            seen.add(component)
            path = _path(graph, edge.target, edge.source)
            cycle = " -> ".join(node_text(node, dictionary) for node in [edge.source, *path])
            kind = "negates" if edge.rule.negations else "aggregates over"
            complaints.append(
                Diagnostic(
                    f"{_called(edge.rule)} {kind} what depends on its own conclusion: {cycle}",
                    edge.rule.source.span,
                    "break the cycle: derive the conclusion under another name, or negate what is given",
                )
            )
    if complaints:
        raise UnstratifiableError(tuple(complaints))


def _called(rule: CompiledRule) -> str:
    return f"rule {rule.label}" if rule.source.name else rule.label


def _path(graph: DependencyGraph, start: Node, end: Node) -> list[Node]:
    """A shortest path of nodes from start to end, both included."""
    following: dict[Node, list[Node]] = {}
    for edge in graph.edges:
        following.setdefault(edge.source, []).append(edge.target)
    paths = {start: [start]}
    queue = [start]
    for node in queue:
        if node == end:
            break
        for successor in following.get(node, ()):
            if successor not in paths:
                paths[successor] = [*paths[node], successor]
                queue.append(successor)
    return paths[end]
