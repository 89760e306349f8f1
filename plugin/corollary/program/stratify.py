"""Stratification: the order in which rules with negation or aggregates are evaluated.

A rule with negation or an aggregate reads facts that must be complete. Its stratum is above the strata of all
rules that lead to what it negates or aggregates, and not below those that lead to its other premises.
Monotone rules need no stratum: they are applied in every one. A negative edge on a cycle of the dependency
graph makes the program unstratifiable (Apt, Blair, Walker 1988). If the cycle exists for all facts, the
program is refused: ``:Odd[?x] :- [?x, :parent, ?y], NOT :Odd[?y]``. If the cycle exists by the present facts,
the rule is *suspended*: left out until a change of the facts breaks the cycle. The cycle of a recursive
aggregate through its own conclusions is allowed (``program.recursion``): it has no negative edge.

All instances of a rule share one stratum. So the graph has a node for each rule that is not monotone, between
the nodes that the rule reads and those that it derives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from corollary.columns import TripleIndex
from corollary.language import Diagnostic, UnstratifiableError
from corollary.program.compile import CompiledRule, Tables
from corollary.program.compiled_program import CompiledProgram
from corollary.program.dependencies import components_of, live_edges, static_edges
from corollary.program.edges import (
    CLASS,
    DERIVED_CLASS,
    DERIVED_PROPERTY,
    Edge,
    Node,
    node_text,
    nodes_derived,
    nodes_read,
)
from corollary.program.recursion import objection, ordering_edges
from corollary.terms.dictionary import TermDictionary

RULE = 1 << 34
"""Added to the number of a rule that is not monotone for the rule's node."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """Why a rule is suspended: its ``cycle``; or, if the graph has no cycle, facts that came too ``late``.

    Late facts match what the rule negates or aggregates over, and were derived from the rule's conclusions:
    for instance, a computed sum that equals another literal by value.
    """

    cycle: tuple[Edge, ...] = ()
    late: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Strata:
    """The rules that are not monotone, by number, grouped into strata in the order of evaluation.

    ``levels`` are the levels of the strata, ascending; a rule without negative edges is on level 0.
    ``heights`` maps nodes of the dependency graph to the level after which their facts are complete. A node
    that is not in it has the level of the derived open node of its kind, else level 0. ``derived`` are the
    nodes that live rules derive: their facts do not affect the order. ``suspended`` maps the numbers of the
    rules left out to the reason.
    """

    rules: tuple[tuple[int, ...], ...]
    levels: tuple[int, ...]
    heights: Mapping[Node, int]
    derived: frozenset[Node]
    suspended: Mapping[int, Suspension]

    @staticmethod
    def none() -> Strata:
        return Strata((), (), {}, frozenset(), {})

    def with_leaves(self, leaves: Iterable[CompiledRule], rdf_type: int) -> Strata:
        """The strata after leaf rules were added (see ``ProgramChange``). The order does not change."""
        if not self:
            return self
        heights, derived = dict(self.heights), set(self.derived)
        for rule in leaves:
            heads = nodes_derived(rule, rdf_type)
            derived |= heads
            reached = max(map(self._height, nodes_read(rule, rdf_type)))
            heights |= {node: reached for node in heads if reached > heights.get(node, self._height(node))}
        return replace(self, heights=heights, derived=frozenset(derived))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def hold_for(self, edges: Iterable[Edge]) -> bool:
        """Whether the strata are a valid order for these edges: no rule reads facts that are incomplete."""
        level_of = {n: level for group, level in zip(self.rules, self.levels, strict=True) for n in group}
        for edge in edges:
            reached = self._height(edge.source) + edge.negative
            level = reached if edge.link else level_of.get(edge.rule.number, reached)
            if not reached <= level <= self._height(edge.target):
                return False
        return True

    def _height(self, node: Node) -> int:
        """The level of a node; a node that no rule names has that of the derived open node of its kind."""
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
    """The strata of the rule instances over ``facts``, and the edges that they were computed from.

    Rules in ``suspended`` are left out, and so are rules with a negative edge on a cycle; ``suspended`` of
    the result has only the latter. ``earlier`` edges are added to the live ones.
    Precondition: ``facts`` are closed under the monotone rules.
    """
    earlier = tuple(earlier)
    edges = ordering_edges((*live_edges(program, facts, tables, suspended), *earlier))
    cycles = negative_cycles(edges)
    if cycles:
        without = {*suspended, *cycles}
        left = (edge for edge in earlier if edge.rule.number not in without)
        edges = ordering_edges((*live_edges(program, facts, tables, without), *left))
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
    """The numbers of the rules with a negative edge on a cycle, each with a shortest cycle.

    A cycle begins with the node that the rule negates or aggregates over.
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
    """A shortest cycle from the edge's source over the edge's rule back to the source (breadth-first).

    The instances of a rule that is not monotone share one node: a way that enters by one instance may leave
    by another one.
    """
    following: dict[Node, list[Edge]] = {}
    derived: dict[int, list[Edge]] = {}
    for edge in edges:
        following.setdefault(edge.source, []).append(edge)
        if not edge.rule.is_monotone and not edge.link:
            derived.setdefault(edge.rule.number, []).append(edge)

    def steps(edge: Edge) -> list[Edge]:
        """The edge itself; for a rule that is not monotone, the edges to all its targets."""
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
    """The least heights that satisfy all edges, 0 omitted; None if a negative edge is on a cycle.

    A target is not lower than its source, and higher over a negative edge. ``stratum`` maps rules to 0 and is
    changed in place: a rule is raised to the greatest height among its instances.
    """
    following: dict[Node, list[Edge]] = {}
    of_rule: dict[int, list[Edge]] = {number: [] for number in stratum}
    for edge in edges:
        following.setdefault(edge.source, []).append(edge)
        if edge.rule.number in of_rule and not edge.link:
            of_rule[edge.rule.number].append(edge)
    waiting = deque(edge for edge in edges if edge.negative)
    greatest = len(waiting)  # a path without a cycle has each negative edge at most once
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
    """Raise ``UnstratifiableError`` if the static edges have a cycle with a negative edge.

    Such a program is unstratifiable for all facts. Cycles through guards and variable predicates depend on
    the facts, and suspend rules.
    """
    edges = ordering_edges(static_edges(program), is_static=True)
    refuse(negative_cycles(edges), program.dictionary)


def refuse(cycles: Mapping[int, tuple[Edge, ...]], dictionary: TermDictionary) -> None:
    """Raise ``UnstratifiableError`` if there are cycles. Rules on the same cycle share one diagnostic."""
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
                    objection(rule)
                    or "break the cycle: derive the conclusion under another name, or negate what is given",
                )
            )
    if complaints:
        raise UnstratifiableError(tuple(complaints))


def cycle_texts(cycle: Sequence[Edge], dictionary: TermDictionary) -> list[str]:
    """The texts of a cycle's nodes; the first node is repeated at the end."""
    return [node_text(node, dictionary) for node in (cycle[0].source, *(edge.target for edge in cycle))]


def verb(rule: CompiledRule) -> str:
    """The verb for a rule that is not monotone, in messages."""
    return "negates" if rule.negations else "aggregates over"


def called(rule: CompiledRule) -> str:
    """A rule's name or number, in messages."""
    return f"rule {rule.label}" if rule.source.name else rule.label
